"""Refusal of tables whose features this package does not have: they are named, never misread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import types as t

from mergecheck.merge.errors import UnsupportedTableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Features of the protocol that a merge honours or that need nothing from it, and those that may lie dormant: what uses
# them is looked for below.
SUPPORTED_FEATURES = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "domainMetadata",
        "generatedColumns",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
DORMANT_FEATURES = frozenset(
    {
        "invariants",
        "identityColumns",
        "columnMapping",
        "deletionVectors",
        "inCommitTimestamp",
    }
)

# Table property -> the feature that it switches on when it is "true".
_ENABLING_PROPERTIES: Mapping[str, str] = {
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableRowTracking": "rowTracking",
    "delta.enableTypeWidening": "typeWidening",
    "delta.enableIcebergCompatV1": "icebergCompatV1",
    "delta.enableIcebergCompatV2": "icebergCompatV2",
    "delta.enableInCommitTimestamps": "inCommitTimestamp",
}

# Key of a field's metadata (or its beginning) -> the feature that it means.
_FIELD_METADATA: Mapping[str, str] = {
    "delta.identity.": "identityColumns",
    "delta.invariants": "invariants",
    "__CHAR_VARCHAR_TYPE_STRING": "char and varchar lengths",
    "__COLLATIONS": "collations",
}

_ATOMIC_TYPES = (
    t.BooleanType,
    t.ByteType,
    t.ShortType,
    t.IntegerType,
    t.LongType,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
    t.StringType,
    t.BinaryType,
    t.DateType,
    t.TimestampType,
    t.TimestampNTZType,
)


def check_features(
    *,
    where: str,
    protocol_features: Iterable[str],
    properties: Mapping[str, str],
    schema: t.StructType,
    partition_columns: Iterable[str],
    has_deletion_vectors: bool,
) -> None:
    """Refuse a table that this package would misread or damage.

    Args:
        where: the table's location, for the message.
        protocol_features: reader and writer features that the protocol names.
        properties: the table properties.
        schema: the table's columns with their metadata.
        partition_columns: names of the partition columns.
        has_deletion_vectors: whether a live file has one.

    Raises:
        UnsupportedTableError: lists every feature in the way.
    """
    found = {name for name in protocol_features if name not in SUPPORTED_FEATURES | DORMANT_FEATURES}
    found |= {"deletionVectors"} if has_deletion_vectors else set()
    found |= set(_features_of_properties(properties))
    found |= set(features_of_schema(schema))
    found |= {
        "binary partition columns" for name in partition_columns if isinstance(schema[name].dataType, t.BinaryType)
    }
    if found:
        raise UnsupportedTableError(found, where=where)


def features_of_schema(schema: t.StructType) -> Iterator[str]:
    """Name what the columns of a table need that this package does not have."""
    for field in schema.fields:
        if not isinstance(field.dataType, t.NullType):  # files leave a VOID column out; only as a field it is refused
            yield from _features_of_field(field)


def _features_of_properties(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if name == "delta.columnMapping.mode" and value.lower() != "none":
            yield "columnMapping"
        elif name in _ENABLING_PROPERTIES and value.lower() == "true":
            yield _ENABLING_PROPERTIES[name]


def _features_of_field(field: t.StructField) -> Iterator[str]:
    for key in field.metadata or {}:
        for beginning, feature in _FIELD_METADATA.items():
            if key.startswith(beginning):
                yield feature
    yield from _features_of_type(field.dataType)


def _features_of_type(data_type: t.DataType) -> Iterator[str]:
    if isinstance(data_type, t.StructType):
        for field in data_type.fields:
            yield from _features_of_field(field)
    elif isinstance(data_type, t.ArrayType):
        yield from _features_of_type(data_type.elementType)
    elif isinstance(data_type, t.MapType):
        yield from _features_of_type(data_type.keyType)
        yield from _features_of_type(data_type.valueType)
    elif isinstance(data_type, t.StringType):
        if data_type.simpleString() != "string":
            yield "collations"
    elif not isinstance(data_type, _ATOMIC_TYPES):
        yield f"columns of type {data_type.simpleString()}"
