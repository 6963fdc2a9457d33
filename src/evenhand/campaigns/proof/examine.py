"""A decision, examined: is what it states confirmed by the plans and scores of the log?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.campaigns.proof.asked import Asked, Floats, TooLargeError, Truths
from evenhand.campaigns.proof.certain import Certain
from evenhand.campaigns.proof.record import Record, number, record_of
from evenhand.errors import InputError

_SHARE = 1e-6  # by which an estimate may differ
_ROUNDED = 1e-5  # of the largest score: sizes below that count as that


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
    >>> created = {"policy": eh.CertainChoice(panel, at_most=50).state(), "settings": {}}
    >>> answer = {"option": "Bo", "sure": True, "certainty": "own scores", "loses_at_most": 0.0,
    ...           "withstands": 0.0, "warnings": [], "biases": [], "ranking": []}
    >>> examine([("created", created), ("decided", {"answer": answer})]).wrong[0]
    'the options that it ranks are not those of the record'
    """
    record = record_of(events)
    content = events[-1][1]
    try:
        said = _Statements.of(record.asked, content["answer"])
        places = {(int(plan), int(n)) for _, plan, n in content.get("certificate") or ()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        return Examination((f"what was decided cannot be read: {what}",))
    wrong = [*_counted(record, said), *_hangs_together(record, said)]
    if record.policy != "certain-choice":
        why = f"what {record.policy!r} states of values and biases"
        return Examination(tuple(wrong), ("mean scores",), (why,))
    try:
        return _confirmed(Certain(record, places), said, wrong)
    except TooLargeError as error:
        return Examination(tuple(wrong), ("mean scores",), (f"all that rests on {error}",))


@dataclass(frozen=True, eq=False)
class _Statements:
    """What a decision states.

    Parameters
    ----------
    option, sure, certainty, loss, withstands
        As in an answer.
    alarmed
        Whether an assumption is contradicted.
    values, leads, raw, counts
        (k, 3) values with their intervals; (k,) leads, mean scores and evaluations.
    biases
        (n, 3) those of `Asked.biases`; NaN where nothing is said.
    """

    option: int
    sure: bool
    certainty: str | None
    loss: float
    withstands: float
    alarmed: bool
    values: Floats
    leads: Floats
    raw: Floats
    counts: Floats
    biases: Floats

    @classmethod
    def of(cls, asked: Asked, answer: Mapping[str, Any]) -> _Statements:
        lines = {line["option"]: line for line in answer["ranking"]}
        if sorted(lines) != sorted(asked.labels) or answer["option"] not in lines:
            raise ValueError("the options that it ranks are not those of the record")

        def column(name: str) -> list[float]:
            return [number(lines[label][name], name) for label in asked.labels]

        said = {(one["kind"], one["evaluator"], one["group"], one["name"]): one
                for one in answer["biases"]}
        biases = []
        for bias in asked.biases:
            one = said.get(bias[:4], {})
            biases.append([number(one.get(name), name) for name in ("estimate", "low", "high")])
        return cls(
            asked.labels.index(answer["option"]),
            answer["sure"] is True,
            answer["certainty"],
            number(answer["loses_at_most"], "loss", 0.0),
            number(answer["withstands"], "withstands", 0.0),
            any(one["alarm"] is not False for one in answer["warnings"]),
            np.column_stack([column(name) for name in ("value", "low", "high")]),
            np.array(column("lead")),
            np.array(column("raw")),
            np.array(column("evaluations")),
            np.array(biases).reshape(len(biases), 3),
        )


def _counted(record: Record, said: _Statements) -> list[str]:
    """Say which options were not scored as is stated, whoever scored them."""
    asked, k, told = record.asked, len(record.asked.labels), record.everything
    counts, sums = np.zeros(k), np.zeros(k)
    scores = told.values * asked.noise[told.questions] * (record.noise or 1.0)
    for side, sign in ((0, 1.0), (1, -1.0)):
        about = asked.about[told.questions, side]
        of = (about >= 0) & (about < k)
        counts += np.bincount(about[of], minlength=k)
        sums += np.bincount(about[of], sign * scores[of], k)
    with np.errstate(invalid="ignore"):
        off = _off(said.raw, sums / counts, scores) & (counts > 0)
    return _named(asked, "the mean score of", off | (said.counts != counts))


def _hangs_together(record: Record, said: _Statements) -> list[str]:
    """Say where statements contradict each other."""
    tolerance = number(record.stated.get("tolerance", 0.0), "tolerance")
    exact = record.stated.get("deviation") == 0
    grounds = said.certainty == "own scores" or (said.certainty == "features exact" and exact)
    sure = said.loss <= tolerance and grounds
    wrong = [] if sure == said.sure else ["whether it is sure does not follow from what it loses"]
    if said.alarmed and len(record.asked.labels) > 1 and math.isfinite(said.loss):
        wrong.append("it states what it loses at most, after an alarm")
    return wrong


def _confirmed(check: Certain, said: _Statements, wrong: list[str]) -> Examination:
    """Return whether the scores confirm what is stated."""
    asked, option, scores = check.asked, said.option, check.record.everything.values
    wrong = wrong + list(check.wrong_plans())
    label = asked.labels[option]
    if math.isfinite(said.loss):
        open_ = check.unrefuted(option, said.loss)
        wrong += _named(asked, f"that {label!r} loses at most {said.loss:.6g} against", open_)
        if said.certainty != ("own scores" if asked.alone else "features exact"):
            wrong.append(f"what it loses does not rest on {said.certainty!r}")
    if asked.helped:
        taken = ("leads and intervals, which features help to guess",)
        return Examination(tuple(wrong), ("mean scores", "what is lost"), taken)
    leads = check.leads(option)
    alone, same = np.full((len(leads), 2), [-np.inf, np.inf]), asked.same(option)

    def refuted(null: Floats) -> Truths:
        return check.refuted_leads(option, null) | same

    off = _unconfirmed(np.column_stack([said.leads, alone]), leads, refuted, scores)
    wrong += _named(asked, f"the lead of {label!r} over", off)
    if said.withstands > 0.0:
        groups, least = asked.groups or (), np.full(len(leads), said.withstands)
        held = refuted(least) & (leads > least)
        if asked.own_questions or not all(held[x] for x, g in enumerate(groups) if g != groups[option]):
            wrong.append(f"that it withstands {said.withstands:.6g}")
    if asked.compared:
        off = _unconfirmed(-said.values[:, [0, 2, 1]], leads, refuted, scores)
    else:
        estimates = check.values()
        off = _unconfirmed(said.values, estimates, check.refuted_values, scores)
    wrong += _named(asked, "the value of", off)
    estimates = check.biases()
    off = _unconfirmed(said.biases, estimates, check.refuted_biases, scores)
    wrong += [f"the bias {asked.biases[i].name!r}" for i in np.flatnonzero(off)]
    confirmed = ("mean scores", "what is lost", "estimates", "intervals")
    return Examination(tuple(f"{one} is not confirmed" for one in wrong), confirmed)


def _unconfirmed(
    said: Floats, estimates: Floats, refuted: Callable[[Floats], Truths], scores: Floats
) -> Truths:
    """Tell (n,) which estimates are others, or have an interval whose ends are not refuted.

    An estimate that lies outside of its interval is drawn to its end.
    """
    stated, low, high = said.T
    off = _off(stated, estimates, scores)
    if off.any():
        off &= ~(refuted(stated) & refuted(estimates))
    outside = (stated < low) | (stated > high) | (low > high)
    claimed = ~np.isnan(low) & ~np.isnan(high)
    return np.asarray(off | outside | (claimed & ~(refuted(low) & refuted(high))))


def _off(stated: Floats, derived: Floats, scores: Floats) -> Truths:
    """Tell which numbers are stated and differ by more than rounding."""
    least = max(_ROUNDED * float(np.abs(scores).max(initial=0.0)), 1e-12)
    slack = _SHARE * np.maximum(np.abs(derived), least)
    return np.asarray(~(np.abs(stated - derived) <= slack) & ~np.isnan(stated))


def _named(asked: Asked, what: str, which: Truths) -> list[str]:
    return [f"{what} {asked.labels[x]!r}" for x in np.flatnonzero(which)]
