"""PreprocessTableMerge: conditions are checked, values are aligned with the final schema (R-113)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.types import NullType

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError, fault_in
from mergecheck.merge.expressions.conditions import check_boolean, check_condition, check_value
from mergecheck.merge.expressions.functions import array_operands, subqueries
from mergecheck.merge.expressions.known_types import known_type
from mergecheck.merge.expressions.resolved import ResolvedClause, ResolvedExpression, ResolvedMerge
from mergecheck.merge.resolution.alignment import Alignment, check_assignments
from mergecheck.merge.resolution.references import SEARCH_CONDITION
from mergecheck.merge.syntax.statement import ClauseKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql.types import DataType, StructType

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.expressions.expression_types import ExpressionTypes
    from mergecheck.merge.resolution.implicit_columns import ImplicitColumns
    from mergecheck.merge.resolution.references import BoundAssignment, BoundClause, BoundMerge
    from mergecheck.merge.types.assign import Assigned

_ON = "ON"
_ALIGNED = (ClauseKind.MATCHED, ClauseKind.NOT_MATCHED_BY_SOURCE, ClauseKind.NOT_MATCHED)
"""The order in which Delta checks and aligns the clauses (R-113)."""
_CORRELATED = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY.UNSUPPORTED_CORRELATED_SCALAR_SUBQUERY"


def preprocess_table_merge(
    merge: BoundMerge,
    *,
    target_schema: StructType,
    source_schema: StructType,
    implicit: ImplicitColumns,
    evolution: bool,
    conf: MergeConf,
    types: ExpressionTypes,
) -> ResolvedMerge:
    """Check all conditions; check and align clause by clause; then cast the values.

    Raises:
        AnalysisError: the first of these checks that fails (R-130 to R-134, R-210 to R-225, R-243, R-251).
        UnsupportedStatementError: see ``generated_value``.
    """
    with fault_in(_ON):
        check_condition(merge.condition, operation=SEARCH_CONDITION)
    for clause in merge.clauses:
        if clause.condition is not None:
            with fault_in(clause.place):
                check_condition(clause.condition, operation=f"{clause.action.name} condition")
    in_order = sorted(merge.clauses, key=lambda clause: _ALIGNED.index(clause.kind))
    faults = [fault for clause in in_order for one in clause.assignments if (fault := _fault(one, clause)) is not None]
    sound = [_without_faults(clause) for clause in in_order] if faults else in_order
    try:
        known = _types(replace(merge, clauses=tuple(sound)), implicit, types, target_schema, source_schema)
    except AnalysisError as error:
        if error.error_class == _CORRELATED:  # another fault of a value that Spark reports later
            for clause in in_order:
                with fault_in(clause.place):
                    check_assignments(clause, merge.final_schema, implicit, conf)
        raise
    alignment = Alignment(
        target_schema=target_schema,
        final_schema=merge.final_schema,
        implicit=implicit,
        evolution=evolution,
        conf=conf,
        types=known,
    )
    aligned: list[tuple[BoundClause, tuple[Assigned, ...]]] = []
    uncertain: dict[str, str] = {}
    for clause, allowed in zip(in_order, sound, strict=True):
        with fault_in(clause.place):
            check_assignments(clause, merge.final_schema, implicit, conf)
            values = alignment.values(allowed)
        for name, value in zip(merge.final_schema.names, values, strict=False):  # a DELETE has none
            if not value.certain:
                uncertain.setdefault(value.sql, f"{clause.place}, column {name}")
        aligned.append((clause, values))
    _asked(types, uncertain)  # raises if a cast does not exist
    if faults:
        raise faults[0]
    resolved = [_clause(clause, values, known, alignment.generated_ids(clause)) for clause, values in aligned]
    if len({clause.generated_ids for clause in resolved if clause.generated_ids}) > 1:
        raise UnsupportedStatementError(
            "INSERT clauses that leave out different identity columns", hint="Leave out the same in each of them."
        )
    return ResolvedMerge(
        target_schema=target_schema,
        source_schema=source_schema,
        final_schema=merge.final_schema,
        condition=_resolved(merge.condition, known),
        matched=tuple(c for c in resolved if c.kind is ClauseKind.MATCHED),
        not_matched=tuple(c for c in resolved if c.kind is ClauseKind.NOT_MATCHED),
        not_matched_by_source=tuple(c for c in resolved if c.kind is ClauseKind.NOT_MATCHED_BY_SOURCE),
        keep_null_structs=conf.preserve_null_source_structs,
        not_boolean=_not_boolean(merge, in_order, known),
    )


def _without_faults(clause: BoundClause) -> BoundClause:
    return replace(clause, assignments=tuple(a for a in clause.assignments if _fault(a, clause) is None))


def _fault(assignment: BoundAssignment, clause: BoundClause) -> AnalysisError | None:
    """Return the fault of a value itself, which Spark reports only when all clauses are aligned (R-113).

    Raises:
        AnalysisError: for a generator, which is met at once.
    """
    try:
        with fault_in(_place(assignment, clause)):
            check_value(assignment.value)
    except AnalysisError as error:
        if error.error_class.startswith("UNSUPPORTED_GENERATOR"):
            raise
        return error
    return None


def _types(
    merge: BoundMerge, implicit: ImplicitColumns, types: ExpressionTypes, target: StructType, source: StructType
) -> dict[str, DataType]:
    """Ask once for all types that do not follow from the schemas."""
    values = [*_values(merge), *implicit.expressions]
    conditions = {merge.condition: _ON} | {c.condition: c.place for c in merge.clauses if c.condition is not None}
    places = {one.value: _place(one, clause) for clause in merge.clauses for one in clause.assignments}
    kinds = {one.sql: known_type(one, target, source) for one in [*conditions, *values]}
    known = {sql: kind for sql, kind in kinds.items() if kind is not None}
    asked = {condition.sql: place for condition, place in conditions.items() if condition.sql not in known}
    for value in values:
        if value.sql not in known:
            for sql in (value.sql, *array_operands(value.sql)):
                asked.setdefault(sql, places.get(value, "the table's own expressions"))
    try:
        return known | _asked(types, asked)
    except AnalysisError as error:
        raise _correlated(error, values) or error from error


def _place(assignment: BoundAssignment, clause: BoundClause) -> str:
    return f"{clause.place}, column {'.'.join(assignment.path.parts)}"


def _asked(types: ExpressionTypes, places: Mapping[str, str]) -> dict[str, DataType]:
    """Ask for the types of expressions, each with its place in the statement for the message of an error.

    Raises:
        AnalysisError: one of them is wrong.
    """
    unique = tuple(places)
    try:
        return dict(zip(unique, types.of(unique), strict=True))
    except AnalysisError:
        for sql, place in places.items():  # one by one, to find the wrong one
            with fault_in(place):
                types.of((sql,))
        raise


def _clause(
    clause: BoundClause, values: Sequence[Assigned], known: Mapping[str, DataType], generated_ids: frozenset[int]
) -> ResolvedClause:
    condition = clause.condition
    return ResolvedClause(
        kind=clause.kind,
        action=clause.action,
        condition=None if condition is None else _resolved(condition, known),
        values=tuple(value.sql for value in values),
        source_columns=frozenset[int]().union(*(a.value.source_columns for a in clause.assignments)),
        generated_ids=generated_ids,
        place=clause.place,
    )


def _resolved(condition: ResolvedExpression, known: Mapping[str, DataType]) -> ResolvedExpression:
    sql = condition.sql
    return replace(condition, sql=f"CAST({sql} AS BOOLEAN)") if isinstance(known[sql], NullType) else condition


def _not_boolean(
    merge: BoundMerge, in_order: Sequence[BoundClause], known: Mapping[str, DataType]
) -> AnalysisError | None:
    """Return the error of the first condition that is no boolean; ON comes last."""
    try:
        for clause in in_order:
            if clause.condition is not None:
                with fault_in(clause.place):
                    check_boolean(clause.condition, known[clause.condition.sql], is_search=False)
        with fault_in(_ON):
            check_boolean(merge.condition, known[merge.condition.sql], is_search=True)
    except AnalysisError as error:
        return error
    return None


def _values(merge: BoundMerge) -> list[ResolvedExpression]:
    return [assignment.value for clause in merge.clauses for assignment in clause.assignments]


def _correlated(error: AnalysisError, values: Sequence[ResolvedExpression]) -> AnalysisError | None:
    """Build the error for a value's subquery that uses the merge's columns (R-134)."""
    if not error.error_class.startswith("UNRESOLVED_COLUMN"):
        return None
    texts = [value.text for value in values if subqueries(value.text)]
    if not texts:
        return None
    return AnalysisError(
        _CORRELATED,
        f"A subquery in a value may only use its own tables: {texts[0]}. Join the source with them instead.",
    )
