"""Reading HTML as a browser would, to see what it says and that it is harmless."""

from __future__ import annotations

from html.parser import HTMLParser

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
