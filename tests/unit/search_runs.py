"""A search without an engine: small random cases, and reports that are made up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import FindingsDirectory, RunningCase
from mergecheck.harness.oracles.prepared_case import PreparedCase
from mergecheck.harness.report import events
from mergecheck.harness.search.loop import Budget, Search
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import MergePath, Outcome, Prediction, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.model.outcome import EngineResult

SCHEMA = parse_schema("id BIGINT, v STRING, extra INT")
CLAUSES = (
    "WHEN MATCHED AND s.v = 'x' THEN UPDATE SET *",
    "WHEN MATCHED THEN DELETE",
    "WHEN NOT MATCHED THEN INSERT *",
    "WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE",
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows = st.lists(st.tuples(st.integers(-5, 5) | st.none(), st.sampled_from("abx"), st.integers(0, 3)), max_size=8)
    files = draw(st.lists(rows, max_size=3))
    clauses = [clause for clause in CLAUSES if draw(st.booleans())] or [CLAUSES[2]]
    return Case(
        id="drawn",
        target=Target(schema=SCHEMA, files=tuple(map(tuple, files)), properties={"delta.appendOnly": "false"}),
        source=Source(schema=SCHEMA, rows=tuple(draw(rows))),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id {' '.join(clauses)}",
    )


def report(case: Case, *mismatches: Mismatch, verdict: Verdict | None = None, reason: str = "") -> CaseReport:
    prediction = Prediction(schema=SCHEMA, rows=(), metrics={}, cdf=None, committed=True, path=MergePath.D)
    return CaseReport(
        case=case,
        engine="fake",
        engine_version="1",
        verdict=verdict or (Verdict.MISMATCH if mismatches else Verdict.AGREE),
        reference=Reference(answer=Unsupported("why") if verdict is Verdict.UNSUPPORTED else prediction),
        facts=Facts(path=MergePath.D, clauses_present=frozenset({("matched", "update")}), num_changed_rows=1),
        result=Outcome(schema=SCHEMA, rows=()),
        mismatches=mismatches,
        reason=reason,
    )


ROWS = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=("1 row is missing", "(1, 'a')"))
METRICS = Mismatch(check=Check.METRICS, against="reference", kind="numTargetRowsCopied", lines=("copied: 1, 2",))


def null_key_fault(case: Case) -> CaseReport:
    """A fault that shows where both tables hold a NULL key and the statement inserts."""
    assert case.source is not None
    both = any(row[0] is None for row in case.target.rows) and any(row[0] is None for row in case.source.rows)
    return report(case, *((ROWS, METRICS) if both and "INSERT" in case.sql else ()))


class Fake:
    """An engine that nobody runs."""

    name, version, capabilities = "fake", "1", Capabilities()

    def run(self, case: Case) -> EngineResult:
        raise AssertionError(case)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted(Checker):
    """Reports a function's answer for a case."""

    script: Callable[[Case], CaseReport]

    def prepare(self, case: Case, reference: Reference | None = None) -> PreparedCase:
        return PreparedCase(case, reference or Reference(answer=Unsupported("not asked")))

    def check(self, prepared: PreparedCase) -> CaseReport:
        return self.script(prepared.case)


class Run:
    def __init__(self, folder: Path, check: Callable[[Case], CaseReport], **options: object) -> None:
        self.checked: list[Case] = []
        self.events: list[events.Event] = []
        self.folder = folder
        settings = {"budget": Budget(max_cases=150), "limits": ShrinkLimits(max_runs=300)} | options
        draws = settings.pop("draws", None) or Draws(cases(), seed=7)

        def counted(case: Case) -> CaseReport:
            self.checked.append(case)
            with RunningCase(folder).under_way(case):
                return check(case)

        checker = Scripted(engine=Fake(), script=counted)
        with prefetching(draws, checker) as prefetch:
            self.summary = Search(
                checker,
                prefetch,
                findings=FindingsDirectory(folder / "findings"),
                listener=self.events.append,
                **settings,  # type: ignore[arg-type]  # a test's own options
            ).run()

    @property
    def findings(self) -> list[events.FindingSaved]:
        return [event for event in self.events if isinstance(event, events.FindingSaved)]
