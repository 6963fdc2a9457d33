"""A design in words: what it costs, its proof, and the largest shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand.report.model import Bar, Cell, Picture, Report, Section, Share, Table
from evenhand.report.words import counted, number

if TYPE_CHECKING:
    from evenhand.designs.design import Criterion, Design

_CRITERIA: dict[Criterion, str] = {
    "G": "G-optimal",
    "c": "c-optimal",
    "minimax": "minimax",
    "joint": "jointly optimal",
}


def report_of(design: Design) -> Report:
    """Return what a design has to say."""
    name = _CRITERIA[design.criterion]
    picture = Picture("design", design.plot, "Shares of the evaluations; they are in the table.")
    return Report(
        f"{name[0].upper()}{name[1:]} design",
        f"A {name} design of value {number(design.value)}: it evaluates "
        f"{len(design.support):,} of {counted(len(design.weights), 'option')}.",
        [
            ("Mass", f"{number(design.mass)} evaluations for unit variance"),
            ("Proven", proof(design)),
        ],
        [
            Section("Shares of the evaluations", [shares(design)], "print"),
            Section("In a picture", [picture]),
        ],
    )


def proof(design: Design) -> str:
    """Return what the certificate of a design proves."""
    certificate = design.certificate
    return (
        f"no design has less than {number(certificate.bound)}; this one has at most "
        f"{certificate.gap:.1g} more, relatively"
    )


def heaviest(design: Design) -> list[int]:
    """Return which options are evaluated, those with the largest shares first."""
    order = np.argsort(-design.weights[design.support], kind="stable")
    return [int(x) for x in design.support[order]]


def shares(design: Design, labels: Sequence[str] | None = None, what: str = "option") -> Table:
    """Return how the evaluations are divided, the largest shares first."""
    weights, most = design.weights, float(design.weights.max())
    rows: list[list[Cell]] = [
        [option_name(x, labels), Share(weights[x]), Bar(float(weights[x]) / most)]
        for x in heaviest(design)
    ]
    return Table("How the evaluations are divided", [what, "share", ""], rows)


def option_name(x: int, labels: Sequence[str] | None) -> str:
    """Return what an option is called."""
    return f"option {x + 1}" if labels is None else labels[x]
