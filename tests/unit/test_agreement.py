"""Agreement of evaluators, against published numbers, definitions, and tables drawn from a law."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from score_tables import scored

SHROUT_FLEISS = [
    (9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7),
]  # fmt: skip

# Krippendorff, Computing Krippendorff's alpha-reliability, 2011, C: four observers, 12 units.
KRIPPENDORFF = [
    "1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .",
]  # fmt: skip


def components(table: pd.DataFrame, **how: object) -> dict[str, float]:
    frame = eh.audit(table, **how).agreement.variance
    return dict(zip(frame["source"], frame["variance"], strict=True))


def test_reliability_is_that_of_shrout_and_fleiss() -> None:
    """Intervals as R's psych::ICC prints them for this table."""
    error, removed = eh.audit(scored(SHROUT_FLEISS)).agreement.reliability.to_dict("records")
    assert [error["one review"], error["mean of reviews"]] == pytest.approx([0.29, 0.62], abs=5e-3)
    assert [error["low"], error["high"]] == pytest.approx([0.019, 0.76], abs=2e-3)
    assert [removed["one review"], removed["mean of reviews"]] == pytest.approx(
        [0.71, 0.91], abs=5e-3
    )
    assert [removed["low"], removed["high"]] == pytest.approx([0.34, 0.95], abs=5e-3)
    for row in (error, removed):
        for goal in (0.8, 0.9):
            k, r = row[f"for {goal:g}"], row["one review"]
            assert k * r / (1 + (k - 1) * r) >= goal > (k - 1) * r / (1 + (k - 2) * r)


def test_where_everybody_scored_one_thing_severity_is_noise() -> None:
    table = scored(SHROUT_FLEISS)
    table["evaluator"] += " of " + table["option"]
    found = eh.audit(table).agreement
    (row,) = found.reliability.to_dict("records")
    assert [row["one review"], row["mean of reviews"], row["high"]] == pytest.approx(
        [0.17, 0.44, 0.72], abs=5e-3
    )
    assert found.variance["source"].tolist()[1] == "noise and evaluators and option × evaluator"


def test_components_of_complete_tables_are_those_of_the_analysis_of_variance() -> None:
    rng = np.random.default_rng(1)
    k, n, m = 7, 5, 3
    y = rng.normal(size=(k, 1, 1)) + 3 * rng.normal(size=(n, 1)) + rng.normal(size=(k, n, 1))
    y = y + rng.normal(size=(k, n, m))
    cells, u, v = y.mean(axis=2), y.mean(axis=(1, 2)), y.mean(axis=(0, 2))
    noise = y.var(axis=2, ddof=1).mean()
    left = cells - u[:, None] - v + y.mean()
    mean_square = (left**2).sum() / (k - 1) / (n - 1)
    expected = {
        "options": u.var(ddof=1) - mean_square / n,
        "evaluators": v.var(ddof=1) - mean_square / k,
        "option × evaluator": mean_square - noise / m,
        "noise": noise,
    }
    table = pd.DataFrame(
        [(f"o{i}", f"J{j}", y[i, j, e]) for i, j, e in np.ndindex(k, n, m)],
        columns=["option", "evaluator", "score"],
    )
    assert components(table, repeats=True) == pytest.approx(expected, rel=1e-9)
    once = table.iloc[::m]
    assert {*components(once)} == {"options", "evaluators", "noise and option × evaluator"}


def drawn(rng: np.random.Generator, severity: float, again: bool, favour: float) -> pd.DataFrame:
    """2 to 5 of 20 judges score each of 40 options; a quarter of pairs are of one group."""
    u, v, uv = 2 * rng.normal(size=40), severity * rng.normal(size=20), rng.normal(size=(40, 20))
    rows = [
        (o, j, o % 4, j % 4, u[o] + v[j] + again * uv[o, j] + favour * (o % 4 == j % 4) + noise)
        for o in range(40)
        for j in rng.choice(20, rng.integers(2, 6), replace=False)
        for noise in 1.5 * rng.normal(size=1 + again * rng.integers(0, 3))
    ]
    columns = ["option", "evaluator", "option_group", "evaluator_group", "score"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys(columns[:4], str))


