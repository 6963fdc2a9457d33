"""Numbers less what effects of two kinds explain, for millions of rows.

Notation
--------
F       (n, k)  a 1 for who stands in the row; where two are compared, 1 for the first and −1 for
                the second
G       (n, g)  a 1 for the class of the row: what is scored, or whose verdict it is; or nothing
d       (k,)    the diagonal of FᵀF;  c  (g,) the sizes of the classes, GᵀG
M = GᵀF (g, k)  who meets whom, and how often
S = FᵀF − Mᵀ c⁻¹ M      what is left of FᵀF once the classes are swept out

The projection of y on F and G has the coefficients θ with S θ = r, r = Fᵀy − Mᵀ c⁻¹ Gᵀy, and in
each class the mean of what is then left. S is never inverted: conjugate gradients take a few
passes over M where options and evaluators are well mixed. Where their graph is poorly connected (a
chain, each option seen by two evaluators) they take many; a sparse factorisation of all equations,
with a little added on the diagonal, is then the preconditioner, and cheap on such graphs.

How far off. If z is what is left of y, its projection on F and G should be 0, and has the square
|c^(−½) Gᵀz|² + rᵀS⁺r. Let λ be the least eigenvalue of d^(−½) S d^(−½) that is not 0: the second
term is at most |d^(−½) r|²/λ. In a connected part with m rows and a longest shortest path of D
steps, λ ≥ 1/(2mD) (Chung, Spectral graph theory, Lemma 1.9; S takes λ to λ(2 − λ), which is more).
Nothing is returned before this bound is small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Floats
from evenhand.errors import AccuracyError
from evenhand.linear.basis import connected
from evenhand.numerics.tolerance import RANK
from evenhand.scores.scores import Codes, chunks, sums_over

ENOUGH = 1e-10
"""Of the size of numbers: what is left of them, or of a bias, and no longer counts."""

_BOUND = 1e-7  # the same, where rounding leaves more; nothing is returned beyond it
_PASSES = 6  # over all rows at most, each of which takes off what the one before has left
_SHARE = 1e-8  # to which one pass solves the equations
_PATIENCE = 300  # steps of conjugate gradients that go without a factorisation
_RIDGE = 1e-9  # of the diagonal: what makes the equations regular for the factorisation
_STEPS = 64  # of a path, in search of the longest; from there on it is bounded by who is there
_FEW = 600  # options, whose eigenvalues are computed

_Part = TypeVar("_Part")


class Projection:
    """What effects of two kinds, codes below k and classes below g, explain of numbers, and what
    they leave; with ``against``, codes are compared.
    """

    def __init__(
        self, codes: Codes, k: int, classes: Codes | None, g: int, against: Codes | None = None
    ) -> None:
        self._turned = classes is not None and against is None and g < k
        if classes is not None and self._turned:
            codes, k, classes, g = classes, g, codes, k
        self.k, self.g = k, g if classes is not None else 0
        self._kept = [(1.0, codes)] if against is None else [(1.0, codes), (-1.0, against)]
        self._classes = classes
        self._sizes = np.asarray(sum(sums_over(whom, k) for _, whom in self._kept))
        self._d = np.maximum(self._sizes, 1.0)  # who never stands in a row divides by 1
        self._c = np.ones(0) if classes is None else np.maximum(sums_over(classes, g), 1.0)
        self._square = self._squared()
        self._factors: Callable[[Floats], Floats] | None = None  # where the diagonal is not enough

    def without(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what is left of (n,) or (n, r) columns, and the coefficients, a row each code and
        each class.
        """
        columns = values.reshape(len(values), -1)
        left = np.array(columns, order="F", dtype=np.float64)
        means = left.mean(axis=0) * (self._classes is not None)  # where classes explain means
        left -= means
        coefs = np.zeros((self.k, left.shape[1]))
        class_coefs = np.tile(means, (self.g, 1))
        sizes = np.sqrt(np.einsum("ij,ij->j", left, left))
        off = np.full_like(sizes, np.inf)
        for turn in range(_PASSES):
            r, level = self._equations(left)
            before, off = off, self._off(r, level)
            if (off <= ENOUGH * sizes).all() or not (off < 0.5 * before).any():
                break
            theta = self._solved(r, first=turn == 0)
            class_theta = (level - self._M @ theta) / self._c[:, None]
            self._take_off(left, theta, class_theta)
            coefs += theta
            class_coefs += class_theta
        self._refuse(off, sizes)
        return left.reshape(values.shape), *self._as_named(coefs, class_coefs)

    def _as_named(self, kept: _Part, swept: _Part) -> tuple[_Part, _Part]:
        """Return what is of codes, and what is of classes, as they were given."""
        return (swept, kept) if self._turned else (kept, swept)

    @property
    def parts(self) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        """(k,) and (g,) the number of the connected part of each (classes link nobody where two are
        compared), and how many parts there are.
        """
        kept, swept, n_parts = self._parts
        return *self._as_named(kept, swept), n_parts

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        if len(self._kept) == 2:
            labels = connected(self._kept[0][1], self._kept[1][1], self.k)
            return labels, np.zeros(self.g, dtype=np.int32), int(labels.max(initial=-1)) + 1
        assert self._classes is not None
        labels = connected(self._kept[0][1], self._classes + self.k, self.k + self.g)
        return labels[: self.k], labels[self.k :], int(labels.max(initial=-1)) + 1

    @property
    def rank(self) -> int:
        """How many independent numbers the effects explain."""
        if len(self._kept) == 1:
            return self.k + self.g - self._parts[2]
        if self._spectrum is None:
            return self.k - self._parts[2] + self.g  # or less: freedom is never overstated
        return int((self._spectrum > RANK).sum()) + self.g

    def left_over(self, column: Floats) -> float:
        """Return the squared length of what is left of (n,) a column; it is off by the square of
        the share to which equations are solved.
        """
        r, level = self._equations(column[:, None])
        explained = (level * level / self._c[:, None]).sum() + (r * self._solved(r)).sum()
        return max(float(column @ column) - float(explained), 0.0)

    def coefs(self, sums: Floats, class_sums: Floats) -> tuple[Floats, Floats]:
        """Return some coefficients of both kinds that fit as well as any, from (k,) and (g,) sums
        of a column.
        """
        r, level = (part[:, None] for part in self._as_named(sums, class_sums))
        size = np.sqrt((r * r / self._d[:, None]).sum() + (level * level / self._c[:, None]).sum())
        none, theta, wanted = np.zeros((self.g, 1)), np.zeros((self.k, 1)), self._swept(r, level)
        left, off = wanted, self._off(wanted, none)
        for turn in range(_PASSES):
            if off[0] <= ENOUGH * size:
                break
            better = theta + self._solved(left, first=turn == 0)
            further = self._in_range(wanted - self._applied(better))
            before, off = off, self._off(further, none)
            if not off[0] < before[0]:  # rounding is all that is left
                off = before
                break
            theta, left = better, further
        self._refuse(off, size)
        swept = (level - self._M @ theta) / self._c[:, None]
        return self._as_named(theta[:, 0], swept[:, 0])

    def _equations(self, left: Floats) -> tuple[Floats, Floats]:
        """Return r (k, columns) and the sums of classes (g, columns) of what is left."""
        columns = range(left.shape[1])
        level = np.zeros((self.g, left.shape[1]))
        if self._classes is not None:
            level = np.column_stack([sums_over(self._classes, self.g, left[:, j]) for j in columns])
        r = np.column_stack(
            [sum(sign * sums_over(whom, self.k, left[:, j]) for sign, whom in self._kept)
             for j in columns]
        )  # fmt: skip
        return self._swept(r, level), level

    def _refuse(self, off: Floats, sizes: Any) -> None:
        if (off > _BOUND * sizes).any():
            raise AccuracyError(
                "the effects of options and evaluators were not found to 7 digits: those who link "
                "one half of the table to the other are too few. Audit the halves alone."
            )

    def _swept(self, r: Floats, level: Floats) -> Floats:
        """Return sums r of those who stand in rows, less what sums of classes explain of them."""
        return self._in_range(r - self._M.T @ (level / self._c[:, None]))

    def _in_range(self, r: Floats) -> Floats:
        """Return r without rounding: it sums to 0 in every part, and else S θ = r has no θ."""
        return np.asarray(r - self._d[:, None] * self._of_parts(r))

    def _of_parts(self, sums: Floats) -> Floats:
        """Return (k, r) the sum over the connected part of each, over that of d."""
        part, _, n_parts = self._parts
        over = sparse.csr_array((np.ones(self.k), (part, np.arange(self.k))), (n_parts, self.k))
        return np.asarray((np.asarray(over @ sums) / self._rows[:, None])[part])

    def _off(self, r: Floats, level: Floats) -> Floats:
        """Return a bound on the length of the projection of each column that is left."""
        classes = (level * level / self._c[:, None]).sum(axis=0)
        squares = r * r / self._d[:, None]
        if self._spectrum is not None:
            told = self._spectrum[self._spectrum > RANK]
            stiffness: float | Floats = 1.0 / told.min(initial=1.0)
        else:
            part = self._parts[0]
            stiffness = (2.0 * self._rows * self._longest)[part][:, None]
        return np.asarray(np.sqrt(classes + (squares * stiffness).sum(axis=0)))

    @cached_property
    def _rows(self) -> Floats:
        """(parts,) the sums of d: in how many rows each part stands."""
        part, _, n_parts = self._parts
        return np.maximum(np.bincount(part, self._d, minlength=n_parts), 1.0)

    @cached_property
    def _longest(self) -> int:
        """At least the longest of all shortest paths in a connected part, in steps."""
        part = self._parts[0]
        reached = np.zeros(self.k)
        reached[np.unique(part, return_index=True)[1]] = 1.0
        links = abs(self._M)
        for step in range(_STEPS):
            further = np.minimum(links.T @ (links @ reached), 1.0)
            if (further == reached).all():
                return 4 * max(step, 1)  # there and back, by way of a class each time
            reached = further
        return 2 * min(self.k, self.g)

    @cached_property
    def _spectrum(self) -> Floats | None:
        """Eigenvalues of d^(−½) S d^(−½) where few are compared; None for others."""
        if len(self._kept) == 1 or self.k > _FEW:
            return None
        root = np.sqrt(self._d)
        S = self._applied(np.eye(self.k)) / root / root[:, None]
        return np.asarray(np.linalg.eigvalsh(0.5 * (S + S.T)))

    @cached_property
    def _M(self) -> Any:
        """M, counted in half the memory of the numbers that it becomes."""
        shape = self.g, self.k
        if self._classes is None:
            return sparse.csr_array(shape, dtype=np.float64)
        found: Any = sparse.csr_array(shape, dtype=np.int32)
        for sign, whom in self._kept:
            met = np.full(len(whom), sign, dtype=np.int32)
            one = sparse.coo_array((met, (self._classes, whom)), shape=shape).tocsr()
            found = one if not found.nnz else found + one
        data = found.data.astype(np.float64)
        return sparse.csr_array((data, found.indices, found.indptr), shape=shape)

    def _squared(self) -> Any:
        """Return FᵀF."""
        diagonal = sparse.diags_array(self._sizes)
        if len(self._kept) == 1:
            return diagonal
        (_, first), (_, second) = self._kept
        once = np.ones(len(first))
        crossed = sparse.coo_array((once, (first, second)), shape=(self.k, self.k)).tocsr()
        return diagonal - crossed - crossed.T

    def _applied(self, X: Floats) -> Floats:
        return np.asarray(self._square @ X - self._M.T @ (self._M @ X / self._c[:, None]))

    def _solved(self, r: Floats, first: bool = True) -> Floats:
        """Return θ with S θ = r, roughly: what is left is solved for in the next pass.

        After the first, little but rounding may be left, which no factorisation would solve for.
        """
        lead = self._factors or (lambda r: np.asarray(r / self._d[:, None]))
        theta, reached = conjugate_gradients(self._applied, r, lead, _SHARE, _PATIENCE)
        if first and not reached and self._factors is None:
            self._factors = self._by_factors()
            theta, _ = conjugate_gradients(self._applied, r, self._factors, _SHARE, _PATIENCE)
        return theta

    def _by_factors(self) -> Callable[[Floats], Floats]:
        """Return what solves all equations, with a little added on the diagonal."""
        from scipy.sparse.linalg import splu  # noqa: PLC0415 # seldom needed

        whole = sparse.block_array(
            [[self._square, self._M.T], [self._M, sparse.diags_array(self._c)]]
        )
        ridge = _RIDGE * np.concatenate([self._d, self._c])
        factors = splu(
            (whole + sparse.diags_array(ridge)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

        def lead(r: Floats) -> Floats:
            sides = np.vstack([r, np.zeros((self.g, r.shape[1]))])
            found = np.asarray(factors.solve(sides))[: self.k]
            # what is the same for a whole part changes nothing, and would grow with rounding
            return found - self._of_parts(self._d[:, None] * found)

        return lead

    def _take_off(self, left: Floats, theta: Floats, class_theta: Floats) -> None:
        for rows in chunks(len(left)):
            for j in range(left.shape[1]):
                for sign, whom in self._kept:
                    left[rows, j] -= sign * theta[whom[rows], j]
                if self._classes is not None:
                    left[rows, j] -= class_theta[self._classes[rows], j]


def conjugate_gradients(
    matrix: Callable[[Floats], Floats],
    b: Floats,
    lead: Callable[[Floats], Floats],
    share: float,
    steps: int,
) -> tuple[Floats, bool]:
    """Return x with matrix · x = b up to a share of b, column by column, and whether so many steps
    did; ``lead`` multiplies with nearly the inverse of the matrix, which is positive semidefinite.
    """
    x, r = np.zeros_like(b), b.copy()
    z = lead(r)
    p, rz = z.copy(), np.einsum("ij,ij->j", r, z)
    enough = share**2 * rz
    for _ in range(steps):
        going = rz > enough
        if not going.any():
            return x, True
        q = matrix(p)
        curve = np.einsum("ij,ij->j", p, q)
        alpha = np.divide(rz, curve, out=np.zeros_like(rz), where=going & (curve > 0.0))
        x += alpha * p
        r -= alpha * q
        z = lead(r)
        before, rz = rz, np.einsum("ij,ij->j", r, z)
        p = z + np.divide(rz, before, out=np.zeros_like(rz), where=going & (before > 0.0)) * p
    return x, not (rz > enough).any()
