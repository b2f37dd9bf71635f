"""One engine in use: started, warmed up, checked against, closed. What both fronts share."""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.core.case_id import with_content_id
from mergecheck.harness.core.interrupts import interrupts_kept
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.engines import load_engine
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY, WORK_DIRECTORY, FindingsDirectory, RunningCase
from mergecheck.harness.oracles.dispatch import ask
from mergecheck.harness.oracles.reference_oracle import refusal
from mergecheck.harness.search.job_pools import jobs_on
from mergecheck.harness.search.loop import Search
from mergecheck.harness.search.parallel import DrawsAhead
from mergecheck.harness.search.prefetch import prepared
from mergecheck.harness.search.remembered import Remembered
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.variants.axes.variant import VARIANT_SETTING
from mergecheck.harness.variants.saved import check_variant
from mergecheck.harness.verdict import Oracle
from mergecheck.reference import evaluate
from mergecheck.reference.case.case_file import load_cases
from mergecheck.reference.case.model import CDF_PROPERTY, Case, Source, Target
from mergecheck.reference.errors import CaseFormatError
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

    from mergecheck.harness.coverage.statistics import Summary
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.findings.store import Fingerprint
    from mergecheck.harness.report.events import Listener
    from mergecheck.harness.search.loop import Budget
    from mergecheck.harness.search.stream import CaseSource
    from mergecheck.harness.shrink.shrinker import ShrinkLimits
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.outcome import Reference

