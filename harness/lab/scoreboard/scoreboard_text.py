"""The matrix for people and for programs: a table for the terminal, Markdown for the docs, JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.lab.scoreboard.features import FEATURES
from mergecheck.harness.lab.scoreboard.majority_vote import odd_json, odd_lines
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.report.file_lines import seen_work_json
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.render import printable, statement_lines
from mergecheck.model.case_file import case_to_json
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections import Counter

    from rich.table import Table

    from mergecheck.harness.lab.scoreboard.scoreboard_run import Column, Difference, Matrix

_MOST_REASONS = 6
_LETTERS = {Answer.AGREE: "", Answer.DEVIATES: "d", Answer.UNSUPPORTED: "u", Answer.MISMATCH: "m", Answer.ERROR: "e"}
LEGEND = "number: cases that agree; d known deviation, m mismatch nobody explained, u unsupported, e engine error"


def cell_text(counts: Counter[Answer]) -> str:
    """Write one cell: ``123`` or ``120 d3 u17``; a dot if no case came."""
    if not counts.total():
        return "."
    others = [f"{letter}{counts[answer]}" for answer, letter in _LETTERS.items() if letter and counts[answer]]
    return " ".join([str(counts[Answer.AGREE]), *others])


def rich_table(matrix: Matrix) -> Table:
    """Make the table for the terminal."""
    from rich.table import Table  # noqa: PLC0415 - only the terminal needs it

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("feature", no_wrap=True)
    for column in matrix.columns:
        table.add_column(_title(column), justify="left", no_wrap=True)
    for name, cells in _rows(matrix):
        table.add_row(name, *cells)
    return table


def summary_lines(matrix: Matrix) -> list[str]:
    """Return the lines below the table: reasons, checks not made, differences with a case each."""
    lines = ["", LEGEND, f"{counted(matrix.num_cases, 'case')} of seed {matrix.seed} in {matrix.seconds:.0f} s"]
    for column in matrix.columns:
        lines += ["", _title(column)]
        lines += [f"  DOWN  {printable(column.down)}"] if column.down else []
        for check, number in column.not_checked.most_common():
            why = column.engine.capabilities.reasons.get(check, "")
            lines.append(f"  not checked   {check} {number}   {why}".rstrip())
        for reason, number in column.unsupported.most_common(_MOST_REASONS):
            lines.append(f"  unsupported   {number}  {printable(reason)}")
        if rest := sum(n for _, n in column.unsupported.most_common()[_MOST_REASONS:]):
            lines.append(f"  unsupported   {rest}  for other reasons")
        lines += [f"  {line}" for line in column.work.lines()]
        for difference in _of(matrix, column):
            number = column.seen[difference.what]
            word = "DEVIATES" if difference.deviations else "MISMATCH"
            target, source = num_rows(difference.report.case)
            case_id = printable(difference.report.case.id)
            lines.append(f"  {word}  {number}  {difference.what}   case {case_id}, {target} + {source} rows")
            lines += [f"      {line}" for line in odd_lines(difference.votes)]
    return lines


def matrix_json(matrix: Matrix) -> dict[str, Any]:
    """Write the matrix as ``matrix --json`` gives it."""
    return {
        "seed": matrix.seed,
        "features_off": list(matrix.features_off),
        "num_cases": matrix.num_cases,
        "seconds": round(matrix.seconds, 3),
        "interrupted": matrix.interrupted,
        "engines": [_column_json(matrix, column) for column in matrix.columns],
    }


def markdown(matrix: Matrix, *, date: str) -> str:
    """Write the page for the docs."""
    titles = [_title(column) for column in matrix.columns]
    command = f"mergecheck lab matrix --seed {matrix.seed} --max-cases {matrix.num_cases} --markdown FILE"
    ran = f"{matrix.num_cases} random cases ran on each engine and were compared with the reference."
    lines = ["# Features x engines", "", "```", command, "```", ""]
    lines += [f"{ran} A case counts for all its features. Measured on {date}.", ""]
    legend = "A cell says how many cases agree, then: `d` known deviation, `m` unexplained mismatch, `u` unsupported, "
    lines += [f"{legend}`e` engine error.", "", f"| feature | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in _rows(matrix)]
    for column in matrix.columns:
        lines += ["", f"## {_title(column)}", ""]
        lines += [f"Down: {_escaped(column.down)}", ""] if column.down else []
        lines += [
            f"- not checked in {counted(n, 'case')}: {check}. {_reason(column, check)}".rstrip()
            for check, n in column.not_checked.most_common()
        ]
        lines += [
            f"- unsupported, {counted(n, 'case')}: {_escaped(reason)}" for reason, n in column.unsupported.most_common()
        ]
        lines += [f"- {_escaped(line)}" for line in column.work.lines()]
        for difference in _of(matrix, column):
            lines += _difference_markdown(column, difference)
    return "\n".join(lines) + "\n"


def _rows(matrix: Matrix) -> list[tuple[str, list[str]]]:
    empty: Counter[Answer] = type(matrix.columns[0].totals)()
    rows = [(name, [cell_text(c.cells.get(name, empty)) for c in matrix.columns]) for name in FEATURES]
    return [*rows, ("all cases", [cell_text(column.totals) for column in matrix.columns])]


def _title(column: Column) -> str:
    return f"{column.engine.name} {column.engine.version}"


def _of(matrix: Matrix, column: Column) -> list[Difference]:
    mine = [difference for difference in matrix.differences if difference.column == column.name]
    return sorted(mine, key=lambda difference: -column.seen[difference.what])


def _difference_markdown(column: Column, difference: Difference) -> list[str]:
    word = "known deviation" if difference.deviations else "unexplained"
    lines = [
        "",
        f"### {_escaped(difference.what)}",
        "",
        f"{word}, {counted(column.seen[difference.what], 'case')}; the smallest:",
        "",
    ]
    lines += ["```sql", *statement_lines(difference.report.case.sql), "```", ""]
    for mismatch in difference.report.mismatches:
        lines.append(f"- {mismatch.check.value} {mismatch.kind}: " + _escaped("; ".join(mismatch.lines)))
    lines += [f"- {_escaped(' '.join(line.split()))}" for line in odd_lines(difference.votes)]
    return lines


def _column_json(matrix: Matrix, column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "engine": column.engine.name,
        "version": column.engine.version,
        "down": column.down or None,
        "totals": _counts_json(column.totals),
        "features": {name: _counts_json(column.cells[name]) for name in FEATURES if name in column.cells},
        "unsupported": dict(column.unsupported.most_common()),
        "work": seen_work_json(column.work),
        "not_checked": {
            check: {"cases": number, "reason": column.engine.capabilities.reasons.get(check, "")}
            for check, number in column.not_checked.most_common()
        },
        "differences": [
            {
                "what": difference.what,
                "deviation": list(difference.deviations),
                "num_cases": column.seen[difference.what],
                "features": {
                    name: column.seen_in[difference.what][name]
                    for name in FEATURES
                    if column.seen_in[difference.what][name]
                },
                "mismatches": mismatches_json(difference.report.mismatches),
                "case": difference.report.case.id,
                "case_file": case_to_json(difference.report.case),
                "path": None if difference.path is None else str(difference.path),
                "majority_vote": odd_json(difference.votes),
            }
            for difference in _of(matrix, column)
        ],
    }


def _counts_json(counts: Counter[Answer]) -> dict[str, int]:
    return {answer.value: counts[answer] for answer in Answer}


def _escaped(text: str) -> str:
    """Escape the texts of engines and cases so that they are not read as Markdown or HTML."""
    plain = printable(" ".join(text.split()))
    for character in "\\`*_[]<>|#":
        plain = plain.replace(character, "\\" + character)
    return plain


def _reason(column: Column, check: str) -> str:
    return column.engine.capabilities.reasons.get(check, "")
