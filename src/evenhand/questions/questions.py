"""Options and questions: rows of features and attributes, who is asked, at what price, how often.

Notation
--------
k, q    options that can be chosen, questions that can be asked
i       items that questions are about: the options first, then what can only be asked about
F       (q, d)  features of the questions, Z (q, p) their attributes; A = (F, Z) their rows
X       (k, d)  features of the options: their value is X γ. Where options stand for themselves,
                d = i, and X is the unit matrix (never made unless somebody asks for it)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evenhand.actions import ActionSet, checked_actions
from evenhand.arrays import Counts, Floats, Indices, as_vector, real_matrix, refuse_non_finite
from evenhand.errors import InputError
from evenhand.tables import Names, check_length, column_names, option_names

Kind = Literal["bias", "leniency", "position", "attribute"]

UNLIMITED = 2**62
"""How often a question may be asked that may be asked as often as one likes."""

_MOST_DENSE = 2**28  # numbers in a dense matrix of rows: 2 GiB


@dataclass(frozen=True, eq=False)
class Options:
    """What can be chosen.

    Parameters
    ----------
    labels
        Their names.
    groups
        The group of each, by name; None if they have none.
    own_features
        (k, d) what their values depend on; None if every option stands for itself.
    n_items
        How many items the questions are about, options among them; the options are the first.

    Examples
    --------
    >>> options = Options(Names(("Ann", "Bo")), groups=("home", "away"))
    >>> len(options), options.group_of(1), options.features
    (2, 'away', array([[1., 0.],
           [0., 1.]]))
    """

    labels: Names
    groups: tuple[str, ...] | None = None
    own_features: Floats | None = None
    n_items: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def stand_alone(self) -> bool:
        """Whether every option stands for itself, so that no model of value is needed."""
        return self.own_features is None

    @cached_property
    def features(self) -> Floats:
        """(k, d) what values depend on; a unit matrix where options stand for themselves."""
        if self.own_features is not None:
            return self.own_features
        return np.eye(len(self), max(self.n_items, len(self)))

    def group_of(self, option: int) -> str | None:
        """Return the name of an option's group; None if it has none."""
        return None if self.groups is None else self.groups[option]


@dataclass(frozen=True)
class Column:
    """What a column of attributes stands for.

    Parameters
    ----------
    name
        What it is called.
    kind
        "bias": a favour; "leniency": what an evaluator adds to all scores; "position": what being
        named first adds; "attribute": anything else.
    evaluator, group
        Whose it is, and towards whom; None if it is everybody's.
    """

    name: str
    kind: Kind = "attribute"
    evaluator: str | None = None
    group: str | None = None


