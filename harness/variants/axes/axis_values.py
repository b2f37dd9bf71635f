"""All places on all axes: their settings, their domains, the changes they may cause, and the proof in plans.

``layouts`` has the places of layouts, ``table_features`` those for table features.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile
from mergecheck.harness.engines.spark_case import SOURCE_SETTING
from mergecheck.harness.oracles.relations.relation import AMBIGUOUS
from mergecheck.harness.variants.axes import domains
from mergecheck.harness.variants.axes.axis import REWRITTEN, SIZES, WRITTEN, Axis, AxisValue, Exemption
from mergecheck.harness.variants.axes.large_tables import LARGE_TABLES
from mergecheck.harness.variants.axes.layouts import LAYOUTS
from mergecheck.harness.variants.axes.table_features import FEATURES
from mergecheck.merge import conf

if TYPE_CHECKING:
    from collections.abc import Mapping

BASE_SETTINGS: Mapping[str, str] = {**PROFILE_SETTINGS[Profile.TINY], SOURCE_SETTING: "table"}
"""Settings of the base case: the fast profile, its source a table. A case's own settings go before these."""

OWN_BASE_SETTINGS: Mapping[str, str] = {conf.SINGLE_SCAN: "false"}
"""The same for an engine that has these settings: by two scans, which give Spark more to plan than a single one."""

BASE_NAMES: Mapping[Axis, str] = {
    Axis.INSERT_ONLY: "on",
    Axis.MATCHED_ONLY: "on",
    Axis.REPARTITION: "on",
    Axis.OPTIMIZE_WRITE: "unset",
    Axis.SINGLE_SCAN: "off",
    Axis.ONE_TASK: "on",
    Axis.LARGE_TABLES: "from 16 MiB",
    Axis.SOURCE_KEYS: "looked up",
    Axis.BROADCAST_SOURCE: "on",
    Axis.LOW_SHUFFLE: "on",
    Axis.MATERIALIZE: "auto",
    Axis.SOURCE: "table",
    Axis.JOIN: "sort-merge",
    Axis.AQE: "off",
    Axis.CODEGEN: "off",
    Axis.PARTITIONS: "1",
    Axis.SPLITS: "one",
    Axis.READER: "batches of 4096",
    Axis.ARROW_BATCH: "10000",
    Axis.SPILL: "late",
    Axis.RECORDS_PER_FILE: "unlimited",
    Axis.FILES: "as given",
    Axis.ROW_GROUPS: "as given",
    Axis.STATISTICS: "as given",
    Axis.SOURCE_BATCH: "as given",
    Axis.PARTITIONED: "as given",
    Axis.VECTORS: "as given",
    Axis.COLUMN_MAPPING: "as given",
    Axis.PLUGIN: "none",
}

_FILES_WRITTEN = Exemption(rules=("R-542", "R-543", "R-550"), metrics=WRITTEN)
# Where rows are not gathered, each task of the last join writes a file; an outer nested loop has one more of them.
_OTHER_TASKS = Exemption(rules=("R-542",), metrics=WRITTEN)
_ANY_NUMBER_OF_FILES = {conf.REPARTITION_BEFORE_WRITE: "false"}  # the reference's numbers of files are bounds then


_FLAGS = (
    AxisValue(
        axis=Axis.INSERT_ONLY,
        name="off",
        sentence="an insert-only merge takes the classic path",
        settings={conf.OPTIMIZE_INSERT_ONLY: "false"},
        judged_as={conf.OPTIMIZE_INSERT_ONLY: "false"},
        domain="insert clauses only",
        holds=domains.having("insert-only"),
        exemptions=(
            Exemption(
                rules=("R-550", "R-402", "R-731"),
                metrics=WRITTEN | REWRITTEN,
                observables=frozenset({"commit", "path"}),
            ),
            Exemption(rules=("R-320",), errors=frozenset({AMBIGUOUS})),
        ),
    ),
    AxisValue(
        axis=Axis.MATCHED_ONLY,
        name="off",
        sentence="a matched-only merge rewrites by a full outer join",
        settings={conf.OPTIMIZE_MATCHED_ONLY: "false"},
        judged_as={conf.OPTIMIZE_MATCHED_ONLY: "false"},
        domain="MATCHED clauses only",
        holds=domains.having("matched-only"),
        exemptions=(_OTHER_TASKS,),
    ),
    AxisValue(
        axis=Axis.REPARTITION,
        name="off",
        sentence="rows are written by the tasks that have them",
        settings={conf.REPARTITION_BEFORE_WRITE: "false"},
        judged_as=_ANY_NUMBER_OF_FILES,
        exemptions=(_FILES_WRITTEN,),
    ),
    AxisValue(
        axis=Axis.OPTIMIZE_WRITE,
        name="on",
        sentence="an optimised write arranges the rows",
        settings={conf.OPTIMIZE_WRITE: "true"},
        judged_as=_ANY_NUMBER_OF_FILES,
        exemptions=(_FILES_WRITTEN,),
    ),
    AxisValue(
        axis=Axis.SINGLE_SCAN,
        name="on",
        sentence="the task that writes finds out which files are touched",
        settings={conf.SINGLE_SCAN: "true"},
    ),
    AxisValue(
        axis=Axis.ONE_TASK,
        name="off",
        sentence="small merges are joined and written in as many tasks as Spark likes",
        settings={conf.ONE_TASK: "false"},
        exemptions=(_FILES_WRITTEN,),
    ),
    AxisValue(
        axis=Axis.MATERIALIZE,
        name="all",
        sentence="the source is materialised",
        settings={conf.MATERIALIZE_SOURCE: "all"},
        plan=("ExistingRDD",),
    ),
    AxisValue(
        axis=Axis.MATERIALIZE,
        name="none",
        sentence="the source is read for each scan",
        settings={conf.MATERIALIZE_SOURCE: "none"},
    ),
    AxisValue(
        axis=Axis.SOURCE,
        name="relation",
        sentence="the source is a local relation, which a merge materialises by itself",
        settings={SOURCE_SETTING: "relation"},
        domain="a source of its own",
        holds=domains.has_source_table,
    ),
)

