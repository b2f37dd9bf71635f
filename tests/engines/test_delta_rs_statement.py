"""What delta-rs is asked for: Spark SQL in DataFusion's words, and clauses as calls of the merger."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mergecheck.harness.engines.delta_rs.statement import MergeCalls, merge_calls
from mergecheck.harness.engines.delta_rs.types import UntranslatableError
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

SCHEMA = parse_schema("id INT, v BIGINT, w STRING, d DECIMAL(10,2), f DOUBLE, s TIMESTAMP, n STRUCT<a: INT>")
ROW = (1, 2, "x", Decimal("1.00"), 0.5, None, (1,))


def case(clauses: str, *, on: str = "t.id = s.id", source: str = "id INT, v BIGINT, w STRING", **given: Any) -> Case:
    """Return a case of one statement."""
    schema = parse_schema(source)
    rows = tuple(tuple(ROW[:3])[: len(schema.columns)] for _ in range(1))
    return Case(
        id="x",
        target=Target(
            schema=given.get("target", SCHEMA),
            files=((given.get("row", ROW),),),
            properties=given.get("properties", {}),
        ),
        source=Source(schema=schema, rows=rows),
        sql=f"MERGE {given.get('evolution', '')} INTO target t USING source s ON {on} {clauses}",
        conf=given.get("conf", {}),
    )


REFERENCE = MergeReference()


def said(given: Case) -> MergeCalls:
    """Say a case's MERGE."""
    return merge_calls(given, REFERENCE)


def condition(text: str, **given: Any) -> str:
    """Translate one condition of a MATCHED clause."""
    (_, arguments), *_ = said(case(f"WHEN MATCHED AND {text} THEN DELETE", **given)).clauses
    predicate: str = arguments["predicate"]
    return predicate


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t.v <=> s.v", '("t"."v" IS NOT DISTINCT FROM "s"."v")'),
        ("T.V + s.v > 1", '(("t"."v" + "s"."v") > 1)'),
        ("t.w IN ('it''s', NULL)", "(\"t\".\"w\" IN ('it''s', NULL))"),
        ("t.d = -1.5", '("t"."d" = CAST(\'-1.5\' AS DECIMAL(2,1)))'),
        ("t.d = CAST(-1.50 AS DECIMAL(10,2))", '("t"."d" = CAST(\'-1.50\' AS DECIMAL(10,2)))'),
        ("t.v < -9", '("t"."v" < (-9))'),
        ("t.n.a IS NULL", '("t"."n"[\'a\'] IS NULL)'),
        (
            "t.s >= TIMESTAMP '2020-01-01 00:00:00+00:00'",
            '("t"."s" >= arrow_cast(\'2020-01-01T00:00:00Z\', \'Timestamp(Microsecond, Some("UTC"))\'))',
        ),
        ("CASE WHEN t.v = 1 THEN TRUE END", '(CASE WHEN ("t"."v" = 1) THEN TRUE ELSE NULL END)'),
        ("CAST(NULL AS BOOLEAN)", "CAST(NULL AS BOOLEAN)"),
        ("t.v = s.v IS NULL", '(("t"."v" = "s"."v") IS NULL)'),
        ("t.w BETWEEN 'a' AND s.w", '("t"."w" BETWEEN \'a\' AND "s"."w")'),
    ],
)
def test_conditions_keep_their_meaning(text: str, said: str) -> None:
    """Names are resolved and quoted; literals keep Spark's types where DataFusion would read others."""
    assert condition(text) == said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t.f = t.v", "comparison of DOUBLE with BIGINT"),
        ("t.f + 1 > 0", "expression arithmetic on other than integers"),
        ("length(t.w) = 1", "function length"),
        ("t.n = t.n", "comparison of nested values"),
        ("t.v + 9223372036854775807 > 0", "expression arithmetic near the end of a type"),
        ("CAST(t.f AS INT) = 1", "expression cast from DOUBLE to INT"),
        ("t.d = CAST(1.005 AS DECIMAL(10,2))", "expression cast from DECIMAL to DECIMAL"),
    ],
)
def test_what_the_two_read_differently_is_not_said(text: str, reason: str) -> None:
    """A difference between dialects would look like a fault of the merge."""
    with pytest.raises(UntranslatableError) as caught:
        condition(text)
    assert caught.value.reason == reason


def test_negative_zero_is_kept_out_of_comparisons() -> None:
    """Spark takes -0.0 for 0.0, DataFusion does not."""
    with pytest.raises(UntranslatableError, match=r"-0\.0"):
        condition("t.f > CAST('1' AS DOUBLE)", row=(*ROW[:4], -0.0, *ROW[5:]))


