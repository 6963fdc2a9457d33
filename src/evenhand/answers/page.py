"""The page of an answer: its sentences, tables and record, and what is required of it.

All that is said of options (verdicts, chances, places, leads) is from the one conclusion, and of
evaluators from `Biases`. Nobody is named whose interval has 0 in it, and of a single evaluator the
shrunken value is said. A chance is never all or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.biases import NamedBias
from evenhand.assumptions import model
from evenhand.best import direction, sign
from evenhand.errors import InputError, RequirementError
from evenhand.findings import FEWEST
from evenhand.inference.conclusion import Conclusion, holm
from evenhand.questions import Questions
from evenhand.report.model import (
    Assumptions,
    Cell,
    Chip,
    Facts,
    Figures,
    Kind,
    Name,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Strong,
    Table,
    alike,
    became,
    rounded,
    spans,
    warned,
)
from evenhand.report.words import (
    counted,
    decimals,
    interval,
    joined,
    listed,
    number,
    p_value,
    percent,
    sentence,
    short,
    size_and_span,
    visible,
)

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer

WAYS = ("sure", "probable")

_FEW = 3  # failures, biases, questions that are named
_MANY = 12  # chosen options that are named
_LEAST = 0.005  # chance below which it is less than 1%
_ONE_JUDGE = "Whether others would say so, one judge cannot tell; ask a second."
_TOO_FEW = "not enough data to tell"
_TOO = (("too much for", "too little for"), ("too high, against", "too low, in favour of"))
_WORDS: Mapping[str, tuple[str, Kind]] = {  # of the three sides below
    "in": ("surely {0}", "in"),
    "probably in": ("probably {0}", "in maybe"),
    "not worse": ("not worse", "in maybe"),
    "open": ("{2}", "at"),
    "probably out": ("probably {1}", "out maybe"),
    "out": ("surely {1}", "out"),
    "itself": ("", ""),
}

_ASSUMED = (
    ("Scores are explained by values, severity, favours and noise.", ("fit", "intercept", "looks")),
    ("Scores do not rise or fall with time.", ("drift",)),
    ("Scores do not depend on the ones before.", ("dependence",)),
    ("No score lies far outside its option's others.", ("outliers",)),
    ("Evaluators copy neither themselves nor one another.", ("repeats", "copies")),
    ("Scores hang together by nothing that was not named.", ("clusters",)),
)

_SIDES = {  # of the line, and at it
    "best": ("best", "not best", "may be best"),
    "top": ("in", "out", "at the line"),
    "bar": ("above", "below", "at the bar"),
    "against": ("better", "worse", "cannot tell"),
}


def is_apart(answer: Answer) -> bool:
    """Tell whether scores do not compare all options, so that nobody can be named."""
    return not answer.comparable and not answer.sure


def _tested(answer: Answer) -> frozenset[str]:
    """Return which assumptions the scores could contradict."""
    if answer.table is not None:
        timed = {"drift"} if answer.table.scores.time is not None else set[str]()
        return frozenset({"outliers", "copies", "clusters"} | timed)
    checks = None if answer.outcome is None else answer.outcome.checks
    if checks is None or len(answer.options) < 2:
        return frozenset()
    found = {"drift", "dependence", "outliers"} if checks.in_order >= FEWEST else set[str]()
    found |= {"repeats"} if checks.pooled_scatter()[1] else set()
    return frozenset(found if math.isnan(checks.lack_of_fit().p_value) else {*found, "fit"})


def report_of(answer: Answer) -> Report:
    """Return what an answer has to say."""
    verb, (first, rests) = "is" if one_best(answer) else "are", _facts(answer)
    return Report(
        f"Which of {len(answer.options):,} options {verb} {wanted(answer).removeprefix('among ')}",
        verdict(answer),
        first,
        [
            Section("Ranking", partial(_ranking, answer), "print"),
            Section("One against the other", partial(_two, answer), "brief"),
            Section("On each criterion", partial(_criteria, answer), "brief"),
            Section("Biases", partial(_biases, answer), "brief"),
            Section("Ask next", partial(_next, answer), "brief"),
            Section("What was assumed, and what became of it", partial(_assumptions, answer)),
            Section("Questions that nobody answered", [Points([*map(str, answer.failures)])]),
            Section("How it was computed", partial(_method, answer)),
        ],
        names=_names(answer),
        rests=rests,
    )


def _names(answer: Answer) -> list[str]:
    """Return the user's own names, in what an answer says."""
    asked, inside = answer.asked, answer.categories
    names = [*answer.options.labels, *answer.judges]
    names += [*asked.evaluators, *asked.options.labels] if isinstance(asked, Questions) else []
    names += [one for one in answer.options.groups or () if one is not None]
    names += [] if inside is None else [inside.column, *inside.names]
    # biases of attributes are called as their columns are
    names += [one.name for one in answer.biases if one.kind not in ("bias", "position")]
    return list(dict.fromkeys(map(str, names)))


