"""What a clause does, in two steps: names first (``bind_action``), then one value per column (``values_of``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType, StructType

from merge.resolution.assign import Assigned, assign
from merge.resolution.binding import BoundExpression, bind
from merge.resolution.functions import subqueries
from merge.resolution.resolved import target_column
from merge.resolution.scope import Scope, Side, unresolved
from merge.resolution.targets import (
    AssignedPath,
    check_insert_columns,
    check_no_conflicts,
    check_structs_only,
    find_target,
)
from merge.resolution.type_sql import type_sql
from merge.sql_dialect import quote_name, quote_string
from merge.statement import ActionType, Clause, ClauseKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from merge.conf import MergeConf
    from merge.resolution.clock import StatementClock

_VISIBLE = {ClauseKind.NOT_MATCHED: Side.SOURCE, ClauseKind.NOT_MATCHED_BY_SOURCE: Side.TARGET}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundAssignment:
    """A target column or field and the value it gets, not yet cast."""

    path: AssignedPath
    value: BoundExpression


def visible(kind: ClauseKind, scope: Scope) -> Scope:
    """Narrow the scope to what conditions and values of a kind may use (R-115)."""
    side = _VISIBLE.get(kind)
    return scope if side is None else scope.only(side)


def bind_action(clause: Clause, scope: Scope, *, clock: StatementClock) -> tuple[BoundAssignment, ...]:
    """Resolve the names of a clause's assignments and expand its star (R-113, R-201).

    Raises:
        AnalysisError: a name does not resolve or is ambiguous.
    """
    where = f"{clause.action.name} clause"
    if clause.star:
        return _expand_star(scope, where=where, clock=clock)
    target, values = scope.only(Side.TARGET), visible(clause.kind, scope)
    return tuple(
        BoundAssignment(
            path=find_target(assignment.target, target, where=where),
            value=bind(assignment.value, values, where=where, clock=clock),
        )
        for assignment in clause.assignments
    )


def check_alignment(clause: Clause, assignments: Sequence[BoundAssignment], scope: Scope) -> None:
    """Check that the assignments of a clause fit together and to the table (R-210, R-214, R-224, R-225)."""
    paths = [assignment.path for assignment in assignments]
    if clause.action is ActionType.INSERT:
        check_insert_columns(paths)
        return
    check_no_conflicts(paths, scope)
    for path in paths:
        check_structs_only(path, case_sensitive=scope.case_sensitive)


def values_of(
    clause: Clause,
    assignments: Sequence[BoundAssignment],
    *,
    schema: StructType,
    types: Callable[[BoundExpression], DataType],
    conf: MergeConf,
) -> tuple[Assigned, ...]:
    """Give one value per column of the final schema; none for DELETE.

    Raises:
        AnalysisError: a value cannot be assigned to its column (R-243, R-251).
    """
    if clause.action is ActionType.DELETE:
        return ()
    by_column: dict[int, list[BoundAssignment]] = {}
    for assignment in assignments:
        by_column.setdefault(assignment.path.index, []).append(assignment)
    values = []
    for index, column in enumerate(schema.fields):
        given = by_column.get(index)
        if given:
            values.append(_nested(target_column(index), column.dataType, given, depth=0, types=types, conf=conf))
        elif clause.action is ActionType.UPDATE:
            values.append(Assigned(sql=target_column(index), certain=True))
        else:
            null = f"CAST(NULL AS {type_sql(column.dataType)})"
            values.append(Assigned(sql=null, certain=True))
    return tuple(values)


def _expand_star(scope: Scope, *, where: str, clock: StatementClock) -> tuple[BoundAssignment, ...]:
    """Assign every target column its namesake of the source (R-201)."""
    target, source = scope.only(Side.TARGET), scope.only(Side.SOURCE)
    assignments = []
    for column in target.relations[0].schema.fields:
        if source.find((column.name,)) is None:
            raise unresolved(column.name, where, source)
        assignments.append(
            BoundAssignment(
                path=find_target((column.name,), target, where=where),
                value=bind(quote_name(column.name), source, where=where, clock=clock),
            )
        )
    return tuple(assignments)


def _nested(
    sql: str,
    data_type: DataType,
    assignments: Sequence[BoundAssignment],
    *,
    depth: int,
    types: Callable[[BoundExpression], DataType],
    conf: MergeConf,
) -> Assigned:
    """Give the new value of a column or field: assigned whole, or a struct rebuilt around what is assigned in it.

    A struct on the way that is NULL becomes a struct whose other fields are NULL, since they are read from it (R-213).
    """
    first = assignments[0]
    if len(first.path.fields) == depth:
        # Several whole assignments only reach this point in INSERT (n, N), where the first entry wins.
        repeatable = first.value.reference is not None or bool(subqueries(first.value.text))
        return assign(first.value.sql, types(first.value), data_type, conf, repeatable=repeatable)
    struct = data_type
    assert isinstance(struct, StructType)  # noqa: S101 - check_structs_only has refused all else
    certain, parts = True, []
    for field in struct.fields:
        inside = [a for a in assignments if _same(a.path.fields[depth], field.name, conf)]
        value = Assigned(sql=f"{sql}.{quote_name(field.name)}", certain=True)
        if inside:
            value = _nested(value.sql, field.dataType, inside, depth=depth + 1, types=types, conf=conf)
        certain = certain and value.certain
        parts.append(f"{quote_string(field.name)}, {value.sql}")
    return Assigned(sql=f"named_struct({', '.join(parts)})", certain=certain)


def _same(left: str, right: str, conf: MergeConf) -> bool:
    return left == right if conf.case_sensitive else left.lower() == right.lower()
