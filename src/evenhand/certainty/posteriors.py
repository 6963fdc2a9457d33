"""What is known of the leads after some answers, and what one more answer would tell of them.

Notation
--------
a, y_j      row of a question, over its relative noise; and h_b − h_j, so that the lead of b over j
            is y_j·θ
V           λI + Σ n a aᵀ, with λ = 10⁻¹⁰ answers: a flat prior, so that V has an inverse

There are two algebras, as for `models`: `RootPosterior` for any questions, by a square root of V⁻¹
in the coordinates of `OptionFrame`, and `PanelPosterior` for large panels. There items have a
diagonal block D of V, or evaluators where these are more (`numerics.panels`; of the first there is
no leniency to be known). With sums Q and M of the others' answers, C = D⁻¹Q and S = M − QᵀC:

    aᵀV⁻¹a' = [j = j']/D_j + (z − c_j)ᵀS⁻¹(z' − c_j').
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from evenhand.arrays import Counts, Floats, Indices, recalled, recalled_counts
from evenhand.certainty.aim import keeps_structure
from evenhand.numerics.least_squares import per_item
from evenhand.numerics.solves import observed
from evenhand.numerics.tolerance import TIE
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions
from evenhand.questions.identifiable import refuse_incomparable

_FLAT = 1e5  # square root of the prior variance, in evaluations: nothing is known


class Posterior(Protocol):
    """What is known after some answers; taking more of them makes another one."""

    @property
    def rank(self) -> int:
        """Dimension of what answers can tell."""

    @property
    def values(self) -> Floats:
        """(k,) the options' values by least squares, up to a constant that all have."""

    @property
    def scatter(self) -> float:
        """What least squares leave over."""

    def told(self, feedback: Feedback) -> Self:
        """Return what is known after these answers as well."""

    def expecting(self, counts: Counts) -> Self:
        """Return what would be known after so many answers to each question: values stay."""

    @property
    def leverages(self) -> Floats:
        """(q,) aᵀV⁻¹a."""

    def along(self, leader: int, rivals: Indices) -> Floats:
        """Return (q, n) aᵀV⁻¹y_j."""

    def between(self, some: Indices, others: Indices) -> Floats:
        """Return (n,) aᵀV⁻¹a' of pairs of questions."""

    def spreads(self, leader: int) -> Floats:
        """Return (k,) the square roots of y_jᵀV⁻¹y_j."""

    def memory(self) -> dict[str, Any]:
        """Return all of it as arrays and numbers by name."""

    def recalled(self, memory: Mapping[str, Any]) -> Self:
        """Return what `memory` was of; an error if it cannot be that."""


def posterior_of(actions: Askable) -> Posterior:
    """Return what is known before any answer."""
    questions = Questions.of(actions)
    if isinstance(actions, Questions) and keeps_structure(actions):
        none = np.zeros(len(questions))
        return PanelPosterior(Sides.of(questions), none, none, none, none)
    frame = OptionFrame.of(actions)
    return RootPosterior(frame, _FLAT * np.eye(frame.rank), np.zeros(frame.rank))


