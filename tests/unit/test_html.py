"""HTML for notebooks: whole, harmless, and true to what it was given."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report import html
from evenhand.report.model import Facts, Note, Report, Section, Table
from evenhand.report.words import visible
from pages import read

TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_what_is_written_is_what_was_given_and_nothing_else(texts):
    parts = [Table("", texts, [texts]), Facts("", {texts[-1]: texts[0]}), Note(texts[-1])]
    reader = read(html.as_html(Report("", texts[0], sections=[Section("", parts, "brief")])))
    seen = [visible(text) for text in texts]
    assert reader.cells == [*seen, *seen, seen[-1], seen[0]]
    assert reader.text.startswith(seen[0])
    assert reader.text.rstrip("\n").endswith(seen[-1])


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_numbers_keep_three_digits(x):
    read_back = float(html.text(x).replace("−", "-").replace(",", ""))
    assert read_back == pytest.approx(x, rel=5.1e-3, abs=0.0)


def test_markup_goes_in_as_it_is_and_once():
    assert html.text(html.text("&")) == "&amp;"


def test_a_column_with_numbers_stands_right():
    reader = read(html.table(Table("", ["name", "value"], [["Ann", 1.0], ["Bo", None]]), most=9))
    sides = [
        re.search("text-align:(.*?);", attributes["style"])[1]
        for tag, attributes in reader.tags
        if tag in ("td", "th")
    ]
    assert sides == ["left", "right"] * 3


@given(st.floats(-2, 2), st.floats(0, 1), st.floats(0, 1), st.floats(-3, -0.1), st.floats(0.1, 3))
def test_intervals_are_drawn_to_scale_and_never_beyond_the_axis(value, below, above, first, last):
    reader = read(html.interval(value, value - below, value + above, (first, last)))
    (dot,) = (attributes for tag, attributes in reader.tags if tag == "circle")
    line = [attributes for tag, attributes in reader.tags if tag == "line"][-1]

    def place(x):
        return 120 * (min(max(x, first), last) - first) / (last - first)

    drawn = [float(dot["cx"]), float(line["x1"]), float(line["x2"])]
    assert drawn == pytest.approx(
        [place(value), place(value - below), place(value + above)], abs=0.1
    )


def test_what_is_not_known_is_not_drawn():
    assert html.interval(math.nan, -math.inf, math.inf, (0.0, 1.0)) == "–"
    assert html.interval(1.0, 0.0, 2.0, (1.0, 1.0)) == "–"
