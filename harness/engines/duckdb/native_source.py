"""The source of a merge in DuckDB: a table, a view, a subquery, a CTE, VALUES, an Arrow table or a Parquet file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.engines.duckdb.native_tables import create_source, insert_rows, load, renamed, run, values_query
from mergecheck.model.types.typed import identifier, string_literal

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engines.duckdb.native_tables import Step
    from mergecheck.harness.engines.duckdb.options import DuckDbOptions
    from mergecheck.model.case import Source

SOURCE = "source"
_INCOMING, _STORED = "incoming_source", "stored_source"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSource:
    """A source as a statement finds it.

    Attributes:
        steps: what makes it.
        text: its name or text in FROM and USING.
        prefix: the text before the whole statement.
    """

    steps: tuple[Step, ...] = ()
    text: str = identifier(SOURCE)
    prefix: str = ""


def give_source(source: Source, options: DuckDbOptions, directory: Path) -> GivenSource:
    """Give the source in the form that the case wants; ``VALUES`` only if it can be written so."""
    incoming = load(_INCOMING, source.rows, source.schema)
    values = values_query(source.rows, source.schema) if options.source == "values" else None
    if values is not None:
        names = ", ".join(identifier(column.name) for column in source.schema.columns)
        return GivenSource(text=f"(SELECT * FROM ({values}) AS v({names}))")
    if options.source == "arrow":
        return GivenSource(steps=(incoming,), text=f"({renamed(source.schema, _INCOMING)})")
    if options.source == "parquet":
        path = string_literal(str(directory / "source.parquet"))
        copy = run(f"COPY ({renamed(source.schema, _INCOMING)}) TO {path}")
        return GivenSource(steps=(incoming, copy), text=f"read_parquet({path})")
    stored = SOURCE if options.source in ("", "values") else _STORED
    steps = (incoming, create_source(stored, source.schema), insert_rows(stored, source.schema, _INCOMING))
    everything = f"SELECT * FROM {_STORED}"
    if options.source == "view":
        return GivenSource(steps=(*steps, run(f'CREATE VIEW "source" AS {everything}')))
    if options.source == "subquery":
        return GivenSource(steps=steps, text=f"({everything})")
    if options.source == "cte":
        return GivenSource(steps=steps, prefix=f'WITH "source" AS ({everything}) ')
    return GivenSource(steps=steps)
