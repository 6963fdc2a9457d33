"""The answer that a policy has come to, or bounds for any design: its decision as a conclusion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.answer import (
    Answer,
    Scale,
    answer_from,
    raw_scores,
    scope_of,
    with_notes,
)
from evenhand.answers.biases import Biases, biases_of_answers
from evenhand.answers.logged import SOMEBODY
from evenhand.answers.question import Failure, compares
from evenhand.arrays import Floats
from evenhand.best import Best
from evenhand.findings import Attempts, Checks
from evenhand.inference import Conclusion, Target, Verdict, capped, design_of_feedback
from evenhand.inference.conclusion import unbounded
from evenhand.inference.designs import Scope
from evenhand.linear import Fit
from evenhand.numerics.tolerance import ROUNDING
from evenhand.policies.base import Policy, checks_of, forecast_of, said_by
from evenhand.policies.messages import Decision, Estimate, Feedback, Selection
from evenhand.questions import Askable, Column, Questions
from evenhand.scores.scores import Finding
from evenhand.search.choice import Choice


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that an answer is made of: what the scores say, as a policy does (`Policy.recommend`,
    `search.Choice`), and how they came about.
    """

    actions: Askable
    checks: Checks
    decision: Decision
    method: str  # how that was worked out, in a few words
    stopped_because: str
    spent: int  # scores that were asked for,
    at_most: int  # of how many in all
    paid: float
    biases: list[tuple[Column, Estimate]] = field(default_factory=list)
    values: Floats | None = None
    observed: int = 0  # scores that were there
    budget: float = math.inf
    forecast: float = math.nan  # how many more settle it if leads stay as they are
    may_ask: bool = True  # whether any question may still be asked
    noise_scale: float | None = None  # of a score as it was stated; None if it was not
    by_bounds: bool = False  # whether bounds of the scores say so
    scope: Scope = "these"  # the judges who gave the scores, or judges like them
    looks_once: bool = False  # whether scores are looked at once, when all are in
    policy: Policy | None = None  # what asked; None where the scores were there

    @property
    def questions(self) -> Questions:
        """What could be asked."""
        return Questions.of(self.actions)


def outcome_of(policy: Policy) -> Outcome:
    """Return what a policy has come to."""
    limits, decision = policy.limits, policy.recommend()
    return Outcome(
        policy.actions,
        checks_of(policy),
        replace(decision, warnings=decision.warnings or policy.findings()),
        f"{policy.name}, seed {policy.seed}",
        ending(policy)[1],
        policy.spent,
        policy.horizon,
        limits.paid,
        said_by(policy, "biases") or first_bias(policy.questions, policy.bias),
        said_by(policy, "values"),
        policy.observed,
        limits.money,
        forecast_of(policy),
        bool(_left(policy).any()),
        policy.stated_noise,
        policy.bounds is not None and policy.stated_noise is not None,
        said_by(policy, "scope") or "these",
        looks_once=said_by(policy, "looks") == "once",
        policy=policy,
    )


def first_bias(questions: Questions, bias: Callable[[], Estimate]) -> list[tuple[Column, Estimate]]:
    """Return the first bias, as it is worked out; none where there are leniencies only."""
    return [(column, bias()) for column in questions.columns[:1] if column.kind != "leniency"]


def ending(policy: Policy) -> tuple[str, str]:
    """Return why a policy is done, as a code (`search.record.Stop`) and in words."""
    code, words = _end(policy)
    stop = policy.stop if isinstance(policy, Choice) else None
    return code if stop is None else stop.reason, said_by(policy, "stopped_because") or words


def _end(policy: Policy) -> tuple[str, str]:
    """Return why a policy that does not say is done."""
    limits = policy.limits
    left = _left(policy)
    if policy.remaining == 0:
        return "spent", f"all {policy.horizon:,} evaluations are spent"
    if not left.any() and limits.absent:
        return "left", f"nobody is left to ask: {', '.join(limits.absent_names)} left"
    if not left.any():
        return "asked", "every question has been asked as often as it may be"
    cheapest = float(policy.questions.prices[left].min())
    if limits.money - limits.paid < cheapest:
        return "broke", (
            f"the budget of {limits.money:,g} is spent: {limits.money - limits.paid:,g} is left, "
            f"and an evaluation costs {cheapest:,g}"
        )
    return "done", "the policy asks for no more"


