"""Turn a clause's assignments into one value per column of the table (R-201, R-210 to R-225)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference.errors import RejectedError
from reference.typed import Typed, identifier, typed_null
from reference.types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.alignment import Aligner
    from reference.names import Scope
    from reference.types import DataType, Schema

_Path = tuple[str, ...]


def star_values(schema: Schema, source: Scope) -> tuple[Typed, ...]:
    """Look every target column up in the source by name (R-201).

    Raises:
        RejectedError: where the source lacks one, or has it twice.
    """
    names = [source.resolve((column.name,)) for column in schema.columns]
    return tuple(
        Typed(sql=f"{name.side.value}{name.index}", type=name.type, sides=frozenset({name.side})) for name in names
    )


def update_values(
    schema: Schema, assigned: Sequence[tuple[_Path, Typed]], target: Scope, aligner: Aligner
) -> tuple[Typed, ...]:
    """Give the new value of every column; a column that is not assigned keeps its value (R-211).

    Raises:
        RejectedError: for conflicts (R-210) and for paths through arrays, maps and scalars (R-214).
    """
    paths = [(_resolved_path(path, target), value) for path, value in assigned]
    _check_conflicts([path for path, _ in paths])
    values = []
    for index, column in enumerate(schema.columns):
        here = [(path[1:], value) for path, value in paths if path[0] == column.name]
        values.append(Typed(sql=_updated(f"t{index}", column.type, here, aligner), type=column.type))
    return tuple(values)


def insert_values(
    schema: Schema, assigned: Sequence[tuple[_Path, Typed]], target: Scope, aligner: Aligner
) -> tuple[Typed, ...]:
    """Give the value of every column of an inserted row; NULL where none is given (R-220).

    Raises:
        RejectedError: for nested columns (R-224) and for a name given twice (R-225).
    """
    given: dict[str, Typed] = {}
    written: set[str] = set()
    for path, value in assigned:
        _, index, rest = target.column(path)
        if rest:
            raise RejectedError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                f"Nested field is not supported in the INSERT clause of MERGE operation (field = {'.'.join(path)}).",
            )
        if path[-1] in written:  # as written: the check is case-sensitive on ordinary tables
            raise RejectedError("DELTA_DUPLICATE_COLUMNS_ON_INSERT", "Duplicate column names in INSERT clause")
        written.add(path[-1])
        given.setdefault(schema.columns[index].name, value)  # the first entry wins
    return tuple(
        aligner.align(given[column.name], column.type)
        if column.name in given
        else Typed(sql=typed_null(column.type), type=column.type)
        for column in schema.columns
    )


def _resolved_path(path: _Path, target: Scope) -> _Path:
    """Spell an assigned path as the schema does: the column, then its fields."""
    relation, index, rest = target.column(path)
    column = relation.schema.columns[index]
    for depth in range(len(rest)):
        _, data_type = target.fields(rest[:depth], column.type, path)
        if isinstance(data_type, ArrayType | MapType):
            raise RejectedError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
                f"{'.'.join(path)}: Updating nested fields is only supported for StructType.",
            )
    fields, _ = target.fields(rest, column.type, path)
    return (column.name, *fields)


def _check_conflicts(paths: list[_Path]) -> None:
    for i, left in enumerate(paths):
        for right in paths[i + 1 :]:
            shorter = min(len(left), len(right))
            if left[:shorter] == right[:shorter]:
                written = ", ".join(".".join(path) for path in (left, right))
                raise RejectedError(
                    "DELTA_CONFLICT_SET_COLUMN", f"There is a conflict from these SET columns: [{written}]."
                )


def _updated(sql: str, data_type: DataType, assigned: list[tuple[_Path, Typed]], aligner: Aligner) -> str:
    """Rebuild a value along the assigned paths; a NULL struct becomes one of NULLs (R-212, R-213)."""
    if not assigned:
        return sql
    for path, value in assigned:
        if not path:
            return aligner.align(value, data_type).sql
    assert isinstance(data_type, StructType), "paths were checked against the schema"  # noqa: S101 - tells mypy
    fields = []
    for field in data_type.fields:
        here = [(path[1:], value) for path, value in assigned if path[0] == field.name]
        part = _updated(f"({sql}).{identifier(field.name)}", field.type, here, aligner)
        fields.append(f"{identifier(field.name)} := {part}")
    return f"struct_pack({', '.join(fields)})"
