"""The key ``layout`` of a case file: optional in target and source, and so is every key inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.json_shape import require_column_names, require_object
from mergecheck.model.storage import (
    Checkpoint,
    ColumnNames,
    RowIds,
    SourceLayout,
    Statistics,
    StringType,
    TargetLayout,
    Vectors,
)
from mergecheck.model.types.ddl import parse_type
from mergecheck.model.types.widening import was_widened

if TYPE_CHECKING:
    from enum import Enum

    from mergecheck.model.types.data_types import DataType, Schema

    Choice = TypeVar("Choice", bound=Enum)

_TARGET_KEYS = (
    *("row_group_rows", "string_type", "statistics", "added_columns", "checkpoint", "cluster_by"),
    *("column_names", "dropped_columns", "vectors", "files_with_vectors", "widened_columns", "row_ids"),
)
_SOURCE_KEYS = ("batch_rows", "string_type")


def target_layout(document: object, schema: Schema, partition_by: tuple[str, ...], where: str) -> TargetLayout:
    """Read the layout of a target.

    Raises:
        CaseFormatError: if it is not in the format; ``where`` leads the message.
    """
    keys = require_object(document, _TARGET_KEYS, (), where)
    stored = tuple(column.name for column in schema.columns if column.name not in partition_by and column.nullable)
    return TargetLayout(
        row_group_rows=_number(keys.get("row_group_rows"), f"{where}, row_group_rows"),
        string_type=_choice(keys.get("string_type"), StringType.STRING, f"{where}, string_type"),
        statistics=_choice(keys.get("statistics"), Statistics.ALL, f"{where}, statistics"),
        added_columns=_added_columns(keys.get("added_columns", []), schema, stored, f"{where}, added_columns"),
        checkpoint=_choice(keys.get("checkpoint"), Checkpoint.NONE, f"{where}, checkpoint"),
        column_names=_choice(keys.get("column_names"), ColumnNames.GENERATED, f"{where}, column_names"),
        dropped_columns=_dropped_columns(keys.get("dropped_columns", []), schema, f"{where}, dropped_columns"),
        vectors=_choice(keys.get("vectors"), Vectors.NONE, f"{where}, vectors"),
        files_with_vectors=_file_numbers(keys.get("files_with_vectors"), f"{where}, files_with_vectors"),
        widened_columns=_widened_columns(
            keys.get("widened_columns", {}), schema, partition_by, f"{where}, widened_columns"
        ),
        row_ids=_choice(keys.get("row_ids"), RowIds.BY_FILES, f"{where}, row_ids"),
        cluster_by=_cluster_by(keys.get("cluster_by", []), schema, partition_by, f"{where}, cluster_by"),
    )


def source_layout(document: object, where: str) -> SourceLayout:
    """Read the layout of a source.

    Raises:
        CaseFormatError: if it is not in the format; ``where`` leads the message.
    """
    keys = require_object(document, _SOURCE_KEYS, (), where)
    return SourceLayout(
        batch_rows=_number(keys.get("batch_rows"), f"{where}, batch_rows"),
        string_type=_choice(keys.get("string_type"), StringType.STRING, f"{where}, string_type"),
    )


def layout_to_json(layout: TargetLayout | SourceLayout) -> dict[str, Any]:
    """Write a layout's differences from the default; empty for the default."""
    document: dict[str, Any] = {}
    if isinstance(layout, TargetLayout):
        if layout.row_group_rows is not None:
            document["row_group_rows"] = layout.row_group_rows
        if layout.statistics is not Statistics.ALL:
            document["statistics"] = layout.statistics.value
        if layout.added_columns:
            document["added_columns"] = list(layout.added_columns)
        if layout.checkpoint is not Checkpoint.NONE:
            document["checkpoint"] = layout.checkpoint.value
        if layout.column_names is not ColumnNames.GENERATED:
            document["column_names"] = layout.column_names.value
        if layout.dropped_columns:
            document["dropped_columns"] = list(layout.dropped_columns)
        if layout.vectors is not Vectors.NONE:
            document["vectors"] = layout.vectors.value
        if layout.files_with_vectors is not None:
            document["files_with_vectors"] = list(layout.files_with_vectors)
        if layout.widened_columns:
            document["widened_columns"] = {name: kind.ddl() for name, kind in layout.widened_columns.items()}
        if layout.row_ids is not RowIds.BY_FILES:
            document["row_ids"] = layout.row_ids.value
        if layout.cluster_by:
            document["cluster_by"] = list(layout.cluster_by)
    elif layout.batch_rows is not None:
        document["batch_rows"] = layout.batch_rows
    if layout.string_type is not StringType.STRING:
        document["string_type"] = layout.string_type.value
    return document


def _number(value: object, where: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CaseFormatError(f"{where}: must be a whole number from 1 on, given {value!r:.80}; leave it out for all")
    return value


def _file_numbers(value: object, where: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(number) is int and number >= 0 for number in value):
        raise CaseFormatError(f"{where}: must be a list of numbers of files, from 0 on; given {value!r:.80}")
    return tuple(value)


def _choice(value: object, default: Choice, where: str) -> Choice:
    if value is None:
        return default
    allowed = [member.value for member in type(default)]
    if value not in allowed:
        raise CaseFormatError(f"{where}: must be one of {', '.join(allowed)}; given {value!r:.80}")
    return type(default)(value)


def _added_columns(value: object, schema: Schema, stored: tuple[str, ...], where: str) -> tuple[str, ...]:
    names = require_column_names(value, tuple(schema.names), where)
    for name in names:
        if name not in stored:
            raise CaseFormatError(
                f"{where}: {name!r} is a partition column or NOT NULL, so no file can lack it; "
                f"allowed are {', '.join(stored) or 'none'}"
            )
    return names


def _dropped_columns(value: object, schema: Schema, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise CaseFormatError(f"{where}: must be a list of names, given {value!r:.80}")
    known = {name.lower() for name in schema.names}
    if there := [name for name in value if name.lower() in known]:
        raise CaseFormatError(f"{where}: {there[0]!r} is a column of the table; name columns that it has no more")
    return tuple(value)


def _widened_columns(value: object, schema: Schema, partition_by: tuple[str, ...], where: str) -> dict[str, DataType]:
    if not isinstance(value, dict):
        raise CaseFormatError(f"{where}: must be an object of names and types, given {value!r:.80}")
    found = {}
    for name in require_column_names(list(value), tuple(schema.names), where):
        now, old = schema.columns[schema.names.index(name)].type, parse_type(str(value[name]))
        if name in partition_by or not was_widened(old, now):
            raise CaseFormatError(
                f"{where}: {name!r} is {'a partition column' if name in partition_by else now.ddl()}; no such column "
                f"had the type {old.ddl()} (R-716)"
            )
        found[name] = old
    return found


def _cluster_by(value: object, schema: Schema, partition_by: tuple[str, ...], where: str) -> tuple[str, ...]:
    names = require_column_names(value, tuple(schema.names), where)
    if names and partition_by:
        raise CaseFormatError(f"{where}: a table with partition_by cannot be clustered; leave one of them out")
    return names
