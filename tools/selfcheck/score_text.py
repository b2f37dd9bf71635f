"""The score for people: lines for the terminal, a page for the docs."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import num_tokens_behind_using
from mergecheck.harness.report.render import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from tools.selfcheck.score import FaultScore, Score
    from tools.selfcheck.shrinking import Shrunk

_MOST = 0.9


def rich_table(found: Score) -> Table:
    """Make the table for the terminal: a line per fault, the hardest last."""
    from rich.table import Table  # noqa: PLC0415 - only the terminal needs it

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("fault", "area"):
        table.add_column(name, no_wrap=True)
    for name in ("found", "median", "worst"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("checks")
    for one in _by_difficulty(found.faults):
        table.add_row(
            one.fault.id, one.fault.area.value, _found(one), _number(one.median), _number(one.worst), _checks(one)
        )
    return table


def summary_lines(found: Score) -> list[str]:
    """Sum up the table."""
    total = len(found.counted)
    lines = [
        "",
        (
            f"solved: {found.num_solved} of {total} faults ({found.solved_share:.0%}) "
            f"by each of {len(found.seeds)} seeds within {found.max_cases} cases"
        ),
        f"median fault: {_number(found.median)} cases; "
        + ", ".join(f"{count} within {limit}" for limit, count in found.buckets.items()),
        f"{found.num_cases} cases, {found.num_runs} runs of a faulty merge, {found.seconds:.0f} s",
        _alone_line(found),
    ]
    shrunk = [one.shrunk for one in found.faults if one.shrunk is not None]
    lines += _shrunk_lines(shrunk) if shrunk else []
    for one in found.faults:
        if one not in found.counted:
            lines.append(f"EQUIVALENT  {one.fault.id}: {one.fault.equivalent}")
        elif not one.is_solved:
            lines.append(f"NOT SOLVED  {one.fault.id} ({_found(one)}): {one.fault.summary} {one.fault.seldom}".rstrip())
    return lines


def markdown(found: Score, *, date: str, version: str) -> str:
    """Write the page for the docs."""
    lines = [
        "# Mutation score",
        "",
        "```",
        "python -m tools.selfcheck --jobs 2 --drop-missed --shrink --results results.jsonl --markdown FILE",
        "```",
        "",
        (
            "`python -m tools.selfcheck` runs mutants of `merge/`, one at a time, and counts the random cases until "
            "each is found. A fault counts as solved only if every seed finds it. With `--drop-missed`, later seeds "
            "skip a fault that one seed missed: `3/4` means that three of the four seeds that looked for it found it."
        ),
        "",
        (
            f"Figures of version {version}, {date}, seeds {_told(found.seeds)}, at most {found.max_cases} cases each. "
            "Later versions draw other cases of the same kinds for a seed."
        ),
        "",
        *(f"- {line}" for line in summary_lines(found) if line),
        "",
        "| fault | area | what is wrong | rules | found | median | worst | checks | minimal case |",
        "|---|---|---|---|---:|---:|---:|---|---|",
    ]
    for one in _by_difficulty(found.faults):
        rules = ", ".join(one.fault.rules)
        lines.append(
            f"| {one.fault.id} | {one.fault.area.value} | {one.fault.summary} | {rules} | {_found(one)} "
            f"| {_number(one.median)} | {_number(one.worst)} | {_checks(one)} | {_size(one.shrunk)} |"
        )
    lines += ["", "Minimal case: target rows + source rows, clauses, seconds of shrinking.", ""]
    return "\n".join(lines)


def _by_difficulty(faults: Sequence[FaultScore]) -> list[FaultScore]:
    return sorted(faults, key=lambda one: (float("inf") if one.median is None else one.median, one.fault.id))


def _told(seeds: Sequence[int]) -> str:
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"


def _found(one: FaultScore) -> str:
    return f"{one.num_found}/{len(one.kills)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _checks(one: FaultScore) -> str:
    return " ".join(f"{check} {count}" for check, count in one.checks.most_common())


def _size(shrunk: Shrunk | None) -> str:
    if shrunk is None:
        return ""
    rows = f"{shrunk.num_target_rows}+{shrunk.num_source_rows}"
    cut = ", cut short" if shrunk.cut_short else ""
    return f"{rows}, {shrunk.num_clauses}, {shrunk.seconds:.0f} s{cut}"


def _alone_line(found: Score) -> str:
    alone = Counter(one.lone_check for one in found.faults if one.lone_check is not None)
    told = ", ".join(f"{printable(check)} {count}" for check, count in alone.most_common())
    return f"faults that a single check finds alone: {told or 'none'}"


def _shrunk_lines(shrunk: Sequence[Shrunk]) -> list[str]:
    rows = sorted((max(s.num_target_rows, s.num_source_rows), s.num_clauses) for s in shrunk)
    small = sum(num_rows <= 1 and clauses <= 1 for num_rows, clauses in rows)
    middling = sum(num_rows <= 2 and clauses <= 2 for num_rows, clauses in rows)  # noqa: PLR2004 - the line's own words
    seconds = statistics.median(s.seconds for s in shrunk)
    tokens = sorted(num_tokens_behind_using(s.sql) for s in shrunk)
    most = tokens[math.ceil(_MOST * len(tokens)) - 1]
    cut = sum(s.cut_short for s in shrunk)
    return [
        (
            f"shrunk: {len(shrunk)} faults; {small / len(shrunk):.0%} to at most 1+1 rows and 1 clause, "
            f"{middling / len(shrunk):.0%} to at most 2+2 rows and 2 clauses; median {seconds:.0f} s; "
            f"cut short by a limit: {cut}"
        ),
        f"minimal statements: median {statistics.median(tokens):g} tokens behind USING, {_MOST:.0%} at most {most}",
    ]
