"""Window functions of source queries: those whose value the order of equal rows does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.casts.cast_sql import unsupported
from mergecheck.reference.errors import UnsupportedByReferenceError
from mergecheck.reference.queries.aggregates import check_groupable
from mergecheck.reference.syntax.query_tree import allow
from mergecheck.reference.types.data_types import INT, ArrayType, Field, Schema, StructType
from mergecheck.reference.types.typed import Typed, combine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_RANKS: dict[type[exp.Expr], str] = {exp.Rank: "rank", exp.DenseRank: "dense_rank"}
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}


def window(node: exp.Window, translate: Callable[[exp.Expr], Typed]) -> Typed:
    """Translate RANK, DENSE_RANK, ROW_NUMBER, LAG or LEAD over a window.

    Rows that are equal in the order make the last three depend on chance: then the value is unsupported.

    Raises:
        UnsupportedByReferenceError: for other functions, frames, and keys that the engines may order differently.
    """
    allow(node, "this", "partition_by", "order", "over")
    order = node.args.get("order")
    if order is None:
        raise UnsupportedByReferenceError("a window without an order")
    allow(order, "expressions")
    partition = [translate(item) for item in node.args.get("partition_by") or ()]
    keys = [translate(item.this) for item in order.expressions]
    _check_keys([*partition, *keys])
    sorted_by = ", ".join(_sorted(item, key) for item, key in zip(order.expressions, keys, strict=True))
    over = f"({_partitioned(partition)} ORDER BY {sorted_by})"
    if type(node.this) in _RANKS:
        return combine(f"CAST({_RANKS[type(node.this)]}() OVER {over} AS INTEGER)", INT, *partition, *keys)
    value = _by_place(node.this, translate)
    ties = f"count(*) OVER ({_partitioned([*partition, *keys])}) > 1"
    chance = unsupported("a window whose order leaves rows equal")
    sql = f"CASE WHEN {ties} THEN {chance} ELSE {value.sql} OVER {over} END"
    if value.type == INT:
        sql = f"CAST({sql} AS INTEGER)"
    return combine(sql, value.type, value, *partition, *keys, partial=True)


def _by_place(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    if isinstance(node, exp.RowNumber):
        return Typed(sql="row_number()", type=INT)
    if type(node) not in _SHIFTS:
        raise UnsupportedByReferenceError(f"window function {node.key.upper()}")
    allow(node, "this", "offset", "default")
    offset = node.args.get("offset")
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.name.isdigit()):
        raise UnsupportedByReferenceError("LAG or LEAD by no literal")
    operands = [translate(node.this)]
    if node.args.get("default") is not None:
        operands.append(translate(node.args["default"]))
    if operands[-1].type != operands[0].type:
        raise UnsupportedByReferenceError("LAG or LEAD with a default of another type")
    rest = "".join(f", {operand.sql}" for operand in operands[1:])
    sql = f"{_SHIFTS[type(node)]}({operands[0].sql}, {1 if offset is None else offset.name}{rest})"
    return combine(sql, operands[0].type, *operands)


def _check_keys(keys: Sequence[Typed]) -> None:
    check_groupable(Schema(tuple(Field("", key.type) for key in keys)))
    if any(isinstance(key.type, ArrayType | StructType) for key in keys):
        raise UnsupportedByReferenceError("a window over nested values")


def _partitioned(keys: Sequence[Typed]) -> str:
    return f"PARTITION BY {', '.join(key.sql for key in keys)}" if keys else ""


def _sorted(item: exp.Expr, key: Typed) -> str:
    allow(item, "this", "desc", "nulls_first")
    direction = "DESC" if item.args.get("desc") else "ASC"
    return f"{key.sql} {direction} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}"
