"""Leave out candidate files that hold no key of the source (``pruneBySourceKeys.enabled``).

The source's keys are looked up once, in Spark's workers, in the files' key ranges. Files without a hit cannot hold a
match, so neither the first scan nor the anti join of path A has to read them. Metrics and conflicts still speak of
the candidates of R-420 and R-421: they follow from the statement, not from the rows that were read.
"""

from __future__ import annotations

import datetime as dt
import functools
import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.executors.first_scan import FirstScan, plan_first_scan
from mergecheck.merge.executors.optimizations.safe_conditions import cannot_fail, column_types
from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.table.reading.bounds import INTEGRAL_TYPES, column_bounds
from mergecheck.merge.table.reading.data_skipping import conjuncts
from mergecheck.merge.table.reading.key_ranges import POSITION_DDL, KeyRanges, hit_positions
from mergecheck.merge.table.storage.workers import run_in_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile

MAX_SOURCE_ROWS = 50_000_000
"""Limit of source rows: a task holds the distinct keys of its partition in memory."""

_EPOCH = dt.date(1970, 1, 1)
_LEAST, _MOST = -(2**63), 2**63 - 1

_logger = logging.getLogger(__name__)


def plan_first_scan_by_keys(run: MergeRun) -> FirstScan:
    """Plan to read only files that may hold matches.

    With a NOT MATCHED BY SOURCE clause every file that has rows is touched (R-410), so that only matches have to be
    looked for, if the log counts the rows of all files.
    """
    if not run.merge.not_matched_by_source:
        return replace(plan_first_scan(run), files=files_with_source_keys(run))
    counts = [file.num_live for file in run.candidates]
    if not run.conf.is_large(sum(file.size for file in run.candidates)) or None in counts:
        return plan_first_scan(run)
    return replace(
        plan_first_scan(run),
        files=files_with_source_keys(run),
        join_type="inner",
        touched=tuple(file for file, count in zip(run.candidates, counts, strict=True) if count),
    )


def files_with_source_keys(run: MergeRun) -> tuple[DataFile, ...]:
    """Keep the candidates into whose key ranges some source row falls; all of them if that is unknown."""
    if not _is_worthwhile(run):
        return run.candidates
    keys = {pair: ranges for pair in key_pairs(run.merge) if (ranges := _ranges(run, pair)) is not None}
    if not keys:
        return run.candidates
    frame = run.source.frame.selectExpr(*(_key(run.merge, source, i) for i, (_, source) in enumerate(keys)))
    rows = run_in_workers(frame, functools.partial(hit_positions, list(keys.values())), POSITION_DDL).collect()
    hits = {row["position"] for row in rows}
    run.ways["source_keys"] += 1
    run.ways["files_pruned"] += len(run.candidates) - len(hits)
    _logger.debug("files_with_source_keys: %d of %d candidates", len(hits), len(run.candidates))
    return tuple(file for position, file in enumerate(run.candidates) if position in hits)


def files_with_keys_of(run: MergeRun, columns: Mapping[tuple[int, int], int], keys: pa.Table) -> tuple[DataFile, ...]:
    """Keep the candidates as ``files_with_source_keys`` does, if the driver has the keys: no job runs.

    Args:
        run: the merge under way.
        columns: the place of the source's column in ``keys``, by the pair that ON equates.
        keys: the keys of the source.
    """
    ranges = {pair: found for pair in key_pairs(run.merge) if pair in columns and (found := _ranges(run, pair))}
    if not ranges:
        return run.candidates
    given = [_as_key(keys.column(columns[pair]), is_double=found.is_double) for pair, found in ranges.items()]
    batch = pa.RecordBatch.from_arrays(given, names=[str(place) for place in range(len(given))])
    hits = {row for found in hit_positions(list(ranges.values()), [batch]) for row in found.column(0).to_pylist()}
    run.ways["source_keys"] += 1
    run.ways["files_pruned"] += len(run.candidates) - len(hits)
    return tuple(file for position, file in enumerate(run.candidates) if position in hits)


