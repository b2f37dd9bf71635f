r"""A case as a script that sets both tables up and merges, for any Spark SQL with Delta Lake.

A script is read twice: the command ``spark-sql`` and its like cut it into statements, and Spark reads each of them.
The first reader does not know raw strings and backticks: behind ``r'\'`` it takes quotes for their opposites, so that
a text of the case becomes statements, and what begins with an exclamation mark is run by the shell. So a script has
only tokens that both read alike, and no comments of the case.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import statement_lines
from mergecheck.harness.report.render import escape, printable
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.schema_json import as_nullable, check_constraints, is_constraint
from mergecheck.model.types.data_types import ArrayType, AtomicName, DecimalType, NestedType, StructType, quote
from mergecheck.reference.syntax.spark_tokens import TokenKind, read_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.syntax.spark_tokens import Token


_PLAIN_SETTING = re.compile(r"[A-Za-z0-9_.]+")
# Settings by which strings and names mean something else.
_HOW_TEXT_IS_READ = (
    "spark.sql.parser.",
    "spark.sql.variable.substitute",
    "spark.sql.ansi.doublequotedidentifiers",
    "spark.sql.legacy.consecutivestringliterals",
)
_MERGE = re.compile(r"(?:MERGE|WITH)\b", re.IGNORECASE)
_CHARACTER = re.compile(r"\\?.", re.DOTALL)  # of a string, with its backslash
_EDGE = re.compile(r"""\\[\\'"]|--|/\*|\*/|\$\{|[;'"]""")  # of a name, for a reader that knows no backticks
_QUOTES, _CUTS = ("'", '"'), (";", "--")
_APP_ID, _APP_VERSION = "spark.databricks.delta.write.txnAppId", "spark.databricks.delta.write.txnVersion"
_OF_THE_MERGE = (_APP_ID, _APP_VERSION)  # a write of the set-up would be taken for the merge
_DEFAULTS_FEATURE = "delta.feature.allowColumnDefaults"


def sql_script(case: Case) -> str:
    """Write a case as a script that sets both tables up and merges, for ``spark-sql`` with Delta Lake.

    Defaults, generated columns and NOT NULL are in CREATE TABLE. CHECK constraints are added before the rows are
    inserted, as ALTER TABLE, the only way that Delta takes them.

    Raises:
        RejectedError: the statement cannot be cut into tokens, or is no MERGE.
        UnsupportedByReferenceError: a name, setting or statement that ``spark-sql`` cuts where Spark does not.
    """
    *setup, merge = sql_statements(case)
    lines = [comment_line(f"case {case.id}"), *(f"{for_spark_sql(statement)};" for statement in setup)]
    return "\n".join([*lines, f"{laid_out(one_merge(for_spark_sql(merge)))};"])


def comment_line(text: str) -> str:
    """Write a line of comment that ends where the line ends, and in which nothing is substituted."""
    shown = printable(text).replace("${", "$ {")
    return f"-- {shown}." if shown.endswith("\\") else f"-- {shown}"  # behind a backslash a comment goes on


def for_spark_sql(statement: str) -> str:
    """Write a statement so that ``spark-sql`` cuts it from a script as Spark reads it.

    Raises:
        RejectedError: the text cannot be cut into tokens.
        UnsupportedByReferenceError: it has several statements, or a name that cannot be written.
    """
    tokens = list(read_tokens(statement))[:-1]
    while tokens and tokens[-1].key == ";":
        tokens.pop()
    written, end, is_string = "", 0, False
    for token in tokens:
        if token.key == ";":
            raise UnsupportedByReferenceError("a semicolon inside the statement")
        gap = statement[end : token.start]
        if end:
            apart = " " if gap or (is_string and token.kind is TokenKind.STRING) else ""
            written += gap if gap and not gap.strip(" \n") else apart  # anything else has a comment or control in it
        written += _for_spark_sql(token)
        end, is_string = token.start + len(token.text), token.kind is TokenKind.STRING
    return written


def _for_spark_sql(token: Token) -> str:
    if token.kind is TokenKind.STRING:
        return _plain_string(token.text)
    return _plain_name(token.text) if token.kind is TokenKind.QUOTED else token.text


def _plain_string(text: str) -> str:
    """Write a string of Spark SQL without control characters, without a raw backslash and without ``${``."""
    if text[0] in "rR":
        text = _string(text[2:-1])
    written = ""
    for found in _CHARACTER.finditer(text):
        character = found.group()[-1]
        is_variable = character == "$" and text.startswith("{", found.end())
        written += found.group() if character.isprintable() and not is_variable else escape(character)
    return written


def _plain_name(text: str) -> str:
    """Check a name in backticks, which ``spark-sql`` reads as if it had none.

    A quote in it opens a text for that reader. A comment with the same quote, behind the name, closes it again.
    """
    opened = ""
    for found in _EDGE.finditer(text):
        edge = found.group()
        if edge in _QUOTES and opened in ("", edge):
            opened = "" if opened else edge
        elif (edge in _CUTS and not opened) or edge in ("/*", "*/", "${"):
            raise UnsupportedByReferenceError(f"{edge} in the name {text}, where spark-sql cuts or replaces it")
    if not text.isprintable():
        raise UnsupportedByReferenceError(f"a control character in the name {text}")
    return f"{text}/*{opened}*/ " if opened else text


def one_merge(statement: str) -> str:
    """Refuse what would not be a merge: ``spark-sql`` runs ``!`` and ``source`` at the start itself."""
    if not _MERGE.match(statement):
        raise RejectedError("PARSE_SYNTAX_ERROR", "the statement is no MERGE")
    return statement


def laid_out(statement: str) -> str:
    """Write every clause on its own line, if the tokens stay the same."""
    lines = "\n".join(statement_lines(statement))
    texts = [token.text for token in read_tokens(statement)]
    return lines if [token.text for token in read_tokens(lines)] == texts else statement


def sql_statements(case: Case) -> list[str]:
    """Write the statements for Spark, the last of which is the merge, exactly as the case has it.

    Raises:
        UnsupportedByReferenceError: a setting changes how the statements themselves are read.
    """
    for name in case.conf:
        if name.lower().startswith(_HOW_TEXT_IS_READ):
            raise UnsupportedByReferenceError(f"the setting {name}, by which the script itself would be read otherwise")
    lines = [
        f"SET {_setting(name)} = {_setting(value)}" for name, value in case.conf.items() if name not in _OF_THE_MERGE
    ]
    columns = f" ({case.target.schema.ddl()})" if case.target.schema.columns else ""
    lines.append(f"CREATE TABLE target{columns} USING delta{_table_options(case)}")
    for name, condition in check_constraints(case.target.properties).items():
        lines.append(f"ALTER TABLE target ADD CONSTRAINT {quote(name)} CHECK ({condition})")
    schema = case.target.schema
    lines += [f"INSERT INTO target VALUES\n{_values(file, schema)}" for file in case.target.files if file]
    lines += [
        f"CREATE OR REPLACE TEMPORARY VIEW {name} AS\n{_source_query(table.rows, table.schema)}"
        for name, table in case.read_tables.items()
    ]
    lines += _transactions(case)
    return [*lines, case.sql]


def _transactions(case: Case) -> list[str]:
    """Repeat the applications' earlier commits, without rows, and set the merge's own transaction."""
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
    if isinstance(data_type, NestedType):
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


def _nested(value: Value, data_type: NestedType) -> str:
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
