"""Partition values as text, in Delta's log and in the names of directories.

The log's form is the section "Partition Value Serialization" of Delta's protocol.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Context, Decimal
from typing import TYPE_CHECKING
from urllib.parse import quote

from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, DecimalType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_EXACT = Context(prec=76)  # the default of 28 digits would refuse a DECIMAL(38,s)
_MAX_DIRECTORY_BYTES = 200  # file systems allow 255 bytes per name


def serialize(value: Value, data_type: DataType) -> str | None:
    """Return a partition value in the log's notation; NULL is None.

    Raises:
        ValueError: for a type that cannot partition a table.
    """
    if value is None:
        return None
    if data_type == types.BOOLEAN:
        return "true" if value else "false"
    if data_type in INTEGER_BITS or data_type == types.STRING:
        return str(value)
    if data_type in (types.FLOAT, types.DOUBLE):
        return _float_text(value)
    if isinstance(data_type, DecimalType):
        return format(value, "f")
    if data_type == types.DATE:
        return str(value.isoformat())
    if data_type == types.TIMESTAMP:
        # with its zone, as Delta Lake writes it: without one, a reader takes it for a moment of the session's time zone
        return f"{value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
    if data_type == types.TIMESTAMP_NTZ:
        return str(value.isoformat(sep=" ", timespec="microseconds"))
    raise ValueError(f"a column of type {data_type.ddl()} cannot partition a table here; partition by another column")


def parse(text: str | None, data_type: DataType) -> Value:
    """Read a partition value of the log; an absent or empty text is NULL.

    Raises:
        ValueError: when the text is not of the type.
    """
    if text is None or text == "":
        return None
    if data_type == types.BOOLEAN:
        return text == "true"
    if data_type in INTEGER_BITS:
        return int(text)
    if data_type == types.STRING:
        return text
    if data_type in (types.FLOAT, types.DOUBLE):
        return float(text)
    if isinstance(data_type, DecimalType):
        try:
            return Decimal(text).quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
        except ArithmeticError:
            raise ValueError(f"{text!r} is no {data_type.ddl()}") from None
    if data_type == types.DATE:
        return dt.date.fromisoformat(text)
    if data_type == types.TIMESTAMP:
        return moment(text)
    if data_type == types.TIMESTAMP_NTZ:
        return dt.datetime.fromisoformat(text)
    raise ValueError(f"a column of type {data_type.ddl()} cannot partition a table")


def moment(text: str) -> dt.datetime:
    """Read a moment in any zone; there it may be in the year 10000, or in the year 0, while UTC has a year that fits.

    It is read in another year of the calendar's cycle of 400 years, and moved back after the change to UTC. Without a
    zone in the text the writer's zone applies; every table here is written in UTC.

    Raises:
        ValueError: the text is no moment, or one that Python cannot hold.
    """
    found = re.match(r"[+-]?\d+(?=-)", text)
    if found is None:
        raise ValueError(f"no year in {text!r}")
    year = int(found[0])
    shifted = 2000 + year % 400
    stamp = dt.datetime.fromisoformat(f"{shifted}{text[found.end() :]}")
    stamp = stamp.replace(tzinfo=dt.UTC) if stamp.tzinfo is None else stamp.astimezone(dt.UTC)
    return stamp.replace(year=stamp.year + year - shifted)


def directory(names: Sequence[str], texts: Sequence[str | None]) -> str:
    """Name the Hive-style directory of a tuple of partition values, ending in ``/``; empty without columns.

    The name is a convenience for people and does not carry the values: the log does. A value too long for the file
    system is therefore cut.
    """
    parts = [
        f"{escape(name)}={HIVE_NULL if text is None else escape(text)}" for name, text in zip(names, texts, strict=True)
    ]
    return "".join(_shorten(part) + "/" for part in parts)


def _shorten(part: str) -> str:
    # Everything is ASCII here; an escape sequence cut in half is no harm in a name that is never decoded.
    return part if len(part) <= _MAX_DIRECTORY_BYTES else part[:_MAX_DIRECTORY_BYTES].rstrip("%")


def escape(text: str) -> str:
    """Escape a name or a value for the name of a directory."""
    return quote(text, safe=" +@,;()&$!~")


def _float_text(value: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is the one value that differs from itself
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
