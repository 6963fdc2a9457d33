"""`decide`: which option is best by scores that exist, how sure that is, and what to ask next.

The table is read, fitted (`linear`), concluded from (`inference`) and looked through for faults
(`findings`); the answer says what came of that. Where the lowest scores are the best, fits have the
scores turned, and `as_scored` turns the answer back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.answer import (
    Answer,
    Standing,
    answer_from,
    as_scored,
    options_of,
    places_of,
    with_notes,
)
from evenhand.answers.biases import Biases, NamedBias, biases_of, biases_of_answers
from evenhand.answers.categories import Categories, categories_of
from evenhand.answers.choose import whole_number
from evenhand.answers.logged import SOMEBODY, Log, log_of
from evenhand.answers.next_questions import NextQuestions, next_items, next_questions
from evenhand.answers.scale import Scale
from evenhand.arrays import Floats, is_number
from evenhand.assumptions import taken_for_granted
from evenhand.best import sign, turned
from evenhand.certainty.any_design import by_any_design
from evenhand.certainty.choice import checked_aim
from evenhand.errors import InputError
from evenhand.findings import FEW_CLUSTERS, findings_of
from evenhand.inference import Conclusion, Target, Verdict, conclude
from evenhand.inference.biases import TableFit
from evenhand.inference.designs import design_of_answers
from evenhand.linear import Design, Fit
from evenhand.linear.design import design_of_values
from evenhand.numerics.intervals import Estimate
from evenhand.policies.conclusion import Scope
from evenhand.questions import Options, Questions
from evenhand.questions.inputs import trusted_among
from evenhand.readers import read_scores
from evenhand.scores import Scores
from evenhand.scores.roles import ReadOptions
from evenhand.scores.scores import LEAST, MOST, Finding, against_baseline, as_scores
from evenhand.tables import listed

Assigned = Literal["before", "adaptively"]

_MOST_NEXT = 1_000
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
_BEFORE = (
    "What was scored is taken to have been decided without looking at any score; so one look will "
    "do, and no price is paid for looking at any time. If scores decided what was scored next, or "
    "when to stop, say that they were assigned 'adaptively'."
)
_ADAPTIVELY = (
    "What was scored may have been chosen by looking at earlier scores; so bounds are used that "
    "hold whoever chose what, at any time. They are wider; scores that were assigned without "
    "looking at any are assigned 'before'."
)
_ITEMS = "Options are compared on {items}, which were drawn independently; "
_OWN_ITEMS = "Every option has items of its own, {items} in all, taken to be drawn alike; "
_ERRORS = "errors are by {what}, however many scores each has. "
_FEW = (
    "Errors are by {n} clusters: so few tell little of others like them. If no others than these "
    "matter, say cluster=None."
)
_ONLY_VOTES = (
    "All scores are 0 or 1, so they are taken for votes, and nothing is said to be larger than "
    "that allows."
)
_BY_ONE = (
    "{whose!r} gave {n} of the {all} scores, so this is in the main what {whose!r} prefers. If "
    "others are to be trusted more, as people are beside a model, name them: trusted=."
)
_SILENT = (
    "the scores {seen}, and without any scatter they cannot tell how sure it is that {name!r} is "
    "the best. Ask further evaluators, or, if it is known, say how large noise is (noise_scale)."
)
_EQUAL = (
    "All scores are equal. That others are not worse by more than the tolerance rests on the "
    "stated scale: were one worse, some of so many scores would have been worse."
)
_MOSTLY = 0.6  # of all scores
_VOTES = 20  # scores, at least, by which votes are told from marks


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
    position: bool = True,
    assigned: Assigned = "before",
    noise_scale: float | None = None,
    scope: Scope = "like these",
    trusted: Sequence[str] | str | None = None,
    next_n: int = 5,
    **columns: Unpack[ReadOptions],
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
        (``answer.conclusion``, ``answer.standings``).
    within
        Column with the category of every option, or a mapping from options to categories: options
        are compared only inside their category, and ``top`` (1 if not said) is of each. All scores
        are fitted at once, so that evaluators have one leniency, and one bias, across categories;
        what is sure is so of all of them together.
    position
        Whether judges may favour what is named first, in comparisons. False where nobody knew which
        came first, or it was drawn anew each time and is not in the table.
    assigned
        Who chose what was scored. "before": somebody who looked at no score. "adaptively": it may
        have depended on scores before; rows are in the order in which they were given.
    noise_scale
        Standard deviation of a score, if it is known; else it is estimated.
    scope
        Whom the answer is about. "like these": judges like those who gave the scores. What a judge
        thinks of an option is then one opinion, however often it was asked for, and on however many
        items. "these": these judges alone.
    trusted
        Evaluators, such as people beside a model, who alone say what options are worth: the others
        may like single options, whatever the reason. On items that others have judged, too, what
        they say of an item less what they say of the option on all items takes noise off.
    next_n
        How many next questions are wanted; 0 for none.
    columns
        How the table is read, and which column has which part: see `evenhand.read_scores`. Where
        nothing is named a ``cluster``, a further column by which scores hang together beyond chance
        is an alarm; None says that there are no clusters.

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
    if noise_scale is not None and not (is_number(noise_scale) and LEAST <= noise_scale <= MOST):
        raise InputError(f"noise_scale must be a positive number; got {noise_scale!r}.")
    if assigned not in ("before", "adaptively"):
        raise InputError(f"assigned must be 'before' or 'adaptively'; got {assigned!r}.")
    searched = columns.get("cluster", "cluster") == "cluster"  # for columns that nobody named
    table = read_scores(
        scores,
        **columns
        | {
            # where the questions are given, these say how often each may be asked
            "repeats": columns.get("repeats", False) or isinstance(questions, Questions),
            "beside": searched or within is not None,
            "telling": True,
            "lengths": True,
        },
    )
    if table.event is not None and len(table.event) > 1:
        raise InputError(
            f"there are {len(table.event)} events ({listed(list(table.event.names))}), and a "
            "decision is about one: each has a winner of its own. Give the rows of one event; or "
            "name that column item, if the same options were tried on all of them."
        )
    if assigned == "adaptively":
        if target is not None:
            raise InputError(
                "top, bar and against need scores that were assigned before any was seen "
                "(assigned='before'): they are for one look."
            )
        return _adaptively(questions, table, confidence, tolerance, position, noise_scale)
    if questions is None and (base := against_baseline(table)).baseline is not None:
        table = as_scores(base)
    if target is not None and table.best == "low":
        target = replace(target, best="low").turned
    like = scope == "like these"
    told = _fitted(questions, table, like, position, noise_scale, trusted)
    labels = told.options.labels
    aim = target or Target(top=1, tolerance=tolerance)
    if target is not None:
        aim = target.among(labels, told.paired)
    categories = None
    if within is not None and aim.top is not None:
        categories = categories_of(within, table, labels, aim.top)
    beside = table.beside if searched and table.cluster is None else {}
    found = told.findings(beside)
    doubted = np.zeros(len(labels), dtype=np.bool_)
    for alarm in (one for one in found if one.alarm):
        doubted |= np.isin(labels, alarm.concerns) if alarm.concerns else True
    from_origin = aim if aim.bar is None else replace(aim, bar=aim.bar - told.origin)
    said = conclude(
        told.fit,
        from_origin,
        1.0 - confidence,
        rival=aim.rival(labels),
        like=like,
        doubted=doubted,
        parts=None if categories is None else categories.parts,
    )
    if same := _equal_scores(told, aim, said):
        chosen = tuple(x for x, verdict in enumerate(same) if verdict == "not worse")
        said = replace(said, verdicts=same, chosen=chosen)
        found = [*found, Finding.note("bounds", _EQUAL)]
    return _answer(told, said, found, aim, target is not None, categories, next_n)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A table of scores, the highest the best, with its fit and what its columns are called."""

    table: TableFit  # as given
    fit: Fit
    options: Options
    asked: Questions | ActionSet | None  # what could be asked, where that was said
    log: Log | None = None

    @property
    def scores(self) -> Scores:
        return self.table.scores

    @property
    def paired(self) -> bool:
        return self.scores.rival is not None

    def findings(self, beside: Mapping[str, Any]) -> list[Finding]:
        """Return the faults that the table shows."""
        scores, fit = self.scores, self.fit
        if len(fit.residual) != len(scores) or self.log is not None:
            fit = Fit(design_of_values(scores, like=False))
        residual = sign(scores.best) * fit.residual
        return list(findings_of(scores, residual, fit.leverage, float(fit.freedom), beside=beside))

    def biases(self, confidence: float) -> Biases:
        """Return the biases, on the scale of the scores turned."""
        if self.log is None:
            found = biases_of(self.table, confidence)
            return found.turned() if self.scores.best == "low" else found
        return biases_of_answers(self.fit, self.log.questions, self.log.which, confidence)

    @property
    def origin(self) -> float:
        """What was taken off the scores, turned."""
        return self.scores.maximised.level.origin if self.fit.design.features is None else 0.0


