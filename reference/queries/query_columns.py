"""The columns of a SELECT: stars, named expressions, aggregates beside grouping columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import INT, Field, Schema, StructType
from mergecheck.model.types.typed import combine
from mergecheck.reference.expressions.array_functions import sorted_array
from mergecheck.reference.queries.aggregates import aggregate, check_groupable, collected, filtered
from mergecheck.reference.queries.generators import is_generator
from mergecheck.reference.queries.windows import window
from mergecheck.reference.syntax.query_tree import aliased, allow, output_name
from mergecheck.reference.syntax.statement import name_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.expressions.names import Relation, Scope
    from mergecheck.reference.expressions.translation import Translator

UNRESOLVED = "UNRESOLVED_COLUMN"
"""Spark's class for a name that a query lacks; its sub-class depends on whether Spark has a suggestion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A column of a SELECT.

    Attributes:
        origin: the column of FROM that it is, unchanged; None for everything that is computed or has a new name.
        qualifier: the qualifier of the column of FROM; empty for everything else.
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
    """Return the grouping expressions of the query; None if it does not aggregate."""
    group = node.args.get("group")
    if group is None:
        return [] if any(_aggregates(item) for item in node.expressions) else None
    allow(group, "expressions")
    if _is_all(group.expressions, node.expressions, translator):
        items = _all_grouped(node)
    else:
        items = [_grouped_by(item, node.expressions, translator) for item in group.expressions]
    values = [translator.translate(item) for item in items]
    check_groupable(Schema(tuple(Field("", value.type) for value in values)))
    return values


def _grouped_by(item: exp.Expr, listed: Sequence[exp.Expr], translator: Translator) -> exp.Expr:
    """Give an expression of GROUP BY.

    A number means the column of the SELECT at that place, and a name that FROM lacks means the column with that alias.
    """
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isdigit():
        place = int(item.name)
        item = aliased(listed[place - 1]) if 0 < place <= len(listed) else item
    elif isinstance(item, exp.Column) and not item.table:
        try:
            translator.scope.column(name_parts(item))
        except RejectedError as rejected:
            same = [one for one in listed if isinstance(one, exp.Alias) and translator.scope.same(one.alias, item.name)]
            if rejected.error_class != UNRESOLVED or len(same) != 1:
                raise UnsupportedByReferenceError("GROUP BY a name that is not known") from None
            item = same[0].this
    if isinstance(item, exp.Literal) or item.is_star or _aggregates(item) or is_generator(item):
        raise UnsupportedByReferenceError("GROUP BY a literal, a star or an aggregate")
    return item


def _is_all(items: Sequence[exp.Expr], listed: Sequence[exp.Expr], translator: Translator) -> bool:
    """Return whether these are the word ALL, and not a column or an alias of that name."""
    if len(items) != 1 or not isinstance(items[0], exp.Column) or items[0].table or items[0].name.lower() != "all":
        return False
    names = [column.name for relation in translator.scope.relations for column in relation.schema.columns]
    if "all" in [name.lower() for name in (*names, *(item.alias for item in listed if isinstance(item, exp.Alias)))]:
        raise UnsupportedByReferenceError("GROUP BY ALL beside a column of that name")
    return True


def _all_grouped(node: exp.Select) -> list[exp.Expr]:
    """Give what GROUP BY ALL groups by: the columns of the SELECT that do not aggregate."""
    listed = [aliased(item) for item in node.expressions]
    items = [item for item in listed if not _aggregates(item)]
    mixed = [item for item in listed if _aggregates(item) and _outside_aggregates(item)]
    # without a column in it an expression is constant: it neither makes groups nor shows whether there is one
    if mixed or any(item.is_star or item.find(exp.Column) is None or item.find(exp.Window) for item in items):
        raise UnsupportedByReferenceError("GROUP BY ALL with a star, a constant or an aggregate beside a column")
    return items


def _outside_aggregates(item: exp.Expr) -> bool:
    return any(isinstance(part, exp.Column) for part in item.walk(prune=lambda part: isinstance(part, exp.AggFunc)))


def _aggregates(node: exp.Expr) -> bool:
    """Return whether an expression aggregates the rows of its own query."""
    if isinstance(node, exp.Window | exp.Query):
        return False
    return isinstance(node, exp.AggFunc) or any(_aggregates(child) for child in node.iter_expressions())


def in_query(translator: Translator, group: list[Typed] | None) -> Translator:
    """Return a translator that knows windows and, in a query that aggregates, aggregates and grouping expressions."""

    def special(node: exp.Expr) -> Typed | None:
        if isinstance(node, exp.Window):
            if group is not None:
                raise UnsupportedByReferenceError("a window beside an aggregate")
            return window(node, translator.translate)
        if group is None:
            return None
        if isinstance(node, exp.Filter):
            return filtered(node, translator)
        if isinstance(node, exp.AggFunc) or (isinstance(node, exp.IgnoreNulls) and _aggregates(node)):
            return aggregate(node, translator)
        if isinstance(node, exp.ArraySort) and isinstance(node.this, exp.ArrayAgg | exp.ArrayUniqueAgg):
            return sorted_array(node, collected(node.this, translator))
        if isinstance(node, exp.ArraySize) and isinstance(node.this, exp.ArrayAgg | exp.ArrayUniqueAgg):
            found = collected(node.this, translator)
            return combine(f"CAST(len({found.sql}) AS INTEGER)", INT, found)
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
            found += _star(item, translator)
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


def _star(item: exp.Expr, translator: Translator) -> list[Listed]:
    scope = translator.scope
    star = item if isinstance(item, exp.Star) else item.this
    allow(star, "except_", "replace")
    replaced = {new.alias: new.this for new in star.args.get("replace") or ()}
    without = [name.name for name in star.args.get("except_") or () if isinstance(name, exp.Column | exp.Identifier)]
    if len(without) != len(star.args.get("except_") or ()):
        raise UnsupportedByReferenceError("a star without a field")
    relations = scope.relations
    if isinstance(item, exp.Column):
        relations = tuple(r for r in relations if scope.same(r.qualifier, item.table))
    if not relations and isinstance(item, exp.Column) and not without:
        return _fields(name_parts(item)[:-1], translator)
    if not relations:
        raise UnsupportedByReferenceError("a star of something else than a table")
    names = [column.name for relation in relations for column in relation.schema.columns]
    if any(sum(scope.same(name, one) for name in names) != 1 for one in without):
        raise UnsupportedByReferenceError("a star without a column that is not one of its columns")
    if any(names.count(one) != 1 for one in replaced):
        raise UnsupportedByReferenceError("a new value of what is not one column of the rows before")
    return [
        Listed(name=column.name, value=_value(replaced[column.name], translator, None, ()))
        if column.name in replaced
        else Listed(
            name=column.name,
            value=relation.typed(index),
            origin=_place(relation, index, scope),
            qualifier=relation.qualifier_of(index),
        )
        for relation in relations
        for index, column in enumerate(relation.schema.columns)
        if not any(scope.same(column.name, one) for one in without)
    ]


def _fields(parts: tuple[str, ...], translator: Translator) -> list[Listed]:
    """Give the fields of a struct, ``column.*``."""
    value = translator.scope.resolve(parts).typed()
    if not isinstance(value.type, StructType):
        raise UnsupportedByReferenceError("a star of something else than a table or a struct")
    fields = [(f.name, *translator.scope.extract(value.sql, value.type, f.name)) for f in value.type.fields]
    return [Listed(name=name, value=combine(sql, data_type, value)) for name, sql, data_type in fields]
