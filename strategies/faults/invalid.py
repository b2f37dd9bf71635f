"""Statements that break exactly one rule and must be refused, mostly during analysis.

Each fault is put into a valid drawn statement, so that everything around it varies as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.types.data_types import BIGINT, StructType
from mergecheck.strategies.choices import chance
from mergecheck.strategies.faults import assignment_faults as assignments
from mergecheck.strategies.faults import condition_faults as conditions
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax.statement import Action

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.faults.condition_faults import Break
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Statement

_TRIES = 4
_NARROWED = assignments.assigned("CAST(1 AS BIGINT)", to=lambda column: column.is_integer and column.type != BIGINT)


def draw_broken(
    draw: DrawFn, features: frozenset[Feature], statement: Statement, schemas: Schemas
) -> tuple[Statement, str | None]:
    """Draw a fault and break one rule of a valid statement; give its number, or None without a fault.

    It shrinks to the valid statement. Some drawn faults find nothing to break, so several are tried.
    """
    # only the STRICT policy refuses this, which few cases have
    if chance(draw, 20 if Feature.STRICT_POLICY in features else 0):
        narrowed = _NARROWED(draw, statement, schemas)
        return (statement, None) if narrowed is None else (narrowed, "R-251")
    for _ in range(_TRIES if uses(draw, features, Feature.INVALID) else 0):
        rule, faults = draw(_WEIGHTED_FAULTS)
        broken = draw(st.sampled_from(faults))(draw, statement, schemas)
        if broken is not None:
            return broken, rule
    return statement, None


_FAULTS: tuple[tuple[int, str, tuple[Break, ...]], ...] = (
    (
        1,
        "R-117",
        (
            conditions.unresolved_condition,
            assignments.value_of(f"{{table}}.{conditions.NOWHERE}"),
            assignments.unresolved_column,
        ),
    ),
    (2, "R-117", (conditions.wrong_side,)),
    (6, "R-118", (conditions.ambiguous,)),
    (2, "R-119", (assignments.source_on_the_left,)),
    (1, "R-107", (conditions.early_unconditional,)),
    (4, "R-130", (conditions.condition_of("RAND() < 2"),)),
    (3, "R-131", (conditions.condition_of("COUNT({column}) > 0"),)),
    (1, "R-132", (conditions.condition_of("ROW_NUMBER() OVER (ORDER BY {column}) = 1"),)),
    (
        1,
        "R-133",
        (
            conditions.condition_of("(SELECT 1) = 1"),
            conditions.condition_of("EXISTS (SELECT 1)"),
            conditions.condition_of("{column} IN (SELECT {other} FROM {table})"),
            conditions.condition_of("{column} >= (SELECT MAX({other}) FROM {table})"),
        ),
    ),
    (2, "R-135", (conditions.not_boolean, conditions.null_for_on)),
    (12, "R-210", (assignments.doubled(Action.UPDATE), assignments.field_of_struct(Action.UPDATE))),
    (4, "R-224", (assignments.field_of_struct(Action.INSERT),)),
    (8, "R-225", (assignments.doubled(Action.INSERT),)),
    (2, "R-238", (conditions.duplicate_source_columns,)),
    (1, "R-227", (assignments.value_of("DEFAULT"),)),
    (1, "R-214", (assignments.through_no_struct,)),
    (1, "R-108", (assignments.arity,)),
    (1, "R-134", (assignments.value_of("COUNT({column})"),)),
    (1, "R-201", (assignments.star_without_column,)),
    (
        1,
        "R-243",
        (
            assignments.assigned(
                "NAMED_STRUCT('no_such_field', 1)", to=lambda column: isinstance(column.type, StructType)
            ),
        ),
    ),
    (2, "R-257", (assignments.value_of("CAST('x' AS INT)"), assignments.value_of("1 DIV 0"))),
    (1, "R-251", (assignments.assigned("ARRAY(1)", to=lambda column: not column.nested),)),
    (2, "R-106", (conditions.no_clause,)),
)
"""Faults by rule, with a weight: high for those that few statements allow and that no other fault can replace."""

_WEIGHTED_FAULTS = st.sampled_from([(rule, faults) for weight, rule, faults in _FAULTS for _ in range(weight)])
