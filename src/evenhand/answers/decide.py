"""`decide`: which option is best by scores that exist, how sure that is, and what to ask next.

The table is read, fitted (`linear`), concluded from (`inference`) and looked through for faults
(`findings`); the answer says what came of that. Where the lowest scores are the best, fits have the
scores turned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.actions import ActionSet
from evenhand.answers.answer import (
    Answer,
    RawScores,
    Scale,
    answer_from,
    raw_scores,
    scope_of,
    with_notes,
)
from evenhand.answers.any_design import by_any_design
from evenhand.answers.biases import Biases, biases_of, biases_of_answers
from evenhand.answers.categories import Categories, categories_of
from evenhand.answers.logged import Log, has_constant, log_of
from evenhand.answers.next_questions import NextQuestions, next_items, next_questions
from evenhand.answers.of_policy import answer_of
from evenhand.answers.watch import steps
from evenhand.arrays import Indices, checked_aim, is_number, whole_number
from evenhand.assumptions import taken_for_granted
from evenhand.best import sign, turned
from evenhand.errors import InputError, Remedy
from evenhand.findings import FEW_CLUSTERS, findings_of
from evenhand.inference import Conclusion, Target, conclude
from evenhand.inference.biases import TableFit
from evenhand.inference.designs import Scope, design_of_answers
from evenhand.inference.expected_loss import askable_in, askable_in_table
from evenhand.linear import Design, Fit
from evenhand.linear.design import design_of_values
from evenhand.policies.messages import Certainty
from evenhand.questions import Options, Questions
from evenhand.questions.inputs import trusted_among
from evenhand.readers import read_scores
from evenhand.report.words import counted
from evenhand.scores import Scores
from evenhand.scores.roles import ReadOptions
from evenhand.scores.scores import LEAST, MOST, Finding, against_baseline, as_scores, less_means
from evenhand.tables import Names, listed

Assigned = Literal["before", "adaptively"]

_MOST_NEXT = 1_000
_MOST_PARTS = 6  # that are named, of options that cannot be compared
_NOBODY_PARTIAL = "Nobody is taken to favour anybody: no column has groups of evaluators."
_BEFORE = (
    "What was scored is taken to have been decided without looking at any score; if scores decided "
    "what was scored next, or when to stop, say so: assigned adaptively."
)
_ADAPTIVELY = (
    "What was scored may have been chosen by looking at earlier scores, so intervals hold at any "
    "time; they are wider than for scores that were assigned before."
)
_ITEMS = "Options are compared on {items}, which were drawn independently; "
_OWN_ITEMS = "Every option has items of its own, {items} in all, taken to be drawn alike; "
_ERRORS = "errors are by {what}, however many scores each has. "
_FEW = (
    "Errors are by {n} clusters, which is few. If no others than these matter, say that there are "
    "none."
)
_ONLY_VOTES = "All scores are 0 or 1, so they are taken for votes."
_BY_ONE = (
    "{whose!r} gave {n} of the {all} scores, so this is in the main what {whose!r} prefers. If "
    "others are to be trusted more, name these (trusted)."
)
_SILENT = (
    "the scores {seen}, so that they cannot tell how sure it is that {name!r} is the best. Ask "
    "further evaluators, or, if it is known, say how large noise is (noise_scale)."
)
_APART = "the scores fall into {n} parts ({parts}), which they do not compare with one another."
_ONE_ORDER = (
    "All were named in one order; if nobody knew it, or it was drawn each time, say so (position)."
)
_EQUAL = (
    "All scores are equal. That others are not worse by more than the tolerance rests on the "
    "stated scale: were one worse, some of so many scores would have been."
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
    **reading: Unpack[ReadOptions],
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
    reading
        How the table is read, ``columns`` first: see `evenhand.read_scores`. Where nothing is named
        a ``cluster``, a further column by which scores hang together beyond chance
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
                "within goes with top, not with bar or against: give these rows alone."
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
    cluster = (reading.get("columns") or {}).get("cluster", "cluster")
    searched = cluster == "cluster"  # for columns that nobody named
    reading |= {"beside": searched or within is not None, "telling": True, "lengths": True}
    # where the questions are given, these say how often each may be asked
    reading["repeats"] = reading.get("repeats", False) or isinstance(questions, Questions)
    table = read_scores(scores, **reading)
    if table.event is not None and len(table.event) > 1:
        raise InputError(
            f"there are {len(table.event)} events ({listed(list(table.event.names))}), and each "
            "has a winner of its own: give the rows of one",
            Remedy(
                "columns",
                {"event": None, "item": table.called.get("event", "event")},
                "if the same options were tried on all",
            ),
        )
    if assigned == "adaptively":
        if target is not None:
            raise InputError(
                "top, bar and against need scores that were assigned before any was seen "
                "(assigned before): they are for one look."
            )
        return _adaptively(questions, table, confidence, tolerance, position, noise_scale)
    given = table
    if questions is None and (base := against_baseline(table)).baseline is not None:
        table = as_scores(base)
    if target is not None and table.best == "low":
        target = replace(target, best="low").turned
    like = scope == "like these"
    with steps("fitting", "looking for faults", "concluding", "wording the answer") as done:
        told = _fitted(questions, table, like, position, noise_scale, trusted)
        done()
        labels = told.options.labels
        aim = target or Target(top=1, tolerance=tolerance)
        if target is not None:
            aim = target.among(labels, told.paired)
        categories = None
        if within is not None and aim.top is not None:
            categories = categories_of(within, table, labels, aim.top)
        beside = table.beside if searched and table.cluster is None else {}
        found = told.findings(beside)
        done()
        alarms = [one.concerns for one in found if one.alarm]
        concerned = {name for concerns in alarms for name in concerns}
        doubted = np.array([name in concerned or () in alarms for name in labels])
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
        done()
        if (equal := _equal_scores(told, aim, said)) is not said:
            said, found = equal, [*found, Finding.note("bounds", _EQUAL)]
        answer = _answer(told, said, aim, found, categories, next_n)
    one_by_one = {
        name: decide(
            questions, alone, confidence, tolerance, top=top, bar=bar, against=against,
            within=within, position=position, noise_scale=noise_scale, scope=scope,
            trusted=trusted, next_n=0,
        )
        for name, alone in given.on_criteria.items()
    }  # fmt: skip
    return replace(answer, criteria=one_by_one)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A table of scores, the highest the best, with its fit and what its columns are called."""

    table: TableFit  # as given
    fit: Fit
    options: Options
    asked: Questions | ActionSet | None  # what could be asked, where that was said
    log: Log | None = None
    heard: Scores | None = None  # those of who is trusted, where others are not

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

    def biases(self, confidence: float, most: float) -> Biases:
        """Return the biases, which add ``most`` to a score at most."""
        if self.log is None:
            return biases_of(self.table, confidence, most)
        asked, which = self.log.questions, self.log.which
        found = biases_of_answers(self.fit, asked, which, confidence, most)
        return found.turned() if self.scores.best == "low" else found

    @property
    def paid(self) -> float:
        """What the scores cost, by the prices of questions that were given."""
        log = self.log
        return float(len(self.scores) if log is None else log.questions.prices[log.which].sum())

    @property
    def origin(self) -> float:
        """What was taken off the scores, turned."""
        return self.scores.maximised.level.origin if self.fit.design.features is None else 0.0


