"""The columns of a SELECT: stars, named expressions, aggregates beside grouping columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.queries.aggregates import aggregate, check_groupable, filtered
from mergecheck.reference.queries.windows import window
from mergecheck.reference.syntax.query_tree import aliased, allow, output_name
from mergecheck.reference.syntax.statement import name_parts
from mergecheck.reference.types.data_types import Field, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.reference.expressions.names import Relation, Scope
    from mergecheck.reference.expressions.translation import Translator
    from mergecheck.reference.types.typed import Typed

UNRESOLVED = "UNRESOLVED_COLUMN"
"""Spark's class for a name that a query does not know; its sub-class says whether Spark has a suggestion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A column of a SELECT.

    Attributes:
        origin: the column of FROM that it is, as it is; None for everything that is computed or has a new name.
        qualifier: that of the column of FROM; empty for everything else.
    """

    name: str
    value: Typed
    origin: tuple[int, int] | None = None
    qualifier: str = ""


def origins(listed: Sequence[Listed]) -> tuple[int, ...]:
    """Number the columns of a SELECT, the same number for one that is listed again (R-118)."""
    first: dict[tuple[int, int], int] = {}
    return tuple(
        number if item.origin is None else first.setdefault(item.origin, number) for number, item in enumerate(listed)
    )


def grouping(node: exp.Select, translator: Translator) -> list[Typed] | None:
    """Give what the query groups by; None if it does not aggregate."""
    group = node.args.get("group")
    if group is None:
        return [] if any(_aggregates(item) for item in node.expressions) else None
    allow(group, "expressions")
    items = [_grouped_by(item, node.expressions) for item in group.expressions]
    try:
        values = [translator.translate(item) for item in items]
    except RejectedError:
        raise UnsupportedByReferenceError("GROUP BY an alias") from None
    check_groupable(Schema(tuple(Field("", value.type) for value in values)))
    return values


def _grouped_by(item: exp.Expr, listed: Sequence[exp.Expr]) -> exp.Expr:
    """Give an expression of GROUP BY; a number means the column of the SELECT at that place."""
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
        place = int(item.name)
        item = aliased(listed[place - 1]) if 0 < place <= len(listed) else item
    if isinstance(item, exp.Literal) or item.is_star or _aggregates(item):
        raise UnsupportedByReferenceError("GROUP BY a literal, a star or an aggregate")
    return item


def _aggregates(node: exp.Expr) -> bool:
    """Tell whether an expression aggregates the rows of its own query."""
    if isinstance(node, exp.Window | exp.Query):
        return False
    return isinstance(node, exp.AggFunc) or any(_aggregates(child) for child in node.iter_expressions())


def in_query(translator: Translator, group: list[Typed] | None) -> Translator:
    """Give a translator that knows windows and, in a query that aggregates, aggregates and what it groups by."""

    def special(node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.Window):
            if group is not None:
                raise UnsupportedByReferenceError("a window beside an aggregate")
            return window(node, translator.translate)
        if group is None:
            return None
        if isinstance(node, exp.Filter):
            return filtered(node, translator)
        if isinstance(node, exp.AggFunc):
            return aggregate(node, translator)
        if _aggregates(node) or node.find(exp.Column) is None:
            return None
        value = translator.translate(node)
        if any(value.sql == one.sql for one in group):
            return value
        if isinstance(node, exp.Column):
            raise UnsupportedByReferenceError("a column beside an aggregate")
        return None

    return replace(translator, special=special)


def columns(
    items: Sequence[exp.Expr],
    translator: Translator,
    group: list[Typed] | None,
    *,
    named: bool,
) -> list[Listed]:
    """Translate the columns of a SELECT with their names; ``group`` is None if it does not aggregate."""
    found: list[Listed] = []
    for number, item in enumerate(items):
        if item.is_star and isinstance(item, exp.Star | exp.Column):
            if group is not None:
                raise UnsupportedByReferenceError("a star beside an aggregate")
            found += _star(item, translator.scope)
            continue
        name = output_name(item) if named else f"col{number}"
        value = _value(aliased(item), translator, group, [seen.name for seen in found])
        origin, qualifier = _origin(item, translator.scope)
        found.append(Listed(name=name, value=value, origin=origin, qualifier=qualifier))
    return found


def _value(node: exp.Expr, translator: Translator, group: list[Typed] | None, before: Sequence[str]) -> Typed:
    try:
        return in_query(translator, group).translate(node)
    except RejectedError as rejected:
        used = [column.parts[0].name for column in node.find_all(exp.Column)]
        if rejected.error_class == UNRESOLVED and any(translator.scope.same(u, b) for u in used for b in before):
            raise UnsupportedByReferenceError("a column alias used beside it") from None
        raise


def _origin(item: exp.Expr, scope: Scope) -> tuple[tuple[int, int] | None, str]:
    """Give the column of FROM that a column of the result is, and its qualifier."""
    if not isinstance(item, exp.Column | exp.Dot):
        return None, ""
    relation, index, fields = scope.column(name_parts(item))
    return (None, "") if fields else (_place(relation, index, scope), relation.qualifier_of(index))


def _place(relation: Relation, index: int, scope: Scope) -> tuple[int, int]:
    return next(i for i, one in enumerate(scope.relations) if one is relation), relation.origin(index)


def _star(item: exp.Expr, scope: Scope) -> list[Listed]:
    star = item if isinstance(item, exp.Star) else item.this
    allow(star, "except_")
    without = [name.name for name in star.args.get("except_") or () if isinstance(name, exp.Column | exp.Identifier)]
    if len(without) != len(star.args.get("except_") or ()):
        raise UnsupportedByReferenceError("a star without a field")
    relations = scope.relations
    if isinstance(item, exp.Column):
        relations = tuple(r for r in relations if scope.same(r.qualifier, item.table))
    if not relations:
        raise UnsupportedByReferenceError("a star of something else than a table")
    names = [column.name for relation in relations for column in relation.schema.columns]
    if any(sum(scope.same(name, one) for name in names) != 1 for one in without):
        raise UnsupportedByReferenceError("a star without a column that is not one of its columns")
    return [
        Listed(
            name=column.name,
            value=relation.typed(index),
            origin=_place(relation, index, scope),
            qualifier=relation.qualifier_of(index),
        )
        for relation in relations
        for index, column in enumerate(relation.schema.columns)
        if not any(scope.same(column.name, one) for one in without)
    ]
