"""Spark in a child process: its session's settings, and requests of a case's steps."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.engines.spark.java_home import check_java
from mergecheck.harness.engines.spark.maven_jars import jar_settings
from mergecheck.harness.engines.spark.session import (
    FIXED_SETTINGS,
    JVM_FOR_SMALL_DATA,
    LOOPBACK_SETTINGS,
    PROFILE_SETTINGS,
    Profile,
)
from mergecheck.harness.engines.spark.workers import package_of_merge
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.engines.venvs import environment_python
from mergecheck.harness.processes.temp_dirs import owned_prefix, temporary_files_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mergecheck.harness.engines.spark.maven_jars import JarSet
    from mergecheck.harness.engines.spark_versions.spark_version import SparkVersion
    from mergecheck.model.outcome import Rejection

_WORKER = Path(__file__).with_name("worker.py")
_JVM_OPTIONS = "spark.driver.extraJavaOptions"
_PACKAGES = "spark.submit.pyFiles"  # for the driver and its workers
_LISTS = frozenset({"spark.jars", "spark.jars.packages", "spark.jars.excludes", "spark.sql.extensions"})
_MASTER = "local[2]"
_TIMEOUT, _START_TIMEOUT = 120.0, 600.0  # seconds; without Maven, the start fetches the jars

# Spark 3 behaves by these as Spark 4 does by default; Spark 4 has them already.
_AS_SPARK_4: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The setup of a child process.

    Attributes:
        spark: the version of Spark.
        jars: what its session loads.
        settings: of the session, besides those every session here has; ``{warehouse}`` is the folder of its tables.
        beside_spark: what its Python needs besides PySpark, in pip's notation.
        with_merge: whether it can import ``mergecheck.merge``, and so can its workers.
        environment_of: the name of its environment; the version of Spark is its version.
    """

    spark: SparkVersion
    jars: tuple[JarSet, ...]
    settings: Mapping[str, str]
    beside_spark: tuple[str, ...] = ()
    with_merge: bool = False
    environment_of: str = "spark"

    @property
    def environment(self) -> tuple[str, str]:
        """The name and the version of its environment."""
        return self.environment_of, str(self.spark)

    @property
    def requirements(self) -> tuple[str, ...]:
        """What its environment holds."""
        return (*self.spark.requirements, *self.beside_spark)


def merged(*several: Mapping[str, str], warehouse: Path | str = "{warehouse}") -> dict[str, str]:
    """Put settings together: of two values the later one, but lists of jars and extensions are joined.

    Args:
        several: the settings.
        warehouse: what stands for ``{warehouse}`` in the values.
    """
    found: dict[str, str] = {}
    for settings in several:
        for name, value in settings.items():
            before = [found[name]] if name in found and name in _LISTS else []
            found[name] = ",".join([*before, value.replace("{warehouse}", str(warehouse))])
    return found


class SparkChild:
    """A child process with a Spark of its own; it starts with the first case.

    Args:
        setup: its setup.

    Raises:
        EngineDownError: if there is no Java, or environment or jars cannot be had.
    """

    def __init__(self, setup: Setup) -> None:
        check_java()
        self._worker = WorkerProcess(environment_python(*setup.environment, setup.requirements), _WORKER)
        self._scratch = Path(tempfile.mkdtemp(prefix=f"{owned_prefix()}spark-"))
        self._session = {
            "spark.app.name": "mergecheck",
            "spark.master": _MASTER,
            **JVM_FOR_SMALL_DATA,
            _JVM_OPTIONS: f"{JVM_FOR_SMALL_DATA[_JVM_OPTIONS]} {temporary_files_option(self._scratch)}",
            **FIXED_SETTINGS,
            **LOOPBACK_SETTINGS,
            **_AS_SPARK_4,
            **PROFILE_SETTINGS[Profile.TINY],
            "spark.local.dir": str(self._scratch),
            "spark.sql.warehouse.dir": str(self._scratch / "warehouse"),
            **merged(jar_settings(setup.jars), setup.settings, warehouse=self.warehouse),
            **({_PACKAGES: str(package_of_merge(self._scratch))} if setup.with_merge else {}),
        }
        self._timeout = _START_TIMEOUT

    @property
    def warehouse(self) -> Path:
        """Where the session keeps managed tables; gone with the child."""
        return self._scratch / "warehouse"

    def run(
        self,
        steps: Sequence[Mapping[str, Any]],
        *,
        conf: Mapping[str, str],
        cleanup: Sequence[str] = (),
        writer: str = "",
        at: Callable[[], None] | None = None,
    ) -> dict[str, Any] | Rejection:
        """Run steps; a child that ends or takes too long is the engine's answer.

        Args:
            steps: see ``worker``.
            conf: settings that the session has for these steps alone.
            cleanup: statements that are run whatever happens.
            writer: whose session it is, if several threads ask; of these, one runs at a time.
            at: called when a step of a writer stops, see ``stops_at`` in ``worker``.

        Raises:
            EngineDownError: if the child does not even start.
        """
        request = {
            "do": "run",
            "session": self._session,
            "conf": dict(conf),
            "steps": [dict(step) for step in steps],
            "finally": list(cleanup),
            **({"writer": writer} if writer else {}),
        }
        answer = self._worker.answer(request, timeout=self._timeout, at=at)
        self._timeout = _TIMEOUT if isinstance(answer, dict) else _START_TIMEOUT
        return answer

    def close(self) -> None:
        """End the child."""
        self._worker.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
