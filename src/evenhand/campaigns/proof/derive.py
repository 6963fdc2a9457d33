"""The answer that follows from a record, by code that shares nothing with the policies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.campaigns.proof.alarms import alarms
from evenhand.campaigns.proof.alike import differ
from evenhand.campaigns.proof.asked import Counts, Floats
from evenhand.campaigns.proof.careful import careful
from evenhand.campaigns.proof.certain import certain
from evenhand.campaigns.proof.planned import Planned, planned
from evenhand.campaigns.proof.record import Derived, Record
from evenhand.campaigns.proof.squares import Fit

_ROUNDED = 1e-5  # of the scores: sizes below that count as that

_MOST_WATCHED = 100  # options of which drift is an alarm to `CarefulChoice`


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What follows from a record, in the terms of an answer.

    Parameters
    ----------
    derived
        The option, what it loses at most, leads, values and biases; without intervals after an
        alarm.
    sure
        Whether the option is certainly within the tolerance of the best.
    raw, evaluations
        (k,) mean scores of the options, NaN without any, and how many they are of.
    lead
        (k,) by how much the option leads each.
    """

    derived: Derived
    sure: bool
    raw: Floats
    evaluations: Counts
    lead: Floats


def derive(record: Record, option: int | None = None) -> Conclusion:
    """Return what follows from the evaluations of a record.

    Parameters
    ----------
    record
        What was asked, answered and planned.
    option
        What the record says was chosen: taken as it is where the policy is none that can be
        derived.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.campaigns.proof import Plan
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
    >>> plan = Plan(0, {"questions": [0, 1, 2, 3], "counts": [1, 1, 1, 1]})
    >>> record = Record(panel.to_dict(), "planned-choice", {"looks": "once"},
    ...     np.array([0, 1, 2, 3]), np.array([7.0, 6.5, 4.1, 3.4]), np.zeros(4, dtype=bool),
    ...     np.full(4, -1), [plan])
    >>> found = derive(record)
    >>> record.asked.labels[found.derived.option], found.sure, found.derived.certainty
    ('Ann', True, 'own scores')
    """
    found = _derived(record, option)
    record = _learnt(record, found)
    sound = alarms(record)
    alarmed = _heeded(record, found, set(sound.found))
    taken = [*found.taken, *(f"the check of the {name}" for name in sound.unchecked)]
    found = replace(
        found,
        alarms=tuple(sorted(alarmed)),
        close=(*found.close, *sound.close),
        derived=(*found.derived, "alarms"),
        taken=tuple(taken),
    )
    return _concluded(record, found)


def _derived(record: Record, option: int | None) -> Derived:
    known = {"certain-choice": certain, "planned-choice": planned, "careful-choice": careful}
    what = "the choice, how sure it is, values and biases"
    if record.policy not in known or record.setting("target", "best") != "best":
        why = f"{record.policy!r} is not derived again"
    else:
        return known[record.policy](record)
    k = len(record.asked.labels)
    return Derived(
        option=0 if option is None else option,
        values=np.tile([np.nan, -np.inf, np.inf], (k, 1)),
        followed=False,
        derived=("mean scores", "what was counted"),
        taken=(f"{what}: {why}",),
    )


def _learnt(record: Record, found: Derived) -> Record:
    """Return a record without what the policy has not taken in, and waits for a longer plan."""
    if not found.waiting:
        return record
    withdrawn = record.withdrawn.copy()
    withdrawn[list(found.waiting)] = 0
    return replace(record, withdrawn=withdrawn)


def _heeded(record: Record, found: Derived, alarmed: set[str]) -> set[str]:
    """Return which alarms count with this policy."""
    if record.policy == "careful-choice":
        alarmed -= {"fit"}  # own scores do not need it
        if len(record.asked.labels) > _MOST_WATCHED:
            alarmed -= {"drift"}
        if "intercept" not in alarmed:
            alarmed |= set(found.alarms)
    planned = record.policy == "planned-choice" and found.followed
    if planned and differ(record, Planned(record)):
        alarmed |= {"alike"}
    return alarmed


