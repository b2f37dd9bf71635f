"""Resolution of the names in every clause, then of the final schema (R-113)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType
from sqlglot import exp

from mergecheck.merge.conf import AutomaticWidening
from mergecheck.merge.errors import fault_in
from mergecheck.merge.expressions.binding import bind
from mergecheck.merge.expressions.conditions import check_subquery_tables
from mergecheck.merge.expressions.resolved import ResolvedExpression, source_column
from mergecheck.merge.expressions.scope import Scope, Side, unresolved
from mergecheck.merge.expressions.targets import AssignedPath, find_target
from mergecheck.merge.resolution.schema_evolution import filter_schema, merge_schemas
from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.syntax.statement import ActionType, Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.merge.expressions.clock import StatementClock
    from mergecheck.merge.expressions.expression_types import ExpressionTypes
    from mergecheck.merge.resolution.delta_merge_into import DeltaMergeInto
    from mergecheck.merge.syntax.statement import Assignment

SEARCH_CONDITION = "search condition"
_VISIBLE = {ClauseKind.NOT_MATCHED: Side.SOURCE, ClauseKind.NOT_MATCHED_BY_SOURCE: Side.TARGET}


class TargetOnlyFields(Enum):
    """The treatment of struct fields that only the target has if a struct is assigned with evolution (R-112)."""

    NULLIFY = "nullify"
    PRESERVE = "preserve"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundAssignment:
    """A target column or field and the value it gets, not yet cast."""

    path: AssignedPath
    value: ResolvedExpression
    target_only_fields: TargetOnlyFields = TargetOnlyFields.NULLIFY


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundClause:
    """A clause whose names are resolved and whose star is expanded; values are not yet cast.

    Attributes:
        place: how messages name it.
    """

    kind: ClauseKind
    action: ActionType
    place: str
    assignments: tuple[BoundAssignment, ...]
    condition: ResolvedExpression | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundMerge:
    """A merge whose names and final schema are resolved; its clauses are in the order of ``DeltaMergeInto``.

    The final schema is the target's own object if nothing changes.
    """

    condition: ResolvedExpression
    clauses: tuple[BoundClause, ...]
    final_schema: StructType


def resolve_references_and_schema(
    merge: DeltaMergeInto,
    *,
    case_sensitive: bool,
    clock: StatementClock,
    types: ExpressionTypes,
    by_field: bool = False,
    widening: AutomaticWidening = AutomaticWidening.NEVER,
) -> BoundMerge:
    """Resolve ON, then the clauses kind by kind, then the schema (R-113).

    Raises:
        AnalysisError: the first name that does not resolve (R-117) or is ambiguous (R-118); then what
            ``merge_schemas`` refuses.
    """
    scope = Scope(relations=(merge.target, merge.source), case_sensitive=case_sensitive)
    with fault_in("ON"):
        on = _condition(merge.condition, scope, where=SEARCH_CONDITION, clock=clock, types=types)
    clauses = []
    for clause in merge.clauses:
        with fault_in(clause.place):
            bound = resolve_clause(
                clause,
                scope,
                evolution=merge.with_schema_evolution,
                by_field=by_field,
                clock=clock,
                types=types,
            )
        clauses.append(bound)
    final = _final_schema(merge, clauses, case_sensitive=case_sensitive, widening=widening)
    return BoundMerge(condition=on, clauses=tuple(clauses), final_schema=final)


def resolve_clause(
    clause: Clause,
    scope: Scope,
    *,
    evolution: bool,
    clock: StatementClock,
    types: ExpressionTypes,
    by_field: bool = False,
) -> BoundClause:
    """Resolve one clause: its actions first, its condition second (R-113, R-115).

    With evolution, names of UPDATE and INSERT that the target lacks may be the source's (R-231), and stars assign what
    the source has (R-202, R-203). ``by_field``: ``UPDATE SET *`` assigns each field of a struct by itself then (R-244).

    Raises:
        AnalysisError: a name does not resolve (R-117) or is ambiguous (R-118).
    """
    side = _VISIBLE.get(clause.kind)
    visible = scope if side is None else scope.only(side)
    where = f"{clause.action.name} clause"
    if clause.star:
        assignments = tuple(_expand_star(clause, scope, where=where, evolution=evolution, clock=clock))
        if by_field and evolution and clause.action is ActionType.UPDATE:
            assignments = tuple(leaf for one in assignments for leaf in _leaves(one))
    else:
        target = scope.only(Side.TARGET)
        # not matched by source clauses add nothing.
        adds = evolution and clause.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE
        source = scope.only(Side.SOURCE) if adds else None
        assignments = tuple(
            _assigned(assignment, target, source, visible, where=where, clock=clock)
            for assignment in clause.assignments
        )
    condition = None
    if clause.condition is not None:
        where = f"{clause.action.name} condition"
        condition = _condition(clause.condition, visible, where=where, clock=clock, types=types)
    return BoundClause(
        kind=clause.kind, action=clause.action, place=clause.place, assignments=assignments, condition=condition
    )


def _assigned(
    assignment: Assignment, target: Scope, source: Scope | None, visible: Scope, *, where: str, clock: StatementClock
) -> BoundAssignment:
    path = find_target(assignment.target, target, where=where, source=source)
    with fault_in(f"column {'.'.join(path.parts)}"):
        value = bind(assignment.value, visible, where=where, clock=clock)
    return BoundAssignment(path=path, value=value)


def _condition(
    text: str, scope: Scope, *, where: str, clock: StatementClock, types: ExpressionTypes
) -> ResolvedExpression:
    bound = bind(text, scope, where=where, clock=clock)
    check_subquery_tables(text, types)
    return bound


def _expand_star(
    clause: Clause, scope: Scope, *, where: str, evolution: bool, clock: StatementClock
) -> Iterator[BoundAssignment]:
    """Assign every target column from its namesake (R-201), or with evolution every source column (R-202, R-203)."""
    target, source = scope.only(Side.TARGET), scope.only(Side.SOURCE)
    if not evolution:
        for column in target.relations[0].schema.fields:
            if source.find((column.name,)) is None:
                raise unresolved(column.name, where, source)
            yield BoundAssignment(
                path=AssignedPath(column=column.name, written=column.name, fields=()),
                value=bind(quote_name(column.name), source, where=where, clock=clock),
            )
        return
    keeps = TargetOnlyFields.PRESERVE if clause.action is ActionType.UPDATE else TargetOnlyFields.NULLIFY
    for index, column in enumerate(source.relations[0].schema.fields):
        # By position: a name that the source has twice is found when the schemas are merged.
        yield BoundAssignment(
            path=AssignedPath(column=column.name, written=column.name, fields=()),
            value=ResolvedExpression(
                sql=source_column(index),
                tree=exp.column(source_column(index)),
                target_columns=frozenset(),
                source_columns=frozenset({index}),
                text=quote_name(column.name),
                reference=column.dataType,
            ),
            target_only_fields=keeps,
        )


def _leaves(assignment: BoundAssignment) -> Iterator[BoundAssignment]:
    """Assign every field of a struct by itself, on every level, so that the struct is never NULL (R-244)."""
    path, value = assignment.path, assignment.value
    if not isinstance(value.reference, StructType):
        yield assignment
        return
    for field in value.reference.fields:
        name = quote_name(field.name)
        part = replace(
            value,
            sql=f"{value.sql}.{name}",
            tree=exp.Dot(this=value.tree.copy(), expression=exp.to_identifier(field.name, quoted=True)),
            text=f"{value.text}.{name}",
            reference=field.dataType,
        )
        inner = replace(path, fields=(*path.fields, field.name))
        yield from _leaves(replace(assignment, path=inner, value=part))


def _final_schema(
    merge: DeltaMergeInto, clauses: Sequence[BoundClause], *, case_sensitive: bool, widening: AutomaticWidening
) -> StructType:
    """Add the source columns that clauses with evolution assign (R-230, R-233)."""
    target = merge.target.schema
    if not merge.with_schema_evolution:
        return target
    explicit = (
        bound
        for clause, bound in zip(merge.clauses, clauses, strict=True)
        if not clause.star and clause.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE
    )
    added = filter_schema(
        merge.source.schema,
        [assignment.path.parts for bound in explicit for assignment in bound.assignments],
        star=any(clause.star for clause in merge.clauses),
        case_sensitive=case_sensitive,
    )
    final = merge_schemas(target, added, widening)
    return target if final == target else final
