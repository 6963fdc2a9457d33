"""How often what is said of the m best is true, and what more reviews at the line gain.

Rounds of grants, of which ten are funded: 48 applications, 14 reviewers who read twelve each, marks
from 1 to 10, worth with a standard deviation of 1.3, leniency of 1, noise of 1.2, and 0.8 more for
the own university. Then ties at the line, tables that are louder there, and events of a skating
season.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.cases.panels import SkatingPanel, skating_panels

APPLICATIONS, REVIEWERS, UNIVERSITIES, EACH, FUNDED = 48, 14, 7, 12, 10
CATEGORIES, EACH_FUNDED = 4, 3
FAVOUR, NOISE = 0.8, 1.2
BATCH = 12  # reviews that are asked for at a time


@dataclass
class Round:
    """A round of grants whose truth is known; ``tied`` applications at the line are worth alike;
    where there are ``kinds``, the two at the line of each, by just nothing.
    """

    seed: int
    tied: int = 0
    reviews: list[tuple[int, int, float]] = field(default_factory=list)
    kinds: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.rng = rng = np.random.default_rng(self.seed)
        self.worth = rng.normal(0.0, 1.3, APPLICATIONS)
        if self.tied:
            first = FUNDED - self.tied // 2
            alike = np.argsort(-self.worth)[first : first + self.tied]
            self.worth[alike] = self.worth[alike[0]]
        if self.kinds is not None:
            for kind in np.unique(self.kinds):
                some = np.flatnonzero(self.kinds == kind)
                third, fourth = some[np.argsort(-self.worth[some])][EACH_FUNDED - 1 :][:2]
                self.worth[fourth] = self.worth[third] - 1e-9
        self.lenient = rng.normal(0.0, 1.0, REVIEWERS)
        self.applicants = rng.integers(UNIVERSITIES, size=APPLICATIONS)
        self.reviewers = rng.permutation(np.arange(REVIEWERS) % UNIVERSITIES)
        times = np.zeros(APPLICATIONS, dtype=int)
        for who in rng.permutation(REVIEWERS).tolist():
            mine = np.lexsort((rng.random(APPLICATIONS), times))[:EACH]
            times[mine] += 1
            self.review([(x, who) for x in mine.tolist()])

    def review(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Have applications read by reviewers."""
        for x, who in pairs:
            own = self.applicants[x] == self.reviewers[who]
            y = 5.5 + self.worth[x] + self.lenient[who] + FAVOUR * own
            mark = float(np.clip(np.rint(y + NOISE * self.rng.normal()), 1.0, 10.0))
            self.reviews.append((x, who, mark))

    @property
    def table(self) -> pd.DataFrame:
        """The reviews."""
        return pd.DataFrame(
            {
                "option": [f"a{x}" for x, _, _ in self.reviews],
                "evaluator": [f"r{who}" for _, who, _ in self.reviews],
                "score": [mark for _, _, mark in self.reviews],
                "option_group": [f"u{self.applicants[x]}" for x, _, _ in self.reviews],
                "evaluator_group": [f"u{self.reviewers[who]}" for _, who, _ in self.reviews],
            }
        )

    def decide(self, next_n: int = 0) -> eh.Answer:
        """Return who is to be funded."""
        return eh.decide(self.table, top=FUNDED, scale=(1, 10), next_n=next_n)

    def of(self, names: Sequence[str]) -> list[int]:
        """Return applications by their names."""
        return [int(name[1:]) for name in names]

    def lost(self, answer: eh.Answer) -> float:
        """Return what the chosen are worth less than the best, per grant."""
        best = np.sort(self.worth)[-FUNDED:].mean()
        return float(best - self.worth[self.of(answer.chosen)].mean())

    def wrong(self, answer: eh.Answer) -> bool:
        """Tell whether anything that is sure of the line is false."""
        return is_wrong(self.worth, FUNDED, self.of(answer.inside), self.of(answer.outside))


def is_wrong(worth: np.ndarray, m: int, inside: Sequence[int], outside: Sequence[int]) -> bool:
    """Tell whether m are better than one that is in, or fewer as good as one that is out."""
    better = [(worth > worth[x]).sum() >= m for x in inside]
    as_good = [(worth >= worth[x]).sum() - 1 < m for x in outside]
    return any(better) or any(as_good)


