"""The seam between the harness and a system under test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mergecheck.model.axis import Axis, wrong_axis
from mergecheck.reference.dialects import DELTA, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.model.case import Case, Row, Target
    from mergecheck.model.outcome import EngineResult, Rejection, Unsupported
    from mergecheck.model.types.data_types import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The checks that an engine can be given; a check it lacks is reported as unsupported, never as passed.

    Attributes:
        error_class: whether errors carry Delta's and Spark's classes; without it, the check is only that both sides
            fail.
        exact_metric_names: whether a commit must report exactly the 22 metrics of R-510 (R-501).
        metric_names: the metrics that the engine reports, if it reports some of them only; None for all.
        commit_info: the entries of ``commitInfo`` that the engine writes as Delta does, by the names of
            ``reference.evaluation.commit_info``; None for all.
        reasons: why a check is not made, by the check's name (``rows``, ``schema``, ``metrics``, ``cdf``, ``error``,
            ``commit``, ``path``, ``unchanged``, ``table``, ``log``, ``result``), or by a metric's name.
        features_off: names of ``strategies.Feature`` that random cases for this engine leave out, because it answers
            ``Unsupported`` to every one of them; saved cases may still use them.
        table_features: whether random cases may have tables with the features of ``strategies.TABLE_FEATURES``, such as
            a clustered table: the engine reads and writes them by Delta's protocol.
        axes: the engine's switches, which change how a merge runs and never the right answer; ``variants`` tries
            them, and random cases carry their settings.
        deviations_of: ``NAME VERSION`` of the release whose known deviations this engine has, such as
            ``delta-spark 4.4.0`` of a wrapper around it. An engine has no known deviations by inheritance.
        conflicts_by_rule: whether a writer loses against another one only where R-750 wants it; if not, a conflict that
            R-750 does not want is counted, and is no finding (``mergecheck lab concurrency``).
        dialect: how the engine by design treats a target row that several source rows match, if not as R-320 requires:
            ``mergecheck.known_dialect(NAME)``, or one of its own; the reference predicts that.
    """

    rows: bool = True
    schema: bool = True
    metrics: bool = True
    cdf: bool = True
    error_class: bool = True
    exact_metric_names: bool = False
    metric_names: frozenset[str] | None = None
    commit_info: frozenset[str] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    features_off: frozenset[str] = frozenset()
    axes: tuple[Axis, ...] = ()
    dialect: Dialect = DELTA
    deviations_of: str = ""
    table_features: bool = False
    conflicts_by_rule: bool = False


def _maps_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(type(k) is str and type(v) is str for k, v in value.items())


_TRUTHS = (
    "rows",
    "schema",
    "metrics",
    "cdf",
    "error_class",
    "exact_metric_names",
    "table_features",
    "conflicts_by_rule",
)


def wrong_capability(declared: Capabilities) -> str | None:
    """Return which of an adapter's declarations is of another type than it must be, and of which; None if none is."""
    for name in _TRUTHS:
        if type(getattr(declared, name)) is not bool:
            return f"{name} must be True or False"
    for name in ("metric_names", "commit_info", "features_off"):
        value = getattr(declared, name)
        may_be_none = name in ("metric_names", "commit_info")
        is_set = type(value) is frozenset and all(type(each) is str for each in value)
        if not is_set and not (value is None and may_be_none):
            return f"{name} must be a frozenset of texts"
    if not _maps_texts(declared.reasons):
        return "reasons must be a mapping of texts to texts"
    if type(declared.axes) is not tuple or not all(type(axis) is Axis for axis in declared.axes):
        return "axes must be a tuple of mergecheck.Axis"
    if wrong := next((wrong for axis in declared.axes if (wrong := wrong_axis(axis)) is not None), None):
        return wrong
    if type(declared.deviations_of) is not str:
        return "deviations_of must be a text"
    return None if type(declared.dialect) is Dialect else "dialect must be a Dialect"


@runtime_checkable
class Engine(Protocol):
    """A MERGE implementation that the harness can drive.

    ``run`` sets the case's target table up from scratch, merges, and reports what it sees afterwards. It
    answers ``Unsupported`` for a case it cannot express and ``Rejection`` for a merge that failed as a
    merge may fail. Anything else that goes wrong (a lost process, a bug in the adapter) raises
    ``mergecheck.harness.verdict.EngineDownError``.
    """

    name: str
    version: str
    capabilities: Capabilities

    def run(self, case: Case) -> EngineResult:
        """Run one case in a fresh table."""

    def close(self) -> None:
        """Release the engine's resources; called once."""


@runtime_checkable
class PrecheckingEngine(Engine, Protocol):
    """An engine that can reject unsupported cases before it, or the reference, evaluates them."""

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return why the engine does not support a case, as ``run`` would; None if the case must be run.

        Also called from another thread while ``run`` runs, about the next case.
        """


@runtime_checkable
class SparkSessionEngine(Engine, Protocol):
    """An engine on Spark whose session is in this process, so that others can open sessions on the same Spark."""

    def session(self) -> SparkSession:
        """Return the engine's session, started if need be.

        Raises:
            EngineDownError: if Spark does not start.
        """


@runtime_checkable
class ForkingEngine(Engine, Protocol):
    """An engine that can be used by several threads, each with an engine of its own (``--jobs``)."""

    def fork(self) -> Engine:
        """Return another engine on the same infrastructure, whose cases do not affect this engine's cases.

        It is made in the main thread, used by another one and closed before this engine.

        Raises:
            EngineDownError: if the infrastructure does not start.
        """


@runtime_checkable
class FactoryEngine(Engine, Protocol):
    """An engine that several processes can have at once, each its own (``--jobs``)."""

    def factory(self) -> Callable[[], Engine]:
        """Return what makes such an engine in another process: something that ``pickle`` takes.

        The engines it makes leave each other's cases alone, and end with their process.
        """


@runtime_checkable
class InterruptibleEngine(Engine, Protocol):
    """An engine that can end what ``run`` is doing, and takes the next case afterwards.

    Other engines are interrupted by an error that is raised in the middle of ``run``, which may leave a client or a
    connection unusable.
    """

    def interrupt(self) -> None:
        """Make ``run`` end soon, with any answer or error. Called from another thread after ``--case-timeout``."""


class UnreadableByEngineError(Exception):
    """An engine cannot read a table; the message gives the reason."""


@runtime_checkable
class ExistingTableEngine(Engine, Protocol):
    """An engine that can merge into a Delta table that is there already (``mergecheck lab sequences``)."""

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on an existing table; the case's target holds its current rows."""
        ...


