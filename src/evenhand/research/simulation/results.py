"""What came out of a simulation: runs as arrays, and the tables and pictures made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import ArrayValue, Floats
from evenhand.report.model import Report, Result
from evenhand.research.environments.problem import BiasedLinearBandit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Limit = Callable[[float], float]

OUTCOMES = (
    "replication",
    "spent",
    "option",
    "correct",
    "bias",
    "bias_low",
    "bias_high",
    "bias_level",
    "covered",
    "loss",
)
"""What is kept of every run besides its regret."""


@dataclass(frozen=True, eq=False)
class Runs(ArrayValue):
    """Runs of one policy over one horizon, one entry per replication.

    Parameters
    ----------
    policy, horizon
        Whose runs, and over how many evaluations.
    checkpoint
        (c,) numbers of evaluations after which the regret is known; the last is the horizon.
    regret
        (n, c) pseudo-regret: the value lost by then, counted with the true values. A policy that
        stops loses nothing more.
    replication
        (n,) number of the replication.
    spent
        (n,) evaluations used: the horizon, unless the policy stopped before.
    option, correct
        (n,) the option recommended at the end; whether none is of larger value.
    bias, bias_low, bias_high, bias_level, covered
        (n,) the bias as estimated at the end, its interval and the probability claimed for it;
        whether the interval holds the true bias. NaN and everything where there is no estimate.
    loss
        (n,) what the option recommended at the end loses at most, as the policy says; infinite if
        it does not say. 0: the policy was sure.
    """

    policy: str
    horizon: int
    checkpoint: NDArray[np.int64]
    regret: Floats
    replication: NDArray[np.int64]
    spent: NDArray[np.int64]
    option: NDArray[np.int64]
    correct: NDArray[np.bool_]
    bias: Floats
    bias_low: Floats
    bias_high: Floats
    bias_level: Floats
    covered: NDArray[np.bool_]
    loss: Floats

    def __len__(self) -> int:
        return len(self.replication)

    @property
    def final_regret(self) -> Floats:
        """(n,) regret at the horizon."""
        return self.regret[:, -1]

    @property
    def coverage(self) -> tuple[float, float]:
        """How often the interval of the bias held it, of the runs that ended with one, and the mean
        level that was claimed; one that is everything would cover for free.
        """
        told = np.isfinite(self.bias_low) | np.isfinite(self.bias_high)
        if not told.any():
            return np.nan, np.nan
        return float(self.covered[told].mean()), float(self.bias_level[told].mean())

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Keep some of the runs, in the given order."""
        kept = {name: getattr(self, name)[rows] for name in ("regret", *OUTCOMES)}
        return type(self)(self.policy, self.horizon, self.checkpoint, **kept)

    @classmethod
    def merged(cls, pieces: Iterable[Self]) -> Self:
        """Put runs of one policy and horizon together, each replication once, in their order."""
        some = list(pieces)
        first = some[0]
        joined = {
            name: np.concatenate([getattr(piece, name) for piece in some])
            for name in ("regret", *OUTCOMES)
        }
        whole = cls(first.policy, first.horizon, first.checkpoint, **joined)
        return whole.take(np.unique(whole.replication, return_index=True)[1])


def standard_error(regret: Floats) -> Floats:
    """Return the standard error of the mean over the first axis; NaN for a single run."""
    n = len(regret)
    if n < 2:
        return np.full(regret.shape[1:], np.nan)
    return np.asarray(regret.std(axis=0, ddof=1) / np.sqrt(n))


