"""Bug models of rows that are not read because they hold 0.0 where a constant is -0.0, or the other way round."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from reading_cases import MERGE, case_of, judged_case, with_old_row

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.catalogue import BUG_MODELS
from mergecheck.harness.engine import Capabilities
from mergecheck.model.outcome import Outcome, Prediction

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_UNREAD = "row groups with the other zero than a constant are not read"
_STAYS = "if rows are marked in vectors rows with the other zero than a constant stay"


@pytest.mark.parametrize(
    ("condition", "files", "unread"),
    [
        ("t.v = 0.0", [[[1, "-0.0"]], [[2, 0.0]]], {1}),
        ("t.v <=> CAST('-0.0' AS DOUBLE)", [[[1, "-0.0"]], [[2, 0.0]]], {2}),
        ("0.0 <= t.v", [[[1, "-0.0"]], [[2, 5.0]]], {1}),
        ("t.v <= -0.0", [[[1, "-0.0"]], [[2, 0.0]]], {2}),
        ("t.v = 0.0", [[[1, "-0.0"], [2, 0.0]]], None),
        ("t.v > 0.0", [[[1, "-0.0"]], [[2, 5.0]]], None),
        ("t.v = s.v", [[[1, "-0.0"]], [[2, 0.0]]], None),
    ],
)
def test_files_with_the_other_zero_are_not_read(
    condition: str, files: list[list[list[Any]]], unread: set[int] | None
) -> None:
    """Their rows are as they were, whatever the clauses do; a file that holds both zeros is read."""
    case = case_of(
        f"{MERGE} t.id = s.id AND {condition} WHEN MATCHED THEN DELETE",
        target={"schema": "id INT, v DOUBLE", "files": files},
        source={"schema": "id INT, v DOUBLE", "rows": [[1, 0.0], [2, 0.0]]},
    )
    now = judged_case(case)
    assert isinstance(now.result, TableOutcome)
    kept = tuple(row for row in case.target.rows if unread is None or row[0] in unread)
    after = BUG_MODELS["files with the other zero than a constant of ON are not read"].apply(
        replace(now, result=replace(now.result, rows=kept))
    )
    assert (after is None) is (unread is None)
    if after is not None:
        assert isinstance(after.result, Outcome)
        assert isinstance(after.reference.answer, Prediction)
        assert after.result.rows == after.reference.answer.rows == ()


def _case(clauses: str, rows: list[list[Any]], vectors: str = "true", **layout: Any) -> Case:
    return case_of(
        f"{MERGE} t.id = s.id {clauses}",
        target={
            "schema": "id INT, v DOUBLE",
            "files": [rows],
            "properties": {"delta.enableDeletionVectors": vectors},
            "layout": layout,
        },
        source={"schema": "id INT, v DOUBLE", "rows": [[1, 5.0], [3, 3.0]]},
    )


@pytest.mark.parametrize(
    ("condition", "rows", "known"),
    [
        ("t.v = 0.0", [[1, "-0.0"], [2, 1.0]], True),
        ("0.0 = t.v", [[1, "-0.0"], [2, 1.0]], True),
        ("t.v = CAST('-0.0' AS DOUBLE)", [[1, 0.0], [2, 1.0]], True),
        ("t.v BETWEEN 0 AND 0", [[1, "-0.0"], [2, -1.0]], True),
        ("t.v IN (0.0, 9.0)", [[1, "-0.0"], [2, 1.0]], True),
        ("(t.v = 0.0 OR t.id = 9)", [[1, "-0.0"], [2, 1.0]], True),
        ("(t.v = 0.0 OR t.id = 2)", [[1, "-0.0"], [2, 1.0]], False),
        ("NOT (t.v <> 0.0 OR t.v IS NULL)", [[1, "-0.0"], [2, 1.0]], True),
        ("NOT (NOT t.v <= 0.0 AND TRUE)", [[1, "-0.0"], [2, 1.0]], False),
        ("(t.v = 0.0) = TRUE", [[1, "-0.0"], [2, 1.0]], True),
        ("FALSE = (t.v <> 0.0)", [[1, "-0.0"], [2, 1.0]], True),
        ("FALSE <=> (t.v <> 0.0)", [[1, "-0.0"], [2, 1.0]], False),
        ("t.v >= 0.0", [[1, "-0.0"], [2, -1.0]], True),
        ("t.v >= 0.0", [[1, "-0.0"], [2, "NaN"]], False),
        ("t.v = 0.0", [[1, "-0.0"], [2, 0.0]], False),
        ("t.v < 1.0", [[1, "-0.0"], [2, 1.0]], False),
        ("t.v = s.v - 5.0", [[1, "-0.0"], [2, 1.0]], False),
    ],
)
def test_a_row_group_without_the_constant_s_zero_is_not_read(
    condition: str, rows: list[list[Any]], *, known: bool
) -> None:
    """Nothing else of the merge differs: it has no row to delete."""
    case = _case(f"WHEN MATCHED AND {condition} THEN DELETE", rows)
    right = judged_case(case)
    assert isinstance(right.result, Outcome)
    assert len(right.result.rows) == 1, "the first row fulfils the condition"
    after = BUG_MODELS[_UNREAD].apply(replace(right, result=replace(right.result, rows=case.target.rows)))
    assert (after is not None) is known
    if after is not None:
        assert isinstance(after.reference.answer, Prediction)
        assert not after.reference.answer.committed


@pytest.mark.parametrize(
    ("clauses", "vectors", "known"),
    [
        ("AND t.v = 0.0 WHEN NOT MATCHED THEN INSERT *", "false", True),
        ("AND t.v = 0.0 WHEN MATCHED THEN DELETE", "false", False),
        ("AND t.v = 0.0 WHEN MATCHED THEN DELETE", "true", True),
        ("WHEN MATCHED AND t.v = 0.0 THEN DELETE WHEN MATCHED AND t.v > 7 THEN UPDATE SET *", "true", True),
        ("WHEN MATCHED AND t.v = 0.0 THEN DELETE WHEN MATCHED THEN UPDATE SET *", "true", False),
        ("WHEN MATCHED AND t.v = 0.0 THEN DELETE WHEN NOT MATCHED THEN INSERT *", "true", False),
    ],
    ids=["insert-only", "files-are-rewritten", "vectors", "one-of-two", "unconditional", "with-insert"],
)
def test_conditions_are_pushed_down_in_some_merges(clauses: str, vectors: str, *, known: bool) -> None:
    case = _case(clauses, [[1, "-0.0"], [2, 1.0]], vectors)
    right = judged_case(case)
    assert isinstance(right.result, Outcome)
    rows = (*case.target.rows, *right.result.rows)
    assert (BUG_MODELS[_UNREAD].apply(replace(right, result=replace(right.result, rows=rows))) is not None) is known


def test_each_row_group_is_looked_at_by_itself() -> None:
    case = _case("WHEN MATCHED AND t.v = 0.0 THEN DELETE", [[1, "-0.0"], [3, 0.0]], row_group_rows=1)
    right = judged_case(case)
    assert isinstance(right.result, Outcome)
    after = BUG_MODELS[_UNREAD].apply(replace(right, result=replace(right.result, rows=case.target.rows[:1])))
    assert after is not None
    assert after.case.target.rows == case.target.rows[1:]


@pytest.mark.parametrize(("row", "known"), [(0, True), (1, False)], ids=["other-zero", "no-zero"])
def test_a_row_with_the_other_zero_stays_if_no_vector_marks_it(row: int, *, known: bool) -> None:
    case = _case("WHEN MATCHED AND t.v = 0.0 THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", [[1, "-0.0"], [2, 1.0]])
    right = judged_case(case)
    after = BUG_MODELS[_STAYS].apply(with_old_row(right, row))
    assert (after is not None) is known
    assert after is None or after.mismatches(Capabilities()) == right.mismatches(Capabilities())


_FIELD_ROWS = [[1, {"x": {"y": "-0.0"}}], [2, {"x": {"y": "NaN"}}], [3, None]]


@pytest.mark.parametrize(
    ("name", "condition", "known"),
    [
        (_UNREAD, "t.v.x.y = 0.0", True),
        (_UNREAD, "v.x.y = 0.0", True),
        (_UNREAD, "t.v.x.y <= 0.0", False),
        ("if rows are marked in vectors clauses do not find rows with NaN", "t.v.x.y > 5", True),
        ("if rows are marked in vectors clauses do not find rows with NaN", "t.v IS NULL", False),
    ],
)
def test_fields_of_structs_are_looked_at(name: str, condition: str, *, known: bool) -> None:
    case = case_of(
        f"{MERGE} t.id = s.id WHEN MATCHED AND {condition} THEN DELETE",
        target={
            "schema": "id INT, v STRUCT<x: STRUCT<y: DOUBLE>>",
            "files": [_FIELD_ROWS],
            "properties": {"delta.enableDeletionVectors": "true"},
        },
        source={"schema": "id INT, w INT", "rows": [[1, 1], [2, 2], [3, 3]]},
    )
    right = judged_case(case)
    assert isinstance(right.result, Outcome)
    found = replace(right, result=replace(right.result, rows=case.target.rows))
    assert (BUG_MODELS[name].apply(found) is not None) is known
