"""An answer in sentences: the choice, how sure, why not surer, the biases, the cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.biases import Biases, NamedBias
from evenhand.answers.line_words import target_facts, target_verdict
from evenhand.best import Best, direction, sign
from evenhand.numerics.intervals import Estimate
from evenhand.report.words import (
    counted,
    decimals,
    fixed,
    interval,
    listed,
    number,
    percent,
    short,
    size_and_span,
)
from evenhand.scores.scores import Finding

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer

_FEW = 3  # failures, biases or evaluators that are named
_FAR = 5.0  # widths of the values' intervals


def verdict(answer: Answer) -> str:
    """Return which option to choose and how sure that is, in one or two sentences."""
    name, k, target = short(answer.label), len(answer.options), answer.target
    if k > 1 and not answer.sure and answer.scores == 0:
        return f"Nothing is known about the {k:,} options: no evaluation came back."
    several = answer.decision.selection is not None and target is not None and target.top
    aimed = None if several else answer.placing
    if aimed is not None and not aimed.best and not is_apart(answer):
        return target_verdict(answer, aimed)
    if k == 1:
        return f"Choose {name}: there is no other option."
    if several:
        return of_several(answer)
    among = f"of {k:,} options"
    what = f"the best {among}"
    if 0.0 < answer.loss <= answer.tolerance:
        what = f"within {number(answer.tolerance)} of the best {among}"
    level = percent(answer.confidence)
    if answer.sure and answer.certainty == "one judge's scores":
        (judge,) = answer.judges
        first = what.replace("the best", "first")
        return (
            f"{short(judge)} has {name} {first}: that is {level} sure. Whether others would, one "
            "judge cannot tell; ask a second."
        )
    if answer.sure and answer.certainty == "own scores":
        return f"Choose {name}: it is {what}. That is {level} sure, by the options' own scores."
    if answer.sure:
        return (
            f"Choose {name}: it is {what}. That is {level} sure, given that the features are "
            "exact, as you said."
        )
    if answer.certainty == "features exact" and answer.loss <= answer.tolerance:
        return (
            f"Choose {name}: it is {what}, {level} sure if the features are exact. By the options' "
            "own scores alone it is not sure."
        )
    if answer.alarms and all(finding.assumption == "kinds" for finding in answer.alarms):
        return (
            f"{name} looks best {among}, but that is not sure: it rests on judges who are not "
            "trusted as others are, and these do not confirm it (see below)."
        )
    if answer.alarms and not answer.contradicted:
        rivals = listed(list({short(b): 0 for one in answer.alarms for _, b in one.pairs}), 4)
        return f"{name} looks best {among}, but its lead over {rivals} is not sure (see below)."
    if answer.alarms:
        failed = " and ".join(dict.fromkeys(finding.assumption for finding in answer.alarms))
        return (
            f"{name} looks best {among}, but nothing is sure: the scores contradict what was "
            f"assumed about them ({failed}; see below)."
        )
    if is_apart(answer):
        wanted = "is the best" if target is None or target.top else f"are {target.words}"
        return (
            f"Nothing can be said yet of which of {k:,} options {wanted}: the scores do not "
            "compare all of them with one another."
        )
    said = f"{name} looks best {among}, but that is not sure."
    if answer.withdrawn.sure_without:
        said = said.replace(".", ", with the scores put back that were withdrawn.")
    if answer.tolerance < answer.loss < math.inf and not _says_little(answer, answer.loss):
        if_exact = " if the features are exact" if answer.certainty == "features exact" else ""
        said += f" It loses at most {number(answer.loss)} ({level} sure{if_exact})."
    return said + on_single_scores(answer)


def on_single_scores(answer: Answer) -> str:
    """Return who of those that look best has one score only, in a sentence; "" if nobody."""
    single = {one.option for one in answer.ranking if one.evaluations == 1}
    names = [name for name in answer.chosen if name in single]
    if answer.compared or not names:
        return ""
    have = "has a single score" if len(names) == 1 else "have a single score each"
    return f" {listed(names)} {have}."


def of_several(answer: Answer) -> str:
    """Return which options to choose where several are wanted, and how sure that is."""
    m, k, level = len(answer.chosen), len(answer.options), percent(answer.confidence)
    names = listed(answer.chosen)
    what = f"the best {m:,} of {k:,} options"
    if 0.0 < answer.loss <= answer.tolerance:
        what = f"within {number(answer.tolerance)} of {what}"
    if answer.sure and answer.certainty == "one judge's scores":
        return (
            f"{short(answer.judges[0])} has {names} as {what}: that is {level} sure. Whether "
            "others would, one judge cannot tell; ask a second."
        )
    if answer.sure:
        by = "by the options' own scores"
        if answer.certainty == "features exact":
            by = "given that the features are exact, as you said"
        return f"Choose {names}: they are {what}. That is {level} sure, {by}."
    if answer.certainty == "features exact" and answer.loss <= answer.tolerance:
        return (
            f"Choose {names}: they are {what}, {level} sure if the features are exact. By the "
            "options' own scores alone it is not sure."
        )
    looks = f"{names} look like {what}, but"
    if answer.alarms:
        failed = " and ".join(dict.fromkeys(finding.assumption for finding in answer.alarms))
        return (
            f"{looks} nothing is sure: the scores contradict what was assumed about them "
            f"({failed}; see below)."
        )
    if is_apart(answer):
        return (
            f"Nothing can be said yet of which are {what}: the scores do not compare all of them "
            "with one another."
        )
    said = f"{looks} that is not sure."
    if answer.wrong_at_most is not None and answer.wrong_at_most < m:
        said += f" At most {answer.wrong_at_most:,} of them may be wrong ({level} sure)."
    if math.isfinite(answer.loss) and not _says_little(answer, answer.loss):
        said += (
            f" Any of them is worse than any other option by at most {number(answer.loss)} "
            f"({level} sure)."
        )
    return said + on_single_scores(answer)


def surely_in_words(answer: Answer) -> list[tuple[str, str]]:
    """Return who is surely in and who out, and who is neither, where several are wanted."""
    target = answer.target
    if answer.sure or answer.alarms or target is None or target.against is not None:
        return []
    ends, line = ("in", "out"), "At the line"
    if target.bar is not None:
        ends, line = ("above", "below"), "At the bar"
    parts = [(f"Surely {ends[0]}", answer.inside), (f"Surely {ends[1]}", answer.outside)]
    if math.isnan(answer.expected_right):  # else those at the line are named with their chances
        parts.insert(1, (line, answer.undecided))
    return [(title, f"{listed(names)}.") for title, names in parts if names]


def is_apart(answer: Answer) -> bool:
    """Tell whether scores do not compare all options, so that nobody can be named."""
    if answer.placing is not None and answer.placing.categories is not None:
        return answer.placing.apart
    return (answer.placing is not None or not answer.sure) and any(
        math.isnan(one.lead) for one in answer.ranking
    )


def facts(answer: Answer) -> list[tuple[str, str]]:
    """Return what else there is to say, under short titles."""
    best = answer.placing is None or answer.placing.best
    said = [("Rival", rival(answer)), ("Tied", tied(answer)), ("Holds up", margin(answer))]
    said = said if best else []
    if answer.placing is not None and not is_apart(answer):
        said += target_facts(answer, answer.placing)
    if answer.decision.selection is not None:
        said += surely_in_words(answer)
    if isinstance(answer.options, ActionSet):
        said += [("Bias", bias_in_words(answer.options, answer.bias, answer.best))]
    else:
        said += [("Bias", biases_in_words(answer.biases, answer.best))]
        said += [("Evaluators", evaluators_in_words(answer.biases))]
    said += [("Raw scores", raw_in_words(answer))] if best else []
    said += [("Direction", direction(answer.best))]
    if answer.assumed:
        said += [
            ("Why", end(answer) if best or is_apart(answer) else ""),
            ("Scores", scores_in_words(answer)),
        ]
    else:
        said += [("Cost", cost(answer)), ("Stopped", end(answer))]
    said += [("Holds for", holds_for(answer)), ("To be surer", advice(answer))]
    said += [("Failed", failures(answer)), ("Withdrawn", str(answer.withdrawn))]
    said += [("WARNING" if one.alarm else "Note", line(one)) for one in answer.warnings]
    return said


def line(finding: Finding) -> str:
    """Return what was found on one line."""
    return " ".join(finding.message.split())


def rival(answer: Answer) -> str:
    """Return who comes closest to the choice; "" if nothing is known of leads."""
    leads = answer.decision.leads
    if leads is None or len(leads) == 1 or is_apart(answer):
        return ""
    behind = np.where(np.isnan(leads[:, 0]), np.inf, leads[:, 0])
    behind[[answer.option, *_tied_with(answer)]] = np.inf
    x = int(np.argmin(behind))
    if not math.isfinite(behind[x]):
        return ""
    lead, where = lead_over(answer, x), "behind"
    if lead.value < 0.0:
        where, lead = "ahead", -lead
    return f"{short(answer.options.labels[x])} comes closest, {where} by {interval(lead)}."


def lead_over(answer: Answer, option: int) -> Estimate:
    """Return the lead over an option, by its index, without ends that say nothing."""
    lead = answer.decision.lead_over(option)
    if answer.certainty is not None:  # what it loses at most says as much
        lead = replace(lead, low=max(lead.low, -answer.loss))
    return replace(lead, low=-math.inf) if _says_little(answer, -lead.low) else lead


def _says_little(answer: Answer, loss: float) -> bool:
    """Tell whether a bound on what is lost is far beyond what values are known to."""
    # So are bounds for all times while there are few scores: they hold, and say nothing.
    widths = [one.high - one.low for one in answer.ranking if math.isfinite(one.high - one.low)]
    return bool(widths) and loss > _FAR * max(widths)


def margin(answer: Answer) -> str:
    """Return what true difference between groups the choice withstands; "" if that is not said."""
    size = answer.decision.withstands
    if answer.certainty is None or answer.loss > 0.0 or not 0.0 < size < math.inf:
        return ""
    if not isinstance(answer.options, ActionSet):
        return (
            f"A favour of all evaluators together for a group, of up to {number(size)}, would not "
            "change the choice; no score can tell such a favour from value."
        )
    two = answer.options.group_names is not None
    return (
        f"It stays the best if {'belonging to a group is' if two else 'attributes are'} truly "
        f"worth up to ±{number(size)}, which scores cannot tell from bias."
    )


def tied(answer: Answer) -> str:
    """Return who is worth exactly as much as the choice; "" if nobody is."""
    names = [answer.options.labels[x] for x in _tied_with(answer)]
    if not names:
        return ""
    return f"{listed(names)} {'has' if len(names) == 1 else 'have'} the same features: any will do."


def bias_in_words(actions: ActionSet, bias: Estimate, best: Best = "high") -> str:
    """Return who is favoured, by how much, and how well that is known; "" if nobody can be."""
    if actions.n_attributes == 0:
        return ""
    if math.isnan(bias.value):
        return "not known: the scores so far do not show it."
    doubt = "" if bias.low > 0.0 or bias.high < 0.0 else "perhaps none: by estimate "
    if actions.group_names is not None:
        less, more = (short(name) for name in actions.group_names)
        if bias.value < 0.0:
            less, more = more, less
            bias = -bias
        size, span = size_and_span(bias)
        if best == "low":
            favour = f"{size} too low for {less}, in its favour"
            return f"{doubt}{favour}, {size} too high for {more}{span}."
        return f"{doubt}{size} too much for {more}, {size} too little for {less}{span}."
    size, span = size_and_span(bias)
    others = listed(actions.attribute_names[1:])
    rest = f" That of {others} is taken off, too." if others else ""
    return f"{doubt}scores change by {size} {_with_first_attribute(actions)}{span}.{rest}"


def _with_first_attribute(actions: ActionSet) -> str:
    """Return what a score changes with, in the user's units and words."""
    if actions.encoding is None:
        return f"with every 1 of {short(actions.attribute_names[0])}"
    column = actions.encoding.attributes[0]
    if column.category is None:
        return f"with every {column.scale:.4g} of {short(column.source)}"
    reference = dict(actions.encoding.references).get(column.source)
    instead = "" if reference is None else f" instead of {short(reference)}"
    return f"where {short(column.source)} is {short(column.category)}{instead}"


