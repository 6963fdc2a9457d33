"""How campaigns begin, what goes into their record, and that they decide as their policy does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaigns import ledger
from evenhand.campaigns.events import Event
from evenhand.policies import checks_of, policy_class
from rotation import nightly

pytestmark = pytest.mark.usefixtures("hasty")

PANEL = eh.Questions.panel(
    {"Ann": "home", "Bo": "away", "Cy": "home"},
    {"Paul": "home", "Quinn": "away", "Rita": "nowhere"},
    capacity=None,
    prices=[1.0, 2.5, 1.0],
)
ONCE = eh.Questions.panel(list("ABCD"), ["P", "Q", "R", "S"], capacity=1)
OPTIONS = eh.ActionSet(
    [[1.0, 0.2], [0.3, 1.0], [1.0, 1.0], [0.5, 0.1]], ["a", "b", "a", "b"], list("ABCD")
)
EXACT = {"deviation": 0.0, "noise_scale": 1.0}


def log(campaign: eh.Campaign) -> list[Event]:
    return campaign.store.read(lambda s: ledger.events_after(s, campaign._follower.id, 0, 10**6))


def played(campaign: eh.Campaign, seed: int, noise: float = 0.5, most: int = 4000) -> None:
    """Have a campaign's questions answered in a wild order, until it is finished."""
    rng = np.random.default_rng(seed)
    names: list[Any] = list(campaign._followed().questions.evaluators) or ["one", "two", "three"]
    hands: dict[str, eh.campaigns.Ticket] = {}
    for _ in range(most):
        got = campaign.ask(str(rng.choice(names)), worker=str(rng.integers(3)))
        if isinstance(got, eh.campaigns.Ticket):
            hands[got.id] = got
        elif got.reason == "finished":
            return
        if hands and (not got or rng.random() < 0.6):
            ticket = hands.pop(str(rng.choice(list(hands))))
            if rng.random() < 0.05:
                campaign.fail(ticket, "no reply")
                continue
            worth = -float(ticket.question.option) - 0.3 * (ticket.question.evaluator == "Paul")
            campaign.tell(ticket, worth + noise * rng.standard_normal())
    raise AssertionError(campaign.status())


def told_by_hand(campaign: eh.Campaign) -> eh.Policy:
    """Return the campaign's policy, told by hand what the log says, in its order."""
    first, *events = log(campaign)
    policy = eh.restore(first.content["policy"])
    pending = np.zeros(len(policy.questions), dtype=np.int64)
    for event in events:
        content = event.content
        if event.kind == "planned":
            policy.begin(content["plan"])
        elif event.kind == "proposed":
            counts = np.zeros_like(pending)
            np.add.at(counts, [question for _, _, question, _ in content["tickets"]], 1)
            policy.limits.hand_out(counts, pending)
            pending += counts
        elif event.kind == "told":
            for _, _, question, score, *_ in content["evaluations"]:
                one = (np.arange(len(pending)) == question).astype(np.int64)
                policy.tell(eh.Feedback(one, score * one, score**2 * one))
                pending -= one
    return policy


