"""Pictures and reports of audits show what the audits found, on dull and on evil tables too."""

from __future__ import annotations

import json
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import evenhand as eh
from pages import DocumentReader, read, read_document

DAY = date(2026, 11, 16)
EVIL = '<script>"1"</script> $x$ id="a" -->'
COLOURS = {"safe": "#009e73", "fragile": "#e69f00", "wrong": "#d55e00", "unknown": "#767676"}


def table(
    n_options: int,
    n_judges: int,
    n_groups: int = 3,
    n_events: int = 1,
    favour: float = 1.0,
    noise: float = 0.5,
) -> pd.DataFrame:
    """Return scores of every judge for every option at every event."""
    rng = np.random.default_rng(7)
    rows = [
        (f"event {e}", f"{EVIL} {o}", f"J{j}", f"g{o % n_groups}", f"g{j % n_groups}", o, j)
        for e in range(n_events)
        for o in range(n_options)
        for j in range(n_judges)
    ]
    names = ["event", "option", "evaluator", "option_group", "evaluator_group", "o", "j"]
    frame = pd.DataFrame(rows, columns=names)
    own = frame["option_group"] == frame["evaluator_group"]
    worth = 5.0 - 0.3 * frame["o"] + 0.2 * frame["j"]
    frame["score"] = worth + favour * own + noise * rng.standard_normal(len(frame))
    return frame.drop(columns=["o", "j"])


def compared() -> pd.DataFrame:
    """Return verdicts on all pairs of three options by three judges, each partial to one."""
    rng = np.random.default_rng(3)
    rows = [
        (f"o{a}", f"o{b}", f"J{j}", f"g{a}", f"g{b}", f"g{j}", b - a + (a == j) - (b == j))
        for a in range(3)
        for b in range(3)
        for j in range(3)
        if a != b
    ]
    names = ["option", "rival", "evaluator", "option_group", "rival_group", "evaluator_group"]
    frame = pd.DataFrame(rows, columns=[*names, "score"])
    return frame.assign(score=frame["score"] + 0.1 * rng.standard_normal(len(frame)))


