"""From options and judges to what `choose` takes: what can be asked, and a function that asks it.

Notation: y = v_a − v_b + π_j + β_j (f_a − f_b) + λ_j (ℓ_a − ℓ_b) + noise for 'a against b' by judge
j, and y = v_a + s_j + β_j f_a + λ_j ℓ_a + noise for a score, where ℓ is the length of what is shown
in powers of two: λ is what twice the length adds.

An option is judged over a pool of items, of which every call draws one. Without lengths a draw is
from the whole pool and independent of all others, so that the mean answer to a question is the
mean over the pool: how items differ is noise. With lengths the items of a question are sorted by
ℓ_a − ℓ_b and cut into halves, each a version of the question with the mean of its own; draws are
from one half. That tells λ from the values, which the same two texts shown
again and again could not, and takes for granted that apart from length an option leads by as much
in each.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.answers import Answer, Question, choose
from evenhand.arrays import Floats
from evenhand.errors import InputError
from evenhand.judges.judge import Judge
from evenhand.judges.replies import read_score, read_verdict
from evenhand.judges.texts import Text, Texts
from evenhand.questions import UNLIMITED, Column, Questions
from evenhand.tables import listed
from evenhand.tables.texts import repeated

if TYPE_CHECKING:
    import pandas as pd

Family = Mapping[str, str | None] | Callable[[str], str | None]
Length = Callable[[str], float]
Pool = tuple[str | None, ...]

_STRATA = 2  # versions of a question that differ in length: more would each have fewer items


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
    cache: MutableMapping[str, float] | None = None,
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
        How long a text is, such as ``len``: judges may then favour long texts, each by its own
        amount. None: they do not.
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
    texts, jury = Texts.of(options, items), _jury(judges)
    of_options, of_judges = _families(texts, jury, family)
    base = Questions.comparisons(
        of_options, of_judges, position=position, bias=bias, workload=workload
    )
    return _built(base, texts, jury, length, read_verdict, cache, seed)


def panel(
    options: Mapping[str, Text],
    judges: Sequence[Judge],
    *,
    family: Family | None = None,
    scale: tuple[float, float] | None = None,
    leniency: bool = True,
    length: Length | None = None,
    bias: Literal["common", "evaluator", "group"] = "common",
    items: Sequence[str] | None = None,
    workload: Any = None,
    cache: MutableMapping[str, float] | None = None,
    seed: int = 0,
) -> JudgePanel:
    """Return options, scored one by one by judges.

    Parameters
    ----------
    options, judges, family, length, items, workload, cache, seed
        As for `comparisons`.
    scale
        Lowest and highest score that there is; what lies beyond is not a score, and the judge is
        asked again.
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
    texts, jury = Texts.of(options, items), _jury(judges)
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
    )

    def read(reply: object) -> float:
        return read_score(reply, scale)

    return _built(base, texts, jury, length, read, cache, seed)


@dataclass(frozen=True)
class _Answered:
    """One verdict, and what it was about."""

    question: Question
    item: str | None
    score: float


