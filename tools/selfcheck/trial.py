"""How many random cases it takes to find each fault (Etna's protocol).

Every case of a seed runs once on the right merge, watched. Only the mutants that could have made a difference there
are then switched on, one after the other, for a run of their own. If only mutants of the analysis are left, the right
merge ends after its analysis. A fault is found by the first case whose verdict is a mismatch. So ten seeds of a hundred
faults cost little more than ten seeds of the right merge.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.search.stream import Drawn
from mergecheck.harness.verdict import HarnessBugError, Verdict
from mergecheck.model.outcome import Unsupported
from mergecheck.reference import MergeReference
from tools.selfcheck.analysis_only import differing_in_analysis, differs_during_analysis
from tools.selfcheck.fault import Mutant, two_scans
from tools.selfcheck.watch import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport, Check
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts
    from mergecheck.reference.answer import Reference
    from tools.selfcheck.fault import Fault

_JUDGED = (Verdict.AGREE, Verdict.BOTH_REJECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A fault found.

    Attributes:
        num_cases: cases drawn until then, this one included; a batch is one.
        num_pairs: pairs of tables in these.
        checks: the observables that differed, and ``engine_error`` if the engine's adapter gave up.
        num_runs: how often the fault was run until then.
    """

    num_cases: int
    checks: tuple[str, ...]
    num_runs: int
    num_pairs: int = 0

    @property
    def index(self) -> int:
        """The number of the killing case in its seed."""
        return self.num_cases - 1


@dataclass(slots=True)
class SeedResult:
    """One seed of the whole catalogue.

    Attributes:
        kills: by id of the fault; a fault that is not there survived.
        passed_over: ids of faults that were not looked for, because an earlier seed had missed them.
        is_cut_short: whether time ended it, so that it can go on.
        num_cases: cases drawn.
        num_pairs: pairs of tables in them.
        num_runs: executions of a faulty merge.
    """

    seed: int
    kills: dict[str, Kill] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()
    is_cut_short: bool = False
    num_cases: int = 0
    num_pairs: int = 0
    num_runs: int = 0
    seconds: float = 0.0


def alone(cases: Iterator[Case]) -> Iterator[Drawn]:
    """Number cases, of which each is one pair of tables."""
    return (Drawn(index=index, case=case) for index, case in enumerate(cases))


def run_seed(
    faults: Sequence[Fault],
    engine: Engine,
    cases: Iterator[Drawn],
    *,
    seed: int,
    max_cases: int,
    ends: float = math.inf,
    before: SeedResult | None = None,
    listener: Callable[[SeedResult], None] = lambda _: None,
) -> SeedResult:
    """Draw cases until every fault is found or the limit is reached.

    Args:
        faults: the catalogue, or a part of it.
        engine: the engine ``pyspark``, whose ``merge`` is mutated.
        cases: the seed's stream.
        seed: its number, for the result.
        max_cases: the limit.
        ends: when it is cut short, by ``time.monotonic``, which all processes share.
        before: the result so far of the seed, which goes on behind its last case.
        listener: called after every case.

    Raises:
        HarnessBugError: the right merge disagrees with the reference: find out why before faults are counted.
        StaleChangeError: a fault does not fit the source any more.
    """
    mutants, deviations = [Mutant.of(fault) for fault in faults], load_deviations()
    result = SeedResult(seed=seed) if before is None else replace(before, kills=dict(before.kills), is_cut_short=False)
    runs = dict.fromkeys((fault.id for fault in faults), 0)
    reference, started = MergeReference(), time.monotonic() - result.seconds
    cases = itertools.islice(cases, result.num_cases, None)
    while len(result.kills) < len(faults) and result.num_cases < max_cases:
        if time.monotonic() >= ends:
            result.is_cut_short = True
            break
        drawn = next(cases, None)
        if drawn is None:
            break  # a small scope has an end
        case = drawn.case
        num_cases, num_pairs = result.num_cases + 1, result.num_pairs + (len(drawn.singles) or 1)
        answer = drawn.reference or reference.evaluate(case)
        facts = facts_of(case, answer)
        trial = _Trial(case=case, reference=answer, facts=facts, engine=engine, deviations=deviations)
        for mutant in trial.chosen([mutant for mutant in mutants if mutant.fault.id not in result.kills]):
            if time.monotonic() >= ends:
                break  # the case comes again, for the mutants that are left
            name = mutant.fault.id
            runs[name] += 1
            result.num_runs += 1
            with mutant.switched_on():
                checks = killing_checks(trial.check())
            if checks:
                result.kills[name] = Kill(num_cases=num_cases, checks=checks, num_runs=runs[name], num_pairs=num_pairs)
        else:
            result.num_cases, result.num_pairs = num_cases, num_pairs
        result.seconds = time.monotonic() - started
        listener(result)
    return result


