"""The same panel with more people or options, for who does not say all of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.questions.inputs import UNLIMITED, named, per_evaluator, same_group
from evenhand.tables import Names, listed

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

_WHOLE = "give all that can be asked instead, old and new: extend(questions=…)"


def with_more(  # noqa: D417 - a method of `Questions`
    questions: Questions,
    options: Any = None,
    evaluators: Any = None,
    *,
    prices: Any = None,
    workload: Any = None,
) -> Questions:
    """Return the questions with more options or evaluators, and all others as they are.

    Newcomers can be asked about everything, as often as the others; they may be partial to their
    own group, and lenient, if the others may.

    Parameters
    ----------
    options, evaluators
        Those who are new: names, or a mapping from names to groups.
    prices
        What an answer of the new evaluators costs: one number, or one for each; as much as that of
        the others if they cost the same.
    workload
        How much the new evaluators may be asked in all, likewise.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"}, workload=2)
    >>> more = panel.with_more(evaluators={"R": "it"}).barring([("Ann", "R")])
    >>> more.evaluators, more.capacity.tolist(), more.workload.tolist()
    (Names('P', 'Q', 'R'), [1, 1, 0, 1, 1, 1], [2, 2, 2])
    """
    from evenhand.questions.superset import Superset  # noqa: PLC0415 - it imports `Questions`

    new_options = _newcomers(options, questions.options.labels, questions.options.groups, "option")
    people = _newcomers(evaluators, questions.evaluators, questions.evaluator_groups, "evaluator")
    if not new_options and not people:
        raise InputError("nobody is new: say which options or evaluators come in addition.")
    _refuse_special(questions, bool(new_options))
    try:
        made = _rebuilt(questions, new_options, people)
        at = np.array([made._places[key] for key in questions._keys], dtype=np.intp)
        who = np.array(made.evaluator)
        capacity = made.capacity.copy()
        cost = _of_each(questions, questions.prices, people, prices, "prices")[who]
        noise = None
        if questions.noise is not None:
            noise = _of_each(questions, questions.noise, people, 1.0, "noise")[who]
            noise[at] = questions.noise
        capacity[at], cost[at] = questions.capacity, questions.prices
        grown = made._changed(
            capacity=capacity, prices=cost, noise=noise, trusted=questions.trusted,
            workload=_workload(questions, people, workload),
            known_features=questions.options.known_features,
            known_names=questions.options.known_names,
        )  # fmt: skip
        Superset.of(questions, grown)
    except KeyError:
        raise InputError(
            f"these questions are of a kind that cannot just grow; {_WHOLE}."
        ) from None
    return grown


def _newcomers(
    given: Any, known: Names, groups: tuple[str | None, ...] | None, what: str
) -> dict[str, str | None]:
    """Return who is new, with groups; those who were there before may be named as they were."""
    if given is None:
        return {}
    found = named(given, f"{what}s")
    before = dict(zip(known, groups or [None] * len(known), strict=True))
    fresh = {}
    for name, group in zip(found.names, found.groups, strict=True):
        if name not in before:
            fresh[name] = group
        elif group is not None and group != before[name]:
            raise InputError(
                f"{what} {name!r} was of group {before[name]!r}, and cannot be of {group!r} now; "
                "name the newcomer otherwise."
            )
    return fresh


def _refuse_special(questions: Questions, more_options: bool) -> None:
    if not questions.evaluators:
        raise InputError(f"nobody in particular is asked here; {_WHOLE}.")
    if not questions.options.stand_alone or len(questions.items) > len(questions.options.labels):
        raise InputError(f"questions are about features, or items that cannot be chosen; {_WHOLE}.")
    if more_options and questions.options.known_features is not None:
        raise InputError(f"options have features here, and the new ones have none; {_WHOLE}.")


def _rebuilt(
    questions: Questions, options: dict[str, str | None], people: dict[str, str | None]
) -> Questions:
    """Return a panel, or comparisons, of the same kind with everybody."""
    sides = questions.options.groups or [None] * len(questions.options.labels)
    groups = questions.evaluator_groups or [None] * len(questions.evaluators)
    choice = dict(zip(questions.options.labels, sides, strict=True)) | options
    judges = dict(zip(questions.evaluators, groups, strict=True)) | people
    largest = int(questions.capacity.max())
    often = None if largest >= UNLIMITED else max(1, largest)
    favours = [column for column in questions.columns if column.kind == "bias"]
    of_one = any(column.evaluator for column in favours)
    if bool((questions.about >= 0).all()):
        return type(questions).comparisons(
            choice, judges, capacity=often,
            position=any(column.kind == "position" for column in questions.columns),
            bias=("judge" if of_one else "common") if favours else None,
        )  # fmt: skip
    lenient = any(column.kind == "leniency" for column in questions.columns)
    alike = bool(same_group(tuple(sides), tuple(groups)).any())
    grouped = any(choice.values()) and any(judges.values()) and bool(favours or not alike)
    of_group = any(column.group for column in favours)
    return type(questions).panel(
        choice, judges, capacity=often, leniency=lenient or len(groups) == 1,
        partial="same group" if grouped else None,
        bias="group" if of_group else "evaluator" if of_one else "common",
    )  # fmt: skip


def _of_each(
    questions: Questions, known: Floats, people: dict[str, str | None], given: Any, what: str
) -> Floats:
    """Return (e,) a number of every evaluator, for questions that are new."""
    own = [{*known[questions.evaluator == e].tolist()} for e in range(len(questions.evaluators))]
    every = set.union(*own)
    if given is None and people and len(every) > 1:
        raise InputError(
            f"evaluators differ in {what}: {listed([f'{x:g}' for x in sorted(every)])}; say "
            f"{what}= of the new ones."
        )
    newcomers = Names(tuple(people))
    theirs = per_evaluator(every.pop() if given is None else given, newcomers, what, 1.0)
    return np.array([*(max(one, default=1.0) for one in own), *(() if theirs is None else theirs)])


def _workload(questions: Questions, people: dict[str, str | None], given: Any) -> Floats:
    every = {*questions.workload.tolist()}
    if given is None and people and len(every) > 1:
        raise InputError(
            "evaluators differ in how much they may be asked; say workload= of the new ones."
        )
    own = every.pop() if given is None else given
    limit = None if isinstance(own, int) and own >= UNLIMITED else own
    theirs = per_evaluator(limit, Names(tuple(people)), "workload", np.inf)
    before = np.where(questions.workload >= UNLIMITED, np.inf, questions.workload)
    return np.append(before, np.full(len(people), np.inf) if theirs is None else theirs)
