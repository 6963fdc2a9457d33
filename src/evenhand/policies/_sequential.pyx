"""The hot loop of policies that decide step by step: what they share.

Notation
--------
A       (k, m)  rows a_x            V = V_0 + Σ n_x a_x a_xᵀ
S       (m, m)  root, V⁻¹ = S Sᵀ    θ̂ = V⁻¹ Σ (sum of evaluations of x) a_x
f = Sᵀa,  lev = ‖f‖² = aᵀV⁻¹a,      g = S f = V⁻¹a

Potter's update, for n evaluations of a with sum s:
    S ← S − c g fᵀ,   c = n / (1 + n lev + √(1 + n lev)),      θ̂ ← θ̂ + g (s − n a·θ̂) / (1 + n lev).
It costs as much as Sherman and Morrison's and keeps V⁻¹ positive, whatever the counts.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, fmax, log, log1p, pow, sqrt
from libc.string cimport memset

from evenhand.arrays import recalled, recalled_counts
from evenhand.errors import InputError

NOISE_GRID = 32  # η = 1, ½, …, 2⁻³¹: for as many evaluations as can be counted
FLAT = 1e5  # the square root of V_0⁻¹ where nothing is known, in rows of length about one
_LEDGER_NUMBERS = ("scatter", "charge", "limit", "scale", "until", "spent")
_LEDGER_ARRAYS = ("bounds", "pulls", "counts", "sums", "room")


def lost(what):
    """Return the error for a kernel whose estimates have become no numbers, and how that shows."""
    return InputError(
        f"{what}: what was learnt has become too large for numbers. Give scores in other units, "
        "nearer to 1, or a state as policy.state() returned it."
    )


def first_misfit(const long long[::1] most, const long long[::1] counts,
                 const double[::1] sums, const double[::1] squares):
    """Return the first option whose feedback cannot be right, or -1.

    Right is: 0 or more evaluations, at most so many; none, then sums of zero; otherwise
    |sum| ≤ √(count · sum of squares) (Cauchy and Schwarz), both finite. A NaN fails everything.
    """
    cdef Py_ssize_t x
    for x in range(most.shape[0]):
        if counts[x] > most[x] or counts[x] < 0:
            return x
        if counts[x] == 0:
            if not (sums[x] == 0.0 and squares[x] == 0.0):
                return x
        elif not (squares[x] >= 0.0 and squares[x] < INFINITY and
                  fabs(sums[x]) <= sqrt(squares[x]) * sqrt(<double>counts[x]) * (1.0 + 1e-9)):
            return x
    return -1


cdef class Regression:
    """Least squares on all evaluations, updated one option at a time.

    Parameters
    ----------
    rows
        (k, m) rows a_x.
    root
        (m, m) a square root S of V_0⁻¹.
    """

    def __init__(self, rows, root):
        self.rows = np.ascontiguousarray(rows, dtype=np.float64)
        self.k, self.m = self.rows.shape[0], self.rows.shape[1]
        self.root = np.array(root, dtype=np.float64, order="C")
        # V⁻¹ only ever falls, so no entry of S exceeds this; a little more for rounding
        self.widest = 1.001 * np.linalg.norm(root)
        if self.root.shape[0] != self.m or self.root.shape[1] != self.m:
            raise ValueError("shapes do not fit")
        self.theta = np.zeros(self.m)
        self.f = np.zeros(self.m)
        self.g = np.zeros(self.m)
        self.log_det = 0.0

    @property
    def estimate(self):
        """θ̂, a copy."""
        return np.array(self.theta)

    @property
    def square_root(self):
        """S, a copy."""
        return np.array(self.root)

    def memory(self):
        """Return all that was learnt: arrays and numbers by name."""
        return {"root": np.array(self.root), "theta": np.array(self.theta), "log_det": self.log_det}

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that."""
        w = self.widest
        return {
            "root": recalled(memory, "root", (self.m, self.m), least=-w, most=w),
            "theta": recalled(memory, "theta", (self.m,)),
            "log_det": recalled(memory, "log_det", least=0.0),
        }

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        np.asarray(self.root)[:] = memory["root"]
        np.asarray(self.theta)[:] = memory["theta"]
        self.log_det = memory["log_det"]

    cdef double predicted(self, Py_ssize_t x) noexcept nogil:
        """Return a_x·θ̂."""
        cdef Py_ssize_t j
        cdef double total = 0.0
        for j in range(self.m):
            total += self.rows[x, j] * self.theta[j]
        return total

    cdef double leverage(self, const double *row) noexcept nogil:
        """Return rowᵀV⁻¹row; leaves f = Sᵀrow."""
        cdef Py_ssize_t i, j, m = self.m
        cdef double a, total = 0.0
        cdef double *f = &self.f[0]
        cdef const double *S = &self.root[0, 0]
        memset(f, 0, m * sizeof(double))
        for i in range(m):
            a = row[i]
            for j in range(m):
                f[j] += a * S[i * m + j]
        for j in range(m):
            total += f[j] * f[j]
        return total

    cdef void multiply(self, const double *row) noexcept nogil:
        """Leave g = V⁻¹row (and f = Sᵀrow)."""
        cdef Py_ssize_t i, j, m = self.m
        cdef double total
        cdef const double *S = &self.root[0, 0]
        cdef double *f = &self.f[0]
        self.leverage(row)
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += S[i * m + j] * f[j]
            self.g[i] = total

    cdef double add(self, Py_ssize_t x, double n, double total) noexcept nogil:
        """Take n evaluations of option x with the given sum; leaves g = V⁻¹a of before.

        Returns (s − n a·θ̂) / (1 + n lev): by what multiple of g the estimate moved.
        """
        cdef Py_ssize_t i, j, m = self.m
        cdef const double *a = &self.rows[x, 0]
        cdef double *S = &self.root[0, 0]
        cdef double *f = &self.f[0]
        cdef double *g = &self.g[0]
        cdef double grown, c, move, fitted = 0.0
        self.multiply(a)
        grown = 1.0
        for j in range(m):
            grown += n * f[j] * f[j]
            fitted += a[j] * self.theta[j]
        c = n / (grown + sqrt(grown))
        for i in range(m):
            for j in range(m):
                S[i * m + j] -= c * g[i] * f[j]
        move = (total - n * fitted) / grown
        for j in range(m):
            self.theta[j] += g[j] * move
        self.log_det += log(grown)
        return move


