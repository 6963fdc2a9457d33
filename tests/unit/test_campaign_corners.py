"""Corners of campaigns: who passes questions on, odd numbers and texts, forks, two at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.campaigns import ask
from evenhand.cli import app

ITEMS, JUDGES = {"Ann": "x", "Bo": "y"}, {"P": "x", "Q": "y", "R": "z"}
PANEL = eh.Questions.panel(ITEMS, JUDGES, capacity=None)


@pytest.fixture
def panel(tmp_path: Path) -> eh.Campaign:
    return eh.Campaign.create(tmp_path / "store.db", "it", PANEL, noise_scale=1.0)


def ticket_of(campaign: eh.Campaign, *who: Any, **how: Any) -> eh.campaigns.Ticket:
    ticket = campaign.ask(*who, **how)
    assert isinstance(ticket, eh.campaigns.Ticket), ticket
    return ticket


def test_who_passes_questions_on_does_not_get_what_others_have(panel: eh.Campaign) -> None:
    of_r = ticket_of(panel, "R")
    for_p = ticket_of(panel, ["P"])
    assert for_p.holder == "P"
    assert ticket_of(panel, ["P"]) == for_p
    assert ticket_of(panel, ["Q"]).holder == "Q"  # though there is one for P
    assert ticket_of(panel).id != of_r.id
    assert ticket_of(panel, "P").id != for_p.id  # whom a program asks may ask as well


@pytest.mark.parametrize("evaluator", [5, [], (), 0.5])
def test_who_asks_is_a_name_or_several(panel: eh.Campaign, evaluator: Any) -> None:
    with pytest.raises(eh.InputError, match="evaluator must be"):
        panel.ask(evaluator)


def test_others_make_up_for_who_never_comes(panel: eh.Campaign) -> None:
    """P and Q favour their own, and cancel each other: R, who is asked first, need not come."""
    rng = np.random.default_rng(1)
    worth = {"Ann": 9.0, "Bo": 1.0}
    assert panel.ask("R")
    while any(asked := [panel.ask("P"), panel.ask("Q")]):
        for ticket in asked:
            if isinstance(ticket, eh.campaigns.Ticket):
                panel.tell(ticket, worth[ticket.question.label] + rng.standard_normal())
    assert panel.answer().sure
    assert panel.answer().label == "Ann"
    assert panel.verify()


def test_who_is_too_dear_hears_whom_to_ask(tmp_path: Path) -> None:
    dear = eh.Questions.panel(ITEMS, JUDGES, capacity=None, prices=[1.0, 1.0, 50.0])
    panel = eh.Campaign.create(tmp_path / "store.db", "it", dear, noise_scale=1.0)
    while asked := panel.ask("R"):
        panel.tell(asked, 1.0)
    assert asked.reason == "not now"
    assert "P" in asked.why
    assert "`leave`" in asked.why
    for name in ("P", "Q"):
        panel.leave(name, "never came")
    assert panel.ask("R")


def test_what_came_while_somebody_looked_for_work_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is told that there is nothing to ask, and nothing out either, would never come back."""
    one = eh.Campaign.create(
        tmp_path / "store.db",
        "it",
        eh.ActionSet([[1.0], [2.0]], ["a", "b"], ["A", "B"]),
        policy="uniform",
        at_most=1,
    )
    out = ticket_of(one, "other")
    work_out = ask._proposal

    def overtaken(*given: Any) -> Any:
        proposal = work_out(*given)
        monkeypatch.setattr(ask, "_proposal", work_out)
        one.tell(out, 1.0)
        return proposal

    monkeypatch.setattr(ask, "_proposal", overtaken)
    nothing = one.ask("me")
    assert nothing.reason == "finished"


@pytest.mark.parametrize("score", [1.1e150, -1e155, 1e308])
def test_scores_whose_squares_cannot_be_added_are_refused(panel: eh.Campaign, score: float) -> None:
    with pytest.raises(eh.InputError, match=r"1e\+150"):
        panel.tell(ticket_of(panel, "P"), score)
    assert panel.status().evaluations == 0


@pytest.mark.parametrize("score", [1e150, -1e150, 2.7e-162, -5e-324, -0.0, 2**60 + 1])
def test_scores_at_the_ends_of_numbers_do_not_stop_a_campaign(
    panel: eh.Campaign, score: float
) -> None:
    assert panel.tell(ticket_of(panel, "P"), score).counted
    panel.answer()
    for name in "QR":
        panel.tell(ticket_of(panel, name), 1.0)
    assert panel.status().trouble == ""


def test_characters_that_are_none_are_refused(tmp_path: Path) -> None:
    strange = eh.Questions.panel(["Ann\ud800", "Bo"], ["P", "Q"])
    with pytest.raises(eh.InputError, match="character that is none"):
        eh.Campaign.create(tmp_path / "store.db", "it", strange)
    assert eh.Campaign.names(tmp_path / "store.db") == {}


@pytest.mark.parametrize("where", ["", ":memory:", "a\0b.db", "mysql://host/it"])
def test_what_is_no_file_is_no_store(where: str) -> None:
    with pytest.raises(eh.InputError, match="a store is a file"):
        eh.Campaign.create(where, "it", PANEL)


