"""Effects of options and evaluators, and the bias beside them.

Notation
--------
o, c        what is scored (`Scores.scored`), and the evaluator at an event (`Scores.chairs`)
R           (n, r)  regressors: partiality p, then further attributes
D           the columns of effects, which nobody writes down (`projections`):
                scores          1 for o and 1 for c
                comparisons     1 for the first option, −1 for the second, 1 for whose verdict it is
                a reference     1 for c; scores less the reference take the place of scores
R̃, ỹ        regressors and scores less what D explains
S̃_j         R̃_j less what the other regressors explain, 0 where that is all of it;  S̃ = S̃_1
β_j         S̃_j·ỹ/S̃_j·S̃_j, by how much scores rise with regressor j;  e = ỹ − R̃ β;
            of all β that fit as well, the shortest

Scores are taken from the origin of their level (`scores.scores`), which values have again.
Least squares with all columns of D written down gives the same β and e (Frisch, Waugh, Lovell).
Where R̃ and ỹ are off by a small share, β is off by the square of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats
from evenhand.linear.projection import ENOUGH, Projection
from evenhand.errors import InputError
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.tolerance import IN_SPAN, RANK
from evenhand.scores import Scores
from evenhand.scores.baseline import POSITION
from evenhand.scores.scores import Codes, chunks, crossed

PARTIALITY = "own group"
"""What the first regressor is called where no column has a name for it."""

_PER_ANSWER = 2  # verdicts on an answer of a baseline, for it to have an effect of its own
_VERDICTS = 20  # from which an evaluator's position is one of his own


class FittedEffects(NamedTuple):
    """Values, leniencies, and the connected part of each value."""

    values: Floats
    leniencies: Floats
    part: Codes


@dataclass(frozen=True, eq=False)
class Effects:
    """Scores and partiality less what options and evaluators explain, and the bias in them."""

    scores: Scores
    own: Floats  # (n,) S̃; all 0 where partiality is not known, or not identified
    residual: Floats  # (n,) e
    bias: float  # β; NaN where it is not identified
    information: float  # S̃·S̃
    freedom: int  # degrees of freedom of the residuals
    name: str = PARTIALITY  # what the regressor of `own` is called
    names: tuple[str, ...] = ()  # of all regressors
    # (n, r) the S̃_j of all regressors
    regressors: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    # (r,) the β_j; NaN where one is not identified
    coefs: Floats = field(default_factory=lambda: np.zeros(0))
    # (n,) the number of what has a value in each row, and how many there are: what is scored; in
    # comparisons, the option that stands first, at its event
    valued: tuple[Codes, int] = field(default_factory=lambda: (np.zeros(0, dtype=np.int32), 0))
    # (valued,) the number of its connected part: values of two parts have no common measure
    part: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    _values: Floats = field(default_factory=lambda: np.zeros(0))
    _leniencies: Floats = field(default_factory=lambda: np.zeros(0))
    met: Projection | None = None  # takes off the effects of options and evaluators

    @property
    def noise(self) -> float:
        """Standard deviation of the residuals; NaN where none are left over."""
        if self.freedom <= 0:
            return float("nan")
        return float(np.sqrt(self.residual @ self.residual / self.freedom))

    @property
    def told(self) -> bool:
        """Whether the bias can be told from other effects."""
        return self.information > 0.0

    def values(self) -> Floats:
        """Return (valued,) what evaluators would give if they were as lenient as most, and fair.

        The effects of what was scored, without bias, attributes and leniency. In each connected
        part leniencies have the mean 0; values of two parts cannot be compared. In comparisons
        the values of a part have the mean 0; with a reference, values are the reference.
        """
        return self._values

    def leniencies(self) -> Floats:
        """Return (chairs,) how much more an evaluator gives at an event than others there do.

        Measured from the mean of the connected part; with a reference, from the reference. In
        comparisons nobody is lenient, and this is empty.
        """
        return self._leniencies

    def along(self, name: str) -> Effects:
        """Return the same effects with another regressor as `own`, and its `bias`."""
        if name not in self.names:
            raise InputError(f"there is no regressor {name!r}; there are {', '.join(self.names)}.")
        j = self.names.index(name)
        own = self.regressors[:, j]
        bias, size = float(self.coefs[j]), float(own @ own)
        return replace(self, own=own, bias=bias, information=size, name=name)

    @cached_property
    def position(self) -> float:
        """How much standing first adds to a verdict, over all evaluators; NaN if untold."""
        return float("nan") if self.scores.rival is None else standing_first(self.scores).bias


def two_way(scores: Scores) -> Effects:
    """Return the effects of options and evaluators, and the bias beside them."""
    if scores.rival is not None:
        return _of_comparisons(scores)
    if scores.reference is not None:
        return _against_reference(scores)
    return _of_scores(scores)


def standing_first(scores: Scores) -> Effects:
    """Return how much standing first adds in comparisons, as the `bias` of effects of its own: one
    for all evaluators, a mean where theirs differ.
    """
    first, second, k = sides(scores)
    met = Projection(first, k, None, 0, against=second)
    R = {POSITION: np.ones(len(scores))} | regressors_of(scores)
    return beside(scores, scores.centred, R, met, (first, k), _compared(met), POSITION)


def regressors_of(scores: Scores) -> dict[str, Floats]:
    """Return R by name: partiality, if it is known, and further attributes."""
    found: dict[str, Floats] = {}
    if scores.partial is not None:
        found[scores.called.get("partial", PARTIALITY)] = scores.partial
    return found | dict(scores.attributes)


def column_of(effects: Effects) -> Floats:
    """Return (n,) p: the regressor whose effect is `Effects.bias`, before anything is taken off."""
    found = regressors_of(effects.scores)
    return found.get(effects.name, np.ones(len(effects.own)))


def without(effects: Effects, columns: Floats) -> Floats:
    """Return (n, r) columns less the effects of options and evaluators."""
    assert effects.met is not None
    return effects.met.without(columns)[0]


def _of_scores(scores: Scores) -> Effects:
    (scored, n_scored), (chairs, n_chairs) = scores.scored, scores.chairs
    met = Projection(chairs, n_chairs, scored, n_scored)

    def levels(s: Floats, v: Floats) -> FittedEffects:
        of_chairs, part, n_parts = met.parts
        seats = np.maximum(np.bincount(of_chairs, minlength=n_parts), 1)
        mean = np.bincount(of_chairs, s, minlength=n_parts) / seats
        return FittedEffects(v + mean[part] + scores.level.origin, s - mean[of_chairs], part)

    return beside(scores, scores.centred, regressors_of(scores), met, (scored, n_scored), levels)


def _against_reference(scores: Scores) -> Effects:
    assert scores.reference is not None
    (scored, n_scored), (chairs, n_chairs) = scores.scored, scores.chairs
    met = Projection(np.zeros(len(scores), dtype=np.int32), 1, chairs, n_chairs)
    times = np.maximum(np.bincount(scored, minlength=n_scored), 1)
    known = np.bincount(scored, scores.reference, minlength=n_scored) / times

    def levels(coefs: Floats, class_coefs: Floats) -> FittedEffects:
        return FittedEffects(known, class_coefs + coefs[0], np.zeros(n_scored, dtype=np.int32))

    R, y = regressors_of(scores), scores.centred - (scores.reference - scores.level.origin)
    return beside(scores, y, R, met, (scored, n_scored), levels)


def _of_comparisons(scores: Scores) -> Effects:
    if (answers := _answers_of_baseline(scores)) is not None:
        return _of_answers(scores, *answers)
    first, second, k = sides(scores)
    met = Projection(first, k, *whose_position(scores), against=second)
    return beside(scores, scores.centred, regressors_of(scores), met, (first, k), _compared(met))


def _answers_of_baseline(scores: Scores) -> tuple[Codes, int] | None:
    """Return (n,) the number of the baseline's answer to an item, as an evaluator sees it, and how
    many there are: it moves all verdicts on the item. None where there are too few to tell.
    """
    if scores.baseline is None or scores.item is None:
        return None
    who = np.zeros(len(scores), np.int32) if scores.evaluator is None else scores.evaluator.codes
    answers, n = crossed(who, scores.item.codes)
    return (answers, n) if _PER_ANSWER * n <= len(scores) else None


def _of_answers(scores: Scores, answers: Codes, n_answers: int) -> Effects:
    """Return effects of options beside those of the baseline's answers, which is worth 0."""
    k = len(scores.option)
    met = Projection(answers, n_answers, scores.option.codes, k)

    def levels(s: Floats, v: Floats) -> FittedEffects:
        of_answers, part, n_parts = met.parts
        seats = np.maximum(np.bincount(of_answers, minlength=n_parts), 1)
        values = v + (np.bincount(of_answers, s, minlength=n_parts) / seats)[part]
        values[scores.baseline] = 0.0
        part = part.copy()
        part[scores.baseline] = part[int(scores.option.codes[0])]
        return FittedEffects(values - values.mean(), np.zeros(0), part)

    valued = scores.option.codes, k
    return beside(scores, scores.centred, regressors_of(scores), met, valued, levels)


