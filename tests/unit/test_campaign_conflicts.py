"""Conflicts of interest: what an evaluator must not judge, known before or found on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh

JUDGES = {name: "xy"[place % 2] for place, name in enumerate("PQRSTU")}
WORTH = {"Ann": 2.0, "Bo": 1.0, "Cy": 0.0}


def panel(**settings: Any) -> eh.Questions:
    return eh.Questions.panel({"Ann": "x", "Bo": "y", "Cy": "x"}, JUDGES, **settings)


def played(campaign: eh.Campaign) -> list[tuple[str, str]]:
    """Ask everybody in turns until there is nothing more; return who was asked about whom."""
    rng, asked = np.random.default_rng(1), []
    while True:
        before = len(asked)
        for judge in JUDGES:
            if ticket := campaign.ask(judge):
                asked.append((ticket.question.label, judge))
                campaign.tell(ticket, WORTH[ticket.question.label] + 0.3 * rng.standard_normal())
        if len(asked) == before:
            return asked


@pytest.mark.parametrize(
    "settings",
    [
        {"looks": "once"},
        {"capacity": None, "at_most": 60},
        {"capacity": 2, "at_most": 30},
    ],
    ids=["one look", "search", "twice each"],
)
def test_who_declines_is_never_asked_it_again(tmp_path: Path, settings: dict[str, Any]) -> None:
    capacity = {name: settings.pop(name) for name in ("capacity",) if name in settings}
    path = tmp_path / "c.db"
    campaign = eh.Campaign.create(path, "c", panel(**capacity), **settings)
    ticket = campaign.ask("P")
    assert campaign.decline(ticket, "my student")
    again = eh.Campaign.open(path, "c")  # another process knows of it, too
    asked = played(again)
    assert (ticket.question.label, "P") not in asked
    assert {judge for _, judge in asked} == set(JUDGES), "P is asked about others"
    assert again.status().status == "finished"
    (mine,) = [one for one in again.status().evaluators if one.evaluator == "P"]
    assert (mine.declined, mine.given_up) == (1, 0)
    assert again.verify()
    assert again.answer().to_dict() == eh.Campaign.open(path, "c").answer().to_dict()
    assert not campaign.decline(ticket, "again"), "nothing is there to decline"


def test_all_tickets_of_a_question_are_taken_back(tmp_path: Path) -> None:
    campaign = eh.Campaign.create(tmp_path / "c.db", "c", panel(capacity=3), at_most=54)
    tickets = campaign.ask("P", n=9)
    about = tickets[0].question.label
    same = [one for one in tickets if one.question.label == about]
    campaign.decline(tickets[0], "")
    for one in tickets:
        assert bool(campaign.release(one)) is (one not in same)


def test_what_was_declined_stays_so_when_there_is_more(tmp_path: Path) -> None:
    campaign = eh.Campaign.create(tmp_path / "c.db", "c", panel(capacity=None), at_most=60)
    ticket = campaign.ask("P")
    campaign.decline(ticket, "my student")
    more = eh.Questions.panel({"Ann": "x", "Bo": "y", "Cy": "x", "Di": "y"}, JUDGES, capacity=None)
    campaign.extend(questions=more, at_most=80)
    got = [one.question.label for one in campaign.ask("P", n=40)]
    assert ticket.question.label not in got
    assert got
    policy = campaign._followed().policy
    restored = eh.restore(policy.state())
    assert restored.limits.barred == policy.limits.barred != set()


def test_nobody_in_particular_declines_what_is_for_anybody(tmp_path: Path) -> None:
    options = eh.ActionSet([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]], ["a", "b", "a"])
    campaign = eh.Campaign.create(tmp_path / "c.db", "c", options, at_most=20)
    ticket = campaign.ask("Ann")
    with pytest.raises(eh.InputError, match=r"for anybody.*release"):
        campaign.decline(ticket, "no")
    assert campaign.status().leased == 1


def test_conflicts_that_are_known_beforehand() -> None:
    barred = panel().barring([("Ann", "P"), ("Cy", "U")])
    assert (barred.capacity == 0).sum() == 2
    assert not barred.capacity[barred.find(["Ann", "Cy"], ["P", "U"])].any()
    pairs = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["P", "Q"]).barring([("Ann", "P")])
    about = pairs.capacity == 0
    assert about.sum() == 4, "Ann first or second, against two others"
    for wrong, who in (("Eve", "P"), ("Ann", "Z")):
        with pytest.raises(eh.InputError, match=r"Eve|Z"):
            panel().barring([(wrong, who)])
