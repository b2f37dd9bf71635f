"""The parts of a condition that AND joins, and what each needs to know about a row of the target.

A part is decided by the *order* of a column if it compares the column with values in which no column of the target
occurs: it is the same for two values that lie on the same side of all of these. Any other use of a column is
opaque: the part is decided only if all rows of a file have one and the same value.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
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
from mergecheck.model.types.typed import TableSide, Typed
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.comparisons import COMPARISONS
from mergecheck.reference.expressions.translation import Translator
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Kind, is_name, name_parts

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.oracles.work.file_bounds import ColumnPath
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.syntax.statement import Statement

_EXACT_DIGITS = 15  # of a DECIMAL that is compared as a DOUBLE


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column or field of the target, and the values with which it is compared; none for ``IS NULL``."""

    path: ColumnPath
    type: DataType
    values: tuple[Typed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the parts of a condition.

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
    """

    on: tuple[Part, ...]
    clauses: tuple[Condition, ...]

    def of(self, kind: Kind) -> list[Condition]:
        """Give the conditions of the clauses of one kind."""
        return [clause for clause in self.clauses if clause.kind is kind]

    @property
    def target_parts(self) -> list[Part]:
        """All parts that are asked about rows of the target."""
        kinds = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
        return [*self.on, *(part for kind in kinds for clause in self.of(kind) for part in clause.parts)]


def read_conditions(statement: Statement, names: ClauseNames, clock: dt.datetime | None) -> Conditions:
    """Cut the conditions of a statement into their parts."""

    def parts(condition: exp.Expr | None, kind: Kind) -> tuple[Part, ...]:
        translator = Translator(names.scope(kind, "condition"), clock=clock, is_search_condition=True)
        return () if condition is None else tuple(_part(node, translator) for node in conjuncts(condition))

    return Conditions(
        on=parts(statement.on, Kind.MATCHED),
        clauses=tuple(
            Condition(kind=clause.kind, parts=parts(clause.condition, clause.kind)) for clause in statement.clauses
        ),
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


def _compared(column: exp.Expr, others: Iterable[exp.Expr], translator: Translator) -> Comparison | None:
    found = _target_column(column.unnest(), translator)
    if found is None:
        return None
    path, data_type = found
    values: list[Typed] = []
    for other in others:
        if any(True for _ in _columns(other, translator)):
            return None
        value = _comparable(translator.translate(other), data_type)
        if value is None:
            return None
        values.append(value)
    return Comparison(path, data_type, tuple(values))


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
