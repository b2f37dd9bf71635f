"""Known deviations: the differences that they explain, those that they must not hide, and that a typo stops the run."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.deviations.audit import confirm, warn_of_unused
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.deviations.registry import Deviations, StaleDeviationError
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

_CASE = {
    "format_version": 1,
    "id": "one-row",
    "target": {"schema": "id INT, v STRING", "files": [[[1, "a"], [2, "b"]]]},
    "source": {"schema": "id INT, v STRING", "rows": [[1, "x"]]},
    "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
}
_ENTRY = """
[[deviation]]
id = "loses-a-row"
engine = "losing"
versions = ">=1.0,<2.0"
when = { clauses = ["matched/update"], equality-on = true }
difference = ["rows missing_rows", "rows P-9"]
reason = "it loses the last row"
link = "https://example.org/1"
review = 2999-01-01
case = "case.json"
"""


class Losing:
    """Answers as the reference does, without the last row; may count wrongly too."""

    name = "losing"
    capabilities = Capabilities(cdf=False, schema=False, metric_names=frozenset({"numTargetRowsUpdated"}))

    def __init__(self, version: str = "1.5", *, loses: bool = True, miscounts: bool = False) -> None:
        self.version = version
        self._loses = loses
        self._miscounts = miscounts

    def run(self, case: Case) -> EngineResult:
        answer = evaluate(case).answer
        assert isinstance(answer, Prediction)
        updated = answer.metrics["numTargetRowsUpdated"].low + self._miscounts
        rows = sorted(answer.rows)[:-1] if self._loses else answer.rows
        return Outcome(schema=answer.schema, rows=tuple(rows), metrics={"numTargetRowsUpdated": updated})

    def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
def known(tmp_path: Path) -> Deviations:
    return _load(tmp_path, _ENTRY)


def _load(folder: Path, text: str) -> Deviations:
    (folder / "case.json").write_text(json.dumps(_CASE), encoding="utf-8")
    path = folder / "known.toml"
    path.write_text(text, encoding="utf-8")
    return load_deviations([path], packaged=False)


def _case(**changes: object) -> Case:
    return parse_cases(json.dumps({**_CASE, **changes}), name="test", lines=False)[0]


def test_a_known_deviation_is_explained_and_is_no_finding(known: Deviations) -> None:
    report = known.annotated(check_case(_case(), Losing()), Losing.capabilities)
    assert report.verdict is Verdict.MISMATCH  # the contract's word stays
    assert report.deviations == ("loses-a-row",)
    assert fingerprint(report) is None


def test_an_entry_hides_no_other_difference_of_the_same_case(known: Deviations) -> None:
    report = known.annotated(check_case(_case(), Losing(miscounts=True)), Losing.capabilities)
    assert report.deviations == ()
    assert fingerprint(report) is not None


@pytest.mark.parametrize(("each", "explained"), [("'b'", True), ("'a'", False)])
def test_a_pattern_must_be_found_in_every_part_of_a_difference(tmp_path: Path, each: str, *, explained: bool) -> None:
    """The missing row is (2, 'b')."""
    wanted = f'[{{ what = "rows missing_rows", each = "{each}" }}, "rows P-9"]'
    known = _load(tmp_path, _ENTRY.replace('["rows missing_rows", "rows P-9"]', wanted))
    assert bool(known.explain(check_case(_case(), Losing()), Losing.capabilities)) is explained


def test_parts_of_one_difference_may_have_several_causes(tmp_path: Path) -> None:
    """Each cell needs an entry; together they explain the mismatch, alone neither does."""
    one = _ENTRY.replace('["rows missing_rows", "rows P-9"]', '[{ what = "rows changed_rows", each = "^v: " }]')
    other = one.replace("loses-a-row", "loses-an-id").replace("^v: ", "^id: ")
    report = check_case(_case(), Losing())
    mismatch = replace(report.mismatches[0], kind="changed_rows", parts=("v: reference 1, engine 2", "id: 1, engine 3"))
    report = replace(report, mismatches=(mismatch,))
    assert [len(_load(tmp_path, text).explain(report, Losing.capabilities)) for text in (one, other, one + other)] == [
        0,
        0,
        2,
    ]


@pytest.mark.parametrize(
    ("columns", "cell", "explained"),
    [
        ("added", "extra: reference 1", True),
        ("added", "v: reference 1", False),
        ("not null", "id: reference 1", True),
        ("not null", "v: reference 1", False),
        ("not null", "extra: reference 1", False),
    ],
)
def test_a_difference_can_be_kept_to_some_columns(tmp_path: Path, columns: str, cell: str, *, explained: bool) -> None:
    """Added columns, or columns of the target that may not be NULL."""
    wanted = f'[{{ what = "rows changed_rows", columns = "{columns}" }}]'
    known = _load(tmp_path, _ENTRY.replace('["rows missing_rows", "rows P-9"]', wanted))
    source = {"schema": "id INT, v STRING, extra INT", "rows": [[1, "x", 1]]}
    target = {**_CASE["target"], "schema": _CASE["target"]["schema"].replace("id INT", "id INT NOT NULL")}
    report = check_case(
        _case(target=target, source=source, sql=_CASE["sql"].replace("MERGE", "MERGE WITH SCHEMA EVOLUTION")), Losing()
    )
    mismatch = replace(report.mismatches[0], kind="changed_rows", parts=(f"{cell}, engine 2",))
    assert bool(known.explain(replace(report, mismatches=(mismatch,)), Losing.capabilities)) is explained


@pytest.mark.parametrize(
    ("rows", "explained"),
    [
        ([(1, "x", 5), (2, "b", 6)], True),
        ([(1, "x", 5), (2, "b", 6), (2, "b", 6)], False),
        ([(1, "y", 5), (2, "b", 6)], False),
        ([(1, "x", 5)], False),
    ],
    ids=["same-but-for-the-column", "doubled", "another-cell", "lost"],
)
def test_missing_and_extra_rows_must_be_the_same_but_for_the_columns(
    tmp_path: Path, rows: list[tuple[Any, ...]], *, explained: bool
) -> None:
    """Where most of a row differs it is missing and extra; differences in other columns stay unexplained."""
    wanted = '[{ what = "rows *_rows", columns = "added" }]'
    known = _load(tmp_path, _ENTRY.replace('["rows missing_rows", "rows P-9"]', wanted))
    source = {"schema": "id INT, v STRING, extra INT", "rows": [[1, "x", 1]]}
    evolving = _case(source=source, sql=_CASE["sql"].replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))
    report = check_case(evolving, Losing())
    assert isinstance(report.result, Outcome)
    outcome = replace(report.result, rows=tuple(rows), schema=parse_schema("id INT, v STRING, extra INT"))
    pair = [replace(report.mismatches[0], kind=kind, parts=("a row",)) for kind in ("missing_rows", "extra_rows")]
    report = replace(report, result=outcome, mismatches=tuple(pair))
    assert bool(known.explain(report, Losing.capabilities)) is explained


@pytest.mark.parametrize(
    ("rows", "entries", "explained"),
    [
        ([(9, "x", 5), (2, "b", 6)], "both", ["adds", "not-null"]),
        ([(9, "x", 5), (2, "b", 6)], "one", []),
        ([(9, "y", 5), (2, "b", 6)], "both", []),
        ([(9, "x", 5), (2, "b", 6), (2, "b", 6)], "both", []),
    ],
    ids=["both", "one-of-them", "another-cell", "doubled"],
)
def test_two_entries_share_the_columns_of_missing_and_extra_rows(
    tmp_path: Path, rows: list[tuple[Any, ...]], entries: str, explained: list[str]
) -> None:
    """Each explains other columns of the same rows; what neither is about stays unexplained."""

    def entry(name: str, columns: str) -> str:
        wanted = f'[{{ what = "rows *_rows", columns = "{columns}" }}]'
        return _ENTRY.replace("loses-a-row", name).replace('["rows missing_rows", "rows P-9"]', wanted)

    known = _load(tmp_path, entry("adds", "added") + (entry("not-null", "not null") if entries == "both" else ""))
    tables = {
        "target": {"schema": "id INT NOT NULL, v STRING", "files": _CASE["target"]["files"]},
        "source": {"schema": "id INT, v STRING, extra INT", "rows": [[1, "x", 1]]},
    }
    evolving = _case(**tables, sql=_CASE["sql"].replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))
    report = check_case(evolving, Losing())
    assert isinstance(report.result, Outcome)
    schema = parse_schema("id INT NOT NULL, v STRING, extra INT")
    pair = [replace(report.mismatches[0], kind=kind, parts=("a row",)) for kind in ("missing_rows", "extra_rows")]
    result = replace(report.result, rows=tuple(rows), schema=schema)
    found = known.explain(replace(report, result=result, mismatches=tuple(pair)), Losing.capabilities)
    assert [one.id for one in found] == explained


@pytest.mark.parametrize(
    ("row", "explained"), [((1, "y", 7), ["adds", "writes-y"]), ((1, "z", 7), []), ((3, "y", 7), [])]
)
def test_entries_about_cells_and_about_columns_meet_in_one_row(
    tmp_path: Path, row: tuple[Any, ...], explained: list[str]
) -> None:
    """Most of the row differs, so that it is a missing and an extra one; each of its cells has an entry."""

    def entry(name: str, wanted: str) -> str:
        return _ENTRY.replace("loses-a-row", name).replace('["rows missing_rows", "rows P-9"]', f"[{wanted}]")

    of_columns = entry("adds", '{ what = "rows *_rows", columns = "added" }')
    of_cells = entry("writes-y", '{ what = "rows changed_rows", each = """reference \'x\', engine \'y\'""" }')
    source = {"schema": "id INT, v STRING, extra INT", "rows": [[1, "x", 1]]}
    evolving = _case(source=source, sql=_CASE["sql"].replace("MERGE", "MERGE WITH SCHEMA EVOLUTION"))
    report = check_case(evolving, Losing())
    assert isinstance(report.result, Outcome)
    schema = parse_schema("id INT, v STRING, extra INT")
    result = replace(report.result, rows=(row, (2, "b", None)), schema=schema)
    pair = [replace(report.mismatches[0], kind=kind, parts=("a row",)) for kind in ("missing_rows", "extra_rows")]
    report = replace(report, result=result, mismatches=tuple(pair))
    assert [one.id for one in _load(tmp_path, of_columns + of_cells).explain(report, Losing.capabilities)] == explained
    assert [_load(tmp_path, alone).explain(report, Losing.capabilities) for alone in (of_columns, of_cells)] == [(), ()]


