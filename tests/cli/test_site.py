"""The documentation as a site: every page can be reached, and links lead to pages and headings."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from docsite import findings
from docsite.links import to_site
from docsite.offline import loads_of_other_sites
from mergecheck.harness.specification.rules import CHAPTERS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


RULE_TEXT = r"\.\./\.\./harness/specification/text/[\w-]+\.md#[\w-]+"


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which may name Python objects; they do not matter here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def pages_of(nav: Any) -> list[str]:
    """List the pages of a navigation."""
    if isinstance(nav, str):
        return [nav]
    return [page for part in (nav.values() if isinstance(nav, dict) else nav) for page in pages_of(part)]


def test_every_page_is_in_the_navigation() -> None:
    """The pages of rules are not: they are in the tables of the specification's first page."""
    configuration = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader
    listed = pages_of(configuration["nav"])
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    pages |= {findings.PAGE, *(f"specification/{name}.md" for name in ("README", *CHAPTERS))}
    assert len(listed) == len(set(listed))
    assert {page for page in listed if not page.startswith("project/")} == pages


def test_links_are_led_to_the_site() -> None:
    text = "[A](../ARCHITECTURE.md#x) [B](engines.md) [C](../harness/core.py) [D](findings) [E](https://a.b) [F](#g)"
    assert to_site(text, source="docs/ci.md", page="ci.md") == (
        "[A](project/architecture.md#x) [B](engines.md) C [D](findings/README.md) [E](https://a.b) [F](#g)"
    )
    rule = "[R-320](../harness/specification/text/part3-rows.md#r-320) [all](../harness/specification/text)"
    assert to_site(rule, source="docs/ci.md", page="ci.md") == (
        "[R-320](specification/R-320.md) [all](specification/README.md)"
    )
    assert to_site("[B](docs/ci.md)", source="README.md", page="project/a.md") == "[B](../ci.md)"
    fenced = "```\n[C](../harness/core.py)\n```"
    assert to_site(fenced, source="docs/ci.md", page="ci.md") == fenced


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<img src="https://a.b/c.png">', ["x.html: https://a.b/c.png"]),
        ('<link rel="preconnect" href="//fonts.test">', ["x.html: //fonts.test"]),
        ('<a href="https://a.b">b</a><script src="assets/a.js"></script><img src="data:image/png;base64,AA">', []),
    ],
)
def test_pages_that_need_a_network_are_named(tmp_path: Path, html: str, found: list[str]) -> None:
    (tmp_path / "x.html").write_text(html, encoding="utf-8")
    assert list(loads_of_other_sites(tmp_path)) == found


def test_every_finding_says_what_upstream_needs() -> None:
    """Versions, kind, a rule with its page, status and upstream's state; the statement is in a block of code."""
    for page in findings.pages():
        _, head = findings.head_of(page)
        assert set(findings.FIELDS) <= set(head), page.name
        assert findings.known_upstream(page) in findings.UPSTREAM, page.name
        assert re.fullmatch(rf"\[([RP]-\w+)\]\({RULE_TEXT}\)(, \[.*)?", head["Rule"]), page.name
        assert "\n```" in page.read_text(encoding="utf-8"), page.name


def test_a_finding_names_its_deviations() -> None:
    """As many as the packaged deviations file has with a link to the page."""
    linked: dict[str, set[str]] = {page.name: set() for page in findings.pages()}
    for entry in tomllib.loads((ROOT / "harness" / "deviations" / "deviations.toml").read_text())["deviation"]:
        folder, _, name = entry["link"].rpartition("/")
        if folder == "docs/findings":
            linked[name].add(entry["id"])
    named = {page.name: set(re.findall(r"`([^`]+)`", findings.head_of(page)[1]["Status"])) for page in findings.pages()}
    assert named == linked


def test_reports_that_are_ready_to_send() -> None:
    """Each has a statement, both sides' results, and a link to the engine's own documentation."""
    ready = findings.ready_to_send()
    assert len(ready) >= 10
    for page in ready:
        _, head = findings.head_of(page)
        assert re.search(r"\(https://[^)]+\)", head["Documented"]), page.name
        assert re.search(r"\d", head["Versions"]), page.name
        text = page.read_text(encoding="utf-8").lower()
        assert "```sql" in text, page.name
        assert "expected" in text or "right: 1" in text, page.name


def test_the_list_of_findings_has_each_once() -> None:
    """In the table of its engine; a complete report is also in the table of those that are ready to send.

    The table by release has those that ran.
    """
    ready, _, *tables = findings.listing().split("\n## ")[1:]
    for page in findings.pages():
        title, _ = findings.head_of(page)
        link = f"\n| [{title}]({page.name})"
        assert sum(table.count(link) for table in tables) == 1, page.name
        assert (link in ready) == (page in findings.ready_to_send()), page.name


@pytest.mark.parametrize(
    ("states", "introduced", "mended"),
    [
        ({"1.0": "right", "1.1": "shows", "1.10": "shows"}, "1.1 (1.0 is right)", ""),
        ({"1.9": "shows", "1.10": "right"}, "1.9 (no earlier release is known to be right)", "1.10"),
        (
            {"1.0": "cannot tell", "1.1": "shows", "1.2": "cannot tell", "1.3": "right"},
            "1.1 (no earlier release is known to be right)",
            "1.3",
        ),
        (
            {"1.0": "shows", "2.0": "right", "2.1": "shows"},
            "1.0 (no earlier release is known to be right; right in between: 2.0)",
            "",
        ),
        ({"1.0": "differs otherwise"}, "no release that was tried", ""),
    ],
)
def test_releases_that_introduced_and_mended_a_finding(states: dict[str, str], introduced: str, mended: str) -> None:
    """Releases are ordered as versions, and one that cannot decide counts for neither."""
    assert findings.introduced_and_mended(states) == (introduced, mended)


def test_every_finding_by_release_has_a_page() -> None:
    """Its own, or a row with its case on the page of its engine."""
    results = json.loads(findings.RESULTS.read_text())
    pages = {page.stem for page in findings.pages()}
    for page, _, case in (name.partition("/") for found in results.values() for name in found):
        if page not in pages:
            assert (findings.FOLDER / "cases" / f"{case}.json").exists(), case
            assert f"findings/cases/{case}.json" in (findings.FOLDER.parent / f"{page}.md").read_text(), case
    assert "Confirmed by fix: " in findings.listing()
