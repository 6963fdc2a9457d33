"""Results of promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``, versions 2 and 3.

A result is one prompt to one provider on one test; its parts (``componentResults``) are the
assertions. Assertions that a model graded are scored by that model: the assertion's own provider,
or that of the test's options, or that of all tests. promptfoo gives 0 where a grader gave no
verdict; here that is no score.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.readers.documents import Document, entries, members, name_of, reach
from evenhand.readers.frame import LoggedScore, item_name, short, size_of

NAME = "promptfoo"
WANTED = "results of promptfoo (JSON with 'results', from `promptfoo eval -o results.json`)"

_BY_MODEL = {
    *("agent-rubric", "answer-relevance", "context-faithfulness", "context-recall", "factuality"),
    *("context-relevance", "conversation-relevance", "g-eval", "llm-rubric", "search-rubric"),
    *("model-graded-closedqa", "model-graded-factuality", "select-best"),
}
_NO_VERDICT = ("Could not extract JSON from", "No output", "produced malformed response")
_FAILED = 2  # promptfoo's number for a result that no answer came for


def recognises(content: Any) -> bool:
    """Tell whether these are results of promptfoo."""
    rows = _rows(content)
    return bool(rows) and all(
        isinstance(row, Mapping)
        and {"provider", "success"} <= set(row)
        and ("vars" in row or "prompt" in row)
        for row in rows[:3]
    )


def _rows(content: Any) -> list[Any]:
    """The results: lines, or at the top of an object, or one floor below."""
    if isinstance(content, list):
        return content
    return members(content, "results") or members(content, "results", "results")


def records(document: Document) -> Iterator[LoggedScore]:
    """Yield the scores of results."""
    default = reach(document.content, "config", "defaultTest", "options", "provider")
    times = Counter[tuple[Any, ...]]()
    rows = _rows(document.content)
    names = _from_files(rows, default)
    for number, row in enumerate(rows, 1):
        test, written = reach(row, "testCase"), reach(row, "prompt", "raw")
        prompt = short(reach(row, "prompt", "label") or written or "")
        item = _item(entries(row, "vars") or entries(test, "vars"))
        item = item or item_name(written or reach(test, "description") or number)
        model = _name(reach(row, "provider"), names)
        times[model, prompt, item] += 1
        common = {
            "model": model,
            "settings": {"prompt": prompt},
            "length": _length(reach(row, "response")),
            "repeat": times[model, prompt, item],
        }
        where = f"{document.where}, result {number}"
        yield from _scores(row, item, common, default, where, names)


def _scores(
    row: Any,
    item: str,
    common: Mapping[str, Any],
    default: Any,
    where: str,
    names: Mapping[str, str],
) -> Iterator[LoggedScore]:
    known_as = _known_as(reach(row, "provider"), names)
    parts = list(_leaves(members(row, "gradingResult", "componentResults")))
    if not parts:
        reason = reach(row, "gradingResult", "reason")
        failed = reach(row, "failureReason") == _FAILED or (
            reach(row, "error") and not reach(row, "gradingResult")
        )
        yield LoggedScore(
            None if failed or reason == "No assertions" else reach(row, "score"),
            item,
            judge="promptfoo",
            metric="score",
            where=where,
            known_as=known_as,
            trouble=short(reach(row, "error") or reason or "no score"),
            **common,
        )
        return
    named = [_named(part, reach(row, "testCase"), default, names) for part in parts]
    times, seen = Counter(named), Counter[tuple[str, str, bool]]()
    for part, who in zip(parts, named, strict=True):
        judge, metric, by_model = who
        seen[who] += 1
        of_several = f", assertion {seen[who]}" if times[who] > 1 else ""
        score = reach(part, "score")
        value = reach(part, "pass") if score is None else score
        yield LoggedScore(
            None if by_model and _no_verdict(part) else value,
            item + of_several,
            judge=judge,
            metric=metric,
            where=f"{where}{of_several}",
            by_model=by_model,
            known_as=known_as | _known_as(reach(part, "assertion", "provider"), names),
            trouble=short(reach(part, "reason") or "no score"),
            **common,
        )


def _leaves(parts: list[Any]) -> Iterator[Any]:
    """Assertions, without the sets that they stand in."""
    for part in parts:
        inner = members(part, "componentResults")
        if inner:
            yield from _leaves(inner)
        elif isinstance(part, Mapping) and reach(part, "assertion", "type") != "assert-set":
            yield part


def _named(part: Any, test: Any, default: Any, names: Mapping[str, str]) -> tuple[str, str, bool]:
    """Who scored an assertion, what it is called, and whether a model scored it."""
    kind = name_of(reach(part, "assertion", "type")) or "score"
    metric = name_of(reach(part, "assertion", "metric")) or kind
    plain = kind.removeprefix("not-")
    if plain not in _BY_MODEL and not plain.startswith("promptfoo:redteam:"):
        return metric, metric, False
    judges = (_name(given, names) for given in _judges(part, test, default))
    return next(filter(None, judges), "promptfoo's default grader"), metric, True


def _judges(part: Any, test: Any, default: Any) -> tuple[Any, ...]:
    """What may say who graded an assertion, the nearest first."""
    return (
        reach(part, "assertion", "provider"),
        reach(test, "options", "provider"),
        reach(test, "provider"),
        default,
    )


def _name(given: Any, names: Mapping[str, str]) -> str | None:
    """What a provider is called, beside others from files that would be called the same."""
    return names.get(_key(given)) or _provider(given)


def _key(given: Any) -> str:
    return json.dumps(given, sort_keys=True, default=str)


def _from_files(rows: Sequence[Any], default: Any) -> dict[str, str]:
    """Names of providers from files, apart by file or settings where they would be the same."""
    alike: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        given = [reach(row, "provider")]
        for part in _leaves(members(row, "gradingResult", "componentResults")):
            given += _judges(part, reach(row, "testCase"), default)
        for one in given:
            inner = one.get("text") if isinstance(one, Mapping) else None
            own = inner if isinstance(inner, Mapping) else one
            if isinstance(own, Mapping) and _is_file(own.get("id")):
                alike.setdefault(_provider(own) or "", {})[_key(one)] = own
    found: dict[str, str] = {}
    for name, some in alike.items():
        files = {str(own["id"]) for own in some.values()}
        for key, own in some.items():
            file, settings = str(own["id"]), entries(own, "config")
            same = [entries(one, "config") for one in some.values() if str(one["id"]) == file]
            apart = _differing(settings, same)
            found[key] = name if len(files) == 1 or name == file else f"{name} ({file})"
            found[key] += f" [{apart}]" if apart else ""
    return found


def _is_file(identity: Any) -> bool:
    text = name_of(identity) or ""
    return "://" in text or text.startswith(("python:", "exec:", "ruby:", "golang:"))


def _differing(own: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """What differs in settings, in words."""
    keys = sorted({key for one in others for key in one})
    apart = [key for key in keys if len({_key(one.get(key)) for one in others}) > 1]
    return ", ".join(f"{key}={short(own.get(key), 40)}" for key in apart)


def _provider(given: Any) -> str | None:
    """What a provider is called: its label, the model in its settings, or its id."""
    if not isinstance(given, Mapping):
        return name_of(given)
    if isinstance(given.get("text"), (str, Mapping)):  # graders by kind: text, embedding, …
        return _provider(given["text"])
    identity, model = name_of(given.get("id")) or "", name_of(reach(given, "config", "model"))
    said_by_model = model if not identity or "://" in identity else None
    return name_of(given.get("label")) or said_by_model or identity or None


def _known_as(given: Any, names: Mapping[str, str]) -> dict[str, str]:
    """A provider by name, with its id, or the name that it shares with others."""
    name, identity = _name(given, names), name_of(reach(given, "id"))
    if name is not None and name != _provider(given):
        identity = _provider(given)
    return {} if name is None or identity is None else {name: identity}


def _item(variables: Mapping[str, Any]) -> str:
    known = {name: value for name, value in variables.items() if not name.startswith("_")}
    if len(known) == 1:
        return item_name(next(iter(known.values())))
    return item_name(", ".join(f"{name}={value}" for name, value in sorted(known.items())))


def _no_verdict(part: Any) -> bool:
    if reach(part, "metadata", "graderError"):
        return True
    reason = str(reach(part, "reason") or "")
    return reach(part, "score") == 0 and any(words in reason for words in _NO_VERDICT)


def _length(response: Any) -> int | None:
    return size_of(reach(response, "output") if isinstance(response, Mapping) else response)
