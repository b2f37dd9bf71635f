"""Variants without Spark: names, domains, selection, judgement, bisection, counts."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from variant_cases import AXES, INSERT, REFERENCE, SCHEMA, SPARKS, UPSERT

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.verbs.variants.variants import exit_code
from mergecheck.harness.engine import Capabilities, ConfigurableEngine, Recorded
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.oracles.reference_engine import ReferenceAsEngine
from mergecheck.harness.oracles.transformations.domains import AMBIGUOUS
from mergecheck.harness.search.batching import batch_of
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.harness.search.stream import Drawn
from mergecheck.harness.variants.bisect import bisect
from mergecheck.harness.variants.judge import Ending, VariantChecker
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.variants.variant import VARIANT_SETTING
from mergecheck.harness.variants.variants_run import VariantRun
from mergecheck.harness.variants.variants_text import doubt_lines, finding_report, run_document, summary_lines
from mergecheck.harness.verdict import Check, EngineDownError, ExitCode, UserInputError, Verdict
from mergecheck.model.case import Case, Source
from mergecheck.model.case_file import load_cases
from mergecheck.model.case_id import with_content_id
from mergecheck.model.outcome import Outcome, Prediction, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mergecheck.model.outcome import EngineResult


PLAN = """== Physical Plan ==
* SortMergeJoin Inner (2)
+- Scan parquet  (1)


(1) Scan parquet
Batched: true
"""


class Predicting:
    """An engine that repeats the reference's answer, changed by a function under some settings."""

    name = "predicting"
    version = "1"
    capabilities = Capabilities(axes=SPARKS)

    def __init__(self, wrong: Callable[[Case, Outcome], EngineResult] = lambda _, outcome: outcome) -> None:
        self._wrong = wrong
        self.num_runs = 0
        self.ran: list[Case] = []

    def run(self, case: Case) -> EngineResult:
        self.num_runs += 1
        self.ran.append(case)
        known = ("spark.databricks.delta.merge.",)
        asked = replace(case, conf={name: value for name, value in case.conf.items() if name.startswith(known)})
        answer = REFERENCE.evaluate(asked).answer
        if not isinstance(answer, Prediction):
            return answer
        metrics = {name: bound.low for name, bound in answer.metrics.items()}
        outcome = Outcome(
            schema=answer.schema,
            rows=answer.rows,
            metrics=metrics,
            cdf=answer.cdf,
            committed=answer.committed,
            path=answer.path,
        )
        return self._wrong(case, outcome)

    def run_recorded(self, case: Case) -> Recorded:
        return Recorded(result=self.run(case), plans=(PLAN,))

    def close(self) -> None:
        pass


def losing_a_row(*settings: tuple[str, str]) -> Callable[[Case, Outcome], EngineResult]:
    """Lose a row where the case has all of the settings."""

    def wrong(case: Case, outcome: Outcome) -> EngineResult:
        if all(case.conf.get(name) == value for name, value in settings):
            return replace(outcome, rows=outcome.rows[1:])
        return outcome

    return wrong


ADAPTIVE = ("spark.sql.adaptive.enabled", "true")
FIVE = ("spark.sql.shuffle.partitions", "5")


def running(engine: ConfigurableEngine, *names: str, findings: FindingsDirectory | None = None) -> VariantRun:
    return VariantRun(
        VariantChecker(engine),
        findings=findings,
        only=tuple(AXES.named(name) for name in names),
        limits=ShrinkLimits(max_seconds=20, max_runs=40),
    )


def test_an_engine_that_is_right_agrees_everywhere() -> None:
    """Layouts change metrics as the rules allow, and nothing else."""
    run = running(Predicting())
    run.run([Drawn(index=4, case=UPSERT), Drawn(index=0, case=INSERT), Drawn(index=9, case=INSERT)])
    assert run.found == []
    assert run.counts.endings[Ending.DIFFERENT] == 0
    assert run.counts.endings[Ending.EXEMPT] > 0
    assert run.counts.rules["R-541"] > 0


def test_the_insert_only_path_never_checks_and_the_classic_one_does() -> None:
    """R-320: the toggle is not semantics-preserving, and the reference predicts where."""
    source = Source(schema=SCHEMA, rows=((1, "x"), (1, "y")))
    run = running(Predicting(), "insert-only=off")
    run.run([replace(INSERT, source=source)])
    assert (run.found, run.counts.rules["R-320"]) == ([], 1)

    def never(case: Case, outcome: Outcome) -> EngineResult:
        return (
            Rejection(error_class=AMBIGUOUS, message="", unchanged=True) if len(case.conf) > len(AXES.base) else outcome
        )

    spurious = running(Predicting(never), "insert-only=off")
    spurious.run([INSERT])
    assert [f.fingerprint.kind for f in spurious.found] == ["spurious_error"]


