"""Who has what before them and since when, and who last gave a score."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.campaigns.campaign import Campaign
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.state import NOTHING


@dataclass(frozen=True)
class Held:
    """A question that an evaluator has before them: since when, and until when it is theirs."""

    label: str
    since: float
    until: float


@dataclass(frozen=True)
class Holding:
    """What an evaluator has before them, the oldest first, and when they last gave a score."""

    held: tuple[Held, ...] = ()
    last: float | None = None


def holdings_of(follower: Follower) -> tuple[float, dict[str, Holding]]:
    """Return what time it is in the store, and by evaluator what each has before them."""

    def look(page: Page) -> tuple[float, dict[str, Holding]]:
        held: dict[str, list[Held]] = {}
        for row in sorted(page.state.leased(page.now), key=lambda row: row.leased):
            label = page.state.question(row.question).label
            held.setdefault(row.holder or row.evaluator, []).append(
                Held(label, row.leased, row.until)
            )
        last = page.state.last
        names = held.keys() | last.keys()
        return page.now, {x: Holding(tuple(held.get(x, ())), last.get(x)) for x in names}

    return follower.read(look)


def due_of(campaign: Campaign) -> dict[str, int]:
    """Return how many questions each evaluator has still to answer, as far as that is known.

    Of a plan that is fixed, what of it is missing; else what waits for them or is before them.
    """
    state = campaign._follower.state()
    due = dict.fromkeys(state.questions.evaluators, 0)
    for row in campaign._follower.read(lambda page: list(page.state.waiting_for())):
        if row.evaluator in due:
            due[row.evaluator] += 1
    planned = campaign.hand_out() if state.settings["looks"] == "once" else None
    if planned is not None and state.status == "running":
        for name, load in zip(planned.questions.evaluators, planned.loads, strict=True):
            done = state.tally.get(name, NOTHING)["evaluations"]
            if name not in state.left:
                due[name] = max(due.get(name, 0), int(load) - done)
    return due
