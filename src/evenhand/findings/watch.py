"""The assumptions behind every certainty, checked while evaluations come in.

Notation
--------
N       evaluations so far; all is looked at when N reaches 30, 39, 51, …, each 1.3 times the last
l       number of the look
α       bound on the probability of a false alarm of one check, over all looks of a run
α_l = 10α / ((l + 9)(l + 10)), which adds up to α

At look l a check sounds an alarm if its p-value is at most α_l. So it never does, with probability
at least 1 − α, where its assumption holds, however long the run and whenever the findings are read.
Of the rate, 40% are for the fit, 30% for drift, 15% each for scale and dependence. The check for
strays is against Student's t(3), with eight times the rate, since Gaussian noise never sets it off:
that would take three scores beyond 5σ. In a panel a choice stands on the fit, and on answers that
are given anew each time: these two are looked at once more when all is in, each with a third of the
rate for all ends that a run comes to, ⅓/(j(j + 1)) for the j-th. An alarm stays, but for
'repeats', which is as of now. docs/research/checks.md has what each check sees.

Checks see what goes through `tell` and `observe`. Compiled loops of a simulation bypass them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.special import fdtrc

from evenhand.arrays import Counts, Floats, Indices, recalled
from evenhand.findings._record import Record
from evenhand.findings.sequence import (
    Entries,
    LackOfFit,
    Residuals,
    Strays,
    dependence,
    drift,
    echoes,
    innovations,
    lattice_step,
    overstated_p_value,
    residuals,
    robust_scale,
    scale_p_value,
    strays,
)
from evenhand.findings.table import LEVEL
from evenhand.questions import Askable, Questions, panel_form
from evenhand.scores.scores import AS_GIVEN, Finding, Level

_CHECKS = {"intercept": "fit"}  # what is found by a check of another name
_SHARES = {"fit": 0.4, "drift": 0.3, "scale": 0.15, "dependence": 0.15, "outliers": 8.0}
_LAST = 1 / 3  # of the rate, for the fit of a panel when all is in
_ENOUGH_REPEATS = 15  # from which on that is used: a few tell too little of the noise
_ASKED_AGAIN = 4  # times, beyond which who is asked again is taken to answer anew
_FIRST_LOOK = 30
_GROWTH = 1.3
_ALIKE = 6  # repeats, all of the same score, from which on an evaluator repeats itself
_SUSPICIOUS = 5.0  # robust standard deviations
_BY_CHANCE = 0.01  # how rarely a constant may seem to explain a lack of fit that it does not
_NAMED = 3  # options or scores that a message names
_ORDER = (
    *("repeats", "outliers", "dependence", "drift", "scale", "intercept", "fit"),
    *("rounding", "looks"),
)


class Checks:
    """Watches evaluations for what contradicts the model, with a bounded rate of false alarms.

    Parameters
    ----------
    actions
        The options, or the questions that can be asked.
    noise_scale
        Standard deviation σ of an evaluation as it is stated; None if it is not known.
    level
        What was taken off all evaluations before they came here, for those who show them.

    Examples
    --------
    An evaluator who gives every option the same score each time:

    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["home", "away"], labels=["Ann", "Bo"])
    >>> checks = Checks(actions)
    >>> for _ in range(4):
    ...     checks.take(np.array([1, 1]), np.array([7.5, 6.0]), np.array([56.25, 36.0]))
    >>> for finding in checks.findings():
    ...     print(finding)
    All 6 repeated evaluations gave the same score as before. An evaluator who repeats himself tells
    nothing new, and the noise cannot be seen: ask others, or ask in another way.
    """

    def __init__(
        self,
        actions: Askable,
        *,
        noise_scale: float | None = None,
        level: Level = AS_GIVEN,
    ) -> None:
        self.questions = Questions.of(actions)
        self.noise_scale = noise_scale
        self.level = level
        self._terms = _terms_of(self.questions)
        self.record = Record(len(actions))
        self._panel = len(self.questions.evaluators) > 1
        self._looks = self._last_looks = 0
        self._at_the_end = False
        self._next_look = _FIRST_LOOK
        self._alarms: dict[str, Finding] = {}
        self._notes: tuple[Finding, ...] = ()
        self._fitted: tuple[int, Indices, Residuals] | None = None  # to so many evaluations

    def take(self, counts: Counts, sums: Floats, squares: Floats) -> None:
        """Take evaluations that came in together, added up per option: (k,) each."""
        self.record.take(counts, sums, squares)
        if self.record.evaluations >= self._next_look:
            while self.record.evaluations >= self._next_look:
                self._looks += 1
                self._next_look = math.ceil(_GROWTH * self._next_look)
            self._look()

    def look(self) -> None:
        """Look at all that is there now, out of turn, as at the end of a run.

        It counts as a look, with its share of the rate; in a panel the check of the fit has a
        further share for it.
        """
        self._looks += 1
        self._last_looks += 1
        self._at_the_end = self._panel
        try:
            self._look()
        finally:
            self._at_the_end = False

    @property
    def counts(self) -> Counts:
        """(k,) evaluations of every option."""
        return self.record.counts

    @property
    def means(self) -> Floats:
        """(k,) their means; 0 where there is none."""
        return self.record.means

    @property
    def scatters(self) -> Floats:
        """(k,) sums of squared deviations of evaluations from their option's mean."""
        return self.record.scatters

    def findings(self) -> tuple[Finding, ...]:
        """Return what was found so far, alarms first."""
        found = [*self._alarms.values(), *self._notes]
        if self.record.different == 0 and self.record.alike >= _ALIKE:
            found.append(Finding("repeats", self._said("repeats", n=self.record.alike)))
        return tuple(
            sorted(found, key=lambda finding: (not finding.alarm, _ORDER.index(finding.assumption)))
        )

    def lack_of_fit(self) -> LackOfFit:
        """Return how far the means of the options are off the linear model, as of now.

        One look by itself: its p-value makes no allowance for others before it.
        """
        return self._residuals()[1].lack

    def pooled_scatter(self) -> tuple[float, int]:
        """Return the variance of evaluations within options, and its degrees of freedom.

        NaN while no option was evaluated twice.
        """
        df = int(np.maximum(self.counts - 1, 0).sum())
        return (float(self.scatters.sum()) / df if df else math.nan), df

    @property
    def in_order(self) -> int:
        """How many evaluations came after others of their option, as far as the record goes."""
        options = self.record.rows[:, 1]
        return len(options) - len(np.unique(options))

    def memory(self) -> dict[str, Any]:
        """Return all that was seen, as arrays, numbers and texts by name."""
        return {
            "record": self.record.memory(),
            "looks": self._looks,
            "last_looks": self._last_looks,
            "next_look": self._next_look,
            "alarms": [dataclasses.asdict(finding) for finding in self._alarms.values()],
            "notes": [dataclasses.asdict(finding) for finding in self._notes],
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned, perhaps long ago; an error if it cannot be that."""
        self.record.recall(memory["record"])
        self._fitted = None
        self._looks, self._last_looks = (
            recalled(memory, name, (), int, 0) for name in ("looks", "last_looks")
        )
        self._next_look = recalled(memory, "next_look", (), int, _FIRST_LOOK)
        kept = self._findings(memory, "alarms")
        self._alarms = {_CHECKS.get(one.assumption, one.assumption): one for one in kept}
        self._notes = tuple(self._findings(memory, "notes"))

    def _findings(self, memory: Mapping[str, Any], name: str) -> list[Finding]:
        """Return the findings that a memory has by this name."""
        found = []
        for kept in memory[name]:
            what, message = kept["assumption"], kept["message"]
            if what not in _ORDER or not isinstance(message, str):
                raise ValueError(f"{name} has {kept!r:.80}")
            options = recalled(kept, "options", (None,), int, 0, len(self.questions) - 1).tolist()
            p_value = np.nan  # the one NaN of `Finding`, so that equal findings are equal
            if kept["p_value"] == kept["p_value"]:
                p_value = recalled(kept, "p_value", least=0.0, most=1.0)
            alarm = recalled(kept, "alarm", kind=bool)
            found.append(Finding(what, message, alarm, tuple(options), p_value))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        made = partial(type(self), noise_scale=self.noise_scale, level=self.level)
        return made, (self.questions,), self.memory()

    def __setstate__(self, memory: Mapping[str, Any]) -> None:
        self.recall(memory)

    def extended(self, actions: Askable, places: Indices) -> Checks:
        """Return checks of more questions that saw the same; ``places``, (q,), are the old ones."""
        new = Checks(actions, noise_scale=self.noise_scale, level=self.level)
        memory = self.memory()
        record = memory["record"]
        for name in ("counts", "means", "scatters"):
            moved = np.zeros(len(actions), dtype=record[name].dtype)
            moved[places] = record[name]
            record[name] = moved
        record["rows"][:, 1] = places[record["rows"][:, 1].astype(np.intp)]
        for kept in (*memory["alarms"], *memory["notes"]):
            kept["options"] = tuple(int(places[x]) for x in kept["options"])
        new.recall(memory)
        return new

    @np.errstate(all="ignore")  # squares of huge scores overflow; there is no p-value then
    def _look(self) -> None:
        """Judge all that is there, at this look's share of the rate."""
        entries = Entries(self.record.rows)
        step = lattice_step(entries)
        beside = innovations(entries)
        scale = robust_scale(entries, beside.w)
        far = strays(entries, scale, step)
        notes = self._judge_fit() + self._judge_strays(entries, far)
        # strays have their own check; in the others one of them would drown the rest
        near = np.abs(far.sizes) <= _SUSPICIOUS
        usual, found = entries, beside
        if not near.all():
            usual = entries.only(near)
            found = innovations(usual)
        if self.noise_scale is not None:
            notes += self._judge_scale(usual, found.w, self.noise_scale)
        rho, p = dependence(usual, found)
        if self._panel and self.questions.capacity.max() > _ASKED_AGAIN:
            p = min(1.0, 2.0 * min(p, echoes(usual, self._expected())))
        self._sound("dependence", p, self._said("dependence", rho=rho))
        slope, p = drift(found)
        way = "rise" if self.level.sign * slope > 0 else "fall"
        self._sound("drift", p, self._said("drift", way=way, size=abs(100 * slope)))
        variance, df = self.pooled_scatter()
        if df and 0.0 < math.sqrt(variance) < step:
            told = self._said("rounding", step=step, seen=math.sqrt(variance))
            notes.append(Finding("rounding", told, False))
        self._notes = tuple(notes)

    def _said(self, what: str, **seen: object) -> str:
        more = self._terms["constant"] if what == "intercept" else ""
        return (_SAID[what] + more).format(**self._terms, **seen)

    def _sound(self, check: str, p: float, message: str, options: tuple[int, ...] = ()) -> bool:
        """Sound the alarm of a check if its p-value is small enough for this look."""
        if not p <= self._level(check):
            return False
        self._alarms[check] = Finding(check, message, True, options, p)
        return True

    def _level(self, check: str) -> float:
        level = LEVEL * _SHARES[check] * 10.0 / ((self._looks + 9) * (self._looks + 10))
        last = check in ("fit", "dependence") and self._at_the_end
        if last and self.pooled_scatter()[1] >= _ENOUGH_REPEATS:
            level += LEVEL * _LAST / (self._last_looks * (self._last_looks + 1))
        return level

    def _residuals(self) -> tuple[Indices, Residuals]:
        """Return the questions that were seen, and what the model leaves over of them."""
        n = self.record.evaluations
        if self._fitted is None or self._fitted[0] != n:
            self._fitted = n, *self._fit()
        return self._fitted[1:]

    def _expected(self) -> Floats:
        """Return (q,) what the model says of the questions that were seen."""
        seen, left = self._residuals()
        expected = np.zeros(len(self.counts))
        expected[seen] = self.means[seen] - left.raw
        return expected

    def _fit(self) -> tuple[Indices, Residuals]:
        (seen,) = self.counts.nonzero()
        if len(seen) == 0:
            return seen, Residuals(np.zeros(0), np.zeros(0), LackOfFit(math.nan, 0, math.nan))
        columns, asked = (self.counts[seen], self.means[seen], self.scatters[seen]), self.questions
        arrow = asked.has_arrow_form
        span = panel_form(asked, seen, columns[0]) if arrow else asked.weighted_points[seen]
        return seen, residuals(span, *columns, self.noise_scale, persistent=self._panel)

    def _judge_fit(self) -> list[Finding]:
        seen, left = self._residuals()
        lack = left.lack
        if math.isnan(lack.p_value):
            if lack.df > 0 and self.record.different == 0 and self.record.alike > 0:
                return []  # no scatter at all, which is a finding of its own
            told = self._said("no scatter" if lack.df else "no fit", n=len(seen))
            return [Finding("looks", told, False)]
        worst = np.argsort(-np.abs(left.standardised), kind="stable")[:_NAMED]
        worst = worst[np.abs(left.standardised[worst]) > 2.0]
        off = self.level.sign * left.raw
        named = [f"{self.questions.label(int(seen[i]))} ({off[i]:+.2g})" for i in worst]
        more = f", most of all {', '.join(named)}" if named else ""
        options = tuple(int(x) for x in seen[worst])
        p = f"p = {lack.p_value:.1g}" if lack.p_value >= 1e-12 else "p < 1e-12"
        if self._sound("fit", lack.p_value, self._said("fit", p=p, worst=more), options):
            constant = self._constant(seen, left)
            if constant > 0.0:
                told = self._said("intercept", p=p, worst="", share=constant)
                self._alarms["fit"] = Finding("intercept", told, True, (), lack.p_value)
        return []

    def _constant(self, seen: Indices, left: Residuals) -> float:
        """Return the share of the lack of fit that a constant explains; 0 if it may be chance."""
        # Of residuals that go any way alike, a constant explains a share of the distribution
        # Beta(1/2, (df − 1)/2).
        n, df = self.counts[seen], left.lack.df
        alone = self.questions.options.stand_alone
        if alone and (self.questions.about[:, 1] < 0).any():  # it is what all of them may share
            return 0.0
        relative = self.questions.noise
        one = np.ones(len(seen)) if relative is None else 1.0 / relative[seen]
        rows = np.column_stack([self.questions.weighted_points[seen], one])
        more = residuals(rows, n, self.means[seen], self.scatters[seen], self.noise_scale)
        if more.lack.df in (0, df):  # it explains all, or lies in the span of the features
            return 0.0
        share = 1.0 - float(n @ more.raw**2) / float(n @ left.raw**2)
        chance = fdtrc(1, df - 1, share / max(1.0 - share, 1e-300) * (df - 1))
        return share if chance <= _BY_CHANCE else 0.0

    def _judge_scale(self, entries: Entries, w: Floats, noise_scale: float) -> list[Finding]:
        p = scale_p_value(entries, w, noise_scale)
        seen = {"seen": math.sqrt(self.pooled_scatter()[0]), "stated": noise_scale}
        if self._sound("scale", p, self._said("louder", **seen)):
            return []
        p = overstated_p_value(entries, w, noise_scale)
        quiet = p <= self._level("scale")
        return [Finding("scale", self._said("quieter", **seen), False, (), p)] if quiet else []

    def _judge_strays(self, entries: Entries, found: Strays) -> list[Finding]:
        sizes = np.abs(found.sizes)
        far = np.argsort(-sizes, kind="stable")[: int((sizes > _SUSPICIOUS).sum())]
        if len(far) == 0:
            return []
        options = tuple(int(x) for x in np.unique(entries.options[far]))
        named = ", ".join(self._named_stray(entries, int(i)) for i in far[:_NAMED])
        if len(far) > _NAMED:
            named += ", …"
        told = self._said("outliers", n=len(far), share=len(far) / len(entries), named=named)
        self._sound("outliers", found.p_value, told, options)
        if "outliers" in self._alarms:
            return []
        return [Finding("outliers", self._said("suspicious", named=named), False, options)]

    def _named_stray(self, entries: Entries, i: int) -> str:
        """Return an entry in words, and how the mean of its option changes without it."""
        x, b, y = int(entries.options[i]), entries.counts[i], entries.means[i]
        n, loud = self.counts[x], 1.0 if self.questions.noise is None else self.questions.noise[x]

        def shown(mean: float) -> str:
            return f"{self.level.sign * (mean * loud + self.level.origin):.4g}"

        what = shown(y) if b == 1 else f"among {b:.0f} with mean {shown(y)}"
        without = f"mean {shown(self.means[x])}"
        if n > b:
            without += f", {shown((n * self.means[x] - b * y) / (n - b))} without it"
        return f"{self.questions.label(x)}: {what} ({without})"


_OPTIONS = {
    "one": "option",
    "many": "options",
    "model": "the features",
    "Model": "The features",
    "means": "mean scores of options lie further from the linear model than their scatter allows",
    "remedy": "Go by the options' own scores, or add features that tell these options apart.",
    "further": "Evaluate further ones.",
    "again": "hardly any option was evaluated twice. Evaluate some again.",
    "constant": "A constant, which the features do not hold, would explain {share:.0%} of it: add "
    "an intercept, ActionSet(..., intercept=True).",
}
"""What to call what was evaluated, what should explain it, and what to do if it does not."""

_QUESTIONS = {
    "one": "question",
    "many": "questions",
    "model": "values, leniency and favours",
    "Model": "Values, leniency and favours",
    "means": "mean answers to questions lie further from their sum than their scatter allows",
    "remedy": "Evaluators differ on these by more: let each have a favour of its own "
    "(bias='evaluator'), or ask more evaluators about the options that matter.",
    "further": "Ask further ones.",
    "again": "hardly any question was asked twice, so what one evaluator adds to one option alone "
    "counts as noise. Ask some again, if that can be.",
    "constant": "A favour for what is named first would explain {share:.0%} of it: allow for it, "
    "Questions.comparisons(..., position=True).",
}
_ONCE = _QUESTIONS | {
    "again": "nothing can be asked twice, so what one evaluator adds to one option alone counts as "
    "noise."
}
_FIT = "{Model} do not explain the scores: {means} ({p}){worst}. "
_UNCHECKED = "Whether {model} explain the scores was not checked: "
_SCATTER = "Scores of one and the same {one} scatter by {seen:.3g}"
_SAID = {
    "fit": _FIT + "{remedy}",
    "intercept": _FIT,
    "no fit": _UNCHECKED + "{n} {many} were evaluated, no more than the model has parameters. "
    "{further}",
    "no scatter": _UNCHECKED + "{again}",
    "louder": _SCATTER + ", more than the stated noise_scale of {stated:.3g} allows. Give "
    "noise_scale=None, and it is estimated.",
    "quieter": _SCATTER + " only; noise_scale was stated as {stated:.3g}. A smaller one needs "
    "fewer evaluations.",
    "drift": "Scores {way} with time, by {size:.2g} in 100 evaluations, for one and the same "
    "{one}. Ask in random order, and ask early {many} again.",
    "dependence": "Scores that follow each other are alike beyond their {many} (correlation "
    "{rho:.2f}), so they tell less than so many independent ones. Ask in random order, with breaks "
    "or by several evaluators.",
    "outliers": "{n} scores ({share:.1%}) lie far outside what their {many}' other scores allow: "
    "{named}. Look for typing errors; drop or mend these scores.",
    "suspicious": "Suspicious, far from its {one}'s other scores: {named}. Look at it again.",
    "repeats": "All {n} repeated evaluations gave the same score as before. An evaluator who "
    "repeats himself tells nothing new, and the noise cannot be seen: ask others, or ask in "
    "another way.",
    "rounding": "Scores come in steps of {step:.3g}, coarse beside their scatter of {seen:.2g}. "
    "Intervals are made for scores without steps: finer scores tell more.",
}


def _terms_of(questions: Questions) -> dict[str, str]:
    """Return what to call what was evaluated: options, where each is its own question."""
    if not len(questions.evaluators):
        return _OPTIONS
    return _ONCE if int(questions.capacity.max(initial=0)) <= 1 else _QUESTIONS
