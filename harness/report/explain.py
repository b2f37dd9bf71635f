"""One case explained: tables, statement, outcome, reference, differences."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from mergecheck.harness.report.mismatch import check_name, difference_lines, explanation_lines, headline
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.report.table_merge import changes_of
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import row_text
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.harness.report.table_merge import OwnTables
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import Bound
    from mergecheck.model.types.data_types import Schema

MAX_ROWS = 10
MAX_DIFFERENCE_LINES = 24
_TEXT_WIDTH = 84
_LABEL_WIDTH = 11


def explain_lines(report: CaseReport, *, readings: Sequence[str] = (), own: OwnTables | None = None) -> list[str]:
    """Explain one case for a person.

    Args:
        report: the check of the case.
        readings: hypotheses that the engine's result implies.
        own: the user's tables, if the case was made of them.
    """
    case = report.case
    lines = [headline(report)]
    lines += [f"  {printable(report.reason)}"] if report.reason else []
    tables = table_lines(case) if own is None else own.lines(case)
    lines += ["", *_indented(tables), *_indented(settings_lines(case))]
    lines += ["", *_indented(statement_lines(case.sql)), ""]
    lines += ["engine", *_indented(_answer(report.result, case, own))]
    lines += ["reference", *_indented(_answer(report.reference.answer, case, own))]
    if report.reference.asked:
        lines += ["values from Spark", *(f"  {printable(' '.join(text.split()))}" for text in report.reference.asked)]
    if report.unknown_columns:
        columns = ", ".join(printable(name) for name in report.unknown_columns)
        lines += ["values that nobody can know", f"  in {columns}: of the right form, and no two of them alike"]
    if report.reference.alternative is not None:
        other = _answer(report.reference.alternative, case, own)
        lines += ["reference, other answer allowed", *_indented(other)]
    if report.mismatches:
        lines += ["differences", *_indented(difference_lines(report, max_lines=MAX_DIFFERENCE_LINES))]
    lines += _indented(explanation_lines(report, readings))
    if report.unsupported_checks:
        missing = [line for check in report.unsupported_checks for line in _not_checked(report, check)]
        lines += ["not checked", *_indented(missing)]
    if own is not None:
        lines += ["", *own.reproduce_lines(report)]
    return [line.rstrip() for line in lines]


def _not_checked(report: CaseReport, check: Check) -> list[str]:
    """Return why a check was not made; for the metrics, which ones."""
    reasons = report.unsupported_reasons
    lines = [printable(reasons[check.value])] if check.value in reasons else []
    if check is Check.METRICS and report.unsupported_metrics:
        named = {
            name: f" ({printable(reasons[name])})" if name in reasons else "" for name in report.unsupported_metrics
        }
        lines += textwrap.wrap(", ".join(name + reason for name, reason in named.items()), _TEXT_WIDTH)
    return _labelled(check_name(check), lines or [""])


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
    texts = [f"{row[-1]:<17} {row_text(row[:-1], schema)}" for row in changes] or ["none"]
    return [*texts, *([f"... {total - len(changes)} more"] if total > len(changes) else [])]


def _rows(label: str, rows: tuple[Row, ...], schema: Schema) -> list[str]:
    texts = [row_text(row, schema) for row in rows[:MAX_ROWS]] or ["none"]
    if len(rows) > MAX_ROWS:
        texts.append(f"... {len(rows) - MAX_ROWS} more")
    return _labelled(label, texts)


def _exact(bound: Bound) -> int | None:
    return bound.low if bound.exact else None


def _labelled(label: str, texts: list[str]) -> list[str]:
    return [f"{label if i == 0 else '':<{_LABEL_WIDTH}}{text}" for i, text in enumerate(texts)]


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]
