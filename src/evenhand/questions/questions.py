"""Options and questions: rows of features and attributes, who is asked, at what price, how often.

Notation
--------
k, q    options that can be chosen, questions that can be asked
F       (q, d)  features of the questions, Z (q, p) their attributes; A = (F, Z) their rows
X       (k, d)  features of the options: their value is X γ. Where options stand for themselves,
                d = k, and X is the unit matrix (never made unless somebody asks for it)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from evenhand.actions import ActionSet, checked_actions
from evenhand.arrays import (
    Counts,
    Floats,
    Indices,
    Rows,
    real_matrix,
    refuse_non_finite,
    same,
    thin,
)
from evenhand.errors import InputError
from evenhand.questions.advice import adding as _adding
from evenhand.questions.check import check as _check
from evenhand.questions.comparisons import comparisons as _comparisons
from evenhand.questions.inputs import (
    UNLIMITED,
    Column,
    Options,
    attribute_columns,
    evaluators_of,
    items_of,
    limits,
    named,
    names_about,
    of_kind,
    per_evaluator,
    positive,
)
from evenhand.questions.json_form import from_dict, to_dict
from evenhand.questions.panel import from_scores as _from_scores
from evenhand.questions.panel import panel as _panel
from evenhand.tables import (
    Names,
    check_length,
    column_names,
    listed,
    option_names,
    option_positions,
    texts_or_none,
)

_OF_OPTIONS = ("groups", "own_features")
_OWN = (
    *("rows", "about", "columns", "evaluators", "evaluator", "evaluator_groups"),
    *("trusted", "prices", "capacity", "noise", "workload"),
)
_MOST_DENSE = 2**28  # numbers in a dense matrix of rows: 2 GiB


class Questions:
    """What can be chosen, and what can be asked about it.

    Parameters
    ----------
    options : (k, d) numbers
        Features of the options: their value is linear in them.
    features : (q, d) numbers
        Features of the questions: those of the option that a question is about, of one that can
        only be asked about, or the difference of two.
    attributes : (q, p) numbers, optional
        What answers react to and value does not; nothing biases them if not given.
    about : q items or pairs of items, optional
        What each question is about, by name or by index (−1 for nothing); found by equal features
        if not given.
    evaluator : q names, optional
        Who is asked.
    prices : number or (q,) numbers, optional
        What an answer costs; 1 if not given.
    capacity : number or (q,) numbers, optional
        How often each question may be asked; as often as one likes if not given.
    noise : number or (q,) numbers, optional
        How loud the noise of an answer is, relative to other questions.
    workload : number, one per evaluator, or a mapping by name, optional
        How much evaluators may be asked in all.
    labels, groups : optional
        Names of the options, and the group of each.
    feature_names, attribute_names : optional
        What the columns are called; for attributes also a `Column` that says what it stands for.

    Attributes
    ----------
    options : Options
        What can be chosen.
    rows : (q, d + p) numbers
        Features and attributes of the questions, dense or a sparse array; `points` is dense,
        `matrix` sparse.
    about : (q, 2) indices
        The options of each question; −1 where there is none, or no second one.
    evaluators, evaluator : Names, (q,) indices
        Who can be asked, and who is, −1 if that is not said.
    evaluator_groups : tuple or None
        The group of each evaluator, by name; None if none has one.
    trusted : tuple of names or None
        Evaluators by whose scores those of the others are corrected; None if nobody says.
    prices, capacity, noise : (q,)
        Price, how often it may be asked (`UNLIMITED`), relative noise (None if all are alike).
    workload : (e,) ints
        How much every evaluator may be asked in all.
    columns : tuple of Column
        What the attributes stand for.

    Examples
    --------
    >>> questions = Questions(options=[[1.0, 0.0], [0.0, 1.0]],
    ...     features=[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]], attributes=[[1.0], [0.0], [0.0]],
    ...     prices=[1.0, 1.0, 5.0], labels=["Ann", "Bo"])
    >>> questions
    Questions(3 questions about 2 options, 1 attribute: z1)
    >>> questions.labels[0], questions.about.tolist()
    ('Ann', [[0, -1], [1, -1], [0, 1]])
    """

    def __init__(
        self,
        options: ArrayLike,
        features: ArrayLike,
        attributes: ArrayLike | None = None,
        *,
        about: ArrayLike | None = None,
        evaluator: Sequence[object] | None = None,
        prices: ArrayLike | None = None,
        capacity: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        workload: Any = None,
        labels: Sequence[object] | None = None,
        groups: Sequence[object] | None = None,
        feature_names: Sequence[str] | None = None,
        attribute_names: Sequence[str | Column] | None = None,
    ) -> None:
        X = real_matrix(options, "options")
        F = real_matrix(features, "features")
        Z = np.zeros((len(F), 0)) if attributes is None else real_matrix(attributes, "attributes")
        if len(X) < 2:
            raise InputError("options has one row; a choice needs two options or more.")
        if len(Z) != len(F):
            raise InputError(
                f"features has {len(F)} rows and attributes {len(Z)}; both need one per question."
            )
        if F.shape[1] != X.shape[1]:
            raise InputError(
                f"options have {X.shape[1]} features and questions {F.shape[1]}; they must be the "
                "same columns."
            )
        x_names = column_names(feature_names, X.shape[1], "feature_names", "x")
        columns = attribute_columns(attribute_names, Z.shape[1])
        for what, values, names in (
            ("options", X, x_names),
            ("features", F, x_names),
            ("attributes", Z, tuple(column.name for column in columns)),
        ):
            refuse_non_finite(values, what, names)
        option_labels = option_names(labels, len(X))
        sides = None
        if groups is not None:
            check_length("groups", len(groups), len(X))
            sides = tuple(texts_or_none(groups))
        asked, who = evaluators_of(evaluator, len(F))
        self._set(
            options=option_labels,
            groups=sides,
            own_features=np.array(X, dtype=np.float64),
            rows=np.hstack([F, Z]).astype(np.float64),
            about=items_of(about, F, X, option_labels),
            feature_names=x_names,
            columns=columns,
            evaluators=asked,
            evaluator=who,
            prices=prices,
            capacity=capacity,
            noise=noise,
            workload=per_evaluator(workload, asked, "workload", np.inf),
        )

    def _set(
        self,
        *,
        options: Names,
        rows: Floats | sparse.csr_array,
        about: Indices,
        columns: tuple[Column, ...],
        groups: tuple[str | None, ...] | None = None,
        own_features: Floats | None = None,
        feature_names: Sequence[str] | None = None,
        evaluators: Names | None = None,
        evaluator: Indices | None = None,
        evaluator_groups: tuple[str | None, ...] | None = None,
        trusted: tuple[str, ...] | None = None,
        prices: ArrayLike | None = None,
        capacity: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        workload: ArrayLike | None = None,
    ) -> None:
        q = rows.shape[0]
        self.options = Options(options, groups, own_features)
        self.rows = rows
        self.n_features = len(options) if own_features is None else own_features.shape[1]
        self.about: Indices = about
        self.columns = columns
        self._feature_names = None if feature_names is None else tuple(feature_names)
        self.evaluators = Names(()) if evaluators is None else evaluators
        self.evaluator: Indices = np.full(q, -1, dtype=np.intp) if evaluator is None else evaluator
        self.evaluator_groups = evaluator_groups
        self.trusted = trusted
        self.prices: Floats = positive(prices, q, "prices")
        self.capacity: Counts = limits(capacity, q, "capacity")
        self.workload: Counts = limits(workload, len(self.evaluators), "workload")
        self.noise: Floats | None = None if noise is None else positive(noise, q, "noise")
        for name in ("about", "evaluator", "prices", "capacity", "workload", "noise"):
            if getattr(self, name) is not None:
                getattr(self, name).flags.writeable = False

    def _parts(self) -> dict[str, Any]:
        """Return all that the questions are made of, as `_set` takes it."""
        of_options = {name: getattr(self.options, name) for name in _OF_OPTIONS}
        own = {"options": self.options.labels, "feature_names": self._feature_names}
        return own | of_options | {name: getattr(self, name) for name in _OWN}

    @classmethod
    def _made(cls, **parts: Any) -> Self:
        """Return questions from parts that are known to be valid."""
        made = cls.__new__(cls)
        made._set(**parts)
        return made

    def _changed(self, **parts: Any) -> Self:
        """Return questions of which some parts are others."""
        return self._made(**(self._parts() | parts))

    @classmethod
    def of(cls, actions: ActionSet | Questions) -> Questions:
        """Return the questions of an action set: every option is its own.

        Examples
        --------
        >>> Questions.of(ActionSet([[1.0], [2.0]], ["home", "away"], ["Ann", "Bo"])).labels
        Names('Ann', 'Bo')
        """
        if isinstance(actions, Questions):
            return actions
        k = len(actions)
        groups = named(actions, "options").sides
        return cls._made(
            options=actions.labels,
            groups=groups,
            own_features=actions.features,
            rows=actions.points,
            about=np.column_stack([np.arange(k), np.full(k, -1)]),
            feature_names=actions.feature_names,
            columns=tuple(
                Column(name, "attribute" if groups is None else "bias")
                for name in actions.attribute_names
            ),
        )

    # each has a file of its own
    panel = classmethod(_panel)
    comparisons = classmethod(_comparisons)
    from_scores = classmethod(_from_scores)
    check = _check
    adding = _adding

    def restrict(self, available: ArrayLike) -> Questions:
        """Return the questions where only some may be asked: the others have capacity 0.

        Parameters
        ----------
        available
            (q,) truth values, indices of questions, or names of evaluators.

        Examples
        --------
        >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> panel.restrict(["Q"]).capacity
        array([0, 1, 0, 1])
        """
        given = np.asarray(available)
        if given.dtype.kind in "UO":
            kept = np.isin(self.evaluator, [self._place(name) for name in given.tolist()])
        else:
            kept = np.zeros(len(self), dtype=np.bool_)
            kept[option_positions(given, len(self))] = True
        return self._changed(capacity=np.where(kept, self.capacity, 0))

    def barring(self, conflicts: Iterable[tuple[str, str]]) -> Questions:
        """Return the questions without those that would be a conflict of interest: capacity 0.

        Parameters
        ----------
        conflicts
            Names of an option and of an evaluator who must not judge it; in comparisons, neither
            first nor second.

        Examples
        --------
        >>> panel = Questions.panel(["Ann", "Bo"], ["P", "Q"])
        >>> panel.barring([("Ann", "Q")]).capacity
        array([1, 0, 1, 1])
        """
        barred, items = np.zeros(len(self), dtype=np.bool_), list(self.options.labels)
        for option, evaluator in conflicts:
            if option not in items:
                raise InputError(f"there is no option {option!r}; there are {listed(items)}.")
            about = (self.about == items.index(option)).any(axis=1)
            barred |= about & (self.evaluator == self._place(evaluator))
        return self._changed(capacity=np.where(barred, 0, self.capacity))

    def find(self, about: Any, evaluator: Any = None) -> Indices:
        """Return (n,) the questions about these items, to these evaluators.

        Parameters
        ----------
        about
            n names of items, or n pairs of names.
        evaluator
            n names, or one for all; None where questions have no evaluators.

        Examples
        --------
        >>> Questions.panel(["Ann", "Bo"], ["P", "Q"]).find(["Bo", "Ann"], ["Q", "P"])
        array([3, 0])
        """
        asked = [(x,) if isinstance(x, str) else tuple(x) for x in about]
        who = (
            [evaluator] * len(asked)
            if evaluator is None or isinstance(evaluator, str)
            else (list(evaluator))
        )
        if len(who) != len(asked):
            raise InputError(f"about has {len(asked)} entries, evaluator {len(who)}; give as many.")
        found = np.empty(len(asked), dtype=np.intp)
        for n, (items, name) in enumerate(zip(asked, who, strict=True)):
            place = self._places.get((items, name), -1)
            if place < 0:
                to = "" if name is None else f" to {name!r}"
                raise InputError(f"there is no question about {' against '.join(items)!r}{to}.")
            found[n] = place
        return found

    @cached_property
    def _keys(self) -> list[tuple[tuple[str, ...], str | None]]:
        """What each question is about, and who is asked."""
        items, evaluators = list(self.options.labels), [*self.evaluators, None]
        return [
            (tuple(items[x] for x in pair if x >= 0), evaluators[who])
            for pair, who in zip(self.about.tolist(), self.evaluator.tolist(), strict=True)
        ]

    @cached_property
    def _places(self) -> dict[tuple[tuple[str, ...], str | None], int]:
        """Where the question about some items to an evaluator stands; the first of several."""
        return {key: len(self) - 1 - n for n, key in enumerate(reversed(self._keys))}

    def _place(self, evaluator: str) -> int:
        if evaluator not in self.evaluators:
            raise InputError(
                f"there is no evaluator {evaluator!r}; there are {listed(list(self.evaluators))}."
            )
        return self.evaluators.index(evaluator)

    @cached_property
    def points(self) -> Floats:
        """(q, d + p) the rows as a dense matrix, read-only."""
        if isinstance(self.rows, np.ndarray):
            dense = self.rows
        else:
            q, m = self.rows.shape
            if q * m > _MOST_DENSE:
                raise InputError(
                    f"{q:,} questions with {m:,} columns are too many for a dense matrix; use a "
                    "policy that keeps the structure of panels, such as certain-choice."
                )
            dense = self.rows.toarray()
        dense.flags.writeable = False
        return dense

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(q, d + p) the rows as a sparse array."""
        return sparse.csr_array(self.rows)

    @cached_property
    def weighted_points(self) -> Floats:
        """(q, d + p) rows over the relative noise: what designs and policies work on."""
        return self.points if self.noise is None else self.points / self.noise[:, None]

    @cached_property
    def attributes(self) -> Rows:
        """(q, p) the attributes of the questions, a sparse array where they are many."""
        return thin(self.matrix[:, self.n_features :])

    @property
    def n_attributes(self) -> int:
        """How many columns of attributes there are, p."""
        return int(self.rows.shape[1]) - self.n_features

    @cached_property
    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; those of the items where options stand for themselves."""
        return tuple(self.options.labels if self._feature_names is None else self._feature_names)

    @cached_property
    def neutral(self) -> Floats:
        """(p,) attributes of an impartial question to an evaluator of average leniency.

        An option's value is what that would have on average: leniencies are part of no value, and
        are measured from the first evaluator's.
        """
        return of_kind(self.columns, "leniency") / max(len(self.evaluators), 1)

    @cached_property
    def partial(self) -> NDArray[np.bool_]:
        """(q,) whether whoever is asked may favour what the question is about."""
        sizes: Any = abs(self.attributes)
        return np.asarray(sizes @ of_kind(self.columns, "bias").astype(np.float64) > 0.0)

    @cached_property
    def may_ask(self) -> NDArray[np.bool_]:
        """(q,) whether a question may be asked at all."""
        busy = np.append(self.workload == 0, False)  # the last: nobody in particular
        return np.asarray((self.capacity > 0) & ~busy[self.evaluator])

    @cached_property
    def _limited(self) -> bool:
        return bool((self.capacity < UNLIMITED).any() or (self.workload < UNLIMITED).any())

    @cached_property
    def has_arrow_form(self) -> bool:
        """Whether every question is about one item that stands for itself; see `Arrow`."""
        d, about = self.n_features, self.about
        if not self.options.stand_alone or (about[:, 1] >= 0).any():
            return False
        features = self.matrix[:, :d]
        return bool(
            (np.diff(features.indptr) == 1).all()
            and (features.data == 1.0).all()
            and (features.indices == about[:, 0]).all()
        )

    @cached_property
    def labels(self) -> Names:
        """The names of the questions: 'Ann by judge 1', 'Ann against Bo by judge 1'."""
        own = np.column_stack([np.arange(len(self.options)), np.full(len(self.options), -1)])
        if not len(self.evaluators) and np.array_equal(self.about, own):
            return self.options.labels
        return Names(tuple(self.label(question) for question in range(len(self))))

    def label(self, question: int) -> str:
        """Return the name of a question."""
        who = self.evaluator_of(question)
        name = " against ".join(names_about(self, question))
        name = name or f"question {question + 1}"
        return name if who is None else f"{name} by {who}"

    def evaluator_of(self, question: int) -> str | None:
        """Return who is asked; None if that is not said."""
        place = int(self.evaluator[question])
        return None if place < 0 else self.evaluators[place]

    def to_dict(self) -> dict[str, Any]:
        """Return the questions as a plain value of texts, numbers and lists, fit for JSON.

        Examples
        --------
        >>> questions = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
        >>> Questions.from_dict(questions.to_dict()) == questions
        True
        """
        return to_dict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the questions that `to_dict` returned, perhaps by way of a JSON file."""
        try:
            return cls._made(**from_dict(content))
        except InputError as error:
            raise InputError(f"these are no questions as to_dict() writes them: {error}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Questions):
            return NotImplemented
        if self is other:
            return True
        mine, others = self._parts(), other._parts()
        return (
            self.rows.shape == other.rows.shape
            and all(same(mine[name], others[name]) for name in mine if name != "rows")
            and bool(abs(self.matrix - other.matrix).max() == 0.0)
        )

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.n_features, self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(self._made, **self._parts()), ()

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __repr__(self) -> str:
        p = self.n_attributes
        shown = ", ".join(self.attribute_names[:4]) + (", …" if p > 4 else "")
        n = len(self.evaluators)
        who = f" by {n} evaluator{'' if n == 1 else 's'}" if n else ""
        return (
            f"Questions({len(self):,} questions about {len(self.options):,} options{who}, "
            f"{p} attribute{'' if p == 1 else 's'}: {shown})"
            if p
            else f"Questions({len(self):,} questions about {len(self.options):,} options{who})"
        )


Askable = ActionSet | Questions
"""What a policy can be asked about: options that are their own questions, or questions."""


def checked_askable(given: object) -> Askable:
    """Return what can be asked, or say how to make it of what was given."""
    return given if isinstance(given, Questions) else checked_actions(given)
