"""Where the lowest scores are the best: said once, and true in every answer.

The heart is the mirror: what is said of scores y with the lowest the best is what is said of a − y
with the highest the best, and values, bars and biases are those of y.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from openpyxl import Workbook
from typer.testing import CliRunner

import evenhand as eh
from evenhand import judges
from evenhand.best import direction, oriented
from evenhand.cli import app
from mirrors import alike, are_mirrors
from score_tables import scored

A = 6.0  # scores are mirrored to A − y


@pytest.mark.parametrize(
    ("scale", "best"),
    [((5, 1), "high"), ((1, 1), None), ((1,), None), ("ab", None), (None, "lowest"), (None, 1)],
)
def test_what_contradicts_itself_is_refused(scale: object, best: object) -> None:
    with pytest.raises(eh.InputError):
        oriented(scale, best)


def panel(seed: int = 0, share: float = 1.0, noise: float = 0.3, step: float = 0.3) -> pd.DataFrame:
    """Marks from about 1, the best, to 5: o0 is the best; judges favour their own group."""
    rng = np.random.default_rng(seed)
    options, judges = [f"o{i}" for i in range(9)], [f"j{i}" for i in range(7)]
    rows = []
    for i, option in enumerate(options):
        for k, judge in enumerate(judges):
            if rng.random() <= share:
                own = i % 3 == k % 3
                score = 1.5 + step * i + 0.1 * k - 0.4 * own + noise * rng.standard_normal()
                rows.append((option, judge, f"g{i % 3}", f"g{k % 3}", "AB"[i % 2], score))
    names = ["option", "evaluator", "option_group", "evaluator_group", "kind", "score"]
    return pd.DataFrame(rows, columns=names)


def on_items(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (f"o{i}", f"t{t}", 1.0 + 0.2 * i + 0.5 * rng.standard_normal())
        for t in range(30)
        for i in range(4)
    ]
    return pd.DataFrame(rows, columns=["option", "item", "score"])


def compared(seed: int = 2) -> pd.DataFrame:
    """Below 0: the first is better; o0 is the best."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"o{a}", f"o{b}", f"j{j}", 0.5 * (a - b) - 0.1 + 0.3 * rng.standard_normal())
        for a in range(5)
        for b in range(5)
        for j in range(4)
        if a != b
    ]
    return pd.DataFrame(rows, columns=["option", "rival", "evaluator", "score"])


def votes(seed: int = 3) -> pd.DataFrame:
    """1 says that it failed."""
    failed = np.random.default_rng(seed).random((4, 40)) < 0.1 + 0.2 * np.arange(4)[:, None]
    return scored(failed)


def mirrored(table: pd.DataFrame, a: float = A) -> pd.DataFrame:
    return table.assign(score=a - table["score"])


CASES: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
    "complete": (panel(), {}),
    "clear": (panel(noise=0.05), {}),
    "sparse": (panel(4, share=0.6), {}),
    "top": (panel(5), {"top": 3}),
    "top, sparse": (panel(5, share=0.7), {"top": 3, "tolerance": 0.2}),
    "bar": (panel(6), {"bar": 2.5}),
    "bar, tolerance": (panel(6), {"bar": 2.5, "tolerance": 0.3}),
    "against": (panel(7), {"against": "o3"}),
    "against, tolerance": (panel(7), {"against": "o3", "tolerance": 0.4}),
    "within": (panel(8), {"within": "kind", "top": 2}),
    "tolerance": (panel(9), {"tolerance": 0.6}),
    "scale": (panel(0), {"scale": (0.0, 6.0)}),
    "votes": (votes(), {}),
    "items": (on_items(), {}),
    "items, against": (on_items(), {"against": "o1"}),
    "trusted": (panel(10), {"trusted": ["j0", "j1", "j2"]}),
    "adaptively": (panel(11, noise=0.05), {"assigned": "adaptively"}),
    "these": (panel(13), {"scope": "these"}),
}


