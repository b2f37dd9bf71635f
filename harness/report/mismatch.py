"""The failure report: what differs, on which tables, by which statement, and how to see it again.

At most 40 lines, never a whole result; the case file next to it holds everything. Only a command with a long path may
have more than 100 columns.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import EXPECT, REFERENCE
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST
from mergecheck.harness.explanation.explanation_text import reading_lines, why_lines
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.specification.citations import cited, titled, with_titles
from mergecheck.harness.verdict import Check, Oracle
from mergecheck.model.formatting import counted
from mergecheck.model.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.verdict import CaseReport, Mismatch

MAX_LINES = 40
WIDTH = 100

_TABLE_LINES, _SETTING_LINES, _STATEMENT_LINES, _DIFFERENCE_LINES = 9, 3, 9, 9
_NAMES = {Check.CDF: "changes"}
_LABEL_WIDTH = 11
_OTHER_JUDGES = frozenset({REFERENCE, EXPECT, AGAINST})


def check_name(check: Check) -> str:
    """Name an observable for a person."""
    return _NAMES.get(check, check.value)


def mismatch_report(
    report: CaseReport,
    *,
    finding: Finding | None = None,
    path: Path | None = None,
    readings: Sequence[str] = (),
) -> str:
    """Write the failure report of one case.

    Args:
        report: the check of the case.
        finding: if the case came out of a search, how it was found.
        path: the case file to name under "Reproduce"; without one, the place where findings are kept.
        readings: hypotheses that the engine's result implies; of a finding, its saved ones.
    """
    lines = [headline(report), ""]
    lines += _indented(_capped(table_lines(report.case), _TABLE_LINES, "rows or files"))
    lines += _indented(_capped(settings_lines(report.case), _SETTING_LINES, "settings"))
    lines += ["", *_indented(_capped(statement_lines(report.case.sql), _STATEMENT_LINES, "lines"))]
    differences = difference_lines(report, max_lines=_DIFFERENCE_LINES)
    if differences:
        lines += ["", *_indented(differences)]
    where = str(path or FINDINGS_DIRECTORY / f"{report.case.id}.json")
    end = _indented(_found(finding)) if finding is not None else []
    end += _indented(reproduce_lines(report, where))
    said = readings or (finding.readings if finding is not None else ())
    lines += _indented(_explanation(report, said, max_lines=MAX_LINES - len(lines) - len(end) - 1))
    return "\n".join([*(_cut(line.rstrip()) for line in lines), "", *end])  # a command is of use as a whole only


def reproduce_lines(report: CaseReport, where: str, *, case_id: str | None = None) -> list[str]:
    """Return commands that reproduce a mismatch: from the command line, in pytest, and as a SQL script.

    Args:
        report: the check of the case.
        where: the case file, or the id of a finding.
        case_id: the case's id, if the file holds several.
    """
    chosen = "" if case_id is None else f" --id {shlex.quote(case_id)}"
    rerun, place = report.rerun, shlex.quote(where)
    if _judge(report).startswith("relation"):
        rerun = replace(rerun, options=(("oracle", Oracle.METAMORPHIC.value), *rerun.options))
    return [
        f"Reproduce:   mergecheck replay{rerun.flags()} {place}",
        f"In pytest:   pytest{rerun.flags('--mergecheck-')} --mergecheck-case {place}",
        f"As SQL:      mergecheck cases show {place}{chosen} --sql",
    ]


def explanation_lines(report: CaseReport, readings: Sequence[str]) -> list[str]:
    """Explain how the reference derives its answer, row by row, and the hypotheses that the engine's result implies."""
    told = reading_lines(readings, width=WIDTH - _LABEL_WIDTH - 2)
    is_evaluated = not isinstance(report.reference.answer, Unsupported)
    why = why_lines(report.case, report.reference, width=WIDTH - _LABEL_WIDTH - 2) if is_evaluated else []
    return [*_with_label(why, "why"), *_with_label(told, "reading")]


def _explanation(report: CaseReport, readings: Sequence[str], *, max_lines: int) -> list[str]:
    """Return as much of the explanation as fits; the hypothesis comes first, the rest is a command away."""
    lines = explanation_lines(report, readings)
    if len(lines) < max_lines:
        return ["", *lines]
    told = _with_label(reading_lines(readings, width=WIDTH - _LABEL_WIDTH - 2), "reading")
    room = max_lines - len(told) - 2
    if room < 1:
        return []
    more = f"{'':<{_LABEL_WIDTH}}... the rest: mergecheck explain"
    return ["", *lines[:room], more, *told]


