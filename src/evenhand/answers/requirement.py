"""What is required of an answer before something is done, such as a release: met, not met, or open.

*Sure*: with the confidence of the answer, of all options at once. *Probable*: the chance, which is
an estimate, is as large as that confidence. Without a name it is required of the whole answer: that
the choice is settled, or that every option is above the bar, or better than the one it is held
against. What it takes is up to the tolerance: 'not worse by more than'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.answers.placing import Placing
from evenhand.answers.words import line
from evenhand.errors import InputError, RequirementError
from evenhand.report.words import counted, percent
from evenhand.tables import listed

if TYPE_CHECKING:
    from evenhand.answers.answer import Answer

WAYS = ("sure", "probable")


def required(answer: Answer, how: str, option: str | None) -> str:
    """Return that what is required holds, in a sentence; `RequirementError` if it does not."""
    if how not in WAYS:
        raise InputError(f"require must be 'sure' or 'probable'; got {how!r}.")
    labels = answer.options.labels
    if option is not None and option not in labels:
        raise InputError(f"there is no option {option!r}; say one of {listed(list(labels), 5)}.")
    placing = answer.placing
    if placing is None and how == "probable":
        raise InputError(
            "what is probable is said of a target: say top=1, top=m, bar= or against=, too."
        )
    what = f"{how}, {percent(answer.confidence)}"
    if placing is None:
        wanted, met = _best(answer, option)
    elif option is None and placing.target.top is not None:
        wanted, met = _list(answer, placing, how)
    else:
        wanted, met = _each(answer, placing, how, option)
    if met:
        return f"passed: {wanted} ({what})."
    if met is False:
        not_so = "surely not so" if how == "sure" else "probably not so"
        raise RequirementError(f"{not_so}: {wanted} ({what}).", surely=True)
    raise RequirementError(f"cannot tell yet: whether {wanted}. {_next(answer)}", surely=False)


def _best(answer: Answer, option: str | None) -> tuple[str, bool | None]:
    """Return what is required of the best option, and whether that is so."""
    name = answer.label if option is None else option
    within = f"within {answer.tolerance:g} of the best" if answer.tolerance else "the best"
    wanted = f"{name!r} is {within}"
    if name == answer.label:
        return wanted, answer.sure or None
    lead = answer.decision.lead_over(answer.options.labels.index(name))
    behind = not answer.contradicted and lead.low > answer.tolerance
    return wanted, False if behind or (answer.sure and not answer.tolerance) else None


def _list(answer: Answer, placing: Placing, how: str) -> tuple[str, bool | None]:
    """Return that the m best are settled, and whether they are: never surely not."""
    wanted = f"{listed(list(answer.chosen), 12)} are {placing.wanted}"
    if how == "sure":
        return wanted, answer.sure or None
    likely = [bool(placing.chances[x] >= placing.level) for x in placing.chosen]
    return wanted, (bool(likely) and all(likely)) or None


def _each(
    answer: Answer, placing: Placing, how: str, option: str | None
) -> tuple[str, bool | None]:
    """Return what is required of an option, or of all that are held to it, and whether it is so."""
    labels = answer.options.labels
    held = [x for x, said in enumerate(placing.verdicts) if said != "itself"]
    if option is not None:
        if labels.index(option) not in held:
            raise InputError(f"{option!r} is what the others are held against; name another.")
        held = [labels.index(option)]
    found = {x: placing.passes(x) if how == "sure" else _likely(placing, x) for x in held}
    met: bool | None = True
    for state in (None, False):  # who surely fails is said before who may
        if state in found.values():
            met, held = state, [x for x in held if found[x] is state]
    names = listed([labels[x] for x in held], 5)
    return f"{names} {'is' if len(held) == 1 else 'are'} {placing.wanted}", met


def _likely(placing: Placing, option: int) -> bool | None:
    chance = float(placing.chances[option])
    return True if chance >= placing.level else False if chance <= 1.0 - placing.level else None


def _next(answer: Answer) -> str:
    """Return why it cannot be told, where something is wrong, and what to ask."""
    if answer.alarms:
        return f"An assumption failed: {line(answer.alarms[0])}"
    asked = answer.next_questions
    if asked.advice:
        return asked.advice
    if asked:
        return f"Ask next: {listed([one.label for one in asked], 3)}."
    return f"{counted(answer.scores, 'score')} do not settle it; more evaluators or items would."