def _options_of(scores: Scores) -> Options:
    """Return the options of a table."""
    codes, groups = scores.option_group, [*scores.groups, None]
    own = None if codes is None else tuple(groups[code] for code in codes.tolist())
    return Options(Names(scores.option.names), own)


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
        names = trusted_among(trusted, judges)
        design = design_of_trusted(high, names, like)
        heard = high.among(np.flatnonzero(_by(high, names)))
        return _Fitted(given, Fit(design, noise_scale), _options_of(table), None, heard=heard)
    if questions is None:
        return _Fitted(given, given.values, _options_of(table), None)
    log = log_of(questions, high, position, table.where)
    options, y = log.questions.options, log.scores
    if isinstance(log.asked, Questions) and options.stand_alone:
        y = y - high.level.origin
    design = design_of_answers(
        log.questions,
        log.which,
        y,
        scope="like these" if like else "these",
        items=log.items,
        clusters=log.clusters,
    )
    return _Fitted(given, Fit(design, noise_scale), options, log.asked, log)


def design_of_trusted(scores: Scores, names: Sequence[str], like: bool) -> Design:
    """Return the design of the scores of some, with what others say of option and item as a control
    variate: less what they say of the option on all items, so that nobody's liking for an option is
    in it, and it is right for any slope (Angelopoulos and others, 2023). Without items they are
    left out.
    """
    assert scores.evaluator is not None
    judge, own = scores.evaluator.codes, _by(scores, names)
    people, others = np.flatnonzero(own), np.flatnonzero(~own)
    design = design_of_values(scores.among(people), like)
    design = replace(design, x=design.x[:, design.x.any(axis=0)])  # biases that others alone have
    if scores.item is None or not len(others) or scores.rival is not None:
        return design
    k, n = len(scores.option), len(scores.item)
    y = less_means(scores.centred, judge, len(scores.evaluator))[others]
    cell = scores.option.codes[others].astype(np.int64) * n + scores.item.codes[others]
    times = np.bincount(cell, minlength=k * n).reshape(k, n)
    with np.errstate(invalid="ignore"):
        said = np.bincount(cell, y, minlength=k * n).reshape(k, n) / times
        said -= np.nanmean(np.where(times.any(1, keepdims=True), said, 0.0), axis=1, keepdims=True)
    x = np.nan_to_num(said[scores.option.codes[people], scores.item.codes[people]])
    return replace(design, x=np.column_stack([x, design.x]), control=said)