def test_copied_rows_may_change_only_as_the_reference_says() -> None:
    """An exemption is no licence: exempt observables are compared with the reference."""

    def wrong(case: Case, outcome: Outcome) -> EngineResult:
        extra = len(case.target.files) == 1
        return replace(
            outcome, metrics={**outcome.metrics, "numTargetRowsCopied": outcome.metrics["numTargetRowsCopied"] + extra}
        )

    run = running(Predicting(wrong), "files=one")
    run.run([UPSERT])
    assert [f.fingerprint.kind for f in run.found] == ["numTargetRowsCopied"]


def test_a_difference_is_bisected_to_its_axis() -> None:
    """Of five axes, the one that the fault hangs on."""
    run = running(Predicting(losing_a_row(ADAPTIVE)), "aqe=on,codegen=expressions,partitions=2,files=one,row-groups=2")
    run.run([UPSERT])
    assert [f.variant and f.variant.lines() for f in run.found] == [("axis aqe: off -> on",)]


def test_a_fault_of_two_axes_is_bisected_to_both() -> None:
    """Neither alone flips the outcome."""
    run = running(Predicting(losing_a_row(ADAPTIVE, FIVE)), "aqe=on,codegen=expressions,partitions=5,files=one")
    run.run([UPSERT])
    assert [f.variant and f.variant.name for f in run.found] == ["aqe=on,partitions=5"]


@pytest.mark.parametrize("number", range(1, 32))
def test_bisect_finds_any_set_of_axes(number: int) -> None:
    """The smallest set, whichever of five it is, without asking a set twice."""
    variant = AXES.named("aqe=on,codegen=expressions,partitions=2,files=one,row-groups=2")
    wanted = {str(c) for i, c in enumerate(variant.values) if number >> i & 1}
    asked: list[str] = []

    def flips(candidate: object) -> bool:
        name = str(getattr(candidate, "name", ""))
        asked.append(name)
        return wanted <= set(name.split(","))

    assert set(bisect(variant, flips).name.split(",")) == wanted
    assert len(asked) == len(set(asked))


def test_a_finding_is_kept_shrunk_and_replayed_by_its_variant(tmp_path: Path) -> None:
    """The case file names the variant; the same verb runs it again, and no other variant."""
    store = FindingsDirectory(tmp_path)
    engine = Predicting(losing_a_row(ADAPTIVE))
    run = running(engine, "aqe=on,codegen=expressions", findings=store)
    run.run([UPSERT])
    (found,) = run.found
    assert found.path is not None
    (saved,) = load_cases(found.path)
    assert saved.conf[VARIANT_SETTING] == "aqe=on"
    assert len(saved.target.rows) < len(UPSERT.target.rows)
    assert "axis aqe: off -> on" in finding_report(found, path=found.path)
    again = running(engine)
    again.run([saved])
    assert [f.variant and f.variant.name for f in again.found] == ["aqe=on"]
    assert again.counts.num_variants == 1


def test_a_saved_case_runs_under_its_variant_wherever_it_is_checked() -> None:
    """``replay``, ``run`` and the pytest plugin see the difference that the verb ``variants`` saw."""
    saved = replace(UPSERT, conf={VARIANT_SETTING: "aqe=on"})
    wrong = check_saved(saved, Checker(engine=Predicting(losing_a_row(ADAPTIVE))))
    assert (wrong.verdict, wrong.case) == (Verdict.MISMATCH, saved)
    assert {mismatch.against for mismatch in wrong.mismatches} == {"base", "reference", "itself"}
    right = check_saved(saved, Checker(engine=Predicting(losing_a_row(FIVE))))
    assert (right.verdict, right.case) == (Verdict.AGREE, saved)
    base = check_saved(saved, Checker(engine=Predicting(losing_a_row())))
    assert base.verdict is Verdict.MISMATCH
    assert "base" not in {mismatch.against for mismatch in base.mismatches}


def test_check_narrows_a_saved_case_of_a_variant_too() -> None:
    """Of the base and of the variant only the requested checks count; the rest is not checked."""
    saved = replace(UPSERT, conf={VARIANT_SETTING: "aqe=on"})
    for losing in (losing_a_row(ADAPTIVE), losing_a_row()):
        checker = Checker(engine=Predicting(losing), checks=frozenset({Check.SCHEMA}))
        report = check_saved(saved, checker)
        assert (report.verdict, report.mismatches) == (Verdict.AGREE, ())
        assert Check.ROWS in report.unsupported_checks
        narrowed = check_saved(saved, replace(checker, checks=frozenset({Check.ROWS})))
        assert {mismatch.check for mismatch in narrowed.mismatches} == {Check.ROWS}


