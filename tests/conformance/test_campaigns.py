"""What a campaign does, whatever store it is in: one test for each rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import evenhand as eh
from evenhand.campaigns import ledger, tell
from evenhand.campaigns.events import Event
from evenhand.campaigns.stores import Store, open_store

PANEL = eh.Questions.panel(
    {"Ann": "home", "Bo": "away", "Cy": "home"},
    {"Paul": "home", "Quinn": "away", "Rita": "nowhere"},
    capacity=None,
)
OPTIONS = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "a"], ["A", "B", "C"])
WORTH = {"Ann": 5.0, "Bo": 3.0, "Cy": 4.0, "Di": 9.0}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: Any, hasty: None) -> Iterator[Store]:
    """A store for all tests, each with campaigns of its own."""
    if request.param == "sqlite":
        address = str(tmp_path_factory.mktemp("stores") / "store.db")
    else:
        address = request.getfixturevalue("postgres").fresh()
    with open_store(address) as opened:
        yield opened


@pytest.fixture
def named(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name} «é»"


@pytest.fixture
def panel(store: Store, named: str) -> eh.Campaign:
    return eh.Campaign.create(store, f"{named} prize", PANEL, noise_scale=0.2, retries=1)


@pytest.fixture
def crew(store: Store, named: str) -> eh.Campaign:
    """A campaign whose questions are anybody's."""
    return eh.Campaign.create(
        store, f"{named} prompts", OPTIONS, at_most=300, retries=1, policy="certain-choice"
    )


def log(campaign: eh.Campaign) -> list[Event]:
    return campaign.store.read(lambda s: ledger.events_after(s, campaign._follower.id, 0, 10**6))


def kinds(campaign: eh.Campaign) -> list[str]:
    return [event.kind for event in log(campaign)]


def expire(campaign: eh.Campaign, ticket: eh.campaigns.Ticket) -> None:
    """Have the lease of a ticket be over."""
    tell.end_lease(campaign._follower, ticket)


def taken(got: eh.campaigns.Ticket | eh.campaigns.NoTicket) -> eh.campaigns.Ticket:
    assert isinstance(got, eh.campaigns.Ticket), got
    return got


def several(got: list[eh.campaigns.Ticket] | eh.campaigns.NoTicket) -> list[eh.campaigns.Ticket]:
    assert isinstance(got, list), got
    return got


def none(got: object, reason: str) -> eh.campaigns.NoTicket:
    """See that there is no ticket, for a reason."""
    assert isinstance(got, eh.campaigns.NoTicket), got
    assert got.reason == reason
    return got


def refused(campaign: eh.Campaign, call: Any, error: type[Exception], match: str) -> None:
    """See that a call is refused with the reason, and changes nothing."""
    before = log(campaign), campaign.status().to_dict()
    with pytest.raises(error, match=match):
        call()
    assert (log(campaign), campaign.status().to_dict()) == before


def decided(campaign: eh.Campaign, most: int = 500) -> None:
    """Answer all that is asked, without noise, until the campaign is finished."""
    for turn in range(most):
        got = [campaign.ask(name) for name in ("Paul", "Quinn", "Rita")]
        for ticket in got:
            if isinstance(ticket, eh.campaigns.Ticket):
                campaign.tell(ticket, WORTH[ticket.question.label] + 0.1 * (turn % 3))
            elif ticket.reason == "finished":
                return
    raise AssertionError(f"not finished: {campaign.status()}")


def test_a_ticket_whose_lease_is_over_goes_to_the_next(crew: eh.Campaign) -> None:
    lost = taken(crew.ask("one"))
    expire(crew, lost)
    found = taken(crew.ask("other"))
    assert (found.id, found.attempt) == (lost.id, lost.attempt + 1)
    assert crew.tell(lost, 1.0).counted  # the first score counts, whoever had it
    late = crew.tell(found, 2.0)
    assert not late.counted
    assert "came first" in late.why
    assert crew.status().late == 1


def test_an_ask_that_has_nothing_says_why_and_when_to_come_back(store: Store, named: str) -> None:
    twice = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn"], capacity=1)
    campaign = eh.Campaign.create(store, named, twice, lease=100.0)
    tickets = several(campaign.ask("Paul", n=9))
    assert len(tickets) == 2
    nothing = none(campaign.ask("Paul", worker="another"), "waiting")
    assert "Paul" in nothing.why
    assert nothing.again_in is not None
    assert 0.0 < nothing.again_in <= 100.0
    campaign.tell_many((ticket, 5.0, None) for ticket in tickets)
    nothing = none(campaign.ask("Paul"), "not now")
    assert "Quinn" in nothing.why
    assert nothing.again_in is None


