"""Write the tables of a case as Delta tables, without Spark: one Parquet file per file, all of them in one commit."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow.parquet as pq

from mergecheck.harness.delta.arrow_layout import schema_metadata
from mergecheck.harness.delta.stored_files import StoredRows, statistics, stored_rows, with_deleted_copies
from mergecheck.harness.delta.tables.checkpoints import write_checkpoint
from mergecheck.harness.delta.tables.column_names import (
    MAX_COLUMN_ID,
    maps_columns,
    stored_names,
    stored_schema,
    with_ids,
    with_mapping,
)
from mergecheck.harness.delta.tables.domains import domain_actions
from mergecheck.harness.delta.tables.partition_values import directory, serialize
from mergecheck.harness.delta.tables.protocol import protocol_of
from mergecheck.harness.delta.tables.row_ids import (
    domain_of,
    num_earlier_commits,
    number_rows,
    tracking_properties,
    with_stored_ids,
)
from mergecheck.harness.delta.tables.vectors import write_vectors
from mergecheck.harness.delta.tables.widened_columns import earlier_rows, with_type_changes
from mergecheck.model.arrow import rows_to_table
from mergecheck.model.case import Target
from mergecheck.model.layout import has_vector, physical_files
from mergecheck.model.schema_json import schema_to_json
from mergecheck.model.storage import ColumnNames, StringType, TargetLayout
from mergecheck.model.table_properties import IN_COMMIT_TIMESTAMPS, is_of_protocol, is_on
from mergecheck.model.types import data_types as types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mergecheck.harness.delta.tables.row_ids import FileNumbers
    from mergecheck.model.case import Source
    from mergecheck.model.layout import PhysicalFile

_AHEAD_MS = 3_600_000
"""So far in the future is the table's in-commit timestamp: the clock alone never gives a greater one."""
_DESCRIPTION = {"name": "target", "description": "the target of a case"}
_COMMENT = "what the case says of"


class UnwritableTableError(ValueError):
    """The case asks for a table that this module cannot write; the message gives the reason."""


def write_target(target: Target, path: Path, *, described: bool = True) -> None:
    """Write a target as a Delta table: as version 0, or after a few commits if rows have ids from earlier ones.

    The rows lie in the files that ``model.layout.physical_files`` gives, as ``target.layout`` says. NOT NULL,
    defaults and generation expressions are in the schema, CHECK constraints in the properties; nothing here
    enforces them, so a target may hold rows that a merge may not write. A table without columns is a log without files.

    Args:
        target: the table before the merge.
        path: a directory that does not exist yet, or an empty one.
        described: give the table a name and a description, and each column a comment, which a merge must keep.

    Raises:
        UnwritableTableError: for rows without columns, nothing but partition columns (R-745), VOID columns and BINARY
            partition columns.
    """
    schema_json = _checked_schema(target, comment=_COMMENT if described else None)
    schema_json = with_type_changes(schema_json, target.schema, target.layout.widened_columns)
    stored_properties = tracking_properties(target.properties)
    if maps_columns(target.properties):
        renamed = target.layout.column_names is ColumnNames.OF_OTHERS
        schema_json, last = with_mapping(schema_json, renamed=renamed)
        stored_properties[MAX_COLUMN_ID] = str(last + len(target.layout.dropped_columns))
    log = path / "_delta_log"
    log.mkdir(parents=True)
    actions: list[dict[str, Any]] = [
        {"commitInfo": _commit_info(target)},
        {"protocol": protocol_of(target)},
        {"metaData": _metadata(target, schema_json, stored_properties) | (_DESCRIPTION if described else {})},
    ]
    actions.extend({"txn": {"appId": app, "version": version}} for app, version in target.transactions.items())
    stored = _with_stored_names(target, schema_json)
    actions.extend(domain_actions(target, stored.layout.cluster_by))
    files = [*_write_files(stored, path, schema_json)]
    last = num_earlier_commits(target)
    later = [[{"commitInfo": _commit_info(target, number)}] for number in range(1, last + 1)]
    commits = [actions, *later]
    commits[-1] += files
    for version, commit in enumerate(commits):
        # Characters as they are: delta-rs 1.6 reads an escaped pair of surrogates as another character.
        text = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in commit)
        (log / f"{version:020}.json").write_text(text, encoding="utf-8")
    write_checkpoint(path, target.layout.checkpoint, [action for commit in commits for action in commit], version=last)


def write_source(source: Source, path: Path) -> None:
    """Write a source relation as a Delta table of one file, whose row groups are the batches of its layout.

    Raises:
        UnwritableTableError: when a table cannot hold the source (VOID columns, two columns of one name).
    """
    folded = [name.casefold() for name in source.schema.names]
    if len(set(folded)) < len(folded):
        raise UnwritableTableError("a table cannot hold two columns whose names differ in case only")
    layout = TargetLayout(row_group_rows=source.layout.batch_rows, string_type=source.layout.string_type)
    write_target(Target(schema=source.schema, files=(source.rows,), layout=layout), path, described=False)


