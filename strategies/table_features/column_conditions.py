"""Conditions that columns carry in their metadata: invariants, and lengths of texts (R-746, R-822)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.long_texts import long_texts
from mergecheck.model.types.data_types import (
    BIGINT,
    ELEMENT,
    INT,
    KEY,
    SMALLINT,
    STRING,
    VALUE,
    ArrayType,
    MapType,
    Schema,
    StructType,
    TextLimit,
    quote,
)
from mergecheck.strategies.choices import chance
from mergecheck.strategies.syntax.expressions import MergeTable, Reference, nodes
from mergecheck.strategies.table_features.widening import used_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Source, Target, Value
    from mergecheck.model.types.data_types import DataType, Field
    from mergecheck.strategies.syntax.expressions import Expression
    from mergecheck.strategies.syntax.statement import Statement

READ_SIDE_PADDING = "spark.sql.readSideCharPadding"

_SOME_PERCENT = 60
_NUMBERS = (INT, BIGINT, SMALLINT)
_FAR = 100  # beyond what statements add to the values of the tables
_LARGEST = 2**63 - 1
_KEPT = st.sampled_from(("{0} IS NULL OR {0} <= {far}", "coalesce({0}, 0) <> {far}"))
_NULL_BREAKS, _GREATER_BREAKS = "{0} < {far}", "{0} IS NULL OR {0} <= {near}"
# An invariant of a NOT NULL column is not looked at, so that no value has to satisfy it.
_NEVER_KEPT = "{0} < -{far}"
_NEVER_KEPT_PERCENT = 70
_MAY_BREAK_PERCENT = 18
_CHAR_PERCENT = 50
_UNPADDED_PERCENT = 20
_SPACES_PERCENT = 40
_ROOM = st.sampled_from((0, 2, 0))


def draw_invariants(draw: DrawFn, target: Target, source: Source | None) -> Target:
    """Draw invariants of some columns of whole numbers, which the rows of the table keep to; shrinks to none.

    Some are broken by a NULL or by a greater number than the table has.
    """
    numbers = [*_values(target, _NUMBERS), *(() if source is None else _values(source, _NUMBERS))]
    far = min(2 * max(map(abs, numbers), default=0) + _FAR, _LARGEST)
    return _changed(draw, target, lambda column: _with_invariant(draw, target, column, far))


def _values(table: Target | Source, types: Collection[DataType]) -> Iterator[Value]:
    """Yield the values of the columns of some types, but for NULLs."""
    places = [place for place, column in enumerate(table.schema.columns) if column.type in types]
    for row in table.rows:
        yield from (row[place] for place in places if row[place] is not None)


def _with_invariant(draw: DrawFn, target: Target, column: Field, far: int) -> Field:
    if column.type not in _NUMBERS or column.generated is not None or column.identity is not None:
        return column
    form = draw(_KEPT)
    own = [row[target.schema.names.index(column.name)] for row in target.rows]
    if chance(draw, _MAY_BREAK_PERCENT):
        form = _GREATER_BREAKS if None in own or draw(st.booleans()) else _NULL_BREAKS
    if not column.nullable and chance(draw, _NEVER_KEPT_PERCENT):
        form = _NEVER_KEPT
    near = max((value for value in own if value is not None), default=0)
    return replace(column, invariant=form.format(quote(column.name), far=far, near=near))


def draw_text_limits(
    draw: DrawFn, target: Target, source: Source | None, statement: Statement
) -> tuple[Target, Source | None, dict[str, str]]:
    """Draw lengths of some VARCHAR and CHAR columns, and of texts inside of others; the rows keep to them.

    It shrinks to none.

    Some are too short for a text of the source, perhaps by spaces only. A merge cannot read a CHAR column of its target
    while Spark pads it (R-822), so that most statements that read one come with a setting against it.

    Returns:
        the table, the source with spaces behind a text, and the setting.
    """
    texts = () if source is None else _values(source, (STRING,))
    of_source = max(map(len, texts), default=0)
    target = _changed(draw, target, lambda column: _with_limit(draw, target, column, of_source))
    source = _with_spaces(draw, target, source, statement)
    names = {c.name.lower() for c in target.schema.columns if c.limit is not None and c.limit.padded}
    unpadded = chance(draw, _UNPADDED_PERCENT) or _reads(target, statement, names)
    return target, source, {READ_SIDE_PADDING: "false"} if names and unpadded else {}


def _with_limit(draw: DrawFn, target: Target, column: Field, of_source: int) -> Field:
    if column.generated is not None or column.name in target.partition_by:
        return column
    if column.type != STRING:
        return _with_inner_limit(draw, target, column)
    place = target.schema.names.index(column.name)
    longest = max((len(row[place] or "") for row in target.rows), default=0)
    if not chance(draw, _MAY_BREAK_PERCENT):
        longest = max(longest, of_source)
    padded = chance(draw, _CHAR_PERCENT)
    return replace(column, limits=(TextLimit(max(1, longest + draw(_ROOM)), padded),))


def _with_inner_limit(draw: DrawFn, target: Target, column: Field) -> Field:
    """Draw the length of a text inside of a column, just long enough for those that the table has."""
    paths = list(_text_paths(column.type))
    if not paths:
        return column
    path = draw(st.sampled_from(paths))
    place = target.schema.names.index(column.name)
    any_text = (TextLimit(-1, path=path),)
    found = (long for row in target.rows for long in long_texts(row[place], column.type, any_text, column.name))
    longest = max((long.characters for long in found), default=0)
    return replace(column, limits=(TextLimit(max(1, longest + draw(_ROOM)), path=path),))


def _text_paths(data_type: DataType) -> Iterator[tuple[str, ...]]:
    if isinstance(data_type, StructType):
        parts = [(field.name, field.type) for field in data_type.fields]
    elif isinstance(data_type, ArrayType):
        parts = [(ELEMENT, data_type.element)]
    elif isinstance(data_type, MapType):
        parts = [(KEY, data_type.key), (VALUE, data_type.value)]
    else:
        parts = []
    for step, inner in parts:
        yield from [(step,)] if inner == STRING else ((step, *path) for path in _text_paths(inner))


def _with_spaces(draw: DrawFn, target: Target, source: Source | None, statement: Statement) -> Source | None:
    """Put spaces behind a text of the source that no condition reads, so that it is too long; shrinks to the source."""
    if source is None or statement.source_query is not None or not chance(draw, _SPACES_PERCENT):
        return source
    lengths = {column.name.lower(): column.limit.length for column in target.schema.columns if column.limit is not None}
    free = lengths.keys() - _read_names(_conditions(statement), MergeTable.SOURCE)
    columns = list(enumerate(source.schema.columns))
    places = [place for place, column in columns if column.type == STRING and column.name.lower() in free]
    cells = [(number, place) for number, row in enumerate(source.rows) for place in places if row[place] is not None]
    if not cells:
        return source
    number, place = draw(st.sampled_from(cells))
    row = list(source.rows[number])
    row[place] = row[place].ljust(lengths[source.schema.names[place].lower()] + 1)
    return replace(source, rows=(*source.rows[:number], tuple(row), *source.rows[number + 1 :]))


def _reads(target: Target, statement: Statement, names: Collection[str]) -> bool:
    """Return whether an expression, or the source, reads any of some columns of the target."""
    if statement.source_query is not None or statement.self_merge:
        return True
    assigned = [assignment.value for clause in statement.clauses for assignment in clause.assignments]
    read = _read_names((*_conditions(statement), *assigned), MergeTable.TARGET)
    return not read.union(used_names(target)).isdisjoint(names)


def _conditions(statement: Statement) -> tuple[Expression, ...]:
    of_clauses = (clause.condition for clause in statement.clauses)
    return (statement.condition, *(condition for condition in of_clauses if condition is not None))


def _read_names(expressions: Collection[Expression], side: MergeTable) -> set[str]:
    """Return the names of a table's columns in some expressions, in lower case."""
    found = (node for expression in expressions for node in nodes(expression))
    return {node.name.lower() for node in found if isinstance(node, Reference) and node.side is side}


def _changed(draw: DrawFn, target: Target, change: Callable[[Field], Field]) -> Target:
    columns = tuple(change(column) if chance(draw, _SOME_PERCENT) else column for column in target.schema.columns)
    return replace(target, schema=Schema(columns))