def test_a_budget_that_is_spent_is_why_a_campaign_is_finished(store: Store, named: str) -> None:
    campaign = eh.Campaign.create(store, named, PANEL, budget=4.0)
    for name in ("Paul", "Quinn", "Rita") * 6:
        ticket = campaign.ask(name)
        if ticket:
            campaign.tell(ticket, 5.0)
    nothing = campaign.ask("Paul")
    assert isinstance(nothing, eh.campaigns.NoTicket)
    assert (nothing.reason, nothing.again_in) == ("finished", float("inf"))
    assert campaign.status().paid <= 4.0
    assert campaign.answer().stopped_because in nothing.why


def test_who_asks_must_be_known(panel: eh.Campaign) -> None:
    refused(panel, lambda: panel.ask("Zoe"), eh.InputError, "'Zoe'.*'Paul'")
    refused(panel, lambda: panel.ask(["Paul", "Zoe"]), eh.InputError, "'Zoe'.*'Paul'")
    refused(panel, lambda: panel.ask("Paul", n=0), eh.InputError, "n must be")
    refused(panel, lambda: panel.ask("Paul", worker="w" * 201), eh.InputError, "worker must be")


@pytest.mark.parametrize("n", [1, 2])
def test_no_more_is_handed_out_than_is_wanted(panel: eh.Campaign, n: int) -> None:
    """Of many that wait: a database that looks for them anew for every row would hand out all."""
    for worker in range(6):
        panel.ask(worker=f"worker {worker}", n=4)
    panel.store.clock_offset += 86_400.0  # all of them wait again
    got = several(panel.ask(worker="another", n=n))
    assert len(got) == panel.status().leased == n


def test_no_plan_of_the_server_hands_out_more(postgres_address: str) -> None:
    """One that looks for the oldest ticket anew for every row handed out all that waited."""
    import psycopg  # noqa: PLC0415 # only this test speaks to the server itself

    with psycopg.connect(postgres_address, autocommit=True) as server:
        for way in ("hashagg", "hashjoin", "mergejoin", "sort", "material", "memoize"):
            server.execute(
                f"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_{way} = off', "
                "current_database()); END $$"
            )
    questions = eh.Questions.panel(["Ann", "Bo", "Cy", "Di"], ["P", "Q", "R"], capacity=None)
    with eh.Campaign.create(postgres_address, "prize", questions) as campaign:
        for worker in range(6):
            campaign.ask(worker=f"worker {worker}", n=4)
        campaign.store.clock_offset += 86_400.0  # all of them wait again
        for leased, who in enumerate(["P", None], start=1):
            several(campaign.ask(who, worker="another", n=leased))
            assert campaign.status().leased == leased


def test_who_passes_questions_on_takes_what_there_is_for_anybody(panel: eh.Campaign) -> None:
    tickets = several(panel.ask(worker="post", n=4))
    assert all(ticket.holder == ticket.question.evaluator for ticket in tickets)
    assert panel.ask(worker="post", n=4) == tickets
    own = panel.ask("Paul", worker="post")
    assert own == next((t for t in tickets if t.holder == "Paul"), own)
    others = several(panel.ask(["Quinn"], worker="another", n=2))
    assert {ticket.holder for ticket in others} == {"Quinn"}
    assert not {ticket.id for ticket in others} & {ticket.id for ticket in tickets}


def test_telling_again_is_the_same_receipt(panel: eh.Campaign) -> None:
    ticket = taken(panel.ask("Paul"))
    first = panel.tell(ticket, 7.0, key="mail 17")
    n = len(log(panel))
    again = eh.Campaign.open(panel.store, panel.name).tell(ticket, 7.0, key="mail 17")
    assert (again.evaluation, again.counted, again.repeated) == (first.evaluation, True, True)
    assert len(log(panel)) == n
    refused(
        panel,
        lambda: panel.tell(ticket, 7.5, key="mail 17"),
        eh.errors.ConflictError,
        "told before",
    )
    other = taken(panel.ask("Paul"))
    refused(
        panel, lambda: panel.tell(other, 7.0, key="mail 17"), eh.errors.ConflictError, "told before"
    )


