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
from evenhand.campaigns.proof.checker import Checker
from evenhand.campaigns.proof.planned import Planned
from evenhand.campaigns.proof.record import TooLargeError, record_of
from evenhand.campaigns.proof.squares import Truths
from evenhand.errors import EvenhandError

_NEAR = 1e-5  # share of an interval's width by which rounding may move its ends
_CHECKERS: Mapping[str, type[Checker]] = {
    "certain-choice": Certain,
    "planned-choice": Planned,
    "careful-choice": Careful,
}
_UNREADABLE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Examination:
    """What came of an examination.

    Parameters
    ----------
    wrong
        What is stated and not confirmed, in words; empty if all is.
    confirmed, taken
        What was confirmed, and what was not looked at.
    """

    wrong: tuple[str, ...]
    confirmed: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()


def examine(events: Sequence[tuple[str, Mapping[str, Any]]]) -> Examination:
    """Read the events of a campaign up to a decision, kinds and particulars, and confirm that.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> created = {"policy": eh.CertainChoice(panel, at_most=50).state()}
    >>> decided = {"answer": {"ranking": []}, "certificate": {"sufficed": [], "ended": []}}
    >>> examine([("created", created), ("decided", decided)]).wrong
    ('the record cannot be read: the options that it ranks are not those of the record',)
    """
    try:
        policy, content = events[0][1]["policy"]["policy"], events[-1][1]
        if policy not in _CHECKERS:
            return Examination((), (), (f"what {policy!r} states",))
        check = _CHECKERS[policy](record_of(events), content["certificate"])
        open_ = (f"{what} is not confirmed" for what in _unconfirmed(check, content["answer"]))
        return Examination((*check.wrong_plans(), *open_), check.confirms, check.leaves)
    except TooLargeError as error:
        return Examination((), (), (f"all that rests on {error}",))
    except (EvenhandError, *_UNREADABLE) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        return Examination((f"the record cannot be read: {what}",))


def _unconfirmed(check: Checker, answer: Mapping[str, Any]) -> Iterable[str]:
    """Say what of an answer the scores do not confirm."""
    record, lines = check.record, {line["option"]: line for line in answer["ranking"]}
    if sorted(lines) != sorted(record.labels):
        raise ValueError("the options that it ranks are not those of the record")
    options = [lines[label] for label in record.labels]
    option, loss = record.labels.index(answer["option"]), _number(answer["loses_at_most"])
    if not loss >= 0.0:
        yield f"that {answer['option']!r} loses at most {loss:.6g}"
    elif math.isfinite(loss):
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
            same = check.same(option)
        for x in np.flatnonzero(_open(ends, refuted) & ~same).tolist():
            yield f"the interval of the value of {record.labels[x]!r}"
    if "biases" in check.confirms:
        told = ("kind", "evaluator", "group", "name")
        said = {tuple(one[name] for name in told): one for one in answer["biases"]}
        ends = _ends([said.get(tuple(getattr(b, n) for n in told), {}) for b in record.biases])
        for x in np.flatnonzero(_open(ends, check.refuted_biases)).tolist():
            yield f"the interval of the bias {record.biases[x].name!r}"


def _number(stated: Any) -> float:
    """Return a number as decisions write it: those that are not finite by name, or as None."""
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


def _open(ends: Floats, refuted: Callable[[Floats], Floats]) -> Truths:
    """Tell (n,) which intervals have an end that is not refuted, on its side.

    An end counts as refuted if the number beyond it by a share `_NEAR` of the width is: policies
    have sums of squares alone, of which rounding takes half of the digits.
    """
    low, high = ends.T
    with np.errstate(invalid="ignore"):
        near = np.nan_to_num(_NEAR * (high - low), posinf=0.0)
    found = low > high
    for side, end in ((-1.0, low), (1.0, high)):
        claimed = np.isfinite(end)
        null = np.where(claimed, end + side * near, 0.0)
        found |= claimed & (refuted(null) != side)
    return np.asarray(found)
