"""The invariants of ``harness.compare.invariants`` on tables that stay in their files (P-5 to P-13)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.counting_invariants import counting_invariants, feed_counts
from mergecheck.harness.compare.log_invariants.commit_invariants import broken_invariant
from mergecheck.harness.delta.check_statistics import has_order, is_high, is_low, typed_bound
from mergecheck.harness.lab.scale.multisets import multiset_sums
from mergecheck.harness.verdict import Check
from mergecheck.model.types.typed import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from duckdb import DuckDBPyConnection

    from mergecheck.harness.lab.scale.observed import Observed
    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.types.data_types import Field

_MAX_FAULTS = 4
_CHANGED = ("numTargetRowsUpdated", "numTargetRowsDeleted", "numTargetRowsCopied")
_WRITTEN = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsCopied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariants:
    """Checks that the files and metrics of a merge agree with each other.

    Attributes:
        present: (kind, action) of the statement's clauses; empty if they are not known.
    """

    connection: DuckDBPyConnection
    observed: Observed
    present: frozenset[tuple[str, str]] = frozenset()

    def broken(self) -> Iterator[Mismatch]:
        """Check all invariants; one mismatch per broken one, its kind is the invariant."""
        seen = self.observed
        before, after = (files.num_records(self.connection) for files in (seen.before, seen.after))
        yield from counting_invariants(before, after, metrics=seen.metrics, path=seen.path, present=self.present)
        if seen.committed:
            yield from self._records()
            yield from self._sizes()
        if faults := tuple(self._statistics()):
            rest = len(faults) - _MAX_FAULTS
            more = [f"and {rest} more"] if rest > 0 else []
            yield broken_invariant("P-11", *faults[:_MAX_FAULTS], *more, check=Check.FILES)
        yield from self._feed()

    def _records(self) -> Iterator[Mismatch]:
        """P-10: the records of added and removed files agree with the metrics."""
        seen = self.observed
        for what, files, parts in (("removed", seen.removed, _CHANGED), ("added", seen.added, _WRITTEN)):
            if not all(part in seen.metrics for part in parts):
                continue
            records = files.num_records(self.connection)
            counted_rows = sum(seen.metrics[part] for part in parts)
            if records != counted_rows:
                text = " + ".join(f"{part} {seen.metrics[part]}" for part in parts)
                yield broken_invariant(
                    "P-10", f"the files {what} hold {records} rows, by the metrics {counted_rows}", text
                )

    def _sizes(self) -> Iterator[Mismatch]:
        """R-510: files and bytes of the metrics agree with the log, and the log agrees with the disk."""
        seen = self.observed
        counted = {
            "numTargetFilesAdded": len(seen.added.actions),
            "numTargetFilesRemoved": len(seen.removed.actions),
            "numTargetChangeFilesAdded": len(seen.change_files.actions),
            "numTargetBytesAdded": seen.added.num_bytes,
            "numTargetBytesRemoved": seen.removed.num_bytes,
        }
        for name, number in counted.items():
            if name in seen.metrics and seen.metrics[name] != number:
                yield broken_invariant("P-10-files", f"{name} {seen.metrics[name]}, but by the log it is {number}")
        on_disk = sum(path.stat().st_size for path in seen.added.paths)
        if on_disk != seen.added.num_bytes:
            yield broken_invariant(
                "P-10-files", f"the added files have {on_disk} bytes, by the log {seen.added.num_bytes}"
            )

    def _statistics(self) -> Iterator[str]:
        """P-11: the statistics of added files are true to their rows; a bound may be loose, never wrong."""
        files = self.observed.added
        columns = [c for c in files.schema.columns if c.name not in files.partition_by]
        names = [identifier(column.name) for column in columns]
        asked = ", ".join(f"count({name}), min({name}), max({name})" for name in names)
        if not files.actions:
            return
        query = f"SELECT file, count(*), {asked} FROM ({self._with_file(names)}) GROUP BY file"
        for file, num_rows, *found in self.connection.execute(query).fetchall():
            action, path = files.actions[file], files.paths[file].name
            if action.get("stats") is None:
                continue
            statistics = json.loads(action["stats"], parse_float=Decimal)
            if statistics.get("numRecords", num_rows) != num_rows:
                yield f"{path}: numRecords {statistics['numRecords']}, but the file has {num_rows} rows"
            for place, column in enumerate(columns):
                present, low, high = found[3 * place : 3 * place + 3]
                values = _Values(num_nulls=num_rows - present, low=low, high=high)
                yield from (f"{path}: {fault}" for fault in _column_faults(column, statistics, values))

    def _with_file(self, names: list[str]) -> str:
        paths = ", ".join("'" + str(path).replace("'", "''") + "'" for path in self.observed.added.paths)
        return f"SELECT file_index AS file, {', '.join(names)} FROM read_parquet([{paths}], hive_partitioning = false)"

    def _feed(self) -> Iterator[Mismatch]:
        """P-12: the table before, less the old images, plus the new ones, is the table after. P-13: counts."""
        seen = self.observed
        counted = self.connection.execute(f"SELECT change, count(*) FROM ({seen.changes}) GROUP BY change").fetchall()
        yield from feed_counts(Counter({str(name): number for name, number in counted}), seen.metrics)
        schema = seen.after.schema
        columns = ", ".join(f"c{i}" for i in range(len(schema.columns)))

        def images(types: str) -> str:
            return f"SELECT {columns} FROM ({seen.changes}) WHERE change IN ({types})"

        sums = {
            name: multiset_sums(self.connection, rows, schema)
            for name, rows in (
                ("before", seen.before_rows),
                ("after", seen.after_rows),
                ("old", images("'update_preimage', 'delete'")),
                ("new", images("'update_postimage', 'insert'")),
            )
        }
        if sums["before"] - sums["old"] + sums["new"] != sums["after"]:
            numbers = ", ".join(f"{name} {one.rows}" for name, one in sums.items())
            text = "table before and change feed do not give the table after (by sums over all rows)"
            yield broken_invariant("P-12", text, f"rows: {numbers}", check=Check.CDF)


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a file in one column."""

    num_nulls: int
    low: Any
    high: Any


def _column_faults(column: Field, statistics: Mapping[str, Any], values: _Values) -> Iterator[str]:
    num_nulls = (statistics.get("nullCount") or {}).get(column.name)
    if num_nulls is not None and num_nulls != values.num_nulls:
        yield f"nullCount {num_nulls} of {column.name}, but {values.num_nulls} values are NULL"
    if values.low is None or not has_order(column.type):
        return
    for key, holds, value in (("minValues", is_low, values.low), ("maxValues", is_high, values.high)):
        bound = (statistics.get(key) or {}).get(column.name)
        if bound is not None and not holds(typed_bound(bound, column.type), value):
            yield f"{key} {bound} of {column.name}, but the file holds {value}"
