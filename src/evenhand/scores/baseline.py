"""Comparisons of many options with one: a baseline, as in AlpacaEval.

Notation
--------
m, b, i     an option, the baseline, and an item
y           by how much m is better than b on i;  x what y reacts to and value does not
u           how good b's answer on i is, by an evaluator:  y = v_m − v_b − u + β x + ε

Every verdict says how good one option is on one item, on the scale of the baseline, which is 0 on
every item. So the verdicts are scores of options on items, the baseline's own among them, with x as
attributes, and may be decided by as such.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.scores.scores import Codes, Factor, Finding, Scores

BASELINE = "baseline"
"""What the note is about that says that all were compared with one."""

POSITION = "position"
"""What standing first in a comparison is called, where it is an attribute."""


def baseline_in(first: Codes, second: Codes, n: int) -> int | None:
    """Return which of n options stands in every comparison; None if none does. Of two, the one that
    stands second more often.
    """
    if not len(first) or n < 2:
        return None
    times = np.bincount(first, minlength=n) + np.bincount(second, minlength=n)
    always = np.flatnonzero((times == len(first)) & (first != second).all())
    if not always.size:
        return None
    return int(max(always.tolist(), key=lambda one: int((second == one).sum())))


def against_baseline(scores: Scores) -> Scores:
    """Return comparisons with one baseline with the baseline second in all of them, on items; who
    stood first is an attribute then, if it was not always the same. Other scores stay as they are.
    """
    if scores.rival is None or scores.item is None or scores.event is not None:
        return scores
    base = baseline_in(scores.option.codes, scores.rival, len(scores.option))
    if base is None:
        return scores
    turned = scores.option.codes == base
    sign = np.where(turned, -1.0, 1.0)
    attributes = {name: column * sign for name, column in scores.attributes.items()}
    if turned.any() and not turned.all() and POSITION not in attributes:
        attributes[POSITION] = sign
    return replace(
        scores,
        score=scores.score * sign,
        option=Factor(np.where(turned, scores.rival, scores.option.codes), scores.option.names),
        rival=np.full(len(scores), base, dtype=np.int32),
        stated=None if scores.stated is None else scores.stated * sign,
        attributes=attributes,
        scale=None if scores.scale is None else _both_ways(scores.scale),
        baseline=base,
    )


def _both_ways(scale: tuple[float, float]) -> tuple[float, float]:
    most = max(-scale[0], scale[1])
    return -most, most


def as_scores(scores: Scores) -> Scores:
    """Return comparisons with a baseline as scores of options on items, and 0 of the baseline on
    every item, by every evaluator; attributes are 0 there.
    """
    assert scores.item is not None
    assert scores.baseline is not None
    who = np.zeros(len(scores), np.int32) if scores.evaluator is None else scores.evaluator.codes
    cells = np.unique(np.stack([who, scores.item.codes], axis=1), axis=0)
    n = len(cells)

    def with_baseline(factor: Factor | None, codes: Codes) -> Factor | None:
        if factor is None:
            return None
        return Factor(np.concatenate([factor.codes, codes.astype(np.int32)]), factor.names)

    base = with_baseline(scores.option, np.full(n, scores.baseline))
    assert base is not None
    name, place = scores.option.names[scores.baseline], scores.where
    return replace(
        scores,
        score=np.concatenate([scores.score, np.zeros(n)]),
        option=base,
        rival=None,
        evaluator=with_baseline(scores.evaluator, cells[:, 0]),
        item=with_baseline(scores.item, cells[:, 1]),
        cluster=_clusters(scores, cells[:, 1]),
        stated=None,
        attributes={
            name: np.concatenate([column, np.zeros(n)])
            for name, column in scores.attributes.items()
        },
        time=None,
        beside={},
        evaluator_group=scores.evaluator_group if _several(scores) else None,
        notes=(*scores.notes, *_notes(scores)),
        place=lambda row: place(row) if row < len(scores) else f"{name} against itself",
    )


def _clusters(scores: Scores, items: Codes) -> Factor | None:
    if scores.cluster is None or scores.item is None:
        return None
    of = np.zeros(len(scores.item), dtype=np.int32)
    of[scores.item.codes] = scores.cluster.codes
    return Factor(np.concatenate([scores.cluster.codes, of[items]]), scores.cluster.names)


def _notes(scores: Scores) -> list[Finding]:
    assert scores.baseline is not None
    name = scores.option.names[scores.baseline]
    said = (
        f"Everything was compared with {name!r}: a value is by how much an option is better than "
        f"it, and {name!r} itself is 0. A win rate is (1 + value)/2 where scores run from −1 to 1."
    )
    notes = [Finding.note(BASELINE, said)]
    if scores.evaluator is not None and scores.evaluator_group is not None and not _several(scores):
        judge = scores.evaluator.names[0]
        notes.append(
            Finding.note(
                "groups",
                f"Whether {judge!r} favours its own group cannot be told, as nobody else judged: "
                "values are what it takes options to be worth, and an option of its own group may "
                "be worth less. A judge of another group on the same items would tell.",
            )
        )
    return notes


def _several(scores: Scores) -> bool:
    return scores.evaluator is not None and len(scores.evaluator) > 1
