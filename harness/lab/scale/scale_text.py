"""The report of a scale case as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.report.document import check_name
from mergecheck.harness.report.render import statement_lines
from mergecheck.harness.verdict import Check, Verdict

if TYPE_CHECKING:
    from mergecheck.harness.lab.scale.scale_run import ScaleReport

_GIB = 2**30
_GB = 10**9


def report_lines(report: ScaleReport) -> list[str]:
    """Return the report on one case for a person."""
    judged, judgement, tables = report.judged, report.judged.judgement, report.tables
    rows = f"{tables.target_rows:,} + {tables.source_rows:,} rows in {report.spec.files} files"
    verdict = judgement.verdict.value.upper().replace("_", " ")
    lines = [
        f"{verdict}  {report.spec.shape}  {rows}   engine {report.engine} {report.engine_version}   reference duckdb"
    ]
    lines += [f"  {line}" for line in statement_lines(report.spec.statement)]
    if judgement.reason:
        lines.append(f"  not judged: {judgement.reason}")
    if judgement.checked:
        compared = ", ".join(f"{check_name(Check(name))} {number:,}" for name, number in judgement.checked.items())
        lines.append(f"  compared   {compared}, and the invariants")
    if judgement.counts:
        lines.append(f"  merge      path {judgement.path}; {_counts(dict(judgement.counts))}")
    lines += [f"  not checked: {name} ({why})" for name, why in (judgement.unchecked or {}).items()]
    for mismatch in judgement.mismatches:
        label = f"  {check_name(mismatch.check):<11}"
        lines += [f"{label if i == 0 else '':<13}{line}" for i, line in enumerate(mismatch.lines)]
    lines += _reduced(report)
    lines.append(f"  seconds    {'  '.join(f'{name} {seconds:.1f}' for name, seconds in report.seconds.items())}")
    peak = "unknown" if judged.peak_bytes is None else f"{judged.peak_bytes / _GIB:.2f} GiB"
    lines.append(
        f"  memory     {peak} at most in reference and comparison, of "
        f"{report.memory_bytes / _GIB:.1f}; on disk {tables.num_bytes / _GB:.2f} GB before the merge, "
        f"{report.disk_bytes / _GB:.2f} GB after it"
    )
    return lines


def _counts(counts: dict[str, int]) -> str:
    shown = {
        "inserted": counts["inserted"],
        "updated": counts["matched_updated"] + counts["by_source_updated"],
        "deleted": counts["matched_deleted"] + counts["by_source_deleted"],
    }
    changed = ", ".join(f"{name} {number:,}" for name, number in shown.items())
    return f"{changed}; touched {counts['touched_files']:,} files with {counts['touched_rows']:,} rows"


def _reduced(report: ScaleReport) -> list[str]:
    lines = [] if report.spec_path is None else [f"  run again  mergecheck lab scale {report.spec_path}"]
    reduction = report.reduction
    if reduction is None:
        return lines
    if reduction.path is None or reduction.report is None:
        return [*lines, f"  no small case shows a mismatch ({reduction.num_tried} tried)"]
    size = " + ".join(map(str, num_rows(reduction.report.case)))
    first = " + ".join(map(str, reduction.from_rows))
    return [*lines, f"  reduced    to {size} rows, from {first}: mergecheck replay {reduction.path}"]


def report_json(report: ScaleReport) -> dict[str, Any]:
    """Return the report on one case as JSON."""
    judgement, reduction = report.judged.judgement, report.reduction
    return {
        "spec": asdict(report.spec),
        "engine": report.engine,
        "engine_version": report.engine_version,
        "verdict": judgement.verdict.value,
        "reason": judgement.reason,
        "rows": {"target": report.tables.target_rows, "source": report.tables.source_rows},
        "compared": dict(judgement.checked or {}),
        "not_checked": dict(judgement.unchecked or {}),
        "path": judgement.path,
        "counts": dict(judgement.counts or {}),
        "metrics": dict(judgement.reported or {}),
        "mismatches": [
            {"check": m.check.value, "against": m.against, "kind": m.kind, "lines": list(m.lines)}
            for m in judgement.mismatches
        ],
        "finding": None if reduction is None or reduction.path is None else str(reduction.path),
        "seconds": dict(report.seconds),
        "peak_bytes": report.judged.peak_bytes,
        "memory_limit_bytes": report.memory_bytes,
        "disk_bytes": {"before": report.tables.num_bytes, "after": report.disk_bytes},
    }


def summary_line(verdicts: list[Verdict]) -> str:
    """Count the verdicts of a run."""
    counted = [(verdict.value.replace("_", " "), verdicts.count(verdict)) for verdict in Verdict]
    return "  ".join(f"{name} {number}" for name, number in counted if number)
