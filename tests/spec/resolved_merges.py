"""Merges that Spark resolves, and their assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.expressions.expression_types import SparkExpressionTypes
from mergecheck.merge.resolution.resolve import resolve
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.types.fields import type_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mergecheck.merge.expressions.resolved import ResolvedMerge

ON = "MERGE INTO target t USING source s ON t.id = s.id "


def schema_of(ddl: str) -> StructType:
    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def run(spark: SparkSession, sql: str, *, target: str, source: str, conf: MergeConf | None = None) -> ResolvedMerge:
    target_schema, source_schema = schema_of(target), schema_of(source)
    return resolve(
        parse_merge(sql),
        target_schema=target_schema,
        source_schema=source_schema,
        conf=conf or MergeConf(),
        types=SparkExpressionTypes(spark, target_schema=target_schema, source_schema=source_schema),
    )


def assigned(
    spark: SparkSession, value: str, *, kind: str, target: str, conf: MergeConf | None = None, given: str = "s.v"
) -> Any:
    """Return the value of a column of type ``target`` after ``SET v = given`` where ``s.v`` is ``value``."""
    merge = run(
        spark,
        ON + f"WHEN MATCHED THEN UPDATE SET v = {given}",
        target=f"id INT, v {target}",
        source=f"id INT, v {kind}",
        conf=conf,
    )
    expression = merge.matched[0].values[1]
    source = f"SELECT 0 AS target_0, CAST(NULL AS {target}) AS target_1, CAST({value} AS {kind}) AS source_1"
    frame = spark.sql(f"SELECT {expression} AS v FROM ({source})")
    assert type_sql(frame.schema["v"].dataType) == type_sql(schema_of(f"v {target}")["v"].dataType)
    return frame.collect()[0]["v"]


def converted(spark: SparkSession, source: str, target: str, conf: MergeConf) -> str:
    """Give the text that brings ``x`` of one type to another."""
    merge = run(
        spark,
        ON + "WHEN MATCHED THEN UPDATE SET v = s.v",
        target=f"id INT, v {target}",
        source=f"id INT, v {source}",
        conf=conf,
    )
    return merge.matched[0].values[1].replace("source_1", "x")