@pytest.mark.parametrize(
    "score", [float("nan"), float("inf"), -float("inf"), "7", None, True, 10.5, -1.0, [7.0]]
)
def test_scores_that_cannot_be_are_refused(store: Store, named: str, score: object) -> None:
    campaign = eh.Campaign.create(store, named, PANEL, bounds=(0, 10))
    ticket = taken(campaign.ask("Paul"))
    refused(campaign, lambda: campaign.tell(ticket, score), eh.InputError, "must")
    assert campaign.tell(ticket, 10.0).counted


def test_tickets_of_others_and_of_nobody_are_refused(panel: eh.Campaign, crew: eh.Campaign) -> None:
    foreign = taken(crew.ask())
    taken(panel.ask("Paul"))
    for given in (foreign, "999-abcdef", "1-000000", "7", "", "1", "-1-abcdef", None, "1-x-y"):
        refused(panel, lambda given=given: panel.tell(given, 7.0), eh.InputError, "ticket")
    nothing = eh.campaigns.NoTicket("paused", "the campaign is paused: lunch", None)
    refused(panel, lambda: panel.tell(nothing, 7.0), eh.InputError, "lunch")  # type: ignore[arg-type]


def test_of_several_scores_all_count_or_none(panel: eh.Campaign) -> None:
    tickets = several(panel.ask("Paul", n=3))
    bad = [(tickets[0], 7.0, None), (tickets[1], float("nan"), None)]
    refused(panel, lambda: panel.tell_many(bad), eh.InputError, "finite")
    twice = [(tickets[0], 7.0, "x"), (tickets[1], 6.0, "x")]
    refused(panel, lambda: panel.tell_many(twice), eh.errors.ConflictError, "'x' was told before")
    good = [(ticket, 7.0, None) for ticket in tickets]
    assert [r.counted for r in panel.tell_many([*good, good[0]])] == [True, True, True, True]
    assert kinds(panel).count("told") == 1
    assert [r.repeated for r in panel.tell_many(good)] == [True] * 3
    assert panel.status().evaluations == 3


@pytest.mark.parametrize(
    "told",
    [None, 7, "1-ab", {"1-ab": 2.0}, [("1-ab", 2.0)], [7.0], ["abc"], [("1-ab", 2.0, None, 4)]],
)
def test_what_is_no_list_of_scores_is_refused(crew: eh.Campaign, told: Any) -> None:
    refused(crew, lambda: crew.tell_many(told), eh.InputError, r"told as .*\(ticket, score, key\)")


def test_what_fails_is_tried_again_and_then_given_up(crew: eh.Campaign) -> None:
    first = taken(crew.ask("one"))
    assert crew.fail(first, "out of memory")
    assert (
        crew.fail(first, "out of memory").why == "it waits for the next try"
    )  # once more: no harm
    second = taken(crew.ask("other"))
    assert (second.id, second.attempt) == (first.id, 2)
    assert not crew.fail(first, "is no longer his")
    notice = crew.fail(second, ValueError("bad\nreply"))
    assert notice.done
    assert notice.why == "it is given up"
    assert not crew.tell(second, 1.0).counted
    failed = [event.content for event in log(crew) if event.kind == "failed"]
    assert [(f["reason"], f["given_up"]) for f in failed] == [
        ("out of memory", False),
        ("ValueError: bad reply", True),
    ]
    (failure,) = crew.answer().failures
    assert (failure.error, failure.attempts) == ("ValueError: bad reply", 2)


def test_several_tickets_are_given_back_at_once(crew: eh.Campaign) -> None:
    tickets = crew.ask("one", n=4)
    crew.tell(tickets[1], 1.0)
    tell.release(crew._follower, *tickets)
    status = crew.status()
    assert (status.leased, status.done) == (0, 1)
    released = [event for event in log(crew) if event.kind == "released"]
    assert [event.content["ticket"] for event in released] == [1, 3, 4]
    assert [t.number for t in crew.ask("other", n=3)] == [1, 3, 4]


def lose(campaign: eh.Campaign, times: int) -> list[eh.campaigns.Ticket]:
    """Have workers ask, each under a name of its own, and be lost with their tickets."""
    tickets = []
    for number in range(times):
        tickets.append(taken(campaign.ask(f"worker {number}")))
        expire(campaign, tickets[-1])
    return tickets


