"""Hypotheses that are read off an answer, and the rows that a report explains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.model.types.data_types import Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from mergecheck.reference.answer import Reference
from mergecheck.reference.dialects import MULTI_MATCH

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.outcome import EngineResult

SCHEMA = parse_schema("k INT, v STRING")
CASE = Case(
    id="case",
    target=Target(schema=SCHEMA, files=(((1, "a"), (2, "b"), (3, "c"), (3, "c")),), properties={CDF_PROPERTY: "true"}),
    source=Source(schema=SCHEMA, rows=((1, "x"), (9, "y"))),
    sql="MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)
NAMES = frozenset(
    f"num{name}" for name in ("TargetRowsInserted", "TargetRowsUpdated", "TargetRowsDeleted", "TargetRowsCopied")
) | {"numOutputRows"}


@dataclass(frozen=True, slots=True)
class Changing:
    """Gives the reference's answer after a change."""

    change: Callable[[Outcome], Outcome]
    name: str = "changing"
    version: str = "1"
    capabilities: Capabilities = Capabilities(metric_names=NAMES)  # noqa: RUF009 - a frozen value

    def run(self, case: Case) -> EngineResult:
        answer = evaluate(case).answer
        assert isinstance(answer, Prediction)
        metrics = {name: answer.metrics[name].low for name in NAMES}
        return self.change(Outcome(schema=answer.schema, rows=answer.rows, metrics=metrics, cdf=answer.cdf))

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Failing:
    """Fails whatever it is given."""

    result: Rejection
    name: str = "failing"
    version: str = "1"
    capabilities: Capabilities = Capabilities()  # noqa: RUF009 - a frozen value

    def run(self, case: Case) -> EngineResult:
        del case
        return self.result

    def close(self) -> None:
        pass


def without_change(kind: str) -> Callable[[Outcome], Outcome]:
    return lambda right: replace(right, cdf=tuple(row for row in right.cdf or () if row[-1] != kind))


def counting(name: str, number: int) -> Callable[[Outcome], Outcome]:
    return lambda right: replace(right, metrics={**right.metrics, name: right.metrics[name] + number})


def without_preimages(right: Outcome) -> Outcome:
    return without_change("update_preimage")(right)


def without_rows(key: int) -> Callable[[Outcome], Outcome]:
    return lambda right: replace(right, rows=tuple(row for row in right.rows if row[0] != key))


def with_rows(*rows: tuple[int, str], without: tuple[tuple[int, str], ...] = ()) -> Callable[[Outcome], Outcome]:
    return lambda right: replace(right, rows=(*(row for row in right.rows if row not in without), *rows))


def counting_copies_twice(right: Outcome) -> Outcome:
    copied = right.metrics["numTargetRowsCopied"]
    return counting("numOutputRows", copied)(counting("numTargetRowsCopied", copied)(right))


def unpredicted(case: Case) -> Reference:
    return Reference(answer=Unsupported(f"the case {case.id}"))


def reported(change: Callable[[Outcome], Outcome], case: Case = CASE, *, is_predicted: bool = True) -> list[str]:
    checker = Checker(engine=Changing(change), reference=evaluate if is_predicted else unpredicted)
    report = checker.check_case(case)
    return mismatch_report(case_document(report, hypotheses=checker.hypotheses(report))).splitlines()


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        (without_change("update_preimage"), "as if the change feed lacked the rows before an update"),
        (without_change("insert"), "as if the change feed lacked inserted rows"),
        (lambda right: replace(right, cdf=()), "as if the change feed had no rows"),
        (counting("numTargetRowsUpdated", 1), "as if numTargetRowsUpdated counted 1 too many"),
        (counting("numTargetRowsInserted", -1), "as if numTargetRowsInserted counted 1 too few"),
        (without_rows(3), "as if rows that no clause changes were lost"),
        (with_rows((9, "y")), "as if inserted rows were written twice"),
        (with_rows((1, "a")), "as if the old rows were kept beside the new ones"),
        (
            with_rows((1, "a"), without=((2, "b"),)),
            "as if changed rows were copied in place of rows that no clause changes",
        ),
        (with_rows((2, "c"), without=((2, "b"),)), "as if v had the value of another row"),
        (counting_copies_twice, "as if numTargetRowsCopied counted each row twice"),
        (counting("numOutputRows", 2), "as if numOutputRows counted 2 too many"),
    ],
)
def test_a_fault_of_the_answer_is_named(change: Callable[[Outcome], Outcome], hypothesis: str) -> None:
    """The first line has the verdict and the hypothesis."""
    assert reported(change)[0] == f"MISMATCH  acts {hypothesis}"


