"""How Delta Lake does the steps of a sequence that are no merge: by SQL on Spark."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.session import settings_of
from mergecheck.harness.engines.spark.staging import staged_tables
from mergecheck.harness.engines.spark_case import AS_STORED, SOURCE_VIEW, local_relation, named_tables, require_alive
from mergecheck.harness.engines.spark_values.error_classes import error_message
from mergecheck.harness.lab.sequences.expected import StepNotDoneError, widened
from mergecheck.harness.lab.sequences.steps import AddColumn, Alter, Append, ChangeType, Delete, Purge, Restore, Rewrite
from mergecheck.model.case import Source
from mergecheck.model.types.data_types import Schema, quote

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mergecheck.harness.lab.sequences.expected import OtherStep


_TABLE = "maintained"


def write_by_delta_lake(step: OtherStep, spark: SparkSession, path: Path, *, schema: Schema, version: int) -> None:
    """Do a step by Delta Lake on the newest version of a table.

    Args:
        step: the step.
        spark: a session that has Delta Lake.
        path: the table's folder.
        schema: the table's columns.
        version: the table's newest version.

    Raises:
        StepNotDoneError: Delta Lake does not do it.
        EngineDownError: Spark is gone.
    """
    statement = _statement(step, version)
    with staged_tables() as staged:
        location = staged.publish(path)
        try:
            # merged files keep their data
            with named_tables(spark, {_TABLE: location}), settings_of(spark, AS_STORED):
                if isinstance(step, Append):
                    rows = tuple(widened(row, schema) for row in step.rows)
                    local_relation(spark, Source(schema=schema.plain, rows=rows))
                spark.sql(statement)
        except Exception as error:  # what escapes from Delta Lake is its answer
            require_alive(spark, error)
            raise StepNotDoneError(f"{type(step).__name__.lower()}: {error_message(error)}") from error
        finally:
            with suppress(Exception):  # the next call reports a JVM that is gone
                spark.catalog.dropTempView(SOURCE_VIEW)
        staged.download(path)


def _statement(step: OtherStep, version: int) -> str:
    if isinstance(step, Append):
        return f"INSERT INTO {_TABLE} SELECT * FROM {SOURCE_VIEW}"
    if isinstance(step, Delete):
        condition = "IS NULL" if step.value is None else f"= {step.value}"
        return f"DELETE FROM {_TABLE} WHERE {quote(step.column)} {condition}"
    if isinstance(step, Rewrite):
        return f"OPTIMIZE {_TABLE}"
    if isinstance(step, Purge):
        return f"REORG TABLE {_TABLE} APPLY (PURGE)"
    if isinstance(step, AddColumn):
        return f"ALTER TABLE {_TABLE} ADD COLUMNS ({quote(step.column.name)} {step.column.type.ddl()})"
    if isinstance(step, ChangeType):
        return f"ALTER TABLE {_TABLE} ALTER COLUMN {quote(step.column)} TYPE {step.type.ddl()}"
    if isinstance(step, Alter):
        return f"ALTER TABLE {_TABLE} SET TBLPROPERTIES ('{step.change.property}' = '{step.change.given}')"
    if isinstance(step, Restore):
        return f"RESTORE TABLE {_TABLE} TO VERSION AS OF {max(version - step.back, 0)}"
    raise StepNotDoneError("Delta Lake has no statement that writes a checkpoint")
