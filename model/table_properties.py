"""The table properties that Delta Lake knows: their values, and what each means to a merge.

One table for all: a case with a value that Delta refuses is refused, and the reference predicts a merge by the
property's effect. Names and values are from Delta Lake 4.4 (``DeltaConfigs``), and from Databricks where its tables
have properties that Delta Lake keeps and does not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import CaseFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FEATURE_PREFIX: Final = "delta.feature."
"""A property of such a name and the value ``supported`` gives the table a feature; no table stores it."""
CONSTRAINT_PREFIX: Final = "delta.constraints."
APPEND_ONLY: Final = "delta.appendOnly"
COLUMN_MAPPING: Final = "delta.columnMapping.mode"
DELETION_VECTORS: Final = "delta.enableDeletionVectors"
IN_COMMIT_TIMESTAMPS: Final = "delta.enableInCommitTimestamps"
ROW_TRACKING: Final = "delta.enableRowTracking"
ROW_TRACKING_SUSPENDED: Final = "delta.rowTrackingSuspended"
TYPE_WIDENING: Final = "delta.enableTypeWidening"
MIN_READER_VERSION: Final = "delta.minReaderVersion"
MIN_WRITER_VERSION: Final = "delta.minWriterVersion"
"""They set the least protocol of the table; no table stores them among its properties."""
_LOG_RETENTION: Final = "delta.logRetentionDuration"
_FILE_RETENTION: Final = "delta.deletedFileRetentionDuration"
_DELTA: Final = "delta."
_MOST_INT: Final = 2**31 - 1


def is_on(properties: Mapping[str, str], name: str) -> bool:
    """Return whether a property is true, in any case of letters as Delta Lake reads it; it is not if it is absent."""
    return properties.get(name, "false").lower() == "true"


class Meaning(Enum):
    """The effect of a property on the observables of a merge."""

    OBEYED = "obeyed"
    """it changes the outcome, and the reference predicts how"""
    UNSEEN = "unseen"
    """it changes nothing of the outcome: rows, schema, change feed, metrics and the commit of the merge are the same"""
    UNPREDICTED = "unpredicted"
    """it may change anything, and the reference predicts nothing"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The values that a property may have."""

    text: str
    allow: Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProperty:
    """A property.

    Attributes:
        name: in Delta Lake's spelling.
        values: the values that Delta Lake takes; None for any text.
        meaning: to a merge.
        harmless: values for which the property changes nothing, in lower case.
        changes: its effect on files and log, beside the outcome or instead of it.
    """

    name: str
    values: Values | None
    meaning: Meaning
    harmless: frozenset[str] = frozenset()
    changes: str = ""


def _whole(low: int, high: int = _MOST_INT) -> Values:
    def allow(text: str) -> bool:
        return re.fullmatch(r"[+-]?[0-9]{1,10}", text, re.ASCII) is not None and low <= int(text) <= high

    return Values(text=f"a whole number from {low} to {high}", allow=allow)


def _one_of(*words: str, folds: bool = True) -> Values:
    def allow(text: str) -> bool:
        return text in words or (folds and text.lower() in {word.lower() for word in words})

    return Values(text=" or ".join(words), allow=allow)


_SECOND: Final = 1_000_000
_UNITS: Final = {
    "week": 7 * 86_400 * _SECOND,
    "day": 86_400 * _SECOND,
    "hour": 3_600 * _SECOND,
    "minute": 60 * _SECOND,
    "second": _SECOND,
    "millisecond": 1_000,
    "microsecond": 1,
}
_PART: Final = rf"\s*([+-]?)\s*([0-9]{{1,12}})\s+({'|'.join(_UNITS)})s?\b"
_INTERVAL: Final = re.compile(rf"\s*(?:interval\s)?(?:{_PART})+\s*", re.IGNORECASE | re.ASCII)
_NAME: Final = r"(?:`(?:[^`]|``)+`|\w+)"
_NAMES: Final = re.compile(rf"\s*{_NAME}(?:\s*\.\s*{_NAME})*(?:\s*,\s*{_NAME}(?:\s*\.\s*{_NAME})*)*\s*")


