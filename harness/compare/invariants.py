"""invariants that a merge's own answer must satisfy (P-5 to P-14, R-234, R-235, R-239).

They need no reference: only the table before, and the table after, the metrics and the change feed as the engine shows
them. They also localise a fault: a wrong table with consistent metrics has another cause than metrics that contradict
the table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.counting_invariants import (
    COPIED,
    DELETED,
    INSERTED,
    METRICS_OF_INVARIANTS,
    UPDATED,
    counting_invariants,
    feed_counts,
)
from mergecheck.harness.compare.evolution import evolution_faults, row_converter
from mergecheck.harness.compare.feed_balance import feed_balance, row_identities
from mergecheck.harness.compare.kinds import KINDS
from mergecheck.harness.compare.log_invariants.commit_invariants import (
    AGAINST,
    broken_by_several,
    broken_invariant,
    record_invariants,
    time_invariants,
)
from mergecheck.harness.compare.log_invariants.row_tracking_invariants import row_id_faults
from mergecheck.harness.compare.table_outcome import TableOutcome, records_metrics
from mergecheck.harness.verdict import Check, Compared, Mismatch
from mergecheck.model.formatting import counted, row_text
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Feed
from mergecheck.model.table_properties import TYPE_WIDENING, is_on

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from mergecheck.model.case import Case, Target
    from mergecheck.model.outcome import Outcome

_MAX_FAULTS = 4
_CHECKS = {
    **dict.fromkeys(("R-701", "R-717", "R-718"), Check.LOG),
    **dict.fromkeys(("R-719", "R-722", "R-723"), Check.FILES),
}
"""The rules about the log and the files of a table; those that are not here are about the commit as such."""


def invariant_mismatches(case: Case, outcome: Outcome, present: frozenset[tuple[str, str]]) -> tuple[Mismatch, ...]:
    """Check the invariants that the outcome shows enough for; one mismatch per broken one, of the invariant's kind.

    Args:
        case: gives the table before the merge.
        outcome: the observables that the engine showed.
        present: (kind, action) of the statement's clauses (P-9); empty if they are not known.
    """
    before = physical_rows(case.target)
    counted = (len(before), len(outcome.rows))
    found = [
        *_schema_invariants(case.target, outcome),
        *counting_invariants(*counted, metrics=outcome.metrics, path=outcome.path, present=present),
        *_feed_invariants(case, outcome),
        *time_invariants(outcome.metrics),
        *(_log_invariants(case.target, outcome) if isinstance(outcome, TableOutcome) else ()),
        *_tracked_row_invariants(case, outcome),
    ]
    return tuple(found)


def count_mismatches(
    case: Case, outcome: Outcome, present: frozenset[tuple[str, str]], *, before: int
) -> Iterator[Mismatch]:
    """Check the invariants over counts alone: they look at no row, and at the files' records only if these are there.

    Args:
        case: gives the table before the merge.
        outcome: the observables that the engine showed.
        present: as for ``invariant_mismatches``.
        before: rows of the table before the merge.
    """
    after = len(outcome.rows)
    yield from counting_invariants(before, after, metrics=outcome.metrics, path=outcome.path, present=present)
    yield from _feed_counts(case, outcome)
    yield from _log_invariants(case.target, outcome) if isinstance(outcome, TableOutcome) else ()


def laws_compared(outcome: Outcome) -> Iterator[Compared]:
    """Name the invariants that an outcome shows enough for.

    P-6, P-9, P-10 and R-542 are about the metrics that there are; a broken one names them.
    """
    shown = _laws_of_log(outcome) if isinstance(outcome, TableOutcome) else {}
    metrics = {invariant for invariant, names in METRICS_OF_INVARIANTS.items() if names <= outcome.metrics.keys()}
    metrics -= {"P-7"} if outcome.path is None else set()
    invariants = {
        Check.SCHEMA: {"R-234"},
        Check.ROWS: {"P-9"},
        Check.METRICS: metrics | {"P-6", "P-9", "R-542"},
        Check.CDF: set() if outcome.cdf is None else {"P-12", "P-13"},
        Check.COMMIT: set() if outcome.committed is None else {"R-239"},
    }
    for check in Check:
        if kinds := invariants.get(check, set()) | shown.get(check, set()):
            yield Compared(check=check, against=AGAINST, kinds=frozenset(kinds))


def _laws_of_log(outcome: TableOutcome) -> dict[Check, set[str]]:
    record = outcome.record
    files = set() if outcome.num_files_added is None and record is None else {"P-10-files"}
    invariants = {
        Check.SCHEMA: {"R-235"},
        Check.ROWS: {"row_ids"} | ({"R-705"} if record is not None and record.tracked is not None else set()),
        Check.METRICS: {"P-10"} | files,
    }
    if record is not None:
        invariants[Check.METRICS] |= {"P-10-bytes", "P-10-change-files"}
        invariants |= {check: set(KINDS[check]) for check in (Check.COMMIT, Check.FILES, Check.TABLE, Check.LOG)}
        invariants[Check.LOG] -= set() if record.tracked is not None else {"R-724"}
    return invariants


def _schema_invariants(target: Target, outcome: Outcome) -> Iterator[Mismatch]:
    """R-234, R-235: evolution only adds. R-239: a schema changes by a commit or not at all."""
    faults = tuple(evolution_faults(target.schema, outcome.schema, widens=_widens(target)))
    if faults:
        yield replace(broken_invariant("R-234", *faults[:_MAX_FAULTS], check=Check.SCHEMA), parts=faults)
    if outcome.committed is False and outcome.schema != target.schema:
        yield broken_invariant("R-239", "the schema changed, but no table version was created", check=Check.COMMIT)


def _feed_invariants(case: Case, outcome: Outcome) -> Iterator[Mismatch]:
    """Invariants about the change feed; its balance is left out if the old schema does not evolve to the new one."""
    yield from _feed_counts(case, outcome)
    yield from _feed_balance(case, outcome)


def _feed_counts(case: Case, outcome: Outcome) -> Iterator[Mismatch]:
    if outcome.cdf is None:
        return
    counts = Counter(row[-1] for row in outcome.cdf)
    counted = outcome.feed is Feed.IMAGES and not _serves_copies(case, outcome)
    yield from feed_counts(counts, outcome.metrics if counted else {})


def _tracked_row_invariants(case: Case, outcome: Outcome) -> Iterator[Mismatch]:
    """R-705: rows keep their ids, and the ids agree with the changes in the metrics and the change feed.

    An answer whose rows a reading of a known deviation has replaced has no ids for them, and is not judged here.
    """
    if not isinstance(outcome, TableOutcome) or outcome.record is None or outcome.record.tracked is None:
        return
    convert, identity = row_converter(case.target.schema, outcome.schema), row_identities(case, outcome)
    tracked = outcome.record.tracked.after
    held, shown = (Counter(map(identity, rows)) for rows in ((row.values for row in tracked.rows), outcome.rows))
    if tracked.is_enabled and held != shown:
        return
    changes: dict[str, Counter[Hashable]] | None = None
    if outcome.cdf is not None and outcome.feed is Feed.IMAGES and not _serves_copies(case, outcome):
        changes = {}
        for row in outcome.cdf:
            changes.setdefault(str(row[-1]), Counter())[identity(row[:-1])] += 1
    faults = row_id_faults(
        outcome.record.tracked,
        outcome.metrics,
        old=None if convert is None else lambda row: identity(convert(row)),
        new=identity,
        changes=changes,
    )
    if found := tuple(faults):
        yield replace(broken_invariant("R-705", *found[:_MAX_FAULTS], check=Check.ROWS), parts=found)


def _serves_copies(case: Case, outcome: Outcome) -> bool:
    """Return whether the feed may have copied rows: no changes, and no metrics in the commit that show so (R-605)."""
    recorded = outcome.history_metrics if isinstance(outcome, TableOutcome) else records_metrics(case.conf)
    return not recorded and not any(outcome.metrics.get(name) for name in (INSERTED, UPDATED, DELETED))


def _feed_balance(case: Case, outcome: Outcome) -> Iterator[Mismatch]:
    """P-12, P-14: the table before in the new schema, less the old images, plus the new ones, is the table after."""
    balance = feed_balance(case, outcome) or ()
    if unheld := next((one for one in balance if one.is_unheld), None):
        row = row_text(unheld.row, outcome.schema)
        yield broken_invariant("P-12", f"the change feed removes {row}, which the table did not hold", check=Check.CDF)
    elif off := [one for one in balance if one.surplus]:
        lines = [f"off by {one.surplus:+} of {row_text(one.row, outcome.schema)}" for one in off[:3]]
        yield broken_invariant(
            "P-12", "table before and change feed do not give the table after", *lines, check=Check.CDF
        )


def _log_invariants(target: Target, outcome: TableOutcome) -> Iterator[Mismatch]:
    """P-10: the records of added and removed files agree with the metrics. P-11: statistics are true to the rows.

    R-235: what evolution adds is nullable inside arrays and maps too.
    """
    metrics = outcome.metrics
    invariants = {
        "removed": (outcome.num_records_removed, (UPDATED, DELETED, COPIED)),
        "added": (outcome.num_records_added, (INSERTED, UPDATED, COPIED)),
    }
    for what, (records, parts) in invariants.items():
        if outcome.committed is False and records:
            yield broken_invariant("P-10", f"the files {what} hold {records} rows, but there is no commit")
        elif all(part in metrics for part in parts) and records != sum(metrics[part] for part in parts):
            text = " + ".join(f"{part} {metrics[part]}" for part in parts)
            counted_rows = sum(metrics[part] for part in parts)
            yield broken_invariant("P-10", f"the files {what} hold {records} rows, by the metrics {counted_rows}", text)
    files = metrics.get("numTargetFilesAdded")
    if outcome.num_files_added is not None and files not in (None, outcome.num_files_added):
        added = counted(outcome.num_files_added, "file")
        yield broken_invariant("P-10-files", f"the commit adds {added}, but numTargetFilesAdded is {files}")
    if outcome.record is not None:
        yield from record_invariants(target, outcome, outcome.record)
    if outcome.members_not_null:
        paths = ", ".join(outcome.members_not_null)
        yield broken_invariant("R-235", f"elements or values are NOT NULL in {paths}", check=Check.SCHEMA)
    for rule in sorted({rule for rule, _ in outcome.commit_faults}):
        faults = [text for other, text in outcome.commit_faults if other == rule]
        yield broken_by_several(rule, faults, check=_CHECKS.get(rule, Check.COMMIT))
    if outcome.row_id_faults:
        yield broken_invariant("row_ids", *outcome.row_id_faults[:_MAX_FAULTS], check=Check.ROWS)
    if outcome.file_faults:
        yield broken_by_several("P-11", outcome.file_faults, check=Check.FILES)


def _widens(target: Target) -> bool:
    return is_on(target.properties, TYPE_WIDENING)