def test_a_ticket_that_everybody_is_lost_with_goes_out_five_times(crew: eh.Campaign) -> None:
    tickets = lose(crew, 5)
    assert {ticket.number for ticket in tickets} == {1}
    assert "failed" not in kinds(crew)
    sixth = taken(crew.ask("worker 5"))
    assert sixth.number != 1
    assert len(crew.ask("worker 6", n=5)) == 5  # more than wait: it is put aside now
    (failed,) = [event.content for event in log(crew) if event.kind == "failed"]
    assert (failed["ticket"], failed["given_up"]) == (1, True)
    status = crew.status()
    assert (status.given_up, len(status.put_aside)) == (1, 1)
    assert f"{tickets[0].question.label} (ticket 1): 5 tries" in status.put_aside[0]
    receipt = crew.tell(tickets[2], 1.0)  # he was only slow
    assert (receipt.counted, receipt.why) == (False, "the ticket had been given up")
    assert crew.tell(sixth, 2.0).counted
    assert crew.status().late == 1
    assert crew.verify().wrong == ()


def test_until_it_is_put_aside_a_lost_ticket_may_be_answered(crew: eh.Campaign) -> None:
    tickets = lose(crew, 5)
    assert crew.tell(tickets[0], 1.0).counted
    assert crew.ask("worker 5")
    assert "failed" not in kinds(crew)
    assert crew.status().put_aside == ()


def test_what_is_given_back_is_not_lost(crew: eh.Campaign) -> None:
    for number in range(12):
        ticket = taken(crew.ask(f"worker {number}"))
        assert ticket.number == 1
        crew.release(ticket)
    assert crew.ask("another")
    assert "failed" not in kinds(crew)


def test_more_retries_are_more_tries_of_what_is_lost(store: Store, named: str) -> None:
    campaign = eh.Campaign.create(store, named, OPTIONS, at_most=300, retries=6)
    assert {ticket.number for ticket in lose(campaign, 7)} == {1}
    assert taken(campaign.ask("another")).number != 1


def test_where_all_workers_are_lost_the_campaign_pauses(crew: eh.Campaign) -> None:
    for _ in range(40):
        nothing = crew.ask("a worker that dies")
        if nothing:
            expire(crew, nothing)
    assert isinstance(nothing, eh.campaigns.NoTicket)
    assert nothing.reason == "paused"
    assert "tries came to nothing" in nothing.why
    assert len(crew.status().put_aside) >= 5  # those that are known by then
    crew.resume()
    assert crew.tell(taken(crew.ask("the next")), 1.0).counted
    assert crew.verify().wrong == ()


def test_an_evaluator_who_fails_again_and_again_is_taken_to_have_left(panel: eh.Campaign) -> None:
    for _ in range(5):  # questions, each tried twice
        for _ in range(2):
            panel.fail(taken(panel.ask("Paul")), "the line is dead")
    nothing = none(panel.ask("Paul"), "left")
    assert "the line is dead" in nothing.why
    panel.join("Paul")
    taken(panel.ask("Paul"))
    assert panel.status().evaluators[0].left is None


def test_who_failed_and_left_does_not_count_against_the_options(store: Store, named: str) -> None:
    """Five failures of one evaluator about one option are not five of the option's."""
    two = eh.Questions.panel(["Ann", "Bo"], ["Paul", "Quinn", "Rita"], capacity=None)
    campaign = eh.Campaign.create(store, named, two, noise_scale=0.2, retries=0, at_most=300)
    tickets: list[eh.campaigns.Ticket] = []
    while len(tickets) < 5:  # the policy goes on with others until it asks him one thing so often
        got = campaign.ask("Paul", n=20)
        if isinstance(got, list):
            asked = [ticket for ticket in got if ticket.question.label == "Ann"]
            tickets = asked if len(asked) >= 5 else []
        if not tickets:
            one = taken(campaign.ask())
            campaign.tell(one, 5.0)
    for ticket in tickets[:5]:
        campaign.fail(ticket, "no line")
    campaign.ask("Quinn", n=99)  # more than what waits: the campaign looks at what happened
    status = campaign.status()
    assert (status.status, status.given_up) == ("running", 5)
    assert "no line" in str(status.evaluators[0].left)


