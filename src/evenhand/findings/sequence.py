"""The statistics behind the checks: of the noise, and of the fit.

Whether the noise is what it is said to be: of one scale, without memory, without strays
----------------------------------------------------------------------------------------
y_i     mean of entry i: b_i evaluations of option x_i, told at once, at time t_i
S_i             sum of their squared deviations from y_i: σ² times χ² on b_i − 1
M_i, n_i        mean and number of the evaluations of x_i before entry i
w_i = (y_i − M_i) √(n_i b_i/(n_i + b_i)),     τ_i = (t_i − T_i) √(n_i b_i/(n_i + b_i))

with T_i the mean time of those evaluations. The map from scores to w is Helmert's: orthonormal, and
orthogonal to every constant per option. So with Gaussian noise the w_i are independent N(0, σ²)
whatever the options are worth: no model of values is needed. A slope β of time adds βτ_i to w_i.

That is exact where what was asked does not depend on the scores. A policy that asks again what
looked good sees it fall back: w_i is then shifted by the error of M_i, of order σ/√n_i, and so are
its neighbours. So neighbours are compared once most of an option's evaluations came before. On
streams that do so the false alarms were as rare as on others (docs/research/checks.md): measured,
not proved.

Whether the means of the options lie on the linear model, by the scatter within options
---------------------------------------------------------------------------------------
A       (k, m)  points a_x of the options that were evaluated, r their rank
n, ȳ    (k,)    numbers and means of their evaluations
s², ν   (k,)    variances within options, on ν = n − 1 degrees of freedom
H       (k, k)  projection on the range of √n·A;  h its diagonal

Q = Σ n_x (ȳ_x − a_x·θ̂)², θ̂ least squares with weights n, is √n·ȳ projected by I − H. If values are
linear, and the noise of option x has variance σ_x², then E Q = Σ (1 − h_x) σ_x². So with an
estimate D = Σ (1 − h_x) s_x² of it, F = Q / D compares what the model leaves over with what the
noise explains (Brown and Forsythe's ratio, for a linear model). Q and D are both about a χ² times a
constant, with degrees of freedom by their first two moments (Box; Satterthwaite),

    f = (Σ (1 − h_x) σ_x²)² / tr(((I − H) Σ)²),       g = D² / Σ (1 − h_x)² s_x⁴ / ν_x,

k − r and Σν where all is alike. Noise may differ from option to option: no common σ is needed. With
few evaluations of an option s_x² is drawn towards the pooled variance s², as if that had been seen
in `_PRIOR` further ones: that steadies f and g, and gives options with one evaluation a variance.

In a panel the same pair of option and evaluator may have an effect of its own, which does not
average out when the pair is asked again. Against effects of variance τ² the score of the likelihood
at τ = 0 weighs squares by how often a pair was asked: Q = Σ n_x² (ȳ_x − a_x·θ̂)², with E Q ≈
Σ n_x (1 − h_x) σ_x², and f and g as above with n_x σ_x² for σ_x². A choice rests on the pairs that
were asked most, and so does this test.

H = UUᵀ for (k, r) orthonormal columns U that span those of √n·A (`Svd`); a panel keeps its
structure instead (`PanelForm`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.least_squares import PanelForm, Svd

_MEDIAN = 0.6744897501960817  # of |N(0, 1)|
TOLERATED = 1.1
"""A stated σ may be too small by this factor before that is held against it."""
OVERSTATED = 1.5
"""A stated σ that is too large by this factor is worth a note."""
_EDGE = 1.5  # of so many σ, how many scores lie beyond
_FAR = ((2.5, 0.17), (3.5, 0.15))
"""Among scores beyond r robust standard deviations, the share beyond 2r, for Student's t(3)."""
_SAME = 1e-12  # share by which equal scores may differ
FEWEST = 16  # deviations that a verdict takes
_SETTLED = 0.8  # of an option's evaluations come before: one that looked good has fallen back
_PRIOR = 0.5
_LEAST_SCATTER = 4  # degrees of freedom within options, from which on F is used


class Entries:
    """The entries of a record by columns, of rows, (n, 6), as `Record.rows` has them."""

    def __init__(self, rows: Floats) -> None:
        place, option, self.counts, self.means, self.scatters, before = rows.T
        self.rows = rows
        self.places: Indices = place.astype(np.intp)
        self.options: Indices = option.astype(np.intp)
        self.times: Floats = before + 0.5 * self.counts

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, kept: NDArray[np.bool_]) -> Entries:
        """Return some of the entries."""
        return Entries(self.rows[kept])


