"""The limit: DuckDB reads, joins and writes the rows that a merge has to, without a log, statistics or promises."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import duckdb

from tools.benchmarks.merge_benchmark.cases import (
    DELETE_ALL,
    INSERT_ALL,
    INSERT_EVEN,
    MATCHING_KEYS,
    UPDATE_ALL,
    TargetKind,
)
from tools.benchmarks.merge_benchmark.delta_log import actions_of, log_file

if TYPE_CHECKING:
    from pathlib import Path

    from tools.benchmarks.merge_benchmark.cases import BenchmarkCase

NEW_FILE = "limit.parquet"
"""The name of the file with all new rows."""


class Limit:
    """Writes the rows of the touched files and the inserted ones into one file, on two threads."""

    name = "limit"

    def takes(self, case: BenchmarkCase) -> bool:
        """Return whether the case is a merge by keys whose clauses have no conditions that matter."""
        known = {UPDATE_ALL, INSERT_ALL, INSERT_EVEN, DELETE_ALL}
        is_plain = case.target is not TargetKind.PARTITIONED and not case.properties
        return is_plain and case.condition == MATCHING_KEYS and known.issuperset(case.clauses)

    def run(self, case: BenchmarkCase, target: Path, source: Path) -> float:
        """Find the files with a match, then write their new rows; count rows afterwards, outside of the time."""
        with duckdb.connect(config={"threads": 2}) as connection:
            started = time.perf_counter()
            connection.read_parquet(f"{source}/*.parquet").create_view("s")
            files = [add["path"] for action in actions_of(target, 0) if (add := action.get("add"))]
            touched = self._touched(connection, case, target, files)
            rows = self._rows(case, target, touched or files, is_touched=bool(touched))
            connection.sql(rows).write_parquet(str(target / NEW_FILE), compression="snappy")
            seconds = time.perf_counter() - started
            metrics = _metrics(connection, target, touched)
        actions: list[dict[str, object]] = [{"remove": {"path": path}} for path in touched]
        actions += [{"add": {"path": NEW_FILE}}, {"commitInfo": {"operationMetrics": metrics}}]
        log_file(target, 1).write_text("\n".join(map(json.dumps, actions)) + "\n", encoding="utf-8")
        return seconds

    def _touched(
        self, connection: duckdb.DuckDBPyConnection, case: BenchmarkCase, target: Path, files: list[str]
    ) -> list[str]:
        if not ({UPDATE_ALL, DELETE_ALL} & set(case.clauses)):
            return []
        found = f"SELECT DISTINCT filename FROM {_files(target, files)} AS t SEMI JOIN s ON {case.condition}"
        return sorted(str(name).removeprefix(f"{target}/") for (name,) in connection.sql(found).fetchall())

    def _rows(self, case: BenchmarkCase, target: Path, files: list[str], *, is_touched: bool) -> str:
        t = f"(SELECT * EXCLUDE (filename) FROM {_files(target, files)}) AS t"
        parts = []
        if is_touched:
            parts.append(f"SELECT * FROM {t} ANTI JOIN s ON {case.condition}")
        if is_touched and UPDATE_ALL in case.clauses:
            parts.append(f"SELECT * FROM s SEMI JOIN {t} ON {case.condition}")
        if INSERT_ALL in case.clauses:
            parts.append(f"SELECT * FROM s ANTI JOIN {t} ON {case.condition}")
        return " UNION ALL BY NAME ".join(parts)


def _metrics(connection: duckdb.DuckDBPyConnection, target: Path, touched: list[str]) -> dict[str, str]:
    """Count the rows that were written, by where they are from."""
    new = f"'{target / NEW_FILE}'"
    old = f"(SELECT * FROM {_files(target, touched)})" if touched else "(SELECT * FROM s WHERE false)"

    def count(rows: str, join: str, others: str) -> str:
        query = f"SELECT count(*) FROM {rows} AS t {join} JOIN {others} AS s ON {MATCHING_KEYS}"
        return str(connection.sql(query).fetchall()[0][0])

    return {
        "numTargetRowsUpdated": count(f"(FROM {new} AS t SEMI JOIN s ON {MATCHING_KEYS})", "SEMI", old),
        "numTargetRowsInserted": count(new, "ANTI", old),
        "numTargetRowsCopied": count(new, "ANTI", "s"),
        "numTargetRowsDeleted": count(old, "ANTI", new),
    }


def _files(target: Path, files: list[str]) -> str:
    names = ", ".join(f"'{target / file}'" for file in files)
    return f"read_parquet([{names}], filename = true)"
