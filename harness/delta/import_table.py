"""A case out of a real Delta table and a source file. The table given is only ever read.

The case holds the table's rows file by file, its partitioning and its properties; engines set up tables of their own
from it, so that the merge runs on a copy.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from mergecheck.harness.delta.arrow_schema import plain_table, schema_of
from mergecheck.harness.delta.tables.live_files import is_beyond_arrow, live_files
from mergecheck.harness.processes.temp_dirs import spill_path
from mergecheck.harness.verdict import HarnessBugError, UserInputError
from mergecheck.model.arrow import arrow_schema, table_to_rows
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_id import with_content_id
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.schema_json import as_nullable, columns_with_char, schema_from_json
from mergecheck.model.table_properties import checked_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

# Features of the protocol that do not affect a merge, or that a copy keeps by its properties or schema.
_KEPT_FEATURES = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "clustering",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "rowTracking",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",  # a column of that type is refused as such
    }
)
# Properties that speak of the table's own log and files, or of how long these are kept; a copy has its own.
_OF_THIS_LOG = (
    "delta.checkpoint",
    "delta.columnMapping.maxColumnId",
    "delta.deletedFileRetentionDuration",
    "delta.enableExpiredLogCleanup",
    "delta.inCommitTimestampEnablement",
    "delta.logRetentionDuration",
    "delta.rowTracking.materialized",
    "delta.setTransactionRetentionDuration",
)
_LAST_READER_VERSION, _LAST_WRITER_VERSION = 3, 7  # of the protocol; the requirements of a later one are unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RealInput:
    """The tables and the statement that the user names.

    Attributes:
        target: folder of a Delta table.
        source: a Parquet or CSV file, or the folder of a Delta table.
        sql: a MERGE whose tables are called ``target`` and ``source``.
        version: of the target; None for the newest.
    """

    target: Path
    source: Path
    sql: str
    version: int | None = None


def build_case(given: RealInput) -> Case:
    """Read both tables into a case.

    Raises:
        UserInputError: if a table cannot be read, or uses a feature that a copy would lose.
    """
    table = open_table(given.target, option="--target", version=given.version)
    _refuse_features(table, given.target)
    schema, files = _files_of(table, given.target)
    properties = _properties_of_a_copy(table.metadata().configuration, f"--target {given.target}")
    target = Target(
        schema=schema, files=files, partition_by=tuple(table.metadata().partition_columns), properties=properties
    )
    source = _read_source(given.source, schema)
    return with_content_id(Case(id="-", target=target, source=source, sql=given.sql))


@contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Verify at the end that no file of a folder was added, removed or written.

    Raises:
        HarnessBugError: if one was.
    """
    before = _listing(folder)
    yield
    after = _listing(folder)
    if after != before:
        names = sorted({name for name, *_ in before ^ after})
        raise HarnessBugError(f"{folder} changed while the merge ran on a copy: {', '.join(names[:5])}")


def rows_at(path: Path, version: int) -> tuple[Schema, tuple[Row, ...]]:
    """Read the columns and rows of a version of the target.

    Raises:
        UserInputError: if there is no such version, or it cannot be read.
    """
    schema, files = _files_of(open_table(path, option="--target", version=version), path)
    return schema, tuple(row for file in files for row in file)


def open_table(path: Path, *, option: str, version: int | None = None) -> DeltaTable:
    """Open a Delta table for reading, at its newest version or at another one.

    Raises:
        UserInputError: if there is none.
    """
    if not path.is_dir():
        raise UserInputError(f"{option} {path} is no folder; give the folder of a Delta table (it holds _delta_log)")
    try:
        return DeltaTable(path, version=version)
    except (DeltaError, OSError, ValueError) as error:
        at = "" if version is None else f" at version {version}"
        raise UserInputError(f"{option} {path}{at} cannot be read as a Delta table: {error}") from error


def _files_of(table: DeltaTable, path: Path) -> tuple[Schema, tuple[tuple[Row, ...], ...]]:
    """Read the schema, with all metadata of its columns, and the live rows, file by file."""
    _refuse_files_elsewhere(table, f"--target {path}")
    try:
        schema = schema_from_json(table.schema().to_json())
    except ValueError as error:
        raise UserInputError(f"--target {path}: {error}") from error
    try:
        if is_beyond_arrow(table):
            return schema, live_files(table, path, schema)
        dataset = table.to_pyarrow_dataset()
        wanted = arrow_schema(as_nullable(schema))
        files = []
        for fragment in dataset.get_fragments():
            # not by dataset.schema: Arrow takes the fields of a NULL struct for NULLs in its NOT NULL fields
            data = fragment.to_table(schema=wanted)
            files.append(table_to_rows(plain_table(data, wanted, what=f"--target {path}"), schema))
    except (DeltaError, OSError, ValueError, pa.ArrowException) as error:
        raise UserInputError(f"--target {path} cannot be read: {error}") from error
    return schema, tuple(files)


