"""Name scopes: which column of which side a written name means (R-115 to R-120, R-824)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from reference.errors import RejectedError, UnsupportedByReferenceError
from reference.types import ArrayType, DataType, MapType, Schema, StructType


class Side(Enum):
    """The two tables; the value is the prefix of their columns in the evaluation."""

    TARGET = "t"
    SOURCE = "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """A resolved name: column ``index`` of ``side``, then fields of structs; ``type`` is that of the last field."""

    side: Side
    index: int
    fields: tuple[str, ...]
    type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One side of the merge as names see it: its columns and the qualifier that stands for it."""

    side: Side
    qualifier: str
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The relations that an expression may use.

    Attributes:
        relations: target first, then source.
        place: how errors call the expression, e.g. ``UPDATE condition`` (R-117).
        case_sensitive: ``spark.sql.caseSensitive`` (R-120).
    """

    relations: tuple[Relation, ...]
    place: str
    case_sensitive: bool

    def resolve(self, parts: tuple[str, ...]) -> ResolvedName:
        """Resolve a written name.

        Raises:
            RejectedError: where it means nothing (R-117) or more than one thing (R-118).
        """
        relation, index, rest = self.column(parts)
        fields, data_type = self.fields(rest, relation.schema.columns[index].type, parts)
        return ResolvedName(side=relation.side, index=index, fields=fields, type=data_type)

    def column(self, parts: tuple[str, ...]) -> tuple[Relation, int, tuple[str, ...]]:
        """Find the column that a name begins with; the rest of its parts are fields.

        Raises:
            RejectedError: where it means nothing (R-117) or more than one thing (R-118).
        """
        found = self._columns(parts)
        if not found:
            raise RejectedError(
                "DELTA_MERGE_UNRESOLVED_EXPRESSION",
                f"Cannot resolve {'.'.join(parts)} in {self.place} given columns {self._known()}.",
            )
        if len(found) > 1:
            raise RejectedError("AMBIGUOUS_REFERENCE", f"Reference {'.'.join(parts)} is ambiguous")
        return found[0]

    def same(self, left: str, right: str) -> bool:
        """Compare two names by the session's case rule."""
        return left == right if self.case_sensitive else left.lower() == right.lower()

    def _columns(self, parts: tuple[str, ...]) -> list[tuple[Relation, int, tuple[str, ...]]]:
        # A qualifier that leads to a column wins over a column with fields.
        qualified = [
            (relation, index, parts[2:])
            for relation in self.relations
            if len(parts) > 1 and self.same(parts[0], relation.qualifier)
            for index in self._indexes(relation, parts[1])
        ]
        if qualified:
            return qualified
        return [
            (relation, index, parts[1:]) for relation in self.relations for index in self._indexes(relation, parts[0])
        ]

    def _indexes(self, relation: Relation, name: str) -> list[int]:
        return [i for i, column in enumerate(relation.schema.columns) if self.same(column.name, name)]

    def fields(
        self, rest: tuple[str, ...], data_type: DataType, parts: tuple[str, ...]
    ) -> tuple[tuple[str, ...], DataType]:
        """Follow the fields of structs; give them in the schema's spelling, and the type of the last.

        Raises:
            RejectedError: where a field does not exist.
            UnsupportedByReferenceError: on the way through an array or a map.
        """
        fields: list[str] = []
        for name in rest:
            if isinstance(data_type, ArrayType | MapType):
                raise UnsupportedByReferenceError("field access through an array or a map")
            if not isinstance(data_type, StructType):
                raise RejectedError(
                    "INVALID_EXTRACT_BASE_FIELD_TYPE", f"{'.'.join(parts)}: {data_type.ddl()} has no fields"
                )
            known = [field for field in data_type.fields if self.same(field.name, name)]
            if not known:
                raise RejectedError("FIELD_NOT_FOUND", f"No such struct field {name} in {data_type.ddl()}")
            if len(known) > 1:
                raise RejectedError("AMBIGUOUS_REFERENCE_TO_FIELDS", f"field {name} is ambiguous")
            fields.append(known[0].name)
            data_type = known[0].type
        return tuple(fields), data_type

    def _known(self) -> str:
        return ", ".join(
            f"{relation.qualifier}.{column.name}" for relation in self.relations for column in relation.schema.columns
        )
