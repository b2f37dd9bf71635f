"""Delta's and Spark's settings that a MERGE obeys, read once per merge (R-470).

Names and defaults are Delta's own. A flag that would change results and that is not implemented is refused when it
is set to anything but its default, so that no setting is silently without effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.merge.errors import InvalidConfigurationError, UnsupportedStatementError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

DELTA_PREFIX = "spark.databricks.delta."

OPTIMIZE_INSERT_ONLY = DELTA_PREFIX + "merge.optimizeInsertOnlyMerge.enabled"
OPTIMIZE_MATCHED_ONLY = DELTA_PREFIX + "merge.optimizeMatchedOnlyMerge.enabled"
REPARTITION_BEFORE_WRITE = DELTA_PREFIX + "merge.repartitionBeforeWrite.enabled"
MATERIALIZE_SOURCE = DELTA_PREFIX + "merge.materializeSource"
FAIL_IF_SOURCE_CHANGED = DELTA_PREFIX + "merge.failIfSourceChanged"
EMPTY_SCHEMA_TARGET_CHECK = DELTA_PREFIX + "merge.emptySchemaTargetCheck.enabled"
PRESERVE_NULL_SOURCE_STRUCTS = DELTA_PREFIX + "merge.preserveNullSourceStructs"
PRESERVE_NULL_SOURCE_STRUCTS_UPDATE_STAR = DELTA_PREFIX + "merge.preserveNullSourceStructs.updateStar"
RESOLVE_STRUCTS_BY_NAME = DELTA_PREFIX + "resolveMergeUpdateStructsByName.enabled"
FIX_CASE_SENSITIVE_DUPLICATES = DELTA_PREFIX + "merge.insert.fixCaseSensitiveDuplicateColumns"
DROP_NULL_COLUMNS = DELTA_PREFIX + "createDataFrame.dropNullColumns"
SCHEMA_AUTO_MERGE = DELTA_PREFIX + "schema.autoMerge.enabled"
OPTIMIZE_WRITE = DELTA_PREFIX + "optimizeWrite.enabled"
SKIP_RECORDING_EMPTY_COMMITS = DELTA_PREFIX + "skipRecordingEmptyCommits"
HISTORY_METRICS = DELTA_PREFIX + "history.metricsEnabled"
STATS_COLLECT = DELTA_PREFIX + "stats.collect"
NUM_RECORDS_VALIDATION = DELTA_PREFIX + "numRecordsValidation.enabled"
CASTING_FOLLOWS_ANSI = DELTA_PREFIX + "updateAndMergeCastingFollowsAnsiEnabledFlag"
TXN_APP_ID = DELTA_PREFIX + "write.txnAppId"
TXN_VERSION = DELTA_PREFIX + "write.txnVersion"
# Settings of this package's own: optimisations that change how a merge runs, never what it does.
OWN_PREFIX = "mergecheck.merge."
PRUNE_BY_SOURCE_KEYS = OWN_PREFIX + "pruneBySourceKeys.enabled"
BROADCAST_SOURCE = OWN_PREFIX + "broadcastSource.enabled"
LOW_SHUFFLE = OWN_PREFIX + "lowShuffle.enabled"
SINGLE_SCAN = OWN_PREFIX + "singleScan.enabled"
ONE_TASK = OWN_PREFIX + "oneTask.enabled"
LARGE_TABLE_BYTES = OWN_PREFIX + "largeTableBytes"
_DEFAULT_LARGE_TABLE_BYTES = 16 * 2**20

CASE_SENSITIVE = "spark.sql.caseSensitive"
STORE_ASSIGNMENT_POLICY = "spark.sql.storeAssignmentPolicy"
ANSI_ENABLED = "spark.sql.ansi.enabled"

# Flags that change results and are not implemented: full name -> the only value that is accepted.
_ONLY_DEFAULT: Mapping[str, str] = {
    DELTA_PREFIX + "schemaEvolution.merge.fixNestedStructAlignment": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",  # "x" is a string to our parser
    "spark.sql.parser.escapedStringLiterals": "false",  # backslashes in strings are escapes to our parser
}


class MaterializeSource(Enum):
    """``merge.materializeSource``; any unknown value means INVALID, which acts like ALL (R-450)."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"
    INVALID = "invalid"


