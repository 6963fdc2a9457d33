"""Two prompts, scored in Inspect by two judges, and which of them is better by the logs.

Needs ``evenhand[inspect]``. The model and the judges are simulated, so that no key is needed; where
it says `yours`, call your own.
"""

from __future__ import annotations

import tempfile

import numpy as np
from inspect_ai import Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

import evenhand as eh
from evenhand.judges import Judge
from evenhand.judges.inspect_scorer import scorer_of

WORTH = {"plain": 5.0, "steps": 6.0}
"""How good answers are by prompt: nobody knows this."""

RNG = np.random.default_rng(0)


@solver
def answered(prompt: str) -> Solver:
    """Answer with a prompt."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        # yours: return await generate(state)
        state.output = ModelOutput.from_content("simulated", f"{prompt}: … to {state.input_text}")
        return state

    return solve


def judge(name: str, lenient: float) -> Judge:
    """Return a judge who gives so much more, or less, than others."""

    async def call(answer: str, question: str) -> str:  # yours: ask a model, return what it says
        score = WORTH[answer.partition(":")[0]] + lenient + 0.5 * RNG.normal()
        return f"The answer to {question!r} is on the point. Score: [[{score:.1f}]]"

    return Judge(call, name=name, price=0.002)


@task
def questions(prompt: str) -> Task:
    """Have questions answered with a prompt, and judged."""
    return Task(
        dataset=[Sample(input=f"question {n}", target="", id=f"q{n}") for n in range(40)],
        solver=answered(prompt),
        scorer=scorer_of([judge("strict", -1.0), judge("kind", 0.5)], scale=(0, 10)),
    )


def decided() -> eh.Answer:
    """Run both prompts, and decide by the logs."""
    with tempfile.TemporaryDirectory() as logs:
        for prompt in WORTH:
            eval(questions(prompt), model="mockllm/model", log_dir=logs, display="none")
        scores = eh.read_scores(logs, columns={"option": "task_args.prompt"})
    return eh.decide(scores, scope="these", scale=(0, 10))


if __name__ == "__main__":
    print(decided())
