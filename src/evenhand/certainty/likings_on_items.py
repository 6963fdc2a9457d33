"""Scores of others on items, corrected by those of trusted judges on some of the items.

Notation
--------
p, m, s     values by trusted judges, by all scores of the others, and by those scores of the others
            that are of the same options on the same items as a trusted judge's; less their means
ψ           what leaving out an item, or a judge's taste, changes of them (`items`)
u, τ, w     likings of the others, their deviation, and c/(c + τ²) (`likings`)

People label a part of what a model scored. Whatever the model likes is in s as it is in m, so

    p' = p − λ(s − m)

is about what p is about, and has less noise where both see the same of an item (prediction-powered
inference; Angelopoulos et al. 2023). λ is such that Σ|ψ'|² is least. What then remains, r = p' − m,
is −u and noise of variance c = Σ|ψ_r|²/(k − 1), and

    v̂ = p' − ρ w r,    ρ = Σψ'·ψ_r/Σ|ψ_r|²,

has the errors ψ' − ρ w ψ_r, those of likings, ρ²w²τ² = ρ²c w(1 − w) each, and what it differs by
with w, which is known as well as r tells it (`Likings`). Trusted judges, who confirm what is
certain, do so by p'. Two options have one r, which tells of no τ: then v̂ is p'.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Floats, Indices
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.likings import Likings
from evenhand.questions import Questions

_LEAST, _MOST = 0.0, 2.0  # λ


def corrected_items(
    fitted: Callable[[NDArray[np.bool_]], ItemsFit],
    questions: Questions,
    which: Indices,
    items: Indices,
    trusted: NDArray[np.bool_],
) -> ItemsFit | None:
    """Return the fit to scores on items, corrected by trusted judges; None where it cannot be."""
    # ``fitted`` returns the fit to some of the scores, (n,) truth values; the rest is (n,) by
    # score.
    if not questions.options.stand_alone:
        return None
    cells = (questions.about[which] @ [len(questions.items) + 1, 1]) * (items.max() + 1) + items
    beside = ~trusted & np.isin(cells, cells[trusted])
    k, everybody = len(questions.options), np.arange(len(questions.options))
    by_trusted = fitted(trusted)
    if by_trusted.freedom < 1.0:
        return None
    parts = [by_trusted]
    if beside.any():
        parts += [fitted(~trusted), fitted(beside)]
    if not all(np.isfinite(part.leads(0, everybody).variances).all() for part in parts):
        return by_trusted if np.isfinite(by_trusted.leads(0, everybody).variances).all() else None
    if len(parts) == 1:
        return by_trusted
    p, m, s = (part.theta[:k] - part.theta[:k].mean() for part in parts)
    psi, psi_m, psi_s = _in_rows(parts, k)
    x = psi_s - psi_m
    size = float((x**2).sum())
    share = float(np.clip((psi * x).sum() / size, _LEAST, _MOST)) if size > 0.0 else 0.0
    p, psi = p - share * (s - m), psi - share * x
    confirming = _moved(by_trusted, p, psi)
    r, psi_r = p - m, psi - psi_m
    c = float((psi_r**2).sum()) / (k - 1)
    if k < 3 or not c > 0.0:
        w = rho = spread = 0.0
    else:
        b = np.full(k - 1, math.sqrt(float(r @ r) / (k - 1)) / c)
        told = Likings.told(np.full(k - 1, 1.0 / c), b)
        w, spread = 1.0 - float(told.mean[0]) / c, float(told.spread[0, 0]) / c**2
        rho = float((psi * psi_r).sum() / (psi_r**2).sum())
    liked = rho * math.sqrt(max(c * (w - w**2 - spread), 0.0)) * (np.eye(k) - 1.0 / k)
    rows = np.vstack([psi - rho * w * psi_r, liked, rho * math.sqrt(spread) * r])
    found = _moved(by_trusted, p - rho * w * r, rows)
    found.trusted = confirming
    return found


def _in_rows(parts: list[ItemsFit], k: int) -> list[Floats]:
    """Return ψ of each fit, the same clusters in the same rows, tastes in rows of their own."""
    # What the judges of all scores like is in the last of the fits, too, and no further taste.
    n = max(part.n_clusters for part in parts)
    tastes = [part.moved[part.n_clusters :, :k] for part in parts[:2]]
    rows, at = [np.zeros((n + sum(map(len, tastes)), k)) for _ in parts], n
    for psi, part in zip(rows, parts, strict=True):
        psi[: part.n_clusters] = part.moved[: part.n_clusters, :k]
    for x, some in enumerate(tastes):
        rows[x][at : at + len(some)] = some
        if x == 1:
            rows[2][at : at + len(some)] = some
        at += len(some)
    return [psi - psi.mean(axis=1, keepdims=True) for psi in rows]


def _moved(fit: ItemsFit, values: Floats, rows: Floats) -> ItemsFit:
    """Return a fit with other values of the options, less their mean, and other errors."""
    made, k = copy.copy(fit), len(values)
    made.theta = fit.theta.copy()
    made.theta[:k] = values + fit.theta[:k].mean()
    made.moved = np.zeros((len(rows), len(fit.theta)))
    made.moved[:, :k] = rows
    common = fit.moved[: fit.n_clusters]
    made.moved[: fit.n_clusters, :k] += common[:, :k].mean(axis=1, keepdims=True)
    made.moved[: fit.n_clusters, k:] = common[:, k:]
    made.moved_level = np.zeros(len(rows))
    made.moved_level[: fit.n_clusters] = fit.moved_level[: fit.n_clusters]
    return made