@dataclass(frozen=True, eq=False)
class RootPosterior:
    """What is known by (r, r) S with SSᵀ = V⁻¹, and (r,) θ̂."""

    frame: OptionFrame
    root: Floats
    theta: Floats
    scatter: float = 0.0

    @property
    def rank(self) -> int:
        """Dimension r."""
        return self.frame.rank

    @property
    def values(self) -> Floats:
        """(k,) the options' values."""
        return np.asarray(self.frame.values @ self.theta)

    def told(self, feedback: Feedback) -> RootPosterior:
        """Return what is known after these answers, one question at a time."""
        root, theta, scatter = self.root, self.theta, self.scatter
        for x in np.flatnonzero(feedback.counts).tolist():
            n, total = int(feedback.counts[x]), float(feedback.sums[x])
            within = float(feedback.sums_of_squares[x]) - total**2 / n
            a = self.frame.points[x]
            f = root.T @ a
            grown = 1.0 + n * float(f @ f)
            error = total - n * float(a @ theta)
            scatter += max(0.0, within) + error**2 / (n * grown)
            theta = theta + root @ f * (error / grown)
            root = observed(root, a, n)
        return RootPosterior(self.frame, root, theta, scatter)

    def expecting(self, counts: Counts) -> RootPosterior:
        """Return what would be known after so many answers."""
        root = self.root
        for x in np.flatnonzero(counts).tolist():
            root = observed(root, self.frame.points[x], int(counts[x]))
        return replace(self, root=root)

    @cached_property
    def _rows(self) -> Floats:
        return np.asarray(self.frame.points @ self.root)

    @cached_property
    def leverages(self) -> Floats:
        """(q,) aᵀV⁻¹a."""
        return np.asarray(np.einsum("ij,ij->i", self._rows, self._rows))

    def along(self, leader: int, rivals: Indices) -> Floats:
        """Return (q, n) aᵀV⁻¹y_j."""
        H = self.frame.values
        return np.asarray(self._rows @ ((H[leader] - H[rivals]) @ self.root).T)

    def between(self, some: Indices, others: Indices) -> Floats:
        """Return (n,) aᵀV⁻¹a' of pairs of questions."""
        return np.asarray(np.einsum("ij,ij->i", self._rows[some], self._rows[others]))

    def spreads(self, leader: int) -> Floats:
        """Return (k,) the square roots of y_jᵀV⁻¹y_j."""
        H = self.frame.values
        return np.asarray(np.sqrt((((H[leader] - H) @ self.root) ** 2).sum(axis=1)))

    def memory(self) -> dict[str, Any]:
        """Return all of it by name."""
        return {"root": self.root.copy(), "theta": self.theta.copy(), "scatter": self.scatter}

    def recalled(self, memory: Mapping[str, Any]) -> RootPosterior:
        """Return what `memory` was of."""
        r, wide = self.rank, _FLAT * (1.0 + TIE)
        return RootPosterior(
            self.frame,
            recalled(memory, "root", (r, r), least=-wide, most=wide),
            recalled(memory, "theta", (r,)),
            recalled(memory, "scatter", least=0.0, most=math.inf),
        )


@dataclass(frozen=True, eq=False)
class Sides:
    """The two sides of a panel."""

    questions: Questions
    own: Indices  # (q,) what has the diagonal block, −1 for nothing,
    n_own: int  # of so many
    Z: sparse.csr_array  # (q, p) the rest of the rows, over the relative noise but for its ones
    by_items: bool  # whether items have that block
    rank: int  # dimension of the span of all rows

    @classmethod
    def of(cls, questions: Questions) -> Sides:
        """Return the sides of a panel."""
        form = questions.panel_form(np.arange(len(questions)), np.ones(len(questions)))
        refuse_incomparable(questions, form)
        n, by_items = len(form.form.sizes), form.levels is None
        if by_items:
            return cls(questions, form.own, n, form.Z, True, form.rank)
        return cls(questions, form.own - 1, n - 1, form.Z, False, form.rank)


