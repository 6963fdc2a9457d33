"""Information-directed sampling against a literal transcription; its mixtures against search."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from asking import rounds
from evenhand.research.rivals._ids import best_mixture
from evenhand.research.rivals.information_directed import (
    DirectedInformationSampling,
    InformationDirectedSampling,
)
from evenhand.research.rivals.ridge import joint_coordinates
from rotation import nightly

Floats = np.ndarray
KINDS = (InformationDirectedSampling, DirectedInformationSampling)
BIAS_RATIO = 100.0  # Ω/B where no bound of the bias is given


def ratio(gaps: Floats, information: Floats, x: int, y: int, q: float) -> float:
    """Δ(μ)²/I(μ) of the mixture that plays y with probability q; infinite without information."""
    regret = (1 - q) * gaps[x] + q * gaps[y]
    known = (1 - q) * information[x] + q * information[y]
    return regret**2 / known if known > 0 else np.inf


def searched(gaps: Floats, information: Floats) -> float:
    """The least ratio of all pairs and 1001 shares of each."""
    q = np.linspace(0.0, 1.0, 1001)
    least = np.inf
    for x, y in itertools.combinations_with_replacement(range(len(gaps)), 2):
        regret = (1 - q) * gaps[x] + q * gaps[y]
        known = (1 - q) * information[x] + q * information[y]
        least = min(least, float((regret[known > 0] ** 2 / known[known > 0]).min(initial=np.inf)))
    return least


numbers = st.one_of(st.sampled_from([0.0, 0.25, 1.0, 1.5]), st.floats(1e-3, 1e3))
points = st.lists(st.tuples(st.one_of(st.just(0.5), st.floats(1e-3, 1e3)), numbers), min_size=1)


@given(points)
@settings(max_examples=60, deadline=None)
def test_no_mixture_is_better(pairs: list[tuple[float, float]]) -> None:
    gaps, information = np.array(pairs[:9]).T.copy()
    x, y, q = best_mixture(gaps, information)
    assert 0.0 <= q <= 1.0
    if information.max() == 0.0:
        assert (x, q) == (int(np.argmin(gaps)), 0.0)
        return
    assert ratio(gaps, information, x, y, q) <= searched(gaps, information) * (1 + 1e-9)


@pytest.mark.parametrize("k", [3, 100, 20_001])
@pytest.mark.parametrize("a", [0.01, 0.3, 1.0])
def test_mixture_where_every_option_is_a_corner(k: int, a: float) -> None:
    """On Δ = a + I², I in [0, 1], the least (a + I²)²/I is at I = √(a/3); corners are near it."""
    information = np.random.default_rng(1).permutation(np.linspace(0.0, 1.0, k))
    gaps = a + information**2
    x, y, q = best_mixture(gaps, information)
    least = ratio(gaps, information, x, y, q)
    best = min(1.0, np.sqrt(a / 3))
    assert least >= (a + best**2) ** 2 / best * (1 - 1e-12)
    # neighbours on a grid of step h mix to at most h²/4 above the parabola
    h = 1 / (k - 1)
    assert least <= (a + best**2 + h**2 / 4) ** 2 / best * (1 + 1e-12)


def transcribed(
    policy: InformationDirectedSampling, beta: str, factor: float, comparisons: str
) -> tuple[Floats, Floats, Floats]:
    """Δ, I and leverages by explicit inverses and all pairs, from counts and sums alone."""
    counts, sums = policy.stepper.counts, policy.stepper.sums
    A = joint_coordinates(policy.actions, BIAS_RATIO)
    k, m = A.shape
    H = A.copy()
    H[:, m - policy.actions.n_attributes :] = 0.0
    sigma, B = policy.noise_scale, policy.value_bound
    ridge = (sigma / B) ** 2 / m
    V = ridge * np.eye(m) + A.T @ np.diag(counts) @ A
    inverse = np.linalg.inv(V)
    theta = inverse @ A.T @ sums
    t = max(int(counts.sum()) + 1, 2)
    if beta == "log":
        width = factor * sigma * np.sqrt(2 * np.log(t))
    else:
        log_det = np.linalg.slogdet(V / ridge)[1]
        width = factor * (
            sigma * np.sqrt(2 * np.log(t * np.log(t)) + log_det) + np.sqrt(ridge) * np.sqrt(m) * B
        )

    def norm(v: Floats, matrix: Floats = inverse) -> float:
        return float(np.sqrt(max(v @ matrix @ v, 0.0)))

    value = H @ theta
    best = int(np.argmax(value))
    gaps = np.zeros(k)
    options: list[int] = []
    pairs: list[tuple[int, int]] = []
    if comparisons == "pairs":
        for x in range(k):
            leads = [value[y] - value[x] for y in range(k)]
            widths = [width * norm(H[y] - H[x]) for y in range(k)]
            gaps[x] = max(lead + w for lead, w in zip(leads, widths, strict=True))
            if all(lead - w <= 0 for lead, w in zip(leads, widths, strict=True)):
                options.append(x)
        pairs = list(itertools.combinations(options, 2))
    else:
        optimistic = max(value[y] + width * norm(H[y] - H[best]) for y in range(k))
        gaps = optimistic - value
        options = [y for y in range(k) if value[best] - value[y] <= width * norm(H[y] - H[best])]
        pairs = [(y, best) for y in options if y != best]
    leverages = np.array([norm(a) ** 2 for a in A])
    information = np.log(1 + leverages) / 2
    if policy.directed:
        information = np.zeros(k)
        if pairs:
            x, y = max(pairs, key=lambda pair: norm(H[pair[0]] - H[pair[1]]))
            w = H[x] - H[y]
            after = [norm(w, np.linalg.inv(V + np.outer(a, a))) for a in A]
            information = np.log(norm(w) / np.array(after))
    return gaps, information, leverages


def several_attributes(noise_scale: float = 1.0) -> eh.BiasedLinearBandit:
    rng = np.random.default_rng(3)
    actions = eh.ActionSet(rng.standard_normal((9, 2)), attributes=rng.standard_normal((9, 2)))
    return eh.BiasedLinearBandit(actions, [0.3, -0.2], [0.4, -0.1], noise_scale)


PROBLEMS = {
    "worst case": eh.families.worst_case(d=2, kappa=4.0, horizon=10**4, c=3.0)[0],
    "random": eh.families.random(k=12, d=3, seed=2, noise_scale=0.25),
    "two attributes": several_attributes(0.5),
}


@pytest.mark.parametrize("name", ["random", *nightly(["worst case", "two attributes"])])
@pytest.mark.parametrize("comparisons", ["leader", "pairs"])
@pytest.mark.parametrize(("beta", "factor"), [("self-normalised", 1.0), ("log", 0.5)])
@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_those_of_the_source(
    kind: type[InformationDirectedSampling],
    beta: Any,
    factor: float,
    comparisons: Any,
    name: str,
) -> None:
    problem = PROBLEMS[name]
    policy = kind(
        problem.actions, 10**6, beta=beta, factor=factor, comparisons=comparisons, switching=0.2,
        noise_scale=problem.noise_scale, value_bound=2.0,
    )  # fmt: skip
    for i, (counts, _) in enumerate(rounds(policy, problem, 80)):
        gaps, information, leverages = transcribed(policy, beta, factor, comparisons)
        np.testing.assert_allclose(policy.stepper.gaps, gaps, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(policy.stepper.information, information, rtol=1e-6, atol=1e-9)
        (options,) = np.nonzero(counts)
        if information.max() == 0.0:
            assert options.tolist() == [policy.recommend().option]
            continue
        x, y, q = best_mixture(policy.stepper.gaps, policy.stepper.information)
        if i % 10 == 0:
            assert ratio(gaps, information, x, y, q) <= searched(gaps, information) * (1 + 1e-6)
        assert set(options.tolist()) <= {x, y}
        # as many as switching allows, in the proportions of the mixture
        n, told = int(counts.sum()), policy.spent
        added = max(q * leverages[y], (1 - q) * leverages[x])
        assert n == 1 or (n * added <= 0.2 * (1 + 1e-6) and n <= 0.2 * told * (1 + 1e-6))
        if n < policy.remaining:
            assert (n + 1) * added > 0.2 * (1 - 1e-6) or n + 1 > 0.2 * told * (1 - 1e-6)
        if x != y:
            assert abs(counts[y] - n * q) < 1 + 1e-6
