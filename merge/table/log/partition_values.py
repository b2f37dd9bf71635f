"""Partition values: as strings of Delta's log, as directories and as Spark SQL literals."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

PartitionValue: TypeAlias = Any  # bool, int, float, Decimal, str, date, datetime or None, by the column's type

HIVE_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

_WITHOUT_ZONE = re.compile(r"\d+-\d+-\d+([ T][\d:.]*)?")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

# What Hive and Spark escape in names of partition directories, besides control characters.
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^")


def serialize(value: PartitionValue) -> str | None:
    """Write a value as Delta's protocol wants it in ``partitionValues``; NULL and the empty string are None (R-744).

    A datetime with a zone is an instant and is written in UTC; one without a zone is TIMESTAMP_NTZ.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _NOT_FINITE.get(repr(value), repr(value))
    if isinstance(value, dt.datetime):
        return _serialize_datetime(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _serialize_datetime(value: dt.datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(sep=" ", timespec="microseconds")
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def local_moments(spark: SparkSession, texts: Iterable[str]) -> dict[str, dt.datetime]:
    """Read serialised values of a TIMESTAMP column that name no zone: they are moments in the session's (R-804).

    Returns:
        the moments by text; the other texts, and those that are no moments, are left out.
    """
    local = sorted({text for text in texts if _WITHOUT_ZONE.fullmatch(text)})
    if not local:
        return {}
    given = ", ".join(sql_string(text) for text in local)
    row = spark.sql(f"SELECT transform(array({given}), text -> unix_micros(TRY_CAST(text AS TIMESTAMP)))").first()
    micros = row[0] if row is not None else ()
    return {
        text: _EPOCH + dt.timedelta(microseconds=number)
        for text, number in zip(local, micros, strict=True)
        if number is not None
    }


def directory(name: str, value: str | None) -> str:
    """Name the Hive-style directory of a serialised partition value."""
    if value is None:
        return f"{_escape(name)}={HIVE_DEFAULT_PARTITION}"
    # a text that is the folder of NULL has an escape, which readers of folders undo behind their look for NULL
    text = value.replace("_", "%5F", 1) if value == HIVE_DEFAULT_PARTITION else _escape(value)
    return f"{_escape(name)}={text}"


def _escape(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED or c < " " else c for c in text)


def sql_literal(value: PartitionValue, sql_type: str) -> str:
    """Write a value as Spark SQL text of exactly the type ``sql_type`` (a Spark DDL type)."""
    text = serialize(value)
    return f"CAST({'NULL' if text is None else sql_string(text)} AS {sql_type})"


def sql_string(text: str) -> str:
    """Quote text as a Spark SQL string; ``$`` is escaped too, since Spark substitutes variables inside literals."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
