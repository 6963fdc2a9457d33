"""The pages in a real browser, from end to end, with a server that is killed in the middle."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

import evenhand as eh
from served import Server

expect.set_options(timeout=20_000)  # a page looks every five seconds, and machines are busy

HOW = "there is no browser for the tests of pages: apt-get install chromium (or brew, dnf, …)"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# what a browser writes of its own accord where a server is away, or refuses
EXPECTED = re.compile(
    r"ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|htmx:(sendError|afterRequest)|status of 40[014]"
)
SCORES = {"Ann": 9, "Bo": 4, "Cy": 2}
STICKS_OUT = """() => document.documentElement.scrollWidth <= innerWidth + 1 ? [] :
    [document.documentElement.scrollWidth, innerWidth, ...[...document.querySelectorAll("body *")]
    .filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML)]"""
PICTURES = "https://pictures.test/"
DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><circle r="90"/></svg>'
SKATING = """skater,judge,score,skater nation,judge nation
Ann,Paul,8.6,FRA,FRA
Ann,Rosa,8.3,FRA,ITA
Ann,Sven,8.0,FRA,SWE
Bo,Paul,6.0,ITA,FRA
Bo,Rosa,six,ITA,ITA
Bo,Sven,6.3,ITA,SWE
Cy,Paul,6.3,FRA,FRA
Cy,Rosa,5.0,FRA,ITA
Cy,Sven,4.6,FRA,SWE
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.fail(HOW)
    with sync_playwright() as playwright:
        # root may not use the browser's own sandbox
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=program, args=alone)
        yield opened
        opened.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "pages.db")
    yield started
    started.close()


