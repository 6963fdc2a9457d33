"""What to ask a large panel next: proportions for a leader and its rivals, and whom to ask.

Notation, beside that of `numerics.arrow`
--------
b, j        the leader, its rivals;  a_j = weights², which multiply the variances of its leads
c           (q,) what a question costs per weight: price times squared relative noise
s           (q,) shares of the money, Σs = 1; the weights of an unit of money are s/c

Were all evaluators impartial and as lenient, c̄ would not matter, and the price of variance 1 would
be min c_b n_b + Σ c_j n_j over a_j(1/n_b + 1/n_j) ≤ 1: so n_j = a_j n_b/(n_b − a_j), and with the
derivative 0, c_b n_b² = Σ c_j n_j². That is a bound from below (`star`), with c the least per item.
It is reached where c̄_j = c̄_b for all rivals, that is if all of them are asked about by the same
evaluators in the same proportions. Where partiality forbids that, shares are improved as for dense
rows, by multiplicative steps on both sides of the saddle: with x_j = V⁻¹(e_b − e_j; 0),

    s ← s √(Σ λ_j a_j (a·x_j)²/c),     a·x_j = [o = b]/n_b − [o = j]/n_j − (z − c̄_o)ᵀS⁺(c̄_b − c̄_j),

and λ_j ← λ_j times a_j var_j. Σ λ_j a_j var_j is at most the least maximum, and the maximum over
questions of what is under the root at least: so it is seen when nothing can be gained.

Few evaluators at a time: with one or two evaluations of a rival its evaluators cannot be those of
the leader in proportion, and the difference costs the less the better those few are known. For each
rival twice as many are considered as it has evaluations, and more where that is not good enough:
the cheapest first, of these who is not partial to the leader, and of these who was asked least, so
that all have their turn over the stages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.arrow import Arrow
from evenhand.questions import Questions

_GOLDEN = 0.5 * (5.0**0.5 - 1.0)
_STEPS, _TOL = 100, 0.01  # of the search for shares
_WORK = 1_000_000  # numbers that it goes through, about
_CHUNK = 2048  # rows made dense at once
_NEAR, _FAIR = 1.05, 1.25  # prices so much above the bound are good enough, and may have to be
_ASIDE = 0.05  # share of the money for items that are neither leader nor rival, where they help
_NEGLIGIBLE = 1e-9  # of the largest share
_SMALL = 0.15  # share of the variance that may come from attributes, above what is planned
_MENDINGS, _PORTION = 12, 100  # tries to have it so, each with one question of so many
_LEAST_STEPS = 4
_LATEST = (
    0.25  # of its turn, when an item is due: a little too often does less harm than too rarely
)
_BESIDE = 1e-9  # relative length below which a row adds no rank


class Panel(NamedTuple):
    """Rows of questions that are each about one item.

    item, Z
        (q,) items and (q, p) attributes.
    price, cost
        (q,) prices of an answer, and of a unit of weight.
    evaluator, n_evaluators
        (q,) who is asked, and how many there are.
    partial
        (q,) whether a bias is in the answer.
    n_options, n_items
        The options are the first of the items.
    """

    item: Indices
    Z: sparse.csr_array
    price: Floats
    cost: Floats
    evaluator: Indices
    n_evaluators: int
    partial: NDArray[np.bool_]
    n_options: int
    n_items: int

    @classmethod
    def of(cls, questions: Questions, Z: sparse.csr_array) -> Panel:
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


# ---------------------------------------------------------------------- a start


def start(panel: Panel, length: int, left: Counts, *, by_turns: bool) -> Indices:
    """Return (length,) questions, or more, that identify all leads, the cheapest ones first.

    One per option, then what connects them and tells the biases that leads need, then what tells
    the rest if it is as cheap, then further ones, as many of every option. Of questions that are as
    cheap, evaluators take turns if there are two for every option. With fewer, what connects
    evaluators would be thin: then an option is asked of the first who is not partial to it, unless
    it is to go ``by_turns`` all the same.
    """
    (open_,) = np.nonzero(left > 0)
    if by_turns or length >= 2 * panel.n_options:
        turns = _turns(panel)
    else:
        turns = panel.evaluator + panel.n_evaluators * panel.partial
    by_item = open_[np.lexsort((turns[open_], panel.cost[open_], panel.item[open_]))]
    options = by_item[panel.item[by_item] < panel.n_options]
    if len(options) == 0:
        return options
    firsts = options[_firsts(panel.item[options])]
    unknown = np.eye(panel.Z.shape[1])
    more = _independent(panel, options, unknown)
    spare = more[:0]
    if _identifies(panel, np.concatenate([firsts, more])):
        needed = _needed(panel, firsts, more)
        more, spare = more[needed], more[~needed]
        spare = spare[panel.price[spare] <= np.median(panel.price[firsts])]
    else:
        form = _form(panel, np.concatenate([firsts, more]))
        others = by_item[panel.item[by_item] >= panel.n_options]
        new = _independent(panel, others, np.linalg.qr(form.lost)[0])
        beside = others[_firsts(panel.item[others])]
        beside = beside[np.isin(panel.item[beside], panel.item[new])]
        more = np.concatenate([more, beside, new])
    basis = np.concatenate([firsts, more, spare[: max(0, length - len(firsts) - len(more))]])
    return np.concatenate([basis, _further(panel, options, basis, left, length - len(basis))])


def _turns(panel: Panel) -> Counts:
    """Return (q,) whose turn it is: a rank of every evaluator for every item.

    Items are taken in random order, and the first choices go round. So do the second ones, at a
    distance that differs from round to round, so that evaluators are well connected.
    """
    e = panel.n_evaluators
    place = np.random.default_rng(0).permutation(panel.n_items)[panel.item]
    ahead = (panel.evaluator - place) % e
    shift = np.floor((_GOLDEN * (place // e)) % 1.0 * max(e - 1, 1)).astype(np.int64)
    return np.where(ahead == 0, 0, 1 + (ahead - 1 - shift) % max(e - 1, 1))


def _firsts(items: Indices) -> Indices:
    """Return where every item first occurs, given in its order."""
    return np.flatnonzero(np.diff(items, prepend=-1))


def _places(items: Indices) -> tuple[Indices, Indices]:
    """Return which of its item's every entry is, from 0, and where that item begins."""
    begins = _firsts(items)
    first = np.repeat(begins, np.diff(begins, append=len(items)))
    return np.arange(len(items)) - first, first


