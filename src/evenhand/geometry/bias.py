"""The geometry of bias estimation: can the bias be estimated, and at what price?

Notation
--------
a_x = (x; z_x)   options with features x and attributes z (±1 for two groups)
e                the direction of the parameter that is the bias
κ_*              least variance of the bias per evaluation; κ_* = 1 is as easy as it gets
κ(Δ)             least regret of estimating the bias with unit variance, where x costs Δ_x
κ̃                the same against the worst parameter
α                worst-case alignment of Kirschner, Lattimore and Krause, equivalent to κ_*

Where questions are told from options, a_x are the rows of the questions over their relative noise,
an evaluation costs its price, and κ_* is the least price of the bias with the variance of one
evaluation; α compares the values of two options. Questions that may not be asked are rows of 0.

For two groups κ_* is large exactly when a hyperplane through the origin almost separates them
(the paper's Lemma 1): margin / radius = (√κ_* − 1) / (√κ_* + 1).

The hyperplane as a user sees it, in the space of the features that vary
------------------------------------------------------------------------
n    (d,)   normal of a hyperplane through 0 in the space of all features (paper, Lemma 1)
c           the features that are the same for all options, such as an intercept
s           the other ones; x·n = x_s·n_s + const, so n/‖n_s‖ measures distances among options

With an intercept the hyperplane through 0 is an ordinary one: {x_s : x_s·n_s = −const}.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, as_vector
from evenhand.confounding import not_identifiable, refuse_erased
from evenhand.designs import Design, c_optimal_design
from evenhand.designs.elfving import ElfvingProgram
from evenhand.designs.minimax import minimax_design_of
from evenhand.errors import AccuracyError, InputError, NotIdentifiableError
from evenhand.numerics.row_space import DoubtfulRankError, products, sample_rows
from evenhand.questions import Askable, Questions, checked_askable
from evenhand.questions.identifiable import refuse_apart

_SEPARATED = 1e-9  # κ_* − 1 beyond which the groups count as separated
_MANY = 8192  # options that may still form the worst pair; more are too many pairs
_SAMPLE = 100_000  # rows from which spreads are taken: they serve for words, not for numbers


def bias_optimal_design(actions: Askable, attribute: str | None = None) -> Design:
    """Return the evaluations that estimate the bias best: least variance for their number, κ_*.

    Parameters
    ----------
    actions
        The options, or the questions that can be asked about them.
    attribute
        Which attribute's bias, where there is more than one.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[2.0], [-1.0]], ["home", "away"])
    >>> design = eh.bias_optimal_design(actions)
    >>> design.weights.round(3), round(design.value, 3)    # home sorts last: it is +1
    (array([0.333, 0.667]), 9.0)

    Two judges, each partial to one of two skaters, on both of them:

    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
    >>> design = eh.bias_optimal_design(panel)
    >>> design.weights.round(3), round(design.value, 3)
    (array([0.25, 0.25, 0.25, 0.25]), 4.0)
    """
    return _bias_design(actions, None, attribute)


def delta_optimal_design(actions: Askable, gaps: ArrayLike, attribute: str | None = None) -> Design:
    """Return the evaluations that estimate the bias at the least regret, where x costs its gap Δ_x.

    The value is κ(Δ). A gap of zero (the best option has one) is a free evaluation; where κ(Δ)
    is then attained only in the limit, the pulls cost ``design.excess`` more.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[2.0], [-1.0]], ["home", "away"])
    >>> round(eh.delta_optimal_design(actions, [0.0, 3.0]).value, 3)
    12.0
    """
    return _bias_design(actions, as_vector(gaps, len(checked_askable(actions)), "gaps"), attribute)


def minimax_design(actions: Askable, attribute: str | None = None, tol: float = 1e-7) -> Design:
    """Return what to evaluate to estimate the bias at the least regret against the worst parameter.

    The value is κ̃, for parameters with values in [-1, 1].

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> round(eh.minimax_design(actions).value, 4)
    2.25
    """
    direction = _direction(actions, attribute)
    if isinstance(actions, Questions):
        raise InputError(
            "regret against the worst parameter is that of evaluating options, and these are "
            "questions about them; use bias_optimal_design."
        )
    with _in_words(actions, direction):
        return minimax_design_of(actions.points, actions.n_features, direction, tol)


def kappa(actions: Askable, gaps: ArrayLike, attribute: str | None = None) -> float:
    """Return κ(Δ), the least regret of estimating the bias with unit variance.

    Examples
    --------
    >>> import evenhand as eh
    >>> round(eh.kappa(eh.ActionSet([[1.0], [1.0]], ["a", "b"]), gaps=[0.5, 0.5]), 9)
    0.5
    """
    return delta_optimal_design(actions, gaps, attribute).value


def bias_geometry(actions: Askable, attribute: str | None = None) -> BiasGeometry:
    """Return how hard the bias is to estimate, and why.

    Raises `NotIdentifiableError` where it is impossible (κ_* = ∞); the error's ``confounding``
    says which combination of features equals the group, and what option would help.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1])
    >>> geometry = eh.bias_geometry(actions)
    >>> round(geometry.kappa_star, 6), geometry.separable
    (2.25, True)
    >>> round(geometry.margin / geometry.radius, 6)     # (√κ − 1) / (√κ + 1)
    0.2
    """
    design = bias_optimal_design(actions, attribute)
    kappa_star = design.value
    if isinstance(actions, Questions) or actions.group_names is None:
        return BiasGeometry(actions, attribute, design, kappa_star, False, None, 0.0, None)
    kappa_star = max(kappa_star, 1.0)
    if kappa_star <= 1.0 + _SEPARATED:
        return BiasGeometry(actions, attribute, design, kappa_star, False, None, 0.0, None)
    # Lemma 1: the dual vector of the design is the normal of the hyperplane
    u = design.certificate.dual
    normal = -u[:-1]
    reach = np.abs(normal) * np.maximum(actions.features.max(axis=0), -actions.features.min(axis=0))
    normal[reach <= 1e-13 * reach.max()] = 0.0  # rounding error, not a feature that matters
    normal /= np.linalg.norm(normal)
    along = products(actions.points, np.append(normal, 0.0)) * actions.groups
    margin, radius = float(along.min()), float(np.abs(along).max())
    return BiasGeometry(actions, attribute, design, kappa_star, True, normal, margin, radius)


@dataclass(frozen=True, eq=False)
class BiasGeometry:
    """How hard the bias is to estimate, in numbers; `inspect` says it in words and draws it.

    Parameters
    ----------
    actions, attribute
        What was asked about: options, or questions.
    design
        The bias-optimal design; its certificate proves κ_*.
    kappa_star
        Evaluations needed to know the bias with the variance of one evaluation.
    separable
        Whether a hyperplane through 0 keeps the groups apart (two groups only).
    normal
        Unit normal of that hyperplane, on the side of the group +1; None if there is none.
    margin, radius
        Least and largest distance of an option from it; 0 and None if there is none.

    Examples
    --------
    >>> import evenhand as eh
    >>> geometry = eh.bias_geometry(eh.ActionSet([[2.0], [-1.0]], ["home", "away"]))
    >>> round(geometry.kappa_star, 6), geometry.normal, geometry.margin, geometry.radius
    (9.0, array([1.]), 1.0, 2.0)
    """

    actions: Any  # ActionSet or Questions
    attribute: str | None
    design: Design
    kappa_star: float
    separable: bool
    normal: Floats | None
    margin: float
    radius: float | None

    @property
    def name(self) -> str:
        """What the bias is called: the attribute that evaluations react to."""
        return self.attribute or self.actions.attribute_names[_place(self.actions, None)]

    def kappa_minimax(self) -> float:
        """Return κ̃, the least regret of estimating the bias against the worst parameter."""
        return minimax_design(self.actions, self.attribute).value

    def alpha(self) -> float:
        """Return the worst-case alignment α: the largest cost of comparing two options."""
        costs = _prices(self.actions)
        A = _rows(self.actions)
        program = ElfvingProgram(A if costs is None else A / np.sqrt(costs)[:, None])
        refuse_apart(self.actions, program.space)
        with _in_words(self.actions, _direction(self.actions, self.attribute)):
            return self._worst_alignment(program)

    def _worst_alignment(self, program: ElfvingProgram) -> float:
        d = self.actions.n_features
        if isinstance(self.actions, Questions):
            X = self.actions.options.features
            z = np.arange(len(X))[:, None]  # no lead is a difference of two questions for sure
        else:
            X, z = self.actions.features, self.actions.attributes
        H = np.zeros((len(X), self.actions.points.shape[1]))
        H[:, :d] = X
        # √κ is a norm: no pair is farther apart than the sum of the distances from a centre
        radii, best = _distances_from_centre(program, H)
        (far,) = np.nonzero(radii + radii.max() > best)
        if len(far) > _MANY:
            raise InputError(
                f"α needs all pairs of options, and {len(far):,} of them may be in the worst "
                f"pair; at most {_MANY:,} are supported. Compute it on a subset."
            )
        i, j = np.triu_indices(len(far), 1)
        bounds = radii[far][i] + radii[far][j]
        # a pair with the same attributes is a difference of two points: √κ ≤ 1 + 1
        alike = (z[far[i]] == z[far[j]]).all(axis=1)
        bounds[alike] = np.minimum(bounds[alike], 2.0)
        apart = bounds > best
        pairs = H[far[i[apart]]] - H[far[j[apart]]]
        for x in program.largest(pairs, bounds[apart])[:1]:
            solution = program.solve_within(pairs[x])
            best = max(best, solution.root)
            ends = np.abs(H[far[i[apart][x]]]) + np.abs(H[far[j[apart][x]]])
            program.refuse_sensitive(solution, ends)
        return best**2


def _distances_from_centre(program: ElfvingProgram, H: Floats) -> tuple[Floats, float]:
    """Return an upper bound of √κ_{h − centre} for each row h, and a lower bound of the largest
    √κ of a difference of two rows.
    """
    H = H - H.mean(axis=0)
    radii = np.einsum("ij,ij->i", H, H)  # to begin with: any order of the rows will do
    if not radii.any():
        return radii, 0.0
    best, bounds = 0.0, np.full(len(H), np.inf)
    for _ in range(4):
        solution = program.solve_within(H[int(np.argmax(radii))])
        np.minimum(bounds, program.roots_on(solution.rows, H), out=bounds)
        radii = bounds
        along = H @ solution.dual
        rounding = float((np.abs(H) @ np.abs(solution.dual)).max()) * 4.0 * np.finfo(float).eps
        best = max(best, float(along.max() - along.min()) - 2.0 * rounding)
    return radii, best


def _direction(actions: Askable, attribute: str | None) -> Floats:
    """Return the unit vector e of the bias of one attribute."""
    names = checked_askable(actions).attribute_names
    e = np.zeros(len(names) + actions.n_features)
    e[actions.n_features + _place(actions, attribute)] = 1.0
    return e


def _place(actions: Askable, attribute: str | None) -> int:
    """Return which attribute's bias is asked for: the one that is named, or the only one."""
    names = actions.attribute_names
    if attribute is not None and attribute not in names:
        raise InputError(f"no attribute {attribute!r}; there are: {', '.join(names) or 'none'}.")
    if attribute is not None:
        return names.index(attribute)
    if isinstance(actions, Questions):
        return _only_bias(actions)
    if not names:
        raise InputError(
            "these options have neither groups nor attributes: there is no bias to estimate. Make "
            "the set with groups, or with attributes= for what evaluations react to."
        )
    if len(names) > 1:
        raise InputError(
            f"there are {len(names)} attributes ({', '.join(names[:5])}…); say which one's bias is "
            "asked for, with attribute=."
        )
    return 0


