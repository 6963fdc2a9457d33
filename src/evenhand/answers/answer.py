"""The answer: which option to choose, how sure that is, and what stands behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.biases import Biases, biases_of_answers
from evenhand.answers.categories import Categories
from evenhand.answers.difference import difference
from evenhand.answers.logged import SOMEBODY, log_of
from evenhand.answers.next_questions import NextQuestions
from evenhand.answers.page import record_of, report_of, required, verdict_on
from evenhand.answers.question import Failure
from evenhand.answers.scale import Scale, compares
from evenhand.answers.withdrawn import Withdrawals
from evenhand.arrays import Counts, Floats
from evenhand.best import Best, turned
from evenhand.checks import Checks
from evenhand.errors import InputError
from evenhand.findings import Attempts
from evenhand.inference import Conclusion, Target, Verdict, design_of_feedback
from evenhand.inference.biases import TableFit
from evenhand.linear import Fit
from evenhand.numerics.intervals import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.conclusion import Conclusion as Outcome
from evenhand.policies.conclusion import conclusion_of
from evenhand.policies.messages import Certainty, Decision, Feedback, Selection
from evenhand.questions import Options, Questions
from evenhand.report.model import Report, Result
from evenhand.scores import Scores
from evenhand.scores.scores import Finding, Level
from evenhand.tables import Names

_SAME = 1e-12  # share of a value below which a difference is rounding

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.answers.difference import Difference


@dataclass(frozen=True)
class Standing:
    """Where one option stands in an answer."""

    index: int
    option: str
    group: str | None  # None where there are attributes instead
    raw: float  # mean of its scores; in comparisons, for it less against it; NaN without any
    value: float  # without bias, by an evaluator of average leniency; NaN if not known
    low: float  # of the interval of value; in comparisons all from the chosen option
    high: float
    lead: float  # of the chosen option over it; 0 for the chosen one
    evaluations: int


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Result):
    """Which option to choose, how sure that is and why not surer, and what it cost.

    ``print(answer)`` says all of it in plain words, a notebook shows standings beside it, `plot`
    draws options with their intervals, mean scores beside values, and the biases, `to_dict` is for
    machines. `report` writes a page that a committee can read and print: also what fairness cost,
    what was assumed and what became of it, and what no scores can tell.

    Parameters
    ----------
    option, label
        Index and name of the option to choose; where several were wanted (`chosen`), of the one
        that looks best.
    sure
        Whether the option is certainly within ``tolerance`` of the best: by the options' own
        scores, or because the features are exact where the user said so (``deviation=0``). Where
        several were wanted, whether these are certainly the best.
    certainty
        What ``loss`` rests on: "own scores", "one judge's scores", "features exact", or None if
        nothing certain is said. `scope` says whom it is about.
    loss
        What the option loses at most against the best; infinite if that is not known. Where several
        were wanted, what any that is chosen is worse than any that is not, at most.
    confidence
        Probability that what is said here holds.
    tolerance
        How much the choice was allowed to lose.
    bias
        What evaluations add in one group and take off in the other; with attributes, of the first.
        In a panel, what evaluators add to their own group.
    biases
        All biases by name, of evaluators, groups and positions, and evaluators' leniencies.
    spent, at_most
        Evaluations that were made, and how many were allowed.
    paid, budget
        What they cost (by the questions' prices, where nobody said what they really did), and how
        much money there was; infinite if nobody said.
    forecast
        How many more are expected to come, 0 where it is settled, NaN where that is not known.
    stopped_because
        Why the asking ended.
    warnings
        What the scores say about the assumptions, alarms first.
    failures
        Questions that were given up.
    attempts
        How often questions were tried and failed; ``attempts.by_option(answer.questions)`` and
        ``by_evaluator`` count them. An alarm is raised where failures, or times, hang on options
        or scores.
    withdrawn
        Scores that were withdrawn in a campaign. The answer says no more than what also holds with
        those put back that were not withdrawn blindly.
    raw_choice
        Index of the option that the scores alone would have chosen; None without scores.
    ranking
        Where every option stands, the most valuable first; `standings` is the same as a frame.
    conclusion
        Where every option stands against what was wanted: verdicts, chances, places, values and
        leads, in units of the scores, the highest the best.
    outcome
        What a policy has come to that asked; None where the scores were there (`decide`).
    table
        Where the scores were there: their fit.
    withstands
        How large a favour for a group may be which no score can tell from value: in a panel, a
        favour of the whole panel. The option stays the best as long as it is no larger; 0 claims
        nothing.
    next_questions
        Of scores that were there (`decide`): the questions to ask next, the best first, and what
        each is expected to settle. Empty where it is sure, or nothing more may be asked.
    assumed
        Of scores that were there: what is assumed of who chose what was scored, and how sure is
        worked out from that. "" where `choose` asked.
    scale
        The lowest and highest score there is, if anybody said.
    best
        Whether the "high" or the "low" scores are the best. Values, biases, the scale and a bar are
        on the scale that scores were given on; leads and losses are amounts, above 0 for what is
        better.
    target
        What was wanted beside the best option, if anything was (``top``, ``bar``, ``against``);
        then ``sure`` says that all of it is settled.
    categories
        What options were compared inside of, if of anything.

    Examples
    --------
    >>> import evenhand as eh
    >>> options = eh.ActionSet([[1.0], [1.0], [0.0]], ["home", "away", "away"], ["Ada", "Bo", "Cy"])
    >>> policy = eh.policy("uniform", options, horizon=6)
    >>> policy.tell(eh.Feedback([1, 1, 1], [9.0, 6.0, 2.0], [81.0, 36.0, 4.0]))
    >>> answer = eh.choose(options, lambda question: [9.0, 6.0, 2.0][question.option],
    ...                    policy=policy)
    >>> answer
    Answer(option=0, label='Ada', sure=False, certainty=None, loss=inf, spent=6)
    >>> found = answer.to_dict()
    >>> found["option"], found["loses_at_most"], found["ranking"][1]["option"]
    ('Ada', None, 'Bo')
    """

    option: int
    label: str
    sure: bool
    certainty: Certainty | None
    loss: float
    confidence: float
    tolerance: float
    bias: Estimate
    biases: Biases
    spent: int
    at_most: int
    paid: float
    budget: float
    forecast: float
    stopped_because: str
    warnings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    raw_choice: int | None
    ranking: tuple[Standing, ...]
    conclusion: Conclusion
    outcome: Outcome | None = None
    table: TableFit | None = None
    given: Questions | ActionSet | None = None  # what could be asked, where that was said
    withstands: float = 0.0
    next_questions: NextQuestions = field(default_factory=NextQuestions)
    assumed: str = ""
    attempts: Attempts = field(default_factory=Attempts)
    scale: tuple[float, float] | None = None
    withdrawn: Withdrawals = field(default_factory=Withdrawals)
    target: Target | None = None
    categories: Categories | None = None
    best: Best = "high"

    @property
    def chosen(self) -> tuple[str, ...]:
        """Who looks wanted, the most valuable first; without a target the option to choose."""
        return self._named(self.conclusion.chosen)

    @property
    def inside(self) -> tuple[str, ...]:
        """Who is surely wanted (of all at once): in, above the bar, or better; or, with a
        tolerance, not worse by more than that.
        """
        return self._named(self.conclusion.inside)

    @property
    def outside(self) -> tuple[str, ...]:
        """Who is surely not wanted: out, below the bar, or worse."""
        return self._named(self.conclusion.outside)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Who is neither."""
        return self._named(self.conclusion.undecided)

    @property
    def expected_loss(self) -> float:
        """What the chosen are expected to lose per place, against the true best: an estimate."""
        return self.conclusion.expected_loss

    @property
    def expected_right(self) -> float:
        """How many of the chosen are expected to be wanted: an estimate."""
        return self.conclusion.expected_right

    def _named(self, some: Sequence[int]) -> tuple[str, ...]:
        """Return names of options, the most valuable first."""
        wanted = set(some)
        return tuple(one.option for one in self.ranking if one.index in wanted)

    @property
    def policy(self) -> Policy:
        """What asked. It goes on from here: ``choose(options, evaluate, policy=answer.policy)``."""
        if self.outcome is None or self.outcome.policy is None:
            raise InputError(
                "these scores were there, and no policy asked for them, so none can go on; "
                "answer.next_questions says what to ask."
            )
        return self.outcome.policy

    @property
    def wrong_at_most(self) -> int | None:
        """How many of several that `choose` chose may be wrong; None if nobody can say."""
        selection = None if self.outcome is None else self.outcome.decision.selection
        return None if selection is None else selection.wrong_at_most

    @property
    def scores(self) -> int:
        """How many scores it rests on, asked for or not."""
        return self.spent + (0 if self.outcome is None else self.outcome.observed)

    @cached_property
    def options(self) -> ActionSet | Options:
        """The options."""
        actions = self.given if self.outcome is None else self.outcome.actions
        if actions is None:
            assert self.table is not None
            return options_of(self.table.scores)
        return actions.options if isinstance(actions, Questions) else actions

    @cached_property
    def questions(self) -> Questions:
        """What could be asked about them."""
        if self.outcome is not None:
            return self.outcome.questions
        assert self.table is not None
        given = self.given
        return Questions.of(log_of(None, self.table.scores).asked if given is None else given)

    @property
    def compared(self) -> bool:
        """Whether options were compared in pairs, so that only their differences are known."""
        if self.table is not None:
            return self.table.scores.rival is not None
        return compares(self.questions)

    @property
    def judges(self) -> tuple[str, ...]:
        """Who gave scores, by name; nobody where that was not said."""
        if self.table is None:
            assert self.outcome is not None
            return _judges(self.outcome)
        judges = self.table.scores.evaluator
        return () if judges is None else tuple(np.array(judges.names)[judges.counts > 0].tolist())

    @property
    def scope(self) -> str:
        """Whom the answer is about: one judge, these judges, or judges (and items) like these."""
        on_items = self.table is not None and self.table.scores.item is not None
        items = " and items" if on_items else ""
        if len(self.judges) == 1:
            return "this judge" + (", items like these" if items else "")
        if not self.judges:
            return "items like these" if items else "scores like these"
        these = self.table is not None and not self.table.like
        if self.outcome is not None:
            these = self.outcome.scope == "these"
        if these:
            return f"these judges{', items like these' if items else ''}"
        return f"judges{items} like these"

    @property
    def comparable(self) -> bool:
        """Whether the scores compare all options with one another, or inside their categories."""
        said = self.conclusion
        if self.categories is not None and said.fit is not None:
            return all(np.ptp(said.fit.part[some]) == 0 for some in said.parts)
        return not bool(np.isnan(said.leads[:, 0]).any()) or len(self.ranking) == 1

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """The warnings that contradict an assumption."""
        return tuple(finding for finding in self.warnings if finding.alarm)

    @property
    def contradicted(self) -> bool:
        """Whether an alarm concerns all that is said, and not a few options alone."""
        return any(not finding.concerns for finding in self.alarms)

    @property
    def standings(self) -> pd.DataFrame:
        """Where every option stands, the most valuable first: one row per option.

        Columns: option, group (missing where there are attributes instead), raw (mean score), value
        with its interval (low, high), lead (of the chosen option over this one), evaluations. With
        a target also verdict (surely in or out, or at the line), chance, and the best and the worst
        place that it may have (rank_low, rank_high); with categories, the category.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        columns = ["option", "group", "raw", "value", "low", "high", "lead", "evaluations"]
        if self.questions.options.groups is None:
            columns.remove("group")
        frame = pd.DataFrame(
            {name: [getattr(standing, name) for standing in self.ranking] for name in columns}
        )
        if self.target is None:
            return frame
        places = [one.index for one in self.ranking]
        if self.categories is not None:
            frame.insert(1, "category", [self.categories.name(x) for x in places])
        low, high = self.conclusion.ranks
        return frame.assign(
            verdict=[verdict_on(self, x) for x in places],
            chance=self.conclusion.chances[places],
            rank_low=low[places],
            rank_high=high[places],
        )

    def standing(self, option: int) -> Standing:
        """Return where an option stands, by its index."""
        return next(standing for standing in self.ranking if standing.index == option)

    def compare(self, option: str | int, rival: str | int) -> Difference:
        """Return by how much one option is better than another, with its interval.

        For two options, by name or index, that were named without looking at the scores: Student's
        interval, and what the difference is at least on one side alone ('not worse by more than').
        Where a policy looked at scores as they came, they hold at all times.

        Examples
        --------
        >>> import pandas as pd
        >>> import evenhand as eh
        >>> scores = pd.DataFrame({"option": ["Ann", "Bo"] * 4, "evaluator": list("PPQQRRSS"),
        ...                        "score": [7.0, 6.9, 6.5, 6.6, 7.2, 7.1, 6.9, 6.6]})
        >>> two = eh.decide(scores).compare("Bo", "Ann")
        >>> [round(x, 2) for x in (two.value, two.low, two.high, two.at_least)]
        [-0.1, -0.36, 0.16, -0.29]
        """
        return difference(self, option, rival)

    def require(self, how: str = "sure", option: str | None = None) -> None:
        """Raise `RequirementError` unless what was wanted is "sure", or "probable".

        For tests and gates. It is required of an ``option``, by its name; else of all that is
        wanted: that the choice is settled; that every option is above the bar, or better than the
        one it is held against, up to the tolerance. What is probable has a chance of at least
        ``confidence``, and takes a target. The error's ``surely`` tells 'no' from 'not yet'.

        Examples
        --------
        >>> import pandas as pd
        >>> import evenhand as eh
        >>> runs = pd.DataFrame({"option": ["new", "old"] * 4, "item": sorted([*range(4)] * 2),
        ...                      "score": [.71, .72, .53, .50, .88, .87, .44, .43]})
        >>> eh.decide(runs, against="old", tolerance=0.02).require("sure")
        >>> eh.decide(runs, against="new", tolerance=0.02).require("sure", "old")
        Traceback (most recent call last):
        evenhand.errors.RequirementError: cannot tell yet: whether 'old' is no more than 0.02...
        """
        required(self, how, option)

    def _report(self) -> Report:
        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return record_of(self)

    def _draw(self, axes: Axes | None) -> Figure:
        # Matplotlib takes longer to load than most answers take to find.
        from evenhand.answers.figure import answer_picture, draw_answer_picture  # noqa: PLC0415

        return draw_answer_picture(answer_picture(self), axes)

    def __repr__(self) -> str:
        shown = ("option", "label", "sure", "certainty", "loss", "spent")
        return f"Answer({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def as_scored(answer: Answer, best: Best | None) -> Answer:
    """Return an answer that was worked out by maximising, on the scale that scores were given on.

    All that is in units of a score is turned where the lowest scores are the best; values and leads
    of ``conclusion`` are not.
    """
    if best != "low":
        return answer

    def turn(one: Standing) -> Standing:
        raw, value, low, high = (0.0 - x for x in (one.raw, one.value, one.high, one.low))
        return replace(one, raw=raw, value=value, low=low, high=high)

    return replace(
        answer,
        bias=-answer.bias,
        biases=answer.biases.turned(),
        ranking=tuple(map(turn, answer.ranking)),
        scale=turned(answer.scale, best),
        target=None if answer.target is None else answer.target.turned,
        conclusion=replace(answer.conclusion, target=answer.conclusion.target.turned),
        best="low",
    )


def answer_of(policy: Policy, **terms: Any) -> Answer:
    """Return the answer that a policy has come to, on the terms of `answer_from`."""
    return answer_from(conclusion_of(policy), **terms)


def answer_from(
    said: Outcome,
    *,
    confidence: float,
    tolerance: float,
    features_exact: bool,
    stopped_because: str | None = None,
    failures: Sequence[Failure] = (),
    attempts: Attempts | None = None,
    notes: Sequence[Finding] = (),
    scale: Sequence[float] | None = None,
) -> Answer:
    """Return the answer that follows from what a policy has come to, and from how the scores were
    got; ``scale`` is the lowest and highest score there is.
    """
    decision, bias, options = said.decision, said.bias, said.questions.options
    ends = Scale.of(scale, compares(said.questions))
    fit, biases = _fitted(said)
    values = _values(said, fit)
    decision = ends.decision(_with_known_leads(decision, values, fit))
    biases, values = ends.biases(biases, said.questions), ends.values(values)
    bias = bias if scale is None else _first(bias, biases)
    tried = attempts or Attempts()
    found = [one for one in decision.warnings or said.findings if _counts(one, said)]
    found += tried.findings(said.questions, decision.label)
    warnings = with_notes(found, notes)
    if len(options) == 1:
        decision, warnings = replace(decision, certainty="own scores", loss=0.0), ()
    elif any(finding.alarm for finding in warnings):
        decision = _without_certainty(decision)
        bias = Estimate.without_interval(bias.value)
        biases, values = biases.without_intervals(), _everything_around(values[:, 0])
    certainty, loss = decision.certainty, decision.loss
    sure = loss <= tolerance and (
        certainty == "own scores" or (certainty == "features exact" and features_exact)
    )
    if certainty == "own scores" and len(options) > 1 and len(_judges(said)) == 1:
        certainty = "one judge's scores"
    raw = _raw_scores(said.questions, said.checks)
    wanted = getattr(said.policy, "target", None)
    if decision.selection is not None and wanted is None:
        wanted = Target(top=len(decision.selection.chosen))
    aim = wanted or Target(top=1, tolerance=tolerance)
    return Answer(
        option=decision.option,
        label=decision.label,
        sure=sure,
        certainty=certainty,
        loss=loss,
        confidence=decision.level or confidence,
        tolerance=tolerance,
        bias=bias,
        biases=biases,
        spent=said.spent,
        at_most=said.at_most,
        paid=said.paid,
        budget=said.budget,
        forecast=0.0 if sure else said.forecast or math.nan,
        stopped_because=stopped_because or said.stopped_because,
        warnings=warnings,
        failures=tuple(failures),
        raw_choice=raw.best,
        ranking=_ranking(options, decision, values, raw, said.checks.level),
        conclusion=_concluded(said, decision, aim, values, sure, confidence),
        outcome=said,
        withstands=decision.withstands,
        attempts=tried,
        scale=None if scale is None else (float(scale[0]), float(scale[1])),
        target=None if aim.top == 1 else aim,
    )


def with_notes(found: Sequence[Finding], notes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, alarms first, and notes on what none of them speaks of."""
    spoken_of = {finding.assumption for finding in found}
    both = [*found, *(note for note in notes if note.assumption not in spoken_of)]
    return tuple(sorted(both, key=lambda finding: not finding.alarm))


def options_of(scores: Scores) -> Options:
    """Return the options of a table."""
    groups = None
    if scores.option_group is not None:
        codes = scores.option_group.tolist()
        groups = tuple(None if code < 0 else scores.groups[code] for code in codes)
    return Options(Names(scores.option.names), groups)


def _concluded(
    said: Outcome,
    decision: Decision,
    target: Target,
    values: Floats,
    sure: bool,
    confidence: float,
) -> Conclusion:
    """Return where options stand by what a policy recommends; a plan with one look says more."""
    labels = said.questions.options.labels
    k, selection, rival = len(labels), decision.selection, target.rival(labels)
    leads = decision.leads
    if leads is None:
        leads = _everything_around(values[decision.option, 0] - values[:, 0])
    verdicts: list[Verdict] = ["open"] * k
    chosen: tuple[int, ...] = (decision.option,)
    if selection is None and sure and target.tolerance == 0.0:
        verdicts = ["out"] * k
        verdicts[decision.option] = "in"
    elif selection is None and sure:
        verdicts[decision.option] = "not worse"
    elif selection is not None:
        chosen = selection.chosen
        good: Verdict = "not worse" if target.tolerance and target.top is None else "in"
        for x in selection.inside:
            verdicts[x] = good
        for x in selection.outside:
            verdicts[x] = "out"
    if rival is not None:
        verdicts[rival] = "itself"
    delta = 1.0 - (decision.level or confidence)
    found = Conclusion(
        target, delta, tuple(verdicts), chosen, decision.option, decision.loss, values, leads,
        np.full(k, np.nan), parts=(np.arange(k),),
    )  # fmt: skip
    look = getattr(said.policy, "one_look", lambda: None)() if decision.level else None
    if look is None:
        return found
    # errors at one look do not hold where scores decided what was asked next
    once = said.looks_once and len(look.verdicts) == k
    own = {"fit": look.fit, "doubted": look.doubted} if once else {}
    known = {"expected_loss": look.expected_loss, "spread": look.spread}
    return replace(found, chances=look.chances[:k], **known, **own)


def _first(bias: Estimate, biases: Biases) -> Estimate:
    """Return the first bias as far as the scale allows it."""
    if math.isnan(bias.value) or not biases or biases[0].kind == "leniency":
        return bias
    return replace(bias, value=biases[0].estimate, low=biases[0].low, high=biases[0].high)


def _judges(said: Outcome) -> tuple[str, ...]:
    """Return who gave scores, by name."""
    who = np.unique(said.questions.evaluator[said.checks.counts > 0]).tolist()
    names = (said.questions.evaluators[x] for x in who if x >= 0)
    return tuple(name for name in names if name != SOMEBODY)


def _with_known_leads(decision: Decision, values: Floats, fit: Fit | None) -> Decision:
    """Replace unknown leads by differences of values, instead of a guess of 0, where scores compare
    the options; keep the others.
    """
    if decision.leads is None:
        return decision
    leads = decision.leads.copy()
    unknown = np.isinf(leads[:, 1]) & np.isinf(leads[:, 2])
    unknown[decision.option] = False
    apart = values[decision.option, 0] - values[:, 0]
    apart[np.abs(apart) <= _SAME * np.abs(values[decision.option, 0])] = 0.0
    unknown &= np.isfinite(apart) | (leads[:, 0] == 0.0)
    leads[unknown, 0] = apart[unknown]
    if fit is not None:
        part = fit.part[: len(leads)]
        leads[unknown & (part != part[decision.option]), 0] = np.nan
    return replace(decision, leads=leads)


def _counts(finding: Finding, said: Outcome) -> bool:
    """Tell whether a finding matters: to what goes by bounds alone steps of scores do not."""
    return finding.alarm or finding.assumption != "rounding" or not said.by_bounds


def _without_certainty(decision: Decision) -> Decision:
    """Withdraw all that rests on assumptions that were contradicted: estimates are what is left."""
    leads = decision.leads
    return replace(
        decision,
        loss=math.inf,
        level=0.0,
        withstands=0.0,
        leads=None if leads is None else _everything_around(leads[:, 0]),
        certainty=None,
        selection=None if decision.selection is None else Selection(decision.selection.chosen),
    )


def _everything_around(estimates: Floats) -> Floats:
    """Return (k, 3) estimates with intervals that are everything."""
    everything = np.full(len(estimates), np.inf)
    return np.column_stack([estimates, -everything, everything])


class _RawScores(NamedTuple):
    """(k,) mean scores of the options, NaN without any, and how many evaluations they are of."""

    means: Floats
    counts: Counts

    @property
    def best(self) -> int | None:
        """The option of the highest mean; None without scores."""
        return int(np.nanargmax(self.means)) if self.counts.any() else None


def _raw_scores(questions: Questions, checks: Checks) -> _RawScores:
    """Return the mean of all answers about each option, of a comparison with opposite signs."""
    k = len(questions.options)
    answers = checks.means if questions.noise is None else checks.means * questions.noise
    answers = answers + checks.level.origin
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for items, sign in zip(questions.about.T, (1.0, -1.0), strict=True):
        about = (items >= 0) & (items < k)
        n = checks.counts[about]
        counts += np.bincount(items[about], n, k).astype(np.int64)
        sums += np.bincount(items[about], sign * n * answers[about], k)
    with np.errstate(invalid="ignore"):
        return _RawScores(sums / counts, counts)


def _fitted(said: Outcome) -> tuple[Fit | None, Biases]:
    """Return the fit of all that was told, and biases as a policy has concluded, else by it."""
    checks, questions = said.checks, said.questions
    n, means = checks.counts, checks.means
    if not n.any():
        return None, Biases()
    told = Feedback(n, n * means, checks.scatters + n * means**2)
    design, which = design_of_feedback(questions, told, "these")
    fit = Fit(design)
    known = said.biases or [(column, said.bias) for column in questions.columns[:1]]
    return fit, biases_of_answers(fit, questions, which, 0.95, known)


def _values(said: Outcome, fit: Fit | None) -> Floats:
    """Return (k, 3) values with intervals as concluded, else by least squares."""
    # Scores of other options never stand in for an option's own. Comparisons identify differences
    # alone: there values are measured from the chosen option.
    decision, values = said.decision, said.values
    if decision.leads is not None and compares(said.questions):
        behind = 0.0 - decision.leads[:, [0, 2, 1]]
        if said.policy is not None:  # of which a lead without ends is none that it knows
            behind[np.isinf(behind[:, 1]) & np.isinf(behind[:, 2]), 0] = np.nan
        return behind
    alone = said.questions.options.stand_alone
    if values is not None and not alone and decision.certainty != "features exact":
        return values
    k = len(said.questions.options)
    model = _everything_around(np.full(k, np.nan))
    if fit is not None:
        model[:, 0] = np.where(fit.told, fit.values, np.nan)[:k] + said.checks.level.origin
    return model if values is None else np.where(np.isnan(values[:, :1]), model, values)


def _ranking(
    options: Options, decision: Decision, values: Floats, raw: _RawScores, level: Level
) -> tuple[Standing, ...]:
    """Return the standings by value, of equals the chosen first; if not known, by lead."""
    leads = values[decision.option, 0] - values[:, 0]
    if decision.leads is not None:
        leads = decision.leads[:, 0]
    place = np.argsort(np.arange(len(options)) != decision.option, kind="stable")
    for key in (places_of(level.origin - leads, level), places_of(values[:, 0], level)):
        place = place[np.argsort(key[place], kind="stable")]  # NaN last
    return tuple(
        Standing(
            x,
            options.labels[x],
            options.group_of(x),
            float(raw.means[x]),
            float(values[x, 0]),
            float(values[x, 1]),
            float(values[x, 2]),
            float(leads[x]),
            int(raw.counts[x]),
        )
        for x in place.tolist()
    )


def places_of(values: Floats, level: Level) -> Floats:
    """Return (k,) the rank of each value, from 0; those that differ by rounding share it."""
    size = np.abs(values - level.origin).max(initial=0.0, where=np.isfinite(values))
    order = np.argsort(-values, kind="stable")
    behind = np.append(0.0, -np.diff(values[order])) > max(_SAME * size, level.grain)
    places = np.where(np.isnan(values), np.nan, 0.0)
    places[order] += np.cumsum(behind)
    return places
