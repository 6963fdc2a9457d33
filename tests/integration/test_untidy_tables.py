"""Tables as committees keep them: from the file to the page without a second try, or with one."""

from __future__ import annotations

import re
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pytest

import evenhand as eh
import shell

NAMES = ["Ann", "Bo", "Cy", "Dov", "Eve", "Fay", "Gus", "Hal"]
JUDGES = ["Meier", "Schulz", "Weber", "Yilmaz"]
SCHOOLS = ["North", "South"]


def marks(seed: int = 0) -> np.ndarray[Any, Any]:
    """Return (options, judges) marks from 1 to 10: worth, leniency, a favour, noise."""
    rng = np.random.default_rng(seed)
    worth, lenient = np.linspace(8.0, 4.0, len(NAMES)), [0.5, -0.5, 0.0, 0.3]
    own = np.equal.outer(np.arange(len(NAMES)) % 2, np.arange(len(JUDGES)) % 2)
    return np.clip(worth[:, None] + lenient + 0.8 * own + rng.normal(0, 0.4, (8, 4)), 1, 10).round(
        1
    )


def rows(cell: Any = str) -> list[list[str]]:
    """Return a line for each mark: option, its school, judge, that one's school, mark."""
    y = marks()
    return [
        [o, SCHOOLS[i % 2], j, SCHOOLS[k % 2], cell(y[i, k])]
        for i, o in enumerate(NAMES)
        for k, j in enumerate(JUDGES)
    ]


HEADER = ["application", "university", "reviewer", "reviewer university", "score"]


def joined(header: list[str], lines: list[list[str]], mark: str = ",") -> str:
    return "\n".join(mark.join(line) for line in [header, *lines]) + "\n"


class Case(NamedTuple):
    """A table, what is to be said of it, and, if it is refused, why and which option it needs."""

    file: str
    says: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    second: tuple[str, ...] = ()


def write_semicolons(path: Path) -> None:
    lines = rows(lambda y: f"{y:.1f}".replace(".", ","))
    title = "Grants, round 1, 2025\n;;;;\n"
    path.write_bytes(b"\xef\xbb\xbf" + (title + joined(HEADER, lines, ";")).encode())


def write_latin(path: Path) -> None:
    lines = [[c.replace("Bo", "Jörg Müller") for c in line] for line in rows()]
    header = ["Antrag", "Universität", "Gutachter", "Gutachter Universität", "Punkte "]
    path.write_bytes(joined(header, lines, ";").encode("latin-1"))


def write_workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    front = book.active
    front.title = "Read me"
    front.append(["Please read the guidelines."])
    sheet = book.create_sheet("Round 1")
    sheet.append(["Foundation grants 2025, round 1"])
    sheet.append([])
    sheet.append(HEADER)
    for line in rows(float):
        sheet.append(line)
    other = book.create_sheet("Round 2")
    other.append(HEADER)
    for line in rows(float):
        other.append([*line[:4], 11 - line[4]])
    book.save(path)


def write_wide_with_comments(path: Path) -> None:
    y = marks()
    header = ["applicant", "university", *JUDGES, "Mean", "comments"]
    lines = [
        [o, SCHOOLS[i % 2], *map(str, y[i]), f"{y[i].mean():.2f}", f"good; see p. {i}"]
        for i, o in enumerate(NAMES)
    ]
    lines[2][3] = ""
    path.write_text(joined(header, [[f'"{c}"' for c in line] for line in lines]))


def write_merged(path: Path) -> None:
    y, book = marks(), openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Grants committee"])
    sheet.append(["Applicant", "Marks by reviewer", None, None, None])
    sheet.merge_cells("B2:E2")
    sheet.append([None, *JUDGES])
    for i, o in enumerate(NAMES):
        sheet.append([o, *y[i].tolist()])
        if i == 3:
            sheet.append([])
    sheet.append(["Mean", *y.mean(axis=0).round(2).tolist()])
    book.save(path)


def write_marks(path: Path) -> None:
    lines = rows(lambda y: f"{y:.1f}/10")
    lines[3][4], lines[9][4] = "COI", "conflict of interest"
    path.write_text(joined(HEADER, lines, "\t"))


def write_percents(path: Path) -> None:
    lines = rows(lambda y: f"{10 * y:.0f}%")
    lines[5][4] = "71%*"
    path.write_text(joined(HEADER, lines))


def write_worded(path: Path) -> None:
    words = {5: "5: Reject", 6: "6: Marginally below", 7: "7: Accept", 8: "8", 4: "4: Reject"}
    path.write_text(joined(HEADER, rows(lambda y: words[min(max(round(y), 4), 8)])))


def write_everything_wrong(path: Path) -> None:
    lines = rows()
    lines[1][4], lines[2][4], lines[6][4] = "", "n/a", "–"
    lines[7][4] = "7.5*"
    lines[12][4], lines[13][4] = "77", "65"
    lines += [lines[20], lines[21]]
    path.write_text(joined(HEADER, lines))


