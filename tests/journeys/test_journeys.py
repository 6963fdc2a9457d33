"""What users do, from a table to an answer: its numbers, and its words, as they were last agreed.

Every journey goes through a public door (`evenhand`, a command, a page). Numbers stand in
`golden/NAME.json` and are held to 1e-9 of their size, but for keys in `MAY_CHANGE`; prose stands in
`golden/NAME.txt`, which a person reads, and is held to the letter. After a change that alters them:

    JOURNEYS=update python -m pytest tests/journeys        (or with -k NAME)

writes both anew; look at `git diff tests/journeys` and say in the commit why they changed.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli import app
from served import Server

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[2]
ICE_DANCE = ROOT / "examples" / "skating" / "ice_dance.csv"
SKATE_AMERICA = ROOT / "examples" / "skating" / "skate_america.csv"
MAY_CHANGE: Mapping[str, tuple[str, ...]] = {}  # of a journey: patterns of keys, such as "*.low"

Journey = Callable[[Path], tuple[dict[str, Any], str]]
JOURNEYS: dict[str, Journey] = {}


def journey(function: Journey) -> Journey:
    """Keep a journey by its name."""
    JOURNEYS[function.__name__] = function
    return function


def of_answer(answer: eh.Answer) -> dict[str, Any]:
    """Return the numbers of an answer."""
    found: dict[str, Any] = {
        "chosen": list(answer.chosen),
        "sure": answer.sure,
        "loss": answer.loss,
        "confidence": answer.confidence,
        "scores": answer.to_dict()["scores"],
        "alarms": sorted(finding.assumption for finding in answer.alarms),
        "bias": _ends(answer.bias),
        "biases": {
            one.name: [*_ends(one, "estimate"), one.shrunk] for one in answer.biases if one.name
        },
        "options": {
            one.option: [one.raw, *_ends(one), one.lead, one.evaluations] for one in answer.ranking
        },
    }
    if answer.conclusion.target.top != 1 or answer.categories is not None:
        found["in"], found["out"] = list(answer.inside), list(answer.outside)
        places = answer.standings.set_index("option")[["chance", "rank_low", "rank_high"]]
        found["places"] = {name: row.tolist() for name, row in places.iterrows()}
    if answer.next_questions:
        found["next"] = [[*one.options, one.evaluator] for one in answer.next_questions]
    return found


def of_audit(found: eh.Audit) -> dict[str, Any]:
    """Return the numbers of an audit."""
    made = found.decisions
    return {
        "bias": _ends(found.bias),
        "here": _ends(found.here),
        "placebo": [found.placebo.bias, found.placebo.sd, found.placebo.chance],
        "winner": made["winner"].tolist(),
        "fair winner": made["fair_winner"].tolist(),
        "verdict": made["verdict"].tolist(),
        "evaluators": _rows(found.evaluators, ["value", "low", "high", "shrunk"]),
        "groups": _rows(found.groups, ["value", "low", "high", "shrunk"]),
        "warnings": sorted(finding.assumption for finding in found.warnings),
    }


def _ends(one: Any, value: str = "value") -> list[float]:
    return [getattr(one, value), one.low, one.high]


def _rows(frame: pd.DataFrame, wanted: list[str]) -> dict[str, list[float]]:
    wanted = [name for name in wanted if name in frame]
    return {str(row.iloc[0]): row[wanted].tolist() for _, row in frame.iterrows()}


def commanded(*arguments: object, code: int = 0) -> str:
    """Return what a command prints."""
    shown = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "100"})
    assert shown.exit_code == code, shown.output
    return shown.output


def grants() -> pd.DataFrame:
    """12 applications in two fields, 6 reviewers of whom each reads eight; marks from 1 to 10."""
    rng = np.random.default_rng(20)
    worth, lenient = rng.normal(0.0, 2.0, 12), rng.normal(0.0, 1.0, 6)
    rows = []
    for x, r in np.ndindex(12, 6):
        own, noise = x % 3 == r % 3, rng.normal()
        mark = np.clip(round(5.5 + worth[x] + lenient[r] + own + noise), 1, 10)
        if (x + 2 * r) % 4:
            names = (f"A{x + 1}", f"R{r + 1}", f"U{x % 3}", f"U{r % 3}", ("arts", "law")[x % 2])
            rows.append((*names, float(mark)))
    columns = ["option", "evaluator", "option_group", "evaluator_group", "field", "score"]
    return pd.DataFrame(rows, columns=columns)


def tried() -> pd.DataFrame:
    """Three models on 24 prompts: a model judges all, two people the first ten."""
    rng = np.random.default_rng(21)
    text = np.array([0.9, 0.3, 0.0])[:, None] + 0.4 * rng.normal(size=(3, 24))
    rows = [
        (f"model {o}", judge, f"prompt {i}", round(5.0 + text[o, i] + likes * (o == 1) + noise, 2))
        for judge, n, likes in (("gpt", 24, 0.6), ("Ann", 10, 0.0), ("Bo", 10, 0.0))
        for o in range(3)
        for i in range(n)
        if (noise := 0.3 * rng.normal()) is not None
    ]
    return pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])


def fought() -> pd.DataFrame:
    """Four models in battles of both orders by three judges who like what stands first."""
    rng = np.random.default_rng(22)
    worth = dict(zip("ABCD", (1.6, 0.6, 0.2, -0.4), strict=True))
    rows = [
        (a, b, judge, float(np.sign(at) * (abs(at) > 0.4)))
        for judge in ("P", "Q", "R")
        for a in worth
        for b in worth
        if a != b and (at := worth[a] - worth[b] + 0.3 + rng.logistic()) is not None
    ]
    return pd.DataFrame(rows, columns=["option", "rival", "evaluator", "score"])


SKATERS = {"Ann": "FRA", "Bo": "ITA", "Cy": "FRA", "Di": "USA", "Ed": "JPN"}
JUDGES = {"Paul": "FRA", "Rosa": "USA", "Sven": "SWE", "Tom": "ITA"}
WORTH = {"Ann": 7.0, "Bo": 6.0, "Cy": 5.5, "Di": 6.5, "Ed": 8.5}


def given(option: str, evaluator: str) -> float:
    """Return the mark that a judge gives: the same whenever it is asked."""
    rng = np.random.default_rng([list(SKATERS).index(option), list(JUDGES).index(evaluator)])
    own = SKATERS[option] == JUDGES[evaluator]
    return round(float(WORTH[option] + own + 0.4 * rng.normal()), 1)


@journey
def audit(_: Path) -> tuple[dict[str, Any], str]:
    found = eh.audit(ICE_DANCE)
    return of_audit(found), str(found)


@journey
def audit_command(folder: Path) -> tuple[dict[str, Any], str]:
    page = folder / "audit.html"
    shown = commanded("audit", ICE_DANCE, "--report", page)
    assert page.read_text().startswith("<!DOCTYPE html>")
    return {"words": len(shown.split())}, shown


@journey
def decide(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(ICE_DANCE)
    difference = answer.compare("S255", "S161")
    return of_answer(answer) | {"compare": [*_ends(difference), difference.at_least]}, str(answer)


@journey
def top(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(grants(), top=4, scale=(1, 10))
    return of_answer(answer), str(answer)


@journey
def bar(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(grants(), bar=5.5, scale=(1, 10))
    return of_answer(answer), str(answer)


@journey
def against(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(ICE_DANCE, against="S013", tolerance=1.0)
    return of_answer(answer), str(answer)


@journey
def within(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(grants(), top=2, within="field", scale=(1, 10))
    return of_answer(answer), str(answer)


@journey
def items(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(tried().query("evaluator == 'gpt'"))
    return of_answer(answer), str(answer)


@journey
def battles(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(fought())
    return of_answer(answer), str(answer)


@journey
def trusted(_: Path) -> tuple[dict[str, Any], str]:
    answer = eh.decide(tried(), trusted=["Ann", "Bo"])
    return of_answer(answer), str(answer)


@journey
def low_is_best(_: Path) -> tuple[dict[str, Any], str]:
    table = grants()
    turned = table.assign(score=11 - table["score"])
    answer = eh.decide(turned, top=4, scale=(1, 10), best="low")
    assert answer.chosen == eh.decide(table, top=4, scale=(1, 10)).chosen
    return of_answer(answer), str(answer)


@journey
def plan(_: Path) -> tuple[dict[str, Any], str]:
    found = eh.plan(eh.Questions.panel(SKATERS, JUDGES), leads=2.0, noise_scale=0.6)
    numbers = {"n": found.evaluations, "enough": found.enough, "chance": found.probability}
    return numbers, str(found)


@journey
def inspect(_: Path) -> tuple[dict[str, Any], str]:
    features = "base_value,max_base,ability"
    options = (
        "--column=option=skater",
        "--column=option_group=side",
        f"--column=features={features}",
    )
    shown = commanded("inspect", SKATE_AMERICA, *options)
    frame = pd.read_csv(SKATE_AMERICA)
    actions = eh.ActionSet(frame[features.split(",")].to_numpy(), frame["side"].tolist())
    found = eh.inspect(actions)
    design = eh.bias_optimal_design(actions)
    return {"kappa": found.kappa_star, "rank": found.rank, "design": list(design.weights)}, shown


@journey
def choose_panel(_: Path) -> tuple[dict[str, Any], str]:
    rng = np.random.default_rng(5)
    prices = dict(zip(JUDGES, (1.0, 1.3, 1.7, 2.3), strict=True))  # no two shares are as good
    panel = eh.Questions.panel(SKATERS, JUDGES, capacity=None, prices=prices)

    def score(question: eh.Question) -> float:
        own = SKATERS[question.label] == JUDGES[str(question.evaluator)]
        return float(WORTH[question.label] + own + rng.normal())

    answer = eh.choose(panel, score, progress=False, seed=1)
    return of_answer(answer) | {"spent": answer.spent}, str(answer)


@journey
def choose_features(_: Path) -> tuple[dict[str, Any], str]:
    rng = np.random.default_rng(6)
    features = rng.normal(size=(8, 2))
    groups = np.where(np.arange(8) % 2, "home", "away")
    means = features @ [2.0, 1.0] + np.where(groups == "home", 0.8, -0.8)
    names = [f"x{x}" for x in range(8)]
    actions = eh.ActionSet(features, groups.tolist(), names, intercept=True)

    def score(question: eh.Question) -> float:
        return float(means[question.option] + rng.normal())

    answer = eh.choose(actions, score, at_most=300, deviation=0, progress=False)
    return of_answer(answer) | {"spent": answer.spent}, str(answer)


@journey
def campaign_by_sheets(folder: Path) -> tuple[dict[str, Any], str]:
    """Begin it, write sheets, fill them in, read them, report and verify, by commands."""
    options = pd.DataFrame({"option": list(SKATERS), "nation": list(SKATERS.values())})
    people = pd.DataFrame({"evaluator": list(JUDGES), "nation": list(JUDGES.values())})
    options.to_csv(folder / "options.csv", index=False)
    people.to_csv(folder / "judges.csv", index=False)
    where = (folder / "prize.db", "prize")
    groups = ("--column=option_group=nation", "--column=evaluator_group=nation")
    commanded(
        "campaign", "new", *where, folder / "options.csv", "--evaluators", folder / "judges.csv",
        "--scale", "0,10", *groups,
    )  # fmt: skip
    for judge in JUDGES:
        sheet = folder / f"{judge}.csv"
        commanded("campaign", "ask", *where, "-n", "10", "--evaluator", judge, "--sheet", sheet)
    for sheet in sorted(folder / f"{judge}.csv" for judge in JUDGES):
        table = pd.read_csv(sheet, dtype=str)
        table["score"] = [str(given(name, sheet.stem)) for name in table["option"]]
        table.to_csv(sheet, index=False)
        commanded("campaign", "import", *where, sheet)
    shown = commanded("campaign", "answer", *where)
    commanded("campaign", "export", *where, folder / "prize.html")
    commanded("campaign", "verify", *where)
    with eh.Campaign.open(*where) as campaign:
        return of_answer(campaign.answer()), shown


@journey
def simulation(_: Path) -> tuple[dict[str, Any], str]:
    problem = eh.families.random(12, 2, seed=4)
    policies = ["fair-phased-elimination", "priced-exploration", "uniform"]
    found = eh.simulate(problem, policies, 2_000, replications=4, seed=3)
    return found.summary().set_index("policy").T.to_dict(), str(found)


class RoundRobin(eh.Policy):
    """Every option in turn."""

    name = "round-robin"

    def play(self) -> Iterator[Any]:
        self.total = np.zeros(len(self.actions))
        for t in range(self.horizon):
            feedback = yield {t % len(self.actions): 1}
            self.total += feedback.sums

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, int(np.argmax(self.total)) if self.spent else 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(float("nan"), -np.inf, np.inf, 0.95)


@journey
def own_policy(_: Path) -> tuple[dict[str, Any], str]:
    actions = eh.ActionSet([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], ["a", "b", "a"], list("xyz"))
    policy = RoundRobin(actions, horizon=9)
    answer = eh.choose(actions, lambda q: 5.0 - q.option + q.turn, policy=policy, progress=False)
    return of_answer(answer), str(answer)


@journey
def campaign_by_link(folder: Path) -> tuple[dict[str, Any], str]:
    """Have a server keep a choice, which this program makes by the owner's link."""
    panel = eh.Questions.panel(SKATERS, JUDGES)
    server = Server(folder / "server.db")
    try:
        answer = eh.choose(
            panel, lambda q: given(q.label, str(q.evaluator)), store=server.link, progress=False
        )
    finally:
        server.close()
    with eh.Campaign.open(folder / "server.db", "choice") as campaign:
        assert campaign.answer().to_dict() == answer.to_dict()
        assert campaign.verify()
    return of_answer(answer), str(answer)


