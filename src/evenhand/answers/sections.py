"""What an answer has to say: the sentences of `words`, tables, a picture, and what was assumed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

from evenhand.actions import ActionSet
from evenhand.answers import words
from evenhand.answers.categories import Categories
from evenhand.answers.least_squares import share_for_biases
from evenhand.answers.line_words import groups
from evenhand.answers.placing import Placing
from evenhand.assumptions import model
from evenhand.checks.statistics import FEWEST
from evenhand.numerics.intervals import Estimate
from evenhand.report.model import (
    Assumptions,
    Cell,
    Facts,
    Note,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Share,
    Span,
    Standing,
    Strong,
    Table,
    alike,
    became,
    rounded,
)
from evenhand.report.words import counted, decimals, interval, listed, number, percent, short

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer

_AT_LINE = {
    "error of the lead": "error of its value",
    "chance that the rival is better": "chance of the wrong side",
}
_LITTLE = 0.005  # share of evaluations that is next to nothing


def report_of(answer: Answer) -> Report:
    """Return what an answer has to say."""
    panel = not isinstance(answer.options, ActionSet)
    placing, asked = answer.placing, "to choose"
    if placing is not None:
        asked = f"{'is' if placing.best else 'are'} {placing.wanted.removeprefix('among ')}"
    return Report(
        f"Which of {len(answer.options):,} options {asked}",
        words.verdict(answer),
        words.facts(answer),
        [
            *_by_category(answer),
            Section("Ranking", partial(_ranking, answer), "brief"),
            Section("Biases", partial(_biases, answer), "brief" if panel else "page"),
            Section("Ask next", partial(_next, answer), "brief"),
            Section("What fairness cost", lambda: [_learning(answer), _raw_loss(answer)]),
            Section("What was assumed, and what became of it", partial(_assumptions, answer)),
            Section("What no scores can tell", partial(_untold, answer)),
            Section("Questions that nobody answered", partial(_failures, answer)),
            Section("How it was computed", partial(_method, answer)),
        ],
        names=_names(answer),
    )


def _names(answer: Answer) -> list[str]:
    """Return the user's own names, in what an answer says."""
    questions = answer.questions
    inside = None if answer.placing is None else answer.placing.categories
    groups_ = questions.options.groups
    names = [*answer.options.labels, *questions.evaluators, *questions.items]
    names += [] if groups_ is None else [one for one in groups_ if one is not None]
    names += [] if inside is None else [inside.column, *inside.names]
    # biases of attributes are called as their columns are
    names += [one.name for one in answer.biases if one.kind not in ("bias", "position")]
    return list(dict.fromkeys(map(str, names)))


def record_of(answer: Answer) -> dict[str, Any]:
    """Return what machines read of an answer."""
    questions, raw, placing = answer.next_questions, answer.raw_choice, answer.placing
    return {
        "target": None if placing is None else placing_of(answer, placing),
        "option": answer.label,
        "best": answer.best,
        "sure": answer.sure,
        "certainty": answer.certainty,
        "scope": answer.scope,
        "confidence": answer.confidence,
        "tolerance": answer.tolerance,
        "loses_at_most": answer.loss,
        "withstands": answer.withstands,
        "why": " ".join(answer.stopped_because.split()),
        "assumed": answer.assumed,
        "scores": answer.scores,
        "by_mean_scores": None if raw is None else answer.standing(raw).option,
        "ranking": [_without("index", one) for one in answer.ranking],
        "biases": [asdict(bias) for bias in answer.biases],
        "attempts": answer.attempts.to_dict(answer.questions) if answer.attempts.tries else None,
        "withdrawn": answer.withdrawn.to_dict(),
        "warnings": [
            {"assumption": found.assumption, "message": found.message, "alarm": found.alarm}
            for found in answer.warnings
        ],
        "next_questions": [_without("question", one) for one in questions],
        "questions_until_sure": questions.until_sure,
        "advice": questions.advice,
    }


