"""Paths of tables that other programs read as patterns or escapes: taken literally, or refused by name (R-140)."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from merge_tables import UPSERT, Table

from mergecheck.merge.errors import UnsupportedTableError
from mergecheck.merge.table.storage.paths import table_location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_path_is_no_pattern(spark: SparkSession, table: Table) -> None:
    """Characters of Hadoop's patterns name one directory, although others would match them."""
    path = Path(table.path).with_name("a*b?c[d]e{f,g} #h;i=j+k&l%")
    Path(table.path).rename(path)
    shutil.copytree(path, path.with_name("axb?c[d]e{f,g} #h;i=j+k&l%"))
    moved = Table(spark, str(path))
    moved.merge(UPSERT, [(1, "x"), (3, "y"), (9, "z")])
    assert moved.rows() == Counter([(1, "x"), (2, None), (3, "y"), (None, "n"), (9, "z")])


@pytest.mark.parametrize("name", ["g%41b", "s%20p", "%2F", "a\\b", "new\nline", "tab\t", "a:b*"])
def test_what_the_log_reader_takes_for_another_path_is_refused(tmp_path: Path, name: str) -> None:
    """The log's reader would read another table's log, such as gAb's."""
    with pytest.raises(UnsupportedTableError, match="in the path"):
        table_location(str(tmp_path / name))
