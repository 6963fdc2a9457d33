"""A judge: whom to call, at what price, and how often again when it fails."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.answers import Reply
from evenhand.arrays import is_number
from evenhand.errors import AbsentError, EvenhandError, InputError

_LONGEST_WAIT = 60.0  # seconds between two attempts

Price = float | Callable[..., float]


@dataclass(frozen=True)
class Judge:
    """A model, a person, a table of labels: whatever can be called for a verdict.

    Parameters
    ----------
    call
        What is asked, a plain or an async function. For scores it is given the text of an option,
        for comparisons those of two, of which the first is to be shown first; then, if there are
        items, the item. It returns a number or a text (`read_score`, `read_verdict`), or a `Reply`
        with what it really cost, and may raise `AbsentError` to say that this judge is not
        available.
    name
        What it is called; the name of the function if not given.
    family
        Whose answers it may favour; None: nobody's.
    price
        What an answer costs, as far as that is known before: a number, or a function of the texts
        that are shown, such as ``lambda *texts: 2e-6 * sum(map(len, texts))``. Plans go by it.
    cost
        Takes what ``call`` returned, such as a response with its tokens, and returns what it really
        cost; its price if not given. Budgets, records and answers go by it. A reply that cannot be
        read has to be paid, too.
    retries
        How often it is asked again if it fails, or says what cannot be read. After that the
        question is given up, and the answer counts it among its failures.
    wait
        Seconds before it is asked again; twice as many each time, at most a minute.
    parse
        Takes what ``call`` returned, and returns the number or the text that is read.
    once
        Whether it has one answer to each question and item, as people, tables of labels and models
        at temperature 0 have. Items are then drawn without repetition, and there are no more
        answers than items. False if not said, unless ``settings`` have a ``temperature`` of 0.
    items
        The items that it can be asked about; all if not given.
    trusted
        Whether what other judges, such as models, make certain must be confirmed by this one and
        those who are trusted as well, by their own answers alone.
    settings
        By name, what it was made with: the model, its parameters, its instructions. A store keeps a
        hash of each and refuses to go on with others.

    Examples
    --------
    >>> from evenhand.judges import Judge, read_verdict
    >>> judge = Judge(lambda first, second: "[[A]]", name="model 1", family="A", price=0.002)
    >>> judge.ask(("short", "longer"), read_verdict)
    Reply(score=1.0, cost=0.002)
    """

    call: Callable[..., Any] = field(repr=False)
    name: str = ""
    family: str | None = None
    price: Price = 1.0
    retries: int = 3
    wait: float = 1.0
    parse: Callable[[Any], Any] | None = field(default=None, repr=False)
    once: bool | None = None
    items: Sequence[str] | None = None
    cost: Callable[[Any], float] | None = field(default=None, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    trusted: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", getattr(self.call, "__name__", ""))
        whole = isinstance(self.retries, int) and not isinstance(self.retries, bool)
        priced = callable(self.price) or (is_number(self.price) and self.price > 0.0)
        for name, fits, wanted in (
            ("call", callable(self.call), "a function of texts"),
            ("retries", whole and self.retries >= 0, "a whole number ≥ 0"),
            ("wait", is_number(self.wait) and self.wait >= 0.0, "seconds ≥ 0"),
            ("price", priced, "a number above 0, or a function of texts"),
            ("items", not isinstance(self.items, str), "several names"),
            ("once", self.once in (None, True, False), "True, False or None"),
            ("cost", self.cost is None or callable(self.cost), "a function of what call returned"),
            (
                "settings",
                isinstance(self.settings, Mapping),
                "a mapping from names to what was set",
            ),
        ):
            if not fits:
                raise InputError(f"{name} must be {wanted}; got {getattr(self, name)!r}.")
        if not isinstance(self.name, str) or self.name in ("", "<lambda>"):
            raise InputError("name must say what the judge is called, since its function does not.")
        heat = self.settings.get("temperature")
        if self.once is None and is_number(heat) and heat == 0.0:
            object.__setattr__(self, "once", True)

    @property
    def is_async(self) -> bool:
        """Whether ``call`` has to be awaited."""
        return inspect.iscoroutinefunction(self.call) or inspect.iscoroutinefunction(
            getattr(self.call, "__call__", None)  # noqa: B004 # not whether, but what is called
        )

    def price_of(self, texts: Sequence[str]) -> float:
        """Return what an answer costs that has these texts to read.

        Examples
        --------
        >>> Judge(print, name="model", price=lambda *texts: 0.5 * len(texts)).price_of(["a", "b"])
        1.0
        """
        return float(self.price(*texts) if callable(self.price) else self.price)

    def ask(
        self, shown: Sequence[str], read: Callable[[Any], float], bill: list[float] | None = None
    ) -> Reply:
        """Return the judge's verdict on what is shown, asking again where that may help.

        What each reply cost goes on the ``bill``, those that could not be read included; the reply
        that is returned has the sum.

        Raises
        ------
        EvenhandError
            If no attempt gave a verdict; it says what went wrong last.
        """
        attempt, bill = 0, [] if bill is None else bill
        while True:
            attempt += 1
            try:
                return self._taken(self.call(*shown), shown, read, bill)
            except Exception as error:
                time.sleep(self._wait_after(attempt, error))

    async def ask_async(
        self, shown: Sequence[str], read: Callable[[Any], float], bill: list[float] | None = None
    ) -> Reply:
        """Return the same of a judge who is awaited; others work in a thread."""
        attempt, bill = 0, [] if bill is None else bill
        while True:
            attempt += 1
            try:
                if self.is_async:
                    said = await self.call(*shown)
                else:
                    said = await asyncio.to_thread(self.call, *shown)
                return self._taken(said, shown, read, bill)
            except Exception as error:
                await asyncio.sleep(self._wait_after(attempt, error))

    def _taken(
        self, returned: Any, shown: Sequence[str], read: Callable[[Any], float], bill: list[float]
    ) -> Reply:
        """Return the verdict in what ``call`` returned, and put on the bill what it cost."""
        reply = Reply.of(returned)
        cost = reply.cost
        if cost is None:
            cost = self.price_of(shown) if self.cost is None else self.cost(reply.score)
        bill.append(float(Reply(None, cost).cost or 0.0))  # checked as that of a reply is
        parsed = reply.score if self.parse is None else self.parse(reply.score)
        words = next((one for one in (reply.score, parsed) if isinstance(one, str)), "")
        return Reply(read(parsed), sum(bill), reply.said or words)

    def _wait_after(self, attempt: int, error: Exception) -> float:
        """Return how long to wait before the next attempt; raise if there is none."""
        if isinstance(error, AbsentError):
            raise error
        if attempt > self.retries:
            kind = "" if isinstance(error, EvenhandError) else f"{type(error).__name__}: "
            times = "one attempt" if attempt == 1 else f"{attempt} attempts"
            raise EvenhandError(
                f"{self.name} gave no verdict in {times}, last with: {kind}{error}"
            ) from error
        return float(min(self.wait * 2.0 ** (attempt - 1), _LONGEST_WAIT))
