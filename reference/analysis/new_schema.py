"""Which schemas a merge may give its table: looked at as the command begins to run (R-239, R-240)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import FLOAT, TIMESTAMP_NTZ, ArrayType, DecimalType, MapType, StructType
from mergecheck.reference.analysis.constraints import check_texts, parsed
from mergecheck.reference.analysis.evolution import outermost_structs
from mergecheck.reference.syntax.statement import name_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mergecheck.model.case import Target
    from mergecheck.model.types.data_types import DataType, Field, Schema
    from mergecheck.reference.analysis.settings import Settings

    Path = tuple[str, ...]

_CHANGE_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
# Parquet columns cannot have these characters in their names as long as no column mapping gives them others.
_INVALID_CHARACTERS = frozenset(" ,;{}()\n\t=")


def check_new_schema(target: Target, final: Schema, settings: Settings) -> None:
    """Check the columns after a merge, in Delta's order.

    Args:
        target: the table before the merge.
        final: its columns after it.
        settings: decide how names are compared, and whether the table maps its columns' names.

    Raises:
        RejectedError: another type of a column that others depend on or that is generated (R-240), the first
            TIMESTAMP_NTZ of the table (R-704; a table that is created with one has the feature), names that files
            cannot hold (R-709), and a new column that the change feed uses (R-632).
        UnsupportedByReferenceError: the text of a partition value means another number in the new type, or is
            none that every reader takes for one (R-716).
    """
    before = target.schema
    if final == before:
        return
    dependents_of(target).check(before, final, case_sensitive=settings.case_sensitive)
    if _has_timestamp_ntz(final) and not _has_timestamp_ntz(before):
        raise RejectedError(
            "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", "TIMESTAMP_NTZ needs the table feature timestampNtz."
        )
    if not settings.maps_columns:
        _check_characters(final, target.partition_by)
    for old, new in zip(before.columns, final.columns, strict=False):
        if old.generated is not None and old.type != new.type:
            raise RejectedError(
                "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", f"{old.name} is no longer what its expression gives."
            )
    reserved = [name for name in final.names if name in _CHANGE_FEED_COLUMNS]
    if reserved and target.change_data_feed:
        raise RejectedError("RESERVED_CDC_COLUMNS_ON_WRITE", f"The write contains reserved columns {reserved}.")
    for old, new in zip(before.columns, final.columns, strict=False):
        changes = old.name in target.partition_by and old.type != new.type
        if changes and (old.type == FLOAT or isinstance(new.type, DecimalType)):
            raise UnsupportedByReferenceError("a partition column that is widened from FLOAT, or to a DECIMAL")


def _check_characters(schema: Schema, partition_by: Collection[str]) -> None:
    """Refuse names that Parquet cannot store; partition columns come last and have their own error class."""
    stored = tuple(column for column in schema.columns if column.name not in partition_by)
    for error_class, names in (
        ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", _all_names(stored)),
        ("DELTA_INVALID_PARTITION_COLUMN_NAME", partition_by),
    ):
        for name in names:
            if _INVALID_CHARACTERS.intersection(name):
                raise RejectedError(error_class, f"Found invalid character(s) in the column name {name!r}.")


def _all_names(fields: tuple[Field, ...]) -> tuple[str, ...]:
    inner = (name for field in fields for struct in outermost_structs(field.type) for name in _all_names(struct.fields))
    return (*(field.name for field in fields), *inner)


def _has_timestamp_ntz(schema: Schema) -> bool:
    return any(_holds_timestamp_ntz(column.type) for column in schema.columns)


def _holds_timestamp_ntz(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_holds_timestamp_ntz(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _holds_timestamp_ntz(data_type.element)
    if isinstance(data_type, MapType):
        return _holds_timestamp_ntz(data_type.key) or _holds_timestamp_ntz(data_type.value)
    return data_type == TIMESTAMP_NTZ


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependents:
    """The expressions of a table.

    Attributes:
        constraints: the texts of its CHECK constraints.
        generated: the texts of its generated columns.
        invariants: the texts of its columns' invariants, which do not keep types from changing.
    """

    constraints: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()

    def check(self, before: Schema, after: Schema, *, case_sensitive: bool) -> None:
        """Compare the types before and after the merge.

        Raises:
            RejectedError: an expression uses a column or a field with another type.
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
        """Return whether any of the expressions names a column.

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
    """List the columns and fields, and members of arrays and maps, that have another type after a merge."""
    yield from _changed_fields(before.columns, after.columns, ())


def _uses(text: str, path: Path, *, case_sensitive: bool) -> bool:
    """Return whether an expression names a column or field, one inside of it, or the whole that it belongs to."""
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
