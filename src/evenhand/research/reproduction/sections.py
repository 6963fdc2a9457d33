"""The reproduction in words: each statement of the paper with what was measured, and figures."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from evenhand.report.model import Assumptions, Note, Part, Picture, Report, Section, Standing
from evenhand.research.reproduction.measurements import Measurements
from evenhand.research.reproduction.statements import Statement

if TYPE_CHECKING:
    from evenhand.research.reproduction.reproduction import Reproduction


def report_of(reproduction: Reproduction) -> Report:
    """Return every statement with what was measured, and on the page the figures."""
    # Drawing is slow to load, and needed for the page only; the list of figures is beside it.
    from evenhand.research.reproduction.figures import FIGURES  # noqa: PLC0415

    found, rows = reproduction.measurements, reproduction.statements
    held = sum(row.holds for row in rows)
    figures = [
        Section(
            f"{number}. {figure.title}",
            [
                Picture(figure.name, partial(figure.draw, found), figure.title, figure.note),
                _statements(figure.caption(rows)),
            ],
        )
        for number, figure in enumerate(FIGURES, 1)
    ]
    return Report(
        "The price of unfairness, reproduced",
        "Every theorem and lemma of S. Gaucher, A. Carpentier and C. Giraud, The price of "
        "unfairness in linear bandits with biased feedback, run with evenhand "
        f"{version('evenhand')}. {'All' if held == len(rows) else f'{held} of'} {len(rows)} "
        "statements hold in what was measured.",
        sections=[
            Section("What the paper claims, and what was measured", [_statements(rows)], "print"),
            *figures,
            Section("How it was run", _how(reproduction)),
        ],
    )


def _statements(rows: tuple[Statement, ...]) -> Assumptions:
    def standing(row: Statement) -> Standing:
        return "held" if row.holds else "contradicted"

    def measured(row: Statement) -> str:
        return f"{row.measured} Erratum: {row.erratum}" if row.erratum else row.measured

    return Assumptions([(f"{r.source}: {r.claim}", standing(r), measured(r)) for r in rows])


def _how(reproduction: Reproduction) -> list[Part]:
    found = reproduction.measurements
    return [
        "Regret is counted with true values; the noise is Gaussian with standard deviation 1, and "
        "δ = 1/T unless said otherwise. F is the event that some estimate of a run is off by the "
        "precision ε_l of its phase or more. Limits are drawn with the constants that their proofs "
        "give. Replication i sees the same noise for all policies; all randomness comes from seed "
        f"{found.seed}, so that the same command measures the same:",
        reproduction.command,
        Note(_size(found)),
    ]


def _size(found: Measurements) -> str:
    """Say how much was run."""
    plan = found.programme
    audited = sum(audit.runs for _, audit in (*found.lemmas, *found.failures))
    return (
        f"{plan.rate_in_horizon.replications:,} runs per problem and horizon in figure 1, "
        f"{plan.rate_in_kappa.replications:,} in 2, {plan.growth.replications:,} in 3, "
        f"{plan.transition.replications:,} in 4, {plan.blindness.replications:,} in 7; "
        f"{audited:,} runs looked into step by step in 5 and 6; {found.geometry.sets:,} sets of "
        "options for the lemmas on designs."
    )
