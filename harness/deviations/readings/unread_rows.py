"""Readings of rows that a scan leaves out: a condition that is pushed down to it meets misread bounds (R-801, R-802).

Spark's Parquet reader leaves out rows with NaN where bounds in a file leave NaN out: in a merge that only inserts, and
in one that marks rows in deletion vectors. Iceberg leaves out files with the other zero.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import rows_without
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.coverage.nway.statements import conjuncts
from mergecheck.harness.deviations.readings.judged import Judged, Phase, Reading
from mergecheck.harness.deviations.readings.statements import with_statement, zero_of
from mergecheck.reference.case.layout import physical_rows
from mergecheck.reference.outcome import MergePath, Outcome, Prediction
from mergecheck.reference.syntax.statement import Kind
from mergecheck.reference.types.data_types import DOUBLE, FLOAT, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.reference.case.model import Row, Value
    from mergecheck.reference.types.data_types import Schema

_CLAUSES = "matchedPredicates"
_VECTORS = ("numTargetDeletionVectorsAdded", "numTargetDeletionVectorsUpdated", "numTargetDeletionVectorsRemoved")


def _not_found(now: Judged) -> Judged | None:
    """Without INSERT, MATCHED clauses do not apply to rows with NaN."""
    answer, trace = now.reference.answer, now.reference.trace
    text = cut_merge(now.case.sql)
    names = list(_columns_with_nan(now))
    if not isinstance(answer, Prediction) or answer.path is not MergePath.E or trace.statement is None or not names:
        return None
    if trace.merge is None or not trace.merge.is_matched_only:
        return None
    holds = _is_no_nan(trace.statement.target_alias or trace.statement.target, names)
    clauses = (
        replace(clause, condition=holds if clause.condition is None else f"({clause.condition}) AND {holds}")
        for clause in text.clauses
    )
    other = with_statement(now, replace(text, clauses=tuple(clauses)).sql())
    return None if other is None else _with_clauses_of(answer, other)


def _inserted_again(now: Judged) -> Judged | None:
    """A merge that only inserts does not find rows with NaN, if a conjunct of ON speaks of their column alone."""
    answer, statement = now.reference.answer, now.reference.trace.statement
    if not isinstance(answer, Prediction) or answer.path is not MergePath.A or statement is None:
        return None
    alias = statement.target_alias or statement.target
    asked = {name.lower() for name in _columns_of_conjuncts(statement.on, alias)}
    names = [name for name in _columns_with_nan(now) if name.lower() in asked]
    text = cut_merge(now.case.sql)
    if not names or text.condition is None:
        return None
    holds = _is_no_nan(alias, names)
    return with_statement(now, replace(text, condition=f"({text.condition}) AND {holds}").sql())


def _columns_of_conjuncts(on: exp.Expr, alias: str) -> Iterator[str]:
    """Name the table's columns in the conjuncts of ON that have no column of the source."""
    for conjunct in conjuncts(on):
        columns = list(conjunct.find_all(exp.Column))
        if all(column.table.lower() in ("", alias.lower()) for column in columns):
            yield from (column.name for column in columns)


def _without_the_other_zero(now: Judged) -> Judged | None:
    """Files are not read that hold the other zero, 0.0 or -0.0, than the constant of a conjunct of ON.

    The merge is taken to be one into a table without these files, whose rows are still there.
    """
    found, statement, trace = now.result, now.reference.trace.statement, now.reference.trace
    if not isinstance(found, Outcome) or statement is None or statement.of(Kind.NOT_MATCHED_BY_SOURCE):
        return None
    files: dict[int, list[Row]] = {}
    for number, row in zip(trace.files, physical_rows(now.case.target), strict=True):
        files.setdefault(number, []).append(row)
    compared = list(_zero_conjuncts(statement.on, statement.target_alias or statement.target, now.case.target.schema))
    unread = [rows for rows in files.values() if any(_is_out_of_bounds(rows, *one) for one in compared)]
    left = rows_without(found.rows, [row for rows in unread for row in rows], found.schema)
    if not unread or len(left) + sum(map(len, unread)) != len(found.rows):
        return None
    read = tuple(tuple(rows) for rows in files.values() if rows not in unread)
    return replace(now, result=replace(found, rows=tuple(left))).with_case(
        replace(now.case, target=replace(now.case.target, files=read))
    )


def _zero_conjuncts(on: exp.Expr, alias: str, schema: Schema) -> Iterator[tuple[int, exp.Expr, float]]:
    """Give the conjuncts that compare a column of floats with a zero: the column's place, the comparison, the zero."""
    floats = {c.name.lower(): place for place, c in enumerate(schema.columns) if c.type in (DOUBLE, FLOAT)}
    for conjunct in conjuncts(on):
        if not isinstance(conjunct, exp.EQ | exp.NullSafeEQ | exp.GTE | exp.LTE):
            continue
        sides = [conjunct.this.unnest(), conjunct.expression.unnest()]
        columns = [side for side in sides if isinstance(side, exp.Column) and side.table.lower() in ("", alias.lower())]
        zeros = [zero for side in sides if (zero := zero_of(side)) is not None]
        if len(columns) == len(zeros) == 1 and columns[0].name.lower() in floats:
            yield floats[columns[0].name.lower()], conjunct, zeros[0]


