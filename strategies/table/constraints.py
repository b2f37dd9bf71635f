"""Constraints of the target: NOT NULL, CHECK, defaults and generated columns (R-220 to R-223, R-740 to R-742).

Most drawn merges keep to them, so that most cases are verified. Feature.VIOLATIONS makes some merges break them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, BOOLEAN, DATE, INT, STRING, Schema, StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax import expressions as e
from mergecheck.strategies.syntax.columns import Check, Column, Domain
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.domains import domain
from mergecheck.strategies.table.nested import has_constants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies.syntax.columns import Schemas

# beyond every sum of two small numbers
BOUND = 100
_DEFAULTABLE = (INT, BIGINT, STRING, BOOLEAN, DATE)
_CHECK_FORMS = st.sampled_from(("guarded", "plain", "plain", "coalesce"))
_TIGHT_BOUNDS = st.sampled_from((2, 3, 1))
_NAMES = ("positive", "Bounded")


def constrained(
    draw: DrawFn,
    features: frozenset[Feature],
    columns: tuple[Column, ...],
    *,
    key_names: tuple[str, ...],
    partition_by: tuple[str, ...],
) -> tuple[tuple[Column, ...], tuple[Check, ...]]:
    """Draw the constraints of the target's columns; a generated column is added at the end.

    Key columns have no CHECK constraints and no defaults.
    """
    columns = tuple(_constrained_column(draw, column, features, is_key=column.name in key_names) for column in columns)
    checks: tuple[Check, ...] = ()
    if Feature.CHECKS in features:
        columns, checks = _with_checks(draw, features, columns, key_names)
        texts = [c for c in columns if c.name in partition_by and c.name not in key_names and c.type == STRING]
        if texts and chance(draw, 50):
            checks = (*checks, _check_of_text(texts[0]))
    # a star gives every column a value
    if Feature.GENERATED_COLUMNS in features and (Feature.LISTED_GENERATED in features or Feature.STAR not in features):
        columns = _with_generated(draw, columns)
    return columns, checks


def _constrained_column(draw: DrawFn, column: Column, features: frozenset[Feature], *, is_key: bool) -> Column:
    nullable_key = is_key and Feature.NULL_KEYS in features
    wanted = Feature.NOT_NULL in features and not nullable_key and has_constants(column.type)
    if wanted and chance(draw, 45):
        column = replace(column, not_null=True, required=True)
    small = column.type in _DEFAULTABLE and column.domain is Domain.SMALL
    if Feature.COLUMN_DEFAULTS in features and small and not is_key and chance(draw, 60):
        value = draw(st.sampled_from([value for value in domain(column.type)[:5] if value != "it's"]))
        column = replace(column, default=e.Literal(value, column.type))
    return column


def _with_checks(
    draw: DrawFn, features: frozenset[Feature], columns: tuple[Column, ...], key_names: tuple[str, ...]
) -> tuple[tuple[Column, ...], tuple[Check, ...]]:
    checks: list[Check] = []
    usable = [c for c in columns if c.name not in key_names and c.summable]
    for name in _NAMES[: 2 if chance(draw, 60) else 1]:
        if not usable:
            break
        chosen = draw(st.sampled_from(usable))
        violated = Feature.VIOLATIONS in features and chance(draw, 75)
        condition, required = _check(draw, chosen, violated=violated, by_null=violated and chance(draw, 35))
        changed = replace(chosen, bounded=True, required=chosen.required or required)
        columns = tuple(changed if column is chosen else column for column in columns)
        usable = [changed if column is chosen else column for column in usable]
        checks.append(Check(name=name, condition=condition, violated=violated))
    return columns, tuple(checks)


def _check_of_text(column: Column) -> Check:
    """Return a CHECK that is as true of the empty text as of NULL, which a partition column stores for it (R-744)."""
    other = e.Comparison(e.Operator.NOT_EQUAL, _own(column), e.Literal("zz", STRING))
    return Check(name="Text", condition=e.Or(e.IsNull(operand=_own(column)), other), violated=False)


def _check(draw: DrawFn, column: Column, *, violated: bool, by_null: bool) -> tuple[e.Expression, bool]:
    """Draw a condition over a column, and whether the column must not be NULL.

    Rows of the source break it if ``violated``, and only a NULL does if ``by_null``: a CHECK must be TRUE (R-742).
    """
    reference = _own(column)
    bound = draw(_TIGHT_BOUNDS) if violated and not by_null else BOUND
    limit = e.Literal(-bound, column.type), e.Literal(bound, column.type)
    operator, constant = draw(st.sampled_from(((e.Operator.GREATER, limit[0]), (e.Operator.LESS_OR_EQUAL, limit[1]))))
    comparison = e.Comparison(operator, reference, constant)
    match "plain" if by_null else draw(_CHECK_FORMS):
        case "guarded":
            return e.Or(e.IsNull(operand=reference), comparison), False
        case "plain":
            return comparison, not violated
        case _:
            return e.Comparison(operator, e.Coalesce(reference, e.Literal(0, column.type)), constant), False


def _with_generated(draw: DrawFn, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    bases = [column for column in columns if column.summable]
    if not bases:
        return columns
    base = draw(st.sampled_from(bases))
    options: list[tuple[DataType, e.Expression]] = [
        (base.type, e.Sum(left=_own(base), right=e.Literal(1, INT))),
        (base.type, e.Sum(left=_own(base), right=_own(base))),
        (BIGINT, e.Cast(_own(base), BIGINT)),
        (base.type, e.Coalesce(_own(base), e.Literal(-1, base.type))),
        (STRING, e.Cast(_own(base), STRING)),
    ]
    others = [column for column in bases if column is not base and column.type == base.type]
    if others:
        options += [
            (base.type, e.Sum(left=_own(base), right=_own(draw(st.sampled_from(others))), minus=draw(st.booleans())))
        ] * 2
    data_type, computed = draw(st.sampled_from(options))
    used = {node.name for node in e.nodes(computed) if isinstance(node, e.Reference)}
    bounded = tuple(replace(c, bounded=True) if c.name in used else c for c in columns)
    return (*bounded, Column(name="g", type=data_type, computed=computed))


def _own(column: Column) -> e.Reference:
    return e.Reference(side=e.MergeTable.TARGET, name=column.name, qualified=False)


def substituted(expression: e.Expression, given: Mapping[str, e.Expression]) -> e.Expression:
    """Return an expression with its references replaced, by column name; other references stay."""
    match expression:
        case e.Reference(name=name):
            return given.get(name, expression)
        case e.Sum(left=left, right=right, minus=minus):
            return e.Sum(left=substituted(left, given), right=substituted(right, given), minus=minus)
        case e.Cast(operand, data_type):
            return e.Cast(substituted(operand, given), data_type)
        case e.Coalesce(first, second):
            return e.Coalesce(substituted(first, given), substituted(second, given))
        case _:
            return expression


def computed_in_source(computed: e.Expression, namesakes: Mapping[str, Column]) -> e.Expression | None:
    """Return a generation expression over the source's columns, None if the source lacks a column that it needs."""
    used = {node.name for node in e.nodes(computed) if isinstance(node, e.Reference)}
    if not used.issubset(namesakes):
        return None
    return substituted(
        computed, {name: e.Reference(side=e.MergeTable.SOURCE, name=namesakes[name].name) for name in used}
    )


