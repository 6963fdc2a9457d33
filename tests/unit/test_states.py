"""A state is data, never trusted: what once ended the process, or never ended, is refused in words.

`test_strangers.py` changes states at random; what was found so, and what is too rare, is here.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import MOST, recalled, recalled_counts
from evenhand.findings import Checks

ACTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
PANEL = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q"], capacity=None)
NAN, INF = {"number": "nan"}, {"number": "inf"}


def state_of(name: str, rounds: int, asked: Any = ACTIONS, **settings: Any) -> dict[str, Any]:
    """Return the state of a policy after so many rounds, as JSON carries it."""
    policy = eh.policy(name, asked, 400, **settings)
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        counts = policy.ask().counts
        means = np.arange(len(counts)) + rng.standard_normal(len(counts))
        policy.tell(eh.Feedback(counts, counts * means, counts * (means**2 + (counts > 1))))
    state: dict[str, Any] = json.loads(json.dumps(policy.state()))
    return state


def changed(state: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the state with another value at a place, such as ``run.memory.counts.0``."""
    state = copy.deepcopy(state)
    *before, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    inner: Any = state
    for key in before:
        inner = inner[key]
    inner[last] = value
    return state


STATES: dict[str, dict[str, Any]] = {
    "oful": state_of("oful-debiased", 3),
    "thompson": state_of("thompson-sampling", 3),
    "ids": state_of("ids-directed", 3),
    "priced": state_of("priced-exploration", 3, noise_scale=1.0),
    "core": state_of("priced-exploration", 4, noise_scale=1.0, budget=0.01),
    "anytime": state_of("priced-exploration", 3, noise_scale=1.0, horizon_known=False),
    "uniform": state_of("uniform", 5),
    "committed": state_of("explore-then-commit", 1, exploration=50),
    "phases": state_of("phased-elimination", 1),
    "paying": state_of("uniform", 3, PANEL, budget=70.0),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_nobody_changed_goes_on(name: str) -> None:
    policy = eh.restore(STATES[name])
    assert json.loads(json.dumps(policy.state())) == STATES[name]
    assert policy.ask().total > 0


RECORD = "run.checks.record"


@pytest.mark.parametrize(
    ("name", "path", "value", "said"),
    [
        ("oful", "run.memory.regression.theta.2", None, "theta is .*None.* of numbers"),
        ("oful", "run.memory.regression.theta.2", NAN, r"theta\[2\] is nan"),
        ("oful", "run.memory.regression.root.0.0", 1e9, r"root\[0, 0\] is 1000000000.0"),
        ("oful", "run.memory.regression.root.0", [], "root is ragged"),
        ("oful", "run.memory.regression.log_det", -1.0, "log_det is -1.0; it must be from 0"),
        ("oful", "run.memory.counts.0", 2**63, "counts is .* of whole numbers"),
        ("oful", "run.memory.counts", [MOST // 2] * 3, "counts adds up to over"),
        ("oful", "run.memory.mean", 7.0, r"mean has the shape \(\); it must be 3"),
        ("thompson", "run.memory.generator.0", "x", "two texts of digits"),
        ("thompson", "run.memory.generator.1", str(2**128), "two texts of digits"),
        ("ids", "run.memory.counts.1", -1, r"counts\[1\] is -1"),
        ("priced", "run.memory.policy.memory.leader", 3, "leader is 3; it must be from 0 to 2"),
        ("priced", "run.memory.policy.memory.leader", -1, "leader is -1"),
        ("priced", "run.memory.policy.memory.value", [0.0] * 8, "value has the shape"),
        ("priced", "run.memory.policy.memory.variance.0", -1.0, r"variance\[0\] is -1.0"),
        ("priced", "run.memory.ledger.bounds.0", 1e9, r"bounds\[0\] is 1000000000.0"),
        ("priced", "run.memory.decided", [10**6, 0, 0], "more evaluations than the"),
        ("priced", "run.memory.epoch.horizon", 0, "horizon is 0"),
        ("anytime", "run.memory.epoch.horizon", 3, "where no epoch ends"),
        ("core", "run.memory.block.0", 10**6, "the block is not that of the core"),
        ("core", "run.memory.epoch.core", None, "the block is not that of the core"),
        ("core", "run.memory.epoch.core.block.purpose", "play", "purpose of a block is 'play'"),
        ("core", "run.memory.epoch.core.candidates", [1, 1], "in increasing order"),
        ("core", "run.memory.epoch.core.candidates", [], "one or more options"),
        ("core", "run.memory.epoch.core._exploited", 0.5, "_exploited is 0.5"),
        ("core", "run.memory.gathered.options", [-1], r"options\[0\] is -1"),
        ("uniform", "run.memory.squares.0", -1.0, r"squares\[0\] is -1.0"),
        (
            "committed",
            "run.memory.start",
            10**15,
            "start is 1000000000000000; it must be from 0 to",
        ),
        ("phases", "run.memory.rounds", [{"wanted": [10**15], "times": [1]}], "from 0 to 2"),
        ("phases", "run.memory.rounds", [{"wanted": [0], "times": [-1]}], r"counts\[0\] is -1"),
        ("phases", "run.memory.whole", 0.5, "whole is 0.5; it must be of whole numbers"),
        (
            "phases",
            "run.memory.rounds",
            [{"wanted": [0], "times": [1]}],
            "it has no 'spent'|options",
        ),
        ("uniform", f"{RECORD}.stride", 0, "stride is 0; it must be from 1"),
        ("uniform", f"{RECORD}.stride", 0.5, "stride is 0.5; it must be of whole numbers"),
        ("uniform", f"{RECORD}.rows.0.1", 99.0, "rows are no entries of a run"),
        ("uniform", f"{RECORD}.rows.1.0", 0.0, "rows are no entries of a run"),
        ("uniform", f"{RECORD}.rows.0.2", 0.0, "rows are no entries of a run"),
        ("uniform", "run.checks.next_look", -5, "next_look is -5; it must be from 30"),
        ("uniform", "run.checks.looks", True, "looks is True"),
        ("uniform", "run.checks.alarms", [{"assumption": "luck", "message": ""}], "alarms has"),
    ],
)
def test_what_kernels_rely_on_is_checked(name: str, path: str, value: Any, said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        eh.restore(changed(STATES[name], path, value))


@pytest.mark.parametrize("paid", [44e6, 2.0**63])
def test_who_has_paid_more_than_there_was_asks_for_nothing(paid: float) -> None:
    policy = eh.restore(changed(STATES["paying"], "run.paid", paid))
    assert policy.ask().total == 0
    assert policy.limits.rest(policy.limits.outstanding) == 0.0


@pytest.mark.parametrize(
    ("path", "value"), [("run.memory.wanted.0", 10**15), ("arguments.placed.1", 60)]
)
def test_a_round_asks_for_no_more_than_is_left(path: str, value: int) -> None:
    begun = eh.policy("phased-elimination", ACTIONS, 400)
    assert begun.ask().total > 60
    policy = eh.restore(changed(json.loads(json.dumps(begun.state())), path, value))
    asked = policy.ask()
    assert 0 < asked.total <= policy.remaining
    assert policy.ask(pending=asked.counts).total == 0


def test_a_version_that_is_nested_deeply_is_refused_in_words() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    for part in ("evenhand", "policy"):
        with pytest.raises(eh.InputError, match="a list"):
            eh.restore(STATES["uniform"] | {part: deep})


@pytest.mark.parametrize("name", ["oful", "thompson", "ids", "priced"])
def test_estimates_that_are_no_numbers_choose_nothing(name: str) -> None:
    """As sums of huge scores may become; the place of the largest was that of no option."""
    policy: Any = eh.restore(STATES[name])
    stepper = policy.policy.stepper if name == "priced" else policy.stepper
    memory = stepper.memory()
    memory["regression"]["theta"][:] = np.nan
    for followed in ("mean", "value"):
        if followed in memory:
            memory[followed][:] = np.nan
    stepper.recall(memory)
    with pytest.raises(eh.InputError, match=r"too large for numbers\. Give scores in other"):
        stepper.ask(100)
    if name != "priced":
        with pytest.raises(eh.InputError, match="too large for numbers"):
            stepper.ask_beside(100, 5, np.ones(stepper.k, dtype=np.int64))


def test_a_record_that_no_thinning_shortens_does_not_grow_beyond_its_room() -> None:
    """Blocks that lie so far apart that every other is kept: what follows was written outside."""
    checks, far, most = Checks(eh.ActionSet([[1.0], [2.0]], ["a", "b"])), 2**20 * 64, 2048
    rows = np.zeros((most, 6))
    rows[:, 0] = [far * (i // 64) + i % 64 for i in range(most)]
    rows[:, 2] = 1.0
    entries, memory = far * most, checks.memory()  # the next is of a block that is kept
    memory["record"] |= {"rows": rows, "entries": entries, "stride": 1}
    checks.recall(memory)
    for _ in range(3):
        checks.take(np.array([1, 0]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    found = checks.memory()["record"]
    assert len(found["rows"]) < most
    assert found["entries"] == entries + 3


def test_a_memory_that_is_refused_changes_nothing() -> None:
    policy: Any = eh.restore(STATES["priced"])
    before = json.dumps(policy.ledger.memory(), default=np.ndarray.tolist)
    with pytest.raises(ValueError, match="sums"):
        policy.ledger.recall(policy.ledger.memory() | {"sums": [1.0, 2.0, None]})
    assert json.dumps(policy.ledger.memory(), default=np.ndarray.tolist) == before


def test_what_is_recalled_is_a_copy_of_its_kind() -> None:
    mine = np.array([[1, 2], [3, 4]])[:, ::-1]
    found = recalled({"x": mine}, "x", (2, None))
    assert found.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert not np.shares_memory(mine, found)
    assert recalled({"x": []}, "x", (None, 6)).shape == (0, 6)
    assert recalled({"x": np.bool_(True)}, "x", kind=bool) is True
    assert type(recalled({"x": np.int32(3)}, "x", kind=int)) is int
    assert recalled({"x": 3}, "x") == 3.0
    with pytest.raises(ValueError, match="no 'y'"):
        recalled({"x": 3}, "y")
    with pytest.raises(ValueError, match="adds up"):
        recalled_counts({"n": [MOST, MOST]}, "n", 2)