class Watch:
    """What browsers complain of, and where they go; declared pictures are drawn here."""

    def __init__(self, server: Server) -> None:
        self.complaints: list[str] = []
        self._here = urlsplit(server.address).netloc

    def context(self, browser: Browser, **more: object) -> BrowserContext:
        made = browser.new_context(**more)  # type: ignore[arg-type]
        made.set_default_timeout(30_000)
        made.on("request", lambda request: self._requested(request.url))
        made.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        made.on("console", lambda line: self._wrote(line.type, line.text))
        made.route(f"{PICTURES}**", _drawn)
        return made

    def _requested(self, url: str) -> None:
        parts = urlsplit(url)
        outside = parts.scheme not in ("data", "blob") and parts.netloc != self._here
        if outside and not url.startswith(PICTURES):
            self.complaints.append(f"outside: {url}")

    def _wrote(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not EXPECTED.search(text):
            self.complaints.append(f"{kind}: {text}")


def _drawn(route: Route) -> None:
    route.fulfill(body=DRAWN, content_type="image/svg+xml")


def looks_right(page: Page) -> None:
    """Nothing sticks out, on a phone neither, and axe-core finds nothing, be it light or dark."""
    page.wait_for_load_state()
    before = page.viewport_size
    assert before is not None
    for width in (before["width"], 360):
        page.set_viewport_size({"width": width, "height": before["height"]})
        assert page.evaluate(STICKS_OUT) == [], (page.url, width)
    page.set_viewport_size(before)
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        # not as a tag of the page, which its policy would refuse
        page.evaluate(AXE_SCRIPT)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        assert found == [], (page.url, scheme, [(one["id"], one["nodes"]) for one in found])
    page.emulate_media(color_scheme="dark" if dark else "light")


def report_looks_right(browser: Browser, page: Page) -> None:
    """As `looks_right`, of a report, which lets nothing run: a copy is looked at."""
    copy = browser.new_page(viewport={"width": 1280, "height": 900})
    copy.set_content(page.content())
    looks_right(copy)
    copy.close()


LONG = "The proposal whose title goes on and on, as titles of proposals do, number"
NAMES = [f"{LONG} {i}" for i in range(12)] + ["x" * 90, "هل نمول هذا", "<script>alert(1)</script>"]


def test_a_file_fits_phones_and_paper(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        (name, f"R{j}", round(5 + x % 5 + (x + j) % 2 + rng.normal(), 1), "ab"[x % 2], "ab"[j % 2])
        for x, name in enumerate(NAMES)
        for j in range(9)
    ]
    header = ["option", "evaluator", "score", "option_group", "evaluator_group"]
    table = pd.DataFrame(rows, columns=header)
    for name, found in {"d": eh.decide(table, top=4), "a": eh.audit(table)}.items():
        found.report(tmp_path / f"{name}.html")
        page, said = browser.new_page(), list[str]()
        page.on("console", lambda line, said=said: said.append(line.text))  # such as of the policy
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.locator("summary").click()
        for width in (320, 390, 1100):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(STICKS_OUT) == []
            boxes = """[...document.querySelectorAll(".scroll")]
                .map(one => one.scrollWidth - one.clientWidth).filter(more => more > 1)"""
            assert page.evaluate(boxes) == [], (name, width)
        page.locator("summary").click()  # it is open in print nevertheless
        page.set_viewport_size({"width": 680, "height": 1009})  # A4 within its margins
        page.emulate_media(media="print")
        assert page.evaluate(STICKS_OUT) == []
        assert page.locator("details section").last.bounding_box()["height"] > 0
        height = page.evaluate("document.documentElement.scrollHeight")
        pages = len(re.findall(rb"/Type /Page\b", page.pdf(prefer_css_page_size=True)))
        assert height / 1009 <= pages <= 1.4 * height / 1009 + 1
        assert said == []
        page.close()


def test_a_table_with_a_defect_is_corrected_and_reported(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    watch = Watch(server)
    page = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    page.goto(server.link)
    page.wait_for_url("**/")
    looks_right(page)
    page.get_by_role("link", name="I have scores").last.click()
    looks_right(page)
    table = tmp_path / "ice.csv"
    table.write_text(SKATING)
    page.get_by_label("The file").set_input_files(table)
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_label("Who scores", exact=True)).to_have_value("judge")
    expect(page.get_by_label("The group of what is scored")).to_have_value("skater nation")
    looks_right(page)
    page.get_by_role("button", name="Audit and decide").click()
    wrong = page.get_by_role("alert")
    expect(wrong).to_contain_text("six")
    expect(wrong).to_contain_text("6")  # the line of the file
    expect(page.locator("td.bad .why")).to_contain_text("not a number")
    looks_right(page)
    table.write_text(SKATING.replace("six", "6.6"))
    page.get_by_label("The corrected file").set_input_files(table)
    page.get_by_role("button", name="Try this one").click()
    expect(page.locator(".verdict").first).to_contain_text("Ann")
    expect(page.get_by_role("region", name="Options, the most valuable first")).to_be_visible()
    looks_right(page)
    for which in ("decision", "audit"):
        with page.expect_popup() as popup:
            page.get_by_role("link", name=f"The {which}: the whole report").click()
        report = popup.value
        expect(report.locator("body")).to_contain_text("Ann")
        report_looks_right(browser, report)
        report.close()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download it (decision)").click()
    assert "Ann" in Path(download.value.path()).read_text("utf-8")
    page.get_by_role("link", name="I have scores").first.click()
    page.get_by_role("button", name="Look at an example").click()
    page.get_by_role("button", name="Audit and decide").click()
    expect(page.locator(".verdict").first).to_contain_text("is the best of 10 options")
    page.goto(f"{server.address}/campaigns/77")
    expect(page.get_by_role("alert")).to_contain_text("no such campaign")
    looks_right(page)
    page.goto(f"{server.link[:-8]}AAAAAAAA")
    expect(page.get_by_role("heading", name="This link does not work")).to_be_visible()
    looks_right(page)
    assert watch.complaints == []


def judge_by_mouse(page: Page, **other: int) -> bool:
    """Judge what is shown; tell whether there was something."""
    if page.locator("#judge").count() == 0:
        return False
    score = (SCORES | other)[page.locator("article h1").inner_text()]
    form = page.locator("#judge").get_attribute("data-ticket")
    page.locator(f'#judge label:has(input[value="{score}"])').click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)
    return True


