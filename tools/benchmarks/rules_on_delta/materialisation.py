"""Which sources are materialised, and why (R-450), by the event that closes a merge; what else it holds (R-503)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.session import settings_of
from tools.benchmarks.rules_on_delta.lab import UPSERT, Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.benchmarks.rules_on_delta.lab import Lab

_DELTA = "materializeNonDeterministicSourceNonDelta"
_OPERATORS = "materializeNonDeterministicSourceOperators"
_INSERT = "WHEN NOT MATCHED THEN INSERT *"


def _reason(query: str, *, clauses: str = UPSERT, mode: str = "auto") -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both()
        using = query.format(s=f"delta.`{lab.source}`", t=f"delta.`{lab.target}`")
        lab.spark.udf.register("plus_one", lambda value: value + 1, "int")
        with lab.settings(merge__materializeSource=mode):
            return lab.event(lambda: lab.merge(clauses, using=using))["materializeSourceReason"]

    return ask


def _unreadable(force: str) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both()
        with (
            settings_of(lab.spark, {"spark.sql.files.ignoreMissingFiles": "true"}),
            lab.settings(merge__forceSourceMaterializationWithUnreadableFilesConfig=force),
        ):
            return lab.event(lambda: lab.merge(UPSERT))["materializeSourceReason"]

    return ask


def _cached(materialise: str) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both()
        source = lab.spark.read.format("delta").load(str(lab.source)).cache()
        source.count()
        try:
            with lab.settings(merge__materializeCachedSource=materialise):
                return lab.event(lambda: lab.merge(UPSERT))["materializeSourceReason"]
        finally:
            source.unpersist()

    return ask


def _numbers(clauses: str, partition_by: str | None = None) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both(partition_by=partition_by)
        event = lab.event(lambda: lab.merge(clauses))
        before, after = event["targetBeforeSkipping"], event["targetAfterSkipping"]
        return [
            before["files"],
            after["files"],
            after.get("partitions"),
            event.get("sourceRowsInSecondScan"),
            event.get("targetPartitionsRemovedFrom"),
            event.get("targetPartitionsAddedTo"),
            event.get("targetChangeFileBytes"),
        ]

    return ask


def _hidden_metrics(lab: Lab) -> object:
    lab.both()
    lab.merge(UPSERT)
    shown = lab.history()["operationMetrics"]
    internal = {
        "numSourceRowsInSecondScan",
        "operationNumSourceRows",
        "numTargetPartitionsAddedTo",
        "numTargetChangeFileBytes",
    }
    return [len(shown), sorted(internal & shown.keys())]


_SOURCES = (
    ("a Delta table", "{s}", "notMaterializedAuto"),
    ("projection, filter, distinct", "(SELECT DISTINCT id, v + 1 AS v FROM {s} WHERE id > 0)", "notMaterializedAuto"),
    ("a union with one row", "(SELECT id, v FROM {s} WHERE id = 1 UNION ALL SELECT 7, 7)", "notMaterializedAuto"),
    ("VALUES", "(SELECT * FROM VALUES (1, 11) AS r(id, v))", _DELTA),
    ("range", "(SELECT CAST(id AS INT) AS id, 1 AS v FROM range(2))", _DELTA),
    ("VALUES in a subquery", "(SELECT * FROM {s} WHERE id IN (SELECT * FROM VALUES (1) AS r(id)))", _DELTA),
    ("a subquery over Delta", "(SELECT * FROM {s} WHERE id > (SELECT min(id) - 1 FROM {t}))", _OPERATORS),
    ("EXISTS, correlated", "(SELECT * FROM {s} q WHERE EXISTS (SELECT * FROM {t} r WHERE r.id = q.id))", _OPERATORS),
    ("a join", "(SELECT q.id, q.v FROM {s} q JOIN {s} r ON q.id = r.id)", _OPERATORS),
    ("an aggregation", "(SELECT id, max(v) AS v FROM {s} GROUP BY id)", _OPERATORS),
    ("a sort", "(SELECT * FROM {s} ORDER BY id)", _OPERATORS),
    ("a limit", "(SELECT * FROM {s} LIMIT 5)", _OPERATORS),
    ("rand()", "(SELECT id, v FROM {s} WHERE rand() < 2)", _OPERATORS),
    (
        "a function of the user",
        "(SELECT id, plus_one(v) AS v FROM {s})",
        "materializeNonDeterministicSourceWithDeterministicUdf",
    ),
)
CHECKS = (
    *(Check(rule="R-450", question=name, ask=_reason(query), expected=reason) for name, query, reason in _SOURCES),
    Check(
        rule="R-450",
        question="VALUES, insert-only",
        ask=_reason(_SOURCES[3][1], clauses=_INSERT),
        expected="notMaterializedAutoInsertOnly",
    ),
    Check(rule="R-450", question="all", ask=_reason("{s}", mode="all"), expected="materializeAll"),
    Check(rule="R-450", question="ALL", ask=_reason("{s}", mode="ALL"), expected="materializeAll"),
    Check(
        rule="R-450",
        question="all, insert-only",
        ask=_reason("{s}", clauses=_INSERT, mode="all"),
        expected="materializeAll",
    ),
    Check(rule="R-450", question="none", ask=_reason(_SOURCES[3][1], mode="none"), expected="notMaterializedNone"),
    Check(
        rule="R-450",
        question="another value",
        ask=_reason("{s}", mode="maybe"),
        expected="INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS",
    ),
    Check(
        rule="R-450",
        question="missing files are ignored",
        ask=_unreadable("true"),
        expected="materializeIgnoreUnreadableFilesConfigsAreSet",
    ),
    Check(rule="R-450", question="the same, not forced", ask=_unreadable("false"), expected="notMaterializedAuto"),
    Check(rule="R-450", question="a cached source", ask=_cached("true"), expected="materializeCachedSource"),
    Check(
        rule="R-450",
        question="the same, materializeCachedSource = false: the check of R-454 refuses it",
        ask=_cached("false"),
        expected="DELTA_MERGE_SOURCE_CACHED_DURING_EXECUTION",
    ),
    Check(
        rule="R-503",
        question="files before, after skipping; partitions, second scan, partitions removed and added, change bytes",
        ask=_numbers(UPSERT),
        expected=[1, 1, None, 2, None, None, 0],
    ),
    Check(
        rule="R-503",
        question="the same of a partitioned table",
        ask=_numbers(UPSERT, "id"),
        expected=[2, 2, 2, 2, 1, 2, 0],
    ),
    Check(
        rule="R-503",
        question="the same of an insert-only merge, which scans once",
        ask=_numbers(_INSERT),
        expected=[1, 1, None, None, None, None, 0],
    ),
    Check(
        rule="R-503",
        question="metrics in the history, internal ones among them",
        ask=_hidden_metrics,
        expected=[22, []],
    ),
)
