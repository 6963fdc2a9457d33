"""The benchmarks run: each of them, on a size that is only there for this; the quickest by day."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from rotation import nightly

FOLDER = Path(__file__).parents[2] / "benchmarks"
TINY = {
    "careful": [["--quick"]],
    "checks": [["--tiny"]],
    "decide": [["--tiny"]],
    "designs": [["--tiny"]],
    "jury": [["--juries", "1"]],
    "level": [["--n", "1"]],
    "prompts": [["--worlds", "1", "--budget", "60"]],
    "search": [
        ["cost", "--runs", "1", "--only", "normal .12"],
        ["level", "--runs", "1", "--only", "^2 equal|an enemy$"],
    ],
    "sequential": [["--tiny"]],
    "serve": [["all", "--tiny", "--store", "SQLite"]],
}


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


@pytest.mark.parametrize(
    ("benchmark_", "arguments"),
    nightly((name, arguments) for name in TINY for arguments in TINY[name]),
    indirect=["benchmark_"],
)
def test_every_benchmark_prints_its_tables(
    benchmark_: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark_.main(arguments)
    assert len(capsys.readouterr().out.splitlines()) > 2
