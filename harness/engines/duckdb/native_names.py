"""Names in DuckDB text: as the statement writes them, so that DuckDB has to resolve them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.model.types.typed import TableSide, identifier
from mergecheck.reference.expressions.names import Relation, ResolvedName, Scope

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import Schema

_QUALIFIED = 2


class WrittenNames(Scope):
    """A scope that keeps a name's spelling and whether it has a qualifier; only fields of structs are spelled anew."""

    __slots__ = ()

    def resolve(self, parts: tuple[str, ...]) -> ResolvedName:
        """Resolve a written name.

        Raises:
            RejectedError: if it means nothing (R-117) or more than one thing (R-118).
        """
        relation, index, rest = self.column(parts)
        if len(parts) - len(rest) == _QUALIFIED:
            sql = f"{identifier(parts[0])}.{identifier(parts[1])}"
        else:
            sql = identifier(parts[0])
        data_type = relation.schema.columns[index].type
        for name in rest:
            sql, data_type = self.extract(sql, data_type, name)
        return ResolvedName(side=relation.side, index=index, sql=sql, type=data_type)


def native_relation(side: TableSide, qualifier: str, schema: Schema) -> Relation:
    """Give a table whose columns are spelled with its qualifier."""
    values = tuple(f"{identifier(qualifier)}.{identifier(column.name)}" for column in schema.columns)
    return Relation(side=side, qualifier=qualifier, schema=schema, values=values)
