"""Pages that need no other site: what a page loads by itself must be a file beside it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
_LOADING_LINKS = frozenset({"stylesheet", "preconnect", "preload", "icon", "dns-prefetch", "modulepreload", "manifest"})


class _Loads(HTMLParser):
    """Collects the addresses that a browser asks for when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "link" and _LOADING_LINKS & set((values.get("rel") or "").split()):
            self.found.append(values.get("href") or "")
        elif tag in _LOADS:
            self.found.append(values.get(_LOADS[tag]) or "")


def loads_of_other_sites(folder: Path) -> Iterator[str]:
    """Name each page of a built site that loads something from another site, with the address."""
    for page in sorted(folder.rglob("*.html")):
        loads = _Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        loads.close()
        yield from (
            f"{page.relative_to(folder)}: {address}" for address in loads.found if address.startswith(("http", "//"))
        )
