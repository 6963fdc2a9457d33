"""A frame as a file of each kind that tables are read from."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import zipfile
from collections.abc import Callable
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd


def text(frame: pd.DataFrame, **how: Any) -> bytes:
    return str(frame.to_csv(index=False, **how)).encode()


def workbook(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_excel(file, index=False)
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.to_parquet(file)
    return file.getvalue()


def opendocument(frame: pd.DataFrame) -> bytes:
    """What LibreOffice writes, as far as it is read; cells that are the same are written once."""

    def cell(value: Any, times: int) -> str:
        text = escape(str(value))
        kind = "string" if isinstance(value, str) else f'float" office:value="{text}'
        many = f' table:number-columns-repeated="{times}"' if times > 1 else ""
        return (
            f'<table:table-cell{many} office:value-type="{kind}"><office:annotation><text:p>by hand'
            f"</text:p></office:annotation><text:p>{text}</text:p></table:table-cell>"
        )

    lines = [[*frame.columns], *frame.itertuples(index=False)]
    rows = "".join(
        "<table:table-row>"
        + "".join(cell(value, len([*same])) for value, same in groupby(line))
        + '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
        for line in lines
    )
    names = ("office", "table", "text")
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in names)
    blank = '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="First">{rows}{blank}</table:table-row></table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return file.getvalue()


KINDS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "table.csv": text,
    "table.tsv": lambda frame: text(frame, sep="\t"),
    "semicolons.csv": lambda frame: text(frame, sep=";", decimal=","),
    "marked.csv": lambda frame: b"\xef\xbb\xbf" + text(frame, lineterminator="\r\n"),
    "table.csv.gz": lambda frame: gzip.compress(text(frame)),
    "packed without saying so": lambda frame: bz2.compress(text(frame)),
    "table.parquet": parquet,
    "table.xlsx": workbook,
    "table.ods": opendocument,
    "quoted.csv": lambda frame: text(frame, quoting=csv.QUOTE_ALL),
}


def rezipped(content: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """A zip file of which one member is changed."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.namelist():
            inside = old.read(member)
            new.writestr(member, change(inside) if member == name else inside)
    return file.getvalue()
