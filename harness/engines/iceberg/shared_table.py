"""The table of Iceberg that several writers share, each with a session of its own.

It has a catalog of its own. Iceberg's events stop a writer: it sends a ``ScanEvent`` when it plans the files of a
snapshot. The statement was analysed before, so its snapshots are chosen. After the event it reads the files, which
never change, and commits.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from mergecheck.harness.engine import Lost, Point, PointKind, Written
from mergecheck.harness.engines.iceberg.settings import FORMAT, MERGE_ON_READ, MODE, lacking, session_settings
from mergecheck.harness.engines.iceberg.tables import CATALOG, LOADING, NAMESPACE, SOURCE, TARGET, creation, write_files
from mergecheck.harness.engines.statement_forms import in_sql_order, with_evolution_clause
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.case import Case, Source
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.model.schema_json import schema_from_json
from mergecheck.model.table_properties import DELETION_VECTORS, ROW_TRACKING, is_on
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.engines.spark_versions.child import SparkChild
    from mergecheck.model.case import Row, Target
    from mergecheck.model.outcome import EngineResult

SHARED = "shared"
"""The catalog."""
_HERE = ({"step": "use", "sql": f"USE {SHARED}.{NAMESPACE}"},)
_BACK = (f"DROP VIEW IF EXISTS {SOURCE}", f"USE {CATALOG}.{NAMESPACE}")
_SCAN = "org.apache.iceberg.events.ScanEvent"
_LOST = frozenset({"ValidationException", "CommitFailedException"})
"""Iceberg's errors for a commit that conflicts with another one."""
_KINDS: Mapping[str, Mapping[str, str]] = {
    DELETION_VECTORS: {MODE: MERGE_ON_READ, FORMAT: "3"},
    ROW_TRACKING: {FORMAT: "3"},
}
"""The kind of table that comes closest to a feature of Delta Lake."""


