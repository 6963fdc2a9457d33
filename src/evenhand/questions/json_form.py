"""Questions as a plain value, of texts, numbers and lists, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy import sparse

from evenhand.arrays import Indices, as_points
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
        "rows": {
            "shape": tuple[int, int],
            "starts": list[int],
            "columns": list[int],
            "entries": list[float],
        },
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
        return {
            "shape": list(part.shape),
            "starts": part.indptr.tolist(),
            "columns": part.indices.tolist(),
            "entries": part.data.tolist(),
        }
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
    _refuse(_fits(parts, *content["rows"]["shape"]))
    parts["rows"] = _rows(content["rows"], *content["rows"]["shape"])
    return parts


def _fits(parts: Mapping[str, Any], q: int, m: int) -> dict[str, bool]:
    """Return by name which parts fit the others, for q rows of m columns."""
    labels, who = parts["options"], parts["evaluators"]
    own, columns = parts["own_features"], parts["columns"]
    about, evaluator = parts["about"], parts["evaluator"]
    k = len(labels)
    d = k if own is None else own.shape[1]
    kinds, people = get_args(Kind), {*who, None}

    def has(name: str, n: int) -> bool:
        return parts[name] is None or len(parts[name]) == n

    return {
        "options": k >= 1 and len(set(labels)) == k,
        "evaluators": len(set(who)) == len(who),
        "feature_names": has("feature_names", d),
        "columns": len(columns) == m - d
        and all(one.kind in kinds and one.evaluator in people for one in columns),
        "about": len(about) == q
        and _within(about, k)
        and not ((about[:, 0] < 0) & (about[:, 1] >= 0)).any(),
        "evaluator": len(evaluator) == q and _within(evaluator, len(who)),
        "own_features": has("own_features", k),
        "groups": has("groups", k),
        "evaluator_groups": has("evaluator_groups", len(who)),
        "trusted": set(parts["trusted"] or ()) <= set(who),
    }


def _rows(content: Mapping[str, Any], q: int, m: int) -> sparse.csr_array:
    """Return rows whose places were looked at, since scipy's kernels do not look."""
    starts, places = (np.array(content[name], dtype=np.int64) for name in ("starts", "columns"))
    entries = np.array(content["entries"], dtype=np.float64)
    n = len(entries)
    whole = len(starts) == q + 1 and len(places) == n
    _refuse(
        {
            "rows.shape": q >= 1 and m >= 1,
            "rows.starts": whole
            and starts[0] == 0
            and starts[-1] == n
            and bool((np.diff(starts) >= 0).all()),
            "rows.columns": whole and bool((places >= 0).all() and (places < m).all()),
        }
    )
    rows = sparse.csr_array((entries, places, starts), shape=(q, m))
    rows.sum_duplicates()  # and in order
    _refuse({"rows.entries": bool((np.abs(rows.data) <= _LARGEST).all())})
    return rows


def _refuse(fits: Mapping[str, bool]) -> None:
    wrong = [name for name, right in fits.items() if not right]
    if wrong:
        raise InputError(f"{' and '.join(wrong)} contradict other parts.")


def _within(places: Indices, n: int) -> bool:
    return bool((places >= -1).all() and (places < n).all())
