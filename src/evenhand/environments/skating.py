"""A skating judge who favours home: a real event, and a model of how such events are scored.

The event and the fitted model come with the package; `data/SOURCE.md` says from where, and under
which licence.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.environments.problem import BiasedLinearBandit
from evenhand.environments.problem_files import problem_with_parameters

FEATURES = ("base_value", "max_base", "ability")

# What all couples of this event share: the free programme of ice dance, without a fall.
_SAME_FOR_ALL = {"free": 1.0, "dance": 1.0, "n_flagged": 0.0, "deductions": 0.0}


@dataclass(frozen=True, eq=False)
class SkatingEvent:
    """One event as one judge scored it, and the problem that a model makes of it.

    Parameters
    ----------
    problem
        The couples with the values, the bias and the noise of the model.
    scores
        (k,) what the judge really gave.
    references
        (k,) the mean total of the other judges from other nations, the best truth there is.
    value_bound
        Half of what two couples' values may differ by, in points: known before anybody skates.
    """

    problem: BiasedLinearBandit
    scores: Floats
    references: Floats
    value_bound: float = 15.0


def skate_canada() -> SkatingEvent:
    """Return the free dance at Skate Canada 2016, judged from the USA.

    Examples
    --------
    >>> event = skate_canada()
    >>> labels = event.problem.actions.labels
    >>> labels[event.scores.argmax()], labels[event.references.argmax()]
    ('S161', 'S255')
    >>> labels[event.problem.evaluations.argmax()], labels[event.problem.best]
    ('S161', 'S255')
    """
    data = files("evenhand") / "data"
    table = (data / "skate_canada.csv").read_text("utf-8")
    model = json.loads((data / "skating_model.json").read_text("utf-8"))
    actions = ActionSet.from_csv(
        io.StringIO(table), group="side", label="couple", features=FEATURES, positive="home"
    )
    rows = list(csv.DictReader(io.StringIO(table)))
    start, scores, references = (
        np.array([float(row[column]) for row in rows]) for column in ("start", "score", "reference")
    )
    # In which order they start is not theirs to choose: it counts as the same for all
    shared = _SAME_FOR_ALL | {"start": float(start.mean())}
    constant = 0.0
    worth: dict[str, float] = {}
    columns = zip(model["features"], model["mean"], model["sd"], model["gamma"], strict=True)
    for name, mean, sd, gamma in columns:
        if name == "1":
            constant += gamma
            continue
        constant -= gamma * mean / sd
        if name in FEATURES:
            worth[name] = gamma / sd
        else:
            constant += gamma / sd * shared.get(name, 0.0)
    problem = problem_with_parameters(
        actions,
        {
            "gamma": worth | {"(constant)": constant},
            "omega": model["omega"],
            "noise_scale": model["noise_scale"],
        },
    )
    scores.flags.writeable = references.flags.writeable = False
    return SkatingEvent(problem, scores, references)
