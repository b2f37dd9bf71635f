"""Bug model: a field of a source's NULL struct is what lies below the NULL in memory, the zero of its type."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.statements import rewritten
from mergecheck.model.case import Source
from mergecheck.model.errors import RejectedError
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.data_types import ArrayType, DecimalType, Field, MapType, Schema, StructType
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.syntax.statement import Statement

_HIDDEN = "below_null_"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ZEROS = {
    "BOOLEAN": False,
    "FLOAT": 0.0,
    "DOUBLE": 0.0,
    "STRING": "",
    "BINARY": b"",
    "DATE": _EPOCH.date(),
    "TIMESTAMP": _EPOCH,
    "TIMESTAMP_NTZ": _EPOCH.replace(tzinfo=None),
}


class _Place(Enum):
    """Where a field is read."""

    ON = "ON"
    CONDITIONS = "conditions"
    VALUES = "values"


def _hidden_values_in(place: _Place) -> Callable[[Judged], Judged | None]:
    def apply(now: Judged) -> Judged | None:
        statement, source = now.reference.trace.statement, now.reference.trace.source
        if statement is None or source is None:
            return None
        alias = statement.source_alias or statement.source
        fields: dict[tuple[int, ...], str] = {}

        def change(node: exp.Expr) -> exp.Expr:
            if node.arg_key == "using" and isinstance(node.parent, exp.Merge):  # now a table with the rows of the query
                return exp.alias_(exp.to_table("source"), alias, table=True, quoted=True)
            if not is_name(node) or isinstance(node.parent, exp.Dot) or _place_of(node) is not place:
                return node
            path = _source_path(node, statement, source.schema, now.case.target.schema)
            if path is None:
                return node
            # Bug models of several places may meet in one case.
            name = fields.setdefault(path, f"{_HIDDEN}{place.name.lower()}_{len(fields)}")
            return exp.column(name, table=alias, quoted=True)

        sql = rewritten(now.case.sql, change)
        if not fields:
            return None
        columns = tuple(Field(name, _type_at(source.schema, path)) for path, name in fields.items())
        rows = tuple((*row, *(_value_at(row, source.schema, path) for path in fields)) for row in source.rows)
        filled = Source(schema=Schema((*source.schema.columns, *columns)), rows=rows)
        after = now.with_case(replace(now.case, sql=sql, source=filled))
        return None if after is None else _without_hidden(after)

    return apply


def _without_hidden(now: Judged) -> Judged:
    """Remove the columns added for hidden values, if a star with schema evolution has put them in the table."""
    answer, effects = now.reference.answer, now.reference.trace.effects
    if not isinstance(answer, Prediction) or effects is None:
        return now
    kept = sum(not name.startswith(_HIDDEN) for name in answer.schema.names)  # the others come last in source and table
    if kept == len(answer.schema.columns):
        return now
    feed = None if answer.cdf is None else tuple((*row[:kept], row[-1]) for row in answer.cdf)
    plain = replace(
        answer,
        schema=Schema(answer.schema.columns[:kept]),
        rows=tuple(row[:kept] for row in answer.rows),
        cdf=feed,
    )
    cut = replace(
        effects,
        old=tuple(row[:kept] for row in effects.old),
        stored=tuple(row[:kept] for row in effects.stored),
        updated={rid: row[:kept] for rid, row in effects.updated.items()},
        inserted={sid: row[:kept] for sid, row in effects.inserted.items()},
    )
    trace = replace(now.reference.trace, effects=cut)
    return replace(now, reference=replace(now.reference, answer=plain, trace=trace))


def _place_of(node: exp.Expr) -> _Place | None:
    """Return the name's place in the statement; None for the names of tables and of assigned columns."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.Merge):
            return _Place.ON if child.arg_key == "on" else None
        if isinstance(parent, exp.EQ) and isinstance(parent.parent, exp.Update):
            return _Place.VALUES if child.arg_key == "expression" else None
        if isinstance(parent, exp.Insert):
            return _Place.VALUES if child.arg_key == "expression" else None
        if isinstance(parent, exp.When) and child.arg_key == "condition":
            return _Place.CONDITIONS
        child, parent = parent, parent.parent
    return None


def _source_path(node: exp.Expr, statement: Statement, source: Schema, target: Schema) -> tuple[int, ...] | None:
    """Resolve a name to a field of a struct column of the source: positions from the column on."""
    try:
        parts = [part.lower() for part in name_parts(node)]
    except RejectedError:
        return None
    columns = [name.lower() for name in source.names]
    if parts[0] == (statement.source_alias or statement.source).lower():
        parts = parts[1:]
    elif parts[0] in (name.lower() for name in target.names):
        return None
    if len(parts) < 2 or parts[0] not in columns:  # noqa: PLR2004 - a column and a field
        return None
    path = [columns.index(parts[0])]
    data_type = source.columns[path[0]].type
    for part in parts[1:]:
        if not isinstance(data_type, StructType):
            return None
        names = [field.name.lower() for field in data_type.fields]
        if part not in names:
            return None
        path.append(names.index(part))
        data_type = data_type.fields[path[-1]].type
    return tuple(path)


def _type_at(schema: Schema, path: tuple[int, ...]) -> DataType:
    data_type = schema.columns[path[0]].type
    for place in path[1:]:
        assert isinstance(data_type, StructType), "the path was resolved in this schema"  # noqa: S101 - tells mypy
        data_type = data_type.fields[place].type
    return data_type


def _value_at(row: Row, schema: Schema, path: tuple[int, ...]) -> Value:
    value, data_type = row[path[0]], schema.columns[path[0]].type
    for place in path[1:]:
        assert isinstance(data_type, StructType), "the path was resolved in this schema"  # noqa: S101 - tells mypy
        value = _zero(data_type)[place] if value is None else value[place]
        data_type = data_type.fields[place].type
    return value


def _zero(data_type: DataType) -> Value:
    if isinstance(data_type, StructType):
        return tuple(_zero(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType | MapType):
        return ()
    if isinstance(data_type, DecimalType):
        return Decimal((0, (0,), -data_type.scale))
    return _ZEROS.get(data_type.ddl(), 0)


BUG_MODELS = tuple(
    BugModel(
        name=f"fields of NULL structs are zeros in {place.value}",
        phase=Phase.REWRITE,
        apply=_hidden_values_in(place),
    )
    for place in _Place
)
