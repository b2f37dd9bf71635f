"""The fixed suite of mergecheck; the plugin adds a test for each kept case."""

from mergecheck.harness.conformance import Mark, conform
from mergecheck.harness.oracles.reference_oracle import check_case

from sqlite_merge import SqliteMerge


def test_no_case_of_the_fixed_suite_fails():
    results = list(conform(SqliteMerge(), check_case))
    assert [result.report.case.id for result in results if result.mark in (Mark.FAIL, Mark.ERROR)] == []
    assert any(result.mark is Mark.PASS for result in results)
