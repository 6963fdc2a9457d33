"""How large the parameters of a family of problems may be: what its members and limits share."""

from __future__ import annotations

import math

from evenhand.errors import InputError

_MOST_KAPPA = 1e18  # rounding the points may change κ_* by a share of √κ · 4e-16: six digits stay
_MOST_NUMBERS = 10**9


def check_size(d: int, kappa: float, name: str = "kappa") -> None:
    """Refuse what is no number of features, or no κ_*, of the hard families."""
    if not 2 <= d < math.inf or d != int(d):
        raise InputError(
            f"d must be a whole number ≥ 2; got {d}. With one feature at most two options can be "
            "the best, and the problem is as easy as without bias."
        )
    check_room(d + 1, d)
    if not 1 <= kappa <= _MOST_KAPPA:
        raise InputError(
            f"{name} must be a number from 1 to {_MOST_KAPPA:g}; got {kappa}. It is κ_*, which is "
            "never below 1, and beyond 10¹⁸ is lost in rounding."
        )


def check_gaps(delta_min: float, delta_neq: float) -> None:
    """Refuse gaps that the gap-dependent families cannot have."""
    if not 0 < delta_min <= delta_neq <= 0.5 or delta_neq + 3 * delta_min > 1:
        raise InputError(
            "the gaps must satisfy 0 < delta_min ≤ delta_neq ≤ 1/2 and delta_neq + 3 delta_min ≤ "
            f"1, to keep values below 1; got delta_min = {delta_min}, delta_neq = {delta_neq}."
        )


def check_room(k: int, d: int) -> None:
    """Refuse a matrix of options that no memory holds."""
    if k * d > _MOST_NUMBERS:
        raise InputError(
            f"{k} options with {d} features are too many numbers; at most {_MOST_NUMBERS:,} are "
            "made, which take 8 GB. Take fewer."
        )
