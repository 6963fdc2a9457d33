"""A bias by features alone against least squares, and what is said of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.auditing.features import FeatureColumns, by_features
from evenhand.errors import InputError
from evenhand.scores import Factor, Scores

PERFORMANCE = (
    "base_value", "max_base", "n_elements", "n_flagged", "n_second_half", "deductions", "start",
    "free",
)  # fmt: skip


@pytest.fixture(scope="module")
def season() -> pd.DataFrame:
    from importlib.resources import files  # noqa: PLC0415

    return pd.read_csv(str(files("evenhand") / "data" / "skating_judges.csv.gz"))


def test_columns_agree_with_least_squares() -> None:
    rng = np.random.default_rng(0)
    for trial in range(40):
        n, d = int(rng.integers(1, 40)), int(rng.integers(0, 5))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 5, d) + 100.0
        if d > 2:
            X[:, 2] = X[:, 0] - 3.0 * X[:, 1] if trial % 2 else 7.0
        y = rng.normal(size=(n, 2))
        met = FeatureColumns({str(j): X[:, j] for j in range(d)}, n)
        D = np.column_stack([np.ones(n), X])
        scale = np.abs(D).max(axis=0)
        theta = np.linalg.lstsq(D / scale, y, rcond=1e-11)[0]
        np.testing.assert_allclose(met.without(y)[0], y - D / scale @ theta, atol=1e-7)
        assert met.rank == np.linalg.matrix_rank(D / scale, tol=1e-11 * np.sqrt(n))


def test_on_skating_features_alone_overstate_the_bias(season: pd.DataFrame) -> None:
    known = eh.audit(
        season, option="skater", evaluator="judge", event=["competition", "program"],
        option_group="nation", evaluator_group="judge_nation", features=PERFORMANCE,
    )  # fmt: skip
    D = np.column_stack([np.ones(len(season)), season[list(PERFORMANCE)], season["home"]])
    plain = np.linalg.lstsq(D, season["score"], rcond=None)[0][-1]
    alone = known.by_features
    assert alone is not None
    assert alone.bias.value == pytest.approx(plain, rel=1e-9)
    assert alone.ratio == pytest.approx(plain / known.bias.value)
    assert alone.ratio > 1.2
    assert not alone.bias.covers(known.bias.value)
    assert "overstate the bias, 1.3 times" in alone.warning.message
    assert "the interval does not cover that" in alone.warning.message
    # the same answer, with nothing to hold it against, where nobody says who judged
    unknown = eh.audit(
        season, option="skater", evaluator=None, event=["competition", "program"],
        partial="home", features=PERFORMANCE,
    )  # fmt: skip
    assert unknown.by_features is not None
    assert unknown.bias.value == pytest.approx(plain, rel=1e-9)
    assert unknown.bias == unknown.by_features.bias
    assert "would tell" in unknown.by_features.warning.message


def simple(groups: list[str], features: dict[str, np.ndarray]) -> Scores:
    n = len(groups)
    names = tuple(dict.fromkeys(groups))
    return Scores(
        np.arange(n) ** 2.0,
        Factor.of([str(i) for i in range(n)]),
        None,
        groups=names,
        option_group=np.array([names.index(g) for g in groups], dtype=np.int32),
        features=features,
    )


def test_two_groups_are_needed_and_the_last_by_name_is_favoured() -> None:
    size = np.array([1.0, 2.0, 4.0, 3.0, 0.0])
    found = by_features(simple(["b", "a", "b", "a", "a"], {"size": size}), level=0.95)
    assert found.favoured == "b"
    D = np.column_stack([np.ones(5), size, [1.0, 0.0, 1.0, 0.0, 0.0]])
    assert found.bias.value == pytest.approx(np.linalg.lstsq(D, np.arange(5) ** 2.0)[0][-1])
    with pytest.raises(InputError, match="option_group= has 3: 'a', 'b', 'c'"):
        by_features(simple(["b", "a", "c"], {"size": size[:3]}), level=0.95)
    with pytest.raises(InputError, match="has 1: 'a'"):
        by_features(simple(["a", "a", "a"], {"size": size[:3]}), level=0.95)


def test_features_that_equal_the_group_are_said_to() -> None:
    table = pd.DataFrame(
        {"option": list("abcdef"), "score": [3.0, 1, 4, 1, 5, 9], "home": [0, 1, 0, 1, 0, 1]}
    ).assign(height=lambda frame: 170.0 + 3.0 * frame["home"])
    found = eh.audit(table, partial="home", features=["height"])
    assert np.isnan(found.bias.value)
    assert not found.identified.told
    assert "follows from the features" in found.identified.why


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_not_sure(n: int) -> None:
    table = pd.DataFrame(
        {"option": list("abc")[:n], "score": [3.0, 1.0, 4.0][:n], "home": [0, 1, 0][:n],
         "size": [1.0, 2.0, 5.0][:n]}
    )  # fmt: skip
    found = by_features(
        Scores(
            table["score"].to_numpy(),
            Factor.of(table["option"].tolist()),
            None,
            stated=table["home"].to_numpy(dtype=float),
            features={"size": table["size"].to_numpy()},
        ),
        level=0.95,
    )
    assert found.bias.low == -np.inf
    assert found.bias.high == np.inf


def test_one_judge_with_features_has_an_answer_and_its_warning() -> None:
    rng = np.random.default_rng(1)
    size, home = rng.normal(size=60), np.arange(60) % 2
    table = pd.DataFrame(
        {"option": [f"o{i}" for i in range(60)], "evaluator": "P", "size": size, "home": home,
         "score": 5.0 + 2.0 * size + 1.5 * home + 0.1 * rng.normal(size=60)}
    )  # fmt: skip
    found = eh.audit(table, partial="home", features=["size"])
    assert found.bias.covers(1.5)
    assert found.bias.high - found.bias.low < 0.2
    assert found.by_features is not None
    assert found.by_features.warning.alarm
    without = eh.audit(table, partial="home")
    assert not without.identified.told
    assert without.bias.low == -np.inf
