"""`decide`: which option is best by scores that exist, how sure that is, and what to ask next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer, answer_from, answer_of, as_scored
from evenhand.answers.categories import Categories, categories_of
from evenhand.answers.choose import notes_on, whole_number
from evenhand.answers.logged import SOMEBODY, Bias, Log, Place, log_of
from evenhand.answers.next_questions import NextQuestions, next_items, next_questions
from evenhand.answers.placing import Placing, placing_of
from evenhand.answers.scale import compares
from evenhand.arrays import Indices, is_number
from evenhand.assumptions import taken_for_granted
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.dependence import FEW_CLUSTERS, findings, rivals_in_orders, together
from evenhand.auditing.dependence import copies as copied
from evenhand.auditing.diagnosis import diagnose, ends
from evenhand.auditing.effects import Effects, two_way
from evenhand.auditing.individual_biases import of_evaluators, of_favoured
from evenhand.auditing.one_baseline import scores_by_baseline
from evenhand.auditing.scale_use import common_bias, leads_by_scale
from evenhand.auditing.shortlists import Shortlist, shortlist
from evenhand.best import Best, sign, turned
from evenhand.certainty.aim import model_of
from evenhand.certainty.any_design import by_any_design
from evenhand.certainty.by_items import by_items
from evenhand.certainty.choice import checked_aim
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.look import difference_by
from evenhand.certainty.models import Fit, in_pairs
from evenhand.certainty.planned_choice import PlannedChoice
from evenhand.inference.target import Target
from evenhand.checks import Checks
from evenhand.errors import InputError
from evenhand.numerics.intervals import Estimate
from evenhand.policies.base import Policy
from evenhand.policies.conclusion import Conclusion, Scope, checks_of, conclusion_of
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Feedback
from evenhand.policies.state import restore
from evenhand.questions import Askable, Questions
from evenhand.questions.identifiable import identified_by
from evenhand.questions.inputs import trusted_among
from evenhand.readers import read_scores
from evenhand.scores import Scores
from evenhand.scores.baseline import against_baseline
from evenhand.scores.grades import Grades
from evenhand.scores.read import Groups
from evenhand.scores.scores import Finding
from evenhand.tables import listed

Assigned = Literal["before", "adaptively"] | Policy | Mapping[str, Any]

_MOST_NEXT = 1_000
_BATCHES = 1_000  # in which scores are checked one after another, at most
_MOST_PARTS = 6  # that are named, of options that cannot be compared
_NOBODY_SAID = (
    "Nobody says who gave the scores: they are taken to be independent, and what lenient and "
    "severe evaluators add is part of the noise. Where some scored only some options it is part of "
    "the values, too: name the column of the evaluators if there is one."
)
_NOBODY_PARTIAL = (
    "Nobody is taken to favour anybody: options have groups, and nobody says of which groups the "
    "evaluators are (evaluator_group)."
)
_BY_TEST = ", by the winner test,"
_BEFORE = (
    "What was scored is taken to have been decided without looking at any score; so one look will "
    f"do{_BY_TEST} and no price is paid for looking at any time. If scores decided what "
    "was scored next, or when to stop, say that they were assigned 'adaptively'."
)
_ADAPTIVELY = (
    "What was scored may have been chosen by looking at earlier scores; so bounds are used that "
    "hold whoever chose what, at any time. They are wider; scores that were assigned without "
    "looking at any are assigned 'before'."
)
_ITEMS = "Options are compared on {items}, and {what} are what was drawn independently: "
_OWN_ITEMS = (
    "Every option has items of its own, {items} in all, which are taken to be drawn alike: "
)
_ERRORS = "errors are by {what}, however many scores each has. "
_TASTES = "Judges are taken to be drawn, too, so that their tastes count among the errors. "
_ANY_SCORES = "It is sure for any scores from {low} to {high}, however they are distributed."
_FEW = (
    "Errors are by {n} clusters: so few tell little of others like them. If no others than these "
    "matter, say cluster=None."
)
_EQUAL = (
    "All scores are equal. That others are not worse by more than the tolerance rests on the "
    "stated scale: were one worse, some of so many scores would have been worse."
)
_USUAL_SCORES = (
    "It is sure if scores scatter about as they do here. A rare score at an end of the scale, from "
    "{low} to {high}, that is not among them could undo it: for any scores whatever, these are too "
    "few."
)
_ONLY_VOTES = (
    "All scores are 0 or 1, so they are taken for votes, and nothing is said to be larger than "
    "that allows. State the scale: with it more can be sure."
)
_BY_ONE = (
    "{whose!r} gave {n} of the {all} scores, so this is in the main what {whose!r} prefers. If "
    "others are to be trusted more, as people are beside a model, name them: trusted=."
)
_MOSTLY = 0.6  # of all scores
_VOTES = 20  # scores, at least, by which votes are told from marks
_UNTIMED = {
    "before": "No time column.",
    "adaptively": "What was scored next may have depended on the scores before.",
}
_POLICY = "What was scored was chosen by the policy {name!r}, whose own answer this is."


class _CorrectedChoice(PlannedChoice):
    """One look at scores that exist; no campaign has it, whose record others check."""

    corrects = True


def decide(
    questions: Any = None,
    scores: Any = None,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    *,
    top: int | None = None,
    bar: float | None = None,
    against: str | None = None,
    within: str | Mapping[str, str] | None = None,
    option: str = "option",
    evaluator: str | None = "evaluator",
    score: str = "score",
    rival: str | None = "rival",
    item: str | Sequence[str] | None = "item",
    event: str | Sequence[str] | None = "event",
    cluster: str | Sequence[str] | None = "cluster",
    option_group: Groups = "option_group",
    evaluator_group: Groups = "evaluator_group",
    partial: str | None = None,
    time: str | None = None,
    attributes: Sequence[str] | None = None,
    scale: tuple[float, float] | None = None,
    best: Best | None = None,
    wide: bool | Sequence[str] = False,
    repeats: bool = False,
    missing: Literal["refuse", "drop"] = "refuse",
    decimal: str | None = None,
    grades: Grades = None,
    copies: Literal["refuse", "drop"] = "refuse",
    bias: Bias = "common",
    position: bool = True,
    assigned: Assigned = "before",
    noise_scale: float | None = None,
    deviation: float | None = None,
    scope: Scope = "like these",
    trusted: Sequence[str] | str | None = None,
    next_n: int = 5,
) -> Answer:
    """Say which option is best by scores that exist, how sure that is, and what to ask next.

    Nothing is asked. The answer is that of `choose`: ranking and biases with their intervals,
    checks of the assumptions, what raw scores would have chosen; and the best next questions.

    Parameters
    ----------
    questions
        What could be asked: `Questions`; or the options, as an `ActionSet`, names, a mapping to
        groups, or a frame. None: what the scores show, every evaluator about every option.
    scores
        A frame of pandas, polars or pyarrow, the path of a table (CSV, Parquet, Excel) or of a log
        of an evaluation tool (`read_scores`), or `Scores`: a row for each score. It may be the only
        argument. An evaluator who scored an option several times said so several times. Of a
        campaign's export, what was withdrawn or came late is left out.
    confidence
        Probability with which what the answer says shall hold.
    tolerance
        How much the choice may lose against the best, in units of the scores; with ``top``, at each
        place. By how much an option may fall short of the ``bar``, or be worse than the one it is
        held ``against``: 'not worse by more than'.
    top, bar, against
        What is wanted instead of the best option; one of them. The ``top`` best, such as the ten
        that are funded; those that are worth more than a ``bar``; those that are better than one
        option, by its name. For each option the answer then says whether it is surely wanted,
        surely not, or at the line, of all options at once; and how probable it is
        (``answer.placing``, ``answer.standings``).
    within
        Column with the category of every option, or a mapping from options to categories: options
        are compared only inside their category, and ``top`` (1 if not said) is of each. All scores
        are fitted at once, so that evaluators have one leniency, and one bias, across categories;
        what is sure is so of all of them together.
    option, evaluator, score, rival
        The columns with these parts. In comparisons the score says by how much the option is
        better than its rival. A column of that name has the part where nothing else is said, if
        there is one; None says that nothing has it. So for the other parts.
    item
        Column, or columns, with what options were tried on, such as prompts. Scores on an item are
        not independent tries: errors are then by items.
    event
        Column with the event; there may be one only.
    cluster
        Column, or columns, with what scores hang together by, such as the template that items were
        made from, or a session. Errors are then by clusters. Where nothing is named, a further
        column of the table by which scores hang together beyond chance is an alarm; None says
        that there are no clusters.
    option_group, evaluator_group, partial
        Columns with groups, or mappings from names to groups; or the column with how partial the
        evaluator is to the option.
    time
        Column by which scores are put in order; rows are in order if not given.
    attributes
        Columns that scores may react to and value does not, such as length, where all options were
        compared with one: they are taken off. If not said, the lengths of answers; (): none.
    best
        Whether the "high" or the "low" scores are the best, as where 1 is the best mark or place.
        Then a ``bar`` is what they may be worth at most, and in comparisons a score below 0 says
        that the option is better. Values, the bar and biases stay on the scale of the scores; leads
        and tolerances are amounts. ``scale=(5, 1)`` says the same.
    scale, wide, missing, decimal, grades, copies
        How the table is read: the lowest and highest score that can be given (where it is sure, the
        answer says whether it is so for any scores between them); whether evaluators are columns;
        what becomes of rows with empty cells; what stands before decimals; words that scores are,
        the best first; what says that there is none; what becomes of copied rows. See
        `evenhand.read_scores`.
    repeats
        Whether an evaluator may have scored the same thing several times, being asked again.
    bias
        Whose bias it is, where the scores show the panel: "common", "evaluator" or "group".
    position
        Whether judges may favour what is named first, where the scores show comparisons. False
        where nobody knew which came first, or it was drawn anew each time and is not in the table.
    assigned
        Who chose what was scored. "before": somebody who looked at no score. "adaptively": it may
        have depended on scores before; rows are in the order in which they were given. A policy
        that was told these scores, or its state: that policy did.
    noise_scale
        Standard deviation of a score, if it is known; else it is estimated.
    deviation
        0 says that values follow from the features exactly; see `choose`.
    scope
        Whom the answer is about. "like these": judges like those who gave the scores. What a judge
        thinks of an option is then one opinion, however often it was asked for, and on however many
        items. "these": these judges alone.
    trusted
        Evaluators, such as people beside a model, by whose scores those of the others are
        corrected: the others may like single options, whatever the reason, and what is sure has to
        be confirmed by those who are trusted. By default who costs five times as much, if
        ``questions`` have prices; else all alike.
    next_n
        How many next questions are wanted; 0 for none.

    Returns
    -------
    Answer
        With ``next_questions``, and in ``assumed`` what is taken for granted of who chose what was
        scored. Where the scores do not compare all options nothing is sure, and the next questions
        are those that would.

    Examples
    --------
    >>> import pandas as pd
    >>> import evenhand as eh
    >>> judges, teams = ["P", "Q", "R", "S"], {"Ann": "fr", "Bo": "it", "Cy": "us"}
    >>> table = pd.DataFrame([(name, judge, teams[name]) for name in teams for judge in judges],
    ...                      columns=["option", "evaluator", "option_group"])
    >>> table["score"] = [9.1, 8.2, 8.9, 8.1, 5.2, 4.8, 5.0, 4.1, 4.0, 3.2, 3.9, 3.1]
    >>> answer = eh.decide(table)
    >>> answer.label, answer.sure, answer.spent
    ('Ann', True, 12)
    >>> two = eh.decide(table, top=2)
    >>> two.inside, two.outside, two.undecided
    (('Ann', 'Bo'), ('Cy',), ())
    """
    if within is not None and top is None:
        if bar is not None or against is not None:
            raise InputError(
                "within= goes with top: a bar is the same for all, and against one option stand "
                "those of its own category: give these rows."
            )
        top = 1
    target = Target.of(top, bar, against, tolerance)
    if scores is None:
        questions, scores = None, questions
    if scores is None:
        raise InputError("scores are needed: a frame, the path of a file, or Scores.")
    next_n = whole_number("next_n", next_n, 0, _MOST_NEXT)
    confidence, tolerance = checked_aim(confidence, tolerance)
    if scope not in ("these", "like these"):
        raise InputError(f"scope must be 'these' or 'like these'; got {scope!r}.")
    table = read_scores(
        scores,
        option=option,
        evaluator=evaluator,
        score=score,
        rival=rival,
        item=item,
        event=event,
        cluster=cluster,
        option_group=option_group,
        evaluator_group=evaluator_group,
        partial=partial,
        time=time,
        scale=scale,
        best=best,
        wide=wide,
        # where the questions are given, or who asked them, that says how often each may be asked
        repeats=repeats
        or isinstance(questions, Questions)
        or isinstance(assigned, Policy | Mapping),
        missing=missing,
        decimal=decimal,
        grades=grades,
        copies=copies,
        beside=cluster == "cluster" or within is not None,
        telling=True,
        attributes=attributes,
        lengths=True,
    )
    if target is not None and table.best == "low":
        target = replace(target, best="low").turned
    if questions is None and assigned == "before":
        table = against_baseline(table)
        if table.baseline is not None:
            table = scores_by_baseline(table, confidence)
    place = table.where
    if target is not None and assigned != "before":
        raise InputError(
            "top, bar and against need scores that were assigned before any was seen "
            "(assigned='before'): they are for one look."
        )
    if isinstance(assigned, Policy | Mapping):
        answer = _by_policy(assigned, questions, table.maximised, place, tolerance, deviation)
        return as_scored(answer, table.best)
    if assigned not in ("before", "adaptively"):
        raise InputError(
            "assigned must be 'before', 'adaptively', or the policy that chose what was scored (or "
            f"its state); got {assigned!r}."
        )
    # Policies and fits maximise, so that they have the scores turned where the lowest are the best;
    # an audit speaks of the scores as they were given. `as_scored` turns the answer back.
    given, table = table, table.maximised
    log = log_of(questions, table, bias, position, place)
    if trusted is not None:
        names = trusted_among(trusted, log.questions.evaluators)
        log = replace(log, asked=log.questions._changed(trusted=names))
    log = replace(log, asked=_exact(log.asked, deviation))
    categories = None
    if target is not None:
        target = _fitting(target, log)
    if target is not None and target.top is not None and within is not None:
        labels = log.questions.options.labels
        categories = categories_of(within, table, labels, target.top)
    compared = _compared(log)
    if not compared:
        log = replace(log, asked=_comparable(log.questions))
    whole, log = log, log.centred(table.level._replace(sign=sign(given.best)))
    one = target is None or (target.top == 1 and categories is None)
    # what is sure without a tolerance is so with it; it is for the target, not for the best
    slack = tolerance if one else 0.0
    terms = log, compared, assigned, confidence, noise_scale, scope, table.scale
    said, fit = _concluded(*terms, 0.0)
    if slack and said.decision.loss > 0.0:
        said, fit = _concluded(*terms, slack)
    several = table.evaluator is not None and len(table.evaluator) > 1
    # where scores chose what was scored next, what looked good by luck falls back: no drift
    timed = given if assigned == "before" else replace(given, time=None)
    effects = two_way(timed) if several else None
    audited = None if effects is None else common_bias(effects, confidence)
    ours = -audited if audited is not None and given.best == "low" else audited
    if effects is not None and ours is not None and scope == "like these":
        said = _of_others_too(said, effects, ours)
    tested = {"outliers"} if effects is not None and effects.freedom > 0 else set()
    if tested and timed.time is not None and np.ptp(timed.time) > 0.0:
        tested.add("drift")
    untimed = "" if timed.time is not None else _UNTIMED[assigned]
    said = replace(said, untimed=untimed, tested=frozenset(tested))
    if not untimed and fit is None:
        said = _in_order(said, log, noise_scale)
    beside = table.beside if cluster == "cluster" else {}
    checked = findings(together(table, beside)) if table.cluster is None else []
    if effects is None or effects.freedom <= 0:
        checked += ends(given)
    if effects is not None and audited is not None:
        checked += [*copied(given), *diagnose(effects, audited, for_choice=True)]
        if said.decision.loss <= slack and said.decision.label in table.option.names:
            leader = table.option.names.index(said.decision.label)
            doubts = rivals_in_orders(table, leader, 1.0 - confidence)
            doubts += leads_by_scale(table, leader, 1.0 - confidence, slack)
            checked += (
                _of_tolerance(doubts, said, 1.0 - confidence)
                if said.decision.loss > 0.0
                else doubts
            )
    answer = answer_from(
        said,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=deviation == 0,
        stopped_because=None if compared else _apart(log),
        notes=_notes(log, said, given),
        checked=checked,
        scale=turned((0.0, 1.0), given.best) if _only_votes(given) else table.scale,
        variances={} if effects is None else _own_variances(effects, said),
    )
    if one and answer.sure and table.scale is not None and fit is None and assigned == "before":
        answer = replace(answer, warnings=(*answer.warnings, _on_scale(whole, answer, given)))
    answer = replace(
        answer,
        assumed=_ADAPTIVELY
        if assigned == "adaptively"
        else _items(log, fit) + (_BEFORE if one else _BEFORE.replace(_BY_TEST, ",")),
    )
    if target is not None:
        short = None if categories else _shortlist(table, effects, ours, target)
        answer = _aimed(answer, target, categories, short, log, fit, noise_scale, next_n)
        return as_scored(answer, given.best)
    settled = answer.certainty is not None and answer.loss <= answer.tolerance
    wanted = 0 if settled or answer.alarms else next_n
    asked = _next(log, fit, answer, Target(top=1, tolerance=tolerance), noise_scale, wanted)
    return as_scored(replace(answer, next_questions=asked), given.best)


def _fitting(target: Target, log: Log) -> Target:
    """Return a target that these options can have, or say why they cannot."""
    return target.among(log.questions.options.labels, compares(log.questions))


def _shortlist(
    table: Scores, effects: Effects | None, bias: BiasEstimate | None, target: Target
) -> Shortlist | None:
    """Return what the bias and leniency change among those wanted; None where nobody can say."""
    if effects is None or bias is None or table.item is not None:
        return None
    if table.event is not None:
        return None
    return shortlist(table, bias, target, surely=False)


def _aimed(
    answer: Answer,
    target: Target,
    categories: Categories | None,
    short: Shortlist | None,
    log: Log,
    fit: ItemsFit | None,
    noise_scale: float | None,
    n: int,
) -> Answer:
    """Return an answer that says where options stand against a target, and what to ask next."""
    said, alike = answer.conclusion, None
    if fit is None and answer.comparable and not answer.conclusion.silent:
        alike = _alike(log, noise_scale, said.scope)
    values = np.empty(len(answer.ranking))
    for one in answer.ranking:
        values[one.index] = one.value if not answer.compared else -one.lead
    placing = placing_of(
        said,
        values,
        target,
        1.0 - answer.confidence,
        sure=answer.sure,
        holds=not answer.contradicted and (answer.comparable or categories is not None),
        scale=answer.scale,
        alike=None if alike is None or hasattr(said.fit, "trusted") else alike,
        shortlist=short,
        categories=categories,
    )
    placing = _without_doubted(placing, answer)
    same = _equal_scores(log, target, 1.0 - answer.confidence, said.scope, answer.scale)
    if same and not answer.contradicted:
        verdicts = ("not worse" if x in same else one for x, one in enumerate(placing.verdicts))
        placing = replace(placing, verdicts=tuple(verdicts), chosen=tuple(same))
        answer = replace(
            answer, warnings=(*answer.warnings, Finding("bounds", _EQUAL, alarm=False))
        )
    sure, loss = answer.sure, answer.loss
    if target.top != 1 or categories is not None:
        sure, loss = placing.settled, placing.loss if target.top else loss
    answer = replace(answer, placing=placing, sure=sure, loss=loss)
    if sure or answer.contradicted or n == 0:
        return answer
    found = _next(log, fit, answer, target, noise_scale, n)
    if fit is not None and not placing.best:  # how many items settle who leads is beside it
        names = listed([*answer.undecided, *([target.against] if target.against else [])], 4)
        advice = f"Try {names} on new items." if answer.undecided else found.advice
        found = NextQuestions(found, math.nan, advice)
    return replace(answer, next_questions=found)


def _without_doubted(placing: Placing, answer: Answer) -> Placing:
    """Return a placing without what rests on leads that an alarm concerns."""
    labels, target = answer.options.labels, placing.target
    verdicts, loss = list(placing.verdicts), placing.loss
    for a, b in (pair for one in answer.alarms for pair in one.pairs):
        both = [labels.index(a), labels.index(b)]
        beside = target.against in (a, b)
        if beside or (target.top not in (None, 1) and len({*both} & {*placing.chosen}) == 1):
            for x in both:
                verdicts[x] = "itself" if verdicts[x] == "itself" else "open"
            loss = math.inf
    return replace(placing, verdicts=tuple(verdicts), loss=loss)


def _equal_scores(
    log: Log, target: Target, delta: float, scope: Scope, scale: tuple[float, float] | None
) -> list[int]:
    """Return who is surely not worse than the one that all are held against, by more than the
    tolerance ε, where all scores on a scale of width W are equal.
    """
    # If x is worse by more than ε on average, its scores are lower on a share of ε/W at least of
    # what is drawn, since no difference is below −W: none of n is, with a chance of (1 − ε/W)^n.
    questions, slack = log.questions, target.tolerance
    if target.against is None or scale is None or not slack or np.ptp(log.scores) > 0.0:
        return []
    width, option = scale[1] - scale[0], questions.about[log.which, 0]
    judges, drawn = questions.evaluator[log.which], None
    if log.items is not None:  # judges who never differ on any are taken for one
        drawn = log.items if log.clusters is None else log.clusters
    elif scope == "like these" and len(np.unique(judges)) > 1:
        drawn = judges
    rival = questions.options.labels.index(target.against)
    found = []
    for x in range(len(questions.options)):
        mine, theirs = option == x, option == rival
        n = min(int(mine.sum()), int(theirs.sum()))
        if drawn is not None:
            n = min(n, len(np.intersect1d(drawn[mine], drawn[theirs])))
        chance = n * math.log1p(-min(slack / width, 1.0 - 1e-12))
        if x != rival and chance < math.log(delta / max(len(questions.options) - 1, 1)):
            found.append(x)
    return found


def _alike(log: Log, noise_scale: float | None, scope: Scope) -> Fit:
    """Return least squares as if all scores were as loud: what chances are worked out by."""
    # of a few scores an option's own noise is known so badly that chances by it are worse
    questions, told = log.questions, log.feedback
    if questions.noise is not None:
        noise = questions.noise
        told = Feedback(told.counts, told.sums / noise, told.sums_of_squares / noise**2)
    if scope == "like these":
        told = in_pairs(questions, told)
    return model_of(log.asked).fit(told, noise_scale)


def _only_votes(table: Scores) -> bool:
    """Tell whether all scores are 0 or 1, on a scale that is not stated."""
    # A rare score that nobody has given yet could lie anywhere, so this ends what is said of sizes
    # and never makes a choice sure.
    y = table.score
    if table.scale is not None or table.rival is not None or len(y) < _VOTES:
        return False
    return bool(((y == 0.0) | (y == 1.0)).all() and y.min() < y.max())


def _of_others_too(said: Conclusion, effects: Effects, audited: BiasEstimate) -> Conclusion:
    """Return a conclusion with the audit's interval of the common bias."""
    # Its error has in it how evaluators differ, and how they are towards single options
    # (`auditing.bias`); that of least squares has noise alone, by guesses from a few scores each.
    own = [column for column, _ in said.biases if column.kind == "bias"]
    if not effects.told or len(own) != 1 or own[0].evaluator is not None:
        return said
    if not math.isfinite(audited.high - audited.low):
        return said

    def theirs(one: Estimate) -> Estimate:
        below, above = audited.value - audited.low, audited.high - audited.value
        return replace(one, low=one.value - below, high=one.value + above)

    biases = [(c, theirs(one) if c is own[0] else one) for c, one in said.biases]
    return replace(said, biases=biases, bias=theirs(said.bias))


