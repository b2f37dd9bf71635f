"""What every row that a merge writes must fulfil: NOT NULL, CHECK, generated columns (R-740 to R-742, R-222)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    ELEMENT,
    KEY,
    VALUE,
    VOID,
    ArrayType,
    MapType,
    StructType,
    declared_ddl,
    limits_below,
)
from mergecheck.model.types.typed import TableSide, Typed, identifier
from mergecheck.reference.analysis.validation import is_conditional, refused_in_plan, unevaluable_parts
from mergecheck.reference.asked.asker import Asker
from mergecheck.reference.expressions.names import Relation, Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import names_a_column_by_text, plain_expression
from mergecheck.reference.syntax.statement import is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.model.types.data_types import DataType, Field, Schema, TextLimit
    from mergecheck.reference.asked.asker import Asked

NOT_NULL_VIOLATED = "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"
CHECK_VIOLATED = "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"
TOO_LONG = "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"
_INTERNAL, _SYNTAX = "INTERNAL_ERROR", "PARSE_SYNTAX_ERROR"
_OF_FUNCTIONS = frozenset({"UNRESOLVED_ROUTINE"})
_PROPERTY = "delta.constraints."


class Fault(Enum):
    """When an expression that Spark cannot evaluate makes a merge fail (R-747)."""

    IN_PLAN = "as soon as a write is planned"
    ON_ROWS = "on the first row that is checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """One condition on new rows.

    Attributes:
        error_class: how a merge fails that writes a row for which the condition does not hold.
        what: the column or the constraint, for people.
        sql: a DuckDB condition over ``c0``, ``c1``, ...: TRUE for a good row, never NULL.
        partial: whether evaluating it can fail on some row.
        fault: when it makes every merge fail, whatever the rows are (R-747).
        asked: its parts that the other evaluator computes.
        is_generated: whether it is about the value of a generated column.
    """

    error_class: str
    what: str
    sql: str
    partial: bool = False
    fault: Fault | None = None
    asked: tuple[Asked, ...] = ()
    is_generated: bool = False


def check_texts(properties: Mapping[str, str]) -> list[tuple[str, str]]:
    """List names and texts of CHECK constraints; the property ``delta.constraints.NAME`` holds one."""
    named = sorted((name, text) for name, text in properties.items() if name.lower().startswith(_PROPERTY))
    return [(name[len(_PROPERTY) :], text) for name, text in named]


def row_checks(schema: Schema, properties: Mapping[str, str], asker: Asker | None = None) -> tuple[RowCheck, ...]:
    """List the conditions on rows of a table.

    Args:
        schema: the final schema; column *i* of a new row is ``c<i>``.
        properties: the table's properties, see ``check_texts``.
        asker: asks for an expression that has no translation.

    Raises:
        UnsupportedByReferenceError: for an expression without a translation and without an evaluator.
    """
    asker = asker or Asker()
    not_null = (check for i, column in enumerate(schema.columns) for check in _not_null(f"c{i}", column, column.name))
    translator = _translator(schema)
    check = (_check(name, text, translator, asker) for name, text in check_texts(properties))
    # of a NOT NULL column, only NULLs are looked for.
    conditions = ((c, c.invariant) for c in schema.columns if c.invariant is not None and c.nullable)
    invariant = (_check(f"the invariant of {c.name}", text, translator, asker) for c, text in conditions)
    limit = (_limit(f"c{i}", column) for i, column in enumerate(schema.columns) if column.limits)
    generated = (_generated(column, translator, asker) for column in schema.columns if column.generated is not None)
    return (*not_null, *check, *invariant, *limit, *generated)


def _not_null(sql: str, field: Field, path: str) -> Iterator[RowCheck]:
    """RowCheck a column and the fields of its structs; the fields of a NULL struct are NULL (R-741, as read here)."""
    if not field.nullable:
        yield RowCheck(error_class=NOT_NULL_VIOLATED, what=path, sql=f"({sql}) IS NOT NULL")
    if isinstance(field.type, StructType):
        for inner in field.type.fields:
            yield from _not_null(f"({sql}).{identifier(inner.name)}", inner, f"{path}.{inner.name}")


def _limit(sql: str, column: Field) -> RowCheck:
    """RowCheck that no text in a column is longer than its declared type allows (R-822)."""
    within = " AND ".join(_within(sql, column.type, column.limits))
    return RowCheck(
        error_class=TOO_LONG, what=f"{column.name} {declared_ddl(column.type, column.limits)}", sql=f"({within})"
    )


def _within(sql: str, data_type: DataType, limits: Sequence[TextLimit]) -> Iterator[str]:
    """Write the conditions on a value whose texts have lengths; a NULL around a text, or in its place, has none."""
    for limit in limits:
        if not limit.path:
            yield f"(({sql}) IS NULL OR length({sql}) <= {limit.length})"
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _within(f"({sql}).{identifier(field.name)}", field.type, limits_below(limits, field.name))
    elif isinstance(data_type, ArrayType):
        yield from _all_within(sql, data_type.element, limits_below(limits, ELEMENT))
    elif isinstance(data_type, MapType):
        yield from _all_within(f"map_keys({sql})", data_type.key, limits_below(limits, KEY))
        yield from _all_within(f"map_values({sql})", data_type.value, limits_below(limits, VALUE))


def _all_within(sql: str, data_type: DataType, limits: Sequence[TextLimit]) -> Iterator[str]:
    if limits:
        within = " AND ".join(_within("x", data_type, limits))
        yield f"(({sql}) IS NULL OR len(list_filter({sql}, lambda x: NOT ({within}))) = 0)"


def _check(name: str, text: str, translator: Translator, asker: Asker) -> RowCheck:
    """RowCheck a CHECK constraint; NULL violates it (R-742)."""
    what = f"{name} ({text})"
    node, refusal = _read(text)
    if node is None or refusal is not None:
        return _never(refusal or _INTERNAL, what, Fault.IN_PLAN)
    if parts := unevaluable_parts(node):
        if any(is_conditional(part) for part in parts):
            raise UnsupportedByReferenceError("a constraint with a part that has no value, and that may be left out")
        return _never(_INTERNAL, what, Fault.ON_ROWS)
    try:
        condition = asker.condition(node, text, translator)
    except RejectedError as refused:
        if refused.error_class in _OF_FUNCTIONS:
            return _never(refused.error_class, what, Fault.IN_PLAN)
        raise UnsupportedByReferenceError("a constraint that does not resolve") from None
    sql = f"(({condition.sql}) IS NOT DISTINCT FROM TRUE)"
    return RowCheck(error_class=CHECK_VIOLATED, what=what, sql=sql, partial=condition.partial, asked=asker.take())


def _read(text: str) -> tuple[exp.Expr | None, str | None]:
    """Read a constraint; give also the class with which no write can be planned, if there is one (R-747)."""
    try:
        node = parsed(text)
    except UnsupportedByReferenceError as unread:
        cause = unread.__cause__
        if isinstance(cause, RejectedError) and cause.error_class != _SYNTAX:
            return None, cause.error_class
        raise
    return node, _INTERNAL if names_a_column_by_text(text) else refused_in_plan(node)


def _never(error_class: str, what: str, fault: Fault) -> RowCheck:
    return RowCheck(error_class=error_class, what=what, sql="FALSE", fault=fault)


def _generated(column: Field, translator: Translator, asker: Asker) -> RowCheck:
    """RowCheck that a generated column holds its expression's value, NULL included (R-222, R-747)."""
    assert column.generated is not None, "only generated columns come here"  # noqa: S101 - for mypy
    what = f"Generated Column ({column.name} <=> ({column.generated}))"
    refusal = _read(column.generated)[1]
    if refusal is not None:
        return _never(refusal, what, Fault.IN_PLAN)
    name = exp.column(exp.to_identifier(column.name, quoted=True))
    node = exp.NullSafeEQ(this=name, expression=exp.paren(parsed(column.generated)))
    text = f"`{column.name.replace('`', '``')}` <=> ({column.generated})"
    condition = _translated(node, text, translator, asker)
    return RowCheck(
        error_class=CHECK_VIOLATED,
        what=what,
        sql=condition.sql,
        partial=condition.partial,
        asked=asker.take(),
        is_generated=True,
    )


