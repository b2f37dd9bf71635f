"""The tables of a case in DuckDB: columns, constraints, defaults, generation expressions, and the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.engines.duckdb.plain_sql import without_lambdas
from mergecheck.model.duckdb_rows import as_carrier, carrier_type, from_carriers, rows_query, to_carrier
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import ArrayType, Field, MapType, NestedType, Schema, StructType
from mergecheck.model.types.typed import TableSide, duckdb_type, identifier, typed_null
from mergecheck.reference.analysis.constraints import parsed
from mergecheck.reference.analysis.values.column_values import default_value
from mergecheck.reference.casts.conversions import Failure, cast
from mergecheck.reference.expressions.literals import value_literal
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Row, Target
    from mergecheck.model.types.data_types import DataType

Step = dict[str, Any]
_CONSTRAINT = "delta.constraints."
_MAX_VALUES = 40
_OVERFLOW = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


def run(sql: str) -> Step:
    """Make the step that executes a statement."""
    return {"do": "run", "sql": sql}


def setting(name: str, value: str) -> Step:
    """Make the step that gives a setting a value, written as SQL."""
    return {"do": "set", "name": name, "value": value}


def ask(name: str, sql: str) -> Step:
    """Make the step that executes a statement whose result of texts and numbers, or error, is wanted."""
    return {"do": "ask", "name": name, "sql": sql}


def ask_rows(name: str, sql: str, schema: Schema) -> Step:
    """Make the step that executes a statement whose rows, or error, are wanted; ``rows_of`` reads the answer."""
    columns = [f"#{number}" for number in range(1, len(schema.columns) + 1)]
    carriers = [as_carrier(name, column.type) for name, column in zip(columns, schema.columns, strict=True)]
    return {"do": "ask", "name": name, "sql": sql, "project": "" if carriers == columns else ", ".join(carriers)}


def load(name: str, rows: Sequence[Row], schema: Schema) -> Step:
    """Make the step that registers rows as an Arrow table with columns ``c0``, ``c1``, ..."""
    numbered = Schema(tuple(Field(f"c{i}", column.type) for i, column in enumerate(schema.columns)))
    columns = [
        [carrier_type(column.type), [to_carrier(row[i], column.type) for row in rows]]
        for i, column in enumerate(schema.columns)
    ]
    return {"do": "load", "name": name, "columns": columns, "sql": rows_query(numbered)}


def rows_of(answer: dict[str, Any], schema: Schema) -> tuple[Row, ...]:
    """Read the rows of an answer whose columns are in the schema's order.

    Raises:
        ValueError: a case cannot hold a value.
    """
    return from_carriers(answer["rows"], schema)


def check_schema(schema: Schema, what: str) -> None:
    """Refuse what no DuckDB table can hold.

    Raises:
        UnsupportedByReferenceError: with a countable reason.
    """
    names = [column.name.lower() for column in schema.columns]
    if not names:
        raise UnsupportedByReferenceError(f"a {what} without columns")
    if len(set(names)) < len(names):
        raise UnsupportedByReferenceError(f"a {what} whose column names differ in case only")
    if schema.of_delta_only is not None:
        raise UnsupportedByReferenceError(schema.of_delta_only)
    for column in schema.columns:
        duckdb_type(column.type)  # VOID is refused here
        if any(not field.nullable for field in _inner_fields(column.type)):
            raise UnsupportedByReferenceError("a struct field that is NOT NULL")


def _inner_fields(data_type: DataType) -> list[Field]:
    if isinstance(data_type, StructType):
        return [inner for field in data_type.fields for inner in (field, *_inner_fields(field.type))]
    if isinstance(data_type, ArrayType):
        return _inner_fields(data_type.element)
    if isinstance(data_type, MapType):
        return _inner_fields(data_type.key) + _inner_fields(data_type.value)
    return []


def create_target(target: Target, *, temporary: bool, primary_key: str | None, case_sensitive: bool) -> str:
    """Write the CREATE TABLE of a target.

    Raises:
        UnsupportedByReferenceError: for an expression of a column or a constraint that cannot be translated.
    """
    translator = _translator(target.schema, case_sensitive=case_sensitive)
    parts = [_column(column, translator) for column in target.schema.columns]
    if primary_key is not None:
        parts.append(f"PRIMARY KEY ({identifier(primary_key)})")
    try:
        for name, text in target.properties.items():
            if name.lower().startswith(_CONSTRAINT):  # NULL violates it, unlike in SQL
                parts.append(
                    f"CHECK (({without_lambdas(translator.condition(parsed(text)).sql)}) IS NOT DISTINCT FROM TRUE)"
                )
    except RejectedError:
        raise UnsupportedByReferenceError("a constraint that does not resolve") from None
    return f'CREATE {"TEMP " if temporary else ""}TABLE "target" ({", ".join(parts)})'


def misfits(schema: Schema, incoming: str, *, case_sensitive: bool) -> str | None:
    """Write the query of registered rows with other generated values than computed; None without generated columns.

    A case may have such values, and Delta keeps them; DuckDB computes the column anew, so that its table is another
    one.
    """
    translator = _translator(schema, case_sensitive=case_sensitive)
    wrong = [
        f"{identifier(column.name)} IS DISTINCT FROM {_computed(column, column.generated, translator)}"
        for column in schema.columns
        if column.generated is not None
    ]
    return f"SELECT 'misfit' FROM ({renamed(schema, incoming)}) WHERE {' OR '.join(wrong)} LIMIT 1" if wrong else None


def _translator(schema: Schema, *, case_sensitive: bool) -> Translator:
    values = tuple(identifier(column.name) for column in schema.columns)
    row = Relation(side=TableSide.TARGET, qualifier="", schema=schema, values=values)
    return Translator(Scope(relations=(row,), place="constraint", case_sensitive=case_sensitive))


def _computed(column: Field, generated: str, translator: Translator) -> str:
    try:
        value = translator.translate(parsed(generated))
    except RejectedError:
        raise UnsupportedByReferenceError("a column expression that does not resolve") from None
    return f"({without_lambdas(cast(value.sql, value.type, column.type, Failure.ERROR, _OVERFLOW))})"


def _column(column: Field, translator: Translator) -> str:
    text = f"{identifier(column.name)} {duckdb_type(column.type)}"
    if column.generated is not None:
        return f"{text} GENERATED ALWAYS AS {_computed(column, column.generated, translator)} VIRTUAL"
    if column.default is not None:
        text += f" DEFAULT ({without_lambdas(default_value(column).sql)})"
    return text if column.nullable else f"{text} NOT NULL"


def insert_rows(table: str, schema: Schema, incoming: str, *, where: str = "") -> Step:
    """Make the step that inserts the registered rows; generated columns compute themselves."""
    stored = [(i, column.name) for i, column in enumerate(schema.columns) if column.generated is None]
    names = ", ".join(identifier(name) for _, name in stored)
    values = ", ".join(f"c{i}" for i, _ in stored)
    return run(f"INSERT INTO {identifier(table)} ({names}) SELECT {values} FROM {incoming}{where}")


def create_source(name: str, schema: Schema) -> Step:
    """Make the step that creates a plain table."""
    columns = ", ".join(f"{identifier(column.name)} {duckdb_type(column.type)}" for column in schema.columns)
    return run(f"CREATE TABLE {identifier(name)} ({columns})")


def renamed(schema: Schema, incoming: str) -> str:
    """Write the query that gives registered rows their column names."""
    listed = ", ".join(f"c{i} AS {identifier(column.name)}" for i, column in enumerate(schema.columns))
    return f"SELECT {listed} FROM {incoming}"


def values_query(rows: Sequence[Row], schema: Schema) -> str | None:
    """Write rows as ``VALUES``; None if they are too many, none at all, or nested."""
    if not 0 < len(rows) <= _MAX_VALUES:
        return None
    try:
        lines = [
            ", ".join(
                typed_null(column.type) if value is None else _typed_literal(value, column.type)
                for value, column in zip(row, schema.columns, strict=True)
            )
            for row in rows
        ]
    except UnsupportedByReferenceError:
        return None
    return "VALUES " + ", ".join(f"({line})" for line in lines)


def _typed_literal(value: Any, data_type: DataType) -> str:  # noqa: ANN401 - a cell of any type
    if isinstance(data_type, NestedType):
        raise UnsupportedByReferenceError("a nested literal")
    return f"CAST({value_literal(value, data_type)} AS {duckdb_type(data_type)})"
