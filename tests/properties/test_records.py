"""Random campaigns: whatever happened to them, their records verify, and choices are confirmed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenhand as eh

NAMES, ITEMS = ["P", "Q", "Ü n"], ["Ann", "Bo", "Cy"]


def asked(kind: str, items: list[str], names: list[str]) -> Any:
    if kind == "options":
        rows = [[1.0, 0.2], [0.3, 1.0], [1.0, 1.0], [0.6, 0.1]]
        return eh.ActionSet(rows[: len(items)], ["a", "b", "a", "b"][: len(items)], items)
    if kind == "comparisons":
        return eh.Questions.comparisons(items, names)
    return eh.Questions.panel(items, names, capacity=2 if kind == "people" else None)


class Life:
    """A campaign to which things happen."""

    def __init__(self, folder: Path, kind: str, seed: int) -> None:
        self.kind, self.rng = kind, random.Random(seed)
        self.items, self.names = ITEMS, NAMES
        self.campaign = eh.Campaign.create(
            folder / "c.db", "c", asked(kind, ITEMS, NAMES), at_most=40, seed=seed
        )
        self.told: list[int] = []

    def ask(self, n: int) -> None:
        who = None if self.kind == "options" else self.rng.choice(self.names)
        found = self.campaign.ask(who, n=n, worker="w")
        tickets = found if isinstance(found, list) else []
        self.rng.shuffle(tickets)
        for ticket in tickets[: n - self.rng.randint(0, 1)]:
            value = float("Ann" in ticket.question.labels)
            receipt = self.campaign.tell(ticket, round(self.rng.gauss(value, 0.5), 1))
            self.told.append(receipt.evaluation)

    def withdraw(self) -> None:
        self.campaign.withdraw(self.rng.choice(self.told), "a slip")

    def withdraw_first(self) -> None:
        for number in self.told[:3]:
            self.campaign.withdraw(number, "a slip")

    def leave(self) -> None:
        self.campaign.leave("Q", "ill")

    def join(self) -> None:
        self.campaign.join("Q")

    def pause(self) -> None:
        self.campaign.pause("lunch")
        self.campaign.resume()

    def allow(self) -> None:
        self.campaign.extend(at_most=self.campaign.status().at_most + 10)

    def add(self) -> None:
        items, names = [*ITEMS, "0 Di"], ["P", "A", "Q", "Ü n"]
        self.campaign.extend(questions=asked(self.kind, items, names))
        self.items, self.names = items, names

    def observe(self) -> None:
        line: dict[str, list[object]] = {"option": ["Bo"], "score": [0.3]}
        line |= {} if self.kind == "options" else {"evaluator": ["P"]}
        line |= {"over": ["Cy"]} if self.kind == "comparisons" else {}
        self.campaign.import_scores(pd.DataFrame(line))

    def happen(self) -> None:
        """Let something happen; what is refused changes nothing."""
        rare = [self.withdraw, self.withdraw_first, self.leave, self.join, self.pause]
        rare += [self.allow, self.add, self.observe]
        try:
            if self.rng.random() < 0.75:
                self.ask(self.rng.randint(1, 4))
            else:
                self.rng.choice(rare)()
        except (eh.InputError, eh.ConflictError, IndexError):
            pass


@pytest.mark.parametrize("kind", ["panel", "people", "options", "comparisons"])
@pytest.mark.parametrize("seed", range(3))
def test_what_happened_to_a_campaign_is_no_reason_not_to_verify(
    tmp_path: Path, kind: str, seed: int
) -> None:
    life = Life(tmp_path, kind, seed)
    for _ in range(50):
        life.happen()
    for _ in range(40):
        life.ask(4)
    found, status = life.campaign.verify(), life.campaign.status()
    life.campaign.close()
    assert found.wrong == ()
    assert found.evaluations == status.evaluations
    assert not found.decided or "what is lost" in found.confirmed
    assert len(life.told) >= 12
