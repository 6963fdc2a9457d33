"""People and options that come while a campaign runs, on every store: the record stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaigns import Ticket
from evenhand.campaigns.stores import Store, open_store
from evenhand.questions import Superset

OPTIONS = {"Ann": "a", "Bo": "b", "Cy": "a"}
JUDGES = {"Paul": "a", "Rosa": "b"}
WORTH = {"Ann": 8.0, "Bo": 4.0, "Cy": 2.0, "Di": 9.5}


@pytest.fixture
def store(store_address: str) -> Iterator[Store]:
    opened = open_store(store_address)
    yield opened
    opened.close()


def answered(campaign: eh.Campaign, evaluator: str, most: int = 100) -> set[str]:
    """Tell what an evaluator is asked, and return what it was about."""
    seen = set()
    for _ in range(most):
        ticket = campaign.ask(evaluator)
        if not isinstance(ticket, Ticket):
            break
        seen.add(ticket.question.label)
        noise = np.random.default_rng((ticket.question.index, ticket.question.turn)).normal()
        campaign.tell(ticket, WORTH[ticket.question.label] + 0.2 * float(noise))
    return seen


@pytest.mark.parametrize("looks", ["once", None])
def test_people_who_come_are_asked_and_the_record_verifies(store: Store, looks: Any) -> None:
    panel = eh.Questions.panel(OPTIONS, JUDGES, capacity=1 if looks else None)
    campaign = eh.Campaign.create(store, "prize", panel, looks=looks)
    answered(campaign, "Paul", 2)
    campaign.extend(evaluators={"Sven": "c", "Uma": "a"}, conflicts=[("Bo", "Uma")])
    other = eh.Campaign.open(store, "prize")  # it is in the record, not in who wrote it
    assert [one.evaluator for one in other.status().evaluators] == ["Paul", "Rosa", "Sven", "Uma"]
    assert "Bo" not in answered(campaign, "Uma", 40)
    for _ in range(40):
        if campaign.status().status == "finished":
            break
        for name in ("Sven", "Paul", "Rosa", "Uma"):
            answered(campaign, name, 12)
    assert campaign.answer().label == "Ann"
    assert {one.evaluator: one.evaluations > 0 for one in campaign.status().evaluators}["Sven"]
    assert campaign.verify(), campaign.verify()
    campaign.close()


def test_an_option_that_comes_can_win_and_is_shown(store: Store) -> None:
    campaign = eh.Campaign.create(store, "prize", eh.Questions.panel(OPTIONS, JUDGES), looks="once")
    answered(campaign, "Paul", 1)
    campaign.extend(
        options={"Di": "b"}, evaluators={"Sven": None}, display={"Di": {"piece": "Air"}}
    )
    for name in ("Paul", "Rosa", "Sven"):
        answered(campaign, name)
    assert campaign.answer().label == "Di"
    assert campaign._follower.known().display["Di"] == {"piece": "Air"}
    assert campaign.verify(), campaign.verify()
    campaign.close()


def test_what_is_refused_changes_nothing(store: Store) -> None:
    campaign = eh.Campaign.create(store, "prize", eh.Questions.panel(OPTIONS, JUDGES))
    before = campaign.status().hash
    for wrong, why in (
        ({"evaluators": {"Paul": "a"}}, "nobody is new"),
        ({"evaluators": {"Paul": "b"}}, "was of group 'a', and cannot be of 'b'"),
        ({"evaluators": ["X"], "conflicts": [("Nobody", "X")]}, "there is no option 'Nobody'"),
        ({"evaluators": ["X"], "questions": eh.Questions.panel(OPTIONS, JUDGES)}, "one or the oth"),
        ({"evaluators": ["X"], "prices": [-1.0]}, "prices"),
    ):
        with pytest.raises(eh.InputError, match=why):
            campaign.extend(**wrong)  # type: ignore[arg-type]
    assert campaign.status().hash == before
    campaign.close()


KINDS = {
    "plain": eh.Questions.panel(["Ann", "Bo"], ["P", "Q"]),
    "one evaluator": eh.Questions.panel(["Ann", "Bo"], ["P"]),
    "groups": eh.Questions.panel(OPTIONS, JUDGES, capacity=3, workload=5),
    "a bias each": eh.Questions.panel(OPTIONS, JUDGES | {"Sue": "c"}, bias="evaluator"),
    "a bias by group": eh.Questions.panel(OPTIONS, JUDGES | {"Sue": "c"}, bias="group"),
    "nobody partial": eh.Questions.panel(OPTIONS, JUDGES, partial=None),
    "nobody lenient": eh.Questions.panel(OPTIONS, JUDGES, leniency=False),
    "conflicts": eh.Questions.panel(OPTIONS, JUDGES).barring([("Ann", "Rosa")]),
    "comparisons": eh.Questions.comparisons(OPTIONS, JUDGES, capacity=2),
    "comparisons without places": eh.Questions.comparisons(OPTIONS, JUDGES, position=False),
    "comparisons, a favour for all": eh.Questions.comparisons(OPTIONS, JUDGES, bias="common"),
}


@pytest.mark.parametrize("which", list(KINDS))
def test_all_that_was_there_means_the_same(which: str, tmp_path: Path) -> None:
    old = KINDS[which]
    group = {"Uma": "a"} if old.evaluator_groups else ["Uma"]
    new = extended(tmp_path, old, evaluators=group)
    assert list(new.evaluators) == [*old.evaluators, "Uma"]
    at = Superset.of(old, new).questions
    assert (new.capacity[at] == old.capacity).all()
    theirs = new.evaluator == len(old.evaluators)
    assert theirs.sum() * len(old.evaluators) == len(old)  # asked about everything, as others are
    if which in ("groups", "a bias each", "a bias by group"):
        favours = [c.kind == "bias" for c in new.columns]
        shown = new.points[theirs][:, new.n_features :][:, favours].sum(axis=1)
        assert shown.tolist() == [1.0, 0.0, 1.0]  # of Ann and Cy, who are of the same group


def extended(tmp_path: Path, questions: eh.Questions, **more: Any) -> eh.Questions:
    """Return what can be asked once a campaign was extended."""
    name = f"{len([*tmp_path.iterdir()])}.db"
    with eh.Campaign.create(tmp_path / name, "c", questions) as campaign:
        campaign.extend(**more)
        return campaign._followed().questions


def test_different_prices_and_workloads_are_asked_for(tmp_path: Path) -> None:
    panel = eh.Questions.panel(OPTIONS, JUDGES, prices={"Paul": 2.0, "Rosa": 5.0}, workload=[2, 3])
    with pytest.raises(eh.InputError, match="prices= of the new ones"):
        extended(tmp_path, panel, evaluators=["Uma"], workload=2)
    with pytest.raises(eh.InputError, match="workload= of the new ones"):
        extended(tmp_path, panel, evaluators=["Uma"], prices=2.0)
    grown = extended(tmp_path, panel, evaluators=["Uma"], prices={"Uma": 7.0}, workload=1)
    assert grown.prices.reshape(3, 3).tolist() == [[2.0, 5.0, 7.0]] * 3
    assert grown.workload.tolist() == [2, 3, 1]
