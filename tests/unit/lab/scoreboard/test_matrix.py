"""The matrix: one stream on several engines; a fault shows in its row and nowhere else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.cli.output.terminal import show_table
from mergecheck.harness.cli.verbs.matrix import exit_code
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.lab.scoreboard.features import FEATURES, features_of
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer, MatrixRun
from mergecheck.harness.lab.scoreboard.scoreboard_text import (
    cell_text,
    markdown,
    matrix_json,
    rich_table,
    summary_lines,
)
from mergecheck.harness.verdict import EngineDownError, ExitCode
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature, Profile, samples

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mergecheck.harness.lab.scoreboard.scoreboard_run import Matrix
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult
    from mergecheck.strategies import DrawnCase

_NUM_CASES = 40
_REFERENCE = MergeReference()


class Echo:
    """Repeats the reference's answer."""

    name = "echo"
    version = "1.0"
    capabilities = Capabilities(metrics=False, reasons={"metrics": "echo counts nothing"})

    def run(self, case: Case) -> EngineResult:
        answer = _REFERENCE.evaluate(case).answer
        if isinstance(answer, Prediction):
            return Outcome(
                schema=answer.schema, rows=self.rows(case, answer), cdf=answer.cdf, committed=answer.committed
            )
        return answer

    def rows(self, case: Case, answer: Prediction) -> tuple[tuple[object, ...], ...]:  # noqa: ARG002 - for others
        return answer.rows

    def close(self) -> None:
        """Hold nothing."""


class Faulty(Echo):
    """Forgets a row of every self-merge, and takes no decimals."""

    name = "faulty"

    def run(self, case: Case) -> EngineResult:
        if "DECIMAL" in case.target.schema.ddl():
            return Unsupported("decimals")
        return super().run(case)

    def rows(self, case: Case, answer: Prediction) -> tuple[tuple[object, ...], ...]:
        return answer.rows[1:] if case.source is None else answer.rows


class Dying(Echo):
    """Is gone after a few cases."""

    name = "dying"

    def __init__(self) -> None:
        self._left = 4

    def run(self, case: Case) -> EngineResult:
        self._left -= 1
        if self._left < 0:
            raise EngineDownError("gone")
        return super().run(case)


def _self_merges() -> Iterator[DrawnCase]:
    """Draw self-merges that leave rows, so that the fault shows."""
    for drawn in samples(3, profile=Profile().favouring(Feature.SELF_MERGE)):
        answer = _REFERENCE.evaluate(drawn.case).answer
        takes_it = drawn.case.source is None and "DECIMAL" not in drawn.case.target.schema.ddl()
        if takes_it and isinstance(answer, Prediction) and answer.rows:
            yield drawn


def _run(folder: Path, *engines: Echo, cases: int = _NUM_CASES) -> Matrix:
    stream = [*islice(_self_merges(), 2), *islice(samples(4), cases - 2)]
    run = MatrixRun(
        engines, deviations=Deviations(), findings=FindingsDirectory(folder), reference=lambda _: _REFERENCE.evaluate
    )
    return run.run(((drawn.case, drawn.features) for drawn in stream), seed=4, max_cases=cases, max_seconds=None)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return _run(tmp_path_factory.mktemp("findings"), Echo(), Faulty(), Dying())


def test_every_engine_runs_every_case_and_none_is_lost(result: Matrix) -> None:
    echo, faulty, _ = result.columns
    assert result.num_cases == _NUM_CASES
    assert echo.totals.total() == faulty.totals.total() == _NUM_CASES
    assert set(echo.totals) <= {Answer.AGREE, Answer.UNSUPPORTED}


def test_a_fault_shows_in_its_row(result: Matrix) -> None:
    _, faulty, _ = result.columns
    assert faulty.cells["source is the target"][Answer.MISMATCH] >= 1
    assert faulty.totals[Answer.MISMATCH] == faulty.cells["source is the target"][Answer.MISMATCH]
    assert faulty.cells["decimals"].keys() <= {Answer.UNSUPPORTED}
    assert any("decimals" in reason for reason in faulty.unsupported)