def record_of(answer: Answer) -> dict[str, Any]:
    """Return what machines read of an answer."""
    said, asked, inside = answer.conclusion, answer.next_questions, answer.categories
    same = ("best", "sure", "certainty", "scope", "confidence", "tolerance", "withstands")
    raw, tried, by_each = answer.raw_choice, answer.attempts, answer.criteria
    return {
        "target": {
            **answer.conclusion.target.to_dict(),
            **({} if inside is None else {"within": inside.column}),
            **{
                name: getattr(answer, name) for name in ("chosen", "inside", "outside", "undecided")
            },
            "loses_at_most": said.loss if answer.conclusion.target.top is not None else None,
            "expected_loss": said.expected_loss,
            "expected_right": said.expected_right,
        },
        "option": answer.label,
        **{name: getattr(answer, name) for name in same},
        "loses_at_most": answer.loss,
        "why": visible(answer.stopped_because),
        "assumed": answer.assumed,
        "scores": n_scores(answer),
        "by_mean_scores": None if raw is None else answer.options.labels[raw],
        "ranking": rows_of(answer),
        "biases": [asdict(bias) for bias in answer.biases],
        **({"criteria": {c: rows_of(by) for c, by in by_each.items()}} if by_each else {}),
        "attempts": tried.to_dict(answer.questions) if tried.tries else None,
        "withdrawn": answer.withdrawn.to_dict(),
        "warnings": [
            {name: getattr(found, name) for name in ("assumption", "message", "alarm")}
            for found in answer.warnings
        ],
        "next_questions": [
            {name: part for name, part in asdict(one).items() if name != "question"}
            for one in asked
        ],
        "questions_until_sure": asked.until_sure,
        "advice": asked.advice,
    }


def rows_of(answer: Answer) -> list[dict[str, Any]]:
    """Return where options stand, the most valuable first, as frames and machines have it."""
    said, inside, (low, high) = answer.conclusion, answer.categories, answer.conclusion.ranks
    same = ("raw", "value", "low", "high", "lead", "evaluations")
    return [
        {
            "option": one.option,
            **({} if inside is None else {"category": inside.name(one.index)}),
            **({} if answer.options.groups is None else {"group": one.group}),
            **{name: getattr(one, name) for name in same},
            "verdict": str(verdict_on(answer, one.index)),
            "chance": float(said.chances[one.index]),
            "rank_low": int(low[one.index]),
            "rank_high": int(high[one.index]),
        }
        for one in answer.ranking
    ]


def one_best(answer: Answer) -> bool:
    """Tell whether nothing but the best option of all is wanted."""
    return answer.conclusion.target.top == 1 and answer.categories is None


def wanted(answer: Answer) -> str:
    """Return what is wanted, as it follows 'is' or 'are'."""
    target, inside = answer.conclusion.target, answer.categories
    among = "" if target.top in (None, 1) else "among "
    return f"{among}{target.words}{'' if inside is None else f' of their {inside.column}'}"


def likely(said: Conclusion, option: int) -> str:
    """Return the verdict on an option; if open, where it probably is."""
    verdict_, chance = said.verdicts[option], float(said.chances[option])
    if verdict_ == "open" and chance >= 1.0 - said.delta:
        return "probably in"
    behind = verdict_ == "open" and chance <= said.delta and option not in said.chosen
    return "probably out" if behind else verdict_


def sides(answer: Answer) -> tuple[str, str, str]:
    """Return what it is to be wanted, not to be, and to be at the line."""
    target = answer.conclusion.target
    good, bad, at = _SIDES["best" if one_best(answer) else target.kind]
    return (bad, good, at) if target.bar is not None and target.best == "low" else (good, bad, at)


def verdict_on(answer: Answer, option: int) -> Chip:
    """Return the verdict on an option in words."""
    target, (good, bad, at) = answer.conclusion.target, sides(answer)
    words, kind = _WORDS[likely(answer.conclusion, option)]
    if kind == "in maybe" and target.against is not None and target.tolerance > 0.0:
        good = "not worse"
    return Chip(words.format(good, bad, at), kind)