def placing_of(answer: Answer, placing: Placing) -> dict[str, Any]:
    """Return what machines read of a target, and of where options stand against it."""
    inside = placing.categories
    said = placing.target.to_dict() | ({} if inside is None else {"within": inside.column})
    return said | {
        "chosen": answer.chosen,
        "inside": answer.inside,
        "outside": answer.outside,
        "undecided": answer.undecided,
        "wrong_at_most": answer.wrong_at_most,
        "loses_at_most": placing.loss if placing.target.top is not None else None,
        "expected_loss": placing.expected_loss,
        "expected_right": placing.expected_right,
        "options": [
            {
                "option": one.option,
                **({} if inside is None else {"category": inside.name(one.index)}),
                "verdict": placing.said(one.index),
                "chance": float(placing.chances[one.index]),
                "rank_low": int(placing.rank_low[one.index]),
                "rank_high": int(placing.rank_high[one.index]),
            }
            for one in answer.ranking
        ],
    }


def _without(name: str, one: Any) -> dict[str, Any]:
    return {field: part for field, part in asdict(one).items() if field != name}


def _ranking(answer: Answer) -> list[Part]:
    """Return the picture, where every option stands, and how to read that."""
    picture = Picture(
        "ranking",
        answer.plot,
        f"{words.verdict(answer)} Options by value with intervals, their mean scores beside them, "
        "and the biases; the numbers are in the tables.",
        "Full marks are values once the biases are taken off, with their intervals; hollow marks "
        "are mean scores.",
    )
    how = (
        "The value is what an impartial evaluator of average leniency would give"
        if answer.questions.evaluators
        else "The value is the score less the bias"
    )
    if answer.compared:
        how = f"The value is measured from {short(answer.label)}, since options were compared"
    told = "there are no intervals, since nothing is certain"
    if any(math.isfinite(one.high - one.low) for one in answer.ranking):
        told = f"intervals have a confidence of {percent(answer.confidence)}"
    elif answer.sure:
        told = "what is sure is who leads whom; of values alone too little is known for intervals"
    if answer.placing is None:
        read = f"{how}; {told}. 'Behind' is what an option loses against the chosen one."
        return [picture, _standings(answer), Note(read)]
    picture = Picture(
        "line", answer.plot, f"{words.verdict(answer)} Options by value, and the line."
    )
    table = _standings(answer)
    also = "; so are places, by themselves" if "places" in table.header else ""
    read = (
        f"{how}; {told}. What is sure is so of all options at once{also}. "
        "The chance is an estimate: it takes values to come from one normal population."
    )
    return [picture, table, Note(read)]


def _by_category(answer: Answer) -> list[Section]:
    """Return who is chosen in each category, if there are any."""
    placing = answer.placing
    if placing is None or placing.categories is None:
        return []
    inside = placing.categories
    by = partial(_categories, answer, placing, inside)
    return [Section(f"By {short(inside.column)}", by, "brief")]


def _categories(answer: Answer, placing: Placing, inside: Categories) -> list[Part]:
    """Return who is chosen in each category, who is sure, and who stands at the line."""
    some_in, line, some_out = (set(part) for part in groups(placing))
    rows = []
    for name, part in zip(inside.names, inside.parts, strict=True):
        here = set(part.tolist())
        chosen = answer._named([x for x in placing.chosen if x in here])
        sure = answer._named([x for x in placing.where("in") if x in here])
        counts = (len(here), len(here & some_in), len(here & line), len(here & some_out))
        names = (listed([short(one) for one in some], 12) for some in (chosen, sure))
        rows.append([short(name), *counts, *(one or None for one in names)])
    header = [inside.column, "options", "in", "at the line", "out", "look best", "surely in"]
    read = (
        "All scores are fitted at once: every evaluator has one leniency across all of them. Sure "
        f"is what holds of all {len(inside.names):,} together, each at its share of the level; in "
        f"and out count also a chance of {percent(placing.level)}."
    )
    return [Table("Who looks best in each", header, rows, range(len(rows))), Note(read)]


