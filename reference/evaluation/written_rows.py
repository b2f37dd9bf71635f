"""The rows that a merge writes, and change rows: constraints, values that cannot be computed, partition tuples."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import duckdb

from mergecheck.model.duckdb_rows import create_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import partition_indexes
from mergecheck.model.outcome import Bound, MergePath
from mergecheck.model.types.data_types import BIGINT, STRING, Field, Schema
from mergecheck.reference.analysis.constraints import NOT_NULL_VIOLATED, TOO_LONG, Fault
from mergecheck.reference.evaluation.asked_values import answers
from mergecheck.reference.evaluation.evaluated_tables import columns_in
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.syntax.statement import Action, Kind
from mergecheck.reference.trace import RowsAtFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row, Target
    from mergecheck.reference.analysis.constraints import RowCheck
    from mergecheck.reference.analysis.resolved import ResolvedClause
    from mergecheck.reference.evaluation.evaluated_tables import Tables
    from mergecheck.reference.trace import Candidate, Effects

_ROWS = "written_rows"
_NUMBER = "written_row"
_KINDS = {NOT_NULL_VIOLATED: "NOT NULL of column", TOO_LONG: "length of column"}


def check_plan(checks: Sequence[RowCheck], path: MergePath) -> None:
    """Refuse a merge that plans a write although a constraint keeps Spark from it (R-747); path C plans none.

    Raises:
        RejectedError: if there is such a constraint.
    """
    refusals = sorted({check.error_class for check in checks if check.fault is Fault.IN_PLAN})
    if refusals and path is not MergePath.C:
        what = ", ".join(check.what for check in checks if check.fault is Fault.IN_PLAN)
        raise RejectedError(refusals[0], f"Spark cannot plan a check of {what}", frozenset(refusals[1:]))


def broken_constraints(
    rows: Sequence[Row], schema: Schema, checks: Sequence[RowCheck], tables: Tables
) -> frozenset[str]:
    """Name the error classes of the constraints that some row breaks (R-740), or that fail on some row."""
    return frozenset(_broken(rows, schema, checks, tables))


def rows_at_fault(
    rows: Mapping[int, Row], schema: Schema, checks: Sequence[RowCheck], tables: Tables
) -> frozenset[int]:
    """Return the numbers of the rows that break a constraint; none if a constraint fails on some row."""
    if not checks or not rows:
        return frozenset()
    _load(list(rows.values()), schema, checks, tables)
    is_broken = " OR ".join(f"NOT ({check.sql})" for check in checks)
    query = f"SELECT {_NUMBER} FROM {_ROWS} WHERE {is_broken}"
    try:
        found = tables.connection.execute(query).fetchall()
    except duckdb.Error as error:
        rejection_of(error)  # a defect of the reference goes on as it is
        return frozenset()
    numbers = list(rows)
    return frozenset(numbers[place] for (place,) in found)


def _broken(
    rows: Sequence[Row], schema: Schema, checks: Sequence[RowCheck], tables: Tables
) -> dict[str, tuple[str, ...]]:
    """List what some row breaks, or fails on, by error class."""
    if not checks or not rows:
        return {}
    _load(rows, schema, checks, tables)
    try:
        broken = _counts(_ROWS, checks, tables.connection)
    except duckdb.Error as error:
        rejection_of(error)  # a defect of the reference goes on as it is
        return _broken_one_by_one(len(rows), checks, tables.connection)
    return _by_class(check for check, count in zip(checks, broken, strict=True) if count)


def _load(rows: Sequence[Row], schema: Schema, checks: Sequence[RowCheck], tables: Tables) -> None:
    """Create the table of written rows, numbered from 0, with what the constraints ask for."""
    fields = [Field(_NUMBER, BIGINT), *(Field(f"c{i}", column.type) for i, column in enumerate(schema.columns))]
    written = [(number, *row) for number, row in enumerate(rows)]
    if asked := [one for check in checks for one in check.asked]:
        assert tables.evaluator is not None, "nothing is asked for without one"  # noqa: S101 - for mypy
        answered, found = answers(asked, tables.evaluator, lambda _: rows, len(rows))
        fields += answered.columns
        written = [(*row, *more) for row, more in zip(written, found, strict=True)]
    create_table(tables.connection, _ROWS, written, Schema(tuple(fields)))


def _counts(rows: str, checks: Sequence[RowCheck], connection: DuckDBPyConnection) -> tuple[int, ...]:
    broken = ", ".join(f"count(*) FILTER (WHERE NOT ({check.sql}))" for check in checks)
    (counts,) = connection.execute(f"SELECT {broken} FROM {rows}").fetchall()
    return tuple(counts)


def _broken_one_by_one(
    num_rows: int, checks: Sequence[RowCheck], connection: DuckDBPyConnection
) -> dict[str, tuple[str, ...]]:
    """Hold each row against each constraint, since one of them fails on a row: no rule defines which is met first."""
    found: dict[str, tuple[str, ...]] = {}
    for check in checks:
        for row in range(num_rows):
            try:
                (count,) = _counts(f"(SELECT * FROM {_ROWS} WHERE {_NUMBER} = {row})", [check], connection)
                classes = {check.error_class} if count else set()
            except duckdb.Error as error:
                classes = {rejection_of(error).error_class}
            for error_class in classes:
                found[error_class] = tuple(dict.fromkeys((*found.get(error_class, ()), check.what)))
    return found


def _by_class(checks: Iterable[RowCheck]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for check in checks:
        found[check.error_class] = (*found.get(check.error_class, ()), check.what)
    return found


def clauses_at_fault(tables: Tables, checks: Sequence[RowCheck]) -> str:
    """Name the clauses whose new rows break a constraint, and what they break, for a message; empty if none does."""
    schema = tables.merge.final_schema
    found = []
    for clause, index in tables.merge.with_action(Action.UPDATE, Action.INSERT):
        rows = list(stored_rows(tables.new_rows(clause, index), schema, tables.target).values())
        broken = [
            f"{_KINDS.get(error_class, 'constraint')} {what}"
            for error_class, whats in _broken(rows, schema, checks, tables).items()
            for what in whats
        ]
        found += [f"{clause.place}, {', '.join(broken)}"] if broken else []
    return "; ".join(found)


def check_constants(tables: Tables, candidates: Mapping[Kind, tuple[Candidate, ...]]) -> None:
    """Compute the constants of clauses that apply to no row (R-257).

    Raises:
        UnsupportedByReferenceError: if one fails: Spark may compute it before any row is read.
    """
    for clause, index in tables.merge.with_action(Action.UPDATE, Action.INSERT):
        applies = any(candidate.applied == index for candidate in candidates[clause.kind])
        if not applies and not tables.can_compute(clause.constants):
            raise UnsupportedByReferenceError("a constant that fails, in a clause that applies to no row")


def check_skippable(tables: Tables) -> None:
    """Look for values that fail in a part that Spark may leave out (R-257).

    Raises:
        UnsupportedByReferenceError: if there is one.
    """
    for clause, index in tables.merge.with_action(Action.UPDATE, Action.INSERT):
        values = [assigned.value for assigned in clause.assigned if assigned.value.skippable]
        if not tables.can_compute(values, clause, index):
            raise UnsupportedByReferenceError("a value that fails in a part that Spark may leave out")


def row_failures(
    tables: Tables, candidates: Mapping[Kind, tuple[Candidate, ...]], checks: Sequence[RowCheck]
) -> tuple[frozenset[str], str, RowsAtFault]:
    """Name the error classes of all new rows at fault; no rule defines which one an executor meets first.

    Returns:
        The classes; the clauses and columns whose values cannot be computed, for a message; and the rows.
    """
    classes: set[str] = set()
    at_fault: list[Candidate] = []
    places = []
    columns = tables.merge.final_schema.columns
    for clause, index in tables.merge.with_action(Action.UPDATE, Action.INSERT):
        failed: dict[int, frozenset[str]] = {}
        for candidate in candidates[clause.kind]:
            if candidate.applied != index:
                continue
            try:
                broken = _broken_by(clause, index, candidate, tables, checks)
                classes |= broken
                at_fault += [candidate] if broken else []
            except duckdb.Error:
                at_fault.append(candidate)
                of_row = values_at_fault(clause, index, candidate, tables)
                classes |= frozenset().union(*of_row.values())
                failed = {i: of_row.get(i, frozenset()) | failed.get(i, frozenset()) for i in {**failed, **of_row}}
        if failed:
            places.append((clause.place, {columns[i].name: sorted(failed[i]) for i in sorted(failed)}))
    where = "; ".join(_place(*place, tells_classes=len(classes) > 1) for place in places)
    rows = RowsAtFault(
        rids=frozenset(one.rid for one in at_fault if one.rid is not None),
        sids=frozenset(one.sid for one in at_fault if one.rid is None and one.sid is not None),
    )
    return frozenset(classes), where, rows


def _place(clause: str, columns: Mapping[str, Sequence[str]], *, tells_classes: bool) -> str:
    names = (
        f"column {name} ({', '.join(found)})" if tells_classes else f"column {name}" for name, found in columns.items()
    )
    return f"{clause}, {', '.join(names)}"


def _broken_by(
    clause: ResolvedClause, index: int, candidate: Candidate, tables: Tables, checks: Sequence[RowCheck]
) -> frozenset[str]:
    """Name the error classes of the constraints that a new row breaks."""
    schema = tables.merge.final_schema
    raw = tables.new_rows(clause, index, candidate)
    rows = stored_rows(raw, schema, tables.target)
    before = broken_before_stored(raw, schema, checks, tables)
    return before | broken_constraints(list(rows.values()), schema, checks, tables)


def values_at_fault(
    clause: ResolvedClause, index: int, candidate: Candidate, tables: Tables
) -> dict[int, frozenset[str]]:
    """Give the error classes of each value of a new row that cannot be computed, by the position of its column.

    DuckDB computes all columns of a subquery, so each value is asked for by itself. A generated column that uses a
    value that fails is left out: it fails with that value's class.
    """
    columns = tables.merge.final_schema.columns
    failed: dict[int, frozenset[str]] = {}
    for place in sorted(range(len(columns)), key=lambda i: columns[i].generated is not None):
        if columns[place].generated is not None and _uses(clause.values[place].sql, failed):
            continue
        queries = [tables.new_value_query(clause, index, place, candidate, failed)]
        queries += [tables.value_query(clause, index, field, candidate) for at, field in clause.fields if at == place]
        failures_here = (_failure(query, tables.connection) for query in queries)
        if classes := frozenset(failure for failure in failures_here if failure is not None):
            failed[place] = classes
    return failed


def _uses(sql: str, places: Iterable[int]) -> bool:
    """Return whether the value of a generated column is computed from one of some columns ``c<i>``."""
    used = columns_in(sql, "c")
    return any(f"c{place}" in used for place in places)


def _failure(query: str, connection: DuckDBPyConnection) -> str | None:
    try:
        # counted and not fetched: the client cannot give every value to Python
        connection.execute(f"SELECT count(COLUMNS(*)) FROM ({query})").fetchall()
    except duckdb.Error as error:
        return rejection_of(error).error_class
    return None


def stored_rows(rows: Mapping[int, Row], schema: Schema, target: Target) -> dict[int, Row]:
    """Store empty texts in partition columns as NULL (R-744)."""
    texts = [i for i in partition_indexes(target) if schema.columns[i].type == STRING]
    return {
        number: tuple(None if i in texts and value == "" else value for i, value in enumerate(row))
        for number, row in rows.items()
    }


def broken_before_stored(
    rows: Mapping[int, Row], schema: Schema, checks: Sequence[RowCheck], tables: Tables
) -> frozenset[str]:
    """Name the error classes of the constraints that rows break while an empty text is not yet NULL (R-744).

    Whether Delta looks at a row before or after that depends on the plan. The rows that a table holds fulfil its
    constraints in any case.

    Raises:
        UnsupportedByReferenceError: a generated column, which is computed before, has another value for the NULL.
    """
    stored = stored_rows(rows, schema, tables.target)
    changed = [number for number, row in rows.items() if row != stored[number]]
    if not changed:
        return frozenset()
    before, after = ([these[number] for number in changed] for these in (rows, stored))
    generated = [check for check in checks if check.is_generated]
    if broken_constraints(before, schema, generated, tables) != broken_constraints(after, schema, generated, tables):
        raise UnsupportedByReferenceError("a generated column over an empty text in a partition column (R-744)")
    return broken_constraints(before, schema, checks, tables)


def change_rows(effects: Effects) -> tuple[Row, ...]:
    """List the change rows: one or a pair of images per affected row (R-610, R-611)."""
    return (
        *((*effects.old[rid], "update_preimage") for rid in effects.updated),
        *((*row, "update_postimage") for row in effects.updated.values()),
        *((*effects.old[rid], "delete") for rid in sorted(effects.deleted)),
        *((*row, "insert") for row in effects.inserted.values()),
    )


def num_partition_tuples(rows: Iterable[Row], target: Target) -> Bound:
    """Count the files of rows that are written one tuple of partition values after the other (R-543).

    An empty string, which is stored as NULL (R-744), may have been a tuple of its own before. Rows are sorted by
    value, but 0.0 and -0.0 differ in files: every change from one to the other begins a new file.
    """
    indexes = partition_indexes(target)
    texts = [place for place, index in enumerate(indexes) if target.schema.columns[index].type == STRING]
    groups: dict[tuple[object, ...], list[tuple[object, ...]]] = defaultdict(list)
    for row in rows:
        values = tuple(_nan_as_text(row[index]) for index in indexes)
        groups[values].append(tuple(map(repr, values)))
    low = high = 0
    for values, spelled in groups.items():
        zeros = len(set(spelled))
        low += zeros
        high += len(spelled) if zeros > 1 else 2 ** sum(values[text] is None for text in texts)
    return Bound(low, high)


def _nan_as_text(value: object) -> object:
    """Let all NaN be the same value, as they are one partition value (R-801)."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
