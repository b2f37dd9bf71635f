"""An engine's answer in the types that the comparison knows, converted where that is exact.

Adapters give what their libraries give: NumPy's numbers, pandas' timestamps, Arrow's scalars, rows as dictionaries.
A value with an exact Python equivalent is converted. A value of Python's own types stays, whatever its column is:
whether it is right is for the comparison. Everything else is refused, so that no code of the adapter, such as an
``__eq__`` or a time zone's ``utcoffset``, takes part in the comparison. A number that Python refuses to write out or
to compare is refused too: no column holds it.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.rows import CHANGE_TYPE
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.outcome import Feed, FileWork, MergePath, Outcome, Rejection, Unsupported
from mergecheck.model.types.data_types import ArrayType, AtomicName, AtomicType, MapType, Schema, StructType

if TYPE_CHECKING:
    from mergecheck.model.case import Row, Value
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import DataType

_PLAIN = frozenset({bool, int, float, str, bytes, Decimal, dt.date, dt.datetime})
_NO_ROWS = (str, bytes, bytearray, Mapping)
_MIDNIGHT = dt.time()
_MOST_BITS = 4_096  # of a whole number; Python writes no number of more than 4,300 digits
_MOST_DIGITS = 1_000  # of a decimal before or behind the point
_LONGEST_WORD = 1_000  # characters of the class of an error, or of a reason; reports repeat them
_LONGEST_MESSAGE = 100_000


class BadAnswerError(EngineDownError):
    """An adapter returned something that is no answer; the message names the part, and the allowed values."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the answer cannot be compared: {problem}")


def plain_answer(answer: object) -> EngineResult:
    """Copy an answer, with values of Python's own types only.

    Raises:
        BadAnswerError: for what has no exact value.
    """
    if isinstance(answer, Outcome):
        return _plain_outcome(answer)
    if isinstance(answer, Rejection):
        others = answer.other_classes
        if not isinstance(others, frozenset | set | tuple | list):
            raise _wrong("other_classes", others, "a frozenset of texts")
        return Rejection(
            error_class=_cut(_text("error_class", answer.error_class), _LONGEST_WORD),
            message=_cut(_text("message", answer.message), _LONGEST_MESSAGE),
            unchanged=_truth("unchanged", answer.unchanged),
            other_classes=frozenset(_text("other_classes", each) for each in others),
        )
    if isinstance(answer, Unsupported):
        return Unsupported(_cut(_text("reason", answer.reason), _LONGEST_WORD))
    raise EngineDownError(
        f"the adapter returned {type(answer).__name__}; allowed are Outcome, Rejection and Unsupported"
    )


def _plain_outcome(answer: Outcome) -> Outcome:
    schema = answer.schema
    if not isinstance(schema, Schema):
        raise _wrong("schema", schema, "a Schema")
    if answer.path is not None and not isinstance(answer.path, MergePath):
        raise _wrong("path", answer.path, "a MergePath or None")
    if not isinstance(answer.feed, Feed):
        raise _wrong("feed", answer.feed, "a Feed")
    feed = Schema((*schema.columns, CHANGE_TYPE))
    plain = Outcome(
        schema=schema,
        rows=_rows("rows", answer.rows, schema),
        metrics=_counts("metrics", answer.metrics),
        cdf=None if answer.cdf is None else _rows("cdf", answer.cdf, feed),
        committed=_truth("committed", answer.committed),
        path=answer.path,
        result_row=None if answer.result_row is None else _counts("result_row", answer.result_row),
        feed=answer.feed,
        paths=_counts("paths", answer.paths),
        work=None if answer.work is None else _work(answer.work),
    )
    if not isinstance(answer, TableOutcome):
        return plain
    # the log and files of a Delta table are the harness's own observation
    return replace(answer, **{field.name: getattr(plain, field.name) for field in fields(Outcome)})


def _work(work: object) -> FileWork:
    if not isinstance(work, FileWork):
        raise _wrong("work", work, "a FileWork or None")
    numbers: dict[str, Any] = {}
    for part in ("rewritten", "marked"):
        given = getattr(work, part)
        if not isinstance(given, frozenset | set | tuple | list):
            raise _wrong(f"work.{part}", given, "a frozenset of numbers")
        numbers[part] = frozenset(_count(f"work.{part}", number) for number in given)
    for part in ("num_scanned", "bytes_scanned"):
        given = getattr(work, part)
        numbers[part] = None if given is None else _count(f"work.{part}", given)
    if not isinstance(work.sizes, tuple | list):
        raise _wrong("work.sizes", work.sizes, "a tuple of numbers")
    numbers["applied_by_source_only"] = _truth("work.applied_by_source_only", work.applied_by_source_only) is True
    return FileWork(**numbers, sizes=tuple(_count("work.sizes", size) for size in work.sizes))


def _rows(part: str, rows: object, schema: Schema) -> tuple[Row, ...]:
    if not isinstance(rows, Iterable) or isinstance(rows, _NO_ROWS):
        raise _wrong(part, rows, "a tuple of rows")
    return tuple(_row(f"{part}[{number}]", row, schema) for number, row in enumerate(rows))


def _row(where: str, row: object, schema: Schema) -> Row:
    columns = schema.columns
    if isinstance(row, Mapping):
        cells: list[object] = _by_name(where, row, schema.names)
    elif isinstance(row, Iterable) and not isinstance(row, _NO_ROWS):
        cells = list(row)
    else:
        raise _wrong(where, row, "a tuple of cells")
    if len(cells) != len(columns):
        names = ", ".join(schema.names)
        raise BadAnswerError(f"{where} has {len(cells)} cells, and there are {len(columns)} columns ({names})")
    return tuple(
        _value(f"{where}, column {column.name!r}", cell, column.type)
        for cell, column in zip(cells, columns, strict=True)
    )