def _left(policy: Policy) -> NDArray[np.bool_]:
    """Return (q,) what may still be asked."""
    return policy.limits.left(np.zeros(len(policy.questions), dtype=np.int64)) > 0


def answer_of(
    said: Policy | Outcome,
    *,
    confidence: float,
    tolerance: float,
    features_exact: bool,
    stopped_because: str | None = None,
    failures: Sequence[Failure] = (),
    attempts: Attempts | None = None,
    notes: Sequence[Finding] = (),
    scale: Sequence[float] | None = None,
    best: Best = "high",
    assumed: str = "",
) -> Answer:
    """Return the answer that follows from what a policy, or whoever looked at scores as they came,
    has come to; ``scale`` is the lowest and highest score that it was told, and where the lowest
    are ``best``, it was told them turned.
    """
    said = outcome_of(said) if isinstance(said, Policy) else said
    questions, checks, decision = said.questions, said.checks, said.decision
    low, high = scale or (-math.inf, math.inf)
    ends = Scale(float(low), float(high), compares(questions))
    tried = attempts or Attempts()
    found = [  # steps of scores do not matter to what goes by bounds alone
        one
        for one in decision.warnings
        if one.alarm or one.assumption != "rounding" or not said.by_bounds
    ]
    found += tried.findings(questions, decision.label)
    warnings = with_notes(found, notes)
    if len(questions.options) > 1 and any(one.alarm for one in warnings):
        decision = _without_certainty(decision)
    certainty = decision.certainty
    sure = decision.loss <= tolerance and (
        certainty == "own scores" or (certainty == "features exact" and features_exact)
    )
    fit, biases = _fitted(said, ends.most)
    concluded = _concluded(said, decision, fit, tolerance, sure, confidence)
    if decision is not said.decision:  # contradicted
        concluded = replace(concluded, values=unbounded(concluded.values[:, 0]))
        biases = biases.without_intervals()
    scatter = 1.0 if questions.noise is None else questions.noise
    means = checks.means * scatter + checks.level.origin
    who = np.unique(questions.evaluator[checks.counts > 0]).tolist()
    names = (questions.evaluators[x] for x in who if x >= 0)
    judges = tuple(name for name in names if name != SOMEBODY)
    return answer_from(
        concluded,
        questions.options,
        raw_scores(len(questions.options), list(questions.about.T), means, checks.counts),
        sure=sure,
        certainty=certainty,
        tolerance=tolerance,
        biases=biases.turned() if best == "low" else biases,
        judges=judges,
        warnings=warnings,
        scale=ends,
        best=best,
        level=checks.level,
        spent=said.spent,
        paid=said.paid,
        stopped_because=stopped_because or said.stopped_because,
        scope=scope_of(judges, said.scope == "these"),
        asked=said.actions,
        outcome=said,
        table=None,
        failures=tuple(failures),
        attempts=tried,
        withstands=min(decision.withstands, ends.most),
        assumed=assumed,
    )


def _without_certainty(decision: Decision) -> Decision:
    """Withdraw all that rests on assumptions that were contradicted: estimates are what is left."""
    leads = decision.leads
    return replace(
        decision,
        loss=math.inf,
        level=0.0,
        withstands=0.0,
        leads=None if leads is None else unbounded(leads[:, 0]),
        certainty=None,
        selection=None if decision.selection is None else Selection(decision.selection.chosen),
    )


def _fitted(said: Outcome, most: float) -> tuple[Fit | None, Biases]:
    """Return the fit of all that was told, and biases as a policy has concluded, else by it."""
    checks, questions = said.checks, said.questions
    n, means = checks.counts, checks.means
    if not n.any():
        return None, Biases()
    told = Feedback(n, n * means, checks.scatters + n * means**2)
    design, which = design_of_feedback(questions, told, "these")
    fit = Fit(design)
    return fit, biases_of_answers(fit, questions, which, 0.95, most, said.biases)


