"""The course of a campaign: what its record said of the bias as evaluations came in."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.answers.biases import NamedBias
from evenhand.campaigns.export import events_of
from evenhand.campaigns.follower import Follower
from evenhand.campaigns.replica import Replica
from evenhand.campaigns.status import answer_from


@dataclass(frozen=True)
class Moment:
    """What was known when so many evaluations counted: the biases, without leniencies."""

    evaluations: int
    at: float  # seconds since 1970
    biases: tuple[NamedBias, ...]


def course_of(follower: Follower, points: int = 24) -> list[Moment]:
    """Return what would have been answered on the way, at so many points at most.

    The record is replayed, so it takes longer the longer that is. What was withdrawn is left out
    from the beginning.
    """
    now = follower.followed()
    if now.counted == 0:
        return []
    replica, found = Replica(dict(now.withdrawn)), list[Moment]()
    due = {-(-now.counted * i // points) for i in range(1, points + 1)}
    for event in events_of(follower):
        before = replica.counted
        replica.fold([event])
        if any(before < n <= replica.counted for n in due):
            told = tuple(one for one in answer_from(replica).biases if one.kind != "leniency")
            found.append(Moment(replica.counted, event.at, told))
    return found
