"""A merge without Spark's join gives the same as the join, and leaves to the join all that it cannot do exactly."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.merge import conf
from mergecheck.model.case import Case, Row, Source, Target
from mergecheck.model.outcome import Outcome
from mergecheck.model.types.ddl import parse_schema
from tools.selfcheck.fault import name_of, workers_given
from tools.selfcheck.mutation import Change, changed_in_worker, compile_changes, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.spark

SCHEMA = parse_schema("k INT, v STRING, w INT")
FILES = (
    ((1, "a", 10), (None, "null", 11)),
    ((2, "b", 20), (3, "c", 30)),
    ((4, None, 40), (5, "e", 50)),
    ((90, "far", 9),),
)
SOURCE = ((1, "x", 7), (3, None, 8), (4, "y", None), (8, "new", 1), (None, "lost", 2))
ON = "MERGE INTO target t USING source s ON t.k = s.k "
UPSERT = ON + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
CASE = Case(
    id="arrow",
    target=Target(schema=SCHEMA, files=FILES),
    source=Source(schema=SCHEMA, rows=SOURCE),
    sql=UPSERT,
    conf={conf.ARROW_REWRITE: "all"},
)


def keyed(types: str, files: tuple[tuple[Row, ...], ...], rows: tuple[Row, ...], on: str = "t.k = s.k") -> Case:
    """The upsert over keys of some types: the target's and the source's."""
    target, _, source = types.partition(" / ")
    return replace(
        CASE,
        target=Target(schema=parse_schema(f"k {target}, v INT"), files=files),
        source=Source(schema=parse_schema(f"k {source or target}, v INT"), rows=rows),
        sql=UPSERT.replace("t.k = s.k", on),
    )


NAN = float("nan")
TAKEN = {
    "upsert": CASE,
    "nothing-matches": replace(CASE, source=replace(CASE.source, rows=((7, "x", 1), (None, "y", 2)))),
    "empty-source": replace(CASE, source=replace(CASE.source, rows=())),
    "matched-only": replace(CASE, sql=ON + "WHEN MATCHED AND s.w > 7 THEN UPDATE SET v = s.v"),
    "several-clauses": replace(
        CASE,
        sql=ON + "WHEN MATCHED AND s.w > 7 THEN UPDATE SET v = upper(s.v), w = s.w + 1 "
        "WHEN MATCHED AND s.w IS NULL THEN DELETE "
        "WHEN NOT MATCHED AND s.k IS NULL THEN INSERT (v) VALUES (s.v) WHEN NOT MATCHED THEN INSERT *",
    ),
    "delete": replace(CASE, sql=ON + "WHEN MATCHED THEN DELETE"),
    "conditions-in-on": replace(CASE, sql=UPSERT.replace("t.k = s.k", "s.w < 8 AND s.k = t.k AND s.v <> 'z'")),
    "a-value-that-only-its-clause-may-compute": replace(
        CASE, sql=ON + "WHEN MATCHED AND s.w <> 7 THEN UPDATE SET w = 56 DIV (s.w - 7)"
    ),
    "one-source-row-for-several-rows": replace(
        CASE, target=replace(CASE.target, files=(((1, "a", 1), (1, "b", 2)), ((1, "c", 3),)))
    ),
    "new-columns": replace(
        CASE,
        source=Source(schema=parse_schema("k INT, z DOUBLE"), rows=((1, 0.5), (70, 1.5))),
        sql=UPSERT.replace("MERGE INTO", "MERGE WITH SCHEMA EVOLUTION INTO"),
    ),
    "mapped-columns": replace(CASE, target=replace(CASE.target, properties={"delta.columnMapping.mode": "name"})),
    "doubles": keyed("DOUBLE", (((NAN, 1), (0.0, 2)), ((None, 3), (2.5, 4))), ((NAN, 5), (-0.0, 6), (2.5, 7))),
    "bigints-and-doubles": keyed("BIGINT / DOUBLE", (((2**53 + 1, 1), (7, 2)),), ((float(2**53), 3), (7.5, 4))),
    "small-and-large-integers": keyed("TINYINT / BIGINT", (((7, 1), (-1, 2)),), ((7, 3), (8, 4), (None, 5))),
    "decimals": keyed("DECIMAL(10,2)", (((Decimal("1.50"), 1), (None, 2)),), ((Decimal("1.5"), 3), (Decimal(-1), 4))),
    "texts": keyed("STRING", ((("a", 1), ("A", 2), ("", 3)),), (("a", 4), ("a ", 5), ("", 6))),
    "two-keys": keyed("INT", (((1, 1), (1, 2)), ((2, None),)), ((1, 2), (2, None), (2, 1)), "t.k = s.k AND t.v = s.v"),
}
LEFT = {
    "a-condition-on-the-target": replace(
        CASE, sql=UPSERT.replace("MATCHED THEN UPDATE", "MATCHED AND t.w > 9 THEN UPDATE")
    ),
    "a-value-of-the-target": replace(CASE, sql=ON + "WHEN MATCHED THEN UPDATE SET w = t.w + s.w"),
    "an-error-of-a-value": replace(CASE, sql=ON + "WHEN MATCHED THEN UPDATE SET w = 56 DIV (s.w - 7)"),
    "an-error-of-a-condition": replace(CASE, sql=ON + "WHEN MATCHED AND 1 / (s.w - 7) > 0 THEN UPDATE SET w = 1"),
    "several-matches": replace(CASE, source=replace(CASE.source, rows=(*SOURCE, (3, "again", 1)))),
    "deletes-of-several-matches": replace(
        CASE,
        source=replace(CASE.source, rows=(*SOURCE, (3, "again", 1))),
        sql=ON + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
    ),
    "by-source": replace(CASE, sql=UPSERT + " WHEN NOT MATCHED BY SOURCE THEN DELETE"),
    "an-inequality": replace(CASE, sql=UPSERT.replace("t.k = s.k", "t.k = s.k AND t.w > s.w")),
    "null-safe": replace(CASE, sql=UPSERT.replace("t.k = s.k", "t.k <=> s.k")),
    "feed": replace(CASE, target=replace(CASE.target, properties={"delta.enableChangeDataFeed": "true"})),
    "vectors": replace(CASE, target=replace(CASE.target, properties={"delta.enableDeletionVectors": "true"})),
    "partitions": replace(CASE, target=replace(CASE.target, partition_by=("w",))),
    "checks": replace(CASE, target=replace(CASE.target, properties={"delta.constraints.c": "w IS NULL OR w < 99"})),
    "decimals-of-two-sizes": keyed(
        "DECIMAL(10,2) / DECIMAL(12,3)", (((Decimal("1.50"), 1),),), ((Decimal("1.500"), 3),)
    ),
    "switched-off": replace(CASE, conf={}),
    "too-small": replace(CASE, conf={conf.ARROW_REWRITE: "auto"}),
}


FAILING = {"an-error-of-a-value", "an-error-of-a-condition", "several-matches"}


@pytest.fixture(scope="module")
def engine() -> Iterator[PySparkEngine]:
    engine = PySparkEngine()
    yield engine
    engine.close()


def checked(engine: PySparkEngine, case: Case) -> CaseReport:
    return Checker(engine=engine).check_case(case)


def took_arrow(report: CaseReport) -> bool:
    """Whether the merge went round Spark's join; a merge that fails has not."""
    return isinstance(report.result, Outcome) and "arrow_rewrite" in (report.result.paths or {})


