"""What Spark has executed: the plans of the queries of a while, from its own status store.

The store is filled without the web page, by a listener that also hears of what adaptive execution changes. The event
log holds the same, but only for a session that was started with it; a listener of our own would need a callback server.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, settings_of
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

# Queries by which Delta Lake reads its log: they are no part of a merge's work on rows.
_OF_THE_LOG = ("_delta_log", "Delta Table State")


_PATIENCE = 60_000  # milliseconds for Spark's listeners to hear of what has ended


@contextmanager
def recording(spark: SparkSession, plans: list[str] | None) -> Iterator[None]:
    """Append the plans of the queries that end while this lasts; without a list, Spark is not queried.

    Args:
        spark: a classic session; what other threads of it execute meanwhile is recorded too.
        plans: where to put them.

    Raises:
        EngineDownError: the store cannot be read, which is no evidence about the merge.
    """
    if plans is None:
        yield
        return
    with _asking_spark():
        first = _next_id(spark)
    with settings_of(spark, PLANS_DESCRIBED):
        yield
    with _asking_spark():
        plans += without_log(_plans(spark, first))


def without_log(plans: Iterable[str]) -> list[str]:
    """Leave out the queries by which Delta Lake reads its log."""
    return [plan for plan in plans if not any(mark in plan for mark in _OF_THE_LOG)]


@contextmanager
def _asking_spark() -> Iterator[None]:
    try:
        yield
    except Py4JError as error:
        raise EngineDownError(f"Spark does not show its executed plans: {error}") from error


def _plans(spark: SparkSession, first: int) -> Iterator[str]:
    end, store = _next_id(spark), _store(spark)
    for number in range(first, end):
        found = store.execution(number)
        if found.isDefined():  # the store forgets the oldest of many
            yield str(found.get().physicalPlanDescription())


def _next_id(spark: SparkSession) -> int:
    context: Any = spark.sparkContext._jsc  # noqa: SLF001 - no public way leads to executed plans
    context.sc().listenerBus().waitUntilEmpty(_PATIENCE)
    store = _store(spark)
    while count := int(store.executionsCount()):
        newest = store.executionsList(count - 1, 1)
        if newest.nonEmpty():  # the store may have forgotten its oldest ones since it was asked how many there are
            return int(newest.last().executionId()) + 1
    return 0


def _store(spark: SparkSession) -> Any:  # noqa: ANN401 - a Java object
    session: Any = spark._jsparkSession  # noqa: SLF001 - PySpark offers no public way to the JVM's session
    return session.sharedState().statusStore()
