"""One value per column of the final schema for each UPDATE and INSERT (R-201 to R-223, R-241)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.model.errors import fault_in
from mergecheck.model.types.data_types import StructType
from mergecheck.model.types.typed import Typed, identifier, typed_null
from mergecheck.reference.analysis.values.column_values import default_value, example_id, generated_value
from mergecheck.reference.asked.asker import Asker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.analysis.values.alignment import Aligner
    from mergecheck.reference.analysis.values.assignments import Assigned, Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RowValues:
    """Makes the values of new rows.

    Attributes:
        schema: the final schema.
        old: the row before the merge in the final schema (R-610).
        num_old: the columns that the table had before.
        asker: asks for what has no translation.
    """

    schema: Schema
    num_old: int
    old: tuple[Typed, ...]
    aligner: Aligner
    case_sensitive: bool
    asker: Asker = field(default_factory=Asker)

    def updated(self, assigned: Sequence[Assigned]) -> tuple[Typed, ...]:
        """Give the new row of an UPDATE; a column that is not assigned keeps its value (R-211)."""
        values: list[Typed | None] = []
        by_column = self._by_column([leaf for one in assigned for leaf in self._leaves(one)])
        for index, (column, old) in enumerate(zip(self.schema.columns, self.old, strict=True)):
            here = [(a.path[1:], a) for a in by_column.get(self._folded(column.name), ())]
            if not here and index >= self.num_old and not self.aligner.preserve_null_structs:
                values.append(Typed(sql=_of_nulls(column.type), type=column.type))
                continue
            computed = column.generated is not None and not here
            with fault_in(f"column {column.name}"):
                new = None if computed else Typed(sql=self._updated(old.sql, column.type, here), type=column.type)
            values.append(new)
        return self._with_generated(values)

    def inserted(self, assigned: Sequence[Assigned]) -> tuple[Typed, ...]:
        """Give the row of an INSERT; a column that is not listed takes its default, else NULL (R-220)."""
        values: list[Typed | None] = []
        by_column = self._by_column(assigned)
        for column in self.schema.columns:
            given = by_column.get(self._folded(column.name))
            if given is not None:
                with fault_in(f"column {column.name}"):
                    value = self.aligner.align(given[0].value, column.type)
                values.append(value)
            elif column.generated is not None:
                values.append(None)
            elif column.identity is not None:
                values.append(example_id(column.identity))
            else:
                values.append(default_value(column, self.asker))
        return self._with_generated(values)

    def _leaves(self, one: Assigned) -> list[Assigned]:
        """Take a struct that ``UPDATE SET *`` assigns apart, if the switch is set: it is never NULL then (R-244)."""
        value = one.value
        if not one.preserves or self.aligner.preserve_null_structs_of_star or not isinstance(value.type, StructType):
            return [one]
        fields = (
            Typed(
                sql=f"({value.sql}).{identifier(inner.name)}",
                type=inner.type,
                sides=value.sides,
                partial=value.partial,
            )
            for inner in value.type.fields
        )
        names = (inner.name for inner in value.type.fields)
        parts = (replace(one, path=(*one.path, name), value=value) for name, value in zip(names, fields, strict=True))
        return [leaf for part in parts for leaf in self._leaves(part)]

    def _with_generated(self, values: Sequence[Typed | None]) -> tuple[Typed, ...]:
        """Compute the generated columns that have no value from the row's new values ``c<i>`` (R-222, R-223)."""
        row = {
            column.name: Typed(sql=f"c{index}", type=column.type) for index, column in enumerate(self.schema.columns)
        }
        return tuple(
            generated_value(column, self.schema, row, self.asker, case_sensitive=self.case_sensitive)
            if value is None
            else value
            for column, value in zip(self.schema.columns, values, strict=True)
        )

    def _updated(self, sql: str, data_type: DataType, assigned: list[tuple[Path, Assigned]]) -> str:
        """Rebuild a value along the assigned paths; a NULL struct becomes a struct of NULLs (R-212, R-213)."""
        if not assigned:
            return sql
        for path, one in assigned:
            if not path:
                return self.aligner.align(one.value, data_type, old=sql if one.preserves else None).sql
        assert isinstance(data_type, StructType), "paths were checked against the schema"  # noqa: S101 - for mypy
        fields = []
        for inner in data_type.fields:
            here = [(path[1:], one) for path, one in assigned if self._same(path[0], inner.name)]
            with fault_in(f"field {inner.name}"):
                part = self._updated(f"({sql}).{identifier(inner.name)}", inner.type, here)
            fields.append(f"{identifier(inner.name)} := {part}")
        return f"struct_pack({', '.join(fields)})"

    def _by_column(self, assigned: Sequence[Assigned]) -> dict[str, list[Assigned]]:
        found: dict[str, list[Assigned]] = {}
        for one in assigned:
            found.setdefault(self._folded(one.path[0]), []).append(one)
        return found

    def _folded(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()

    def _same(self, left: str, right: str) -> bool:
        return self._folded(left) == self._folded(right)


def _of_nulls(data_type: DataType) -> str:
    """Write a struct whose fields are NULL, on every level; NULL for any other type."""
    if not isinstance(data_type, StructType):
        return typed_null(data_type)
    fields = (f"{identifier(inner.name)} := {_of_nulls(inner.type)}" for inner in data_type.fields)
    return f"struct_pack({', '.join(fields)})"
