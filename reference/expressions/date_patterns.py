"""Dates written and read by a pattern, and between numbers and times; functions that are found by their names.

Of Spark's patterns those are known whose letters are numbers of a fixed meaning, and the names of days and months.
The session's time zone is UTC.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    DATE,
    INT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    type_word,
)
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.literals import plain_text, text_literal
from mergecheck.reference.expressions.operands import bound, count, literal_text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from mergecheck.reference.expressions.operands import Call, Translate

_USUAL = "yyyy-MM-dd HH:mm:ss"
_PIECE = re.compile(r"'((?:[^']|'')+)'|([A-Za-z])\2*|[^A-Za-z'#{}\[\]]+")
_WRITTEN = {
    "yyyy": "lpad(CAST(year(x) AS VARCHAR), 4, '0')",
    "yy": "lpad(CAST(year(x) % 100 AS VARCHAR), 2, '0')",
    "MM": "strftime(x, '%m')",
    "M": "CAST(month(x) AS VARCHAR)",
    "MMM": "strftime(x, '%b')",
    "MMMM": "strftime(x, '%B')",
    "dd": "strftime(x, '%d')",
    "d": "CAST(day(x) AS VARCHAR)",
    "DDD": "lpad(CAST(dayofyear(x) AS VARCHAR), 3, '0')",
    "E": "strftime(x, '%a')",
    "EEE": "strftime(x, '%a')",
    "EEEE": "strftime(x, '%A')",
    "HH": "strftime(x, '%H')",
    "H": "CAST(hour(x) AS VARCHAR)",
    "hh": "strftime(x, '%I')",
    "mm": "strftime(x, '%M')",
    "m": "CAST(minute(x) AS VARCHAR)",
    "ss": "strftime(x, '%S')",
    "s": "CAST(second(x) AS VARCHAR)",
    "SSS": "left(strftime(x, '%f'), 3)",
    "SSSSSS": "strftime(x, '%f')",
    "a": "strftime(x, '%p')",
    "Q": "CAST(quarter(x) AS VARCHAR)",
}
_READ = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2}
_LONG = 253_402_300_799  # the last second of the year 9999
_FIRST = -62_135_596_800
_UTC = "AT TIME ZONE 'UTC'"


def _pieces(pattern: str) -> list[tuple[str, bool]]:
    """Take a pattern apart; True marks plain text.

    Raises:
        UnsupportedByReferenceError: for brackets and quotes that stand alone.
    """
    found = list(_PIECE.finditer(pattern))
    if "".join(piece[0] for piece in found) != pattern:
        raise UnsupportedByReferenceError("a pattern of dates of this kind")
    return [(piece[1].replace("''", "'"), True) if piece[1] else (piece[0], not piece[2]) for piece in found]


def written(value: str, pattern: str) -> str:
    """Write a TIMESTAMP without a zone by a pattern.

    Raises:
        UnsupportedByReferenceError: for letters that are not known.
    """
    parts = []
    for piece, is_text in _pieces(pattern):
        if not is_text and piece not in _WRITTEN:
            raise UnsupportedByReferenceError(f"the letters {piece} in a pattern of dates")
        parts.append(text_literal(piece) if is_text else _WRITTEN[piece])
    return let(value, f"CASE WHEN x IS NULL THEN NULL ELSE {' || '.join(parts)} END")


def _formatted(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value = cast_value(_moment(operands[0], translate), TIMESTAMP)
    return combine(written(f"(({value.sql}) {_UTC})", literal_text(operands[1])), STRING, value)


def _moment(node: exp.Expr, translate: Translate) -> Typed:
    value = translate(node)
    if value.type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING):
        raise UnsupportedByReferenceError(f"a function of times of {type_word(value.type)}")
    return value


def _read(value: str, pattern: str) -> str:
    """Read a text by a pattern, as a TIMESTAMP without a zone; texts of another form are not known.

    Raises:
        UnsupportedByReferenceError: for letters that are not known, and for a pattern without a year.
    """
    form, groups = "", dict[str, int]()
    for piece, is_text in _pieces(pattern):
        if is_text:
            form += re.escape(piece)
        elif piece in _READ and piece not in groups:
            groups[piece] = len(groups) + 1
            form += f"([0-9]{{{_READ[piece]}}})"
        else:
            raise UnsupportedByReferenceError(f"the letters {piece} in a pattern of dates that are read")
    if "yyyy" not in groups:
        raise UnsupportedByReferenceError("a pattern of dates without a year")
    parts = {
        name: f"regexp_extract(x, {text_literal(form)}, {groups[name]})" if name in groups else default
        for name, default in (("yyyy", ""), ("MM", "'01'"), ("dd", "'01'"), ("HH", "'00'"), ("mm", "'00'"))
    } | {"ss": f"regexp_extract(x, {text_literal(form)}, {groups['ss']})" if "ss" in groups else "'00'"}
    date = f"{parts['yyyy']} || '-' || {parts['MM']} || '-' || {parts['dd']}"
    moment = f"TRY_CAST({date} || ' ' || {parts['HH']} || ':' || {parts['mm']} || ':' || {parts['ss']} AS TIMESTAMP)"
    fits = " AND ".join(
        f"{parts[name]} < '{end}'" for name, end in (("HH", "24"), ("mm", "60"), ("ss", "60")) if name in groups
    )
    valid = f"{parts['yyyy']} <> '0000' AND {moment} IS NOT NULL{f' AND {fits}' if fits else ''}"
    other = unsupported("a date in another form than the pattern")
    matches = f"regexp_full_match(x, {text_literal(form)})"
    return let(value, f"CASE WHEN x IS NULL THEN NULL WHEN {matches} AND {valid} THEN {moment} ELSE {other} END")


def _to_date(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value = _moment(operands[0], translate)
    if value.type != STRING:
        return cast_value(value, DATE)
    return combine(f"CAST({_read(value.sql, literal_text(operands[1]))} AS DATE)", DATE, value, partial=True)


def _to_timestamp(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1, 2)
    value = _moment(operands[0], translate)
    if value.type != STRING or len(operands) == 1:
        return cast_value(value, TIMESTAMP)
    return combine(f"(({_read(value.sql, literal_text(operands[1]))}) {_UTC})", TIMESTAMP, value, partial=True)


def _to_unix(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``unix_timestamp`` of a value: whole seconds, cut towards 1970."""
    count(operands, 1, 2)
    value = _moment(operands[0], translate)
    if value.type == STRING:
        plain = _read(value.sql, _USUAL if len(operands) == 1 else literal_text(operands[1]))
    else:
        plain = f"(({cast_value(value, TIMESTAMP).sql}) {_UTC})"
    return combine(f"CAST(epoch_us({plain}) // 1000000 AS BIGINT)", BIGINT, value, partial=value.type == STRING)


