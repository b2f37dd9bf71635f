"""Functions of arrays that take a lambda with one variable: exists, filter, forall, transform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import UnsupportedByReferenceError
from mergecheck.reference.types.data_types import BOOLEAN, ArrayType
from mergecheck.reference.types.typed import Typed, combine

if TYPE_CHECKING:
    from collections.abc import Callable


def higher_order(
    node: exp.Expr, translate: Callable[[exp.Expr], Typed], bind: Callable[[exp.Lambda, Typed], Typed]
) -> Typed | None:
    """Translate a call of one of the functions; None for any other expression.

    ``exists`` is NULL if no element is TRUE and one is NULL, ``forall`` if none is FALSE and one is NULL: Spark's
    three-valued logic (``spark.sql.legacy.followThreeValuedLogicInArrayExists``).

    Args:
        node: any expression.
        translate: translates the array.
        bind: translates the body of a lambda whose variable is the given value.

    Raises:
        UnsupportedByReferenceError: for a lambda with an index, and for one of ``exists`` and ``forall`` that may
            fail: Spark ends these with the first element that decides.
    """
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
    variable = f"element{sum(isinstance(parent, exp.Lambda) for parent in _ancestors(node))}"
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
