# distutils: extra_compile_args = IN_ORDER
"""The loop of a simulation: what is asked is drawn, what is drawn is told, what is lost is counted.

It runs a policy's `Stepper` without going through Python, and does what ask, evaluate and tell do,
to the bit: the items of an allocation are drawn, learnt and paid in the order of the options.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

from evenhand.research.environments._streams cimport Streams
from evenhand.policies._sequential cimport Stepper

cdef enum:
    LISTEN = 1 << 16  # rounds after which to look whether the user wants to stop


cdef class Regret:
    """What a run has lost, and its curve: the regret at given times.

    Inside an allocation the regret grows evenly. That is its mean if the evaluations of an
    allocation come in random order: the policy does not say which come first.

    Parameters
    ----------
    gaps
        (k,) what an evaluation of each option loses.
    stops
        When the regret is wanted, in increasing order.

    Attributes
    ----------
    spent, lost
        Evaluations so far, and the regret of them.
    """

    cdef const double[::1] gaps
    cdef const int64_t[::1] stops
    cdef double[::1] at_stops
    cdef Py_ssize_t passed
    cdef readonly int64_t spent
    cdef readonly double lost

    def __init__(self, gaps, stops):
        self.gaps = np.ascontiguousarray(gaps, dtype=np.float64)
        self.stops = np.ascontiguousarray(stops, dtype=np.int64)
        self.at_stops = np.empty(self.stops.shape[0])
        self.passed = 0
        self.spent, self.lost = 0, 0.0

    cdef void pay_items(self, const Py_ssize_t *items, const int64_t *pulls,
                        Py_ssize_t n) noexcept nogil:
        """Count an allocation, given by its options in increasing order."""
        cdef int64_t total = 0
        cdef double cost = 0.0
        cdef Py_ssize_t i
        for i in range(n):
            total += pulls[i]
            cost += <double>pulls[i] * self.gaps[items[i]]
        while self.passed < self.stops.shape[0] and self.stops[self.passed] <= self.spent + total:
            self.at_stops[self.passed] = self.lost + cost * (
                <double>(self.stops[self.passed] - self.spent) / <double>total
            )
            self.passed += 1
        self.spent += total
        self.lost += cost

    def pay(self, const int64_t[::1] counts):
        """Count an allocation, given by how often each option is evaluated."""
        items = np.flatnonzero(counts)
        pulls = np.asarray(counts)[items]
        cdef const Py_ssize_t[::1] options = items
        cdef const int64_t[::1] numbers = pulls
        if counts.shape[0] != self.gaps.shape[0]:
            raise ValueError("shapes do not fit")
        if options.shape[0] > 0:
            self.pay_items(&options[0], &numbers[0], options.shape[0])

    def curve(self):
        """Return the regret at the stops; after the last evaluation nothing more is lost."""
        regret = np.array(self.at_stops)
        regret[self.passed :] = self.lost
        return regret


def advance(Stepper stepper, Streams streams, Regret regret, int64_t horizon):
    """Run a stepper until the horizon is spent, and return how many rounds that took.

    It ends earlier where the stepper asks for nothing, or for what its ledger does not admit. Then
    the proposal stands and is for ask to answer.
    """
    cdef int64_t rounds = 0, total
    cdef double value, squares
    cdef Py_ssize_t i, n, most = stepper.items.shape[0]
    cdef Py_ssize_t[::1] options = np.empty(most, dtype=np.intp)
    cdef int64_t[::1] pulls = np.empty(most, dtype=np.int64)
    if most == 0 or stepper.k != regret.gaps.shape[0] or stepper.k != streams.means.shape[0]:
        raise ValueError("shapes do not fit")
    while regret.spent < horizon:
        stepper.propose(horizon - regret.spent)
        n = in_order(stepper, &options[0], &pulls[0])
        total = 0
        for i in range(n):
            if pulls[i] < 0 or options[i] < 0 or options[i] >= stepper.k:
                raise RuntimeError(f"a stepper asked for {pulls[i]} of option {options[i]}")
            total += pulls[i]
        if total > horizon - regret.spent:
            raise RuntimeError(
                f"a stepper asked for {total} evaluations with {horizon - regret.spent} left"
            )
        if total == 0:
            break
        if stepper.ledger is not None and not stepper.ledger.admits_items(
            &options[0], <const long long *>&pulls[0], n
        ):
            break
        for i in range(n):
            streams.draw(options[i], pulls[i], &value, &squares)
            stepper.learn(options[i], pulls[i], value, squares)
            if stepper.ledger is not None:
                stepper.ledger.record_item(options[i], pulls[i], value, squares, True)
        stepper.proposed = False
        regret.pay_items(&options[0], &pulls[0], n)
        rounds += 1
        if rounds % LISTEN == 0:
            PyErr_CheckSignals()
    return rounds


cdef Py_ssize_t in_order(Stepper stepper, Py_ssize_t *options, int64_t *pulls) noexcept:
    """Copy what is proposed in increasing order of options, each once; return how many."""
    cdef Py_ssize_t i, j, k, x, n = 0
    for i in range(stepper.n_items):
        if stepper.pulls[i] == 0:
            continue
        x = stepper.items[i]
        j = n
        while j > 0 and options[j - 1] > x:
            j -= 1
        if j > 0 and options[j - 1] == x:
            pulls[j - 1] += stepper.pulls[i]
            continue
        for k in range(n, j, -1):
            options[k], pulls[k] = options[k - 1], pulls[k - 1]
        options[j], pulls[j] = x, stepper.pulls[i]
        n += 1
    return n
