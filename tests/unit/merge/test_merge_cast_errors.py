"""Whose cast it was that overflowed: the store cast's, or one that the user wrote (R-252)."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as t
from sqlglot import exp

from mergecheck.merge.errors import MergeError, SparkFailedError
from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedExpression, ResolvedMerge
from mergecheck.merge.expressions.spark_errors import explain
from mergecheck.merge.syntax.statement import ActionType, Assignment, Clause, ClauseKind, MergeStatement

TARGET = t.StructType([t.StructField("id", t.LongType()), t.StructField("n", t.IntegerType())])
TO_INT = 'The value 5L of the type "BIGINT" cannot be cast to "INT" due to an overflow.'
MANY_DIGITS = "The value 999 cannot be interpreted as a numeric since it has more than 38 digits."
TO_DECIMAL = "12345 cannot be represented as Decimal(4, 2). If necessary set ..."


class SparkFailure(PySparkException):
    """An exception as a job raises it."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition

    def getCondition(self) -> str:  # noqa: N802 - Spark's name
        return self.condition

    def getSqlState(self) -> str:  # noqa: N802 - the same
        return "22003"


def explained(condition: str, message: str, written: str, run: str) -> MergeError:
    """Explain a failure of ``SET n = <written>`` that ran as ``run``."""
    statement = MergeStatement(
        condition="TRUE",
        clauses=(
            Clause(
                kind=ClauseKind.MATCHED,
                action=ActionType.UPDATE,
                assignments=(Assignment(target=("n",), value=written),),
            ),
        ),
    )
    on = ResolvedExpression(
        sql="TRUE", tree=exp.Expression(), target_columns=frozenset(), source_columns=frozenset(), text="TRUE"
    )
    clause = ResolvedClause(
        kind=ClauseKind.MATCHED,
        action=ActionType.UPDATE,
        condition=None,
        values=("target_0", run),
        place="clause 1 WHEN MATCHED",
    )
    merge = ResolvedMerge(
        target_schema=TARGET,
        source_schema=TARGET,
        final_schema=TARGET,
        condition=on,
        matched=(clause,),
        not_matched=(),
        not_matched_by_source=(),
    )
    found = explain(SparkFailure(condition, message), statement, merge)
    assert isinstance(found, MergeError)
    return found


@pytest.mark.parametrize(
    ("condition", "message", "written", "run"),
    [
        ("CAST_OVERFLOW", TO_INT, "s.b", "CAST(source_0 AS INT)"),
        ("CAST_OVERFLOW", TO_INT, "CAST(s.b AS BIGINT)", "CAST(CAST(source_0 AS BIGINT) AS INT)"),
        ("CAST_OVERFLOW", TO_INT, "CAST(s.b AS INT) + s.b", "CAST((CAST(source_0 AS INT) + source_0) AS INT)"),
        ("CAST_OVERFLOW", TO_INT, "s.st", "CAST(source_0 AS STRUCT<`a`: INT>)"),
        ("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", TO_DECIMAL, "s.b", "CAST(source_0 AS DECIMAL(4,2))"),
        ("NUMERIC_OUT_OF_SUPPORTED_RANGE", MANY_DIGITS, "s.t", "CAST(source_0 AS DECIMAL(4,2))"),
        ("CAST_OVERFLOW", " the value 5 of type BIGINT cannot be cast to INT", "s.b", "TRY_CAST(source_0 AS INT)"),
    ],
)
def test_store_casts_have_deltas_class(condition: str, message: str, written: str, run: str) -> None:
    """The message names the types as far as Spark gives them, and the column."""
    found = explained(condition, message, written, run)
    assert found.error_class == "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"
    assert isinstance(found, ArithmeticError)
    assert "column n: Failed to write a value" in found.message
    assert "type column `n` due to an overflow" in found.message
    assert ('of "BIGINT" type' in found.message) is (condition == "CAST_OVERFLOW")


@pytest.mark.parametrize(
    ("condition", "message", "written", "run"),
    [
        ("CAST_OVERFLOW", TO_INT, "CAST(s.b AS INT)", "CAST(source_0 AS INT)"),
        ("CAST_OVERFLOW", TO_INT, "CAST(s.b AS INT)", "CAST((CAST(source_0 AS INT)) AS BIGINT)"),
        ("CAST_OVERFLOW", TO_INT, "s.n", "source_1"),
        ("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION", TO_DECIMAL, "s.d * s.d", "source_0 * source_0"),
        ("ARITHMETIC_OVERFLOW", "overflow", "s.b * 2", "CAST((source_0 * 2) AS INT)"),
        ("NUMERIC_OUT_OF_SUPPORTED_RANGE", MANY_DIGITS, "CAST(s.t AS DECIMAL(9))", "CAST(source_0 AS DECIMAL(9))"),
        ("NUMERIC_OUT_OF_SUPPORTED_RANGE", MANY_DIGITS, "s.n", "source_1"),
        ("CAST_INVALID_INPUT", "The value 'x' ...", "s.x", "CAST(source_0 AS INT)"),
    ],
)
def test_all_other_errors_keep_sparks_class(condition: str, message: str, written: str, run: str) -> None:
    """A cast that the statement or a condition has, arithmetic, malformed text."""
    found = explained(condition, message, written, run)
    assert found.error_class == condition
    assert message in found.message


def test_a_failing_value_is_named_by_its_clause_and_column() -> None:
    """Spark's own query and the names that columns have in a run are not shown."""
    said = (
        "Division by zero. Use `try_divide` to tolerate it. SQLSTATE: 22012\n"
        "== SQL (line 1, position 25) ==\n"
        "CASE _clause_ WHEN 1 THEN (source_0 DIV target_1) ELSE target_1 END AS target_1\n"
        "                           ^^^^^^^^^^^^^^^^^^^^^\n"
    )
    found = explained("DIVIDE_BY_ZERO", said, "s.id DIV n", "(source_0 DIV target_1)")
    assert found.message.startswith("clause 1 WHEN MATCHED, column n: ")
    assert found.message.endswith("SQLSTATE: 22012 The expression is source.id DIV target.n.")
    assert "_0" not in found.message
    elsewhere = explained("DIVIDE_BY_ZERO", said, "5", "5")
    assert "clause" not in elsewhere.message.lower()


def test_faults_of_the_system_are_not_explained() -> None:
    """A fault of neither the statement nor the data is Spark's failure."""
    failure = PySparkException("Connection refused")
    found = explain(failure, cast("MergeStatement", None), cast("ResolvedMerge", None))
    assert isinstance(found, SparkFailedError)
    assert "Connection refused" in found.message