def letter(mark: float) -> str:
    return "A" if mark > 7.5 else "B+" if mark > 6.5 else "B" if mark > 5.5 else "C"


def changed(change: Any) -> Any:
    """Return what writes the rows changed, without those of which nothing is left."""
    return lambda path: path.write_text(joined(HEADER, list(filter(None, map(change, rows())))))


CASES: dict[str, tuple[Any, Case]] = {
    "semicolons, decimal commas, a mark, a title": (write_semicolons, Case("reviews.csv", (
        "'application' is read as 'option'", "'reviewer university' is read as"))),
    "an old encoding, German words": (write_latin, Case("Gutachten.csv", (
        "read as Windows-1252", "'Punkte' is read as 'score'", "Jörg Müller"))),
    "a title, and sheets": (write_workbook, Case("grants.xlsx", (
        "3 sheets", "'Round 1' was read", "Above the header"))),
    "wide, with comments and means": (write_wide_with_comments, Case("wide.csv", (
        "'Meier', 'Schulz', 'Weber', 'Yilmaz' hold numbers and are read as the scores",))),
    "a merged header, a blank line, a line of means": (write_merged, Case("merged.xlsx", (
        "The header is on two lines", "is taken for totals and left out"))),
    "grades": (lambda path: path.write_text(joined(HEADER, rows(letter))), Case("grades.csv", (
        "equally spaced",), ("--scale A,B+,B,C",), ("--scale", "A,B+,B,C"))),
    "marks out of ten, conflicts": (write_marks, Case("marks.tsv", (
        "marks out of 10", "2 cells with 'COI', 'conflict of interest' are taken"))),
    "percentages": (write_percents, Case("percent.csv", ("percentages", "footnotes"))),
    "words behind numbers": (write_worded, Case("rating.csv", (
        "the numbers before their words: '4: Reject', '5: Reject', '6: Marginally below'",))),
    "everything wrong at once": (write_everything_wrong, Case("wrong.csv", (
        "3 rows were left out since a cell was empty", "copies"), (
        "3 things to correct", "(3 of 34 rows are)", "; also line 4", "77 is outside the scale",
        "--read copies=drop"), ("--read", "missing=drop,copies=drop", "--scale", "1,100"))),
    "one reviewer": (changed(lambda line: line[2] == "Weber" and line), Case("one.csv")),
    "one university": (changed(lambda line: [line[0], "North", line[2], "North", line[4]]),
                       Case("school.csv")),
    "control characters": (changed(lambda line: [
        line[0].replace("Eve", "E\x1b[31mve\u202e"), *line[1:]]), Case("control.csv")),
}  # fmt: skip


run = partial(shell.run, env={"COLUMNS": "10000"})


def text_of(page: Path) -> str:
    html = page.read_text("utf-8")
    assert "\x1b" not in html
    plain = re.sub(r"<style.*?</style>|<script.*?</script>|<svg.*?</svg>", " ", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", plain)).split())


@pytest.mark.parametrize("command", ["audit", "decide"])
@pytest.mark.parametrize("which", list(CASES))
def test_from_the_file_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, which: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write, case = CASES[which]
    write(Path(case.file))
    asked = [command, case.file, "--target", "top=3", "--report", "page.html"]
    asked += ["--scale", "1,10"] if which == "everything wrong at once" else []
    given = run(*asked)
    if case.refused:
        assert given.exit_code == 2, given.output
        for words in case.refused:
            assert words in " ".join(given.output.split())
        assert not Path("page.html").exists()
        asked = [command, case.file, "--target", "top=3", "--report", "page.html", *case.second]
        given = run(*asked)
    assert given.exit_code in (0, 3), given.output
    assert "Traceback" not in given.output
    page = text_of(Path("page.html"))
    for words in case.says:
        assert words in page
    assert "nan " not in page.casefold().replace("finance", "")


def test_a_sheet_is_named_after_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "grants.xlsx"
    write_workbook(path)
    first, second = (run("decide", f"{path}#Round {n}", "--json") for n in (1, 2))
    assert '"Ann"' in first.output.split("ranking")[1][:200]
    assert '"Hal"' in second.output.split("ranking")[1][:200]
    wrong = run("audit", f"{path}#Round 3")
    assert wrong.exit_code == 2
    assert "its sheets are 'Read me', 'Round 1', 'Round 2'" in wrong.output


def test_texts_with_decimal_commas_among_numbers_of_a_workbook_are_numbers(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["option", "evaluator", "score"])
    for i, (option, _, judge, _, mark) in enumerate(rows(float)):
        book.active.append([option, judge, str(mark).replace(".", ",") if i % 3 else mark])
    book.save(tmp_path / "mixed.xlsx")
    scores = eh.read_scores(tmp_path / "mixed.xlsx")
    np.testing.assert_array_equal(scores.score, marks().ravel())
