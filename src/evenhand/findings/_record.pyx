# distutils: extra_compile_args = IN_ORDER
"""What was told, per option and in order of arrival; compiled, since every tell goes through it.

Notation
--------
An entry is what is told about one option at once: b evaluations with mean y and sum of squared
deviations S from it. With n evaluations of mean M and scatter R before,

    M ← M + (y − M) b/(n + b),      R ← R + S + (y − M)² nb/(n + b).

Entries are kept in a record of bounded length: all of them, or blocks spread evenly over the run.
Checks of order need entries side by side, and from the whole run. So whole blocks of neighbours are
kept; when the record is full, every other block is dropped, and from then on every other is kept.
"""

import numpy as np

from libc.math cimport INFINITY, fabs

from evenhand.arrays import LARGEST, recalled, recalled_counts

CAPACITY = 2048
BLOCK = 64
cdef double SAME = 1e-12  # share by which sums of equal scores may differ
cdef Py_ssize_t _CAPACITY = 2048, _BLOCK = 64
cdef long long _LONGEST = 1 << 40  # stride of a run of 2⁵⁷ entries
_NUMBERS = ("evaluations", "entries", "alike", "different", "stride")
_ARRAYS = ("counts", "means", "scatters")


cdef class Record:
    """Evaluations of k options, added up, and entries in order of arrival.

    Parameters
    ----------
    k
        Number of options.

    Attributes
    ----------
    counts, means, scatters
        (k,) numbers of evaluations, their means and sums of squared deviations.
    evaluations, entries
        How many there were.
    alike, different
        Repeated evaluations that gave the same score as those before of their option, or another.
    stride
        One of so many blocks is in the record.
    """

    cdef readonly object counts, means, scatters
    cdef public long long evaluations, entries, alike, different, stride
    cdef long long[::1] _counts
    cdef double[::1] _means, _scatters
    cdef double[:, ::1] _rows
    cdef Py_ssize_t _size

    def __init__(self, Py_ssize_t k):
        self.counts = np.zeros(k, dtype=np.int64)
        self.means = np.zeros(k)
        self.scatters = np.zeros(k)
        self._counts, self._means, self._scatters = self.counts, self.means, self.scatters
        self._rows = np.empty((_BLOCK, 6))
        self._size = 0
        self.evaluations = self.entries = self.alike = self.different = 0
        self.stride = 1

    @property
    def rows(self):
        """(n, 6) the entries kept: place in the run, option, b, y, S, evaluations before it."""
        return np.array(self._rows[: self._size])

    def take(self, const long long[::1] counts, const double[::1] sums,
             const double[::1] squares):
        """Take evaluations that came in together, added up per option: (k,) each."""
        cdef Py_ssize_t x
        if not counts.shape[0] == sums.shape[0] == squares.shape[0] == self._counts.shape[0]:
            raise ValueError("shapes do not fit")
        for x in range(counts.shape[0]):
            if counts[x] > 0:
                self.take_entry(x, counts[x], sums[x], squares[x])

    cdef void take_entry(self, Py_ssize_t x, long long b, double total, double squares):
        cdef long long n = self._counts[x]
        cdef double y = total / <double>b, S = squares - total * y, off = y - self._means[x]
        if b == 1 or S <= SAME * squares:
            S = 0.0
        if n > 0 and fabs(off) <= SAME * fabs(y):
            off = 0.0
        if S == 0.0 and (n == 0 or off == 0.0):
            self.alike += b - (n == 0)
        else:
            self.different += b - (n == 0)
        if (self.entries // _BLOCK) % self.stride == 0:
            self.keep(x, b, y, S)
        self.entries += 1
        self.evaluations += b
        self._counts[x] = n + b
        if n == 0:
            self._means[x], self._scatters[x] = y, S
        else:
            self._means[x] += off * (<double>b / <double>(n + b))
            self._scatters[x] += S + off * off * (<double>n * <double>b / <double>(n + b))

    cdef void keep(self, Py_ssize_t x, long long b, double y, double S):
        if self._size == _CAPACITY:
            while self._size == _CAPACITY:
                self.thin()
            if (self.entries // _BLOCK) % self.stride != 0:
                return
        elif self._size == self._rows.shape[0]:
            longer = np.empty((2 * self._size, 6))
            longer[: self._size] = self._rows
            self._rows = longer
        cdef double[::1] row = self._rows[self._size]
        row[0], row[1], row[2] = <double>self.entries, <double>x, <double>b
        row[3], row[4], row[5] = y, S, <double>self.evaluations
        self._size += 1

    cdef void thin(self):
        """Keep every other block."""
        self.stride *= 2
        rows = np.asarray(self._rows)[: self._size]
        kept = rows[(rows[:, 0] // _BLOCK) % self.stride == 0]
        self._size = kept.shape[0]
        rows[: self._size] = kept

    def memory(self):
        """Return all that it remembers: arrays and numbers by name."""
        kept = {name: getattr(self, name) for name in _NUMBERS}
        kept |= {name: getattr(self, name).copy() for name in _ARRAYS}
        return kept | {"rows": self.rows}

    def recall(self, memory):
        """Go back to what `memory` returned, perhaps long ago; an error if it cannot be that."""
        k = len(self.counts)
        kept = {name: recalled(memory, name, kind=int, least=0) for name in _NUMBERS}
        kept |= {
            "stride": recalled(memory, "stride", kind=int, least=1, most=_LONGEST),
            "counts": recalled_counts(memory, "counts", k),
            "means": recalled(memory, "means", (k,)),
            "scatters": recalled(memory, "scatters", (k,), least=0.0, most=INFINITY),
        }
        rows = recalled(memory, "rows", (None, 6), least=-INFINITY, most=INFINITY)
        if not _are_entries(rows, k, kept["entries"], kept["stride"]):
            raise ValueError("rows are no entries of a run")
        for name in _NUMBERS:
            setattr(self, name, kept[name])
        for name in _ARRAYS:
            getattr(self, name)[:] = kept[name]
        whole = np.empty((min(_CAPACITY, max(_BLOCK, 1 << len(rows).bit_length())), 6))
        whole[: len(rows)] = rows
        self._rows, self._size = whole, len(rows)


def _are_entries(rows, k, entries, stride):
    """Tell whether rows are entries of a run of so many: of blocks that are kept, in order."""
    place, option, n, _, scatter, before = rows.T
    whole = rows[:, [0, 1, 2, 5]]
    return (
        len(rows) <= _CAPACITY
        and (np.abs(rows[:, [0, 1, 2, 3, 5]]) <= LARGEST).all()  # scatters may be infinite
        and (whole == np.floor(whole)).all()
        and (np.diff(place, prepend=-1.0) > 0.0).all()
        and (place < entries).all()
        and (place // _BLOCK % stride == 0.0).all()
        and ((option >= 0.0) & (option < k) & (n >= 1.0) & (scatter >= 0.0) & (before >= 0.0)).all()
    )
