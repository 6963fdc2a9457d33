"""Simulations from end to end: what they measure, and that a kill loses and doubles nothing."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evenhand as eh
from asking import assert_same
from evenhand.policies import Play
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.limits import gap_dependent_upper, worst_case_upper
from evenhand.research.rivals.uniform import Uniform
from evenhand.research.simulation import Results, simulate
from evenhand.research.simulation.results import OUTCOMES

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1]], [1, -1, -1])
# values .5, .75, −.025: gaps .25, 0, .775
PROBLEM = BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.75], omega=0.25)
BOTH = ["fair-phased-elimination", "uniform"]


class Blocks(eh.Policy):
    """Plays blocks that are fixed in advance."""

    name = "blocks"
    blocks: ClassVar[tuple[tuple[int, int, int], ...]] = ((2, 2, 0), (0, 10, 0), (0, 0, 6))

    def play(self) -> Play:
        for block in self.blocks:
            yield np.array(block)

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, self.seed % 2)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(0.2, 0.1, 0.3 if self.seed % 2 else 0.21, 0.5)


class Satisfied(Blocks):
    """Evaluates the first option so often, and the last where its seed is odd; then it stops."""

    name = "satisfied"
    spends_all = False

    def __init__(self, *given: Any, first: int = 10, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.first = first

    def play(self) -> Play:
        for option in (0, 2)[: (1 + self.seed % 2) if self.first else 0]:
            if self.remaining:
                yield {option: min(self.first, self.remaining)}


class Trapped(Uniform):
    """Breaks down on the seeds in `traps`."""

    traps: ClassVar[set[int]] = set()
    made: ClassVar[list[int]] = []

    def recommend(self) -> eh.Decision:
        if self.seed in self.traps:
            raise RuntimeError("trapped")
        self.made.append(self.seed)
        return super().recommend()


@pytest.fixture(autouse=True)
def no_traps() -> Iterator[None]:
    Trapped.traps.clear()
    Trapped.made.clear()
    yield
    Trapped.traps.clear()


def repickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_regret_is_the_value_lost_spread_evenly_over_an_allocation() -> None:
    results = simulate(PROBLEM, [("blocks", Blocks)], 20, 3, checkpoints=[1, 3, 4, 9, 14, 17])
    (runs,) = results.runs
    assert runs.checkpoint.tolist() == [1, 3, 4, 9, 14, 17, 20]
    step = 2 * 0.25 / 4
    expected = [step, 3 * step, 0.5, 0.5, 0.5, 0.5 + 3 * 0.775, 0.5 + 6 * 0.775]
    for curve in runs.regret:
        np.testing.assert_allclose(curve, expected, rtol=1e-14)


def test_recommendations_and_intervals_are_judged_by_the_truth() -> None:
    outcomes = simulate(PROBLEM, [("blocks", Blocks)], 20, 15).outcomes()
    assert set(outcomes["option"]) == {0, 1}
    assert (outcomes["correct"] == (outcomes["option"] == 1)).all()
    # the true bias, .25, lies in [.1, .3] and not in [.1, .21]
    assert (outcomes["covered"] == (outcomes["bias_high"] == 0.3)).all()
    np.testing.assert_allclose(outcomes["regret"], 0.5 + 6 * 0.775, rtol=1e-14)
    assert list(outcomes.columns[:4]) == ["policy", "horizon", "replication", "regret"]


def test_tables_agree_with_one_another() -> None:
    results = simulate(PROBLEM, BOTH, [500, 4000], 40, seed=3)
    summary, frame = results.summary(), results.to_frame()
    assert list(summary.columns) == [
        *("policy", "horizon", "mean_regret", "se_regret", "median", "q90", "max", "wrong", "n")
    ]
    assert list(zip(summary["policy"], summary["horizon"], strict=True)) == [
        (name, T) for name in BOTH for T in (500, 4000)
    ]
    assert list(frame.columns) == ["policy", "horizon", "replication", "checkpoint", "regret"]
    last = frame[frame["checkpoint"] == frame["horizon"]]
    ends = last.groupby(["policy", "horizon"], sort=False)["regret"]
    np.testing.assert_allclose(summary["mean_regret"], ends.mean())
    np.testing.assert_allclose(summary["se_regret"], ends.sem())
    np.testing.assert_allclose(summary["median"], ends.median())
    np.testing.assert_allclose(summary["q90"], ends.quantile(0.9))
    np.testing.assert_allclose(summary["max"], ends.max())
    right = results.outcomes().groupby(["policy", "horizon"], sort=False)["correct"].mean()
    np.testing.assert_allclose(summary["wrong"], 1 - right, atol=1e-12)
    assert summary["n"].tolist() == [40] * 4


def test_one_run_has_no_standard_error() -> None:
    results = simulate(PROBLEM, "uniform", 50, 1)
    assert np.isnan(results.summary()["se_regret"]).all()


@pytest.mark.parametrize("through", [lambda r: r, copy.deepcopy, copy.copy, repickled])
def test_runs_cannot_be_changed(through: Any) -> None:
    results = through(simulate(PROBLEM, "uniform", 50, 2))
    (runs,) = results.runs
    for name in ("checkpoint", "regret", *OUTCOMES):
        with pytest.raises(ValueError, match="read-only"):
            getattr(runs, name)[...] = 0
    for array in (results.problem.gamma, results.problem.gaps, results.problem.best_all):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_uniform_loses_what_arithmetic_says() -> None:
    results = simulate(PROBLEM, "uniform", 3 * 10**5, 4)
    np.testing.assert_allclose(results.runs[0].final_regret, 10**5 * (0.25 + 0.775))


def test_a_run_without_an_estimate_does_not_count_as_covered() -> None:
    # one evaluation tells nothing about the bias
    (runs,) = simulate(PROBLEM, "uniform", 1, 5).runs
    assert np.isnan(runs.coverage).all()


@pytest.mark.parametrize("T", [1, 2, 9, 10**12])
def test_any_horizon_is_an_ordinary_run(T: int) -> None:
    results = simulate(PROBLEM, BOTH, T, 6)
    for runs in results.runs:
        assert runs.checkpoint[-1] == T
        assert (np.diff(runs.regret, axis=1) >= 0).all()
        assert (runs.final_regret <= 0.775 * T * (1 + 1e-12)).all()
    if T == 10**12:
        # the paper's policy has found the best option long before; uniform never stops paying
        paper, uniform = results.summary()["mean_regret"]
        assert paper < 1e-3 * uniform
        assert results.runs[0].correct.all()


def test_after_a_stop_nothing_is_lost() -> None:
    results = simulate(PROBLEM, {"mine": Satisfied}, 1000, 12, checkpoints=[5, 10, 15, 20, 999])
    late = results.runs[0].option == 1  # those of odd seeds
    assert set(late) == {True, False}
    for run, regret in zip(late, results.runs[0].regret, strict=True):
        more = [0.5, 1.0, 1.0, 1.0] if run else [0.0, 0.0, 0.0, 0.0]
        expected = np.array([1.25, 2.5, *(2.5 + 7.75 * np.array(more))])
        np.testing.assert_allclose(regret, expected, rtol=1e-14)


@pytest.mark.parametrize("first", [0, 10, 10**11])
def test_what_was_spent_is_told_and_kept(first: int, tmp_path: Path) -> None:
    """Also where it is nothing, or more than 32 bits count."""
    policies = {"mine": partial(Satisfied, first=first), "uniform": "uniform"}
    results = simulate(PROBLEM, policies, [12, 10**12], 12, store=tmp_path)
    assert_same(simulate(PROBLEM, policies, [12, 10**12], 12, store=tmp_path), results)
    outcomes = results.outcomes()
    assert list(outcomes.columns[:5]) == ["policy", "horizon", "replication", "regret", "spent"]
    assert outcomes["spent"].dtype == np.int64
    most = np.minimum(first * np.where(outcomes["option"] == 1, 2, 1), outcomes["horizon"])
    mine = outcomes["policy"] == "mine"
    assert outcomes["spent"].tolist() == np.where(mine, most, outcomes["horizon"]).tolist()
    assert first or not outcomes["regret"][mine].any()


def test_the_same_policy_by_two_names_sees_the_same_noise() -> None:
    twins = ["fair-phased-elimination", ("two", eh.FairPhasedElimination), Uniform]
    one, two, three = simulate(PROBLEM, twins, 10**5, 30).runs
    assert three.policy == "uniform"
    np.testing.assert_array_equal(one.regret, two.regret)
    np.testing.assert_array_equal(one.bias, two.bias)


def test_replications_differ_and_do_not_depend_on_how_many_there_are() -> None:
    many = simulate(PROBLEM, "uniform", 100, 30, seed=1).runs[0]
    few = simulate(PROBLEM, BOTH, [100, 50], 7, seed=1).runs[2]
    assert (few.policy, few.horizon) == ("uniform", 100)
    np.testing.assert_array_equal(many.bias[:7], few.bias)
    assert len(np.unique(many.bias)) == 30
    other = simulate(PROBLEM, "uniform", 100, 30, seed=2).runs[0]
    assert not np.isin(other.bias, many.bias).any()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"replications": 0}, "replications must be a whole number from 1 to .*; got 0"),
        ({"replications": 2.5}, "replications must be a whole number"),
        ({"horizon": 0}, "horizon must be a whole number from 1 to .*; got 0"),
        ({"horizon": [10, -1]}, "horizon must be a whole number from 1 to .*; got -1"),
        ({"horizon": float("inf")}, "horizon must be a whole number"),
        ({"horizon": 2**63}, "from 1 to 4,611,686,018,427,387,904"),
        ({"horizon": [10, 20, 10]}, "horizon 10 is given 2 times"),
        ({"horizon": []}, "no horizon"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"checkpoints": [0]}, "checkpoints must be a whole number from 1"),
        ({"piece_size": 0}, "piece_size must be a whole number from 1"),
        ({"policies": []}, "no policies"),
        ({"policies": ["uniforn"]}, "Did you mean 'uniform'"),
        ({"policies": {"mine": "uniforn"}}, "Did you mean 'uniform'"),
        ({"policies": ["uniform", "uniform"]}, "two policies are called 'uniform'"),
        ({"policies": [("a", "uniform"), ("a", Uniform)]}, "two policies are called 'a'"),
        ({"policies": [3]}, "a registered name, a class or a pair"),
        ({"policies": {"a": 3}}, "'a' must be made by"),
        ({"policies": {"a": lambda actions, horizon, seed: 3}}, "must return a Policy"),
        ({"store": __file__}, "cannot be made"),
        ({"store": ""}, "cannot be made"),
    ],
)
def test_bad_input_is_refused_in_words(changed: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"policies": BOTH, "horizon": 10, "replications": 2} | changed
    with pytest.raises(eh.InputError, match=words):
        simulate(PROBLEM, **given)


def test_numbers_may_be_floats_that_are_whole() -> None:
    assert simulate(PROBLEM, "uniform", 1e3, np.int64(2)).summary()["horizon"].tolist() == [1000]


def test_a_policy_that_stops_early_is_an_error() -> None:
    with pytest.raises(eh.EvenhandError, match="stopped after 20 of 21 evaluations"):
        simulate(PROBLEM, [("blocks", Blocks)], 21, 1)


def test_an_error_of_a_policy_says_where_it_happened() -> None:
    Trapped.traps.update(seeds_of(4)[2:3])
    with pytest.raises(RuntimeError, match="trapped") as caught:
        simulate(PROBLEM, {"mine": Trapped}, 10, 4)
    assert caught.value.__notes__ == [
        "in replication 2 of policy 'mine' over 10 evaluations, seed 0"
    ]


def seeds_of(n: int) -> list[int]:
    """The seeds that the policies of the first n replications get."""
    traps, made = set(Trapped.traps), len(Trapped.made)
    Trapped.traps.clear()
    simulate(PROBLEM, {"mine": Trapped}, 10, n)
    seeds = Trapped.made[made:]
    del Trapped.made[made:]
    Trapped.traps.update(traps)
    return seeds


def stored(path: Path, **changed: Any) -> Results:
    given: dict[str, Any] = {"policies": "uniform", "horizon": 3, "replications": 2} | changed
    return simulate(given.pop("problem", PROBLEM), store=path, checkpoints=(), **given)


def test_files_read_as_tables_everywhere(tmp_path: Path) -> None:
    results = simulate(PROBLEM, BOTH, [100, 2000], 5, store=tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    order = ["policy", "horizon", "replication"]
    outcomes = results.outcomes().sort_values(order, ignore_index=True)
    frame = pd.concat(map(pd.read_parquet, tmp_path.iterdir()))
    frame = frame.sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(frame[outcomes.columns], outcomes, check_dtype=False)
    long = frame.explode(["checkpoints", "regrets"])
    whole = results.to_frame().sort_values([*order, "checkpoint"])
    assert long["regrets"].tolist() == whole["regret"].tolist()
    assert long["checkpoints"].tolist() == whole["checkpoint"].tolist()


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    first = simulate(PROBLEM, {"mine": Trapped}, 100, 10, store=tmp_path)
    Trapped.made.clear()
    (path,) = tmp_path.iterdir()
    stamp = path.stat().st_mtime_ns
    assert_same(simulate(PROBLEM, {"mine": Trapped}, 100, 10, store=tmp_path), first)
    assert Trapped.made == []
    assert path.stat().st_mtime_ns == stamp
    # more replications, another horizon and policy: only what is missing is run
    policies = {"mine": Trapped, "uniform": "uniform"}
    with ThreadPoolExecutor(1) as here:
        more = simulate(PROBLEM, policies, [50, 100], 13, executor=here, store=tmp_path)
    assert len(Trapped.made) == 13 + 3
    assert_same(more, simulate(PROBLEM, policies, [50, 100], 13))
    # fewer: the file keeps what it has
    assert_same(simulate(PROBLEM, {"mine": Trapped}, 100, 10, store=tmp_path), first)
    assert [pq.read_metadata(path).num_rows for path in tmp_path.iterdir()] == [13] * 4


def test_runs_of_something_else_are_not_mixed_in(tmp_path: Path) -> None:
    louder = BiasedLinearBandit(ACTIONS, [0.5, 0.75], 0.25, noise_scale=1.5)
    fairer = BiasedLinearBandit(ACTIONS, [0.5, 0.75], 0.0)
    for n, changed in enumerate(
        (
            {"policies": {"mine": Uniform}},
            {"policies": {"mine": partial(Uniform, delta=0.5)}},
            {"policies": {"mine": partial(Uniform, delta=np.float64(0.25))}},
            {"problem": louder},
            {"problem": fairer},
            {"seed": 4},
            {"horizon": 4},
        ),
        start=1,
    ):
        for _ in range(2):
            assert_same(
                stored(tmp_path, **changed),
                simulate(
                    **{"problem": PROBLEM, "policies": "uniform", "horizon": 3, "replications": 2}
                    | changed,  # type: ignore[arg-type]
                    checkpoints=(),
                ),
            )
            assert len(list(tmp_path.iterdir())) == n
    own = [("mine", lambda a, T, seed: Uniform(a, T, seed=seed))]
    with pytest.raises(eh.InputError, match="'mine' cannot be recognised again"):
        stored(tmp_path, policies=own)


def test_a_policy_whose_file_has_changed_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # two versions within a second
    for n, option in enumerate((0, 2), start=1):
        (tmp_path / "my_policy.py").write_text(
            "import evenhand as eh\n"
            "from evenhand.research.rivals.uniform import Uniform\n"
            "class Mine(Uniform):\n"
            "    def recommend(self):\n"
            f"        return eh.Decision.of(self, {option})\n"
        )
        sys.modules.pop("my_policy", None)
        importlib.invalidate_caches()
        source = importlib.import_module("my_policy").Mine
        results = stored(tmp_path / "runs", policies={"mine": source})
        assert set(results.runs[0].option) == {option}
        assert len(list((tmp_path / "runs").iterdir())) == n


def test_a_damaged_file_stops_before_anything_is_run(tmp_path: Path) -> None:
    whole = stored(tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for other in (b"", content[: len(content) // 2], b"not a table"):
        path.write_bytes(other)
        with pytest.raises(eh.InputError, match=r"is damaged: .* Put a copy back, or delete it"):
            stored(tmp_path)
        assert path.read_bytes() == other
    path.unlink()  # as the message says
    assert_same(stored(tmp_path), whole)


SWEEP = """
import os, sys, time
import evenhand as eh
from evenhand.research.rivals.uniform import Uniform
from evenhand.research.simulation import simulate

