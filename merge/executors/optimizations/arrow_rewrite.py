"""Find matches and rewrite touched files outside of Spark's join (``arrowRewrite``).

Spark evaluates everything that depends on the source alone: the conditions and the values of the clauses, once per row
of the source. Python workers do the rest with Arrow. They look up the keys of the target's files among the source's
keys, and write the touched files anew with the rows of the source in the place of the matched ones. No row of the
target passes through the JVM, and none is shuffled.

So this is a way around Spark's join, unlike the other optimisations. It takes merges whose ON equates columns and whose
conditions and values are about one table only. An error, and a match of several rows, are left to the executors.
"""

from __future__ import annotations

import functools
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.conf import ArrowRewrite
from mergecheck.merge.errors import MergeError
from mergecheck.merge.executors.clauses import (
    COPIED,
    generate_clause_output_exprs,
    generate_precomputed_conditions_and_df,
)
from mergecheck.merge.executors.first_scan import TouchedFiles
from mergecheck.merge.executors.merge_run import has_inserts, is_matched_only, shuffle_partitions
from mergecheck.merge.executors.optimizations.low_shuffle import MAX_ROWS, is_flat, num_copying_tasks
from mergecheck.merge.executors.optimizations.safe_conditions import conditions_cannot_fail
from mergecheck.merge.executors.optimizations.source_keys import files_with_keys_of
from mergecheck.merge.executors.output import row_action
from mergecheck.merge.expressions.functions import NON_DETERMINISTIC, SESSION_FUNCTIONS, called_functions, subqueries
from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.expressions.spark_errors import SPARK_ERRORS
from mergecheck.merge.metrics import ExecutionPath, PathResult, TimedPart
from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.table.log.column_mapping import MappingMode
from mergecheck.merge.table.reading.bounds import INTEGRAL_TYPES
from mergecheck.merge.table.reading.data_skipping import conjuncts
from mergecheck.merge.table.reading.field_ids import check_field_ids
from mergecheck.merge.table.reading.file_sizes import check_sizes
from mergecheck.merge.table.writing.arrow_schema import arrow_schema, arrow_type
from mergecheck.merge.table.writing.key_matches import (
    AMBIGUOUS_ROWS,
    MATCHED_ROWS,
    FileToMatch,
    KeyColumns,
    MatchTask,
    find_matches,
    unpack_pairs,
)
from mergecheck.merge.table.writing.modified_rows import pack
from mergecheck.merge.table.writing.replaced_rows import (
    FilesToRewrite,
    FileToRewrite,
    RowsOfClause,
    SourceRows,
    rewrite_files,
)
from mergecheck.merge.types.fields import same_type
from mergecheck.merge.types.text_limits import char_length

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from mergecheck.merge.executors.merge_run import MergeRun
    from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedMerge
    from mergecheck.merge.table.snapshot.data_files import DataFile

LEAST_BYTES = 16 * 2**20
"""Size of candidate files from which ``auto`` takes this way; smaller merges are over sooner without it."""
MAX_SOURCE_ROWS, MAX_SOURCE_BYTES = 500_000, 64 * 2**20
"""Limits of the source: the driver and every task hold its keys, and then its values."""

