"""Panels: several evaluators, each lenient or severe, each partial to some of the options.

Notation: y = v_o + s_e + β p_oe + noise for item o and evaluator e, where p_oe is 1 if the
evaluator is partial to the item. A row has a 1 for its item, then the columns of β, then a 1 for
its evaluator (but the first, whose leniency is the zero that others are measured from). Questions
stand item by item: the question to evaluator e about item o has the index o · n_evaluators + e.

`from_scores` is the panel that a table of past scores shows: who scored whom, of which groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from evenhand.arrays import Floats, Indices, real_matrix, refuse_non_finite
from evenhand.errors import InputError, Remedy
from evenhand.questions.inputs import (
    Column,
    Named,
    biases_of,
    named,
    named_options,
    pair_numbers,
    parts_of,
    same_group,
    sparse_rows,
)
from evenhand.readers import read_scores
from evenhand.tables import Names, check_length, column_names
from evenhand.tables.texts import refuse_alike

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions
    from evenhand.scores.roles import Columns

Bias = Literal["common", "evaluator", "group"]


def panel(  # noqa: D417 - a method of `Questions`
    cls: type[Questions],
    /,
    options: Any,
    evaluators: Any,
    *,
    partial: Any = "same group",
    leniency: bool = True,
    bias: Bias = "common",
    capacity: Any = 1,
    prices: Any = None,
    noise: Any = None,
    workload: Any = None,
    trusted: Any = None,
) -> Questions:
    """Return the questions of a panel: every evaluator can be asked about every option.

    Parameters
    ----------
    options, evaluators
        Names, a mapping from names to groups, or a data frame: its first column has the names,
        its column "group" the groups. Options may be an `ActionSet`, too.
    partial
        "same group": an evaluator may favour options of the own group. Or how partial each is
        to each: a matrix (items × evaluators), a frame with names, a mapping from pairs (item,
        evaluator) to numbers. None: nobody is.
    leniency
        Whether evaluators may be lenient or severe.
    bias
        "common": all evaluators are partial by as much; "evaluator": each by its own; "group":
        those of each group by their own.
    capacity
        How often an evaluator may be asked about the same option: one number, or as for
        ``prices``; 0 for pairs that cannot be asked, None for as often as one likes.
    prices, noise
        What an answer costs, and how loud its noise is, relative to others (1 if not given):
        one number, one per evaluator (in order, or by name), one by pair (item, evaluator), a
        matrix (items × evaluators), or a frame.
    workload
        How much evaluators may be asked in all: one number, or one per evaluator. Of the own group
        everybody is then asked about the share that it has among all options.
    trusted
        Names of evaluators, such as people beside a model, who have to confirm what the others make
        certain; nobody is trusted for a price.

    Examples
    --------
    >>> import evenhand as eh
    >>> judges = {"P": "fr", "Q": "it", "R": "us"}
    >>> questions = eh.Questions.panel({"Ann": "fr", "Bo": "it"}, judges, prices={"R": 20.0})
    >>> questions
    Questions(6 questions about 2 options by 3 evaluators, 3 attributes: own group, Q, R)
    >>> questions.label(1), questions.points[0].tolist(), questions.prices[:3]
    ('Ann by Q', [1.0, 0.0, 1.0, 0.0, 0.0], array([ 1.,  1., 20.]))
    """
    if bias not in ("common", "evaluator", "group"):
        raise InputError(f"bias must be 'common', 'evaluator' or 'group'; got {bias!r}.")
    choice, judges = named_options(options), named(evaluators, "evaluators")
    items, groups = choice.names, choice.groups
    for what, some in (("options", items), ("evaluators", judges.names)):
        refuse_alike(some, what)
    refuse_alike((*groups, *(judges.sides or ())), "groups")
    P = _partial(partial, items, groups, judges)
    i, e = len(items), len(judges.names)
    biases, place = _biases(P, judges.names, groups, bias)
    lenient = [Column(name, "leniency", name) for name in judges.names[1:]] if leniency else []
    pair = np.arange(i * e)

    def each(given: Any, what: str) -> Floats | None:
        if given is None:
            return None
        return pair_numbers(given, items, judges.names, what, 1.0).reshape(-1)

    return cls._made(
        **parts_of(choice, judges, workload, trusted),
        rows=_rows(P, place, len(biases), bool(lenient)),
        about=np.column_stack([pair // e, np.full(i * e, -1)]),
        columns=(*biases, *lenient),
        evaluator=pair % e,
        prices=each(prices, "prices"),
        capacity=each(capacity, "capacity"),
        noise=each(noise, "noise"),
    )


def _partial(given: Any, items: Names, groups: tuple[str | None, ...], judges: Named) -> Floats:
    """Return (items, evaluators) how partial everybody is."""
    if isinstance(given, str):
        if given != "same group":
            raise InputError(
                f"partial must be 'same group', a matrix, a frame or None; got {given!r}."
            )
        some = any(group is not None for group in groups)
        if some != (judges.sides is not None):
            has, lacks = ("options", "evaluators") if some else ("evaluators", "options")
            raise InputError(
                f"{has} have groups and {lacks} have none, so that nobody knows who is of the same "
                f"group; give {lacks} as a mapping from names to groups, or partial=None if nobody "
                "favours anybody."
            )
        return same_group(groups, judges.groups).astype(np.float64)
    P = pair_numbers(given, items, judges.names, "partial")
    refuse_non_finite(P, "partial", tuple(judges.names))
    return P


def _biases(
    P: Floats, evaluators: Names, groups: tuple[str | None, ...], bias: Bias
) -> tuple[list[Column], Indices]:
    """Return the columns of the biases, and (items, evaluators) which of them a pair shows."""
    some, place = P != 0.0, np.zeros(P.shape, dtype=np.intp)
    if bias != "group":
        columns, own = biases_of(some, evaluators, "own group", common=bias == "common")
        return columns, place + own
    favoured = some.any(axis=1)
    found: dict[str, int] = {}
    for item in np.flatnonzero(favoured).tolist():
        group = groups[item]
        if group is None:
            raise InputError(
                "a bias for each group needs the groups of all options that somebody is partial "
                "to; give options as a mapping from names to groups."
            )
        place[item] = found.setdefault(group, len(found))
    return [Column(f"own group {group}", "bias", group=group) for group in found], place


def _rows(P: Floats, place: Indices, n_biases: int, leniency: bool) -> sparse.csr_array:
    """Return the rows of all pairs (item, evaluator), item by item."""
    i, e = P.shape
    pair = np.arange(i * e)
    (some,) = np.nonzero(P.reshape(-1))
    (lenient,) = np.nonzero((pair % e > 0) & leniency)
    return sparse_rows(
        (i * e, i + n_biases + (e - 1 if leniency else 0)),
        (pair, pair // e, 1.0),
        (some, i + place.reshape(-1)[some], P.reshape(-1)[some]),
        (lenient, i + n_biases + lenient % e - 1, 1.0),
    )


def from_scores(  # noqa: D417 - a method of `Questions`
    cls: type[Questions],
    /,
    table: Any,
    *,
    columns: Columns | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    only_seen: bool = False,
    **settings: Any,
) -> Questions:
    """Return the panel that a table of past scores shows, one row per score.

    Every pair of an option and an evaluator in it may be asked, whether it was scored or not;
    with ``only_seen`` those that were, so that `check` tells what the scores can say.

    Parameters
    ----------
    table
        `Scores`, or what `evenhand.read_scores` takes: a frame, a file, a log. It may do without
        scores.
    columns
        Which column is the option, the evaluator, the score, and which have their groups: see
        `evenhand.read_scores`.
    missing
        What to do with rows where a cell is empty: "refuse" the table, or "drop" them.
    only_seen
        Whether pairs that were not scored cannot be asked.
    settings
        Further arguments of `panel`, such as ``bias`` or ``prices``.

    Examples
    --------
    >>> import evenhand as eh
    >>> import pyarrow as pa
    >>> scores = pa.table({"skater": ["Ann", "Bo", "Ann"], "judge": ["P", "P", "Q"],
    ...                    "nation": ["fr", "it", "fr"], "from": ["fr", "fr", "it"]})
    >>> named = {"option": "skater", "evaluator": "judge",
    ...          "option_group": "nation", "evaluator_group": "from"}
    >>> panel = eh.Questions.from_scores(scores, columns=named, only_seen=True)
    >>> panel.capacity.reshape(2, 2)
    array([[1, 1],
           [1, 0]])
    """
    none = dict.fromkeys(("rival", "item", "event", "cluster"))
    scores = read_scores(
        table, columns={**none, **(columns or {})}, missing=missing, scored=False, beside=False
    )
    if scores.evaluator is None:
        raise InputError(
            "a panel needs to know who gave the scores",
            Remedy("columns", {"evaluator": ...}, "with that column"),
        )
    made = cls.panel(
        Named.of(scores.option, scores.option_group, scores.groups),
        Named.of(scores.evaluator, scores.evaluator_group, scores.groups),
        **settings,
    )
    if not only_seen:
        return made
    seen = np.zeros((len(made.options), len(made.evaluators)), dtype=np.bool_)
    seen[scores.option.codes, scores.evaluator.codes] = True
    return made.restrict(seen.reshape(-1))


def with_exact_features(
    questions: Questions, features: Any, names: Sequence[str] | None = None
) -> Questions:
    """Return questions about options that stand for themselves on the model that values are linear
    in features, exactly.

    Parameters
    ----------
    questions
        The questions.
    features, names
        (k, d) numbers, and what they are called. Before them comes an intercept, unless a column is
        constant.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P"])
    >>> panel.n_features, with_exact_features(panel, [[1.0], [2.0], [4.0]]).points
    (3, array([[1., 1.],
           [1., 2.],
           [1., 4.]]))
    """
    options, X = questions.options, np.array(real_matrix(features, "features"), dtype=np.float64)
    check_length("features", len(X), len(options))
    refuse_non_finite(X, "features")
    if not options.stand_alone:
        raise InputError("these options have features already.")
    names = column_names(names, X.shape[1], "names", "x")
    if not ((np.ptp(X, axis=0) == 0.0) & (X[0] != 0.0)).any():
        X, names = np.column_stack([np.ones(len(X)), X]), ("intercept", *names)
    d, rows = questions.n_features, questions.matrix
    return questions._changed(
        own_features=X,
        rows=sparse.csr_array(sparse.hstack([sparse.csr_array(rows[:, :d] @ X), rows[:, d:]])),
        feature_names=names,
    )
