"""What writes a table that others write, too: the protocol, and delta-rs. Those on Spark are in ``spark_clients``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from mergecheck.harness.engines.delta_rs.statement import merge_calls
from mergecheck.harness.lab.sequences.steps import Append, Delete, Merge
from mergecheck.model.arrow import rows_to_table, table_to_rows
from mergecheck.model.case import Case

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.model.case import Target
    from mergecheck.reference import MergeReference

TAG = "mergecheckWriter"
"""The entry of ``commitInfo`` that identifies the writer of a delta-rs commit."""


class AnswerKind(Enum):
    """The kind of a writer's answer."""

    DONE = "done"
    CONFLICT = "conflict"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A writer's answer: its error if it has one, and the row that a merge returns (R-110)."""

    kind: AnswerKind
    error: str = ""
    row: Mapping[str, int] | None = None


class Client(Protocol):
    """Writes tables by one engine, in one thread at a time."""

    def write(self, writer: Writer, path: Path, target: Target, tag: str) -> Answer:
        """Perform one write.

        Args:
            writer: the write.
            path: the table.
            target: its columns, and the rows that it had when the race began.
            tag: a text that identifies the commit.
        """


@dataclass(frozen=True, slots=True)
class DeltaRsClient:
    """The library ``deltalake``, as it is installed."""

    reference: MergeReference

    def write(self, writer: Writer, path: Path, target: Target, tag: str) -> Answer:
        """See ``Client``."""
        try:
            self._write(writer, DeltaTable(path), target, CommitProperties(custom_metadata={TAG: tag}))
        except CommitFailedError as error:
            return Answer(kind=AnswerKind.CONFLICT, error=_first_line(error))
        except DeltaError as error:
            kind = AnswerKind.CONFLICT if "concurrent" in str(error).lower() else AnswerKind.FAILED
            return Answer(kind=kind, error=_first_line(error))
        return Answer(kind=AnswerKind.DONE)

    def _write(self, writer: Writer, table: DeltaTable, target: Target, properties: CommitProperties) -> None:
        action = writer.action
        if isinstance(action, Append):
            rows = rows_to_table(action.rows, target.schema)
            write_deltalake(table, rows, mode="append", commit_properties=properties)
        elif isinstance(action, Delete):
            table.delete(f'"{action.column}" = {action.value}', commit_properties=properties)
        elif isinstance(action, Merge):
            self._merge(writer.name, action, table, target, properties)
        else:
            table.optimize.compact(commit_properties=properties)

    def _merge(self, name: str, action: Merge, table: DeltaTable, target: Target, properties: CommitProperties) -> None:
        source = action.source if action.source.schema.columns else None
        if source is None:  # it reads the target: at the version at which the merge starts
            rows = table_to_rows(pa.table(table.to_pyarrow_table()), target.schema)
            target = replace(target, files=(tuple(rows),))
        calls = merge_calls(Case(id=name, target=target, source=source, sql=action.sql), self.reference)
        merger = table.merge(
            source=rows_to_table(calls.source_rows, calls.source_schema),
            predicate=calls.predicate,
            source_alias=calls.source_alias,
            target_alias=calls.target_alias,
            commit_properties=properties,
            **calls.options,
        )
        for call, arguments in calls.clauses:
            merger = getattr(merger, call)(**arguments)
        merger.execute()


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