class PointKind(Enum):
    """The step that a writer of a table is about to take, or has taken, at a point."""

    BEFORE_SNAPSHOT = "before_snapshot"
    """about to ask for the newest version"""
    AFTER_READ = "after_read"
    """has read the rows, and not yet begun to commit"""
    BEFORE_COMMIT = "before_commit"
    """about to create a version unless it exists; without ``version``, with all retries of a lost try"""
    BEFORE_REREAD = "before_reread"
    """about to read a version that another writer has created"""
    AFTER_COMMIT = "after_commit"
    """has created its version"""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a writer; ``version`` is the version to create or to read, None if the engine cannot tell."""

    kind: PointKind
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The end of a merge that did not fail.

    Attributes:
        committed: whether it created a version.
        result_row: as in ``Outcome``.
    """

    committed: bool
    result_row: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The end of a merge that lost against the commit of another writer, and so has not happened.

    A ``Rejection`` whose class is one of Delta Lake's conflicts means the same.
    """

    error_class: str
    message: str = ""


@runtime_checkable
class InterleavedEngine(ForkingEngine, Protocol):
    """An engine whose merge can be stopped at points, so that ``mergecheck lab concurrency`` tries every order."""

    def fork(self) -> InterleavedEngine:
        """Return the engine of one writer."""

    def run_in_steps(
        self, case: Case, table: Path, at: Callable[[Point], None]
    ) -> Written | Lost | Rejection | Unsupported:
        """Merge into a table that is there already, and call ``at`` at every point.

        Each writer is a fork with a thread of its own; of all writers, one runs at a time.

        Args:
            case: the statement, its source and its settings; the target is the table's as it was at the start.
            table: the folder of the Delta table, which other writers change; a ``TableKeepingEngine`` has its own.
            at: returns when the writer may go on. It raises an error, which the engine must not catch, if the writer
                is not needed any more. At least ``BEFORE_SNAPSHOT`` and ``BEFORE_COMMIT`` are needed to find anything.
        """


@runtime_checkable
class TableKeepingEngine(InterleavedEngine, Protocol):
    """An interleaved engine whose tables are no Delta tables: it makes them, and reads each of their versions.

    It has one such table at a time, which its forks share. Version 0 is the one that ``make_table`` leaves; each commit
    makes the next one.
    """

    def make_table(self, target: Target, isolation: str) -> Unsupported | None:
        """Make the table anew, in place of the one before.

        Args:
            target: its columns, files and partitions. Properties of Delta Lake that switch on deletion vectors or row
                tracking choose the kind of table that comes closest.
            isolation: ``Serializable``, ``WriteSerializable`` or ``Snapshot``.
        """

    def newest_version(self) -> int:
        """Return the number of commits since the table was made."""

    def table_at(self, version: int) -> tuple[Schema, tuple[Row, ...]]:
        """Read a version's columns and rows."""

    def execute(self, sql: str) -> None:
        """Carry out a statement on the table, which it calls ``target``: an INSERT or a DELETE of another writer.

        Raises:
            EngineDownError: it fails.
        """


@runtime_checkable
class ReadingEngine(Engine, Protocol):
    """An engine that can read a Delta table which others have written (``mergecheck lab sequences``)."""

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        """Read the rows of a table with these columns.

        Raises:
            UnreadableByEngineError: the engine cannot.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An engine's answer to a case, with the plans that produced it.

    Attributes:
        plans: the physical plan of every query that the merge executed, in order, in Spark's formatted
            mode; the final one if adaptive execution changed it.
    """

    result: EngineResult
    plans: tuple[str, ...] = ()


@runtime_checkable
class ConfigurableEngine(Engine, Protocol):
    """An engine on Spark: obeys every Spark setting in a case's ``conf``, and can show the executed plans.

    ``mergecheck.source`` in ``conf`` sets how the source reaches the merge: ``table`` or ``relation``.
    """

    def run_recorded(self, case: Case) -> Recorded:
        """Run one case as ``run`` does, and record the plans."""


class VersionedEngine(Engine, Protocol):
    """An engine whose class can also drive other released versions than the installed one (``NAME@VERSION``)."""

    @classmethod
    def at_version(cls, version: str) -> Engine:
        """Return an engine that runs a released version in an environment of its own, out of this process.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be installed here.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One line of ``mergecheck doctor``: a requirement of a run, the state of this machine, and how to meet it.

    Attributes:
        fix: empty if nothing is missing.
        get: what ``--get`` does before the first case, such as fetch a file; it may raise EngineDownError.
    """

    name: str
    found: str
    fix: str = ""
    get: Callable[[], None] | None = None


class DiagnosingEngine(Engine, Protocol):
    """An engine whose class reports its requirements on this machine, for ``mergecheck doctor --engine``."""

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met; None for the release that runs by default.

        Raises:
            UserInputError: if the text names no release.
        """
