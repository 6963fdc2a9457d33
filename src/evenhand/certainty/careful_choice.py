"""Careful choice: asks until sure, without taking the features at their word.

An option's value is x·γ + u_o: what its features explain and what they do not, of deviation τ that
nobody knows (`own_scores` has the notation). There are two kinds of certainty, never mixed.

own scores      Options are compared by their own scores; the features only carry the bias, and
                the interval of a lead holds what τ, and not knowing it, may do to that.
features exact  Values are taken to be x·γ. Said only while no lack of fit was seen, after looks
                that could have seen it: 16(1 + 1/(k − r)) evaluations of every option,
                fewer where k − r is above 100.

How it goes: four evaluations of every option, then batches of 30% of what was spent, each fixed
before its evaluations; evaluators who are free while the last of a batch are out are asked more of
the same, so that its size depends on how fast they are and on no score. After each batch:
1. An option that leads all others by its own scores is chosen.
2. Scores too far from the linear fit (an F test, whenever the evaluations have doubled) end the
   linear mode for good.
3. In linear mode, an option that leads all others on the model is chosen once every option has
   had its looks and the test was made again. Until then the batch is c-optimal for the closest
   rival, a quarter of it for looks.
4. Otherwise the batch goes to the open rivals, to each what would settle it, in shares that make
   the noise of its lead least. If what τ does to a lead cannot be beaten at any budget it stops and
   says so, and likewise if what is left will not do.

What holds
----------
Let δ = 1 − confidence. Leads within a group are proved for Gaussian noise of known scale, at all
times at once, at δ/5 for all rivals (`duels`). An unknown scale is estimated by the scatter of
options about their own means, the larger of that of all and that of the group, and made up for by
Student's quantiles: approximate. Leads across groups are a posterior under exchangeable Gaussian
u_o, δ on the side that matters, with the noise at δ/5 for all looks and rivals: exactly Student's
with k − r degrees of freedom when noise is small beside τ, approximate before; counts that earlier
scores decided are treated as fixed. Features exact: pooled least squares at 3δ/5 for all looks and
rivals, with the same remark; `CertainChoice` has a proof instead. All lack-of-fit tests together
raise a false alarm with a probability of at most 3%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Counts, Floats
from evenhand.certainty.careful_looks import HOPE, MOST_GROUPS, Levels, Look
from evenhand.certainty.duels import Duels
from evenhand.certainty.extension import grown
from evenhand.certainty.own_scores import Contrasts, LinearFit, Scores
from evenhand.certainty.terms import allow_more, checked_bounds, most_evaluations
from evenhand.designs import c_optimal_design
from evenhand.errors import InputError
from evenhand.numerics.ties import TIE, first_largest
from evenhand.policies.base import Play, Policy, first_of
from evenhand.policies.confidence import Frame
from evenhand.policies.limits import is_number
from evenhand.policies.messages import (
    Certainty,
    Decision,
    Estimate,
    Finding,
    counts_in,
    dense,
    nothing,
    sparse,
)
from evenhand.policies.registry import registered
from evenhand.questions import Askable

_FIRST = 4  # evaluations of each option before anything is decided
_LOOKS = 16  # evaluations of each option that see a lack of fit, where many are to spare
_SPARE = 100.0  # options beyond the parameters, from which on fewer looks at each will do
_GROWTH = 0.3  # a batch, as a share of what was spent
_FOR_LOOKS = 0.25  # share of a batch in linear mode that goes to options that lack looks
_ALARM = 0.03  # probability of seeing a lack of fit where there is none, in all tests
_MOST_PAIRED = 1_000  # options that are compared in pairs; memory grows with the square
_MOST_WATCHED = 100  # options of which drift is an alarm
_SAMPLED = 64  # options that are looked at where there are too many to look at all

_WOULD_SETTLE = (
    "Evaluators from outside the groups, evaluations that are known to be fair, or more options "
    "would settle it."
)

UNSEEN = Finding(
    "unseen",
    "No evaluations of this kind can show a difference in value between the groups that the "
    "features miss: it looks like bias. Evaluators from outside the groups, or evaluations that "
    "are known to be fair, would show it.",
    alarm=False,
)


@registered
class CarefulChoice(Policy):
    """Asks until one option is ahead of all others by own scores; features only carry the bias.

    Where the features explain the values as far as can be seen it may stop earlier, and is then
    sure only if they do. It ends before ``at_most`` if no number of evaluations, or not those that
    are left, can settle the choice; `stopped_because` says which.

    Parameters
    ----------
    actions
        The options.
    horizon, at_most
        Most evaluations in all, under either name; 1,000 per option if neither is given.
    confidence
        Probability that what is said holds.
    tolerance
        What the choice may lose.
    noise_scale
        Standard deviation of one evaluation; estimated from the scatter if not given. If it is
        given and the scatter is larger, the scatter counts.
    bounds
        Smallest and largest score there can be; others are refused.
    deviation
        How far values are from what the features explain (τ), where that is known; 0 asserts
        that the features explain them.
    looks
        Whether options that the design would leave out are evaluated, too, before it says what
        holds if the features are exact. Without, a lack of fit can hardly be seen.
    value_bound
        As for every policy; nothing here depends on it.
    seed
        Decides which options are looked at where there are too many to look at all.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0], [1.0]], ["home", "away", "away"])
    >>> policy = eh.CarefulChoice(actions, at_most=600)
    >>> policy.ask().counts
    array([4, 4, 4])
    >>> policy.tell(eh.Feedback([4, 4, 4], [12.0, 20.0, 4.0], [37.0, 101.0, 5.0]))
    >>> policy.recommend().label, policy.recommend().certainty
    ('option 2', None)
    >>> print(policy.stopped_because)         # two options of one group, 4 apart: what is the bias?
    No number of evaluations can settle the choice between the groups: what the features do not
    explain is too large beside the leads. Evaluators from outside the groups, evaluations that are
    known to be fair, or more options would settle it.
    """

    name = "careful-choice"
    spends_all = False
    heeds_checks = True
    goes_beyond = True

    def __init__(
        self,
        actions: ActionSet,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
        bounds: tuple[float, float] | None = None,
        deviation: float | None = None,
        looks: bool = True,
        value_bound: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            actions,
            most_evaluations(actions, horizon, at_most),
            noise_scale=noise_scale,
            value_bound=value_bound,
            seed=seed,
        )
        if not is_number(confidence) or not 0.5 <= confidence < 1.0:
            raise InputError(f"confidence must lie in [0.5, 1); got {confidence!r}.")
        for label, value in (("tolerance", tolerance), ("deviation", deviation)):
            if value is not None and (not is_number(value) or value < 0.0):
                raise InputError(f"{label} must be a number ≥ 0; got {value!r}.")
        self.confidence, self.tolerance = float(confidence), float(tolerance)
        self.deviation = None if deviation is None else float(deviation)
        self.looks = bool(looks)
        self.bounds = checked_bounds(bounds)
        self._frame = Frame.of(self.actions)
        self._horizons: list[int] = []  # that of every round, since `allow` changes it
        self.own_scores_within_reach = len(
            self.actions
        ) <= _MOST_PAIRED and self.horizon >= 2 * len(self.actions)
        # attributes of more than a few kinds are no groups: one scatter for all
        cells = self._frame.cell
        self._groups = cells if len(self._frame.cells) <= MOST_GROUPS else np.zeros_like(cells)
        self._forget()

    def _levels(self) -> Levels:
        """Share the probability of failure δ out among what is said at this look.

        Looks take equal shares of the noise; in linear mode half of it is shared out by what was
        spent, since close leads are settled late: Σ spent ≤ T (1 + 1/growth) over all looks.
        """
        k, cells = len(self.actions), len(self._frame.cells)
        delta, T = 1.0 - self.confidence, self._horizons[self._round - 1]
        # two groups can mislead in one direction, one attribute in two, more in any
        directions = min(cells - 1, 2) if self.actions.n_attributes == 1 else cells - 1
        looks = 3.0 + math.log(T / min(_FIRST * k, T)) / math.log1p(_GROWTH)
        late = self._spent / (T * (1.0 + 1.0 / _GROWTH))
        return Levels(
            unexplained=delta / max(directions, 1),
            noise=0.2 * delta / (k * looks),
            duel=min(0.2 * delta / max(k - 1, 1), 0.06),
            linear=0.3 * delta / k * (1.0 / looks + late),
        )

    def _forget(self) -> None:
        k = len(self.actions)
        self._all = nothing(k)
        self._late = self._nothing  # what of earlier batches may still come
        self._duels = Duels(k) if self.own_scores_within_reach else None
        self._linear = not self.deviation
        self._refuted = math.nan
        self._tests = self._next_test = 0
        self._look: Look | None = None
        self._option = 0
        self._certainty: Certainty | None = None
        self._stopped: str | None = None
        self._forecast = math.nan

    # ------------------------------------------------------------------ what it asks

    def play(self) -> Play:
        """Ask, look, and ask again, until the choice is settled or cannot be."""
        self._forget()
        batch: Counts | None = first_of(self._first_batch(), self.remaining)
        while True:  # with nothing to ask for it waits; `allow` may find more
            feedback = yield self._nothing if batch is None else batch
            self._late = self._outstanding.copy()
            self._horizons += [self.horizon] * (self._round - len(self._horizons))
            self._all = self._all + feedback
            if self._duels is not None:
                self._duels.learn(feedback.counts, feedback.means)
            batch = self._next()

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Ask for the rest of the batch; for no other after an alarm, which rules out certainty."""
        if self._alarm is not None and not self._under_way:
            return self._nothing
        return super().propose(n, pending)

    @property
    def _under_way(self) -> bool:
        """Whether something of the batch was told, beside what came late for those before."""
        return bool((self._gathered.counts > self._late).any())

    def _first_batch(self) -> Counts:
        """Return four evaluations of each option, or of some where there are too many."""
        k = len(self.actions)
        if self.own_scores_within_reach:
            return np.full(k, min(_FIRST, self.horizon // k), dtype=np.int64)
        counts = np.zeros(k, dtype=np.int64)
        basis = self._frame.basis
        others = np.random.default_rng(self.seed).permutation(k)
        chosen = np.concatenate([basis, others[~np.isin(others, basis)]])
        n = max(_SAMPLED, 3 * len(basis))
        counts[chosen[: min(n, -(-self.horizon // _FIRST))]] = _FIRST
        return counts

    def _next(self) -> Counts | None:
        """Look at what there is; return the next batch, or None if that was the last."""
        self._stopped = self._certainty = None
        look = self._look = Look(
            self._frame,
            Scores.of(self._all, self._groups, self.stated_noise),
            self._duels,
            self._levels(),
            self._deviation,
        )
        if self._linear and look.fit is not None:
            self._test(look.fit)
        least = np.array([look.leads_of(i)[:, 1].min() for i in look.contenders])
        ahead = look.contenders[first_largest(least)]
        if float(least.max()) >= -self.tolerance:
            return self._end(ahead, "It leads all others by its own scores.", "own scores")
        self._option = look.contenders[0]
        if math.isinf(look.scores.quantile(0.5 * self.confidence)):
            return self._end(self._option, "The scores never differ: the noise is not known.")
        if self._linear and look.fit is not None:
            return self._linear_batch(look, look.fit)
        return self._own_batch(look)

    @property
    def _deviation(self) -> float | None:
        """τ where it is known, and not refuted."""
        return None if self.deviation == 0.0 and not self._linear else self.deviation

    def _end(self, option: int, because: str, certainty: Certainty | None = None) -> Counts | None:
        """Stop with an option: no batch comes next."""
        self._option, self._stopped = option, because
        self._certainty, self._forecast = certainty, 0.0
        return None

    def _test(self, fit: LinearFit) -> None:
        """See whether the fit holds, each time the evaluations have doubled."""
        if self._spent >= self._next_test and not math.isnan(fit.misfit):
            self._next_test = 2 * self._spent
            self._tests += 1
            self._believe(fit, 0.5 * _ALARM / (self._tests * (self._tests + 1)))

    def _believe(self, fit: LinearFit, failure: float) -> bool:
        self._linear = fit.misfit >= failure
        if not self._linear:
            self._refuted = fit.misfit
        return self._linear

    def _linear_batch(self, look: Look, fit: LinearFit) -> Counts | None:
        """Return what shows the leader of the linear model ahead of its closest rival."""
        best = first_largest(self._frame.values @ fit.parameters)
        directions = self._frame.values[best] - self._frame.values
        leads, sds = directions @ fit.parameters + self.tolerance, fit.deviations(directions)
        few, counts = look.scores.quantile(look.levels.linear), look.scores.counts
        self._option = best
        (open_,) = np.nonzero(leads < few * sds)
        lacking = np.where(counts > 0, np.maximum(self._looks - counts, 0), 0)
        if len(open_) == 0:
            return self._linear_end(look, fit, lacking)
        rival = int(open_[first_largest(-leads[open_] / sds[open_])])
        # in the options' own coordinates, which are the same on every machine
        apart = np.zeros(self.actions.points.shape[1])
        apart[: self.n_features] = self.actions.features[best] - self.actions.features[rival]
        design = c_optimal_design(self.actions.points, apart)
        hoped = max(leads[rival] + HOPE * sds[rival], 1e-300)
        # n evaluations of the design add n/(σ²κ) to the precision 1/sd² that there is
        precision = (few / hoped) ** 2 - 1.0 / sds[rival] ** 2
        needed = float(look.scores.scales.max()) ** 2 * design.value * precision
        self._forecast = max(needed, 1.0)
        if needed > self.remaining or self.remaining == 0:
            return self._give_up(best, rival)
        n = self._batch_size
        for_looks = lacking * (min(1.0, _FOR_LOOKS * n / max(int(lacking.sum()), 1)))
        looks = np.floor(for_looks).astype(np.int64)
        return looks + _towards(design.weights, n - int(looks.sum()), counts)

    @property
    def _looks(self) -> int:
        """Evaluations of each option that can see a lack of fit, by how many are to spare."""
        if not self.looks:
            return 0
        spare = max(int((self._all.counts > 0).sum()) - self._frame.rank, 1)
        # the test sees τ²n/σ² in units of √(2/spare): with many to spare, fewer looks see as much
        fewer = min(1.0, math.sqrt(_SPARE / spare))
        return max(_FIRST, math.ceil(_LOOKS * (1.0 + 1.0 / spare) * fewer))

    def _linear_end(self, look: Look, fit: LinearFit, lacking: Counts) -> Counts | None:
        """Have every option looked at, and say what holds if the features are exact."""
        if math.isnan(fit.misfit):
            return self._end(
                self._option,
                "It leads all others if the features explain the values, but nothing was checked: "
                f"{len(self.actions)} options leave nothing to see a lack of fit by. Add options, "
                "or leave out features.",
            )
        if 0 < lacking.sum() <= self.remaining:
            self._forecast = float(lacking.sum())
            return lacking
        if lacking.any():
            return self._end(
                self._option,
                "It leads all others if the features explain the values, but the evaluations that "
                "are left are too few to check that.",
            )
        if not self._believe(fit, 0.5 * _ALARM):
            return self._own_batch(look)
        because = "It leads all others if the features are exact."
        return self._end(self._option, because, "features exact")

    def _own_batch(self, look: Look) -> Counts | None:
        """Return what shows a contender ahead of its rivals by own scores."""
        self._option = look.contenders[0]
        if self._duels is None:
            return self._end(
                self._option,
                "The features do not explain the values, and there are too many options to "
                "compare them by their own scores. Drop some, or add features.",
            )
        needs = {i: look.settling(i, self.tolerance) for i in look.contenders}
        hopeful = [i for i in look.contenders if np.isfinite(needs[i]).all()]
        if not hopeful:
            return self._end(
                self._option,
                "No number of evaluations can settle the choice between the groups: what the "
                f"features do not explain is too large beside the leads. {_WOULD_SETTLE}",
            )
        needed = needs[hopeful[0]]
        lacking = np.maximum(needed - look.scores.counts, 0.0)
        self._forecast = float(lacking.sum())
        if self._forecast > self.remaining or self.remaining == 0:
            return self._give_up(self._option, look.hardest(hopeful[0]))
        if not lacking.any():  # it should show by now: some more of the same
            lacking = needed
        return _rounded(lacking / lacking.sum() * self._batch_size, self._batch_size)

    def _give_up(self, best: int, rival: int) -> Counts | None:
        left = f"the {self.remaining} evaluations that are left"
        if self.remaining == 0:
            left = f"{self.horizon} evaluations"
        one, other = self.actions.labels[best], self.actions.labels[rival]
        cells = self._frame.cell
        return self._end(
            best,
            f"{one} and {other} cannot be told apart with {left}. Allow more of them, or a "
            "tolerance."
            + (f" {_WOULD_SETTLE}" if cells[best] != cells[rival] and not self._linear else ""),
        )

    @property
    def _batch_size(self) -> int:
        return min(self.remaining, math.ceil(_GROWTH * self._spent))

    def allow(self, at_most: int) -> None:
        """Go on with more evaluations, so many in all.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.CarefulChoice(eh.ActionSet([[1.0], [0.5]], ["a", "b"]), at_most=10)
        >>> policy.allow(500)
        >>> policy.remaining
        500
        """
        allow_more(self, at_most)
        if self._stopped is not None:  # look again: what is left may do now
            self._horizons[-1] = self.horizon
            batch = self._next()
            self._wanted = self._nothing if batch is None else batch
            self._plan_number += 1

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked: which option is compared with which rival.

        Examples
        --------
        >>> import evenhand as eh
        >>> actions = eh.ActionSet([[1.0], [0.5]], ["a", "b"])
        >>> eh.CarefulChoice(actions, at_most=60).purpose()
        {'what': 'open', 'stage': 0}
        """
        if self._look is None:
            return {"what": "open", "stage": self._plan_number}
        names, option = self.actions.labels, self._option
        why = {"what": "compare", "stage": self._plan_number, "for": names[option]}
        return why | {"against": [names[self._look.hardest(option)]]}

    def extended(self, actions: Askable) -> CarefulChoice:
        """Return the policy with more options, and all that it was told.

        The batch under way has four evaluations more of every new option, and goes on. What was
        said of old options stands: batches told what they told, with none of the new options, and
        differences within a group hold whatever decided the counts of a batch (`duels`). Levels
        are shared out among all options from now on. What is added must not depend on the scores.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.CarefulChoice(eh.ActionSet([[1.0], [0.5]], ["a", "b"], ["Ann", "Bo"]))
        >>> three = eh.ActionSet([[1.0], [0.5], [0.7]], ["a", "b", "b"], ["Ann", "Bo", "Cy"])
        >>> policy.extended(three).ask().counts
        array([4, 4, 4])
        """
        new, move = grown(self, actions)
        if self._wanted is None or not self.spent:
            return new
        memory = self.memory()
        rounds = []
        for kept in memory["rounds"]:
            told = move.feedback(dense(kept, len(self.actions)))
            rounds.append({"spent": kept["spent"]} | sparse(told))
        wanted = move.counts(self._wanted)
        wanted[move.newcomers] += _FIRST
        gathered = sparse(move.feedback(self._gathered))
        number = new._plan_number
        late = move.counts(self._late)
        moved = {"rounds": rounds, "wanted": wanted, "gathered": gathered, "late": late}
        new.recall(memory | moved)
        have = new._gathered.counts
        lacking = first_of(np.maximum(wanted - have, 0), new.remaining)
        new._wanted = np.minimum(wanted, have) + lacking
        new._plan_number = number
        return new

    def follow(self, plan: Mapping[str, Any], goes_on: bool) -> None:
        """End the batch with what is left of it, and go on with that of a record.

        What batches tell holds whatever decided their counts, if it was not their scores.
        """
        if self._wanted is None:
            self._start()
        if self._gathered.counts.any() and self._plan_number < plan["id"] and not goes_on:
            self._end_round()
        self._plan_number = int(plan["id"])
        self._wanted = counts_in(plan, len(self.actions))

    def hold(self, held: bool) -> None:
        """Go over where a record says; then ask for more, if it stopped by what is withdrawn."""
        free = self._held and not held
        super().hold(held)
        done = self._wanted is not None and not self._wanted.any()
        if free and done and self._look is not None and self._stopped is None:
            self._receive(self._next())
            self._plan_number += 1

    def _receive(self, counts: Counts | None) -> None:
        super()._receive(None if self._held else counts)  # the record says what comes next

    def memory(self) -> dict[str, Any]:
        """Return the rounds, and what they were planned for."""
        planned = {"horizons": self._horizons.copy(), "own": self.own_scores_within_reach}
        return super().memory() | planned | {"late": self._late}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        self._horizons = [int(horizon) for horizon in memory["horizons"]]
        self.own_scores_within_reach = bool(memory["own"])
        self._forget()
        super().recall(memory)
        self._late = np.array(memory.get("late", self._nothing), dtype=np.int64)
        if self._wanted is not None and self._wanted.any():  # options that came since are asked
            self._stopped = self._certainty = None

    # ------------------------------------------------------------------ what it says

    def recommend(self) -> Decision:
        """Return the option to choose, with its leads; sure if ``certainty`` is not None.

        ``loss`` is what the option loses at most, by own scores unless the certainty is "features
        exact"; infinite while nothing can be said.
        """
        option, findings, look = self._option, self.findings(), self._look
        label = self.actions.labels[option]
        if look is None or self._alarm is not None:
            return Decision(option, label, warnings=findings)
        leads = look.leads_of(option)
        if self._certainty == "features exact":
            leads = look.linear_leads(option)
        loss = max(0.0, -float(leads[:, 1].min()))
        level = self.confidence if math.isfinite(loss) else 0.0
        certainty = self._certainty
        return Decision(
            option, label, loss, level, leads=leads, certainty=certainty, warnings=findings
        )

    def bias(self) -> Estimate:
        """Return the (first) bias; its interval allows for what the features do not explain.

        After an alarm it is everything, at level 0.
        """
        nothing_known = Estimate(np.nan, -np.inf, np.inf, self.confidence)
        look, direction = self._look, self._frame.bias
        if look is None or look.known is None or direction is None:
            return nothing_known
        contrast = Contrasts.of(look.scores, look.known, None, -direction[None, :])
        noise = look.scores.quantile(0.5 * look.levels.noise)
        value, low, high = contrast.interval(noise, 0.5 * look.levels.unexplained)[0].tolist()
        if self._alarm is not None:
            return Estimate(value, -np.inf, np.inf, 0.0)
        return Estimate(value, low, high, self.confidence)

    def values(self) -> Floats | None:
        """Return (k, 3) own scores less the bias, with intervals; each holds by itself."""
        look, k = self._look, len(self.actions)
        values = np.tile([np.nan, -np.inf, np.inf], (k, 1))
        if look is None or look.known is None or not self.own_scores_within_reach:
            return values
        contrasts = Contrasts.of(look.scores, look.known, np.eye(k), look.bias_part)
        noise = look.scores.quantile(0.5 * look.levels.noise)
        found = contrasts.interval(noise, 0.5 * look.levels.unexplained)
        if self._alarm is not None:
            found[:, 1:] = -np.inf, np.inf
        return np.where((look.scores.counts > 0)[:, None], found, values)

    def findings(self) -> tuple[Finding, ...]:
        """Return what the scores say about the assumptions, and what no scores can say.

        A lack of fit is a note: nothing said by own scores rests on the fit. With more than 100
        options so is drift: those that were lucky at first are asked again, and seem to fall.
        """
        found = [finding for finding in super().findings() if finding.assumption != "fit"]
        if len(self.actions) > _MOST_WATCHED:  # the best by luck are asked again, and fall
            found = [replace(f, alarm=f.alarm and f.assumption != "drift") for f in found]
        if not math.isnan(self._refuted) and all(one.assumption != "intercept" for one in found):
            found.append(self._lack_of_fit())
        if self._duels is None:
            found.append(self._sampled())
        found.append(UNSEEN)
        return tuple(sorted(found, key=lambda finding: not finding.alarm))

    @property
    def _alarm(self) -> Finding | None:
        return next((finding for finding in self.findings() if finding.alarm), None)

    def _lack_of_fit(self) -> Finding:
        asserted = self.deviation == 0.0
        what = "Options are compared by their own scores instead."
        if asserted:
            what = "deviation=0 asserts that they do: leave it out, or add features."
        return Finding(
            "fit",
            f"The features do not explain the scores (p = {self._refuted:.2g}). {what}",
            alarm=asserted,
            p_value=self._refuted,
        )

    def _sampled(self) -> Finding:
        return Finding(
            "looks",
            f"{len(self.actions)} options are too many, for {self.horizon} evaluations or at all, "
            "to compare each by its own scores: some are sampled, and what can be sure is what "
            "holds if the features are exact.",
            alarm=False,
        )

    def forecast(self) -> float:
        """Return how many evaluations may still be needed; NaN before anything is known."""
        return self._forecast

    @property
    def stopped_because(self) -> str | None:
        """Why the policy is done; None while it is not."""
        alarm = self._alarm
        return self._stopped if alarm is None else f"An assumption failed. {alarm}"


def _towards(shares: Floats, n: int, counts: Counts) -> Counts:
    """Return n evaluations that bring the counts nearer to these shares.

    Examples
    --------
    >>> _towards(np.array([0.5, 0.5, 0.0]), 4, np.array([4, 2, 2]))
    array([1, 3, 0])
    """
    lacking = np.maximum(shares * (int(counts.sum()) + n) - counts, 0.0)
    lacking = lacking if lacking.any() else shares
    return _rounded(lacking / lacking.sum() * n, n)


def _rounded(parts: Floats, n: int) -> Counts:
    """Round parts of n to whole numbers that add up to n; the largest remainders are rounded up.

    Examples
    --------
    >>> _rounded(np.array([1.5, 0.2, 2.3]), 4)
    array([2, 0, 2])
    """
    near = np.rint(parts)
    parts = np.where(np.abs(parts - near) <= TIE * n, near, parts)  # met from either side
    counts = np.floor(parts).astype(np.int64)
    left = parts - counts
    for _ in range(n - int(counts.sum())):
        x = first_largest(left)
        counts[x] += 1
        left[x] = -1.0
    return counts