def _are(names: Sequence[str], most: int = _MANY, verb: tuple[str, str] = ("is", "are")) -> str:
    """Return some names with their verb."""
    return f"{listed(names, most)} {verb[len(names) != 1]}"


def verdict(answer: Answer) -> str:
    """Return what to choose and how sure that is, in one or two sentences."""
    k, said = len(answer.options), answer.conclusion
    target, names, doubt = said.target, listed(answer.chosen, _MANY), _doubt(answer)
    if k > 1 and not answer.sure and n_scores(answer) == 0:
        return f"Nothing is known about the {k:,} options: no evaluation came back."
    if k == 1 and target.top is not None:
        return f"Choose {names}: there is no other option."
    if is_apart(answer) and not doubt:
        of = f"{k:,} options {'is' if target.top == 1 else 'are'} {target.words}"
        return f"Nothing can be said yet of which of {of}: the scores do not compare all of them."
    if target.top is None:
        return _of_each(answer, doubt)
    one, level = len(answer.chosen) == 1, f"{percent(answer.confidence)} confidence"
    they, what = "it is" if one else "they are", f"{target.words} of {k:,} options"
    if isinstance(answer.asked, ActionSet) and answer.table is None:
        what += " in the opinion of this evaluator"
    if (inside := answer.categories) is not None:
        what = f"{target.words} of their {short(inside.column)} ({len(inside.names):,} in all)"
    looks = f"{names} {f'looks {what[4:]}' if one else f'look like {what}'}, but"
    if 0.0 < answer.loss <= answer.tolerance:
        what = f"within {number(answer.tolerance)} of {what}"
    if answer.sure and answer.certainty == "one judge's scores":
        who = f"{short(answer.judges[0])} has {names} as {what} ({level})"
        return f"{who}. {_ONE_JUDGE}"
    exact = answer.certainty == "features exact" and answer.loss <= answer.tolerance
    if answer.sure or exact:
        known = f"; by the options' own scores alone there is {_TOO_FEW}"
        known = ", as you said" if answer.sure else known
        known = f", if the features are exact{known}" if exact else ""
        return f"Choose {names}: {they} {what} ({level}){known}."
    if doubt or answer.withdrawn.sure_without:
        return f"{looks} {doubt or 'that is not sure, with the withdrawn scores put back'}."
    text, right = f"{looks} there is {_TOO_FEW}", said.expected_right
    if right > 0.0:
        n = len(said.chosen)
        about = min(right, n - 0.1)  # never all
        text += f" (chance {odds(right)})" if one else f" (about {about:.1f} of {n:,} are right)"
    if not one and said.inside:
        text += f": {_are([answer.options.labels[x] for x in said.inside])} surely in"
    there = math.inf if answer.table is None else float(np.ptp(answer.table.scores.score))
    if answer.loss < there:  # more than scores differ by says nothing
        most = f"{_at_most(answer, answer.loss)} ({level})"
        other = "option" if inside is None else f"of its {short(inside.column)}"
        several = f"None of them is worse than another {other} by more than"
        text += f". {'It loses at most' if one else several} {most}"
    single = {one.option for one in answer.ranking if one.evaluations == 1}
    if not answer.scale.compared and (few := [name for name in answer.chosen if name in single]):
        text += f". {_are(few, verb=('has', 'have'))} a single score"
    return f"{text}."


def _at_most(answer: Answer, loss: float) -> str:
    """Return a bound, no more precise than the leads, rounded up."""
    low, high = answer.conclusion.leads[:, 1:].T
    widths = [0.5 * wide for wide in (high - low).tolist() if 0.0 < wide < math.inf]
    if not widths:
        return number(loss)
    digits = decimals(median(widths))
    return number(math.ceil(loss * 10**digits - 1e-9) / 10**digits, digits)


def _doubt(answer: Answer) -> str:
    """Return why alarms leave nothing sure, as it follows 'but'; "" without any."""
    if not answer.alarms:
        return ""
    if all(finding.assumption == "kinds" for finding in answer.alarms):
        return "the judges who are trusted do not confirm it (see the warning)"
    if not answer.contradicted:
        doubted = {name: 0 for one in answer.alarms for name in one.concerns}
        if answer.label in doubted:
            return f"a score of {short(answer.label)} is in doubt (see the warning)"
        if answer.conclusion.target.top is None:
            return f"what is said of {listed(list(doubted))} is in doubt (see the warning)"
        return f"the lead over {listed(list(doubted))} is not sure (see the warning)"
    failed = " and ".join(dict.fromkeys(finding.assumption for finding in answer.alarms))
    return f"nothing is sure: the scores contradict what is assumed ({failed}; see the warning)"


