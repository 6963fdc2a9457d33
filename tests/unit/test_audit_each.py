"""Biases one by one, how much they differ, and placebos: by other routes, and on dull tables."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import evenhand as eh
from evenhand.auditing import individual_biases as module
from evenhand.auditing.effects import Effects, two_way
from evenhand.auditing.individual_biases import (
    OwnBiases,
    drawn,
    false_discovery,
    of_evaluators,
    of_favoured,
    own_biases,
    spread,
)
from evenhand.auditing.placebo import DRAWS, placebo
from evenhand.scores import Factor, Scores

Array = NDArray[np.float64]


def named(prefix: str, codes: NDArray[np.intp]) -> Factor:
    names = tuple(f"{prefix}{i}" for i in range(int(codes.max()) + 1))
    return Factor(codes.astype(np.int32), names)


def grouped(
    n_evaluators: int, n_options: int, groups: int, seed: int = 0, events: int = 1, neutral: int = 0
) -> Scores:
    """A full table; the last evaluators are of groups that no option is of."""
    rng = np.random.default_rng(seed)
    event, e, o = (x.ravel() for x in np.indices((events, n_evaluators, n_options)))
    side = np.arange(n_evaluators) % groups
    side[n_evaluators - neutral :] = groups
    return Scores(
        rng.normal(size=len(e)),
        named("o", o),
        named("e", e),
        event=None if events == 1 else named("at ", event),
        groups=tuple("ABCDEFGH"[: groups + (neutral > 0)]),
        option_group=(np.arange(n_options) % groups).astype(np.int32),
        evaluator_group=side.astype(np.int32),
    )


def with_a_bias_each(effects: Effects, codes: NDArray[np.int32], who: Array) -> Array:
    """Return the biases, by least squares with a column for everything."""
    scores = effects.scores
    columns = [np.eye(size)[levels] for levels, size in (scores.scored, scores.chairs)]
    picked = (codes[:, None] == who) * scores.partial[:, None]
    X = np.hstack([picked, *columns])
    return np.linalg.lstsq(X, scores.score, rcond=None)[0][: len(who)]


@pytest.mark.parametrize("seed", range(3))
def test_each_bias_is_that_of_least_squares(seed: int) -> None:
    scores = grouped(6, 8, 3, seed=seed, events=2, neutral=2)
    effects = two_way(scores)
    each = of_evaluators(effects, 0.95)
    assert each.own.who.tolist() == [0, 1, 2, 3]
    dense = with_a_bias_each(effects, scores.evaluator.codes, each.own.who)
    assert each.own.bias == pytest.approx(dense, abs=1e-8)
    parties = of_favoured(effects, 0.95)
    dense = with_a_bias_each(effects, parties.codes, parties.own.who)
    assert parties.own.bias == pytest.approx(dense, abs=1e-8)


def test_the_common_bias_is_a_mean_of_each_ones() -> None:
    """Weights are a_g = Σ S̃p over the scores of g: both are least squares on the same columns."""
    scores = grouped(5, 10, 4, seed=4, neutral=1)
    effects = two_way(scores)
    mine = own_biases(effects, scores.evaluator.codes, 5)
    weights = np.bincount(scores.evaluator.codes, effects.own * scores.partial)[mine.who]
    assert weights @ mine.bias / effects.information == pytest.approx(effects.bias)


def test_variances_are_those_of_least_squares_where_no_pair_comes_back() -> None:
    scores = grouped(5, 9, 3, seed=2, neutral=1)
    effects = two_way(scores)
    mine = own_biases(effects, scores.evaluator.codes, 5)
    columns = [np.eye(size)[levels] for levels, size in (scores.scored, scores.chairs)]
    X = np.hstack(
        [(scores.evaluator.codes[:, None] == mine.who) * scores.partial[:, None], *columns]
    )
    M = np.eye(len(X)) - X @ np.linalg.pinv(X)
    noise = scores.score @ M @ scores.score / np.trace(M)
    assert mine.freedom == pytest.approx(np.trace(M))
    assert mine.variance == pytest.approx(noise * np.diag(np.linalg.pinv(X.T @ X))[:4], rel=1e-6)


def test_what_pairs_have_in_common_is_told_from_noise() -> None:
    """Scores of one pair that are the same each time have no noise at all."""
    scores = grouped(6, 10, 3, seed=1, events=4, neutral=2)
    pairs = np.random.default_rng(2).normal(size=(6, 10))
    steady = replace(scores, score=pairs[scores.evaluator.codes, scores.option.codes])
    once = grouped(6, 10, 3, neutral=2)
    once = replace(once, score=pairs[once.evaluator.codes, once.option.codes])
    steadily = own_biases(two_way(steady), steady.evaluator.codes, 6)
    single = own_biases(two_way(once), once.evaluator.codes, 6)
    # four looks at the same thing are worth one; both variances rest on the same few pairs
    assert steadily.bias == pytest.approx(single.bias)
    assert steadily.variance == pytest.approx(single.variance, rel=0.25)


def test_two_who_score_each_others_favourites_have_no_bias_of_their_own() -> None:
    scores = grouped(2, 6, 2, seed=3)
    each = of_evaluators(two_way(scores), 0.95)
    assert np.isnan(each.own.bias).all()
    assert np.isinf(each.own.variance).all()
    assert each.spread.n == 0
    assert not each.frame["flagged"].any()
    # a neutral one tells them apart
    known = of_evaluators(two_way(grouped(3, 6, 2, seed=3, neutral=1)), 0.95)
    assert np.isfinite(known.own.variance).all()


def test_many_are_nearly_what_they_are_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few who are partial to the same meet, Q is nearly diagonal."""
    rng = np.random.default_rng(6)
    scores = grouped(20, 40, 18, seed=6, neutral=2)
    scores = replace(scores, score=3.0 * scores.partial + rng.normal(size=len(scores)))
    effects = two_way(scores)
    exact = own_biases(effects, scores.evaluator.codes, 20)
    monkeypatch.setattr(module, "_CELLS", 0)
    near = own_biases(effects, scores.evaluator.codes, 20)
    assert near.bias == pytest.approx(exact.bias, abs=0.5 * math.sqrt(exact.variance.max()))
    assert near.variance == pytest.approx(exact.variance, rel=0.1)


