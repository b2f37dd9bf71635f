"""A bug model of generated columns: in an INSERT they are computed from values that are not cast yet (R-222)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.statements import with_statement
from mergecheck.harness.properties.merge_text import merge_text
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import quote
from mergecheck.reference.syntax.dialect import SparkDialect, read_sql
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.properties.merge_text import ClauseText
    from mergecheck.model.case import Target
    from mergecheck.reference.syntax.statement import Clause
    from mergecheck.reference.trace import Trace


def _from_given_values(now: Judged) -> Judged | None:
    """Write into each INSERT the generated columns that it leaves out, over the values that it gives."""
    trace, text = now.reference.trace, merge_text(now.case.sql)
    if trace.statement is None or text is None:
        return None
    try:
        clauses = [
            _with_generated(now.case.target, clause, written, trace)
            for clause, written in zip(trace.statement.clauses, text.clauses, strict=True)
        ]
    except (SqlglotError, RejectedError, UnsupportedByReferenceError):
        return None
    return with_statement(now, replace(text, clauses=tuple(clauses)).sql())


def _with_generated(target: Target, clause: Clause, text: ClauseText, trace: Trace) -> ClauseText:
    """Write an INSERT with the columns that it leaves to the table; another clause stays as it is."""
    if clause.action is not Action.INSERT:
        return text
    given = _given(clause, trace)
    named = {name.lower() for name in given}
    values: dict[str, exp.Expr] = {name.lower(): value for name, value in given.items()}
    for column in target.schema.columns:
        if column.name.lower() not in named:
            values[column.name.lower()] = read_sql(column.default or f"CAST(NULL AS {column.type.ddl()})")
    computed = {
        column.name: _computed(column.generated, values)
        for column in target.schema.columns
        if column.generated is not None and column.name.lower() not in named
    }
    if not computed:
        return text
    written = {name: value.sql(dialect=SparkDialect) for name, value in given.items()} | computed
    return text.assigning(tuple(map(quote, written)), tuple(written.values()))


def _given(clause: Clause, trace: Trace) -> Mapping[str, exp.Expr]:
    """Return the values that an INSERT gives, by column; a star gives the source columns' values."""
    if not clause.star:
        return {assignment.path[-1]: assignment.value for assignment in clause.assignments}
    if trace.statement is None or trace.source is None:
        return {}
    alias = trace.statement.source_alias or trace.statement.source
    return {name: read_sql(f"{quote(alias)}.{quote(name)}") for name in trace.source.schema.names}


def _computed(generated: str, values: Mapping[str, exp.Expr]) -> str:
    def over(node: exp.Expr) -> exp.Expr:
        found = values.get(node.name.lower()) if isinstance(node, exp.Column) else None
        return node if found is None else exp.Paren(this=found.copy())

    return read_sql(generated).transform(over).sql(dialect=SparkDialect)


BUG_MODELS = (
    BugModel(
        name="generated columns of an INSERT are computed from values before their casts",
        phase=Phase.REWRITE,
        apply=_from_given_values,
    ),
)
