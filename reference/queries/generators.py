"""Generators, which give a row for each element of an array or entry of a map: explode, posexplode, inline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import INT, ArrayType, DataType, Field, MapType, Schema, StructType
from mergecheck.model.types.typed import TableSide, identifier
from mergecheck.reference.expressions.names import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.reference.expressions.translation import Translator

_GENERATORS = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline)
_OUTER = (exp.ExplodeOuter, exp.PosexplodeOuter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The rows of a generator: DuckDB SQL of a lateral join behind FROM, and its columns."""

    sql: str
    relation: Relation


def is_generator(node: exp.Expr) -> bool:
    """Return whether an expression is a call of a generator."""
    return isinstance(node.this if isinstance(node, exp.Aliases) else node, _GENERATORS)


def generated(
    node: exp.Expr, translator: Translator, name: str, names: Sequence[str], view: exp.Lateral | None = None
) -> Generated:
    """Translate a generator.

    Args:
        node: the call.
        translator: knows the columns of FROM.
        name: the relation in DuckDB.
        names: of its columns, as the query gives them; none for Spark's own.
        view: the LATERAL VIEW that it stands in; None in a SELECT.

    Raises:
        UnsupportedByReferenceError: for other generators, and for positions in a map.
    """
    node = node.this if isinstance(node, exp.Aliases) else node
    if not isinstance(node, _GENERATORS) or node.expressions:
        raise UnsupportedByReferenceError("a generator of this kind")
    collection = translator.translate(node.this)
    columns, size = _columns(node, collection.sql, collection.type)
    if names and len(names) != len(columns):
        raise UnsupportedByReferenceError("names of another number than a generator's columns")
    given = names or [own for own, _, _ in columns]
    schema = Schema(tuple(Field(new, data_type) for new, (_, _, data_type) in zip(given, columns, strict=True)))
    listed = ", ".join(f"{sql} AS c{i}" for i, (_, sql, _) in enumerate(columns))
    rows = f"SELECT {listed} FROM (SELECT unnest(range(1, CAST(COALESCE({size}, 0) AS BIGINT) + 1)) AS place) AS places"
    # an outer generator gives one row without values for an array that is empty or NULL
    is_outer = isinstance(node, _OUTER) or (view is not None and bool(view.args.get("outer")))
    join = f" LEFT JOIN LATERAL ({rows}) AS {name} ON TRUE" if is_outer else f" CROSS JOIN LATERAL ({rows}) AS {name}"
    relation = Relation(
        side=TableSide.SOURCE,
        qualifier="" if view is None else view.alias,
        schema=schema,
        values=tuple(f"{name}.c{i}" for i in range(len(columns))),
        has_metadata=None,
    )
    return Generated(sql=join, relation=relation)


def _columns(node: exp.Expr, sql: str, data_type: DataType) -> tuple[list[tuple[str, str, DataType]], str]:
    """Give Spark's name, DuckDB SQL and type of each column, and the number of rows."""
    position = ("pos", "CAST(place - 1 AS INTEGER)", INT)
    is_placed = isinstance(node, exp.Posexplode | exp.PosexplodeOuter)
    if isinstance(node, exp.Inline):
        if not isinstance(data_type, ArrayType) or not isinstance(data_type.element, StructType):
            raise UnsupportedByReferenceError("inline of anything but structs")
        fields = data_type.element.fields
        return [(f.name, f"(({sql})[place]).{identifier(f.name)}", f.type) for f in fields], f"len({sql})"
    if isinstance(data_type, ArrayType):
        element = ("col", f"({sql})[place]", data_type.element)
        return [position, element] if is_placed else [element], f"len({sql})"
    if isinstance(data_type, MapType) and not is_placed:
        key = ("key", f"(map_keys({sql}))[place]", data_type.key)
        value = ("value", f"(map_values({sql}))[place]", data_type.value)
        return [key, value], f"cardinality({sql})"
    raise UnsupportedByReferenceError("a generator of this operand")
