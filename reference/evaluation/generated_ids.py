"""Identity columns whose values a merge generates (R-226)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.outcome import GeneratedIds, MergePath
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.model.case import Row
    from mergecheck.reference.analysis.new_schema import Dependents
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.trace import Effects


def columns_with_generated_ids(merge: Resolved, dependents: Dependents, *, case_sensitive: bool) -> tuple[int, ...]:
    """Return the positions of the identity columns that some INSERT leaves to the table.

    Args:
        merge: the statement.
        dependents: the table's CHECK constraints and generated columns.
        case_sensitive: ``spark.sql.caseSensitive``.

    Raises:
        UnsupportedByReferenceError: if more than uniqueness hangs on the values, or clauses generate values of
            different columns.
    """
    sets = {clause.generated_ids for clause in merge.of(Kind.NOT_MATCHED)} - {frozenset()}
    if not sets:
        return ()
    if len(sets) > 1:
        raise UnsupportedByReferenceError("several identity columns, which different clauses leave out")
    columns = tuple(sorted(sets.pop()))
    for position in columns:
        name = merge.final_schema.columns[position].name
        if dependents.use(name, case_sensitive=case_sensitive):
            raise UnsupportedByReferenceError("a constraint or a generated column over an identity column")
    return columns


def predict_generated_ids(
    merge: Resolved,
    columns: tuple[int, ...],
    effects: Effects,
    *,
    copied: tuple[Row, ...],
    path: MergePath,
    change_data_feed: bool,
) -> GeneratedIds | None:
    """Sort the rows that a merge writes by whether they have generated values.

    Args:
        merge: the statement.
        columns: what ``columns_with_generated_ids`` gives.
        effects: the new rows.
        copied: the rows that are copied.
        path: the path of the merge.
        change_data_feed: whether the table records its changes.
    """
    if not columns:
        return None
    sids = {
        candidate.sid
        for index, clause in enumerate(merge.of(Kind.NOT_MATCHED))
        if clause.generated_ids
        for candidate in effects.applied(Kind.NOT_MATCHED, index)
    }
    has_images = change_data_feed and path in (MergePath.D, MergePath.E)
    return GeneratedIds(
        columns=columns,
        rows=tuple(row for sid, row in effects.inserted.items() if sid in sids),
        written=(
            *(row for sid, row in effects.inserted.items() if sid not in sids),
            *effects.updated.values(),
            *copied,
        ),
        old_images=tuple(effects.old[rid] for rid in (*effects.updated, *effects.deleted)) if has_images else (),
    )
