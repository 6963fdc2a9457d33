"""One way in: every command reads every kind of file, and one table gives one result everywhere."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import threading
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import Result

import evenhand as eh
import shell
from evenhand.files import Limits, limited
from evenhand.tables.opened import open_table
from table_files import KINDS, rezipped

OPTIONS = pd.DataFrame(
    {
        "option": ["Ann", "Bo", "Cy", "Di", "Ed"],
        "nation": ["FRA", "ITA", "FRA", "ITA", "FRA"],
        "base": [3.25, 4.5, 5.0, 2.75, 6.5],
        "age": [21, 25, 19, 30, 24],
    }
)
JUDGES = pd.DataFrame(
    {
        "judge": ["P", "Q", "R", "S"],
        "nation": ["FRA", "ITA", "ESP", "ESP"],
        "price": [1.5, 2.5, 1.5, 4.0],
    }
)


def _scores() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = [
        (name, nation, judge, of, round(60 + 2 * i + 3 * (nation == of) + rng.normal(), 2))
        for i, (name, nation) in enumerate(zip(OPTIONS["option"], OPTIONS["nation"], strict=True))
        for judge, of in zip(JUDGES["judge"], JUDGES["nation"], strict=True)
    ]
    columns = ["option", "option_group", "evaluator", "evaluator_group", "score"]
    return pd.DataFrame(rows, columns=columns)


SCORES = _scores()


TABLES = {"options": OPTIONS, "judges": JUDGES, "scores": SCORES}
NATION = ["--column=option_group=nation"]
COMMANDS: dict[str, list[str]] = {
    "plan": ["plan", "{options}", "--evaluators", "{judges}", *NATION, "--assume", "lead=4",
             "--assume", "noise=2", "--column=prices=price", "--ask", "capacity=3"],
    "inspect": ["inspect", "{options}", *NATION, "--column=features=age",
                "--column=option=option"],
    "inspect a panel": ["inspect", "{options}", "--evaluators", "{judges}", *NATION,
                        "--column=prices=price"],
    "inspect scores": ["inspect", "--scores", "{scores}"],
    "decide": ["decide", "{scores}"],
    "decide among options": ["decide", "{options}", "{scores}",
                             "--column=option_group=option_group"],
    "audit": ["audit", "{scores}"],
}  # fmt: skip


def run(arguments: list[str], content: bytes | None = None) -> Result:
    return shell.run(*arguments, "--json", input=content)


def answered(arguments: list[str], content: bytes | None = None) -> Any:
    result = run(arguments, content)
    assert result.exit_code in (0, 3, 4), result.output
    found = json.loads(result.stdout)
    found.pop("decimal", None)  # as the file has it
    return found


def files(folder: Path, kind: str) -> dict[str, str]:
    """The tables as files of a kind, by their names."""
    found = {}
    for name, frame in TABLES.items():
        path = folder / f"{name}-{kind}"
        path.write_bytes(KINDS[kind](frame))
        found[name] = str(path)
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The tables in all kinds of files."""
    return {kind: files(tmp_path_factory.mktemp("files"), kind) for kind in KINDS}


