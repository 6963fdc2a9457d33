"""Random campaigns: whatever happened to them, their records verify."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from rotation import nightly

NAMES, ITEMS = ["P", "Q", "Ü n"], ["Ann", "Bo", "Cy"]
KINDS: dict[str, dict[str, Any]] = {  # what is asked, and settings of the campaign
    "panel": {},
    "panel, tolerance": {"tolerance": 0.3, "noise_scale": 0.5},
    "panel, bounded": {"bounds": (-3.0, 4.0)},
    "panel, priced": {"budget": 60.0},
    "people": {},
    "people, once": {"looks": "once"},
    "people, noise": {"noise_scale": 0.5, "tolerance": 0.1},
    "options": {},
    "options, tolerance": {"tolerance": 0.3, "noise_scale": 0.5},
    "options, exact": {"deviation": 0},
    "comparisons": {},
}


def asked(kind: str, items: list[str], names: list[str], capacity: int) -> Any:
    what, _, how = kind.partition(", ")
    if what == "options":
        rows = [[1.0, 0.2], [0.3, 1.0], [1.0, 1.0], [0.6, 0.1]]
        return eh.ActionSet(rows[: len(items)], ["a", "b", "a", "b"][: len(items)], items)
    if what == "comparisons":
        return eh.Questions.comparisons(items, names)
    return eh.Questions.panel(
        items,
        names,
        capacity=capacity if what == "people" else None,
        prices={"P": 3.0} if how == "priced" else None,
    )


class Life:
    """A campaign to which things happen."""

    def __init__(self, folder: Path, kind: str, seed: int) -> None:
        self.kind, self.rng = kind, random.Random(seed)
        self.items, self.names, self.capacity = ITEMS, NAMES, self.rng.randint(1, 3)
        self.lead = self.rng.choice([0.0, 0.3, 1.0])  # of Ann; of others nobody is better
        self.campaign = eh.Campaign.create(
            folder / "c.db",
            "c",
            asked(kind, ITEMS, NAMES, self.capacity),
            at_most=40,
            retries=0,
            seed=seed,
            **KINDS[kind],
        )
        self.told: list[int] = []

    def ask(self, n: int) -> None:
        tickets = self._tickets(n)
        for ticket in tickets[: n - self.rng.randint(0, 1)]:
            value = self.lead * ("Ann" in ticket.question.labels)
            score = min(max(round(self.rng.gauss(value, 0.5), 1), -3.0), 4.0)
            self.told.append(self.campaign.tell(ticket, score).evaluation)

    def _tickets(self, n: int) -> list[eh.campaigns.Ticket]:
        who = None if self.kind.startswith("options") else self.rng.choice(self.names)
        found = self.campaign.ask(who, n=n, worker="w")
        tickets = found if isinstance(found, list) else []
        self.rng.shuffle(tickets)
        return tickets

    def fail(self) -> None:
        for ticket in self._tickets(self.rng.randint(1, 3)):
            self.campaign.fail(ticket, "no pen")

    def withdraw(self) -> None:
        blind = self.rng.random() < 0.3
        self.campaign.withdraw(self.rng.choice(self.told), "a slip", blind=blind)

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
        items = [*ITEMS, "0 Di"] if self.rng.random() < 0.5 else self.items
        names = ["P", "A", "Q", "Ü n"] if self.rng.random() < 0.5 else self.names
        capacity = self.capacity + self.rng.randint(0, 2)
        self.campaign.extend(questions=asked(self.kind, items, names, capacity))
        self.items, self.names, self.capacity = items, names, capacity

    def observe(self) -> None:
        line: dict[str, list[object]] = {"option": ["Bo"], "score": [0.3]}
        line |= {} if self.kind.startswith("options") else {"evaluator": ["P"]}
        line |= {"over": ["Cy"]} if self.kind == "comparisons" else {}
        self.campaign.import_scores(pd.DataFrame(line))

    def happen(self) -> None:
        """Let something happen; what is refused changes nothing."""
        rare = [self.withdraw, self.withdraw_first, self.leave, self.join, self.pause]
        rare += [self.allow, self.add, self.observe, self.fail]
        try:
            if self.rng.random() < 0.75:
                self.ask(self.rng.randint(1, 4))
            else:
                self.rng.choice(rare)()
        except (eh.InputError, eh.errors.ConflictError, IndexError):
            pass


LIVES = list(itertools.product(KINDS, range(2)))  # by day each kind has one of the two, in turn


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("kind", "seed"), [*LIVES[::4], *LIVES[3::4], *nightly(LIVES[1::4])])
def test_what_happened_to_a_campaign_is_no_reason_not_to_verify(
    tmp_path: Path, kind: str, seed: int
) -> None:
    life = Life(tmp_path, kind, seed)
    for _ in range(50):
        life.happen()
    for _ in range(40):
        life.ask(4)
    if seed % 2:  # extended after it was decided, or given up
        with suppress(eh.InputError, eh.errors.ConflictError):
            life.add()
        for _ in range(20):
            life.ask(4)
    found, status = life.campaign.verify(), life.campaign.status()
    life.campaign.close()
    assert found.wrong == ()
    assert found.evaluations == status.evaluations
    assert len(life.told) >= 12
