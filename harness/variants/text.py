"""What a run of variants says: the report of a difference, the table of a run, the list of what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.mismatch import difference_lines
from mergecheck.harness.report.render import settings_lines, statement_lines, table_lines
from mergecheck.harness.variants.axes import Axis
from mergecheck.harness.variants.choices import BASE_NAMES, CHOICES
from mergecheck.harness.variants.judge import Ending

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.variants.axes import Choice
    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.run import VariantFinding

_MAX_LINES = 10


def finding_report(finding: VariantFinding, *, path: Path) -> str:
    """Write the report of a difference: the axes that flip the outcome, the case, what differs, how to see it again."""
    report = finding.report
    lines = [f"MISMATCH  {finding.fingerprint}   case {report.case.id}", ""]
    if finding.variant is None:
        lines.append("  the base itself differs from the reference; no variant was held against it")
    else:
        lines += [f"  {line}" for line in finding.variant.lines()]
        if finding.found_with is not None and finding.found_with.name != finding.variant.name:
            lines.append(f"  found with {finding.found_with.name}")
    lines += ["", *_shown(table_lines(report.case)), *_shown(settings_lines(report.case))]
    lines += [
        "",
        *_shown(statement_lines(report.case.sql)),
        "",
        *_shown(difference_lines(report, max_lines=_MAX_LINES)),
    ]
    verb = "replay" if finding.variant is None else "variants"
    return "\n".join([*lines, "", f"  Reproduce:   mergecheck {verb} --engine {report.engine} {path}"])


def _shown(lines: list[str]) -> list[str]:
    more = [f"... {len(lines) - _MAX_LINES} more lines in the case file"] if len(lines) > _MAX_LINES else []
    return [f"  {line}" for line in [*lines[:_MAX_LINES], *more]]


def rows_of(counts: Counts) -> list[tuple[str, ...]]:
    """Return a row for each place that was tried or passed over."""
    return [
        (str(choice), *(str(number) for number in _numbers(counts, choice)))
        for choice in CHOICES
        if str(choice) in counts.choices
    ]


COLUMNS = ("variant", "cases", "equal", "exempt", "known", "different", "unsupported", "plan seen")


def _numbers(counts: Counts, choice: Choice) -> tuple[object, ...]:
    found = counts.of(choice)
    endings = found.endings
    return (
        found.num_judged,
        endings[Ending.EQUAL],
        endings[Ending.EXEMPT],
        endings[Ending.KNOWN],
        endings[Ending.DIFFERENT],
        found.num_outside + endings[Ending.UNSUPPORTED],
        found.num_seen if choice.plan else "-",
    )


def summary_lines(counts: Counts, *, required: Sequence[str]) -> list[str]:
    """Say what a run was worth: the denominators, the exceptions used, the plans, and what was never executed."""
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
        lines.append("exceptions used: " + ", ".join(f"{rule} {n}" for rule, n in counts.rules.most_common()))
    lines += [f"  {number:>4}  {reason}" for reason, number in counts.reasons.most_common()]
    if counts.num_flaky:
        lines.append(f"{counts.num_flaky} differences did not come back at a second execution")
    lines += [
        f"inconclusive: {choice} ran {counts.of(choice).num_judged} times, no plan showed {' or '.join(choice.plan)}"
        for choice in counts.unseen()
    ]
    lines += [f"inconclusive: no plan of the run showed {name} (--require-plan)" for name in counts.missing(required)]
    return lines


def list_lines() -> list[str]:
    """List the axes with all their places."""
    lines: list[str] = []
    for axis in Axis:
        lines.append(f"{axis.value}  (base: {BASE_NAMES[axis]})")
        for choice in CHOICES:
            if choice.axis is not axis:
                continue
            lines.append(f"  {choice}  {choice.sentence}")
            details = [f"for: {choice.domain}"]
            for exemption in choice.exemptions:
                parts = sorted(exemption.metrics | exemption.observables | exemption.errors)
                details.append(f"may change ({', '.join(exemption.rules)}): {', '.join(parts)}")
            if choice.needs:
                details.append("brings: " + ", ".join(f"{needed.value}={place}" for needed, place in choice.needs))
            if choice.plan:
                details.append(f"plan: {' or '.join(choice.plan)}")
            lines += [f"      {detail}" for detail in details]
    return lines


def choices_json() -> list[dict[str, Any]]:
    """Return the list for a program."""
    return [
        {
            "name": str(choice),
            "axis": choice.axis.value,
            "base": BASE_NAMES[choice.axis],
            "sentence": choice.sentence,
            "domain": choice.domain,
            "settings": dict(choice.settings),
            "needs": [f"{axis.value}={place}" for axis, place in choice.needs],
            "plan": list(choice.plan),
            "may_change": [
                {
                    "rules": list(exemption.rules),
                    "what": sorted(exemption.metrics | exemption.observables | exemption.errors),
                }
                for exemption in choice.exemptions
            ],
        }
        for choice in CHOICES
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
        "not_executed": [str(choice) for choice in counts.unseen()],
        "required_missing": list(counts.missing(required)),
        "num_flaky": counts.num_flaky,
        "findings": [
            {
                "id": finding.report.case.id,
                "path": None if finding.path is None else str(finding.path),
                "fingerprint": str(finding.fingerprint),
                "variant": None if finding.variant is None else finding.variant.name,
                "axes": [] if finding.variant is None else [choice.axis.value for choice in finding.variant.choices],
                "mismatches": mismatches_json(finding.report.mismatches),
            }
            for finding in found
        ],
    }
