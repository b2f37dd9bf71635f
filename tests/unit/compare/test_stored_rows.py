"""A table's declarations are checked on the rows that an engine stored, without a prediction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.compare.stored_rows import check_stored_rows
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Row

_CHECK = "delta.constraints.c"


def _case(schema: str, rows: list[list[Any]], *, properties: dict[str, str] | None = None, **more: Any) -> Case:
    document = {
        "format_version": 1,
        "id": "stored",
        "target": {"schema": schema, "files": [rows], "properties": properties or {}, **more.pop("target", {})},
        "source": {"schema": "id INT", "rows": []},
        "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
        **more,
    }
    (case,) = parse_cases(json.dumps(document), name="stored", lines=False)
    return case


def _faults(case: Case, *rows: Row, schema: str | None = None) -> list[tuple[str, tuple[str, ...]]]:
    shown = case.target.schema if schema is None else parse_schema(schema)
    found = check_stored_rows(case, Outcome(schema=shown, rows=rows))
    assert all(m.check is Check.ROWS and m.against == "itself" for m in found.mismatches)
    return [(m.kind, m.parts) for m in found.mismatches]


@pytest.mark.parametrize(
    ("schema", "properties", "good", "bad", "rule"),
    [
        ("id INT NOT NULL, v INT", {}, (2, None), (None, 2), "R-741"),
        ("id INT, s STRUCT<a: INT NOT NULL>", {}, (2, (1,)), (2, (None,)), "R-741"),
        ("id INT, v INT", {_CHECK: "v > 0"}, (2, 1), (2, 0), "R-742"),
        ("id INT, v INT", {_CHECK: "v > 0"}, (2, 1), (2, None), "R-742"),
        ("id INT, v INT GENERATED ALWAYS AS (id + 1)", {}, (2, 3), (2, 4), "R-222"),
        ("id INT, v INT GENERATED ALWAYS AS (id + 1)", {}, (None, None), (2, None), "R-222"),
        ("id INT, v VARCHAR(2)", {}, (2, "ab"), (2, "abc"), "R-822"),
        ("id INT, v ARRAY<VARCHAR(2)>", {}, (2, ("ab", None)), (2, ("a", "abc")), "R-822"),
        (
            "id INT, v MAP<VARCHAR(2), STRUCT<a: VARCHAR(1)>>",
            {},
            (2, (("ab", ("a",)),)),
            (2, (("a", ("ab",)),)),
            "R-822",
        ),
    ],
)
def test_a_stored_row_that_breaks_what_the_table_declares_is_a_mismatch(
    schema: str, properties: dict[str, str], good: Row, bad: Row, rule: str
) -> None:
    case = _case(schema, [], properties=properties)
    assert _faults(case, good) == []
    ((kind, parts),) = _faults(case, good, bad)
    assert kind == rule
    assert len(parts) == 1


def test_a_row_that_was_there_before_is_no_fault_of_the_merge() -> None:
    case = _case("id INT, v INT", [[1, 0]], properties={_CHECK: "v > 0"})
    assert _faults(case, (1, 0)) == []
    assert [kind for kind, _ in _faults(case, (1, 0), (1, 0))] == ["R-742"]


def test_an_engine_that_forgets_not_null_is_held_to_it() -> None:
    case = _case("id INT NOT NULL", [])
    assert [kind for kind, _ in _faults(case, (None, 1), schema="id INT, w INT")] == ["R-741"]


def test_only_what_was_evaluated_counts_as_compared() -> None:
    case = _case("id INT, v STRING", [], properties={_CHECK: "soundex(v) = v", "delta.constraints.d": "1 / id > 0"})
    found = check_stored_rows(case, Outcome(schema=case.target.schema, rows=((0, "a"),)))
    assert found.mismatches == ()
    assert {kind for made in found.compared for kind in made.kinds or ()} == {"R-741", "R-822"}


@pytest.mark.parametrize(
    ("check", "conf", "is_held"),
    [
        ("id > 0", {"spark.sql.session.timeZone": "America/New_York"}, True),
        ("id > 0", {"spark.sql.ansi.enabled": "false"}, True),
        ("10 / id > 20", {"spark.sql.ansi.enabled": "false"}, False),
        ("hour(TIMESTAMP'2020-01-01 00:00:00') = id", {"spark.sql.session.timeZone": "America/New_York"}, False),
    ],
)
def test_outside_of_ansi_and_utc_only_what_neither_changes_is_evaluated(
    check: str, conf: dict[str, str], *, is_held: bool
) -> None:
    case = _case("id INT", [], properties={_CHECK: check}, conf=conf)
    assert bool(_faults(case, (-5,))) is is_held


class _Stores:
    """An engine that stores one row."""

    name, version, capabilities = "stores", "1", Capabilities()

    def __init__(self, row: Row) -> None:
        self._row = row

    def run(self, case: Case) -> Outcome:
        return Outcome(schema=case.target.schema, rows=(self._row,))

    def close(self) -> None:
        """Nothing to close."""


def test_what_the_reference_abstains_from_is_held_against_the_constraints() -> None:
    case = _case("id INT, v INT", [], properties={_CHECK: "v > 0"})
    abstains = Reference(answer=Unsupported("something else"))
    report = check_case(case, _Stores((1, 0)), reference=lambda _: abstains)
    assert report.verdict is Verdict.MISMATCH
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("rows", "R-742")]
    good = check_case(case, _Stores((1, 1)), reference=lambda _: abstains)
    assert good.verdict is Verdict.JUDGED_IN_PART


def test_a_merge_that_had_to_fail_is_reported_once() -> None:
    case = _case("id INT, v INT", [], properties={_CHECK: "v > 0"})
    rejects = Reference(
        answer=Rejection(error_class="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", message="", unchanged=True)
    )
    report = check_case(case, _Stores((1, 0)), reference=lambda _: rejects)
    assert [(m.check.value, m.kind) for m in report.mismatches] == [("error", "no_error")]
