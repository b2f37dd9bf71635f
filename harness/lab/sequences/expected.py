"""The expected table after a step other than a merge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.engines.spark_case import AS_STORED
from mergecheck.harness.lab.sequences.steps import (
    AddColumn,
    Alter,
    Append,
    ChangeType,
    Checkpoint,
    Delete,
    Purge,
    Restore,
    Rewrite,
)
from mergecheck.model.case import Case, Source
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.data_types import Schema, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.model.case import Row, Target
    from mergecheck.reference import MergeReference

OtherStep: TypeAlias = Append | Delete | Rewrite | AddColumn | Checkpoint | Restore | Alter | ChangeType | Purge


class UnpredictableStepError(Exception):
    """The reference has no answer for a step; the message gives the reason."""


class StepNotDoneError(Exception):
    """A step's writer cannot do it; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a table: its columns, rows and properties."""

    schema: Schema
    rows: tuple[Row, ...]
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected result of a step.

    Attributes:
        changes: its change rows, each a row followed by the type of change; None if unknown.
    """

    schema: Schema
    rows: tuple[Row, ...]
    properties: Mapping[str, str]
    changes: tuple[Row, ...] | None = ()


def expected(
    step: OtherStep, target: Target, reference: MergeReference, *, versions: Sequence[Version] = ()
) -> Expected:
    """Compute the expected table after a step.

    Args:
        step: the step.
        target: the table before.
        reference: evaluates a DELETE.
        versions: all versions of the table, the newest one last; a restore reads them.

    Raises:
        UnpredictableStepError: the result cannot be predicted.
    """
    same = Expected(schema=target.schema, rows=target.rows, properties=target.properties)
    if isinstance(step, Append):
        added = [widened(row, target.schema) for row in step.rows]
        changes = tuple((*row, "insert") for row in added)
        return replace(same, rows=(*same.rows, *added), changes=changes)
    if isinstance(step, Delete):
        answer = reference.evaluate(_as_merge(step, target)).answer
        if not isinstance(answer, Prediction):
            raise UnpredictableStepError(f"delete: the reference says {answer}")
        return replace(same, rows=answer.rows, changes=answer.cdf or ())
    if isinstance(step, Restore):
        earlier = versions[max(len(versions) - 1 - step.back, 0)]
        if earlier.schema != same.schema:
            raise UnpredictableStepError("restore: the table had other columns then")
        # the changes depend on which files come back
        return replace(same, rows=earlier.rows, properties=earlier.properties, changes=None)
    if isinstance(step, AddColumn):
        schema = Schema((*same.schema.columns, step.column))
        return replace(same, schema=schema, rows=tuple(widened(row, schema) for row in same.rows))
    if isinstance(step, ChangeType):
        columns = (replace(c, type=step.type) if c.name == step.column else c for c in same.schema.columns)
        return replace(same, schema=Schema(tuple(columns)))
    if isinstance(step, Alter):
        return replace(same, properties={**same.properties, step.change.property: step.change.given})
    return same


def widened(row: Row, schema: Schema) -> Row:
    """Give a row the columns that were added after it was written."""
    return (*row, *(None,) * (len(schema.columns) - len(row)))


def _as_merge(step: Delete, target: Target) -> Case:
    """Write a DELETE as a merge of nothing, in a session that reads CHAR columns as they are stored (R-822)."""
    condition = f"{quote(step.column)} IS NULL" if step.value is None else f"{quote(step.column)} = {step.value}"
    sql = f"MERGE INTO target t USING source s ON FALSE WHEN NOT MATCHED BY SOURCE AND t.{condition} THEN DELETE"
    source = Source(schema=target.schema.plain)
    return Case(id="delete", target=target, source=source, sql=sql, conf=AS_STORED)
