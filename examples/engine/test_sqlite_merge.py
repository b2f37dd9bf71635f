"""The fixed suite of mergecheck; the plugin adds a test for each kept case."""

from mergecheck import Mark, conform

from sqlite_merge import SqliteMerge


def test_no_case_of_the_fixed_suite_fails():
    results = list(conform(SqliteMerge()))
    assert [result.report.case.id for result in results if result.mark in (Mark.FAIL, Mark.ERROR)] == []
    assert any(result.mark is Mark.PASS for result in results)