@dataclass(frozen=True, eq=False)
class PanelPosterior:
    """What is known of a panel, by what was told of its questions, (q,) each."""

    sides: Sides
    counts: Floats
    sums: Floats
    squares: Floats
    expected: Floats  # how many further answers count as made

    @property
    def rank(self) -> int:
        """Dimension of the span of all questions."""
        return self.sides.rank

    def told(self, feedback: Feedback) -> PanelPosterior:
        """Return what is known after these answers as well."""
        n, s, squares = feedback.parts
        return PanelPosterior(
            self.sides, self.counts + n, self.sums + s, self.squares + squares, self.expected
        )

    def expecting(self, counts: Counts) -> PanelPosterior:
        """Return what would be known after so many answers; estimates are those there are."""
        made = replace(self, expected=self.expected + counts)
        made.__dict__["_fit"] = self._fit
        return made

    @cached_property
    def _fit(self) -> tuple[Floats, float]:
        """(k,) values, and what least squares leave over."""
        questions = self.sides.questions
        (seen,) = np.nonzero(self.counts)
        noise = np.ones(len(seen)) if questions.noise is None else questions.noise[seen]
        n, means = self.counts[seen], self.sums[seen] / self.counts[seen]
        form = questions.panel_form(seen, n)
        v, omega = form.solve(form.weights * noise * means)
        Z, item = questions.matrix[seen][:, questions.n_features :], questions.about[seen, 0]
        left = means - (v[item] + Z @ omega) / noise
        within = np.maximum(self.squares[seen] - n * means**2, 0.0)
        k = len(questions.options)
        return v[:k] + questions.neutral @ omega, float((within + n * left**2).sum())

    @property
    def values(self) -> Floats:
        """(k,) the options' values."""
        return self._fit[0]

    @property
    def scatter(self) -> float:
        """What least squares leave over."""
        return self._fit[1]

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        """(n + 1,) 1/D, the last for nothing, (n + 1, p) C·R and (p, p) R, for S⁻¹ = RRᵀ."""
        sides, noise, flat = self.sides, self.sides.questions.noise, _FLAT**-2
        w = self.counts + self.expected
        w = w if noise is None else w / noise**2
        some = np.flatnonzero(w)
        own, Z, w = np.where(sides.own < 0, sides.n_own, sides.own)[some], sides.Z[some], w[some]
        D = np.bincount(own, w, sides.n_own + 1) + flat
        D[-1] = np.inf
        Q = (per_item(own, w, sides.n_own + 1) @ Z).toarray()
        C = Q / D[:, None]
        S = (Z.T @ (sparse.diags_array(w) @ Z)).toarray() - Q.T @ C
        values, axes = np.linalg.eigh(S)
        R = axes / np.sqrt(np.maximum(values, 0.0) + flat)
        return np.asarray(1.0 / D), np.asarray(C @ R), np.asarray(R)

    @cached_property
    def _rows(self) -> Floats:
        """(q, p) (z − c_j)ᵀR."""
        _, centres, R = self._parts
        return self._scaled(np.asarray(self.sides.Z @ R - centres[self.sides.own]))

    def _scaled(self, rows: Floats) -> Floats:
        noise = self.sides.questions.noise
        return rows if noise is None else np.asarray((rows.T / noise).T)

    @cached_property
    def leverages(self) -> Floats:
        """(q,) aᵀV⁻¹a."""
        own = self._scaled(self._scaled(self._parts[0][self.sides.own]))
        return np.asarray(own + np.einsum("ij,ij->i", self._rows, self._rows))

    def _lead_rows(self, leader: int) -> Floats:
        """Return (k, p) the rows of y_j, as `_rows`."""
        _, centres, R = self._parts
        options = np.arange(len(self.sides.questions.options))
        H = -centres[options] if self.sides.by_items else R[options]
        return np.asarray(H[leader] - H)

    def along(self, leader: int, rivals: Indices) -> Floats:
        """Return (q, n) aᵀV⁻¹y_j."""
        found = self._rows @ self._lead_rows(leader)[rivals].T
        if self.sides.by_items:
            reciprocals, item = self._parts[0], self.sides.own
            found[item == leader] += self._scaled_at(item == leader) * reciprocals[leader]
            place = np.full(self.sides.n_own, -1)
            place[rivals] = np.arange(len(rivals))
            mine = np.flatnonzero(place[item] >= 0)
            found[mine, place[item[mine]]] -= self._scaled_at(mine)[:, 0] * reciprocals[item[mine]]
        return np.asarray(found)

    def _scaled_at(self, some: Any) -> Floats:
        """Return (n, 1) one over the relative noise of questions."""
        return np.asarray(self._scaled(np.ones(len(self.sides.own)))[some][:, None])

    def between(self, some: Indices, others: Indices) -> Floats:
        """Return (n,) aᵀV⁻¹a' of pairs of questions."""
        own, other = self.sides.own[some], self.sides.own[others]
        level = np.where(own == other, self._parts[0][own], 0.0)
        level = level * self._scaled_at(some)[:, 0] * self._scaled_at(others)[:, 0]
        return np.asarray(level + np.einsum("ij,ij->i", self._rows[some], self._rows[others]))

    def spreads(self, leader: int) -> Floats:
        """Return (k,) the square roots of y_jᵀV⁻¹y_j."""
        rows = self._lead_rows(leader)
        found = np.einsum("ij,ij->i", rows, rows)
        if self.sides.by_items:
            own = self._parts[0][: len(rows)]
            found += own[leader] + own
            found[leader] = 0.0
        return np.asarray(np.sqrt(found))

    def memory(self) -> dict[str, Any]:
        """Return all of it by name; counts and sums are the policy's."""
        return {"squares": self.squares.copy()}

    def recalled(self, memory: Mapping[str, Any]) -> PanelPosterior:
        """Return what `memory` was of."""
        q = len(self.counts)
        return PanelPosterior(
            self.sides,
            recalled_counts(memory, "counts", q).astype(np.float64),
            recalled(memory, "sums", (q,)),
            recalled(memory, "squares", (q,), least=0.0, most=math.inf),
            np.zeros(q),
        )
