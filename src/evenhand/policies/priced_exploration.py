"""Priced exploration: look while what is learnt is worth its price; with a guarantee.

Notation
--------
d, s        lead over a rival, and the standard deviation of what is known of it
κ           price of a unit of precision 1/s² on that lead, at the best evaluations there are
R           rounds in which a wrong choice will cost its gap
δ₀ = (κ/R)^{1/3}

For one rival, 'look more or choose?' is one universal problem of optimal stopping (Chernoff's): in
units of δ₀ there is nothing left to choose but when to stop, and backward induction gives a
boundary Z: look while d < s·Z(s/δ₀). `BoundaryExploration` asks that question for every rival and
at every step, with prices from the gaps as they are estimated. That is a heuristic: it treats
rivals one at a time, and nothing is proved about it. `PricedExploration` is this heuristic inside
the envelope of `Certified`, which proves its regret and its statements.
"""

from __future__ import annotations

import functools
import math
from typing import Literal, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, is_number, whole_number
from evenhand.errors import InputError
from evenhand.numerics.tolerance import first_largest
from evenhand.policies._boundary import boundary
from evenhand.policies._priced import Boundary, PricedSteps
from evenhand.policies._sequential import Ledger
from evenhand.policies.base import Settings, checked_failure
from evenhand.policies.certified import Certified
from evenhand.policies.confidence import Ellipsoid, Leads
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Decision, Estimate, counts_of
from evenhand.policies.registry import registered
from evenhand.policies.sequential import SequentialPolicy

Cost = Literal["gap", "evaluation"]

_LEAST, _LARGEST = 1e-4, 1e16  # range of η = (s/δ₀)² that the boundary is worked out for
_STEPS, _WIDEST, _FINENESS = 9_000, 10.0, 800
# by which share a decision may add to what is known of what it evaluates; for speed: 0.01 takes
# over three times the steps, and neither it nor 0.1 changed the regret beyond the noise
_REPEAT = 0.04
# evaluations beyond the rank of the points before an unknown noise is estimated: its estimate is
# then below half of it once in 10⁴ times; the regret was the same for 1, 5, 15 and 40 of them
_SPARE = 15


class BoundaryExploration(SequentialPolicy):
    """Explores while information is worth its price; the heuristic without its envelope.

    Parameters
    ----------
    actions, horizon
        The options, and the number of evaluations in all.
    cost, worth, horizon_known, batch
        As of `PricedExploration`.
    delta
        The interval of `bias` holds with probability 1 − delta, at all times at once.
    settings
        ``noise_scale``, ``value_bound`` and ``seed``, as for every policy. A noise that is not
        given is estimated along the way.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> BoundaryExploration(actions, horizon=10_000, batch=3).ask().counts    # one look at each
    array([1, 1, 1])
    """

    name = "boundary-exploration"
    stepper: PricedSteps

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        cost: Cost = "gap",
        worth: float | None = None,
        horizon_known: bool = True,
        batch: int | None = None,
        delta: float = 0.05,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        if cost not in ("gap", "evaluation"):
            raise InputError(f"cost must be 'gap' or 'evaluation'; got {cost!r}.")
        if worth is not None and (cost == "gap" or not is_number(worth) or worth <= 0.0):
            raise InputError(
                f"worth must be a positive number, and only with cost='evaluation'; got {worth!r} "
                f"with cost={cost!r}."
            )
        batch = 0 if batch is None else whole_number("batch", batch, 1, 10**6)
        self.cost = cost
        self.delta = checked_failure(delta)
        self.spends_all = cost == "gap"
        frame = OptionFrame.of(actions)
        worth = self.horizon if worth is None else worth
        self.stepper = PricedSteps(
            frame.points,
            frame.values,
            np.resize(frame.basis, frame.rank + (_SPARE if self.stated_noise is None else 0)),
            exploration_boundary(),
            noise_scale=math.nan if self.stated_noise is None else self.stated_noise,
            worst_gap=2.0 * self.value_bound,
            worth=worth / self.value_bound if cost == "evaluation" else math.nan,
            anytime=not horizon_known,
            batch=batch,
            repeat=_REPEAT,
        )
        self._ellipsoid = Ellipsoid(actions, self.horizon)

    def recommend(self) -> Decision:
        """Return the option of largest estimated value."""
        return Decision.of(self, first_largest(self.stepper.estimates))

    def bias(self) -> Estimate:
        """Return the (first) bias by least squares; the interval holds at all times at once.

        Where the noise scale is not known there is none; `Certified` bounds it.
        """
        fit = self._ellipsoid.fit(self.stepper.counts, self.stepper.sums)
        return fit.bias(self.delta, self.stated_noise)

    def frugal(self, ledger: Ledger, leads: Leads) -> Counts | None:
        """Look at the rival to whom most may be lost, where certainty costs least.

        That is cheaper than to play on: what was played is charged by what may be lost.
        """
        rival = first_largest(leads.widths - leads.leads)
        if rival == leads.option or not np.isfinite(leads.widths[rival]):
            return None
        price = leads.leads + leads.loss
        option, n = self.stepper.toward(leads.option, rival, price, self.remaining)
        return counts_of(len(self.actions), {option: n})


