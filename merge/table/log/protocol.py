"""The table's protocol: which features it names, and the upgrade that a new column may need (R-704)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from mergecheck.merge.types.fields import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMESTAMP_NTZ_FEATURE = "timestampNtz"
_TABLE_FEATURES_READER, _TABLE_FEATURES_WRITER = 3, 7

# What a version stood for before features had names: feature -> the first version that has it.
_LEGACY_READER: Mapping[str, int] = {"columnMapping": 2}
_LEGACY_WRITER: Mapping[str, int] = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """What a reader and a writer of the table must know; versions below 3 and 7 name no features."""

    min_reader_version: int = 1
    min_writer_version: int = 2
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()

    @classmethod
    def of_action(cls, action: Mapping[str, Any]) -> Protocol:
        """Read the fields of a ``protocol`` action."""
        return cls(
            min_reader_version=action["minReaderVersion"],
            min_writer_version=action["minWriterVersion"],
            reader_features=frozenset(action.get("readerFeatures") or ()),
            writer_features=frozenset(action.get("writerFeatures") or ()),
        )

    @property
    def features(self) -> frozenset[str]:
        """All features that the protocol names."""
        return self.reader_features | self.writer_features

    def upgraded_for(self, schema: t.StructType) -> Protocol:
        """Return the protocol that a schema needs: the same one if it does already.

        Features that older versions imply are named, so that none is lost.
        """
        if TIMESTAMP_NTZ_FEATURE in self.features or not any(
            isinstance(part.type, t.TimestampNTZType) for part in parts_of(schema)
        ):
            return self
        return Protocol(
            min_reader_version=_TABLE_FEATURES_READER,
            min_writer_version=_TABLE_FEATURES_WRITER,
            reader_features=self._implied(_LEGACY_READER, self.min_reader_version, _TABLE_FEATURES_READER)
            | self.reader_features
            | {TIMESTAMP_NTZ_FEATURE},
            writer_features=self._implied(_LEGACY_WRITER, self.min_writer_version, _TABLE_FEATURES_WRITER)
            | self.writer_features
            | {TIMESTAMP_NTZ_FEATURE},
        )

    def action(self) -> dict[str, Any]:
        """Write the ``protocol`` action."""
        action: dict[str, Any] = {
            "minReaderVersion": self.min_reader_version,
            "minWriterVersion": self.min_writer_version,
        }
        if self.min_reader_version >= _TABLE_FEATURES_READER:
            action["readerFeatures"] = sorted(self.reader_features)
        if self.min_writer_version >= _TABLE_FEATURES_WRITER:
            action["writerFeatures"] = sorted(self.writer_features)
        return {"protocol": action}

    @staticmethod
    def _implied(legacy: Mapping[str, int], version: int, named_from: int) -> frozenset[str]:
        if version >= named_from:
            return frozenset()
        return frozenset(name for name, first in legacy.items() if first <= version)
