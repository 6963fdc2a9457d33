"""Results of DeepEval: its test runs, or what its `evaluate` returned, as JSON.

Test runs are kept in ``.deepeval`` and in ``DEEPEVAL_RESULTS_FOLDER``. A test case has metrics,
each by the model that judged (``evaluationModel``) or by a program. Which model answered stands in
the run's hyperparameters (``hyperparameters={"model": …}``), else in its identifier, else the run
is called by its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document, Format, entries, members, name_of, reach
from evenhand.readers.frame import LoggedScore, Times, item_name, short, size_of


def _run(content: Any) -> Mapping[str, Any]:
    return entries(content, "testRunData") or entries(content)


def _cases(run: Mapping[str, Any]) -> list[Any]:
    names = ("testCases", "conversationalTestCases", "testResults")
    return [case for name in names for case in _list(_of(run, name))]


def _records(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    del notes
    run, times = _run(document.content), Times()
    settings = {name: short(value) for name, value in entries(run, "hyperparameters").items()}
    model = settings.pop("model", None) or name_of(_of(run, "identifier")) or document.path.stem
    for number, case in enumerate(_cases(run), 1):
        given = _of(case, "input") or _of(case, "name") or _of(case, "scenario")
        item = item_name(given or number)
        where, again = f"{document.where}, test case {number}", times.again(item)
        for metric in _list(_of(case, "metricsData")) or [None]:
            kind = name_of(_of(metric, "name")) or "metric"
            judge = name_of(_of(metric, "evaluationModel"))
            none = "no metrics" if metric is None else _of(metric, "error") or "no score"
            yield LoggedScore(
                _of(metric, "score"),
                item=item,
                part=again,
                model=model,
                settings=settings,
                judge=judge or kind,
                metric=kind,
                where=f"{where}, {kind}",
                length=size_of(_of(case, "actualOutput")),
                trouble=short(none),
            )


def _of(thing: Any, name: str) -> Any:
    """An entry, written as JSON does (``metricsData``) or as Python does (``metrics_data``)."""
    found = reach(thing, name)
    return reach(thing, re.sub("[A-Z]", r"_\g<0>", name).lower()) if found is None else found


def _list(thing: Any) -> list[Any]:
    return members({"it": thing}, "it")


FORMAT = Format(
    lambda content: any(_of(c, "metricsData") is not None for c in _cases(_run(content))), _records
)