def renaming(*pairs: tuple[str, str]) -> Callable[[Outcome], Outcome]:
    names = dict(pairs)
    return lambda right: replace(right, cdf=tuple((*row[:-1], names.get(row[-1], row[-1])) for row in right.cdf or ()))


@pytest.mark.parametrize(
    ("change", "hypothesis"),
    [
        (
            lambda right: replace(right, cdf=((1, "x", "update_preimage"), *without_preimages(right).cdf)),
            "as if the rows before an update had other values in the change feed",
        ),
        (
            renaming(("update_preimage", "update_postimage"), ("update_postimage", "update_preimage")),
            "as if update_postimage and update_preimage were swapped in the change feed",
        ),
        (
            renaming(("update_preimage", "delete"), ("update_postimage", "insert")),
            "as if the change feed had update_postimage and update_preimage as delete and insert",
        ),
    ],
)
@pytest.mark.parametrize("is_predicted", [True, False])
def test_changes_of_another_kind_are_named(
    change: Callable[[Outcome], Outcome], hypothesis: str, *, is_predicted: bool
) -> None:
    """The reference's feed differs in values or types; without it, the table and the counts give the right feed."""
    assert reported(change, is_predicted=is_predicted)[0] == f"MISMATCH  acts {hypothesis}"


def deleting(case: Case, *, twice: bool = False) -> Case:
    rows = ((1, "x"), (1, "y")) if twice else ((1, "x"),)
    sql = "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN DELETE"
    return replace(case, source=Source(schema=SCHEMA, rows=rows), sql=sql)


@pytest.mark.parametrize(
    ("case", "change", "hypothesis"),
    [
        (deleting(CASE), with_rows((1, "a")), "as if deleted rows were kept"),
        (
            replace(deleting(CASE), target=replace(CASE.target, partition_by=("v",))),
            with_rows((2, "c"), without=((2, "b"),)),
            "as if the partition column v had the value of another row",
        ),
        (
            deleting(CASE, twice=True),
            counting("numTargetRowsDeleted", 1),
            "as if a row were deleted once for each of its matches",
        ),
        (
            deleting(CASE, twice=True),
            lambda right: replace(right, cdf=(*(right.cdf or ()), (1, "a", "delete"))),
            "as if a row were deleted once for each of its matches",
        ),
    ],
)
def test_a_fault_of_deleted_rows_is_named(case: Case, change: Callable[[Outcome], Outcome], hypothesis: str) -> None:
    """A row that stays, a partition value of another row, and a row that is deleted for each of its matches."""
    assert reported(change, case)[0] == f"MISMATCH  acts {hypothesis}"


@pytest.mark.parametrize(
    ("error_class", "hypothesis"),
    [
        ("ACME_BAD_COMMIT", "as if several matches of a row were no error"),
        (MULTI_MATCH, "as if a merge that fails kept what it had written"),
    ],
)
def test_a_merge_that_fails_after_it_wrote_is_named(error_class: str, hypothesis: str) -> None:
    """It went past the check of several matches, or the check came too late."""
    failed = Rejection(error_class=error_class, message="", unchanged=False)
    case = replace(CASE, source=Source(schema=SCHEMA, rows=((1, "x"), (1, "y"))))
    checker = Checker(engine=Failing(failed))
    assert checker.hypotheses(checker.check_case(case)) == (hypothesis,)


def test_a_column_beside_generated_values_is_named() -> None:
    """An identity column has other values, and another mark, than the prediction; neither is the fault."""
    schema = parse_schema("q STRING, v INT, n BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH 1 INCREMENT BY 1)")
    case = replace(
        CASE,
        target=Target(schema=schema, files=(), partition_by=("q",)),
        source=Source(schema=parse_schema("q STRING, v INT"), rows=(("a", 1), ("b", 2))),
        sql="MERGE INTO target t USING source s ON t.v = s.v WHEN NOT MATCHED THEN INSERT (q, v) VALUES (s.q, s.v)",
    )

    def stale(right: Outcome) -> Outcome:
        marked = tuple(
            one if one.identity is None else replace(one, identity=replace(one.identity, mark=11))
            for one in right.schema.columns
        )
        return replace(right, schema=Schema(marked), rows=(("a", 1, 10), ("a", 2, 11)), cdf=None)

    assert reported(stale, case)[0] == "MISMATCH  acts as if the partition column q had the value of another row"


