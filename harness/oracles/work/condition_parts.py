"""The parts of a condition that AND joins, and what each needs to know about a row of the target.

A part is decided by the *order* of a column if it compares the column with values in which no column of the target
occurs: it is the same for two values that lie on the same side of all of these. Any other use of a column is
opaque: the part is decided only if all rows of a file have one and the same value.
"""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.model.types.typed import TableSide, Typed, combine
from mergecheck.reference.analysis.constraints import parsed
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.comparisons import COMPARISONS
from mergecheck.reference.expressions.names import Scope
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Kind, is_name, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mergecheck.harness.oracles.work.file_bounds import ColumnPath
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.expressions.names import Relation
    from mergecheck.reference.syntax.statement import Statement

_EXACT_DIGITS = 15  # of a DECIMAL that is compared as a DOUBLE
_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_IN_TIME = (exp.Cast, exp.TsOrDsToDate, exp.Year)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column or field of the target, and the values with which it is compared; none for ``IS NULL``."""

    path: ColumnPath
    type: DataType
    values: tuple[Typed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a condition.

    Attributes:
        text: as Spark writes it.
        typed: None if it has no translation.
        comparisons: the columns by whose order it is decided.
        opaque: the positions of the columns that it uses otherwise.
    """

    text: str
    typed: Typed | None
    comparisons: tuple[Comparison, ...]
    opaque: frozenset[int]

    @property
    def uses_source(self) -> bool:
        """Whether it needs a row of the source."""
        return self.typed is None or TableSide.SOURCE in self.typed.sides


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The condition of one clause; without parts it is TRUE."""

    kind: Kind
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """All conditions of a statement.

    Attributes:
        on: the parts of ON.
        clauses: the condition of each clause.
        generated: what the table promises of every row of a partition: a generated column has its expression's value.
    """

    on: tuple[Part, ...]
    clauses: tuple[Condition, ...]
    generated: tuple[Part, ...] = ()

    def of(self, kind: Kind) -> list[Condition]:
        """Give the conditions of the clauses of one kind."""
        return [clause for clause in self.clauses if clause.kind is kind]

    @property
    def target_parts(self) -> list[Part]:
        """All parts that are asked about rows of the target."""
        kinds = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
        return [*self.on, *(part for kind in kinds for clause in self.of(kind) for part in clause.parts)]


def read_conditions(
    statement: Statement, names: ClauseNames, clock: dt.datetime | None, *, partitions: Sequence[int] = ()
) -> Conditions:
    """Cut the conditions of a statement into their parts; ``partitions`` are the positions of partition columns."""

    def parts(condition: exp.Expr | None, kind: Kind) -> tuple[Part, ...]:
        translator = Translator(names.scope(kind, "condition"), clock=clock, is_search_condition=True)
        return () if condition is None else tuple(_part(node, translator) for node in conjuncts(condition))

    return Conditions(
        on=parts(statement.on, Kind.MATCHED),
        clauses=tuple(
            Condition(kind=clause.kind, parts=parts(clause.condition, clause.kind)) for clause in statement.clauses
        ),
        generated=tuple(_generated(names.target, partitions)),
    )


def _generated(target: Relation, partitions: Sequence[int]) -> Iterator[Part]:
    """Give the promise of each generated partition column whose expression keeps the order of another column."""
    translator = Translator(Scope(relations=(target,), place="a generated column", case_sensitive=False))
    for place in partitions:
        column = target.schema.columns[place]
        if column.generated is None or column.type not in (*_TIMES, *INTEGER_BITS):
            continue  # an empty text is NULL as a partition value
        with suppress(RejectedError, UnsupportedByReferenceError):
            expression = parsed(column.generated)
            found, value = ordered_column(expression.unnest(), translator), target.typed(place)
            if found is not None and found.types[-1] == column.type:
                computed = translator.translate(expression)
                yield Part(
                    text=column.generated,
                    typed=combine(f"({value.sql}) IS NOT DISTINCT FROM ({computed.sql})", BOOLEAN, value, computed),
                    comparisons=(Comparison(found.path, found.types[0], tuple(found.bounding(value))),),
                    opaque=frozenset({place}),
                )


def _part(node: exp.Expr, translator: Translator) -> Part:
    text = node.sql(dialect="databricks")
    try:
        typed = translator.translate(node)
        found = tuple(_uses(node, translator))
    except (UnsupportedByReferenceError, RejectedError):
        return Part(text=text, typed=None, comparisons=(), opaque=frozenset())
    is_known = typed.type == BOOLEAN and (bool(found) or TableSide.TARGET not in typed.sides)
    return Part(
        text=text,
        typed=typed if is_known else None,
        comparisons=tuple(use for use in found if isinstance(use, Comparison)),
        opaque=frozenset(use for use in found if isinstance(use, int)),
    )


def _uses(node: exp.Expr, translator: Translator) -> Iterator[Comparison | int]:
    """List the comparisons that a condition is made of, and the columns that it uses otherwise."""
    bare = node.unnest()
    if isinstance(bare, exp.And | exp.Or):
        yield from _uses(bare.this, translator)
        yield from _uses(bare.expression, translator)
    elif isinstance(bare, exp.Not):
        yield from _uses(bare.this, translator)
    elif (comparison := _comparison(bare, translator)) is not None:
        yield comparison
    else:
        yield from _columns(bare, translator)


def _comparison(node: exp.Expr, translator: Translator) -> Comparison | None:
    """Read a node that compares one column of the target with values without one; None if it is none."""
    if type(node) in COMPARISONS:
        left, right = node.this, node.expression
        return _compared(left, [right], translator) or _compared(right, [left], translator)
    if isinstance(node, exp.In) and node.args.get("query") is None:
        return _compared(node.this, node.expressions, translator)
    if isinstance(node, exp.Between):
        return _compared(node.this, [node.args["low"], node.args["high"]], translator)
    if isinstance(node, exp.Is):
        return _compared(node.this, [], translator)
    found = _target_column(node, translator)
    return Comparison(*found) if found is not None and found[1] == BOOLEAN else None


@dataclass(frozen=True, slots=True)
class OrderedColumn:
    """A column of the target, and functions of it that keep its order: of two values none changes places.

    Attributes:
        path: of the column.
        types: its own, and the result's of each function, from the inside out.
    """

    path: ColumnPath
    types: tuple[DataType, ...]

    def bounding(self, value: Typed) -> list[Typed]:
        """Give values of the column: between two neighbours, the result has one order beside ``value``."""
        values = [value]
        if value.type == VOID:
            return values
        for inner, outer in zip(reversed(self.types[:-1]), reversed(self.types), strict=False):
            values = [before for each in values for before in _before(each, inner, outer)]
        return values


def ordered_column(node: exp.Expr, translator: Translator) -> OrderedColumn | None:
    """Read a column of the target inside of functions that keep its order: days, years, and casts between times."""
    found = _target_column(node, translator)
    if found is not None:
        return OrderedColumn(found[0], (found[1],))
    if not isinstance(node, _IN_TIME) or isinstance(node, exp.TryCast) or node.args.get("format") is not None:
        return None
    inner = ordered_column(node.this.unnest(), translator)
    if inner is None or inner.types[-1] not in _TIMES:
        return None
    result = translator.translate(node).type
    keeps_order = isinstance(node, exp.Year) or result in _TIMES
    return replace(inner, types=(*inner.types, result)) if keeps_order else None


def _before(value: Typed, inner: DataType, outer: DataType) -> list[Typed]:
    """Give the values of one type from which a function leads to less than a value, to itself, and to more.

    The time zone is UTC, where days follow each other as their moments do.
    """
    if outer == INT:  # the year
        years = (value.sql, f"least(({value.sql}) + 1, {dt.MAXYEAR})")
        starts = [combine(f"make_date(CAST({year} AS INTEGER), 1, 1)", DATE, value, partial=True) for year in years]
        return [cast_value(start, inner) for start in starts]
    if outer == DATE:
        last = f"DATE '{dt.date.max}'"
        return [cast_value(value, inner), cast_value(replace(value, sql=f"least(({value.sql}) + 1, {last})"), inner)]
    return [cast_value(value, inner)]  # between two moments there is a day at most


def _compared(column: exp.Expr, others: Iterable[exp.Expr], translator: Translator) -> Comparison | None:
    found = ordered_column(column.unnest(), translator)
    if found is None or any(True for other in others for _ in _columns(other, translator)):
        return None
    values: list[Typed] = []
    for other in others:
        value = _comparable(translator.translate(other), found.types[-1])
        if value is None:
            return None
        values += found.bounding(value)
    return Comparison(found.path, found.types[0], tuple(values))


def _target_column(node: exp.Expr, translator: Translator) -> tuple[ColumnPath, DataType] | None:
    """Give the path and the type of a column of the target, or of a field of its structs, that a node names."""
    if isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast):
        inner = _target_column(node.this.unnest(), translator)
        widened = (
            inner is not None and inner[1] in INTEGER_BITS and _is_wider(translator.translate(node).type, inner[1])
        )
        return inner if widened else None
    if not is_name(node):
        return None
    parts = name_parts(node)
    relation, index, rest = translator.scope.column(parts)
    if relation.side is not TableSide.TARGET or index in relation.padded or index in relation.chars:
        return None
    path, data_type = [index], relation.schema.columns[index].type
    for name in rest:
        if not isinstance(data_type, StructType):
            return None
        (place,) = (i for i, f in enumerate(data_type.fields) if translator.scope.same(f.name, name))
        path.append(place)
        data_type = data_type.fields[place].type
    return None if isinstance(data_type, StructType | MapType | ArrayType) else (tuple(path), data_type)


def _is_wider(wanted: DataType, given: DataType) -> bool:
    return INTEGER_BITS.get(wanted, 0) >= INTEGER_BITS.get(given, 65)


def _columns(node: exp.Expr, translator: Translator) -> Iterator[int]:
    """List the columns of the target that occur in an expression."""
    for name in [found for found in node.find_all(exp.Column, exp.Dot) if is_name(found)]:
        parts = name_parts(name)
        with suppress(RejectedError, UnsupportedByReferenceError):  # a variable of a lambda; a part of a longer name
            relation, index, _ = translator.scope.column(parts)
            if relation.side is TableSide.TARGET:
                yield index


def _comparable(value: Typed, column: DataType) -> Typed | None:
    """Convert a value so that it orders the values of a column; None if Spark compares them in another way."""
    other = value.type
    if other in (VOID, column):
        return value
    if other == STRING:  # is read as a value of the column's kind, or as BIGINT
        wanted = BIGINT if column in INTEGER_BITS else column
        return cast_value(value, wanted) if wanted in (BIGINT, DATE, TIMESTAMP, TIMESTAMP_NTZ) else None
    if column in INTEGER_BITS:
        return value if other in INTEGER_BITS or other in (FLOAT, DOUBLE) or isinstance(other, DecimalType) else None
    if isinstance(column, DecimalType):
        is_exact = column.precision <= _EXACT_DIGITS and other == DOUBLE
        return value if other in INTEGER_BITS or isinstance(other, DecimalType) or is_exact else None
    if column in (FLOAT, DOUBLE):
        is_number = other in INTEGER_BITS or other in (FLOAT, DOUBLE) or isinstance(other, DecimalType)
        return cast_value(value, DOUBLE) if is_number else None
    if {column, other} == {DATE, TIMESTAMP}:
        return cast_value(value, column)  # no date lies between a moment and its day
    return None
