"""Whole evaluations of a large panel, in an order that has their shares early on.

Two times over, the t-th of something with the share s is due at (t + u)/s with 0 ≤ u < 1: an item,
and for its evaluations an evaluator. That is as even as whole numbers can be, from the first on.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.arrow.panel import (
    GOLDEN,
    SMALL,
    Panel,
    form_of,
    occurrences,
    places_of,
    some_of,
    told_of,
)
from evenhand.certainty.arrow.shares import Shares

_LATEST = 0.25  # of its turn, when an item is due: rather a little too often than too rarely
_MENDINGS, _PORTION = 12, 100  # tries to have it so, each with one question of so many


def dealt(
    panel: Panel, shares: Shares, leader: int, length: int, asked: Counts, left: Counts
) -> Indices:
    """Return (length,) questions, or fewer if there are no more, that have the shares early on.

    Items are dealt by their shares, and then to each its evaluators, those asked least first.
    """
    used = shares.questions[shares.money > 0.0]
    used = used[np.argsort(panel.item[used], kind="stable")]
    share = np.zeros(len(panel.item))
    share[shares.questions] = shares.money / panel.price[shares.questions]  # of evaluations
    share = share[used] / share.sum()
    nth, _ = places_of(panel.item[used])
    (begins,) = np.nonzero(nth == 0)
    item, n = np.cumsum(nth == 0) - 1, len(begins)
    total: Floats = np.asarray(np.bincount(item, share), dtype=np.float64)
    spin = (GOLDEN * (np.arange(n) + asked.sum())) % 1.0
    spin[panel.item[used[begins]] == leader] = 0.5
    room = np.bincount(item, np.minimum(left[used], length)).astype(np.int64)
    order = _items_in_turn(total, _LATEST * spin, room, length)
    number = np.bincount(order, minlength=n)

    width = np.bincount(item)[item]  # the evaluators of an item go round, from item to item
    turn = (nth + np.floor(spin[item] * width).astype(np.int64)) % width
    begin = np.empty(len(used))
    begin[np.lexsort((turn, asked[used], item))] = (nth + 0.5) / width
    within = share / total[item]
    most = np.ceil(number[item] * within).astype(np.int64) + 1
    if (left[used] < most).any():
        most = number[item]
    cell, time = _repeated(np.minimum(most, left[used]))
    cells = cell[np.lexsort(((time + begin[cell]) / within[cell], item[cell]))]
    starts = np.searchsorted(item[cells], np.arange(n))
    return np.asarray(used[cells[starts[order] + occurrences(order)]])


def _items_in_turn(share: Floats, phase: Floats, room: Counts, length: int) -> Indices:
    """Return (length,) items by their shares, none more often than there is room for.

    The t-th of an item comes when (t + phase)/share are due; but the first in its turn with one of
    each, however small the share: what was never asked about cannot be told apart.
    """
    most = np.minimum(np.ceil(length * share).astype(np.int64) + 2, room)
    while True:
        item, time = _repeated(most)
        if len(item) >= min(length, int(room.sum())):
            break
        most = np.minimum(2 * most, room)
    pace = 1.0 / share
    wait = np.where(time == 0, np.minimum(pace, float(len(share)))[item], pace[item])
    due = (time + phase[item]) * wait
    return item[np.argsort(due, kind="stable")][:length]


def with_attributes_known(
    panel: Panel,
    order: Indices,
    leader: int,
    rivals: Indices,
    a: Floats,
    among: Indices,
    left: Counts,
) -> Indices:
    """Return the order, begun with questions that tell the attributes which leads rest on.

    Whole numbers cannot follow small shares, and with them goes what is known of a bias, or of a
    leniency: that part of the variance, (c̄_b − c̄_j)ᵀS⁺(c̄_b − c̄_j), is held to a small share of the
    rest, early on, as far as questions ``among`` those planned can do it.
    """
    new: Indices = order[:0]
    early = max(len(order) // 4, min(len(order), 2 * (1 + len(rivals))))
    for _ in range(_MENDINGS):
        now = _allowed(np.concatenate([new, order]), left)[: len(order)]
        form = form_of(panel, now[:early])
        told = rivals[form.sizes[rivals] > 0.0]
        if form.sizes[leader] == 0.0 or len(told) == 0:
            return now
        own = 1.0 / form.sizes[leader] + 1.0 / form.sizes[told]
        scale = a[form.sizes[rivals] > 0.0]
        beside = scale * (form.lead_variances(leader, told) - own)
        worst = int(np.argmax(beside))
        if beside[worst] <= SMALL * float((scale * own).max()):
            return now
        asked_about = some_of(among[form.sizes[panel.item[among]] > 0.0])
        apart = form.centres_of(np.array([leader])) - form.centres_of(told[worst : worst + 1])
        gain = told_of(form, panel, asked_about, apart[0], known=bool(np.isfinite(beside[worst])))
        best = np.argsort(-gain / panel.price[asked_about], kind="stable")
        best = best[: max(1, early // _PORTION)]
        best = best[gain[best] > 0.0]
        if len(best) == 0:
            return now
        new = np.concatenate([new, asked_about[best]])
    return _allowed(np.concatenate([new, order]), left)[: len(order)]


def _allowed(order: Indices, left: Counts) -> Indices:
    """Return the order without what is asked more often than it may be."""
    return order[occurrences(order) < left[order]]


def _repeated(times: Counts) -> tuple[Indices, Indices]:
    """Return every index so many times, in order, and which of those it is."""
    index = np.repeat(np.arange(len(times)), times)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(times) - times, times)
