"""`audit` and `decide` of one table say the same, or by a stated meaning something else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.cases.skating import scores
from evenhand.inference import population

GROUPS = {"option_group": "nation", "evaluator_group": "judge_nation"}


def skating() -> pd.DataFrame:
    """Return ten couples by nine judges, at Skate Canada 2016."""
    season = scores()
    event = season["competition"] == "ISU GP 2016 Skate Canada International"
    found = season[event & (season["program"] == "ICE DANCE FREE DANCE")]
    return found.rename(columns={"skater": "option", "judge": "evaluator"})


def jury(seed: int, options: int, judges: int, seen: float, differ: float) -> pd.DataFrame:
    """Return scores of options by judges, each partial to the own nation by as much as he likes."""
    rng = np.random.default_rng(seed)
    nations = rng.choice(list("abc"), options), rng.choice(list("abcd"), judges)
    worth, lenient = rng.normal(size=options), 0.5 * rng.normal(size=judges)
    favour = 1.0 + differ * rng.normal(size=judges)
    noise = 0.3 * np.exp(0.5 * rng.normal(size=judges))
    rows = []
    for o, a in enumerate(nations[0]):
        for j, b in enumerate(nations[1]):
            if rng.random() < seen:
                score = worth[o] + lenient[j] + favour[j] * (a == b) + noise[j] * rng.normal()
                rows.append((f"o{o}", f"j{j}", a, b, score))
    return pd.DataFrame(rows, columns=["option", "evaluator", "nation", "judge_nation", "score"])


TABLES = {
    "a skating event": skating,
    "a jury": lambda: jury(0, 12, 9, 1.0, 0.4),
    "more judges than options": lambda: jury(1, 7, 30, 1.0, 0.8),
    "a panel with holes": lambda: jury(2, 20, 12, 0.7, 0.0),
}


@pytest.fixture(scope="module", params=sorted(TABLES))
def table(request: Any) -> pd.DataFrame:
    found: pd.DataFrame = TABLES[request.param]()
    return found


def test_the_bias_and_the_effects_beside_it_are_the_same(table: pd.DataFrame) -> None:
    audit, answer = eh.audit(table, columns=GROUPS), eh.decide(table, columns=GROUPS, next_n=0)
    audited, decided = audit.bias, answer.bias
    assert (decided.value, decided.low, decided.high) == (audited.value, audited.low, audited.high)
    lenient = answer.biases.of_kind("leniency").to_frame().set_index("evaluator")["estimate"]
    own = audit.evaluators.set_index("evaluator")["leniency"]
    pd.testing.assert_series_equal(lenient, own, check_names=False, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_truths_that_differ_are_estimated_without_bias_and_the_mean_is_covered(seed: int) -> None:
    """τ² = 4 of 25 estimates with variances from 0.5 to 4, over 400 draws."""
    rng = np.random.default_rng(seed)
    v = np.geomspace(0.5, 4.0, 25)
    found, covered, closer = [], 0, 0.0
    for _ in range(400):
        truth = 1.0 + 2.0 * rng.normal(size=25)
        b = truth + np.sqrt(v) * rng.normal(size=25)
        among = population(b, v)
        found.append(among.between)
        covered += abs(among.mean - 1.0) <= 2.064 * math.sqrt(among.mean_variance)  # t with 24
        closer += ((among.shrunken(b, v) - truth) ** 2).sum() / ((b - truth) ** 2).sum() / 400
    assert np.mean(found) == pytest.approx(4.0, abs=4 * np.std(found) / 20)
    assert covered >= 0.95 * 400 - 4 * math.sqrt(0.95 * 0.05 * 400)
    best = (
        v * 4.0 / (v + 4.0)
    ).sum() / v.sum()  # what shrinking could reach if τ² and μ were known
    assert best < closer < best + 0.1


def test_shrunken_estimates_keep_their_share_of_the_variance_between() -> None:
    estimates, variances = np.array([1.0, 9.0]), np.array([8.0, 8.0])  # τ² = 32 − 8
    found = population(estimates, variances)
    assert found.shrunken(estimates, variances) == pytest.approx([2.0, 8.0])
