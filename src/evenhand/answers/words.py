"""An answer in plain words: the choice, how sure, why not surer, the bias, the cost, warnings.

`verdict` and `facts` are the sentences; `in_words` sets them for a terminal, `page` for a notebook.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer
from evenhand.policies.messages import Estimate

WIDTH = 100
_LONGEST_NAME = 40
_MOST_NAMES = 4
_MOST_FAILURES = 3


def in_words(answer: Answer, width: int = WIDTH) -> str:
    """Return the answer as lines of at most ``width`` characters."""
    lines = textwrap.wrap(verdict(answer), width)
    said = facts(answer)
    column = max(len(title) for title, _ in said) + 2
    lines.append("")
    for title, text in said:
        lines += textwrap.wrap(
            text,
            width,
            initial_indent=title.ljust(column),
            subsequent_indent=" " * column,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def verdict(answer: Answer) -> str:
    """Return which option to choose and how sure that is, in one or two sentences."""
    name, k = short(answer.label), len(answer.options)
    if k == 1:
        return f"Choose {name}: there is no other option."
    if not answer.sure and answer.spent == answer.policy.observed == 0:
        return f"Nothing is known about the {k:,} options: no evaluation came back."
    among = f"of {k:,} options"
    what = f"the best {among}"
    if 0.0 < answer.loss <= answer.tolerance:
        what = f"within {number(answer.tolerance)} of the best {among}"
    level = percent(answer.confidence)
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
    if answer.alarms:
        failed = " and ".join(dict.fromkeys(finding.assumption for finding in answer.alarms))
        return (
            f"{name} looks best {among}, but nothing is sure: the scores contradict what was "
            f"assumed about them ({failed}; see below)."
        )
    said = f"{name} looks best {among}, but that is not sure."
    if answer.tolerance < answer.loss < math.inf:
        if_exact = " if the features are exact" if answer.certainty == "features exact" else ""
        said += f" It loses at most {number(answer.loss)} ({level} sure{if_exact})."
    return said


def facts(answer: Answer) -> list[tuple[str, str]]:
    """Return what else there is to say, under short titles."""
    said = [("Rival", rival(answer)), ("Tied", tied(answer)), ("Holds up", margin(answer))]
    said += [("Bias", bias_in_words(answer.options, answer.bias))]
    said += [("Raw scores", raw_in_words(answer)), ("Cost", cost(answer))]
    said += [("Stopped", end(answer)), ("To be surer", advice(answer))]
    said += [("Failed", failures(answer))]
    said += [
        ("WARNING" if finding.alarm else "Note", " ".join(finding.message.split()))
        for finding in answer.warnings
    ]
    return [(title, text) for title, text in said if text]


def rival(answer: Answer) -> str:
    """Return who comes closest to the choice; "" if nothing is known of leads."""
    leads = answer.decision.leads
    if leads is None or len(leads) == 1:
        return ""
    behind = np.where(np.isnan(leads[:, 0]), np.inf, leads[:, 0])
    behind[[answer.option, *_tied_with(answer)]] = np.inf
    x = int(np.argmin(behind))
    if not math.isfinite(behind[x]):
        return ""
    lead = answer.decision.lead_over(x)
    if answer.certainty is not None:  # what it loses at most says as much
        lead = replace(lead, low=max(lead.low, -answer.loss))
    where = "behind"
    if lead.value < 0.0:
        where, lead = "ahead", Estimate(-lead.value, -lead.high, -lead.low, lead.level)
    return f"{short(answer.options.labels[x])} comes closest, {where} by {interval(lead)}."


def margin(answer: Answer) -> str:
    """Return what true difference between groups the choice withstands; "" if that is not said."""
    size = answer.decision.withstands
    if answer.certainty is None or answer.loss > 0.0 or not 0.0 < size < math.inf:
        return ""
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


def bias_in_words(actions: ActionSet, bias: Estimate) -> str:
    """Return who is favoured, by how much, and how well that is known.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0]], ["away", "home"])
    >>> bias_in_words(actions, eh.Estimate(1.6, 0.9, 2.3, 0.95))
    '1.60 too much for home, 1.60 too little for away (0.90 to 2.30).'
    >>> bias_in_words(actions, eh.Estimate(-0.2, -0.9, 0.5, 0.95))
    'perhaps none: by estimate 0.20 too much for away, 0.20 too little for home (−0.50 to 0.90).'
    """
    if math.isnan(bias.value):
        return "not known: the scores so far do not show it."
    doubt = "" if bias.low > 0.0 or bias.high < 0.0 else "perhaps none: by estimate "
    if actions.group_names is not None:
        less, more = (short(name) for name in actions.group_names)
        if bias.value < 0.0:
            less, more = more, less
            bias = Estimate(-bias.value, -bias.high, -bias.low, bias.level)
        size, span = _size(bias)
        return f"{doubt}{size} too much for {more}, {size} too little for {less}{span}."
    size, span = _size(bias)
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


def raw_in_words(answer: Answer) -> str:
    """Return what the scores alone would have chosen."""
    if answer.raw_choice is None:
        return ""
    if answer.raw_choice == answer.option:
        return "The highest mean score is that of the same option."
    best = answer.standing(answer.raw_choice)
    own = answer.standing(answer.option)
    said = f"By the mean scores alone it would have been {short(best.option)}"
    if math.isnan(own.raw):
        return f"{said}."
    digits = _decimals((best.raw - own.raw) / 2)
    return f"{said} ({fixed(best.raw, digits)} against {fixed(own.raw, digits)})."


def cost(answer: Answer) -> str:
    """Return how many evaluations were made."""
    said = f"{answer.spent:,} evaluation{'' if answer.spent == 1 else 's'}"
    return f"{said} of at most {answer.at_most:,}."


def end(answer: Answer) -> str:
    """Return why the asking ended."""
    text = " ".join(answer.stopped_because.split())
    if any(" ".join(alarm.message.split()) in text for alarm in answer.alarms):
        return "An assumption failed: see the warning."
    text = text if text.endswith((".", "…", "!", "?")) else f"{text}."
    # a policy may have been sure of what an alarm withdrew
    return f"{text} But see the warning." if answer.alarms else text


def advice(answer: Answer) -> str:
    """Return what would make the answer surer; "" if it is sure, or nobody can say."""
    if answer.sure or len(answer.options) == 1:
        return ""
    if answer.alarms:
        return "Look at the warnings first: more scores of this kind would not help."
    if answer.certainty == "features exact" and answer.loss <= answer.tolerance:
        return (
            "If you know that values follow from the features with nothing left over, say so: "
            "deviation=0."
        )
    if math.isfinite(answer.forecast) and answer.forecast >= 1.0:
        return f"About {math.ceil(answer.forecast):,} evaluations more should settle it."
    return ""


def failures(answer: Answer) -> str:
    """Return how many questions nobody answered, and the last few of them."""
    n = len(answer.failures)
    if n == 0:
        return ""
    last = "; ".join(str(failure) for failure in answer.failures[-_MOST_FAILURES:])
    return f"{n:,} question{'' if n == 1 else 's'}, {'' if n <= _MOST_FAILURES else 'last '}{last}"


def interval(estimate: Estimate) -> str:
    """Return a number with its interval, to two digits of the interval's half-width.

    Examples
    --------
    >>> interval(Estimate(1.5849, 0.917, 2.31, 0.95))
    '1.58 (0.92 to 2.31)'
    >>> interval(Estimate(1.5849, float("-inf"), float("inf"), 0.95))
    '1.58'
    """
    size, span = _size(estimate)
    return f"{size}{span}"


def number(value: float) -> str:
    """Return a number to three digits, with thousands apart.

    Examples
    --------
    >>> number(0.123456), number(12345.6), number(-2.0), number(3e9)
    ('0.123', '12,346', '−2', '3e+09')
    """
    size = abs(value)
    written = f"{value:,.0f}" if 100 <= size < 1e7 else f"{value:.3g}"
    return written.replace("-", "−") if size < 1e7 else written


def percent(share: float) -> str:
    """Return a probability as a percentage.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * share:.6g}%"


