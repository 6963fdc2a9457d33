"""What becomes of the best candidate when judges are lenient or severe, and the draw is not fair.

Twenty-four candidates in four heats, six judges, three in every heat; each judge adds something of
its own to all its scores. The jury's verdict by mean scores, by scores standardised judge by judge,
and by evenhand, which estimates worth and leniency together, against what is true.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small solves

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

import evenhand as eh

Floats = NDArray[np.float64]

CANDIDATES, HEATS, JUDGES = 24, 4, 6
WORTH, LENIENCY, NOISE = 1.0, 1.0, 0.5
"""Standard deviations: of what candidates are worth, of what judges add, of the rest."""

STRETCH = 0.25
"""Standard deviation of the logarithm of how far judges stretch the scale, where they do."""

DRAWS = {
    "every judge sees all": "all",
    "heats drawn by lot": "lot",
    "heats by last year's rank": "rank",
    "the same, by judges who stretch the scale": "stretch",
}
RULES = ("mean score", "standardised by judge", "evenhand")


@dataclass(frozen=True, eq=False)
class Jury:
    """A jury's scores, and what is true."""

    worth: Floats
    heat: NDArray[np.intp]
    leniency: Floats
    scores: Floats
    """(candidates, judges); NaN where a judge did not see a candidate."""

    @property
    def table(self) -> pd.DataFrame:
        """The scores, a row each."""
        who, by = np.nonzero(np.isfinite(self.scores))
        return pd.DataFrame(
            {
                "candidate": [f"C{i + 1}" for i in who],
                "judge": [f"J{j + 1}" for j in by],
                "score": self.scores[who, by],
            }
        )


def jury(draw: str, rng: np.random.Generator) -> Jury:
    """Return a jury: heat h is judged by judges h, h + 1 and h + 2."""
    worth = WORTH * rng.normal(size=CANDIDATES)
    last_year = worth + 0.5 * WORTH * rng.normal(size=CANDIDATES)
    seeded = draw in ("rank", "stretch")
    order = np.argsort(last_year) if seeded else rng.permutation(CANDIDATES)
    heat = np.empty(CANDIDATES, dtype=np.intp)
    heat[order] = np.arange(CANDIDATES) * HEATS // CANDIDATES
    leniency = LENIENCY * rng.normal(size=JUDGES)
    scores = worth[:, None] + leniency + NOISE * rng.normal(size=(CANDIDATES, JUDGES))
    if draw == "stretch":
        scores *= np.exp(STRETCH * rng.normal(size=JUDGES))
    if draw != "all":
        place = np.arange(JUDGES) - heat[:, None]
        scores = np.where((place >= 0) & (place <= JUDGES - HEATS), scores, np.nan)
    return Jury(worth, heat, leniency, scores)


def by_mean(scores: Floats) -> Floats:
    return np.nanmean(scores, axis=1)


def by_standardised(scores: Floats) -> Floats:
    z = (scores - np.nanmean(scores, axis=0)) / np.nanstd(scores, axis=0, ddof=1)
    return np.nanmean(z, axis=1)


def by_evenhand(held: Jury) -> eh.Answer:
    """Have the same scores decided: every judge is asked for the scores that it gave."""
    questions = eh.Questions.from_scores(
        held.table,
        columns={"option": "candidate", "evaluator": "judge", "score": "score"},
        only_seen=True,
    )
    given = {(row.candidate, row.judge): row.score for row in held.table.itertuples()}

    def evaluate(question: eh.Question) -> float:
        return float(given[question.label, question.evaluator])

    return eh.choose(questions, evaluate, progress=False)


def values(answer: eh.Answer) -> Floats:
    """Return what candidates are worth by an answer, in their own order."""
    found = answer.standings.set_index("option")["value"]
    return np.array([found[f"C{i + 1}"] for i in range(CANDIDATES)])


@dataclass(frozen=True)
class Verdict:
    """What a rule made of a jury."""

    right: bool
    correlation: float
    top_heat: float
    """Places that the candidates of the last heat lose, on average, against their true places."""


def verdict(held: Jury, estimate: Floats) -> Verdict:
    places = stats.rankdata(-estimate) - stats.rankdata(-held.worth)
    return Verdict(
        int(np.argmax(estimate)) == int(np.argmax(held.worth)),
        float(stats.spearmanr(estimate, held.worth).statistic),
        float(places[held.heat == HEATS - 1].mean()),
    )


def verdicts(draw: str, n: int, seed: int) -> Iterator[tuple[str, Verdict, bool | None]]:
    """Yield rule, verdict and, of evenhand, whether it was sure, for n juries."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        held = jury(draw, rng)
        answer = by_evenhand(held)
        yield RULES[0], verdict(held, by_mean(held.scores)), None
        yield RULES[1], verdict(held, by_standardised(held.scores)), None
        yield RULES[2], verdict(held, values(answer)), answer.sure


def measured(n: int, seed: int, only: str = "") -> pd.DataFrame:
    """Return a row for every draw whose name has this text, rule and jury."""
    rows = [
        (words, rule, one.right, one.correlation, one.top_heat, sure)
        for words, draw in DRAWS.items()
        if only in words
        for rule, one, sure in verdicts(draw, n, seed)
    ]
    return pd.DataFrame(rows, columns=["draw", "rule", "right", "correlation", "lost", "sure"])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--juries", type=int, default=1_000, help="juries of every draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="draws whose name has this text")
    arguments = parser.parse_args(argv)
    found = measured(arguments.juries, arguments.seed, arguments.only)
    print("| draw | rule | right winner | rank correlation | places lost by the last heat |")
    print("| --- | --- | --- | --- | --- |")
    for (draw, rule), one in found.groupby(["draw", "rule"], sort=False):
        error = 100 * np.sqrt(one["right"].mean() * (1 - one["right"].mean()) / len(one))
        print(
            f"| {draw} | {rule} | {100 * one['right'].mean():.1f} ± {error:.1f}% | "
            f"{one['correlation'].mean():.3f} | {one['lost'].mean():+.2f} |"
        )
    print()
    for draw, one in found[found["rule"] == RULES[2]].groupby("draw", sort=False):
        sure = one[one["sure"].astype(bool)]
        wrong = int((~sure["right"]).sum())
        print(f"{draw}: evenhand is sure of {len(sure)} of {len(one)} winners, wrongly of {wrong}.")


if __name__ == "__main__":
    main()
