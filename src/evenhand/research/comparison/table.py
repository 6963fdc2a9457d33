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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

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
        from evenhand.research.comparison.figure import draw_comparison  # noqa: PLC0415 # slow to load

        return draw_comparison(self, axes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Who took part, in the order in which they were named."""
        return tuple(dict.fromkeys(outcome.name for outcome in self.outcomes))

    def instances(self) -> pd.DataFrame:
        """Return a row per instance and policy; NaN for who did not take part.

        Columns: suite, instance, horizon, policy, mean, se, median, q90, max, wrong (share of runs
        that recommend an option that is not a best one), limit_name, limit, over_limit, rival (the
        best of the others), over_rival, se_over_rival, over_best, below_paper, n (runs of every
        problem), refusal. Median, q90, max and wrong are over the runs of all problems together.
        Where evaluations are counted, se_over_limit is the standard error of over_limit, and
        certified the share of runs that said that they were sure.
        """
        return self._instances.copy()

    @cached_property
    def _instances(self) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 # slow to load

        rows = []
        for instance in self.benchmark.instances:
            limit, on = instance.shape.limit(instance.horizon), self._by_instance[instance]
            rivals = [one for one in on.values() if one.claims and one.name != ORACLE]
            least = min((one.mean for one in rivals), default=math.nan)
            paper = on[PAPER].mean if PAPER in on else math.nan
            for own in on.values():
                others = [one for one in rivals if one is not own]
                rival = min(others, key=lambda one: one.mean, default=None)
                over_rival = ratio(own.mean, math.nan if rival is None else rival.mean)
                error = (
                    relative_error([(own, rival)]) if rival and own.refusal is None else math.nan
                )
                costs = own.cost if own.cost.size else np.array([math.nan])
                row = {
                    "suite": instance.suite,
                    "instance": instance.shape.words,
                    "horizon": instance.horizon,
                    "policy": own.name,
                    "mean": own.mean,
                    "se": own.error,
                    "median": float(np.median(costs)),
                    "q90": float(np.quantile(costs, 0.9)),
                    "max": float(costs.max()),
                    "wrong": own.share(own.wrong),
                    "limit_name": instance.shape.limit_name,
                    "limit": limit,
                    "over_limit": ratio(own.mean, limit),
                    "rival": None if rival is None else rival.name,
                    "over_rival": over_rival,
                    "se_over_rival": over_rival * error,
                    "over_best": ratio(own.mean, least),
                    "below_paper": ratio(paper, own.mean),
                    "n": own.cost.shape[1],
                    "refusal": own.refusal,
                }
                if own.certified is not None:
                    row["se_over_limit"] = own.error / limit
                    row["certified"] = own.share(own.certified)
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

        sizes = {suite.name: len(suite.shapes) for suite in self.benchmark.suites}
        rows = []
        keys = ["suite", "horizon", "policy"]
        for (suite, horizon, name), part in self._instances.groupby(keys, sort=False):
            own = part[part["refusal"].isna()]
            row: dict[str, Any] = {"suite": suite, "horizon": horizon, "policy": name}
            row |= {ratio: geometric_mean(own[ratio]) for ratio in RATIOS}
            row |= {f"worst_{one}": own[one].max() for one in ("over_limit", "over_rival")}
            played = [
                (self._by_instance[one][name], self._by_instance[one].get(rival))
                for one in self.benchmark.instances
                if (one.suite, one.horizon) == (suite, horizon)
                for rival in own.loc[own["instance"] == one.shape.words, "rival"]
            ]
            faced = [(one, rival) for one, rival in played if rival is not None]
            row["se_over_rival"] = row["over_rival"] * relative_error(faced)
            row |= {"wrong": own["wrong"].mean(), "played": len(own), "instances": sizes[suite]}
            if self.benchmark.counted == "evaluations":
                error = relative_error([(one, None) for one, _ in played])
                row["se_over_limit"] = row["over_limit"] * error
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
            on = [self._by_instance[one] for one in suite.instances if rival not in (name, ORACLE)]
            both = [(one[rival], one[name]) for one in on]
            both = [(one, two) for one, two in both if one.claims and two.refusal is None]
            if both:
                times = geometric_mean([ratio(one.mean, two.mean) for one, two in both])
                margins.append(Margin(rival, times, relative_error(both)))
        return min(margins, key=lambda margin: margin.times, default=None)

    @cached_property
    def _by_instance(self) -> dict[Instance, dict[str, Outcome]]:
        found: dict[Instance, dict[str, Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.instance, {})[outcome.name] = outcome
        return found


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