def _concluded(record: Record, found: Derived) -> Conclusion:
    """Put what follows in the terms of an answer."""
    asked, stated = record.asked, {**record.settings, **record.stated}
    tolerance = float(stated.get("tolerance") or 0.0)
    unit, option = record.noise_scale or 1.0, found.option
    fit = record.fit_of(record.counted(0, record.total))
    if found.alarms:
        found = replace(found, loss=math.inf, certainty=None, withstands=0.0)
        if record.policy == "careful-choice":
            found = replace(found, leads=None)
    values = _values(record, found, fit, unit)
    leads = found.leads
    if leads is not None:
        leads = leads.copy()
        unknown = np.isinf(leads[:, 1]) & np.isinf(leads[:, 2])
        unknown[option] = False
        apart = values[option, 0] - values[:, 0]
        apart[np.abs(apart) <= 1e-12 * np.abs(values[option, 0])] = 0.0
        leads[unknown, 0] = apart[unknown]
    biases = _biases(record, found, fit, unit)
    if found.alarms:
        everything = -math.inf, math.inf
        values[:, 1:] = everything
        biases = [(name, estimate, *everything) for name, estimate, *_ in biases]
        if leads is not None:
            leads[:, 1:] = everything
    exact = stated.get("deviation") == 0
    sure = found.loss <= tolerance and (
        found.certainty == "own scores" or (found.certainty == "features exact" and exact)
    )
    if len(asked.labels) == 1:
        found, sure = replace(found, loss=0.0, certainty="own scores", alarms=()), True
    raw, counts = _raw(record)
    lead = values[option, 0] - values[:, 0] if leads is None else leads[:, 0]
    found = replace(found, leads=leads, values=values, biases=tuple(biases))
    return Conclusion(found, sure, raw, counts, lead)


def _values(record: Record, found: Derived, fit: Fit, unit: float) -> Floats:
    """Return (k, 3) values: those of the policy, or by least squares where it leaves them open."""
    asked = record.asked
    if found.leads is not None and asked.compared:
        behind = 0.0 - found.leads[:, [0, 2, 1]]
        behind[np.isinf(behind[:, 1]) & np.isinf(behind[:, 2]), 0] = np.nan
        return behind
    assert found.values is not None
    said = found.values.copy()
    own = record.policy in ("certain-choice", "planned-choice", "careful-choice")
    if own and not asked.alone and found.certainty != "features exact":
        return said
    plain = fit.of_rows(asked.value_rows)
    model = np.where(np.isfinite(plain.variances), plain.estimates, np.nan) * unit
    open_ = np.isnan(said[:, 0])
    said[open_, 0], said[open_, 1], said[open_, 2] = model[open_], -np.inf, np.inf
    return said


def _biases(
    record: Record, found: Derived, fit: Fit, unit: float
) -> list[tuple[Any, float, float, float]]:
    """Return all biases: those of the policy, or by least squares where it leaves them open."""
    asked = record.asked
    said = {name: line for name, *line in found.biases if math.isfinite(line[0])}
    plain = fit.of_rows(asked.bias_rows) if len(asked.biases) else None
    biases = []
    for i, name in enumerate(asked.biases):
        assert plain is not None
        value = float(plain.estimates[i]) * unit
        value = value if math.isfinite(plain.variances[i]) else math.nan
        biases.append((name, *said.get(name, (value, -math.inf, math.inf))))
    return biases


def _raw(record: Record) -> tuple[Floats, Counts]:
    """Return the mean score of every option, whoever gave it, and how many there are."""
    asked, k = record.asked, len(record.asked.labels)
    some = record.counted(0, record.total)
    about, scores = asked.about[record.questions[some]], record.scores[some]
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for side, sign in ((0, 1.0), (1, -1.0)):
        of = (about[:, side] >= 0) & (about[:, side] < k)
        counts += np.bincount(about[of, side], minlength=k)
        sums += np.bincount(about[of, side], sign * scores[of], k)
    with np.errstate(invalid="ignore"):
        return sums / counts, counts


