"""The table's protocol: which features it names, and the one that a new column may need (R-704)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from mergecheck.merge.types.fields import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMESTAMP_NTZ_FEATURE = "timestampNtz"
VECTORS_FEATURE = "deletionVectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """The features that a reader and a writer of the table need; versions below 3 and 7 name no features."""

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

    def lacks_timestamp_ntz(self, schema: t.StructType) -> bool:
        """Return whether a schema has a TIMESTAMP_NTZ somewhere, and the table not the feature for it (R-704)."""
        return TIMESTAMP_NTZ_FEATURE not in self.features and any(
            isinstance(part.type, t.TimestampNTZType) for part in parts_of(schema)
        )
