"""`evenhand reproduce` on a small programme: its numbers, its verdicts, its page."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import app
from evenhand.policies.base import Feedback
from evenhand.policies.fair_phased_elimination import Phase
from evenhand.report import html
from evenhand.report.html import inline_svg
from evenhand.report.pictures import svg_text
from evenhand.research.environments import SimulatedEvaluations
from evenhand.research.reproduction import (
    FULL,
    QUICK,
    Measurements,
    Reproduction,
    measure,
    output,
    statements,
    steps,
)
from evenhand.research.reproduction.audit import AuditedRuns, audit_run
from evenhand.research.reproduction.experiments import (
    Audits,
    Blindness,
    GrowthInHorizon,
    Programme,
    RateInHorizon,
    RateInKappa,
    Sets,
    Transition,
)
from evenhand.research.reproduction.figures import FIGURES
from evenhand.research.reproduction.geometry import hostile_set
from evenhand.research.reproduction.output import write_reproduction
from evenhand.research.reproduction.tally import LemmaCheck

TINY = Programme(
    RateInHorizon(((2, 1.0),), (1.0, 3.0), tuple(10**6 * 2**i for i in range(-2, 4)), 3),
    RateInKappa(2, (1.0,), tuple(2.0**i for i in range(6)), 10**9, 3),
    GrowthInHorizon(4, 2.0, 0.1, 0.1, (10**6, 10**8, 10**10), 10**8, 3),
    Transition(4, 2.0, 0.005, (0.005, 0.01, 0.1, 0.2, 0.4), 10**16, 2),
    Blindness(12, 2, 3, (10**4, 10**6, 10**8, 10**9), 4),
    Audits(FULL.audits.cases[1:3], 0.2, 40, FULL.audits.frail, (0.1, 0.4), 200),
    Sets(9, (2, 4), (1.0, 4.0)),
)


QUICKLY = ("reproduce", "--quick", "--seed", "1", "--workers", "1", "--out")


class Told(NamedTuple):
    """The command on the small programme: the folder it wrote, what it printed and measured."""

    folder: Path
    result: Result
    given: tuple[Programme, int]
    found: Measurements


@pytest.fixture(scope="module")
def files(request: pytest.FixtureRequest) -> tuple[Any, ...]:
    """The figures that are written beside the page, by day two; all of them are on the page."""
    return FIGURES if request.config.getoption("--nightly") else FIGURES[:2]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, files: tuple[Any, ...]) -> Told:
    target = tmp_path_factory.mktemp("reproduction") / "out"
    command, kept = import_module("evenhand.cli.research.reproduce"), []

    def measured(*given: Any) -> Measurements:
        kept.append((given[:2], measure(*given)))
        return kept[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "QUICK", TINY)
        patch.setattr(command, "measure", measured)
        patch.setattr(output, "FIGURES", files)
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


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("place", "c", "regret", "bound"), [(0, 1.0, 31544.0, 4686.0), (1, 3.0, 41544.0, 4346.0)]
)
def test_the_worst_case_pair_at_a_million(
    found: Measurements, place: int, c: float, regret: float, bound: float
) -> None:
    """All runs go the same way for d = 2 and κ = 1, so the regret is one number."""
    curve = found.in_horizon[place]
    at = list(curve.x).index(1e6)
    assert curve.c == c
    assert curve.mean[at] == pytest.approx(regret, abs=1.0)
    assert curve.two_point[at] == pytest.approx(bound, abs=0.5)
    assert curve.lower[at] == pytest.approx(1e4 / (8 * math.e))
    assert curve.form[at] == pytest.approx(1e4 * math.log(1e6) ** (1 / 3))
    # Never learning which of the two leads costs Tρ on one problem and nothing on the other.
    assert curve.blind[at] >= c * 1e4 / 2
    assert curve.blind_worst[at] >= curve.blind[at]


def test_the_terms_of_theorem_2_by_linear_programming(found: Measurements) -> None:
    """√κ(Δ) = min Σ √Δ |w| such that Σ w a = e."""
    curve = found.transition
    np.testing.assert_allclose(curve.within, 4 / 0.005)
    for delta_neq, between in zip(curve.delta_neqs, curve.between, strict=True):
        prices = []
        for problem in eh.families.gap_dependent(4, 2.0, 0.005, delta_neq):
            costs = np.sqrt(np.maximum(problem.gaps, delta_neq))
            A = problem.actions.points
            program = linprog(
                np.r_[costs, costs], A_eq=np.c_[A.T, -A.T], b_eq=np.eye(A.shape[1])[-1]
            )
            prices.append(program.fun**2)
        assert between == pytest.approx(max(prices) / delta_neq**2, rel=1e-6)


def test_blind_elimination_loses_what_the_wrong_option_is_worth_less(found: Measurements) -> None:
    curve, problem = found.blind, eh.families.random(12, 2, 3)
    wrong = int(np.argmax(problem.values + problem.actions.groups * problem.omega))
    lost = float(problem.values.max() - problem.values[wrong])
    assert curve.trap == pytest.approx(lost)
    assert curve.blind[-1] / curve.horizons[-1] == pytest.approx(lost, rel=1e-3)
    assert curve.rates[1].exponent == pytest.approx(1.0, abs=0.01)


def test_failures_agree_with_the_normal_distribution(found: Measurements) -> None:
    """F is rarer than 2δ, the last interval misses no more often than one Gaussian error may.

    The interval of phase l is s√(2 log(l(l+1)/δ)) wide to each side, and these runs end in
    phase 2 or later: P(|N| > √(2 log(6/δ))) is more than any of them misses. Four standard errors.
    """
    for delta, audit in found.failures:
        assert audit.runs == audit.estimated == 200
        assert audit.failures / 200 <= 2 * delta
        exact = math.erfc(math.sqrt(math.log(6 / delta)))
        assert audit.missed / 200 <= exact + 4 * math.sqrt(exact / 200)


def test_evaluations_are_off_as_seldom_as_the_normal_distribution_says(
    found: Measurements,
) -> None:
    """Lemma 18, by its own union: k Gaussian errors in phase l, each off with probability at most
    P(|N| ≥ √(2 log(kl(l+1)/δ))). Four standard errors.
    """
    k = len(found.programme.audits.frail.problem().actions)
    for delta, audit in found.failures:
        phases = np.arange(1, 40)
        odds = np.log(k * phases * (phases + 1) / delta)
        exact = k * float(sum(math.erfc(math.sqrt(each)) for each in odds))
        assert exact <= delta
        assert audit.off_values / audit.runs <= exact + 4 * math.sqrt(exact / audit.runs)
        assert audit.off_values <= audit.failures <= audit.off_values + audit.off_bias


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
    problem = FULL.audits.cases[0].problem()
    judge = Shifted(problem, 0)
    # ε_1 = 2: evaluations too high by 3 in one group, or a bias too large by 3
    judge.shift = step, 3.0 * (problem.actions.groups if step == 2 else np.ones(3))
    audit = audit_run(problem, eh.FairPhasedElimination(problem.actions, 10**6, delta=0.01), judge)
    assert (audit.off_values, audit.off_bias) == off
    assert audit.failures == max(off)


CHECKS = [f.name for f in dataclasses.fields(AuditedRuns) if isinstance(f.default, LemmaCheck)]


def test_the_lemmas_are_tried_and_hold(found: Measurements) -> None:
    for _, audit in found.lemmas:
        assert audit.runs == 40
        assert audit.settled > 26
        assert audit.dropped >= 40
        for name in CHECKS:
            check = getattr(audit, name)
            assert check.n >= audit.settled
            assert check.violations == 0
            assert check.closest <= 1.0


@pytest.mark.nightly
def test_processes_do_not_change_a_digit_and_every_step_is_reported() -> None:
    small = dataclasses.replace(
        TINY,  # of failures more than one worker takes at a time
        audits=dataclasses.replace(
            TINY.audits, replications=6, deltas=(0.4,), frail_replications=260
        ),
    )
    calls: list[int] = []
    alone = measure(small, 1, None, lambda: calls.append(1))
    assert len(calls) == steps(small)
    with ProcessPoolExecutor(2) as pool:
        assert statements(measure(small, 1, pool)) == statements(alone)


@pytest.mark.parametrize("programme", [FULL, QUICK], ids=["full", "quick"])
def test_programmes_are_data_that_can_be_run(programme: Programme) -> None:
    """Every problem of a programme exists, and grids are fit for their rates."""
    hash(programme)
    for d, kappa in programme.rate_in_horizon.shapes:
        for c in programme.rate_in_horizon.scales:
            for T in programme.rate_in_horizon.horizons:
                eh.families.worst_case(d, kappa, T, c)
    per_log = [T / math.log(T) for T in programme.rate_in_horizon.horizons]
    np.testing.assert_allclose(np.diff(np.log2(per_log)), 1.0, atol=1e-4)
    for c in programme.rate_in_kappa.scales:
        for kappa in programme.rate_in_kappa.kappas:
            eh.families.worst_case(
                programme.rate_in_kappa.d, kappa, programme.rate_in_kappa.horizon, c
            )
    for delta_neq in programme.transition.delta_neqs:
        plan = programme.transition
        eh.families.gap_dependent(plan.d, plan.kappa, plan.delta_min, delta_neq)
    for case in (*programme.audits.cases, programme.audits.frail):
        assert np.abs(case.problem().values).max() <= 1.0


# ---------------------------------------------------------------- the audit finds what is wrong


class Forged(eh.FairPhasedElimination):
    """Tells a story that is not what happened."""

    @staticmethod
    def forge(step: Phase) -> Phase:
        raise NotImplementedError

    def tell(self, feedback: Feedback) -> None:
        super().tell(feedback)
        self.history[:] = [self.forge(step) for step in self.history]


class DropsTheBest(Forged):
    @staticmethod
    def forge(step: Phase) -> Phase:
        here = step.step == "evaluate group" and step.group == "-1" and step.phase == 3
        return dataclasses.replace(step, eliminated=(1,)) if here else step


class DropsNothing(Forged):
    @staticmethod
    def forge(step: Phase) -> Phase:
        return dataclasses.replace(step, eliminated=())


class EvaluatesTwice(Forged):
    @staticmethod
    def forge(step: Phase) -> Phase:
        return dataclasses.replace(step, counts=2 * step.counts)


class Overcharges(Forged):
    @staticmethod
    def forge(step: Phase) -> Phase:
        paid = None if step.kappa is None else 1e3 * step.kappa
        return dataclasses.replace(step, kappa=paid)


def audited(cls: type[eh.FairPhasedElimination]) -> AuditedRuns:
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
        (DropsTheBest, {"kept", "dropped_late"}),
        (DropsNothing, {"survivors"}),
        (EvaluatesTwice, {"samples", "price"}),
        (Overcharges, {"estimated_price", "sharper_price"}),
    ],
)
def test_a_forged_story_is_found_out(
    cls: type[eh.FairPhasedElimination], violated: set[str]
) -> None:
    audit = audited(cls)
    assert {name for name in CHECKS if getattr(audit, name).violations} == violated


def test_audits_add_up() -> None:
    one = AuditedRuns(runs=1, failures=1, samples=LemmaCheck(3, 1, 1.5))
    two = AuditedRuns(runs=2, dropped=4, samples=LemmaCheck(1, 0, 0.5))
    assert one + two == AuditedRuns(runs=3, failures=1, dropped=4, samples=LemmaCheck(4, 1, 1.5))


# ---------------------------------------------------------------- verdicts


def replace_curve(found: Measurements, name: str, **changes: object) -> Measurements:
    curves = getattr(found, name)
    if isinstance(curves, tuple):
        changed: object = tuple(dataclasses.replace(curve, **changes) for curve in curves)
    else:
        changed = dataclasses.replace(curves, **changes)
    return dataclasses.replace(found, **{name: changed})


def broken(found: Measurements, name: str) -> Measurements:
    """The same measurements, with one violation of one lemma in one case."""
    (case, audit), *rest = found.lemmas
    bad = dataclasses.replace(audit, **{name: getattr(audit, name) + LemmaCheck(1, 1, 2.0)})
    return dataclasses.replace(found, lemmas=((case, bad), *rest))


def failing(found: Measurements, name: str) -> Measurements:
    (delta, audit), *rest = found.failures
    bad = dataclasses.replace(audit, **{name: audit.runs})
    return dataclasses.replace(found, failures=((delta, bad), *rest))


def untrue(found: Measurements, name: str) -> Measurements:
    """The same measurements, with one set of options on which a lemma is violated."""
    checks = dict(found.geometry.checks)
    checks[name] += LemmaCheck(1, 1, 2.0)
    geometry = dataclasses.replace(found.geometry, checks=checks)
    return dataclasses.replace(found, geometry=geometry)


DESIGNS = {
    "Theorem 5": "theorem 5, none better",
    "Theorem 6": "theorem 6, kappa",
    "Lemma 1": "lemma 1, apart",
    "Lemma 8": "lemma 8, homogeneous",
    "Lemma 9": "lemma 9, support",
} | {f"Lemma {n}": f"lemma {n}" for n in (2, 3, 4, 5, 6, 7, 15, 16, 17)}

TAMPERED: dict[str, Callable[[Measurements], Measurements]] = {
    "Theorem 1, in T": lambda m: replace_curve(m, "in_horizon", mean=m.in_horizon[0].x ** 0.8),
    "Theorem 1, in κ_*": lambda m: replace_curve(m, "in_kappa", worst=2 * m.in_kappa[0].upper),
    "Theorem 2, in T": lambda m: replace_curve(m, "growth", worst=m.growth.horizons**0.5),
    "Theorem 2, two regimes": lambda m: replace_curve(
        m, "transition", per_log=m.transition.delta_neqs**-1.0
    ),
    "Theorem 3": lambda m: replace_curve(m, "in_horizon", worst=0.9 * m.in_horizon[0].lower),
    "Theorem 4": lambda m: replace_curve(m, "growth", limit=2 * m.growth.per_log[-1]),
    "Lemma 10": lambda m: failing(m, "failures"),
    "Lemma 12, evaluations": lambda m: broken(m, "samples"),
    "Lemma 12, regret": lambda m: broken(m, "price"),
    "Lemma 20": lambda m: broken(m, "kept"),
    "Lemma 11": lambda m: broken(m, "survivors"),
    "Lemma 14": lambda m: broken(m, "decided"),
    "Lemma 13": lambda m: broken(m, "sharper_price"),
    "Lemma 18": lambda m: failing(m, "off_values"),
    "Lemma 19": lambda m: failing(m, "ever_missed"),
    "Lemma 21": lambda m: broken(m, "dropped_late"),
    "Section 1, no correction": lambda m: replace_curve(m, "blind", blind=m.blind.fair),
} | {source: partial(untrue, name=name) for source, name in DESIGNS.items()}


def test_what_must_hold_holds_even_on_a_small_programme(found: Measurements) -> None:
    verdicts = holds(found)
    assert set(verdicts) == set(TAMPERED)
    # A few short runs cannot show a rate; everything else is said of every run.
    rates = {"Theorem 1, in T", "Theorem 1, in κ_*", "Theorem 2, two regimes"}
    assert {source for source, held in verdicts.items() if not held} <= rates


@pytest.mark.parametrize("source", TAMPERED)
def test_a_statement_that_is_false_is_called_so(found: Measurements, source: str) -> None:
    assert not holds(TAMPERED[source](found))[source]


def test_other_ways_to_be_false(found: Measurements) -> None:
    lost = replace_curve(found, "growth", worst=0.9 * found.growth.lower)
    assert not holds(lost)["Theorem 6"]
    assert not holds(failing(found, "off_bias"))["Lemma 19"]


def test_what_the_paper_has_wrong_is_said_where_it_stands(found: Measurements) -> None:
    """Errata are measured, too: were the paper right after all, the row would not hold."""
    wrong = {row.source for row in statements(found) if row.erratum}
    assert wrong == {"Theorem 1, in T", "Theorem 4", *(f"Lemma {n}" for n in (2, 6, 16, 17))}
    for source, name in (("Lemma 2", "line"), ("Lemma 6", "line"), ("Lemma 17", "others")):
        right = {f"{source.lower()}, {name}": LemmaCheck(3, 0, 0.9)}
        geometry = dataclasses.replace(found.geometry, checks=found.geometry.checks | right)
        assert not holds(dataclasses.replace(found, geometry=geometry))[source]


def test_sets_of_options_are_of_all_kinds() -> None:
    """Separated or not, of full rank or not, one feature or more, and the bias is identified."""
    kinds = set()
    for number in range(45):
        X, z = hostile_set(3, number)
        actions = eh.ActionSet(X, z.astype(int))
        rank = np.linalg.matrix_rank(X / np.abs(X).max(axis=0, initial=1e-300))
        kinds.add((eh.bias_geometry(actions).separable, bool(rank < X.shape[1]), bool(rank > 1)))
    assert kinds >= {(True, False, True), (False, False, True), (False, True, True)}
    assert kinds >= {(True, False, False), (False, False, False)}


# ------------------------------------------------------- the table of docs/research/reproduction.md

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


# ---------------------------------------------------------------- the page


class Reader(HTMLParser):
    """Collects what a page loads, the names it gives and the text it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.names: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
                self.links.append(value or "")
            if name == "id":
                self.names.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(folder: Path) -> tuple[str, Reader]:
    text, reader = (folder / "index.html").read_text("utf-8"), Reader()
    reader.feed(text)
    return text, reader


