"""Window functions of source queries: those whose value the order of equal rows does not decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import DOUBLE, INT, ArrayType, Field, Schema, StructType
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.cast_sql import unsupported
from mergecheck.reference.queries.aggregates import ORDERLESS, check_groupable, windowed
from mergecheck.reference.syntax.query_tree import allow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.model.types.data_types import DataType

_RANKS: dict[type[exp.Expr], tuple[str, str, DataType]] = {
    exp.Rank: ("rank", "INTEGER", INT),
    exp.DenseRank: ("dense_rank", "INTEGER", INT),
    exp.PercentRank: ("percent_rank", "DOUBLE", DOUBLE),
    exp.CumeDist: ("cume_dist", "DOUBLE", DOUBLE),
}
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_ENDS: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.First: "first_value",
    exp.LastValue: "last_value",
    exp.Last: "last_value",
}


def with_named_windows(node: exp.Select) -> exp.Select:
    """Write the windows that WINDOW names out in their places.

    Raises:
        UnsupportedByReferenceError: for a name that no window has, and for a window that is named after another.
    """
    named = node.args.get("windows") or []
    node = node.copy()
    node.set("windows", None)
    for used in _windows_of(node):
        name = used.args.get("alias")
        if name is None:
            continue
        found = [one for one in named if one.name == name.name]
        if len(found) != 1 or found[0].args.get("alias") is not None or used.args.get("partition_by"):
            raise UnsupportedByReferenceError("a window whose name is not known")
        used.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            given = found[0].args.get(part)
            copied = [item.copy() for item in given] if isinstance(given, list) else given and given.copy()
            used.set(part, copied)
    return node


def _windows_of(node: exp.Select) -> list[exp.Expr]:
    parts = [item for name in ("expressions", "qualify", "order") for item in _as_list(node.args.get(name))]
    inside = (one for part in parts for one in part.walk(prune=lambda one: isinstance(one, exp.Query)))
    return [one for one in inside if isinstance(one, exp.Window)]


def _as_list(given: object) -> list[exp.Expr]:
    items = given if isinstance(given, list) else [given]
    return [item for item in items if isinstance(item, exp.Expr)]


def window(node: exp.Window, translate: Callable[[exp.Expr], Typed]) -> Typed:
    """Translate a window function.

    Where rows that are equal in the order make the value depend on chance, the value is unsupported: in ROW_NUMBER,
    NTILE, LAG, LEAD, FIRST_VALUE and LAST_VALUE, and in an aggregate over a number of ROWS.

    Raises:
        UnsupportedByReferenceError: for other functions and frames, and keys that the engines may order differently.
    """
    allow(node, "this", "partition_by", "order", "over", "spec")
    order = node.args.get("order")
    if order is not None:
        allow(order, "expressions")
    items = [] if order is None else order.expressions
    partition = [translate(item) for item in node.args.get("partition_by") or ()]
    keys = [translate(item.this) for item in items]
    _check_keys([*partition, *keys])
    frame, is_by_rows = _frame(node.args.get("spec"))
    ordered = ", ".join(sorted_by(item, key.sql) for item, key in zip(items, keys, strict=True))
    over = f"({_partitioned(partition)}{f' ORDER BY {ordered}' if ordered else ''}{frame})"
    called, ignores_nulls = node.this, False
    if isinstance(called, exp.IgnoreNulls | exp.RespectNulls):
        called, ignores_nulls = called.this, isinstance(called, exp.IgnoreNulls)
    if isinstance(called, ORDERLESS) and called is node.this:
        value = windowed(called, translate, over)
        is_chance = is_by_rows
    elif order is None:
        raise UnsupportedByReferenceError("a window without an order")
    elif type(called) in _RANKS and called is node.this and not frame:
        word, cast, data_type = _RANKS[type(called)]
        return combine(f"CAST({word}() OVER {over} AS {cast})", data_type, *partition, *keys)
    else:
        value = _by_place(called, translate, over, has_frame=bool(frame), ignores_nulls=ignores_nulls)
        is_chance = True
    if not is_chance:
        return combine(value.sql, value.type, value, *partition, *keys)
    ties = f"count(*) OVER ({_partitioned([*partition, *keys])}) > 1"
    chance = unsupported("a window whose order leaves rows equal")
    sql = f"CASE WHEN {ties} THEN {chance} ELSE {value.sql} END"
    if value.type == INT:
        sql = f"CAST({sql} AS INTEGER)"
    return combine(sql, value.type, value, *partition, *keys, partial=True)


def _frame(spec: exp.Expr | None) -> tuple[str, bool]:
    """Give a frame in DuckDB SQL, and whether it counts rows between others, so that equal rows matter."""
    if spec is None:
        return "", False
    allow(spec, "kind", "start", "start_side", "end", "end_side")
    kind = spec.args["kind"].upper()
    bounds = [_bound(spec, name, kind) for name in ("start", "end")]
    first, last = bounds[0], bounds[1] or "CURRENT ROW"
    is_whole = (first, last) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")
    return f" {kind} BETWEEN {first} AND {last}", kind == "ROWS" and not is_whole


def _bound(spec: exp.Expr, name: str, kind: str) -> str:
    given, side = spec.args.get(name), spec.args.get(f"{name}_side")
    if given is None or isinstance(given, str):
        return " ".join(filter(None, (given, side)))
    if kind != "ROWS" or not isinstance(given, exp.Literal) or not given.name.isdigit():
        raise UnsupportedByReferenceError("a frame of a window in a source query")
    return f"{given.name} {side}"


def _by_place(
    node: exp.Expr, translate: Callable[[exp.Expr], Typed], over: str, *, has_frame: bool, ignores_nulls: bool
) -> Typed:
    nulls = " IGNORE NULLS" if ignores_nulls else ""
    if type(node) in _ENDS:
        allow(node, "this")
        operand = translate(node.this)
        return combine(f"{_ENDS[type(node)]}({operand.sql}{nulls}) OVER {over}", operand.type, operand)
    if has_frame:
        raise UnsupportedByReferenceError("a frame of a window in a source query")
    if isinstance(node, exp.RowNumber) and not nulls:
        return Typed(sql=f"row_number() OVER {over}", type=INT)
    if isinstance(node, exp.Ntile) and not nulls:
        if not isinstance(node.this, exp.Literal) or not node.this.name.isdigit() or int(node.this.name) < 1:
            raise UnsupportedByReferenceError("NTILE of no literal")
        return Typed(sql=f"ntile({node.this.name}) OVER {over}", type=INT)
    if type(node) not in _SHIFTS:
        raise UnsupportedByReferenceError(f"window function {node.key.upper()}")
    allow(node, "this", "offset", "default")
    offset = node.args.get("offset")
    if nulls or (offset is not None and not (isinstance(offset, exp.Literal) and offset.name.isdigit())):
        raise UnsupportedByReferenceError("LAG or LEAD by no literal, or without NULLs")
    operands = [translate(node.this)]
    if node.args.get("default") is not None:
        operands.append(translate(node.args["default"]))
    if operands[-1].type != operands[0].type:
        raise UnsupportedByReferenceError("LAG or LEAD with a default of another type")
    rest = "".join(f", {operand.sql}" for operand in operands[1:])
    sql = f"{_SHIFTS[type(node)]}({operands[0].sql}, {1 if offset is None else offset.name}{rest}) OVER {over}"
    return combine(sql, operands[0].type, *operands)


def _check_keys(keys: Sequence[Typed]) -> None:
    check_groupable(Schema(tuple(Field("", key.type) for key in keys)))
    if any(isinstance(key.type, ArrayType | StructType) for key in keys):
        raise UnsupportedByReferenceError("a window over nested values")


def _partitioned(keys: Sequence[Typed]) -> str:
    return f"PARTITION BY {', '.join(key.sql for key in keys)}" if keys else ""


def sorted_by(item: exp.Expr, sql: str) -> str:
    """Write a key of ORDER BY with its direction and the place of NULLs."""
    allow(item, "this", "desc", "nulls_first")
    direction = "DESC" if item.args.get("desc") else "ASC"
    return f"{sql} {direction} NULLS {'FIRST' if item.args.get('nulls_first') else 'LAST'}"
