"""The questions to ask next, and what each is expected to settle.

Notation
--------
b, j        the option that leads, and a rival;  L_j its lead, s_j the standard error of that
z           how many errors a lead must be: Student's quantile of δ/2 in one look at two options

Questions are taken one by one, those before counting as answered: the one that lowers the expected
loss of the choice most for its price (`certainty.greedy_questions`), which is mostly the error of
the lead over the closest rivals. How many it takes is by the leads as they stand; how probable it
is that these settle it allows for who leads to look better than it is (`certainty.prospects`).

They are chosen by the scores. Who asks them and decides anew has chosen what was scored by looking
at scores: then ``assigned="adaptively"`` says what is sure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from evenhand.arrays import Counts, Floats, Indices
from evenhand.certainty.aim import keeps_structure, model_of
from evenhand.certainty.greedy_questions import GreedyQuestions
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.models import Model, with_own_noise
from evenhand.certainty.prospects import chance_to_settle
from evenhand.certainty.record import SCALE
from evenhand.numerics.tolerance import first_largest
from evenhand.policies.limits import Limits
from evenhand.policies.messages import Decision, Feedback
from evenhand.questions import Askable, Questions
from evenhand.report.words import settles
from evenhand.tables import Names

if TYPE_CHECKING:
    import pandas as pd

_MOST = 4096  # questions that are looked ahead
_CLOSE = 13  # options of a large panel that are looked at: the leader and those closest to it
_STATE = (
    "Leads are the same on every item, which no number of items makes certain: if it is known, say "
    f"{SCALE}."
)
_SAME = "Leads are the same on every item: {many:,} {what} in all would settle it if they stay so."
_SEEN = 0.005  # share of an error, and change of a chance, that is more than rounding
_ROUNDS = 4  # of an equation that settles at once


@dataclass(frozen=True)
class NextQuestion:
    """A question to ask, and what it is expected to settle.

    Parameters
    ----------
    question, label
        Index and name of the question.
    options, evaluator
        The options it is about, by name, and who is to be asked; None if that is not said.
    price
        What it costs.
    rival
        The option whose distance to the leader it tells most of.
    error, error_after
        Standard error of the lead over that rival before the answer (those to the questions above
        it included), and after it; infinite where they cannot be compared, NaN where nothing is
        known of the noise.
    chance, chance_after
        How probable it is, by the scores, that the rival is really better; and what that falls to
        if the lead stays as it is.

    Examples
    --------
    >>> import evenhand as eh
    >>> rows = {"option": ["Ann", "Bo", "Ann", "Bo", "Ann"], "evaluator": ["P", "P", "Q", "Q", "R"],
    ...         "score": [7.0, 5.0, 6.0, 5.5, 8.0]}
    >>> import pandas as pd
    >>> answer = eh.decide(pd.DataFrame(rows))
    >>> question = answer.next_questions[0]
    >>> question.label, question.rival, question.error > question.error_after
    ('Bo by R', 'Bo', True)
    """

    question: int
    label: str
    options: tuple[str, ...]
    evaluator: str | None
    price: float
    rival: str
    error: float
    error_after: float
    chance: float
    chance_after: float

    @property
    def tells(self) -> bool:
        """Whether its effect is large enough to be seen in a table; where it is unknown, too."""
        falls = self.error - self.error_after
        return not (falls < _SEEN * self.error and self.chance - self.chance_after < _SEEN)


class NextQuestions(tuple[NextQuestion, ...]):
    """The questions to ask next, the best first: a tuple, which `to_frame` makes a frame of.

    Attributes
    ----------
    until_sure
        How many questions settle it if leads stay as they are; infinite where all that may be asked
        would not, NaN where nothing is known of the noise.
    chance
        How probable it is, by the scores, that so many settle it, or all that may be asked where
        ``until_sure`` is infinite; NaN where nobody can say.
    advice
        The same in a sentence; "" where there is nothing to say.
    """

    until_sure: float
    chance: float
    advice: str

    def __new__(
        cls,
        questions: Iterable[NextQuestion] = (),
        until_sure: float = 0.0,
        chance: float = math.nan,
        advice: str = "",
    ) -> Self:
        """Make a tuple of questions."""
        made = super().__new__(cls, questions)
        made.until_sure, made.chance, made.advice = until_sure, chance, advice
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self), self.until_sure, self.chance, self.advice)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame, one row per question."""
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        names = [entry.name for entry in fields(NextQuestion)]
        return pd.DataFrame({name: [getattr(one, name) for one in self] for name in names})


