"""The check of questions in words: what can be compared and told, and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.model import Report
from evenhand.report.words import counted, joined, number
from evenhand.tables import listed

if TYPE_CHECKING:
    from evenhand.questions.check import Check

_SHOWN = 3  # names of a class in a sentence
_MOST = 6  # of a kind


def report_of(check: Check) -> Report:
    """Return what a check has to say."""
    return Report(
        "What the answers can tell",
        " ".join(on_options(check)),
        facts(check),
    )


def facts(check: Check) -> list[tuple[str, str]]:
    """Return what else there is to say, under short titles."""
    titled = {
        "Biases": on_biases(check),
        "What helps": [advice.text for advice in check.advice[:_MOST]],
        "Spare": on_spare(check),
        "Price": on_prices(check),
    }
    return [(title, sentence) for title, said in titled.items() for sentence in said]


def sentences(check: Check) -> list[str]:
    """Return the check in plain words."""
    helps = [f"What helps: {_lower(advice.text)}" for advice in check.advice[:_MOST]]
    return [*on_options(check), *on_biases(check), *helps, *on_spare(check), *on_prices(check)]


def on_options(check: Check) -> list[str]:
    """Say which options can be compared."""
    k = len(check.questions.options)
    if k == 1:
        return ["There is one option, and nothing to compare it with."]
    if check.comparable:
        all_ = "Both options" if k == 2 else f"All {k:,} options"
        return [f"{all_} can be compared with one another."]
    alone = [names[0] for names in check.classes if len(names) == 1]
    several = [names for names in check.classes if len(names) > 1]
    parts = [listed(names, _SHOWN) for names in several]
    if alone:
        parts.append(f"{listed(alone, _SHOWN)} with nothing else")
    return [
        "Not all options can be compared with one another, however often the questions are "
        f"asked. They fall into {len(check.classes):,} parts: {'; '.join(parts[:_MOST])}"
        f"{'; …' if len(parts) > _MOST else ''}."
    ]


def on_biases(check: Check) -> list[str]:
    """Say which biases can be told, and why others cannot."""
    said = []
    if check.identified:
        s = "" if len(check.identified) == 1 else "es"
        said.append(f"The answers tell the bias{s}: {joined(check.identified)}.")
    missing = check.not_identified
    said += [f"They do not tell {one.name!r}: {one.why}." for one in missing[:_MOST]]
    if len(missing) > _MOST:
        said.append(f"Nor {len(missing) - _MOST} more.")
    return said or ["Nobody is taken to favour anybody."]


def on_spare(check: Check) -> list[str]:
    """Say how many answers it takes, and what is left over."""
    takes = f"It takes {counted(check.rank, 'answer')}"
    if not check.rank:
        return []
    if not check.spare:
        return [f"{takes}; none is left over to check the model with."]
    left = "is" if check.spare == 1 else "are"
    return [f"{takes}; {check.spare:,} more {left} left over to check the model with."]


def on_prices(check: Check) -> list[str]:
    """Say what it costs to know each bias, where that was worked out."""
    each = [f"{name} {number(price)}" for name, price in check.prices.items()]
    what = "To know a bias as well as one answer knows its own question costs at least (κ*)"
    return [f"{what}: {joined(each, _MOST)}."] if each else []


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