def _concluded(
    said: Outcome,
    decision: Decision,
    fit: Fit | None,
    tolerance: float,
    sure: bool,
    confidence: float,
) -> Conclusion:
    """Return where options stand by what a policy recommends; a plan with one look says more."""
    labels, selection = said.questions.options.labels, decision.selection
    k, delta = len(labels), 1.0 - (decision.level or confidence)
    wanted = getattr(said.policy, "target", None)
    if selection is not None and wanted is None:
        wanted = Target(top=len(selection.chosen))
    target = wanted or Target(top=1, tolerance=tolerance)
    verdicts, chosen = _verdicts(decision, target, k, sure)
    if (rival := target.rival(labels)) is not None:
        verdicts[rival] = "itself"
    if decision.leads is not None and verdicts[decision.option] == "in":
        leads = decision.leads.copy()
        out = (np.array(verdicts) == "out") & np.isfinite(leads[:, 1])
        leads[out, 1] = np.clip(leads[out, 1], 0.0, np.fmax(leads[out, 0], 0.0))  # that is sure
        decision = replace(decision, leads=leads)
    values = _values(said, decision, fit)
    leads = _leads(decision, values, fit)
    found = Conclusion(
        target, delta, tuple(verdicts), chosen, decision.option, decision.loss, values, leads,
        np.full(k, np.nan), parts=(np.arange(k),),
    )  # fmt: skip
    look = said.policy.one_look if isinstance(said.policy, Choice) and decision.level else None
    if look is None:
        return found
    # errors at one look do not hold where scores decided what was asked next
    once = said.looks_once and len(look.verdicts) == k
    found = replace(
        found,
        chances=capped(found, look.chances[:k]),
        expected_loss=look.expected_loss,
        spread=look.spread,
    )
    return replace(found, fit=look.fit, doubted=look.doubted) if once else found


def _verdicts(
    decision: Decision, target: Target, k: int, sure: bool
) -> tuple[list[Verdict], tuple[int, ...]]:
    """Return what a decision says of each of k options, and whom it chooses."""
    several, slack = decision.selection, target.top is None and target.tolerance > 0.0
    if several is None:
        mine, slack = (decision.option,), decision.loss > 0.0
        others = tuple(x for x in range(k) if x != decision.option)
        several = Selection(mine, mine if sure else (), others if sure and not slack else ())
    verdicts: list[Verdict] = ["open"] * k
    for x in several.inside:
        verdicts[x] = "not worse" if slack else "in"
    for x in several.outside:
        verdicts[x] = "out"
    return verdicts, several.chosen


def _leads(decision: Decision, values: Floats, fit: Fit | None) -> Floats:
    """Return (k, 3) the leads, unknown ones as differences of values, instead of a guess of 0,
    where scores compare the options.
    """
    apart = values[decision.option, 0] - values[:, 0]
    if decision.leads is None:
        return unbounded(apart)
    leads = decision.leads.copy()
    unknown = np.isinf(leads[:, 1]) & np.isinf(leads[:, 2])
    unknown[decision.option] = False
    apart[np.abs(apart) <= ROUNDING * np.abs(values[decision.option, 0])] = 0.0
    unknown &= np.isfinite(apart) | (leads[:, 0] == 0.0)
    leads[unknown, 0] = apart[unknown]
    if fit is not None:
        part = fit.part[: len(leads)]
        leads[unknown & (part != part[decision.option]), 0] = np.nan
    return leads


def _values(said: Outcome, decision: Decision, fit: Fit | None) -> Floats:
    """Return (k, 3) values with intervals as concluded, else by least squares."""
    # Scores of other options never stand in for an option's own. Comparisons identify differences
    # alone: there values are measured from the chosen option.
    values = said.values
    if decision.leads is not None and compares(said.questions):
        behind = 0.0 - decision.leads[:, [0, 2, 1]]
        if said.policy is not None:  # of which a lead without ends is none that it knows
            behind[np.isinf(behind[:, 1]) & np.isinf(behind[:, 2]), 0] = np.nan
        return behind
    alone = said.questions.options.stand_alone
    if values is not None and not alone and decision.certainty != "features exact":
        return values
    model = unbounded(np.full(len(said.questions.options), np.nan))
    if fit is not None:
        model[:, 0] = np.where(fit.told, fit.values, np.nan)[: len(model)]
        model[:, 0] += said.checks.level.origin
    return model if values is None else np.where(np.isnan(values[:, :1]), model, values)