def with_computed(rows: Sequence[Row], columns: tuple[Column, ...]) -> tuple[Row, ...]:
    """Fill the NULL cells of computed columns; other cells of these columns are wrong on purpose."""
    found = places(columns, columns)
    computing = [(place, evaluator(c.computed, found)) for place, c in enumerate(columns) if c.computed is not None]

    def filled(row: Row) -> Row:
        cells = list(row)
        for place, compute in computing:
            cells[place] = compute(row, row) if row[place] is None else row[place]
        return tuple(cells)

    return tuple(map(filled, rows)) if computing else tuple(rows)


def keeping_checks(rows: Sequence[Row], schemas: Schemas) -> tuple[Row, ...]:
    """Drop the target rows that break a CHECK constraint."""
    found = places(schemas.target, ())
    tests = [evaluator(check.condition, found) for check in schemas.checks]
    return tuple(row for row in rows if all(test(row, ()) is True for test in tests))


def with_strict_fields(draw: DrawFn, features: frozenset[Feature], schema: Schema, rows: Sequence[Row]) -> Schema:
    """Declare a field of a struct column NOT NULL, by a feature, if no row of the target breaks this (R-741).

    A NULL struct breaks it, too.
    """
    # drawn before looking at the rows, so that shrinking rows moves no later choice
    wanted = uses(draw, features, Feature.NOT_NULL_FIELDS)
    free = [
        (place, position, column.type)
        for place, column in enumerate(schema.columns)
        if isinstance(column.type, StructType)
        for position in range(len(column.type.fields))
        if all(row[place] is not None and row[place][position] is not None for row in rows)
    ]
    if not free or not wanted:
        return schema
    place, position, struct = draw(st.sampled_from(free))
    fields, columns = list(struct.fields), list(schema.columns)
    fields[position] = replace(fields[position], nullable=False)
    columns[place] = replace(columns[place], type=StructType(tuple(fields)))
    return Schema(tuple(columns))
