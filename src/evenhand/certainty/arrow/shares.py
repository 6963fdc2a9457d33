"""How to share money among the questions of a large panel, to compare a leader with its rivals.

Notation, beside that of `numerics.least_squares` and `certainty.shares`
--------
a_j         κ_j, which multiplies the variance of the lead over j

Were all evaluators impartial and as lenient, c̄ would not matter, and the price of variance 1 would
be min c_b n_b + Σ c_j n_j over a_j(1/n_b + 1/n_j) ≤ 1: so n_j = a_j n_b/(n_b − a_j), and with the
derivative 0, c_b n_b² = Σ c_j n_j². That is a bound from below (`star`), with c the least per item.
It is reached where c̄_j = c̄_b for all rivals, that is if all of them are asked about by the same
evaluators in the same proportions. Where partiality forbids that, shares are improved from there
(`certainty.shares`), with x_j = V⁻¹(e_b − e_j; 0) and

    aᵀx_j = [o = b]/n_b − [o = j]/n_j − (z − c̄_o)ᵀS⁺(c̄_b − c̄_j).

Few evaluators at a time: with one or two evaluations of a rival its evaluators cannot be those of
the leader in proportion, and the difference costs the less the better those few are known. For each
rival twice as many are considered as it has evaluations, and more where that is not good enough:
the cheapest first, of these who is not partial to the leader, and of these who was asked least, so
that all have their turn over the stages.

Where rivals have leaders of their own (`across`) there is no such bound: items begin with twice the
largest a of their leads, which will do were all evaluators impartial and as lenient, and all
evaluators are considered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.models import Goal, Shares
from evenhand.certainty.shares import balanced
from evenhand.numerics.least_squares import Arrow, per_item
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.questions import Questions

_STEPS = 30  # of a search for shares
_WORK, _LEAST_STEPS = 1_000_000, 4  # numbers that it goes through, about; and steps all the same
_NEAR, _FAIR = 1.05, 1.25  # prices so much above the bound are good enough, and may have to be
_ASIDE = 0.05  # share of the money for items that are neither leader nor rival, where they help
_NEWTON = 100  # steps at most
GOLDEN = 0.5 * (5.0**0.5 - 1.0)
"""Multiples of it, less their whole parts, are spread evenly however many there are."""
CHUNK = 2048
"""Rows made dense at once."""


class ArrowPanel(NamedTuple):
    """Rows of questions that are each about one item."""

    item: Indices  # (q,)
    Z: sparse.csr_array  # (q, p) attributes
    price: Floats  # (q,) of an answer
    cost: Floats  # (q,) of a unit of weight
    evaluator: Indices  # (q,) who is asked
    n_evaluators: int
    partial: NDArray[np.bool_]  # (q,) whether a bias is in the answer
    n_options: int  # the options are the first of the items
    n_items: int

    @classmethod
    def of(cls, questions: Questions, Z: sparse.csr_array) -> ArrowPanel:
        """Return the panel of questions with these attributes."""
        prices, noise = questions.prices, questions.noise
        e = len(questions.evaluators)
        who = np.where(questions.evaluator < 0, e, questions.evaluator)
        return cls(
            questions.about[:, 0],
            Z,
            prices,
            prices if noise is None else prices * noise**2,
            who,
            e + int((questions.evaluator < 0).any()),
            abs(Z) @ np.array([column.kind == "bias" for column in questions.columns]) > 0.0,
            len(questions.options),
            len(questions.items),
        )


def form_of(panel: ArrowPanel, questions: Indices, times: Counts | None = None) -> Arrow:
    """Return the form of questions, each asked so many times, or as often as it is there."""
    weights = panel.price[questions] / panel.cost[questions] * (1.0 if times is None else times)
    return Arrow.of_rows(panel.item[questions], panel.Z[questions], weights, panel.n_items)


def gains_of(form: Arrow, panel: ArrowPanel, questions: Indices, direction: Floats) -> Floats:
    """Return by how much one more of each question lessens uᵀS⁺u, for its price."""
    # One more of weight 1 adds κ y yᵀ to S, y = z − c̄_o, κ = n_o/(n_o + 1).
    item = panel.item[questions]
    spare = form.sizes[item] / (form.sizes[item] + 1.0)
    y = panel.Z[questions] @ form.root - (form.centres @ form.root)[item]
    gain = spare * (y @ (direction @ form.root)) ** 2
    gain /= 1.0 + spare * np.einsum("ij,ij->i", y, y)
    if form.lost.shape[1]:  # what is not known otherwise tells nothing else
        beside = panel.Z[questions] @ form.lost - (form.centres @ form.lost)[item]
        gain[np.abs(beside).max(axis=1) > IN_SPAN] = 0.0
    return np.asarray(gain / panel.price[questions])


def turns(panel: ArrowPanel) -> Counts:
    """Return (q,) whose turn it is: a rank of every evaluator for every item."""
    # Items are taken in random order, and the first choices go round. So do the second ones, at a
    # distance that differs from round to round, so that evaluators are well connected.
    e = panel.n_evaluators
    place = np.random.default_rng(0).permutation(panel.n_items)[panel.item]
    ahead = (panel.evaluator - place) % e
    shift = np.floor((GOLDEN * (place // e)) % 1.0 * max(e - 1, 1)).astype(np.int64)
    return np.where(ahead == 0, 0, 1 + (ahead - 1 - shift) % max(e - 1, 1))


def star(a: Floats, cost: float, costs: Floats) -> tuple[float, Floats]:
    """Return n_b and n_j, (n,), the cheapest with a_j(1/n_b + 1/n_j) = 1 for all j."""
    n = float((a * (1.0 + np.sqrt(costs / cost))).max())  # what one rival alone would need
    for _ in range(_NEWTON):  # cost − Σ costs (a/(n − a))² rises and is concave: from below only
        short = float((costs * (a / (n - a)) ** 2).sum()) - cost
        step = short / (2.0 * float((costs * a**2 / (n - a) ** 3).sum()))
        if step <= 1e-13 * n:
            break
        n += step
    return n, a * n / (n - a)


def proportions(panel: ArrowPanel, goal: Goal) -> Shares:
    """Return shares of the money that make max a_j · variance of the lead over j small, where
    questions that may be asked identify all leads.
    """
    leader, rivals, a, length, asked, left = goal
    assert isinstance(leader, int)
    (open_,) = np.nonzero(left > 0)
    role = np.full(panel.n_items, -1)
    role[leader], role[rivals] = 0, np.arange(1, len(rivals) + 1)
    mine = open_[role[panel.item[open_]] >= 0]
    least = np.full(len(rivals) + 1, np.inf)
    np.minimum.at(least, role[panel.item[mine]], panel.cost[mine])
    n, others = star(a, float(least[0]), least[1:])
    sizes = np.concatenate([[n], others])
    bound = float(sizes @ least)
    whom = _whom_to_ask(panel, mine, leader, asked)
    rank = np.empty(panel.n_evaluators, dtype=np.intp)
    rank[whom] = np.arange(len(whom))
    times = length / sizes.sum() * sizes
    number = np.maximum(2.0, np.minimum(2.0 * times, times[1:] @ times[1:] / times[1:].sum()))
    number[0] = number.max()
    if (left[mine] < times[role[panel.item[mine]]]).any():
        number[:] = len(whom)
    best, price = _improved(panel, mine[:0], role, sizes, a), np.inf
    while True:
        among = mine[rank[panel.evaluator[mine]] < number[role[panel.item[mine]]]]
        found = _improved(panel, among, role, sizes, a)
        new = float((a * found.variances).max())
        no_use = price <= _FAIR * bound and new > price / _NEAR
        best, price = (found, new) if new < price else (best, price)
        if price <= _NEAR * bound or no_use or number.min() >= len(whom):
            break
        number *= 2.0
    if np.isinf(price) and len(open_) > len(mine):
        best = _improved(panel, open_, role, sizes, a)
    return best


def across(panel: ArrowPanel, goal: Goal) -> Shares:
    """Return the same where each rival has a leader of its own."""
    (open_,) = np.nonzero(goal.left > 0)
    ahead = np.broadcast_to(goal.leader, goal.rivals.shape)
    items, place = np.unique(np.concatenate([ahead, goal.rivals]), return_inverse=True)
    b, j = np.split(place.reshape(-1), 2)
    sizes = np.zeros(len(items))
    np.maximum.at(sizes, place.reshape(-1), np.tile(2.0 * goal.scale, 2))
    role = np.full(panel.n_items, -1)
    role[items] = np.arange(len(items))
    mine = open_[role[panel.item[open_]] >= 0]
    found = _improved(panel, mine, role, sizes, goal.scale, (b, j))
    if np.isfinite(found.variances).all() or len(open_) == len(mine):
        return found
    return _improved(panel, open_, role, sizes, goal.scale, (b, j))


def _whom_to_ask(panel: ArrowPanel, questions: Indices, leader: int, asked: Counts) -> Indices:
    """Return evaluators who can be asked, the best first: who can be asked about the leader, is
    cheap, is not partial to it, was asked least.
    """
    e, who = panel.n_evaluators, panel.evaluator[questions]
    number = np.bincount(who, minlength=e)
    cost = np.bincount(who, panel.cost[questions], e) / np.maximum(number, 1)
    about_it = panel.item[questions] == leader
    not_about_it = np.bincount(who, about_it, e) == 0
    partial = np.bincount(who, about_it & panel.partial[questions], e) > 0
    so_far = np.bincount(panel.evaluator, asked, e)
    order = np.lexsort((so_far, partial, np.round(cost, 9), not_about_it))
    return order[number[order] > 0]


def _improved(
    panel: ArrowPanel,
    questions: Indices,
    role: Indices,
    sizes: Floats,
    a: Floats,
    pairs: tuple[Indices, Indices] | None = None,
) -> Shares:
    """Return shares of some questions, from those of a star on; see `certainty.shares`."""
    # ``role`` is 0 for the leader, 1, 2, … for rivals; others, with −1, get a small share as well.
    # ``pairs`` are the roles of leaders, and of rivals, where there are several of both.
    n, o, cost = len(sizes), role[panel.item[questions]], panel.cost[questions]
    money = np.zeros(len(panel.item))
    if (np.bincount(o[o >= 0], minlength=n) == 0).any():
        return Shares(money, np.full(len(a), np.inf))
    others, place = np.unique(panel.item[questions[o < 0]], return_inverse=True)
    o[o < 0] = n + place
    full = n + len(others)
    Z = panel.Z[questions]
    Z = Z[:, np.unique(Z.indices)]
    start, least = _star_shares(o, cost, sizes, full)

    def look(s: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        form = Arrow.of_rows(o, Z, s / cost, full)
        if pairs is not None:
            f = a * form.lead_variances(*pairs)
            return f, lambda dual: _gains_across(form, o, Z, dual * a, *pairs) / cost
        f = a * form.lead_variances(0, np.arange(1, n))
        return f, lambda dual: _gains(form, o, Z, dual * a) / cost

    dual = None
    if pairs is None:
        dual = least[1:n] * sizes[1:] ** 2 / a  # exact where only items matter
        dual = dual / dual.sum()
    steps = int(np.clip(_WORK // (len(questions) * (2 + Z.shape[1])), _LEAST_STEPS, _STEPS))
    money[questions], f = balanced(look, start, dual, steps)
    return Shares(money, f / a)


def _star_shares(o: Indices, cost: Floats, sizes: Floats, full: int) -> tuple[Floats, Floats]:
    """Return shares by the sizes of items, for each the most for its cheapest, and least costs."""
    n = len(sizes)
    least = np.full(full, np.inf)
    np.minimum.at(least, o, cost)
    within = (least[o] / cost) ** 2
    total = np.full(full, _ASIDE / max(full - n, 1))
    total[:n] = sizes * least[:n] / (sizes @ least[:n])
    s = (total / np.bincount(o, within, full))[o] * within
    return s / s.sum(), least


def _gains(form: Arrow, o: Indices, Z: sparse.csr_array, dual: Floats) -> Floats:
    """Return (c,) Σ dual_j (a·x_j)² for the rows a of questions; see the module's notation."""
    n = len(dual) + 1
    centres = form.centres.toarray()
    x = (centres[1:n] - centres[0]) @ form.root @ form.root.T  # −S⁺(c̄_b − c̄_j)
    W = (x * dual[:, None]).T @ x
    toward = centres @ W
    # along: what is linear in z − c̄_o, twice; W for all, and for leader and rivals their own x
    along = -2.0 * toward
    along[0] += 2.0 * (dual @ x) / form.sizes[0]
    along[1:n] -= 2.0 * (dual / form.sizes[1:n])[:, None] * x
    constant = np.zeros(len(form.sizes))
    constant[0] = dual.sum() / form.sizes[0] ** 2
    constant[1:n] = dual / form.sizes[1:n] ** 2
    return _added_up(centres, o, Z, W, toward, along, constant, n)


