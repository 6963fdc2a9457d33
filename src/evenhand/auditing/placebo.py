"""The same bias with partiality dealt out at random: what an audit finds where there is nothing.

Notation
--------
π           who gets whose group: evaluators of one event exchange theirs, at each event anew
p_π         the partiality that follows;  ỹ scores less effects and other regressors
β_π         p_π·ỹ over the squares of p_π less effects, the bias that it would have

If groups meant nothing, any dealing of them would be as good as the true one, and β one of the β_π.
Each needs no more than a projection of p_π: the scores are projected once. Groups stay at their
events, since who is asked to judge often depends on who competes: groups dealt out over all events
would meet far fewer of their own.

Where partiality is stated and groups are not, evaluators exchange all that was stated of them.
Whoever gets a partiality to what he has not scored has none there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.inference.biases import TableFit
from evenhand.linear import Fit
from evenhand.numerics.tolerance import PROJECTED
from evenhand.scores import Scores
from evenhand.scores.scores import crossed

DRAWS = 199
"""Dealings of groups, where rows are not too many for it."""

_LEAST_DRAWS = 19
_AT_ONCE = 1_000_000  # rows times draws that are projected at once
_CELLS = 4_000_000  # rows times draws: beyond it, draws are fewer
_FEW = 6  # evaluators whose dealings are all gone through; events at which two are too few


@dataclass(frozen=True, eq=False)
class Placebo:
    """What the bias is where groups are dealt out to evaluators at random.

    Parameters
    ----------
    bias
        The bias with the true groups.
    draws
        (draws,) the bias with groups at random.
    impossible
        Why there is none, in plain words; empty where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> placebo = Placebo(3.0, np.array([-1.0, 0.0, 1.0, 0.0]))
    >>> placebo.chance, round(placebo.z, 2)
    (0.2, 3.67)
    """

    bias: float
    draws: Floats
    impossible: str = ""

    @property
    def mean(self) -> float:
        """Mean of the draws; NaN where there is none."""
        return float(self.draws.mean()) if len(self.draws) else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation of the draws; NaN where there are less than two."""
        return float(self.draws.std(ddof=1)) if len(self.draws) > 1 else math.nan

    @property
    def z(self) -> float:
        """By how many standard deviations of the draws the bias is off their mean."""
        return (self.bias - self.mean) / self.sd if self.sd > 0.0 else math.nan

    @property
    def chance(self) -> float:
        """How probable a bias as large would be if groups meant nothing, by its rank."""
        if not len(self.draws):
            return math.nan
        as_large = np.abs(self.draws) >= abs(self.bias) * (1.0 - 1e-9)
        return (1.0 + float(as_large.sum())) / (1.0 + len(self.draws))


def placebo(table: TableFit, seed: int = 0) -> Placebo:
    """Return the permutation test: the bias with groups dealt out at random, from a seed."""
    naive, reason = table.naive(0.5).value, _impossible(table)
    if reason:
        return Placebo(naive, np.zeros(0), reason)
    panel, n, dealt, own = table.panel, len(table.scores), _dealt(table.scores), table.own
    most = int(np.clip(_CELLS // n, _LEAST_DRAWS, DRAWS))
    left, least = table.residual + naive * own, PROJECTED * float(own @ own)
    sums: list[tuple[Floats, Floats]] = []  # along what is left of the scores, and of squares
    for places in _places(table.scores, seed, most, max(1, _AT_ONCE // n)):
        P = dealt(places)
        if isinstance(panel, Fit):
            squares = (panel.basis.off_effects(P.T) ** 2).sum(axis=0)
        else:
            squares = np.array([panel._met.left_over(column) for column in P])
        sums.append((P @ left, squares))
    along, size = (np.concatenate(part) for part in zip(*sums, strict=True))
    found = along[size > least] / size[size > least]
    return Placebo(naive, found, "" if len(found) else "no other dealing shows a bias")


def _impossible(table: TableFit) -> str:
    scores = table.scores
    if not table.own.any():
        return "the bias itself can't be told"
    if scores.evaluator is None:
        return "nobody said who the evaluators are"
    event = _event_of_chairs(scores)
    if np.bincount(event).max() < (3 if len(np.unique(event)) < _FEW else 2):
        return "there are too few evaluators to exchange groups"
    if scores.stated is None and np.ptp(np.asarray(scores.evaluator_group)) == 0:
        return "all evaluators are of one group"
    return ""


def _event_of_chairs(scores: Scores) -> Indices:
    chairs, n_chairs = scores.chairs
    event = np.zeros(n_chairs, dtype=np.int64)
    if scores.event is not None:
        event[chairs] = scores.event.codes
    return event


def _places(scores: Scores, seed: int, most: int, at_once: int) -> Iterator[Indices]:
    """Yield (draws, chairs) permutations of chairs, each at its event, some at once; all but the
    true one where they are few.
    """
    event, rng = _event_of_chairs(scores), np.random.default_rng(seed)
    n, alone = len(event), event.min() == event.max()
    if alone and n <= _FEW and math.factorial(n) <= most:
        yield np.array([*permutations(range(n))])[1:]
        return
    order = np.argsort(event, kind="stable")
    for start in range(0, most, at_once):
        drawn = rng.random((min(at_once, most - start), n))
        places = np.argsort(drawn, axis=1)
        if not alone:
            for place, one in zip(places, drawn, strict=True):
                place[order] = np.lexsort((one, event))
        yield places


def _dealt(scores: Scores) -> Callable[[Indices], Floats]:
    """Return what gives (draws, n) the partiality where chairs have changed places."""
    (chairs, n_chairs), stated = scores.chairs, scores.stated
    codes = [scores.option.codes, *([] if scores.rival is None else [scores.rival])]
    if stated is None:
        who, groups, of_judges = scores.evaluator, scores.option_group, scores.evaluator_group
        assert who is not None
        assert groups is not None
        assert of_judges is not None
        group = np.zeros(n_chairs, dtype=np.int32)
        group[chairs] = of_judges[who.codes]
        sides = [groups[one] for one in codes]

        def by_groups(places: Indices) -> Floats:
            side = group[places][:, chairs]
            first, *second = (((of == side) & (side >= 0)).astype(float) for of in sides)
            return np.asarray(first - second[0] if second else first)

        return by_groups
    scored, n_scored = scores.scored
    if scores.rival is not None:
        scored, n_scored = crossed(scored, scores.rival)
    key = chairs.astype(np.int64) * n_scored + scored
    order = np.argsort(key, kind="stable")
    ordered, known = key[order], stated[order]

    def as_stated(places: Indices) -> Floats:
        wanted = places[:, chairs] * n_scored + scored
        found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
        return np.asarray(np.where(ordered[found] == wanted, known[found], 0.0))

    return as_stated
