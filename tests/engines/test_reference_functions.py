"""The reference's functions that are found by their names, held against Spark over the edges of their operands.

Every expression is evaluated on each row by itself: the reference gives Spark's value, fails with Spark's error class,
or does not know the value. How many rows it may leave unknown is a part of the test.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from pyspark.errors import PySparkException

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import Field, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import plain_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = pytest.mark.spark

_UTC = dt.UTC
COLUMNS: dict[str, list[Any]] = {
    "s STRING": [
        *("", " ", "a", "a,b,,c", ",", "ab-12-cd", "ü,é", "a.b.c", "x@y.org", "A1\nB2", "\U0001f600a", " lead trail "),
        *("2024-02-29", "007", "-5", "1e3", "12.50", "true", "NaN", None, "aaa", "a|b|c", "tab\tx", "z" * 30),
    ],
    "t STRING": ["31.01.2024", "29.02.2023", "1.2.2024", "00.01.2024", None, "31.12.9999", "01.01.0001", "x"],
    "u STRING": [
        *("2024-01-31 10:00:59", "2024-01-31 24:00:00", "2024-01-31", "1969-12-31 23:59:59", None),
        *("2024-01-31T10:00:00", "0001-01-01 00:00:00"),
    ],
    "n INT": [0, 1, -1, 2, 3, 5, -2, None, 2147483647, -2147483648, 7, 100],
    "m INT": [1, 0, -3, None, 2, 12, 31],
    "ti TINYINT": [0, 127, -128, None, 5],
    "big BIGINT": [
        *(0, 1, -1, None, 1704067200, 1704067200123, -62135596801, 253402300799, 9223372036854775807),
        *(-9223372036854775808, 1500, -1500),
    ],
    "de DECIMAL(10,2)": [
        *(Decimal("0.00"), Decimal("0.01"), Decimal("-0.05"), Decimal("2.50"), Decimal("-2.50"), Decimal("3.45"), None),
        *(Decimal("99999999.99"), Decimal("-99999999.99"), Decimal("1.00"), Decimal("3.00")),
    ],
    "w DECIMAL(20,6)": [
        *(Decimal("0.000001"), Decimal("-3.000000"), None, Decimal("99999999999999.999999"), Decimal("7.125000")),
        *(Decimal("0.000000"), Decimal("-0.500000")),
    ],
    "d DOUBLE": [
        *(0.0, -0.0, 0.5, -0.5, 2.5, 1.005, math.nan, math.inf, -math.inf, None, 1e300, 9.2e18, 0.1, -2.675, 1e-9),
        123456.789,
    ],
    "day DATE": [
        *(dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1970, 1, 1)),
        *(dt.date(1969, 12, 31), dt.date(2023, 1, 1), dt.date(2021, 1, 3), dt.date(2024, 10, 7)),
    ],
    "ts TIMESTAMP": [
        *(dt.datetime(2024, 2, 29, 23, 59, 59, 999999, _UTC), dt.datetime(1, 1, 1, tzinfo=_UTC), None),
        *(dt.datetime(1969, 12, 31, 23, 59, 59, 500000, _UTC), dt.datetime(1970, 1, 1, tzinfo=_UTC)),
        *(dt.datetime(2024, 7, 4, 0, 5, 6, 70, _UTC), dt.datetime(2024, 3, 31, 1, 0, tzinfo=_UTC)),
        *(dt.datetime(9999, 12, 31, 12, 0, 0, 1, _UTC), dt.datetime(2024, 11, 3, 13, 30, tzinfo=_UTC)),
    ],
    "ntz TIMESTAMP_NTZ": [dt.datetime(2024, 1, 31, 12, 1, 2, 3000), None, dt.datetime(1900, 1, 1)],  # noqa: DTZ001
    "flag BOOLEAN": [True, False, None],
    "arr ARRAY<INT>": [(3, 1, None, 2), (), None, (5,), (None,), (1, 1), (2, -1, 2147483647), (None, None, 7)],
    "brr ARRAY<INT>": [(1,), (None,), (), (7, 9), None],
    "ars ARRAY<STRING>": [("b", "a"), (None, ""), (), None, ("ü", "Z", "a"), ("a", None, "a")],
    "nest ARRAY<ARRAY<INT>>": [((1,), (2, None)), (), None, ((1,), None), ((),)],
    "mp MAP<STRING, INT>": [(("a", 1), ("b", None)), (), None, (("", 0),), (("ü", 7), ("a", 2))],
    "mq MAP<STRING, INT>": [(("c", 1),), None, (), (("a", 9),)],
    "ents ARRAY<STRUCT<k: STRING, v: INT>>": [
        *((("a", 1), ("b", None)), (("a", 1), ("a", 2)), ((None, 1),), (), None, (("x", 1), None)),
    ],
    "js STRING": [
        *('{"a":1,"b":"x","c":{"d":true},"e":[1,2],"f":null}', "{}", "", " ", "null", "not json", None),
        *('{"a":"1","b":2,"c":null,"e":[]}', '{"a":1.5,"b":true,"c":{"d":"y"},"e":["z"]}', '{"b":"\\u00e9\\n","a":-7}'),
        *('{"a":1,"a":2}', "[1,2]", "{'a':1}", '{"a":1,}', '{"a":2147483648,"e":[1,null]}', '{"A":1}', '{"a":1} x'),
        *('{"a":-0,"b":"","e":[{"x":1}]}', '{"a":NaN}', '{"b":{"x":1},"a":3}', '{"a":1e2}'),
    ],
    "jt STRING": [
        *('{"day":"2024-02-29","ts":"2024-01-01T10:00:00Z","de":12.5,"d":1}', '{"day":"2023-02-29"}', None),
        *('{"day":"2024-1-1","de":1.234}', '{"de":"1.5","d":1e3}', '{"d":-0.0,"de":-7}'),
        '{"ts":"2024-01-01 10:00:00"}',
        *('{"ts":"2024-01-01T10:00:00.123Z","d":1.7976931348623157e308}', '{"d":"x"}', '{"de":99999999999}'),
    ],
    "jl STRING": ['[{"x":1,"y":"p"},{"y":"q"}]', "[]", "[null]", '{"x":1}', None, "[1]", '[{"x":"1"}]'],
    "jm STRING": ['{"a":1,"b":null}', "{}", '{"a":"x"}', None, '{"a":1,"a":2}', '{"é":5}', "[1]", '{"a b":3}'],
    "hx STRING": ["", "00", "fF", "F", "zz", None, "0A1b"],
}  # fmt: skip
SCHEMA = parse_schema(", ".join(COLUMNS))
ROWS = [tuple(values[i % len(values)] for values in COLUMNS.values()) for i in range(48)]

EXPRESSIONS = {
    # texts; the number of rows of 48 that are left unknown
    "split(s, ',')": 0, "split(s, '\\\\.')": 0, "split(s, '[|]')": 0, "split(s, ',', 2)": 0, "split(s, ',', -1)": 0,
    "split(s, 'aa')": 0, "split(s, '@')[0]": 0, "split(s, ',')[1]": 0, "get(split(s, ','), 1)": 0,
    "split_part(s, ',', 2)": 0, "substring_index(s, '.', 1)": 0, "substring_index(s, '.', -1)": 0,
    "substring_index(s, ',', 2)": 0, "substring_index(s, ',', -2)": 0, "substring_index(s, ',', 0)": 0,
    "regexp_replace(s, '[^0-9]+', '')": 0, "regexp_replace(s, '([a-z])([0-9])', '$2-$1')": 0,
    "regexp_replace(s, '^[^@]+', '***')": 2, "regexp_replace(s, '\\\\s+', '_')": 0, "regexp_replace(s, '.', 'x')": 2,
    "regexp_extract(s, '([a-z]+)-([0-9]+)', 2)": 0, "regexp_extract(s, '([0-9]+)')": 0,
    "regexp_extract(s, '[a-z]+', 0)": 0, "regexp_extract(s, '^(\\\\w+)@(\\\\w+[.]org)$', 1)": 2,
    "regexp_extract(s, '(a)|(b)', 2)": 0, "s RLIKE '^[a-z]+$'": 2, "regexp_like(s, 'a|é')": 0,
    "s RLIKE '[a-c]{2,3}'": 0,
    "regexp_replace(s, 'a+?', '<$1>')": None, "regexp_replace(s, 'a*', '-')": None, "s RLIKE '(?i)A'": None,
    "s ILIKE 'A%'": 4, "s ILIKE '%_b\\\\_%'": 4, "s NOT ILIKE '%A'": 4, "s ILIKE '%É'": None,
    "lpad(s, 5, '0')": 0, "lpad(s, 2, 'xy')": 0, "rpad(s, 8, 'xyz')": 0, "rpad(s, 4)": 0, "lpad(s, 0, '0')": 0,
    "ltrim(s)": 0, "rtrim(s)": 0, "initcap(s)": 4, "repeat(s, 2)": 0, "repeat(s, 0)": 0,
    "translate(s, 'abc', 'xy')": 0, "translate(s, ',.', '')": 0, "right(s, 2)": 0, "right(s, 0)": 0,
    "substring(s, -3)": 0, "substring(s, -3, 2)": 0, "substring(s, 0, 2)": 0, "substring(s, n, m)": 0,
    "substr(s, m)": 0, "substring(s, -100, 99)": 0, "substring(s, 2, 0)": 0, "startswith(s, 'a')": 0,
    "endswith(s, t)": 0, "contains(s, ',')": 0, "contains(s, '')": 0, "ascii(s)": 4, "octet_length(s)": 0,
    "bit_length(s)": 0, "hex(s)": 0, "hex(n)": 0, "hex(big)": 0, "unhex(hx)": 14, "encode(s, 'UTF-8')": 0,
    "isnull(s)": 0, "isnotnull(n)": 0, "chr(m)": 14, "concat_ws(',', split(s, ','))": None,
    # numbers
    "round(de, 1)": 0, "round(de)": 0, "round(de, 5)": 0, "round(w, 2)": 0, "round(n)": 0, "round(n, 2)": 0,
    "round(d, 2)": 9, "round(d)": 9, "floor(d)": 15, "ceil(d)": 15, "floor(de)": 0, "ceil(w)": 0, "ceiling(n)": 0,
    "pmod(n, 7)": 0, "pmod(n, m)": 0, "pmod(big, -3)": 0, "pmod(ti, n)": 0, "n & 3": 0, "n | m": 0, "big ^ n": 0,
    "~n": 0, "~ti": 0, "shiftleft(n, 4)": 0, "shiftleft(ti, 3)": 0, "shiftleft(big, 3)": 0, "shiftright(n, 2)": 0,
    "shiftright(big, 60)": 0, "sign(n)": 0, "equal_null(n, m)": 0, "de / 3": 0, "de / m": 0, "1 / de": 0, "de / de": 0,
    "w / de": 0, "de / w": 6, "w / 7.125": 0, "n / de": 0, "de / 1000000": 0, "big / 2.5": 0, "de / d": 0, "w / w": 8,
    # casts
    "try_cast(s AS INT)": 0, "try_cast(s AS BIGINT)": 0, "try_cast(s AS BOOLEAN)": 0, "try_cast(s AS DATE)": 2,
    "try_cast(s AS DECIMAL(5,1))": 10, "try_cast(s AS DOUBLE)": 0, "try_cast(u AS TIMESTAMP)": 0,
    "try_cast(n AS TINYINT)": 0, "try_cast(big AS INT)": 0, "try_cast(d AS INT)": 0, "try_cast(d AS BIGINT)": 0,
    "try_cast(de AS TINYINT)": 0, "try_cast(de AS DECIMAL(4,2))": 0, "try_cast(w AS INT)": 0,
    "try_cast(day AS STRING)": 0,
    "try_cast(ts AS INT)": 0, "try_cast(flag AS INT)": 0, "try_cast(s AS TIMESTAMP)": 12,
    # dates
    "date_format(day, 'yyyy-MM')": 0, "date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSSSSS')": 0, "date_format(ts, 'HH:mm')": 0,
    "date_format(day, 'yyyyMMdd')": 0, "date_format(ts, \"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\")": 0,
    "date_format(day, 'E EEEE d/M/yy MMM MMMM')": 0, "date_format(ts, 'hh:mm a')": 0, "date_format(ntz, 'H:m:s')": 0,
    "date_format(day, 'DDD Q')": 0, "date_format(u, 'dd.MM.yyyy')": 0, "date_format(ts, 'G')": None,
    "to_date(t, 'dd.MM.yyyy')": 24, "to_date(u, 'yyyy-MM-dd HH:mm:ss')": 21, "to_date(day, 'yyyy')": 0,
    "to_timestamp(u, 'yyyy-MM-dd HH:mm:ss')": 21, "to_timestamp(u)": 0, "to_date(u)": 0, "to_date(s)": 2,
    "to_timestamp(t, 'dd.MM.yyyy')": 24, "unix_timestamp(u)": 21, "unix_timestamp(ts)": 0, "unix_timestamp(day)": 0,
    "unix_timestamp(t, 'dd.MM.yyyy')": 24, "to_unix_timestamp(ntz)": 0, "from_unixtime(n)": 0,
    "from_unixtime(big, 'yyyy-MM-dd')": 16, "timestamp_seconds(n)": 0, "timestamp_millis(big)": 8,
    "timestamp_micros(big)": 8, "unix_seconds(ts)": 0, "unix_millis(ts)": 0, "unix_micros(ts)": 0, "unix_date(day)": 0,
    "make_date(2024, m, n)": 40, "make_date(n, 2, 28)": 24, "make_timestamp(2024, m, 1, 2, 3, 4.5)": 20,
    "next_day(day, 'MO')": 6, "next_day(day, 'sunday')": 6, "weekday(day)": 0, "weekofyear(day)": 0, "year(u)": 0,
    "datediff(u, day)": 0, "date_add(u, 1)": 0, "from_utc_timestamp(ts, 'Europe/Berlin')": 22,
    "from_utc_timestamp(ts, 'America/New_York')": 22,
    # arrays
    "element_at(arr, 1)": 0, "element_at(arr, -1)": 0, "element_at(arr, n)": 0, "try_element_at(arr, m)": 0,
    "arr[0]": 0, "arr[n]": 0, "get(arr, n)": 0, "sort_array(arr)": 0, "sort_array(arr, false)": 0, "array_sort(arr)": 0,
    "sort_array(ars)": 0, "array_sort(ars)": 0, "array_join(ars, ',')": 0, "array_join(ars, '-', '?')": 0,
    "array_append(arr, n)": 0, "array_prepend(arr, n)": 0, "array_max(arr)": 0, "array_min(arr)": 0,
    "array_max(ars)": 0,
    "array_position(arr, 1)": 0, "array_position(arr, n)": 0, "slice(arr, 1, 2)": 0, "slice(arr, -2, 2)": 0,
    "slice(arr, 2, 0)": 0, "slice(ars, 3, 9)": 0, "reverse(arr)": 0, "flatten(nest)": 0, "array_compact(arr)": 0,
    "array_repeat(n, 2)": 0, "array_repeat(s, 0)": 0, "sequence(m, 3)": 0, "sequence(1, m, 2)": 14, "sequence(n, m)": 8,
    "arrays_overlap(arr, brr)": 0, "size(split(s, ','))": 0,
    # maps
    "map_keys(mp)": 0, "map_values(mp)": 0, "map_entries(mp)": 0, "map_contains_key(mp, 'a')": 0, "mp[s]": 0,
    "element_at(mp, 'a')": 0, "try_element_at(mp, s)": 0, "map_from_entries(ents)": 0, "map_concat(mp, mq)": 0,
    "map_concat(mp)": 0, "map_from_arrays(ars, ars)": 0, "map_concat(mp, map('zz', 1))": 0,
    "map_filter(mp, (k, v) -> v > 1)": 0, "map_filter(mp, (k, v) -> k = 'a' OR v IS NULL)": 0,
    "transform_values(mp, (k, v) -> coalesce(v, 0))": 0, "transform_values(mp, (k, v) -> k)": 0,
    "aggregate(arr, 0, (acc, x) -> acc + x)": 12, "aggregate(ars, '', (acc, x) -> concat(acc, coalesce(x, '?')))": 0,
    "aggregate(arr, n, (acc, x) -> greatest(acc, x))": 0,
    # JSON
    "get_json_object(js, '$.a')": 19, "get_json_object(js, '$.b')": 19, "get_json_object(js, '$.c.d')": 16,
    "get_json_object(js, '$.e[0]')": 16, "get_json_object(js, '$.f')": 16, "get_json_object(js, '$.a.x')": 16,
    "get_json_object(jl, '$[0].x')": 0, "get_json_object(jl, '$.x')": 0,
    "from_json(js, 'a INT, b STRING')": 30, "from_json(js, 'STRUCT<c: STRUCT<d: STRING>>')": 30,
    "from_json(js, 'a BIGINT, e ARRAY<INT>').a": 36, "from_json(jt, 'day DATE, ts TIMESTAMP')": 30,
    "from_json(jt, 'de DECIMAL(10,2), d DOUBLE')": 36, "from_json(jl, 'ARRAY<STRUCT<x: INT, y: STRING>>')": 28,
    "from_json(jm, 'MAP<STRING, INT>')": 30,
}  # fmt: skip


_RELATION = Relation(side=TableSide.TARGET, qualifier="t", schema=SCHEMA)


def in_duckdb(text: str) -> tuple[Schema, list[Any]]:
    """Give the type, and for each row its value, its error class as a text, or None if it is unknown."""
    scope = Scope(relations=(_RELATION,), place="test", case_sensitive=False)
    value = Translator(scope).translate(read_sql(plain_expression(text)))
    schema = Schema((Field("v", value.type),))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    found: list[Any] = []
    pending = [ROWS]
    while pending:
        rows = pending.pop(0)
        incoming = rows_to_table(rows, SCHEMA).rename_columns([f"t{i}" for i in range(len(SCHEMA.columns))])
        connection.register("incoming", incoming)
        try:
            found += table_to_rows(connection.sql(f"SELECT {value.sql} AS v FROM incoming").to_arrow_table(), schema)
        except duckdb.Error as error:
            if len(rows) > 1:  # find those that fail
                half = len(rows) // 2
                pending = [rows[:half], rows[half:], *pending]
                continue
            try:
                found.append(rejection_of(error).error_class)
            except UnsupportedByReferenceError:
                found.append(None)
    return schema, found


@pytest.fixture(scope="module")
def table() -> DataFrame:
    """Give Spark the rows, with their numbers."""
    numbered = rows_to_table(ROWS, SCHEMA).append_column("number_", [range(len(ROWS))])
    return start_session().createDataFrame(numbered).cache()


@pytest.mark.parametrize(("text", "unknown"), EXPRESSIONS.items(), ids=range(len(EXPRESSIONS)))
def test_a_function_gives_what_spark_gives(text: str, unknown: int | None, table: DataFrame) -> None:
    """Row by row the value is Spark's, or the error class is; ``None`` stands for calls without a translation."""
    if unknown is None:
        with pytest.raises((UnsupportedByReferenceError, RejectedError)):
            in_duckdb(text)
        return
    schema, found = in_duckdb(text)
    known = [number for number, own in enumerate(found) if isinstance(own, tuple)]
    frame = table.where(table["number_"].isin(known)).selectExpr("number_", f"{text} AS v")
    spelled = frame.schema[1].dataType.simpleString()
    assert parse_schema(f"v {spelled}") == schema
    arrow = frame.toArrow()
    values = table_to_rows(arrow.select(["v"]), schema)

    wrong = []
    for number, sparks in zip(arrow.column("number_").to_pylist(), values, strict=True):
        if row_identity(found[number], schema) != row_identity(sparks, schema):
            used = {c.name: v for c, v in zip(SCHEMA.columns, ROWS[number], strict=True) if c.name in text}
            wrong.append((used, found[number], sparks))
    assert not wrong
    assert found.count(None) <= unknown

    failing = {own: number for number, own in enumerate(found) if isinstance(own, str)}
    for error_class, number in failing.items():
        with pytest.raises(PySparkException) as raised:
            table.where(table["number_"] == number).selectExpr(f"{text} AS v").toArrow()
        assert str(raised.value.getCondition()).startswith(error_class)
