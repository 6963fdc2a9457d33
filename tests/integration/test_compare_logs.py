"""Two logs of Inspect, compared by the commands of docs/how-to/compare_logs.md."""

from __future__ import annotations

import json
import math
import re
import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
import shell

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "compare_logs.md"
COMMANDS = [
    shlex.split(line)[1:]
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines()
]
N, EPOCHS = 60, 3


def wrote(path: Path, model: str, right: Any, judge: str | None = None) -> None:
    """A log as Inspect writes it, by which answers are right: samples by epochs."""
    scorer = {"name": "graded", "options": {"model": judge} if judge else {}}
    run = {"task": "sums", "model": model, "scorers": [scorer]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({"status": "success", "eval": run}))
        for (n, e), value in np.ndenumerate(right):
            sample = {"id": n, "epoch": e + 1, "scores": {"graded": {"value": "CI"[1 - value]}}}
            archive.writestr(f"samples/{n}_epoch_{e + 1}.json", json.dumps(sample))


def drawn(seed: int) -> tuple[Any, Any]:
    """Answers of two models: samples differ in how hard they are."""
    rng = np.random.default_rng(seed)
    hard = rng.random((N, 1))
    old, new = ((rng.random((N, EPOCHS)) < p * (1.4 - hard)).astype(int) for p in (0.55, 0.7))
    return old, new


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    old, new = drawn(3)
    wrote(tmp_path / "old.eval", "acme/old", old)
    wrote(tmp_path / "new.eval", "acme/new", new)
    for name, right in (("before", old), ("after", new)):
        wrote(tmp_path / f"{name}.eval", "acme/same", right)
    monkeypatch.chdir(tmp_path)
    return old, new


def test_the_difference_is_paired_by_sample_and_its_error_by_samples(logs: tuple[Any, Any]) -> None:
    """As the t test of the samples' means has it, which pairs a sample with itself."""
    old, new = logs
    found = shell.answer("decide", "old.eval", "new.eval")["compared"]
    d = (new - old).mean(1)
    assert found["value"] == pytest.approx(d.mean())
    assert found["error"] == pytest.approx(d.std(ddof=1) / math.sqrt(N), rel=0.01)
    assert found["p_value"] == pytest.approx(
        stats.ttest_rel(new.mean(1), old.mean(1)).pvalue, rel=0.1
    )
    assert found["shared"] == {"items": N * EPOCHS, "clusters": N}
    assert found["evaluations"] == 2 * N * EPOCHS


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: " ".join(one[3:]) or "plain")
def test_every_command_of_the_page_runs(logs: tuple[Any, Any], command: list[str]) -> None:
    old, new = logs
    result = shell.run(*command)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert f"by {(new - old).mean():.3f}"[:7] in said
    assert "Standard error" in said
    if "--report" in command:
        page = Path(command[-1]).read_text("utf-8")
        assert "One against the other" in page
        assert "items in common" in page


def test_the_same_model_twice_is_one_option_unless_logs_are(logs: tuple[Any, Any]) -> None:
    with_logs = eh.read_scores(["before.eval", "after.eval"], columns={"option": "log"})
    assert with_logs.option.names == ("before", "after")
    alone = eh.read_scores(["before.eval", "after.eval"])
    assert alone.option.names == ("acme/same",)
    assert any("name 'log'" in note.message for note in alone.notes)


def test_a_judge_of_one_of_the_families_settles_nothing_alone(tmp_path: Path) -> None:
    """A second judge of another family does; a mean is then less what a judge favours."""
    old, new = drawn(5)
    paths = [
        tmp_path / f"{model}-by-{judge}.eval" for model in "og" for judge in ("gpt", "mistral")
    ]
    models, rights = {"o": "llama-3", "g": "gpt-4"}, {"o": old, "g": new}
    for path in paths:
        model, _, judge = path.stem.split("-")
        wrote(path, models[model], rights[model], f"{judge}-judge")
    by_gpt = [str(path) for path in paths if "gpt" in path.stem]
    assert shell.run("decide", *by_gpt).exit_code == 3
    assert shell.run("decide", *by_gpt, "--column=evaluator_group=none").exit_code == 0
    found = shell.answer("decide", *map(str, paths))
    assert found["compared"]["value"] == pytest.approx((new - old).mean())
    for one, right in zip(("gpt-4", "llama-3"), (new, old), strict=True):
        mean = next(row for row in found["ranking"] if row["option"] == one)
        assert mean["low"] < right.mean() < mean["high"]


def test_tables_are_options_and_scores_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("option,evaluator,score\na,P,1\nb,P,2\n")
    result = shell.run("decide", *[str(tmp_path / "a.csv")] * 3)
    assert result.exit_code == 2
    assert "is no log" in " ".join(result.output.split())
