"""Read scores: of a table, or of logs, of whichever tool they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from os.path import isdir
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from evenhand.errors import InputError
from evenhand.readers import deepeval, inspect_logs, pairwise, promptfoo
from evenhand.readers.documents import Archive, Document, Format, opened, too_deep
from evenhand.readers.families import Families, GivenFamilies
from evenhand.readers.frame import Choice, framed
from evenhand.scores import Scores
from evenhand.scores.grades import Grades, grades_in
from evenhand.scores.roles import ReadOptions
from evenhand.tables.texts import listed

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, or several of them."""

_TABLE = "table"
_LOGS = {
    one.name: one
    for one in (inspect_logs.FORMAT, promptfoo.FORMAT, deepeval.FORMAT, *pairwise.FORMATS)
}
_KNOWN = Families()
_LONGEST = 4_096  # bytes of a path
_ENDINGS = {".eval", ".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".ods", ".parquet", ".gz"}


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
        models where they differ, else what does; "log" for one log against another.

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

    if format not in (None, _TABLE, *_LOGS):
        raise InputError(f"format={format!r} is not known; known are {listed([*_LOGS, _TABLE])}.")
    columns = ReadOptions(repeats=True, beside=True, telling=False) | columns
    known = _KNOWN if families is None else Families(families)
    if not _is_path(table) and not (isinstance(table, list | tuple) and all(map(_is_path, table))):
        if metric is not None or format not in (None, _TABLE):
            raise InputError("format= and metric= are for logs in files; give their path.")
        return read_table(_of_dataset(table), families=known.groups, **columns)
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
    found: list[tuple[Document, Format | None]] = []
    skipped: list[str] = []
    for one in given:
        if isdir(one):  # no error, whatever the path
            inside, strange = _in_folder(one, format)
            found += inside
            skipped += strange
        else:
            found.append(_known(opened(one), format))
    tables = [document for document, log in found if log is None]
    notes = [f"Left out, as they are no logs: {listed(skipped)}."] if skipped else []
    if len(tables) == len(found):
        return InFiles(_table_of(tables), tuple(notes), is_log=False)
    if tables:
        where = listed([document.where for document in tables])
        raise InputError(f"{where}: plain tables among logs; read them apart.")
    records = []
    stems = [document.path.stem for document, _ in found]
    for (document, log), stem in zip(found, stems, strict=True):
        assert log is not None
        name = stem if stems.count(stem) == 1 else document.where
        try:
            records += [(name, one) for one in log.records(document, notes)]
        except RecursionError:
            raise too_deep(document.where) from None
    frame, said = framed(
        records, None if option == "option" else option, metric, families or _KNOWN,
        grades_in(grades),
    )  # fmt: skip
    return InFiles(frame, tuple(dict.fromkeys((*notes, *said))), is_log=True)


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


def _in_folder(
    folder: Path, format: str | None
) -> tuple[list[tuple[Document, Format | None]], list[str]]:
    """Return the logs in a folder, or its tables if there are none, and what was skipped."""
    files = (file for file in sorted(folder.rglob("*")) if file.suffix.lower() in _ENDINGS)
    read = [
        opened(file)
        for file in files
        if file.is_file() and not any(p[0] == "." for p in file.relative_to(folder).parts)
    ]
    logs: list[tuple[Document, Format | None]] = []
    tables: list[tuple[Document, Format | None]] = []
    strange: list[str] = []
    for document in read:
        try:
            found = _known(document, format)
        except InputError:
            strange.append(document.where)
        else:
            (tables if found[1] is None else logs).append(found)
    if logs:
        strange += [document.where for document, _ in tables]
    if not (logs or tables):
        none = f" ({listed(strange)} are none)" if strange else ""
        where = f"the folder {str(folder)!r}{none}"
        raise InputError(f"there is no log in {where}; known are {_wanted(None)}.")
    return logs or tables, strange


def _known(document: Document, format: str | None) -> tuple[Document, Format | None]:
    """Return a document with its format, None if it is a table; or refuse it."""
    content, logs = document.content, [log for log in _LOGS.values() if format in (None, log.name)]
    if content is not None:
        for log in logs:
            if log.recognises(content):
                return document, log
    rows = isinstance(content, list) and content and all(isinstance(r, dict) for r in content)
    if format in (None, _TABLE) and (content is None or rows):
        return document, None
    raise InputError(f"{document.where} {_seen(content)}; what can be read is {_wanted(format)}.")


def _wanted(format: str | None) -> str:
    table = "a table (CSV, TSV, Excel, Parquet, lines of JSON) with the columns option, evaluator, "
    known = {name: log.wanted for name, log in _LOGS.items()} | {_TABLE: f"{table}score"}
    return "; or ".join(wanted for name, wanted in known.items() if format in (None, name))


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
