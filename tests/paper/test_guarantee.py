"""The bound of docs/research/guarantee.md: its noise, its table and its parameters are the code's.

Intervals, streams, the core and the envelope are held to it where they are tested: in
tests/unit/test_confidence.py, test_core.py, test_certified.py and test_priced_exploration.py.
"""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import evenhand as eh
from evenhand.policies import Certified, OptionFrame, PricedExploration, noise_bound
from evenhand.policies import core as the_core
from evenhand.policies._sequential import Ledger
from reference import Floats
from rotation import nightly

SPREAD = eh.ActionSet(
    np.array([[1.0, 0.2], [0.1, 1.0], [-0.4, 0.3], [0.05, 0.02], [3.0, -2.0]]), [1, -1, -1, 1, 1]
)


def chosen(kind: str, ledger: Ledger, rng: np.random.Generator, means: Floats) -> tuple[int, int]:
    """Choose an option and how often, by all that was told before."""
    k = len(means)
    if kind == "by turns" or not ledger.counts.all():
        return int(np.argmin(ledger.counts)), 1
    off = ledger.sums / ledger.counts - means  # an enemy that knows the truth
    if kind == "where the past was calm":
        return int(np.argmin(np.abs(off))), 1
    if kind == "where the past misled":
        return int(np.argmax(np.abs(off))), 1
    return int(rng.integers(k)), 1 + int(ledger.scatter < ledger.counts.sum()) * int(
        rng.integers(9)
    )


CHOICES = ("by turns", "where the past was calm", "where the past misled", "batches if calm")


@pytest.mark.parametrize(
    ("kind", "runs"),
    [*((kind, 60) for kind in CHOICES[2:]), *nightly((kind, 200) for kind in CHOICES)],
)
def test_noise_is_bounded_by_errors_of_predictions(kind: str, runs: int) -> None:
    """Theorem 9 and Lemma 10, on the ledger itself, whatever chooses; σ = 2, δ' = .2.

    S is what regularised least squares leaves, by another route; σ̄ covers at all times; it is
    tight at the end; and S and L(1) keep to their bounds.
    """
    frame, failure, horizon, sigma = OptionFrame.of(SPREAD), 0.2, 400, 2.0
    theta = np.array([30.0, -20.0, 7.0])[: SPREAD.points.shape[1]]
    means = SPREAD.points @ theta
    rank = frame.points.shape[1]
    failed, last = 0, []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        ledger = Ledger(len(means), 2.0, rows=frame.points)
        low, options, scores = math.inf, [], []
        while ledger.spent < horizon:
            x, n = chosen(kind, ledger, rng, means)
            drawn = means[x] + sigma * rng.standard_normal(n)
            options += [x] * n
            scores += drawn.tolist()
            at = np.eye(len(means))[x]
            ledger.record((n * at).astype(np.int64), at * drawn.sum(), at * (drawn**2).sum(), True)
            low = min(low, noise_bound(ledger.scatter, ledger.room, failure, horizon))
        failed += low < sigma
        last.append(low)
        N = len(scores)
        rows, flat = frame.points[options], 1e-5 * np.eye(rank)
        system, due = np.vstack([rows, flat]), np.append(scores, np.zeros(rank))
        left = due - system @ np.linalg.lstsq(system, due, rcond=None)[0]
        assert ledger.scatter == pytest.approx(left @ left, rel=1e-6)
        noise = np.asarray(scores) - means[options]
        assert ledger.scatter <= (noise @ noise + 1e-10 * (means**2).max()) * (1 + 1e-9)
        log_det = np.linalg.slogdet(system.T @ system)[1] - rank * math.log(1e-10)
        assert log_det <= rank * math.log1p(1e10 * N) * (1 + 1e-9)
        assert ledger.room[0] >= 0.5 * (N * math.log(3.0) - log_det)
        assert ledger.room[0] <= 0.5 * N * math.log(3.0) * (1 + 1e-12)
        ell = math.log((2 + math.ceil(0.5 * math.log2(horizon))) / failure)
        assert ledger.room[0] >= 2 * ell * math.log(3.0)
        C = 3.35 + 0.761 * log_det / ell
        bound = noise_bound(ledger.scatter, ledger.room, failure, horizon)
        assert bound**2 <= C * (noise @ noise / N + 1e-10 * (means**2).max() / N)
    assert failed <= binom.isf(1e-6, runs, failure)
    assert np.median(last) < 1.2 * sigma


