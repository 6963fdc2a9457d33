"""Questions that become more: where the old ones are among the new, or what speaks against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.actions import ActionSet
from evenhand.arrays import Indices
from evenhand.errors import InputError
from evenhand.questions.questions import Askable, Questions, checked_askable
from evenhand.tables import Names, listed


@dataclass(frozen=True, eq=False)
class Superset:
    """Where old questions are among new ones: places of the old ones among the new.

    Examples
    --------
    >>> old = Questions.panel(["Ann", "Bo"], ["P", "Q"])
    >>> new = Questions.panel(["Zoe", "Ann", "Bo"], ["P", "Q", "R"])
    >>> Superset.of(old, new).questions
    array([3, 4, 6, 7])
    """

    questions: Indices  # (q,)
    options: Indices  # (k,)
    evaluators: Indices  # (e,)

    @classmethod
    def of(cls, old: Askable, new: Askable) -> Superset:
        """Return where the old questions are, or raise `InputError` with what is missing.

        A question is found by what it is about and who answers it, and must mean the same: the
        same features, attributes, price and relative noise. It may be asked as often as before or
        more often.
        """
        if isinstance(old, ActionSet) != isinstance(checked_askable(new), ActionSet):
            raise InputError(
                "options that are their own questions cannot become questions about them, nor the "
                f"other way round; got {new!r} for {old!r}."
            )
        before, after = Questions.of(old), Questions.of(new)
        options = _places(before.options.labels, after.options.labels, "option")
        evaluators = _places(before.evaluators, after.evaluators, "evaluator")
        _places(before.items, after.items, "item")
        _refuse_other_options(before, after, options)
        questions = _matched(before, after)
        _refuse_other_questions(before, after, questions)
        less = np.flatnonzero(after.workload[evaluators] < before.workload)
        if len(less):
            raise InputError(
                f"evaluator {before.evaluators[int(less[0])]!r} may be asked "
                f"{after.workload[evaluators[less[0]]]} times in all, less than before; workloads "
                "may only grow."
            )
        return cls(questions, options, evaluators)


def _places(old: Names, new: Names, what: str) -> Indices:
    """Return (n,) where names are among others."""
    at = {name: place for place, name in enumerate(new)}
    missing = [name for name in old if name not in at]
    if missing:
        raise InputError(
            f"{what} {listed(missing)} is missing: what is added comes beside all that was there "
            "before. Who cannot be asked any more leaves; see leave()."
        )
    return np.array([at[name] for name in old], dtype=np.intp)


def _keys(questions: Questions) -> list[tuple[object, ...]]:
    """Return what each question is about, who answers, and which of several such it is."""
    often: Counter[object] = Counter()
    keys: list[tuple[object, ...]] = []
    for key in questions._keys:
        keys.append((*key, often[key]))
        often[key] += 1
    return keys


def _matched(old: Questions, new: Questions) -> Indices:
    at = {key: place for place, key in enumerate(_keys(new))}
    found = [at.get(key, -1) for key in _keys(old)]
    if -1 in found:
        raise InputError(
            f"question {old.label(found.index(-1))!r} is missing: what is added comes beside all "
            "that could be asked before. What is not to be asked any more may be kept with the "
            "capacity that it had."
        )
    return np.array(found, dtype=np.intp)


def _refuse_other_options(old: Questions, new: Questions, options: Indices) -> None:
    """Raise `InputError` if an option has other features than before."""
    if old.options.stand_alone != new.options.stand_alone:
        raise InputError(
            "options that stand for themselves cannot have features now, nor lose them."
        )
    before, after = old.options.own_features, new.options.own_features
    if before is None or after is None:
        return
    if old.feature_names != new.feature_names:
        raise InputError(
            f"options had the features {listed(old.feature_names)}, and now have "
            f"{listed(new.feature_names)}; they must stay as they are."
        )
    changed = np.flatnonzero((before != after[options]).any(axis=1))
    if len(changed):
        raise InputError(
            f"option {old.options.labels[int(changed[0])]!r} has other features than before. "
            "Where these were standardized, read the new ones in the same units, with like=."
        )


def _refuse_other_questions(old: Questions, new: Questions, places: Indices) -> None:
    """Raise `InputError` if a question has other attributes, another price, or less capacity."""
    columns = {column: at for at, column in enumerate(new.columns)}
    missing = [column.name for column in old.columns if column not in columns]
    if missing:
        raise InputError(
            f"attribute {listed(missing)} is missing. Attributes must stay what they are; "
            "leniencies are measured from the first evaluator's, so new ones come after it."
        )
    names = {name: at for at, name in enumerate(new.feature_names)}
    to = [*(names[name] for name in old.feature_names)]
    to += [new.n_features + columns[column] for column in old.columns]
    rows = sparse.csr_array(old.matrix)
    moved = sparse.csr_array(
        (rows.data, np.array(to, dtype=np.intp)[rows.indices], rows.indptr),
        shape=(len(old), new.matrix.shape[1]),
    )
    differ = abs(moved - new.matrix[places]).max(axis=1).toarray().reshape(-1) > 0.0
    noise = [1.0 if one.noise is None else one.noise for one in (old, new)]
    here, there = (np.broadcast_to(n, len(one)) for n, one in zip(noise, (old, new), strict=True))
    for what, other in (
        ("other features or attributes", differ),
        ("another price", old.prices != new.prices[places]),
        ("another relative noise", here != there[places]),
        ("less capacity", new.capacity[places] < old.capacity),
    ):
        if other.any():
            raise InputError(
                f"question {old.label(int(np.argmax(other)))!r} has {what} than before; what is "
                "added must leave it as it is."
            )
