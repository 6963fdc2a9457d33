"""Nouns of one's own in reports: everything that evenhand says, and no name of the user's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.errors import InputError
from evenhand.report.model import as_text, in_nouns
from evenhand.report.nouns import NOUNS, Nouns

CALL = {"option": "application", "evaluator": "reviewer", "group": "university", "score": "mark"}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Of 3 options", "Of 3 applications"),
        ("Options by value", "Applications by value"),
        ("an evaluator of average leniency", "a reviewer of average leniency"),
        ("A group, an option", "A university, an application"),
        ("their own group's judges", "their own university's reviewers"),
        ("name it, option='x' or --score", "name it, option='x' or --score"),
        ("evaluator_group, optional", "evaluator_group, optional"),
    ],
)
def test_words_are_replaced_in_singular_and_plural_with_their_articles(
    said: str, wanted: str
) -> None:
    assert Nouns.of(CALL, ())(said) == wanted


def test_plurals_are_guessed_or_said() -> None:
    nouns = Nouns.of({"option": "entry", "item": "fish/fish", "group": "church"}, ())
    assert nouns("options, items, groups") == "entries, fish, churches"


def test_names_stay_wherever_they_stand() -> None:
    names = ["option 1", "best option", "Score", "group\nB", "judge Ann " + "x" * 60]
    nouns = Nouns.of(CALL, names)
    assert nouns("an option 1 of 2 options") == "an option 1 of 2 applications"
    assert nouns("the best option leads the options") == "the best option leads the applications"
    assert nouns("Score and scores") == "Score and marks"
    assert nouns("group B is a group") == "group B is a university"
    assert nouns(f"{names[-1][:39]}… is a judge") == f"{names[-1][:39]}… is a reviewer"


def test_an_answer_and_an_audit_say_nothing_in_the_old_nouns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"option {x}", f"evaluator {j}", rng.normal(), f"group {x % 2}", f"group {j % 2}")
        for x in range(5)
        for j in range(6)
    ]
    columns = ["option", "evaluator", "score", "option_group", "evaluator_group"]
    table = pd.DataFrame(rows, columns=columns)
    for result in (eh.decide(table, top=2), eh.audit(table)):
        report = result._report()
        text = as_text(in_nouns(report, CALL))
        for name in report.names:
            assert text.count(name) == as_text(report).count(name)
            text = text.replace(name, "")
        text = " ".join(text.split())
        words = [word for what in CALL for word in NOUNS[what]]
        left = [w for w in words if f" {w} " in text or f" {w}s " in text]
        assert not left, text
        page = tmp_path / "page.html"
        result.report(page, title="Grants 2026", call=CALL)
        written = page.read_text()
        assert ">Grants 2026 · " in written
        assert "option 3" in written
        assert "application 3" not in written
        assert "applications" in written
        result.report(page)
        assert "applications" not in page.read_text()


def test_a_name_at_the_start_of_a_sentence_keeps_its_letters(tmp_path: Path) -> None:
    rows = [(f"a{x}", f"r{j}", float(x + j % 3), "ab"[x % 2]) for x in range(4) for j in range(5)]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score", "kind"])
    page = tmp_path / "page.html"
    eh.decide(table, top=2).report(page)
    written = re.sub(r"base64,[^\"]*", "", page.read_text())
    assert "a3" in written
    assert "A3" not in written


def test_other_nouns_are_refused() -> None:
    for call in ({"bias": "slant"}, {"option": " "}):
        with pytest.raises(InputError, match="option, evaluator, group"):
            Nouns.of(call, ())
