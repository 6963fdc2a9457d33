"""Questions as a plain value, of texts, numbers and lists, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, recalled
from evenhand.questions.options import Column, Kind, Options
from evenhand.tables import Names

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions


def to_dict(questions: Questions) -> dict[str, Any]:
    """Return the questions as a plain value, fit for JSON."""
    options, rows = questions.options, questions.matrix
    return {
        "options": list(options.labels),
        "groups": _list(options.groups),
        "own_features": _numbers(options.own_features),
        "known_features": _numbers(options.known_features),
        "known_names": _list(options.known_names),
        "items": list(questions.items),
        "n_features": questions.n_features,
        "feature_names": _list(questions._feature_names),
        "rows": {
            "shape": list(rows.shape),
            "starts": rows.indptr.tolist(),
            "columns": rows.indices.tolist(),
            "entries": rows.data.tolist(),
        },
        "about": questions.about.tolist(),
        "columns": [asdict(column) for column in questions.columns],
        "evaluators": list(questions.evaluators),
        "evaluator": questions.evaluator.tolist(),
        "evaluator_groups": _list(questions.evaluator_groups),
        "prices": questions.prices.tolist(),
        "capacity": questions.capacity.tolist(),
        "workload": questions.workload.tolist(),
        "noise": _numbers(questions.noise),
    }


def from_dict(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of the questions that `to_dict` wrote; ValueError if they do not fit."""
    rows = _rows(content["rows"])
    labels, items, who = (
        Names(_texts(content[name], name)) for name in ("options", "items", "evaluators")
    )
    own, known = (_matrix(content, name) for name in ("own_features", "known_features"))
    groups, sides, names, known_names = (
        None if content[name] is None else _texts(content[name], name, name.endswith("groups"))
        for name in ("groups", "evaluator_groups", "feature_names", "known_names")
    )
    columns = tuple(_column(column) for column in content["columns"])
    (q, m), k, i = rows.shape, len(labels), len(items)
    about = recalled(content, "about", (q, 2), int, -1, i - 1)
    evaluator = recalled(content, "evaluator", (q,), int, -1, len(who) - 1)
    d = recalled(content, "n_features", (), int, 0, m)
    width = [] if known is None else [known.shape[1]]
    sound = {
        "items": i >= k >= 1 and items[:k] == labels and len(set(items)) == i,
        "evaluators": len(set(who)) == len(who),
        "columns": len(columns) == m - d,
        "n_features": d == (i if own is None else own.shape[1]),
        "feature_names": names is None or len(names) == d,
        "own_features": own is None or len(own) == k,
        "known_features": known is None or len(known) == k,
        "known_names": known_names is None or [len(known_names)] == width,
        "groups": groups is None or len(groups) == k,
        "evaluator_groups": sides is None or len(sides) == len(who),
    }
    wrong = [name for name, right in sound.items() if not right]
    if wrong:
        raise ValueError(f"{' and '.join(wrong)} contradict other parts")
    return {
        "options": Options(labels, groups, own, i, known, known_names),
        "rows": rows,
        "n_features": d,
        "about": about,
        "feature_names": names,
        "items": items,
        "columns": columns,
        "evaluators": who,
        "evaluator": evaluator,
        "evaluator_groups": sides,
        "prices": content["prices"],
        "capacity": content["capacity"],
        "workload": content["workload"],
        "noise": content["noise"],
    }


def _rows(content: Mapping[str, Any]) -> sparse.csr_array:
    """Return the matrix of a plain value; its places are checked before scipy relies on them."""
    q, m = recalled(content, "shape", (2,), int, 1).tolist()
    entries = recalled(content, "entries", (None,))
    n = len(entries)
    columns = recalled(content, "columns", (n,), int, 0, m - 1)
    starts = recalled(content, "starts", (q + 1,), int, 0, n)
    if starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
        raise ValueError(f"starts must increase from 0 to {n}, the number of entries")
    rows = sparse.csr_array((entries, columns, starts), shape=(q, m))
    rows.check_format(full_check=True)
    return rows


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _texts(values: Any, name: str, none: bool = False) -> tuple[Any, ...]:
    """Return a list of texts, or None for some of them where that is allowed."""
    if not isinstance(values, list) or not all(_is_text(v) or (none and v is None) for v in values):
        raise ValueError(f"{name} is {values!r:.80}; it must be a list of texts")
    return tuple(values)


def _column(content: Mapping[str, Any]) -> Column:
    column = Column(**content)
    named = (column.evaluator, column.group)
    if not (
        _is_text(column.name)
        and column.kind in get_args(Kind)
        and all(value is None or _is_text(value) for value in named)
    ):
        raise ValueError(f"columns has {content!r:.80}")
    return column


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _numbers(values: Floats | None) -> list[Any] | None:
    return None if values is None else values.tolist()


def _matrix(content: Mapping[str, Any], name: str) -> Floats | None:
    return None if content[name] is None else recalled(content, name, (None, None))