def _own_variances(effects: Effects, said: Conclusion) -> dict[str, float]:
    """Return the audit's variances of biases of single evaluators, or groups, by name."""
    # Where scores of options by evaluators are all there is, both fit the same biases; an audit
    # knows who is noisy, and what evaluators see in options.
    scores = effects.scores
    if scores.rival is not None or scores.item is not None or not effects.told:
        return {}
    found: dict[str, float] = {}
    of_one = [c for c, _ in said.biases if c.kind == "bias" and (c.evaluator or c.group)]
    for each, whose in ((of_evaluators, "evaluator"), (of_favoured, "group")):
        names = {getattr(column, whose): column.name for column in of_one}
        if not any(names):
            continue
        audited = each(effects, 0.95)
        for place, variance in zip(audited.own.who.tolist(), audited.own.variance, strict=True):
            if (name := names.get(audited.names[place])) is not None and np.isfinite(variance):
                found[name] = float(variance)
    return found


def _exact(asked: Askable, deviation: float | None) -> Askable:
    """Return what was asked, of options that are what their features say if they are exact."""
    if deviation is not None and (not is_number(deviation) or deviation < 0.0):
        raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
    if isinstance(asked, ActionSet) or deviation != 0:
        return asked
    return asked.with_exact_features()


def _compared(log: Log) -> bool:
    """Tell whether the scores compare all options with one another."""
    if isinstance(log.asked, ActionSet):
        return True
    seen = log.questions._only(log.seen)
    if not seen.has_arrow_form:
        return _n_parts(seen) == 1
    told = seen.panel_form(np.arange(len(seen)), np.ones(len(seen)))
    return bool(np.isfinite(told.lead_variances(0, np.arange(len(seen.options)))).all())


