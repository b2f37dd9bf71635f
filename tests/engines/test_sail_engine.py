"""The engine sail: its statements, and the findings of its page, on the release that runs by default."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.sail.engine import RELEASE, SailEngine
from mergecheck.harness.engines.sail.settings import FEATURES_OFF, lacking, passed_on
from mergecheck.harness.engines.statement_forms import with_evolution_clause
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.interleaving_text import Tally
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.harness.lab.concurrency.tables import RefusedError
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.case_file import case_from_json, load_cases
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.lab.concurrency.scenario import Scenario
    from mergecheck.model.case import Case

AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
REFUSED, ACCEPTED = {"error spurious_error"}, {"error no_error"}
FORGOTTEN = {"schema R-234", "table R-704"}
FINDINGS = {
    "sail-ambiguous-name": ACCEPTED,
    "sail-cast-of-matched-row": REFUSED,
    "sail-check-not-enforced": ACCEPTED,
    "sail-default-without-default": ACCEPTED,
    "sail-deleted-twice": {
        *("metrics numTargetRowsDeleted", "metrics numTargetRowsMatchedDeleted"),
        *("metrics P-5", "metrics P-8", "metrics P-10"),
    },
    "sail-doubled-row": {"rows extra_rows", "rows P-9", "metrics P-5", "log R-717"},
    "sail-doubled-row-partition-name": {"rows extra_rows", "metrics P-5", "log R-717"},
    "sail-evolution-forgets-comments": {"table R-704"},
    "sail-evolution-forgets-generated": FORGOTTEN | {"schema column_values"},
    "sail-evolution-forgets-not-null": FORGOTTEN | {"schema nullability"},
    "sail-evolution-in-array": REFUSED,
    "sail-evolved-struct-lacks-field": REFUSED,
    "sail-generated-and-dotted-name": REFUSED,
    "sail-infinity-as-text": {"rows changed_rows"},
    "sail-key-expression": REFUSED,
    "sail-long-text-in-string-view": REFUSED,
    "sail-nan-statistics": {"files P-11"},
    "sail-nested-assignment": REFUSED,
    "sail-new-column-listed": REFUSED,
    "sail-null-for-struct": REFUSED,
    "sail-source-qualified-assignment": REFUSED,
    "sail-struct-with-required-field": REFUSED,
    "sail-text-to-number": REFUSED,
    "sail-timestamp-as-text": {"rows changed_rows"},
}


def case_of(sql: str, **conf: str) -> Case:
    return case_from_json(
        {
            "format_version": 1,
            "id": "sail",
            "target": {
                "schema": "id INT, v STRING",
                "files": [[[1, "a"]], [[2, "b"]]],
                "properties": {"delta.enableChangeDataFeed": "true"},
            },
            "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [3, "y"]]},
            "sql": sql,
            "conf": conf,
        },
        where="test",
    )


ON = "MERGE INTO target t USING source s ON t.id = s.id"
UPSERT = case_of(
    f"{ON} WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[SailEngine]:
    engine = SailEngine()
    yield engine
    engine.close()


@pytest.mark.packaging
def test_an_upsert_agrees(engine: SailEngine) -> None:
    report = check_case(UPSERT, engine)
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert {check.value for check in report.unsupported_checks} >= {"cdf", "commit"}


@pytest.mark.packaging
def test_both_sides_refuse_an_ambiguous_merge(engine: SailEngine) -> None:
    twice = replace(UPSERT, source=replace(UPSERT.source, rows=((1, "x"), (1, "y"))))
    assert check_case(twice, engine).verdict is Verdict.BOTH_REJECTED


@pytest.mark.packaging
def test_a_merge_that_changes_no_row_tells_no_metrics(engine: SailEngine) -> None:
    """Sail reports them in the commit, and makes none."""
    report = check_case(replace(UPSERT, sql=f"{ON} WHEN MATCHED AND s.v > 'x' THEN DELETE"), engine)
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert "metrics" in {check.value for check in report.unsupported_checks}


@pytest.mark.packaging
@pytest.mark.parametrize("name", FINDINGS)
def test_findings_still_describe_the_release(engine: SailEngine, name: str) -> None:
    (case,) = load_cases(Path(f"docs/findings/cases/{name}.json"))
    report = check_case(case, engine)
    assert {f"{one.check.value} {one.kind}" for one in report.mismatches} == FINDINGS[name]


def test_every_finding_is_in_the_list_and_on_the_page() -> None:
    """A finding that nobody checks could be long mended."""
    assert {path.stem for path in Path("docs/findings/cases").glob("sail-*.json")} == set(FINDINGS)
    page = Path("docs/sail.md").read_text()
    assert [name for name in FINDINGS if f"findings/cases/{name}.json" not in page] == []


def test_a_setting_is_obeyed_or_refused() -> None:
    """Sail itself takes any setting without a word."""
    sql = UPSERT.sql
    assert lacking(case_of(sql, **{"spark.sql.ansi.enabled": "false"})) == "setting spark.sql.ansi.enabled"
    assert lacking(case_of(sql, **{"spark.some.thing": "1"})) == "setting spark.some.thing"
    preserve = "spark.databricks.delta.merge.preserveNullSourceStructs"  # no matter of a planner
    assert lacking(case_of(sql, **{preserve: "false"})) == f"setting {preserve}"
    assert lacking(case_of(sql, **{preserve: "true", f"{preserve}.updateStar": "true"})) is None
    for name, value in (
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.shuffle.partitions", "3"),
        ("spark.databricks.delta.merge.materializeSource", "all"),
        (AUTO_MERGE, "true"),
    ):
        assert lacking(case_of(sql, **{name: value})) is None, name
    zone = {"spark.sql.session.timeZone": "Asia/Kolkata"}
    assert passed_on(case_of(sql, **zone, **{"spark.sql.shuffle.partitions": "3"})) == zone


def test_evolution_by_a_setting_is_written_into_the_statement() -> None:
    found = with_evolution_clause(
        case_of("merge into target USING source s ON true WHEN MATCHED THEN DELETE", **{AUTO_MERGE: "true"})
    )
    assert found == "merge WITH SCHEMA EVOLUTION into target USING source s ON true WHEN MATCHED THEN DELETE"
    assert with_evolution_clause(UPSERT) == UPSERT.sql
    written = UPSERT.sql.replace("ON", "ONTO")
    assert "cannot be read" in str(lacking(case_of(written, **{AUTO_MERGE: "true"})))


def test_names_are_checked_before_anything_is_installed() -> None:
    assert {feature.value for feature in Feature} >= FEATURES_OFF
    with pytest.raises(UserInputError, match=f"give a released one, such as sail@{RELEASE}"):
        SailEngine.at_version("newest")


def scenario(name: str) -> Scenario:
    return next(one for one in scenarios() if one.name == name)


def test_two_merges_that_insert_one_key_do_not_both_commit(engine: SailEngine) -> None:
    """Its source waits while another merge commits."""
    tally = Tally(scenario("insert-insert"))
    for one in enumerate_interleavings(tally.scenario, engine, MergeReference()):
        tally.add(one)
    assert tally.findings == []
    assert tally.endings == {EndingKind.COMMITTED: 4, EndingKind.CONFLICT: 2, EndingKind.NOTHING: 2}


def test_a_source_without_a_table_cannot_be_held(engine: SailEngine) -> None:
    with pytest.raises(RefusedError, match="cannot be held"):
        next(enumerate_interleavings(scenario("counter"), engine, MergeReference()))
