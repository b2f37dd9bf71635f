"""Doubts of a prediction: single observables that the reference cannot predict.

A value without a translation decides nothing but the cells that it is stored in, and an isolation level nothing but
its entry in the log. Such a doubt must not keep the rest of the merge from being predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mergecheck.model.types.typed import Typed, typed_null

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.errors import UnsupportedByReferenceError
    from mergecheck.model.types.data_types import Field, Schema

ERROR = "error"
"""Left out: whether the merge fails."""
ISOLATION_LEVEL = "log isolationLevel"
_COLUMN = "column "


@dataclass(slots=True, kw_only=True)
class Doubts:
    """The doubts of one evaluation.

    Attributes:
        confines: whether nothing but a column's own cells depends on its stored values: it is nullable, no
            partition, and no expression of the table uses it.
        reasons: why an observable is left out, by its name.
    """

    confines: Callable[[Field], bool]
    reasons: dict[str, str] = field(default_factory=dict)

    def stand_in(self, path: tuple[str, ...], schema: Schema, unknown: UnsupportedByReferenceError) -> Typed:
        """Return NULL in place of a value that cannot be predicted, and leave its column out.

        Args:
            path: the column or field that the value is assigned to.
            schema: the final schema.
            unknown: why the value cannot be predicted.

        Raises:
            UnsupportedByReferenceError: if more than the cells of a column depends on the value.
        """
        name, *fields = path
        column = next((column for column in schema.columns if column.name.lower() == name.lower()), None)
        if column is None or fields or not self.confines(column):
            raise unknown
        self.reasons.setdefault(f"{_COLUMN}{column.name}", unknown.reason)
        self.reasons.setdefault(ERROR, unknown.reason)  # the value may fail, or be refused by the analysis
        return Typed(sql=typed_null(column.type), type=column.type)


def columns_of(observables: frozenset[str]) -> frozenset[str]:
    """Return the names of the columns among observables."""
    return frozenset(name.removeprefix(_COLUMN) for name in observables if name.startswith(_COLUMN))


def kind_of(observable: str) -> str:
    """Return what sort of observable is left out, so that cases can be counted."""
    return "values of a column" if observable.startswith(_COLUMN) else observable