cdef class Ledger:
    """What an envelope remembers: all evaluations, the heuristic's, and what these may have cost.

    Parameters
    ----------
    k
        Number of options.
    bound
        What no option can lose more of: 2B.
    limit, scale
        The heuristic may be charged up to min(limit, scale · (log t)^{1/3} t^{2/3}); one of the
        two is infinite.

    Attributes
    ----------
    bounds
        (k,) upper bounds of the gaps, never growing.
    pulls
        (k,) evaluations that the heuristic asked for.
    counts, sums
        (k,) all evaluations and their sums.
    scatter, room
        What an unknown noise is bounded by, where ``rows`` are given: Σ w e² of the errors e of
        one-step-ahead predictions, and (J,) ½ Σ log(1 + 2η w), for η = 2⁻ʲ; see `noise_bound`.
    charge
        Σ pulls · bounds.
    until
        Time beyond which nothing is admitted; infinite if there is none.
    """

    def __init__(self, Py_ssize_t k, double bound, double limit=INFINITY, double scale=INFINITY,
                 rows=None):
        self.bound = bound
        self.bounds = np.full(k, bound)
        self.pulls = np.zeros(k, dtype=np.int64)
        self.counts = np.zeros(k, dtype=np.int64)
        self.sums = np.zeros(k)
        self._bounds, self._sums = self.bounds, self.sums
        self._pulls, self._counts = self.pulls, self.counts
        self.scatter = 0.0
        self.room = np.zeros(0 if rows is None else NOISE_GRID)
        self._room = self.room
        self.regression = None if rows is None else Regression(rows, FLAT * np.eye(rows.shape[1]))
        self.spent = 0
        self.charge = 0.0
        self.limit, self.scale = limit, scale
        self.until = INFINITY

    cdef double budget(self, double t) noexcept nogil:
        if self.scale == INFINITY:
            return self.limit
        return self.scale * pow(log(fmax(t, 2.0)), 1.0 / 3.0) * pow(t, 2.0 / 3.0)

    cdef bint admits_items(self, const Py_ssize_t *items, const long long *pulls,
                           Py_ssize_t n) noexcept nogil:
        cdef double charge = self.charge, t = <double>self.spent
        cdef Py_ssize_t i
        for i in range(n):
            charge += <double>pulls[i] * self._bounds[items[i]]
            t += <double>pulls[i]
        return t <= self.until and charge <= self.budget(t)

    cdef void record_item(self, Py_ssize_t x, long long n, double total, double squares,
                          bint charged) noexcept nogil:
        self._counts[x] += n
        self._sums[x] += total
        self.spent += n
        if self._room.shape[0] > 0:
            self.hear(x, n, total, squares)
        if charged:
            self._pulls[x] += n
            self.charge += <double>n * self._bounds[x]

    cdef void hear(self, Py_ssize_t x, long long n, double total, double squares) noexcept nogil:
        """Count how far n evaluations are off what the past predicts, and off each other.

        Given the past, √n(mean − prediction) is N(b, σ²): it counts with w = 1/(1 + n lev), so
        that what was hardly predicted hardly counts. The n − 1 deviations within count fully.
        """
        cdef double lev = self.regression.leverage(&self.regression.rows[x, 0])
        cdef double error = total - <double>n * self.regression.predicted(x)
        cdef double weight = 1.0 / (1.0 + <double>n * lev), eta = 1.0
        cdef Py_ssize_t j
        self.scatter += weight * error * error / <double>n
        self.scatter += fmax(0.0, squares - total * total / <double>n)
        for j in range(self._room.shape[0]):
            self._room[j] += 0.5 * (log1p(2.0 * eta * weight)
                                    + <double>(n - 1) * log1p(2.0 * eta))
            eta *= 0.5
        self.regression.add(x, <double>n, total)

    def memory(self):
        """Return all that it remembers: arrays and numbers by name."""
        kept = {name: getattr(self, name) for name in _LEDGER_NUMBERS}
        kept |= {name: np.array(getattr(self, name)) for name in _LEDGER_ARRAYS}
        if self.regression is not None:
            kept["regression"] = self.regression.memory()
        return kept

    def recall(self, memory):
        """Go back to what `memory` returned, perhaps long ago; an error if it cannot be that."""
        k = len(self.counts)
        kept = {
            **{
                name: recalled(memory, name, least=0.0, most=INFINITY)
                for name in ("scatter", "limit", "scale", "until")
            },
            "charge": recalled(memory, "charge"),
            "spent": recalled(memory, "spent", kind=int, least=0),
            "bounds": recalled(memory, "bounds", (k,), most=self.bound),
            "pulls": recalled_counts(memory, "pulls", k),
            "counts": recalled_counts(memory, "counts", k),
            "sums": recalled(memory, "sums", (k,)),
            "room": recalled(memory, "room", (len(self.room),), least=0.0),
        }
        if self.regression is not None:
            self.regression.recall(self.regression.checked(memory["regression"]))
        for name in _LEDGER_NUMBERS:
            setattr(self, name, kept[name])
        for name in _LEDGER_ARRAYS:
            getattr(self, name)[:] = kept[name]

    def admits(self, const long long[::1] counts):
        """Tell whether the heuristic may ask for these counts."""
        cdef double charge = self.charge, t = <double>self.spent
        cdef Py_ssize_t x
        for x in range(counts.shape[0]):
            charge += <double>counts[x] * self._bounds[x]
            t += <double>counts[x]
        return t <= self.until and charge <= self.budget(t)

    def record(self, const long long[::1] counts, const double[::1] sums,
               const double[::1] squares, bint charged):
        """Take the feedback of an allocation; of the heuristic's, if ``charged``."""
        cdef Py_ssize_t x
        for x in range(counts.shape[0]):
            if counts[x] > 0:
                self.record_item(x, counts[x], sums[x], squares[x], charged)

    def observe(self, const long long[::1] counts, const double[::1] sums,
                const double[::1] squares):
        """Take evaluations that nobody asked for: no time passes, and nobody is charged."""
        cdef Py_ssize_t x
        cdef long long spent = self.spent
        self.record(counts, sums, squares, False)
        self.spent = spent

    def tighten(self, const double[::1] bounds):
        """Lower the bounds where the given ones are lower, and the charge with them."""
        cdef Py_ssize_t x
        cdef double charge = 0.0
        for x in range(bounds.shape[0]):
            if bounds[x] < self._bounds[x]:
                self._bounds[x] = bounds[x]
            charge += <double>self._pulls[x] * self._bounds[x]
        self.charge = charge


