"""The m best, a bar, and one option: who is wanted is found, and ties are safe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from asking import evaluated, played
from rotation import nightly

WORTH = dict(zip("ABCDEF", [1.0, 0.4, 2.0, -0.5, 1.3, -1.0], strict=True))
GROUPS = dict(zip("ABCDEF", ["fr", "it", "fr", "it", "us", "us"], strict=True))
LENIENT = dict(zip("PQR", [0.9, 0.0, -0.6], strict=True))  # 0.1 on average
PANEL = eh.Questions.panel(GROUPS, {"P": "fr", "Q": "it", "R": "us"}, capacity=None)
OWN = {"P": "fr", "Q": "it", "R": "us"}


def mean(label: str, judge: str, worth: dict[str, float] = WORTH) -> float:
    return worth[label] + LENIENT[judge] + 0.7 * (GROUPS[label] == OWN[judge])


def asked(
    policy: eh.CertainChoice, seed: int, worth: dict[str, float] = WORTH, noise: float = 1.0
) -> Any:
    """Play a policy on the panel; return what it says of sides."""
    rng, labels = np.random.default_rng(seed), PANEL.labels
    means = np.array([mean(*name.split(" by "), worth) for name in labels])
    while True:
        counts = policy.ask(max(1, policy.spent // 20)).counts
        if not counts.any():
            return policy.recommend().selection
        policy.tell(evaluated(counts, means, rng, noise))


def named(some: tuple[int, ...]) -> str:
    return "".join(sorted("ABCDEF"[x] for x in some))


AT_THE_BAR: list[tuple[dict[str, Any], list[float]]] = [
    ({"bar": 0.1}, [0.0, 0.0, 0.0, 0.0, 1.0, -1.0]),  # four are exactly at the bar
    ({"against": "A"}, [0.0, 0.0, 0.0, 0.0, 1.0, -1.0]),
    ({"bar": 0.1, "tolerance": 0.4}, [-0.41, -0.41, 0.0, 0.0, -0.41, 0.0]),
    ({"against": "A", "tolerance": 0.4}, [0.0, -0.41, 0.0, 0.0, -0.41, 0.0]),
]


@pytest.mark.parametrize("runs", [6, pytest.param(80, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_claims_are_rare_where_options_are_at_the_bar(
    noise_scale: float | None, runs: int
) -> None:
    """Of what is worth exactly as much neither side is said, with probability 1 − δ, δ = 0.2."""
    false = 0
    for given, worth in AT_THE_BAR:
        away = np.array(worth) - (0.0 if "bar" in given else worth[0])
        tolerance = given.get("tolerance", 0.0)
        least = -tolerance - 1e-9 if tolerance else 1e-9
        for seed in range(runs):
            policy = eh.CertainChoice(
                PANEL, at_most=200, confidence=0.8, noise_scale=noise_scale, **given
            )
            said = asked(policy, seed, dict(zip("ABCDEF", worth, strict=True)))
            false += any(away[x] < least for x in said.inside) or any(
                away[x] >= -1e-9 for x in said.outside
            )
    assert false <= int(binom.isf(1e-4, 4 * runs, 0.2))


def test_options_that_are_far_are_certain_before_the_close_ones() -> None:
    worth = WORTH | {"A": 0.01, "B": -0.01}
    policy = eh.CertainChoice(PANEL, bar=0.1, at_most=800, noise_scale=1.0)
    said = asked(policy, 5, worth)
    assert (named(said.inside), named(said.outside)) == ("CE", "DF")
    assert said.wrong_at_most is None
    assert policy.recommend().loss == math.inf
    assert policy.recommend().certainty == "own scores"


def test_a_bar_for_people_who_are_asked_once_ends_where_nothing_is_left_to_ask() -> None:
    panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=1)
    policy = eh.CertainChoice(panel, bar=0.25)
    while not policy.finished:
        counts = policy.ask().counts
        policy.tell(eh.Feedback(counts, 0.5 * counts, 0.25 * counts))
    assert policy.spent == 4
    assert "the bar of 0.25" in str(policy.stopped_because)


def test_a_bar_needs_scores_of_options_by_themselves() -> None:
    compared = eh.Questions.comparisons(["a", "b", "c"], ["P", "Q"])
    with pytest.raises(eh.InputError, match="say against, the name of an option"):
        eh.CertainChoice(compared, bar=0.5)
    assert eh.CertainChoice(compared, against="b").target.against == "b"


def test_the_m_best_within_a_tolerance_come_sooner() -> None:
    """A and B are 0.05 apart at the line: with a tolerance the chosen lose no more than it."""
    worth = WORTH | {"B": 0.95}
    for seed in range(3):
        policy = eh.CertainChoice(PANEL, top=3, tolerance=0.5, at_most=5_000, noise_scale=1.0)
        said = asked(policy, seed, worth)
        decision = policy.recommend()
        assert policy.spent < 3_000
        assert 0.0 <= decision.loss <= 0.5
        assert set(named(said.chosen)) >= {"C", "E"}
        assert set(named(said.inside)) <= set("ABCE")


SIX = eh.ActionSet(
    [[1.0, 0.0], [0.0, 1.0], [0.7, 0.3], [-0.2, 0.3], [0.1, -0.6], [0.5, 0.5]],
    [1, -1, 1, -1, 1, -1],
)


def test_of_options_that_are_alike_any_will_do() -> None:
    """Two with the same features at the line: the set with the first of them is certain."""
    X = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [-0.5, 0.3], [0.3, -0.4]]
    actions = eh.ActionSet(X, [1, -1, 1, -1, 1])
    problem = eh.BiasedLinearBandit(actions, gamma=[1.5, 1.0], omega=0.3)
    policy = eh.CertainChoice(actions, at_most=4_000, top=2, noise_scale=1.0)
    played(policy, problem, 1)
    said = policy.recommend()
    assert said.loss == 0.0
    assert said.selection is not None
    assert said.selection.chosen == (0, 1)
    assert said.selection.wrong_at_most == 0


@pytest.mark.parametrize("runs", [15, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("noise_scale", [1.0, None])
def test_false_claims_are_rare_where_the_line_is_a_tie(
    noise_scale: float | None, runs: int
) -> None:
    """Of two that tie at the line, each fixed true set is contradicted with probability δ at most.

    Here δ = 0.2, options 1 and 2 tie for the second place, and the true set is {0, 1}.
    """
    actions = eh.ActionSet(
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-0.5, 0.2]], [1, -1, -1, 1], labels=list("ABCD")
    )
    problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.5], omega=0.4)  # 0, 1 and 2 tie
    false = 0
    for seed in range(runs):
        policy = eh.CertainChoice(
            actions, at_most=90, confidence=0.8, noise_scale=noise_scale, top=2, seed=seed
        )
        played(policy, problem, seed)
        said = policy.recommend().selection
        assert said is not None
        false += bool({0, 1} & set(said.outside)) or bool({2, 3} & set(said.inside))
    assert false <= int(binom.isf(1e-4, runs, 0.2))


def test_losses_across_the_line_hold_at_all_times() -> None:
    problem = eh.BiasedLinearBandit(SIX, gamma=[0.4, 0.3], omega=0.4)
    false = 0
    for seed in range(8):
        policy = eh.CertainChoice(SIX, at_most=200, confidence=0.8, top=3)
        answers, wrong = eh.SimulatedEvaluations(problem, seed=seed), False
        while not policy.finished:
            policy.tell(answers.evaluate(policy.ask(10)))
            said = policy.recommend()
            assert said.selection is not None
            inside = np.isin(np.arange(6), said.selection.chosen)
            lost = float(problem.values[~inside].max() - problem.values[inside].min())
            wrong |= said.loss < lost - 1e-9
        false += wrong
    assert false <= int(binom.isf(1e-4, 8, 0.2))


def test_a_search_goes_on_from_its_state_and_with_more_options() -> None:
    problem = eh.BiasedLinearBandit(SIX, gamma=[0.4, 0.3], omega=0.4)
    policy = eh.CertainChoice(SIX, at_most=150, top=2, noise_scale=1.0)
    played(policy, problem, 5)
    again = eh.restore(policy.state())
    assert isinstance(again, eh.CertainChoice)
    assert again.recommend().selection == policy.recommend().selection
    more = eh.ActionSet(np.vstack([SIX.features, [[0.2, 0.2]]]), [1, -1, 1, -1, 1, -1, 1])
    grown = again.extended(more)
    grown.allow(4_000)
    wider = eh.BiasedLinearBandit(more, gamma=[0.4, 0.3], omega=0.4)
    played(grown, wider, 6)
    found = grown.recommend().selection
    assert found is not None
    assert set(found.inside) <= set(np.argsort(wider.gaps)[:2].tolist())
    assert len(found.chosen) == 2


GIVEN: list[Any] = [
    ({"bar": 1.0, "tolerance": 0.4}, "ACE", "BDF"),  # by the average evaluator, who gives 0.1 more
    ({"against": "A", "tolerance": 0.4}, "CE", "BDF"),
    ({"top": 3}, "ACE", "BDF"),
    ({"top": 3, "tolerance": 0.4}, None, None),
    *nightly([({"bar": 0.8}, "ACE", "BDF"), ({"against": "A"}, "CE", "BDF")]),
]


@pytest.mark.parametrize(("given", "inside", "outside"), GIVEN)
def test_a_campaign_finds_its_target_and_verifies(
    tmp_path: Path, given: dict[str, Any], inside: str | None, outside: str | None
) -> None:
    rng = np.random.default_rng(3)

    def evaluate(question: eh.Question) -> float:
        assert question.evaluator is not None
        return mean(question.label, question.evaluator) + float(0.5 * rng.standard_normal())

    with eh.Campaign.create(tmp_path / "grants.db", "grants", PANEL, **given) as campaign:
        answer = campaign.run(evaluate)
        assert answer.sure
        assert all(getattr(answer.conclusion.target, name) == x for name, x in given.items())
        assert campaign.verify()
        if inside is not None:
            found = ("".join(sorted(some)) for some in (answer.inside, answer.outside))
            assert (*found, answer.undecided) == (inside, outside, ())
            assert (answer.wrong_at_most, answer.loss, answer.certainty) == (0, 0.0, "own scores")
            assert answer.conclusion.target.words in answer.stopped_because or "top" in given
        if given == {"top": 3}:
            assert sorted(answer.chosen) == ["A", "C", "E"]
            assert sorted(answer.to_dict()["target"]["chosen"]) == ["A", "C", "E"]
            assert "better than any of the 3 best, '" in answer.stopped_because


def test_an_answer_says_who_is_at_the_line() -> None:
    rng = np.random.default_rng(8)

    def evaluate(question: eh.Question) -> float:
        close = {"B": 0.95, "A": 1.0}.get(question.label, WORTH[question.label])
        return close + float(0.5 * rng.standard_normal())

    answer = eh.choose(PANEL, evaluate, top=3, at_most=400, progress=False)
    assert not answer.sure
    assert set(answer.inside) == {"C", "E"}
    assert set(answer.undecided) == {"A", "B"}
    assert set(answer.outside) == {"D", "F"}
    assert answer.wrong_at_most == 1
    assert 0.0 < answer.loss < math.inf
    chances = answer.standings.set_index("option")["chance"]
    assert chances[["C", "E"]].min() > chances[["A", "B"]].max() > chances[["D", "F"]].max()


@pytest.mark.parametrize(
    ("options", "given", "said"),
    [
        (SIX, {"top": 2}, "or by features that tell values exactly"),
        (PANEL, {"top": 6}, "top must be less than the number of options, which is 6; got 6"),
        (PANEL, {"top": 0}, "top must be a whole number of options that are wanted"),
        (PANEL, {"top": 2.5}, "top must be a whole number of options that are wanted"),
        (PANEL, {"top": 2, "bar": 1.0}, "say one of top .* got top and bar"),
        (PANEL, {"against": "Z"}, "against must be the name of an option"),
        (
            PANEL,
            {"top": 2, "policy": eh.CertainChoice(PANEL)},
            "finds which are the best, where top=2",
        ),
        (
            PANEL,
            {"bar": 2, "policy": eh.CertainChoice(PANEL, bar=1)},
            "finds which are above 1, where bar=2",
        ),
    ],
)
def test_what_choose_cannot_want_is_said_before_anything_is_asked(
    options: eh.ActionSet | eh.Questions, given: dict[str, Any], said: str
) -> None:
    def evaluate(question: eh.Question) -> float:
        raise AssertionError("nothing is to be asked")

    with pytest.raises(eh.InputError, match=said):
        eh.choose(options, evaluate, **given)


@pytest.mark.parametrize(
    "given", [{"top": 3}, {"bar": 0.8}, {"against": "A"}, {"against": "A", "tolerance": 1.0}]
)
def test_people_who_are_asked_once_are_looked_at_as_decide_does(given: dict[str, Any]) -> None:
    judges, rng, rows = list("PQRSTUVW"), np.random.default_rng(4), []

    def evaluate(question: eh.Question) -> float:
        score = WORTH[question.label] + float(rng.normal(scale=0.3))
        rows.append((question.label, question.evaluator, score))
        return score

    panel = eh.Questions.panel(list(GROUPS), judges)
    answer = eh.choose(panel, evaluate, progress=False, **given)
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    decided = eh.decide(table, **given)
    assert len(rows) == 48
    assert set(answer.outside) == set(decided.outside)
    assert set(answer.inside) == set(decided.inside)
    assert answer.inside
    assert answer.conclusion.target == decided.conclusion.target
    if "top" in given:
        assert (sorted(answer.chosen), answer.sure, answer.wrong_at_most) == (list("ACE"), True, 0)
        assert "better than any of the 3 best" in answer.stopped_because


def test_nobody_is_certain_before_anything_was_asked() -> None:
    early = eh.CertainChoice(PANEL, top=3).recommend().selection
    assert early is not None
    assert (early.inside, early.outside, early.wrong_at_most) == ((), (), 3)


def test_people_who_are_asked_once_may_leave_some_at_the_line() -> None:
    rng = np.random.default_rng(4)
    panel = eh.Questions.panel(list(GROUPS), list("PQRSTUV"))
    answer = eh.choose(
        panel, lambda question: WORTH[question.label] + float(rng.normal()), top=3, progress=False
    )
    assert not answer.sure
    assert answer.undecided
    assert 0.0 < answer.loss < math.inf
    assert "all 42 answers are in, and of the 3 that look best" in answer.stopped_because
