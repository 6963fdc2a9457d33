"""Who has what before them and since when, and who last gave a score."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.campaigns.campaign import Campaign
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.replica import NOTHING


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
    with follower.lock:
        last = dict(follower.followed().last)
    now, rows = follower.read(lambda page: (page.now, page.out()))
    held: dict[str, list[Held]] = {}
    for row in rows:
        label = follower.question(row).label
        held.setdefault(row.holder or row.evaluator, []).append(Held(label, row.leased, row.until))
    names = held.keys() | last.keys()
    return now, {name: Holding(tuple(held.get(name, ())), last.get(name)) for name in names}


def due_of(campaign: Campaign) -> dict[str, int]:
    """Return how many questions each evaluator has still to answer, as far as that is known.

    Of a plan that is fixed, what of it is missing; else what waits for them or is before them.
    """
    follower = campaign._follower
    replica, out = follower.followed(), follower.read(lambda page: page.waiting(follower.tries))
    due = {
        name: out.open.get(name, 0) + out.leased.get(name, 0)
        for name in replica.questions.evaluators
    }
    planned = campaign.hand_out() if replica.settings["looks"] == "once" else None
    if planned is not None and replica.status == "running":
        for name, load in zip(planned.questions.evaluators, planned.loads, strict=True):
            done = replica.tally.get(name, NOTHING)["evaluations"]
            if name not in replica.left:
                due[name] = max(due.get(name, 0), int(load) - done)
    return due
