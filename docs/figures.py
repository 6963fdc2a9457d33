"""The pictures of these pages: `make docs-figures` draws all, `python docs/figures.py NAME` some.

Most take seconds, `prompts`, `certain`, `compare` and the three of the reproduction some minutes of
a processor each. `report-audit`, `report-choice` and those of `serve` are pages as a browser shows
them and need Chromium. Drawn again, a picture has the same bytes.
"""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.research.reproduction.measurements import Measurements

DOCS = Path(__file__).resolve().parent
IMAGES = DOCS / "images"
ROOT = DOCS.parent
EVENT = "examples/skating/ice_dance.csv"
DAY = 1_794_873_600  # 17 November 2026, on reports: a picture changes only where what it shows does

# Told apart by all kinds of colour vision (Okabe and Ito), and by their markers.
STYLES = (("#56B4E9", "o"), ("#009E73", "s"), ("#E69F00", "D"), ("#D55E00", "^"))
INK, FAINT = "#222222", "#767676"


def jury(path: Path) -> None:
    """Draw one jury with seeded heats, by three rules."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from scipy import stats  # noqa: PLC0415

    import jury as juries  # noqa: PLC0415 # a benchmark, not a package

    held = juries.jury("rank", np.random.default_rng(0))
    answer = juries.by_evenhand(held)
    found = {
        "mean score": juries.by_mean(held.scores),
        "scores standardised by judge": juries.by_standardised(held.scores),
        "value by evenhand": juries.values(answer),
    }
    figure, axes = _figure(1, 3, (11.0, 4.3))
    for axis, (rule, estimate) in zip(axes, found.items(), strict=True):
        for heat, (colour, marker) in enumerate(STYLES):
            own = held.heat == heat
            axis.plot(
                held.worth[own], estimate[own], marker, color=colour, ms=7, mec="white", mew=0.6,
                label=("1, the weakest", "2", "3", "4, the strongest")[heat],
            )  # fmt: skip
            line = np.polyfit(held.worth[own], estimate[own], 1)
            ends = np.array([held.worth[own].min(), held.worth[own].max()])
            axis.plot(ends, np.polyval(line, ends), color=colour, lw=1.2, alpha=0.7)
        correlation = stats.spearmanr(estimate, held.worth).statistic
        axis.set_title(f"{rule}\nrank correlation {correlation:.2f}", fontsize=10, color=INK)
        axis.set_xlabel("true worth", color=INK)
    axes[0].set_ylabel("by the rule", color=INK)
    axes[0].legend(title="heat", frameon=False, fontsize=8, title_fontsize=8, loc="upper left")
    figure.suptitle(
        "24 candidates in four seeded heats, three of six judges each", color=INK, fontsize=12
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def prompts(path: Path) -> None:
    """Draw the leads of the best prompt by two ways of asking, and what certainty cost."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import prompts as cases  # noqa: PLC0415 # a benchmark, not a package

    asked = cases.ways(cases.world(0))
    figure, (left, right) = _figure(1, 2, (11.0, 4.4))
    names = sorted(cases.WORTH, key=lambda name: cases.WORTH[name])
    ways = {
        "the model alone, believed": ("#D55E00", "^", 0.16),
        "both": ("#0072B2", "o", -0.16),
    }
    for way, (colour, marker, beside) in ways.items():
        answer = asked[way].choose(budget=cases.BUDGET, at_most=20_000, progress=False)
        for row, name in enumerate(names):
            option = answer.options.labels.index(name)
            ahead, most, least = (-x for x in answer.conclusion.leads[option].tolist())
            most = min(most, answer.loss)  # which is known, too
            if np.isfinite([least, most]).all():
                left.plot([least, most], [row + beside] * 2, color=colour, lw=1.6)
            elif name != answer.label:  # unbounded: without a line it would look exact
                left.axhline(row + beside, color=colour, lw=1.2, ls=":", alpha=0.7)
            left.plot(ahead, row + beside, marker, color=colour, ms=8, mec="white", mew=0.6)
        label = {"both": "people and model"}.get(way, way)
        chosen = f"{label}: {answer.label}, {'95% sure' if answer.sure else 'not sure'}"
        left.plot([], [], marker, color=colour, label=chosen)
    left.set_yticks(range(len(names)), names)
    left.get_yticklabels()[-1].set_fontweight("bold")
    left.axvline(0.0, color=FAINT, lw=0.8)
    left.set_xlabel("behind the prompt that is chosen, in verdicts, with 95% intervals", color=INK)
    left.set_title("from the truly best prompt down to the worst", fontsize=10, color=INK)
    left.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=1)
    worlds = [{one.way: one for one in cases.outcomes(seed)} for seed in range(40)]
    for place, way, colour, marker in (
        (0, "people alone", "#009E73", "s"),
        (1, "both", "#0072B2", "o"),
    ):
        asked_so = sorted((world[way] for world in worlds), key=lambda one: one.paid)
        beside = place + np.linspace(-0.3, 0.3, len(asked_so))  # from the cheapest to the dearest
        for x, one in zip(beside, asked_so, strict=True):
            right.plot(x, one.paid, marker, color=colour, ms=5, mfc=colour if one.sure else "none")
        n_sure = sum(one.sure for one in asked_so)
        right.text(place, 40, f"sure in {n_sure} of 40", ha="center", fontsize=9, color=INK)
    fooled = [world["the model alone, believed"] for world in worlds]
    n_fooled = sum(one.sure and not one.right for one in fooled)
    right.axhline(cases.BUDGET, color=FAINT, ls="--", lw=0.8)
    right.text(0.5, cases.BUDGET, "the budget", ha="center", va="bottom", fontsize=8, color=FAINT)
    right.set_xticks([0, 1], ["people alone", "people and model"])
    right.set_xlim(-0.45, 1.45)
    right.set_ylim(0, 1.1 * cases.BUDGET)
    right.set_ylabel("paid until sure, or until it stopped (hollow)", color=INK)
    right.set_title(
        f"40 worlds; the model alone is sure and wrong in {n_fooled}", fontsize=10, color=INK
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def season(path: Path) -> None:
    """Draw scores for the own nation beside others, and the bias by two ways."""
    import evenhand as eh  # noqa: PLC0415
    from evenhand.cases.skating import scores  # noqa: PLC0415

    table = scores()
    event = ["competition", "program"]
    columns = {"option": "skater", "evaluator": "judge"}
    columns |= {"option_group": "nation", "evaluator_group": "judge_nation"}
    audit = eh.audit(table, columns={**columns, "event": event})
    home = table["home"] == 1
    above = table["score"] - table["reference"]
    lenient = above[~home].groupby([table[c] for c in (*event, "judge")]).mean().rename("lenient")
    above -= table.join(lenient, on=[*event, "judge"])["lenient"]

    figure, (left, right) = _figure(1, 2, (11.0, 4.2))
    edges = np.arange(-15.0, 15.01, 1.0)
    for name, own, colour, fill in (
        (f"other nations ({int((~home).sum()):,} scores)", ~home, "#0072B2", 0.35),
        (f"own nation ({int(home.sum()):,} scores)", home, "#D55E00", 0.45),
    ):
        known = above[own].dropna()
        share = np.histogram(known, edges)[0] / len(known)
        left.stairs(share, edges, fill=True, color=colour, alpha=fill)
        left.stairs(share, edges, color=colour, lw=1.5, label=name)
    left.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    left.set_xlabel("points above what neutral judges gave", color=INK)
    left.set_ylabel("share of scores", color=INK)
    left.set_ylim(0.0, 0.19)
    left.set_yticks([0.0, 0.05, 0.1, 0.15])
    left.legend(frameon=False, fontsize=9, loc="upper left")
    shown = {
        "the audit": (audit.bias, "#D55E00", "D"),
        "as if scores were\nindependent": (audit.naive, FAINT, "s"),
    }
    for row, (bias, colour, marker) in enumerate(reversed(shown.values())):
        right.plot([bias.low, bias.high], [row, row], color=colour, lw=3, alpha=0.6)
        right.plot(bias.value, row, marker, color=colour, ms=9)
        right.text(bias.value, row + 0.16, f"{bias.value:.2f}", ha="center", fontsize=9, color=INK)
    right.set_yticks(range(len(shown)), list(shown)[::-1], color=INK)
    right.axvline(3.4, color=INK, ls="--", lw=1.0)
    right.text(3.42, 1.55, "published, about 3.4", fontsize=8, color=INK)
    right.set_ylim(-0.5, 1.8)
    right.set_xlabel("points for the own nation, with 95% intervals", color=INK)
    figure.suptitle(
        "Figure skating 2016–17: what judges give their own nation", color=INK, fontsize=12
    )
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def panel(path: Path) -> None:
    """Draw the answer of docs/how-to/choose.md with ten couples and nine judges."""
    import evenhand as eh  # noqa: PLC0415

    eh.decide(ROOT / EVENT).plot(path)


def choose(path: Path) -> None:
    """Draw the answer of docs/how-to/choose.md with one judge, allowing for what features miss."""
    page = _examples("how-to/choose.md")
    seen = page["np"].random.default_rng(0)
    page["eh"].choose(
        page["event"].actions,
        lambda question: page["event"].evaluations[question.option] + seen.normal(scale=3.6),
        at_most=5_000,
    ).plot(path)


def plan(path: Path) -> None:
    """Draw the first plan of docs/how-to/plan.md."""
    page = _examples("how-to/plan.md", until="print(plan)")
    page["plan"].plot(path)


def hand_out(path: Path) -> None:
    """Draw the last plan of docs/how-to/plan.md."""
    _examples("how-to/plan.md")["plan"].plot(path)


def skating(path: Path) -> None:
    """Draw what the README inspects."""
    table, features = "examples/skating/skate_america.csv", "base_value,max_base,ability"
    words = [
        "--column=option_group=side",
        "--column=option=skater",
        f"--column=features={features}",
    ]
    _evenhand("inspect", table, *words, "--report", str(path))


def report_audit(path: Path) -> None:
    """Show the page of an audit as a browser does."""
    _browsed(path, "audit", EVENT)


def report_choice(path: Path) -> None:
    """Show the page of a decision as a browser does."""
    _browsed(path, "decide", EVENT)


def serve_campaign(path: Path) -> None:
    """Show the page of a campaign, as who looks on has it."""
    _served(path, None, "1000,1150")


def serve_judge(path: Path) -> None:
    """Show an evaluator's page as a phone does."""
    _served(path, "Sven", "500,560")


def compare(path: Path) -> None:
    """Draw the regret of all policies."""
    _evenhand("compare", "--replications", "40", "--report", str(path))


def certain(path: Path) -> None:
    """Draw how many evaluations those take that stop when they are sure."""
    words = ["--suite", "certain", "--full", "--replications", "8"]
    _evenhand("compare", *words, "--report", str(path))


def horizon(path: Path) -> None:
    """Draw regret against the horizon."""
    _reproduced(path)


def transition(path: Path) -> None:
    """Draw where the price of the bias becomes that of a linear bandit."""
    _reproduced(path)


def blindness(path: Path) -> None:
    """Draw what elimination loses that knows of no bias."""
    _reproduced(path)


def _reproduced(path: Path) -> None:
    """Draw the figure of `evenhand reproduce` that has the name of the file."""
    from evenhand.report.pictures import save_figure  # noqa: PLC0415
    from evenhand.research.reproduction.figures import FIGURES  # noqa: PLC0415

    (figure,) = (one for one in FIGURES if one.name == path.stem)
    save_figure(figure.draw(_measured()), path)


@cache
def _measured() -> Measurements:
    """Run what these figures show, on the grid of the full run, and as good as nothing else."""
    from evenhand.cli.research.workers import worker_pool  # noqa: PLC0415
    from evenhand.research.reproduction import measure, programme  # noqa: PLC0415

    full, found = programme("full"), programme("quick")
    for part in ("in_kappa", "growth"):
        found[part]["replications"] = 2
    found["audits"] |= {"replications": 2, "frail_replications": 2}
    found["sets"]["number"] = 2
    found |= {
        part: full[part] | {"replications": 20} for part in ("in_horizon", "transition", "blind")
    }
    with worker_pool(None) as executor:
        return measure(found, 0, executor)


def _evenhand(*words: str) -> None:
    command = [sys.executable, "-m", "evenhand", *words]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _examples(page: str, until: str | None = None) -> dict[str, Any]:
    """Run the examples of a page, and return the names that they leave."""
    names: dict[str, Any] = {}
    text = (DOCS / page).read_text("utf-8")
    for example in doctest.DocTestParser().get_examples(text):
        if until is not None and example.source.startswith(until):
            break
        with redirect_stdout(StringIO()):
            exec(compile(example.source, page, "single"), names)
    return names


def _browsed(path: Path, *words: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        _evenhand(*words, "--report", str(page))
        _screenshot(path, page.as_uri(), "1000,1240")


def _screenshot(path: Path, address: str, size: str) -> None:
    """Show what stands at an address as a browser does."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit(f"{path.name} is a page as a browser shows it: install Chromium.")
    flags = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=2000"]
    flags.append("--run-all-compositor-stages-before-draw")  # else tiles at the end stay blank
    subprocess.run(
        [browser, *flags, f"--window-size={size}", f"--screenshot={path}", address],
        check=True,
        capture_output=True,
    )


def _served(path: Path, evaluator: str | None, size: str) -> None:
    """Show a campaign whose judges favour skaters from home, or the page of one of them."""
    sys.path.insert(0, str(ROOT / "tests"))
    import evenhand as eh  # noqa: PLC0415
    from evenhand.campaigns.stores import open_store  # noqa: PLC0415
    from evenhand.serve import make_app  # noqa: PLC0415
    from evenhand.serve.access import grant  # noqa: PLC0415
    from served import serving  # noqa: PLC0415 # beside the tests, not in the package

    nations = {"Ann": "FRA", "Bo": "ITA", "Cy": "FRA", "Di": "USA", "Ed": "JPN"}
    homes = ("FRA", "FRA", "SWE", "ITA", "JPN", "USA", "FRA", "SWE")
    names = ("Paul", "Rosa", "Sven", "Ugo", "Kim", "Max", "Lea", "Noa")
    judges = dict(zip(names, homes, strict=True))
    worth = dict(zip(nations, (7.0, 5.9, 4.6, 3.8, 8.6), strict=True))
    shown = {name: {"programme": f"Free dance, {i + 1}"} for i, name in enumerate(nations)}
    rng = np.random.default_rng(0)

    def evaluate(question: Any) -> float:
        own = nations[question.label] == judges[question.evaluator]
        return float(np.clip(worth[question.label] + 1.5 * own + 0.5 * rng.normal(), 0, 10).round())

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "prize.db")
        made = eh.Campaign.create(
            store, "Prize", eh.Questions.panel(nations, judges), bounds=(0, 10), display=shown,
            looks="once",
        )  # fmt: skip
        if evaluator is None:
            made.run(evaluate)
        role = "viewer" if evaluator is None else "evaluator"
        token = grant(store, role, "Prize", evaluator or "")
        with serving(make_app(store)) as address:
            _screenshot(path, f"{address}/enter/{token}", size)
        store.close()


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 # slow to load
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=size, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns)
    for axis in np.ravel(axes):
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(colors=FAINT, labelsize=8)
    return figure, axes


SLOW = (prompts, compare, certain, horizon, transition, blindness)
PICTURES: dict[str, Callable[[Path], None]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        jury,
        season,
        panel,
        choose,
        plan,
        hand_out,
        skating,
        report_audit,
        report_choice,
        serve_campaign,
        serve_judge,
        *SLOW,
    )
}


def main(names: list[str]) -> None:
    """Draw the pictures of these names, or all."""
    os.environ["SOURCE_DATE_EPOCH"] = str(DAY)
    for name in names or PICTURES:
        path = IMAGES / f"{name}.png"
        PICTURES[name](path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
