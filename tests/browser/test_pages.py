"""The pages in a real browser, from end to end, with a server that is killed in the middle."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

import evenhand as eh

HOW = "there is no browser for the tests of pages: apt-get install chromium (or brew, dnf, …)"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# what a browser writes of its own accord where a server is away, or refuses
EXPECTED = re.compile(
    r"ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_SOCKET|htmx:(sendError|afterRequest)|status of 400"
)
SCORES = {"Ann": 9, "Bo": 4, "Cy": 2}
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


class Server:
    """`evenhand serve`, which can be killed and started again."""

    def __init__(self, store: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._store = store
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "evenhand", "serve", str(self._store), "--no-open"]
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        said = ""
        while "Ctrl-C" not in said:
            line = self._process.stdout.readline()
            assert line, f"the server ended: {said}"
            said += line
        self.link = re.findall(r"http://\S+/enter/\S+", said)[0]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(20)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "pages.db")
    yield started
    started.close()


class Watch:
    """What browsers complain of, and where they go."""

    def __init__(self, server: Server) -> None:
        self.complaints: list[str] = []
        self._here = urlsplit(server.address).netloc

    def context(self, browser: Browser, **more: object) -> BrowserContext:
        made = browser.new_context(**more)  # type: ignore[arg-type]
        made.set_default_timeout(30_000)
        made.on("request", lambda request: self._requested(request.url))
        made.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        made.on("console", lambda line: self._wrote(line.type, line.text))
        return made

    def _requested(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self._here:
            self.complaints.append(f"outside: {url}")

    def _wrote(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not EXPECTED.search(text):
            self.complaints.append(f"{kind}: {text}")


def nothing_sticks_out(page: Page) -> None:
    """On no page does one have to scroll sideways."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1")


def every_field_is_named(page: Page) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
        .filter(field => !field.labels?.length && !field.getAttribute('aria-label'))
        .map(field => field.outerHTML)"""
    )
    assert nameless == []


def test_a_table_with_a_defect_is_corrected_and_reported(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    watch = Watch(server)
    page = watch.context(browser, viewport={"width": 1280, "height": 900}).new_page()
    page.goto(server.link)
    page.get_by_role("link", name="I have scores").last.click()
    table = tmp_path / "ice.csv"
    table.write_text(SKATING)
    page.get_by_label("The file").set_input_files(table)
    page.get_by_role("button", name="Look at it").click()
    expect(page.get_by_label("Who scores", exact=True)).to_have_value("judge")
    expect(page.get_by_label("The group of what is scored")).to_have_value("skater nation")
    every_field_is_named(page)
    page.get_by_role("button", name="Audit and decide").click()
    wrong = page.get_by_role("alert")
    expect(wrong).to_contain_text("six")
    expect(wrong).to_contain_text("6")  # the line of the file
    table.write_text(SKATING.replace("six", "6.6"))
    page.get_by_role("link", name="I have scores").first.click()
    page.get_by_label("The file").set_input_files(table)
    page.get_by_role("button", name="Look at it").click()
    page.get_by_role("button", name="Audit and decide").click()
    expect(page.locator(".verdict").last).to_contain_text("Ann")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="The decision").click()
    report = popup.value
    expect(report.locator("body")).to_contain_text("Ann")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").last.click()
    assert "Ann" in Path(download.value.path()).read_text("utf-8")
    assert watch.complaints == []


def judge_by_mouse(page: Page) -> bool:
    """Judge what is shown; tell whether there was something."""
    if page.locator("#judge").count() == 0:
        return False
    score = SCORES[page.locator("article h1").inner_text()]
    form = page.locator("#judge").get_attribute("data-ticket")
    page.locator(f'#judge label:has(input[value="{score}"])').click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)
    return True


def judge_by_keyboard(page: Page) -> bool:
    """Judge what is shown without a mouse: tab to the scale, arrows, Enter."""
    if page.locator("#judge").count() == 0:
        return False
    score = SCORES[page.locator("article h1").inner_text()]
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
    every_field_is_named(owner)
    owner.get_by_role("button", name="What can be told?").click()
    expect(owner.locator(".told")).to_contain_text("can be compared")
    owner.get_by_role("button", name="Begin").click()
    expect(owner.get_by_role("heading", name="Cup")).to_be_visible()
    campaign_page = owner.url
    owner.get_by_role("link", name="Invite evaluators").click()
    owner.get_by_role("button", name="Make links for all who have none").click()
    links = owner.locator("figcaption a").all_inner_texts()
    assert len(links) == 3
    owner.goto(campaign_page)

    desk = watch.context(browser).new_page()
    phone = watch.context(
        browser, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True,
        color_scheme="dark",
    ).new_page()  # fmt: skip
    keys = watch.context(browser).new_page()
    pages = [desk, phone, keys]
    for page, link in zip(pages, links, strict=True):
        page.goto(link)
        page.wait_for_url("**/judge")
        nothing_sticks_out(page)
        every_field_is_named(page)

    assert judge_by_mouse(desk)
    expect(desk.get_by_text("Your last score is in.")).to_be_visible()
    desk.get_by_role("button", name="Undo it").click()
    expect(desk.get_by_text("Your last score is taken back.")).to_be_visible()
    assert judge_by_mouse(desk)
    assert judge_by_mouse(phone)
    assert judge_by_keyboard(keys)
    expect(owner.get_by_text("3 of at most 9 evaluations are in")).to_be_visible()  # by itself

    phone.get_by_label("A note").fill("a note that must not be lost")
    phone.locator('#judge label:has(input[value="7"])').click()
    phone.reload()
    expect(phone.get_by_label("A note")).to_have_value("a note that must not be lost")
    expect(phone.locator('#judge input[value="7"]')).to_be_checked()

    server.kill()
    score = SCORES[phone.locator("article h1").inner_text()]
    form = phone.locator("#judge").get_attribute("data-ticket")
    phone.locator(f'#judge label:has(input[value="{score}"])').click()
    phone.get_by_role("button", name="Send").click()
    expect(phone.get_by_role("status").last).to_contain_text("No connection")
    server.start()
    expect(phone.locator(f'#judge[data-ticket="{form}"]')).to_have_count(0)

    working = True
    while working:
        working = any([judge_by_mouse(desk), judge_by_mouse(phone), judge_by_keyboard(keys)])
    keys.reload()  # whoever asks last has it decided
    expect(keys.get_by_role("heading", name="Thank you")).to_be_visible()
    expect(owner.get_by_text("9 of at most 9 evaluations are in")).to_be_visible()
    expect(owner.locator(".verdict")).to_contain_text("Ann")
    with owner.expect_popup() as popup:
        owner.get_by_role("link", name="Report").click()
    expect(popup.value.locator("body")).to_contain_text("a note that must not be lost")
    owner.get_by_role("link", name="Verify").click()
    expect(owner.locator(".told")).to_contain_text("whole")
    assert watch.complaints == []
    with eh.Campaign.open(tmp_path / "pages.db", "Cup") as campaign:
        status = campaign.status()
        assert (status.evaluations, status.withdrawn, status.late) == (9, 1, 0)
        assert campaign.verify()
