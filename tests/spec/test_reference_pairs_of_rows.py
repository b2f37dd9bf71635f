"""Which pairs of rows the reference looks at, and which rows it names when a merge fails for them."""

from __future__ import annotations

import pytest

from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.reference.trace import RowsAtFault
from tests.spec.reference_cases import REFERENCE, merge, merge_case

INSERT = "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
ROWS = {
    "without NULL": [[1, "1"], [2, "2"], [2, "3"], [3, "0"]],
    "with NULL": [[1, "1"], [None, "2"], [2, None], [3, "0"]],
    "one row of NULLs": [[None, None]],
}


@pytest.mark.parametrize("source", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("target", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize(
    "on",
    [
        "t.k = s.k",
        "s.k = t.k AND t.v = s.v",
        "t.k = s.k AND t.v > '1'",
        "t.v > '1' AND (t.k = s.k AND s.v < '3')",
        "t.k = s.k OR t.v = s.v",
        "NOT (t.k = s.k)",
        "t.k <=> s.k",
        "t.k = t.k AND s.k = s.k",
        "t.k = s.k AND NULL",
        "t.k = s.k AND s.k = t.k",
    ],
)
def test_matches_are_the_pairs_on_which_on_is_true(on: str, target: list[object], source: list[object]) -> None:
    """Rows are joined by integers that ON equates; the result is that of ON on each pair of rows."""
    matches = REFERENCE.evaluate(merge_case(INSERT, target=target, source=source, on=on), every_pair=True).trace.matches
    assert matches is not None
    assert matches.on_values is not None
    assert set(matches.pairs) == {pair for pair, value in matches.on_values.items() if value}
    assert len(matches.on_values) == len(target) * len(source)
    assert matches.null_on == any(value is None for value in matches.on_values.values())


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("1 / (t.k - s.k) > 0", True),  # on one pair of rows, which ON does not join
        ("1 / (t.k - 3) > 0", False),
        ("1 / (t.k - 2) > 0", True),
        ("1 / (s.k - 5) > 0", True),
        ("1 / (s.k - t.k + 4) > 0", True),
        ("1 / (s.k - t.k + 5) > 0", False),
        ("element_at(array('t0', 's9'), t.k) = s.v", False),  # texts that look like columns
    ],
)
def test_conditions_are_evaluated_on_every_combination_of_rows(condition: str, fails: bool) -> None:  # noqa: FBT001
    """R-312: if a condition fails on some pair of rows, whether ON joins them or not, the outcome is unknown."""
    rows = {"target": [[1, "a"], [2, "b"]], "source": [[1, "a"], [5, "b"], [5, "b"], [-2, "b"]]}
    answer = merge(f"WHEN MATCHED AND {condition} THEN DELETE", on="t.v = s.v AND s.k < 9", **rows).answer
    on = merge("WHEN MATCHED THEN DELETE", on=f"t.v = s.v AND {condition}", **rows).answer
    assert isinstance(answer, Unsupported) == isinstance(on, Unsupported) == fails


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0]])
def test_a_condition_that_fails_on_one_of_two_equal_values_is_seen(zeros: list[float]) -> None:
    """0.0 and -0.0 are equal, and have two texts."""
    answer = merge(
        "WHEN MATCHED AND CAST(substring(CAST(t.v AS STRING), 1, 1) AS INT) = 0 THEN DELETE",
        schema="k INT, v DOUBLE",
        target=[[number, zero] for number, zero in enumerate(zeros)],
        source=[[0, 1.0]],
    ).answer
    assert isinstance(answer, Unsupported)


@pytest.mark.parametrize(
    ("clauses", "at_fault"),
    [
        ("WHEN MATCHED THEN UPDATE SET v = NULL", RowsAtFault(rids=frozenset({0, 2}))),
        ("WHEN MATCHED AND t.k = 3 THEN UPDATE SET v = NULL", RowsAtFault(rids=frozenset({2}))),
        ("WHEN MATCHED THEN UPDATE SET k = 1 / (t.k - 1)", RowsAtFault(rids=frozenset({0}))),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET k = 1000", RowsAtFault(rids=frozenset({1}))),
        ("WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)", RowsAtFault(sids=frozenset({1, 3}))),
        ("WHEN NOT MATCHED THEN INSERT (k, v) VALUES (1 / (s.k - 9), s.v)", RowsAtFault(sids=frozenset({3}))),
        (
            "WHEN MATCHED THEN UPDATE SET v = NULL WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
            RowsAtFault(rids=frozenset({0, 2}), sids=frozenset({1, 3})),
        ),
    ],
)
def test_rows_for_which_a_merge_fails_are_named(clauses: str, at_fault: RowsAtFault) -> None:
    """Without these rows, and source rows that only they match, the merge succeeds."""
    target, source = [[1, "a"], [2, "b"], [3, "c"]], [[3, "x"], [8, "y"], [1, "z"], [9, "w"]]
    given = {"schema": "k INT, v STRING NOT NULL", "properties": {"delta.constraints.few": "k < 100"}}
    found = merge(clauses, target=target, source=source, **given)
    assert isinstance(found.answer, Rejection)
    assert found.trace.at_fault == at_fault
    keys = {target[rid][0] for rid in at_fault.rids}
    without = merge(
        clauses,
        target=[row for row in target if row[0] not in keys],
        source=[row for sid, row in enumerate(source) if sid not in at_fault.sids and row[0] not in keys],
        **given,
    )
    assert isinstance(without.answer, Prediction)
    assert without.trace.at_fault == RowsAtFault()


def test_rows_with_several_matches_are_named() -> None:
    """They are at fault if the merge fails for them."""
    target, source = [[1, "a"], [2, "b"]], [[2, "x"], [2, "y"], [1, "z"]]
    found = merge("WHEN MATCHED THEN UPDATE SET v = s.v", target=target, source=source)
    assert found.trace.at_fault == RowsAtFault(rids=frozenset({1}))
    assert merge(INSERT, target=target, source=source).trace.at_fault == RowsAtFault()
