"""Spark's casts from text, spelled out in DuckDB (R-251 to R-253).

Spark reads numbers with Java's readers and dates with its own; both take more and less than DuckDB does. What follows
was compared with Spark value by value; rare spellings (hexadecimal floats, years of five digits) are unsupported.
"""

from __future__ import annotations

from mergecheck.model.types.data_types import INTEGER_BITS, TIMESTAMP, TIMESTAMP_NTZ, DataType, DecimalType
from mergecheck.model.types.typed import duckdb_type
from mergecheck.reference.casts.cast_sql import Failure, failed, guarded, let, malformed, unsupported

_TRIMMED = r"regexp_replace({}, '^[\x00-\x20\x7F]+|[\x00-\x20\x7F]+$', '', 'g')"  # Spark's own: control characters, too
_JAVA_TRIMMED = r"regexp_replace({}, '^[\x00-\x20]+|[\x00-\x20]+$', '', 'g')"

_NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
_MAX_DIGITS = 38

_DATE = r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?"
_TIME = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.]([0-9]{1,9}))?"


def text_to_integer(sql: str, target: DataType, failure: Failure) -> str:
    """Read a whole number; a number outside the type is malformed, and only LEGACY reads a point."""
    word, bits = duckdb_type(target), INTEGER_BITS[target]
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    pattern = "[+-]?([0-9]+([.][0-9]*)?|[.][0-9]*)" if failure is Failure.LEGACY else "[+-]?[0-9]+"
    # At most 20 digits after the leading zeros fit HUGEINT; any longer number is outside every type.
    whole = "regexp_extract(x, '^([+-]?)0*([0-9]*)', 1) || '0' || regexp_extract(x, '^[+-]?0*([0-9]*)', 1)"
    digits = "length(regexp_extract(x, '^[+-]?0*([0-9]*)', 1))"
    number = f"CAST({whole} AS HUGEINT)"
    fits = f"{number} BETWEEN {low} AND {high}"
    bad = malformed(failure)
    body = (
        f"CASE WHEN x IS NULL THEN NULL WHEN NOT regexp_full_match(x, '{pattern}') THEN {bad} "
        f"WHEN {digits} > 20 THEN {bad} WHEN {fits} THEN CAST({number} AS {word}) ELSE {bad} END"
    )
    return let(_TRIMMED.format(sql), body)


def text_to_floating(sql: str, target: DataType, failure: Failure) -> str:
    """Read a number as Java does, with Spark's texts for infinity and NaN."""
    word = duckdb_type(target)
    signed = {"inf": "Infinity", "infinity": "Infinity"}
    special = {sign + name: value for name, value in signed.items() for sign in ("", "+")}
    special |= {"-" + name: "-" + value for name, value in signed.items()} | {"nan": "NaN"}
    words = tuple((f"lower(x) = '{name}'", f"CAST('{value}' AS {word})") for name, value in special.items())
    number = "regexp_replace(x, '[fFdD]$', '')"
    return let(
        _JAVA_TRIMMED.format(sql),
        guarded(
            "x",
            *words,
            ("regexp_matches(x, '^[+-]?(NaN|0[xX])')", unsupported("a rare spelling of a number")),
            (f"regexp_full_match(x, '{_NUMBER}([eE][+-]?[0-9]+)?[fFdD]?')", f"CAST({number} AS {word})"),
            otherwise=malformed(failure),
        ),
    )


def text_to_decimal(sql: str, target: DecimalType, failure: Failure, overflow: str, too_long: str) -> str:
    """Read a number with a point and round half up; an exponent is unsupported."""
    word = duckdb_type(target)
    converted = f"TRY_CAST(x AS {word})"
    whole = "length(regexp_extract(x, '^[+-]?0*([0-9]*)', 1))"
    return let(
        _JAVA_TRIMMED.format(sql),
        guarded(
            "x",
            (f"NOT regexp_full_match(x, '{_NUMBER}([eE].*)?') AND regexp_full_match(x, '[ -~]*')", malformed(failure)),
            (f"NOT regexp_full_match(x, '{_NUMBER}') OR length(x) > 60", unsupported("a rare spelling of a decimal")),
            (f"{whole} > {_MAX_DIGITS}", failed(failure, too_long)),
            (f"{converted} IS NOT NULL", converted),
            otherwise=failed(failure, overflow),
        ),
    )


