"""Types that need no question: each known type here is Spark's, and all else is left to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import types as t

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.expressions.known_types import type_of_tree
from mergecheck.merge.syntax.expression_reader import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = t.StructType(
    [
        t.StructField("tiny", t.ByteType()),
        t.StructField("small", t.ShortType()),
        t.StructField("int", t.IntegerType()),
        t.StructField("big", t.LongType()),
        t.StructField("text", t.StringType()),
        t.StructField("ok", t.BooleanType()),
        t.StructField("price", t.DecimalType(10, 2)),
        t.StructField("struct", t.StructType([t.StructField("a", t.IntegerType())])),
        t.StructField("map", t.MapType(t.StringType(), t.IntegerType())),
        t.StructField("nothing", t.NullType()),
        t.StructField("day", t.DateType()),
        t.StructField("exact", t.DecimalType(12, 2)),
    ]
)
KNOWN = {
    "target_0 = source_0": "boolean",
    "target_0 <=> source_3": "boolean",
    "target_0 <> -1": "boolean",
    "target_4 = 'x'": "boolean",
    "target_5": "boolean",
    "target_5 AND NOT target_0 IS NULL": "boolean",
    "(target_5 OR (source_7 IS NOT NULL))": "boolean",
    "target_2 BETWEEN 1 AND source_3": "boolean",
    "target_2 NOT BETWEEN 1 AND 2": "boolean",
    "target_2 IN (1, 2, CAST(NULL AS INT))": "boolean",
    "target_4 NOT IN ('a', 'b')": "boolean",
    "target_10 < CAST(NULL AS DATE)": "boolean",
    "TRUE OR FALSE": "boolean",
    "(target_2 + source_3) - 1 >= 5": "boolean",
    "COALESCE(target_0 > 1, FALSE)": "boolean",
    "-1": "int",
    "2147483647": "int",
    "'x'": "string",
    "NULL": "void",
    "target_0 + source_0": "tinyint",
    "target_0 + 1": "int",
    "target_0 * source_1": "smallint",
    "target_1 - source_3": "bigint",
    "COALESCE(source_6, target_6)": "decimal(10,2)",
    "COALESCE(target_0, 0)": "int",
    "COALESCE(NULL, target_10)": "date",
    "IFNULL(target_4, 'none')": "string",
    "CASE WHEN target_5 THEN target_0 WHEN source_0 = 1 THEN 7 END": "int",
    "CASE WHEN target_2 = 1 THEN NULL ELSE source_4 END": "string",
    "CAST(target_0 AS BIGINT)": "bigint",
    "CAST(5 AS SMALLINT)": "smallint",
    "CAST(-0.49 AS DECIMAL(10,2))": "decimal(10,2)",
    "CAST(0.00001 AS DECIMAL(5,5))": "decimal(5,5)",
    "CAST(target_2 + 1 AS DOUBLE)": "double",
    "CAST(NULL AS BINARY)": "binary",
    "CAST('-0.0' AS FLOAT)": "float",
    "CAST(source_4 AS INT)": "int",
    "DATE '2020-02-29'": "date",
    "127Y": "tinyint",
    "7L": "bigint",
}
LEFT_TO_SPARK = (
    *("f(target_0) = source_0", "target_0 = source_4", "target_0 AND target_5", "f(target_0) IS NULL"),
    *("target_7 = source_7", "target_8 = source_8", "target_9 = source_9", "target_6 = source_11"),
    *("target_2 IN (SELECT 1)", "target_2 IN (1, NULL)", "target_2 = NULL", "target_5 AND NULL"),
    *("3000000000", "300Y", "1.5", "-'x'", "X'00'", "target_7.a"),
    *("target_2 / 2", "target_2 DIV 2", "target_2 % 2", "target_6 + 1", "target_4 + 1", "-target_2"),
    *("COALESCE(target_7, source_7)", "COALESCE(target_2, 'x')", "COALESCE(NULL, NULL)"),
    *("CASE target_2 WHEN 1 THEN 2 END", "CASE WHEN 1 THEN 2 END", "CASE WHEN target_5 THEN 1 ELSE 'x' END"),
    *("CAST(target_2 AS STRING)", "CAST(target_2 AS VARCHAR(3))", "CAST('x' AS DATE)"),
    *(
        "DATE '2021-02-29'",
        "DATE '20200101'",
        "DOUBLE('1.5')",
        "TIMESTAMP '2020-01-01 00:00:00'",
        "-target_4",
        "CAST(1 AS DECIMAL(2,3))",
        "CAST(1 AS DECIMAL)",
        "CAST(target_5 AS INT)",
    ),
    *("CAST(1 AS TIMESTAMP)", "NAMED_STRUCT('a', 1)", "1e3", "CAST(1e3 AS INT)", "unknown_0 = 1"),
)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_is_known_is_what_spark_says(spark: SparkSession, ansi: str) -> None:
    """Under either reading of SQL; one by one, so that a wrong one is named."""
    asked = SparkExpressionTypes(spark, target_schema=SCHEMA, source_schema=SCHEMA)
    with settings_of(spark, {"spark.sql.ansi.enabled": ansi}):
        said = {text: asked.of([text])[0].simpleString() for text in KNOWN}
    assert said == KNOWN


@pytest.mark.parametrize(("text", "expected"), KNOWN.items(), ids=str)
def test_simple_expressions_need_no_question(text: str, expected: str) -> None:
    found = type_of_tree(parse_expression(text), SCHEMA, SCHEMA)
    assert found is not None
    assert found.simpleString() == expected


@pytest.mark.parametrize("text", LEFT_TO_SPARK)
def test_all_others_are_sparks_to_judge(text: str) -> None:
    assert type_of_tree(parse_expression(text), SCHEMA, SCHEMA) is None


def test_a_number_beyond_its_type_is_refused_by_spark(spark: SparkSession) -> None:
    """Why ``300Y`` is asked about: to the parser here it is a cast like any other."""
    asked = SparkExpressionTypes(spark, target_schema=SCHEMA, source_schema=SCHEMA)
    with pytest.raises(AnalysisError, match="INVALID_NUMERIC_LITERAL_RANGE"):
        asked.of(["300Y"])


def test_spark_gets_the_columns_in_use_alone(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about a wide table costs no more than one about a narrow table."""
    asked: list[str] = []
    sql = type(spark).sql

    def listening(self: SparkSession, text: str) -> Any:
        asked.append(text)
        return sql(self, text)

    monkeypatch.setattr(type(spark), "sql", listening)
    types = SparkExpressionTypes(spark, target_schema=SCHEMA, source_schema=SCHEMA)
    assert types.of(["target_2 + 1", "concat(`source_4`, 'x')", "1.5"])[:2] == (t.IntegerType(), t.StringType())
    names = [f"{side}_{index}" for side in ("target", "source") for index in range(len(SCHEMA))]
    (text,) = asked
    assert [name for name in names if f"{name}`" in text or f"{name} " in text] == ["target_2", "source_4"]
