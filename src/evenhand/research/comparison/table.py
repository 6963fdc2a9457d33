"""What the numbers say: means and tails, ratios to the limit and to the best rival.

Notation
--------
R_P            mean regret of policy P on an instance; or its mean evaluations until it is sure
÷ limit        R_P over what no policy can beat, where there is such a limit
÷ best rival   R_P over the least R_Q of the others; below 1 for the best, and by how much
÷ best         R_P over the least R_Q of all; 1 for the best
below FPE      R of Fair Phased Elimination over R_P: how many times less is lost

Over a suite, ratios are averaged geometrically: twice as much here and half as much there is
neither better nor worse. The oracle knows the bias and counts as nobody's rival. So does, where
evaluations are counted, a policy that is not sure in half of its runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.report.model import (
    Cell,
    Picture,
    Points,
    Report,
    Result,
    Section,
    Share,
    Strong,
    Table,
)
from evenhand.report.words import counted, number
from evenhand.research.comparison.measure import Outcome
from evenhand.research.comparison.suites import Benchmark, Instance, short_power

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLAGSHIP = "priced-exploration"
SUREST = "certain-choice"
"""The policy to use where certainty is wanted."""
ORACLE = "oracle"
"""Knows the bias: drawn beside the others, and nobody's rival."""
PAPER = "fair-phased-elimination"

_CERTAIN = 2.0  # standard errors
_RATIOS = ("over_limit", "over_rival", "over_best", "below_paper")

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


@dataclass(frozen=True)
class Margin:
    """How a policy did in a suite against the one that came closest to it or beat it."""

    rival: str
    times: float  # how many times as much the rival lost; geometric mean over what both played
    error: float  # relative standard error of that

    @property
    def verdict(self) -> int:
        """1 ahead, −1 behind, 0 for what two standard errors may explain."""
        noise = math.exp(_CERTAIN * self.error)
        if 1 / noise <= self.times <= noise:
            return 0
        return 1 if self.times > 1 else -1


