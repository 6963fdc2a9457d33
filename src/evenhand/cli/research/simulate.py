"""`evenhand simulate`: what do policies lose on a problem whose truth is known?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.actions import ActionSet
from evenhand.cli.columns import FEATURES, OPTION, OPTION_GROUP
from evenhand.cli.options import AsJson, Cluster, Seed, Workers
from evenhand.cli.research.workers import POLICIES, worker_pool
from evenhand.cli.terminal import console, print_json, whole_number
from evenhand.errors import InputError
from evenhand.report.result import print_result
from evenhand.report.words import number
from evenhand.research.comparison import entrants
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.environments.problem_files import (
    load_parameters,
    load_problem,
    problem_with_parameters,
    save_problem,
)
from evenhand.research.simulation import Results
from evenhand.research.simulation import simulate as run_simulation

_DEFAULT_POLICIES = ("priced-exploration", "fair-phased-elimination", "phased-elimination")


def simulate(
    *,
    family: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Problem from a family: worst-case, gap-dependent or random.",
            rich_help_panel="The problem: a family",
        ),
    ] = None,
    d: Annotated[
        int | None,
        typer.Option("--d", help="Number of features.", rich_help_panel="The problem: a family"),
    ] = None,
    kappa: Annotated[
        float | None,
        typer.Option(help="κ_* of the options.", rich_help_panel="The problem: a family"),
    ] = None,
    c: Annotated[
        float | None,
        typer.Option(
            "--c",
            help="worst-case: the gap is c(κ/T)^(1/3), T the longest horizon; 1 if not given.",
            rich_help_panel="The problem: a family",
        ),
    ] = None,
    delta_min: Annotated[
        float | None,
        typer.Option(
            help="gap-dependent: least gap of an option.", rich_help_panel="The problem: a family"
        ),
    ] = None,
    delta_neq: Annotated[
        float | None,
        typer.Option(
            help="gap-dependent: least gap of the other group.",
            rich_help_panel="The problem: a family",
        ),
    ] = None,
    index: Annotated[
        int | None,
        typer.Option(
            metavar="I",
            help="Which problem of the family, from 1; 1 if not given.",
            rich_help_panel="The problem: a family",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "--k", help="random: number of options.", rich_help_panel="The problem: a family"
        ),
    ] = None,
    problem_seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="random: which problem; the number of --seed if not given.",
            rich_help_panel="The problem: a family",
        ),
    ] = None,
    options: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Options from a table, as for inspect; needs --option-group and --parameters.",
            rich_help_panel="The problem: your own",
        ),
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help='The truth: {"gamma": {"column": number, …}, "omega": number, "noise_scale": '
            'number}. gamma is what a unit of each column is worth ("column=category" for '
            'categories, "(constant)" if you like), or a list over the encoded features.',
            rich_help_panel="The problem: your own",
        ),
    ] = None,
    option: Annotated[str | None, OPTION] = None,
    option_group: Annotated[str | None, OPTION_GROUP] = None,
    features: Annotated[str | None, FEATURES] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Group that a positive omega favours; last by name.",
            rich_help_panel="The problem: your own",
        ),
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="A problem file, as --save-problem writes it.",
            rich_help_panel="The problem: your own",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"A policy to run; may be repeated. There are {POLICIES}. If not given: "
            "priced-exploration, the paper's fair-phased-elimination, and phased-elimination, "
            "which knows of no bias.",
        ),
    ] = None,
    horizon: Annotated[
        list[str],
        typer.Option(metavar="T", help="Evaluations of a run, such as 1e6; may be repeated."),
    ] = ["1e5"],  # noqa: B006  # typer wants a list, and copies it
    replications: Annotated[
        int, typer.Option(metavar="N", help="Runs per policy and horizon.")
    ] = 100,
    seed: Seed = 0,
    value_bound: Annotated[
        float | None,
        typer.Option(
            metavar="B",
            help="What policies are told of the values: no two differ by more than 2B. If not "
            "given: 1, or half of the largest gap where that is more.",
        ),
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.parquet",
            help="Keep the runs here; what it holds already is not run again.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw regret over time to FILE.png, .svg or .pdf."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save-problem", metavar="FILE.json", help="Write the problem to a file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What do policies lose on a problem whose truth is known?

    Regret is the value lost by not choosing the best option at every evaluation. All policies see
    the same noise, and the same seed gives the same numbers on any number of processors.

    **Examples**

    `evenhand simulate --family worst-case --d 2 --kappa 4 --c 3 --horizon 1e6`

    `evenhand simulate --family gap-dependent --d 4 --kappa 2 --delta-min .1 --delta-neq .1`

    `evenhand simulate --family random --k 50 --d 5 --horizon 1e4 --horizon 1e6 --figure r.png`

    `evenhand simulate --options skaters.csv --option-group side --option skater --features
    base_value,ability --parameters truth.json --store runs.parquet`

    **Exit codes**: 0 fine; 2 what was given cannot be used.
    """
    if figure is not None:
        _refuse_other_formats(figure)
    _refuse_missing_folders(figure, save)
    horizons = [whole_number(text, "--horizon") for text in horizon]
    shape = {"d": d, "k": k, "kappa": kappa, "c": c, "delta_min": delta_min}
    shape |= {"delta_neq": delta_neq, "index": index, "problem_seed": problem_seed}
    columns = {
        "option_group": option_group,
        "option": option,
        "features": features,
        "positive": positive,
    }
    sources = {"--family": family, "--options": options, "--problem": problem}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) != 1:
        raise InputError(
            "say which problem to simulate, in one way: --family NAME, --options FILE.csv with "
            f"--parameters FILE.json, or --problem FILE.json; given: {', '.join(named) or 'none'}."
        )
    if family is None:
        _refuse_idle(shape, "--family")
    if options is None:
        _refuse_idle(columns | {"parameters": parameters}, "--options")
    if family is not None:
        truth = _from_family(family, shape, max(horizons), seed)
    elif options is not None:
        truth = _from_table(options, parameters, columns)
    else:
        assert problem is not None
        truth = load_problem(problem)
    bound = _bound(truth, value_bound)
    players = entrants(policy or list(_DEFAULT_POLICIES))
    with worker_pool(workers, cluster) as executor:
        results = run_simulation(
            truth,
            [player.with_options(value_bound=bound) for player in players],
            horizons,
            replications,
            seed,
            executor,
            store=store,
        )
    if save is not None:
        save_problem(truth, save)
    if figure is not None:
        # What Theorems 1 and 2 promise, they promise for B = 1.
        results.plot(figure, limits=bound == 1.0)
    if as_json:
        print_json(results.to_dict() | {"value_bound": bound})
        return
    _print_results(results, bound)
    for what, path in (("picture", figure), ("problem", save), ("store of the runs", store)):
        if path is not None:
            typer.echo(f"The {what} is in {path}.")