_PLANNING = (
    AxisValue(
        axis=Axis.JOIN,
        name="broadcast",
        sentence="the smaller side is sent to every task",
        settings={"spark.sql.autoBroadcastJoinThreshold": "10485760"},
        domain="ON equates values of both tables",
        holds=domains.having("equality-on"),
        exemptions=(_OTHER_TASKS,),
        plan=("BroadcastHashJoin",),
    ),
    AxisValue(
        axis=Axis.JOIN,
        name="shuffled-hash",
        sentence="both sides are shuffled, one is hashed; only adaptive execution chooses so for small tables",
        settings={"spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "1g"},
        domain="ON equates values of both tables",
        holds=domains.having("equality-on"),
        needs=((Axis.AQE, "on"), (Axis.PARTITIONS, "2"), (Axis.SPLITS, "many")),
        exemptions=(_OTHER_TASKS,),
        plan=("ShuffledHashJoin",),
    ),
    AxisValue(
        axis=Axis.JOIN,
        name="nested-loop",
        sentence="ON is hidden behind coalesce, so that every pair is looked at (R-413: skipping changes no result)",
        rewrite=domains.hidden_on,
        domain="ON equates values of both tables",
        holds=domains.joins_visibly,
        exemptions=(_OTHER_TASKS,),
        plan=("BroadcastNestedLoopJoin", "CartesianProduct"),
    ),
    AxisValue(
        axis=Axis.AQE,
        name="on",
        sentence="plans change while they run, small ones too",
        settings={"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.forceApply": "true"},
        exemptions=(_FILES_WRITTEN,),
        plan=("AdaptiveSparkPlan",),
    ),
    AxisValue(
        axis=Axis.CODEGEN,
        name="whole-stage",
        sentence="whole stages become Java code, with no way back",
        settings={"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
        plan=("WholeStageCodegen",),
    ),
    AxisValue(
        axis=Axis.CODEGEN,
        name="expressions",
        sentence="expressions become Java code, stages do not",
        settings={"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
    ),
    *(
        AxisValue(
            axis=Axis.PARTITIONS,
            name=str(number),
            sentence=f"rows are shuffled to {number} tasks",
            settings={"spark.sql.shuffle.partitions": str(number)},
            exemptions=(_FILES_WRITTEN,),
            plan=("Exchange",),
        )
        for number in (2, 5)
    ),
    AxisValue(
        axis=Axis.SPLITS,
        name="many",
        sentence="every file is read by a task of its own, lists by two",
        settings={
            name: PROFILE_SETTINGS[Profile.PRODUCTION][name]
            for name in (
                "spark.sql.files.minPartitionNum",
                "spark.sql.files.openCostInBytes",
                "spark.sql.files.maxPartitionBytes",
                "spark.sql.leafNodeDefaultParallelism",
            )
        },
        exemptions=(_FILES_WRITTEN,),
    ),
)

_GENERATED = ((Axis.CODEGEN, "whole-stage"),)  # without it Spark hands on rows in any case
_BORDERS = (
    *(
        AxisValue(
            axis=Axis.READER,
            name=f"batches of {size}",
            sentence=f"Parquet is read in batches of {size} rows",
            settings={"spark.sql.parquet.columnarReaderBatchSize": str(size)},
            needs=_GENERATED,
            plan=("BatchedScan",),
        )
        for size in SIZES
    ),
    AxisValue(
        axis=Axis.READER,
        name="rows",
        sentence="Parquet is read row by row",
        settings={"spark.sql.parquet.enableVectorizedReader": "false"},
        needs=_GENERATED,
        plan=("RowScan",),
    ),
    *(
        AxisValue(
            axis=Axis.ARROW_BATCH,
            name=str(size),
            sentence=f"Python gets batches of {size} rows",
            settings={"spark.sql.execution.arrow.maxRecordsPerBatch": str(size)},
        )
        for size in SIZES
    ),
    AxisValue(
        axis=Axis.SPILL,
        name="early",
        sentence="a sort-merge join buffers one row in memory and spills at the second",
        settings={
            "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "1",
            "spark.sql.sortMergeJoinExec.buffer.spill.threshold": "1",
        },
        domain="ON equates values of both tables",
        holds=domains.having("equality-on"),
        plan=("SortMergeJoin",),
    ),
    *(
        AxisValue(
            axis=Axis.RECORDS_PER_FILE,
            name=str(size),
            sentence=f"files of at most {size} rows are written",
            settings={"spark.sql.files.maxRecordsPerFile": str(size)},
            judged_as=_ANY_NUMBER_OF_FILES,
            exemptions=(_FILES_WRITTEN,),
        )
        for size in (1, 3)
    ),
)

AXIS_VALUES: tuple[AxisValue, ...] = tuple(chain(_FLAGS, LARGE_TABLES, _PLANNING, _BORDERS, LAYOUTS, FEATURES))
