"""`evenhand compare` as a user runs it: tables, files, refusals."""

from __future__ import annotations

import csv
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

import shell

run = partial(shell.run, "compare", env={"COLUMNS": "100"})
answer = partial(shell.answer, "compare")

SMALL = ("--policies", "uniform,fair-phased-elimination", "--horizon", "1e3", "--replications", "3")
SMALL += ("--workers", "1")


def test_a_row_for_every_suite_horizon_and_policy() -> None:
    found = answer(*SMALL, "--suite", "gaps,attributes", "--horizon", "2e3")
    rows = {(row["suite"], row["horizon"], row["policy"]) for row in found["suites"]}
    policies = ("uniform", "fair-phased-elimination")
    suites = ("gaps", "attributes")
    assert rows == {(s, T, p) for s in suites for T in (1000, 2000) for p in policies}
    for row in found["instances"]:
        refused = row["suite"] == "attributes" and row["policy"] == "fair-phased-elimination"
        assert (row["mean"] is None) == (row["refusal"] is not None) == refused
    # Two policies are each other's rivals
    for T in (1000, 2000):
        one, two = (r for r in found["suites"] if (r["suite"], r["horizon"]) == ("gaps", T))
        assert one["over_rival"] * two["over_rival"] == pytest.approx(1.0)


def test_the_table_fits_a_hundred_columns() -> None:
    result = run(*SMALL, "--replications", "2")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert "…" not in result.stdout
    words = " ".join(result.stdout.split())
    assert "[1] does not take part: Fair Phased Elimination needs two groups" in words
    assert "fair-phased-elimination [1]" in words
    for suite in ("Worst case", "20 features", "Gap-dependent", "Random", "Four groups", "skating"):
        assert suite in words


def test_files(tmp_path: Path) -> None:
    table, picture = tmp_path / "compare.csv", tmp_path / "compare.png"
    arguments = (*SMALL, "--suite", "skating,random", "--store", tmp_path / "runs")
    found = answer(*arguments, "--report", table, "--report", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in found["instances"]]
    again = tmp_path / "again.png"
    said = run(*arguments, "--report", again)
    assert f"The picture is in {again}." in said.stdout
    assert again.read_bytes() == picture.read_bytes()


def test_a_store_and_other_workers_give_the_same_numbers(tmp_path: Path) -> None:
    arguments = ("--policies", "uniform,fair-phased-elimination", "--horizon", "1e3")
    arguments += ("--suite", "skating", "--replications", "4")
    first = answer(*arguments, "--workers", "2", "--store", tmp_path / "a" / "runs")
    assert answer(*arguments, "--workers", "1") == first
    assert answer(*arguments, "--store", tmp_path / "a" / "runs") == first
    more = answer(*arguments[:-1], "6", "--store", tmp_path / "a" / "runs")
    assert {row["n"] for row in more["instances"]} == {6}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--suite", "gap"), "no suite 'gap'; there are worst-case, dimension, gaps"),
        (("--policies", "unifrom"), "Did you mean 'uniform'?"),
        (("--policies", ","), "no policies to play"),
        (("--suite", ","), "no suites to play"),
        (("--horizon", "many"), "not a number"),
        (("--horizon", "0"), "horizon must be at least 1"),
        (("--report", "picture.gif"), "must end in .html, .png, .svg, .pdf"),
        (("--report", "nowhere/at/all.png"), "there is no folder"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    arguments: tuple[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = import_module("evenhand.cli.research.compare")
    monkeypatch.setattr(command, "measure", lambda *_, **__: pytest.fail("worked"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


SURE = ("--suite", "certain-skating", "--replications", "2", "--workers", "1")
SURE += ("--policies", "lingape,lingape-usual,priced-sure,uniform")


def test_evaluations_until_policies_are_sure(tmp_path: Path) -> None:
    picture = tmp_path / "certain.png"
    found = answer(*SURE, "--report", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {row["suite"] for row in found["suites"]} == {"certain-skating"}
    for row in found["instances"]:
        assert row["limit_name"] == "T* · kl(δ, 1 − δ)"
        if row["policy"] == "uniform":
            assert "never stops by itself" in row["refusal"]
            continue
        assert row["over_limit"] == pytest.approx(row["mean"] / row["limit"])
        assert row["rival"] in ("lingape", "priced-sure")
        if row["policy"] == "lingape":
            assert (row["certified"], row["wrong"]) == (1.0, 0.0)
        elif row["policy"] == "lingape-usual":
            assert row["certified"] == 0.0
