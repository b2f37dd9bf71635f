"""How many random cases it takes to find each fault (Etna's protocol, techniques T27).

Every case of a seed runs once on the right merge, watched. Only the faults that could have made a difference there
are then switched on, one after the other, for a run of their own. Where only faults of the analysis are left, the
right merge goes no further than that. A fault is found by the first case whose verdict is a mismatch. So ten seeds of a
hundred faults cost little more than ten seeds of the right merge.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from mergecheck.harness.deviations.registry import Deviations, load_deviations
from mergecheck.harness.errors import HarnessBugError
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.selfcheck.analysis_only import differing_early, is_early
from mergecheck.harness.selfcheck.fault import two_scans, watched
from mergecheck.harness.verdict import Verdict
from mergecheck.merge.syntax.dialect import parse_expression
from mergecheck.reference import evaluate
from mergecheck.reference.outcome import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.selfcheck.fault import Fault
    from mergecheck.harness.verdict import CaseReport, Check
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Reference

_JUDGED = (Verdict.AGREE, Verdict.BOTH_REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A fault found.

    Attributes:
        num_cases: cases drawn until then, this one included.
        checks: the observables that differed, and ``engine_error`` where the engine's adapter gave up.
        num_runs: how often the fault was run until then.
    """

    num_cases: int
    checks: tuple[str, ...]
    num_runs: int

    @property
    def index(self) -> int:
        """The number of the killing case in its seed."""
        return self.num_cases - 1


@dataclass(slots=True)
class SeedResult:
    """One seed of the whole catalogue.

    Attributes:
        kills: by name of the fault; a fault that is not there survived.
        passed_over: names of faults that were not looked for, because an earlier seed had missed them.
        num_cases: cases drawn.
        num_runs: executions of a faulty merge.
    """

    seed: int
    kills: dict[str, Kill] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    num_cases: int = 0
    num_runs: int = 0
    seconds: float = 0.0


def run_seed(
    faults: Sequence[Fault],
    engine: Engine,
    cases: Iterator[Case],
    *,
    seed: int,
    max_cases: int,
    listener: Callable[[SeedResult], None] = lambda _: None,
) -> SeedResult:
    """Draw cases until every fault is found or the limit is reached.

    Args:
        faults: the catalogue, or a part of it.
        engine: the engine ``pyspark``, whose ``merge`` the faults are planted in.
        cases: the seed's stream.
        seed: its number, for the result.
        max_cases: the limit.
        listener: told after every case.

    Raises:
        HarnessBugError: the right merge disagrees with the reference: find out why before faults are counted.
    """
    result, runs = SeedResult(seed=seed), dict.fromkeys((fault.name for fault in faults), 0)
    started = time.monotonic()
    while len(result.kills) < len(faults) and result.num_cases < max_cases:
        case = next(cases)
        result.num_cases += 1
        answer = evaluate(case)
        left = [f for f in faults if f.name not in result.kills and f.needs(case, answer.facts)]
        for fault in _could_differ_by_scans(case, answer, engine, left):
            runs[fault.name] += 1
            result.num_runs += 1
            checks = killing_checks(_check_with(fault, case, answer, engine))
            if checks:
                result.kills[fault.name] = Kill(
                    num_cases=result.num_cases,
                    checks=checks,
                    num_runs=runs[fault.name],
                )
        result.seconds = time.monotonic() - started
        listener(result)
    return result


def killing_checks(report: CaseReport) -> tuple[str, ...]:
    """Name what a report of a faulty merge shows; nothing where the fault does not show."""
    if report.verdict is Verdict.MISMATCH:
        checks: set[Check] = {mismatch.check for mismatch in report.mismatches if mismatch.against != "itself"}
        laws = {mismatch.kind for mismatch in report.mismatches if mismatch.against == "itself"}
        return (*sorted(check.value for check in checks), *sorted(laws))
    return (Verdict.ENGINE_ERROR.value,) if report.verdict is Verdict.ENGINE_ERROR else ()


def _could_differ_by_scans(case: Case, answer: Reference, engine: Engine, faults: Sequence[Fault]) -> list[Fault]:
    """Choose among the faults of merges by two scans and among the others, each on such a merge."""
    with two_scans():
        found = _could_differ(case, answer, engine, [fault for fault in faults if fault.by_two_scans])
    return found + _could_differ(case, answer, engine, [fault for fault in faults if not fault.by_two_scans])


def _could_differ(case: Case, answer: Reference, engine: Engine, faults: Sequence[Fault]) -> list[Fault]:
    """Run the right merge, and choose the faults that are worth a run on this case."""
    if isinstance(answer.answer, Unsupported):
        return []
    if all(map(is_early, faults)):
        early = differing_early(case, engine, faults) if faults else set()
        faults = [fault for fault in faults if fault.name in early]
    if not faults:
        return []
    differing, report = _watched_check(case, answer, engine, faults)
    if _is_wrong(report):
        # A wrong function may have changed what the right one works on, or a tree that the merge keeps: look again
        # with nothing kept, and call no wrong one.
        parse_expression.cache_clear()
        differing, report = _watched_check(case, answer, engine, [_only_noticed(fault) for fault in faults])
    if _is_wrong(report):
        raise HarnessBugError(
            f"the merge without any fault gives {report.verdict.value} on case {case.id}: {case.sql}\n"
            f"{report.reason or '; '.join(line for m in report.mismatches for line in m.lines)}\n"
            "Look at it with mergecheck run first; faults are only counted against a merge that agrees."
        )
    if report.verdict not in _JUDGED:
        return []  # nothing can be told of a fault where the right merge is known to differ
    return [fault for fault in faults if fault.name in differing]


def _is_wrong(report: CaseReport) -> bool:
    """Tell whether the merge without any fault gave an answer that it must not give, and is not known to give."""
    return report.verdict not in (*_JUDGED, Verdict.UNSUPPORTED) and not _known().annotated(report).deviations


def _watched_check(
    case: Case, answer: Reference, engine: Engine, faults: Sequence[Fault]
) -> tuple[set[str], CaseReport]:
    with watched(faults) as differing:
        report = check_case(case, engine, reference=lambda _: answer)
    return differing, report


def _only_noticed(fault: Fault) -> Fault:
    """Make a fault whose functions count as different as soon as they are called."""
    return replace(fault, edits=tuple(replace(edit, comparable=False) for edit in fault.edits))


@cache
def _known() -> Deviations:
    return load_deviations()


def _check_with(fault: Fault, case: Case, answer: Reference, engine: Engine) -> CaseReport:
    with fault.switched_on():
        return check_case(case, engine, reference=lambda _: answer)