ETA, ZETA, H, CHI = 0.5, 0.25, 1.0, 10.0
LAMBDA_0 = 10.0
RHO = LAMBDA_0 / 10


def theorem_6(kappa: float, m: int, T: float, delta: float) -> float:
    """The bound A_T of section 4 for two groups, k = m options and B = σ = 1."""
    Q = 2 * kappa
    log_1, log_2 = 2 * math.log(1 / delta), 2 * math.log(m / delta)
    crossing = brentq(
        lambda u: math.log(T * (1 + ETA) / Q) - 1.5 * u
        + 0.5 * math.log(1.1 * (log_1 + math.log1p(math.exp(u) / RHO))), -60, 60,
    )  # fmt: skip
    peak = Q * math.exp(crossing)
    ell = 1.1 * (log_1 + math.log1p(math.exp(crossing) / RHO))
    closed = (Q * (1 + ETA) ** 2 * ell) ** (1 / 3) * T ** (2 / 3)
    assert peak == pytest.approx(closed, rel=1e-9)
    ell_k = 1.1 * (log_2 + math.log1p(10 * T / (2 * m)))
    root = 2 * (1 + math.sqrt(2)) * (1 + H) * (1 + 1 / ETA) * math.sqrt(m * ell_k * T)
    n_A, n_G = (
        1 / ZETA + 2 + math.log(max(1.0, T / first)) / math.log(1 + ZETA)
        for first in (LAMBDA_0 * kappa, 2.0 * m)
    )
    constant = 6 * kappa * LAMBDA_0 + 6 * (1 + ZETA) * m * n_A + 4 * m + m * (m + 1) * n_G
    return 3 * (1 + ZETA) * peak + root + constant


PAGE = (Path(__file__).parents[2] / "docs" / "research" / "guarantee.md").read_text(
    encoding="utf-8"
)


def test_the_page_says_what_the_bound_comes_to() -> None:
    """The table of section 5, entry by entry: A_T/G_T, all of the bound over G_T and over 2BT."""
    rows = re.findall(r"^\| d = (\d), k = (\d), κ_A = (\d) \|(.*)\|$", PAGE, flags=re.MULTILINE)
    horizons = re.findall(r"1e\d+", next(x for x in PAGE.splitlines() if x.startswith("| | T =")))
    assert len(rows) == 2
    for d, k, kappa, cells in rows:
        assert int(k) == int(d) + 1
        for horizon, cell in zip(horizons, cells.split("|"), strict=True):
            T = float(horizon)
            unit = 3 * (4 * float(kappa) * math.log(T)) ** (1 / 3) * T ** (2 / 3)
            delta = unit / (8 * T) / 4  # a quarter of all failures each
            core = theorem_6(float(kappa), int(k), T, delta)
            whole = (CHI + 0.25) * unit + core
            expected = core / unit, whole / unit, whole / (2 * T)
            for entry, value in zip(cell.split(","), expected, strict=True):
                places = len(entry.strip().split(".")[1])
                assert float(entry) == pytest.approx(value, abs=0.51 * 10**-places)


def test_the_page_is_about_the_code() -> None:
    """The parameters that the bound was worked out for are those of the core and the envelope."""
    assert (the_core.ETA, the_core.ZETA, the_core.FIRST_PRECISION) == (ETA, ZETA, LAMBDA_0)
    for policy in (Certified, PricedExploration):
        assert inspect.signature(policy).parameters["budget"].default == CHI
    assert "`η = ½, ζ = ¼, h = 1, χ = 10`" in PAGE
