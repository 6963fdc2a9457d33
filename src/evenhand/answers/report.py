"""The report of an answer: what a committee reads, prints and files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version

from evenhand.actions import ActionSet
from evenhand.answers import words
from evenhand.answers.answer import Answer
from evenhand.answers.figure import answer_picture, draw_answer_picture
from evenhand.answers.page import biases_table, standings_table
from evenhand.answers.panel_words import biases_in_words, evaluators_in_words
from evenhand.answers.price import share_for_biases
from evenhand.assumptions import model
from evenhand.checks.stream import FEWEST
from evenhand.policies.messages import Estimate, Finding
from evenhand.report.document import (
    Section,
    Standing,
    became,
    checked,
    document,
    facts,
    frame_table,
    note,
    picture,
    points,
    scrolling,
    table,
)
from evenhand.report.phrases import interval, listed, number, percent, short

_MOST_ROWS = 50
_MOST_FAILURES = 20
_LITTLE = 0.005  # share of evaluations that is next to nothing


def report_of(
    answer: Answer,
    title: str | None = None,
    made: date | None = None,
    more: Sequence[Section] = (),
) -> str:
    """Return the report of an answer as one page of HTML, with more sections before the last."""
    return document(
        title or f"Which of {len(answer.options):,} options to choose",
        words.verdict(answer),
        [
            Section("The decision", _decision(answer)),
            Section("Values beside mean scores", _ranking(answer)),
            Section("Biases", _biases(answer)),
            Section("What fairness cost", _price(answer)),
            Section("What was assumed, and what became of it", _assumptions(answer)),
            Section("What no scores can tell", _untold(answer)),
            Section("What to ask next", _next(answer)),
            Section("Questions that nobody answered", _failures(answer)),
            *more,
            Section("How it was computed", _method(answer)),
        ],
        made,
    )


def _decision(answer: Answer) -> list[str]:
    alarms = points(f"WARNING: {_line(finding)}" for finding in answer.alarms)
    return [
        alarms,
        _sentence("", words.rival(answer)),
        _sentence("", words.tied(answer)),
        _sentence("", words.raw_in_words(answer)),
        _given(answer) if answer.assumed else words.cost(answer),
        _sentence("Withdrawn: ", str(answer.withdrawn)),
        _sentence("" if answer.assumed else "Why the asking ended: ", words.end(answer)),
    ]


def _given(answer: Answer) -> str:
    n = answer.scores
    return f"It rests on {n:,} score{'' if n == 1 else 's'} that were there."


def _ranking(answer: Answer) -> list[str]:
    shown = answer_picture(answer)
    drawn = picture(
        draw_answer_picture(shown),
        "ranking",
        f"{shown.title} {len(shown.rows):,} of {shown.n_options:,} options by value with "
        "intervals, their mean scores beside them, and the biases; the numbers are in the tables.",
        "Full marks are values once the biases are taken off, with their intervals; hollow marks "
        f"are mean scores. {shown.note}",
    )
    level = percent(answer.confidence)
    how = (
        "The value is what an impartial evaluator of average leniency would give"
        if answer.questions.evaluators
        else "The value is the score less the bias"
    )
    if answer.compared:
        how = f"The value is measured from {short(answer.label)}, since options were compared"
    told = "there are no intervals, since nothing is certain"
    if any(math.isfinite(one.high - one.low) for one in answer.ranking):
        told = f"intervals have a confidence of {level}"
    elif answer.sure:
        told = "what is sure is who leads whom; of values alone too little is known for intervals"
    return [
        drawn,
        scrolling("Options, the most valuable first", standings_table(answer, _MOST_ROWS)),
        note(f"{how}; {told}. 'Behind' is what an option loses against the chosen one."),
    ]


def _biases(answer: Answer) -> list[str]:
    options = answer.options
    if isinstance(options, ActionSet):
        return [
            _sentence("", words.bias_in_words(options, answer.bias)),
            note(
                "A bias is what scores add for a reason that is not value. It is told apart from "
                "value by the features: options of both groups that are alike in them."
            ),
        ]
    told = biases_in_words(answer.biases), evaluators_in_words(answer.biases)
    if not answer.biases:
        return ["There is nothing in these questions that scores could be partial to."]
    return [
        *(_sentence("", text) for text in told),
        scrolling("What evaluators add to their scores", biases_table(answer, _MOST_ROWS)),
        note(
            "Leniency is what an evaluator adds to all scores, against the average of all who "
            "gave some. Towards the mean: the better guess of each, drawn to the mean by as much "
            "as it is uncertain."
        ),
    ]


def _price(answer: Answer) -> list[str]:
    cost = "" if answer.assumed else words.cost(answer)
    return [cost, _learning(answer), _raw_loss(answer)]


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
    pair = f"{short(answer.label)} and {short(answer.options.labels[rivals[0]])}"
    if share < _LITTLE:
        return (
            f"Learning the biases cost next to nothing: {pair} are told apart as well as if all "
            "biases had been known."
        )
    n = answer.scores
    kept = math.ceil((1.0 - share) * n)
    return (
        f"Of {n:,} evaluations {share:.0%} went into learning the biases: had they been known, "
        f"{kept:,} divided in the same way would have told {pair} apart as well."
    )


def _raw_loss(answer: Answer) -> str:
    """Return what choosing by the mean scores would have lost."""
    if answer.raw_choice is None:
        return ""
    if answer.raw_choice == answer.option:
        same = "Choosing by mean scores would have chosen the same"
        known = "; but from them alone nobody could have known that" if answer.sure else ""
        return f"{same}{known}."
    lead = words.lead_over(answer, answer.raw_choice)
    standing = answer.standing(answer.raw_choice)
    if not math.isfinite(lead.value):
        lead = Estimate.without_interval(standing.lead)
    if not math.isfinite(lead.value):
        return f"Choosing by mean scores would have chosen {short(standing.option)}."
    lost = "lost"
    if lead.value < 0.0:
        lost, lead = "gained", -lead
    return (
        f"Choosing by mean scores would have chosen {short(standing.option)}, and {lost} "
        f"{interval(lead)} by estimate, in units of the scores."
    )


def _assumptions(answer: Answer) -> list[str]:
    told = _checks(answer)
    said = " ".join(seen for _, _, seen in told)
    notes = points(
        _line(finding)
        for finding in answer.warnings
        if not finding.alarm and _line(finding) not in said
    )
    return [
        model(answer.conclusion.actions),
        answer.assumed,
        checked(told),
        notes,
        note(
            "Held says that nothing was seen against it, not that it is proved. An assumption that "
            "is contradicted withdraws everything that was certain."
        ),
    ]


def _checks(answer: Answer) -> list[tuple[str, Standing, str]]:
    """Return the assumptions that scores can contradict, each with what became of it."""
    checks = answer.conclusion.checks
    told = checks.record.evaluations > 0
    by = "values, leniency and favours" if answer.questions.evaluators else "the features"
    repeats = checks.pooled_scatter()[1]
    few = f"It takes {FEWEST} repeated evaluations or more; there were {repeats:,}."
    fit_seen = told and not math.isnan(checks.lack_of_fit().p_value)
    enough = told and repeats >= FEWEST
    entries = [
        (f"Scores are explained by {by} and noise.", ("fit", "intercept", "looks"), fit_seen, ""),
        ("Scores do not rise or fall with time.", ("drift",), enough, few),
        ("Scores do not depend on the ones before.", ("dependence",), enough, few),
        ("No score lies far outside its option's others.", ("outliers",), enough, few),
        ("Evaluators do not repeat themselves.", ("repeats",), told and repeats > 0, few),
    ]
    if answer.conclusion.noise_scale is not None:
        stated = f"The noise is what was stated, {number(answer.conclusion.noise_scale)}."
        entries.append((stated, ("scale",), enough, few))
    if len(answer.options) == 1 or not told:
        return []
    return [
        became(answer.warnings, assumption, names, seen, lacking)
        for assumption, names, seen, lacking in entries
    ]


def _untold(answer: Answer) -> list[str]:
    if len(answer.options) == 1:
        return []
    if isinstance(answer.options, ActionSet):
        shared = (
            "A reason of value that goes with the group and is not among the features looks like "
            "bias, whatever the scores are."
        )
    elif answer.compared:
        shared = (
            "A favour that all evaluators share, for one option or for one group, looks like "
            "value, whatever the verdicts are."
        )
    else:
        shared = (
            "A favour that all evaluators share, for one option or for one group, looks like "
            "value, whatever the scores are."
        )
    held = words.margin(answer)
    return [shared, held or "How large it may be without changing the choice is not known here."]


def _next(answer: Answer) -> list[str]:
    columns = {
        "label": "question",
        "rival": "tells most of",
        "error": "error of the lead",
        "error_after": "then",
        "chance": "chance that the rival is better",
        "chance_after": "then",
        "price": "price",
    }
    if not answer.questions.priced:
        del columns["price"]
    asked = answer.next_questions.to_frame()
    return [
        words.advice(answer),
        frame_table("The best next questions, the best first", asked, _MOST_ROWS, columns),
        note("'Then': once it and those above are answered, if leads stay as they are.")
        if len(asked)
        else "",
    ]


def _failures(answer: Answer) -> list[str]:
    tried, questions = answer.attempts, answer.questions
    if not answer.failures and not tried.failures:
        return []
    shown = answer.failures[:_MOST_FAILURES]
    more = len(answer.failures) - len(shown)
    tables = [
        _tries(what, counts)
        for what, counts in (
            ("option", tried.by_option(questions)),
            ("evaluator", tried.by_evaluator(questions)),
        )
        if tried.failures and len(counts) > 1
    ]
    return [
        f"{tried.failures:,} of {tried.tries:,} tries came to nothing." if tried.failures else "",
        f"{len(answer.failures):,} questions were given up." if answer.failures else "",
        points([*(str(failure) for failure in shown), f"… and {more:,} more" if more else ""])
        if shown
        else "",
        *tables,
        note(
            "Whether and when an answer comes must not depend on what it is: where failures keep "
            "to an option, or late answers differ, there is a warning."
        ),
    ]


def _tries(what: str, counts: Mapping[str, tuple[int, int]]) -> str:
    """Return a table of tries and failures, those that failed most often first."""
    most_first = sorted(counts.items(), key=lambda one: -one[1][1])
    rows = [[name, n, failed] for name, (n, failed) in most_first]
    left_out = max(0, len(rows) - _MOST_ROWS)
    caption = f"Tries that came to nothing, by {what}"
    return table(caption, [what, "tries", "failed"], rows[:_MOST_ROWS], left_out)


def _method(answer: Answer) -> list[str]:
    said, questions = answer.conclusion, answer.questions
    stated = said.noise_scale
    entries: dict[str, object] = {
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
    kept = (
        "answer.policy.state() has everything that was told, as a plain value for a file; "
        "eh.restore makes a policy of it again."
    )
    return [
        facts("All that it takes to repeat it, beside the scores", entries),
        note(kept) if said.policy else "",
    ]


def _line(finding: Finding) -> str:
    return " ".join(finding.message.split())


def _sentence(before: str, text: str) -> str:
    """Return a sentence that starts with a capital; "" if there is nothing to say."""
    said = f"{before}{text}" if text else ""
    return said[:1].upper() + said[1:]
