"""Problems that every policy must cope with, and scores drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions


@dataclass(frozen=True, eq=False)
class Case:
    """A problem that every policy must cope with: options, and how they are evaluated on average.

    Parameters
    ----------
    name
        What is special about it.
    actions
        The options, in two groups; or questions about options.
    evaluations
        (q,) mean evaluations of all that can be asked; values lie within ±1.
    bias
        What is added to evaluations in group +1 and taken off in group −1; of questions, what the
        first attribute does.
    values
        (k,) values of the options.
    hopeless
        The same, in such a way that no evaluations show the bias.
    """

    name: str
    actions: Askable
    evaluations: Floats
    bias: float
    values: Floats
    hopeless: Askable

    @cached_property
    def noise(self) -> Floats | float:
        """Relative noise of what is asked."""
        noise = Questions.of(self.actions).noise
        return 1.0 if noise is None else noise


def _case(
    name: str, features: ArrayLike, groups: ArrayLike, gamma: ArrayLike, bias: float = 0.25
) -> Case:
    x, z = np.asarray(features, dtype=np.float64), np.asarray(groups)
    values = x @ np.asarray(gamma)
    hopeless = ActionSet(np.column_stack([x, z]), z)  # the group is also a feature
    return Case(name, ActionSet(x, z), values + z * bias, bias, values, hopeless)


def _scattered(k: int, d: int) -> Case:
    rng = np.random.default_rng(k)
    x = rng.standard_normal((k, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gamma = rng.standard_normal(d)
    gamma /= np.linalg.norm(gamma)
    return _case(f"{k} options", x, np.where(x @ gamma > 0.1, -1, 1), gamma)


CASES: tuple[Case, ...] = (
    _case("three options", [[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], [1, -1, -1], [0.5, 0.4]),
    _case("one option in each group", [[1.0], [0.5]], [1, -1], [0.75]),
    _case(
        "one option against three",
        [[0.5, 1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]],
        [-1, 1, 1, 1],
        [0.5, 0.25],
    ),
    _case(
        "ties within and across groups",
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]],
        [1, 1, -1, -1, -1, 1],
        [0.5, 0.5],
    ),
    _case(
        "fewer options than dimensions",
        [[4.0, 0.0, 4.0, 0.0], [-2.0, 0.0, -2.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
        [1, -1, 1],
        [0.0625, 0.25, 0.125, 0.0],
    ),
    _case(
        "a group on a line",
        [[1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 1.0]],
        [1, 1, 1, -1, -1],
        [0.5, -0.25, 0.75],
    ),
    _case("a large bias", [[1.0, 0.0], [0.0, 1.0], [-0.5, 0.5]], [1, 1, -1], [0.5, 0.25], -40.0),
    _scattered(30, 3),
)
"""The problems that `check_policy` tries."""


def _asked(
    name: str, questions: Questions, gamma: ArrayLike, omega: ArrayLike, hopeless: Questions
) -> Case:
    worth, bias = np.asarray(gamma, dtype=np.float64), np.asarray(omega, dtype=np.float64)
    means = np.asarray(questions.rows @ np.concatenate([worth, bias]))
    values = np.asarray(questions.options.features @ worth)
    return Case(name, questions, means, float(bias[0]), values, hopeless)


def _panel(**more: Any) -> Questions:
    options = {"Ann": "fr", "Bo": "it", "Cy": "fr", "Di": "us"}
    evaluators = {"P": "fr", "Q": "it", "R": "us"}
    return Questions.panel(options, evaluators, **({"capacity": None} | more))


def _one_judge() -> Questions:
    return Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"}, capacity=None)


def _comparisons(k: int) -> Questions:
    pairs = [(a, b) for a in range(k) for b in range(k) if a != b]
    unit = np.eye(k)
    differences = [unit[a] - unit[b] for a, b in pairs]
    return Questions(options=unit, features=differences, attributes=np.ones((len(pairs), 1)))


def _calibrated() -> Questions:
    """Two options and an item that cannot be chosen, each by two evaluators, one partial to it."""
    items = np.repeat(np.eye(3), 2, axis=0)
    attributes = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    return Questions(
        options=np.eye(3)[:2],
        features=items,
        attributes=attributes,
        evaluator=["P", "Q"] * 3,
        noise=[1.0, 2.0] * 3,
    )


QUESTION_CASES: tuple[Case, ...] = (
    _asked(
        "a panel with tied options and prices",
        _panel(prices=[1.0, 1.0, 4.0], noise=[1.0, 1.0, 0.5]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
    _asked("comparisons", _comparisons(3), [0.25, 0.5, -0.5], [0.25], _one_judge()),
    _asked(
        "an item that cannot be chosen", _calibrated(), [0.25, 0.5, 1.0], [0.5, 0.25], _one_judge()
    ),
)
"""Questions about options, for policies that tell the two apart."""

LIMITED_CASES: tuple[Case, ...] = (
    _asked(
        "a panel asked once each",
        _panel(capacity=1, prices=[1.0, 2.0, 3.0]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
    _asked(
        "evaluators with little time",
        _panel(capacity=3, workload=[5, 2, 9]),
        [0.5, 0.75, -0.25, 0.75],
        [0.5, -0.25, 0.125],
        _one_judge(),
    ),
)
"""Questions that may be asked only so often."""


def drawn(
    counts: Counts,
    case: Case,
    rng: np.random.Generator,
    scale: float = 1.0,
    noise: float = 1.0,
) -> Feedback:
    """Draw the feedback of counts: deviation ``noise``, and everything times ``scale``."""
    n = counts.astype(np.float64)
    loud = noise * case.noise
    sums = n * case.evaluations + loud * np.sqrt(n) * rng.standard_normal(len(n))
    within = 2.0 * loud**2 * rng.standard_gamma(np.maximum(n - 1.0, 0.0) / 2.0)
    squares = sums**2 / np.maximum(n, 1.0) + within
    return Feedback(counts.copy(), scale * sums, scale**2 * squares)
