"""Skating judges who favour home: real events as single judges saw them, and a model of one.

The season is `evenhand.cases.skating`; the fitted model comes with the package as well.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.cases.skating import LEAST_SKATERS, season
from evenhand.numerics.row_space import space_of
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.simulated import SimulatedEvaluations

FEATURES = ("base_value", "max_base", "ability")

HOME_BONUS = 1.59
"""Points that a judge adds for skaters from home and takes off others, on average: half the gap."""

JUDGE_NOISE = 3.6
"""Standard deviation of a judge's total about what judges from elsewhere give, in points."""

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


@dataclass(frozen=True, eq=False)
class OneJudgeEvent:
    """An event as one judge sees it: the skaters, and what they are worth by all other judges.

    Parameters
    ----------
    competition, program, judge, discipline
        Which event, and whose view of it.
    actions
        The skaters; those from home are group +1. Features are standardised within the event,
        after a column of ones; a column that is the same for all says nothing and is left out.
    scores
        (k,) what the judge really gave.
    references
        (k,) the mean total of the other judges from other nations, the best truth there is.
    """

    competition: str
    program: str
    judge: str
    discipline: str
    actions: ActionSet
    scores: Floats
    references: Floats

    def judged(self, seed: int) -> SimulatedEvaluations:
        """Return a judge who may be asked again and again, and gives the references with the home
        bonus and Gaussian noise.

        Examples
        --------
        >>> from evenhand.policies import Allocation
        >>> event = next(one_judge_events())
        >>> often = Allocation(np.full(len(event.actions), 10_000), 0)
        >>> feedback = event.judged(seed=1).evaluate(often)
        >>> bool((abs(feedback.means - event.references) < HOME_BONUS + 0.2).all())
        True
        """
        each = ActionSet(np.eye(len(self.actions)), self.actions.groups)
        truth = BiasedLinearBandit(each, self.references, HOME_BONUS, JUDGE_NOISE)
        return SimulatedEvaluations(truth, seed)


def one_judge_events(features: Sequence[str] = FEATURES) -> Iterator[OneJudgeEvent]:
    """Yield the events of the season as each single judge sees them.

    Of every competition, programme and judge: the skaters whose ability is known, if there are
    at least six, some of them from home and some not, and if the features leave the bias
    identifiable.

    Parameters
    ----------
    features
        Which columns of the season's table explain the values.

    Examples
    --------
    >>> events = list(one_judge_events())
    >>> len(events), min(len(event.actions) for event in events)
    (768, 6)
    """

    def event_of(row: dict[str, str]) -> tuple[str, str, str]:
        return row["competition"], row["program"], row["judge"]

    for (competition, program, judge), seen in groupby(sorted(season(), key=event_of), event_of):
        known = [row for row in seen if row["ability"]]
        homes = sum(row["home"] == "1" for row in known)
        if len(known) < LEAST_SKATERS or not 0 < homes < len(known):
            continue
        columns = np.array([[float(row[name]) for name in features] for row in known])
        varies = np.ptp(columns, axis=0) > 0.0
        scaled = (columns - columns.mean(axis=0))[:, varies] / columns.std(axis=0)[varies]
        actions = ActionSet(
            np.column_stack([np.ones(len(known)), scaled]),
            ["home" if row["home"] == "1" else "away" for row in known],
            [row["skater"] for row in known],
            positive="home",
            feature_names=["intercept", *np.array(features)[varies].tolist()],
        )
        e = np.eye(actions.points.shape[1])[-1]
        if not space_of(actions.points).contains(e):
            continue
        scores, references = (
            np.array([float(row[column]) for row in known]) for column in ("score", "reference")
        )
        scores.flags.writeable = references.flags.writeable = False
        yield OneJudgeEvent(
            competition, program, judge, known[0]["discipline"], actions, scores, references
        )