def test_a_difference_has_a_minimal_case_on_disk(result: Matrix) -> None:
    first = next(difference for difference in result.differences if difference.engine == "faulty")
    assert first.path is not None
    assert first.path.is_file()
    assert len(first.report.case.target.rows) <= 2
    assert any(vote.odd == ("faulty",) for vote in first.votes)


def test_an_engine_that_goes_down_does_not_stop_the_others(result: Matrix) -> None:
    dying = result.columns[2]
    assert dying.down == "gone"
    assert dying.totals[Answer.ERROR] == 1
    assert dying.totals.total() < _NUM_CASES


def test_exit_codes(result: Matrix, tmp_path: Path) -> None:
    assert exit_code(result) == ExitCode.MISMATCH
    assert exit_code(_run(tmp_path, Echo(), cases=5)) == ExitCode.AGREE
    assert exit_code(_run(tmp_path, Echo(), Dying(), cases=8)) == ExitCode.ENGINE


def test_known_deviations_are_cells_of_their_own(tmp_path: Path) -> None:
    class Known(Deviations):
        def annotated(self, report, capabilities):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202, ARG002
            return replace(report, deviations=("known",)) if report.mismatches else report

    chosen = next(_self_merges()).case
    run = MatrixRun(
        [Faulty()], deviations=Known(), findings=FindingsDirectory(tmp_path), reference=lambda _: _REFERENCE.evaluate
    )
    found = run.run([(chosen, frozenset())], seed=3, max_cases=1, max_seconds=None)
    assert found.columns[0].totals == Counter({Answer.DEVIATES: 1})
    assert exit_code(found) == ExitCode.INCONCLUSIVE  # nothing agreed


def test_text_json_and_markdown_say_the_same(result: Matrix) -> None:
    document = matrix_json(result)
    assert [engine["engine"] for engine in document["engines"]] == ["echo", "faulty", "dying"]
    totals = document["engines"][1]["totals"]
    assert sum(totals.values()) == _NUM_CASES
    page = markdown(result, date="2026-01-01")
    assert f"| all cases | {cell_text(result.columns[0].totals)} |" in page
    assert page.count("\n| ") >= len(FEATURES) + 1
    text = "\n".join(summary_lines(result))
    assert "DOWN  gone" in text
    assert "not checked   metrics" in text
    assert "echo counts nothing" in text
    assert "odd one out: faulty" in text


def test_the_table_is_never_cut(
    result: Matrix, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A number that ends in three dots is no number."""
    monkeypatch.setenv("COLUMNS", "30")
    show_table(rich_table(result))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(FEATURES) + 1  # a heading, the features, all cases
    assert not [line for line in lines if "…" in line]


def test_what_engines_say_is_escaped_in_markdown(tmp_path: Path) -> None:
    class Rude(Echo):
        def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - always the same
            return Rejection(error_class="X", message="<script>alert(1)</script> | `x`", unchanged=True)

    page = markdown(_run(tmp_path, Rude(), cases=3), date="2026-01-01")
    assert "<script>" not in page


def test_a_case_that_must_be_refused_counts_for_its_clauses_and_tables() -> None:
    """The draw gives such cases few labels; the properties are those of the case."""
    sql = "MERGE INTO target t USING source s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (x, x) VALUES (1, 2)"
    case = replace(next(samples(3)).case, sql=sql, conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"})
    found = features_of(case, {"outcome:invalid"})
    assert {"not matched insert", "insert only", "column lists", "schema evolution", "must be refused"} <= set(found)


def test_the_rows_of_the_matrix_are_reached_by_the_stream() -> None:
    missing = set(FEATURES) - {"more than 8,192 rows"}
    for drawn in islice(samples(1), 400):
        missing.difference_update(features_of(drawn.case, drawn.features))
        if not missing:
            break
    assert not missing