@pytest.mark.parametrize(
    ("questions", "settings"),
    [
        (PANEL, {"tolerance": 0.2, "at_most": 400}),
        (PANEL, {"noise_scale": 0.5, "budget": 100.0}),
        (ONCE, {}),
        (ONCE, {"looks": "once"}),
        (OPTIONS, {"at_most": 400, "tolerance": 0.3}),
        (OPTIONS, {"at_most": 200, **EXACT}),
    ],
)
def test_a_campaign_decides_as_its_policy_does_that_is_told_the_same(
    tmp_path: Path, questions: Any, settings: dict[str, Any]
) -> None:
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", questions, **settings)
    played(campaign, seed=len(settings))
    policy = told_by_hand(campaign)
    assert policy.spent == campaign.status().evaluations
    assert policy.finished
    checks_of(policy).look()
    confidence, tolerance = 0.95, settings.get("tolerance", 0.0)
    own = eh.choose(  # it is finished, and asks nobody
        questions,
        lambda question: math.nan,
        confidence,
        tolerance,
        deviation=settings.get("deviation"),
        policy=policy,
    )
    decided = log(campaign)[-1]
    assert decided.kind == "decided"
    kept = decided.content["answer"]
    tried = kept["attempts"]  # which the policy knows nothing of
    said = own.to_dict() | {"attempts": tried}
    same = kept.keys() - {"ranking", "biases", "warnings"}  # of which it has no words
    assert {name: kept[name] for name in same} == {name: said[name] for name in same}
    verdicts = [own.conclusion.verdicts[one.index] for one in own.ranking]
    assert [one.pop("verdict") for one in kept["ranking"]] == verdicts
    assert all(
        row.items() <= full.items()
        for row, full in zip(
            [*kept["ranking"], *kept["biases"]], [*said["ranking"], *said["biases"]], strict=True
        )
    )
    assert [one["assumption"] for one in kept["warnings"]] == [x.assumption for x in own.warnings]
    kinds = [event.kind for event in log(campaign)]
    assert (tried["failures"], tried["tries"]) == (
        kinds.count("failed"),
        policy.spent + kinds.count("failed"),
    )
    assert campaign.status().why == own.stopped_because
    assert decided.content["evaluations"] == policy.spent
    again = eh.Campaign.open(tmp_path / "store.db", "it").answer()
    assert again.to_dict() == said


@pytest.mark.parametrize("seed", [0, *nightly([1, 2])])
def test_a_decision_after_withdrawals_follows_by_another_route(tmp_path: Path, seed: int) -> None:
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, at_most=400)
    played(campaign, seed)
    first = campaign.status().evaluations
    for number in (1, first // 2, first):
        campaign.withdraw(number, "a slip")
        played(campaign, seed)
    assert [event.kind for event in log(campaign)].count("decided") == 4
    assert campaign.verify().wrong == ()


def test_what_was_found_stays_evidence_when_something_is_withdrawn(tmp_path: Path) -> None:
    """Told again, it is as sure as it was: nothing else has to be asked anew."""
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, at_most=400, checks=False)
    played(campaign, seed=5)
    assert campaign.answer().sure
    told = {e[0]: e for one in log(campaign) if one.kind == "told"
            for e in one.content["evaluations"]}  # fmt: skip
    n = len(told)
    campaign.withdraw(1, "to be confirmed")
    _, ticket, _, score, *_ = told[1]
    token = next(
        t[1]
        for one in log(campaign)
        if one.kind == "proposed"
        for t in one.content["tickets"]
        if t[0] == ticket
    )
    assert campaign.tell(f"{ticket}-{token}", score, key="confirmed").counted
    played(campaign, seed=6)
    assert campaign.answer().sure
    assert campaign.status().evaluations <= n + 5


def test_the_record_says_why_something_was_asked_and_at_which_price(tmp_path: Path) -> None:
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, tolerance=0.2, at_most=300)
    played(campaign, seed=1)
    events = log(campaign)
    proposed = [event.content for event in events if event.kind == "proposed"]
    for content in proposed:
        asked = [question for _, _, question, _ in content["tickets"]]
        assert content["prices"] == PANEL.prices[asked].tolist()
    assert proposed[0]["purpose"]["what"] == "open"
    compared = [c["purpose"] for c in proposed if c["purpose"]["what"] == "compare"]
    assert compared
    assert all(p["for"] in "Ann Bo Cy" and p["for"] not in p["against"] for p in compared)
    plans = [number for number, event in enumerate(events) if event.kind == "planned"]
    assert len(plans) > 1
    for at in plans:  # each is in the record before anything of it is handed out
        assert events[at + 1].kind == "proposed"


