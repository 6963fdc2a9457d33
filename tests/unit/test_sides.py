"""A bar, and one option: who is above is found, and ties are safe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import evenhand as eh
from rotation import nightly

# ---------------------------------------------------------------------- on records

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
        (used,) = np.nonzero(counts)
        told = np.zeros((2, len(counts)))
        for x in used.tolist():
            scores = means[x] + noise * rng.standard_normal(counts[x])
            told[:, x] = scores.sum(), (scores**2).sum()
        policy.tell(eh.Feedback(counts.copy(), *told))


def named(some: tuple[int, ...]) -> str:
    return "".join(sorted("ABCDEF"[x] for x in some))


@pytest.mark.parametrize("noise_scale", [None, *nightly([1.0])])
@pytest.mark.parametrize(
    ("given", "inside", "outside"),
    [
        ({"bar": 0.8}, "ACE", "BDF"),  # by the average evaluator, who gives 0.1 more
        ({"bar": 1.0, "tolerance": 0.4}, "ACE", "BDF"),
        ({"against": "A"}, "CE", "BDF"),
        ({"against": "A", "tolerance": 0.4}, "CE", "BDF"),
    ],
)
def test_a_panel_finds_who_is_above(
    given: dict[str, Any], inside: str, outside: str, noise_scale: float | None
) -> None:
    policy = eh.CertainChoice(PANEL, noise_scale=noise_scale, at_most=6_000, **given)
    said = asked(policy, 3)
    assert (named(said.inside), named(said.outside)) == (inside, outside)
    assert said.wrong_at_most == 0
    decision = policy.recommend()
    assert decision.loss == 0.0
    assert decision.certainty == "own scores"
    assert f"of 6 options are {policy.target.words}" in str(policy.stopped_because)
    again = eh.restore(policy.state())
    assert again.recommend().selection == said


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


# ---------------------------------------------------------------------- campaigns


GIVEN = [
    {"bar": 1.0, "tolerance": 0.5},
    {"against": "A", "tolerance": 0.5},
    {"top": 3, "tolerance": 0.4},
    *nightly([{"bar": 0.8}, {"against": "A"}]),
]


@pytest.mark.parametrize("given", GIVEN)
def test_a_campaign_finds_its_target_and_verifies(tmp_path: Path, given: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)

    def evaluate(question: eh.Question) -> float:
        assert question.evaluator is not None
        return mean(question.label, question.evaluator) + float(0.5 * rng.standard_normal())

    with eh.Campaign.create(tmp_path / "grants.db", "grants", PANEL, **given) as campaign:
        answer = campaign.run(evaluate)
        assert answer.sure
        assert all(getattr(answer.conclusion.target, name) == x for name, x in given.items())
        assert campaign.verify()
        if "top" not in given:
            assert answer.undecided == ()
            assert {*answer.inside, *answer.outside} == {*"ABCDEF"} - {given.get("against")}


@pytest.mark.parametrize(
    "given", [{"bar": 0.8}, {"against": "A"}, {"against": "A", "tolerance": 1.0}]
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
