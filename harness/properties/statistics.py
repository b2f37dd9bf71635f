"""The numbers of a run: verdicts of all its cases, and the coverage of the semantics."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.harness.properties.case_space import CaseSpace, possible_pairs
from mergecheck.harness.verdict import Verdict
from mergecheck.model.formatting import counted
from mergecheck.model.outcome import MergePath, Outcome, Rejection
from mergecheck.model.work_counts import WorkCounts
from mergecheck.reference.doubts import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.verdict import CaseReport

CLAUSES = (
    ("matched", "update"),
    ("matched", "delete"),
    ("not matched", "insert"),
    ("not matched by source", "update"),
    ("not matched by source", "delete"),
)
_MOST_MISSING = 3
_PREDICTION = "the prediction"
_PATHS = (MergePath.A, MergePath.B, MergePath.C, MergePath.D)


def shown_paths(counts: Mapping[MergePath, int]) -> tuple[MergePath, ...]:
    """List the paths that a report shows: the path of deletion vectors only if a case took it."""
    return (*_PATHS, MergePath.E) if counts.get(MergePath.E) else _PATHS


class Stop(Enum):
    """Why a run ended."""

    RUNNING = "running"
    BUDGET = "budget spent"
    FINDINGS = "enough findings"
    EXHAUSTED = "no new case left to draw"
    END = "end of the range"
    ENGINE_DOWN = "engine down"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class SeenWork:
    """The work of the merges of a run whose rows are right.

    Attributes:
        counts: of those whose work is known.
        unknown: the others, by the reason.
    """

    counts: WorkCounts = field(default_factory=WorkCounts)
    unknown: Counter[str] = field(default_factory=Counter)

    def plus(self, report: CaseReport) -> SeenWork:
        """Add the work of one more merge."""
        counts = self.counts if report.work is None else self.counts.plus(report.work)
        return SeenWork(counts, self.unknown + Counter([report.work_unknown] if report.work_unknown else []))

    def lines(self) -> tuple[str, ...]:
        """Format the work that was in vain, and why it is not known of other merges; nothing without any merge."""
        counts = self.counts
        known = [f"work: {counts.line()}; of {counted(counts.merges, 'merge')}"] if counts.merges else []
        unknown = (f"work not known in {counted(n, 'merge')}: {reason}" for reason, n in self.unknown.most_common())
        return (*known, *unknown)


@dataclass(slots=True, kw_only=True)
class Counts:
    """The tests of a run so far, in numbers of statements: a batch of many pairs of tables is one case.

    Attributes:
        num_cases: distinct cases checked; runs for confirming and shrinking are not counted.
        num_pairs: pairs of a target and a source in the cases that were judged, one in each that is no batch.
        num_batches: judged cases that are batches.
        num_batched: pairs in these batches.
        num_failing_pairs: pairs that no batch has because their merge fails; a few of them were checked alone.
        num_pairs_left_out: pairs that no batch has because they were not separated from these in time.
        num_repeated: draws that gave a case checked before in this run; they were not checked again.
        num_passed_over: draws that were left out in favour of one that reached more of the case space (``--steer``).
        num_by_spark: judged cases in which Spark evaluated an expression or the source query for the reference.
        num_partly: judged cases with values that cannot be predicted, of which only the form is judged.
        num_flaky: mismatches that a second execution did not show.
        num_defects: cases that the reference failed on; their verdict is ``engine_error``.
        verdicts: by verdict; flaky cases are counted apart.
        unsupported: unsupported cases by reason.
        in_part: cases judged in part, by reason; they count as not verified.
        left_out: cases judged in part, by the observable that is not predicted.
        rejected: cases that both sides reject, by the engine's error class.
        num_changed: verified cases in which a row was inserted, updated or deleted.
        num_idle: verified cases in which no clause fired.
        num_multi_matched: cases in which several source rows match one target row.
        space: the cells of the case space that some case reached.
        clauses_present: by (kind, action) of their clauses. clauses_fired: those whose clause fired on a row.
        paths: by execution path (R-402).
        rules: by the number of the rule of the specification that they reached.
        findings: mismatching cases by finding id, the finding itself included.
        deviations: mismatching cases by the id of the known deviation that explains them.
        num_deviating: mismatching cases that known deviations explain; they are neither findings nor verified.
        deviating_weight: the same, but a batch counts as the share of its pairs that differ.
        not_checked: by the check that was not made, or not in full, because the engine does not report its observable.
        not_checked_metrics: by the metric that was not compared, although others were.
        num_merges: cases in which the engine's merge succeeded.
        engine_paths: those that took a way inside the engine, by the engine's own name (``Outcome.paths``).
        work: the work of merges whose rows are right, and how much of it was in vain.
        phase_seconds: by phase, see ``coverage.phases``.
    """

    num_cases: int = 0
    num_pairs: int = 0
    num_batches: int = 0
    num_batched: int = 0
    num_failing_pairs: int = 0
    num_pairs_left_out: int = 0
    num_repeated: int = 0
    num_passed_over: int = 0
    num_by_spark: int = 0
    num_partly: int = 0
    num_flaky: int = 0
    num_defects: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    in_part: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    num_changed: int = 0
    num_idle: int = 0
    num_multi_matched: int = 0
    space: CaseSpace = field(default_factory=CaseSpace)
    clauses_present: Counter[tuple[str, str]] = field(default_factory=Counter)
    clauses_fired: Counter[tuple[str, str]] = field(default_factory=Counter)
    paths: Counter[MergePath] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    deviations: Counter[str] = field(default_factory=Counter)
    num_deviating: int = 0
    deviating_weight: float = 0.0
    not_checked: Counter[str] = field(default_factory=Counter)
    not_checked_metrics: Counter[str] = field(default_factory=Counter)
    num_merges: int = 0
    engine_paths: Counter[str] = field(default_factory=Counter)
    work: SeenWork = field(default_factory=SeenWork)
    phase_seconds: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def num_verified(self) -> int:
        """Cases whose every supported check agrees."""
        return self.verdicts[Verdict.AGREE]

    @property
    def verified_share(self) -> float:
        """Verified cases among all that do not deviate in a known way; 0 if there are none."""
        num_cases = self.num_cases - self.num_deviating
        return self.num_verified / num_cases if num_cases else 0.0

    @property
    def deviating_share(self) -> float:
        """Cases that show a known deviation, among all, a batch by its pairs; 0 if there are none."""
        return self.deviating_weight / self.num_cases if self.num_cases else 0.0

    @property
    def changed_share(self) -> float:
        """Verified cases with a changed row among all verified ones; 0 if there are none."""
        return self.num_changed / self.num_verified if self.num_verified else 0.0

    def add(self, report: CaseReport, *, num_pairs: int = 1, num_deviating_pairs: int = 0) -> None:
        """Count one case.

        Args:
            report: its check.
            num_pairs: pairs of tables in it.
            num_deviating_pairs: those that differ, if it is a batch with a known deviation; 0 for all.
        """
        self.num_cases += 1
        if report.is_judged:
            self.num_pairs += num_pairs
            self.num_batches += num_pairs > 1
            self.num_batched += num_pairs if num_pairs > 1 else 0
        self.verdicts[report.verdict] += 1
        self.num_defects += report.is_defect
        self.add_time(report.phase_seconds)
        if report.verdict is Verdict.UNSUPPORTED:
            self.unsupported[report.reason or "no reason given"] += 1
        if report.verdict is Verdict.JUDGED_IN_PART:
            self.in_part[report.reason] += 1
            self.left_out.update({kind_of(name) for name in report.reference.left_out} or {_PREDICTION})
        if report.verdict is Verdict.BOTH_REJECTED and isinstance(report.result, Rejection):
            self.rejected[report.result.error_class] += 1
        self.deviations.update(report.deviations)
        if report.deviations:
            self.num_deviating += 1
            self.deviating_weight += (num_deviating_pairs or num_pairs) / num_pairs
        self.not_checked.update(check.value for check in report.unsupported_checks)
        self.not_checked_metrics.update(report.unsupported_metrics)
        if isinstance(report.result, Outcome):
            self.num_merges += 1
            self.engine_paths.update(name for name, number in report.result.paths.items() if number)
        self.work = self.work.plus(report)
        if not report.is_judged:
            return
        self.num_by_spark += bool(report.reference.asked)
        self.num_partly += bool(report.unknown_columns)
        facts = report.facts
        self.num_changed += report.verdict is Verdict.AGREE and facts.num_changed_rows > 0
        self.num_idle += report.verdict is Verdict.AGREE and not facts.clauses_applied
        self.space.add(report)
        self.num_multi_matched += facts.multi_matched
        self.rules.update(facts.rules)
        self.clauses_present.update(_spelled(facts.clauses_present))
        self.clauses_fired.update(_spelled(facts.clauses_applied))
        if facts.path is not None:
            self.paths[facts.path] += 1

    def add_time(self, phase_seconds: Mapping[str, float]) -> None:
        """Add the time of a draw or of a check."""
        for phase, seconds in phase_seconds.items():
            self.phase_seconds[phase] = self.phase_seconds.get(phase, 0.0) + seconds

    @property
    def num_engine_failures(self) -> int:
        """Cases on which the engine failed, or its adapter."""
        return self.verdicts[Verdict.ENGINE_ERROR] - self.num_defects

    def add_flaky(self) -> None:
        """Move the last mismatch to the flaky ones: it did not show again."""
        self.verdicts[Verdict.MISMATCH] -= 1
        self.num_flaky += 1

    def copy(self) -> Counts:
        """Return the counts of this moment, which later cases leave alone."""
        return replace(self, **{each.name: copy.copy(getattr(self, each.name)) for each in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The state of a run at one moment.

    Attributes:
        seconds: since the run began.
        batch_size: pairs of tables of a batch (``--batch``).
    """

    seed: int
    stop: Stop
    seconds: float
    counts: Counts
    batch_size: int = 1


