"""The problems on which the literature compares best-arm identification in linear bandits.

Each also with a bias: options in two groups, mostly in turn, of which evaluations favour one. Where
what is measured is not what is chosen (`transductive`), everything can then be measured on either
side.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.questions import Questions
from evenhand.research.environments.problem import BiasedLinearBandit

BIAS = 0.5
"""What evaluations add for one group and take from the other, where there is a bias."""


def soare(d: int, *, angle: float = 0.1, biased: bool = False) -> BiasedLinearBandit:
    """Return Soare, Lazaric and Munos's problem (2014): d unit vectors, and one close to the first.

    The value is twice the first feature. What tells the first option from the last is measured
    best on the second, which is far from being good.

    Examples
    --------
    >>> problem = soare(3)
    >>> problem.values.round(2), problem.best
    (array([2.  , 0.  , 0.  , 1.99]), 0)
    """
    close = np.zeros(d)
    close[:2] = math.cos(angle), math.sin(angle)
    sides = np.append(np.resize([1.0, -1.0], d), -1.0)  # the two best are of two groups
    return _problem(np.vstack([np.eye(d), close]), 2.0 * np.eye(d)[0], biased, sides)


def sphere(k: int, d: int, seed: int, *, biased: bool = False) -> BiasedLinearBandit:
    """Return k options on the unit sphere, the closest two of them the two best (Tao, Blanco and
    Zhou 2018; Degenne et al. 2020): γ is 1% of the way from the one to the other.

    Examples
    --------
    >>> problem = sphere(50, 6, seed=1)
    >>> first, second = problem.actions.features[problem.gaps.argsort()[:2]]
    >>> bool(abs(problem.delta_min - 0.98 * (1.0 - first @ second)) < 1e-12)
    True
    """
    X = np.random.default_rng([k, d, seed]).standard_normal((k, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    i, j = np.unravel_index(np.argmax(X @ X.T - 2.0 * np.eye(k)), (k, k))
    return _problem(X, X[i] + 0.01 * (X[j] - X[i]), biased)


def many_arms(k: int, seed: int, *, biased: bool = False) -> BiasedLinearBandit:
    """Return Fiez et al.'s problem (2019): two options apart, and k − 2 in a bundle between them.

    Examples
    --------
    >>> many_arms(50, seed=1).best
    0
    """
    bundle = math.pi / 4 + 0.3 * np.random.default_rng([k, seed]).standard_normal(k - 2)
    angles = np.concatenate([[0.0, 0.75 * math.pi], bundle])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    return _problem(X, np.array([1.0, 0.0]), biased)


def factorial(factors: int, seed: int, *, biased: bool = False) -> BiasedLinearBandit:
    """Return all settings of factors of two levels, with a constant, main effects and pairs.

    Examples
    --------
    >>> factorial(4, seed=1)
    BiasedLinearBandit(16 options, best 'option 12', no bias, noise_scale 1)
    """
    levels = np.array(list(itertools.product([-1.0, 1.0], repeat=factors)))
    pairs = [levels[:, i] * levels[:, j] for i, j in itertools.combinations(range(factors), 2)]
    X = np.column_stack([np.ones(len(levels)), levels, *pairs])
    gamma: Floats = np.random.default_rng([factors, seed]).standard_normal(len(X[0]))
    # the group is the product of all levels, which is no combination of effects of one or two
    gamma = gamma / float(np.linalg.norm(gamma))
    return _problem(X, gamma, biased, levels.prod(axis=1))


def transductive(d: int, *, angle: float = 0.1, biased: bool = False) -> BiasedLinearBandit:
    """Return Fiez et al.'s problem of two kinds (2019): d unit vectors are measured, and d options
    chosen among: half of them unit vectors, each with another one close to it.

    Examples
    --------
    >>> problem = transductive(4)
    >>> problem.questions, problem.values.round(3)
    (Questions(4 questions about 4 options), array([1.   , 0.   , 0.995, 0.   ]))
    """
    X, half = np.eye(d), d // 2
    Z = np.vstack([X[:half], math.cos(angle) * X[:half] + math.sin(angle) * X[half : 2 * half]])
    if not biased:
        return BiasedLinearBandit(Questions(options=Z, features=X), gamma=X[0])
    sides = np.repeat([[1.0], [-1.0]], d, axis=0)
    asked = Questions(options=Z, features=np.vstack([X, X]), attributes=sides)
    return BiasedLinearBandit(asked, gamma=X[0], omega=BIAS)


def _problem(
    X: Floats, gamma: Floats, biased: bool, sides: Floats | None = None
) -> BiasedLinearBandit:
    if not biased:
        return BiasedLinearBandit(ActionSet(X), gamma=gamma)
    sides = np.resize([1.0, -1.0], len(X)) if sides is None else sides
    return BiasedLinearBandit(ActionSet(X, sides.astype(int)), gamma=gamma, omega=BIAS)
