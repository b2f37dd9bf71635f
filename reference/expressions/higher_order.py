"""Functions with a lambda: exists, filter, forall, transform and aggregate of arrays, and the functions of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BOOLEAN, ArrayType, MapType
from mergecheck.model.types.typed import Typed, combine, duckdb_type

if TYPE_CHECKING:
    from collections.abc import Callable


def higher_order(node: exp.Expr, translate: Callable[[exp.Expr], Typed], bind: Callable[..., Typed]) -> Typed | None:
    """Translate a call of a function with a lambda; None for any other expression.

    ``exists`` is NULL if no element is TRUE and one is NULL, ``forall`` if none is FALSE and one is NULL: Spark's
    three-valued logic (``spark.sql.legacy.followThreeValuedLogicInArrayExists``).

    Args:
        node: any expression.
        translate: translates the array.
        bind: translates the body of a lambda whose variables are the given values.

    Raises:
        UnsupportedByReferenceError: for a lambda with an index, and for an ``exists`` or ``forall`` that may
            fail: Spark ends these with the first element that decides.
    """
    if isinstance(node, exp.Reduce):
        return _aggregated(node, translate, bind)
    if isinstance(node, exp.Anonymous) and node.name.lower() in ("map_filter", "transform_values"):
        return _of_entries(node, translate, bind)
    found = _call(node)
    if found is None:
        return None
    name, array_node, function = found
    if not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        raise UnsupportedByReferenceError(f"{name} without a lambda of one variable")
    array = translate(array_node)
    if not isinstance(array.type, ArrayType):
        raise UnsupportedByReferenceError(f"{name} of something that is no array")
    # a name for each depth: DuckDB's lambdas see the variables around them
    variable = f"element{_depth(node)}"
    body = bind(function, Typed(sql=variable, type=array.type.element))
    if name != "transform" and body.type != BOOLEAN:
        raise UnsupportedByReferenceError(f"{name} with a lambda that is no condition")
    if body.asked or (body.partial and name in ("exists", "forall")):
        raise UnsupportedByReferenceError(f"{name} with a lambda that may fail")
    if name == "transform":
        sql = f"list_transform({array.sql}, lambda {variable}: {body.sql})"
        return combine(sql, ArrayType(body.type), array, body)
    kept = f"list_filter({array.sql}, lambda {variable}: {{}})".format
    if name == "filter":
        return combine(kept(f"COALESCE({body.sql}, FALSE)"), array.type, array, body)
    decides = "TRUE" if name == "exists" else "FALSE"
    sql = (
        f"CASE WHEN ({array.sql}) IS NULL THEN NULL "
        f"WHEN len({kept(f'({body.sql}) IS NOT DISTINCT FROM {decides}')}) > 0 THEN {decides} "
        f"WHEN len({kept(f'({body.sql}) IS NULL')}) > 0 THEN NULL ELSE NOT {decides} END"
    )
    return combine(sql, BOOLEAN, array, body)


def _depth(node: exp.Expr) -> int:
    """Count the lambdas around a call: DuckDB's lambdas see the variables of those."""
    return sum(isinstance(parent, exp.Lambda) for parent in _ancestors(node))


def _is_lambda(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Lambda) and len(node.expressions) == 2  # noqa: PLR2004 - its variables


def _aggregated(node: exp.Expr, translate: Callable[[exp.Expr], Typed], bind: Callable[..., Typed]) -> Typed:
    """Translate ``aggregate``, whose merged value must have the type of the first one."""
    merge = node.args["merge"]
    array, first = translate(node.this), translate(node.args["initial"])
    if not isinstance(array.type, ArrayType) or not _is_lambda(merge) or node.args.get("finish") is not None:
        raise UnsupportedByReferenceError("aggregate of this kind")
    names = [f"{name}{_depth(node)}" for name in ("merged", "element")]
    types = (first.type, array.type.element)
    body = bind(merge, *(Typed(sql=name, type=each) for name, each in zip(names, types, strict=True)))
    if body.type != first.type or body.asked:
        raise UnsupportedByReferenceError("aggregate to another type than it begins with")
    sql = f"list_reduce({array.sql}, lambda {', '.join(names)}: {body.sql}, {first.sql})"
    return combine(f"CASE WHEN ({array.sql}) IS NULL THEN NULL ELSE {sql} END", first.type, array, first, body)


def _of_entries(node: exp.Expr, translate: Callable[[exp.Expr], Typed], bind: Callable[..., Typed]) -> Typed:
    """Translate ``map_filter`` and ``transform_values``."""
    function = node.expressions[1] if len(node.expressions) == 2 else None  # noqa: PLR2004 - its operands
    if not _is_lambda(function):
        raise UnsupportedByReferenceError(f"{node.name.lower()} without a lambda of two variables")
    entries = translate(node.expressions[0])
    if not isinstance(entries.type, MapType):
        raise UnsupportedByReferenceError(f"{node.name.lower()} of something that is no map")
    name, (key, value) = f"entry{_depth(node)}", (entries.type.key, entries.type.value)
    body = bind(function, Typed(sql=f"({name}).key", type=key), Typed(sql=f"({name}).value", type=value))
    if body.asked or (node.name.lower() == "map_filter" and body.type != BOOLEAN):
        raise UnsupportedByReferenceError(f"{node.name.lower()} with a lambda of this kind")
    listed, wanted = f"map_entries({entries.sql})", entries.type
    if node.name.lower() == "map_filter":
        kept = f"list_filter({listed}, lambda {name}: COALESCE({body.sql}, FALSE))"
    else:
        kept = f"list_transform({listed}, lambda {name}: struct_pack(key := ({name}).key, value := {body.sql}))"
        wanted = MapType(key, body.type)
    sql = (
        f"CASE WHEN ({entries.sql}) IS NULL THEN NULL ELSE CAST(map_from_entries({kept}) AS {duckdb_type(wanted)}) END"
    )
    return combine(sql, wanted, entries, body)


def _call(node: exp.Expr) -> tuple[str, exp.Expr, exp.Expr] | None:
    if isinstance(node, exp.Exists) and isinstance(node.expression, exp.Lambda):
        return "exists", node.this, node.expression
    if isinstance(node, exp.ArrayFilter):
        return "filter", node.this, node.expression
    if isinstance(node, exp.Transform):
        return "transform", node.this, node.expression
    if isinstance(node, exp.Anonymous) and node.name.lower() == "forall" and len(node.expressions) == 2:  # noqa: PLR2004 - its operands
        return "forall", node.expressions[0], node.expressions[1]
    return None


def _ancestors(node: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found
