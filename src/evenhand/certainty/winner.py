"""The winner test: whether the option that leads when all scores are in is the best one.

Notation
--------
b           the option that leads: its estimated leads L_j over all rivals j are ≥ 0
S           (n, n)  covariance of the leads over σ²;  S_j = S_jj, c_l = S_lj/S_j
N_l         L_l − c_l L_j, which is independent of L_j
R, ν        residual sum of squares and its degrees of freedom, where σ is not known
μ           what the true lead over j is compared with

That b leads is no accident: it was looked for, and what was looked for looks better than it is. So
everything here is given that b leads. Given the N_l, too, that is the case exactly for L_j from

    lo = L_j − min {L_l/c_l: c_l > 0}    to    hi = L_j + min {L_l/|c_l|: c_l < 0},

and the chance of a lead as large as L_j, if the true one is μ, is

    p_j(μ) = P(L_j ≤ X ≤ hi)/P(lo ≤ X ≤ hi),    X normal of mean μ and variance σ²S_j.

With σ unknown, given Q = R + (L_j − μ)²/S_j as well, X is such that √ν (X − μ)/√(S_j Q − (X − μ)²)
is Student's. If the true lead is μ, p_j is uniform; if it is less, p_j is larger.
docs/research/one_look.md has the proof, and why one rival is enough: b is wrong only if the best
option j has p_j(0) < δ, given whichever b leads, and that has a chance of at most δ. So there is no
factor for the number of options.

Multiple comparisons with the best
----------------------------------
What the option that leads may lose (after Hsu, 1981):

b, j        the option that leads, and one of its n rivals
L_bj, s_bj  its lead over j and the standard error of that, by the noise that is known or estimated
Z, q        normal noise, and an independent estimate of σ over σ: νq² is χ² of ν degrees of freedom
c           what the largest of n such Z/q exceeds with a chance of δ at most, whatever they have in
            common: E min(1, n·P(Z > cq)) = δ
ε           the tolerance: how much may be lost

Let j be a best option. Whoever leads, b is one of at most n others, and the noise of nobody's lead
over j is more than c·s_bj, with a chance of 1 − δ. Then b is worse than j by no more than
c·s_bj − L_bj, and what it loses is at most the largest of these numbers over its rivals. That b was
looked for is paid for by n, and nothing explodes where two options are all but tied, as it does
given that b leads.

With z₀ = Φ⁻¹(1 − 1/n) and F the distribution of q, by parts,

    E min(1, n·P(Z > tq)) = n ∫_{z₀}^∞ F(z/t) φ(z) dz = n (P(T > t) − ∫_0^{z₀} F(z/t) φ(z) dz):

Bonferroni's n·P(T > t) less what it counts beyond 1 where the noise is underestimated. For one or
two rivals, and where the noise is known, it is n·P(T > t).

Which test
----------
Both hold for an ε that was fixed in advance. With T Student's variable and s the error of leads,
the winner test finds the closest rival no better by ε if P(T > (L + ε)/s) < δ·P(T > ε/s), and this
one if it is at most P(T > c). So this one is the stronger where δ·P(T > ε/s) ≤ P(T > c), and one of
the two is taken, by ε, n and the smallest error of all differences between options. None of these
depends on who leads or by how much, so the chance of being wrong stays δ. Where the winner test is
taken, it finds all that this one would. docs/research/one_look.md has the proofs.

Leads of scores that lie between bounds, and may have any distribution there
----------------------------------------------------------------------------
σ           half of what scores may differ by, in which leads are measured;  k options
L_j, S_j    lead of the option that leads over j, Σ c_i y_i, and its variance over σ², Σ c_i²

A score between bounds is sub-Gaussian of scale σ, whoever gives it and however loud (Hoeffding), so

    P(L_j ≥ λ_j + z √S_j) ≤ exp(−z²/2),    λ_j the true lead.

b is wrong if it leads a better option j, the best one: k − 1 options may do that, and where two are
the best each of the k may be called the only one. So

    p_j(μ) = k exp(−(L_j − μ)²/2S_j)    for L_j > μ, and k else,

in the place of the winner test's: b is certain if p_j(0) < δ for all j, and that is wrong with a
probability of δ at most, for any scores. Nothing is heard from residuals. The winner test goes by a
noise that is about normal, as loud as what was seen of it: it needs a third of the scores, and a
rare score that was not seen makes it wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from evenhand.arrays import Floats
from evenhand.certainty.models import Shared, Spread
from evenhand.numerics.intervals import (
    first_beyond,
    log_mass,
    log_normal_tail,
    log_student_tail,
    student_quantile,
    student_tail,
)

_CHUNK = 256  # rivals at once: nothing has the size of options × options
_TOGETHER = 1e-12  # correlation of leads from which on one bounds the other
_CLOSEST = 12  # rivals, in their standard errors, that are looked at in each of many draws
_AT_ONCE = 4_000_000  # numbers worked on in one go
_SAME = 1e-12  # share of the largest variance below which two options are the same
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True, eq=False)
class Winner:
    """Leads of the option that leads, and between what they may lie if it is to lead."""

    # where σ is known, of many draws at once: (m, n) of everything

    leads: Floats  # (n,) L, over σ where that is known
    variances: Floats  # (n,) S_jj, over σ²
    low: Floats  # (n,) lo
    high: Floats  # (n,) hi
    scatter: Floats | float = 0.0  # R, of all leads or (n,) of each
    freedom: Floats | float = math.inf  # ν likewise; infinite where σ is known

    @classmethod
    def of(
        cls,
        leads: Floats,
        shared: Shared,
        scatter: Floats | float = 0.0,
        freedom: Floats | float = math.inf,
    ) -> Winner:
        """Return the winner with these leads, (n,), and what they have in common."""
        n, variances = len(leads), shared.variances
        down, up, roots = np.full(n, np.inf), np.full(n, np.inf), np.sqrt(variances)
        behind = np.maximum(leads, 0.0) / roots
        near, zero = np.flatnonzero(behind > 0.0), np.flatnonzero(behind <= 0.0)
        closeness = 1.0 / behind[near]
        for start in range(0, n, _CHUNK):
            which = np.arange(start, min(start + _CHUNK, n))
            correlation = shared.some(which)
            correlation /= roots
            correlation /= roots[which, None]
            correlation[np.abs(correlation) <= _TOGETHER] = 0.0
            tied = correlation[:, zero]
            most = correlation if len(near) == n else correlation[:, near]
            most *= closeness  # √S_j c_l/L_l
            with np.errstate(divide="ignore"):
                down[which] = roots[which] / np.maximum(most.max(axis=1, initial=0.0), 0.0)
                up[which] = roots[which] / np.maximum(-most.min(axis=1, initial=0.0), 0.0)
            down[which[(tied > 0.0).any(axis=1)]] = 0.0
            up[which[(tied < 0.0).any(axis=1)]] = 0.0
        return cls(leads, variances, leads - down, leads + up, scatter, freedom)

    def chances(self, null: Floats | float = 0.0) -> Floats:
        """Return (n,) p_j(``null``): how probable leads as large are, given that it leads."""
        return np.exp(self._log_chances(null))

    def deviations(self, chance: float) -> float:
        """Return how many standard deviations a lead of two options is that has this chance."""
        return -float(special.ndtri(0.5 * max(chance, 1e-300)))

    def at_least(self, failure: float) -> Floats:
        """Return (n,) what each lead is at least, with a chance of ``failure`` to be wrong, given
        that the option leads; far below 0 where that was all but chance.
        """
        if self.silent or not len(self.leads):
            return np.full(len(self.leads), -np.inf)

        def beyond(null: Floats) -> Floats:
            return math.log(failure) - self._log_chances(null)

        return first_beyond(beyond, self.leads, -2.0 * self.errors)

    @property
    def _known(self) -> bool:
        """Whether σ is known."""
        return bool(np.isinf(self.freedom).all())

    @property
    def least(self) -> float:
        """Degrees of freedom of the lead that is known least well."""
        return float(np.min(self.freedom, initial=math.inf))

    @property
    def silent(self) -> bool:
        """Whether nothing can be said, for want of any scatter to hear the noise by."""
        return self.least < 1.0 or (not self._known and bool(np.min(self.scatter) <= 0.0))

    @property
    def noise(self) -> float:
        """σ, as it is known or estimated."""
        return 1.0 if self._known else float(np.sqrt(np.max(self.scatter / self.freedom)))

    def largest(self, failure: float) -> float:
        """Return what the noise of no lead exceeds, in errors, but with so small a chance."""
        return largest(failure, len(self.leads), self.least)

    @property
    def errors(self) -> Floats:
        """(n,) standard errors of the leads."""
        return self.noise * np.sqrt(self.variances)

    def _log_chances(self, null: Floats | float) -> Floats:
        """Return the log of p_j."""
        if self.silent:
            return np.zeros(len(self.leads))
        roots = np.sqrt(self.variances)
        x, low, high = ((end - null) / roots for end in (self.leads, self.low, self.high))

        def tail(z: Floats) -> Floats:
            if self._known:
                return log_normal_tail(z)
            with np.errstate(over="ignore"):
                rest = self.scatter + (np.abs(x) - z) * (np.abs(x) + z)  # Q − z², without loss
            return log_student_tail(np.maximum(rest, 0.0) / (self.scatter + x**2), self.freedom)

        whole = log_mass(tail, low, high)
        part = log_mass(tail, x, high)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(whole), np.minimum(part - whole, 0.0), 0.0)


def leader_is_certain(
    estimates: Floats, own: Floats, shared: Floats, delta: float, tolerance: float = 0.0
) -> NDArray[np.bool_]:
    """Return (n,) whether the leader of each row of estimates, (n, k), is certainly the best."""
    # C = diag(own²) + shared·sharedᵀ, (k,) and (k, r).
    leaders = estimates.argmax(axis=1)
    certain = np.zeros(len(estimates), dtype=np.bool_)
    shared = _differing(own, shared)
    for leader in np.unique(leaders).tolist():
        (rows,) = np.nonzero(leaders == leader)
        for some in np.array_split(rows, math.ceil(estimates[rows].size * _CLOSEST / _AT_ONCE)):
            tails = _largest_tails(estimates[some], leader, own**2, shared, tolerance)
            certain[some] = tails <= delta
    return certain


def _differing(own: Floats, shared: Floats) -> Floats:
    """Return what options have in common but for what all of them have, (k, r') with r' ≤ r."""
    B = shared - shared.mean(axis=0)
    values, axes = np.linalg.eigh(B.T @ B)
    least = _TOGETHER**2 * max(float((own**2).sum()), float(values[-1:].sum()))
    return np.asarray(B @ axes[:, values > least])


def _largest_tails(estimates: Floats, i: int, own: Floats, B: Floats, tolerance: float) -> Floats:
    """Return (n,) the largest p_j of a leader over its closest rivals; 0 if it has none."""
    # `own` are (k,) variances, C = diag(own) + BBᵀ. With D_j = B_i − B_j the leads over j and l
    # have the covariance own_i + [l = j] own_j + D_j·D_l.
    D = B[i] - B
    variances = own[i] + own + (D**2).sum(axis=1)
    variances[i] = 0.0
    rivals = np.flatnonzero(variances > 1e-12 * variances.max(initial=0.0))
    if len(rivals) == 0:
        return np.zeros(len(estimates))
    leads = estimates[:, [i]] - estimates
    scores = leads[:, rivals] / np.sqrt(variances[rivals])
    m = min(_CLOSEST, len(rivals))
    nearest = rivals[np.argpartition(scores, m - 1, axis=1)[:, :m]]  # (n, j)
    L = np.take_along_axis(leads, nearest, axis=1)
    slopes = own[i] + D[nearest] @ D.T  # (n, j, l): how the lead over l rises with L_j
    np.put_along_axis(slopes, nearest[:, :, None], variances[nearest][:, :, None], axis=2)
    slopes /= variances[nearest][:, :, None]  # 1 for l = j
    slopes[:, :, i] = 0.0
    # the lead over l stays ≥ 0 while L_j falls by at most so much, or rises where slopes are < 0
    slack = leads[:, None, :] / np.where(slopes == 0.0, 1.0, slopes)
    low = L - np.where(slopes > _TOGETHER, slack, np.inf).min(axis=2)
    high = L + np.where(slopes < -_TOGETHER, -slack, np.inf).min(axis=2)
    p = Winner(L, variances[nearest], low, high).chances(-tolerance)
    return np.asarray(p.max(axis=1))


def largest_tail(t: Floats, n: int, freedom: float) -> Floats:
    """Return how probable it is at most that the largest of n of Student's variables, which share
    the estimate of the noise, exceeds t.
    """
    tails = n * student_tail(t, freedom)
    if n > 2 and math.isfinite(freedom):
        reach = float(special.ndtri(1.0 - 1.0 / n))
        z = 0.5 * reach * (1.0 + _NODES)
        weights = 0.5 * reach * _WEIGHTS * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        with np.errstate(divide="ignore"):
            below = special.chdtr(freedom, freedom * (z / np.maximum(t, 0.0)[..., None]) ** 2)
        tails = tails - n * (below @ weights)
    return np.asarray(np.minimum(np.where(t > 0.0, tails, n * student_tail(t, freedom)), 1.0))


def largest(failure: float, n: int, freedom: float) -> float:
    """Return c, which the largest of n exceeds with a chance of ``failure`` at most."""
    most = student_quantile(failure / n, freedom)
    if n <= 2 or math.isinf(freedom):
        return most

    def beyond(t: float) -> float:
        return float(largest_tail(np.array([t]), n, freedom)[0]) - failure

    least = student_quantile(failure, freedom)
    if most <= 0.0 or beyond(most) >= 0.0:  # no more than rounding
        return most
    return float(optimize.brentq(beyond, max(least, 1e-6 * most), most, rtol=1e-12))


def stronger(slack: float, error: float, n: int, freedom: float, failure: float) -> bool:
    """Tell whether this test is stronger than the winner test, for leads of such an error."""
    # With the noise unknown the winner test is given Q = R + (L + ε)²/S; where (L + ε)/s is c, ε
    # has Student's variable e/√(1 + (c² − e²)/ν), e = ε/s.
    if slack <= 0.0:
        return False  # of tied options none is to be called the only best: the winner test
    c, e = largest(failure, n, freedom), slack / error
    if n <= 2 or e >= c:
        return True
    t = e if math.isinf(freedom) else e / math.sqrt(1.0 + (c**2 - e**2) / freedom)
    near, far = student_tail(np.array([t, c]), freedom).tolist()
    return bool(failure * near <= far)


def smallest_variance(shared: Shared) -> float:
    """Return the least variance of all differences between two options; of the same ones none."""
    variances, n = shared.variances, len(shared.own)
    least = float(variances.min())
    for start in range(0, n, _CHUNK):
        which = np.arange(start, min(start + _CHUNK, n))
        apart = variances[:, None] + variances[which] - 2.0 * shared.some(which).T
        least = min(least, float(apart.min(initial=np.inf, where=apart > _SAME * variances.max())))
    return least


@dataclass(frozen=True, eq=False)
class BoundedLeads:
    """Leads of the option that leads, by scores between bounds; as `winner.Winner`."""

    leads: Floats  # (n,) L over σ
    variances: Floats  # (n,) S over σ²
    among: int  # k, how many options there are
    freedom: float = math.inf

    def chances(self, null: Floats | float = 0.0) -> Floats:
        """Return (n,) p_j(``null``), bounds on chances: from 1 on they say nothing."""
        beyond = np.maximum(self.leads - null, 0.0)
        return np.asarray(self.among * np.exp(-0.5 * beyond**2 / self.variances))

    def deviations(self, chance: float) -> float:
        """Return of how many σ√S_j a lead is that has this bound on its chance."""
        return math.sqrt(2.0 * math.log(self.among / min(max(chance, 1e-300), self.among)))

    def at_least(self, failure: float) -> Floats:
        """Return (n,) what each lead is at least, with a chance of ``failure`` to be wrong."""
        return np.asarray(self.leads - self.deviations(failure) * self.errors)

    @property
    def silent(self) -> bool:
        """Whether nothing can be said: bounds are known."""
        return False

    @property
    def errors(self) -> Floats:
        """(n,) σ√S."""
        return np.sqrt(self.variances)

    def largest(self, failure: float) -> float:
        """Return what the noise of no lead exceeds, in errors, but with so small a chance."""
        return self.deviations(failure)


def bounded_intervals(found: Spread, failure: float) -> Floats:
    """Return (n, 3) estimates with Hoeffding's intervals, each by itself."""
    known = (found.variances > 0.0) & np.isfinite(found.variances)
    width = math.sqrt(2.0 * math.log(2.0 / failure)) if failure > 0.0 else np.inf
    widths = np.where(known, width * np.sqrt(np.where(known, found.variances, 1.0)), np.inf)
    values = np.where(known, found.estimates, np.nan)
    middle = np.where(known, found.estimates, 0.0)
    return np.column_stack([values, middle - widths, middle + widths])
