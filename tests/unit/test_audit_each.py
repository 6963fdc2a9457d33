"""Biases one by one, how much they differ, and placebos: by other routes, and on dull tables."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import evenhand as eh
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


def each_by_least_squares(scores: Scores, codes: NDArray[np.int32], who: list[int]) -> Array:
    """Return the biases of each, by least squares with a column for everything."""
    columns = [np.eye(size)[levels] for levels, size in (scores.scored, scores.chairs)]
    picked = (codes[:, None] == np.array(who)) * scores.partial[:, None]
    return np.linalg.lstsq(np.hstack([picked, *columns]), scores.score, rcond=None)[0][: len(who)]


@pytest.mark.parametrize("seed", range(3))
def test_each_bias_is_that_of_least_squares(seed: int) -> None:
    scores = grouped(6, 8, 3, seed=seed, events=2, neutral=2)
    audit = eh.audit(scores)
    dense = each_by_least_squares(scores, scores.evaluator.codes, [0, 1, 2, 3])
    assert audit.evaluators["bias"][:4].to_numpy() == pytest.approx(dense, abs=1e-8)
    assert audit.evaluators["bias"][4:].isna().all()
    of = scores.option_group[scores.option.codes]
    dense = each_by_least_squares(scores, of, [0, 1, 2])
    assert audit.groups["bias"][:3].to_numpy() == pytest.approx(dense, abs=1e-8)


def test_shrunken_biases_lie_between_their_own_and_the_mean_and_q_follows_the_steps_up() -> None:
    scores = grouped(14, 24, 6, seed=3, neutral=2)
    differ = np.linspace(-3.0, 6.0, 14)[scores.evaluator.codes]
    audit = eh.audit(replace(scores, score=scores.score + differ * scores.partial))
    known, spread = audit.evaluators[:12], audit.spread.evaluators
    low, high = (np.sort([known["bias"], [spread.mean] * 12], axis=0)[i] for i in (0, 1))
    assert (known["shrunk"].between(low - 1e-9, high + 1e-9)).all()
    assert spread.sd == pytest.approx(np.linspace(-3.0, 6.0, 14)[:12].std(ddof=1), rel=0.3)
    assert spread.next_low < spread.low < spread.mean < spread.high < spread.next_high
    assert (known["flagged"] == (known["q"] <= 0.05)).all()
    assert known["flagged"].sum() >= 4


def test_two_who_score_each_others_favourites_have_no_bias_of_their_own() -> None:
    found = eh.audit(grouped(2, 6, 2, seed=3))
    assert found.evaluators["bias"].isna().all()
    assert found.spread.evaluators.n == 0
    assert not found.evaluators["flagged"].any()
    # a neutral one tells them apart
    assert eh.audit(grouped(3, 6, 2, seed=3, neutral=1)).evaluators["bias"][:2].notna().all()


def test_all_dealings_of_few_evaluators_are_gone_through() -> None:
    scores = grouped(4, 9, 3, seed=5)
    found = eh.audit(scores).placebo
    true = scores.evaluator_group
    dealt = [
        eh.audit(replace(scores, evaluator_group=true[list(way)])).naive.value
        for way in permutations(range(4))
    ]
    assert sorted(found.draws.tolist()) == pytest.approx(sorted(dealt[1:]))
    assert found.chance == pytest.approx(np.mean(np.abs(dealt) >= abs(dealt[0]) - 1e-12))


def test_stated_partiality_is_exchanged_like_groups() -> None:
    scores = grouped(4, 9, 3, seed=5)
    stated = replace(scores, stated=scores.partial, option_group=None, evaluator_group=None)
    assert eh.audit(stated).placebo.draws == pytest.approx(eh.audit(scores).placebo.draws)


def test_groups_stay_at_their_events() -> None:
    """With one evaluator from home at each event, every dealing has one from home again."""
    scores = grouped(5, 8, 4, seed=7, events=6, neutral=1)
    found = eh.audit(scores, seed=1).placebo
    assert len(found.draws) == 199
    assert found.draws == pytest.approx(eh.audit(scores, seed=1).placebo.draws)
    assert abs(found.mean) < 4 * found.sd / math.sqrt(199)
    biased = replace(scores, score=scores.score + 5.0 * scores.partial)
    assert eh.audit(biased).placebo.chance == pytest.approx(1 / 200)


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
    found = eh.audit(scores).placebo
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
    audit = eh.audit(frame, columns={"option_group": "home", "evaluator_group": "side"})
    rows = audit.evaluators.set_index("evaluator")
    assert rows["group"].tolist() == ["X", "Y", "Z"]
    assert rows["own"].tolist() == [2, 2, 0]
    assert math.isnan(rows.loc["R", "bias"])
    assert not rows.loc["R", "flagged"]
    assert rows["leniency"].mean() == pytest.approx(0.0, abs=1e-9)
    assert audit.groups["group"].tolist() == ["X", "Y", "Z"]
    assert audit.groups["own"].tolist() == [2, 2, 0]


def test_kinds_of_scores_have_a_bias_each() -> None:
    rng = np.random.default_rng(3)
    option, judge = (codes.ravel() for codes in np.indices((24, 8)))
    own, free = (option % 4 == judge % 4), option % 2 == 0
    table = pd.DataFrame({"option": option, "evaluator": judge, "home": own * 1.0})
    table["score"] = option + own * np.where(free, 3.0, 1.0) + 0.1 * rng.normal(size=len(option))
    found = eh.audit(table.astype({"option": str, "evaluator": str}), columns={"partial": "home"})
    kinds = found.by(np.where(free, "free", "short")).set_index("kind")
    assert kinds["bias"].to_dict() == pytest.approx({"free": 3.0, "short": 1.0}, abs=0.1)
    with pytest.raises(eh.InputError, match="a label for each of 192 scores; got 1"):
        found.by(["free"])


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
    audit = eh.audit(frame, columns={"option_group": "home", "evaluator_group": "side"})
    bias = audit.bias
    assert math.isnan(bias.value) or bias.low <= bias.value <= bias.high
    assert 0.0 <= bias.chance <= 1.0
    assert len(audit.evaluators) == -(-n // 3)
    assert audit.spread.evaluators.n <= len(audit.evaluators)
    assert audit.placebo.impossible or len(audit.placebo.draws)
