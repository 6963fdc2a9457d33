"""A comparison in words: who loses least, by how much, suite by suite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from evenhand.report.model import (
    Cell,
    Note,
    Picture,
    Points,
    Report,
    Section,
    Share,
    Strong,
    Table,
)
from evenhand.report.words import counted, number
from evenhand.research.comparison.instances import Suite, short_power
from evenhand.research.comparison.measure import FLAGSHIP, ORACLE, SUREST
from evenhand.research.comparison.table import Margin, geometric_mean

if TYPE_CHECKING:
    from evenhand.research.comparison.table import Comparison

_REGRET_WORDS = (
    "Ratios of mean regrets, geometric means over the instances; {runs}. "
    "÷ rival: over the best of the others, so the best is below 1. ÷ bound: over what no "
    "policy can beat. FPE ÷: times less than Fair Phased Elimination. Worst: the largest ÷ "
    "bound or ÷ rival of an instance. Wrong: runs that recommend an option that is not the "
    "best. The oracle knows the bias and is nobody's rival."
)
_CERTAIN_WORDS = (
    "Mean evaluations until the stop, geometric means over the instances; {runs}. ÷ limit: over "
    "T*·kl(δ, 1 − δ), which no policy that is right with probability 95% can be below; ± two "
    "standard errors over the runs of these problems. Worst: the largest of an instance. ÷ rival: "
    "over the best of the others, of those that are sure in half of their runs or more. Sure: runs "
    "that end with a proof. Wrong: runs that recommend an option that is not the best."
)


def report_of(comparison: Comparison) -> Report:
    """Return what came of a benchmark."""
    refusals = comparison.refusals()
    reasons: dict[str, int] = {}
    rows = comparison.suites()
    sections: list[Section] = []
    for suite in comparison.benchmark.suites:
        own = {name: reason for (where, name), reason in refusals.items() if where == suite.name}
        marks = {name: reasons.setdefault(why, len(reasons) + 1) for name, why in own.items()}
        part = rows[rows["suite"] == suite.name]
        sections += [_of_suite(comparison, suite, part, T, marks) for T in suite.horizons]
    missing = [f"[{mark}] does not take part: {reason}" for reason, mark in reasons.items()]
    drawn = Picture("comparison", comparison.plot, "Every suite; the numbers are in the tables.")
    said = _REGRET_WORDS if comparison.benchmark.counted == "regret" else _CERTAIN_WORDS
    how = Section("How to read it", [Points(missing), Note(said.format(runs=_runs(comparison)))])
    return Report(
        "Which policy loses least?",
        f"{verdict(comparison)}.",
        sections=[
            *sections,
            Section(how.title, how.parts, "print"),
            Section("In a picture", [drawn]),
        ],
    )


def verdict(comparison: Comparison) -> str:
    """Return how the policy that is spoken of did, without a full stop."""
    subject = subject_of(comparison)
    margins = {suite.title: comparison.margin(subject, suite) for suite in _played(comparison)}
    return finding(
        subject,
        {name: found for name, found in margins.items() if found is not None},
        "loses" if comparison.benchmark.counted == "regret" else "asks",
    )


def ranking(comparison: Comparison) -> tuple[str, ...]:
    """Return who took part, the one that needs least first; the oracle is not among them."""
    frame = comparison.instances()
    rivals = frame[frame["refusal"].isna() & (frame["policy"] != ORACLE)]
    # Every suite counts the same, however many instances it has.
    scores = {
        str(name): geometric_mean(
            [geometric_mean(part["over_best"]) for _, part in own.groupby("suite")]
        )
        for name, own in rivals.groupby("policy", sort=False)
    }
    return tuple(sorted(scores, key=lambda name: scores[name]))


def subject_of(comparison: Comparison) -> str:
    """Return the policy that is spoken of: ours if it took part, or else the best."""
    policies = ranking(comparison)
    # who is mostly unsure asks for as little as it likes, and is not spoken of
    claiming = {one.name for one in comparison.outcomes if one.claims}
    spoken_of = [name for name in policies if name in claiming] or policies
    flagship = FLAGSHIP if comparison.benchmark.counted == "regret" else SUREST
    return flagship if flagship in policies else spoken_of[0]


def _played(comparison: Comparison) -> list[Suite]:
    played = {one.instance.suite for one in comparison.outcomes if one.refusal is None}
    return [suite for suite in comparison.benchmark.suites if suite.name in played]


def finding(subject: str, margins: Mapping[str, Margin], verb: str = "loses") -> str:
    """Say in one sentence how a policy did in every suite; what noise may explain is level."""
    if not margins:
        return f"{subject} has no rivals"
    ahead = [margin.times for margin in margins.values() if margin.verdict > 0]
    level = [title for title, margin in margins.items() if margin.verdict == 0]
    times = ""
    if ahead:
        least, most = _times(min(ahead)), _times(max(ahead))
        span = least if least == most else f"{least} to {most}"
        times = f": the best rival {verb} {span} times as much"
    n = len(margins)
    if len(ahead) == n:
        return f"{subject} {verb} least in {f'all {n} suites' if n > 1 else 'this suite'}{times}"
    sentence = f"{subject} {verb} least in {len(ahead)} of {n} suites{times}"
    if level:
        sentence += f"; {len(level)} {'is' if len(level) == 1 else 'are'} level"
    behind = [title for title, margin in margins.items() if margin.verdict < 0]
    if behind:
        worst = min(behind, key=lambda title: margins[title].times)
        margin = margins[worst]
        sentence += (
            f"; on “{worst}” it {verb} {_times(1 / margin.times)} times as much as {margin.rival}"
        )
    return sentence


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _runs(comparison: Comparison) -> str:
    benchmark = comparison.benchmark
    return f"{benchmark.replications:,} runs per problem, seed {comparison.seed}"


def _of_suite(
    comparison: Comparison, suite: Suite, rows: pd.DataFrame, horizon: int, marks: dict[str, int]
) -> Section:
    """Return a table of the policies over one horizon, the one that lost least first."""
    own = rows[rows["horizon"] == horizon].sort_values("over_best", kind="stable")
    own = own.iloc[(own["policy"] == ORACLE).argsort(kind="stable")]
    # What people compare with: the proven bound, or the paper's algorithm
    counts = comparison.benchmark.counted == "evaluations"
    yard = "÷ limit" if counts else "÷ bound"
    columns = {yard: "over_limit", "÷ rival": "over_rival", "worst": "worst_over_limit"}
    if not (counts or suite.bounded):
        columns = {"FPE ÷": "below_paper", "÷ rival": "over_rival", "worst": "worst_over_rival"}
    columns = {title: key for title, key in columns.items() if own[key].notna().any()}
    shares = ({"sure": "certified"} if counts else {}) | {"wrong": "wrong"}
    cells: list[list[Cell]] = []
    for row in own.to_dict("records"):
        name = row["policy"] + (f" [{marks[row['policy']]}]" if row["policy"] in marks else "")
        numbers: list[Cell] = [float(row[key]) for key in columns.values()]
        if counts and not math.isnan(row["se_over_limit"]):
            numbers[0] = f"{number(row['over_limit'])} ± {number(2.0 * row['se_over_limit'])}"
        cells.append(
            [
                Strong(name) if row["policy"] in (FLAGSHIP, SUREST) else name,
                *numbers,
                *(_share(row[key]) for key in shares.values()),
            ]
        )
    title = f"{suite.title} ({counted(len(suite.shapes), 'instance')}), T = {short_power(horizon)}"
    return Section(title, [Table(title, ["policy", *columns, *shares], cells)], "print")


def _share(value: float) -> Share | None:
    return None if math.isnan(value) else Share(value)
