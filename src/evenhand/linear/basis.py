"""An orthonormal basis of all that a design explains, by its structure.

Notation
--------
f       the factor with the most levels, m of them, n_l rows each: never written out
R       (n, w) a column for every other effect, in the numbering of its connected part; sparse
R̃       R less its means over f;  G = R̃B, B made of the eigenvectors of R̃ᵀR̃ of the part
X̃       (n, r) regressors less all effects;  Q = X̃B_x, orthonormal
F       [1_f/√n_l, G, Q]: the basis; FFᵀ is the hat matrix H
w       (n,) weights of a contrast c of effects: c·θ̂ = w·y

With c = (c_f, c_R, c_x), and R̄ the means of R over f: w = c_f/n_l + G Bᵀ(c_R − R̄ᵀc_f) on effects,
and what x adds to that is taken off along Q. The three parts are orthogonal, so that w·w is a sum
of squares, and any sum of w over rows is a product of small matrices: no row is written out for it.
Connected parts of a table share nothing but x, and each has its own G. Of a large table G is not
written out: it is RB − (R̄B)[f], R sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from evenhand.arrays import Floats, Indices, dense, per_item, thin
from evenhand.linear.design import Design
from evenhand.numerics.tolerance import IN_SPAN, RANK
from evenhand.scores.scores import Codes

Flags = NDArray[np.bool_]

SMALL = 200_000
"""Numbers of a matrix up to which zeros are written out."""

_CELLS = 2_000_000  # numbers that are written out at once
_WRITTEN = 4_000_000  # numbers of G up to which it is written out


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of K contrasts, in the coordinates of the basis."""

    levels: Any  # (K, m) what every row of a level has; sparse where it is large
    effects: Floats | None  # (K, parts · w), of G; None for 0
    slopes: Floats  # (K, r), of Q
    told: Flags  # (K,) whether the contrast is identified
    squares: Floats  # (K,) w·w
    about: tuple[str, Indices] | None = None  # a block, and (K, ·) its effects that it is of

    def __len__(self) -> int:
        """Return how many contrasts there are."""
        return len(self.slopes)

    @cached_property
    def has_levels(self) -> bool:
        """Whether the largest factor has a part in it."""
        levels = self.levels
        return bool(levels.any() if isinstance(levels, np.ndarray) else levels.nnz)

    @cached_property
    def _alone(self) -> Weights:
        squares = self.squares - (self.slopes * self.slopes).sum(1)
        return replace(self, slopes=np.zeros_like(self.slopes), squares=squares)

    def apart(self) -> tuple[Weights, Floats]:
        """Return the weights of effects alone, and (K, r) those of slopes."""
        return self._alone if self.slopes.any() else self, self.slopes

    def some(self, which: Any) -> Weights:
        """Return the weights of some contrasts."""
        return replace(
            self,
            levels=self.levels[which],
            effects=None if self.effects is None else self.effects[which],
            slopes=self.slopes[which],
            told=self.told[which],
            squares=self.squares[which],
            about=None if self.about is None else (self.about[0], self.about[1][which]),
        )


