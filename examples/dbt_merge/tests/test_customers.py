"""The merge of the model customers, over tables that Hypothesis draws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mergecheck import Case, Outcome, Source, Target, Verdict, check, load_engine, mismatch_report, parse_schema

from project import render

CUSTOMERS = parse_schema("id INT, name STRING, version INT")
SQL = render("customers", this="target", refs={"customer_updates": "source"})

names = st.sampled_from(["Ada", "Grace", None])
versions = st.integers(0, 3)


def by_id(row):
    return row[0]


def tables(ids):
    """Draw tables; the project promises that no table has an id twice."""
    rows = st.tuples(ids, names, versions)
    return st.lists(rows, max_size=5, unique_by=lambda row: row[0]).map(tuple)


@pytest.fixture(scope="module")
def engine():
    engine = load_engine("duckdb")
    yield engine
    engine.close()


@given(target=tables(st.integers(0, 5)), source=tables(st.integers(0, 5)))
def test_the_latest_version_of_each_customer_is_kept(engine, target, source):
    case = Case(
        id="drawn",
        target=Target(schema=CUSTOMERS, files=(target,)),
        source=Source(schema=CUSTOMERS, rows=source),
        sql=SQL,
    )
    report = check(case, engine)
    assert report.verdict is Verdict.AGREE, mismatch_report(report)
    assert isinstance(report.result, Outcome)
    latest = {}
    for row in (*target, *source):
        if row[0] not in latest or row[2] > latest[row[0]][2]:
            latest[row[0]] = row
    assert sorted(report.result.rows, key=by_id) == sorted(latest.values(), key=by_id)
