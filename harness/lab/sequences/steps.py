"""A sequence of steps on one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Self, TypeAlias

from mergecheck.model.case import Case, Row, Source, Target
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.model.types.data_types import DataType, Field

NO_MERGE = "MERGE INTO target t USING target s ON FALSE WHEN MATCHED THEN DELETE"
"""The statement of a case that is wanted for its tables alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A MERGE into the table as it is then.

    Attributes:
        writer: the engine that does it, if several take turns; empty for the only one.
    """

    source: Source
    sql: str
    conf: Mapping[str, str]
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Append:
    """Rows added by another writer, one file per partition."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Rows deleted by another writer: those whose column has the value, or is NULL.

    Attributes:
        value: a whole number; None deletes the rows in which the column is NULL.
    """

    column: str
    value: int | None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """All files put together in one per partition, without a change of data."""


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column added at the end; no file has it yet."""

    column: Field


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The newest version of the log written as a checkpoint; it makes no version."""


@dataclass(frozen=True, slots=True)
class Restore:
    """The table as it was some versions ago, as a new version.

    Attributes:
        back: how many versions; more than there are lead to the first one.
    """

    back: int


class Change(Enum):
    """What may be changed of a table that is in use, by its properties.

    Attributes:
        property: its name.
        given: the value that it gets.
    """

    _value_: str
    property: str
    given: str

    def __new__(cls, name: str, property_name: str, given: str) -> Self:
        """Make the other parts of a member attributes."""
        change = object.__new__(cls)
        change._value_ = name
        change.property, change.given = property_name, given
        return change

    VECTORS = "deletion vectors", "delta.enableDeletionVectors", "true"
    NO_VECTORS = "no new deletion vectors", "delta.enableDeletionVectors", "false"
    COLUMN_MAPPING = "column mapping", "delta.columnMapping.mode", "name"
    ROW_TRACKING = "row tracking", "delta.enableRowTracking", "true"
    IN_COMMIT_TIMESTAMPS = "in-commit timestamps", "delta.enableInCommitTimestamps", "true"
    TYPE_WIDENING = "type widening", "delta.enableTypeWidening", "true"
    CHECKPOINTS = "checkpoints", "delta.checkpointInterval", "1"
    """one for every version"""
    V2_CHECKPOINTS = "V2 checkpoints", "delta.checkpointPolicy", "v2"
    """if there are any"""


@dataclass(frozen=True, slots=True)
class Alter:
    """A property of the table changed."""

    change: Change


@dataclass(frozen=True, slots=True)
class ChangeType:
    """The type of a column widened; files keep their stored types."""

    column: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Purge:
    """Files with deletion vectors written anew without their deleted rows."""


Step: TypeAlias = Merge | Append | Delete | Rewrite | AddColumn | Checkpoint | Restore | Alter | ChangeType | Purge


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A table and the steps on it, in order.

    Attributes:
        maintainer: the engine that does all steps other than merges; empty for delta-rs.
    """

    id: str
    target: Target
    steps: tuple[Step, ...]
    maintainer: str = ""

    @property
    def writers(self) -> tuple[str, ...]:
        """The engines that it names, in order, each once."""
        named = (*(step.writer for step in self.steps if isinstance(step, Merge)), self.maintainer)
        return tuple(dict.fromkeys(name for name in named if name))

    def cases(self) -> Iterator[Case]:
        """Give the table and each column that is added to it, then each merge, as cases of their own.

        A merge has the columns of the first version: a column that is added may be missing when it runs.
        """
        for column in (None, *(step.column for step in self.steps if isinstance(step, AddColumn))):
            target = self.target if column is None else replace(self.target, schema=Schema((column,)), files=())
            yield Case(id=self.id, target=target, source=None, sql=NO_MERGE)
        for step in self.steps:
            if isinstance(step, Merge):
                yield Case(id=self.id, target=self.target, source=step.source, sql=step.sql, conf=step.conf)
