"""Table properties and settings that people have: their cases are judged, and in full."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.engines.delta_spark import DeltaSparkEngine
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark.session import start_session
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.engine import Engine

UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
PROPERTIES = (
    {"delta.autoOptimize.optimizeWrite": "true", "delta.autoOptimize.autoCompact": "true"},
    {
        "delta.logRetentionDuration": "interval 30 days",
        "delta.deletedFileRetentionDuration": "interval 7 days",
        "delta.setTransactionRetentionDuration": "30 days",
        "delta.checkpointInterval": "10",
    },
    {"delta.dataSkippingNumIndexedCols": "1", "delta.enableChangeDataFeed": "true"},
    {"delta.dataSkippingStatsColumns": "v", "delta.enableChangeDataFeed": "true"},
    {"delta.targetFileSize": "128mb", "delta.tuneFileSizesForRewrites": "true"},
    {"delta.isolationLevel": "Serializable"},
    {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "3"},
    {"delta.parquet.compression.codec": "ZSTD", "delta.parquet.format.version": "2.12.0"},
    {"delta.compatibility.symlinkFormatManifest.enabled": "true"},
    {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5"},
    {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"},
    {"delta.feature.deletionVectors": "supported", "delta.feature.changedatafeed": "supported"},
    {"owner": "us", "myteam.x": "1", "Delta.AppendOnly": "false"},
)
SETTINGS = (
    {
        "spark.databricks.delta.optimizeWrite.enabled": "true",
        "spark.databricks.delta.merge.enableLowShuffle": "true",
        "spark.sql.shuffle.partitions": "4",
    },
    {"spark.databricks.delta.autoCompact.enabled": "true", "spark.databricks.delta.autoCompact.minNumFiles": "2"},
    {"spark.sql.mapKeyDedupPolicy": "LAST_WIN", "spark.sql.parquet.compression.codec": "zstd"},
    {"spark.databricks.delta.properties.defaults.enableChangeDataFeed": "false"},
)


@pytest.fixture(scope="module")
def delta_spark() -> Iterator[DeltaSparkEngine]:
    started = DeltaSparkEngine(start_session())
    yield started
    started.close()


@pytest.fixture(params=["pyspark", "delta-spark"])
def engine(request: pytest.FixtureRequest, delta_spark: DeltaSparkEngine) -> Engine:
    return PySparkEngine(delta_spark.session()) if request.param == "pyspark" else delta_spark


def document(properties: dict[str, str], conf: dict[str, str]) -> dict[str, Any]:
    return {
        "format_version": 1,
        "id": "everyday",
        "target": {
            "schema": "id INT, v STRING, p STRING",
            "files": [[[1, "a", "x"], [4, "d", "x"]], [[2, "b", "y"]], [[5, None, "y"]]],
            "partition_by": ["p"],
            "properties": properties,
        },
        "source": {"schema": "id INT, v STRING, p STRING", "rows": [[1, "x", "x"], [3, "y", "y"]]},
        "sql": UPSERT,
        "conf": conf,
    }


@pytest.mark.parametrize(
    ("properties", "conf"),
    [*((each, {}) for each in PROPERTIES), *(({}, each) for each in SETTINGS)],
    ids=lambda given: json.dumps(given)[:60],
)
def test_a_case_with_everyday_properties_and_settings_is_judged(
    engine: Engine, properties: dict[str, str], conf: dict[str, str]
) -> None:
    """Nothing of it is left out because of them."""
    report = check_case(case_from_json(document(properties, conf), where="test"), engine)

    assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())
    assert not {Check.ROWS, Check.METRICS, Check.CDF, Check.PATH, Check.TABLE} & set(report.unsupported_checks)


def test_the_commit_of_the_merge_is_judged_if_a_compaction_follows(delta_spark: DeltaSparkEngine) -> None:
    """Metrics, change feed and path come from the merge, though the newest commit is another one."""
    conf = {"spark.databricks.delta.autoCompact.minNumFiles": "2"}
    properties = {"delta.autoOptimize.autoCompact": "true", "delta.enableChangeDataFeed": "true"}

    report = check_case(case_from_json(document(properties, conf), where="test"), delta_spark)

    assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())
    assert isinstance(report.result, Outcome)
    assert report.result.cdf is not None
    assert sorted(row[-1] for row in report.result.cdf) == ["insert", "update_postimage", "update_preimage"]