def _from_unix(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1, 2)
    seconds = whole(operands[0], translate, BIGINT)
    pattern = _USUAL if len(operands) == 1 else literal_text(operands[1])
    return combine(written(_since_1970(seconds.sql, 1_000_000), pattern), STRING, seconds, partial=True)


def _since_1970(number: str, micros: int) -> str:
    """Give a TIMESTAMP without a zone for a number of seconds, milliseconds or microseconds."""
    units = 1_000_000 // micros
    far = unsupported("a timestamp outside of the years 1 to 9999")
    inside = f"x BETWEEN {_FIRST * units} AND {_LONG * units + units - 1}"
    return let(number, f"CASE WHEN x IS NULL THEN NULL WHEN {inside} THEN make_timestamp(x * {micros}) ELSE {far} END")


def _timestamp_of(micros: int) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        number = whole(operands[0], translate, BIGINT)
        return combine(f"(({_since_1970(number.sql, micros)}) {_UTC})", TIMESTAMP, number, partial=True)

    return call


def _unix_of(micros: int) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = translate(operands[0])
        if value.type != TIMESTAMP:
            raise UnsupportedByReferenceError(f"a function of timestamps of {type_word(value.type)}")
        floor = f"((x - ((x % {micros} + {micros}) % {micros})) // {micros})"
        return combine(let(f"epoch_us({value.sql})", f"CAST({floor} AS BIGINT)"), BIGINT, value)

    return call


