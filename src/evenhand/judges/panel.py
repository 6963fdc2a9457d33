"""From options and judges to what `choose` takes: what can be asked, and a function that asks it.

Notation: y = v_a − v_b + π_j + β_j (f_a − f_b) + noise for 'a against b' by judge j, and
y = v_a + s_j + β_j f_a + noise for a score.

An option is judged over a pool of items, of which every call draws one. A draw is from the whole
pool and independent of all others, so that the mean answer to a question is the mean over the pool:
how items differ is noise.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from evenhand.answers import Answer, Question, Reply, choose
from evenhand.answers.question import compares
from evenhand.best import Best, oriented
from evenhand.campaigns.run import StoreWithTexts, told_in
from evenhand.errors import InputError
from evenhand.judges.judge import Judge
from evenhand.judges.paired import Answered, PairedItems
from evenhand.judges.replies import read_score, read_verdict
from evenhand.judges.texts import Pool, Text, Texts
from evenhand.questions import UNLIMITED, Questions, names_about
from evenhand.scores.scores import Finding
from evenhand.tables import listed
from evenhand.tables.texts import repeated

if TYPE_CHECKING:
    import pandas as pd

Family = Mapping[str, str | None] | Callable[[str], str | None]
Length = Callable[[str], float]
Design = Literal["paired", "search"]


class Verdicts(Protocol):
    """What keeps verdicts by texts, such as a dictionary."""

    def get(self, key: str, /) -> Reply | None:
        """Return the verdict, if it is there."""

    def __setitem__(self, key: str, reply: Reply, /) -> None:
        """Keep a verdict."""


_ALL_ONCE = (
    "Some judges have one answer to each question, and options are one text each: so all judges "
    "were asked once. Try options on several items to learn more."
)


def comparisons(
    options: Mapping[str, Text],
    judges: Sequence[Judge],
    *,
    family: Family | None = None,
    position: bool = True,
    length: Length | None = None,
    bias: Literal["judge", "common"] | None = None,
    items: Sequence[str] | None = None,
    workload: Any = None,
    cache: Verdicts | None = None,
    seed: int = 0,
) -> JudgePanel:
    """Return options, compared in pairs by judges.

    'a against b' and 'b against a' are two questions. Which of them is asked is chosen, as
    everything else is, for what it tells; nothing has to be asked twice to be rid of the position.

    Parameters
    ----------
    options
        By name a text, a mapping from items to texts, or a function that returns the text for an
        item.
    judges
        Who can be asked.
    family
        Families of options by name, or a function of the name, which is also asked about judges
        that have none. None: no judge favours anybody for that.
    position
        Whether judges may favour what is shown first, each by its own amount.
    length
        How long a text is, such as ``len``: `JudgePanel.record` then has the lengths of what was
        shown, for an audit of what they add (``attributes=["length"]``).
    bias
        As for `Questions.comparisons`: every judge a favour for the own family of its own, or one.
    items
        What options were tried on; the keys of their texts if not given.
    workload
        How much judges may be asked in all, by name; see `Questions.comparisons`.
    cache
        A dictionary, or a shelf, that keeps verdicts. The nth time that a judge is shown the same,
        it gives the nth verdict again: so a run that broke off costs nothing when it is repeated,
        and no verdict counts as two.
    seed
        Where the draws of items come from.

    Examples
    --------
    >>> texts = {"curt": "Yes.", "kind": "Yes, gladly!", "long": "Yes, yes, yes, yes, yes."}
    >>> worth = {"Yes.": 0.0, "Yes, gladly!": 1.2, "Yes, yes, yes, yes, yes.": 0.3}
    >>> rng = np.random.default_rng(0)
    >>> def model(first, second):                    # yours: call a model; here it likes the first
    ...     lead = worth[first] - worth[second] + 0.4 + rng.normal()
    ...     return "[[A]]" if lead > 0 else "[[B]]"
    >>> panel = comparisons(texts, [Judge(model, name="model", price=0.002)])
    >>> answer = panel.choose()
    >>> answer.label, answer.sure, [bias.name for bias in answer.biases]
    ('kind', True, ['first'])
    """
    texts, jury = Texts.of(options, items), jury_of(judges)
    of_options, of_judges = _families(texts, jury, family)
    base = Questions.comparisons(
        of_options,
        of_judges,
        position=position,
        bias=bias,
        workload=workload,
        trusted=[name for name, judge in jury.items() if judge.trusted] or None,
    )
    return JudgePanel(base, texts, jury, read_verdict, length, cache, seed)


def panel(
    options: Mapping[str, Text],
    judges: Sequence[Judge],
    *,
    family: Family | None = None,
    scale: tuple[float, float] | None = None,
    leniency: bool = True,
    bias: Literal["common", "evaluator", "group"] = "common",
    items: Sequence[str] | None = None,
    workload: Any = None,
    cache: Verdicts | None = None,
    seed: int = 0,
) -> JudgePanel:
    """Return options, scored one by one by judges.

    Parameters
    ----------
    options, judges, family, items, workload, cache, seed
        As for `comparisons`.
    scale
        Lowest and highest score that there is, (5, 1) where 1 is the best; what lies beyond is not
        a score, and the judge is asked again.
    leniency, bias
        As for `Questions.panel`.

    Examples
    --------
    >>> prompts = {"plain": "Answer.", "steps": "Answer step by step."}
    >>> rng = np.random.default_rng(0)
    >>> def model(text):
    ...     return f"{6.0 + 2.0 * (text == prompts['steps']) + rng.normal():.2f}/10"
    >>> answer = panel(prompts, [Judge(model)], scale=(0, 10)).choose()
    >>> answer.label, answer.sure
    ('steps', True)
    """
    texts, jury = Texts.of(options, items), jury_of(judges)
    ends, best = oriented(scale)
    of_options, of_judges = _families(texts, jury, family)
    grouped = all(any(side.values()) for side in (of_options, of_judges))
    base = Questions.panel(
        of_options if grouped else list(of_options),
        of_judges if grouped else list(of_judges),
        leniency=leniency,
        bias=bias,
        capacity=None,
        workload=workload,
        partial="same group" if grouped else None,
        trusted=[name for name, judge in jury.items() if judge.trusted] or None,
    )
    read = partial(read_score, scale=ends)
    return JudgePanel(base, texts, jury, read, None, cache, seed, ends, best)


class JudgePanel:
    """Options and judges, ready to be asked: made by `panel` and `comparisons`.

    Attributes
    ----------
    questions : Questions
        What can be asked, for `choose`, `plan` and policies.
    evaluate : function
        Asks a judge, and returns a `Reply`: what `choose` takes. Async if a judge is. Any number of
        threads may call it.

    Examples
    --------
    >>> made = comparisons({"a": "x", "b": "y"}, [Judge(lambda *two: "A", name="model")])
    >>> made.questions
    Questions(2 questions about 2 options by 1 evaluator, 1 attribute: first)
    >>> made.evaluate(Question(0, "a against b", 1, "model", (0, 1), ("a", "b")))
    Reply(score=1.0, cost=1.0)
    >>> made.record()[["option", "rival", "evaluator", "score", "reply"]].values.tolist()
    [['a', 'b', 'model', 1.0, 'A']]
    """

    def __init__(
        self,
        base: Questions,
        texts: Texts,
        judges: Mapping[str, Judge],
        read: Callable[[object], float],
        length: Length | None,
        cache: Verdicts | None,
        seed: int,
        scale: tuple[float, float] | None = None,
        best: Best | None = None,
    ) -> None:
        self._texts, self._judges = texts, dict(judges)
        self._usual_best = self._best = best  # the second is of the last choice
        self._read, self._length, self._seed, self._scale = read, length, seed, scale
        if length is not None:
            texts.known("length")
        self._pools = {name: _pool(judge, texts) for name, judge in judges.items()}
        self.questions = _priced(base, texts, self._judges, self._pools)
        self._cache, self._lock = cache, threading.Lock()
        self._shown: Counter[tuple[str, ...]] = Counter()
        # by judge, for what no verdict came of
        self._owed: defaultdict[str, float] = defaultdict(float)
        self._answered: list[Answered] = []
        self._design: PairedItems | None = None  # of the run that goes on
        self._of_store: PairedItems | None = None  # and of what the store has
        self._found: list[Finding] = []
        self._store: Any = None
        several = any(judge.is_async for judge in judges.values())
        self.evaluate: Callable[[Question], Any] = self._ask_async if several else self._ask

    def choose(
        self, confidence: float = 0.95, *, design: Design | None = None, **settings: Any
    ) -> Answer:
        """Ask the judges until it is sure which option is the best; see `evenhand.choose`.

        A judge has its own retries, so that a question is given up when the judge gave up. Other
        settings are those of `evenhand.choose`.

        Parameters
        ----------
        confidence
            Probability with which what the answer says shall hold.
        design
            "paired": every judge scores all options on the same items, as many as ``at_most`` and
            ``budget`` pay for, and they are looked at once: what items have in common cancels out
            (`decide`). "search": what is asked next depends on what came back, and items are drawn
            anew for each question; it stops as soon as it is sure. If not given, paired where
            options are scored on 20 items or more by judges of one kind.
        settings
            As for `evenhand.choose`.
        """
        settings.setdefault("retries", 0)
        if compares(self.questions):
            settings.setdefault("scores", "verdicts")
        best = settings.get("best") or self._usual_best
        self._best = settings["best"] = oriented(settings.get("bounds"), best, "bounds")[1]
        self._store = settings.get("store")
        if self._store is not None:
            settings["store"] = StoreWithTexts(self._store, self._materials())
        began = len(self._answered)
        self._of_store = self._design = made = self._paired(design, settings)
        if made is not None:
            try:
                ran = self._settled(made.run(self.evaluate, confidence, settings))
            finally:
                self._design = None
            return made.answer(ran, self._rows(began), confidence, settings)
        if settings.get("policy") is None:
            self._even_out()
        answer = self._settled(choose(self.questions, self.evaluate, confidence, **settings))
        return replace(answer, warnings=(*answer.warnings, *self._found))

    def record(self) -> pd.DataFrame:
        """Return all verdicts so far, a row each, in the columns of `evenhand.read_scores`.

        With what they cost (``cost``) and what was said (``reply``). After ``choose(store=...)``
        these are all that the store has, also of earlier runs.
        ``evenhand.audit(panel.record(), repeats=True)`` looks for the biases in all of them; what
        is asked twice about the same item is no mistake here.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        questions = self.questions
        family = _by_name(questions.options.labels, questions.options.groups)
        own = _by_name(questions.evaluators, questions.evaluator_groups)
        rows = []
        for one in self._rows():
            who = str(one.question.evaluator)
            row: dict[str, Any] = {"option": one.question.labels[0]}
            if compares(self.questions):
                row["rival"] = one.question.labels[1]
            row |= {"evaluator": who, "item": one.item, "score": one.reply.score}
            sides = zip(("option", "rival"), ("length", "rival_length"), strict=True)
            for (side, size), name in zip(sides, one.question.labels, strict=False):
                row[f"{side}_group"] = family[name]
                if self._length is not None:
                    row[size] = float(self._length(self._texts.text(name, one.item)))
            row["evaluator_group"] = own[who]
            rows.append(row | {"cost": one.reply.cost, "reply": one.reply.said or None})
        found = pd.DataFrame(rows).dropna(axis="columns", how="all")
        found.attrs |= {"signed": True} | ({"best": self._best} if self._best else {})
        return found

    def _rows(self, began: int = 0) -> list[Answered]:
        """Return all verdicts: those in the store, and what was heard here beside them."""
        here = list(self._answered)[began:]
        if self._store is None:
            return here
        told = [
            Answered(
                one.question,
                self._item(one.question, self._of_store),
                Reply(one.score, one.cost, one.said),
            )
            for one in told_in(self._store)
        ]
        kept = {(one.question.index, one.question.turn) for one in told}
        return told + [one for one in here if (one.question.index, one.question.turn) not in kept]

    def _materials(self) -> dict[str, str]:
        """Return what the judges are shown and told, by name, for a store to hash."""
        found = {
            f"the settings of the judge {name!r} ({key})": json.dumps(value, default=repr)
            for name, judge in self._judges.items()
            for key, value in judge.settings.items()
        }
        items = json.dumps([self._seed, *self._texts.items])
        return found | {"the list of items": items} | self._texts.by_name()

    def _paired(self, design: Design | None, settings: dict[str, Any]) -> PairedItems | None:
        """Return the design in which all options have the same items; None for a search."""
        if design not in (None, "paired", "search"):
            raise InputError(f"design must be 'paired', 'search' or None; got {design!r}.")
        if design == "search":
            return None
        made: PairedItems | str
        if compares(self.questions):
            made = "each verdict compares two options on one item already"
        else:
            pools = list(self._pools.values())
            made = PairedItems.of(self.questions, pools, self._seed, self._scale, settings)
        if design == "paired" and isinstance(made, str):
            raise InputError(f"design='paired' cannot be had here: {made}.")
        return made if isinstance(made, PairedItems) else None

    def _even_out(self) -> None:
        """Ask nobody many times about single texts where another has one answer to each."""
        # Whoever is asked a hundred times beside those who are asked once decides by its taste.
        questions = self.questions
        once = questions.capacity == 1
        if self._texts.items or not once.any() or once.all() or questions.trusted is not None:
            return
        self.questions = questions._changed(capacity=np.ones(len(questions), dtype=np.int64))
        self._found.append(Finding("once", _ALL_ONCE, alarm=False))

    def _ask(self, question: Question) -> Reply:
        with self._hearing(question) as one:
            one.reply = one.reply or one.judge.ask(one.shown, self._read, one.bill)
        return one.reply

    async def _ask_async(self, question: Question) -> Reply:
        with self._hearing(question) as one:
            one.reply = one.reply or await one.judge.ask_async(one.shown, self._read, one.bill)
        return one.reply

    @contextmanager
    def _hearing(self, question: Question) -> Iterator[_Hearing]:
        """Give who is asked and what is shown; note the verdict, or what failed ones cost."""
        name, item = str(question.evaluator), self._item(question, self._design)
        one = _Hearing(self._judges[name], self._texts.shown(question.labels, item))
        key, one.reply = self._cached(one.judge, one.shown)
        cached = one.reply is not None
        try:
            yield one
        except Exception:
            with self._lock:
                self._owed[name] += sum(one.bill)
            raise
        with self._lock:
            assert one.reply is not None
            if self._cache is not None and not cached:
                self._cache[key] = one.reply
            cost = (one.reply.cost or 0.0) + self._owed.pop(name, 0.0)
            one.reply = replace(one.reply, cost=cost)
            self._answered.append(Answered(question, item, one.reply))

    def _item(self, question: Question, design: PairedItems | None) -> str | None:
        """Return the item of a question, in a design or in a search."""
        # It is drawn by the question's number, or its turn, and by nothing else: the same run draws
        # the same, in however many threads, and after a restart.
        if design is not None:
            return design.items[question.turn % len(design.items)]
        judge, pool = self._judges[str(question.evaluator)], self._pools[str(question.evaluator)]
        if judge.once:
            order = np.random.default_rng([self._seed, 0, question.index]).permutation(len(pool))
            return pool[int(order[question.turn % len(pool)])]
        draw = np.random.default_rng([self._seed, 1, question.number])
        return pool[draw.integers(len(pool))]

    def _cached(self, judge: Judge, shown: tuple[str, ...]) -> tuple[str, Reply | None]:
        """Return where the cache keeps this verdict, and the verdict if it is there."""
        if self._cache is None:
            return "", None
        with self._lock:
            self._shown[judge.name, *shown] += 1
            asked = [judge.name, *shown, self._shown[judge.name, *shown], dict(judge.settings)]
            key = hashlib.sha256(json.dumps(asked, default=repr).encode()).hexdigest()
            return key, self._cache.get(key)

    def _settled(self, answer: Answer) -> Answer:
        """Return an answer that has paid for what no verdict came of in the end."""
        with self._lock:
            owed = sum(self._owed.values())
            self._owed.clear()
        return replace(answer, paid=answer.paid + owed)


