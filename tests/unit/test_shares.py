"""Quick shares: as good as they say, by the exact solver and by their own bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.designs.joint import joint_design
from evenhand.designs.shares import quick_shares


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 20), st.integers(1, 12))
@settings(max_examples=40)
def test_the_exact_solver_lies_between_bound_and_value(
    seed: int, r: int, extra: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((r + extra, r))
    U = rng.standard_normal((n, r)) * 10.0 ** rng.uniform(-2, 2, (n, 1))
    shares, value, bound = quick_shares(A, U)
    assert shares.min() > 0.0
    assert shares.sum() == pytest.approx(1.0)
    largest = np.einsum("ij,ji->i", U, np.linalg.solve(A.T * shares @ A, U.T)).max()
    assert value == pytest.approx(largest, rel=1e-6)
    exact = joint_design(A, U).value
    assert bound <= exact * (1 + 1e-6)
    assert exact <= value * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_they_are_within_two_percent(seed: int) -> None:
    """Unit vectors in 12 dimensions, the leads of one over all others, with gaps of all sizes."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((60, 12))
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    values = A @ rng.standard_normal(12)
    best = int(values.argmax())
    others = np.arange(60) != best
    U = (A[best] - A[others]) / (values[best] - values[others])[:, None]
    _, value, bound = quick_shares(A, U)
    assert value <= 1.02 * bound
    _, closer, _ = quick_shares(A, U, tol=0.005)
    assert closer <= joint_design(A, U).value * 1.005 * (1 + 1e-6)


def test_what_no_direction_needs_is_left_alone() -> None:
    """Two options of ten tell a lead within their plane; the rest get the even trace only."""
    shares, value, _ = quick_shares(np.eye(10), np.eye(10)[:1] - np.eye(10)[1:2])
    assert shares[:2] == pytest.approx([0.5, 0.5], abs=0.01)
    assert shares[2:].max() <= 2e-3
    assert value == pytest.approx(4.0, rel=0.02)
