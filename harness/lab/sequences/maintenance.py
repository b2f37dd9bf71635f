"""Steps that are no merge: done by delta-rs, or by Delta Lake for tables that delta-rs does not write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltalake import DeltaTable, write_deltalake
from deltalake import Field as DeltaField
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from mergecheck.harness.engine import SparkSessionEngine
from mergecheck.harness.lab.sequences.delta_lake import write_by_delta_lake
from mergecheck.harness.lab.sequences.expected import StepNotDoneError
from mergecheck.harness.lab.sequences.steps import AddColumn, Append, Checkpoint, Delete, Restore, Rewrite
from mergecheck.model.arrow import rows_to_table

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.sequences.expected import OtherStep
    from mergecheck.model.types.data_types import Schema

_DELTA_TYPES = {"INT": "integer", "BIGINT": "long", "STRING": "string"}


def maintain(step: OtherStep, path: Path, *, schema: Schema, version: int, engine: Engine | None) -> None:
    """Do a step on the newest version of a table.

    Args:
        step: the step.
        path: the table's folder.
        schema: the table's columns; rows are appended in them.
        version: the table's newest version.
        engine: Delta Lake on Spark; None for delta-rs.

    Raises:
        StepNotDoneError: the engine cannot do the step.
        EngineDownError: Spark is gone.
    """
    if isinstance(engine, SparkSessionEngine):
        write_by_delta_lake(step, engine.session(), path, schema=schema, version=version)
    elif engine is not None:
        raise StepNotDoneError("has no session on Spark with Delta Lake")
    else:
        try:
            write_by_delta_rs(step, path, schema)
        except (DeltaError, OSError, ValueError) as error:
            raise StepNotDoneError(f"{type(error).__name__}: {error}") from error


def write_by_delta_rs(step: OtherStep, path: Path, schema: Schema) -> None:
    """Do a step by delta-rs on the newest version of a table, whose rows are appended in the columns of ``schema``.

    Raises:
        StepNotDoneError: delta-rs has no such step.
        deltalake.exceptions.DeltaError, OSError, ValueError: delta-rs does not do it.
    """
    table = DeltaTable(path)
    if isinstance(step, Append):
        write_deltalake(table, rows_to_table(step.rows, schema), mode="append")
    elif isinstance(step, Delete):
        column = '"' + step.column.replace('"', '""') + '"'
        table.delete(f"{column} IS NULL" if step.value is None else f"{column} = {step.value}")
    elif isinstance(step, AddColumn):
        kind = PrimitiveType(_DELTA_TYPES[step.column.type.ddl()])
        table.alter.add_columns(DeltaField(step.column.name, kind, nullable=True))
    elif isinstance(step, Checkpoint):
        table.create_checkpoint()
    elif isinstance(step, Restore):
        table.restore(max(table.version() - step.back, 0))
    elif isinstance(step, Rewrite):
        table.optimize.compact()
    else:
        raise StepNotDoneError(f"{type(step).__name__} is Delta Lake's")
