"""Columns that CHECK constraints and generated columns use keep their types (R-240)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.reference.analysis.constraints import check_texts, parsed
from mergecheck.reference.errors import RejectedError
from mergecheck.reference.syntax.statement import name_parts
from mergecheck.reference.types.data_types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Target
    from mergecheck.reference.types.data_types import DataType, Field, Schema

    Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependents:
    """The expressions of a table.

    Attributes:
        constraints: the texts of its CHECK constraints.
        generated: those of its generated columns.
        invariants: those of its columns' invariants, which do not keep types from changing.
    """

    constraints: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()

    def check(self, before: Schema, after: Schema, *, case_sensitive: bool) -> None:
        """Compare the types before and after the merge.

        Raises:
            RejectedError: one of the expressions uses a column or a field with another type.
            UnsupportedByReferenceError: an expression that cannot be read.
        """
        for path in changed_fields(before, after):
            for texts, error_class in (
                (self.constraints, "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"),
                (self.generated, "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH"),
            ):
                if any(_uses(text, path, case_sensitive=case_sensitive) for text in texts):
                    raise RejectedError(error_class, f"{'.'.join(path)} has a dependent expression.")

    def use(self, column: str, *, case_sensitive: bool) -> bool:
        """Tell whether one of the expressions names a column.

        Raises:
            UnsupportedByReferenceError: an expression that cannot be read.
        """
        texts = (*self.constraints, *self.generated, *self.invariants)
        return any(_uses(text, (column,), case_sensitive=case_sensitive) for text in texts)


def dependents_of(target: Target) -> Dependents:
    """Read the expressions of a table from its properties and columns."""
    checks = tuple(text for _, text in check_texts(target.properties))
    generated = tuple(column.generated for column in target.schema.columns if column.generated is not None)
    invariants = tuple(column.invariant for column in target.schema.columns if column.invariant is not None)
    return Dependents(constraints=checks, generated=generated, invariants=invariants)


def changed_fields(before: Schema, after: Schema) -> Iterator[Path]:
    """List the columns and fields, and what is in arrays and maps, that have another type after a merge."""
    yield from _changed_fields(before.columns, after.columns, ())


def _uses(text: str, path: Path, *, case_sensitive: bool) -> bool:
    """Tell whether an expression names a column or field, one inside of it, or the whole that it belongs to."""
    for column in parsed(text).find_all(exp.Column):
        pairs = zip(name_parts(column), path, strict=False)
        if all(one == other if case_sensitive else one.lower() == other.lower() for one, other in pairs):
            return True
    return False


def _changed_fields(before: tuple[Field, ...], after: tuple[Field, ...], path: Path) -> Iterator[Path]:
    types = {field.name: field.type for field in after}
    for field in before:
        yield from _changed(field.type, types[field.name], (*path, field.name))


def _changed(before: DataType, after: DataType, path: Path) -> Iterator[Path]:
    if isinstance(before, StructType) and isinstance(after, StructType):
        yield from _changed_fields(before.fields, after.fields, path)
    elif isinstance(before, ArrayType) and isinstance(after, ArrayType):
        yield from _changed(before.element, after.element, (*path, "element"))
    elif isinstance(before, MapType) and isinstance(after, MapType):
        yield from _changed(before.key, after.key, (*path, "key"))
        yield from _changed(before.value, after.value, (*path, "value"))
    elif before != after:
        yield path
