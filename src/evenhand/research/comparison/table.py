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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats
from evenhand.report.model import Report, Result
from evenhand.research.comparison.instances import Benchmark, Instance, Suite
from evenhand.research.comparison.measure import ORACLE, PAPER, Outcome

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CERTAIN = 2.0  # standard errors

RATIOS = ("over_limit", "over_rival", "over_best", "below_paper")


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
    >>> from evenhand.research.comparison import QUICK, entrants, measure
    >>> small = dataclasses.replace(QUICK.only(["skating"]).over([2000]), replications=3)
    >>> players = entrants(["fair-phased-elimination", "uniform"])
    >>> comparison = Comparison(small, 0, measure(small, players))
    >>> rows = comparison.suites()
    >>> bool(abs(rows["over_rival"].prod() - 1) < 1e-12)     # two policies: each other's rival
    True
    """

    benchmark: Benchmark
    seed: int
    outcomes: tuple[Outcome, ...]

    def _report(self) -> Report:
        from evenhand.research.comparison.sections import report_of  # noqa: PLC0415

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "replications": self.benchmark.replications,
            "policies": list(self.names),
            "suites": self.suites().to_dict("records"),
            "instances": self.instances().to_dict("records"),
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.research.comparison.figure import (  # noqa: PLC0415 # slow to load
            comparison_picture,
            draw_comparison_picture,
        )

        return draw_comparison_picture(comparison_picture(self), axes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Who took part, in the order in which they were named."""
        return tuple(dict.fromkeys(outcome.name for outcome in self.outcomes))

    @cached_property
    def _limits(self) -> tuple[float, ...]:
        """What no policy can beat, of each instance."""
        return tuple(each.shape.limit(each.horizon) for each in self.benchmark.instances)

    def instances(self) -> pd.DataFrame:
        """Return a row per instance and policy; NaN for who did not take part.

        Columns: suite, instance, horizon, policy, mean, se, median, q90, max, wrong (share of runs
        that recommend an option that is not a best one), limit_name, limit, over_limit, rival (the
        best of the others), over_rival, se_over_rival, over_best, below_paper, n (runs of every
        problem), refusal. Median, q90, max and wrong are over the runs of all problems together.
        Where evaluations are counted, se_over_limit is the standard error of over_limit, and
        certified the share of runs that said that they were sure.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        rows = []
        for instance, limit in zip(self.benchmark.instances, self._limits, strict=True):
            rows += [self._row(outcome, limit) for outcome in self._on(instance)]
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
        frame = self.instances()
        for suite in self.benchmark.suites:
            for horizon in suite.horizons:
                part = frame[(frame["suite"] == suite.name) & (frame["horizon"] == horizon)]
                for name in self.names:
                    own = part[(part["policy"] == name) & part["refusal"].isna()]
                    row: dict[str, Any] = {"suite": suite.name, "horizon": horizon, "policy": name}
                    row |= {ratio: geometric_mean(own[ratio]) for ratio in RATIOS}
                    row["worst_over_limit"] = own["over_limit"].max()
                    row["worst_over_rival"] = own["over_rival"].max()
                    played = [i for i in suite.instances if i.horizon == horizon]
                    row["se_over_rival"] = row["over_rival"] * self._rival_error(name, played)
                    row["wrong"] = own["wrong"].mean()
                    row |= {"played": len(own), "instances": len(suite.shapes)}
                    if self.benchmark.counted == "evaluations":
                        each = [self._of(name, instance) for instance in played]
                        row["se_over_limit"] = row["over_limit"] * relative_error(
                            [(one, None) for one in each if one.refusal is None]
                        )
                        row["certified"] = own["certified"].mean()
                    rows.append(row)
        return pd.DataFrame(rows)

    def refusals(self) -> dict[tuple[str, str], str]:
        """Return who did not take part in which suite, or part of it, with the first reason."""
        found: dict[tuple[str, str], str] = {}
        for outcome in self.outcomes:
            if outcome.refusal is not None:
                found.setdefault((outcome.instance.suite, outcome.name), outcome.refusal)
        return found

    def margin(self, name: str, suite: Suite) -> Margin | None:
        """Return how a policy did in a suite against its best rival; None if it had none."""
        margins = []
        for rival in self.names:
            if rival in (name, ORACLE):
                continue
            both = [
                (self._of(rival, instance), self._of(name, instance))
                for instance in suite.instances
            ]
            both = [(one, two) for one, two in both if one.claims and two.refusal is None]
            if both:
                times = geometric_mean([ratio(one.mean, two.mean) for one, two in both])
                margins.append(Margin(rival, times, relative_error(both)))
        return min(margins, key=lambda margin: margin.times, default=None)

    @cached_property
    def _by_instance(self) -> dict[Instance, list[Outcome]]:
        found: dict[Instance, list[Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.instance, []).append(outcome)
        return found

    def _on(self, instance: Instance) -> list[Outcome]:
        return self._by_instance[instance]

    def _rival(self, outcome: Outcome) -> Outcome | None:
        """Return the best of the others."""
        others = [
            other
            for other in self._on(outcome.instance)
            if other.claims and other.name not in (outcome.name, ORACLE)
        ]
        return min(others, key=lambda other: other.mean, default=None)

    def _row(self, outcome: Outcome, limit: float) -> dict[str, Any]:
        instance, own = outcome.instance, outcome.mean
        rival = self._rival(outcome)
        rival_mean = math.nan if rival is None else rival.mean
        least = [o.mean for o in self._on(instance) if o.name != ORACLE and o.claims]
        paper = [o.mean for o in self._on(instance) if o.name == PAPER]
        played = outcome.refusal is None
        over_rival = ratio(own, rival_mean)
        tails: dict[str, Callable[[Floats], float]] = {
            "median": lambda cost: float(np.median(cost)),
            "q90": lambda cost: float(np.quantile(cost, 0.9)),
            "max": lambda cost: float(cost.max()),
        }
        row = {
            "suite": instance.suite,
            "instance": instance.shape.words,
            "horizon": instance.horizon,
            "policy": outcome.name,
            "mean": own,
            "se": outcome.error,
            **{name: f(outcome.cost) if played else math.nan for name, f in tails.items()},
            "wrong": float(outcome.wrong.mean()) if played else math.nan,
            "limit_name": instance.shape.limit_name,
            "limit": limit,
            "over_limit": ratio(own, limit),
            "rival": None if rival is None else rival.name,
            "over_rival": over_rival,
            "se_over_rival": over_rival * self._rival_error(outcome.name, [instance]),
            "over_best": ratio(own, min(least, default=math.nan)),
            "below_paper": ratio(paper[0] if paper else math.nan, own),
            "n": outcome.cost.shape[1],
            "refusal": outcome.refusal,
        }
        if outcome.certified is not None:
            row["se_over_limit"] = outcome.error / limit
            row["certified"] = float(outcome.certified.mean()) if played else math.nan
        return row

    def _of(self, name: str, instance: Instance) -> Outcome:
        return next(outcome for outcome in self._on(instance) if outcome.name == name)

    def _rival_error(self, name: str, instances: Sequence[Instance]) -> float:
        """Return the relative standard error of R_P over that of its best rival, instance-wise."""
        pairs = []
        for instance in instances:
            own = self._of(name, instance)
            rival = self._rival(own)
            if own.refusal is None and rival is not None:
                pairs.append((own, rival))
        return relative_error(pairs)


def relative_error(pairs: Sequence[tuple[Outcome, Outcome | None]]) -> float:
    """Return the relative standard error of the geometric mean of R_P/R_Q over pairs (P, Q).

    None stands for a number that is known, such as a limit.

    log R̄_P − log R̄_Q moves with replication i by (R_{P,i}/R̄_P − R_{Q,i}/R̄_Q)/n, to first order.
    All policies and instances share the noise of replication i, so these are averaged over the
    pairs before their spread over i is taken. NaN for a single replication, or a mean of 0.
    """
    if not pairs or any(one is not None and one.mean <= 0 for pair in pairs for one in pair):
        return math.nan
    moves = np.mean([_moves(one) - _moves(two) for one, two in pairs], axis=0)
    return float(moves.std(ddof=1) / np.sqrt(len(moves))) if len(moves) > 1 else math.nan


def _moves(outcome: Outcome | None) -> Floats:
    """Return R_{P,i}/R̄_P; 0 for what does not move."""
    if outcome is None:
        return np.zeros(1)
    return outcome.per_replication / outcome.mean


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
