"""`evenhand simulate` as a user runs it: three sources of problems, numbers, files, refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import app
from evenhand.report.words import number
from evenhand.research.environments.problem_files import load_problem, save_problem

SKATING = Path(__file__).parents[2] / "examples" / "skating" / "skate_america.csv"
TABLE = {"options": str(SKATING), "group": "side", "label": "skater", "positive": "home"}
TABLE |= {"features": ["base_value", "ability"]}
WORTH = {"base_value": 0.9, "ability": 0.5, "(constant)": 10.0}
TRUTH = {**TABLE, "gamma": WORTH, "omega": 1.5, "noise_scale": 3.0}
RANDOM = ["--family", "random,k=8,d=2"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def answer(*arguments: str | Path) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(
        result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    return found


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(TRUTH))
    return path


def regret_of_uniform(problem: eh.BiasedLinearBandit, horizon: int) -> tuple[float, float]:
    """The regret of evaluating all options equally often, and how much rounding may change."""
    k = len(problem.actions)
    return horizon / k * float(problem.gaps.sum()), k * float(problem.gaps.max())


def test_gap_dependent_problems_are_counted_from_one() -> None:
    best = []
    for index in (1, 2, 3):
        found = answer(
            *("--family", f"gap-dependent,d=4,kappa=2,delta_min=.1,delta_neq=.2,index={index}"),
            *("--horizon", "100", "--replications", "2"),
        )
        best.append(found["problem"]["best"])
        assert found["problem"]["delta_min"] == pytest.approx(0.1)
        assert found["problem"]["delta_neq"] == pytest.approx(0.2)
        assert found["problem"]["kappa_star"] == pytest.approx(2.0)
    assert best == ["x1", "x2", "x3"]


def test_a_row_for_every_policy_and_horizon() -> None:
    found = answer(*RANDOM, "--horizon", "1e3", "--horizon", "4000", "--replications", "3")
    rows = [(row["policy"], row["horizon"]) for row in found["results"]]
    policies = ("priced-exploration", "fair-phased-elimination", "phased-elimination")
    assert rows == [(policy, T) for policy in policies for T in (1000, 4000)]


def test_policies_by_name() -> None:
    found = answer(
        *RANDOM, "--horizon", "1e3", "--horizon", "4000", "--replications", "3",
        "--policy", "uniform", "--policy", "ids-log",
    )  # fmt: skip
    rows = [(row["policy"], row["horizon"]) for row in found["results"]]
    assert rows == [(policy, T) for policy in ("uniform", "ids-log") for T in (1000, 4000)]
    problem = eh.families.random(8, 2, 0)
    for row in found["results"][:2]:
        regret, rounding = regret_of_uniform(problem, row["horizon"])
        assert row["mean_regret"] == pytest.approx(regret, abs=rounding)


def test_a_table_with_parameters_in_the_users_units(truth: Path) -> None:
    found = answer(
        "--problem", truth, "--horizon", "1e3", "--policy", "uniform",
        "--replications", "2",
    )  # fmt: skip
    with SKATING.open() as file:
        skaters = list(csv.DictReader(file))
    values = np.array([0.9 * float(s["base_value"]) + 0.5 * float(s["ability"]) for s in skaters])
    gaps = values.max() - values
    home = np.array([s["side"] == "home" for s in skaters])
    best = int(values.argmax())
    assert found["problem"]["best"] == skaters[best]["skater"]
    assert found["problem"]["delta_neq"] == pytest.approx(gaps[home != home[best]].min())
    assert found["value_bound"] == pytest.approx(gaps.max() / 2)
    assert found["results"][0]["mean_regret"] == pytest.approx(
        1000 * gaps.mean(), abs=len(gaps) * gaps.max()
    )


@pytest.mark.parametrize("bound", [[], ["--value-bound", "40"]])
def test_the_oracle_is_told_the_bias(truth: Path, bound: list[str]) -> None:
    found = answer(
        "--problem", truth, "--horizon", "300", "--replications", "2", *bound,
        "--policy", "oracle",
    )  # fmt: skip
    assert found["value_bound"] > 1.0
    assert found["results"][0]["bias_covered"] == found["results"][0]["bias_level"] == 1.0


def test_values_that_policies_do_not_expect_are_named(truth: Path) -> None:
    """Points count from 0 and lie far from it; ridge regression expects them within ±B."""
    runs = ("--problem", truth, "--horizon", "300", "--replications", "2")
    words = " ".join(run(*runs).stdout.split())
    assert "Values lie outside of ±" in words
    wide = " ".join(run(*runs, "--value-bound", "200").stdout.split())
    assert "Values lie outside of ±" not in wide


def test_help_names_the_policies() -> None:
    words = " ".join(run("--help").stdout.replace("│", " ").split())
    for name in eh.registered_policies():
        assert name in words


def test_gamma_as_a_list_is_over_the_encoded_features(truth: Path, tmp_path: Path) -> None:
    by_name = answer("--problem", truth, "--horizon", "500", "--replications", "2")
    actions = eh.ActionSet.from_table(SKATING, group="side", features=["base_value", "ability"])
    assert actions.encoding is not None
    columns = actions.encoding.features[1:]
    worth = [WORTH[column.source] for column in columns]
    constant = 10.0 + sum(w * column.mean for w, column in zip(worth, columns, strict=True))
    listed = [constant, *(w * column.scale for w, column in zip(worth, columns, strict=True))]
    other = tmp_path / "listed.json"
    other.write_text(json.dumps(TRUTH | {"gamma": listed}))
    by_place = answer("--problem", other, "--horizon", "500", "--replications", "2")
    for one, two in zip(by_name["results"], by_place["results"], strict=True):
        assert one["mean_regret"] == pytest.approx(two["mean_regret"], rel=1e-9)


@pytest.mark.parametrize("source", ["family", "table"])
def test_a_saved_problem_is_the_same_problem(source: str, truth: Path, tmp_path: Path) -> None:
    saved = tmp_path / "problem.json"
    arguments = RANDOM if source == "family" else ["--problem", truth]
    runs = ("--horizon", "5000", "--replications", "4", "--seed", "3")
    problem = eh.families.random(8, 2, 3) if source == "family" else load_problem(truth)
    save_problem(problem, saved)
    assert answer("--problem", saved, *runs) == answer(*arguments, *runs)
    again = tmp_path / "again.json"
    save_problem(load_problem(saved), again)
    assert again.read_text() == saved.read_text()


def test_the_seed_changes_the_noise_and_problem_seed_keeps_the_problem() -> None:
    runs = ("--horizon", "1e4", "--replications", "2", "--policy", "fair-phased-elimination")
    one = ("--family", "random,k=8,d=2,seed=5")
    seeds = [answer(*one, *runs, "--seed", s) for s in "12"]
    assert seeds[0]["problem"] == seeds[1]["problem"]
    assert answer(*RANDOM, *runs, "--seed", "1")["problem"] != seeds[0]["problem"]


def test_in_words(tmp_path: Path) -> None:
    picture = tmp_path / "regret.png"
    result = run(*RANDOM, "--horizon", "1e4", "--replications", "4", "--figure", picture)
    assert result.exit_code == 0, result.output
    problem = eh.families.random(8, 2, 0)
    words = " ".join(result.stdout.split())
    assert f"The best is {problem.actions.labels[problem.best]};" in words
    wrong = problem.actions.labels[int(problem.evaluations.argmax())]
    assert f"evaluations put {wrong} first, by 0.5" in words
    for said in ("priced-exploration", "fair-phased-elimination", "10,000", "4 runs", "seed 0"):
        assert said in words
    assert "…" not in result.stdout, "the table does not fit into 80 columns"
    assert picture.read_bytes().startswith(b"\x89PNG")


REFUSED = {
    "no problem": ([], "--family NAME,KEY=X,… or --problem"),
    "two problems": ([*RANDOM, "--problem", "p.json"], "in one way"),
    "no such family": (["--family", "worst"], "worst-case, gap-dependent, random"),
    "a missing number": (["--family", "worst-case,d=2"], "needs kappa"),
    "a number of another family": (["--family", "random,k=8,d=2,kappa=2"], "has no 'kappa'"),
    "half a feature": (["--family", "random,k=8,d=2.5"], "d must be a whole number; got '2.5'"),
    "no gap": (["--family", "worst-case,d=2,kappa=much"], "kappa must be a number; got 'much'"),
    "a problem beyond the last": (["--family", "worst-case,d=2,kappa=1,index=3"], "from 1 to 2"),
    "half an evaluation": ([*RANDOM, "--horizon", "10.5"], "whole number"),
    "no number": ([*RANDOM, "--horizon", "many"], "'many'"),
    "no evaluation": ([*RANDOM, "--horizon", "0"], "horizon"),
    "no such policy": ([*RANDOM, "--policy", "unifrom"], "Did you mean 'uniform'?"),
    "no such format": ([*RANDOM, "--figure", "regret.gif"], ".png, .svg, .pdf"),
    "no folder for the picture": ([*RANDOM, "--figure", "no/r.png"], "there is no folder 'no'"),
    "no such file": (["--problem", "nowhere.json"], "cannot be read"),
    "a bound below zero": ([*RANDOM, "--value-bound", "-1"], "value_bound"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, words = REFUSED[case]
    result = run(*arguments, "--store", "saved")
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [], "something was written"


WRONG_PARAMETERS = {
    "not JSON": ("{", "is not JSON"),
    "not an object": ("[1]", "JSON object"),
    "no omega": (json.dumps(TABLE | {"gamma": WORTH}), "no 'omega'"),
    "no group": (json.dumps({"options": str(SKATING), "gamma": WORTH, "omega": 1}), "no 'group'"),
    "no table": (json.dumps(TRUTH | {"options": "no.csv"}), "no.csv"),
    "no column": (json.dumps(TRUTH | {"group": "party"}), "no column 'party'"),
    "an unknown word": (json.dumps(TRUTH | {"sigma": 2}), "'sigma' means nothing"),
    "a missing feature": (json.dumps(TRUTH | {"gamma": {"ability": 1}}), "no 'base_value'"),
    "an unknown feature": (json.dumps(TRUTH | {"gamma": WORTH | {"age": 1}}), "names 'age'"),
    "text for a number": (json.dumps(TRUTH | {"gamma": WORTH | {"ability": "1"}}), "'ability'"),
    "too short a list": (json.dumps(TRUTH | {"gamma": [1.0]}), "gamma"),
    "no noise": (json.dumps(TRUTH | {"noise_scale": 0}), "noise_scale"),
}


@pytest.mark.parametrize("case", WRONG_PARAMETERS)
def test_wrong_parameters_are_named_with_their_file(case: str, tmp_path: Path) -> None:
    content, words = WRONG_PARAMETERS[case]
    path = tmp_path / "wrong.json"
    path.write_text(content)
    result = run("--problem", path)
    assert result.exit_code == 2, result.output
    assert "wrong.json" in result.stderr
    assert words in " ".join(result.stderr.split())


def test_a_file_that_is_no_problem_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    path.write_text(json.dumps({"gamma": WORTH, "omega": 1.5}))
    result = run("--problem", path)
    assert result.exit_code == 2
    assert "is not a problem file" in " ".join(result.stderr.split())


def test_every_attribute_has_its_price(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    problem = eh.families.random_groups(12, 2, 1, n_groups=3)
    save_problem(problem, path)
    runs = ("--problem", path, "--horizon", "50", "--replications", "2", "--policy", "uniform")
    prices = answer(*runs)["problem"]["kappa_star"]
    expected = [eh.bias_geometry(problem.actions, z).kappa_star for z in ("z1", "z2", "z3")]
    assert prices == pytest.approx(expected, rel=1e-9)
    assert ", ".join(number(price) for price in expected) in " ".join(run(*runs).stdout.split())
