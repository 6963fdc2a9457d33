"""A decision, examined: do the plans and scores of the log confirm its certificate?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.campaigns.proof.careful import Careful
from evenhand.campaigns.proof.certain import Certain
from evenhand.campaigns.proof.checker import Checker, Silent
from evenhand.campaigns.proof.placed import Placed
from evenhand.campaigns.proof.planned import Planned
from evenhand.campaigns.proof.record import Record, TooLargeError, record_of
from evenhand.campaigns.proof.sided import Sided
from evenhand.campaigns.proof.squares import Truths
from evenhand.errors import EvenhandError

_NEAR = 1e-5  # share of an interval's width by which rounding may move its ends
_CHECKERS: Mapping[str, type[Checker]] = {
    "certain-choice": Certain,
    "planned-choice": Planned,
    "careful-choice": Careful,
}
_ENDS: Mapping[str, tuple[float, float]] = {"votes": (0.0, 1.0), "verdicts": (-1.0, 1.0)}
_UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Examination:
    """What came of an examination."""

    wrong: tuple[str, ...]  # stated and not confirmed, in words
    confirmed: tuple[str, ...] = ()  # what was
    taken: tuple[str, ...] = ()  # what was not looked at


def examine(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Examination:
    """Read the events of a campaign up to a decision, kinds and particulars, and confirm that."""
    try:
        policy, content = events[0][1]["policy"]["policy"], events[-1][1]
        if policy not in _CHECKERS:
            return Examination((), (), (f"what {policy!r} states",))
        record, checker = record_of(events), _CHECKERS[policy]
        if checker is Certain and record.policy.target.top != 1:
            checker = Sided if record.policy.target.top is None else Placed
        check = checker(record, content["certificate"])
        scale = _scale(events, check)
        open_ = [
            f"{what} is not confirmed" for what in _unconfirmed(check, content["answer"], scale)
        ]
        for given in _as_given(events, checker):
            text = "{} is not confirmed with the scores put back that were withdrawn"
            open_ += [text.format(one) for one in _unconfirmed(given, content["answer"], scale)]
        return Examination((*check.wrong_plans(), *open_), check.confirms, check.leaves)
    except TooLargeError as error:
        return Examination((), (), (f"all that rests on {error}",))
    except (EvenhandError, *_UNREADABLE) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        return Examination((f"the record cannot be read: {what}",))


def _scale(
    events: Sequence[tuple[str, Mapping[str, Any]]], check: Checker
) -> tuple[float, float, float]:
    """Return between what values may lie, and how far apart two of them, by the scale as stated."""
    settings = events[0][1].get("settings", {})
    ends = _ENDS.get(str(settings.get("scores")), settings.get("bounds"))
    if ends is None:
        return -math.inf, math.inf, math.inf
    low, high = (float(end) for end in ends)
    comparing = bool((check.record.questions.about >= 0).all())
    if comparing:  # scores are told from the middle
        low, high = -0.5 * (high - low), 0.5 * (high - low)
    for kind, content in events:
        if kind in ("told", "imported"):
            for number, _, _, score, *_ in content["evaluations"]:
                if not low <= score <= high:
                    raise ValueError(f"evaluation {number} lies beyond the scale")
    return (-math.inf, math.inf, high) if comparing else (low, high, high - low)


def _as_given(
    events: Sequence[tuple[str, Mapping[str, Any]]], checker: type[Checker]
) -> Iterable[Checker]:
    """Give what confirms an answer from the record as it was given, where that is another one."""
    if all(c["blind"] for kind, c in events if kind == "withdrawn"):
        return
    certificate = events[-1][1].get("as_given") or {}
    if certificate:
        plans = certificate["plans"]
        if type(plans) is not int or plans < 0:
            raise ValueError(f"the certificate has {plans!r:.80} for a number of plans")
        yield checker(record_of(events, plans), certificate)
    else:
        yield Silent(record_of(events), {})


def _unconfirmed(
    check: Checker, answer: Mapping[str, Any], scale: tuple[float, float, float]
) -> Iterable[str]:
    """Say what of an answer the scores do not confirm; what every score on the scale does, is."""
    *limits, most = scale
    record, lines = check.record, {line["option"]: line for line in answer["ranking"]}
    if sorted(lines) != sorted(record.labels):
        raise ValueError("the options that it ranks are not those of the record")
    options = [lines[label] for label in record.labels]
    option, stated = record.labels.index(answer["option"]), answer["loses_at_most"]
    loss = math.inf if stated is None else float(stated)
    if "which are the best" in check.leaves:
        pass
    elif isinstance(check, Placed | Sided):
        yield from check.unconfirmed_target(answer, most)
    elif not loss >= 0.0:
        yield f"that {answer['option']!r} loses at most {loss:.6g}"
    elif loss < min(most, math.inf):
        for x in np.flatnonzero(check.unrefuted(option, loss)).tolist():
            yield f"that {answer['option']!r} loses at most {loss:.6g} to {record.labels[x]!r}"
    withstands = _number(answer["withstands"])
    if withstands != 0.0 and not _is_withstood(check, option, withstands):
        yield f"that it withstands {withstands:.6g}"
    if "values" in check.confirms:
        ends, refuted = _ends(options), partial(check.refuted, record.options + record.neutral)
        same = np.zeros(len(options), dtype=np.bool_)
        if (record.questions.about >= 0).all():  # comparisons: by how much they are behind
            ends, refuted = -ends[:, ::-1], partial(check.refuted_leads, option)
            same, limits = check.same(option), [-most, most]
        for x in np.flatnonzero(_open(ends, refuted, *limits) & ~same).tolist():
            yield f"the interval of the value of {record.labels[x]!r}"
    if "biases" in check.confirms:
        told = ("kind", "evaluator", "group", "name")
        said = {tuple(one[name] for name in told): one for one in answer["biases"]}
        ends = _ends([said.get(tuple(getattr(b, n) for n in told), {}) for b in record.biases])
        reach = most / _largest(record)
        for x in np.flatnonzero(_open(ends, check.refuted_biases, -reach, reach)).tolist():
            yield f"the interval of the bias {record.biases[x].name!r}"


def _number(stated: Any) -> float:
    """Return a number as decisions write it: None where it is not known, or has no end."""
    return math.nan if stated is None else float(stated)


def _ends(lines: Sequence[Mapping[str, Any]]) -> Floats:
    """Return (n, 2) ends of intervals; NaN where nothing is said."""
    found = [[_number(line.get(name)) for name in ("low", "high")] for line in lines]
    return np.array(found).reshape(len(lines), 2)


def _is_withstood(check: Checker, option: int, most: float) -> bool:
    """Tell whether an option leads all of other groups by as much as it is said to withstand."""
    if not 0.0 < most < math.inf:
        return False
    groups = np.array(check.record.questions.options.groups or ())
    rivals = np.flatnonzero(groups != groups[option])
    held = ~check.unrefuted(option, -most)
    held |= check.refuted_leads(option, np.full(len(groups), most)) < 0.0
    return bool(held[rivals].all()) and len(rivals) > 0


def _largest(record: Record) -> Floats:
    """Return (n,) how much of each bias there is in a question at most; 1 of a leniency."""
    first = record.questions.n_features
    sizes = np.abs(record.questions.points[:, first:]).max(axis=0)
    kinds = [column.kind for column in record.questions.columns]
    own = [size or 1.0 for size, kind in zip(sizes, kinds, strict=True) if kind != "leniency"]
    return np.array(own + [1.0] * (len(record.biases) - len(own)))


def _open(
    ends: Floats,
    refuted: Callable[[Floats], Floats],
    least: Floats | float = -math.inf,
    most: Floats | float = math.inf,
) -> Truths:
    """Tell (n,) which intervals have an end, within the scale, that is not refuted on its side."""
    # An end counts as refuted if the number beyond it by a share `_NEAR` of the width is: policies
    # have sums of squares alone, of which rounding takes half of the digits.
    low, high = ends.T
    with np.errstate(invalid="ignore"):
        near = np.nan_to_num(_NEAR * (high - low), posinf=0.0)
    found = low > high
    for side, end, trivial in ((-1.0, low, low <= least), (1.0, high, high >= most)):
        claimed = np.isfinite(end) & ~np.asarray(trivial)
        null = np.where(claimed, end + side * near, 0.0)
        found |= claimed & (refuted(null) != side)
    return np.asarray(found)
