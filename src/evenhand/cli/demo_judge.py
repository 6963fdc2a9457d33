"""`evenhand demo --one-judge`: one judge who favours home, from raw scores to a fair choice.

The event is real; the judge who scores it again and again is simulated from a model fitted to a
season of scores. So the truth is known, and every answer can be checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from evenhand.answers import Answer, Question, choose
from evenhand.cli.story import certainty, standings_table
from evenhand.cli.terminal import heading
from evenhand.geometry.sections import verdict
from evenhand.inspection import inspect
from evenhand.policies import Estimate, FairPhasedElimination, PricedExploration
from evenhand.report.text import as_text
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.environments.skating import SkatingEvent
from evenhand.research.rivals.phased_elimination import PhasedElimination
from evenhand.research.simulation import simulate
from evenhand.research.simulation.experiment import Contender, play_out

_DRAWN_RUNS = 10  # per line of the picture of regret
PICTURES = ("bias.png", "answer.png", "regret.png")
_MOST_ASKED = 5_000  # scores, where they are only for finding out


@dataclass(frozen=True, eq=False)
class Played:
    """The policies after the judge answered them, and the points that the choices of each lost.

    The answer is that of `choose`, which asks only until it is sure.
    """

    priced: PricedExploration
    paper: FairPhasedElimination
    blind: PhasedElimination
    answer: Answer
    lost: dict[str, float]


def tell(terminal: Console, event: SkatingEvent, played: Played) -> None:
    """Tell the story, from one judge's scores to what choices lost."""
    _tell_scores(terminal, event)
    _tell_truth(terminal, event)
    _tell_geometry(terminal, event)
    _tell_answer(terminal, event, played.answer)
    _tell_choice(terminal, played)


def _players(event: SkatingEvent) -> list[Contender]:
    """Return who plays; they know noise and range, not the truth."""
    players = [
        Contender(PricedExploration.name, PricedExploration),
        Contender(FairPhasedElimination.name, FairPhasedElimination),
        Contender(PhasedElimination.name, PhasedElimination, (("with_attributes", True),)),
    ]
    return [player.with_options(value_bound=event.value_bound) for player in players]


def play_all(event: SkatingEvent, horizon: int, seed: int) -> Played:
    """Have all policies ask a judge, and `choose`."""
    players, problem = _players(event), event.problem
    policies: list[Any] = [one.policy(problem, horizon, seed) for one in players]
    lost = [
        play_out(policy, SimulatedEvaluations(problem, seed), problem.gaps).lost
        for policy in policies
    ]
    noise = np.random.default_rng(seed)

    def judge(question: Question) -> float:
        return float(noise.normal(problem.evaluations[question.option], problem.noise_scale))

    answer = choose(problem.actions, judge, at_most=min(horizon, _MOST_ASKED), seed=seed)
    names = (player.name for player in players)
    priced, paper, blind = policies
    return Played(priced, paper, blind, answer, dict(zip(names, lost, strict=True)))


def _tell_scores(terminal: Console, event: SkatingEvent) -> None:
    actions = event.problem.actions
    first, second = np.argsort(-event.scores)[:2].tolist()
    other = int(event.references.argmax())
    home = " and ".join(actions.labels[x] for x in np.flatnonzero(actions.groups > 0).tolist())
    heading(terminal, "1. What the judge said")
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
    heading(terminal, "2. A judge whose bias we know")
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
    heading(terminal, "3. Can the bias be estimated, before a single score is asked for?")
    inspected = inspect(event.problem.actions, evaluations=1000)
    found = inspected.bias
    assert found.geometry is not None
    terminal.print(verdict(found.geometry))
    terminal.print(" ".join(inspected.assumptions))
    to = ", ".join(f"{one.evaluations:,} of {one.option}" for one in found.design)
    terminal.print(
        f"The best 1,000 scores to ask for are {to}: they estimate the bias to "
        f"±{found.precision * event.problem.noise_scale:.2f} points (95%)."
    )


