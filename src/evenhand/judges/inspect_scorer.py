"""A scorer for Inspect (inspect_ai): judges of evenhand's in an Inspect task.

Each judge is shown the answer, then the sample's input, and scores it. The log keeps every judge's
score apart, so that ``evenhand audit logs/`` and ``evenhand decide logs/`` tell their biases and
leniencies from worth; the sample's score is their mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from evenhand.errors import InputError
from evenhand.judges.judge import Judge
from evenhand.judges.panel import jury_of
from evenhand.judges.replies import read_score


def scorer_of(judges: Sequence[Judge], scale: tuple[float, float] | None = None) -> Any:
    """Return a scorer for an Inspect task; it needs ``evenhand[inspect]``.

    Parameters
    ----------
    judges
        Who scores, as for `judges.panel`: a judge is called with the answer and the sample's input.
        What cannot be read is asked for again; a sample that a judge does not score is an error of
        that sample, which Inspect retries or logs.
    scale
        Lowest and highest score that there is.
    """
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr  # noqa: PLC0415 # optional
    except ImportError as error:
        raise InputError(
            "Inspect is not installed: pip install 'evenhand[inspect]', or inspect_ai itself."
        ) from error
    jury, read = jury_of(judges), partial(read_score, scale=scale)

    @scorer(metrics=[mean(), stderr()], name="judged")  # type: ignore[untyped-decorator, unused-ignore] # optional, and not there to be checked
    def judged(model: list[str]) -> Callable[..., Any]:
        async def score(state: Any, target: Any) -> Any:
            shown = state.output.completion, state.input_text
            said = await asyncio.gather(*(one.ask_async(shown, read) for one in jury.values()))
            both = list(zip(model, said, strict=True))
            return Score(
                value=sum(reply.score for reply in said) / len(said),
                explanation="\n\n".join(f"{name}: {r.said or r.score}" for name, r in both),
                # what a log keeps beside the mean: every judge's score, words and cost, by its name
                metadata={
                    "panel": {"votes": [r.score for r in said], "costs": [r.cost for r in said]},
                    "grading": [
                        {"role": "assistant", "model": name, "content": r.said} for name, r in both
                    ],
                },
            )

        return score

    return judged(model=list(jury))
