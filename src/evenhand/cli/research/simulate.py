"""`evenhand simulate`: what do policies lose on a problem whose truth is known?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

import typer

from evenhand.cli.options import AsJson, Report, Runs, Seed, Shown, Workers, names_in, numeric
from evenhand.cli.output import check_files, show
from evenhand.cli.research.workers import POLICIES, worker_pool
from evenhand.errors import InputError
from evenhand.research.comparison import entrants
from evenhand.research.environments import families
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.simulation import simulate as run_simulation
from evenhand.tables.texts import number_in

_REALS = ("kappa", "c", "delta_min", "delta_neq")
_DEFAULT_POLICIES = ("priced-exploration", "fair-phased-elimination", "phased-elimination")


def simulate(
    *,
    family: Annotated[
        str,
        typer.Option(
            metavar="NAME,KEY=X,…",
            help="A problem of a family: worst-case,d=2,kappa=4 (c: the gap is c(κ/T)^(1/3), T the "
            "longest horizon; 1 if not given); gap-dependent,d=4,kappa=2,delta_min=.1,delta_neq=.2 "
            "(least gaps of an option, and of the other group); random,k=50,d=5 (seed: which; that "
            "of --seed if not given). index: which problem of the family, from 1.",
        ),
    ],
    policies: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help=f"The policies to run. There are {POLICIES}. If not given: "
            "priced-exploration, the paper's fair-phased-elimination, and phased-elimination, "
            "which knows of no bias.",
        ),
    ] = None,
    horizon: Annotated[
        list[int], numeric("T", "Evaluations of a run, such as 1e6; may be repeated.", whole=True)
    ] = [100_000],  # noqa: B006  # typer wants a list, and copies it
    replications: Annotated[
        int, numeric("N", "Runs of every policy on every problem.", whole=True)
    ] = 100,
    seed: Seed = 0,
    workers: Workers = None,
    store: Runs = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """What do policies lose on a problem whose truth is known?

    Regret is the value lost by not choosing the best option at every evaluation. All policies see
    the same noise, and the same seed gives the same numbers on any number of processors.

    **Examples**

    `evenhand simulate --family worst-case,d=2,kappa=4,c=3 --horizon 1e6`

    `evenhand simulate --family gap-dependent,d=4,kappa=2,delta_min=.1,delta_neq=.1`

    `evenhand simulate --family random,k=50,d=5 --horizon 1e4 --horizon 1e6 --report r.png`

    **Exit codes**: 0 fine; 2 what was given cannot be used.
    """
    check_files(report)
    truth = _from_family(family, max(horizon), seed)
    players = entrants(names_in(policies) or list(_DEFAULT_POLICIES))
    with worker_pool(workers) as executor:
        results = run_simulation(truth, players, horizon, replications, seed, executor, store=store)
    show(results, Shown(report=report, as_json=as_json))
    if store is not None and not as_json:
        typer.echo(f"The runs are in {store}.")


def _from_family(given: str, horizon: int, seed: int) -> BiasedLinearBandit:
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
            {"k": None, "d": None, "seed": seed, "index": 1},
            lambda k, d, seed: [families.random(k, d, seed)],
        ),
    }
    name, *said = (part.strip() for part in given.split(","))
    if name not in makers:
        raise InputError(f"there is no family {name!r}; there are {', '.join(makers)}.")
    takes, make = makers[name]
    chosen = dict(takes)
    for one in said:
        key, _, value = one.partition("=")
        if key not in takes:
            raise InputError(f"--family {name} has no {key!r}; it takes {', '.join(takes)}.")
        try:
            chosen[key] = number_in(value) if key in _REALS else int(value)
        except ValueError:
            kind = "number" if key in _REALS else "whole number"
            raise InputError(f"--family {name}: {key} must be a {kind}; got {value!r}.") from None
    missing = [key for key, value in chosen.items() if value is None]
    if missing:
        raise InputError(f"--family {name} needs {', '.join(missing)} as well.")
    index = int(chosen.pop("index"))
    problems = make(**chosen)
    if not 1 <= index <= len(problems):
        raise InputError(f"--family {name}: index must be from 1 to {len(problems)}, its problems.")
    return problems[index - 1]