@pytest.mark.parametrize("name", TAKEN)
def test_merges_go_round_the_join(engine: PySparkEngine, name: str) -> None:
    report = checked(engine, TAKEN[name])
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert took_arrow(report)


@pytest.mark.parametrize("name", LEFT)
def test_what_arrow_cannot_do_exactly_is_left_to_the_join(engine: PySparkEngine, name: str) -> None:
    report = checked(engine, LEFT[name])
    assert report.verdict in {Verdict.AGREE, Verdict.BOTH_REJECTED, Verdict.JUDGED_IN_PART}, report.mismatches
    assert (report.verdict is Verdict.AGREE) != (name in FAILING)
    assert not took_arrow(report)


def test_the_join_rewrites_if_arrow_cannot(engine: PySparkEngine) -> None:
    """The second file cannot be read a second time."""
    fails = Change(
        function="merge.table.writing.replaced_rows._rows_of_file",
        replace="first = 0",
        by="first = 0 if len(positions) < 2 else parquet.no_such_thing",
    )
    files = (FILES[0], (*FILES[1], *FILES[2]))
    case = replace(CASE, target=replace(CASE.target, files=files))
    with workers_given(lambda task: changed_in_worker((fails,), task) if name_of(task) == "rewrite_files" else task):
        report = checked(engine, case)
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert not took_arrow(report)