def _tell_answer(terminal: Console, event: SkatingEvent, answer: Answer) -> None:
    problem = event.problem
    heading(terminal, "4. Who is really the best? evenhand asks, and says how sure it is")
    terminal.print(f"{as_text(answer._report(), min(terminal.width, 100))}\n", highlight=False)
    terminal.print(
        f"The truth: {problem.actions.labels[problem.best]} is the best, the bias is "
        f"{problem.omega:+.4g}."
    )


def _tell_choice(terminal: Console, played: Played) -> None:
    priced = played.priced
    heading(terminal, "5. And if every score is a choice?")
    terminal.print(
        f"Let each of {priced.horizon:,} scores lose what its couple is behind the best, as where "
        "every evaluation is an ad shown or a patient treated. PricedExploration has others scored "
        "only while what may be learnt is worth the points it costs:\n"
    )
    terminal.print(standings_table(priced))
    terminal.print(f"\n{certainty(priced, 'points')}\n", style="bold")
    terminal.print("What its choices lost, and those of others:\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("policy", no_wrap=True)
    table.add_column("chooses")
    table.add_column("points lost", justify="right")
    table.add_column("")
    for policy, remark in (
        (priced, ""),
        (played.paper, "the paper's, fair as well"),
        (played.blind, "believes the scores"),
    ):
        choice = policy.recommend()
        table.add_row(
            policy.name,
            choice.label,
            f"{played.lost[policy.name]:,.0f}",
            remark,
            style="bold" if policy is priced else "",
        )
    terminal.print(table)


def _ranks(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return places, the largest number first."""
    ranks = np.empty(len(numbers), dtype=int)
    ranks[np.argsort(-numbers)] = np.arange(1, len(numbers) + 1)
    return [int(rank) for rank in ranks]


def draw(event: SkatingEvent, answer: Answer, folder: Path, horizon: int, seed: int) -> None:
    """Draw the geometry, the answer and the regret into a folder."""
    inspect(event.problem.actions).plot(folder / PICTURES[0])
    answer.plot(folder / PICTURES[1])
    results = simulate(event.problem, _players(event), horizon, _DRAWN_RUNS, seed, progress=False)
    results.plot(folder / PICTURES[2], limits=False)


def to_dict(event: SkatingEvent, played: Played) -> dict[str, Any]:
    """Return the story as a plain value."""
    problem, labels = event.problem, event.problem.actions.labels
    return {
        "judge_picked": labels[int(event.scores.argmax())],
        "other_judges_picked": labels[int(event.references.argmax())],
        "best": labels[problem.best],
        "best_by_evaluation": labels[int(problem.evaluations.argmax())],
        "kappa_star": problem.kappa_star,
        "horizon": played.priced.horizon,
        **_decided(event, played.priced),
        "regret": played.lost[played.priced.name],
        "answer": _asked(event, played.answer),
        "paper_recommended": played.paper.recommend().label,
        "paper_regret": played.lost[played.paper.name],
        "blind_recommended": played.blind.recommend().label,
        "blind_regret": played.lost[played.blind.name],
    }


def _decided(event: SkatingEvent, policy: PricedExploration) -> dict[str, Any]:
    decision = policy.recommend()
    return {
        "recommended": decision.label,
        "level": decision.level,
        "loss": decision.loss,
        "withstands": decision.withstands,
        "bias": _against_truth(event, policy.bias()),
    }


def _asked(event: SkatingEvent, answer: Answer) -> dict[str, Any]:
    return {
        "recommended": answer.label,
        "sure": answer.sure,
        "certainty": answer.certainty,
        "loss": answer.loss,
        "spent": answer.spent,
        "stopped_because": answer.stopped_because,
        "bias": _against_truth(event, answer.bias),
    }


def _against_truth(event: SkatingEvent, bias: Estimate) -> dict[str, Any]:
    truth = event.problem.omega
    return {"truth": truth, "value": bias.value, "low": bias.low, "high": bias.high}
