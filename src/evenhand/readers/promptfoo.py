"""Results of promptfoo: ``promptfoo eval -o results.json`` and its exports, versions 2 and 3.

A result is one prompt to one provider on one test; its parts (``componentResults``) are the
assertions. Assertions that a model graded are scored by that model: the assertion's own provider,
or that of the test's options, or that of all tests. promptfoo gives 0 where a grader gave no
verdict; here that is no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document
from evenhand.readers.record import Record, short, size_of

NAME = "promptfoo"
WANTED = "results of promptfoo (JSON with 'results', from `promptfoo eval -o results.json`)"

_BY_MODEL = {
    "answer-relevance",
    "agent-rubric",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "factuality",
    "g-eval",
    "llm-rubric",
    "model-graded-closedqa",
    "model-graded-factuality",
    "search-rubric",
    "select-best",
}
_NO_VERDICT = ("Could not extract JSON from", "No output", "produced malformed response")


def recognises(content: Any) -> bool:
    """Tell whether these are results of promptfoo."""
    rows = _rows(content)
    return bool(rows) and all(
        isinstance(row, Mapping) and "provider" in row and ("vars" in row or "prompt" in row)
        for row in rows[:3]
    )


def _rows(content: Any) -> list[Any]:
    """The results: at the top, or one floor below."""
    found = content.get("results") if isinstance(content, Mapping) else None
    if isinstance(found, Mapping):
        found = found.get("results")
    return found if isinstance(found, list) else []


def records(document: Document) -> Iterator[Record]:
    """Yield the scores of results."""
    config = document.content.get("config") or {}
    times = Counter[tuple[Any, ...]]()
    for number, row in enumerate(_rows(document.content), 1):
        test = row.get("testCase") or {}
        prompt = row.get("prompt") or {}
        text = short(prompt.get("label") or prompt.get("raw") or "")
        variables = row.get("vars") or test.get("vars") or {}
        item = _item(variables) or short(prompt.get("raw") or test.get("description") or number)
        model = _provider(row.get("provider"))
        times[model, text, item] += 1
        common = {
            "model": model,
            "settings": {"prompt": text},
            "length": _length(row.get("response")),
            "repeat": times[model, text, item],
        }
        yield from _scores(row, item, common, config, f"{document.where}, result {number}")


def _scores(
    row: Mapping[str, Any],
    item: str,
    common: Mapping[str, Any],
    config: Mapping[str, Any],
    where: str,
) -> Iterator[Record]:
    test = row.get("testCase") or {}
    known_as = _known_as(row.get("provider"))
    parts = list(_leaves((row.get("gradingResult") or {}).get("componentResults")))
    if not parts:
        failed = row.get("failureReason") == 2 or (
            row.get("error") and not row.get("gradingResult")
        )
        yield Record(
            None if failed else row.get("score"),
            item,
            judge="promptfoo",
            metric="score",
            where=where,
            trouble=short(row.get("error") or "no score"),
            known_as=known_as,
            **common,
        )
        return
    named = [_named(part, test, config) for part in parts]
    times, seen = Counter(named), Counter[tuple[str, str, bool]]()
    for part, who in zip(parts, named, strict=True):
        judge, metric, by_model = who
        seen[who] += 1
        of_several = f", assertion {seen[who]}" if times[who] > 1 else ""
        yield Record(
            None if by_model and _no_verdict(part) else _value(part),
            item + of_several,
            judge=judge,
            metric=metric,
            where=f"{where}{of_several}",
            by_model=by_model,
            trouble=short(part.get("reason") or "no score"),
            known_as=known_as | _known_as((part.get("assertion") or {}).get("provider")),
            **common,
        )


def _leaves(parts: Any) -> Iterator[Mapping[str, Any]]:
    """Assertions, without the sets that they stand in."""
    for part in parts or ():
        if not isinstance(part, Mapping):
            continue
        if part.get("componentResults"):
            yield from _leaves(part["componentResults"])
        elif (part.get("assertion") or {}).get("type") != "assert-set":
            yield part


def _named(
    part: Mapping[str, Any], test: Mapping[str, Any], config: Mapping[str, Any]
) -> tuple[str, str, bool]:
    """Who scored an assertion, what it is called, and whether a model scored it."""
    assertion = part.get("assertion") or {}
    kind = str(assertion.get("type") or "score")
    metric = str(assertion.get("metric") or kind)
    if kind.removeprefix("not-") not in _BY_MODEL:
        return metric, metric, False
    default = config.get("defaultTest")
    options = (default.get("options") or {}) if isinstance(default, Mapping) else {}
    for given in (
        assertion.get("provider"),
        (test.get("options") or {}).get("provider"),
        test.get("provider"),
        options.get("provider"),
    ):
        judge = _provider(given)
        if judge:
            return judge, metric, True
    return "promptfoo's default grader", metric, True


def _provider(given: Any) -> str | None:
    """What a provider is called: its label, the model in its settings, or its id."""
    if isinstance(given, str):
        return given or None
    if not isinstance(given, Mapping):
        return None
    if isinstance(given.get("text"), (str, Mapping)):  # graders by kind: text, embedding, …
        return _provider(given["text"])
    identity = str(given.get("id") or "")
    model = (given.get("config") or {}).get("model")
    if given.get("label"):
        return str(given["label"])
    return str(model) if model and (not identity or "://" in identity) else identity or None


def _known_as(given: Any) -> dict[str, str]:
    """What a provider is called, with its id."""
    name = _provider(given)
    if name is None or not isinstance(given, Mapping) or not given.get("id"):
        return {}
    return {name: str(given["id"])}


def _item(variables: Mapping[str, Any]) -> str:
    known = {name: value for name, value in variables.items() if not name.startswith("_")}
    if len(known) == 1:
        return short(next(iter(known.values())), most=200)
    return short(", ".join(f"{name}={value}" for name, value in sorted(known.items())), most=200)


def _no_verdict(part: Mapping[str, Any]) -> bool:
    if (part.get("metadata") or {}).get("graderError"):
        return True
    reason = str(part.get("reason") or "")
    return part.get("score") == 0 and any(words in reason for words in _NO_VERDICT)


def _value(part: Mapping[str, Any]) -> Any:
    score = part.get("score")
    return part.get("pass") if score is None else score


def _length(response: Any) -> int | None:
    return size_of(response.get("output")) if isinstance(response, Mapping) else size_of(response)
