"""The check of questions: what can be compared, which biases can be told, what to add; in words.

It is about the questions alone, before anything is asked: what no number of answers would tell, why
not, and what would help.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Floats, Indices
from evenhand.errors import InputError
from evenhand.numerics.tolerance import IN_SPAN
from evenhand.questions.advice import Advice, advise
from evenhand.questions.identifiable import IdentifiedSpace, identified_by, in_order
from evenhand.report.model import Report, Result
from evenhand.report.words import counted, joined, number
from evenhand.tables import Names, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from evenhand.questions.questions import Questions

_SHOWN = 3  # names in a sentence
_MOST = 6  # sentences of a kind


@dataclass(frozen=True)
class NotIdentified:
    """A bias that no number of answers tells.

    Parameters
    ----------
    name
        What the bias is called.
    why
        What it looks the same as.
    advice
        What to add, beside what was advised before; None if that is enough.
    """

    name: str
    why: str
    advice: Advice | None


@dataclass(frozen=True, eq=False)
class Check(Result):
    """What questions can tell: `Questions.check` returns it, and `inspect`, with the price of
    each bias; `print` says it in words.

    Parameters
    ----------
    questions
        What was checked.
    classes
        Options that can be compared with one another, by name; one class if all can.
    identified
        Biases that answers tell, by name.
    not_identified
        Those that they do not, each with why and what to add.
    advice
        What to add, in all: after that all options can be compared, and all biases told.
    rank, spare
        How much the questions can tell, and how many answers to different ones are left over to
        check the model with, within the evaluators' workloads.
    prices
        By `inspect`: κ* of the biases that answers tell, unless the questions are too many.

    Examples
    --------
    >>> import evenhand as eh
    >>> judges = {"P": "fr", "Q": "it"}
    >>> check = eh.Questions.panel({"Ann": "fr", "Bo": "it", "Cy": "us"}, judges).check()
    >>> print(check)
    All 3 options can be compared with one another.
    <BLANKLINE>
    Biases  The answers tell the bias: own group.
    Spare   It takes 5 answers; 1 more is left over to check the model with.
    >>> check.comparable, check.spare
    (True, 1)
    """

    questions: Questions
    classes: tuple[tuple[str, ...], ...]
    identified: tuple[str, ...]
    not_identified: tuple[NotIdentified, ...]
    advice: tuple[Advice, ...]
    rank: int
    spare: int
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def comparable(self) -> bool:
        """Whether all options can be compared with one another."""
        return len(self.classes) == 1

    @property
    def identifiable(self) -> bool:
        """Whether all options can be compared, and all biases told."""
        return self.comparable and not self.not_identified

    @property
    def kappa_star(self) -> dict[str, float]:
        """κ* of every bias by name: ∞ where no answers tell it, NaN where it was not worked out."""
        known = {name: self.prices.get(name, math.nan) for name in self.identified}
        return known | {one.name: math.inf for one in self.not_identified}

    @property
    def sentences(self) -> list[str]:
        """The check in plain words."""
        helps = "What helps"
        said = [f"{t}: {x[:1].lower()}{x[1:]}" if t == helps else x for t, x in self._facts()]
        return [_on_options(self), *said]

    def _facts(self) -> list[tuple[str, str]]:
        """Return what there is to say beside which options can be compared, under short titles."""
        missing, s = self.not_identified, "" if len(self.identified) == 1 else "es"
        biases = [f"They do not tell {one.name!r}: {one.why}." for one in missing[:_MOST]]
        if self.identified:
            biases.insert(0, f"The answers tell the bias{s}: {joined(self.identified)}.")
        if len(missing) > _MOST:
            biases.append(f"Nor {len(missing) - _MOST} more.")
        spare = f"{self.spare:,} more {'is' if self.spare == 1 else 'are'} left over"
        takes = (
            f"It takes {counted(self.rank, 'answer')}; {spare if self.spare else 'none is left'}"
        )
        takes += f"{'' if self.spare else ' over'} to check the model with."
        each = [f"{name} {number(price)}" for name, price in self.prices.items()]
        price = "To know a bias as well as one answer knows its own question costs at least (κ*): "
        return [
            *(("Biases", one) for one in biases or ["Nobody is taken to favour anybody."]),
            *(("What helps", advice.text) for advice in self.advice[:_MOST]),
            *([("Spare", takes)] if self.rank else []),
            *([("Price", f"{price}{joined(each, _MOST)}.")] if each else []),
        ]

    def _report(self) -> Report:
        return Report("What the answers can tell", _on_options(self), self._facts())

    def _draw(self, axes: Axes | None) -> Figure:
        raise InputError("a check of questions has no picture; print it, or see to_dict().")

    def __repr__(self) -> str:
        return (
            f"Check({len(self.classes)} class{'' if self.comparable else 'es'} of "
            f"{len(self.questions.options):,} options, {len(self.identified)} biases told, "
            f"{len(self.not_identified)} not)"
        )

    def _record(self) -> dict[str, Any]:
        worked_out = len(self.prices) == len(self.identified)
        return {
            "identifiable": self.identifiable,
            "words": self.sentences,
            "comparable": self.comparable,
            "classes": [list(names) for names in self.classes],
            "identified": list(self.identified),
            "not_identified": [{"name": one.name, "why": one.why} for one in self.not_identified],
            "advice": [
                {
                    "text": advice.text,
                    "add": [ask._asdict() | {"about": list(ask.about)} for ask in advice.add],
                }
                for advice in self.advice
            ],
            "rank": self.rank,
            "spare": self.spare,
            "kappa_star": dict(self.prices) if worked_out else None,
        }


def check(questions: Questions) -> Check:
    """Return what the questions can tell: which options can be compared, which biases told.

    Where something cannot be told it says why, and what to add.

    Examples
    --------
    >>> import evenhand as eh
    >>> print(eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"}).check())
    Not all options can be compared with one another, however often the questions are asked...
    """
    order = in_order(questions)
    order = order[questions.may_ask[order]]
    found = identified_by(questions, order)
    labels = found.classes()
    members: dict[int, list[str]] = {}
    for name, label in zip(questions.options.labels, labels.tolist(), strict=True):
        members.setdefault(label, []).append(name)
    names, fine = questions.attribute_names, found.of_attributes()
    biases = [j for j, c in enumerate(questions.columns) if c.kind != "leniency"]
    unknown = [j for j in biases if not fine[j]]
    _, representatives = np.unique(labels, return_index=True)
    leads = np.column_stack([representatives[1:], np.zeros(len(representatives) - 1, np.intp)])
    advice: list[Advice | None] = [None] * (1 + len(unknown))
    if len(leads) or unknown:
        advice = advise(questions, order, leads, [np.array([j], dtype=np.intp) for j in unknown])
    return Check(
        questions,
        tuple(tuple(group) for group in members.values()),
        tuple(names[j] for j in biases if fine[j]),
        tuple(
            NotIdentified(names[j], why(found, order, j), one)
            for j, one in zip(unknown, advice[1:], strict=True)
        ),
        tuple(one for one in advice if one is not None),
        found.rank,
        max(0, _at_most(questions, order) - found.rank),
    )


def _at_most(questions: Questions, order: Indices) -> int:
    """Return how many of these questions may be asked once each within the workloads."""
    who, e = questions.evaluator[order], len(questions.evaluators)
    busy = np.minimum(np.bincount(who[who >= 0], minlength=e), questions.workload)
    return int((who < 0).sum() + busy.sum())


def why(found: IdentifiedSpace, order: Indices, j: int) -> str:
    """Return what a bias looks the same as, for all that the questions identify."""
    questions = found.questions
    d = questions.n_features
    if not abs(questions.matrix[order][:, [d + j]]).sum():
        return "no question that may be asked shows it"
    before = found.unknown.shape[0] - questions.n_attributes
    # the null direction that moves the bias most; what makes up for its move looks the same as it
    move: Floats = found.unknown @ found.unknown[before + j]
    move = move / -move[before + j]
    shift = found.options @ move
    if len(found.firsts):
        shift = np.where(found.firsts >= 0, -shift, np.nan)
    lenient = np.zeros(len(questions.evaluators))
    others = []
    for column, size in zip(questions.columns, move[before:], strict=True):
        if column.kind == "leniency":
            lenient[questions.evaluators.index(column.evaluator)] = size
        elif abs(size) > IN_SPAN and column is not questions.columns[j]:
            others.append(column.name)
    parts = _difference("value", shift, questions.options.labels)
    parts = parts or _difference("leniency", lenient, questions.evaluators)
    if others:
        parts.append(f"a change of {joined(others)}")
    return f"it looks the same as {joined(parts)}" if parts else "too few questions show it"


def _difference(what: str, sizes: Floats, names: Names) -> list[str]:
    """Say between whom a difference is largest; nothing where there is none."""
    known = np.flatnonzero(~np.isnan(sizes))
    if not len(known) or np.ptp(sizes[known]) <= IN_SPAN:
        return []
    high, low = (
        listed([names[x] for x in known[near].tolist()], _SHOWN)
        for near in (
            sizes[known] >= sizes[known].max() - IN_SPAN,
            sizes[known] <= sizes[known].min() + IN_SPAN,
        )
    )
    return [f"a difference in {what} between {high} and {low}"]


def _on_options(check: Check) -> str:
    """Say which options can be compared."""
    k = len(check.questions.options)
    if k == 1:
        return "There is one option, and nothing to compare it with."
    if check.comparable:
        all_ = "Both options" if k == 2 else f"All {k:,} options"
        return f"{all_} can be compared with one another."
    alone = [names[0] for names in check.classes if len(names) == 1]
    parts = [listed(names, _SHOWN) for names in check.classes if len(names) > 1]
    parts += [f"{listed(alone, _SHOWN)} with nothing else"] if alone else []
    return (
        "Not all options can be compared with one another, however often the questions are "
        f"asked. They fall into {len(check.classes):,} parts: {'; '.join(parts[:_MOST])}"
        f"{'; …' if len(parts) > _MOST else ''}."
    )
