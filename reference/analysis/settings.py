"""The settings and table properties that decide the meaning of a merge; others are refused, never ignored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.table_properties import (
    APPEND_ONLY,
    COLUMN_MAPPING,
    DELETION_VECTORS,
    FEATURE_PREFIX,
    IN_COMMIT_TIMESTAMPS,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    TYPE_WIDENING,
    Meaning,
    is_on,
    meaning_of,
)
from mergecheck.model.types.widening import WideningMode
from mergecheck.reference.analysis.values.alignment import StoreAssignmentPolicy
from mergecheck.reference.doubts import ISOLATION_LEVEL

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.reference.doubts import Doubts

_DELTA = "spark.databricks.delta."
_NULL_STRUCTS = f"{_DELTA}merge.preserveNullSourceStructs"
_PERSISTENT_VECTORS = f"{_DELTA}merge.deletionVectors.persistent"
_ISOLATION_LEVEL = "delta.isolationLevel"
_TRUE, _FALSE = "true", "false"

_WITHOUT_EFFECT = frozenset(
    (
        *(
            f"{_DELTA}{name}"
            for name in (
                "autoCompact.enabled",
                "autoCompact.maxFileSize",
                "autoCompact.minFileSize",
                "autoCompact.minNumFiles",
                "commitInfo.userMetadata",
                "merge.analysis.batchActionResolution.enabled",
                "merge.enableLowShuffle",
                "merge.failIfSourceChanged",
                "merge.failSourceCachedAfterMaterialization",
                "merge.forceSourceMaterializationWithUnreadableFilesConfig",
                "merge.materializeCachedSource",
                "merge.materializeSource",
                "merge.materializeSource.maxAttempts",
                "merge.materializeSource.rddStorageLevel",
                "merge.materializeSource.rddStorageLevelFirstRetry",
                "merge.materializeSource.rddStorageLevelRetry",
                "merge.optimizeMatchedOnlyMerge.enabled",
                "merge.skipOssResolutionWithStar",
                "numRecordsValidation.enabled",
                "optimize.maxFileSize",
                "optimize.minFileSize",
                "optimizeWrite.binSize",
                "optimizeWrite.maxShufflePartitions",
                "optimizeWrite.numShuffleBlocks",
                "retentionDurationCheck.enabled",
                "stats.skipping",
                "vacuum.parallelDelete.enabled",
            )
        ),
        *(
            f"spark.sql.{name}"
            for name in (
                "adaptive.advisoryPartitionSizeInBytes",
                "adaptive.autoBroadcastJoinThreshold",
                "adaptive.coalescePartitions.enabled",
                "adaptive.coalescePartitions.initialPartitionNum",
                "adaptive.coalescePartitions.minPartitionNum",
                "adaptive.coalescePartitions.minPartitionSize",
                "adaptive.coalescePartitions.parallelismFirst",
                "adaptive.enabled",
                "adaptive.forceApply",
                "adaptive.localShuffleReader.enabled",
                "adaptive.maxShuffledHashJoinLocalMapThreshold",
                "adaptive.skewJoin.enabled",
                "adaptive.skewJoin.skewedPartitionFactor",
                "adaptive.skewJoin.skewedPartitionThresholdInBytes",
                "autoBroadcastJoinThreshold",
                "broadcastTimeout",
                "cbo.enabled",
                "codegen.factoryMode",
                "codegen.wholeStage",
                "execution.arrow.maxRecordsPerBatch",
                "files.maxPartitionBytes",
                "files.maxRecordsPerFile",
                "files.minPartitionNum",
                "files.openCostInBytes",
                "join.preferSortMergeJoin",
                "leafNodeDefaultParallelism",
                "optimizer.dynamicPartitionPruning.enabled",
                "parquet.columnarReaderBatchSize",
                "parquet.compression.codec",
                "parquet.enableVectorizedReader",
                "parquet.filterPushdown",
                "shuffle.partitions",
                "sortMergeJoinExec.buffer.in.memory.threshold",
                "sortMergeJoinExec.buffer.spill.threshold",
                "sources.partitionOverwriteMode",
            )
        ),
        "spark.databricks.adaptive.autoOptimizeShuffle.enabled",
        "spark.databricks.io.cache.enabled",
        "spark.databricks.optimizer.dynamicFilePruning",
        "spark.databricks.optimizer.dynamicPartitionPruning",
    )
)
"""Settings that change how a merge runs, the form of files or permissions elsewhere, but no outcome (R-470).

