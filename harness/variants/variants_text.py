"""Texts of a run of variants: the report of a difference, the table of a run, the list of axes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.report.document import Command, case_document, shrink_on
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.specification.citations import titled
from mergecheck.harness.variants.judge import DECLARED, Ending
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.variants.counts import Counts
    from mergecheck.harness.variants.finding import VariantFinding
    from mergecheck.harness.variants.variant import EngineAxes
    from mergecheck.model.axis import MayChange, Transformation


def finding_report(finding: VariantFinding, *, path: Path) -> str:
    """Write the report of a difference: the axes that flip the outcome, then all that the report of a mismatch has."""
    lines = [str(finding.fingerprint)]
    if finding.variant is None:
        lines.append("the base itself differs from the reference; no variant was compared with it")
    else:
        lines += finding.variant.lines()
        if finding.found_with is not None and finding.found_with.name != finding.variant.name:
            lines.append(f"found with {finding.found_with.name}")
        lines += [f"gone with {setting}" for setting in finding.mended_by]
    before, after = (f"{target} + {source}" for target, source in (finding.rows_before, num_rows(finding.report.case)))
    cut = ", cut short by its limit" if finding.cut_short else ""
    how = f"in {counted(finding.num_runs, 'run')}, {finding.seconds:.0f} s{cut}"
    lines.append(f"shrunk from {before} to {after} rows (target + source) {how}")
    document = case_document(finding.report, hypotheses=finding.hypotheses, where=path)
    again = Command(name="Reproduce", text=finding.command(path))
    more = (shrink_on(finding.report, str(path)),) if finding.cut_short else ()
    commands = (again, *document.commands[1:], *more)
    return mismatch_report(replace(document, under=tuple(lines), explained=finding.explained.case, commands=commands))


def rows_of(counts: Counts) -> list[tuple[str, ...]]:
    """Return a row for each place that was tried or passed over."""
    return [
        (str(value), *(str(number) for number in _numbers(counts, value)))
        for value in counts.axes.values
        if str(value) in counts.values
    ]


COLUMNS = ("variant", "cases", "equal", "exempt", "known", "different", "unsupported", "plan seen", "path switched")


def _numbers(counts: Counts, value: Transformation) -> tuple[object, ...]:
    found = counts.of(value)
    endings = found.endings
    return (
        found.num_judged,
        endings[Ending.EQUAL],
        endings[Ending.EXEMPT],
        endings[Ending.KNOWN],
        endings[Ending.DIFFERENT],
        found.num_outside + endings[Ending.UNSUPPORTED],
        found.num_seen if value.plan else "-",
        found.num_switched if value.paths else "-",
    )


def summary_lines(counts: Counts, *, verbose: bool = False) -> list[str]:
    """Summarise a run: the denominators and the paths; the exceptions used, plans and reasons only if ``verbose``."""
    endings = ", ".join(
        f"{ending.value.replace('_', ' ')} {counts.endings[ending]}"
        for ending in Ending
        if verbose or counts.endings[ending] or ending in (Ending.EQUAL, Ending.DIFFERENT)
    )
    bases = ", ".join(f"{verdict.value.replace('_', ' ')} {number}" for verdict, number in counts.bases.most_common())
    ran = f"{counted(counts.num_cases, 'case')} ({bases}) under {counted(counts.num_variants, 'variant')}"
    lines = [f"{ran} in {counts.seconds:.0f} s: {endings}"]
    if counts.num_batched:
        lines.append(
            f"{counts.num_batched} pairs of tables in batches, each batch one case; {counts.num_compared} comparisons "
            "of a pair with its base"
        )
    if verbose:
        lines.append(f"{len(counts.pairs)} pairs of values on two axes, {len(counts.plans)} different plans")
        if counts.operators:
            joins = ", ".join(f"{name} {number}" for name, number in counts.operators.most_common() if "Join" in name)
            lines.append(f"runs by join: {joins or 'none'}")
        if counts.rules:
            lines.append("exceptions used:")
            lines += [f"  {n:>4}  {by_rule(rule)}" for rule, n in counts.rules.most_common()]
        lines += [f"  {number:>4}  {reason}" for reason, number in counts.reasons.most_common()]
    return lines + path_lines(counts)


def doubt_lines(counts: Counts, *, required: Sequence[str] = (), required_paths: Sequence[str] = ()) -> list[str]:
    """List the gaps of a run: plans and paths that never ran, flaky differences, values that were left out."""
    lines = [
        f"inconclusive: {unseen} ran {counts.of(unseen).num_judged} times, no plan showed {' or '.join(unseen.plan)}"
        for unseen in counts.unseen()
    ]
    lines += [f"inconclusive: no plan of the run showed {name} (--require-plan)" for name in counts.missing(required)]
    lines += [
        f"inconclusive: no merge of the run took the path {name} (--require-path)"
        for name in counts.missing_paths(required_paths)
    ]
    if counts.num_flaky:
        lines.append(f"{counts.num_flaky} differences did not come back at a second execution")
    return [*lines, *unswitched_lines(counts), *undrawn_lines(counts), *excluded_lines(counts)]


def finding_lines(found: Sequence[VariantFinding]) -> list[str]:
    """Write a line for each finding: what it acts as if, the axes that cause it, and its file."""
    return [_finding_line(finding) for finding in found]


def _finding_line(finding: VariantFinding) -> str:
    what = f"acts {finding.hypotheses[0]}" if finding.hypotheses else str(finding.fingerprint)
    where = "the base itself" if finding.variant is None else finding.variant.name
    examples = f", {counted(len(finding.examples), 'example')} beside it" if finding.examples else ""
    path = "" if finding.path is None else f"  {finding.path}"
    return f"finding {finding.report.case.id}  {what}  under {where}{examples}{path}"


def path_lines(counts: Counts) -> list[str]:
    """Write how many merges have taken each path that the engine reports."""
    if not counts.paths:
        return []
    parts = [f"{name} ran in {number}" for name, number in counts.paths.most_common()]
    return [f"paths, of {counts.num_answered} merges: {', '.join(parts)}"]


def unswitched_lines(counts: Counts) -> list[str]:
    """Warn of values that have not switched any of their paths: they have tested nothing."""
    return [
        f"warning: {value} never switched {' or '.join(value.paths)} in {counts.of(value).num_proved} merges, so it "
        "compared a merge with itself"
        for value in counts.unswitched()
    ]


def undrawn_lines(counts: Counts) -> list[str]:
    """Write which features axes favour that no drawn case has, because the engine leaves them out."""
    return [
        f"warning: no case was drawn with {feature}, favoured by {' and '.join(names)}: the engine's capabilities "
        "leave it out"
        for feature, names in counts.undrawn.items()
    ]


def excluded_lines(counts: Counts) -> list[str]:
    """Write which values cases exclude by settings of their own, and how to try them all the same."""
    return [
        f"{value} was left out in {counted(number, 'case')} by {'its' if number == 1 else 'their'} own setting "
        f"{setting}; --unset {setting.partition('=')[0]} takes it out"
        for value in counts.axes.values
        if str(value) in counts.values
        for setting, number in counts.of(value).set_by_case.items()
    ]


def list_lines(axes: EngineAxes) -> list[str]:
    """List the axes of an engine with all their values."""
    lines: list[str] = []
    for axis in axes.axes:
        lines.append(f"{axis.name}  (base: {axis.base_name})")
        for value in axes.values:
            if value.axis != axis.name:
                continue
            lines.append(f"  {value}  {value.sentence}")
            details = [f"for: {value.domain}"]
            details += [
                f"may change ({_by(allowed)}): {', '.join(sorted(allowed.names))}" for allowed in value.may_change
            ]
            details += [f"brings: {', '.join(value.needs)}"] if value.needs else []
            details += [f"plan: {' or '.join(value.plan)}"] if value.plan else []
            details += [f"switches: {', '.join(value.paths)}"] if value.paths else []
            lines += [f"      {detail}" for detail in details]
    return [*lines, "plugin  --variant comet, or any other by --spark-conf and --proof (docs/variants.md)"]


def by_rule(rule: str) -> str:
    """Write the rule by which a difference is allowed, with its title."""
    return rule if rule == DECLARED else titled([rule])


def _by(allowed: MayChange) -> str:
    return titled(allowed.rules) if allowed.rules else DECLARED


def axes_json(axes: EngineAxes) -> list[dict[str, Any]]:
    """Return the list for a program."""
    base_names = {axis.name: axis.base_name for axis in axes.axes}
    return [
        {
            "name": str(value),
            "axis": value.axis,
            "base": base_names[value.axis],
            "sentence": value.sentence,
            "domain": value.domain,
            "settings": dict(value.settings),
            "needs": list(value.needs),
            "plan": list(value.plan),
            "paths": list(value.paths),
            "may_change": [{"rules": list(a.rules), "what": sorted(a.names)} for a in value.may_change],
        }
        for value in axes.values
    ]


def run_document(
    counts: Counts,
    found: Sequence[VariantFinding],
    *,
    required: Sequence[str] = (),
    required_paths: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a run for a program."""
    return {
        "num_cases": counts.num_cases,
        "num_batched": counts.num_batched,
        "num_variants": counts.num_variants,
        "num_compared": counts.num_compared,
        "num_answered": counts.num_answered,
        "paths": dict(counts.paths),
        "seconds": round(counts.seconds, 1),
        "bases": {verdict.value: number for verdict, number in counts.bases.items()},
        "endings": {ending.value: counts.endings[ending] for ending in Ending},
        "rules": dict(counts.rules),
        "variants": [dict(zip(COLUMNS, row, strict=True)) for row in rows_of(counts)],
        "num_plans": len(counts.plans),
        "num_pairs": len(counts.pairs),
        "operators": dict(counts.operators),
        "unsupported": dict(counts.reasons),
        "not_executed": [str(value) for value in counts.unseen()],
        "required_missing": list(counts.missing(required)),
        "paths_missing": list(counts.missing_paths(required_paths)),
        "not_switched": [str(value) for value in counts.unswitched()],
        "undrawn": {feature: list(names) for feature, names in counts.undrawn.items()},
        "excluded": excluded_lines(counts),
        "num_flaky": counts.num_flaky,
        "findings": [
            {
                "id": finding.report.case.id,
                "path": None if finding.path is None else str(finding.path),
                "fingerprint": str(finding.fingerprint),
                "variant": None if finding.variant is None else finding.variant.name,
                "axes": [] if finding.variant is None else [value.axis for value in finding.variant.values],
                "mended_by": list(finding.mended_by),
                "hypotheses": list(finding.hypotheses),
                "cut_short": finding.cut_short,
                "examples": [str(example) for example in finding.examples],
                "mismatches": mismatches_json(finding.report.mismatches),
            }
            for finding in found
        ],
    }
