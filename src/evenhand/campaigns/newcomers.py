"""The same panel with more people or options, for who extends a campaign by naming them alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.questions import UNLIMITED, Questions, Superset
from evenhand.questions.inputs import named, per_evaluator, same_group
from evenhand.tables import Names, listed

_WHOLE = "give all that can be asked instead, old and new: extend(questions=…)"

Groups = dict[str, str | None]


def with_newcomers(
    questions: Questions,
    options: Any = None,
    evaluators: Any = None,
    prices: Any = None,
    workload: Any = None,
) -> Questions:
    """Return the questions with newcomers, names or a mapping from names to groups, who can be
    asked about everything as often as the others; and everybody else as before.

    Prices and workloads are those of the new evaluators, as the others' where these are the same.
    """
    if not questions.options.stand_alone or not questions.evaluators:
        raise InputError(f"these questions are of a kind that cannot just grow; {_WHOLE}.")
    choice = _joined(questions.options.labels, questions.options.groups, options, "option")
    judges = _joined(questions.evaluators, questions.evaluator_groups, evaluators, "evaluator")
    people = Names(tuple(judges)[len(questions.evaluators) :])
    if not people and len(choice) == len(questions.options):
        raise InputError("nobody is new: say which options or evaluators come in addition.")
    made = _rebuilt(questions, choice, judges)
    try:
        at = np.array([made._places[key] for key in questions._keys], dtype=np.intp)
    except KeyError:
        raise InputError(
            f"these questions are of a kind that cannot just grow; {_WHOLE}."
        ) from None
    who, e = made.evaluator, len(questions.evaluators)
    own = [questions.prices[questions.evaluator == j] for j in range(e)]
    cost = np.append([x.max(initial=1.0) for x in own], _theirs(own, people, prices, "prices", 1.0))
    before = np.where(questions.workload >= UNLIMITED, np.inf, questions.workload)
    most = np.append(before, _theirs([before], people, workload, "workload", np.inf))
    capacity, paid, noise = made.capacity.copy(), cost[who], None
    capacity[at], paid[at] = questions.capacity, questions.prices
    if questions.noise is not None:
        noise = np.ones(len(made))
        noise[at] = questions.noise
    grown = made._changed(
        capacity=capacity, prices=paid, noise=noise, trusted=questions.trusted, workload=most,
    )  # fmt: skip
    Superset.of(questions, grown)
    return grown


def _joined(known: Names, groups: tuple[str | None, ...] | None, given: Any, what: str) -> Groups:
    """Return everybody with groups; those who were there before may be named as they were."""
    before = dict(zip(known, groups or [None] * len(known), strict=True))
    if given is None:
        return before
    found = named(given, f"{what}s")
    for name, group in zip(found.names, found.groups, strict=True):
        if group is not None and group != before.get(name, group):
            raise InputError(
                f"{what} {name!r} was of group {before[name]!r}, and cannot be of {group!r} now; "
                "name the newcomer otherwise."
            )
    return before | dict(zip(found.names, found.groups, strict=True)) | before


def _theirs(known: list[Floats], people: Names, given: Any, what: str, usual: float) -> Floats:
    """Return a number of each newcomer: the one given, or what all others have."""
    every = {*np.concatenate(known).tolist()}
    if given is None and people and len(every) > 1:
        raise InputError(
            f"evaluators differ in {what}: {listed([f'{x:g}' for x in sorted(every)])}; say "
            f"{what}= of the new ones."
        )
    if given is None:
        return np.full(len(people), every.pop())
    found = per_evaluator(given, people, what, usual)
    return np.full(len(people), usual) if found is None else np.asarray(found, dtype=np.float64)


def _rebuilt(questions: Questions, choice: Groups, judges: Groups) -> Questions:
    """Return a panel, or comparisons, of the same kind with everybody."""
    largest = int(questions.capacity.max())
    often = None if largest >= UNLIMITED else max(1, largest)
    kinds = {column.kind for column in questions.columns}
    favours = [column for column in questions.columns if column.kind == "bias"]
    of_one = any(column.evaluator for column in favours)
    if bool((questions.about >= 0).all()):
        return Questions.comparisons(
            choice, judges, capacity=often, position="position" in kinds,
            bias=("judge" if of_one else "common") if favours else None,
        )  # fmt: skip
    e = len(questions.evaluators)
    sides, groups = questions.options.groups, questions.evaluator_groups
    alike = bool(same_group(sides or (), groups or ()).any()) if sides and groups else False
    grouped = any(choice.values()) and any(judges.values()) and bool(favours or not alike)
    return Questions.panel(
        choice, judges, capacity=often, leniency="leniency" in kinds or e == 1,
        partial="same group" if grouped else None,
        bias="group" if any(c.group for c in favours) else "evaluator" if of_one else "common",
    )  # fmt: skip
