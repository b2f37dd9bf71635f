"""Statements that break exactly one rule and must be refused, mostly during analysis.

Each fault is put into a valid drawn statement, so that everything around it varies as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance
from mergecheck.strategies.faults import assignment_faults as assignments
from mergecheck.strategies.faults import condition_faults as conditions
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.faults.condition_faults import Break
    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.statement import Statement

_TRIES = 4
_STRICT_PERCENT = 20


@dataclass(frozen=True, slots=True)
class Broken:
    """A statement that must be refused, and the number of the rule that it breaks."""

    statement: Statement
    rule: str


def draw_broken(draw: DrawFn, features: frozenset[Feature], statement: Statement, schemas: Schemas) -> Broken | None:
    """Draw a fault and break one rule of a valid statement; None without a fault, to which it shrinks.

    Some drawn faults find nothing to break, so several are tried.
    """
    # only the STRICT policy refuses this, which few cases have
    if chance(draw, _STRICT_PERCENT if Feature.STRICT_POLICY in features else 0):
        narrowed = assignments.narrowed(draw, statement, schemas)
        return None if narrowed is None else Broken(narrowed, "R-251")
    tries = _TRIES if uses(draw, features, Feature.INVALID) else 0
    for _ in range(tries):
        rule, faults = draw(_WEIGHTED_FAULTS)
        broken = draw(st.sampled_from(faults))(draw, statement, schemas)
        if broken is not None:
            return Broken(broken, rule)
    return None


_FAULTS: tuple[tuple[int, str, tuple[Break, ...]], ...] = (
    (1, "R-117", (conditions.unresolved_condition, assignments.unresolved_value, assignments.unresolved_column)),
    (2, "R-117", (conditions.wrong_side,)),
    (6, "R-118", (conditions.ambiguous,)),
    (1, "R-119", (assignments.source_on_the_left,)),
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
    (1, "R-135", (conditions.not_boolean,)),
    (12, "R-210", (assignments.conflict, assignments.prefix_conflict)),
    (4, "R-224", (assignments.nested_insert,)),
    (8, "R-225", (assignments.duplicate_insert,)),
    (2, "R-238", (conditions.duplicate_source_columns,)),
    (1, "R-227", (assignments.default_keyword,)),
    (1, "R-214", (assignments.through_no_struct,)),
    (1, "R-108", (assignments.arity,)),
    (1, "R-134", (assignments.aggregate_value,)),
    (1, "R-201", (assignments.star_without_column,)),
    (1, "R-243", (assignments.other_fields,)),
    (1, "R-251", (assignments.array_into_scalar,)),
    (1, "R-106", (conditions.no_clause,)),
)
"""Faults by rule, with a weight: high for those that few statements allow and that no other fault can replace."""

_WEIGHTED_FAULTS = st.sampled_from([(rule, faults) for weight, rule, faults in _FAULTS for _ in range(weight)])
