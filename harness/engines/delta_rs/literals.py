"""Literals and names in DataFusion's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mergecheck.harness.engines.delta_rs.types import (
    BIGINT,
    BITS,
    INT,
    Translated,
    UntranslatableError,
    arrow_time,
    is_float,
    is_integer,
    sql_type,
)
from mergecheck.model.types.data_types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, AtomicType, DecimalType, type_word

if TYPE_CHECKING:
    from sqlglot import exp

    from mergecheck.model.types.data_types import DataType

_TEXTS = {
    "integer": re.compile(r"[+-]?[0-9]{1,18}"),
    "number": re.compile(r"[+-]?[0-9]{1,17}(\.[0-9]{1,17})?"),
    "date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "time": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"),
}
_UTC = re.compile(r"(Z|\+00:00)$")


def quoted(name: str) -> str:
    """Quote a name in the standard's way; the first releases do not know backticks."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Write a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def text_value(node: exp.Expr) -> Translated:
    """Translate a literal text."""
    return Translated(text_literal(str(node.this)), STRING)


def number(text: str) -> Translated:
    """Translate a literal number, of the type that Spark gives it.

    Raises:
        UntranslatableError: beyond BIGINT, or with an exponent.
    """
    if re.fullmatch(r"-?[0-9]+", text):
        value = int(text)
        if abs(value) >= 1 << 63:
            raise UntranslatableError("expression literal beyond BIGINT")
        return Translated(text, INT if -(1 << 31) <= value < 1 << 31 else BIGINT)
    if re.fullmatch(r"-?[0-9]*\.[0-9]+", text):
        whole, _, fraction = text.lstrip("-").partition(".")
        digits = len(whole.lstrip("0") + fraction)
        wanted = DecimalType(max(digits, len(fraction), 1), len(fraction))
        return Translated(f"CAST('{text}' AS {sql_type(wanted)})", wanted)
    raise UntranslatableError("expression literal")


def cast_text(text: str, wanted: DataType) -> Translated:
    """Translate a typed literal, if the form of its text is unambiguous."""
    if wanted == STRING:
        return Translated(text_literal(text), STRING)
    if wanted in (TIMESTAMP, TIMESTAMP_NTZ):
        plain = _UTC.sub("", text)
        if not _TEXTS["time"].fullmatch(plain) or (wanted == TIMESTAMP and plain == text):
            raise UntranslatableError("expression literal of a time")
        zone = "Z" if wanted == TIMESTAMP else ""
        return Translated(f"arrow_cast('{plain.replace(' ', 'T')}{zone}', {arrow_time(wanted)})", wanted)
    form = _text_form(wanted)
    special = is_float(wanted) and text in ("NaN", "Infinity", "-Infinity")
    if not special and (form is None or not _TEXTS[form].fullmatch(text) or not _in_range(text, wanted)):
        raise UntranslatableError(f"expression literal of {type_word(wanted)}")
    return Translated(f"CAST('{text}' AS {sql_type(wanted)})", wanted)


def _text_form(wanted: DataType) -> str | None:
    if is_integer(wanted):
        return "integer"
    if is_float(wanted) or isinstance(wanted, DecimalType):
        return "number"
    return "date" if wanted == DATE else None


def _in_range(text: str, wanted: DataType) -> bool:
    if isinstance(wanted, AtomicType) and wanted.name in BITS:
        half = 1 << (BITS[wanted.name] - 1)
        return -half <= int(text) < half
    return fits(text, wanted) if isinstance(wanted, DecimalType) else True


def fits(text: str, wanted: DecimalType) -> bool:
    """Return whether a number needs no rounding."""
    if not _TEXTS["number"].fullmatch(text) and not re.fullmatch(r"-?[0-9]{1,38}(\.[0-9]{1,38})?", text):
        return False
    whole, _, fraction = text.lstrip("+-").partition(".")
    return len(fraction) <= wanted.scale and len(whole.lstrip("0")) <= wanted.precision - wanted.scale