def _by_name(where: str, cells: Mapping[Any, Any], names: tuple[str, ...]) -> list[object]:
    if len(set(names)) < len(names) or set(cells) != set(names):
        raise BadAnswerError(f"{where} is a mapping with other keys than the columns {', '.join(names)}")
    return [cells[name] for name in names]


def _value(where: str, value: object, data_type: DataType) -> Value:
    """Convert a cell or a part of one."""
    if type(value) not in _PLAIN:
        value = _out_of_library(where, value, data_type)
    if value is None:
        return None
    if type(value) in _PLAIN:
        return _bounded(where, value, data_type)
    if isinstance(data_type, StructType) and isinstance(value, Mapping | tuple | list):
        struct = Schema(data_type.fields)
        return _row(where, value, struct)
    if isinstance(data_type, ArrayType) and isinstance(value, tuple | list):
        return tuple(_value(f"{where}[{i}]", each, data_type.element) for i, each in enumerate(value))
    if isinstance(data_type, MapType) and isinstance(value, Mapping | tuple | list):
        return _map(where, value, data_type)
    plain = _of_base_type(value)
    if plain is None:
        raise _wrong(f"{where} {data_type.ddl()}", value, "a value of Python's own types, or None for NULL")
    return _bounded(where, plain, data_type)


def _bounded(where: str, value: Any, data_type: DataType) -> Value:  # noqa: ANN401 - of one of the plain types
    """Return a value that can be compared and written without any code of its adapter."""
    if type(value) is int and value.bit_length() > _MOST_BITS:
        raise BadAnswerError(
            f"{where} {data_type.ddl()} has {value.bit_length():,} bits; no column holds such a number"
        )
    if type(value) is Decimal and (value.is_snan() or _is_long(value)):
        raise BadAnswerError(f"{where} {data_type.ddl()} is a number that no column holds")
    if type(value) is dt.datetime and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


def _is_long(value: Decimal) -> bool:
    _, digits, exponent = value.as_tuple()
    return isinstance(exponent, int) and max(len(digits), abs(exponent)) > _MOST_DIGITS


def _map(where: str, value: Mapping[Any, Any] | tuple[Any, ...] | list[Any], data_type: MapType) -> Value:
    entries = list(value.items()) if isinstance(value, Mapping) else list(value)
    if not all(isinstance(entry, tuple | list) and len(entry) == 2 for entry in entries):  # noqa: PLR2004 - a pair
        raise _wrong(f"{where} {data_type.ddl()}", value, "a dict, or (key, value) pairs")
    return tuple(
        (_value(f"{where} key", key, data_type.key), _value(f"{where} value", each, data_type.value))
        for key, each in entries
    )


def _out_of_library(where: str, value: Any, data_type: DataType) -> Any:  # noqa: ANN401 - an adapter gives anything
    """Take a value out of Arrow's, NumPy's or pandas' types, if those libraries are loaded."""
    arrow, numpy, pandas = (sys.modules.get(name) for name in ("pyarrow", "numpy", "pandas"))
    if arrow is not None and isinstance(value, arrow.Scalar):
        value = value.as_py()
    if numpy is not None and isinstance(value, numpy.datetime64):
        micros = value.astype("datetime64[us]")
        if not (numpy.isnat(value) or micros == value):
            raise BadAnswerError(f"{where} {data_type.ddl()}: {value!r} has parts of a microsecond")
        value = micros.item()
    if numpy is not None and isinstance(value, numpy.generic) and not isinstance(value, numpy.timedelta64):
        value = value.item()
    if numpy is not None and isinstance(value, numpy.ndarray):
        value = value.tolist() if value.dtype != object and value.dtype.kind not in "mM" else list(value)
    if pandas is not None and (value is pandas.NA or value is pandas.NaT):
        return None
    if pandas is not None and isinstance(value, pandas.Timestamp):
        if value.nanosecond:
            raise BadAnswerError(f"{where} {data_type.ddl()}: {value!r} has parts of a microsecond")
        value = value.to_pydatetime()
    is_day = isinstance(data_type, AtomicType) and data_type.name is AtomicName.DATE
    if is_day and type(value) is dt.datetime and value.timetz() == _MIDNIGHT:
        return value.date()
    return value


def _of_base_type(value: object) -> Value:
    """Copy a value of a subclass as the type it is derived from, without asking the subclass; None for others."""
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b"".join([value])
    if isinstance(value, Decimal):
        return Decimal(value)
    if isinstance(value, dt.datetime):
        return dt.datetime.combine(dt.datetime.date(value), dt.datetime.timetz(value))
    if isinstance(value, dt.date):
        return dt.date.fromordinal(dt.date.toordinal(value))
    return None


def _counts(part: str, counts: object) -> dict[str, int]:
    if not isinstance(counts, Mapping):
        raise _wrong(part, counts, "a mapping of names to whole numbers")
    return {_text(f"a name in {part}", name): _count(f"{part}[{name!r}]", count) for name, count in counts.items()}


def _count(where: str, count: object) -> int:
    plain = _value(where, count, AtomicType(AtomicName.BIGINT))
    if type(plain) is not int:
        raise _wrong(where, count, "a whole number")
    return plain


def _truth(part: str, value: object) -> bool | None:
    plain = _value(part, value, AtomicType(AtomicName.BOOLEAN))
    if plain is not None and type(plain) is not bool:
        raise _wrong(part, value, "True, False or None")
    return plain


def _text(part: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(part, value, "a text")
    return str.__str__(value)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text):,} characters)"


def _wrong(where: str, value: object, allowed: str) -> BadAnswerError:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return BadAnswerError(f"{where} is of type {name}; give {allowed}")
