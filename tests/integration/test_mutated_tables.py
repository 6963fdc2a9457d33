"""Damaged files of every kind: each is read, or refused in words, and soon."""

from __future__ import annotations

import io
import random
import time
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import evenhand as eh
from table_files import KINDS, rezipped

_TIMES = 25  # of each kind
_TOKENS = (
    b'"', b",", b"\n", b"\0", b"\xff", b"1e999", b"9" * 400, b"nan", b"-1", b"\xed\xa0\xbd",
    b"\\ud800", b"99999999999", b"&#0;", b'r="ZZZ9"', b"2020-01-01", b"[", b"{", b"1,200",
)  # fmt: skip
_FRAME = pd.DataFrame(
    [(o, j, 7.5 - i + 0.5 * (k == i)) for i, o in enumerate("abc") for k, j in enumerate("PQRS")],
    columns=["option", "evaluator", "score"],
)


def mutated(content: bytes, by: random.Random) -> bytes:
    """Flip, cut, double, insert or replace bytes, once or several times."""
    changed = bytearray(content)
    for _ in range(by.choice((1, 1, 2, 5))):
        start = by.randrange(len(changed) or 1)
        end = start + by.choice((1, 3, 50))
        some: bytes = by.choice((bytes(changed[start:end]) * 2, by.choice(_TOKENS), b""))
        if by.random() < 0.3 and start < len(changed):
            changed[start] ^= 1 << by.randrange(8)
        elif by.random() < 0.1:
            del changed[start:]
        else:
            changed[start : by.choice((start, end))] = some
    return bytes(changed)


def mutated_member(content: bytes, by: random.Random) -> bytes:
    """A zip file of which one member is changed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
    return rezipped(content, by.choice(names), lambda inside: mutated(inside, by))


WHOLE = {kind: write(_FRAME) for kind, write in KINDS.items()} | {
    "rows.json": _FRAME.to_json(orient="records").encode(),
    "rows.jsonl": _FRAME.to_json(orient="records", lines=True).encode(),
    "utf-16.csv": _FRAME.to_csv(index=False).encode("utf-16"),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_damaged_file_is_read_or_refused_in_words(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    by = random.Random(kind)
    for _ in range(_TIMES):
        deep = kind.endswith((".xlsx", ".ods")) and by.random() < 0.8
        path.write_bytes((mutated_member if deep else mutated)(WHOLE[kind], by))
        start = time.process_time()
        try:
            eh.read_scores(path)
        except eh.errors.EvenhandError as error:
            assert str(error)  # noqa: PT017 # some are read all the same
        assert time.process_time() - start < 5
