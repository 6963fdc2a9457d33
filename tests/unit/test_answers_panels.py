"""Panels through the front door: who is asked what, at what price, and what is said of it."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from asking import Says, Wants
from evenhand.arrays import Counts, Floats
from evenhand.questions import Column, with_exact_features

NATIONS = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "fr"}
JUDGES = {"P": "fr", "Q": "it", "R": "us", "S": "de"}
VALUES = np.array([6.0, 5.0, 4.0, 2.0])
LENIENCE = np.array([0.5, -0.25, 0.0, 1.0])
FAVOUR = 1.5


def panel(**settings: Any) -> eh.Questions:
    return eh.Questions.panel(NATIONS, JUDGES, **({"capacity": None} | settings))


class Log:
    """A panel that scores by the model, and keeps what it was asked and what it said."""

    def __init__(self, noise: float = 0.1, seed: int = 0) -> None:
        self.asked: list[eh.Question] = []
        self.scores: list[float] = []
        self._noise, self._rng = noise, np.random.default_rng(seed)

    def __call__(self, question: eh.Question) -> float:
        judge = list(JUDGES).index(question.evaluator)
        favour = FAVOUR * (NATIONS[question.label] == JUDGES[question.evaluator])
        score = VALUES[question.option] + LENIENCE[judge] + favour
        self.asked.append(question)
        self.scores.append(float(score + self._noise * self._rng.standard_normal()))
        return self.scores[-1]

    def least_squares(self, bias: str) -> Floats:
        """Return values of average leniency, favours and leniencies, by the log alone."""
        judge = np.array([list(JUDGES).index(str(q.evaluator)) for q in self.asked])
        option = np.array([q.option for q in self.asked])
        own = np.array(
            [[NATIONS[name] == nation for nation in JUDGES.values()] for name in NATIONS]
        )[option, judge]
        favours = own[:, None] * (np.eye(4)[judge] if bias == "evaluator" else 1.0)
        rows = np.hstack([np.eye(4)[option], favours, np.eye(4)[judge]])
        theta = np.linalg.pinv(rows) @ np.array(self.scores)
        v, middle, s = theta[:4], theta[4:-4], theta[-4:]
        return np.concatenate([v + s.mean(), middle, s - s.mean()])


def unwrapped(answer: eh.Answer) -> str:
    return " ".join(str(answer).split())


def test_a_question_names_the_option_and_who_is_asked_and_no_group() -> None:
    log = Log()
    questions = panel(prices=[1.0, 2.0, 3.0, 4.0])
    eh.choose(questions, log, policy=Wants(questions, 1))
    assert Counter((q.label, q.evaluator) for q in log.asked) == {
        (name, judge): 1 for name in NATIONS for judge in JUDGES
    }
    for q in log.asked:
        assert (q.options, q.labels) == ((q.option,), (q.label,))
        assert q.label == list(NATIONS)[q.option]
        assert q.price == 1.0 + list(JUDGES).index(str(q.evaluator))
        assert not {"fr", "it", "us", "de"} & set(map(str, vars(q).values()))


def test_a_comparison_names_both_in_order() -> None:
    questions = eh.Questions.comparisons(["Ann", "Bo"], ["J"])
    asked: list[eh.Question] = []
    eh.choose(
        questions, lambda q: asked.append(q) or "tie", policy=Wants(questions, 1), scores="verdicts"
    )
    assert {(q.label, q.option, q.options, q.labels) for q in asked} == {
        ("Ann against Bo", 0, (0, 1), ("Ann", "Bo")),
        ("Bo against Ann", 1, (1, 0), ("Bo", "Ann")),
    }


@pytest.mark.parametrize("settings", [{}, {"bias": "evaluator"}, {"noise": [1.0, 1.0, 2.0, 0.5]}])
def test_a_panel_is_settled_by_own_scores(settings: dict[str, Any]) -> None:
    """Gaps of 1 and noise of 0.1: a wrong or unsure answer would be no accident."""
    log = Log()
    answer = eh.choose(panel(**settings), log)
    assert isinstance(answer.policy, eh.CertainChoice)
    assert (answer.label, answer.sure, answer.certainty) == ("Ann", True, "own scores")
    assert len(log.asked) == answer.spent < 400
    assert [one.option for one in answer.ranking] == list(NATIONS)
    assert [one.group for one in answer.ranking] == list(NATIONS.values())


@pytest.mark.parametrize(
    ("capacity", "kind"),
    [
        (1, eh.search.PlannedChoice),
        (4, eh.search.PlannedChoice),
        (5, eh.CertainChoice),
        (None, eh.CertainChoice),
    ],
)
def test_who_asks_depends_on_how_often_one_may(capacity: int | None, kind: type) -> None:
    answer = eh.choose(panel(capacity=capacity), Log(), at_most=10, confidence=0.9, seed=3)
    assert type(answer.policy) is kind
    assert answer.policy.seed == 3
    assert answer.policy.confidence == 0.9  # type: ignore[attr-defined]


def test_nobody_gives_up_before_the_noise_was_heard() -> None:
    """Eight numbers to be found: of the first seven answers nothing is left to hear noise by."""
    log = Log()
    answer = eh.choose(panel(capacity=1), log)
    assert (answer.label, answer.sure) == ("Ann", True)
    assert 8 < len(log.asked) <= 16


def test_people_who_leave_end_what_they_were_planned_for() -> None:
    log = Log()

    def evaluate(question: eh.Question) -> float:
        if question.evaluator == "R" and len(log.asked) > 4:
            raise eh.AbsentError("gone home")
        return log(question)

    answer = eh.choose(panel(capacity=1), evaluate)
    assert (answer.label, answer.sure) == ("Ann", True)
    assert 12 <= answer.spent < 16
    assert {q.evaluator for q in log.asked[6:]} <= {"P", "Q", "S"}


def test_more_is_asked_where_a_budget_or_more_evaluations_are_given() -> None:
    questions = panel(prices=[1.0, 2.0, 1.0, 2.0])
    first = eh.choose(questions, Log(noise=3.0), budget=40.0)
    assert first.policy.limits.money == 40.0
    assert 0.0 < first.paid <= 40.0
    assert "for " + f"{first.paid:g}, of a budget of 40." in unwrapped(first)
    assert not first.sure
    again = eh.choose(questions, Log(noise=0.01), policy=first.policy, budget=9_000.0)
    assert first.paid < again.paid < 9_000.0
    assert again.sure
    twin = eh.restore(again.policy.state())
    assert (twin.limits.money, twin.limits.paid) == (9_000.0, again.paid)
    with pytest.raises(eh.InputError, match="at least the"):
        eh.choose(questions, Log(), policy=again.policy, budget=10.0)


def test_a_spent_budget_is_told() -> None:
    questions = panel(prices=[2.0, 3.0, 4.0, 5.0])
    answer = eh.choose(questions, Log(), policy=Wants(questions, 9, budget=31.0))
    assert answer.spent > 0
    assert 31.0 - 2.0 < answer.paid <= 31.0
    assert answer.stopped_because.startswith("the budget of 31 is spent: ")
    assert "an evaluation costs 2" in answer.stopped_because


def test_options_that_are_their_own_questions_cost_1_each() -> None:
    options = eh.ActionSet([[1.0], [2.0], [3.0]], ["a", "b", "a"], intercept=True)
    rng = np.random.default_rng(0)
    answer = eh.choose(options, lambda q: rng.standard_normal(), budget=41.5)
    assert answer.policy.horizon == 41
    assert answer.spent == answer.paid <= 41
    with pytest.raises(eh.InputError, match="budget must be a number ≥ 1"):
        eh.choose(options, lambda q: 1.0, budget=0.5)


def apart() -> eh.Questions:
    """Two judges who have nobody in common."""
    every = panel()
    return every.restrict(every.find(["Ann", "Bo", "Cy", "Di"], ["S", "S", "Q", "Q"]))


@pytest.mark.parametrize(
    ("questions", "words"),
    [
        (apart(), "They fall into 2 parts: 'Ann', 'Bo'; 'Cy', 'Di'."),
        (panel(capacity=0), "What helps: let"),
        (eh.Questions.panel(NATIONS, {"P": "fr"}, capacity=None), "cannot be compared"),
        (eh.Questions.panel({"A": "a", "B": "b"}, {"P": "a", "Q": "b"}, bias="group"), "neutral"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_asked(
    questions: eh.Questions, words: str
) -> None:
    with pytest.raises(eh.NotIdentifiableError, match=words):
        eh.choose(questions, lambda q: pytest.fail("was asked"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"available": ["P"]}, "available must be a function that returns names"),
        ({"deviation": 0}, "but these options have none"),
        ({"scores": "verdicts"}, "verdicts say which of two options is better"),
        ({"budget": -1.0}, "budget must be a number larger than 0"),
        ({"available": lambda: ["Zoe"]}, "'Zoe', who is no evaluator"),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, Any], message: str) -> None:
    choose: Callable[..., eh.Answer] = eh.choose
    with pytest.raises(eh.InputError, match=message.replace("(", r"\(")):
        choose(panel(), lambda q: pytest.fail("was asked"), **change)


def test_an_evaluator_who_fails_again_and_again_has_left_and_others_go_on() -> None:
    log, tries = Log(), Counter[str]()

    def evaluate(question: eh.Question) -> float:
        tries[str(question.evaluator)] += 1
        if question.evaluator == "R":
            raise TimeoutError("no answer")
        return log(question)

    questions = panel()
    answer = eh.choose(questions, evaluate, policy=Wants(questions, 3), retries=1)
    assert answer.policy.limits.absent_names == ("R",)
    assert tries == {"P": 12, "Q": 12, "S": 12, "R": 10}  # five questions, twice each
    assert answer.spent == 36
    (note,) = (one for one in answer.warnings if one.assumption == "attendance")
    assert not note.alarm
    assert note.message.startswith("R left and was not asked again: failed 5 times in a row, last")
    assert len(answer.failures) == 5
    assert "by R (question" in unwrapped(answer)


@pytest.mark.parametrize("parallel", [1, 4])
def test_an_evaluator_who_is_absent_is_not_asked_again(parallel: int) -> None:
    log, tries = Log(), Counter[str]()
    lock = threading.Lock()

    def evaluate(question: eh.Question) -> float:
        with lock:
            tries[str(question.evaluator)] += 1
            if question.evaluator == "Q" and tries["Q"] > 2:
                raise eh.AbsentError("ill until Monday")
            return log(question)

    questions = panel()
    answer = eh.choose(questions, evaluate, policy=Wants(questions, 3), parallel=parallel)
    assert 3 <= tries["Q"] <= 2 + parallel
    assert (answer.spent, answer.failures) == (38, ())
    assert "Note Q left and was not asked again: ill until Monday" in unwrapped(answer)


def test_nobody_left_ends_the_asking() -> None:
    def evaluate(question: eh.Question) -> float:
        raise eh.AbsentError

    questions = panel()
    answer = eh.choose(questions, evaluate, policy=Wants(questions))
    assert answer.spent == 0
    assert answer.stopped_because == "nobody is left to ask: P, Q, R, S left"
    options = eh.ActionSet([[1.0], [2.0], [3.0]], ["a", "b", "a"], intercept=True)
    alone = eh.choose(options, evaluate)
    assert alone.stopped_because == "the evaluator left: not available"


def test_a_line_that_is_dead_to_all_is_not_tried_for_each() -> None:
    calls = Counter[str]()

    def evaluate(question: eh.Question) -> float:
        calls[str(question.evaluator)] += 1
        raise ConnectionError("refused")

    many = eh.Questions.panel(list(NATIONS), [f"judge {j}" for j in range(40)], capacity=None)
    answer = eh.choose(many, evaluate, policy=Wants(many), retries=0)
    assert sum(calls.values()) == 10
    assert answer.stopped_because == (
        "evaluators failed 10 times in a row, last with: ConnectionError: refused"
    )


def test_who_is_available_is_asked_before_every_question() -> None:
    """Q goes after ten scores and comes back after twenty; P only comes then."""
    log = Log()

    def there() -> list[str]:
        n = len(log.asked)
        return ["R", "S", *(["Q"] if n < 10 or n >= 20 else []), *(["P"] if n >= 20 else [])]

    questions = panel()
    answer = eh.choose(questions, log, policy=Wants(questions, 3), available=there)
    who = [q.evaluator for q in log.asked]
    assert "P" not in who[:20]
    assert "Q" in who[:10]
    assert "Q" not in who[10:20]
    assert Counter(who) == dict.fromkeys(JUDGES, 12)
    assert answer.policy.limits.absent_names == ()


def test_where_only_absent_ones_are_wanted_it_says_so_and_can_go_on() -> None:
    class Stubborn(Wants):
        def left(self, pending: Counts) -> Counts:
            return np.full_like(pending, 9)

    log, questions = Log(), panel()
    policy = Stubborn(questions, np.tile([1, 0, 0, 2], 4))
    answer = eh.choose(questions, log, policy=policy, available=lambda: ["P", "Q"])
    assert {q.evaluator for q in log.asked} == {"P"}
    assert answer.stopped_because.startswith("those who are to be asked now are not available")
    assert eh.choose(questions, log, policy=policy, available=lambda: list(JUDGES)).spent == 12


def test_where_those_who_are_left_cannot_settle_it_the_asking_ends_with_what_is_known() -> None:
    class Particular(Wants):
        def propose(self, n: int | None, pending: Counts) -> Counts:
            if self.limits.absent:
                raise eh.NotIdentifiableError("Ann and Bo cannot be compared.")
            return super().propose(n, pending)

    def evaluate(question: eh.Question) -> float:
        if question.evaluator == "S" and question.number > 20:
            raise eh.AbsentError
        return log(question)

    log, questions = Log(), panel()
    answer = eh.choose(questions, evaluate, policy=Particular(questions, 3))
    assert answer.spent == len(log.asked) >= 20
    assert answer.stopped_because == "without those who left, Ann and Bo cannot be compared."


@pytest.mark.parametrize("bias", ["common", "evaluator"])
def test_values_and_leniencies_are_those_of_least_squares_on_the_log(bias: str) -> None:
    questions = panel(bias=bias)
    wanted = np.random.default_rng(1).integers(1, 5, len(questions))
    log = Log(noise=1.0)
    answer = eh.choose(questions, log, policy=Wants(questions, wanted))
    expected = log.least_squares(bias)
    values = [answer.standing(x).value for x in range(4)]
    np.testing.assert_allclose(values, expected[:4], atol=1e-9)
    found = [one.estimate for one in answer.biases]
    np.testing.assert_allclose(found[-4:], expected[-4:], atol=1e-9)
    # S is of no option's nation: there is no favour of S to be estimated
    names = ["own group"] if bias == "common" else [f"own group of {name}" for name in "PQR"]
    assert [(one.name, one.kind) for one in answer.biases] == [
        *((name, "bias") for name in names),
        *((name, "leniency") for name in JUDGES),
    ]
    assert all(math.isinf(one.low) and math.isinf(one.high) for one in answer.biases)
    frame = answer.biases.to_frame()
    assert frame["evaluator"].tolist()[-4:] == list(JUDGES)
    assert frame["estimate"].tolist() == found


def test_what_evaluators_add_to_everybody_is_no_bias_of_its_own() -> None:
    """Without favours the only columns are leniencies, and they are against the average of all."""
    questions = eh.Questions.panel(list(NATIONS), list(JUDGES), capacity=None)

    def evaluate(question: eh.Question) -> float:
        judge = list(JUDGES).index(str(question.evaluator))
        return float(VALUES[question.option] + LENIENCE[judge] + question.number % 2 / 64)

    answer = eh.choose(questions, evaluate)
    assert math.isnan(answer.bias.value)
    assert "Bias " not in str(answer)
    found = [one.estimate for one in answer.biases]
    np.testing.assert_allclose(found, LENIENCE - LENIENCE.mean(), atol=0.02)
    assert [one.kind for one in answer.biases] == ["leniency"] * 4


def test_options_that_are_their_own_questions_have_their_bias_by_name() -> None:
    options = eh.ActionSet([[1.0], [2.0], [3.0]], ["a", "b", "a"], intercept=True)
    rng = np.random.default_rng(0)
    answer = eh.choose(options, lambda q: rng.standard_normal(), at_most=40, deviation=0)
    (bias,) = answer.biases
    assert (bias.name, bias.kind) == (options.attribute_names[0], "bias")
    assert (bias.estimate, bias.low, bias.high) == (
        answer.bias.value, answer.bias.low, answer.bias.high
    )  # fmt: skip


def test_raw_means_are_those_of_all_scores_of_an_option() -> None:
    """The favourites of many judges win by raw means; an option that nobody saw has none."""
    questions = eh.Questions.panel(
        {"Ann": "x", "Bo": "y", "Cy": "z"}, {"P": "y", "Q": "y", "R": "z"}, capacity=None
    )
    wanted = np.array([2, 1, 3, 1, 4, 1, 0, 0, 0])
    given: list[tuple[int, float]] = []

    def evaluate(question: eh.Question) -> float:
        favour = 4.0 if question.label == "Bo" and question.evaluator != "R" else 0.0
        given.append((question.option, 5.0 - question.option + favour + question.number / 64))
        return given[-1][1]

    answer = eh.choose(questions, evaluate, policy=Wants(questions, wanted))
    for x in (0, 1):
        mean = np.mean([score for option, score in given if option == x])
        assert answer.standing(x).raw == pytest.approx(mean)
        assert answer.standing(x).evaluations == 6
    assert math.isnan(answer.standing(2).raw)
    assert answer.raw_choice == 1
    assert not answer.comparable
    assert "Nothing can be said yet" in unwrapped(answer)
    assert answer.standings["option"].tolist()[-1] == "Cy"  # nothing is known of it
    assert math.isnan(answer.standings["value"].tolist()[-1])


def test_what_no_score_shows_is_not_made_up() -> None:
    """Everybody was asked about others only: the favour is not seen, leniencies are."""
    questions = panel()
    own = questions.attributes[:, 0] == 1.0
    log = Log(noise=0.0)
    answer = eh.choose(questions, log, policy=Wants(questions, np.where(own, 0, 2)))
    favour, *lenient = answer.biases
    assert not favour.known
    assert math.isnan(favour.estimate)
    assert math.isnan(favour.shrunk)
    np.testing.assert_allclose(
        [one.estimate for one in lenient], LENIENCE - LENIENCE.mean(), atol=1e-9
    )
    assert "Bias not known: the scores so far do not show it." in unwrapped(answer)


class SaysBiases(Says):
    def biases(self) -> list[tuple[Column, eh.Estimate]]:
        return list(self.said.get("biases", ()))


def said(questions: eh.Questions, evaluate: Any = None, **what: Any) -> eh.Answer:
    usual = {"loss": 0.0, "certainty": "own scores"}
    return eh.choose(questions, evaluate or Log(), policy=SaysBiases(questions, **usual | what))


def test_a_policy_that_knows_its_biases_is_believed() -> None:
    questions = panel()
    lenient = Column("Q", "leniency", "Q")
    mine = [
        (questions.columns[0], eh.Estimate(1.25, 1.0, 1.5, 0.95)),
        (lenient, eh.Estimate(-0.5, -0.75, -0.25, 0.95)),
    ]
    answer = said(questions, biases=mine)
    assert (answer.biases[0].low, answer.biases[0].high) == (1.0, 1.5)
    assert answer.biases.named("Q").estimate == -0.5
    assert answer.biases.named("P").low == -math.inf
    drift = eh.Finding("drift", "Scores rise.")
    withdrawn = said(questions, biases=mine, warnings=(drift,))
    assert not withdrawn.sure
    assert withdrawn.biases[0].interval == eh.Estimate(1.25, -math.inf, math.inf, 0.0)


@pytest.mark.parametrize("capacity", [1, None])
def test_chances_are_not_beyond_what_is_sure(capacity: int | None) -> None:
    """Who loses nothing is the best, whatever the tolerance; who is not placed has a chance."""
    answer = eh.choose(panel(capacity=capacity), Log(noise=0.6), tolerance=1.5, at_most=200)
    found = answer.conclusion
    assert answer.sure
    assert (found.verdicts[0] == "in") == (answer.loss == 0.0)
    open_ = [float(found.chances[x]) for x, said in enumerate(found.verdicts) if said == "open"]
    assert all(0.01 <= chance <= 0.99 for chance in open_)
    assert bool(open_) == (answer.loss > 0.0)


def test_what_a_favour_of_the_whole_panel_may_be_is_said() -> None:
    answer = said(panel(), withstands=0.375)
    assert answer.withstands == 0.375
    assert "0.375" in str(answer)
    assert "Holds up" not in str(said(panel(), withstands=0.375, loss=0.1))


def compared(**settings: Any) -> tuple[eh.Questions, eh.Answer, dict[tuple[int, int], float]]:
    """All ordered pairs of three options, twice, by one judge with a favour for the first."""
    questions = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["J"])
    worth, given = np.array([1.0, 0.5, 0.0]), {}

    def evaluate(question: eh.Question) -> float:
        a, b = question.options
        given[a, b] = (worth[a] - worth[b] + 0.25) / 2
        return given[a, b]

    policy = Wants(questions, 2)
    return questions, eh.choose(questions, evaluate, policy=policy, **settings), given


def test_a_verdict_counts_for_one_and_against_the_other() -> None:
    _, answer, given = compared()
    for x in range(3):
        own = [score for (a, _), score in given.items() if a == x]
        against = [-score for (_, b), score in given.items() if b == x]
        assert answer.standing(x).raw == pytest.approx(np.mean(own + against))
        assert answer.standing(x).evaluations == 8
    (first,) = answer.biases
    assert (first.kind, round(first.estimate, 9)) == ("position", 0.125)
    assert "first with J" not in unwrapped(answer)  # its interval is everything
    assert answer.scale.compared


def test_values_of_comparisons_are_measured_from_the_chosen_option() -> None:
    questions = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["J"])
    leads = np.array([[0.0, 0.0, 0.0], [0.5, 0.25, 0.75], [1.0, 0.5, 1.5]])
    answer = said(questions, lambda q: 0.5 - q.option / 4, leads=leads)
    assert [(one.value, one.low, one.high) for one in answer.ranking] == [
        (0.0, 0.0, 0.0), (-0.5, -0.75, -0.25), (-1.0, -1.5, -0.5)
    ]  # fmt: skip


def test_a_lead_of_which_nothing_is_known_is_no_lead_of_0() -> None:
    nothing = [0.0, -math.inf, math.inf]
    leads = np.array([[0.0, 0.0, 0.0], nothing, [1.0, 0.5, 1.5]])
    questions = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["J"])
    compared = said(questions, lambda q: 0.5 - q.option / 4, leads=leads)
    assert math.isnan(compared.standing(1).lead)
    assert math.isnan(compared.standing(1).value)
    assert "Rival Cy comes closest" in unwrapped(compared)
    leads = np.array([[0.0, 0.0, 0.0], nothing, [2.0, 1.5, 2.5], [4.0, 3.5, 4.5]])
    alone = said(panel(), Log(noise=0.0), leads=leads)
    assert alone.standing(1).lead == pytest.approx(1.0)  # by least squares, without an interval
    assert "Rival Bo comes closest." in unwrapped(alone)  # by an amount that has no interval


def test_no_lead_of_who_is_surely_the_best_may_be_below_0() -> None:
    leads = np.array([[0.0, 0.0, 0.0], [0.5, -0.1, 1.1], [2.0, 1.5, 2.5], [4.0, 3.5, 4.5]])
    answer = said(panel(), Log(noise=0.0), leads=leads, loss=0.0)
    assert answer.conclusion.leads[:, 1].tolist() == [0.0, 0.0, 1.5, 3.5]
    assert (answer.compare("Ann", "Bo").low, answer.compare("Bo", "Ann").high) == (0.0, 0.0)
    unsure = said(panel(), Log(noise=0.0), leads=leads, loss=0.1)
    assert unsure.conclusion.leads[1, 1] == -0.1


def test_verdicts_come_in_steps_and_nobody_is_reproached_for_it() -> None:
    questions = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["J"])
    rng = np.random.default_rng(0)

    def evaluate(question: eh.Question) -> str:
        return str(rng.choice(["first", "second", "tie"]))

    answer = eh.choose(questions, evaluate, scores="verdicts", at_most=200)
    assert answer.policy.bounds == (-1.0, 1.0)
    assert "rounding" in {one.assumption for one in answer.policy.findings()}
    assert "rounding" not in {one.assumption for one in answer.warnings}


def test_features_of_a_panel_count_where_they_are_said_to_be_exact() -> None:
    level = np.array([4.0, 3.0, 2.0, 0.0])  # values are 2 + level, exactly
    panel = eh.Questions.panel(NATIONS, JUDGES, capacity=None)
    own = eh.choose(panel, Log())
    assert (own.sure, own.certainty) == (True, "own scores")
    with pytest.raises(eh.InputError, match="these options have none"):
        eh.choose(panel, Log(), deviation=0)
    questions = with_exact_features(panel, level[:, None])
    exact = eh.choose(questions, Log(), deviation=0)
    assert (exact.label, exact.sure, exact.certainty) == ("Ann", True, "features exact")
    assert exact.policy.questions.n_features == 2
    again = eh.choose(questions, Log(), deviation=0, policy=exact.policy)
    assert again.spent == exact.spent