def next_questions(
    asked: Askable,
    told: Feedback,
    decision: Decision,
    n: int,
    *,
    tolerance: float,
    failure: float,
    noise_scale: float | None,
    heard: bool = True,
    anytime: bool = False,
    seed: int = 0,
) -> NextQuestions:
    """Return the n best questions to ask after what was told; `seed` breaks ties."""
    # `heard` says that answers scatter, so that unknown noise can be estimated; `anytime` that the
    # decision's intervals hold for all times at once: leads must then be as many errors.
    if isinstance(asked, Questions) and keeps_structure(asked):
        rows, asked, told, decision = _closest(asked, told, decision)
    else:
        rows = np.arange(len(asked))
    ahead = _Ahead(asked, told, decision, tolerance, failure, noise_scale, heard, anytime, seed)
    listed, made = [], ahead.none
    for _ in range(n):
        x = ahead.best_after(made)
        if x is None:
            break
        after = made + (np.arange(len(made)) == x)
        listed.append(ahead.described(x, made, after))
        made = after
    if not listed:
        return NextQuestions((), math.inf, advice=ahead.more_evaluators())
    until, chance = ahead.until_sure()
    listed = [replace(one, question=int(rows[one.question])) for one in listed]
    return NextQuestions(listed, until, chance, _advice(listed, until, chance))


def _closest(
    questions: Questions, told: Feedback, decision: Decision
) -> tuple[Indices, Questions, Feedback, Decision]:
    """Return a large panel, and what was told, without the options far behind."""
    # What scores of the others tell of leniencies is left out.
    assert decision.leads is not None
    behind = np.where(np.isnan(decision.leads[:, 0]), -np.inf, decision.leads[:, 0])
    behind[decision.option] = -np.inf
    kept = np.sort(np.argsort(behind, kind="stable")[:_CLOSE])
    rows = np.flatnonzero(np.isin(questions.about[:, 0], kept))
    places = np.searchsorted(kept, questions.about[rows, 0])
    names = Names(tuple(questions.options.labels[x] for x in kept.tolist()))
    who = questions.evaluator[rows]
    people, numbers = np.unique(who[who >= 0], return_inverse=True)
    evaluator = np.full(len(rows), -1, dtype=np.intp)
    evaluator[who >= 0] = numbers
    unit = sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), places)))
    part = questions._only(rows)._changed(
        options=names,
        groups=None,
        known_features=None,
        known_names=None,
        items=names,
        rows=sparse.csr_array(
            sparse.hstack([unit, questions.matrix[rows][:, questions.n_features :]])
        ),
        about=np.column_stack([places, np.full(len(rows), -1)]),
        evaluators=Names(tuple(questions.evaluators[x] for x in people.tolist())),
        evaluator=evaluator,
        evaluator_groups=None,
        workload=None,
    )
    some = Feedback(*(values[rows] for values in told.parts))
    leader = int(np.searchsorted(kept, decision.option))
    return rows, part, some, replace(decision, option=leader, leads=decision.leads[kept])