def chances(rounds: int, seed: int) -> Iterator[str]:
    """Chances beside how often they came true; what is sure; what is lost."""
    said, true, found, alarms = [], [], [], 0
    for i in range(rounds):
        grants = Round(seed + i)
        answer = grants.decide()
        if answer.alarms:
            alarms += 1
            continue
        standings = answer.standings
        who = grants.of(standings["option"])
        said.append(standings["chance"].to_numpy())
        true.append(np.argsort(np.argsort(-grants.worth))[who] < FUNDED)
        likely = [(said[-1] >= 0.95).sum(), (said[-1] <= 0.05).sum()]
        sure = len(answer.inside), len(answer.outside), grants.wrong(answer)
        lost = answer.expected_loss, grants.lost(answer)
        right = answer.expected_right, true[-1][: len(answer.chosen)].sum()
        found.append([*sure, *likely, *lost, *right])
    p, t = np.concatenate(said), np.concatenate(true)
    yield "| chance said | applications | said, mean | true |"
    yield "| --- | --- | --- | --- |"
    for low in range(0, 100, 10):
        some = (p >= low / 100) & ((p < (low + 10) / 100) | (low == 90))
        if some.any():
            yield (
                f"| {low}–{low + 10}% | {some.sum()} | {100 * p[some].mean():.1f}% | "
                f"{100 * t[some].mean():.1f}% |"
            )
    means = np.mean(found, axis=0)
    yield ""
    yield "| a round has | mean |"
    yield "| --- | --- |"
    yield f"| surely in; surely out | {means[0]:.2f}; {means[1]:.2f} |"
    yield f"| anything sure that is wrong | {100 * means[2]:.1f}% of {len(found)} rounds |"
    yield f"| in, out by a chance of 95% | {means[3]:.2f}; {means[4]:.2f} |"
    yield f"| lost per grant, said; true | {means[5]:.3f}; {means[6]:.3f} |"
    yield f"| of ten right, said; true | {means[7]:.2f}; {means[8]:.2f} |"
    yield f"| an alarm, so that nothing is said | {alarms} of {rounds} rounds |"


def ties(rounds: int, seed: int) -> Iterator[str]:
    """Applications that are worth the same at the line."""
    yield "| tied at the line | rounds | wrong |"
    yield "| --- | --- | --- |"
    for tied in (2, 12):
        wrong = 0
        for i in range(rounds):
            grants = Round(seed + i, tied)
            wrong += grants.wrong(grants.decide())
        yield f"| {tied} | {rounds} | {100 * wrong / rounds:.1f}% |"


def more_reviews(rounds: int, seed: int, batches: int = 8) -> Iterator[str]:
    """What is lost per grant after more reviews: those that are named, or one for everybody."""
    yield "| more reviews | lost per grant, named | for everybody alike |"
    yield "| --- | --- | --- |"
    named, alike = np.zeros((2, rounds, batches + 1))
    for i in range(rounds):
        one, other = Round(seed + i), Round(seed + i)
        for batch in range(batches + 1):
            answer = one.decide(BATCH)
            named[i, batch] = one.lost(answer)
            asked = answer.next_questions
            one.review([(int(q.options[0][1:]), int((q.evaluator or "")[1:])) for q in asked])
            if batch % 4 == 0:
                alike[i, batch] = other.lost(other.decide())
                _one_each(other)
    for batch in range(0, batches + 1, 4):
        n = BATCH * batch
        yield (
            f"| {n} | {named[:, batch].mean():.3f} ± {_error(named[:, batch]):.3f} | "
            f"{alike[:, batch].mean():.3f} ± {_error(alike[:, batch]):.3f} |"
        )


def _error(values: np.ndarray) -> float:
    return float(values.std() / np.sqrt(len(values)))


def _one_each(grants: Round) -> None:
    """Have every application read once more, by somebody who has not."""
    read = {(x, who) for x, who, _ in grants.reviews}
    for x in range(APPLICATIONS):
        free = [who for who in range(REVIEWERS) if (x, who) not in read]
        grants.review([(x, int(grants.rng.choice(free)))])


