"""The process that writes the class archive: it runs Spark as merges do, so that the JVM loads what they need."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mergecheck.harness.configuration.extras import is_installed
from mergecheck.harness.engines.spark.delta_jars import delta_jars
from mergecheck.harness.engines.spark.maven_jars import find_jars
from mergecheck.harness.engines.spark.packages import request_delta
from mergecheck.harness.engines.spark.session import (
    JVM_FOR_SMALL_DATA,
    JVM_OPTIONS,
    PROFILE_SETTINGS,
    Profile,
    start_session,
)
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

_STATEMENTS = (
    "CREATE TABLE target (k INT, v STRING) USING {source} PARTITIONED BY (v)",
    "INSERT INTO target SELECT CAST(id AS INT), CAST(id % 2 AS STRING) FROM range(10)",
    """SELECT t.v, count(*), max(s.d), row_number() OVER (ORDER BY t.v) FROM target t FULL OUTER JOIN
    (SELECT CAST(id AS INT) k, current_date() d FROM range(5, 15) WHERE id NOT IN (7, 8)) s ON t.k = s.k
    GROUP BY t.v HAVING count(*) > 0""",
    "SELECT * FROM target t LEFT ANTI JOIN range(3) r ON t.k = r.id WHERE t.v LIKE '1%' ORDER BY t.k",
)
_OF_DELTA = (
    """MERGE INTO target t USING (SELECT 3 AS k, 'x' AS v UNION ALL SELECT 30, 'y') s ON t.k = s.k
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
    "DROP TABLE target",
)
_STOP_SECONDS = 300


def main(archive: Path) -> None:
    """Run statements in a JVM that writes an archive as it ends, and wait for its end."""
    has_delta = is_installed("delta-spark") and find_jars(delta_jars()) is not None
    if has_delta:
        request_delta()
    options = f'{JVM_FOR_SMALL_DATA[JVM_OPTIONS]} "-XX:ArchiveClassesAtExit={archive}"'
    session = start_session(jvm={**JVM_FOR_SMALL_DATA, JVM_OPTIONS: options})
    for profile in (Profile.TINY, Profile.PRODUCTION):
        for name, value in PROFILE_SETTINGS[profile].items():
            session.conf.set(name, value)
        if has_delta:
            _run(session, (*_STATEMENTS, *_OF_DELTA), "delta")
        _run_over_files(session)
    gateway = cast("Any", session.sparkContext)._gateway  # noqa: SLF001 - PySpark has no public way to its JVM's end
    session.stop()
    gateway.proc.stdin.close()  # at which the JVM ends
    gateway.proc.wait(_STOP_SECONDS)


def _run(session: SparkSession, statements: tuple[str, ...], source: str) -> None:
    for statement in statements:
        session.sql(statement.format(source=source)).toArrow()


def _run_over_files(session: SparkSession) -> None:
    """Write and read files, with functions in Python, as a merge of this project does."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    with tempfile.TemporaryDirectory() as folder:
        rows = session.createDataFrame(session.range(10).selectExpr("id AS k", "'x' AS v").toArrow())
        rows.mapInArrow(same, "k BIGINT, v STRING").write.parquet(f"{folder}/files")
        session.read.parquet(f"{folder}/files").createOrReplaceTempView("target")
        _run(session, _STATEMENTS[2:], "parquet")
        session.catalog.dropTempView("target")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except EngineDownError as error:
        sys.exit(str(error))
