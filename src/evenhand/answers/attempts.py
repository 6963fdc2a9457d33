"""Who answered, how often it failed, and how long it took; and whether that hangs on the answer.

Everything that is said of scores takes for granted that whether and when an answer comes does not
depend on what it is. A question that fails where its answer would have been low, and is tried again
until it is not, makes an option look better than it is, and no score shows it. What can be seen is
that failures keep to some options, or that late answers are lower (or higher) than early ones.

Notation
--------
n_eo, f_e   tries of evaluator e on option o, and failures of e
F_o         failures on option o: given all n and f, if failing has nothing to do with the option,
            a sum of independent hypergeometric numbers, one for each evaluator
r_i, t_i    residual of an answer, and the rank of its time among those of its evaluator, centred
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse, special
from scipy.sparse import linalg

from evenhand.arrays import Counts, Floats
from evenhand.checks import Finding
from evenhand.questions import Questions
from evenhand.report.words import short

_KEPT = 2048  # answers of which times are kept
_ENOUGH = 30  # answers before times are looked at
_CHANCE = 5e-3  # of an alarm by some option's failures, where nothing hangs together
_CHANCE_CHOSEN = 0.05  # by those of the choice: what its certainty is worth
_CHANCE_LATE = 1e-3  # by times
_LOOKED_AT = 50  # options, those with most failures
_MOST_NAMED = 3


@dataclass
class Attempts:
    """Tries, failures and times of the questions of a run."""

    answered: dict[int, int] = field(default_factory=dict)  # by question
    failed: dict[int, int] = field(default_factory=dict)  # by question
    # question, score and seconds of the last answers
    times: deque[tuple[int, float, float]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def answer(self, question: int, score: float, seconds: float | None = None) -> None:
        """Take note of an answer, and of how long it took, if that is known."""
        self.answered[question] = self.answered.get(question, 0) + 1
        if seconds is not None and math.isfinite(seconds):
            self.times.append((question, float(score), float(seconds)))

    def fail(self, question: int) -> None:
        """Take note of a failed try."""
        self.failed[question] = self.failed.get(question, 0) + 1

    @property
    def tries(self) -> int:
        """How many tries there were."""
        return sum(self.answered.values()) + sum(self.failed.values())

    @property
    def failures(self) -> int:
        """How many of them failed."""
        return sum(self.failed.values())

    def moved(self, place: Callable[[int], int]) -> Attempts:
        """Return the same of questions that are called otherwise."""
        return Attempts(
            {place(x): n for x, n in self.answered.items()},
            {place(x): n for x, n in self.failed.items()},
            deque(((place(x), score, s) for x, score, s in self.times), maxlen=_KEPT),
        )

    def by_option(self, questions: Questions) -> dict[str, tuple[int, int]]:
        """Return tries and failures by what was asked about; a comparison is about both."""
        return self._by(lambda x: [questions.items[o] for o in questions.options_of(x)])

    def by_evaluator(self, questions: Questions) -> dict[str, tuple[int, int]]:
        """Return tries and failures by who was asked; of nobody in particular, nothing."""
        return self._by(lambda x: [name for name in [questions.evaluator_of(x)] if name])

    def _by(self, names: Callable[[int], list[str]]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for x in sorted(self.answered.keys() | self.failed.keys()):
            failed = self.failed.get(x, 0)
            for name in names(x):
                tries, before = found.get(name, (0, 0))
                found[name] = tries + failed + self.answered.get(x, 0), before + failed
        return found

    def to_dict(self, questions: Questions) -> dict[str, Any]:
        """Return all counts as a plain value."""
        parts = ("tries", "failures")
        return {
            "tries": self.tries,
            "failures": self.failures,
            "options": {
                name: dict(zip(parts, counts, strict=True))
                for name, counts in self.by_option(questions).items()
            },
            "evaluators": {
                name: dict(zip(parts, counts, strict=True))
                for name, counts in self.by_evaluator(questions).items()
            },
        }

    def memory(self) -> dict[str, Any]:
        """Return all of it as lists, for `recall`."""
        return {
            "answered": list(self.answered.items()),
            "failed": list(self.failed.items()),
            "times": list(self.times),
        }

    @classmethod
    def recall(cls, memory: Mapping[str, Any]) -> Attempts:
        """Return what `memory` was taken of."""
        answered, failed = (
            {int(x): int(n) for x, n in memory[name]} for name in ("answered", "failed")
        )
        times = ((int(x), float(y), float(s)) for x, y, s in memory["times"])
        return cls(answered, failed, deque(times, maxlen=_KEPT))

    # ------------------------------------------------------------------ what it says

    def findings(self, questions: Questions, chosen: str | None = None) -> list[Finding]:
        """Return an alarm where failures or times depend on options or scores."""
        # Of the chosen option it takes less: that it fails more often, or less, at a level of 5%.
        found = self._failures(questions, chosen), self._late(questions)
        return [one for one in found if one is not None]

    def _failures(self, questions: Questions, chosen: str | None) -> Finding | None:
        by_option = self.by_option(questions)
        if not self.failures or len(by_option) < 2:
            return None
        most = sorted(by_option, key=lambda one: -by_option[one][1])[:_LOOKED_AT]
        chances = {name: self._chance(questions, name) for name in most if by_option[name][1]}
        name = min(chances, key=lambda one: chances[one][0])
        chance, enough = min(1.0, chances[name][0] * len(by_option)), _CHANCE
        if chosen in by_option and chance > _CHANCE:
            name, enough = chosen, _CHANCE_CHOSEN
            chance = min(1.0, 2.0 * min(self._chance(questions, chosen)))
        if chance > enough:
            return None
        tries, failed = by_option[name]
        others = [counts for other, counts in by_option.items() if other != name]
        return Finding(
            "attempts",
            f"{short(name)} failed in {failed:,} of {tries:,} tries, others in "
            f"{sum(f for _, f in others):,} of {sum(n for n, _ in others):,}: chance alone would "
            f"do that in {_rarely(chance)}. If an answer fails for what it would have been, those "
            "that came back are a selection, and nothing here is certain. Find out why it fails.",
            alarm=True,
            p_value=chance,
        )

    def _chance(self, questions: Questions, name: str) -> tuple[float, float]:
        """Return how probable so many failures on an option are, and so few."""
        cells: dict[
            str | None, list[int]
        ] = {}  # by evaluator: tries, failures, tries on the option
        seen = 0
        for x in self.answered.keys() | self.failed.keys():
            failed = self.failed.get(x, 0)
            tries, about = failed + self.answered.get(x, 0), name in _names(questions, x)
            cell = cells.setdefault(questions.evaluator_of(x), [0, 0, 0])
            cell[0] += tries
            cell[1] += failed
            cell[2] += tries * about
            seen += failed * about
        law = np.ones(1)
        for tries, failed, own in cells.values():
            if failed and own:
                law = np.convolve(law, _shared_out(tries, own, failed))
        return float(law[seen:].sum()), float(law[: seen + 1].sum())

    def _late(self, questions: Questions) -> Finding | None:
        kept = [one for one in self.times if one[0] < len(questions)]
        if len(kept) < _ENOUGH:
            return None
        x = np.array([one[0] for one in kept])
        y, seconds = (np.array([one[place] for one in kept]) for place in (1, 2))
        rows = sparse.csr_array(questions.matrix[x])
        constant = sparse.csr_array(np.ones((len(x), 1)))
        fit = linalg.lsqr(sparse.hstack([rows, constant]), y - y.mean(), iter_lim=500)[0]
        residuals = y - y.mean() - rows @ fit[:-1] - fit[-1]
        together = square = alike = 0.0
        for who in np.unique(questions.evaluator[x]):
            own = questions.evaluator[x] == who
            r = residuals[own] - residuals[own].mean()
            t = _ranks(seconds[own])
            t -= t.mean()
            if own.sum() > 1:
                together += float(r @ t)
                square += float((r @ r) * (t @ t)) / (int(own.sum()) - 1)
                alike += math.sqrt(float((r @ r) * (t @ t)))
        if square <= 0.0 or not math.isfinite(square):
            return None
        chance = float(2.0 * special.ndtr(-abs(together) / math.sqrt(square)))
        if chance > _CHANCE_LATE:
            return None
        way = "higher" if together > 0.0 else "lower"
        return Finding(
            "timing",
            f"Answers that took longer are {way} than others (rank correlation "
            f"{together / alike:+.2f} over {len(kept):,} answers; chance alone would do that in "
            f"{_rarely(chance)}). When an answer comes must not depend on what it is: those on "
            "their way are then unlike those that came, and nothing here is certain. Wait for all "
            "answers that are out, and find out what makes some slow.",
            alarm=True,
            p_value=chance,
        )

    def in_words(self, questions: Questions) -> str:
        """Return how many tries failed, on what and of whom; "" if none did."""
        if not self.failures:
            return ""
        said = f"{self.failures:,} of {self.tries:,} tries came to nothing"
        parts = []
        for counts in (self.by_option(questions), self.by_evaluator(questions)):
            most = sorted(counts.items(), key=lambda one: -one[1][1])[:_MOST_NAMED]
            named = [f"{short(name)} {f:,} of {n:,}" for name, (n, f) in most if f]
            parts += named if len(counts) > 1 else []
        return f"{said}{': ' if parts else ''}{', '.join(parts)}"


def _names(questions: Questions, x: int) -> list[str]:
    return [questions.items[o] for o in questions.options_of(x)]


def _rarely(chance: float) -> str:
    """Return how rarely something happens, in words."""
    return f"one case of {1.0 / chance:,.0f}" if chance > 1e-9 else "fewer than one case of 10⁹"


def _shared_out(tries: int, own: int, failed: int) -> Floats:
    """Return (failed + 1,) hypergeometric probabilities of failures among the own tries."""
    i = np.arange(failed + 1)
    logs = _log_binom(own, i) + _log_binom(tries - own, failed - i)
    ways = np.exp(logs - logs.max())
    return np.asarray(ways / ways.sum())


def _log_binom(n: int, k: Counts) -> Floats:
    """Return the logs of binomial coefficients; −∞ where there is no way."""
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0)
    logs = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.where(inside, logs, -np.inf)


def _ranks(numbers: Floats) -> Floats:
    """Return the ranks of numbers from 1, those that are equal at their mean."""
    _, place, often = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(often) - 0.5 * (often - 1))[place])
