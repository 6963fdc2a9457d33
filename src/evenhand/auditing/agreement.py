"""Agreement of evaluators: variance components, reliability, α, and agreement with trusted people.

Notation
--------
y = u + v + uv + x·β + e    a score: worth of what is scored, severity, interaction, biases, noise
f, g                        kinds of effects; n_f of their levels, n_fg rows where two levels meet
S_f                         sum of squares of y less x·β within the levels of f

Variance components are by Henderson's third method. What least squares leave beside u, v and x
gives the variance of e (with uv, where nobody was asked again); then E S_f = Σ_g σ_g² (n − Σ n_fg²/
n_f·) + σ_e² (n − n_f) tells the others, by non-negative least squares of these mean squares: so
none is below 0, and in complete tables they are those of the analysis of variance. As slopes β are
estimated, S_f has σ_e² (tr G⁻¹xᵀM_f x − 2r) too much, with G of the r regressors less effects, and
M_f what takes off means of f.

Reliability is σ_u² over the variance of one review: with severity as an error ICC(2,1), Φ of
generalisability theory; with severity taken off ICC(3,1), Eρ². k reviews have kρ/(1 + (k − 1)ρ)
(Spearman and Brown). Intervals are those of McGraw and Wong, 1996; exact or as good where all
scored all, approximate elsewhere.

α of Krippendorff is 1 − D_o/D_e. With |a − b|² as the difference of two scores both are sums of
squares: of the scores themselves (interval), of their mid-ranks (ordinal), or of indicators of
values (nominal). Its interval is by units, as of a ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from evenhand.arrays import Floats, Indices
from evenhand.best import sign
from evenhand.linear.design import regressors
from evenhand.linear.projection import Projection
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.scores import Scores
from evenhand.scores.scores import POSITION, Codes, crossed, less_means, sums_over

if TYPE_CHECKING:
    import pandas as pd

_CLASSES = 12  # different scores up to which they are classes
_GOALS = (0.8, 0.9)  # reliabilities that people ask for


class _Components(NamedTuple):
    """Variances of scores, NaN where these do not tell them."""

    options: float
    answers: float  # options on items, beside what options are worth on all
    severity: float
    both: float  # option × evaluator
    noise: float
    reviews: float  # of what is scored, on average
    ends: tuple[tuple[float, float], tuple[float, float]]  # of reliabilities


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well evaluators agree with one another, and with those who are trusted.

    Every table is a frame, without the rows that scores do not tell. Of repeated scores of an
    evaluator the mean counts in variances, the first in α and beside trusted people.

    Parameters
    ----------
    scores
        The table; verdicts against a baseline as scores on items.
    level
        Confidence of intervals.
    trusted
        Names of evaluators with whom the others are compared; where nobody is named and the table
        has a column of references, these.

    Examples
    --------
    >>> import pandas as pd
    >>> import evenhand as eh
    >>> rows = [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)]
    >>> table = pd.DataFrame(rows, columns=list("PQRS")).assign(option=list("abcdef"))
    >>> found = eh.audit(table, wide=list("PQRS")).agreement
    >>> found.reliability[["severity", "one review", "reviews", "mean of reviews"]].round(2)
      severity  one review  reviews  mean of reviews
    0    error        0.29      4.0             0.62
    1  removed        0.71      4.0             0.91
    """

    scores: Scores
    level: float = 0.95
    trusted: tuple[str, ...] = ()

    @cached_property
    def _rows(self) -> tuple[NDArray[np.intp], Codes, Codes, Floats]:
        """Rows of the table without its baseline: which, what was scored, by whom, and how; in
        comparisons a pair, and by how much the one is better that comes first in the table.
        """
        scores, option, rival = self.scores, self.scores.option.codes, self.scores.rival
        kept = option != (-1 if scores.baseline is None or rival is not None else scores.baseline)
        rows, y, parts = np.flatnonzero(kept), sign(scores.best) * scores.centred, [option]
        if rival is not None:
            y = np.where(option < rival, y, -y)
            parts = [np.minimum(option, rival), np.maximum(option, rival)]
        parts += [one.codes for one in (scores.item, scores.event) if one is not None]
        who = np.zeros(len(scores), np.int32)
        who = who if scores.evaluator is None else scores.evaluator.codes
        return rows, crossed(*(part[rows] for part in parts))[0], who[rows], y[rows]

    @property
    def _names(self) -> tuple[str, ...]:
        return ("",) if self.scores.evaluator is None else self.scores.evaluator.names

    @cached_property
    def _components(self) -> _Components | None:
        scores, (rows, unit, who, y) = self.scores, self._rows
        compared = scores.rival is not None or scores.baseline is not None
        if scores.evaluator is None or compared or not len(y):
            return None
        x = [column[rows] for column in regressors(scores).values()]
        event = np.zeros(len(rows), np.int32) if scores.event is None else scores.event.codes[rows]
        on_items = scores.item is not None and scores.event is None
        option = scores.option.codes[rows] if on_items else None
        whose = crossed(who, event)[0]
        return _components(np.column_stack([y, *x]), unit, whose, event, option, self.level)

    @cached_property
    def variance(self) -> pd.DataFrame:
        """What scores differ by: the ``variance`` of each source, its root and its share of all.

        Sources: options (and answers, options on items); evaluators, by severity; option ×
        evaluator where evaluators were asked again; noise, which has in it what is not told apart:
        the last, or severity where nobody scored two things that others scored.
        """
        one = self._components
        rows: dict[str, float] = {}
        if one is not None:
            rows = {"options": one.options, "answers": one.answers, "evaluators": one.severity}
            rows["option × evaluator"] = one.both
            hidden = [name for name in list(rows)[2:] if math.isnan(rows[name])]
            rows[" and ".join(["noise", *hidden])] = one.noise
        found = {name: value for name, value in rows.items() if not math.isnan(value)}
        variance = np.array(list(found.values()))
        share = variance / (variance.sum() or math.nan)
        columns = {"variance": variance, "sd": np.sqrt(variance), "share": share}
        return _frame({"source": list(found)} | columns)

    @cached_property
    def reliability(self) -> pd.DataFrame:
        """Intraclass correlations, biases taken off: of ``one review``, from ``low`` to ``high``;
        of the mean of as many ``reviews`` as there are; and how many it takes for 0.8 and 0.9. With
        severity as an error this is ICC(2,1), with severity removed ICC(3,1).
        """
        one, rows = self._components, []
        names = ["severity", "one review", "low", "high", "reviews", "mean of reviews"]
        if one is not None:
            worth = float(np.nansum([one.options, one.answers]))
            noise = float(np.nansum([one.both, one.noise]))
            several = math.nan if math.isnan(one.severity) else noise
            errors = noise + float(np.nan_to_num(one.severity)), several
            for name, error, ends in zip(("error", "removed"), errors, one.ends, strict=True):
                r = worth / (worth + error) if worth + error > 0.0 else math.nan
                if not math.isnan(r):
                    mean = one.reviews * r / (1.0 + (one.reviews - 1.0) * r)
                    odds = (1.0 - r) / r if r else math.inf
                    goals = [max(goal / (1.0 - goal) * odds, 1.0) for goal in _GOALS]
                    goals = [np.ceil(goal - 1e-9) for goal in goals]
                    rows.append((name, r, *ends, one.reviews, mean, *goals))
        return _frame(rows, [*names, *(f"for {goal:g}" for goal in _GOALS)])

    @cached_property
    def alpha(self) -> pd.DataFrame:
        """Krippendorff's α with its interval, of scores as numbers ("interval"), of their order
        ("ordinal") and, where at most 12 differ, of names ("nominal").
        """
        _, unit, who, y = self._rows
        cell, n = crossed(unit, who)
        if n < len(cell):
            first = np.unique(cell, return_index=True)[1]
            unit, y = unit[first], y[first]
        again = np.bincount(unit)[unit] > 1
        unit, values = unit[again], np.unique(y[again], return_inverse=True)
        kinds = ("interval", "ordinal", *(["nominal"] if len(values[0]) <= _CLASSES else []))
        found = [(kind, *_alpha(kind, *values, unit, self.level)) for kind in kinds]
        shown = [row for row in found if not math.isnan(row[1])]
        return _frame(shown, ["scores as", "alpha", "low", "high"])

    @cached_property
    def beside_trusted(self) -> pd.DataFrame:
        """Each evaluator beside each who is trusted, on what both scored: the share of equal scores
        (``accuracy``) and Cohen's ``kappa`` with its interval, where at most 12 scores differ;
        ``weighted`` κ, by squares of differences; and the mean ``difference`` of scores.
        """
        return self._beside[0]

    @cached_property
    def confusion(self) -> pd.DataFrame:
        """How often an evaluator gave which score or grade where one who is trusted gave which; no
        rows where more than 12 differ.
        """
        return self._beside[1]

    @cached_property
    def _beside(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        scores, (rows, unit, who, y) = self.scores, self._rows
        way, origin, names = sign(scores.best), scores.level.origin, self._names
        grades = {value: name for name, value in scores.grades.items()}
        some = [names.index(name) for name in self.trusted]
        said: dict[str, Floats] = {}
        if not some and scores.reference is not None:
            column = scores.called.get("reference", "reference")
            said[column] = way * (scores.reference[rows] - origin)
        for one in some:
            by_unit = np.full(int(unit.max()) + 1, math.nan)
            mine = np.flatnonzero(who == one)[::-1]  # the first of several stays
            by_unit[unit[mine]] = y[mine]
            said[names[one]] = by_unit[unit]
        beside, confused = [], []
        for trusted, theirs in said.items():
            both = np.flatnonzero(np.isfinite(theirs) & ~np.isin(who, some))
            both = both[np.argsort(who[both], kind="stable")]
            few = len(np.unique([y[both], theirs[both]])) <= _CLASSES
            for mine in np.split(both, np.flatnonzero(np.diff(who[both])) + 1) if len(both) else []:
                one = int(who[mine[0]])
                a, b = y[mine], theirs[mine]
                gap, apart = float((a - b).mean()), float(((a - b) ** 2).mean())
                whole = float(a.var() + b.var()) + gap**2
                weighted = 1.0 - apart / whole if whole > 0.0 else math.nan
                kappa, pairs, times = (math.nan,) * 4, np.zeros((2, 0)), np.zeros(0, dtype=np.intp)
                if few:
                    pairs, times = np.unique([a, b], axis=1, return_counts=True)
                    kappa = _kappa(pairs, times, self.level)
                beside.append((names[one], trusted, len(mine), *kappa, weighted, way * gap))
                shown = (way * pairs.T + origin).tolist()
                for pair, n in zip(shown, times.tolist(), strict=True):
                    confused.append((names[one], trusted, *(grades.get(z, z) for z in pair), n))
        agreed = ["accuracy", "kappa", "low", "high", "weighted", "difference"]
        counted = ["evaluator", "trusted", "score", "trusted score", "scores"]
        return _frame(beside, [*counted[:2], "scores", *agreed]), _frame(confused, counted)

    @cached_property
    def position(self) -> pd.DataFrame:
        """Pairs that an evaluator compared in both orders: how many, the share that ``flips`` with
        the order, those of which whatever stood ``first``, or ``second``, was better in both; and
        by how much standing first helps, with its interval.
        """
        scores, (rows, unit, who, y) = self.scores, self._rows
        names, place = ["flips", "first", "second", "helps"], scores.attributes.get(POSITION)
        none = _frame([], ["evaluator", "pairs", *names, "low", "high"])
        if scores.rival is not None:
            place = np.where(scores.option.codes < scores.rival, 1.0, -1.0)
        elif scores.baseline is None or place is None:
            return none
        columns = {"evaluator": who, "pair": unit, "place": place[rows]}
        columns["y"] = y + sign(scores.best) * scores.level.origin
        given = _frame(columns).query("place == 1 or place == -1")
        both = given.groupby(["evaluator", "pair", "place"])["y"].mean().unstack("place").dropna()
        if both.shape[1] < 2 or not len(both):
            return none
        a, b = both[1.0], both[-1.0]  # of the same one, where it stood first and where second
        shown = np.sign(a) != np.sign(b), (a > 0.0) & (b < 0.0), (a < 0.0) & (b > 0.0)
        each = _frame(dict(zip(names, (*shown, 0.5 * (a - b)), strict=True))).astype(float)
        found = each.groupby("evaluator")
        n, mean = found.size(), found.mean()
        half = special.stdtrit(n.clip(2) - 1, 0.5 + 0.5 * self.level) * found["helps"].std()
        ends = (mean["helps"] + sign_ * half / np.sqrt(n) for sign_ in (-1.0, 1.0))
        frame = mean.assign(**dict(zip(("low", "high"), ends, strict=True)))
        frame.insert(0, "pairs", n)
        frame.insert(0, "evaluator", [self._names[one] for one in n.index])
        return frame.reset_index(drop=True)


def _frame(rows: Any, columns: list[str] | None = None) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415 # slow to load

    return pd.DataFrame(rows, columns=columns)


def _components(
    columns: Floats, unit: Codes, who: Codes, event: Codes, option: Codes | None, level: float
) -> _Components:
    """Return variance components of the first of (n, 1 + r) columns, scores and regressors."""
    (cell, n), noise = crossed(unit, who), math.nan
    times = sums_over(cell, n)
    if n < len(cell):  # asked again: the mean of each counts, and noise is how they differ
        noise = float((less_means(columns[:, 0], cell, n) ** 2).sum()) / (len(cell) - n)
        first = np.unique(cell, return_index=True)[1]
        columns = np.column_stack([sums_over(cell, n, column) / times for column in columns.T])
        unit, who, event = unit[first], who[first], event[first]
        option = None if option is None else option[first]
    n_units, n_whose = int(unit.max()) + 1, int(who.max()) + 1
    met = Projection(who, n_whose, unit, n_units)
    left = met.without(columns)[0]
    e, P, X = left[:, 0], left[:, 1:], columns[:, 1:]
    P[:, np.linalg.norm(P, axis=0) <= IN_SPAN * np.linalg.norm(X, axis=0)] = 0.0
    inverse = np.linalg.pinv(P.T @ P, hermitian=True, rcond=1e-10)
    slopes, r = inverse @ (P.T @ e), np.linalg.matrix_rank(inverse, hermitian=True)
    y, e, free = columns[:, 0] - X @ slopes, e - P @ slopes, n - met.rank - int(r)
    told = free > 0
    if not told:  # severity is in the noise
        who, n_whose, free = event, int(event.max()) + 1, n - n_units
        e = less_means(y, unit, n_units)
    s2 = float(e @ e) / free if free > 0 else math.nan
    kinds = [unit, who] if option is None else [unit, who, option]
    system, squares = np.zeros((len(kinds), len(kinds))), np.zeros(len(kinds))
    for i, levels in enumerate(kinds):
        size = int(levels.max()) + 1
        off = [less_means(x, levels, size) for x in X.T]
        twice = sum(float(inverse[j] @ (X.T @ x)) for j, x in enumerate(off)) - 2.0 * r
        squares[i] = float((less_means(y, levels, size) ** 2).sum()) - s2 * (n - size + twice)
        for j, others in enumerate(kinds):
            if told and {i, j} == {0, 1}:  # every pair has one row now
                system[i, j] = n - size
                continue
            both, m = crossed(levels, others)
            of = np.zeros(m, dtype=np.intp)
            of[both] = levels
            share = sums_over(both, m) ** 2 / np.maximum(sums_over(levels, size), 1.0)[of]
            system[i, j] = n - float(share.sum())
    found = np.full(len(kinds), math.nan)
    some = np.flatnonzero(system.max(axis=0) > 0.5)
    if math.isfinite(s2) and len(some):
        mean = np.maximum(system.max(axis=1), 1.0)
        found[some] = optimize.nnls(system[:, some] / mean[:, None], squares / mean)[0]
    options, severity = (found[0], found[1] if told else math.nan)
    answers = math.nan
    if option is not None:
        options, answers = found[2], found[0]
    again, free_of = not math.isnan(noise), np.array([n_units - n_whose, 0])
    if told:
        free_of = np.array([met.rank - n_whose, met.rank - n_units])
    ends = ((math.nan, math.nan),) * 2
    if not again and free_of[0] > 0 and s2 > 0.0:
        per = np.array([system[1, 0], system[0, 1]]) / np.maximum(free_of, 1)
        found_ = s2 + squares[[1, 0]] / np.maximum(free_of, 1)
        ends = _ends((s2, free), found_, free_of, per, 0.5 + 0.5 * level)
        ends = ends if told else ends[::-1]
    crossed_ = max(s2 - noise * float((1.0 / times).mean()), 0.0) if again else math.nan
    noise = noise if again else s2
    return _Components(options, answers, severity, crossed_, noise, n / n_units, ends)


def _ends(
    noise: tuple[float, int], squares: Floats, freedom: Indices, per: Floats, p: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both reliabilities of one review, from mean squares with their degrees of
    freedom: of noise; of what is scored, with k reviews each; of evaluators, with n reviews each.
    """
    (E, f), (U, V), (k, n), (f_u, f_v) = noise, squares.tolist(), per.tolist(), freedom.tolist()
    F = U / E / special.fdtri(f_u, f, p), U / E * special.fdtri(f, f_u, p)
    removed = tuple(max((one - 1.0) / (one + k - 1.0), 0.0) for one in F)
    if f_v < 1:
        return (math.nan, math.nan), removed
    r = max((U - E) / (U + (k - 1.0) * E + k / n * (V - E)), 0.0)
    a, b = k * r / (n * (1.0 - r)) * V, (1.0 + k * r * (n - 1.0) / (n * (1.0 - r))) * E
    f_ab = (a + b) ** 2 / (a**2 / f_v + b**2 / f)  # Satterthwaite
    below, above = special.fdtri(f_u, f_ab, p), special.fdtri(f_ab, f_u, p)
    rest = k * V + (k * n - k - n) * E
    low = n * (U - below * E) / (below * rest + n * U)
    return (max(low, 0.0), max(n * (above * U - E) / (rest + n * above * U), 0.0)), removed


def _alpha(
    kind: str, values: Floats, y: Indices, unit: Codes, level: float
) -> tuple[float, float, float]:
    """Return Krippendorff's α of (n,) numbers of values in units, all of which have two or more,
    and its interval.
    """
    n, size = len(y), int(unit.max(initial=-1)) + 1
    if not n:
        return (math.nan,) * 3
    times, m = np.bincount(y), np.bincount(unit)
    if kind == "nominal":
        cell, _ = crossed(unit, y.astype(np.int32))
        inside = 1.0 - (np.bincount(cell)[cell] / m[unit])
        share = times / n
        whole = 1.0 - 2.0 * share[y] + float(share @ share)
    else:
        z = (values if kind == "interval" else np.cumsum(times) - 0.5 * times)[y]
        inside, whole = less_means(z, unit, size) ** 2, (z - z.mean()) ** 2
    seen = np.bincount(unit, inside * (m / np.maximum(m - 1, 1))[unit], size)
    expected = np.bincount(unit, whole, size)
    there = m > 0
    total, units = float(expected.sum()), int(there.sum())
    if not total > 0.0:
        return (math.nan,) * 3
    ratio = float(seen.sum()) / total
    alpha, half = 1.0 - ratio * (n - 1) / n, math.inf
    if units > 1:
        se = math.sqrt(float(((seen - ratio * expected) ** 2).sum()) * units / (units - 1)) / total
        half = se * float(special.stdtrit(units - 1, 0.5 + 0.5 * level))
    return alpha, max(alpha - half, -1.0), min(alpha + half, 1.0)


def _kappa(pairs: Floats, times: Indices, level: float) -> tuple[float, float, float, float]:
    """Return the share of equal scores, and Cohen's κ with its interval, of (2, m) pairs of scores
    that came up as many times.
    """
    n = times.sum()
    values, codes = np.unique(pairs, return_inverse=True)
    p = np.zeros((len(values), len(values)))
    p[tuple(codes.reshape(2, -1))] = times / n
    a, b, equal = p.sum(1), p.sum(0), np.diag(p)
    seen, chance = float(equal.sum()), float(a @ b)
    if not chance < 1.0:
        return seen, math.nan, math.nan, math.nan
    k = (seen - chance) / (1.0 - chance)
    both = a[:, None] + b  # of a pair (j, i): what either of its values is given in all
    off = (1.0 - k) ** 2 * float((p * (both.T**2)).sum() - (equal * (a + b) ** 2).sum())
    on = float((equal * (1.0 - (a + b) * (1.0 - k)) ** 2).sum())
    variance = (on + off - (k - chance * (1.0 - k)) ** 2) / (n * (1.0 - chance) ** 2)
    half = float(special.ndtri(0.5 + 0.5 * level)) * math.sqrt(max(variance, 0.0))
    return seen, k, max(k - half, -1.0), min(k + half, 1.0)
