"""HTML for notebooks: whole, harmless, and true to what it was given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.html import as_html
from evenhand.report.model import Facts, Report, Section, Span, Table, cell
from evenhand.report.words import visible
from pages import Reader, read

TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30)


def shown(*parts: Table | Facts | str) -> Reader:
    return read(as_html(Report("", "", sections=[Section("", parts, "brief")])))


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_what_is_written_is_what_was_given_and_nothing_else(texts):
    parts = [Table("", texts, [texts]), Facts("", {texts[-1]: texts[0]}), texts[-1]]
    reader = read(as_html(Report("", texts[0], sections=[Section("", parts, "brief")])))
    seen = [visible(text) for text in texts]
    assert reader.cells == [*(text or "more" for text in seen), *seen]
    assert reader.text.strip().startswith(seen[0])
    assert reader.text.rstrip("\n").endswith(seen[-1])


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_numbers_keep_three_digits(x):
    read_back = float(cell(x).replace("−", "-").replace(",", ""))
    assert read_back == pytest.approx(x, rel=5.1e-3, abs=0.0)


def test_a_column_with_numbers_stands_right():
    reader = shown(Table("", ["name", "value"], [["Ann", 1.0], ["Bo", None]]))
    sides = [attributes["class"] for tag, attributes in reader.tags if tag in ("td", "th")]
    assert sides == ["", "n"] * 3


@given(st.floats(-2, 2), st.floats(0, 1), st.floats(0, 1), st.floats(-3, -0.1), st.floats(0.1, 3))
def test_intervals_are_drawn_to_scale_and_never_beyond_the_axis(value, below, above, first, last):
    span = Span(value, value - below, value + above, (first, last), "in", value - 0.1, 0.0)
    reader = shown(Table("", [""], [[span]]))
    (dot,) = (attributes for tag, attributes in reader.tags if tag == "circle")
    lines = {one["class"]: one for tag, one in reader.tags if tag == "line"}

    def place(x):
        return 3 + 94 * (min(max(x, first), last) - first) / (last - first)

    drawn = [dot["cx"], lines["bar"]["x1"], lines["bar"]["x2"], lines["raw"]["x1"]]
    assert [float(x.rstrip("%")) for x in drawn] == pytest.approx(
        [place(x) for x in (value, value - below, value + above, value - 0.1)], abs=0.1
    )


def test_what_is_not_known_is_not_drawn():
    unknown, flat = Span(math.nan, -math.inf, math.inf, (0.0, 1.0)), Span(1.0, 0.0, 2.0, (1.0, 1.0))
    assert shown(Table("", ["x"], [[unknown], [flat]])).cells == ["x", "–", "–"]
