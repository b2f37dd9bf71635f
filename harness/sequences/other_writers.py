"""What other writers than the merge do to a table, by delta-rs, and what the table must hold afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from deltalake import DeltaTable, write_deltalake
from deltalake import Field as DeltaField
from deltalake.schema import PrimitiveType

from mergecheck.harness.sequences.steps import AddColumn, Append, Checkpoint, Delete, Restore, Rewrite
from mergecheck.reference.case.arrow import rows_to_table
from mergecheck.reference.case.model import Case, Source
from mergecheck.reference.outcome import Prediction
from mergecheck.reference.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.reference import MergeReference
    from mergecheck.reference.case.model import Row, Target

OtherStep: TypeAlias = Append | Delete | Rewrite | AddColumn | Checkpoint | Restore

_DELTA_TYPES = {"INT": "integer", "BIGINT": "long", "STRING": "string"}


class UnpredictableStepError(Exception):
    """The reference does not say what a step leaves; the message says why."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a table: its columns and rows."""

    schema: Schema
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a step must leave.

    Attributes:
        changes: its change rows, each a row followed by the type of change; None if they are not known.
    """

    schema: Schema
    rows: tuple[Row, ...]
    changes: tuple[Row, ...] | None = ()


def expected(
    step: OtherStep, target: Target, reference: MergeReference, *, versions: Sequence[Version] = ()
) -> Expected:
    """Say what a table must hold after a step.

    Args:
        step: what is done.
        target: the table before.
        reference: says what a DELETE does.
        versions: all versions of the table, the newest one last; a restore asks for them.

    Raises:
        UnpredictableStepError: nobody knows.
    """
    schema, rows = target.schema, target.rows
    if isinstance(step, Append):
        added = [widened(row, schema) for row in step.rows]
        changes = tuple((*row, "insert") for row in added)
        return Expected(schema=schema, rows=(*rows, *added), changes=changes)
    if isinstance(step, Delete):
        answer = reference.evaluate(_as_merge(step, target)).answer
        if not isinstance(answer, Prediction):
            raise UnpredictableStepError(f"delete: the reference says {answer}")
        return Expected(schema=schema, rows=answer.rows, changes=answer.cdf or ())
    if isinstance(step, Restore):
        earlier = versions[max(len(versions) - 1 - step.back, 0)]
        if earlier.schema != schema:
            raise UnpredictableStepError("restore: the table had other columns then")
        return Expected(schema=schema, rows=earlier.rows, changes=None)  # they depend on which files come back
    if isinstance(step, AddColumn):
        schema = Schema((*schema.columns, step.column))
        return Expected(schema=schema, rows=tuple(widened(row, schema) for row in rows))
    return Expected(schema=schema, rows=rows)


def write(step: OtherStep, path: Path, schema: Schema) -> None:
    """Do a step by delta-rs on the newest version of a table, whose rows are appended in the columns of ``schema``.

    Raises:
        deltalake.exceptions.DeltaError, OSError, ValueError: delta-rs does not do it.
    """
    table = DeltaTable(path)
    if isinstance(step, Append):
        write_deltalake(table, rows_to_table(step.rows, schema), mode="append")
    elif isinstance(step, Delete):
        table.delete(f'"{step.column}" IS NULL' if step.value is None else f'"{step.column}" = {step.value}')
    elif isinstance(step, AddColumn):
        kind = PrimitiveType(_DELTA_TYPES[step.column.type.ddl()])
        table.alter.add_columns(DeltaField(step.column.name, kind, nullable=True))
    elif isinstance(step, Checkpoint):
        table.create_checkpoint()
    elif isinstance(step, Restore):
        table.restore(max(table.version() - step.back, 0))
    else:
        table.optimize.compact()


def widened(row: Row, schema: Schema) -> Row:
    """Give a row the columns that were added after it was written."""
    return (*row, *(None,) * (len(schema.columns) - len(row)))


def _as_merge(step: Delete, target: Target) -> Case:
    """Write a DELETE as a merge of nothing."""
    condition = f"`{step.column}` IS NULL" if step.value is None else f"`{step.column}` = {step.value}"
    sql = f"MERGE INTO target t USING source s ON FALSE WHEN NOT MATCHED BY SOURCE AND t.{condition} THEN DELETE"
    return Case(id="delete", target=target, source=Source(schema=target.schema), sql=sql)
