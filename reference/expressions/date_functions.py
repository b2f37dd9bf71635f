"""Functions of dates and timestamps in UTC whose meaning is one in Spark and DuckDB, and intervals beside them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import DATE, INT, SMALLINT, STRING, TIMESTAMP, TIMESTAMP_NTZ, TINYINT, type_word
from mergecheck.model.types.typed import Typed, combine, duckdb_type
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.casts.nested_casts import cast_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.data_types import DataType

_DAYS = (TINYINT, SMALLINT, INT)
_TRUNC = {"YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month", "MM": "month"} | {
    "MON": "month",
    "WEEK": "week",
}
_DATE_TRUNC = {word.upper(): word for word in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")}
_MONTHS = {"MONTH": 1, "YEAR": 12}
_TIMES = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_HOUR, _SIXTY = r"([01]?\d|2[0-3])", r"([0-5]?\d)"
_SPANS = {
    ("YEAR", "MONTH"): (r"(\d{1,4})-(\d|1[01])", ("YEAR", "MONTH")),
    ("DAY", "HOUR"): (rf"(\d{{1,5}}) {_HOUR}", ("DAY", "HOUR")),
    ("DAY", "MINUTE"): (rf"(\d{{1,5}}) {_HOUR}:{_SIXTY}", ("DAY", "HOUR", "MINUTE")),
    ("DAY", "SECOND"): (rf"(\d{{1,5}}) {_HOUR}:{_SIXTY}:{_SIXTY}", ("DAY", "HOUR", "MINUTE", "SECOND")),
    ("HOUR", "MINUTE"): (rf"(\d{{1,5}}):{_SIXTY}", ("HOUR", "MINUTE")),
    ("HOUR", "SECOND"): (rf"(\d{{1,5}}):{_SIXTY}:{_SIXTY}", ("HOUR", "MINUTE", "SECOND")),
    ("MINUTE", "SECOND"): (rf"(\d{{1,5}}):{_SIXTY}", ("MINUTE", "SECOND")),
}
_COUNT = re.compile(r"-?\d{1,5}")
_FAR = 1_000_000  # days


def date_call(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a call of a date function; None for any other expression.

    Raises:
        UnsupportedByReferenceError: for operands that were not compared between the engines.
    """
    if type(node) in _PARTS:
        return _date_part(node, translate)
    call = _CALLS.get(type(node))
    return None if call is None else call(node, translate)


