"""What is assumed of the values before anything is known: leads, values, or how they spread.

Words are in the user's units; values in standard deviations of one evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from evenhand.arrays import Floats, as_vector
from evenhand.errors import InputError

_LEAST = 1e-6  # of a lead, in standard deviations of one evaluation


@dataclass(frozen=True, eq=False)
class Assumed:
    """Values of the options as they may be."""

    words: str  # what is assumed, to follow on "if"
    ranked: Floats | None = None  # (k,) the best first; which option is which is not known
    values: Floats | None = None  # (k,) by option, instead
    spread: float | None = None  # standard deviation, where values are drawn anew each time
    origin: float = 0.0  # what values are measured from, in the user's units

    @property
    def closest(self) -> float:
        """By how much the best leads the closest rival."""
        known = self.ranked if self.values is None else np.sort(self.values)[::-1]
        assert known is not None
        return float(known[0] - known[1])

    def one(self, rng: np.random.Generator) -> Floats:
        """Return (k,) values; which option is the best, if that is not known, is drawn."""
        if self.values is not None:
            return self.values
        assert self.ranked is not None
        return rng.permutation(self.ranked)

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """Return (n, k) values as they may be."""
        if self.values is not None:
            return np.tile(self.values, (n, 1))
        assert self.ranked is not None
        if self.spread is not None:
            return self.spread * rng.standard_normal((n, len(self.ranked)))
        return rng.permuted(np.tile(self.ranked, (n, 1)), axis=1)


def assumed(
    k: int,
    leads: ArrayLike | None,
    values: ArrayLike | None,
    tolerance: float,
    sigma: float,
    *,
    best: bool = True,
) -> Assumed:
    """Return what is assumed of the values, from the arguments of `plan`; where the ``best`` one is
    wanted, nobody may be as good.
    """
    if (leads is None) == (values is None):
        raise InputError("give either leads= or values=, what is assumed of the options; not both.")
    if leads is not None:
        given = np.asarray(leads, dtype=np.float64)
        lead = as_vector(np.full(k - 1, given) if given.ndim == 0 else given, k - 1, "leads")
        if lead.min(initial=0.0) < 0.0:
            raise InputError(f"leads must be numbers ≥ 0, over each of the others; got {leads!r}.")
        lead = np.sort(lead)
        if best:
            _refuse_ties(lead + tolerance, sigma)
        words = (
            f"the best leads every other by {lead[0]:g}"
            if given.ndim == 0
            else (f"the best leads the others by {_listed(lead)}")
        )
        return Assumed(words, ranked=np.concatenate([[0.0], -lead / sigma]) + 0.0)
    given = np.asarray(values, dtype=np.float64)
    if given.ndim:
        known = as_vector(given, k, "values")
        most = float(known.max())
        if best:
            _refuse_ties(np.sort(most - known)[1:] + tolerance, sigma)
        return Assumed("values are as assumed", values=(known - most) / sigma, origin=most)
    spread = float(given)
    if not (np.isfinite(spread) and spread > 0.0):
        raise InputError(
            "values must be a number > 0, the standard deviation of the options' values, or one "
            f"value per option; got {values!r}."
        )
    words = f"values have a standard deviation of {spread:g}"
    ranked = spread / sigma * normal_ranks(k)
    if best:
        _refuse_ties(ranked[0] - ranked[1:] + tolerance / sigma, 1.0)
    return Assumed(words, ranked=ranked, spread=spread / sigma)


def normal_ranks(k: int) -> Floats:
    """Return about the expected values of k standard normal numbers, the largest first (Blom)."""
    return np.asarray(ndtri((k + 1 - np.arange(1, k + 1) - 0.375) / (k + 0.25)) + 0.0)


def _refuse_ties(leads: Floats, sigma: float) -> None:
    least = float(leads.min(initial=np.inf)) / sigma
    if least <= 0.0:
        raise InputError(
            "a lead of 0 is never certain, by any number of evaluations: say by how much the best "
            "leads at least, or which loss does not matter (tolerance=)."
        )
    if least < _LEAST:
        raise InputError(
            f"a lead of {least:.3g} standard deviations of one evaluation takes more evaluations "
            "than can be counted: assume larger leads, give a tolerance, or check noise_scale."
        )


def _listed(leads: Sequence[float] | Floats) -> str:
    shown = ", ".join(f"{lead:g}" for lead in leads[:4])
    return shown + (", …" if len(leads) > 4 else "")
