"""An answer that contradicts itself leads to a hypothesis and a reason, although no reference predicts it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.compare.kinds import KINDS
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.explanation.contradictions import broken_hypothesis
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.outcome import Outcome, Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.model.case import Row
    from mergecheck.model.outcome import EngineResult

    Change = Callable[[Outcome], Outcome]

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


class Changing:
    """Gives the right answer after a change; not even mergecheck's reference predicts it."""

    name, version = "changing", "1"
    capabilities = Capabilities(metric_names=NAMES)

    def __init__(self, change: Change) -> None:
        self.change = change

    def run(self, case: Case) -> EngineResult:
        answer = evaluate(case).answer
        assert isinstance(answer, Prediction)
        metrics = {name: answer.metrics[name].low for name in NAMES}
        return self.change(Outcome(schema=answer.schema, rows=answer.rows, metrics=metrics, cdf=answer.cdf))

    def close(self) -> None:
        pass


def unpredicted(case: Case) -> Reference:
    return Reference(answer=Unsupported(f"the case {case.id}"))


def reported(change: Change, case: Case = CASE) -> list[str]:
    checker = Checker(engine=Changing(change), reference=unpredicted)
    report = checker.check_case(case)
    return mismatch_report(case_document(report, hypotheses=checker.hypotheses(report))).splitlines()


def why_of(lines: list[str]) -> list[str]:
    start = next(place for place, line in enumerate(lines) if line.startswith("  why"))
    return [line[13:] for line in lines[start:] if line]


def without_change(kind: str) -> Change:
    return lambda right: replace(right, cdf=tuple(row for row in right.cdf or () if row[-1] != kind))


def with_change(*row: object) -> Change:
    return lambda right: replace(right, cdf=(*(right.cdf or ()), row))


def counting(name: str, number: int) -> Change:
    return lambda right: replace(right, metrics={**right.metrics, name: right.metrics[name] + number})


def with_rows(*rows: Row, without: tuple[Row, ...] = ()) -> Change:
    return lambda right: replace(right, rows=(*(row for row in right.rows if row not in without), *rows))


def without_metrics(change: Change) -> Change:
    return lambda right: replace(change(right), metrics={})


def without_feed(change: Change) -> Change:
    return lambda right: replace(change(right), cdf=None)


GONE = "is gone from the table, but no change row removes it"
NEW = "is new in the table, but no change row adds it"


@pytest.mark.parametrize(
    ("change", "hypothesis", "why"),
    [
        (
            without_change("update_preimage"),
            "the change feed lacked the rows before an update",
            [f"target 1 (1, 'a') {GONE}"],
        ),
        (
            without_metrics(without_change("update_preimage")),
            "the change feed lacked the rows before an update",
            [f"target 1 (1, 'a') {GONE}"],
        ),
        (without_change("insert"), "the change feed lacked inserted rows", [f"(9, 'y') {NEW}"]),
        (without_metrics(without_change("insert")), "the change feed lacked inserted rows", [f"(9, 'y') {NEW}"]),
        (
            lambda right: replace(right, cdf=()),
            "the change feed had no rows",
            [f"target 1 (1, 'a') {GONE}", f"(1, 'x') {NEW}", f"(9, 'y') {NEW}"],
        ),
        (
            with_change(9, "y", "insert"),
            "the change feed had inserted rows twice, or of other rows",
            ["the change feed adds (9, 'y') 2 times, but the table does not hold it so often"],
        ),
        (
            counting("numTargetRowsUpdated", 1),
            "numTargetRowsUpdated counted 1 too many",
            ["table, change feed and the other counts agree with numTargetRowsUpdated 1"],
        ),
        (
            without_feed(counting("numTargetRowsInserted", -1)),
            "numTargetRowsInserted counted 1 too few",
            ["table, change feed and the other counts agree with numTargetRowsInserted 1"],
        ),
        (
            with_rows(without=((3, "c"),)),
            "rows that no clause changes were lost",
            [f"target 3, 4 (3, 'c') {GONE}"],
        ),
        (with_rows((9, "y")), "inserted rows were written twice", [f"(9, 'y') {NEW}"]),
        (
            with_rows((1, "a")),
            "the old rows were kept beside the new ones",
            ["the change feed removes target 1 (1, 'a') once, but the table still holds it"],
        ),
        (
            with_rows((2, "c"), without=((2, "b"),)),
            "v had the value of another row",
            [f"target 2 (2, 'b') {GONE}", f"(2, 'c') {NEW}"],
        ),
        (
            without_feed(with_rows(without=((3, "c"),))),
            "rows were lost or written that no metric counts",
            ["4 rows before, 3 after; metrics: numOutputRows 5, numTargetRowsCopied 3,"],
        ),
        (
            without_feed(counting("numOutputRows", 2)),
            "a total were not the sum of its parts",
            ["4 rows before, 5 after; metrics: numOutputRows 7, numTargetRowsCopied 3,"],
        ),
    ],
)
def test_a_broken_invariant_alone_is_explained(change: Change, hypothesis: str, why: list[str]) -> None:
    """The first line has the fault, and the reasons have the rows or the counts."""
    lines = reported(change)
    assert lines[0] == f"MISMATCH  acts as if {hypothesis}"
    assert why_of(lines)[: len(why)] == why


def test_a_rule_about_stored_rows_is_named() -> None:
    """A row that breaks a constraint is shown; the reason names the rule, for there is nothing to count."""
    target = replace(CASE.target, properties={**CASE.target.properties, "delta.constraints.c": "k < 100"})
    swapped = with_rows((200, "y"), without=((9, "y"),))
    lines = reported(
        lambda right: replace(swapped(right), cdf=(*without_change("insert")(right).cdf, (200, "y", "insert"))),
        replace(CASE, target=target),
    )
    assert lines[0] == "MISMATCH  acts as if CHECK constraints were not checked"
    assert any("(200, 'y')" in line for line in lines)
    assert why_of(lines)[0] == "a rule does not hold: CHECK"


def test_every_invariant_has_a_hypothesis() -> None:
    """Whatever breaks alone is explained: a new kind of invariant needs a text."""
    kinds = {kind for kinds in KINDS.values() for kind in kinds if kind.startswith(("P-", "R-"))}
    for kind in sorted(kinds | {"row_ids", "breakdown"}):
        assert broken_hypothesis(kind).startswith("as if "), kind
