"""Engines that write one table in turn: each one's steps, and how each reads the others' versions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.compare.rows import difference, row_mismatches
from mergecheck.harness.engine import UnreadableByEngineError
from mergecheck.harness.verdict import Check, Mismatch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mergecheck.harness.engine import ReadingEngine
    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema

Pair: TypeAlias = tuple[str, str]

HARNESS = "the harness"
"""Who writes a table at version 0."""
DELTA_RS = "delta-rs"
"""Who does all that is no merge."""


@dataclass(slots=True)
class TurnCounts:
    """The steps of the writers of one or more sequences.

    Attributes:
        pairs: versions by the writer of the version before and the writer of this one.
        reads: reads that were compared, by writer and reader.
        own: differences of an engine that a fresh table of the harness shows, too, so the earlier writer is not the
            cause.
        skipped: merges that their writer does not take, by reason.
    """

    pairs: Counter[Pair] = field(default_factory=Counter)
    reads: Counter[Pair] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: TurnCounts) -> None:
        """Count another sequence."""
        self.pairs.update(other.pairs)
        self.reads.update(other.reads)
        self.own.update(other.own)
        self.skipped.update(other.skipped)


def misread(reader: ReadingEngine, table: Path, schema: Schema, rows: Sequence[Row]) -> tuple[Mismatch, ...]:
    """Describe the difference between an engine's reading of a table and its actual content.

    Args:
        reader: the engine.
        table: the table, its columns and its rows.
        schema: its columns.
        rows: its rows.
    """
    try:
        found = reader.rows_of(table, schema)
    except UnreadableByEngineError as error:
        return (Mismatch(check=Check.ROWS, against="reference", kind="unreadable", lines=(str(error),)),)
    return differing_rows(tuple(rows), found, schema)


def differing_rows(
    wanted: Sequence[Row], found: Sequence[Row], schema: Schema, *, check: Check = Check.ROWS
) -> tuple[Mismatch, ...]:
    """Describe how rows differ from the reference's, in the same columns."""
    differing = difference(wanted, found, wanted_schema=schema, found_schema=schema)
    return row_mismatches(differing, check=check, against="reference", wanted_schema=schema, found_schema=schema)
