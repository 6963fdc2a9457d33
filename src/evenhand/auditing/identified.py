"""Identification of the bias: where scores do not identify it, why not, and whom to ask about what.

Whom to ask is worked out as for questions that were not asked yet (`questions.advice`), of a few
options and evaluators at one event, on one item: rows that identify the bias there do so in the
whole table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.questions import Questions
from evenhand.questions.advice import advise
from evenhand.questions.identifiable import identified_by, in_order
from evenhand.questions.inputs import Named
from evenhand.scores import Scores
from evenhand.scores.scores import Codes, crossed
from evenhand.tables import listed

_MOST = 24  # options, and evaluators, among whom advice is looked for
_SHOWN = 3  # names in a sentence


class MissingScore(NamedTuple):
    """A score to add: who should be asked about what; both may be new."""

    option: str
    evaluator: str
    rival: str | None  # in comparisons, the option that stands second
    item: str | None  # None where the table has none, as for event and groups
    event: str | None
    option_group: str | None
    evaluator_group: str | None


@dataclass(frozen=True)
class Identified:
    """Whether the bias is identified by the scores, and what would help if it is not."""

    told: bool  # whether it is
    why: str = ""  # why not, in plain words; empty if it is
    advice: str = ""
    asks: tuple[MissingScore, ...] = ()  # scores to add, after which it is; empty if none was found


def why_not(scores: Scores) -> Identified:
    """Return why the bias is not identified by scores that do not, and whom to ask."""
    if scores.partial is None:
        return Identified(
            False,
            "Nobody said who is partial to what.",
            "Say of which groups options and evaluators are, or name a column that says how "
            "partial the evaluator is to the option.",
        )
    found = _panel(scores) if scores.stated is None and scores.reference is None else None
    if found is None:
        return Identified(
            False,
            _reason(scores),
            "Add scores of the same options by several evaluators, some of whom are partial to "
            "some of the options and some of whom are not.",
        )
    questions, where = found
    order = in_order(questions)
    order = order[questions.may_ask[order]]
    if scores.attributes and identified_by(questions, order).of_attributes()[0]:
        return Identified(
            False,
            f"Partiality goes hand in hand with {listed(tuple(scores.attributes), _SHOWN)}: which "
            "of them scores rise with cannot be told.",
            "Leave these attributes out, or add scores in which they differ.",
        )
    advice = advise(questions, order, np.empty((0, 2), dtype=np.intp), [np.zeros(1, np.intp)])[1]
    assert advice is not None  # since a neutral evaluator can be asked about everything
    groups = dict(zip(questions.options.labels, questions.options.groups or (), strict=True))
    sides = dict(zip(questions.evaluators, questions.evaluator_groups or (), strict=True))
    asks = [
        MissingScore(
            option,
            str(ask.evaluator),
            rivals[0] if rivals else None,
            where.get("item"),
            where.get("event"),
            groups.get(option),
            sides.get(str(ask.evaluator)),
        )
        for ask in advice.add
        for option, *rivals in [ask.about]
    ]
    of = ", ".join(f"{kind} {name!r}" for kind, name in where.items())
    text = f"{advice.text}{f' (Of {of}.)' if of else ''}"
    return Identified(False, _reason(scores), text, tuple(asks))


def _reason(scores: Scores) -> str:
    """Return why the bias is not identified."""
    partial, evaluator = scores.partial, scores.evaluator
    assert partial is not None
    if not partial.any():
        return "Nobody has scored anything that they are partial to."
    if partial.min() == partial.max():
        return "Everybody is equally partial to everything that they have scored."
    if evaluator is not None and len(evaluator) == 1 and scores.reference is None:
        return (
            f"There is one evaluator, {evaluator.names[0]!r}: what is added to some options looks "
            "the same as what they are worth."
        )
    return (
        "Who is partial to what follows from the option and the evaluator in all of these scores: "
        "a bias looks the same as differences of worth and leniency."
    )


def _panel(scores: Scores) -> tuple[Questions, dict[str, str]] | None:
    """Return questions to evaluators about options, of which those that were scored may be asked,
    and the event and item that they are of: where most evaluators are. None if no bias shows there.
    """
    who, of_options, of_judges = scores.evaluator, scores.option_group, scores.evaluator_group
    if who is None or of_options is None or of_judges is None:
        return None
    rows, where = np.arange(len(scores)), dict[str, str]()
    for kind, factor in (("event", scores.event), ("item", scores.item)):
        if factor is not None and (kind == "event" or scores.rival is None):
            pairs, _ = crossed(factor.codes[rows], who.codes[rows])
            once = np.unique(pairs, return_index=True)[1]
            most = int(np.bincount(factor.codes[rows][once]).argmax())
            rows, where[kind] = rows[factor.codes[rows] == most], factor.names[most]
    first, by = scores.option.codes[rows], who.codes[rows]
    second = first if scores.rival is None else scores.rival[rows]
    chosen = _some(np.append(first, second), of_options, of_judges[by])
    judges = _some(by, of_judges, of_options[chosen])
    named = (
        Named.of(*one, scores.groups) for one in ((scores.option, of_options), (who, of_judges))
    )
    options, evaluators = (
        {all_.names[x]: all_.groups[x] for x in some.tolist()}
        for all_, some in zip(named, (chosen, judges), strict=True)
    )
    sides = [side for side in options.values() if side is not None]
    if len(options) < 2 or not sides:
        return None
    if not {*sides} & {*evaluators.values()}:
        evaluators[f"a new evaluator ({sides[0]})"] = sides[0]
    seen = np.isin(first, chosen) & np.isin(second, chosen) & np.isin(by, judges)
    keys = np.unique(np.column_stack([first, second, by])[seen], axis=0).tolist()
    names, asked = scores.option.names, [who.names[e] for _, _, e in keys]
    if scores.rival is None:
        made = Questions.panel(options, evaluators)
        found = made.find([names[a] for a, _, _ in keys], asked)
    else:
        made = Questions.comparisons(options, evaluators, bias="common")
        found = made.find([(names[a], names[b]) for a, b, _ in keys], asked)
    return (made.restrict(found), where) if made.columns[0].kind == "bias" else None


def _some(codes: Codes, groups: Codes, others: Codes) -> Codes:
    """Return the commonest codes in rows, those of groups that others are of in turn with those of
    none.
    """
    found, counts = np.unique(codes, return_counts=True)
    found = found[np.argsort(-counts, kind="stable")]
    shared = np.isin(groups[found], others) & (groups[found] >= 0)
    turn = np.where(shared, np.cumsum(shared), np.cumsum(~shared))
    return found[np.argsort(turn, kind="stable")[:_MOST]]
