"""Links between pages, from where the repository has a file to where the site has it.

In the repository a page may link to any file. The site has the pages of docs/, a few pages of the repository's top
folder, and the pages of the specification, which are written when the site is built. A link to a page leads to that
page on the site. A link to a rule in the text of the specification, such as ``[R-320](...)``, leads to the rule's page.
A link to source code becomes plain text, since the site has no copy of the code; its text is the path.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mergecheck.harness.specification.rules import CHAPTERS, load_rules

ROOT = Path(__file__).parents[1]

# Pages of the top folder, and their place on the site.
TOP_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "README.md": "index.md",
}

SPECIFICATION_TEXT = "harness/specification/text"

_FENCE_OR_LINK = re.compile(r"^```.*?^```|\[(?P<text>[^\]\n]*)\]\((?P<link>[^)\s]+)\)", re.MULTILINE | re.DOTALL)


def to_site(markdown: str, *, source: str, page: str) -> str:
    """Rewrite the links of a page.

    Args:
        markdown: the page's text.
        source: the page's path in the repository.
        page: the page's path in the folder of the site's pages.

    Returns:
        The text with every relative link led to the site, or replaced by its text.
    """

    def rewritten(match: re.Match[str]) -> str:
        link = match["link"]
        if link is None or "://" in link or link.startswith(("#", "mailto:")):
            return match[0]
        path, hash_sign, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if path == SPECIFICATION_TEXT or path.startswith(f"{SPECIFICATION_TEXT}/"):
            page_of_rule = _in_specification(posixpath.basename(path), match["text"])
            return f"[{match['text']}]({posixpath.relpath(page_of_rule, posixpath.dirname(page) or '.')})"
        found = _on_site(path)
        if found is None:
            return match["text"]
        relative = posixpath.relpath(found, posixpath.dirname(page) or ".")
        return f"[{match['text']}]({relative}{hash_sign}{anchor})"

    return _FENCE_OR_LINK.sub(rewritten, markdown)


def _in_specification(file: str, text: str) -> str:
    """Return the page for a link to a text of the specification: a rule's if the link's text is its number."""
    name = file.removesuffix(".md")
    return f"specification/{name if name in CHAPTERS else text if text in load_rules() else 'README'}.md"


def _on_site(path: str) -> str | None:
    """Return the page of the site for a file of the repository, None if it has none; a folder means its first page."""
    if path in TOP_PAGES:
        return TOP_PAGES[path]
    if not path.startswith("docs/"):
        return None
    if (ROOT / path).is_dir():
        path = posixpath.join(path, "README.md")
    return path.removeprefix("docs/")
