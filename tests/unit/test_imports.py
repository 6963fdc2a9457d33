"""What is loaded, and when: nothing that the user did not ask for."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

import evenhand
from evenhand.cli import app
from evenhand.cli.commands import LateCommand

HEAVY = ("clarabel", "jinja2", "matplotlib", "narwhals", "pandas", "pyarrow", "rich", "typer")

ARRAYS_TO_POLICY = """
import numpy as np
import evenhand as eh

actions = eh.ActionSet([[1.0], [2.0], [3.0]], [0, 1, 1])
assert eh.bias_geometry(actions).kappa_star >= 1.0
policy = eh.PricedExploration(actions, horizon=100, noise_scale=1.0, value_bound=3.0)
while not policy.finished:
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, sums=1.0 * counts, sums_of_squares=1.0 * counts))
policy.recommend(), policy.bias()
str(eh.choose(actions, lambda question: 1.0, policy=eh.policy("uniform", actions, horizon=9)))
"""


@cache
def loaded_by(program: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded at the end of the program."""
    report = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_the_package_alone_loads_nothing() -> None:
    loaded = loaded_by("import evenhand")
    assert {name for name in loaded if name.startswith("evenhand")} == {"evenhand"}
    assert loaded.isdisjoint({"numpy", "scipy", *HEAVY})


@pytest.mark.parametrize("library", HEAVY)
def test_from_arrays_to_a_decision_nothing_heavy_is_loaded(library: str) -> None:
    assert library not in loaded_by(ARRAYS_TO_POLICY)


@pytest.mark.parametrize(
    "statement",
    [
        "from evenhand import ActionSet, families, limits, simulate",
        "from evenhand import *; ActionSet, families, simulate",
        "import evenhand.research.environments.families as f; f.worst_case",
        "import evenhand.cases.skating; evenhand.cases.skating.scores",
        "import evenhand as eh; eh.policies.OFUL; eh.policy",
    ],
)
def test_names_are_found_in_a_fresh_interpreter(statement: str) -> None:
    assert "evenhand" in loaded_by(statement)


@pytest.mark.parametrize(("modules", "heavy"), [
    ("evenhand.research.comparison, evenhand.research.reproduction, evenhand.cases.panels, "
     "evenhand.research.environments.skating", {"pandas", "rich", "matplotlib"}),
    ("evenhand.cli.inspect, evenhand.cli.plan", {"matplotlib"}),
])  # fmt: skip
def test_who_wants_no_frame_picture_or_bar_does_not_wait_for_them(
    modules: str, heavy: set[str]
) -> None:
    assert loaded_by(f"import {modules}").isdisjoint(heavy)


COMMAND = "from evenhand.cli import app\napp([{!r}], standalone_mode=False)"


def test_commands_are_loaded_when_they_run() -> None:
    of_version, of_help = (loaded_by(COMMAND.format(flag)) for flag in ("--version", "--help"))
    assert of_version.isdisjoint({"numpy", *HEAVY} - {"typer"})
    assert of_help.isdisjoint({"numpy", *HEAVY} - {"typer", "rich"})
    assert "evenhand.cli.audit" not in of_help


def test_each_command_says_in_the_list_what_it_says_of_itself() -> None:
    top = get_command(app)
    every = [*top.commands.values(), *top.commands["campaign"].commands.values()]
    late = [command for command in every if isinstance(command, LateCommand)]
    assert {"audit", "decide", "inspect", "plan", "simulate", "new", "list"} <= {
        c.name for c in late
    }
    for command in late:
        assert command.loaded().help.partition("\n\n")[0] == command.first_line()
        assert command.first_line().endswith((".", "?"))


def test_the_package_is_a_command() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "evenhand", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("evenhand ")


def test_no_module_says_twice_what_a_name_is() -> None:
    """When two files become one, a constant of either may silently take the other's place."""
    root, twice = Path(evenhand.__file__).parent, []
    for path in sorted(root.rglob("*.py")):
        names = Counter(
            target.id
            for statement in ast.parse(path.read_text("utf-8")).body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for given in getattr(statement, "targets", [getattr(statement, "target", None)])
            for target in ast.walk(given)
            if isinstance(target, ast.Name)
        )
        twice += [(path.name, name) for name, times in names.items() if times > 1]
    assert not twice


ROOMS = ["answers", "auditing", "search", "numerics", "planning", "policies", "questions"]
INSIDE = {  # what tests may still know of a room's inside; the list only gets shorter
    "answers.watch": "how long it waits before it shows progress",
    "policies._boundary": "compiled",
    "policies._priced": "compiled",
    "policies._sequential": "compiled; policies written elsewhere cimport it",
    "policies.registry": "new policies register themselves there; tests take its search apart",
    "policies.core": "constants of the proof",
    "policies.confidence": "room for noise in the proof; rows by chunks",
    "search.conclude": "evidence is put together by hand, against the fold",
    "search.evidence": "closed forms of the proof",
    "search.leads": "weights against algebra",
    "search.record": "records that are put together by hand",
    "policies.phase_designs": "widths of fixed designs in closed form",
}


def modules_in(source: str) -> set[str]:
    """Return the modules inside rooms that a program imports, as room.module."""
    root, found = Path(evenhand.__file__).parent, set[str]()
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            exported = getattr(sys.modules.get(node.module), "__all__", ())
            inside = [alias.name for alias in node.names if alias.name not in exported]
            names = [node.module, *(f"{node.module}.{name}" for name in inside)]
        for name in names:
            package, room, module, *_ = [*name.split("."), "", ""]
            if package == "evenhand" and room in ROOMS and any(root.glob(f"{room}/{module}.p*")):
                found.add(f"{room}.{module}")
    return found


def test_rooms_are_tested_through_their_doors() -> None:
    """So that a room can be rebuilt: tests know what it exports, and none of its modules."""
    tests = Path(__file__).parents[1]
    for room in ROOMS:
        import_module(f"evenhand.{room}")
    used = {path: modules_in(path.read_text("utf-8")) for path in tests.rglob("*.py")}
    assert not {str(p.relative_to(tests)): u - {*INSIDE} for p, u in used.items() if u - {*INSIDE}}
    assert {*INSIDE} == set.union(*used.values()), "what no test imports leaves the list"