Some are of Databricks alone; no other Spark reads them.
"""
_OF_NEW_TABLES = f"{_DELTA}properties.defaults."
_APP_ID, _APP_VERSION = f"{_DELTA}write.txnAppId", f"{_DELTA}write.txnVersion"
_OPTIMIZE_WRITE = f"{_DELTA}optimizeWrite.enabled"
_AUTOMATIC_WIDENING = f"{_DELTA}typeWidening.allowAutomaticWidening"
_HISTORY_METRICS = f"{_DELTA}history.metricsEnabled"
_STATISTICS = f"{_DELTA}stats.collect"
_CHAR_PADDING = "spark.sql.readSideCharPadding"
_MAP_KEYS = "spark.sql.mapKeyDedupPolicy"
_READ = frozenset(
    {
        _HISTORY_METRICS,
        _STATISTICS,
        _PERSISTENT_VECTORS,
        _APP_ID,
        _APP_VERSION,
        _OPTIMIZE_WRITE,
        f"{_DELTA}createDataFrame.dropNullColumns",
        "void_columns",  # how the corpus of Delta's own tests writes createDataFrame.dropNullColumns
        f"{_DELTA}merge.optimizeInsertOnlyMerge.enabled",
        f"{_DELTA}merge.repartitionBeforeWrite.enabled",
        f"{_DELTA}schema.autoMerge.enabled",
        f"{_DELTA}skipRecordingEmptyCommits",
        _AUTOMATIC_WIDENING,
        f"{_DELTA}resolveMergeUpdateStructsByName.enabled",
        _NULL_STRUCTS,
        f"{_NULL_STRUCTS}.updateStar",
        _CHAR_PADDING,
        _MAP_KEYS,
        "spark.sql.caseSensitive",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.ansi.enabled",
        "spark.sql.session.timeZone",
    }
)
_ROW_TRACKING_FEATURE = f"{FEATURE_PREFIX}rowTracking"
_TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one case, typed.

    Attributes:
        is_ansi: ``spark.sql.ansi.enabled``.
        is_utc: whether the session's time zone is UTC. Expressions are translated to DuckDB for ANSI mode and UTC only.
        marks_rows: whether changed rows are marked in deletion vectors (R-402).
        widening: which types evolution widens (R-237).
        records_metrics: whether the commit holds the operation metrics (R-501).
        tracks_rows: whether rows keep their ids (R-705).
        gives_row_ids: whether the rows of new files get ids (R-724).
        collects_statistics: whether new files have statistics.
        pads_char: whether CHAR columns get spaces where they are read (R-822).
        last_key_wins: whether a map in which a key comes twice keeps the last of them, instead of an error.
        transaction: the application and its number of this merge, which make it idempotent (R-715).
    """

    optimize_insert_only: bool
    repartition_before_write: bool
    record_empty_commits: bool
    schema_evolution: bool
    case_sensitive: bool
    policy: StoreAssignmentPolicy
    append_only: bool
    in_commit_timestamps: bool
    maps_columns: bool
    widening: WideningMode
    marks_rows: bool
    records_metrics: bool
    tracks_rows: bool
    gives_row_ids: bool
    collects_statistics: bool
    preserve_null_structs: bool
    preserve_null_structs_of_star: bool
    drops_null_columns: bool
    pads_char: bool
    is_ansi: bool
    is_utc: bool
    last_key_wins: bool
    transaction: tuple[str, int] | None = None


