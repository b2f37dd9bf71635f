"""The values that a clause assigns, as the columns of the target take them: one aligned value per assigned column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import Schema
from mergecheck.reference.analysis.values.alignment import Aligner
from mergecheck.reference.analysis.values.assignments import Assigned, check_insert, check_update
from mergecheck.reference.analysis.values.row_values import RowValues
from mergecheck.reference.syntax.statement import Action, Clause

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.analysis.values.assignments import Left
    from mergecheck.reference.expressions.translation import Translator
    from mergecheck.reference.syntax.statement import Clause, Kind


class GeneratedColumnError(UnsupportedByReferenceError):
    """A statement assigns a generated column, which DuckDB never allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedValues:
    """Resolves and aligns what clauses assign.

    Attributes:
        translator: makes the translator of a kind of clause.
    """

    names: ClauseNames
    settings: Settings
    translator: Callable[[Kind], Translator]

    def of(self, clause: Clause) -> dict[str, str]:
        """Give the aligned value of every assigned column, by the column's name.

        Raises:
            RejectedError: if the clause breaks a rule.
            UnsupportedByReferenceError: if a value cannot be translated.
            GeneratedColumnError: for a generated column.
        """
        if not clause.is_balanced:
            raise RejectedError("MERGE_INSERT_VALUE_COUNT_MISMATCH", "an INSERT of unequal lists")
        lefts = self.names.resolve_clause(replace(clause, condition=None))
        assigned = tuple(self._assigned(clause, left) for left in lefts)
        schema = self.names.target.schema
        generated = {column.name for column in schema.columns if column.generated is not None}
        if any(one.path[0] in generated for one in assigned):
            raise GeneratedColumnError("a value assigned to a generated column")
        old = tuple(self.names.target.typed(index) for index in range(len(schema.columns)))
        # What computes itself has no value here.
        plain = Schema(tuple(replace(column, generated=None, default=None) for column in schema.columns))
        values = RowValues(
            schema=plain,
            num_old=len(old),
            old=old,
            aligner=self._aligner(),
            case_sensitive=self.settings.case_sensitive,
        )
        if clause.action is Action.UPDATE:
            check_update(lefts, schema, case_sensitive=self.settings.case_sensitive)
            row = values.updated(assigned)
        else:
            check_insert(lefts, schema, case_sensitive=self.settings.case_sensitive)
            row = values.inserted(assigned)
        wanted = {one.path[0].lower() for one in assigned}
        return {
            column.name: value.sql
            for column, value in zip(schema.columns, row, strict=True)
            if column.name.lower() in wanted
        }

    def _assigned(self, clause: Clause, left: Left) -> Assigned:
        value = (
            self._star_value(left.path[0]) if left.value is None else self.translator(clause.kind).translate(left.value)
        )
        return Assigned(path=left.path, value=value)

    def _star_value(self, name: str) -> Typed:
        index = [column.name.lower() for column in self.names.source.schema.columns].index(name.lower())
        return self.names.source.typed(index)

    def _aligner(self) -> Aligner:
        return Aligner(
            policy=self.settings.policy,
            preserve_null_structs=self.settings.preserve_null_structs,
            preserve_null_structs_of_star=self.settings.preserve_null_structs_of_star,
        )
