"""Results of the LM Evaluation Harness: ``samples_*.jsonl`` and ``results_*.json``.

Samples have a score for each document, results one for each task; where both are there, samples
count. The model's name stands in the results, and in the name of the folder that both are in.
Metrics that only a whole task has, such as BLEU, are no scores of a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.errors import InputError
from evenhand.readers.documents import Document, entries, members, name_of, opened, reach
from evenhand.readers.frame import LoggedScore, size_of

NAME = "lm_eval"
WANTED = "results of lm-evaluation-harness (results_*.json, or samples_*.jsonl of --log_samples)"


def recognises(content: Any) -> bool:
    """Tell whether these are results or samples of the harness."""
    return _are_results(content) or _are_samples(content)


def _are_results(content: Any) -> bool:
    return (
        isinstance(content, Mapping)
        and isinstance(content.get("results"), Mapping)
        and ("configs" in content or "config" in content)
        and bool(content["results"])
        and all(isinstance(task, Mapping) for task in content["results"].values())
    )


def _are_samples(content: Any) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(
            isinstance(row, Mapping) and {"doc_id", "doc", "resps"} <= set(row)
            for row in content[:3]
        )
    )


def without_totals(documents: list[Document]) -> list[Document]:
    """Return what is to be read: no results of runs whose samples are there."""
    runs = {_run(document.path) for document in documents if _are_samples(document.content)}
    return [
        document
        for document in documents
        if not (_are_results(document.content) and _run(document.path) in runs)
    ]


def _run(path: Path) -> tuple[Path, str]:
    """Folder and time of a run, which its files have in common."""
    time = re.search(r"\d{4}-\d\d-\d\dT[\d.-]+\d", path.name)
    return path.parent, time[0] if time else path.stem


def records(document: Document) -> Iterator[LoggedScore]:
    """Yield the scores of samples, or of whole tasks."""
    if _are_samples(document.content):
        yield from _of_samples(document)
    else:
        yield from _of_tasks(document)


def _of_samples(document: Document) -> Iterator[LoggedScore]:
    model, task = _model(document.path), _task(document.path)
    for number, row in enumerate(document.content, 1):
        metrics = members(row, "metrics") or [
            name
            for name, value in entries(row).items()
            if isinstance(value, (int, float)) and name != "doc_id"
        ]
        answer = next(iter(members(row, "filtered_resps")), None)
        scalars = [
            name
            for name in metrics
            if isinstance(name, str) and isinstance(reach(row, name), (int, float, str))
        ]
        common: dict[str, Any] = {
            "item": name_of(reach(row, "doc_id")) or str(number),
            "model": model,
            "task": task,
            "where": f"{document.where}, line {number}",
        }
        for name in scalars:
            metric = _called(name, str(row.get("filter") or "none"))
            yield LoggedScore(
                row[name], judge=metric, metric=metric, length=size_of(answer), **common
            )
        if not scalars:
            said = "its metrics have no score for a single document"
            yield LoggedScore(None, judge="", metric="", trouble=said, **common)


def _of_tasks(document: Document) -> Iterator[LoggedScore]:
    content = document.content
    model = name_of(content.get("model_name")) or _model_of_arguments(content)
    model = model or document.path.stem
    for task, found in content["results"].items():
        for key, value in found.items():
            name, _, kind = key.partition(",")
            if name.endswith("_stderr") or name == "sample_len":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            metric = _called(name, kind or "none")
            yield LoggedScore(
                value,
                item=task,
                model=model,
                judge=metric,
                metric=metric,
                where=f"{document.where}, task {task!r}",
            )


def _called(metric: str, kind: str) -> str:
    """A metric, and how answers were picked out for it if that is not plain."""
    return metric if kind == "none" else f"{metric} ({kind})"


def _task(path: Path) -> str:
    return re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.-]+$", "", path.stem)


def _model(path: Path) -> str:
    """The model of some samples: by the results beside them, else by the folder's name."""
    folder, time = _run(path)
    for results in sorted(folder.glob(f"results*{time}*.json")):
        try:
            found = opened(results).content
        except InputError:
            continue
        name = name_of(reach(found, "model_name")) or _model_of_arguments(found)
        if name:
            return name
    return folder.resolve().name.replace("__", "/")


def _model_of_arguments(content: Any) -> str | None:
    arguments = reach(content, "config", "model_args")
    if isinstance(arguments, Mapping):
        return name_of(arguments.get("pretrained") or arguments.get("model"))
    found = re.search(r"(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return found[1] if found else name_of(reach(content, "config", "model"))
