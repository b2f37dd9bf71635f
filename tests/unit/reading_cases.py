"""Answers that are held against the reference, right ones and such with something wrong in them; readings read them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.judged import Judged
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Outcome, Rejection
from mergecheck.reference import evaluate
from mergecheck.reference.dialects import DELTA, Dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.case import Case, Row

MERGE = "MERGE INTO target t USING source s ON"
UPSERT = f"{MERGE} t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
WITH_NAN = {
    "target": {
        "schema": "id DOUBLE, v INT",
        "files": [[["NaN", 1], [0.0, 2]]],
        "properties": {"delta.enableDeletionVectors": "true"},
    },
    "source": {"schema": "id DOUBLE, v INT", "rows": [["NaN", 1], [0.0, 2]]},
}
NAN_FOUND = f"{MERGE} t.id <=> s.id WHEN MATCHED AND t.id > 5 THEN UPDATE SET v = 9"


def case_of(sql: str = UPSERT, **changes: Any) -> Case:
    document = {
        "format_version": 1,
        "id": "c",
        "target": {"schema": "id INT, v INT", "files": [[[1, 1], [2, 2]]]},
        "source": {"schema": "id INT, v INT", "rows": [[1, 5], [3, 6]]},
        "sql": sql,
        **changes,
    }
    return case_from_json(document, where="test")


def judged_case(case: Case, dialect: Dialect = DELTA, **wrong: Any) -> Judged:
    """Hold the reference's own answer, with something wrong in it, against the reference."""
    reference = evaluate(case, dialect=dialect)
    result = answered(reference.answer)
    assert isinstance(result, Outcome | Rejection)
    if isinstance(result, Outcome):
        copied, updated = result.metrics["numTargetRowsCopied"], result.metrics["numTargetRowsUpdated"]
        counts = {
            "num_records_added": result.metrics["numOutputRows"],
            "num_records_removed": copied + updated + result.metrics["numTargetRowsDeleted"],
        }
        shown = {name: getattr(result, name) for name in ("schema", "rows", "metrics", "cdf", "committed", "path")}
        result = TableOutcome(**{**shown, **counts, **wrong})
    return Judged(given=case, case=case, reference=reference, result=result)


def with_copies(found: TableOutcome, copies: Sequence[Row]) -> TableOutcome:
    """Add copies of rows to an answer, and to what counts them."""
    number = len(copies)
    counting = ("numTargetRowsCopied", "numOutputRows")
    return replace(
        found,
        rows=(*found.rows, *copies),
        metrics={name: value + number * (name in counting) for name, value in found.metrics.items()},
        num_records_added=found.num_records_added + number,
    )


def with_old_row(right: Judged, row: int, num_vectors: int = 0) -> Judged:
    """Let an old row stay in the table, by its place there, and no file be marked but so many."""
    found = right.result
    assert isinstance(found, TableOutcome)
    wrong = replace(
        found,
        rows=(*found.rows, right.case.target.rows[row]),
        metrics={**found.metrics, "numTargetDeletionVectorsAdded": num_vectors},
        num_records_removed=0,
    )
    return replace(right, result=wrong)
