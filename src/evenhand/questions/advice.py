"""What to add so that options can be compared and biases told: as data, and how to follow it.

Whatever is missing, it is looked for among questions that exist and may not be asked, then among
those to a new evaluator who favours nobody, then among those about a new option nobody favours.
Of each kind the cheapest are taken that what is missing is made of (`IdentifiedSpace.used`), so
that advice cures by construction.

Neutral evaluators who could be found (`with_neutral`) favour nobody, and are asked what others are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from evenhand.arrays import Indices
from evenhand.errors import InputError
from evenhand.questions.identifiable import identified_by, in_order
from evenhand.questions.inputs import UNLIMITED, Column, names_about
from evenhand.report.words import joined
from evenhand.tables import Names, listed

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

NEUTRAL = "a neutral evaluator"
"""The name of the evaluator that advice adds."""
_OPTION = "an option nobody favours"


class Ask(NamedTuple):
    """A question to add, or to allow.

    Parameters
    ----------
    about
        Names of the option or the two options.
    evaluator
        Who is to be asked; None for a question that goes to nobody in particular.
    shows
        The attribute that is 1 in it, all others 0; None for an impartial question.
    question
        The index of a question that exists and is to be allowed, where names do not tell which.
    """

    about: tuple[str, ...]
    evaluator: str | None
    shows: str | None = None
    question: int | None = None


@dataclass(frozen=True)
class Advice:
    """What to add, in words and as data that `Questions.adding` follows.

    Parameters
    ----------
    text
        What to do.
    add
        The questions to add or to allow.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"})
    >>> advice = panel.check().advice[0]
    >>> print(advice.text)
    Add a neutral evaluator, who favours nobody, and ask about 'Ann' and 'Bo'.
    >>> panel.adding(advice).check().comparable
    True
    """

    text: str
    add: tuple[Ask, ...]


def advise(
    questions: Questions, order: Indices, leads: Indices, attributes: Sequence[Indices]
) -> list[Advice | None]:
    """Return what to add to identify leads, (n, 2), and then each set of attributes."""
    # `order` has the questions that may be asked, the cheapest first.
    grown, q = _grown(questions), len(questions)
    favours = [grown.n_features + j for j, c in enumerate(grown.columns) if _is_favour(c)]
    shows = np.asarray(abs(grown.matrix[:, favours]).sum(axis=1)).reshape(-1) > 0.0
    strange = shows | (grown.about.max(axis=1) >= len(questions.options))
    tier = np.where(strange, 3, 2)  # what is hardest to do comes last
    tier[:q] = 1
    tier[order] = 0
    found = identified_by(grown, in_order(grown, tier))
    nothing = np.empty((0, 2), dtype=np.intp)
    had = tier == 0
    advice: list[Advice | None] = []
    for wanted_leads, wanted in [
        (leads, np.empty(0, dtype=np.intp)),
        *((nothing, one) for one in attributes),
    ]:
        used = found.used(wanted_leads, wanted)
        new = used[~had[used]]
        had[new] = True
        advice.append(_advice(questions, grown, new) if len(new) else None)
    return advice


def _grown(questions: Questions) -> Questions:
    """Return the questions and all that may be added to cure them."""
    labels, someone = list(questions.options.labels), _unused(NEUTRAL, questions.evaluators)
    if not len(questions.evaluators):
        shown = [column.name for column in questions.columns]
        asks = [Ask((name,), None) for name in labels]
        asks += [Ask((labels[0],), None, name) for name in shown]
        return add_questions(questions, asks)
    asks = [Ask((name,), someone) for name in labels]
    if not questions.options.stand_alone:
        shown = [column.name for column in questions.columns if column.kind != "leniency"]
        asks += [Ask((labels[0],), someone, name) for name in shown]
    elif (questions.about[:, 1] >= 0).any():
        others = [(labels[0], name) for name in labels[1:]]
        asks = [Ask(pair, someone) for pair in (*others, *((b, a) for a, b in others))]
    else:
        new = _unused(_OPTION, questions.options.labels)
        asks += [Ask((new,), who) for who in (someone, *questions.evaluators)]
    return add_questions(questions, asks)


def adding(questions: Questions, advice: Advice | Ask | Sequence[Advice | Ask]) -> Questions:
    """Return the questions with what advice says to add; see `check`.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"})
    >>> better = panel.adding(panel.check().advice)
    >>> better.evaluators, better.check().identifiable
    (Names('P', 'a neutral evaluator'), True)
    """
    several = [advice] if isinstance(advice, Advice | Ask) else list(advice)
    asks = [ask for one in several for ask in ([one] if isinstance(one, Ask) else one.add)]
    return add_questions(questions, asks)


def add_questions(questions: Questions, asks: Iterable[Ask]) -> Questions:
    """Return the questions with some more, or with some that may be asked which might not."""
    # New evaluators favour nobody, and may be lenient where others may; nobody favours new options.
    # New questions cost as much as the dearest.
    capacity, workload = questions.capacity.copy(), questions.workload.copy()
    fresh: list[Ask] = []
    for ask in asks:
        place = -1 if ask.question is None else ask.question
        if place < 0 and ask.evaluator is not None and ask.shows is None:
            place = questions._places.get((ask.about, ask.evaluator), -1)
        if place < 0:
            fresh.append(ask)
            continue
        capacity[place] = max(int(capacity[place]), 1)
        who = int(questions.evaluator[place])
        if who >= 0 and workload[who] < UNLIMITED:
            workload[who] += 1
    allowed = questions._changed(capacity=capacity, workload=workload)
    return _with_fresh(allowed, list(dict.fromkeys(fresh))) if fresh else allowed


def _with_fresh(questions: Questions, asks: list[Ask]) -> Questions:
    """Return the questions and new ones."""
    options, q, n, d = questions.options, len(questions), len(asks), questions.n_features
    labels = dict.fromkeys([*options.labels, *(name for ask in asks for name in ask.about)])
    people = dict.fromkeys([*questions.evaluators, *(a.evaluator for a in asks if a.evaluator)])
    more, newcomers = [*labels][len(options) :], [*people][len(questions.evaluators) :]
    if more and not options.stand_alone:
        raise InputError(f"{listed(more)} is no option, and nothing is known of it.")
    at = {name: place for place, name in enumerate(labels)}
    about = np.full((n, 2), -1, dtype=np.intp)
    for row, ask in zip(about, asks, strict=True):
        row[: len(ask.about)] = [at[name] for name in ask.about]
    # a question has the features of the first option less those of the second
    own = options.own_features
    X = sparse.csr_array(sparse.eye_array(len(labels)) if own is None else own)
    pairs = sparse.diags_array((about[:, 1] >= 0).astype(np.float64))
    columns, A = (*questions.columns, *_columns_of(questions, newcomers)), questions.matrix
    wider = [sparse.csr_array((q, k)) for k in (len(more), len(columns) - questions.n_attributes)]
    old = sparse.hstack([A[:, :d], wider[0], A[:, d:], wider[1]])
    fresh = sparse.hstack([X[about[:, 0]] - pairs @ X[about[:, 1]], _attributes(columns, asks)])
    place = {name: number for number, name in enumerate(people)}
    who = [-1 if ask.evaluator is None else place[ask.evaluator] for ask in asks]
    groups, sides = options.groups, questions.evaluator_groups
    free = np.full(len(newcomers), UNLIMITED, dtype=np.int64)
    return questions._changed(
        options=Names(tuple(labels)),
        groups=None if groups is None else (*groups, *[None] * len(more)),
        rows=sparse.csr_array(sparse.vstack([old, fresh], "csr")),
        about=np.vstack([questions.about, about]),
        columns=columns,
        evaluators=Names(tuple(people)),
        evaluator=np.append(questions.evaluator, np.array(who, dtype=np.intp)),
        evaluator_groups=None if sides is None else (*sides, *[None] * len(newcomers)),
        prices=np.append(questions.prices, np.full(n, questions.prices.max())),
        capacity=np.append(questions.capacity, np.full(n, max(1, int(questions.capacity.max())))),
        workload=np.append(questions.workload, free),
        noise=None if questions.noise is None else np.append(questions.noise, np.ones(n)),
    )


def _attributes(columns: Sequence[Column], asks: Sequence[Ask]) -> sparse.csr_array:
    """Return (n, p) the attributes of questions: whose they are, and what they show."""
    of_evaluator = {c.evaluator: j for j, c in enumerate(columns) if not _is_favour(c)}
    of_name = {c.name: j for j, c in enumerate(columns)}
    cells = [
        (n, of_evaluator[a.evaluator]) for n, a in enumerate(asks) if a.evaluator in of_evaluator
    ]
    cells += [(n, of_name[a.shows]) for n, a in enumerate(asks) if a.shows is not None]
    at = tuple(np.array(cells, dtype=np.intp).reshape(-1, 2).T)
    return sparse.csr_array((np.ones(len(cells)), at), shape=(len(asks), len(columns)))


def _columns_of(questions: Questions, newcomers: Sequence[str]) -> list[Column]:
    """Return the columns that new evaluators bring: they may be lenient where others may."""
    kinds = {column.kind for column in questions.columns}
    if "position" in kinds:
        return [Column(f"first by {name}", "position", name) for name in newcomers]
    # the leniency of one evaluator alone is the zero that those of others are measured from
    if "leniency" in kinds or (len(questions.evaluators) == 1 and "attribute" not in kinds):
        return [Column(name, "leniency", name) for name in newcomers]
    return []


def _unused(name: str, taken: Names) -> str:
    """Return a name that nobody has: with a number, if it has to be."""
    numbered = (f"{name} ({n})" for n in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _is_favour(column: Column) -> bool:
    return column.kind not in ("leniency", "position")


def _advice(questions: Questions, grown: Questions, new: Indices) -> Advice:
    """Return the advice to ask these of the grown questions."""
    asks = []
    for question in new.tolist():
        about = names_about(grown, question)
        who, shows, place = grown.evaluator_of(question), None, None
        if question >= len(questions):
            Z = grown.matrix[[question], grown.n_features :].toarray()[0]
            pairs = zip(grown.columns, Z, strict=True)
            shows = next((c.name for c, z in pairs if z and _is_favour(c)), None)
        elif who is None or questions._places[about, who] != question:
            place = question
        asks.append(Ask(about, who, shows, place))
    return Advice(_text(questions, asks), tuple(asks))


def _text(questions: Questions, asks: list[Ask]) -> str:
    """Return advice in words: whom to ask about what."""
    sentences = []
    by_evaluator: dict[str | None, list[Ask]] = {}
    for ask in asks:
        if ask.question is None:
            by_evaluator.setdefault(ask.evaluator, []).append(ask)
        else:
            label = questions.label(ask.question)
            sentences.append(f"Allow question {ask.question} ({label!r}, counting from 0).")
    for who, theirs in by_evaluator.items():
        plain = joined([" against ".join(map(repr, a.about)) for a in theirs if a.shows is None])
        special = [
            f"{a.about[0]!r} that shows {a.shows} alone (or leave {a.shows} out)"
            for a in theirs
            if a.shows
        ]
        parts = [plain] if plain else []
        if who is None:
            parts = [f"impartial questions (no attributes) about {plain}"] if plain else []
            parts += [f"a question about {text}" for text in special]
            sentences.append(f"Add {joined(parts)}.")
        elif who not in questions.evaluators:
            asked = joined([*parts, *special])
            sentences.append(f"Add {who}, who favours nobody, and ask about {asked}.")
        else:
            sentences.append(f"Let {who} be asked about {plain}.")
    return " ".join(sentences)


def with_neutral(questions: Questions, n: int) -> Questions:
    """Return the questions with n more evaluators, who favour nobody, about whatever others are, at
    the median price, noise and workload of the others.
    """
    if n == 0:
        return questions
    pairs = np.unique(questions.about, axis=0)
    labels = questions.options.labels
    asked = [tuple(labels[x] for x in two if x >= 0) for two in pairs[pairs[:, 0] >= 0].tolist()]
    grown = add_questions(
        questions, [Ask(about, name) for name in _names(questions, n) for about in asked]
    )
    new, noise = np.arange(len(grown)) >= len(questions), grown.noise
    askable = questions.workload[questions.workload > 0]
    workload = int(min(np.median(askable), UNLIMITED)) if len(askable) else UNLIMITED
    return grown._changed(
        prices=np.where(new, np.median(questions.prices), grown.prices),
        noise=None if noise is None else np.where(new, np.median(noise[~new]), noise),
        workload=np.append(questions.workload, np.full(n, workload)),
    )


def _names(questions: Questions, n: int) -> list[str]:
    """Return what neutral evaluators are called: names that nobody has."""
    numbers = (i for i in count(1) if f"neutral evaluator {i}" not in questions.evaluators)
    return [f"neutral evaluator {i}" for i in islice(numbers, n)]