cdef class Stepper:
    """A policy's decisions, one after the other, in compiled code.

    A kernel subclasses it and defines

    - `choose`, which fills ``items`` and ``pulls`` (n_items of them),
    - `learn`, and `expected`, the evaluation of an option that it would be least surprised by,
    - `memory` and `recall`: all that was learnt, as arrays and numbers by name, and back,
    - `checked`: a memory that comes from outside, as `recall` takes it, or an error. What `recall`
      and `choose` rely on without looking, such as shapes, is seen to there.

    What is proposed stays the same until something is learnt. Evaluations that are on their way
    are taken for observed at their expectation: the estimate stays, the precision grows.

    Parameters
    ----------
    k
        Number of options.
    most_items
        Most options that are chosen at once.
    """

    def __init__(self, Py_ssize_t k, Py_ssize_t most_items=1):
        self.k = k
        self.items = np.zeros(most_items, dtype=np.intp)
        self.pulls = np.zeros(most_items, dtype=np.int64)
        self.n_items = 0
        self.proposed = False

    cdef int choose(self, long long remaining) except -1:
        raise NotImplementedError

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        raise NotImplementedError

    cdef double expected(self, Py_ssize_t x) except? -1.0:
        raise NotImplementedError

    def memory(self):
        """Return all that was learnt: arrays and numbers by name."""
        raise NotImplementedError

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that.

        It may come from a file, where arrays have become lists, and from a stranger.
        """
        return memory

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        raise NotImplementedError

    cdef int select(self, long long remaining) except -1:
        """Choose; an error if what was chosen are no options, or more than there is."""
        cdef Py_ssize_t i
        cdef long long left = remaining
        self.choose(remaining)
        for i in range(self.n_items):
            if not (0 <= self.items[i] < self.k and 0 <= self.pulls[i] <= left):
                raise lost(
                    f"option {self.items[i]} of {self.k} was chosen {self.pulls[i]} times, with "
                    f"{left} left"
                )
            left -= self.pulls[i]
        return 0

    cdef int propose(self, long long remaining) except -1:
        if not self.proposed:
            self.select(remaining)
            self.proposed = True
        return 0

    cdef int suppose(self, Py_ssize_t x, long long n) except -1:
        """Learn from n evaluations of an option that come out as expected."""
        cdef double value = self.expected(x)
        return self.learn(x, n, <double>n * value, <double>n * value * value)

    def ask(self, long long remaining):
        """Return (k,) counts of what to evaluate next, as many as the decision stands for."""
        cdef Py_ssize_t i
        self.propose(remaining)
        counts = np.zeros(self.k, dtype=np.int64)
        for i in range(self.n_items):
            counts[self.items[i]] += self.pulls[i]
        return counts

    def ask_beside(self, long long remaining, long long most, const long long[::1] pending):
        """Return (k,) counts of what to evaluate beside what is on its way; nothing is learnt.

        Decisions are made one after the other until there are ``most`` evaluations; with 0, as
        many as the first decision stands for.
        """
        cdef Py_ssize_t i, x
        cdef long long n, left = remaining if most == 0 else min(most, remaining), before
        counts = np.zeros(self.k, dtype=np.int64)
        cdef long long[::1] wanted = counts
        memory = self.memory()
        try:
            for x in range(self.k):
                if pending[x] > 0:
                    self.suppose(x, pending[x])
            while left > 0:
                self.select(remaining)
                before = left
                for i in range(self.n_items):
                    x, n = self.items[i], min(self.pulls[i], left)
                    wanted[x] += n
                    left -= n
                if most == 0 or left == before:
                    break
                if left > 0:
                    for i in range(self.n_items):
                        if self.pulls[i] > 0:
                            self.suppose(self.items[i], self.pulls[i])
        finally:
            self.recall(memory)
            self.proposed = False
        return counts

    def tell(self, const long long[::1] counts, const double[::1] sums, const double[::1] squares):
        """Learn from evaluations; the next `ask` decides anew."""
        cdef Py_ssize_t x
        for x in range(counts.shape[0]):
            if counts[x] > 0:
                self.learn(x, counts[x], sums[x], squares[x])
        self.proposed = False


cdef class RegressionStepper(Stepper):
    """A stepper that learns by least squares on all evaluations.

    Parameters
    ----------
    rows, root
        As for `Regression`.
    most_items
        As for `Stepper`.

    Attributes
    ----------
    counts, sums
        (k,) all evaluations and their sums.
    """

    def __init__(self, rows, root, Py_ssize_t most_items=1):
        Stepper.__init__(self, len(rows), most_items)
        self.regression = Regression(rows, root)
        self.counts, self.sums = np.zeros(self.k, dtype=np.int64), np.zeros(self.k)
        self._counts, self._sums = self.counts, self.sums
        self.told = 0

    cdef void count(self, Py_ssize_t x, long long n, double total) noexcept nogil:
        self._counts[x] += n
        self._sums[x] += total
        self.told += n

    cdef double expected(self, Py_ssize_t x) except? -1.0:
        return self.regression.predicted(x)

    def memory(self):
        """Return all that was learnt: arrays and numbers by name."""
        return {
            "regression": self.regression.memory(),
            "counts": np.array(self.counts),
            "sums": np.array(self.sums),
        }

    def checked(self, memory):
        """Return what `memory` returned, perhaps long ago; an error if it cannot be that."""
        return {
            "regression": self.regression.checked(memory["regression"]),
            "counts": recalled_counts(memory, "counts", self.k),
            "sums": recalled(memory, "sums", (self.k,)),
        }

    def recall(self, memory):
        """Go back to what `memory` returned, or `checked`."""
        self.regression.recall(memory["regression"])
        self.counts[:], self.sums[:] = memory["counts"], memory["sums"]
        self.told = self.counts.sum()
        self.proposed = False
