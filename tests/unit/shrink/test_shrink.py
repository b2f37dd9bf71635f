"""The domain's own shrinking passes: every one of them leads to the smallest case that still differs."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.core.merge_text import cut_merge, renamed_in, split_outer
from mergecheck.harness.shrink.passes.expressions import num_places, simpler_expressions
from mergecheck.harness.shrink.passes.names import plainer_names
from mergecheck.harness.shrink.passes.queries import without_query
from mergecheck.harness.shrink.passes.structs import without_structs
from mergecheck.harness.shrink.passes.text import clause_candidates, condition_candidates, head_candidates
from mergecheck.harness.shrink.passes.types import plainer_types
from mergecheck.harness.shrink.shrinker import Attempts, ShrinkLimits, shrink
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.reference import evaluate
from mergecheck.reference.case.model import Case, Expectation, Source, Target
from mergecheck.reference.case.storage import SourceLayout, Statistics, TargetLayout
from mergecheck.reference.case.values import encode_rows
from mergecheck.reference.outcome import Outcome, Reference, Unsupported
from mergecheck.reference.types.data_types import ArrayType, MapType, StructType
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.reference.types.data_types import Schema

SCHEMA = parse_schema("id BIGINT, v STRING, p INT, unused DOUBLE")
ROWS = tuple((i, f"v{i}", i % 2, 1.5) for i in range(12))
CASE = Case(
    id="big",
    target=Target(
        schema=SCHEMA,
        files=(ROWS[:4], (), ROWS[4:8], ROWS[8:]),
        partition_by=("p",),
        properties={"delta.enableChangeDataFeed": "true", "delta.appendOnly": "false"},
    ),
    source=Source(schema=SCHEMA, rows=ROWS[2:9]),
    sql="MERGE INTO target t USING source s ON t.id = s.id AND t.p = s.p "
    "WHEN MATCHED AND t.v = 'v3' AND s.p > 0 THEN UPDATE SET v = CASE WHEN TRUE THEN s.v END, p = s.p "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE",
    conf={"spark.sql.shuffle.partitions": "1"},
)


def shrunk(
    differs: Callable[[Case], bool], case: Case = CASE, limits: ShrinkLimits | None = None, against: str = "reference"
) -> tuple[Case, Attempts]:
    mismatch = Mismatch(check=Check.ROWS, against=against, kind="missing_rows", lines=("line",))

    def check(candidate: Case) -> CaseReport:
        return CaseReport(
            case=candidate,
            engine="e",
            engine_version="1",
            verdict=Verdict.MISMATCH if differs(candidate) else Verdict.AGREE,
            reference=Reference(answer=Unsupported("not looked at")),
            result=Outcome(schema=SCHEMA, rows=()),
            mismatches=(mismatch,) if differs(candidate) else (),
        )

    attempts = Attempts(check(case), check=check, limits=limits or ShrinkLimits(max_runs=2000))
    return shrink(attempts).case, attempts


def test_everything_that_is_not_needed_goes() -> None:
    """A fault that always shows leaves the smallest case there is."""
    case, _ = shrunk(lambda _: True)
    assert (case.target.rows, case.target.files, case.target.partition_by) == ((), (), ())
    assert (case.target.properties, case.conf) == ({}, {})
    assert case.source is not None
    assert case.source.rows == ()
    assert len(cut_merge(case.sql).clauses) == 1


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
    (clause,) = cut_merge(case.sql).clauses
    assert clause.sql() == left


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
    """What the fault depends on is kept, the rest goes."""
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
    """Tell whether the columns of two targets are of the same kinds: each BIGINT, for example, or each some struct."""

    def kinds(case: Case) -> list[str]:
        return [column.type.ddl().partition("<")[0] for column in case.target.schema.columns]

    return kinds(case) == kinds(other)


RICH = Case(
    id="rich",
    target=Target(
        schema=parse_schema(
            "id BIGINT NOT NULL, d INT DEFAULT 5, g BIGINT GENERATED ALWAYS AS (id + 1), "
            "s STRUCT<x: INT NOT NULL, y: STRUCT<z: STRING, u: INT>>, l ARRAY<STRUCT<a: INT, b: INT>>, "
            "m MAP<STRING, STRUCT<k: INT, w: INT>>"
        ),
        files=(
            ((1, 5, 2, (1, ("q", 3)), ((1, 2), None), (("p", (1, 2)), ("o", None))), (2, None, 3, None, None, None)),
        ),
        properties={"delta.constraints.pos": "id > 0", "delta.constraints.small": "d < 9"},
    ),
    source=Source(
        schema=parse_schema("id BIGINT, s STRUCT<x: INT, y: STRUCT<u: INT, n: INT>>, extra STRUCT<e: INT, f: INT>"),
        rows=((1, (7, (8, 9)), (1, 2)),),
    ),
    sql="MERGE WITH SCHEMA EVOLUTION INTO target t USING (SELECT DISTINCT * FROM source WHERE id > 0 LIMIT 9) s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.id, f(1, 2))",
    conf={"spark.databricks.delta.schema.autoMerge.enabled": "true", "spark.sql.ansi.enabled": "false"},
)


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
    assert cut_merge(case.sql).head == left


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
    """Tell whether a row can be written into a case file."""
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
    """What is left of it is what the fault needs; the source keeps its own through the passes over its rows."""
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
    assert len(cut_merge(case.sql).clauses) == 1


def test_limits_hold() -> None:
    """No more executions than allowed, and the attempts tell that some were refused."""
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
    """What an author expects holds for his tables only: smaller tables would make another fault."""
    case = Case(id="e", target=CASE.target, source=CASE.source, sql=CASE.sql, expect=Expectation(rows=()))
    left, attempts = shrunk(lambda _: True, case, against="expect")
    assert (left.target, left.sql, attempts.num_runs) == (case.target, case.sql, 0)


def test_an_agreement_cannot_be_shrunk() -> None:
    """There is nothing to keep."""
    with pytest.raises(ValueError, match="shows no mismatch"):
        shrunk(lambda _: False)


def test_candidates_of_a_head_are_each_smaller() -> None:
    """A statement without evolution and with a table as the source has none."""
    assert list(head_candidates(CASE.sql)) == []
    candidates = list(head_candidates(RICH.sql))
    assert all(len(candidate) < len(RICH.sql) for candidate in candidates)
    assert len(set(candidates)) == len(candidates) == 5


def test_candidates_of_a_statement_are_each_smaller() -> None:
    """Every candidate drops something, and none repeats the statement."""
    candidates = list(condition_candidates(CASE.sql))
    assert all(len(candidate) < len(CASE.sql) for candidate in candidates)
    assert len(set(candidates)) == len(candidates) == 7


def test_conditions_lose_conjuncts_alternatives_and_brackets() -> None:
    """Those of ON and those of clauses; what is no condition any more, the caller finds out."""
    on = "(t.a = s.a) OR ((t.b = s.b OR t.c = s.c))"
    sql = f"MERGE INTO target t USING source s ON {on} WHEN MATCHED AND {{}} THEN DELETE"
    of_on = {
        candidate for candidate in condition_candidates(sql.format("x")) if candidate.endswith("AND x THEN DELETE")
    }
    assert {candidate.split(" ON ")[1].split(" WHEN ")[0] for candidate in of_on} == {
        "(t.a = s.a)",
        "((t.b = s.b OR t.c = s.c))",
    }
    of_clause = condition_candidates(sql.format("(x OR y)"))
    assert any(candidate.endswith("WHEN MATCHED AND x OR y THEN DELETE") for candidate in of_clause)
    assert not any("AND (x) OR y" in c or "AND x) OR (y" in c for c in condition_candidates(sql.format("(x) OR (y)")))


@pytest.mark.parametrize(
    ("text", "separator", "pieces"),
    [
        ("a = 1 AND (b OR c AND d) and e", "AND", ("a = 1", "(b OR c AND d)", "e")),
        ("a = f(1, 2), `b,c` = 'x,y'", ",", ("a = f(1, 2)", "`b,c` = 'x,y'")),
        ("a = CASE WHEN b, c THEN 1 END, d = 2", ",", ("a = CASE WHEN b, c THEN 1 END", "d = 2")),
        ("a", ",", ("a",)),
        ("'open", "AND", ("'open",)),
    ],
)
def test_lists_are_split_outside_of_parentheses(text: str, separator: str, pieces: tuple[str, ...]) -> None:
    """Separators inside parentheses, quotes and CASE do not split."""
    assert split_outer(text, separator) == pieces


def test_columns_are_called_k_and_v_and_tables_t_and_s() -> None:
    """In both tables, the partitioning, the constraints and the statement; a text in quotes is no name."""
    schema = parse_schema('`dou"ble` INT, `a.b` STRING, plain INT DEFAULT 1')
    case = replace(
        CASE,
        target=Target(
            schema=schema,
            files=(((1, "x", 2),),),
            partition_by=("plain",),
            properties={"delta.constraints.c": "plain > 0 AND `a.b` <> 'plain'", "delta.appendOnly": "false"},
        ),
        source=Source(schema=schema, rows=((1, "y", 2),)),
        sql='MERGE INTO target AS old USING source AS `new` ON old.`DOU"BLE` = `new`.`dou"ble` '
        "WHEN MATCHED AND `new`.`a.b` <> 'a.b' THEN UPDATE SET `a.b` = `new`.`a.b`, plain = 1",
    )
    (tables, columns, first, second) = plainer_names(case)
    assert tables.sql == (
        'MERGE INTO target t USING source s ON t.`DOU"BLE` = s.`dou"ble` '
        "WHEN MATCHED AND s.`a.b` <> 'a.b' THEN UPDATE SET `a.b` = s.`a.b`, plain = 1"
    )
    assert columns.target.schema.names == ("k", "v", "w")
    assert columns.source is not None
    assert columns.source.schema.names == ("k", "v", "w")
    assert columns.target.partition_by == ("w",)
    assert columns.target.properties == {"delta.constraints.c": "w > 0 AND v <> 'plain'", "delta.appendOnly": "false"}
    assert columns.sql == (
        "MERGE INTO target AS old USING source AS `new` ON old.k = `new`.k "
        "WHEN MATCHED AND `new`.v <> 'a.b' THEN UPDATE SET v = `new`.v, w = 1"
    )
    assert (first.target.schema.names, second.target.schema.names) == (("a", "a.b", "plain"), ('dou"ble', "a", "plain"))
    small, _ = shrunk(lambda candidate: len(candidate.target.schema.names) == len(schema.names), case)
    assert small.target.schema.names == ("k", "v", "w")


def test_a_column_that_is_called_as_a_table_is_keeps_its_name() -> None:
    """Behind a dot it is the column's, in front of one the table's; alone it is left, and the engine decides."""
    sql = "MERGE INTO target t USING source s ON t.s = s.s AND s.t = 1 WHEN MATCHED THEN DELETE"
    assert renamed_in(sql, {"s": "k", "t": "v"}, qualifiers={"s": None, "t": None}) == (
        "MERGE INTO target t USING source s ON t.k = s.k AND s.v = 1 WHEN MATCHED THEN DELETE"
    )


@pytest.mark.parametrize(
    ("on", "condition", "value", "left"),
    [
        ("t.id = s.id AND s.p > 0", "t.v <=> 'x' OR s.p * 2 IN (1, 2)", "upper(s.v)", "ON t.id = s.id {} SET v = 'b'"),
        ("t.id + 1 = s.id + 1", "TRUE", "1 + 1", "ON t.id = s.id {} SET v = 'b'"),
    ],
)
def test_expressions_become_plain(on: str, condition: str, value: str, left: str) -> None:
    """ON becomes an equality of columns, a condition a comparison, a value a literal; a plain one is left alone."""
    sql = f"MERGE INTO target t USING source s ON {on} WHEN MATCHED AND {condition} THEN UPDATE SET v = {value}"
    case = replace(CASE, sql=sql)
    for number in range(num_places(case)):
        case = next(simpler_expressions(case, number), case)
    plain = "TRUE" if condition == "TRUE" else "t.v > 'a'"
    assert case.sql.endswith(left.format(f"WHEN MATCHED AND {plain} THEN UPDATE"))
    assert [list(simpler_expressions(case, number)) for number in range(4)] == [[], [], [], []]


def test_a_source_query_becomes_the_rows_that_it_gives() -> None:
    """The table holds what the query gives; a table that is merged into itself has a source of its own."""
    sql = "MERGE INTO target t USING (SELECT id + 1 AS k, p FROM source WHERE id < 4) s ON t.id = s.k"
    case = replace(CASE, sql=f"{sql} WHEN MATCHED THEN DELETE")
    (plain,) = without_query(case, evaluate(case).trace.source)
    assert plain.sql == "MERGE INTO target t USING source s ON t.id = s.k WHEN MATCHED THEN DELETE"
    assert plain.source is not None
    assert (plain.source.schema.names, sorted(plain.source.rows)) == (("k", "p"), [(3, 0), (4, 1)])
    alone = replace(CASE, source=None, sql="MERGE INTO target t USING target s ON t.id = s.id WHEN MATCHED THEN DELETE")
    (plain,) = without_query(alone, evaluate(alone).trace.source)
    assert plain.sql == "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"
    assert plain.source is not None
    assert sorted(plain.source.rows) == sorted(CASE.target.rows)
    assert list(without_query(CASE, evaluate(CASE).trace.source)) == []


def test_clauses_become_plain() -> None:
    """DELETE for an update, a star for a list, columns without their table."""
    sql = (
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.v = s.v "
        "WHEN NOT MATCHED BY TARGET THEN INSERT (id) VALUES (1)"
    )
    head = "MERGE INTO target t USING source s ON t.id = s.id"
    insert = "WHEN NOT MATCHED BY TARGET THEN INSERT (id) VALUES (1)"
    assert list(clause_candidates(sql)) == [
        f"{head} WHEN MATCHED THEN DELETE {insert}",
        f"{head} WHEN MATCHED THEN UPDATE SET * {insert}",
        f"{head} WHEN MATCHED THEN UPDATE SET v = s.v {insert}",
        f"{head} WHEN MATCHED THEN UPDATE SET t.v = s.v WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
        f"{head} WHEN MATCHED THEN UPDATE SET t.v = s.v WHEN NOT MATCHED BY TARGET THEN INSERT *",
    ]


def test_a_struct_of_one_field_becomes_the_field() -> None:
    """In both tables and in the statement; a NULL struct is a NULL field, and a struct of two fields stays."""
    case = replace(
        CASE,
        target=Target(
            schema=parse_schema("id INT, n STRUCT<a: INT>, m STRUCT<a: INT, b: INT>"), files=(((1, (5,), None),),)
        ),
        source=Source(schema=parse_schema("id INT, n STRUCT<a: INT>"), rows=((1, None),)),
        sql="MERGE INTO target t USING source s ON t.id = s.id "
        "WHEN MATCHED AND t.N.a < m.a THEN UPDATE SET n.a = 'n.a'",
    )
    (plain,) = without_structs(case)
    assert plain.target.schema.ddl() == "id INT, n INT, m STRUCT<a: INT, b: INT>"
    assert plain.source is not None
    assert (plain.target.rows, plain.source.rows) == (((1, 5, None),), ((1, None),))
    assert plain.sql.endswith("WHEN MATCHED AND t.N < m.a THEN UPDATE SET n = 'n.a'")


def typed_case(ddl: str, target: tuple[Any, ...], source: tuple[Any, ...]) -> Case:
    """Tables of one column each."""
    schema = parse_schema(ddl)
    return replace(
        CASE,
        target=Target(schema=schema, files=(tuple((value,) for value in target),)),
        source=Source(schema=schema, rows=tuple((value,) for value in source)),
        sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
    )


@pytest.mark.parametrize(
    ("ddl", "target", "source", "numbered"),
    [
        ("id DATE", (dt.date(2020, 1, 2), dt.date(2020, 1, 1)), (dt.date(2020, 1, 2), None), ((1, 0), (1, None))),
        ("id STRING", ("b", ""), ("a",), ((2, 0), (1,))),
        ("id DOUBLE", (-0.0, 7.0), (0.0,), ((0, 7), (0,))),
        ("id DOUBLE", (0.5, -0.0), (0.0,), ((1, 0), (0,))),
        ("id DOUBLE", (math.inf,), (math.inf,), ((0,), (0,))),
        ("id DECIMAL(38,0)", (Decimal(10**37),), (Decimal(1),), ((1,), (0,))),
        ("id DECIMAL(3,1)", (Decimal("1.0"),), (Decimal("2.0"),), ((1,), (2,))),
        ("id BIGINT", (2**40, 5), (5,), ((1, 0), (0,))),
        ("id STRUCT<a: INT, b: INT>", ((1, None), (None, 1)), ((None, 1),), ((0, 1), (1,))),
    ],
)
def test_values_are_numbered_so_that_equal_ones_stay_equal(
    ddl: str, target: tuple[Any, ...], source: tuple[Any, ...], numbered: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Integers keep their value where all are some; all others become their place in order, where they have one."""
    plainer = next(plainer_types(typed_case(ddl, target, source)))
    assert plainer.source is not None
    assert (plainer.target.schema.ddl(), plainer.source.schema.ddl()) == ("id INT", "id INT")
    assert (plainer.target.rows, plainer.source.rows) == tuple(tuple((n,) for n in numbers) for numbers in numbered)


def test_only_what_a_finding_needs_keeps_its_type() -> None:
    """All become INT at once; of the others, those of a type, of a name, and one column alone."""
    small, _ = shrunk(lambda case: len(case.target.schema.columns) == 4)
    assert small.target.schema.ddl() == "v INT, w INT, k INT, x INT"
    small, _ = shrunk(lambda case: "STRING" in case.target.schema.ddl() and len(case.target.schema.columns) == 4)
    assert small.target.schema.ddl() == "v INT, w STRING, k INT, x INT"
    kept = typed_case("id DATE", (dt.date(2020, 1, 2),), ())
    small, _ = shrunk(lambda case: case.source is not None and case.source.schema.ddl() == "id DATE", kept)
    assert (small.target.schema.ddl(), small.target.rows) == ("id INT", ())
    assert list(plainer_types(typed_case("id INT", (1,), (None,)))) == []
