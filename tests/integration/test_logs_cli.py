"""Logs in the terminal: `evenhand audit` and `decide` take them as they are."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import evenhand as eh
import shell

audited = partial(shell.answer, "audit")

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"


@pytest.mark.parametrize(
    ("log", "metric"),
    [("inspect", None), ("alpaca_eval", None), ("promptfoo/results.json", "llm-rubric")],
)
def test_a_log_is_audited_and_decided_on_as_it_is(log: str, metric: str | None) -> None:
    path, more = str(LOGS / log), () if metric is None else ("--read", f"metric={metric}")
    found, scores = audited(path, *more), eh.read_scores(path, metric=metric)
    assert found["bias"]["value"] == pytest.approx(eh.audit(scores).bias.value)
    assert any("no score" in str(warning) for warning in found["warnings"])
    decided = shell.run("decide", path, *more, "--json")
    assert json.loads(decided.stdout)["option"] == eh.decide(scores).label


def test_several_metrics_are_listed() -> None:
    result = shell.run("audit", LOGS / "promptfoo" / "results.json")
    assert result.exit_code == 2
    text = " ".join(result.output.split())
    assert "'llm-rubric' (41 scores" in text
    assert "--read metric=" in text


def test_families_can_be_said(tmp_path: Path) -> None:
    """Where the judge from Google is a Llama's kin, it is partial to that, too."""
    file = tmp_path / "families.csv"
    file.write_text("name,family\ngemini,llama\n")
    path = str(LOGS / "deepeval")
    found = audited(path, "--read", f"families={file}")
    audit = eh.audit(eh.read_scores(path, families={"gemini": "llama"}))
    assert found["bias"]["value"] == pytest.approx(audit.bias.value)
    assert found["bias"]["value"] != pytest.approx(audited(path)["bias"]["value"])
