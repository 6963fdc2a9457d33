"""Read scores: of a table, or of logs, of whichever tool they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from os.path import isdir
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from evenhand.errors import InputError, Remedy
from evenhand.readers import deepeval, inspect_logs, pairwise, promptfoo
from evenhand.readers.documents import Archive, Document, Format, opened, too_deep
from evenhand.readers.families import Families, GivenFamilies
from evenhand.readers.frame import Choice, framed
from evenhand.scores import Scores
from evenhand.scores.grades import Grades, grades_in
from evenhand.scores.roles import ROLES, ReadOptions
from evenhand.tables.texts import listed

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, or several of them."""

_LOGS = (inspect_logs.FORMAT, promptfoo.FORMAT, deepeval.FORMAT, *pairwise.FORMATS)
_WANTED = (
    "a log of Inspect, promptfoo, DeepEval, AlpacaEval (annotations), MT-bench or arena-hard "
    "(judgments), or a table with the columns option, evaluator, score"
)
_LONGEST = 4_096  # bytes of a path
_ENDINGS = {".eval", ".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".ods", ".parquet", ".gz"}


def read_scores(
    table: Any,
    *,
    families: GivenFamilies = None,
    metric: Choice = None,
    **reading: Unpack[ReadOptions],
) -> Scores:
    """Return the scores in a table, or in logs of evaluation tools.

    Reads logs of Inspect, results of promptfoo, test runs of DeepEval, annotations of AlpacaEval,
    judgments of MT-bench and arena-hard, and tables; by what is in a file, not by its name.
    `audit`, `decide` and `Questions.from_scores` read what they are given by this.

    Parameters
    ----------
    table
        A frame of pandas, polars or pyarrow; rows, as a list of mappings; an open file; the path
        of a table (CSV, TSV, Parquet, Excel, lines of JSON; compressed, too), of a log, of a
        folder, or several paths: tools write one for each model or judge, and they are read
        together. Or `Scores`, of which more is asked.
    families
        Families of models by name, or by whole words in names, that come before those known: a
        mapping, or the path of a table (columns ``name``, ``family``). Where most options are
        models by their names, and no column has groups, families are groups.
    metric
        Which metric of a log to read, or several; needed where there is more than one.
    reading
        ``columns``: which column has which role, where its name does not say so, as
        ``columns={"option": "wine", "evaluator": "taster"}``; and how the table is written:
        ``criteria``, ``scale``, ``best``, ``wide``, ``grades``, ``missing``, ``copies``,
        ``repeats``, ``decimal``. See `evenhand.scores.roles.ReadOptions`. In a log, ``option`` is
        what is compared: "model", "prompt", or whatever it has several of; models where they
        differ, else what does; "log" for one log against another.

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

    if strange := [name for name in reading if name not in ReadOptions.__annotations__]:
        role = Remedy("columns", {strange[0]: reading[strange[0]]}, "if a column has that role")  # type: ignore[literal-required]
        raise InputError(f"there is no argument {strange[0]!r}", *[role] * (strange[0] in ROLES))
    reading = ReadOptions(repeats=True, beside=True, telling=False) | reading
    columns = dict(reading.get("columns") or {})
    known = Families(families)
    if not _is_path(table) and not (isinstance(table, list | tuple) and all(map(_is_path, table))):
        if metric is not None:
            raise InputError("metric is for logs in files; give their path.")
        return read_table(_of_dataset(table), families=known.groups, **reading)
    option, grades = columns.pop("option", None), reading.get("grades")
    found = in_files(table, metric=metric, option=option, grades=grades)
    if found.is_log:
        reading |= {"columns": columns, "grades": None}
        known.known_as = found.known_as
    return read_table(found.table, families=known.groups, said=found.notes, **reading)


@dataclass(frozen=True)
class InFiles:
    """What files hold: a table, or logs as a frame, whose columns are called as their roles."""

    table: Any
    notes: tuple[str, ...]
    is_log: bool
    known_as: dict[str, str] = field(default_factory=dict)  # models by names that say less


def in_files(
    path: Paths,
    *,
    metric: Choice = None,
    option: Choice = None,
    grades: Grades = None,
) -> InFiles:
    """Return the table or the logs in files, as `read_scores` reads them and pages show them."""
    given = [_path(one) for one in ([path] if isinstance(path, str | PathLike) else path)]
    if not given:
        raise InputError("no file is given; give the path of a log, a folder, or a list of them.")
    notes, found = list[str](), list[_Known]()
    for one in given:  # which is a folder without an error, whatever the path
        found += _in_folder(one, notes) if isdir(one) else [_known(opened(one))]
    tables = [document for document, log in found if log is None]
    if len(tables) == len(found):
        return InFiles(_table_of(tables), tuple(notes), is_log=False)
    if tables:
        where = listed([document.where for document in tables])
        raise InputError(f"{where}: plain tables among logs; read them apart.")
    records = []
    stems = Counter(document.path.stem for document, _ in found)
    for document, log in found:
        assert log is not None
        stem = document.path.stem
        try:
            name = stem if stems[stem] == 1 else document.where
            records += [(name, one) for one in log.records(document, notes)]
        except RecursionError:
            raise too_deep(document.where) from None
    option = None if option == "option" else option
    frame, said = framed(records, option, metric, grades_in(grades))
    known_as = {name: other for _, one in records for name, other in one.known_as.items()}
    return InFiles(frame, tuple(dict.fromkeys((*notes, *said))), is_log=True, known_as=known_as)


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str | PathLike)


def _path(given: str | PathLike[str]) -> Path:
    text = str(fspath(given))
    if "\n" in text or len(text) > _LONGEST:
        raise InputError("a text is no path of a file; give an open file: io.StringIO(text).")
    return Path(text)


def _of_dataset(table: Any) -> Any:
    """Return a `datasets.Dataset` as its Arrow table, with names for numbers of classes."""
    if not hasattr(table, "with_format"):
        return table
    if not isinstance(getattr(table, "num_rows", None), int):
        raise InputError("of a dataset give one split, not streamed: load_dataset(…, split=…).")
    arrow = table.with_format("arrow")[:]
    for place, (name, feature) in enumerate(table.features.items()):
        if names := getattr(feature, "names", None):
            texts = [None if code is None else names[code] for code in arrow[name].to_pylist()]
            arrow = arrow.set_column(place, name, [texts])
    return arrow


def _table_of(documents: Sequence[Document]) -> Any:
    """Return the table in a file; of several, one below the other."""
    from evenhand.tables.opened import of_rows, open_table, stacked  # noqa: PLC0415 # pyarrow

    first, *others = (
        open_table(one.path) if one.content is None else of_rows(one.content, one.where, "object")
        for one in documents
    )
    return stacked([first, *others]) if others else first


_Known: TypeAlias = tuple[Document, Format | None]
"""A document with its format; None for a table."""


def _in_folder(folder: Path, notes: list[str]) -> list[_Known]:
    """Return the logs in a folder, or its tables if there are none, and note what was skipped."""
    found, strange = list[_Known](), list[str]()
    for file in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if hidden or file.suffix.lower() not in _ENDINGS or not file.is_file():
            continue
        document = opened(file)
        try:
            found.append(_known(document))
        except InputError:
            strange.append(document.where)
    if not found:
        none = f" ({listed(strange)} are none)" if strange else ""
        raise InputError(
            f"there is no log in the folder {str(folder)!r}{none}; known are {_WANTED}."
        )
    logs = [one for one in found if one[1] is not None]
    strange += [document.where for document, log in found if log is None and logs]
    if strange:
        notes.append(f"Left out, as they are no logs: {listed(strange)}.")
    return logs or found


def _known(document: Document) -> _Known:
    """Return a document with its format, None if it is a table; or refuse it."""
    content = document.content
    if content is None:
        return document, None
    for log in _LOGS:
        if log.recognises(content):
            return document, log
    if isinstance(content, list) and content and all(isinstance(row, dict) for row in content):
        return document, None
    names = content.members if isinstance(content, Archive) else content
    what = "an archive of" if isinstance(content, Archive) else "JSON with"
    if isinstance(content, list):
        names = {type(row).__name__: row for row in content}
    seen = f"is {what} {listed(list(names))}" if names else "is JSON with nothing in it"
    raise InputError(f"{document.where} {seen}; what can be read is {_WANTED}.")
