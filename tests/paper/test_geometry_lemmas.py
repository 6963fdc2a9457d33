"""The paper's lemmas on the geometry of bias estimation, with our corrections, on named sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from instances import (
    BIASES,
    Bias,
    cube_slab,
    equicorrelated,
    gap_family,
    gap_problem,
    separated,
    worst_case,
)
from reference import (
    Floats,
    alpha_value,
    bias_points,
    design_variance,
    elfving_value,
    kappa_gaps,
    kappa_star,
    kappa_star_by_margin,
    minimax_value,
)

PLAIN = [bias for bias in BIASES if bias.gaps is None]
"""Action sets without gaps, κ_* from 1 to beyond 1e9."""

ActionRows = tuple[Floats, list[int]]


def small_sets() -> dict[str, ActionRows]:
    """Sets small enough for α and κ̃ by brute force; features span R^d and d ≥ 2."""
    sets: dict[str, ActionRows] = {
        "cube slab": cube_slab(3),
        "exclusive or": (
            np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]),
            [1, -1, -1, 1],
        ),
        "equicorrelated": (equicorrelated(8, 2, 0.99, 1), [1, 1, 1, -1, -1, -1, 1, -1]),
        "columns 1e-6, 1e6": (
            separated(8, 2, 0.5, 9)[0] * [1e-6, 1e6],
            separated(8, 2, 0.5, 9)[1],
        ),
    }
    for kappa in (1.0, 4.0, 100.0):
        for family in (worst_case(2, kappa), worst_case(4, kappa), gap_family(4, kappa)):
            sets[family.name] = (family.features, list(family.groups))
    for seed in range(4):
        sets[f"separated {seed}"] = separated(9, 2 + seed % 2, 0.1 + 0.4 * seed, seed)
    return sets


SMALL = small_sets()


@pytest.mark.parametrize("bias", PLAIN, ids=lambda bias: bias.name)
def test_lemma_5(bias: Bias) -> None:
    """κ_* = max_u 1/max_x (x·u + z_x)²: no u beats it, and the certificate's u reaches it."""
    geometry = eh.bias_geometry(eh.ActionSet(bias.features, bias.groups))
    feasible, _ = kappa_star_by_margin(bias.features, bias.groups)
    assert geometry.kappa_star >= feasible * (1 - bias.tolerance)
    assert geometry.kappa_star == pytest.approx(feasible, rel=max(bias.tolerance, 2e-7))
    dual = np.asarray(geometry.design.certificate.dual)
    residual = bias.features @ (dual[:-1] / dual[-1]) + np.array(bias.groups)
    # The products may cancel down to κ^(-1/2): that much rounding is in the check itself.
    sizes = np.abs(bias.features) @ np.abs(dual[:-1] / dual[-1])
    noise = 64 * np.finfo(float).eps * float(sizes.max())
    assert np.abs(residual).max() == pytest.approx(
        geometry.kappa_star**-0.5, rel=max(bias.tolerance, 1e-7), abs=noise
    )


@pytest.mark.parametrize("bias", PLAIN, ids=lambda bias: bias.name)
def test_lemma_1(bias: Bias) -> None:
    """margin/radius = (√κ_*−1)/(√κ_*+1), both measured again from the points and the normal."""
    geometry = eh.bias_geometry(eh.ActionSet(bias.features, bias.groups))
    kappa = kappa_star(bias.features, bias.groups)
    if kappa == 1.0:
        assert not geometry.separable
        assert geometry.kappa_star == pytest.approx(1.0, rel=bias.tolerance)
        return
    assert geometry.separable
    root = math.sqrt(kappa)
    # 1 − margin/radius = 2/(√κ+1) keeps its digits when κ is large.
    shortfall = (geometry.radius - geometry.margin) / geometry.radius
    noise = 1e-13
    assert shortfall == pytest.approx(2 / (root + 1), rel=max(bias.tolerance, 1e-7), abs=noise)
    normal = np.asarray(geometry.normal, dtype=np.float64)
    sides = np.array(bias.groups) * (bias.features @ normal) / np.linalg.norm(normal)
    assert (sides > 0).all() or (sides < 0).all()
    distances = np.abs(sides)
    # Relative to what cancels in x·normal.
    rounding = 64 * np.finfo(float).eps * float((np.abs(bias.features) @ np.abs(normal)).max())
    rounding /= float(np.linalg.norm(normal))
    assert distances.min() == pytest.approx(geometry.margin, rel=1e-7, abs=rounding)
    assert distances.max() == pytest.approx(geometry.radius, rel=1e-7, abs=rounding)