def _properties_of_a_copy(properties: Mapping[str, str], where: str) -> dict[str, str]:
    """Leave out properties about the table's own log, and those that Delta Lake does not read."""
    kept = {
        name: text
        for name, text in properties.items()
        if name.startswith("delta.") and not name.startswith(_OF_THIS_LOG)
    }
    try:
        return checked_properties(kept, where)
    except CaseFormatError as error:
        raise UserInputError(str(error)) from error


def _refuse_features(table: DeltaTable, path: Path) -> None:
    """Refuse features that the rows, the properties and the partitioning of a copy would not carry over."""
    protocol = table.protocol()
    named = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    versions = (
        ("reader", protocol.min_reader_version, _LAST_READER_VERSION),
        ("writer", protocol.min_writer_version, _LAST_WRITER_VERSION),
    )
    later = {f"{kind} version {version}" for kind, version, last in versions if version > last}
    used = sorted((named - _KEPT_FEATURES) | later)
    if used:
        raise UserInputError(
            f"--target {path} uses {', '.join(used)}, which a copy would lose. "
            "Give a table without these features, for example a copy made with CREATE TABLE ... AS SELECT."
        )


def _refuse_files_elsewhere(table: DeltaTable, what: str) -> None:
    """Refuse a table whose log names files of other folders: a stranger's could name any file of the user's."""
    for name in pa.table(table.get_add_actions())["path"].to_pylist():
        parts = PurePosixPath(unquote(name)).parts
        if urlsplit(name).scheme or parts[:1] == ("/",) or ".." in parts:
            raise UserInputError(
                f"{what} has files in another folder, such as {name:.200}. Give a table that has all its "
                "files in its own folder, for example a copy made with CREATE TABLE ... AS SELECT."
            )


def _read_source(path: Path, target: Schema) -> Source:
    what = f"--source {path}"
    if path.is_dir():
        opened = open_table(path, option="--source")
        _refuse_files_elsewhere(opened, what)
        if padded := columns_with_char(opened.schema().to_json()):
            raise UserInputError(
                f"{what} has CHAR columns ({', '.join(padded)}), which Spark pads with spaces where it reads them, and "
                "Delta Lake refuses in most merges. Give a Parquet file with what a query of the table shows."
            )
        table = pa.table(opened.to_pyarrow_table())
    elif not path.is_file():
        raise UserInputError(f"{what} is not there; give a .parquet or .csv file, or the folder of a Delta table")
    elif path.suffix.lower() == ".parquet":
        table = _read_parquet(path, what)
    elif path.suffix.lower() == ".csv":
        table = _read_csv(path, target, what)
    else:
        raise UserInputError(f"{what} ends in {path.suffix or 'nothing'}; .parquet, .csv and Delta folders can be read")
    schema = schema_of(table.schema, what=what)
    return Source(schema=schema, rows=table_to_rows(plain_table(table, arrow_schema(schema), what=what), schema))


def _read_parquet(path: Path, what: str) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise UserInputError(f"{what} cannot be read as Parquet: {error}") from error


def _read_csv(path: Path, target: Schema, what: str) -> pa.Table:
    """Read a CSV file with a header; columns named like the target's have the target's types, others are guessed."""
    names = {column.name.lower(): column for column in target.columns}
    with duckdb.connect(config={"temp_directory": str(spill_path())}) as connection:
        try:
            header = connection.read_csv(str(path), header=True).columns
            known = {name: names[name.lower()].type.ddl() for name in header if name.lower() in names}
            return connection.read_csv(str(path), header=True, dtype=_duckdb_types(known)).to_arrow_table()
        except duckdb.Error as error:
            raise UserInputError(f"{what} cannot be read as CSV with the target's types: {error}") from error


def _duckdb_types(types: dict[str, str]) -> dict[str, str]:
    spelled = {"STRING": "VARCHAR", "BINARY": "BLOB", "TIMESTAMP": "TIMESTAMPTZ", "TIMESTAMP_NTZ": "TIMESTAMP"}
    return {name: spelled.get(ddl, ddl) for name, ddl in types.items() if "<" not in ddl}


def _listing(folder: Path) -> set[tuple[str, int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files}
