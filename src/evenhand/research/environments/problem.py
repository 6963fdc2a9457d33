"""A problem: options with the true parameters, from which evaluations can be drawn.

Notation
--------
x·γ          value of an option: what it is worth, never observed
x·γ + z·ω    mean of its evaluations: what is observed, with noise of scale σ
Δ_x          gap: the value lost by choosing x instead of the best option
Δ_min        least gap of an option that is not the best
Δ_≠          least gap of an option from another group than the best
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.arrays import Floats, Indices, as_vector, read_only, unmasked
from evenhand.errors import InputError
from evenhand.geometry import bias_geometry, kappa
from evenhand.questions import Askable, Questions, checked_askable


@dataclass(frozen=True, init=False, eq=False, repr=False)
class BiasedLinearBandit:
    """Options together with the truth about them: their values, the bias, the noise.

    Parameters
    ----------
    actions : ActionSet or Questions
        The options, or the questions that can be asked about them.
    gamma : (d,) numbers
        What a unit of each feature is worth.
    omega : number, or (p,) numbers
        The bias: what evaluations add for group +1 and take from group −1; one number per
        attribute where the options have attributes instead of groups, none where they have neither.
    noise_scale : float
        Standard deviation of an evaluation.

    Attributes
    ----------
    omega : float or (p,) floats
        A float where there is one attribute.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.75], omega=0.25)
    >>> problem.values
    array([ 0.5 ,  0.75, -0.1 ])
    >>> problem.evaluations              # the home option looks better than it is
    array([ 0.75,  0.5 , -0.35])
    >>> problem.best, problem.delta_min, problem.delta_neq
    (1, 0.25, 0.25)
    >>> problem
    BiasedLinearBandit(3 options, best 'option 2', omega 0.25, noise_scale 1)
    >>> eh.BiasedLinearBandit(eh.ActionSet([[1.0, 0.0], [0.0, 1.0]]), gamma=[0.5, 0.75])
    BiasedLinearBandit(2 options, best 'option 2', no bias, noise_scale 1)
    """

    actions: Any  # ActionSet or Questions
    gamma: Floats
    omega: float | Floats
    noise_scale: float

    def __init__(
        self,
        actions: Askable,
        gamma: ArrayLike,
        omega: ArrayLike = (),
        noise_scale: float = 1.0,
    ) -> None:
        actions = checked_askable(actions)
        (scale,) = as_vector(np.atleast_1d(noise_scale), 1, "noise_scale")
        if scale <= 0:
            raise InputError(f"noise_scale must be larger than 0; got {noise_scale}.")
        worth = as_vector(gamma, actions.n_features, "gamma")
        bias = _bias_vector(omega, actions.n_attributes)
        worth.flags.writeable = bias.flags.writeable = False
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "gamma", worth)
        object.__setattr__(self, "omega", float(bias[0]) if len(bias) == 1 else bias)
        object.__setattr__(self, "noise_scale", float(scale))

    @cached_property
    def values(self) -> Floats:
        """What each option is worth, x·γ; (k,)."""
        options = self.questions.options
        if options.stand_alone:
            return read_only(self.gamma[: len(options)].copy())
        return read_only(options.features @ self.gamma)

    @cached_property
    def evaluations(self) -> Floats:
        """The mean answer to each question, f·γ + z·ω: of each option, in an action set."""
        theta = np.concatenate([self.gamma, np.atleast_1d(self.omega)])
        return read_only(np.asarray(self.questions.rows @ theta))

    @cached_property
    def noise(self) -> float | Floats:
        """Standard deviation of an answer: one number, or one per question."""
        relative = self.questions.noise
        return self.noise_scale if relative is None else self.noise_scale * relative

    @cached_property
    def questions(self) -> Questions:
        """What can be asked."""
        return Questions.of(self.actions)

    @cached_property
    def gaps(self) -> Floats:
        """The value lost by choosing each option, Δ; (k,); 0 for all that are best."""
        gaps = self.values.max() - self.values
        # Equal options may differ by the rounding of a product of d terms: that is no gap.
        options = self.questions.options
        sizes = np.abs(self.gamma)
        if not options.stand_alone:
            sizes = np.abs(options.features) @ sizes
        gaps[gaps <= 4 * np.finfo(float).eps * len(self.gamma) * sizes.max()] = 0.0
        return read_only(gaps)

    @cached_property
    def question_gaps(self) -> Floats:
        """The value lost by asking each question; (q,).

        Who asks about an option has chosen it for that time, so it is the option's gap; in a
        comparison, where both have half of it, the mean of both. A question about no option leaves
        the choice to chance: the mean gap of all options. In an action set these are the `gaps`.

        Examples
        --------
        >>> import evenhand as eh
        >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> eh.BiasedLinearBandit(panel, gamma=[1.0, 3.0], omega=[0.5]).question_gaps
        array([2., 2., 0., 0.])
        """
        if not isinstance(self.actions, Questions):
            return self.gaps
        about = self.questions.about
        counted = (about >= 0) & (about < len(self.gaps))
        shares = np.where(counted, self.gaps[np.where(counted, about, 0)], 0.0).sum(axis=1)
        n = counted.sum(axis=1)
        return read_only(np.where(n > 0, shares / np.maximum(n, 1), self.gaps.mean()))

    @cached_property
    def best_all(self) -> Indices:
        """The indices of all options of the largest value."""
        best = np.flatnonzero(self.gaps == 0.0)
        best.flags.writeable = False
        return best

    @property
    def best(self) -> int:
        """The index of the best option, x*; the first where several are tied."""
        return int(self.best_all[0])

    @property
    def delta_min(self) -> float:
        """The least gap of an option that is not the best, Δ_min; infinite if all are tied."""
        return float(self.gaps[self.gaps > 0.0].min(initial=math.inf))

    @property
    def delta_neq(self) -> float:
        """The least gap of an option from another group than the best, Δ_≠.

        With attributes instead of groups: of an option whose attributes differ from those of the
        best; infinite if there is none.
        """
        if isinstance(self.actions, Questions):
            groups = np.array(self.questions.options.groups or [""] * len(self.gaps))
            return float(self.gaps[groups != groups[self.best]].min(initial=math.inf))
        z = self.actions.attributes
        return float(self.gaps[(z != z[self.best]).any(axis=1)].min(initial=math.inf))

    @cached_property
    def kappa_star(self) -> float:
        """Evaluations that estimate the bias with the variance of one, κ_*; of one attribute."""
        self._refuse_several_biases("bias_geometry(problem.actions, attribute=…).kappa_star")
        return bias_geometry(self.actions).kappa_star

    @cached_property
    def kappa(self) -> float:
        """The least regret of estimating the bias with the variance of one evaluation, κ(Δ)."""
        if isinstance(self.actions, Questions):
            raise InputError(
                "κ(Δ) is the regret of evaluating options, and here questions are asked about "
                "them; kappa_star is the price of the bias."
            )
        self._refuse_several_biases(
            "delta_optimal_design(problem.actions, problem.gaps, attribute=…).value"
        )
        return kappa(self.actions, self.gaps)

    def _refuse_several_biases(self, instead: str) -> None:
        names = [column.name for column in self.questions.columns if column.kind != "leniency"]
        if len(names) > 1:
            raise InputError(
                f"the options have {len(names)} attributes ({', '.join(names[:5])}…), and the bias "
                f"of each has a price of its own; say of which, with {instead}."
            )

    def __repr__(self) -> str:
        bias = f"omega {np.array2string(np.asarray(self.omega), precision=6)}"
        bias = bias if np.size(self.omega) else "no bias"
        best = self.questions.options.labels[self.best]
        return (
            f"BiasedLinearBandit({len(self.values)} options, best {best!r}, {bias}, "
            f"noise_scale {self.noise_scale:g})"
        )

    def __reduce__(self) -> tuple[Callable[..., BiasedLinearBandit], tuple[object, ...]]:
        # Through the constructor, since an unpickled array would be writeable.
        return type(self), (self.actions, self.gamma, self.omega, self.noise_scale)


def _bias_vector(omega: ArrayLike, n_attributes: int) -> Floats:
    """Return ω as a vector with one entry per attribute; a number will do where there is one."""
    omega = unmasked(omega, "omega")
    if n_attributes == 0 and omega.size:
        raise InputError(
            "omega is the bias, but these options have neither groups nor attributes: leave it out."
        )
    if n_attributes and not omega.size:
        raise InputError(
            f"omega is missing: give the bias, one number for each of {n_attributes} attribute(s)."
        )
    if omega.ndim == 0:
        if n_attributes != 1:
            raise InputError(
                f"omega is one number, but the options have {n_attributes} attributes; give one "
                "number per attribute."
            )
        omega = np.atleast_1d(omega)
    return as_vector(omega, n_attributes, "omega")
