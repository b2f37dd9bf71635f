"""What Spark has executed: the plans of the queries of a while, from its own status store.

The store is filled without the web page, by a listener that also hears of what adaptive execution changes. The event
log holds the same, but only for a session that was started with it; a listener of our own would need a callback server.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# Queries by which Delta Lake reads its log: they are no part of what a merge does with rows.
_OF_THE_LOG = ("_delta_log", "Delta Table State")


_PATIENCE = 60_000  # milliseconds for Spark's listeners to hear of what has ended


@contextmanager
def recording(spark: SparkSession, plans: list[str] | None) -> Iterator[None]:
    """Append the plans of the queries that end while this lasts; without a list nothing is asked of Spark.

    Args:
        spark: a classic session; what other threads of it execute meanwhile is recorded too.
        plans: where to put them.
    """
    if plans is None:
        yield
        return
    first = _next_id(spark)
    yield
    plans += [plan for plan in _plans(spark, first) if not any(mark in plan for mark in _OF_THE_LOG)]


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
    count = store.executionsCount()
    return 0 if count == 0 else int(store.executionsList(int(count) - 1, 1).last().executionId()) + 1


def _store(spark: SparkSession) -> Any:  # noqa: ANN401 - a Java object
    session: Any = spark._jsparkSession  # noqa: SLF001 - as above
    return session.sharedState().statusStore()