class _Ahead:
    """What further questions would tell."""

    def __init__(
        self,
        asked: Askable,
        told: Feedback,
        decision: Decision,
        tolerance: float,
        failure: float,
        noise_scale: float | None,
        heard: bool,
        anytime: bool,
        seed: int,
    ) -> None:
        self.questions = Questions.of(asked)
        self._model: Model = model_of(asked)
        self._b, self._tolerance = decision.option, tolerance
        self._rivals: Indices = np.delete(np.arange(len(self.questions.options)), self._b)
        weights = 1.0 if self.questions.noise is None else 1.0 / self.questions.noise
        self._told = Feedback(
            told.counts, told.sums * weights, told.sums_of_squares * np.square(weights)
        )
        fit = self._model.fit(self._told, noise_scale)
        self._leads: Floats = fit.leads(self._b, self._rivals).estimates
        self._noise = math.nan
        if noise_scale is not None:
            self._leads, self._noise = self._leads * noise_scale, noise_scale
        elif fit.freedom >= 1.0 and heard:
            self._noise = fit.unit
        self._failure, self._freedom = failure, fit.freedom
        self._heard, self._noise_scale = (
            with_own_noise(self.questions, fit, self._told),
            noise_scale or 1.0,
        )
        self._width = 0.0  # errors that intervals for all times are wide
        self._asked, self._seed, self._raw = asked, seed, told
        self._limits = Limits(self.questions)
        self._limits.asked = told.counts
        self.none: Counts = np.zeros(len(self.questions), dtype=np.int64)
        if anytime and decision.leads is not None:
            widths = (decision.leads[:, 0] - decision.leads[:, 1])[self._rivals]
            with np.errstate(invalid="ignore"):
                self._width = float(np.nanmax(widths / self.errors(self.none), initial=0.0))

    @cached_property
    def _greedy(self) -> GreedyQuestions:
        """Who chooses questions, told all that is known."""
        # in units of the noise, or of the scores: what is asked next does not hang on a unit
        known, told = not math.isnan(self._noise), self._raw
        unit = self._noise if known else float(np.abs(told.means).max(initial=0.0)) or 1.0
        settings = {"noise_scale": 1.0} if known else {}
        greedy = GreedyQuestions(self._asked, _MOST, seed=self._seed, **settings)
        greedy.checked = False
        greedy.observe(Feedback(told.counts, told.sums / unit, told.sums_of_squares / unit / unit))
        return greedy

    def best_after(self, made: Counts) -> int | None:
        """Return the best question when others are on their way; None if none may be asked."""
        if not self._limits.left(made).any():
            return None
        wanted = self.none
        connecting = self._connecting(made)
        if connecting is not None:
            wanted = self._greedy.ask(n=1, pending=made, available=connecting).counts
        if not wanted.any():
            wanted = self._greedy.ask(n=1, pending=made).counts
        return int(np.argmax(wanted)) if wanted.any() else None

    def _connecting(self, made: Counts) -> NDArray[np.bool_] | None:
        """Return (q,) which questions connect two unconnected options; None if none do."""
        # All such options are as little known as each other: those of the highest mean are taken.
        apart = self._rivals[np.isinf(self.errors(made))]
        if not len(apart):
            return None
        means = _raw_means(self.questions, self._told)
        best = int(apart[first_largest(np.nan_to_num(means[apart], nan=-np.inf))])
        first, second = np.isin(self.questions.about, [self._b, best, -1]).T
        return np.asarray(first & second)

    def errors(self, made: Counts) -> Floats:
        """Return the standard errors of the leads when these are answered as well."""
        zeros = np.zeros(len(made))
        fit = self._model.fit(Feedback(self._told.counts + made, zeros, zeros), 1.0)
        variances = fit.leads(self._b, self._rivals).variances
        noise = self._noise
        return np.where(np.isinf(variances), np.inf, noise * np.sqrt(variances))

    def described(self, x: int, before: Counts, after: Counts) -> NextQuestion:
        """Return what the question settles: of which rival it tells most."""
        s, t = self.errors(before), self.errors(after)
        chances, later = self._chances(s), self._chances(t)
        with np.errstate(invalid="ignore"):  # of rivals that stay apart from the leader
            fall = np.nan_to_num(expected_losses(self._leads, s) - expected_losses(self._leads, t))
        told = np.where(np.isinf(s) & np.isfinite(t), np.inf, fall)
        if math.isnan(self._noise):  # by how much errors fall, whatever the noise is
            told = np.nan_to_num(self._shrunk(before, after))
        j = int(np.argmax(told))
        questions = self.questions
        return NextQuestion(
            x,
            questions.label(x),
            tuple(questions.items[o] for o in questions.options_of(x)),
            questions.evaluator_of(x),
            float(questions.prices[x]),
            questions.options.labels[int(self._rivals[j])],
            float(s[j]),
            float(t[j]),
            float(chances[j]),
            float(later[j]),
        )

    def _shrunk(self, before: Counts, after: Counts) -> Floats:
        zeros = np.zeros(len(before))
        s, t = (
            self._model.fit(Feedback(self._told.counts + made, zeros, zeros), 1.0)
            .leads(self._b, self._rivals)
            .variances
            for made in (before, after)
        )
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(s), np.where(np.isinf(t), 0.0, np.inf), s - t)

    def _chances(self, errors: Floats) -> Floats:
        """Return how probable it is that rivals are better: ½ where nothing is known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.where(np.isinf(errors), 0.0, self._leads / errors)
        return np.asarray(special.ndtr(-z))

    def until_sure(self) -> tuple[float, float]:
        """Return how many questions it takes by leads as they stand, and their chance."""
        if math.isnan(self._noise) or math.isinf(self._width):
            return math.nan, math.nan
        if np.isinf(self.errors(self.none)).any():
            return math.nan, math.nan  # leads that are not known yet
        if not (self._leads + self._tolerance > 0.0).all():
            return math.inf, math.nan
        until, made = self._search()
        return until, self._chance(self.errors(made) / self.errors(self.none), int(made.sum()))

    def _chance(self, shrink: Floats, more: int) -> float:
        """Return the chance of certainty after more scores that multiply errors by (n,) shrink."""
        # The noise is that of each option, as a look has it, and is better known with more scores.
        unit = self._noise_scale if math.isinf(self._freedom) else self._heard.unit
        shared = self._heard.shared(self._b, self._rivals)
        now = unit**2 * shared.some(np.arange(len(self._rivals)))
        known = self._heard.freedom * (1.0 + more / max(int(self._told.counts.sum()), 1))
        if self._heard.freedom < 1.0:
            return math.nan
        return chance_to_settle(
            self._leads,
            now,
            now * np.outer(shrink, shrink),
            tolerance=self._tolerance,
            failure=self._failure,
            freedom=known,
            errors=self._width or None,
        )

    def more_evaluators(self) -> str:
        """Return how many evaluators more it takes where these have said all; "" if unknown."""
        said = nothing_left(self.questions, self._told)
        e, errors = len(self.questions.evaluators), self.errors(self.none)
        if e and math.isnan(self._noise):
            return said
        if not e or math.isinf(self._width) or not np.isfinite(errors).all():
            return ""
        k = len(self._rivals) + 1
        more = 1
        while (
            more < _MOST and self._enough(errors * math.sqrt(e / (e + more)), more * (k - 1)) < 1.0
        ):
            more = math.ceil(1.1 * more)
        if more >= _MOST:
            return f"{said} But the lead is too small for any number of them."
        shrink = np.full(len(self._rivals), math.sqrt(e / (e + more)))
        chance = self._chance(shrink, more * (k - 1))
        return f"{said} {settles(f'About {more:,} more like them', chance)}."

    def _enough(self, errors: Floats, more: int) -> float:
        """Return the share of the needed information with these errors; sure from 1 on."""
        z = max(_deviations(self._failure, self._freedom + more), self._width)
        with np.errstate(divide="ignore"):
            ratios = np.maximum(self._leads + self._tolerance, 0.0) / (z * errors)
        return float(ratios.min()) ** 2

    def _search(self) -> tuple[float, Counts]:
        """Return how many questions it takes, and which, or all that there are."""
        n, before = 1, self._enough(self.errors(self.none), 0)
        while True:
            made = self._greedy.ask(n=n, pending=self.none).counts
            total = int(made.sum())
            share = self._enough(self.errors(made), total)
            if share >= 1.0:
                low = n // 2  # where the share was ``before``
                part = (1.0 - before) / (share - before) if before < 1.0 else 0.0
                until = max(1, math.ceil(low + (total - low) * part))
                return until, self._greedy.ask(n=until, pending=self.none).counts
            if total < n or n >= _MOST:
                return math.inf, made  # that is all there is
            n, before = 2 * n, share


def _raw_means(questions: Questions, told: Feedback) -> Floats:
    """Return (k,) the mean score of each option as the first of its questions; NaN without any."""
    first, k = questions.about[:, 0], len(questions.options)
    mine = (first >= 0) & (first < k)
    sums, counts = (np.bincount(first[mine], x[mine], k) for x in (told.sums, told.counts))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts)


def nothing_left(questions: Questions, told: Feedback) -> str:
    """Return whom to ask where nothing more may be asked, because of workloads or altogether."""
    if (told.counts < questions.capacity).any():
        return (
            "Ask further evaluators, or these for more (workload): they have evaluated as much as "
            "they may, and not everything."
        )
    return "Ask further evaluators: of these, nothing more may be asked."


def expected_losses(leads: Floats, errors: Floats) -> Floats:
    """Return the expected loss to rivals that may be better: s (φ(z) − z Φ(−z)), z = L/s."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z = leads / errors
        density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
        return np.asarray(errors * (density - z * special.ndtr(-z)))


