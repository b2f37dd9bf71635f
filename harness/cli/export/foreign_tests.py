"""A case as a file of another project's tests: a Gherkin feature for Sail, a SQL test for Comet.

Both are read by lines. Every statement is written as for ``spark-sql``: a text of the case begins no line, has no
control characters and leaves no line empty.

Sources: lakehq/sail, ``python/pysail/testing/spark/steps/sql.py``; apache/datafusion-comet,
``docs/source/contributor-guide/sql-file-tests.md``.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.cli.export.decided import decided
from mergecheck.harness.engines.sail.settings import lacking
from mergecheck.harness.report.render import printable
from mergecheck.harness.report.sql_script import comment_line, for_spark_sql, laid_out, one_merge, sql_statements
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.outcome import Rejection
from mergecheck.model.types.data_types import AtomicName, AtomicType, DecimalType, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.outcome import Prediction
    from mergecheck.model.types.data_types import DataType, Schema

_TEMPLATE = re.compile(r"\{[{%#]")  # of Jinja, which reads the statement that names the table's folder
_PLAIN_FLOATS = (1e-3, 1e7)
"""The magnitudes that every engine writes without an exponent."""
_MOST_DIGITS = 6
"""A FLOAT and a DOUBLE of so many digits have the same text."""
_WITH_TEXTS = frozenset(AtomicName) - {AtomicName.BINARY, AtomicName.VOID}
_NULL = "NULL"


def gherkin_feature(case: Case) -> str:
    """Write a case as a feature with one scenario, in the steps of Sail's tests.

    The merge must fail, or the table must hold the reference's rows, which are compared as texts. The table has no
    change feed, because Sail merges into none that has one.

    Raises:
        UnsupportedByReferenceError: a value that such a table of texts cannot hold, or a case that the reference does
            not decide.
    """
    if (reason := lacking(case)) is not None:
        raise UnsupportedByReferenceError(reason)
    answer = _answer(case)
    create, *setup, merge = _statements(_without_feed(replace(case, conf={})))
    if _TEMPLATE.search(create):
        raise UnsupportedByReferenceError("{{, {% or {# in the definition of the table, which a template is read for")
    lines = ["Feature: MERGE INTO", "", f"  Scenario: {printable(case.id)}"]
    lines += ["    Given variable location for temporary directory target"]
    lines += _step("Given final statement", "DROP TABLE IF EXISTS target")
    lines += [f"    Given config {name} = {_config(name, value)}" for name, value in case.conf.items()]
    lines += _step("Given statement template", f"{create} LOCATION {{{{ location.sql }}}}")
    for statement in setup:
        lines += _step("Given statement", statement)
    if isinstance(answer, Rejection):
        lines += [*_step("When query", merge), "    Then query error ."]
        rows, schema = case.target.rows, case.target.schema
    else:
        lines += _step("Given statement", merge)
        rows, schema = answer.rows, answer.schema
    lines += _step("When query", f"SELECT {_as_texts(schema)} FROM target")
    lines += ["    Then query result", _cells([_cell(column.name) for column in schema.columns])]
    return "\n".join([*lines, *(_cells(_text_row(row, schema)) for row in rows), ""])


def comet_sql_test(case: Case) -> str:
    """Write a case as a SQL test of Comet, which compares the rows that Spark and Comet find after the merge.

    Its suite must have Delta Lake on its class path. A merge that must fail must name the reference's error class.

    Raises:
        UnsupportedByReferenceError: a case that the reference does not decide, or of which several error classes are
            right.
    """
    answer = _answer(case)
    settings = [f"-- Config: {name}={_config(name, value)}" for name, value in case.conf.items()]
    *setup, merge = _statements(replace(case, conf={}))
    records = ["\n".join([comment_line(f"case {case.id}"), *settings])]
    records += [f"statement\n{statement}" for statement in setup]
    if isinstance(answer, Rejection):
        if answer.other_classes:
            raise UnsupportedByReferenceError("a merge of which several error classes are right")
        records.append(f"query expect_error({answer.error_class})\n{merge}")
    else:
        records.append(f"statement\n{merge}")
    return "\n\n".join([*records, "query spark_answer_only\nSELECT * FROM target", ""])


def _answer(case: Case) -> Prediction | Rejection:
    if case.target.transactions:
        raise UnsupportedByReferenceError("what applications have committed before")
    return decided(case)


def _without_feed(case: Case) -> Case:
    properties = {name: value for name, value in case.target.properties.items() if name != CDF_PROPERTY}
    return replace(case, target=replace(case.target, properties=properties))


def _statements(case: Case) -> list[str]:
    *setup, merge = (for_spark_sql(statement) for statement in sql_statements(case))
    return [*setup, laid_out(one_merge(merge))]


def _step(step: str, statement: str) -> list[str]:
    if '"""' in statement:
        raise UnsupportedByReferenceError('""" in a statement, where a step would end')
    return [f"    {step}", *(f"      {line}" for line in ('"""', *statement.split("\n"), '"""'))]


def _config(name: str, value: str) -> str:
    if not (name + value).isprintable() or value != value.strip() or not value:
        raise UnsupportedByReferenceError(f"the value of the setting {printable(name)}, which a line cannot hold")
    return value


def _as_texts(schema: Schema) -> str:
    names = [quote(column.name) for column in schema.columns]
    return ", ".join(f"CAST({name} AS STRING) AS {name}" for name in names)


def _text_row(row: Row, schema: Schema) -> list[str]:
    return [_cell(_text(value, column.type)) for value, column in zip(row, schema.columns, strict=True)]


def _text(value: Value, data_type: DataType) -> str:
    """Write a value as Spark's CAST to STRING does, for types of which all engines write the same text."""
    is_number = isinstance(data_type, DecimalType)
    if not is_number and not (isinstance(data_type, AtomicType) and data_type.name in _WITH_TEXTS):
        raise UnsupportedByReferenceError(f"a column of type {data_type.ddl()} in a table of texts")
    if value is None:
        return _NULL
    if is_number:
        return format(value, "f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, dt.datetime):
        text = value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
        return f"{value.date().isoformat()} {text}"
    if value == _NULL:
        raise UnsupportedByReferenceError("the text NULL beside NULL")
    return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    least, most = _PLAIN_FLOATS
    if len(repr(abs(value))) > _MOST_DIGITS + 1 or (value and not least <= abs(value) < most):
        raise UnsupportedByReferenceError(f"the number {value!r}, which engines write in several ways")
    return repr(value)


def _cell(text: str) -> str:
    if not text.isprintable() or text != text.strip() or "|" in text or "\\" in text:
        raise UnsupportedByReferenceError(f"the text {printable(text)!r}, which a table of texts cannot hold")
    return text


def _cells(texts: Sequence[str]) -> str:
    return "      " + "".join(f"| {text} " for text in texts) + "|"
