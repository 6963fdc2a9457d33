"""Panels: several evaluators, each lenient or severe, each partial to some of the options.

Notation: y = v_o + s_e + β p_oe + noise for item o and evaluator e, where p_oe is 1 if the
evaluator is partial to the item. A row has a 1 for its item, then the columns of β, then a 1 for
its evaluator (but the first, whose leniency is the zero that others are measured from). Questions
stand item by item: the question to evaluator e about item o has the index o · n_evaluators + e.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, real_matrix, refuse_non_finite
from evenhand.errors import InputError
from evenhand.questions.given import Named, is_frame, named, pair_numbers
from evenhand.questions.options import Column, Options
from evenhand.questions.questions import Questions
from evenhand.tables import Names, check_length, column_names, listed

Bias = Literal["common", "evaluator", "group"]


def panel(
    cls: type[Questions],
    options: Any,
    evaluators: Any,
    features: Any,
    partial: Any,
    leniency: bool,
    bias: Bias,
    capacity: Any,
    prices: Any,
    noise: Any,
    workload: Any,
    calibration: Any,
) -> Questions:
    """Return the questions of a panel; see `Questions.panel`."""
    if bias not in ("common", "evaluator", "group"):
        raise InputError(f"bias must be 'common', 'evaluator' or 'group'; got {bias!r}.")
    of_columns = is_frame(options) and features is not None
    choice = named(options, "options", features if of_columns else None)
    if len(choice.names) < 2:
        raise InputError(f"there is one option only, {choice.names[0]!r}; a choice needs two.")
    if features is not None and not of_columns:
        choice = _with_features(choice, features)
    judges = named(evaluators, "evaluators")
    items, groups = _items(choice, calibration)
    P = _partial(partial, items, groups, judges)
    i, e = len(items), len(judges.names)
    biases, place = _biases(P, judges.names, groups, bias)
    lenient = [Column(name, "leniency", name) for name in judges.names[1:]] if leniency else []
    pair = np.arange(i * e)

    def each(given: Any, what: str) -> Floats | None:
        if given is None:
            return None
        return pair_numbers(given, items, judges.names, what, 1.0).reshape(-1)

    work = None
    if workload is not None:
        work = pair_numbers(workload, items[:1], judges.names, "workload", np.inf)[0]
    limits = None
    if capacity is not None:
        limits = pair_numbers(capacity, items, judges.names, "capacity", 1.0).reshape(-1)
    return cls._made(
        Options(
            choice.names,
            choice.groups if choice.grouped else None,
            None,
            i,
            choice.features,
            choice.feature_names,
        ),
        _rows(P, place, len(biases), bool(lenient)),
        i,
        np.column_stack([pair // e, np.full(i * e, -1)]),
        columns=(*biases, *lenient),
        items=items,
        evaluators=judges.names,
        evaluator=pair % e,
        evaluator_groups=judges.groups if judges.grouped else None,
        prices=each(prices, "prices"),
        capacity=limits,
        noise=each(noise, "noise"),
        workload=work,
    )


def _with_features(choice: Named, features: Any) -> Named:
    X = real_matrix(features, "features")
    check_length("features", len(X), len(choice.names))
    refuse_non_finite(X, "features")
    names = column_names(None, X.shape[1], "feature_names", "x")
    return Named(choice.names, choice.groups, np.array(X, dtype=np.float64), names)


def _items(choice: Named, calibration: Any) -> tuple[Names, tuple[str | None, ...]]:
    """Return what can be asked about, options first, and the group of each."""
    if calibration is None:
        return choice.names, choice.groups
    extra = named(calibration, "calibration")
    taken = set(choice.names)
    both = [name for name in extra.names if name in taken]
    if both:
        raise InputError(f"{listed(both)} is an option, too; name items of calibration otherwise.")
    return Names((*choice.names, *extra.names)), (*choice.groups, *extra.groups)


def _partial(given: Any, items: Names, groups: tuple[str | None, ...], judges: Named) -> Floats:
    """Return (items, evaluators) how partial everybody is."""
    if isinstance(given, str):
        if given != "same group":
            raise InputError(
                f"partial must be 'same group', a matrix, a frame or None; got {given!r}."
            )
        sides = any(group is not None for group in groups), judges.grouped
        if sides in ((True, False), (False, True)):
            has, lacks = ("options", "evaluators") if sides[0] else ("evaluators", "options")
            raise InputError(
                f"{has} have groups and {lacks} have none, so that nobody knows who is of the same "
                f"group; give {lacks} as a mapping from names to groups, or partial=None if nobody "
                "favours anybody."
            )
        codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
        own = np.array([codes[group] for group in groups])
        other = np.array([-1 if g is None else codes.get(g, -1) for g in judges.groups])
        same: Floats = (own[:, None] == other).astype(np.float64)
        return same
    P = pair_numbers(given, items, judges.names, "partial")
    refuse_non_finite(P, "partial", tuple(judges.names))
    return P


def _biases(
    P: Floats, evaluators: Names, groups: tuple[str | None, ...], bias: Bias
) -> tuple[list[Column], Indices]:
    """Return the columns of the biases, and (items, evaluators) which of them a pair shows.

    Pairs that show none have any number.
    """
    some = P != 0.0
    place = np.zeros(P.shape, dtype=np.intp)
    if bias == "common":
        return [Column("own group", "bias")] if some.any() else [], place
    if bias == "evaluator":
        (partial,) = np.nonzero(some.any(axis=0))
        place[:, partial] = np.arange(len(partial))
        names = [evaluators[j] for j in partial.tolist()]
        return [Column(f"own group of {name}", "bias", evaluator=name) for name in names], place
    favoured = some.any(axis=1)
    found: dict[str, int] = {}
    for item in np.flatnonzero(favoured).tolist():
        group = groups[item]
        if group is None:
            raise InputError(
                "a bias for each group needs the groups of all options that somebody is partial "
                "to; give options as a mapping from names to groups."
            )
        place[item] = found.setdefault(group, len(found))
    return [Column(f"own group {group}", "bias", group=group) for group in found], place


def _rows(P: Floats, place: Indices, n_biases: int, leniency: bool) -> sparse.csr_array:
    """Return the rows of all pairs (item, evaluator), item by item."""
    i, e = P.shape
    pair = np.arange(i * e)
    (some,) = np.nonzero(P.reshape(-1))
    (lenient,) = np.nonzero((pair % e > 0) & leniency)
    at = np.concatenate([pair, some, lenient])
    columns = np.concatenate(
        [pair // e, i + place.reshape(-1)[some], i + n_biases + lenient % e - 1]
    )
    entries = np.concatenate([np.ones(i * e), P.reshape(-1)[some], np.ones(len(lenient))])
    shape = i * e, i + n_biases + (e - 1 if leniency else 0)
    rows = sparse.csr_array((entries, (at, columns)), shape=shape)
    rows.sort_indices()
    return rows
