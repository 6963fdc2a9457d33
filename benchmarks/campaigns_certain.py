"""How often a campaign is wrong where it says that it is sure, with evaluators as they are.

Sixteen evaluators answer after lognormal times, in any order. Some answers fail, some come when the
evaluator has long been asked again, and some are told twice. Of five options one is better by a
little, and evaluators favour their own group. The share of campaigns that are sure of another
option must not exceed 1 − confidence; and what a campaign counts must be what was told, once each.

    python benchmarks/campaigns_certain.py --campaigns 1000
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy import stats

import evenhand as eh
from evenhand.campaigns.stores import Store, open_store

LEASE = 60.0  # seconds, of simulated time
SPREAD = 0.8  # of the logarithm of an answer's time, whose median is 20 s
FAILS, VANISHES, REPEATS = 0.08, 0.05, 0.1
NOISE, FAVOUR = 1.0, 0.7
EVALUATORS = 16


@dataclass(frozen=True)
class Outcome:
    """What came of one campaign."""

    sure: bool
    right: bool
    spent: int
    late: int
    failed: int
    repeated: int


def simulate(store: Store, name: str, gap: float, confidence: float, seed: int) -> Outcome:
    """Run one campaign in simulated time; the best option is at a random place."""
    rng = np.random.default_rng(seed)
    best = int(rng.integers(5))
    values = np.where(np.arange(5) == best, gap, 0.0) - 0.2 * rng.random(5) * (np.arange(5) != best)
    options = {f"option {x}": "home" if rng.random() < 0.5 else "away" for x in range(5)}
    groups = ("home", "away", "nowhere")
    judges = {f"judge {e}": groups[e % 3] for e in range(EVALUATORS)}
    panel = eh.Questions.panel(options, judges, capacity=None)
    lenient = rng.normal(size=EVALUATORS)
    campaign = eh.Campaign.create(
        store, name, panel, confidence, at_most=1500, lease=LEASE, seed=seed
    )
    told: Counter[str] = Counter()
    late = failed = repeated = 0
    queue: list[tuple[float, int, str, eh.campaigns.Ticket | None]]
    queue = [(0.001 * e, e, "asks", None) for e in range(EVALUATORS)]
    finished = False
    while queue and not finished:
        now, e, what, ticket = heapq.heappop(queue)
        store.clock_offset = now
        name_of = f"judge {e}"
        if what == "asks":
            got = campaign.ask(name_of)
            if isinstance(got, eh.campaigns.NoTicket):
                finished = got.reason == "finished"
                wait = LEASE / 4 if got.again_in is None else max(got.again_in, 0.5)
                heapq.heappush(queue, (now + wait + rng.random(), e, "asks", None))
                continue
            takes = 20.0 * float(np.exp(SPREAD * rng.normal()))
            drawn = rng.random()
            if drawn < VANISHES:  # comes back without the ticket, which turns up another day
                heapq.heappush(queue, (now + 2 * LEASE, e, "asks", None))
                heapq.heappush(queue, (now + 6 * LEASE, e, "finds", got))
            elif drawn < VANISHES + FAILS:
                heapq.heappush(queue, (now + takes, e, "fails", got))
            else:
                heapq.heappush(queue, (now + takes, e, "tells", got))
            continue
        assert ticket is not None
        if what == "fails":
            failed += campaign.fail(ticket, "no idea").done
        else:
            favour = list(options.values())[ticket.question.option] == judges[name_of]
            score = values[ticket.question.option] + FAVOUR * favour + lenient[e]
            score += NOISE * float(
                np.random.default_rng([seed, ticket.number, ticket.attempt]).normal()
            )
            receipt = campaign.tell(ticket, score)
            told[ticket.id] += receipt.counted and not receipt.repeated
            late += not receipt.counted
            if rng.random() < REPEATS:
                repeated += 1
                assert campaign.tell(ticket, score).repeated
        if what != "finds":
            heapq.heappush(queue, (now + 0.1, e, "asks", None))
    answer, status = campaign.answer(), campaign.status()
    if status.evaluations != sum(told.values()) or max(told.values()) > 1:
        raise AssertionError(f"{status.evaluations} count, {sum(told.values())} were told")
    return Outcome(answer.sure, answer.option == best, answer.spent, late, failed, repeated)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=1000)
    parser.add_argument("--gap", type=float, default=0.7)
    parser.add_argument("--confidence", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the store is; best in memory")
    given = parser.parse_args(argv)
    console = Console()
    outcomes = []
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for run in range(given.campaigns):
            with open_store(Path(folder) / f"{run % 20}.db") as store:
                outcomes.append(
                    simulate(store, f"run {run}", given.gap, given.confidence, given.seed + run)
                )
    n = len(outcomes)
    sure = sum(one.sure for one in outcomes)
    wrong = sum(one.sure and not one.right for one in outcomes)
    upper = float(stats.beta.ppf(0.975, wrong + 1, n - wrong))
    spent = np.median([one.spent for one in outcomes])
    console.print(
        f"{n} campaigns of {EVALUATORS} evaluators, gap {given.gap:g}, confidence "
        f"{given.confidence:g}: {sure} sure, {wrong} of them wrong ({wrong / n:.1%} of all, at "
        f"most {upper:.1%}); {sum(one.right for one in outcomes) / n:.1%} right; median "
        f"{spent:.0f} evaluations, {sum(one.late for one in outcomes)} came late, "
        f"{sum(one.failed for one in outcomes)} failed, {sum(one.repeated for one in outcomes)} "
        "were told twice."
    )


if __name__ == "__main__":
    main()