def _fitted(
    questions: Any,
    table: Scores,
    like: bool,
    position: bool,
    noise_scale: float | None,
    trusted: Sequence[str] | str | None,
) -> _Fitted:
    """Return the fit of a table, of what it shows or of given questions."""
    if noise_scale is not None and table.item is not None:
        raise InputError("on items the noise is heard from items: leave out noise_scale.")
    given = TableFit(table, like, position, noise_scale)
    high = table.maximised
    if trusted is not None:
        judges = () if table.evaluator is None else table.evaluator.names
        design = design_of_trusted(high, trusted_among(trusted, judges), like)
        return _Fitted(given, Fit(design, noise_scale), options_of(table), None)
    if questions is None:
        return _Fitted(given, given.values, options_of(table), None)
    log = log_of(questions, high, position, table.where)
    asked = log.asked
    y = log.scores
    if isinstance(asked, Questions) and asked.options.stand_alone:
        y = y - high.level.origin
    design = design_of_answers(
        Questions.of(asked),
        log.which,
        y,
        scope="like these" if like else "these",
        items=log.items,
        clusters=log.clusters,
    )
    options = asked.options if isinstance(asked, Questions) else Questions.of(asked).options
    return _Fitted(given, Fit(design, noise_scale), options, asked, log)


def design_of_trusted(scores: Scores, names: Sequence[str], like: bool) -> Design:
    """Return the design of the scores of some, with what others say of option and item as a control
    variate: less what they say of the option on all items, so that nobody's liking for an option is
    in it, and it is right for any slope (Angelopoulos and others, 2023). Without items they are
    left out.
    """
    assert scores.evaluator is not None
    judge = scores.evaluator.codes
    own = np.isin(judge, [scores.evaluator.names.index(name) for name in names])
    people, others = np.flatnonzero(own), np.flatnonzero(~own)
    design = design_of_values(scores.among(people), like)
    design = replace(design, x=design.x[:, design.x.any(axis=0)])  # biases that others alone have
    if scores.item is None or not len(others) or scores.rival is not None:
        return design
    k, n = len(scores.option), len(scores.item)
    y = scores.centred[others] - _means(scores.centred, judge, len(scores.evaluator))[judge[others]]
    cell = scores.option.codes[others].astype(np.int64) * n + scores.item.codes[others]
    times = np.bincount(cell, minlength=k * n).reshape(k, n)
    with np.errstate(invalid="ignore"):
        said = np.bincount(cell, y, minlength=k * n).reshape(k, n) / times
        said -= np.nanmean(np.where(times.any(1, keepdims=True), said, 0.0), axis=1, keepdims=True)
    x = np.nan_to_num(said[scores.option.codes[people], scores.item.codes[people]])
    return replace(design, x=np.column_stack([x, design.x]), control=said)