class Questions:
    """What can be chosen, and what can be asked about it.

    Parameters
    ----------
    options : (k, d) numbers
        Features of the options: their value is linear in them.
    features : (q, d) numbers
        Features of the questions: those of the option that a question is about, of one that can
        only be asked about, or the difference of two.
    attributes : (q, p) numbers
        What answers react to and value does not.
    about : (q,) or (q, 2) indices, optional
        The option (or two) that each question is about, −1 for none; found by equal features if
        not given.
    evaluator : q names, optional
        Who is asked.
    prices : number or (q,) numbers, optional
        What an answer costs; 1 if not given.
    capacity : number or (q,) numbers, optional
        How often each question may be asked; as often as one likes if not given.
    noise : number or (q,) numbers, optional
        How loud the noise of an answer is, relative to other questions.
    labels, groups : optional
        Names of the options, and the group of each.
    feature_names, attribute_names : optional
        What the columns are called.

    Attributes
    ----------
    options : Options
        What can be chosen.
    rows : (q, d + p) numbers
        Features and attributes of the questions, dense or a sparse array; `points` is dense,
        `matrix` sparse.
    items : Names
        What questions are about: the options, then what can only be asked about.
    about : (q, 2) indices
        The items of each question; −1 where there is none, or no second one.
    evaluators, evaluator : Names, (q,) indices
        Who can be asked, and who is, −1 if that is not said.
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

    group_names: None = None
    encoding: None = None

    def __init__(
        self,
        options: ArrayLike,
        features: ArrayLike,
        attributes: ArrayLike,
        *,
        about: ArrayLike | None = None,
        evaluator: Sequence[object] | None = None,
        prices: ArrayLike | None = None,
        capacity: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        labels: Sequence[object] | None = None,
        groups: Sequence[object] | None = None,
        feature_names: Sequence[str] | None = None,
        attribute_names: Sequence[str] | None = None,
    ) -> None:
        X = real_matrix(options, "options")
        F, Z = real_matrix(features, "features"), real_matrix(attributes, "attributes")
        check_length("attributes", len(Z), len(F))
        if F.shape[1] != X.shape[1]:
            raise InputError(
                f"options have {X.shape[1]} features and questions {F.shape[1]}; they must be the "
                "same columns."
            )
        x_names = column_names(feature_names, X.shape[1], "feature_names", "x")
        z_names = column_names(attribute_names, Z.shape[1], "attribute_names", "z")
        for what, values, names in (
            ("options", X, x_names),
            ("features", F, x_names),
            ("attributes", Z, z_names),
        ):
            refuse_non_finite(values, what, names)
        asked, who = None, None
        if evaluator is not None:
            check_length("evaluator", len(evaluator), len(F))
            everybody = [str(name) for name in evaluator]
            asked = Names(tuple(dict.fromkeys(everybody)))
            place = {name: i for i, name in enumerate(asked)}
            who = np.array([place[name] for name in everybody], dtype=np.intp)
        option_labels = option_names(labels, len(X))
        if groups is not None:
            check_length("groups", len(groups), len(X))
            groups = tuple(str(group) for group in groups)
        self._set(
            Options(option_labels, groups, np.array(X, dtype=np.float64)),
            np.hstack([F, Z]).astype(np.float64),
            X.shape[1],
            _about(about, F, X),
            feature_names=x_names,
            columns=tuple(Column(name) for name in z_names),
            evaluators=asked,
            evaluator=who,
            prices=prices,
            capacity=capacity,
            noise=noise,
        )

    def _set(
        self,
        options: Options,
        rows: Floats | sparse.csr_array,
        n_features: int,
        about: Indices,
        *,
        columns: tuple[Column, ...],
        feature_names: Sequence[str] | None = None,
        items: Names | None = None,
        evaluators: Names | None = None,
        evaluator: Indices | None = None,
        prices: ArrayLike | None = None,
        capacity: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        workload: ArrayLike | None = None,
    ) -> None:
        q = rows.shape[0]
        self.options, self.rows, self.n_features = options, rows, n_features
        self.about: Indices = about
        self.items = options.labels if items is None else items
        self.columns = columns
        self._feature_names = feature_names
        self.evaluators = Names(()) if evaluators is None else evaluators
        self.evaluator: Indices = np.full(q, -1, dtype=np.intp) if evaluator is None else evaluator
        self.prices: Floats = _positive(prices, q, "prices")
        self.capacity: Counts = _limits(capacity, q, "capacity")
        self.workload: Counts = _limits(workload, len(self.evaluators), "workload")
        self.noise: Floats | None = None if noise is None else _positive(noise, q, "noise")
        for name in ("about", "evaluator", "prices", "capacity", "workload"):
            getattr(self, name).flags.writeable = False

    @classmethod
    def _made(cls, *parts: Any, **more: Any) -> Self:
        """Return questions from parts that are known to be valid."""
        made = cls.__new__(cls)
        made._set(*parts, **more)
        return made

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
        groups = None
        if actions.group_names is not None:
            groups = tuple(actions.group_names[z] for z in (actions.groups > 0).tolist())
        kind: Kind = "attribute" if groups is None else "bias"
        return cls._made(
            Options(actions.labels, groups, actions.features),
            actions.points,
            actions.n_features,
            np.column_stack([np.arange(k), np.full(k, -1)]),
            feature_names=actions.feature_names,
            columns=tuple(Column(name, kind) for name in actions.attribute_names),
        )

    @classmethod
    def panel(
        cls,
        options: Any,
        evaluators: Any,
        *,
        features: ArrayLike | None = None,
        partial: Any = "same group",
        leniency: bool = True,
        bias: Literal["common", "evaluator", "group"] = "common",
        capacity: ArrayLike | None = 1,
        prices: ArrayLike | None = None,
        noise: ArrayLike | None = None,
        workload: ArrayLike | None = None,
    ) -> Self:
        """Return the questions of a panel: every evaluator can be asked about every option.

        Parameters
        ----------
        options, evaluators
            Names, or a mapping from names to groups.
        features
            (k, d) what values depend on; without it, every option stands for itself.
        partial
            "same group": an evaluator may favour options of the own group. Or a matrix, (options,
            evaluators): how partial each is to each. None: nobody is.
        leniency
            Whether evaluators may be lenient or severe.
        bias
            "common": all evaluators are partial by as much; "evaluator": each by its own; "group":
            those of each group by their own.
        capacity
            How often an evaluator may be asked about the same option; None: as often as one likes.
        prices, noise, workload
            What an answer of each evaluator costs, how loud its noise is (relative), and how much
            it may be asked in all: one number, or one per evaluator.

        Examples
        --------
        >>> judges = {"P": "fr", "Q": "it", "R": "us"}
        >>> questions = Questions.panel({"Ann": "fr", "Bo": "it"}, judges)
        >>> questions
        Questions(6 questions about 2 options by 3 evaluators, 3 attributes: own group, Q, R)
        >>> questions.label(1), questions.points[0].tolist()
        ('Ann by Q', [1.0, 0.0, 1.0, 0.0, 0.0])
        """
        from evenhand.questions.panel import panel_columns, panel_rows  # noqa: PLC0415

        names, groups = _named(options)
        judges, sides = _named(evaluators)
        k, e = len(names), len(judges)
        if partial is None:
            P = np.zeros((k, e))
        elif isinstance(partial, str) and partial == "same group":
            P = np.array([[float(g is not None and g == s) for s in sides] for g in groups])
        else:
            P = np.array(real_matrix(partial, "partial"), dtype=np.float64)
        biases = panel_columns(P, judges, groups, bias)
        columns = [column for column, _ in biases]
        if leniency:
            columns += [Column(name, "leniency", name) for name in judges[1:]]
        rows = panel_rows(k, P, biases, leniency)
        who = np.tile(np.arange(e), k)

        def each(values: ArrayLike | None) -> ArrayLike | None:
            given = None if values is None else np.asarray(values)
            return given if given is None or given.ndim == 0 else given[who]

        known = None if all(group is None for group in groups) else tuple(map(str, groups))
        return cls._made(
            Options(Names(tuple(names)), known, None, k),
            rows,
            k,
            np.column_stack([np.repeat(np.arange(k), e), np.full(k * e, -1)]),
            columns=tuple(columns),
            evaluators=Names(tuple(judges)),
            evaluator=who,
            prices=each(prices),
            capacity=capacity,
            noise=each(noise),
            workload=workload,
        )

    # ------------------------------------------------------------------ what solvers work on

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

    @property
    def features(self) -> Floats:
        """(q, d) the features of the questions."""
        return self.points[:, : self.n_features]

    @property
    def attributes(self) -> Floats:
        """(q, p) the attributes of the questions."""
        return self.points[:, self.n_features :]

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
        return tuple(self.items if self._feature_names is None else self._feature_names)

    @cached_property
    def neutral(self) -> Floats:
        """(p,) attributes of an impartial question to an evaluator of average leniency.

        An option's value is what that would have on average: leniencies are part of no value, and
        are measured from the first evaluator's.
        """
        lenient = np.array([column.kind == "leniency" for column in self.columns], dtype=bool)
        return np.where(lenient, 1.0 / max(len(self.evaluators), 1), 0.0)

    @cached_property
    def limited(self) -> bool:
        """Whether some question, or some evaluator, may be asked only so often."""
        return bool((self.capacity < UNLIMITED).any() or (self.workload < UNLIMITED).any())

    @cached_property
    def priced(self) -> bool:
        """Whether some questions cost more than others."""
        return bool(np.ptp(self.prices) > 0.0)

    @property
    def has_constant(self) -> bool:
        """Whether values may share a constant: where options stand for themselves, they do."""
        return True

    # ------------------------------------------------------------------ what people read

    @cached_property
    def labels(self) -> Names:
        """The names of the questions: 'Ann by judge 1', 'Ann against Bo by judge 1'."""
        if not len(self.evaluators) and (self.about[:, 1] < 0).all():
            return self.items if len(self) == len(self.items) else Names(self._names())
        return Names(self._names())

    def _names(self) -> tuple[str, ...]:
        return tuple(self.label(question) for question in range(len(self)))

    def label(self, question: int) -> str:
        """Return the name of a question."""
        items = [self.items[x] for x in self.about[question].tolist() if x >= 0]
        name = " against ".join(items) or f"question {question + 1}"
        who = self.evaluator_of(question)
        return name if who is None else f"{name} by {who}"

    def evaluator_of(self, question: int) -> str | None:
        """Return who is asked; None if that is not said."""
        place = int(self.evaluator[question])
        return None if place < 0 else self.evaluators[place]

    def options_of(self, question: int) -> tuple[int, ...]:
        """Return the items that a question is about, options before others."""
        return tuple(x for x in self.about[question].tolist() if x >= 0)

    # ------------------------------------------------------------------ as a value

    def to_dict(self) -> dict[str, Any]:
        """Return the questions as a plain value of texts, numbers and lists, fit for JSON.

        Examples
        --------
        >>> questions = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr", "Q": "it"})
        >>> Questions.from_dict(questions.to_dict()) == questions
        True
        """
        options, rows = self.options, self.matrix
        own = options.own_features
        return {
            "options": list(options.labels),
            "groups": None if options.groups is None else list(options.groups),
            "own_features": None if own is None else own.tolist(),
            "items": list(self.items),
            "n_features": self.n_features,
            "feature_names": None if self._feature_names is None else list(self._feature_names),
            "rows": {
                "shape": list(rows.shape),
                "starts": rows.indptr.tolist(),
                "columns": rows.indices.tolist(),
                "entries": rows.data.tolist(),
            },
            "about": self.about.tolist(),
            "columns": [asdict(column) for column in self.columns],
            "evaluators": list(self.evaluators),
            "evaluator": self.evaluator.tolist(),
            "prices": self.prices.tolist(),
            "capacity": self.capacity.tolist(),
            "workload": self.workload.tolist(),
            "noise": None if self.noise is None else self.noise.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the questions that `to_dict` returned, perhaps by way of a JSON file."""
        own, groups, parts = content["own_features"], content["groups"], content["rows"]
        labels, items = (Names(tuple(content[name])) for name in ("options", "items"))
        return cls._made(
            Options(
                labels,
                None if groups is None else tuple(groups),
                None if own is None else np.array(own, dtype=np.float64),
                len(items),
            ),
            sparse.csr_array(
                (parts["entries"], parts["columns"], parts["starts"]),
                shape=tuple(parts["shape"]),
                dtype=np.float64,
            ),
            content["n_features"],
            np.array(content["about"], dtype=np.intp).reshape(-1, 2),
            feature_names=content["feature_names"],
            items=items,
            columns=tuple(Column(**column) for column in content["columns"]),
            evaluators=Names(tuple(content["evaluators"])),
            evaluator=np.array(content["evaluator"], dtype=np.intp),
            prices=content["prices"],
            capacity=content["capacity"],
            workload=content["workload"],
            noise=content["noise"],
        )

    def _parts(self) -> tuple[Any, ...]:
        """What two equal sets of questions have in common, beside numbers."""
        options = self.options
        return (
            self.rows.shape,
            self.n_features,
            tuple(options.labels),
            options.groups,
            self.columns,
            tuple(self.items),
            tuple(self.evaluators),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Questions):
            return NotImplemented
        if self is other:
            return True
        if self._parts() != other._parts() or (self.noise is None) != (other.noise is None):
            return False
        names = ("about", "evaluator", "prices", "capacity", "workload")
        numbers = [(getattr(self, name), getattr(other, name)) for name in names]
        if self.noise is not None:
            numbers.append((self.noise, other.noise))
        if (self.options.own_features is None) != (other.options.own_features is None):
            return False
        if self.options.own_features is not None:
            numbers.append((self.options.own_features, other.options.own_features))
        return all(np.array_equal(a, b) for a, b in numbers) and bool(
            abs(self.matrix - other.matrix).max() == 0.0
        )

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.n_features, self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __repr__(self) -> str:
        p = self.n_attributes
        shown = ", ".join(self.attribute_names[:4]) + (", …" if p > 4 else "")
        who = f" by {len(self.evaluators)} evaluators" if len(self.evaluators) else ""
        return (
            f"Questions({len(self):,} questions about {len(self.options):,} options{who}, "
            f"{p} attribute{'' if p == 1 else 's'}: {shown})"
        )


