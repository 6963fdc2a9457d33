"""A store knows the code that its runs are of: what is changed, what is not, and what it says."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import evenhand as eh
from evenhand.research.simulation import Results, executors, simulate, source_code
from evenhand.research.simulation.experiment import Contender, Experiment, Piece

PROBLEM = eh.families.random(k=6, d=2, seed=4)

MINE = """
import numpy as np
import evenhand as eh

class Stubborn(eh.Policy):
    name = "stubborn"

    def play(self):
        from own.choice import favourite
        counts = np.zeros(len(self.actions), dtype=np.int64)
        counts[favourite(len(self.actions))] = self.remaining
        yield counts

    def recommend(self):
        return eh.Decision.of(self, 0)

    def bias(self):
        return eh.Estimate(0.2, 0.1, 0.3, 0.5)

class Other(Stubborn):
    name = "other"
"""
CHOICE = "from . import numbers_\n\ndef favourite(k):\n    return numbers_.FIRST % k\n"
NUMBERS = "FIRST = 0\n"


class Package:
    """A user's package of three modules, the last of which only the second imports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "own"
        self.folder.mkdir()
        for name, text in (("__init__", ""), ("policies", MINE), ("choice", CHOICE)):
            self.write(name, text)
        self.write("numbers_", NUMBERS)

    def write(self, module: str, text: str) -> None:
        (self.folder / f"{module}.py").write_text(text)

    def loaded(self) -> ModuleType:
        """The package as it stands now, as a new process would see it."""
        for name in [name for name in sys.modules if name.partition(".")[0] == "own"]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return importlib.import_module("own.policies")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within one clock tick
    package = Package(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "own"]:
        del sys.modules[name]


def swept(path: Path, policies: object, n: int = 3, *, rerun: bool = False) -> Results:
    return simulate(PROBLEM, policies, 100, n, store=path, rerun=rerun)  # type: ignore[arg-type]


def regret(results: Results, name: str) -> list[float]:
    (runs,) = [runs for runs in results.runs if runs.policy == name]
    return [float(value) for value in runs.final_regret]