def _deviations(failure: float, freedom: float) -> float:
    """Return how many errors the lead of two options must be to be sure in one look."""
    if math.isinf(freedom):
        return -float(special.ndtri(0.5 * failure))
    return -float(special.stdtrit(max(freedom, 1.0), 0.5 * failure))


def next_items(
    fit: ItemsFit, decision: Decision, n: int, *, failure: float, tolerance: float
) -> NextQuestions:
    """Return what to ask next where options were tried on items: on new ones, and on how many."""
    names = fit.questions.options.labels
    rivals = np.delete(np.arange(len(names)), decision.option)
    leads, variances = fit.leads(decision.option, rivals)
    if fit.freedom <= 0.0 or not np.isfinite(variances).all():
        return NextQuestions(
            (), math.nan, advice="Try all options on the same items, and on more of them."
        )
    errors, G = np.sqrt(variances), fit.n_items
    with np.errstate(divide="ignore"):
        each = (errors / np.maximum(leads + tolerance, 0.0)) ** 2 * G  # items for a lead of 1 error
    more = np.full(len(rivals), 1.0)
    for _ in range(_ROUNDS):  # z falls with the number of items, and hardly
        more = np.array(
            [
                _deviations(failure, G + m - 1.0) ** 2 * n - G
                for m, n in zip(more, each, strict=True)
            ]
        ).clip(1.0)
    same = fit.alike(decision.option, rivals)
    needed = np.array([fit.enough(float(lead) + tolerance, failure) for lead in leads])
    more = np.where(same, np.maximum(needed - fit.drawn, 1.0), more)
    order = np.argsort(-more, kind="stable")
    until = float(max(more[order[0]], 1.0))
    listed = [_on_new_item(fit, decision.option, int(rivals[j]), leads[j], errors[j], alone=True)
              for j in order[:1]]  # fmt: skip
    listed += [
        _on_new_item(fit, int(rivals[j]), int(rivals[j]), leads[j], errors[j], alone=False)
        for j in order[: max(0, n - 1)]
    ]
    close = names[int(rivals[order[0]])]
    said = f"Try {decision.label!r} and {close!r}, at least, on new items"
    if same[order[0]] and math.isfinite(until):
        many, what = math.ceil(needed[order[0]]), "items, and judges," if fit.judged else "items"
        return NextQuestions(listed[:n], until, advice=_SAME.format(many=many, what=what))
    if same[order[0]] and not fit.bounded:
        return NextQuestions(listed[:n], until, advice=_STATE)
    if until >= _MOST * G:
        advice = f"{said}; but they are too close to settle it."
        return NextQuestions(listed[:n], math.inf, advice=advice)
    many = math.ceil(until)
    S = fit.shared(decision.option, rivals).some(np.arange(len(rivals)))
    chance = chance_to_settle(
        leads, S, S * (G / (G + many)), tolerance=tolerance, failure=failure, freedom=G + many - 1.0
    )
    items = f"about {many:,} item{'' if many == 1 else 's'}"
    return NextQuestions(listed[:n], many, chance, f"{said}: {settles(items, chance)}.")


