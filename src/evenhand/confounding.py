"""Why a bias cannot be estimated: the combination of features that equals the attribute, in words.

Notation: z the attribute in question, y_j the other columns of the options' points. The bias along
z cannot be estimated exactly if z = Σ β_j y_j for every option.
"""

from __future__ import annotations

import numpy as np

from evenhand.actions import ActionSet
from evenhand.arrays import Floats
from evenhand.errors import Confounding, NotIdentifiableError
from evenhand.numerics.row_space import (
    DOUBT,
    ERASED,
    HIDING,
    DoubtfulRankError,
    RowSpace,
    products,
    space_of,
)
from evenhand.tables import linear_rule
from evenhand.tables.encoding import CONSTANT

_EQUAL = 1e-6  # of the largest |z|: a combination that is off by more on some row is not printed
_CHUNK = 65536  # rows looked at in one go
_MOST_TERMS = 12  # of a sum in a sentence


def not_identifiable(actions: ActionSet, column: int) -> NotIdentifiableError:
    """Return the error that says why the bias of the attribute in this column has κ = ∞, or raise
    `DoubtfulRankError` if the combination found does not hold for every option.
    """
    confounding = Confounding(_combination(actions, column), *_twin(actions))
    name = actions.attribute_names[column - actions.n_features]
    return NotIdentifiableError(" ".join(sentences(confounding, actions, name)), confounding)


def refuse_erased(actions: ActionSet) -> None:
    """Raise `DoubtfulRankError` if standardising may have made columns dependent."""
    # To subtract the mean from a number that is tiny beside it erases digits: those of everybody's
    # income, where one person is richer by far. Columns that differed in these digits only are then
    # dependent, and nothing in the options tells.
    A, offsets = actions.points, _offsets(actions)
    if not offsets.any():
        return
    space = space_of(A)
    if space.full:
        return
    for start in range(0, len(A), _CHUNK):
        factors = space.erased(A[start : start + _CHUNK], offsets).max(axis=0)
        j = int(np.argmax(factors))
        if factors[j] > HIDING:
            raise DoubtfulRankError(space.related(j), ERASED)


def sentences(confounding: Confounding, actions: ActionSet, attribute: str) -> list[str]:
    """Return why no evaluations tell the bias, and what would help: one sentence per entry."""
    terms, groups = confounding.combination, actions.group_names
    meaning = f" ({groups[1]} = 1, {groups[0]} = −1)" if groups else ""
    features = [name for name in terms if name != CONSTANT]
    along = ", ".join(features[:_MOST_TERMS]) + (", …" if len(features) > _MOST_TERMS else "")
    other = f"from {confounding.twin_group}" if groups else f"with another {attribute}"
    return [
        "the bias cannot be estimated from these options, by any number of evaluations (κ* = ∞).",
        f"For every option, {attribute}{meaning} equals "
        f"{linear_rule(terms, digits=6, most=_MOST_TERMS)}.",
        f"So a bias and a difference in value along {along or 'nothing'} look the same.",
        f"What helps: leave out one of these features; or add an option like {confounding.twin!r} "
        f"in all features, but {other}. That makes it as easy as can be (κ* = 1).",
    ]


def _offsets(actions: ActionSet) -> Floats:
    """Return (m,) what standardising has subtracted from each column, in its present units."""
    offsets = np.zeros(actions.points.shape[1])
    if actions.encoding is not None:
        columns = actions.encoding.features
        offsets[: len(columns)] = [column.mean / column.scale for column in columns]
    return offsets


def _combination(actions: ActionSet, column: int) -> dict[str, float]:
    """Return the terms of the combination, in the user's units, checked on every option."""
    A, d = actions.points, actions.n_features
    space = space_of(A)
    beta, columns = _coefficients(space, column)
    z = A[:, column]
    off = np.abs(products(A, beta) - z)
    if not off.max() <= _EQUAL * np.abs(z).max():
        raise DoubtfulRankError(columns, DOUBT)
    terms = actions.in_user_units(beta[:d])
    if actions.encoding is not None:
        spent = np.abs(beta) @ np.abs(_offsets(actions)) + abs(beta[0])
        if abs(terms.get(CONSTANT, 0.0)) <= 1e-12 * spent:  # what cancelled has left rounding
            terms.pop(CONSTANT, None)
    terms |= dict(zip(actions.attribute_names, beta[d:].tolist(), strict=True))
    return {name: value for name, value in terms.items() if value != 0.0}


def _coefficients(space: RowSpace, column: int) -> tuple[Floats, tuple[int, ...]]:
    """Solve the relations between columns for one column: β, (m,), and the columns in it."""
    e = np.zeros(len(space.scales))
    e[column] = 1.0
    # the relation that e violates most is one in which the column has a part
    j = int(np.argmax(space.remainders(e[None])[0][0]))
    relation = np.zeros(len(e))  # Σ relation · y = 0, columns scaled
    relation[space.columns] = space.relations[:, j]
    relation[space.columns[np.abs(space.relations[:, j]) <= space.relation_rounding[:, j]]] = 0.0
    relation[space.others[j]] = -1.0
    beta = -relation / relation[column] * space.scales[column] / space.scales
    beta[column] = 0.0
    return beta, space.related(j)


def _twin(actions: ActionSet) -> tuple[str, str | None]:
    """Return the option whose features are likeliest in the other group, and that group."""
    if actions.group_names is None:
        return actions.labels[0], None
    X, z = actions.features, actions.groups
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0
    centres = {sign: X[z == sign].mean(axis=0) for sign in (-1, 1)}
    distance = np.where(
        z == 1,
        np.linalg.norm((X - centres[-1]) / spread, axis=1),
        np.linalg.norm((X - centres[1]) / spread, axis=1),
    )
    x = int(np.argmin(distance))
    return actions.labels[x], actions.group_names[0 if z[x] == 1 else 1]
