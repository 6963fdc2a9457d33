"""Questions made of others: in several versions, on features alone, with a bias for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evenhand.arrays import Floats, refuse_non_finite, unmasked
from evenhand.errors import InputError
from evenhand.questions.options import Column
from evenhand.tables import listed

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions


def in_versions(  # noqa: D417 - a method of `Questions`
    questions: Questions,
    n: int = 1,
    *,
    attributes: Mapping[str | Column, ArrayLike] | None = None,
    prices: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
) -> Questions:
    """Return the questions in ``n`` versions each, with further attributes.

    So the same two answers can be compared on short and on long items. Version j of question x
    has the index ``n * x + j``.

    Parameters
    ----------
    n
        How many versions there are of every question.
    attributes
        By name, or by `Column`, what scores may react to and value does not: (q, n) numbers.
    prices, capacity
        (q, n) what an answer to a version costs, and how often it may be asked; those of the
        question if not given.

    Examples
    --------
    >>> import evenhand as eh
    >>> pairs = eh.Questions.comparisons(["Ann", "Bo"], ["P"])
    >>> versions = pairs.in_versions(2, attributes={"length": [[1.0, 0.0], [0.0, -1.0]]})
    >>> versions.label(1), versions.attribute_names, versions.attributes[:, -1]
    ('Ann against Bo by P', ('first', 'length'), array([ 1.,  0.,  0., -1.]))
    """
    attributes = {} if attributes is None else attributes
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InputError(f"n must be a whole number of versions ≥ 1; got {n!r}.")
    columns = tuple(one if isinstance(one, Column) else Column(one) for one in attributes)
    both = [column.name for column in columns if column.name in questions.attribute_names]
    if both:
        raise InputError(f"attributes: {listed(both)} is an attribute already; name it otherwise.")
    again = np.repeat(np.arange(len(questions)), n)
    added = np.zeros((len(again), len(columns)))
    for place, (column, given) in enumerate(zip(columns, attributes.values(), strict=True)):
        added[:, place] = _each(given, questions, n, f"attributes[{column.name!r}]")
    refuse_non_finite(added, "attributes", tuple(column.name for column in columns))
    rows: Any = questions.rows[again]
    if isinstance(rows, np.ndarray):
        rows = np.hstack([rows, added])
    else:
        rows = sparse.csr_array(sparse.hstack([rows, sparse.csr_array(added)], format="csr"))
    return questions._changed(
        rows=rows,
        about=questions.about[again],
        columns=(*questions.columns, *columns),
        evaluator=questions.evaluator[again],
        noise=None if questions.noise is None else questions.noise[again],
        prices=questions.prices[again] if prices is None else _each(prices, questions, n, "prices"),
        capacity=(
            questions.capacity[again]
            if capacity is None
            else _each(capacity, questions, n, "capacity")
        ),
    )


def _each(given: ArrayLike, questions: Questions, n: int, what: str) -> Floats:
    """Return (q n,) the number of every version, version by version of each question."""
    array, q = unmasked(given, what), len(questions)
    if array.shape not in ((q, n), (q * n,), *([(q,)] if n == 1 else [])):
        raise InputError(
            f"{what} must be {q} × {n} numbers, for each of {q} questions its {n} versions; got an "
            f"array of shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise InputError(f"{what} must be numbers; got an array of {array.dtype}.")
    return array.reshape(-1).astype(np.float64)


def with_exact_features(questions: Questions) -> Questions:
    """Return the questions on the model that values are linear in the known features, exactly.

    Features are an intercept, unless the known ones have a constant column, the known features,
    and a column for each item that can only be asked about.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P"], features=[[1.0], [2.0], [4.0]])
    >>> panel.n_features, panel.with_exact_features().points
    (3, array([[1., 1.],
           [1., 2.],
           [1., 4.]]))
    """
    options = questions.options
    X, names = options.known_features, options.known_names
    if X is None or names is None:
        if not options.stand_alone:
            return questions
        raise InputError(
            "nothing is known of these options but their names; give features= to have values "
            "depend on them."
        )
    k, extra = len(options), len(questions.items) - len(options)
    if not ((np.ptp(X, axis=0) == 0.0) & (X[0] != 0.0)).any():
        X, names = np.column_stack([np.ones(k), X]), ("intercept", *names)
    of_items = sparse.block_diag([X, sparse.eye_array(extra)], format="csr")
    d, rows = questions.n_features, questions.matrix
    return questions._changed(
        own_features=np.hstack([X, np.zeros((k, extra))]),
        known_features=None,
        known_names=None,
        rows=sparse.csr_array(sparse.hstack([rows[:, :d] @ of_items, rows[:, d:]], "csr")),
        feature_names=(*names, *questions.items[k:]),
    )
