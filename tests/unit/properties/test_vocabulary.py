"""Properties of a case: one predicate for each name."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.vocabulary import PROPERTIES, PlainCase, evolves, has, properties_of
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import MergePath
from mergecheck.model.storage import TargetLayout
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature, Profile, samples

SCHEMA = parse_schema("k INT, v STRING")
CASE = Case(
    id="x",
    target=Target(schema=SCHEMA, files=(((1, "a"),),)),
    source=Source(schema=SCHEMA, rows=((1, "b"),)),
    sql="MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED AND s.v > 'a' THEN UPDATE SET v = s.v",
)
REFERENCE = MergeReference()
HEAD = "MERGE INTO target t USING source s ON t.k = s.k"


@pytest.mark.parametrize(
    ("clauses", "wanted"),
    [
        ("WHEN MATCHED THEN DELETE", {"matched-delete", "matched-only", "sole-unconditional-delete"}),
        ("when matched and true then delete", {"matched-delete", "matched-only", "conditions"}),
        (
            "WHEN MATCHED AND t.k = 1 THEN DELETE WHEN MATCHED THEN DELETE",
            {"matched-delete", "matched-only", "conditions", "several-clauses-of-a-kind"},
        ),
        ("WHEN NOT MATCHED BY TARGET THEN INSERT *", {"insert", "insert-only", "star-actions"}),
        (
            "WHEN ! MATCHED BY SOURCE THEN UPDATE SET v = NULL WHEN MATCHED THEN DELETE",
            {
                *("not-matched-by-source-update", "matched-delete", "sole-unconditional-delete"),
                *("explicit-actions", "interleaved-clause-kinds"),
            },
        ),
        (  # refused for its lists, and yet it has its clauses
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k) VALUES (1, 2)",
            {"matched-delete", "sole-unconditional-delete", "insert", "explicit-actions"},
        ),
        ("WHEN MATCHED THEN DELETE EVERYTHING", set()),
    ],
)
def test_properties_of_clauses(clauses: str, wanted: set[str]) -> None:
    """They go by the grammar, not by words; a text that Spark's parser refuses has none."""
    assert properties_of(PlainCase(case=replace(CASE, sql=f"{HEAD} {clauses}"))) == wanted


@pytest.mark.parametrize(
    ("sql", "conf", "wanted"),
    [
        ("MERGE WITH  schema\nEVOLUTION INTO target t USING source s ON TRUE WHEN MATCHED THEN DELETE", {}, True),
        ("MERGE INTO target t USING source s ON 'WITH SCHEMA EVOLUTION' = s.v WHEN MATCHED THEN DELETE", {}, False),
        (CASE.sql, {"spark.databricks.delta.schema.autoMerge.enabled": "TRUE"}, True),
        (CASE.sql, {"spark.databricks.delta.schema.autoMerge.enabled": "false"}, False),
    ],
)
def test_evolution_is_asked_for_by_words_or_by_a_setting(sql: str, conf: dict[str, str], *, wanted: bool) -> None:
    """The same words in a text ask for nothing."""
    assert evolves(replace(CASE, sql=sql, conf=conf)) is wanted
    assert has(PlainCase(case=replace(CASE, sql=sql, conf=conf)), "schema-evolution") is wanted


def test_a_source_is_a_query_in_brackets_or_behind_with() -> None:
    """A name of WITH stands for a query."""
    for using, wanted in (("(SELECT * FROM source)", True), ("source", False)):
        sql = f"MERGE INTO target t USING {using} s ON TRUE WHEN MATCHED THEN DELETE"
        assert has(PlainCase(case=replace(CASE, sql=sql)), "subquery-source") is wanted
    sql = "WITH c AS (SELECT * FROM source) MERGE INTO target t USING c ON TRUE WHEN MATCHED THEN DELETE"
    assert has(PlainCase(case=replace(CASE, sql=sql)), "subquery-source")


