"""'I have scores': the page shows every table as the readers see it, whatever they read."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from starlette.datastructures import QueryParams
from test_untidy_tables import CASES, HEADER, rows, write_workbook

import evenhand as eh
from evenhand.errors import InputError
from evenhand.serve import panel
from evenhand.serve.uploads import _reading, as_file
from evenhand.tables.opened import open_table
from pages import word_of

pytestmark = pytest.mark.usefixtures("hasty")

SMALL = ("A,Ros,7", "A,Sue,8", "B,Ros,5", "B,Sue,6", "C,Ros,4.5", "C,Sue,5.5")
LONG = "\n".join(("application,reviewer,score", *SMALL)) + "\n"
VERDICT = {"instruction": "Why?", "generator_1": "gpt-4", "output_1": "So.", "annotator": "gpt-4o",
           "generator_2": "vicuna-7b", "output_2": "Because.", "preference": 1.25}  # fmt: skip


def write_parquet(path: Path) -> None:
    pd.DataFrame(rows(float), columns=HEADER).to_parquet(path)


def write_lines(path: Path) -> None:
    path.write_text(
        "\n".join(json.dumps(dict(zip(HEADER, row, strict=True))) for row in rows(float))
    )


def write_log(path: Path) -> None:
    path.write_text(json.dumps([VERDICT, VERDICT | {"instruction": "How?", "preference": 2}]))


TABLES: dict[str, tuple[str, Callable[[Path], object]]] = {
    name: (case.file, write) for name, (write, case) in CASES.items()
} | {
    "a title without commas": ("t.csv", lambda p: p.write_text(f"Spring round\n{LONG}")),
    "a title with its commas": ("t.csv", lambda p: p.write_text(f"Spring round,,\n{LONG}")),
    "a title with a comma in it": ("t.csv", lambda p: p.write_text(f"Grants, round 1\n{LONG}")),
    "two titles and a blank line": ("t.csv", lambda p: p.write_text(f"Round\n\nBy us\n{LONG}")),
    "tabs": ("t.tsv", lambda p: p.write_text("Round\n" + LONG.replace(",", "\t"))),
    "UTF-16": ("t.csv", lambda p: p.write_text(f"Round\n{LONG}", "utf-16")),
    "Parquet": ("t.parquet", write_parquet),
    "lines of JSON": ("t.jsonl", write_lines),
    "a log": ("t.json", write_log),
}  # fmt: skip


def given(http: httpx.Client, path: Path) -> httpx.Response:
    table = {"table": (path.name, path.read_bytes())}
    return http.post("/scores", data={"csrf": word_of(http)}, files=table)


def cells_of(page: str) -> list[list[str]]:
    """Return the cells of the lines that a page shows, below its header."""
    body = re.search(r"<thead>(.*?)</thead>\s*<tbody>(.*?)</tbody>", page, re.S)
    assert body, page
    lines = [body[1], *re.findall(r"<tr.*?</tr>", body[2], re.S)]
    found = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.S) for line in lines]
    return [[html.unescape(cell.partition("<br>")[0]) for cell in line] for line in found]


def chosen_on(page: str) -> dict[str, list[str]]:
    """Return what a form would send as it stands."""
    found: dict[str, list[str]] = {}
    for name, options in re.findall(r'<select name="(\w+)".*?>(.*?)</select>', page, re.S):
        value = re.search(r'<option value="([^"]*)" selected', options)
        assert value, name
        found[name] = [html.unescape(value[1])]
    for name, value in re.findall(r'type="checkbox" name="(\w+)" value="([^"]*)" checked', page):
        found.setdefault(name, []).append(html.unescape(value))
    for name, value in re.findall(r'<input id="(\w+)" name="\w+"[^>]* value="([^"]*)"', page):
        found[name] = [html.unescape(value)]
    return found


@pytest.mark.parametrize("which", list(TABLES))
def test_the_page_shows_what_the_readers_see(
    http: httpx.Client, tmp_path: Path, which: str
) -> None:
    name, write = TABLES[which]
    path = tmp_path / name
    write(path)
    page = given(http, path)
    assert page.status_code == 200, page.text
    shown = cells_of(page.text)
    answer = http.get(f"{page.url.path}/answer", params=chosen_on(page.text))
    if answer.status_code == 400:  # as on the command line; the page says which field helps
        with pytest.raises(InputError):
            eh.read_scores(path)
        assert "=" not in html.unescape(answer.text).split("<pre>")[1].split("</pre>")[0]
        return
    scores = eh.read_scores(path)
    assert f"{name}: {len(scores)} scores" in html.unescape(answer.text)
    first = scores.option.names[scores.option.codes[0]]
    if which == "a log":
        assert {"option", "evaluator", "score"} <= set(shown[0])
        assert first in shown[1]
        return
    assert shown[1][0] == scores.where(0)  # the first line, by the number that errors would name
    assert first in shown[1]
    said = html.unescape(page.text)
    for note in scores.notes:
        if note.assumption == "table" and "wide=" not in note.message:
            assert note.message.partition(". ")[0].replace(str(path), name) in said
    assert str(tmp_path) not in said + answer.text


def test_a_sheet_of_a_workbook_is_chosen(http: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "grants.xlsx"
    write_workbook(path)
    page = given(http, path)
    said = html.unescape(page.text)
    assert "of which 'Round 1' was read" in said
    assert "#" not in said.split("<h1>")[1].split("<form")[0]
    other = http.get(
        page.url.path, params=chosen_on(page.text) | {"sheet": "Round 2", "other": "sheet"}
    )
    assert cells_of(other.text)[1][-1] != cells_of(page.text)[1][-1]
    answer = http.get(f"{page.url.path}/answer", params=chosen_on(other.text)).text
    assert answer.split('class="verdict">')[1].startswith("Choose Hal:")


MISREAD = {
    # a header with one name only is no title, nor is one with a name less than there are cells
    "Proposal\nP1,7,8,6\nP2,5,6,7\nP3,5,4,7\n": "the header names 1 columns ('Proposal')",
    "Ros,Sue,Lee\nP1,7,8,6\nP2,5,6,7\nP3,5,4,7\n": "the lines below it have 4 cells",
    "Ros,Sue,Lee\nP1,A,B,C\nP2,B,B,A\nP3,A,A,C\n": "the header names 3 columns",
    "reviewer,score\nA,Ros,7\nA,Sue,8\nB,Ros,5\n": "the header names 2 columns",
    "Round\nA;Ros;7,5\nA;Sue;8,0\nB;Ros;5,5\n": "the header names 1 columns ('Round')",
    # no header at all: the marks of the first line name nobody
    "P1,7,8,6\nP2,5,6,7\nP3,5,4,7\n": "The first line looks like data",
    "P1;7,5;8,5;6\nP2;5,5;6,5;7\nP3;5;4;7\n": "has no column 'option'",
    # a first line of data that is shorter than the header is not passed over
    "application,reviewer,score\nA\nA,Sue,8\nB,Ros,5\nB,Sue,6\n": "line 2 has 1 cells",
    "score\n7\n8\n6\n": "has no column 'option'",
}


@pytest.mark.parametrize("text", list(MISREAD))
def test_no_line_is_passed_over_that_is_data(http: httpx.Client, tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(MISREAD[text])):
        eh.read_scores(path)
    page = given(http, path)
    refused = http.get(f"{page.url.path}/answer")
    assert refused.status_code == 400
    assert MISREAD[text].partition(" 'option'")[0] in html.unescape(refused.text)


@pytest.mark.parametrize(
    ("text", "evaluators"),
    [
        ("Final\nCouple,1,2,3\nP1,7,8,6\nP2,5,6,7\n", ["1", "2", "3"]),
        ("Final\nTeam,2019,2021,2020\nP1,7,8,6\nP2,5,6,7\n", ["2019", "2021", "2020"]),
    ],
)
def test_judges_by_number_and_years_are_names(
    tmp_path: Path, text: str, evaluators: list[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    scores = eh.read_scores(path)
    assert scores.evaluator is not None
    assert sorted(scores.evaluator.names) == sorted(evaluators)
    assert scores.score.tolist() == [7, 8, 6, 5, 6, 7]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("Title|Referee|Overall mark|Univ of referee|University of applicant",
         "Title|Referee|Overall mark|University of applicant|Univ of referee"),
        ("option|evaluator|score|option_group|evaluator_group",
         "option|evaluator|score|option_group|evaluator_group"),
        ("Rater|Essay|Length|Grade", "Essay|Rater|Grade||"),
        ("Film|Member|Vote", "Film|Member|Vote||"),  # by cells: the two of them name a row
        ("Proposal|Smith|Jones", ""),
        ("a|b|c", ""),
    ],
)  # fmt: skip
def test_columns_are_suggested_by_names_and_cells(
    http: httpx.Client, tmp_path: Path, columns: str, found: str
) -> None:
    names = columns.split("|")
    if columns == "a|b|c":
        cells = [["x", "y", "z"], ["x", "y", "w"]]
    elif "Smith" in columns:
        cells = [["x", "7", "8"], ["y", "6", "5"]]
    else:
        numeric = ("Overall mark", "Length", "Grade", "score", "Vote")
        pairs = [(o, e) for o in ("x", "y", "z") for e in ("p", "q")]
        cells = [
            ["5" if c in numeric else pair[at % 2] for at, c in enumerate(names)] for pair in pairs
        ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(",".join(line) for line in [names, *cells]))
    parts = ("option", "evaluator", "score", "option_group", "evaluator_group")
    expected = {part: name for part, name in zip(parts, found.split("|"), strict=False) if name}
    chosen = chosen_on(given(http, path).text)
    assert {p: chosen[p][0] for p in parts if chosen[p][0] not in "?"} == (
        expected if "Smith" not in columns else {"option": "Proposal"}
    )


def test_evaluators_in_columns_are_ticked_and_can_be_unticked(
    http: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Proposal,Smith,Jones,Lee\nP1,7,8,1\nP2,5,6,9\nP3,9,8,5\n")
    page = given(http, path)
    chosen = chosen_on(page.text)
    assert chosen["wide"] == ["Smith", "Jones", "Lee"]
    assert "3 lines of data in all" in page.text
    unsaid = http.get(f"{page.url.path}/answer").text
    assert "t.csv: 9 scores" in unsaid
    assert "read as the scores of an evaluator each" in unsaid
    assert "wide=" not in page.text
    fewer = http.get(f"{page.url.path}/answer", params=chosen | {"wide": ["Smith", "Jones"]}).text
    assert "t.csv: 6 scores" in fewer
    both = http.get(f"{page.url.path}/answer", params=chosen | {"score": "Lee"})
    assert both.status_code == 400
    assert "either one column has the scores" in both.text


def test_wrong_cells_of_a_wide_table_are_marked_where_they_stand(
    http: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Jury\n\nProposal,Smith,Jones,Lee\nP1,7,8,6\n\nP2,5,six,7\nP3,9,8,9\n")
    page = given(http, path)
    wrong = http.get(f"{page.url.path}/answer", params=chosen_on(page.text))
    assert wrong.status_code == 400
    line = re.search(r'<tr class="bad"><td class="faint">line 6</td>.*?</tr>', wrong.text, re.S)
    assert line
    assert re.search(r'<td>5</td><td class="bad">six<br>', line[0])
    assert "say " not in html.unescape(wrong.text).split("<pre>")[1].split("</pre>")[0]


def test_grades_are_asked_for_and_then_read(http: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Candidate,Examiner,Grade\n" + "".join(
        f"{o},{e},{g}\n" for o, gs in (("x", "CB"), ("y", "BA"), ("z", "DC"))
        for e, g in zip("pq", gs, strict=True)
    ))  # fmt: skip
    page = given(http, path)
    wrong = http.get(f"{page.url.path}/answer", params=chosen_on(page.text))
    said = html.unescape(wrong.text)
    assert "'C' is not a number" in said  # what stands in the line that is named
    chosen = chosen_on(wrong.text) | {"grades": "A, B, C, D"}
    right = http.get(f"{page.url.path}/answer", params=chosen)
    assert right.status_code == 200
    assert right.text.split('class="verdict">')[1].startswith("y ")


def test_criteria_are_suggested_and_weighed(http: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Paper,Reviewer,Novelty,Method\n" + "".join(
        f"{o},{e},{n},{9 - n - (e == 'p')}\n"
        for o, n in (("x", 3), ("y", 5), ("z", 8)) for e in "pqr"
    ))  # fmt: skip
    page = given(http, path)
    assert 'name="criteria" inputmode="text" value="Novelty=1, Method=1"' in page.text
    where, chosen = f"{page.url.path}/answer", chosen_on(page.text)
    for weights, first in (("Novelty=2, Method", "z "), ("Novelty, Method=3", "x ")):
        right = http.get(where, params=chosen | {"criteria": weights, "score": "Method"})
        assert right.status_code == 200
        assert right.text.split('class="verdict">')[1].startswith(first)
        assert "On each criterion" in right.text
        assert "given again" not in right.text
    for wrong in ("Novelty=-1", "Novelty=2=3", "Rigour"):
        assert http.get(where, params=chosen | {"criteria": wrong}).status_code == 400


def test_a_score_far_from_all_others_is_asked_about(http: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [
        f"{o},{e},{(5 + i + j) % 9 + 1}" for i, o in enumerate("abcd") for j, e in enumerate("pqr")
    ]
    lines[4] = "b,q,77"
    path.write_text("\n".join(["option,evaluator,score", *lines]))
    asked = "line 6 ('b'), column 'score': 77. That is far from all other scores"
    page = given(http, path)
    answer = http.get(f"{page.url.path}/answer", params=chosen_on(page.text))
    loud = re.findall(r'<p class="wrong">(.*?)</p>', html.unescape(answer.text))
    assert [one for one in loud if one.startswith(asked)]
    declared = http.get(f"{page.url.path}/answer", params=chosen_on(page.text) | {"scale": "0-10"})
    assert declared.status_code == 400
    assert "77 is outside the scale" in html.unescape(declared.text)
    path.write_text("\n".join(["option,evaluator,score", *lines[:4], "b,q,10", *lines[5:]]))
    assert not [note for note in eh.read_scores(path).notes if note.assumption == "far"]


SCALES = {"1-10": (1, 10), "1\u201310": (1, 10), "1 to 10": (1, 10), "1, 10": (1, 10),
          "-5 to 5": (-5, 5), "\u22125 \u2013 5": (-5, 5), "0.5-7.5": (0.5, 7.5)}  # fmt: skip


def test_less_is_read_of_what_is_sent_than_of_files(tmp_path: Path) -> None:
    path, text = tmp_path / "wide.csv", ",".join(f"c{i}" for i in range(30_000)) + "\n"
    path.write_text(text)
    assert len(open_table(path).columns) == 30_000
    with (
        pytest.raises(InputError, match=r"^wide\.csv has 30,000 columns .* than 20,000"),
        as_file("wide.csv", text.encode()) as file,
    ):
        open_table(file.path)


@pytest.mark.parametrize(("typed", "ends"), SCALES.items(), ids=list(SCALES))
def test_a_scale_is_taken_as_people_type_it(typed: str, ends: tuple[float, float]) -> None:
    assert panel.arguments(panel.GIVEN | {"scale": typed})["bounds"] == ends
    assert [*map(float, _reading(QueryParams({"scale": typed}))["scale"])] == [*ends]


PYTHON = re.compile(
    r"\b[a-z_]+=['\[(]|\bsay [a-z_]+=|\btop must be|\bat_most\b|\(evaluator_group\)"
)


def words_of(page: str) -> str:
    text = re.sub(r"(?s)<(style|script|svg).*?</\1>|<[^>]*>", " ", page)
    return " ".join(html.unescape(text).split())


def test_pages_and_reports_from_pages_speak_no_python(tmp_path: Path, http: httpx.Client) -> None:
    path, rng = tmp_path / "t.csv", np.random.default_rng(2)
    lines = [
        f"F{i},J{j},{round(6 - i / 5 + rng.normal(), 1) if (i, j) != (3, 2) else 'n/a'},{i % 3}"
        for i in range(9)
        for j in range(5)
    ]
    path.write_text("\n".join(["Film,Juror,Mark,Country", *lines]) + "\n")
    page = given(http, path)
    where, chosen = page.url.path, chosen_on(page.text)
    refused = html.unescape(http.get(f"{where}/answer", params=chosen).text)
    assert "column 'Mark' is empty or 'n/a' (1 of 45 rows are)" in refused
    chosen |= {"missing": "drop"}
    for top in ("9", "0"):
        refused = words_of(http.get(f"{where}/answer", params=chosen | {"top": top}).text)
        assert "‘How many are wanted’ must be" in refused
        assert not PYTHON.search(refused)
    for top, heading in (("", "Who is best?"), ("3", "Who are the best?")):
        params = chosen | {"top": top}
        answer = http.get(f"{where}/answer", params=params)
        assert f"<h2>{heading}</h2>" in answer.text
        reports = [http.get(f"{where}/{one}.html", params=params) for one in ("audit", "decision")]
        for shown in (answer, *reports):
            assert "1 rows were left out since a cell was empty, as you asked for" in shown.text
            assert not PYTHON.search(words_of(shown.text))


def test_groups_of_evaluators_who_have_columns_are_typed_in(
    tmp_path: Path, http: httpx.Client
) -> None:
    path, rng = tmp_path / "t.csv", np.random.default_rng(5)
    sides, judges = ("FRA", "ITA", "USA"), {"Anne": "FRA", "Elena": "ITA", "Bob": "USA", "Al": ""}
    lines = [
        ",".join([f"F{i}", sides[i % 3], *(
            f"{5 + (side == sides[i % 3]) + 0.2 * rng.normal():.2f}" for side in judges.values()
        )]) for i in range(12)
    ]  # fmt: skip
    path.write_text("\n".join([f"Film,Home country,{','.join(judges)}", *lines]) + "\n")
    page = given(http, path)
    where, chosen = page.url.path, chosen_on(page.text)
    assert (chosen["option_group"], chosen["wide"]) == (["Home country"], list(judges))
    without = words_of(http.get(f"{where}/answer", params=chosen).text)
    assert "Say of which groups options and evaluators are" in without
    groups = {name: side for name, side in judges.items() if side}
    audit = eh.audit(
        path, wide=[*judges], columns={"option_group": "Home country", "evaluator_group": groups}
    )
    assert audit.bias.value > 0.5
    for typed in ("Anne=FRA, Elena=ITA, Bob = USA", "Anne=FRA\r\nElena=ITA\r\nBob=USA\r\n"):
        answer = http.get(f"{where}/answer", params=chosen | {"evaluator_groups": typed})
        assert answer.status_code == 200
        assert "Say of which groups" not in answer.text
        assert " ".join(audit._report().verdict.split()) in words_of(answer.text)
    for typed, why in (
        ("Anne=FRA, Elana=ITA", "'Elana', who has no column"),
        ("Anne", "got 'Anne'"),
        ("Anne=FRA, Anne=ITA", "got 'Anne=ITA'"),
    ):
        refused = http.get(f"{where}/answer", params=chosen | {"evaluator_groups": typed})
        assert refused.status_code == 400
        assert why in html.unescape(refused.text)
        assert typed in refused.text  # what was typed is still there