class Innovations(NamedTuple):
    """w and τ of the entries that have one before them of their option, in order of arrival, and
    the share of the option's evaluations that come before: n/(n + b).
    """

    at: Indices
    w: Floats
    tau: Floats
    before: Floats


def innovations(entries: Entries) -> Innovations:
    """Return what each entry has beside those of its option before it."""
    order = np.argsort(entries.options, kind="stable")
    starts, sizes = _groups(entries.options[order])
    first = np.repeat(starts, sizes)
    b = entries.counts[order]

    def before(values: Floats) -> Floats:
        sums = np.cumsum(values, axis=-1) - values
        return np.asarray(sums - sums[..., first])

    n = before(b)
    scores = np.stack([entries.means, entries.times])[:, order]
    scores -= scores[:, first]  # less to cancel
    again = n > 0.0
    n, of_it = n[again], before(b * scores)[:, again]
    w, tau = (scores[:, again] - of_it / n) * np.sqrt(n * b[again] / (n + b[again]))
    at = order[again]
    back = np.argsort(at)
    return Innovations(at[back], w[back], tau[back], (n / (n + b[again]))[back])


def _groups(options: Indices) -> tuple[Indices, Indices]:
    """Return where the entries of each option start, given in its order, and how many there are."""
    starts = np.flatnonzero(np.diff(options, prepend=-1))
    return starts, np.diff(starts, append=len(options))


def robust_scale(entries: Entries, w: Floats) -> float:
    """Return σ by the median of |w| and of the scatters within entries; 0 if that is."""
    sizes = np.concatenate([np.abs(w), _scatter_sizes(entries)])
    return float(np.median(sizes)) / _MEDIAN if len(sizes) else 0.0


def _scatter_sizes(entries: Entries) -> Floats:
    """Return √S of entries of several, in units in which their median is that of |N(0, σ²)|."""
    several = entries.counts > 1.0
    nu = entries.counts[several] - 1.0
    return np.asarray(_MEDIAN * np.sqrt(entries.scatters[several] / special.chdtri(nu, 0.5)))


def lattice_step(entries: Entries) -> float:
    """Return the least distance between common scores; 0 where scores hardly ever repeat."""
    # Common is what one in 50 is, and more than one; together they must be half of all. Sums of
    # scores in steps are in steps, too, so entries of several count with their sum.
    sums = entries.means * entries.counts
    unit = _SAME * max(float(np.abs(sums).max(initial=0.0)), 1e-300)
    values, times = np.unique(np.round(sums / unit), return_counts=True)
    common = (times > 1) & (50 * times >= len(sums))
    if common.sum() < 2 or 2 * times[common].sum() < len(sums):
        return 0.0
    return float(np.diff(values[common]).min() * unit)


def scale_p_value(entries: Entries, w: Floats, noise_scale: float) -> float:
    """Return the p-value of 'the noise is Gaussian with σ at most `TOLERATED` as stated'."""
    # Counts the deviations beyond 1.5 σ: a binomial number, which strays and long tails hardly
    # move.
    sigma = TOLERATED * noise_scale
    several = entries.counts > 1.0
    tails = special.chdtrc(entries.counts[several] - 1.0, entries.scatters[several] / sigma**2)
    p = 2.0 * special.ndtr(-_EDGE)
    beyond = int((np.abs(w) > _EDGE * sigma).sum() + (tails < p).sum())
    n = len(w) + len(tails)
    return _binomial_tail(beyond, n, p) if n >= FEWEST else 1.0


def overstated_p_value(entries: Entries, w: Floats, noise_scale: float) -> float:
    """Return the p-value of 'σ is at least the stated one over `OVERSTATED`'."""
    sigma = noise_scale / OVERSTATED
    sizes = np.concatenate([np.abs(w), _scatter_sizes(entries)])
    below = int((sizes <= _MEDIAN * sigma).sum())
    return _binomial_tail(below, len(sizes), 0.5) if len(sizes) >= FEWEST else 1.0


