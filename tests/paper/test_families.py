"""The families of the lower bounds: every fact that the paper's proofs rest on, as corrected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import families, limits
from evenhand.research.environments.problem import BiasedLinearBandit
from reference import exact_rank, kappa_gaps, kappa_star

KAPPAS = (1.0, 1.7, 4.0, 16.0, 1e4)
GAPS = ((1 / 16, 1 / 8), (0.1, 0.1), (0.05, 0.12), (0.01, 0.5), (0.25, 0.25))
TINY = 1e-12


def alpha(kappa: float) -> float:
    return 2 / (math.sqrt(kappa) + 1)


def check_admissible(problem: BiasedLinearBandit, kappa: float) -> None:
    """γ ∈ C(X), the points span everything, and κ_* is as asked for (Lemmas 15, 16)."""
    points = problem.actions.points
    assert np.abs(problem.values).max() <= 1 + TINY
    assert exact_rank(points) == points.shape[1]
    reference = kappa_star(problem.actions.features, problem.actions.groups)
    assert reference == pytest.approx(kappa, rel=1e-12)
    assert problem.kappa_star == pytest.approx(kappa, rel=1e-9)


def check_kappa_of_the_gaps(problem: BiasedLinearBandit, kappa: float) -> None:
    """κ(Δ) = (√Δ_{d+1} + (1−α)√Δ_1)²/α²: Lemma 17 where Δ_1 = 0."""
    gaps, a = problem.gaps, alpha(kappa)
    formula = (math.sqrt(gaps[-1]) + (1 - a) * math.sqrt(gaps[0])) ** 2 / a**2
    exact = kappa_gaps(problem.actions.features, problem.actions.groups, gaps)
    assert exact == pytest.approx(formula, rel=1e-11)
    assert problem.kappa == pytest.approx(formula, rel=1e-9)
    lemma = (1 + math.sqrt(kappa)) ** 2 * gaps[-1] / 4
    if gaps[0] == 0:
        assert formula == pytest.approx(lemma, rel=1e-12)
    elif kappa > 1:
        assert formula > lemma * (1 + 1e-9)  # the lemma, claimed for every problem, is too small
    assert kappa / 8 <= formula <= 2 * kappa * (1 + 1e-12)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("c", [1.0, 3.0])
def test_worst_case_facts(d: int, kappa: float, c: float) -> None:
    horizon = 1e6 * kappa
    rho, a = c / 100, alpha(kappa)
    pair = families.worst_case(d, kappa, horizon, c)
    first, second = pair
    for problem in pair:
        check_admissible(problem, kappa)
        check_kappa_of_the_gaps(problem, kappa)
        assert problem.noise_scale == 1.0
    assert first.actions == second.actions
    assert first.actions.groups.tolist() == [1] + [-1] * d
    # Fact 1: x_1 is best, then x_2; every other option costs at least ρ, x_{d+1} at least 1/2.
    for i, problem in enumerate(pair):
        assert problem.best_all.tolist() == [i]
        assert problem.delta_min == pytest.approx(rho, rel=1e-9)
        assert problem.delta_neq == pytest.approx(rho, rel=1e-9)
        assert problem.gaps[d] >= 0.5
    # Fact 2: evaluations are N(1/2, 1) for the leaders, N(0, 1) for the rest but x_{d+1}.
    for problem in pair:
        assert problem.evaluations[:2].tolist() == pytest.approx([0.5, 0.5], abs=TINY)
        assert problem.evaluations[2:d].tolist() == pytest.approx([0.0] * (d - 2), abs=TINY)
    # Fact 3, and the difference ρα.
    assert first.evaluations[d] == pytest.approx(-(1 - a - rho * a) / 2, abs=TINY)
    assert second.evaluations[d] == pytest.approx(-(1 - a + rho * a) / 2, abs=TINY)


def test_worst_case_refuses_what_has_no_facts() -> None:
    families.worst_case(2, 4.0, 32)  # ρ = 1/2: the last horizon that will do
    with pytest.raises(eh.InputError, match="horizon of at least 32"):
        families.worst_case(2, 4.0, 31)
    with pytest.raises(eh.InputError, match="horizon of at least 864"):
        families.worst_case(2, 4.0, 800, c=3.0)
    families.worst_case(2, 4.0, 864, c=3.0)
    with pytest.raises(eh.InputError, match="d must be a whole number ≥ 2; got 1"):
        families.worst_case(1, 4.0, 1e6)
    with pytest.raises(eh.InputError, match="kappa must be a number from 1 to 1e\\+18"):
        families.worst_case(2, 0.5, 1e6)
    with pytest.raises(eh.InputError, match="horizon"):
        families.worst_case(2, 1.0, math.nan)
    with pytest.raises(eh.InputError, match="c must be"):
        families.worst_case(2, 1.0, 1e6, c=-1.0)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("d", [4, 5, 8, 9])
@pytest.mark.parametrize(("delta_min", "delta_neq"), GAPS)
def test_gap_dependent_facts(d: int, kappa: float, delta_min: float, delta_neq: float) -> None:
    problems = families.gap_dependent(d, kappa, delta_min, delta_neq)
    half, a = d // 2, alpha(kappa)
    assert len(problems) == half + 1
    check_admissible(problems[0], kappa)
    groups = problems[0].actions.groups
    assert groups.tolist() == [1] * half + [-1] * (d + 1 - half)
    for i, problem in enumerate(problems):
        assert problem.actions == problems[0].actions
        assert np.abs(problem.values).max() <= 1 + TINY
        check_kappa_of_the_gaps(problem, kappa)
        # Facts 1 and 2: x_i is best, by Δ_min and between groups by Δ_≠; x_{d+1} costs ≥ 1/2.
        assert problem.best_all.tolist() == [i]
        assert problem.delta_neq == pytest.approx(delta_neq, rel=1e-9)
        assert problem.delta_min == pytest.approx(delta_min, rel=1e-9)
        assert problem.gaps[d] >= 0.5
        # Fact 3: the means of all evaluations.
        means = np.full(d + 1, (1 - delta_min) / 2)
        means[[0, half]] = (1 + delta_min) / 2
        if 0 < i < half:
            means[[i, half + i]] = (1 + 3 * delta_min) / 2
        sign = -1 if i == half else 1
        means[d] = -(1 - a) * (1 + sign * delta_neq + delta_min) / 2 + sign * delta_neq / 2
        assert problem.evaluations.tolist() == pytest.approx(means.tolist(), abs=TINY)
        # Facts 3.1 and 3.2: what tells problem i from problem 1.
        shift = np.abs(problem.evaluations - problems[0].evaluations)
        told = np.flatnonzero(shift > TINY).tolist()
        if i == half:
            assert told == [d]
            assert shift[d] == pytest.approx(a * delta_neq, rel=1e-9)
        elif i > 0:
            assert told == [i, half + i]
            assert shift[told].tolist() == pytest.approx([2 * delta_min] * 2, rel=1e-9)


@pytest.mark.parametrize(("kappa", "delta_min"), [(1.0, 0.01), (1.7, 1 / 8), (4.0, 1 / 8)])
@pytest.mark.parametrize("d", [2, 3])
def test_small_d_case_1_facts(d: int, kappa: float, delta_min: float) -> None:
    problems = families.gap_dependent(d, kappa, delta_min, delta_neq=0.5)
    assert len(problems) == d
    check_admissible(problems[0], kappa)
    assert problems[0].actions.groups.tolist() == [1] * d + [-1]
    for i, problem in enumerate(problems):
        assert problem.actions == problems[0].actions
        assert problem.omega == 0.0
        assert np.abs(problem.values).max() <= 1 + TINY
        # Fact 1; as printed, with Δ_min e_i, x_1 and x_i would be tied in problem i.
        assert problem.best_all.tolist() == [i]
        assert problem.delta_min == pytest.approx(delta_min, rel=1e-9)
        assert problem.delta_neq >= 0.5
        # Fact 2.
        means = np.full(d + 1, (1 - delta_min) / 2)
        means[0] = (1 + delta_min) / 2
        if i > 0:
            means[i] = (1 + 3 * delta_min) / 2
        means[d] = -(1 - alpha(kappa)) * (1 + delta_min) / 2
        assert problem.evaluations.tolist() == pytest.approx(means.tolist(), abs=TINY)


@pytest.mark.parametrize("kappa", KAPPAS[1:])
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("delta_neq", [0.01, 1 / 8])
def test_small_d_case_2_facts(d: int, kappa: float, delta_neq: float) -> None:
    pair = families.gap_dependent(d, kappa, delta_neq, delta_neq)
    assert len(pair) == 2
    a = alpha(kappa)
    for i, problem in enumerate(pair):
        check_admissible(problem, kappa)
        check_kappa_of_the_gaps(problem, kappa)
        sign = 1 - 2 * i
        assert problem.best_all.tolist() == [i]
        assert problem.delta_min == pytest.approx(delta_neq, rel=1e-9)
        assert problem.delta_neq == pytest.approx(delta_neq, rel=1e-9)
        last = -(1 - a) * (1 + sign * delta_neq) / 2 + sign * delta_neq / 2
        means = [0.5, 0.5] + [0.0] * (d - 2) + [last]
        assert problem.evaluations.tolist() == pytest.approx(means, abs=TINY)
    shift = abs(pair[0].evaluations[d] - pair[1].evaluations[d])
    assert shift == pytest.approx(a * delta_neq, rel=1e-9)


def test_small_d_takes_the_harder_case() -> None:
    """Where d/Δ_min ≥ κ/Δ_≠² the limit in d/Δ_min is the larger, and its problems are returned."""
    within = families.gap_dependent(3, 2.0, 0.01, 0.12)  # 300 > 139
    assert [problem.best for problem in within] == [0, 1, 2]
    assert within[0].actions.groups.tolist() == [1, 1, 1, -1]
    between = families.gap_dependent(3, 16.0, 0.1, 0.1)  # 30 < 1600
    assert [problem.best for problem in between] == [0, 1]
    assert between[0].actions.groups.tolist() == [1, -1, -1, -1]
    # One problem per half of d, and one more, as for d ≥ 4, in either case for d = 2.
    assert len(families.gap_dependent(2, 2.0, 0.01, 0.12)) == 2


@given(
    st.integers(1, 6),
    st.integers(0, 30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([0.01, 0.5, 2.0]),
)
def test_random_problems_mislead(
    d: int, extra: int, seed: int, separation: float, lead: float
) -> None:
    k = d + 1 + extra
    problem = families.random(k, d, seed, noise_scale=0.7, separation=separation, lead=lead)
    groups, features = problem.actions.groups, problem.actions.features
    assert len(problem.actions) == k
    assert problem.noise_scale == 0.7
    assert abs(int(groups.sum())) <= 1
    assert np.abs(problem.values).max() == pytest.approx(1.0)
    # The evaluations put an option of the other group first, by `lead`.
    assert len(problem.best_all) == 1
    wrong = int(problem.evaluations.argmax())
    assert groups[wrong] == -groups[problem.best]
    assert problem.evaluations[wrong] - problem.evaluations[problem.best] == pytest.approx(lead)
    assert groups[problem.best] * problem.omega < 0
    assert exact_rank(problem.actions.points) == d + 1
    again = families.random(k, d, seed, noise_scale=0.7, separation=separation, lead=lead)
    assert again.actions == problem.actions
    assert again.gamma.tolist() == problem.gamma.tolist()
    assert again.omega == problem.omega
    assert not np.array_equal(families.random(k, d, seed + 1).actions.features, features)


@pytest.mark.parametrize("separation", [0.1, 0.5, 2.0, 5.0])
def test_random_groups_are_separated_as_asked(separation: float) -> None:
    """Lemma 1, with a margin that random() promises: κ_* grows with it."""
    for seed in range(5):
        wide = families.random(40, 3, seed, separation=separation)
        geometry = eh.bias_geometry(wide.actions)
        assert geometry.separable
        assert geometry.margin >= 0
        # The hidden normal has margin ≥ separation and radius ≤ largest norm.
        radius = np.linalg.norm(wide.actions.features, axis=1).max()
        ratio = separation / radius
        assert geometry.kappa_star >= ((1 + ratio) / (1 - ratio)) ** 2 * (1 - 1e-9)


@pytest.mark.parametrize("arguments", [(1, 1), (3, 3), (5, 0)])
def test_random_refuses_sets_that_tell_no_bias(arguments: tuple[int, int]) -> None:
    with pytest.raises(eh.InputError, match="k at least d \\+ 1"):
        families.random(*arguments, seed=0)
    with pytest.raises(eh.InputError, match="separation"):
        families.random(5, 2, 0, separation=-1.0)
    with pytest.raises(eh.InputError, match="lead"):
        families.random(5, 2, 0, lead=0.0)


@pytest.mark.parametrize(
    "make", [families.random, families.random_groups, families.random_attribute]
)
def test_random_families_refuse_seeds_and_sizes_in_words(make: Any) -> None:
    for seed in (-1, 1.5, "one"):
        with pytest.raises(eh.InputError, match="seed must be a whole number ≥ 0"):
            make(20, 3, seed)
    with pytest.raises(eh.InputError, match=r"too many numbers.* Take fewer"):
        make(10**30, 3, 1)


def test_huge_arguments_are_refused_in_words() -> None:
    for c, kappa, horizon in ((1e300, 1.0, 1e6), (1e100, 1e18, 1e6), (1.0, 1e300, 1e6)):
        with pytest.raises(eh.InputError, match=r"smaller kappa or c|from 1 to"):
            families.worst_case(2, kappa, horizon, c)
    for d in (math.nan, math.inf, 10**30, 10**400, 1e300):
        with pytest.raises(eh.InputError, match=r"d must be a whole number|Take fewer"):
            families.worst_case(d, 1.0, 1e6)  # type: ignore[arg-type]
    # what is allowed has the κ_* that was asked for
    assert families.worst_case(2, 1e18, 1e30)[0].kappa_star == pytest.approx(1e18, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
@pytest.mark.parametrize(
    ("delta_min", "delta_neq"),
    [(0.3, 0.2), (0.0, 0.1), (0.1, 0.6), (0.2, 0.45), (math.nan, 0.1), (0.1, math.nan)],
)
def test_limits_refuse_the_gaps_that_families_refuse(
    d: int, delta_min: float, delta_neq: float
) -> None:
    words = []
    for call in (
        lambda: families.gap_dependent(d, 2.0, delta_min, delta_neq),
        lambda: limits.gap_dependent_lower(d, 2.0, delta_min, delta_neq, 1e6),
    ):
        with pytest.raises(eh.InputError) as refused:
            call()
        words.append(str(refused.value))
    assert words[0] == words[1]
