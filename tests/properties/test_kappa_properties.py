"""The lemmas' relations over random small action sets, each solve compared with the reference.

Coordinates are small integers (ties, duplicates, zero rows, low rank), multiples of 1/16, or
Gaussian. Whether the bias can be estimated is decided in exact arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import NotIdentifiableError
from reference import (
    Floats,
    alpha_value,
    bias_points,
    design_variance,
    elfving_value,
    exact_rank,
    in_range,
    minimax_value,
)


@dataclass(frozen=True)
class Rows:
    """Features (k, d) and groups of a small action set."""

    features: Floats
    groups: tuple[int, ...]

    @property
    def actions(self) -> eh.ActionSet:
        return eh.ActionSet(self.features, self.groups)

    @property
    def estimable(self) -> bool:
        return in_range(*bias_points(self.features, self.groups))


@st.composite
def matrices(draw: st.DrawFn, k: int, d: int) -> Floats:
    """k rows of small integers, of sixteenths, or Gaussian."""
    kind = draw(st.sampled_from(["integer", "dyadic", "gaussian"]))
    if kind == "gaussian":
        seed = draw(st.integers(0, 2**32 - 1))
        return np.random.default_rng(seed).standard_normal((k, d))
    limit, unit = (3, 1.0) if kind == "integer" else (64, 1 / 16)
    entries = draw(st.lists(st.integers(-limit, limit), min_size=k * d, max_size=k * d))
    return unit * np.array(entries, dtype=np.float64).reshape(k, d)


@st.composite
def action_sets(draw: st.DrawFn, max_k: int = 10, min_d: int = 1, max_d: int = 4) -> Rows:
    """Action sets; half of them with the groups pushed apart, so that κ_* > 1 is common."""
    d = draw(st.integers(min_d, max_d))
    k = draw(st.integers(2, max_k))
    features = draw(matrices(k, d))
    groups = draw(st.lists(st.sampled_from([-1, 1]), min_size=k, max_size=k))
    groups[:2] = [1, -1]
    push = draw(st.sampled_from([0.0, 0.0, 2.0, 8.0]))
    features = features.copy()
    features[:, 0] += push * np.array(groups)
    return Rows(features, tuple(groups))


@st.composite
def gap_vectors(draw: st.DrawFn, k: int) -> Floats:
    """Gaps in sixteenths; zeros are common."""
    entries = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 8, 16, 32]), min_size=k, max_size=k))
    return np.array(entries, dtype=np.float64) / 16


def close(found: float, exact: float, scale: float = 1.0) -> None:
    assert found == pytest.approx(exact, rel=1e-7, abs=1e-13 * scale if exact == 0 else 0.0)


@given(action_sets())
def test_kappa_star_is_exact_or_refused(rows: Rows) -> None:
    A, e = bias_points(rows.features, rows.groups)
    if not rows.estimable:
        with pytest.raises(NotIdentifiableError):
            eh.bias_geometry(rows.actions)
        with pytest.raises(NotIdentifiableError):
            eh.bias_optimal_design(rows.actions)
        return
    exact = elfving_value(A, e).kappa
    geometry = eh.bias_geometry(rows.actions)
    close(geometry.kappa_star, exact)
    design = geometry.design
    close(design.value, exact)
    assert design.verify(A)
    assert len(design.support) <= A.shape[1]
    variance = design_variance(A, design.weights, e)
    assert variance.backward_error < 1e-10
    close(variance.value, exact)
    assert geometry.separable is (exact > 1)
    if exact > 1:
        sides = np.array(rows.groups) * (rows.features @ np.asarray(geometry.normal))
        assert (sides > 0).all() or (sides < 0).all()
        root = math.sqrt(exact)
        ratio = (root - 1) / (root + 1)
        assert np.abs(sides).min() / np.abs(sides).max() == pytest.approx(ratio, rel=1e-6)
        assert geometry.margin / geometry.radius == pytest.approx(ratio, rel=1e-6)


@given(st.data())
def test_kappa_of_gaps_is_exact(data: st.DataObject) -> None:
    rows = data.draw(action_sets())
    gaps = data.draw(gap_vectors(len(rows.features)))
    assume(rows.estimable)
    A, e = bias_points(rows.features, rows.groups)
    exact = elfving_value(A, e, gaps).kappa
    close(eh.kappa(rows.actions, gaps), exact)
    design = eh.delta_optimal_design(rows.actions, gaps)
    close(design.value, exact)
    assert design.verify(A)
    masses = design.mass * design.weights
    assert design_variance(A, masses, e).value <= 1 + 1e-7
    assert float(masses @ gaps) >= exact * (1 - 1e-7)
    if (gaps[design.weights > 0] > 0).all():
        close(float(masses @ gaps), exact)


@given(st.data())
def test_kappa_is_homogeneous_monotone_and_continuous(data: st.DataObject) -> None:
    rows = data.draw(action_sets())
    gaps = data.draw(gap_vectors(len(rows.features)))
    other = data.draw(gap_vectors(len(rows.features)))
    factor = data.draw(st.sampled_from([2.0**-20, 0.3, 7.0, 2.0**20]))
    assume(rows.estimable)
    actions = rows.actions
    A, e = bias_points(rows.features, rows.groups)
    one, two = eh.kappa(actions, gaps), eh.kappa(actions, other)
    close(eh.kappa(actions, factor * gaps), factor * one, factor)
    assert eh.kappa(actions, np.maximum(gaps, other)) >= max(one, two) * (1 - 1e-9)
    assert eh.kappa(actions, np.minimum(gaps, other)) <= min(one, two) * (1 + 1e-9) + 1e-13
    # κ is concave in the gaps: a minimum of linear functions of Δ.
    middle = eh.kappa(actions, (gaps + other) / 2)
    assert middle >= (one + two) / 2 * (1 - 1e-9)
    w = np.abs([float(value) for value in elfving_value(A, e, gaps).coefficients])
    for epsilon in (1e-3, 1e-8):
        lifted = np.maximum(gaps, epsilon)
        value = eh.kappa(actions, lifted)
        assert one * (1 - 1e-9) <= value <= float(np.sqrt(lifted) @ w) ** 2 * (1 + 1e-9)


@given(st.data())
def test_admissible_gaps_cost_at_most_twice_kappa_star(data: st.DataObject) -> None:
    rows = data.draw(action_sets())
    d = rows.features.shape[1]
    gamma = data.draw(matrices(1, d))[0]
    reach = np.abs(rows.features @ gamma).max()
    assume(rows.estimable)
    assume(reach > 0)
    values = rows.features @ gamma / reach
    gaps = values.max() - values
    star = eh.bias_geometry(rows.actions).kappa_star
    found = eh.kappa(rows.actions, gaps)
    A, e = bias_points(rows.features, rows.groups)
    exact = elfving_value(A, e, gaps).kappa
    assert found == pytest.approx(exact, rel=1e-7, abs=1e-13)
    assert found <= 2 * star * (1 + 1e-9)


@settings(max_examples=settings.default.max_examples * 2 // 3)
@given(action_sets(max_k=7, min_d=2, max_d=3))
def test_alpha_is_exact_and_between_its_bounds(rows: Rows) -> None:
    assume(rows.estimable)
    geometry = eh.bias_geometry(rows.actions)
    exact = alpha_value(rows.features, rows.groups)
    alpha = geometry.alpha()
    assert alpha == pytest.approx(exact, rel=1e-7, abs=1e-13)
    star = geometry.kappa_star
    assert alpha <= 4 * (1 + math.sqrt(star)) ** 2 * (1 + 1e-9)
    # Theorem 10 asks for d ≥ 2 dimensions that the features really span.
    if exact_rank(rows.features) >= 2:
        assert 4 * star <= alpha * (1 + 1e-9)


@settings(max_examples=settings.default.max_examples // 2)
@given(action_sets(max_k=7, min_d=1, max_d=3))
def test_kappa_tilde_is_exact_and_within_a_factor_two(rows: Rows) -> None:
    assume(rows.estimable)
    exact = minimax_value(rows.features, rows.groups)
    assume(exact.upper > 1e-6)
    geometry = eh.bias_geometry(rows.actions)
    minimax = geometry.kappa_minimax()
    assert exact.lower * (1 - 1e-6) <= minimax <= exact.upper * (1 + 1e-6)
    assert minimax <= 2 * geometry.kappa_star * (1 + 1e-6)
    # The other half needs a parameter that some action does not feel: rank two or more.
    if exact_rank(rows.features) >= 2:
        assert geometry.kappa_star <= 2 * minimax * (1 + 1e-6)


@given(st.data())
def test_kappa_star_ignores_units_order_copies_and_names_of_groups(data: st.DataObject) -> None:
    rows = data.draw(action_sets())
    assume(rows.estimable)
    k, d = rows.features.shape
    star = eh.bias_geometry(rows.actions).kappa_star
    scales = 10.0 ** np.array(data.draw(st.lists(st.integers(-6, 6), min_size=d, max_size=d)))
    close(eh.bias_geometry(eh.ActionSet(rows.features * scales, rows.groups)).kappa_star, star)
    order = np.array(data.draw(st.permutations(range(k))))
    groups = np.array(rows.groups)
    close(eh.bias_geometry(eh.ActionSet(rows.features[order], groups[order])).kappa_star, star)
    close(eh.bias_geometry(eh.ActionSet(rows.features, -groups)).kappa_star, star)
    copies = eh.ActionSet(np.repeat(rows.features, 2, axis=0), np.repeat(groups, 2))
    close(eh.bias_geometry(copies).kappa_star, star)
    # Turning an action around changes its sign and its group: a_x becomes −a_x.
    flip = np.where(np.arange(k) % 2, 1, -1)
    turned = flip * groups
    if len(set(turned)) == 2:
        close(
            eh.bias_geometry(eh.ActionSet(flip[:, None] * rows.features, turned)).kappa_star, star
        )


@given(st.data())
def test_more_options_never_raise_the_price(data: st.DataObject) -> None:
    rows = data.draw(action_sets(max_k=8))
    assume(rows.estimable)
    extra = data.draw(matrices(2, rows.features.shape[1]))
    more = eh.ActionSet(np.vstack([rows.features, extra]), (*rows.groups, 1, -1))
    star = eh.bias_geometry(rows.actions).kappa_star
    assert eh.bias_geometry(more).kappa_star <= star * (1 + 1e-9)


@given(st.data())
def test_any_direction_is_exact(data: st.DataObject) -> None:
    k, m = data.draw(st.integers(1, 10)), data.draw(st.integers(1, 4))
    A = data.draw(matrices(k, m))
    # Small integer combinations of rows: in the range, exactly for integer and dyadic rows.
    mix = np.array(
        data.draw(st.lists(st.integers(-3, 3), min_size=k, max_size=k)), dtype=np.float64
    )
    c = mix @ A
    costs = data.draw(st.one_of(st.none(), gap_vectors(k)))
    assume(np.abs(c).max() > 1e-3)
    assume(in_range(A, c))
    exact = elfving_value(A, c, costs).kappa
    design = eh.c_optimal_design(A, c, costs)
    close(design.value, exact, float(c @ c))
    assert design.verify(A)
    u = np.asarray(design.certificate.dual)
    root = np.ones(k) if costs is None else np.sqrt(costs)
    assert (np.abs(A @ u) <= root * (1 + 1e-9) + 1e-12 * (1 + np.abs(A) @ np.abs(u))).all()
