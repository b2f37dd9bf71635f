"""Candidates for a statement whose expressions read as a person would write them.

ON becomes an equality of two columns, or a constant. A clause's condition becomes a comparison of one column, or a
constant. An assigned value becomes a literal or a column. Expressions that are already this plain stay, so that the
passes end. Every candidate has fewer tokens than the expression that it replaces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.findings.shrink.passes.places import Place, PlaceKind, places_of
from mergecheck.harness.properties.merge_text import num_tokens
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BOOLEAN,
    DATE,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    AtomicName,
    AtomicType,
    DecimalType,
    quote,
    type_at,
)
from mergecheck.reference.syntax.statement import parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType, Schema

_DIALECT = "databricks"
_MOST_PARTS = 10
_FLOATS = (AtomicName.FLOAT, AtomicName.DOUBLE)
_TRUTHS = (exp.Predicate, exp.Connector, exp.Not, exp.Paren, exp.Column, exp.Boolean)
_LEAVES = (exp.Column, exp.Literal, exp.Boolean, exp.Null)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.Is)
# Parts of a tree that are no expressions of their own.
_NO_VALUES = (exp.DataType, exp.Identifier, exp.Var, exp.Interval, exp.If)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """A table: the name that qualifies its columns, and the columns."""

    qualifier: str
    schema: Schema


def simpler_expressions(case: Case, number: int) -> Iterator[Case]:
    """Yield cases with a simpler expression at one place of the statement.

    Args:
        case: the case; one whose statement the reference cannot read has no candidates.
        number: the place, counted from 0 in the order of the text; behind the last place there are no candidates.
    """
    places = places_of(case.sql)
    sides = _sides(case)
    if sides is None or number >= len(places):
        return
    place = places[number]
    limit = num_tokens(place.text)
    for text in dict.fromkeys(_candidates(place, *sides)):
        if num_tokens(text) < limit:
            yield replace(case, sql=place.with_text(text).sql())


def num_places(case: Case) -> int:
    """Count the expressions of a statement."""
    return len(places_of(case.sql))


def _sides(case: Case) -> tuple[_Side, _Side] | None:
    try:
        statement = parse_statement(case.sql)
    except (RejectedError, UnsupportedByReferenceError):
        return None
    source = source_table(case) or case.source or case.target
    return (
        _Side(qualifier=statement.target_alias or statement.target, schema=case.target.schema),
        _Side(qualifier=statement.source_alias or statement.source, schema=source.schema),
    )


def _candidates(place: Place, target: _Side, source: _Side) -> Iterator[str]:
    tree = _parsed(place.text)
    if tree is None or _is_plain(tree, place.kind):
        return
    if place.kind is PlaceKind.ON:
        yield from _equalities(tree, target, source)
    if place.kind is PlaceKind.VALUE:
        yield from _plain_values(place, target, source)
    elif place.kind is PlaceKind.ON:
        yield from ("TRUE", "FALSE", *_plain_conditions(tree, target, source))
    else:
        yield from (*_plain_conditions(tree, target, source), "TRUE", "FALSE")
    yield from _parts(tree, is_condition=place.kind is not PlaceKind.VALUE)
    if place.kind is PlaceKind.VALUE:
        yield "NULL"
    yield from _with_simpler_parts(tree)


def _parsed(text: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, read=_DIALECT)
    except (SqlglotError, RecursionError):
        return None


def _is_plain(tree: exp.Expr, kind: PlaceKind) -> bool:
    """Return whether the expression has no plainer form."""
    if kind is PlaceKind.VALUE or isinstance(tree, _LEAVES):
        return isinstance(tree, _LEAVES)
    if kind is PlaceKind.ON:
        return isinstance(tree, exp.EQ) and isinstance(tree.left, exp.Column) and isinstance(tree.right, exp.Column)
    compared = tree.this if isinstance(tree, exp.Not) else tree
    return isinstance(compared, _COMPARISONS) and all(
        isinstance(side, _LEAVES) for side in (compared.this, compared.expression)
    )


def _equalities(tree: exp.Expr, target: _Side, source: _Side) -> Iterator[str]:
    """Yield equalities of a target column and a source column: of those in the condition first, then of one name."""
    used = _used(tree)
    in_target = [name for name in target.schema.names if (target.qualifier.lower(), name.lower()) in used]
    in_source = [name for name in source.schema.names if (source.qualifier.lower(), name.lower()) in used]
    pairs = [(left, right) for left in in_target for right in in_source][:_MOST_PARTS]
    pairs.sort(key=lambda pair: pair[0].lower() != pair[1].lower())
    known = {name.lower() for name in source.schema.names}
    pairs += [(name, name) for name in target.schema.names if name.lower() in known][:2]
    for left, right in pairs:
        yield f"{target.qualifier}.{quote(left)} = {source.qualifier}.{quote(right)}"


def _plain_conditions(tree: exp.Expr, *sides: _Side) -> Iterator[str]:
    """Yield comparisons of each column that the condition uses."""
    used = _used(tree)
    for side in sides:
        for column in side.schema.columns:
            if (side.qualifier.lower(), column.name.lower()) not in used:
                continue
            name = f"{side.qualifier}.{quote(column.name)}"
            if column.type == BOOLEAN:
                yield name
            literal = _literal(column.type, first=True)
            if literal is not None:
                yield f"{name} > {literal}"
                yield f"{name} = {literal}"
            yield f"{name} IS NULL"


def _plain_values(place: Place, target: _Side, source: _Side) -> Iterator[str]:
    """Yield a literal of the column's type, and the source's column of the same name."""
    data_type = type_at(target.schema, place.column)
    literal = None if data_type is None else _literal(data_type)
    if literal is not None:
        yield literal
    if len(place.column) == 1:
        for name in source.schema.names:
            if name.lower() == place.column[0].lower():
                yield f"{source.qualifier}.{quote(name)}"


def _literal(data_type: DataType, *, first: bool = False) -> str | None:
    """Return a literal of a type, the lower of two if ``first``; None if the type has no short one."""
    if data_type == STRING:
        return "'a'" if first else "'b'"
    if data_type == BOOLEAN:
        return "FALSE" if first else "TRUE"
    if data_type in (DATE, TIMESTAMP):
        return f"{data_type.ddl()} '2000-01-0{1 if first else 2}'"
    is_number = data_type in INTEGER_BITS or isinstance(data_type, DecimalType)
    is_float = isinstance(data_type, AtomicType) and data_type.name in _FLOATS
    return ("0" if first else "1") if is_number or is_float else None


def _parts(tree: exp.Expr, *, is_condition: bool) -> list[str]:
    """List the parts of an expression that may replace it, the smallest first."""
    parts = {
        node.sql(dialect=_DIALECT)
        for node in tree.walk()
        if node is not tree and not isinstance(node, _NO_VALUES) and (not is_condition or isinstance(node, _TRUTHS))
    }
    return sorted(parts, key=lambda part: (num_tokens(part), part))[:_MOST_PARTS]


def _with_simpler_parts(tree: exp.Expr) -> list[str]:
    """List the expression with a column or a literal in place of each part that holds it, the largest part first."""
    found: list[str] = []
    for i, node in enumerate(tree.walk()):
        if i == 0 or isinstance(node, (*_LEAVES, *_NO_VALUES)):
            continue
        leaves = [leaf for leaf in node.walk() if isinstance(leaf, _LEAVES)]
        for leaf in leaves[:2]:
            copy = tree.copy()
            list(copy.walk())[i].replace(leaf.copy())
            found.append(copy.sql(dialect=_DIALECT))
    return found[:_MOST_PARTS]


def _used(tree: exp.Expr) -> set[tuple[str, str]]:
    """Return the columns in an expression, each with its qualifier, in lower case.

    A name without a qualifier counts for neither table: the columns of one name are usually in both.
    """
    return {(column.parts[0].name.lower(), column.parts[1].name.lower()) for column in _qualified(tree)}


def _qualified(tree: exp.Expr) -> Iterator[exp.Column]:
    return (column for column in tree.find_all(exp.Column) if len(column.parts) > 1)
