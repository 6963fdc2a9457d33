"""Reading HTML as a browser would, to see what it says and that it is harmless."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from html.parser import HTMLParser

import httpx

from evenhand.campaigns.stores import Store
from evenhand.serve.access import grant

VOID = {"br", "img", "input", "hr"}
SELF_CLOSED = {"line", "circle"}


class Reader(HTMLParser):
    """Reads a page: its tags, its text per cell; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = self.styles = ""

    def handle_starttag(self, tag, attrs):
        assert tag not in VOID
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        assert tag in SELF_CLOSED
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles += data
            return
        self.text += data
        if any(tag in ("td", "th") for tag in self.open):
            self.cells[-1] += data


def read(page: str) -> Reader:
    """Return what a browser would find; assert that tags match and that nothing runs or loads."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    for tag, attributes in reader.tags:
        assert tag not in ("script", "link", "iframe", "object", "img")
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "href", "style"} & set(attributes)
    assert "url(" not in reader.styles
    return reader


class DocumentReader(Reader):
    """Reads a whole page with pictures."""

    def handle_starttag(self, tag, attrs):
        if tag in ("meta", "img"):
            self.tags.append((tag, dict(attrs)))
        else:
            super().handle_starttag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open  # elsewhere HTML has no tags that end themselves
        self.tags.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


PASSIVE = {
    "html", "head", "meta", "title", "style", "body", "main", "article", "section", "details",
    "summary", "h1", "h2", "p", "ul", "li", "dl", "dt", "dd", "b", "span", "div", "figure", "img",
    "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td", "svg", "line", "circle",
}  # fmt: skip


def read_document(page: str) -> DocumentReader:
    """Return what a browser would find in a report.

    Assert that it is whole, that nothing in it runs or is fetched, that names are unique, that the
    policy lets in its own styles and nothing else, and that whoever cannot see the pictures is told
    what they show.
    """
    reader = DocumentReader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        assert tag in PASSIVE, tag
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "href", "srcset", "action", "background", "xmlns")
            assert name != "src" or str(value).startswith("data:image/svg+xml;base64,")
    assert "url(" not in reader.styles
    assert "@import" not in reader.styles
    (policy,) = (one for one in reader.all("meta") if "http-equiv" in one)
    digest = b64encode(sha256(reader.styles.encode()).digest()).decode()
    assert policy["content"] == (f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:")
    (whole,) = reader.all("html")
    assert whole["lang"] == "en"
    assert len(reader.all("h1")) == len(reader.all("title")) == 1
    for drawing in reader.all("svg"):
        assert drawing["role"] == "img"
        assert drawing["aria-label"]
    assert all(one["alt"] for one in reader.all("img"))
    boxes = [one for one in reader.all("div") if one.get("class") == "scroll"]
    assert all(one["aria-label"] and one["tabindex"] == "0" for one in boxes)
    assert len(boxes) == len(reader.all("table")) == len(reader.all("caption"))
    assert all(one["scope"] in ("col", "row") for one in reader.all("th"))
    return reader


@contextmanager
def owner_of(store: Store, address: str) -> Iterator[httpx.Client]:
    """Open a browser that has come in by a link of the owner's."""
    asks = {"Accept": "text/html"}
    with httpx.Client(base_url=address, headers=asks, follow_redirects=True, timeout=60) as browser:
        browser.get(f"/enter/{grant(store, 'owner')}")
        yield browser


def word_of(browser: httpx.Client) -> str:
    """Return the word by which a browser's forms are known to be its own."""
    found = re.search(r'name="csrf" value="(\w+)"', browser.get("/scores").text)
    assert found
    return found[1]
