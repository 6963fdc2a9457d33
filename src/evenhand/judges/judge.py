"""A judge: whom to call, at what price, and how often again when it fails."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

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
        items, the item. It returns a number or a text (`read_score`, `read_verdict`), and may raise
        `AbsentError` to say that this judge is not available.
    name
        What it is called; the name of the function if not given.
    family
        Whose answers it may favour; None: nobody's.
    price
        What an answer costs: a number, or a function of the texts that are shown, such as
        ``lambda *texts: 2e-6 * sum(map(len, texts))``.
    retries
        How often it is asked again if it fails, or says what cannot be read. After that the
        question is given up, and the answer counts it among its failures.
    wait
        Seconds before it is asked again; twice as many each time, at most a minute.
    parse
        Takes what ``call`` returned, and returns the number or the text that is read.
    once
        Whether it has one answer to each question and item, as people and tables of labels have.
        Items are then drawn without repetition, and there are no more answers than items.
    items
        The items that it can be asked about; all if not given.
    reacts_to_length
        Whether it may favour long answers, or short ones.

    Examples
    --------
    >>> from evenhand.judges import Judge, read_verdict
    >>> judge = Judge(lambda first, second: "[[A]]", name="model 1", family="A", price=0.002)
    >>> judge.ask(("short", "longer"), read_verdict)
    1.0
    """

    call: Callable[..., Any] = field(repr=False)
    name: str = ""
    family: str | None = None
    price: Price = 1.0
    retries: int = 3
    wait: float = 1.0
    parse: Callable[[Any], Any] | None = field(default=None, repr=False)
    once: bool = False
    items: Sequence[str] | None = None
    reacts_to_length: bool = True

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise InputError(f"call must be a function of texts; got {self.call!r}.")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.call, "__name__", ""))
        if not isinstance(self.name, str) or self.name in ("", "<lambda>"):
            raise InputError("name must say what the judge is called, since its function does not.")
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise InputError(f"retries must be a whole number ≥ 0; got {self.retries!r}.")
        if not is_number(self.wait) or self.wait < 0.0:
            raise InputError(f"wait must be seconds ≥ 0; got {self.wait!r}.")
        if not callable(self.price) and (not is_number(self.price) or self.price <= 0.0):
            raise InputError(
                f"price must be a number above 0, or a function of texts; got {self.price!r}."
            )
        if isinstance(self.items, str):
            raise InputError(f"items must be several names; got the text {self.items!r}.")

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

    def ask(self, shown: Sequence[str], read: Callable[[Any], float]) -> float:
        """Return the judge's verdict on what is shown, asking again where that may help.

        Raises
        ------
        EvenhandError
            If no attempt gave a verdict; it says what went wrong last.
        """
        attempt = 1
        while True:
            try:
                return read(self._parsed(self.call(*shown)))
            except AbsentError:
                raise
            except Exception as error:
                wait = self._wait_after(attempt, error)
            time.sleep(wait)
            attempt += 1

    async def ask_async(self, shown: Sequence[str], read: Callable[[Any], float]) -> float:
        """Return the same of a judge who is awaited; others work in a thread."""
        attempt = 1
        while True:
            try:
                if self.is_async:
                    return read(self._parsed(await self.call(*shown)))
                return read(self._parsed(await asyncio.to_thread(self.call, *shown)))
            except AbsentError:
                raise
            except Exception as error:
                wait = self._wait_after(attempt, error)
            await asyncio.sleep(wait)
            attempt += 1

    def _parsed(self, reply: Any) -> Any:
        return reply if self.parse is None else self.parse(reply)

    def _wait_after(self, attempt: int, error: Exception) -> float:
        """Return how long to wait before the next attempt; raise if there is none."""
        if attempt > self.retries:
            kind = "" if isinstance(error, EvenhandError) else f"{type(error).__name__}: "
            times = "one attempt" if attempt == 1 else f"{attempt} attempts"
            raise EvenhandError(
                f"{self.name} gave no verdict in {times}, last with: {kind}{error}"
            ) from error
        return float(min(self.wait * 2.0 ** (attempt - 1), _LONGEST_WAIT))
