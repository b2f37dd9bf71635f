"""Statements that break exactly one rule and must be refused at analysis (parts 1 and 2, R-135 a little later).

Each fault is put into a valid drawn statement, so that everything around it is as varied as ever. A fault that finds
nothing to break in a statement gives None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.strategies.choices.chance import chance, pick
from mergecheck.strategies.choices.features import Feature, uses
from mergecheck.strategies.faults import assignment_faults, condition_faults
from mergecheck.strategies.faults.wrong_sides import wrong_side

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Schemas
    from mergecheck.strategies.syntax.rewriting import Break
    from mergecheck.strategies.syntax.statement import Statement

_TRIES = 4
_STRICT_PERCENT = 20


@dataclass(frozen=True, slots=True)
class Broken:
    """A statement that must be refused, and the rule that says so."""

    statement: Statement
    rule: str


def draw_broken(draw: DrawFn, features: frozenset[Feature], statement: Statement, schemas: Schemas) -> Broken | None:
    """Break one rule of a valid statement, if that is wanted; None where all that was tried finds nothing to break.

    What only the STRICT policy refuses has a chance of its own: few cases have that policy.
    """
    strict = chance(draw, _STRICT_PERCENT if Feature.STRICT_POLICY in features else 0)
    tries = _TRIES if uses(draw, features, Feature.INVALID) else 0
    picked = [("R-251", assignment_faults.narrowed)] if strict else [pick(draw, _FAULTS) for _ in range(tries)]
    for rule, breaks in picked:
        broken = breaks(draw, statement, schemas)
        if broken is not None:
            return Broken(broken, rule)
    return None


def _one_of(*faults: Break) -> Break:
    """Make one fault of several that break the same rule, so that each rule counts alike."""

    def breaks(draw: DrawFn, statement: Statement, schemas: Schemas) -> Statement | None:
        return pick(draw, faults)(draw, statement, schemas)

    return breaks


# some need much of a statement, and some faults of a merge show in nothing else: these stand there several times
_FAULTS: tuple[tuple[str, Break], ...] = (
    (
        "R-117",
        _one_of(
            condition_faults.unresolved_condition,
            assignment_faults.unresolved_value,
            assignment_faults.unresolved_column,
        ),
    ),
    *(("R-117", wrong_side),) * 2,
    *(("R-118", condition_faults.ambiguous),) * 6,
    ("R-119", assignment_faults.source_on_the_left),
    ("R-107", condition_faults.early_unconditional),
    *(("R-130", condition_faults.condition_of("RAND() < 2")),) * 4,
    *(("R-131", condition_faults.condition_of("COUNT({column}) > 0")),) * 3,
    ("R-132", condition_faults.condition_of("ROW_NUMBER() OVER (ORDER BY {column}) = 1")),
    (
        "R-133",
        _one_of(
            condition_faults.condition_of("(SELECT 1) = 1"),
            condition_faults.condition_of("EXISTS (SELECT 1)"),
            condition_faults.subquery_of_a_table("{column} IN (SELECT {other} FROM {table})"),
            condition_faults.subquery_of_a_table("{column} >= (SELECT MAX({other}) FROM {table})"),
        ),
    ),
    ("R-135", condition_faults.not_boolean),
    *(("R-210", _one_of(assignment_faults.conflict, assignment_faults.prefix_conflict)),) * 12,
    *(("R-224", assignment_faults.nested_insert),) * 4,
    *(("R-225", assignment_faults.duplicate_insert),) * 8,
    *(("R-238", condition_faults.duplicate_source_columns),) * 2,
    ("R-227", assignment_faults.default_keyword),
    ("R-214", assignment_faults.through_no_struct),
    ("R-108", assignment_faults.arity),
    ("R-134", assignment_faults.aggregate_value),
    ("R-201", assignment_faults.star_without_column),
    ("R-243", assignment_faults.other_fields),
    ("R-251", assignment_faults.array_into_scalar),
    ("R-106", condition_faults.no_clause),
)