def shifted(node: exp.Add | exp.Sub, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a date or timestamp plus or minus an interval; None if the right side is no interval.

    Raises:
        UnsupportedByReferenceError: for intervals of months and days, for counts that are no plain numbers, and for a
            date beside less than a day, which is a timestamp.
    """
    parts = _interval_parts(node.expression)
    if parts is None:
        return None
    value = translate(node.this)
    units = {unit for _, unit in parts}
    known = _MONTHS.keys() if units <= _MONTHS.keys() else {"DAY", *(_TIMES if value.type != DATE else ())}
    if not units <= known or value.type not in (DATE, TIMESTAMP) or not all(_COUNT.fullmatch(one) for one, _ in parts):
        raise UnsupportedByReferenceError("an interval of this kind")
    sign = "-" if isinstance(node, exp.Sub) else "+"
    if units <= _MONTHS.keys():  # Spark adds all months at once: the day is cut to the last month's length only once
        parts = [(str(sum(int(count) * _MONTHS[unit] for count, unit in parts)), "MONTH")]
    moves = " ".join(f"{sign} INTERVAL ({count}) {unit}" for count, unit in parts)
    return _near(f"{_plain(value)} {moves}", value.type, value)


def _interval_parts(node: exp.Expr) -> list[tuple[str, str]] | None:
    """List an interval's counts, as they are written, with their units; None for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Add):  # how sqlglot reads INTERVAL 1 DAY 2 HOURS
        left, right = _interval_parts(node.this), _interval_parts(node.expression)
        return None if left is None or right is None else left + right
    if not isinstance(node, exp.Interval):
        return None
    count = node.this.name if isinstance(node.this, exp.Literal) else ""
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _span_parts(count, unit.this.name.upper(), unit.expression.name.upper())
    return [(count, unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else "")]


def _span_parts(text: str, first: str, last: str) -> list[tuple[str, str]]:
    """Take ``'1 02:03:04' DAY TO SECOND`` apart; the sign before it applies to all parts.

    Raises:
        UnsupportedByReferenceError: for texts that Spark's own pattern may refuse, and fractions of a second.
    """
    pattern, units = _SPANS.get((first, last), ("", ()))
    found = re.fullmatch(rf"([+-]?){pattern}", text.strip()) if units else None
    if found is None:
        raise UnsupportedByReferenceError("an interval of this kind")
    minus = "-" if found[1] == "-" else ""
    return [(f"{minus}{count}", unit) for count, unit in zip(found.groups()[1:], units, strict=True)]


def _plain(value: Typed) -> str:
    """Write a time without its zone, which is UTC, so that DuckDB asks no calendar."""
    return f"(({value.sql}) AT TIME ZONE 'UTC')" if value.type == TIMESTAMP else f"({value.sql})"


def _near(sql: str, data_type: DataType, *operands: Typed) -> Typed:
    """Return a time that DuckDB computed without its zone; years that a case cannot have are unsupported."""
    plain = "DATE" if data_type == DATE else "TIMESTAMP"
    outside = unsupported("a time outside of the years 1 to 9999")
    zoned = "x AT TIME ZONE 'UTC'" if data_type == TIMESTAMP else "x"
    body = f"CASE WHEN x IS NULL OR (year(x) BETWEEN 1 AND 9999) THEN {zoned} ELSE {outside} END"
    return combine(let(f"CAST({sql} AS {plain})", body), data_type, *operands, partial=True)


def _date(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    if isinstance(node, exp.TsOrDsToDate):
        if node.args.get("format") is not None:
            raise UnsupportedByReferenceError("to_date with a pattern")
        node = node.this
    value = translate(node)
    if value.type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING):
        raise UnsupportedByReferenceError(f"a function of dates of {type_word(value.type)}")
    return cast_value(value, DATE)


def _date_part(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    value = _date(node.this, translate)
    return combine(f"CAST({_PARTS[type(node)].format(value.sql)} AS INTEGER)", INT, value)


def _time_part(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    value = translate(node.this)
    if value.type not in (TIMESTAMP, TIMESTAMP_NTZ):
        raise UnsupportedByReferenceError(f"{node.key} of {type_word(value.type)}")
    return combine(f"CAST(date_part('{node.key}', {_plain(value)}) AS INTEGER)", INT, value)


def _extracted(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    part = _EXTRACTED.get(node.this.name.upper())
    if part is None:
        raise UnsupportedByReferenceError("EXTRACT of this part")
    return translate(part(this=node.expression))


def _days_added(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    count, sign = node.expression, "+"
    if isinstance(count, exp.Mul) and isinstance(count.expression, exp.Neg):  # how sqlglot reads date_sub
        count, sign = count.this, "-"
    return _moved(node, translate(count), translate, f"x {sign} n")


def _months_added(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    return _moved(node, translate(node.expression), translate, "x + to_months(n)")


def _moved(node: exp.Expr, count: Typed, translate: Callable[[exp.Expr], Typed], body: str) -> Typed:
    value = _date(node.this, translate)
    if count.type not in _DAYS:
        raise UnsupportedByReferenceError(f"a number of days of {type_word(count.type)}")
    far = unsupported("a date moved very far")
    near = f"CASE WHEN abs(CAST(n AS BIGINT)) > {_FAR} THEN {far} ELSE CAST({body} AS DATE) END"
    inner = f"list_transform([CAST({count.sql} AS INTEGER)], lambda n: {near})[1]"
    return _near(let(value.sql, inner), DATE, value, count)


def _days_between(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    end, start = _date(node.this, translate), _date(node.expression, translate)
    return combine(f"CAST(({end.sql}) - ({start.sql}) AS INTEGER)", INT, end, start)


def _last_day(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    value = _date(node.this, translate)
    return combine(f"last_day({value.sql})", DATE, value)


def _truncated_date(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    unit = _TRUNC.get(node.args["unit"].name.upper())
    if unit is None:
        raise UnsupportedByReferenceError("trunc to this unit")
    value = _date(node.this, translate)
    return combine(f"CAST(date_trunc('{unit}', {value.sql}) AS DATE)", DATE, value)


def _truncated_time(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    unit = _DATE_TRUNC.get(node.args["unit"].name.upper())
    value = translate(node.this)
    if unit is None or value.type not in (DATE, TIMESTAMP):
        raise UnsupportedByReferenceError("date_trunc to this unit or of this type")
    value = cast_value(value, TIMESTAMP)
    plain = f"CAST(date_trunc('{unit}', {_plain(value)}) AS {duckdb_type(TIMESTAMP_NTZ)})"
    return combine(f"({plain} AT TIME ZONE 'UTC')", TIMESTAMP, value)


_PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "year({})",
    exp.Quarter: "quarter({})",
    exp.Month: "month({})",
    exp.Day: "day({})",
    exp.DayOfMonth: "day({})",
    exp.DayOfWeek: "(dayofweek({}) + 1)",
    exp.DayOfYear: "dayofyear({})",
}
_EXTRACTED: dict[str, type[exp.Expr]] = {
    "YEAR": exp.Year,
    "MONTH": exp.Month,
    "DAY": exp.Day,
    "HOUR": exp.Hour,
    "MINUTE": exp.Minute,
}
_CALLS: dict[type[exp.Expr], Callable[[exp.Expr, Callable[[exp.Expr], Typed]], Typed]] = {
    exp.AddMonths: _months_added,
    exp.DateDiff: _days_between,
    exp.DateTrunc: _truncated_date,
    exp.Extract: _extracted,
    exp.Hour: _time_part,
    exp.LastDay: _last_day,
    exp.Minute: _time_part,
    exp.Second: _time_part,
    exp.TimestampTrunc: _truncated_time,
    exp.TsOrDsAdd: _days_added,
    exp.TsOrDsToDate: _date,
}