def _means(values: Floats, codes: Any, size: int) -> Floats:
    times = np.maximum(np.bincount(codes, minlength=size), 1)
    return np.asarray(np.bincount(codes, values, minlength=size) / times)


def _equal_scores(told: _Fitted, aim: Target, said: Conclusion) -> tuple[Verdict, ...]:
    """Return verdicts where all scores on a stated scale of width W are equal: who is not worse
    than the one that all are held against, by more than the tolerance ε.
    """
    # If x is worse by more than ε on average, its scores are lower on a share of ε/W at least of
    # what is drawn, since no difference is below −W: none of n is, with a chance of (1 − ε/W)^n.
    table, slack = told.scores, aim.tolerance
    rival = aim.rival(told.options.labels)
    if rival is None or table.scale is None or not slack or np.ptp(table.score) > 0.0:
        return ()
    drawn = next(iter(told.fit.design.clusters.values()), None)
    if (unit := table.cluster or table.item) is not None:
        drawn = unit.codes
    option, width = told.fit.design.option, abs(table.scale[1] - table.scale[0])
    each = drawn if drawn is not None and len(drawn) == len(option) else np.arange(len(option))
    own = [np.unique(each[option == x]) for x in range(len(told.options))]
    verdicts = list(said.verdicts)
    for x, mine in enumerate(own):
        n = min(len(mine), len(own[rival]))
        if drawn is not None:
            n = len(np.intersect1d(mine, own[rival]))
        chance = n * math.log1p(-min(slack / width, 1.0 - 1e-12))
        if x != rival and chance < math.log(said.delta / max(len(own) - 1, 1)):
            verdicts[x] = "not worse"
    return tuple(verdicts) if "not worse" in verdicts else ()


