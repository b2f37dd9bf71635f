"""The protocol of a case's target: the features that its properties, its columns and its layout need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.delta.tables.column_names import maps_columns
from mergecheck.harness.delta.tables.row_ids import has_row_tracking
from mergecheck.model.schema_json import check_constraints, contains_type
from mergecheck.model.storage import Checkpoint, Vectors
from mergecheck.model.table_properties import (
    FEATURE_PREFIX,
    IN_COMMIT_TIMESTAMPS,
    MIN_READER_VERSION,
    MIN_WRITER_VERSION,
)
from mergecheck.model.types import data_types as types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.case import Target

# Table features that a property switches on: property -> feature.
_FEATURE_OF_PROPERTY: Mapping[str, str] = {
    "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableRowTracking": "rowTracking",
    "delta.enableTypeWidening": "typeWidening",
    IN_COMMIT_TIMESTAMPS: "inCommitTimestamp",
}
_READER_FEATURES = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
)
"""Those that readers must know, too."""
_LEGACY_FEATURES = ("appendOnly", "invariants")  # what writer version 2 implies
_LEGACY_VERSIONS = {
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "identityColumns": 6,
}  # the first writer version with it
_NAMED_READER, _NAMED_WRITER = 3, 7
"""The versions from which on a protocol names its features."""
_MAPPING_WRITER = 5


def protocol_of(target: Target) -> dict[str, Any]:
    """Give the lowest protocol that the table needs: a legacy version if one suffices, else table features.

    Systems that know no table features read the tables that need none.
    """
    names = frozenset(features_of(target))
    least_reader, least_writer = (
        int(target.properties.get(name, least)) for name, least in ((MIN_READER_VERSION, 1), (MIN_WRITER_VERSION, 2))
    )
    if names <= _LEGACY_VERSIONS.keys() and least_writer < _NAMED_WRITER and least_reader < _NAMED_READER:
        # reader version 2 goes with writer version 5: both are there for column mapping
        needed = (2, least_writer, _MAPPING_WRITER if least_reader > 1 else 0, *map(_LEGACY_VERSIONS.get, names))
        return {"minReaderVersion": least_reader, "minWriterVersion": max(filter(None, needed))}
    writer = sorted({*_LEGACY_FEATURES, *names})
    reader = sorted(names & _READER_FEATURES)
    if not reader and least_reader < _NAMED_READER:
        return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writer}
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reader, "writerFeatures": writer}


def features_of(target: Target) -> Iterator[str]:
    """List the features that a table needs beyond the oldest protocol; some occur twice."""
    for name, value in target.properties.items():
        if name in _FEATURE_OF_PROPERTY and value.lower() == "true":
            yield _FEATURE_OF_PROPERTY[name]
        if name.startswith(FEATURE_PREFIX):
            yield name.removeprefix(FEATURE_PREFIX)
    if maps_columns(target.properties):
        yield "columnMapping"
    if check_constraints(target.properties):
        yield "checkConstraints"
    if any(column.default is not None for column in target.schema.columns):
        yield "allowColumnDefaults"
    if any(column.generated is not None for column in target.schema.columns):
        yield "generatedColumns"
    if any(column.identity is not None for column in target.schema.columns):
        yield "identityColumns"
    if contains_type(target.schema, types.TIMESTAMP_NTZ):
        yield "timestampNtz"
    if target.layout.cluster_by:
        yield from ("clustering", "domainMetadata")
    if has_row_tracking(target.properties):
        yield "domainMetadata"
    if target.layout.vectors is not Vectors.NONE:
        yield "deletionVectors"
    if target.layout.widened_columns:
        yield "typeWidening"
    if target.layout.checkpoint is Checkpoint.V2:
        yield "v2Checkpoint"