DRIVER = "merge.executors.optimizations.arrow_rewrite"
WORKERS = "merge.table.writing"
MUTANTS = {
    "conditions of the source in ON are forgotten": (
        "conditions-in-on",
        Change(function=f"{DRIVER}._read_source", replace="if plan.has_source_conditions:", by="if False:"),
    ),
    "a match of a matched-only merge touches its file": (
        "matched-only",
        Change(function=f"{DRIVER}._find_matches", replace="if is_matched_only(run.merge):", by="if False:"),
    ),
    "matched rows of the source are inserted too": (
        "upsert",
        Change(function=f"{DRIVER}._find_matches", replace="unmatched[sources] = False", by="pass"),
    ),
    "several matches are not looked at": (
        "several-matches",
        Change(function=f"{DRIVER}._matches_in", replace="if written.reported(AMBIGUOUS_ROWS):", by="if False:"),
    ),
    "files without a key are those with one": (
        "upsert",
        Change(
            function="merge.executors.optimizations.source_keys.files_with_keys_of",
            replace="if position in hits",
            by="if position not in hits",
        ),
    ),
}
WORKER_MUTANTS = {
    "all clauses act like the first one": (
        "upsert",
        Change(function=f"{WORKERS}.replaced_rows._rows_of_clause", replace="clauses[number]", by="clauses[0]"),
    ),
    "zeros differ": ("doubles", Change(function=f"{WORKERS}.key_matches.comparable", replace=" + 0.0", by=" * 1")),
    "the last key decides": (
        "two-keys",
        Change(
            function=f"{WORKERS}.key_matches._paired", replace="numbers * max(1, len(distinct)) + places", by="places"
        ),
    ),
    "replaced rows are copied too": (
        "upsert",
        Change(
            function=f"{WORKERS}.replaced_rows._rows_of_file",
            replace=", within(changed, first, last)",
            by="",
        ),
    ),
    "rows on which no clause fires are lost": (
        "several-clauses",
        Change(function=f"{WORKERS}.replaced_rows._rows_of_file", replace="positions[fired >= 0]", by="positions"),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(engine: PySparkEngine, name: str, caplog: pytest.LogCaptureFixture) -> None:
    case, change = MUTANTS[name]
    caplog.set_level(logging.DEBUG, "mergecheck.merge")  # why Spark's join ran, which has no such fault
    with replaced(compile_changes([change])):
        report = checked(engine, (TAKEN | LEFT)[case])
    assert report.verdict is Verdict.MISMATCH, caplog.text


@pytest.mark.parametrize("name", WORKER_MUTANTS)
def test_mutants_of_the_workers_are_found(engine: PySparkEngine, name: str, caplog: pytest.LogCaptureFixture) -> None:
    case, change = WORKER_MUTANTS[name]
    caplog.set_level(logging.DEBUG, "mergecheck.merge")
    with workers_given(lambda task: changed_in_worker((change,), task)):
        report = checked(engine, (TAKEN | LEFT)[case])
    assert report.verdict is Verdict.MISMATCH, caplog.text
