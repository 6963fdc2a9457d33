"""How large the project is, and how much of it an ordinary call walks through.

    python benchmarks/size.py      make size; `.ci/run` prints it

*Was* is commit 99806110, by the same count; *aim* is where it is to come. Lines of Python are with
docstrings, comments and blanks.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import typer

import evenhand as eh
from evenhand.cli import app

Row = tuple[str, int, int | None, int | None]  # name, now, was, aim
ROOT = Path(__file__).parents[1]
SRC = Path(eh.__file__).parent
HEART = "numerics linear inference search findings"
ROOMS = {  # folders and files, how many lines they had, and are to have
    "errors, arrays, files, doors": ("", 1_857, 500),
    "tables, scores, readers": ("tables scores readers", 8_034, 2_900),
    "designs, geometry": ("designs geometry", 3_463, 2_450),
    "questions, inspection": ("questions inspection", 4_577, 2_350),
    "linear, inference, search, findings": (HEART, 13_659, 7_600),
    "policies": ("policies", 4_237, 2_600),
    "auditing, answers, planning": ("auditing answers planning", 17_349, 5_800),
    "judges, report": ("judges report", 3_196, 1_850),
    "campaigns, client": ("campaigns client", 10_508, 3_400),
    "serve, cli": ("serve cli", 6_989, 3_200),
    "research, testing, cases": ("research testing cases", 11_922, 6_100),
}
WIDEST = {"CertainChoice": 45, "Questions": 37, "Answer": 30, "Campaign": 25, "Audit": 24}
PARAMETERS = {"decide": 38, "audit": 29, "choose": 25, "plan": 14, "read_scores": 5}


def lines(place: Path) -> int:
    """Return the lines of Python of a file, or below a folder."""
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return sum(len(file.read_text().splitlines()) for file in files if file.suffix == ".py")


def rooms() -> Iterator[Row]:
    """Yield the lines of every room; what has none counts to the first."""
    found = {one.name.removesuffix(".py"): lines(one) for one in SRC.iterdir()}
    named = {name for folders, *_ in ROOMS.values() for name in folders.split()}
    for room, (folders, was, aim) in ROOMS.items():
        mine = folders.split() or found.keys() - named
        yield room, sum(found.get(name, 0) for name in mine), was, aim
    yield "all of src", lines(SRC), 85_791, 40_000
    yield "all of tests", lines(ROOT / "tests"), 59_220, 32_000
    yield "all of benchmarks", lines(ROOT / "benchmarks"), 8_119, 2_500
    listed = ["git", "ls-files", "README.md", "docs/*.md"]
    pages = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = sum(len((ROOT / page).read_text().split()) for page in pages.split())
    yield "words of docs", words, 55_402, 28_000


def entered(walk: Callable[[], object]) -> int:
    """Return how many modules of ours the second call of a walk enters."""
    walk()
    seen: set[str] = set()

    def look(frame: FrameType, *_: object) -> None:
        if frame.f_code.co_filename.startswith(str(SRC)):
            seen.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return len(seen)


def walks(folder: Path) -> Iterator[Row]:
    """Yield the modules that an audit, a decision, a choice and a ticket walk through."""
    rng, table = np.random.default_rng(1), folder / "t.csv"
    rows = [
        (f"o{o}", f"e{e}", "abc"[o % 3], "abc"[e % 3], round(6 - 0.3 * o + rng.normal(), 2))
        for o, e in np.ndindex(6, 8)
    ]
    columns = ["option", "evaluator", "option_group", "evaluator_group", "score"]
    pd.DataFrame(rows, columns=columns).to_csv(table, index=False)
    panel = eh.Questions.panel([f"o{o}" for o in range(5)], [f"e{e}" for e in range(4)])

    def score(question: eh.Question) -> float:
        return float(np.random.default_rng(question.index).normal() - question.option)

    campaign = eh.Campaign.create(folder / "it.db", "it", panel)
    yield "modules entered: audit", entered(lambda: str(eh.audit(table))), 43, 30
    yield "modules entered: decide", entered(lambda: str(eh.decide(table))), 76, 35
    choice = entered(lambda: str(eh.choose(panel, score, progress=False)))
    yield "modules entered: choose", choice, 52, 35
    ticket = entered(lambda: campaign.tell(campaign.ask("e0"), 1.0))
    yield "modules entered: ask + tell", ticket, 38, 15
    campaign.close()


def surface() -> Iterator[Row]:
    """Yield public names, the widest classes, parameters, commands and their options."""
    yield "public names of eh", len(eh.__all__), 45, None
    classes = {one for name in eh.__all__ if inspect.isclass(one := getattr(eh, name))}
    sizes = {one.__name__: sum(m[0] != "_" for m in dir(one)) for one in classes}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name))[:5]:
        yield f"public members of {name}", sizes[name], WIDEST.get(name), 25
    for name, was in PARAMETERS.items():
        n = len(inspect.signature(getattr(eh, name)).parameters)
        yield f"parameters of {name}", n, was, 14 if name == "decide" else None
    made = len(inspect.signature(eh.Campaign.create).parameters)
    yield "parameters of Campaign.create", made, 23, None
    commands = list(commands_of(typer.main.get_command(app)))
    options = [p for one in commands for p in one.params if p.param_type_name == "option"]
    yield "commands", len(commands), 29, 20
    yield "options of commands", len(options), 238, 110


def commands_of(command: Any) -> Iterator[Any]:
    """Yield a command, or those of a group; some are loaded when they run."""
    if (inner := getattr(command, "commands", None)) is None:
        yield command.loaded() if hasattr(command, "loaded") else command
    for one in (inner or {}).values():
        yield from commands_of(one)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [*rooms(), *walks(Path(folder)), *surface()]
    print(f"{'':38} {'now':>8} {'was':>8} {'aim':>8}")
    for name, *numbers in rows:
        print(f"{name:38}", *(f"{'' if n is None else f'{n:,}':>8}" for n in numbers))


if __name__ == "__main__":
    main()