def _of_each(answer: Answer, doubt: str) -> str:
    """Return who is beyond a bar, or better than one option, and who is not."""
    said, (good, bad, _) = answer.conclusion, sides(answer)
    of, slack, few = f"Of {counted(len(answer.options), 'option')}", said.target.words, _TOO_FEW
    than = "" if said.target.bar is None else f" {said.target.bar:g}"
    if said.target.against is not None:
        of = f"Against {short(said.target.against)}"
        slack = f"not worse by more than {number(said.target.tolerance)}"
    if answer.contradicted:
        return f"{of}, {doubt}."
    if not (said.inside or said.outside):
        return f"{of}, none is surely {good} or {bad}{than}: {doubt or f'there is {few}'}."
    sure = []
    for word, what in (("in", f"{good}{than}"), ("out", f"{bad}{than}"), ("not worse", slack)):
        names = [one.option for one in answer.ranking if said.verdicts[one.index] == word]
        sure += [f"{_are(names)} {what}"] if names else []
    parts = [f"{', '.join(sure)} ({percent(answer.confidence)} confidence, of all at once)"]
    parts += [f"of {listed(answer.undecided, _MANY)} there is {few}"] if said.undecided else []
    text = f"{of}, {'; '.join([*parts, *([doubt] if doubt else [])])}."
    return f"{text} {_ONE_JUDGE}" if answer.certainty == "one judge's scores" else text


def odds(share: float) -> Figures:
    """Return a chance in whole percents, never all or nothing; "" if it is not known."""
    if math.isnan(share):
        return Figures("")
    if not _LEAST < share < 1.0 - _LEAST:
        return Figures("< 1%" if share <= _LEAST else "> 99%")
    return Figures(f"{100.0 * share:.0f}%")