NONE_KNOWN = Deviations()
_SCHEMA = parse_schema("id BIGINT, v STRING")
WARM_UP = Case(
    id="warm-up",
    target=Target(schema=_SCHEMA, files=(((1, "a"), (2, "b")),), properties={CDF_PROPERTY: "true"}),
    source=Source(schema=_SCHEMA, rows=((1, "x"), (3, "y"))),
    sql="MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)


@contextlib.contextmanager
def open_engine(name: str) -> Iterator[Engine]:
    """Start an engine by name and close it at the end.

    Raises:
        UserInputError: where the name says no engine.
        EngineDownError: where it does not start.
    """
    engine = load_engine(name)
    try:
        yield engine
    finally:
        engine.close()


def check_one(
    case: Case,
    engine: Engine,
    deviations: Deviations = NONE_KNOWN,
    *,
    reference: Callable[[Case], Reference] = evaluate,
    oracle: Oracle = Oracle.REFERENCE,
    about: Fingerprint | None = None,
    skip_reference_if_unsupported: bool = False,
) -> CaseReport:
    """Check one case; Ctrl+C comes out as KeyboardInterrupt, never as a failure of the engine.

    A saved case that names a variant shows its difference from the base under that variant only, so it runs there.

    Args:
        case: what to check.
        engine: the system under test.
        deviations: what is known of it; a mismatch that they explain carries their ids.
        reference: evaluates the case; where several engines run one case, its answer is made once.
        oracle: what judges the engine's answer.
        about: the finding that the case may be a smaller form of.
        skip_reference_if_unsupported: see ``check_case``.
    """
    with interrupts_kept():
        if VARIANT_SETTING in case.conf and oracle is Oracle.REFERENCE:
            return check_variant(case, engine, deviations, reference)
        report = ask(
            oracle,
            case,
            engine,
            reference=reference,
            about=about,
            skip_reference_if_unsupported=skip_reference_if_unsupported,
        )
        return deviations.annotated(report)


def fuzz_engine(
    engine: Engine,
    *,
    seed: int,
    budget: Budget,
    listener: Listener,
    findings: Path = FINDINGS_DIRECTORY,
    cases: SearchStrategy[Case] | None = None,
    limits: ShrinkLimits | None = None,
    deviations: Deviations = NONE_KNOWN,
    first: int = 0,
    oracle: Oracle = Oracle.REFERENCE,
    steer: bool = False,
    batch_size: int = 1,
    num_jobs: int = 1,
) -> Summary:
    """Run random cases on an engine that is up; its first case, always the same, is not counted.

    The cases leave out what the engine says it cannot do, and carry settings of its own (``Capabilities``). ``first``
    is the number of the seed's case to begin with; ``oracle`` says what judges the engine's answers; ``steer`` prefers
    cases that reach new cells of the case space; ``batch_size`` is the number of pairs of tables that one merge does,
    where the case allows it; ``num_jobs`` is the number of cases that are checked at once.

    Raises:
        EngineDownError: where the engine does not even take the first case.
        UserInputError: where findings cannot be written, or the engine cannot run several cases at once.
    """
    engine.run(WARM_UP)  # start-up is not the budget's business
    reference = Remembered(evaluate)
    check_on = functools.partial(
        check_one, deviations=deviations, reference=reference, oracle=oracle, skip_reference_if_unsupported=True
    )
    draws = Draws(
        cases if cases is not None else cases_for(engine),
        seed=seed,
        first=first,
        reference=reference,
        steer=steer,
        batch_size=batch_size,
    )
    running = RunningCase()
    with contextlib.ExitStack() as stack:
        jobs = stack.enter_context(jobs_on(engine, num_jobs, check_on)) if num_jobs > 1 else None
        source: CaseSource = draws
        if jobs is not None:
            source = DrawsAhead(draws, jobs, max_cases=budget.max_cases)
        elif not steer:
            asked = None if oracle is Oracle.METAMORPHIC else functools.partial(unless_refused, engine, reference)
            source = stack.enter_context(prepared(draws, asked))

        def check(case: Case, about: Fingerprint | None) -> CaseReport:
            begun = None if jobs is None or about is not None else jobs.take(case)
            if begun is not None:
                return begun  # its job has kept it on disk meanwhile
            with running.under_way(case):
                return check_on(case, engine, about=about)

        return Search(
            check=check,
            draws=source,
            engine=engine.name,
            engine_version=engine.version,
            budget=budget,
            findings=FindingsDirectory(findings),
            listener=listener,
            limits=limits,
        ).run()


def unless_refused(engine: Engine, reference: Callable[[Case], Reference], case: Case) -> None:
    """Ask the reference, which remembers its answer, about a case that the engine may take."""
    if refusal(case, engine) is None:
        reference(case)


def keep_crashed_cases(findings: FindingsDirectory) -> Iterator[tuple[Path, str]]:
    """Move the cases that lost processes left behind to the findings.

    Yields:
        Where each case stands now, and what became of it.
    """
    known: set[Path] = set()
    for path in RunningCase(WORK_DIRECTORY).leftovers():
        try:
            case = with_content_id(load_cases(path)[0])
        except CaseFormatError as error:
            yield path, f"left by a lost process, but unreadable: {error}"
            continue
        kept = findings.save(case, f"CRASHED  the process was lost while this case ran\n\n  {case.sql}")
        path.unlink(missing_ok=True)
        if kept not in known:  # two runs of one seed may have been lost at the same case
            known.add(kept)
            yield kept, "the process was lost while this case ran"


def cases_for(engine: Engine) -> SearchStrategy[Case]:
    """Return the random cases for an engine: without the features it lacks, with settings of its own.

    Raises:
        UserInputError: where the engine's capabilities name a feature that there is not.
    """
    known = {feature.value: feature for feature in strategies.Feature}
    unknown = sorted(engine.capabilities.features_off - known.keys())
    if unknown:
        raise UserInputError(
            f"engine {engine.name!r} leaves out features that there are not: {', '.join(unknown)}. "
            f"Its capabilities may name: {', '.join(sorted(known))}"
        )
    profile = strategies.Profile().without(*(known[name] for name in sorted(engine.capabilities.features_off)))
    return strategies.with_settings(strategies.cases(profile=profile), engine.capabilities.conf_domain)


def stream_for(engine: Engine, seed: int) -> Iterator[Case]:
    """Yield the endless stream of cases that a fuzz run of a seed checks on an engine.

    Raises:
        UserInputError: see ``cases_for``.
    """
    stream = strategies.Stream(cases_for(engine))
    return (stream.draw(seed, index) for index in itertools.count())
