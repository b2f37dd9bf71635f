"""Targets and sources in bulk, by DuckDB, once per folder: with exactly the files and rows of the fractions."""

from __future__ import annotations

import math
import random
import shutil
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import duckdb

from tools.benchmarks.merge_benchmark.cases import Keys, SourceShape, TargetKind
from tools.benchmarks.merge_benchmark.delta_log import VECTORS, write_log
from tools.benchmarks.merge_benchmark.rows import NUM_ITEMS, NUM_PARTITIONS, PARTITION_COLUMN, columns_of, select_rows

if TYPE_CHECKING:
    from pathlib import Path

_STRIDE = 1_000_003  # a prime: rows that lie side by side in a shuffled target are far apart by key


class Layout(Enum):
    """How the target's rows lie in its files: by key, as TPC-DS generates them, or without any order."""

    CLUSTERED = "clustered"
    SHUFFLED = "shuffled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Makes the tables of one size in a folder and finds them again.

    Attributes:
        num_rows, num_files: of the target.
        vectors: merges may mark rows by deletion vectors instead of copying the others (path E).
    """

    folder: Path
    num_rows: int
    num_files: int
    seed: int = 1
    keys: Keys = Keys.CLEAN
    layout: Layout = Layout.CLUSTERED
    vectors: bool = False

    @property
    def properties(self) -> dict[str, str]:
        """Table properties of every target."""
        return {VECTORS: "true"} if self.vectors else {}

    def target(self, kind: TargetKind) -> Path:
        """Return a target, made now if it is not there."""
        path = self.folder / f"target_{kind.value}"
        if not (path / "_delta_log").exists():
            shutil.rmtree(path, ignore_errors=True)
            self._write_target(path, kind)
        return path

    def source(self, shape: SourceShape, kind: TargetKind) -> Path:
        """Return a source for a target, made now if it is not there."""
        path = self.folder / f"source_{kind.value}_{shape.name}"
        if not (path / "_delta_log").exists():
            shutil.rmtree(path, ignore_errors=True)
            self._write_source(path, shape, kind)
        return path

    def chosen_files(self, shape: SourceShape) -> list[int]:
        """Choose exactly ``ceil(f F)`` files of the target by the seed."""
        number = math.ceil(shape.files_matched * self.num_files)
        return sorted(random.Random(self.seed).sample(range(self.num_files), number))  # noqa: S311 - no secret

    def num_rows_in(self, files: list[int]) -> int:
        """Count the rows of some files of an unpartitioned target."""
        bounds = (self._bounds(file, self.num_files) for file in files)
        return sum(last - first for first, last in bounds)

    def _write_target(self, path: Path, kind: TargetKind) -> None:
        path.mkdir(parents=True)
        partitioned = kind is TargetKind.PARTITIONED
        with duckdb.connect() as connection:
            for file in range(self.num_files):
                rows = select_rows(self._numbers([file], kind), seed=self.seed, kind=kind)
                place, dropped = path, "i"
                if partitioned:
                    place = path / f"{PARTITION_COLUMN}={file % NUM_PARTITIONS}"
                    place.mkdir(exist_ok=True)
                    dropped = f"i, {PARTITION_COLUMN}"
                name = str(place / f"part-{file:05}.snappy.parquet")
                connection.sql(f"SELECT * EXCLUDE ({dropped}) FROM ({rows})").write_parquet(name, compression="snappy")
        write_log(path, columns_of(kind), partition_by=(PARTITION_COLUMN,) if partitioned else ())

    def _write_source(self, path: Path, shape: SourceShape, kind: TargetKind) -> None:
        """Write the rows of a source, and beside them, in ``keys_file``, which of them match."""
        numbers = self._numbers(self.chosen_files(shape), kind)
        path.mkdir(parents=True)
        with duckdb.connect() as connection:
            connection.sql(f"CREATE TABLE numbers AS SELECT i FROM ({numbers})")
            size = connection.table("numbers").shape[0]
            matched = self._sample("m", round(size * shape.rows_matched))
            others = self._sample("n", round(size * shape.rows_not_matched))
            order, item = self._fresh_keys()
            connection.sql(
                f"""CREATE TABLE source AS
                SELECT * EXCLUDE (i), true AS is_matched FROM ({select_rows(matched, seed=self.seed, kind=kind)})
                UNION ALL SELECT * EXCLUDE (i, n) REPLACE ({order} AS wr_order_number, {item} AS wr_item_sk), false
                FROM (SELECT *, row_number() OVER (ORDER BY i) AS n
                FROM ({select_rows(others, seed=self.seed, kind=kind)}))"""
            )
            file = str(path / "part-00000.snappy.parquet")
            connection.sql("SELECT * EXCLUDE (is_matched) FROM source").write_parquet(file, compression="snappy")
            keys = "SELECT wr_order_number, wr_item_sk, wr_reason_sk, is_matched FROM source"
            connection.sql(keys).write_parquet(str(keys_file(path)))
        write_log(path, self._source_columns(kind))

    def _source_columns(self, kind: TargetKind) -> dict[str, str]:
        faithful = {"wr_order_number": "double", "wr_item_sk": "double"} if self.keys is Keys.FAITHFUL else {}
        return {**columns_of(kind), **faithful}

    def _sample(self, salt: str, number: int) -> str:
        return f"SELECT i FROM numbers ORDER BY hash(i, '{salt}', {self.seed}) LIMIT {number}"

    def _fresh_keys(self) -> tuple[str, str]:
        """Write the keys of rows that match nothing; half of the clean ones have an even item."""
        if self.keys is Keys.FAITHFUL:
            unit = "CAST(hash(i, '{}', {}) AS DOUBLE) / 18446744073709551616.0"
            return unit.format("order", self.seed), unit.format("item", self.seed)
        return f"CAST({3 * self.num_rows} + n AS BIGINT)", f"CAST(n % {NUM_ITEMS} + 1 AS INTEGER)"

    def _numbers(self, files: list[int], kind: TargetKind) -> str:
        """Write the row numbers of some files; position *p* of the target lies in file ``p * F // N``."""
        step = NUM_PARTITIONS if kind is TargetKind.PARTITIONED else 1
        ranges = []
        for file in files:
            if step > 1:  # file k holds rows of partition k % 10, a tenth of a range ten times as long
                group, partition = divmod(file, step)
                first, last = self._bounds(group, math.ceil(self.num_files / step))
                ranges.append(f"SELECT range AS p FROM range({first}, {last}) WHERE range % {step} = {partition}")
            else:
                first, last = self._bounds(file, self.num_files)
                ranges.append(f"SELECT range AS p FROM range({first}, {last})")
        row = f"p * {_STRIDE} % {self.num_rows}" if self.layout is Layout.SHUFFLED and step == 1 else "p"
        return f"SELECT {row} AS i FROM ({' UNION ALL '.join(ranges)})"

    def _bounds(self, number: int, of: int) -> tuple[int, int]:
        return number * self.num_rows // of, (number + 1) * self.num_rows // of


def keys_file(source: Path) -> Path:
    """Return the file next to a source with its keys and the rows that match."""
    return source.with_name(f"{source.name}.keys")
