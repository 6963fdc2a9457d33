"""The check of questions in words: what can be compared and told, what helps, a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.model import Cell, Report, Section, Table
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
        [
            Section("A start: whom to ask about whom", [start_table(check)], "brief"),
        ],
    )


def facts(check: Check) -> list[tuple[str, str]]:
    """Return what else there is to say, under short titles."""
    titled = {
        "Biases": on_biases(check),
        "What helps": [advice.text for advice in check.advice[:_MOST]],
        "Start": on_start(check),
    }
    return [(title, sentence) for title, said in titled.items() for sentence in said]


def sentences(check: Check) -> list[str]:
    """Return the check in plain words."""
    helps = [f"What helps: {_lower(advice.text)}" for advice in check.advice[:_MOST]]
    return [*on_options(check), *on_biases(check), *helps, *on_start(check)]


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


def on_start(check: Check) -> list[str]:
    """Say what a start takes, and what is left over."""
    if check.start is None:
        return ["No start was found within the evaluators' workloads: allow more, or ask others."]
    if not len(check.start) or check.start_price is None:
        return []
    what = "" if check.comparable else " for what can be compared"
    left = "answer is" if check.spare == 1 else "answers are"
    return [
        f"A start{what} takes {counted(len(check.start), 'question')} at the price of "
        f"{number(check.start_price)}.",
        f"{check.spare:,} {left} left over to check the model with."
        if check.spare
        else "No answer is left over to check the model with: more questions would allow it.",
    ]


def start_table(check: Check) -> Table:
    """Return whom a start asks about what."""
    rows: list[list[Cell]] = [
        [who, joined(items, 12)] for who, items in check.start_by_evaluator().items()
    ]
    return Table("A start", ["evaluator", "about"], rows)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
