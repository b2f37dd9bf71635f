"""The constraints that a table declares must hold for the rows that a merge stored (R-222, R-741, R-742, R-746, R-822).

NOT NULL, CHECK constraints, invariants, generated columns and lengths of texts need no prediction: they are evaluated
on the rows as the engine shows them. A row that the table held before the merge is no fault of the merge.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import duckdb

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST, broken_invariant
from mergecheck.harness.verdict import Check, Compared, Mismatch
from mergecheck.model.duckdb_rows import create_table
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.formatting import row_text
from mergecheck.model.layout import physical_rows
from mergecheck.model.long_texts import long_texts
from mergecheck.model.schema_json import as_nullable, contains_type
from mergecheck.model.types.data_types import DATE, TIMESTAMP, TIMESTAMP_NTZ, Field, Schema, StructType
from mergecheck.reference.analysis.constraints import check_texts, row_checks
from mergecheck.reference.expressions.names import char_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.outcome import Outcome
    from mergecheck.reference.analysis.constraints import RowCheck

_NOT_NULL, _CHECK, _INVARIANT, _GENERATED, _LENGTH = "R-741", "R-742", "R-746", "R-222", "R-822"
_WORDS = {
    _NOT_NULL: "the merge stored NULL where NOT NULL is declared:",
    _CHECK: "the merge stored a row for which a CHECK constraint does not hold:",
    _INVARIANT: "the merge stored a row for which an invariant does not hold:",
    _GENERATED: "the merge stored another value than a generated column's expression gives:",
    _LENGTH: "the merge stored a text that is longer than its type allows:",
}
_MAX_SHOWN = 4
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_NAMES_TIME = re.compile(r"date|time|interval", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """The stored rows against the declarations of the table.

    Attributes:
        mismatches: one for each rule that is broken, with a part for each row and constraint.
        compared: the rules that were looked at; a constraint that cannot be evaluated is not among them.
    """

    mismatches: tuple[Mismatch, ...] = ()
    compared: tuple[Compared, ...] = ()


def check_stored_rows(case: Case, outcome: Outcome) -> StoredRows:
    """Check the rows that an engine shows after a merge against the declarations of the case's table.

    Args:
        case: gives the constraints, and the table before the merge.
        outcome: gives the rows; those that the table held before are left out.
    """
    schema = _declared(case.target.schema, outcome.schema)
    constraints = list(_expressions(schema, case))
    if not constraints and not any(map(_limits_values, schema.columns)):
        return StoredRows()
    try:
        new = _new_rows(case, outcome)
        faults = _faults_of_columns(new, schema)
        faults |= _faults_of_expressions(new, schema, constraints) if constraints else {}
    except (duckdb.Error, TypeError, ValueError):  # cells of other types than their columns' are a fault of their own
        return StoredRows()
    return StoredRows(
        mismatches=tuple(
            replace(broken_invariant(rule, _WORDS[rule], *texts[:_MAX_SHOWN], check=Check.ROWS), parts=tuple(texts))
            for rule, texts in faults.items()
            if texts
        ),
        compared=(Compared(check=Check.ROWS, against=AGAINST, kinds=frozenset(faults)),),
    )


def _declared(before: Schema, after: Schema) -> Schema:
    """Return the columns after the merge with their declarations from before it, whatever the engine shows now."""
    earlier = {column.name: column for column in before.columns}

    def declared(column: Field) -> Field:
        known = earlier.get(column.name)
        if known is None:
            return column
        is_same = as_nullable(Schema((column,))) == as_nullable(Schema((known,)))
        return known if is_same else replace(known, type=column.type)

    return Schema(tuple(map(declared, after.columns)))


def _limits_values(field: Field) -> bool:
    """Return whether a column declares NOT NULL, at any depth of its structs, or the length of a text."""
    inner = field.type.fields if isinstance(field.type, StructType) else ()
    return not field.nullable or bool(field.limits) or any(map(_limits_values, inner))


def _faults_of_columns(rows: Sequence[Row], schema: Schema) -> dict[str, list[str]]:
    """Look for NULLs and for long texts; the faults by the rule that is broken."""
    cells = [(row, column, value) for row in rows for column, value in zip(schema.columns, row, strict=True)]
    return {
        _NOT_NULL: [
            f"{path}: {row_text(row, schema)}"
            for row, column, value in cells
            for path in _nulls(value, column, column.name)
        ],
        _LENGTH: [
            f"{long.path} {long.limit.ddl()}: {row_text(row, schema)}"
            for row, column, value in cells
            for long in long_texts(value, column.type, column.limits, column.name)
        ],
    }


def _nulls(value: Value, field: Field, path: str) -> Iterator[str]:
    """Name where NOT NULL is broken; the fields of a NULL struct are NULL (R-741)."""
    if value is None and not field.nullable:
        yield path
    if isinstance(field.type, StructType):
        values = (None,) * len(field.type.fields) if value is None else value
        for member, inner in zip(values, field.type.fields, strict=True):
            yield from _nulls(member, inner, f"{path}.{inner.name}")


def _faults_of_expressions(
    rows: Sequence[Row], schema: Schema, constraints: Sequence[tuple[str, RowCheck]]
) -> dict[str, list[str]]:
    """Evaluate conditions; the faults by the rule that is broken, without the rules that could not be evaluated."""
    faults: dict[str, list[str]] = {}
    numbered = Schema(tuple(Field(f"c{place}", column.type) for place, column in enumerate(schema.columns)))
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        create_table(connection, "stored", rows, numbered)
        for rule, check in constraints:
            try:
                holds = connection.execute(f"SELECT {check.sql} FROM stored").fetchall()
            except duckdb.Error:  # a condition that fails on a row is not broken by it
                continue
            broken = (row for row, (held,) in zip(rows, holds, strict=True) if not held)
            faults.setdefault(rule, []).extend(f"{check.what}: {row_text(row, schema)}" for row in broken)
    return faults


def _expressions(schema: Schema, case: Case) -> Iterator[tuple[str, RowCheck]]:
    """Give each condition of the table that can be evaluated, with its rule.

    Expressions are translated for ANSI mode and UTC. Elsewhere those are left out that either may change.
    """
    if char_columns(schema):  # the value that an expression reads depends on padding
        return
    bare, conf = as_nullable(schema), case.conf
    expressions: list[tuple[str, Schema, Mapping[str, str]]] = [
        (_CHECK, bare, {f"delta.constraints.{name}": text}) for name, text in check_texts(case.target.properties)
    ]
    for place, column in enumerate(schema.columns):
        plain = bare.columns[place]
        if column.generated is not None:
            expressions.append((_GENERATED, _with(bare, place, replace(plain, generated=column.generated)), {}))
        if column.invariant is not None and column.nullable:
            expressions.append((_INVARIANT, _with(bare, place, replace(plain, invariant=column.invariant)), {}))
    is_usual = (
        conf.get("spark.sql.ansi.enabled", "true").lower() == "true"
        and conf.get("spark.sql.session.timeZone", "UTC") == "UTC"
    )
    for rule, columns, properties in expressions:
        try:
            checks = row_checks(columns, properties)
        except UnsupportedByReferenceError:
            continue
        for check in checks:
            if check.fault is not None:  # it does not constrain the rows of the table
                continue
            if is_usual or not (check.partial or _may_be_about_time(schema, check.what)):
                yield rule, check


def _with(schema: Schema, place: int, column: Field) -> Schema:
    return Schema((*schema.columns[:place], column, *schema.columns[place + 1 :]))


def _may_be_about_time(schema: Schema, text: str) -> bool:
    return any(contains_type(schema, time) for time in _TIMES) or _NAMES_TIME.search(text) is not None


def _new_rows(case: Case, outcome: Outcome) -> list[Row]:
    """List the rows that the table did not hold before."""
    convert = row_converter(case.target.schema, outcome.schema)
    if convert is None:  # a column is lost or has another type, which is a fault of its own
        return []
    held = Counter(row_identity(convert(row), outcome.schema) for row in physical_rows(case.target))
    new = []
    for row in outcome.rows:
        identity = row_identity(row, outcome.schema)
        if held[identity]:
            held[identity] -= 1
        else:
            new.append(row)
    return new
