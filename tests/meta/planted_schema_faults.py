"""Five more faults: in schema evolution, in structs, defaults and generated columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planted_faults import PlantedFault, switch

from harness.verdict import Check
from merge.resolution import alignment, resolve, resolved
from merge.resolution.assign import TypedSql, null_of
from merge.resolution.resolved import target_column
from merge.resolution.struct_fields import FieldRule
from merge.resolution.type_sql import same_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.types import DataType

    from merge.resolution.assign import Assigned, Casting
    from merge.resolution.binding import BoundExpression
    from merge.resolution.implicit_columns import ImplicitColumns

_right_assign = alignment.assign
_right_casting = alignment.Alignment._casting
_right_generated_value = alignment.generated_value
_right_implicit_columns = resolve.implicit_columns
_right_widen = resolved.widen


def _nullifies(sql: str, source: DataType, target: DataType, casting: Casting, **how: Any) -> Assigned:
    return _right_assign(sql, source, target, casting, **{**how, "preserved": None})


def _by_position(self: alignment.Alignment, **how: bool) -> Casting:
    return replace(_right_casting(self, **how), fields=FieldRule.BY_POSITION)


def _without_defaults(*arguments: Any, **how: Any) -> ImplicitColumns:
    return replace(_right_implicit_columns(*arguments, **how), defaults={})


def _of_the_old_row(generated: BoundExpression, new_values: Mapping[int, str], *, column: str) -> str:
    updates = any(value == target_column(index) for index, value in new_values.items())
    return generated.sql if updates else _right_generated_value(generated, new_values, column=column)


def _lost_where_it_evolves(old: TypedSql, final: DataType) -> str:
    return _right_widen(old, final) if same_type(old.type, final) else null_of(final)


_CHANGES = frozenset({Check.ROWS, Check.CDF})

PLANTED_SCHEMA_FAULTS = (
    PlantedFault(
        name="update-star-drops-target-only-fields",
        sentence="UPDATE * with evolution makes the fields NULL that only the target has (against R-203, R-244).",
        checks=_CHANGES,
        switched_on=switch(alignment, assign=_nullifies),
    ),
    PlantedFault(
        name="structs-by-position",
        sentence="Structs are assigned by position (against R-242).",
        checks=_CHANGES | {Check.ERROR},
        switched_on=switch(alignment.Alignment, _casting=_by_position),
    ),
    PlantedFault(
        name="default-forgotten",
        sentence="A column that an INSERT does not list is NULL although it has a default (against R-220).",
        checks=_CHANGES | {Check.ERROR},  # a NULL may break a constraint
        switched_on=switch(resolve, implicit_columns=_without_defaults),
    ),
    PlantedFault(
        name="generated-column-of-the-old-row",
        sentence="A generated column is recomputed from the row before the UPDATE (against R-223).",
        checks=_CHANGES | {Check.ERROR},  # such a row violates the generated column's own check
        switched_on=switch(alignment, generated_value=_of_the_old_row),
    ),
    PlantedFault(
        name="struct-lost-where-it-evolves",
        sentence="Copied rows lose a struct that gets a new field (against R-241).",
        checks=_CHANGES | {Check.ERROR},  # a NULL may break a constraint
        switched_on=switch(resolved, widen=_lost_where_it_evolves),
    ),
)
