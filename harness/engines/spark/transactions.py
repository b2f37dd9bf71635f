"""The points of Delta Lake's transactions: its jar calls an observer, which may be an object of Python.

``org.apache.spark.sql.delta.TransactionExecutionObserver`` is a trait for tests in the released jar. Delta Lake calls
the observer of the thread that runs the statement, so that hooks run while the Python thread waits for its answer. A
merge with nothing to do never begins to commit. Behind ``beginDoCommit`` lie the check for conflicts and all retries.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.java_gateway import ensure_callback_server_started

from mergecheck.harness.engine import Point, PointKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_TRAIT = "org.apache.spark.sql.delta.TransactionExecutionObserver"


class TransactionObserver:
    """Stops a transaction of one thread at its points.

    Attributes:
        committed: whether the transaction has committed.
        ended_by: the error that a point ended the writer with; a hook can only end it by a RuntimeError, because py4j
            carries no BaseException and leaves the transaction open.
        failed_by: the error that Delta Lake raised inside a stage that a hook carries out; on the way through the hook
            py4j replaces it by one of its own.
    """

    def __init__(self, at: Callable[[Point], None]) -> None:
        self._at = at
        self.committed = False
        self.ended_by: BaseException | None = None
        self.failed_by: Exception | None = None

    def startingTransaction(self, start: Any) -> Any:  # noqa: ANN401, N802 - the trait's
        """Stop before the transaction takes its snapshot."""
        self._reach(PointKind.BEFORE_SNAPSHOT)
        return self._carry_out(start)

    def preparingCommit(self, prepare: Any) -> Any:  # noqa: ANN401, N802 - the trait's
        """Stop when the merge has read and written its files."""
        self._reach(PointKind.AFTER_READ)
        return self._carry_out(prepare)

    def beginDoCommit(self) -> None:  # noqa: N802 - the trait's
        """Stop before the check for conflicts and the write to the log."""
        self._reach(PointKind.BEFORE_COMMIT)

    def beginBackfill(self) -> None:  # noqa: N802 - the trait's
        """Go on: tables without coordinated commits have nothing to backfill."""

    def beginPostCommit(self) -> None:  # noqa: N802 - the trait's
        """Go on: the version exists already."""

    def transactionCommitted(self) -> None:  # noqa: N802 - the trait's
        """Note the commit, and stop after it."""
        self.committed = True
        self._reach(PointKind.AFTER_COMMIT)

    def transactionAborted(self) -> None:  # noqa: N802 - the trait's
        """Go on: the statement fails with its error."""

    def createChild(self) -> TransactionObserver:  # noqa: N802 - the trait's
        """Observe transactions of threads that the statement starts, too."""
        return self

    def advanceToNextThreadObserver(self) -> None:  # noqa: N802 - the trait's
        """Keep observing this thread."""

    def _carry_out(self, stage: Any) -> Any:  # noqa: ANN401 - a function of the JVM
        try:
            return stage.apply()
        except Exception as error:
            self.failed_by = error
            raise

    def _reach(self, kind: PointKind) -> None:
        if self.ended_by is not None:
            raise RuntimeError("this writer is not needed any more")
        try:
            self._at(Point(kind))
        except BaseException as error:
            self.ended_by = error
            raise RuntimeError("this writer is not needed any more") from error

    class Java:
        """What py4j reads."""

        implements: ClassVar[list[str]] = [_TRAIT]


@contextmanager
def observed_transaction(spark: SparkSession, at: Callable[[Point], None]) -> Iterator[TransactionObserver]:
    """Stop the transactions that this thread starts while this lasts at their points.

    Args:
        spark: a session of this process's JVM, with Delta Lake.
        at: called at each point; the error that it raises is raised at the end. An error of Delta Lake comes out as it
            was raised, whether or not it passed through a hook.
    """
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark's own door to py4j, as for foreachBatch
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    packages = gateway.jvm.org.apache.spark.sql.delta
    observers = getattr(getattr(packages, "TransactionExecutionObserver$"), "MODULE$")
    nobody = getattr(getattr(packages, "NoOpTransactionExecutionObserver$"), "MODULE$")
    observer = TransactionObserver(at)
    observers.setObserver(observer)
    try:
        yield observer
    except Exception:
        if observer.ended_by is not None:
            raise observer.ended_by from None
        if observer.failed_by is not None:
            raise observer.failed_by from None
        raise
    finally:
        observers.setObserver(nobody)