def test_large_values_are_kept_out_of_arithmetic() -> None:
    """DataFusion wraps where Spark fails; only the values of the columns in use matter."""
    row = (1, 2**62, *ROW[2:])
    with pytest.raises(UntranslatableError, match="near the end of a type"):
        condition("T.V + 1 > 0", row=row)
    assert condition("t.id + 1 > 0", row=row) == '(("t"."id" + 1) > 0)'


def test_clauses_are_calls_in_the_statements_order() -> None:
    """The kinds may be interleaved; conditions and values are arguments."""
    calls = said(
        case(
            "WHEN NOT MATCHED BY SOURCE AND t.v = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET W = s.w, v = t.v + 1 "
            "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        )
    )
    assert calls.clauses == (
        ("when_not_matched_by_source_delete", {"predicate": '("t"."v" = 1)'}),
        ("when_matched_update", {"updates": {'"w"': '"s"."w"', '"v"': '("t"."v" + 1)'}}),
        ("when_not_matched_insert", {"updates": {'"id"': '"s"."id"'}}),
    )


def test_a_star_is_delta_rss_own_where_both_mean_the_same_columns() -> None:
    """``update_all`` wants the same names on both sides; without evolution Spark leaves extra columns out."""
    small = parse_schema("id INT, v BIGINT")
    row = (1, 2)
    same = said(case("WHEN MATCHED THEN UPDATE SET *", source="id INT, v BIGINT", target=small, row=row))
    extra = said(case("WHEN MATCHED THEN UPDATE SET *", source="id INT, v BIGINT, w STRING", target=small, row=row))
    assert same.clauses == (("when_matched_update_all", {}),)
    assert extra.clauses == (("when_matched_update", {"updates": {'"id"': '"s"."id"', '"v"': '"s"."v"'}}),)


def test_settings_of_its_own_become_arguments() -> None:
    """They change how a merge runs; one that delta-rs does not have is reported, not dropped."""
    conf = {"delta-rs.streamed_exec": "false", "delta-rs.stream": "true"}
    calls = said(case("WHEN MATCHED THEN DELETE", conf=conf))
    assert (calls.options, calls.stream) == ({"streamed_exec": False}, True)
    with pytest.raises(UntranslatableError, match=r"setting duckdb\.threads"):
        said(case("WHEN MATCHED THEN DELETE", conf={"duckdb.threads": "4"}))


@pytest.mark.parametrize(
    ("clauses", "given", "reason"),
    [
        ("WHEN MATCHED THEN UPDATE SET n.a = 1", {}, "feature nested updates"),
        (
            "WHEN MATCHED THEN DELETE",
            {"target": parse_schema("id INT, v BIGINT DEFAULT 1"), "row": (1, 2)},
            "feature column defaults",
        ),
        (
            "WHEN MATCHED THEN UPDATE SET nothing = 1",
            {},
            "a statement that does not resolve (DELTA_MERGE_UNRESOLVED_EXPRESSION)",
        ),
        (
            "WHEN MATCHED THEN UPDATE SET *",
            {"evolution": "WITH SCHEMA EVOLUTION", "source": "id INT, v BIGINT, w INT"},
            "evolution with columns of another type",
        ),
        (
            "WHEN MATCHED THEN DELETE",
            {"properties": {"delta.constraints.c": "id = v < id"}},
            "a CHECK constraint with Spark's own precedences",
        ),
    ],
)
def test_what_delta_rs_cannot_be_asked_for_has_a_reason(clauses: str, given: dict[str, Any], reason: str) -> None:
    """Reasons are counted, so they name a feature and no case."""
    with pytest.raises(UntranslatableError) as caught:
        said(case(clauses, **given))
    assert caught.value.reason == reason


def test_an_append_only_table_whose_inserts_would_rewrite_is_not_asked_about() -> None:
    """R-743: Delta refuses what its flag turns into a rewriting merge; delta-rs has no such flag."""
    off, append_only = (
        {"spark.databricks.delta.merge.optimizeInsertOnlyMerge.enabled": "false"},
        {"delta.appendOnly": "true"},
    )
    insert = "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    for given in ({"conf": off}, {"properties": append_only}):
        assert said(case(insert, **given)).clauses
    with pytest.raises(UntranslatableError, match="append-only"):
        said(case(insert, conf=off, properties=append_only))