class JudgePanel:
    """Options and judges, ready to be asked: made by `panel` and `comparisons`.

    Parameters
    ----------
    questions
        What can be asked.
    texts, judges
        What is shown, and to whom.
    pools
        The items of each question.
    read
        Returns the number in a reply.
    length
        How long a text is; None if nobody asked.
    cache, seed
        As for `comparisons`.

    Attributes
    ----------
    questions : Questions
        What can be asked, for `choose`, `plan` and policies.
    evaluate : function
        Asks a judge: what `choose` takes. Async if a judge is. Any number of threads may call it.

    Examples
    --------
    >>> made = comparisons({"a": "x", "b": "y"}, [Judge(lambda *two: "A", name="model")])
    >>> made.questions
    Questions(2 questions about 2 options by 1 evaluator, 1 attribute: first)
    >>> made.evaluate(Question(0, "a against b", 1, "model", (0, 1), ("a", "b")))
    1.0
    >>> made.record()[["option", "rival", "evaluator", "score"]].values.tolist()
    [['a', 'b', 'model', 1.0]]
    """

    def __init__(
        self,
        questions: Questions,
        texts: Texts,
        judges: Mapping[str, Judge],
        pools: Sequence[Pool],
        read: Callable[[object], float],
        length: Length | None,
        cache: MutableMapping[str, float] | None,
        seed: int,
    ) -> None:
        self.questions, self._texts, self._judges = questions, texts, judges
        self._pools, self._read, self._length, self._seed = pools, read, length, seed
        self._cache, self._lock = cache, threading.Lock()
        self._shown: Counter[tuple[str, ...]] = Counter()
        self._answered: list[_Answered] = []
        several = any(judge.is_async for judge in judges.values())
        self.evaluate: Callable[[Question], Any] = self._ask_async if several else self._ask

    def choose(self, confidence: float = 0.95, **settings: Any) -> Answer:
        """Ask the judges until it is sure which option is the best; see `evenhand.choose`.

        A judge has its own retries, so that a question is given up when the judge gave up. Other
        settings are those of `evenhand.choose`.
        """
        settings.setdefault("retries", 0)
        if self._compares:
            settings.setdefault("scores", "verdicts")
        return choose(self.questions, self.evaluate, confidence, **settings)

    def record(self) -> pd.DataFrame:
        """Return all verdicts so far, a row each, in the columns of `evenhand.read_scores`.

        ``evenhand.audit(panel.record(), repeats=True)`` looks for the biases in all of them; what
        is asked twice about the same item is no mistake here.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load, and not everybody wants a frame

        questions = self.questions
        family = _by_name(questions.items, questions.options.groups)
        own = _by_name(questions.evaluators, questions.evaluator_groups)
        rows = []
        for one in list(self._answered):
            who = str(one.question.evaluator)
            row: dict[str, Any] = {"option": one.question.labels[0]}
            if self._compares:
                row["rival"] = one.question.labels[1]
            row |= {"evaluator": who, "item": one.item, "score": one.score}
            sides = zip(("option", "rival"), ("length", "rival_length"), strict=True)
            for (side, size), name in zip(sides, one.question.labels, strict=False):
                row[f"{side}_group"] = family[name]
                if self._length is not None:
                    row[size] = float(self._length(self._texts.text(name, one.item)))
            row["evaluator_group"] = own[who]
            rows.append(row)
        return pd.DataFrame(rows).dropna(axis="columns", how="all")

    @property
    def _compares(self) -> bool:
        return bool((self.questions.about >= 0).all())

    def _ask(self, question: Question) -> float:
        judge, item, shown = self._handed(question)
        key, known = self._kept(judge, shown)
        score = judge.ask(shown, self._read) if known is None else known
        return self._noted(question, item, score, key)

    async def _ask_async(self, question: Question) -> float:
        judge, item, shown = self._handed(question)
        key, known = self._kept(judge, shown)
        score = await judge.ask_async(shown, self._read) if known is None else known
        return self._noted(question, item, score, key)

    def _handed(self, question: Question) -> tuple[Judge, str | None, tuple[str, ...]]:
        """Return who is asked, on which item, and what is shown."""
        # Items are drawn by the question's number, or its turn, and by nothing else: the same run
        # draws the same, in however many threads.
        judge, pool = self._judges[str(question.evaluator)], self._pools[question.index]
        if judge.once:
            order = np.random.default_rng([self._seed, 0, question.index]).permutation(len(pool))
            item = pool[order[question.turn % len(pool)]]
        else:
            draw = np.random.default_rng([self._seed, 1, question.number])
            item = pool[draw.integers(len(pool))]
        return judge, item, self._texts.shown(question.labels, item)

    def _kept(self, judge: Judge, shown: tuple[str, ...]) -> tuple[str, float | None]:
        """Return where the cache keeps this verdict, and the verdict if it is there."""
        if self._cache is None:
            return "", None
        with self._lock:
            self._shown[judge.name, *shown] += 1
            asked = [judge.name, *shown, self._shown[judge.name, *shown]]
            key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
            return key, self._cache.get(key)

    def _noted(self, question: Question, item: str | None, score: float, key: str) -> float:
        with self._lock:
            self._answered.append(_Answered(question, item, score))
            if self._cache is not None:
                self._cache[key] = score
        return score


def _by_name(names: Sequence[str], groups: Sequence[str | None] | None) -> dict[str, str | None]:
    return dict.fromkeys(names) if groups is None else dict(zip(names, groups, strict=True))


def _jury(judges: Sequence[Judge]) -> dict[str, Judge]:
    if isinstance(judges, Judge):
        judges = [judges]
    strange = [judge for judge in judges if not isinstance(judge, Judge)]
    if strange:
        raise InputError(f"judges must be made by Judge(call, name=…); got {strange[0]!r}.")
    if not judges:
        raise InputError("judges is empty; give at least one.")
    twice = repeated([judge.name for judge in judges])
    if twice:
        raise InputError(f"{listed(twice)} names two judges; give each a name of its own.")
    return {judge.name: judge for judge in judges}


def _families(
    texts: Texts, jury: Mapping[str, Judge], family: Family | None
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Return the family of each option, and of each judge."""
    judges = {name: judge.family for name, judge in jury.items()}
    if family is None:
        return dict.fromkeys(texts.held), judges
    if isinstance(family, Mapping):
        strange = [str(name) for name in family if name not in texts.held]
        if strange:
            raise InputError(
                f"family: {listed(strange)} is no option; options are {listed(list(texts.held))}, "
                "and a judge has its family itself, Judge(…, family=…)."
            )
        return {name: family.get(name) for name in texts.held}, judges
    return (
        {name: family(name) for name in texts.held},
        {name: own if own is not None else family(name) for name, own in judges.items()},
    )


