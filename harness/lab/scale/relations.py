"""The tables of a scale case as DuckDB queries over the Parquet files that the log names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mergecheck.harness.delta.tables.partition_values import parse
from mergecheck.model.types.typed import duckdb_type, identifier, string_literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from mergecheck.harness.delta.read import Action
    from mergecheck.model.types.data_types import Field, Schema

_ROW_BITS = 40  # a row's number: its file's number above, its place in the file below


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files of a table, in the order that numbers them.

    Attributes:
        actions: ``add``, ``remove`` or ``cdc``; each with its partition values.
        schema: the columns that the rows are shown with.
    """

    table: Path
    actions: tuple[Action, ...]
    schema: Schema
    partition_by: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The folder of the files."""
        return tuple(self.table / unquote(action["path"]) for action in self.actions)

    @property
    def num_bytes(self) -> int:
        """How large the files are by the log."""
        return sum(action["size"] for action in self.actions)

    def rows(self, names: Sequence[str]) -> str:
        """Select the columns of the schema under other names."""
        cells = [f"{self._cell(column)} AS {name}" for column, name in zip(self.schema.columns, names, strict=True)]
        return self._select(cells)

    def numbered(self, prefix: str, *, number: str, file: str | None) -> str:
        """Select the columns ``<prefix>0`` and so on, a number for each row and, if wanted, one for its file."""
        cells = [f"{self._cell(column)} AS {prefix}{i}" for i, column in enumerate(self.schema.columns)]
        row = f"CAST(file_index AS BIGINT) * {2**_ROW_BITS} + file_row_number AS {number}"
        of_file = [] if file is None else [f"CAST(file_index AS BIGINT) AS {file}"]
        return self._select([row, *of_file, *cells])

    def _select(self, cells: Sequence[str]) -> str:
        if not self.actions:
            nulls = [f"CAST(NULL AS {duckdb_type(c.type)}) AS {identifier(c.name)}" for c in self.schema.columns]
            empty = ", ".join([*nulls, "0 AS file_index", "0 AS file_row_number"])
            return f"SELECT {', '.join(cells)} FROM (SELECT {empty} WHERE FALSE)"
        listed = ", ".join(string_literal(str(path)) for path in self.paths)
        read = f"read_parquet([{listed}], file_row_number = true, hive_partitioning = false)"
        return f"SELECT {', '.join(cells)} FROM {read}"

    def _cell(self, column: Field) -> str:
        if column.name not in self.partition_by:
            return identifier(column.name)
        values = [parse(action["partitionValues"].get(column.name), column.type) for action in self.actions]
        literals = ["NULL" if value is None else string_literal(str(value)) for value in values]
        texts = f"CAST([{', '.join(literals)}] AS VARCHAR[])"
        return f"CAST({texts}[CAST(file_index AS BIGINT) + 1] AS {duckdb_type(column.type)})"

    def type_faults(self, connection: DuckDBPyConnection) -> tuple[str, ...]:
        """List the files in which a column has another type or is missing; reading would hide it."""
        wanted = {c.name: duckdb_type(c.type) for c in self.schema.columns if c.name not in self.partition_by}
        faults = []
        for path in self.paths:
            described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({string_literal(str(path))})")
            found = {row[0]: row[1] for row in described.fetchall()}
            faults += [
                f"{path.name}: {name} is stored as {found.get(name, 'nothing')}, not {word}"
                for name, word in wanted.items()
                if found.get(name) != word
            ]
        return tuple(faults)

    def num_records(self, connection: DuckDBPyConnection) -> int:
        """Count the rows by the footers of the files."""
        if not self.actions:
            return 0
        listed = ", ".join(string_literal(str(path)) for path in self.paths)
        found = connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata([{listed}])").fetchall()
        return int(found[0][0])