def _standings(answer: Answer) -> Table:
    """Return where every option stands, the most valuable first; the chosen one stands out."""
    ranking = answer.ranking
    inside = None if answer.placing is None else answer.placing.categories
    if inside is not None:
        ranking = tuple(sorted(ranking, key=lambda one: inside.codes[one.index]))
    spans = [(one.value, one.low, one.high) for one in ranking]
    digits, ends = _decimals(spans), _ends(spans)
    columns: dict[str, Sequence[Cell]] = {
        "option": [
            Strong(short(one.option)) if one.index == answer.option else short(one.option)
            for one in ranking
        ],
        "group": [one.group for one in ranking],
        "mean score": [rounded(one.raw, digits) for one in ranking],
        "value": [rounded(one.value, digits) for one in ranking],
        "low": [rounded(one.low, digits) for one in ranking],
        "high": [rounded(one.high, digits) for one in ranking],
        "": [Span(*span, ends) for span in spans],
        "behind": [rounded(one.lead, digits) for one in ranking],
        "evaluations": [one.evaluations for one in ranking],
    }
    must = spoken_of(answer)
    if answer.questions.options.groups is None:
        del columns["group"]
    if (placing := answer.placing) is not None:
        chosen, places = set(placing.chosen), [one.index for one in ranking]
        names = [Strong(short(o.option)) if o.index in chosen else short(o.option) for o in ranking]
        said: dict[str, Sequence[Cell]] = {
            "place": _places(places, placing),
            "option": names,
            "verdict": [placing.said(x) for x in places],
            "chance": [_share(round(float(placing.chances[x]), 2)) for x in places],
            "places": [f"{placing.rank_low[x]}–{placing.rank_high[x]}" for x in places],
        }
        if inside is not None:
            said = {inside.column: [short(inside.name(x)) for x in places]} | said
        if (placing.rank_low == 1).all() and (placing.rank_high == len(ranking)).all():
            del said["places"]  # nothing is said of them
        del columns["behind"]
        columns = said | {name: some for name, some in columns.items() if name != "option"}
        must = {i for i, x in enumerate(places) if x in chosen or placing.verdicts[x] == "in"}
    rows = list(zip(*columns.values(), strict=True))
    first = "Options, the most valuable first"
    caption = first if inside is None else f"Options by {inside.column}, the most valuable first"
    return Table(caption, list(columns), rows, must)


def _places(ranking: Sequence[int], placing: Placing) -> list[Cell]:
    """Return the place of each option, from 1; where there are categories, of its own."""
    if placing.categories is None:
        return list(range(1, len(ranking) + 1))
    seen: Counter[str] = Counter()
    places: list[Cell] = []
    for x in ranking:
        seen[placing.categories.name(x)] += 1
        places.append(seen[placing.categories.name(x)])
    return places


def spoken_of(answer: Answer) -> set[int]:
    """Return the places of the chosen option, and of that with the highest scores."""
    names = answer.option, answer.raw_choice
    return {place for place, one in enumerate(answer.ranking) if one.index in names}


def _biases(answer: Answer) -> list[Part]:
    """Return what evaluators add to their scores, and how to read that."""
    if isinstance(answer.options, ActionSet):
        return [
            Note(
                "A bias is what scores add for a reason that is not value. It is told apart from "
                "value by the features: options of both groups that are alike in them."
            )
        ]
    if not answer.biases:
        return [Note("There is nothing in these questions that scores could be partial to.")]
    spans = [(one.estimate, one.low, one.high) for one in answer.biases]
    digits, ends = _decimals(spans), _ends(spans)
    rows = [
        [
            short(one.name),
            one.kind,
            *(rounded(x, digits) for x in span),
            Span(*span, ends),
            rounded(one.shrunk, digits),
        ]
        for one, span in zip(answer.biases, spans, strict=True)
    ]
    header = ["bias", "kind", "estimate", "low", "high", "", "shrunken"]
    severe = " (above 0, severity)" if answer.best == "low" else ""
    read = Note(
        f"Leniency{severe} is what an evaluator adds to all scores, against the average of all who "
        "gave some. Shrunken: the better guess of each, drawn to the mean by as much as it is "
        "uncertain."
    )
    return [Table("What evaluators add to their scores", header, rows), read]


