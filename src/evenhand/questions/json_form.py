"""Questions as a plain value, of texts, numbers and lists, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, as_points
from evenhand.errors import InputError
from evenhand.plain import Form
from evenhand.questions.inputs import Column, Kind
from evenhand.tables import Names

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

_FORM = Form(
    {
        "options": list[str],
        "groups": list[str | None] | None,
        "own_features": list[list[float]] | None,
        "feature_names": list[str] | None,
        "rows": {"questions": list[int], "columns": list[int], "entries": list[float]},
        "about": list[tuple[int, int]],
        "columns": [{"name": str, "kind": str, "evaluator": str | None, "group": str | None}],
        "evaluators": list[str],
        "evaluator": list[int],
        "evaluator_groups": list[str | None] | None,
        "trusted": list[str] | None,
        "prices": list[float],
        "capacity": list[int],
        "workload": list[int],
        "noise": list[float] | None,
    }
)

_LARGEST = 1e150  # entries whose squares are numbers, too


def to_dict(questions: Questions) -> dict[str, Any]:
    """Return the questions as a plain value, fit for JSON."""
    return {
        name: _plain(part)
        for name, part in (questions._parts() | {"rows": questions.matrix}).items()
    }


def _plain(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, sparse.csr_array):
        cells = part.tocoo()
        named = {"questions": cells.row, "columns": cells.col, "entries": cells.data}
        return {name: one.tolist() for name, one in named.items()}
    if isinstance(part, Column):
        return asdict(part)
    return [_plain(inner) for inner in part] if isinstance(part, Names | tuple) else part


def from_dict(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of the questions that `to_dict` wrote; an error if they do not fit."""
    # They may be a stranger's: nothing is made of numbers before they fit.
    _FORM.check(content)
    parts = dict(content)
    for name in ("options", "evaluators"):
        parts[name] = Names(tuple(content[name]))
    for name in ("groups", "feature_names", "evaluator_groups", "trusted"):
        parts[name] = None if content[name] is None else tuple(content[name])
    own = content["own_features"]
    parts["own_features"] = None if own is None else as_points(own, "own_features")
    parts["columns"] = tuple(Column(**column) for column in content["columns"])
    parts["about"] = np.array(content["about"], dtype=np.intp).reshape(-1, 2)
    parts["evaluator"] = np.array(content["evaluator"], dtype=np.intp)
    rows = content["rows"]
    row, column = (np.array(rows[name], dtype=np.intp) for name in ("questions", "columns"))
    parts["rows"] = _matrix(parts, row, column, np.array(rows["entries"], dtype=np.float64))
    return parts


def _matrix(
    parts: Mapping[str, Any], row: Indices, column: Indices, entry: Floats
) -> sparse.csr_array:
    """Return the rows of questions, given by their cells, unless parts contradict others."""
    labels, who = parts["options"], parts["evaluators"]
    own, columns = parts["own_features"], parts["columns"]
    about, evaluator = parts["about"], parts["evaluator"]
    k, q = len(labels), len(about)
    d = k if own is None else own.shape[1]
    kinds, people = get_args(Kind), {*who, None}

    def has(name: str, n: int) -> bool:
        return parts[name] is None or len(parts[name]) == n

    m, n = d + len(columns), len(entry)
    fits = {
        "options": k >= 1 and len(set(labels)) == k,
        "evaluators": len(set(who)) == len(who),
        "feature_names": has("feature_names", d),
        "columns": all(one.kind in kinds and one.evaluator in people for one in columns),
        "about": q >= 1
        and _within(about, -1, k)
        and not ((about[:, 0] < 0) & (about[:, 1] >= 0)).any(),
        "evaluator": len(evaluator) == q and _within(evaluator, -1, len(who)),
        "own_features": has("own_features", k),
        "groups": has("groups", k),
        "evaluator_groups": has("evaluator_groups", len(who)),
        "trusted": set(parts["trusted"] or ()) <= set(who),
        "rows.questions": len(row) == n and _within(row, 0, q),
        "rows.columns": len(column) == n and _within(column, 0, m),
        "rows.entries": bool((np.abs(entry) <= _LARGEST).all()),
    }
    if wrong := [name for name, right in fits.items() if not right]:
        raise InputError(f"{' and '.join(wrong)} contradict other parts.")
    return sparse.csr_array((entry, (row, column)), shape=(q, m))


def _within(places: Indices, least: int, n: int) -> bool:
    return bool((places >= least).all() and (places < n).all())