def _form(panel: Panel, questions: Indices) -> Arrow:
    """Return the form of so many questions, each asked once, or as often as it is there."""
    return Arrow.of(
        panel.item[questions], panel.Z[questions], np.ones(len(questions)), panel.n_items
    )


def _identifies(panel: Panel, questions: Indices) -> bool:
    """Tell whether these questions, each asked once, identify the leads of all their options."""
    options = np.unique(panel.item[questions])
    options = options[options < panel.n_options]
    variances = _form(panel, questions).lead_variances(int(options[0]), options)
    return bool(np.isfinite(variances).all())


def _independent(panel: Panel, by_item: Indices, free: Floats) -> Indices:
    """Return the cheapest questions that add, beside the first of their item, to what ω is known.

    ``by_item`` are questions, those of an item together, the first of each the cheapest; ``free``
    has as its columns, (p, l), what is not known of ω so far, orthonormal.
    """
    if len(by_item) == 0:
        return by_item
    place, base = _places(panel.item[by_item])
    order = np.lexsort((place, panel.price[by_item]))
    order = order[place[order] > 0]
    question, beside_it = by_item[order], by_item[base[order]]
    found: list[int] = []
    missing = free.shape[1]
    for begin in range(0, len(order), _CHUNK):
        if missing == 0:
            break
        part = slice(begin, begin + _CHUNK)
        rows = (panel.Z[question[part]] - panel.Z[beside_it[part]]).toarray()
        least = _BESIDE * np.linalg.norm(rows, axis=1)
        unknown, at = rows @ free, 0
        while missing > 0:
            (new,) = np.nonzero(np.linalg.norm(unknown[at:], axis=1) > least[at:])
            if len(new) == 0:
                break
            at += int(new[0])
            found.append(int(question[begin + at]))
            missing -= 1
            known = unknown[at] / np.linalg.norm(unknown[at])
            unknown -= np.outer(unknown @ known, known)
            free = free - np.outer(free @ known, known)
            at += 1
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
    return np.asarray((np.abs(terms) > _BESIDE).any(axis=1))


def _further(panel: Panel, options: Indices, basis: Indices, left: Counts, n: int) -> Indices:
    """Return n questions beside the basis, as many of every option as can be.

    To ask the same once more counts as twice the price, a third time thrice.
    """
    place, _ = _places(panel.item[options])
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
        nth, _ = _places(panel.item[question])
        new = (nth < rounds) & ~((time == 0) & np.isin(question, basis))
        if new.sum() >= n or rounds >= most:
            return np.asarray(question[new][np.argsort(nth[new], kind="stable")][:n])
        rounds = min(2 * rounds, most)
    return np.zeros(0, dtype=np.intp)


# ---------------------------------------------------------------------- proportions


