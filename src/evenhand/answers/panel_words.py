"""What evaluators add to their scores, in words: favours, positions, leniency and severity."""

from __future__ import annotations

from evenhand.answers.biases import Biases, NamedBias
from evenhand.report.phrases import decimals, fixed, short, size_and_span

_MOST_BIASES = 3
_MOST_EVALUATORS = 3


def biases_in_words(biases: Biases) -> str:
    """Return who gets how much too much, the largest biases first; "" if nobody can.

    Examples
    --------
    >>> favour = NamedBias("own group", "bias", None, None, 0.85, 0.4, 1.3, 0.85)
    >>> first = NamedBias("position", "position", None, None, -0.1, -0.3, 0.1, -0.1)
    >>> biases_in_words(Biases([favour]))
    '0.85 too much for the own group (0.40 to 1.30).'
    >>> biases_in_words(Biases([first, favour]))
    '0.85 too much for the own group (0.40 to 1.30); perhaps −0.10 for being first (−0.30 to 0.10).'
    >>> longer = NamedBias("length by P", "attribute", "P", None, 0.25, 0.125, 0.375, 0.25)
    >>> biases_in_words(Biases([longer]))
    '0.25 with every 1 of length by P (0.12 to 0.38).'
    """
    told = [bias for bias in biases if bias.kind != "leniency"]
    if not told:
        return ""
    known = sorted((bias for bias in told if bias.known), key=lambda bias: -abs(bias.estimate))
    if not known:
        return "not known: the scores so far do not show it."
    said = "; ".join(_bias(bias) for bias in known[:_MOST_BIASES])
    more, lost = len(known) - _MOST_BIASES, len(told) - len(known)
    if more > 0:
        said += f"; {more:,} smaller one{'' if more == 1 else 's'} in answer.biases"
    if lost:
        said += f"; {lost:,} not known"
    return f"{said}."


def _bias(bias: NamedBias) -> str:
    estimate = bias.interval
    perhaps = "" if bias.low > 0.0 or bias.high < 0.0 else "perhaps "
    if bias.kind == "bias":
        much = "too much"
        if bias.estimate < 0.0:
            much, estimate = "too little", -bias.interval
        size, span = size_and_span(estimate)
        return f"{perhaps}{size} {much} for the {short(bias.name)}{span}"
    size, span = size_and_span(estimate)
    whose = "" if bias.evaluator is None else f" with {short(bias.evaluator)}"
    if bias.kind == "position":
        return f"{perhaps}{size} for being first{whose}{span}"
    if whose and bias.name.endswith(f"by {bias.evaluator}"):
        whose = ""  # the name says it
    return f"{perhaps}{size} with every 1 of {short(bias.name)}{whose}{span}"


def evaluators_in_words(biases: Biases) -> str:
    """Return who is lenient and who severe, against the average of all; "" if nobody can be.

    Examples
    --------
    >>> def lenient(name, by):
    ...     return NamedBias(name, "leniency", name, None, by, by - 1.0, by + 1.0, by)
    >>> evaluators_in_words(Biases([lenient("P", 0.25), lenient("Q", -0.25)]))
    'against the average, P gives 0.25 more, Q 0.25 less.'
    >>> evaluators_in_words(Biases([lenient(name, by) for name, by in
    ...                             (("P", 0.5), ("Q", -0.75), ("R", 0.25), ("S", 0.0))]))
    'from Q, who gives 0.75 less than the average, to P, who gives 0.50 more.'
    """
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
    if len(known) > _MOST_EVALUATORS:
        return (
            f"from {short(last.name)}, who gives {more(last)} than the average, to "
            f"{short(first.name)}, who gives {more(first)}."
        )
    said = [f"{short(first.name)} gives {more(first)}"]
    said += [f"{short(bias.name)} {more(bias)}" for bias in known[1:]]
    return f"against the average, {', '.join(said)}."
