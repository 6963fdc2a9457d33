"""`evenhand demo`: what real judges did, and what can be said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evenhand.cli import demo_judge, demo_panel
from evenhand.cli.options import AsJson, Seed
from evenhand.cli.terminal import console, print_json, whole_number
from evenhand.errors import InputError
from evenhand.research.environments.skating import skate_canada

_HORIZON = "1e6"


def demo(
    *,
    one_judge: Annotated[
        bool,
        typer.Option("--one-judge", help="One judge instead, and features of the couples."),
    ] = False,
    horizon: Annotated[
        str | None,
        typer.Option(metavar="T", help=f"With --one-judge: scores to ask for; {_HORIZON}."),
    ] = None,
    seed: Seed = 0,
    figure: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw pictures into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Real judges and their own nation: who is best, how sure is that, and where nobody can say.

    Nine judges at one event, nine at another that is too close to call, and what a whole season
    says about judges. With --one-judge: a simulated judge of whom the truth is known, who can be
    asked again and again.

    **Examples**

    `evenhand demo`

    `evenhand demo --figure out`

    `evenhand demo --one-judge --seed 3`
    """
    if horizon is not None and not one_judge:
        raise InputError("--horizon goes with --one-judge: real judges scored everybody once.")
    if figure is not None:
        _make(figure)
    terminal = console()
    if one_judge:
        _one_judge(terminal, _HORIZON if horizon is None else horizon, seed, figure, as_json)
        return
    story = demo_panel.story(seed)
    if figure is not None:
        demo_panel.draw(story, figure)
    if as_json:
        print_json(demo_panel.to_dict(story))
        return
    demo_panel.tell(terminal, story)
    _end(terminal, figure, demo_panel.PICTURES)


def _one_judge(
    terminal: Console, horizon: str, seed: int, figure: Path | None, as_json: bool
) -> None:
    event, T = skate_canada(), whole_number(horizon, "--horizon")
    played = demo_judge.play_all(event, T, seed)
    if figure is not None:
        demo_judge.draw(event, played.answer, figure, T, seed)
    if as_json:
        print_json(demo_judge.to_dict(event, played))
        return
    demo_judge.tell(terminal, event, played)
    _end(terminal, figure, demo_judge.PICTURES)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {folder} cannot be made: {error.strerror or error}; choose another."
        ) from None


def _end(terminal: Console, figure: Path | None, names: tuple[str, ...]) -> None:
    terminal.print(
        "\nSkating data: BuzzFeed News (2016–17 season), CC BY 4.0, changed: aggregated, names "
        "replaced by ids, feature columns derived.",
        style="dim",
    )
    if figure is not None:
        typer.echo(f"\nThe pictures: {', '.join(str(figure / name) for name in names)}.")
