"""Criteria of one review: their weighted mean is its score, and each stays beside it.

The score of a review with marks y_c on criteria with weights w_c > 0 is Σ w_c y_c / Σ w_c. A review
that lacks a mark has no score: weights are never shared out among the others, as the same review
would be worth more by what it left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evenhand.arrays import is_number
from evenhand.errors import InputError, Remedy
from evenhand.scores.scores import Codes, Finding, Scores, crossed
from evenhand.tables.texts import listed, number_in

_APART = 3.0  # times the range of another's marks: criteria on scales of their own


def typed_criteria(text: str) -> dict[str, float]:
    """Return criteria with their weights as they are typed: ``novelty=2,method``; 1 if not said.

    Examples
    --------
    >>> typed_criteria("novelty=2, method")
    {'novelty': 2.0, 'method': 1.0}
    """
    found: dict[str, float] = {}
    for one in filter(None, map(str.strip, text.split(","))):
        name, equals, weight = (part.strip() for part in one.rpartition("="))
        name, weight = (name, weight) if equals else (one, "1")
        if not name or name in found:
            raise InputError(f"criteria are names with weights, as novelty=2,method; got {text!r}")
        found[name] = number_in(weight)
    return weights_in(found)


def weights_in(criteria: Mapping[str, float] | Sequence[str] | None) -> dict[str, float]:
    """Return the weights of criteria, 1 where only names were given; an error if one is none."""
    if not criteria:
        return {}
    if not isinstance(criteria, Mapping):
        criteria = dict.fromkeys([criteria] if isinstance(criteria, str) else criteria, 1.0)
    for name, weight in criteria.items():
        if not is_number(weight) or not 0.0 < weight < np.inf:
            raise InputError(f"the weight of criterion {name!r} must be above 0; got {weight!r}")
    return {str(name): float(weight) for name, weight in criteria.items()}


def reviewed(scores: Scores, weights: Mapping[str, float], *, drop: bool) -> Scores:
    """Return a score for each review, by weights, out of one for each of its criteria; those that
    lack a mark are left out on request (`drop`), or where somebody stood aside.
    """
    criterion = scores.criterion
    assert criterion is not None
    if not weights:
        raise InputError(
            f"each review has {len(criterion)} marks, one for each criterion; say what they weigh",
            Remedy("criteria", dict.fromkeys(criterion.names, 1), "if all weigh the same"),
            Remedy("columns", {"criterion": None}, "if they are no criteria"),
        )
    if strange := [name for name in weights if name not in criterion.names]:
        raise InputError(
            f"there is no criterion {strange[0]!r}; there are {listed(list(criterion.names), 20)}"
        )
    places = np.array([list(weights).index(c) if c in weights else -1 for c in criterion.names])
    at, (review, n) = places[criterion.codes], _reviews(scores)
    used = at >= 0
    marks, first = np.full((n, len(weights)), np.nan), np.full(n, len(scores))
    marks[review[used], at[used]] = scores.score[used]
    np.minimum.at(first, review, np.arange(len(scores)))
    lows, highs = np.nanmin(marks, axis=0), np.nanmax(marks, axis=0)
    ranges = dict(zip(weights, zip(lows.tolist(), highs.tolist(), strict=True), strict=True))
    spans = {name: high - low for name, (low, high) in ranges.items() if high > low}
    wide, narrow = (f(spans, key=spans.__getitem__, default="") for f in (max, min))
    if scores.scale is None and spans and spans[wide] > _APART * spans[narrow]:
        both = (f"{c!r} from {ranges[c][0]:g} to {ranges[c][1]:g}" for c in (narrow, wide))
        raise InputError(
            f"criteria are on scales of their own ({' and '.join(both)}), so that weights would "
            "not be what they seem; bring them on one scale",
            Remedy("scale", ..., "with the lowest and the highest mark, if all have this scale"),
        )
    whole = np.isfinite(marks).all(axis=1)
    aside = {*scores.barred}
    lacking = [row for row in np.flatnonzero(~whole) if _who(scores, first[row]) not in aside]
    lost = len(lacking)
    if lost and not drop:
        row, c = lacking[0], int(np.argmin(np.isfinite(marks[lacking[0]])))
        raise InputError(
            f"{scores.where(int(first[row]))}: the review has no mark on {list(weights)[c]!r} "
            f"({lost:,} of {n:,} reviews lack one); fill it in",
            Remedy("missing", "drop", "to leave these reviews out"),
        )
    w = np.array([*weights.values()]) / sum(weights.values())
    parts = " + ".join(f"{weight:g} {name}" for name, weight in weights.items())
    said = f"The score of a review is the weighted mean ({parts}) / {sum(weights.values()):g}."
    if unweighted := [name for name in criterion.names if name not in weights]:
        said += f" Criteria without a weight are left out: {listed(unweighted)}."
    if lost:
        said += f" Reviews without a mark on each, {lost:,} of {n:,}, are left out."
    kept, order = first[whole], np.argsort(first[whole])
    marks = marks[whole][order]
    return replace(
        scores.among(kept[order]),
        score=marks @ w,
        criterion=None,
        criteria={name: marks[:, c] for c, name in enumerate(weights)},
        weights=dict(weights),
        notes=(*scores.notes, Finding.note("criteria", said)),
    )


def _who(scores: Scores, row: int) -> tuple[str, str]:
    """Return who was judged in a row, and by whom."""
    evaluator = scores.evaluator
    who = "" if evaluator is None else evaluator.names[evaluator.codes[row]]
    return scores.option.names[scores.option.codes[row]], who


def _reviews(scores: Scores) -> tuple[Codes, int]:
    """Return (n,) the review that each mark is of, the k-th on a criterion of the k-th, and how
    many there are.
    """
    assert scores.criterion is not None
    factors = (scores.option, scores.evaluator, scores.item, scores.event)
    columns = [factor.codes for factor in factors if factor is not None]
    columns += [] if scores.rival is None else [scores.rival]
    cells, _ = crossed(*columns, scores.criterion.codes)
    order = np.argsort(cells, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(cells[order])) + 1]
    times = np.empty(len(cells), dtype=np.int32)
    lengths = np.diff(np.r_[starts, len(cells)])
    times[order] = np.arange(len(cells)) - np.repeat(starts, lengths)
    return crossed(*columns, times)
