"""What was seen about an assumption, as a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Finding:
    """Something that the evaluations say about the assumptions behind a decision.

    Parameters
    ----------
    assumption
        Which one, in a word: fit, scale, drift, dependence, outliers, repeats, rounding, range,
        intercept, looks, attendance.
    message
        In plain words: what was seen, on which options, and what to do.
    alarm
        Whether the assumption is contradicted, so that nothing certain may rest on it. Else a
        note, which withdraws nothing.
    options
        The options that it was seen on, by their indices (in a panel or in comparisons: the
        questions); empty if on all of them.
    p_value
        How probable as much would be if the assumption held; NaN where that is not the point.

    Examples
    --------
    >>> print(Finding("drift", "Scores rise by 0.2 per 100 evaluations. Ask in another order."))
    Scores rise by 0.2 per 100 evaluations. Ask in another order.
    """

    assumption: str
    message: str
    alarm: bool = True
    options: tuple[int, ...] = ()
    p_value: float = np.nan

    @classmethod
    def note(cls, assumption: str, message: str) -> Finding:
        """Return what the owner of scores should know, and what stops nobody."""
        return cls(assumption, message, alarm=False)

    def __str__(self) -> str:
        return self.message
