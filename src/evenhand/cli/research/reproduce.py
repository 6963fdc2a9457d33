"""`evenhand reproduce`: try every numbered statement of the paper, and draw what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import Seed, Workers
from evenhand.cli.output import progress, show
from evenhand.cli.research.workers import worker_pool
from evenhand.files import make_folder
from evenhand.research.reproduction import Reproduction, measure, programme, statements, steps

_DIFFERS = 1


def reproduce(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and shorter runs: one to two minutes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the page and the figures go.")
    ] = Path("out/reproduction"),
    seed: Seed = 0,
    workers: Workers = None,
) -> None:
    """Try every theorem and lemma of the paper, and draw what comes out beside what it claims.

    Writes DIR/index.html, which needs nothing else, the figures as SVG and PNG, and the numbers as
    JSON. Takes up to 20 minutes on two processors, with --quick one to two.

    **Examples**

    `evenhand reproduce --quick`

    `evenhand reproduce --out paper --seed 7`

    **Exit codes**: 0 every statement holds in what was measured; 1 one does not; 2 what was given
    cannot be used.
    """
    make_folder(out)
    plan = programme("quick" if quick else "full")
    with (
        worker_pool(workers) as executor,
        progress("reproducing", steps(plan)) as done,
    ):
        found = measure(plan, seed, executor, done)
    command = f"evenhand reproduce{' --quick' if quick else ''} --seed {seed}"
    reproduction = Reproduction(found, statements(found), command)
    page = reproduction.write(out)
    show(reproduction)
    typer.echo(f"\nThe page is {page}; the figures are beside it.")
    if not reproduction.holds:
        raise typer.Exit(_DIFFERS)
