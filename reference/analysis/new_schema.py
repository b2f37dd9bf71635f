"""Which schemas a merge may give its table: looked at as the command begins to run, after the statement (R-239)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.reference.analysis.dependents import dependents_of
from mergecheck.reference.analysis.evolution import outermost_structs
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.types.data_types import FLOAT, TIMESTAMP_NTZ, ArrayType, DecimalType, MapType, StructType

if TYPE_CHECKING:
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.case.model import Target
    from mergecheck.reference.types.data_types import DataType, Field, Schema

_CHANGE_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
# Parquet columns cannot have these characters in their names as long as no column mapping gives them others.
_INVALID_CHARACTERS = frozenset(" ,;{}()\n\t=")


def check_new_schema(target: Target, final: Schema, settings: Settings) -> None:
    """Check the columns after a merge, in Delta's order.

    Args:
        target: the table before the merge.
        final: its columns after it.
        settings: say how names are compared, and whether the table maps its columns' names.

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
        _check_characters(final)
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


def _check_characters(schema: Schema) -> None:
    for name in _all_names(schema.columns):
        if _INVALID_CHARACTERS.intersection(name):
            raise RejectedError(
                "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", f"Found invalid character(s) in the column name {name!r}."
            )


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
