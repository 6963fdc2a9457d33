"""Reading HTML as a browser would, to see what it says and that it is harmless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser

import httpx

from evenhand.campaigns.stores import Store
from evenhand.serve.access import grant

VOID = {"br", "img", "input", "hr"}
SELF_CLOSED = {"rect", "line", "circle"}


class Reader(HTMLParser):
    """Reads a page: its tags, its text per cell; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text = ""

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
        assert tag not in ("script", "style", "link", "iframe", "object", "img")
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
        assert "url(" not in (attributes.get("style") or "")
    return reader


class DocumentReader(Reader):
    """Reads a whole page with styles and pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.styles = ""

    def handle_starttag(self, tag, attrs):
        if tag == "meta":
            self.tags.append((tag, dict(attrs)))
        else:
            super().handle_starttag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        assert "svg" in self.open  # elsewhere HTML has no tags that end themselves
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles += data
        else:
            super().handle_data(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of all tags of a name."""
        return [attributes for name, attributes in self.tags if name == tag]


PASSIVE = {
    "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "footer",
    "h1", "h2", "p", "ul", "ol", "li", "dl", "dt", "dd", "a", "b", "br", "code", "span", "div",
    "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption",
    "svg", "g", "defs", "clippath", "path", "use", "rect", "line", "circle", "text", "tspan",
}  # fmt: skip


def read_document(page: str) -> DocumentReader:
    """Return what a browser would find in a report.

    Assert that it is whole, that nothing in it runs or is fetched, that names are unique and links
    lead somewhere, and that whoever cannot see the pictures is told what they show.
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
            assert name not in ("src", "srcset", "action", "background", "xmlns")
            if name.endswith("href"):
                assert value is not None
                assert value.startswith("#")
                assert value[1:] in ids
            elif "url(" in (value or "") and tag != "text" and name != "aria-label":
                assert value is not None
                assert value.count("url(") == value.count("url(#")
    assert "url(" not in reader.styles
    assert "@import" not in reader.styles
    (policy,) = (one for one in reader.all("meta") if "http-equiv" in one)
    assert str(policy["content"]).startswith("default-src 'none'")
    (whole,) = reader.all("html")
    assert whole["lang"] == "en"
    assert len(reader.all("h1")) == len(reader.all("title")) == 1
    for drawing in reader.all("svg"):
        assert drawing["role"] == "img"
        assert drawing["aria-label"]
    boxes = [one for one in reader.all("div") if one.get("class") == "scroll"]
    assert all(one["aria-label"] and one["tabindex"] == "0" for one in boxes)
    assert len(boxes) == len(reader.all("table")) + len(reader.all("figure"))
    assert len(reader.all("caption")) == len(reader.all("table"))
    assert all(one["scope"] == "col" for one in reader.all("th"))
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
