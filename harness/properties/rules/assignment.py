"""Part 2: stars, assignments, schema evolution, structs, casts."""

from __future__ import annotations

from mergecheck.harness.properties.rules.assigned import (
    array_function,
    by_name,
    casts,
    casts_keys,
    coerces,
    has_failing_constant,
    lazy,
    nested,
    null_on_the_way,
    null_struct,
    other_fields,
    rounds,
    several_fields,
)
from mergecheck.harness.properties.rules.evidence import Evidence, Rule
from mergecheck.model.table_properties import TYPE_WIDENING, is_on
from mergecheck.reference.analysis.new_schema import changed_fields
from mergecheck.reference.analysis.values.alignment import same_type
from mergecheck.reference.syntax.statement import Action, Kind

_DEPENDENT = (
    "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH",
    "DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
    "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
)


def _widens(e: Evidence) -> bool:
    """Look for a column or field that has another type after the merge."""
    if not e.new_schema or e.merge is None or not is_on(e.case.target.properties, TYPE_WIDENING):
        return False
    return any(changed_fields(e.case.target.schema, e.merge.final_schema))


def _star(e: Evidence, *actions: Action, evolution: bool) -> bool:
    return e.merge is not None and e.evolution is evolution and any(c.star and c.action in actions for c in e.written())


def _idle_star(e: Evidence) -> bool:
    """Look for a star in a clause that applies to no row, if the schema changes all the same."""
    if not e.new_schema or e.merge is None:
        return False
    busy = {(applied.clause.kind, applied.index) for applied in e.applied}
    return any(
        clause.assigned and clause.assigned[0].preserves and (kind, index) not in busy
        for kind in Kind
        for index, clause in enumerate(e.merge.of(kind))
    )


def _updates_partly(e: Evidence) -> bool:
    width = 0 if e.merge is None else len(e.merge.final_schema.columns)
    return any(len({a.path[0] for a in one.clause.assigned}) < width for one in e.applied_clauses(Action.UPDATE))


def _assigns_new_column(e: Evidence) -> bool:
    known = {name.lower() for name in e.case.target.schema.names}
    return e.evolution and any(
        a.path[0].lower() not in known for c in e.resolved() for a in c.assigned if not a.preserves
    )


def _qualified_by_source(e: Evidence) -> bool:
    if not e.evolution or e.statement is None or e.merge is None:
        return False
    alias = e.statement.source_alias or e.statement.source
    known = {name.lower() for name in e.case.target.schema.names}
    return any(
        len(a.path) > 1 and e.same(a.path[0], alias) and a.path[1].lower() in known
        for clause in e.written()
        for a in clause.assignments
    )


def _adds_nothing_here(e: Evidence) -> bool:
    clauses = e.resolved()
    quiet = any(c.kind is Kind.NOT_MATCHED_BY_SOURCE or c.action is Action.DELETE for c in clauses)
    if not e.evolution or e.source_schema is None or not quiet:
        return False
    known = {name.lower() for name in e.case.target.schema.names}
    return any(name.lower() not in known for name in e.source_schema.names)


def _keeps_type(e: Evidence) -> bool:
    if e.rejected("DELTA_FAILED_TO_MERGE_FIELDS"):
        return True
    if not e.evolution or e.merge is None or e.source_schema is None:
        return False
    given = {c.name.lower(): c.type for c in e.source_schema.columns}
    return any(
        c.name.lower() in given and not same_type(given[c.name.lower()], c.type) for c in e.case.target.schema.columns
    )


def _partial_insert(e: Evidence) -> bool:
    width = 0 if e.merge is None else len(e.merge.final_schema.columns)
    return any(len(applied.clause.assigned) < width for applied in e.applied_clauses(Action.INSERT))


def _generated(e: Evidence, action: Action) -> bool:
    generated = any(column.generated is not None for column in e.case.target.schema.columns)
    return generated and any(e.applied_clauses(action))


def _names_twice(e: Evidence) -> bool:
    if e.rejected("DELTA_DUPLICATE_COLUMNS_ON_INSERT"):
        return True
    lists = ([a.path[-1].lower() for a in clause.assignments] for clause in e.written(Kind.NOT_MATCHED))
    return e.prediction is not None and any(len(set(names)) < len(names) for names in lists)