def short(name: str) -> str:
    r"""Return a name on one line, cut if it is very long.

    Examples
    --------
    >>> short("two\nlines"), len(short("x" * 1000))
    ('two lines', 40)
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    return line if len(line) <= _LONGEST_NAME else f"{line[: _LONGEST_NAME - 1]}…"


def listed(names: Sequence[str]) -> str:
    """Return some names in a row.

    Examples
    --------
    >>> listed(["Ann"]), listed(["Ann", "Bo"]), listed(["a", "b", "c", "d", "e", "f"])
    ('Ann', 'Ann and Bo', 'a, b, c, d and 2 more')
    """
    if not names:
        return ""
    shown = [short(name) for name in names[:_MOST_NAMES]]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def fixed(value: float, digits: int) -> str:
    """Return a number with so many decimals, or in powers of ten where it is huge or tiny."""
    if digits > 6 or abs(value) >= 1e7:
        return number(value)
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def _tied_with(answer: Answer) -> list[int]:
    """Return the other options over which the lead is certainly nothing."""
    leads = answer.decision.leads
    if leads is None:
        return []
    return [int(x) for x in np.flatnonzero((leads == 0.0).all(axis=1)) if x != answer.option]


def _size(estimate: Estimate) -> tuple[str, str]:
    """Return a number, and its interval in brackets if there is one."""
    if not math.isfinite(estimate.high - estimate.low):
        return number(estimate.value), ""
    digits = _decimals((estimate.high - estimate.low) / 2)
    value, low, high = (fixed(x, digits) for x in (estimate.value, estimate.low, estimate.high))
    return value, f" ({low} to {high})"


def _decimals(width: float) -> int:
    """Return how many decimals a difference deserves: two of its digits, and no more than 6."""
    width = abs(width)
    return max(0, 1 - math.floor(math.log10(width))) if 0.0 < width < math.inf else 3
