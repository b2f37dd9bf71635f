"""The result of a merge and the entries of its commit (R-110, R-702, R-710 to R-713, R-715)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tools.benchmarks.rules_on_delta.lab import UPSERT, Check

if TYPE_CHECKING:
    from tools.benchmarks.rules_on_delta.lab import Lab

_INSERT = "WHEN NOT MATCHED THEN INSERT *"
_NOTHING = "WHEN MATCHED AND t.v > 1000 THEN DELETE"


def _result(lab: Lab) -> object:
    lab.both()
    rows = lab.merge(f"{UPSERT} WHEN NOT MATCHED BY SOURCE THEN DELETE")
    return [rows[0].asDict(), [tuple(row) for row in lab.merge(_NOTHING)]]


def _data_change(lab: Lab) -> object:
    lab.both(properties={"delta.enableChangeDataFeed": "true"})
    lab.merge(f"{_NOTHING} WHEN NOT MATCHED AND s.id = 1000 THEN INSERT *")  # rewrites a file that it only copies
    copied = [{action["dataChange"] for action in lab.actions(kind)} for kind in ("add", "remove")]
    lab.merge(UPSERT)
    return [*copied, *({action["dataChange"] for action in lab.actions(kind)} for kind in ("add", "remove", "cdc"))]


def _commit_info(lab: Lab) -> object:
    lab.both()
    lab.merge(_INSERT)
    inserted = lab.actions("commitInfo")[0]
    with lab.settings(skipRecordingEmptyCommits="false"):
        lab.merge(_NOTHING)
    empty = lab.actions("commitInfo")[0]
    return [(info["operation"], info["isBlindAppend"], info["isolationLevel"]) for info in (inserted, empty)]


def _parameters(lab: Lab) -> object:
    lab.both()
    lab.merge(
        "WHEN MATCHED AND s.v <> 8 THEN UPDATE SET v = s.v WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED AND s.v IS NULL THEN INSERT *"
    )
    found = lab.actions("commitInfo")[0]["operationParameters"]
    return {name: json.loads(re.sub(r"#\d+L?", "#", value)) for name, value in sorted(found.items())}


def _texts(lab: Lab) -> object:
    """Return the conditions as written in the log, with their expression ids counted and taken out."""
    lab.both()
    lab.merge("WHEN MATCHED AND s.v <> 8 AND t.v IS NOT NULL THEN DELETE", on="t.id = s.id AND s.id IN (1, 2)")
    found = lab.actions("commitInfo")[0]["operationParameters"]
    texts = [json.loads(found["predicate"])[0], json.loads(found["matchedPredicates"])[0]["predicate"]]
    return [re.sub(r"#\d+L?", "#", text) for text in texts]


def _star_or_list(lab: Lab) -> object:
    lab.both()
    found = []
    for clauses in (UPSERT, UPSERT.replace("UPDATE SET *", "UPDATE SET v = s.v")):
        lab.merge(clauses)
        found.append(re.sub(r"#\d+L?", "#", json.dumps(lab.actions("commitInfo")[0]["operationParameters"])))
    return found[0] == found[1]


def _replay(lab: Lab) -> object:
    lab.both()
    with lab.settings(write__txnAppId="app", write__txnVersion="3"):
        first = len(lab.merge(UPSERT))
        txn = [(action["appId"], action["version"]) for action in lab.actions("txn")]
        again = len(lab.merge("WHEN MATCHED THEN DELETE"))
    with lab.settings(write__txnAppId="app", write__txnVersion="2"):
        earlier = len(lab.merge("WHEN MATCHED THEN DELETE"))
    return [first, txn, again, earlier, lab.rows()]


def _empty_replay(lab: Lab) -> object:
    lab.both()
    before = lab.num_commits()
    with lab.settings(write__txnAppId="app", write__txnVersion="3"):
        lab.merge(_NOTHING)
    return [lab.num_commits() - before, len(lab.actions("txn"))]


def _half_set(lab: Lab) -> object:
    lab.both()
    with lab.settings(write__txnAppId="app"):
        return lab.merge(UPSERT)


def _reset(lab: Lab) -> object:
    lab.both()
    name = "spark.databricks.delta.write.txnVersion"
    with lab.settings(write__txnAppId="app", write__txnVersion="3", write__txnVersion__autoReset__enabled="true"):
        lab.merge(UPSERT)
        after_merge = lab.spark.conf.get(name, None)
        lab.spark.conf.set(name, "3")
        lab.merge(UPSERT)
        return [after_merge, lab.spark.conf.get(name, None)]


CHECKS = (
    Check(
        rule="R-110",
        question="the rows of a merge, and of one that commits nothing",
        ask=_result,
        expected=[
            {"num_affected_rows": 3, "num_updated_rows": 1, "num_deleted_rows": 1, "num_inserted_rows": 1},
            [(0, 0, 0, 0)],
        ],
    ),
    Check(
        rule="R-702",
        question="dataChange of copies (add, remove) and of changes (add, remove, cdc)",
        ask=_data_change,
        expected=[{True}, {True}, {True}, {True}, {False}],
    ),
    Check(
        rule="R-710",
        question="operation, isBlindAppend, isolationLevel of inserts and of a recorded empty merge",
        ask=_commit_info,
        expected=[("MERGE", False, "Serializable"), ("MERGE", False, "SnapshotIsolation")],
    ),
    Check(
        rule="R-711",
        question="operationParameters",
        ask=_parameters,
        expected={
            "matchedPredicates": [{"predicate": "NOT (v# = 8)", "actionType": "update"}, {"actionType": "delete"}],
            "notMatchedBySourcePredicates": [],
            "notMatchedPredicates": [{"predicate": "isnull(v#)", "actionType": "insert"}],
            "predicate": ["(id# = id#)"],
        },
    ),
    Check(
        rule="R-712",
        question="texts of conditions without the numbers of their columns",
        ask=_texts,
        expected=["((id# = id#) AND id# IN (1,2))", "(NOT (v# = 8) AND isnotnull(v#))"],
    ),
    Check(rule="R-713", question="a star and a list leave the same parameters", ask=_star_or_list, expected=True),
    Check(
        rule="R-715",
        question="rows of the first merge, txn, rows of a replay, of an earlier version, the table",
        ask=_replay,
        expected=[1, [("app", 3)], 0, 0, [(1, 11), (2, 20), (3, 33)]],
    ),
    Check(rule="R-715", question="commits and txn of a merge that changes nothing", ask=_empty_replay, expected=[1, 1]),
    Check(
        rule="R-715",
        question="an application without a version",
        ask=_half_set,
        expected="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
    ),
    Check(
        rule="R-715",
        question="the version after a merge and a replay with autoReset",
        ask=_reset,
        expected=[None, None],
    ),
)