def parsed(text: str) -> exp.Expr:
    """Read the SQL text of a constraint, a default or a generation expression.

    Raises:
        UnsupportedByReferenceError: if it is no expression.
    """
    try:
        return read_sql(plain_expression(text))
    except (SqlglotError, RejectedError) as error:
        raise UnsupportedByReferenceError("a column expression or constraint that cannot be read") from error


def _translated(node: exp.Expr, text: str, translator: Translator, asker: Asker) -> Typed:
    try:
        return asker.condition(node, text, translator)
    except RejectedError:  # such a table cannot be made
        raise UnsupportedByReferenceError("a constraint that does not resolve") from None


def _translator(schema: Schema) -> Translator:
    """Translate as Delta evaluates constraints: names mean columns in any case, and what means none is NULL (R-747)."""
    values = tuple(f"c{i}" for i in range(len(schema.columns)))
    row = Relation(side=TableSide.TARGET, qualifier="", schema=schema, values=values)

    def null(node: exp.Expr) -> Typed | None:
        is_unknown = is_name(node) and not row.places(name_parts(node)[0], case_sensitive=False)
        return Typed(sql="NULL", type=VOID) if is_unknown else None

    scope = Scope(relations=(row,), place="constraint", case_sensitive=False)
    return Translator(scope, in_order=True, special=null)