@dataclass(frozen=True, eq=False)
class Results(Result):
    """All runs of a simulation, with the tables and the picture that they make.

    Parameters
    ----------
    problem
        What was simulated.
    runs
        One `Runs` per policy and horizon, in the order in which they were asked for.
    seed
        What the randomness came from.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem, _ = eh.families.worst_case(d=2, kappa=1.0, horizon=1000)
    >>> results = eh.simulate(problem, "uniform", horizon=1000, replications=4)
    >>> results.summary()[["policy", "horizon", "n"]].to_dict("records")
    [{'policy': 'uniform', 'horizon': 1000, 'n': 4}]
    """

    problem: BiasedLinearBandit
    runs: tuple[Runs, ...]
    seed: int

    def _report(self) -> Report:
        from evenhand.research.simulation.page import report_of  # noqa: PLC0415

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        from evenhand.research.simulation.page import prices  # noqa: PLC0415

        problem, kappas = self.problem, prices(self.problem)
        rows = self.summary().to_dict("records")
        for row, runs in zip(rows, self.runs, strict=True):
            row["found_best"] = float(runs.correct.mean())
            row["bias_covered"], row["bias_level"] = runs.coverage
        return {
            "problem": {
                "options": len(problem.actions),
                "features": problem.actions.n_features,
                "best": problem.actions.labels[problem.best],
                "best_by_evaluation": problem.actions.labels[int(problem.evaluations.argmax())],
                "omega": np.asarray(problem.omega),
                "noise_scale": problem.noise_scale,
                "delta_min": problem.delta_min,
                "delta_neq": problem.delta_neq,
                "kappa_star": kappas[0] if len(kappas) == 1 else kappas,
            },
            "seed": self.seed,
            "results": rows,
        }

    def summary(self) -> pd.DataFrame:
        """Return the regret at the horizon: one row per policy and horizon.

        Columns: policy, horizon, mean_regret, se_regret (its standard error), median, q90, max,
        wrong (share of the runs that end by recommending an option that is not a best one), n.
        """
        rows = []
        for runs in self.runs:
            regret = runs.final_regret
            rows.append(
                {
                    "policy": runs.policy,
                    "horizon": runs.horizon,
                    "mean_regret": float(regret.mean()),
                    "se_regret": float(standard_error(regret)),
                    "median": float(np.median(regret)),
                    "q90": float(np.quantile(regret, 0.9)),
                    "max": float(regret.max()),
                    "wrong": float((~runs.correct).mean()),
                    "n": len(runs),
                }
            )
        import pandas as pd  # noqa: PLC0415 # takes longer to load than most simulations to run

        return pd.DataFrame(rows)

    def to_frame(self) -> pd.DataFrame:
        """Return every regret: a row per policy, horizon, replication and checkpoint."""
        return _stacked(
            {
                "policy": runs.policy,
                "horizon": runs.horizon,
                "replication": np.repeat(runs.replication, len(runs.checkpoint)),
                "checkpoint": np.tile(runs.checkpoint, len(runs)),
                "regret": runs.regret.ravel(),
            }
            for runs in self.runs
        )

    def outcomes(self) -> pd.DataFrame:
        """Return how every run ended: a row per policy, horizon and replication.

        Columns: policy, horizon, replication, regret (at the horizon), spent, option, correct,
        bias, bias_low, bias_high, bias_level, covered, loss. What the option that was
        recommended truly loses is ``problem.gaps[option]``.
        """
        first, *others = OUTCOMES
        return _stacked(
            {
                "policy": runs.policy,
                "horizon": runs.horizon,
                first: getattr(runs, first),
                "regret": runs.final_regret,
                **{name: getattr(runs, name) for name in others},
            }
            for runs in self.runs
        )

    def plot(
        self,
        path: str | PathLike[str] | None = None,
        ax: Axes | None = None,
        *,
        limits: bool | Mapping[str, Limit] = True,
    ) -> Figure:
        """Draw mean regret against evaluations, both on logarithmic scales, and limits.

        The bands are two standard errors wide on each side. Over several horizons the regrets at
        the ends are joined, and the way there is drawn thinner.

        Parameters
        ----------
        path
            File to write (.png, .svg or .pdf), if any.
        ax
            Axes of a figure of your own to draw into.
        limits
            Bounds to draw: name → function of the horizon. True stands for what the paper promises
            of its policy (Theorems 1 and 2), where that is run and the promise is worth anything.
        """
        # Matplotlib takes longer to load than most simulations to run, and no worker needs it.
        from evenhand.report.pictures import checked_format, save_figure  # noqa: PLC0415

        if path is not None:
            checked_format(path)
        figure = self._draw(ax, limits)
        if path is not None:
            save_figure(figure, path)
        return figure

    def _draw(self, axes: Axes | None, limits: bool | Mapping[str, Limit] = True) -> Figure:
        from evenhand.research.simulation.page import draw_regret, promises  # noqa: PLC0415

        if isinstance(limits, bool):
            limits = promises(self) if limits else {}
        return draw_regret(self.runs, limits, axes)


def _stacked(parts: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    return pd.concat([pd.DataFrame(columns) for columns in parts], ignore_index=True)