class StoreAssignmentPolicy(Enum):
    """``spark.sql.storeAssignmentPolicy`` (R-251)."""

    ANSI = "ANSI"
    LEGACY = "LEGACY"
    STRICT = "STRICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConf:
    """The settings of one merge. Field names follow the last words of the flags; defaults are Delta's.

    Attributes:
        preserve_null_source_structs_update_star: for ``UPDATE *``; where it is not set, as the former (R-244).
        resolve_merge_update_structs_by_name: structs are matched by field name, not by position (R-242).
        fix_case_sensitive_duplicate_columns: see R-225.
        drop_null_columns: no VOID column may be in the final schema (R-144).
        optimize_write: None where the session does not say, so that the table property decides (R-425).
        txn_app_id: with ``txn_version`` makes the merge idempotent (R-715); both or none are set.
        prune_by_source_keys: files without a key of the source are not scanned for matches.
        broadcast_source: a small source is sent to every task instead of shuffling the target.
        low_shuffle: rows that a merge leaves alone are copied file by file, outside the join.
        single_scan: a merge that fits into one task finds the touched files and rewrites them in one query.
        one_task: small merges are joined and written in one task.
        large_table_bytes: from so many bytes of files on the first three are used; for less they cost more than they
            save.
    """

    optimize_insert_only_merge: bool = True
    optimize_matched_only_merge: bool = True
    repartition_before_write: bool = True
    materialize_source: MaterializeSource = MaterializeSource.AUTO
    fail_if_source_changed: bool = False
    empty_schema_target_check: bool = True
    preserve_null_source_structs: bool = True
    preserve_null_source_structs_update_star: bool = True
    resolve_merge_update_structs_by_name: bool = True
    fix_case_sensitive_duplicate_columns: bool = True
    drop_null_columns: bool = False
    schema_auto_merge: bool = False
    optimize_write: bool | None = None
    skip_recording_empty_commits: bool = True
    history_metrics_enabled: bool = True
    stats_collect: bool = True
    num_records_validation_enabled: bool = True
    casting_follows_ansi_flag: bool = False
    txn_app_id: str | None = None
    txn_version: int | None = None
    case_sensitive: bool = False
    store_assignment_policy: StoreAssignmentPolicy = StoreAssignmentPolicy.ANSI
    ansi_enabled: bool = True
    prune_by_source_keys: bool = True
    broadcast_source: bool = True
    low_shuffle: bool = True
    single_scan: bool = True
    one_task: bool = True
    large_table_bytes: int = _DEFAULT_LARGE_TABLE_BYTES

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> MergeConf:
        """Build from setting names and texts; names that are absent have Delta's default.

        Raises:
            InvalidConfigurationError: a value that the flag does not allow.
            UnsupportedStatementError: a flag that is not implemented is not at its default.
        """
        _refuse_unimplemented(settings)
        app_id, version = _transaction(settings)
        preserve = _flag(settings, PRESERVE_NULL_SOURCE_STRUCTS, default=True)
        return cls(
            optimize_insert_only_merge=_flag(settings, OPTIMIZE_INSERT_ONLY, default=True),
            optimize_matched_only_merge=_flag(settings, OPTIMIZE_MATCHED_ONLY, default=True),
            repartition_before_write=_flag(settings, REPARTITION_BEFORE_WRITE, default=True),
            materialize_source=_materialize_source(settings),
            fail_if_source_changed=_flag(settings, FAIL_IF_SOURCE_CHANGED, default=False),
            empty_schema_target_check=_flag(settings, EMPTY_SCHEMA_TARGET_CHECK, default=True),
            preserve_null_source_structs=preserve,
            preserve_null_source_structs_update_star=_flag(
                settings, PRESERVE_NULL_SOURCE_STRUCTS_UPDATE_STAR, default=preserve
            ),
            resolve_merge_update_structs_by_name=_flag(settings, RESOLVE_STRUCTS_BY_NAME, default=True),
            fix_case_sensitive_duplicate_columns=_flag(settings, FIX_CASE_SENSITIVE_DUPLICATES, default=True),
            drop_null_columns=_flag(settings, DROP_NULL_COLUMNS, default=False),
            schema_auto_merge=_flag(settings, SCHEMA_AUTO_MERGE, default=False),
            optimize_write=_optional_flag(settings, OPTIMIZE_WRITE),
            skip_recording_empty_commits=_flag(settings, SKIP_RECORDING_EMPTY_COMMITS, default=True),
            history_metrics_enabled=_flag(settings, HISTORY_METRICS, default=True),
            stats_collect=_flag(settings, STATS_COLLECT, default=True),
            num_records_validation_enabled=_flag(settings, NUM_RECORDS_VALIDATION, default=True),
            casting_follows_ansi_flag=_flag(settings, CASTING_FOLLOWS_ANSI, default=False),
            txn_app_id=app_id,
            txn_version=version,
            case_sensitive=_flag(settings, CASE_SENSITIVE, default=False),
            store_assignment_policy=_store_assignment_policy(settings),
            ansi_enabled=_flag(settings, ANSI_ENABLED, default=True),
            prune_by_source_keys=_flag(settings, PRUNE_BY_SOURCE_KEYS, default=True),
            broadcast_source=_flag(settings, BROADCAST_SOURCE, default=True),
            low_shuffle=_flag(settings, LOW_SHUFFLE, default=True),
            single_scan=_flag(settings, SINGLE_SCAN, default=True),
            one_task=_flag(settings, ONE_TASK, default=True),
            large_table_bytes=_bytes(settings, LARGE_TABLE_BYTES, default=_DEFAULT_LARGE_TABLE_BYTES),
        )

    @classmethod
    def read(cls, spark: SparkSession) -> MergeConf:
        """Read the settings of a session; see ``from_settings`` for what is refused."""
        found = ((name, spark.conf.get(name, None)) for name in SETTING_NAMES)
        return cls.from_settings({name: value for name, value in found if value is not None})


