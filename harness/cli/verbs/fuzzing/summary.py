"""The text of ``mergecheck fuzz`` at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.phases import phase_line
from mergecheck.harness.properties.rule_counts import known_rules, rule_counts, rules_line
from mergecheck.harness.properties.statistics import (
    batch_line,
    coverage_lines,
    denominator_line,
    not_checked_line,
    paths_line,
    size_line,
    space_line,
)
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.harness.properties.statistics import Summary


def summary_lines(summary: Summary, *, verbose: bool = False) -> tuple[str, ...]:
    """Return the summary of a run: the number of cases by verdict, and the paths that the engine reports.

    Args:
        summary: the counts.
        verbose: also show reasons, the clauses, paths and pairs of values that were reached, and the phases' times.
    """
    counts = summary.counts
    head = size_line(summary)
    paths = [paths_line(summary)] if counts.engine_paths else []
    work = counts.work.lines()
    if not verbose:
        not_checked = f"not checked in some: {', '.join(sorted(counts.not_checked))}" if counts.not_checked else ""
        return (
            f"{head}: {denominator_line(summary, with_reasons=False)}",
            *paths,
            *work[: bool(counts.work.counts.merges)],
            *([not_checked] if not_checked else []),
        )
    reached = rules_line(rule_counts(known_rules(), counts.rules))
    return (
        *coverage_lines(summary),
        reached,
        space_line(summary),
        "",
        (
            f"{head}, {counted(counts.num_repeated, 'repeated draw')} skipped; "
            f"{counts.changed_share:.0%} of the verified changed a row; no clause fired in {counts.num_idle}; "
            f"a row had several matches in {counts.num_multi_matched}"
        ),
        *([batch_line(summary)] if counts.num_batches else []),
        phase_line(counts.phase_seconds),
        denominator_line(summary),
        *paths,
        *work,
        *([not_checked_line(summary)] if counts.not_checked else []),
    )
