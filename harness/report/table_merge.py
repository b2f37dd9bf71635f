"""A merge of the user's own tables: the report's texts in place of whole tables, and the commands to reproduce it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.report.document import commands_of
from mergecheck.harness.report.json import metrics_json, run_json
from mergecheck.harness.report.mismatch import command_lines
from mergecheck.harness.report.render import printable
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import counted
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.values import describe_row

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.model.case import Case, Row

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


def changes_of(case: Case, outcome: Outcome | Prediction) -> Changes:
    """Read the changes off an answer."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTables:
    """Tables of the user's own that a report is about; it shows counts and the first changes, never the whole tables.

    Attributes:
        target: as it was given. source: the same.
        command: what checks this merge again.
        saved: the case file that holds both tables; None if there is none.
    """

    target: Path
    source: Path
    command: str
    saved: Path | None = None

    def lines(self, case: Case) -> list[str]:
        """Show how large the tables are, and where."""
        num_source = len(case.source.rows) if case.source is not None else 0
        rows = f"{counted(len(case.target.rows), 'row')} in {counted(len(case.target.files), 'file')}"
        return [
            f"target  {printable(str(self.target))}: {rows}; merged on a copy",
            f"source  {printable(str(self.source))}: {counted(num_source, 'row')}",
        ]

    def reproduce_lines(self, document: CaseDocument) -> list[str]:
        """Return the commands that check the merge again, and that keep it as a case."""
        if self.saved is not None:
            return command_lines(commands_of(document.checked, str(self.saved)))
        return [f"Reproduce:   {self.command}", "As a case:   the same with --save CASE.json, which holds all rows"]


def own_table_json(shown: CaseDocument, tables: OwnTables) -> dict[str, Any]:
    """Write the run as ``run --json`` does, with counts and the first changes in place of all rows."""
    report, document = shown.checked, run_json(shown)
    for key, answer in (("outcome", report.result), ("reference", report.reference.answer)):
        if isinstance(answer, Outcome | Prediction):
            document[key] = _answer_json(report.case, answer)
    if isinstance(report.reference.alternative, Prediction):
        document["reference_alternative"] = _answer_json(report.case, report.reference.alternative)
    return document | {"reproduce": tables.command, "saved": None if tables.saved is None else str(tables.saved)}


def _answer_json(case: Case, answer: Outcome | Prediction) -> dict[str, Any]:
    changes, schema = changes_of(case, answer), change_schema(answer.schema)
    return {
        "num_rows": len(answer.rows),
        "schema": answer.schema.ddl(),
        "metrics": metrics_json(answer),
        "changes": {
            "origin": changes.origin,
            "counts": changes.counts,
            "first": [describe_row(row, schema) for row in changes.first],
        },
    }


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