_TARGET_COLUMN, _SOURCE_COLUMN = re.compile(r"\btarget_\d+\b"), re.compile(r"source_\d+")
_SAME = (t.DateType, t.BooleanType, t.BinaryType, t.TimestampType, t.TimestampNTZType, t.FloatType, t.DoubleType)
_IS_MATCHED, _IS_NOT_MATCHED = "_matched_clause_", "_not_matched_clause_"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """Positions of a target and a source column that ON equates, and the type in which they are compared."""

    target: int
    source: int
    compared: t.DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowPlan:
    """How a merge is done here.

    Attributes:
        keys: ON, apart from what it demands of the source alone.
        has_source_conditions: whether it demands anything.
        values: the different values of all clauses, as SQL over the source.
        clauses: what each clause makes of them.
    """

    keys: tuple[KeyPair, ...]
    has_source_conditions: bool
    values: tuple[str, ...]
    clauses: tuple[RowsOfClause, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArrowMatches:
    """What the first scan found.

    Attributes:
        pairs: by location of a file, its rows that match and the positions of the source rows, packed.
        unmatched: positions of the source rows that match nothing.
    """

    touched: TouchedFiles
    pairs: Mapping[str, str]
    unmatched: np.ndarray
    source: SourceRows


def plan_arrow_rewrite(run: MergeRun) -> ArrowPlan | None:
    """Plan the merge; None if this way is switched off, not worth it or not able to do the merge exactly.

    Change rows, vectors to be written, ids of rows, generated values, constraints and partitions are left to the
    executors, and conditions that could fail, which must be evaluated on all rows (R-312).
    """
    merge, mode = run.merge, run.conf.arrow_rewrite
    num_bytes = sum(file.size for file in run.candidates)
    if mode is ArrowRewrite.NONE or (mode is ArrowRewrite.AUTO and num_bytes < LEAST_BYTES):
        return None
    is_plain = (
        not run.records_changes
        and not run.marks_rows
        and not run.snapshot.tracks_rows
        and not run.snapshot.partition_columns
        and not run.writer.checks
        and not merge.generated_ids
        and not merge.not_matched_by_source
        and is_flat(merge)
        and conditions_cannot_fail(merge)
    )
    is_bounded = (
        bool(run.candidates)
        and run.source.is_stable
        and run.source.num_rows is not None
        and run.source.num_rows <= MAX_SOURCE_ROWS
        and sum(file.statistics.num_records or 0 for file in run.candidates) <= MAX_ROWS
    )
    return _plan(merge) if is_plain and is_bounded else None


def _plan(merge: ResolvedMerge) -> ArrowPlan | None:
    if any(clause.condition is not None and clause.condition.target_columns for clause in merge.clauses):
        return None
    keys, has_source_conditions = [], False
    for part in conjuncts(merge.condition.tree):
        pair = _key_pair(merge, part)
        if pair is not None:
            keys.append(pair)
        elif all(column.parts[0].name.startswith("source_") for column in part.find_all(exp.Column)):
            has_source_conditions = True
        else:
            return None
    values: dict[str, int] = {}
    clauses = [_rows_of_clause(clause, values) for clause in merge.clauses]
    if not keys or None in clauses:
        return None
    return ArrowPlan(
        keys=tuple(keys),
        has_source_conditions=has_source_conditions,
        values=tuple(values),
        clauses=tuple(clause for clause in clauses if clause is not None),
    )


def _key_pair(merge: ResolvedMerge, part: exp.Expr) -> KeyPair | None:
    if not isinstance(part, exp.EQ):
        return None
    targets = {target_column(i): i for i in merge.condition.target_columns}
    sources = {source_column(i): i for i in merge.condition.source_columns}
    sides = tuple(side.unnest() for side in (part.left, part.right))
    if not all(isinstance(side, exp.Column) and not side.table for side in sides):
        return None
    for one, other in (sides, sides[::-1]):
        if one.name in targets and other.name in sources:
            target, source = targets[one.name], sources[other.name]
            field, given = merge.target_schema.fields[target], merge.source_schema.fields[source]
            compared = _compared(field.dataType, given.dataType)
            is_padded = any(char_length(side.metadata) is not None for side in (field, given))
            if compared is not None and not is_padded:
                return KeyPair(target=target, source=source, compared=compared)
    return None


def _compared(target: t.DataType, source: t.DataType) -> t.DataType | None:
    """Return the type in which Spark compares two columns, as far as Arrow compares it alike; else None."""
    if isinstance(target, INTEGRAL_TYPES) and isinstance(source, INTEGRAL_TYPES):
        return t.LongType()
    if {type(target), type(source)} <= {*INTEGRAL_TYPES, t.DoubleType}:
        return t.DoubleType()
    if not same_type(target, source):
        return None
    is_plain_text = isinstance(target, t.StringType) and target.simpleString() == source.simpleString() == "string"
    return target if is_plain_text or isinstance(target, (*_SAME, t.DecimalType)) else None


def _rows_of_clause(clause: ResolvedClause, values: dict[str, int]) -> RowsOfClause | None:
    """Number the values of a clause; None if one of them is about the target, and more than an old value."""
    places: list[int | None] = []
    for position, value in enumerate(clause.values):
        if value == target_column(position):
            places.append(None)
        elif _TARGET_COLUMN.search(value) or not _is_pure(value):
            return None
        else:
            places.append(values.setdefault(value, len(values)))
    action = int(row_action(clause))
    return RowsOfClause(action=action, values=() if clause.action is ActionType.DELETE else tuple(places))


def _is_pure(value: str) -> bool:
    """Return whether a value may be evaluated once for several rows."""
    return not subqueries(value) and not called_functions(value) & (NON_DETERMINISTIC | SESSION_FUNCTIONS)


def find_arrow_matches(run: MergeRun, plan: ArrowPlan) -> ArrowMatches | None:
    """Read the source once and the keys of the candidates; None if the executors have to decide (R-410, R-320)."""
    try:
        with run.stopwatch.part(TimedPart.SCAN):
            return _find_matches(run, plan)
    except (MergeError, *SPARK_ERRORS) as error:
        _logger.debug("Arrow found no matches; Spark's join runs to find the cause: %s", error)
        return None


def _find_matches(run: MergeRun, plan: ArrowPlan) -> ArrowMatches | None:
    source = _read_source(run, plan)
    if source.nbytes > MAX_SOURCE_BYTES:
        return None
    num_keys = len(plan.keys)
    keys = source.select(range(num_keys))
    files = run.candidates
    if run.conf.prune_by_source_keys:
        files = files_with_keys_of(run, {(pair.target, pair.source): i for i, pair in enumerate(plan.keys)}, keys)
    found = _matches_in(run, plan, keys, files)
    if found is None:
        return None
    rows = SourceRows(
        clauses=plan.clauses,
        matched=_numbers(source.column(_IS_MATCHED)),
        not_matched=_numbers(source.column(_IS_NOT_MATCHED)),
        values=source.select(range(num_keys + 2, source.num_columns)),
    )
    matched = {location: unpack_pairs(packed)[1] for location, packed in found.items()}
    unmatched = np.ones(source.num_rows, dtype=bool)
    for sources in matched.values():
        unmatched[sources] = False
    if is_matched_only(run.merge):  # a match touches its file only if a clause fires
        matched = {location: sources for location, sources in matched.items() if (rows.matched[sources] >= 0).any()}
    touched = TouchedFiles(
        files=tuple(file for file in files if file.location in matched),
        scanned=files,
        num_source_rows=source.num_rows,
        num_multiple_matches=0,
        overcount=0,
    )
    return ArrowMatches(touched=touched, pairs=found, unmatched=np.flatnonzero(unmatched), source=rows)


def _read_source(run: MergeRun, plan: ArrowPlan) -> pa.Table:
    """Let Spark evaluate, per row of the source: its keys, the clauses that would fire, and the values."""
    merge = run.merge
    frame, clauses = generate_precomputed_conditions_and_df(run.source.frame, merge.clauses)
    num_matched = len(merge.matched)
    fired = (
        f"{generate_clause_output_exprs(clauses[:num_matched], otherwise=COPIED)} AS {_IS_MATCHED}",
        f"{generate_clause_output_exprs(clauses[num_matched:], otherwise=COPIED)} AS {_IS_NOT_MATCHED}",
    )
    keys = [source_column(pair.source) for pair in plan.keys]
    if plan.has_source_conditions:
        # With its own keys in the place of the target's, ON holds for a source row if it may match any row at all.
        own = {target_column(pair.target): source_column(pair.source) for pair in plan.keys}
        frame = frame.selectExpr("*", *(f"{source} AS {target}" for target, source in own.items()))
        keys = [f"CASE WHEN {merge.condition.sql} THEN {key} END" for key in keys]
    columns = {f"key_{i}": key for i, key in enumerate(keys)}
    columns |= {_IS_MATCHED: _IS_MATCHED, _IS_NOT_MATCHED: _IS_NOT_MATCHED}
    columns |= {f"value_{i}": _guarded(plan, i, value) for i, value in enumerate(plan.values)}
    frame = frame.selectExpr("*", *fired).selectExpr(*(f"{sql} AS {name}" for name, sql in columns.items()))
    return frame.toArrow().combine_chunks()


def _guarded(plan: ArrowPlan, number: int, value: str) -> str:
    """Evaluate a value only on rows for which a clause that has it could fire (R-254); a column needs no care."""
    if _SOURCE_COLUMN.fullmatch(value):
        return value
    fired = ", ".join(str(place) for place, clause in enumerate(plan.clauses) if number in clause.values)
    return f"CASE WHEN {_IS_MATCHED} IN ({fired}) OR {_IS_NOT_MATCHED} IN ({fired}) THEN {value} END"


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_numpy(), np.int64)