def _answer(
    told: _Fitted,
    said: Conclusion,
    found: Sequence[Finding],
    aim: Target,
    wanted: bool,
    categories: Categories | None,
    next_n: int,
) -> Answer:
    """Return the answer that a conclusion comes to; ``wanted``: whether somebody said what is."""
    table, options, fit = told.scores, told.options, told.fit
    confidence = 1.0 - said.delta
    votes = _only_votes(table)
    ends = (0.0, 1.0) if votes else table.scale
    scale = Scale.of(turned(ends, table.best), told.paired)
    leader = said.leader
    values = said.values + told.origin
    if told.paired:
        values = 0.0 - said.leads[:, [0, 2, 1]]
    apart = fit.part != fit.part[leader]
    leads = said.leads.copy()
    leads[apart] = np.nan, -np.inf, np.inf
    said = replace(
        said,
        values=scale.values(values),
        leads=scale.cut(leads, -scale.most, scale.most),
        loss=min(said.loss, scale.most) if not math.isnan(said.loss) else said.loss,
        target=aim,
    )
    warnings = with_notes(found, _notes(told, votes))
    contradicted = any(one.alarm and not one.concerns for one in warnings)
    biases = told.biases(confidence)
    if contradicted:
        biases = biases.without_intervals()
    biases = Biases(_within(one, scale) for one in biases)
    raw, counts = _raw(table, options)
    alone = fit.design.features is None
    certainty: Any = ("own scores" if alone else "features exact") if not fit.silent else None
    if certainty == "own scores" and table.evaluator is not None and len(table.evaluator) == 1:
        certainty = "one judge's scores"
    of_best = said.target.top is not None
    certain = math.isfinite(said.loss) if of_best else said.sure
    if len(options) == 1:
        said = replace(said, verdicts=("in",), chosen=(0,), loss=0.0)
        certainty, certain, warnings = "own scores", True, ()
    sure = said.sure and (alone or _exact(told.asked)) and len(options) > 0
    answer = Answer(
        option=leader,
        label=options.labels[leader],
        sure=sure,
        certainty=certainty if certain else None,
        loss=said.loss if of_best else _loss_of_best(said),
        confidence=confidence,
        tolerance=aim.tolerance,
        bias=_first(biases),
        biases=biases,
        spent=len(table),
        at_most=max(1, len(table)),
        paid=float(len(table)) if told.log is None else _paid(told.log),
        budget=math.inf,
        forecast=0.0 if sure else math.nan,
        stopped_because=_why(told, said, categories),
        warnings=warnings,
        failures=(),
        raw_choice=int(np.nanargmax(raw)) if len(table) else None,
        ranking=_ranking(options, said, raw, counts, told),
        conclusion=said,
        table=told.table,
        given=told.asked,
        scale=turned(ends, table.best),
        target=aim if wanted else None,
        categories=categories,
        assumed=_assumed(told),
    )
    if not (sure or contradicted or next_n == 0 or len(options) < 2):
        answer = replace(answer, next_questions=_next(told, answer, said, next_n))
    return as_scored(answer, table.best)


def _loss_of_best(said: Conclusion) -> float:
    """Return what the most valuable option loses at most, by the ends of its leads."""
    return max(0.0, -float(said.leads[:, 1].min(initial=0.0)))