def test_a_worker_may_be_called_like_a_run(panel: eh.Campaign) -> None:
    for worker in ("run 2", "Run for it now", "run a b c"):
        ticket_of(panel, "P", worker=worker, lease=0.1)
    assert panel.run(lambda question: 1.0 + question.option).label == "Bo"


def test_a_child_does_not_wait_for_a_thread_of_its_parent(panel: eh.Campaign) -> None:
    ticket = ticket_of(panel, "P")
    has, may_go = threading.Event(), threading.Event()

    def work() -> None:
        with panel._follower._lock:
            has.set()
            may_go.wait()

    thread = threading.Thread(target=work)
    thread.start()
    has.wait()
    child = os.fork()
    if child == 0:
        threading.Timer(20.0, os._exit, (1,)).start()
        os._exit(0 if panel.ask("P") == ticket and panel.answer() else 2)
    may_go.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_tickets_add_up_though_one_is_withdrawn_of_who_left(panel: eh.Campaign) -> None:
    """Nobody can answer it any more: it is void, and neither waits nor is done."""
    told = panel.tell(ticket_of(panel, "P"), 1.0)
    panel.leave("P")
    before = panel.status()
    panel.withdraw(told, "a slip")
    after = panel.status()
    assert (after.done, after.void) == (before.done - 1, before.void + 1)
    made = after.open + after.leased + after.done + after.given_up + after.void
    assert made == before.open + before.leased + before.done + before.given_up + before.void


def test_a_policy_in_rounds_learns_though_something_is_withdrawn_later(tmp_path: Path) -> None:
    options = eh.ActionSet([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]], ["a", "b", "a"], list("ABC"))
    campaign = eh.Campaign.create(
        tmp_path / "store.db", "it", options, policy="fair-phased-elimination", at_most=300
    )
    numbers = []
    for turn in range(30):
        numbers.append(campaign.tell(ticket_of(campaign), 0.1 * (turn % 7)).evaluation)
        if turn in (9, 19):
            campaign.withdraw(numbers[turn - 7], "a slip")
    afresh = eh.Campaign.open(campaign.store, "it")
    for each in (campaign, afresh):
        assert each.status().evaluations == 28
        assert each.answer().spent == 28
    campaign.withdraw(numbers[-1], "a slip")
    assert afresh.answer().spent == campaign.answer().spent == 27


def test_a_look_before_a_campaign_was_extended_is_verified_by_the_plan_of_then(
    tmp_path: Path,
) -> None:
    """Eight of twenty answers are a look; eight of the thirty that are allowed next are none."""
    items = {"Ann": "x", "Bo": "y", "Cy": "x"}
    panel = eh.Questions.panel(items, JUDGES, capacity=3)
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", panel, at_most=20)
    rng = np.random.default_rng(0)
    while isinstance(ticket := campaign.ask(), eh.campaigns.Ticket):
        if campaign.tell(ticket, rng.standard_normal()).evaluation == 8:
            campaign.extend(at_most=30)
    assert campaign.status().status == "finished"
    assert campaign.verify().wrong == ()


@pytest.mark.parametrize("seed", [0, 2])
def test_who_has_looked_has_no_chance_to_be_wrong_left_for_a_new_plan(
    tmp_path: Path, seed: int
) -> None:
    """What the looks have said still holds, and that is all there is to say."""
    panel = eh.Questions.panel({"Ann": "x", "Bo": "y", "Cy": "x"}, JUDGES, capacity=3)
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", panel, at_most=20)
    rng = np.random.default_rng(seed)
    while isinstance(ticket := campaign.ask(), eh.campaigns.Ticket):
        campaign.tell(ticket, rng.standard_normal())
    before = campaign.status()
    with pytest.raises(eh.InputError, match="looked at once"):
        campaign.extend(at_most=30)
    assert campaign.status().hash == before.hash
    assert before.status == "finished"
    assert campaign.verify().wrong == ()


def test_newcomers_are_named_alone_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    panel = eh.Questions.panel({"Ann": "x", "Bo": "y"}, {"P": "x", "Q": "y"})
    eh.Campaign.create("c.db", "c", panel).close()
    done = CliRunner().invoke(app, ["campaign", "extend", "c.db", "c", "--evaluators", "Uma=y,Vic"])
    assert done.exit_code == 0, done.output
    assert "at most 8 evaluations" in done.output
    campaign = eh.Campaign.open("c.db", "c")
    assert campaign._followed().questions.evaluator_groups == ("x", "y", "y", None)
    campaign.close()


def test_a_run_that_is_certain_takes_a_higher_limit_and_asks_nothing(tmp_path: Path) -> None:
    panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q", "R"], capacity=None)
    asked: list[int] = []

    def evaluate(question: eh.Question) -> float:
        asked.append(question.index)
        return 9.0 * (question.label == "Ann") + 0.1 * (len(asked) * 7 % 5)

    first = eh.choose(panel, evaluate, at_most=200, store=tmp_path / "run.db")
    n = len(asked)
    again = eh.choose(panel, evaluate, at_most=300, store=tmp_path / "run.db")
    assert first.sure
    assert (again.label, again.sure, len(asked)) == (first.label, True, n)