def disagreements(
    record: Record, conclusion: Conclusion, answer: Mapping[str, Any], share: float = 1e-6
) -> list[str]:
    """Return in what an answer, as `Answer.to_dict` writes it, differs from what follows.

    Estimates, and what is counted, must be the same. An interval, or a loss, must be no narrower
    than what follows, and no wider by more than a twentieth: where the noise is not known, policies
    work with a lower bound of the evidence. Where something is so close that rounding decides,
    either is right.

    Parameters
    ----------
    record, conclusion
        What `derive` was given and returned.
    answer
        What the record says.
    share
        By which share numbers may differ.
    """
    found, labels = conclusion.derived, record.asked.labels
    wrong = [f"{what} does not follow from the evaluations" for what in found.wrong]

    def same(what: str, stated: object, derived: object) -> None:
        if stated != derived and not found.close:
            wrong.append(f"{what}: the record says {stated!r}, its evaluations {derived!r}")

    same("the choice", answer["option"], labels[found.option])
    sounded = sorted({w["assumption"] for w in answer["warnings"] if w["alarm"]})
    if found.followed:
        same("the alarms", sounded, sorted(found.alarms))
        same("whether it is sure", answer["sure"], conclusion.sure)
        same("what that rests on", answer["certainty"], found.certainty)
    if answer["option"] != labels[found.option]:
        return wrong
    check = _Check(wrong, share, _ROUNDED * float(np.abs(record.scores).max(initial=0.0)))
    if found.followed and not found.close:
        check.end("what it loses at most", number(answer["loses_at_most"]), found.loss, 0.0, 1.0)
        withstands = number(answer["withstands"])
        check.end("what it withstands", withstands, found.withstands, 0.0, -1.0)
    ranking = {line["option"]: line for line in answer["ranking"]}
    if sorted(ranking) != sorted(labels):
        wrong.append("the options that it ranks are not those of the record")
        return wrong
    assert found.values is not None
    for x, name in enumerate(labels):
        line = ranking[name]
        same(f"the evaluations of {name!r}", line["evaluations"], int(conclusion.evaluations[x]))
        check.equal(f"the mean score of {name!r}", number(line["raw"]), conclusion.raw[x])
        if found.followed:
            check.equal(f"the lead over {name!r}", number(line["lead"]), conclusion.lead[x])
            stated = [number(line[part]) for part in ("value", "low", "high")]
            check.interval(f"the value of {name!r}", stated, found.values[x].tolist())
    said = {_key(line): line for line in answer["biases"]}
    for bias, *ends in found.biases if found.followed else ():
        entry = said.get((bias.kind, bias.evaluator, bias.group, bias.name))
        if entry is None:
            wrong.append(f"the bias {bias.name!r} is not stated")
            continue
        stated = [number(entry[part]) for part in ("estimate", "low", "high")]
        check.interval(f"the bias {bias.name!r}", stated, ends)
    return wrong


def number(stated: Any) -> float:
    """Return a number as records write it: those that are not finite by name, or as None."""
    if stated is None:
        return math.nan
    if isinstance(stated, Mapping):
        stated = stated["number"]
    return float(stated)


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["kind"], line["evaluator"], line["group"], line["name"]


class _Check:
    """Compares what is stated with what follows, and takes down what differs."""

    def __init__(self, wrong: list[str], share: float, least: float) -> None:
        self._wrong, self._share = wrong, share
        self._least = max(least, 1e-12)  # sizes below that are those of rounding

    def equal(self, what: str, stated: float, derived: float, size: float = 0.0) -> None:
        same = stated == derived or (math.isnan(stated) and math.isnan(derived))
        off = abs(stated - derived) <= self._share * max(abs(derived), size, self._least)
        if not (same or off):
            self._say(what, stated, derived)

    def end(self, what: str, stated: float, derived: float, middle: float, side: float) -> None:
        """Compare an end: it may lie further out than what follows, and not by much."""
        size = abs(derived - middle) if math.isfinite(derived) else 0.0
        slack = self._share * max(
            size, abs(derived) if math.isfinite(derived) else 0.0, self._least
        )
        out = side * (stated - derived)
        same = stated == derived or (math.isnan(stated) and math.isnan(derived))
        if not (same or -slack <= out <= 0.05 * size + slack):
            self._say(what, stated, derived)

    def interval(self, what: str, stated: Sequence[float], derived: Sequence[float]) -> None:
        value, low, high = derived
        size = high - low if math.isfinite(high - low) else 0.0
        clipped = value in (low, high)
        self.equal(what, stated[0], value, 0.05 * size / self._share if clipped else 0.0)
        middle = 0.5 * (low + high) if math.isfinite(high - low) else value
        self.end(f"the low end of {what}", stated[1], low, middle, -1.0)
        self.end(f"the high end of {what}", stated[2], high, middle, 1.0)

    def _say(self, what: str, stated: float, derived: float) -> None:
        self._wrong.append(f"{what}: the record says {stated:.9g}, its evaluations {derived:.9g}")
