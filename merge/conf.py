"""Delta's and Spark's settings that a MERGE obeys, read once per merge (R-470).

Names and defaults are Delta's own. A flag that would change results and is not implemented is refused unless it has
its default, so that no setting is silently without effect.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from mergecheck.merge.errors import InvalidConfigurationError, UnsupportedStatementError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

_DELTA = "spark.databricks.delta."
OPTIMIZE_INSERT_ONLY = _DELTA + "merge.optimizeInsertOnlyMerge.enabled"
OPTIMIZE_MATCHED_ONLY = _DELTA + "merge.optimizeMatchedOnlyMerge.enabled"
DELETION_VECTORS = _DELTA + "merge.deletionVectors.persistent"
REPARTITION_BEFORE_WRITE = _DELTA + "merge.repartitionBeforeWrite.enabled"
MATERIALIZE_SOURCE = _DELTA + "merge.materializeSource"
DROP_NULL_COLUMNS = _DELTA + "createDataFrame.dropNullColumns"
OPTIMIZE_WRITE = _DELTA + "optimizeWrite.enabled"
ANSI_ENABLED = "spark.sql.ansi.enabled"
_NO_OPTION = "INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS"
USER_METADATA = _DELTA + "commitInfo.userMetadata"
_TXN_APP_ID, _TXN_VERSION = _DELTA + "write.txnAppId", _DELTA + "write.txnVersion"

# Optimisations of this package, which Delta Lake lacks: they change how a merge runs, never its result.
OWN_PREFIX = "mergecheck.merge."
PRUNE_BY_SOURCE_KEYS = OWN_PREFIX + "pruneBySourceKeys.enabled"
BROADCAST_SOURCE = OWN_PREFIX + "broadcastSource.enabled"
LOW_SHUFFLE = OWN_PREFIX + "lowShuffle.enabled"
SINGLE_SCAN = OWN_PREFIX + "singleScan.enabled"
ONE_TASK = OWN_PREFIX + "oneTask.enabled"
ARROW_REWRITE = OWN_PREFIX + "arrowRewrite"
SKIP_FILES_BY_SOURCE = OWN_PREFIX + "skipFilesBySource.enabled"
LARGE_TABLE_BYTES = OWN_PREFIX + "largeTableBytes"

# Flags that change results and are not implemented: full name -> the only value that is accepted.
_ONLY_DEFAULT: Mapping[str, str] = {
    _DELTA + "schemaEvolution.merge.fixNestedStructAlignment": "true",
    _DELTA + "write.txnVersion.autoReset.enabled": "false",  # a merge does not change its session's settings
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",  # "x" is a string to our parser
    "spark.sql.parser.escapedStringLiterals": "false",  # backslashes in strings are escapes to our parser
}


class MaterializeSource(Enum):
    """``merge.materializeSource`` (R-450)."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


class StoreAssignmentPolicy(Enum):
    """``spark.sql.storeAssignmentPolicy`` (R-251)."""

    ANSI = "ANSI"
    LEGACY = "LEGACY"
    STRICT = "STRICT"


class AutomaticWidening(Enum):
    """``typeWidening.allowAutomaticWidening``: which types schema evolution widens by itself (R-237)."""

    ALWAYS = "always"
    SAME_FAMILY_TYPE = "same_family_type"
    NEVER = "never"


