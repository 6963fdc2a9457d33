"""The front door: every score is told once, in whatever order it comes, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from asking import Wants
from evenhand.answers import watch
from evenhand.arrays import Counts
from evenhand.policies import checks_of

OPTIONS = eh.ActionSet(
    [[1.0, 5.0], [1.0, 2.0], [1.0, 4.0], [1.0, 1.0]],
    ["away", "away", "home", "home"],
    labels=["Ann", "Bo", "Cy", "Di"],
)
SCORES = (5.0, 2.0, 6.0, 3.0)


class Asks(Wants):
    """Asks for given numbers of evaluations, and is done when it has enough of them."""

    def __init__(self, counts: list[int], enough: int | None = None) -> None:
        super().__init__(OPTIONS, counts, noise_scale=1.0)
        self.enough = sum(counts) if enough is None else enough
        self.told = eh.Feedback(*np.zeros((3, len(OPTIONS)), dtype=np.int64))
        self.scores: list[tuple[int, float]] = []

    def propose(self, n: int | None, pending: Counts) -> Counts:
        done = self.told.counts.sum() >= self.enough
        return np.zeros_like(pending) if done else super().propose(n, pending)

    def learn(self, feedback: eh.Feedback) -> None:
        self.told = self.told + feedback
        (option,) = np.flatnonzero(feedback.counts)  # one score at a time
        self.scores.append((int(option), float(feedback.sums[option])))

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, int(np.argmax(self.told.means)))


class Evaluator:
    """Scores that tell questions apart, and a record of who asked for what at the same time.

    The first wait until so many are asked ``together``.
    """

    def __init__(self, delays: float = 0.0, together: int = 1) -> None:
        self.given: dict[int, float] = {}
        self.asked: list[eh.Question] = []
        self.threads: set[int] = set()
        self.at_once = self.most_at_once = 0
        self._rng = np.random.default_rng(0)
        self._delays, self._lock = delays, threading.Lock()
        self._together, self._all_in = together, threading.Event()

    def _enter(self, question: eh.Question) -> float:
        with self._lock:
            self.asked.append(question)
            self.threads.add(threading.get_ident())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.most_at_once >= self._together:
                self._all_in.set()
            return float(self._delays * self._rng.random())

    def _leave(self, question: eh.Question) -> float:
        with self._lock:
            self.at_once -= 1
            self.given[question.number] = SCORES[question.option] + question.number / 1024
            return self.given[question.number]

    def plain(self, question: eh.Question) -> float:
        delay = self._enter(question)
        assert self._all_in.wait(60)
        time.sleep(delay)
        return self._leave(question)

    async def tasks(self, question: eh.Question) -> float:
        delay = self._enter(question)
        while not self._all_in.is_set():
            await asyncio.sleep(0.001)
        await asyncio.sleep(delay)
        return self._leave(question)


def everything_was_told(policy: Asks, judge: Evaluator, counts: list[int]) -> None:
    assert policy.told.counts.tolist() == counts
    assert Counter(score for _, score in policy.scores) == Counter(judge.given.values())
    by_option = {q.number: q.option for q in judge.asked}
    sums = np.zeros(len(OPTIONS))
    for number, score in judge.given.items():
        sums[by_option[number]] += score
    np.testing.assert_allclose(policy.told.sums, sums)


@pytest.mark.parametrize("how", ["plain", "tasks"])
def test_scores_are_told_as_they_arrive(how: str) -> None:
    judge, counts = Evaluator(delays=0.02, together=8), [20, 0, 15, 10]
    policy = Asks(counts)
    answer = eh.choose(OPTIONS, getattr(judge, how), policy=policy, parallel=8)
    everything_was_told(policy, judge, counts)
    assert judge.most_at_once == 8
    assert threading.get_ident() not in judge.threads
    numbers = [
        number for _, score in policy.scores for number, s in judge.given.items() if s == score
    ]
    assert sorted(numbers) == list(range(1, 46))
    assert numbers != sorted(numbers)  # others were faster
    assert (answer.spent, answer.failures) == (45, ())
    assert answer.stopped_because == "all 45 evaluations are spent"


def test_one_at_a_time_runs_where_the_caller_is() -> None:
    judge, counts = Evaluator(), [3, 2, 0, 1]
    policy = Asks(counts)
    eh.choose(OPTIONS, judge.plain, policy=policy)
    everything_was_told(policy, judge, counts)
    assert judge.threads == {threading.get_ident()}
    assert judge.most_at_once == 1


def test_it_may_be_called_where_a_loop_is_running() -> None:
    judge = Evaluator()

    async def notebook() -> eh.Answer:
        return eh.choose(OPTIONS, judge.tasks, policy=Asks([2, 2, 2, 2]), parallel=3)

    assert asyncio.run(notebook()).spent == 8


def test_an_object_with_an_async_call_is_async() -> None:
    class Judge:
        async def __call__(self, question: eh.Question) -> float:
            await asyncio.sleep(0)
            return SCORES[question.option]

    answer = eh.choose(OPTIONS, Judge(), policy=Asks([1, 1, 1, 1]))
    assert answer.raw_choice == 2
    assert [one.raw for one in sorted(answer.ranking, key=lambda one: one.index)] == list(SCORES)


def test_the_order_is_random_and_comes_from_the_seed() -> None:
    def order(seed: int) -> list[int]:
        judge = Evaluator()
        eh.choose(OPTIONS, judge.plain, policy=Asks([20, 20, 20, 0]), seed=seed)
        return [question.option for question in judge.asked]

    first = order(0)
    assert Counter(first) == {0: 20, 1: 20, 2: 20}
    assert order(0) == first != order(1)
    # 60 in random order change options about 40 times, with a variance of about 9
    changes = sum(a != b for a, b in pairwise(first))
    assert 28 <= changes <= 52


@pytest.mark.parametrize("parallel", [1, 4])
def test_a_failed_question_is_tried_again_and_then_reported(parallel: int) -> None:
    tries: Counter[int] = Counter()

    def evaluate(question: eh.Question) -> float:
        tries[question.number] += 1
        if question.number == 2 or (question.number == 5 and tries[5] < 3):
            raise TimeoutError("no answer")
        return SCORES[question.option]

    policy = Asks([3, 3, 3, 3])
    answer = eh.choose(OPTIONS, evaluate, policy=policy, parallel=parallel, retries=2)
    assert policy.told.counts.tolist() == [3, 3, 3, 3]  # asked anew
    (failure,) = answer.failures
    assert (failure.question.number, failure.attempts) == (2, 3)
    assert failure.error == "TimeoutError: no answer"
    assert tries[2] == tries[5] == 3
    assert set(tries) == set(range(1, 14))  # twelve, and one instead of the second
    assert "1 question given up: " in " ".join(str(answer).split())


def test_an_evaluator_that_always_fails_ends_the_asking() -> None:
    calls = 0

    def evaluate(question: eh.Question) -> float:
        nonlocal calls
        calls += 1
        raise ConnectionError("refused")

    answer = eh.choose(OPTIONS, evaluate, policy=Asks([30, 30, 0, 0]), retries=1)
    assert (answer.spent, len(answer.failures), calls) == (0, 5, 10)
    assert "failed 5 times in a row, last with: ConnectionError: refused" in answer.stopped_because
    assert not answer.sure
    assert answer.raw_choice is None
    assert "no evaluation came back" in str(answer)


def test_an_option_that_cannot_be_evaluated_is_named() -> None:
    def evaluate(question: eh.Question) -> float:
        if question.label == "Cy":
            raise FileNotFoundError("cy.txt")
        return SCORES[question.option]

    policy = Asks([30, 30, 30, 30])
    answer = eh.choose(OPTIONS, evaluate, policy=policy, retries=0)
    assert "failed on Cy 5 times in a row" in answer.stopped_because
    assert policy.told.counts[2] == 0
    assert policy.told.counts.sum() == answer.spent > 0


@pytest.mark.parametrize(
    "bad", [None, float("nan"), float("inf"), "7", True, 1j, np.array([1.0]), [3.0]]
)
def test_what_is_no_score_is_a_failure_that_names_the_option(bad: object) -> None:
    answer = eh.choose(OPTIONS, lambda q: bad, policy=Asks([0, 9, 0, 0]), retries=0)
    assert answer.spent == 0
    assert "the score of 'Bo' must be a finite number" in answer.failures[0].error
    assert repr(bad) in answer.failures[0].error


def test_votes_are_0_or_1() -> None:
    def votes(*replies: object) -> eh.Answer:
        given = iter(replies)
        policy = Asks([2, 0, 0, 0])
        return eh.choose(OPTIONS, lambda q: next(given), policy=policy, scores="votes", retries=0)

    assert votes(True, np.False_).standing(0).raw == 0.5
    refused = votes(0.5, 1, 0.0)
    assert refused.spent == 2
    assert "must be 0 or 1; got 0.5" in refused.failures[0].error


def test_scores_out_of_bounds_are_refused() -> None:
    given = iter([10.0, 10.5, -0.1, 0.0])
    answer = eh.choose(
        OPTIONS, lambda q: next(given), policy=Asks([2, 0, 0, 0]), bounds=(0, 10), retries=0
    )
    assert [f.error[-5:] for f in answer.failures] == ["10.5.", "-0.1."]
    assert answer.standing(0).raw == 5.0


def test_what_is_on_its_way_is_cancelled_when_the_policy_is_done() -> None:
    cancelled: list[int] = []
    started: set[int] = set()

    async def evaluate(question: eh.Question) -> float:
        started.add(question.number)
        while len(started) < 6:  # all of the first six are out before one comes back
            await asyncio.sleep(0)
        if question.number > 3:
            try:
                await asyncio.Event().wait()  # never
            except asyncio.CancelledError:
                cancelled.append(question.number)
                raise
        return SCORES[question.option]

    answer = eh.choose(OPTIONS, evaluate, policy=Asks([9, 9, 9, 9], enough=3), parallel=6)
    assert answer.spent == 3
    assert answer.stopped_because == "the policy asks for no more"
    # each of the first two that came back made room for another, if the loop got round to it
    assert {4, 5, 6} <= set(cancelled) <= set(range(4, 9))


def test_stragglers_in_threads_are_not_waited_for() -> None:
    release = threading.Event()

    def evaluate(question: eh.Question) -> float:
        if question.number > 2:
            release.wait(60.0)
        return SCORES[question.option]

    policy = Asks([9, 9, 9, 9], enough=2)
    answer = eh.choose(OPTIONS, evaluate, policy=policy, parallel=4)
    assert not release.is_set()
    assert answer.spent == 2
    release.set()  # what they say now reaches nobody
    assert policy.spent == 2


def test_an_interrupt_returns_what_is_known() -> None:
    def evaluate(question: eh.Question) -> float:
        if question.number == 4:
            signal.raise_signal(signal.SIGINT)
        return SCORES[question.option]

    policy = Asks([9, 9, 9, 9])
    answer = eh.choose(OPTIONS, evaluate, policy=policy)
    assert answer.spent == policy.told.counts.sum() == 3
    assert answer.stopped_because == "it was interrupted"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = eh.choose(OPTIONS, lambda q: SCORES[q.option], policy=policy)
    assert again.spent == again.standings["evaluations"].sum() == 36  # those before, too


def test_an_interrupt_does_not_break_into_what_a_policy_learns() -> None:
    class Slow(Asks):
        def learn(self, feedback: eh.Feedback) -> None:
            if self.spent == 2:
                signal.raise_signal(signal.SIGINT)
            super().learn(feedback)

    policy = Slow([9, 9, 9, 9])
    answer = eh.choose(OPTIONS, lambda q: SCORES[q.option], policy=policy)
    assert answer.stopped_because == "it was interrupted"
    assert policy.told.counts.sum() == answer.spent == 2


def test_an_interrupt_ends_the_wait_for_threads() -> None:
    release = threading.Event()
    caller = threading.main_thread().ident

    def evaluate(question: eh.Question) -> float:
        if question.number == 4:
            signal.pthread_kill(caller, signal.SIGINT)
        if question.number >= 4:
            release.wait(60.0)
        return SCORES[question.option]

    answer = eh.choose(OPTIONS, evaluate, policy=Asks([9, 9, 9, 9]), parallel=2)
    assert answer.stopped_because == "it was interrupted"
    assert answer.spent <= 3
    release.set()


@pytest.mark.parametrize("how", ["plain", "tasks"])
@pytest.mark.parametrize("parallel", [1, 3])
def test_an_evaluator_may_interrupt(how: str, parallel: int) -> None:
    def plain(question: eh.Question) -> float:
        if question.number == 6:
            raise KeyboardInterrupt
        return SCORES[question.option]

    async def tasks(question: eh.Question) -> float:
        return plain(question)

    evaluate = plain if how == "plain" else tasks
    answer = eh.choose(OPTIONS, evaluate, policy=Asks([9, 9, 9, 9]), parallel=parallel)
    assert answer.stopped_because == "it was interrupted"
    assert 6 - parallel <= answer.spent < 36


@pytest.mark.parametrize("parallel", [1, 2])
def test_what_ends_programs_is_no_failed_evaluation(parallel: int) -> None:
    def evaluate(question: eh.Question) -> float:
        raise SystemExit(4)

    with pytest.raises(SystemExit, match="4"):
        eh.choose(OPTIONS, evaluate, policy=Asks([1, 1, 1, 1]), parallel=parallel)


def test_progress_is_told_after_every_evaluation() -> None:
    seen: list[eh.answers.Progress] = []
    eh.choose(OPTIONS, lambda q: SCORES[q.option], policy=Asks([2, 2, 2, 2]), progress=seen.append)
    assert [one.spent for one in seen] == list(range(1, 9))
    assert seen[-1].leader == "Cy"
    assert all(one.at_most == one.total == 8 for one in seen)


@pytest.mark.parametrize(
    ("terminal", "progress", "shown"),
    [
        (False, None, False),
        (False, True, True),
        (True, None, True),
        (True, True, True),
        (True, False, False),
    ],
)
def test_progress_is_shown_where_somebody_looks(
    terminal: bool,
    progress: bool | None,
    shown: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    eh.choose(OPTIONS, lambda q: 1.0, policy=Asks([1, 1, 1, 1]), progress=progress)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("leads" in captured.err) is shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": [[1.0], [2.0]]}, "ActionSet(features, groups)"),
        ({"options": pd.DataFrame({"a": [1]})}, "ActionSet.from_table(table, group=...)"),
        ({"evaluate": 3.0}, "evaluate must be a function of a question; got 3.0"),
        ({"parallel": 0}, "parallel must be a whole number from 1"),
        ({"retries": -1}, "retries must be a whole number from 0"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"deviation": -0.1}, "deviation must be a number ≥ 0"),
        ({"scores": "marks"}, "scores must be 'votes', 'verdicts' or None"),
        ({"scores": "votes", "bounds": (0, 1)}, "leave out bounds"),
        ({"bounds": (1, 1)}, "bounds= is the lowest and the highest score"),
        ({"progress": "yes"}, "progress must be True, False, None or a function"),
        ({"policy": "uniform"}, "policy must be a Policy"),
        ({"at_most": 50}, "was made for 4 evaluations in all, which cannot become 50"),
        ({"options": eh.ActionSet([[1.0], [0.0]], ["a", "b"])}, "is about other options"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(
    change: dict[str, Any], message: str
) -> None:
    asked: list[eh.Question] = []

    def evaluate(question: eh.Question) -> float:
        asked.append(question)
        return 1.0

    given: dict[str, Any] = {
        "options": OPTIONS, "evaluate": evaluate, "policy": Asks([1, 1, 1, 1])
    } | change  # fmt: skip
    choose: Callable[..., eh.Answer] = eh.choose
    with pytest.raises(eh.InputError) as error:
        choose(**given)
    assert message in str(error.value)
    assert asked == []


def test_a_plain_function_that_returns_something_to_await_is_refused_at_once() -> None:
    async def score(question: eh.Question) -> float:
        return 1.0

    with pytest.raises(eh.InputError, match="is no async function; wrap it"):
        eh.choose(OPTIONS, lambda q: score(eh.Question(0, "", 1)), policy=Asks([1, 1, 1, 1]))


def test_evaluators_never_see_the_group() -> None:
    seen: list[eh.Question] = []
    eh.choose(OPTIONS, lambda q: seen.append(q) or 1.0, policy=Asks([1, 1, 1, 1]))
    known = "option label number evaluator options labels price index turn"
    assert set(vars(seen[0])) == {*known.split()}
    assert {q.label for q in seen} == set(OPTIONS.labels)


def test_what_is_taken_for_granted_is_said() -> None:
    def notes(options: eh.ActionSet, **settings: Any) -> dict[str, eh.Finding]:
        policy = eh.policy("uniform", options, horizon=4 * len(options))
        noise = np.random.default_rng(1)
        answer = eh.choose(options, lambda q: noise.standard_normal(), policy=policy, **settings)
        return {finding.assumption: finding for finding in answer.warnings}

    rng = np.random.default_rng(0)
    many = eh.ActionSet(rng.standard_normal((9, 2)), [0, 1, 1] * 3, intercept=True)
    assert notes(many) == {}
    assert not notes(many, checks=False)["checks"].alarm
    bare = notes(eh.ActionSet(many.features[:, 1:], [0, 1, 1] * 3))
    assert set(bare) == {"intercept"}
    assert "intercept=True" in bare["intercept"].message


def test_features_that_hardly_anything_could_refute_are_not_taken_for_granted_in_silence() -> None:
    """Three features and a group are four numbers to be found; five options are one more."""
    rng = np.random.default_rng(0)
    rows = np.vstack([np.eye(3), [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    for k in (4, 5):
        options = eh.ActionSet(rows[:k], ["a", "b", "a", "a", "b"][:k])
        policy = eh.policies.Certified(eh.policy("uniform", options, 4 * k, noise_scale=1.0))
        answer = eh.choose(options, lambda q: rng.standard_normal(), policy=policy)
        assert answer.certainty == "features exact"
        (looks,) = (finding for finding in answer.warnings if finding.assumption == "looks")
        assert not looks.alarm


def test_one_option_is_chosen_without_asking() -> None:
    actions = eh.ActionSet([[1.0]], attributes=[[2.0]], labels=["Ann"])
    answer = eh.choose(actions, lambda q: pytest.fail("was asked"))
    assert (answer.label, answer.sure, answer.loss, answer.spent) == ("Ann", True, 0.0, 0)
    assert answer.stopped_because == "there is no other option"


def test_who_asks_depends_on_what_is_said_of_the_features() -> None:
    settings: dict[str, Any] = {
        "confidence": 0.9,
        "tolerance": 0.25,
        "at_most": 50,
        "noise_scale": 0.5,
        "bounds": (0, 10),
        "seed": 3,
    }

    def asked_by(**more: Any) -> eh.Policy:
        policy = eh.choose(OPTIONS, lambda q: SCORES[q.option], **settings, **more).policy
        assert (policy.confidence, policy.tolerance) == (0.9, 0.25)  # type: ignore[attr-defined]
        assert (policy.horizon, policy.noise_scale, policy.seed) == (50, 0.5, 3)
        return policy

    careful = asked_by()
    assert isinstance(careful, eh.search.CarefulChoice)
    assert careful.deviation is None
    assert careful.bounds == (0.0, 10.0)
    stated = asked_by(deviation=0.125)
    assert isinstance(stated, eh.search.CarefulChoice)
    assert stated.deviation == 0.125
    for checks, looks in ((True, 0.1), (False, 0.0)):
        exact = asked_by(deviation=0, checks=checks)
        assert isinstance(exact, eh.CertainChoice)
        assert exact.looks == looks
    votes = eh.choose(OPTIONS, lambda q: q.option % 2, deviation=0, scores="votes", at_most=9)
    assert votes.policy.bounds == (0.0, 1.0)


@pytest.mark.parametrize("deviation", [None, 0])
def test_latency_does_not_keep_from_a_sure_answer(deviation: float | None) -> None:
    """The gap between the first two is 1, the noise 0.1: a wrong answer would be no accident."""
    options = eh.ActionSet(
        [[4.0], [1.0], [3.0], [0.0], [2.0], [1.5], [2.5], [0.5]],
        ["away", "away", "home", "home"] * 2,
        intercept=True,
    )
    scores = options.features @ [2.0, 1.0] + 0.75 * options.groups
    rng = np.random.default_rng(0)

    async def evaluate(question: eh.Question) -> float:
        await asyncio.sleep(0.002 * rng.random())
        return float(scores[question.option] + 0.1 * rng.standard_normal())

    answer = eh.choose(options, evaluate, deviation=deviation, parallel=16)
    assert answer.sure
    assert (answer.option, answer.certainty) == (
        0,
        "own scores" if deviation is None else "features exact",
    )
    assert answer.bias.covers(0.75)
    assert answer.loss == 0.0


def test_asserting_exact_features_is_checked_before_it_counts() -> None:
    """Deviations of three times the noise are seen by a few looks at every option, only so."""
    rng = np.random.default_rng(0)
    options = eh.ActionSet(rng.standard_normal((12, 2)), ["a", "b"] * 6, intercept=True)
    values = options.features @ [5.0, 2.0, 1.0] + 3.0 * rng.standard_normal(12)

    def evaluate(question: eh.Question) -> float:
        return float(values[question.option] + rng.standard_normal())

    answer = eh.choose(options, evaluate, deviation=0)
    assert min(one.evaluations for one in answer.ranking) >= 4
    assert [alarm.assumption for alarm in answer.alarms] == ["fit"]
    assert (answer.sure, answer.certainty, answer.loss) == (False, None, np.inf)
    unchecked = eh.choose(options, evaluate, deviation=0, checks=False)
    assert min(one.evaluations for one in unchecked.ranking) < 4
    assert "checks" in {finding.assumption for finding in unchecked.warnings}


@pytest.mark.parametrize("capacity", [None, 5])
def test_no_two_answers_have_the_same_turn(capacity: int | None) -> None:
    """Also where some fail, and where an earlier answer is gone on with."""
    questions = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=capacity)
    rng = np.random.default_rng(0)
    answered: dict[int, list[int]] = {x: [] for x in range(len(questions))}

    def evaluate(question: eh.Question) -> float:
        assert questions.label(question.index) == f"{question.label} by {question.evaluator}"
        if question.number > 10 and question.number % 3 == 0:
            raise ConnectionError("busy")
        answered[question.index].append(question.turn)
        return float(rng.normal())

    answer = eh.choose(questions, evaluate, at_most=10, retries=0)
    more = eh.choose(questions, evaluate, at_most=60, retries=0, policy=answer.policy)
    assert more.failures
    counts = checks_of(answer.policy).counts.tolist()
    assert [len(set(turns)) for turns in answered.values()] == counts
    if capacity is None:
        assert sum(counts) > 10
    else:
        assert [sorted(turns) for turns in answered.values()] == [[0, 1, 2, 3, 4]] * 4
