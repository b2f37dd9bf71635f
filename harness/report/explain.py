"""One case for a person: with the answers of engine and reference, as in ``run``, or row by row, as in ``explain``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from mergecheck.harness.explanation.dialect_change import dialect_lines
from mergecheck.harness.explanation.explanation_text import hypothesis_lines, pair_lines
from mergecheck.harness.oracles.work.work import Work, work_of
from mergecheck.harness.report.file_lines import file_lines, summary_lines
from mergecheck.harness.report.mismatch import (
    command_lines,
    difference_lines,
    explanation_lines,
    fact_lines,
    head_lines,
)
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.report.table_merge import changes_of
from mergecheck.model.formatting import shown_row
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.report.document import CaseDocument, NotChecked
    from mergecheck.harness.report.table_merge import OwnTables
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import Bound
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference

MAX_ROWS = 10
MAX_DIFFERENCE_LINES = 24
_TEXT_WIDTH = 84
_LABEL_WIDTH = 11


def explain_lines(document: CaseDocument, *, own: OwnTables | None = None) -> list[str]:
    """Show one case with the answers of the engine and the reference, as ``run`` does.

    Args:
        document: the checked case.
        own: the user's tables, if the case was made of them.
    """
    case, reference = document.case, document.reference
    lines = head_lines(document)
    lines += [f"  {printable(document.reason)}"] if document.reason else []
    tables = table_lines(case) if own is None else own.lines(case)
    lines += ["", *_indented(tables), *_indented(settings_lines(case))]
    lines += ["", *_indented(statement_lines(case.sql)), ""]
    lines += ["engine", *_indented(_answer(document.result, case, own))]
    lines += ["reference", *_indented(_answer(reference.answer, case, own))]
    if document.from_spark:
        lines += ["values from Spark", *(f"  {printable(text)}" for text in document.from_spark)]
    if document.unknown_columns:
        columns = ", ".join(map(printable, document.unknown_columns))
        lines += ["values that nobody can know", f"  in {columns}: of the right form, and no two of them alike"]
    if reference.alternative is not None:
        lines += ["reference, other answer allowed", *_indented(_answer(reference.alternative, case, own))]
    if document.differences:
        lines += ["differences", *_indented(fact_lines(document, max_lines=MAX_DIFFERENCE_LINES))]
    lines += _indented(explanation_lines(document))
    if isinstance(work := work_of(document.checked), Work) and (needless := summary_lines(work)):
        lines += ["work", *_indented(needless)]
    if document.not_checked:
        lines += ["not checked", *_indented([line for one in document.not_checked for line in _not_checked(one)])]
    if own is not None:
        lines += ["", *own.reproduce_lines(document)]
    return [line.rstrip() for line in lines]


def row_lines(
    document: CaseDocument, *, width: int, with_pairs: bool, by_dialect: Sequence[Reference] = ()
) -> list[str]:
    """Explain one case row by row, as ``explain`` does.

    Args:
        document: the case, with a report if an engine ran it.
        width: columns of a line.
        with_pairs: also show the value of ON for every pair of rows.
        by_dialect: the case under one dialect, or under two.
    """
    case = document.case
    lines = [part for line in head_lines(document) for part in _broken_head(line, width)]
    lines += [f"  {printable(document.reason)}"] if document.reason else []
    lines += ["", *_indented(table_lines(case, width=width)), *_indented(settings_lines(case))]
    lines += ["", *_indented(statement_lines(case.sql, width=width)), "", "why"]
    lines += _indented(document.why(width))
    files = file_lines(document, width=width - 2)
    lines += ["files", *_indented(files)] if files else []
    answer = document.reference.answer
    if isinstance(answer, Rejection):
        lines += [f"    {line}" for line in textwrap.wrap(printable(answer.message), width - 4)]
    if by_dialect:
        parts = (part for line in dialect_lines(case, by_dialect) for part in _broken(line, width - 2))
        lines += ["dialects", *_indented(list(parts))]
    if with_pairs:
        pairs = pair_lines(case, document.reference.trace, width=width)
        lines += ["pairs", *_indented(pairs or ["(none were evaluated)"])]
    if document.differences:
        lines += ["differences", *_indented(difference_lines(document.differences))]
        others = hypothesis_lines(document.hypotheses[1:], width=width)
        lines += ["other hypotheses", *_indented(others)] if others else []
        lines += [] if document.hypothesis else ["hypothesis", "  no alternative that was tried agrees"]
        lines += ["", *command_lines(document.commands)] if document.commands else []
    return [printable(line).rstrip() for line in lines]


def _broken(line: str, width: int) -> list[str]:
    lead = len(line) - len(line.lstrip())
    wrapped = textwrap.wrap(line.strip(), width, initial_indent=" " * lead, subsequent_indent=" " * (lead + 4))
    return wrapped if len(line) > width else [line]


def _broken_head(head: str, width: int) -> list[str]:
    """Break a headline between its parts."""
    lines: list[str] = []
    for part in head.split("   "):
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f"   {part}"
        else:
            lines.append(f"  {part}" if lines else part)
    return lines


def _not_checked(given: NotChecked) -> list[str]:
    """Return why a check was not made; for the metrics, which ones."""
    lines = [printable(given.reason)] if given.reason else []
    if given.metrics:
        named = ", ".join(name + (f" ({printable(reason)})" if reason else "") for name, reason in given.metrics)
        lines += textwrap.wrap(named, _TEXT_WIDTH)
    return _labelled(given.check, lines or [""])


def _answer(
    answer: Outcome | Prediction | Rejection | Unsupported | None, case: Case, own: OwnTables | None
) -> list[str]:
    lines = answer_lines(answer, before=case.target.schema)
    if own is None or not isinstance(answer, Outcome | Prediction):
        return lines
    changes = changes_of(case, answer)
    counts = ", ".join(f"{count} {name}" for name, count in changes.counts.items() if count) or "none"
    total = sum(changes.counts.values())
    texts = [
        f"{counts} ({changes.origin})",
        *(change_lines(changes.first, answer.schema, total=total) if total else ()),
    ]
    return [
        *_labelled("schema", schema_lines(case.target.schema, answer.schema)),
        *_labelled("rows", [f"{len(case.target.rows)} before, {len(answer.rows)} after"]),
        *_labelled("changes", texts),
        *_end_lines(answer),
    ]


def answer_lines(answer: Outcome | Prediction | Rejection | Unsupported | None, *, before: Schema) -> list[str]:
    """Show the answer of an engine or the reference: rows, changes and metrics, at most ten rows each.

    Args:
        answer: the answer.
        before: the schema before the merge; the schema after it is shown if it differs.
    """
    if answer is None:
        return ["no answer"]
    if isinstance(answer, Unsupported):
        return [f"unsupported: {printable(answer.reason)}"]
    if isinstance(answer, Rejection):
        head = f"rejected    {' or '.join(map(printable, [answer.error_class, *sorted(answer.other_classes)]))}"
        said = [
            part for line in answer.message.splitlines()[:3] for part in textwrap.wrap(printable(line), _TEXT_WIDTH)
        ]
        return [head, *(f"            {line}" for line in said)]
    lines = _labelled("schema", schema_lines(before, answer.schema)) + _rows("rows", answer.rows, answer.schema)
    if answer.cdf is not None:
        lines += _labelled("changes", change_lines(answer.cdf[:MAX_ROWS], answer.schema, total=len(answer.cdf)))
    return [*lines, *_end_lines(answer)]


def _end_lines(answer: Outcome | Prediction) -> list[str]:
    path = [f"path {answer.path.value}"] if answer.path is not None else []
    commit = [] if answer.committed is None else ["committed" if answer.committed else "nothing to commit"]
    return [
        *_labelled("metrics", metric_lines(answer.metrics)),
        *([f"{'run':<{_LABEL_WIDTH}}{', '.join(path + commit)}"] if path or commit else []),
    ]


def schema_lines(before: Schema, after: Schema) -> list[str]:
    """Show the columns after a merge if they are not those before it."""
    return [] if after == before else textwrap.wrap(printable(after.ddl()), _TEXT_WIDTH, break_on_hyphens=False)


def metric_lines(metrics: Mapping[str, int | Bound]) -> list[str]:
    """Show the metrics that are known exactly and not zero, by Delta's names, several to a line."""
    if not metrics:
        return ["none reported"]
    values = {name: value if isinstance(value, int) else _exact(value) for name, value in metrics.items()}
    # A no-break space keeps name and value on one line.
    text = ", ".join(f"{name}\N{NO-BREAK SPACE}{value}" for name, value in sorted(values.items()) if value)
    lines = textwrap.wrap(text, _TEXT_WIDTH) or ["all 0"]
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def change_lines(changes: tuple[Row, ...], schema: Schema, *, total: int) -> list[str]:
    """Show change rows, the change type in front; ``total`` counts those that are left out too."""
    texts = [f"{row[-1]:<17} {shown_row(row[:-1], schema)}" for row in changes] or ["none"]
    return [*texts, *([f"... {total - len(changes)} more"] if total > len(changes) else [])]


def _rows(label: str, rows: tuple[Row, ...], schema: Schema) -> list[str]:
    texts = [shown_row(row, schema) for row in rows[:MAX_ROWS]] or ["none"]
    if len(rows) > MAX_ROWS:
        texts.append(f"... {len(rows) - MAX_ROWS} more")
    return _labelled(label, texts)


def _exact(bound: Bound) -> int | None:
    return bound.low if bound.exact else None


def _labelled(label: str, texts: list[str]) -> list[str]:
    return [f"{label if i == 0 else '':<{_LABEL_WIDTH}}{text}" for i, text in enumerate(texts)]


def _indented(lines: Sequence[str]) -> list[str]:
    return ["  " + line for line in lines]
