"""`evenhand demo`: a skating judge who favours home, from raw scores to a fair choice."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from evenhand.cli.terminal import console, print_json, whole_number
from evenhand.environments import SimulatedEvaluations
from evenhand.environments.skating import SkatingEvent, skate_canada
from evenhand.errors import InputError
from evenhand.policies import FairPhasedElimination
from evenhand.policies.base import Policy
from evenhand.policies.phased_elimination import PhasedElimination
from evenhand.report.inspection import inspect_options
from evenhand.report.story import story_table
from evenhand.simulation import simulate

_DRAWN_RUNS = 10  # per line of the picture of regret


def demo(
    *,
    horizon: Annotated[
        str, typer.Option(metavar="T", help="Scores that may be asked for.")
    ] = "1e6",
    seed: Annotated[int, typer.Option(metavar="N", help="Number all randomness comes from.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw the geometry and the regret into this folder."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """A skating judge who favours home: from raw scores to a fair choice, in seconds.

    The event is real; the judge who scores it again and again is simulated from a model fitted to a
    season of scores. So the truth is known, and every answer can be checked.

    **Examples**

    `evenhand demo`

    `evenhand demo --figure out --seed 3`
    """
    event = skate_canada()
    T = whole_number(horizon, "--horizon")
    told = _told(event) | {"seed": seed}
    fair = FairPhasedElimination(event.problem.actions, T, **told)
    blind = PhasedElimination(event.problem.actions, T, with_attributes=True, **told)
    lost = {policy.name: _play(policy, event, seed) for policy in (fair, blind)}
    if figure is not None:
        _draw(event, figure, T, seed)
    if as_json:
        print_json(_to_dict(event, fair, blind, lost))
        return
    terminal = console()
    _tell_scores(terminal, event)
    _tell_truth(terminal, event)
    _tell_geometry(terminal, event)
    _heading(terminal, "4. Who is really the best? Fair Phased Elimination asks, and tells")
    terminal.print(story_table(fair))
    _tell_outcome(terminal, event, fair, blind, lost)
    if figure is not None:
        typer.echo(f"\nThe pictures are in {figure / 'bias.png'} and {figure / 'regret.png'}.")


def _told(event: SkatingEvent) -> dict[str, Any]:
    return {"noise_scale": event.problem.noise_scale, "value_bound": event.value_bound}


def _play(policy: Policy, event: SkatingEvent, seed: int) -> float:
    """Let a policy ask the judge until the end; return the points that its choices lost."""
    judge, lost = SimulatedEvaluations(event.problem, seed), 0.0
    while not policy.finished:
        allocation = policy.ask()
        lost += float(allocation.counts @ event.problem.gaps)
        policy.tell(judge.evaluate(allocation))
    return lost


def _tell_scores(terminal: Console, event: SkatingEvent) -> None:
    actions = event.problem.actions
    first, second = np.argsort(-event.scores)[:2].tolist()
    other = int(event.references.argmax())
    home = " and ".join(actions.labels[x] for x in np.flatnonzero(actions.groups > 0).tolist())
    _heading(terminal, "1. What the judge said")
    terminal.print(
        f"Skate Canada 2016, free dance: {len(actions)} couples, scored by a judge from the USA. "
        f"{home} are from the USA, too. The judge put {actions.labels[first]} first with "
        f"{event.scores[first]:.1f} points, {event.scores[first] - event.scores[second]:.1f} ahead "
        f"of the next. The other judges put {actions.labels[other]} first, with "
        f"{event.references[other]:.1f} on average against {event.references[first]:.1f}. "
        "Was it the nation?"
    )


def _tell_truth(terminal: Console, event: SkatingEvent) -> None:
    problem, actions = event.problem, event.problem.actions
    wrong = int(problem.evaluations.argmax())
    _heading(terminal, "2. A judge whose bias we know")
    terminal.print(
        "One score of each couple cannot tell. So let a simulated judge score them as often as we "
        "like, by a model fitted to 14,680 scores of that season: value by base value and ability, "
        f"{problem.omega:+.2f} points for home and as many off for away, noise "
        f"of ±{problem.noise_scale:.1f}.\n"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("couple")
    table.add_column("side")
    for header in ("true value", "mean evaluation", "really", "by evaluations"):
        table.add_column(header, justify="right")
    names = actions.group_names or ("", "")
    by_value, by_evaluation = _ranks(problem.values), _ranks(problem.evaluations)
    for x in np.argsort(-problem.values).tolist():
        table.add_row(
            actions.labels[x],
            names[int(actions.groups[x] > 0)],
            f"{problem.values[x]:.2f}",
            f"{problem.evaluations[x]:.2f}",
            f"{by_value[x]}.",
            f"{by_evaluation[x]}.",
            style="bold" if x in (problem.best, wrong) else "",
        )
    terminal.print(table)
    terminal.print(
        f"\nHowever many scores are averaged, they pick {actions.labels[wrong]} and lose "
        f"{problem.gaps[wrong]:.2f} points every time: {actions.labels[problem.best]} is better."
    )


def _tell_geometry(terminal: Console, event: SkatingEvent) -> None:
    _heading(terminal, "3. Can the bias be estimated, before a single score is asked for?")
    found = inspect_options(event.problem.actions, evaluations=1000)
    terminal.print(found.verdict)
    to = ", ".join(f"{one.evaluations:,} of {one.option}" for one in found.design)
    terminal.print(
        f"The best 1,000 scores to ask for are {to}: they tell the bias to "
        f"±{found.precision * event.problem.noise_scale:.2f} points (95%)."
    )


def _tell_outcome(
    terminal: Console,
    event: SkatingEvent,
    fair: FairPhasedElimination,
    blind: PhasedElimination,
    lost: dict[str, float],
) -> None:
    problem, bias = event.problem, fair.bias()
    right = "the best indeed" if fair.recommend().option == problem.best else "not the best"
    estimate = "no estimate yet"
    if not np.isnan(bias.value):
        estimate = f"{bias.value:+.2f} ({bias.low:+.2f} to {bias.high:+.2f})"
    terminal.print(
        f"\nIt chooses {fair.recommend().label}: {right}. It finds a bias for home of {estimate} "
        f"points; the truth is {problem.omega:+.4g}. Over {fair.horizon:,} scores its choices lost "
        f"{lost[fair.name]:,.0f} points. A policy that believes the scores ends with "
        f"{blind.recommend().label} and lost {lost[blind.name]:,.0f}.",
        style="bold",
    )
    terminal.print(
        "\nSkating data: BuzzFeed News (2016–17 season), CC BY 4.0, changed: aggregated, names "
        "replaced by ids, feature columns derived.",
        style="dim",
    )


def _heading(terminal: Console, text: str) -> None:
    terminal.print(f"\n{text}\n", style="bold underline")


def _ranks(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return places, the largest number first."""
    ranks = np.empty(len(numbers), dtype=int)
    ranks[np.argsort(-numbers)] = np.arange(1, len(numbers) + 1)
    return [int(rank) for rank in ranks]


