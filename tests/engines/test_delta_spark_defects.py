"""Defects of Delta Lake are seen on Delta Lake: as known deviations and not as agreement, nor as unsupported.

Each defect has some forms besides the case of its entry: another clause, another column, another time zone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.engines.spark_values.on_demand import SparkOnDemand
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Case

pytestmark = pytest.mark.spark

_ON = "MERGE INTO target t USING source s ON t.id = s.id "
_UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
_INSERT = "WHEN NOT MATCHED THEN INSERT *"
_UPDATE = "WHEN MATCHED THEN UPDATE SET v = s.v"
_FEED = {"delta.enableChangeDataFeed": "true"}
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_LATER = "2024-11-03T06:30:00Z"
_SORT_MERGE = {
    "mergecheck.source": "table",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_DEDUPED = (
    "MERGE INTO target t USING (SELECT id, v FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY v DESC) AS rn "
    "FROM source) WHERE rn = 1) s ON t.id = s.id "
)
_GROUPED = "MERGE INTO target t USING (SELECT id, max(v) AS v FROM source GROUP BY id) s ON t.id = s.id "
_ANTI = (
    "MERGE INTO target t USING (SELECT a.* FROM source a LEFT ANTI JOIN (SELECT id + 100 AS k FROM source) b "
    "ON a.id = b.k) s ON t.id = s.id "
)


@pytest.fixture(scope="module")
def engine() -> Iterator[DeltaSparkEngine]:
    started = DeltaSparkEngine(start_session())
    yield started
    started.close()


def _case(
    sql: str, schema: str, held: list[list[Any]], given: list[list[Any]], source_schema: str | None = None, **more: Any
) -> Case:
    document = {
        "format_version": 1,
        "id": "defect",
        "target": {"schema": schema, "files": [held], **more.pop("target", {})},
        "source": {"schema": source_schema or schema, "rows": given},
        "sql": sql,
        **more,
    }
    return parse_cases(json.dumps(document), name="defect", lines=False)[0]


def _named(column: str, clauses: str, *, on_target: bool = True, on_source: bool = True, **properties: str) -> Case:
    """Make a case in which tables have a column of a name."""
    of = ["id INT, v INT" + (f", `{column}` INT" if has else "") for has in (on_target, on_source)]
    rows = [[1, 2, 3][: 3 if has else 2] for has in (on_target, on_source)]
    return _case(_ON + clauses, of[0], [rows[0]], [rows[1]], of[1], target={"properties": properties})


def _at(zone: str, moment: str, clauses: str, **properties: str) -> Case:
    rows = [[1, moment], [2, moment]]
    target = {"partition_by": ["p"], "properties": properties}
    conf = {"spark.sql.session.timeZone": zone}
    return _case(_ON + clauses, "id INT, p TIMESTAMP", rows, [[1, moment], [3, moment]], target=target, conf=conf)


def _of_texts(clauses: str, source: list[list[Any]], schema: str = "id INT, p STRING", **properties: str) -> Case:
    target = {"partition_by": ["p"], "properties": properties}
    return _case(_ON + clauses, schema, [[1, "a"], [2, "b"]], source, "id INT, p STRING", target=target)


def _sorted(sql: str, schema: str, target: list[list[Any]], source: list[list[Any]], **target_more: Any) -> Case:
    return _case(sql, schema, target, source, target=target_more, conf=_SORT_MERGE)


_NUMBERS = [[1, 1], [2, 2], [3, 3], [4, 4], [4, 5], [5, 6]]
_TEXTS = [[1, "a"], [2, "b"], [3, "c"], [4, "d"], [4, "e"]]
_CHECK = "delta.constraints.c"
_LOST, _HIDDEN = "delta-spark-lost-row", "delta-spark-null-hides-match"
_FOLDERS, _UNREADABLE = "delta-spark-partition-folders", "delta-spark-text-of-null-folder-not-null"
_SORTED, _HELPER, _CDC = (
    "delta-spark-source-rows-sorted",
    "delta-spark-helper-columns",
    "delta-spark-column-of-change-files",
)
_PASSES = "delta-spark-empty-text-passes-check"
DEFECTS: dict[str, tuple[str, Case]] = {
    "a row is lost beside a deleted one": (
        _LOST,
        _case(
            _ON + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            "id INT, v INT",
            [[1, 0], [2, 0]],
            [[1, 2], [3, 4], [1, 3]],
            target={"properties": _FEED},
        ),
    ),
    "a NULL condition hides a match": (
        _HIDDEN,
        _case(_ON + "WHEN MATCHED AND s.v > 0 THEN UPDATE SET v = s.v", "id INT, v INT", [[1, 0]], [[1, None], [1, 5]]),
    ),
    "an hour: copied": (_FOLDERS, _at("America/New_York", _LATER, "WHEN MATCHED THEN DELETE")),
    "an hour: updated, inserted, feed": (_FOLDERS, _at("America/New_York", _LATER, _UPSERT, **_FEED)),
    "an hour: Berlin": (_FOLDERS, _at("Europe/Berlin", "2024-10-27T01:15:00Z", _UPSERT)),
    "half an hour: Lord Howe": (_FOLDERS, _at("Australia/Lord_Howe", "2024-04-06T15:15:00Z", _UPSERT)),
    "a text: upsert": (_FOLDERS, _of_texts(_UPSERT, [[1, _NULL_FOLDER], [3, _NULL_FOLDER]])),
    "a text: feed": (_FOLDERS, _of_texts(_UPSERT, [[1, _NULL_FOLDER], [3, "c"]], **_FEED)),
    "a text: literal": (_FOLDERS, _of_texts(f"WHEN MATCHED THEN UPDATE SET p = '{_NULL_FOLDER}'", [[1, "x"]])),
    "a text: NOT NULL": (_UNREADABLE, _of_texts(_UPSERT, [[3, _NULL_FOLDER]], "id INT, p STRING NOT NULL")),
    "sorted: row_number": (
        _SORTED,
        _sorted(_DEDUPED + "WHEN MATCHED THEN DELETE", "id INT, v INT", [[3, 0]], _NUMBERS),
    ),
    "sorted: nothing matches": (_SORTED, _sorted(_DEDUPED + _UPSERT, "id INT, v INT", [[0, 0]], _NUMBERS)),
    "sorted: max of a text": (_SORTED, _sorted(_GROUPED + _UPDATE, "id INT, v STRING", [[1, "x"]], _TEXTS)),
    "sorted: anti join": (_SORTED, _sorted(_ANTI + _UPDATE, "id INT, v INT", [[1, 0]], _NUMBERS[:4])),
    "sorted: marked rows": (
        _SORTED,
        _sorted(
            _DEDUPED + _UPDATE,
            "id INT, v INT",
            [[1, 0]],
            [[None, 3], *_NUMBERS],
            properties={"delta.enableDeletionVectors": "true"},
        ),
    ),
    "name: _row_id_ of both": (_HELPER, _named("_row_id_", _UPSERT)),
    "name: _row_id_ of the target": (
        _HELPER,
        _named("_row_id_", "WHEN MATCHED AND t._row_id_ > 1 THEN UPDATE SET v = s.v", on_source=False),
    ),
    "name: _file_name_ of the source": (
        _HELPER,
        _named("_file_name_", "WHEN MATCHED AND s._file_name_ > 1 THEN UPDATE SET v = s.v", on_target=False),
    ),
    "name: _row_dropped_": (_HELPER, _named("_row_dropped_", _UPDATE, on_source=False)),
    "name: _row_dropped_ with a feed": (_HELPER, _named("_row_dropped_", _UPDATE, on_source=False, **_FEED)),
    "name: _source_row_present_ of the source": (
        _HELPER,
        _named("_source_row_present_", "WHEN MATCHED THEN UPDATE SET v = s._source_row_present_", on_target=False),
    ),
    "name: _source_row_present_ of the target": (_HELPER, _named("_source_row_present_", _UPDATE, on_source=False)),
    "name: _target_row_present_": (_HELPER, _named("_target_row_present_", _UPDATE, on_source=False)),
    "name: of a condition": (
        _HELPER,
        _named("_update_condition_0_", "WHEN MATCHED AND s.v > 1 THEN UPDATE SET v = s.v", on_source=False),
    ),
    "name: _Delete_Condition_0_ of a query": (
        _HELPER,
        _case(
            "MERGE INTO target t USING (SELECT id, v AS `_Delete_Condition_0_` FROM source) s ON t.id = s.id "
            "WHEN MATCHED AND s.`_Delete_Condition_0_` > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 0",
            "id INT, v INT",
            [[1, 2], [2, 2]],
            [[1, 2]],
        ),
    ),
    "name: __is_cdc": (_CDC, _named("__is_cdc", _UPDATE, on_source=False, **_FEED)),
    "CHECK: <>": (_PASSES, _of_texts(_INSERT, [[3, ""]], **{_CHECK: "p <> 'x'"})),
    "CHECK: IS NOT NULL": (_PASSES, _of_texts(_INSERT, [[3, ""], [4, "c"]], **{_CHECK: "p IS NOT NULL"})),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_shows_as_the_known_deviation(engine: DeltaSparkEngine, name: str) -> None:
    entry, case = DEFECTS[name]
    report = check_case(case, engine, reference=MergeReference(evaluator=SparkOnDemand()).evaluate)
    assert report.verdict is Verdict.MISMATCH, report.reason
    found = load_deviations().explain(report, engine.capabilities)
    assert [one.id for one in found] == [entry], report.mismatches


def test_a_generated_column_over_an_empty_text_is_a_mismatch(engine: DeltaSparkEngine) -> None:
    """The reference abstains (R-744); the stored row shows it."""
    case = _case(
        _ON + "WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.p)",
        "id INT, p STRING, g STRING GENERATED ALWAYS AS (concat(p, 'x'))",
        [[1, "a", "ax"]],
        [[3, ""]],
        "id INT, p STRING",
        target={"partition_by": ["p"]},
    )
    report = check_case(case, engine)
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("rows", "R-222")]


def test_a_check_that_spark_alone_evaluates_is_held_too(engine: DeltaSparkEngine) -> None:
    case = _of_texts(_INSERT, [[3, ""]], **{_CHECK: "p RLIKE '^[a-z]*$'"})
    report = check_case(case, engine, reference=MergeReference(evaluator=SparkOnDemand()).evaluate)
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("error", "no_error")]


@pytest.mark.parametrize(
    "case",
    [
        _at("America/New_York", "2024-11-03T05:30:00Z", _UPSERT),
        _named("__is_cdc", _UPDATE, on_target=False, **_FEED),
        _named("_row_dropped_", _UPDATE, on_target=False),
        _sorted(_DEDUPED + _UPSERT, "id INT, v INT", [[1, 0]], _NUMBERS),
    ],
)
def test_where_delta_lake_is_right_it_agrees(engine: DeltaSparkEngine, case: Case) -> None:
    report = check_case(case, engine, reference=MergeReference(evaluator=SparkOnDemand()).evaluate)
    assert report.verdict is Verdict.AGREE
