"""A design in a notebook: what it costs, its proof, and the largest shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.designs.design import Criterion, Design
from evenhand.report.markup import Markup, bar, block, facts, table

_MOST_ROWS = 10  # options in the table; design.support has all
_CRITERIA: dict[Criterion, str] = {
    "G": "G-optimal",
    "c": "c-optimal",
    "minimax": "minimax",
    "joint": "jointly optimal",
}


def page_of(design: Design, labels: Sequence[str], title: str | None = None) -> Markup:
    """Return a design as HTML, with its options by name."""
    weights, proof = design.weights, design.certificate
    order = design.support[np.argsort(-weights[design.support], kind="stable")]
    shown, most = order[:_MOST_ROWS].tolist(), float(weights.max())
    return block(
        f"{_CRITERIA[design.criterion]} design" if title is None else title,
        facts(
            {
                "value": design.value,
                "evaluations for unit variance": design.mass,
                "proven": f"no design has less than {proof.bound:.6g}; this one has at most "
                f"{proof.gap:.1g} more, relatively",
                "options evaluated": f"{len(order):,} of {len(weights):,}",
            }
        ),
        table(
            ["option", "share", ""],
            [[labels[x], weights[x], bar(weights[x] / most)] for x in shown],
            left_out=len(order) - len(shown),
        ),
    )
