"""Faults in names, stars, assignments, casts and the checks of a statement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge.expressions import scope
from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.expressions.scope import Scope, Side
from mergecheck.merge.resolution import alignment, preprocess, references, resolve
from mergecheck.merge.resolution.alignment import Alignment
from mergecheck.merge.resolution.implicit_columns import substitute
from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.types import assign, casts
from mergecheck.merge.types.assign import Assigned, null_of
from mergecheck.merge.types.struct_fields import FieldRule
from mergecheck.merge.types.type_sql import type_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.merge.expressions.binding import BoundExpression
    from mergecheck.merge.resolution.implicit_columns import ImplicitColumns
    from mergecheck.merge.types.assign import Casting


def _by_position(right: Any) -> Callable[..., Any]:
    def expanded(clause: Any, both: Any, **how: Any) -> Any:
        found = list(right(clause, both, **how))
        fields = both.only(Side.SOURCE).relations[0].schema.fields
        return [
            replace(
                assignment,
                value=replace(
                    assignment.value,
                    sql=source_column(index),
                    source_columns=frozenset({index}),
                    reference=fields[index].dataType,
                ),
            )
            if index < len(fields)
            else assignment
            for index, assignment in enumerate(found)
        ]

    return expanded


def _unassigned_is_null(right: Any) -> Callable[..., Assigned]:
    def updated(self: Any, index: int, given: Any) -> Assigned:
        answer: Assigned = right(self, index, given)
        return answer if given else Assigned(sql=null_of(self.final_schema.fields[index].dataType))

    return updated


def _one_after_another(right: Any) -> Callable[..., tuple[Assigned, ...]]:
    def values(self: Any, clause: Any) -> tuple[Assigned, ...]:
        answer: tuple[Assigned, ...] = right(self, clause)
        if clause.action is not ActionType.UPDATE:
            return answer
        new: dict[str, str] = {}
        changed = []
        for index, value in enumerate(answer):
            later = replace(value, sql=substitute(value.sql, new))
            if value.sql != target_column(index):
                new[target_column(index)] = later.sql
            changed.append(later)
        return tuple(changed)

    return values


def _first_that_fits(right: Any) -> Callable[..., Any]:
    return lambda found, parts: right(found[:1], parts)


def _both_sides(right: Any) -> Callable[[Scope, Side], Scope]:
    return lambda self, side: self if side is Side.SOURCE and len(self.relations) > 1 else right(self, side)


def _as_spelled(_right: Any) -> Callable[[Scope, str], str]:
    return lambda _self, name: name


def _without_defaults(right: Any) -> Callable[..., ImplicitColumns]:
    return lambda *args, **how: replace(right(*args, **how), defaults={})


def _without_generated(right: Any) -> Callable[..., ImplicitColumns]:
    return lambda *args, **how: replace(right(*args, **how), generated={})


def _of_the_old_row(right: Any) -> Callable[..., str]:
    def value(generated: BoundExpression, new_values: Mapping[int, str], *, column: str) -> str:
        updates = any(new == target_column(index) for index, new in new_values.items())
        answer: str = right(generated, new_values, column=column)
        return generated.sql if updates else answer

    return value


def _structs_by_position(right: Any) -> Callable[..., Casting]:
    return lambda self, **how: replace(right(self, **how), fields=FieldRule.BY_POSITION)


def _null_structs_expanded(right: Any) -> Callable[..., Casting]:
    return lambda self, **how: replace(right(self, **how), keep_null_structs=False)


def _try_cast(right: Any) -> Callable[..., str]:
    def leaf(sql: str, source: Any, target: Any, conf: Any) -> str:
        answer: str = right(sql, source, target, conf)
        plain = f"CAST({sql} AS {type_sql(target)})"
        return f"TRY_CAST({sql} AS {type_sql(target)})" if answer == plain else answer

    return leaf


RESOLUTION_FAULTS = (
    Fault(
        name="star-by-position",
        area=Area.RESOLUTION,
        sentence="A star takes the source's columns in their order, not by their names.",
        rules=("R-201",),
        origin="R-201",
        edits=(Edit(references, "_expand_star", _by_position, comparable=False),),
    ),
    Fault(
        name="unassigned-becomes-null",
        area=Area.RESOLUTION,
        sentence="A column that an UPDATE does not assign becomes NULL.",
        rules=("R-211",),
        origin="R-211",
        edits=(Edit(Alignment, "_updated", _unassigned_is_null),),
    ),
    Fault(
        name="assignments-one-after-another",
        area=Area.RESOLUTION,
        sentence="An assignment sees the values of the assignments before it.",
        rules=("R-211",),
        origin="MySQL's UPDATE",
        edits=(Edit(Alignment, "values", _one_after_another),),
    ),
    Fault(
        name="ambiguous-name-taken",
        area=Area.RESOLUTION,
        sentence="A name that both tables have means the target's column.",
        rules=("R-118",),
        origin="R-118",
        edits=(Edit(scope, "_only", _first_that_fits),),
    ),
    Fault(
        name="insert-sees-target",
        area=Area.RESOLUTION,
        sentence="NOT MATCHED clauses may name target columns.",
        rules=("R-115",),
        origin="R-115",
        edits=(Edit(Scope, "only", _both_sides),),
    ),
    Fault(
        name="names-compared-as-spelled",
        area=Area.RESOLUTION,
        sentence="Names are compared with regard to case.",
        rules=("R-120",),
        origin="R-120",
        edits=(Edit(Scope, "fold", _as_spelled),),
    ),
    Fault(
        name="default-forgotten",
        area=Area.RESOLUTION,
        sentence="A column that an INSERT does not list is NULL although it has a default.",
        rules=("R-220",),
        origin="R-220",
        edits=(Edit(resolve, "implicit_columns", _without_defaults),),
    ),
    Fault(
        name="generated-column-forgotten",
        area=Area.RESOLUTION,
        sentence="A generated column that no clause assigns is not computed.",
        rules=("R-222", "R-223"),
        origin="R-222",
        edits=(Edit(resolve, "implicit_columns", _without_generated),),
    ),
    Fault(
        name="generated-column-of-the-old-row",
        area=Area.RESOLUTION,
        sentence="A generated column is recomputed from the row before the UPDATE.",
        rules=("R-223",),
        origin="R-223",
        edits=(Edit(alignment, "generated_value", _of_the_old_row),),
    ),
    Fault(
        name="structs-by-position",
        area=Area.RESOLUTION,
        sentence="Structs are assigned by position.",
        rules=("R-242",),
        origin="danger 21",
        edits=(Edit(Alignment, "_casting", _structs_by_position),),
    ),
    Fault(
        name="null-structs-expanded",
        area=Area.RESOLUTION,
        sentence="A NULL struct becomes a struct of NULLs.",
        rules=("R-244", "R-245"),
        origin="danger 22",
        edits=(Edit(Alignment, "_casting", _null_structs_expanded),),
    ),
    Fault(
        name="overflow-becomes-null",
        area=Area.RESOLUTION,
        sentence="A value that does not fit its column becomes NULL instead of an error.",
        rules=("R-252",),
        origin="R-252",
        edits=(Edit(assign, "cast_leaf", _try_cast),),
    ),
    Fault(
        name="strict-policy-ignored",
        area=Area.RESOLUTION,
        sentence="The STRICT policy allows casts that may lose something.",
        rules=("R-251",),
        origin="R-251",
        edits=(Edit(casts, "_require_up_cast", lambda _right: lambda _source, _target: None),),
    ),
    Fault(
        name="conflicting-assignments-accepted",
        area=Area.RESOLUTION,
        sentence="One UPDATE may assign a column twice.",
        rules=("R-210", "R-214", "R-216"),
        origin="R-210",
        edits=(Edit(alignment, "check_update_paths", lambda _right: lambda *_args, **_how: None),),
    ),
    Fault(
        name="doubled-insert-columns-accepted",
        area=Area.RESOLUTION,
        sentence="The column list of an INSERT may name a column twice, or a field.",
        rules=("R-224", "R-225"),
        origin="R-225",
        edits=(Edit(alignment, "check_insert_columns", lambda _right: lambda *_args, **_how: None),),
    ),
    Fault(
        name="conditions-unchecked",
        area=Area.RESOLUTION,
        sentence="Conditions may hold random functions, aggregates and subqueries.",
        rules=("R-130", "R-131", "R-133"),
        origin="R-130",
        edits=(Edit(preprocess, "check_condition", lambda _right: lambda *_args, **_how: None),),
    ),
)
