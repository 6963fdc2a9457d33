"""Read scores: of a table, or of logs, of whichever tool they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import isdir
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, Unpack

from evenhand.errors import InputError
from evenhand.readers import alpaca_eval, deepeval, inspect_logs, promptfoo
from evenhand.readers import documents as plain
from evenhand.readers.documents import Archive, Document, opened
from evenhand.readers.families import Families, GivenFamilies
from evenhand.readers.frame import Choice, framed
from evenhand.scores import Scores
from evenhand.scores.grades import Grades, grades_in
from evenhand.scores.roles import ReadOptions
from evenhand.tables.texts import listed

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, or several of them."""

_LOGS: tuple[ModuleType, ...] = (inspect_logs, promptfoo, alpaca_eval, deepeval)
_FORMATS: dict[str, ModuleType] = {reader.NAME: reader for reader in (*_LOGS, plain)}
_KNOWN = Families({})
_LONGEST = 4_096  # bytes of a path
_ENDINGS = {".eval", ".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".parquet", ".gz"}


def read_scores(
    table: Any,
    format: str | None = None,
    *,
    families: GivenFamilies = None,
    metric: Choice = None,
    **columns: Unpack[ReadOptions],
) -> Scores:
    """Return the scores in a table, or in logs of evaluation tools.

    Reads logs of Inspect, results of promptfoo, annotations of AlpacaEval, test runs of DeepEval,
    and tables; by what is in a file, not by its name. `audit`, `decide` and
    `Questions.from_scores` read what they are given by this.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow; rows, as a list of mappings; an open file; the path
        of a table (CSV, TSV, Parquet, Excel, lines of JSON; compressed, too), of a log, of a
        folder, or several paths: tools write one for each model or judge, and they are read
        together. Or `Scores`, of which more is asked.
    format
        "inspect", "promptfoo", "alpaca_eval", "deepeval" or "table"; None finds out.
    families
        Families of models by name, or by whole words in names, that come before those known: a
        mapping, or the path of a table (columns ``name``, ``family``). Where most options are
        models by their names, and no column has groups, families are groups.
    metric
        Which metric of a log to read, or several; needed where there is more than one.
    columns
        Which column has which part, where its name does not say so: ``option``, ``evaluator``,
        ``score``, ``rival``, ``item``, ``event``, ``cluster``, ``option_group``, ``rival_group``,
        ``evaluator_group``, ``partial``, ``reference``, ``attributes``, ``time``; and
        how the table is written: ``scale``, ``wide``, ``missing``, ``decimal``. See `audit`. In a
        log, ``option`` is what is compared: "model", "prompt", or whatever it has several of;
        models where they differ, else what does.

    Returns
    -------
    Scores
        `Scores.to_frame` has a row for each. In comparisons the score says by how much the first is
        better, −1 to 1 in logs. ``notes`` has what is to be said: what was left out and why.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import evenhand as eh
    >>> verdict = {"instruction": "Why?", "generator_1": "gpt-4", "output_1": "So.",
    ...            "generator_2": "vicuna-7b", "output_2": "Because.", "annotator": "gpt-4o"}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "annotations.json"
    ...     _ = file.write_text(json.dumps([verdict | {"preference": 1.25},
    ...                                     verdict | {"preference": 2, "instruction": "How?"}]))
    ...     scores = eh.read_scores(file)
    >>> print(str(scores).splitlines()[0])
    2 comparisons of 2 options by 1 evaluator on 2 items, from -0.5 to 1
    >>> scores.to_frame().iloc[0].to_dict()
    {'option': 'vicuna-7b', 'evaluator': 'gpt-4o', 'item': 'Why?', 'score': -0.5, 'rival': 'gpt-4',
     'option_group': 'llama', 'rival_group': 'gpt', 'evaluator_group': 'gpt',
     'length': 8, 'rival_length': 3}
    """
    from evenhand.scores.read import read_table  # noqa: PLC0415 # pyarrow takes long to load

    if format is not None and format not in _FORMATS:
        raise InputError(f"format={format!r} is not known; known are {listed(list(_FORMATS))}.")
    columns = ReadOptions(repeats=True, beside=True, telling=False) | columns
    known = _KNOWN if families is None else Families.of(families)
    if not _is_path(table) and not (isinstance(table, list | tuple) and all(map(_is_path, table))):
        if metric is not None or format not in (None, plain.NAME):
            raise InputError("format= and metric= are for logs in files; give their path.")
        return read_table(table, families=known.groups, **columns)
    found = in_files(
        table, format, families=known, metric=metric,
        option=columns.get("option"), grades=columns.get("grades"),
    )  # fmt: skip
    if found.is_log:
        columns = {c: v for c, v in columns.items() if c not in ("option", "grades")}  # type: ignore[assignment] # fewer of the same
        return read_table(found.table, said=found.notes, **columns)
    return read_table(found.table, families=known.groups, said=found.notes, **columns)


@dataclass(frozen=True)
class InFiles:
    """What files hold: a table, or logs as a frame, whose columns are called as their roles."""

    table: Any
    notes: tuple[str, ...]
    is_log: bool


def in_files(
    path: Paths,
    format: str | None = None,
    *,
    families: Families | None = None,
    metric: Choice = None,
    option: Choice = None,
    grades: Grades = None,
) -> InFiles:
    """Return the table or the logs in files, as `read_scores` reads them and pages show them."""
    given = [_path(one) for one in ([path] if isinstance(path, str | PathLike) else path)]
    if not given:
        raise InputError("no file is given; give the path of a log, a folder, or a list of them.")
    found: list[tuple[Document, ModuleType]] = []
    skipped: list[str] = []
    for one in given:
        if isdir(one):  # no error, whatever the path
            inside, strange = _in_folder(one, format)
            found += inside
            skipped += strange
        else:
            found.append(_known(one, format))
    tables = [document for document, reader in found if reader is plain]
    notes = [f"Left out, as they are no logs: {listed(skipped)}."] if skipped else []
    if len(tables) == len(found):
        return InFiles(plain.table_of(tables), tuple(notes), is_log=False)
    if tables:
        where = listed([document.where for document in tables])
        raise InputError(f"{where}: plain tables among logs; read them apart.")
    records = []
    for document, reader in found:
        if hasattr(reader, "notes"):
            notes += [note for note in reader.notes(document) if note not in notes]
        records += list(reader.records(document))
    frame, said = framed(
        records, None if option == "option" else option, metric, families or _KNOWN,
        grades_in(grades),
    )  # fmt: skip
    return InFiles(frame, (*notes, *said), is_log=True)


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str | PathLike)