def text_to_boolean(sql: str, failure: Failure) -> str:
    """Read Spark's texts for true and false."""
    return let(
        f"lower({_TRIMMED.format(sql)})",
        guarded(
            "x",
            ("x IN ('t', 'true', 'y', 'yes', '1')", "TRUE"),
            ("x IN ('f', 'false', 'n', 'no', '0')", "FALSE"),
            otherwise=malformed(failure),
        ),
    )


def text_to_date(sql: str, failure: Failure) -> str:
    """Read ``yyyy``, ``yyyy-[m]m`` or ``yyyy-[m]m-[d]d``; after a day, a space or a T ends it."""
    date = f"TRY_CAST({_date_text()} AS DATE)"
    return let(
        _TRIMMED.format(sql),
        guarded(
            "x",
            ("regexp_matches(x, '^([+-]|[0-9]{5}|0000)')", unsupported("a rare spelling of a date")),
            (rf"regexp_full_match(x, '(?s){_DATE}') AND {date} IS NOT NULL", date),
            (rf"regexp_full_match(x, '(?s)[0-9]{{4}}-[0-9]+-[0-9]+[ T].*') AND {_dated(date)}", date),
            otherwise=malformed(failure),
        ),
    )


def text_to_timestamp(sql: str, target: DataType, failure: Failure) -> str:
    """Read a date, or a date with a time to the second or finer and perhaps ``Z``; the zone is UTC."""
    if target not in (TIMESTAMP, TIMESTAMP_NTZ):
        raise ValueError(f"{target.ddl()} is no timestamp; give TIMESTAMP or TIMESTAMP_NTZ")
    word = duckdb_type(target)
    date = f"TRY_CAST({_date_text()} AS DATE)"
    time = [f"regexp_extract(x, '[ T]{_TIME}Z?$', {i})" for i in (1, 2, 3, 4)]
    clock = " || ':' || ".join(f"lpad({part}, 2, '0')" for part in time[:3])
    moment = f"CAST({_date_text()} || ' ' || {clock} || '.' || rpad(left({time[3]}, 6), 6, '0') AS TIMESTAMP)"
    valid = " AND ".join(f"CAST({part} AS INTEGER) < {end}" for part, end in zip(time, (24, 60, 60), strict=False))
    with_time = rf"regexp_full_match(x, '[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}[ T]{_TIME}Z?')"
    return let(
        _TRIMMED.format(sql),
        guarded(
            "x",
            ("NOT regexp_matches(x, '[0-9]')", malformed(failure)),
            ("regexp_matches(x, '^([+-]|[0-9]{5}|0000)')", unsupported("a rare spelling of a timestamp")),
            (f"regexp_full_match(x, '{_DATE}') AND {date} IS NOT NULL", f"CAST({date} AS {word})"),
            (f"{with_time} AND {date} IS NOT NULL AND {valid}", f"CAST({moment} AS {word})"),
            (f"regexp_full_match(x, '{_DATE}') OR {with_time}", malformed(failure)),
            otherwise=unsupported("a rare spelling of a timestamp"),
        ),
    )


def _date_text() -> str:
    year, month, day = (f"regexp_extract(x, '^{_DATE}', {i})" for i in (1, 2, 3))
    rest = (f"lpad(CASE WHEN {part} = '' THEN '1' ELSE {part} END, 2, '0')" for part in (month, day))
    return " || '-' || ".join((year, *rest))


def _dated(date: str) -> str:
    return rf"regexp_matches(x, '^[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}[ T]') AND {date} IS NOT NULL"
