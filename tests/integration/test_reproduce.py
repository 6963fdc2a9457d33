"""`evenhand reproduce` on a small programme: its numbers, its verdicts, its page."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import app
from evenhand.policies import Feedback
from evenhand.report import pictures
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.reproduction import (
    Measurements,
    Programme,
    Reproduction,
    measure,
    programme,
    statements,
)
from evenhand.research.reproduction.audit import audit_run
from evenhand.research.reproduction.experiments import CASES
from evenhand.research.reproduction.figures import FIGURES
from evenhand.research.reproduction.measurements import Curve
from evenhand.research.reproduction.tally import LemmaCheck, Tally
from pages import read_document

FEWER: Programme = {
    "in_horizon": {
        "shapes": [(2, 1.0)],
        "horizons": [10**6 * 2**i // 4 for i in range(6)],
        "replications": 3,
    },
    "in_kappa": {
        "scales": [1.0],
        "kappas": [2.0**i for i in range(6)],
        "horizon": 10**9,
        "replications": 3,
    },
    "growth": {"horizons": [10**6, 10**8, 10**10], "replications": 3},
    "transition": {
        "delta_min": 0.005,
        "delta_neqs": [0.005, 0.01, 0.1, 0.2, 0.4],
        "horizon": 10**16,
        "replications": 2,
    },
    "blind": {"k": 12, "d": 2, "seed": 3, "horizons": [10**4, 10**6, 10**8, 10**9]}
    | {"replications": 4},
    "audits": {
        "cases": CASES[1:3],
        "replications": 40,
        "deltas": [0.1, 0.4],
        "frail_replications": 80,
    },
    "sets": {"number": 9, "dimensions": [2, 4], "kappas": [1.0, 4.0]},
}
TINY = {name: plan | FEWER[name] for name, plan in programme("quick").items()}


QUICKLY = ("reproduce", "--quick", "--seed", "1", "--workers", "1", "--out")


class Told(NamedTuple):
    """The command on the small programme: the folder it wrote, what it printed and measured."""

    folder: Path
    result: Result
    given: tuple[Programme, int]
    found: Measurements


@pytest.fixture(scope="module")
def files(request: pytest.FixtureRequest) -> tuple[Any, ...]:
    """The figures that are written beside the page, by day one; all of them are on the page."""
    return FIGURES if request.config.getoption("--nightly") else FIGURES[:1]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, files: tuple[Any, ...]) -> Told:
    target = tmp_path_factory.mktemp("reproduction") / "out"
    command, kept = import_module("evenhand.cli.research.reproduce"), []

    def measured(*given: Any) -> Measurements:
        kept.append((given[:2], measure(*given)))
        return kept[-1][1]

    def saved(figure: Any, path: Path) -> None:
        if path.stem in {one.name for one in files}:
            save(figure, path)

    save = pictures.save_figure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "programme", lambda _: TINY)
        patch.setattr(command, "measure", measured)
        patch.setattr(pictures, "save_figure", saved)
        result = CliRunner().invoke(app, [*QUICKLY, str(target)])
    ((given, found),) = kept
    return Told(target, result, given, found)


@pytest.fixture(scope="module")
def found(told: Told) -> Measurements:
    return told.found


@pytest.fixture(scope="module")
def folder(told: Told) -> Path:
    return told.folder


def holds(found: Measurements) -> dict[str, bool]:
    return {row.source: row.holds for row in statements(found)}


@pytest.mark.parametrize(
    ("place", "c", "regret", "bound"), [(0, 1.0, 31544.0, 4686.0), (1, 3.0, 41544.0, 4346.0)]
)
def test_the_worst_case_pair_at_a_million(
    found: Measurements, place: int, c: float, regret: float, bound: float
) -> None:
    """All runs go the same way for d = 2 and κ = 1, so the regret is one number."""
    curve = found.in_horizon[place]
    at = list(curve["x"]).index(1e6)
    assert curve.plan["c"] == c
    assert curve["mean"][at] == pytest.approx(regret, abs=1.0)
    assert curve["two_point"][at] == pytest.approx(bound, abs=0.5)
    assert curve["lower"][at] == pytest.approx(1e4 / (8 * math.e))
    assert curve["form"][at] == pytest.approx(1e4 * math.log(1e6) ** (1 / 3))
    # Never learning which of the two leads costs Tρ on one problem and nothing on the other.
    assert curve["blind"][at] >= c * 1e4 / 2
    assert curve["blind_worst"][at] >= curve["blind"][at]


def test_the_terms_of_theorem_2_by_linear_programming(found: Measurements) -> None:
    """√κ(Δ) = min Σ √Δ |w| such that Σ w a = e."""
    curve = found.transition
    np.testing.assert_allclose(curve["within"], 4 / 0.005)
    for delta_neq, between in zip(curve["x"], curve["between"], strict=True):
        prices = []
        for problem in eh.families.gap_dependent(4, 2.0, 0.005, delta_neq):
            costs = np.sqrt(np.maximum(problem.gaps, delta_neq))
            A = problem.actions.points
            program = linprog(
                np.r_[costs, costs], A_eq=np.c_[A.T, -A.T], b_eq=np.eye(A.shape[1])[-1]
            )
            prices.append(program.fun**2)
        assert between == pytest.approx(max(prices) / delta_neq**2, rel=1e-6)


def test_failures_agree_with_the_normal_distribution(found: Measurements) -> None:
    """F is rarer than 2δ, the last interval misses no more often than one Gaussian error may.

    The interval of phase l is s√(2 log(l(l+1)/δ)) wide to each side, and these runs end in
    phase 2 or later: P(|N| > √(2 log(6/δ))) is more than any of them misses. Four standard errors.
    """
    for delta, audit in found.failures:
        assert audit["runs"] == audit["estimated"] == 80
        assert audit["failures"] / 80 <= 2 * delta
        exact = math.erfc(math.sqrt(math.log(6 / delta)))
        assert audit["missed"] / 80 <= exact + 4 * math.sqrt(exact / 80)


def test_evaluations_are_off_as_seldom_as_the_normal_distribution_says(found: Measurements) -> None:
    """Lemma 18, by its own union: k Gaussian errors in phase l, each off with probability at most
    P(|N| ≥ √(2 log(kl(l+1)/δ))). Four standard errors.
    """
    k = len(found.programme["audits"]["frail"].problem().actions)
    for delta, audit in found.failures:
        phases = np.arange(1, 40)
        odds = np.log(k * phases * (phases + 1) / delta)
        exact = k * float(sum(math.erfc(math.sqrt(each)) for each in odds))
        assert exact <= delta
        off, n = audit["off_values"], audit["runs"]
        assert off / n <= exact + 4 * math.sqrt(exact / n)
        assert off <= audit["failures"] <= off + audit["off_bias"]


class Shifted(SimulatedEvaluations):
    """Adds something to all evaluations of one step, counted from 0."""

    shift: tuple[int, np.ndarray] = (0, np.zeros(1))
    calls = 0

    def evaluate(self, allocation: eh.Allocation) -> eh.Feedback:
        feedback, (step, by) = super().evaluate(allocation), self.shift
        self.calls += 1
        if self.calls != step + 1:
            return feedback
        counts, sums, squares = feedback.parts
        return eh.Feedback(counts, sums + counts * by, squares + 2 * by * sums + counts * by**2)


@pytest.mark.parametrize(("step", "off"), [(0, (1, 0)), (1, (1, 0)), (2, (0, 1)), (99, (0, 0))])
def test_estimates_that_are_off_are_told_apart(step: int, off: tuple[int, int]) -> None:
    """Lemma 18 is about the G-phases of both groups, Lemma 19 about the bias phase after them."""
    problem = CASES[0].problem()
    judge = Shifted(problem, 0)
    # ε_1 = 2: evaluations too high by 3 in one group, or a bias too large by 3
    judge.shift = step, 3.0 * (problem.actions.groups if step == 2 else np.ones(3))
    audit = audit_run(problem, eh.FairPhasedElimination(problem.actions, 10**6, delta=0.01), judge)
    assert (audit["off_values"], audit["off_bias"]) == off
    assert audit["failures"] == max(off)


def test_the_lemmas_are_tried_and_hold(found: Measurements) -> None:
    for _, audit in found.lemmas:
        assert audit["runs"] == 40
        assert audit["settled"] > 26
        assert audit["dropped"] >= 40
        assert len(audit.checks) == 10
        for check in audit.checks.values():
            assert check.n >= audit["settled"]
            assert check.violations == 0
            assert check.closest <= 1.0


class Forged(eh.FairPhasedElimination):
    """Tells a story that is not what happened."""

    @staticmethod
    def forge(step: Any) -> Any:
        raise NotImplementedError

    def tell(self, feedback: Feedback) -> None:
        super().tell(feedback)
        self.history[:] = [self.forge(step) for step in self.history]


class DropsTheBest(Forged):
    @staticmethod
    def forge(step: Any) -> Any:
        here = step.step == "evaluate group" and step.group == "-1" and step.phase == 3
        return dataclasses.replace(step, eliminated=(1,)) if here else step


class DropsNothing(Forged):
    @staticmethod
    def forge(step: Any) -> Any:
        return dataclasses.replace(step, eliminated=())


class EvaluatesTwice(Forged):
    @staticmethod
    def forge(step: Any) -> Any:
        return dataclasses.replace(step, counts=2 * step.counts)


class Overcharges(Forged):
    @staticmethod
    def forge(step: Any) -> Any:
        paid = None if step.kappa is None else 1e3 * step.kappa
        return dataclasses.replace(step, kappa=paid)


def audited(cls: type[eh.FairPhasedElimination]) -> Tally:
    # The second option is the best, in group −1. The others of that group are 0.65 behind: they
    # are dropped when 3ε is below that, at ε = 1/8, and must be gone when 5ε is, at once.
    features = np.vstack([np.eye(3), [-1 / 3, 0.0, 0.0]])
    actions = eh.ActionSet(features, [1, -1, -1, -1])
    problem = eh.BiasedLinearBandit(actions, [-0.45, 0.8, 0.15], 0.1)
    policy = cls(actions, 10**6, delta=0.01)
    return audit_run(problem, policy, SimulatedEvaluations(problem, 0))


@pytest.mark.parametrize(
    ("cls", "violated"),
    [
        (eh.FairPhasedElimination, set()),
        # what is best has no gap, and is dropped all the same
        (DropsTheBest, {"lemma 20", "lemma 21, dropped"}),
        (DropsNothing, {"lemma 11"}),
        (EvaluatesTwice, {"lemma 12, evaluations", "lemma 12, regret"}),
        (Overcharges, {"lemma 13", "lemma 13, sharper"}),
    ],
)
def test_a_forged_story_is_found_out(
    cls: type[eh.FairPhasedElimination], violated: set[str]
) -> None:
    checks = audited(cls).checks
    assert {name for name in checks if checks[name].violations} == violated


def replace_curve(found: Measurements, name: str, **changes: Any) -> Measurements:
    curves = getattr(found, name)

    def changed(curve: Curve) -> Curve:
        return Curve({**curve.plan, **changes}, {**curve.columns, **changes})

    new = tuple(map(changed, curves)) if isinstance(curves, tuple) else changed(curves)
    return dataclasses.replace(found, **{name: new})


def failing(found: Measurements, name: str) -> Measurements:
    (delta, audit), *rest = found.failures
    bad = Tally(Counter({**audit.counts, name: audit["runs"]}), audit.checks)
    return dataclasses.replace(found, failures=((delta, bad), *rest))


def untrue(found: Measurements, name: str) -> Measurements:
    """The same measurements, with one violation of one lemma."""
    geometry = found.geometry + Tally(checks={name: LemmaCheck(1, 1, 2.0)})
    return dataclasses.replace(found, geometry=geometry)


CHECKED = {
    "Theorem 5": "theorem 5, none better",
    "Theorem 6": "theorem 6, kappa",
    "Lemma 1": "lemma 1, apart",
    "Lemma 8": "lemma 8, homogeneous",
    "Lemma 9": "lemma 9, support",
    "Lemma 13": "lemma 13, sharper",
    "Lemma 21": "lemma 21, dropped",
    "Lemma 12, evaluations": "lemma 12, evaluations",
    "Lemma 12, regret": "lemma 12, regret",
} | {f"Lemma {n}": f"lemma {n}" for n in (2, 3, 4, 5, 6, 7, 11, 14, 15, 16, 17, 20)}

TAMPERED: dict[str, Callable[[Measurements], Measurements]] = {
    "Theorem 1, in T": lambda m: replace_curve(m, "in_horizon", mean=m.in_horizon[0]["x"] ** 0.8),
    "Theorem 1, in κ_*": lambda m: replace_curve(m, "in_kappa", worst=2 * m.in_kappa[0]["upper"]),
    "Theorem 2, in T": lambda m: replace_curve(
        m, "growth", worst=m.growth["x"] ** 0.5, per_log=m.growth["x"] ** 0.4
    ),
    "Theorem 2, two regimes": lambda m: replace_curve(
        m, "transition", per_log=m.transition["x"] ** -1.0
    ),
    "Theorem 3": lambda m: replace_curve(m, "in_horizon", worst=0.9 * m.in_horizon[0]["lower"]),
    "Theorem 4": lambda m: replace_curve(m, "growth", limit=2 * m.growth["per_log"][-1]),
    "Lemma 10": lambda m: failing(m, "failures"),
    "Lemma 18": lambda m: failing(m, "off_values"),
    "Lemma 19": lambda m: failing(m, "ever_missed"),
    "Section 1, no correction": lambda m: replace_curve(m, "blind", blind=m.blind["fair"]),
} | {source: partial(untrue, name=name) for source, name in CHECKED.items()}


def test_what_must_hold_holds_even_on_a_small_programme(found: Measurements) -> None:
    verdicts = holds(found)
    assert set(verdicts) == set(TAMPERED)
    # A few short runs cannot show a rate; everything else is said of every run.
    rates = {"Theorem 1, in T", "Theorem 1, in κ_*", "Theorem 2, two regimes"}
    assert {source for source, held in verdicts.items() if not held} <= rates


@pytest.mark.parametrize("source", TAMPERED)
def test_a_statement_that_is_false_is_called_so(found: Measurements, source: str) -> None:
    assert not holds(TAMPERED[source](found))[source]


def test_what_the_paper_has_wrong_is_said_where_it_stands(found: Measurements) -> None:
    """Errata are measured, too: were the paper right after all, the row would not hold."""
    wrong = {row.source for row in statements(found) if row.erratum}
    assert wrong == {"Theorem 1, in T", "Theorem 4", *(f"Lemma {n}" for n in (2, 6, 16, 17))}
    for source, name in (("Lemma 2", "line"), ("Lemma 6", "line"), ("Lemma 17", "others")):
        right = {f"{source.lower()}, {name}": LemmaCheck(3, 0, 0.9)}
        geometry = Tally(found.geometry.counts, found.geometry.checks | right)
        assert not holds(dataclasses.replace(found, geometry=geometry))[source]


TABLE = Path(__file__).parents[2] / "docs" / "research" / "reproduction.md"
NUMBERED = [f"Theorem {n}" for n in range(1, 7)] + [f"Lemma {n}" for n in range(1, 22)]


def rows_of_the_table() -> dict[str, list[str]]:
    """Cells of the table that maps the paper's numbers to code, tests and rows, by number."""
    lines = [line for line in TABLE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    whole = [row for row in cells if len(row) == 5]
    return {row[0]: row[1:] for row in whole if re.fullmatch(r"(Theorem|Lemma) \d+", row[0])}


def imported(name: str) -> Any:
    """What a dotted name of evenhand stands for, a module or something in one."""
    home, found = "evenhand", eh
    for part in name.removeprefix("eh.").removeprefix("evenhand.").split("."):
        home = f"{home}.{part}"
        found = getattr(found, part) if hasattr(found, part) else import_module(home)
    return found


def test_the_table_has_every_number_of_the_paper(found: Measurements) -> None:
    table = rows_of_the_table()
    assert list(table) == NUMBERED
    sources = {row.source for row in statements(found)}
    shown = set()
    for number, (_, code, tests, rows) in table.items():
        assert re.findall(r"`([^`]+)`", code)
        for name in re.findall(r"`([^`]+)`", code):
            assert imported(name) is not None
        assert re.findall(r"`([^`]+)`", tests)
        for name in re.findall(r"`([^`]+)`", tests):
            file, function = name.split("::")
            text = (TABLE.parents[2] / "tests" / file).read_text("utf-8")
            assert re.search(rf"^def {function}\(", text, re.MULTILINE), name
        own = {source for source in sources if re.match(rf"{number}\b", source)}
        assert set(rows.split("; ")) == own
        assert own
        shown |= own
    assert sources - shown == {"Section 1, no correction"}


def test_the_page_in_docs_has_every_row(found: Measurements) -> None:
    """The numbers there are of one full run; which statements there are is checked here."""
    text = TABLE.read_text("utf-8")
    for row in statements(found):
        assert f"| {row.source} |" in text


def test_the_page_needs_nothing_else(folder: Path) -> None:
    text = (folder / "index.html").read_text("utf-8")
    sources = [str(image["src"]) for image in read_document(text).all("img")]
    assert len(sources) == len(FIGURES) == 7
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not re.findall(r"https?://", text)


def test_numbers_are_written_beside_the_page(
    found: Measurements, folder: Path, files: tuple[Any, ...]
) -> None:
    numbers = json.loads((folder / "measurements.json").read_text("utf-8"))
    assert numbers["measurements"]["growth"]["columns"]["worst"] == found.growth["worst"].tolist()
    assert [row["holds"] for row in numbers["statements"]] == list(holds(found).values())
    for picture in files:
        assert (folder / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{picture.name}.svg").read_text("utf-8")


def test_the_command(told: Told) -> None:
    folder, result, given, found = told
    assert given == (TINY, 1)
    assert result.exit_code == (0 if all(holds(found).values()) else 1), result.output
    assert "Theorem 1, in T" in " ".join(result.stdout.split())
    assert (folder / "index.html").is_file()


@pytest.mark.parametrize("holding", [True, False])
def test_the_command_ends_as_the_statements_hold(
    holding: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Measurements
) -> None:
    """What it says and how it ends, of verdicts that are known; measured and drawn is above."""
    rows = tuple(dataclasses.replace(row, holds=holding) for row in statements(found))
    command = import_module("evenhand.cli.research.reproduce")
    monkeypatch.setattr(command, "measure", lambda *_: found)
    monkeypatch.setattr(command, "statements", lambda _: rows)
    monkeypatch.setattr(Reproduction, "write", lambda _, folder: folder / "index.html")
    result = CliRunner().invoke(app, [*QUICKLY, str(tmp_path / "out")])
    assert result.exit_code == (0 if holding else 1), result.output
    assert f"The page is {tmp_path / 'out' / 'index.html'}" in result.stdout.replace("\n", " ")
    for row in rows:
        assert row.source in result.stdout


def test_a_folder_that_cannot_be_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "file" / "out")])
    assert result.exit_code == 2
    assert "cannot be made" in result.stderr
