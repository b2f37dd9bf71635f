"""Tables of the scale mode: the same bytes from the same spec, with the traits that their shape promises."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb
import pytest
from deltalake import DeltaTable

from mergecheck.harness.cli.verbs.scale import parse_size
from mergecheck.harness.delta.check_statistics import file_faults
from mergecheck.harness.delta.read import read_table
from mergecheck.harness.lab.scale.tables.generate import write_tables
from mergecheck.harness.lab.scale.tables.shapes import DRAWN, SHAPES, shape_named, statement_of
from mergecheck.harness.lab.scale.tables.spec import SCHEMA, load_spec, make_spec
from mergecheck.harness.verdict import UserInputError
from mergecheck.reference.syntax.statement import Kind, parse_statement

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec

NAMES = [shape.name for shape in SHAPES]


def small(shape: str, *, rows: int = 600, seed: int = 1) -> ScaleSpec:
    return make_spec(shape=shape, rows=rows, files=8, seed=seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("shape", NAMES)
def test_the_same_spec_gives_the_same_bytes(tmp_path: Path, shape: str) -> None:
    for name in ("one", "two"):
        write_tables(small(shape), tmp_path / name)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_another_seed_gives_other_tables(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_tables(small("upsert", seed=seed), tmp_path / str(seed))
    names = ("target/part-00000.parquet", "source/part-00000.parquet")
    assert all(contents(tmp_path / "1")[name] != contents(tmp_path / "2")[name] for name in names)


@pytest.mark.parametrize("shape", NAMES)
def test_tables_are_delta_tables_with_true_statistics(tmp_path: Path, shape: str) -> None:
    made = write_tables(small(shape), tmp_path)
    for path, num_rows in ((made.target, made.target_rows), (made.source, made.source_rows)):
        state = read_table(path)
        assert SCHEMA == state.schema
        assert num_rows == len(state.rows)
        for file in state.files:
            assert not list(file_faults(file, schema=state.schema, partition_by=state.partition_by))
            stats = json.loads(file.add["stats"])
            assert {"k", "qty", "price", "name", "day"} <= stats["minValues"].keys()
    assert made.target_rows == 600
    assert DeltaTable(made.target).metadata().configuration == {"delta.enableChangeDataFeed": "true"}


def test_rows_hold_what_comparisons_stumble_over(tmp_path: Path) -> None:
    write_tables(small("upsert", rows=3000), tmp_path)
    found = duckdb.execute(
        f"SELECT bool_or(isnan(rate)), bool_or(rate = 0 AND signbit(rate)), bool_or(rate = 0 AND NOT signbit(rate)), "
        f"bool_or(name = ''), bool_or(name IS NULL), bool_or(qty IS NULL) FROM '{tmp_path}/target/*.parquet'"
    ).fetchall()[0]
    assert found == (True,) * 6


@pytest.mark.parametrize(
    ("shape", "query"),
    [
        ("skewed", "SELECT count(*) > 400 FROM t WHERE k = 0"),
        ("skewed", "SELECT count(*) = 1 FROM s WHERE k = 0"),
        ("null-keys", "SELECT (SELECT count(*) FROM t WHERE k IS NULL) > 10 AND count(*) > 3 FROM s WHERE k IS NULL"),
        ("duplicates", "SELECT count(*) > 200 FROM (SELECT *, count(*) AS n FROM t GROUP BY ALL) WHERE n = 2"),
        ("duplicates", "SELECT count(*) > 10 FROM (SELECT k FROM t GROUP BY k HAVING count(*) > 1) JOIN s USING (k)"),
        ("ambiguous", "SELECT count(*) > 0 FROM (SELECT k FROM s GROUP BY k HAVING count(*) > 1) JOIN t USING (k)"),
        ("upsert", "SELECT count(*) = 0 FROM (SELECT k FROM s GROUP BY k HAVING count(*) > 1)"),
        ("upsert", "SELECT count(*) > 10 FROM s JOIN t USING (k)"),
        ("upsert", "SELECT count(*) > 2 FROM s ANTI JOIN t USING (k)"),
        ("partitioned", "SELECT count(*) > 5 FROM s JOIN t USING (k) WHERE s.part <> t.part"),
    ],
)
def test_a_shape_has_its_trait(tmp_path: Path, shape: str, query: str) -> None:
    write_tables(small(shape, rows=3000), tmp_path)
    with duckdb.connect() as connection:
        for name, folder in (("t", "target"), ("s", "source")):
            files = f"read_parquet('{tmp_path}/{folder}/**/*.parquet', hive_partitioning = true)"
            connection.execute(f"CREATE TABLE {name} AS FROM {files}")
        assert connection.execute(query).fetchall() == [(True,)]


def test_drawn_statements_follow_from_the_seed_and_have_every_kind_of_clause() -> None:
    drawn = [statement_of(shape_named(DRAWN), seed) for seed in range(60)]
    assert drawn == [statement_of(shape_named(DRAWN), seed) for seed in range(60)]
    assert len(set(drawn)) > 50
    kinds = {clause.kind for text in drawn for clause in parse_statement(text).clauses}
    assert kinds == set(Kind)


@pytest.mark.parametrize("shape", NAMES)
def test_a_spec_comes_back_from_its_file(tmp_path: Path, shape: str) -> None:
    spec = small(shape, seed=7)
    path = tmp_path / "spec.json"
    path.write_text(spec.to_json(), encoding="utf-8")
    assert spec == load_spec(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ('{"format_version": 2}', "format_version 1"),
        ('{"format_version": 1, "seed": 1}', "must have the keys seed, rows, files, shape, statement"),
        (
            '{"format_version": 1, "seed": true, "rows": 5, "files": 1, "shape": "upsert", "statement": ""}',
            "look at seed",
        ),
        (
            '{"format_version": 1, "seed": 1, "rows": 5, "files": 9, "shape": "upsert", "statement": ""}',
            "files is 9, but must be 1 to the number of rows, 5",
        ),
        (
            '{"format_version": 1, "seed": 1, "rows": 5, "files": 2, "shape": "round", "statement": ""}',
            "the shapes are: upsert",
        ),
    ],
)
def test_a_file_that_is_no_spec_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "spec.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserInputError, match=said):
        load_spec(path)


def test_a_case_that_the_disk_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=59 * 10**9))
    spec = replace(small("upsert"), rows=10**9)
    with pytest.raises(UserInputError, match=r"need about 60 GB in .*, where 59 GB are free"):
        write_tables(spec, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_sizes_are_powers_of_1024() -> None:
    assert [8 * 2**30, 6 * 2**30, 2**29] == [parse_size(text) for text in ("8GB", "6 GiB", "512m")]
    for text in ("8 apples", "100MB", ""):
        with pytest.raises(UserInputError, match="at least 512MB"):
            parse_size(text)