@pytest.mark.parametrize(("severity", "again"), [(1.0, False), (1.0, True), (0.0, False)])
def test_components_of_uneven_tables_with_favours_are_found_again(
    severity: float, again: bool
) -> None:
    rng, true = np.random.default_rng(5), [4.0, severity**2, 1.0, 2.25]
    found = [
        list(components(drawn(rng, severity, again, 3.0), repeats=again).values())
        for _ in range(40)
    ]
    true = true if again else [*true[:2], true[3]]
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    away = np.mean(found, axis=0) - true
    assert np.min(found) >= 0.0
    if severity == 0.0:  # half of the estimates would be below
        assert 0.0 < away[1] < 0.1
        away[1] = 0.0
    assert (np.abs(away) < 3.5 * error + 0.02).all()


def test_answers_on_items_stand_beside_options() -> None:
    rng, found = np.random.default_rng(3), []
    for _ in range(30):
        o, i, oi = rng.normal(size=12), 1.5 * rng.normal(size=20), 0.7 * rng.normal(size=(12, 20))
        judge = rng.normal(size=6)
        rows = [
            (f"o{a}", f"i{b}", f"J{c}", o[a] + i[b] + oi[a, b] + judge[c] + 0.5 * rng.normal())
            for a, b, c in np.ndindex(12, 20, 6)
            if rng.random() < 0.4
        ]
        table = pd.DataFrame(rows, columns=["option", "item", "evaluator", "score"])
        found.append(components(table))
    error = pd.DataFrame(found).std() / np.sqrt(30)
    away = pd.DataFrame(found).mean() - [1.0, 1.5**2 + 0.7**2, 1.0, 0.25]
    assert (away.abs() < 3.5 * error).all()


def by_definition(units: list[list[float]], apart: Callable[[float, float], float]) -> float:
    """Krippendorff's α from the differences of all pairs."""
    units = [unit for unit in units if len(unit) > 1]
    every = [value for unit in units for value in unit]
    n = len(every)
    seen = sum(
        apart(a, b) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2)
    )
    expected = sum(apart(a, b) for a, b in itertools.permutations(every, 2))
    return 1.0 - (n - 1) * seen / expected


def test_alpha_is_krippendorffs() -> None:
    cells = [row.split() for row in KRIPPENDORFF]
    units = [[float(x) for x in unit if x != "."] for unit in zip(*cells, strict=True)]
    every = sorted(value for unit in units if len(unit) > 1 for value in unit)

    def ordinal(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in every)
        return (between - 0.5 * (every.count(a) + every.count(b))) ** 2

    apart = {
        "interval": lambda a, b: (a - b) ** 2,
        "ordinal": ordinal,
        "nominal": lambda a, b: float(a != b),
    }
    given = [[float(value.replace(".", "nan")) for value in row] for row in cells]
    frame = eh.audit(scored(np.transpose(given))).agreement.alpha
    found = dict(zip(frame["scores as"], frame["alpha"], strict=True))
    assert found == pytest.approx({k: by_definition(units, f) for k, f in apart.items()}, rel=1e-9)
    assert found == pytest.approx({"interval": 0.849, "ordinal": 0.815, "nominal": 0.743}, abs=6e-4)
    assert (frame["low"] < frame["alpha"]).all()


def test_alpha_of_many_different_scores_and_its_interval() -> None:
    rng, held = np.random.default_rng(2), []
    for _ in range(100):
        worth = rng.normal(size=60)
        frame = eh.audit(scored(worth[:, None] + rng.normal(size=(60, 3)))).agreement.alpha
        assert frame["scores as"].tolist() == ["interval", "ordinal"]
        held.append(frame["low"][0] <= 0.5 <= frame["high"][0])
    assert np.mean(held) > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 100)


