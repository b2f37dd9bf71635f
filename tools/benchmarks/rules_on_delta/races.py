"""Other writers: before the transaction starts (R-142), and while it runs (R-750, R-751).

A function in the source writes the winner's commit file when it is first evaluated: after the merge has read the
table's log, and before it commits.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.benchmarks.rules_on_delta.lab import UPSERT, Check, error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tools.benchmarks.rules_on_delta.lab import Lab

_INFO = {"commitInfo": {"timestamp": 0, "operation": "WRITE", "operationParameters": {}, "isBlindAppend": True}}
_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE AND t.id = 1 THEN DELETE"


def _new_column(lab: Lab) -> object:
    lab.both()
    target = lab.delta_table()
    lab.spark.sql(f"ALTER TABLE delta.`{lab.target}` ADD COLUMNS (w INT)")
    source = lab.spark.read.format("delta").load(str(lab.source)).alias("s")
    return target.merge(source, "t.id = s.id").whenMatchedDelete().execute()


def _switched_widening(lab: Lab) -> object:
    lab.both()
    target = lab.delta_table()
    lab.spark.sql(f"ALTER TABLE delta.`{lab.target}` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    source = lab.spark.read.format("delta").load(str(lab.source)).alias("s")
    return target.merge(source, "t.id = s.id").whenMatchedDelete().execute()


def _add(lab: Lab, partition: str | None = None) -> dict[str, Any]:
    """Copy a data file of the table under another name, and return the action that adds it."""
    adds = [json.loads(line)["add"] for line in _log(lab) if line.startswith('{"add"')]
    add = next(add for add in adds if partition is None or add["partitionValues"] == {"id": partition})
    name = f"winner-{Path(add['path']).name}"
    shutil.copy(lab.target / add["path"], lab.target / name)
    return {"add": {**add, "path": name}}


def _log(lab: Lab) -> list[str]:
    files = sorted((lab.target / "_delta_log").glob("*.json"))
    return [line for file in files for line in file.read_text().splitlines()]


def _remove(lab: Lab, partition: str | None = None) -> dict[str, Any]:
    adds = [json.loads(line)["add"] for line in _log(lab) if line.startswith('{"add"')]
    add = next(add for add in adds if partition is None or add["partitionValues"] == {"id": partition})
    kept = {name: add[name] for name in ("path", "partitionValues", "size")}
    return {"remove": {**kept, "deletionTimestamp": 1, "dataChange": True, "extendedFileMetadata": True}}


def _metadata(lab: Lab, name: str) -> dict[str, Any]:
    metadata = next(json.loads(line)["metaData"] for line in _log(lab) if line.startswith('{"metaData"'))
    return {"metaData": {**metadata, "configuration": {**metadata["configuration"], name: "v2"}}}


def _protocol(lab: Lab) -> dict[str, Any]:
    found = next(json.loads(line)["protocol"] for line in _log(lab) if line.startswith('{"protocol"'))
    features = {*found.get("writerFeatures", ("appendOnly", "invariants")), "domainMetadata"}
    return {"protocol": {**found, "minWriterVersion": 7, "writerFeatures": sorted(features)}}


def _raced(
    winner: Callable[[Lab], dict[str, Any]],
    *,
    clauses: str = UPSERT,
    on: str = "t.id = s.id",
    partition_by: str | None = None,
    rows: str = "(1, 11), (3, 33)",
    settings: Mapping[str, str] | None = None,
) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.table(lab.target, "id INT, v INT", "(1, 10), (2, 20)", partition_by=partition_by)
        commit = str(lab.target / "_delta_log" / f"{lab.num_commits():020}.json")
        text = "\n".join(json.dumps(action) for action in (_INFO, winner(lab)))

        def strike(value: int) -> int:
            if not Path(commit).exists():
                Path(commit).write_text(text)
            return value

        lab.spark.udf.register("strike", strike, "int")
        try:
            with lab.settings(**(settings or {})):
                lab.merge(clauses, on=on, using=f"(SELECT strike(id) AS id, v FROM VALUES {rows} AS r(id, v))")
        except Exception as raised:  # noqa: BLE001 - the error is the answer
            return error_of(raised).partition(".")[0]  # without the class of its hint
        return f"commit {lab.num_commits() - 1}"

    return ask


def _isolation(level: str) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.both(properties={"delta.isolationLevel": level})
        return "accepted"

    return ask


CHECKS = (
    Check(
        rule="R-142",
        question="a column added after the analysis of the target",
        ask=_new_column,
        expected="DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS",
    ),
    Check(
        rule="R-142",
        question="type widening switched on after it",
        ask=_switched_widening,
        expected="DELTA_METADATA_CHANGED",
    ),
    Check(rule="R-750", question="a winner adds a file", ask=_raced(_add), expected="DELTA_CONCURRENT_APPEND"),
    Check(
        rule="R-750",
        question="the same, insert-only",
        ask=_raced(_add, clauses="WHEN NOT MATCHED THEN INSERT *"),
        expected="DELTA_CONCURRENT_APPEND",
    ),
    Check(
        rule="R-750",
        question="the same, ON t.v = 1000, which is no partition",
        ask=_raced(_add, on="t.id = s.id AND t.v = 1000"),
        expected="DELTA_CONCURRENT_APPEND",
    ),
    Check(
        rule="R-750",
        question="partition 2 is added, ON t.id = 1",
        ask=_raced(lambda lab: _add(lab, "2"), on="t.id = s.id AND t.id = 1", partition_by="id"),
        expected="commit 3",
    ),
    Check(
        rule="R-750",
        question="partition 1 is added, ON t.id = 1",
        ask=_raced(lambda lab: _add(lab, "1"), on="t.id = s.id AND t.id = 1", partition_by="id"),
        expected="DELTA_CONCURRENT_APPEND",
    ),
    Check(
        rule="R-750",
        question="partition 2 is added, ON t.id = 1 and a by-source clause",
        ask=_raced(lambda lab: _add(lab, "2"), on="t.id = s.id AND t.id = 1", partition_by="id", clauses=_BY_SOURCE),
        expected="DELTA_CONCURRENT_APPEND",
    ),
    Check(rule="R-750", question="a file is removed", ask=_raced(_remove), expected="DELTA_CONCURRENT_DELETE_READ"),
    Check(
        rule="R-750",
        question="a file that is not read is removed",
        ask=_raced(lambda lab: _remove(lab, "2"), on="t.id = s.id AND t.id = 1", partition_by="id"),
        expected="commit 3",
    ),
    Check(
        rule="R-750",
        question="a property is set",
        ask=_raced(lambda lab: _metadata(lab, "delta.anything")),
        expected="DELTA_METADATA_CHANGED",
    ),
    Check(rule="R-750", question="a feature is added to the protocol", ask=_raced(_protocol), expected="commit 3"),
    Check(
        rule="R-750",
        question="a commit of the same application",
        ask=_raced(
            lambda _lab: {"txn": {"appId": "app", "version": 5, "lastUpdated": 0}},
            settings={"write__txnAppId": "app", "write__txnVersion": "1"},
        ),
        expected="DELTA_CONCURRENT_TRANSACTION",
    ),
    Check(
        rule="R-751",
        question="a merge without actions, although a file is added",
        ask=_raced(_add, clauses="WHEN MATCHED AND t.v > 1000 THEN DELETE"),
        expected="commit 2",
    ),
    Check(
        rule="R-751",
        question="isolation level WriteSerializable",
        ask=_isolation("WriteSerializable"),
        expected="IllegalArgumentException: requirement failed: delta.isolationLevel must be Serializable",
    ),
    Check(rule="R-751", question="isolation level Serializable", ask=_isolation("Serializable"), expected="accepted"),
)
