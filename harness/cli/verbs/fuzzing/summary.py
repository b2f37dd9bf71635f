"""The text of ``mergecheck fuzz`` at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.properties.phases import phase_line
from mergecheck.harness.properties.rule_counts import known_rules, rule_counts, rules_line
from mergecheck.harness.properties.statistics import (
    batch_line,
    coverage_line,
    coverage_lines,
    denominator_line,
    not_checked_line,
    space_line,
)
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.harness.properties.statistics import Summary


def summary_lines(summary: Summary, *, verbose: bool = False) -> tuple[str, ...]:
    """Return the summary of a run: the number of cases by verdict, then how much of the semantics they reached.

    Args:
        summary: the counts.
        verbose: also show the clauses, paths and pairs of values in full, and the time of each phase.
    """
    counts = summary.counts
    reached = rules_line(rule_counts(known_rules(), counts.rules))
    return (
        *((*coverage_lines(summary), reached, space_line(summary), "") if verbose else ()),
        (
            f"{counted(counts.num_cases, 'case')} in {summary.seconds:.0f} s, "
            f"{counted(counts.num_repeated, 'repeated draw')} skipped; "
            f"{counts.changed_share:.0%} of the verified changed a row; no clause fired in {counts.num_idle}; "
            f"a row had several matches in {counts.num_multi_matched}"
        ),
        *([batch_line(summary)] if counts.num_batched else []),
        *([phase_line(counts.phase_seconds)] if verbose else []),
        *([] if verbose else [f"{coverage_line(summary)}; {reached}"]),
        denominator_line(summary),
        *([not_checked_line(summary)] if counts.not_checked else []),
    )
