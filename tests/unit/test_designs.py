"""Designs as values: nobody can change them, they say no more than is true, and are checked."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import cvxpy as cp
import numpy as np
import pytest

import evenhand as eh
from evenhand.designs.design import checked
from evenhand.designs.joint import joint_design

SQUARE = np.array([[1.0, 1.0], [2.0, -1.0], [0.5, 3.0]])


def designs() -> list[eh.designs.Design]:
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    return [
        eh.g_optimal_design(SQUARE),
        eh.c_optimal_design(SQUARE, [0.0, 1.0], [1.0, 2.0, 3.0]),
        eh.minimax_design(actions),
        joint_design(SQUARE, [[1.0, 0.0], [0.0, 1.0]]),
    ]


def arrays(value: object) -> list[np.ndarray]:
    found = []
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        inside = getattr(value, field.name)
        if isinstance(inside, np.ndarray):
            found.append(inside)
        elif dataclasses.is_dataclass(inside):
            found += arrays(inside)
    return found


@pytest.mark.parametrize("design", designs(), ids=lambda design: design.criterion)
def test_a_design_is_a_value(design: eh.designs.Design) -> None:
    for twin in (
        design,
        copy.copy(design),
        copy.deepcopy(design),
        pickle.loads(pickle.dumps(design)),
    ):
        assert twin == design
        assert twin.certificate == design.certificate
        assert hash(twin) == hash(design)
        assert not any(array.flags.writeable for array in arrays(twin))
    assert design != dataclasses.replace(design, weights=design.weights[::-1])
    assert design.certificate != dataclasses.replace(design.certificate, bound=0.0)
    assert design != "a design"


def test_counts_round_up_or_refuse() -> None:
    design = eh.g_optimal_design(np.eye(2))
    assert design.counts(pulls=3).tolist() == [2, 2]
    assert int(design.counts(pulls=1e18).sum()) == 10**18
    for amount in (1e20, 1e300):
        with pytest.raises(eh.InputError, match="evaluations"):
            design.counts(pulls=amount)
    for amount in (-1.0, np.nan, np.inf):
        with pytest.raises(eh.InputError, match="finite number"):
            design.counts(pulls=amount)


def test_verify_holds_a_design_to_the_tolerance_it_is_given() -> None:
    """Between 1e-9 and a half, a gap passes exactly where it is within the tolerance."""
    points = np.vander(np.linspace(-1, 1, 101), 4)
    for asked in (3e-3, 1e-5):
        design = eh.g_optimal_design(points, tol=asked)
        gap = design.certificate.gap
        assert design.verify(points)  # as good as it says
        assert design.verify(points, tol=asked)
        if gap > 1e-9:
            assert design.verify(points, tol=1.01 * gap)
            assert not design.verify(points, tol=0.99 * gap)


@pytest.mark.parametrize("gap", [1e-8, 1e-6, 5e-5, 3e-3])
def test_a_gap_is_a_gap_however_small(gap: float) -> None:
    """Weights moved by ε from the optimum of c have value 1 + O(ε²) relatively: make it exact."""
    A, c = np.eye(2), np.array([1.0, 1.0])
    best = eh.c_optimal_design(A, c)  # κ = 4, half each
    shift = 0.5 * np.sqrt(gap / (1 + gap))  # 1/(π₁) + 1/(π₂) = 4 (1 + gap)
    weights = np.array([0.5 + shift, 0.5 - shift])
    value = float((1 / weights).sum())
    worse = dataclasses.replace(
        best,
        weights=weights,
        value=value,
        mass=value,
        certificate=dataclasses.replace(best.certificate, value=value),
    )
    assert worse.certificate.gap == pytest.approx(gap, rel=1e-6)
    assert worse.verify(A)
    assert worse.verify(A, tol=1.1 * gap)
    assert not worse.verify(A, tol=0.9 * gap)


def test_verify_refuses_a_tolerance_that_is_none() -> None:
    design = eh.g_optimal_design(np.eye(2))
    for tol in (-1e-3, np.nan, np.inf):
        with pytest.raises(eh.InputError, match="tol must be"):
            design.verify(np.eye(2), tol=tol)


@pytest.mark.parametrize("design", designs()[:2] + designs()[3:], ids=lambda d: d.criterion)
def test_a_solver_that_errs_is_stopped(design: eh.designs.Design) -> None:
    scales, change = np.abs(SQUARE).max(axis=0), dataclasses.replace
    assert checked(design, SQUARE, scales, 1e-6) is design
    proof = design.certificate
    for wrong, complaint in [
        (change(design, weights=design.weights * 0.9), "no shares"),
        (change(design, weights=design.weights * np.nan), "no shares"),
        (change(design, value=np.nan), "not finite"),
        (
            change(design, certificate=change(proof, dual=np.full_like(proof.dual, np.inf))),
            "not finite",
        ),
        (change(design, certificate=change(proof, bound=0.9 * proof.bound)), "a gap of 0.11"),
    ]:
        with pytest.raises(eh.errors.AccuracyError, match=complaint):
            checked(wrong, SQUARE, scales, 1e-6)
    if design.criterion == "G":
        with pytest.raises(eh.errors.AccuracyError, match="average"):
            checked(change(design, weights=np.roll(design.weights, 1)), 1.1 * SQUARE, scales, 1e-6)
    else:
        with pytest.raises(eh.errors.AccuracyError, match="variance"):
            checked(change(design, mass=0.9 * design.mass), SQUARE, scales, 1e-6)


def test_one_direction_is_a_c_optimal_design() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 2, 4):
        A, c, costs = rng.normal(size=(20, m)), rng.normal(size=m), rng.uniform(0.1, 2.0, 20)
        joint, single = joint_design(A, c[None, :], costs), eh.c_optimal_design(A, c, costs)
        assert joint.value == pytest.approx(single.value, rel=2e-6)
        assert joint.verify(A)


@pytest.mark.parametrize("seed", range(5))
def test_a_joint_design_agrees_with_a_semidefinite_program(seed: int) -> None:
    """uᵀV⁻¹u ≤ 1 is the linear matrix inequality [V u; uᵀ 1] ⪰ 0."""
    rng = np.random.default_rng(seed)
    A, U = rng.normal(size=(8, 3)), rng.normal(size=(4, 3))
    costs = rng.uniform(0.2, 2.0, 8)
    mu = cp.Variable(8, nonneg=True)
    V = sum(mu[x] * np.outer(A[x], A[x]) for x in range(8))
    fine = [cp.bmat([[V, u[:, None]], [u[None, :], np.ones((1, 1))]]) >> 0 for u in U]
    program = cp.Problem(cp.Minimize(costs @ mu), fine)
    program.solve(solver=cp.CLARABEL)
    design = joint_design(A, U, costs)
    assert design.value == pytest.approx(program.value, rel=1e-5)
    assert design.certificate.gap <= 1e-6
    assert design.verify(A)
    inverse = np.linalg.inv(A.T @ (design.mass * design.weights[:, None] * A))
    assert np.einsum("ij,jk,ik->i", U, inverse, U).max() <= 1 + 1e-6


def test_a_joint_design_refuses_what_it_cannot_do() -> None:
    for points, directions, costs, complaint in [
        ([[1.0, 0.0]], [[1.0]], None, "must have 2 columns"),
        ([[1.0, 0.0]], [[0.0, 0.0]], None, "nothing to estimate"),
        ([[1.0, 0.0]], [[1.0, 0.0]], [0.0], "must be > 0"),
        ([[1.0, np.nan]], [[1.0, 0.0]], None, "finite"),
        ([[1.0, 0.0]], [[1.0, np.inf]], None, "finite"),
    ]:
        with pytest.raises(eh.InputError, match=complaint):
            joint_design(points, directions, costs)
    with pytest.raises(eh.NotIdentifiableError, match="direction 1"):
        joint_design([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]])
