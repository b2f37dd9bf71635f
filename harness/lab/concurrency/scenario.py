"""A scenario: a small table, its writers, and which of them conflict."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - dataclass fields are read at run time by tools
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from deltalake import DeltaTable, TableFeatures, write_deltalake

from mergecheck.harness.lab.sequences.maintenance import write_by_delta_rs
from mergecheck.harness.lab.sequences.steps import AddColumn, Append, Delete, Merge, Rewrite
from mergecheck.model.arrow import rows_to_table
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.table_properties import DELETION_VECTORS, ROW_TRACKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.model.case import Row, Target
    from mergecheck.model.types.data_types import Schema


class Isolation(Enum):
    """What a history must equal (R-751).

    The page "Isolation levels" of the documentation of Delta Lake defines the first two. Under the first, a history
    equals the serial order of the versions in the log; under the second, any serial order. Under the third, which
    Apache Iceberg has, each writer changes the rows of its snapshot, and no other writer has changed these rows since.
    """

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT = "Snapshot"


class TableKind(Enum):
    """The features of the tables of scenarios; the value names them on the command line."""

    PLAIN = "plain"
    DELETION_VECTORS = "deletion-vectors"
    ROW_TRACKING = "row-tracking"
    CHANGE_FEED = "change-feed"

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties that switch it on."""
        return _PROPERTIES[self]


_PROPERTIES: Mapping[TableKind, Mapping[str, str]] = {
    TableKind.PLAIN: {},
    TableKind.DELETION_VECTORS: {DELETION_VECTORS: "true"},
    TableKind.ROW_TRACKING: {ROW_TRACKING: "true"},
    TableKind.CHANGE_FEED: {CDF_PROPERTY: "true"},
}


@dataclass(frozen=True, slots=True)
class SetProperty:
    """A table property set by delta-rs: a change of metadata."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class AddFeature:
    """A table feature added by delta-rs: a change of the protocol."""

    feature: TableFeatures


@dataclass(frozen=True, slots=True)
class ReplaceTable:
    """Schema and rows replaced by delta-rs, in one version."""

    schema: Schema
    rows: tuple[Row, ...]


Action: TypeAlias = Merge | Append | Delete | Rewrite | AddColumn | SetProperty | AddFeature | ReplaceTable


@dataclass(frozen=True, slots=True)
class Writer:
    """A writer that writes the table once."""

    name: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Writers that start together on one table.

    Attributes:
        conflicts: by loser and winner, the error of R-750 with which the loser ends if the winner has committed since
            the version that the loser read; a pair that is not there does not conflict.
    """

    name: str
    summary: str
    target: Target
    writers: tuple[Writer, ...]
    conflicts: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def fits(self, kind: TableKind) -> bool:
        """Return whether all its writers can write a table of a kind: delta-rs writes none with row tracking."""
        return kind is not TableKind.ROW_TRACKING or all(isinstance(one.action, Merge) for one in self.writers)

    @property
    def fits_any_engine(self) -> bool:
        """Whether all its writers are statements of SQL without settings, so that its table need be none of Delta's."""
        return all(
            isinstance(one.action, Append | Delete) or (isinstance(one.action, Merge) and not one.action.conf)
            for one in self.writers
        )

    def without_change_feed(self) -> Scenario:
        """Return the same scenario on a table that records no changes, for an engine that records none."""
        kept = {name: value for name, value in self.target.properties.items() if name != CDF_PROPERTY}
        return replace(self, target=replace(self.target, properties=kept))

    def on_table(self, kind: TableKind) -> Scenario:
        """Return the same scenario on a table of another kind."""
        return replace(self, target=replace(self.target, properties={**self.target.properties, **kind.properties}))


def do_other(action: Action, path: Path, schema: Schema) -> None:
    """Perform a write other than a merge, by delta-rs, on the newest version of a table; see ``write_by_delta_rs``."""
    if isinstance(action, SetProperty):
        DeltaTable(path).alter.set_table_properties({action.name: action.value})
    elif isinstance(action, AddFeature):
        DeltaTable(path).alter.add_feature(action.feature, allow_protocol_versions_increase=True)
    elif isinstance(action, ReplaceTable):
        rows = rows_to_table(action.rows, action.schema)
        write_deltalake(path, rows, mode="overwrite", schema_mode="overwrite")
    elif not isinstance(action, Merge):
        write_by_delta_rs(action, path, schema)


def said(action: Action) -> str:
    """Describe a writer in one line."""
    if isinstance(action, Merge):
        rows = f"  -- source: {_rows_text(action.source.rows)}" if action.source.rows else ""
        conf = "".join(f"  -- SET {name} = {value}" for name, value in action.conf.items())
        return f"{action.sql}{rows}{conf}"
    if isinstance(action, ReplaceTable):
        return f"replaces the table by ({action.schema.ddl()}) with {_rows_text(action.rows)}"
    return f"{action}"


def _rows_text(rows: Sequence[Row]) -> str:
    return ", ".join(map(str, rows))