def dependence(entries: Entries, found: Innovations) -> tuple[float, float]:
    """Return the correlation of neighbours, and the p-value of 'scores know nothing of others'."""
    # Two things would show it: neighbours in time that are alike, and scores told together that are
    # more alike than scores told apart. Half of the level for each, where there are several
    # together.
    correlation, p = _neighbours(entries, found)
    together = _together(entries, found)
    return correlation, p if together is None else min(1.0, 2.0 * min(p, together))


def echoes(entries: Entries, expected: Floats) -> float:
    """Return the p-value of 'what is said again knows nothing of what was said before', from what
    is ``expected`` of each question, (q,).
    """
    # Products of what is left of successive scores of one question; what is expected was fitted to
    # them, which makes them smaller if anything.
    single = entries.counts == 1.0
    option = entries.options[single]
    left = entries.means[single] - expected[option]
    order = np.argsort(option, kind="stable")
    again = np.diff(option[order]) == 0
    return float(special.ndtr(-_standardised((left[order][:-1] * left[order][1:])[again])))


def _standardised(terms: Floats) -> float:
    """Return the sum of terms over the root of their sum of squares: about N(0, 1) if they have no
    mean, whatever their sizes; −∞ of few.
    """
    size = math.sqrt(float(terms @ terms))
    return float(terms.sum()) / size if len(terms) >= FEWEST and size > 0.0 else -math.inf


def _neighbours(entries: Entries, found: Innovations) -> tuple[float, float]:
    """Return the correlation of neighbours, and the p-value of 'it is not positive'."""
    # That of w_i and w_{i+1} in units of their options' own scatter, so that noise may differ from
    # option to option; times √n it is about N(0, 1), with shorter tails.
    option, square = entries.options[found.at], found.w**2
    n, total = np.bincount(option, minlength=1), np.bincount(option, square, minlength=1)
    pooled = float(square.mean()) if len(square) else 0.0
    if pooled == 0.0:
        return 0.0, 1.0
    u = found.w / np.sqrt((total + pooled) / (n + 1.0))[option]  # as if by one more, the usual
    near = np.diff(entries.places[found.at]) == 1
    settled = found.before >= _SETTLED
    near &= settled[:-1] & settled[1:]
    products = (u[:-1] * u[1:])[near]
    if len(products) < FEWEST:
        return 0.0, 1.0
    correlation = float(products.mean() / np.mean(u * u))
    return correlation, float(special.ndtr(-correlation * math.sqrt(len(products))))


def _together(entries: Entries, found: Innovations) -> float | None:
    """Return the p-value of 'entries differ no more than scatters within'; None if few have any."""
    # w_i² and S_i/(b_i − 1) have the same mean, whatever the noise of the option is
    several = entries.counts[found.at] > 1.0
    b, S = entries.counts[found.at][several], entries.scatters[found.at][several]
    z = _standardised(found.w[several] ** 2 - S / (b - 1.0))
    return None if math.isinf(z) else float(special.ndtr(-z))


def drift(found: Innovations) -> tuple[float, float]:
    """Return the slope of scores in time, per evaluation, and the p-value of 'it is 0'."""
    # Least squares of scores on options and time is that of w on τ.
    products = found.w * found.tau
    z = _standardised(products)
    if math.isinf(z):
        return 0.0, 1.0
    return float(products.sum() / (found.tau @ found.tau)), 2.0 * float(special.ndtr(-abs(z)))


class Strays(NamedTuple):
    """How far entries lie from the median of their option, and whether some lie far too far."""

    # (n,) in robust standard deviations, signed; of an entry of several, what its scatter is worth
    # if that is more; 0 where the option has no other entry
    sizes: Floats
    p_value: float


