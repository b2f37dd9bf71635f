"""The report of a race: lines for a person, and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.concurrency.interleaving_text import MAX_FINDINGS, finding_json, history_lines

if TYPE_CHECKING:
    from mergecheck.harness.lab.concurrency.race.race_run import RaceReport


def race_lines(report: RaceReport) -> list[str]:
    """Show the first findings, the counts and the command that draws the same writers again."""
    options = report.options
    lines: list[str] = []
    for found in report.findings[:MAX_FINDINGS]:
        lines += [f"MISMATCH  round {found.number}", *history_lines(found.writers, found.history, found.verdict), ""]
    counted = ", ".join(f"{count} {kind.value}" for kind, count in report.endings.most_common())
    level = f" --isolation {options.isolation.value}" if report.options.isolation.value != "Serializable" else ""
    again = (
        f"mergecheck lab concurrency --engine {options.engine} --writers {options.num_writers} "
        f"--steps {options.num_steps} --kills {options.kills} --seed {options.seed}{level}"
    )
    return [
        *lines,
        f"{report.endings.total()} writers in {report.num_rounds} rounds: {counted}",
        f"{report.num_kills} processes killed; {report.num_late_kills} killed writers had committed",
        f"{len(report.findings)} findings",
        f"seed {options.seed}  same tables and writers again: {again}",
    ]


def race_json(report: RaceReport) -> dict[str, Any]:
    """Return the report as JSON."""
    options = report.options
    return {
        "engine": options.engine,
        "seed": options.seed,
        "isolation": options.isolation.value,
        "rounds": report.num_rounds,
        "endings": {kind.name.lower(): count for kind, count in report.endings.items()},
        "kills": report.num_kills,
        "late_kills": report.num_late_kills,
        "findings": [{"round": one.number, **finding_json(one.history, one.verdict)} for one in report.findings],
    }
