"""The columns of a SELECT: stars, named expressions, aggregates beside grouping columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.queries.aggregates import aggregate, check_groupable
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
    """

    name: str
    value: Typed
    origin: tuple[int, int] | None = None


def origins(listed: Sequence[Listed]) -> tuple[int, ...]:
    """Number the columns of a SELECT, the same number for one that is listed again (R-118)."""
    first: dict[tuple[int, int], int] = {}
    return tuple(
        number if item.origin is None else first.setdefault(item.origin, number) for number, item in enumerate(listed)
    )


def grouping(node: exp.Select, translator: Translator) -> list[Typed] | None:
    """Give the grouping columns; None if the query does not aggregate."""
    group = node.args.get("group")
    if group is None:
        aggregates = any(item.find(exp.AggFunc) is not None for item in node.expressions)
        return [] if aggregates else None
    allow(group, "expressions")
    if not all(isinstance(item, exp.Column) for item in group.expressions):
        raise UnsupportedByReferenceError("GROUP BY something else than columns")
    try:
        values = [translator.translate(item) for item in group.expressions]
    except RejectedError:
        raise UnsupportedByReferenceError("GROUP BY an alias") from None
    check_groupable(Schema(tuple(Field("", value.type) for value in values)))
    return values


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
        found.append(Listed(name=name, value=value, origin=_origin(item, translator.scope)))
    return found


def _value(node: exp.Expr, translator: Translator, group: list[Typed] | None, before: Sequence[str]) -> Typed:
    try:
        if group is not None and isinstance(node, exp.AggFunc):
            return aggregate(node, translator)
        value = translator.translate(node)
    except RejectedError as rejected:
        used = [column.parts[0].name for column in node.find_all(exp.Column)]
        if rejected.error_class == UNRESOLVED and any(translator.scope.same(u, b) for u in used for b in before):
            raise UnsupportedByReferenceError("a column alias used beside it") from None
        raise
    if group is not None and not any(value.sql == one.sql for one in group) and node.find(exp.Column):
        raise UnsupportedByReferenceError("a column beside an aggregate")
    return value


def _origin(item: exp.Expr, scope: Scope) -> tuple[int, int] | None:
    if not isinstance(item, exp.Column | exp.Dot):
        return None
    relation, index, fields = scope.column(name_parts(item))
    return None if fields else _place(relation, index, scope)


def _place(relation: Relation, index: int, scope: Scope) -> tuple[int, int]:
    return next(i for i, one in enumerate(scope.relations) if one is relation), relation.origin(index)


def _star(item: exp.Expr, scope: Scope) -> list[Listed]:
    star = item if isinstance(item, exp.Star) else item.this
    allow(star)
    relations = scope.relations
    if isinstance(item, exp.Column):
        relations = tuple(r for r in relations if scope.same(r.qualifier, item.table))
    if not relations:
        raise UnsupportedByReferenceError("a star of something else than a table")
    return [
        Listed(name=column.name, value=relation.typed(index), origin=_place(relation, index, scope))
        for relation in relations
        for index, column in enumerate(relation.schema.columns)
    ]
