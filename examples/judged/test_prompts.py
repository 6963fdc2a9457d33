"""A new prompt may go out if it is not worse than the old one: ``pytest examples/judged``.

The model and the judge are simulated; where it says `yours`, call your own.
"""

from __future__ import annotations

import numpy as np

from evenhand.judges import Judge
from evenhand.judges.pytest_plugin import Judged

TASKS = [f"task {n}" for n in range(60)]
WORTH = {"old": 6.0, "new": 6.4}  # nobody knows this


def answers(prompt: str) -> dict[str, str]:
    """Return what the model writes with a prompt, by task; yours: call the model."""
    return {task: f"{prompt}: …, on {task}" for task in TASKS}


def model(answer: str, task: str) -> str:
    """Return what a judge says of an answer; yours: ask a model."""
    rng = np.random.default_rng(list(answer.encode()))
    return f"Score: {WORTH[answer.partition(':')[0]] + 0.8 * rng.normal():.1f}"


JUDGE = Judge(model, price=0.002, settings={"model": "m-1", "temperature": 0})


def test_the_new_prompt_is_no_step_back(judged: Judged) -> None:
    """It may be worse by a tenth of a point, and not by more."""
    answer = judged.scores({name: answers(name) for name in WORTH}, [JUDGE], scale=(0, 10))
    judged.require(answer, "new", not_worse_than="old", by_more_than=0.1)
