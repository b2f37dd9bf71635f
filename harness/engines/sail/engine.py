"""The engine ``sail``: ``MERGE INTO`` of Sail on a Delta table, in a process and an environment of its own."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.check_commit import NUMBERS
from mergecheck.harness.delta.observe import is_unchanged, observe
from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_source, write_target
from mergecheck.harness.engine import Capabilities, Lost, Point, PointKind, Written
from mergecheck.harness.engines.read_rows import arrow_rows
from mergecheck.harness.engines.sail.settings import (
    AXES,
    COMPARED_METRICS,
    FEATURES_OFF,
    REASONS,
    environment,
    lacking,
    passed_on,
)
from mergecheck.harness.engines.statement_forms import with_evolution_clause
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.engines.venvs import diagnose_environment, environment_python
from mergecheck.harness.processes.start import half_of_memory
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.reference.dialects import SAIL

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.engine import Diagnosis, Engine
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

RELEASE = "0.7.2"
"""The release that runs if none is named."""

_CLIENT = "pyspark-client==4.2.0"
_WORKER = Path(__file__).with_name("worker.py")
_TIMEOUT = 120.0
_LOST = "Failed to commit transaction"
"""How the message of a lost commit begins."""
_NO_FEED = {CDF_PROPERTY: "false"}


def _requirements(version: str) -> tuple[str, ...]:
    return (f"pysail=={version}", _CLIENT)


class SailEngine:
    """Runs a case through Sail's MERGE on a fresh Delta table that the harness writes.

    Tables have no change feed, because Sail merges into none that has one. Rows, schema and metrics are read from the
    table's log and files. A process that dies or hangs is an answer.

    Args:
        version: which release of ``pysail``.
    """

    name = "sail"
    capabilities = Capabilities(
        cdf=False,
        error_class=False,
        metric_names=COMPARED_METRICS,
        commit_info=frozenset({"operation"}),
        reasons=REASONS,
        features_off=FEATURES_OFF,
        axes=AXES,
        dialect=SAIL,
    )

    def __init__(self, *, version: str = RELEASE) -> None:
        self.version = version
        self._python = environment_python("sail", version, _requirements(version))
        self._environment: tuple[str, ...] = ()
        self._worker = self._server(())

    def _server(self, environment: tuple[str, ...]) -> WorkerProcess:
        return WorkerProcess(self._python, _WORKER, *environment, max_memory=half_of_memory())

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs another release.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be installed here.
        """
        if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version):
            raise UserInputError(f"{version!r} is no version of sail: give a released one, such as sail@{RELEASE}")
        return cls(version=version)

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met."""
        release = version or RELEASE
        return (diagnose_environment("sail", release, _requirements(release)),)

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), version=self.version)

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return which setting of a case Sail does not support."""
        reason = lacking(case)
        return None if reason is None else Unsupported(reason)

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        if (refusal := self.unsupported_reason(case)) is not None:
            return refusal
        target = replace(case.target, properties={**case.target.properties, **_NO_FEED})
        with scratch_directory() as directory:
            try:
                write_target(target, directory / "target")
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            return self._merge(replace(case, target=target), directory / "target", directory)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on an existing table, which stays; the case's target holds its current rows.

        Raises:
            EngineDownError: as for ``run``.
        """
        if (refusal := self.unsupported_reason(case)) is not None:
            return refusal
        with scratch_directory() as directory:
            return self._merge(case, table, directory)

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        """Read a table with these columns.

        Raises:
            UnreadableByEngineError: it is not readable for Sail.
            EngineDownError: as for ``run``.
        """
        with scratch_directory() as directory:
            out = directory / "rows.arrow"
            request = {"do": "rows", "target": str(table), "source": None, "out": str(out)}
            return arrow_rows(self._worker.answer(request, timeout=_TIMEOUT), out, schema)

    def fork(self) -> SailEngine:
        """Return an engine with a server of its own."""
        return SailEngine(version=self.version)

    def run_in_steps(
        self, case: Case, table: Path, at: Callable[[Point], None]
    ) -> Written | Lost | Rejection | Unsupported:
        """Merge into an existing table, and stop before the statement, and before the source's first row.

        Sail has chosen the version of the table by then, and behind it lies all else. A source without a table has no
        rows that could wait.

        Raises:
            EngineDownError: as for ``run``.
        """
        if (refusal := self.unsupported_reason(case)) is not None:
            return refusal
        if case.source is None:
            return Unsupported("a source without a table, which cannot be held")
        at(Point(PointKind.BEFORE_SNAPSHOT))
        newest = [newest_version(table)]

        def before_commit() -> None:
            at(Point(PointKind.BEFORE_COMMIT))
            newest.append(newest_version(table))

        with scratch_directory() as directory:
            write_source(case.source, directory / "source")
            request = {**_request(case, table, directory / "source"), "stops": True}
            self._serve(case)
            answer = self._worker.answer(request, timeout=_TIMEOUT, at=before_commit)
        if isinstance(answer, Rejection):
            return answer
        if (raised := answer.get("error")) is not None:
            end = Lost if raised["message"].startswith(_LOST) else Rejection
            return end(error_class=raised["class"], message=raised["message"])
        return Written(committed=newest_version(table) > newest[-1])

    def _serve(self, case: Case) -> None:
        """Start another server if the case needs one with other settings."""
        if (wanted := environment(case)) != self._environment:
            self._worker.close()
            self._worker, self._environment = self._server(wanted), wanted

    def _merge(self, case: Case, path: Path, directory: Path) -> EngineResult:
        source, before = directory / "source", files_of(path)
        try:
            if case.source is not None:
                write_source(case.source, source)
        except UnwritableTableError as error:
            return Unsupported(f"table: {error}")
        self._serve(case)
        answer = self._worker.answer(_request(case, path, source), timeout=_TIMEOUT)
        if isinstance(answer, dict) and (raised := answer.get("error")) is not None:
            answer = Rejection(error_class=raised["class"], message=raised["message"])
        if isinstance(answer, Rejection):
            return replace(answer, unchanged=is_unchanged(case.target, path, before=before))
        seen = observe(path, metrics={}, taken=None, conf={}, before=before)
        return _without_what_is_sails_own(seen) if isinstance(seen, TableOutcome) else seen

    def close(self) -> None:
        """End the child."""
        self._worker.close()


def _request(case: Case, path: Path, source: Path) -> dict[str, Any]:
    """Write the request for a merge of a source, a Delta table, into a table."""
    return {
        "do": "merge",
        "target": str(path),
        "source": None if case.source is None else str(source),
        "conf": passed_on(case),
        "sql": with_evolution_clause(case),
    }


def _without_what_is_sails_own(seen: TableOutcome) -> TableOutcome:
    """Leave out, by its capabilities, metrics that are numbers, and whether there is a version if no row changes.

    Sail reports its metrics in the commit only, so that there are none without a commit.
    """
    faults = tuple(fault for fault in seen.commit_faults if not fault[1].startswith(NUMBERS))
    return replace(seen, commit_faults=faults, committed=None, history_metrics=seen.committed is not False)