def _on_new_item(
    fit: ItemsFit, option: int, rival: int, lead: float, error: float, *, alone: bool
) -> NextQuestion:
    """Return the question about an option on a new item, to who costs least."""
    # The leader alone tells nothing there; the rival beside it tells as much as any item does.
    questions, G = fit.questions, fit.n_items
    about = np.flatnonzero((questions.about == option).any(axis=1))
    x = int(about[np.argmin(questions.prices[about])])
    after = error if alone else error * math.sqrt(G / (G + 1))
    now, then = (float(special.ndtr(-lead / size)) for size in (error, after))
    return NextQuestion(
        x,
        f"{questions.label(x)}, on a new item",
        tuple(questions.items[o] for o in questions.options_of(x)),
        questions.evaluator_of(x),
        float(questions.prices[x]),
        questions.options.labels[rival],
        float(error),
        float(after),
        now,
        then,
    )


def _advice(listed: list[NextQuestion], until: float, chance: float) -> str:
    """Return what to do in a sentence."""
    if not listed:
        return ""
    first = listed[0]
    said = f"Ask about {first.label}"
    if len(listed) > 1:
        said += f", then about {listed[1].label}"
    if math.isfinite(until):
        many = math.ceil(until)
        more = f"about {many:,} such question{'' if many == 1 else 's'}"
        return f"{said}; {settles(more, chance)}."
    if math.isinf(until) and math.isnan(chance):
        return f"{said}; but no number of questions settles a tie."
    if math.isinf(until):
        return f"{said}; but {settles('all that may be asked', chance)}."
    return f"{said}; then more can be said."
