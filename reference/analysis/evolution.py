"""The schema that a merge leaves behind: which parts of the source's schema it takes over, and how (R-230 to R-238)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mergecheck.model.errors import RejectedError
from mergecheck.model.types.data_types import (
    INT,
    SMALLINT,
    TINYINT,
    VOID,
    ArrayType,
    DataType,
    Field,
    MapType,
    Schema,
    StructType,
)
from mergecheck.model.types.implicit_casts import has_implicit_cast
from mergecheck.model.types.widening import WideningMode, widens

Path = tuple[str, ...]

_WIDENING = (TINYINT, SMALLINT, INT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilter:
    """Which fields of the source the clauses refer to (R-233).

    Attributes:
        assigned: the left-hand paths of all explicit assignments of MATCHED and NOT MATCHED clauses.
        star: whether a MATCHED or NOT MATCHED clause has a star.
    """

    assigned: frozenset[Path]
    star: bool
    case_sensitive: bool

    def filter_schema(self, source: Schema) -> Schema:
        """Keep the columns and fields that the clauses refer to."""
        return Schema(self._fields(source.columns, ()))

    def _fields(self, fields: tuple[Field, ...], parent: Path) -> tuple[Field, ...]:
        kept = []
        for field in fields:
            path = (*parent, self._fold(field.name))
            if path in self._paths:
                kept.append(field)
            elif isinstance(field.type, StructType) and (self.star or self._leads_to_assigned(path)):
                kept.append(replace(field, type=StructType(self._fields(field.type.fields, path))))
            elif self.star:
                kept.append(field)
        return tuple(kept)

    def _leads_to_assigned(self, path: Path) -> bool:
        return any(assigned[: len(path)] == path for assigned in self._paths)

    @property
    def _paths(self) -> frozenset[Path]:
        return frozenset(tuple(self._fold(part) for part in path) for path in self.assigned)

    def _fold(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def evolved_schema(
    target: Schema,
    source: Schema,
    wanted: SourceFilter,
    *,
    widening: WideningMode = WideningMode.NEVER,
) -> Schema:
    """Merge the filtered source schema into the target's (R-233, R-234).

    Args:
        target: the table's columns.
        source: the source's.
        wanted: which of them the clauses ask for.
        widening: which types change to wider ones (R-237).

    Raises:
        RejectedError: if a type does not fit (R-236), a name is there twice (R-238).
    """
    kept = wanted.filter_schema(source).columns
    _check_duplicates(kept)
    merged = []
    for column in target.columns:
        namesake = _namesake(column.name, kept)
        try:
            merged.append(
                column if namesake is None else replace(column, type=_merge(column.type, namesake.type, widening))
            )
        except _IncompatibleTypesError as error:
            raise RejectedError(
                "DELTA_FAILED_TO_MERGE_FIELDS",
                f"Failed to merge fields '{column.name}' and '{namesake.name if namesake else ''}': {error}",
            ) from error
    return Schema((*merged, *_new_fields(target.columns, kept)))


class _IncompatibleTypesError(Exception):
    """No merge of two types exists."""


def _merge(target: DataType, source: DataType, widening: WideningMode) -> DataType:
    """Merge a source type into a target type.

    The target's wins wherever both can live with it (R-234, R-236), unless it is widened (R-237).
    """
    if isinstance(target, StructType) and isinstance(source, StructType):
        merged = []
        for field in target.fields:
            namesake = _namesake(field.name, source.fields)
            kept = field if namesake is None else replace(field, type=_merge(field.type, namesake.type, widening))
            merged.append(kept)
        return StructType((*merged, *_new_fields(target.fields, source.fields)))
    if isinstance(target, ArrayType) and isinstance(source, ArrayType):
        return ArrayType(_merge(target.element, source.element, widening))
    if isinstance(target, MapType) and isinstance(source, MapType):
        return MapType(_merge(target.key, source.key, widening), _merge(target.value, source.value, widening))
    if widens(target, source, widening):
        return source
    if source in (target, VOID) or has_implicit_cast(source, target):
        return target
    if source in _WIDENING and target in _WIDENING:
        return max(target, source, key=_WIDENING.index)
    raise _IncompatibleTypesError(f"{target.ddl()} and {source.ddl()} are incompatible")


def _namesake(name: str, fields: tuple[Field, ...]) -> Field | None:
    """Find a field by name, case ignored whatever the session's setting (R-120, R-234)."""
    return next((field for field in fields if field.name.lower() == name.lower()), None)


def _new_fields(target: tuple[Field, ...], source: tuple[Field, ...]) -> tuple[Field, ...]:
    """List the fields that only the source has, in its order, all of them nullable (R-234, R-235)."""
    return tuple(Field(field.name, _nullable(field.type)) for field in source if _namesake(field.name, target) is None)


def _nullable(data_type: DataType) -> DataType:
    if isinstance(data_type, StructType):
        return StructType(tuple(Field(field.name, _nullable(field.type)) for field in data_type.fields))
    if isinstance(data_type, ArrayType):
        return ArrayType(_nullable(data_type.element))
    if isinstance(data_type, MapType):
        return MapType(_nullable(data_type.key), _nullable(data_type.value))
    return data_type


def _check_duplicates(fields: tuple[Field, ...]) -> None:
    """Refuse two fields of one name on one level, case ignored (R-238)."""
    names = [field.name.lower() for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RejectedError(
            "DELTA_DUPLICATE_COLUMNS_FOUND.DATA",
            f"Found duplicate column(s): {', '.join(twice)}. The duplicate was found in the data being saved.",
        )
    for field in fields:
        for inner in outermost_structs(field.type):
            _check_duplicates(inner.fields)


def outermost_structs(data_type: DataType) -> tuple[StructType, ...]:
    """Find the outermost structs of a type."""
    if isinstance(data_type, StructType):
        return (data_type,)
    if isinstance(data_type, ArrayType):
        return outermost_structs(data_type.element)
    if isinstance(data_type, MapType):
        return (*outermost_structs(data_type.key), *outermost_structs(data_type.value))
    return ()
