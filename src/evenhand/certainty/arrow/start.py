"""What to ask of a panel first: the cheapest questions that identify all leads, then more of each.

A question about an item that has one already tells of the attributes what its z has beside the
other's. So a cheapest set of full rank is found greedily: the cheapest question of every option,
then, by their prices, those that add to the span of such differences, of dimension p at most.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.arrow.panel import (
    BESIDE,
    GOLDEN,
    SMALL,
    Panel,
    firsts_of,
    form_of,
    places_of,
    some_of,
    told_of,
)

_PORTIONS = 8  # in which a start is strengthened
_BLOCK = 256  # rows that are looked at together
_MOST_KNOWN = 32  # directions that are taken out together


def start(panel: Panel, length: int, left: Counts, *, by_turns: bool) -> Indices:
    """Return (length,) questions, or more, that identify all leads, the cheapest ones first.

    One per option, then what connects them and tells the biases that leads need, then what tells
    the rest if it is as cheap, then further ones, as many of every option. Of questions that are as
    cheap, evaluators take turns if there are two for every option. With fewer, what connects
    evaluators would be thin: then an option is asked of the first who is not partial to it, unless
    it is to go ``by_turns`` all the same, and the connections are strengthened first.
    """
    (open_,) = np.nonzero(left > 0)
    by_turns = by_turns or length >= 2 * panel.n_options
    turns = panel.evaluator + panel.n_evaluators * panel.partial
    if by_turns:
        turns = _turns(panel)
    by_item = open_[np.lexsort((turns[open_], panel.cost[open_], panel.item[open_]))]
    options = by_item[panel.item[by_item] < panel.n_options]
    if len(options) == 0:
        return options
    firsts = options[firsts_of(panel.item[options])]
    unknown = np.eye(panel.Z.shape[1])
    more = _independent(panel, options, unknown)
    spare = more[:0]
    if _identifies(panel, np.concatenate([firsts, more])):
        needed = _needed(panel, firsts, more)
        more, spare = more[needed], more[~needed]
        spare = spare[panel.price[spare] <= np.median(panel.price[firsts])]
    else:
        form = form_of(panel, np.concatenate([firsts, more]))
        others = by_item[panel.item[by_item] >= panel.n_options]
        new = _independent(panel, others, np.linalg.qr(form.lost)[0])
        beside = others[firsts_of(panel.item[others])]
        beside = beside[np.isin(panel.item[beside], panel.item[new])]
        more = np.concatenate([more, beside, new])
    basis = np.concatenate([firsts, more])
    if not by_turns:
        basis = _strengthened(panel, basis, options, length - len(basis))
    spare = spare[~np.isin(spare, basis)]
    spare = spare[np.argsort(~panel.partial[spare], kind="stable")]  # biases before leniencies
    basis = np.concatenate([basis, spare[: max(0, length - len(basis))]])
    return np.concatenate([basis, _further(panel, options, basis, left, length - len(basis))])


def _turns(panel: Panel) -> Counts:
    """Return (q,) whose turn it is: a rank of every evaluator for every item.

    Items are taken in random order, and the first choices go round. So do the second ones, at a
    distance that differs from round to round, so that evaluators are well connected.
    """
    e = panel.n_evaluators
    place = np.random.default_rng(0).permutation(panel.n_items)[panel.item]
    ahead = (panel.evaluator - place) % e
    shift = np.floor((GOLDEN * (place // e)) % 1.0 * max(e - 1, 1)).astype(np.int64)
    return np.where(ahead == 0, 0, 1 + (ahead - 1 - shift) % max(e - 1, 1))


def _identifies(panel: Panel, questions: Indices) -> bool:
    """Tell whether these questions, each asked once, identify the leads of all their options."""
    options = np.unique(panel.item[questions])
    options = options[options < panel.n_options]
    variances = form_of(panel, questions).lead_variances(int(options[0]), options)
    return bool(np.isfinite(variances).all())


def _independent(panel: Panel, by_item: Indices, free: Floats) -> Indices:
    """Return the cheapest questions that add, beside the first of their item, to what ω is known.

    ``by_item`` are questions, those of an item together, the first of each the cheapest; ``free``
    has as its columns, (p, l), what is not known of ω so far, orthonormal.
    """
    if len(by_item) == 0:
        return by_item
    place, base = places_of(panel.item[by_item])
    order = np.lexsort((place, panel.price[by_item]))
    order = order[place[order] > 0]
    question, beside_it = by_item[order], by_item[base[order]]
    found: list[int] = []
    known: list[Floats] = []  # directions that are still in ``free``: to take them out is work
    missing, before = free.shape[1], 0
    for begin in range(0, len(order), _BLOCK):
        if known and (len(known) >= _MOST_KNOWN or len(known) == before):
            free, known = free - (free @ np.transpose(known)) @ known, []
        before = len(known)
        part = slice(begin, begin + _BLOCK)
        rows = panel.Z[question[part]] - panel.Z[beside_it[part]]
        least = BESIDE * np.sqrt(rows.power(2).sum(axis=1))
        unknown, at = rows @ free, 0
        if known:
            unknown -= (unknown @ np.transpose(known)) @ known
        while missing > 0:
            (new,) = np.nonzero(np.linalg.norm(unknown[at:], axis=1) > least[at:])
            if len(new) == 0:
                break
            at += int(new[0])
            found.append(int(question[begin + at]))
            missing -= 1
            known.append(unknown[at] / np.linalg.norm(unknown[at]))
            unknown[at:] -= np.outer(unknown[at:] @ known[-1], known[-1])
        if missing == 0:
            break
    return np.array(found, dtype=np.intp)


def _needed(panel: Panel, firsts: Indices, more: Indices) -> NDArray[np.bool_]:
    """Tell which of the independent questions the leads need.

    That is what the first questions of the options differ by, in terms of what the others say.
    """
    base = np.zeros(panel.n_items, dtype=np.intp)
    base[panel.item[firsts]] = firsts
    known = (panel.Z[more] - panel.Z[base[panel.item[more]]]).toarray()
    apart = panel.Z[firsts].toarray()
    terms = np.linalg.lstsq(known.T, (apart - apart[0]).T, rcond=None)[0]
    return np.asarray((np.abs(terms) > BESIDE).any(axis=1))


def _strengthened(panel: Panel, basis: Indices, options: Indices, n: int) -> Indices:
    """Return the basis and at most n more questions, so that no leads rest on single answers.

    Else one error that all options of a group have in common would make one of them the leader.
    """
    items = np.unique(panel.item[basis])
    items = items[items < panel.n_options]
    candidates = some_of(options[np.isin(panel.evaluator[options], panel.evaluator[basis])])
    most = len(basis) + n
    while len(basis) < most:
        form = form_of(panel, basis)
        centres = form.centres_of(items)
        apart = centres - centres.mean(axis=0)
        beside = form.variances(apart, form.lengths(centres))
        worst = int(np.argmax(beside))
        if beside[worst] <= SMALL / float(form.sizes[items].mean()):
            break
        candidates = np.setdiff1d(candidates, basis, assume_unique=True)
        gain = told_of(
            form, panel, candidates, apart[worst], known=bool(np.isfinite(beside[worst]))
        )
        best = np.argsort(-gain / panel.price[candidates], kind="stable")[: max(1, n // _PORTIONS)]
        best = best[gain[best] > 0.0]
        if len(best) == 0:
            break
        basis = np.concatenate([basis, candidates[best]])[:most]
    return basis


def _further(panel: Panel, options: Indices, basis: Indices, left: Counts, n: int) -> Indices:
    """Return n questions beside the basis, as many of every option as can be.

    To ask the same once more counts as twice the price, a third time thrice.
    """
    place, _ = places_of(panel.item[options])
    most = n + len(basis)
    rounds = -(-most // max(int((place == 0).sum()), 1)) + 1
    while n > 0:
        near = np.flatnonzero(place < rounds)
        visit, time = (part.ravel() for part in np.meshgrid(near, np.arange(rounds)))
        open_ = time < left[options[visit]]
        visit, time = visit[open_], time[open_]
        question = options[visit]
        order = np.lexsort((visit, panel.price[question] * (time + 1.0), panel.item[question]))
        question, time = question[order], time[order]
        nth, _ = places_of(panel.item[question])
        new = (nth < rounds) & ~((time == 0) & np.isin(question, basis))
        if new.sum() >= n or rounds >= most:
            return np.asarray(question[new][np.argsort(nth[new], kind="stable")][:n])
        rounds = min(2 * rounds, most)
    return np.zeros(0, dtype=np.intp)