def _draw(event: SkatingEvent, folder: Path, horizon: int, seed: int) -> None:
    # Drawing takes longer to import than all the rest takes to run.
    from evenhand.geometry import bias_geometry  # noqa: PLC0415
    from evenhand.report import bias_figure  # noqa: PLC0415

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {folder} cannot be made: {error.strerror or error}; choose another."
        ) from None
    picture = bias_figure.bias_picture(bias_geometry(event.problem.actions))
    bias_figure.save_figure(bias_figure.draw_bias_picture(picture), folder / "bias.png")
    policies = {
        FairPhasedElimination.name: partial(FairPhasedElimination, **_told(event)),
        PhasedElimination.name: partial(PhasedElimination, with_attributes=True, **_told(event)),
    }
    results = simulate(event.problem, policies, horizon, _DRAWN_RUNS, seed, progress=False)
    results.plot(folder / "regret.png", limits=False)


def _to_dict(
    event: SkatingEvent,
    fair: FairPhasedElimination,
    blind: PhasedElimination,
    lost: dict[str, float],
) -> dict[str, Any]:
    problem, labels, bias = event.problem, event.problem.actions.labels, fair.bias()
    return {
        "judge_picked": labels[int(event.scores.argmax())],
        "other_judges_picked": labels[int(event.references.argmax())],
        "best": labels[problem.best],
        "best_by_evaluation": labels[int(problem.evaluations.argmax())],
        "kappa_star": problem.kappa_star,
        "horizon": fair.horizon,
        "recommended": fair.recommend().label,
        "regret": lost[fair.name],
        "bias": {"truth": problem.omega, "value": bias.value, "low": bias.low, "high": bias.high},
        "blind_recommended": blind.recommend().label,
        "blind_regret": lost[blind.name],
    }