store, log = sys.argv[1:3]

class Slow(Uniform):
    def recommend(self):
        time.sleep(0.01)
        with open(log, "a") as file:
            file.write(f"{os.getpid()} {self.seed} {self.horizon}\\n")
        return super().recommend()

if __name__ == "__main__":
    actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.1]], [1, -1, -1])
    problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.75], omega=0.25)
    simulate(problem, {"slow": Slow}, [1000, 10**12], 60, seed=8, store=store, piece_size=3)
"""


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition: Any) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, "waited five minutes"
        time.sleep(0.005)


def rows(folder: Path) -> list[tuple[int, int]]:
    """Which runs (horizon, replication) a store holds; a draft begins with a dot."""
    tables = [pq.read_table(path).to_pylist() for path in folder.glob("[!.]*.parquet")]
    return [(row["horizon"], row["replication"]) for table in tables for row in table]


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    script, folder, log = tmp_path / "sweep.py", tmp_path / "runs", tmp_path / "log"
    script.write_text(SWEEP)
    command = [sys.executable, str(script), str(folder), str(log)]
    sweep = subprocess.Popen(command)
    wait_until(lambda: len(list(folder.glob("[!.]*.parquet"))) >= 4)
    os.kill(sweep.pid, signal.SIGKILL)
    assert sweep.wait() == -signal.SIGKILL
    kept = rows(folder)
    assert 0 < len(kept) == len(set(kept)) < 120
    # workers do not outlive the sweep they work for
    workers = {int(line.split()[0]) for line in log.read_text().splitlines()}
    wait_until(lambda: not any(running(pid) for pid in workers))
    log.unlink()
    subprocess.run(command, check=True)
    # nothing that was kept is run again, and nothing else is left out
    assert len(log.read_text().splitlines()) == 120 - len(kept)
    assert len(list(folder.glob("[!.]*.parquet"))) == 2
    assert len(rows(folder)) == len(set(rows(folder))) == 120


def test_progress_is_shown_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    simulate(PROBLEM, BOTH, 100, 20, progress=True)
    assert "40/40" in capfd.readouterr().err
    with ThreadPoolExecutor(2) as threads:
        simulate(PROBLEM, BOTH, 100, 20, executor=threads)
    captured = capfd.readouterr()
    assert captured.err == captured.out == ""


def test_the_picture_shows_means_bands_and_limits(tmp_path: Path) -> None:
    results = simulate(PROBLEM, BOTH, 10**4, 30)
    path = tmp_path / "regret.svg"
    figure = results.plot(path, limits={"half": lambda t: t / 2})
    assert path.read_bytes().startswith(b"<?xml")
    (axes,) = figure.axes
    assert axes.get_xscale() == axes.get_yscale() == "log"
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == [*BOTH, "half"]
    for runs in results.runs:
        np.testing.assert_array_equal(lines[runs.policy].get_xdata(), runs.checkpoint)
        np.testing.assert_allclose(lines[runs.policy].get_ydata(), runs.regret.mean(axis=0))
    times = np.asarray(lines["half"].get_xdata(), dtype=float)
    np.testing.assert_allclose(lines["half"].get_ydata(), times / 2)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [*BOTH, "half"]


def test_the_promises_of_the_paper_are_drawn_where_they_say_anything() -> None:
    paper = "fair-phased-elimination"

    def limits_in(results: Results) -> set[str]:
        names = {str(line.get_label()) for line in results.plot().axes[0].lines}
        return {name for name in names if name.startswith("Theorem")}

    long = simulate(PROBLEM, [paper], [10**8, 10**12], 4)
    assert limits_in(long) == {"Theorem 1", "Theorem 2"}
    drawn = {line.get_label(): line for line in long.plot().axes[0].lines}
    for name, limit in (
        ("Theorem 1", worst_case_upper(ACTIONS, 1e12)),
        ("Theorem 2", gap_dependent_upper(PROBLEM, 1e12)),
    ):
        assert np.asarray(drawn[name].get_ydata(), dtype=float)[-1] == pytest.approx(limit)
        assert limit > long.summary()["mean_regret"].iloc[-1]
    assert len(long.plot(limits=False).axes[0].lines) == len(drawn) - 2
    # over a thousand evaluations they promise less than the worst option does
    assert limits_in(simulate(PROBLEM, [paper], 1000, 4)) == set()
    # and they are about the paper's policy, with values within ±1
    assert limits_in(simulate(PROBLEM, "uniform", 10**12, 4)) == set()
    large = BiasedLinearBandit(ACTIONS, gamma=[0.5, 1.5], omega=0.25)
    assert limits_in(simulate(large, [paper], 10**12, 4)) == set()
    tied = BiasedLinearBandit(ACTIONS, gamma=[0.5, 0.5], omega=0.25)
    assert limits_in(simulate(tied, [paper], 10**12, 4)) == {"Theorem 1"}


def test_bands_are_two_standard_errors_and_zeros_are_left_out() -> None:
    results = simulate(PROBLEM, [("blocks", Blocks)], 20, 9, checkpoints=[4, 14, 17])
    regret = np.outer(np.ones(9), [0.0, 2.0, 10.0, 20.0])
    regret[:, 1:] += 3.0 * np.repeat([-1.0, 0.0, 1.0], 3)[:, None] * [1.5, 2.0, 0.0]
    (axes,) = replace(results, runs=(replace(results.runs[0], regret=regret),)).plot().axes
    error = np.sqrt(6.0 / 8.0)
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [14, 17, 20]
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)
    sides = [band[band[:, 0] == x, 1] for x in (14.0, 17.0, 20.0)]
    np.testing.assert_allclose([y.max() for y in sides], [2 + 3 * error, 10 + 4 * error, 20.0])
    # below zero there is no logarithm: the band is cut off at a hundredth of the mean
    np.testing.assert_allclose([y.min() for y in sides], [0.02, 10.0 - 4.0 * error, 20.0])
    title = results.plot().axes[0].get_title(loc="left")
    assert title == "mean of 9 runs per line; bands: ± 2 standard errors"
