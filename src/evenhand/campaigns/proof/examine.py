"""A decision, examined: do the plans and scores of the log confirm what it states?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.campaigns.proof.careful import Careful
from evenhand.campaigns.proof.certain import Certain
from evenhand.campaigns.proof.checker import Checker
from evenhand.campaigns.proof.planned import Planned
from evenhand.campaigns.proof.record import Record, TooLargeError, record_of
from evenhand.campaigns.proof.squares import Truths
from evenhand.errors import EvenhandError

_NEAR = 1e-5  # share of an interval's width by which rounding may move its ends
_SHARE = 1e-6  # by which an estimate may differ
_ROUNDED = 1e-5  # of the largest score: sizes below that count as that
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

    Where the decision has a ``certificate``, a list of [option, plan, scores], the evidence against
    an option is looked for after so many scores of that plan (from 0), else at all looks.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
    >>> created = {"policy": eh.CertainChoice(panel, at_most=50).state(), "settings": {}}
    >>> examine([("created", created), ("decided", {"answer": {"ranking": []}})]).wrong
    ('the record cannot be read: the options that it ranks are not those of the record',)
    """
    try:
        policy, content = events[0][1]["policy"]["policy"], events[-1][1]
        if policy not in _CHECKERS:
            return Examination((), (), (f"what {policy!r} states",))
        record = record_of(events)
        said = _Statements.of(record, content["answer"])
        places = {(int(plan), int(n)) for _, plan, n in content.get("certificate") or ()}
        return _confirmed(_CHECKERS[policy](record, places, said.certainty), said)
    except TooLargeError as error:
        return Examination((), (), (f"all that rests on {error}",))
    except (EvenhandError, *_UNREADABLE) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        return Examination((f"the record cannot be read: {what}",))


def _number(stated: Any) -> float:
    """Return a number as decisions write it: those that are not finite by name, or as None."""
    return math.nan if stated is None else float(stated)


class _Statements(NamedTuple):
    """What a decision states.

    ``option`` to ``withstands`` are as in an answer, and ``alarmed`` whether an assumption is
    contradicted. Values, (k, 3), and biases, (n, 3) those of the record, have intervals; leads are
    (k,). NaN where nothing is said.
    """

    option: int
    sure: bool
    certainty: str | None
    loss: float
    withstands: float
    alarmed: bool
    values: Floats
    leads: Floats
    biases: Floats

    @classmethod
    def of(cls, record: Record, answer: Mapping[str, Any]) -> _Statements:
        lines = {line["option"]: line for line in answer["ranking"]}
        if sorted(lines) != sorted(record.labels):
            raise ValueError("the options that it ranks are not those of the record")

        def table(lines: Sequence[Mapping[str, Any]], *names: str) -> Floats:
            found = [[_number(line.get(name)) for name in names] for line in lines]
            return np.array(found).reshape(len(lines), len(names))

        options = [lines[label] for label in record.labels]
        told = ("kind", "evaluator", "group", "name")
        said = {tuple(one[name] for name in told): one for one in answer["biases"]}
        biases = [said.get(tuple(getattr(b, name) for name in told), {}) for b in record.biases]
        return cls(
            record.labels.index(answer["option"]),
            answer["sure"] is True,
            answer["certainty"],
            _number(answer["loses_at_most"]),
            _number(answer["withstands"]),
            any(one["alarm"] is not False for one in answer["warnings"]),
            table(options, "value", "low", "high"),
            table(options, "lead")[:, 0],
            table(biases, "estimate", "low", "high"),
        )


def _contradictions(record: Record, said: _Statements) -> list[str]:
    """Say where statements contradict each other."""
    exact = record.stated.get("deviation") == 0
    grounds = said.certainty == "own scores" or (said.certainty == "features exact" and exact)
    sure = said.loss <= float(record.stated.get("tolerance", 0.0)) and grounds
    wrong = [] if sure == said.sure else ["whether it is sure does not follow from what it loses"]
    if not (said.loss >= 0.0 and said.withstands >= 0.0):
        wrong.append("what it loses at most, or withstands, is no number")
    if said.alarmed and len(record.labels) > 1 and math.isfinite(said.loss):
        wrong.append("it states what it loses at most, after an alarm")
    return wrong