def star(a: Floats, cost: float, costs: Floats) -> tuple[float, Floats]:
    """Return n_b and n_j, (n,), the cheapest with a_j(1/n_b + 1/n_j) = 1 for all j.

    Examples
    --------
    >>> n, each = star(np.array([1.0, 1.0, 1.0, 1.0]), 1.0, np.ones(4))
    >>> round(n, 9), each.round(9).tolist()
    (3.0, [1.5, 1.5, 1.5, 1.5])
    """
    highest = float(a.max())

    def rise(n: float) -> float:
        return float(cost - (costs * (a / (n - a)) ** 2).sum())

    low = float((a * (1.0 + np.sqrt(costs / cost))).max()) * (1.0 - 1e-12)  # for one rival alone
    high = highest + float(np.sqrt((costs * a**2).sum() / cost)) * (1.0 + 1e-12)
    n = low if rise(low) >= 0.0 else float(optimize.brentq(rise, low, high, xtol=1e-12 * high))
    return n, a * n / (n - a)


class Shares(NamedTuple):
    """Questions, (c,), shares of the money, (c,), and variances of the leads, (n,), for a unit."""

    questions: Indices
    money: Floats
    variances: Floats
    price: float


def proportions(
    panel: Panel, leader: int, rivals: Indices, a: Floats, length: int, asked: Counts, left: Counts
) -> Shares:
    """Return shares of the money that make max a_j · variance of the lead over j small.

    ``length`` is how many evaluations are planned. Rivals whose leads no questions that may be
    asked identify are left out, with an infinite variance.
    """
    shares = _searched(panel, leader, rivals, a, length, asked, left)
    if np.isfinite(shares.price):
        return shares
    known = np.isfinite(_form(panel, np.flatnonzero(left > 0)).lead_variances(leader, rivals))
    if known.any() and not known.all():
        shares = _searched(panel, leader, rivals[known], a[known], length, asked, left)
    variances = np.full(len(rivals), np.inf)
    if known.any():
        variances[known] = shares.variances
    return shares._replace(variances=variances)


def _searched(
    panel: Panel, leader: int, rivals: Indices, a: Floats, length: int, asked: Counts, left: Counts
) -> Shares:
    """Return shares of open questions; infinite variances if they do not identify all leads."""
    (open_,) = np.nonzero(left > 0)
    role = np.full(panel.n_items, -1)
    role[leader], role[rivals] = 0, np.arange(1, len(rivals) + 1)
    mine = open_[role[panel.item[open_]] >= 0]
    best = Shares(mine, np.zeros(len(mine)), np.full(len(rivals), np.inf), np.inf)
    least = np.full(len(rivals) + 1, np.inf)
    np.minimum.at(least, role[panel.item[mine]], panel.cost[mine])
    if not np.isfinite(least).all():
        return best
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
    while True:
        among = mine[rank[panel.evaluator[mine]] < number[role[panel.item[mine]]]]
        found = _improved(panel, among, role, sizes, a)
        no_use = best.price <= _FAIR * bound and found.price > best.price / _NEAR
        best = min(best, found, key=lambda shares: shares.price)
        if best.price <= _NEAR * bound or no_use or number.min() >= len(whom):
            break
        number *= 2.0
    if np.isinf(best.price) and len(open_) > len(mine):
        best = _improved(panel, open_, role, sizes, a)
    return best


