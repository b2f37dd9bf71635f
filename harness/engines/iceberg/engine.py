"""The engine ``iceberg``: Spark's ``MERGE INTO`` on a table of Apache Iceberg, in a child process."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.delta.observe import UNREADABLE_TABLE
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.iceberg.answer import (
    CHANGE_TYPES,
    COMPARED_METRICS,
    metrics_of,
    outcome_of,
    row_id_faults,
)
from mergecheck.harness.engines.iceberg.settings import (
    AXES,
    FEATURES_OFF,
    has_changelog,
    lacking,
    session_settings,
)
from mergecheck.harness.engines.iceberg.shared_table import SHARED, IcebergWriter, SharedTable
from mergecheck.harness.engines.iceberg.tables import (
    CATALOG,
    LOADING,
    NAMESPACE,
    ROW_IDS,
    SOURCE,
    TARGET,
    catalog_settings,
    creation,
    has_row_ids,
    newest_snapshot,
    query_of_rows,
    write_files,
)
from mergecheck.harness.engines.spark.maven_jars import JarSet
from mergecheck.harness.engines.spark_versions.child import Setup, SparkChild
from mergecheck.harness.engines.spark_versions.needs import diagnose
from mergecheck.harness.engines.spark_versions.spark_version import release_on_spark
from mergecheck.harness.engines.statement_forms import in_sql_order, with_evolution_clause
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.verdict import BadSettingError, UserInputError
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Feed, Rejection, Unsupported
from mergecheck.model.schema_json import schema_from_json
from mergecheck.model.types.data_types import BIGINT, STRING, Field, Schema
from mergecheck.reference.dialects import SPARK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.harness.engine import Diagnosis, Engine, Lost, Point, Written
    from mergecheck.harness.engines.iceberg.tables import Snapshot
    from mergecheck.harness.engines.spark_versions.spark_version import ReleaseOnSpark
    from mergecheck.model.case import Case, Row, Target
    from mergecheck.model.outcome import EngineResult

RELEASE = "1.12.0+spark4.1"
"""The release that runs if none is named."""

_CHANGES, _CHANGE_COLUMNS = "mergecheck_changes", ("_change_type", "_change_ordinal", "_commit_snapshot_id")
_CLEANUP = (f"DROP TABLE IF EXISTS {TARGET} PURGE", f"DROP VIEW IF EXISTS {SOURCE}", f"DROP VIEW IF EXISTS {_CHANGES}")


class IcebergEngine:
    """Runs a case through Spark's MERGE on a fresh Iceberg table in a catalog of files.

    Rows are read by Spark, metrics from the summary of the snapshot, change rows from the changelog view.

    Args:
        release: Iceberg's, and the version of Spark.
    """

    name = "iceberg"
    capabilities = Capabilities(
        error_class=False,
        metric_names=COMPARED_METRICS,
        reasons={
            "metrics": "which files are rewritten, and so which rows are copied, is the engine's choice",
            "cdf": "the changelog of Iceberg reads no table whose rows are deleted on read, and none with a MAP",
            "commit": "Iceberg decides by its own rules whether a merge that changes no row makes a snapshot",
            "error": "Spark's errors have other classes than Delta's",
            "path": "Iceberg has no paths of Delta's",
            "table": "an Iceberg table has no log of Delta's",
            "log": "an Iceberg table has no log of Delta's",
            "result": "Spark's MERGE returns no row",
        },
        features_off=FEATURES_OFF,
        axes=AXES,
        dialect=SPARK,
    )

    def __init__(self, release: ReleaseOnSpark | None = None) -> None:
        self._release = release or _release(RELEASE)
        self.version = str(self._release)
        self._child = SparkChild(_setup(self._release))
        self._table = self._child.warehouse / NAMESPACE / TARGET
        self._shared = SharedTable(self._child)

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs another release.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be had here.
        """
        return cls(_release(version))

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met.

        Raises:
            UserInputError: if the text names no release.
        """
        return diagnose(_setup(_release(version or RELEASE)))

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), self._release)

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return which part of a case Iceberg does not support."""
        reason = lacking(case)
        return None if reason is None else Unsupported(reason)

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        if (refusal := self.unsupported_reason(case)) is not None:
            return refusal
        with scratch_directory() as directory:
            write_files([part for part in case.target.files if part], case.target.schema, directory / "target")
            steps = creation(case, directory / "target")
            if case.source is not None:
                write_files([case.source.rows], case.source.schema, directory / SOURCE)
                steps.append({"step": "load", "view": SOURCE, "format": "parquet", "path": str(directory / SOURCE)})
            if has_row_ids(case):
                steps.append({"step": "load", "sql": query_of_rows(case), "to": str(directory / "before"), "name": "-"})
            made = self._child.run(_fresh(steps), conf=LOADING)
            if isinstance(made, Rejection):
                return made
            if (failed := made.get("failed")) is not None:
                return Unsupported(f"a table that Iceberg does not make: {failed['class']}")
            return self._merged(case, directory)

    def fork(self) -> IcebergWriter:
        """Return a writer with a session of its own, which shares a table with others."""
        return IcebergWriter(self._shared, version=self.version, capabilities=self.capabilities)

    def run_in_steps(
        self, case: Case, table: Path, at: Callable[[Point], None]
    ) -> Written | Lost | Rejection | Unsupported:
        """Merge into the shared table, and stop at each point."""
        return self.fork().run_in_steps(case, table, at)

    def make_table(self, target: Target, isolation: str) -> Unsupported | None:
        """Make the shared table anew."""
        return self._shared.make(target, isolation)

    def newest_version(self) -> int:
        """Return the number of commits since the shared table was made."""
        return self._shared.newest_version()

    def table_at(self, version: int) -> tuple[Schema, tuple[Row, ...]]:
        """Read a version of the shared table."""
        return self._shared.at(version)

    def execute(self, sql: str) -> None:
        """Carry out a statement of another writer on the shared table."""
        self._shared.execute(sql)

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def _merged(self, case: Case, directory: Path) -> EngineResult:
        before = newest_snapshot(self._table)
        rows = {"step": "rows", "sql": query_of_rows(case), "to": str(directory / "after"), "name": "schema"}
        sql = in_sql_order(with_evolution_clause(case))
        answer = self._child.run([{"step": "merge", "sql": sql}, rows], conf=session_settings(case))
        if isinstance(answer, Rejection):
            return answer
        snapshot = newest_snapshot(self._table)
        if snapshot is not None and before is not None and snapshot.number == before.number:
            snapshot = None
        if (failed := answer.get("failed")) is not None:
            return self._failed(case, failed, directory, is_new=snapshot is not None)
        schema = schema_from_json(json.dumps(answer["results"]["schema"]))
        found, ids = _rows(directory / "after", schema, with_ids=has_row_ids(case))
        faults: tuple[str, ...] = ()
        if has_row_ids(case):
            held = _rows(directory / "before", _with_ids(case.target.schema), with_ids=True)[1]
            faults = row_id_faults(held, ids, {} if snapshot is None else metrics_of(snapshot))
            schema = Schema(schema.columns[: -len(ROW_IDS)])
        changes = self._changes(case, schema, before, snapshot, directory)
        if isinstance(changes, Rejection):
            return changes
        feed = Feed.NET if has_changelog(case) else Feed.UNTOLD
        return outcome_of(schema, found, changes=changes, feed=feed, snapshot=snapshot, id_faults=faults)

    def _failed(self, case: Case, failed: dict[str, str], directory: Path, *, is_new: bool) -> EngineResult:
        if failed["step"] == "setting":
            raise BadSettingError(f"Spark refuses a setting of the case: {failed['message']}")
        if failed["step"] == "rows":
            message = f"the merge succeeded, but Spark cannot read the table: {failed['class']}: {failed['message']}"
            return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)
        query = {"step": "rows", "sql": f"SELECT * FROM {TARGET}", "to": str(directory / "left"), "name": "schema"}
        left = self._child.run([query], conf={})
        unchanged = False
        if isinstance(left, dict) and "failed" not in left:
            schema = schema_from_json(json.dumps(left["results"]["schema"]))
            rows = _rows(directory / "left", schema, with_ids=False)[0]
            unchanged = not is_new and same_rows(physical_rows(case.target), rows, case.target.schema)
        return Rejection(error_class=failed["class"], message=failed["message"], unchanged=unchanged)

    def _changes(
        self, case: Case, schema: Schema, before: Snapshot | None, snapshot: Snapshot | None, directory: Path
    ) -> tuple[Row, ...] | Rejection | None:
        """Read the change rows; None if the case asks for none, or they cannot be derived from Iceberg."""
        if not case.target.change_data_feed or not has_changelog(case):
            return None
        if snapshot is None:
            return ()
        since = "" if before is None else f"'start-snapshot-id', '{before.number}', "
        view = (
            f"CALL {CATALOG}.system.create_changelog_view(table => '{NAMESPACE}.{TARGET}', "
            f"changelog_view => '{_CHANGES}', options => map({since}'end-snapshot-id', '{snapshot.number}'))"
        )
        to = str(directory / "changes")
        answer = self._child.run([{"sql": view}, {"sql": f"SELECT * FROM {_CHANGES}", "to": to, "name": "-"}], conf={})
        if isinstance(answer, Rejection):
            return answer
        if (failed := answer.get("failed")) is not None:
            message = f"the merge succeeded, but its changelog cannot be read: {failed['class']}: {failed['message']}"
            return Rejection(error_class=UNREADABLE_TABLE, message=message, unchanged=False)
        with pa.ipc.open_file(to) as reader:
            table = reader.read_all()
        table = table.select([*schema.names, _CHANGE_COLUMNS[0]])
        rows = table_to_rows(table, Schema((*schema.columns, Field(_CHANGE_COLUMNS[0], STRING))))
        return tuple((*row[:-1], CHANGE_TYPES.get(row[-1], row[-1])) for row in rows)


