"""Check and commit actions of an evolved schema (R-239, R-704)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql.types import NullType, StructType

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.table.commit.dependents import check_dependents, check_generated
from mergecheck.merge.table.log.column_mapping import MAX_COLUMN_ID, MappingMode, max_column_id, with_new_ids
from mergecheck.merge.table.log.features import features_of_schema
from mergecheck.merge.table.row_ids.tracking import COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from mergecheck.merge.types.fields import parts_of, same_type
from mergecheck.merge.types.widening import with_type_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.merge.table.snapshot.snapshot import Snapshot
    from mergecheck.merge.table.storage.log_store import Action

CHANGE_FEED_COLUMNS: Final = ("_change_type", "_commit_version", "_commit_timestamp")
_INVALID_CHARACTERS: Final = " ,;{}()\n\t="
_ADVICE: Final = {
    "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES": "Give the column another name in the source.",
    "DELTA_INVALID_PARTITION_COLUMN_NAME": "The schema of a table with this partition column cannot change without "
    "column mapping. Merge without schema evolution, or enable column mapping.",
}


def check_void_columns(schema: StructType) -> None:
    """Refuse VOID columns, which a session with ``createDataFrame.dropNullColumns`` does not add to a table (R-144).

    Raises:
        AnalysisError: ``DELTA_MERGE_ADD_VOID_COLUMN``.
    """
    for part in parts_of(schema):
        if isinstance(part.type, NullType):
            raise AnalysisError(
                "DELTA_MERGE_ADD_VOID_COLUMN",
                f"Cannot add column `{'.'.join(part.path)}` with type VOID. Please explicitly specify a non-void type.",
            )


def check_new_schema(snapshot: Snapshot, schema: StructType, *, case_sensitive: bool = False) -> None:
    """Refuse an evolved schema that the table cannot have; the update is made before any data is read (R-239).

    Args:
        snapshot: the table before the merge.
        schema: its columns after it.
        case_sensitive: the session's rule for names.

    Raises:
        AnalysisError: another type for a column that others depend on or that is generated (R-240), a type that needs
            a table feature which the table lacks (R-704), names that files cannot hold (R-709), and names reserved by
            the change data feed (R-632).
        UnsupportedStatementError: a new column of a type that this package cannot write, or a partition column of
            another type.
    """
    if schema == snapshot.schema:
        return
    check_dependents(snapshot, schema, case_sensitive=case_sensitive)
    if snapshot.protocol.lacks_timestamp_ntz(schema):
        raise AnalysisError(
            "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT",
            "A new column of type TIMESTAMP_NTZ needs the table feature timestampNtz. Enable it by "
            "ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported'), or cast the column in the "
            "source.",
        )
    if snapshot.mapping is MappingMode.NONE:
        _check_characters(schema, snapshot.partition_columns)
    check_generated(snapshot, schema)
    reserved = [name for name in CHANGE_FEED_COLUMNS if name in schema.names]
    if reserved and snapshot.change_data_feed:
        raise AnalysisError(
            "RESERVED_CDC_COLUMNS_ON_WRITE",
            f"The write contains reserved columns {', '.join(reserved)} that are used internally as metadata for "
            "Change Data Feed. To write to the table either rename/drop these columns or disable Change Data Feed on "
            "the table by setting delta.enableChangeDataFeed to false.",
        )
    _check_tracking_columns(snapshot, schema)
    for feature in features_of_schema(schema):
        raise UnsupportedStatementError(
            f"a table with {feature}", hint="Leave the column out of the source, or cast it there."
        )
    for name in snapshot.partition_columns:
        if not same_type(snapshot.schema[name].dataType, schema[name].dataType):
            raise UnsupportedStatementError(
                f"another type of the partition column {name}", hint="Cast the column in the source."
            )


def _check_characters(schema: StructType, partition_columns: Sequence[str]) -> None:
    """Refuse names that Parquet cannot hold, of the columns in files and then of the others."""
    in_files = [part.path[-1] for part in parts_of(schema) if part.path[0] not in partition_columns]
    for names, error_class in (
        (in_files, "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        (partition_columns, "DELTA_INVALID_PARTITION_COLUMN_NAME"),
    ):
        invalid = [name for name in names if any(char in _INVALID_CHARACTERS for char in name)]
        if invalid:
            raise AnalysisError(
                error_class,
                "Found invalid character(s) among ' ,;{}()\\n\\t=' in the column names of the new schema. "
                f"Invalid column names: {', '.join(dict.fromkeys(invalid))}. {_ADVICE[error_class]}",
            )


def _check_tracking_columns(snapshot: Snapshot, schema: StructType) -> None:
    """Refuse a column with the name of one that files have for the ids of rows (R-727)."""
    taken = [snapshot.properties.get(name) for name in (ROW_ID_COLUMN, COMMIT_VERSION_COLUMN)]
    if snapshot.row_tracking is None:
        return
    for name in schema.names:
        if name in taken:
            raise AnalysisError(
                "DELTA_ADDING_COLUMN_WITH_INTERNAL_NAME_FAILED",
                f"Failed to add column {name} because the name is reserved. Give it another name in the source.",
            )


def with_new_metadata(snapshot: Snapshot, schema: StructType) -> StructType:
    """Complete the metadata of an evolved schema: changes of types (R-716), and with column mapping ids (R-709)."""
    if schema == snapshot.schema:
        return schema
    schema = with_type_changes(schema, snapshot.schema)
    if snapshot.mapping is MappingMode.NONE:
        return schema
    return with_new_ids(schema, snapshot.schema, snapshot.properties)


def schema_actions(snapshot: Snapshot, schema: StructType) -> tuple[Action, ...]:
    """Write the ``metaData`` action for an evolved schema; without a change of the schema there is none (R-239)."""
    return () if schema == snapshot.schema else (new_metadata(snapshot, schema),)


def new_metadata(snapshot: Snapshot, schema: StructType) -> Action:
    """Write a ``metaData`` action for a schema; all else of the table's metadata stays as it is."""
    properties = dict(snapshot.properties)
    if snapshot.mapping is not MappingMode.NONE:
        properties |= {MAX_COLUMN_ID: str(max_column_id(schema, snapshot.properties))}
    said = {
        **snapshot.metadata,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema.json(),
        "partitionColumns": list(snapshot.partition_columns),
        "configuration": properties,
    }
    return {"metaData": said}