def _within(bias: NamedBias, scale: Scale) -> NamedBias:
    """Return a bias as far as the scale allows it."""
    names = ("estimate", "low", "high", "shrunk")
    cut = scale.cut([getattr(bias, name) for name in names], -scale.most, scale.most).tolist()
    return replace(bias, **dict(zip(names, cut, strict=True)))


def _first(biases: Biases) -> Estimate:
    """Return the first bias, unknown where there are severities only."""
    if not biases or biases[0].kind == "leniency":
        return Estimate.without_interval()
    return Estimate(biases[0].estimate, biases[0].low, biases[0].high, 0.95)


def _exact(asked: Questions | ActionSet | None) -> bool:
    """Tell whether values are said to follow from the features exactly."""
    return isinstance(asked, Questions)


def _paid(log: Log) -> float:
    return float(log.feedback.counts @ log.questions.prices)


def _raw(table: Scores, options: Options) -> tuple[Floats, Any]:
    """Return (k,) mean scores, of a comparison with opposite signs, turned; and their numbers."""
    high, k = table.maximised, len(options)
    place = {name: x for x, name in enumerate(options.labels)}
    number = np.array([place.get(name, -1) for name in table.option.names])
    sums, counts = np.zeros(k), np.zeros(k, dtype=np.int64)
    both = [(table.option.codes, 1.0)] + ([] if table.rival is None else [(table.rival, -1.0)])
    for codes, by in both:
        of = number[codes]
        there = of >= 0
        counts += np.bincount(of[there], minlength=k)
        sums += np.bincount(of[there], by * high.score[there], k)
    with np.errstate(invalid="ignore"):
        return sums / counts, counts


def _ranking(
    options: Options, said: Conclusion, raw: Floats, counts: Any, told: _Fitted
) -> tuple[Standing, ...]:
    """Return the standings by value, of equals the chosen first."""
    level = told.scores.maximised.level
    values = said.values[:, 0]
    order = np.argsort(np.arange(len(options)) != said.leader, kind="stable")
    for key in (places_of(level.origin - said.leads[:, 0], level), places_of(values, level)):
        order = order[np.argsort(key[order], kind="stable")]
    return tuple(
        Standing(
            x,
            options.labels[x],
            options.group_of(x),
            float(raw[x]),
            float(said.values[x, 0]),
            float(said.values[x, 1]),
            float(said.values[x, 2]),
            float(said.leads[x, 0]),
            int(counts[x]),
        )
        for x in order.tolist()
    )


def _why(told: _Fitted, said: Conclusion, categories: Categories | None) -> str:
    """Return why what was wanted is not sure, where that is not just chance."""
    fit = told.fit
    parts = fit.part if categories is None else np.zeros(0)
    if categories is not None:
        parts = np.concatenate([fit.part[some] - fit.part[some[0]] for some in categories.parts])
    if len(parts) and np.ptp(parts) > 0:
        return _apart(told)
    if said.sure or not fit.silent:
        return ""
    seen = "agree to the last digit"
    if fit.freedom < 1:
        seen = "are no more than the model has parameters"
    return _SILENT.format(seen=seen, name=told.options.labels[said.leader])


def _apart(told: _Fitted) -> str:
    """Return into which parts options fall that the scores do not compare."""
    labels, part = np.array(told.options.labels), told.fit.part
    found = [labels[part == p].tolist() for p in range(int(part.max()) + 1)]
    parts = "; ".join(listed(names, 3) for names in found[:_MOST_PARTS])
    more = "; …" if len(found) > _MOST_PARTS else ""
    return (
        f"the scores fall into {len(found):,} parts ({parts}{more}), and none tells by how much "
        f"the options of one part are better than those of another.{_one_order(told.scores)}"
    )


def _one_order(table: Scores) -> str:
    """Return what to say where every pair was named in one order only."""
    if table.rival is None:
        return ""
    pairs = set(zip(table.option.codes.tolist(), table.rival.tolist(), strict=True))
    if any((second, first) in pairs for first, second in pairs):
        return ""
    return (
        " All were named in one order, and what being named first adds looks like value; if nobody "
        "knew the order, or it was drawn each time, say position=False."
    )


