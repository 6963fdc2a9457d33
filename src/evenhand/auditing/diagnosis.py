"""What scores say about the model behind the bias: where it bends, and where one number hides much.

Notation
--------
y = v_o + s_c + β p + ε     the model (`effects`);  e: residuals, v̂: fitted values
z           a further regressor, such as p (v̂_o − v̄): is the bias larger for good options?

Fitted values and residuals of least squares are uncorrelated, so residuals may be asked about
fitted values, as Tukey did for non-additivity, and have no answer ready where the model holds. A
mean of others' scores in the place of v̂ would have one: its noise is in the contrast, too.

Every question that has a p-value is asked at 2% over the number of questions. The p-values are
nearly right, and so on scores that follow the model anything at all is found in at most 5% of
tables. An alarm is what moves the bias out of its own
interval; all else is a note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from evenhand.arrays import Floats, Indices
from evenhand.auditing.bias import BiasEstimate, clustered
from evenhand.auditing.effects import Effects, two_way
from evenhand.auditing.scale_use import values_by_row
from evenhand.best import sign
from evenhand.report.words import fixed, number, p_value, short
from evenhand.scores import Scores
from evenhand.scores.baseline import BASELINE
from evenhand.scores.scores import Codes, Factor, Finding, crossed, less_means, sums_over

LEVEL = 0.02
"""How probable it is, by p-values over all questions, that something is found in nothing."""

_ENOUGH = 500_000  # scores of which questions are asked
_FEWEST = 5  # scores of an evaluator, whose noise or scale is then looked at
_TENTH = 0.1
_PILED = 0.1  # share of scores at an end of the scale that is worth a word
_FEWEST_PILED = 5
_STRAY = 12.0  # times the scatter
_COME_BACK = 0.75  # share of contrasts that pairs have had before: each comes four times


class ResidualTest(NamedTuple):
    """A question that was asked of the residuals: the p-value, and what to say if it is small."""

    chance: float
    found: Callable[[], Finding]


def diagnose(effects: Effects, bias: BiasEstimate, for_choice: bool = False) -> tuple[Finding, ...]:
    """Return what scores say about the model of their bias: alarms and notes; a stray score is an
    alarm where an option is to be chosen (``for_choice``), since it may make another the best.
    """
    if effects.freedom <= 0:
        return ()
    whole = [
        *ends(effects.scores),
        *_strays(effects, for_choice),
    ]
    look = _Examined(_some_of(effects), bias)
    asked = [
        question
        for ask in (_slope, _stretch, _noise_by_evaluator, _noise_by_level, _drift, _bias_drift)
        if (question := ask(look)) is not None and not math.isnan(question.chance)
    ]
    found = [one.found() for one in asked if one.chance <= LEVEL / len(asked)]
    return tuple(sorted([*found, *whole], key=lambda finding: not finding.alarm))


def _some_of(effects: Effects) -> Effects:
    """Return the effects in a part of a large table, all scores of things drawn at random: the
    model holds in it if it holds in the whole.
    """
    scores = effects.scores
    if len(scores) <= _ENOUGH:
        return effects
    what, n = scores.scored if scores.rival is None else (np.arange(len(scores)), len(scores))
    drawn = np.random.default_rng(0).random(n) < _ENOUGH / len(scores)
    return two_way(scores.among(np.flatnonzero(drawn[what])))


@dataclass(frozen=True, eq=False)
class _Examined:
    """What questions are asked of, with what several of them need."""

    effects: Effects
    bias: BiasEstimate

    @property
    def unit(self) -> float:
        """The noise, or how far scores lie apart: fourth powers of scores have no room."""
        noise, score = self.effects.noise, self.effects.scores.score
        return noise if noise > 0.0 else float(score.max() - score.min()) or 1.0

    @cached_property
    def values(self) -> Floats:
        """(n,) how good what is scored is, at its event, in units of the noise."""
        return values_by_row(self.effects) / self.unit

    @cached_property
    def scatter(self) -> Floats:
        """(n,) |e|, each stretched by what effects take off it."""
        scores = self.effects.scores
        kept = np.ones(len(scores))
        for codes, _ in (scores.scored, scores.chairs):
            kept *= np.maximum(1.0 - 1.0 / np.bincount(codes)[codes], 0.0)
        found = np.zeros(len(scores))
        np.divide(np.abs(self.effects.residual), np.sqrt(kept), out=found, where=kept > 0.0)
        return found

    @cached_property
    def contrasts(self) -> tuple[Indices, Floats, bool]:
        """(m,) rows, (m,) how loud they are, each told once, and whether pairs hang together.

        Residuals of an evaluator at an event sum to 0: those of two options are the same number
        twice. So contrasts take their place (Helmert's: each against the mean of those before it),
        which are as independent as noise. Where pairs of evaluator and option come back often, what
        stays with a pair is no noise, and contrasts of a pair's contrasts take their place again.
        """
        scores = self.effects.scores
        if scores.rival is not None:  # nobody is lenient in comparisons
            return np.arange(len(scores)), self.scatter, True
        kept = np.maximum(1.0 - 1.0 / np.bincount(scores.scored[0])[scores.scored[0]], 0.0)
        e = np.zeros(len(scores))
        np.divide(self.effects.residual, np.sqrt(kept), out=e, where=kept > 0.0)
        rows, apart = _contrasts(e, scores.chairs[0])
        again, further = _contrasts(apart, self._pairs[rows])
        if len(again) >= _COME_BACK * len(rows):
            return rows[again], np.abs(further), False
        return rows, np.abs(apart), True

    @cached_property
    def _pairs(self) -> Codes:
        assert self.effects.scores.evaluator is not None
        return crossed(self.effects.scores.evaluator.codes, self.effects.scores.option.codes)[0]

    def repeated(self, x: Floats) -> float:
        """By how much sums over pairs of evaluator and option scatter more than single rows do."""
        together = np.bincount(self._pairs, x)
        total = float(x @ x)
        return max(1.0, float(together @ together) / total) if total > 0.0 else 1.0


class _Term(NamedTuple):
    """A further regressor: its slope, and the bias beside it."""

    slope: BiasEstimate
    bias: float


def _term(effects: Effects, name: str, columns: dict[str, Floats], level: float) -> _Term | None:
    """Return the slope along one of some further columns; None if it cannot be told."""
    scores = effects.scores
    with_it = two_way(replace(scores, attributes={**scores.attributes, **columns}))
    along = with_it.along(name)
    if not along.told or along.freedom <= 0:
        return None
    return _Term(clustered(along, level), with_it.bias)


def _moved(term: _Term, bias: BiasEstimate) -> bool:
    """Whether the bias beside a term is outside the interval of the bias without."""
    return bool(math.isfinite(term.bias) and not bias.covers(term.bias))


def _slope(look: _Examined) -> ResidualTest | None:
    """Is the bias larger for good options, or for bad ones?"""
    effects, bias, p = look.effects, look.bias, look.effects.scores.partial
    if p is None or not effects.told:
        return None
    values = look.values
    middle = _middle(effects, values)
    term = _term(effects, "slope", {"slope": p * (values - middle)}, bias.level)
    if term is None:
        return None

    def found() -> Finding:
        ends = np.quantile(values[p != 0.0], [_TENTH, 1.0 - _TENTH])
        low, high = (term.bias + term.slope.value * (ends - middle))[:: sign(effects.scores.best)]
        return Finding(
            "slopes",
            f"The bias is not the same for good and for bad options: about {number(low)} for the "
            f"worst tenth of those with partial evaluators, {number(high)} for the best tenth "
            f"({p_value(term.slope.chance)}). The bias that is given is a mean of these: correct "
            "no single score by it.",
            alarm=_moved(term, bias),
            p_value=term.slope.chance,
        )

    return ResidualTest(term.slope.chance, found)


def _stretch(look: _Examined) -> ResidualTest | None:
    """Do some evaluators spread their scores further than others, good from bad?"""
    effects, scores = look.effects, look.effects.scores
    if scores.evaluator is None or scores.rival is not None:
        return None
    who, n = scores.evaluator.codes, len(scores.evaluator)
    e, x = effects.residual / look.unit, less_means(look.values, *scores.chairs)
    squares = sums_over(who, n, x * x)
    size = float(squares.max(initial=0.0))
    judged = (scores.evaluator.counts >= _FEWEST) & (squares > 1e-9 * size)
    if judged.sum() < 2:
        return None
    along = np.where(judged, sums_over(who, n, e * x), 0.0)
    squares = np.where(judged, squares, 1.0)
    panel = np.bincount(scores.scored[0])[scores.scored[0]]
    freedom = float((sums_over(who, n, x * x * (1.0 - 1.0 / panel)) / squares)[judged].sum())
    explained = float((along * along / squares).sum())
    left = effects.freedom - freedom
    if left < 1.0 or freedom <= 0.0:
        return None
    both, noise = np.where(judged[who], e * x, 0.0), (float(e @ e) - explained) / left
    if _two_valued(scores):  # rare votes scatter just where they make an option look good
        noise = float(both @ both) / float(squares[judged].sum()) * len(e) / left
    within = noise * look.repeated(both)
    chance = _f_tail(explained / freedom, within, freedom, left)

    def found() -> Finding:
        assert scores.evaluator is not None
        slopes = np.where(judged, along / squares, 0.0)
        least, most = int(slopes.argmin()), int(slopes.argmax())
        names = scores.evaluator.names
        return Finding(
            "slopes",
            f"Evaluators use the scale unequally: where options differ by 1, scores of "
            f"{short(names[least])} differ by about {fixed(1.0 + slopes[least], 2)}, those of "
            f"{short(names[most])} by {fixed(1.0 + slopes[most], 2)} ({p_value(chance)}). The bias "
            "is what they add on average; who stretches the scale weighs more in a mean of scores.",
            alarm=False,
            p_value=chance,
        )

    return ResidualTest(chance, found)


def _noise_by_evaluator(look: _Examined) -> ResidualTest | None:
    """Are some evaluators noisier than others? Levene's test."""
    effects, scores = look.effects, look.effects.scores
    if scores.evaluator is None or _two_valued(scores):
        return None
    who, n = scores.evaluator.codes, len(scores.evaluator)
    rows, size, paired = look.contrasts
    judged = np.bincount(who[rows], minlength=n) >= _FEWEST
    some = judged[who[rows]]
    rows, size = rows[some], size[some]
    given = who[rows]
    groups, left = int(judged.sum()), len(size) - int(judged.sum())
    if groups < 2 or left < 1:
        return None
    count = np.maximum(np.bincount(given, minlength=n), 1)
    means = sums_over(given, n, size) / count
    between = float((count * (means - size.mean()) ** 2)[judged].sum())
    within = float(((size - means[given]) ** 2).sum())
    spread = np.zeros(len(scores))
    spread[rows] = size - means[given]
    inflated = look.repeated(spread) if paired else 1.0
    chance = _f_tail(between / (groups - 1), within / left * inflated, groups - 1, left)

    def found() -> Finding:
        assert scores.evaluator is not None
        squares = sums_over(who, n, effects.residual**2) / np.maximum(scores.evaluator.counts, 1)
        spread = np.sqrt(np.where(scores.evaluator.counts >= _FEWEST, squares, np.nan))
        least, most = int(np.nanargmin(spread)), int(np.nanargmax(spread))
        names = scores.evaluator.names
        return Finding(
            "noise",
            f"Some evaluators are noisier than others: scores of {short(names[most])} scatter by "
            f"{number(spread[most])}, those of {short(names[least])} by {number(spread[least])} "
            f"({p_value(chance)}). The interval allows for that; a mean of scores does not.",
            alarm=False,
            p_value=chance,
        )

    return ResidualTest(chance, found)


def _noise_by_level(look: _Examined) -> ResidualTest | None:
    """Do scores scatter more where options are better?"""
    scores = look.effects.scores
    if scores.rival is not None or scores.evaluator is None or _two_valued(scores):
        return None
    size, whom, n = look.scatter, scores.option.codes, len(scores.option)
    x = look.values - look.values.mean()
    total = float(x @ x)
    if not total > 0.0:
        return None
    slope = float(x @ size) / total
    left = size - size.mean() - slope * x
    # options come back, and each is as good as it is: clusters, each as if it were left out
    kept = 1.0 - sums_over(whom, n, x * x) / total
    if n < _FEWEST or not (kept > 0.0).all():
        return None
    together = sums_over(whom, n, x * left) / kept
    se = math.sqrt(float(together @ together)) / total
    if not se > 0.0:
        return None
    chance = 2.0 * float(special.stdtr(n - 2, -abs(slope) / se))

    def found() -> Finding:
        low, high = np.quantile(x, [_TENTH, 1.0 - _TENTH])
        ends = np.maximum(size.mean() + slope * np.array([low, high]), 0.0) / math.sqrt(2 / math.pi)
        up = sign(scores.best)
        ends = ends[::up]
        return Finding(
            "noise",
            f"Scores scatter {'more' if up * slope > 0 else 'less'} where options are better: by "
            f"about {number(ends[0])} for the worst tenth, {number(ends[1])} for the best "
            f"({p_value(chance)}). The interval allows for that.",
            alarm=False,
            p_value=chance,
        )

    return ResidualTest(chance, found)


def _drift(look: _Examined) -> ResidualTest | None:
    """Do evaluators become lenient, or severe, with time?"""
    effects, bias = look.effects, look.bias
    term = _term(effects, "time", _times(effects), bias.level) if _times(effects) else None
    if term is None:
        return None

    def found() -> Finding:
        moved = _moved(term, bias)
        more = "lenient" if sign(effects.scores.best) * term.slope.value > 0 else "severe"
        beside = f" With that taken off, the bias is {number(term.bias)}." if moved else ""
        return Finding(
            "drift",
            f"Evaluators become more {more} with time, by {number(abs(term.slope.value))} within "
            f"one standard deviation of it ({p_value(term.slope.chance)}).{beside} Give each part "
            "of the time as an event of its own, or ask in random order.",
            alarm=moved,
            p_value=term.slope.chance,
        )

    return ResidualTest(term.slope.chance, found)


def _bias_drift(look: _Examined) -> ResidualTest | None:
    """Does the bias grow with time?"""
    effects, bias = look.effects, look.bias
    columns = _times(effects)
    term = _term(effects, "own time", columns, bias.level) if "own time" in columns else None
    if term is None:
        return None

    def found() -> Finding:
        up = sign(effects.scores.best) * term.slope.value > 0.0
        return Finding(
            "drift",
            f"The bias {'grows' if up else 'shrinks'} with time, by "
            f"{number(abs(term.slope.value))} within one standard deviation of it "
            f"({p_value(term.slope.chance)}): the bias that is given is a mean over the time.",
            alarm=_moved(term, bias),
            p_value=term.slope.chance,
        )

    return ResidualTest(term.slope.chance, found)


def ends(scores: Scores) -> Iterator[Finding]:
    """Yield a note for each end of the scale, stated or found, at which many scores are: no favour
    fits beyond it.
    """
    if scores.rival is not None or not len(scores) or _two_valued(scores):
        return
    if any(note.assumption == BASELINE for note in scores.notes):
        return  # it is 0 everywhere, and others may be more or less
    y, n_all = scores.score, len(scores)
    stated = scores.scale or (-math.inf, math.inf)
    for lowest, what, beyond, least in (
        (False, "ceiling", "more", "highest"),
        (True, "floor", "less", "lowest"),
    ):
        end = float(y.min() if lowest else y.max())
        n = int((y == end).sum())
        others = y[y > end] if lowest else y[y < end]
        inwards = float(others.min() if lowest else others.max())
        # an end that nobody stated is one only if scores pile up there
        is_stated = end == stated[0 if lowest else 1]
        piled = is_stated or n > int((y == inwards).sum())
        if n < max(_FEWEST_PILED, _PILED * n_all) or not piled:
            continue
        told = f"the {least} there is"
        if not is_stated:
            told = f"and nobody gave {beyond}"
            if math.isfinite(stated[0]):
                told += f", though the scale goes to {number(stated[0 if lowest else 1])}"
        yield Finding(
            what,
            f"{n / n_all:.0%} of all scores are {number(end)}, {told}: options that differ look "
            f"alike there, and nobody can {'take off' if lowest else 'add'} as much as elsewhere.",
            alarm=False,
        )


def _strays(effects: Effects, for_choice: bool) -> Iterator[Finding]:
    """Yield a note on a score that is far from all that options and evaluators explain."""
    scores, size = effects.scores, np.abs(effects.residual)
    worst, largest = int(size.argmax()), float(size.max())
    scatter = 1.4826 * float(np.median(size, overwrite_input=True))
    if _two_valued(scores) or not 0.0 < _STRAY * scatter < largest:
        return
    who = "" if scores.evaluator is None else f" by {short(_name(scores.evaluator, worst))}"
    n, others = int((size > _STRAY * scatter).sum()), np.delete(scores.score, worst)
    beyond = "" if n == 1 else f", and {n - 1:,} more like it"
    yield Finding(
        "outliers",
        f"The score {number(scores.score[worst])} of {short(_name(scores.option, worst))}{who} is "
        f"{number(effects.residual[worst])} off what the others explain{beyond}. Look for typing "
        "errors.",
        alarm=for_choice and not others.min() <= scores.score[worst] <= others.max(),
    )


def _contrasts(values: Floats, codes: Codes) -> tuple[Indices, Floats]:
    """Return which values, and by how much each differs, in units of its noise, from the mean of
    those before it that have the same number; the first of a number has none.
    """
    order = np.argsort(codes, kind="stable")
    x, code = values[order], codes[order]
    start = np.searchsorted(code, code)
    before = np.arange(len(x)) - start
    total = np.concatenate([[0.0], np.cumsum(x)])
    later = before > 0
    mean = (total[:-1] - total[start])[later] / before[later]
    return order[later], (x[later] - mean) * np.sqrt(before[later] / (before[later] + 1.0))


def _middle(effects: Effects, values: Floats) -> float:
    """Return the mean of some values over partial scores, each by how much it says of the bias."""
    assert effects.scores.partial is not None
    weight = effects.own * effects.scores.partial
    return float(weight @ values / weight.sum())


def _times(effects: Effects) -> dict[str, Floats]:
    """Return time in standard units, and that of partial scores, by name; nothing without time."""
    time, p = effects.scores.time, effects.scores.partial
    spread = 0.0 if time is None else float(time.std())
    if time is None or not spread > 0.0:
        return {}
    time = (time - time.mean()) / spread
    if p is None or not effects.told:
        return {"time": time}
    return {"time": time, "own time": p * (time - _middle(effects, time))}


def _two_valued(scores: Scores) -> bool:
    y = scores.score
    return bool(((y == y.min()) | (y == y.max())).all())


def _f_tail(between: float, within: float, df: float, left: float) -> float:
    if not within > 0.0:
        return math.nan
    return float(special.fdtrc(df, left, between / within))


def _name(factor: Factor, row: int) -> str:
    return factor.names[int(factor.codes[row])]