def _built(
    base: Questions,
    texts: Texts,
    jury: Mapping[str, Judge],
    length: Length | None,
    read: Callable[[object], float],
    cache: MutableMapping[str, float] | None,
    seed: int,
) -> JudgePanel:
    """Return the panel on these questions, in as many versions as lengths need."""
    judges = list(jury.values())
    pools = [_pool(judge, texts) for judge in judges]
    reacting = [j for j, judge in enumerate(judges) if judge.reacts_to_length and length]
    n = min((len(pools[j]) for j in reacting), default=1)
    n = min(n, _STRATA)
    if length is not None:
        texts.known("length")
    if any(callable(judge.price) for judge in judges):
        texts.known("a price by text")
    middle = _middle(base, texts, length)
    parts: list[Pool] = []
    sizes: Floats = np.zeros((len(base), n))
    prices, capacity = np.ones((len(base), n)), np.full((len(base), n), float(UNLIMITED))
    for x in range(len(base)):
        judge = judges[base.evaluator[x]]
        pool = pools[base.evaluator[x]]
        names = tuple(base.items[option] for option in base.options_of(x))
        strata: list[Pool] = [pool] + [()] * (n - 1)
        if length is not None and judge.reacts_to_length:
            longer = [_longer(texts, names, item, length, middle) for item in pool]
            cuts = np.array_split(np.argsort(longer, kind="stable"), n)
            strata = [tuple(pool[i] for i in cut.tolist()) for cut in cuts]
            sizes[x] = [np.mean([longer[i] for i in cut.tolist()]) for cut in cuts]
        for version, stratum in enumerate(strata):
            if judge.once or not stratum:
                capacity[x, version] = len(stratum)
            prices[x, version] = _price(judge, texts, names, stratum)
        parts += strata
    attributes: dict[str | Column, Floats] = {
        _column(judges[j], len(reacting)): np.where((base.evaluator == j)[:, None], sizes, 0.0)
        for j in reacting
    }
    questions = base.in_versions(n, attributes=attributes, prices=prices, capacity=capacity)
    return JudgePanel(questions, texts, jury, parts, read, length, cache, seed)


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


def _middle(base: Questions, texts: Texts, length: Length | None) -> float:
    """Return the length at which options are worth what they are worth: the mean of all texts."""
    if length is None or (base.about[:, 1] >= 0).any():
        return 0.0
    pool = texts.items or (None,)
    return float(np.mean([texts.doublings(o, i, length) for o in texts.held for i in pool]))


def _longer(
    texts: Texts, names: tuple[str, ...], item: str | None, length: Length, middle: float
) -> float:
    """Return how many doublings longer the first is than the second, or than the middle."""
    first, *second = (texts.doublings(name, item, length) for name in names)
    return first - (second[0] if second else middle)


def _price(judge: Judge, texts: Texts, names: tuple[str, ...], pool: Pool) -> float:
    """Return what an answer costs on average over a pool."""
    if not callable(judge.price):
        return judge.price
    if not pool:
        return 1.0  # never asked
    price = float(np.mean([judge.price_of(texts.shown(names, item)) for item in pool]))
    if not np.isfinite(price) or price <= 0.0:
        raise InputError(
            f"the price of {judge.name} for {names[0]!r} is {price!r}; it must be > 0."
        )
    return price


def _column(judge: Judge, several: int) -> Column:
    by = "" if several == 1 else f" by {judge.name}"
    return Column(f"length in doublings{by}", "attribute", judge.name)