def test_where_all_evaluators_fail_the_campaign_is_paused_and_not_decided(
    panel: eh.Campaign,
) -> None:
    for name in PANEL.evaluators:
        for _ in range(10):
            if ticket := panel.ask(name):
                panel.fail(taken(ticket), "no key")
    nothing = panel.ask("Paul")
    assert isinstance(nothing, eh.campaigns.NoTicket)
    assert (nothing.reason, panel.status().status) == ("paused", "paused")
    assert "no key" in nothing.why
    assert "decided" not in kinds(panel)


def test_an_answer_in_between_starts_the_count_anew(panel: eh.Campaign) -> None:
    for _ in range(2):
        for _ in range(4):
            for _ in range(2):
                panel.fail(taken(panel.ask("Paul")), "the line is dead")
        ticket = taken(panel.ask("Paul"))
        panel.tell(ticket, WORTH[ticket.question.label])
        for name in ("Quinn", "Rita"):  # of what is asked, each is answered somewhere
            for _ in range(2):
                ticket = taken(panel.ask(name))
                panel.tell(ticket, WORTH[ticket.question.label])
    assert panel.status().evaluators[0].left is None


def test_where_everything_fails_the_campaign_is_paused(crew: eh.Campaign) -> None:
    for _ in range(5):
        for _ in range(2):
            crew.fail(taken(crew.ask("one")), "no such model")
    nothing = none(crew.ask("one"), "paused")
    assert "no such model" in nothing.why
    crew.resume()
    taken(crew.ask("one"))


def test_a_ticket_can_be_kept_for_longer(crew: eh.Campaign) -> None:
    ticket = taken(crew.ask("one"))
    longer = crew.renew(ticket, lease=10 * 3600.0)
    assert isinstance(longer, eh.campaigns.Ticket)
    assert longer.until > ticket.until + 8 * 3600.0
    assert crew.ask("one") == longer
    expire(crew, ticket)
    assert crew.renew(ticket)  # nobody else has it
    expire(crew, ticket)
    taken(crew.ask("other"))
    assert not crew.renew(ticket)
    refused(crew, lambda: crew.renew(ticket, lease=-1.0), eh.InputError, "lease must be")


def test_a_pause_hands_out_nothing_and_takes_what_comes(panel: eh.Campaign) -> None:
    ticket = taken(panel.ask("Paul"))
    panel.pause("lunch")
    panel.pause("dinner")  # it is paused already
    nothing = none(panel.ask("Paul"), "paused")
    assert nothing.again_in is None
    assert "lunch" in nothing.why
    assert panel.tell(ticket, 7.0).counted
    panel.resume()
    panel.resume()
    taken(panel.ask("Paul"))
    assert [kinds(panel).count(kind) for kind in ("paused", "resumed")] == [1, 1]


def test_who_leaves_is_not_asked_and_his_tickets_are_taken_back(panel: eh.Campaign) -> None:
    ticket = taken(panel.ask("Paul"))
    panel.leave("Paul", "ill")
    panel.leave("Paul", "ill")
    nothing = none(panel.ask("Paul"), "left")
    assert nothing.again_in is None
    assert "ill" in nothing.why
    late = panel.tell(ticket, 7.0)
    assert not late.counted
    assert "no longer wanted" in late.why
    status = panel.status()
    assert status.evaluators[0].left == "ill"
    assert status.leased == 0
    panel.join("Paul")
    panel.join("Paul")
    taken(panel.ask("Paul"))
    assert [kinds(panel).count(kind) for kind in ("left", "joined")] == [1, 1]
    refused(panel, lambda: panel.leave("Zoe"), eh.InputError, "no evaluator 'Zoe'")


def test_more_evaluations_reopen_what_was_finished(store: Store, named: str) -> None:
    campaign = eh.Campaign.create(store, named, PANEL, at_most=5)
    for _ in range(9):
        for name in ("Paul", "Quinn", "Rita"):
            if ticket := campaign.ask(name):
                campaign.tell(taken(ticket), 5.0)
    assert campaign.status().status == "finished"
    refused(campaign, lambda: campaign.extend(at_most=4), eh.InputError, "at least")
    refused(campaign, campaign.extend, eh.InputError, "more")
    refused(campaign, lambda: campaign.pause("now"), eh.InputError, "finished")
    refused(campaign, campaign.resume, eh.InputError, "extend")
    campaign.extend(at_most=50)
    n = len(log(campaign))
    campaign.extend(at_most=50)
    assert len(log(campaign)) == n
    assert campaign.status().status == "running"
    assert campaign.status().at_most == 50
    assert any(campaign.ask(name) for name in ("Paul", "Quinn", "Rita"))


