"""A minimal case as Markdown: its tables, its statement, and the reference's answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mergecheck.harness.properties.merge_text import statement_lines
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import cell_text
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.storage_file import layout_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mergecheck.model.case import Case, Row, Source
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference


def example_lines(case: Case, reference: Reference) -> list[str]:
    """Show a case and its outcome."""
    lines = [*_target(case), "", *_source(case), ""]
    settings = _settings(case)
    lines += [*settings, ""] if settings else []
    lines += ["```sql", *statement_lines(case.sql), "```", ""]
    return lines + _outcome(case, reference)


def _target(case: Case) -> list[str]:
    schema, files = case.target.schema, case.target.files
    lines = [f"Target: `{schema.ddl()}`", ""]
    if len(files) <= 1:
        return lines + _table(case.target.rows, schema)
    numbers = [str(number) for number, file in enumerate(files, start=1) for _ in file]
    return lines + _table(case.target.rows, schema, first=("file", numbers))


def _source(case: Case) -> list[str]:
    lines = (
        ([] if case.tables else ["Source: the target itself."])
        if case.source is None
        else _relation("Source", case.source)
    )
    for name, table in case.tables.items():
        lines += ["", *_relation(f"Table `{name}`", table)]
    return lines


def _relation(name: str, table: Source) -> list[str]:
    return [f"{name}: `{table.schema.ddl()}`", "", *_table(table.rows, table.schema)]


def _settings(case: Case) -> list[str]:
    """List partitioning, table properties, settings and storage, if the case has any."""
    lines = [f"- partitioned by `{column}`" for column in case.target.partition_by]
    lines += [f"- table property `{name} = {value}`" for name, value in case.target.properties.items()]
    lines += [f"- setting `{name} = {value}`" for name, value in case.conf.items()]
    for name, layout in (("target", case.target.layout), ("source", case.source.layout if case.source else None)):
        if layout is not None and (stored := layout_to_json(layout)):
            lines.append(f"- storage of the {name}: `{json.dumps(stored, ensure_ascii=False)}`")
    return lines


def _outcome(case: Case, reference: Reference) -> list[str]:
    answer = reference.answer
    if isinstance(answer, Rejection):
        classes = " or ".join(f"`{name}`" for name in (answer.error_class, *sorted(answer.other_classes)))
        lines = [f"The merge fails with {classes}."]
        if reference.alternative is not None:
            lines += ["", "It may also succeed:", "", *_success(case, reference.alternative)]
        return lines
    if isinstance(answer, Prediction):
        return ["The merge comes to:", "", *_success(case, answer)]
    return [f"The reference does not evaluate this case: {answer.reason}."]


def _success(case: Case, answer: Prediction) -> list[str]:
    schema = answer.schema
    lines = ["Table:" if schema == case.target.schema else f"Table: `{schema.ddl()}`", "", *_table(answer.rows, schema)]
    if answer.cdf is not None:
        lines += ["", "Change rows:", "", *_table(answer.cdf, change_schema(schema))]
    exact = {name: bound.low for name, bound in sorted(answer.metrics.items()) if bound.exact and bound.low}
    metrics = ", ".join(f"{name} {value}" for name, value in exact.items()) or "all 0"
    commit = "a commit" if answer.committed else "no commit"
    return [*lines, "", f"Metrics: {metrics}. Path {answer.path.value}, {commit}."]


def _table(rows: Sequence[Row], schema: Schema, *, first: tuple[str, list[str]] | None = None) -> list[str]:
    if not rows:
        return ["(no rows)"]
    names = [column.name for column in schema.columns]
    types = [column.type for column in schema.columns]
    lines = [[cell_text(value, kind) for value, kind in zip(row, types, strict=True)] for row in rows]
    if first is not None:
        names = [first[0], *names]
        lines = [[text, *line] for text, line in zip(first[1], lines, strict=True)]
    return [_row(names), "|" + "---|" * len(names), *map(_row, lines)]


def _row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"
