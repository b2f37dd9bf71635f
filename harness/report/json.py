"""Reports and summaries as JSON-ready data: the contract that scripts rely on."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.findings.finding_status import FindingStatus
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.properties.case_space import possible_pairs
from mergecheck.harness.properties.phases import phases_json
from mergecheck.harness.properties.statistics import SeenWork, Stop
from mergecheck.harness.report.file_lines import seen_work_json, work_json
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.model.values import describe_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.harness.findings.finding_status import FindingChange
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.report.baseline import SavedRun
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.harness.verdict import CaseReport, Mismatch
    from mergecheck.model.outcome import Bound, Unsupported


def run_json(shown: CaseDocument) -> dict[str, Any]:
    """Write one case's report as ``run --json`` gives it."""
    report = shown.checked
    document: dict[str, Any] = {
        "id": report.case.id,
        "engine": report.engine,
        "engine_version": report.engine_version,
        "verdict": report.verdict.value,
        "outcome": answer_json(report.result),
        "reference": answer_json(report.reference.answer),
        "mismatches": mismatches_json(report.mismatches),
    }
    if report.reference.alternative is not None:
        document["reference_alternative"] = answer_json(report.reference.alternative)
    return document | {"work": work_json(shown)} | _remarks(report)


def replay_json(
    replayed: Sequence[tuple[CaseReport, FindingChange | None, Path]],
    unreadable: Sequence[str],
    *,
    num_left: int = 0,
    baseline: SavedRun | None = None,
) -> dict[str, Any]:
    """Write the reports of saved cases as ``replay --json`` gives them.

    Args:
        replayed: the check of each case, what became of the finding (None if the case is none), and its file.
        unreadable: a message for each case that was not read or not run.
        num_left: cases that the run did not come to, because it was interrupted.
        baseline: the run with the known failures.
    """
    reports = [report for report, _, _ in replayed]
    counts = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    for report in reports:
        counts[report.verdict.value] += not report.deviations  # known deviations have their own count, "deviating"
    cases = [
        {"id": report.case.id, "verdict": report.verdict.value, "mismatches": mismatches_json(report.mismatches)}
        | _remarks(report)
        | ({} if report.work is None else {"work": asdict(report.work)})
        | ({} if compared is None else {"finding": comparison_json(compared)})
        | ({} if (found := fingerprint(report)) is None else {"fingerprint": str(found)})
        | ({} if baseline is None or (word := baseline.word(report)) is None else {"baseline": word.value})
        | {"path": str(path)}
        for report, compared, path in replayed
    ]
    findings = Counter(compared.status for _, compared, _ in replayed if compared is not None)
    reached = Counter(rule for report in reports if report.is_judged for rule in report.facts.rules)
    return {
        "complete": not num_left,
        "num_left": num_left,
        "counts": counts,
        "unsupported": dict(reasons_of(reports, Verdict.UNSUPPORTED)),
        "judged_in_part": dict(reasons_of(reports, Verdict.JUDGED_IN_PART)),
        "rejected": dict(rejection_classes(reports)),
        "deviations": dict(Counter(deviation for report in reports for deviation in report.deviations)),
        "deviating": sum(bool(report.deviations) for report in reports),
        "not_checked": dict(checks_not_made(reports)),
        "expressions_by_spark": num_by_spark(reports),
        "partly_judged": num_partly(reports),
        "work": seen_work_json(work_of_reports(reports)),
        "rules": dict(sorted(reached.items())),
        "findings": {status.value: findings[status] for status in FindingStatus if findings[status]},
        "cases": cases,
        "unreadable": list(unreadable),
    }


def comparison_json(compared: FindingChange) -> dict[str, Any]:
    """Write what became of a finding."""
    return {
        "status": compared.status.value,
        "checks": {check.value: status.value for check, status in compared.checks.items()},
        **({"reasons": {check.value: text for check, text in compared.reasons.items()}} if compared.reasons else {}),
    }


def reasons_of(reports: Sequence[CaseReport], verdict: Verdict) -> Counter[str]:
    """Count the cases of a verdict by its reason."""
    return Counter(report.reason for report in reports if report.verdict is verdict)


def rejection_classes(reports: Sequence[CaseReport]) -> Counter[str]:
    """Count the cases that both sides reject, by the engine's error class."""
    rejected = [report.result for report in reports if report.verdict is Verdict.BOTH_REJECTED]
    return Counter(result.error_class for result in rejected if isinstance(result, Rejection))


def num_by_spark(reports: Sequence[CaseReport]) -> int:
    """Count the judged cases in which Spark evaluated an expression or the source query for the reference."""
    return sum(report.is_judged and bool(report.reference.asked) for report in reports)


def num_partly(reports: Sequence[CaseReport]) -> int:
    """Count the judged cases with values that cannot be predicted, and of which only the form is judged."""
    return sum(report.is_judged and bool(report.unknown_columns) for report in reports)


def work_of_reports(reports: Sequence[CaseReport]) -> SeenWork:
    """Add the work of all merges whose rows are right."""
    return functools.reduce(SeenWork.plus, reports, SeenWork())


def checks_not_made(reports: Sequence[CaseReport]) -> Counter[str]:
    """Count cases by the check that was not made, or not in full, because the engine lacks the capability."""
    return Counter(check.value for report in reports for check in report.unsupported_checks)


