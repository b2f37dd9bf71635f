"""R-414: by-source clauses that touch only files to which they apply, as the reference predicts and holds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from reference_cases import merge, merge_case, predicted

from mergecheck.harness.checker import Checker
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case import Expectation
from mergecheck.model.outcome import FileWork, MergePath, Outcome, Prediction
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from mergecheck.model.case import Case

FILES = [[[1, "a"], [2, "a"]], [[3, "b"], [4, "c"]], [[5, "d"]]]
SOURCE = [[1, "x"]]
UPDATE, INSERT = "WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"
IDLE_UPDATE = "WHEN MATCHED AND s.v = 'no' THEN UPDATE SET *"
ONE, NONE = "WHEN NOT MATCHED BY SOURCE AND t.k = 4 THEN DELETE", "WHEN NOT MATCHED BY SOURCE AND t.k = 9 THEN DELETE"
MATCHED_ROW = "WHEN NOT MATCHED BY SOURCE AND t.k = 1 THEN DELETE"


@pytest.mark.parametrize(
    ("clauses", "path", "removed", "copied"),
    [
        (f"{UPDATE} {ONE}", MergePath.D, 2, 2),
        (ONE, MergePath.D, 1, 1),
        (f"{UPDATE} {NONE}", MergePath.D, 1, 1),
        (f"{IDLE_UPDATE} {NONE}", MergePath.C, 0, 0),
        (f"{IDLE_UPDATE} {INSERT} {NONE}", MergePath.D, 1, 2),
        (MATCHED_ROW, MergePath.C, 0, 0),
    ],
    ids=["both-fire", "alone", "by-source-idle", "all-idle", "a-match-with-insert", "a-match-protects"],
)
def test_the_files_that_a_by_source_clause_touches_at_least(
    clauses: str, path: MergePath, removed: int, copied: int
) -> None:
    """The upper end of the range is every file (R-410); the rows are the same."""
    reference = merge(clauses, target=FILES, source=SOURCE)
    most, least = predicted(reference), reference.least
    assert most.metrics["numTargetFilesRemoved"].low == len(FILES)
    assert least is not None
    metrics = {name: bound.low for name, bound in least.metrics.items()}
    assert (least.path, metrics["numTargetFilesRemoved"], metrics["numTargetRowsCopied"]) == (path, removed, copied)
    assert least.committed == (path is MergePath.D)
    assert sorted(least.rows, key=str) == sorted(most.rows, key=str)
    for name in ("Inserted", "Updated", "Deleted"):
        assert least.metrics[f"numTargetRows{name}"] == most.metrics[f"numTargetRows{name}"]


@pytest.mark.parametrize("clauses", [UPDATE, f"{IDLE_UPDATE} {INSERT}", "WHEN NOT MATCHED BY SOURCE THEN DELETE"])
def test_there_is_one_answer_if_every_file_is_touched_anyway(clauses: str) -> None:
    """Without a by-source clause, and if one applies in every file."""
    assert merge(clauses, target=FILES, source=[[9, "x"]]).least is None


@dataclass(frozen=True)
class Engine:
    """Gives one end of the range with one number changed, and declares one end."""

    end: Prediction
    declares_least: bool
    metric: str = ""
    by: int = 0
    name = "engine"
    version = "1"
    capabilities = Capabilities(cdf=False, exact_metric_names=True)

    def run(self, case: Case) -> Outcome:  # noqa: ARG002 - the answer is given
        metrics = {name: bound.low for name, bound in self.end.metrics.items()}
        if self.metric:
            metrics[self.metric] += self.by
        files = frozenset(range(3)) if not self.declares_least else frozenset({0, 1})
        return Outcome(
            schema=self.end.schema,
            rows=self.end.rows,
            metrics=metrics,
            committed=self.end.committed,
            path=self.end.path,
            work=FileWork(rewritten=files, applied_by_source_only=self.declares_least),
        )

    def close(self) -> None:
        pass


CASE = merge_case(f"{UPDATE} {ONE}", target=FILES, source=SOURCE)
EVALUATED = evaluate(CASE)
assert isinstance(EVALUATED.answer, Prediction)
assert EVALUATED.least is not None
LEAST, MOST = Engine(EVALUATED.least, declares_least=True), Engine(EVALUATED.answer, declares_least=False)


def verdict(engine: Engine) -> Verdict:
    return Checker(engine=engine).check_case(CASE).verdict


def test_an_engine_is_held_to_the_end_that_it_declares() -> None:
    assert [verdict(engine) for engine in (LEAST, MOST)] == [Verdict.AGREE, Verdict.AGREE]
    for wrong in (replace(LEAST, declares_least=False), replace(MOST, declares_least=True)):
        assert verdict(wrong) is Verdict.MISMATCH


@pytest.mark.parametrize("metric", [name for name, bound in EVALUATED.least.metrics.items() if bound.exact])
@pytest.mark.parametrize("by", [-1, 1])
def test_every_wrong_metric_is_found_at_the_lower_end_too(metric: str, by: int) -> None:
    """No number between the two ends is taken for right."""
    assert verdict(replace(LEAST, metric=metric, by=by)) is Verdict.MISMATCH


COPIED = "numTargetRowsCopied"


def expecting(value: int) -> Case:
    return replace(CASE, expect=Expectation(metrics={COPIED: value}))


def test_what_an_author_expects_of_delta_lake_is_expected_of_the_lower_end_in_its_terms() -> None:
    """Delta's own number is the upper end; any other number that an author writes stays as it is."""
    most, least = (end.metrics[COPIED].low for end in (MOST.end, LEAST.end))
    assert most != least

    def verdicts(engine: Engine) -> list[Verdict]:
        return [Checker(engine=engine).check_case(expecting(value)).verdict for value in (most, least, most + 1)]

    assert verdicts(MOST) == [Verdict.AGREE, Verdict.MISMATCH, Verdict.MISMATCH]
    assert verdicts(LEAST) == [Verdict.AGREE, Verdict.AGREE, Verdict.MISMATCH]
