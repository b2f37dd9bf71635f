"""A source is ``source``, the target, a further table of the case, or a query over any of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.deviations.causes import CAUSES
from mergecheck.harness.deviations.predicates import parse_predicate
from mergecheck.harness.findings.signature import minimal_signature
from mergecheck.harness.oracles.relations.oracle import RELATIONS
from mergecheck.harness.oracles.relations.relation import OutOfDomainError, Trial
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.source_tables import reads_target, source_table, tables_of_queries, tables_of_source
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Outcome
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

UPSERT = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
DIM = {"schema": "id INT, v STRING, z STRUCT<a INT>", "rows": [[1, "dim", None], [1, "dim", None]]}
SOURCE = {"schema": "id INT, v STRING", "rows": [[3, "src"]]}


def _case(using: str, *, source: object = None, tables: object = None, clauses: str = UPSERT) -> Case:
    document = {
        "format_version": 1,
        "id": "a",
        "target": {"schema": "id INT, v STRING", "rows": [[1, "old"], [2, "old"]]},
        "sql": f"MERGE INTO target t USING {using} s {clauses}",
    }
    document |= {} if source is None else {"source": source}
    document |= {} if tables is None else {"tables": tables}
    return case_from_json(document, where="a")


def _report(case: Case) -> CaseReport:
    reference = evaluate(case)
    return CaseReport(
        case=case,
        engine="e",
        engine_version="1",
        result=None,
        verdict=Verdict.MISMATCH,
        seconds=0.0,
        reference=reference,
        facts=facts_of(case, reference),
    )


@pytest.mark.parametrize(
    ("using", "source", "tables", "is_self_merge"),
    [
        ("target", None, None, True),
        ("TARGET", SOURCE, None, True),
        ("`target`", SOURCE, {"dim": DIM}, True),
        ("(SELECT * FROM target WHERE id > 0)", SOURCE, None, True),
        ("(SELECT id, v FROM source WHERE id IN (SELECT id FROM target))", SOURCE, None, True),
        ("dim", None, {"dim": DIM}, False),
        ("(SELECT id, v FROM dim)", None, {"dim": DIM}, False),
        ("(WITH target AS (SELECT 1 AS id, 'x' AS v) SELECT * FROM target)", None, {"dim": DIM}, False),
        ("(SELECT 1 AS id, 'target' AS v)", None, None, False),
        ("source", SOURCE, None, False),
        ("source", SOURCE, {"dim": DIM}, False),
    ],
)
def test_a_self_merge_is_one_whose_source_reads_the_target(
    using: str,
    source: object,
    tables: object,
    is_self_merge: bool,  # noqa: FBT001 - a column of the table above
) -> None:
    """Neither a case without ``source`` nor a case with one decides it."""
    case = _case(using, source=source, tables=tables)
    assert reads_target(case) == is_self_merge
    assert parse_predicate({"self-merge": is_self_merge}).holds(_report(case))
    assert ("R-810" in _report(case).facts.rules) <= is_self_merge


def test_the_table_that_using_names_is_found_in_all_tables_of_the_case() -> None:
    """A query is no table."""
    case = _case("Dim", source=SOURCE, tables={"dim": DIM})
    assert source_table(case) == case.tables["dim"]
    assert source_table(_case("target", source=SOURCE)) == case.target
    assert source_table(_case("(SELECT * FROM source)", source=SOURCE)) is None
    assert tables_of_source(_case("(FROM dim)", tables={"dim": DIM})) == {"dim"}


def test_queries_in_conditions_and_values_read_tables_too() -> None:
    """They are listed apart from the source's."""
    clauses = "ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND EXISTS (SELECT 1 FROM dim d WHERE d.id = t.id) THEN DELETE"
    case = _case("source", source=SOURCE, tables={"dim": DIM}, clauses=clauses)
    assert tables_of_queries(case) == {"dim"}
    assert tables_of_source(case) == {"source"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("structs", True),
        ("nested-types", True),
        ("null-structs", True),
        ("schema", "STRUCT<"),
        ("column_name", "^z$"),
        ("text_cell", "^dim$"),
    ],
)
def test_a_predicate_about_tables_sees_further_tables(word: str, value: object) -> None:
    """The same case without the further table does not fulfil it."""
    with_dim = _case("dim", source=SOURCE, tables={"dim": DIM})
    assert parse_predicate({word: value}).holds(_report(with_dim))
    assert not parse_predicate({word: value}).holds(_report(_case("source", source=SOURCE)))


@pytest.mark.parametrize(
    ("using", "dim", "is_empty"),
    [("dim", [], True), ("dim", DIM["rows"], False), ("source", [], False), ("target", [], False)],
)
def test_an_empty_source_is_the_one_that_the_statement_reads(using: str, dim: list[object], is_empty: bool) -> None:  # noqa: FBT001 - a column of the table above
    """Other tables may be empty."""
    report = _report(_case(using, source=SOURCE, tables={"dim": {**DIM, "rows": dim}}))
    assert parse_predicate({"empty-source": is_empty}).holds(report)
    assert ("R-811" in report.facts.rules) == is_empty


def test_causes_go_by_the_columns_that_the_source_gives() -> None:
    """A column that only the further table has is not one that the source lacks."""
    lacks = CAUSES["a clause assigns the column that the error names, which the source lacks"]
    case = _case("dim", tables={"dim": DIM})
    assert not lacks(_report(case), 'No field named "v"')
    other_name = _case("(SELECT id, v AS w FROM dim)", tables={"dim": DIM}, clauses=UPSERT.replace("s.v", "s.w"))
    assert lacks(_report(other_name), "No field named v")
    assert not lacks(_report(_case("target")), "No field named v")


def test_signatures_tell_a_further_table_from_the_target() -> None:
    """Two mismatches of which one is a self-merge have two causes, perhaps."""
    itself, other = _case("target"), _case("dim", tables={"dim": {**DIM, "rows": []}})
    signatures = [_signature(case) for case in (itself, other)]
    assert "self-merge" in signatures[0]
    assert "self-merge" not in signatures[1]
    assert "empty-source" in signatures[1]


def _signature(case: Case) -> frozenset[str]:
    mismatch = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=())
    found = minimal_signature(replace(_report(case), mismatches=(mismatch,)))
    assert found is not None
    return found.tables


def _holds(case: Case, name: str) -> bool:
    """Return whether a relation is about a case: an engine that gives nothing is asked."""

    class AskedError(Exception):
        pass

    def run(_: Case) -> Outcome:
        raise AskedError

    relation = next(one for one in RELATIONS if one.name == name)
    answer = evaluate(case).answer
    outcome = Outcome(rows=answer.rows, schema=answer.schema, metrics={}, cdf=None)  # type: ignore[union-attr]
    try:
        relation.holds(Trial(case=case, outcome=outcome, name=name, run=run))
    except OutOfDomainError:
        return False
    except AskedError:
        return True
    return True


@pytest.mark.parametrize("name", ["source-halves", "P-24"])
def test_a_relation_about_the_source_table_is_about_no_other_source(name: str) -> None:
    """To change ``source`` means nothing if the statement merges another table."""
    clauses = "ON t.id = s.id WHEN MATCHED THEN DELETE"
    rows = {"schema": "id INT, v STRING", "rows": [[1, "a"], [2, "b"]]}
    assert _holds(_case("source", source=rows, clauses=clauses), name)
    for using in ("target", "dim", "(SELECT * FROM source)", "(\nSELECT * FROM target)"):
        assert not _holds(_case(using, source=rows, tables={"dim": rows}, clauses=clauses), name), using