def test_a_saved_case_that_its_variant_cannot_be_asked_about_is_unsupported() -> None:
    """An engine without settings, and a case that is outside the domain; an unknown variant is the user's mistake."""
    saved = replace(UPSERT, conf={VARIANT_SETTING: "aqe=on"})
    elsewhere = check_saved(saved, Checker(engine=ReferenceAsEngine()))
    assert (elsewhere.verdict, elsewhere.reason) == (
        Verdict.UNSUPPORTED,
        "variant aqe=on: reference has no axis aqe",
    )
    outside = replace(UPSERT, conf={VARIANT_SETTING: "insert-only=off"})
    report = check_saved(outside, Checker(engine=Predicting()))
    assert (report.verdict, report.reason) == (
        Verdict.UNSUPPORTED,
        "variant insert-only=off: the case is outside its domain",
    )
    with pytest.raises(UserInputError, match="no variant 'aqe=half'"):
        check_saved(replace(UPSERT, conf={VARIANT_SETTING: "aqe=half"}), Checker(engine=Predicting()))


def test_a_difference_that_does_not_come_back_is_no_finding(tmp_path: Path) -> None:
    """A finding counts after a second identical outcome only; the case is set aside with its variant."""
    seen: list[Case] = []

    def once(case: Case, outcome: Outcome) -> EngineResult:
        if case.conf.get(ADAPTIVE[0]) == "true" and not seen:
            seen.append(case)
            return replace(outcome, rows=())
        return outcome

    run = running(Predicting(once), "aqe=on", findings=FindingsDirectory(tmp_path))
    run.run([UPSERT])
    assert (run.found, run.counts.num_flaky) == ([], 1)
    (kept,) = (tmp_path / "flaky").glob("*.json")
    assert load_cases(kept)[0].conf == {VARIANT_SETTING: "aqe=on"}
    assert "which a second execution did not show" in kept.with_suffix(".report.txt").read_text()


def test_a_base_that_differs_from_the_reference_is_a_finding_of_its_own() -> None:
    """And no variant is held against it."""
    engine = Predicting(losing_a_row())
    run = running(engine, "aqe=on")
    run.run([UPSERT])
    assert [f.variant for f in run.found] == [None]
    assert (run.counts.num_variants, run.counts.bases[Verdict.MISMATCH]) == (0, 1)


