"""What an audit says of decisions, and how often it is true.

    python benchmarks/audit_verdicts.py safe --runs 400 --seed 1     two options that are equal
    python benchmarks/audit_verdicts.py bent --runs 400 --seed 1     scales that are used unequally
    python benchmarks/audit_verdicts.py grants --runs 300 --seed 1   rounds of applications

In `safe` the two best options are worth exactly the same, so that every 'safe' and 'wrong' is
false; 5% are allowed. In `bent` evaluators favour nobody in the first rows, so that every bias that
is seen is false. In `grants` 48 applications have three or four reviews each, by 14 reviewers
who differ in leniency as much as applications do in worth.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import evenhand as eh
from evenhand.auditing import words
from evenhand.auditing.bias import clustered, plain
from evenhand.auditing.effects import two_way
from evenhand.auditing.scale_use import common_bias
from evenhand.scores import Factor, Scores

Rng = np.random.Generator


def numbered(kind: str, codes: np.ndarray) -> Factor:
    """Return numbers as names of a kind."""
    there, codes = np.unique(codes, return_inverse=True)
    return Factor(codes.reshape(-1).astype(np.int32), tuple(f"{kind} {i}" for i in there.tolist()))


def audited(scores: Scores) -> eh.Audit:
    """Return the audit of scores."""
    effects = two_way(scores)
    return eh.Audit(effects, common_bias(effects, 0.95), plain(effects, 0.95))


# ------------------------------------------------------------------------- safe


@dataclass(frozen=True)
class Tie:
    """Two options of the same worth, 0, at every event, and others behind them.

    Parameters
    ----------
    options, judges, events, items
        How many of each.
    behind
        By how much the others are.
    loud, loud_events
        How many times as loud the two are as the others, and the first event as other events.
    once
        Whether one of the two is scored by one judge only.
    kept
        The share of scores that there are.
    taste
        By how much an evaluator likes an option more than others do, on all items.
    votes
        Whether scores are 0 and 1: a half for the two, 2% for others.
    """

    options: int = 10
    judges: int = 8
    events: int = 1
    items: int = 1
    behind: float = 2.0
    loud: float = 1.0
    loud_events: float = 1.0
    once: bool = False
    kept: float = 1.0
    taste: float = 0.0
    votes: bool = False

    def scores(self, rng: Rng) -> Scores:
        """Return scores; judges favour every fourth option by a half."""
        shape = self.events, self.options, self.items, self.judges
        event, option, item, judge = (codes.ravel() for codes in np.indices(shape))
        there = rng.random(len(event)) < self.kept
        if self.once:
            there &= (option > 0) | (judge == 0)
        event, option, item, judge = (codes[there] for codes in (event, option, item, judge))
        two, own = option < 2, option % 4 == judge % 4
        noise = np.where(two, self.loud, 1.0) * np.where(event == 0, self.loud_events, 1.0)
        y = np.where(two, 0.0, -self.behind) + 0.5 * own + noise * rng.normal(size=len(own))
        y += rng.normal(size=(self.events, self.judges))[event, judge]
        y += (
            self.taste
            * rng.normal(size=(self.events, self.options, self.judges))[event, option, judge]
        )
        if self.votes:
            y = (rng.random(len(own)) < np.where(two, 0.5, 0.02)).astype(float)
        return Scores(
            y,
            numbered("option", option),
            numbered("judge", judge),
            event=numbered("event", event) if self.events > 1 else None,
            item=numbered("item", item) if self.items > 1 else None,
            stated=own.astype(float),
        )


TIES = {
    "10 options, 8 judges": Tie(),
    "10 options, 5 judges": Tie(judges=5),
    "12 options, 10 judges, half of the scores": Tie(12, 10, kept=0.5),
    "one of the two scored by one judge of thirty": Tie(judges=30, behind=0.6, once=True),
    "the same, 4 options": Tie(4, 30, behind=1.0, once=True),
    "an event four times as loud as 7 others": Tie(events=8, behind=8.0, loud_events=4.0),
    "the two twice as loud": Tie(behind=8.0, loud=2.0),
    "the two four times as loud": Tie(behind=8.0, loud=4.0),
    "votes, a half and 2%, 20 judges": Tie(judges=20, votes=True),
    "tastes of 0.6, 30 items, 3 judges": Tie(6, 3, items=30, behind=3.0, taste=0.6),
    "two options, 4 judges, 10 events": Tie(2, 4, events=10),
}


def safe(runs: int, seed: int) -> None:
    """Print how often one of two equal options is said to be safe, or wrong."""
    print("| two options are equal, so that all of it is false | safe, % | wrong, % |")
    print("| --- | --- | --- |")
    for number, (name, tie) in enumerate(TIES.items()):
        rng = np.random.default_rng([seed, number])
        # of several events the first is looked at: only it is loud, and all are drawn alike
        said = Counter(audited(tie.scores(rng)).decisions.verdict[0] for _ in range(runs))
        shares = (f"{100 * said[kind] / runs:.1f}" for kind in ("safe", "wrong"))
        print(f"| {name} | {' | '.join(shares)} |", flush=True)
    print(f"\n{runs:,} tables each, seed {seed}; a share of 5% is off by ±{error(runs):.1f}.")


def error(runs: int) -> float:
    """Return the standard error of a share of 5%, in percent."""
    return 100.0 * float(np.sqrt(0.05 * 0.95 / runs))


# ------------------------------------------------------------------------- bent


@dataclass(frozen=True)
class Bent:
    """20 options and 8 judges of two groups, and scores that are no plain sum.

    Parameters
    ----------
    apart, lenient
        By how much one group of options is worth more than the other, and one group of judges gives
        more, up and down from the middle.
    favour
        What judges add to their own group.
    kind
        What becomes of a sum: "sum", "marks" (1 to 10), "votes", "product", or "stretched" by
        twice as much by one group of judges as by the other.
    level
        Where marks lie.
    """

    apart: float
    lenient: float
    kind: str
    favour: float = 0.0
    level: float = 8.0

    def scores(self, rng: Rng) -> Scores:
        """Return scores."""
        of, by = rng.permutation(np.arange(20) % 2), rng.permutation(np.arange(8) % 2)
        option, judge = (codes.ravel() for codes in np.indices((20, 8)))
        values = (self.apart * (2 * of - 1) + rng.normal(size=20))[option]
        own = (of[option] == by[judge]).astype(float)
        if self.kind == "stretched":
            values = values * np.where(by > 0, 1.4, 0.7)[judge]
        total = values + (self.lenient * (2 * by - 1))[judge] + self.favour * own
        noise = rng.normal(size=160)
        y = {
            "marks": np.clip(np.rint(self.level + total + noise), 1.0, 10.0),
            "votes": (rng.random(160) < 1.0 / (1.0 + np.exp(-1.0 - total))).astype(float),
            "product": np.exp(total + 0.4 * noise),
        }.get(self.kind, total + noise)
        return Scores(y, numbered("option", option), numbered("judge", judge), stated=own)


BENT = {
    "marks cut at 10, the better group before severe judges": Bent(-1.2, 1.0, "marks"),
    "marks cut at 10, the better group before lenient judges": Bent(1.5, 1.0, "marks"),
    "marks cut at 1": Bent(-1.2, 1.0, "marks", level=3.0),
    "votes": Bent(-1.2, 1.2, "votes"),
    "products": Bent(0.5, 0.4, "product"),
    "one group of judges stretches twice as much": Bent(1.0, 0.0, "stretched"),
    "a plain sum": Bent(1.2, 1.0, "sum"),
    "FAVOUR .6, groups worth the same": Bent(0.0, 0.5, "sum", 0.6),
    "FAVOUR .6, groups 1 apart": Bent(0.5, 0.5, "sum", 0.6),
    "FAVOUR .6, groups 2 apart": Bent(1.0, 0.5, "sum", 0.6),
}


def bent(runs: int, seed: int) -> None:
    """Print how often a bias is seen, by plain sums and with unequal use of the scale."""
    print("| scores | seen by a plain sum, % | seen, % |\n| --- | --- | --- |")
    for number, (name, case) in enumerate(BENT.items()):
        rng, seen = np.random.default_rng([seed, number]), np.zeros(2)
        for _ in range(runs):
            effects = two_way(case.scores(rng))
            found = clustered(effects, 0.95), common_bias(effects, 0.95)
            seen += [not bias.covers(0.0) for bias in found]
        print(f"| {name} | {' | '.join(f'{100 * n / runs:.1f}' for n in seen)} |", flush=True)
    print(f"\n{runs:,} tables each, seed {seed}; a share of 5% is off by ±{error(runs):.1f}.")


# ----------------------------------------------------------------------- grants

APPLICATIONS, REVIEWERS, UNIVERSITIES = 48, 14, 7


def grants(favour: float, rng: Rng) -> tuple[Scores, np.ndarray]:
    """Return a round of grants, marks from 1 to 10, and (applications,) what they are worth."""
    worth, lenient = rng.normal(0.0, 1.3, APPLICATIONS), rng.normal(0.0, 1.0, REVIEWERS)
    of_applications = rng.integers(UNIVERSITIES, size=APPLICATIONS).astype(np.int32)
    of_reviewers = (np.arange(REVIEWERS) % UNIVERSITIES).astype(np.int32)
    option = np.repeat(np.arange(APPLICATIONS), rng.integers(3, 5, size=APPLICATIONS))
    firsts = np.searchsorted(option, option)
    deals = rng.permuted(np.tile(np.arange(REVIEWERS), (APPLICATIONS, 1)), axis=1)
    reviewer = deals[option, np.arange(len(option)) - firsts]
    own = of_applications[option] == of_reviewers[reviewer]
    y = 5.5 + worth[option] + lenient[reviewer] + favour * own + rng.normal(0.0, 1.2, len(option))
    scores = Scores(
        np.clip(np.rint(y), 1.0, 10.0),
        numbered("application", option),
        Factor(reviewer.astype(np.int32), tuple(f"reviewer {i}" for i in range(REVIEWERS))),
        groups=tuple(f"university {i}" for i in range(UNIVERSITIES)),
        option_group=of_applications,
        evaluator_group=of_reviewers,
        scale=(1.0, 10.0),
    )
    return scores, worth


def heard(audit: eh.Audit, worth: np.ndarray, favour: float) -> dict[str, bool]:
    """Return which sentences an audit says, and which of them are true."""
    made, said = audit.decisions, words.verdict(audit)
    sentence = words.decided(audit)
    option = made.contests.option
    winner, fair = (int(option[entries[0]]) for entries in (made.winner, made.fair_winner))
    best = int(worth.argmax())
    verdict = made.verdict[0]
    seen = said.startswith("Yes")
    blamed = seen and sentence.startswith("With it taken off")
    (by_bias,) = [rule for rule in made.rules if rule.rule == "bias"]
    return {
        "yes": seen,
        "yes, and there is one": seen and favour != 0.0,
        "not shown, or not seen": said.startswith("No bias"),
        "not shown, and the interval has it": said.startswith("No bias")
        and audit.bias.covers(favour),
        "the bias is blamed for the winner": blamed,
        "blamed, and the mean without it has another": blamed and bool(by_bias.flipped[0]),
        "wrong": verdict == "wrong",
        "wrong, and the winner is not the best": verdict == "wrong" and winner != best,
        "wrong, and the fair winner is better": verdict == "wrong" and worth[fair] > worth[winner],
        "safe": verdict == "safe",
        "safe, and the winner is the best": verdict == "safe" and winner == best,
        "fragile": verdict == "fragile",
    }


def rounds(runs: int, seed: int) -> None:
    """Print how often an audit of grants says what, and how often it is true."""
    favours, totals = (0.8, 0.0), []
    for favour in favours:
        rng = np.random.default_rng([seed, int(10 * favour)])
        drawn = (grants(favour, rng) for _ in range(runs))
        all_heard = [heard(audited(scores), worth, favour) for scores, worth in drawn]
        totals.append({name: sum(one[name] for one in all_heard) for name in all_heard[0]})
    print(f"| of {runs:,} rounds, with a favour of | {' | '.join(map(str, favours))} |")
    print("| --- |" + " --- |" * len(favours))
    for name in totals[0]:
        print(f"| {name} | {' | '.join(f'{total[name]:,}' for total in totals)} |")
    print(f"\nSeed {seed}.")


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("safe", "bent", "grants"))
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiny", action="store_true", help="two tables each")
    given = parser.parse_args(argv)
    runs = 2 if given.tiny else given.runs
    {"safe": safe, "bent": bent, "grants": rounds}[given.what](runs, given.seed)


if __name__ == "__main__":
    main()
