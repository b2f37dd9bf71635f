"""The table of all findings, made from the table at the head of each finding's page when the site is built."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "findings"
PAGE = "findings/README.md"
FIELDS = ("Where", "Kind", "Rule", "Status")
REPORT = ("Versions", "Documented")
"""What a page has besides if it is ready to be sent to the engine's project."""

_HEAD = """# Findings

Each page of this folder is one difference that mergecheck found in a released engine: the smallest statement that
shows it, the versions, the rule by which another result is expected, and why it happens as far as we know.

*Deviation* is the name of an entry of the [deviations file](../deviations.md). Known differences do not fail a run.
Before a run, the case of each entry for the engine runs; an entry that no longer holds fails the run, so the status
stays true for the releases that are tested.
"""

_READY = """
## Ready to send

These pages are complete reports: title, smallest statement, what the engine's own documentation says, what it does, in
which releases. They have not been sent.

| Report | Versions that show it | What is documented |
|---|---|---|
"""

_ENGINES = {
    "delta-spark": "Delta Lake on Spark",
    "delta-rs": "delta-rs",
    "duckdb": "DuckDB",
    "sail": "Sail",
}
_OTHERS = "Spark, and several engines"

_ROW = re.compile(r"^\| (\w[\w ]*) \| (.*) \|$", re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages of the findings."""
    return sorted(FOLDER.glob("*.md"))


def head_of(page: Path) -> tuple[str, dict[str, str]]:
    """Return a page's title and the table at its head, by the words of the first column."""
    text = page.read_text(encoding="utf-8")
    title, _, rest = text.removeprefix("# ").partition("\n")
    return title, dict(_ROW.findall(rest.partition("\n```")[0]))


def ready_to_send() -> list[Path]:
    """Return the pages that are complete reports for the engine's project."""
    return [page for page in pages() if set(REPORT) <= set(head_of(page)[1])]


def listing() -> str:
    """Write the page that lists all findings."""
    parts = [_HEAD, _READY]
    for page in ready_to_send():
        title, head = head_of(page)
        parts.append(f"| [{title}]({page.name}) | {' | '.join(head[field] for field in REPORT)} |\n")
    for engine in (*_ENGINES.values(), _OTHERS):
        parts.append(f"\n## {engine}\n\n| Finding | {' | '.join(FIELDS)} |\n|{'---|' * (len(FIELDS) + 1)}\n")
        for page in pages():
            if _engine(page.name) == engine:
                title, head = head_of(page)
                parts.append(f"| [{title}]({page.name}) | {' | '.join(head[field] for field in FIELDS)} |\n")
    return "".join(parts)


def _engine(name: str) -> str:
    return next((title for prefix, title in _ENGINES.items() if name.startswith(f"{prefix}-")), _OTHERS)
