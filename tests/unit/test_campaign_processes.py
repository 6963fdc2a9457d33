"""What processes know of a campaign: withdrawn scores, policies that break, many at once."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import evenhand as eh
from evenhand.campaigns import ask, ledger
from evenhand.campaigns import campaign as campaigns
from evenhand.campaigns.events import Event

pytestmark = pytest.mark.usefixtures("hasty")

OPTIONS = eh.ActionSet(
    [[1.0, 0.2], [0.3, 1.0], [1.0, 1.0], [0.5, 0.1]], ["a", "b", "a", "b"], list("ABCD")
)
PANEL = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"], capacity=None)


def log(campaign: eh.Campaign, after: int = 0) -> list[Event]:
    id = campaign._follower.id
    return campaign.store.read(lambda s: ledger.events_after(s, id, after, 10**6))


def answered(campaign: eh.Campaign, n: int, *who: str) -> None:
    """Answer the next n questions, by whom there is one for; noise alone: nothing is ever sure."""
    rng = np.random.default_rng(n)
    for _ in range(n):
        ticket = next(one for name in who or (None,) if (one := campaign.ask(name)))
        assert isinstance(ticket, eh.campaigns.Ticket), ticket
        campaign.tell(ticket, 0.5 * rng.standard_normal())


def same(one: eh.Campaign, other: eh.Campaign) -> bool:
    """Tell whether two have come to the same, by answer and by what their policies remember."""
    answers = [each.answer().to_dict() for each in (one, other)]
    states = [each._followed().policy.state()["run"] for each in (one, other)]
    for state in states:
        state.update(outstanding=None)  # what was asked for only in thought
    return answers[0] == answers[1] and states[0] == states[1]


@pytest.fixture
def campaign(tmp_path: Path) -> eh.Campaign:
    made = eh.Campaign.create(
        tmp_path / "store.db", "it", OPTIONS, policy="certain-choice", noise_scale=0.5
    )
    answered(made, 45)
    return made


def reopened(campaign: eh.Campaign) -> eh.Campaign:
    return eh.Campaign.open(campaign.store, campaign.name)


def test_every_process_comes_to_the_same_whatever_was_withdrawn(campaign: eh.Campaign) -> None:
    last = campaign.status().evaluations
    for number in (last, 2):  # the newest, and one of which much has come since
        campaign.withdraw(number, "a slip")
        assert same(reopened(campaign), campaign)
    once_more = reopened(campaign)
    assert once_more.status().evaluations == last - 2
    answered(once_more, 60)
    assert same(reopened(campaign), campaign)


def test_what_was_withdrawn_is_as_if_it_had_never_been_told(tmp_path: Path) -> None:
    """By another route: the same scores, in the same order, in a campaign without it."""
    one, two = (
        eh.Campaign.create(tmp_path / name, "it", OPTIONS, policy="certain-choice", noise_scale=0.5)
        for name in ("one.db", "two.db")
    )
    first, rest = [one.ask(n=6), two.ask(n=6)], [0.1, 0.7, 0.2, 0.9, 0.4]
    assert [t.question for t in first[0]] == [t.question for t in first[1]]  # type: ignore[union-attr]
    spoilt = one.tell(first[0][0], 99.0)  # type: ignore[index] # a list
    for tickets, each in zip(first, (one, two), strict=True):
        for ticket, score in zip(tickets[1:], rest, strict=True):  # type: ignore[index] # a list
            each.tell(ticket, score)
    one.withdraw(spoilt, "a slip", blind=True)
    there, never = (each.answer().to_dict() for each in (one, two))
    assert there.pop("withdrawn")["scores"][0]["score"] == 99.0
    assert never.pop("withdrawn") is None
    assert there == never


class Fussy(eh.Policy):
    """Asks one option after another, and cannot do without R, nor with a score of 13."""

    name: ClassVar[str] = "fussy"
    plays_questions = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._sum = 0.0

    def propose(self, n: int | None, pending: Any) -> Any:
        if "R" in self.limits.absent_names:
            raise eh.NotIdentifiableError("nobody compares Ann and Bo any more.")
        left = np.nonzero(self.limits.left(pending))[0]
        counts = np.zeros(len(self.questions), dtype=np.int64)
        counts[left[: min(n or 1, self.remaining - int(pending.sum()))]] = 1
        return counts

    def learn(self, feedback: Any) -> None:
        if 13.0 in feedback.sums:
            raise ArithmeticError("13 cannot be borne")
        self._sum += float(feedback.sums.sum())

    def recommend(self) -> Any:
        return eh.Decision.of(self, 0)

    def bias(self) -> Any:
        return eh.Estimate(float("nan"), -np.inf, np.inf, 0.95)

    def memory(self) -> dict[str, Any]:
        return {"sum": self._sum}

    def recall(self, memory: Any) -> None:
        self._sum = memory["sum"]


@pytest.fixture
def fussy(tmp_path: Path) -> eh.Campaign:
    made = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, policy=Fussy(PANEL, 500))
    answered(made, 3, "P")
    return made


def test_a_campaign_that_cannot_do_without_somebody_says_so_and_goes_on_when_he_is_back(
    fussy: eh.Campaign,
) -> None:
    out = fussy.ask("P")
    fussy.leave("R", "ill")
    for campaign in (fussy, reopened(fussy)):
        nothing = campaign.ask("Q")
        assert (nothing.reason, nothing.again_in) == ("blocked", None)
        assert "nobody compares Ann and Bo" in nothing.why
        assert "nobody compares" in campaign.status().trouble
        assert "without those who left" in campaign.answer().stopped_because
    assert fussy.tell(out, 1.0).counted  # what is out may come back
    fussy.join("R")
    for campaign in (fussy, reopened(fussy)):
        assert campaign.status().trouble == ""
        assert campaign.ask("Q")
    answered(fussy, 30, "R")
    total = sum(e[3] for event in log(fussy) if event.kind == "told"
                for e in event.content["evaluations"])  # fmt: skip
    for campaign in (fussy, reopened(fussy)):
        policy = campaign._followed().policy
        assert policy._sum == pytest.approx(total)


def test_a_score_that_breaks_the_policy_can_be_withdrawn(fussy: eh.Campaign) -> None:
    ticket = fussy.ask("Q")
    bad = fussy.tell(ticket, 13.0)
    for campaign in (fussy, reopened(fussy)):
        nothing = campaign.ask("Q")
        assert nothing.reason == "blocked"
        assert "13 cannot be borne" in nothing.why
        assert campaign.status().evaluations == 4
    fussy.withdraw(bad, "it breaks things")
    for campaign in (fussy, reopened(fussy)):
        assert campaign.status().trouble == ""
        assert campaign.ask("Q")
    answered(fussy, 40, "Q")
    assert same(reopened(fussy), fussy)


def test_a_record_that_was_changed_is_an_error_that_says_so(campaign: eh.Campaign) -> None:
    last = len(log(campaign))

    def spoil(**values: Any) -> None:
        changes = ", ".join(f"{name} = :{name}" for name in values)
        statement = f"UPDATE event SET {changes} WHERE number = :last"
        campaign.store.write(lambda s: s.run(statement, last=last, **values))

    spoil(kind="told", body="{}")
    with pytest.raises(eh.StoreError, match=rf"event {last} \('told'\).*Verify"):
        reopened(campaign).answer()
    spoil(kind="dreamt")
    with pytest.raises(eh.StoreError, match=r"kind 'dreamt'.*newer"):
        reopened(campaign).answer()
    campaign.store.write(lambda s: s.run("DELETE FROM event WHERE number = :at", at=last - 1))
    with pytest.raises(eh.StoreError, match=f"event {last - 1} is missing"):
        reopened(campaign).answer()


@pytest.mark.parametrize("objects", [1, 4])
def test_threads_share_a_campaign(tmp_path: Path, objects: int) -> None:
    """Nobody has a ticket that another has, and every score is there once."""
    first = eh.Campaign.create(
        tmp_path / "store.db", "it", OPTIONS, policy="uniform", at_most=160, lease=600.0
    )
    campaigns = [first] + [reopened(first) for _ in range(objects - 1)]
    told: list[tuple[str, int]] = []
    trouble: list[BaseException] = []

    def work(number: int) -> None:
        campaign = campaigns[number % objects]
        try:
            while True:
                ticket = campaign.ask("model", worker=str(number))
                if isinstance(ticket, eh.campaigns.NoTicket):
                    if ticket.reason == "finished":
                        return
                    continue
                told.append((ticket.id, campaign.tell(ticket, 1.0 * number).evaluation))
        except BaseException as error:
            trouble.append(error)
            raise

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not trouble
    assert max(Counter(id for id, _ in told).values()) == 1
    assert sorted(number for _, number in told) == list(range(1, 161))
    assert first.status().evaluations == 160
    leases = [n for event in log(first) if event.kind == "leased" for n in event.content["tickets"]]
    assert sorted(leases) == list(range(1, 161))


def test_who_looks_at_an_answer_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = eh.Campaign.create(
        tmp_path / "store.db", "prize", PANEL, at_most=4_000, noise_scale=1.0
    )
    answered(campaign, 21, *"PQR")
    before = campaign.answer().to_dict()
    look = campaigns.answer_from

    def long(replica: Any) -> Any:
        others = threading.Thread(target=answered, args=(campaign, 39, *"PQR"), daemon=True)
        others.start()
        others.join(60.0)
        assert not others.is_alive()
        return look(replica)

    monkeypatch.setattr(campaigns, "answer_from", long)
    assert campaign.answer().to_dict() == before  # as it was when it was looked at
    monkeypatch.undo()
    assert campaign.answer().to_dict()["scores"] == 60
    campaign.close()


def test_what_another_process_put_in_meanwhile_is_not_put_in_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proposal that another overtook is thrown away, and worked out anew."""
    one = eh.Campaign.create(tmp_path / "store.db", "it", OPTIONS, policy="uniform", at_most=8)
    other = reopened(one)
    work_out, other_asks = ask._proposal, [True]

    def overtaken(*given: Any) -> Any:
        proposal = work_out(*given)
        if other_asks:
            other_asks.clear()
            monkeypatch.setattr(ask, "_proposal", work_out)
            assert other.ask("other", n=8)
        return proposal

    monkeypatch.setattr(ask, "_proposal", overtaken)
    nothing = one.ask("one")
    assert nothing.reason == "waiting"
    made = [t for event in log(one) if event.kind == "proposed" for t in event.content["tickets"]]
    assert len(made) == 8