@pytest.mark.parametrize("settings", [(), (ADAPTIVE,)], ids=["base", "variant"])
def test_an_interrupt_while_shrinking_keeps_the_finding(tmp_path: Path, settings: tuple[tuple[str, str], ...]) -> None:
    """A confirmed difference is not lost to an impatient user, and the run ends."""
    wrong = losing_a_row(*settings)

    def interrupted(case: Case, outcome: Outcome) -> EngineResult:
        if len(case.sql) < len(UPSERT.sql):  # the first smaller candidate
            raise KeyboardInterrupt
        return wrong(case, outcome)

    engine = Predicting(interrupted)
    run = running(engine, "aqe=on", findings=FindingsDirectory(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        run.run([UPSERT, INSERT])
    (found,) = run.found
    assert (found.cut_short, found.path is not None and found.path.exists()) == (True, True)
    assert sum(len(case.sql) < len(UPSERT.sql) for case in engine.ran) == 1


def batched_run(wrong: Callable[[Case, Outcome], EngineResult], findings: FindingsDirectory | None) -> VariantRun:
    return VariantRun(
        VariantChecker(Predicting(wrong)),
        findings=findings,
        only=(AXES.named("aqe=on,partitions=5"),),
        limits=ShrinkLimits(max_seconds=0, max_runs=0),
    )


def a_batch() -> Drawn:
    batch = batch_of(UPSERT, Random(7), size=6, evaluate=REFERENCE.evaluate)
    assert batch is not None
    return Drawn(index=7, case=with_content_id(batch.case), singles=batch.singles)


def test_a_difference_in_a_batch_is_looked_for_in_its_pairs(tmp_path: Path) -> None:
    """A pair alone, where it shows; the counts give the number of pairs, and a given case stays alone."""
    run = batched_run(losing_a_row(ADAPTIVE), FindingsDirectory(tmp_path))
    run.run([a_batch()])
    assert [f.variant and f.variant.name for f in run.found] == ["aqe=on"]
    assert PAIR not in run.found[0].report.case.sql
    assert (run.counts.num_cases, run.counts.num_batched, run.counts.num_variants) == (1, 6, 1)
    lines = summary_lines(run.counts)
    assert "6 pairs of tables in batches, each batch one case; 6 comparisons of a pair with its base" in lines
    run.run([UPSERT])
    assert (run.counts.num_cases, run.counts.num_batched) == (2, 6)


def test_a_difference_that_only_a_batch_shows_is_the_batch_itself(tmp_path: Path) -> None:
    """Some faults need many rows."""

    def wrong(case: Case, outcome: Outcome) -> EngineResult:
        return losing_a_row(ADAPTIVE)(case, outcome) if PAIR in case.sql else outcome

    run = batched_run(wrong, FindingsDirectory(tmp_path))
    run.run([a_batch()])
    assert [PAIR in f.report.case.sql for f in run.found] == [True]


def test_a_batch_that_the_engine_refuses_is_checked_as_the_case_that_it_is_made_of() -> None:
    """The column that keeps the pairs apart may be too much for an engine of equalities."""

    def refusing(case: Case, outcome: Outcome) -> EngineResult:
        return Unsupported("ON with two parts") if PAIR in case.sql else outcome

    run = batched_run(refusing, None)
    run.run([a_batch()] * 2)
    assert (run.counts.num_cases, run.counts.num_batched, run.counts.num_variants) == (2, 0, 2)
    assert run.takes_batches
    run.run([a_batch()])
    assert not run.takes_batches


def test_of_a_batch_that_the_engine_refuses_a_part_is_checked() -> None:
    """A value that only some pairs have may be too much for it."""

    def refusing(case: Case, outcome: Outcome) -> EngineResult:
        return Unsupported("so many rows") if len(case.target.rows) > 12 else outcome

    run = batched_run(refusing, None)
    batch = a_batch()
    assert len(batch.case.target.rows) > 12
    run.run([batch])
    assert (run.counts.num_cases, run.counts.num_batched) == (1, 3)
    assert run.takes_batches


def test_a_base_that_differs_in_a_batch_is_looked_for_in_its_pairs() -> None:
    """As a difference of a variant is."""
    run = batched_run(losing_a_row(), None)
    run.run([a_batch()])
    assert [(f.variant, PAIR in f.report.case.sql) for f in run.found] == [(None, False)]
    assert run.counts.num_variants == 0


def test_an_engine_that_cannot_or_is_down_is_counted() -> None:
    """Neither is silent, and neither is a difference."""

    def cannot(case: Case, outcome: Outcome) -> EngineResult:
        if case.conf.get("spark.sql.shuffle.partitions") == "5":
            raise EngineDownError("gone")
        return Unsupported("setting") if case.conf.get(ADAPTIVE[0]) == "true" else outcome

    run = running(Predicting(cannot), "aqe=on", "partitions=5")
    run.run([UPSERT])
    assert (run.counts.endings[Ending.UNSUPPORTED], run.counts.endings[Ending.ENGINE_ERROR]) == (1, 1)


def test_a_plan_that_never_appears_is_said() -> None:
    """A path that was asked for and never executed is not covered."""
    run = running(Predicting(), "join=broadcast", "codegen=whole-stage")
    run.run([UPSERT])
    assert [str(axis_value) for axis_value in run.counts.unseen()] == ["join=broadcast"]
    assert run.counts.missing(["SortMergeJoin", "CartesianProduct"]) == ("CartesianProduct",)
    lines = doubt_lines(run.counts, required=["CartesianProduct"])
    assert "inconclusive: join=broadcast ran 1 times, no plan showed BroadcastHashJoin" in lines
    assert "inconclusive: no plan of the run showed CartesianProduct (--require-plan)" in lines
    document = run_document(run.counts, run.found, required=[])
    assert document["not_executed"] == ["join=broadcast"]


@pytest.mark.parametrize(
    ("wrong", "names", "required", "code"),
    [
        (losing_a_row(FIVE), ("codegen=whole-stage",), (), ExitCode.AGREE),
        (losing_a_row(FIVE), ("codegen=whole-stage",), ("SortMergeJoin",), ExitCode.AGREE),
        (losing_a_row(FIVE), ("codegen=whole-stage",), ("CartesianProduct",), ExitCode.INCONCLUSIVE),
        (losing_a_row(FIVE), ("join=broadcast",), (), ExitCode.INCONCLUSIVE),
        (losing_a_row(FIVE), ("insert-only=off",), (), ExitCode.INCONCLUSIVE),
        (losing_a_row(ADAPTIVE), ("aqe=on",), (), ExitCode.MISMATCH),
        (losing_a_row(), ("aqe=on",), (), ExitCode.MISMATCH),
    ],
)
def test_exit_codes(
    wrong: Callable[[Case, Outcome], EngineResult], names: tuple[str, ...], required: tuple[str, ...], code: ExitCode
) -> None:
    """A plan that was never seen, or no variant at all, is never green."""
    run = running(Predicting(wrong), *names)
    run.run([UPSERT])
    assert exit_code(run, required=required) is code