def _is_out_of_bounds(rows: Sequence[Row], place: int, conjunct: exp.Expr, zero: float) -> bool:
    """Tell whether bounds keep a file from being read: in their order -0.0 is smaller than 0.0."""
    cells = [row[place] for row in rows]
    values = [_in_order(cell) for cell in cells if isinstance(cell, float) and not math.isnan(cell)]
    if not values:
        return False
    low, high, wanted = min(values), max(values), _in_order(zero)
    column_is_first = isinstance(conjunct.this.unnest(), exp.Column)
    if isinstance(conjunct, exp.GTE | exp.LTE):
        return high < wanted if isinstance(conjunct, exp.GTE) is column_is_first else low > wanted
    return not low <= wanted <= high


def _in_order(value: float) -> tuple[float, float]:
    return value, math.copysign(1, value)


def _with_clauses_of(answer: Prediction, other: Judged) -> Judged:
    """Let the commit tell of the clauses as they were given, without the conditions that are added here."""
    found = other.reference.answer
    if not isinstance(found, Prediction) or found.commit_info is None or answer.commit_info is None:
        return other
    said = {**found.commit_info, _CLAUSES: answer.commit_info[_CLAUSES]}
    return replace(other, reference=replace(other.reference, answer=replace(found, commit_info=said)))


def _is_no_nan(alias: str, names: Sequence[str]) -> str:
    return " AND ".join(f"NOT ({quote(alias)}.{quote(name)} <=> CAST('NaN' AS DOUBLE))" for name in names)


def _columns_with_nan(now: Judged) -> Iterator[str]:
    """Name the columns of the table that hold NaN, if the statement mentions them."""
    target = now.case.target
    for place, column in enumerate(target.schema.columns):
        has_nan = column.type in (DOUBLE, FLOAT) and any(map(_is_nan, (row[place] for row in target.rows)))
        if has_nan and column.name.lower() in now.case.sql.lower():
            yield column.name


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _old_rows_stay(now: Judged) -> Judged | None:
    """Rows with NaN that are updated or deleted, and counted so, stay: no vector marks them.

    If nothing else is written, there is no commit, and so no metrics.
    """
    found, wanted, effects = now.result, now.reference.answer, now.reference.trace.effects
    if not isinstance(found, TableOutcome) or not isinstance(wanted, Prediction) or effects is None:
        return None
    if wanted.path is not MergePath.E or found.schema != wanted.schema:
        return None
    surplus = rows_without(found.rows, wanted.rows, wanted.schema)
    changed = (*effects.updated, *effects.deleted)
    identities = {row_identity(row, wanted.schema) for row in surplus}
    with_nan = [rid for rid in changed if any(map(_is_nan, effects.old[rid]))]
    missed = [rid for rid in with_nan if row_identity(effects.old[rid], wanted.schema) in identities]
    if not surplus or rows_without(surplus, [effects.old[rid] for rid in missed], wanted.schema):
        return None
    files = now.reference.trace.files
    num_unmarked = len({files[rid] for rid in missed} - {files[rid] for rid in changed if rid not in missed})
    metrics = dict(found.metrics)
    if not found.committed:
        metrics = {name: bound.low for name, bound in wanted.metrics.items()} | metrics
    elif not _counts_less(found, wanted, num_unmarked):
        return None
    else:
        metrics |= {name: wanted.metrics[name].low for name in _VECTORS}
    repaired = replace(
        found,
        rows=tuple(rows_without(found.rows, surplus, wanted.schema)),
        metrics=metrics,
        num_records_removed=found.num_records_removed + len(surplus),
        committed=found.committed or None,
    )
    return replace(now, result=repaired)


def _counts_less(found: TableOutcome, wanted: Prediction, num_unmarked: int) -> bool:
    """Tell whether the metrics of vectors leave out the files that get no vector, and the vectors that these have."""
    if not found.metrics.keys() >= set(_VECTORS):
        return False
    added, updated, removed = (wanted.metrics[name].low - found.metrics[name] for name in _VECTORS)
    return added == num_unmarked and updated == removed and 0 <= updated <= added


READINGS = (
    Reading(
        name="if rows are marked in vectors clauses do not find rows with NaN", phase=Phase.REWRITE, apply=_not_found
    ),
    Reading(name="a merge that only inserts does not find rows with NaN", phase=Phase.REWRITE, apply=_inserted_again),
    Reading(
        name="files with the other zero than a constant of ON are not read",
        phase=Phase.REWRITE,
        apply=_without_the_other_zero,
    ),
    Reading(name="if rows are marked in vectors rows with NaN stay", phase=Phase.REPAIR, apply=_old_rows_stay),
)
