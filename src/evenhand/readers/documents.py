"""Files as documents: what is in them, by their first bytes, whatever they are called."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.readers.archives import Archive, archive_of
from evenhand.readers.nested import parsed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Document:
    """A file that was read.

    Parameters
    ----------
    path
        Where it is.
    content
        What JSON holds (objects and lists; lines of JSON as one list), an `Archive`, or a data
        frame for tables.
    """

    path: Path
    content: Any

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.path.as_posix()


def opened(path: Path) -> Document:
    r"""Return a file's content; an `InputError` says what is wrong with a file that cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "log.txt"
    ...     _ = file.write_text('{"score": 1}\n{"score": 0}\n')
    ...     opened(file).content
    [{'score': 1}, {'score': 0}]
    """
    try:
        with path.open("rb") as file:
            start = file.read(4)
            if start == b"PK\x03\x04":
                return Document(path, _archive_or_sheet(path))
            if start == b"PAR1":
                return Document(path, _parquet(path))
            if start == b"PK\x05\x06":
                raise InputError(
                    f"{path.as_posix()} is an empty archive: there are no scores in it."
                )
            content = start + file.read()
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path.as_posix()} is damaged: {error}. Copy it again.") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.as_posix()} is neither text in UTF-8 (byte {error.start}) nor an archive, "
            "Excel or Parquet file; save it as one of these."
        ) from None
    return Document(path, _text(text, path))


def _archive_or_sheet(path: Path) -> Archive | pd.DataFrame:
    archive = archive_of(path)
    return _sheet(path) if "xl/workbook.xml" in archive.members else archive


def _sheet(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    try:
        return pd.read_excel(path, engine="openpyxl")
    except ImportError:
        raise InputError(
            f"{path.as_posix()} is an Excel file, which takes openpyxl to read: pip install "
            '"evenhand[excel]", or save it as CSV.'
        ) from None
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{path.as_posix()} is a damaged Excel file: {short_of(error)}. Save it again."
        ) from None


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path.as_posix()} is a damaged Parquet file: {error}. Copy it again."
        ) from None


def _text(text: str, path: Path) -> Any:
    if not text.strip():
        raise InputError(f"{path.as_posix()} is empty: there are no scores in it.")
    if text.lstrip()[0] not in "{[":
        return _separated(text, path)
    try:
        return parsed(text, path.as_posix())
    except InputError as error:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise error from None
        return list(_lines(lines, path.as_posix()))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except json.JSONDecodeError:
        return False
    return True


def _lines(lines: list[tuple[int, str]], where: str) -> Iterator[Any]:
    for number, line in lines:
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{where}: line {number} is no JSON ({error.msg} in column {error.colno}); each "
                "line must be a whole object."
            ) from None


def _separated(text: str, path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    first = text.lstrip().partition("\n")[0]
    separator = max("\t;,|", key=lambda sign: (first.count(sign), sign == ","))
    try:
        return pd.read_csv(
            io.StringIO(text),
            sep=separator,
            decimal="," if separator == ";" and re.search(r"\d,\d", text) else ".",
            skipinitialspace=True,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"{path.as_posix()} is no table: {short_of(error)}.") from None


def short_of(error: Exception) -> str:
    """Return what an error says, on one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