def _gains_across(
    form: Arrow, o: Indices, Z: sparse.csr_array, dual: Floats, b: Indices, j: Indices
) -> Floats:
    """Return the same for leads of options b, (n,), over options j, each its own."""
    centres, full = form.centres.toarray(), len(form.sizes)
    x = (centres[j] - centres[b]) @ form.root @ form.root.T
    weighed = x * dual[:, None]
    W = weighed.T @ x
    toward = centres @ W
    own = per_item(b, np.ones(len(b)), full) - per_item(j, np.ones(len(j)), full)
    known = np.where(form.sizes > 0.0, form.sizes, np.inf)
    along = -2.0 * toward + 2.0 * np.asarray(own @ weighed) / known[:, None]
    constant = (np.bincount(b, dual, full) + np.bincount(j, dual, full)) / known**2
    return _added_up(centres, o, Z, W, toward, along, constant, full)


def _added_up(
    centres: Floats,
    o: Indices,
    Z: sparse.csr_array,
    W: Floats,
    toward: Floats,
    along: Floats,
    constant: Floats,
    n: int,
) -> Floats:
    """Return (c,) constant + along·(z − c̄_o) of the first n items, and the rest, for all rows."""
    out = np.einsum("ij,ij->i", toward, centres)[o]
    constant[:n] -= np.einsum("ij,ij->i", along[:n] + 2.0 * toward[:n], centres[:n])
    for begin in range(0, len(o), CHUNK):
        part = slice(begin, begin + CHUNK)
        rows = sparse.coo_array(Z[part])
        linear = rows.tocsr() @ W + along[o[part]]
        out[part] += np.bincount(rows.row, rows.data * linear[rows.row, rows.col], len(o[part]))
    return np.asarray(np.maximum(out + constant[o], 0.0))