def denominator_line(summary: Summary, *, with_reasons: bool = True) -> str:
    """Format the verdicts of all cases on one line.

    Args:
        summary: the counts.
        with_reasons: also name error classes, reasons and deviations, and what was judged in another way than usual.
    """
    counts = summary.counts

    def part(name: str, number: int, reasons: Counter[str] | None = None) -> str:
        return f"{name} {number}{_in_brackets(reasons) if reasons and with_reasons else ''}"

    parts = [
        f"verified {counts.num_verified} ({counts.verified_share:.0%})",
        part("both rejected", counts.verdicts[Verdict.BOTH_REJECTED], counts.rejected),
        *([part("judged in part", counts.in_part.total(), counts.in_part)] if counts.in_part else []),
        *([f"left out there{_in_brackets(counts.left_out)}"] if counts.in_part and with_reasons else []),
        part("unsupported", counts.verdicts[Verdict.UNSUPPORTED], counts.unsupported),
        *([part("deviates", counts.num_deviating, counts.deviations)] if counts.num_deviating else []),
        f"mismatch {counts.verdicts[Verdict.MISMATCH] - counts.num_deviating}",
        f"flaky {counts.num_flaky}",
        f"engine down {counts.num_engine_failures}",
        *([f"harness bug {counts.num_defects}"] if counts.num_defects else []),
        *([f"expressions by Spark {counts.num_by_spark}"] if counts.num_by_spark and with_reasons else []),
        *([f"partly judged {counts.num_partly}"] if counts.num_partly and with_reasons else []),
    ]
    return "  ".join(parts)