def _only_bias(questions: Questions) -> int:
    """Return the attribute that is a bias, where there is one such."""
    found = [j for j, column in enumerate(questions.columns) if column.kind != "leniency"]
    if len(found) != 1:
        names = [questions.columns[j].name for j in found]
        raise InputError(
            f"there are {len(names)} biases ({', '.join(names[:5])}{', …' * (len(names) > 5)}); "
            "say which one is asked for, with attribute=."
            if names
            else "nobody favours anybody in these questions: there is no bias to estimate."
        )
    return found[0]


def _rows(actions: Askable) -> Floats:
    """Return what evaluations show: points, or rows of questions over their relative noise."""
    if not isinstance(actions, Questions):
        return actions.points
    A = actions.weighted_points
    return A if actions.may_ask.all() else A * actions.may_ask[:, None]


def _prices(actions: Askable) -> Floats | None:
    """Return what evaluations cost; None for 1 each."""
    return actions.prices if isinstance(actions, Questions) and np.ptp(actions.prices) else None


def _bias_design(actions: Askable, gaps: Floats | None, attribute: str | None) -> Design:
    direction = _direction(actions, attribute)
    with _in_words(actions, direction):
        return c_optimal_design(
            _rows(actions), direction, _prices(actions) if gaps is None else gaps
        )