@pytest.mark.parametrize("mirror", [A, 0.0])
@pytest.mark.parametrize("name", CASES)
def test_decide_is_the_mirror(name: str, mirror: float) -> None:
    table, said = CASES[name]
    a = 1.0 if name == "votes" else A if "scale" in said else mirror
    turned = said | ({"bar": a - said["bar"]} if "bar" in said else {})
    low = eh.decide(table, best="low", **said)
    are_mirrors(low, eh.decide(mirrored(table, a), **turned), a)
    assert low.chosen[0] == "o0"


def test_comparisons_are_the_mirror() -> None:
    table = compared()
    low, high = eh.decide(table, best="low"), eh.decide(mirrored(table, 0.0), best="high")
    are_mirrors(low, high, 0.0)
    assert low.label == "o0"
    assert low.sure
    words = table.assign(score=np.where(table["score"] < 0, "first", "second"))
    with pytest.raises(eh.InputError):
        eh.decide(words, best="low")


def test_wide_tables_and_one_baseline_are_mirrors() -> None:
    wide = panel().pivot_table(index="option", columns="evaluator", values="score").reset_index()
    turned = wide.assign(**{j: A - wide[j] for j in wide if j != "option"})
    are_mirrors(eh.decide(wide, wide=True, best="low"), eh.decide(turned, wide=True), A)
    rng = np.random.default_rng(4)
    rows = [
        (f"o{i}", "base", f"t{t}", 0.2 * i - 0.3 + 0.5 * rng.standard_normal(), 100 + 9 * i + t)
        for i in range(3)
        for t in range(30)
    ]
    against = pd.DataFrame(rows, columns=["option", "rival", "item", "score", "length"])
    against = against.assign(rival_length=100, evaluator="J")
    are_mirrors(eh.decide(against, best="low"), eh.decide(mirrored(against, 0.0)), 0.0)
    low, high = eh.audit(against, best="low").ranking, eh.audit(mirrored(against, 0.0)).ranking
    assert low["option"].tolist() == high["option"].tolist()
    alike(
        low[["value", "low", "rank as given"]],
        high[["value", "high", "rank as given"]] * [-1, -1, 1],
    )


def test_a_scale_from_high_to_low_and_scores_that_know_it_say_the_same() -> None:
    table = panel()
    said = eh.decide(table, best="low", scale=(0, 6))
    assert eh.decide(table, scale=(6, 0)) == said or eh.decide(table, scale=(6, 0)).best == "low"
    scores = eh.read_scores(table, best="low")
    assert scores.best == scores.to_dict()["best"] == "low"
    assert scores.score.tolist() == table["score"].tolist()
    for known in (scores, scores.to_frame()):
        again = eh.decide(known)
        assert again.best == "low"
        assert (
            again.standings["value"].tolist()
            == eh.decide(table, best="low").standings["value"].tolist()
        )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (panel(), {}),
        (panel(4, share=0.6), {"top": 3}),
        (panel(6), {"bar": 2.5}),
        (panel(7), {"against": "o3"}),
        (panel(0), {"scale": (0.0, 6.0)}),
        (panel(0).assign(event=lambda t: t["kind"]), {}),
        (compared().assign(group=lambda t: t["option"]), {}),
    ],
)
def test_audit_is_the_mirror(table: pd.DataFrame, said: dict[str, Any]) -> None:
    a = 0.0 if "rival" in table else A
    turned = said | ({"bar": a - said["bar"]} if "bar" in said else {})
    low, high = eh.audit(table, best="low", **said), eh.audit(mirrored(table, a), **turned)
    for name in ("bias", "naive", "here"):
        one, other = getattr(low, name), -getattr(high, name)
        alike(
            [one.value, one.low, one.high, one.se], [other.value, other.low, other.high, other.se]
        )
    alike(low.placebo.draws, -high.placebo.draws)
    for frame in ("evaluators", "groups"):
        one, other = getattr(low, frame), getattr(high, frame)
        if len(one) and "leniency" in one:
            alike(one["leniency"], -other["leniency"])
        if len(one):
            alike(one["shrunk"], -other["shrunk"])
            alike(one["q"], other["q"])
    one, other = low.decisions, high.decisions
    for same in ("winner", "fair_winner", "runner_up", "verdict"):
        assert one[same].tolist() == other[same].tolist()
    for same in ("lead", "lead_se", "chance", "tipping_favour"):
        alike(one[same], other[same])
    if low.shortlist is not None and high.shortlist is not None:
        pd.testing.assert_frame_equal(low.shortlist, high.shortlist)
    assert [x.assumption for x in low.warnings] == [x.assumption for x in high.warnings]
    assert low.to_dict()["best"] == "low"
    assert direction("low") in str(low)
    assert direction("high") in str(high)


