"""Whether the means of the options lie on the linear model, by the scatter within options.

Notation
--------
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

H = UUᵀ for (k, r) orthonormal columns U that span those of √n·A (`RowSpan`). A large panel keeps
its structure instead (`numerics.panels`), and then there is no U.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy import special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.numerics.least_squares import Svd
from evenhand.questions import Questions

_PRIOR = 0.5
_LEAST_SCATTER = 4  # degrees of freedom within options, from which on F is used
_LARGE = 20_000  # numbers in a dense matrix of rows, from which on panels keep their structure


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
    points: Floats | ModelSpan,
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
    # points: (k, m), or what they span with weights n. noise_scale: σ where it is known; used only
    # where hardly any option was evaluated twice: else the scatter tells, and a wrong σ is no lack
    # of fit. persistent: whether to weigh what is left over by how often it was evaluated: the
    # score test against an effect that an evaluation has each time it is made.
    span = RowSpan.of(points, counts) if isinstance(points, np.ndarray) else points
    root = np.sqrt(counts.astype(np.float64))
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


class ModelSpan(Protocol):
    """The columns of √n·A."""

    @property
    def rank(self) -> int:
        """How many are independent."""

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) for Σ with this diagonal."""


class RowSpan(NamedTuple):
    """The span of any rows, by (s, r) U."""

    U: Floats

    @classmethod
    def of(cls, points: Floats, counts: Counts) -> Self:
        """Return the span of rows, (s, m) A, asked (s,) n times."""
        return cls(Svd.of(points * np.sqrt(counts)[:, None]).U)

    @property
    def rank(self) -> int:
        """How many columns U has."""
        return int(self.U.shape[1])

    def without(self, y: Floats) -> Floats:
        """Return (s,) (I − H)y."""
        return np.asarray(y - self.U @ (self.U.T @ y))

    def leverages(self) -> Floats:
        """Return (s,) the diagonal of H."""
        return np.asarray(np.einsum("ij,ij->i", self.U, self.U))

    def mixed(self, variances: Floats) -> float:
        """Return tr((HΣ)²) = ‖UᵀΣU‖² for Σ with this diagonal."""
        inner = self.U.T @ (variances[:, None] * self.U)
        return float((inner**2).sum())


def span_of(questions: Questions, seen: Indices, counts: Counts) -> ModelSpan:
    """Return the span of the questions that were seen, so often each."""
    if not questions.has_arrow_form or len(seen) * questions.rows.shape[1] < _LARGE:
        return RowSpan.of(questions.weighted_points[seen], counts)
    return questions.panel_form(seen, counts)