def killing_checks(report: CaseReport) -> tuple[str, ...]:
    """Name the differences in a report of a faulty merge; nothing if the fault does not show."""
    if report.verdict is Verdict.MISMATCH:
        checks: set[Check] = {mismatch.check for mismatch in report.mismatches if mismatch.against != "itself"}
        invariants = {mismatch.kind for mismatch in report.mismatches if mismatch.against == "itself"}
        return (*sorted(check.value for check in checks), *sorted(invariants))
    return (Verdict.ENGINE_ERROR.value,) if report.verdict is Verdict.ENGINE_ERROR else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """One case, and the right merge and its mutants on it."""

    case: Case
    reference: Reference
    facts: Facts
    engine: Engine
    deviations: Deviations

    def check(self) -> CaseReport:
        """Run the case on the merge as it is now."""
        return check_case(self.case, self.engine, reference=lambda _: self.reference)

    def chosen(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Choose the mutants that are worth a run: mutants of merges by two scans and the others, each on such a merge.

        Raises:
            HarnessBugError: see ``run_seed``.
        """
        if isinstance(self.reference.answer, Unsupported):
            return []
        possible = [mutant for mutant in mutants if mutant.fault.when.holds(self)]
        with two_scans():
            found = self._differing([mutant for mutant in possible if mutant.fault.two_scans])
        return found + self._differing([mutant for mutant in possible if not mutant.fault.two_scans])

    def _differing(self, mutants: list[Mutant]) -> list[Mutant]:
        if all(map(differs_during_analysis, mutants)):
            early = differing_in_analysis(self.case, self.engine, mutants) if mutants else set()
            mutants = [mutant for mutant in mutants if mutant.fault.id in early]
        if not mutants:
            return []
        differing, report = self._watched_check(mutants)
        if self._is_wrong(report):
            # A wrong function may have changed what the right one works on: look again and call no wrong one.
            differing, report = self._watched_check(
                [replace(mutant, fault=replace(mutant.fault, comparable=False)) for mutant in mutants]
            )
        if self._is_wrong(report):
            raise HarnessBugError(
                f"the merge without any fault gives {report.verdict.value} on case {self.case.id}: {self.case.sql}\n"
                f"{report.reason or '; '.join(line for m in report.mismatches for line in m.lines)}\n"
                "Look at it with mergecheck run first; faults are only counted against a merge that agrees."
            )
        if report.verdict not in _JUDGED:
            return []  # the right merge is known to differ here, so that a difference does not reveal a fault
        return [mutant for mutant in mutants if mutant.fault.id in differing]

    def _watched_check(self, mutants: Sequence[Mutant]) -> tuple[set[str], CaseReport]:
        with watched(mutants) as differing:
            report = self.check()
        return differing, report

    def _is_wrong(self, report: CaseReport) -> bool:
        """Return whether the merge without any fault gave a wrong answer that is not known."""
        if report.verdict in (*_JUDGED, Verdict.JUDGED_IN_PART, Verdict.UNSUPPORTED):
            return False
        return not self.deviations.explain(report, self.engine.capabilities)
