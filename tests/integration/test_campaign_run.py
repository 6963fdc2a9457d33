"""`Campaign.run` and `choose(store=...)`: the same choice, on a store, whatever happens to it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh

TEAMS = {"Ann": "home", "Bo": "away", "Cy": "home", "Di": "away"}
JUDGES = {"Paul": "home", "Quinn": "away", "Rita": "nowhere"}
VALUES = [4.0, 3.0, 2.0, 1.0]
PANEL = eh.Questions.panel(TEAMS, JUDGES, capacity=None)


def judged(question: eh.Question, noise: float = 0.3) -> float:
    """Return a score that depends on the question alone, so that no order of arrival matters."""
    rng = np.random.default_rng([question.index, question.turn])
    favour = list(TEAMS.values())[question.option] == JUDGES[str(question.evaluator)]
    return VALUES[question.option] + favour + noise * rng.standard_normal()


def told(store: Path, name: str = "choice") -> list[tuple[int, int]]:
    """Return ticket and question of everything that counts, by the log."""
    from evenhand.campaigns import ledger  # noqa: PLC0415 # only these look into the log
    from evenhand.campaigns.stores import open_store  # noqa: PLC0415

    with open_store(store) as opened:
        events = opened.read(lambda s: ledger.events_after(s, ledger.find(s, name) or 0, 0, 10**6))
    rows = [row for event in events if event.kind == "told" for row in event.content["evaluations"]]
    return [(row[1], row[2]) for row in rows]


@pytest.mark.parametrize("parallel", [1, 4])
def test_choose_on_a_store_is_sure_and_kept(tmp_path: Path, parallel: int) -> None:
    store = tmp_path / "choice.db"
    answer = eh.choose(PANEL, judged, store=store, parallel=parallel)
    assert (answer.label, answer.sure) == ("Ann", True)
    assert len(told(store)) == answer.spent

    def refuse(question: eh.Question) -> float:
        raise AssertionError("nothing is asked again")

    again = eh.choose(PANEL, refuse, store=store, parallel=parallel)
    assert again.to_dict() == answer.to_dict()


def test_an_async_function_answers(tmp_path: Path) -> None:
    most = now = 0

    async def evaluate(question: eh.Question) -> float:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1
        return judged(question)

    answer = eh.choose(PANEL, evaluate, store=tmp_path / "a.db", parallel=8)
    assert answer.label == "Ann"
    assert 1 < most <= 8


_SCRIPT = """
import itertools, sys, threading
sys.path.insert(0, sys.argv[2])
import evenhand as eh
from test_campaign_run import PANEL, judged

calls = itertools.count(1)

def evaluate(question):
    if next(calls) > 20:
        threading.Event().wait()  # for ever, with a ticket in hand
    return judged(question, noise=2.0)

