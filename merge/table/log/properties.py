"""Table properties that a merge obeys, read strictly: what Delta would refuse is refused before anything runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mergecheck.merge.errors import InvalidConfigurationError
from mergecheck.merge.table.log.features import ENABLING_PROPERTIES
from mergecheck.merge.table.log.indexed_columns import DEFAULT_NUMBER, IndexedColumns
from mergecheck.merge.table.row_ids import tracking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHANGE_DATA_FEED: Final = "delta.enableChangeDataFeed"
APPEND_ONLY: Final = "delta.appendOnly"
AUTO_OPTIMIZE_WRITE: Final = "delta.autoOptimize.optimizeWrite"
DELETION_VECTORS: Final = "delta.enableDeletionVectors"
IN_COMMIT_TIMESTAMPS: Final = "delta.enableInCommitTimestamps"
TYPE_WIDENING: Final = "delta.enableTypeWidening"
CODEC: Final = "delta.parquet.compression.codec"
RANDOM_PREFIXES: Final = "delta.randomizeFilePrefixes"
PREFIX_LENGTH: Final = "delta.randomPrefixLength"
NUM_INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"
INDEXED_COLUMNS: Final = "delta.dataSkippingStatsColumns"

_FLAGS: Final = (
    *(CHANGE_DATA_FEED, APPEND_ONLY, AUTO_OPTIMIZE_WRITE, DELETION_VECTORS, IN_COMMIT_TIMESTAMPS, TYPE_WIDENING),
    *(tracking.ENABLED, tracking.SUSPENDED, RANDOM_PREFIXES),
    *ENABLING_PROPERTIES,
)
_ALL_COLUMNS: Final = -1
# Spark's names of codecs -> Arrow's names
_CODECS: Final = {
    **{name: name for name in ("brotli", "gzip", "snappy", "zstd", "lz4")},
    "lz4_raw": "lz4",
    "none": "none",
    "uncompressed": "none",
}
# a name of a column or field, in backticks if it holds anything special
_PART: Final = r"(?:`(?:[^`]|``)+`|[^\s`.,]+)"
_NAME: Final = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*")


def check_properties(properties: Mapping[str, str]) -> None:
    """Look at each property that a merge obeys.

    Raises:
        InvalidConfigurationError: a value that the property does not allow, or two that exclude each other (R-727).
    """
    for name in _FLAGS:
        flag(properties, name)
    indexed_columns(properties)
    codec(properties)
    prefix_length(properties)
    if flag(properties, tracking.ENABLED) and flag(properties, tracking.SUSPENDED):
        raise InvalidConfigurationError(
            "DELTA_ROW_TRACKING_ILLEGAL_PROPERTY_COMBINATION",
            f"The table properties {tracking.ENABLED} and {tracking.SUSPENDED} are both true, but rows cannot keep "
            "their ids while no row gets one. Set one of them to false by ALTER TABLE ... SET TBLPROPERTIES.",
        )


def flag(properties: Mapping[str, str], name: str) -> bool:
    """Read a boolean property; absent means false.

    Raises:
        InvalidConfigurationError: it is neither true nor false.
    """
    given = properties.get(name, "false").lower()
    if given not in {"true", "false"}:
        raise _refused(name, properties[name], "true or false")
    return given == "true"


def codec(properties: Mapping[str, str]) -> str:
    """Return the compression of new files, by Arrow's name; tables of Databricks have this property.

    Raises:
        InvalidConfigurationError: there is no such codec here.
    """
    given = properties.get(CODEC, "snappy")
    if given.lower() not in _CODECS:
        raise _refused(CODEC, given, "one of " + ", ".join(_CODECS))
    return _CODECS[given.lower()]


def prefix_length(properties: Mapping[str, str]) -> int:
    """Read how long the random name is that new files have in place of the folder of their partition; 0 for none.

    Raises:
        InvalidConfigurationError: a length that is no whole number above 0.
    """
    given = properties.get(PREFIX_LENGTH, "2")
    if not given.isdecimal() or int(given) == 0:
        raise _refused(PREFIX_LENGTH, given, "a whole number above 0")
    return int(given) if flag(properties, RANDOM_PREFIXES) else 0


def indexed_columns(properties: Mapping[str, str]) -> IndexedColumns:
    """Read which leaf columns have statistics; a list of names goes before a number.

    Raises:
        InvalidConfigurationError: the number is no whole number from -1 on, or the text is no list of names.
    """
    given = properties.get(INDEXED_COLUMNS)
    if given is not None:
        return IndexedColumns(names=tuple(_names(given)))
    return IndexedColumns(number=_number(properties.get(NUM_INDEXED_COLUMNS, str(DEFAULT_NUMBER))))


def _number(given: str) -> int:
    try:
        number = int(given)
    except ValueError:
        number = _ALL_COLUMNS - 1
    if number < _ALL_COLUMNS:
        raise _refused(NUM_INDEXED_COLUMNS, given, "a whole number from -1 on")
    return number


def _names(given: str) -> Iterator[tuple[str, ...]]:
    at = 0
    while at < len(given):
        found = _NAME.match(given, at)
        at = len(given) if found is None else found.end()
        if found is None or given[at : at + 1] not in {"", ","}:
            raise _refused(INDEXED_COLUMNS, given, "names of columns with commas between them")
        yield tuple(part.strip("`").replace("``", "`") for part in re.findall(_PART, found[1]))
        at += 1


def _refused(name: str, given: str, allowed: str) -> InvalidConfigurationError:
    return InvalidConfigurationError(
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
        f"The table property {name} is {given!r:.100}, but must be {allowed}. Set it with ALTER TABLE ... SET "
        "TBLPROPERTIES, or unset it for the default.",
    )