def test_an_alarm_goes_into_the_record_once(tmp_path: Path) -> None:
    options = eh.ActionSet([[1.0], [1.0]], ["a", "b"], ["A", "B"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", options, at_most=60)
    while ticket := campaign.ask():
        campaign.tell(ticket, 7.0 - ticket.question.option)  # the same score every time
    alarms = [event.content for event in log(campaign) if event.kind == "alarmed"]
    assert [alarm["assumption"] for alarm in alarms] == ["repeats"]
    assert alarms[0].keys() == {"assumption", "alarm", "options", "concerns", "p_value"}
    assert [one.assumption for one in campaign.answer().alarms] == ["repeats"]
    assert not campaign.answer().sure


def test_to_ask_for_the_answer_changes_nothing(tmp_path: Path) -> None:
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, at_most=200)
    for turn in range(60):
        ticket = campaign.ask(("Paul", "Quinn", "Rita")[turn % 3])
        if isinstance(ticket, eh.campaigns.Ticket):
            campaign.tell(ticket, 5.0 - ticket.question.option + 0.1 * (turn % 4))
            campaign.answer()  # a look that counts, in a copy
    replica = campaign._followed()
    assert (
        replica.policy.state()["run"]["checks"] == told_by_hand(campaign).state()["run"]["checks"]
    )


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"name": ""}, "name must be"),
        ({"name": "x" * 201}, "name must be"),
        ({"name": 7}, "name must be"),
        ({"name": "a\0b"}, "no database takes"),
        ({"name": "\ud800"}, "characters that are none"),
        ({"questions": [1, 2]}, "must be an ActionSet"),
        ({"confidence": 1.0}, "confidence"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"at_most": 0}, "at_most"),
        ({"budget": -1.0}, "budget"),
        ({"lease": 0.0}, "lease must be"),
        ({"lease": math.inf}, "lease must be"),
        ({"lease": "1 h"}, "lease must be"),
        ({"retries": -1}, "retries must be"),
        ({"retries": 1.5}, "retries must be"),
        ({"seed": -1}, "seed must be"),
        ({"deviation": -0.1}, "deviation must be"),
        ({"scores": "stars"}, "scores must be"),
        ({"bounds": (1, 1)}, "bounds="),
        ({"looks": "twice"}, "looks must be"),
        ({"looks": "once"}, "asked once, or 4 times at most"),
        ({"display": {"Zoe": {}}}, "'Zoe', which is no option"),
        ({"display": {"Ann": {"title": 7}}}, "'title' of 'Ann'"),
        ({"display": ["Ann"]}, "display must"),
        ({"policy": "certain-choise"}, "Did you mean 'certain-choice'"),
        ({"policy": 7}, "policy must be"),
        ({"policy": eh.CertainChoice(ONCE)}, "about other options"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(
    tmp_path: Path, given: dict[str, Any], match: str
) -> None:
    path = tmp_path / "store.db"
    settings = {"name": "it", "questions": PANEL} | given
    with pytest.raises(eh.InputError, match=match):
        eh.Campaign.create(path, **settings)
    assert not path.exists()


def test_what_cannot_be_told_apart_is_refused(tmp_path: Path) -> None:
    lonely = PANEL.restrict([0, 1, 2, 3, 4, 5])  # nothing may be asked about Cy
    with pytest.raises(eh.NotIdentifiableError):
        eh.Campaign.create(tmp_path / "store.db", "it", lonely)
    assert not (tmp_path / "store.db").exists()


def test_a_policy_that_knows_something_is_refused(tmp_path: Path) -> None:
    policy = eh.CertainChoice(OPTIONS, noise_scale=1.0)
    counts = policy.ask(1).counts
    policy.tell(eh.Feedback(counts, 1.0 * counts, 1.0 * counts))
    with pytest.raises(eh.InputError, match="told 1 evaluations, which the record"):
        eh.Campaign.create(tmp_path / "store.db", "it", OPTIONS, policy=policy)


@pytest.mark.parametrize(
    "name", ["certain-choice", "uniform", "priced-exploration", "careful-choice"]
)
def test_policies_by_name(tmp_path: Path, name: str) -> None:
    campaign = eh.Campaign.create(
        tmp_path / "store.db", "it", OPTIONS, policy=name, at_most=30, noise_scale=0.5, seed=7
    )
    policy = campaign._followed().policy
    assert type(policy) is policy_class(name)
    assert (policy.horizon, policy.noise_scale, policy.seed) == (30, 0.5, 7)
    played(campaign, seed=0)
    assert campaign.status().evaluations <= 30


def test_one_option_is_the_best_of_all(tmp_path: Path) -> None:
    options = eh.ActionSet([[1.0]], attributes=[[2.0]], labels=["Ann"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", options)
    nothing = campaign.ask()
    assert (nothing.reason, campaign.answer().label) == ("finished", "Ann")
    assert "no other option" in nothing.why


def test_evaluators_see_what_is_declared_and_nothing_else(tmp_path: Path) -> None:
    shown = {"Ann": {"title": "Sonata"}, "Bo": {"title": "=Fugue"}}
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, display=shown)
    ticket = campaign.ask("Paul")
    assert ticket.shown == (shown.get(ticket.question.label, {}),)
    assert "home" not in repr(ticket)


def test_verdicts_are_told_as_they_are_said(tmp_path: Path) -> None:
    pairs = eh.Questions.comparisons(["Ann", "Bo", "Cy"], ["P"], capacity=None)
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", pairs, scores="verdicts", at_most=40)
    while ticket := campaign.ask("P"):
        first, second = ticket.question.options
        campaign.tell(ticket, "first" if first < second else "second")
    told = [e.content["evaluations"][0] for e in log(campaign) if e.kind == "told"]
    assert {score for _, _, _, score, *_ in told} <= {-1.0, 1.0}
    with pytest.raises(eh.InputError, match="'first', 'second', 'tie'"):
        campaign.tell("1-abcdef", "third")


def test_where_somebody_never_came_the_answer_says_what_concludes_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R", "S", "T"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", panel, looks="once")
    for judge in panel.evaluators[:-1]:
        for ticket in campaign.ask(judge, n=3):  # type: ignore[union-attr] # a list
            campaign.tell(ticket, float(rng.normal() - 5.0 * ticket.question.option))
    before = campaign.answer()
    assert before.stopped_because == (
        "the campaign goes on, and waits for T (3 answers); `leave` goes on without them"
    )
    assert not before.sure
    campaign.leave("T")
    answer = campaign.answer()
    assert (answer.label, answer.sure) == ("Ann", True)
    assert np.isfinite(answer.standings[["value", "low", "high"]]).all(axis=None)
    assert not campaign.ask("P")
    assert campaign.answer().standings.equals(answer.standings)  # no second look
    assert campaign.verify().wrong == ()
    campaign.close()


def test_who_never_came_does_not_blank_the_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    options = {f"O{i}": "ABC"[i % 3] for i in range(12)}
    judges = {f"E{j}": "ABCD"[j % 4] for j in range(14)}
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", eh.Questions.panel(options, judges))
    there = [name for name in judges if name != "E5"]
    asked = True
    while asked:
        asked = False
        for name in there:
            if ticket := campaign.ask(name):
                campaign.tell(ticket, 0.3 * ticket.question.option + rng.normal(scale=0.7))
                asked = True
    for left in (False, True):
        if left:
            campaign.leave("E5", "never came")
        answer = campaign.answer()
        assert np.isfinite(answer.standings["value"]).all()
        found = {bias.name: bias for bias in answer.biases}
        assert all(np.isfinite(found[name].estimate) for name in there)
        if left:
            assert np.isfinite(answer.standings[["low", "high"]]).all(axis=None)
            assert all(np.isfinite([found[name].low, found[name].high]).all() for name in there)
    campaign.close()


def test_nobody_is_called_best_by_a_single_score_without_a_word(tmp_path: Path) -> None:
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", panel, looks="once")
    scores = {("Ann", "P"): 5.0, ("Bo", "P"): 4.0, ("Ann", "Q"): 5.1, ("Bo", "Q"): 4.2}
    for judge in panel.evaluators:
        for ticket in campaign.ask(judge, n=3):  # type: ignore[union-attr] # a list
            if judge == "P" or ticket.question.label != "Cy":
                key = ticket.question.label, judge
                campaign.tell(ticket, scores.get(key, 9.0))
    answer = campaign.answer()
    assert (answer.label, answer.standing(answer.option).evaluations) == ("Cy", 1)
    assert "Cy has a single score." in " ".join(str(answer).split())
    campaign.close()