@journey
def page(folder: Path) -> tuple[dict[str, Any], str]:
    """Upload a spreadsheet, and read what the page and its report say."""
    grants().to_excel(folder / "grants.xlsx", index=False)
    server = Server(folder / "server.db")
    try:
        with httpx.Client(
            base_url=server.address, headers={"Accept": "text/html"}, timeout=60
        ) as browser:
            browser.follow_redirects = True
            browser.get(server.link)
            word = re.search(r'name="csrf" value="(\w+)"', browser.get("/scores").text)
            assert word
            files = {"table": ("grants.xlsx", (folder / "grants.xlsx").read_bytes())}
            kept = browser.post("/scores", data={"csrf": word[1]}, files=files)
            said = browser.get(f"{kept.url.path}/answer", params={"top": "4", "scale": "1,10"})
            assert said.status_code == 200, said.text
            reports = sorted(set(re.findall(r'href="([^"]*/\w+\.html[^"]*)"', said.text)))
            pages = [browser.get(html.unescape(one)) for one in reports]
    finally:
        server.close()
    assert all(one.status_code == 200 for one in pages)
    verdicts = re.findall(r'class="verdict">(.*?)</', said.text, re.S)
    prose = [re.sub(r"<[^>]*>|\s+", " ", html.unescape(one)).strip() for one in verdicts]
    lines = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in said.text.split("<tr")]
    prose += ["  ".join(html.unescape(re.sub(r"<[^>]*>", "", one)) for one in row) for row in lines]
    return {"verdicts": len(verdicts), "reports": len(reports)}, "\n".join(filter(None, prose))


