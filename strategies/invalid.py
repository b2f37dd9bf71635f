"""Statements that break exactly one rule and must be refused at analysis (parts 1 and 2, R-135 a little later).

Each fault is put into a valid drawn statement, so that everything around it is as varied as ever. A fault that finds
nothing to break in a statement gives None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategies import assignment_faults, condition_faults
from strategies.chance import pick

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from strategies.columns import Schemas
    from strategies.rewriting import Break
    from strategies.statement import Statement


@dataclass(frozen=True, slots=True)
class Broken:
    """A statement that must be refused, and the rule that says so."""

    statement: Statement
    rule: str


def draw_broken(draw: DrawFn, statement: Statement, schemas: Schemas) -> Broken | None:
    """Break one rule of a valid statement; None where the rule that was picked finds nothing to break."""
    rule, breaks = pick(draw, _FAULTS)
    broken = breaks(draw, statement, schemas)
    return None if broken is None else Broken(broken, rule)


_FAULTS: tuple[tuple[str, Break], ...] = (
    ("R-117", condition_faults.unresolved_condition),
    ("R-117", assignment_faults.unresolved_value),
    ("R-117", assignment_faults.unresolved_column),
    ("R-118", condition_faults.ambiguous),
    ("R-119", assignment_faults.source_on_the_left),
    ("R-107", condition_faults.early_unconditional),
    ("R-108", assignment_faults.arity),
    ("R-130", condition_faults.condition_of("RAND() < 2")),
    ("R-131", condition_faults.condition_of("COUNT({column}) > 0")),
    ("R-132", condition_faults.condition_of("ROW_NUMBER() OVER (ORDER BY {column}) = 1")),
    ("R-133", condition_faults.condition_of("(SELECT 1) = 1")),
    ("R-133", condition_faults.condition_of("EXISTS (SELECT 1)")),
    ("R-134", assignment_faults.aggregate_value),
    ("R-135", condition_faults.not_boolean),
    ("R-210", assignment_faults.conflict),
    ("R-210", assignment_faults.prefix_conflict),
    ("R-224", assignment_faults.nested_insert),
    ("R-214", assignment_faults.through_no_struct),
    ("R-225", assignment_faults.duplicate_insert),
    ("R-227", assignment_faults.default_keyword),
    ("R-201", assignment_faults.star_without_column),
    ("R-243", assignment_faults.other_fields),
    ("R-251", assignment_faults.array_into_scalar),
    ("R-238", condition_faults.duplicate_source_columns),
    ("R-106", condition_faults.no_clause),
)