def _by(scores: Scores, names: Sequence[str]) -> NDArray[np.bool_]:
    """Tell (n,) which scores some evaluators gave."""
    assert scores.evaluator is not None
    own = [scores.evaluator.names.index(name) for name in names]
    return np.isin(scores.evaluator.codes, own)


def _equal_scores(told: _Fitted, aim: Target, said: Conclusion) -> Conclusion:
    """Return who is not worse by more than ε where all scores on a scale of width W are equal."""
    # If x is worse by more than ε on average, its scores are lower on a share of ε/W at least of
    # what is drawn, since no difference is below −W: none of n is, with a chance of (1 − ε/W)^n.
    table, slack, design = told.scores, aim.tolerance, told.fit.design
    rival = aim.rival(told.options.labels)
    if rival is None or table.scale is None or not slack or np.ptp(table.score) > 0.0:
        return said
    unit = table.cluster or table.item
    drawn = next(iter(design.clusters.values()), None) if unit is None else unit.codes
    shared = drawn is not None and len(drawn) == len(design.option)
    each = drawn if drawn is not None and shared else np.arange(len(design.option))
    own = [np.unique(each[design.option == x]) for x in range(len(told.options))]
    least = math.log(said.delta / max(len(own) - 1, 1))
    step = math.log1p(-min(slack / abs(table.scale[1] - table.scale[0]), 1.0 - 1e-12))
    verdicts = list(said.verdicts)
    for x, mine in enumerate(own):
        both = len(np.intersect1d(mine, own[rival]))
        n = both if drawn is not None else min(len(mine), len(own[rival]))
        if x != rival and n * step < least:
            verdicts[x] = "not worse"
    chosen = tuple(x for x, verdict in enumerate(verdicts) if verdict == "not worse")
    return replace(said, verdicts=tuple(verdicts), chosen=chosen) if chosen else said


def _answer(
    told: _Fitted,
    said: Conclusion,
    aim: Target,
    found: Sequence[Finding],
    categories: Categories | None,
    next_n: int,
) -> Answer:
    """Return the answer that a conclusion comes to, of scores less their origin."""
    table, fit, level = told.scores, told.fit, told.scores.maximised.level
    votes = _only_votes(table)
    ends = turned((0.0, 1.0) if votes else table.scale, table.best) or (-math.inf, math.inf)
    scale = Scale(*ends, told.paired)
    values = said.values + told.origin
    if told.paired:
        values = 0.0 - said.leads[:, [0, 2, 1]]
    leads = said.leads.copy()
    leads[fit.part != fit.part[said.leader]] = np.nan, -np.inf, np.inf
    warnings = with_notes(found, _notes(told, votes))
    contradicted = any(one.alarm and not one.concerns for one in warnings)
    biases = told.biases(1.0 - said.delta, scale.most)
    alone = fit.design.features is None
    certain = said.sure if said.target.top is None else math.isfinite(said.loss)
    certainty: Certainty | None = None
    if certain and not fit.silent:
        certainty = "own scores" if alone else "features exact"
    who = table.evaluator
    judges = () if who is None else tuple(np.array(who.names)[who.counts > 0].tolist())
    sure = said.sure and (alone or isinstance(told.asked, Questions))
    answer = answer_from(
        replace(said, target=aim, values=values, leads=leads),
        told.options,
        _raw_scores(table, told.options),
        sure=sure,
        certainty=certainty,
        tolerance=aim.tolerance,
        biases=biases.without_intervals() if contradicted else biases,
        judges=judges,
        warnings=warnings,
        scale=scale,
        best=table.best,
        level=level,
        spent=len(table),
        paid=told.paid,
        stopped_because=_why(told, said, categories),
        scope=scope_of(judges, not told.table.like, table.item is not None),
        asked=told.asked,
        outcome=None,
        table=told.table,
        assumed=_assumed(told),
        categories=categories,
    )
    if answer.sure or contradicted or next_n == 0 or len(told.options) < 2:
        return answer
    return replace(answer, next_questions=_next(told, said, next_n))