def _facts(answer: Answer) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what stands with the verdict, the most important first, and what that rests on."""
    ended = visible(answer.stopped_because).rstrip(".")
    asked = [("Cost", _cost(answer)), ("Stopped", f"{ended}." if ended else "")]
    if answer.assumed:
        why = [("Why", f"{ended}.")] if ended else []
        asked = [*why, ("Scores", f"{counted(n_scores(answer), 'score')}. {answer.assumed}")]
    alarms, notes = warned(answer.warnings)
    shared = f"also if all evaluators favour a group by up to {number(answer.withstands)}."
    first = [
        *alarms,
        ("Rival", _rival(answer)),
        ("Bias", _bias_in_words(answer)),
        ("Raw scores", _raw_in_words(answer)),
        ("Next", _advice(answer)),
        ("Severity", _severity(answer)),
    ]
    rests = [
        ("Direction", direction(answer.best)),
        *asked,
        ("Holds for", f"{answer.scope}."),
        ("Holds up", shared if answer.loss <= 0.0 < answer.withstands < math.inf else ""),
        ("Failed", _failed(answer)),
        ("Withdrawn", str(answer.withdrawn) if answer.withdrawn.scores else ""),
        *notes,
    ]
    return first, rests


def _rival(answer: Answer) -> str:
    """Return which option comes closest to the one that is chosen."""
    said, labels = answer.conclusion, answer.options.labels
    apart = np.abs(said.leads[:, 0])
    same = [x for x in np.flatnonzero((said.leads == 0.0).all(axis=1)) if x != answer.option]
    left = {*np.flatnonzero(~np.isnan(apart)).tolist()} - {answer.option, *same}
    if is_apart(answer) or not one_best(answer) or len(labels) < 2:
        return ""
    tied = f"{listed([labels[x] for x in same])}: the same features, any will do." if same else ""
    if not left:
        return tied
    nearest = min(left, key=lambda x: (apart[x], x))
    where, lead = "ahead", answer.compare(nearest, answer.option)
    if not lead.value > 0.0:
        where, lead = "behind", answer.compare(answer.option, nearest)
    by = f", {where} by {interval(lead)}" if math.isfinite(lead.high - lead.low) else ""
    return f"{short(labels[nearest])} comes closest{by}. {tied}".rstrip()


def _bias_in_words(answer: Answer) -> str:
    """Return who gets how much too much; "" if nobody can."""
    told = [bias for bias in answer.biases if bias.kind != "leniency"]
    known = sorted((one for one in told if one.known), key=lambda one: -abs(one.estimate))
    if not known:
        return "not known: the scores so far do not show it." if told else ""
    shown = [one for one in known if one.low > 0.0 or one.high < 0.0]
    if not shown:
        whole = (one for one in known if one.evaluator is None and one.group is None)
        size = next((interval(x.interval) for x in whole if math.isfinite(x.high - x.low)), "")
        return f"{_TOO_FEW} whether there is any{size and f': the estimate is {size}'}."
    low, groups = answer.best == "low", _two_groups(answer)
    if groups is not None:
        less, more = (short(name) for name in groups[:: 1 if answer.bias.value > 0.0 else -1])
        size, span = size_and_span(answer.bias if answer.bias.value > 0.0 else -answer.bias)
        up, down = _TOO[low]
        return f"{size} {up} {more}, {size} {down} {less}{span}."
    parts = [_named_bias(bias, low) for bias in shown[:_FEW]]
    left = len(told) - len(parts)
    return f"{'; '.join(parts)}{f'; {left:,} more in the table' if left else ''}."


def _named_bias(bias: NamedBias, low: bool) -> str:
    """Return a bias; of a single evaluator or group, what is shrunken."""
    up, name = bias.estimate > 0.0, short(bias.name)
    size, span = size_and_span(bias.interval if up else -bias.interval)
    if bias.evaluator is not None or bias.group is not None:
        size, span = number(abs(bias.shrunk), decimals(0.5 * (bias.high - bias.low))), ""
    # the name may say whose it is
    own = bias.evaluator is None or bias.name.endswith(f"by {bias.evaluator}")
    whose = "" if own else f" with {short(bias.evaluator or '')}"
    if bias.kind == "bias":
        return f"{size} {_TOO[low][not up]} the {name}{span}"
    if bias.kind == "position":
        return f"{size} {'for' if up != low else 'against'} being first{whose}{span}"
    return f"{size} {'more' if up else 'less'} per unit of {name}{whose}{span}"


def _severity(answer: Answer) -> str:
    """Return who is lenient and who severe, against the average; "" if nobody can be."""
    known = [one for one in answer.biases if one.kind == "leniency" and one.known]
    told = [one for one in known if one.low > 0.0 or one.high < 0.0]
    if answer.table is not None and answer.table.scores.evaluator is not None:
        names, spread = answer.table.scores.evaluator.names, answer.table.values.severity()
        up, down = holm(spread.estimate, spread.above, 1.0 - answer.confidence)
        apart = {names[x] for x in np.flatnonzero(up | down)}
        told = [one for one in told if one.name in apart]
    digits = decimals(median(0.5 * (one.high - one.low) for one in told)) if told else 0
    told = [one for one in told if round(abs(one.shrunk), digits) > 0.0]
    if not told:
        return "no evaluator can be told from the average." if len(known) > 1 else ""
    said = [
        f"{short(one.name)} gives {number(abs(one.shrunk), digits)} "
        f"{'less' if one.shrunk < 0.0 else 'more'}"
        for one in sorted(told, key=lambda one: -abs(one.shrunk))
    ]
    return f"against the average, {joined(said, _FEW)}."


def _raw_in_words(answer: Answer) -> str:
    """Return what the means of the scores alone would have done."""
    said, up, labels = answer.conclusion, sign(answer.best), answer.options.labels
    target, own = said.target, said.target.rival(labels)
    raw = {one.index: up * one.raw for one in answer.ranking if not math.isnan(one.raw)}
    means = f"mean {'verdicts' if answer.scale.compared else 'scores'} alone would have"
    if not raw or (own is not None and own not in raw):
        return ""
    if target.top is None:
        least = raw[own] if own is not None else up * (target.bar or 0.0)
        first = {x for x in raw if raw[x] > least - target.tolerance and x != own}
    else:
        ordered = ([x for x in some.tolist() if x in raw] for some in said.parts)
        first = {x for some in ordered for x in sorted(some, key=lambda x: -raw[x])[: target.top]}
        first = {answer.raw_choice} if answer.raw_choice is not None and one_best(answer) else first
    chosen = set(said.chosen)
    gone, come = ([labels[x] for x in sorted(some)] for some in (first - chosen, chosen - first))
    if is_apart(answer):
        return f"The best of the mean scores is that of {listed([labels[x] for x in first])}."
    if not gone and not come:
        return f"The {means} chosen the same."
    if not one_best(answer):
        parts = {"added": gone, "left out": come}
        done = " and ".join(f"{word} {listed(some)}" for word, some in parts.items() if some)
        return f"The {means} {done}."
    lead = answer.compare(answer.option, next(iter(first)))
    lost = f"; there is {_TOO_FEW} whether that loses anything"
    if lead.low > 0.0:
        lost = f", and lost {interval(lead)}"
    return f"The {means} chosen {short(gone[0])}{lost}."


def _cost(answer: Answer) -> str:
    """Return how many evaluations were made and, where money counts, what they cost."""
    said, outcome = counted(answer.spent, "evaluation"), answer.outcome
    if outcome is None:
        return ""
    if math.isfinite(outcome.budget):
        return f"{said} for {number(answer.paid)}, of a budget of {number(outcome.budget)}."
    paid = f", for {number(answer.paid)}" if costs_money(answer) else ""
    return f"{said} of at most {outcome.at_most:,}{paid}."


def costs_money(answer: Answer) -> bool:
    """Tell whether evaluations cost anything but 1 each."""
    return _priced(answer) or not math.isclose(answer.paid, answer.spent)


def _priced(answer: Answer) -> bool:
    return isinstance(answer.asked, Questions) and bool(np.ptp(answer.asked.prices))


def n_scores(answer: Answer) -> int:
    """Return how many scores an answer rests on, asked for or not."""
    return answer.spent + (0 if answer.outcome is None else answer.outcome.observed)


def _advice(answer: Answer) -> str:
    """Return what to do next; "" if it is sure, or nobody can say."""
    outcome, asked = answer.outcome, answer.next_questions
    if answer.sure or len(answer.options) == 1:
        return ""
    if any(finding.assumption == "kinds" for finding in answer.alarms):
        return "Ask the judges who are trusted: further scores of the others would not help."
    if answer.alarms:
        return "Look at the warnings first: more scores of this kind would not help."
    if answer.withdrawn.sure_without:
        return "Say of what was withdrawn without regard to scores that it was (blind)."
    if answer.certainty == "features exact" and answer.loss <= answer.tolerance:
        how = "give them as eh.Questions(options=…)" if outcome is None else "deviation=0"
        return f"If values follow from the features with nothing left over, say so: {how}."
    if asked:
        return asked.advice or f"Ask {listed([one.label for one in asked], _FEW)}."
    if asked.advice or outcome is None:
        return asked.advice
    if not outcome.may_ask:
        return "Nothing more may be asked: ask further evaluators, or allow more of these."
    known = math.isfinite(outcome.forecast) and outcome.forecast >= 1.0
    return f"{to_come(outcome.forecast, outcome.looks_once)}." if known else ""


def to_come(forecast: float, looks_once: bool) -> str:
    """Return how many evaluations are still to come, and what is known of what they settle."""
    n = math.ceil(forecast)
    more = f"{counted(n, 'evaluation')} more {'is' if n == 1 else 'are'}"
    if looks_once:
        return f"{more} planned, and nothing is sure before all are in: there is one look"
    return f"About {more} expected, if leads are what they look like now"


def _failed(answer: Answer) -> str:
    """Return how many tries failed, and the last questions that were given up."""
    tried, parts = answer.attempts, list[str]()
    if tried.failed:
        parts.append(f"{tried.failures:,} of {tried.tries:,} tries came to nothing")
    if answer.failures:
        parts.append(f"{counted(len(answer.failures), 'question')} given up")
        parts[-1] += ": " + "; ".join(map(str, answer.failures[-_FEW:]))
    return "; ".join(parts)


def _ranking(answer: Answer) -> list[Part]:
    """Return the picture, where every option stands, and how to read that."""
    read = "nothing tells how far off values may be."
    if any(math.isfinite(one.high - one.low) for one in answer.ranking):
        level = percent(answer.confidence)
        read = f"intervals ({level}) hold each by itself, verdicts and ranks together; chances are "
        read += "estimates."
    if answer.scale.compared:
        read = f"values are measured from {short(answer.label)}; {read}"
    said = (
        f"{verdict(answer)} Options by value with intervals, mean scores beside them, and biases."
    )
    return [_standings(answer), Picture("ranking", answer.plot, said), sentence(read)]


def _criteria(answer: Answer) -> list[Part]:
    """Return the values of options on each criterion, in the order of all."""
    if answer.table is None or not answer.criteria:
        return []
    weights = answer.table.scores.weights
    values = {
        f"{short(name)} (weight {weights[name]:g})": [
            alone.standing(one.index).value for one in answer.ranking
        ]
        for name, alone in answer.criteria.items()
    }
    all_ = [value for own in values.values() for value in own if math.isfinite(value)]
    digits = decimals(max(all_, default=1.0) - min(all_, default=0.0))
    columns: dict[str, Sequence[Cell]] = {
        "option": [short(one.option) for one in answer.ranking],
        **{name: [rounded(value, digits) for value in own] for name, own in values.items()},
    }
    return [Table.of("Values on each criterion, biases taken off", columns)]


def _two(answer: Answer) -> list[Part]:
    """Return the difference of two options, if there are no others, with its error."""
    if len(answer.options) != 2 or not answer.comparable:
        return []
    found = answer.compare(*(one.option for one in answer.ranking))
    if not math.isfinite(found.error):
        return []
    digits, ends = spans([(found.value, found.low, found.high)], line=0.0)
    columns: dict[str, Sequence[Cell]] = {
        "option": [Name(found.option)],
        "against": [Name(found.rival)],
        **ends,
        "standard error": [rounded(found.error, digits + 1)],
        "p-value": [p_value(found.p_value).removeprefix("p = ")],
        "scores": [found.evaluations],
        **{f"{kind} in common": [n] for kind, n in found.shared.items()},
    }
    read = f"The interval ({percent(found.level)}) is for two that were named before any score."
    return [Table.of("By how much one is better", columns), read]


def _standings(answer: Answer) -> Table:
    """Return where every option stands, the most valuable first; the chosen stand out."""
    said, inside, ranking = answer.conclusion, answer.categories, answer.ranking
    if inside is not None:
        ranking = tuple(sorted(ranking, key=lambda one: inside.codes[one.index]))
    order = [one.index for one in ranking]
    ranks = list(zip(*(ends[order].tolist() for ends in said.ranks), strict=True))
    chances = [odds(float(said.chances[x])) for x in order]
    verdicts = [verdict_on(answer, x) for x in order]
    digits, found = spans(
        [(one.value, one.low, one.high) for one in ranking],
        [one.kind for one in verdicts],
        [] if answer.scale.compared else [one.raw for one in ranking],
        _line(answer),
    )
    columns: dict[str, Sequence[Cell]] = {
        "category": [Name(inside.name(x) if inside else "") for x in order],
        "option": [(Strong if one.index in said.chosen else Name)(one.option) for one in ranking],
        "group": [Name(one.group or "") for one in ranking],
        "verdict": verdicts,
        "": found[""],
        "value": found["estimate"],
        "low": found["low"],
        "high": found["high"],
        "rank range": [Figures(f"{a}–{b}" if a < b else a) for a, b in ranks],
        "chance": chances,
        "mean score": [rounded(one.raw, digits) for one in ranking],
        "scores": [one.evaluations for one in ranking],
    }
    told = {
        "category": inside is not None,
        "group": answer.options.groups is not None,
        "rank range": any(ends != (1, len(ranking)) for ends in ranks),
        "chance": any(chances),
    }
    columns = {name: cells for name, cells in columns.items() if told.get(name, True)}
    must = {*said.chosen, *said.inside, answer.raw_choice}
    kept = {place for place, x in enumerate(order) if x in must}
    return Table.of("Options, the most valuable first", columns, kept)


def _line(answer: Answer) -> float:
    """Return what values are held against: a bar, a rival, or between the last in and the next."""
    target, own = answer.conclusion.target, answer.conclusion.target.rival(answer.options.labels)
    if target.bar is not None:
        return target.bar
    if own is not None:
        return answer.standing(own).value
    ranking, top = answer.ranking, target.top or 0
    if answer.categories is not None or top in (0, 1) or top >= len(ranking):
        return math.nan
    return 0.5 * (ranking[top - 1].value + ranking[top].value)


def _biases(answer: Answer) -> list[Part]:
    """Return what evaluators add to their scores, and how to read that."""
    if not answer.biases:
        return []
    digits, found = spans([(one.estimate, one.low, one.high) for one in answer.biases], line=0.0)
    columns: dict[str, Sequence[Cell]] = {
        "bias": [short(bias_name(answer, one)) for one in answer.biases],
        "kind": [one.kind for one in answer.biases],
        **found,
        "shrunken": [rounded(one.shrunk, digits) for one in answer.biases],
    }
    return [Table.of("What evaluators add to their scores, against the average", columns)]


def bias_name(answer: Answer, bias: NamedBias) -> str:
    """Return what a bias is called; of two groups, which of them is favoured above 0."""
    groups = _two_groups(answer)
    return bias.name if groups is None else f"for {groups[1]} (+), {groups[0]} (−)"


def _two_groups(answer: Answer) -> tuple[str, ...] | None:
    """Return the names of two groups of options that have features; None without any."""
    return answer.asked.group_names if isinstance(answer.asked, ActionSet) else None


def _next(answer: Answer) -> list[Part]:
    """Return the next questions, and what each is expected to settle."""
    asked = [one for one in answer.next_questions if one.tells]
    errors = alike([x for one in asked for x in (one.error, one.error_after)])
    distance = "lead" if one_best(answer) else "distance to the line"
    columns: dict[str, Sequence[Cell]] = {
        "question": [one.label for one in asked],
        "tells most of": [one.rival for one in asked],
        f"error of its {distance}": errors[::2],
        "error then": errors[1::2],
        "chance of the other side": [odds(one.chance) for one in asked],
        "chance then": [odds(one.chance_after) for one in asked],
        "price": alike([one.price for one in asked]),
    }
    if not _priced(answer):
        del columns["price"]
    if not asked:
        return []
    read = "Then: once it and those above are answered, if leads stay as they are."
    return [Table.of("The best next questions, the best first", columns), read]


def _assumptions(answer: Answer) -> list[Part]:
    """Return what was assumed, which of it the scores could contradict, and what they cannot."""
    if len(answer.options) == 1:
        return []
    tested, shared = _tested(answer), "a favour that all evaluators share looks like value"
    asked = answer.asked if isinstance(answer.asked, ActionSet) else answer.questions
    if isinstance(asked, ActionSet):
        shared = "a reason of value that goes with the group and is no feature looks like bias"
    entries = [
        became(answer.warnings, text, names, not tested.isdisjoint(names), "")
        for text, names in _ASSUMED
    ]
    return [model(asked), Assumptions(entries), f"What no score can tell: {shared}."]


def _method(answer: Answer) -> list[Part]:
    outcome = answer.outcome
    stated = answer.table.noise_scale if outcome is None and answer.table else None
    stated = stated if outcome is None else outcome.noise_scale
    scores = f"{n_scores(answer):,}"
    if not answer.assumed:
        scores = f"{answer.spent:,} asked for, {n_scores(answer) - answer.spent:,} given before"
    entries = {
        "method": "least squares, one look" if outcome is None else outcome.method,
        "confidence": percent(answer.confidence),
        "tolerance": number(answer.tolerance),
        "noise": "estimated" if stated is None else f"stated as {number(stated)}",
        "scores": scores,
        "what certainty rests on": answer.certainty or "nothing certain is said",
        "software": f"evenhand {version('evenhand')}",
    }
    return [Facts("All that it takes to repeat it, beside the scores", entries)]


def required(answer: Answer, how: str, option: str | None) -> str:
    """Return that what is required holds, in a sentence; `RequirementError` if it does not.

    *Sure*: of all options at once. *Probable*: the chance, an estimate, is as large as the
    confidence. Without an option it is required of the whole answer.
    """
    if how not in WAYS:
        raise InputError(f"require must be 'sure' or 'probable'; got {how!r}.")
    labels, said = list(answer.options.labels), answer.conclusion
    if option is not None and option not in labels:
        raise InputError(f"there is no option {option!r}; say one of {listed(labels, 5)}.")
    if option == said.target.against is not None:
        raise InputError(f"{option!r} is what the others are held against; name another.")
    whole = option is None and said.target.top is not None

    def passes(x: int) -> bool | None:
        if how == "sure":
            return said.passes(x)
        chance = float(said.chances[x])
        return True if chance >= 1.0 - said.delta else False if chance <= said.delta else None

    others = [x for x, one in enumerate(said.verdicts) if one != "itself"]
    held = list(said.chosen) if whole else others if option is None else [labels.index(option)]
    found = {x: passes(x) for x in held}
    met: bool | None = None if None in found.values() or not held else True
    if whole:  # a list is never surely wrong
        met = (answer.sure if how == "sure" else met and False not in found.values()) or None
    else:  # who surely fails is said before who may
        met = False if False in found.values() else met
        held = [x for x in held if found[x] is met]
    what = f"{_are([repr(labels[x]) for x in held], 5)} {wanted(answer)}"
    if met:
        return f"passed: {what} ({how}, {percent(answer.confidence)})."
    if met is False:
        so = f"{'surely' if how == 'sure' else 'probably'} not so: {what}"
        raise RequirementError(f"{so} ({percent(answer.confidence)}).", surely=True)
    why = _advice(answer)
    if answer.alarms:
        why = f"An assumption failed: {visible(answer.alarms[0].message)}"
    raise RequirementError(f"cannot tell yet: whether {what}. {why}".strip(), surely=False)