def categories(rounds: int, seed: int) -> Iterator[str]:
    """Grants by category, three in each of four: one fit of all rows, or rows split; and ties."""
    yield "| funded by | of 12 right | as the mean |"
    yield "| --- | --- | --- |"
    kinds = np.arange(APPLICATIONS) % CATEGORIES
    hits: list[list[float]] = []
    said, true, found, wrong = [], [], [], {"drawn": 0, "tied": 0}
    for i in range(rounds):
        grants = Round(seed + i)
        best = set()
        for kind in range(CATEGORIES):
            some = np.flatnonzero(kinds == kind)
            best |= set(some[np.argsort(-grants.worth[some])][:EACH_FUNDED].tolist())
        table = grants.table
        table["category"] = [f"c{kinds[x]}" for x, _, _ in grants.reviews]
        mean = table.groupby(["category", "option"])["score"].mean().reset_index()
        mean = mean.sort_values("score", ascending=False).groupby("category").head(EACH_FUNDED)
        split: list[str] = []
        for _, rows in table.groupby("category"):
            split += eh.decide(rows, top=EACH_FUNDED, scale=(1, 10), next_n=0).chosen
        answer = eh.decide(table, top=EACH_FUNDED, within="category", scale=(1, 10), next_n=0)
        lists = (list(mean["option"]), split, answer.chosen)
        hits.append([len(best & set(grants.of(names))) for names in lists])
        if not answer.alarms:
            wrong["drawn"] += _wrong_inside(grants, kinds, answer)
            standings = answer.standings
            said.append(standings["chance"].to_numpy())
            true.append([x in best for x in grants.of(standings["option"])])
            lost = [grants.worth[list(one)].sum() for one in (best, grants.of(answer.chosen))]
            apart = (lost[0] - lost[1]) / (CATEGORIES * EACH_FUNDED)
            found.append([len(answer.inside), len(answer.outside), answer.expected_loss, apart])
        tied = Round(seed + i, kinds=kinds)
        table = tied.table
        table["category"] = [f"c{kinds[x]}" for x, _, _ in tied.reviews]
        answer = eh.decide(table, top=EACH_FUNDED, within="category", scale=(1, 10), next_n=0)
        wrong["tied"] += _wrong_inside(tied, kinds, answer)
    right = np.array(hits)
    more = right - right[:, [0]]
    for name, one, other in zip(("the mean", "rows split", "within"), right.T, more.T, strict=True):
        gain = f"{other.mean():+.2f} ± {_error(other):.2f}"
        yield f"| {name} | {one.mean():.2f} ± {_error(one):.2f} | {gain} |"
    yield ""
    p, t = np.concatenate(said), np.concatenate(true)
    bins = [(p >= a) & ((p < a + 0.2) | (a == 0.8)) for a in (0.0, 0.2, 0.4, 0.6, 0.8)]
    yield "chances, said and true: " + "; ".join(
        f"{100 * p[some].mean():.0f}% {100 * t[some].mean():.0f}%" for some in bins if some.any()
    )
    means = np.mean(found, axis=0)
    yield f"surely in; surely out: {means[0]:.2f}; {means[1]:.2f}"
    yield f"lost per grant, said; true: {means[2]:.3f}; {means[3]:.3f}"
    for name, n in wrong.items():
        yield f"anything sure that is wrong, {name}: {100 * n / rounds:.1f}% of {rounds} rounds"


def _wrong_inside(grants: Round, kinds: np.ndarray, answer: eh.Answer) -> bool:
    """Tell whether anything that is sure in a category is false."""
    for kind in range(CATEGORIES):
        some = np.flatnonzero(kinds == kind)
        inside, outside = (
            [int(np.flatnonzero(some == x)[0]) for x in grants.of(names) if kinds[x] == kind]
            for names in (answer.inside, answer.outside)
        )
        if is_wrong(grants.worth[some], EACH_FUNDED, inside, outside):
            return True
    return False


TABLES = {
    "two tied": [6, 4, 2, 2, 0, -1, -2, -3, -4, -5],
    "two tied, others far": [30, 20, 2, 2, -10, -21, -32, -43, -54, -55],
    "six tied": [3, 2, 0, 0, 0, 0, 0, 0, -3, -4],
    "all tied": [0] * 10,
}