def _raw_scores(table: Scores, options: Options) -> RawScores:
    """Return the mean scores of options, the highest the best."""
    place = {name: x for x, name in enumerate(options.labels)}
    number = np.array([place.get(name, -1) for name in table.option.names], dtype=np.intp)
    about = [number[table.option.codes]]
    about += [] if table.rival is None else [number[table.rival]]
    once = np.ones(len(table), dtype=np.int64)
    return raw_scores(len(options), about, table.maximised.score, once)


def _why(told: _Fitted, said: Conclusion, categories: Categories | None) -> str:
    """Return why what was wanted is not sure, where that is not just chance."""
    fit, labels = told.fit, told.options.labels
    groups = [np.arange(len(labels))] if categories is None else categories.parts
    if any(np.ptp(fit.part[some]) > 0 for some in groups if len(some)):
        return _apart(told.scores, np.array(labels), fit.part)
    if said.sure or not fit.silent:
        return ""
    seen = "agree to the last digit"
    if fit.freedom < 1:
        seen = "are no more than the model has parameters"
    return _SILENT.format(seen=seen, name=labels[said.leader])


def _apart(table: Scores, labels: NDArray[Any], part: Indices) -> str:
    """Return into which parts options fall that the scores do not compare."""
    found = [labels[part == p].tolist() for p in range(int(part.max()) + 1)]
    parts = "; ".join(listed(names, 3) for names in found[:_MOST_PARTS])
    more = "; …" if len(found) > _MOST_PARTS else ""
    why = _APART.format(n=f"{len(found):,}", parts=f"{parts}{more}")
    if table.rival is None:
        return why
    pairs = set(zip(table.option.codes.tolist(), table.rival.tolist(), strict=True))
    once = not any((second, first) in pairs for first, second in pairs)
    return f"{why} {_ONE_ORDER}" if once else why


def _assumed(told: _Fitted) -> str:
    """Return what is taken for granted of how the scores came about."""
    table, clusters, said = told.scores, told.fit.design.clusters, ""
    if table.item is not None:
        crosses = told.fit.design.item is not None or told.paired
        said = (_ITEMS if crosses else _OWN_ITEMS).format(items=counted(len(table.item), "item"))
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


def _next(told: _Fitted, said: Conclusion, n: int) -> NextQuestions:
    """Return the best questions to ask next."""
    scores, fit = told.heard or told.scores, told.fit
    if scores.item is not None:
        items = len(scores.cluster or scores.item)
        return next_items(fit, said, told.options.labels, items, n)
    noise = math.nan if fit.silent else fit.errors.known or fit.noise
    if told.log is None:
        asked = askable_in_table(scores, fit, said)
    else:
        questions, which = told.log.questions, told.log.which
        counts = np.bincount(which, minlength=len(questions))
        total = np.zeros(len(questions))
        np.add.at(total, which, told.log.scores - told.origin)
        if not fit.compared and isinstance(told.asked, Questions):
            questions = questions.adding(questions._changed(capacity=None).check().advice)
            new = len(questions) - len(counts)
            counts, total = np.pad(counts, (0, new)), np.pad(total, (0, new))
        asked = askable_in(questions, counts, total, said)
    return next_questions(asked, said, told.options.labels, n, noise=noise, scored=len(told.scores))


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
            "scores on items that were assigned adaptively cannot be decided by: errors by items "
            "take what was scored to be fixed; leave out the item",
            Remedy("assigned", "before", "if no score decided what was scored next"),
        )
    high = table.maximised
    log = log_of(questions, high, position, table.where)
    level = high.level._replace(sign=sign(table.best))
    if not has_constant(log.questions):  # that scores could be told from
        level = level._replace(origin=0.0)
    said = by_any_design(
        log.asked,
        log.which.tolist(),
        (log.scores - level.origin).tolist(),
        confidence=confidence,
        tolerance=tolerance,
        noise_scale=noise_scale,
        level=level,
    )
    return answer_of(
        said,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=False,
        notes=[*table.notes, *taken_for_granted(log.asked, False)],
        scale=high.scale,
        best=table.best,
        assumed=_ADAPTIVELY,
    )