def biases_in_words(biases: Biases, best: Best = "high") -> str:
    """Return who gets how much too much, the largest biases first; "" if nobody can."""
    told = [bias for bias in biases if bias.kind != "leniency"]
    if not told:
        return ""
    known = sorted((bias for bias in told if bias.known), key=lambda bias: -abs(bias.estimate))
    if not known:
        return "not known: the scores so far do not show it."
    said = "; ".join(_bias(bias, best) for bias in known[:_FEW])
    more, lost = len(known) - _FEW, len(told) - len(known)
    if more > 0:
        said += f"; {counted(more, 'smaller one')} in answer.biases"
    if lost:
        said += f"; {lost:,} not known"
    return f"{said}."


def _bias(bias: NamedBias, best: Best) -> str:
    estimate = bias.interval
    perhaps = "" if bias.low > 0.0 or bias.high < 0.0 else "perhaps "
    if bias.kind == "bias":
        much, little = "too much for", "too little for"
        if best == "low":
            much, little = "too high, against", "too low, in favour of"
        if bias.estimate < 0.0:
            much, estimate = little, -estimate
        size, span = size_and_span(estimate)
        return f"{perhaps}{size} {much} the {short(bias.name)}{span}"
    size, span = size_and_span(estimate)
    whose = "" if bias.evaluator is None else f" with {short(bias.evaluator)}"
    if bias.kind == "position":
        turned = (
            "" if best == "high" else ", against it" if bias.estimate > 0 else ", in its favour"
        )
        return f"{perhaps}{size} for being first{turned}{whose}{span}"
    if whose and bias.name.endswith(f"by {bias.evaluator}"):
        whose = ""  # the name says it
    return f"{perhaps}{size} with every 1 of {short(bias.name)}{whose}{span}"


