"""Whether a judge says the same when it is asked the same again: then it has nothing to add.

A model at temperature 0 does, and whoever hears it twice takes one opinion for two that agree. So a
few questions are asked twice. One difference shows that replies are drawn anew. If there is none:
a text of some length, or a number with decimals, does not come twice by chance, and two questions
settle it. A bare verdict or mark does: where a judge gives one of them with probability p, n
questions repeat with about p^n. So more of them are asked, until one differs, and if none does the
judge is taken to repeat itself: to ask it once where more was possible costs certainty, and to
count what it repeats makes certain what is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from evenhand.answers import Reply
from evenhand.scores.scores import Finding

Repeats = Literal["yes", "perhaps", "no", "as before"]

_TWICE = 2  # questions that are asked twice
_COARSE = 8  # where replies are short: at p = .7 all of them repeat in 6%
_WORDS = 40  # characters that are not said twice by chance
_STEPS = 20.0  # to the unit, on which marks lie


def found_to_repeat(ask: Callable[[int], Reply], n: int) -> Repeats:
    """Tell whether replies repeat; ``ask`` asks one of n questions, by its number.

    Examples
    --------
    >>> found_to_repeat(lambda x: Reply(0.731 + x), n=10)
    'yes'
    >>> found_to_repeat(lambda x: Reply(7.0), n=10)
    'perhaps'
    """
    first: dict[int, Reply] = {}
    fine = False
    for pair in range(_COARSE):
        x = pair % n
        if x not in first:
            first[x] = ask(x)
        again = ask(x)
        if (again.said, again.score) != (first[x].said, first[x].score):
            return "no"
        fine = fine or _is_fine(again)
        if fine and pair + 1 >= _TWICE:
            return "yes"
    return "perhaps"


def _is_fine(reply: Reply) -> bool:
    """Tell whether chance alone would hardly say the same twice."""
    steps = float(reply.score) * _STEPS
    return len(reply.said) >= _WORDS or abs(steps - round(steps)) > 1e-9


def on_repeats(judge: str, found: Repeats) -> Finding:
    """Return in words that a judge is asked once."""
    remedy = ""
    if found == "yes":
        why = "replies to the same question are the same word for word"
    elif found == "as before":
        why = "replies to the same question were the same when this choice was begun"
    else:
        why = f"{_COARSE} replies to the same questions were the same, short as they are"
        remedy = " If that is by chance, say Judge(..., once=False)."
    return Finding(
        "once",
        f"{judge} was asked once about each item: {why}, so asking again would add nothing."
        f"{remedy}",
        alarm=False,
    )
