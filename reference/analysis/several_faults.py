"""Statements with several faults: which are met late (R-113), and which other error classes are right.

Where the specification does not define in which order Delta's analysis meets faults, each entry was seen in Delta Lake
4.4 (R-254, R-740).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from sqlglot import exp

from mergecheck.model.errors import RejectedError, fault_in
from mergecheck.model.types.data_types import NestedType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Statement

_NO_CAST = "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION"


_Found = TypeVar("_Found")
_Instead = TypeVar("_Instead")


class Late(Enum):
    """Sorts of faults that Spark finds when all clauses are aligned (R-113), in the order in which they are met.

    The value is how their error classes begin.
    """

    CAST = ("DATATYPE_MISMATCH", "CANNOT_UP_CAST_DATATYPE")
    """a value that does not fit its column's type (R-251)"""
    OPERATOR = ("UNSUPPORTED_EXPR_FOR_OPERATOR", "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY")
    """an aggregate, a window or a subquery that a value may not have (R-134)"""
    NOT_BOOLEAN = ("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",)
    """a condition of another type (R-135), met when the plans are made that evaluate it"""


class LateFaults:
    """Keeps the late faults of a statement while its clauses are resolved: Delta Lake aligns all of them before."""

    def __init__(self) -> None:
        self._met: dict[Late, RejectedError] = {}

    def kept(self, step: Callable[[], _Found], late: Late, *, instead: _Instead, place: str) -> _Found | _Instead:
        """Take a step, and keep its fault if it is of a late sort.

        Args:
            step: what may be refused.
            late: the sort of fault that is late in this step.
            instead: returned if there is such a fault.
            place: the part of the statement, for the message.

        Raises:
            RejectedError: for any other fault.
        """
        try:
            with fault_in(place):
                return step()
        except RejectedError as error:
            if not error.error_class.startswith(late.value):
                raise
            self._met.setdefault(late, error)
            return instead

    def raise_first(self) -> None:
        """Raise the fault that is met first when the clauses are aligned.

        Raises:
            RejectedError: if there is one.
        """
        for late in (Late.CAST, Late.OPERATOR):
            if late in self._met:
                raise self._met[late]

    @property
    def not_boolean(self) -> RejectedError | None:
        """The fault of a condition, which is met when the table has its new schema."""
        return self._met.get(Late.NOT_BOOLEAN)


def classes_of_other_faults(
    rejected: RejectedError,
    statement: Statement,
    *,
    target: Schema,
    source: Schema,
    tables: Mapping[str, Schema],
    evolution: bool,
    strict: bool,
) -> frozenset[str]:
    """Name the classes by which Delta may refuse a statement instead of the one that the reference met.

    Args:
        rejected: the reference's rejection.
        statement: the refused statement.
        target: the target's columns.
        source: the source's columns.
        tables: the columns of the tables that a subquery may name; behind a source query they are others.
        evolution: whether the statement or the session asks for schema evolution.
        strict: whether the store assignment policy is STRICT.
    """
    others: set[str] = set()
    if rejected.error_class == "AMBIGUOUS_REFERENCE" and evolution and _has_twins(source):
        others.add("DELTA_DUPLICATE_COLUMNS_FOUND.DATA")  # evolution looks at the schema before at the names
    if rejected.error_class.startswith(Late.CAST.value) and any(
        column.generated is not None for column in target.columns
    ):
        others.add("DELTA_CANNOT_RESOLVE_EXPRESSION")  # a generated column over the value as it was given
    if rejected.error_class == "UNSUPPORTED_EXPR_FOR_OPERATOR" and _aggregate_for_nested(statement, target):
        # An aggregate is no struct, and that is met first.
        others.add("CANNOT_UP_CAST_DATATYPE" if strict else _NO_CAST)
    if rejected.error_class == "DELTA_UNSUPPORTED_SUBQUERY" and _asks_for_what_is_not_there(statement, tables):
        others.add("UNRESOLVED_COLUMN.WITH_SUGGESTION")  # the names of a subquery are met first
    return frozenset(others)


def _asks_for_what_is_not_there(statement: Statement, tables: Mapping[str, Schema]) -> bool:
    """Return whether a subquery of a condition names a column that none of its tables has."""
    conditions = (statement.on, *(clause.condition for clause in statement.clauses))
    for query in (
        found for condition in conditions if condition is not None for found in condition.find_all(exp.Query)
    ):
        schemas = [tables[table.name.lower()] for table in query.find_all(exp.Table) if table.name.lower() in tables]
        known = {name.lower() for schema in schemas for name in schema.names}
        if any(column.name.lower() not in known for column in query.find_all(exp.Column)):
            return True
    return False


def _has_twins(schema: Schema) -> bool:
    names = [name.lower() for name in schema.names]
    return len(set(names)) < len(names)


def _aggregate_for_nested(statement: Statement, target: Schema) -> bool:
    return any(
        assignment.value.find(exp.AggFunc) is not None and _is_nested(assignment.path, target)
        for clause in statement.clauses
        for assignment in clause.assignments
    )


def _is_nested(path: tuple[str, ...], target: Schema) -> bool:
    """Return whether a path leads to a struct, an array or a map; it may begin with a qualifier."""
    for start in range(min(len(path), 2)):
        fields = target.columns
        for name in path[start:]:
            found = next((field.type for field in fields if field.name.lower() == name.lower()), None)
            fields = found.fields if isinstance(found, StructType) else ()
        if isinstance(found, NestedType):
            return True
    return False