class Basis:
    """The basis of a design."""

    def __init__(self, design: Design) -> None:
        self.design, n = design, len(design)
        self.blocks = _blocks(design)
        names = [name for name, (codes, _) in self.blocks.items() if codes is not None]
        self.factor = max(names, key=lambda name: self.blocks[name][1], default="")
        level = self.blocks[self.factor][0] if self.factor else None
        self.level: Codes = np.zeros(n, dtype=np.int32) if level is None else level
        self.m = self.blocks[self.factor][1] if self.factor else 1
        self.counts = np.bincount(self.level, minlength=self.m).astype(np.float64)
        if not self.factor:
            self.counts[:] = np.inf  # no level is taken off
        self._over = np.divide(1.0, self.counts, out=np.zeros(self.m), where=self.counts > 0)
        self._rows = indicator(self.level, self.m)
        self.parts, self.part, self._place, self.width = self._numbered()
        self._made(self._columns(self.width))
        left = self.off_effects(design.x)
        size, whole = np.sqrt((left * left).sum(0)), np.sqrt((design.x * design.x).sum(0))
        left[:, size <= IN_SPAN * whole] = 0.0
        self.X = left  # (n, r) X̃
        self._x_back, *self._x_gone, rank = _eigen((left.T @ left)[None])
        self.Q = left @ self._x_back[0]
        self.rank += int(rank[0])
        self.slopes_told = int(rank[0]) == left.shape[1]

    def _numbered(self) -> tuple[int, Codes, dict[str, Codes], int]:
        """Return how many connected parts there are, (n,) the part of each row, and by block the
        number of each effect among those of its part, with the largest of these numbers.
        """
        others = {name: block for name, block in self.blocks.items() if name != self.factor}
        mixed = self.design.rival is not None or self.design.features is not None
        if mixed or not others:
            places, at = {}, 0
            for name, (_, size) in others.items():
                places[name] = np.arange(at, at + size, dtype=np.int32)
                at += size
            return 1, np.zeros(len(self.design), dtype=np.int32), places, at
        starts, total = dict[str, int](), 0
        for name, (_, size) in self.blocks.items():
            starts[name] = total
            total += size
        first = self.level + starts[self.factor]
        ends = [codes + starts[name] for name, (codes, _) in others.items() if codes is not None]
        label = connected(np.tile(first, len(ends)), np.concatenate(ends), total)
        kept, part = np.unique(label[first], return_inverse=True)
        number = np.zeros(total, dtype=np.int32)  # of names that no row has, any
        number[kept] = np.arange(len(kept))
        part_of, places, used = number[label], {}, np.zeros(len(kept), dtype=np.int64)
        for name, (_, size) in others.items():
            mine = part_of[starts[name] : starts[name] + size]
            order = np.argsort(mine, kind="stable")
            begin = np.searchsorted(mine[order], np.arange(len(used)))
            place = np.empty(size, dtype=np.int32)
            place[order] = np.arange(size) - begin[mine[order]] + used[mine[order]]
            places[name] = place
            used += np.bincount(mine, minlength=len(used))
        self._part_of = {
            name: part_of[at : at + self.blocks[name][1]] for name, at in starts.items()
        }
        return len(used), part.reshape(-1).astype(np.int32), places, int(used.max(initial=0))

    def part_of(self, block: str) -> Indices:
        """Return (size,) the number of the connected part of each effect of a block."""
        size = self.design.n_options if block == "option" else self.blocks[block][1]
        found = np.zeros(size) if self.parts == 1 else self._part_of[block]
        return found.astype(np.intp)

    def _columns(self, width: int) -> Any:
        """Return (n, w) R."""
        design, n = self.design, len(self.design)
        R: Any = np.zeros((n, width)) if n * width <= SMALL else sparse.csr_array((n, width))
        for name, place in self._place.items():
            codes, _ = self.blocks[name]
            if codes is not None:
                signs = [(codes, 1.0)]
            else:
                signs = [(design.option, 1.0)]
                signs += [] if design.rival is None else [(design.rival, -1.0)]
            for whom, sign in signs:
                if codes is None and design.features is not None:
                    more = np.zeros((n, width))
                    more[:, place] = sign * design.features[whom]
                    R = R + (more if n * width <= SMALL else sparse.csr_array(more))
                else:
                    R = R + sign * indicator(place[whom], width).T
        return R

    def _made(self, R: Any) -> None:
        """Set G, and how contrasts come into it, part by part: R̃ᵀR̃ = RᵀR − R̄ᵀ n_l R̄."""
        n, width = R.shape
        sums = dense(self._rows @ R)
        self._means = sums * self._over[:, None]
        order = np.argsort(self.part, kind="stable")
        ends = np.searchsorted(self.part[order], np.arange(self.parts + 1))
        self._slices: list[Any] = [order[a:b] for a, b in pairwise(ends.tolist())]
        if self.parts == 1:
            self._slices = [slice(None)]
        gram = np.empty((self.parts, width, width))
        for s, rows in enumerate(self._slices):
            mine = slice(None) if self.parts == 1 else np.unique(self.level[rows])
            gram[s] = dense(R[rows].T @ R[rows]) - self._means[mine].T @ sums[mine]
        self._back, *self._gone, rank = _eigen(gram)
        self.rank = int(rank.sum()) + int((self.counts > 0).sum()) * bool(self.factor)
        self._centre = np.empty_like(self._means)  # R̄B
        part_of_level = np.zeros(self.m, dtype=np.intp)
        part_of_level[self.level] = self.part
        for s in range(self.parts):
            mine = slice(None) if self.parts == 1 else part_of_level == s
            self._centre[mine] = self._means[mine] @ self._back[s]
        self._R, self._G = R, np.empty((n, width)) if n * width <= _WRITTEN else None
        if self._G is not None:
            for s, rows in enumerate(self._slices):
                self._G[rows] = R[rows] @ self._back[s]
            self._G -= self._centre[self.level]

    def effects(self, rows: Any) -> Floats:
        """Return rows of G."""
        if self._G is not None:
            return np.asarray(self._G[rows])
        found = np.empty((len(rows), self.width))
        for s in np.unique(self.part[rows]).tolist():
            mine = slice(None) if self.parts == 1 else self.part[rows] == s
            found[mine] = self._R[rows[mine]] @ self._back[s]
        found -= self._centre[self.level[rows]]
        return found

    @cached_property
    def _levels_of(self) -> list[tuple[Indices, Any]]:
        """The levels of f in each part, and their rows, (levels, n_s)."""
        found = []
        for rows in self._slices:
            names, own = np.unique(self.level[rows], return_inverse=True)
            found.append((names, indicator(own.reshape(-1), len(names))))
        return found

    def _times(self, s: int, x: Floats) -> Floats:
        """Return G x in the rows of part s."""
        rows = self._slices[s]
        if self._G is not None:
            return np.asarray(self._G[rows] @ x)
        names, over = self._levels_of[s]
        return np.asarray(self._R[rows] @ (self._back[s] @ x) - over.T @ (self._centre[names] @ x))

    def _summed(self, s: int, V: Floats) -> Floats:
        """Return Gᵀ V of the rows of part s."""
        rows = self._slices[s]
        if self._G is not None:
            return np.asarray(self._G[rows].T @ V)
        names, over = self._levels_of[s]
        R, centre = self._R[rows], self._centre[names]
        return np.asarray(self._back[s].T @ (R.T @ V) - centre.T @ (over @ V))

    def _by_code(self, s: int, codes: Codes, size: int, v: Floats) -> Floats:
        """Return (size, w) sums of v_i G_i over the rows of each code in part s."""
        rows = self._slices[s]
        if self._G is not None:
            return np.asarray(indicator(codes[rows], size) @ (self._G[rows] * v[rows, None]))
        names, over = self._levels_of[s]
        each = per_item(codes[rows], v[rows], size)
        met: Any = each @ sparse.csr_array(over).T
        return np.asarray((each @ self._R[rows]) @ self._back[s] - met @ self._centre[names])

    def off_effects(self, V: Floats) -> Floats:
        """Return (n, c) columns less what effects explain of them."""
        left = V - (np.asarray(self._rows @ V) * self._over[:, None])[self.level]
        for s, rows in enumerate(self._slices):
            left[rows] -= self._times(s, self._summed(s, left[rows]))
        return np.asarray(left)

    def off(self, V: Floats) -> Floats:
        """Return (n, c) columns less all that the design explains of them."""
        left = self.off_effects(V)
        return np.asarray(left - self.Q @ (self.Q.T @ left))

    @cached_property
    def leverage(self) -> Floats:
        """(n,) the diagonal of the hat matrix."""
        h = self._over[self.level] + (self.Q * self.Q).sum(1)
        step = max(1, _CELLS // max(self.width, 1))
        for rows in np.split(np.arange(len(h)), range(step, len(h), step)):
            h[rows] += (self.effects(rows) ** 2).sum(1)
        return np.asarray(np.minimum(h, 1.0))

    def hat(self, rows: NDArray[np.intp]) -> Floats:
        """Return (c, s, s) the hat matrix among c sets of s rows each."""
        Q, level, part = (a[rows] for a in (self.Q, self.level, self.part))
        G = self.effects(rows.reshape(-1)).reshape(*rows.shape, self.width)
        H = G @ G.transpose(0, 2, 1)
        if self.parts > 1:
            H *= part[:, :, None] == part[:, None, :]
        H += Q @ Q.transpose(0, 2, 1)
        same = level[:, :, None] == level[:, None, :]
        return np.asarray(H + same * self._over[level][:, :, None])

    @cached_property
    def written_out(self) -> Floats:
        """(n, rank or more) F itself."""
        n, width = len(self.design), self.width
        at = np.arange(n)
        f = np.zeros((n, self.m + self.parts * width))
        if self.factor:
            f[at, self.level] = np.sqrt(self._over[self.level])
        columns = self.m + self.part[:, None].astype(np.intp) * width + np.arange(width)
        f[at[:, None], columns] = self.effects(at)
        return np.hstack([f, self.Q])

    def weights(
        self,
        contrasts: dict[str, Any],
        slopes: Floats | None = None,
        about: tuple[str, NDArray[np.intp]] | None = None,
    ) -> Weights:
        """Return the weights of contrasts of effects, by block a (K, size) matrix that may be
        sparse, and of (K, r) slopes; ``about``: a block, and (K, ·) its effects they are about.
        """
        given = [c for c in (*contrasts.values(), slopes) if c is not None]
        K, width = given[0].shape[0], self.width
        c_f: Any = thin(contrasts.get(self.factor, sparse.csr_array((K, self.m))))
        levels = thin(c_f * self._over)
        told, empty = np.ones(K, dtype=np.bool_), np.flatnonzero(self.counts == 0)
        if len(empty):
            told = np.asarray(abs(c_f[:, empty]).sum(1) == 0)
        effects = None
        if width and contrasts:
            d = np.zeros((K, self.parts, width))
            for name, c in contrasts.items():
                if name != self.factor:
                    where = self._part_of[name] if self.parts > 1 else 0
                    d[:, where, self._place[name]] += dense(c)
            if self.parts == 1:
                d[:, 0] -= c_f @ self._means
            else:
                rows, cols = c_f.nonzero()
                mine = np.asarray(c_f[rows, cols]).reshape(-1, 1) * self._means[cols]
                np.subtract.at(d, (rows, self._part_of[self.factor][cols]), mine)
            told &= _seen(d, *self._gone)
            effects = np.matmul(d.swapaxes(0, 1), self._back).swapaxes(0, 1).reshape(K, -1)
        c_x = np.zeros((K, self.X.shape[1])) if slopes is None else slopes
        if contrasts and self.X.shape[1]:
            c_x = c_x - self._along(levels, effects, self.design.x)
        E = c_x @ self._x_back[0]
        told &= _seen(c_x[:, None], *self._x_gone)
        counts = np.where(np.isinf(self.counts), 0.0, self.counts)
        squares = (E * E).sum(1)
        step = max(1, _CELLS // self.m)
        for i in range(0, K, step):
            some = levels[i : i + step]
            squares[i : i + step] += (some * some) @ counts
        if effects is not None:
            squares = squares + (effects * effects).sum(1)
        return Weights(levels, effects, E, told, squares, about)

    def _of(self, effects: Floats, s: int) -> Floats:
        """Return the coordinates of part s."""
        return effects[:, s * self.width : (s + 1) * self.width]

    def _along(self, levels: Any, effects: Floats | None, V: Floats) -> Floats:
        """Return (K, c) w·v of effects alone."""
        found = np.asarray(levels @ (self._rows @ V))
        if effects is None:
            return found
        for s, rows in enumerate(self._slices):
            found = found + self._of(effects, s) @ self._summed(s, V[rows])
        return np.asarray(found)

    def estimates(self, weights: Weights, y: Floats) -> Floats:
        """Return (K,) w·y."""
        found = self._along(weights.levels, weights.effects, y[:, None])[:, 0]
        return np.asarray(found + weights.slopes @ (self.Q.T @ y))

    def sums(self, weights: Weights, codes: Codes, size: int, v: Floats) -> Any:
        """Return (K, size) the sums of w_i v_i over the rows of each code; sparse where they are
        many and most are 0, since rows of other levels have no weight.
        """
        over = indicator(codes, size)
        if weights.effects is None and weights.has_levels and not weights.slopes.any():
            found = weights.levels @ ((self._rows * v) @ over.T)
            return found if len(weights) * size > SMALL else dense(found)
        found = weights.slopes @ np.asarray(over @ (self.Q * v[:, None])).T
        if weights.has_levels:
            found += dense(weights.levels @ ((self._rows * v) @ over.T))
        if weights.effects is not None:
            for s in range(self.parts):
                found += self._of(weights.effects, s) @ self._by_code(s, codes, size, v).T
        return np.asarray(found)

    def rows(self, weights: Weights) -> Floats:
        """Return (K, n) the weights themselves."""
        W = weights.slopes @ self.Q.T
        if weights.has_levels:
            W += dense(weights.levels)[:, self.level]
        if weights.effects is not None:
            for s, rows in enumerate(self._slices):
                W[:, rows] += self._times(s, self._of(weights.effects, s).T).T
        return np.asarray(W)

    def own(self, weights: Weights) -> tuple[Indices, Indices, Floats]:
        """Return, for every row of what a contrast is about, the contrast, the row and its weight;
        kept for the same weights.
        """
        assert weights.about is not None
        if "own" not in weights.__dict__:
            (block, effects), design, parts = weights.about, self.design, []
            named = [design.option, design.rival] if block == "option" else [design.evaluator]
            size = design.n_options if block == "option" else design.n_evaluators
            ones = np.ones(len(design))
            lists = [per_item(codes, ones, size) for codes in named if codes is not None]
            for column in effects.T:
                for rows in (rows_of[column] for rows_of in lists):
                    which = np.repeat(np.arange(len(column)), np.diff(rows.indptr))
                    parts.append(self._weighed(weights, which, rows.indices))
            weights.__dict__["own"] = tuple(map(np.concatenate, zip(*parts, strict=True)))
        found: tuple[Indices, Indices, Floats] = weights.__dict__["own"]
        return found

    def _weighed(
        self, weights: Weights, which: Indices, rows: Indices
    ) -> tuple[Indices, Indices, Floats]:
        """Return contrasts and rows with the weight that each row has in the contrast."""
        w, width = np.empty(len(rows)), self.width
        step = max(1, _CELLS // max(width, 1))
        for i in range(0, len(which), step):
            c, r = which[i : i + step], rows[i : i + step]
            some = np.asarray(weights.levels[c, self.level[r]]).reshape(-1)
            some = some + (weights.slopes[c] * self.Q[r]).sum(1)
            if weights.effects is not None and self.parts == 1:
                some += np.einsum("ij,ij->i", weights.effects[c], self.effects(r))
            elif weights.effects is not None:
                at = self.part[r, None].astype(np.intp) * width + np.arange(width)
                some += np.einsum("ij,ij->i", weights.effects[c[:, None], at], self.effects(r))
            w[i : i + step] = some
        return which, rows, w


def connected(first: Codes, second: Codes, nodes: int) -> Codes:
    """Return (nodes,) the number of the connected part of each, from links between two."""
    graph = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), (nodes, nodes))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1], dtype=np.int32)