def paths_line(summary: Summary) -> str:
    """Format how many merges took each way inside the engine, such as ``low_shuffle ran in 212 of 400 merges``."""
    counts = summary.counts
    ran = ", ".join(f"{name} ran in {number}" for name, number in counts.engine_paths.most_common())
    return f"paths: {ran} of {counted(counts.num_merges, 'merge')}"


def not_checked_line(summary: Summary) -> str:
    """List the checks that were not made, or not in full, because the engine does not report enough, and how often."""
    return "not checked: " + ", ".join(f"{check} {n}" for check, n in summary.counts.not_checked.most_common())


def coverage_lines(summary: Summary) -> tuple[str, ...]:
    """List the clause kinds and execution paths (R-402) that the cases reached."""
    width = max(len(f"{kind} {action}") for kind, action in CLAUSES)
    lines = [f"{'clause':<{width}}  {'present':>7}  {'fired':>7}"]
    for key in CLAUSES:
        present, fired = summary.counts.clauses_present[key], summary.counts.clauses_fired[key]
        lines.append(f"{' '.join(key):<{width}}  {present:>7}  {fired:>7}" + ("" if fired else "   never fired"))
    lines.append(
        "paths   "
        + "   ".join(f"{path.value} {summary.counts.paths[path]}" for path in shown_paths(summary.counts.paths))
    )
    return tuple(lines)


def size_line(summary: Summary) -> str:
    """Format how much a run has checked: cases, or statements and pairs of tables if some are batches."""
    counts, seconds = summary.counts, summary.seconds
    if not counts.num_batches:
        return f"{counted(counts.num_cases, 'case')} in {seconds:.0f} s"
    per_second = counts.num_pairs / seconds if seconds else 0.0
    return (
        f"{counted(counts.num_cases, 'statement')}, {counted(counts.num_pairs, 'pair')} of tables in {seconds:.0f} s, "
        f"{per_second:.0f} pairs a second"
    )


def batch_line(summary: Summary) -> str:
    """Format how many statements had many pairs of tables, and how many one; and the pairs drawn for no batch."""
    counts = summary.counts
    outside = [
        *([f"{counted(counts.num_failing_pairs, 'pair')} whose merge fails"] if counts.num_failing_pairs else []),
        *([f"{counts.num_pairs_left_out} not separated in time"] if counts.num_pairs_left_out else []),
    ]
    return (
        f"{counted(counts.num_batches, 'statement')} with {counted(counts.num_batched, 'pair')} of tables together, "
        f"{counted(counts.num_pairs - counts.num_batched, 'statement')} with one pair"
        + (f"; in no batch: {', '.join(outside)}" if outside else "")
    )


def space_line(summary: Summary) -> str:
    """Format how much of the case space was reached, and which pairs of values never occurred together."""
    possible, space = possible_pairs(), summary.counts.space
    missing = [pair for pair in possible if pair not in space.pairs]
    shown = "; ".join(" and ".join(pair) for pair in missing[:_MOST_MISSING])
    more = f" and {len(missing) - _MOST_MISSING} more" if len(missing) > _MOST_MISSING else ""
    never = f"; never together: {shown}{more}" if missing else ""
    reached = len(possible) - len(missing)
    return f"case space: {len(space.cells)} cells, {reached} of {len(possible)} pairs of values{never}"


def _in_brackets(counts: Counter[str]) -> str:
    named = ", ".join(f"{name} {n}" for name, n in _most(counts, 3))
    return f" ({named})" if named else ""


def _most(counts: Counter[str], limit: int) -> list[tuple[str, int]]:
    most = counts.most_common()
    rest = sum(n for _, n in most[limit:])
    return most[:limit] + ([("other", rest)] if rest else [])


def _spelled(clauses: frozenset[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(kind.replace("_", " ").lower(), action.lower()) for kind, action in clauses]