@pytest.mark.parametrize("name", SMALL)
def test_no_hyperplane_separates_better(name: str) -> None:
    """Converse of the margin lemma: random normals never beat the ratio that κ_* stands for."""
    features, groups = SMALL[name]
    geometry = eh.bias_geometry(eh.ActionSet(features, groups))
    root = math.sqrt(geometry.kappa_star)
    limit = (root - 1) / (root + 1)
    rng = np.random.default_rng(0)
    scale = np.abs(features).max(axis=0)
    base = np.zeros(features.shape[1])
    if geometry.separable:
        base = np.asarray(geometry.normal, dtype=np.float64) * scale
        base /= np.abs(base).max()
    for spread in (1e-3, 1.0, 10.0):
        for _ in range(200):
            normal = (base + spread * rng.standard_normal(len(base))) / scale
            sides = np.array(groups) * (features @ normal)
            if (sides > 0).all() or (sides < 0).all():
                assert np.abs(sides).min() / np.abs(sides).max() <= limit + 1e-9


@pytest.mark.parametrize("name", SMALL)
def test_lemma_2(name: str) -> None:
    features, groups = SMALL[name]
    geometry = eh.bias_geometry(eh.ActionSet(features, groups))
    minimax = geometry.kappa_minimax()
    exact = minimax_value(features, groups)
    assert exact.lower * (1 - 1e-6) <= minimax <= exact.upper * (1 + 1e-6)
    assert minimax / 2 <= geometry.kappa_star * (1 + 1e-6)
    assert geometry.kappa_star <= 2 * minimax * (1 + 1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_alpha_between_four_and_sixteen_kappa_star(name: str) -> None:
    features, groups = SMALL[name]
    geometry = eh.bias_geometry(eh.ActionSet(features, groups))
    alpha = geometry.alpha()
    assert alpha == pytest.approx(alpha_value(features, groups), rel=1e-7)
    assert 4 * geometry.kappa_star <= alpha * (1 + 1e-9)
    assert alpha <= 4 * (1 + math.sqrt(geometry.kappa_star)) ** 2 * (1 + 1e-9)
    assert alpha <= 16 * geometry.kappa_star * (1 + 1e-9)


def test_alpha_and_kappa_tilde_may_vanish_on_a_line() -> None:
    """{1 (+), 1.01 (−)}: κ_* = 1, α = 9.9e-5 and κ̃ = 0.005: the lower bounds need d ≥ 2.

    Lemma 6 fails there. The proof of κ_* ≤ 2κ̃ needs Δ_max ≥ 1, some γ that some action does not
    feel; on a line with all actions on one side there is none, and the lemma fails as well.
    """
    geometry = eh.bias_geometry(eh.ActionSet([[1.0], [1.01]], [1, -1]))
    assert geometry.kappa_star == pytest.approx(1.0, rel=1e-7)
    assert geometry.alpha() == pytest.approx(9.9007e-5, rel=1e-4)
    minimax = geometry.kappa_minimax()
    assert minimax == pytest.approx(minimax_value([[1.0], [1.01]], [1, -1]).kappa, rel=1e-6)
    assert geometry.kappa_star > 200 * minimax


def admissible(features: Floats, seed: int) -> tuple[Floats, Floats]:
    """A γ in C(X), with max|x·γ| = 1, and its gaps."""
    rng = np.random.default_rng(seed)
    gamma = rng.standard_normal(features.shape[1]) / np.abs(features).max(axis=0)
    gamma /= np.abs(features @ gamma).max()
    values = features @ gamma
    return gamma, values.max() - values


@pytest.mark.parametrize("name", SMALL)
def test_lemma_7(name: str) -> None:
    """κ(Δ) ≤ 2κ_* for every admissible γ (not κ_*, as one line of the paper has it)."""
    features, groups = SMALL[name]
    actions = eh.ActionSet(features, groups)
    star = eh.bias_geometry(actions).kappa_star
    for seed in range(5):
        _, gaps = admissible(features, seed)
        found = eh.kappa(actions, gaps)
        assert found == pytest.approx(kappa_gaps(features, groups, gaps), rel=1e-7, abs=1e-14)
        assert found <= 2 * star * (1 + 1e-9)


def test_the_factor_two_of_lemma_kappa2_is_needed() -> None:
    """Twins of value −1 and a best action that cannot replace them: κ_* = 1, κ(Δ) = 2."""
    features = np.array([[-1.0, 0.0], [-1.0, 0.0], [1.0, 3.0]])
    actions = eh.ActionSet(features, [1, -1, 1])
    values = features @ [1.0, 0.0]
    assert np.abs(values).max() <= 1
    assert eh.bias_geometry(actions).kappa_star == pytest.approx(1.0, rel=1e-7)
    assert eh.kappa(actions, values.max() - values) == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize("d", [4, 5, 8])
@pytest.mark.parametrize("kappa", [1.0, 9.0, 1e4, 1e9])
def test_lemma_17(d: int, kappa: float) -> None:
    """κ(Δ) = (1+√κ)²Δ_{d+1}/4 in Problem 1, where x_1 is free; more in the others."""
    for problem in range(1, d // 2 + 2):
        instance = gap_problem(d, kappa, problem)
        assert instance.gaps is not None
        found = eh.kappa(eh.ActionSet(instance.features, instance.groups), instance.gaps)
        printed = (1 + math.sqrt(kappa)) ** 2 * instance.gaps[d] / 4
        assert found == pytest.approx(instance.value, rel=1e-7)
        assert printed <= found * (1 + 1e-7)
        assert found <= 2 * kappa * (1 + 1e-7)
        if problem == 1:
            assert found == pytest.approx(printed, rel=1e-7)
            assert found >= kappa / 8


@pytest.mark.parametrize("d", [2, 3, 6, 12])
@pytest.mark.parametrize("kappa", [1.0, 1.5, 16.0, 1e5, 1e9])
def test_lemmas_15_and_16(d: int, kappa: float) -> None:
    for family in (worst_case(d, kappa), gap_family(d, kappa)):
        geometry = eh.bias_geometry(eh.ActionSet(family.features, family.groups))
        assert geometry.kappa_star == pytest.approx(kappa, rel=1e-7)
        assert set(geometry.design.support) <= {0, d}


@pytest.mark.parametrize("name", SMALL)
def test_lemma_8(name: str) -> None:
    """Homogeneous, monotone, κ(Δ∨Δ') ≥ κ(Δ)∨κ(Δ'), continuous at gaps of zero."""
    features, groups = SMALL[name]
    actions = eh.ActionSet(features, groups)
    for seed in range(3):
        _, gaps = admissible(features, seed)
        _, other = admissible(features, seed + 100)
        found = eh.kappa(actions, gaps)
        for factor in (1e-6, 3.0, 1e6):
            assert eh.kappa(actions, factor * gaps) == pytest.approx(
                factor * found, rel=1e-7, abs=1e-14 * factor
            )
        both = eh.kappa(actions, np.maximum(gaps, other))
        assert both >= max(found, eh.kappa(actions, other)) * (1 - 1e-9)
        assert eh.kappa(actions, gaps + other) >= found * (1 - 1e-9)
        check_continuity(features, groups, gaps, found)


def check_continuity(features: Floats, groups: list[int], gaps: Floats, found: float) -> None:
    """κ(Δ) ≤ κ(Δ∨ε) ≤ (Σ√(Δ∨ε)|w|)², with w optimal at Δ: an explicit modulus of continuity."""
    A, e = bias_points(features, groups)
    w = np.abs([float(value) for value in elfving_value(A, e, gaps).coefficients])
    actions = eh.ActionSet(features, groups)
    for epsilon in (1e-2, 1e-6, 1e-12):
        lifted = np.maximum(gaps, epsilon)
        value = eh.kappa(actions, lifted)
        assert value >= found * (1 - 1e-9)
        assert value <= float(np.sqrt(lifted) @ w) ** 2 * (1 + 1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_lemma_9(name: str) -> None:
    """μ^Δ = κ^Δ π^Δ/Δ, with π^Δ bias-optimal for the rows a_x/√Δ_x: same price, variance one."""
    features, groups = SMALL[name]
    A, e = bias_points(features, groups)
    _, gaps = admissible(features, 1)
    gaps = np.maximum(gaps, 0.05)
    rescaled = eh.c_optimal_design(A / np.sqrt(gaps)[:, None], e)
    direct = eh.delta_optimal_design(eh.ActionSet(features, groups), gaps)
    assert rescaled.value == pytest.approx(direct.value, rel=1e-7)
    masses = rescaled.value * rescaled.weights / gaps
    assert float(masses @ gaps) == pytest.approx(direct.value, rel=1e-7)
    assert design_variance(A, masses, e).value == pytest.approx(1.0, rel=1e-7)
    assert len(direct.support) <= features.shape[1] + 1
    mu = direct.mass * direct.weights
    assert design_variance(A, mu, e).value == pytest.approx(1.0, rel=1e-7)
