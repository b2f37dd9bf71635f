"""The passes of shrinking, each alone: statements, names, queries, structs, types."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from shrunk_cases import CASE, RICH, shrunk

from mergecheck.harness.findings.shrink.passes.expressions import num_places, simpler_expressions
from mergecheck.harness.findings.shrink.passes.names import plainer_names
from mergecheck.harness.findings.shrink.passes.queries import without_query
from mergecheck.harness.findings.shrink.passes.structs import without_structs
from mergecheck.harness.findings.shrink.passes.text_passes import (
    clause_candidates,
    condition_candidates,
    head_candidates,
)
from mergecheck.harness.findings.shrink.passes.types import plainer_types
from mergecheck.harness.properties.merge_text import operands, renamed_in
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate


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
    """Conditions of ON and of clauses; the caller finds out if a result is no condition any more."""
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
    ("text", "word", "pieces"),
    [
        ("a = 1 AND (b OR c AND d) and e", "AND", ("a = 1", "(b OR c AND d)", "e")),
        ("a BETWEEN 1 AND 2 AND b", "AND", ("a BETWEEN 1 AND 2", "b")),
        ("a AND b OR c", "OR", ("a AND b", "c")),
        ("a AND b OR c", "AND", ("a AND b OR c",)),
        ("CASE WHEN a AND b THEN c END", "AND", ("CASE WHEN a AND b THEN c END",)),
        ("'open", "AND", ("'open",)),
    ],
)
def test_conditions_have_operands(text: str, word: str, pieces: tuple[str, ...]) -> None:
    """As Spark reads them: an AND inside brackets, CASE or BETWEEN joins none."""
    assert operands(text, word) == pieces


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
    """The table holds the rows of the query; a table that is merged into itself has a source of its own."""
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
    rest = "WHEN MATCHED THEN DELETE"
    named = f"WITH c AS (SELECT id FROM source) MERGE INTO target t USING c ON t.id = c.id {rest}"
    case = replace(CASE, sql=named)
    (plain,) = without_query(case, evaluate(case).trace.source)
    assert plain.sql == f"MERGE INTO target t USING source c ON t.id = c.id {rest}"


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
    """All become INT at once; of the others, columns by type, by name, and one column alone."""
    small, _ = shrunk(lambda case: len(case.target.schema.columns) == 4)
    assert small.target.schema.ddl() == "v INT, w INT, k INT, x INT"
    small, _ = shrunk(lambda case: "STRING" in case.target.schema.ddl() and len(case.target.schema.columns) == 4)
    assert small.target.schema.ddl() == "v INT, w STRING, k INT, x INT"
    kept = typed_case("id DATE", (dt.date(2020, 1, 2),), ())
    small, _ = shrunk(lambda case: case.source is not None and case.source.schema.ddl() == "id DATE", kept)
    assert (small.target.schema.ddl(), small.target.rows) == ("id INT", ())
    assert list(plainer_types(typed_case("id INT", (1,), (None,)))) == []


def test_tables_that_are_not_needed_go_and_rows_of_the_others() -> None:
    """Of a table that must be there, the row that matters stays."""
    table = Source(schema=parse_schema("k INT, w STRING"), rows=((1, "x"), (2, "y"), (3, "z")))
    case, _ = shrunk(
        lambda case: "dim" in case.tables and any(row[0] == 2 for row in case.tables["dim"].rows),
        replace(CASE, tables={"dim": table, "other": table}),
    )
    assert list(case.tables) == ["dim"]
    assert case.tables["dim"].rows == ((2, "a"),)