def _comparable(asked: Questions) -> Questions:
    """Return what could be asked, and what it takes to compare all options where that does not."""
    if _n_parts(asked) == 1:
        return asked
    return asked.adding(asked._changed(capacity=None).check().advice)


def _n_parts(questions: Questions) -> int:
    """Return into how many parts options fall that these questions do not compare."""
    return int(identified_by(questions, np.arange(len(questions))).classes().max()) + 1


def _concluded(
    log: Log,
    compared: bool,
    assigned: str,
    confidence: float,
    noise_scale: float | None,
    scope: Scope,
    scale: tuple[float, float] | None,
    tolerance: float,
) -> tuple[Conclusion, ItemsFit | None]:
    """Return what scores come to that were assigned like that, and on items their fit by items."""
    which, y = log.which.tolist(), log.scores.tolist()
    settings: dict[str, Any] = {"confidence": confidence, "tolerance": tolerance}
    level = log.level
    if log.items is not None:
        if assigned == "adaptively":
            raise InputError(
                "scores on items that were assigned adaptively cannot be decided by: errors by "
                "items take what was scored to be fixed. Leave out item, or say assigned='before'."
            )
        if noise_scale is not None:
            raise InputError("on items the noise is heard from items: leave out noise_scale.")
        if log.clusters is not None:
            settings["clusters"] = log.clusters.tolist()
        settings |= {"judges_too": scope == "like these", "scale": scale, "level": level}
        return by_items(log.asked, which, log.items.tolist(), y, **settings)
    settings["noise_scale"] = noise_scale
    if assigned == "adaptively":
        return by_any_design(log.asked, which, y, level=level, **settings), None
    seen = log.seen
    few = compared and isinstance(log.asked, Questions) and len(seen) < len(log.asked)
    used = log.among(seen) if few else log
    told = used.feedback
    settings |= {"scope": scope, "grain": level.grain}
    policy = _CorrectedChoice(used.asked, planned=told.counts, **settings)
    checks_of(policy).level = level
    _tell(policy, told)
    checks_of(policy).look()
    said = conclusion_of(policy)
    # what it was told is less than the scores, so that it cannot go on with others
    values = None if said.values is None else said.values + level.origin
    found = policy.inference
    said = replace(
        said,
        values=values,
        policy=None,
        silent=found.silent,
        fit=found.fit,
        unit=found.unit,
    )
    return _put_back(said, log, seen) if few else said, None


