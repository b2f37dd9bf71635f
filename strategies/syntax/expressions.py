"""Expressions of a drawn statement as values.

The grammar is closed: every node of a condition is a total function (R-312), means the same in Spark and in DuckDB,
and is written by ``spark_sql`` alone. ``truth`` evaluates it to steer the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, get_args

from mergecheck.model.types.data_types import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType


class MergeTable(Enum):
    """The two tables of a merge; the value is what SQL text calls them."""

    TARGET = "target"
    SOURCE = "source"


class Operator(Enum):
    """Comparisons; ``<=>`` is TRUE for two NULLs and never NULL (R-308)."""

    EQUAL = "="
    NULL_SAFE_EQUAL = "<=>"
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def mirrored(self) -> Operator:
        """The comparison that means the same with its sides exchanged."""
        return _MIRRORED.get(self, self)


_MIRRORED = {
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; ``type`` None is the untyped ``NULL``, which only an assigned value can be (R-250)."""

    value: Value
    type: DataType | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A column as the statement writes it.

    Attributes:
        side: the table of the column.
        name: the column's name, possibly in another case (R-120).
        qualified: whether the alias qualifies it; an unqualified name must exist on one side only (R-118).
    """

    side: MergeTable
    name: str
    qualified: bool = True


@dataclass(frozen=True, slots=True)
class FieldAccess:
    """``t.column.field`` of a struct, at any depth; ``position`` is the field's position in its struct."""

    base: Reference | FieldAccess
    field: str
    position: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right`` of one type, or of integer types of any width."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And:
    """``left AND right``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or:
    """``left OR right``."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT operand``."""

    operand: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull:
    """``operand IS [NOT] NULL``; the one predicate that every type has (R-807)."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class In:
    """``operand IN (options)``, with at least one option."""

    operand: Expression
    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """``operand BETWEEN low AND high``."""

    operand: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class CaseWhen:
    """``CASE WHEN condition THEN value ELSE otherwise END``."""

    condition: Expression
    value: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Coalesce:
    """``COALESCE(first, second)``."""

    first: Expression
    second: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """``left + right`` or ``left - right`` of INT or BIGINT columns with small numbers, so that it cannot overflow."""

    left: Expression
    right: Expression
    minus: bool = False


@dataclass(frozen=True, slots=True)
class Quotient:
    """``left DIV right`` of integers, a BIGINT; the only node that fails for some rows, only assigned (R-254)."""

    left: Expression
    right: Reference


@dataclass(frozen=True, slots=True)
class Cast:
    """``CAST(operand AS type)``, if every value fits."""

    operand: Expression
    type: DataType


@dataclass(frozen=True, slots=True)
class NamedStruct:
    """``NAMED_STRUCT('name', value, ...)``: one value per name (R-242)."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """SQL text as it is, of an invalid expression or of the statement's time, and its value; None if it is invalid."""

    text: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A function that returns an array, such as ``array_union``; only assigned (R-246)."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of Spark's function library: the texts before, between and after its operands (docs/expressions.md)."""

    texts: tuple[str, ...]
    operands: tuple[Expression, ...]


Expression: TypeAlias = (
    Literal
    | Reference
    | FieldAccess
    | Comparison
    | And
    | Or
    | Not
    | IsNull
    | In
    | Between
    | CaseWhen
    | Coalesce
    | Sum
    | Quotient
    | Cast
    | NamedStruct
    | Verbatim
    | ArrayCall
    | LibraryCall
)


def nodes(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it."""
    yield expression
    for field in fields(expression):
        value = getattr(expression, field.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, _NODES):
                yield from nodes(part)


def conjunction(condition: Expression | None, other: Expression) -> Expression:
    """Return ``condition AND other``, or ``other`` alone without a condition."""
    return other if condition is None else And(condition, other)


_NODES = get_args(Expression)
TRUE = Literal(True, BOOLEAN)  # noqa: FBT003 - the first field is the SQL constant, not a switch
FALSE = Literal(False, BOOLEAN)  # noqa: FBT003 - the same
UNKNOWN = Literal(None, BOOLEAN)
NULL = Literal(None, None)
