"""The answer: which option to choose, how sure that is, and what stands behind it.

Scores that were there (`decide`) and policies that asked (`of_policy`) come to a `Conclusion`, of
scores the highest of which are the best. `answer_from` makes the answer of it: on the scale that
scores were given on, and nowhere beyond its ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.answers.biases import Biases
from evenhand.answers.categories import Categories
from evenhand.answers.logged import log_of
from evenhand.answers.next_questions import NextQuestions
from evenhand.answers.page import record_of, report_of, required, rows_of
from evenhand.answers.question import Failure
from evenhand.answers.withdrawn import Withdrawals
from evenhand.arrays import Counts, Floats
from evenhand.best import Best, sign
from evenhand.errors import InputError
from evenhand.findings import Attempts
from evenhand.inference import Conclusion
from evenhand.inference.biases import TableFit
from evenhand.linear.fit import places
from evenhand.policies.base import Policy, said_by
from evenhand.policies.messages import Certainty, Estimate
from evenhand.questions import Askable, Options, Questions
from evenhand.report.model import Report, Result
from evenhand.report.words import counted, interval, number, p_value, percent, short
from evenhand.scores import Scores
from evenhand.scores.scores import Finding, Level, crossed, sums_over
from evenhand.tables import listed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.answers.of_policy import Outcome


@dataclass(frozen=True)
class Scale:
    """The lowest and highest score there is, infinite if nobody said; no estimate is beyond.

    In comparisons (``compared``) a score is a difference itself. Infinite ends of intervals stay.
    """

    low: float = -math.inf
    high: float = math.inf
    compared: bool = False

    @property
    def most(self) -> float:
        """How far apart two options may be."""
        return max(-self.low, self.high) if self.compared else self.high - self.low

    def values(self, values: Floats) -> Floats:
        """Return values as far as they may go; in comparisons they are differences."""
        return self.leads(values) if self.compared else _cut(values, self.low, self.high)

    def leads(self, leads: Floats) -> Floats:
        """Return differences as far as they may go."""
        return _cut(leads, -self.most, self.most)


def _cut(ends: Floats, low: float, high: float) -> Floats:
    return np.where(np.isfinite(ends), np.clip(ends, low, high), ends)


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
        nothing certain is said.
    loss
        What the option loses at most against the best; infinite if that is not known. Where several
        were wanted, what any that is chosen is worse than any that is not, at most.
    confidence, tolerance
        Probability that what is said here holds; how much the choice was allowed to lose.
    biases
        All biases by name, of evaluators, groups and positions, and evaluators' leniencies.
    spent, paid
        How many evaluations it rests on, and what they cost: by the questions' prices, where nobody
        said what they really did.
    stopped_because
        Why the asking ended.
    warnings
        What the scores say about the assumptions, alarms first.
    raw_choice
        Index of the option that the scores alone would have chosen; None without scores.
    ranking
        Where every option stands, the most valuable first; `standings` is the same as a frame.
    conclusion
        Where every option stands against what was wanted, its ``target``: verdicts, chances,
        places, and, the highest the best, values and leads.
    options, judges
        The options, and who gave scores, by name; nobody where that was not said.
    scope
        Whom the answer is about: one judge, these judges, or judges (and items) like these.
    asked
        What could be asked, where that was said.
    outcome
        What the policy has come to that asked: ``at_most``, ``budget``, how many more settle it by
        its ``forecast``. None where the scores were there (`decide`).
    table
        Where the scores were there: their fits.
    failures, attempts
        Questions that were given up; and how often questions were tried and failed, which
        ``attempts.by_option(answer.questions)`` and ``by_evaluator`` count. An alarm is raised
        where failures, or times, hang on options or scores.
    withdrawn
        Scores that were withdrawn in a campaign. The answer says no more than what
        also holds with those put back that were not withdrawn blindly.
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
        The lowest and highest score there is, and whether options were compared in pairs.
    best
        Whether the "high" or the "low" scores are the best. Values, biases, the scale and a bar are
        on the scale that scores were given on; leads and losses are amounts, above 0 for what is
        better.
    categories
        What options were compared inside of, if of anything.
    criteria
        The answers by each criterion of reviews alone, by its name.

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
    biases: Biases
    spent: int
    paid: float
    stopped_because: str
    warnings: tuple[Finding, ...]
    raw_choice: int | None
    ranking: tuple[Standing, ...]
    conclusion: Conclusion
    options: Options
    judges: tuple[str, ...]
    scope: str
    asked: Askable | None
    outcome: Outcome | None
    table: TableFit | None
    scale: Scale
    best: Best
    failures: tuple[Failure, ...] = ()
    attempts: Attempts = field(default_factory=Attempts)
    withdrawn: Withdrawals = field(default_factory=Withdrawals)
    withstands: float = 0.0
    next_questions: NextQuestions = field(default_factory=NextQuestions)
    assumed: str = ""
    categories: Categories | None = None
    criteria: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def bias(self) -> Estimate:
        """What is added in one group and taken off in the other; in a panel, for the own group."""
        if not self.biases or self.biases[0].kind == "leniency":
            return Estimate.without_interval()
        return replace(self.biases[0].interval, level=self.confidence)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Who looks wanted, the most valuable first; without a target the option to choose."""
        return self._named(self.conclusion.chosen)

    @property
    def inside(self) -> tuple[str, ...]:
        """Who is surely wanted, of all at once: in, above the bar, better or not worse."""
        return self._named(self.conclusion.inside)

    @property
    def outside(self) -> tuple[str, ...]:
        """Who is surely not wanted: out, below the bar, or worse."""
        return self._named(self.conclusion.outside)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Who is neither."""
        return self._named(self.conclusion.undecided)

    def _named(self, some: Sequence[int]) -> tuple[str, ...]:
        """Return names of options, the most valuable first."""
        wanted = set(some)
        return tuple(one.option for one in self.ranking if one.index in wanted)

    @property
    def expected_loss(self) -> float:
        """What the chosen are expected to lose per place, against the true best: an estimate."""
        return self.conclusion.expected_loss

    @property
    def expected_right(self) -> float:
        """How many of the chosen are expected to be wanted: an estimate."""
        return self.conclusion.expected_right

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

    @cached_property
    def questions(self) -> Questions:
        """What could be asked about the options."""
        if self.asked is None:
            assert self.table is not None
            return Questions.of(log_of(None, self.table.scores).asked)
        return Questions.of(self.asked)

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

        Columns: option, with categories the category, group (missing where there are attributes
        instead), raw (mean score), value with its interval (low, high), lead (of the chosen option
        over this one), evaluations, verdict (surely in or out, or at the line), chance, and the
        best and the worst place that it may have (rank_low, rank_high).
        """
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        return pd.DataFrame(rows_of(self))

    def standing(self, option: int) -> Standing:
        """Return where an option stands, by its index."""
        return next(standing for standing in self.ranking if standing.index == option)

    def compare(self, option: str | int, rival: str | int) -> Difference:
        """Return by how much one option is better than another, with its interval.

        For two options, by name or index, that were named without looking at the scores: Student's
        interval, standard error and p-value (of no difference, two-sided), how many evaluations the
        two have, and on how many items (in comparisons verdicts, else evaluators) both have some;
        and what the difference is at least on one side alone ('not worse by more than'). Where a
        policy looked at scores as they came, intervals hold at all times, and the p-value is NaN.

        Examples
        --------
        >>> import pandas as pd
        >>> import evenhand as eh
        >>> scores = pd.DataFrame({"option": ["Ann", "Bo"] * 4, "evaluator": list("PPQQRRSS"),
        ...                        "score": [7.0, 6.9, 6.5, 6.6, 7.2, 7.1, 6.9, 6.6]})
        >>> two = eh.decide(scores).compare("Bo", "Ann")
        >>> [round(x, 2) for x in (two.value, two.low, two.high, two.at_least)]
        [-0.1, -0.36, 0.16, -0.29]
        >>> round(two.error, 3), round(two.p_value, 2), two.evaluations, two.shared
        (0.082, 0.31, 8, {'evaluators': 4})
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


class RawScores(NamedTuple):
    """(k,) mean scores of the options, NaN without any, and how many evaluations they are of."""

    means: Floats
    counts: Counts

    @property
    def best(self) -> int | None:
        """The option of the highest mean; None without scores."""
        return int(np.nanargmax(self.means)) if self.counts.any() else None


def raw_scores(
    k: int, about: Sequence[NDArray[np.integer[Any]]], scores: Floats, times: Counts
) -> RawScores:
    """Return the mean of all scores about each of k options, by codes of the first and, in
    comparisons, of the second, for which a score has the opposite sign.
    """
    counts, sums = np.zeros(k, dtype=np.int64), np.zeros(k)
    for codes, by in zip(about, (1.0, -1.0), strict=False):
        there = (codes >= 0) & (codes < k)
        n = times[there]
        counts += np.bincount(codes[there], n, k).astype(np.int64)
        sums += np.bincount(codes[there], by * n * scores[there], k)
    with np.errstate(invalid="ignore"):
        return RawScores(sums / counts, counts)


def answer_from(
    said: Conclusion,
    options: Options,
    raw: RawScores,
    *,
    sure: bool,
    certainty: Certainty | None,
    tolerance: float,
    biases: Biases,
    judges: tuple[str, ...],
    warnings: Sequence[Finding],
    scale: Scale,
    best: Best,
    level: Level,
    **more: Any,
) -> Answer:
    """Return the answer that a conclusion comes to.

    Conclusion, raw scores, scale and level are of scores the highest of which are the best; biases
    are on the scale that scores were given on, and what is ``more`` are fields of the answer.
    """
    if len(options) == 1 and said.target.top is not None:
        said = replace(said, verdicts=("in",), chosen=(0,), loss=0.0)
        sure, certainty, warnings = True, "own scores", ()
    elif certainty == "own scores" and len(judges) == 1:
        certainty = "one judge's scores"
    said = replace(
        said,
        values=scale.values(said.values),
        leads=scale.leads(said.leads),
        loss=float(scale.leads(np.array(said.loss))),
    )
    # who is not held against the best loses what the ends of the leads say
    loss = max(0.0, -float(said.leads[:, 1].min())) if math.isnan(said.loss) else said.loss
    ranking = _ranking(options, said, raw, level, best)
    if best == "low":
        said = replace(said, target=said.target.turned)
        scale = replace(scale, low=0.0 - scale.high, high=0.0 - scale.low)
    return Answer(
        option=said.leader,
        label=options.labels[said.leader],
        sure=sure,
        certainty=certainty,
        loss=loss,
        confidence=1.0 - said.delta,
        tolerance=tolerance,
        biases=biases,
        warnings=tuple(warnings),
        raw_choice=raw.best,
        ranking=ranking,
        conclusion=said,
        options=options,
        judges=judges,
        scale=scale,
        best=best,
        **more,
    )


def _ranking(
    options: Options, said: Conclusion, raw: RawScores, level: Level, best: Best
) -> tuple[Standing, ...]:
    """Return the standings by value, of equals the chosen first; if not known, by lead."""
    values, leads = said.values, said.leads[:, 0]
    order = np.argsort(np.arange(len(options)) != said.leader, kind="stable")
    for key in (places(-leads, level.grain), places(values[:, 0] - level.origin, level.grain)):
        order = order[np.argsort(key[order], kind="stable")]  # NaN last
    means = raw.means
    if best == "low":
        means, values = 0.0 - means, 0.0 - values[:, [0, 2, 1]]
    columns = [means, *values.T, leads, raw.counts]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    labels = options.labels
    return tuple(Standing(x, labels[x], options.group_of(x), *rows[x]) for x in order.tolist())


def with_notes(found: Sequence[Finding], notes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, alarms first, and notes on what none of them speaks of."""
    spoken_of = {finding.assumption for finding in found}
    both = [*found, *(note for note in notes if note.assumption not in spoken_of)]
    return tuple(sorted(both, key=lambda finding: not finding.alarm))


