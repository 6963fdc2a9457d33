"""`evenhand compare`: every policy on the same problems; who loses least, and by how much?"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console

from evenhand.cli.options import AsJson, Cluster, Seed, Workers
from evenhand.cli.research.workers import POLICIES, processors, worker_pool
from evenhand.cli.tables import number_table, print_table
from evenhand.cli.terminal import console, print_json, progress, whole_number
from evenhand.errors import InputError
from evenhand.files import write_atomically
from evenhand.research.comparison import Comparison, Suite, chosen, entrants, measure, steps
from evenhand.research.comparison.instances import short_power
from evenhand.research.comparison.measure import FLAGSHIP, ORACLE, SUREST
from evenhand.research.comparison.table import geometric_mean
from evenhand.research.simulation import Parallel

_NOTHING = "–"
_REGRET_WORDS = (
    "Ratios of mean regrets, geometric means over the instances; {runs}. "
    "÷ rival: over the best of the others, so the best is below 1. ÷ bound: over what no "
    "policy can beat. FPE ÷: times less than Fair Phased Elimination. Worst: the largest ÷ "
    "bound or ÷ rival of an instance. Wrong: runs that recommend an option that is not the "
    "best. The oracle knows the bias and is nobody's rival."
)
_CERTAIN_WORDS = (
    "Mean evaluations until the stop, geometric means over the instances; {runs}. ÷ limit: over "
    "T*·kl(δ, 1 − δ), which no policy that is right with probability 95% can be below; ± two "
    "standard errors over the runs of these problems. Worst: the largest of an instance. ÷ rival: "
    "over the best of the others, of those that are sure in half of their runs or more. Sure: runs "
    "that end with a proof. Wrong: runs that recommend an option that is not the best."
)
_CLOCK = "Clock: how long a run takes, if half of all evaluations take longer than 1."


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
            "is not proved, and priced-sure.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="What is played: worst-case, dimension, gaps, random, attributes, skating; all if "
            "not given. Or certain: how many evaluations does it take to be sure? A part of it is "
            "certain-skating, certain-20, certain-50, certain-200, certain-gaps or certain-few.",
        ),
    ] = None,
    horizon: Annotated[
        list[str] | None,
        typer.Option(
            metavar="T",
            help="Evaluations of a run, such as 1e6, in place of each suite's own; may be "
            "repeated.",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs of every policy on every problem."),
    ] = None,
    parallel: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="N evaluators side by side, whose times differ (their logarithm has standard "
            "deviation 1); whoever is free asks at once. Shows how long the runs take. Give "
            "--horizon: evaluations are then simulated one by one.",
        ),
    ] = None,
    rounds: Annotated[
        bool,
        typer.Option(
            "--rounds", help="With --parallel: all wait for the slowest before they ask for more."
        ),
    ] = False,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: Cluster = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the runs in this folder, a file per problem; what it holds already is not "
            "run again.",
        ),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print a table for every instance as well.")
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the picture to FILE.png, .svg or .pdf."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Write a row per instance and policy."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which policy loses least? Every policy on the same problems, with the same noise.

    The problems: the worst case of the theory (c = 1, where not to learn is nearly optimal, and
    c = 3, where learning pays), with 2, 5 and 20 features; families with gaps; random problems
    whose best option is in the disfavoured group; four groups and a continuous attribute; a skating
    event. Takes under two minutes on two processors.

    **Examples**

    `evenhand compare --figure compare.png`

    `evenhand compare --policies fair-phased-elimination,uniform --suite gaps --horizon 1e7`

    `evenhand compare --parallel 16 --horizon 1e4 --replications 20`

    `evenhand compare --full --store runs --csv compare.csv`

    `evenhand compare --suite certain --figure certain.png`

    **Exit codes**: 0 fine; 2 what was given cannot be used.
    """
    for path in (figure, csv):
        if path is not None and not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r} for {path}; make it.")
    if figure is not None:
        # Drawing takes long to import
        from evenhand.report.bias_figure import checked_format  # noqa: PLC0415

        checked_format(figure)
    benchmark = chosen(None if suite is None else _names(suite), full=full)
    if horizon:
        benchmark = benchmark.over([whole_number(text, "--horizon") for text in horizon])
    if rounds and parallel is None:
        raise InputError("--rounds says how evaluators work side by side; give --parallel N too.")
    if parallel is not None:
        benchmark = dataclasses.replace(benchmark, parallel=Parallel(parallel, rounds=rounds))
    if replications is not None:
        benchmark = dataclasses.replace(benchmark, replications=replications)
    players = entrants(None if policies is None else _names(policies), benchmark.counted)
    with (
        worker_pool(workers, cluster, default=processors()) as pool,
        progress("comparing", steps(benchmark)) as done,
    ):
        outcomes = measure(benchmark, players, seed, pool, store=store, done=done)
    comparison = Comparison(benchmark, seed, outcomes)
    if figure is not None:
        from evenhand.research.comparison.figure import save_comparison  # noqa: PLC0415

        save_comparison(comparison, figure)
    if csv is not None:
        with write_atomically(csv, "the table") as draft:
            comparison.instances().to_csv(draft, index=False)
    if as_json:
        print_json(_to_dict(comparison))
        return
    _print(comparison, details)
    for what, path in (("picture is", figure), ("table is", csv), ("runs are", store)):
        if path is not None:
            typer.echo(f"The {what} in {path}.")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _to_dict(comparison: Comparison) -> dict[str, Any]:
    parallel = comparison.benchmark.parallel
    return {
        "seed": comparison.seed,
        "parallel": None if parallel is None else dataclasses.asdict(parallel),
        "replications": comparison.benchmark.replications,
        "policies": list(comparison.names),
        "suites": comparison.suites().to_dict("records"),
        "instances": comparison.instances().to_dict("records"),
    }


