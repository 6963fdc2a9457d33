"""Campaigns that somebody handles: scores withdrawn after looking, and answers that fail when low.

The two best options are worth exactly the same, so every 'sure' is false; 5% are allowed. The rows
are those of docs/research/measured.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import evenhand as eh
from evenhand.campaigns.tell import end_lease

SIXTH = -0.9674  # of a normal distribution, a sixth is below


class World:
    """Two options that tie, others far behind, and evaluators who are lenient or severe."""

    def __init__(self, rng: np.random.Generator, k: int, n: int) -> None:
        self.rng, self.values = rng, np.append([0.0, 0.0], -2.0 - np.abs(rng.normal(size=k - 2)))
        self.lenient = {f"j{j}": float(rng.normal()) for j in range(n)}

    def panel(self, capacity: int | None) -> eh.Questions:
        """Return what can be asked."""
        names = [f"o{x}" for x in range(len(self.values))]
        return eh.Questions.panel(names, list(self.lenient), capacity=capacity)

    def score(self, question: eh.Question, fails: bool = False) -> float | None:
        """Return a score; None where it is among the lowest sixth of an option that fails then."""
        noise = float(self.rng.normal())
        if fails and question.option == 1 and noise < SIXTH:
            return None
        assert question.evaluator is not None
        return float(self.values[question.option] + self.lenient[question.evaluator] + noise)


def ask_all(
    world: World, campaign: eh.Campaign, take: Callable[[eh.campaigns.Ticket], None]
) -> None:
    """Have everybody answer what there is to ask."""
    while True:
        told = 0
        for judge in world.lenient:
            found = campaign.ask(judge, n=len(world.values))
            for ticket in found if isinstance(found, list) else []:
                take(ticket)
                told += 1
        if not told:
            return


def withdrawn(rng: np.random.Generator, folder: Path, blind: bool = False) -> eh.Answer:
    """Have the three lowest scores of who leads withdrawn after the look, and asked again."""
    world, own = World(rng, 8, 8), {}
    campaign = eh.Campaign.create(folder / "it.db", "it", world.panel(1), looks="once")

    def take(ticket: eh.campaigns.Ticket) -> None:
        score = world.score(ticket.question)
        own[campaign.tell(ticket, score).evaluation] = ticket.question.option, score

    ask_all(world, campaign, take)
    ahead = campaign.answer().option
    low = sorted((y, number) for number, (option, y) in own.items() if option == ahead)[:3]
    for _, number in low:
        campaign.withdraw(number, "a typing error", blind=blind)
    ask_all(world, campaign, take)
    answer = campaign.answer()
    campaign.close()
    return answer


def failing(
    rng: np.random.Generator, folder: Path, k: int, n: int, dies: bool, **made: Any
) -> eh.Answer:
    """Have the lowest sixth of one option's scores fail, or never come, and be tried again."""
    world = World(rng, k, n)
    panel = world.panel(made.pop("capacity", 1))
    campaign = eh.Campaign.create(folder / "it.db", "it", panel, retries=20, **made)

    def take(ticket: eh.campaigns.Ticket) -> None:
        score = world.score(ticket.question, fails=True)
        if score is not None:
            campaign.tell(ticket, score)
        elif dies:
            end_lease(campaign._follower, ticket)
        else:
            campaign.fail(ticket, "refused")

    ask_all(world, campaign, take)
    answer = campaign.answer()
    campaign.close()
    return answer


def chosen(rng: np.random.Generator, _: Path, k: int, n: int, **given: Any) -> eh.Answer:
    """Have `choose` try again what fails."""
    world = World(rng, k, n)

    def evaluate(question: eh.Question) -> float:
        score = world.score(question, fails=True)
        if score is None:
            raise RuntimeError("refused")
        return score

    panel = world.panel(given.pop("capacity", 1))
    return eh.choose(panel, evaluate, retries=20, progress=False, **given)


CASES: dict[str, Callable[[np.random.Generator, Path], eh.Answer]] = {
    "three scores of who leads withdrawn after looking, asked again; 8 × 8": withdrawn,
    "a rival's lowest sixth fails and is tried again; 10 × 8, once each": lambda rng, to: chosen(
        rng, to, 10, 8
    ),
    "… 6 × 30, once each": lambda rng, to: chosen(rng, to, 6, 30),
    "… 5 × 4, a search of at most 1,000": lambda rng, to: chosen(
        rng, to, 5, 4, capacity=None, at_most=1_000
    ),
    "… a campaign, 6 × 12, once each": lambda rng, to: failing(rng, to, 6, 12, dies=False),
    "… a campaign, 6 × 12, leases run out": lambda rng, to: failing(rng, to, 6, 12, dies=True),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cases whose name has this")
    asked = parser.parse_args()
    print(
        "| case | sure, % | without what was withdrawn, % | alarms, % |\n| --- | --- | --- | --- |"
    )
    for i, (name, case) in enumerate(CASES.items()):
        if asked.only not in name:
            continue
        found = np.zeros(3)
        for n in range(asked.runs):
            with tempfile.TemporaryDirectory() as folder:
                answer = case(np.random.default_rng([asked.seed, i, n]), Path(folder))
            found += answer.sure, answer.withdrawn.sure_without, bool(answer.alarms)
        sure, without, alarms = 100.0 * found / asked.runs
        print(f"| {name} | {sure:.1f} | {without:.1f} | {alarms:.1f} |", flush=True)


if __name__ == "__main__":
    main()
