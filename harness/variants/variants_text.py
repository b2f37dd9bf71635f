"""Texts of a run of variants: the report of a difference, the table of a run, the list of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.mismatch import difference_lines
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.specification.citations import titled
from mergecheck.harness.variants.axes.axis import Axis
from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES, BASE_NAMES
from mergecheck.harness.variants.judge import Ending
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.variants.axes.axis import AxisValue
    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.finding import VariantFinding

_MAX_LINES = 10


def finding_report(finding: VariantFinding, *, path: Path) -> str:
    """Write the report of a difference: the axes that flip the outcome, the case, what differs, how to see it again."""
    report = finding.report
    lines = [f"MISMATCH  {finding.fingerprint}   case {printable(report.case.id)}", ""]
    if finding.variant is None:
        lines.append("  the base itself differs from the reference; no variant was held against it")
    else:
        lines += [f"  {line}" for line in finding.variant.lines()]
        if finding.found_with is not None and finding.found_with.name != finding.variant.name:
            lines.append(f"  found with {finding.found_with.name}")
        lines += [f"  gone with {setting}" for setting in finding.mended_by]
    lines += ["", *_shown(table_lines(report.case)), *_shown(settings_lines(report.case))]
    lines += [
        "",
        *_shown(statement_lines(report.case.sql)),
        "",
        *_shown(difference_lines(case_document(report).differences, max_lines=_MAX_LINES)),
    ]
    return "\n".join([*lines, "", f"  Reproduce:   {finding.command(path)}"])


def _shown(lines: list[str]) -> list[str]:
    more = [f"... {counted(len(lines) - _MAX_LINES, 'more line')} in the case file"] if len(lines) > _MAX_LINES else []
    return [f"  {line}" for line in [*lines[:_MAX_LINES], *more]]


def rows_of(counts: Counts) -> list[tuple[str, ...]]:
    """Return a row for each place that was tried or passed over."""
    return [
        (str(axis_value), *(str(number) for number in _numbers(counts, axis_value)))
        for axis_value in counts.tried()
        if str(axis_value) in counts.axis_values
    ]


COLUMNS = ("variant", "cases", "equal", "exempt", "known", "different", "unsupported", "plan seen")


def _numbers(counts: Counts, axis_value: AxisValue) -> tuple[object, ...]:
    found = counts.of(axis_value)
    endings = found.endings
    return (
        found.num_judged,
        endings[Ending.EQUAL],
        endings[Ending.EXEMPT],
        endings[Ending.KNOWN],
        endings[Ending.DIFFERENT],
        found.num_outside + endings[Ending.UNSUPPORTED],
        found.num_seen if axis_value.plan else "-",
    )


def summary_lines(counts: Counts, *, required: Sequence[str]) -> list[str]:
    """Summarise a run: the denominators, the exceptions used, the plans, and the operators that were never executed."""
    endings = ", ".join(f"{ending.value.replace('_', ' ')} {counts.endings[ending]}" for ending in Ending)
    bases = ", ".join(f"{verdict.value.replace('_', ' ')} {number}" for verdict, number in counts.bases.most_common())
    seen = ", ".join(f"{name} {number}" for name, number in counts.operators.most_common() if "Join" in name)
    batched = [f"{counts.num_batched} pairs of tables in batches, each batch one case"] if counts.num_batched else []
    lines = [
        f"{counts.num_cases} cases ({bases}) under {counts.num_variants} variants in {counts.seconds:.0f} s: {endings}",
        *batched,
        f"{len(counts.pairs)} pairs of places on two axes, {len(counts.plans)} different plans",
        f"runs by join: {seen or 'none'}",
    ]
    if counts.rules:
        lines.append("exceptions used:")
        lines += [f"  {n:>4}  {titled([rule])}" for rule, n in counts.rules.most_common()]
    lines += [f"  {number:>4}  {reason}" for reason, number in counts.reasons.most_common()]
    if counts.num_flaky:
        lines.append(f"{counts.num_flaky} differences did not come back at a second execution")
    lines += [
        f"inconclusive: {unseen} ran {counts.of(unseen).num_judged} times, no plan showed {' or '.join(unseen.plan)}"
        for unseen in counts.unseen()
    ]
    lines += [f"inconclusive: no plan of the run showed {name} (--require-plan)" for name in counts.missing(required)]
    return lines


def list_lines() -> list[str]:
    """List the axes with all their places."""
    lines: list[str] = []
    for axis in Axis:
        lines.append(f"{axis.value}  (base: {BASE_NAMES[axis]})")
        if axis is Axis.PLUGIN:
            lines.append("  --variant comet, or any other by --spark-conf and --proof (docs/variants.md)")
        for axis_value in AXIS_VALUES:
            if axis_value.axis is not axis:
                continue
            lines.append(f"  {axis_value}  {axis_value.sentence}")
            details = [f"for: {axis_value.domain}"]
            for exemption in axis_value.exemptions:
                parts = sorted(exemption.metrics | exemption.observables | exemption.errors)
                details.append(f"may change ({titled(exemption.rules)}): {', '.join(parts)}")
            if axis_value.needs:
                details.append("brings: " + ", ".join(f"{needed.value}={place}" for needed, place in axis_value.needs))
            if axis_value.plan:
                details.append(f"plan: {' or '.join(axis_value.plan)}")
            lines += [f"      {detail}" for detail in details]
    return lines


def axis_values_json() -> list[dict[str, Any]]:
    """Return the list for a program."""
    return [
        {
            "name": str(axis_value),
            "axis": axis_value.axis.value,
            "base": BASE_NAMES[axis_value.axis],
            "sentence": axis_value.sentence,
            "domain": axis_value.domain,
            "settings": dict(axis_value.settings),
            "needs": [f"{axis.value}={place}" for axis, place in axis_value.needs],
            "plan": list(axis_value.plan),
            "may_change": [
                {
                    "rules": list(exemption.rules),
                    "what": sorted(exemption.metrics | exemption.observables | exemption.errors),
                }
                for exemption in axis_value.exemptions
            ],
        }
        for axis_value in AXIS_VALUES
    ]


def run_document(counts: Counts, found: Sequence[VariantFinding], *, required: Sequence[str]) -> dict[str, Any]:
    """Return a run for a program."""
    return {
        "num_cases": counts.num_cases,
        "num_batched": counts.num_batched,
        "num_variants": counts.num_variants,
        "seconds": round(counts.seconds, 1),
        "bases": {verdict.value: number for verdict, number in counts.bases.items()},
        "endings": {ending.value: counts.endings[ending] for ending in Ending},
        "rules": dict(counts.rules),
        "variants": [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(counts)],
        "num_plans": len(counts.plans),
        "num_pairs": len(counts.pairs),
        "operators": dict(counts.operators),
        "unsupported": dict(counts.reasons),
        "not_executed": [str(axis_value) for axis_value in counts.unseen()],
        "required_missing": list(counts.missing(required)),
        "num_flaky": counts.num_flaky,
        "findings": [
            {
                "id": finding.report.case.id,
                "path": None if finding.path is None else str(finding.path),
                "fingerprint": str(finding.fingerprint),
                "variant": None if finding.variant is None else finding.variant.name,
                "axes": []
                if finding.variant is None
                else [axis_value.axis.value for axis_value in finding.variant.axis_values],
                "mended_by": list(finding.mended_by),
                "mismatches": mismatches_json(finding.report.mismatches),
            }
            for finding in found
        ],
    }
