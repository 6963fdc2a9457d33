"""Judges in other tools: the fixture in real runs of pytest, the scorer as Inspect calls it."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import types
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.judges import Judge
from evenhand.judges.inspect_scorer import scorer_of

SUITE = """
import numpy as np
import pytest
from evenhand.judges import Judge

WORTH = {"old": 5.0, "new": 5.6, "bad": 4.0, "same": 5.0}
TASKS = [f"task {n}" for n in range(40)]
CALLS = []

def call(text, task):
    CALLS.append(text)
    rng = np.random.default_rng(list(f"{text}{task}".encode()))
    return f"Score: {WORTH[text.split()[0]] + 0.6 * rng.normal():.2f}"

JUDGE = Judge(call, name="model")

def options(*names):
    return {name: {task: f"{name} on {task}" for task in TASKS} for name in names}

def test_better(judged):
    answer = judged.scores(options("old", "new"), [JUDGE])
    judged.require(answer, "new")
    judged.require(answer, "new", not_worse_than="old")

def test_worse(judged):
    answer = judged.scores(options("old", "bad"), [JUDGE])
    judged.require(answer, "bad", not_worse_than="old", by_more_than=0.2)

def test_not_the_best(judged):
    judged.require(judged.scores(options("old", "bad"), [JUDGE]), "bad")

def test_alike_within_a_margin(judged):
    answer = judged.scores(options("old", "same"), [JUDGE])
    judged.require(answer, "same", not_worse_than="old", by_more_than=0.6)

@pytest.mark.parametrize("unsure", ["fail", "skip", "pass"])
def test_alike(judged, unsure):
    answer = judged.scores(options("old", "same"), [JUDGE])
    judged.require(answer, "same", not_worse_than="old", by_more_than=0.05, unsure=unsure)

def test_calls():
    print("CALLS", len(CALLS))
"""


EXAMPLE = Path(__file__).parents[2] / "examples" / "judged"


def run(folder: Path, *more: str) -> tuple[str, dict[str, int]]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-qrA", "--rootdir", str(folder), *more, "test_it.py"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    words = done.stdout.splitlines()[-1].replace(",", "").split()
    return done.stdout, {kind: int(n) for n, kind in pairwise(words) if n.isdigit()}


def test_a_suite_passes_fails_and_pays_once(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["evenhand.judges.pytest_plugin"]\n')
    (tmp_path / "test_it.py").write_text(SUITE)
    said, counts = run(tmp_path)
    assert counts == {"failed": 3, "passed": 4, "skipped": 1}, said
    assert "bad is worse than old" in said
    assert "cannot tell: same is" in said
    assert "CALLS 160" in said  # 40 tasks of four prompts, whichever tests share them
    said, again = run(tmp_path)
    assert again == counts
    assert "CALLS 0" in said


@pytest.mark.parametrize("more", [(), ("-p", "no:cacheprovider")])
def test_the_example_passes(tmp_path: Path, more: tuple[str, ...]) -> None:
    for name in ("conftest.py", "test_prompts.py"):
        shutil.copy(EXAMPLE / name, tmp_path)
    (tmp_path / "test_prompts.py").rename(tmp_path / "test_it.py")
    said, counts = run(tmp_path, *more)
    assert counts == {"passed": 1}, said


class Score:
    def __init__(self, **given: Any) -> None:
        self.__dict__ |= given


def test_the_scorer_keeps_judges_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a stand-in for inspect_ai; `make dist-check` has the real one."""
    made: dict[str, Any] = {}

    def scorer(metrics: Any, name: str) -> Any:
        made.update(metrics=metrics, name=name)
        return lambda function: lambda **given: (made.update(params=given), function(**given))[1]

    stub = types.ModuleType("inspect_ai.scorer")
    stub.__dict__.update(Score=Score, scorer=scorer, mean=lambda: "mean", stderr=lambda: "stderr")
    monkeypatch.setitem(sys.modules, "inspect_ai", types.ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", stub)

    async def strict(answer: str, question: str) -> str:
        return f"{question}: {answer}. Score: [[6]]"

    score = scorer_of(
        [Judge(strict, price=0.5), Judge(lambda *shown: 9, name="kind", price=0.25)], scale=(0, 10)
    )
    state = types.SimpleNamespace(
        output=types.SimpleNamespace(completion="42"), input_text="6 times 7"
    )
    found = asyncio.run(score(state, None))
    assert (made["name"], made["params"]) == ("judged", {"model": ["strict", "kind"]})
    assert found.value == 7.5
    assert found.metadata["panel"] == {"votes": [6.0, 9.0], "costs": [0.5, 0.25]}
    assert found.metadata["grading"][0]["content"] == "6 times 7: 42. Score: [[6]]"
    # as a log has it, each judge's score is its own
    log = {
        "eval": {"task": "t", "model": "m",
                 "scorers": [{"name": "judged", "options": made["params"]}]},
        "samples": [
            {"id": 1, "epoch": 1, "output": {"completion": "42"},
             "scores": {"judged": {"value": found.value, "metadata": found.metadata}}}
        ],
    }  # fmt: skip
    (tmp_path / "log.json").write_text(json.dumps(log))
    table = eh.read_scores(tmp_path / "log.json")
    assert dict(zip(table.evaluator.names, table.score.tolist(), strict=True)) == {  # type: ignore[union-attr] # there are some
        "strict": 6.0,
        "kind": 9.0,
    }


def test_without_inspect_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(eh.InputError, match=r"pip install 'evenhand\[inspect\]'"):
        scorer_of([Judge(lambda *shown: 9, name="kind")])
