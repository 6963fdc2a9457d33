"""Results of promptfoo: ``promptfoo eval -o results.json`` or ``.jsonl``, versions 2 and 3.

A result is one prompt to one provider on one test; its parts (``componentResults``) are the
assertions. Assertions that a model graded are scored by that model: the assertion's own provider,
or that of the test's options, or that of all tests. promptfoo gives 0 where a grader gave no
verdict; here that is no score. A provider is called by its label, else by the model in its
settings, else by its id; those from files that would be called the same, also by what tells them
apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Document, Format, entries, has, members, name_of, reach
from evenhand.readers.frame import LoggedScore, Times, item_name, short, size_of

_BY_MODEL = {
    *("agent-rubric", "answer-relevance", "context-faithfulness", "context-recall", "factuality"),
    *("context-relevance", "conversation-relevance", "g-eval", "llm-rubric", "search-rubric"),
    *("model-graded-closedqa", "model-graded-factuality", "select-best"),
}
_NO_VERDICT = ("Could not extract JSON from", "No output", "produced malformed response")
_FAILED = 2  # promptfoo's number for a result that no answer came for
_FROM_FILES = ("python:", "exec:", "ruby:", "golang:")


def _rows(content: Any) -> list[Any]:
    """The results: lines, or at the top of an object, or one floor below."""
    if isinstance(content, list):
        return content
    return members(content, "results") or members(content, "results", "results")


def _recognises(content: Any) -> bool:
    rows = _rows(content)
    return any(has(rows, "provider", "success", what) for what in ("vars", "prompt"))


def _records(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    del notes
    default = reach(document.content, "config", "defaultTest", "options", "provider")
    rows, times = _rows(document.content), Times()
    parts = [list(_leaves(members(row, "gradingResult", "componentResults"))) for row in rows]
    names = _names([
        *(reach(row, "provider") for row in rows),
        *(one for row, some in zip(rows, parts, strict=True) for part in some
          for one in _graders(part, reach(row, "testCase"), default)),
    ])  # fmt: skip
    for number, (row, assertions) in enumerate(zip(rows, parts, strict=True), 1):
        test, written = reach(row, "testCase"), reach(row, "prompt", "raw")
        prompt = short(reach(row, "prompt", "label") or written or "")
        item = _item(entries(row, "vars") or entries(test, "vars"))
        item = item or item_name(written or reach(test, "description") or number)
        model, where = _name(reach(row, "provider"), names), f"{document.where}, result {number}"
        response = reach(row, "response")
        common: dict[str, Any] = {
            "model": model,
            "settings": {"prompt": prompt},
            "length": size_of(reach(response, "output") or response),
            "part": times.again(model, prompt, item),
            "known_as": _id(reach(row, "provider"), names),
        }
        if not assertions:
            yield LoggedScore(
                _whole(row), item=item, judge="promptfoo", metric="score", where=where,
                trouble=short(reach(row, "error") or _reason(row) or "no score"), **common,
            )  # fmt: skip
            continue
        who = [_named(part, test, default, names) for part in assertions]
        several, seen = Counter(who), Counter[tuple[str, str, bool]]()
        for part, (judge, metric, by_model) in zip(assertions, who, strict=True):
            seen[judge, metric, by_model] += 1
            n = seen[judge, metric, by_model]
            of_several = f", assertion {n}" if several[judge, metric, by_model] > 1 else ""
            score = reach(part, "score")
            value = reach(part, "pass") if score is None else score
            own = _id(reach(part, "assertion", "provider"), names)
            yield LoggedScore(
                None if by_model and _no_verdict(part) else value,
                item=item + of_several,
                judge=judge,
                metric=metric,
                where=f"{where}{of_several}",
                trouble=short(reach(part, "reason") or "no score"),
                **common | {"known_as": common["known_as"] | own},
            )


def _whole(row: Any) -> Any:
    """The score of a result without assertions, if it has one."""
    graded = reach(row, "gradingResult")
    failed = reach(row, "failureReason") == _FAILED or (reach(row, "error") and not graded)
    return None if failed or _reason(row) == "No assertions" else reach(row, "score")


def _reason(row: Any) -> Any:
    return reach(row, "gradingResult", "reason")


def _leaves(parts: list[Any]) -> Iterator[Any]:
    """Assertions, without the sets that they stand in."""
    for part in parts:
        if inner := members(part, "componentResults"):
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
    judges = (_name(given, names) for given in _graders(part, test, default))
    return next(filter(None, judges), "promptfoo's default grader"), metric, True


def _graders(part: Any, test: Any, default: Any) -> tuple[Any, ...]:
    """What may say who graded an assertion, the nearest first."""
    own = reach(part, "assertion", "provider")
    return own, reach(test, "options", "provider"), reach(test, "provider"), default


def _plain(given: Any) -> Any:
    """A provider's own entry; graders may be given by kind: text, embedding, …"""
    return _plain(given["text"]) if isinstance(reach(given, "text"), (str, dict)) else given


def _provider(given: Any) -> str | None:
    """What a provider is called."""
    own = _plain(given)
    if not isinstance(own, Mapping):
        return name_of(own)
    identity, model = name_of(own.get("id")) or "", name_of(reach(own, "config", "model"))
    said_by_model = model if not identity or "://" in identity else None
    return name_of(own.get("label")) or said_by_model or identity or None


def _name(given: Any, names: Mapping[str, str]) -> str | None:
    """What a provider is called beside all others."""
    return (names and names.get(_key(given))) or _provider(given)


def _key(given: Any) -> str:
    return json.dumps(given, sort_keys=True, default=str)


def _names(given: Iterable[Any]) -> dict[str, str]:
    """Names of providers from files, apart by file or settings where they would be the same."""
    files: dict[str, Any] = {}
    for one in given:
        identity = name_of(reach(_plain(one), "id")) or ""
        if "://" in identity or identity.startswith(_FROM_FILES):
            files[_key(one)] = _plain(one)
    found = {}
    for key, own in files.items():
        name, identity = str(_provider(own)), str(own["id"])
        alike = [other for other in files.values() if _provider(other) == name]
        same = [entries(other, "config") for other in alike if str(other["id"]) == identity]
        if name != identity and any(str(other["id"]) != identity for other in alike):
            name += f" ({identity})"
        settings = sorted({setting for one in same for setting in one})
        apart = [s for s in settings if len({_key(one.get(s)) for one in same}) > 1]
        told = ", ".join(f"{s}={short(reach(own, 'config', s), 40)}" for s in apart)
        found[key] = f"{name} [{told}]" if told else name
    return found


def _id(given: Any, names: Mapping[str, str]) -> dict[str, str]:
    """A provider by name, with its id, or the name that it shares with others."""
    name, own = _name(given, names), _provider(given)
    other = name_of(reach(given, "id")) if name == own else own
    return {name: other} if name and other else {}


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


FORMAT = Format(_recognises, _records)
