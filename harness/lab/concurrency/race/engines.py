"""The engines whose writers can race."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.lab.concurrency.race.clients import DeltaRsClient
from mergecheck.harness.verdict import UserInputError
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.harness.lab.concurrency.race.clients import Client

CLIENTS = ("pyspark", "delta-spark", "delta-rs")
"""Their names."""

IN_ONE_PROCESS = frozenset({"delta-spark"})
"""Those whose writers must be threads of one process: Delta's log on a local disk is safe within one JVM only."""

OWN_COMMIT_RULES = frozenset({"delta-rs"})
"""Those that decide for themselves whether a merge that changes no row makes a version."""


COMPACTED_BY_ANOTHER = frozenset({"pyspark"})
"""Those whose tables delta-rs compacts. Of two compactions at once, both of which commit in delta-rs
(https://github.com/delta-io/delta-rs/pull/3982), each row is there twice: no fault of these engines."""


def open_client(engine: str) -> Client:
    """Open a client of an engine; those on Spark share the Spark of this process, and have a session each.

    Raises:
        UserInputError: the engine's writers cannot race.
        EngineDownError: Spark does not start.
    """
    if engine == "delta-rs":
        return DeltaRsClient(MergeReference())
    if engine not in CLIENTS:
        raise UserInputError(f"writers of the engine {engine!r} cannot race: choose from {', '.join(CLIENTS)}")
    from mergecheck.harness.lab.concurrency.race.spark_clients import open_spark_client  # noqa: PLC0415 - it imports PySpark, which takes its time

    return open_spark_client(engine)
