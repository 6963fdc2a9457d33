"""Rivals play questions: who is chosen, what is asked about it, what that loses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.comparison import QUICK
from evenhand.comparison.instances import Shape, Suite
from evenhand.comparison.measure import entrants, measure
from evenhand.numerics.identifying import identifying
from evenhand.policies._inquiry import Inquiry
from evenhand.policies._sequential import Regression
from evenhand.rivals.oful import OFULDebiased
from evenhand.rivals.ridge import feature_coordinates, value_coordinates
from evenhand.simulation.experiment import play_out, policy_for

RIVALS = [
    "oful-debiased",
    "thompson-sampling",
    "ids",
    "ids-directed",
    "lingape",
    "track-and-stop",
    "uniform",
    "greedy-questions",
]


def crossed(values: list[float], **more: Any) -> eh.BiasedLinearBandit:
    """Judges partial to their own by 3, two of them to the same: sums of scores mislead."""
    options = {f"option {x}": ("fr", "it")[x % 2] for x in range(len(values))}
    judges = {"P": "fr", "Q": "it", "R": "us", "S": "fr"}
    questions = eh.Questions.panel(options, judges, **({"capacity": None} | more))
    return eh.BiasedLinearBandit(questions, values, [3.0, 0.5, -2.0, 1.0])


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize(
    ("values", "bias"),
    [([0.0, 0.5, -0.3, 0.2], 3.0), ([0.5, 0.0, 0.5, 0.0], -3.0)],
    ids=["apart", "tied"],
)
def test_rivals_find_the_best_option_of_a_panel(
    name: str, values: list[float], bias: float
) -> None:
    """Two judges, each partial to half of the options: who does not cross them goes wrong.

    All rows look alike at the start. With every pair taken for an option of its own, OFUL was right
    in four and three of these eight runs, Thompson sampling in eight and four.
    """
    options = {f"option {x}": ("fr", "it")[x % 2] for x in range(len(values))}
    questions = eh.Questions.panel(options, {"P": "fr", "Q": "it"}, capacity=None)
    problem = eh.BiasedLinearBandit(questions, values, [bias, 0.5], noise_scale=0.5)
    for seed in range(8):
        policy = policy_for(problem, name, 400, seed=seed)
        play_out(policy, eh.SimulatedEvaluations(problem, seed=seed), problem.question_gaps)
        assert policy.recommend().option in problem.best_all, f"seed {seed}"


def test_the_opening_identifies_the_leads_with_nothing_to_spare() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        k, e = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        partial = rng.integers(0, 2, (k, e)).astype(float)
        questions = eh.Questions.panel(
            [f"o{x}" for x in range(k)], [f"e{x}" for x in range(e)], partial=partial, capacity=None
        )
        rows, prices = questions.points, rng.integers(1, 4, len(questions)).astype(float)
        leads = np.zeros((k - 1, rows.shape[1]))
        leads[:, :k] = np.eye(k)[1:] - np.eye(k)[0]
        found = identifying(rows, leads, np.lexsort((rng.permutation(len(rows)), prices)))

        def spanned(some: np.ndarray, rows: np.ndarray = rows, leads: np.ndarray = leads) -> bool:
            rank = np.linalg.matrix_rank(rows[some])
            return bool(np.linalg.matrix_rank(np.vstack([rows[some], leads])) == rank)

        if not spanned(np.arange(len(rows))):
            continue
        assert spanned(found)
        for x in found:
            assert not spanned(found[found != x])


def test_a_dear_evaluator_is_not_needed_to_begin_with() -> None:
    questions = eh.Questions.panel(
        ["Ann", "Bo", "Cy"], ["P", "Q"], partial=None, capacity=None, prices=[50.0, 1.0]
    )
    leads = np.array([[-1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 1.0, 0.0]])
    found = identifying(questions.points, leads, np.argsort(questions.prices, kind="stable"))
    assert questions.evaluator[found].tolist() == [1, 1, 1]


def test_the_question_about_an_option_is_the_one_that_teaches_most_for_its_price() -> None:
    """Variances before and after, by explicit inverses."""
    rng = np.random.default_rng(1)
    rows, prices = rng.normal(size=(12, 5)), rng.uniform(0.5, 2.0, 12)
    counts, h = rng.integers(1, 9, 12), np.append(rng.normal(size=3), [0.0, 0.0])
    regression = Regression(rows, np.eye(5))
    V = np.eye(5) + rows.T @ (counts[:, None] * rows)
    regression.recall(
        {"root": np.linalg.cholesky(np.linalg.inv(V)), "theta": np.zeros(5), "log_det": 0.0}
    )
    starts, places = np.array([0, 5, 12]), np.arange(12)
    inquiry = Inquiry(starts, places, prices, np.zeros(0, dtype=np.intp), places, 5)
    before = h @ np.linalg.inv(V) @ h
    after = [h @ np.linalg.inv(V + np.outer(a, a)) @ h for a in rows]
    gains = (before - np.array(after)) / prices
    assert inquiry.chosen(0, h[:3], regression, counts) == int(np.argmax(gains[:5]))
    assert inquiry.chosen(1, h[:3], regression, counts) == 5 + int(np.argmax(gains[5:]))


def test_questions_that_tie_are_asked_in_turn() -> None:
    rows = np.ones((4, 1))
    turn = np.array([2, 0, 3, 1])
    inquiry = Inquiry([0, 4], np.arange(4), np.ones(4), np.zeros(0, dtype=np.intp), turn, 1)
    counts, asked = np.zeros(4, dtype=np.int64), []
    for _ in range(6):
        x = inquiry.chosen(0, np.ones(1), Regression(rows, np.eye(1)), counts)
        counts[x] += 1
        asked.append(x)
    assert asked == [1, 3, 0, 2, 1, 3]


def test_optimism_chooses_the_largest_index_and_asks_about_it() -> None:
    """After the opening; indices of values beyond the average one, by explicit inverses."""
    problem = crossed([0.0, 0.4, 0.2, -0.5])
    questions = problem.questions
    policy = OFULDebiased(questions, 1000, noise_scale=1.0, switching=0.0, seed=2)
    rng = np.random.default_rng(3)
    for _ in range(40):
        n = policy.ask().counts
        y = n * (problem.evaluations + rng.normal(size=len(n)))
        policy.tell(eh.Feedback(n, y, y**2))
    regression, counts = policy.stepper.regression, policy.stepper.counts
    V = np.linalg.inv(regression.square_root @ regression.square_root.T)
    theta = regression.estimate
    h = np.zeros((4, len(theta)))
    h[:, : value_coordinates(questions).shape[1]] = value_coordinates(questions)
    widths = np.sqrt(np.einsum("ij,jk,ik->i", h, np.linalg.inv(V), h))
    option = int(np.argmax(h @ theta + policy.stepper.beta * widths))
    asked = int(np.argmax(policy.ask().counts))
    assert questions.about[asked, 0] == option
    c = feature_coordinates(questions)
    np.testing.assert_allclose(h.sum(axis=0), 0.0, atol=1e-9)
    # differences of options are differences of questions by the same evaluator
    np.testing.assert_allclose((h[1] - h[0])[: c.shape[1]], c[4] - c[0], atol=1e-9)
    assert (counts > 0).sum() >= 4


def test_what_a_question_loses_is_what_its_options_lose() -> None:
    pairs = [(0, 1), (1, 0), (0, 2), (2, 1)]
    rows = [np.eye(4)[a] - np.eye(4)[b] for a, b in pairs] + [np.eye(4)[1], np.eye(4)[3]]
    questions = eh.Questions(options=np.eye(4)[:3], features=rows, attributes=np.ones((6, 1)))
    problem = eh.BiasedLinearBandit(questions, [1.0, 4.0, 2.0, 9.0], 0.5)
    assert problem.gaps.tolist() == [3.0, 0.0, 2.0]
    assert problem.question_gaps.tolist() == [1.5, 1.5, 2.5, 1.0, 0.0, pytest.approx(5 / 3)]
    actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
    own = eh.BiasedLinearBandit(actions, [1.0], 0.5)
    assert own.question_gaps is own.gaps


@pytest.mark.parametrize("name", ["oful", "oful-debiased", "thompson-sampling", "ids"])
def test_the_compiled_loop_does_on_questions_what_asking_and_telling_does(name: str) -> None:
    problem = crossed([0.0, 0.4, 0.2, -0.5], noise=[1.0, 2.0, 0.5, 1.0])
    fast, slow = (policy_for(problem, name, 500, seed=4) for _ in range(2))
    gaps = problem.question_gaps
    regret = play_out(fast, eh.SimulatedEvaluations(problem, seed=1), gaps)
    watched = play_out(
        slow, eh.SimulatedEvaluations(problem, seed=1), gaps, watch=lambda *turn: None
    )
    assert np.array_equal(fast.stepper.counts, slow.stepper.counts)
    assert regret.lost == watched.lost == pytest.approx(fast.stepper.counts @ gaps)
    assert np.array_equal(fast.stepper.sums, slow.stepper.sums)


def test_simulate_plays_questions_and_names_who_cannot() -> None:
    problem = crossed([0.0, 2.0, 0.5, -0.5])
    results = eh.simulate(problem, ["uniform", "greedy-questions"], 160, 3, seed=1)
    uniform, greedy = results.runs
    # ten of each of 16 questions, four about each option
    assert uniform.final_regret.tolist() == [pytest.approx(40 * problem.gaps.sum())] * 3
    assert (greedy.spent == 160).all()
    assert greedy.correct.all()
    assert (problem.gaps[results.outcomes()["option"]] == 0.0).all(), "options, not questions"
    with pytest.raises(eh.InputError, match="takes every option to be its own question"):
        eh.simulate(problem, ["fair-phased-elimination"], 160, 3)


def test_certainty_on_a_panel_rests_on_scores_and_on_features_if_there_are_some() -> None:
    problem = crossed([0.0, 4.0, 0.5, -0.5])
    for name in ("lingape", "track-and-stop"):
        policy = policy_for(problem, name, 4000, seed=1)
        play_out(policy, eh.SimulatedEvaluations(problem, seed=1), problem.question_gaps)
        decision = policy.recommend()
        assert (decision.option, decision.loss, decision.certainty) == (1, 0.0, "own scores")
        assert policy.stopped_because == "option 1 is the best with probability 0.95"


def test_prices_decide_whom_lingape_asks() -> None:
    """Two impartial judges as good as each other, one at nine times the price."""
    questions = eh.Questions.panel(
        ["Ann", "Bo"], ["P", "Q"], partial=None, capacity=None, prices=[9.0, 1.0]
    )
    problem = eh.BiasedLinearBandit(questions, [0.0, 1.0], [0.5])
    policy = policy_for(problem, "lingape", 2000, seed=1)
    play_out(policy, eh.SimulatedEvaluations(problem, seed=1), problem.question_gaps)
    by_p = policy.ledger.counts[[0, 2]].sum()
    assert by_p <= 2
    assert policy.recommend().loss == 0.0


def test_a_budget_ends_a_rival_and_its_simulation() -> None:
    problem = crossed([0.0, 2.0, 0.5, -0.5], prices=[1.0, 2.0, 3.0, 4.0])
    policy = policy_for(problem, "thompson-sampling", 500, seed=1, budget=100.0)
    play_out(policy, eh.SimulatedEvaluations(problem, seed=1), problem.question_gaps)
    assert 90.0 < policy.limits.paid <= 100.0
    assert policy.spent < 500


@dataclass(frozen=True)
class Panel(Shape):
    """A panel, for a comparison of policies."""

    @property
    def words(self) -> str:
        return "a panel"

    def problems(self, horizon: int) -> tuple[eh.BiasedLinearBandit, ...]:
        return (crossed([0.0, 2.0, 0.5, -0.5]),)


def test_compare_plays_panels_and_says_who_does_not() -> None:
    suite = Suite("panels", "Panels", (Panel(),), (160,))
    benchmark = replace(QUICK, suites=(suite,), replications=2)
    names = ["uniform", "thompson-sampling", "fair-phased-elimination"]
    uniform, thompson, refused = measure(benchmark, entrants(names))
    (problem,) = Panel().problems(160)
    assert uniform.mean == pytest.approx(40 * problem.gaps.sum())
    assert thompson.mean < uniform.mean
    assert refused.refusal is not None
    assert "its own question" in refused.refusal


@pytest.mark.parametrize("comparisons", ["leader", "pairs"])
def test_information_is_paid_for_by_both_options_of_a_comparison(comparisons: str) -> None:
    """Δ of 'a against b' is the mean of both: the same in either order, and additive."""
    questions = eh.Questions.comparisons(["a", "b", "c", "d"], ["J"])
    problem = eh.BiasedLinearBandit(questions, [0.0, 0.3, 0.6, 0.1], [0.4])
    policy = policy_for(problem, "ids", 300, seed=1, comparisons=comparisons)
    play_out(policy, eh.SimulatedEvaluations(problem, seed=1), problem.question_gaps)
    place = {tuple(pair): x for x, pair in enumerate(questions.about.tolist())}
    gap = {pair: float(policy.stepper.gaps[x]) for pair, x in place.items()}
    for (a, b), lost in gap.items():
        assert gap[b, a] == lost
    assert gap[0, 1] + gap[2, 3] == pytest.approx(gap[0, 2] + gap[1, 3])
    assert gap[0, 1] + gap[2, 3] == pytest.approx(gap[0, 3] + gap[1, 2])
    worst_pair = max(gap, key=lambda pair: gap[pair])
    assert 2 not in worst_pair, "the best option is in none of the worst pairs"
    assert policy.recommend().option == 2
