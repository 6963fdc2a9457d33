"""Logs of Inspect (inspect_ai): ``.eval`` archives and ``.json`` files.

A log is one run of one model on one task. A sample has scores by name of the scorer; a scorer that
is used twice is called ``name`` and ``name1``. Who graded is, in this order: the models that the
scorer was given, the models that it called, the models that signed what it kept of the grading, and
for Inspect's own model-graded scorers the model with the role of the grader, or else the model
under evaluation itself. A panel of graders keeps its votes, which count as scores of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evenhand.readers.documents import (
    Archive,
    Document,
    Format,
    entries,
    members,
    name_of,
    reach,
)
from evenhand.readers.frame import LoggedScore, short, size_of

_HEADERS = ("header.json", "_journal/start.json")


def _recognises(content: Any) -> bool:
    if isinstance(content, Archive):
        return any(name in content.members for name in _HEADERS)
    return isinstance(reach(content, "eval"), Mapping)


def _records(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    content, where = document.content, document.where
    header: Any = content
    samples: Iterable[Any] = members(content, "samples")
    status = reach(content, "status")
    if isinstance(content, Archive):
        header = content.json(next(name for name in _HEADERS if name in content.members))
        samples = (content.json(name) for name in content.members if name.startswith("samples/"))
        status = reach(header, "status") if _HEADERS[0] in content.members else "started"
    if status not in (None, "success"):
        said = f"the run did not end well (status {status!r}); what it scored is used."
        notes.append(f"{where}: {said}")
    run, scorers = entries(header, "eval"), _scorers(header)
    for sample in samples:
        yield from _scores(run, scorers, sample, where)


def _scorers(header: Any) -> dict[str, Any]:
    """The run's scorers by the names that samples have for them."""
    seen: Counter[str] = Counter()
    found: dict[str, Any] = {}
    for score in members(header, "results", "scores"):
        name = _plain(reach(score, "scorer"))
        found[name] = {"name": name, "options": reach(score, "params")}
    for scorer in members(header, "eval", "scorers"):
        name = _plain(reach(scorer, "name"))
        found[f"{name}{seen[name] or ''}"] = scorer
        seen[name] += 1
    return found


def _plain(name: Any) -> str:
    """A scorer's name without the package that it is of."""
    return str(name).rpartition("/")[2]


def _scores(
    run: Mapping[str, Any], scorers: Mapping[str, Any], sample: Any, file: str
) -> Iterator[LoggedScore]:
    item, epoch = name_of(reach(sample, "id")) or "?", reach(sample, "epoch")
    again = epoch if isinstance(epoch, int) and epoch > 1 else None
    where = f"{file}, sample {item!r}" + (f", epoch {again}" if again else "")
    common: dict[str, Any] = {
        "item": item,
        "part": f", again {again}" if again else "",
        "model": name_of(run.get("model")),
        "task": name_of(run.get("task")) or "",
        "settings": _settings(run),
        "length": _length(reach(sample, "output")),
    }
    uuid = name_of(reach(sample, "uuid"))
    scores = entries(sample, "scores")
    if reach(sample, "score", "value") is not None:  # the oldest logs have one, without a name
        scores = {next(iter(scorers), "score"): entries(sample, "score")}
    if not scores:
        why = reach(sample, "error", "message") or "it was not scored"
        yield LoggedScore(None, judge="", metric="", where=where, trouble=short(why), **common)
    for name, score in scores.items():
        scorer = scorers.get(name) or {"name": name}
        metric = _plain(reach(scorer, "name"))
        graders = _graders(run, name, scorer, score, sample)
        votes = members(score, "metadata", "panel", "votes")
        given = [(" + ".join(graders) or name, reach(score, "value"))]
        if len(graders) > 1 and len(votes) == len(graders):
            given = list(zip(graders, votes, strict=True))
        for judge, vote in given:
            for part, value in _parts(metric, vote):
                yield LoggedScore(
                    value,
                    judge=judge,
                    metric=part,
                    where=f"{where}, scorer {name!r}",
                    identity=f"{uuid}, {name}, {judge}, {part}" if uuid else None,
                    trouble=short(reach(score, "explanation") or "no grade"),
                    **common,
                )


def _parts(metric: str, value: Any) -> Iterable[tuple[str, Any]]:
    """A scorer's value, or its several values by name."""
    if isinstance(value, Mapping):
        return [(f"{metric}.{key}", part) for key, part in value.items()]
    if isinstance(value, list):
        return [(f"{metric}[{position}]", part) for position, part in enumerate(value)]
    return [(metric, value)]


def _settings(run: Mapping[str, Any]) -> dict[str, str]:
    """What may differ between runs beside the model."""
    found = {"solver": short(run.get("solver") or "")}
    for kind in ("solver_args", "task_args"):
        found |= {f"{kind}.{name}": short(value) for name, value in entries(run, kind).items()}
    return found


def _length(output: Any) -> int | None:
    """Characters of the answer: of the completion, or of the first choice's message."""
    if reach(output, "completion"):
        return size_of(reach(output, "completion"))
    content = reach(next(iter(members(output, "choices")), None), "message", "content")
    if isinstance(content, list):
        content = "".join(str(reach(part, "text") or "") for part in content)
    return size_of(content)


def _graders(run: Mapping[str, Any], name: str, scorer: Any, score: Any, sample: Any) -> list[str]:
    """The models that graded; none if a program did."""
    found = _models(reach(scorer, "options", "model")) or _called(members(sample, "events"), name)
    if found:
        return found
    for message in members(score, "metadata", "grading"):
        if reach(message, "role") == "assistant":
            found += _models(reach(message, "model"))
    if found or not _plain(reach(scorer, "name")).startswith("model_graded_"):
        return list(dict.fromkeys(found))
    role = reach(scorer, "options", "model_role")
    role = name_of(reach(role, "name") or role) or "grader"
    return _models(reach(run, "model_roles", role)) or _models(run.get("model"))


def _models(given: Any) -> list[str]:
    """Names of models: one, several, or none, as names or as settings with names."""
    if isinstance(given, Mapping):
        return _models(given.get("model"))
    if isinstance(given, list):
        return [name for one in given for name in _models(one)]
    return [given] if given and isinstance(given, str) else []


def _called(events: Iterable[Any], scorer: str) -> list[str]:
    """The models that a scorer called, by the events between its beginning and its end."""
    inside: set[str] = set()
    found: dict[str, None] = {}
    for event in events:
        kind = reach(event, "event")
        if kind == "span_begin":
            own = reach(event, "type") == "scorer" and reach(event, "name") == scorer
            if own or name_of(reach(event, "parent_id")) in inside:
                inside.add(name_of(reach(event, "id")) or "")
        elif kind == "model" and name_of(reach(event, "span_id")) in inside:
            found |= dict.fromkeys(_models(reach(event, "model")))
    return list(found)


FORMAT = Format(_recognises, _records)
