"""Bug models of the statement: the engine merges as if another statement were given."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.row_sides import forgotten_not_null
from mergecheck.harness.properties.merge_text import ClauseText, merge_text
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import Rejection
from mergecheck.reference.syntax.dialect import SparkDialect, read_sql
from mergecheck.reference.syntax.merge_text import plain_merge
from mergecheck.reference.syntax.statement import Action, Kind, is_matched_only, read_merge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NUMBER = re.compile(r"-?(\d+[.]?\d*|[.]\d+)(e[+-]?\d{1,3})?", re.IGNORECASE)  # larger ones are no DOUBLE


def with_statement(now: Judged, sql: str) -> Judged | None:
    """Take the engine to have run another statement; None if it is the same."""
    return None if sql == now.case.sql else now.with_case(replace(now.case, sql=sql))


def rewritten(sql: str, change: Callable[[exp.Expr], exp.Expr]) -> str:
    """Change nodes of a statement's tree; the text stays as it is if no node changes, or if it cannot be read."""
    try:
        is_evolving = read_merge(sql).evolution is not None
        tree = read_sql(plain_merge(sql, with_evolution=False))
        before = tree.sql(dialect=SparkDialect)
        after = tree.copy().transform(change).sql(dialect=SparkDialect)
    except (SqlglotError, RejectedError, UnsupportedByReferenceError):
        return sql
    if after == before:
        return sql
    return re.sub(r"^\s*MERGE\b", "MERGE WITH SCHEMA EVOLUTION", after) if is_evolving else after


def _conditions_cast(now: Judged) -> Judged | None:
    text = merge_text(now.case.sql)
    if text is None:
        return None
    clauses = tuple(_with_condition(clause, "CAST(({}) AS BOOLEAN)") for clause in text.clauses)
    return with_statement(now, replace(text, on=f"CAST(({text.on}) AS BOOLEAN)", clauses=clauses).sql())


def _conditions_unread(now: Judged) -> Judged | None:
    """Leave the conditions of MATCHED and BY SOURCE alone, if no row of the table is touched.

    A merge that has MATCHED clauses only reads their conditions when it looks for the rows.
    """
    text = merge_text(now.case.sql)
    if text is None or is_matched_only(text.clauses):
        return None
    if any(clause.kind is Kind.NOT_MATCHED_BY_SOURCE for clause in text.clauses) and now.case.target.rows:
        return None
    clauses = tuple(
        clause if clause.kind is Kind.NOT_MATCHED else _with_condition(clause, "({}) IS NOT NULL")
        for clause in text.clauses
    )
    found = with_statement(now, replace(text, clauses=clauses).sql())
    if found is None or found.reference.trace.matches is None or found.reference.trace.matches.pairs:
        return None
    return found


def _with_condition(clause: ClauseText, form: str) -> ClauseText:
    return clause if clause.condition is None else replace(clause, condition=form.format(clause.condition))


def _clauses_unread(now: Judged) -> Judged | None:
    """Leave out the clauses that can have no row: of an empty table, or of matched rows if no rows match.

    A merge of MATCHED clauses becomes one that deletes what matches, so that its result is right only if nothing does.
    """
    text = merge_text(now.case.sql)
    if text is None:
        return None
    source = now.reference.trace.source or source_table(now.case)
    has_source_row = source is None or bool(source.rows)
    kept = tuple(
        clause
        for clause in text.clauses
        if (now.case.target.rows if clause.kind is Kind.NOT_MATCHED_BY_SOURCE else has_source_row)
    )
    if is_matched_only(text.clauses):
        kept = ()
    kept = kept or (ClauseText(kind=Kind.MATCHED, action=Action.DELETE),)
    return with_statement(now, replace(text, clauses=kept).sql())


def _defaults_are_null(now: Judged) -> Judged | None:
    text = merge_text(now.case.sql)
    if text is None:
        return None
    clauses = tuple(
        replace(clause, values=tuple("NULL" if value.upper() == "DEFAULT" else value for value in clause.values))
        for clause in text.clauses
    )
    return None if clauses == text.clauses else with_statement(now, replace(text, clauses=clauses).sql())


def _not_null_from_source(now: Judged) -> Judged | None:
    """Assign the source's values to columns that lose their NOT NULL, if the statement's own are refused."""
    source, names = now.reference.trace.source, forgotten_not_null(now)
    if source is None or not isinstance(now.reference.answer, Rejection):
        return None
    known = names & {name.lower() for name in source.schema.names}
    return with_statement(now, rewritten(now.case.sql, partial(_assigned_from_source, known))) if known else None