SETTING_NAMES: tuple[str, ...] = (
    OPTIMIZE_INSERT_ONLY,
    OPTIMIZE_MATCHED_ONLY,
    REPARTITION_BEFORE_WRITE,
    MATERIALIZE_SOURCE,
    FAIL_IF_SOURCE_CHANGED,
    EMPTY_SCHEMA_TARGET_CHECK,
    PRESERVE_NULL_SOURCE_STRUCTS,
    PRESERVE_NULL_SOURCE_STRUCTS_UPDATE_STAR,
    RESOLVE_STRUCTS_BY_NAME,
    FIX_CASE_SENSITIVE_DUPLICATES,
    DROP_NULL_COLUMNS,
    SCHEMA_AUTO_MERGE,
    OPTIMIZE_WRITE,
    SKIP_RECORDING_EMPTY_COMMITS,
    HISTORY_METRICS,
    STATS_COLLECT,
    NUM_RECORDS_VALIDATION,
    CASTING_FOLLOWS_ANSI,
    TXN_APP_ID,
    TXN_VERSION,
    CASE_SENSITIVE,
    STORE_ASSIGNMENT_POLICY,
    ANSI_ENABLED,
    PRUNE_BY_SOURCE_KEYS,
    BROADCAST_SOURCE,
    LOW_SHUFFLE,
    SINGLE_SCAN,
    ONE_TASK,
    LARGE_TABLE_BYTES,
    *_ONLY_DEFAULT,
)


def _refuse_unimplemented(settings: Mapping[str, str]) -> None:
    for name, accepted in _ONLY_DEFAULT.items():
        given = settings.get(name)
        if given is not None and given.strip().lower() != accepted:
            raise UnsupportedStatementError(f"{name} = {given}", hint=f"Leave the setting at {accepted}.")


def _flag(settings: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = _optional_flag(settings, name)
    return default if value is None else value


def _optional_flag(settings: Mapping[str, str], name: str) -> bool | None:
    given = settings.get(name)
    if given is None:
        return None
    text = given.strip().lower()
    if text not in {"true", "false"}:
        raise _invalid(name, given, "true or false")
    return text == "true"


def _bytes(settings: Mapping[str, str], name: str, *, default: int) -> int:
    given = settings.get(name)
    if given is None:
        return default
    if not given.strip().isdecimal():
        raise _invalid(name, given, "a number of bytes, 0 or more")
    return int(given)


def _materialize_source(settings: Mapping[str, str]) -> MaterializeSource:
    given = settings.get(MATERIALIZE_SOURCE, MaterializeSource.AUTO.value).strip().lower()
    known = {mode.value: mode for mode in MaterializeSource}
    return known.get(given, MaterializeSource.INVALID)


def _store_assignment_policy(settings: Mapping[str, str]) -> StoreAssignmentPolicy:
    given = settings.get(STORE_ASSIGNMENT_POLICY, StoreAssignmentPolicy.ANSI.value)
    try:
        return StoreAssignmentPolicy(given.strip().upper())
    except ValueError:
        raise _invalid(STORE_ASSIGNMENT_POLICY, given, "ANSI, LEGACY or STRICT") from None


def _transaction(settings: Mapping[str, str]) -> tuple[str | None, int | None]:
    app_id, version = settings.get(TXN_APP_ID), settings.get(TXN_VERSION)
    if app_id is None and version is None:
        return None, None
    if app_id is None or version is None:
        missing, given = (TXN_APP_ID, TXN_VERSION) if app_id is None else (TXN_VERSION, TXN_APP_ID)
        raise InvalidConfigurationError(
            "INVALID_CONF_VALUE.REQUIREMENT",
            f"{given} is set without {missing}. Set both or neither (R-715 idempotent writes).",
        )
    try:
        return app_id, int(version)
    except ValueError:
        raise _invalid(TXN_VERSION, version, "an integer") from None


def _invalid(name: str, given: str, allowed: str) -> InvalidConfigurationError:
    return InvalidConfigurationError(
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
        f"{name} is {given!r}, but must be {allowed}. Set it with spark.conf.set, or unset it for the default.",
    )
