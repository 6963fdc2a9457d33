"""Questions about options, for policies that choose an option and ask about it.

Before the first choice they ask the cheapest questions that make all options comparable.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Floats
from evenhand.numerics.identifying import identifying
from evenhand.policies._inquiry import Inquiry
from evenhand.questions import Askable, Questions


def inquiry_of(actions: Askable, rows: Floats, targets: Floats, seed: int) -> Inquiry | None:
    """Return what to ask about options, for rows (q, m) of questions and targets (k, w) of options.

    None where every option is its own question.
    """
    if not isinstance(actions, Questions):
        return None
    q, k = len(actions), len(actions.options)
    turn = np.argsort(np.random.default_rng(seed).permutation(q), kind="stable")
    leads = np.zeros((k - 1, rows.shape[1]))
    leads[:, : targets.shape[1]] = targets[1:] - targets[0]
    about = [np.flatnonzero((actions.about == x).any(axis=1)) for x in range(k)]
    about = [some if len(some) else np.arange(q) for some in about]
    starts = np.concatenate([[0], np.cumsum([len(some) for some in about])])
    first = identifying(rows, leads, np.lexsort((turn, actions.prices)))
    return Inquiry(starts, np.concatenate(about), actions.prices, first, turn, rows.shape[1])
