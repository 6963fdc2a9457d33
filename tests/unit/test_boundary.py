"""Where looking stops to pay: the boundary of Chernoff's problem, by other routes."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand.policies import exploration_boundary
from evenhand.policies._boundary import boundary

Floats = NDArray[np.float64]

TABLE = {1: 0.23, 2: 0.96, 3: 1.53, 5: 2.25, 10: 3.06, 20: 3.73, 50: 4.43, 100: 4.89, 200: 5.31}
"""Z(u) as another implementation has it; its grid is good for two digits."""


@functools.cache
def solved(
    first: float, last: float, n: int, widest: float, fineness: int
) -> tuple[Floats, Floats]:
    """Log u on a grid, and the boundary there."""
    log_eta = np.linspace(2.0 * math.log(first), 2.0 * math.log(last), n)
    return log_eta / 2.0, boundary(log_eta, widest, fineness)


def Z(u: float) -> float:
    log_u, values = solved(0.05, 1e5, 12_000, 9.0, 1_800)
    return float(np.interp(math.log(u), log_u, values))


@functools.cache
def walked(dl: float, last: float, fineness: float) -> tuple[Floats, Floats]:
    """Log u and the boundary by another route: μ walks up or down while η falls by a factor e^dl.

    W(μ, η) = max(|μ|/2, ½W(μ + √(η − η′), η′) + ½W(μ − √(η − η′), η′) − (1/η′ − 1/η)), on a grid of
    x = μ/√η, from a small η upwards. Whoever walks may stop at the end of a step only.
    """
    x = np.arange(0.0, 6.5, fineness)
    stop = 0.5 * x
    w = stop.copy()  # W/√η
    step, stretch = math.sqrt(math.expm1(dl)), math.exp(0.5 * dl)
    ups, downs = x * stretch + step, np.abs(x * stretch - step)
    at_up, at_down = (np.minimum((y / fineness).astype(np.intp), len(x) - 2) for y in (ups, downs))
    part_up, part_down = ups / fineness - at_up, downs / fineness - at_down
    log_eta = np.arange(2.0 * math.log(0.3), 2.0 * math.log(last), dl)
    Zs = np.zeros(len(log_eta))
    for j, at in enumerate(log_eta):
        slope = np.diff(w)
        up = w[at_up] + part_up * slope[at_up]  # beyond the grid w is |x|/2, a line
        down = w[at_down] + part_down * slope[at_down]
        price = math.exp(-1.5 * at) * math.expm1(dl)  # (1/η′ − 1/η)/√η, η′ = ηe^{−dl}
        look = 0.5 * (up + down) / stretch - price
        gain = look - stop
        w = np.maximum(stop, look)
        i = int(np.count_nonzero(gain > 0.0))
        if i > 0:
            Zs[j] = fineness * (i - 1 + gain[i - 1] / (gain[i - 1] - gain[i]))
    return log_eta / 2.0, Zs


def test_a_walk_that_is_stopped_best_has_the_same_boundary() -> None:
    """Stopping at steps only moves the boundary in by a multiple of √dl, to be extrapolated."""
    coarse, fine = walked(2e-3, 220.0, 2.5e-3), walked(5e-4, 220.0, 1.25e-3)
    for u in (0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0):
        once, twice = (float(np.interp(math.log(u), *walk)) for walk in (coarse, fine))
        assert 2.0 * twice - once == pytest.approx(Z(u), rel=0.003, abs=0.002)
        assert once < twice < Z(u)


def test_small_and_large_leads_as_chernoff_expands_them() -> None:
    """Z = ¼u³(1 − u⁶/12 + 7u¹²/240 − …) for small u, Z² → 6 log u − log 8π for large u."""
    for u in (0.55, 0.6, 0.7, 0.8):
        series = 0.25 * u**3 * (1.0 - u**6 / 12.0 + 7.0 * u**12 / 240.0)
        assert Z(u) == pytest.approx(series, abs=3e-3)
    distance = [
        abs(Z(u) ** 2 - 6.0 * math.log(u) + math.log(8.0 * math.pi)) for u in (30, 1e3, 3e4)
    ]
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 0.5
    growth = (Z(8e4) ** 2 - Z(1e3) ** 2) / math.log(80.0)
    assert growth == pytest.approx(6.0, rel=0.02)


def test_it_does_not_depend_on_the_grid() -> None:
    """Half the steps in both directions, another width and another start: the same to 1 in 100."""
    log_u, coarse = solved(0.1, 1e5, 3_000, 10.0, 800)
    for u in (1.0, 2.0, 5.0, 20.0, 200.0, 5e4):
        assert float(np.interp(math.log(u), log_u, coarse)) == pytest.approx(Z(u), abs=0.015)


def test_more_at_stake_means_looking_longer() -> None:
    """The steps rely on it; the solver places the boundary to a fraction of its grid's width."""
    values = exploration_boundary().values
    assert values[0] == 0.0
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0.0).all()
    values = solved(0.05, 1e5, 12_000, 9.0, 1_800)[1]
    assert (values >= np.maximum.accumulate(values) - 0.5 * 9.0 / 1_800).all()


def test_the_steps_look_it_up_on_an_even_grid() -> None:
    """The table that the policy uses is Chernoff's boundary."""
    table = exploration_boundary()
    values, first, step = table.values, table.first_log, table.log_step
    log_u = (first + step * np.arange(len(values))) / 2.0
    assert log_u[-1] >= math.log(1e8)  # a horizon of 10¹⁸ is far within
    for u, value in TABLE.items():
        inside = float(np.interp(math.log(u), log_u, values))
        assert inside == pytest.approx(Z(u), abs=0.02)
        assert Z(u) == pytest.approx(value, abs=0.02)
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0