CHANGES: dict[str, tuple[str, str, str, str]] = {
    "its own module": (
        "policies",
        "favourite(len(self.actions))]",
        "1 + favourite(len(self.actions))]",
        r"Changed since: own\.policies\.",
    ),
    "a module that it imports": (
        "choice", "numbers_.FIRST", "1 + numbers_.FIRST", r"Changed since: own\.choice\."
    ),
    "a module that this imports": (
        "numbers_", "FIRST = 0", "FIRST = 1", r"Changed since: own\.numbers_\."
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_runs_of_other_code_are_refused_or_run_again(
    own: Package, tmp_path: Path, what: str
) -> None:
    module, old, new, words = CHANGES[what]
    path = tmp_path / "runs.parquet"
    loaded = own.loaded()
    both = {"mine": loaded.Stubborn, "even": "uniform"}
    first = swept(path, both)
    lost = PROBLEM.gaps * 100
    assert regret(first, "mine") == pytest.approx([lost[0]] * 3)
    stored = path.read_bytes()
    assert regret(swept(path, {"mine": own.loaded().Stubborn}), "mine") == regret(first, "mine")
    assert path.read_bytes() == stored

    text = (own.folder / f"{module}.py").read_text()
    own.write(module, text.replace(old, new))
    both["mine"] = own.loaded().Stubborn
    with pytest.raises(eh.InputError, match=rf"holds runs of policy 'mine' by other.*{words}"):
        swept(path, both)
    assert path.read_bytes() == stored
    assert swept(path, {"even": "uniform"}).runs  # of nobody's code but evenhand's
    beside = swept(path, {"mine, new": both["mine"]})
    assert regret(beside, "mine, new") == pytest.approx([lost[1]] * 3)
    again = swept(path, both, rerun=True)
    assert regret(again, "mine") == pytest.approx([lost[1]] * 3)
    assert regret(again, "even") == regret(first, "even")
    assert regret(swept(path, both), "mine") == regret(again, "mine")
    own.write(module, text)
    with pytest.raises(eh.InputError, match="by other code"):
        swept(path, {"mine": own.loaded().Stubborn})


def test_what_is_not_run_again_is_the_same_to_the_bit(own: Package, tmp_path: Path) -> None:
    """More replications of unchanged code, after a new start: the first ones stay as they were."""
    path = tmp_path / "runs.parquet"
    made = partial(own.loaded().Stubborn, noise_scale=1.0)
    few = swept(path, {"mine": made, "even": "uniform"}, 4)
    made = partial(own.loaded().Stubborn, noise_scale=1.0)
    more = swept(path, {"mine": made, "even": "uniform"}, 9)
    alone = simulate(PROBLEM, {"mine": made, "even": "uniform"}, 100, 9)
    for one, other, whole in zip(few.runs, more.runs, alone.runs, strict=True):
        assert np.array_equal(other.regret, whole.regret)
        assert np.array_equal(one.regret, other.regret[:4])
        assert np.array_equal(other.bias, whole.bias, equal_nan=True)


def test_other_files_of_the_user_do_not_matter(own: Package, tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    swept(path, {"mine": own.loaded().Stubborn})
    own.write("unrelated", "FIRST = 3")
    own.write("__init__", "")
    swept(path, {"mine": own.loaded().Stubborn})
    found = source_code.fingerprints([own.loaded().Other])
    assert set(found) == {"evenhand", "own", "own.policies", "own.choice", "own.numbers_"}


def test_a_module_that_was_edited_but_not_loaded_again_is_refused(
    own: Package, tmp_path: Path
) -> None:
    """What runs is the old code, what stands in the file is the new one."""
    mine = own.loaded().Stubborn
    own.write("policies", MINE.replace("self.remaining", "min(5, self.remaining)"))
    with pytest.raises(eh.InputError, match=r"'own\.policies' was changed after.*Stubborn\.play"):
        swept(tmp_path / "runs.parquet", {"mine": mine})
    own.write("policies", "# a comment\n" + MINE)  # lines move, and nothing else
    swept(tmp_path / "runs.parquet", {"mine": mine})


def test_another_evenhand_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.parquet"
    swept(path, ["uniform"])
    now = source_code.build()
    monkeypatch.setattr(source_code, "build", lambda: "9.9, 0123456789abcdef")
    words = rf"Changed since: evenhand \({now}; now 9\.9, 0123456789abcdef\)"
    with pytest.raises(eh.InputError, match=words):
        swept(path, ["uniform"])


def test_the_build_is_of_code_that_runs_go_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "evenhand"
    for place in ("policies/a.py", "policies/_k.so", "cli/b.py", "report/c.py", "data/d.csv"):
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text("x = 1")
    file = home / "research/simulation/source_code.py"
    file.parent.mkdir(parents=True)
    file.write_text("")
    monkeypatch.setattr(source_code, "__file__", str(file))
    build = source_code.build.__wrapped__
    before, portable = build(), build(kernels=False)
    for place, counts in (("cli/b.py", 0), ("report/c.py", 0), ("data/d.csv", 0)):
        (home / place).write_text("x = 2")
        assert (build() != before) == counts
    (home / "policies/_k.so").write_text("y = 1")
    assert build() != before
    assert build(kernels=False) == portable
    (home / "policies/a.py").write_text("y = 1")
    assert build(kernels=False) != portable


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
import evenhand as eh

SHARE = 1

def favourite(k):
    return SHARE % k

class Mine(eh.Policy):
    name = "mine"

    def play(self):
        counts = np.zeros(len(self.actions), dtype=np.int64)
        counts[favourite(len(counts))] = self.remaining
        yield counts

    def recommend(self):
        return eh.Decision.of(self, 0)

    def bias(self):
        return eh.Estimate(0.2, 0.1, 0.3, 0.5)

if __name__ == "__main__":
    replications = 2
    problem = eh.families.random(k=6, d=2, seed=4)
    runs = eh.simulate(problem, {"mine": Mine}, 100, replications, store=sys.argv[1]).runs
    print(runs[0].final_regret.tolist())
"""


def test_a_script_may_change_around_its_policy(tmp_path: Path) -> None:
    """What stands in `__main__`: a notebook, or a script that is run."""
    script, path = tmp_path / "sweep.py", tmp_path / "runs.parquet"

    def run(text: str) -> subprocess.CompletedProcess[str]:
        script.write_text(text)
        command = [sys.executable, str(script), str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    first = run(SCRIPT)
    assert first.returncode == 0, first.stderr
    longer = run("# a note\n" + SCRIPT.replace("replications = 2", "replications = 3"))
    assert json.loads(longer.stdout) == [json.loads(first.stdout)[0]] * 3
    for old, new in (("return SHARE % k", "return 2 % k"), ("SHARE = 1", "SHARE = 2")):
        changed = run(SCRIPT.replace(old, new))
        assert "by other code. Changed since: __main__.Mine." in changed.stderr


def defined(text: str, **given: object) -> Callable[..., object]:
    """A function as a cell of a notebook would define it, with no file behind it."""
    space: dict[str, object] = {"__name__": "__main__", "np": np, **given}
    exec(compile(text, "<cell>", "exec"), space)
    function = space["make"]
    assert callable(function)
    return function


def test_a_notebooks_function_is_told_by_what_it_does() -> None:
    text = (
        "def inner(x):\n    return x + step\n\ndef make(actions, n=2):\n    return inner(np.abs(n))"
    )
    table = np.arange(4.0)

    def of(text: str, **given: object) -> dict[str, str]:
        return source_code.fingerprints([defined(text, **given)])

    plain = of(text, step=1, table=table)
    assert set(plain) == {"evenhand", "__main__.make"}
    assert of("\n\n# moved\n" + text, step=1, other=3) == plain
    assert of(text, step=2) != plain
    assert of(text.replace("x + step", "x - step"), step=1) != plain
    assert of(text.replace("n=2", "n=3"), step=1) != plain
    assert of(text, step=table) == of(text, step=table.copy())
    assert of(text, step=table) != of(text, step=table[::-1].copy())
    loop = text.replace("inner(np.abs(n))", "make(inner(n))")
    assert of(loop, step=[1, {"a": (2, max)}]) == of(loop, step=[1, {"a": (2, max)}])


def test_a_worker_with_other_modules_is_refused(
    own: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What travels to a cluster says what it stands on; a worker compares it with its own."""
    mine = own.loaded().Stubborn
    experiment = Experiment(PROBLEM, (source_contender(mine),), 0)
    standing = executors._standing(executors._modules(experiment))
    assert {"own.policies", "own.choice", "numpy", "code of evenhand"} <= set(standing)
    shared = executors._Shared(experiment)
    digest, content = shared.packed
    piece = Piece(0, 100, 0, 2)
    for name in ("own.choice", "code of evenhand"):
        with pytest.raises(eh.InputError, match=f"a worker of the cluster has {name} .*Install"):
            executors._run_on_worker(standing | {name: "another"}, digest, content, piece)
    ran = executors._run_on_worker(standing | {"nowhere_to_be_found": "x"}, digest, content, piece)
    assert np.array_equal(ran.regret, experiment.run(piece).regret)


def source_contender(cls: type[eh.Policy]) -> Contender:
    return Contender("mine", cls)