def test_a_favour_is_below_0_and_is_called_one() -> None:
    found = eh.audit(panel(), best="low")
    assert found.bias.high < 0.0
    assert found.decisions["fair_winner"].tolist() == ["o0"]


@pytest.mark.parametrize(
    ("scale", "said"),
    [((1, 5), {"best": "low"}), ((5, 1), {}), (None, {"bounds": (5, 1)})],
)
@pytest.mark.parametrize("design", ["paired", "search"])
def test_judges_who_are_programs_choose_the_lowest(
    scale: tuple[float, float] | None, said: dict[str, Any], design: Any
) -> None:
    items = [str(i) for i in range(30)]
    texts = {name: {i: f"{name} {i}" for i in items} for name in ("good", "bad")}

    def model(text: str, item: str) -> str:
        noise = np.random.default_rng([int(item), len(text)]).random()
        return f"{(1.5 if text.startswith('good') else 3.5) + 0.5 * noise:.2f}"

    asked = judges.panel(texts, [judges.Judge(model, name="m")], scale=scale)
    answer = asked.choose(at_most=60, design=design, **said)
    assert (answer.label, answer.sure, answer.best) == ("good", True, "low")
    assert eh.decide(asked.record(), repeats=True).label == "good"


def test_verdicts_and_grades_know_what_is_best() -> None:
    questions = eh.Questions.comparisons(["x", "y"], ["P"])
    with pytest.raises(eh.InputError):
        eh.choose(questions, lambda question: "first", scores="verdicts", best="low")
    table = panel().assign(score=lambda t: np.where(t["score"] < 3, "good", "bad"))
    with pytest.raises(eh.InputError):
        eh.decide(table, grades=["good", "bad"], best="low")


@pytest.mark.parametrize(
    "said",
    [
        {"values": [1.0, 2.0, 2.5, 4.0]},
        {"values": 1.0, "top": 2, "reviews": 2},
        {"values": [1.0, 2.0, 2.5, 4.0], "bar": 2.2, "reviews": 2},
        {"values": 1.0, "bar": 0.3, "reviews": 2},
    ],
)
def test_plan_is_the_mirror(said: dict[str, Any]) -> None:
    names, judges = ["a", "b", "c", "d"], ["P", "Q", "R", "S"]
    questions = eh.Questions.panel(names, judges)
    turned = dict(said)
    several = np.ndim(said["values"]) > 0
    if several:
        turned["values"] = (A - np.array(said["values"])).tolist()
    if "bar" in said:
        turned["bar"] = (A if several else 0.0) - said["bar"]
    low, high = eh.plan(questions, best="low", **said), eh.plan(questions, **turned)
    assert low.counts.tolist() == high.counts.tolist()
    alike(low.probability, high.probability)
    if low.expected is not None and high.expected is not None:
        alike([low.expected.right, low.expected.lost], [high.expected.right, high.expected.lost])
    assert low.to_dict()["best"] == "low"
    assert low.target.bar == said.get("bar")
    assert direction("low") in str(low)


