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

from evenhand.answers import Reply
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
    jury = jury_of(judges)

    @scorer(metrics=[mean(), stderr()], name="judged")  # type: ignore[untyped-decorator, unused-ignore] # optional, and not there to be checked
    def judged(model: list[str]) -> Callable[..., Any]:
        async def score(state: Any, target: Any) -> Any:
            said = await scored(
                list(jury.values()), state.output.completion, state.input_text, scale
            )
            return Score(
                value=sum(reply.score for reply in said) / len(said),
                explanation="\n\n".join(
                    f"{n}: {r.said or r.score}" for n, r in zip(model, said, strict=True)
                ),
                metadata=kept(model, said),
            )

        return score

    return judged(model=list(jury))


async def scored(
    judges: Sequence[Judge], answer: str, item: str, scale: tuple[float, float] | None
) -> list[Reply]:
    """Return what each judge says of an answer to an item."""
    read = partial(read_score, scale=scale)
    return list(await asyncio.gather(*(one.ask_async((answer, item), read) for one in judges)))


def kept(names: Sequence[str], said: Sequence[Reply]) -> dict[str, Any]:
    """Return what a log keeps beside the mean: every judge's score, words and cost, by its name.

    Examples
    --------
    >>> kept(["P", "Q"], [Reply(7.0, 0.5, "Score: 7"), Reply(8.0, 0.25)])["panel"]
    {'votes': [7.0, 8.0], 'costs': [0.5, 0.25]}
    """
    return {
        "panel": {"votes": [one.score for one in said], "costs": [one.cost for one in said]},
        "grading": [
            {"role": "assistant", "model": name, "content": one.said}
            for name, one in zip(names, said, strict=True)
        ],
    }
