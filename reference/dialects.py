"""Target rows that several source rows match: R-320, and the rules of engines other than Delta, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.reference.analysis.resolved import Resolved

MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


class Counted(Enum):
    """The source rows that count as several matches of a target row."""

    MATCHES = "source rows that match by ON"
    ACTS = "source rows to which a WHEN MATCHED clause applies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A rule for target rows that several source rows match. Two dialects with the same rule are equal.

    Attributes:
        name: as in ``explain --dialect``.
        engines: whose rule it is.
        known_by: where the rule is stated or was read, and whether the engine was run.
        counts: the source rows that count.
        without_matched: whether matches count in a statement without WHEN MATCHED clauses, too; an insert-only merge of
            Delta looks for none in any case (R-402).
        lone_delete: whether a statement whose WHEN MATCHED clauses are one DELETE without a condition may delete a row
            several times (R-320).
        deletes_repeat: whether a DELETE without a condition may apply several times beside other clauses, too.
        pruned: whether a match may escape that lies in a file which the conditions of the clauses leave out (R-322).
        refuses: whether the merge fails; if not, any of the source rows may win.
    """

    name: str = field(compare=False)
    engines: str = field(compare=False)
    known_by: str = field(compare=False)
    counts: Counted
    without_matched: bool = False
    lone_delete: bool = True
    deletes_repeat: bool = False
    pruned: bool = False
    refuses: bool = True

    def counts_in(self, merge: Resolved) -> bool:
        """Return whether several matches count in a statement at all."""
        if not merge.of(Kind.MATCHED):
            return self.without_matched
        return not (self.lone_delete and merge.is_sole_delete)


DELTA = Dialect(
    name="delta",
    engines="Delta Lake on Spark; this project's merge",
    known_by="R-320 and R-322; run",
    counts=Counted.MATCHES,
    without_matched=True,
    pruned=True,
)
DATABRICKS = Dialect(
    name="databricks-16.1",
    engines="Databricks Runtime 16.1 and later",
    known_by="its documentation and the announcement of the change; not run",
    counts=Counted.ACTS,
)
DELTA_RS = Dialect(
    name="delta-rs",
    engines="delta-rs (deltalake 1.5 and later)",
    known_by="its source (`operations/merge/validation.rs`) and delta-rs#4359; run",
    counts=Counted.ACTS,
    deletes_repeat=True,
)
SPARK = Dialect(
    name="spark",
    engines="Spark's plan for row-level operations; so Iceberg",
    known_by="Spark's documentation of MERGE INTO; run with Iceberg",
    counts=Counted.MATCHES,
)
SAIL = Dialect(
    name="sail",
    engines="Sail",
    known_by="its source (`should_check_cardinality`); run",
    counts=Counted.MATCHES,
)
POSTGRES = Dialect(
    name="postgres",
    engines="PostgreSQL",
    known_by="its documentation of MERGE; run",
    counts=Counted.ACTS,
    lone_delete=False,
)
DUCKDB_2_0_0 = Dialect(
    name="duckdb-2.0.0",
    engines="DuckDB 2.0.0",
    known_by="duckdb#24058; run",
    counts=Counted.ACTS,
    lone_delete=False,
)
DUCKDB_2_0_1 = Dialect(
    name="duckdb-2.0.1",
    engines="DuckDB 2.0.1, and the releases before 2.0",
    known_by="run; we do not know if it is meant",
    counts=Counted.ACTS,
    lone_delete=False,
    refuses=False,
)
DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (DELTA, DATABRICKS, DELTA_RS, SPARK, SAIL, POSTGRES, DUCKDB_2_0_0, DUCKDB_2_0_1)
    }
)
"""All dialects by their names."""


def known_dialect(name: str) -> Dialect:
    """Return the dialect of a name.

    Args:
        name: such as ``databricks-16.1``; docs/dialects.md lists all.

    Raises:
        LookupError: if there is none of this name; the message lists all.
    """
    if name not in DIALECTS:
        raise LookupError(f"no dialect is named {name!r}; known: {', '.join(DIALECTS)}")
    return DIALECTS[name]