def _as_key(column: pa.ChunkedArray, *, is_double: bool) -> pa.Array:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column.cast(pa.float64() if is_double else pa.int64()).combine_chunks()


def key_pairs(merge: ResolvedMerge) -> tuple[tuple[int, int], ...]:
    """List the pairs of a target and a source column that ON requires to be equal and whose types have key ranges.

    There are none if ON could fail on a row: an error must not depend on which files are read.
    """
    if not cannot_fail(merge.condition, column_types(merge)):
        return ()
    return tuple(pair for part in conjuncts(merge.condition.tree) for pair in _pair(merge, part))


def _pair(merge: ResolvedMerge, node: exp.Expr) -> Iterator[tuple[int, int]]:
    if not isinstance(node, exp.EQ):
        return
    targets = {target_column(i): i for i in merge.condition.target_columns}
    sources = {source_column(i): i for i in merge.condition.source_columns}
    sides = (_plain(node.left), _plain(node.right))
    for one, other in (sides, sides[::-1]):
        if one in targets and other in sources:
            target, source = targets[one], sources[other]
            if _is_ordered(merge.target_schema.fields[target].dataType, merge.source_schema.fields[source].dataType):
                yield target, source


def _plain(node: exp.Expr) -> str | None:
    node = node.unnest()
    return node.name if isinstance(node, exp.Column) and not node.table else None


def _is_ordered(target: t.DataType, source: t.DataType) -> bool:
    if isinstance(target, INTEGRAL_TYPES):
        return isinstance(source, (*INTEGRAL_TYPES, t.DoubleType))
    return isinstance(target, t.DateType) and isinstance(source, t.DateType)


def _is_worthwhile(run: MergeRun) -> bool:
    return (
        run.source.is_stable  # another scan of it must give the same keys
        and len(run.candidates) > 1
        and run.conf.is_large(sum(file.size for file in run.candidates))
        and (run.source.num_rows or 0) <= MAX_SOURCE_ROWS
    )


def _range(run: MergeRun, file: DataFile, position: int) -> tuple[int, int]:
    """Return the least and the greatest key of a file, or two numbers in the wrong order if it has no key."""
    field = run.merge.target_schema.fields[position]
    bounds = column_bounds(file, field, is_partition=field.name in run.snapshot.partition_columns)
    if not bounds.may_be_value:
        return 1, 0
    low = _LEAST if bounds.lower is None else _whole(bounds.lower)
    high = _MOST if bounds.upper is None else _whole(bounds.upper)
    return low, high


def _whole(value: int | dt.date) -> int:
    return (value - _EPOCH).days if isinstance(value, dt.date) else value


def _ranges(run: MergeRun, pair: tuple[int, int]) -> KeyRanges | None:
    """Return the ranges of a pair of columns in the candidates; None if no file has bounds."""
    target, source = pair
    ranges = [_range(run, file, target) for file in run.candidates]
    if all(found == (_LEAST, _MOST) for found in ranges):
        return None
    is_double = isinstance(run.merge.source_schema.fields[source].dataType, t.DoubleType)
    as_key = _rounded if is_double else int
    return KeyRanges(
        lows=tuple(as_key(low) for low, _ in ranges),
        highs=tuple(as_key(high) for _, high in ranges),
        is_double=is_double,
    )


def _rounded(value: int) -> float:
    return math.copysign(math.inf, value) if value in {_LEAST, _MOST} else float(value)


def _key(merge: ResolvedMerge, source: int, number: int) -> str:
    name = source_column(source)
    data_type = merge.source_schema.fields[source].dataType
    if isinstance(data_type, t.DateType):
        return f"CAST(unix_date({name}) AS BIGINT) AS key_{number}"
    return f"CAST({name} AS {'DOUBLE' if isinstance(data_type, t.DoubleType) else 'BIGINT'}) AS key_{number}"