Askable = ActionSet | Questions
"""What a policy can be asked about: options that are their own questions, or questions."""


def checked_askable(given: object) -> Askable:
    """Return what can be asked, or say how to make it of what was given."""
    return given if isinstance(given, Questions) else checked_actions(given)


def _named(given: Any) -> tuple[list[str], list[str | None]]:
    """Return names and groups of a mapping, or names without groups."""
    if isinstance(given, Mapping):
        return [str(name) for name in given], [
            None if group is None else str(group) for group in given.values()
        ]
    return [str(name) for name in given], [None] * len(given)


def _about(about: ArrayLike | None, F: Floats, X: Floats) -> Indices:
    """Return (q, 2) the options of questions, as given or by their features."""
    q, k = len(F), len(X)
    if about is not None:
        given = np.asarray(about)
        given = given.reshape(q, -1) if given.size in (q, 2 * q) else given
        if given.shape not in ((q, 1), (q, 2)) or given.dtype.kind not in "iu":
            raise InputError(
                f"about must be the index of an option, or of two, for each of {q} questions; got "
                f"an array of shape {given.shape}."
            )
        if given.min() < -1 or given.max() >= k:
            raise InputError(f"about must hold indices of options from 0 to {k - 1}, or −1.")
        one = np.full((q, 2), -1, dtype=np.intp)
        one[:, : given.shape[1]] = given
        return one
    found = np.full((q, 2), -1, dtype=np.intp)
    place: dict[bytes, tuple[int, int]] = {}
    for a in range(k):
        place.setdefault((X[a] + 0.0).tobytes(), (a, -1))
    if k <= 200:  # differences of two
        for a in range(k):
            for b in range(k):
                if a != b:
                    place.setdefault((X[a] - X[b] + 0.0).tobytes(), (a, b))
    for row in range(q):
        found[row] = place.get((F[row] + 0.0).tobytes(), (-1, -1))
    return found


def _positive(values: ArrayLike | None, n: int, name: str) -> Floats:
    """Return (n,) positive numbers, of one number or n."""
    if values is None:
        return np.ones(n)
    given = np.asarray(values, dtype=np.float64)
    vector = as_vector(np.full(n, given) if given.ndim == 0 else given, n, name)
    if not (np.isfinite(vector) & (vector > 0.0)).all():
        raise InputError(f"{name} must be numbers larger than 0; got {values!r}.")
    return np.array(vector)


def _limits(values: ArrayLike | None, n: int, name: str) -> Counts:
    """Return (n,) whole numbers, `UNLIMITED` where there is no limit (None or infinite)."""
    if values is None:
        return np.full(n, UNLIMITED, dtype=np.int64)
    given = np.asarray(values, dtype=np.float64)
    vector = np.full(n, given) if given.ndim == 0 else given
    if vector.shape != (n,) or not ((vector >= 0) & (vector == np.floor(vector))).all():
        raise InputError(
            f"{name} must be whole numbers ≥ 0 (infinite: no limit), one or {n}; got {values!r}."
        )
    return np.minimum(vector, float(UNLIMITED)).astype(np.int64)