def test_the_page_needs_nothing_else(folder: Path) -> None:
    text, reader = read(folder)
    assert reader.tags.count("svg") == len(FIGURES) == 7
    assert not {"img", "script", "link", "iframe", "object", "image"} & set(reader.tags)
    assert all(link.startswith("#") for link in reader.links)
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", text))
    assert "@import" not in text
    # Namespaces are names, not addresses: nothing else may look like one
    assert not re.findall(r"https?://", re.sub(r'xmlns(:\w+)?="[^"]*"', "", text))


def test_pictures_do_not_take_each_others_parts(folder: Path) -> None:
    _, reader = read(folder)
    assert len(reader.names) == len(set(reader.names))
    wanted = {link[1:] for link in reader.links}
    assert wanted <= set(reader.names)


def test_the_page_says_what_was_measured(found: Measurements, folder: Path) -> None:
    _, reader = read(folder)
    words = re.sub(r"[\s_^()]", "", "".join(reader.text))
    for row in statements(found):
        # once in the table, once under every figure that shows it
        times = 1 + sum(row.source in figure.sources for figure in FIGURES)
        for part in (row.claim, row.measured, row.erratum or row.claim):
            assert words.count(re.sub(r"[\s_^()]", "", part)) == times
    table = sum(not row.holds for row in statements(found))
    assert words.count("✗contradicted") >= table
    assert (words.count("✗contradicted") == 0) == (table == 0)