def test_more_options_and_evaluators_come_beside_those_there_are(panel: eh.Campaign) -> None:
    out = taken(panel.ask("Paul"))
    decided(panel)
    late = eh.Campaign.open(panel.store, panel.name)
    late.status()  # it knows the questions of before
    more = eh.Questions.panel(
        {"Ann": "home", "Bo": "away", "Cy": "home", "Di": "away"},
        {"Paul": "home", "Quinn": "away", "Rita": "nowhere", "Sue": "away"},
        capacity=None,
    )
    fewer = eh.Questions.panel(["Ann", "Di"], ["Paul"], capacity=None)
    refused(panel, lambda: panel.extend(questions=fewer), eh.InputError, "missing")
    panel.extend(questions=more, display={"Di": {"title": "Fugue"}})
    n = len(log(panel))
    panel.extend(questions=more)
    assert len(log(panel)) == n
    assert taken(panel.ask("Paul")).question.evaluator == "Paul"
    assert late.tell(out, WORTH[out.question.label]).repeated
    names = [one.evaluator for one in late.status().evaluators]
    assert names == ["Paul", "Quinn", "Rita", "Sue"]
    for turn in range(400):
        for name in names:
            ticket = late.ask(name)
            if isinstance(ticket, eh.campaigns.Ticket):
                assert ticket.question.evaluator == name
                shown = {"title": "Fugue"} if ticket.question.label == "Di" else {}
                assert ticket.shown == (shown,)
                late.tell(ticket, WORTH[ticket.question.label] + 0.1 * (turn % 3))
        if late.status().status == "finished":
            break
    answer = panel.answer()
    assert (answer.label, answer.sure) == ("Di", True)


def test_what_is_withdrawn_counts_no_more_and_is_asked_again(panel: eh.Campaign) -> None:
    ticket = taken(panel.ask("Paul"))
    receipt = panel.tell(ticket, 75.0)
    assert not panel.withdraw(receipt, "a slip for 7.5").counted
    n = len(log(panel))
    assert panel.withdraw(receipt.evaluation, "a slip").repeated
    assert len(log(panel)) == n
    again = panel.tell(ticket, 75.0)  # a message that was repeated on its way
    assert (again.evaluation, again.counted, again.why) == (1, False, "it was withdrawn")
    assert panel.tell(ticket.id, 75.0).repeated
    refused(panel, lambda: panel.tell(ticket, 7.5), eh.errors.ConflictError, "withdrawn")
    assert panel.tell(ticket.id, 7.5).counted  # by its id: the ticket waits for another score
    status = panel.status()
    assert (status.evaluations, status.withdrawn, status.done) == (1, 1, 1)
    refused(panel, lambda: panel.withdraw(17, "?"), eh.InputError, "no evaluation 17")
    panel.tell(ticket.id, 8.0, key="too late")
    refused(panel, lambda: panel.withdraw(3, "?"), eh.InputError, "late")


def test_what_is_withdrawn_after_the_decision_reopens_the_campaign(panel: eh.Campaign) -> None:
    decided(panel)
    panel.withdraw(2, "found out later")
    assert panel.status().status == "running"
    decided(panel)
    assert kinds(panel).count("decided") == 2
    assert panel.status().withdrawn == 1


def test_what_comes_after_the_decision_is_late(store: Store, named: str) -> None:
    """Without checks: to check the model, this very answer may be waited for."""
    panel = eh.Campaign.create(store, named, PANEL, noise_scale=0.2, checks=False)
    ticket = taken(panel.ask("Paul", worker="slow"))
    decided(panel)
    before = panel.answer().to_dict()
    late = panel.tell(ticket, 100.0)
    assert not late.counted
    assert "finished" in late.why
    assert str(panel.answer().to_dict()) == str(before)  # NaN is not NaN


def test_campaigns_of_one_store_do_not_meet(panel: eh.Campaign, crew: eh.Campaign) -> None:
    decided(panel)
    assert crew.status().evaluations == 0
    names = eh.Campaign.names(panel.store)
    assert (names[panel.name], names[crew.name]) == ("finished", "running")
    with pytest.raises(eh.InputError, match=r"no campaign 'price'.* prize'"):
        eh.Campaign.open(panel.store, "price")
    refused(
        panel,
        lambda: eh.Campaign.create(panel.store, panel.name, PANEL),
        eh.errors.ConflictError,
        "there is a campaign",
    )