def _matches_in(run: MergeRun, plan: ArrowPlan, keys: pa.Table, files: Sequence[DataFile]) -> dict[str, str] | None:
    """Find the matches in files: packed, by location; None if a row has several."""
    if not files or not keys.num_rows:
        return {}
    check_sizes(files)
    if run.snapshot.mapping is MappingMode.ID:
        check_field_ids(run.snapshot, files)
    stored = arrow_schema(run.snapshot.stored_schema)
    num_tasks = min(len(files), shuffle_partitions(run.spark))
    matching = [FileToMatch(location=file.location, deleted=_deleted(run, file)) for file in files]
    task = MatchTask(
        location=run.snapshot.location,
        access=run.snapshot.access,
        keys=KeyColumns(
            stored=tuple(stored.field(pair.target) for pair in plan.keys),
            compared=tuple(arrow_type(pair.compared) for pair in plan.keys),
            source=keys,
        ),
        groups=tuple(tuple(matching[i::num_tasks]) for i in range(num_tasks)),
    )
    numbers = run.spark.range(0, num_tasks, 1, num_tasks)
    written = run.writer.run(numbers, functools.partial(find_matches, task))
    if written.reported(AMBIGUOUS_ROWS):
        return None
    return {location: packed or "" for location, packed in written.reported(MATCHED_ROWS)}