def judge_by_keyboard(page: Page, **other: int) -> bool:
    """Judge what is shown without a mouse: tab to the scale, arrows, Enter."""
    if page.locator("#judge").count() == 0:
        return False
    score = (SCORES | other)[page.locator("article h1").inner_text()]
    form = page.locator("#judge").get_attribute("data-ticket")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "score":
            break
    page.keyboard.press("Space")
    for _ in range(20):
        if page.evaluate("document.activeElement.value") == str(score):
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)
    return True


def test_a_campaign_with_three_evaluators_and_a_dead_server(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    watch = Watch(server)
    owner = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    owner.goto(server.link)
    owner.get_by_role("link", name="I can ask").last.click()
    owner.get_by_label("Its name").fill("Cup")
    owner.get_by_label("What is to be judged").fill("Ann, FRA\nBo, ITA\nCy, FRA")
    owner.get_by_label("Who judges, one").fill("Paul, FRA\nRosa, ITA\nSven, SWE")
    looks_right(owner)
    owner.get_by_role("button", name="What can be told?").click()
    expect(owner.locator(".told")).to_contain_text("can be compared")
    looks_right(owner)
    owner.get_by_role("button", name="Begin").click()
    expect(owner.get_by_role("heading", name="Cup")).to_be_visible()
    looks_right(owner)
    campaign_page = f"{server.address}{urlsplit(owner.url).path}"
    owner.get_by_role("link", name="Invite evaluators").click()
    looks_right(owner)
    owner.get_by_role("button", name="Make links for all who have none").click()
    links = owner.locator("figcaption a").all_inner_texts()
    assert len(links) == 3
    looks_right(owner)
    owner.goto(campaign_page)

    desk = watch.context(browser).new_page()
    phone = watch.context(
        browser, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True,
        color_scheme="dark",
    ).new_page()  # fmt: skip
    keys = watch.context(browser).new_page()
    pages = [desk, phone, keys]
    for page, link in zip(pages, links, strict=True):
        entered(page, link)
        looks_right(page)

    assert judge_by_mouse(desk)
    expect(desk.get_by_text("Your last score is in.")).to_be_visible()
    desk.get_by_role("button", name="Undo it").click()
    expect(desk.get_by_text("Your last score is taken back.")).to_be_visible()
    assert judge_by_mouse(desk)
    assert judge_by_mouse(phone, Ann=10)
    assert judge_by_keyboard(keys, Bo=5)
    looks_right(desk)
    expect(owner.get_by_text("3 of at most 9 evaluations are in")).to_be_visible()  # by itself
    owner.get_by_role("link", name="Remind").click()
    behind = owner.get_by_role("row").filter(has_text="Paul")
    expect(behind).to_contain_text("handed out just now")
    assert "2%20of%20your%20evaluations" in str(behind.get_by_role("link").get_attribute("href"))
    looks_right(owner)
    owner.goto(campaign_page)

    phone.get_by_label("A note").fill("a note that must not be lost")
    phone.locator('#judge label:has(input[value="7"])').click()
    phone.reload()
    expect(phone.get_by_label("A note")).to_have_value("a note that must not be lost")
    expect(phone.locator('#judge input[value="7"]')).to_be_checked()

    server.kill()
    score = (SCORES | {"Ann": 10})[phone.locator("article h1").inner_text()]
    form = phone.locator("#judge").get_attribute("data-ticket")
    phone.locator(f'#judge label:has(input[value="{score}"])').click()
    phone.get_by_role("button", name="Send").click()
    expect(phone.get_by_role("status").last).to_contain_text("No connection")
    server.start()
    expect(phone.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)

    working = True
    while working:
        mice = [judge_by_mouse(desk), judge_by_mouse(phone, Ann=10)]
        working = any([*mice, judge_by_keyboard(keys, Bo=5)])
    keys.reload()  # whoever asks last has it decided
    expect(keys.get_by_role("heading", name="Thank you")).to_be_visible()
    expect(owner.get_by_text("9 of at most 9 evaluations are in")).to_be_visible()
    expect(owner.locator(".verdict")).to_contain_text("Choose Ann: it is the best")
    expect(owner.locator(".verdict")).to_contain_text("95% confidence")
    looks_right(owner)
    with owner.expect_popup() as popup:
        owner.get_by_role("link", name="Report", exact=True).click()
    expect(popup.value.locator("body")).to_contain_text("a note that must not be lost")
    report_looks_right(browser, popup.value)
    owner.get_by_role("link", name="Scores", exact=True).click()
    expect(owner.get_by_role("row")).to_have_count(1 + 10)  # one of them was undone
    looks_right(owner)
    owner.goto(campaign_page)
    owner.get_by_role("link", name="Verify the record").click()
    expect(owner.locator(".verdict")).to_contain_text("whole")
    looks_right(owner)
    looks_right(keys)
    assert watch.complaints == []
    with eh.Campaign.open(tmp_path / "pages.db", "Cup") as campaign:
        status = campaign.status()
        assert (status.evaluations, status.withdrawn, status.late) == (9, 1, 0)
        assert campaign.verify()


def test_a_score_is_withdrawn_and_a_campaign_paused_by_the_mouse(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    watch = Watch(server)
    link = begun(watch, browser, server, options="Ann\nBo", evaluators="Paul", scale="0, 100")
    judge = watch.context(browser, viewport={"width": 800, "height": 700}).new_page()
    entered(judge, link)
    expect(judge.locator("#slide")).to_be_visible()
    looks_right(judge)
    judge.locator("#slide").focus()
    judge.keyboard.press("End")
    expect(judge.get_by_label("Your score, a number")).to_have_value("100")
    judge.get_by_label("Your score, a number").fill("62.5")
    assert judge.locator("#slide").evaluate("slide => Number(slide.value)") == 62.5
    judge.get_by_role("button", name="Send").click()
    expect(judge.get_by_text("Your last score is in.")).to_be_visible()
    owner = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    owner.goto(server.link)
    owner.get_by_role("link", name="Try").click()
    owner.get_by_label("Reason").first.fill("the panel meets")
    owner.get_by_role("button", name="Pause").click()
    expect(owner.locator("#live")).to_contain_text("Paused: the panel meets")
    judge.get_by_label("Your score, a number").fill("10")
    judge.get_by_role("button", name="Send").click()  # what is out may still be told
    expect(judge.get_by_text("This is paused; come back later.")).to_be_visible()
    looks_right(judge)
    owner.get_by_role("button", name="Go on").click()
    owner.get_by_role("link", name="Choose it among the scores").click()
    expect(owner.get_by_role("columnheader", name="Score", exact=True)).to_have_count(0)
    owner.get_by_label("Score 1", exact=True).check()
    owner.get_by_label("Reason, for the record").fill("a slip")
    owner.get_by_label("I decided this without regard").check()
    owner.get_by_role("button", name="Withdraw").click()
    expect(owner.get_by_text("The score counts no more.")).to_be_visible()
    assert watch.complaints == []
    with eh.Campaign.open(tmp_path / "pages.db", "Try") as campaign:
        assert campaign.status().withdrawn == 1
        assert campaign.answer().withdrawn.scores[0].reason == "a slip"


def begun(
    watch: Watch,
    browser: Browser,
    server: Server,
    *,
    options: str,
    evaluators: str,
    scale: str = "",
    more: str = "",
) -> str:
    """Begin a campaign called Try; return the first evaluator's link."""
    owner = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    owner.goto(server.link)
    owner.get_by_role("link", name="I can ask").last.click()
    owner.get_by_label("Its name").fill("Try")
    owner.get_by_label("What is to be judged").fill(options)
    owner.get_by_label("Who judges, one").fill(evaluators)
    if scale:
        owner.get_by_label("Scale").fill(scale)
    if more:
        owner.get_by_label(more).check()
    owner.get_by_role("button", name="Begin").click()
    owner.get_by_role("link", name="Invite evaluators").click()
    owner.get_by_role("button", name="Make links for all who have none").click()
    return owner.locator("figcaption a").first.inner_text()


def test_two_are_compared_side_by_side_by_keyboard_alone(browser: Browser, server: Server) -> None:
    watch = Watch(server)
    options = "name, text, picture, page\n" + "\n".join(
        f"{name}, A text about {name}, {PICTURES}{name}.png, https://example.org/{name}"
        for name in ("Ann", "Bo", "Cy")
    )
    pair = {"options": options, "evaluators": "Paul\nRosa", "more": "say which of two is better"}
    link = begun(watch, browser, server, **pair)
    page = watch.context(browser, viewport={"width": 1000, "height": 900}).new_page()
    entered(page, link)
    sides = page.locator("article")
    expect(sides).to_have_count(2)
    first, second = (sides.nth(i).bounding_box() for i in (0, 1))
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    for i in (0, 1):
        drawn = sides.nth(i).get_by_role("img")
        drawn.scroll_into_view_if_needed()
        page.wait_for_function("i => document.images[i].naturalWidth === 300", arg=i)
        expect(sides.nth(i).get_by_role("link", name="https://example.org/")).to_be_visible()
    looks_right(page)
    names = [sides.nth(i).get_by_role("heading").inner_text() for i in (0, 1)]
    labels = page.locator("#judge fieldset label").all_inner_texts()
    assert labels == [names[0], "Neither", names[1]]
    form = page.locator("#judge").get_attribute("data-ticket")
    tab_to(page, "score")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    expect(page.locator('#judge input[value="tie"]')).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)
    declined = [sides.nth(i).get_by_role("heading").inner_text() for i in (0, 1)]
    tab_to(page, "", "SUMMARY")
    page.keyboard.press("Enter")
    tab_to(page, "reason")
    page.keyboard.press("ArrowDown")
    looks_right(page)
    tab_to(page, "more")
    page.keyboard.type("my pupil")
    page.keyboard.press("Enter")
    page.wait_for_url("**/judge")
    if sides.count():
        assert [sides.nth(i).get_by_role("heading").inner_text() for i in (0, 1)] != declined
    assert watch.complaints == []


def entered(page: Page, link: str) -> None:
    """Open a link, which goes on by itself."""
    page.goto(link)
    page.wait_for_url("**/judge")


def tab_to(page: Page, name: str, tag: str = "") -> None:
    """Go to a field without a mouse."""
    for _ in range(40):
        page.keyboard.press("Tab")
        here = page.evaluate("[document.activeElement.name || '', document.activeElement.tagName]")
        if (name and here[0] == name) or (tag and here[1] == tag):
            return
    pytest.fail(f"the keyboard does not reach {name or tag}")


def test_grades_are_buttons_with_their_names(browser: Browser, server: Server) -> None:
    watch = Watch(server)
    panel = {"options": "Ann\nBo\nCy", "evaluators": "Paul\nRosa", "scale": "Good, Fair, Poor"}
    link = begun(watch, browser, server, **panel)
    page = watch.context(browser, viewport={"width": 390, "height": 800}).new_page()
    entered(page, link)
    assert page.locator("#judge fieldset label").all_inner_texts() == ["Good", "Fair", "Poor"]
    looks_right(page)
    page.get_by_text("Fair", exact=True).click()
    page.get_by_label("A note").fill("a draft")
    page.context.set_offline(True)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#state")).to_contain_text("No connection")
    page.context.set_offline(False)
    expect(page.get_by_text("Your last score is in.")).to_be_visible()
    owner = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    owner.goto(server.link)
    owner.get_by_role("link", name="Try").click()
    expect(owner.locator("#live")).to_contain_text("Good = 3, Fair = 2, Poor = 1")
    looks_right(owner)
    assert [one for one in watch.complaints if "ERR_INTERNET_DISCONNECTED" not in one] == []
