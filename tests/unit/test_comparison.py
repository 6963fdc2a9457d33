"""The benchmark of regret: its problems, the numbers made of its runs, the picture's numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import families
from evenhand.policies import registry
from evenhand.research.comparison import (
    Benchmark,
    Comparison,
    Instance,
    Outcome,
    chosen,
    entrants,
    measure,
    steps,
)
from evenhand.research.rivals.uniform import Uniform
from reference import exact_rank

SEEDS = st.integers(0, 10_000)
FULL, QUICK = chosen(full=True), chosen()


@given(seed=SEEDS, d=st.integers(1, 5), n_groups=st.integers(2, 5))
def test_all_other_groups_are_favoured(seed: int, d: int, n_groups: int) -> None:
    k = d + 3 * n_groups
    problem = families.random_groups(k, d, seed, n_groups=n_groups, lead=0.4)
    assert np.abs(problem.values).max() == pytest.approx(1.0)
    assert np.sum(problem.omega) == pytest.approx(0.0, abs=1e-12)
    z = problem.actions.attributes
    np.testing.assert_array_equal(np.sort(z, axis=1), np.eye(n_groups)[[-1] * k])
    sizes = z.sum(axis=0)
    assert sizes.max() - sizes.min() <= 1
    assert exact_rank(problem.actions.points) == d + n_groups
    own = int(z[problem.best].argmax())
    for group in set(range(n_groups)) - {own}:
        members = np.flatnonzero(z[:, group])
        leader = members[problem.values[members].argmax()]
        lead = problem.evaluations[leader] - problem.evaluations[problem.best]
        assert 0.2 - 1e-9 <= lead <= 0.4 + 1e-9


@given(seed=SEEDS, d=st.integers(1, 5), k=st.integers(6, 30))
def test_a_number_that_is_held_against_the_best_option(seed: int, d: int, k: int) -> None:
    problem = families.random_attribute(k, d, seed, lead=0.3)
    assert np.abs(problem.values).max() == pytest.approx(1.0)
    assert problem.evaluations.max() - problem.evaluations[problem.best] == pytest.approx(0.3)
    z = problem.actions.attributes[:, 0]
    favoured = (z - z[problem.best]) * problem.omega > 0
    assert favoured.sum() >= (k - 1) / 2
    assert favoured[problem.evaluations.argmax()]


@pytest.mark.parametrize("names", [None, ["certain"]], ids=["regret", "certain"])
def test_the_benchmark_is_data_that_can_be_played(names: list[str] | None) -> None:
    full, quick = chosen(names, full=True), chosen(names)
    assert hash(full) != hash(quick)
    for benchmark_ in (full, quick):
        assert len(set(benchmark_.instances)) == len(benchmark_.instances)
        for instance in benchmark_.instances:
            assert instance.binding or names is None
            for problem in instance.problems():
                # Nothing that policies are told is false
                assert np.abs(problem.values).max() <= instance.value_bound + 1e-12
                assert len(problem.best_all) == 1
                if instance.kind not in ("worst-case", "gaps"):
                    z = problem.actions.attributes
                    wrong = int(problem.evaluations.argmax())
                    assert (z[wrong] != z[problem.best]).any()
    assert names is None or set(quick.instances) <= set(full.instances)


def test_the_limit_of_several_problems_is_their_mean() -> None:
    instance = FULL.over([1000]).suites["gaps"][1]
    each = [eh.limits.graves_lai(problem).value for problem in instance.problems()]
    assert len(each) == 3
    assert instance.limit() == pytest.approx(math.log(1000) * sum(each) / 3)


PAIRS = [Instance("pairs", "Pairs", "worst-case", (c, 2, 1.0), 1000) for c in (1.0, 3.0)]
TOY = Benchmark(tuple(PAIRS), 4)
# By policy: (2 problems, 4 replications) on the first instance, and on the second
REGRETS = {
    "ours": ([[1.0, 3, 1, 3], [3, 1, 3, 1]], [[10.0, 10, 20, 40], [10, 10, 20, 40]]),
    "twice": ([[2.0, 6, 2, 6], [6, 2, 6, 2]], [[20.0, 20, 40, 80], [20, 20, 40, 80]]),
    "fair-phased-elimination": (
        [[8.0, 8, 8, 8], [8, 8, 8, 8]],
        [[80.0, 80, 80, 80], [80, 80, 80, 80]],
    ),
    "oracle": ([[1.0, 1, 1, 1], [1, 1, 1, 1]], [[5.0, 5, 5, 5], [5, 5, 5, 5]]),
}


def outcome(name: str, instance: Instance, regret: Any) -> Outcome:
    wrong = np.array(regret) > 2.0 * np.median(regret) - 1e-9
    return Outcome(instance, name, np.array(regret, dtype=float), wrong)


def toy(regrets: dict[str, Any] = REGRETS, refusing: str | None = None) -> Comparison:
    outcomes = [
        Outcome(
            instance,
            name,
            *(np.empty((0, 0), dtype=t) for t in (float, bool)),
            "has no wings",
        )
        if name == refusing
        else outcome(name, instance, given_[place])
        for place, instance in enumerate(TOY.instances)
        for name, given_ in regrets.items()
    ]
    return Comparison(TOY, 0, tuple(outcomes))


def row(comparison: Comparison, name: str, place: int = 0) -> dict[str, Any]:
    frame = comparison.instances()
    rows: list[dict[str, Any]] = frame[frame["policy"] == name].to_dict("records")
    return rows[place]


def test_means_and_tails_by_hand() -> None:
    first, second = row(toy(), "ours"), row(toy(), "ours", 1)
    # The problems share their noise: means over the pair are 2, 2, 2, 2
    assert (first["mean"], first["se"]) == (2.0, 0.0)
    assert (first["median"], first["max"], first["n"]) == (2.0, 3.0, 4)
    assert second["mean"] == 20.0
    assert second["se"] == pytest.approx(np.sqrt(600 / 3 / 4))  # deviations −10, −10, 0, 20
    assert second["median"] == 15.0
    assert second["q90"] == 40.0
    assert second["wrong"] == 0.25


def test_ratios_by_hand() -> None:
    ours, twice, paper, oracle = (row(toy(), name) for name in REGRETS)
    assert (ours["rival"], ours["over_rival"], ours["over_best"]) == ("twice", 0.5, 1.0)
    assert (twice["rival"], twice["over_rival"], twice["over_best"]) == ("ours", 2.0, 2.0)
    assert [r["below_paper"] for r in (ours, twice, paper, oracle)] == [4.0, 2.0, 1.0, 8.0]
    # The oracle is nobody's rival, and has rivals
    assert (oracle["rival"], oracle["over_rival"]) == ("ours", 0.5)
    bound = TOY.instances[0].limit()
    assert ours["over_limit"] == pytest.approx(2.0 / bound)


def test_suites_are_geometric_means() -> None:
    frame = toy().suites().set_index("policy")
    assert frame.loc["ours", "over_rival"] == pytest.approx(0.5)
    assert frame.loc["fair-phased-elimination", "over_rival"] == pytest.approx(4.0)
    assert frame.loc["oracle", "over_rival"] == pytest.approx(math.sqrt(0.5 * 0.25))
    limits = [instance.limit() for instance in TOY.instances]
    assert frame.loc["ours", "over_limit"] == pytest.approx(
        math.sqrt(2.0 / limits[0] * 20.0 / limits[1])
    )
    assert frame.loc["ours", "worst_over_limit"] == pytest.approx(20.0 / limits[1])
    assert set(frame["instances"]) == {2}


def test_who_does_not_take_part_is_shown_and_counts_for_nothing() -> None:
    comparison = toy(refusing="twice")
    refused = row(comparison, "twice")
    assert refused["refusal"] == "has no wings"
    assert all(math.isnan(refused[name]) for name in ("mean", "over_rival", "over_best", "wrong"))
    assert row(comparison, "ours")["rival"] == "fair-phased-elimination"
    assert comparison.refusals() == {("pairs", "twice"): "has no wings"}
    frame = comparison.suites().set_index("policy")
    assert (frame.loc["twice", "played"], frame.loc["twice", "instances"]) == (0, 2)
    assert math.isnan(frame.loc["twice", "over_rival"])


def small(suite: str, horizon: int, replications: int) -> Benchmark:
    return dataclasses.replace(QUICK.only([suite]).over([horizon]), replications=replications)


def test_uniform_loses_what_can_be_counted() -> None:
    benchmark_ = small("worst-case", 4001, 2)
    calls: list[int] = []
    outcomes = measure(benchmark_, entrants(["uniform"]), done=lambda: calls.append(1))
    assert len(calls) == steps(benchmark_) == 8
    assert [one.instance for one in outcomes] == list(benchmark_.instances)
    for one in outcomes:
        assert one.cost.shape == (2, 2)
        for problem, regrets in zip(one.instance.problems(), one.cost, strict=True):
            k = len(problem.actions)
            np.testing.assert_allclose(
                regrets, 4001 * problem.gaps.mean(), atol=k * problem.gaps.max()
            )


def test_a_refusal_is_kept_in_the_policys_own_words() -> None:
    players = entrants(["fair-phased-elimination", "uniform"])
    outcomes = measure(small("attributes", 100, 2), players)
    for one in outcomes:
        if one.name == "uniform":
            assert one.refusal is None
        else:
            assert "needs two groups" in one.refusal
            assert math.isnan(one.mean)


def test_all_registered_policies_that_play_on_take_part_once() -> None:
    names = [entrant.name for entrant in entrants()]
    classes = registry.built_in_policies()
    stopping = {name for name in classes if not classes[name].spends_all}
    assert {"certain-choice", "lingape", "track-and-stop"} <= stopping
    assert set(eh.registered_policies()) - stopping <= set(names)
    assert not stopping & set(names)
    assert len(set(names)) == len(names)
    # Those with settings of their own can be made
    (problem,) = QUICK.suites["skating"][0].problems()
    for entrant in entrants():
        entrant.with_options(value_bound=15.0).policy(problem, 100, seed=0)


@pytest.mark.parametrize("full", [False, True])
def test_suites_are_chosen_by_what_they_count(full: bool) -> None:
    regret = chosen(full=full)
    assert (regret.counted, chosen(["certain"], full=full).counted) == ("regret", "evaluations")
    assert chosen(["gaps", "skating"], full=full) == regret.only(["gaps", "skating"])
    some = chosen(["certain-few", "certain-gaps"], full=full)
    assert list(some.suites) == ["certain-gaps", "certain-few"]
    assert some.counted == "evaluations"
    for names in (["certain", "gaps"], ["skating", "certain-20"]):
        with pytest.raises(eh.InputError, match="cannot be played at once"):
            chosen(names, full=full)
    with pytest.raises(eh.InputError, match="no suite 'sure'"):
        chosen(["sure"], full=full)


def test_evaluations_until_the_stop_are_counted() -> None:
    benchmark_ = dataclasses.replace(chosen(["certain-skating"]), replications=4)
    names = ["lingape", "lingape-usual", "uniform"]
    proved, usual, uniform = measure(benchmark_, entrants(names), seed=5)
    (problem,) = benchmark_.instances[0].problems()
    results = eh.simulate(problem, "lingape", 10**5, 4, 5).runs[0]
    np.testing.assert_array_equal(proved.cost, results.spent[None, :])
    assert proved.certified.all()
    assert (results.loss == 0.0).all()
    assert not usual.certified.any()
    assert (usual.cost < proved.cost).all()
    assert "never stops by itself" in uniform.refusal
    assert [one.claims for one in (proved, usual, uniform)] == [True, False, False]


CERTAIN = [("skating", ()), ("gaps", (4, 4.0, 0.05, 0.1))]
SURELY = Benchmark(
    tuple(Instance("s", "S", *one, horizon=100, certain=True) for one in CERTAIN),
    4,
    counted="evaluations",
)
COUNTS = {
    "ours": ([100.0, 100, 200, 200], [True] * 4),
    "slow": ([400.0, 400, 400, 400], [True, True, False, False]),
    "unproved": ([10.0, 10, 10, 10], [False] * 4),
    "unsure": ([20.0, 20, 20, 20], [True, False, False, False]),
}


def surely() -> Comparison:
    outcomes = [
        Outcome(
            instance,
            name,
            np.array([counts]),
            np.zeros((1, 4), dtype=bool),
            certified=np.array([sure]),
        )
        for instance in SURELY.instances
        for name, (counts, sure) in COUNTS.items()
    ]
    return Comparison(SURELY, 0, tuple(outcomes))


def test_who_is_not_sure_is_nobodys_rival() -> None:
    rows = {name: row(surely(), name) for name in COUNTS}
    assert [rows[name]["certified"] for name in COUNTS] == [1.0, 0.5, 0.0, 0.25]
    assert (rows["ours"]["rival"], rows["ours"]["over_rival"]) == ("slow", 150 / 400)
    assert rows["ours"]["over_best"] == 1.0
    assert (rows["unproved"]["rival"], rows["unproved"]["over_rival"]) == ("ours", 10 / 150)
    limit = SURELY.instances[0].limit()
    assert rows["ours"]["over_limit"] == pytest.approx(150 / limit)
    spread = np.std([100, 100, 200, 200], ddof=1) / 2
    assert rows["ours"]["se_over_limit"] == pytest.approx(spread / limit)
    suite = surely().suites().set_index("policy").loc["ours"]
    # both instances move together, so the relative error of their mean is that of each
    assert suite["se_over_limit"] / suite["over_limit"] == pytest.approx(spread / 150)
    assert suite["certified"] == 1.0


def test_the_picture_in_numbers() -> None:
    figure = toy().plot()
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["ours", "twice", "fair-phased-elimination"]
    limits = [instance.limit() for instance in TOY.instances]
    lines = [np.asarray(line.get_xdata(), dtype=float) for line in axes.lines]
    np.testing.assert_allclose(lines[4], [4.0 / limits[0], 40.0 / limits[1]])  # twice
    np.testing.assert_allclose(lines[1], math.sqrt(1.0 / limits[0] * 5.0 / limits[1]))  # oracle
    assert len(lines) == 2 + 2 * len(names)
    assert "ours loses least in this suite: the best rival loses 2.00 times" in str(toy())


def test_a_policy_that_nobody_registered_takes_part_under_its_own_name() -> None:
    class Own(Uniform):
        name = "own"

    benchmark_ = small("skating", 500, 2)
    own, there = measure(benchmark_, entrants([Own, "uniform"]))
    assert (own.name, there.name) == ("own", "uniform")
    np.testing.assert_array_equal(own.cost, there.cost)  # as its parent, by the same noise
    with pytest.raises(eh.InputError, match="'uniform' is a policy that is there already"):
        entrants([Uniform])
