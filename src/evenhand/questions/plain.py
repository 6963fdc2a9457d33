"""Questions as a plain value, of texts, numbers and lists, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, as_points
from evenhand.questions.options import Column, Options
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
    sparse_rows = content["rows"]
    rows = sparse.csr_array(
        (sparse_rows["entries"], sparse_rows["columns"], sparse_rows["starts"]),
        shape=tuple(sparse_rows["shape"]),
        dtype=np.float64,
    )
    labels, items, who = (
        Names(tuple(content[name])) for name in ("options", "items", "evaluators")
    )
    own, known = (_matrix(content[name]) for name in ("own_features", "known_features"))
    groups, sides = (_tuple(content[name]) for name in ("groups", "evaluator_groups"))
    columns = tuple(Column(**column) for column in content["columns"])
    about = np.array(content["about"], dtype=np.intp).reshape(-1, 2)
    evaluator = np.array(content["evaluator"], dtype=np.intp)
    d, (q, m), k, i = int(content["n_features"]), rows.shape, len(labels), len(items)
    rows.check_format(full_check=True)
    sound = {
        "rows": bool(np.isfinite(rows.data).all()),
        "items": i >= k >= 1 and items[:k] == labels,
        "columns": len(columns) == m - d,
        "about": len(about) == q and _within(about, i),
        "evaluator": evaluator.shape == (q,) and _within(evaluator, len(who)),
        "n_features": d == (i if own is None else own.shape[1]),
        "own_features": own is None or len(own) == k,
        "known_features": known is None or len(known) == k,
        "groups": groups is None or len(groups) == k,
        "evaluator_groups": sides is None or len(sides) == len(who),
    }
    wrong = [name for name, right in sound.items() if not right]
    if wrong:
        raise ValueError(f"{' and '.join(wrong)} contradict other parts")
    return {
        "options": Options(labels, groups, own, i, known, _tuple(content["known_names"])),
        "rows": rows,
        "n_features": d,
        "about": about,
        "feature_names": _tuple(content["feature_names"]),
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


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _numbers(values: Floats | None) -> list[Any] | None:
    return None if values is None else values.tolist()


def _matrix(values: Any) -> Floats | None:
    return None if values is None else as_points(values)


def _within(places: Indices, n: int) -> bool:
    return bool((places >= -1).all() and (places < n).all())
