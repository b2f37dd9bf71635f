"""The page of the corruptions: entry by entry, how many corrupted answers there are and how many are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.corruptions.answers import RecordedEngine
    from tools.corruptions.trial import Tally

_HEAD = """# How narrow the known deviations are

Of each [known deviation](deviations.md), the engine's answer to its case is recorded
(`tools/corruptions/answers/`). A test corrupts the answer in every way of `tools/corruptions/catalogue.py` that
applies, and demands that each corrupted answer is reported. `make corruptions` writes this page; with
`SPEC="--record ENGINE"` it asks an engine anew first.

"""


def page(tallies: Iterable[Tally], recorded: Mapping[str, RecordedEngine]) -> str:
    """Write the page."""
    lines = ["| Entry | Release | Ways | Corrupted answers | Reported |", "|---|---|---|---|---|"]
    total = reported = 0
    for one in tallies:
        lines.append(line(one, recorded[one.entry.id]))
        total += one.num_tried
        reported += one.num_reported
    lines.append(f"| all | | | {total} | {reported} |")
    return _HEAD + "\n".join(lines) + "\n"


def line(tally: Tally, engine: RecordedEngine) -> str:
    """Write an entry's line of the page."""
    numbers = f"{len(tally.by_corruption)} | {tally.num_tried} | {tally.num_reported}"
    return f"| `{tally.entry.id}` | {engine.name} {engine.version} | {numbers} |"
