"""Columns as arguments of the builder, as users of Delta Lake write them (R-103)."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from mergecheck.merge.builder import DeltaTable
from mergecheck.merge.column_text import SOURCE_NAME, ColumnTexts, columns_of
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError

if TYPE_CHECKING:
    from collections.abc import Callable

    from merge_tables import Table
    from pyspark.sql import Column, DataFrame, SparkSession


def source(table: Table) -> DataFrame:
    return table.spark.createDataFrame([(1, "one"), (3, None), (5, "five")], "id long, v string")


def target(table: Table) -> DeltaTable:
    return DeltaTable.forPath(table.spark, table.path)


def test_a_merge_of_columns(table: Table) -> None:
    """The usual way to write one: conditions, sets and values are columns, texts beside them."""
    (
        target(table)
        .alias("t")
        .merge(source(table).alias("s"), f.col("t.id") == f.col("s.id"))
        .whenMatchedUpdate(condition=f.col("s.v").isNotNull() & (f.col("t.id") > 0), set={"v": f.upper(f.col("s.v"))})
        .whenMatchedDelete(f.expr("s.v IS NULL"))
        .whenNotMatchedInsert(values={"id": f.col("s.id"), "v": f.concat_ws("-", f.col("s.v"), f.lit("it's"))})
        .whenNotMatchedBySourceUpdate(condition="t.id = 2", set={"t.v": f.lit("two")})
        .withSchemaEvolution()
        .execute()
    )
    assert dict(table.rows()) == {(1, "ONE"): 1, (5, "five-it's"): 1, (2, "two"): 1, (None, "n"): 1}


@pytest.mark.parametrize("alias", [None, "s"])
@pytest.mark.parametrize("of_target", [None, "t"])
def test_columns_of_data_frames_mean_their_side(table: Table, alias: str | None, of_target: str | None) -> None:
    """``frame["id"]`` of the source and of ``toDF`` are no names: they mean a column, whatever the aliases are."""
    frame, into = source(table), target(table)
    columns = into.toDF()
    into = into.alias(of_target) if of_target else into
    merged = frame.alias(alias) if alias else frame
    (
        into.merge(merged, columns["id"] == frame["id"])
        .whenMatchedUpdate(set={"v": f.coalesce(frame.v, columns.v)})
        .whenNotMatchedInsert(values={"id": frame["id"], "v": frame["v"]})
        .execute()
    )
    assert dict(table.rows()) == {(1, "one"): 1, (2, None): 1, (3, "c"): 1, (None, "n"): 1, (5, "five"): 1}


def test_a_column_of_another_frame_is_refused(table: Table) -> None:
    """R-121."""
    other = source(table)
    with pytest.raises(AnalysisError, match="DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT"):
        target(table).merge(source(table), f.col("id") == other["id"])


def test_a_source_derived_from_the_target_is_told_by_names(table: Table) -> None:
    """R-122: a column that could be either side's is a name again."""
    into = target(table)
    columns = into.toDF()
    derived = columns.where("id < 3")
    merge = into.alias("t").merge(derived.alias("s"), columns["id"] == f.col("s.id")).whenMatchedDelete()
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        merge.execute()


@pytest.mark.parametrize(("of_target", "alias"), [("x", "x"), ("x", "X")])
def test_a_name_that_both_tables_go_by_is_ambiguous(table: Table, of_target: str, alias: str) -> None:
    """R-118: a source that has the target's alias is no source without one."""
    merge = target(table).alias(of_target).merge(source(table).alias(alias), f.col("x.id") == f.col("x.id"))
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        merge.whenMatchedDelete().execute()


