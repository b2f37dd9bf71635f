"""Delta tables for spec tests, and the Spark session that merges into them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import write_deltalake

from mergecheck.harness.engines.spark.session import start_session

sys.path.append(str(Path(__file__).parent))  # import mode importlib adds no folder

from merge_tables import Table, arrow, create

from mergecheck.merge import command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return start_session()


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    """Rows (1, a), (2, NULL) in one file and (3, c), (NULL, n) in another."""
    return create(spark, tmp_path / "target", arrow([(1, "a"), (2, None)]), arrow([(3, "c"), (None, "n")]))


@pytest.fixture
def race(table: Table, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let another writer append a file while a merge runs."""
    execute = command.execute

    def with_rival(run: Any) -> Any:
        result = execute(run)
        write_deltalake(table.path, arrow([(1, "rival")]), mode="append")
        return result

    monkeypatch.setattr(command, "execute", with_rival)
    yield
    monkeypatch.undo()
