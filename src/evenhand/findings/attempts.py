"""Tries and failures of questions: an answer that fails for what it would say leaves a selection.

Notation
--------
n_e, f_e    tries and failures of evaluator e;  m_e those of his tries that are about option o
F_o         failures on option o: given all of these, if failing has nothing to do with the option,
            a sum of independent hypergeometric numbers, one for each evaluator

A question that fails where its answer would have been low, and is tried again until it is not,
makes an option look better than it is, and no score shows it. That failures keep to some options
can be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from evenhand.arrays import Counts, Floats
from evenhand.questions import Questions, names_about
from evenhand.report.words import p_value, short
from evenhand.scores import Finding

_CHANCE = 5e-3  # of an alarm by some option's failures, where nothing hangs together
_CHANCE_CHOSEN = 0.05  # by those of the choice: what its certainty is worth
_LOOKED_AT = 50  # options, those with most failures


@dataclass
class Attempts:
    """Answers and failures of the questions of a run, by the number of the question."""

    answered: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)

    def answer(self, question: int) -> None:
        """Take note of an answer."""
        self.answered[question] += 1

    def fail(self, question: int) -> None:
        """Take note of a failed try."""
        self.failed[question] += 1

    @property
    def tries(self) -> int:
        """How many tries there were."""
        return self.answered.total() + self.failures

    @property
    def failures(self) -> int:
        """How many of them failed."""
        return self.failed.total()

    def moved(self, place: Callable[[int], int]) -> Attempts:
        """Return the same counts with questions renumbered, one to one."""
        counts = self.answered, self.failed
        return Attempts(*(Counter({place(x): n for x, n in one.items()}) for one in counts))

    def by_option(self, questions: Questions) -> dict[str, tuple[int, int]]:
        """Return tries and failures by option; a comparison is about both of its options."""
        return self._by(lambda x: _options(questions, x))

    def by_evaluator(self, questions: Questions) -> dict[str, tuple[int, int]]:
        """Return tries and failures by evaluator; of nobody in particular, nothing."""
        return self._by(lambda x: [name for name in [questions.evaluator_of(x)] if name])

    def to_dict(self, questions: Questions) -> dict[str, Any]:
        """Return all counts as a plain value."""

        def plain(counts: dict[str, tuple[int, int]]) -> dict[str, dict[str, int]]:
            return {name: {"tries": n, "failures": f} for name, (n, f) in counts.items()}

        return {
            "tries": self.tries,
            "failures": self.failures,
            "options": plain(self.by_option(questions)),
            "evaluators": plain(self.by_evaluator(questions)),
        }

    def findings(self, questions: Questions, chosen: str | None = None) -> list[Finding]:
        """Return an alarm where failures depend on the option; of the chosen one it takes less."""
        counts = self.by_option(questions)
        if not self.failures or len(counts) < 2:
            return []
        most = sorted(counts, key=lambda one: -counts[one][1])[:_LOOKED_AT]
        chances = {name: self._chance(questions, name)[0] for name in most if counts[name][1]}
        name = min(chances, key=chances.__getitem__)
        chance, enough = min(1.0, chances[name] * len(counts)), _CHANCE
        if chosen in counts and chance > _CHANCE:
            name, enough = chosen, _CHANCE_CHOSEN
            chance = min(1.0, 2.0 * min(self._chance(questions, chosen)))
        if chance > enough:
            return []
        tries, failed = counts.pop(name)
        others = np.array(list(counts.values())).sum(axis=0)
        message = (
            f"{short(name)} failed in {failed:,} of {tries:,} tries, others in {others[1]:,} of "
            f"{others[0]:,} ({p_value(chance)}): if answers fail for what they would have been, "
            "those that came are a selection, and nothing here is certain; find out why they fail."
        )
        return [Finding("attempts", message, p_value=chance)]

    def _by(self, names: Callable[[int], list[str]]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for x in sorted(self.answered.keys() | self.failed.keys()):
            for name in names(x):
                tries, failed = found.get(name, (0, 0))
                more = self.failed[x]
                found[name] = tries + more + self.answered[x], failed + more
        return found

    def _chance(self, questions: Questions, name: str) -> tuple[float, float]:
        """Return how probable so many failures on an option are, and so few."""
        everybody = self._by(lambda x: [questions.evaluator_of(x) or ""])
        own = self._by(
            lambda x: [questions.evaluator_of(x) or ""] * (name in _options(questions, x))
        )
        law = np.ones(1)
        for who, (m, _) in own.items():
            law = np.convolve(law, _hypergeometric(*everybody[who], m))
        seen = sum(f for _, f in own.values())
        return float(law[seen:].sum()), float(law[: seen + 1].sum())


def _options(questions: Questions, x: int) -> list[str]:
    return list(names_about(questions, x))


def _hypergeometric(n: int, failed: int, own: int) -> Floats:
    """Return (failed + 1,) the law of failures among own ones of n tries."""
    i = np.arange(failed + 1)
    ways = np.exp(_log_binom(own, i) + _log_binom(n - own, failed - i) - _log_binom(n, failed))
    return np.asarray(ways / ways.sum())


def _log_binom(n: int, k: Counts | int) -> Floats:
    # of k > n it is −∞, since the last term is at a pole
    log = special.gammaln
    return np.asarray(log(n + 1) - log(k + 1) - log(n - k + 1))
