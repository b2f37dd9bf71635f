"""The conditions of clauses on one row or pair of rows: their values, and the values of the columns in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.formatting import shown_cell
from mergecheck.model.layout import physical_rows

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Kind, Statement
    from mergecheck.reference.trace import Candidate, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedClause:
    """A clause and the value of its condition.

    Attributes:
        clause: its number in the statement, from 1.
        condition: as it is written; None for a clause without one, whose value is TRUE.
        columns: the columns in it as they are written, and their values as text.
    """

    clause: int
    condition: str | None
    value: bool | None
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """A table with one row of it; without a row if there is none."""

    qualifier: str
    schema: Schema
    row: Row | None


class Conditions:
    """The conditions of one evaluated case."""

    def __init__(self, case: Case, trace: Trace) -> None:
        self._statement = trace.statement
        self._trace = trace
        self._schema = case.target.schema
        self.target_rows = physical_rows(case.target)

    def tried(self, kind: Kind, candidate: Candidate) -> tuple[EvaluatedClause, ...]:
        """List the clauses of a kind with the values of their conditions on one unit.

        Those behind the clause that applied are left out: the first that holds decides (R-301).
        """
        if self._statement is None:
            return ()
        sides = self._sides(self._statement, candidate.sid, candidate.rid)
        of_kind = [(i, clause) for i, clause in enumerate(self._statement.clauses, start=1) if clause.kind is kind]
        end = len(of_kind) if candidate.applied is None else candidate.applied + 1
        return tuple(
            EvaluatedClause(
                clause=number,
                condition=clause.condition_text,
                value=value,
                columns=() if clause.condition is None else _column_values(clause.condition, sides),
            )
            for (number, clause), value in zip(of_kind[:end], candidate.conditions[:end], strict=True)
        )

    def on_columns(self, sid: int, rid: int) -> tuple[tuple[str, str], ...]:
        """List the columns in ON with their values on one pair of rows."""
        if self._statement is None:
            return ()
        return _column_values(self._statement.on, self._sides(self._statement, sid, rid))

    def _sides(self, statement: Statement, sid: int | None, rid: int | None) -> list[_Side]:
        target = _Side(
            qualifier=(statement.target_alias or statement.target).lower(),
            schema=self._schema,
            row=None if rid is None else self.target_rows[rid],
        )
        source = self._trace.source
        if source is None:
            return [target]
        qualifier = (statement.source_alias or statement.source).lower()
        row = None if sid is None else source.rows[sid]
        return [target, _Side(qualifier=qualifier, schema=source.schema, row=row)]


def _column_values(condition: exp.Expr, sides: list[_Side]) -> tuple[tuple[str, str], ...]:
    """List the columns of an expression with their values; of a field, the column that it is in."""
    found: dict[str, str] = {}
    for column in condition.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        for side in sides:
            named = 1 if len(parts) > 1 and parts[0].lower() == side.qualifier else 0
            i = _position(side.schema, parts[named])
            if side.row is not None and i is not None:
                name = ".".join(parts[: named + 1])
                found.setdefault(name, shown_cell(side.row[i], side.schema.columns[i].type))
                break
    return tuple(found.items())


def _position(schema: Schema, name: str) -> int | None:
    names = [column.name.lower() for column in schema.columns]
    return names.index(name.lower()) if name.lower() in names else None