def set_aside_report(report: CaseReport, *, kind: str, reason: str) -> str:
    """Write the text next to a case that is no finding: a flaky one, or one on which the engine failed."""
    lines = [f"{kind.upper().replace('_', ' ')}  {printable(reason)}", ""]
    lines += _indented(_capped(table_lines(report.case), _TABLE_LINES, "rows or files"))
    lines += ["", *_indented(_capped(statement_lines(report.case.sql), _STATEMENT_LINES, "lines"))]
    return "\n".join(_cut(line.rstrip()) for line in [*lines, *_indented(difference_lines(report))])


def verdict_word(report: CaseReport) -> str:
    """Name the verdict as every report does."""
    return "DEVIATES" if report.deviations else report.verdict.value.upper().replace("_", " ")


def headline(report: CaseReport) -> str:
    """Return the verdict in one line: the difference, the engine, the case."""
    checks = dict.fromkeys(check_name(m.check) for m in report.mismatches)
    parts = [f"{verdict_word(report)}  {', '.join(checks)}".rstrip()]
    parts += [
        f"engine {report.engine} {report.engine_version}".rstrip(),
        _judge(report),
        f"case {printable(report.case.id)}",
    ]
    return "   ".join(parts)


def _judge(report: CaseReport) -> str:
    """Name the judge of the engine's answer: the reference, or a relation between its own answers."""
    relations = [m.against for m in report.mismatches if m.against not in _OTHER_JUDGES]
    return f"relation {relations[0]}" if relations else "reference duckdb"


def difference_lines(report: CaseReport, *, max_lines: int | None = None) -> list[str]:
    """Show every mismatch, the observable's name in front of its first line.

    Where not all lines fit, every mismatch keeps its fair share, so that a long list of rows does not hide a metric.
    """
    blocks = [_labelled(mismatch, label) for mismatch, label in _with_names(report.mismatches)]
    if max_lines is None or sum(map(len, blocks)) <= max_lines:
        return [line for block in blocks for line in block]
    shown: list[str] = []
    for i, block in enumerate(blocks):
        left = max_lines - len(shown)
        if left <= 1 and i < len(blocks) - 1:
            return [*shown, f"... {len(blocks) - i} more differences"]
        share = max(1, left // (len(blocks) - i))
        shown += block if len(block) <= share else [*block[: max(1, share - 1)], f"{'':<{_LABEL_WIDTH}}..."][:share]
    return shown


def _with_names(mismatches: tuple[Mismatch, ...]) -> list[tuple[Mismatch, str]]:
    """Pair every mismatch with its observable's name, if the one before names another."""
    names = [check_name(mismatch.check) for mismatch in mismatches]
    labels = [name if i == 0 or names[i - 1] != name else "" for i, name in enumerate(names)]
    return list(zip(mismatches, labels, strict=True))


def _labelled(mismatch: Mismatch, label: str) -> list[str]:
    return _with_label(mismatch_texts(mismatch), label)


def _with_label(lines: Sequence[str], label: str) -> list[str]:
    return [f"{label if i == 0 else '':<{_LABEL_WIDTH}}{printable(line)}" for i, line in enumerate(lines)]


def mismatch_texts(mismatch: Mismatch) -> tuple[str, ...]:
    """Describe how an engine differs, and which rule its answer breaks."""
    against = " (against the case's expect)" if mismatch.against == "expect" else ""
    lines = tuple(map(with_titles, mismatch.lines or (mismatch.kind,)))
    broken = tuple(f"breaks {titled([number])}" for number in cited(mismatch.kind))
    return (lines[0] + against, *lines[1:], *broken)


def _found(finding: Finding) -> list[str]:
    before, after = num_rows(finding.original), num_rows(finding.report.case)
    cut = ", cut short by its limit" if finding.cut_short else ""
    shrunk = f"shrunk from {_rows(before)} to {_rows(after)} rows (target + source)"
    return [
        f"found after {counted(finding.num_cases, 'case')} (seed {finding.seed})",
        f"{shrunk} in {counted(finding.num_runs, 'run')}, {finding.seconds:.0f} s{cut}",
    ]


def _rows(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]} + {numbers[1]}"


def _capped(lines: list[str], limit: int, what: str) -> list[str]:
    if len(lines) <= limit:
        return lines
    return [*lines[: limit - 1], f"... {len(lines) - limit + 1} more {what} in the case file"]


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
