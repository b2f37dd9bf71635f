"""The repair of a merge that loses a row where the numbers of a row and of a source row collide."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.log_invariants.identity_invariants import identity_without, settle_ids
from mergecheck.harness.compare.rows import rows_without
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.row_sides import sides_of
from mergecheck.model.outcome import Bound
from mergecheck.reference.evaluation.written_rows import num_partition_tuples
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from mergecheck.model.case import Row
    from mergecheck.model.outcome import Prediction
    from mergecheck.model.types.data_types import Schema


def _colliding_rows_lost(now: Judged) -> Judged | None:
    """Of a written row of the table and an unmatched source row with the same number one is lost, though counted.

    A source row that is not inserted may take a row of the table with it.
    """
    sides = sides_of(now)
    if sides is None or not isinstance(sides.found, TableOutcome) or sides.trace.touched is None:
        return None
    found, trace = sides.found, sides.trace
    wanted = settle_ids(sides.wanted, found).prediction
    touched = sides.trace.touched
    effects = sides.effects
    of_table = [row for rid, row in effects.unchanged.items() if trace.files[rid] in touched]
    of_table += effects.updated.values()
    num_unmatched = len(effects.candidates[Kind.NOT_MATCHED])

    def counted(rows: Iterable[Row]) -> Counter[Hashable]:
        return Counter(row_identity(row, wanted.schema) for row in rows)

    missing = counted(wanted.rows) - counted(found.rows)
    num_lost = missing.total()
    if not 0 < num_lost <= min(len(of_table), num_unmatched) or missing - counted(
        [*of_table, *effects.inserted.values()]
    ):
        return None
    lost = tuple(_first_of(wanted.rows, missing, wanted.schema))
    lost = _with_ids_of_the_feed(lost, found, wanted)
    repaired = replace(found, rows=(*found.rows, *lost), num_records_added=found.num_records_added + num_lost)
    now = replace(now, result=repaired)
    files = wanted.metrics["numTargetFilesAdded"]
    metrics = {}
    if not found.num_records_added:
        metrics = dict.fromkeys(("numTargetFilesAdded", "numTargetBytesAdded"), Bound(0, 0))
    elif now.given.target.partition_by and files.high is not None:  # a file per partition
        written = rows_without([*of_table, *effects.inserted.values()], lost, wanted.schema)
        metrics = {"numTargetFilesAdded": num_partition_tuples(written, now.given.target)}
    answer = replace(sides.wanted, metrics={**wanted.metrics, **metrics})
    return replace(now, reference=replace(now.reference, answer=answer))


def _with_ids_of_the_feed(lost: tuple[Row, ...], found: TableOutcome, wanted: Prediction) -> tuple[Row, ...]:
    """Give lost rows the values that were generated for them: they are in the feed, if not in the table."""
    ids, schema = wanted.generated_ids, wanted.schema
    if ids is None or not found.cdf:
        return lost
    inserted = rows_without([row[:-1] for row in found.cdf if row[-1] == "insert"], found.rows, schema)
    known = {identity_without(row, ids.columns, schema): row for row in inserted}
    return tuple(known.get(identity_without(row, ids.columns, schema), row) for row in lost)


def _first_of(rows: Sequence[Row], missing: Counter[Hashable], schema: Schema) -> Iterator[Row]:
    left = missing.copy()
    for row in rows:
        key = row_identity(row, schema)
        if left[key] > 0:
            left[key] -= 1
            yield row


BUG_MODELS = (
    BugModel(
        name="of a row of the table and an unmatched source row one may be lost",
        phase=Phase.REPAIR,
        apply=_colliding_rows_lost,
    ),
)
