"""Questions as a plain value, of texts, numbers and lists, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, as_points
from evenhand.errors import InputError
from evenhand.plain import Form
from evenhand.questions.options import Column, Kind, Options
from evenhand.tables import Names

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

_FORM = Form(
    {
        "options": list[str],
        "groups": list[str | None] | None,
        "own_features": list[list[float]] | None,
        "known_features": list[list[float]] | None,
        "known_names": list[str] | None,
        "items": list[str],
        "n_features": int,
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
        "prices": list[float],
        "capacity": list[int],
        "workload": list[int],
        "noise": list[float] | None,
    }
)


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
    """Return the parts of the questions that `to_dict` wrote; an error if they do not fit.

    They may be a stranger's: nothing is made of numbers before they fit.
    """
    _FORM.check(content)
    labels, items, who = (
        Names(tuple(content[name])) for name in ("options", "items", "evaluators")
    )
    own, known = (_matrix(content[name]) for name in ("own_features", "known_features"))
    groups, sides = (_tuple(content[name]) for name in ("groups", "evaluator_groups"))
    names, known_names = (_tuple(content[name]) for name in ("feature_names", "known_names"))
    columns = tuple(Column(**column) for column in content["columns"])
    about = np.array(content["about"], dtype=np.intp).reshape(-1, 2)
    evaluator = np.array(content["evaluator"], dtype=np.intp)
    d, k, i = content["n_features"], len(labels), len(items)
    q, m = content["rows"]["shape"]
    kinds, people = get_args(Kind), {*who, None}
    _refuse(
        {
            "items": i >= k >= 1 and items[:k] == labels and len(set(items)) == i,
            "evaluators": len(set(who)) == len(who),
            "n_features": d == (i if own is None else own.shape[1]),
            "feature_names": names is None or len(names) == d,
            "columns": len(columns) == m - d
            and all(one.kind in kinds and one.evaluator in people for one in columns),
            "about": len(about) == q and _within(about, i) and not _lack_a_first(about),
            "evaluator": evaluator.shape == (q,) and _within(evaluator, len(who)),
            "own_features": own is None or len(own) == k,
            "known_features": known is None or len(known) == k,
            "known_names": known_names is None
            or (known is not None and len(known_names) == known.shape[1]),
            "groups": groups is None or len(groups) == k,
            "evaluator_groups": sides is None or len(sides) == len(who),
        }
    )
    rows = _rows(content["rows"], q, m)
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
    _refuse({"rows.entries": bool(np.isfinite(rows.data).all())})
    return rows


def _refuse(fits: Mapping[str, bool]) -> None:
    wrong = [name for name, right in fits.items() if not right]
    if wrong:
        raise InputError(f"{' and '.join(wrong)} contradict other parts.")


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _tuple(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _numbers(values: Floats | None) -> list[Any] | None:
    return None if values is None else values.tolist()


def _matrix(values: Any) -> Floats | None:
    return None if values is None else as_points(values)


def _lack_a_first(about: Indices) -> bool:
    return bool(((about[:, 0] < 0) & (about[:, 1] >= 0)).any())


def _within(places: Indices, n: int) -> bool:
    return bool((places >= -1).all() and (places < n).all())
