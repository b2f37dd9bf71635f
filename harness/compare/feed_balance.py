"""How often a table before a merge, the table after it and the change feed hold each row (P-12, P-14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.evolution import null_structs_expanded, row_converter
from mergecheck.model.layout import physical_rows
from mergecheck.reference.expressions.names import char_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import Outcome

PRESERVE_NULL_STRUCTS = "spark.databricks.delta.merge.preserveNullSourceStructs"
REMOVING = frozenset({"delete", "update_preimage"})
ADDING = frozenset({"insert", "update_postimage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBalance:
    """Where one row is; equal rows count together.

    Attributes:
        row: its values, as columns of the table after the merge.
        before: its places among the rows of the target.
        after: its places among the rows that the engine shows.
        removals: its places in the change feed, as a row that was.
        additions: its places in the change feed, as a row that is new.
    """

    row: Row
    before: tuple[int, ...]
    after: tuple[int, ...]
    removals: tuple[int, ...]
    additions: tuple[int, ...]

    @property
    def surplus(self) -> int:
        """How many more of it the table before and the change feed give than the table after holds."""
        return len(self.before) - len(self.removals) + len(self.additions) - len(self.after)

    @property
    def is_unheld(self) -> bool:
        """Whether the change feed removes it more often than the table held it."""
        return len(self.removals) > len(self.before)


def feed_balance(case: Case, outcome: Outcome) -> tuple[RowBalance, ...] | None:
    """Count the rows of an outcome with a change feed.

    Returns:
        None if there is no change feed, if it has changes of unknown types, or if the old schema does not evolve to the
        new one.
    """
    convert = row_converter(case.target.schema, outcome.schema)
    if outcome.cdf is None or convert is None or not {row[-1] for row in outcome.cdf} <= REMOVING | ADDING:
        return None
    identity = row_identities(case, outcome)
    before, changes = [convert(row) for row in physical_rows(case.target)], [row[:-1] for row in outcome.cdf]
    rows: dict[Hashable, Row] = {}

    def places(given: Sequence[Row]) -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = {}
        for place, row in enumerate(given):
            key = identity(row)
            rows.setdefault(key, row)
            found.setdefault(key, []).append(place)
        return found

    held, shown, changed = places(before), places(outcome.rows), places(changes)
    types = [row[-1] for row in outcome.cdf]
    return tuple(
        RowBalance(
            row=row,
            before=tuple(held.get(key, ())),
            after=tuple(shown.get(key, ())),
            removals=tuple(place for place in changed.get(key, ()) if types[place] in REMOVING),
            additions=tuple(place for place in changed.get(key, ()) if types[place] in ADDING),
        )
        for key, row in rows.items()
    )


def row_identities(case: Case, outcome: Outcome) -> Callable[[Row], Hashable]:
    """Return which rows of a merge count as equal.

    Texts of CHAR columns count as padded, since old images and copied rows are, and rows in files need not be (R-822).
    """
    schema, lengths = outcome.schema, char_columns(outcome.schema)
    expands = not _keeps_null_structs(case, outcome)

    def padded(row: Row) -> Row:
        return tuple(
            cell.ljust(lengths[i]) if i in lengths and cell is not None else cell for i, cell in enumerate(row)
        )

    def identity(row: Row) -> Hashable:
        return row_identity(padded(null_structs_expanded(row, schema.columns) if expands else row), schema)

    return identity


def _keeps_null_structs(case: Case, outcome: Outcome) -> bool:
    """Return whether rows that are only copied keep NULL structs; else each may become a struct of NULLs (R-244)."""
    preserves = case.conf.get(PRESERVE_NULL_STRUCTS, "true").lower() == "true"
    return preserves or outcome.schema == case.target.schema