def _blocks(design: Design) -> dict[str, tuple[Codes | None, int]]:
    """Return the effects of a design by name: (n,) which is in the row (None where it is not one
    with a 1), and how many there are.
    """
    plain = design.rival is None and design.features is None
    blocks: dict[str, tuple[Codes | None, int]] = {
        "option": (design.option if plain else None, design.n_values)
    }
    if design.evaluator is not None:
        blocks["evaluator"] = design.evaluator, design.n_evaluators
    if design.item is not None:
        blocks["item"] = design.item, design.n_items
    return blocks


def indicator(codes: Codes | Indices, size: int) -> Any:
    """Return (size, n) a 1 where a row has a code."""
    n = len(codes)
    if n * size <= SMALL:
        found = np.zeros((size, n))
        found[codes, np.arange(n)] = 1.0
        return found
    return per_item(codes, np.ones(n), size)


def _seen(d: Floats, gone: Floats, size: Floats) -> Flags:
    """Tell (K,) which (K, parts, w) coordinates have no part that no row has."""
    along = np.einsum("ksi,siz->ksz", d / size, gone)
    off = np.abs(np.einsum("ksz,siz->ksi", along, gone) * size).max((1, 2), initial=0.0)
    return np.asarray(off < 1e-6 * (1.0 + np.abs(d).max((1, 2), initial=0.0)))


def _eigen(gram: Floats) -> tuple[Floats, Floats, Floats, NDArray[np.intp]]:
    """Return of Gram matrices, whose columns are brought to one size: (s, p, p) B with 0 for what
    is no direction; (s, p, z) vectors that no row has a part of, 0 beyond these; (s, p) the sizes;
    and how many directions there are.
    """
    size = np.sqrt(np.maximum(np.einsum("sii->si", gram), 0.0))
    size = np.where(size > 0.0, size, 1.0)
    value, vector = np.linalg.eigh(gram / size[:, :, None] / size[:, None, :])
    keep = value > RANK * np.maximum(value[:, -1:], 1e-300) if value.size else value > 0.0
    root = np.sqrt(np.where(keep, value, 1.0))
    lost = int((~keep).sum(1).max(initial=0))  # values rise
    gone = np.where(keep[:, None, :lost], 0.0, vector[:, :, :lost])
    back = np.where(keep[:, None, :], vector / root[:, None, :], 0.0) / size[:, :, None]
    return back, gone, size, keep.sum(1)