TABLES = {
    "several events": table(6, 6, n_events=4),
    "one event": table(4, 3),
    "two evaluators": table(3, 2, 2),
    "one evaluator": table(3, 1),
    "one group": table(3, 3, 1),
    "no noise": table(4, 4, noise=0.0),
    "no bias": table(5, 6, n_events=4, favour=0.0),
    "comparisons": compared(),
    "without groups": table(3, 3, n_events=2).drop(columns=["option_group", "evaluator_group"]),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_audit_has_a_report_a_record_and_a_picture(kind: str, tmp_path: Path) -> None:
    audit = eh.audit(TABLES[kind])
    audit.report(tmp_path / "audit.html", title="The season", made=DAY)
    page = (tmp_path / "audit.html").read_text("utf-8")
    reader = read_document(page)
    verdict = str(audit).split("\n\n")[0].replace("\n", " ")
    assert verdict in " ".join(reader.text.split())
    assert "The season" in reader.text
    shown = read(audit._repr_html_().replace("<br>", " ")).text
    assert verdict in " ".join(shown.split())
    assert json.loads(json.dumps(audit.to_dict(), allow_nan=False)) == audit.to_dict()
    (axes,) = Figure().subplots(squeeze=False).ravel()
    audit.plot(ax=axes)
    assert axes.get_yticklabels()[0].get_text() == "all evaluators"


@pytest.fixture(scope="module")
def audit() -> eh.Audit:
    return eh.audit(TABLES["several events"])


def page_of(audit: eh.Audit, folder: Path) -> str:
    audit.report(folder / "audit.html", title=EVIL)
    return (folder / "audit.html").read_text("utf-8")


@pytest.fixture(scope="module")
def page(audit: eh.Audit, tmp_path_factory: pytest.TempPathFactory) -> DocumentReader:
    return read_document(page_of(audit, tmp_path_factory.mktemp("page")))


def test_the_report_has_the_numbers_of_the_audit(audit: eh.Audit, page: DocumentReader) -> None:
    cells = page.cells
    row = cells.index("bias, for evaluators and options like these")
    shown = [float(cell.replace("−", "-")) for cell in cells[row + 1 : row + 4]]
    found = [audit.bias.value, audit.bias.low, audit.bias.high]
    assert shown == pytest.approx(found, abs=0.0051)
    start = cells.index("evaluator")
    width = cells[start:].index("shown") + 1
    named = cells[start + width :: width][: len(audit.evaluators)]
    assert set(named) == set(audit.evaluators["evaluator"])
    where = cells[start : start + width].index("shrunken")
    for i, name in enumerate(named, 1):
        value = audit.evaluators.set_index("evaluator").loc[name, "shrunk"]
        assert float(cells[start + i * width + where]) == pytest.approx(value, abs=0.0051)


def test_options_of_any_name_stay_names(audit: eh.Audit, page: DocumentReader) -> None:
    doubtful = audit.decisions.query("verdict in ['wrong', 'fragile']")
    assert len(doubtful)
    assert set(doubtful["winner"]) <= set(page.cells)
    assert page.text.count(EVIL) >= 2 + 2 * len(doubtful)


def test_a_bias_that_cannot_be_told_says_whom_to_ask(tmp_path: Path) -> None:
    audit = eh.audit(TABLES["one evaluator"])
    assert not audit.identified.told
    assert len(audit.identified.asks) == len(audit.to_dict()["ask"]) == 2
    shown = " ".join(read_document(page_of(audit, tmp_path)).text.split())
    for ask in audit.identified.asks:
        assert f"'{ask.option}'" in shown


def points_of(axes: Axes) -> dict[tuple[float, float], str]:
    """Return the colours of all marks, by where they stand."""
    return {
        (round(float(x), 9), round(float(y), 9)): to_hex(line.get_color())
        for line in axes.get_lines()
        for x, y in np.asarray(line.get_xydata())
    }


def test_marks_stand_at_their_numbers_in_rows_of_their_names(audit: eh.Audit) -> None:
    who, events, *_ = audit.plot().axes
    rows = dict(zip([t.get_text() for t in who.get_yticklabels()], who.get_yticks(), strict=True))
    points = points_of(who)
    for one in audit.evaluators.itertuples():
        assert (round(one.shrunk, 9), rows[f"{one.evaluator} ({one.group})"]) in points
    assert (round(audit.bias.value, 9), rows["all evaluators"]) in points
    made = audit.decisions.sort_values("tipping_favour", kind="stable")
    points = points_of(events)
    for place, one in enumerate(made.itertuples()):
        assert points[round(one.tipping_favour, 9), place] == COLOURS[one.verdict]


@pytest.mark.parametrize("size", [(8, 40, 4, 2), (3, 3, 3, 40), (3, 1, 3, 1), (4, 2, 2, 24)])
def test_names_do_not_cover_each_other_and_nothing_leaves_the_picture(
    size: tuple[int, int, int, int],
) -> None:
    figure = eh.audit(table(*size)).plot()
    figure.canvas.draw()
    for axes in figure.axes:
        boxes = [one.get_window_extent() for one in axes.get_yticklabels() if one.get_text()]
        boxes = sorted(boxes, key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 + 1.0 for below, above in pairwise(boxes))
        whole = axes.get_tightbbox()
        assert figure.bbox.x0 - 1 <= whole.x0 <= whole.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= whole.y0 <= whole.y1 <= figure.bbox.y1 + 1


def test_of_many_evaluators_and_decisions_some_are_drawn() -> None:
    many = eh.audit(table(8, 40, 4, n_events=2))
    who = many.plot().axes[0]
    known = sorted(many.evaluators["shrunk"].dropna(), reverse=True)
    drawn = {x for x, _ in points_of(who)}
    assert {round(x, 9) for x in (*known[:15], *known[-15:])} <= drawn
    assert len(known) == 40
    assert sum(bool(label.get_text()) for label in who.get_yticklabels()) == 1 + 30
    often = eh.audit(table(3, 3, n_events=1_000))
    favours = {round(x, 9) for x in often.decisions.tipping_favour.tolist()}
    assert 390 <= len(favours & {x for x, _ in points_of(often.plot().axes[1])}) <= 400


def test_what_is_not_known_is_not_drawn() -> None:
    (axes, *_) = eh.audit(TABLES["one evaluator"]).plot().axes
    assert [one.get_text() for one in axes.texts] == ["not known"]
