"""Certain choice: evaluations until the best option is known with the confidence asked for.

Notation
--------
i           the leader of a stage;  x ≠ i its rivals
H_x         'x is the best, and better than the leader by more than the tolerance'
E_x         evidence of one stage against H_x (`e_process`);  W_x its product over all stages
δ           1 − confidence

Stages are frozen before their evaluations (`stages`). If x is the best option, W_x is a
supermartingale that starts at 1, whoever leads when, and reaches 1/δ at any time with probability
at most δ. A wrong answer needs that of one x, the best: so there is no union over rivals, and no
factor for the dimension. docs/certainty.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.beside import Beside
from evenhand.certainty.biases import named_biases
from evenhand.certainty.dense import DenseFit
from evenhand.certainty.e_process import Reading, first_beyond, interval, planned_interval
from evenhand.certainty.extension import Move, grown
from evenhand.certainty.model_choice import model_of
from evenhand.certainty.models import Fit, Model, Spread
from evenhand.certainty.proportions import spread_out_by
from evenhand.certainty.stages import LONGEST, Expected, Stage, reading, with_looks
from evenhand.certainty.terms import allow_more, checked_bounds, most_evaluations
from evenhand.errors import InputError, NotIdentifiableError
from evenhand.geometry import bias_optimal_design
from evenhand.numerics.ties import first_largest
from evenhand.policies.base import Policy, is_number, nth
from evenhand.policies.confidence import Frame
from evenhand.policies.messages import (
    Certainty,
    Decision,
    Estimate,
    Feedback,
    dense,
    nothing,
    sparse,
)
from evenhand.policies.registry import registered
from evenhand.questions import Askable, Column

Target = Literal["best", "bias"]

_ALL, _PANEL = (2.0, 3.0, 6), (1.0, 1.5, 2)  # see `CertainChoice._pace`
_GROWTH, _LAST = 0.2, 0.3  # a stage as a share of what was spent; at most, to end with it
_EXTRA = 1.0  # evidence that is planned for beyond what is needed
_CAUTION = 1.0  # a lead is planned for as if it were at least so many spreads
_HOPE, _BEYOND = 3.0, 1.5  # told as a tie: at a lead so many spreads up, it takes so much more
_LEAST_LOOKS, _MOST_LOOKED_AT = 4, 64  # evaluations of each of so many options check the model
_MORE_KINDS, _MORE_REPEATS = 8, 8  # questions beyond the rank, and repeats, that check a panel
_FALLBACK = 0.1  # share of δ for what the first stage says of the bias
_AS_GOOD = 1e-6  # share by which a variance may be larger and count as the same
_NAMED = 12  # rivals that a purpose names
_CYCLE, _SHORT_CYCLE = 1_000, 100  # evaluations until the fixed order for the bias is repeated


class Bound(TypedDict, total=False):
    """What other policies are told, and this one has no use for."""

    value_bound: float


@registered
class CertainChoice(Policy):
    """Asks until it is sure which option is best, if values are x·γ exactly.

    It asks in stages. What was learnt decides which option leads, which questions are asked next
    and how many; then these are frozen, so that what comes of them is evidence of known strength,
    and the evidence of all stages is multiplied. With probability at least ``confidence`` it is
    never wrong: neither in the end nor in any loss it states before. Single evaluations are looked
    at as they come, in any order.

    Noise is taken to be Gaussian and as loud for all options; with ``bounds``, scores may have any
    distribution between them. How long an answer takes must not depend on what it is. What was
    not asked for may be observed, and helps to plan; it is no evidence, since the proof rests on
    the choice of the questions.

    Parameters
    ----------
    actions
        The options: two groups, or any attributes. Or the questions that can be asked about them:
        of a panel, of comparisons.
    horizon, at_most
        Two names for the number of evaluations at which to give up; 1,000 per option if neither is
        given.
    confidence
        Probability of never being wrong.
    tolerance
        How much may be lost, in units of value: it stops when no option is better by more. With
        target "bias", the size of a bias that matters.
    noise_scale
        Standard deviation σ of an evaluation; None if it is not known, which costs about a tenth
        more.
    bounds
        (lowest, highest) score there is. Nothing is then taken for granted of the noise, but
        evaluations are looked at only when a stage is whole.
    looks
        Share of the evaluations that goes to options which would otherwise be left out, so that a
        wrong model can show; in the end every option (of more than 64, a sample) has had four
        evaluations. 0: none.
    target
        "best": which option is best. "bias": whether the (first) bias is larger than ``tolerance``;
        one design that is optimal for the bias, until its interval lies on one side or the
        evaluations are spent.
    deviation
        Standard deviation of what features do not explain of values, where options stand for
        themselves and features are known (`Questions.panel` with features); None if it is not
        known. Features then help to guess who leads by how much, and so what to ask. What is
        certain does not rest on them.
    seed
        Where the randomness of ``looks`` starts.
    budget
        How much money may be spent, at the questions' prices; as much as it takes if not given.
    bound
        ``value_bound``, as for every policy: not used.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.2, 0.0]], ["home", "away", "away"])
    >>> problem = eh.BiasedLinearBandit(actions, gamma=[0.2, 0.9], omega=-0.5)
    >>> policy = eh.CertainChoice(actions, at_most=10_000)
    >>> evaluations = eh.environments.SimulatedEvaluations(problem, seed=1)
    >>> while not policy.finished:
    ...     policy.tell(evaluations.evaluate(policy.ask()))
    >>> decision = policy.recommend()
    >>> decision.option == problem.best, decision.loss, decision.level, decision.certainty
    (True, 0.0, 0.95, 'features exact')
    >>> policy.bias().covers(-0.5)
    True
    """

    name = "certain-choice"
    plays_questions = True
    heeds_limits = True
    spends_all = False
    heeds_checks = True

    def __init__(
        self,
        actions: Askable,
        horizon: int | None = None,
        *,
        at_most: int | None = None,
        confidence: float = 0.95,
        tolerance: float = 0.0,
        noise_scale: float | None = None,
        bounds: Sequence[float] | None = None,
        looks: float = 0.0,
        target: Target = "best",
        deviation: float | None = None,
        seed: int = 0,
        budget: float | None = None,
        **bound: Unpack[Bound],
    ) -> None:
        limit = most_evaluations(actions, horizon, at_most)
        if not is_number(confidence) or not 0.0 < confidence < 1.0:
            raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        if not is_number(tolerance) or tolerance < 0.0:
            raise InputError(
                f"tolerance must be a number ≥ 0, in units of value; got {tolerance!r}."
            )
        if not is_number(looks) or not 0.0 <= looks <= 0.5:
            raise InputError(f"looks must be a share from 0 to 0.5; got {looks!r}.")
        if target not in ("best", "bias"):
            raise InputError(f"target must be 'best' or 'bias'; got {target!r}.")
        self.bounds = checked_bounds(bounds)
        if self.bounds is not None:
            if noise_scale is not None:
                raise InputError(
                    "bounds say how loud noise can be, so noise_scale must not be given too; got "
                    f"{noise_scale!r}."
                )
            noise_scale = 0.5 * (self.bounds[1] - self.bounds[0])
        super().__init__(
            actions,
            limit,
            noise_scale=1.0 if noise_scale is None else noise_scale,
            seed=seed,
            budget=budget,
            **bound,
        )
        self.noise_known = noise_scale is not None
        self.confidence, self.delta = float(confidence), 1.0 - float(confidence)
        self.tolerance, self.looks = float(tolerance), float(looks)
        if deviation is not None and (not is_number(deviation) or deviation < 0.0):
            raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
        self.deviation = deviation
        self.target: Target = target
        self.model: Model = model_of(self.actions)
        if target == "bias" and Frame.of(self.actions).bias is None:
            raise NotIdentifiableError(
                "the (first) bias cannot be estimated from these options, by any number of "
                "evaluations; target='bias' needs an attribute that is no combination of others."
            )
        self._noise = self.noise_scale if self.noise_known else None
        self._slack = self.tolerance / (self._noise or 1.0)  # in the units of the evidence
        self._enough = math.log(1.0 / self.delta)
        k, q = len(self.options), len(self.questions)
        self._told, self._of_stage = nothing(q), nothing(q)
        self._history: list[tuple[Stage, Feedback]] = []
        self._logged: Feedback | None = None  # what was observed
        self._aside: list[tuple[int, Feedback]] = []  # of no stage; from which one on it was known
        self._grew = False  # whether options or questions were added
        self._wealth: Floats = np.zeros(k)  # log W without a tolerance
        self._gains: dict[int, Floats] = {}  # by leader: what the tolerance adds in its own stages
        self._rejected: NDArray[np.bool_] = np.zeros(k, dtype=np.bool_)  # cannot be the best
        self._cleared: dict[int, NDArray[np.bool_]] = {}  # by leader: better by no more than that
        self._shares: Floats | None = None  # of the last plan
        self._answer: int | None = None
        self._hopeless: tuple[int, ...] = ()  # options that cannot be told apart with what is left
        self._stuck: tuple[int, ...] = ()  # options that nobody who is there can compare
        self._expected = math.nan  # evaluations to come, when the stage was planned
        self._began = 0  # the number of the plan with which the stage began
        self._said: dict[object, Any] = {}  # worked out once for every stage
        self._ready: tuple[Stage, tuple[Floats, Floats]] | None = None
        self._others: tuple[Stage, Beside] | None = None
        self._planned: tuple[Stage, Fit] | None = None
        self._fitted: tuple[Feedback, Stage, Fit] | None = None
        self._stage = self._first()

    # ------------------------------------------------------------------ what is asked

    def propose(self, n: int | None, pending: Counts) -> Counts:
        """Hand out the stage, beside what is on its way; with the answer, what looks lack."""
        if self._hopeless or self._stuck:
            return self._nothing
        room = self.room(pending)
        if self._answer is not None:
            lacking = np.maximum(self._lacking() - pending, 0)
            if self._beyond and not lacking.any():
                lacking = np.maximum(self._lacking(pending), self._lacking())
            order = np.repeat(np.arange(len(lacking)), lacking)
            most = room if n is None else min(n, room)
        else:
            order = self._stage.next_ones(self._of_stage.counts + pending)
            most = min(room, max(1, self.spent // 128) if n is None else n)
        counts = self._counted(self.allowed(order, pending)[:most])
        if self._beyond and self._answer is None and len(self._stage.order):
            counts += self._more(most - int(counts.sum()), pending + counts)
        return counts

    def _counted(self, order: Indices) -> Counts:
        return np.bincount(order, minlength=len(self.questions)).astype(np.int64)

    def _more(self, n: int, pending: Counts) -> Counts:
        """Return (q,) n evaluations at most beyond the stage, for those who would have to wait.

        Which they are depends on the stage, on what is on its way and on who is there; on no score
        of the stage. So they are evidence as the others are.
        """
        have, more = self._of_stage.counts + pending, self._nothing
        if n > 0 and self._available is None:
            more = self._counted(self.allowed(self._stage.beyond(have, n), pending))
            n, have, pending = n - int(more.sum()), have + more, pending + more
        if n > 0:
            order = self._beside().next_ones(have, self.left(pending), n)
            more = more + self._counted(self.allowed(order, pending))
        return more

    def _beside(self) -> Beside:
        """Return what may be asked beside the stage, worked out once."""
        if self._others is None or self._others[0] is not self._stage:
            self._others = self._stage, Beside(self.questions, self._stage.order)
        return self._others[1]

    def learn(self, feedback: Feedback) -> None:
        """Look at what came back; plan the next stage when this one is whole."""
        self._round += 1
        self._told = self._told + feedback
        if self._answer is not None:
            self._set_aside(feedback)
            return  # for the checks only
        self._of_stage = self._of_stage + feedback
        whole = self._whole and not self._held
        if self._stage.leader >= 0 and (whole or self.bounds is None):
            self._look(whole)
        if whole and self._answer is None:
            self._close()
        if self.target == "bias" and (whole or self.bounds is None):
            self._look_at_bias()

    @property
    def _whole(self) -> bool:
        """Whether the stage lacks nothing: what cannot be asked any more is not waited for.

        Nor is what others have made up for meanwhile: those whom it asks may not come at all.
        """
        told, wanted = self._of_stage.counts, self._stage.wanted(len(self.questions))
        lacking = told < wanted
        if lacking.any():
            lacking &= self.left(self._nothing) > 0
        if not lacking.any():
            return True
        more = (told > wanted).any() and told.sum() >= wanted.sum()
        return self.rules > 1 and bool(more) and self._made_up_for

    @property
    def _made_up_for(self) -> bool:
        """Whether the stage tells at least as much as it was planned to, by counts alone."""
        planned, fit = self._planned_fit(), self._fit_of_stage()
        leads = [self._of_leads(one) for one in (planned, fit)]
        enough = leads[1] <= leads[0] * (1.0 + _AS_GOOD)
        return bool(enough.all()) and fit.freedom >= planned.freedom

    def _of_leads(self, fit: Fit) -> Floats:
        """Return the variances of the leads that a stage is for; of a start, if they are known."""
        stage = self._stage
        if stage.leader >= 0:
            return fit.leads(stage.leader, stage.rivals).variances
        known = np.isfinite(fit.leads(0, np.arange(len(self.options))).variances)
        return np.where(known, 1.0, np.inf)

    def _planned_fit(self) -> Fit:
        """Return what the stage was planned to tell, worked out once: its counts alone matter."""
        if self._planned is None or self._planned[0] is not self._stage:
            counts = self._stage.wanted(len(self.questions))
            none = np.zeros(len(counts))
            fit = self.model.fit(Feedback(counts, none, none), self._noise)
            self._planned = self._stage, fit
        return self._planned[1]

    def _fit_of_stage(self) -> Fit:
        """Return least squares on the stage alone, worked out once."""
        told, stage = self._of_stage, self._stage
        if self._fitted is None or self._fitted[0] is not told or self._fitted[1] is not stage:
            self._fitted = told, stage, self.model.fit(told, self._noise, stage.before)
        return self._fitted[2]

    def take_in(self, feedback: Feedback) -> bool:
        """Plan by evaluations that were not asked for; they are no evidence, now or later.

        Of the past, the proof asks nothing: given all that is known when a stage is frozen, its
        evaluations have noise of their own, whoever chose what was scored before. So logged scores
        may say who leads, which questions are asked and which effects are expected, as the first
        stage does, which they can replace; where the noise is not known, their residuals may say
        what it is expected to be, since the evidence of a stage has its own. The stage under way
        stays as it is. What must not be among them is an evaluation of a stage, or one that knew
        of its noise.
        """
        self._logged = feedback if self._logged is None else self._logged + feedback
        self._said = {}
        self._set_aside(feedback)
        opens = self._stage.leader < 0 and not self._of_stage.counts.any() and not self._held
        if opens and self.target == "best" and self._answer is None:
            self._close()
        return True

    def _set_aside(self, feedback: Feedback) -> None:
        """Keep what is of no stage; those after the present one are planned by it, too."""
        at = len(self._history) + 1
        if self._aside and self._aside[-1][0] == at:
            feedback = self._aside.pop()[1] + feedback
        self._aside.append((at, feedback))

    @property
    def _pool(self) -> Feedback:
        """All that was told or observed."""
        return self._told if self._logged is None else self._told + self._logged

    def _known_by(self, stage: int) -> Feedback:
        """Return all that was known when a stage was planned, by its number."""
        known = nothing(len(self.questions))
        for _, told in self._history[:stage]:
            known = known + told
        for at, told in self._aside:
            known = known + told if at <= stage else known
        return known

    def attendance_changed(self) -> None:
        """Close the stage with what came of it, and plan anew with who is there."""
        if self.target == "best" and self._answer is None:
            self._hopeless = ()
            if not self._held and not self._answered_by_all():
                self._close()

    def _answered_by_all(self) -> bool:
        """See whether all that came of the stage, though it may lack something, is enough."""
        if self._stage.leader >= 0 and self._of_stage.counts.any():
            self._look(whole=True)
        return self._answer is not None

    def _close(self) -> None:
        """Put the stage away; what comes late counts for the next."""
        self._put_away()
        if self.target == "best":
            self._plan()

    def _put_away(self) -> None:
        done, self._of_stage = self._of_stage, nothing(len(self.questions))
        if done.counts.any() and (self.target == "best" or self.bounds is not None):
            self._history.append((self._stage, done))
        self._aside = [(min(at, len(self._history)), told) for at, told in self._aside]

    def _lacking(self, out: Counts | None = None) -> Counts:
        """Return (q,) evaluations that are lacking for the model to have been checked.

        What they say comes after the answer, and so changes neither it nor its proof. Of options
        that are their own questions, a few of each, or of some where there are many. Of others,
        enough different ones for what the model leaves over, and enough repeats for the noise:
        those that are ``out``, (q,), need not be waited for where others do as well.
        """
        k = len(self.questions)
        if not self.looks or self.target == "bias" or not self._told.counts.any():
            return self._nothing
        if self.actions is self.questions:
            return self._lacking_kinds(self._nothing if out is None else out)
        wanted = np.full(k, _LEAST_LOOKS)
        if k > _MOST_LOOKED_AT:
            others = np.random.default_rng(self.seed).permutation(k)[_MOST_LOOKED_AT:]
            wanted[others] = 0
        return np.maximum(wanted - self._pool.counts, 0)

    def _lacking_kinds(self, out: Counts) -> Counts:
        told, wanted = self._pool.counts, self._nothing.copy()
        places = np.random.default_rng(self.seed).permutation(len(told))
        places = places[((self.left(self._nothing) > 0) & (out == 0))[places]]
        new, again = places[told[places] == 0], places[told[places] > 0]
        again = again[np.argsort(told[again], kind="stable")]
        n, kinds = int(told.sum()), int(np.count_nonzero(told))
        wanted[new[: max(0, self.model.rank + _MORE_KINDS - kinds)]] = 1
        wanted[again[: max(0, _MORE_REPEATS - (n - kinds))]] = 1
        return wanted

    def _look(self, whole: bool) -> None:
        """Reject rivals against whom there is enough evidence; a whole stage counts for good."""
        stage, prior = self._stage, self._prepared()
        assert stage.expected is not None
        rivals, leader, expected = stage.rivals, stage.leader, stage.expected
        fit = self._fit_of_stage()
        said = reading(fit, fit.leads(leader, rivals), expected.spread, expected.unit)
        evidence = said.evidence(prior, -self._slack)
        cleared = self._cleared_by(leader)
        cleared[rivals[self._wealth_of(leader)[rivals] + evidence >= self._enough]] = True
        if len(self._open(leader)) == 0:
            self._answer = leader
        if whole:
            plain = said.evidence(prior) if self._slack else evidence
            self._wealth[rivals] += plain
            if self._slack:
                gains = self._gains.setdefault(leader, np.zeros(len(self.options)))
                gains[rivals] += evidence - plain
                self._rejected |= self._wealth >= self._enough

    def _prepared(self) -> tuple[Floats, Floats]:
        """Return the priors of the stage's leads, worked out once."""
        stage = self._stage
        if self._ready is None or self._ready[0] is not stage:
            assert stage.expected is not None
            self._ready = stage, stage.expected.prior(-self._slack)
        return self._ready[1]

    def _wealth_of(self, leader: int) -> Floats:
        """Return log W with the tolerance in the stages that this option led."""
        gains = self._gains.get(leader)
        return self._wealth if gains is None else self._wealth + gains

    def _cleared_by(self, leader: int) -> NDArray[np.bool_]:
        """Return who is not better than this leader; without a tolerance, it is who is not best."""
        if not self._slack:
            return self._rejected
        return self._cleared.setdefault(leader, np.zeros(len(self.options), dtype=np.bool_))

    def _first(self) -> Stage:
        """Return the first stage: the start of a search, or all there is to ask about the bias."""
        if self.target == "best":
            if len(self._open(0)) == 0:
                self._answer = 0  # one option, or all of them alike
            return Stage.opening(self._opening())
        length = min(self.horizon, _CYCLE if self.bounds is None else _SHORT_CYCLE)
        weights = bias_optimal_design(self.actions).weights
        frame = Frame.of(self.actions)
        assert frame.bias is not None
        order = spread_out_by(frame.points, frame.bias[None, :], weights, length)
        return Stage.opening(order)

    def _opening(self) -> Indices:
        """Return the questions that a search starts with: as far as possible, all leads."""
        rank, (pace, _, spare) = self.model.rank, self._pace
        length = math.ceil(pace * rank)
        if not self.noise_known:
            length = max(length, rank + spare)
        left = self.left(self._nothing)
        return self.allowed(self.model.start(length, left), self._nothing)

    @property
    def _pace(self) -> tuple[float, float, int]:
        """Evaluations per dimension of a start, and of any later stage at least.

        And how many a start has beyond the dimensions, at least, to hear an unknown noise. Where
        options are their own questions all dimensions matter to all leads. Of a panel, most are
        those of options that are soon out of the question.
        """
        return _ALL if self.actions is not self.questions else _PANEL

    def _leading(self, fit: Fit) -> int:
        """Return the option that is best by an estimate, of those that may be."""
        lead_of_first = fit.leads(0, np.arange(len(self.options))).estimates
        scores = float(np.abs(self._told.means).max(initial=0.0))
        return first_largest(np.where(self._rejected, -np.inf, -lead_of_first), scores)

    def _open(self, leader: int) -> Indices:
        """Return the rivals that are not rejected, nor the same as the leader in all features."""
        shut = self._same(leader) | self._rejected | self._cleared_by(leader)
        return np.flatnonzero(~shut)

    def _same(self, option: int) -> NDArray[np.bool_]:
        """Tell which options have the same features, and so the same value."""
        X = self.options.own_features
        if X is None:
            return np.asarray(np.arange(len(self.options)) == option)
        return np.asarray(np.abs(X[option] - X).max(axis=1) <= 1e-12 * np.abs(X).max())

    def _plan(self) -> None:
        """Freeze the next stage by all that is known, or see that there is no use in one."""
        model, self._said, self._stuck = self.model, {}, ()
        self._plan_number += 1
        self._began = self._plan_number
        fit = self._helped(model.fit(self._pool, self._noise, self._stage.before))
        leader = self._leading(fit)
        rivals = self._open(leader)
        if len(rivals) == 0:
            self._answer = leader
            return
        known = np.isfinite(fit.leads(leader, rivals).variances)
        heard = fit.freedom >= 1.0  # not if a start was cut short: then there is no unit yet
        if not (heard and known.all()):
            start = self._opening()
            if self._grew or self._logged is not None:
                start = self._rest_of(start, leader, rivals, heard)
            more = (self._reached(start, leader, rivals) & ~known).any()
            if more or (len(start) and not heard):
                self._stage = Stage.opening(start, fit)
                return
        self._stage = self._next_stage(fit, leader, rivals[known])

    def _rest_of(self, start: Indices, leader: int, rivals: Indices, heard: bool) -> Indices:
        """Return what of a start is lacking: questions about unknown options, if these will do."""
        counts, about = self._pool.counts, self.questions.about
        rest = start[nth(start) > counts[start]]
        unknown = np.setdiff1d(np.append(rivals, leader), about[counts > 0])
        few = rest[np.isin(about[rest], unknown).any(axis=1)]
        by_few, by_all = (self._reached(one, leader, rivals) for one in (few, start))
        if heard and (by_few | ~by_all).all():
            return few
        return rest if len(rest) else start

    def _helped(self, fit: Fit, among: Indices | None = None) -> Fit:
        """Return a fit for guesses, which features may help where options stand for themselves."""
        X = self.options.known_features
        if X is None or not self.options.stand_alone or not isinstance(fit, DenseFit):
            return fit
        deviation = self.deviation
        if deviation is not None:
            deviation = max(deviation, 1e-6 * fit.unit) / (self._noise or 1.0)
        return fit.helped(X, deviation, among)

    def _reached(self, order: Indices, leader: int, rivals: Indices) -> NDArray[np.bool_]:
        """Tell which leads are identified once these questions are answered, too."""
        more = np.bincount(order, minlength=len(self.questions))
        none = np.zeros(len(more))
        answered = Feedback(self._pool.counts + more, none, none)
        return np.isfinite(self.model.fit(answered, 1.0).leads(leader, rivals).variances)

    def _next_stage(self, fit: Fit, leader: int, rivals: Indices) -> Stage:
        """Return a stage that tests a leader against rivals whose leads are known somehow."""
        expected = fit.leads(leader, rivals)
        spread, leads = np.sqrt(expected.variances), (expected.estimates + self._slack) / fit.unit
        need = np.sqrt(self._enough - self._wealth_of(leader)[rivals] + _EXTRA)
        weights = need / np.maximum(leads, _CAUTION * spread)
        prices, shortest = self.questions.prices, self._pace[1] * self.model.rank
        plan = self.model.plan(
            leader,
            rivals,
            weights,
            math.ceil(min(max(shortest, _LAST * self._paid / prices.min()), LONGEST)),
            self._pool.counts,
            self.left(self._nothing),
            self._shares,
        )
        able = np.isfinite(plan.variances)
        if not able.any():
            self._stuck = (leader, *self._open(leader).tolist())
            return Stage.opening(plan.order[:0], fit)
        self._shares, price = plan.shares, float(prices[plan.order].mean())
        money = 2.0 * float((weights**2 * plan.variances)[able].max())
        self._expected = money / price
        share = max(_GROWTH * self._paid, min(_LAST * self._paid, money))
        length = math.ceil(max(shortest, share / price))
        times = 1 if self.questions.limited else math.ceil(length / LONGEST)
        order = self.allowed(plan.order[: math.ceil(length / times)], self._nothing)
        if self.looks:
            left = self.left(self._nothing)
            order = with_looks(order, self.looks, self._pool.counts, left, self.rng())
            order = self.allowed(order, self._nothing)
        hope = need / (np.maximum(leads, 0.0) + _HOPE * spread)
        least = 2.0 * hope**2 * plan.variances
        most = _BEYOND * min(self.money - self._paid, price * self.remaining)
        beyond = rivals[able & (least > most)]
        if len(beyond):
            self._hopeless = (leader, *beyond.tolist())
        expectation = Expected.by(fit, leader, rivals[able])
        return Stage(leader, rivals[able], order, fit, times, expectation)

    # ------------------------------------------------------------------ what is said

    def recommend(self) -> Decision:
        """Return the option that leads, what it loses at most, and its leads.

        What is said changes when a stage is whole, and at the end. The loss holds with all losses
        ever stated, at all times at once; the interval of each lead at all times, each by itself.
        """
        decision: Decision = self._once("decision", self._decide)
        warnings = self.findings()
        if any(finding.alarm for finding in warnings):
            decision = replace(decision, loss=np.inf, level=0.0, withstands=0.0, certainty=None)
        return replace(decision, warnings=warnings) if warnings else decision

    def _once(self, what: str, make: Callable[[], Any]) -> Any:
        """Return what is said of the stages so far, worked out when it is first asked for."""
        now = self.spent if self._over or self.target == "bias" else None
        key = len(self._history), self._answer, now
        if self._said.get("of") != key:
            self._said = {"of": key}
        if what not in self._said:
            self._said[what] = make()
        return self._said[what]

    @property
    def _over(self) -> bool:
        done = self._answer is not None or bool(self._stuck)
        return done or self.remaining == 0 or self._broke

    @property
    def _broke(self) -> bool:
        """Whether the budget pays for nothing of what is still to be asked."""
        if math.isinf(self.money):
            return False
        wanted = self._stage.wanted(len(self.questions)) > self._of_stage.counts
        cheapest = self.questions.prices.min(where=wanted, initial=math.inf)
        return bool((self.money - self._paid) * (1.0 + 1e-12) < cheapest < math.inf)

    def _fit(self) -> Fit:
        """Return least squares on the whole stages and what was observed, or all in the end."""
        before, told = self._stage.before, self._pool
        if self.target == "best" and not self._over:
            news = any(at > len(self._history) for at, _ in self._aside)
            if before is not None and not news:
                return before
            told = self._known_by(len(self._history) + 1)
        fit: Fit = self._once("fit", lambda: self.model.fit(told, self._noise, before))
        return fit

    def _decide(self) -> Decision:
        fit, option = self._fit(), self._answer
        if option is None:
            option = self._leading(fit)
        loss = np.inf if self.target == "bias" else self._loss(option)
        leads = self._leads(fit, option)
        return Decision(
            option,
            self.options.labels[option],
            loss=loss,
            level=self.confidence,
            withstands=self._withstands(option, leads) if loss <= self.tolerance else 0.0,
            leads=leads,
            certainty=self._grounds if np.isfinite(loss) else None,
        )

    def _leads(self, fit: Fit, option: int) -> Floats:
        """Return (k, 3) the leads of an option, with intervals from its own stages."""
        everybody = np.arange(len(self.options))
        low, high = self._interval(lambda fit: fit.leads(option, everybody), option)
        middle = np.clip(fit.leads(option, everybody).estimates, low, high)
        leads = np.column_stack([middle, low, high]) * (self._noise or 1.0)
        leads[self._same(option)] = 0.0
        return leads

    def _withstands(self, option: int, leads: Floats) -> float:
        """Return how large a favour of everybody for a whole group may be, for the choice to stand.

        No score can tell such a favour from value. It moves leads over options of other groups.
        """
        groups = self.options.groups
        if self.actions is not self.questions or groups is None:
            return 0.0
        others = np.array([group != groups[option] for group in groups])
        return max(0.0, float(leads[others, 1].min())) if others.any() else 0.0

    @property
    def _grounds(self) -> Certainty:
        """What certainty rests on: options that stand for themselves need no model of value."""
        return "own scores" if self.options.stand_alone else "features exact"

    def _loss(self, option: int) -> float:
        """Return the least loss for which the evidence against all rivals was ever enough.

        That is ε with W_x ≥ 1/δ for all x, where ε is the tolerance in stages that the option led
        and 0 in others; see docs/certainty.md for why that needs no union over leaders.
        """
        rivals = self._open(option)
        floor = self.tolerance if self._slack and self._cleared_by(option).any() else 0.0
        if len(rivals) == 0:
            return floor
        readings, own = [], []
        prior: list[tuple[Floats, Floats]] = []
        for stage, before, fit in self._stages():
            expected = before.leads(stage.leader, rivals)
            said = reading(fit, fit.leads(stage.leader, rivals), expected, before.unit)
            said.information[~np.isin(rivals, stage.rivals)] = 0.0
            readings.append(said)
            prior.append(Expected(*expected, before.unit, before.freedom).prior(-self._slack))
            own.append(np.full(len(rivals), stage.leader == option))
        if not np.any(own):
            return np.inf
        rows, led = Reading.joined(readings), np.concatenate(own)
        effects = np.concatenate([p[0] for p in prior]), np.concatenate([p[1] for p in prior])
        if not (rows.information.reshape(-1, len(rivals)) * np.array(own)).any(axis=0).all():
            return np.inf

        def beyond(loss: Floats) -> Floats:
            null = np.where(led, -np.tile(loss, len(readings)), 0.0)
            evidence = rows.evidence(effects, null).reshape(-1, len(rivals))
            return np.asarray(evidence.cumsum(axis=0).max(axis=0) - self._enough)

        start = np.zeros(len(rivals))
        sizes = rows.spreads.reshape(-1, len(rivals))
        step = sizes.min(axis=0, where=np.array(own), initial=np.inf)  # of leads over the rivals
        found = first_beyond(beyond, start, rows.units.max() * step)
        return max(floor, float(found.max()) * (self._noise or 1.0))

    def _stages(self) -> list[tuple[Stage, Fit, Fit]]:
        """Return the stages that tested something, with the fits before them and of them alone."""
        stages = self._history
        if self._over and self.bounds is None and self._of_stage.counts.any():
            stages = [*stages, (self._stage, self._of_stage)]
        return [
            (stage, stage.before, self.model.fit(told, self._noise, stage.before))
            for stage, told in stages
            if stage.leader >= 0 and stage.before is not None
        ]

    def _interval(
        self,
        what: Callable[[Fit], Spread],
        option: int | None = None,
        failure: float | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the ends of intervals; for leads, by the option's own stages only."""
        readings = [
            reading(fit, what(fit), what(before), before.unit)
            for stage, before, fit in self._stages()
            if option is None or stage.leader == option
        ]
        if not readings:
            n = len(what(self._fit()).estimates)
            return np.full(n, -np.inf), np.full(n, np.inf)
        return interval(readings, self.delta if failure is None else failure)[1:]

    def bias(self) -> Estimate:
        """Return the (first) bias, with an interval that holds at all times."""
        if not self.questions.n_attributes:
            return Estimate(np.nan, -np.inf, np.inf, self.confidence)
        row = np.eye(1, self.questions.n_attributes)
        if self.target == "bias":
            value, low, high = self._planned_bias()
        else:
            low, high = (float(end[0]) for end in self._once("bias", lambda: self._ends(row)))
            value = float(np.clip(self._fit().attributes(row).estimates[0], low, high))
        if not np.isfinite([value, low, high]).all():
            return Estimate(np.nan, -np.inf, np.inf, self.confidence)
        scale = self._noise or 1.0
        return Estimate(value * scale, low * scale, high * scale, self.confidence)

    def biases(self) -> list[tuple[Column, Estimate]]:
        """Return what attributes add to evaluations, with intervals that hold at all times.

        Each by itself. Leniencies are how far an evaluator is from the mean of all of them.

        Examples
        --------
        >>> import evenhand as eh
        >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"},
        ...     capacity=None)
        >>> problem = eh.BiasedLinearBandit(panel, gamma=[1.0, 0.0], omega=[0.5, 2.0])
        >>> policy = eh.CertainChoice(panel, at_most=2_000)
        >>> evaluations = eh.SimulatedEvaluations(problem, seed=1)
        >>> while not policy.finished:
        ...     policy.tell(evaluations.evaluate(policy.ask()))
        >>> for (column, estimate), truth in zip(policy.biases(), [0.5, -1.0, 1.0]):
        ...     print(column.kind, column.name, estimate.covers(truth))
        bias own group True
        leniency P True
        leniency Q True
        """
        if self.target == "bias":
            return [(self.questions.columns[0], self.bias())]
        columns, rows = named_biases(self.questions)
        if not columns:
            return []
        low, high = self._once("biases", lambda: self._ends(rows))
        middle = _clipped(self._fit().attributes(rows).estimates, low, high)
        said = np.column_stack([middle, low, high]) * (self._noise or 1.0)
        return [
            (column, Estimate(value, low, high, self.confidence))
            for column, (value, low, high) in zip(columns, said.tolist(), strict=True)
        ]

    def _ends(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the ends of intervals of attributes, (n, p), in the units of the evidence.

        Stages that settle leads within a group say nothing of a bias. The first stage mostly does,
        so a tenth of δ is for an interval from it alone; where both are there, both hold.
        """
        if not self._history:
            return np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        fit = self.model.fit(self._history[0][1], self._noise)
        said = fit.attributes(rows)
        first = np.empty((len(rows), 2))
        for i, (estimate, variance) in enumerate(zip(*said, strict=True)):
            J = 1.0 / variance if variance > 0.0 else 0.0
            plan = J if self.noise_known else 0.1 * J  # few degrees of freedom need a wide mixture
            failure = _FALLBACK * self.delta
            first[i] = planned_interval(estimate, J, fit.scatter, fit.freedom, plan, failure)
        later = self._interval(
            lambda fit: fit.attributes(rows), failure=(1.0 - _FALLBACK) * self.delta
        )
        low, high = np.maximum(first[:, 0], later[0]), np.minimum(first[:, 1], later[1])
        apart = low > high
        return np.where(apart, later[0], low), np.where(apart, later[1], high)

    def _planned_bias(self) -> tuple[float, float, float]:
        """Return the bias with its interval by one fixed design, in the units of the evidence.

        Where scores are only known to be bounded, each round of the order is estimated from alone,
        with coefficients that later evaluations do not change.
        """
        row = np.eye(1, self.questions.n_attributes)
        rounds = [told for _, told in self._history] if self.bounds else [self._told]
        fits = [self.model.fit(told, self._noise) for told in rounds]
        said = [fit.attributes(row) for fit in fits]
        J = sum(1.0 / float(one.variances[0]) for one in said)
        if J == 0.0:
            return math.nan, -math.inf, math.inf
        value = sum(float(one.estimates[0] / one.variances[0]) for one in said) / J
        plan = self.horizon / bias_optimal_design(self.actions).value
        ends = planned_interval(value, J, fits[0].scatter, fits[0].freedom, plan, self.delta)
        return value, *ends

    def _look_at_bias(self) -> None:
        """Stop when the bias is certainly larger than the tolerance, or certainly not."""
        _, low, high = self._planned_bias()
        if low > self._slack or high < -self._slack or -self._slack <= low <= high <= self._slack:
            self._answer = self._leading(self.model.fit(self._pool, self._noise))

    def values(self) -> Floats | None:
        """Return (k, 3) values with intervals that hold at all times, each by itself."""
        low, high = self._once("values", lambda: self._interval(lambda fit: fit.values()))
        middle = _clipped(self._fit().values().estimates, low, high)
        return np.column_stack([middle, low, high]) * (self._noise or 1.0)

    def forecast(self) -> float:
        """Return how many evaluations are still expected, by the plan of the present stage."""
        if self._hopeless or self._stuck or self.remaining == 0 or self._broke:
            return 0.0
        if self._answer is not None:
            return float(min(self._lacking().sum(), self.remaining))
        if self.target == "bias":
            return float(self.remaining)
        left = self._expected - float(self._of_stage.counts.sum())
        return min(max(left, 1.0), float(self.remaining))

    @property
    def stopped_because(self) -> str | None:
        """Why the policy is done, in plain words; None while it is not."""
        names = self.options.labels
        level = f"{100 * self.confidence:g}%"
        if self._answer is not None and self.remaining and self._lacking().any():
            return None
        if self._answer is not None and any(finding.alarm for finding in self.findings()):
            return "it would be certain if the model were right, but an alarm says that it is not."
        if self._answer is not None and self.target == "bias":
            side = "larger" if not self._within() else "no larger"
            return f"the bias is {side} than {self.tolerance:g}, with {level} confidence."
        if self._answer is not None:
            more = f" by more than {self.tolerance:g}" if self._slack else ""
            return (
                f"no option is better than {names[self._answer]!r}{more}, with {level} confidence"
                + ("." if self.options.stand_alone else " and if the features tell values exactly.")
            )
        if self._hopeless:
            leader, *others = (repr(names[x]) for x in self._hopeless)
            shown = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
            rest = f"{self.remaining} evaluations"
            if math.isfinite(self.money):
                rest += f" and the {self.money - self._paid:g} of the budget"
            return (
                f"{leader} and {shown} cannot be told apart with the {rest} that are left. Call "
                "allow() with more, or state a tolerance: how much may be lost."
            )
        if self._stuck:
            return self._why_stuck()
        if self._broke:
            return f"the budget of {self.money:g} is spent: {self._paid:g} of it."
        if self.remaining == 0:
            return f"all {self.horizon} evaluations are spent; allow() goes on with more."
        return None

    def _why_stuck(self) -> str:
        leader, *others = (repr(self.options.labels[x]) for x in self._stuck)
        shown = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
        if self._absent:
            gone = ", ".join(repr(self.questions.evaluators[e]) for e in sorted(self._absent))
            return f"{leader} and {shown} cannot be compared while {gone} cannot be asked."
        return (
            f"{leader} and {shown} cannot be compared any more: the questions that would do it "
            "were asked as often as they may be. Allow more of them, or ask further evaluators."
        )

    def _within(self) -> bool:
        _, low, high = self._planned_bias()
        return -self._slack <= low and high <= self._slack

    def allow(self, at_most: int) -> None:
        """Go on with more evaluations, so many in all.

        Examples
        --------
        >>> import evenhand as eh
        >>> policy = eh.CertainChoice(eh.ActionSet([[1.0], [0.5]], ["a", "b"]), at_most=10)
        >>> policy.allow(500)
        >>> policy.remaining
        500
        """
        allow_more(self, at_most)
        self._plan_number += 1
        self._hopeless = ()
        self._said = {}

    # ------------------------------------------------------------------ what is frozen

    @property
    def plan_id(self) -> int | None:
        """The number of the plan in force."""
        return self._plan_number

    def frozen(self) -> dict[str, Any]:
        """Return all of the stage that was frozen before its evaluations, by name.

        Returns
        -------
        dict
            ``stage``: how many stages with evaluations were before it. ``leader``: the option that
            is tested, −1 if none is. ``rivals``: against which. ``order``, ``times``: the questions
            in the order in which they are asked, and how often that is repeated. ``expected``: the
            ``leads`` over the rivals (over σ, where that is known), their ``variances`` per unit of
            noise variance, and the noise (``unit``, 1 where it is known) with its degrees of
            ``freedom``: all that the priors depend on. ``answer``: the option that was certain when
            the plan was made, or None; ``hopeless``, ``stuck``: options that could not be told
            apart, or not compared, so that nothing is asked. ``began``: the number of the plan with
            which the stage began. Options and questions by index.
        """
        stage = self._stage
        return {
            "stage": len(self._history),
            "leader": stage.leader,
            "rivals": stage.rivals,
            "order": stage.order,
            "times": stage.times,
            "expected": None if stage.expected is None else stage.expected._asdict(),
            "answer": None if self._of_stage.counts.any() else self._answer,
            "hopeless": list(self._hopeless),
            "stuck": list(self._stuck),
            "began": self._began,
        }

    def freeze(self, plan: Mapping[str, Any]) -> None:
        """Put a stage in force that `frozen` returned."""
        own, stage = self._stage, self._stage_of(plan)
        if plan["stage"] != len(self._history) or not 0 <= int(plan["began"]) <= plan["id"]:
            raise ValueError(f"stage {plan['stage']} of leader {stage.leader}")
        before, answer = own.before, plan["answer"]
        same = own.leader == stage.leader and np.array_equal(own.order, stage.order)
        if not (same and np.array_equal(own.rivals, stage.rivals)) and stage.leader >= 0:
            known = self._known_by(len(self._history))
            before = self._helped(self.model.fit(known, self._noise, before))
        self._stage = replace(stage, before=before, among=own.among)
        self._set_limits(plan)
        if not self._of_stage.counts.any():
            self._answer = None if answer is None else int(answer)

    def _stage_of(self, plan: Mapping[str, Any]) -> Stage:
        """Return the stage of a plan, or raise `ValueError` if it is none of these questions."""
        k, q = len(self.options), len(self.questions)
        leader, times = int(plan["leader"]), int(plan["times"])
        rivals, order = _places(plan["rivals"], k), _places(plan["order"], q)
        expected, answer = plan["expected"], plan["answer"]
        if not -1 <= leader < k or times < 1 or not (answer is None or 0 <= int(answer) < k):
            raise ValueError(f"leader {leader}, {times} times, answer {answer}")
        if expected is not None:
            expected = Expected.recalled(expected)
            if expected.leads.shape != rivals.shape or expected.variances.shape != rivals.shape:
                raise ValueError(f"{len(expected.leads)} leads over {len(rivals)} rivals")
        if (expected is None) != (leader < 0):
            raise ValueError(f"leader {leader}, of whom {expected} is expected")
        return Stage(leader, rivals, order, None, times, expected)

    def _set_limits(self, plan: Mapping[str, Any]) -> None:
        k = len(self.options)
        self._hopeless, self._stuck = (
            tuple(_places(plan[name], k).tolist()) for name in ("hopeless", "stuck")
        )
        self._said = {}

    def follow(self, plan: Mapping[str, Any], goes_on: bool) -> None:
        """Put the stage of a record in force, and the one before away with what is left of it.

        What it tested, and what was expected of that, was frozen before its evaluations: evidence
        it stays, without those that were withdrawn. Whether they make an answer is seen anew.
        """
        if self.target != "best":
            super().follow(plan, goes_on)
            return
        stage, self._plan_number = self._stage_of(plan), int(plan["id"])
        began = plan.get("began", plan["id"])
        goes_on = began != plan["id"]  # with the stage before, since more was allowed
        if self._answer is None and (goes_on or not self._answered_by_all()):
            self._set_limits(plan)
            if not goes_on:
                self._put_away()
                fit = self._helped(self.model.fit(self._pool, self._noise, self._stage.before))
                before = fit if self._plan_number else None  # before the first there is nothing
                self._stage, self._began = replace(stage, before=before), self._plan_number
                leader = self._leading(fit)
                if len(self._open(leader)) == 0:
                    self._answer = leader

    def hold(self, held: bool) -> None:
        """Go over where a record says; then plan anew, if the stage has no more to wait for."""
        free = self._held and not held
        super().hold(held)
        over = self.target != "best" or self._answer is not None
        if free and not over and self._whole and not self._answered_by_all():
            self._close()

    def purpose(self) -> dict[str, Any]:
        """Return why what is asked now is asked: which option is compared with which rivals.

        Examples
        --------
        >>> import evenhand as eh
        >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
        >>> policy = eh.CertainChoice(panel, noise_scale=1.0)
        >>> policy.observe(eh.Feedback([9, 9], [9.0, 0.0], [9.0, 0.0]))
        >>> policy.purpose()
        {'what': 'compare', 'stage': 1, 'for': 'Ann', 'against': ['Bo']}
        """
        names, stage = self.options.labels, self._stage
        if self.target == "bias":
            return {"what": "measure the bias", "stage": self._plan_number}
        if self._answer is not None:
            chosen = names[self._answer]
            return {"what": "check the model", "stage": self._plan_number, "for": chosen}
        if stage.expected is None:
            return {"what": "open", "stage": self._plan_number}
        near = stage.rivals[np.argsort(stage.expected.leads, kind="stable")]
        open_ = near[np.isin(near, self._open(stage.leader))]
        why = {
            "what": "compare",
            "stage": self._plan_number,
            "for": names[stage.leader],
            "against": [names[x] for x in open_[:_NAMED].tolist()],
        }
        return why | ({"others": len(open_) - _NAMED} if len(open_) > _NAMED else {})

    def extended(self, actions: Askable) -> CertainChoice:
        """Return the policy with more options, evaluators or capacity, and the evidence it has.

        The stage under way is finished first, so that nothing is cut short. Then new options are
        asked about, and tested as others are.

        *Why that holds.* W_x is evidence against 'x is no worse than the leaders it was tested
        against', which the best of all options is not, whoever else there is: what was found
        against old options stands. A new one starts with W = 1 and is tested from there on. So the
        best of all, old or new, is rejected with probability δ at most, if what was added did not
        depend on the scores. If it did, that is δ for the best of the old ones and δ for the best
        of those that were added, each time: after m such extensions (one that comes after an
        answer is such) no more than (m + 1)δ. The stage of an answer is not finished, and is no
        evidence any more. What was expected of old stages stays as it was, so that intervals go on.

        Parameters
        ----------
        actions
            All options, or questions: the old ones, which must mean the same, and new ones.

        Examples
        --------
        >>> import evenhand as eh
        >>> old = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None)
        >>> policy = eh.CertainChoice(old)
        >>> policy.tell(eh.Feedback([1, 0, 0, 0], [6.0, 0, 0, 0], [36.0, 0, 0, 0]))
        >>> new = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"], capacity=None)
        >>> more = policy.extended(new)
        >>> more.spent, len(more.options)
        (1, 3)
        """
        new, move = grown(self, actions)
        q, wealth = len(new.questions), np.zeros(len(new.options))
        new._grew = True
        new._told, new._of_stage = move.feedback(self._told), move.feedback(self._of_stage)
        new._logged = None if self._logged is None else move.feedback(self._logged)
        new._aside = [(at, move.feedback(told)) for at, told in self._aside]
        wealth[move.options] = self._wealth
        new._wealth, new._rejected = wealth, move.of_options(self._rejected, False)
        places = move.options.tolist()
        new._gains = {places[i]: move.of_options(g, 0.0) for i, g in self._gains.items()}
        new._cleared = {places[i]: move.of_options(c, False) for i, c in self._cleared.items()}
        for number, (stage, told) in enumerate(self._history):
            new._history.append((new._moved(stage, move, number), move.feedback(told)))
        new._stage = new._moved(self._stage, move, len(self._history))
        new._expected, new._began = self._expected, self._began
        if self.target == "bias" or self._answer is None:
            new._answer = None if self._answer is None else places[self._answer]
        elif (move.newcomers & ~new._same(places[self._answer])).any():
            new._answer = None
            new._set_aside(new._of_stage)
            new._of_stage = nothing(q)
            if self._held:  # until the record has another, nothing is tested
                new._stage = Stage.opening(new._stage.order[:0], new._stage.before)
        else:
            new._answer = places[self._answer]
        if new._answer is None and self.target == "best":
            new._go_on()
        return new

    def _go_on(self) -> None:
        """Plan anew after an extension, unless a stage is under way that tests something."""
        if self._held:
            return
        if self._stage.leader >= 0 and self._of_stage.counts.any():
            if not self._whole:
                return
            self._look(whole=True)
        if self._answer is None:
            self._close()

    def _moved(self, stage: Stage, move: Move, number: int) -> Stage:
        """Return a stage of the old questions among the new ones; ``self`` has these."""
        among = move.options if stage.among is None else move.options[stage.among]
        before = None
        if stage.before is not None:
            about = self._history[-1][0].before if self._history else None
            before = self.model.fit(self._known_by(number), self._noise, about)
            before = self._helped(before, among)
        leader = stage.leader if stage.leader < 0 else int(move.options[stage.leader])
        rivals, order = move.options[stage.rivals], move.questions[stage.order]
        return Stage(leader, rivals, order, before, stage.times, stage.expected, among)

    # ------------------------------------------------------------------ what is remembered

    def memory(self) -> dict[str, Any]:
        """Return the stages, what was told of them, and the evidence so far."""
        return {
            "told": sparse(self._told),
            "of_stage": sparse(self._of_stage),
            "logged": None if self._logged is None else sparse(self._logged),
            "aside": [{"at": at} | sparse(told) for at, told in self._aside],
            "grew": self._grew,
            "history": [stage.memory() | {"told": sparse(told)} for stage, told in self._history],
            "stage": self._stage.memory(),
            "wealth": self._wealth,
            "gains": {str(leader): gains for leader, gains in self._gains.items()},
            "rejected": np.flatnonzero(self._rejected),
            "cleared": {str(i): np.flatnonzero(who) for i, who in self._cleared.items()},
            "shares": self._shares,
            "answer": self._answer,
            "hopeless": list(self._hopeless),
            "stuck": list(self._stuck),
            "expected": self._expected,
            "began": self._began,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned."""
        k, q = len(self.options), len(self.questions)
        self._told, self._of_stage = dense(memory["told"], q), dense(memory["of_stage"], q)
        logged = memory.get("logged")
        self._logged = None if logged is None else dense(logged, q)
        self._aside = [(int(entry["at"]), dense(entry, q)) for entry in memory.get("aside", ())]
        self._grew = bool(memory.get("grew"))
        self._history = [
            (Stage.recalled(entry, self.model), dense(entry["told"], q))
            for entry in memory["history"]
        ]
        self._stage = Stage.recalled(memory["stage"], self.model)
        self._wealth = np.array(memory["wealth"], dtype=np.float64)
        self._gains = {
            int(leader): np.array(gains, dtype=np.float64)
            for leader, gains in memory["gains"].items()
        }
        self._rejected = _marked(memory["rejected"], k)
        self._cleared = {int(i): _marked(who, k) for i, who in memory["cleared"].items()}
        shares = memory["shares"]
        self._shares = None if shares is None else np.array(shares, dtype=np.float64)
        self._answer = memory["answer"]
        self._hopeless, self._stuck = tuple(memory["hopeless"]), tuple(memory["stuck"])
        self._expected = memory["expected"]
        self._began = int(memory.get("began", self._plan_number))


def _clipped(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return estimates within their intervals; NaN where there is no interval."""
    return np.where(np.isinf(low) | np.isinf(high), np.nan, np.clip(values, low, high))


def _places(given: Any, n: int) -> Indices:
    """Return indices below n, or raise `ValueError`."""
    places = np.asarray(given, dtype=np.intp).reshape(-1)
    if len(places) != len(given) or (places < 0).any() or (places >= n).any():
        raise ValueError(f"{given!r:.200} are no places among {n}")
    return places


def _marked(options: Any, k: int) -> NDArray[np.bool_]:
    marks = np.zeros(k, dtype=np.bool_)
    marks[np.asarray(options, dtype=np.intp)] = True
    return marks