def _of_tolerance(found: Sequence[Finding], said: Conclusion, failure: float) -> list[Finding]:
    """Return alarms at a choice that is sure only within a tolerance: they withdraw what that adds,
    and no lead that is sure by itself.
    """
    assert said.decision.leads is not None
    option, labels = said.decision.option, said.questions.options.labels
    least = said.decision.leads[:, 1].copy()
    if said.fit is not None:
        least[:] = [difference_by(said.fit, option, x, failure)[-1] for x in range(len(labels))]
    least[option] = np.inf
    close = np.flatnonzero(least <= max(float(least.min()), 0.0)).tolist()
    pairs = tuple((said.decision.label, labels[x]) for x in close)
    return [
        replace(one, pairs=tuple(pair for pair in pairs if pair in one.pairs) or pairs)
        for one in found
    ]


def _tell(policy: Policy, told: Feedback) -> None:
    """Tell a policy all scores that were planned."""
    asked = np.zeros_like(told.counts)
    while (more := policy.ask(pending=asked).counts).any():  # a long plan comes in parts
        asked = asked + more
    policy.tell(told)


def _in_order(said: Conclusion, log: Log, noise_scale: float | None) -> Conclusion:
    """Return a conclusion with checks that have seen the scores one after another."""
    questions, q = log.questions, len(log.questions)
    checks = Checks(questions, noise_scale=noise_scale, level=log.level)
    y = log.scores if questions.noise is None else log.scores / questions.noise[log.which]
    for some in np.array_split(np.arange(len(y)), min(len(y), _BATCHES)):
        parts = (None, y[some], y[some] ** 2)
        told = Feedback(*(np.bincount(log.which[some], part, q) for part in parts))
        checks.take(*told.parts)
    checks.look()
    timed = [one for one in checks.findings() if one.assumption in ("drift", "dependence")]
    warned = (*timed, *(said.decision.warnings or said.findings))
    decision = replace(said.decision, warnings=warned)
    return replace(said, checks=checks, decision=decision, findings=(*timed, *said.findings))


