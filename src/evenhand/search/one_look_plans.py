"""What to ask where all of it is fixed before the first score, and when to ask no more.

Nothing here is a matter of certainty: to give up costs no validity, nor does a plan that is less
even than it might be.

Answers are asked for in an order that is random but even: options have their turn about equally
often, whenever one looks. So what drifts with time meets all of them alike, and leads become known
at the rate at which answers come.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, Indices
from evenhand.policies.limits import done_by, nth
from evenhand.questions import UNLIMITED, Questions, of_kind
from evenhand.questions.hand_outs import hand_out
from evenhand.questions.identifiable import accuracy

_VAGUE = 1e-6  # evaluations' worth that everything is taken to be known by,
_LENIENT = 3.0  # and severities
_GREEDY = 256  # questions that are thought of in one go
_AGAIN = 4  # how often a question is asked that may be asked as often as one likes


def all_there_is(questions: Questions) -> int:
    """Return how many evaluations a plan has where nobody says: all, or four of each question."""
    often = np.where(questions.capacity == UNLIMITED, _AGAIN, questions.capacity)
    return max(1, int(_within_workloads(questions, often).sum()))


def planned_counts(
    questions: Questions,
    most: int,
    money: float,
    have: Counts | None = None,
    seed: int = 0,
) -> Counts:
    """Return (q,) how often to ask each question, with what was asked before (``have``): all alike,
    and for the rest, where evaluators have a workload, an even hand-out; else those that tell most
    of the leads for their price.
    """
    often = np.minimum(questions.capacity, most)
    least = np.zeros_like(often) if have is None else have

    low, high = 0, int(often.max(initial=0))  # the largest number of rounds that fits
    while low < high:
        middle = (low + high + 1) // 2
        filled = np.maximum(np.minimum(often, middle), least)
        low, high = (middle, high) if fits(questions, filled, most, money) else (low, middle - 1)
    counts: Counts = np.maximum(np.minimum(often, low), least)
    left = ((often > low) & (counts <= low)).astype(np.int64)
    rest = min(most - int(counts.sum()), int(left.sum()))
    if rest <= 0:
        return counts
    price = float(questions.prices.max())
    paid = most if math.isinf(money) else min(most, math.floor(money / price * (1.0 + 1e-12)))
    found = hand_out(questions, paid, counts, left, seed)
    if found is not None and accuracy(questions, found.astype(np.float64)).comparable:
        return found

    def may(counts: Counts) -> NDArray[np.bool_]:
        """Tell (q,) which questions can be added."""
        open_: NDArray[np.bool_] = counts < low + left
        if (questions.workload < UNLIMITED).any():
            who = questions.evaluator
            open_ &= (who < 0) | (done_by(questions, counts) < questions.workload)[who]
        spent = float(counts @ questions.prices)
        return np.asarray(open_ & (spent + questions.prices <= money * (1.0 + 1e-12)))

    while rest > 0:
        order = telling(questions, np.where(may(counts), left, 0), counts, rest)
        for question in order.tolist():
            if not may(counts)[question]:  # somebody is busy now, or it is too dear: think again
                break
            counts[question] += 1
            left[question] = 0
            rest -= 1
        if len(order) == 0:
            break
    return counts


def telling(questions: Questions, left: Counts, made: Counts, n: int) -> Indices:
    """Return n questions at most, one after the other those that tell most of all leads for their
    price, beside those that were made; of questions that are as good, those asked least.
    """
    (open_,) = np.nonzero(left > 0)
    if not len(open_):
        return open_
    rows = np.asarray(questions.matrix[open_].toarray())
    if questions.noise is not None:
        rows /= questions.noise[open_, None]
    (known,) = np.nonzero(made)
    before = questions.matrix[known].toarray()
    V = (before.T * made[known]) @ before
    d = questions.n_features
    size = (rows**2).mean(axis=0) + np.diag(V)
    V[np.diag_indices_from(V)] += _VAGUE * np.where(size > 0.0, size, 1.0)
    # severities are taken to be known a little, so that a new evaluator tells something at once
    lenient = d + np.flatnonzero(of_kind(questions.columns, "leniency"))
    V[lenient, lenient] += _LENIENT
    X = questions.options.features
    U = np.zeros((len(X), len(V)))
    U[:, :d] = X - X.mean(axis=0)
    if len(U) > len(V):
        U = np.asarray(np.linalg.qr(U, mode="r"))
    G = np.linalg.inv(V)
    A, price = rows, questions.prices[open_]
    asked = made[open_].astype(np.float64)
    order: list[int] = []
    for _ in range(min(n, len(open_), _GREEDY)):
        AG = A @ G
        gain = ((AG @ U.T) ** 2).sum(axis=1) / (1.0 + np.einsum("ij,ij->i", AG, A)) / price
        gain[order] = -1.0
        best = np.flatnonzero(gain >= gain.max() * (1.0 - 1e-9))
        at = int(best[np.argmin(asked[best])])
        order.append(at)
        g = AG[at]
        G -= np.outer(g, g) / (1.0 + float(A[at] @ g))
    return np.asarray(open_[order])


def lead_variances(questions: Questions, asked: Indices) -> Floats:
    """Return (k,) variances of leads over the first option by these questions, once each, per unit
    of noise variance; infinite where they do not compare it.
    """
    counts = np.bincount(asked, minlength=len(questions)).astype(np.float64)
    return accuracy(questions, counts).lead_variances(0)


def fits(questions: Questions, counts: Counts, most: int, money: float) -> bool:
    """Tell whether so many evaluations may be asked, within workloads and for the money."""
    if float(counts.sum()) > most or float(counts @ questions.prices) > money * (1.0 + 1e-12):
        return False
    return bool((_within_workloads(questions, counts) == counts).all())


def even_order(questions: Questions, rng: np.random.Generator) -> Indices:
    """Return all questions in a random order in which options have their turns equally often."""
    order = rng.permutation(len(questions))
    first, second = questions.about[order].T
    if (first >= 0).all() and (second < 0).all():
        return np.asarray(order[np.argsort(nth(first), kind="stable")])
    turns = np.zeros(len(questions.options), dtype=np.int64)
    turn = np.zeros(len(questions), dtype=np.int64)
    for question in order.tolist():
        about = questions.about[question]
        about = about[about >= 0]
        turn[question] = turns[about].max(initial=0)
        turns[about] += 1
    return np.asarray(order[np.argsort(turn[order], kind="stable")])


def in_turns(counts: Counts, order: Indices, before: Counts) -> Indices:
    """Return questions as often as ``counts`` says, those asked least first, then in order."""
    each = np.repeat(order, counts[order])
    return np.asarray(each[np.argsort(nth(each) + before[each], kind="stable")])


def _within_workloads(questions: Questions, counts: Counts) -> Counts:
    """Return the counts, those of an evaluator with too much work cut off at the end."""
    if not (questions.workload < UNLIMITED).any():
        return counts
    kept = counts.copy()
    for e, most in enumerate(questions.workload.tolist()):
        (own,) = np.nonzero(questions.evaluator == e)
        kept[own] = np.diff(np.minimum(np.cumsum(counts[own]), most), prepend=0)
    return kept
