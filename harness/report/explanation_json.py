"""The explanation of a case as JSON-ready data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.explanation.dialect_change import dialect_end
from mergecheck.harness.explanation.row_stories import row_stories
from mergecheck.harness.report.file_lines import work_json
from mergecheck.model.outcome import Prediction
from mergecheck.model.values import encode_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.explanation.dialect_change import DialectEnd
    from mergecheck.harness.explanation.row_stories import RowStory
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference


def explanation_json(shown: CaseDocument, *, with_pairs: bool, by_dialect: Sequence[Reference] = ()) -> dict[str, Any]:
    """Write an explanation as ``explain --json`` gives it.

    Args:
        shown: the case, with a report if an engine ran it.
        with_pairs: also write the value of ON for every pair of rows that the trace has.
        by_dialect: the case under one dialect, or under two.
    """
    case, reference = shown.case, shown.reference
    answer, trace = reference.answer, reference.trace
    document: dict[str, Any] = {
        "id": case.id,
        "rows": [_story(case, reference, story) for story in row_stories(case, reference)],
        "touched_files": None if trace.touched is None else sorted(number + 1 for number in trace.touched),
        "path": answer.path.value if isinstance(answer, Prediction) else None,
    }
    document["work"] = work_json(shown)
    if not isinstance(answer, Prediction):
        document["reason"] = getattr(answer, "error_class", None) or getattr(answer, "reason", None)
    if with_pairs and trace.matches is not None and trace.matches.on_values is not None:
        document["pairs"] = [
            {"target": rid + 1, "source": sid + 1, "on": value}
            for (sid, rid), value in sorted(trace.matches.on_values.items(), key=lambda item: item[0][::-1])
        ]
    if by_dialect:
        document["dialects"] = [_dialect(dialect_end(one)) for one in by_dialect]
    if shown.report is not None:
        report = shown.report
        document |= {"engine": report.engine, "verdict": report.verdict.value, "hypotheses": list(shown.hypotheses)}
    return document


def _dialect(end: DialectEnd) -> dict[str, Any]:
    rows = [{"number": rid + 1, "end": text} for rid, text in end.rows.items()]
    return {"dialect": end.dialect, "end": end.text, "fails": end.fails, "rows_with_several_matches": rows}


def _story(case: Case, reference: Reference, story: RowStory) -> dict[str, Any]:
    trace = reference.trace
    before = case.target.schema if story.table == "target" or trace.source is None else trace.source.schema
    final = before if trace.merge is None else trace.merge.final_schema
    return {
        "table": story.table,
        "number": story.number,
        "row": encode_row(story.row, before),
        "matched_by": list(story.partners),
        "on_is_null_with": None if story.null_partners is None else list(story.null_partners),
        "tried": [
            {
                "source": unit.partner,
                "applied": unit.applied,
                "clauses": [
                    {
                        "clause": tried.clause,
                        "condition": tried.condition,
                        "value": tried.value,
                        "columns": dict(tried.columns),
                    }
                    for tried in unit.tried
                ],
            }
            for unit in story.units
        ],
        "became": story.outcome.value,
        "after": None if story.after is None else encode_row(story.after, final),
    }
