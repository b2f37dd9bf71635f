"""What a merge did to a real table: counts, the first changes, metrics and the verdict; never the whole table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.core.formatting import counted
from mergecheck.harness.report.explain import change_lines, metric_lines, schema_lines
from mergecheck.harness.report.json import metrics_json, mismatches_json
from mergecheck.harness.report.mismatch import difference_lines, headline
from mergecheck.harness.report.render import printable, statement_lines
from mergecheck.reference.case.case_file import change_schema
from mergecheck.reference.case.values import encode_row
from mergecheck.reference.outcome import Outcome, Rejection

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case, Row

MAX_CHANGES = 10
ROW_DIFFERENCE = "row difference"
CHANGE_FEED = "change data feed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed, as rows followed by ``_change_type``.

    Attributes:
        origin: the table's change data feed or, if the table records none, the difference of its rows before and
            after: ``removed`` and ``added``.
        counts: number of rows by change type.
        first: the first rows; of a difference in the order of their texts, as tables have no order of their own.
    """

    origin: str
    counts: dict[str, int]
    first: tuple[Row, ...]


def changes_of(case: Case, outcome: Outcome) -> Changes:
    """Read the changes off an outcome."""
    if outcome.cdf is not None:
        by_type = Counter(str(row[-1]) for row in outcome.cdf)
        return Changes(origin=CHANGE_FEED, counts=dict(by_type), first=outcome.cdf[:MAX_CHANGES])
    evolved = row_converter(case.target.schema, outcome.schema) or _as_it_is
    before, after = Counter(_Keyed(evolved(row)) for row in case.target.rows), Counter(map(_Keyed, outcome.rows))
    removed, added = before - after, after - before
    rows = [(*row, "removed") for row in sorted((keyed.row for keyed in removed.elements()), key=repr)]
    rows += [(*row, "added") for row in sorted((keyed.row for keyed in added.elements()), key=repr)]
    counts = {"removed": removed.total(), "added": added.total()}
    return Changes(origin=ROW_DIFFERENCE, counts=counts, first=tuple(rows[:MAX_CHANGES]))


def real_lines(report: CaseReport, *, target: Path, source: Path) -> list[str]:
    """Show the run for a person."""
    case = report.case
    num_source = len(case.source.rows) if case.source is not None else 0
    rows = counted(len(case.target.rows), "row")
    lines = [headline(report)]
    lines += [f"  {printable(report.reason)}"] if report.reason else []
    lines += [
        "",
        f"  target  {target}: {rows} in {counted(len(case.target.files), 'file')}; merged on a copy",
        f"  source  {source}: {counted(num_source, 'row')}",
        "",
        *(f"  {line}" for line in statement_lines(case.sql)),
        "",
    ]
    if isinstance(report.result, Rejection):
        lines += [f"rejected   {printable(report.result.error_class)}: {printable(report.result.message)}"]
    if isinstance(report.result, Outcome):
        lines += _outcome_lines(case, report.result)
    if report.mismatches:
        lines += ["differences", *(f"  {line}" for line in difference_lines(report))]
    return lines


def real_json(report: CaseReport) -> dict[str, Any]:
    """Write the run as JSON: like ``run --json``, with counts and the first changes in place of all rows."""
    outcome: dict[str, Any] | None = None
    if isinstance(report.result, Rejection):
        outcome = {"error": {"class": report.result.error_class, "message": report.result.message}}
    if isinstance(report.result, Outcome):
        changes, schema = changes_of(report.case, report.result), change_schema(report.result.schema)
        outcome = {
            "num_rows": len(report.result.rows),
            "schema": report.result.schema.ddl(),
            "metrics": metrics_json(report.result),
            "changes": {
                "origin": changes.origin,
                "counts": changes.counts,
                "first": [encode_row(row, schema) for row in changes.first],
            },
        }
    return {
        "id": report.case.id,
        "engine": report.engine,
        "engine_version": report.engine_version,
        "verdict": report.verdict.value,
        "outcome": outcome,
        "mismatches": mismatches_json(report.mismatches),
        "reason": report.reason,
    }


def _outcome_lines(case: Case, outcome: Outcome) -> list[str]:
    changes = changes_of(case, outcome)
    counts = ", ".join(f"{count} {name}" for name, count in changes.counts.items() if count) or "none"
    lines = [f"rows       {len(case.target.rows)} before, {len(outcome.rows)} after"]
    lines += [f"schema     {line}" for line in schema_lines(case.target.schema, outcome.schema)]
    lines += [f"changes    {counts} ({changes.origin})"]
    total = sum(changes.counts.values())
    if total:
        lines += [f"           {line}" for line in change_lines(changes.first, outcome.schema, total=total)]
    texts = metric_lines(outcome.metrics)
    return lines + [f"{'metrics' if i == 0 else '':<11}{text}" for i, text in enumerate(texts)]


def _as_it_is(row: Row) -> Row:
    return row


class _Keyed:
    """A row that counts as equal to one with the same spelling: NaN is NaN, 0.0 is not -0.0, TRUE is not 1."""

    __slots__ = ("_key", "row")

    def __init__(self, row: Row) -> None:
        self.row = row
        self._key = repr(row)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
