"""Questions that become more: where the old ones are among the new, or what speaks against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.actions import ActionSet
from evenhand.arrays import Indices
from evenhand.errors import InputError
from evenhand.questions.questions import Askable, Questions, checked_askable
from evenhand.tables import listed


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
        a, b = Questions.of(old), Questions.of(new)
        options = _places("option", a.options.labels, b.options.labels)
        evaluators = _places("evaluator", a.evaluators, b.evaluators)
        _refuse_other_features(a, b, options)
        questions = _places("question", _keys(a), _keys(b), a.label)
        noise = [np.ones(len(one)) if one.noise is None else one.noise for one in (a, b)]
        differ = abs(_moved(a, b) - b.matrix[questions]).max(axis=1).toarray().reshape(-1) > 0.0
        less = b.workload[evaluators] < a.workload
        for what, name, other in (
            ("question {!r} has other features or attributes", a.label, differ),
            ("question {!r} has another price", a.label, a.prices != b.prices[questions]),
            ("question {!r} has another relative noise", a.label, noise[0] != noise[1][questions]),
            ("question {!r} has less capacity", a.label, b.capacity[questions] < a.capacity),
            ("evaluator {!r} may be asked less", a.evaluators.__getitem__, less),
        ):
            if other.any():
                raise InputError(
                    f"{what.format(name(int(np.argmax(other))))} than before; what is added must "
                    "leave it as it is."
                )
        return cls(questions, options, evaluators)


def _places(
    what: str, old: Iterable[Any], new: Iterable[Any], label: Callable[[int], str] | None = None
) -> Indices:
    """Return (n,) where some are among others."""
    at, old = {key: place for place, key in enumerate(new)}, list(old)
    if missing := [n for n, key in enumerate(old) if key not in at]:
        shown = [old[n] if label is None else label(n) for n in missing]
        raise InputError(
            f"{what} {listed(shown)} is missing: what is added comes beside all that was there "
            "before. Who cannot be asked any more leaves, see leave(); a question that is not to "
            "be asked any more may be kept with the capacity that it had."
        )
    return np.array([at[key] for key in old], dtype=np.intp)


def _keys(questions: Questions) -> list[tuple[object, ...]]:
    """Return what each question is about, who answers, and which of several such it is."""
    often: Counter[object] = Counter()
    keys: list[tuple[object, ...]] = []
    for key in questions._keys:
        keys.append((*key, often[key]))
        often[key] += 1
    return keys


def _refuse_other_features(old: Questions, new: Questions, options: Indices) -> None:
    """Raise `InputError` if an option has other features than before."""
    before, after = old.options.own_features, new.options.own_features
    if (before is None) != (after is None):
        raise InputError(
            "options that stand for themselves cannot have features now, nor lose them."
        )
    if before is None or after is None:
        return
    if old.feature_names != new.feature_names:
        raise InputError(
            f"options had the features {listed(old.feature_names)}, and now have "
            f"{listed(new.feature_names)}; they must stay as they are."
        )
    changed = (before != after[options]).any(axis=1)
    if changed.any():
        raise InputError(
            f"option {old.options.labels[int(np.argmax(changed))]!r} has other features than "
            "before. Where these were standardized, read the new ones in the same units, with "
            "like=."
        )


def _moved(old: Questions, new: Questions) -> sparse.csr_array:
    """Return the rows of the old questions in the columns of the new."""
    columns = {column: at for at, column in enumerate(new.columns)}
    if missing := [column.name for column in old.columns if column not in columns]:
        raise InputError(
            f"attribute {listed(missing)} is missing. Attributes must stay what they are; "
            "leniencies are measured from the first evaluator's, so new ones come after it."
        )
    names = {name: at for at, name in enumerate(new.feature_names)}
    to = [*(names[name] for name in old.feature_names)]
    to += [new.n_features + columns[column] for column in old.columns]
    A = old.matrix
    places = np.array(to, dtype=np.intp)[A.indices]
    return sparse.csr_array((A.data, places, A.indptr), shape=(len(old), new.matrix.shape[1]))