def _checked_schema(target: Target, *, comment: str | None) -> str:
    if not target.schema.columns and target.rows:
        raise UnwritableTableError("rows without columns, which no data file can hold")
    if target.partition_by and len(target.partition_by) == len(target.schema.columns):
        raise UnwritableTableError("every column is a partition column, and such a table cannot be written (R-745)")
    if any(c.name in target.partition_by and c.type == types.BINARY for c in target.schema.columns):
        raise UnwritableTableError("partitioned by a BINARY column, whose text readers do not agree about")
    try:
        return schema_to_json(target.schema, comment=comment)
    except ValueError as error:
        raise UnwritableTableError(str(error)) from error


def _commit_info(target: Target, version: int = 0) -> dict[str, Any]:
    """Describe the making of the table; its in-commit timestamp, if it has one, is in the future (R-707)."""
    info = {"timestamp": _now_ms(), "operation": "CREATE TABLE", "operationParameters": {}}
    if is_on(target.properties, IN_COMMIT_TIMESTAMPS):
        return {"inCommitTimestamp": _now_ms() + _AHEAD_MS + version, **info}
    return info


def _metadata(target: Target, schema_json: str, properties: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema_json,
        "partitionColumns": list(target.partition_by),
        "configuration": {
            **{name: value for name, value in target.properties.items() if not is_of_protocol(name)},
            **properties,
        },
        "createdTime": _now_ms(),
    }


def _write_files(target: Target, path: Path, schema_json: str) -> Iterator[dict[str, Any]]:
    """Write the files and yield the actions about them."""
    files = physical_files(target)
    marked = [number for number in range(len(files)) if has_vector(target.layout, number)]
    vectors = [range(0, 2 * len(files[number][1]) + 1, 2) for number in marked]
    said = dict(zip(marked, write_vectors(path, target.layout.vectors, vectors), strict=True))
    counts = [2 * len(rows) + 1 if number in said else len(rows) for number, (_, rows) in enumerate(files)]
    numbers = number_rows(target, counts)
    for number, file in enumerate(files):
        ids = numbers[number] if numbers else None
        add = _write_file(target, path, schema_json, file=file, number=number, ids=ids)
        yield {"add": {**add, "deletionVector": said[number]} if number in said else add}
    yield from domain_of(numbers, counts, target.layout.row_ids)


def _with_stored_names(target: Target, schema_json: str) -> Target:
    """Rename the columns to their names in the table's files (R-709)."""
    if not maps_columns(target.properties):
        return target
    schema, stored, layout = target.schema, stored_schema(target.schema, schema_json), target.layout
    partition_by, added, clusters = (
        stored_names(names, schema, stored) for names in (target.partition_by, layout.added_columns, layout.cluster_by)
    )
    names = dict(zip(schema.names, stored.names, strict=True))
    widened = {names[name]: kind for name, kind in layout.widened_columns.items()}
    layout = replace(layout, added_columns=added, cluster_by=clusters, widened_columns=widened)
    return replace(target, schema=stored, partition_by=partition_by, layout=layout)


def _write_file(
    target: Target, path: Path, schema_json: str, *, file: PhysicalFile, number: int, ids: FileNumbers | None
) -> dict[str, Any]:
    values, rows = file
    if has_vector(target.layout, number):
        rows = with_deleted_copies(rows)
    types_of = {column.name: column.type for column in target.schema.columns}
    texts = [serialize(v, types_of[name]) for name, v in zip(target.partition_by, values, strict=True)]
    relative = directory(target.partition_by, texts) + f"part-{number:05}-{uuid.uuid4()}.parquet"
    full = path / relative
    if texts:
        full.parent.mkdir(parents=True, exist_ok=True)
    layout = target.layout
    stored = stored_rows(target, rows)
    if layout.widened_columns and number % 2 == 0:
        earlier = earlier_rows(stored.schema, stored.rows, layout.widened_columns)
        stored = stored if earlier is None else StoredRows(*earlier)
    table = rows_to_table(stored.rows, stored.schema)
    if maps_columns(target.properties):
        table = with_ids(table, schema_json, dropped=layout.dropped_columns)
    table = with_stored_ids(table, ids)
    as_spark = layout.string_type is StringType.STRING  # without Arrow's own schema, and with DECIMALs as integers
    with pq.ParquetWriter(full, table.schema, store_schema=False, store_decimal_as_integer=as_spark) as writer:
        writer.write_table(table, row_group_size=layout.row_group_rows)
        if not as_spark:
            writer.add_key_value_metadata(schema_metadata(table.schema, layout.string_type))
    add = {
        "path": quote(relative, safe="/=+@,;()&$!~-_.:'"),
        "partitionValues": dict(zip(target.partition_by, texts, strict=True)),
        "size": full.stat().st_size,
        "modificationTime": _now_ms(),
        "dataChange": True,
        **({} if ids is None else ids.entries),
    }
    said = statistics(layout, stored, number)
    return add if said is None else {**add, "stats": said}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
