"""What assigned values are beside the columns that take them: other types, other fields, NULL structs, nested paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.types.data_types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    StructType,
)
from mergecheck.reference.analysis.values.alignment import has_target_only_fields, same_type
from mergecheck.reference.syntax.statement import Action

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.rules.evidence import AppliedClause, Evidence
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.analysis.values.assignments import Assigned


def nested(e: Evidence) -> Iterator[tuple[Assigned, AppliedClause]]:
    """Go through assigned fields of structs, with the clauses that assign them."""
    for applied in e.applied:
        for assigned in applied.clause.assigned:
            if len(assigned.path) > 1:
                yield assigned, applied


def null_on_the_way(e: Evidence) -> bool:
    """Return whether a nested assignment led through a NULL struct (R-213)."""
    return any(
        candidate.rid is not None and _leads_through_null(e, assigned.path, candidate.rid)
        for assigned, applied in nested(e)
        for candidate in applied.candidates
    )


def _leads_through_null(e: Evidence, path: tuple[str, ...], rid: int) -> bool:
    """Return whether a struct on the way to a field is NULL in a row of the target."""
    if e.merge is None or e.effects is None:
        return False
    value, fields = e.effects.old[rid], e.merge.final_schema.columns
    for part in path[:-1]:
        index = [field.name.lower() for field in fields].index(part.lower())
        value, data_type = value[index], fields[index].type
        if value is None:
            return True
        fields = data_type.fields if isinstance(data_type, StructType) else ()
    return False


def several_fields(e: Evidence) -> bool:
    """Return whether one UPDATE assigned several fields of one column (R-215)."""
    for applied in e.applied_clauses(Action.UPDATE):
        columns = [a.path[0].lower() for a in applied.clause.assigned if len(a.path) > 1]
        if len(set(columns)) < len(columns):
            return True
    return False


def _wanted(e: Evidence, assigned: Assigned) -> DataType | None:
    """Return the final type of the assigned target; None where it has no place (R-220)."""
    fields: tuple[Field, ...] = () if e.merge is None else e.merge.final_schema.columns
    found: DataType | None = None
    for part in assigned.path:
        found = next((f.type for f in fields if f.name.lower() == part.lower()), None)
        fields = found.fields if isinstance(found, StructType) else ()
    return found


def _aligned(e: Evidence) -> Iterator[tuple[DataType, DataType]]:
    """Go through the assignments of applied clauses as (type given, type wanted)."""
    for applied in e.applied:
        for assigned in applied.clause.assigned:
            wanted = _wanted(e, assigned)
            if wanted is not None:
                yield assigned.value.type, wanted


def _leaves(given: DataType, wanted: DataType) -> Iterator[tuple[DataType, DataType]]:
    """Pair the types of two values, members by name; structs are paired themselves too."""
    yield given, wanted
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        by_name = {field.name.lower(): field.type for field in given.fields}
        for field in wanted.fields:
            if field.name.lower() in by_name:
                yield from _leaves(by_name[field.name.lower()], field.type)
    elif isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        yield from _leaves(given.element, wanted.element)
    elif isinstance(given, MapType) and isinstance(wanted, MapType):
        yield from _leaves(given.key, wanted.key)
        yield from _leaves(given.value, wanted.value)


def _pairs(e: Evidence) -> Iterator[tuple[DataType, DataType]]:
    for given, wanted in _aligned(e):
        yield from _leaves(given, wanted)


def _structs(e: Evidence) -> Iterator[tuple[StructType, StructType]]:
    for given, wanted in _pairs(e):
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            yield given, wanted


def by_name(e: Evidence) -> bool:
    """Return whether a struct was assigned whose fields have another order, case or number (R-242)."""
    return any([f.name for f in given.fields] != [f.name for f in wanted.fields] for given, wanted in _structs(e))


def other_fields(e: Evidence) -> bool:
    """Return whether a struct was assigned that lacks fields, or was refused for its fields (R-243)."""
    rejected = e.rejected("DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION")
    return rejected or any(has_target_only_fields(given, wanted) for given, wanted in _structs(e))


def null_struct(e: Evidence, *, same: bool) -> bool:
    """Return whether a NULL struct was assigned, of the column's own type or of another one (R-244, R-245)."""
    if e.effects is None or not (same or e.evolution):
        return False
    for applied in e.applied:
        for place, assigned in enumerate(applied.clause.assigned):
            given, wanted = assigned.value.type, _wanted(e, assigned)
            is_null = (applied.clause.kind, applied.index, place) in e.effects.null_structs
            if is_null and isinstance(wanted, StructType) and same_type(given, wanted) is same:
                return True
    return False


def array_function(e: Evidence) -> bool:
    """Return whether a value is directly a call of an array function (R-246)."""
    called = (assigned.value.call for clause in e.resolved() for assigned in clause.assigned)
    return e.prediction is not None and any(call is not None for call in called)


def casts(e: Evidence) -> bool:
    """Return whether a value was cast to its column (R-250)."""
    return any(given != wanted and not same_type(given, wanted) for given, wanted in _pairs(e))


def casts_keys(e: Evidence) -> bool:
    """Return whether the keys of a map were cast to the column's key type (R-256)."""
    maps = ((a, b) for a, b in _pairs(e) if isinstance(a, MapType) and isinstance(b, MapType))
    return any(not same_type(a.key, b.key) for a, b in maps)


def has_failing_constant(e: Evidence) -> bool:
    """Return whether a merge fails that has a constant which may fail (R-257)."""
    return e.prediction is None and any(constant.partial for clause in e.resolved() for constant in clause.constants)


def rounds(e: Evidence) -> bool:
    """Return whether a cast may have rounded or cut something off (R-253)."""
    for given, wanted in _pairs(e):
        fraction = given in (FLOAT, DOUBLE) or isinstance(given, DecimalType)
        smaller = isinstance(given, DecimalType) and isinstance(wanted, DecimalType) and wanted.scale < given.scale
        if smaller or (fraction and wanted in INTEGER_BITS) or (given in (FLOAT, DOUBLE) and wanted == STRING):
            return True
        if given == TIMESTAMP and (wanted == DATE or wanted in INTEGER_BITS):
            return True
    return False


def lazy(e: Evidence) -> bool:
    """Look for a clause with a value that could fail, while another clause of its kind applies to some row."""
    for applied in e.applied:
        clause = applied.clause
        others = any(unit.applied not in (None, applied.index) for unit in e.candidates(clause.kind))
        for assigned in clause.assigned:
            wanted = _wanted(e, assigned)
            is_cast = wanted is not None and assigned.value.type == STRING and wanted != STRING
            if others and (assigned.value.partial or is_cast):
                return clause.condition is not None
    return False


def coerces(e: Evidence) -> bool:
    """Look for a comparison of a column with a literal or a column of another type."""
    types = {c.name.lower(): c.type for c in e.case.target.schema.columns}
    other = {} if e.source_schema is None else {c.name.lower(): c.type for c in e.source_schema.columns}
    for condition in e.conditions() if e.prediction is not None else ():
        for node in condition.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ):
            left, right = node.this, node.expression
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                a = types.get(left.name.lower()) or other.get(left.name.lower())
                b = other.get(right.name.lower()) or types.get(right.name.lower())
                if a is not None and b is not None and a != b:
                    return True
    return False
