"""Information-directed sampling: pay regret only for information, in the best proportion.

Kirschner, Lattimore and Krause, Information Directed Sampling for Linear Partial Monitoring, COLT
2020. An option's value is h_x·θ and its evaluations show a_x·θ, with θ = (γ; ω), h_x = (x; 0) and
a_x = (x; z_x): a game of linear partial monitoring. Every step:

1. regularised least squares: V = λI + Σ a aᵀ, θ̂ = V⁻¹ Σ y a, and the ellipsoid ‖θ − θ̂‖_V ≤ β_t;
2. Δ_x, the most that x can lose for any θ in the ellipsoid;
3. I_x, the information of an evaluation of x: ½ log(1 + a_xᵀV⁻¹a_x), or, directed, by how much
   it narrows the widest comparison w between options that can still be the best,
   ½ log(‖w‖²_{V⁻¹} / ‖w‖²_{(V + a_x a_xᵀ)⁻¹});
4. an option is drawn from the distribution μ that makes Δ(μ)²/I(μ) least.

What is the source's and what is ours
-------------------------------------
- β_t = σ√(2 log(1/δ_t) + log det V/det λI) + √λ S, with δ_t = 1/(t log t) as in the authors'
  software. ``beta="log"`` has σ√(2 log t) instead, and ``factor`` multiplies either.
- The source has rows and ‖θ‖ of length at most 1 and λ = 1. Here λ, S and the coordinates are those
  of `ridge.py`, which make a bound of the values one of ‖θ‖ and know no units; √λ S = σ. So β_t is
  wider than in the authors' software: log det V/det λI has m log(1/λ) more, and 2q log(Ω/B) for a
  bias of up to Ω, which is 100 B unless said, where theirs holds for ‖θ‖ ≤ 1 only. On the worst
  case c = 3, d = 2, κ = 4, T = 10⁴, directed sampling loses 2512 and 2929 on the two problems; told
  ``bias_bound=1.0``, 2410 and 2822; with the authors' λ and S it would be 2378 and 2782, with
  their mixtures of the leader and one other option only, 2371 and 2750 (1000 runs each, standard
  error 7). Who knows that the bias is small should say so.
- The source takes Δ_x and w over all pairs, which costs k² a step: ``comparisons="pairs"``. The
  default is what the authors' software does, and costs k: with x̂ the option of largest estimate,
  Δ_x = (x̂ − x)·γ̂ + max_y [(y − x̂)·γ̂ + β‖h_y − h_x̂‖_{V⁻¹}], which is between half and twice that
  over all pairs, and w is the widest h_y − h_x̂ of the y whose lead over x̂ may be positive.
  Either way, an option can be the best if no single other one certainly beats it. If only x̂
  can, directed sampling plays it.
- μ is exact, on two options at most.
- ``switching=0`` draws one option at a time. Otherwise n evaluations are split in proportion to μ,
  rounded at random so that their means are those of n draws. n is the largest for which the
  expected evaluations of either option add at most the share ``switching`` to what was known of
  it, n μ_x a_xᵀV⁻¹a_x ≤ ``switching``, nor to t. To repeat the option drawn by its own leverage
  would change the proportions: the option that informs is rare in μ and has the larger leverage.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import is_number
from evenhand.errors import InputError
from evenhand.policies.registry import registered
from evenhand.research.rivals._ids import InformationStepper
from evenhand.research.rivals.ridge import RidgePolicy, RidgeSettings, feature_coordinates


@registered
class InformationDirectedSampling(RidgePolicy):
    """Draws options so that the squared regret per information about everything is least.

    Parameters
    ----------
    beta
        Width of the confidence set: "self-normalised" as in the source, or "log" for √(2 log t).
    factor
        What the width is multiplied by; 0.5 halves it.
    comparisons
        Whether options are compared with the one that looks best ("leader"), or all with all
        ("pairs"), which takes a time that grows with the square of their number.
    bias_bound
        Bound Ω of the bias in evaluations; 100 times the value bound if not given. A smaller one
        makes the confidence set narrower.
    ridge, switching
        λ as for `RidgePolicy`; and by which share a decision may add to what it rests on, 0 for
        one evaluation at a time.

    Examples
    --------
    >>> import evenhand as eh
    >>> problem, _ = eh.families.worst_case(d=2, kappa=1.0, horizon=10_000, c=3.0)
    >>> policy = InformationDirectedSampling(problem.actions, horizon=10_000, beta="log")
    >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> policy.recommend().option == problem.best, policy.bias().covers(problem.omega)
    (True, True)
    """

    name: ClassVar[str] = "ids"
    directed: ClassVar[bool] = False
    """Whether information is about the widest comparison only."""

    def __init__(
        self,
        actions: ActionSet,
        horizon: int,
        *,
        beta: Literal["self-normalised", "log"] = "self-normalised",
        factor: float = 1.0,
        comparisons: Literal["leader", "pairs"] = "leader",
        bias_bound: float | None = None,
        **settings: Unpack[RidgeSettings],
    ) -> None:
        super().__init__(actions, horizon, **settings)
        if beta not in ("self-normalised", "log"):
            raise InputError(f'beta must be "self-normalised" or "log"; got {beta!r}.')
        if comparisons not in ("leader", "pairs"):
            raise InputError(f'comparisons must be "leader" or "pairs"; got {comparisons!r}.')
        if not is_number(factor) or factor <= 0.0:
            raise InputError(f"factor must be a positive number; got {factor!r}.")
        rows = self.joint_rows(bias_bound)
        ridge, penalty = self.penalty(rows.shape[1])
        self.stepper = InformationStepper(
            rows,
            feature_coordinates(actions),
            ridge,
            directed=self.directed,
            all_pairs=comparisons == "pairs",
            logarithmic=beta == "log",
            factor=factor,
            noise_scale=self.noise_scale,
            offset=penalty,
            switching=self.switching,
            key=int(np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0]),
        )


@registered
class DirectedInformationSampling(InformationDirectedSampling):
    """Draws options so that the squared regret per information about the best option is least.

    What counts is information about the widest comparison between two options that can still be
    the best. The parameters are those of `InformationDirectedSampling`. The guarantee needs the
    default width; ``beta="log", factor=0.5`` is far below it and lost much less in all our
    measurements. No factor is best everywhere: smaller ones lose less on worst-case pairs, and
    commit to wrong options on gap-dependent and random problems.
    """

    name: ClassVar[str] = "ids-directed"
    directed: ClassVar[bool] = True