@dataclass(frozen=True, slots=True)
class SharedTable:
    """The table.

    Attributes:
        child: the Spark of all sessions.
    """

    child: SparkChild

    def make(self, target: Target, isolation: str) -> Unsupported | None:
        """Make the table anew; return what Iceberg lacks for it."""
        if isolation not in ("Serializable", "Snapshot"):
            return Unsupported(f"isolation {isolation}")
        case = _case_of(target)
        if (reason := lacking(_without_partitions(case))) is not None:
            return Unsupported(reason)
        with scratch_directory() as directory:
            write_files([part for part in target.files if part], target.schema, directory / "target")
            steps = [
                {"step": "create", "sql": f"CREATE NAMESPACE IF NOT EXISTS {SHARED}.{NAMESPACE}"},
                *_HERE,
                {"step": "create", "sql": f"DROP TABLE IF EXISTS {TARGET} PURGE"},
                *creation(case, directory / "target", isolation=isolation.lower()),
            ]
            self._run(steps, conf=LOADING)
        self._start.write_text(str(self._newest_metadata()))
        return None

    def newest_version(self) -> int:
        """Return the number of commits since the table was made: each writes one file of metadata."""
        return self._newest_metadata() - int(self._start.read_text())

    def at(self, version: int) -> tuple[Schema, tuple[Row, ...]]:
        """Read a version's columns and rows."""
        number = int(self._start.read_text()) + version
        current = json.loads((self._metadata / f"v{number}.metadata.json").read_text())["current-snapshot-id"]
        with scratch_directory() as directory:
            query = f"SELECT * FROM {TARGET} VERSION AS OF {current}"
            answer = self._run(
                [*_HERE, {"step": "rows", "sql": query, "to": str(directory / "rows"), "name": "schema"}]
            )
            schema = schema_from_json(json.dumps(answer["results"]["schema"]))
            with pa.ipc.open_file(str(directory / "rows")) as reader:
                return schema, table_to_rows(reader.read_all(), schema)

    def execute(self, sql: str) -> None:
        """Carry out a statement of another writer."""
        self._run([*_HERE, {"step": "write", "sql": sql}])

    def merge(self, case: Case, writer: str, at: Callable[[Point], None]) -> Written | Lost | Rejection | Unsupported:
        """Merge into the table in a writer's session, and stop before the analysis and before files are read."""
        if (reason := lacking(_without_partitions(case))) is not None:
            return Unsupported(reason)
        at(Point(PointKind.BEFORE_SNAPSHOT))
        before = self._newest_metadata()
        with scratch_directory() as directory:
            steps: list[dict[str, Any]] = [*_HERE]
            if case.source is not None:
                write_files([case.source.rows], case.source.schema, directory / SOURCE)
                steps.append({"step": "load", "view": SOURCE, "format": "parquet", "path": str(directory / SOURCE)})
            steps.append({"step": "merge", "sql": in_sql_order(with_evolution_clause(case)), "stops_at": _SCAN})
            newest = [before]

            def before_commit() -> None:
                at(Point(PointKind.BEFORE_COMMIT))
                newest.append(self._newest_metadata())

            answer = self.child.run(steps, conf=session_settings(case), cleanup=_BACK, writer=writer, at=before_commit)
        if isinstance(answer, Rejection):
            return answer
        if (failed := answer.get("failed")) is not None:
            end = Lost if failed["class"] in _LOST else Rejection
            return end(error_class=failed["class"], message=failed["message"])
        return Written(committed=self._newest_metadata() > newest[-1])

    @property
    def _metadata(self) -> Path:
        return self.child.warehouse / SHARED / NAMESPACE / TARGET / "metadata"

    @property
    def _start(self) -> Path:
        """A file with the number of the metadata that the table began with, for all who share it."""
        return self.child.warehouse / SHARED / "start"

    def _newest_metadata(self) -> int:
        return int((self._metadata / "version-hint.text").read_text())

    def _run(self, steps: Sequence[Mapping[str, Any]], *, conf: Mapping[str, str] | None = None) -> dict[str, Any]:
        answer = self.child.run(steps, conf=conf or {}, cleanup=_BACK)
        if isinstance(answer, Rejection):
            raise EngineDownError(f"iceberg: {answer.error_class}: {answer.message}")
        if (failed := answer.get("failed")) is not None:
            raise EngineDownError(f"iceberg: {failed['step']}: {failed['class']}: {failed['message']}")
        return answer


class IcebergWriter:
    """A writer of the shared table; it runs no cases of its own."""

    name = "iceberg"

    def __init__(self, table: SharedTable, *, version: str, capabilities: Capabilities) -> None:
        self.version, self.capabilities = version, capabilities
        self._table, self._session = table, secrets.token_hex(4)

    def run(self, case: Case) -> EngineResult:
        """Run no case."""
        return Unsupported(f"anything but the shared table: {case.id}")

    def fork(self) -> IcebergWriter:
        """Return another writer."""
        return type(self)(self._table, version=self.version, capabilities=self.capabilities)

    def run_in_steps(
        self, case: Case, table: Path, at: Callable[[Point], None]
    ) -> Written | Lost | Rejection | Unsupported:
        """Merge into the shared table, and stop at each point."""
        del table  # the shared one is in Iceberg's own catalog
        return self._table.merge(case, self._session, at)

    def close(self) -> None:
        """Leave the session to the end of the child."""


def _case_of(target: Target) -> Case:
    """Return a case whose settings choose the kind of table for a target's features."""
    conf: dict[str, str] = {}
    for name, kind in _KINDS.items():
        if is_on(target.properties, name):
            conf |= kind
    return Case(id="shared", target=replace(target, properties={}), source=Source(schema=Schema(())), sql="", conf=conf)


def _without_partitions(case: Case) -> Case:
    """Return a case for ``lacking``, which refuses partitions by texts because of empty texts; scenarios have none."""
    return replace(case, target=replace(case.target, partition_by=(), properties={}))
