"""Shared by the engines on Spark: the session, the tables of a case, its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from py4j.protocol import Py4JError

from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.harness.engine import Recorded
from mergecheck.harness.engines.spark.config import require_place, table_folder
from mergecheck.harness.engines.spark.connect import is_remote
from mergecheck.harness.engines.spark.session import Profile, another_session, apply_profile, start_session
from mergecheck.harness.engines.spark.staging import staged_tables
from mergecheck.harness.engines.spark_case import (
    FAST_PROFILES,
    case_settings,
    down_if_gone,
    is_for_harness,
    local_relation,
    other_tables,
    profile_of,
    reads_source_from_table,
)
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.delta.table_files import TableFiles
    from mergecheck.harness.engine import Capabilities, Point, Written
    from mergecheck.harness.engines.spark.staging import StagedTables
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult, Rejection

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedCase:
    """A case whose target is a table that Spark can read.

    Attributes:
        directory: local folder of the case's tables.
        path: local folder of the target.
        location: path of the target for Spark.
        staged: publishes further tables.
        before: the files of the target before the merge.
        plans: takes the plans of the merge; None if they were not requested.
    """

    spark: SparkSession
    case: Case
    directory: Path
    path: Path
    location: str
    staged: StagedTables
    before: TableFiles
    plans: list[str] | None

    def publish_source(self) -> str | None:
        """Make the source a Delta table and return its path for Spark.

        Returns:
            None if the source is the view ``source`` instead: the case wants a local relation, or no table can hold
            its columns (VOID, two columns of one name).
        """
        source = self.case.source
        if source is None:
            return None
        if reads_source_from_table(self.case):
            with suppress(UnwritableTableError):
                write_source(source, self.directory / "source")
                return self.staged.publish(self.directory / "source")
        with down_if_gone(self.spark):
            local_relation(self.spark, source)
        return None


class SparkEngine(ABC):
    """Runs cases on Spark, each on a table of its own.

    A case always runs the same way. Its statement and schema decide its profile of Spark settings (one of
    ``profiles``), and if the source is a Delta table or, for one case in four, a local relation, which
    the merge has to materialise (R-451). A setting in the case's ``conf`` overrides the profile's.

    Args:
        spark: the session to use; without one, a session starts with the first case and stops with ``close``.
        owns_session: stop the given session with ``close``.

    Raises:
        UserInputError: without a session, if Spark's place or the table root cannot be used.
    """

    name: str
    version: str
    capabilities: Capabilities
    profiles: Sequence[Profile] = FAST_PROFILES

    def __init__(self, spark: SparkSession | None = None, *, owns_session: bool = False) -> None:
        self._spark = spark
        self._owns_session = owns_session or spark is None
        self._profile: Profile | None = None
        if spark is None:
            require_place()

    @abstractmethod
    def takes_setting(self, name: str) -> bool:
        """Return whether the engine obeys a setting of a case."""

    @abstractmethod
    def merge(self, staged: StagedCase) -> EngineResult:
        """Run the merge of a case whose settings are set, and read its outcome."""

    @abstractmethod
    def merge_in_steps(self, staged: StagedCase, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        """Run the merge of a case whose settings are set, and stop at each point."""

    def run(self, case: Case) -> EngineResult:
        """Run one case in a table of its own, which is gone afterwards.

        Raises:
            EngineDownError: when Spark does not start or is gone, or lacks a requirement of the engine.
        """
        return self._run(case, self.merge)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on an existing table, which stays; the case's target holds its current rows.

        Raises:
            EngineDownError: as for ``run``.
        """
        return self._run(case, self.merge, table=table)

    def run_in_steps(self, case: Case, table: Path, at: Callable[[Point], None]) -> Written | Rejection | Unsupported:
        """Merge into an existing table, and stop at each point.

        Raises:
            EngineDownError: as for ``run``.
        """
        return self._run(case, lambda staged: self.merge_in_steps(staged, at), table=table)

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case as ``run`` does, and record the plans of the merge.

        Raises:
            EngineDownError: as for ``run``.
        """
        plans: list[str] = []
        result = self._run(case, self.merge, plans=plans)
        return Recorded(result=result, plans=tuple(plans))

    def _run(
        self,
        case: Case,
        merge: Callable[[StagedCase], T],
        *,
        table: Path | None = None,
        plans: list[str] | None = None,
    ) -> T | Unsupported:
        for name in case.conf:
            if not self.takes_setting(name) and not is_for_harness(name):
                return Unsupported(f"setting {name}")
        spark = self.session()
        self._apply_profile(spark, profile_of(case, self.profiles))
        with ExitStack() as stack:
            directory = stack.enter_context(table_folder())
            staged = stack.enter_context(staged_tables())
            path = table or directory / "target"
            try:
                if table is None:
                    write_target(case.target, path)
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            stack.enter_context(other_tables(spark, case))
            stack.enter_context(case_settings(spark, case))
            return merge(
                StagedCase(
                    spark=spark,
                    case=case,
                    directory=directory,
                    path=path,
                    location=staged.publish(path),
                    staged=staged,
                    before=files_of(path),
                    plans=plans,
                )
            )

    def fork(self) -> Self:
        """Return another engine on the same Spark, for another thread.

        Raises:
            EngineDownError: as for ``run``.
        """
        session = another_session(self.session())
        return type(self)(session, owns_session=is_remote(session))

    def interrupt(self) -> None:
        """Cancel the queries of this engine's session; the reference's queries run in sessions of their own."""
        if self._spark is not None:
            with suppress(OSError, Py4JError):  # a stopped session needs no end
                self._spark.interruptAll()

    def close(self) -> None:
        """Stop the session, if this engine started it."""
        if self._spark is not None and self._owns_session:
            with suppress(OSError, Py4JError):  # a JVM that is gone has nothing left to stop
                self._spark.stop()
        self._spark = None

    def session(self) -> SparkSession:
        """Return the engine's session, started if need be."""
        if self._spark is None:
            self._spark = start_session()
        return self._spark

    def _apply_profile(self, spark: SparkSession, profile: Profile) -> None:
        if profile is not self._profile:
            with down_if_gone(spark):
                apply_profile(spark, profile)
            self._profile = profile