@dataclass(frozen=True, eq=False)
class Comparison(Result):
    """What came of a benchmark.

    Examples
    --------
    >>> import dataclasses
    >>> from evenhand.research.comparison import chosen, entrants, measure
    >>> small = dataclasses.replace(chosen(["skating"]).over([2000]), replications=3)
    >>> players = entrants(["fair-phased-elimination", "uniform"])
    >>> comparison = Comparison(small, 0, measure(small, players))
    >>> rows = comparison.suites()
    >>> bool(abs(rows["over_rival"].prod() - 1) < 1e-12)     # two policies: each other's rival
    True
    """

    benchmark: Benchmark
    seed: int
    outcomes: tuple[Outcome, ...]

    @property
    def counts_evaluations(self) -> bool:
        """Whether evaluations are counted, and not regret."""
        return self.benchmark.counted == "evaluations"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Who took part, in the order in which they were named."""
        return tuple(dict.fromkeys(outcome.name for outcome in self.outcomes))

    @cached_property
    def _by_instance(self) -> dict[Instance, dict[str, Outcome]]:
        found: dict[Instance, dict[str, Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.instance, {})[outcome.name] = outcome
        return found

    def instances(self) -> pd.DataFrame:
        """Return a row per instance and policy; NaN for who did not take part.

        Columns: suite, instance, horizon, policy, mean, se, median, q90, max, wrong (share of runs
        that recommend an option that is not a best one), limit_name, limit, over_limit, rival (the
        best of the others), over_rival, se_over_rival, over_best, below_paper, n (runs of every
        problem), refusal. Median, q90, max and wrong are over the runs of all problems together.
        Where evaluations are counted, se_over_limit is the standard error of over_limit, and
        certified the share of runs that said that they were sure.
        """
        return self._rows.copy()

    @cached_property
    def _rows(self) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 # slow to load

        rows = []
        for instance, on in self._by_instance.items():
            limit, rivals = instance.limit(), [o for o in on.values() if _is_rival(o)]
            least = min((one.mean for one in rivals), default=math.nan)
            paper = on[PAPER].mean if PAPER in on else math.nan
            for own in on.values():
                rival = self._rival(own)
                over_rival = ratio(own.mean, math.nan if rival is None else rival.mean)
                pairs = [(own, rival)] if rival and own.refusal is None else []
                costs = own.cost if own.cost.size else np.array([math.nan])
                row = {
                    "suite": instance.suite,
                    "instance": instance.words,
                    "horizon": instance.horizon,
                    "policy": own.name,
                    "mean": own.mean,
                    "se": own.error,
                    "median": float(np.median(costs)),
                    "q90": float(np.quantile(costs, 0.9)),
                    "max": float(costs.max()),
                    "wrong": _mean(own.wrong),
                    "limit_name": instance.limit_name,
                    "limit": limit,
                    "over_limit": ratio(own.mean, limit),
                    "rival": None if rival is None else rival.name,
                    "over_rival": over_rival,
                    "se_over_rival": over_rival * relative_error(pairs),
                    "over_best": ratio(own.mean, least),
                    "below_paper": ratio(paper, own.mean),
                    "n": own.cost.shape[1],
                    "refusal": own.refusal,
                }
                if own.certified is not None:
                    row["se_over_limit"] = own.error / limit
                    row["certified"] = _mean(own.certified)
                rows.append(row)
        return pd.DataFrame(rows)

    def suites(self) -> pd.DataFrame:
        """Return a row per suite, horizon and policy: geometric means over the instances.

        Columns: suite, horizon, policy, over_limit, over_rival, over_best and below_paper
        (geometric means over the instances it took part in), worst_over_limit, worst_over_rival
        (largest of an instance), se_over_rival, wrong (mean), played and instances (how many).
        Where evaluations are counted, also se_over_limit and certified (mean).
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        rows = []
        frame = self._rows.assign(
            outcome=[o for on in self._by_instance.values() for o in on.values()]
        )
        for key, part in frame.groupby(["suite", "horizon", "policy"], sort=False):
            own = part[part["refusal"].isna()]
            faced = [(one, rival) for one in own["outcome"] if (rival := self._rival(one))]
            row: dict[str, Any] = dict(zip(("suite", "horizon", "policy"), key, strict=True))
            row |= {one: geometric_mean(own[one]) for one in _RATIOS}
            row |= {f"worst_{one}": own[one].max() for one in _RATIOS[:2]}
            row["se_over_rival"] = row["over_rival"] * relative_error(faced)
            row |= {"wrong": own["wrong"].mean(), "played": len(own), "instances": len(part)}
            if self.counts_evaluations:
                error = relative_error([(one, None) for one in own["outcome"]])
                row["se_over_limit"] = row["over_limit"] * error
                row["certified"] = own["certified"].mean()
            rows.append(row)
        return pd.DataFrame(rows)

    def _rival(self, own: Outcome) -> Outcome | None:
        """Return the best of the others on an instance."""
        others = (one for one in self._by_instance[own.instance].values() if _is_rival(one))
        return min((o for o in others if o is not own), key=lambda one: one.mean, default=None)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return who did not take part in which suite, or part of it, with the first reason."""
        found: dict[tuple[str, str], str] = {}
        for outcome in self.outcomes:
            if outcome.refusal is not None:
                found.setdefault((outcome.instance.suite, outcome.name), outcome.refusal)
        return found

    def _margin(self, name: str, suite: Sequence[Instance]) -> Margin | None:
        """Return how a policy did in a suite against its best rival; None if it had none."""
        margins = []
        for rival in self.names:
            on = [self._by_instance[one] for one in suite if rival not in (name, ORACLE)]
            both = [(one[rival], one[name]) for one in on]
            both = [(one, two) for one, two in both if one.claims and two.refusal is None]
            if both:
                times = geometric_mean([ratio(one.mean, two.mean) for one, two in both])
                margins.append(Margin(rival, times, relative_error(both)))
        return min(margins, key=lambda margin: margin.times, default=None)

    @cached_property
    def ranking(self) -> tuple[str, ...]:
        """Who took part, the one that needs least first; the oracle is not among them."""
        frame = self._rows
        rivals = frame[frame["refusal"].isna() & (frame["policy"] != ORACLE)]
        # Every suite counts the same, however many instances it has.
        scores = {
            str(name): geometric_mean(
                [geometric_mean(part["over_best"]) for _, part in own.groupby("suite")]
            )
            for name, own in rivals.groupby("policy", sort=False)
        }
        return tuple(sorted(scores, key=lambda name: scores[name]))

    @property
    def subject(self) -> str:
        """The policy that is spoken of: ours if it took part, or else the best."""
        # who is mostly unsure asks for as little as it likes, and is not spoken of
        claiming = {one.name for one in self.outcomes if one.claims}
        spoken_of = [name for name in self.ranking if name in claiming] or self.ranking
        ours = SUREST if self.counts_evaluations else FLAGSHIP
        return ours if ours in self.ranking else spoken_of[0]

    @property
    def played(self) -> dict[str, tuple[Instance, ...]]:
        """The suites in which anybody took part."""
        names = {one.instance.suite for one in self.outcomes if one.refusal is None}
        return {name: suite for name, suite in self.benchmark.suites.items() if name in names}

    @property
    def verdict(self) -> str:
        """How the policy that is spoken of did, without a full stop."""
        margins = {s[0].title: self._margin(self.subject, s) for s in self.played.values()}
        return finding(
            self.subject,
            {title: margin for title, margin in margins.items() if margin is not None},
            "asks" if self.counts_evaluations else "loses",
        )

    def _report(self) -> Report:
        refusals, rows = self.refusals(), self.suites()
        reasons = {why: mark for mark, why in enumerate(dict.fromkeys(refusals.values()), 1)}
        sections = []
        for (name, T), part in rows.groupby(["suite", "horizon"], sort=False):
            marks = {who: reasons[why] for (where, who), why in refusals.items() if where == name}
            sections.append(self._of_suite(self.benchmark.suites[name], part, T, marks))
        missing = [f"[{mark}] does not take part: {reason}" for reason, mark in reasons.items()]
        drawn = Picture("comparison", self.plot, "Every suite; the numbers are in the tables.")
        said = _CERTAIN_WORDS if self.counts_evaluations else _REGRET_WORDS
        runs = f"{self.benchmark.replications:,} runs per problem, seed {self.seed}"
        return Report(
            "Which policy loses least?",
            f"{self.verdict}.",
            sections=[
                *sections,
                Section("How to read it", [Points(missing), said.format(runs=runs)], "print"),
                Section("In a picture", [drawn], "file"),
            ],
        )

    def _of_suite(
        self, suite: Sequence[Instance], rows: pd.DataFrame, horizon: int, marks: Mapping[str, int]
    ) -> Section:
        """Return a table of the policies over one horizon, the one that lost least first."""
        own = rows.sort_values("over_best", kind="stable")
        own = own.iloc[(own["policy"] == ORACLE).argsort(kind="stable")]
        # What people compare with: the proven bound, or the paper's algorithm
        yard = "÷ limit" if self.counts_evaluations else "÷ bound"
        columns = {yard: "over_limit", "÷ rival": "over_rival", "worst": "worst_over_limit"}
        if not all(one.binding for one in suite):
            columns = {"FPE ÷": "below_paper", "÷ rival": "over_rival", "worst": "worst_over_rival"}
        columns = {title: key for title, key in columns.items() if own[key].notna().any()}
        shares = ({"sure": "certified"} if self.counts_evaluations else {}) | {"wrong": "wrong"}
        cells: list[list[Cell]] = []
        for row in own.to_dict("records"):
            name = row["policy"] + (f" [{marks[row['policy']]}]" if row["policy"] in marks else "")
            numbers: list[Cell] = [float(row[key]) for key in columns.values()]
            if not math.isnan(row.get("se_over_limit", math.nan)):
                numbers[0] = f"{number(row['over_limit'])} ± {number(2.0 * row['se_over_limit'])}"
            ours = row["policy"] in (FLAGSHIP, SUREST)
            said = [None if math.isnan(row[key]) else Share(row[key]) for key in shares.values()]
            cells.append([Strong(name) if ours else name, *numbers, *said])
        n = counted(int(rows["instances"].iloc[0]), "instance")
        title = f"{suite[0].title} ({n}), T = {short_power(horizon)}"
        return Section(title, [Table(title, ["policy", *columns, *shares], cells)], "print")

    def _record(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "replications": self.benchmark.replications,
            "policies": list(self.names),
            "suites": self.suites().to_dict("records"),
            "instances": self.instances().to_dict("records"),
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.research.comparison.figure import draw_comparison  # noqa: PLC0415 # slow to load

        return draw_comparison(self, axes)


def finding(subject: str, margins: Mapping[str, Margin], verb: str = "loses") -> str:
    """Say in one sentence how a policy did in every suite; what noise may explain is level."""
    if not margins:
        return f"{subject} has no rivals"
    ahead = [margin.times for margin in margins.values() if margin.verdict > 0]
    level = sum(margin.verdict == 0 for margin in margins.values())
    behind = [title for title, margin in margins.items() if margin.verdict < 0]
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
        sentence += f"; {level} {'is' if level == 1 else 'are'} level"
    if behind:
        worst = min(behind, key=lambda title: margins[title].times)
        margin = margins[worst]
        much = _times(1 / margin.times)
        sentence += f"; on “{worst}” it {verb} {much} times as much as {margin.rival}"
    return sentence


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _is_rival(one: Outcome) -> bool:
    return one.claims and one.name != ORACLE


def _mean(marks: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """Return how often something was the case; NaN for who did not take part."""
    return float(marks.mean()) if marks.size else math.nan


def relative_error(pairs: Sequence[tuple[Outcome, Outcome | None]]) -> float:
    """Return the relative standard error of the geometric mean of R_P/R_Q over pairs (P, Q).

    None stands for a number that is known, such as a limit.

    log R̄_P − log R̄_Q moves with replication i by (R_{P,i}/R̄_P − R_{Q,i}/R̄_Q)/n, to first order.
    All policies and instances share the noise of replication i, so these are averaged over the
    pairs before their spread over i is taken. NaN for a single replication, or a mean of 0.
    """
    if not pairs or any(one is not None and one.mean <= 0 for pair in pairs for one in pair):
        return math.nan
    moves = np.mean([one.moves - (0.0 if two is None else two.moves) for one, two in pairs], axis=0)
    return float(moves.std(ddof=1) / np.sqrt(len(moves))) if len(moves) > 1 else math.nan


def ratio(above: float, below: float) -> float:
    """Return a quotient: infinite where something is compared with nothing, 1 for two nothings."""
    if below == 0.0:
        return 1.0 if above == 0.0 else math.inf if above > 0 else math.nan
    return above / below


def geometric_mean(values: ArrayLike) -> float:
    """Return the geometric mean of numbers ≥ 0; NaN if there are none."""
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) == 0 or np.isnan(numbers).any():
        return math.nan
    if (numbers == 0.0).any():
        return 0.0
    return float(np.exp(np.log(numbers).mean()))