class ArrowRewrite(Enum):
    """``arrowRewrite``: which merges go round Spark's join: large ones, all that can, none."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


def _flag(given: str) -> bool:
    return {"true": True, "false": False}[given.strip().lower()]


def _materialize_source(given: str) -> MaterializeSource:
    return MaterializeSource(given.strip().lower())


def _arrow_rewrite(given: str) -> ArrowRewrite:
    return ArrowRewrite(given.strip().lower())


def _store_assignment_policy(given: str) -> StoreAssignmentPolicy:
    return StoreAssignmentPolicy(given.strip().upper())


def _automatic_widening(given: str) -> AutomaticWidening:
    return AutomaticWidening(given.strip().lower())


def _bytes(given: str) -> int:
    if not given.strip().isdecimal():
        raise ValueError(given)
    return int(given)


def _setting(
    name: str,
    default: object,
    read: Callable[[str], object] = _flag,
    *,
    allowed: str = "true or false",
    error: str = "INVALID_CONF_VALUE.TYPE_MISMATCH",
) -> Any:  # noqa: ANN401 - of the field's type
    """Declare a field that is read from a setting.

    ``read`` turns its text into the value, or raises KeyError or ValueError; ``allowed`` describes its values,
    ``error`` is Spark's class for other values.
    """
    return field(default=default, metadata={"setting": name, "read": read, "allowed": allowed, "error": error})


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConf:
    """The settings of one merge. Field names follow the last words of the flags; defaults are Delta's.

    Attributes:
        preserve_null_source_structs_update_star: for ``UPDATE *``; off if the former is (R-244).
        resolve_merge_update_structs_by_name: structs are matched by field name, not by position (R-242).
        fix_case_sensitive_duplicate_columns: see R-225.
        drop_null_columns: no VOID column may be in the final schema (R-144).
        allow_automatic_widening: obeyed in tables with type widening switched on.
        optimize_write: None if the session does not set it, so that the table property decides (R-425).
        read_side_char_padding: CHAR columns get spaces where they are read (R-822).
        user_metadata: a text for the commit, which the history shows (R-714).
        txn_app_id: with ``txn_version`` makes the merge idempotent (R-715); both or none are set.
        single_scan: a merge that fits into one task finds the touched files and rewrites them in one query.
        one_task: small merges are joined and written in one task.
        prune_by_source_keys: files without a key of the source are not scanned for matches.
        broadcast_source: a small source is sent to every task instead of shuffling the target.
        low_shuffle: rows that a merge leaves alone are copied file by file, outside the join.
        arrow_rewrite: whether Python workers find matches and rewrite files without Spark's join.
        skip_files_by_source: with a NOT MATCHED BY SOURCE clause, files to which none applies are left alone.
        large_table_bytes: size of files from which the last three are used; below they cost more than they save.
    """

    optimize_insert_only_merge: bool = _setting(OPTIMIZE_INSERT_ONLY, default=True)
    optimize_matched_only_merge: bool = _setting(OPTIMIZE_MATCHED_ONLY, default=True)
    deletion_vectors_persistent: bool = _setting(DELETION_VECTORS, default=True)
    repartition_before_write: bool = _setting(REPARTITION_BEFORE_WRITE, default=True)
    materialize_source: MaterializeSource = _setting(  # noqa: RUF009 - a field
        MATERIALIZE_SOURCE, MaterializeSource.AUTO, _materialize_source, allowed="auto, all or none", error=_NO_OPTION
    )
    fail_if_source_changed: bool = _setting(_DELTA + "merge.failIfSourceChanged", default=False)
    empty_schema_target_check: bool = _setting(_DELTA + "merge.emptySchemaTargetCheck.enabled", default=True)
    preserve_null_source_structs: bool = _setting(_DELTA + "merge.preserveNullSourceStructs", default=True)
    preserve_null_source_structs_update_star: bool = _setting(
        _DELTA + "merge.preserveNullSourceStructs.updateStar", default=True
    )
    resolve_merge_update_structs_by_name: bool = _setting(
        _DELTA + "resolveMergeUpdateStructsByName.enabled", default=True
    )
    fix_case_sensitive_duplicate_columns: bool = _setting(
        _DELTA + "merge.insert.fixCaseSensitiveDuplicateColumns", default=True
    )
    drop_null_columns: bool = _setting(DROP_NULL_COLUMNS, default=False)
    schema_auto_merge: bool = _setting(_DELTA + "schema.autoMerge.enabled", default=False)
    optimize_write: bool | None = _setting(OPTIMIZE_WRITE, default=None)
    skip_recording_empty_commits: bool = _setting(_DELTA + "skipRecordingEmptyCommits", default=True)
    history_metrics_enabled: bool = _setting(_DELTA + "history.metricsEnabled", default=True)
    stats_collect: bool = _setting(_DELTA + "stats.collect", default=True)
    num_records_validation_enabled: bool = _setting(_DELTA + "numRecordsValidation.enabled", default=True)
    casting_follows_ansi_flag: bool = _setting(_DELTA + "updateAndMergeCastingFollowsAnsiEnabledFlag", default=False)
    allow_automatic_widening: AutomaticWidening = _setting(  # noqa: RUF009 - a field
        _DELTA + "typeWidening.allowAutomaticWidening",
        AutomaticWidening.ALWAYS,
        _automatic_widening,
        allowed="always, same_family_type or never",
        error=_NO_OPTION,
    )
    user_metadata: str | None = _setting(USER_METADATA, None, str)
    txn_app_id: str | None = _setting(_TXN_APP_ID, None, str)
    txn_version: int | None = _setting(_TXN_VERSION, None, int, allowed="an integer")
    case_sensitive: bool = _setting("spark.sql.caseSensitive", default=False)
    read_side_char_padding: bool = _setting("spark.sql.readSideCharPadding", default=True)
    store_assignment_policy: StoreAssignmentPolicy = _setting(  # noqa: RUF009 - a field
        "spark.sql.storeAssignmentPolicy",
        StoreAssignmentPolicy.ANSI,
        _store_assignment_policy,
        allowed="ANSI, LEGACY or STRICT",
        error=_NO_OPTION,
    )
    ansi_enabled: bool = _setting(ANSI_ENABLED, default=True)
    single_scan: bool = _setting(SINGLE_SCAN, default=True)
    one_task: bool = _setting(ONE_TASK, default=True)
    prune_by_source_keys: bool = _setting(PRUNE_BY_SOURCE_KEYS, default=True)
    broadcast_source: bool = _setting(BROADCAST_SOURCE, default=True)
    low_shuffle: bool = _setting(LOW_SHUFFLE, default=True)
    arrow_rewrite: ArrowRewrite = _setting(  # noqa: RUF009 - a field
        ARROW_REWRITE, ArrowRewrite.NONE, _arrow_rewrite, allowed="auto, all or none", error=_NO_OPTION
    )
    skip_files_by_source: bool = _setting(SKIP_FILES_BY_SOURCE, default=True)
    large_table_bytes: int = _setting(LARGE_TABLE_BYTES, 16 * 2**20, _bytes, allowed="a number of bytes, 0 or more")

    def is_large(self, num_bytes: int) -> bool:
        """Return whether files of this size are worth an optimisation that costs a query of its own."""
        return num_bytes >= self.large_table_bytes

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> MergeConf:
        """Build from setting names and texts; names that are absent have Delta's default.

        Raises:
            InvalidConfigurationError: a value that the flag does not allow.
            UnsupportedStatementError: a flag that is not implemented is not at its default.
        """
        for name, accepted in _ONLY_DEFAULT.items():
            given = settings.get(name)
            if given is not None and given.strip().lower() != accepted:
                raise UnsupportedStatementError(f"{name} = {given}", hint=f"Leave the setting at {accepted}.")
        for one, other in ((_TXN_APP_ID, _TXN_VERSION), (_TXN_VERSION, _TXN_APP_ID)):
            if one in settings and other not in settings:
                raise InvalidConfigurationError(
                    "DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
                    f"{one} is set without {other}. Set both or neither (R-715 idempotent writes).",
                )
        values: dict[str, Any] = {}
        for f in fields(cls):
            name = f.metadata["setting"]
            if name in settings:
                try:
                    values[f.name] = f.metadata["read"](settings[name])
                except (KeyError, ValueError):
                    raise InvalidConfigurationError(
                        f.metadata["error"],
                        f"{name} is {settings[name]!r}, but must be {f.metadata['allowed']}. "
                        "Set it with spark.conf.set, or unset it for the default.",
                    ) from None
        if not values.get("preserve_null_source_structs", True):
            values["preserve_null_source_structs_update_star"] = False
        return cls(**values)

    @classmethod
    def read(cls, spark: SparkSession) -> MergeConf:
        """Read the settings of a session; ``from_settings`` lists the values that are refused.

        One call of the JVM a name: ``getAll`` fetches its map entry by entry, four calls each, and ``SET`` is a query.
        """
        found = ((name, spark.conf.get(name, None)) for name in SETTING_NAMES)
        return cls.from_settings({name: value for name, value in found if value is not None})


SETTING_NAMES: tuple[str, ...] = (*(f.metadata["setting"] for f in fields(MergeConf)), *_ONLY_DEFAULT)