def read_settings(case: Case, *, asks: bool = False, doubts: Doubts | None = None) -> Settings:
    """Read a case's settings and table properties.

    Args:
        case: the case.
        doubts: takes the properties that change a single observable; None refuses them.
        asks: whether another evaluator can be asked for expressions, which knows every mode and time zone.

    Raises:
        UnsupportedByReferenceError: for a setting, a property or a value whose effect the reference does not know.
    """
    for name in case.conf:
        if name not in _READ and not is_without_effect(name) and not is_engines_own(name):
            raise UnsupportedByReferenceError(f"setting {name}")
    for name, value in case.target.properties.items():
        meaning = meaning_of(name, value)
        if meaning is None:
            raise UnsupportedByReferenceError(f"table property {name}, which Delta Lake does not know")
        if meaning is Meaning.UNPREDICTED and doubts is not None and name == _ISOLATION_LEVEL:
            doubts.reasons[ISOLATION_LEVEL] = f"table property {name}"
        elif meaning is Meaning.UNPREDICTED:
            raise UnsupportedByReferenceError(f"table property {name}")
    is_ansi = _flag(case, "spark.sql.ansi.enabled", default=True)
    is_utc = case.conf.get("spark.sql.session.timeZone", "UTC") == "UTC"
    if not is_ansi and not asks:
        raise UnsupportedByReferenceError("setting spark.sql.ansi.enabled=false")
    if not _flag(case, f"{_DELTA}resolveMergeUpdateStructsByName.enabled", default=True):
        raise UnsupportedByReferenceError("setting resolveMergeUpdateStructsByName.enabled=false")
    if not is_utc and not asks:
        raise UnsupportedByReferenceError("setting spark.sql.session.timeZone other than UTC")
    tracks_rows, is_suspended = (is_on(case.target.properties, name) for name in (ROW_TRACKING, ROW_TRACKING_SUSPENDED))
    if tracks_rows and is_suspended:
        raise UnsupportedByReferenceError(f"table properties {ROW_TRACKING} and {ROW_TRACKING_SUSPENDED} together")
    if _TRANSACTION_RETENTION in case.target.properties and case.target.transactions:
        raise UnsupportedByReferenceError(f"table property {_TRANSACTION_RETENTION}, and transactions (R-715)")
    preserve_null_structs = _flag(case, _NULL_STRUCTS, default=True)
    by_table = is_on(case.target.properties, "delta.autoOptimize.optimizeWrite")
    optimize_write = _flag(case, _OPTIMIZE_WRITE, default=by_table)
    return Settings(
        optimize_insert_only=_flag(case, f"{_DELTA}merge.optimizeInsertOnlyMerge.enabled", default=True),
        repartition_before_write=not optimize_write
        and _flag(case, f"{_DELTA}merge.repartitionBeforeWrite.enabled", default=True),
        record_empty_commits=not _flag(case, f"{_DELTA}skipRecordingEmptyCommits", default=True),
        schema_evolution=_flag(case, f"{_DELTA}schema.autoMerge.enabled", default=False),
        case_sensitive=_flag(case, "spark.sql.caseSensitive", default=False),
        policy=_policy(case.conf.get("spark.sql.storeAssignmentPolicy", "ANSI")),
        append_only=is_on(case.target.properties, APPEND_ONLY),
        in_commit_timestamps=is_on(case.target.properties, IN_COMMIT_TIMESTAMPS),
        marks_rows=marks_rows(case),
        records_metrics=_flag(case, _HISTORY_METRICS, default=True),
        widening=_widening(case),
        tracks_rows=tracks_rows,
        gives_row_ids=(tracks_rows or _ROW_TRACKING_FEATURE in case.target.properties) and not is_suspended,
        collects_statistics=_flag(case, _STATISTICS, default=True),
        maps_columns=case.target.properties.get(COLUMN_MAPPING, "none").lower() != "none",
        drops_null_columns=_flag(case, f"{_DELTA}createDataFrame.dropNullColumns", default=False),
        pads_char=_flag(case, _CHAR_PADDING, default=True),
        is_ansi=is_ansi,
        is_utc=is_utc,
        last_key_wins=_last_key_wins(case.conf.get(_MAP_KEYS, "EXCEPTION")),
        preserve_null_structs=preserve_null_structs,
        preserve_null_structs_of_star=preserve_null_structs
        and _flag(case, f"{_NULL_STRUCTS}.updateStar", default=True),
        transaction=_transaction(case),
    )


def marks_rows(case: Case) -> bool:
    """Return whether the merge marks changed rows in deletion vectors instead of rewriting files (path E of R-402).

    Raises:
        UnsupportedByReferenceError: a value is neither true nor false.
    """
    enabled = is_on(case.target.properties, DELETION_VECTORS)
    return enabled and _flag(case, _PERSISTENT_VECTORS, default=True)


def is_replay(case: Case, settings: Settings) -> bool:
    """Return whether the application has committed this transaction, or a later one, before (R-715)."""
    if settings.transaction is None:
        return False
    application, version = settings.transaction
    return application in case.target.transactions and case.target.transactions[application] >= version


def _transaction(case: Case) -> tuple[str, int] | None:
    application, version = case.conf.get(_APP_ID), case.conf.get(_APP_VERSION)
    if application is None and version is None:
        return None
    if application is None or version is None:
        raise UnsupportedByReferenceError(f"one of the settings {_APP_ID} and {_APP_VERSION} without the other")
    if not re.fullmatch("[0-9]{1,18}", version):
        raise UnsupportedByReferenceError(f"setting {_APP_VERSION} that is no number")
    return application, int(version)


def is_without_effect(setting: str) -> bool:
    """Return whether a setting of Spark's changes no observable of a merge, whatever its value."""
    return setting in _WITHOUT_EFFECT or setting.startswith(_OF_NEW_TABLES)


def is_engines_own(setting: str) -> bool:
    """Return whether a setting is one engine's own, such as ``duckdb.threads``: it changes how a merge runs only."""
    return "." in setting and not setting.startswith("spark.")


def _flag(case: Case, name: str, *, default: bool) -> bool:
    text = case.conf.get(name, _TRUE if default else _FALSE).lower()
    if text not in (_TRUE, _FALSE):
        raise UnsupportedByReferenceError(f"setting {name} that is neither true nor false")
    return text == _TRUE


def _last_key_wins(text: str) -> bool:
    if text.upper() not in ("EXCEPTION", "LAST_WIN"):
        raise UnsupportedByReferenceError(f"setting {_MAP_KEYS} with an unknown value")
    return text.upper() == "LAST_WIN"


def _widening(case: Case) -> WideningMode:
    if not is_on(case.target.properties, TYPE_WIDENING):
        return WideningMode.NEVER
    try:
        return WideningMode(case.conf.get(_AUTOMATIC_WIDENING, "always").lower())
    except ValueError:
        raise UnsupportedByReferenceError(f"setting {_AUTOMATIC_WIDENING} with an unknown value") from None


def _policy(text: str) -> StoreAssignmentPolicy:
    try:
        return StoreAssignmentPolicy(text.upper())
    except ValueError:
        raise UnsupportedByReferenceError("setting spark.sql.storeAssignmentPolicy with an unknown value") from None