def _assigned_from_source(names: set[str], node: exp.Expr) -> exp.Expr:
    """Let every clause of a merge give these columns the source's values, an UPDATE also where it names none."""
    if not isinstance(node, exp.Merge):
        return node
    alias = node.args["using"].alias_or_name

    def given(name: str) -> exp.Column:
        return exp.column(name, table=alias, quoted=True)

    for when in node.args["whens"].expressions:
        action = when.args["then"]
        if isinstance(action, exp.Insert) and isinstance(action.this, exp.Tuple):
            pairs = zip(action.this.expressions, action.expression.expressions, strict=False)
            values = [given(column.name) if column.name.lower() in names else value for column, value in pairs]
            action.set("expression", exp.Tuple(expressions=values))
        elif isinstance(action, exp.Update):
            others = [one for one in action.expressions if one.this.name.lower() not in names]
            of_source = [exp.EQ(this=exp.column(name, quoted=True), expression=given(name)) for name in sorted(names)]
            action.set("expressions", [*others, *of_source])
    return node


def _zeros_alike(now: Judged) -> Judged | None:
    return with_statement(now, rewritten(now.case.sql, _only_zero))


def _only_zero(node: exp.Expr) -> exp.Expr:
    """Drop the last branches of a CASE that are zeros like its ELSE; IF between zeros is its first value."""
    if isinstance(node, exp.If) and not isinstance(node.parent, exp.Case):
        true, false = node.args.get("true"), node.args.get("false")
        return true if None not in (zero_of(true), zero_of(false)) else node  # type: ignore[return-value] # both are there
    if not isinstance(node, exp.Case) or zero_of(node.args.get("default")) is None:
        return node
    branches = list(node.args["ifs"])
    while branches and zero_of(branches[-1].args["true"]) is not None:
        branches.pop()
    if not branches:
        return node.args["default"]  # type: ignore[no-any-return] # sqlglot's arguments have no types
    node.set("ifs", branches)
    return node


def zero_of(node: exp.Expr | None) -> float | None:
    """Read a constant 0.0 or -0.0; None if it is another, or none."""
    constant = constant_of(node)
    return None if constant is None or constant else float(constant)


def constant_of(node: exp.Expr | None) -> Decimal | None:
    """Read a constant number, also one that is cast, with the sign of a zero; None if there is none."""
    if isinstance(node, exp.Cast | exp.Paren):
        return constant_of(node.this)
    if isinstance(node, exp.Neg):
        inner = constant_of(node.this)
        return None if inner is None else inner.copy_negate()
    if not isinstance(node, exp.Literal) or _NUMBER.fullmatch(node.name) is None:
        return None
    return Decimal(node.name)


def _in_lists_intersected(now: Judged) -> Judged | None:
    return with_statement(now, rewritten(now.case.sql, _intersected))


def _intersected(node: exp.Expr) -> exp.Expr:
    """Join the IN lists that AND joins into one list, if one list contains a column."""
    if not isinstance(node, exp.And) or isinstance(node.parent, exp.And):
        return node
    parts = list(node.flatten())
    lists = [_in_list(part) for part in parts]
    for name in {found[0] for found in lists if found is not None}:
        own = [(place, found[1]) for place, found in enumerate(lists) if found is not None and found[0] == name]
        if len(own) < 2 or not any(item.find(exp.Column) for _, items in own for item in items):  # noqa: PLR2004
            continue
        common = set.intersection(*({item.sql(dialect=SparkDialect) for item in items} for _, items in own))
        kept = [item for item in own[0][1] if item.sql(dialect=SparkDialect) in common]
        first, *others = (place for place, _ in own)
        subject = read_sql(name)
        parts[first] = exp.In(this=subject, expressions=kept) if kept else exp.false()
        for place in others:
            parts[place] = exp.true()
    return exp.and_(*parts, wrap=True) if parts != list(node.flatten()) else node


def _in_list(node: exp.Expr) -> tuple[str, Sequence[exp.Expr]] | None:
    """Read ``x IN (...)``, or ``x = a OR x = b``: the text of x, and the members."""
    bare = node.unnest()
    if isinstance(bare, exp.In) and bare.expressions:
        return bare.this.sql(dialect=SparkDialect), bare.expressions
    if isinstance(bare, exp.Or):
        equal = [part.unnest() for part in bare.flatten()]
        subjects = {part.this.sql(dialect=SparkDialect) for part in equal if isinstance(part, exp.EQ)}
        if len(subjects) == 1 and all(isinstance(part, exp.EQ) for part in equal):
            return subjects.pop(), [part.expression for part in equal]
    return None


BUG_MODELS = (
    BugModel(name="conditions are cast to BOOLEAN", phase=Phase.REWRITE, apply=_conditions_cast),
    BugModel(
        name="conditions of MATCHED and BY SOURCE are not looked at if no row is touched",
        phase=Phase.REWRITE,
        apply=_conditions_unread,
    ),
    BugModel(
        name="clauses that can have no row are not looked at",
        phase=Phase.REWRITE,
        apply=_clauses_unread,
    ),
    BugModel(name="DEFAULT of a column without a default is NULL", phase=Phase.REWRITE, apply=_defaults_are_null),
    BugModel(name="clauses take NOT NULL columns from the source", phase=Phase.REWRITE, apply=_not_null_from_source),
    BugModel(name="of a conditional between zeros one branch is left", phase=Phase.REWRITE, apply=_zeros_alike),
    BugModel(name="IN lists are intersected by their texts", phase=Phase.REWRITE, apply=_in_lists_intersected),
)
