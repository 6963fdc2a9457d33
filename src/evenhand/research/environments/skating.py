"""A skating judge who favours home: a real event, and the model of it that comes with the package.

The season is `evenhand.cases.skating`.
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
from evenhand.research.environments.problem import BiasedLinearBandit

FEATURES = ("base_value", "max_base", "ability")

# What all couples of this event share: the free programme of ice dance, without a fall.
_SAME_FOR_ALL = {"1": 1.0, "free": 1.0, "dance": 1.0}


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
    actions = ActionSet.from_table(
        io.StringIO(table), group="side", label="couple", features=FEATURES, positive="home"
    )
    rows = list(csv.DictReader(io.StringIO(table)))
    start, scores, references = (
        np.array([float(row[column]) for row in rows]) for column in ("start", "score", "reference")
    )
    # In which order they start is not theirs to choose: it counts as the same for all
    shared = _SAME_FOR_ALL | {"start": float(start.mean())}
    slopes, constant = dict.fromkeys(FEATURES, 0.0), 0.0
    columns = zip(model["features"], model["mean"], model["sd"], model["gamma"], strict=True)
    for name, mean, sd, gamma in columns:
        constant += gamma / sd * (shared.get(name, 0.0) - mean)
        if name in FEATURES:
            slopes[name] = gamma / sd
    assert actions.encoding is not None
    _, *encoded = actions.encoding.features  # as they are read: less their mean, over their scale
    constant += sum(slopes[column.name] * column.mean for column in encoded)
    own = [constant, *(slopes[column.name] * column.scale for column in encoded)]
    problem = BiasedLinearBandit(actions, own, model["omega"], model["noise_scale"])
    scores.flags.writeable = references.flags.writeable = False
    return SkatingEvent(problem, scores, references)