def _print(comparison: Comparison, details: bool) -> None:
    terminal = console()
    summary = comparison.suites()
    instances = comparison.instances() if details else None
    reasons: dict[str, int] = {}
    refusals = comparison.refusals()
    for suite in comparison.benchmark.suites:
        own = {name: reason for (where, name), reason in refusals.items() if where == suite.name}
        marks = {name: reasons.setdefault(why, len(reasons) + 1) for name, why in own.items()}
        print_one = _print_suite if comparison.benchmark.counted == "regret" else _print_certain
        print_one(terminal, suite, summary[summary["suite"] == suite.name], marks)
        if instances is not None:
            _print_instances(terminal, instances[instances["suite"] == suite.name])
    for reason, number in reasons.items():
        terminal.print(f"[{number}] does not take part: {reason}")
    words = _REGRET_WORDS if comparison.benchmark.counted == "regret" else _CERTAIN_WORDS
    terminal.print(
        words.format(runs=_runs(comparison))
        + ("" if comparison.benchmark.parallel is None else f" {_CLOCK}"),
        style="dim",
    )


def _runs(comparison: Comparison) -> str:
    benchmark = comparison.benchmark
    runs = f"{benchmark.replications:,} runs per problem, seed {comparison.seed}"
    return runs if benchmark.parallel is None else f"{runs}; {benchmark.parallel.words}"


def _print_suite(
    terminal: Console, suite: Suite, rows: pd.DataFrame, marks: dict[str, int]
) -> None:
    n = len(suite.shapes)
    terminal.print(f"\n{suite.title} ({n} instance{'s' if n > 1 else ''})", style="bold")
    # What people compare with beside each other: the proven bound, or the paper's algorithm
    yard, header, worst = (
        ("over_limit", "÷ bound", "worst_over_limit")
        if suite.bounded
        else ("below_paper", "FPE ÷", "worst_over_rival")
    )
    table = number_table()
    table.add_column("policy", no_wrap=True)
    columns = {header: yard, "÷ rival": "over_rival"}
    columns |= {"clock": "clock"} if "clock" in rows else {}
    columns = {column: key for column, key in columns.items() if rows[key].notna().any()}
    for column in columns:
        for horizon in suite.horizons:
            table.add_column(f"{column}\n{short_power(horizon)}", justify="right", no_wrap=True)
    for column in ("worst", "wrong"):
        table.add_column(column, justify="right", no_wrap=True)
    for name in _ranked(rows):
        own = rows[rows["policy"] == name]
        mark = f" [{marks[name]}]" if name in marks else ""
        table.add_row(
            name + mark,
            *(_ratio(value) for key in columns.values() for value in own[key]),
            _ratio(own[worst].max()),
            _share(own["wrong"].mean()),
            style="bold" if name == FLAGSHIP else "dim" if name == ORACLE else None,
        )
    print_table(terminal, table)