def _evolved_rows(e: Evidence) -> bool:
    return e.new_schema and bool(e.changed_rows or e.case.target.rows)


RULES = (
    Rule(number="R-201", reached=lambda e: _star(e, *Action, evolution=False)),
    Rule(number="R-202", reached=lambda e: _star(e, Action.INSERT, evolution=True)),
    Rule(number="R-203", reached=lambda e: _star(e, Action.UPDATE, evolution=True)),
    Rule(number="R-204", reached=_idle_star),
    Rule(number="R-210", reached=lambda e: e.rejected("DELTA_CONFLICT_SET_COLUMN")),
    Rule(number="R-211", reached=_updates_partly),
    Rule(number="R-212", reached=lambda e: any(nested(e))),
    Rule(number="R-213", reached=null_on_the_way),
    Rule(
        number="R-214",
        reached=lambda e: e.rejected("DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
    ),
    Rule(number="R-215", reached=several_fields),
    Rule(number="R-216", reached=lambda e: e.rejected("DELTA_MISSING_SET_COLUMN")),
    Rule(number="R-220", reached=_partial_insert),
    Rule(number="R-221", reached=lambda e: e.rejected("DELTA_NOT_NULL_CONSTRAINT_VIOLATED")),
    Rule(number="R-222", reached=lambda e: _generated(e, Action.INSERT)),
    Rule(number="R-223", reached=lambda e: _generated(e, Action.UPDATE)),
    Rule(number="R-224", reached=lambda e: e.rejected("DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION")),
    Rule(number="R-225", reached=_names_twice),
    Rule(
        number="R-226",
        reached=lambda e: (
            (e.prediction is not None and e.prediction.generated_ids is not None)
            or e.rejected(
                "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"
            )
        ),
    ),
    Rule(
        number="R-227",
        reached=lambda e: e.rejected("DELTA_MERGE_UNRESOLVED_EXPRESSION") and "DEFAULT" in e.case.sql.upper(),
    ),
    Rule(number="R-230", reached=_adds_nothing_here),
    Rule(number="R-231", reached=_assigns_new_column),
    Rule(number="R-232", reached=_qualified_by_source),
    Rule(number="R-233", reached=lambda e: e.evolution and e.merge is not None),
    Rule(number="R-234", reached=lambda e: e.new_schema),
    Rule(number="R-235", reached=lambda e: e.new_schema),
    Rule(number="R-236", reached=_keeps_type),
    Rule(number="R-237", reached=_widens),
    Rule(number="R-238", reached=lambda e: e.rejected("DELTA_DUPLICATE_COLUMNS_FOUND")),
    Rule(number="R-239", reached=lambda e: e.new_schema and e.changed_rows == 0),
    Rule(number="R-240", reached=lambda e: e.rejected(*_DEPENDENT)),
    Rule(number="R-241", reached=_evolved_rows),
    Rule(number="R-242", reached=by_name),
    Rule(number="R-243", reached=other_fields),
    Rule(number="R-244", reached=lambda e: null_struct(e, same=False)),
    Rule(number="R-245", reached=lambda e: null_struct(e, same=True)),
    Rule(number="R-246", reached=array_function),
    Rule(number="R-250", reached=casts),
    Rule(
        number="R-251",
        reached=lambda e: casts(e) or e.rejected("CANNOT_UP_CAST_DATATYPE", "CAST_INVALID_INPUT", "DATATYPE_MISMATCH"),
    ),
    Rule(number="R-252", reached=lambda e: e.rejected("DELTA_CAST_OVERFLOW_IN_TABLE_WRITE")),
    Rule(number="R-253", reached=rounds),
    Rule(number="R-254", reached=lazy),
    Rule(number="R-255", reached=coerces),
    Rule(number="R-256", reached=lambda e: casts_keys(e) or e.rejected("DUPLICATED_MAP_KEY", "NULL_MAP_KEY")),
    Rule(number="R-257", reached=has_failing_constant),
)