def _decimals(spans: Sequence[tuple[float, float, float]]) -> int:
    """Return how many decimals the numbers of a table deserve."""
    widths = [0.5 * (high - low) for _, low, high in spans if math.isfinite(high - low)]
    values = [value for value, _, _ in spans if math.isfinite(value)]
    spread = 0.1 * (max(values) - min(values)) if values else 0.0
    return decimals(median(widths) if widths else spread)


def _ends(spans: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the ends of the axis that intervals are drawn on."""
    places = [x for span in spans for x in span if math.isfinite(x)] or [0.0]
    return min(places), max(places)


def _learning(answer: Answer) -> str:
    """Return what share of evaluations went into the biases; "" if nobody can say."""
    rivals = [
        one.index
        for one in answer.ranking
        if one.index != answer.option and math.isfinite(one.lead) and one.evaluations
    ]
    if not rivals or not answer.scores:
        return ""
    share = share_for_biases(
        answer.questions, answer.conclusion.checks.counts, answer.option, rivals[0]
    )
    if math.isnan(share):
        return ""
    pair = listed([answer.label, answer.options.labels[rivals[0]]])
    n = answer.scores
    kept = math.ceil((1.0 - share) * n)
    if share < _LITTLE or kept == n:
        return (
            f"Learning the biases cost next to nothing: {pair} are told apart as well as if all "
            "biases had been known."
        )
    return (
        f"Of {n:,} evaluations {share:.0%} went into learning the biases: had they been known, "
        f"{kept:,} divided in the same way would have told {pair} apart as well."
    )


def _raw_loss(answer: Answer) -> str:
    """Return what choosing by the mean scores would have lost."""
    if answer.raw_choice is None or answer.decision.selection is not None:
        return ""
    if answer.raw_choice == answer.option:
        same = "Choosing by mean scores would have chosen the same"
        known = "; but from them alone nobody could have known that" if answer.sure else ""
        return f"{same}{known}."
    lead = words.lead_over(answer, answer.raw_choice)
    standing = answer.standing(answer.raw_choice)
    if not math.isfinite(lead.value):
        lead = Estimate(standing.lead, -math.inf, math.inf, 0.0)
    if not math.isfinite(lead.value):
        return f"Choosing by mean scores would have chosen {short(standing.option)}."
    lost = "lost"
    if lead.value < 0.0:
        lost, lead = "gained", Estimate(-lead.value, -lead.high, -lead.low, lead.level)
    return (
        f"Choosing by mean scores would have chosen {short(standing.option)}, and {lost} "
        f"{interval(lead)} by estimate, in units of the scores."
    )


def _assumptions(answer: Answer) -> list[Part]:
    return [
        model(answer.conclusion.actions),
        Assumptions(_checked(answer)),
        Note(
            "Held says that nothing was seen against it, not that it is proved. What rests on an "
            "assumption that is contradicted is withdrawn."
        ),
    ]


def _checked(answer: Answer) -> list[tuple[str, Standing, str]]:
    """Return the assumptions that scores can contradict, each with what became of it."""
    checks = answer.conclusion.checks
    told = checks.record.evaluations > 0
    if len(answer.options) == 1 or not told:
        return []
    by = "values, leniency and favours" if answer.questions.evaluators else "the features"
    repeats = checks.pooled_scatter()[1]
    few = f"It takes {FEWEST} repeated evaluations or more; there were {repeats:,}."
    fit_seen = not math.isnan(checks.lack_of_fit().p_value)
    enough, tested = repeats >= FEWEST, answer.conclusion.tested
    in_order = checks.in_order
    ordered, few_later = in_order >= FEWEST, f"It takes {FEWEST} evaluations after others, in order"
    untimed = answer.conclusion.untimed or f"{few_later}; there were {in_order:,}."
    alone = ordered or "outliers" in tested
    entries = [
        (f"Scores are explained by {by} and noise.", ("fit", "intercept", "looks"), fit_seen, ""),
        (
            "Scores do not rise or fall with time.",
            ("drift",),
            ordered or "drift" in tested,
            untimed,
        ),
        ("Scores do not depend on the ones before.", ("dependence",), ordered, untimed),
        ("No score lies far outside its option's others.", ("outliers",), alone, few),
        ("Evaluators do not repeat themselves.", ("repeats",), repeats > 0, few),
    ]
    if answer.conclusion.noise_scale is not None:
        stated = f"The noise is what was stated, {number(answer.conclusion.noise_scale)}."
        entries.append((stated, ("scale",), enough, few))
    return [
        became(answer.warnings, assumption, names, seen, lacking)
        for assumption, names, seen, lacking in entries
    ]


def _untold(answer: Answer) -> list[Part]:
    if len(answer.options) == 1:
        return []
    shared = (
        "A favour that all evaluators share, for one option or for one group, looks like value, "
        f"whatever the {'verdicts' if answer.compared else 'scores'} are."
    )
    if isinstance(answer.options, ActionSet):
        shared = (
            "A reason of value that goes with the group and is not among the features looks like "
            "bias, whatever the scores are."
        )
    unknown = "How large it may be without changing the choice is not known here."
    return [shared, words.margin(answer) or unknown]


def _next(answer: Answer) -> list[Part]:
    """Return the next questions, and what each is expected to settle."""
    asked = [one for one in answer.next_questions if one.tells]
    if not asked:
        few = "No single answer would change an error or a chance by as much as is shown here."
        return [Note(few)] if answer.next_questions else []
    n = len(asked)
    errors = alike([*(one.error for one in asked), *(one.error_after for one in asked)])
    columns: dict[str, list[Cell]] = {
        "question": [one.label for one in asked],
        "tells most of": [one.rival for one in asked],
        "error of the lead": errors[:n],
        "error then": errors[n:],
        "chance that the rival is better": [_share(one.chance) for one in asked],
        "chance then": [_share(one.chance_after) for one in asked],
        "price": alike([one.price for one in asked]),
    }
    if not answer.questions.priced:
        del columns["price"]
    if answer.placing is not None and not answer.placing.best:
        columns = {_AT_LINE.get(name, name): some for name, some in columns.items()}
    rows = list(zip(*columns.values(), strict=True))
    return [
        Table("The best next questions, the best first", list(columns), rows),
        Note("'Then': once it and those above are answered, if leads stay as they are."),
    ]


def _share(chance: float) -> Share | None:
    return None if math.isnan(chance) else Share(chance)


def _failures(answer: Answer) -> list[Part | None]:
    """Return which questions were given up, and how often tries failed."""
    tried, questions, n = answer.attempts, answer.questions, len(answer.failures)
    if not n and not tried.failures:
        return []
    return [
        f"{tried.failures:,} of {tried.tries:,} tries came to nothing." if tried.failures else "",
        f"{counted(n, 'question')} {'was' if n == 1 else 'were'} given up." if n else "",
        Points([str(failure) for failure in answer.failures]),
        _tries("option", tried.by_option(questions)) if tried.failures else None,
        _tries("evaluator", tried.by_evaluator(questions)) if tried.failures else None,
        Note(
            "Whether an answer comes must not depend on what it is: where failures keep to an "
            "option, there is a warning."
        ),
    ]


def _tries(what: str, counts: Mapping[str, tuple[int, int]]) -> Table | None:
    """Return tries and failures, those that failed most often first; None of one alone."""
    most_first = sorted(counts.items(), key=lambda one: -one[1][1])
    rows = [(name, n, failed) for name, (n, failed) in most_first]
    caption = f"Tries that came to nothing, by {what}"
    return Table(caption, [what, "tries", "failed"], rows) if len(rows) > 1 else None


def _method(answer: Answer) -> list[Part]:
    said, questions = answer.conclusion, answer.questions
    stated = said.noise_scale
    entries = {
        "options": f"{len(answer.options):,}",
        "evaluators": listed(questions.evaluators) if questions.evaluators else "not told apart",
        "policy" if said.policy else "method": said.method,
        "confidence": percent(answer.confidence),
        "tolerance": number(answer.tolerance),
        "noise": "estimated" if stated is None else f"stated as {number(stated)}",
        "evaluations": f"{answer.spent:,} asked for, {said.observed:,} given before",
        "what certainty rests on": answer.certainty or "nothing certain is said",
        "software": f"evenhand {version('evenhand')}",
    }
    return [Facts("All that it takes to repeat it, beside the scores", entries)]
