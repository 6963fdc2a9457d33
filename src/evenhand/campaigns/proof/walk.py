"""What a stage says after each of its answers, by recursive residuals.

Notation
--------
V, θ̂        of the answers up to some place, V of the rank that the whole stage has
a_j, y_j    the answers that follow, j = 1, 2, …; M = I + A V⁻¹Aᵀ = L Lᵀ for their rows A

With u = L⁻¹(y − Aθ̂) and w = L⁻¹A V⁻¹c, after j further answers

    R_j = R + Σ_{i≤j} u_i²,     c·θ̂_j = c·θ̂ + Σ_{i≤j} w_i u_i,     cᵀV_j⁻¹c = cᵀV⁻¹c − Σ_{i≤j} w_i².

The u are the recursive residuals of the proof in docs/certainty.md: each is what its answer adds to
those before it. So one triangular matrix has all of a stretch of answers, none of them refitted.
Before a stage has its rank, all that is there is fitted anew at every look.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from evenhand.campaigns.proof.asked import Asked, Counts, Floats, Indices, Truths
from evenhand.campaigns.proof.squares import Fit, Sums

_STRETCH = 256  # answers per triangular matrix


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some places of a stage in a row, (t,), and what is said of directions, (n,), at each.

    Parameters
    ----------
    places
        (t,) how many answers of the stage are in.
    estimates, information
        (t, n) c·θ̂ and J, 0 where nothing is known.
    scatter, freedom
        (t,) R and ν.
    """

    places: Counts
    estimates: Floats
    information: Floats
    scatter: Floats
    freedom: Floats


def walk(
    asked: Asked,
    questions: Indices,
    scores: Floats,
    directions: Floats,
    noise_known: bool,
    looked: Truths,
) -> Iterator[Stretch]:
    """Yield what a stage says of directions, (n, r), after its answers, (t,) each.

    After all of them at which one ``looked``, (t,), at least.
    """
    total = len(questions)
    if total == 0:
        return
    q = asked.rows.shape[0]
    P = asked.span.coordinates(asked.rows[np.unique(questions)])
    at = np.searchsorted(np.unique(questions), questions)
    rank = Fit.of(asked, Sums.of(questions, scores, q), noise_known).rank

    def fitted(n: int) -> Fit:
        return Fit.of(asked, Sums.of(questions[:n], scores[:n], q), noise_known)

    begin = total
    for place in (np.flatnonzero(looked) + 1).tolist():
        fit = fitted(place)
        yield _one(fit, directions, place)
        if fit.rank == rank:
            begin = place
            break
    while begin < total:
        fit = fitted(begin)
        end = min(begin + _STRETCH, total)
        A, y = P[at[begin:end]], scores[begin:end]
        along = A @ fit.root
        L = np.linalg.cholesky(np.eye(len(A)) + along @ along.T)
        said = fit.along(directions)
        seen = np.isfinite(said.variances)
        inner = along @ (directions @ fit.root).T
        both = linalg.solve_triangular(L, np.column_stack([y - A @ fit.theta, inner]), lower=True)
        u, w = both[:, :1], both[:, 1:]
        estimates = said.estimates + np.cumsum(w * u, axis=0)
        variances = np.where(seen, said.variances, 1.0) - np.cumsum(w**2, axis=0)
        scatter = fit.scatter + np.cumsum(u[:, 0] ** 2)
        places = np.arange(begin + 1, end + 1)
        known = seen & (variances > 0.0)
        yield Stretch(
            places,
            np.where(known, estimates, 0.0),
            np.where(known, 1.0 / np.where(known, variances, 1.0), 0.0),
            np.zeros(len(places)) if noise_known else scatter,
            np.where(noise_known, math.inf, places - float(rank)),
        )
        begin = end


def _one(fit: Fit, directions: Floats, place: int) -> Stretch:
    said = fit.along(directions)
    known = np.isfinite(said.variances) & (said.variances > 0.0)
    information = np.where(known, 1.0 / np.where(known, said.variances, 1.0), 0.0)
    return Stretch(
        np.array([place]),
        said.estimates[None, :],
        information[None, :],
        np.array([fit.scatter]),
        np.array([fit.freedom]),
    )
