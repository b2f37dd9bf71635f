"""The columns that ON, conditions and clauses of a merge name, with their tables and the families of their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.type_families import family_of
from mergecheck.model.types.data_types import ArrayType, MapType, NestedType, StructType
from mergecheck.reference.syntax.statement import Action, name_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.properties.rules.evidence import Evidence
    from mergecheck.model.types.data_types import DataType, Field

TARGET, SOURCE = "target", "source"


def named_columns(
    e: Evidence, *expressions: exp.Expr, sides: tuple[str, ...] = (TARGET, SOURCE)
) -> Iterator[tuple[str, Field]]:
    """Go through the columns that expressions name, with their tables.

    Args:
        e: the case.
        expressions: where the names are.
        sides: the tables that the expressions see (R-115); a name without a qualifier means any of them.
    """
    if e.statement is None or e.source_schema is None:
        return
    names = {
        TARGET: (e.statement.target_alias or e.statement.target).lower(),
        SOURCE: (e.statement.source_alias or e.statement.source).lower(),
    }
    qualifiers = {side: names[side] for side in sides}
    columns = {TARGET: e.case.target.schema.columns, SOURCE: e.source_schema.columns}
    for expression in expressions:
        for node in expression.find_all(exp.Column):
            yield from _meant([part.lower() for part in name_parts(node)], qualifiers, columns)


def _meant(
    parts: list[str], qualifiers: dict[str, str], columns: dict[str, tuple[Field, ...]]
) -> Iterator[tuple[str, Field]]:
    for side, qualifier in qualifiers.items():
        name = parts[1] if len(parts) > 1 and parts[0] == qualifier else parts[0]
        found = [field for field in columns[side] if field.name.lower() == name]
        if found:
            yield side, found[0]
            return


def families_named(e: Evidence, *expressions: exp.Expr) -> Iterator[str]:
    """Name the families of the columns in expressions."""
    return (family_of(field.type) for _, field in named_columns(e, *expressions))


def families_assigned(e: Evidence) -> Iterator[str]:
    """Name the families of the columns that the statement assigns, by stars as well."""
    if e.merge is None:
        return
    types = {field.name.lower(): field.type for field in e.merge.final_schema.columns}
    for clause in e.merge.clauses:
        if clause.action is not Action.DELETE:
            for assigned in clause.assigned:
                if assigned.path[0].lower() in types:
                    yield family_of(types[assigned.path[0].lower()])


def nestings(types: Iterable[DataType]) -> Iterator[str]:
    """Return how types nest: ``struct``, ``array``, ``map``, and ``deeper`` for nesting inside another one."""
    for data_type in types:
        if isinstance(data_type, NestedType):
            yield family_of(data_type)
            if any(isinstance(member, NestedType) for member in _members(data_type)):
                yield "deeper"


def families_within(types: Iterable[DataType]) -> Iterator[str]:
    """Name the families of the members of nested types, to any depth."""
    for data_type in types:
        for member in _members(data_type):
            yield family_of(member)
            yield from families_within((member,))


def _members(data_type: DataType) -> tuple[DataType, ...]:
    match data_type:
        case StructType(fields):
            return tuple(field.type for field in fields)
        case ArrayType(element):
            return (element,)
        case MapType(key, value):
            return (key, value)
        case _:
            return ()


def evolved_families(e: Evidence) -> Iterator[str]:
    """Name the families of the columns that a merge adds.

    A nested column whose type changes gives ``field``, another one ``wider`` (R-237).
    """
    if e.merge is None:
        return
    old = {field.name.lower(): field.type for field in e.case.target.schema.columns}
    for field in e.merge.final_schema.columns:
        before = old.get(field.name.lower())
        if before is None:
            yield family_of(field.type)
        elif before != field.type:
            yield "field" if _members(before) else "wider"
