"""Scores that exist, as answers to questions: which question each row answers.

From a table of scores, and perhaps of what could be asked, to questions and the answers to them. A
row that answers none, or one too often, is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats, Indices
from evenhand.errors import InputError
from evenhand.numerics.least_squares import Svd
from evenhand.questions import Askable, Questions
from evenhand.questions.inputs import Named, named
from evenhand.scores import Scores
from evenhand.scores.scores import crossed
from evenhand.tables import listed

Place = Callable[[int], str]

_ONE = 1e-9  # how far from 1 a sum may be that is 1
_MOST_ROWS = 6  # that are named, of those that answer a question

SOMEBODY = "somebody"
"""Who gave scores of which nobody says who gave them."""


@dataclass(frozen=True, eq=False)
class Log:
    """Scores as answers to questions, in the order in which they were given."""

    asked: Askable
    which: Indices  # (n,) questions
    scores: Floats  # (n,)
    items: Indices | None  # (n,) from 0; None where there are none
    clusters: Indices | None = None  # (n,) from 0; without items, these are the items

    @property
    def questions(self) -> Questions:
        """What could be asked, as questions."""
        return Questions.of(self.asked)


def has_constant(questions: Questions) -> bool:
    """Tell whether all options may be worth as much more, by which all scores rise alike."""
    if questions.has_arrow_form:
        return True
    X = questions.options.features
    rows = Svd.of(X)
    more = rows.coordinates @ rows.U.sum(axis=0)
    rise = questions.matrix[:, : X.shape[1]] @ more
    return bool(np.allclose(X @ more, 1.0, atol=_ONE) and np.allclose(rise, 1.0, atol=_ONE))


def log_of(
    asked: Any, scores: Scores, position: bool = True, place: Place = "row {}".format
) -> Log:
    """Return scores as answers to questions, to those that the scores show if `asked` is None."""
    # `place` says where a row stands in the user's table.
    questions = asked
    if not isinstance(asked, Questions):
        questions = _questions_of(asked, scores, position, place)
    which = _which(Questions.of(questions), scores, place)
    if scores.item is None and scores.cluster is None:
        _refuse_beyond_capacity(Questions.of(questions), which, place)
    order = np.arange(len(which))
    if scores.time is not None:
        order = np.argsort(scores.time, kind="stable")
    items, clusters = (
        None if factor is None else factor.codes[order].astype(np.intp)
        for factor in (scores.item or scores.cluster, scores.cluster)
    )
    return Log(questions, which[order], np.asarray(scores.score)[order], items, clusters)


def _questions_of(asked: Any, scores: Scores, position: bool, place: Place) -> Askable:
    """Return what could be asked: what scores show, of options that are perhaps given."""
    if isinstance(asked, ActionSet) and scores.evaluator is None:
        return asked
    options = Named.of(scores.option, scores.option_group, scores.groups)
    if asked is not None:
        given, seen = named(asked, "options"), dict(zip(options.names, options.groups, strict=True))
        groups = given.sides or tuple(seen.get(name) for name in given.names)
        options = replace(given, groups=groups)
    evaluators = named([SOMEBODY], "evaluators")
    if scores.evaluator is not None:
        evaluators = Named.of(scores.evaluator, scores.evaluator_group, scores.groups)
    if scores.rival is not None:
        return Questions.comparisons(options, evaluators, position=position)
    tried = scores.item is not None or scores.cluster is not None
    by = None if tried or scores.evaluator is None else scores.evaluator.codes
    once = by is not None and crossed(scores.option.codes, by)[1] == len(scores)
    partial: Any = "same group" if options.sides and evaluators.sides else None
    return Questions.panel(
        options,
        evaluators,
        partial=partial if scores.stated is None else _partial(scores, place),
        capacity=1 if once else None,
    )


def _partial(scores: Scores, place: Place) -> Any:
    """Return who is partial to whom, as `Questions.panel` takes it."""
    assert scores.stated is not None
    if scores.evaluator is None:
        raise InputError("partial needs to be known of somebody: name the evaluators, too.")
    found: dict[tuple[str, str], float] = {}
    names, people = scores.option.names, scores.evaluator.names
    columns = scores.option.codes, scores.evaluator.codes, scores.stated
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, (o, e, size) in enumerate(rows):
        pair = names[o], people[e]
        if found.setdefault(pair, size) != size:
            column = scores.called.get("partial", "partial")
            raise InputError(
                f"{place(row)}, column {column!r}: {people[e]!r} is partial to {names[o]!r} by "
                f"{size:g}, and by {found[pair]:g} above; give a pair one number."
            )
    return found


def _which(questions: Questions, scores: Scores, place: Place) -> Indices:
    """Return (n,) the question that each row answers."""
    items, people = [*questions.options.labels, None], [*questions.evaluators, None]  # −1 is none
    asked = dict[tuple[str | None, str | None, str | None], int]()
    about = zip(questions.about.tolist(), questions.evaluator.tolist(), strict=True)
    for x, ((a, b), who) in enumerate(about):
        both = (items[b], None) if a < 0 else (items[a], items[b])
        asked.setdefault((*both, people[who]), x)
    first = [scores.option.names[x] for x in scores.option.codes.tolist()]
    rivals: Sequence[str | None] = [None] * len(scores)
    if scores.rival is not None:
        rivals = [scores.option.names[x] for x in scores.rival.tolist()]
    judges: Sequence[str | None] = [SOMEBODY if SOMEBODY in people else None] * len(scores)
    if scores.evaluator is not None and questions.evaluators:
        judges = [scores.evaluator.names[x] for x in scores.evaluator.codes.tolist()]
    rows = list(zip(first, rivals, judges, strict=True))
    found = np.array([asked.get(row, -1) for row in rows], dtype=np.intp)
    if (found < 0).any():
        row = int(np.argmin(found))
        _refuse(questions, scores, place(row), *rows[row])
    return found


def _refuse(
    questions: Questions, scores: Scores, at: str, first: str, second: str | None, who: str | None
) -> None:
    """Raise `InputError` with what is wrong with a row that answers no question."""
    for name, part in ((first, "option"), (second, "rival")):
        if name is not None and name not in questions.options.labels:
            raise InputError(
                f"{at}, column {scores.called.get(part, part)!r}: {name!r} is none of the "
                f"options, which are {listed(list(questions.options.labels))}."
            )
    if who is not None and who not in questions.evaluators:
        raise InputError(
            f"{at}, column {scores.called.get('evaluator', 'evaluator')!r}: {who!r} is "
            f"none of the evaluators, who are {listed(list(questions.evaluators))}."
        )
    if first == second:
        raise InputError(f"{at}: {first!r} is compared with itself.")
    by = "" if who is None else f" by {who!r}"
    more = ""
    if who is None and len(questions.evaluators):
        more = " These questions go to evaluators: name the column that says who gave a score."
    about = first if second is None else f"{first} against {second}"
    raise InputError(f"{at}: there is no question about {about!r}{by}.{more}")


def _refuse_beyond_capacity(questions: Questions, which: Indices, place: Place) -> None:
    """Raise `InputError` for the first row that answers a question once too often."""
    over = np.bincount(which, minlength=len(questions)) > questions.capacity
    if not over.any():
        return
    rows = (np.flatnonzero(which == x) for x in np.flatnonzero(over))
    row, earlier = min((int(r[questions.capacity[which[r[0]]]]), r) for r in rows)
    x = int(which[row])
    said, most = "it cannot be asked", int(questions.capacity[x])
    if most:
        places = ", ".join(map(place, earlier[: min(most, _MOST_ROWS)].tolist()))
        said = f"it was answered in {places}, and may be asked "
        said += "once" if most == 1 else f"{most} times"
    raise InputError(
        f"{place(row)} answers {questions.label(x)!r}, but {said}. Leave the row out, or "
        "allow more (capacity=None: as often as one likes)."
    )
