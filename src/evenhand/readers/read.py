"""Read logs, of whichever tool they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.errors import InputError
from evenhand.readers import alpaca_eval, deepeval, inspect_logs, lm_eval, plain, promptfoo
from evenhand.readers.archives import Archive
from evenhand.readers.documents import Document, opened
from evenhand.readers.families import Families, GivenFamilies
from evenhand.readers.frame import Choice, framed
from evenhand.tables.names import listed

if TYPE_CHECKING:
    import pandas as pd

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, or several of them."""

_LOGS: tuple[ModuleType, ...] = (inspect_logs, promptfoo, alpaca_eval, deepeval, lm_eval)
_FORMATS: dict[str, ModuleType] = {reader.NAME: reader for reader in (*_LOGS, plain)}
_LOG_ENDINGS = {".eval", ".json", ".jsonl"}
_ENDINGS = _LOG_ENDINGS | {".csv", ".tsv", ".xlsx", ".parquet", ".gz"}


def read_scores(
    path: Paths,
    format: str | None = None,
    *,
    families: GivenFamilies = None,
    option: Choice = None,
    metric: Choice = None,
) -> pd.DataFrame:
    """Return the scores in evaluation logs as one frame, a row each, ready for `audit`.

    Reads logs of Inspect, results of promptfoo, annotations of AlpacaEval, test runs of DeepEval,
    results of lm-evaluation-harness, and plain tables; by what is in a file, not by its name.

    Parameters
    ----------
    path
        A file, a folder, or several: tools write one for each model or judge, and they are read
        together.
    format
        "inspect", "promptfoo", "alpaca_eval", "deepeval", "lm_eval" or "table"; None finds out.
    families
        Families of models by name, or by whole words in names, that come before those known: a
        mapping, or the path of a CSV file (columns ``name``, ``family``) or a JSON file.
    option
        What is compared: "model", "prompt", or whatever a log has several of; several are taken
        together. None: models where they differ, else what does.
    metric
        Which metric to read, or several; needed where there is more than one.

    Returns
    -------
    pandas.DataFrame
        Columns ``option``, ``evaluator``, ``item``, ``score``; in comparisons ``rival``, and the
        score says by how much the first is better, −1 to 1; ``option_group``, ``rival_group`` and
        ``evaluator_group``, families; ``length`` and ``rival_length``, characters of the answers.
        Columns of which nothing is known are not there. ``frame.attrs["notes"]`` has what is to be
        said: what was left out and why.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import evenhand as eh
    >>> verdict = {"instruction": "Why?", "generator_1": "gpt-4", "output_1": "So.",
    ...            "generator_2": "vicuna-7b", "output_2": "Because.", "annotator": "gpt-4o",
    ...            "preference": 1.25}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "annotations.json"
    ...     _ = file.write_text(json.dumps([verdict]))
    ...     scores = eh.read_scores(file)
    >>> scores.iloc[0].to_dict()
    {'option': 'gpt-4', 'evaluator': 'gpt-4o', 'item': 'Why?', 'score': 0.5, 'rival': 'vicuna-7b',
     'option_group': 'gpt', 'rival_group': 'llama', 'evaluator_group': 'gpt',
     'length': 3, 'rival_length': 8}
    """
    if format is not None and format not in _FORMATS:
        raise InputError(f"format={format!r} is not known; known are {listed(list(_FORMATS))}.")
    known, notes = Families.of(families), list[str]()
    documents, skipped = _documents(path, format)
    if skipped:
        notes.append(f"Left out, as they are no logs: {listed(skipped)}.")
    if all(reader is plain for _, reader in documents):
        frame = _of_tables([document for document, _ in documents], known, notes)
    else:
        logs = [document for document, reader in documents if reader is lm_eval]
        kept = {id(document) for document in lm_eval.without_totals(logs)}
        records = []
        for document, reader in documents:
            if reader is lm_eval and id(document) not in kept:
                continue
            if hasattr(reader, "notes"):
                notes += [note for note in reader.notes(document) if note not in notes]
            records += list(reader.records(document))
        frame, said = framed(records, option, metric, known)
        notes += said
    frame.attrs["notes"] = notes
    return frame


def table_of(scores: Any) -> Any:
    """Return what is to be read as a table of scores: logs and folders of them become one.

    Parameters
    ----------
    scores
        A path, or anything else, which stays as it is. So does the path of a file that is a table
        by its name's ending: whoever reads it knows which column is which.

    Examples
    --------
    >>> table_of("scores.csv"), table_of([1, 2])
    ('scores.csv', [1, 2])
    """
    if not isinstance(scores, str | PathLike):
        return scores
    path = Path(fspath(scores))
    return read_scores(path) if path.suffix.lower() in _LOG_ENDINGS or path.is_dir() else scores