def rounded(value: Any) -> Any:
    """Return a value as JSON can hold it, numbers to 12 digits."""
    if isinstance(value, Mapping):
        return {str(name): rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        return float(f"{value:.12g}") if math.isfinite(value) else str(float(value))
    return int(value) if isinstance(value, np.integer) else value


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and word by where it stands."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{name}.{key}".lstrip("."))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from leaves(one, f"{name}.{i}")
    else:
        yield name, value


def changed(now: Any, was: Any) -> bool:
    """Tell whether a number or word is another."""
    if isinstance(now, float | int) and isinstance(was, float | int):
        return not math.isclose(now, was, rel_tol=1e-9, abs_tol=1e-9)
    return bool(now != was)


@pytest.mark.parametrize("name", list(JOURNEYS))
def test_a_journey_ends_where_it_did(name: str, tmp_path: Path) -> None:
    numbers, prose = JOURNEYS[name](tmp_path)
    prose = re.sub(r"\S*e-1\d", "0", prose.replace(str(tmp_path), ".")).rstrip() + "\n"
    numbers = rounded(numbers)
    kept, text = GOLDEN / f"{name}.json", GOLDEN / f"{name}.txt"
    if os.environ.get("JOURNEYS") == "update":
        kept.write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
        text.write_text(prose)
    now, was = dict(leaves(numbers)), dict(leaves(json.loads(kept.read_text())))
    may = MAY_CHANGE.get(name, ())
    others = [
        f"{key}: {was.get(key)} → {now.get(key)}"
        for key in now | was
        if changed(now.get(key), was.get(key)) and not any(fnmatch(key, one) for one in may)
    ]
    assert not others, "\n".join([f"{len(others)} numbers changed:", *others[:20]])
    assert prose == text.read_text()
