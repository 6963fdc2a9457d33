"""The certified envelope: any policy, with a guarantee that no policy can break.

Notation
--------
N_x         evaluations of x that the policy inside asked for
D_x         upper bound of the gap of x, from intervals that hold at all times; never growing
κ           price of estimating the bias, κ_* for two groups (at least 1; see `AttributePlan`)
G_t = 3 (4 B σ² κ log t)^{1/3} t^{2/3}
χ           budget

What the policy proposes, counts n, is evaluated iff Σ (N_x + n_x) D_x ≤ χ G_T. If not, the bounds
are brought up to date; if that does not do, the policy may name something cheaper; if not, the
provable core makes its next block. The charge is retrospective: for the same N it only ever falls.
At the last proposal that was evaluated it was at most χ G_T, and on the event that the intervals
hold it bounds what the policy lost. So the regret is at most (χ + ¼) G_T plus what the core loses,
whatever the policy does; ¼ G_T = 2BT Σδ is for the event that some interval fails.

With an unknown horizon the same is done in epochs that double: at the start of each, the bounds
and the core start anew, with the failure probability for its end, and the budget is χ G_t.

An unknown noise is bounded by the errors of predictions from the past (`noise_bound`). G is then
that of the bound, and at least g_t = 2B(m + t^{1/3}), of smaller order: so much the policy may lose
before enough was predicted. If it never is, the envelope asks for it.

Whose turn it is, and with which bounds, is decided when something is told, as if nothing were on
its way: so it does not depend on who asked, when, or how much. In the policy's turn an ask gives
what the policy wants beside what is on its way, which counts as evaluated for the charge; if that
is too costly, less, or nothing until more came back. A block of the core is handed out in parts and
learnt when it is whole. What comes back belongs to it first; that depends on what was evaluated,
not on how it came out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Counts, is_number, recalled, recalled_counts
from evenhand.errors import InputError
from evenhand.policies._sequential import Ledger, Stepper
from evenhand.policies.base import Policy, checked_failure
from evenhand.policies.confidence import BoundedFit, Ellipsoid, Leads, noise_bound, noise_room
from evenhand.policies.core import Core
from evenhand.policies.frame import OptionFrame
from evenhand.policies.messages import (
    Decision,
    Estimate,
    Feedback,
    counts_of,
    dense,
    nothing,
    sparse,
)
from evenhand.policies.phase_designs import AttributePlan
from evenhand.policies.rounds import first_of, only

_REFRESH = 128  # refused again, bounds are looked at again if there are 1/128 more evaluations
_LARGEST_FAILURE = 0.1


@dataclass
class _Epoch:
    """What the envelope knows within one epoch; all of it, where the horizon is known."""

    horizon: int
    failures: tuple[float, float, float, float]  # ellipsoid, bias, evaluations, noise
    ellipsoid: Ellipsoid
    noise: float  # σ, or the least bound of it so far
    core: Core | None = None
    leads: Leads | None = None
    looked: int = -1  # evaluations when the bounds were last looked at; −1: something else since


class Certified(Policy):
    """Any policy inside an envelope that bounds what it can lose.

    The policy plays as long as what it may have lost, by intervals that hold at all times at once,
    stays within a budget; else a core with a proof plays. The regret is then at most
    (budget + ¼) G_T plus the core's, of the same order, whatever the policy does:
    G_T = 3(4Bσ²κ_* log T)^{1/3}T^{2/3}. Around `BoundaryExploration`
    it costs less than 1% up to T = 10⁶, and 17 to 25% at 10¹¹, where measured
    (docs/research/comparison.md).

    Recommendations are those of least squares on all evaluations, and say how sure they are. A
    policy may have ``frugal(ledger, leads)``, which returns other counts that the ledger admits, or
    None, where its proposal is more than the budget allows; it must not change the policy.

    Parameters
    ----------
    policy
        The policy inside, fresh. Its options, horizon, noise scale and value bound are the
        envelope's. If its noise scale is not known, a bound that holds for Gaussian noise takes
        its place. If its value bound is not, 1 takes its place: the guarantee for the regret then
        holds only if values lie within ±1. What is said of choice and bias holds in any case.
    budget
        χ > 0: how much the policy may lose, in units of G_T. Infinite: it is never stopped, and
        done when it is; only what is said of the decision is certified.
    delta
        Probability that anything `recommend` or `bias` ever says does not hold. What is asked for
        does not depend on it: the bounds behind that fail with a probability that falls with T.
    anytime
        Whether to guarantee a regret of order G_t at every time t, not only at the horizon.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["home", "away"], labels=["Ann", "Bo"])
    >>> policy = Certified(eh.policy("uniform", actions, horizon=20_000))
    >>> policy.tell(eh.Feedback([1, 1], [0.5, 0.0], [0.25, 0.0]))
    >>> policy.ask().counts                         # the policy's own second round
    array([1, 1])
    >>> decision = policy.recommend()               # two of a kind: nothing to lose
    >>> decision.label, decision.loss, decision.level
    ('Ann', 0.0, 0.95)
    """

    name = "certified"

    def __init__(
        self, policy: Policy, *, budget: float = 10.0, delta: float = 0.05, anytime: bool = False
    ) -> None:
        if not isinstance(policy, Policy):
            raise InputError(f"an envelope is put around a Policy; got {type(policy).__name__}.")
        if policy.spent > 0:
            raise InputError(
                f"an envelope is put around a fresh policy; this one was told {policy.spent} "
                "evaluations already."
            )
        if budget != math.inf and (not is_number(budget) or budget <= 0.0):
            raise InputError(f"budget must be a positive number; got {budget!r}.")
        super().__init__(
            policy.actions,
            policy.horizon,
            noise_scale=policy.noise_scale,
            value_bound=policy.value_bound,
            seed=policy.seed,
        )
        self.stated_noise, self.stated_bound = policy.stated_noise, policy.stated_bound
        self.spends_all = policy.spends_all or budget < math.inf
        self.policy = policy
        self.budget = float(budget)
        self.delta = checked_failure(delta)
        self.anytime = bool(anytime)
        self.kappa = max(AttributePlan.of(self.actions).price, 1.0)
        rows = None if self.stated_noise is not None else OptionFrame.of(self.actions).points
        self.ledger = Ledger(len(self.actions), 2.0 * self.value_bound, rows=rows)
        stepper = policy._compiled
        if stepper is not None and stepper.ledger is None:
            stepper.ledger = self.ledger  # stops a compiled loop where `propose` would
        self._fitted: tuple[int, BoundedFit] | None = None  # and for how many evaluations
        self._block: Counts | None = None  # of the core, or to hear the noise
        self._gathered = nothing(len(self.actions))  # of the block
        self._block_is_core = False
        self._frugal = False  # whether something cheaper than the policy's proposal was decided on
        self._decided: Counts | None = None  # what is next with nothing on its way
        first = self.horizon
        if self.anytime:
            first = 2 ** (16 * self.actions.points.shape[1]).bit_length()
        self._first_horizon = first
        self._epoch = self._epoch_until(first)

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Let the policy play in its turn; else hand out what was decided."""
        if self._decided is None:
            self._decide()
        assert self._decided is not None
        if n is None and pending is self._nothing and self._block is None:
            return self._decided
        on_its_way = int(pending.sum())
        room = min(self.remaining - on_its_way, self._epoch.horizon - self.spent - on_its_way)
        if room <= 0:
            return self._nothing  # an epoch ends with what is on its way
        most = room if n is None else min(n, room)
        if self._block is not None:
            return first_of(np.maximum(self._block - self._gathered.counts - pending, 0), most)
        if self._frugal:
            return first_of(np.maximum(self._decided - pending, 0), most)
        counts = first_of(self.policy._on_ask(n, pending), most)
        if counts.any() and self.ledger.admits(counts + pending):
            return counts
        return self._nothing if on_its_way else first_of(self._decided, most)

    def _decide(self) -> None:
        """Let the policy play while its charge is within the budget; else the core."""
        if self._block is not None:
            return  # it is made whole
        room = min(self.remaining, self._epoch.horizon - self.spent)
        if room <= 0:
            self._decided = self._nothing
            return
        self._decided = self.policy._on_ask(None, self._nothing)
        total = int(self._decided.sum())
        if total > room:
            self._decided = first_of(self._decided, room)
        if total > 0:
            if self._admits(self._decided):
                return
            cheaper = self._cheaper(room)
            if cheaper is not None:
                self._decided, self._frugal = cheaper, True
                return
        elif not self.spends_all:
            return
        core = self._core()
        self._block = self._scatter(room) if core is None else core.next_block(room)
        self._block_is_core = core is not None

    def learn(self, feedback: Feedback) -> None:
        """Take what came back: for the core's block first, then for the policy."""
        if self._decided is None:
            self._decide()  # by a record, without ever having been asked
        self._round += 1
        self._pass_time()
        rest: Feedback | None = feedback
        if self._block is not None:
            left = self._block - self._gathered.counts
            of_block = (feedback.counts > 0) & (feedback.counts <= left)
            others = (feedback.counts > 0) & ~of_block
            rest = only(feedback, others) if others.any() else None
            if of_block.any():
                self._learn_block(only(feedback, of_block))
        if rest is not None:
            self._record(rest, charged=True)
            if self._expected(rest):
                self.policy._on_tell(rest)
            else:
                self.policy._take_in(rest)
        if self._frugal:
            self._epoch.looked, self._frugal = -1, False
        self._begin_epochs()
        self._decide()

    def _expected(self, feedback: Feedback) -> bool:
        """Tell whether the policy inside asked for these evaluations, and not the envelope."""
        rounds = self.policy._rounds
        return rounds is None or rounds.fits(feedback)

    def take_in(self, feedback: Feedback) -> bool:
        """Take evaluations that nobody asked for, or an envelope around: nothing is charged."""
        self._pass_time()
        self.ledger.observe(feedback.counts, feedback.sums, feedback.sums_of_squares)
        self.policy._take_in(feedback)
        self._epoch.looked, self._frugal = -1, False
        self._begin_epochs()
        self._decide()
        return True

    def _pass_time(self) -> None:
        """Let the policy inside know what time it is, whoever played."""
        self.policy._elapse(self.spent - self.policy.spent)

    def _learn_block(self, part: Feedback) -> None:
        """Gather the block; when it is whole, the core learns."""
        self._record(part, charged=False)
        self.policy._take_in(part)
        self._gathered = self._gathered + part
        if (self._gathered.counts != self._block).any():
            return
        if self._block_is_core:
            core = self._epoch.core
            assert core is not None
            core.learn(self._gathered)
            self.ledger.tighten(core.bounds)
        self._epoch.looked = -1
        self._forget_block()

    def _forget_block(self) -> None:
        self._block, self._gathered = None, nothing(len(self.actions))

    def _begin_epochs(self) -> None:
        """Begin the next epoch where one is over, and with it a new core."""
        while self._epoch.horizon <= self.spent < self.horizon:
            self._epoch = self._epoch_until(2 * self._epoch.horizon)
            self._forget_block()

    def memory(self) -> dict[str, Any]:
        """Return what the ledger, the policy inside, the epoch and its core remember."""
        epoch = self._epoch
        leads = epoch.leads
        return {
            "ledger": self.ledger.memory(),
            "policy": {
                "round": self.policy._round,
                "spent": self.policy.spent,
                "memory": self.policy._memory(),
            },
            "epoch": {
                "horizon": epoch.horizon,
                "noise": epoch.noise,
                "looked": epoch.looked,
                "leads": None if leads is None else dataclasses.asdict(leads),
                "core": None if epoch.core is None else epoch.core.memory(),
            },
            "block": self._block,
            "block_is_core": self._block_is_core,
            "gathered": sparse(self._gathered),
            "frugal": self._frugal,
            "decided": self._decided,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        inside, said, k = memory["policy"], memory["epoch"], len(self.actions)
        self.policy._elapse(recalled(inside, "spent", (), int, 0, self.horizon) - self.policy.spent)
        self.policy._hook("recall")(inside["memory"])
        self.policy._round = recalled(inside, "round", (), int, 0)
        epoch = self._epoch = self._epoch_until(self._checked_horizon(said))
        epoch.noise = recalled(said, "noise", least=0.0, most=math.inf)
        epoch.looked = recalled(said, "looked", (), int, -1)
        if said["leads"] is not None:
            epoch.leads = Leads.recalled(said["leads"], k)
        if said["core"] is not None:
            epoch.core = self._new_core()
            epoch.core.recall(said["core"])
        self.ledger.recall(memory["ledger"])
        self._block, self._decided = (
            None if memory[name] is None else recalled_counts(memory, name, k)
            for name in ("block", "decided")
        )
        self._block_is_core = recalled(memory, "block_is_core", kind=bool)
        self._frugal = recalled(memory, "frugal", kind=bool)
        self._gathered = dense(memory["gathered"], k)
        self._refuse_what_contradicts()

    def _checked_horizon(self, said: Mapping[str, Any]) -> int:
        """Return when the epoch of a state ends: the first, twice that, twice that again, ..."""
        horizon: int = recalled(said, "horizon", (), int, 1)
        ratio, rest = divmod(horizon, self._first_horizon)
        if rest or ratio & (ratio - 1) or (ratio > 1 and not self.anytime):
            raise ValueError(f"horizon is {horizon}, where no epoch ends")
        return horizon

    def _refuse_what_contradicts(self) -> None:
        """Raise unless what is asked for now can be paid, and is the block of what plays it."""
        core, block, decided = self._epoch.core, self._block, self._decided
        if block is None:
            if decided is not None and int(decided.sum()) > self.remaining:
                raise ValueError(f"decided are more evaluations than the {self.remaining} left")
            return
        told = self._gathered.counts
        if (told > block).any() or (told == block).all():
            raise ValueError(f"{int(told.sum())} of a block of {int(block.sum())} are told")
        if self._block_is_core and (core is None or not core.awaits(block)):
            raise ValueError("the block is not that of the core")

    def recommend(self) -> Decision:
        """Return the option of largest estimated value, and how sure that is.

        Before all options can be compared, the recommendation of the policy inside; its leads are
        said where they are known. After an alarm of the checks nothing is said to be sure.
        """
        fit, failure, noise = self._reading()
        option = None if fit.identified else self.policy.recommend().option
        leads = fit.leads(failure, noise, option)
        return leads.decision(self, 1.0 - self.delta, 2.0 * self.stated_bound)

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval that holds at all times at once.

        After an alarm of the checks it is everything, at level 0.
        """
        fit, failure, noise = self._reading()
        return fit.stated_bias(self, failure, noise, 1.0 - self.delta)

    @property
    def _asks_whole(self) -> bool:
        """Tell whether a block of the core is asked for, or a whole round of the policy's."""
        return self._block is not None or self.policy._asks_whole

    @property
    def turn(self) -> Literal["policy", "frugal", "core"]:
        """Whose the next turn is: the policy's, something cheaper that it names, or the core's."""
        if self._decided is None:
            self._decide()
        if self._block is not None:
            return "core"
        return "frugal" if self._frugal else "policy"

    @property
    def _compiled(self) -> Stepper | None:
        """The compiled steps of the policy inside, which this envelope's ledger stops in time.

        None while something else is asked for, and where the steps are not under this ledger:
        those of another envelope, or steps that the policy has changed since.
        """
        if self._block is not None or self._frugal or self.limits.outstanding.any():
            return None
        stepper = self.policy._compiled
        return stepper if stepper is not None and stepper.ledger is self.ledger else None

    def _catch_up(self, rounds: int, evaluations: int) -> None:
        """Take note, and let the policy inside do so."""
        super()._catch_up(rounds, evaluations)
        self.policy._catch_up(rounds, evaluations)
        self._begin_epochs()
        self._decide()

    def guarantee(self, time: int, noise_scale: float) -> float:
        """Return G_t, the unit of the budget."""
        relative = 4.0 * (noise_scale / self.value_bound) ** 2 * self.kappa
        t = float(max(time, 2))
        return self.value_bound * 3.0 * float(np.cbrt(relative * math.log(t)) * np.cbrt(t) ** 2)

    def _epoch_until(self, horizon: int) -> _Epoch:
        """Return a new epoch; bounds, and with them the charge, start anew."""
        failures = self._failures(horizon)
        noise = math.inf if self.stated_noise is None else self.noise_scale
        epoch = _Epoch(horizon, failures, Ellipsoid(self.actions, horizon), noise)
        self.ledger.bounds.fill(2.0 * self.value_bound)
        self.ledger.tighten(self.ledger.bounds)
        self._set_budget(epoch, self.spent, 0.0)
        if self.anytime:
            self.ledger.until = float(horizon)
        return epoch

    def _failures(self, horizon: int) -> tuple[float, float, float, float]:
        """Return the probabilities that ellipsoid, bias, evaluations, noise fail: 2BTΣδ = ¼G_T."""
        # With unknown noise G_T is not known either, and levels must be fixed in advance: Σδ is
        # T^{−2/3}, so that 2BTΣδ = 2BT^{1/3}.
        if self.stated_noise is not None:
            total = self.guarantee(horizon, self.noise_scale) / (8.0 * self.value_bound * horizon)
            shares = (0.5, 0.25, 0.25, 0.0)
        else:
            total = float(np.cbrt(float(horizon)) ** -2)
            shares = (0.4, 0.2, 0.2, 0.2)
        ellipsoid, bias, evaluations, noise = (
            min(share * total, _LARGEST_FAILURE) for share in shares
        )
        return ellipsoid, bias, evaluations, noise

    def _admits(self, counts: Counts) -> bool:
        """Tell whether the policy may have so many in all; looks at the bounds where it must."""
        if self.ledger.admits(counts):
            return True
        if self.stated_noise is None:
            self._hear(int(counts.sum()), float(counts @ self.ledger.bounds))
            if self.ledger.admits(counts):
                return True
        epoch, spent = self._epoch, self.ledger.spent
        if epoch.looked >= 0 and _REFRESH * (spent - epoch.looked) <= epoch.looked:
            return False
        epoch.looked = spent
        fit = epoch.ellipsoid.fit(self.ledger.counts, self.ledger.sums)
        epoch.leads = fit.leads(epoch.failures[0], epoch.noise)
        self.ledger.tighten(epoch.leads.gaps)
        return self.ledger.admits(counts)

    def _hear(self, evaluations: int = 0, charge: float = 0.0) -> None:
        """Bound the noise by what was evaluated so far, and set the budget for so much more."""
        epoch, ledger = self._epoch, self.ledger
        if ledger.room[0] >= noise_room(epoch.failures[3], epoch.horizon):
            bound = noise_bound(ledger.scatter, ledger.room, epoch.failures[3], epoch.horizon)
            epoch.noise = min(epoch.noise, bound)
        self._set_budget(epoch, ledger.spent + evaluations, ledger.charge + charge)

    def _set_budget(self, epoch: _Epoch, time: int, charge: float) -> None:
        """Set what the policy may be charged: χ G_T, or χ G_t where the horizon is not known."""
        # An unknown noise is listened to again when the charge has doubled, since its bound falls.
        if self.anytime and self.stated_noise is not None:
            unit = self.guarantee(8, epoch.noise) / (4.0 * math.log(8.0) ** (1.0 / 3.0))
            self.ledger.scale = self.budget * unit
            return
        t = time if self.anytime else epoch.horizon
        if self.stated_noise is not None:
            self.ledger.limit = self.budget * self.guarantee(t, epoch.noise)
            return
        start = self.actions.points.shape[1] + float(np.cbrt(float(t)))
        least = most = self.budget * 2.0 * self.value_bound * start
        if math.isfinite(epoch.noise):
            most = max(least, self.budget * self.guarantee(t, epoch.noise))
        self.ledger.limit = min(most, max(least, 2.0 * charge))

    def _cheaper(self, most: int) -> Counts | None:
        """Return something cheaper that the policy would have, if it can name it."""
        leads, frugal = self._epoch.leads, getattr(self.policy, "frugal", None)
        counts = None if leads is None or frugal is None else frugal(self.ledger, leads)
        if counts is None:
            return None
        counts = first_of(counts, most)
        return counts if counts.any() and self.ledger.admits(counts) else None

    def _core(self) -> Core | None:
        """Return the core of this epoch, with what is known now; None while the noise is not."""
        epoch = self._epoch
        if self.stated_noise is None:
            self._hear()
            if math.isinf(epoch.noise):
                return None
        if epoch.core is None:
            epoch.core = self._new_core()
        epoch.core.hear(epoch.noise)
        epoch.core.tighten(self.ledger.bounds)
        return epoch.core

    def _new_core(self) -> Core:
        return Core(
            self.actions,
            value_bound=self.value_bound,
            noise_scale=self._epoch.noise,
            failures=self._epoch.failures[1:3],
        )

    def _scatter(self, room: int) -> Counts:
        """Return a batch that shows how noisy evaluations are, of what the policy would choose."""
        # Where nothing scatters however many there are, it grows.
        epoch = self._epoch
        lacking = noise_room(epoch.failures[3], epoch.horizon) - float(self.ledger.room[0])
        n = math.ceil(lacking / (0.5 * math.log(3.0))) + 1  # all of a batch but one count fully
        if lacking <= 0.0:
            n = 1 + self.ledger.spent // _REFRESH
        return counts_of(len(self.actions), {self.policy.recommend().option: min(n, room)})

    def _record(self, feedback: Feedback, *, charged: bool) -> None:
        self.ledger.record(feedback.counts, feedback.sums, feedback.sums_of_squares, charged)

    def _reading(self) -> tuple[BoundedFit, float, float]:
        """Return least squares, failure probability and noise scale for what users are told."""
        # They depend on what was told only, so that looking changes nothing. So an unknown noise is
        # bounded by the scatter of now, without the least bound of earlier looks: that is 0.6%
        # wider on average over a run, less at its end. With an unknown horizon, the time falls in
        # the j-th of doubling epochs, which has δ/(j(j+1)).
        horizon, failure = self.horizon, self.delta
        if self.anytime:
            horizon, j = self._first_horizon, 1
            while horizon < self.ledger.spent:
                horizon, j = 2 * horizon, j + 1
            failure /= j * (j + 1)
        evaluations = int(self.ledger.counts.sum())
        if self._fitted is None or self._fitted[0] != evaluations:
            ellipsoid = Ellipsoid(self.actions, horizon)
            self._fitted = evaluations, ellipsoid.fit(self.ledger.counts, self.ledger.sums)
        fit = self._fitted[1]
        if self.stated_noise is not None:
            return fit, failure, self.noise_scale
        scatter, room = self.ledger.scatter, self.ledger.room
        return fit, 0.8 * failure, noise_bound(scatter, room, 0.2 * failure, horizon)
