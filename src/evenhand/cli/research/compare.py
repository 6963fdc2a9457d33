"""`evenhand compare`: every policy on the same problems; who loses least, and by how much?"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from evenhand.cli.options import (
    AsJson,
    Runs,
    Seed,
    Shown,
    TabledReport,
    Workers,
    names_in,
    numeric,
)
from evenhand.cli.output import check_files, progress, show
from evenhand.cli.research.workers import POLICIES, worker_pool
from evenhand.research.comparison import Comparison, chosen, entrants, measure, steps


def compare(
    *,
    full: Annotated[
        bool,
        typer.Option("--full", help="All problems and horizons: an hour or more; give --store."),
    ] = False,
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help=f"Who takes part; if not given, all that play on: {POLICIES}; and ids with "
            "other widths: ids-log, ids-directed-half, ids-directed-log-half. With --suite certain "
            "those that stop: also lingape-usual and track-and-stop-usual, with a threshold that "
            "is not proved, and priced-sure. With --suite classical also lingame, "
            "rage and top-two, and each with -usual.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="What is played: worst-case, dimension, gaps, random, attributes, skating; all if "
            "not given. Or certain: how many evaluations does it take to be sure? A part of it is "
            "certain-skating, certain-20, certain-50, certain-200, certain-gaps or certain-few. Or "
            "classical, the same on the problems of the literature: classical-soare, "
            "classical-sphere, classical-others, classical-biased.",
        ),
    ] = None,
    horizon: Annotated[
        list[int] | None,
        numeric(
            "T",
            "Evaluations of a run, such as 1e6, in place of each suite's own; may be repeated.",
            whole=True,
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs of every policy on every problem."),
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    store: Runs = None,
    report: TabledReport = None,
    as_json: AsJson = False,
) -> None:
    """Which policy loses least? Every policy on the same problems, with the same noise.

    The problems: the worst case of the theory (c = 1, where not to learn is nearly optimal, and
    c = 3, where learning pays), with 2, 5 and 20 features; families with gaps; random problems
    whose best option is in the disfavoured group; four groups and a continuous attribute; a skating
    event. Takes under two minutes on two processors.

    **Examples**

    `evenhand compare --report compare.png`

    `evenhand compare --policies fair-phased-elimination,uniform --suite gaps --horizon 1e7`

    `evenhand compare --full --store runs --report compare.csv`

    `evenhand compare --suite certain --report certain.png`

    `evenhand compare --suite classical --store runs --report classical.csv`

    **Exit codes**: 0 fine; 2 what was given cannot be used.
    """
    check_files(report, table=True)
    benchmark = chosen(names_in(suite), full=full)
    if horizon:
        benchmark = benchmark.over(horizon)
    if replications is not None:
        benchmark = dataclasses.replace(benchmark, replications=replications)
    players = entrants(names_in(policies), benchmark)
    with (
        worker_pool(workers) as pool,
        progress("comparing", steps(benchmark)) as done,
    ):
        outcomes = measure(benchmark, players, seed, pool, store=store, done=done)
    comparison = Comparison(benchmark, seed, outcomes)
    show(comparison, Shown(report=report, as_json=as_json), comparison.instances)
    if store is not None and not as_json:
        typer.echo(f"The runs are in {store}.")