TIME = dt.datetime(2020, 1, 1, 1, 2, 3, 4)  # noqa: DTZ001 - of the session's zone, as users write it
EXPRESSIONS: dict[str, Callable[[], Column]] = {
    "arithmetic": lambda: (f.col("a") + 1) * -f.col("a") - f.col("a") % 2,
    "division": lambda: f.col("a") / 2,
    "bits": lambda: f.col("a").bitwiseAND(3).bitwiseOR(8).bitwiseXOR(f.bitwise_not("a")),
    "logic": lambda: (f.col("a") > 1) & ~(f.col("b") == "x") | f.col("b").isNull(),
    "not equal": lambda: f.col("a") != 1,
    "null-safe": lambda: f.col("b").eqNullSafe(f.lit(None)),
    "case": lambda: f.when(f.col("a") > 1, "big").when(f.col("a") == 1, f.lit("one")).otherwise(f.col("b")),
    "case without else": lambda: f.when(f.col("a") > 1, 1),
    "in": lambda: f.col("a").isin(1, 2, None),
    "between": lambda: f.col("a").between(1, 2),
    "like": lambda: f.col("b").like("x%") | f.col("b").ilike("X_") | f.col("b").rlike("^x.$"),
    "contains": lambda: f.col("b").contains("x") | f.col("b").startswith("y") | f.col("b").endswith("z"),
    "substring": lambda: f.col("b").substr(1, 1),
    "cast": lambda: f.col("a").cast("decimal(10,2)"),
    "try_cast": lambda: f.col("b").try_cast("int"),
    "text with quotes": lambda: f.concat(f.col("b"), f.lit('it\'s \\ a "text"\n`x`')),
    "literals": lambda: f.struct(
        f.lit(1),
        f.lit(-1),
        f.lit(2**40),
        f.lit(1.5),
        f.lit(float("nan")),
        f.lit(decimal.Decimal("1.50")),
        f.lit(col=True),
        f.lit(None),
        f.lit(dt.date(2020, 1, 1)),
        f.lit(TIME),
        f.lit(bytearray(b"ab")),
        f.lit(dt.timedelta(days=1, seconds=1)),
    ),
    "minus a negative number": lambda: f.col("a") - f.lit(-5),
    "array": lambda: f.array(f.col("a"), f.lit(2))[1],
    "field": lambda: f.col("c.x"),
    "getField": lambda: f.col("c").getField("x"),
    "struct": lambda: f.struct(f.col("a").alias("of it"), f.col("b")),
    "named struct": lambda: f.named_struct(f.lit("x"), f.col("a")),
    "map": lambda: f.create_map(f.lit("k"), f.col("a"))["k"],
    "lambda": lambda: f.transform(f.array("a", f.lit(2)), lambda x: x + 1),
    "lambda of two": lambda: f.transform(f.array("a", f.lit(2)), lambda x, i: x + i),
    "exists": lambda: f.exists(f.array("a"), lambda x: x > 1),
    "expr": lambda: f.coalesce(f.expr("a + 1 -- one more"), f.lit(0)),
    "expr of lower precedence": lambda: f.expr("a = 1 OR a = 2") & f.lit(col=False),
    "alias": lambda: (f.col("a").alias("inner") + 1).alias("outer"),
    "json": lambda: f.to_json(f.struct("a")),
    "dates": lambda: f.date_format(f.date_add(f.lit("2020-01-01"), 1), "yyyy/MM/dd"),
    "hash": lambda: f.sha2(f.col("b"), 256),
    "name of a word": lambda: f.col("select") + f.col("`a.b`") + f.col("current_date"),
    "call_function": lambda: f.call_function("upper", f.col("b")),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_column_and_its_text_mean_the_same(spark: SparkSession, name: str) -> None:
    """Spark reads the text as the column that it was written of: same type, same values."""
    frame = spark.sql(
        "SELECT a, b, named_struct('x', a) AS c, a AS `select`, a AS `a.b`, a AS `current_date` "
        "FROM VALUES (1, 'x'), (2, 'xy'), (NULL, NULL) AS (a, b)"
    )
    column = EXPRESSIONS[name]()
    text = ColumnTexts(spark=spark, source={}, target={}).text(column, "the test")
    expected, actual = frame.select(column.alias("it")), frame.select(f.expr(text).alias("it"))
    assert str(actual.collect()) == str(expected.collect())
    assert actual.schema.simpleString() == expected.schema.simpleString()


def test_columns_of_a_frame_have_its_qualifier(spark: SparkSession) -> None:
    """Of a frame without an alias, a name that no column has."""
    frame = spark.sql("SELECT 1 AS `a b`")
    assert list(columns_of(frame, SOURCE_NAME).values()) == ["`merge source`.`a b`"]
    assert list(columns_of(frame.alias("s"), SOURCE_NAME).values()) == ["`s`.`a b`"]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.parametrize(
    "column",
    [
        lambda: f.udf(len)(f.col("s.v")),
        lambda: f.col("s.st").withField("x", f.lit(1)),
        lambda: f.col("s.*"),
        lambda: f.row_number().over(Window.orderBy("s.v")),
    ],
    ids=["UDF", "withField", "star", "window"],
)
def test_what_has_no_text_is_refused(table: Table, column: Any) -> None:
    """The message names the argument."""
    merge = target(table).alias("t").merge(source(table).alias("s"), f.expr("t.id = s.id"))
    with pytest.raises(UnsupportedStatementError, match="'set' in whenMatchedUpdate"):
        merge.whenMatchedUpdate(set={"v": column()})