def test_a_judge_beside_a_trusted_person() -> None:
    """The 2 × 2 table of Cohen's κ, with the standard error of Fleiss, Cohen and Everitt."""
    times = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    pairs = [pair for pair, n in times.items() for _ in range(n)]
    rows = [
        (f"answer {i}", who, verdict)
        for i, pair in enumerate(pairs)
        for who, verdict in zip(("model", "Ann"), pair, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    audit = eh.audit(table, trusted="Ann", grades=["yes", "no"])
    (row,) = audit.agreement.beside_trusted.to_dict("records")
    assert [row["accuracy"], row["kappa"], row["weighted"]] == pytest.approx([0.7, 0.4, 0.4])
    assert row["difference"] == pytest.approx(-0.1)
    p = np.array([[0.4, 0.1], [0.2, 0.3]])
    a, b, seen, chance = p.sum(1), p.sum(0), 0.7, 0.5
    variance = sum(
        p[i, j] * ((i == j) * (1.0 - chance) - (b[i] + a[j]) * (1.0 - seen)) ** 2
        for i, j in np.ndindex(2, 2)
    )
    se = np.sqrt(variance - (seen * chance - 2 * chance + seen) ** 2) / (1 - chance) ** 2
    half = 1.959964 * se / np.sqrt(50)
    assert [row["low"], row["high"]] == pytest.approx([0.4 - half, 0.4 + half], rel=1e-6)
    confusion = audit.agreement.confusion
    found = dict(zip(zip(confusion["score"], confusion["trusted score"], strict=True),
                     confusion["scores"], strict=True))  # fmt: skip
    assert found == times
    assert audit.to_dict()["agreement"]["beside_trusted"] == [row]
    assert "model beside Ann, 50 scores: 70% are equal, κ 0.40." in " ".join(str(audit).split())
    with pytest.raises(eh.InputError, match="trusted"):
        eh.audit(table, trusted="Bo", grades=["yes", "no"])


def test_a_column_of_references_is_trusted() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(size=30)
    rows = [
        (f"o{i}", who, truth[i] + more + noise * rng.normal(), truth[i])
        for i in range(30)
        for who, more, noise in (("low", -1.0, 0.0), ("rough", 0.0, 1.0))
    ]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score", "truth"])
    frame = eh.audit(table, columns={"reference": "truth"}).agreement.beside_trusted.set_index(
        "evaluator"
    )
    assert frame["trusted"].tolist() == ["truth"] * 2
    assert frame.loc["low", "difference"] == pytest.approx(-1.0)
    concordance = 1.0 - 1.0 / (2.0 * truth.var() + 1.0)  # Lin, 1989
    assert frame.loc["low", "weighted"] == pytest.approx(concordance)
    assert frame["kappa"].isna().all()  # all scores differ


@pytest.mark.parametrize("options", ["xy", "xyz"])  # x stands in all pairs of two options
@pytest.mark.parametrize("best", ["high", "low"])
def test_verdicts_that_flip_with_the_order(options: str, best: str) -> None:
    """One judge keeps to the better one, one to the first place; a tie that becomes a win flips."""
    way = 1.0 if best == "high" else -1.0
    rows = []
    for a, b in itertools.permutations(options, 2):
        better = 1.0 if a < b else -1.0
        for i in range(4):
            tie = i == 0 and a < b
            rows += [
                (a, b, f"i{i}", "fair", way * better),
                (a, b, f"i{i}", "hasty", way),
                (a, b, f"i{i}", "half", 0.0 if tie else way * better),
            ]
    columns = ["option", "rival", "item", "evaluator", "score"]
    table = pd.DataFrame(rows, columns=columns)
    audit = eh.audit(table, best=best)
    frame = audit.agreement.position.set_index("evaluator")
    n = 4 * len(options) * (len(options) - 1) // 2
    assert frame["pairs"].tolist() == [n] * 3
    assert frame["flips"].to_dict() == {"fair": 0.0, "hasty": 1.0, "half": 0.25}
    assert frame["first"].to_dict() == {"fair": 0.0, "hasty": 1.0, "half": 0.0}
    assert frame["helps"].to_dict() == {"fair": 0.0, "hasty": 1.0, "half": -0.125}
    assert frame.loc["half", "low"] < -0.125 < frame.loc["half", "high"]
    assert len(audit.agreement.variance) == 0
    json.dumps(audit.to_dict(), allow_nan=False)


def test_one_evaluator_agrees_with_nobody() -> None:
    found = eh.audit(scored(np.arange(4)[:, None], ["J"]), trusted="J").agreement
    frames = (found.variance, found.reliability, found.alpha, found.beside_trusted, found.position)
    assert [len(frame) for frame in frames] == [0] * 5


def test_scores_without_noise_are_reliable() -> None:
    found = eh.audit(scored(np.arange(4)[:, None] + np.zeros(3))).agreement
    assert found.reliability["one review"].tolist() == [1.0, 1.0]
    assert found.alpha["alpha"].tolist() == [1.0, 1.0, 1.0]