def evaluators_in_words(biases: Biases) -> str:
    """Return who is lenient and who severe, against the average; "" if nobody can be."""
    known = sorted(
        (bias for bias in biases if bias.kind == "leniency" and bias.known),
        key=lambda bias: -bias.estimate,
    )
    if not known:
        return ""
    digits = decimals(max(abs(bias.estimate) for bias in known))

    def more(bias: NamedBias) -> str:
        less = "less" if bias.estimate < 0.0 else "more"
        return f"{fixed(abs(bias.estimate), digits)} {less}"

    first, last = known[0], known[-1]
    if len(known) > _FEW:
        return (
            f"from {short(last.name)}, who gives {more(last)} than the average, to "
            f"{short(first.name)}, who gives {more(first)}."
        )
    said = [f"{short(first.name)} gives {more(first)}"]
    said += [f"{short(bias.name)} {more(bias)}" for bias in known[1:]]
    return f"against the average, {', '.join(said)}."


def raw_in_words(answer: Answer) -> str:
    """Return what the scores alone would have chosen."""
    if answer.raw_choice is None:
        return ""
    if answer.decision.selection is not None:
        return _raw_of_several(answer)
    if is_apart(answer):
        name = short(answer.options.labels[answer.raw_choice])
        return f"The {_first(answer)} mean is that of {name}."
    if answer.raw_choice == answer.option:
        means = "mean verdict" if answer.compared else "mean score"
        return f"The {_first(answer)} {means} is that of the same option."
    best = answer.standing(answer.raw_choice)
    own = answer.standing(answer.option)
    means = "mean verdicts" if answer.compared else "mean scores"
    said = f"By the {means} alone it would have been {short(best.option)}"
    if math.isnan(own.raw):
        return f"{said}."
    digits = decimals((best.raw - own.raw) / 2)
    return f"{said} ({fixed(best.raw, digits)} against {fixed(own.raw, digits)})."


