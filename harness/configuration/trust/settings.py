"""Settings and table properties that an untrusted case may have: their values name no class, no path and no address.

Both are lists, not prefixes: ``spark.databricks.delta.write.dataFilesToSubdir`` names a folder into which data files
go, ``spark.sql.adaptive.customCostEvaluatorClass`` and ``spark.sql.parquet.output.committer.class`` name classes, and
the property ``delta.redirectReaderWriter-preview`` sends readers and writers to another table.
"""

from __future__ import annotations

from typing import Final

_DELTA: Final = "spark.databricks.delta."
_ENGINES: Final = ("delta-rs.", "duckdb.", "mergecheck.", "sail.")  # each engine accepts a closed list of them
_OF_DELTA: Final = (
    *("autoCompact.enabled", "autoCompact.maxFileSize", "autoCompact.minFileSize", "autoCompact.minNumFiles"),
    *("commitInfo.userMetadata", "createDataFrame.dropNullColumns", "history.metricsEnabled"),
    *("merge.analysis.batchActionResolution.enabled", "merge.deletionVectors.persistent"),
    *("merge.emptySchemaTargetCheck.enabled", "merge.enableLowShuffle", "merge.failIfSourceChanged"),
    *("merge.failSourceCachedAfterMaterialization", "merge.forceSourceMaterializationWithUnreadableFilesConfig"),
    *("merge.insert.fixCaseSensitiveDuplicateColumns", "merge.materializeCachedSource", "merge.materializeSource"),
    *("merge.materializeSource.maxAttempts", "merge.materializeSource.rddStorageLevel"),
    *("merge.materializeSource.rddStorageLevelFirstRetry", "merge.materializeSource.rddStorageLevelRetry"),
    *("merge.optimizeInsertOnlyMerge.enabled", "merge.optimizeMatchedOnlyMerge.enabled"),
    *("merge.preserveNullSourceStructs", "merge.preserveNullSourceStructs.updateStar"),
    *("merge.repartitionBeforeWrite.enabled", "merge.skipOssResolutionWithStar", "numRecordsValidation.enabled"),
    *("optimizeWrite.binSize", "optimizeWrite.enabled", "optimizeWrite.maxShufflePartitions"),
    *("optimizeWrite.numShuffleBlocks", "resolveMergeUpdateStructsByName.enabled", "schema.autoMerge.enabled"),
    *("schema.typeCheck.enabled", "schemaEvolution.merge.fixNestedStructAlignment", "skipRecordingEmptyCommits"),
    *("stats.collect", "stats.collect.using.tableSchema", "stats.skipping"),
    *("typeWidening.allowAutomaticWidening", "typeWidening.allowIntegralDecimalCoercion"),
    *("updateAndMergeCastingFollowsAnsiEnabledFlag", "write.txnAppId", "write.txnVersion"),
    *("write.txnVersion.autoReset.enabled", "write.utcTimestampPartitionValues"),
)
_OF_SPARK: Final = (
    *("adaptive.autoBroadcastJoinThreshold", "adaptive.coalescePartitions.enabled", "adaptive.enabled"),
    *("adaptive.forceApply", "adaptive.maxShuffledHashJoinLocalMapThreshold", "adaptive.skewJoin.enabled"),
    *("ansi.enabled", "autoBroadcastJoinThreshold", "caseSensitive", "codegen.factoryMode", "codegen.wholeStage"),
    *("execution.arrow.maxRecordsPerBatch", "files.maxPartitionBytes", "files.maxRecordsPerFile"),
    *("files.minPartitionNum", "files.openCostInBytes", "leafNodeDefaultParallelism", "mapKeyDedupPolicy"),
    *("parquet.columnarReaderBatchSize", "parquet.compression.codec", "parquet.datetimeRebaseModeInRead"),
    *("parquet.datetimeRebaseModeInWrite", "parquet.enableVectorizedReader", "parquet.filterPushdown"),
    *("parquet.filterPushdown.decimal", "parquet.int96RebaseModeInRead", "parquet.int96RebaseModeInWrite"),
    *("parquet.outputTimestampType", "readSideCharPadding", "session.timeZone", "shuffle.partitions"),
    *("sortMergeJoinExec.buffer.in.memory.threshold", "sortMergeJoinExec.buffer.spill.threshold"),
    *("storeAssignmentPolicy",),
)
_SETTINGS: Final = frozenset(
    (*(f"{_DELTA}{name}" for name in _OF_DELTA), *(f"spark.sql.{name}" for name in _OF_SPARK), "void_columns")
)

_PROPERTIES: Final = frozenset(
    (
        *("appendonly", "autooptimize", "autooptimize.autocompact", "autooptimize.optimizewrite"),
        *("checkpoint.writestatsasjson", "checkpoint.writestatsasstruct", "checkpointinterval", "checkpointpolicy"),
        *("casticebergtimetype", "compatibility.symlinkformatmanifest.enabled", "enablechangedatacapture"),
        *("dropfeaturetruncatehistory.retentionduration", "ignoreicebergbucketpartition"),
        *("requirecheckpointprotectionbeforeversion",),
        *("checkpointretentionduration", "columnmapping.maxcolumnid", "columnmapping.mode"),
        *("dataskippingnumindexedcols", "dataskippingstatscolumns", "dataskippingstringprefixlength"),
        *("deletedfileretentionduration", "enablechangedatafeed", "enabledeletionvectors"),
        *("enableexpiredlogcleanup", "enablefullretentionrollback", "enableincommittimestamps", "enablerowtracking"),
        *("enabletypewidening", "enablevariantshredding", "ignoreprotocoldefaults"),
        *("incommittimestampenablementtimestamp", "incommittimestampenablementversion", "isolationlevel"),
        *("logretentionduration", "minreaderversion", "minwriterversion", "parquet.compression.codec"),
        *("parquet.format.version", "randomizefileprefixes", "randomprefixlength", "rowtrackingsuspended"),
        *("rowtracking.materializedrowidcolumnname", "rowtracking.materializedrowcommitversioncolumnname"),
        *("sampleretentionduration", "settransactionretentionduration", "targetfilesize", "tunefilesizesforrewrites"),
    )
)
_DELTAS_PREFIX: Final = "delta."
_ANY_OF: Final = ("constraints.", "feature.")  # conditions, which are read as such, and names of features
_OPTION: Final = "option."  # Spark takes such properties of a table for options of its files, such as their path


def is_setting_allowed(name: str) -> bool:
    """Return whether an untrusted case may have a setting."""
    return name in _SETTINGS or name.startswith(_ENGINES)


def is_property_allowed(name: str) -> bool:
    """Return whether the table of an untrusted case may have a property; to Delta, names of others mean nothing."""
    key = name.lower()
    if not key.startswith(_DELTAS_PREFIX):
        return not key.startswith(_OPTION)
    own = key.removeprefix(_DELTAS_PREFIX)
    return own in _PROPERTIES or own.startswith(_ANY_OF)
