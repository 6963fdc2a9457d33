"""Whole evaluations of a large panel, in an order that has their shares early on.

Items are dealt first, then the evaluators of each item, both by their shares (`shares.in_turn`).
That is as even as whole numbers can be. But with whole numbers goes what is known of a bias, or of
a leniency: questions that tell of these are put in front, until that part of the variance of leads,
(c̄_b − c̄_j)ᵀS⁺(c̄_b − c̄_j), is small beside the rest, 1/n_b + 1/n_j.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.arrow.shares import CHUNK, GOLDEN, ArrowPanel, form_of, gains_of, turns
from evenhand.certainty.models import Goal
from evenhand.certainty.shares import in_turn
from evenhand.numerics.least_squares import Arrow
from evenhand.policies.limits import nth

_LATEST = 0.25  # of its turn, when an item is due: rather a little too often than too rarely
_SMALL = 0.15  # what attributes may add to the variance of a lead, as a share of the rest
_MENDINGS = 12  # tries to have it so


def planned(panel: ArrowPanel, goal: Goal, money: Floats) -> Indices:
    """Return questions, as many as wanted or all there are, with the shares of money early on."""
    have, turn = np.zeros(panel.n_items, dtype=np.int64), turns(panel) + int(goal.asked.sum())
    order = _dealt(
        panel,
        money / panel.price,
        turn % panel.n_evaluators,
        goal.length,
        goal.asked,
        goal.left,
        have,
        goal.leader,
    )
    items = len(np.unique(np.append(goal.rivals, goal.leader)))
    early = max(len(order) // 4, min(len(order), 2 * items))
    among, weak = np.flatnonzero(money), partial(_weakest, *goal[:3])
    return _mended(panel, order[:0], order, early, early // 100, among, goal.left, weak)


def further(
    panel: ArrowPanel, turn: Counts, length: int, made: Counts, left: Counts, *, mend: bool
) -> Indices:
    """Return (length,) questions, or fewer, beside those made, as equal as can be by option."""
    # If it is to ``mend``, no leads rest on single answers first: else one error that all options
    # of a group have in common would make one of them the leader.
    (open_,) = np.nonzero((left > 0) & (panel.item < panel.n_options))
    have = np.bincount(panel.item, made, panel.n_items).astype(np.int64)
    if length == 0 or len(open_) == 0:
        return open_[:0]
    item, cheap, share = panel.item[open_], panel.cost[open_] ** -2.0, np.zeros(len(left))
    share[open_] = cheap / np.bincount(item, cheap)[item]
    order = _dealt(panel, share, turn, length, made, left, have, None)
    if not mend:
        return order
    before = np.repeat(np.arange(len(made)), made)
    options = np.unique(panel.item[before])
    options = options[options < panel.n_options]
    among = open_[np.isin(panel.evaluator[open_], panel.evaluator[before])]
    weak = partial(_weakest, None, options, np.ones(len(options)))
    return _mended(panel, before, order, 0, length // 8, among, left, weak)


def _dealt(
    panel: ArrowPanel,
    shares: Floats,
    turn: Counts,
    length: int,
    asked: Counts,
    left: Counts,
    have: Counts,
    leader: int | Indices | None,
) -> Indices:
    """Return questions by their shares: items, of which we ``have`` some, then their evaluators."""
    # Of the evaluators of an item those asked least are first, and of these whose turn it is.
    (used,) = np.nonzero(shares)
    used = used[np.argsort(panel.item[used], kind="stable")]
    share = shares[used]
    place = nth(panel.item[used])
    about = panel.item[used[place == 1]]
    item, n = np.cumsum(place == 1) - 1, len(about)
    total: Floats = np.asarray(np.bincount(item, share), dtype=np.float64)
    spin = (GOLDEN * (np.arange(n) + asked.sum())) % 1.0
    spin[np.isin(about, [] if leader is None else leader)] = 0.5
    room = np.bincount(item, np.minimum(left[used], length)).astype(np.int64)
    order = in_turn(total, _LATEST * spin, have[about], room, length)
    number = np.bincount(order, minlength=n)

    begin = np.empty(len(used))
    begin[np.lexsort((turn[used], asked[used], item))] = (place - 0.5) / np.bincount(item)[item]
    within = share / total[item]
    most = np.ceil(number[item] * within).astype(np.int64) + 1
    if (left[used] < most).any():
        most = number[item]
    most = np.minimum(most, left[used])
    cell = np.repeat(np.arange(len(used)), most)
    cells = cell[np.lexsort(((nth(cell) - 1 + begin[cell]) / within[cell], item[cell]))]
    starts = np.searchsorted(item[cells], np.arange(n))
    return np.asarray(used[cells[starts[order] + nth(order) - 1]])


def _mended(
    panel: ArrowPanel,
    before: Indices,
    order: Indices,
    early: int,
    portion: int,
    among: Indices,
    left: Counts,
    weak: Callable[[Arrow], Floats | None],
) -> Indices:
    """Return the order, begun with questions that tell the attributes which leads rest on."""
    # That is held to be so after those ``before`` and so many early ones, as far as questions
    # ``among`` some can do it, a ``portion`` at a time.
    new, now = order[:0], order
    for _ in range(_MENDINGS):
        form = form_of(panel, np.concatenate([before, now[: max(early, len(new))]]))
        weakest = weak(form)
        some = _some_of(among[form.sizes[panel.item[among]] > 0.0])
        if weakest is None or len(some) == 0 or len(new) >= len(order):
            break
        gain = gains_of(form, panel, some, weakest)
        best = np.argsort(-gain, kind="stable")[: max(1, portion)]
        best = best[gain[best] > 0.0]
        if len(best) == 0:
            break
        new = np.concatenate([new, some[best]])
        now = np.concatenate([new, order])
        now = now[nth(now) <= left[now]][: len(order)]
    return now


def _weakest(
    leader: int | Indices | None, items: Indices, scale: Floats, form: Arrow
) -> Floats | None:
    """Return the difference of centres that most of a variance, of leads over the leader (or each
    its own), or of options beside the middle of all, comes from; None if it is small.
    """
    known = form.sizes[items] > 0.0
    if leader is not None:
        known &= form.sizes[leader] > 0.0
    if isinstance(leader, np.ndarray):
        leader = leader[known]
    items, scale = items[known], scale[known]
    if len(items) == 0:
        return None
    centres, own = form.centres_of(items), 1.0 / form.sizes[items]
    middle = centres.mean(axis=0, keepdims=True)
    if leader is not None:
        middle, own = form.centres_of(np.atleast_1d(leader)), own + 1.0 / form.sizes[leader]
    apart = middle - centres
    beside = scale * form.variances(apart, form.lengths(centres))
    worst = int(np.argmax(np.where(np.isfinite(beside), beside, 0.0)))
    small = _SMALL * float((scale * own).max())
    return None if beside[worst] <= small else np.asarray(apart[worst])


def _some_of(questions: Indices) -> Indices:
    """Return `CHUNK` of the questions at most, in their order, as if at random."""
    if len(questions) <= CHUNK:
        return questions
    chosen = np.random.default_rng(0).choice(len(questions), CHUNK, replace=False)
    return questions[np.sort(chosen)]