def _first(answer: Answer) -> str:
    """Return which of the scores are the best."""
    return "lowest" if answer.best == "low" else "highest"


def _raw_of_several(answer: Answer) -> str:
    """Return which others the scores alone would have chosen, where several are wanted."""
    known = [one for one in answer.ranking if not math.isnan(one.raw)]
    best = sorted(known, key=lambda one: -sign(answer.best) * one.raw)[: len(answer.chosen)]
    means = "mean verdicts" if answer.compared else "mean scores"
    others = [one.option for one in best if one.option not in answer.chosen]
    missing = [x for x in answer.chosen if x not in [one.option for one in best]]
    if not others:
        return f"The {_first(answer)} {means} are those of the same options."
    return (
        f"By the {means} alone {listed(others)} would be among them instead of {listed(missing)}."
    )


def cost(answer: Answer) -> str:
    """Return how many evaluations were made and, where money counts, what they cost."""
    said = counted(answer.spent, "evaluation")
    if math.isfinite(answer.budget):
        return f"{said} for {number(answer.paid)}, of a budget of {number(answer.budget)}."
    said = f"{said} of at most {answer.at_most:,}"
    return f"{said}, for {number(answer.paid)}." if costs_money(answer) else f"{said}."


def costs_money(answer: Answer) -> bool:
    """Tell whether evaluations cost anything but 1 each."""
    return answer.questions.priced or not math.isclose(answer.paid, answer.spent)


