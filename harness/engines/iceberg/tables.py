"""The tables of a case for Iceberg: statements that make them, and the table's own metadata afterwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from mergecheck.harness.engines.iceberg.settings import FIRST_FORMAT_WITH_ROW_IDS, format_of, mode_of
from mergecheck.model.arrow import rows_to_table
from mergecheck.model.types.data_types import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import Schema

CATALOG, NAMESPACE, TARGET, SOURCE = "ice", "cases", "target", "source"
_INITIAL = "mergecheck_initial"
_COMMANDS = ("delete", "update", "merge")
ROW_IDS = ("_row_id", "_last_updated_sequence_number")
"""Columns of the metadata of each row, in format 3."""

# Each file of the case is read by a task of its own, and each task writes a file.
LOADING: Mapping[str, str] = {
    "spark.sql.files.openCostInBytes": "134217728",
    "spark.sql.files.maxPartitionBytes": "134217728",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.adaptive.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the table.

    Attributes:
        number: its id.
        summary: its own summary, by name.
    """

    number: int
    summary: Mapping[str, str]


def catalog_settings(name: str, *, folder: str) -> dict[str, str]:
    """Return the settings of a session that has a catalog of files in a folder; see ``Setup.settings``."""
    catalog = f"spark.sql.catalog.{name}"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.default-namespace": NAMESPACE,
        f"{catalog}.cache-enabled": "false",
        f"{catalog}.warehouse": folder,
    }


def write_files(rows: Sequence[Sequence[Row]], schema: Schema, directory: Path) -> None:
    """Write rows as Parquet files, one for each of the given ones; without rows, an empty file."""
    directory.mkdir()
    for number, part in enumerate(rows or [()]):
        pq.write_table(rows_to_table(part, schema), directory / f"{number:05}.parquet")


def creation(case: Case, files: Path, *, isolation: str = "") -> list[dict[str, Any]]:
    """List the steps that make the target.

    Args:
        case: the case.
        files: its rows (``write_files``).
        isolation: the level of its changes, ``serializable`` or ``snapshot``; empty for Iceberg's default.
    """
    target, mode = case.target, mode_of(case)
    columns = ", ".join(
        f"{quote(c.name)} {c.type.ddl()}{'' if c.nullable else ' NOT NULL'}" for c in target.schema.columns
    )
    parts = ", ".join(quote(name) for name in target.partition_by)
    properties = {
        "format-version": str(format_of(case)),
        **{f"write.{command}.mode": mode for command in _COMMANDS},
        **({f"write.{command}.isolation-level": isolation for command in _COMMANDS} if isolation else {}),
        "write.distribution-mode": "none",
        "write.spark.fanout.enabled": "true",
    }
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    partitioned = f" PARTITIONED BY ({parts})" if parts else ""
    create = f"CREATE TABLE {TARGET} ({columns}) USING iceberg{partitioned} TBLPROPERTIES ({listed})"
    steps: list[dict[str, Any]] = [{"step": "create", "sql": create}]
    if target.rows:
        steps += [
            {"step": "load", "view": _INITIAL, "format": "parquet", "path": str(files)},
            {"step": "load", "sql": f"INSERT INTO {TARGET} SELECT * FROM {_INITIAL}"},
        ]
    return steps


def query_of_rows(case: Case) -> str:
    """Write the query for all rows of the table, with their ids if the format has them."""
    ids = f", {', '.join(ROW_IDS)}" if has_row_ids(case) else ""
    return f"SELECT *{ids} FROM {TARGET}"


def has_row_ids(case: Case) -> bool:
    """Return whether each row of the case's table has an id, which no column of the table hides."""
    names = {name.casefold() for name in case.target.schema.names}
    return format_of(case) >= FIRST_FORMAT_WITH_ROW_IDS and names.isdisjoint(ROW_IDS)


def newest_snapshot(table: Path) -> Snapshot | None:
    """Read the newest snapshot from the metadata of a table in a directory; None if it never had one.

    Raises:
        OSError: if there are none.
        ValueError: if they cannot be read.
    """
    version = int((table / "metadata" / "version-hint.text").read_text())
    metadata = json.loads((table / "metadata" / f"v{version}.metadata.json").read_text())
    current = metadata.get("current-snapshot-id", -1)
    for snapshot in metadata.get("snapshots", ()):
        if snapshot["snapshot-id"] == current:
            return Snapshot(current, snapshot["summary"])
    return None
