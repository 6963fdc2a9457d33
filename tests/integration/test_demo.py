"""`evenhand demo`, checked against the data it is about."""

from __future__ import annotations

import csv
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

import evenhand as eh
import shell
from evenhand.cases.skating import scores
from evenhand.research.environments.skating import skate_canada

DATA = files("evenhand") / "data"
COLUMNS: dict[str, Any] = {"option": "skater", "evaluator": "judge"}
COLUMNS |= {"option_group": "nation", "evaluator_group": "judge_nation"}


def run(*arguments: str | Path) -> Result:
    result = shell.run("demo", *arguments)
    assert result.exit_code == 0, result.output
    return result


def event(competition: str, program: str) -> pd.DataFrame:
    table = pd.read_csv(str(DATA / "skating_judges.csv.gz"))
    return table[(table["competition"] == competition) & (table["program"] == program)]


def two_way(rows: pd.DataFrame) -> tuple[float, pd.Series]:
    """Return the bias, and what couples are worth, by dense least squares with dummies."""
    couples, judges = (pd.get_dummies(rows[name], dtype=float) for name in ("skater", "judge"))
    own = (rows["nation"] == rows["judge_nation"]).to_numpy(dtype=float)
    X = np.column_stack([couples, judges.iloc[:, 1:], own])
    found = np.linalg.lstsq(X, rows["score"].to_numpy(), rcond=None)[0]
    return float(found[-1]), pd.Series(found[: couples.shape[1]], index=couples.columns)


def test_the_decisions_agree_with_the_data() -> None:
    printed, found = run().stdout, {}
    for part, competition in (
        ("settled", "ISU GP Rostelecom Cup 2016"),
        ("close", "ISU GP 2016 Skate Canada International"),
    ):
        rows = event(competition, "ICE DANCE FREE DANCE")
        answer = eh.decide(scores=rows, columns=COLUMNS)
        assert str(answer) in printed
        told = found[part] = answer.to_dict()
        bias, worth = two_way(rows)
        own = told["biases"][0]
        audited = eh.audit(rows, columns=COLUMNS).bias
        assert (own["estimate"], own["low"]) == pytest.approx((audited.value, audited.low))
        assert abs(own["estimate"] - bias) < 0.1 * (own["high"] - own["low"])  # but for the scale
        first, second = worth.sort_values().iloc[[-1, -2]]
        assert told["option"] == worth.idxmax()
        leads = sorted(one["lead"] for one in told["ranking"])
        assert leads[1] == pytest.approx(first - second)
    assert found["settled"]["sure"]
    assert found["settled"]["biases"][0]["low"] > 0.0
    assert not found["close"]["sure"]
    season = pd.read_csv(str(DATA / "skating_judges.csv.gz"))
    audit = eh.audit(season, columns={**COLUMNS, "event": ["competition", "program"]})
    assert str(audit) in printed
    assert audit.bias.low < 3.4 < audit.bias.high  # as published for the season


def test_it_prints_what_the_functions_print(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    result = run("--out", folder)
    for said in (
        "Choose S070: it is the best of 10 options",
        "S255 looks best of 10 options, but",
        "BuzzFeed News (2016–17 season), CC BY 4.0",
    ):
        assert said in " ".join(result.stdout.split())
    for name in ("panel.png", "tie.png", "season.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_the_season_is_a_table() -> None:
    table = pd.read_csv(str(DATA / "skating_judges.csv.gz"))
    pd.testing.assert_frame_equal(scores(), table)


def couples() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((DATA / "skate_canada.csv").read_text("utf-8"))))


def fitted_values() -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the fitted model says of each couple, column by column, without evenhand."""
    model = json.loads((DATA / "skating_model.json").read_text("utf-8"))
    rows = couples()
    known = {"1": 1.0, "free": 1.0, "dance": 1.0, "pairs": 0.0, "ladies": 0.0}
    known |= {"n_flagged": 0.0, "deductions": 0.0}
    known["start"] = float(np.mean([float(row["start"]) for row in rows]))
    values = []
    for row in rows:
        features = known | {
            name: float(row[name]) for name in ("base_value", "max_base", "ability")
        }
        terms = zip(model["features"], model["mean"], model["sd"], model["gamma"], strict=True)
        values.append(sum(g * (features[name] - mean) / sd for name, mean, sd, g in terms))
    return np.array(values)


def test_the_problem_is_the_fitted_model() -> None:
    event, rows = skate_canada(), couples()
    np.testing.assert_allclose(event.problem.values, fitted_values(), rtol=1e-12)
    model = json.loads((DATA / "skating_model.json").read_text("utf-8"))
    bias = np.where([row["side"] == "home" for row in rows], 1, -1) * model["omega"]
    np.testing.assert_allclose(event.problem.evaluations, fitted_values() + bias, rtol=1e-12)
    assert event.problem.noise_scale == model["noise_scale"]
    assert np.ptp(event.problem.values) <= 2 * event.value_bound


def test_the_data_carries_its_attribution() -> None:
    source = (DATA / "SOURCE.md").read_text("utf-8")
    assert "BuzzFeed News, figure-skating judging data (2016–17 season), CC BY 4.0" in source
    assert "aggregated per judge and performance" in source
