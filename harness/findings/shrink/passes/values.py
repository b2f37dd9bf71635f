"""Candidates for a case that is easier to read: the simplest value of the type in place of a cell's value."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.types.data_types import ArrayType, AtomicName, AtomicType, DecimalType, NestedType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.types.data_types import DataType, Schema

_SIMPLEST: dict[AtomicName, tuple[Value, ...]] = {
    AtomicName.BOOLEAN: (False,),
    AtomicName.TINYINT: (0, 1),
    AtomicName.SMALLINT: (0, 1),
    AtomicName.INT: (0, 1),
    AtomicName.BIGINT: (0, 1),
    AtomicName.FLOAT: (0.0, 1.0),
    AtomicName.DOUBLE: (0.0, 1.0),
    AtomicName.STRING: ("a", "b"),
    AtomicName.BINARY: (b"",),
    AtomicName.DATE: (dt.date(2000, 1, 1),),
    AtomicName.TIMESTAMP: (dt.datetime(2000, 1, 1, tzinfo=dt.UTC),),
    AtomicName.TIMESTAMP_NTZ: (dt.datetime(2000, 1, 1),),  # noqa: DTZ001 - the type has no zone
}


def simpler_values(case: Case) -> Iterator[Case]:
    """Yield cases with one cell made simpler; a cell that is simple already is left alone."""
    for i, rows in enumerate(case.target.files):
        for changed in _simpler_rows(rows, case.target.schema):
            files = (*case.target.files[:i], changed, *case.target.files[i + 1 :])
            yield replace(case, target=replace(case.target, files=files))
    if case.source is not None:
        for changed in _simpler_rows(case.source.rows, case.source.schema):
            yield replace(case, source=replace(case.source, rows=changed))
    for name, table in case.tables.items():
        for changed in _simpler_rows(table.rows, table.schema):
            yield replace(case, tables={**case.tables, name: replace(table, rows=changed)})


def _simpler_rows(rows: tuple[Row, ...], schema: Schema) -> Iterator[tuple[Row, ...]]:
    for j, row in enumerate(rows):
        for k, column in enumerate(schema.columns):
            for value in _simpler(row[k], column.type):
                yield (*rows[:j], (*row[:k], value, *row[k + 1 :]), *rows[j + 1 :])


def _simpler_inside(value: Value, data_type: NestedType) -> Iterator[Value]:
    """Yield a nested value with one member simpler; an array and a map also with one member less."""
    if isinstance(data_type, StructType):
        yield from _simpler_members(value, [field.type for field in data_type.fields])
        return
    for i in range(len(value)):
        yield value[:i] + value[i + 1 :]
    if isinstance(data_type, ArrayType):
        yield from _simpler_members(value, [data_type.element] * len(value))
        return
    for i, (key, item) in enumerate(value):
        for simpler in _simpler(item, data_type.value):
            yield (*value[:i], (key, simpler), *value[i + 1 :])


def _simpler_members(members: tuple[Value, ...], types: Sequence[DataType]) -> Iterator[Value]:
    for i, (member, data_type) in enumerate(zip(members, types, strict=True)):
        for simpler in _simpler(member, data_type):
            yield (*members[:i], simpler, *members[i + 1 :])


def _simpler(value: Value, data_type: DataType) -> tuple[Value, ...]:
    if value is None:
        return ()
    if isinstance(data_type, DecimalType):
        zero = Decimal(0).scaleb(-data_type.scale)
        return () if value == zero else (zero,)
    if not isinstance(data_type, AtomicType):
        return (() if value == () else (None,)) + tuple(_simpler_inside(value, data_type))
    simplest = _SIMPLEST.get(data_type.name, ())
    known = [i for i, candidate in enumerate(simplest) if repr(candidate) == repr(value)]
    return simplest[: known[0]] if known else simplest
