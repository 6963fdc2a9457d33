"""A simulation in words: where the trap is, and what every policy lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import NotIdentifiableError
from evenhand.geometry import bias_optimal_design
from evenhand.report.model import (
    Cell,
    Note,
    Picture,
    Report,
    Section,
    Share,
    Table,
    frame_table,
)
from evenhand.report.words import number, short
from evenhand.research.environments.problem import BiasedLinearBandit

if TYPE_CHECKING:
    from evenhand.research.simulation.results import Results


def report_of(results: Results) -> Report:
    """Return what came out of a simulation."""
    note = (
        f"Over {len(results.runs[0]):,} runs each, seed {results.seed}. T: evaluations in a run. "
        "90%: nine runs in ten lose less. Best: runs that recommend the best option at the end. "
        "Bias: runs whose interval for the bias holds it, of those that have one."
    )
    drawn = Picture(
        "regret", results.plot, "Mean regret against evaluations; the ends are in the table."
    )
    return Report(
        "What policies lose",
        problem_in_words(results.problem),
        sections=[
            Section(
                "Regret: the value lost over all evaluations of a run",
                [_table(results), Note(note)],
                "print",
            ),
            Section("All numbers", [frame_table("Regret at the horizon", results.summary())]),
            Section("In a picture", [drawn], "file"),
        ],
    )


def _table(results: Results) -> Table:
    rows: list[list[Cell]] = []
    covered = results.coverage()["coverage"].tolist()
    for row, runs, share in zip(results.summary().itertuples(), results.runs, covered, strict=True):
        error = "" if math.isnan(row.se_regret) else f" ± {number(row.se_regret)}"
        rows.append(
            [
                row.policy,
                row.horizon,
                f"{number(row.mean_regret)}{error}",
                row.q90,
                Share(runs.correct.mean()),
                None if math.isnan(share) else Share(share),
            ]
        )
    return Table("Regret", ["policy", "T", "regret ± s.e.", "90%", "best", "bias"], rows)


def problem_in_words(problem: BiasedLinearBandit) -> str:
    """Say what is simulated and where the trap is."""
    labels, wrong = problem.actions.labels, int(problem.evaluations.argmax())
    said = f"{len(labels)} options, {problem.actions.n_features} features, κ* = "
    said += ", ".join(number(price) for price in prices(problem))
    said += f". The best is {short(labels[problem.best])}; "
    # Equal evaluations differ by rounding in the families of the lower bounds
    lead = float(problem.evaluations[wrong] - problem.evaluations[problem.best])
    if lead <= 1e-12 * float(np.abs(problem.evaluations).max()):
        return f"{said}no other is evaluated higher."
    return (
        f"{said}evaluations put {short(labels[wrong])} first, by {number(lead)}, which is worth "
        f"{number(float(problem.gaps[wrong]))} less."
    )


def prices(problem: BiasedLinearBandit) -> list[float]:
    """Return κ_* of every attribute; infinite where its bias is not identified, which some policies
    allow.
    """
    found = []
    for name in problem.actions.attribute_names:
        try:
            found.append(bias_optimal_design(problem.actions, name).value)
        except NotIdentifiableError:
            found.append(math.inf)
    return found
