"""Faults in schema evolution: which columns and fields a merge adds, and what old rows hold in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructField, StructType

from mergecheck.harness.selfcheck.fault import Area, Edit, Fault
from mergecheck.merge import command
from mergecheck.merge.expressions import resolved
from mergecheck.merge.resolution import alignment, references, schema_evolution
from mergecheck.merge.syntax.statement import ClauseKind
from mergecheck.merge.table.commit.commit import PendingCommit
from mergecheck.merge.types import nullability
from mergecheck.merge.types.assign import TypedSql, null_of
from mergecheck.merge.types.type_sql import same_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.types import DataType

    from mergecheck.merge.types.assign import Assigned

_INSERTS = (ClauseKind.NOT_MATCHED,)


def _nullifies(right: Any) -> Callable[..., Assigned]:
    return lambda *args, **how: right(*args, **{**how, "preserved": None})


def _lost_where_it_evolves(right: Any) -> Callable[[TypedSql, DataType], str]:
    return lambda old, final: right(old, final) if same_type(old.type, final) else null_of(final)


def _never_evolves(_right: Any) -> Callable[..., StructType]:
    return lambda merge, _clauses, **_how: merge.target.schema


def _always_evolves(right: Any) -> Callable[..., Any]:
    return lambda statement, **how: right(replace(statement, with_schema_evolution=True), **how)


def _star_means_all(right: Any) -> Callable[..., StructType]:
    return lambda source, assigned, **how: right(source, assigned, **{**how, "star": True})


def _without_insert_stars(right: Any) -> Callable[..., StructType]:
    """Leave the clauses out, resolved or not, that are INSERT with a star."""

    def final(merge: Any, clauses: Any, **how: Any) -> StructType:
        kept = [(c, b) for c, b in zip(merge.clauses, clauses, strict=True) if not (c.star and c.kind in _INSERTS)]
        inserts = tuple(clause for clause, _ in kept if clause.kind in _INSERTS)
        answer: StructType = right(replace(merge, not_matched_clauses=inserts), tuple(b for _, b in kept), **how)
        return answer

    return final


def _new_columns_first(right: Any) -> Callable[[StructType, StructType], StructType]:
    def merged(target: StructType, source: StructType) -> StructType:
        answer: StructType = right(target, source)
        old = len(target.fields)
        nested = answer.fields[old:]
        return StructType([*answer.fields[: old - 1], *nested, *answer.fields[old - 1 : old]]) if nested else answer

    return merged


def _keeps_nullability(_right: Any) -> Callable[[StructField], StructField]:
    return lambda field: StructField(field.name, field.dataType, field.nullable, dict(field.metadata or {}))


def _fields_not_added(right: Any) -> Callable[[DataType, DataType], DataType]:
    def merged(target: DataType, source: DataType) -> DataType:
        answer: DataType = right(target, source)
        return target if isinstance(target, StructType) else answer

    return merged


def _uncommitted(_right: Any) -> property:
    return property(lambda _self: ())


def _by_case(_right: Any) -> Callable[[StructType, str], StructField | None]:
    return lambda struct, name: next((field for field in struct.fields if field.name == name), None)


EVOLUTION_FAULTS = (
    Fault(
        name="update-star-drops-target-only-fields",
        area=Area.EVOLUTION,
        sentence="UPDATE * makes the fields NULL that only the target has.",
        rules=("R-203", "R-244"),
        origin="R-203",
        edits=(Edit(alignment, "assign", _nullifies),),
    ),
    Fault(
        name="struct-lost-where-it-evolves",
        area=Area.EVOLUTION,
        sentence="Copied rows lose a struct that gets a new field.",
        rules=("R-241",),
        origin="danger 20",
        edits=(Edit(resolved, "widen", _lost_where_it_evolves),),
    ),
    Fault(
        name="never-evolves",
        area=Area.EVOLUTION,
        sentence="The schema stays as it is.",
        rules=("R-230", "R-233"),
        origin="R-230",
        edits=(Edit(references, "_final_schema", _never_evolves),),
    ),
    Fault(
        name="always-evolves",
        area=Area.EVOLUTION,
        sentence="Columns are added although nobody asked for schema evolution.",
        rules=("R-230",),
        origin="R-230",
        edits=(Edit(command, "resolve", _always_evolves, comparable=False),),
    ),
    Fault(
        name="unassigned-columns-added",
        area=Area.EVOLUTION,
        sentence="Without a star, columns are added that no clause assigns.",
        rules=("R-233",),
        origin="R-233",
        edits=(Edit(references, "filter_schema", _star_means_all),),
    ),
    Fault(
        name="insert-star-adds-nothing",
        area=Area.EVOLUTION,
        sentence="The star of an INSERT adds no columns.",
        rules=("R-230", "R-202"),
        origin="R-202",
        edits=(Edit(references, "_final_schema", _without_insert_stars),),
    ),
    Fault(
        name="new-columns-before-the-last",
        area=Area.EVOLUTION,
        sentence="New columns and fields do not come last.",
        rules=("R-234",),
        origin="R-234",
        edits=(Edit(schema_evolution, "_merge_structs", _new_columns_first),),
    ),
    Fault(
        name="new-columns-keep-not-null",
        area=Area.EVOLUTION,
        sentence="A new column is NOT NULL where the source's is.",
        rules=("R-235",),
        origin="R-235",
        edits=(
            Edit(schema_evolution, "nullable_field", _keeps_nullability),
            Edit(nullability, "nullable_field", _keeps_nullability),
        ),
    ),
    Fault(
        name="new-fields-not-added",
        area=Area.EVOLUTION,
        sentence="Structs get no new fields.",
        rules=("R-234",),
        origin="R-234",
        edits=(Edit(schema_evolution, "_merge_types", _fields_not_added),),
    ),
    Fault(
        name="new-schema-not-committed",
        area=Area.EVOLUTION,
        sentence="The commit leaves the table's schema as it was.",
        rules=("R-239", "R-704"),
        origin="R-239",
        edits=(Edit(PendingCommit, "schema_actions", _uncommitted),),
    ),
    Fault(
        name="new-column-differs-in-case",
        area=Area.EVOLUTION,
        sentence="A source column whose name differs in case only is added as a new one.",
        rules=("R-234", "R-120"),
        origin="R-120",
        edits=(Edit(schema_evolution, "namesake", _by_case),),
    ),
)