def strays(entries: Entries, scale: float, step: float) -> Strays:
    """Judge entries far from their option's median, beyond what Student's t(3) would show."""
    # Of scores beyond r standard deviations, a share of t(3) lies beyond 2r, and less of anything
    # with shorter tails. Typing errors and strays lie far with little in between.
    order = np.lexsort((entries.means, entries.options))
    y, b, S = entries.means[order], entries.counts[order], entries.scatters[order]
    starts, n = _groups(entries.options[order])
    group = np.repeat(np.arange(len(n)), n)

    def medians(ordered: Floats) -> Floats:
        return np.asarray(0.5 * (ordered[starts + (n - 1) // 2] + ordered[starts + n // 2]))

    off = (y - medians(y)[group]) * np.sqrt(b * (n / np.maximum(n - 1, 1))[group])
    own = medians(np.abs(off)[np.lexsort((np.abs(off), group))]) / _MEDIAN
    own[n < 5] = 0.0
    unit = np.maximum(np.maximum(own, scale), 0.6 * step)[group]
    if not unit.min() > 0.0:
        return Strays(np.zeros(len(y)), 1.0)
    tail = special.chdtrc(np.maximum(b - 1.0, 1.0), S / unit**2)  # 1 for single scores: S = 0
    within = -special.ndtri(np.maximum(tail, 1e-300) / 2.0)
    size = np.where(within > np.abs(off / unit), within, off / unit)
    # of two entries that differ nobody knows which one strays: they count once
    judged = np.abs(size[(n != 2)[group] | (np.arange(len(y)) != starts[group])])
    p = 1.0
    for r, share in _FAR:
        beyond, far = int((judged > r).sum()), int((judged > 2.0 * r).sum())
        p = min(p, len(_FAR) * _binomial_tail(far, beyond, share))
    sizes = np.empty(len(y))
    sizes[order] = size
    return Strays(sizes, p)


def _binomial_tail(k: int, n: int, p: float) -> float:
    """Return P(Bin(n, p) ≥ k)."""
    return 1.0 if k <= 0 else float(special.bdtrc(k - 1, n, p))


class LackOfFit(NamedTuple):
    """What the linear model leaves over: a ratio, its degrees of freedom, its p-value.

    ``statistic`` is about 1 where the model holds. ``df`` is how many more options were evaluated
    than the model has parameters: with 0 nothing can be seen, and the p-value is NaN.
    """

    statistic: float
    df: int
    p_value: float


class Residuals(NamedTuple):
    """Evaluated options less the model: (k,) residuals, in units of the noise, and the rank."""

    raw: Floats
    standardised: Floats
    lack: LackOfFit


def residuals(
    points: Floats | PanelForm,
    counts: Counts,
    means: Floats,
    scatters: Floats,
    noise_scale: float | None = None,
    *,
    persistent: bool = False,
) -> Residuals:
    """Return what the model leaves over of options that were evaluated at least once, and whether
    that is too much.
    """
    # points: (k, m), or a panel with weights n. noise_scale: σ where it is known; used only
    # where hardly any option was evaluated twice: else the scatter tells, and a wrong σ is no lack
    # of fit. persistent: whether to weigh what is left over by how often it was evaluated: the
    # score test against an effect that an evaluation has each time it is made.
    root = np.sqrt(counts.astype(np.float64))
    span = Svd.of(points * root[:, None]) if isinstance(points, np.ndarray) else points
    df = len(counts) - span.rank
    level = float(means @ counts / counts.sum())  # less to cancel; put back where it matters
    y, one = root * (means - level), root * level
    left = span.without(y) + span.without(one)
    rest = np.clip(1.0 - span.leverages(), 0.0, 1.0)
    nu = counts - 1.0
    within = float(nu.sum())
    by_scatter = within >= _LEAST_SCATTER
    pooled = float(scatters.sum()) / within if by_scatter else (noise_scale or 0.0) ** 2
    if df <= 0 or not 0.0 < pooled < math.inf:
        unknown = LackOfFit(math.nan, max(df, 0), math.nan)
        return Residuals(left / root, np.zeros_like(left), unknown)
    # in units of the pooled variance from here on
    variances = np.ones(len(counts))
    if by_scatter:
        variances = (scatters / pooled + _PRIOR) / (nu + _PRIOR)
    error = left / math.sqrt(pooled)
    through = rest < 1e-9  # the model passes through these whatever they are
    standardised = np.where(through, 0.0, error / np.sqrt(np.where(through, 1.0, rest * variances)))
    weights = counts / counts.mean() if persistent else np.ones(len(counts))
    weighted = weights * variances
    D = float(rest @ weighted)
    ratio = float(weights @ error**2) / D
    f = D**2 / (float((weighted**2) @ (2.0 * rest - 1.0)) + span.mixed(weighted))
    if by_scatter:
        g = D**2 / float((rest**2 * weighted**2) @ (1.0 / (nu + _PRIOR)))
        p = float(special.fdtrc(f, min(g, within), ratio))
    else:
        p = float(special.chdtrc(f, ratio * f))
    return Residuals(left / root, standardised, LackOfFit(ratio, df, p))