TITLE = "American Institute of Biological Sciences - overall merit (1.0 best, 5.0 worst)"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Twelve proposals by eight reviewers, a column each, 1.0 best; P01 is the best."""
    rng = np.random.default_rng(0)
    made = Workbook()
    sheet = made.active
    sheet.append([TITLE])
    sheet.append(["Proposal", *(f"R{j}" for j in range(8))])
    for i in range(12):
        marks = np.clip(1.2 + 0.3 * i + 0.15 * rng.standard_normal(8), 1.0, 5.0).round(1)
        sheet.append([f"P{i + 1:02d}", *marks.tolist()])
    path = tmp_path / "panel.xlsx"
    made.save(path)
    return path


def test_the_panel_funds_the_lowest_marks(book: Path) -> None:
    best = tuple(f"P{i:02d}" for i in range(1, 7))
    runner, said = (
        CliRunner(),
        ["decide", str(book), "--column=option=Proposal", "--target", "top=6"],
    )
    refused = runner.invoke(app, said)
    assert refused.exit_code == 2
    for word in ("--scale low", "--scale high"):
        assert word in " ".join(refused.output.split())
    for how in (["--scale", "low"], ["--scale", "5,1"], ["--scale", "1,5", "--scale", "low"]):
        done = runner.invoke(app, [*said, *how, "--json"])
        assert done.exit_code == 0, done.output
        found = json.loads(done.output)
        assert found["best"] == "low"
        assert set(found["target"]["chosen"]) == set(best)
        assert set(found["target"]["inside"]) <= set(best)
        assert 1.0 <= found["ranking"][0]["value"] < found["ranking"][-1]["value"] <= 5.0
    page = book.with_suffix(".html")
    assert "Lower is better" in runner.invoke(app, [*said, "--scale", "low"]).output
    assert runner.invoke(app, [*said, "--scale", "low", "--report", str(page)]).exit_code == 0
    assert "Lower is better" in page.read_text(encoding="utf-8")
    worst = eh.decide(book, columns={"option": "Proposal"}, top=6, best="high")
    assert worst.chosen[0] == "P12"
    assert eh.decide(book, columns={"option": "Proposal"}, bar=2.0, best="low").chosen[0] == "P01"


RANKS = ["rank", "Rank", "final_rank", "placing", "Place", "Platz", "Rang", "Note", "position"]


@pytest.mark.parametrize("column", [*RANKS, "1 = best"])
def test_columns_of_ranks_are_refused_until_it_is_said(column: str) -> None:
    table = panel().rename(columns={"score": column})
    with pytest.raises(eh.InputError, match="best="):
        eh.decide(table, columns={"score": column})
    assert eh.decide(table, columns={"score": column}, best="low").label == "o0"
    assert eh.audit(table, columns={"score": column}, best="high").to_dict()["best"] == "high"


@pytest.mark.parametrize(
    "column",
    ["rating", "score", "points", "placebo", "frank", "marketplace", "10 = best", "5 best"],
)
def test_ordinary_columns_are_not(column: str) -> None:
    table = panel().rename(columns={"score": column})
    assert eh.read_scores(table, columns={"score": column}).best == "high"


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("1 – sehr gut", "2 – gut", "3"), True),
        (("1: strong accept", "2: accept", "3: reject"), True),
        (("1 = strongly disagree", "2", "3 = strongly agree"), False),
        (("1 (poor)", "2 (fair)", "3 (excellent)"), False),
    ],
)
def test_words_behind_marks_are_heeded(words: tuple[str, ...], refused: bool) -> None:
    rows = [(f"o{i}", f"j{j}", words[(i + j) % 3]) for i in range(4) for j in range(3)]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    if refused:
        with pytest.raises(eh.InputError, match="best="):
            eh.read_scores(table)
    assert eh.read_scores(table, best="high").score.max() == 3.0


@pytest.mark.parametrize(
    ("title", "refused"),
    [
        ("Scores: 1 = excellent, 9 = poor", True),
        ("Scale: best = 1", True),
        ("1 is best", True),
        ("Ranking of 2026", True),
        ("Lower is better", True),
        ("Lowest score wins", True),
        ("1 ist die beste Note", True),
        ("1 = très bien", True),
        ("9 = worst", True),
        ("Schulnoten", True),
        ("10 best; 1 worst", False),
        ("Panel of 2026, 10 is best", False),
        ("Note: panel 1, place Berlin", False),
        ("Round 1: best practice", False),
    ],
)
def test_titles_are_heeded(title: str, refused: bool) -> None:
    text = f"{title.replace(',', ';')},,\noption,evaluator,score\n"
    text += "".join(f"o{i},j{j},{i + j % 2}\n" for i in range(3) for j in range(4))
    if refused:
        with pytest.raises(eh.InputError, match="best="):
            eh.read_scores(io.StringIO(text))
        assert eh.read_scores(io.StringIO(text), best="low").best == "low"
    else:
        assert eh.read_scores(io.StringIO(text)).best == "high"
