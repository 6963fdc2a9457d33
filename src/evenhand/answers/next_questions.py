"""The questions to ask next: those that lower the expected loss of the answer most for their price
(`inference.expected_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import special

from evenhand.inference import Conclusion
from evenhand.inference.expected_loss import Askable, Outlook, Step, expected_losses, one_best
from evenhand.linear import Fit
from evenhand.tables import listed

if TYPE_CHECKING:
    import pandas as pd

_SEEN = 0.005  # share of an error, and change of a chance, that is more than rounding
_SETTLE = "would settle it if leads stay as they are"
_NEUTRAL = (
    "Have an evaluator who favours nobody try all options on these items: no score of these "
    "evaluators tells a favour from worth."
)
_IN_VAIN = "No single answer of these evaluators would tell more than can be seen; ask others, too."
_NOTHING = "Ask further evaluators: of these, nothing more may be asked."
_BUSY = (
    "Ask further evaluators, or these for more (workload): they have evaluated as much as they "
    "may, and not everything."
)


@dataclass(frozen=True)
class NextQuestion:
    """A question to ask, and what it is expected to settle.

    Parameters
    ----------
    question, label
        Index of the question, None where none were given; and its name.
    options, evaluator
        The options it is about, by name, and who is to be asked; None if that is not said.
    price
        What it costs.
    rival
        The option of which it tells most: its distance to the leader, or to the line.
    error, error_after
        Standard error of that distance before the answer (those to the questions above it
        included), and after it; NaN where nothing is known of the noise.
    chance, chance_after
        How probable it is, by the scores, that the option is on the other side; and what that falls
        to if the distance stays as it is.

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

    question: int | None
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
        How many more scores like these, or items, settle it if leads stay as they are; infinite
        where all that may be asked would not, NaN where that is not known.
    advice
        What to do in a sentence; "" where there is nothing to say.
    """

    until_sure: float
    advice: str

    def __new__(
        cls,
        questions: Iterable[NextQuestion] = (),
        until_sure: float = 0.0,
        advice: str = "",
    ) -> Self:
        """Make a tuple of questions."""
        made = super().__new__(cls, questions)
        made.until_sure, made.advice = until_sure, advice
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self), self.until_sure, self.advice)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame, one row per question."""
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        names = [entry.name for entry in fields(NextQuestion)]
        return pd.DataFrame({name: [getattr(one, name) for one in self] for name in names})


def next_questions(
    asked: Askable,
    said: Conclusion,
    labels: Sequence[str],
    n: int,
    *,
    noise: float,
    scored: int,
) -> NextQuestions:
    """Return the n best questions to ask about options of these names, after so many scores;
    answers have a standard deviation of ``noise``, if it is known.
    """
    made, found = np.zeros(len(asked.z), dtype=np.int64), list[NextQuestion]()
    ratio = further(said) if one_best(said) else math.nan
    if not asked.open(made).any():
        e, advice = len(asked.people), _BUSY if asked.left.any() else _NOTHING
        if e and 0.0 < ratio < math.inf:
            advice += f" About {_about(e * ratio)} more like them {_SETTLE}."
        return NextQuestions((), math.inf, advice)
    outlook = Outlook(asked, said, noise)
    while len(found) < n and (may := asked.open(made)).any():
        step = outlook.take(may)
        found.append(_question(asked, step, labels[step.option], noise))
        made[step.question] += 1
    found = [one for one in found if one.tells]
    if not found:
        return NextQuestions((), math.inf, _IN_VAIN)
    advice = f"Ask about {found[0].label}" + "".join(
        f", then {one.label}" for one in found[1:2] if one.label != found[0].label
    )
    if not one_best(said):
        return NextQuestions(found, math.nan, f"{advice}: that tells most of who is at the line.")
    until = float(np.ceil(np.maximum(1.0, ratio * scored)))  # NaN stays
    if until > asked.most:
        until = math.inf
    if math.isfinite(until):
        questions = "question" if until == 1.0 else "questions"
        advice += f"; about {_about(until)} such {questions} {_SETTLE}"
    elif math.isinf(ratio):
        advice += "; but leads as they look now would not settle it"
    elif math.isinf(until):
        advice += "; but all that may be asked would not settle it if leads stay as they are"
    return NextQuestions(found, until, f"{advice}.")