def _compared(met: Projection) -> Callable[[Floats, Floats], FittedEffects]:
    def levels(coefs: Floats, positions: Floats) -> FittedEffects:
        part, _, n_parts = met.parts
        mean = np.bincount(part, coefs, minlength=n_parts) / np.bincount(part, minlength=n_parts)
        return FittedEffects(coefs - mean[part], np.zeros(0), part)

    return levels


def sides(scores: Scores) -> tuple[Codes, Codes, int]:
    """Return (n,) who stands first and who second, options at events, and how many there are."""
    assert scores.rival is not None
    first, second = scores.option.codes, scores.rival
    if scores.event is None:
        return first, second, len(scores.option)
    event = scores.event.codes
    both, k = crossed(np.concatenate([first, second]), np.concatenate([event, event]))
    return both[: len(first)], both[len(first) :], k


def whose_position(scores: Scores) -> tuple[Codes, int]:
    """Return (n,) whose position counts: evaluators with many verdicts, and all others as one."""
    if scores.evaluator is None:
        return np.zeros(len(scores), dtype=np.int32), 1
    many = scores.evaluator.counts >= _VERDICTS
    number = np.where(many, np.cumsum(many) - 1, int(many.sum())).astype(np.int32)
    others = int(not many.all())
    return number[scores.evaluator.codes], int(many.sum()) + others