def _deleted(run: MergeRun, file: DataFile) -> tuple[str, ...]:
    return () if file.vector is None else (pack(np.array(run.snapshot.deleted_rows(file), np.int64)),)


def rewrite_with_arrow(run: MergeRun, matches: ArrowMatches) -> PathResult | None:
    """Rewrite the touched files and insert what matches nothing (path D, R-412); None if the executors have to."""
    touched = matches.touched
    groups = _groups(run, matches)
    stored = frozenset(run.snapshot.stored_schema.names)
    with run.stopwatch.part(TimedPart.REWRITE):
        task = run.writer.task(change_data=False)
        function = functools.partial(rewrite_files, task, stored, matches.source, groups)
        try:
            written = run.writer.run(run.spark.range(0, len(groups), 1, len(groups)), function)
        except (MergeError, *SPARK_ERRORS) as error:
            _logger.debug("Arrow could not rewrite the files; Spark's join runs to find the cause: %s", error)
            run.writer.remove_orphans()  # of the tasks that did not fail
            return None
    return PathResult(
        path=ExecutionPath.D,
        written=written,
        num_source_rows=touched.num_source_rows,
        num_source_rows_in_second_scan=touched.num_source_rows if has_inserts(run.merge) else None,
        removed=touched.files,
    )


def _groups(run: MergeRun, matches: ArrowMatches) -> tuple[FilesToRewrite, ...]:
    """Share the touched files out among tasks: neighbours stay together, so that ranges of keys stay narrow.

    The task with the fewest bytes inserts.
    """
    files = matches.touched.files
    in_one_task = run.joins.writes_in_one_task(files, num_source_rows=matches.touched.num_source_rows)
    num_tasks = 1 if in_one_task else num_copying_tasks(run.spark, files)
    ends = np.cumsum([file.size for file in files])
    number = np.minimum((ends - 1) * num_tasks // max(1, int(ends[-1])), num_tasks - 1)
    members = [[file for file, n in zip(files, number, strict=True) if n == group] for group in np.unique(number)]
    least = min(range(len(members)), key=lambda i: sum(file.size for file in members[i]))
    none = np.empty(0, np.int64)
    return tuple(
        FilesToRewrite(
            files=tuple(_rewriting(run, file, matches.pairs) for file in group),
            inserted=matches.unmatched if i == least else none,
        )
        for i, group in enumerate(members)
    )


def _rewriting(run: MergeRun, file: DataFile, pairs: Mapping[str, str]) -> FileToRewrite:
    return FileToRewrite(location=file.location, pairs=pairs[file.location], deleted=_deleted(run, file))
