"""The engine iceberg: its cases, its tables, and how it reads Iceberg's answers; without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.engines.iceberg.answer import metrics_of, outcome_of, row_id_faults
from mergecheck.harness.engines.iceberg.engine import IcebergEngine
from mergecheck.harness.engines.iceberg.settings import AXES, FEATURES_OFF, FORMAT, MODE, lacking, session_settings
from mergecheck.harness.engines.iceberg.tables import Snapshot, creation, newest_snapshot, query_of_rows
from mergecheck.harness.engines.registry import diagnose_engine
from mergecheck.harness.search.session import reference_for
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Feed, Prediction, Rejection
from mergecheck.strategies import Feature

if TYPE_CHECKING:
    from mergecheck.model.case import Case

EVERY_CLAUSE = (
    "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE"
)


def case_of(sql: str = EVERY_CLAUSE, *, conf: dict[str, str] | None = None, **target: Any) -> Case:
    return case_from_json(
        {
            "format_version": 1,
            "id": "iceberg",
            "target": {"schema": "k INT NOT NULL, v DATE", "files": [[[1, None]], [[2, None]]], **target},
            "source": {"schema": "k INT, v DATE", "rows": [[1, None], [1, None]]},
            "sql": sql,
            "conf": conf or {},
        },
        where="test",
    )


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (case_of(), None),
        (case_of(properties={"delta.enableChangeDataFeed": "true"}), None),
        (case_of(conf={"spark.sql.shuffle.partitions": "3", MODE: "merge-on-read", FORMAT: "3"}), None),
        (case_of(conf={"spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "false"}), None),
        (case_of(conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"}), None),
        (case_of(schema="k TINYINT", files=[]), "a target with TINYINT"),
        (case_of(schema="k INT, v INT DEFAULT 3", files=[]), "a column with a default"),
        (case_of(schema="k INT, v INT GENERATED ALWAYS AS (k)", files=[]), "a generated column"),
        (case_of(schema="k INT, v BIGINT GENERATED ALWAYS AS IDENTITY", files=[]), "an identity column"),
        (case_of(schema="k STRING, v INT", files=[], partition_by=["k"]), "partitions by texts"),
        (case_of(properties={"delta.constraints.c": "k > 0"}), "a CHECK constraint"),
        (case_of(properties={"delta.appendOnly": "true"}), "table property delta.appendOnly"),
        (case_of(conf={"spark.sql.storeAssignmentPolicy": "STRICT"}), "setting spark.sql.storeAssignmentPolicy"),
        (case_of(schema="k STRUCT<a: INT NOT NULL>, v DATE", files=[]), "NOT NULL inside a column"),
        (case_of(schema="k MAP<INT, ARRAY<STRUCT<a: INT NOT NULL>>>, v DATE", files=[]), "NOT NULL inside a column"),
        (
            case_of(conf={"spark.databricks.delta.merge.preserveNullSourceStructs": "false"}),
            "setting spark.databricks.delta.merge.preserveNullSourceStructs=false",
        ),
        (case_of(conf={"spark.databricks.delta.write.txnAppId": "a"}), "setting spark.databricks.delta.write"),
        (case_of(conf={MODE: "neither"}), f"setting {MODE}=neither"),
    ],
)
def test_what_iceberg_does_not_have_is_named(case: Case, reason: str | None) -> None:
    found = lacking(case)
    assert (found is None) if reason is None else (found or "").startswith(reason)


def test_features_that_are_left_out_exist() -> None:
    assert {feature.value for feature in Feature} >= FEATURES_OFF


def test_sparks_settings_are_passed_on_and_deltas_are_not() -> None:
    conf = {
        "spark.sql.shuffle.partitions": "3",
        "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": "false",
        MODE: "merge-on-read",
    }
    told = session_settings(case_of(conf=conf))
    assert told["spark.sql.shuffle.partitions"] == "3"
    assert [name for name in told if "delta" in name or name in {axis.name for axis in AXES}] == []


def test_a_table_is_made_by_the_settings_of_the_case(tmp_path: Path) -> None:
    create, view, insert = creation(case_of(conf={MODE: "merge-on-read", FORMAT: "3"}, partition_by=["v"]), tmp_path)
    assert create["sql"].startswith("CREATE TABLE target (k INT NOT NULL, v DATE) USING iceberg PARTITIONED BY (v) ")
    assert "'format-version' = '3', 'write.delete.mode' = 'merge-on-read'" in create["sql"]
    assert view["path"] == str(tmp_path)
    assert insert["sql"].startswith("INSERT INTO target SELECT * FROM ")
    assert len(creation(case_of(files=[]), tmp_path)) == 1


def test_ids_of_rows_are_asked_for_where_there_are_some() -> None:
    assert "_row_id" in query_of_rows(case_of(conf={FORMAT: "3"}))
    assert "_row_id" not in query_of_rows(case_of(conf={FORMAT: "2"}))
    assert "*, _row_id" not in query_of_rows(case_of(conf={FORMAT: "3"}, schema="_ROW_ID INT", files=[]))


def test_the_newest_snapshot_is_read_from_the_metadata(tmp_path: Path) -> None:
    folder = tmp_path / "metadata"
    folder.mkdir()
    (folder / "version-hint.text").write_text("3")
    metadata = {
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 5, "summary": {}}, {"snapshot-id": 7, "summary": {"operation": "overwrite"}}],
    }
    (folder / "v3.metadata.json").write_text(json.dumps(metadata))
    assert newest_snapshot(tmp_path) == Snapshot(7, {"operation": "overwrite"})
    (folder / "v3.metadata.json").write_text(json.dumps({"current-snapshot-id": -1, "snapshots": []}))
    assert newest_snapshot(tmp_path) is None


def test_metrics_have_deltas_names_and_unknown_ones_are_left_out() -> None:
    prefix = "spark.merge-into.num-target-rows-"
    summary = {f"{prefix}inserted": "2", f"{prefix}copied": "3", f"{prefix}deleted": "-1", "added-records": "5"}
    assert metrics_of(Snapshot(1, summary)) == {"numTargetRowsInserted": 2, "numTargetRowsCopied": 3}


def test_an_append_has_no_metrics_to_compare() -> None:
    case, snapshot = case_of(), Snapshot(1, {"operation": "append", "added-records": "1"})
    outcome = outcome_of(case.target.schema, (), changes=(), feed=Feed.NET, snapshot=snapshot, id_faults=())
    assert not outcome.history_metrics
    assert outcome.num_records_added == 1


COUNTED = {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 1, "numTargetRowsDeleted": 1}


@pytest.mark.parametrize(
    ("after", "fault"),
    [
        ([(0, 1), (1, 2), (3, 2)], None),
        ([(0, 1), (1, 2), (1, 2)], "3 rows, but 2 different row ids"),
        ([(0, 1), (1, 1), (3, 2)], "0 rows kept their id and have another number of the last change"),
        ([(0, 1), (3, 2), (4, 2)], "2 new row ids, but numTargetRowsInserted 1"),
        ([(0, 1), (1, 2), (2, 1), (3, 2)], "0 row ids are gone, but numTargetRowsDeleted 1"),
    ],
)
def test_ids_of_rows_follow_from_what_became_of_the_rows(after: list[tuple[int, int]], fault: str | None) -> None:
    found = row_id_faults([(0, 1), (1, 1), (2, 1)], after, COUNTED)
    assert (found == ()) if fault is None else any(text.startswith(fault) for text in found)


def test_a_new_row_has_an_id_that_no_row_had_before() -> None:
    assert row_id_faults([(0, 1), (5, 1)], [(0, 1), (3, 2)], {}) == (
        "a new row has an id that an older row could have had",
    )


class Engine:
    """The dialect of an engine, for the reference."""

    name, version, capabilities = "iceberg", "1", IcebergEngine.capabilities


@pytest.mark.parametrize(
    ("clauses", "is_refused"),
    [
        ("WHEN MATCHED THEN UPDATE SET *", True),
        ("WHEN MATCHED AND FALSE THEN DELETE", True),
        ("WHEN MATCHED THEN DELETE", False),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE", False),
        ("WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE", False),
    ],
)
def test_the_reference_predicts_what_iceberg_makes_of_several_matches(clauses: str, *, is_refused: bool) -> None:
    """Spark looks for several matches only if a MATCHED clause could act on any of them."""
    case = replace(case_of(), sql=f"MERGE INTO target t USING source s ON t.k = s.k {clauses}")
    answer = reference_for(Engine()).evaluate(case).answer  # type: ignore[arg-type] # it needs no more of an engine
    assert isinstance(answer, Rejection if is_refused else Prediction)


def test_doctor_names_the_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MERGECHECK_CACHE", str(tmp_path))
    needs = {need.name: need for need in diagnose_engine("iceberg@1.12.0+spark4.1")}
    assert "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0" in needs["jars"].found or not needs["jars"].fix


def test_a_spark_that_gives_no_arrow_tables_is_refused_at_once() -> None:
    with pytest.raises(UserInputError, match=r"iceberg@1\.9\.2\+spark3\.5: .* iceberg@1\.12\.0\+spark4\.1"):
        diagnose_engine("iceberg@1.9.2+spark3.5")


def test_the_page_names_every_minimal_case() -> None:
    page = Path("docs/iceberg.md").read_text(encoding="utf-8")
    cases = sorted(Path("docs/findings/cases").glob("iceberg-*.json"))
    assert cases
    assert [path.name for path in cases if f"findings/cases/{path.name}" not in page] == []