def _put_back(said: Conclusion, log: Log, seen: Indices) -> Conclusion:
    """Return what was concluded of the questions that were answered, among all there are."""

    def moved(findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(
            replace(one, options=tuple(int(seen[x]) for x in one.options)) for one in findings
        )

    limits = Limits(log.questions)
    limits.asked = log.feedback.counts
    return replace(
        said,
        actions=log.asked,
        checks=said.checks.extended(log.asked, seen),
        findings=moved(said.findings),
        decision=replace(said.decision, warnings=moved(said.decision.warnings)),
        may_ask=bool(limits.left(np.zeros_like(limits.asked)).any()),
    )


def _on_scale(log: Log, answer: Answer, table: Scores) -> Finding:
    """Return whether a choice is sure for any scores on the scale, and not of usual noise alone."""
    told = log.feedback
    policy = PlannedChoice(
        log.asked,
        planned=told.counts,
        confidence=answer.confidence,
        tolerance=answer.tolerance,
        bounds=turned(table.scale, table.best),
        scope=answer.conclusion.scope,
    )
    _tell(policy, told)
    found = policy.inference.certain == answer.option
    text, scale = _ANY_SCORES if found else _USUAL_SCORES, table.scale or (-math.inf, math.inf)
    return Finding("bounds", text.format(low=f"{scale[0]:g}", high=f"{scale[1]:g}"), alarm=False)


def _by_policy(
    given: Policy | Mapping[str, Any],
    questions: Any,
    table: Scores,
    place: Place,
    tolerance: float,
    deviation: float | None,
) -> Answer:
    """Return the answer of the policy that chose what was scored, if it was told the scores."""
    policy = given if isinstance(given, Policy) else restore(given)
    if isinstance(questions, Questions | ActionSet) and questions != policy.actions:
        raise InputError(
            f"the policy is about other questions ({policy.actions!r}) than those given "
            f"({questions!r}); give the same to both, or None."
        )
    told = log_of(policy.questions, table, place=place).feedback
    have = checks_of(policy)
    x = int(np.argmax(np.abs(told.counts - have.counts)))
    if told.counts[x] != have.counts[x]:
        raise InputError(
            f"there are {told.counts[x]} scores of {policy.questions.label(x)!r}, and the policy "
            f"was told {have.counts[x]}; give it all of them (tell), or leave it out."
        )
    _refuse_other_means(policy, told)
    answer = answer_of(
        policy,
        confidence=getattr(policy, "confidence", 0.0),
        tolerance=tolerance,
        features_exact=deviation == 0,
        notes=notes_on(policy),
        scale=table.scale,
    )
    one_look = isinstance(policy, PlannedChoice) and policy.looks == "once"
    return replace(answer, assumed=_BEFORE if one_look else _POLICY.format(name=policy.name))


def _refuse_other_means(policy: Policy, told: Feedback) -> None:
    noise = 1.0 if policy.questions.noise is None else policy.questions.noise
    off = np.abs(told.means - checks_of(policy).means * noise)
    size = float(np.abs(told.means).max(initial=1.0))
    if (x := int(np.argmax(off))) >= 0 and off[x] > 1e-6 * size:
        raise InputError(
            f"the scores of {policy.questions.label(x)!r} are not those that the policy was told; "
            "give the table that goes with it."
        )


def _items(log: Log, fit: ItemsFit | None) -> str:
    """Return what is taken for granted of items; "" where there are none."""
    if fit is None:
        return ""
    text = _ITEMS if fit.within or compares(log.questions) else _OWN_ITEMS
    items, what = f"{fit.n_items:,} item{'' if fit.n_items == 1 else 's'}", "items"
    if fit.n_clusters < fit.n_items:
        items, what = f"{items} in {fit.n_clusters:,} clusters", "clusters"
    text = (text + _ERRORS).format(items=items, what=what)
    return text + _TASTES if fit.judged else text


def _apart(log: Log) -> str | None:
    """Return into which parts options fall that the scores do not compare; None if they do."""
    seen = log.seen
    if _n_parts(log.questions._only(seen)) == 1:
        return None
    classes = log.questions._changed(workload=None).restrict(seen).check().classes
    parts = "; ".join(listed(list(names), 3) for names in classes[:_MOST_PARTS])
    more = "; …" if len(classes) > _MOST_PARTS else ""
    return (
        f"the scores fall into {len(classes):,} parts ({parts}{more}), and none tells by how much "
        f"the options of one part are better than those of another.{_one_order(log)}"
    )


def _one_order(log: Log) -> str:
    """Return what to say where every pair was named in one order only."""
    a, b = log.questions.about[np.unique(log.which)].T
    if (b < 0).any() or not any(column.kind == "position" for column in log.questions.columns):
        return ""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    if any((second, first) in pairs for first, second in pairs):
        return ""
    return (
        " All were named in one order, and what being named first adds looks like value; if nobody "
        "knew the order, or it was drawn each time, say position=False."
    )


def _notes(log: Log, said: Conclusion, table: Scores) -> list[Finding]:
    """Return what is taken for granted, whatever the scores are, and what the table shows."""
    notes = [*table.notes]
    if _only_votes(table):
        notes.append(Finding("scale", _ONLY_VOTES, alarm=False))
    notes += taken_for_granted(said.actions, said.decision.certainty == "features exact")
    notes += _mostly_by_one(log, table)
    if table.cluster is not None and (n := len(table.cluster)) < FEW_CLUSTERS:
        notes.append(Finding("clusters", _FEW.format(n=n), alarm=False))
    partial = any(column.kind == "bias" for column in log.questions.columns)
    if SOMEBODY in log.questions.evaluators:
        notes = [note for note in notes if note.assumption != "evaluator"]  # said in other words
        notes.append(Finding("evaluators", _NOBODY_SAID, alarm=False))
    elif (
        table.option_group is not None
        and table.evaluator_group is None
        and not partial
        and all(note.assumption != "groups" for note in notes)
    ):
        notes.append(Finding("groups", _NOBODY_PARTIAL, alarm=False))
    return notes


def _mostly_by_one(log: Log, table: Scores) -> list[Finding]:
    """Return whose opinion a choice is in the main, though others were asked, too."""
    if table.evaluator is None or len(table.evaluator) < 2 or log.questions.trusted is not None:
        return []
    gave = np.bincount(table.evaluator.codes, minlength=len(table.evaluator))
    most = int(gave.argmax())
    if gave[most] <= _MOSTLY * gave.sum():
        return []
    whose = table.evaluator.names[most]
    text = _BY_ONE.format(whose=whose, n=f"{gave[most]:,}", all=f"{gave.sum():,}")
    return [Finding("evaluators", text, alarm=False)]


def _next(
    log: Log,
    fit: ItemsFit | None,
    answer: Answer,
    target: Target,
    noise_scale: float | None,
    n: int,
) -> NextQuestions:
    if n == 0:
        return NextQuestions()
    if fit is not None:
        return next_items(fit, answer.decision, n, answer.tolerance)
    asked, told, placing, noise = log.asked, log.feedback, answer.placing, noise_scale
    if answer.conclusion.silent and SOMEBODY not in log.questions.evaluators:
        # who said it may well say so again
        left = np.where(told.counts > 0, told.counts, log.questions.capacity)
        asked = log.questions._changed(capacity=left)
    if noise is None and not answer.conclusion.silent:
        alike = _alike(log, None, answer.conclusion.scope)
        noise = alike.unit if alike.freedom >= 1.0 else None
    parts = None if placing is None or placing.categories is None else placing.categories.parts
    return next_questions(
        asked,
        told,
        answer.decision,
        n,
        target=target,
        noise=math.nan if noise is None else noise,
        spread=math.nan if placing is None else placing.spread,
        level=log.level.origin,
        parts=parts,
    )