def _microseconds(text: str) -> int | None:
    """Add up an interval; None if it is none, or has months or years."""
    if _INTERVAL.fullmatch(text) is None:
        return None
    parts = re.findall(_PART, text, re.IGNORECASE | re.ASCII)
    return sum(int(sign + number) * _UNITS[unit.lower()] for sign, number, unit in parts)


def _is_duration(text: str) -> bool:
    length = _microseconds(text)
    return length is not None and length >= 0


_FLAG: Final = _one_of("true", "false")
_DURATION: Final = Values(text="an interval without months and years, such as 'interval 2 weeks'", allow=_is_duration)
_COLUMNS: Final = Values(
    text="names of columns with commas between them", allow=lambda text: _NAMES.fullmatch(text) is not None
)
_SIZE: Final = Values(
    text="a number of bytes such as 104857600 or 128mb",
    allow=lambda text: re.fullmatch(r"\s*[0-9]+\s*(?:[kmgtp]?b?)\s*", text, re.IGNORECASE | re.ASCII) is not None,
)
_CODEC: Final = _one_of("zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "lzo", "uncompressed", "none")
_OBEYED, _UNSEEN, _UNPREDICTED = Meaning.OBEYED, Meaning.UNSEEN, Meaning.UNPREDICTED
_OFF: Final = frozenset({"false"})

_TABLE: Final[tuple[tuple[str, Values | None, Meaning, str], ...]] = (
    ("appendOnly", _FLAG, _OBEYED, "R-743"),
    ("autoOptimize", _FLAG, _UNSEEN, "a commit of its own after the merge compacts files"),
    ("autoOptimize.autoCompact", _FLAG, _UNSEEN, "a commit of its own after the merge compacts files"),
    ("autoOptimize.optimizeWrite", _FLAG, _OBEYED, "how rows are spread over files (R-425)"),
    ("castIcebergTimeType", _FLAG, _UNSEEN, "conversion from Iceberg"),
    ("checkpoint.writeStatsAsJson", _FLAG, _UNSEEN, "checkpoints"),
    ("checkpoint.writeStatsAsStruct", _FLAG, _UNSEEN, "checkpoints"),
    ("checkpointInterval", _whole(1), _UNSEEN, "checkpoints (R-706)"),
    ("checkpointPolicy", _one_of("classic", "v2", folds=False), _UNSEEN, "checkpoints (R-706)"),
    ("checkpointRetentionDuration", _DURATION, _UNSEEN, "clean-up of the log"),
    ("columnMapping.maxColumnId", _whole(0), _UNSEEN, "the next id of a column (R-709)"),
    ("columnMapping.mode", _one_of("none", "name", "id"), _OBEYED, "names in files (R-709)"),
    ("compatibility.symlinkFormatManifest.enabled", _FLAG, _UNSEEN, "manifests beside the table"),
    ("coordinatedCommits.commitCoordinator-preview", None, _UNPREDICTED, "where commits are kept"),
    ("coordinatedCommits.commitCoordinatorConf-preview", None, _UNPREDICTED, "where commits are kept"),
    ("coordinatedCommits.tableConf-preview", None, _UNPREDICTED, "where commits are kept"),
    ("dataSkippingNumIndexedCols", _whole(-1), _UNSEEN, "statistics of new files"),
    ("dataSkippingStatsColumns", _COLUMNS, _UNSEEN, "statistics of new files"),
    ("dataSkippingStringPrefixLength", _whole(0), _UNSEEN, "statistics of new files"),
    ("deletedFileRetentionDuration", _DURATION, _UNSEEN, "VACUUM"),
    ("dropFeatureTruncateHistory.retentionDuration", _DURATION, _UNSEEN, "DROP FEATURE"),
    ("enableChangeDataCapture", _FLAG, _UNPREDICTED, "the former name of enableChangeDataFeed"),
    ("enableChangeDataFeed", _FLAG, _OBEYED, "R-601"),
    ("enableDeletionVectors", _FLAG, _OBEYED, "R-402"),
    ("enableExpiredLogCleanup", _FLAG, _UNSEEN, "clean-up of the log"),
    ("enableFullRetentionRollback", _FLAG, _UNSEEN, "clean-up of the log"),
    ("enableIcebergCompatV1", _FLAG, _UNPREDICTED, "what Iceberg can read"),
    ("enableIcebergCompatV2", _FLAG, _UNPREDICTED, "what Iceberg can read"),
    ("enableIcebergCompatV3", _FLAG, _UNPREDICTED, "what Iceberg can read"),
    ("enableInCommitTimestamps", _FLAG, _OBEYED, "R-707"),
    ("enableMaterializePartitionColumnsFeature", _FLAG, _UNPREDICTED, "columns in new files"),
    ("enableRowTracking", _FLAG, _OBEYED, "R-724"),
    ("enableTypeWidening", _FLAG, _OBEYED, "R-237"),
    ("enableVariantShredding", _FLAG, _UNSEEN, "VARIANT columns, which cases do not have"),
    ("ignoreIcebergBucketPartition", _FLAG, _UNSEEN, "conversion from Iceberg"),
    ("ignoreProtocolDefaults", _FLAG, _UNSEEN, "CREATE TABLE"),
    ("inCommitTimestampEnablementTimestamp", _whole(0, 2**63 - 1), _UNSEEN, "time travel (R-707)"),
    ("inCommitTimestampEnablementVersion", _whole(0, 2**63 - 1), _UNSEEN, "time travel (R-707)"),
    ("isolationLevel", _one_of("Serializable", "WriteSerializable"), _UNPREDICTED, "conflicts, and the log"),
    ("logRetentionDuration", _DURATION, _UNSEEN, "clean-up of the log"),
    ("minReaderVersion", _whole(1, 3), _UNSEEN, "the protocol of the table before the merge"),
    ("minWriterVersion", _whole(1, 7), _UNSEEN, "the protocol of the table before the merge"),
    ("parquet.compression.codec", _CODEC, _UNSEEN, "bytes of new files"),
    ("parquet.format.version", _one_of("1.0.0", "2.12.0"), _UNSEEN, "bytes of new files"),
    ("randomizeFilePrefixes", _FLAG, _UNSEEN, "paths of new files"),
    ("randomPrefixLength", _whole(1), _UNSEEN, "paths of new files"),
    ("redirectReaderWriter-preview", None, _UNPREDICTED, "which table is written"),
    ("redirectWriterOnly-preview", None, _UNPREDICTED, "which table is written"),
    ("requireCheckpointProtectionBeforeVersion", _whole(0, 2**63 - 1), _UNSEEN, "clean-up of the log"),
    ("rowTracking.materializedRowCommitVersionColumnName", None, _UNSEEN, "names in files (R-725)"),
    ("rowTracking.materializedRowIdColumnName", None, _UNSEEN, "names in files (R-725)"),
    ("rowTrackingSuspended", _FLAG, _OBEYED, "R-727"),
    ("sampleRetentionDuration", _DURATION, _UNSEEN, "clean-up of samples"),
    ("setTransactionRetentionDuration", _DURATION, _OBEYED, "which transactions the table still knows (R-715)"),
    ("targetFileSize", _SIZE, _UNSEEN, "sizes of new files, on Databricks"),
    ("tuneFileSizesForRewrites", _FLAG, _UNSEEN, "sizes of new files, on Databricks"),
    ("universalFormat.enabledFormats", None, _UNPREDICTED, "what other formats can read"),
    ("universalFormat.iceberg.atomicConversion.supported", _FLAG, _UNSEEN, "what other formats can read"),
    ("writePartitionColumnsToParquet", _FLAG, _UNPREDICTED, "columns in new files"),
)
_HARMLESS: Final = {
    "enableChangeDataCapture": _OFF,
    "enableIcebergCompatV1": _OFF,
    "enableIcebergCompatV2": _OFF,
    "enableIcebergCompatV3": _OFF,
    "enableMaterializePartitionColumnsFeature": _OFF,
    "writePartitionColumnsToParquet": _OFF,
    "isolationLevel": frozenset({"serializable"}),
    "universalFormat.enabledFormats": frozenset({""}),
}
FEATURES: Final = {
    name.lower(): name
    for name in (
        *("allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "checkpointProtection"),
        *("clustering", "columnMapping", "deletionVectors", "domainMetadata", "generatedColumns", "identityColumns"),
        *("inCommitTimestamp", "invariants", "rowTracking", "timestampNtz", "typeWidening", "v2Checkpoint"),
        *("vacuumProtocolCheck",),
    )
}
"""Features whose mere presence in the protocol means nothing to a merge (R-706), by name in lower case."""
_SUPPORTED: Final = _one_of("supported", "enabled")
TABLE_PROPERTIES: Final[Mapping[str, TableProperty]] = {
    f"{_DELTA}{name}".lower(): TableProperty(
        name=f"{_DELTA}{name}",
        values=values,
        meaning=meaning,
        harmless=_HARMLESS.get(name, frozenset()),
        changes=changes,
    )
    for name, values, meaning, changes in _TABLE
}
"""By name in lower case: to Delta Lake, case does not matter in the name of a property that it knows."""


def checked_properties(given: Mapping[str, str], where: str) -> dict[str, str]:
    """Return properties with their names in Delta Lake's spelling.

    Args:
        given: properties of a table.
        where: leads messages.

    Raises:
        CaseFormatError: a value that Delta Lake refuses, or one property twice.
    """
    properties: dict[str, str] = {}
    for key, value in given.items():
        name, values = _known(key)
        if values is not None and not values.allow(value):
            raise CaseFormatError(
                f"{where}: {name} is {value!r:.80}, which Delta Lake refuses; allowed is {values.text}"
            )
        if name in properties:
            raise CaseFormatError(f"{where}: {name} stands there twice, as {key!r} too")
        properties[name] = value
    log, files = (
        _microseconds(properties.get(name, default))
        for name, default in ((_LOG_RETENTION, "30 days"), (_FILE_RETENTION, "1 week"))
    )
    if log is not None and files is not None and log < files:
        raise CaseFormatError(
            f"{where}: {_LOG_RETENTION} is shorter than {_FILE_RETENTION} (30 days and 1 week unless they are given), "
            "which Delta Lake refuses"
        )
    return properties


def _known(key: str) -> tuple[str, Values | None]:
    """Return a property's name in Delta Lake's spelling, and the values that it may have."""
    folded = key.lower()
    if folded.startswith(FEATURE_PREFIX):
        feature = folded.removeprefix(FEATURE_PREFIX)
        return f"{FEATURE_PREFIX}{FEATURES.get(feature, key[len(FEATURE_PREFIX) :])}", _SUPPORTED
    known = TABLE_PROPERTIES.get(folded)
    return (key, None) if known is None else (known.name, known.values)


def is_of_protocol(name: str) -> bool:
    """Return whether a property is about the protocol; a table has no such property, but the protocol."""
    return name.startswith(FEATURE_PREFIX) or name in (MIN_READER_VERSION, MIN_WRITER_VERSION)


def meaning_of(name: str, value: str) -> Meaning | None:
    """Return a property's effect on a merge; None for a property that Delta Lake does not know.

    Properties of the user, whose names do not begin with ``delta.``, mean nothing to Delta Lake.
    """
    key = name.lower()
    if not key.startswith(_DELTA):
        return Meaning.UNSEEN
    if key.startswith(CONSTRAINT_PREFIX):
        return Meaning.OBEYED
    if key.startswith(FEATURE_PREFIX):
        return Meaning.UNSEEN if key.removeprefix(FEATURE_PREFIX) in FEATURES else Meaning.UNPREDICTED
    known = TABLE_PROPERTIES.get(key)
    if known is None:
        return None
    return Meaning.UNSEEN if value.lower() in known.harmless else known.meaning
