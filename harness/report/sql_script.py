"""A case as a script that sets both tables up and merges, for any Spark SQL with Delta Lake."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING

from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.core.schema_json import as_nullable, check_constraints, is_constraint
from mergecheck.harness.report.render import escape, printable
from mergecheck.reference.types.data_types import ArrayType, AtomicName, DecimalType, MapType, StructType, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.reference.case.model import Case, Row, Value
    from mergecheck.reference.types.data_types import DataType, Schema


_PLAIN_SETTING = re.compile(r"[A-Za-z0-9_.]+")
_APP_ID, _APP_VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
_OF_THE_MERGE = (_APP_ID, _APP_VERSION)  # a write of the set-up would be taken for the merge
_DEFAULTS_FEATURE = "delta.feature.allowColumnDefaults"


def sql_script(case: Case) -> str:
    """Write a case as a script that sets both tables up and merges, for Spark SQL with Delta Lake.

    Defaults, generated columns and NOT NULL are in CREATE TABLE. CHECK constraints are added before the rows are
    inserted, as ALTER TABLE, the only way that Delta takes them.
    """
    return "\n".join([f"-- case {printable(case.id)}", *(f"{statement};" for statement in sql_statements(case))])


def sql_statements(case: Case) -> list[str]:
    """Write the statements of the script, without semicolons at their ends."""
    lines = [
        f"SET {_setting(name)} = {_setting(value)}" for name, value in case.conf.items() if name not in _OF_THE_MERGE
    ]
    columns = f" ({case.target.schema.ddl()})" if case.target.schema.columns else ""
    lines.append(f"CREATE TABLE target{columns} USING delta{_table_options(case)}")
    for name, condition in check_constraints(case.target.properties).items():
        lines.append(f"ALTER TABLE target ADD CONSTRAINT {quote(name)} CHECK ({condition})")
    schema = case.target.schema
    lines += [f"INSERT INTO target VALUES\n{_values(file, schema)}" for file in case.target.files if file]
    if case.source is not None:
        lines.append(
            f"CREATE OR REPLACE TEMPORARY VIEW source AS\n{_source_query(case.source.rows, case.source.schema)}"
        )
    lines += _transactions(case)
    return [*lines, "\n".join(cut_merge(case.sql).lines())]


def _transactions(case: Case) -> list[str]:
    """Commit what the applications have committed before, without rows, and set the merge's own transaction."""
    lines = []
    for application, version in case.target.transactions.items():
        lines += [f"SET {_APP_ID} = {_setting(application)}", f"SET {_APP_VERSION} = {version}"]
        lines.append("INSERT INTO target SELECT * FROM target WHERE FALSE")
    own = [f"SET {name} = {_setting(case.conf[name])}" for name in _OF_THE_MERGE if name in case.conf]
    return lines + (own or [f"RESET {name}" for name in _OF_THE_MERGE if lines])


def literal(value: Value, data_type: DataType) -> str:
    """Write one value as a Spark SQL expression of exactly its type."""
    if value is None:
        return f"CAST(NULL AS {data_type.ddl()})"
    if isinstance(data_type, StructType | ArrayType | MapType):
        return f"CAST({_nested(value, data_type)} AS {data_type.ddl()})"
    if isinstance(data_type, DecimalType):
        return f"CAST('{value:f}' AS {data_type.ddl()})"
    if data_type.name is AtomicName.STRING:
        return _string(value)
    if data_type.name is AtomicName.BINARY:
        return f"X'{value.hex().upper()}'"
    if data_type.name is AtomicName.BOOLEAN:
        return "TRUE" if value else "FALSE"
    text = value.isoformat().replace("+00:00", "Z") if isinstance(value, dt.date) else _number(value)
    return f"CAST('{text}' AS {data_type.ddl()})"


def _setting(text: str) -> str:
    """Write a setting's name or value for SET: as it is, or in backticks if it could be taken for more."""
    return text if _PLAIN_SETTING.fullmatch(text) else "`" + text.replace("`", "``") + "`"


def _table_options(case: Case) -> str:
    partitions = (
        f" PARTITIONED BY ({', '.join(map(quote, case.target.partition_by))})" if case.target.partition_by else ""
    )
    properties = {k: v for k, v in case.target.properties.items() if not is_constraint(k)}
    if any(column.default is not None for column in case.target.schema.columns):
        properties[_DEFAULTS_FEATURE] = "supported"  # CREATE TABLE takes no DEFAULT without it
    pairs = ", ".join(f"{_string(k)} = {_string(v)}" for k, v in properties.items())
    return partitions + (f" TBLPROPERTIES ({pairs})" if pairs else "")


def _source_query(rows: Sequence[Row], schema: Schema) -> str:
    if not rows:
        columns = ", ".join(f"{literal(None, c.type)} AS {quote(c.name)}" for c in schema.columns)
        return f"SELECT {columns} WHERE FALSE"
    return f"SELECT * FROM VALUES\n{_values(rows, schema)}\nAS source ({', '.join(map(quote, schema.names))})"


def _values(rows: Sequence[Row], schema: Schema) -> str:
    types = [c.type for c in as_nullable(schema).columns]  # a CAST to a type with NOT NULL inside is refused
    return ",\n".join("  (" + ", ".join(literal(v, t) for v, t in zip(row, types, strict=True)) + ")" for row in rows)


def _nested(value: Value, data_type: StructType | ArrayType | MapType) -> str:
    if isinstance(data_type, StructType):
        pairs = zip(data_type.fields, value, strict=True)
        return "named_struct(" + ", ".join(f"{_string(f.name)}, {literal(v, f.type)}" for f, v in pairs) + ")"
    if isinstance(data_type, ArrayType):
        return "array(" + ", ".join(literal(v, data_type.element) for v in value) + ")"
    return "map(" + ", ".join(f"{literal(k, data_type.key)}, {literal(v, data_type.value)}" for k, v in value) + ")"


def _string(text: str) -> str:
    """Quote text for Spark, whose strings know backslash escapes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + "".join(c if c.isprintable() else escape(c) for c in escaped) + "'"


def _number(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if value != value else repr(value)  # noqa: PLR0124 - NaN is the value that differs from itself