@pytest.mark.nightly
def test_the_same_measurements_give_the_same_page(found: Measurements, folder: Path) -> None:
    command = "evenhand reproduce --quick --seed 1"
    again = Reproduction(found, statements(found), command)
    again.report(folder / "again.html")
    assert (folder / "again.html").read_text() == (folder / "index.html").read_text("utf-8")


def test_the_same_measurements_give_the_same_picture(found: Measurements, folder: Path) -> None:
    first = FIGURES[0]
    again = inline_svg(svg_text(first.draw(found)), first.name, first.title)
    assert str(again) in (folder / "index.html").read_text("utf-8")


def test_numbers_are_written_beside_the_page(
    found: Measurements, folder: Path, files: tuple[Any, ...]
) -> None:
    numbers = json.loads((folder / "measurements.json").read_text("utf-8"))
    assert numbers["measurements"]["growth"]["worst"] == found.growth.worst.tolist()
    assert [row["holds"] for row in numbers["statements"]] == list(holds(found).values())
    for picture in files:
        assert (folder / f"{picture.name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{picture.name}.svg").read_text("utf-8")


# ---------------------------------------------------------------- the command


def test_a_full_disk_keeps_the_old_report(
    found: Measurements, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {name: tmp_path / name for name in ("index.html", "measurements.json", "kappa.svg")}
    for path in old.values():
        path.write_text("what was there before")
    monkeypatch.setattr(os, "replace", full_disk)
    monkeypatch.setattr(html, "svg_text", lambda figure: "<svg/>")  # the disk is the matter
    with pytest.raises(eh.InputError, match="No space left"):
        write_reproduction(Reproduction(found, statements(found)), tmp_path)
    with pytest.raises(eh.InputError, match="the report cannot be written"):
        Reproduction(found, statements(found)).report(old["index.html"])
    assert sorted(tmp_path.iterdir()) == sorted(old.values())
    assert {path.read_text() for path in old.values()} == {"what was there before"}


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


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
    monkeypatch.setattr(output, "write_reproduction", lambda *given: given[1] / "index.html")
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
