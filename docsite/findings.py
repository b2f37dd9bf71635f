"""The table of all findings, made from the table at the head of each finding's page when the site is built."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parents[1] / "docs" / "findings"
PAGE = "findings/README.md"
RESULTS = FOLDER / "releases.json"
SHOWS, RIGHT = "shows", "right"
FIELDS = ("Where", "Kind", "Rule", "Status", "Upstream")
REPORT = ("Versions", "Documented")
"""What a page has besides if it is ready to be sent to the engine's project."""
UPSTREAM = ("known", "mended on main", "new")
"""The first words of what a page writes of reports and changes in the engine's project: a report of the fault exists,
the fault is mended there but for the releases that show it, or no report was found."""

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

_BY_RELEASE = """
## By release

The minimal cases of the findings ran on these releases (`python -m tools.benchmarks.finding_releases`). A finding is
*confirmed by fix* if a later release of the engine is right and shows it no more.

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


def known_upstream(page: Path) -> str:
    """Return which of ``UPSTREAM`` a page begins its row with.

    Raises:
        ValueError: if it begins with none of them.
    """
    row = head_of(page)[1].get("Upstream", "")
    for words in UPSTREAM:
        if re.match(rf"{words}\b", row):
            return words
    raise ValueError(f"{page.name}: the row Upstream has to begin with one of: {', '.join(UPSTREAM)}; it has {row!r}")


def listing() -> str:
    """Write the page that lists all findings."""
    parts = [_HEAD, _READY]
    for page in ready_to_send():
        title, head = head_of(page)
        parts.append(f"| [{title}]({page.name}) | {' | '.join(head[field] for field in REPORT)} |\n")
    parts.append(by_release())
    for engine in (*_ENGINES.values(), _OTHERS):
        parts.append(f"\n## {engine}\n\n| Finding | {' | '.join(FIELDS)} |\n|{'---|' * (len(FIELDS) + 1)}\n")
        for page in pages():
            if _engine(page.name) == engine:
                title, head = head_of(page)
                parts.append(f"| [{title}]({page.name}) | {' | '.join(head[field] for field in FIELDS)} |\n")
    return "".join(parts)


def by_release() -> str:
    """Write which release introduced each finding, which one mended it, and how many are confirmed, ready or sent."""
    results: dict[str, dict[str, dict[str, str]]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows, confirmed = [], 0
    for engine, found in results.items():
        for name, states in found.items():
            introduced, mended = introduced_and_mended(states)
            confirmed += bool(mended)
            page, _, case = name.partition("/")
            if (FOLDER / f"{page}.md").exists():
                title = f"[{page}]({page}.md)" + (f", `{case}`" if case else "")
            else:
                title = f"[{case}](cases/{case}.json), [{page}](../{page}.md)"
            rows.append(f"| {engine} | {title} | {introduced} | {mended or '-'} |\n")
    upstream = Counter(known_upstream(page) for page in pages())
    counts = (
        f"Confirmed by fix: {confirmed} of {len(rows)} cases. Ready to send: {len(ready_to_send())}. Sent: 0.\n"
        f"Upstream, of {upstream.total()} pages: {', '.join(f'{upstream[word]} {word}' for word in UPSTREAM)}.\n"
    )
    head = "\n| Engine | Finding | First shown by | Mended in |\n|---|---|---|---|\n"
    return "".join([_BY_RELEASE, counts, head, *rows])


def introduced_and_mended(states: Mapping[str, str]) -> tuple[str, str]:
    """Tell which release shows a finding first, and which one is right after the last that shows it; "" for none.

    Args:
        states: the state of each release, as ``tools.benchmarks.finding_releases`` writes it.
    """
    known = [(version, state) for version, state in sorted(states.items(), key=lambda item: Version(item[0]))]
    places = [place for place, (_, state) in enumerate(known) if state == SHOWS]
    if not places:
        return "no release that was tried", ""
    first, last = places[0], places[-1]
    before = [version for version, state in known[:first] if state == RIGHT]
    rest = known[last + 1 :]
    again = [version for version, state in known[first:last] if state == RIGHT]
    earlier = f"{before[-1]} is right" if before else "no earlier release is known to be right"
    gone = f"; right in between: {', '.join(again)}" if again else ""
    return f"{known[first][0]} ({earlier}{gone})", next((version for version, state in rest if state == RIGHT), "")


def _engine(name: str) -> str:
    return next((title for prefix, title in _ENGINES.items() if name.startswith(f"{prefix}-")), _OTHERS)
