"""A fixture for pytest: a test has judges say whether one option is good enough.

``pytest_plugins = ["evenhand.judges.pytest_plugin"]`` in the topmost conftest.py, or
``from evenhand.judges.pytest_plugin import judged`` in any, and a test may have ``judged``.
Verdicts are kept in pytest's cache: a test that is run again pays only for what changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from evenhand.answers import Answer, Reply
from evenhand.judges.judge import Judge
from evenhand.judges.panel import Verdicts, comparisons, panel
from evenhand.judges.texts import Text
from evenhand.report.words import number

Unsure = Literal["fail", "skip", "pass"]

CANNOT_TELL = "cannot tell"
"""So begins what is said where the scores settle nothing."""


@pytest.fixture
def judged(request: pytest.FixtureRequest) -> Judged:
    """Have judges score options, or compare them, and require something of what they say."""
    cache = getattr(request.config, "cache", None)  # absent with -p no:cacheprovider
    return Judged(None if cache is None else _Kept(cache))


class Judged:
    """Asks judges, and fails a test by what they say."""

    def __init__(self, cache: Verdicts | None = None) -> None:
        self._cache = cache

    def scores(
        self,
        options: Mapping[str, Text],
        judges: Sequence[Judge],
        *,
        scale: tuple[float, float] | None = None,
        **settings: Any,
    ) -> Answer:
        """Return which option is the best by scores (`judges.panel`), as ``choose`` says it."""
        made = panel(options, judges, scale=scale, cache=self._cache)
        return made.choose(progress=False, **settings)

    def verdicts(
        self, options: Mapping[str, Text], judges: Sequence[Judge], **settings: Any
    ) -> Answer:
        """Return which option is the best by comparisons (`judges.comparisons`)."""
        return comparisons(options, judges, cache=self._cache).choose(progress=False, **settings)

    def require(
        self,
        answer: Answer,
        option: str,
        *,
        not_worse_than: str | None = None,
        by_more_than: float = 0.0,
        unsure: Unsure = "fail",
    ) -> None:
        """Fail the test unless an option is surely the best, or surely not (much) worse than one.

        Parameters
        ----------
        answer
            What `scores` or `verdicts` returned.
        option, not_worse_than
            The option, and the one it is held against, named without looking at any score; None:
            it is to be the best of all.
        by_more_than
            By how much it may be worse, in units of the scores.
        unsure
            What becomes of the test where the scores settle nothing either way.
        """
        __tracebackhide__ = True
        if not_worse_than is None:
            good, bad = answer.sure and answer.label == option, answer.sure
            said = str(answer)
        else:
            found = answer.compare(option, not_worse_than)
            good = found.at_least >= -by_more_than
            bad = found.high < -by_more_than
            said = f"{found} At most {number(by_more_than)} was allowed.\n\n{answer}"
        if good:
            return
        if bad:
            pytest.fail(said)
        if unsure == "fail":
            pytest.fail(f"{CANNOT_TELL}: {said}")
        if unsure == "skip":
            pytest.skip(f"{CANNOT_TELL}: {said}")


class _Kept:
    """Verdicts in pytest's cache."""

    def __init__(self, cache: pytest.Cache) -> None:
        self._cache = cache

    def get(self, key: str) -> Reply | None:
        kept = self._cache.get(f"evenhand/{key}", None)
        return None if kept is None else Reply(**kept)

    def __setitem__(self, key: str, reply: Reply) -> None:
        self._cache.set(f"evenhand/{key}", vars(reply))
