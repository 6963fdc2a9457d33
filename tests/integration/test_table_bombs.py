"""Small files that would fill the memory: each is refused in words, before it does."""

from __future__ import annotations

import gzip
import io
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_files import rezipped

_READ = """
import re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (8, 8))  # 3 of them for imports on a slow machine
import evenhand as eh
try:
    eh.read_scores(sys.argv[1])
except eh.InputError as error:
    print(str(error))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10)
"""


def workbook(name: str, change: Callable[[bytes], bytes]) -> bytes:
    """An empty workbook with another member."""
    file = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.save(file)
    return rezipped(file.getvalue(), name, change)


def sheet(xml: str) -> bytes:
    """A workbook with these rows."""

    def change(content: bytes) -> bytes:
        start, end = content.index(b"<sheetData"), content.index(b"<pageMargins")
        return b"%b<sheetData>%b</sheetData>%b" % (content[:start], xml.encode(), content[end:])

    return workbook("xl/worksheets/sheet1.xml", change)


def parquet(*, dictionary: bool) -> bytes:
    file = io.BytesIO()
    cells = pa.array(["x" * (100 << 20)]).take(pa.array([0] * (8 if dictionary else 1)))
    table = pa.table(dict.fromkeys(("option", "score"), cells))
    pq.write_table(table, file, compression="zstd", use_dictionary=dictionary)
    return file.getvalue()


def long_parquet(kind: pa.DataType) -> bytes:
    """Rows without number, each as long as the only text there is, which says nothing declared."""
    file = io.BytesIO()
    text = random.Random(0).randbytes(1 << 20).hex()
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), [text]).cast(kind)
    pq.write_table(pa.table({"option": ["a"] * 300, "score": cells}), file)
    return file.getvalue()


def many_rows() -> bytes:
    file = io.BytesIO()
    with pq.ParquetWriter(file, pa.schema([("option", pa.int8()), ("score", pa.int8())])) as writer:
        cells = pa.array([0], pa.int8()).take(pa.nulls(10_000_000, pa.int8()).fill_null(0))
        for _ in range(12):
            writer.write_table(pa.table({"option": cells, "score": cells}))
    return file.getvalue()


def shared() -> bytes:
    """Cells with one text of a million letters."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for _ in range(3000):
        book.active.append(["\u2060" * 4, "x" * 32_000, "x" * 32_000, 1])
    book.save(file)
    return file.getvalue()


def opendocument(cells: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("content.xml", f'<body><table name="a">{cells}</table></body>')
    return file.getvalue()


def zipped(name: str) -> bytes:
    """A zip file with an empty member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        new.writestr(name, b"")
    return file.getvalue()


def nested() -> bytes:
    """Lists of which each holds a long text many times."""
    file = io.BytesIO()
    text = random.Random(0).randbytes(1 << 20).hex()
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), [text])
    lists = pa.ListArray.from_arrays(pa.array(range(0, 3001, 10), pa.int32()), cells)
    pq.write_table(pa.table({"option": ["a"] * 300, "score": lists}), file)
    return file.getvalue()


CELL = '<c r="{}{}"><v>1</v></c>'
BOMBS: dict[str, Callable[[], bytes]] = {
    "row.xlsx": lambda: sheet(f'<row r="99999999999">{CELL.format("A", 99999999999)}</row>'),
    "rows.xlsx": lambda: sheet("<row/>" * 5_000_000),
    "last cells.xlsx": lambda: sheet(
        "".join(f'<row r="{n}">{CELL.format("XFD", n)}</row>' for n in range(1, 20_001))
    ),
    "cells in a row.xlsx": lambda: sheet(f'<row r="1">{"<c/>" * 8_000_000}</row>'),
    "nested.xlsx": lambda: sheet("<a>" * 4_000_000 + "</a>" * 4_000_000),
    "shared.xlsx": shared,
    "texts.xlsx": lambda: workbook(
        "xl/sharedStrings.xml", lambda _: b"<sst>" + b"<si/>" * 20_000_000 + b"</sst>"
    ),
    "sheets.ods": lambda: opendocument(
        f'<table-row>{"<table-cell/>" * 1000}</table-row></table><table name="b">' * 1000
    ),
    "cells.ods": lambda: opendocument(
        '<table-row number-rows-repeated="1000000"><table-cell number-columns-repeated="16000" '
        'value-type="float" value="1"/></table-row>'
    ),
    "long.ods": lambda: opendocument(
        '<table-row number-rows-repeated="1000000"><table-cell number-columns-repeated="2">'
        f"<p>{'x' * 100_000}</p></table-cell></table-row>"
    ),
    "lists.parquet": nested,
    "cells.parquet": lambda: parquet(dictionary=False),
    "same cells.parquet": lambda: parquet(dictionary=True),
    "long.parquet": lambda: long_parquet(pa.string()),
    "bytes.parquet": lambda: long_parquet(pa.binary()),
    "rows.parquet": many_rows,
    "lines.csv.gz": lambda: gzip.compress(b"option,score\n" + b"a,1\n" * (16 << 20)) * 60,
    "blank.csv.gz": lambda: gzip.compress(b"\n" * (64 << 20)) * 60,
    "log.json.gz": lambda: gzip.compress(b"[" + b" " * (17 << 20) + b"]"),
    "log.eval": lambda: rezipped(zipped("header.json"), "header.json", lambda _: b" " * (17 << 20)),
    "blanks.xlsx": lambda: sheet(" " * (17 << 20)),
    "columns.csv": lambda: b"".join(
        b",".join(b"%d" % (i + n) for i in range(1_000_000)) + b"\n" for n in range(2)
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    assert path.stat().st_size < 32 << 20
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert int(done.stdout.splitlines()[-1]) < 400