def _confirmed(check: Checker, said: _Statements) -> Examination:
    """Return whether the scores confirm what is stated."""
    record, option, scores = check.record, said.option, check.record.everything.values
    label, same = record.labels[option], check.same(option)
    wrong = [*_contradictions(record, said), *check.wrong_plans()]

    def name(what: str, which: Truths, names: Sequence[str] = record.labels) -> None:
        wrong.extend(
            f"{what} {names[x]!r} is not confirmed" for x in np.flatnonzero(which).tolist()
        )

    if math.isfinite(said.loss):
        open_ = check.unrefuted(option, said.loss)
        name(f"that {label!r} loses at most {said.loss:.6g} against", open_)
        if said.certainty not in check.grounds:
            wrong.append(f"what it loses does not rest on {said.certainty!r}")
    if said.withstands > 0.0 and not _withstands(check, said):
        wrong.append(f"that it withstands {said.withstands:.6g} is not confirmed")

    def refuted(null: Floats) -> Truths:
        return check.refuted_leads(option, null) | same

    leads = check.leads(option)
    if "leads" in check.says:
        everything = np.tile([-np.inf, np.inf], (len(leads), 1))
        off = _unconfirmed(np.column_stack([said.leads, everything]), leads, refuted, scores)
        # one without an interval may be by how much the values differ, which are confirmed
        apart = said.values[option, 0] - said.values[:, 0]
        known = np.isnan(leads) | ("values" in check.says)
        off &= ~known | _off(said.leads, apart, scores)
        name(f"the lead of {label!r} over", off & ~same)
    if "values" in check.says:
        rows = record.options + record.neutral
        off = _unconfirmed(said.values, check.estimates(rows), partial(check.refuted, rows), scores)
        if (record.questions.about >= 0).all():  # comparisons: by how much they are behind
            off = _unconfirmed(-said.values[:, [0, 2, 1]], leads, refuted, scores) & ~same
        name("the value of", off)
    if "biases" in check.says:
        estimates = check.estimates(record.bias_rows)
        off = _unconfirmed(said.biases, estimates, check.refuted_biases, scores)
        name("the bias", off, [bias.name for bias in record.biases])
    taken = [what for what in ("leads", "values", "biases") if what not in check.says]
    return Examination(tuple(wrong), ("what is lost", *check.says), tuple(taken))


def _withstands(check: Checker, said: _Statements) -> bool:
    """Tell whether the option leads all of other groups by as much as it is said to withstand."""
    groups, most = check.record.questions.options.groups or (), said.withstands
    rivals = [x for x, group in enumerate(groups) if group != groups[said.option]]
    if isinstance(check.record.policy.actions, ActionSet) or not rivals:
        return False
    held = ~check.unrefuted(said.option, -most)
    if "leads" in check.says:
        leads = check.leads(said.option)
        held |= check.refuted_leads(said.option, np.full(len(leads), most)) & (leads > most)
    return bool(held[rivals].all()) or "leads" not in check.says


def _unconfirmed(
    said: Floats, estimates: Floats, refuted: Callable[[Floats], Truths], scores: Floats
) -> Truths:
    """Tell (n,) which estimates are others, or have an interval whose ends are not refuted.

    An estimate that lies outside of its interval is drawn to its end. Ends count as refuted if
    numbers beyond them by a share `_NEAR` of the width are: policies have sums of squares alone, of
    which rounding takes half of the digits.
    """
    stated, low, high = said.T
    width = high - low
    near = _NEAR * np.where(np.isfinite(width), width, 0.0)
    off = _off(stated, estimates, scores)
    off &= ~(np.isnan(estimates) & np.isinf(low) & np.isinf(high))  # a guess that claims nothing
    if off.any():
        off &= ~(refuted(stated) & refuted(estimates))
    outside = (stated < low) | (stated > high) | (low > high)
    claimed = ~np.isnan(low) & ~np.isnan(high)
    return np.asarray(off | outside | (claimed & ~(refuted(low - near) & refuted(high + near))))


def _off(stated: Floats, derived: Floats, scores: Floats) -> Truths:
    """Tell which numbers are stated and differ by more than rounding."""
    least = max(_ROUNDED * float(np.abs(scores).max(initial=0.0)), 1e-12)
    slack = _SHARE * np.maximum(np.abs(derived), least)
    return np.asarray(~(np.abs(stated - derived) <= slack) & ~np.isnan(stated))