def test_a_file_has_several_row_groups_if_it_has_more_rows_than_one_holds() -> None:
    two = Target(schema=SCHEMA, files=(((1, "a"), (2, "b")),))
    for rows, wanted in ((None, False), (2, False), (1, True)):
        target = replace(two, layout=TargetLayout(row_group_rows=rows))
        assert has(PlainCase(case=replace(CASE, target=target)), "several-row-groups") is wanted


@pytest.mark.parametrize(
    ("rows_of_a_group", "keys", "wanted"),
    [(None, (3,), False), (2, (1,), False), (2, (3,), True), (2, (3, 4), False), (3, (4,), False), (1, (2,), False)],
    ids=["no groups", "first group", "later group", "all of it", "alone in its group", "groups of one row"],
)
def test_a_later_row_group_is_changed_in_part(
    rows_of_a_group: int | None, keys: tuple[int, ...], *, wanted: bool
) -> None:
    """Four rows in one file; the positions of a later group do not begin at 0."""
    target = Target(
        schema=SCHEMA,
        files=(tuple((key, "a") for key in (1, 2, 3, 4)),),
        layout=TargetLayout(row_group_rows=rows_of_a_group),
    )
    source = Source(schema=SCHEMA, rows=tuple((key, "b") for key in keys))
    case = replace(CASE, target=target, source=source)
    facts = facts_of(case, REFERENCE.evaluate(case))
    assert has(PlainCase(case=case, facts=facts), "later-row-groups-changed") is wanted


@pytest.mark.parametrize(
    ("insert", "target_rows", "wanted"),
    [("('b')", (("a", 1),), True), ("('a')", (("a", 1),), False), ("(NULL)", (("a", 1),), True), ("('b')", (), False)],
    ids=["another value", "the same value", "NULL", "nothing else"],
)
def test_rows_of_several_partitions_are_written(
    insert: str, target_rows: tuple[tuple[str, int], ...], *, wanted: bool
) -> None:
    """Updated, inserted and copied rows count."""
    schema = parse_schema("p STRING, k INT")
    files = (target_rows,) if target_rows else ()
    case = Case(
        id="x",
        target=Target(schema=schema, files=files, partition_by=("p",)),
        source=Source(schema=schema, rows=(("s", 1), ("s", 2))),
        sql=f"{HEAD} WHEN MATCHED THEN UPDATE SET k = 3 WHEN NOT MATCHED THEN INSERT (p) VALUES {insert}",
    )
    facts = facts_of(case, REFERENCE.evaluate(case))
    assert has(PlainCase(case=case, facts=facts), "several-partitions-written") is wanted


def test_files_are_rewritten_on_path_d() -> None:
    for path in MergePath:
        rewritten = has(PlainCase(case=CASE, facts=Facts(path=path)), "rewritten-files")
        assert rewritten is (path is MergePath.D)


def test_files_beyond_by_source_are_there_if_the_rule_is_reached() -> None:
    for rules in (frozenset[str](), frozenset({"R-414"})):
        assert has(PlainCase(case=CASE, facts=Facts(rules=rules)), "files-beyond-by-source") is bool(rules)


@pytest.mark.parametrize("feature", [each for each in Feature if each.value in PROPERTIES], ids=lambda each: each.value)
def test_a_feature_leads_to_the_property_of_its_name(feature: Feature) -> None:
    """``--focus`` speaks the same names."""
    drawn = islice(samples(3, profile=Profile().favouring(feature)), 60)
    assert any(has(PlainCase(case=each.case), feature.value) for each in drawn)


def test_the_page_lists_all_properties() -> None:
    """With their meanings, in this order."""
    page = Path("docs/deviations.md").read_text(encoding="utf-8")
    rows = "\n".join(f"| `{name}` | {one.sentence} |" for name, one in PROPERTIES.items())
    assert f"| Property | Meaning |\n|---|---|\n{rows}\n" in page