def summary_json(summary: Summary) -> dict[str, Any]:
    """Write a run's summary as ``fuzz --json`` gives it."""
    counts, space = summary.counts, summary.counts.space
    return {
        "seed": summary.seed,
        "batch_size": summary.batch_size,
        "stop": summary.stop.value,
        "complete": summary.stop not in {Stop.INTERRUPTED, Stop.ENGINE_DOWN},
        "seconds": round(summary.seconds, 3),
        "phase_seconds": phases_json(counts.phase_seconds),
        "num_cases": counts.num_cases,
        "num_repeated": counts.num_repeated,
        "verified": counts.num_verified,
        "verified_share": round(counts.verified_share, 4),
        "changed_share": round(counts.changed_share, 4),
        "counts": {
            **{verdict.value: counts.verdicts[verdict] for verdict in Verdict},
            Verdict.MISMATCH.value: counts.verdicts[Verdict.MISMATCH] - counts.num_deviating,
        },
        "flaky": counts.num_flaky,
        "expressions_by_spark": counts.num_by_spark,
        "partly_judged": counts.num_partly,
        "unsupported": dict(counts.unsupported),
        "judged_in_part": dict(counts.in_part),
        "rejected": dict(counts.rejected),
        "deviations": dict(counts.deviations),
        "deviating": counts.num_deviating,
        "deviating_share": round(counts.deviating_share, 4),
        "not_checked": dict(counts.not_checked),
        "not_checked_metrics": dict(counts.not_checked_metrics),
        "merges": counts.num_merges,
        "work": seen_work_json(counts.work),
        "engine_paths": dict(counts.engine_paths),
        "multi_matched": counts.num_multi_matched,
        "clauses_present": {" ".join(key): n for key, n in sorted(counts.clauses_present.items())},
        "clauses_fired": {" ".join(key): n for key, n in sorted(counts.clauses_fired.items())},
        "rules": dict(sorted(counts.rules.items())),
        "idle": counts.num_idle,
        "table_pairs": counts.num_pairs,
        "batches": counts.num_batches,
        "batched": counts.num_batched,
        "failing_pairs": counts.num_failing_pairs,
        "pairs_left_out": counts.num_pairs_left_out,
        "passed_over": counts.num_passed_over,
        "cells": len(space.cells),
        "pairs": {" and ".join(pair): n for pair, n in sorted(space.pairs.items())},
        "pairs_missing": [" and ".join(pair) for pair in possible_pairs() if pair not in space.pairs],
        "paths": {path.value: n for path, n in sorted(counts.paths.items(), key=lambda item: item[0].value)},
    }


def mismatches_json(mismatches: Sequence[Mismatch]) -> list[dict[str, Any]]:
    """Write mismatches."""
    return [{"check": m.check.value, "against": m.against, "kind": m.kind, "lines": list(m.lines)} for m in mismatches]


def answer_json(answer: Outcome | Prediction | Rejection | Unsupported | None) -> dict[str, Any] | None:
    """Return the answer of an engine or the reference to a case; null without an answer."""
    if isinstance(answer, Rejection):
        error: dict[str, Any] = {"class": answer.error_class, "message": answer.message}
        if answer.other_classes:
            error["other_classes"] = sorted(answer.other_classes)
        return {"error": error}
    if not isinstance(answer, Outcome | Prediction):
        return None
    document = {
        "rows": describe_rows(answer.rows, answer.schema),
        "schema": answer.schema.ddl(),
        "metrics": metrics_json(answer),
        "cdf": None if answer.cdf is None else describe_rows(answer.cdf, change_schema(answer.schema)),
        "committed": answer.committed,
        "path": answer.path.value if answer.path is not None else None,
        "result_row": None if answer.result_row is None else dict(answer.result_row),
    }
    if isinstance(answer, Prediction):
        return document | {"commit_info": None if answer.commit_info is None else dict(answer.commit_info)}
    return document | {"table": table_json(answer) if isinstance(answer, TableOutcome) else None}


def table_json(outcome: TableOutcome) -> dict[str, Any]:
    """Return the content of the table's files and log."""
    return {
        "num_records_added": outcome.num_records_added,
        "num_records_removed": outcome.num_records_removed,
        "num_files_added": outcome.num_files_added,
        "members_not_null": list(outcome.members_not_null),
        "file_faults": list(outcome.file_faults),
        "log": None if outcome.record is None else _record(outcome.record),
    }


def _record(record: CommitRecord) -> dict[str, Any]:
    return {
        "read_version": record.read_version,
        "num_commits": record.num_commits,
        "actions": [
            {"kind": action.kind, "size": action.size, "data_change": action.data_change}
            | ({"again": True} if action.again else {})
            for action in record.actions
        ],
        "commit_info": dict(record.info),
        "timestamp_before": record.timestamp_before,
        "definition_before": dict(record.definition_before),
        "definition": dict(record.definition),
        "added_columns": sorted(record.added_columns),
    }


def metrics_json(answer: Outcome | Prediction) -> dict[str, Any]:
    """Write metrics; a bound that leaves room is an object with ``low`` and ``high``."""
    if isinstance(answer, Outcome):
        return dict(answer.metrics)
    return {name: _bound(bound) for name, bound in answer.metrics.items()}


def _bound(bound: Bound) -> int | dict[str, int | None]:
    return bound.low if bound.exact else {"low": bound.low, "high": bound.high}


def _remarks(report: CaseReport) -> dict[str, Any]:
    remarks: dict[str, Any] = {"reason": report.reason} if report.reason else {}
    if report.unknown_columns:
        remarks["unknown_columns"] = list(report.unknown_columns)
    if report.reference.asked:
        remarks["expressions_by_spark"] = list(report.reference.asked)
    if report.deviations:
        remarks["deviation"] = list(report.deviations)
    if report.unsupported_checks:
        remarks["unsupported_checks"] = [check.value for check in report.unsupported_checks]
    if report.unsupported_metrics:
        remarks["unsupported_metrics"] = list(report.unsupported_metrics)
    if report.unsupported_reasons:
        remarks["unsupported_reasons"] = dict(report.unsupported_reasons)
    return remarks