def _about(n: float) -> str:
    """Return a number that is a guess: no more than two digits of it."""
    return f"{math.ceil(n) if n < 100.0 else float(f'{n:.2g}'):,.0f}"


def _question(asked: Askable, step: Step, rival: str, noise: float) -> NextQuestion:
    x = step.question
    names = tuple(asked.items[o] for o in asked.about[x].tolist() if o >= 0)
    judge = asked.people[asked.who[x]] if asked.who[x] >= 0 and asked.people else None
    number = None if asked.numbers is None else int(asked.numbers[x])
    words = " against ".join(names) or f"question {(number or 0) + 1}"
    label = words if judge is None else f"{words} by {judge}"
    told = _told(step.away, step.before, step.after, noise)
    return NextQuestion(number, label, names, judge, float(asked.prices[x]), rival, *told)


def _told(away: float, before: float, after: float, noise: float = 1.0) -> list[float]:
    """Return the errors before and after an answer, and the chances of the other side."""
    unknown = math.nan if math.isnan(noise) else 1.0
    errors = [unknown * math.sqrt(max(v, 1e-300)) for v in (before, after)]
    return [*errors, *(float(special.ndtr(-abs(away) / s)) for s in errors)]


def further(said: Conclusion) -> float:
    """Return how many times the scores so far it takes, beside them, if leads stay as they are."""
    tolerance = said.target.tolerance
    lead, low, _ = np.delete(said.leads, said.leader, axis=0).T
    if not len(lead) or not np.isfinite(low).all():
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(lead > low, ((lead - low) / np.maximum(lead + tolerance, 0.0)) ** 2, 0.0)
    return max(float(needed.max()) - 1.0, 0.0)


def next_items(
    fit: Fit, said: Conclusion, labels: Sequence[str], items: int, n: int
) -> NextQuestions:
    """Return what to ask next where options were tried on items: the leader and its closest rivals,
    or who is at the line, on new ones.
    """
    k, leader = len(labels), said.leader
    rivals = np.delete(np.arange(k), leader)
    leads = fit.leads(np.full(len(rivals), leader), rivals)
    if fit.basis.parts == 1 and not fit.compared:
        return NextQuestions((), math.nan, _NEUTRAL)
    if fit.freedom < 1 or not np.isfinite(leads.variance).all():
        return NextQuestions((), math.nan, "Try all options on the same items, and on more.")
    if not one_best(said):
        rival = [] if said.target.against is None else [said.target.against]
        names = [labels[x] for x in said.undecided] + rival
        advice = f"Try {listed(names, 4)} on new items." if said.undecided else ""
        return NextQuestions((), math.nan, advice)
    order = np.argsort(-expected_losses(leads.estimate, np.sqrt(leads.variance)), kind="stable")
    share, found = items / (items + 1), list[NextQuestion]()
    for j in order[:n].tolist():
        pair = labels[leader], labels[int(rivals[j])]
        label, before = f"{pair[0]} and {pair[1]}, on a new item", float(leads.variance[j])
        told = _told(float(leads.estimate[j]), before, before * share)
        found.append(NextQuestion(None, label, pair, None, 1.0, pair[1], *told))
    advice = f"Try {found[0].options[0]!r} and {found[0].rival!r}, at least, on new items"
    until = float(np.ceil(np.maximum(1.0, items * further(said))))
    if math.isinf(until):
        return NextQuestions(found, until, f"{advice}; but they are too close to settle it.")
    if math.isnan(until):
        return NextQuestions(found, until, f"{advice}.")
    return NextQuestions(found, until, f"{advice}: about {_about(until)} items {_SETTLE}.")
