"""The paper's lemmas on the geometry of bias estimation, with our corrections, on named sets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from instances import (
    BIASES,
    Bias,
    separated,
)
from reference import (
    bias_points,
    design_variance,
    kappa_star,
    minimax_value,
)

PLAIN = [bias for bias in BIASES if bias.gaps is None]
"""Action sets without gaps, κ_* from 1 to beyond 1e9."""


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


def test_the_factor_two_of_lemma_kappa2_is_needed() -> None:
    """Twins of value −1 and a best action that cannot replace them: κ_* = 1, κ(Δ) = 2."""
    features = np.array([[-1.0, 0.0], [-1.0, 0.0], [1.0, 3.0]])
    actions = eh.ActionSet(features, [1, -1, 1])
    values = features @ [1.0, 0.0]
    assert np.abs(values).max() <= 1
    assert eh.bias_geometry(actions).kappa_star == pytest.approx(1.0, rel=1e-7)
    assert eh.kappa(actions, values.max() - values) == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_lemma_9(seed: int) -> None:
    """μ^Δ = κ^Δ π^Δ/Δ, with π^Δ bias-optimal for the rows a_x/√Δ_x: same price, variance one."""
    features, groups = separated(9, 2 + seed % 2, 0.1 + 0.2 * seed, seed)
    A, e = bias_points(features, groups)
    gaps = np.random.default_rng(seed).uniform(0.05, 2.0, len(A))
    rescaled = eh.c_optimal_design(A / np.sqrt(gaps)[:, None], e)
    direct = eh.delta_optimal_design(eh.ActionSet(features, groups), gaps)
    assert rescaled.value == pytest.approx(direct.value, rel=1e-7)
    masses = rescaled.value * rescaled.weights / gaps
    assert float(masses @ gaps) == pytest.approx(direct.value, rel=1e-7)
    assert design_variance(A, masses, e).value == pytest.approx(1.0, rel=1e-7)
    assert len(direct.support) <= features.shape[1] + 1
