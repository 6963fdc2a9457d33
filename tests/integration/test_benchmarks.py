"""The benchmarks run: each of them, on a size that is only there for this; the quickest by day."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark_(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(FOLDER)  # some share a module
    name = f"benchmark_{request.param}"
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{request.param}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.mark.parametrize("benchmark_", sorted(p.stem for p in FOLDER.glob("*.py")), indirect=True)
def test_every_benchmark_finds_what_it_imports(benchmark_: ModuleType) -> None:
    assert callable(benchmark_.main)


@pytest.mark.parametrize("benchmark_", ["regret"], indirect=True)
def test_regret_compares_every_policy(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        benchmark_.main(["--tiny", "--out", str(tmp_path), "--policies", "uniform,oful"])
    assert ended.value.code == 0
    assert "Gap-dependent families" in capsys.readouterr().out
    frame = pd.read_csv(tmp_path / "compare.csv")
    assert set(frame["policy"]) == {"uniform", "oful"}
    assert (frame["n"] == 2).all()
    assert (tmp_path / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "regret").glob("gaps-*.parquet"))


@pytest.mark.parametrize("benchmark_", ["parallel"], indirect=True)
def test_parallel_compares_side_by_side_with_rounds(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    assert "geometric mean" in shown
    for shape in benchmark_.SHAPES[:2]:
        assert shape.words in shown
    # the larger of two lognormal times has mean 2 e^{σ²/2} Φ(σ/√2)
    for sigma in benchmark_.SIGMAS:
        exact = 1 / (2 * stats.norm.cdf(sigma / math.sqrt(2)))
        assert benchmark_.ideal(sigma, 2) == pytest.approx(exact, rel=1e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["sequential"], indirect=True)
def test_sequential_measures_every_stepper(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for name in benchmark_.NAMES:
        assert shown.count(f" {name} ") == 2, "a row for 100 options and one for 10,000"


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["variants"], indirect=True)
def test_variants_runs_every_part(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.json"
    benchmark_.main(["--tiny", "--processes", "1", "--json", str(numbers)])
    found = json.loads(numbers.read_text())
    assert list(found) == list(benchmark_.PARTS)
    titles = re.findall("^## (.*)$", capsys.readouterr().out, flags=re.MULTILINE)
    assert titles == [title for title, *_ in benchmark_.PARTS.values()]
    # what it says holds with probability 1 − δ ≥ 0.9: of a few runs, nearly all are right
    said = found["statements"]
    assert sum(one["failed"] for one in said) <= 0.2 * sum(one["n"] for one in said)


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["designs"], indirect=True)
def test_designs_measures_every_cloud(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for kind in (*benchmark_.CLOUDS, *benchmark_.DEGENERATE):
        assert kind in shown


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["imports"], indirect=True)
def test_imports_measures_every_program(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--runs", "1"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in benchmark_.PROGRAMS)


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["checks"], indirect=True)
def test_checks_counts_alarms_in_every_case(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.json"
    benchmark_.main(["--tiny", "--json", str(numbers)])
    assert capsys.readouterr().out.count("Gaussian, σ stated") == len(benchmark_.ORDERS)
    found = json.loads(numbers.read_text())
    assert list(found) == list(benchmark_.ORDERS)
    for cases in found.values():
        assert list(cases) == [case.name for case in benchmark_.CASES]
        assert cases["repeats itself"]["60"]["right"] == 1.0
        for shares in (shares for lengths in cases.values() for shares in lengths.values()):
            assert max(shares.values()) == shares["any"] >= shares["right"]


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["certainty"], indirect=True)
def test_certainty_measures_cost_errors_and_bias(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for trap in benchmark_.traps():
        assert shown.count(f"| {trap.name} |") == 8  # four ways to lead, noise known or not
    assert shown.count("| skating |") == 2
    for by in ("places", "pairs, union", "uniform"):
        assert shown.count(f"| 5 × 2, 2 | {by} |") == 1
    assert shown.count("| at random |") == 6  # three lines, noise known or not


@pytest.mark.parametrize("benchmark_", ["bent"], indirect=True)
def test_bent_measures_every_case(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split(" | ")[0].lstrip("| ") for line in lines] == [
        case.name for case in benchmark_.CASES
    ]
    assert next(line for line in lines if "scores that repeat" in line).split(" | ")[2] == "100.0%"


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["careful"], indirect=True)
def test_careful_measures_every_part(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--quick"])
    shown = capsys.readouterr().out
    for title, rows in benchmark_.parts(0).items():
        assert f"## {title}" in shown
        assert all(f"| {name} | " in shown for name, _ in rows)


@pytest.mark.parametrize("benchmark_", ["comparisons"], indirect=True)
def test_comparisons_counts_calls_of_judges(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.json"
    benchmark_.main(["--tiny", "--json", str(numbers)])
    assert "greedy ÷ both orders" in capsys.readouterr().out
    found = json.loads(numbers.read_text())
    assert list(found) == ["orders", "family", "judges"]
    # with a favour of its own for each judge, and no noise, nobody is wrong
    assert all(shares[1] == 0.0 for shares in found["judges"].values())
    # verdicts have the mean that the module's notes state
    judges = benchmark_.Judges(benchmark_.FAMILY, seed=1)
    drawn = [judges.verdict(7) for _ in range(4000)]
    assert set(drawn) <= {0.0, 0.5, 1.0}
    assert sum(drawn) / 4000 == pytest.approx(judges.means[7], abs=4 * 0.5 / math.sqrt(4000))
    # 5% of 40 runs are two: reached at the third step, and never
    wrong = pd.DataFrame([[1, 1, 1]] * 1 + [[1, 1, 0]] * 2 + [[0, 0, 0]] * 37).to_numpy()
    assert benchmark_.calls_to(wrong)[0] == 30
    assert math.isinf(benchmark_.calls_to(wrong[:, :2])[0])


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["people"], indirect=True)
def test_people_measures_every_mode(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    assert shown.count("## ") == 4
    for name, *_ in benchmark_.MODES:
        assert shown.count(f"| {name} | ") == 2, "real scores, and drawn ones"
    once = next(line for line in shown.splitlines() if line.startswith("| once, σ unknown"))
    sure, agree = (once.split(" | ")[i] for i in (2, 3))
    assert agree == f"{sure} of {sure}", "at one look the whole panel is the look itself"


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["decide"], indirect=True)
def test_decide_measures_every_part(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    assert shown.count("## ") == 7
    whole = next(line for line in shown.splitlines() if line.startswith("| 100% |"))
    sure, agree = (cell.strip() for cell in whole.split("|")[3:5])
    assert agree == f"{sure} of {sure}", "by all scores the whole panel is the look itself"
    # a t test that is looked at after every score stops early, or never
    assert benchmark_._stop(pd.DataFrame([[9.0, 0.1], [9.1, 0.0], [9.2, 0.2]]).to_numpy()) == 3
    assert benchmark_._stop(pd.DataFrame([[1.0, 1.1], [0.0, 0.1]] * 4).to_numpy()) == 8


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["panels_large"], indirect=True)
def test_large_panels_are_measured_against_the_dense_way(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for model in ("arrow", "dense", "ratio"):
        assert shown.count(f" {model} ") >= len(benchmark_.TINY)
    assert shown.count("2 right") == 2  # by both models, of two searches to certainty


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["plan"], indirect=True)
def test_plan_holds_plans_to_what_happens(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for premise in benchmark_.PREMISES:
        assert premise in shown
    assert "false certificates" in shown


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["panels"], indirect=True)
@pytest.mark.parametrize("section", ["skating", "comparisons", "prices", "crossing", "errors"])
def test_panels_tells_what_certainty_costs(
    benchmark_: ModuleType, section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main([section, "--runs", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len({row.count("|") for row in rows}) == 1
    assert len(rows) > 4


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["audit"], indirect=True)
def test_audit_measures_every_world(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["coverage", "--tiny"])
    benchmark_.main(["flags", "--tiny"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 3 eval")]
    assert [row.count(" | ") for row in rows] == [len(benchmark_.WORLDS), 4, 4]


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["audit"], indirect=True)
def test_audit_finds_what_is_known_of_skating(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["skating"])
    found = dict(re.findall(r"^(\S[\w ,]*?)  +(?:z = |sd )?(\S+)", capsys.readouterr().out, re.M))
    assert abs(float(found["bias"]) - 3.31) < 0.02
    assert 0.15 < float(found["standard error"]) < 0.21
    assert abs(float(found["the same, naive"]) - 0.093) < 0.001
    assert float(found["placebo"]) > 20
    # Σ (b − b̄)²/(s² + τ²) = n − 1, with s from the widths of the intervals of 34 nations
    assert abs(float(found["nations"]) - 1.02) < 0.02


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["jury"], indirect=True)
def test_jury_tells_what_standardising_costs(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--juries", "1"])
    shown = capsys.readouterr().out
    for draw in benchmark_.DRAWS:
        for rule in benchmark_.RULES:
            assert f"| {draw} | {rule} | " in shown
    # with every judge about everybody, evenhand's values are means, up to a constant
    held = benchmark_.jury("all", np.random.default_rng(1))
    by_evenhand = benchmark_.values(benchmark_.by_evenhand(held))
    by_mean = benchmark_.by_mean(held.scores)
    np.testing.assert_allclose(by_evenhand - by_evenhand.mean(), by_mean - by_mean.mean())
    # without noise it is exact, whatever the draw; standardised scores are not
    benchmark_.NOISE = 0.0
    held = benchmark_.jury("rank", np.random.default_rng(1))
    exact = benchmark_.values(benchmark_.by_evenhand(held))
    np.testing.assert_allclose(exact - exact.mean(), held.worth - held.worth.mean(), atol=1e-9)
    assert benchmark_.verdict(held, exact).correlation == pytest.approx(1.0)
    standardised = benchmark_.by_standardised(held.scores)
    assert benchmark_.verdict(held, standardised).correlation < 0.9


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["prompts"], indirect=True)
def test_prompts_asks_in_every_way(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--worlds", "1", "--budget", "60"])
    shown = capsys.readouterr().out
    assert max(benchmark_.WORTH, key=benchmark_.WORTH.get) == benchmark_.BEST
    for way, panel in benchmark_.ways(benchmark_.world(0)).items():
        line = next(line for line in shown.splitlines() if line.startswith(f"| {way} | "))
        paid, by_people = (float(cell) for cell in line.strip(" |").split(" | ")[4:6])
        assert paid <= 60
        assert 1.5 * by_people <= 60
        assert (by_people > 0) == ("people" in panel.questions.evaluators)


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["audit_checks"], indirect=True)
def test_audit_checks_look_at_every_shape(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.json"
    benchmark_.main(["--tiny", "--json", str(numbers)])
    found = json.loads(numbers.read_text())
    assert set(benchmark_.CLEAN) < set(found)
    assert len(found) == len(benchmark_.CLEAN) + len(benchmark_.FAULTS)
    # three times the noise within the time of an event: no matter of luck
    assert found["planted: drift"]["drift"] == found["planted: growth"]["drift"] == 1.0
    assert "tables each" in capsys.readouterr().out


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["targets"], indirect=True)
def test_targets_are_held_to_the_truth(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    assert shown.count("\n## ") == 6
    grants = benchmark_.Round(3, tied=4)
    assert len(grants.reviews) == benchmark_.REVIEWERS * benchmark_.EACH
    assert np.unique(grants.worth).size == benchmark_.APPLICATIONS - 3
    worth = np.array([3.0, 2.0, 2.0, 1.0])
    assert benchmark_.is_wrong(worth, 2, [3], [])
    assert not benchmark_.is_wrong(worth, 2, [0, 1], [2, 3])
    assert benchmark_.is_wrong(worth, 2, [], [0])


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["audit_verdicts"], indirect=True)
def test_audit_verdicts_are_held_to_the_truth(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["safe", "--tiny"])
    shown = capsys.readouterr().out
    assert all(f"| {name} | " in shown for name in benchmark_.TIES)
    benchmark_.main(["grants", "--tiny"])
    counts = dict(re.findall(r"^\| ([a-z][^|]*) \| (\d+) ", capsys.readouterr().out, re.M))
    assert sum(int(counts[kind]) for kind in ("wrong", "safe", "fragile")) == 2
    scores, worth = benchmark_.grants(0.8, np.random.default_rng(0))
    assert len(worth) == len(scores.option) == benchmark_.APPLICATIONS
    assert set(np.bincount(scores.option.codes)) == {3, 4}
    assert set(np.unique(scores.score)) <= set(range(1, 11))


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["audit_large"], indirect=True)
def test_large_audits_are_measured_at_every_size(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    benchmark_.main(["--tiny"])
    shown = capsys.readouterr().out
    for n, *_ in benchmark_.TINY:
        assert f"{n:,} " in shown
    assert "in a chain" in shown
    # nobody scores an option twice
    path = tmp_path / "scores.csv"
    benchmark_.write_scores(path, 3_000, 100, 60, np.random.default_rng(1))
    assert not pd.read_csv(path).duplicated(["option", "evaluator"]).any()


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["serve"], indirect=True)
def test_serving_is_measured_beside_the_store_alone(
    benchmark_: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["all", "--tiny", "--store", "SQLite", "--folder", str(tmp_path)])
    said = capsys.readouterr().out
    for row in ("the store alone", "over HTTP", "no page", "3 pages"):
        (cells,) = re.findall(rf"│ {row} +│(.*)│", said)
        assert float(cells.split("│")[0].replace(",", "")) > 0.0
        assert cells.split("│")[-1].strip() == "0"  # nothing else happened


@pytest.mark.nightly
@pytest.mark.parametrize("benchmark_", ["campaigns"], indirect=True)
def test_campaigns_are_measured_on_both_stores(
    benchmark_: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(["commits", "--tiny", "--store", "PostgreSQL"])
    assert "PostgreSQL" in capsys.readouterr().out
    benchmark_.main(["all", "--tiny", "--store", "SQLite"])
    shown = capsys.readouterr().out
    for title in ("two durable commits", "Pairs per second", "As a campaign grows", "at work"):
        assert title in shown
    assert "Optuna, SQLite" in shown
    # at work 1 of 3, and 2 of 2 until the last begins at 3
    spans = [np.array([[0.0, 1.0], [3.0, 9.0]]), np.array([[1.0, 4.0]])]
    assert benchmark_.share_at_work(spans) == (pytest.approx(3 / 5), 3.0)