def scope_of(judges: Sequence[str], these: bool, on_items: bool = False) -> str:
    """Return whom an answer is about."""
    if not judges:
        return "items like these" if on_items else "scores like these"
    who = "this judge" if len(judges) == 1 else "these judges"
    if len(judges) > 1 and not these:
        return f"judges{' and items' if on_items else ''} like these"
    return f"{who}{', items like these' if on_items else ''}"


@dataclass(frozen=True)
class Difference(Result):
    """By how much one option is better than another, with its interval."""

    # Probabilities are for options that were named without looking at the scores.

    option: str
    rival: str
    value: float
    low: float  # infinite where nothing is known
    high: float
    at_least: float  # one-sided bound: not worse by more than -at_least
    level: float  # probability of each of the two, the interval and at_least
    error: float = math.nan  # standard error; NaN where a policy looked, or an alarm stands
    p_value: float = math.nan  # two-sided, of no difference
    evaluations: int = 0  # of the two
    shared: Mapping[str, int] = field(default_factory=dict)  # what both have, by kind

    def _report(self) -> Report:
        return Report(f"{short(self.option)} against {short(self.rival)}", self._verdict())

    def _record(self) -> dict[str, Any]:
        return vars(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.report.pictures import ForestRow, draw_forest, new_figure  # noqa: PLC0415

        if axes is None:
            axes = new_figure(7.0, 2.2, self._verdict(), 80).subplots()
        row = ForestRow(self.option, self.value, self.low, self.high)
        draw_forest(axes, [row], zero=True, fewest=1)
        axes.set_xlabel(f"better than {short(self.rival)} by", fontsize=9, parse_math=False)
        return axes.figure.figure

    def _verdict(self) -> str:
        """Return the difference, and how sure it is, in a sentence or two."""
        name, other = short(self.option), short(self.rival)
        if math.isnan(self.value):
            return f"The scores do not compare {name} with {other}."
        found, word = Estimate(self.value, self.low, self.high, self.level), "better"
        if self.value < 0.0:
            found, word = -found, "worse"
        said = f"{name} is {word} than {other} by {interval(found)}"
        if not math.isfinite(self.at_least):
            return f"{said}; how sure that is, these scores do not say."
        bound = f"better by at least {number(self.at_least)}"
        if self.at_least <= 0.0:
            bound = f"not worse by more than {number(-self.at_least)}"
        said = f"{said}; {bound}. Each is {percent(self.level)} sure."
        if math.isnan(self.p_value):
            return said
        both = "".join(f", {n:,} {kind} in common" for kind, n in self.shared.items())
        on = f"{counted(self.evaluations, 'evaluation')}{both}"
        return f"{said} Standard error {number(self.error)}, {p_value(self.p_value)}; {on}."


def difference(answer: Answer, option: str | int, rival: str | int) -> Difference:
    """Return by how much one option of an answer is better than another."""
    a, b = (_place(answer, name) for name in (option, rival))
    if a == b:
        raise InputError(f"two options are needed; got {answer.options.labels[a]!r} twice.")
    said, level = answer.conclusion, answer.confidence
    policy = None if answer.outcome is None else answer.outcome.policy
    value = sign(answer.best) * (answer.standing(a).value - answer.standing(b).value)
    found: Floats = np.array([value, -math.inf, math.inf, -math.inf])
    error = chance = math.nan
    if answer.option in (a, b):
        found[:3] = said.leads[b] if answer.option == a else -said.leads[a, [0, 2, 1]]
        found[3] = found[1]
    if said.fit is not None:
        spread = said.compare(a, b)
        if answer.option not in (a, b) or math.isnan(found[0]):
            found[:3] = spread.ends(1.0 - level)[0]
        found[3] = spread.ends(2.0 * (1.0 - level))[0, 1]
        if math.isfinite(found[3]) and not answer.contradicted:
            error = math.sqrt(float(spread.variance[0]))
            chance = 2.0 * float(spread._replace(estimate=np.abs(spread.estimate)).above[0])
    elif policy is not None and math.isinf(found[2] - found[1]):
        by_policy = said_by(policy, "difference", a, b)
        found = found if by_policy is None else by_policy
    labels = answer.options.labels
    if answer.contradicted:
        found, level = np.array([found[0], -math.inf, math.inf, -math.inf]), 0.0
    value, low, high, least = answer.scale.leads(found).tolist()
    if (said.verdicts[a], said.verdicts[b]) == ("in", "out"):  # then it is above 0
        low = max(low, 0.0)
    n = answer.standing(a).evaluations + answer.standing(b).evaluations
    shared = {} if answer.table is None else _shared(answer.table.scores, labels[a], labels[b])
    ends = (value, low, high, least, level)
    return Difference(labels[a], labels[b], *ends, error, chance, n, shared)


def _shared(scores: Scores, option: str, rival: str) -> dict[str, int]:
    """Return on how many items (in comparisons verdicts, else evaluators) two options both are."""
    names, codes = scores.option.names, scores.option.codes
    first, second = (codes == (names.index(x) if x in names else -1) for x in (option, rival))
    if scores.rival is not None:
        ends = [scores.rival == names.index(x) for x in (option, rival)]
        return {"verdicts": int((first & ends[1]).sum() + (second & ends[0]).sum())}
    kinds = {"items": scores.item, "clusters": scores.cluster}
    found = {}
    for kind, factor in (kinds if scores.item else {"evaluators": scores.evaluator}).items():
        if factor is not None:
            block, n = crossed(*(one.codes for one in (factor, scores.event) if one is not None))
            both = (sums_over(block, n, first) > 0) & (sums_over(block, n, second) > 0)
            found[kind] = int(both.sum())
    return found


def _place(answer: Answer, option: str | int) -> int:
    """Return the index of an option, by its name or index."""
    labels = answer.options.labels
    if isinstance(option, str) and option in labels:
        return labels.index(option)
    if isinstance(option, int | np.integer) and 0 <= option < len(labels):
        return int(option)
    raise InputError(
        f"there is no option {option!r}; say one of {listed(labels, 5)}, or its index."
    )
