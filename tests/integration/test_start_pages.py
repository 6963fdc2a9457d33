"""What the pages for newcomers tell them to type works, and prints what they say."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evenhand.cli import app

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^`([\w.]+)`:\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"(?<!\\)\|")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TYPED = [ROOT / "docs" / "start" / name for name in ("spreadsheet.md", "logs.md", "panel.md")]


@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.stem)
def test_what_a_page_types_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    ran = 0
    for name, text in TABLE.findall(page.read_text("utf-8")):
        (tmp_path / name).write_text(text, "utf-8")
    for (kind, text), (kind_after, said) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind != "sh":
            continue
        for line in text.splitlines():
            words = shlex.split(line, comments=True)
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, result.output
            ran += 1
            if "--report" in words:
                assert (tmp_path / words[words.index("--report") + 1]).stat().st_size > 1_000
        if kind_after == "text":
            assert doctest.OutputChecker().check_output(said, result.output, FLAGS), result.output
    assert ran >= 2


def test_every_public_name_is_in_the_reference() -> None:
    import evenhand as eh  # noqa: PLC0415 - its names, all of them

    page = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    named = set(re.findall(r"auto\w+:: (?:evenhand\.)?(?:\w+\.)*(\w+)", page))
    assert set(eh.__all__) <= named, set(eh.__all__) - named


def test_every_page_is_in_the_contents() -> None:
    docs = ROOT / "docs"
    contents = (docs / "index.md").read_text("utf-8")
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")}
    listed = {line for line in contents.splitlines() if re.fullmatch(r"[\w/-]+", line)}
    assert pages - listed == {"index", "package"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_has_as_many_cells_as_its_header(page: Path) -> None:
    text = FENCED.sub("", page.read_text("utf-8"))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    for table in tables:
        header, rule, *rows = table.splitlines()
        assert re.fullmatch(r"\|( :?-+:? \|)+", rule), header
        for row in rows:
            assert len(CELL.findall(row)) == len(CELL.findall(header)), row


def test_every_picture_has_a_command_that_draws_it() -> None:
    script = (ROOT / "docs" / "figures.py").read_text("utf-8")
    drawn = set(re.findall(r"^def ([a-z]\w*)\(path", script, re.MULTILINE))
    shown = {path.stem.replace("-", "_") for path in (ROOT / "docs" / "images").iterdir()}
    assert shown == drawn, shown ^ drawn


def test_every_picture_has_its_command_beside_it() -> None:
    pages = [page.read_text("utf-8") for page in PAGES]
    for name in (path.stem for path in (ROOT / "docs" / "images").iterdir()):
        beside = [page for page in pages if f"images/{name}.png" in page]
        assert any(f"docs/figures.py {name}" in page for page in beside), name
