"""Results of DeepEval: its test runs, or what its `evaluate` returned, as JSON.

Test runs are kept in ``.deepeval`` and in ``DEEPEVAL_RESULTS_FOLDER``. A test case has metrics,
each by the model that judged (``evaluationModel``) or by a program. Which model answered stands in
the run's hyperparameters (``hyperparameters={"model": …}``), else in its identifier, else the run
is called by its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document, entries, name_of, reach
from evenhand.readers.frame import LoggedScore, item_name, short, size_of

NAME = "deepeval"
WANTED = "a test run of DeepEval (JSON with 'testCases' and 'metricsData')"


def recognises(content: Any) -> bool:
    """Tell whether this is a test run of DeepEval."""
    return any(_of(case, "metricsData") is not None for case in _cases(_run(content)))


def _run(content: Any) -> Mapping[str, Any]:
    return entries(content, "testRunData") or entries(content)


def _cases(run: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = []
    for name in ("testCases", "conversationalTestCases", "testResults"):
        found += _list(_of(run, name))
    return found


def records(document: Document) -> Iterator[LoggedScore]:
    """Yield the scores of a test run."""
    run = _run(document.content)
    settings = {name: short(value) for name, value in entries(run, "hyperparameters").items()}
    model = settings.pop("model", None) or name_of(_of(run, "identifier")) or document.path.stem
    times = Counter[str]()
    for number, case in enumerate(_cases(run), 1):
        given = _of(case, "input") or _of(case, "name") or _of(case, "scenario")
        item = item_name(given or number)
        times[item] += 1
        where = f"{document.where}, test case {number}"
        common: dict[str, Any] = {
            "item": item,
            "model": model,
            "settings": settings,
            "length": size_of(_of(case, "actualOutput")),
            "repeat": times[item],
        }
        metrics = _list(_of(case, "metricsData"))
        if not metrics:
            yield LoggedScore(
                None, judge="", metric="", where=where, trouble="no metrics", **common
            )
        for metric in metrics:
            kind = name_of(_of(metric, "name")) or "metric"
            judge = name_of(_of(metric, "evaluationModel"))
            yield LoggedScore(
                _of(metric, "score"),
                judge=judge or kind,
                metric=kind,
                where=f"{where}, {kind}",
                by_model=judge is not None,
                trouble=short(_of(metric, "error") or "no score"),
                **common,
            )


def _of(thing: Any, name: str) -> Any:
    """An entry, written as JSON does (``metricsData``) or as Python does (``metrics_data``)."""
    found = reach(thing, name)
    if found is not None:
        return found
    return reach(thing, "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name))


def _list(thing: Any) -> list[Any]:
    return thing if isinstance(thing, list) else []
