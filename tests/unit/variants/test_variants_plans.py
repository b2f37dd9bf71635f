"""Fingerprints of executed plans, read from Spark's own text."""

from __future__ import annotations

from mergecheck.harness.variants.plans import fingerprint_of

STATIC = """== Physical Plan ==
* HashAggregate (5)
+- * SortMergeJoin RightOuter (4)
   :- * Scan ExistingRDD (1)
   +- * ColumnarToRow (3)
      +- Scan parquet  (2)


(1) Scan ExistingRDD [codegen id : 1]
Output [1]: [source_0#1]

(2) Scan parquet
Output [1]: [id#2]
Batched: true
Location: InMemoryFileIndex [file:/BroadcastHashJoin Inner (9)]

"""
ADAPTIVE = """== Physical Plan ==
AdaptiveSparkPlan (9)
+- == Final Plan ==
   ResultQueryStage (4), Statistics(sizeInBytes=8.0 EiB)
   +- * ShuffledHashJoin FullOuter BuildLeft (3)
      :- Scan parquet  (1)
      +- ShuffleQueryStage (2), Statistics(sizeInBytes=16.0 B, rowCount=1)
         +- Exchange (8)
+- == Initial Plan ==
   SortMergeJoin FullOuter (7)
   +- Scan parquet  (6)


(1) Scan parquet
Batched: false

(6) Scan parquet
Batched: true

(9) AdaptiveSparkPlan
Output [1]: [id#2]
Arguments: isFinalPlan=true


"""


def test_operators_joins_and_generated_code() -> None:
    """The tree counts, the details below it do not, but for how files are read."""
    found = fingerprint_of([STATIC])
    assert found.joins() == ("SortMergeJoin RightOuter",)
    assert found.names == {
        "BatchedScan",
        "ColumnarToRow",
        "ExistingRDD",
        "HashAggregate",
        "SortMergeJoin",
        "WholeStageCodegen",
        "parquet",
    }
    assert dict(found.operators)["WholeStageCodegen"] == 4
    assert found.shows(["BroadcastHashJoin", "SortMergeJoin"])
    assert not found.shows(["BroadcastHashJoin"])


def test_of_an_adaptive_plan_the_final_one() -> None:
    """What adaptive execution replaced has not run."""
    found = fingerprint_of([ADAPTIVE])
    assert found.joins() == ("ShuffledHashJoin FullOuter",)
    assert {"AdaptiveSparkPlan", "RowScan", "Exchange", "ShuffleQueryStage"} <= found.names
    assert not found.shows(["SortMergeJoin", "BatchedScan"])


def test_an_adaptive_plan_that_never_became_final() -> None:
    """A query that failed shows its plan."""
    failed = ADAPTIVE.replace("isFinalPlan=true", "isFinalPlan=false")
    assert "SortMergeJoin FullOuter" in fingerprint_of([failed]).joins()


def test_several_queries_add_up() -> None:
    """A merge runs more than one."""
    assert dict(fingerprint_of([STATIC, STATIC]).operators)["SortMergeJoin RightOuter"] == 2
    assert str(fingerprint_of([])) == ""