def _of_tables(documents: list[Document], known: Families, notes: list[str]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 # slow to load

    frames = [plain.frame_of(document, known, notes) for document in documents]
    return pd.concat(frames, ignore_index=True)


def _documents(
    path: Paths, format: str | None
) -> tuple[list[tuple[Document, ModuleType]], list[str]]:
    """The files with their readers, and the names of those in folders that are no logs.

    Of a folder, logs are read, and tables only where there is no log.
    """
    given = [path] if isinstance(path, (str, PathLike)) else list(path)
    if not given:
        raise InputError("no file is given; give the path of a log, a folder, or a list of them.")
    found: list[tuple[Document, ModuleType]] = []
    skipped: list[str] = []
    for one in [Path(fspath(name)) for name in given]:
        if not one.is_dir():
            document = opened(one)
            found.append((document, _reader(document, format)))
            continue
        inside, strange = _in_folder(one, format)
        found += inside
        skipped += strange
    readers = {reader for _, reader in found}
    if plain in readers and len(readers) > 1:
        tables = [document.where for document, reader in found if reader is plain]
        raise InputError(f"{listed(tables)}: plain tables among logs; read them apart.")
    return found, skipped


def _in_folder(
    folder: Path, format: str | None
) -> tuple[list[tuple[Document, ModuleType]], list[str]]:
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and file.suffix.lower() in _ENDINGS
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    ]
    found, strange = [], []
    for file in files:
        document = opened(file)
        reader = _known(document, format)
        if reader is None:
            strange.append(document.where)
        else:
            found.append((document, reader))
    logs = [(document, reader) for document, reader in found if reader is not plain]
    if logs:
        strange += [document.where for document, reader in found if reader is plain]
    if not found:
        raise InputError(
            f"there is no log in the folder {str(folder)!r}"
            + (f" ({listed(strange)} are none)" if strange else "")
            + f"; known are {_all_wanted()}."
        )
    return logs or found, strange


def _known(document: Document, format: str | None) -> ModuleType | None:
    readers: Iterable[ModuleType] = _FORMATS.values() if format is None else [_FORMATS[format]]
    return next((reader for reader in readers if reader.recognises(document.content)), None)


def _reader(document: Document, format: str | None) -> ModuleType:
    reader = _known(document, format)
    if reader is not None and not (reader is plain and _lookalike(document.content)):
        return reader
    wanted = _all_wanted() if format is None else _FORMATS[format].WANTED
    raise InputError(
        f"{document.where} {_lookalike(document.content) or _seen(document.content)}; what can be "
        f"read is {wanted}."
    )


def _lookalike(content: Any) -> str | None:
    """What a file is that comes with logs and has no scores."""
    if isinstance(content, Mapping):
        if {"prompts", "providers"} <= set(content):
            return "looks like a configuration of promptfoo, not its results"
        if "test_cases_lookup_map" in content:
            return "looks like DeepEval's cache, not a test run"
        if isinstance(content.get("results"), Mapping) and "results" in content["results"]:
            return "looks like results of promptfoo without a single result"
        if "testCases" in content or "testRunData" in content:
            return "looks like a test run of DeepEval without a single metric"
    rows = content if isinstance(content, list) else []
    first = rows[0] if rows and isinstance(rows[0], Mapping) else {}
    if {"instruction", "output", "generator"} <= set(first) and "preference" not in first:
        return "looks like answers for AlpacaEval, not yet annotated"
    if {"output_1", "output_2", "preference"} <= set(first) and "generator_1" not in first:
        return "looks like AlpacaEval's cache: it does not say whose answers they are"
    return None


def _seen(content: Any) -> str:
    if isinstance(content, Archive):
        return f"is an archive of {listed(list(content.members))}"
    if isinstance(content, Mapping):
        return f"is JSON with {listed(list(content))}" if content else "is an empty JSON object"
    if isinstance(content, list):
        first = content[0] if content else None
        if isinstance(first, Mapping):
            return f"is a list of objects with {listed(list(first))}"
        return "is an empty list" if not content else f"is a list of {type(first).__name__}s"
    return "is a table"


def _all_wanted() -> str:
    wanted: list[str] = [reader.WANTED for reader in _FORMATS.values()]
    return "; ".join(wanted[:-1]) + "; or " + wanted[-1]
