"""Write the tables of a scale case as Delta tables, file by file, without a row in Python.

Names, times and the table's id follow from the spec, so that the same spec gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.harness.delta.tables.partition_values import directory
from mergecheck.harness.lab.scale.tables.row_queries import Cells
from mergecheck.harness.lab.scale.tables.spec import PARTITION, SCHEMA
from mergecheck.harness.processes.temp_dirs import spill_path
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.schema_json import schema_to_json
from mergecheck.model.types.data_types import DOUBLE
from mergecheck.model.types.typed import identifier, string_literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec

_TIME = 1_700_000_000_000  # milliseconds since 1970; no clock, or the log would differ
_WRITERS = 2
_BYTES_PER_ROW = 60  # of both tables, the rewritten files and the feed, generously
_LEGACY_CDF = 4  # the writer version that implies a change feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The paths and sizes of a case's tables."""

    target: Path
    source: Path
    target_rows: int
    source_rows: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class _File:
    """One data file to write: its place in the table and the query of its rows."""

    relative: str
    query: str
    partition: int | None


def write_tables(spec: ScaleSpec, folder: Path) -> Tables:
    """Generate both tables of a case into ``target`` and ``source`` of a folder.

    Raises:
        UserInputError: if the disk has too little room for the case.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _require_room(spec, folder)
    per_file = -(-spec.rows // spec.files)
    cells = Cells(seed=spec.seed, shape=spec.recipe, rows_per_file=per_file)
    starts = [(number, first) for number, first in enumerate(range(0, spec.rows, per_file))]
    ranges = [(number, first, min(first + per_file, spec.rows)) for number, first in starts]
    target_files = [_target_file(spec, cells, *one) for one in ranges]
    source_files = [
        _File(f"part-{number:05}.parquet", cells.source(first, end), None)
        for number, first, end in ranges
        if number % spec.recipe.every == 0
    ]
    written = _write_table(spec, folder / "target", target_files, partition_by=spec.partition_by, feed=True)
    read = _write_table(spec, folder / "source", source_files, partition_by=(), feed=False)
    return Tables(
        target=folder / "target",
        source=folder / "source",
        target_rows=sum(add["rows"] for add in written),
        source_rows=sum(add["rows"] for add in read),
        num_bytes=sum(add["size"] for add in (*written, *read)),
    )


def _target_file(spec: ScaleSpec, cells: Cells, number: int, first: int, end: int) -> _File:
    name = f"part-{number:05}.parquet"
    if not spec.partition_by:
        return _File(name, cells.target(first, end), None)
    value = cells.partition(number)
    return _File(directory(spec.partition_by, (str(value),)) + name, cells.target(first, end), value)


def _require_room(spec: ScaleSpec, folder: Path) -> None:
    needed, free = spec.rows * _BYTES_PER_ROW, shutil.disk_usage(folder).free
    if needed > free:
        raise UserInputError(
            f"{spec.rows} rows need about {needed / 1e9:.0f} GB in {folder}, where {free / 1e9:.0f} GB are free. "
            "Give another folder with --work, or fewer --rows."
        )


def _write_table(
    spec: ScaleSpec, path: Path, files: Sequence[_File], *, partition_by: tuple[str, ...], feed: bool
) -> list[dict[str, Any]]:
    log = path / "_delta_log"
    log.mkdir(parents=True)
    for folder in {(path / file.relative).parent for file in files}:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(min(_WRITERS, os.cpu_count() or 1)) as pool:
        written = list(pool.map(lambda file: _write_file(path, file), files))
    added = [one for one in written if one["rows"]]
    digest = hashlib.blake2b(f"{path.name}{spec.to_json()}".encode(), digest_size=16).digest()
    configuration = {CDF_PROPERTY: "true"} if feed else {}
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": _TIME, "operation": "CREATE TABLE", "operationParameters": {}}},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": _LEGACY_CDF if feed else 2}},
        {
            "metaData": {
                "id": str(uuid.UUID(bytes=digest)),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema_to_json(SCHEMA),
                "partitionColumns": list(partition_by),
                "configuration": configuration,
                "createdTime": _TIME,
            }
        },
        *({"add": {name: value for name, value in one.items() if name != "rows"}} for one in added),
    ]
    (log / f"{0:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
    return added


def _write_file(path: Path, file: _File) -> dict[str, Any]:
    """Write one file on one thread, whose order of rows is always the same, and describe it as the log does."""
    full = path / file.relative
    columns = [column for column in SCHEMA.columns if file.partition is None or column.name != PARTITION]
    listed = ", ".join(identifier(column.name) for column in columns)
    asked = [
        part
        for column in columns
        for name in (identifier(column.name),)
        for part in (f"min({name})", f"max({name})", f"count(*) - count({name})")
    ]
    with duckdb.connect(config={"temp_directory": str(spill_path())}) as connection:
        connection.execute("SET threads = 1; SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TEMP TABLE part AS {file.query}")
        connection.execute(f"COPY (SELECT {listed} FROM part) TO {string_literal(str(full))} (FORMAT parquet)")
        found = connection.execute(f"SELECT count(*), {', '.join(asked)} FROM part").fetchall()[0]
    low, high, nulls = ({}, {}, {})  # type: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
    for place, column in enumerate(columns):
        low_value, high_value, nulls[column.name] = found[1 + 3 * place : 4 + 3 * place]
        if low_value is not None and column.type != DOUBLE:  # NaN and infinities have no bounds in JSON
            low[column.name], high[column.name] = _bound(low_value), _bound(high_value)
    stats = {"numRecords": found[0], "minValues": low, "maxValues": high, "nullCount": nulls}
    return {
        "path": file.relative,
        "partitionValues": {} if file.partition is None else {PARTITION: str(file.partition)},
        "size": full.stat().st_size,
        "modificationTime": _TIME,
        "dataChange": True,
        "stats": json.dumps(stats),
        "rows": found[0],
    }


def _bound(value: Any) -> int | float | str:  # noqa: ANN401 - any value of the schema
    return value if isinstance(value, int) else str(value) if not hasattr(value, "as_tuple") else float(value)
