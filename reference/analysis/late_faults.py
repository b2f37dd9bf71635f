"""Faults that Spark finds in a merge only after Delta Lake has aligned its clauses (R-113)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from mergecheck.reference.errors import RejectedError

if TYPE_CHECKING:
    from collections.abc import Callable

_Found = TypeVar("_Found")
_Instead = TypeVar("_Instead")


class Late(Enum):
    """Sorts of such faults, in the order in which they are met; the value is how their error classes begin."""

    CAST = ("DATATYPE_MISMATCH", "CANNOT_UP_CAST_DATATYPE")
    """a value that does not become one of its column's type (R-251)"""
    OPERATOR = ("UNSUPPORTED_EXPR_FOR_OPERATOR", "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY")
    """an aggregate, a window or a subquery that a value may not have (R-134)"""
    NOT_BOOLEAN = ("JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",)
    """a condition of another type (R-135), met when the plans are made that evaluate it"""


class LateFaults:
    """Keeps the late faults of a statement while its clauses are resolved."""

    def __init__(self) -> None:
        self._met: dict[Late, RejectedError] = {}

    def kept(self, step: Callable[[], _Found], late: Late, *, instead: _Instead) -> _Found | _Instead:
        """Take a step, and keep its fault if it is of a late sort.

        Args:
            step: what may be refused.
            late: the sort of fault that is late in this step.
            instead: returned if there is such a fault.

        Raises:
            RejectedError: for any other fault.
        """
        try:
            return step()
        except RejectedError as error:
            if not error.error_class.startswith(late.value):
                raise
            self._met.setdefault(late, error)
            return instead

    def raise_first(self) -> None:
        """Raise the fault that is met first.

        Raises:
            RejectedError: if there is one.
        """
        for late in Late:
            if late in self._met:
                raise self._met[late]
