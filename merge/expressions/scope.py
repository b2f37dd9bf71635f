"""Name scopes: which columns an expression may use and which column a name means (R-115..R-120, R-824)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.resolved import source_column, target_column
from mergecheck.merge.syntax.dialect import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql.types import DataType, StructType


class Side(Enum):
    """The two tables of a merge."""

    TARGET = "target"
    SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One side of the merge with the name it goes by in expressions.

    Attributes:
        qualifier: the alias, or the parts of the table's name, or nothing if it has neither.
        repeated: names, as names are compared, of columns that a query lists several times; they are one column
            (R-118).
        padded: positions of CHAR columns that Spark pads where it reads them; no expression may be over them (R-822).
        has_metadata: whether it is a table with the hidden column ``_metadata`` (R-138).
    """

    side: Side
    qualifier: tuple[str, ...]
    schema: StructType
    repeated: frozenset[str] = frozenset()
    padded: frozenset[int] = frozenset()
    has_metadata: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A top-level column of one side."""

    side: Side
    index: int
    name: str
    type: DataType
    qualifier: tuple[str, ...]
    is_repeated: bool = False
    is_padded: bool = False

    @property
    def positional(self) -> str:
        """The column's name inside the run."""
        return target_column(self.index) if self.side is Side.TARGET else source_column(self.index)

    @property
    def quoted(self) -> str:
        """The qualified name for error messages, every part in backticks."""
        return ".".join(quote_name(part) for part in (*self.qualifier, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The meaning of a dotted name.

    So many parts of it as are consumed, qualifier included, name the column; the rest are fields in it.
    """

    column: Column
    consumed: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scope:
    """The relations whose columns are visible."""

    relations: tuple[Relation, ...]
    case_sensitive: bool
    _by_name: dict[str, list[Column]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Index the columns by their names under the session's case rule (R-120)."""
        index = defaultdict(list)
        for column in self._columns():
            index[self.fold(column.name)].append(column)
        object.__setattr__(self, "_by_name", dict(index))

    def only(self, side: Side) -> Scope:
        """Narrow the scope to one side."""
        kept = tuple(relation for relation in self.relations if relation.side is side)
        return Scope(relations=kept, case_sensitive=self.case_sensitive)

    def fold(self, name: str) -> str:
        """Convert a name to the form in which names are compared (R-120)."""
        return name if self.case_sensitive else name.lower()

    def find(self, parts: tuple[str, ...]) -> Match | None:
        """Find the column that a dotted name begins with; a qualifier is tried before a plain name (R-824).

        Raises:
            AnalysisError: ``AMBIGUOUS_REFERENCE`` (R-118).
        """
        for length in range(len(parts) - 1, 0, -1):
            found = [
                column
                for column in self._by_name.get(self.fold(parts[length]), ())
                if self._ends_with(column.qualifier, parts[:length])
            ]
            if found:
                return Match(column=_only(found, parts[: length + 1]), consumed=length + 1)
        found = self._by_name.get(self.fold(parts[0]), [])
        return Match(column=_only(found, parts[:1]), consumed=1) if found else None

    def hides(self, parts: tuple[str, ...]) -> bool:
        """Return whether a name that no column has is the hidden column of a table."""
        places = [place for place in range(len(parts)) if parts[place].lower() == "_metadata"]
        return bool(places) and any(
            relation.has_metadata and (not places[0] or self._ends_with(relation.qualifier, parts[: places[0]]))
            for relation in self.relations
        )

    def describe(self) -> str:
        """List the columns in scope for a message: target first, then source (R-117)."""
        return ", ".join(".".join((*c.qualifier[-1:], c.name)) for c in self._columns())

    def _ends_with(self, qualifier: tuple[str, ...], parts: tuple[str, ...]) -> bool:
        if not parts or len(parts) > len(qualifier):
            return False
        tail = qualifier[-len(parts) :]
        return all(self.fold(a) == self.fold(b) for a, b in zip(tail, parts, strict=True))

    def _columns(self) -> Iterable[Column]:
        for relation in self.relations:
            for index, column in enumerate(relation.schema.fields):
                yield Column(
                    side=relation.side,
                    index=index,
                    name=column.name,
                    type=column.dataType,
                    qualifier=relation.qualifier,
                    is_repeated=self.fold(column.name) in relation.repeated,
                    is_padded=index in relation.padded,
                )


def unresolved(text: str, where: str, scope: Scope) -> AnalysisError:
    """Build the error of R-117 for a name or an expression that does not resolve."""
    return AnalysisError(
        "DELTA_MERGE_UNRESOLVED_EXPRESSION",
        f"Cannot resolve {text} in {where} given columns {scope.describe()} .",
    )


def _only(found: list[Column], parts: tuple[str, ...]) -> Column:
    if len(found) == 1 or (all(c.is_repeated for c in found) and len({c.side for c in found}) == 1):
        return found[0]
    choices = ", ".join(sorted(column.quoted for column in found))
    name = ".".join(quote_name(part) for part in parts)
    raise AnalysisError(
        "AMBIGUOUS_REFERENCE",
        f"Reference {name} is ambiguous, could be: [{choices}]. Put an alias before the name.",
    )
