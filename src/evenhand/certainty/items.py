"""Least squares on options that were tried on items, with errors that items have in common.

Notation
--------
a, y, g     row of a question (features, attributes), a score, and the item it was given on
ã, ỹ        the same less their means on the item: an effect of the item is gone
V_g, b_g    Σ ã ãᵀ and Σ ã ỹ over the scores on item g;  V, b their sums;  θ̂ = V⁺b
ν           mean of the items' effects ȳ_g − ā_g·θ̂;  φ̂ = (θ̂, ν)
φ̂₍g₎        the same without item g;  G the number of items

Scores on one item are no independent tries: it may suit an option, and every judge sees that. What
is independent are the items. So an error is what leaving out an item changes (the jackknife):

    covariance of D φ̂ = (G − 1)/G · Σ_g D (φ̂₍g₎ − φ̂)(φ̂₍g₎ − φ̂)ᵀ Dᵀ.

Where all options were tried on all items, this is for a lead the variance of the mean of its G
differences, item by item, and its ratio to the lead Student's t with G − 1 degrees of freedom. Else
G is the number of items that carry as much, (Σ w_g)²/Σ w_g², w_g = cᵀV⁺V_gV⁺c, for the lead c·θ.

Judges are drawn as well. One who likes an option likes it on every item, and more items don't
average that out. So where there are several judges, and what is said is to hold for judges like
them, an error is also what a judge's taste for an option changes:

x           a question: what is judged, and by whom;  A_x = Σ ã over its scores
σ̃_x²        variance of the mean score of such a question, less effects of items (`OwnNoise`)

    covariance of D φ̂ = the above + Σ_x D V⁺A_x σ̃_x² A_xᵀV⁺ Dᵀ,

with the degrees of freedom of whichever are fewer. The noise of single scores is in both, and so
counted twice: with a few judges it can't be told from tastes.

In comparisons an item adds nothing to all verdicts alike: nothing is taken off there. Nor where
every option has items of its own; then these are taken to be drawn alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Floats, Indices
from evenhand.certainty.aim import model_of
from evenhand.certainty.models import Fit, Freedoms, Shared, Spread, own_variances
from evenhand.numerics.least_squares import Gram
from evenhand.numerics.tolerance import IN_SPAN, first_largest
from evenhand.policies.messages import Feedback
from evenhand.questions import Questions

_LOST = 1e-9  # share of a direction's information that is left without an item, if any is
_ROUNDING = 1e-12  # of the largest score: what scatters, scatters more
_CHUNK = 256  # items at once


class ItemsFit:
    """Least squares with the errors themselves by items, or clusters of them; see `models.Fit`."""

    own: Freedoms | None = None
    pooled: Fit | None = None
    trusted: ItemsFit | None = None  # judges who have to confirm what is certain; None for all

    def __init__(
        self,
        questions: Questions,
        asked: Any,  # (n,) questions,
        items: Any,  # (n,) numbers of items from 0,
        scores: Any,  # (n,) and scores
        clusters: Any = None,  # (n,) what items hang together by, from 0; None: by themselves
        judges_too: bool = True,  # whether it is to hold for other judges like these
        span: float | None = None,  # how far apart two scores may lie; with δ, for leads
        failure: float = 0.05,  # that are the same on every item
        grain: float = 0.0,  # below what a difference of scores is rounding
    ) -> None:
        self.questions = questions
        which = np.asarray(asked, dtype=np.intp)
        g, y = np.asarray(items, dtype=np.intp), np.asarray(scores, dtype=np.float64)
        self.n_items = int(g.max(initial=-1)) + 1
        self._cluster = g if clusters is None else np.asarray(clusters, dtype=np.intp)
        self.n_clusters = int(self._cluster.max(initial=-1)) + 1
        # whether effects of items are taken off
        self.within = bool((questions.about[:, 1] < 0).all())
        X = questions.options.features
        leads = np.hstack([X[:1] - X[1:], np.zeros((len(X) - 1, questions.n_attributes))])
        self._take(questions, which, g, y)
        if self.within and self._form.outside(leads).any():
            self.within = False
            self._take(questions, which, g, y)
        self.unit, self._span, self._failure = 1.0, span, failure
        self._apart = float(np.ptp(y)) if len(y) else 0.0
        self._rounding = max(_ROUNDING * (float(np.abs(y).max(initial=0.0)) or 1.0), grain)
        self.size = 0.0
        self.freedom = self._freedom()
        judges = len(np.unique(questions.evaluator[which]))
        # whether tastes of judges count among the errors
        self.judged = judges_too and judges > 1
        self.drawn = min(self.n_clusters, judges) if self.judged else self.n_clusters
        if self.judged:
            self._take_tastes(which, g, y)
        self.scatter = self.freedom  # variances are not in units of any noise

    def _take(self, questions: Questions, which: Indices, g: Indices, y: Floats) -> None:
        """Gather V_g and b_g, and solve for all clusters, and without each."""
        G, m = self.n_items, questions.rows.shape[1]
        noise = np.ones(len(which)) if questions.noise is None else 1.0 / questions.noise[which]
        # coordinates of the rows' span: what no score shows is not there
        rows = sparse.csr_array(questions.matrix[which].multiply(noise[:, None]))
        y = y * noise
        often = np.bincount(g, minlength=G)
        per_item = sparse.csr_array((1.0 / often[g], (g, np.arange(len(g)))), shape=(G, len(g)))
        means, levels = (per_item @ rows).toarray(), np.asarray(per_item @ y)
        order = np.argsort(self._cluster, kind="stable")
        ends = np.cumsum(np.bincount(self._cluster, minlength=self.n_clusters))[:-1]
        V, b = np.zeros((m, m)), np.zeros(m)
        parts: list[tuple[Floats, Floats]] = []
        for mine in np.split(order, ends):
            A, s = rows[mine].toarray(), y[mine]
            if self.within:
                A, s = A - means[g[mine]], s - levels[g[mine]]
            parts.append((A, s))
            V += A.T @ A
            b += A.T @ s
        self._form = Gram.of_matrix(V)
        self._axes = self._form.root  # θ = axes·u, in which V is a unit
        u = self._axes.T @ b
        seen = often > 0
        self._level = levels[seen].mean() if seen.any() else 0.0
        self._mean: Floats = means[seen].mean(axis=0) if seen.any() else np.zeros(m)
        self.theta: Floats = self._axes @ u
        away = self._without(parts, u)
        of_item = np.zeros(G, dtype=np.intp)
        of_item[g] = self._cluster
        left = int(seen.sum()) - np.bincount(of_item[seen], minlength=self.n_clusters)
        per = sparse.csr_array(
            (np.ones(int(seen.sum())), (of_item[seen], np.flatnonzero(seen))),
            shape=(self.n_clusters, G),
        )
        # ν without a cluster, less ν
        others = (levels[seen].sum() - per @ levels) / np.maximum(left, 1) - self._level
        beside = (means[seen].sum(axis=0) - per @ means) / np.maximum(left, 1)[:, None]
        nu = others - np.einsum("gi,gi->g", beside, self.theta + away) + self._mean @ self.theta
        few = math.sqrt(max(self.n_clusters - 1, 0) / max(self.n_clusters, 1))
        # Σ over rows of (D·moved)² is the variance of D φ̂: the jackknife's, by cluster, and tastes
        self.moved: Floats = away * few
        self.moved_level: Floats = np.where(left > 0, nu, 0.0) * few

    def _without(self, parts: list[tuple[Floats, Floats]], u: Floats) -> Floats:
        """Return (clusters, m) what θ̂ is without each cluster, less θ̂."""
        # In u, V less V_g is 1 − M, and b less b_g is u − c.
        G, r = len(parts), self._axes.shape[1]
        moved = np.zeros((G, r))
        self._shares = np.zeros((G, r, r)) if r * r * G <= 2**24 else None
        lost: list[Floats] = []
        for start in range(0, G, _CHUNK):
            some = [(A @ self._axes, s) for A, s in parts[start : start + _CHUNK]]
            M = np.stack([B.T @ B for B, _ in some])
            c = np.stack([B.T @ s for B, s in some])
            left, turn = np.linalg.eigh(np.eye(r) - M)
            kept = left > _LOST
            inverse = np.where(kept, 1.0 / np.where(kept, left, 1.0), 0.0)
            along = np.einsum("gij,gi->gj", turn, u - c) * inverse
            moved[start : start + len(some)] = np.einsum("gij,gj->gi", turn, along) - u
            lost += [turn[i][:, ~kept[i]] for i in np.flatnonzero(~kept.all(axis=1)).tolist()]
            if self._shares is not None:
                self._shares[start : start + len(some)] = M
        self._lost = np.hstack(lost) if lost else np.zeros((r, 0))
        return np.asarray(moved @ self._axes.T)

    def _take_tastes(self, which: Indices, g: Indices, y: Floats) -> None:
        """Add what tastes of judges change, and lessen the degrees of freedom accordingly."""
        questions, q = self.questions, len(self.questions)
        loud = np.ones(q) if questions.noise is None else questions.noise
        rows = sparse.csr_array(questions.matrix[which].multiply(1.0 / loud[which][:, None]))
        y = y / loud[which]
        n_items = np.maximum(np.bincount(g, minlength=self.n_items), 1)
        over = sparse.csr_array((1.0 / n_items[g], (g, np.arange(len(g)))))
        means = over @ rows
        level = np.bincount(g, y - rows @ self.theta, self.n_items) / n_items
        counts = np.bincount(which, minlength=q)
        mean = np.bincount(which, y - (level[g] if self.within else 0.0), q) / np.maximum(counts, 1)
        units = Feedback((counts > 0).astype(np.int64), mean, mean**2)
        model = model_of(questions)
        left = model.fit(units, None).left_over(units)
        if left.free.sum() < 0.5:
            self.freedom = 0.0
            return
        if left.scatter.sum() <= len(mean) * self._rounding**2:  # judges agree
            return
        noise = own_variances(left)
        variances, freedom = noise.variances, noise.least
        ones = np.ones(len(which))
        of_question = sparse.csr_array(
            (ones, (which, np.arange(len(which)))), shape=(q, len(which))
        )
        A = (of_question @ rows).toarray()
        if self.within:
            on_items = sparse.csr_array((ones, (which, g)), shape=(q, self.n_items))
            A -= (on_items @ means).toarray()
        reach = A @ self._axes @ self._axes.T  # (q, m): what a taste of 1 changes of θ
        self.freedom = min(self.freedom, freedom)
        tastes = np.sqrt(variances[model.groups])
        spread = tastes[:, None] * reach
        shift = (of_question @ over.T.sum(axis=1)) / max(self.n_items, 1)
        self.moved = np.vstack([self.moved, spread])
        self.moved_level = np.append(self.moved_level, tastes * shift - spread @ self._mean)

    # ------------------------------------------------------------------ what it says

    def _freedom(self) -> float:
        """Return the degrees of freedom of the leader's lead that is known least; 0 if none."""
        X = self.questions.options.features
        leader = first_largest(X @ self.theta[: X.shape[1]])
        leads = self._leads(leader, np.delete(np.arange(len(X)), leader))
        sizes = np.abs(np.hstack([(leads @ self.theta)[:, None], leads @ self.moved.T]))
        if sizes.max(initial=0.0) <= self._rounding:
            return 0.0  # all options have the same scores
        v = leads @ self._axes
        v = v[np.abs(v).max(axis=1, initial=0.0) > 0.0]
        if self.n_clusters < 2 or not len(v):
            return 0.0
        away = np.abs(v @ self._lost).max(axis=1, initial=0.0)
        if (away > IN_SPAN * np.abs(v).max(axis=1)).any():
            return 0.0  # a lead rests on one cluster
        if self._shares is None:
            return float(self.n_clusters - 1)
        w = np.column_stack([np.einsum("ni,ni->n", v @ share, v) for share in self._shares])
        carry = w.sum(axis=1) ** 2 / np.maximum((w**2).sum(axis=1), 1e-300)
        return max(0.0, float(carry.min()) - 1.0)

    def leads(self, leader: int | Indices, rivals: Indices) -> Spread:
        """Return the lead of an option over rivals."""
        estimates, variances = self._spread(self._leads(leader, rivals))
        return Spread(estimates, variances + self._least(estimates, variances))

    def shared(self, leader: int, rivals: Indices) -> Shared:
        """Return what leads over rivals have in common."""
        directions = self._leads(leader, rivals)
        return Shared(directions @ self.moved.T, self._least(*self._spread(directions)))

    def alike(self, leader: int, rivals: Indices) -> NDArray[np.bool_]:
        """Tell (n,) which leads are the same on every item and by every judge."""
        return np.asarray(self._spread(self._leads(leader, rivals)).variances == 0.0)

    @property
    def bounded(self) -> bool:
        """Whether it is known how far apart scores may lie."""
        return self._span is not None

    def _least(self, leads: Floats, variances: Floats) -> Floats:
        """Return what to add to variances that are 0: leads that are the same on every item."""
        # Such leads say nothing of items that are rare, and not among these; nor of such judges,
        # where it is to hold for others. With a chance of δ none of G, the fewer of both, is of a
        # kind that has a share of 1 − δ^(1/G); by it a lead may be as low as −span, if that is how
        # far scores may lie apart. So the variance is the one by which a lead is not certain if it
        # may be 0 then; and not in any case, where nobody says what scores there are.
        if self.freedom < 1.0:
            return np.full(len(leads), self._rounding**2)
        same = variances == 0.0
        t, lead = -float(special.stdtrit(self.freedom, 0.5 * self._failure)), np.abs(leads)
        unseen = -math.expm1(math.log(self._failure) / max(self.drawn, 1))
        least = np.where(lead > self._rounding, lead, self._apart)
        if self._span is not None:
            least = unseen * (lead + self._span) / t
        return np.where(same, least**2, 0.0)

    def values(self, neutral: Floats | None = None) -> Spread:
        """Return (k,) the value of every option, on an average item."""
        questions = self.questions
        X = questions.options.features
        neutral = questions.neutral if neutral is None else neutral
        rows = np.hstack([X, np.tile(neutral, (len(X), 1))])
        if not self.within:
            return self._spread(rows)
        about = rows - self._mean
        moved = rows @ self.moved.T + self.moved_level
        seen = ~self._form.outside(about)
        estimates = about @ self.theta + self._level
        return Spread(
            np.where(seen, estimates, 0.0), np.where(seen, self._scattered(moved), np.inf)
        )

    def attributes(self, rows: Floats) -> Spread:
        """Return combinations, (n, p), of what attributes add to scores."""
        return self._spread(np.hstack([np.zeros((len(rows), self.questions.n_features)), rows]))

    def _leads(self, leader: int | Indices, rivals: Indices) -> Floats:
        X = self.questions.options.features
        apart = X[leader] - X[rivals]
        return np.hstack([apart, np.zeros((len(rivals), self.questions.n_attributes))])

    def _spread(self, directions: Floats) -> Spread:
        seen = ~self._form.outside(directions)
        moved = directions @ self.moved.T
        return Spread(
            np.where(seen, directions @ self.theta, 0.0),
            np.where(seen, self._scattered(moved), np.inf),
        )

    def _scattered(self, moved: Floats) -> Floats:
        """Return (n,) variances, 0 where they are no more than rounding."""
        variances = (moved**2).sum(axis=1)
        return np.where(variances <= self._rounding**2, 0.0, variances)