@pytest.mark.parametrize("v", [0.5, 3.0])
def test_equally_known_biases_spread_by_a_closed_form(v: float) -> None:
    """With equal v: τ² = s² − v, the interval is Student's for a mean, the next one's is wider."""
    b = np.array([1.0, 2.0, 4.0, 5.0, 8.0])
    found = spread(OwnBiases(np.arange(5), b, np.full(5, v), 50.0), 0.95)
    square = b.var(ddof=1)
    assert found.mean == pytest.approx(4.0)
    assert found.sd**2 == pytest.approx(square - v)
    assert found.high - found.mean == pytest.approx(2.7764451 * math.sqrt(square / 5))
    # Var Q = 2(G − 1)(1 + τ²/v)², so degrees of freedom are (G − 1)(τ² + s²/G)²/s⁴, from 2 to G − 2
    ahead = square - v + square / 5
    freedom = min(4 * ahead**2 / square**2, 3.0)
    assert freedom > 2.0
    further = stats.t.ppf(0.975, freedom) * math.sqrt(ahead)
    assert (found.next_low, found.next_high) == pytest.approx((4.0 - further, 4.0 + further))


def test_biases_are_drawn_to_their_mean_by_the_share_that_is_noise() -> None:
    b, v = np.array([1.0, 2.0, 4.0, 5.0, 8.0]), np.array([0.5, 0.5, 0.5, 0.5, np.inf])
    mine = OwnBiases(np.arange(5), np.where(np.isinf(v), np.nan, b), v, 50.0)
    found = spread(mine, 0.95)
    shrunk = drawn(mine, 0.95)
    kept = found.sd**2 / (found.sd**2 + 0.5)
    assert shrunk.bias[:4] == pytest.approx(found.mean + kept * (b[:4] - found.mean))
    assert shrunk.bias[4] == pytest.approx(found.mean)  # nothing is known but the others
    assert (shrunk.high - shrunk.low)[4] > (shrunk.high - shrunk.low)[:4].max()
    assert shrunk.q[4] == 1.0


def test_one_alone_has_no_spread() -> None:
    found = spread(OwnBiases(np.arange(1), np.array([2.0]), np.array([0.5]), 9.0), 0.95)
    assert math.isnan(found.sd)
    assert (found.next_low, found.next_high) == (-math.inf, math.inf)


@pytest.mark.parametrize("seed", range(3))
def test_false_discoveries_are_named_as_by_steps_up(seed: int) -> None:
    """Those with q ≤ α are the k smallest, k the largest with p_(k) ≤ kα/m."""
    chances = np.random.default_rng(seed).beta(0.3, 1.0, size=20)
    q = false_discovery(chances)
    for level in (0.05, 0.2):
        below = [k for k in range(1, 21) if np.sort(chances)[k - 1] <= k * level / 20]
        assert (q <= level).sum() == max(below, default=0)