def _path(given: str | PathLike[str]) -> Path:
    text = str(fspath(given))
    if "\n" in text or len(text) > _LONGEST:
        raise InputError("a text is no path of a file; give an open file: io.StringIO(text).")
    return Path(text)


def _in_folder(
    folder: Path, format: str | None
) -> tuple[list[tuple[Document, ModuleType]], list[str]]:
    """Return the logs in a folder, or its tables if there are none, and what was skipped."""
    files = (file for file in sorted(folder.rglob("*")) if file.suffix.lower() in _ENDINGS)
    read = [
        (document := opened(file), _reader(document, format))
        for file in files
        if file.is_file() and not any(p[0] == "." for p in file.relative_to(folder).parts)
    ]
    found = [(document, reader) for document, reader in read if reader is not None]
    logs = [(document, reader) for document, reader in found if reader is not plain]
    strange = [document.where for document, reader in read if reader is None]
    if logs:
        strange += [document.where for document, reader in found if reader is plain]
    if not found:
        none = f" ({listed(strange)} are none)" if strange else ""
        where = f"the folder {str(folder)!r}{none}"
        raise InputError(f"there is no log in {where}; known are {_wanted(None)}.")
    return logs or found, strange


def _reader(document: Document, format: str | None) -> ModuleType | None:
    if format is None and document.content is None:  # a table
        return plain
    readers = _FORMATS.values() if format is None else [_FORMATS[format]]
    return next((reader for reader in readers if reader.recognises(document.content)), None)


def _known(path: Path, format: str | None) -> tuple[Document, ModuleType]:
    document = opened(path)
    reader = _reader(document, format)
    if reader is not None:
        return document, reader
    raise InputError(
        f"{document.where} {_seen(document.content)}; what can be read is {_wanted(format)}."
    )


def _wanted(format: str | None) -> str:
    return "; or ".join(r.WANTED for name, r in _FORMATS.items() if format in (None, name))


def _seen(content: Any) -> str:
    if isinstance(content, Archive):
        return f"is an archive of {listed(list(content.members))}"
    if isinstance(content, Mapping):
        return f"is JSON with {listed(list(content))}" if content else "is an empty JSON object"
    if not isinstance(content, list):
        return "is a table"
    if not content:
        return "is an empty list"
    if isinstance(content[0], Mapping):
        return f"is a list of objects with {listed(list(content[0]))}"
    return f"is a list of {type(content[0]).__name__}s"
