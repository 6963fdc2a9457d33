"""Hand-outs: as even as a maximum flow allows, own groups shared out, workloads kept to."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

import evenhand as eh
from evenhand.arrays import Counts
from evenhand.questions import HandOut, Questions, hand_out
from evenhand.search import PlannedChoice


def grants(seed: int, k: int = 48, e: int = 14, universities: int = 7, **more: Any) -> Questions:
    """Return a panel of applications and reviewers of several universities."""
    rng = np.random.default_rng(seed)
    options = {f"a{i}": f"u{g}" for i, g in enumerate(rng.integers(universities, size=k))}
    places = rng.permutation(np.arange(e) % universities)
    return Questions.panel(options, {f"r{i}": f"u{g}" for i, g in enumerate(places)}, **more)


def flow(may: NDArray[np.bool_], work: Counts, each: int) -> int:
    """Return how many can be handed out if every option has at most so many (an own algorithm)."""
    k, e = may.shape
    graph = np.zeros((k + e + 2, k + e + 2), dtype=np.int32)
    graph[0, 1 : 1 + e] = work
    graph[1 : 1 + e, 1 + e : -1] = may.T
    graph[1 + e : -1, -1] = each
    return int(maximum_flow(sparse.csr_matrix(graph), 0, k + e + 1).flow_value)


@pytest.mark.parametrize("seed", range(30))
def test_options_have_as_many_reviews_as_a_flow_allows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, e = int(rng.integers(6, 30)), int(rng.integers(4, 12))
    may = rng.random((k, e)) < rng.choice([0.4, 0.7, 0.9])
    work = rng.integers(2, k + 1, e)
    panel = grants(seed, k, e, 3, workload=work.tolist(), capacity=may.astype(int))
    n = int(rng.integers(2 * k, 4 * k))
    found = hand_out(panel, n)
    assert found is not None
    given = found.reshape(k, e)
    assert (given <= may).all()
    assert (given.sum(axis=0) <= work).all()
    most = min(n, flow(may, work, e))
    assert given.sum() == most
    each = most // k
    feasible = flow(may, work, each) == each * k and flow(may, work, each + 1) >= most
    assert feasible == (np.ptp(given.sum(axis=1)) <= 1)


def test_where_one_way_is_not_even_the_next_best_is_found() -> None:
    may = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    panel = Questions.panel([*"abcde"], [*"PQR"], partial=None, capacity=may, workload=3)
    there = np.flatnonzero(may)
    ways = [
        np.bincount(there[list(some)] // 3, minlength=5)
        for some in itertools.combinations(range(len(there)), 9)
        if (np.bincount(there[list(some)] % 3, minlength=3) <= 3).all()
    ]
    reviews = HandOut(panel, _found(panel, 9)).reviews
    assert sorted(reviews.tolist()) == [1, 1, 2, 2, 3]
    assert (reviews**2).sum() == min((way**2).sum() for way in ways)


@pytest.mark.parametrize("seed", range(12))
def test_the_own_group_is_shared_out(seed: int) -> None:
    even = HandOut(panel := grants(seed, workload=12), _found(panel, 168))
    assert set(even.reviews.tolist()) == {3, 4}
    assert set(even.loads.tolist()) == {12}
    pool = (panel.points[:, 48] > 0).reshape(48, 14).mean(axis=0)
    assert (np.abs(even.own - 12 * pool) <= 1.0).all()


def _found(panel: Questions, n: int) -> Counts:
    found = hand_out(panel, n)
    assert found is not None
    return found


def test_a_campaign_hands_out_what_a_plan_does_and_goes_on_from_what_is_there() -> None:
    panel = grants(3, workload=12)
    policy = PlannedChoice(panel, at_most=120)
    first = policy.ask(n=120).counts
    assert (first == hand_out(panel, 120)).all()
    more = hand_out(panel, 168, first)
    assert more is not None
    assert (more >= first).all()
    assert set(HandOut(panel, more).reviews.tolist()) == {3, 4}


@pytest.mark.parametrize(("workload", "why"), [(2, "not everything"), (None, "nothing more may")])
def test_who_has_no_time_left_has_not_evaluated_everything(workload: int | None, why: str) -> None:
    panel = Questions.panel([*"abcd"], [*"PQR"], partial=None, workload=workload)
    counts = np.ones(12, dtype=np.int64) if workload is None else _found(panel, 6)
    names = [panel.label(x).split(" by ") for x in np.flatnonzero(counts)]
    table = pd.DataFrame(names, columns=["option", "evaluator"])
    table["score"] = np.random.default_rng(0).normal(size=len(table))
    said = eh.decide(panel, table, top=2, noise_scale=1.0).next_questions
    assert not said
    assert why in said.advice