def _from_family(name: str, shape: dict[str, Any], horizon: int, seed: int) -> BiasedLinearBandit:
    """Return one problem of a family; what the family has no use for is refused."""
    # Family: what it takes, None where there is no default, and what makes its problems.
    makers: dict[str, tuple[dict[str, Any], Callable[..., Sequence[BiasedLinearBandit]]]] = {
        "worst-case": (
            {"d": None, "kappa": None, "c": 1.0, "index": 1},
            partial(families.worst_case, horizon=horizon),
        ),
        "gap-dependent": (
            {"d": None, "kappa": None, "delta_min": None, "delta_neq": None, "index": 1},
            families.gap_dependent,
        ),
        "random": (
            {"k": None, "d": None, "problem_seed": seed, "index": 1},
            lambda k, d, problem_seed: [families.random(k, d, problem_seed)],
        ),
    }
    if name not in makers:
        raise InputError(f"there is no family {name!r}; there are {', '.join(makers)}.")
    takes, make = makers[name]
    idle = {key: value for key, value in shape.items() if key not in takes}
    _refuse_idle(idle, f"another family than {name}")
    chosen = takes | {key: value for key, value in shape.items() if value is not None}
    missing = [_flag(key) for key, value in chosen.items() if value is None]
    if missing:
        raise InputError(f"--family {name} needs {', '.join(missing)} as well.")
    index = int(chosen.pop("index"))
    problems = make(**chosen)
    if not 1 <= index <= len(problems):
        raise InputError(f"--index must be from 1 to {len(problems)}, the problems of this family.")
    return problems[index - 1]


def _from_table(
    options: Path, parameters: Path | None, columns: dict[str, str | None]
) -> BiasedLinearBandit:
    if parameters is None or columns["option_group"] is None:
        raise InputError("--options needs --option-group COL and --parameters FILE.json beside it.")
    features = columns["features"]
    actions = ActionSet.from_csv(
        options,
        group=columns["option_group"],
        label=columns["option"],
        features=None if features is None else [name.strip() for name in features.split(",")],
        positive=columns["positive"],
    )
    return problem_with_parameters(actions, load_parameters(parameters), str(parameters))


def _refuse_idle(given: Mapping[str, Any], needs: str) -> None:
    """Refuse what was said and would not be listened to."""
    idle = [_flag(key) for key, value in given.items() if value is not None]
    if idle:
        raise InputError(f"{', '.join(idle)} can only be used with {needs}; leave it out.")


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _bound(problem: BiasedLinearBandit, said: float | None) -> float:
    """Return B: the paper's 1 unless values differ by more than 2."""
    return max(1.0, float(problem.gaps.max()) / 2) if said is None else said


def _refuse_other_formats(figure: Path) -> None:
    # Drawing takes longer to import than a small simulation to run.
    from evenhand.report.pictures import checked_format  # noqa: PLC0415

    checked_format(figure)


def _refuse_missing_folders(*paths: Path | None) -> None:
    """Refuse what could not be written once the simulation is done."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r} for {path}; make it.")


def _print_results(results: Results, bound: float) -> None:
    terminal = console()
    print_result(terminal, results)
    terminal.print(
        f"\nPolicies know that the noise has standard deviation "
        f"{number(results.problem.noise_scale)} and that values differ by at most "
        f"{number(2 * bound)}."
    )
    if float(np.abs(results.problem.values).max()) > bound * (1.0 + 1e-9):
        terminal.print(
            f"\nValues lie outside of ±{number(bound)}. Policies that shrink their estimates "
            "towards 0 (oful, ids, thompson-sampling and their kin) expect them inside: count "
            "values from their middle, or give a larger --value-bound.",
            style="dim",
        )
