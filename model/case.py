"""A case: the tables before, the MERGE statement, the settings and, optionally, what must come out.

Cells are plain Python values, by the type of their column:

=====================  ===========================================================================
BOOLEAN                ``bool``
TINYINT ... BIGINT     ``int`` within the type's range
FLOAT, DOUBLE          ``float`` (a FLOAT holds a value that 32 bits represent exactly)
DECIMAL(p,s)           ``decimal.Decimal`` with exactly ``s`` digits behind the point
STRING, BINARY         ``str``, ``bytes``
DATE                   ``datetime.date``
TIMESTAMP              ``datetime.datetime`` in UTC (``tzinfo=datetime.UTC``)
TIMESTAMP_NTZ          ``datetime.datetime`` without zone
STRUCT                 ``tuple`` of the fields' values in the type's order
ARRAY                  ``tuple`` of elements
MAP                    ``tuple`` of ``(key, value)`` pairs
NULL of any type       ``None``
=====================  ===========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mergecheck.model.storage import SourceLayout, TargetLayout
from mergecheck.model.table_properties import is_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.types.data_types import Schema

Value: TypeAlias = Any  # see the table above: the closed set depends on the column's type
Row: TypeAlias = tuple[Value, ...]

CDF_PROPERTY = "delta.enableChangeDataFeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table before the merge, file by file (an empty tuple of files is an empty table).

    Attributes:
        transactions: the last version that an application has committed, by the application's id (R-715).
    """

    schema: Schema
    files: tuple[tuple[Row, ...], ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    layout: TargetLayout = field(default_factory=TargetLayout)
    transactions: Mapping[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in file order."""
        return tuple(row for file in self.files for row in file)

    @property
    def change_data_feed(self) -> bool:
        """Whether the table records its changes (R-601)."""
        return is_on(self.properties, CDF_PROPERTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source relation, which SQL text calls ``source``, or another table that its queries read by its own name."""

    schema: Schema
    rows: tuple[Row, ...] = ()
    layout: SourceLayout = field(default_factory=SourceLayout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The outcome that the author of a case expects; ``None`` where nothing is expected."""

    rows: tuple[Row, ...] | None = None
    schema: Schema | None = None
    metrics: Mapping[str, int] | None = None
    cdf: tuple[Row, ...] | None = None
    error: str | None = None
    unchanged: bool | None = None


class _Printer(Protocol):
    """What IPython and Hypothesis print values with."""

    def text(self, text: str, /) -> None:
        """Print a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One MERGE with everything it depends on.

    Attributes:
        source: None if the target is merged into itself.
        tables: further tables that queries of the statement may read, by name in lower case; a merge never writes them.
    """

    id: str
    target: Target
    source: Source | None
    sql: str
    conf: Mapping[str, str] = field(default_factory=dict)
    expect: Expectation | None = None
    tables: Mapping[str, Source] = field(default_factory=dict)

    @property
    def read_tables(self) -> Mapping[str, Source]:
        """The tables beside the target that the statement may read, by name: ``source``, then the further ones."""
        return ({} if self.source is None else {"source": self.source}) | dict(self.tables)

    @property
    def all_tables(self) -> tuple[Target | Source, ...]:
        """The target and the tables beside it."""
        return (self.target, *self.read_tables.values())

    @property
    def relations(self) -> Mapping[str, Schema]:
        """The columns of every table that the statement may name."""
        return {"target": self.target.schema} | {name: table.schema for name, table in self.read_tables.items()}

    def _repr_pretty_(self, printer: _Printer, cycle: bool) -> None:  # noqa: FBT001 - the protocol of IPython and Hypothesis
        """Name the case and its statement where Hypothesis prints an example; the report shows the tables."""
        del cycle  # a case does not hold itself
        printer.text(f"Case({self.id}: {self.sql})")

    def is_same_merge(self, other: Case) -> bool:
        """Return whether another case has these very tables, this statement and these settings, whatever its name."""
        tables = self.target is other.target and self.source is other.source and self.tables == other.tables
        return tables and (self.sql, self.conf) == (other.sql, other.conf)
