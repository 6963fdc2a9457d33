"""A number is one number, or refused, whichever door it comes in by."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pandas as pd
import pytest

import evenhand as eh
import shell
from evenhand.campaigns import Ticket
from evenhand.campaigns.stores import open_store
from evenhand.serve import make_app
from evenhand.serve.access import grant
from pages import word_of
from served import serving

TEXTS: dict[str, float | None] = {
    "7": 7.0, " 7.5 ": 7.5, "7,5": 7.5, "\u22122": -2.0, "+.5": 0.5, "1e1": 10.0, "1250": 1250.0,
    "0,125": 0.125, "1,250": None, "1_0": None, "0x10": None, "nan": None, "inf": None,
    "\uff17": None, "1 250": None, "1,2,3": None, "1,250.5": None, "seven": None,
    "1.2.3": None, "=7": None,
}  # fmt: skip


def by_csv(text: str, folder: Path) -> float:
    rows = "\n".join(
        f"{o},{e},{i}" for i, (o, e) in enumerate([("a", "P"), ("b", "P"), ("a", "Q")])
    )
    (folder / "t.csv").write_text(f'option,evaluator,score\n{rows}\nb,Q,"{text}"\n', "utf-8")
    return float(eh.read_scores(folder / "t.csv").score[-1])


def by_import(text: str, folder: Path) -> float:
    (folder / "log.csv").write_text(f'option,evaluator,score\na,P,"{text}"\n', "utf-8")
    with campaign(folder) as made:
        made.import_scores(folder / "log.csv")
        return told(made, folder)


def by_sheet(text: str, folder: Path) -> float:
    with campaign(folder) as made:
        ticket = made.ask("P")
        assert isinstance(ticket, Ticket)
        (folder / "sheet.csv").write_text(f'ticket,score\n{ticket.id},"{text}"\n', "utf-8")
        made.import_scores(folder / "sheet.csv")
        return told(made, folder)


def by_page(text: str, folder: Path) -> float:
    with campaign(folder) as made, served(folder) as (browser, token):
        browser.headers["Accept"] = "text/html"
        browser.get(f"/enter/{token}")
        shown = browser.get("/judge").text.partition('id="judge"')[2].partition("</form>")[0]
        form = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', shown))
        answer = browser.post("/judge/tell", data=form | {"score": text})
        if answer.status_code == 400:
            raise eh.InputError(answer.text)
        return told(made, folder)


def by_api(text: str, folder: Path) -> float:
    with campaign(folder) as made, served(folder) as (browser, token):
        browser.headers.update({"Authorization": f"Bearer {token}", "Accept": "application/json"})
        asked = browser.post("/api/v1/ask", json={}).json()
        body = {"ticket": asked["ticket"], "attempt": asked["attempt"], "score": text}
        answer = browser.post("/api/v1/tell", json=body)
        if answer.status_code == 400:
            raise eh.InputError(answer.text)
        assert answer.status_code == 200
        return told(made, folder)


def by_command(text: str, folder: Path) -> float:
    with campaign(folder) as made:
        ticket = made.ask("P")
        assert isinstance(ticket, Ticket)
        done = shell.run("campaign", "tell", folder / "c.db", "cup", ticket.id, "--", text)
        if done.exit_code == 2:
            raise eh.InputError(done.output)
        assert done.exit_code == 0, done.output
        return told(made, folder)


def campaign(folder: Path) -> eh.Campaign:
    return eh.Campaign.create(folder / "c.db", "cup", eh.Questions.panel(["a", "b"], ["P", "Q"]))


@contextmanager
def served(folder: Path) -> Iterator[tuple[httpx.Client, str]]:
    """Serve the campaign; yield a browser, and the token of an evaluator."""
    store = open_store(folder / "c.db")
    token = grant(store, "evaluator", "cup", "P")
    with serving(make_app(store)) as at, httpx.Client(base_url=at, follow_redirects=True) as http:
        yield http, token
    store.close()


def told(made: eh.Campaign, folder: Path) -> float:
    (file,) = made.export(folder / "out.csv")
    (score,) = pd.read_csv(file)["score"]
    return float(score)


DOORS = [by_csv, by_import, by_sheet, by_page, by_api, by_command]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_reads_the_same_number_or_none(
    door: Callable[[str, Path], float], text: str, tmp_path: Path
) -> None:
    if TEXTS[text] is None:
        with pytest.raises(eh.InputError):
            door(text, tmp_path)
    else:
        assert door(text, tmp_path) == TEXTS[text]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_what_may_be_two_numbers_is_refused_with_both(
    door: Callable[[str, Path], float], tmp_path: Path
) -> None:
    with pytest.raises(eh.InputError, match=r"can be 1\.25 or 1250: write 1\.25 or 1250"):
        door("1,250", tmp_path)


@pytest.mark.parametrize("text", TEXTS)
def test_an_option_of_a_command_is_such_a_number(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("option,evaluator,score\na,P,1\nb,P,2\na,Q,2\nb,Q,4\n")
    given = shell.run("decide", tmp_path / "t.csv", "--target", f"bar={text}", "--json")
    wanted = TEXTS[text]
    assert given.exit_code == (2 if wanted is None else 0), given.output
    if wanted is not None:
        assert json.loads(given.stdout)["target"]["bar"] == wanted


@pytest.mark.parametrize(("text", "code"), [("1e1", 0), (" 10 ", 0), ("1_0", 2), ("2,5", 2)])
def test_how_many_are_wanted_is_a_whole_one(text: str, code: int, tmp_path: Path) -> None:
    rows = "".join(f"o{o},J{j},{o + j * o % 3}\n" for o in range(12) for j in range(3))
    (tmp_path / "t.csv").write_text(f"option,evaluator,score\n{rows}")
    given = shell.run("decide", tmp_path / "t.csv", "--target", f"top={text}")
    assert given.exit_code == code, given.output


@pytest.mark.parametrize("word", ["no", "N", "TRUE", "correct"])
def test_a_word_among_marks_is_no_number(word: str) -> None:
    rows = [("a", "P", "7"), ("b", "P", "5"), ("a", "Q", "6"), ("b", "Q", word)]
    table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    with pytest.raises(eh.InputError, match=f"{word!r} is not a number"):
        eh.read_scores(table)


@pytest.mark.parametrize("text", ["1_0, 90", "0x1, 90", "one, 90", "1, 90"])
def test_a_scale_on_the_page_is_two_such_numbers(text: str, http: httpx.Client) -> None:
    table = b"option,evaluator,score\na,P,10\nb,P,20\na,Q,20\nb,Q,40\n"
    given = http.post("/scores", data={"csrf": word_of(http)}, files={"table": ("t.csv", table)})
    answer = http.get(f"{given.url}/answer", params={"scale": text})
    assert answer.status_code == (200 if text == "1, 90" else 400)
    with pytest.raises(eh.InputError, match="scale="):
        eh.read_scores(pd.DataFrame({"option": ["a", "b"], "score": [1, 2]}), scale=("1_0", "90"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("second", "code"), [("2,500", 2), ("2,5", 0)])
def test_prices_that_may_be_thousands_are_refused(second: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "options.csv").write_text("name\nAnn\nBo\n")
    (tmp_path / "judges.csv").write_text(f"name;price\nP;1,250\nQ;{second}\n")
    files = tmp_path / "options.csv", "--evaluators", tmp_path / "judges.csv"
    given = shell.run("inspect", *files, "--column=prices=price")
    assert given.exit_code == code, given.output
    assert ("1.25 or 1250" in given.output) == (code == 2)