@registered
class PricedExploration(Certified):
    """The policy to use: explores only while what is learnt is worth its price.

    It compares, for every rival of the leading option, what more certainty would save with what it
    would cost at the cheapest evaluations there are. Inside the envelope of `Certified`, so that
    its regret is bounded whatever happens, and what it says holds at all times at once.

    Parameters
    ----------
    actions
        The options: two groups, or any attributes.
    horizon
        Number of evaluations T.
    delta
        Probability that anything `recommend` or `bias` ever says does not hold.
    noise_scale
        Standard deviation σ of an evaluation. If it is not given it is estimated, and bounded for
        what is said; noise is then taken to be Gaussian.
    value_bound
        Bound B on |values|. If it is not given, 1 takes its place in what is asked and in the
        guarantee for the regret, which then holds only if values lie within ±1; what is said of
        choice and bias does not rest on it.
    cost
        What a look costs: its "gap", for small regret; or one per "evaluation", to find the best
        option with few of them. It then stops by itself.
    worth
        With cost "evaluation": how many evaluations one would spend to lose one value bound less
        (1 less, if none is given); the horizon if not given.
    horizon_known
        Whether the run is known to last until the horizon; if not, it may be ended at any time.
    batch
        Most evaluations asked for at once; if not given, as many as a decision stands for.
    budget
        χ: the heuristic may lose χ G_T, G_T = 3(4Bσ²κ_* log T)^{1/3}T^{2/3}, before the core of the
        envelope takes over.
    seed
        Not used: the policy has no randomness of its own.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.5], omega=-0.5)
    >>> policy = eh.PricedExploration(actions, horizon=10_000)
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> decision = policy.recommend()
    >>> decision.label == problem.actions.labels[problem.best], policy.bias().covers(-0.5)
    (True, True)
    """

    name = "priced-exploration"

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        delta: float = 0.05,
        noise_scale: float | None = None,
        value_bound: float | None = None,
        cost: Cost = "gap",
        worth: float | None = None,
        horizon_known: bool = True,
        batch: int | None = None,
        budget: float = 10.0,
        seed: int = 0,
    ) -> None:
        heuristic = BoundaryExploration(
            actions,
            horizon,
            cost=cost,
            worth=worth,
            horizon_known=horizon_known,
            batch=batch,
            delta=delta,
            noise_scale=noise_scale,
            value_bound=value_bound,
            seed=seed,
        )
        # the envelope bounds regret; where looks cost one each there is none to bound
        super().__init__(
            heuristic,
            budget=budget if cost == "gap" else math.inf,
            delta=delta,
            anytime=not horizon_known and cost == "gap",
        )


@functools.cache
def exploration_boundary() -> Boundary:
    """Return Z on a grid of log η = 2 log(s/δ₀)."""
    log_eta = np.linspace(math.log(_LEAST), math.log(_LARGEST), _STEPS)
    Z = boundary(log_eta, _WIDEST, _FINENESS)
    Z = np.maximum.accumulate(Z)  # it grows; between points of the grid it is placed to a part of h
    Z.flags.writeable = False
    return Boundary(Z, float(log_eta[0]), float(log_eta[1] - log_eta[0]))
