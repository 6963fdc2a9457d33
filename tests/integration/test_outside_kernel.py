"""Another package compiles a `Stepper` of its own against what evenhand installs.

The files are those that a wheel would hold, laid out by setuptools itself; the compiled modules are
the ones that run here, so that nothing of evenhand is compiled again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand

ROOT = Path(__file__).parents[2]

KERNEL = """
from evenhand.policies._sequential cimport Stepper


cdef class Turns(Stepper):
    cdef Py_ssize_t turn

    def __init__(self, k):
        super().__init__(k)
        self.turn = 0

    cdef int choose(self, long long remaining) except -1:
        self.items[0], self.pulls[0], self.n_items = self.turn, 1, 1
        return 0

    cdef int learn(self, Py_ssize_t x, long long n, double total, double squares) except -1:
        self.turn = (x + 1) % self.k
        return 0

    cdef double expected(self, Py_ssize_t x) except? -1.0:
        return 0.0

    def memory(self):
        return {"turn": self.turn}

    def recall(self, memory):
        self.turn = memory["turn"]
"""

BUILD = """
from Cython.Build import cythonize
from setuptools import Extension, setup

kernel = Extension("turns", ["turns.pyx"], extra_compile_args=["-O0", "-g0"])
setup(name="turns", py_modules=[], ext_modules=cythonize(kernel, language_level=3))
"""

USE = """
import numpy as np
from turns import Turns

import evenhand as eh
from evenhand.policies import SequentialPolicy


class InTurn(SequentialPolicy):
    name = "in-turn"

    def __init__(self, actions, horizon, **settings):
        super().__init__(actions, horizon, **settings)
        self.stepper = Turns(len(actions))

    def recommend(self):
        return eh.Decision.of(self, 0)

    def bias(self):
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)


actions = eh.ActionSet([[1.0, 0.0], [0.0, 1.0], [-0.25, 0.0]], ["a", "b", "b"])
problem = eh.BiasedLinearBandit(actions, gamma=[0.5, 0.25], omega=0.5)
outcomes = eh.simulate(problem, {"in-turn": InTurn}, 30, 2, progress=False).outcomes()
print(eh.__file__)
print(outcomes["regret"].tolist() == [10 * float(problem.gaps.sum())] * 2)
policy = InTurn(actions, 4)
for _ in range(4):
    n = policy.ask().counts
    print(n.tolist())
    policy.tell(eh.Feedback(n, 0.0 * n, 0.0 * n))
print(InTurn(actions, 5).ask(4).counts.tolist())
print(eh.restore(InTurn(actions, 4).state()).ask().counts.tolist())
"""


def run(*command: str, within: Path, path: Path | None = None) -> str:
    """Run Python, with a folder to import from, and return what it printed."""
    # the folder instead of what the tests run on, the environment's packages as they are
    environment = os.environ | {"PYTHONPATH": "" if path is None else str(path)}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=within,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with evenhand as a wheel would install it."""
    site = tmp_path_factory.mktemp("site")
    # without setup.py, whose kernels are compiled already: pyproject.toml names all other files
    lay_out = "import setuptools; setuptools.setup()"
    run("-c", lay_out, "-q", "build_py", "--build-lib", str(site), within=ROOT)
    (package,) = map(Path, evenhand.__path__)
    for compiled in [*package.rglob("*.so"), *package.rglob("*.pyd")]:
        shutil.copy(compiled, site / "evenhand" / compiled.relative_to(package))
    return site


def test_a_wheel_holds_what_kernels_are_compiled_against(installed: Path) -> None:
    source = ROOT / "src"
    needed = [p.relative_to(source) for end in ("pxd", "h") for p in source.rglob(f"*.{end}")]
    assert Path("evenhand/policies/_sequential.pxd") in needed
    assert [path for path in needed if not (installed / path).is_file()] == []


@pytest.mark.nightly
def test_an_outside_kernel_runs_in_a_simulation(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "turns.pyx").write_text(KERNEL)
    (tmp_path / "setup.py").write_text(BUILD)
    run("setup.py", "-q", "build_ext", "--inplace", within=tmp_path, path=installed)
    where, regret, *asked = run("-c", USE, within=tmp_path, path=installed).splitlines()
    assert Path(where).is_relative_to(installed)
    assert regret == "True"
    turns = ["[1, 0, 0]", "[0, 1, 0]", "[0, 0, 1]", "[1, 0, 0]"]
    assert asked == [*turns, "[2, 1, 1]", "[1, 0, 0]"]