def _unix_date(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = _a_date(operands[0], translate)
    return combine(f"CAST(({value.sql}) - DATE '1970-01-01' AS INTEGER)", INT, value)


def _a_date(node: exp.Expr, translate: Translate) -> Typed:
    return cast_value(_moment(node, translate), DATE)


def _made_date(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 3)
    parts = [whole(one, translate) for one in operands]
    date = _date_of("p.y", "p.m", "p.d")
    other = unsupported("a date that does not exist")
    body = f"CASE WHEN {_missing('ymd')} THEN NULL WHEN {date} IS NULL THEN {other} ELSE {date} END"
    values = dict(zip("ymd", (part.sql for part in parts), strict=True))
    return combine(bound(values, body), DATE, *parts, partial=True)


def _date_of(year: str, month: str, day: str) -> str:
    """Give a date of the years 1 to 9999, NULL if there is none."""
    text = f"lpad(CAST({year} AS VARCHAR), 4, '0') || '-' || CAST({month} AS VARCHAR) || '-' || CAST({day} AS VARCHAR)"
    inside = f"{year} BETWEEN 1 AND 9999 AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    return f"CASE WHEN {inside} THEN TRY_CAST({text} AS DATE) END"


def _missing(names: str) -> str:
    return " OR ".join(f"p.{name} IS NULL" for name in names)


def _made_timestamp(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``make_timestamp``; a second of 60 and fields outside of their ranges are not known."""
    count(operands, 6)
    parts = [whole(one, translate) for one in operands[:5]]
    seconds = translate(operands[5])
    if seconds.type not in INTEGER_BITS and not (isinstance(seconds.type, DecimalType) and seconds.type.scale <= 6):  # noqa: PLR2004
        raise UnsupportedByReferenceError("make_timestamp with seconds of this type")
    date = _date_of("p.y", "p.m", "p.d")
    inside = f"{date} IS NOT NULL AND p.h BETWEEN 0 AND 23 AND p.i BETWEEN 0 AND 59 AND p.s >= 0 AND p.s < 60"
    micros = "(p.h * 3600 + p.i * 60) * 1000000 + CAST(p.s * 1000000 AS BIGINT)"
    moment = f"CAST({date} AS TIMESTAMP) + to_microseconds({micros})"
    other = unsupported("a timestamp that does not exist")
    body = f"CASE WHEN {_missing('ymdhis')} THEN NULL WHEN {inside} THEN {moment} ELSE {other} END"
    values = {name: f"CAST({part.sql} AS BIGINT)" for name, part in zip("ymdhi", parts, strict=True)}
    values["s"] = f"CAST({seconds.sql} AS DECIMAL(24,6))"
    return combine(f"({bound(values, body)} {_UTC})", TIMESTAMP, *parts, seconds, partial=True)


def _date_number(sql: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = _a_date(operands[0], translate)
        return combine(f"CAST({sql.format(value.sql)} AS INTEGER)", INT, value)

    return call


_WEEKDAYS = {name: number for number, name in enumerate(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), start=1)}


def _next_day(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value, name = _a_date(operands[0], translate), (plain_text(operands[1]) or "").upper()
    names = {"MO": "MONDAY", "TU": "TUESDAY", "WE": "WEDNESDAY", "TH": "THURSDAY"} | {
        "FR": "FRIDAY",
        "SA": "SATURDAY",
        "SU": "SUNDAY",
    }
    short = name[:2]
    if short not in names or name not in (short, names[short][:3], names[short]):
        raise UnsupportedByReferenceError("next_day of a name that is not known")
    moved = f"CAST(x + CAST(((({_WEEKDAYS[short]} - isodow(x)) + 6) % 7) + 1 AS INTEGER) AS DATE)"
    late = unsupported("a date behind the year 9999")
    body = f"CASE WHEN x <= DATE '9999-12-24' OR x IS NULL THEN {moved} ELSE {late} END"
    return combine(let(value.sql, body), DATE, value, partial=True)


def _from_utc(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``from_utc_timestamp``: what clocks of a zone show, taken for a time in UTC."""
    count(operands, 2)
    value, zone = cast_value(_moment(operands[0], translate), TIMESTAMP), literal_text(operands[1])
    if not re.fullmatch(r"(Europe|America|Asia|Australia|Africa)/[A-Z][A-Za-z_]+|UTC", zone):
        raise UnsupportedByReferenceError("a time zone of this kind")
    other = unsupported("a local time outside of the years 1980 to 2037")
    moved = f"((x AT TIME ZONE {text_literal(zone)}) {_UTC})"
    body = f"CASE WHEN x IS NULL THEN NULL WHEN year(x {_UTC}) BETWEEN 1980 AND 2036 THEN {moved} ELSE {other} END"
    return combine(let(value.sql, body), TIMESTAMP, value, partial=True)


PATTERN_CALLS: Final[dict[str, Call]] = {
    "date_format": _formatted,
    "from_unixtime": _from_unix,
    "from_utc_timestamp": _from_utc,
    "make_date": _made_date,
    "make_timestamp": _made_timestamp,
    "next_day": _next_day,
    "timestamp_micros": _timestamp_of(1),
    "timestamp_millis": _timestamp_of(1_000),
    "timestamp_seconds": _timestamp_of(1_000_000),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "to_unix_timestamp": _to_unix,
    "unix_date": _unix_date,
    "unix_micros": _unix_of(1),
    "unix_millis": _unix_of(1_000),
    "unix_seconds": _unix_of(1_000_000),
    "weekday": _date_number("isodow({}) - 1"),
    "weekofyear": _date_number("week({})"),
}
