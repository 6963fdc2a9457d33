"""Logs of Inspect (inspect_ai): ``.eval`` archives and ``.json`` files.

A log is one run of one model on one task. A sample has scores by name of the scorer; a scorer that
is used twice is called ``name`` and ``name1``. Who graded is, in this order: the models that the
scorer was given, the models that it called, the models that signed what it kept of the grading, and
for Inspect's own model-graded scorers the model with the role of the grader, or else the model
under evaluation itself. A panel of graders keeps its votes, which count as scores of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.readers.documents import Archive, Document
from evenhand.readers.record import Record, short, size_of

NAME = "inspect"
WANTED = "a log of Inspect (.eval or .json, with 'eval' and 'samples')"
_HEADERS = ("header.json", "_journal/start.json")


def recognises(content: Any) -> bool:
    """Tell whether this is a log of Inspect."""
    if isinstance(content, Archive):
        return any(name in content.names() for name in _HEADERS)
    return isinstance(content, Mapping) and isinstance(content.get("eval"), Mapping)


def records(document: Document) -> Iterator[Record]:
    """Yield the scores of a log."""
    content = document.content
    if isinstance(content, Archive):
        names = content.names()
        run = content.json(next(name for name in _HEADERS if name in names))["eval"]
        samples: Iterator[Any] = (
            content.json(name) for name in names if name.startswith("samples/")
        )
    else:
        run, samples = content["eval"], iter(content.get("samples") or ())
    scorers = _scorers(run)
    for sample in samples:
        yield from _scores(run, scorers, sample, document.where)


def notes(document: Document) -> list[str]:
    """Return what is to be said about the run."""
    content = document.content
    if isinstance(content, Archive):
        names = content.names()
        status = content.json("header.json").get("status") if "header.json" in names else "started"
    else:
        status = content.get("status")
    if status in (None, "success"):
        return []
    return [
        f"{document.where}: the run did not end well (status {status!r}); what it scored is used."
    ]


def _scorers(run: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The run's scorers by the names that samples have for them."""
    seen: Counter[str] = Counter()
    found = {}
    for scorer in run.get("scorers") or ():
        name = scorer["name"].rpartition("/")[2]
        found[f"{name}{seen[name] or ''}"] = scorer
        seen[name] += 1
    return found


def _scores(
    run: Mapping[str, Any],
    scorers: Mapping[str, Mapping[str, Any]],
    sample: Mapping[str, Any],
    file: str,
) -> Iterator[Record]:
    item, epoch = str(sample.get("id")), sample.get("epoch", 1)
    where = f"{file}, sample {item!r}" + (f", epoch {epoch}" if epoch != 1 else "")
    common: dict[str, Any] = {
        "item": item,
        "model": run.get("model"),
        "task": str(run.get("task") or ""),
        "settings": _settings(run),
        "length": _length(sample.get("output") or {}),
        "repeat": epoch,
    }
    scores = sample.get("scores") or {}
    if not scores:
        why = (sample.get("error") or {}).get("message") or "it was not scored"
        yield Record(None, judge="", metric="", where=where, trouble=short(why), **common)
    for name, score in scores.items():
        scorer = scorers.get(name) or {"name": name}
        metric = str(scorer["name"]).rpartition("/")[2]
        graders = _graders(run, name, scorer, score, sample)
        value = score.get("value")
        votes = ((score.get("metadata") or {}).get("panel") or {}).get("votes") or ()
        if len(graders) > 1 and len(votes) == len(graders):
            given = list(zip(graders, votes, strict=True))
        else:
            given = [(" + ".join(graders) or name, value)]
        for judge, vote in given:
            for part, number in _parts(metric, vote):
                yield Record(
                    number,
                    judge=judge,
                    metric=part,
                    where=f"{where}, scorer {name!r}",
                    by_model=bool(graders),
                    trouble=short(score.get("explanation") or "no grade"),
                    **common,
                )


def _parts(metric: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A scorer's value, or its several values by name."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield f"{metric}.{key}", part
    elif isinstance(value, list):
        for position, part in enumerate(value):
            yield f"{metric}[{position}]", part
    else:
        yield metric, value


def _settings(run: Mapping[str, Any]) -> dict[str, str]:
    """What may differ between runs beside the model."""
    found = {"solver": run.get("solver") or ""}
    for kind in ("solver_args", "task_args"):
        found |= {f"{kind}.{name}": short(value) for name, value in (run.get(kind) or {}).items()}
    return {name: str(value) for name, value in found.items()}


def _length(output: Mapping[str, Any]) -> int | None:
    if output.get("completion"):
        return size_of(output["completion"])
    choices = output.get("choices") or ()
    content = choices[0].get("message", {}).get("content") if choices else None
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return size_of(content)


def _graders(
    run: Mapping[str, Any],
    name: str,
    scorer: Mapping[str, Any],
    score: Mapping[str, Any],
    sample: Mapping[str, Any],
) -> list[str]:
    """The models that graded; none if a program did."""
    options = scorer.get("options") or {}
    stated = _models(options.get("model"))
    if stated:
        return stated
    called = _called(sample.get("events") or (), name)
    if called:
        return called
    kept = (score.get("metadata") or {}).get("grading") or ()
    signed = [
        message["model"]
        for message in kept
        if isinstance(message, Mapping)
        and message.get("role") == "assistant"
        and message.get("model")
    ]
    if signed:
        return list(dict.fromkeys(signed))
    if str(scorer["name"]).rpartition("/")[2].startswith("model_graded_"):
        role = options.get("model_role", "grader")
        role = role.get("name") if isinstance(role, Mapping) else role
        roles = run.get("model_roles") or {}
        return _models(roles.get(role)) or _models(run.get("model"))
    return []


def _models(given: Any) -> list[str]:
    """Names of models: one, several, or none, as names or as settings with names."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        return _models(given.get("model"))
    if isinstance(given, list):
        return [name for one in given for name in _models(one)]
    return []


def _called(events: Any, scorer: str) -> list[str]:
    """The models that a scorer called, by the events between its beginning and its end."""
    inside: set[str] = set()
    found: dict[str, None] = {}
    for event in events:
        kind = event.get("event")
        if kind == "span_begin":
            own = event.get("type") == "scorer" and event.get("name") == scorer
            if own or event.get("parent_id") in inside:
                inside.add(event["id"])
        elif kind == "model" and event.get("span_id") in inside and event.get("model"):
            found[event["model"]] = None
    return list(found)
