"""The failure report: what differs, on which tables, by which statement, and how to see it again.

At most 40 lines, never a whole result; the case file next to it holds everything. Only a command with a long path may
have more than 100 columns.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.specification.citations import without_citations
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.report.document import CaseDocument, Command, Difference, Discovery

MAX_LINES = 40
WIDTH = 100

_TABLE_LINES, _SETTING_LINES, _STATEMENT_LINES, _DIFFERENCE_LINES = 8, 3, 9, 8
_FOLLOWING_LINES = 3
_LABEL_WIDTH = 11
_COMMAND_WIDTH = 13
_EXPLANATION_WIDTH = WIDTH - _LABEL_WIDTH - 2


def mismatch_report(document: CaseDocument, *, verbose: bool = False) -> str:
    """Write the failure report of one case.

    Args:
        document: the checked case, as ``case_document`` makes it.
        verbose: show every difference in full, and explain every row with files and rules.
    """
    lines = [*head_lines(document), *_indented(list(document.under)), ""]
    lines += _indented(_capped(table_lines(document.case), _TABLE_LINES, "rows or files"))
    lines += _indented(_capped(settings_lines(document.case), _SETTING_LINES, "settings"))
    lines += ["", *_indented(_capped(statement_lines(document.case.sql), _STATEMENT_LINES, "lines"))]
    differences = fact_lines(document, max_lines=_DIFFERENCE_LINES, verbose=verbose)
    if differences:
        lines += ["", *_indented(differences)]
    end = _indented(_found(document.discovery)) if document.discovery is not None else []
    end += _indented(command_lines(document.commands))
    lines += _indented(_explanation(document, max_lines=MAX_LINES - len(lines) - len(end) - 1, verbose=verbose))
    return "\n".join([*(_cut(line.rstrip()) for line in lines), "", *end])  # a command is of use as a whole only


def command_lines(commands: Sequence[Command]) -> list[str]:
    """List the commands that reproduce a mismatch."""
    return [f"{one.name + ':':<{_COMMAND_WIDTH}}{one.text}" for one in commands]


def explanation_lines(document: CaseDocument, *, verbose: bool = False) -> list[str]:
    """Explain what is wrong in terms of rows and clauses."""
    why = document.why(_EXPLANATION_WIDTH, full=verbose and document.is_evaluated)
    return _with_label(why if verbose or document.has_files else tuple(map(without_citations, why)), "why")


def _explanation(document: CaseDocument, *, max_lines: int, verbose: bool) -> list[str]:
    """Return as much of the explanation as fits; the rest is a command away."""
    lines = explanation_lines(document, verbose=verbose)
    if len(lines) < max_lines:
        return ["", *lines] if lines else []
    room = max_lines - 2
    if room < 1:
        return []
    more = f"{'':<{_LABEL_WIDTH}}... the rest: mergecheck explain"
    return ["", *lines[:room], more]


def set_aside_report(document: CaseDocument, *, kind: str, reason: str) -> str:
    """Write the text next to a case that is no finding: a flaky one, or one on which the engine failed."""
    lines = [f"{kind.upper().replace('_', ' ')}  {printable(reason)}", ""]
    lines += _indented(_capped(table_lines(document.case), _TABLE_LINES, "rows or files"))
    lines += ["", *_indented(_capped(statement_lines(document.case.sql), _STATEMENT_LINES, "lines"))]
    return "\n".join(_cut(line.rstrip()) for line in [*lines, *_indented(difference_lines(document.differences))])


def head_lines(document: CaseDocument) -> list[str]:
    """Return the verdict and the hypothesis, then what differs and on which engine; one line without a hypothesis."""
    checks = ", ".join(document.checks)
    named = [*([f"engine {document.engine}"] if document.report else []), document.judge]
    end = [*named, f"case {printable(document.case.id)}"]
    if document.hypothesis:
        return [f"{document.verdict}  acts {printable(document.hypothesis)}", "  " + "   ".join([checks, *end])]
    verdict = f"{document.verdict}  {checks}".rstrip() if document.report else document.verdict
    return ["   ".join([verdict, *end])]


def fact_lines(document: CaseDocument, *, max_lines: int, verbose: bool = False) -> list[str]:
    """Show every difference once: what follows from another one takes a line."""
    if verbose:
        return difference_lines(document.differences, max_lines=max_lines)
    facts = tuple(replace(one, broken=()) for one in document.differences if not one.follows)
    if not document.has_files:
        facts = tuple(replace(one, lines=tuple(map(without_citations, one.lines))) for one in facts)
    named = {one.check for one in facts}
    following = tuple(
        dict.fromkeys(_in_short(one) for one in document.differences if one.follows and one.check not in named)
    )
    text = textwrap.wrap("; ".join(following), _EXPLANATION_WIDTH, break_on_hyphens=False)
    if len(text) > _FOLLOWING_LINES:
        text = [*text[: _FOLLOWING_LINES - 1], f"{text[_FOLLOWING_LINES - 1]} ..."]
    shown = difference_lines(facts, max_lines=max_lines - len(text))
    return [*shown, *_with_label(text, "with it")]


def _in_short(difference: Difference) -> str:
    head = without_citations(difference.lines[0])
    return head if difference.check == Check.METRICS.value else f"{difference.check}: {head}"


def difference_lines(differences: Sequence[Difference], *, max_lines: int | None = None) -> list[str]:
    """Show every difference, the observable's name in front of its first line.

    Where not all lines fit, every difference keeps its fair share, so that a long list of rows does not hide a metric.
    """
    blocks = [_with_label((*one.lines, *one.broken), label) for one, label in _with_names(differences)]
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


def _with_names(differences: Sequence[Difference]) -> list[tuple[Difference, str]]:
    """Pair every difference with its observable's name, if the one before has another."""
    labels = [one.check if i == 0 or differences[i - 1].check != one.check else "" for i, one in enumerate(differences)]
    return list(zip(differences, labels, strict=True))


def _with_label(lines: Sequence[str], label: str) -> list[str]:
    return [f"{label if i == 0 else '':<{_LABEL_WIDTH}}{printable(line)}" for i, line in enumerate(lines)]


def _found(discovery: Discovery) -> list[str]:
    cut = ", cut short by its limit" if discovery.cut_short else ""
    shrunk = f"shrunk from {_rows(discovery.rows_before)} to {_rows(discovery.rows_after)} rows (target + source)"
    return [
        f"found after {counted(discovery.num_cases, 'case')} (seed {discovery.seed})",
        f"{shrunk} in {counted(discovery.num_runs, 'run')}, {discovery.seconds:.0f} s{cut}",
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