eh.choose(PANEL, evaluate, store=sys.argv[1], parallel=4)
"""


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """Nothing that was acknowledged is lost, and what the dead held is taken back at once."""
    store, here = tmp_path / "choice.db", str(Path(__file__).parent)
    dead = subprocess.Popen([sys.executable, "-c", _SCRIPT, store, here])
    while not store.exists() or not eh.Campaign.names(store):
        assert dead.poll() is None
        time.sleep(0.01)
    with eh.Campaign.open(store, "choice") as campaign:
        while (campaign.status().evaluations, campaign.status().leased) != (20, 4):
            assert dead.poll() is None
            time.sleep(0.01)
        os.kill(dead.pid, signal.SIGKILL)
        dead.wait()
        before = told(store)
        began = time.monotonic()
        answer = campaign.run(lambda question: judged(question, noise=2.0), parallel=4)
        assert time.monotonic() - began < 55.0  # a lease is 60 s: nobody waited for the dead
    after = told(store)
    assert after[: len(before)] == before
    assert len({ticket for ticket, _ in after}) == len(after) == answer.spent
    assert answer.label == "Ann"


def test_an_interrupt_gives_everything_back(tmp_path: Path) -> None:
    store, seen = tmp_path / "choice.db", 0

    def evaluate(question: eh.Question) -> float:
        nonlocal seen
        seen += 1
        if seen == 10:
            signal.raise_signal(signal.SIGINT)
        return judged(question)

    answer = eh.choose(PANEL, evaluate, store=store)
    assert answer.stopped_because == "it was interrupted"
    with eh.Campaign.open(store, "choice") as campaign:
        assert campaign.status().leased == 0
    assert eh.choose(PANEL, judged, store=store).sure


def test_failures_are_tried_again_and_given_up(tmp_path: Path) -> None:
    tries: Counter[int] = Counter()
    lock = threading.Lock()

    def evaluate(question: eh.Question) -> float:
        with lock:
            tries[question.number] += 1
            if question.number % 7 == 3:
                raise ConnectionError("no line")
            if question.number % 7 == 5 and tries[question.number] == 1:
                return float("nan")
        return judged(question)

    answer = eh.choose(PANEL, evaluate, store=tmp_path / "a.db", parallel=3, retries=1)
    assert answer.label == "Ann"
    assert answer.sure
    given_up = {failure.question.number for failure in answer.failures}
    assert given_up
    assert all(number % 7 == 3 and tries[number] == 2 for number in given_up)


def failing(question: eh.Question) -> float:
    raise ConnectionError("no key")


@pytest.mark.parametrize("alone", [True, False])
def test_a_script_that_was_mended_goes_on(tmp_path: Path, alone: bool) -> None:
    """Where everything failed nothing was decided, and running again asks again."""
    options = eh.ActionSet([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]], ["a", "b", "a"], list("ABC"))
    store = tmp_path / "a.db"

    def chosen(evaluate: Callable[[eh.Question], float]) -> eh.Answer:
        if alone:
            return eh.choose(options, evaluate, store=store, deviation=0.0, retries=0)
        return eh.choose(PANEL, evaluate, store=store, retries=0)

    for _ in range(4):  # until nobody is left who could be asked
        assert "no key" in str(chosen(failing).stopped_because)
        assert eh.Campaign.names(store) != {"choice": "finished"}
    rng = np.random.default_rng(0)
    sums = options.features.sum(axis=1)
    mended = chosen((lambda q: sums[q.option] + 0.1 * rng.normal()) if alone else judged)
    assert (mended.label, mended.sure) == ("C" if alone else "Ann", True)
    assert mended.policy.limits.absent_names == ()


def test_a_run_does_not_go_on_where_somebody_paused(tmp_path: Path) -> None:
    with eh.Campaign.create(tmp_path / "a.db", "prize", PANEL) as campaign:
        campaign.leave("Rita", "ill")
        campaign.pause("lunch")
        assert campaign.run(judged).stopped_because == "the campaign is paused: lunch"
        campaign.resume()
        assert campaign.run(judged).policy.limits.absent_names == ("Rita",)


def test_what_is_decided_and_sure_stays_so_though_somebody_failed(tmp_path: Path) -> None:
    def evaluate(question: eh.Question) -> float:
        return failing(question) if question.evaluator == "Rita" else judged(question)

    with eh.Campaign.create(tmp_path / "a.db", "prize", PANEL, retries=0) as campaign:
        answer = campaign.run(evaluate)
        assert (answer.sure, answer.policy.limits.absent_names) == (True, ("Rita",))
        seal = campaign.status().hash
        assert campaign.run(failing).sure
        assert campaign.status().hash == seal  # nothing was added to the record


def test_who_was_absent_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    def nobody(question: eh.Question) -> float:
        raise eh.AbsentError("on holiday")

    away = eh.choose(PANEL, nobody, store=tmp_path / "a.db")
    assert set(away.policy.limits.absent_names) == set(JUDGES)
    back = eh.choose(PANEL, judged, store=tmp_path / "a.db")
    assert (back.label, back.sure, back.policy.limits.absent_names) == ("Ann", True, ())


def test_only_those_who_are_there_are_asked(tmp_path: Path) -> None:
    asked: set[str | None] = set()

    def evaluate(question: eh.Question) -> float:
        asked.add(question.evaluator)
        return judged(question)

    answer = eh.choose(
        PANEL, evaluate, store=tmp_path / "a.db", at_most=12, available=lambda: ["Paul", "Quinn"]
    )
    assert asked <= {"Paul", "Quinn"}
    assert answer.spent


def test_a_choice_may_grow_and_not_change(tmp_path: Path) -> None:
    store = tmp_path / "choice.db"

    def noisy(question: eh.Question) -> float:
        return judged(question, noise=4.0)

    first = eh.choose(PANEL, noisy, store=store, at_most=12)
    assert not first.sure
    assert first.spent <= 12
    before = told(store)
    with pytest.raises(eh.InputError, match=r"confidence=0.95, where 0.9 is given now"):
        eh.choose(PANEL, noisy, 0.9, store=store, at_most=12)
    with pytest.raises(eh.InputError, match="other options or questions"):
        eh.choose(
            eh.Questions.panel(TEAMS, {"Paul": "home", "Quinn": "away"}, capacity=None),
            noisy,
            store=store,
        )
    more = eh.choose(PANEL, noisy, store=store, at_most=200)
    assert first.spent < more.spent <= 200
    assert told(store)[: len(before)] == before
    with pytest.raises(eh.InputError, match=r"begun with at_most=12, where 11 .* not shrink"):
        eh.choose(PANEL, noisy, store=store, at_most=11)
    again = eh.choose(PANEL, noisy, store=store, at_most=12)  # the first script, once more
    assert again.spent == more.spent


def test_who_sets_a_limit_later_is_told_that_it_cannot_be(tmp_path: Path) -> None:
    """It would be passed over in silence, and cost what nobody wanted to spend."""
    eh.choose(PANEL, judged, store=tmp_path / "choice.db")
    for limit in ({"at_most": 3}, {"budget": 3.0}):
        with pytest.raises(eh.InputError, match="not shrink"):
            eh.choose(PANEL, judged, store=tmp_path / "choice.db", **limit)  # type: ignore[arg-type]


def test_a_budget_of_options_that_cost_the_same_may_grow(tmp_path: Path) -> None:
    options = eh.ActionSet([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]], ["a", "b", "a"], list("ABC"))
    store, allowed = tmp_path / "choice.db", []
    for budget in (20.0, 30.0, 20.0):
        eh.choose(options, lambda question: 1.0, store=store, budget=budget)
        allowed.append(eh.Campaign.open(store, "choice").status().at_most)
    assert allowed == [20, 30, 30]


def test_two_runs_share_one_campaign(tmp_path: Path) -> None:
    store = tmp_path / "choice.db"
    eh.Campaign.create(store, "prize", PANEL, noise_scale=2.0).close()
    answers: list[eh.Answer] = []
    by: list[set[int]] = [set(), set()]
    begun = threading.Event(), threading.Event()

    def work(which: int) -> None:
        def evaluate(question: eh.Question) -> float:
            by[which].add(question.number)
            begun[which].set()
            assert begun[1 - which].wait(60)  # neither is done before the other has begun
            return judged(question, noise=2.0)

        with eh.Campaign.open(store, "prize") as campaign:
            answers.append(campaign.run(evaluate, parallel=3))

    threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert by[0]
    assert by[1]
    assert not by[0] & by[1]  # nobody does another's work
    assert answers[0].to_dict() == answers[1].to_dict()
    assert answers[0].sure


def test_bad_input_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    store = tmp_path / "choice.db"
    with eh.Campaign.create(store, "prize", PANEL) as campaign:
        for bad, match in (
            ({"evaluate": 3}, "evaluate must be a function"),
            ({"parallel": 0}, "parallel"),
            ({"available": "Paul"}, "available must be a function"),
            ({"progress": "yes"}, "progress must be"),
            ({"available": lambda: ["Zoe"]}, "Zoe"),
        ):
            with pytest.raises(eh.InputError, match=match):
                campaign.run(**({"evaluate": judged} | bad))
        status = campaign.status()
        assert (status.evaluations, status.leased) == (0, 0)
