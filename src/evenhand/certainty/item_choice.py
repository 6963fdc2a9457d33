"""Item choice: one look at options that were tried on items, such as prompts or tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.certainty.items import ItemsFit
from evenhand.certainty.models import Fit
from evenhand.certainty.planned_choice import PlannedChoice
from evenhand.checks import Finding
from evenhand.errors import InputError
from evenhand.policies.messages import Feedback
from evenhand.questions import Askable, Questions, checked_askable


class ItemChoice(PlannedChoice):
    """Says how sure a choice is by scores on items, which are what is drawn independently.

    It asks nothing: the scores are there, and what was scored was decided without looking at them.
    The winner test takes leads and their errors from items (`items`); with G of them Student's
    distribution has G − 1 degrees of freedom, so scores on few items make nothing certain, however
    many judges gave them.

    Parameters
    ----------
    actions
        The questions, or options that are their own.
    asked, items, scores
        (n,) indices of the questions that were answered, numbers of the items from 0, and scores.
    confidence, tolerance
        As for `PlannedChoice`.

    Attributes
    ----------
    fit
        Least squares with errors by items.

    Examples
    --------
    >>> import evenhand as eh
    >>> panel = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    >>> rng = np.random.default_rng(1)
    >>> items, which = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    >>> scores = 3.0 * rng.normal(size=20)[items] - which + 0.5 * rng.normal(size=40)
    >>> policy = ItemChoice(panel, which.tolist(), items.tolist(), scores.tolist())
    >>> decision = policy.recommend()
    >>> decision.label, decision.loss
    ('Ann', 0.0)
    """

    name = "item-choice"
    _would_help = "more items"

    def __init__(
        self,
        actions: Askable,
        asked: Sequence[int],
        items: Sequence[int],
        scores: Sequence[float],
        *,
        confidence: float = 0.95,
        tolerance: float = 0.0,
    ) -> None:
        which, y = np.asarray(asked, dtype=np.intp), np.asarray(scores, dtype=np.float64)
        if not len(which) == len(items) == len(y) or not len(y):
            raise InputError(
                f"asked, items and scores must have one entry for each score; got {len(which)}, "
                f"{len(items)} and {len(y)}."
            )
        q = len(Questions.of(checked_askable(actions)))
        counts = np.bincount(which, minlength=q)
        super().__init__(actions, planned=counts, confidence=confidence, tolerance=tolerance)
        self.fit = ItemsFit(self.questions, which, items, y)
        self.ask()
        self.tell(
            Feedback(
                counts,
                np.bincount(which, y, minlength=q),
                np.bincount(which, y**2, minlength=q),
            )
        )

    @property
    def _fit(self) -> Fit:
        return self.fit

    @property
    def _whole(self) -> Fit:
        return self.fit

    def _noise_by(self, fit: Fit) -> tuple[float, float]:
        return fit.scatter, fit.freedom

    def findings(self) -> tuple[Finding, ...]:
        """Return nothing: the checks of the model take scores to be independent tries."""
        return ()

    def memory(self) -> dict[str, Any]:
        """Return nothing: the policy is made of all that it knows."""
        return {}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Go back to what `memory` returned: nothing."""
