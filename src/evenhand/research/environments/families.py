"""Families of problems: the paper's hard instances, corrected, random ones, and panels.

With α = 2/(√κ + 1), the last option of every hard set is x_{d+1} = −(1−α)e_1, in group −1; the
other options are e_1, …, e_d. The d+1 points are a basis, and κ_* = κ. The gap between the two
leaders of a pair of problems is ρ.

In every family the problems agree on the evaluations of nearly all options: only pulls of a few
options, which cost regret, tell the problems apart. Option x_i of the paper has index i−1 here,
Problem i likewise.

Where the paper's text contradicts its own facts, the facts decide:

- Theorem 4: e_i is in group +1 for i from 1, not from 2 (x_1 would be missing, and the span with
  it).
- Lemma 17 holds where Δ_1 = 0, as in Problem 1. In general
  κ(Δ) = (√Δ_{d+1} + (1−α)√Δ_1)²/α², which the free choice of x_1 in Problem 1 turns into it.
- d = 2, 3, case 1: the options are e_i, not all e_1; γ^(i) adds 2Δ_min e_i, not Δ_min e_i, which
  would tie x_i with x_1 and contradict the means of Fact 2.
- d = 2, 3, case 2 is the case d/Δ_min < κ/Δ_≠²; e_3 is left out where d = 2; the mean evaluation
  of x_{d+1} is −(1−α)(1 ± Δ_≠)/2 ± Δ_≠/2; it is x_{d+1} that tells the problems apart, not x_1.
- The paper asks for ρ < 1/4 and gaps < 1/8. Every fact holds as far as is allowed here.
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.questions import Questions
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.ranges import check_gaps, check_room, check_size


def worst_case(
    d: int, kappa: float, horizon: float, c: float = 1.0
) -> tuple[BiasedLinearBandit, BiasedLinearBandit]:
    """Return the two problems of which every policy finds one hard (Theorem 3).

    The first option is best in the first problem, the second in the second, by
    ρ = c(κ/T)^{1/3}. Only the last option, which costs at least 1/2, tells them apart.

    Parameters
    ----------
    d
        Number of features, at least 2; there are d + 1 options.
    kappa
        κ_* of the options, at least 1.
    horizon
        Number of rounds T that the gap ρ is made for.
    c
        The paper has c = 1, where never learning the bias costs little more than learning it;
        c = 3 tells policies that learn from those that do not.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand import families
    >>> first, second = families.worst_case(d=2, kappa=4.0, horizon=4000)
    >>> first.values.round(3), second.values.round(3)
    (array([ 0.55 ,  0.45 , -0.183]), array([ 0.45,  0.55, -0.15]))
    >>> first.evaluations.round(3), second.evaluations.round(3)
    (array([ 0.5  ,  0.5  , -0.133]), array([ 0.5, 0.5, -0.2]))
    >>> first.best, second.best, round(first.kappa_star, 9)
    (0, 1, 4.0)
    """
    check_size(d, kappa)
    if not (math.isfinite(horizon) and horizon >= 1):
        raise InputError(f"horizon must be a finite number of rounds ≥ 1; got {horizon}.")
    if not (math.isfinite(c) and c > 0):
        raise InputError(f"c must be a finite number > 0; got {c}.")
    rho = c * (kappa / horizon) ** (1 / 3)
    if rho > 0.5 * (1 + 1e-12):
        # ρ = 1/2 at T = κ(2c)³, which may be beyond all numbers
        needed = kappa * (2 * c) * (2 * c) * (2 * c)
        longer = f"a horizon of at least {math.ceil(needed):,}, or " if needed < 1e18 else ""
        raise InputError(
            f"the gap ρ = c(κ/T)^(1/3) of the worst-case pair is {rho:.4g} for c = {c:g}, "
            f"kappa = {kappa:g} and horizon = {horizon:g}; it must be at most 1/2. Take {longer}a "
            "smaller kappa or c."
        )
    return _leaders(d, kappa, rho)


def gap_dependent(
    d: int, kappa: float, delta_min: float, delta_neq: float
) -> list[BiasedLinearBandit]:
    """Return the problems whose gaps make the regret of one at least as large as Theorem 4 says.

    For d ≥ 4, problems 1 to ⌊d/2⌋ + 1 in this order, all with the same options: option i is the
    best of problem i. Problems 1 to ⌊d/2⌋ differ within the groups, the last differs from the
    first in which group has the best option. For d = 2, 3 there is no room for both. Where
    d/Δ_min ≥ κ/Δ_≠² (case 1), options 1 to d are in group +1, the last, alone in its group, costs
    at least 1/2, and option i is the best of problem i, by ``delta_min``: as hard as a linear
    bandit, without a bias, which no policy knows. Else (case 2) it is the worst-case pair with the
    gap ``delta_neq``.

    Parameters
    ----------
    d
        Number of features, at least 2; there are d + 1 options.
    kappa
        κ_* of the options, at least 1.
    delta_min
        Least gap of an option that is not the best.
    delta_neq
        Least gap of an option from the other group, at least ``delta_min``.

    Examples
    --------
    >>> from evenhand import families
    >>> problems = families.gap_dependent(d=4, kappa=4.0, delta_min=0.05, delta_neq=0.1)
    >>> [problem.best for problem in problems]
    [0, 1, 2]
    >>> [(round(problem.delta_min, 9), round(problem.delta_neq, 9)) for problem in problems]
    [(0.05, 0.1), (0.05, 0.1), (0.05, 0.1)]
    """
    check_size(d, kappa)
    check_gaps(delta_min, delta_neq)
    if d < 4:
        if d / delta_min >= kappa / delta_neq**2:
            return _within(d, kappa, delta_min)
        return list(_leaders(d, kappa, delta_neq))
    half = d // 2
    actions = _basis(d, kappa, n_positive=half)
    first = _leading_group(d, delta_min, delta_neq, sign=1)
    last = _leading_group(d, delta_min, delta_neq, sign=-1)
    problems = [BiasedLinearBandit(actions, first, -delta_neq / 2)]
    for i in range(1, half):
        gamma = first.copy()
        gamma[[i, half + i]] += 2 * delta_min
        problems.append(BiasedLinearBandit(actions, gamma, -delta_neq / 2))
    problems.append(BiasedLinearBandit(actions, last, delta_neq / 2))
    return problems


def random(
    k: int,
    d: int,
    seed: int | np.random.Generator,
    *,
    noise_scale: float = 1.0,
    separation: float = 0.5,
    lead: float = 0.5,
) -> BiasedLinearBandit:
    """Return a random problem in which evaluations favour the wrong group.

    The groups are as equal in size as can be and lie on the two sides of a hyperplane through 0
    with a random normal u: features are standard normal, but x·u = z(separation + |N(0, 1)|).
    γ has a random direction, and a length that makes the largest |x·γ| equal to 1. The bias is
    against the group of the best option: the best of the other group leads it by ``lead`` in
    mean evaluation.

    Parameters
    ----------
    k
        Number of options, at least d + 1: with fewer, the bias could not be estimated.
    d
        Number of features.
    seed
        The same seed gives the same problem.
    noise_scale
        Standard deviation of an evaluation.
    separation
        Distance of the groups from the hyperplane, in standard deviations; κ_* grows with it.
    lead
        By how much the evaluations put the wrong option first.

    Examples
    --------
    >>> from evenhand import families
    >>> problem = families.random(k=20, d=3, seed=1)
    >>> wrong = int(problem.evaluations.argmax())
    >>> groups = problem.actions.groups
    >>> bool(groups[wrong] == -groups[problem.best])
    True
    >>> round(float(problem.evaluations[wrong] - problem.evaluations[problem.best]), 9)
    0.5
    """
    rng = _checked(k, d, 1, seed, {"separation": separation}, lead)
    groups = rng.permutation(np.where(np.arange(k) % 2 == 0, 1, -1))
    normal = _unit_vector(d, rng)
    features = rng.standard_normal((k, d))
    along = groups * (separation + np.abs(rng.standard_normal(k)))
    features += np.outer(along - features @ normal, normal)
    gamma = _admissible(features, rng)
    actions = ActionSet(features, groups)
    fair = BiasedLinearBandit(actions, gamma, 0.0)
    # In evaluations the best of the other group leads x* by 2|ω| − Δ_≠.
    omega = -groups[fair.best] * (fair.delta_neq + lead) / 2
    return BiasedLinearBandit(actions, gamma, omega, noise_scale)


def random_groups(
    k: int,
    d: int,
    seed: int | np.random.Generator,
    *,
    n_groups: int = 4,
    noise_scale: float = 1.0,
    separation: float = 0.5,
    lead: float = 0.5,
) -> BiasedLinearBandit:
    """Return a random problem with several groups, all others favoured over the best option's.

    The attributes are one column of zeros and ones per group; the groups are as equal in size as
    can be. Features are standard normal around group means of length ``separation`` and random
    direction. γ has a random direction, and a length that makes the largest |x·γ| equal to 1. In
    mean evaluation the best of every other group leads the best option, by ``lead`` times a random
    number between 1/2 and 1; the biases sum to 0.

    Parameters
    ----------
    n_groups
        Number of groups, at least 2; k is at least d + ``n_groups``, or not all biases could be
        estimated.
    separation
        Distance of the group means from 0, in standard deviations.
    lead
        By how much, at most, the evaluations put a wrong option first.
    k, d, seed, noise_scale
        As for `random`.

    Examples
    --------
    >>> from evenhand import families
    >>> problem = families.random_groups(k=24, d=3, seed=1)
    >>> group = problem.actions.attributes.argmax(axis=1)
    >>> group[problem.evaluations.argsort()[::-1]][:8]          # the other groups come first
    array([0, 2, 1, 2, 0, 2, 1, 1])
    >>> int(group[problem.best]), int(problem.omega.argmin())
    (3, 3)
    """
    if n_groups != int(n_groups) or n_groups < 2:
        raise InputError(f"n_groups must be a whole number ≥ 2; got {n_groups}.")
    rng = _checked(k, d, int(n_groups), seed, {"separation": separation}, lead)
    group = rng.permutation(np.arange(k) % n_groups)
    means = separation * np.array([_unit_vector(d, rng) for _ in range(n_groups)])
    features = means[group] + rng.standard_normal((k, d))
    gamma = _admissible(features, rng)
    fair = BiasedLinearBandit(
        ActionSet(features, attributes=np.eye(n_groups)[group]), gamma, np.zeros(n_groups)
    )
    # In evaluations the best of group h leads x* by ω_h − ω_{g*} − Δ_h.
    least = np.array([fair.gaps[group == h].min() for h in range(n_groups)])
    omega = least + lead * rng.uniform(0.5, 1.0, n_groups)
    omega[group[fair.best]] = 0.0
    return BiasedLinearBandit(fair.actions, gamma, omega - omega.mean(), noise_scale)


def random_attribute(
    k: int,
    d: int,
    seed: int | np.random.Generator,
    *,
    noise_scale: float = 1.0,
    independence: float = 0.5,
    lead: float = 0.5,
) -> BiasedLinearBandit:
    """Return a random problem whose evaluations react to a number, such as an age.

    Features are standard normal. The attribute follows them in a random direction u:
    z = x·u + ``independence``·N(0, 1). γ has a random direction, and a length that makes the
    largest |x·γ| equal to 1. The bias is against the best option: it favours the side of its
    attribute on which more options are, and is as large as it takes for one of them to lead it by
    ``lead`` in mean evaluation.

    Parameters
    ----------
    independence
        How much of the attribute the features do not give away; the less, the more costly the bias.
    k, d, seed, noise_scale, lead
        As for `random`.

    Examples
    --------
    >>> from evenhand import families
    >>> problem = families.random_attribute(k=20, d=3, seed=1)
    >>> problem.actions.n_attributes
    1
    >>> wrong = int(problem.evaluations.argmax())
    >>> round(float(problem.evaluations[wrong] - problem.evaluations[problem.best]), 9)
    0.5
    """
    rng = _checked(k, d, 1, seed, {"independence": independence}, lead)
    if independence == 0:
        raise InputError("independence must be larger than 0, or the features tell the attribute.")
    features = rng.standard_normal((k, d))
    attribute = features @ _unit_vector(d, rng) + independence * rng.standard_normal(k)
    gamma = _admissible(features, rng)
    fair = BiasedLinearBandit(ActionSet(features, attributes=attribute[:, None]), gamma, 0.0)
    above = attribute - attribute[fair.best]
    side = 1.0 if (above > 0).sum() >= (above < 0).sum() else -1.0
    rivals = side * above > 0
    # In evaluations x leads x* by (z_x − z*)ω − Δ_x: the first to lead by so much sets |ω|.
    sizes = (fair.gaps[rivals] + lead) / (side * above[rivals])
    return BiasedLinearBandit(fair.actions, gamma, side * sizes.min(), noise_scale)


def panel(
    k: int,
    e: int,
    seed: int | np.random.Generator,
    *,
    gap: float = 1.0,
    bias: float = 1.0,
    capacity: int | None = 1,
) -> BiasedLinearBandit:
    """Return a random panel: evaluators who favour their own group, lenient or severe.

    Options stand for themselves: no features explain their values. One is best, the next is worth
    ``gap`` less, and others less by gap times 1 + Exp(1). Options and evaluators are dealt to three
    groups as equally as can be, in random order. Leniency is standard normal.

    Parameters
    ----------
    k, e
        Number of options and of evaluators, at least 2 each.
    seed
        The same seed gives the same panel.
    gap
        By how much the best option leads; 0 if all are worth the same.
    bias
        What an evaluator adds for options of the own group.
    capacity
        How often an evaluator may be asked about the same option; None: as often as one likes.

    Examples
    --------
    >>> from evenhand import families
    >>> problem = families.panel(k=6, e=4, seed=1, bias=2.0)
    >>> problem.questions
    Questions(24 questions about 6 options by 4 evaluators, 4 attributes: own group, E2, E3, E4)
    >>> round(problem.delta_min, 9), float(problem.omega[0])
    (1.0, 2.0)
    """
    if k < 2 or e < 2:
        raise InputError(f"a panel needs at least 2 options and evaluators; got {k} and {e}.")
    _refuse_below_zero({"gap": gap})
    rng = _generator(seed)
    options, judges = rng.permutation(k) % 3, rng.permutation(e) % 3
    rng.permutation(e)  # so that a seed gives the panel that it gave to what was measured
    questions = Questions.panel(
        {f"O{o + 1}": f"G{options[o] + 1}" for o in range(k)},
        {f"E{j + 1}": f"G{judges[j] + 1}" for j in range(e)},
        capacity=capacity,
    )
    below = np.concatenate([[0.0, 1.0], 1.0 + rng.standard_exponential(k - 2)])
    values = -gap * rng.permutation(below)
    lenient = rng.standard_normal(e)
    omega = [
        bias
        if column.evaluator is None
        else lenient[questions.evaluators.index(column.evaluator)] - lenient[0]
        for column in questions.columns
    ]
    return BiasedLinearBandit(questions, values, omega)


def _checked(
    k: int,
    d: int,
    biases: int,
    seed: int | np.random.Generator,
    distance: dict[str, float],
    lead: float,
) -> np.random.Generator:
    """Return the randomness of a random problem; refuse what it cannot be."""
    if d < 1 or k < max(d + biases, 2):
        raise InputError(
            f"d must be at least 1 and k at least d + {biases}, so that the bias can be estimated; "
            f"got k = {k}, d = {d}."
        )
    _refuse_below_zero(distance)
    if not (math.isfinite(lead) and lead > 0):
        raise InputError(f"lead must be a finite number > 0; got {lead}.")
    check_room(k, d)
    return _generator(seed)


def _refuse_below_zero(sizes: dict[str, float]) -> None:
    for name, size in sizes.items():
        if not (math.isfinite(size) and size >= 0):
            raise InputError(f"{name} must be a finite number ≥ 0; got {size}.")


def _unit_vector(d: int, rng: np.random.Generator) -> Floats:
    vector = rng.standard_normal(d)
    return np.asarray(vector / np.linalg.norm(vector))


def _admissible(features: Floats, rng: np.random.Generator) -> Floats:
    """Return γ of a random direction, with max|x·γ| = 1."""
    gamma = _unit_vector(features.shape[1], rng)
    return np.asarray(gamma / np.abs(features @ gamma).max())


def _basis(d: int, kappa: float, n_positive: int) -> ActionSet:
    """Return e_1, …, e_d, the first of them in group +1, and x_{d+1}: κ_* = κ (Lemma 16)."""
    features = np.vstack([np.eye(d), np.zeros(d)])
    features[d, 0] = 2.0 / (math.sqrt(kappa) + 1.0) - 1.0
    groups = [1] * n_positive + [-1] * (d + 1 - n_positive)
    return ActionSet(features, groups, [f"x{i}" for i in range(1, d + 2)])


def _leaders(d: int, kappa: float, rho: float) -> tuple[BiasedLinearBandit, BiasedLinearBandit]:
    """Return the pair in which x_1 leads x_2, or x_2 leads x_1, by ρ; they differ in x_{d+1}."""
    actions = _basis(d, kappa, n_positive=1)
    middle = np.zeros(d)
    middle[:2] = 0.5
    tilt = np.full(d, -rho / 2)
    tilt[0] = rho / 2
    return (
        BiasedLinearBandit(actions, middle + tilt, -rho / 2),
        BiasedLinearBandit(actions, middle - tilt, rho / 2),
    )


def _within(d: int, kappa: float, delta_min: float) -> list[BiasedLinearBandit]:
    """Return d problems within one group, of which option i is the best of the i-th."""
    actions = _basis(d, kappa, n_positive=d)
    first = np.full(d, (1 - delta_min) / 2)
    first[0] += delta_min
    others = (first + 2 * delta_min * np.eye(d)[i] for i in range(1, d))
    return [BiasedLinearBandit(actions, gamma, 0.0) for gamma in (first, *others)]


def _leading_group(d: int, delta_min: float, delta_neq: float, sign: int) -> Floats:
    """Return γ of Problem 1 (sign +1) or ⌊d/2⌋ + 1 (sign −1) of Theorem 4's proof."""
    half = d // 2
    gamma = np.full(d, (1 - sign * delta_neq - delta_min) / 2)
    gamma[:half] = (1 + sign * delta_neq - delta_min) / 2
    gamma[[0, half]] += delta_min
    return gamma


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the randomness that a seed stands for."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(
            f"seed must be a whole number ≥ 0 or a numpy Generator; got {seed!r}."
        ) from None
