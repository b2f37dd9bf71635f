"""Which rows of a SELECT stay: QUALIFY, and ORDER BY with LIMIT and OFFSET, as far as chance does not decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import ArrayType, Field, Schema, StructType
from mergecheck.reference.casts.cast_sql import unsupported
from mergecheck.reference.queries.aggregates import check_groupable
from mergecheck.reference.queries.query_columns import UNRESOLVED, Listed, in_query
from mergecheck.reference.queries.windows import sorted_by
from mergecheck.reference.syntax.query_tree import allow
from mergecheck.reference.syntax.statement import name_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.expressions.translation import Translator


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """An expression of ORDER BY with its node, which has the direction."""

    node: exp.Expr
    value: Typed


def qualifying(
    node: exp.Select, condition: exp.Expr, translator: Translator, group: list[Typed] | None, listed: Sequence[Listed]
) -> Typed:
    """Translate QUALIFY, which sees the columns of FROM, then the columns of the SELECT.

    Raises:
        UnsupportedByReferenceError: beside aggregates, without a window, and for a condition that may fail.
    """
    windows = [part for item in (condition, *node.expressions) for part in item.find_all(exp.Window)]
    if group is not None or not windows:
        raise UnsupportedByReferenceError("QUALIFY without a window, or beside an aggregate")
    return _of_list(in_query(translator, group), listed, is_list_first=False).condition(condition)


def having_of(node: exp.Select, condition: exp.Expr, translator: Translator) -> exp.Expr:
    """Write the condition of HAVING over the columns of FROM: it also sees the aliases of the SELECT.

    Raises:
        UnsupportedByReferenceError: for a name that is a column of FROM and another column's alias, or an alias inside
            of an aggregate.
    """
    scope = translator.scope
    aliases = [item for item in node.expressions if isinstance(item, exp.Alias)]

    def over_from(name: exp.Expr) -> exp.Expr:
        if not isinstance(name, exp.Column) or name.table or name.find_ancestor(exp.Query) is not None:
            return name
        own = [item.this for item in aliases if scope.same(item.alias, name.name)]
        if not own or all(value == name for value in own):
            return name
        if len(own) > 1 or _is_known(translator, name):
            raise UnsupportedByReferenceError("a name of several columns of a query")
        if name.find_ancestor(exp.AggFunc, exp.Window) is not None or own[0].find(exp.Window) is not None:
            raise UnsupportedByReferenceError("an alias of the SELECT beside an aggregate or a window of HAVING")
        return exp.Paren(this=own[0].copy())

    return condition.transform(over_from)


def sort_keys(node: exp.Select, translator: Translator, listed: Sequence[Listed]) -> list[SortKey]:
    """Translate ORDER BY, which sees the columns of the SELECT, then the columns of FROM.

    An order without a LIMIT decides nothing: its keys are translated to be sure that they exist.

    Raises:
        UnsupportedByReferenceError: for keys that the engines may order differently.
    """
    order = node.args.get("order")
    if order is None:
        return []
    allow(order, "expressions")
    sees_both = _of_list(translator, listed, is_list_first=True)
    keys = [SortKey(node=item, value=_key(item.this, sees_both, listed)) for item in order.expressions]
    check_groupable(Schema(tuple(Field("", key.value.type) for key in keys)))
    if any(isinstance(key.value.type, ArrayType | StructType) for key in keys):
        raise UnsupportedByReferenceError("ORDER BY nested values")
    if node.args.get("distinct") is not None and any(all(k.value is not o.value for o in listed) for k in keys):
        raise UnsupportedByReferenceError("ORDER BY beside DISTINCT")
    return keys


def cut(node: exp.Select, sql: str, keys: Sequence[SortKey], width: int) -> str:
    """Keep the rows between OFFSET and LIMIT; rows that are equal in the order must be on one side of either.

    Args:
        node: the query.
        sql: its rows in DuckDB SQL: ``width`` columns and the keys behind them.
        keys: of ORDER BY.
        width: the number of columns of the result.

    Raises:
        UnsupportedByReferenceError: for bounds that are no literals.
    """
    skipped, wanted = (_bound(node.args.get(name)) for name in ("offset", "limit"))
    first = 0 if skipped is None else skipped
    names = [f"c{width + i}" for i in range(len(keys))]
    ordered = ", ".join(sorted_by(key.node, name) for key, name in zip(keys, names, strict=True))
    alike = f"PARTITION BY {', '.join(names)}" if names else ""
    before = f"rank() OVER ({f'ORDER BY {ordered}' if ordered else ''}) - 1"
    until = f"{before} + count(*) OVER ({alike})"
    outside = f"until_ <= {first}" + ("" if wanted is None else f" OR before_ >= {first + wanted}")
    inside = f"before_ >= {first}" + ("" if wanted is None else f" AND until_ <= {first + wanted}")
    chance = unsupported("a LIMIT between rows that are equal in the order")
    columns = ", ".join(f"c{i}" for i in range(width))
    return (
        f"SELECT {columns} FROM (SELECT *, {before} AS before_, {until} AS until_ FROM ({sql})) "
        f"WHERE CASE WHEN {outside} THEN FALSE WHEN {inside} THEN TRUE ELSE {chance} END"
    )


def _bound(node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    allow(node, "expression")
    number = node.expression
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
        raise UnsupportedByReferenceError("LIMIT or OFFSET by no literal")
    return int(number.name)


def _key(node: exp.Expr, translator: Translator, listed: Sequence[Listed]) -> Typed:
    if isinstance(node, exp.Literal):  # a place in the SELECT
        if node.is_string or not node.name.isdigit() or not 0 < int(node.name) <= len(listed):
            raise UnsupportedByReferenceError("ORDER BY a literal")
        return listed[int(node.name) - 1].value
    return translator.translate(node)


def _of_list(translator: Translator, listed: Sequence[Listed], *, is_list_first: bool) -> Translator:
    """Give a translator that also sees the columns of the SELECT."""
    scope = translator.scope

    def special(node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.Column) and not node.table:
            own = [item for item in listed if scope.same(item.name, node.name)]
            known = _is_known(translator, node)
            if len(own) > 1 or (own and known and not is_list_first and own[0].origin is None):
                raise UnsupportedByReferenceError("a name of several columns of a query")
            if own and (is_list_first or not known):
                return own[0].value
        return None if translator.special is None else translator.special(node)

    return replace(translator, special=special)


def _is_known(translator: Translator, node: exp.Column) -> bool:
    if translator.scope.literal_function(name_parts(node)) is not None:  # it comes before the columns of the SELECT
        return True
    try:
        translator.scope.column(name_parts(node))
    except RejectedError as rejected:
        if rejected.error_class != UNRESOLVED:
            raise
        return False
    return True
