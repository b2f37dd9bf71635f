"""Refusal of tables with features that this package lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t

from mergecheck.merge.errors import UnsupportedTableError
from mergecheck.merge.table.row_ids import tracking
from mergecheck.merge.types.fields import parts_of
from mergecheck.merge.types.identity import PREFIX as IDENTITY_PREFIX
from mergecheck.merge.types.identity import has_whole_identity
from mergecheck.merge.types.invariants import INVARIANT, expression_of
from mergecheck.merge.types.text_limits import DECLARED_TYPE, has_char_inside, length_condition
from mergecheck.merge.types.widening import unknown_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

# Features of the protocol that a merge honours or that need nothing from it.
SUPPORTED_FEATURES = frozenset(
    """allowColumnDefaults appendOnly changeDataFeed checkConstraints checkpointProtection clustering columnMapping
    deletionVectors domainMetadata generatedColumns identityColumns inCommitTimestamp invariants rowTracking
    timestampNtz typeWidening v2Checkpoint vacuumProtocolCheck""".split()  # noqa: SIM905 - a word list reads better
)

# Table property -> the feature that it switches on when it is "true".
ENABLING_PROPERTIES: Mapping[str, str] = {
    "delta.enableIcebergCompatV1": "icebergCompatV1",
    "delta.enableIcebergCompatV2": "icebergCompatV2",
    "delta.enableIcebergCompatV3": "icebergCompatV3",
}
# Table property -> the only values under which a merge obeys the property.
_ONLY_VALUES: Mapping[str, frozenset[str]] = {
    "delta.isolationLevel": frozenset({"serializable", "writeserializable"}),  # a merge is serializable, which is more
    "delta.universalFormat.enabledFormats": frozenset({""}),
}
_LAST_WRITER_VERSION = 7

# Key of a field's metadata (or its beginning) -> the feature that it means.
_FIELD_METADATA: Mapping[str, str] = {
    "__COLLATIONS": "collations",
}

_TYPES = (
    *(t.BooleanType, t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType),
    *(t.StringType, t.BinaryType, t.DateType, t.TimestampType, t.TimestampNTZType),
    *(t.StructType, t.ArrayType, t.MapType),
)


def check_features(
    *,
    where: str,
    writer_version: int,
    protocol_features: Iterable[str],
    properties: Mapping[str, str],
    schema: t.StructType,
    partition_columns: Iterable[str],
    has_mapping: bool,
) -> None:
    """Refuse a table at a location that this package would misread or damage.

    Raises:
        UnsupportedTableError: lists every feature in the way.
    """
    named = frozenset(protocol_features)
    found = {name for name in named if name not in SUPPORTED_FEATURES}
    found |= {f"writer version {writer_version}"} if writer_version > _LAST_WRITER_VERSION else set()
    if not has_mapping and properties.get("delta.columnMapping.mode", "none").lower() != "none":
        found.add("columnMapping without its feature in the protocol")
    if properties.get("delta.enableTypeWidening", "false").lower() == "true" and "typeWidening" not in named:
        found.add("typeWidening without its feature in the protocol")
    if tracking.FEATURE not in named and properties.get(tracking.ENABLED, "false").lower() != "false":
        found.add(f"{tracking.FEATURE} without its feature in the protocol")
    found |= set(_features_of_properties(properties))
    found |= set(features_of_schema(schema))
    found |= {
        "binary partition columns" for name in partition_columns if isinstance(schema[name].dataType, t.BinaryType)
    }
    found |= {
        "CHAR partition columns"
        for name in partition_columns
        if str((schema[name].metadata or {}).get(DECLARED_TYPE, "")).lower().startswith("char")
    }
    if found:
        raise UnsupportedTableError(found, where=where)


def features_of_schema(schema: t.StructType) -> Iterator[str]:
    """Name the needs of a table's columns that this package does not support."""
    for part in parts_of(schema):
        if isinstance(part.type, t.NullType) and len(part.path) == 1:
            continue  # files leave a VOID column out; only a VOID field is refused
        metadata = (part.field.metadata or {}) if part.field else {}
        for key in metadata:
            yield from (feature for beginning, feature in _FIELD_METADATA.items() if key.startswith(beginning))
        yield from unknown_changes(metadata)
        if any(key.startswith(IDENTITY_PREFIX) for key in metadata) and not has_whole_identity(metadata):
            yield "identity columns with incomplete metadata"
        yield from _unreadable_conditions(metadata)
        if isinstance(part.type, t.StringType) and part.type.simpleString() != "string":
            yield "collations"
        elif not isinstance(part.type, _TYPES):
            yield f"columns of type {part.type.simpleString()}"


def _unreadable_conditions(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Name invariants and lengths of texts that cannot be read, and so not be checked."""
    try:
        length_condition(metadata, "")
        if has_char_inside(metadata):
            yield "CHAR inside of columns"
    except ValueError as error:
        yield str(error)
    if INVARIANT in metadata:
        try:
            expression_of(metadata[INVARIANT])
        except ValueError as error:
            yield str(error)


def _features_of_properties(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if value.lower() not in _ONLY_VALUES.get(name, {value.lower()}):
            yield f"{name} = {value}"
        elif name in ENABLING_PROPERTIES and value.lower() == "true":
            yield ENABLING_PROPERTIES[name]