@pytest.fixture(scope="module")
def expected_of(written: dict[str, dict[str, str]]) -> Callable[[str], Any]:
    """What a command says of the plain files."""
    usual = written["table.csv"]
    return cache(lambda command: answered([part.format(**usual) for part in COMMANDS[command]]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_every_kind_of_file(
    written: dict[str, dict[str, str]], expected_of: Callable[[str], Any], command: str, kind: str
) -> None:
    there, usual, arguments = written[kind], written["table.csv"], COMMANDS[command]
    expected = expected_of(command)
    assert answered([part.format(**there) for part in arguments]) == expected
    first = next(name for name in TABLES if any(f"{{{name}}}" in part for part in arguments))
    content = Path(there[first]).read_bytes()
    piped = [part.format(**usual | {first: "-"}) for part in arguments]
    assert answered(piped, content) == expected


WORDS = "Model,Judge,Score\n" + "".join(
    f"{model},{judge},{score}\n"
    for model, scores in {
        "gpt-4o": (9, 7, 6.5),
        "claude-3-opus": (7, 9, 6),
        "llama-3-70b": (5, 5.5, 6),
        "gemini-1.5-pro": (6, 6.5, 4),
    }.items()
    for judge, score in zip(("gpt-4", "claude-3-5-sonnet", "mistral-large"), scores, strict=True)
)


def doors(folder: Path) -> dict[str, Any]:
    """One table, in everything that a table comes in."""
    frame = pd.read_csv(io.StringIO(WORDS))
    for kind, write in KINDS.items():
        (folder / kind).write_bytes(write(frame))
    frame.to_json(folder / "rows.json", orient="records")
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    there = {path.name: path for path in sorted(folder.iterdir())}
    return there | {
        "a text": str(folder / "table.csv"),
        "a list": [folder / "table.csv"],
        "an open file": io.StringIO(WORDS),
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "lazy polars": pl.from_pandas(frame).lazy(),
        "pyarrow": pa.Table.from_pandas(frame),
        "polars, categories": pl.from_pandas(frame).with_columns(
            pl.col("Judge").cast(pl.Categorical)
        ),
        "pyarrow, a batch": pa.RecordBatch.from_pandas(frame),
        "rows": frame.to_dict("records"),
        "columns": frame.to_dict("list"),
        "arrays": {column: frame[column].to_numpy() for column in frame},
    }


def as_read(value: Any) -> Any:
    """A result as plain values, without where it was read from."""
    return json.loads(json.dumps(value, default=str))


def test_one_table_gives_one_result_through_every_door(tmp_path: Path) -> None:
    expected: Any = None
    for name, table in doors(tmp_path).items():
        scores = eh.read_scores(table)
        found = as_read(
            [
                scores.to_dict(),
                eh.audit(scores).to_dict(),
                eh.decide(scores).to_dict(),
                repr(eh.Questions.from_scores(scores)),
            ]
        )
        expected = expected or found
        assert found == expected, name
        if hasattr(table, "read"):
            continue  # it has been
        straight = [eh.audit(table).to_dict(), eh.decide(table).to_dict()]
        assert as_read([*straight, repr(eh.Questions.from_scores(table))]) == expected[1:], name
    scores, audit, _, panel = expected
    assert scores["called"]["evaluator"] == "Judge"
    assert set(scores["columns"]["option_group"]) == {"gpt", "claude", "llama", "gemini"}
    assert "own group" in panel
    path = str(tmp_path / "table.csv")
    assert answered(["audit", path])["bias"] == audit["bias"]


def test_scores_say_what_they_are_and_turn_into_frames(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("option,evaluator,score,size,town\na,P,1,3,x\nb,P,2,,y\n")
    scores = eh.read_scores(tmp_path / "scores.csv")
    (tmp_path / "scores.csv").unlink()  # they need nothing more of it
    assert str(scores).startswith("2 scores of 2 options by 1 evaluator, from 1 to 2")
    frame = scores.to_frame()
    assert [*frame] == ["option", "evaluator", "score", "size", "town"]
    assert frame["town"].tolist() == ["x", "y"]
    assert frame["size"].dropna().tolist() == [3.0]
    plain = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert plain["columns"]["size"] == [3.0, None]
    more = eh.read_scores(scores, columns={"attributes": ["size"]}, missing="drop")
    assert more.attributes["size"].tolist() == [3.0]
    with pytest.raises(eh.InputError, match=r"no column 'weight'; .*'size', 'town'"):
        eh.read_scores(scores, columns={"attributes": ["weight"]})
    with pytest.raises(eh.InputError, match="say it to read_scores"):
        eh.audit(scores, wide=True)


def test_scores_can_be_sent_elsewhere() -> None:
    scores = eh.read_scores(io.StringIO(WORDS))
    sent = pickle.loads(pickle.dumps(scores))
    assert sent.to_dict() == scores.to_dict()
    assert eh.audit(sent).bias == eh.audit(scores).bias


def test_what_one_door_refuses_all_doors_refuse(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("option,evaluator,score\na,P,1\na,P,1\nb,P,3\n")
    for table in (path, eh.read_scores(path), pd.read_csv(path)):
        for what in (eh.audit, eh.decide):
            with pytest.raises(eh.InputError, match="scored the same thing twice"):
                what(table)
    with pytest.raises(eh.InputError, match="line 2, line 3, column 'score'"):
        eh.audit(eh.read_scores(path))
    path.write_text("option,evaluator,score\na,P,1\n")
    assert len(eh.read_scores(path)) == 1
    with pytest.raises(eh.InputError, match="one score only"):
        eh.audit(eh.read_scores(path))


@pytest.mark.parametrize(("column", "hole"), [
    *(("score", hole) for hole in ("", " ", "nan", "NaN", "n/a", "?")),
    *((column, hole) for column in ("option", "evaluator") for hole in ("", " ")),
])  # fmt: skip # a name may be anything
@pytest.mark.parametrize("row", range(4))
def test_a_hole_is_named_in_every_position_of_scores(
    tmp_path: Path, row: int, column: str, hole: str
) -> None:
    rows = [["a", "P", "7"], ["b", "P", "5"], ["a", "Q", "6.5"], ["b", "Q", "6"]]
    names = ["option", "evaluator", "score"]
    rows[row][names.index(column)] = hole
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(map(",".join, [names, *rows])))
    sheet = tmp_path / "scores.xlsx"
    pd.DataFrame(rows, columns=names).replace({"": None}).to_excel(sheet, index=False)
    for table, place in ((path, f"line {row + 2}"), (sheet, f"row {row + 2}")):
        for what in (eh.read_scores, eh.audit, eh.decide, eh.Questions.from_scores):
            with pytest.raises(eh.InputError, match=rf"{place}.*, column '{column}' is empty"):
                what(table)
        assert len(eh.read_scores(table, missing="drop")) == 3


def refused(path: Path, *commands: str) -> str:
    """What all commands say of a file that they cannot read: the same, and no traceback."""
    said = set()
    for command in commands or COMMANDS:
        there = dict.fromkeys(TABLES, str(path))
        result = run([part.format(**there) for part in COMMANDS[command]])
        assert result.exit_code == 2, (command, result.output, result.exception)
        assert result.exception is None or isinstance(result.exception, SystemExit)
        said.add(" ".join(result.stderr.split()))
    return "\n".join(said)


def test_workbooks_with_entities_or_cut_off_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "scores.xlsx"
    sheet = "xl/worksheets/sheet1.xml"
    whole = KINDS["table.xlsx"](SCORES)

    def with_entity(xml: bytes) -> bytes:
        start, entity = xml.index(b"<worksheet"), b'<!DOCTYPE x [<!ENTITY a "aaa">]>'
        return xml[:start] + entity + xml[start:].replace(b"</sheetData>", b"&b;</sheetData>")

    for change in (with_entity, lambda xml: xml[: len(xml) // 2], lambda _: b""):
        path.write_bytes(rezipped(whole, sheet, change))
        assert "cannot be read as a workbook" in refused(path)
    path.write_bytes(whole[: len(whole) // 2])
    assert "save it anew" in refused(path, "plan", "decide")


def test_workbooks_may_have_blanks(tmp_path: Path) -> None:
    whole, sheet, end = KINDS["table.xlsx"](SCORES), "xl/worksheets/sheet1.xml", b"</sheetData>"
    blanks = rezipped(whole, sheet, lambda xml: xml.replace(end, b" " * (3 << 20) + end))
    (tmp_path / "scores.xlsx").write_bytes(blanks)
    assert len(eh.read_scores(tmp_path / "scores.xlsx")) == len(SCORES)


def test_a_member_that_is_longer_than_announced_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * 100_000 + b"{}")
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.index(mark) + offset
        content[place : place + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    assert "damaged" in refused(path, "audit")


def test_what_never_ends_is_refused(tmp_path: Path) -> None:
    with limited(Limits(line=1 << 20)):
        said = refused(Path("/dev/zero"), "plan", "decide", "inspect")
    assert "a line has more than 1 MB" in said
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with suppress(BrokenPipeError), pipe.open("wb", buffering=0) as file:
            while True:
                file.write(b"option,score\n" * 1000)

    writer = threading.Thread(target=write)
    writer.start()
    with (
        limited(Limits(unpacked=1 << 20)),
        pytest.raises(eh.InputError, match="more than 1 MB come out of it"),
    ):
        open_table(pipe)
    writer.join(timeout=20)
    assert not writer.is_alive()


def test_packed_tables_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    packed = gzip.compress(KINDS["table.csv"](SCORES))
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(packed[: len(packed) // 2])
    for said in refused(path).splitlines():
        assert "cannot be read" in said or "is damaged" in said
    path.write_bytes(packed[:12] + zlib.compress(b"nothing") + packed[30:])
    assert "scores.csv.gz" in refused(path)


def test_headers_may_be_longer_than_a_block(tmp_path: Path) -> None:
    path, cells = tmp_path / "wide.csv", [str(i % 7) for i in range(99_000)]
    names = [f"judge number {i}" for i in range(len(cells))]
    lines = ["option", *names], ["Ann", *cells], ["Bo", *cells[::-1]]
    path.write_text("\n".join(map(",".join, lines)))
    assert path.stat().st_size > 2 << 20
    table = open_table(path)
    assert len(table.columns) == len(cells) + 1
    assert table.texts("judge number 90003") == [cells[90003], cells[::-1][90003]]