@dataclass(frozen=True, slots=True)
class Allowing:
    """Updates a row by each of its matches, where the merge must be refused."""

    name: str = "allowing"
    version: str = "1"
    capabilities: Capabilities = Capabilities()  # noqa: RUF009 - a frozen value

    def run(self, case: Case) -> EngineResult:
        assert case.source is not None
        return Outcome(schema=SCHEMA, rows=case.source.rows, metrics={})

    def close(self) -> None:
        pass


def test_silent_ambiguity_is_named() -> None:
    """An answer with a row for each match is of no other statement."""
    twice = Source(schema=SCHEMA, rows=((1, "x"), (1, "y")))
    case = replace(CASE, target=Target(schema=SCHEMA, files=(((1, "a"),),)), source=twice)
    checker = Checker(engine=Allowing())
    report = checker.check_case(case)
    assert checker.hypotheses(report)[0] == "as if several matches of a row were no error"


def test_clauses_behind_a_condition_that_is_null() -> None:
    """The second clause is there, and is skipped only where the condition of the first is NULL."""
    clauses = "WHEN MATCHED AND s.v > 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET *"
    sql = f"MERGE INTO target t USING source s ON t.k = s.k {clauses}"
    case = replace(CASE, source=Source(schema=SCHEMA, rows=((1, None), (2, "w"))), sql=sql)

    def skipping(right: Outcome) -> Outcome:
        metrics = {**right.metrics, "numTargetRowsUpdated": 1, "numTargetRowsCopied": 3}
        metrics["numOutputRows"] = 4
        changes = tuple(row for row in right.cdf or () if row[0] != 1)
        rows = with_rows((1, "a"), without=((1, None),))(right).rows
        return replace(right, rows=rows, metrics=metrics, cdf=changes)

    assert reported(skipping, case)[0] == ("MISMATCH  acts as if no clause came after a NULL condition of clause 1")


def test_only_rows_that_differ_are_explained() -> None:
    """Two equal rows that are lost are one story; files and rules are of no use to an engine that reports none."""
    lines = reported(without_rows(3))
    start = next(i for i, line in enumerate(lines) if line.startswith("  why"))
    assert [line.strip() for line in lines[start : start + 3]] == [
        "why        target 3, 4 (3, 'c') has no match",
        "no clause is for it",
        "-> left as it is",
    ]
    text = "\n".join(lines)
    assert "target 1" not in text
    assert "R-" not in text
    assert "P-" not in text


def test_a_row_that_is_there_instead_is_shown_with_the_missing_one() -> None:
    """A dozen updates that are not made: in the order of their keys, each with the old row below the new one."""
    schema = parse_schema("k INT, v STRING, w STRING")
    case = replace(
        CASE,
        target=Target(schema=schema, files=(tuple((k, "a", "b") for k in range(12)),)),
        source=Source(schema=schema, rows=tuple((k, "x", "y") for k in range(12))),
        sql="MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *",
    )
    lines = reported(lambda right: replace(right, rows=case.target.rows), case)
    start = next(i for i, line in enumerate(lines) if line.startswith("  rows      "))
    assert [line.strip() for line in lines[start : start + 8]] == [
        "rows       12 rows of the reference are missing; 12 rows are not in the reference",
        *(f"{sign} ({k}, '{v}', '{w}')" for k in range(3) for sign, v, w in (("-", "x", "y"), ("+", "a", "b"))),
        "and 18 more",
    ]


def test_a_fact_is_shown_once() -> None:
    """A count that follows from the rows is a line beside them, and an invariant that breaks with them is none."""
    lines = reported(lambda right: counting("numTargetRowsInserted", -1)(without_rows(9)(right)))
    (beside,) = (line for line in lines if line.startswith("  with it"))
    assert beside.startswith("  with it    numTargetRowsInserted: reference 1, engine 0")
    assert not any(line.startswith("  metrics") for line in lines)
