"""The left-hand sides of UPDATE and INSERT: which column or field is assigned (R-119, R-210, R-214, R-224, R-225)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from merge.errors import AnalysisError
from merge.resolution.fields import field_type, find_field
from merge.resolution.scope import unresolved
from merge.sql_dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from merge.resolution.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPath:
    """A target column, or a field inside one.

    Attributes:
        index: position of the column. written: the column's name as the statement spells it.
        fields: path inside the column as the statement spells it; empty for the whole column.
        column: the column's name in the table.
    """

    index: int
    column: str
    written: str
    type: DataType
    fields: tuple[str, ...]

    @property
    def quoted(self) -> str:
        """The path for messages, qualifier dropped: ```s.b.c```."""
        return quote_name(".".join((self.column, *self.fields)))


def find_target(parts: tuple[str, ...], scope: Scope, *, where: str) -> AssignedPath:
    """Resolve a left-hand side among the target's columns.

    Args:
        parts: the name as written.
        scope: the target alone.
        where: ``UPDATE clause`` or ``INSERT clause``.

    Raises:
        AnalysisError: the name does not resolve (R-117), or a field of it does not (``FIELD_NOT_FOUND``).
    """
    match = scope.find(parts)
    if match is None:
        raise unresolved(".".join(parts), where, scope)
    fields = parts[match.consumed :]
    field_type(match.column.type, fields, case_sensitive=scope.case_sensitive)
    return AssignedPath(
        index=match.column.index,
        column=match.column.name,
        written=parts[match.consumed - 1],
        type=match.column.type,
        fields=fields,
    )


def check_no_conflicts(paths: Sequence[AssignedPath], scope: Scope) -> None:
    """Refuse two assignments of which one holds the other (R-210)."""
    folded = [tuple(scope.fold(part) for part in (path.column, *path.fields)) for path in paths]
    for first in folded:
        hits = [p for p, other in zip(paths, folded, strict=True) if other[: len(first)] == first]
        if len(hits) > 1:
            listed = ", ".join(path.quoted for path in hits)
            raise AnalysisError(
                "DELTA_CONFLICT_SET_COLUMN",
                f"There is a conflict from these SET columns: [{listed}]. Assign each column or field once.",
            )


def check_structs_only(path: AssignedPath, *, case_sensitive: bool) -> None:
    """Refuse an UPDATE path that leads through an array or a map (R-214)."""
    reached = path.type
    for name in path.fields:
        if isinstance(reached, ArrayType | MapType):
            raise AnalysisError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
                f"Updating the field {path.quoted} goes through a value of type {reached.simpleString()}. "
                "Updating nested fields is only supported for StructType.",
            )
        if isinstance(reached, StructType):
            reached = find_field(reached, name, case_sensitive=case_sensitive).dataType


def check_insert_columns(paths: Sequence[AssignedPath]) -> None:
    """Refuse fields (R-224) and names given twice (R-225) in the column list of an INSERT.

    Names are compared as written, case included, whatever the session says: Delta accepts ``INSERT (n, N)`` on a
    table without generated columns, and the first entry wins.
    """
    for path in paths:
        if path.fields:
            raise AnalysisError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                "Nested field is not supported in the INSERT clause of MERGE operation "
                f"(field = {'.'.join(quote_name(part) for part in (path.column, *path.fields))}).",
            )
    written = [path.written for path in paths]
    if len(set(written)) != len(written):
        raise AnalysisError("DELTA_DUPLICATE_COLUMNS_ON_INSERT", "Duplicate column names in INSERT clause")