def test_all_dealings_of_few_evaluators_are_gone_through() -> None:
    scores = grouped(4, 9, 3, seed=5)
    found = placebo(two_way(scores))
    true = scores.evaluator_group
    dealt = [
        two_way(replace(scores, evaluator_group=true[list(way)])).bias
        for way in permutations(range(4))
    ]
    assert sorted(found.draws.tolist()) == pytest.approx(sorted(dealt[1:]))
    assert found.chance == pytest.approx(np.mean(np.abs(dealt) >= abs(dealt[0]) - 1e-12))


def test_stated_partiality_is_exchanged_like_groups() -> None:
    scores = grouped(4, 9, 3, seed=5)
    stated = replace(scores, stated=scores.partial, option_group=None, evaluator_group=None)
    assert placebo(two_way(stated)).draws == pytest.approx(placebo(two_way(scores)).draws)


def test_groups_stay_at_their_events() -> None:
    """With one evaluator from home at each event, every dealing has one from home again."""
    scores = grouped(5, 8, 4, seed=7, events=6, neutral=1)
    effects = two_way(scores)
    found = placebo(effects, seed=1)
    assert len(found.draws) == DRAWS
    assert found.draws == pytest.approx(placebo(effects, seed=1).draws)
    assert abs(found.mean) < 4 * found.sd / math.sqrt(DRAWS)
    biased = two_way(replace(scores, score=scores.score + 5.0 * scores.partial))
    assert placebo(biased).chance == pytest.approx(1 / (1 + DRAWS))


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        (grouped(2, 6, 2), "too few evaluators"),
        (
            replace(
                grouped(3, 6, 2), evaluator_group=np.zeros(3, np.int32), reference=np.zeros(18)
            ),
            "of one group",
        ),
        (replace(grouped(3, 6, 2), evaluator_group=np.full(3, -1, np.int32)), "can't be told"),
    ],
)
def test_a_placebo_that_is_impossible_says_why(scores: Scores, why: str) -> None:
    found = placebo(two_way(scores))
    assert why in found.impossible
    assert math.isnan(found.chance)


def test_tables_have_a_row_for_everybody() -> None:
    frame = pd.DataFrame(
        {
            "option": ["a", "b", "c", "d"] * 3,
            "evaluator": ["P"] * 4 + ["Q"] * 4 + ["R"] * 4,
            "score": [5, 3, 2, 1, 3, 5, 2, 2, 3, 3, 2, 1],
            "home": ["X", "Y", "X", "Y"] * 3,
            "side": ["X"] * 4 + ["Y"] * 4 + ["Z"] * 4,
        }
    )
    audit = eh.audit(frame, option_group="home", evaluator_group="side")
    rows = audit.evaluators.set_index("evaluator")
    assert rows["group"].tolist() == ["X", "Y", "Z"]
    assert rows["own"].tolist() == [2, 2, 0]
    assert math.isnan(rows.loc["R", "bias"])
    assert not rows.loc["R", "flagged"]
    assert rows["leniency"].mean() == pytest.approx(0.0, abs=1e-9)
    assert audit.groups["group"].tolist() == ["X", "Y", "Z"]
    assert audit.groups["own"].tolist() == [2, 2, 0]


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("scores", ["few", "many"])
def test_small_dull_tables_are_audited(n: int, scores: str) -> None:
    """Whatever is in n rows: intervals hold the estimate, and everybody has a row."""
    rng = np.random.default_rng(n)
    given = {"few": rng.permutation(np.arange(n) % 2), "many": rng.normal(size=n)}
    frame = pd.DataFrame(
        {
            "option": [f"o{i % 3}" for i in range(n)],
            "evaluator": [f"e{i // 3}" for i in range(n)],
            "score": given[scores],
            "home": [f"g{i % 3 % 2}" for i in range(n)],
            "side": [f"g{i // 3 % 2}" for i in range(n)],
        }
    )
    audit = eh.audit(frame, option_group="home", evaluator_group="side")
    bias = audit.bias
    assert math.isnan(bias.value) or bias.low <= bias.value <= bias.high
    assert 0.0 <= bias.chance <= 1.0
    assert len(audit.evaluators) == -(-n // 3)
    assert audit.spread.evaluators.n <= len(audit.evaluators)
    assert audit.placebo.impossible or len(audit.placebo.draws)
