"""Which column or field a clause assigns, and the checks on its assignments together (R-119, R-210 to R-232)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError
from mergecheck.model.types.data_types import ArrayType, MapType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from mergecheck.model.types.data_types import Field, Schema
    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.expressions.names import Scope

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The left-hand side of an assignment, or a column of an expanded star.

    Attributes:
        path: the column, then fields; existing names are spelled as in the schema that has them.
        written: the column as the statement writes it (R-225).
        value: the assigned value; None in a star.
    """

    path: Path
    written: str
    value: exp.Expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """A value for a column or a field of it.

    Attributes:
        path: see ``Left``.
        preserves: fields of structs that the value lacks keep their values (``UPDATE SET *`` with evolution, R-203).
    """

    path: Path
    value: Typed
    preserves: bool = False


def assigned_path(written: Path, target: Scope, source: Scope | None) -> tuple[Path, str]:
    """Resolve a left-hand side: the path, and the column's name as it is written.

    Args:
        written: the name with its qualifier, if it has one.
        target: the target's columns.
        source: the source's columns if evolution may add the column (R-231), else None.

    Raises:
        RejectedError: if the name means nothing (R-117), or leads through an array or a map (R-214).
    """
    try:
        return _path_in(written, target)
    except RejectedError:
        if source is None:
            raise
    return _path_in(written, source)


def _path_in(written: Path, scope: Scope) -> tuple[Path, str]:
    relation, index, rest = scope.column(written)
    column = relation.schema.columns[index]
    for depth in range(len(rest)):
        _, data_type = scope.fields(rest[:depth], column.type, written)
        if isinstance(data_type, ArrayType | MapType):
            scope.extract("", data_type, rest[depth])  # that there is no such field comes first
            raise RejectedError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
                f"{'.'.join(written)}: Updating nested fields is only supported for StructType.",
            )
    fields, _ = scope.fields(rest, column.type, written)
    return (column.name, *fields), written[len(written) - len(rest) - 1]


def check_update(lefts: Sequence[Left], schema: Schema, *, case_sensitive: bool) -> None:
    """Check the paths of one UPDATE.

    Raises:
        RejectedError: for identity columns (R-226), for columns that the final schema does not have (R-216), and then
            for conflicts (R-210).
    """
    for column in schema.columns:
        if column.identity is not None and _is_given(column, lefts, case_sensitive=case_sensitive):
            text = f"Updating IDENTITY columns is not supported: {column.name}."
            raise RejectedError("DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED", text)
    paths = [tuple(_folded(part, case_sensitive=case_sensitive) for part in a.path) for a in lefts]
    known = dict.fromkeys(_folded(name, case_sensitive=case_sensitive) for name in schema.names)
    for path in paths:
        if path[0] not in known:
            text = f"SET column {path[0]} not found given columns: [{', '.join(known)}]."
            raise RejectedError("DELTA_MISSING_SET_COLUMN", text)
    if conflict := first_conflict(paths):
        written = ", ".join(".".join(path) for path in conflict)
        raise RejectedError("DELTA_CONFLICT_SET_COLUMN", f"There is a conflict from these SET columns: [{written}].")


def first_conflict(paths: Sequence[Path]) -> tuple[Path, Path] | None:
    """Find two paths of one UPDATE of which one is equal to the other or a prefix of it (R-210); None without any.

    Args:
        paths: without qualifiers, and folded by the session's case rule.
    """
    equal: dict[Path, list[int]] = {}
    beginning: dict[Path, list[int]] = {}  # by each of their beginnings, the whole path included
    for number, path in enumerate(paths):
        equal.setdefault(path, []).append(number)
        for length in range(1, len(path) + 1):
            beginning.setdefault(path[:length], []).append(number)
    for number, path in enumerate(paths):
        longer = [other for other in beginning[path] if other != number]
        shorter = [other for length in range(1, len(path)) for other in equal.get(path[:length], ())]
        if longer or shorter:
            return path, paths[min(longer + shorter)]
    return None


def check_insert(lefts: Sequence[Left], schema: Schema, *, case_sensitive: bool) -> None:
    """Check the columns of one INSERT.

    Raises:
        RejectedError: for nested columns (R-224), for identity columns that take no values (R-226) and for a name
            given twice (R-225).
    """
    for one in lefts:
        if len(one.path) > 1:
            raise RejectedError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                "Nested field is not supported in the INSERT clause of MERGE operation "
                f"(field = {'.'.join(one.path)}).",
            )
    for column in schema.columns:
        is_always = column.identity is not None and not column.identity.by_default
        if is_always and _is_given(column, lefts, case_sensitive=case_sensitive):
            text = f"Providing values for GENERATED ALWAYS AS IDENTITY column {column.name} is not supported."
            raise RejectedError("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", text)
    # As written: on ordinary tables the check is case-sensitive, and the first of (n, N) wins.
    generated = any(column.generated is not None or column.identity is not None for column in schema.columns)
    names = [_folded(one.written, case_sensitive=case_sensitive or not generated) for one in lefts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        text = f"Duplicate column names in INSERT clause: {', '.join(twice)}."
        raise RejectedError("DELTA_DUPLICATE_COLUMNS_ON_INSERT", text)


def generated_ids(lefts: Sequence[Left], schema: Schema, *, case_sensitive: bool) -> frozenset[int]:
    """Return the positions of the identity columns that an INSERT leaves to the table (R-226)."""
    return frozenset(
        position
        for position, column in enumerate(schema.columns)
        if column.identity is not None and not _is_given(column, lefts, case_sensitive=case_sensitive)
    )


def _is_given(column: Field, lefts: Sequence[Left], *, case_sensitive: bool) -> bool:
    wanted = _folded(column.name, case_sensitive=case_sensitive)
    return any((wanted,) == tuple(_folded(part, case_sensitive=case_sensitive) for part in a.path) for a in lefts)


def _folded(name: str, *, case_sensitive: bool) -> str:
    return name if case_sensitive else name.lower()
