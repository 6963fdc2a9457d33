"""Results of DeepEval: test runs (``.deepeval``, ``DEEPEVAL_RESULTS_FOLDER``), or what `evaluate`
returned, as JSON.

A test case has metrics, each by the model that judged (``evaluationModel``) or by a program. Which
model answered stands in the run's hyperparameters (``hyperparameters={"model": …}``), else in its
identifier, else the run is called by its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document
from evenhand.readers.record import Record, short, size_of

NAME = "deepeval"
WANTED = "a test run of DeepEval (JSON with 'testCases' and 'metricsData')"


def recognises(content: Any) -> bool:
    """Tell whether this is a test run of DeepEval."""
    run = _run(content)
    return any(name in run for name in ("testCases", "test_cases", "test_results")) and any(
        _of(case, "metricsData") is not None for case in _cases(run)
    )


def _run(content: Any) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        return {}
    inner = content.get("testRunData")
    return inner if isinstance(inner, Mapping) else content


def _cases(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = []
    for name in ("testCases", "conversationalTestCases", "test_results"):
        found += [case for case in _of(run, name) or () if isinstance(case, Mapping)]
    return found


def records(document: Document) -> Iterator[Record]:
    """Yield the scores of a test run."""
    run = _run(document.content)
    settings = {
        str(name): short(value) for name, value in (_of(run, "hyperparameters") or {}).items()
    }
    model = settings.pop("model", None) or _of(run, "identifier") or document.path.stem
    times = Counter[str]()
    for number, case in enumerate(_cases(run), 1):
        name, given = _of(case, "name"), _of(case, "input")
        item = short(given or name or _of(case, "scenario") or number, most=200)
        times[item] += 1
        where = f"{document.where}, test case {number}"
        metrics = _of(case, "metricsData") or ()
        common: dict[str, Any] = {
            "item": item,
            "model": str(model),
            "settings": settings,
            "length": size_of(_of(case, "actualOutput")),
            "repeat": times[item],
        }
        if not metrics:
            yield Record(None, judge="", metric="", where=where, trouble="no metrics", **common)
        for metric in metrics:
            kind = str(_of(metric, "name"))
            judge = _of(metric, "evaluationModel")
            yield Record(
                _of(metric, "score"),
                judge=str(judge or kind),
                metric=kind,
                where=f"{where}, {kind}",
                by_model=bool(judge),
                trouble=short(_of(metric, "error") or "no score"),
                **common,
            )


def _of(thing: Mapping[str, Any], name: str) -> Any:
    """An entry, written as JSON does (``metricsData``) or as Python does (``metrics_data``)."""
    if name in thing:
        return thing[name]
    return thing.get("".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name))