@contextmanager
def _in_words(actions: Askable, direction: Floats) -> Iterator[None]:
    """Let errors about points speak of the options: why κ = ∞, and the names of columns."""
    # Nothing is computed where standardising has erased what would decide.
    try:
        if not isinstance(actions, Questions):
            refuse_erased(actions)
        try:
            yield
        except NotIdentifiableError as error:
            column = int(np.argmax(direction))
            raise (
                _untold(actions, column - actions.n_features)
                if isinstance(actions, Questions)
                else not_identifiable(actions, column)
            ) from error
    except DoubtfulRankError as error:
        names = (*actions.feature_names, *actions.attribute_names)
        named = ", ".join(names[column] for column in error.columns)
        raise AccuracyError(f"the columns {named} {error.problem}") from error


def _untold(questions: Questions, j: int) -> NotIdentifiableError:
    """Return the error that says why no answers tell a bias, and what to add."""
    name = questions.columns[j].name
    found = questions.check()
    why = next((one.why for one in found.not_identified if one.name == name), "")
    helps = " ".join(advice.text for advice in found.advice)
    return NotIdentifiableError(
        f"no number of answers tells {name!r} (κ* = ∞){f': {why}' if why else ''}. {helps}".strip()
    )


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """The hyperplane that keeps the groups apart, measured where the options differ."""

    normal: Floats  # (d,) ``features @ normal`` is an option's distance, positive on the side of +1
    margin: float  # least distance of an option
    radius: float  # and largest
    # (d,) share of each feature, in standard deviations, in telling the groups apart
    importance: Floats


def separating_hyperplane(geometry: BiasGeometry) -> Hyperplane | None:
    """Return the hyperplane that keeps the groups apart, or None if there is none."""
    if geometry.normal is None or geometry.radius is None:
        return None
    X = geometry.actions.features
    slope = np.where(varying_features(geometry.actions), geometry.normal, 0.0)
    length = float(np.linalg.norm(slope))
    steps = np.abs(slope) * X[sample_rows(len(X), _SAMPLE)].std(axis=0)
    if not steps.any():
        steps = np.abs(slope)
    return Hyperplane(
        geometry.normal / length,
        max(geometry.margin, 0.0) / length,
        geometry.radius / length,
        steps / steps.sum(),
    )


def varying_features(actions: ActionSet) -> NDArray[np.bool_]:
    """Return which features differ between options; the others can only be an intercept."""
    varying: NDArray[np.bool_] = actions.features.max(axis=0) > actions.features.min(axis=0)
    return varying


def unit_of_distance(actions: ActionSet) -> str:
    """Return what distances between options are measured in, in words."""
    encoding = actions.encoding
    if encoding is None or all(
        column.mean == 0.0 and column.scale == 1.0 for column in encoding.features
    ):
        return "units of the features"
    return "standard deviations"