def scores_in_words(answer: Answer) -> str:
    """Return how many scores there were, and what is assumed of who chose them."""
    return f"{counted(answer.scores, 'score')}. {answer.assumed}"


def holds_for(answer: Answer) -> str:
    """Return whom a choice is about that is sure; "" where that was said already."""
    if len(answer.judges) == 1 and answer.placing is not None and not answer.placing.best:
        return f"{answer.scope}; whether others would say the same, one judge cannot tell."
    if not answer.sure or len(answer.judges) < 2:
        return ""
    if answer.conclusion.scope == "these":
        return f"{answer.scope}; whether other judges would say the same is not claimed."
    return f"{answer.scope}."


def end(answer: Answer) -> str:
    """Return why the asking ended."""
    text = " ".join(answer.stopped_because.split())
    if any(line(alarm) in text for alarm in answer.alarms):
        return "An assumption failed: see the warning."
    text = text if text.endswith((".", "…", "!", "?")) else f"{text}."
    # a policy may have been sure of what an alarm withdrew, or what was withdrawn does
    if answer.withdrawn.sure_without and not answer.sure:
        return f"{text} But see what was withdrawn."
    return f"{text} But see the warning." if answer.alarms else text


def advice(answer: Answer) -> str:
    """Return what would make the answer surer; "" if it is sure, or nobody can say."""
    if answer.sure or len(answer.options) == 1:
        return ""
    if any(finding.assumption == "kinds" for finding in answer.alarms):
        return "Ask the judges who are trusted: further scores of the others would not help."
    if answer.alarms:
        return "Look at the warnings first: more scores of this kind would not help."
    if answer.withdrawn.sure_without:
        return (
            "Where a withdrawal was decided without regard to any score, withdraw it as such "
            "(blind). Else more scores do not help: begin a new campaign."
        )
    if answer.certainty == "features exact" and answer.loss <= answer.tolerance:
        return (
            "If you know that values follow from the features with nothing left over, say so: "
            "deviation=0."
        )
    if answer.next_questions.advice:
        return answer.next_questions.advice
    if not answer.conclusion.may_ask:
        return (
            "Nothing more may be asked of these evaluators: ask further ones, or allow more of "
            "these (capacity, workload)."
        )
    if math.isfinite(answer.forecast) and answer.forecast >= 1.0:
        return f"{to_come(answer.forecast, answer.conclusion.looks_once)}."
    return ""


def to_come(forecast: float, looks_once: bool) -> str:
    """Return how many evaluations are still to come, and what is known of what they settle."""
    n = math.ceil(forecast)
    more = f"{counted(n, 'evaluation')} more {'is' if n == 1 else 'are'}"
    if looks_once:
        return f"{more} planned, and nothing is sure before all are in: there is one look"
    return f"About {more} expected, if leads are what they look like now"


def failures(answer: Answer) -> str:
    """Return how many tries failed, and the last questions that were given up."""
    tried, n = answer.attempts, len(answer.failures)
    came = f"{tried.failures:,} of {tried.tries:,} tries came to nothing" if tried.failures else ""
    if n == 0:
        return came
    last = "; ".join(str(failure) for failure in answer.failures[-_FEW:])
    given_up = f"{counted(n, 'question')} given up, {'' if n <= _FEW else 'last '}{last}"
    return f"{came}; {given_up}" if came else given_up


def _tied_with(answer: Answer) -> list[int]:
    """Return the other options over which the lead is certainly nothing."""
    leads = answer.decision.leads
    if leads is None:
        return []
    return [int(x) for x in np.flatnonzero((leads == 0.0).all(axis=1)) if x != answer.option]
