"""Stages: evaluations whose design is frozen before any of them is made.

Notation
--------
N               evaluations before the stage, by whose least squares (`Stage.before`)
g, s            the lead of the leader over a rival is g ± s, both in units of σ
need            log(1/δ) − log W + 1: evidence still lacking against a rival, and some more

A stage makes max need · variance of the lead / max(g, s)² small for its price (`Model.plan`). What
was learnt before decides who leads, the proportions, the length and the priors; then all of it is
frozen. That it is planned by pooled least squares and by guesses costs evaluations where the guess
is bad, and never certainty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.e_process import Reading
from evenhand.certainty.models import Fit, Model, Spread
from evenhand.policies.base import more_of, nth

LONGEST = 4096
"""Evaluations after which the order of a stage is repeated."""
_ROUNDING = 1e-14  # share of all squares below which what is left of them is rounding
_FEW = 4  # evaluations of each option that looks see to, where there are so many


class Expected(NamedTuple):
    """What was expected of a stage's leads when it was frozen: all that its priors depend on.

    Parameters
    ----------
    leads, variances
        (n,) leads over the rivals in units of the evidence (of σ, where that is known), and their
        variances per unit of noise variance.
    unit, freedom
        What the noise was taken to be, 1 where it is known, and with how many degrees of freedom.
    """

    leads: Floats
    variances: Floats
    unit: float
    freedom: float

    @classmethod
    def by(cls, before: Fit, leader: int, rivals: Indices) -> Self:
        """Return what a fit expects."""
        return cls(*before.leads(leader, rivals), before.unit, before.freedom)

    @property
    def spread(self) -> Spread:
        """The leads and their variances."""
        return Spread(self.leads, self.variances)

    def prior(self, above: float) -> tuple[Floats, Floats]:
        """Return (n, 30) effects of leads beyond ``above``, and their log weights."""
        n = len(self.leads)
        known = (self.variances > 0.0) & np.isfinite(self.variances)
        spreads, nothing = np.sqrt(np.where(known, self.variances, 1.0)), np.zeros(n)
        units = np.full(n, self.unit)
        plain = Reading(self.leads, nothing, nothing, nothing, self.leads, spreads, units)
        return plain.prior(above, max(1.0, self.freedom))

    @classmethod
    def recalled(cls, memory: Mapping[str, Any]) -> Self:
        """Return what ``_asdict`` was made of; arrays may have become lists on the way."""
        leads, variances = (np.array(memory[n], dtype=np.float64) for n in cls._fields[:2])
        return cls(leads, variances, float(memory["unit"]), float(memory["freedom"]))


@dataclass(frozen=True, eq=False)
class Stage:
    """What is frozen before a stage begins.

    Parameters
    ----------
    leader
        The option whose leads are tested; −1 for a start, which tests nothing.
    rivals
        (n,) those it is tested against.
    order, times
        (length,) questions in the order in which they are handed out, and how often that is
        repeated.
    before
        Least squares on all evaluations before; None if there were none.
    expected
        What was expected of the leads; None of a start.
    among
        (n,) the options that there were then, where others came since; None if none did.
    """

    leader: int
    rivals: Indices
    order: Indices
    before: Fit | None = None
    times: int = 1
    expected: Expected | None = None
    among: Indices | None = None

    @classmethod
    def opening(cls, order: Indices, before: Fit | None = None) -> Self:
        """Return a stage that tests nothing."""
        return cls(-1, np.zeros(0, dtype=np.intp), order, before)

    @cached_property
    def _places(self) -> tuple[Counts, Counts]:
        """The order twice, and which evaluation of its question each place is."""
        twice = np.concatenate([self.order, self.order])
        return twice, nth(twice)

    def wanted(self, k: int) -> Counts:
        """Return (k,) evaluations that make the stage whole."""
        return self.times * np.bincount(self.order, minlength=k).astype(np.int64)

    def next_ones(self, have: Counts) -> Indices:
        """Return what is next of the stage, in order, beside what is there or on its way."""
        twice, turn = self._places
        block = np.bincount(self.order, minlength=len(have))
        used = block > 0
        gone = min(self.times - 1, int((have[used] // block[used]).min()))
        (left,) = np.nonzero(turn > (have - gone * block)[twice])
        if gone == self.times - 1:
            left = left[left < len(self.order)]
        return np.asarray(twice[left])

    def beyond(self, have: Counts, n: int) -> Indices:
        """Return n questions with which the order is gone through once more, beside what is there.

        Once all of the stage is on its way, evaluators need not wait for the last to come back.
        """
        return _in_turn(more_of(np.bincount(self.order, minlength=len(have)), have, n))

    def memory(self) -> dict[str, Any]:
        """Return all of it by name."""
        return {
            "leader": self.leader,
            "rivals": self.rivals,
            "order": self.order,
            "before": None if self.before is None else self.before.memory(),
            "times": self.times,
            "expected": None if self.expected is None else self.expected._asdict(),
            "among": self.among,
        }

    @classmethod
    def recalled(cls, memory: Mapping[str, Any], model: Model) -> Self:
        """Return the stage that `memory` was made of."""
        leader, before = int(memory["leader"]), memory["before"]
        fit = None if before is None else model.recalled(before)
        rivals = np.asarray(memory["rivals"], dtype=np.intp)
        expected, among = memory.get("expected"), memory.get("among")
        if expected is not None:
            expected = Expected.recalled(expected)
        elif fit is not None and leader >= 0:  # a state from before it was kept
            expected = Expected.by(fit, leader, rivals)
        return cls(
            leader,
            rivals,
            np.asarray(memory["order"], dtype=np.intp),
            fit,
            int(memory["times"]),
            expected,
            None if among is None else np.asarray(among, dtype=np.intp),
        )


def _in_turn(counts: Counts) -> Indices:
    """Return questions so often as they are counted, each round of them in order."""
    order = np.repeat(np.arange(len(counts)), counts)
    return order[np.argsort(nth(order), kind="stable")]


def reading(fit: Fit, said: Spread, expected: Spread, unit: float) -> Reading:
    """Return what the fit of a stage says of directions, beside what was expected before it.

    Nothing of a direction of which nothing was expected: there is no prior for it. And nothing
    where scores are so much alike that both the residuals and the estimate are rounding: with a
    noise of exactly 0, which rounded scores can have, rounding would be evidence.
    """
    ones = np.ones(len(said.estimates))
    known = (said.variances > 0.0) & np.isfinite(expected.variances)
    information = np.where(known, 1.0 / np.where(known, said.variances, 1.0), 0.0)
    if math.isfinite(fit.freedom):
        left = fit.scatter + information * said.estimates**2
        information[left <= _ROUNDING * fit.size] = 0.0
    return Reading(
        said.estimates,
        information,
        fit.scatter * ones,
        fit.freedom * ones,
        expected.estimates,
        np.sqrt(np.where(known, expected.variances, 1.0)),
        unit * ones,
    )


def with_looks(
    order: Indices, share: float, told: Counts, left: Counts, rng: np.random.Generator
) -> Indices:
    """Return an order of the same length with a share of looks at what was asked least so far.

    They come in random order at random places, as far as there is something ``left`` to ask. Of
    questions that were asked equally seldom, chance decides; so early ones are looked at again, and
    where there are many a sample of them. Where there are few, up to twice the share goes to those
    with less than four evaluations.
    """
    n, q = max(1, round(share * len(order))), len(told)
    if _FEW * q <= told.sum() + len(order):
        lacking = np.maximum(_FEW - told - np.bincount(order, minlength=q), 0).sum()
        n = min(max(n, int(lacking)), 2 * n, len(order))
    kept = order[: len(order) - n]
    made = np.bincount(kept, minlength=q)
    have, room = told + made, left - made
    looks: list[int] = []
    while len(looks) < n and (room > 0).any():
        (least,) = np.nonzero((room > 0) & (have == have[room > 0].min()))
        looks.append(int(rng.choice(least)))
        have[looks[-1]] += 1
        room[looks[-1]] -= 1
    mixed = np.empty(len(kept) + len(looks), dtype=np.intp)
    at = np.zeros(len(mixed), dtype=np.bool_)
    at[rng.choice(len(mixed), len(looks), replace=False)] = True
    mixed[at], mixed[~at] = looks, kept
    return mixed
