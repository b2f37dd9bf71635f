"""The domain's own shrinking passes: each leads to the smallest case that still differs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from shrunk_cases import CASE, RICH, ROWS, SCHEMA, shrunk

from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.properties.merge_text import merge_text, num_clauses
from mergecheck.model.case import Case, Expectation, Source, Target
from mergecheck.model.storage import SourceLayout, Statistics, TargetLayout
from mergecheck.model.types.data_types import ArrayType, MapType, StructType
from mergecheck.model.types.ddl import parse_schema
from mergecheck.model.values import encode_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.types.data_types import Schema


def test_everything_that_is_not_needed_goes() -> None:
    """A fault that always shows leaves the smallest case there is."""
    case, _ = shrunk(lambda _: True)
    assert (case.target.rows, case.target.files, case.target.partition_by) == ((), (), ())
    assert (case.target.properties, case.conf) == ({}, {})
    assert case.source is not None
    assert case.source.rows == ()
    assert num_clauses(case.sql) == 1


@pytest.mark.parametrize(
    ("differs", "left"),
    [
        (lambda case: "BY SOURCE" in case.sql, "WHEN NOT MATCHED BY SOURCE THEN DELETE"),
        (lambda case: "s.p > 0" in case.sql, "WHEN MATCHED AND s.p > 0 THEN DELETE"),
        (lambda case: "CASE" in case.sql, "WHEN MATCHED THEN UPDATE SET v = CASE WHEN TRUE THEN s.v END"),
    ],
)
def test_clauses_conditions_and_assignments_go(differs: Callable[[Case], bool], left: str) -> None:
    """One clause is left, with the part of it that matters."""
    case, _ = shrunk(differs)
    text = merge_text(case.sql)
    assert text is not None
    assert [clause.sql() for clause in text.clauses] == [left]


def test_rows_that_belong_together_stay() -> None:
    """A fault that needs one row in each table keeps exactly these."""

    def differs(case: Case) -> bool:
        assert case.source is not None
        return any(row[0] == 6 for row in case.target.rows) and any(row[0] == 7 for row in case.source.rows)

    case, _ = shrunk(differs)
    assert case.source is not None
    assert [row[0] for row in case.target.rows] == [6]
    assert [row[0] for row in case.source.rows] == [7]
    assert "unused" not in case.target.schema.names + case.source.schema.names


def test_files_stay_where_they_matter() -> None:
    """A fault that needs two files keeps two, one row each."""
    case, _ = shrunk(lambda case: sum(bool(file) for file in case.target.files) > 1)
    assert [len(file) for file in case.target.files] == [1, 1]


def test_settings_and_partitioning_stay_where_they_matter() -> None:
    """Parts that the fault needs are kept, the rest goes."""
    case, _ = shrunk(
        lambda case: bool(case.conf and case.target.partition_by and case.target.change_data_feed and case.target.rows)
    )
    assert case.conf == CASE.conf
    assert len(case.target.partition_by) == 1
    assert set(case.target.partition_by) <= set(case.target.schema.names)
    assert case.target.properties == {"delta.enableChangeDataFeed": "true"}


def test_values_become_simple() -> None:
    """Cells that do not matter take the simplest value of their type."""
    case, _ = shrunk(lambda case: len(case.target.rows) > 0 and case.target.schema == SCHEMA)
    assert case.target.rows == ((0, "a", 0, 0.0),)


def has_types_of(case: Case, other: Case) -> bool:
    """Return whether the columns of two targets are of the same kinds: each BIGINT, for example, or each a struct."""

    def kinds(case: Case) -> list[str]:
        return [column.type.ddl().partition("<")[0] for column in case.target.schema.columns]

    return kinds(case) == kinds(other)


def test_defaults_constraints_nested_fields_evolution_and_queries_go() -> None:
    """A fault that always shows leaves a statement and tables without any of them."""
    case, _ = shrunk(lambda case: len(case.target.schema.columns) > 5 and has_types_of(case, RICH), RICH)
    assert case.sql == "MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *"
    assert (case.conf, case.target.properties) == ({}, {})
    assert case.target.schema == parse_schema(
        "k BIGINT, v INT, w BIGINT, x STRUCT<u: INT>, y ARRAY<STRUCT<b: INT>>, z MAP<STRING, STRUCT<w: INT>>"
    )


@pytest.mark.parametrize(
    ("differs", "left"),
    [
        (lambda case: "EVOLUTION" in case.sql, "MERGE WITH SCHEMA EVOLUTION INTO target t USING source s"),
        (lambda case: "DISTINCT" in case.sql, "MERGE INTO target t USING (SELECT DISTINCT * FROM source) s"),
        (lambda case: "WHERE" in case.sql, "MERGE INTO target t USING (SELECT * FROM source WHERE k > 0) s"),
        (lambda case: "LIMIT" in case.sql, "MERGE INTO target t USING (SELECT * FROM source LIMIT 9) s"),
    ],
)
def test_the_head_keeps_what_matters(differs: Callable[[Case], bool], left: str) -> None:
    """Evolution and each part of a source query go where the fault does not need them."""
    case, _ = shrunk(differs, RICH)
    text = merge_text(case.sql)
    assert text is not None
    assert text.head == left


@pytest.mark.parametrize(
    ("differs", "left"),
    [
        (lambda case: " DEFAULT 5" in case.target.schema.ddl(), "k INT DEFAULT 5"),
        (lambda case: "GENERATED" in case.target.schema.ddl(), "k INT GENERATED ALWAYS AS (id + 1)"),
        (lambda case: "id BIGINT NOT NULL" in case.target.schema.ddl(), "id BIGINT NOT NULL"),
        (lambda case: "x: INT NOT NULL" in case.target.schema.ddl(), "k STRUCT<x: INT NOT NULL>"),
        (lambda case: "z: STRING" in case.target.schema.ddl(), "k STRUCT<z: STRING>"),
        (lambda case: "a: INT" in case.target.schema.ddl(), "k ARRAY<STRUCT<a: INT>>"),
    ],
)
def test_a_schema_keeps_what_matters(differs: Callable[[Case], bool], left: str) -> None:
    """The column, its own value or the nested field that the fault needs stays, alone."""
    quiet = replace(RICH, sql="MERGE INTO target USING source ON FALSE WHEN MATCHED THEN DELETE")
    case, _ = shrunk(differs, quiet)
    assert case.target.schema.ddl() == left


def test_rows_follow_their_schema() -> None:
    """A cell loses the field that its type lost; NULL stays NULL, and a pair of equal fields goes from both tables."""
    seen: list[Case] = []

    def differs(case: Case) -> bool:
        seen.append(case)
        kinds = [type(column.type) for column in case.target.schema.columns]
        return len(case.target.rows) == 2 and kinds[-3:] == [StructType, ArrayType, MapType]

    case, _ = shrunk(differs, replace(RICH, sql="MERGE INTO target USING source ON FALSE WHEN MATCHED THEN DELETE"))
    assert case.target.schema == parse_schema(
        "k STRUCT<u: INT>, v ARRAY<STRUCT<b: INT>>, w MAP<STRING, STRUCT<w: INT>>"
    )
    assert case.source is not None
    for each in seen:
        assert all(fits(row, each.target.schema) for row in each.target.rows)
        assert each.source is None or all(fits(row, each.source.schema) for row in each.source.rows)


def fits(row: Any, schema: Schema) -> bool:
    """Return whether a row can be written into a case file."""
    return len(encode_rows([row], schema)[0]) == len(schema.columns)


def no_null(rows: Any) -> bool:
    return any(None not in row for row in rows)


def test_nested_values_become_simple() -> None:
    """NULL where that does; otherwise each member by itself."""
    case, _ = shrunk(lambda case: has_types_of(case, RICH) and no_null(case.target.rows), RICH)
    assert case.target.rows == ((0, 0, 0, (0,), (), ()),)


def test_a_table_merged_into_itself_shrinks_too() -> None:
    """A case without a source has only one table to shrink."""
    alone = Case(id="self", target=CASE.target, source=None, sql=CASE.sql)
    case, _ = shrunk(lambda case: len(case.target.rows) > 1, alone)
    assert case.source is None
    assert len(case.target.rows) == 2


def test_a_layout_goes_where_it_does_not_matter() -> None:
    """Only the part that the fault needs is left; the source keeps its own through the passes over its rows."""
    laid_out = replace(
        CASE,
        target=replace(
            CASE.target,
            layout=TargetLayout(row_group_rows=2, statistics=Statistics.NONE, added_columns=("v", "unused")),
        ),
        source=Source(schema=SCHEMA, rows=ROWS[2:9], layout=SourceLayout(batch_rows=2)),
    )

    def differs(case: Case) -> bool:
        return case.source is not None and case.source.layout.batch_rows == 2 and len(case.source.rows) > 2

    case, _ = shrunk(differs, laid_out)
    assert case.source is not None
    assert (case.target.layout, case.source.layout) == (TargetLayout(), SourceLayout(batch_rows=2))
    assert len(case.source.rows) == 3
    assert shrunk(lambda _: True, laid_out)[0].source == Source(schema=case.source.schema)


@pytest.mark.parametrize(("size", "number"), [(701, 719), (3, 5), (5, 6)])
def test_rows_leave_every_row_group_alike(size: int, number: int) -> None:
    """A fault in the second group of a file needs two small groups, and not the rows of a large first one."""
    rows = tuple((i, "v", 0, 1.5) for i in range(3 * size))
    layout = TargetLayout(row_group_rows=size)
    large = replace(CASE, target=Target(schema=SCHEMA, files=(rows,), layout=layout))

    def differs(case: Case) -> bool:
        now = case.target.layout.row_group_rows
        second = [] if now is None else [file[now : 2 * now] for file in case.target.files]
        return any(len(group) > 1 and number in [row[0] for row in group] for group in second)

    case, attempts = shrunk(differs, large)
    assert case.target.layout.row_group_rows == 2
    assert [len(file) for file in case.target.files] == [4]
    assert attempts.num_runs < 120


@pytest.mark.parametrize(("needed", "most"), [(1, 3), (4_000, 4_140)])
def test_thousands_of_rows_go_in_few_runs(needed: int, most: int) -> None:
    """Halves go first; where thousands must stay, no time is spent on single rows, and the other passes still run."""
    rows = tuple((i, "v", 0, 1.5) for i in range(8_200))
    large = replace(CASE, target=Target(schema=SCHEMA, files=(rows,)), source=Source(schema=SCHEMA, rows=rows[:50]))
    case, attempts = shrunk(lambda case: len(case.target.rows) >= needed, large, ShrinkLimits(max_runs=400))
    assert needed <= len(case.target.rows) <= most
    assert attempts.num_runs < 400
    assert case.source is not None
    assert case.source.rows == ()
    assert num_clauses(case.sql) == 1


def test_limits_hold() -> None:
    """No more executions than allowed, and the attempts count those refused."""
    _, attempts = shrunk(lambda case: len(case.target.rows) > 3, limits=ShrinkLimits(max_runs=7))
    assert attempts.num_runs == 7
    assert attempts.refused


def test_no_case_runs_twice() -> None:
    """Candidates that were tried are remembered."""
    seen: list[str] = []

    def differs(case: Case) -> bool:
        seen.append(repr(case.target) + repr(case.source) + case.sql + repr(case.conf))
        return len(case.target.rows) > 2

    shrunk(differs)
    runs = seen[1:]  # every report asks twice
    assert len(set(seen)) * 2 >= len(runs)


def test_a_mismatch_against_expect_is_left_alone() -> None:
    """An author's expectations hold for his tables only: smaller tables would make another fault."""
    case = Case(id="e", target=CASE.target, source=CASE.source, sql=CASE.sql, expect=Expectation(rows=()))
    left, attempts = shrunk(lambda _: True, case, against="expect")
    assert (left.target, left.sql, attempts.num_runs) == (case.target, case.sql, 0)


def test_an_agreement_cannot_be_shrunk() -> None:
    """There is nothing to keep."""
    with pytest.raises(ValueError, match="shows no mismatch"):
        shrunk(lambda _: False)
