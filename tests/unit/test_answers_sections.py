"""What answers, differences, statuses and verifications say of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import evenhand as eh
from evenhand.report.model import Points, Result, Section, print_result

ESCAPE, TURNED = "\x1b[31mred", "ab\u202ecd"
JUDGES = [f"Q{ESCAPE}", f"R{TURNED}", "$S$"]


@pytest.fixture(scope="module")
def answer() -> eh.Answer:
    """Scores of three options, one short of what compares all of them well."""
    rows = [
        (option, judge, 5.0 + i + 0.3 * math.sin(7.0 * i + 3.0 * j))
        for i, option in enumerate([f"A{ESCAPE}", f"B{TURNED}", "C"])
        for j, judge in enumerate(JUDGES)
    ]
    return eh.decide(pd.DataFrame(rows[:-1], columns=["option", "evaluator", "score"]))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    store = tmp_path_factory.mktemp("store") / "prize.db"
    panel = eh.Questions.panel([f"A{ESCAPE}", f"B{TURNED}"], JUDGES)
    campaign = eh.Campaign.create(store, "prize", panel)
    for judge in JUDGES[:2]:
        campaign.tell(campaign.ask(judge), 7.0)
    campaign.leave(JUDGES[1], reason=ESCAPE)
    campaign.pause(reason=f"{ESCAPE} {TURNED}")  # which stands in the verdict
    found = {
        "status": campaign.status(),
        "verification": campaign.verify(),
        "forged": campaign.verify("0" * 64),
    }
    campaign.close()
    return found


def shown_everywhere(result: Result, folder: Path) -> Iterator[str]:
    """Give what is printed, shown in a notebook and on a terminal, and written."""
    yield str(result)
    yield result._repr_html_()
    terminal = StringIO()
    print_result(Console(file=terminal, width=70), result)
    yield terminal.getvalue()
    result.report(folder / "page.html")
    yield (folder / "page.html").read_text("utf-8")


def test_terminals_and_notebooks_have_more_than_print_has(
    answer: eh.Answer, tmp_path: Path
) -> None:
    said, *shown = shown_everywhere(answer, tmp_path)
    assert answer.next_questions
    for title, printed in {"Ranking": True, "Ask next": False, "Biases": False}.items():
        assert (f"\n{title}\n" in said) == printed
        assert all(title in text for text in shown)


def test_the_status_counts_what_came(results: dict[str, Result]) -> None:
    status = results["status"]
    (table,) = next(iter(status._report().at("print"))).filled
    counts = {str(row[0]): row[1] for row in table.rows}
    assert counts == {JUDGES[0]: 1, JUDGES[1]: 1, JUDGES[2]: 0}
    assert str(table.rows[1][-1]).startswith("left: ")
    bars = status.plot().axes[0].patches
    assert [bar.get_width() for bar in bars[:3]] == [1, 1, 0]


def test_what_is_wrong_with_a_record_is_a_list(results: dict[str, Result]) -> None:
    assert not results["forged"]
    (section,) = results["forged"]._report().at("print")
    assert section.title == "What is wrong"
    assert "no event has the seal" in str(results["forged"])
    assert not list(results["verification"]._report().at("print"))


@pytest.mark.parametrize("n", [1, 3, 4, 5, 100])
def test_long_lists_lose_their_middle(n: int) -> None:
    said = [f"line {i}" for i in range(n)]
    shown = Points(said).shown(4)
    assert len(shown) == min(n, 4)
    assert (shown[0], shown[-1]) == (said[0], said[-1])
    if n > 4:
        (gap,) = (one for one in shown if one not in said)
        assert gap == f"… {n - 3} more …"


def test_sections_are_worked_out_once() -> None:
    times: list[int] = []
    section = Section("A", lambda: times.append(1) or ["a", None])
    assert not times
    assert section.filled == section.filled == ("a",)
    assert len(times) == 1


def test_the_interval_of_a_difference_is_drawn_whole() -> None:
    panel = pd.DataFrame(
        {"option": ["A", "B"] * 3, "evaluator": list("PPQQRR"), "score": [5, 4, 6, 3, 5, 4.5]}
    )
    two = eh.decide(panel).compare("A", "B")
    (axes,) = two.plot().axes
    low, high = axes.get_xlim()
    assert low < min(0.0, two.low) <= max(0.0, two.high) < high
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [two.low, two.high])
