"""The left-hand sides of UPDATE and INSERT: which column or field is assigned (R-119, R-210, R-214, R-216, R-224)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.scope import unresolved
from mergecheck.merge.syntax.dialect import quote_name
from mergecheck.merge.types.fields import field_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.types import DataType, StructField

    from mergecheck.merge.expressions.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedPath:
    """A target column, or a field inside one, by name.

    Attributes:
        column: the column's name in the table, or in the source if the merge adds it (R-231).
        written: the column's name as the statement writes it.
        fields: path inside the column as the statement writes it; empty for the whole column.
    """

    column: str
    written: str
    fields: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The whole path, qualifier dropped."""
        return (self.column, *self.fields)

    @property
    def quoted(self) -> str:
        """The path for messages: ```s.b.c```."""
        return quote_name(".".join(self.parts))


def find_target(parts: tuple[str, ...], scope: Scope, *, where: str, source: Scope | None = None) -> AssignedPath:
    """Resolve a left-hand side among the target's columns, and if that fails among the source's columns.

    ``where`` is ``UPDATE clause`` or ``INSERT clause``. ``source`` is None unless the merge may take new columns and
    fields from it (R-231, R-232).

    Raises:
        AnalysisError: the name does not resolve (R-117), or a field of it does not (``FIELD_NOT_FOUND``).
    """
    try:
        return _find(parts, scope, where=where)
    except AnalysisError:
        if source is None:
            raise
    return _find(parts, source, where=where)


def _find(parts: tuple[str, ...], scope: Scope, *, where: str) -> AssignedPath:
    match = scope.find(parts)
    if match is None:
        raise unresolved(".".join(parts), where, scope)
    fields = parts[match.consumed :]
    field_type(match.column.type, fields, case_sensitive=scope.case_sensitive)
    return AssignedPath(column=match.column.name, written=parts[match.consumed - 1], fields=fields)


def same_name(left: str, right: str, *, case_sensitive: bool) -> bool:
    """Compare two names under the session's case rule (R-120)."""
    return left == right if case_sensitive else left.lower() == right.lower()


def check_update_paths(
    paths: Sequence[AssignedPath], schema: StructType, *, case_sensitive: bool, depth: int = 0
) -> None:
    """Check that the paths of one UPDATE exist, lead through structs and do not overlap, field by field of a schema.

    Below the top, the schema is the schema of a struct into which all of the paths lead.

    Raises:
        AnalysisError: ``DELTA_MISSING_SET_COLUMN`` (R-216), ``DELTA_CONFLICT_SET_COLUMN`` (R-210),
            ``DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE`` (R-214).
    """

    def under(field: StructField) -> list[AssignedPath]:
        return [p for p in paths if same_name(p.parts[depth], field.name, case_sensitive=case_sensitive)]

    found = [(field, under(field)) for field in schema.fields]
    for path in paths:
        if not any(path in inside for _, inside in found):
            known = ", ".join(quote_name(name) for name in schema.names)
            raise AnalysisError(
                "DELTA_MISSING_SET_COLUMN",
                f"SET column {path.quoted} not found given columns: [{known}]. Write the name as the table does.",
            )
    for field, inside in found:
        whole = [path for path in inside if len(path.parts) == depth + 1]
        if whole and len(inside) > 1:
            listed = ", ".join(path.quoted for path in inside)
            raise AnalysisError(
                "DELTA_CONFLICT_SET_COLUMN",
                f"There is a conflict from these SET columns: [{listed}]. Assign each column or field once.",
            )
        if inside and not whole:
            struct = _require_struct(inside[0], field.dataType)
            check_update_paths(inside, struct, case_sensitive=case_sensitive, depth=depth + 1)


def _require_struct(path: AssignedPath, reached: DataType) -> StructType:
    if isinstance(reached, StructType):
        return reached
    raise AnalysisError(
        "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE",
        f"Updating the field {path.quoted} goes through a value of type {reached.simpleString()}. "
        "Updating nested fields is only supported for StructType.",
    )


def check_insert_columns(paths: Sequence[AssignedPath], *, ignore_case: bool) -> None:
    """Refuse fields (R-224) and names given twice (R-225) in the column list of an INSERT.

    On tables with generated columns, names that differ in case only are the same. Elsewhere Delta accepts
    ``INSERT (n, N)`` whatever the session's rule, and the first entry wins.
    """
    for path in paths:
        if path.fields:
            raise AnalysisError(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                "Nested field is not supported in the INSERT clause of MERGE operation "
                f"(field = {'.'.join(quote_name(part) for part in path.parts)}).",
            )
    written = [path.written.lower() if ignore_case else path.written for path in paths]
    if len(set(written)) != len(written):
        raise AnalysisError("DELTA_DUPLICATE_COLUMNS_ON_INSERT", "Duplicate column names in INSERT clause")