def _assumed(told: _Fitted) -> str:
    """Return what is taken for granted of how the scores came about."""
    table, clusters = told.scores, told.fit.design.clusters
    said = ""
    if table.item is not None:
        items = f"{len(table.item):,} item{'s' * (len(table.item) != 1)}"
        crosses = told.fit.design.item is not None or told.paired
        said = (_ITEMS if crosses else _OWN_ITEMS).format(items=items)
    kinds = [{"evaluator": "judges", "item": "items"}.get(name, "clusters") for name in clusters]
    if kinds and (said or "clusters" in kinds):
        said += _ERRORS.format(what=" and ".join(kinds))
    return said + _BEFORE


def _only_votes(table: Scores) -> bool:
    """Tell whether all scores are 0 or 1, on a scale that is not stated."""
    y = table.score
    if table.scale is not None or table.rival is not None or len(y) < _VOTES:
        return False
    return bool(((y == 0.0) | (y == 1.0)).all() and y.min() < y.max())


def _notes(told: _Fitted, votes: bool) -> list[Finding]:
    """Return what is taken for granted, whatever the scores are, and what the table shows."""
    table = told.scores
    notes = [*table.notes]
    if votes:
        notes.append(Finding.note("scale", _ONLY_VOTES))
    if told.asked is not None:
        notes += taken_for_granted(told.asked, told.fit.design.features is not None)
    if table.cluster is not None and (n := len(table.cluster)) < FEW_CLUSTERS:
        notes.append(Finding.note("clusters", _FEW.format(n=n)))
    if table.evaluator is None:
        notes.append(Finding.note("evaluators", _NOBODY_SAID))
        return notes
    partial = table.partial is not None
    if table.option_group is not None and table.evaluator_group is None and not partial:
        notes.append(Finding.note("groups", _NOBODY_PARTIAL))
    gave = np.bincount(table.evaluator.codes, minlength=len(table.evaluator))
    most = int(gave.argmax())
    if len(gave) > 1 and gave[most] > _MOSTLY * gave.sum() and told.fit.design.control is None:
        whose = table.evaluator.names[most]
        text = _BY_ONE.format(whose=whose, n=f"{gave[most]:,}", all=f"{gave.sum():,}")
        notes.append(Finding.note("evaluators", text))
    return notes


def _next(told: _Fitted, answer: Answer, said: Conclusion, n: int) -> NextQuestions:
    """Return the best questions to ask next."""
    if told.scores.item is not None:
        items = len(told.scores.item if told.scores.cluster is None else told.scores.cluster)
        return next_items(told.fit, answer, items, n)
    log = told.log or log_of(None, told.scores.maximised, told.table.position)
    asked = log.asked
    if isinstance(asked, Questions) and not told.fit.compared:
        asked = asked.adding(asked._changed(capacity=None).check().advice)
        log = replace(log, asked=asked)
    if told.fit.silent and SOMEBODY not in log.questions.evaluators:
        # who said it may well say so again
        told_so = log.feedback.counts
        asked = log.questions._changed(
            capacity=np.where(told_so > 0, told_so, log.questions.capacity)
        )
    log = log.centred(told.scores.maximised.level)
    noise = math.nan if told.fit.silent else math.sqrt(told.fit.errors.noise)
    return next_questions(
        asked,
        log.feedback,
        said,
        n,
        noise=noise,
        spread=said.spread,
        level=log.level.origin,
    )


def _adaptively(
    questions: Any,
    table: Scores,
    confidence: float,
    tolerance: float,
    position: bool,
    noise_scale: float | None,
) -> Answer:
    """Return the answer that holds whatever decided what was scored next."""
    if table.item is not None:
        raise InputError(
            "scores on items that were assigned adaptively cannot be decided by: errors by "
            "items take what was scored to be fixed. Leave out item, or say assigned='before'."
        )
    high = table.maximised
    log = log_of(questions, high, position, table.where)
    log = log.centred(high.level._replace(sign=sign(table.best)))
    said = by_any_design(
        log.asked,
        log.which.tolist(),
        log.scores.tolist(),
        confidence=confidence,
        tolerance=tolerance,
        noise_scale=noise_scale,
        level=log.level,
    )
    notes = [*table.notes, *taken_for_granted(log.asked, False)]
    answer = answer_from(
        said,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=False,
        notes=notes,
        scale=high.scale,
    )
    return as_scored(replace(answer, assumed=_ADAPTIVELY), table.best)