def _release(version: str) -> ReleaseOnSpark:
    release = release_on_spark(IcebergEngine.name, version, example=RELEASE)
    if not release.spark.gives_arrow_tables:
        raise UserInputError(
            f"iceberg@{release}: the rows of a table are read from Spark as Arrow's, which Spark 4 and newer can do. "
            f"Name a release for such a Spark, for example iceberg@{RELEASE}"
        )
    return release


def _setup(release: ReleaseOnSpark) -> Setup:
    spark = release.spark
    artifact = f"iceberg-spark-runtime-{spark}_{spark.scala}"
    return Setup(
        spark=spark,
        jars=(
            JarSet(
                title=f"Iceberg {release.release} for Spark {spark}",
                folder=f"{artifact}-{release.release}",
                coordinates=(f"org.apache.iceberg:{artifact}:{release.release}",),
                groups=("org.apache.iceberg",),
                hint=", or name a release and a Spark that belong together",
            ),
        ),
        settings={
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            **catalog_settings(CATALOG, folder="{warehouse}"),
            **catalog_settings(SHARED, folder=f"{{warehouse}}/{SHARED}"),
            "spark.sql.defaultCatalog": CATALOG,
            # The source is a Parquet file here, and Spark's reader loses rows with NaN and with the other zero.
            "spark.sql.parquet.filterPushdown": "false",
        },
    )


def _fresh(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put before the steps what takes away the tables of the case before."""
    return [*({"step": "create", "sql": sql} for sql in _CLEANUP), *steps]


def _with_ids(schema: Schema) -> Schema:
    return Schema((*schema.columns, *(Field(name, BIGINT) for name in ROW_IDS)))


def _rows(path: Path, schema: Schema, *, with_ids: bool) -> tuple[tuple[Row, ...], list[tuple[int, int]]]:
    """Read rows, and the ids that are their last columns."""
    with pa.ipc.open_file(str(path)) as reader:
        rows = table_to_rows(reader.read_all(), schema)
    if not with_ids:
        return rows, []
    return tuple(row[:-2] for row in rows), [(row[-2], row[-1]) for row in rows]