def beside(
    scores: Scores,
    y: Floats,
    regressors: dict[str, Floats],
    met: Projection,
    valued: tuple[Codes, int],
    levels: Callable[[Floats, Floats], FittedEffects],
    name: str | None = None,
) -> Effects:
    """Return the effects of D, which ``met`` takes off y, and regressors beside them (emptied), of
    which ``name`` is `own` (partiality if none is named).
    """
    name = name or scores.called.get("partial", PARTIALITY)
    names = tuple(regressors)
    columns, thetas, class_thetas = [], [], []
    for key in names:
        column = regressors.pop(key)  # of millions of rows, nothing is held for longer than needed
        rest, coefs, class_coefs = met.without(column)
        if not np.linalg.norm(rest) > IN_SPAN * np.linalg.norm(column):
            rest[:] = 0.0
        del column
        columns.append(rest)
        thetas.append(coefs)
        class_thetas.append(class_coefs)
    left, coefs, class_coefs = met.without(y)
    theta, class_theta = np.hstack([coefs, *thetas]), np.hstack([class_coefs, *class_thetas])
    fit = regressed(columns, left)
    nil = max(ENOUGH * float(max(y.max(), -y.min())), scores.level.grain)
    for rows in chunks(len(y)):
        for column, slope in zip(columns, fit.slopes, strict=True):
            left[rows] -= slope * column[rows]
        left[rows][np.abs(left[rows]) <= nil] = 0.0  # evaluators who agree: that is no noise
    met.forget()
    apart = fit.apart(columns)
    weights = np.concatenate([[1.0], -fit.slopes])
    found = levels(theta @ weights, class_theta @ weights)
    effects = Effects(
        scores,
        np.zeros(len(y)) if name not in names else apart[:, 0],
        left,
        np.nan,
        0.0,
        len(y) - met.rank - fit.rank,
        name,
        names,
        apart,
        np.where(fit.told, fit.slopes, np.nan),
        valued,
        found.part,
        found.values,
        found.leniencies,
        met,
    )
    return effects.along(name) if name in names else effects


@dataclass(frozen=True, eq=False)
class Regressed:
    """What columns explain beside one another."""

    slopes: Floats  # (r,) β
    # (r,) whether S̃_j is more than rounding, so that β_j is the only one that fits
    told: NDArray[np.bool_]
    rank: int  # how many of the columns are independent
    # (r, r) how much of each other column, column by column, is taken off to give S̃
    shares: Floats

    def apart(self, columns: Sequence[Floats]) -> Floats:
        """Return (n, r) S̃, without a copy where there is one column."""
        if len(columns) == 1 and self.told.all():
            return columns[0].reshape(-1, 1)
        n = len(columns[0]) if columns else 0
        apart = np.zeros((n, len(columns)), order="F")
        for j in np.flatnonzero(self.told):
            for i, column in enumerate(columns):
                apart[:, j] += self.shares[i, j] * column
        return apart


def regressed(columns: Sequence[Floats], y: Floats) -> Regressed:
    """Return what columns explain of y."""
    r = len(columns)
    gram = np.array([[a @ b for b in columns] for a in columns]).reshape(r, r)
    sizes = gram.diagonal()
    form = Gram.of_matrix(gram, sizes)
    slopes = form.inverse @ np.array([column @ y for column in columns]).reshape(r)
    shares, told = np.zeros((r, r)), np.zeros(r, dtype=np.bool_)
    for j in np.flatnonzero(sizes > 0.0):
        others = np.delete(np.arange(r), j)
        some = Gram.of_matrix(gram[np.ix_(others, others)], sizes[others])
        b = some.inverse @ gram[others, j]
        told[j] = sizes[j] - gram[others, j] @ b > RANK * sizes[j]
        shares[j, j], shares[others, j] = 1.0, -b
    return Regressed(slopes, told, form.root.shape[1], shares)
