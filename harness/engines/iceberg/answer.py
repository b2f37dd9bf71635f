"""Iceberg's answer to a merge in the harness's types: metrics, change rows, and the invariants of row ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.table_outcome import TableOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.engines.iceberg.tables import Snapshot
    from mergecheck.model.case import Row
    from mergecheck.model.outcome import Feed
    from mergecheck.model.types.data_types import Schema

_PREFIX = "spark.merge-into.num-target-rows-"
_METRICS = {
    "inserted": "numTargetRowsInserted",
    "updated": "numTargetRowsUpdated",
    "deleted": "numTargetRowsDeleted",
    "copied": "numTargetRowsCopied",
    "matched-updated": "numTargetRowsMatchedUpdated",
    "matched-deleted": "numTargetRowsMatchedDeleted",
    "not-matched-by-source-updated": "numTargetRowsNotMatchedBySourceUpdated",
    "not-matched-by-source-deleted": "numTargetRowsNotMatchedBySourceDeleted",
}
COMPARED_METRICS = frozenset(_METRICS.values()) - {"numTargetRowsCopied"}
"""Metrics that a merge must count whatever files it rewrites; copied rows must fit the files (P-10)."""

CHANGE_TYPES = {"DELETE": "delete", "INSERT": "insert"}
"""The types of a changelog's rows, and Delta's. An update is a row that is gone and one that is new."""


def metrics_of(snapshot: Snapshot) -> dict[str, int]:
    """Give the metrics of a merge by Delta's names; one that Spark does not know is -1, and left out.

    A merge of insert clauses only is an append, whose snapshot has none.
    """
    found = {_METRICS[name]: snapshot.summary.get(f"{_PREFIX}{name}", "-1") for name in _METRICS}
    return {name: int(text) for name, text in found.items() if int(text) >= 0}


def outcome_of(
    schema: Schema,
    rows: tuple[Row, ...],
    *,
    changes: tuple[Row, ...] | None,
    feed: Feed,
    snapshot: Snapshot | None,
    id_faults: tuple[str, ...],
) -> TableOutcome:
    """Build the outcome from the observations.

    Args:
        schema: of the table after the merge.
        rows: of the table after the merge.
        changes: rows that are gone, and new ones; None if they were not requested, or cannot be derived.
        feed: whether they can be derived.
        snapshot: the one that the merge made; None if it made none.
        id_faults: the faults of the rows' ids.
    """
    summary = {} if snapshot is None else snapshot.summary
    metrics = {} if snapshot is None else metrics_of(snapshot)
    removed = _number(summary, "deleted-records") + _number(summary, "added-position-deletes")
    return TableOutcome(
        schema=schema,
        rows=rows,
        metrics=metrics,
        cdf=changes,
        feed=feed,
        history_metrics=bool(metrics),
        num_records_added=_number(summary, "added-records"),
        num_records_removed=removed,
        row_id_faults=id_faults,
    )


def row_id_faults(
    before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]], metrics: Mapping[str, int]
) -> tuple[str, ...]:
    """Compare the ids of rows with the numbers of rows that were inserted, updated and deleted.

    A row keeps its id if it is updated or copied; a new row has a new one. What changes a row, and nothing else, gives
    it the number of the new snapshot.

    Args:
        before: id and number of the last change of each row before the merge.
        after: the same afterwards.
        metrics: the merge's metrics.
    """
    return tuple(_faults(dict(before), dict(after), len(after), metrics))


def _faults(
    before: Mapping[int, int], after: Mapping[int, int], num_rows: int, metrics: Mapping[str, int]
) -> Iterator[str]:
    if len(after) != num_rows:
        yield f"{num_rows} rows, but {len(after)} different row ids"
    new = after.keys() - before.keys()
    kept = after.keys() & before.keys()
    if any(number <= max(before, default=-1) for number in new):
        yield "a new row has an id that an older row could have had"
    changed = {number for number in kept if after[number] != before[number]}
    counted = {
        "numTargetRowsInserted": (len(new), "new row ids"),
        "numTargetRowsDeleted": (len(before.keys() - after.keys()), "row ids are gone"),
        "numTargetRowsUpdated": (len(changed), "rows kept their id and have another number of the last change"),
    }
    for name, (number, text) in counted.items():
        if name in metrics and metrics[name] != number:
            yield f"{number} {text}, but {name} {metrics[name]}"


def _number(summary: Mapping[str, str], name: str) -> int:
    return int(summary.get(name, "0"))