def _whom_to_ask(panel: Panel, questions: Indices, leader: int, asked: Counts) -> Indices:
    """Return evaluators who can be asked, the best first.

    That is who can be asked about the leader, is cheap, is not partial to it, was asked least.
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


def _improved(panel: Panel, questions: Indices, role: Indices, sizes: Floats, a: Floats) -> Shares:
    """Return shares from those of a star on, by multiplicative steps on both sides of the saddle.

    ``role`` is 0 for the leader, 1, 2, … for rivals; others, with −1, get a small share as well.
    """
    n, o, cost = len(sizes), role[panel.item[questions]], panel.cost[questions]
    nobody = Shares(questions, np.zeros(len(questions)), np.full(n - 1, np.inf), np.inf)
    if (np.bincount(o[o >= 0], minlength=n) == 0).any():
        return nobody
    others, place = np.unique(panel.item[questions[o < 0]], return_inverse=True)
    o[o < 0] = n + place
    full = n + len(others)
    Z = panel.Z[questions]
    Z = Z[:, np.unique(Z.indices)]
    s, least = _star_shares(o, cost, sizes, full)
    dual = least[1:n] * sizes[1:] ** 2 / a  # exact where only items matter
    dual /= dual.sum()
    best = nobody
    steps = int(np.clip(_WORK // (len(questions) * (2 + Z.shape[1])), _LEAST_STEPS, _STEPS))
    for step in range(steps + 1):
        form = Arrow.of(o, Z, s / cost, full)
        variances = form.lead_variances(0, np.arange(1, n))
        scaled = a * variances
        worst, mean = float(scaled.max()), float(dual @ scaled)
        if worst < best.price:
            best = Shares(questions, s, variances, worst)
        if step == steps or not np.isfinite(worst):
            break
        gain = _gains(form, o, Z, dual * a) / cost
        if worst <= mean * (1.0 + _TOL) and float(gain.max()) <= mean * (1.0 + _TOL):
            break
        s = s * np.sqrt(gain)
        s = np.where(s < _NEGLIGIBLE * s.max(), 0.0, s) / s.sum()
        dual = np.maximum(dual * scaled / worst, 1e-12)
        dual /= dual.sum()
    return best


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
    out = np.einsum("ij,ij->i", toward, centres)[o]
    # along: what is linear in z − c̄_o, twice; W for all, and for leader and rivals their own x
    along = -2.0 * toward
    along[0] += 2.0 * (dual @ x) / form.sizes[0]
    along[1:n] -= 2.0 * (dual / form.sizes[1:n])[:, None] * x
    constant = np.zeros(len(form.sizes))
    constant[0] = dual.sum() / form.sizes[0] ** 2
    constant[1:n] = dual / form.sizes[1:n] ** 2
    constant[:n] -= np.einsum("ij,ij->i", along[:n] + 2.0 * toward[:n], centres[:n])
    for begin in range(0, len(o), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        rows = sparse.coo_array(Z[part])
        linear = rows.tocsr() @ W + along[o[part]]
        out[part] += np.bincount(rows.row, rows.data * linear[rows.row, rows.col], len(o[part]))
    return np.asarray(np.maximum(out + constant[o], 0.0))


# ---------------------------------------------------------------------- an order


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
    nth, _ = _places(panel.item[used])
    (begins,) = np.nonzero(nth == 0)
    item, n = np.cumsum(nth == 0) - 1, len(begins)
    total: Floats = np.asarray(np.bincount(item, share), dtype=np.float64)
    spin = (_GOLDEN * (np.arange(n) + asked.sum())) % 1.0
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
    return np.asarray(used[cells[starts[order] + _occurrence(order)]])


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


def _repeated(times: Counts) -> tuple[Indices, Indices]:
    """Return every index so many times, in order, and which of those it is."""
    index = np.repeat(np.arange(len(times)), times)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(times) - times, times)


def _occurrence(items: Indices) -> Indices:
    """Return for every entry how often the same came before it."""
    order = np.argsort(items, kind="stable")
    nth = np.empty(len(items), dtype=np.intp)
    nth[order], _ = _places(items[order])
    return nth


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
        form = _form(panel, now[:early])
        told = rivals[form.sizes[rivals] > 0.0]
        if form.sizes[leader] == 0.0 or len(told) == 0:
            return now
        own = 1.0 / form.sizes[leader] + 1.0 / form.sizes[told]
        scale = a[form.sizes[rivals] > 0.0]
        beside = scale * (form.lead_variances(leader, told) - own)
        worst = int(np.argmax(beside))
        if beside[worst] <= _SMALL * float((scale * own).max()):
            return now
        asked_about = among[form.sizes[panel.item[among]] > 0.0]
        asked_about = asked_about[:: 1 + len(asked_about) // _CHUNK]  # a sample will do
        apart = form.centres_of(np.array([leader])) - form.centres_of(told[worst : worst + 1])
        gain = _told_of(form, panel, asked_about, apart[0], known=bool(np.isfinite(beside[worst])))
        best = np.argsort(-gain / panel.price[asked_about], kind="stable")
        best = best[: max(1, early // _PORTION)]
        best = best[gain[best] > 0.0]
        if len(best) == 0:
            return now
        new = np.concatenate([new, asked_about[best]])
    return _allowed(np.concatenate([new, order]), left)[: len(order)]


def _allowed(order: Indices, left: Counts) -> Indices:
    """Return the order without what is asked more often than it may be."""
    return order[_occurrence(order) < left[order]]


def _told_of(
    form: Arrow, panel: Panel, questions: Indices, direction: Floats, *, known: bool
) -> Floats:
    """Return by how much one more of each question lessens uᵀS⁺u; or whether it tells of u at all.

    One more of weight 1 adds κ y yᵀ to S, y = z − c̄_o, κ = n_o/(n_o + 1).
    """
    item = panel.item[questions]
    spare = form.sizes[item] / (form.sizes[item] + 1.0)
    basis = form.root if known else form.lost
    y = panel.Z[questions] @ basis - (form.centres @ basis)[item]
    along = (y @ (direction @ basis)) ** 2
    if not known:
        return np.asarray(np.where(along > _BESIDE, along, 0.0))
    return np.asarray(spare * along / (1.0 + spare * np.einsum("ij,ij->i", y, y)))
