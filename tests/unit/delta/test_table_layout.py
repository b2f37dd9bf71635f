"""Tables written in their layout: row groups, statistics, missing columns, Arrow types; the rows stay the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from mergecheck.harness.delta.arrow_layout import source_batches
from mergecheck.harness.delta.read import read_actions, read_table
from mergecheck.harness.delta.write import write_source, write_target
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.case import Source, Target
from mergecheck.model.storage import SourceLayout, Statistics, StringType, TargetLayout
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = parse_schema("id INT, v STRING, n STRUCT<a: STRING, l: ARRAY<STRING>>, m MAP<STRING, INT>")
OLD = ((1, None, None, None), (2, None, None, (("k", 1),)), (3, None, None, None))
NEW = ((4, "x", ("a", ("b", None)), ()), (5, None, (None, None), None))
ARROW = {
    StringType.STRING: pa.string(),
    StringType.LARGE_STRING: pa.large_string(),
    StringType.STRING_VIEW: pa.string_view(),
    StringType.DICTIONARY: pa.dictionary(pa.int32(), pa.string()),
}


def written(path: Path, layout: TargetLayout, files: tuple[Any, ...] = (OLD, NEW)) -> list[pq.ParquetFile]:
    """Write a target, see that both readers find its rows, and return its files in order."""
    write_target(Target(schema=SCHEMA, files=files, layout=layout), path)
    rows = [row for file in files for row in file]
    assert sorted(read_table(path).rows) == sorted(rows)
    table = DeltaTable(path).to_pyarrow_table()
    assert sorted(table["id"].to_pylist()) == [row[0] for row in rows]
    assert sorted(table["v"].to_pylist(), key=str) == sorted((row[1] for row in rows), key=str)
    return [pq.ParquetFile(path / add["path"]) for add in adds(path)]


def adds(path: Path) -> list[dict[str, Any]]:
    return [action["add"] for action in read_actions(path, 0) if "add" in action]


def test_a_file_has_as_many_row_groups_as_asked(tmp_path: Path) -> None:
    """No group holds more rows than the layout allows."""
    files = written(tmp_path, TargetLayout(row_group_rows=2))
    assert [file.metadata.num_row_groups for file in files] == [2, 1]
    assert [file.metadata.row_group(0).num_rows for file in files] == [2, 2]


def test_without_a_limit_a_file_is_one_group(tmp_path: Path) -> None:
    """The default is what small files of real writers look like."""
    assert [file.metadata.num_row_groups for file in written(tmp_path, TargetLayout())] == [1, 1]


@pytest.mark.parametrize(
    ("statistics", "known"),
    [
        (Statistics.ALL, [{"numRecords", "minValues", "maxValues", "nullCount"}] * 2),
        (Statistics.COUNTS, [{"numRecords"}] * 2),
        (Statistics.ALTERNATE, [set(), {"numRecords", "minValues", "maxValues", "nullCount"}]),
        (Statistics.NONE, [set(), set()]),
    ],
)
def test_the_log_has_the_statistics_asked_for(tmp_path: Path, statistics: Statistics, known: list[set[str]]) -> None:
    """A file without statistics has no such key at all, as with statistics collection turned off."""
    written(tmp_path, TargetLayout(statistics=statistics))
    assert [set(json.loads(add["stats"])) if "stats" in add else set() for add in adds(tmp_path)] == known


def test_an_old_file_lacks_the_columns_that_it_holds_nothing_in(tmp_path: Path) -> None:
    """Only columns that are NULL throughout are left out, and its statistics do not know them either."""
    files = written(tmp_path, TargetLayout(added_columns=("v", "n", "m")))
    assert [file.schema_arrow.names for file in files] == [["id", "m"], ["id", "v", "n", "m"]]
    assert "v" not in json.loads(adds(tmp_path)[0]["stats"])["nullCount"]


def test_a_file_keeps_a_column_even_if_all_are_new(tmp_path: Path) -> None:
    """A file of NULLs cannot be without columns."""
    rows = ((None, None, None, None),)
    write_target(
        Target(schema=SCHEMA, files=(rows,), layout=TargetLayout(added_columns=("id", "v", "n", "m"))), tmp_path
    )
    assert read_table(tmp_path).rows == rows


@pytest.mark.parametrize("string_type", StringType)
def test_a_file_tells_of_the_type_of_its_texts(tmp_path: Path, string_type: StringType) -> None:
    """Arrow readers see the type, several row groups or not; by default a file has no Arrow schema, as Spark's."""
    (file,) = written(tmp_path, TargetLayout(string_type=string_type, row_group_rows=1), files=(NEW,))
    assert file.schema_arrow.field("v").type == ARROW[string_type]
    has_schema = b"ARROW:schema" in (file.metadata.metadata or {})
    assert has_schema == (string_type is not StringType.STRING)
    inner = file.schema_arrow.field("n").type.field("a").type
    assert inner == ARROW[StringType.STRING if string_type is StringType.DICTIONARY else string_type]


@pytest.mark.parametrize("string_type", StringType)
@pytest.mark.parametrize(("batch_rows", "sizes"), [(None, [5]), (2, [2, 2, 1]), (5, [5])])
def test_a_source_comes_in_batches(string_type: StringType, batch_rows: int | None, sizes: list[int]) -> None:
    """The batches have the asked size and type, and together the rows."""
    rows = (*OLD, *NEW)
    layout = SourceLayout(batch_rows=batch_rows, string_type=string_type)
    batches = source_batches(Source(schema=SCHEMA, rows=rows, layout=layout))
    assert [batch.num_rows for batch in batches] == sizes
    assert {batch.schema.field("v").type for batch in batches} == {ARROW[string_type]}
    assert table_to_rows(pa.Table.from_batches(batches), SCHEMA) == rows


def test_an_empty_source_is_one_empty_batch() -> None:
    """A reader learns the columns even where there are no rows."""
    (batch,) = source_batches(Source(schema=SCHEMA, layout=SourceLayout(batch_rows=1)))
    assert (batch.num_rows, batch.schema.names) == (0, ["id", "v", "n", "m"])


def test_a_reader_without_views_gets_large_strings() -> None:
    """Older readers do not know Arrow's view types."""
    source = Source(schema=SCHEMA, rows=NEW, layout=SourceLayout(string_type=StringType.STRING_VIEW))
    (batch,) = source_batches(source, string_view=False)
    assert batch.schema.field("v").type == pa.large_string()


def test_a_source_table_has_a_row_group_per_batch(tmp_path: Path) -> None:
    """Where the source is a table, its layout is the file's."""
    write_source(Source(schema=SCHEMA, rows=OLD, layout=SourceLayout(batch_rows=1)), tmp_path)
    (add,) = adds(tmp_path)
    assert pq.ParquetFile(tmp_path / add["path"]).metadata.num_row_groups == 3
