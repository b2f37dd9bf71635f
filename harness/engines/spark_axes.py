"""Spark's ways of planning and running a query, for engines that obey every setting of Spark in a case."""

from __future__ import annotations

from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS, Profile
from mergecheck.harness.engines.spark_case import SOURCE_SETTING
from mergecheck.harness.oracles.transformations import domains
from mergecheck.harness.oracles.transformations.delta import ANY_NUMBER_OF_FILES, FILES_WRITTEN, OTHER_TASKS
from mergecheck.harness.oracles.transformations.statements import on_written
from mergecheck.harness.oracles.transformations.tables import SIZES
from mergecheck.model.axis import Axis, Transformation

_BY_KEYS = "ON equates values of both tables"
_GENERATED = ("codegen=whole-stage",)  # without it Spark hands on rows in any case

SPARK_AXES: tuple[Axis, ...] = (
    Axis(
        "source",
        base="table",
        base_settings={SOURCE_SETTING: "table"},
        values=(
            Transformation(
                name="relation",
                sentence="the source is a local relation, which a merge materialises by itself",
                settings={SOURCE_SETTING: "relation"},
                domain="a source of its own",
                applies_to=domains.has_source_table,
            ),
        ),
    ),
    Axis(
        "join",
        base="sort-merge",
        base_settings=PROFILE_SETTINGS[Profile.TINY],  # the fast profile, which gives all of the bases below
        values=(
            Transformation(
                name="broadcast",
                sentence="the smaller side is sent to every task",
                settings={"spark.sql.autoBroadcastJoinThreshold": "10485760"},
                domain=_BY_KEYS,
                applies_to=domains.having("equality-on"),
                may_change=(OTHER_TASKS,),
                plan=("BroadcastHashJoin",),
            ),
            Transformation(
                name="shuffled-hash",
                sentence="both sides are shuffled, one is hashed; only adaptive execution chooses so for small tables",
                settings={"spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "1g"},
                domain=_BY_KEYS,
                applies_to=domains.having("equality-on"),
                needs=("aqe=on", "partitions=2", "splits=many"),
                may_change=(OTHER_TASKS,),
                plan=("ShuffledHashJoin",),
            ),
            Transformation(
                name="nested-loop",
                sentence="ON is hidden behind coalesce, so that every pair is looked at (R-413: skipping changes no "
                "result)",
                rewrite=on_written(lambda on: f"coalesce(({on}), FALSE)"),  # NULL is no match either way
                domain=_BY_KEYS,
                applies_to=domains.joins_visibly,
                may_change=(OTHER_TASKS,),
                plan=("BroadcastNestedLoopJoin", "CartesianProduct"),
            ),
        ),
    ),
    Axis(
        "aqe",
        base="off",
        values=(
            Transformation(
                name="on",
                sentence="plans change while they run, small ones too",
                settings={"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.forceApply": "true"},
                may_change=(FILES_WRITTEN,),
                plan=("AdaptiveSparkPlan",),
            ),
        ),
    ),
    Axis(
        "codegen",
        base="off",
        values=(
            Transformation(
                name="whole-stage",
                sentence="whole stages become Java code, with no way back",
                settings={"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
                plan=("WholeStageCodegen",),
            ),
            Transformation(
                name="expressions",
                sentence="expressions become Java code, stages do not",
                settings={"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
            ),
        ),
    ),
    Axis(
        "partitions",
        base="1",
        values=tuple(
            Transformation(
                name=str(number),
                sentence=f"rows are shuffled to {number} tasks",
                settings={"spark.sql.shuffle.partitions": str(number)},
                may_change=(FILES_WRITTEN,),
                plan=("Exchange",),
            )
            for number in (2, 5)
        ),
    ),
    Axis(
        "splits",
        base="one",
        values=(
            Transformation(
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
                may_change=(FILES_WRITTEN,),
            ),
        ),
    ),
    Axis(
        "reader",
        base="batches of 4096",
        values=(
            *(
                Transformation(
                    name=f"batches of {size}",
                    sentence=f"Parquet is read in batches of {size} rows",
                    settings={"spark.sql.parquet.columnarReaderBatchSize": str(size)},
                    needs=_GENERATED,
                    plan=("BatchedScan",),
                )
                for size in SIZES
            ),
            Transformation(
                name="rows",
                sentence="Parquet is read row by row",
                settings={"spark.sql.parquet.enableVectorizedReader": "false"},
                needs=_GENERATED,
                plan=("RowScan",),
            ),
        ),
    ),
    Axis(
        "arrow-batch",
        base="10000",
        values=tuple(
            Transformation(
                name=str(size),
                sentence=f"Python gets batches of {size} rows",
                settings={"spark.sql.execution.arrow.maxRecordsPerBatch": str(size)},
            )
            for size in SIZES
        ),
    ),
    Axis(
        "spill",
        base="late",
        values=(
            Transformation(
                name="early",
                sentence="a sort-merge join buffers one row in memory and spills at the second",
                settings={
                    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "1",
                    "spark.sql.sortMergeJoinExec.buffer.spill.threshold": "1",
                },
                domain=_BY_KEYS,
                applies_to=domains.having("equality-on"),
                plan=("SortMergeJoin",),
            ),
        ),
    ),
    Axis(
        "records-per-file",
        base="unlimited",
        values=tuple(
            Transformation(
                name=str(size),
                sentence=f"files of at most {size} rows are written",
                settings={"spark.sql.files.maxRecordsPerFile": str(size)},
                judged_as=ANY_NUMBER_OF_FILES,
                may_change=(FILES_WRITTEN,),
            )
            for size in (1, 3)
        ),
    ),
)
