"""An HTML report taken apart, as a browser and a screen reader would read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TypeAlias

Attributes: TypeAlias = dict[str, str | None]

VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "wbr"})
REFERRING = frozenset({"src", "srcset", "data", "action", "formaction", "poster", "background", "ping", "cite"})


@dataclass(slots=True)
class Element:
    """One element with its content."""

    tag: str
    attributes: Attributes
    contents: list[Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Element]:
        found = [one for child in self.children for one in child.all(*tags)]
        return ([self] if not tags or self.tag in tags else []) + found

    @property
    def children(self) -> list[Element]:
        return [one for one in self.contents if isinstance(one, Element)]

    @property
    def text(self) -> str:
        return "".join(one.text if isinstance(one, Element) else one for one in self.contents)


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("#document", {})
        self.stack = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"attribute given twice in <{tag}>: {names}"
        element = Element(tag, dict(attrs))
        self.stack[-1].contents.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack[-1].tag == tag, f"</{tag}> closes <{self.stack[-1].tag}>"
        self.stack.pop()

    def handle_data(self, data: str) -> None:
        self.stack[-1].contents.append(data)


def parsed(text: str) -> Element:
    """Parse a document that closes every element it opens."""
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert [element.tag for element in builder.stack] == ["#document"]
    return builder.root


def check_page(text: str) -> Element:
    """Demand what every report promises, whatever its case data are."""
    assert text.startswith("<!DOCTYPE html>")
    page = parsed(text)
    elements = page.all()
    ids = [element.attributes["id"] for element in elements if "id" in element.attributes]
    assert len(ids) == len(set(ids)), "ids are unique"
    assert not page.all("script", "link", "img", "iframe", "object", "embed", "base", "form")
    shapes = {"svg", "line", "polyline", "circle", "title"}
    assert all(one.tag in shapes for drawing in page.all("svg") for one in drawing.all()), "drawings are plain shapes"
    for element in elements:
        names = element.attributes.keys()
        assert not names & REFERRING
        assert not any(name.startswith("on") or name == "style" for name in names)
        if "href" in names:
            href = element.attributes["href"] or ""
            assert href.startswith("#"), "links stay in the page"
            assert href[1:] in ids
        for name in ("aria-labelledby", "aria-describedby"):
            assert set((element.attributes.get(name) or "").split()) <= set(ids)
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text
    assert all(c.isprintable() or c == "\n" for c in text), "control characters are visible"
    assert len(page.all("head")[0].all("title")) == 1
    for tag in ("html", "header", "nav", "main", "footer", "h1"):
        assert len(page.all(tag)) == 1, tag
    assert page.all("html")[0].attributes["lang"] == "en"
    for table in page.all("table"):
        check_table(table)
    for details in page.all("details"):
        assert details.children[0].tag == "summary"
    return page


def check_table(table: Element) -> None:
    """Demand a caption, headers with a scope, and rows as wide as the header."""
    assert table.children[0].tag == "caption"
    assert table.children[0].text.strip()
    (head,), (body,) = table.all("thead"), table.all("tbody")
    widths = {sum(int(cell.attributes.get("colspan") or 1) for cell in row.all("th", "td")) for row in table.all("tr")}
    assert len(widths) == 1, f"rows of different widths in {table.children[0].text}: {widths}"
    assert {cell.attributes["scope"] for cell in head.all("th")} <= {"col", "colgroup"}
    for row in body.all("tr"):
        assert row.children[0].tag == "th"
        assert row.children[0].attributes["scope"] == "row"
    for mark in table.all("mark"):
        assert "differs" in mark.text, "no colour alone"
        assert "≠" in mark.text
