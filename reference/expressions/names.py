"""Name scopes: which column of which side a written name means (R-115 to R-120, R-824)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import STRING, ArrayType, DataType, MapType, Schema, StructType
from mergecheck.model.types.typed import TableSide, Typed, identifier, string_literal

if TYPE_CHECKING:
    from collections.abc import Mapping

LITERAL_FUNCTIONS = frozenset(
    {"current_date", "current_timestamp", "current_time", "current_user", "user", "session_user"}
)
"""Functions that a plain name means if no column has it (R-123)."""
METADATA = "_metadata"
"""The hidden column of a Delta table, with the file of each row (R-138)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedName:
    """A resolved name: column ``index`` of ``side``, then a path inside it.

    Attributes:
        sql: the value in DuckDB SQL.
        type: the value's type.
        char_length: see ``Typed``.
    """

    side: TableSide
    index: int
    sql: str
    type: DataType
    char_length: int | None = None

    def typed(self) -> Typed:
        """Give it as an expression."""
        sides = frozenset({self.side})
        return Typed(sql=self.sql, type=self.type, sides=sides, stored=True, char_length=self.char_length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table as names see it: its columns and the qualifier that stands for it.

    Attributes:
        values: DuckDB SQL of each column if it is not ``t<i>`` or ``s<i>``, by the side.
        origins: a number for each column; columns that a query lists several times share one; None if all are
            columns of their own.
        qualifiers: a qualifier for each column instead, if the relation is a query without an alias: then the columns
            of its FROM keep theirs; empty for a column that is computed.
        hides_qualifiers: whether the columns have such qualifiers, but unknown ones.
        padded: lengths of CHAR columns, by position: a shorter text is read with spaces behind it (R-822).
        chars: lengths of CHAR columns that are read as they are stored: comparisons pad them.
        has_metadata: whether it has the hidden column ``_metadata`` of Delta tables (R-138); None if unknown.
    """

    side: TableSide
    qualifier: str
    schema: Schema
    values: tuple[str, ...] | None = None
    origins: tuple[int, ...] | None = None
    qualifiers: tuple[str, ...] | None = None
    hides_qualifiers: bool = False
    padded: Mapping[int, int] = field(default_factory=dict)
    chars: Mapping[int, int] = field(default_factory=dict)
    has_metadata: bool | None = False
    _places: Mapping[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Number the columns by their names in lower case, so that a name is found without looking at all others."""
        places: dict[str, tuple[int, ...]] = {}
        for number, column in enumerate(self.schema.columns):
            folded = column.name.lower()
            places[folded] = (*places.get(folded, ()), number)
        object.__setattr__(self, "_places", places)

    def qualifier_of(self, index: int) -> str:
        """Give the qualifier of a column, empty if it has none."""
        return self.qualifier if self.qualifiers is None else self.qualifiers[index]

    def value(self, index: int) -> str:
        """Give the DuckDB SQL of a column."""
        return f"{self.side.value}{index}" if self.values is None else self.values[index]

    def origin(self, index: int) -> int:
        """Return the number that identifies the column."""
        return index if self.origins is None else self.origins[index]

    def places(self, name: str, *, case_sensitive: bool) -> list[int]:
        """List the numbers of the columns of a name, by the session's case rule."""
        found = self._places.get(name.lower(), ())
        return [i for i in found if not case_sensitive or self.schema.columns[i].name == name]

    def read(self, index: int) -> Typed:
        """Give a column as a merge reads it from a file."""
        found = self.typed(index)
        if index not in self.padded:
            return found
        length = self.padded[index]
        sql = f"CASE WHEN length({found.sql}) < {length} THEN rpad({found.sql}, {length}, ' ') ELSE {found.sql} END"
        return replace(found, sql=sql, stored=False)

    def typed(self, index: int) -> Typed:
        """Give a column as an expression."""
        return Typed(
            sql=self.value(index), type=self.schema.columns[index].type, sides=frozenset({self.side}), stored=True
        )


def char_columns(schema: Schema) -> dict[int, int]:
    """Give the lengths of CHAR columns, by position."""
    limits = ((place, column.limit) for place, column in enumerate(schema.columns))
    return {place: limit.length for place, limit in limits if limit is not None and limit.padded}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The relations that an expression may use.

    Attributes:
        relations: target first, then source.
        place: how errors call the expression, e.g. ``UPDATE condition`` (R-117).
        case_sensitive: ``spark.sql.caseSensitive`` (R-120).
        unresolved: the error class of a name that means nothing; Delta's own for the clauses of a merge (R-117).
    """

    relations: tuple[Relation, ...]
    place: str
    case_sensitive: bool
    unresolved: str = "DELTA_MERGE_UNRESOLVED_EXPRESSION"

    def resolve(self, parts: tuple[str, ...]) -> ResolvedName:
        """Resolve a written name.

        Raises:
            RejectedError: if it means nothing (R-117) or more than one thing (R-118).
            UnsupportedByReferenceError: a CHAR column that is padded: Delta Lake fails on such expressions.
        """
        relation, index, rest = self.column(parts)
        if index in relation.padded:
            raise UnsupportedByReferenceError("an expression over a CHAR column of the target (R-822)")
        sql, data_type = relation.value(index), relation.schema.columns[index].type
        for name in rest:
            sql, data_type = self.extract(sql, data_type, name)
        length = relation.chars.get(index)
        return ResolvedName(side=relation.side, index=index, sql=sql, type=data_type, char_length=length)

    def extract(self, sql: str, data_type: DataType, name: str) -> tuple[str, DataType]:
        """Go one name deeper: a struct's field, that field of every element of an array, the value of a map's key.

        Raises:
            RejectedError: if there is no such field, or the value has no fields.
            UnsupportedByReferenceError: for maps whose keys are no text, and arrays of anything but structs.
        """
        if isinstance(data_type, ArrayType):
            if not isinstance(data_type.element, StructType):
                raise UnsupportedByReferenceError("a field of an array without structs")
            (field,), inner = self.fields((name,), data_type.element, (name,))
            return f"list_transform({sql}, lambda e: (e).{identifier(field)})", ArrayType(inner)
        if isinstance(data_type, MapType):
            if data_type.key != STRING:
                raise UnsupportedByReferenceError("a key of a map whose keys are no text")
            return f"({sql})[{string_literal(name)}]", data_type.value
        (field,), inner = self.fields((name,), data_type, (name,))
        return f"({sql}).{identifier(field)}", inner

    def column(self, parts: tuple[str, ...]) -> tuple[Relation, int, tuple[str, ...]]:
        """Find the column that a name begins with; the rest of its parts are fields.

        Raises:
            RejectedError: if it means nothing (R-117) or more than one thing (R-118).
        """
        found = self._columns(parts)
        if not found and self.literal_function(parts) is not None:
            raise UnsupportedByReferenceError(f"the name {parts[0].lower()}")
        if not found:
            self._check_metadata(parts)
        if not found and len(parts) > 1 and any(relation.hides_qualifiers for relation in self.relations):
            raise UnsupportedByReferenceError("a qualifier inside the source query")
        if not found:
            raise RejectedError(
                self.unresolved,
                f"Cannot resolve {'.'.join(parts)} in {self.place} given columns {self._known()}.",
            )
        if len({(id(relation), relation.origin(index), rest) for relation, index, rest in found}) > 1:
            raise RejectedError("AMBIGUOUS_REFERENCE", f"Reference {'.'.join(parts)} is ambiguous")
        return found[0]

    def literal_function(self, parts: tuple[str, ...]) -> str | None:
        """Give the function that a name means, in lower case; None if it means a column, or nothing (R-123)."""
        name = parts[0].lower()
        is_function = len(parts) == 1 and name in LITERAL_FUNCTIONS and not self._columns(parts)
        return name if is_function else None

    def _check_metadata(self, parts: tuple[str, ...]) -> None:
        """Refuse a name of the hidden column of a table, which a merge does not read (R-138)."""
        bare = parts[0].lower() == METADATA
        holders = [
            relation.has_metadata
            for relation in self.relations
            if bare or (parts[1:2] and parts[1].lower() == METADATA and self.same(parts[0], relation.qualifier))
        ]
        if True in holders:
            raise RejectedError(
                "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", f"the hidden column {'.'.join(parts)}"
            )
        if None in holders:
            raise UnsupportedByReferenceError("the hidden columns of a source query")

    def same(self, left: str, right: str) -> bool:
        """Compare two names by the session's case rule."""
        return _same(left, right, case_sensitive=self.case_sensitive)

    def _columns(self, parts: tuple[str, ...]) -> list[tuple[Relation, int, tuple[str, ...]]]:
        # A qualifier that leads to a column wins over a column with fields.
        qualified = [
            (relation, index, parts[2:])
            for relation in self.relations
            if len(parts) > 1
            for index in self._indexes(relation, parts[1])
            if relation.qualifier_of(index) and self.same(parts[0], relation.qualifier_of(index))
        ]
        if qualified:
            return qualified
        return [
            (relation, index, parts[1:]) for relation in self.relations for index in self._indexes(relation, parts[0])
        ]

    def _indexes(self, relation: Relation, name: str) -> list[int]:
        return relation.places(name, case_sensitive=self.case_sensitive)

    def fields(
        self, rest: tuple[str, ...], data_type: DataType, parts: tuple[str, ...]
    ) -> tuple[tuple[str, ...], DataType]:
        """Follow the fields of structs; give them in the schema's spelling, and the type of the last.

        Raises:
            RejectedError: if a field does not exist.
            UnsupportedByReferenceError: on the way through an array or a map; `extract` knows more.
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


def _same(left: str, right: str, *, case_sensitive: bool) -> bool:
    return left == right if case_sensitive else left.lower() == right.lower()
