"""How small the case becomes that a fault is found by, and how long that takes."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.checker import Checker
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits, num_rows
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.properties.merge_text import num_clauses
from mergecheck.harness.report.events import FindingSaved
from mergecheck.harness.search.loop import Budget
from mergecheck.harness.search.session import FuzzOptions, run_fuzz
from tools.selfcheck.fault import Mutant

if TYPE_CHECKING:
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.report.events import Event
    from tools.selfcheck.fault import Fault

# A case that kills a fault may show something else first when the harness runs it twice; then the next ones are tried.
_CASES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The minimal case of one fault.

    Attributes:
        index: the number of the case that was shrunk in the stream of its seed.
        seconds: from the first candidate to the last. num_runs: candidates executed.
        cut_short: whether a limit ended it, so that a smaller case may exist.
        sql: the statement of the minimal case.
    """

    fault: str
    index: int
    num_target_rows: int
    num_source_rows: int
    num_clauses: int
    num_runs: int
    seconds: float
    cut_short: bool
    sql: str


def shrink_fault(
    fault: Fault, engine: Engine, *, seed: int, first: int, limits: ShrinkLimits | None = None
) -> Shrunk | None:
    """Let the fuzz loop find the fault again and shrink it.

    Args:
        fault: the mutant that is switched on meanwhile.
        engine: the engine ``pyspark``.
        seed: of the killing case.
        first: the number of the killing case, or of one before it.
        limits: how much shrinking is worth; by default the usual limits.

    Returns:
        None if the loop does not find the fault again.
    """
    said: list[Event] = []
    with Mutant.of(fault).switched_on(), tempfile.TemporaryDirectory(prefix=owned_prefix()) as folder:
        options = FuzzOptions(
            seed=seed,
            numbers=range(first, first + _CASES),
            budget=Budget(max_cases=None, max_findings=1),
            findings=Path(folder),
            limits=limits or ShrinkLimits(),
        )
        run_fuzz(Checker(engine=engine), options, listener=said.append)
    finding = next((event.finding for event in said if isinstance(event, FindingSaved)), None)
    if finding is None:
        return None
    case = finding.report.case
    num_target_rows, num_source_rows = num_rows(case)
    return Shrunk(
        fault=fault.id,
        index=first + finding.num_cases - 1,
        num_target_rows=num_target_rows,
        num_source_rows=num_source_rows,
        num_clauses=num_clauses(case.sql),
        num_runs=finding.num_runs,
        seconds=finding.seconds,
        cut_short=finding.cut_short,
        sql=case.sql,
    )