def loud(tables: int) -> Iterator[str]:
    """Ten options by nine judges, three wanted; those at the line as loud as others, or twice."""
    yield "| worth | noise at the line | tables | wrong |"
    yield "| --- | --- | --- | --- |"
    for name, values in TABLES.items():
        worth = np.array(values, dtype=float)
        true = worth - 1e-9 * np.arange(10)  # near ties: in the order of their numbers
        for times in (1.0, 2.0):
            wrong, rng = 0, np.random.default_rng(5)
            noise = np.where(worth == worth[2], times, 1.0)
            for _ in range(tables):
                y = worth[:, None] + noise[:, None] * rng.normal(size=(10, 9))
                answer = eh.decide(table_of(y), top=3, next_n=0)
                inside, outside = (
                    [int(x) for x in some] for some in (answer.inside, answer.outside)
                )
                wrong += is_wrong(true, 3, inside, outside)
            yield f"| {name} | {times:g} | {tables} | {100 * wrong / tables:.1f}% |"


def table_of(y: np.ndarray) -> pd.DataFrame:
    """Return scores of options (rows) by judges (columns) as a table."""
    option, judge = np.indices(y.shape).reshape(2, -1)
    return pd.DataFrame(
        {"option": option.astype(str), "evaluator": judge.astype(str), "score": y.ravel()}
    )


def events(panels: Sequence[SkatingPanel]) -> Iterator[str]:
    """Events that real scores settle, by all of them and by a random share."""
    yield "| wanted | scores | events | settled | as the whole panel |"
    yield "| --- | --- | --- | --- | --- |"
    for top in (1, 3):
        whole: list[set[str]] = []
        for share in (1.0, 0.7):
            settled = agree = 0
            for i, panel in enumerate(panels):
                questions = panel.questions()
                kept = np.flatnonzero(np.random.default_rng(i).random(len(questions)) < share)
                table = pd.DataFrame(
                    {
                        "option": [questions.items[x] for x in questions.about[kept, 0].tolist()],
                        "evaluator": [
                            questions.evaluators[x] for x in questions.evaluator[kept].tolist()
                        ],
                        "score": panel.scores[kept],
                    }
                )
                answer = eh.decide(questions, table, top=top, next_n=0)
                if share == 1.0:
                    whole.append(set(answer.chosen))
                settled += answer.sure
                agree += answer.sure and set(answer.chosen) == whole[i]
            yield f"| {top} | {100 * share:.0f}% | {len(panels)} | {settled} | {agree} |"


def speed(sizes: Sequence[tuple[int, int]]) -> Iterator[str]:
    """What a target costs, beside the same answer without one."""
    yield "| options × judges | without, s | top 10, s |"
    yield "| --- | --- | --- |"
    for k, judges in sizes:
        rng = np.random.default_rng(k)
        table = table_of(rng.normal(size=(k, 1)) + rng.normal(size=(k, judges)))
        taken = []
        for top in (None, min(10, k - 1)):
            start = time.process_time()
            eh.decide(table, top=top, next_n=0)
            taken.append(time.process_time() - start)
        yield f"| {k} × {judges} | {taken[0]:.2f} | {taken[1]:.2f} |"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300, help="rounds of grants")
    parser.add_argument("--tables", type=int, default=400, help="tables with ties")
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--only", default="", help="parts whose title has this text")
    parser.add_argument("--tiny", action="store_true", help="just to see that it runs")
    given = parser.parse_args(argv)
    panels = list(skating_panels())
    rounds, tables, seed, batches = given.rounds, given.tables, given.seed, 8
    sizes = [(48, 4), (200, 6), (500, 8)]
    if given.tiny:
        panels, rounds, tables, batches, sizes = panels[::60], 2, 1, 1, [(12, 3)]
    parts = {
        "Grants": lambda: chances(rounds, seed),
        "Ties at the line": lambda: ties(max(1, rounds // 2), seed + 10_000),
        "More reviews": lambda: more_reviews(max(1, rounds // 3), seed + 30_000, batches),
        "Categories": lambda: categories(max(1, rounds // 2), seed + 50_000),
        "Noise at the line": lambda: loud(tables),
        "Real events": lambda: events(panels),
        "Speed": lambda: speed(sizes),
    }
    for title, lines in parts.items():
        if given.only.lower() in title.lower():
            print(f"\n## {title}\n", flush=True)
            for line in lines():
                print(line, flush=True)


if __name__ == "__main__":
    main()
