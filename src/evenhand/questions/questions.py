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
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from evenhand.actions import ActionSet, checked_actions
from evenhand.arrays import Counts, Floats, Indices, real_matrix, refuse_non_finite
from evenhand.errors import InputError
from evenhand.questions.entries import (
    UNLIMITED,
    attribute_columns,
    evaluators_of,
    items_of,
    limits,
    positive,
    workload_of,
)
from evenhand.questions.options import Column, Kind, Options
from evenhand.questions.page import page
from evenhand.questions.plain import from_dict, to_dict
from evenhand.tables import (
    Names,
    check_length,
    column_names,
    listed,
    option_names,
    option_positions,
    texts_or_none,
)

if TYPE_CHECKING:
    from evenhand.questions.advice import Advice, Ask
    from evenhand.questions.check import Check

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
    attributes : (q, p) numbers
        What answers react to and value does not.
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
    calibration : names, optional
        Items that can be asked about and not chosen.
    feature_names, attribute_names : optional
        What the columns are called; for attributes also a `Column` that says what it stands for.

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
    evaluator_groups : tuple or None
        The group of each evaluator, by name; None if none has one.
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
        workload: Any = None,
        labels: Sequence[object] | None = None,
        groups: Sequence[object] | None = None,
        calibration: Sequence[object] | None = None,
        feature_names: Sequence[str] | None = None,
        attribute_names: Sequence[str | Column] | None = None,
    ) -> None:
        X = real_matrix(options, "options")
        F, Z = real_matrix(features, "features"), real_matrix(attributes, "attributes")
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
        items = option_labels
        if calibration is not None:
            items = option_names([*option_labels, *calibration], len(X) + len(calibration), "items")
        asked, who = evaluators_of(evaluator, len(F))
        self._set(
            Options(option_labels, sides, np.array(X, dtype=np.float64)),
            np.hstack([F, Z]).astype(np.float64),
            X.shape[1],
            items_of(about, F, X, items),
            items=items,
            feature_names=x_names,
            columns=columns,
            evaluators=asked,
            evaluator=who,
            prices=prices,
            capacity=capacity,
            noise=noise,
            workload=workload_of(workload, asked),
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
        evaluator_groups: tuple[str | None, ...] | None = None,
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
        self._feature_names = None if feature_names is None else tuple(feature_names)
        self.evaluators = Names(()) if evaluators is None else evaluators
        self.evaluator: Indices = np.full(q, -1, dtype=np.intp) if evaluator is None else evaluator
        self.evaluator_groups = evaluator_groups
        self.prices: Floats = positive(prices, q, "prices")
        self.capacity: Counts = limits(capacity, q, "capacity")
        self.workload: Counts = limits(workload, len(self.evaluators), "workload")
        self.noise: Floats | None = None if noise is None else positive(noise, q, "noise")
        for name in ("about", "evaluator", "prices", "capacity", "workload", "noise"):
            if getattr(self, name) is not None:
                getattr(self, name).flags.writeable = False

    @classmethod
    def _made(cls, *parts: Any, **more: Any) -> Self:
        """Return questions from parts that are known to be valid."""
        made = cls.__new__(cls)
        made._set(*parts, **more)
        return made

    def _parts(self) -> dict[str, Any]:
        """Return all that the questions are made of, as `_set` takes it."""
        return {
            "options": self.options,
            "rows": self.rows,
            "n_features": self.n_features,
            "about": self.about,
            "columns": self.columns,
            "feature_names": self._feature_names,
            "items": self.items,
            "evaluators": self.evaluators,
            "evaluator": self.evaluator,
            "evaluator_groups": self.evaluator_groups,
            "prices": self.prices,
            "capacity": self.capacity,
            "noise": self.noise,
            "workload": self.workload,
        }

    def _changed(self, **parts: Any) -> Questions:
        """Return questions of which some parts are others."""
        return type(self)._made(**(self._parts() | parts))

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
        features: Any = None,
        partial: Any = "same group",
        leniency: bool = True,
        bias: Literal["common", "evaluator", "group"] = "common",
        capacity: Any = 1,
        prices: Any = None,
        noise: Any = None,
        workload: Any = None,
        calibration: Any = None,
    ) -> Questions:
        """Return the questions of a panel: every evaluator can be asked about every option.

        Parameters
        ----------
        options, evaluators
            Names, a mapping from names to groups, or a data frame: its first column has the names,
            its column "group" the groups. Options may be an `ActionSet`, too.
        features
            (k, d) numbers, or columns of the frame of options. Options stand for themselves all
            the same; features may help (`Options.known_features`).
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
            How much evaluators may be asked in all: one number, or one per evaluator.
        calibration
            Items that can be asked about and not chosen: names, or a mapping from names to groups.
            They tell who is lenient and who is partial.

        Examples
        --------
        >>> judges = {"P": "fr", "Q": "it", "R": "us"}
        >>> questions = Questions.panel({"Ann": "fr", "Bo": "it"}, judges, prices={"R": 20.0})
        >>> questions
        Questions(6 questions about 2 options by 3 evaluators, 3 attributes: own group, Q, R)
        >>> questions.label(1), questions.points[0].tolist(), questions.prices[:3]
        ('Ann by Q', [1.0, 0.0, 1.0, 0.0, 0.0], array([ 1.,  1., 20.]))
        """
        from evenhand.questions.panel import panel  # noqa: PLC0415 - it imports this module

        return panel(
            cls,
            options,
            evaluators,
            features,
            partial,
            leniency,
            bias,
            capacity,
            prices,
            noise,
            workload,
            calibration,
        )

    @classmethod
    def comparisons(
        cls,
        options: Any,
        judges: Any,
        *,
        family: Mapping[str, Any] | None = None,
        position: bool = True,
        bias: Literal["judge", "common"] | None = None,
        capacity: Any = None,
        prices: Any = None,
        workload: Any = None,
    ) -> Questions:
        """Return the questions 'a against b', in either order, to every judge.

        Verdicts may be −1, 0, 1, or 0, ½, 1, or graded, as long as more is better for the first
        named and the judge keeps to one way: with ``position`` a constant in all verdicts of a
        judge counts as favour for the first named and touches no value. Without it verdicts must
        turn their sign with the order.

        Parameters
        ----------
        options, judges
            Names, a mapping from names to families, or a data frame, as for `panel`.
        family
            Families by name, of options and judges, instead of or beside those.
        position
            Whether judges may favour what is named first: each by its own amount.
        bias
            The favour for the own family: "judge", each has its own; "common", all the same. None:
            each its own where verdicts can tell it (`check` says when), else common.
        capacity, prices, workload
            How often a judge may be asked the same, what that costs, and how much in all: one
            number, or one per judge. Without capacity: as often as one likes.

        Examples
        --------
        >>> questions = Questions.comparisons({"Ann": "x", "Bo": "y", "Cy": None}, {"J": "x"})
        >>> questions
        Questions(6 questions about 3 options by 1 evaluator, 2 attributes: own family, first)
        >>> questions.label(0), questions.points[0].tolist()
        ('Ann against Bo by J', [1.0, -1.0, 0.0, 1.0, 1.0])
        """
        from evenhand.questions.comparisons import comparisons  # noqa: PLC0415 - as above

        return comparisons(cls, options, judges, family, position, bias, capacity, prices, workload)

    @classmethod
    def from_scores(
        cls,
        table: Any,
        option: str,
        evaluator: str,
        score: str | None = None,
        *,
        option_group: str | None = None,
        evaluator_group: str | None = None,
        only_seen: bool = False,
        **settings: Any,
    ) -> Questions:
        """Return the panel that a table of past scores shows, one row per score.

        Every pair of an option and an evaluator in it may be asked, whether it was scored or not;
        with ``only_seen`` those that were, so that `check` tells what the scores can say.

        Parameters
        ----------
        table
            A frame of pandas, polars or pyarrow, or the path of a CSV, Parquet or Excel file.
        option, evaluator
            The columns with their names.
        score
            The column with the scores; if given, they are checked to be numbers.
        option_group, evaluator_group
            The columns with their groups.
        only_seen
            Whether pairs that were not scored cannot be asked.
        settings
            Further arguments of `panel`, such as ``bias`` or ``prices``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> scores = pa.table({"skater": ["Ann", "Bo", "Ann"], "judge": ["P", "P", "Q"],
        ...                    "nation": ["fr", "it", "fr"], "from": ["fr", "fr", "it"]})
        >>> panel = Questions.from_scores(scores, "skater", "judge", option_group="nation",
        ...                               evaluator_group="from", only_seen=True)
        >>> panel.capacity.reshape(2, 2)
        array([[1, 1],
               [1, 0]])
        """
        from evenhand.questions.scores import panel_of_scores  # noqa: PLC0415 - as above

        return panel_of_scores(
            cls,
            table,
            option,
            evaluator,
            score,
            option_group,
            evaluator_group,
            only_seen,
            settings,
        )

    def with_exact_features(self) -> Questions:
        """Return the questions on the model that values are linear in the known features, exactly.

        Features are an intercept, unless the known ones have a constant column, the known features,
        and a column for each item that can only be asked about.

        Examples
        --------
        >>> panel = Questions.panel(["Ann", "Bo", "Cy"], ["P"], features=[[1.0], [2.0], [4.0]])
        >>> panel.n_features, panel.with_exact_features().points
        (3, array([[1., 1.],
               [1., 2.],
               [1., 4.]]))
        """
        options = self.options
        X, names = options.known_features, options.known_names
        if X is None or names is None:
            if not options.stand_alone:
                return self
            raise InputError(
                "nothing is known of these options but their names; give features= to have values "
                "depend on them."
            )
        k, extra = len(options), len(self.items) - len(options)
        if not ((np.ptp(X, axis=0) == 0.0) & (X[0] != 0.0)).any():
            X, names = np.column_stack([np.ones(k), X]), ("intercept", *names)
        own = np.hstack([X, np.zeros((k, extra))])
        of_items = sparse.block_diag([X, sparse.eye_array(extra)], format="csr")
        rows = self.matrix
        features = rows[:, : self.n_features] @ of_items
        exact = sparse.csr_array(sparse.hstack([features, rows[:, self.n_features :]], "csr"))
        return self._changed(
            options=Options(options.labels, options.groups, own),
            rows=exact,
            n_features=own.shape[1],
            feature_names=(*names, *self.items[k:]),
        )

    def in_versions(
        self,
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
        >>> pairs = Questions.comparisons(["Ann", "Bo"], ["P"])
        >>> versions = pairs.in_versions(2, attributes={"length": [[1.0, 0.0], [0.0, -1.0]]})
        >>> versions.label(1), versions.attribute_names, versions.attributes[:, -1]
        ('Ann against Bo by P', ('first', 'length'), array([ 1.,  0.,  0., -1.]))
        """
        from evenhand.questions.versions import in_versions  # noqa: PLC0415 - as above

        return in_versions(self, n, {} if attributes is None else attributes, prices, capacity)

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
    def _places(self) -> dict[tuple[tuple[str, ...], str | None], int]:
        """Where the question about some items by an evaluator stands; the first of several."""
        items, evaluators = list(self.items), [*self.evaluators, None]
        places: dict[tuple[tuple[str, ...], str | None], int] = {}
        pairs = zip(self.about.tolist(), self.evaluator.tolist(), strict=True)
        for place, ((one, other), who) in enumerate(pairs):
            named = (*([items[one]] if one >= 0 else []), *([items[other]] if other >= 0 else []))
            places.setdefault((named, evaluators[who]), place)
        return places

    def _place(self, evaluator: str) -> int:
        if evaluator not in self.evaluators:
            raise InputError(
                f"there is no evaluator {evaluator!r}; there are {listed(list(self.evaluators))}."
            )
        return self.evaluators.index(evaluator)

    def check(self) -> Check:
        """Return what the questions can tell: which options can be compared, which biases told.

        Where something cannot be told it says why, and what to add.

        Examples
        --------
        >>> print(Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"}).check())
        Not all options can be compared with one another, however often the questions are asked...
        """
        from evenhand.questions.check import check  # noqa: PLC0415 - it imports this module

        return check(self)

    def adding(self, advice: Advice | Ask | Sequence[Advice | Ask]) -> Questions:
        """Return the questions with what advice says to add; see `check`.

        Examples
        --------
        >>> panel = Questions.panel({"Ann": "fr", "Bo": "it"}, {"P": "fr"})
        >>> better = panel.adding(panel.check().advice)
        >>> better.evaluators, better.check().fine
        (Names('P', 'a neutral evaluator'), True)
        """
        from evenhand.questions.advice import Advice, Ask, add_questions  # noqa: PLC0415 - as above

        several = [advice] if isinstance(advice, Advice | Ask) else list(advice)
        asks = [ask for one in several for ask in ([one] if isinstance(one, Ask) else one.add)]
        return add_questions(self, asks)

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
    def may_ask(self) -> NDArray[np.bool_]:
        """(q,) whether a question may be asked at all."""
        busy = np.append(self.workload == 0, False)  # the last: nobody in particular
        return np.asarray((self.capacity > 0) & ~busy[self.evaluator])

    @cached_property
    def has_arrow_form(self) -> bool:
        """Whether every question is about one item that stands for itself; see `numerics.arrow`."""
        d, about = self.n_features, self.about
        if not self.options.stand_alone or d != len(self.items) or (about[:, 1] >= 0).any():
            return False
        features = self.matrix[:, :d]
        return bool(
            (np.diff(features.indptr) == 1).all()
            and (features.data == 1.0).all()
            and (features.indices == about[:, 0]).all()
        )

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
        mine, others = _comparable(self), _comparable(other)
        return all(_same(mine[name], others[name]) for name in mine) and bool(
            abs(self.matrix - other.matrix).max() == 0.0
        )

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.n_features, self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._parts())

    def _repr_html_(self) -> str:
        return page(self)

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
        )


Askable = ActionSet | Questions
"""What a policy can be asked about: options that are their own questions, or questions."""


def checked_askable(given: object) -> Askable:
    """Return what can be asked, or say how to make it of what was given."""
    return given if isinstance(given, Questions) else checked_actions(given)


def _again(cls: type[Questions], parts: dict[str, Any]) -> Questions:
    return cls._made(**parts)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (type(one) is type(other) and bool(one == other))


def _comparable(questions: Questions) -> dict[str, Any]:
    """Return what two equal sets of questions have in common, beside their rows."""
    parts, options = questions._parts(), questions.options
    del parts["options"], parts["rows"]
    names = ("labels", "groups", "own_features", "known_features", "known_names")
    parts |= {f"options.{name}": getattr(options, name) for name in names}
    parts["shape"] = questions.rows.shape
    return parts
