"""A case in DuckDB's SQL: a script, and a sqllogictest with the reference's rows.

Both are also read by programs that look at lines: DuckDB's shell, runners of tests, and services that show the output.
So no text of a case begins a line, but for values that a sqllogictest expects.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from mergecheck.harness.cli.export.decided import decided
from mergecheck.harness.engines.duckdb.native_source import SOURCE
from mergecheck.harness.engines.duckdb.native_tables import create_source
from mergecheck.harness.engines.duckdb.options import DuckDbOptions
from mergecheck.harness.engines.duckdb.preparation import prepare
from mergecheck.harness.report.render import printable
from mergecheck.harness.report.sql_script import comment_line
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.outcome import Rejection
from mergecheck.model.types.data_types import ArrayType, MapType, StructType
from mergecheck.model.types.typed import duckdb_type, identifier
from mergecheck.reference.expressions.literals import value_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

_TARGET = "target"
_EMPTY, _NULL = "(empty)", "NULL"
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")
_COMMANDS = ("::", "##", "<REGEX>:", "<!REGEX>:")  # of services that run tests, and of DuckDB's runner


def duckdb_script(case: Case) -> str:
    """Write a case as a script for DuckDB, which ends by showing the table.

    Raises:
        UnsupportedByReferenceError: if DuckDB, or the translation, has no equivalent expression.
    """
    setup, merge = _statements(case)
    lines = [comment_line(f"case {case.id}"), *(f"{statement};" for statement in [*setup, merge])]
    return "\n".join([*lines, f"SELECT * FROM {identifier(_TARGET)};", ""])


def sqllogictest(case: Case) -> str:
    """Write a case as a sqllogictest for DuckDB: the merge must fail, or the table must hold the reference's rows.

    Values are compared as DuckDB's texts of them, one on a line, sorted by rows; NULL is written NULL, and the empty
    text (empty).

    Raises:
        UnsupportedByReferenceError: if DuckDB, the reference or the format cannot express the case.
    """
    setup, merge = _statements(case)
    answer = decided(case)
    records = [f"# case {printable(case.id)}", *(f"statement ok\n{statement}" for statement in setup)]
    if isinstance(answer, Rejection):
        return "\n\n".join([*records, f"statement error\n{merge}", ""])
    schema = answer.schema
    columns = ", ".join(f"CAST({identifier(column.name)} AS VARCHAR)" for column in schema.columns)
    query = f"query {'T' * len(schema.columns)} rowsort\nSELECT {columns} FROM {identifier(_TARGET)}"
    values = [_value_line(text) for row in sorted(_texts(answer.rows, schema)) for text in row]
    records += [f"statement ok\n{merge}", _one_record(query, values)]
    return "\n\n".join([*records, ""])


def _statements(case: Case) -> tuple[list[str], str]:
    """Return the statements before the merge, and the merge."""
    if any(column.generated is not None for column in case.target.schema.columns):
        raise UnsupportedByReferenceError("generated columns, whose stored values a script cannot give")
    prepared = prepare(case, DuckDbOptions(), Path())
    setup = ["SET TimeZone = 'UTC'", prepared.create]
    setup += _inserts(_TARGET, case.target.rows, case.target.schema)
    if case.source is not None:
        setup.append(create_source(SOURCE, case.source.schema)["sql"])
        setup += _inserts(SOURCE, case.source.rows, case.source.schema)
    for name, table in case.tables.items():
        setup.append(create_source(name, table.schema)["sql"])
        setup += _inserts(name, table.rows, table.schema)
    *setup, merge = (_on_one_line(statement) for statement in [*setup, prepared.prefix + prepared.merge])
    return setup, merge


def _on_one_line(statement: str) -> str:
    """Write the control characters of texts by their numbers."""

    def numbered(found: re.Match[str]) -> str:
        text = found.group()
        if text.isprintable():
            return text
        if text[0] == '"':
            raise UnsupportedByReferenceError(f"a control character in the name {text}")
        return "(" + "".join(c if c.isprintable() else f"' || chr({ord(c)}) || '" for c in text) + ")"

    return _QUOTED.sub(numbered, statement)


def _inserts(table: str, rows: Sequence[Row], schema: Schema) -> list[str]:
    if not rows:
        return []
    return [f"INSERT INTO {identifier(table)} VALUES {', '.join(_row(row, schema) for row in rows)}"]


def _row(row: Row, schema: Schema) -> str:
    return "(" + ", ".join(literal(v, c.type) for v, c in zip(row, schema.columns, strict=True)) + ")"


def literal(value: Value, data_type: DataType) -> str:
    """Write a value as a DuckDB expression of exactly its type."""
    return f"CAST({_untyped(value, data_type)} AS {duckdb_type(data_type)})"


def _untyped(value: Value, data_type: DataType) -> str:
    if value is None:
        return "NULL"
    if isinstance(data_type, StructType):
        pairs = zip(data_type.fields, value, strict=True)
        return f"struct_pack({', '.join(f'{identifier(f.name)} := {literal(v, f.type)}' for f, v in pairs)})"
    if isinstance(data_type, ArrayType):
        return f"[{', '.join(literal(each, data_type.element) for each in value)}]"
    if isinstance(data_type, MapType):
        keys = ", ".join(literal(key, data_type.key) for key, _ in value)
        return f"map([{keys}], [{', '.join(literal(each, data_type.value) for _, each in value)}])"
    return value_literal(value, data_type)


def _texts(rows: Sequence[Row], schema: Schema) -> list[tuple[str, ...]]:
    """Return rows as DuckDB's texts of their values."""
    found: list[tuple[str, ...]] = []
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for row in rows:
            values = ", ".join(
                f"CAST({literal(v, c.type)} AS VARCHAR)" for v, c in zip(row, schema.columns, strict=True)
            )
            texts = connection.execute(f"SELECT {values}").fetchone() or ()
            found.append(tuple(_NULL if text is None else text or _EMPTY for text in texts))
    return found


def _value_line(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise UnsupportedByReferenceError("a value that takes several lines or none, or has control characters")
    if text.startswith(_COMMANDS):
        raise UnsupportedByReferenceError("a value that begins like a command to the program that runs the test")
    return text


def _one_record(query: str, values: list[str]) -> str:
    return "\n".join([query, "----", *values])