@dataclass
class _Hearing:
    """A question that is put to a judge, and what came of it."""

    judge: Judge
    shown: tuple[str, ...]
    reply: Reply | None = None
    bill: list[float] = field(default_factory=list)  # what each reply cost, read or not


def _by_name(names: Sequence[str], groups: Sequence[str | None] | None) -> dict[str, str | None]:
    return dict.fromkeys(names) if groups is None else dict(zip(names, groups, strict=True))


def _pool(judge: Judge, texts: Texts) -> Pool:
    """Return the items that a judge can be asked about; one of no name if there are none."""
    if judge.items is None:
        return texts.items or (None,)
    strange = [item for item in judge.items if item not in texts.items]
    if strange or not judge.items:
        raise InputError(
            f"{judge.name} has items of its own, but {listed(list(map(str, strange))) or 'none'} "
            "of them is there; options must have a text for each."
        )
    return tuple(judge.items)


def _priced(
    base: Questions, texts: Texts, jury: Mapping[str, Judge], pools: Mapping[str, Pool]
) -> Questions:
    """Return the questions at their prices, the mean over items, and with their capacity."""
    prices, capacity = np.ones(len(base)), np.full(len(base), UNLIMITED)
    for x, who in enumerate(base.evaluator.tolist()):
        judge, pool = jury[base.evaluators[who]], pools[base.evaluators[who]]
        names = names_about(base, x)
        capacity[x] = len(pool) if judge.once else UNLIMITED
        if not callable(judge.price):
            prices[x] = judge.price
            continue
        texts.known("a price by text")
        prices[x] = np.mean([judge.price_of(texts.shown(names, item)) for item in pool])
        if not (np.isfinite(prices[x]) and prices[x] > 0.0):
            raise InputError(
                f"the price of {judge.name} for {names[0]!r} is {prices[x]!r}; it must be > 0."
            )
    return base._changed(prices=prices, capacity=capacity)


def jury_of(judges: Sequence[Judge]) -> dict[str, Judge]:
    """Return judges by name, or what is wrong with them."""
    if isinstance(judges, Judge):
        judges = [judges]
    if strange := [judge for judge in judges if not isinstance(judge, Judge)]:
        raise InputError(f"judges must be made by Judge(call, name=…); got {strange[0]!r}.")
    if not judges:
        raise InputError("judges is empty; give at least one.")
    if twice := repeated([judge.name for judge in judges]):
        raise InputError(f"{listed(twice)} names two judges; give each a name of its own.")
    return {judge.name: judge for judge in judges}


def _families(
    texts: Texts, jury: Mapping[str, Judge], family: Family | None
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Return the family of each option, and of each judge."""
    judges = {name: judge.family for name, judge in jury.items()}
    if callable(family):
        judges |= {name: family(name) for name, own in judges.items() if own is None}
        return {name: family(name) for name in texts.held}, judges
    if strange := [str(name) for name in family or () if name not in texts.held]:
        raise InputError(
            f"family: {listed(strange)} is no option; options are {listed(list(texts.held))}, "
            "and a judge has its family itself, Judge(…, family=…)."
        )
    return {name: (family or {}).get(name) for name in texts.held}, judges