def _print_certain(
    terminal: Console, suite: Suite, rows: pd.DataFrame, marks: dict[str, int]
) -> None:
    n = len(suite.shapes)
    terminal.print(f"\n{suite.title} ({n} instance{'s' if n > 1 else ''})", style="bold")
    for horizon in suite.horizons:
        table = number_table()
        table.add_column("policy", no_wrap=True)
        clock = ["clock"] if "clock" in rows else []
        headers = ("÷ limit", "÷ rival", "worst", "sure", "wrong", *clock)
        for header in headers:
            table.add_column(header, justify="right", no_wrap=True)
        part = rows[rows["horizon"] == horizon]
        for row in part.sort_values("over_limit", kind="stable").to_dict("records"):
            name = row["policy"]
            table.add_row(
                name + (f" [{marks[name]}]" if name in marks else ""),
                _with_interval(row["over_limit"], row["se_over_limit"]),
                _ratio(row["over_rival"]),
                _ratio(row["worst_over_limit"]),
                _share(row["certified"]),
                _share(row["wrong"]),
                *(_number(row[column]) for column in clock),
                style="bold" if name == SUREST else None,
            )
        print_table(terminal, table)


def _ranked(rows: pd.DataFrame) -> list[str]:
    """Return who lost least first; at the end the oracle, and who did not take part."""
    means = {
        str(name): geometric_mean(own["over_best"].dropna())
        for name, own in rows.groupby("policy", sort=False)
    }

    def place(name: str) -> tuple[bool, bool, float]:
        return math.isnan(means[name]), name == ORACLE, means[name]

    return sorted(means, key=place)


def _print_instances(terminal: Console, rows: pd.DataFrame) -> None:
    for _, part in rows.groupby(["horizon", "instance"], sort=False):
        first = part.iloc[0]
        limit = f"{first['limit_name']} {_number(first['limit'])}"
        runs = f"{int(part['n'].max()):,} runs"
        where = f"{first['instance']}, T = {short_power(first['horizon'])}"
        terminal.print(f"\n  {where}; {limit}; {runs}")
        table = number_table()
        table.add_column("  policy", no_wrap=True)
        clock = [column for column in ("clock",) if column in part]
        sure = [column for column in ("certified",) if column in part]
        headers = ("mean ± s.e.", "median", "90%", "max", "wrong", "÷ limit", "÷ rival")
        for header in (*headers, *("sure" for _ in sure), *clock):
            table.add_column(header, justify="right", no_wrap=True)
        for row in part.sort_values("mean", na_position="last", kind="stable").to_dict("records"):
            table.add_row(
                f"  {row['policy']}",
                _with_error(row["mean"], row["se"]),
                *(_number(row[column]) for column in ("median", "q90", "max")),
                _share(row["wrong"]),
                _ratio(row["over_limit"]),
                _ratio(row["over_rival"]),
                *(_share(row[column]) for column in sure),
                *(_number(row[column]) for column in clock),
                style="bold" if row["policy"] in (FLAGSHIP, SUREST) else None,
            )
        print_table(terminal, table)


def _with_interval(ratio: float, error: float) -> str:
    return _ratio(ratio) + ("" if math.isnan(error) else f" ± {2.0 * error:.2f}")


def _with_error(mean: float, error: float) -> str:
    return _number(mean) + ("" if math.isnan(error) else f" ± {_number(error)}")


def _number(value: float) -> str:
    """Return a regret, short enough for a column."""
    if math.isnan(value):
        return _NOTHING
    if value >= 1e6:
        return f"{value / 1e6:,.3g}M" if value < 1e9 else f"{value:.3g}".replace("e+", "e")
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(value: float) -> str:
    if math.isnan(value):
        return _NOTHING
    if value >= 1e6:
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _share(value: float) -> str:
    if math.isnan(value):
        return _NOTHING
    return f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