@pytest.mark.parametrize("version", ["0.9", "2.0", "not a version"])
def test_another_version_is_not_explained(known: Deviations, version: str) -> None:
    assert known.explain(check_case(_case(), Losing(version)), Losing.capabilities) == ()


def test_another_engine_is_not_explained(known: Deviations) -> None:
    report = replace(check_case(_case(), Losing()), engine="another")
    assert known.explain(report, Losing.capabilities) == ()


def test_a_case_that_the_predicate_does_not_hold_for_is_not_explained(known: Deviations) -> None:
    delete = _case(sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE")
    engine = Losing()
    engine.capabilities = replace(engine.capabilities, metrics=False)
    assert known.explain(check_case(delete, engine), Losing.capabilities) == ()


@pytest.mark.parametrize(
    ("column_type", "value", "holds"),
    [
        ("STRUCT<a: INT>", None, True),
        ("STRUCT<a: INT>", {"a": None}, False),
        ("STRUCT<a: STRUCT<b: INT>>", {"a": None}, True),
        ("STRUCT<a: STRUCT<b: INT>>", {"a": {"b": None}}, False),
        ("INT", None, False),
    ],
)
def test_a_struct_that_is_null_is_more_than_one_of_nulls(
    tmp_path: Path, column_type: str, value: object, *, holds: bool
) -> None:
    """The word ``null-structs``: a struct itself is NULL, on whatever level, in either table."""
    schema = f"id INT, v STRING, n {column_type}"
    tables = {name: {**_CASE[name], "schema": schema} for name in ("target", "source")}
    with_value = [[1, "x", value]]
    plain = {"INT": 1, "STRUCT<a: INT>": {"a": 1}}.get(column_type, {"a": {"b": 1}})
    for in_target in (True, False):
        tables["target"]["files"] = [[[1, "a", value if in_target else plain], [2, "b", plain]]]
        tables["source"]["rows"] = [[1, "x", plain]] if in_target else with_value
        known = _load(tmp_path, _ENTRY.replace("equality-on = true", "null-structs = true"))
        losing = Losing()
        losing.capabilities = replace(losing.capabilities, metrics=False)
        assert bool(known.explain(check_case(_case(**tables), losing), Losing.capabilities)) is holds


def test_agreement_is_never_annotated(known: Deviations) -> None:
    assert known.annotated(check_case(_case(), Losing(loses=False)), Losing.capabilities).deviations == ()


def test_an_entry_that_no_longer_applies_stops_the_run(known: Deviations) -> None:
    known.check_examples(Losing(), check_case)  # it still applies
    with pytest.raises(StaleDeviationError, match=r"loses-a-row.*no longer describes losing 1\.5.*agree") as caught:
        known.check_examples(Losing(loses=False), check_case)
    assert caught.value.exit_code == 1
    known.check_examples(Losing("2.1", loses=False), check_case)  # not about this release


def test_an_entry_whose_case_differs_otherwise_stops_the_run(known: Deviations) -> None:
    with pytest.raises(StaleDeviationError, match="numTargetRowsUpdated"):
        known.check_examples(Losing(miscounts=True), check_case)


def test_review_dates_and_unused_entries_are_said(tmp_path: Path) -> None:
    past = _load(tmp_path, _ENTRY.replace("2999-01-01", "2020-01-01"))
    said: list[str] = []
    confirm(past, Losing(), said.append)
    assert "2020-01-01" in said[0]
    assert past.due(Losing(), dt.date(2019, 1, 1)) == ()
    warn_of_unused(past, Losing(), set(), said.append)
    assert "loses-a-row" in said[1]
    warn_of_unused(past, Losing(), {"loses-a-row"}, said.append)
    assert len(said) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("engine =", "engin =", "unknown key 'engin'.*did you mean 'engine'"),
        ("equality-on", "equality-onn", "unknown word 'equality-onn'.*did you mean 'equality-on'"),
        ("equality-on = true", 'equality-on = "yes"', "must be a boolean"),
        ("matched/update", "matched/upsert", "allowed: .*matched/update"),
        (">=1.0,<2.0", "1.0 to 2.0", "is no range"),
        ("review = 2999-01-01", 'review = "2999-01-01"', "must be a date"),
        ('difference = ["rows missing_rows", "rows P-9"]', 'difference = ["rows"]', "is none that there is"),
        ('["rows missing_rows", "rows P-9"]', '[{ what = "rows missing_rows", each = "(" }]', "no regular expression"),
        ('["rows missing_rows", "rows P-9"]', '[{ what = "rows *", columns = "all" }]', 'be "added" or "not null"'),
        ('["rows missing_rows", "rows P-9"]', '[{ each = "x" }]', "must be a text"),
        ('link = "https://example.org/1"', "", "lacks link"),
        ("case.json", "nowhere.json", "case cannot be read"),
        ("[[deviation]]", "[[deviations]]", "nothing else"),
        ('id = "loses-a-row"', 'id = "x', "is no TOML"),
        ('reason = "it', 'message = "("\nreason = "it', "no regular expression"),
        ("clauses = ", 'sql = "(", clauses = ', "no regular expression"),
        ('reason = "it', 'as_if = "it sleeps"\nreason = "it', "is no bug model; known: a match"),
    ],
)
def test_a_typo_stops_the_run(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in _ENTRY
    with pytest.raises(UserInputError, match=message):
        _load(tmp_path, _ENTRY.replace(old, new))


def test_an_id_that_stands_twice_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserInputError, match="occurs twice"):
        _load(tmp_path, _ENTRY + _ENTRY)


def test_the_packaged_entries_can_be_read() -> None:
    assert {entry.engine for entry in load_deviations().entries} <= {
        "pyspark",
        "delta-spark",
        "delta-rs",
        "duckdb",
        "iceberg",
        "postgres",
    }
