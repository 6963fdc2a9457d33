"""`evenhand simulate` as a user runs it: families, numbers, files, refusals."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import evenhand as eh
import shell

run = partial(shell.run, "simulate")
answer = partial(shell.answer, "simulate")

RANDOM = ["--family", "random,k=8,d=2"]


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
    usual = ("priced-exploration", "fair-phased-elimination", "phased-elimination")
    for names in (usual, ("uniform", "ids-log")):
        said = () if names == usual else ("--policies", ",".join(names))
        runs = ("--horizon", "1e3", "--horizon", "4000", "--replications", "3")
        found = answer(*RANDOM, *runs, *said)
        rows = [(row["policy"], row["horizon"]) for row in found["results"]]
        assert rows == [(policy, T) for policy in names for T in (1000, 4000)]
    problem = eh.families.random(8, 2, 0)
    for row in found["results"][:2]:
        regret, rounding = regret_of_uniform(problem, row["horizon"])
        assert row["mean_regret"] == pytest.approx(regret, abs=rounding)


def test_help_names_the_policies() -> None:
    words = " ".join(run("--help").stdout.replace("│", " ").split())
    for name in eh.registered_policies():
        assert name in words


def test_the_seed_changes_the_noise_and_problem_seed_keeps_the_problem() -> None:
    runs = ("--horizon", "1e4", "--replications", "2", "--policies", "fair-phased-elimination")
    one = ("--family", "random,k=8,d=2,seed=5")
    seeds = [answer(*one, *runs, "--seed", s) for s in "12"]
    assert seeds[0]["problem"] == seeds[1]["problem"]
    assert answer(*RANDOM, *runs, "--seed", "1")["problem"] != seeds[0]["problem"]


def test_in_words(tmp_path: Path) -> None:
    picture = tmp_path / "regret.png"
    result = run(*RANDOM, "--horizon", "1e4", "--replications", "4", "--report", picture)
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
    "no family": ([], "--family"),
    "no such family": (["--family", "worst"], "worst-case, gap-dependent, random"),
    "a missing number": (["--family", "worst-case,d=2"], "needs kappa"),
    "a number of another family": (["--family", "random,k=8,d=2,kappa=2"], "has no 'kappa'"),
    "half a feature": (["--family", "random,k=8,d=2.5"], "d must be a whole number; got '2.5'"),
    "no gap": (["--family", "worst-case,d=2,kappa=much"], "kappa must be a number; got 'much'"),
    "a problem beyond the last": (["--family", "worst-case,d=2,kappa=1,index=3"], "from 1 to 2"),
    "half an evaluation": ([*RANDOM, "--horizon", "10.5"], "whole number"),
    "no such policy": ([*RANDOM, "--policies", "unifrom"], "Did you mean 'uniform'?"),
    "no such format": ([*RANDOM, "--report", "regret.gif"], ".png, .svg, .pdf"),
    "no folder for the picture": ([*RANDOM, "--report", "no/r.png"], "there is no folder 'no'"),
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
