"""Shared by the command line and the pytest plugin: engines by name, a run of random cases, crashed cases."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import statistics
import time
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.engine import SparkSessionEngine
from mergecheck.harness.engines.registry import load_engine
from mergecheck.harness.engines.spark.config import place_options
from mergecheck.harness.engines.spark_values.on_demand import SparkOnDemand
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.findings.store import FINDINGS_DIRECTORY, WORK_DIRECTORY, FindingsDirectory, RunningCase, forget
from mergecheck.harness.oracles.engine_call import adapter_errors, process_kept, run_limited
from mergecheck.harness.oracles.prepared_case import PhaseTimer, unsupported_reason
from mergecheck.harness.oracles.reference_oracle import prepare
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.temp_dirs import clear_leftovers
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT, DEFAULT_SECONDS, TimeLimit
from mergecheck.harness.search.batching import batch_of
from mergecheck.harness.search.loop import Budget, Search
from mergecheck.harness.search.prefetch import prefetching
from mergecheck.harness.search.stream import Draws
from mergecheck.harness.verdict import Check, Expressions, MergecheckError, Oracle, Rerun, UserInputError
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.case_file import load_cases
from mergecheck.model.case_id import with_content_id
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hypothesis.strategies import SearchStrategy

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.engine import Engine
    from mergecheck.harness.properties.statistics import Summary
    from mergecheck.harness.report.events import Listener

_SCHEMA = parse_schema("id BIGINT, v STRING")
WARM_UP = Case(
    id="warm-up",
    target=Target(schema=_SCHEMA, files=(((1, "a"), (2, "b")),), properties={CDF_PROPERTY: "true"}),
    source=Source(schema=_SCHEMA, rows=((1, "x"), (3, "y"))),
    sql="MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)


MIN_MEASURED_CASES = 200
"""A run of fewer cases checks each alone: measuring would take a part of its time, and batches are for many."""
RANGE_BATCH = 256
"""Pairs of tables of a batch in a run of a range: machines of different speeds must check the same cases."""
MIN_BOUNDARY = 40
"""Tables of fewer rows are drawn anyway."""
OWN_CLASS_START_SECONDS = 60.0
"""The time limit for starting an engine given as ``package.module:Class`` if ``--case-timeout`` is shorter."""
CLOSE_SECONDS = 60.0
_FUNCTION_CALLS_PERCENT = 5
_FAVOURED_PERCENT = 90
_TOGETHER_PERCENT = 75
_NUM_MEASURED = 2
_WIDER = 2  # a pair of drawn tables costs more than one of the first case: columns, and pairs that fail
_NUM_DRAWN = 5
_NUM_EVALUATIONS = 2  # of a statement: until the pairs that fail are known
_MIN_PAIRS = 64
_BATCH_SECONDS = 1.0
_MEASURED_PAIRS = 256
_CLOCK_SECONDS = 0.001
_logger = logging.getLogger(__name__)


@contextlib.contextmanager
def open_engine(name: str, limit: TimeLimit = DEFAULT_LIMIT) -> Iterator[Engine]:
    """Start an engine by name and close it at the end.

    Args:
        name: as ``--engine`` takes it.
        limit: how long it may take for a case; its start gets at least ``start_limit``.

    Raises:
        UserInputError: if there is no engine of this name.
        EngineDownError: if it does not start.
    """
    engine = start_engine(name, limit)
    try:
        yield engine
    finally:
        close_engine(engine)


def start_engine(name: str, limit: TimeLimit = DEFAULT_LIMIT) -> Engine:
    """Start an engine by name; temporary directories of lost processes are removed first.

    Who starts it calls ``close_engine``.

    Raises:
        UserInputError: if there is no engine of this name.
        EngineDownError: if it does not start, in time or at all.
    """
    clear_leftovers()
    starting = replace(start_limit(name, limit), late="did not start within {seconds:g} s")
    doing = f"the engine {name!r} does not start:"
    with interrupts_kept(), starting.over(None), adapter_errors(doing, passing=UserInputError):
        return load_engine(name)


def start_limit(name: str, limit: TimeLimit) -> TimeLimit:
    """Return the time for an engine's start and for its first case, which often starts services that it needs.

    Args:
        name: as ``--engine`` takes it. An installed engine may fetch a release and start Spark.
        limit: how long the engine may take for a case.
    """
    seconds = OWN_CLASS_START_SECONDS if ":" in name and limit.seconds < DEFAULT_SECONDS else DEFAULT_SECONDS
    return replace(limit, seconds=max(seconds, limit.seconds))


def close_engine(engine: Engine) -> None:
    """Close an engine; if it fails or takes too long, only warn, since the run's findings must not be lost."""
    closing = TimeLimit(seconds=CLOSE_SECONDS, late="did not close within {seconds:g} s")
    try:
        with closing.over(None), adapter_errors(""), process_kept():
            engine.close()
    except MergecheckError as error:
        _logger.warning("The engine %s did not close: %s", engine.name, error)


def _asks_spark(engine: Engine | type[Engine], expressions: Expressions) -> bool:
    if expressions is Expressions.AUTO:
        return isinstance(engine, SparkSessionEngine)
    return expressions is Expressions.SPARK


def reference_for(
    engine: Engine, expressions: Expressions = Expressions.AUTO, *, starts_spark: bool = False
) -> MergeReference:
    """Make the reference for an engine: by its rules, and with the evaluator of expressions that was chosen.

    Args:
        engine: the system under test. If it is on Spark in this process, its Spark is used, in sessions of its own.
        expressions: what evaluates expressions.
        starts_spark: whether ``AUTO`` starts Spark, for an engine without it, with the first expression that DuckDB
            cannot evaluate. A fuzz run does not: Spark would take most of its time.
    """
    dialect = engine.capabilities.dialect
    if not _asks_spark(engine, expressions):
        if not starts_spark or expressions is Expressions.DUCKDB:
            return MergeReference(dialect=dialect)
        return MergeReference(SparkOnDemand(), dialect=dialect)
    from mergecheck.harness.engines.spark_values.evaluator import SparkEvaluator  # noqa: PLC0415 - it imports PySpark, which takes its time

    evaluator = SparkEvaluator(engine.session) if isinstance(engine, SparkSessionEngine) else SparkEvaluator()
    return MergeReference(evaluator, expressions is Expressions.SPARK, dialect)


def rerun_on(
    engine_name: str,
    *,
    expressions: Expressions = Expressions.AUTO,
    checks: frozenset[Check] | None = None,
    deviations: Deviations | None = None,
) -> Rerun:
    """Return the options that check a case again as a run of these does.

    Args:
        engine_name: the value of ``--engine``.
        expressions: the value of ``--expressions``.
        checks: the values of ``--check``; None if it was left out.
        deviations: the run's known deviations; empty means ``--no-deviations``, None a verb without that option.
    """
    options = () if expressions is Expressions.AUTO else (("expressions", expressions.value),)
    none_known = () if deviations is None or deviations.entries else (("no-deviations", ""),)
    narrowed = tuple(("check", check.value) for check in Check if checks is not None and check in checks)
    return Rerun(engine=engine_name, options=(*options, *narrowed, *none_known, *place_options()))


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzOptions:
    """Options of a run of random cases.

    Attributes:
        seed: the same seed gives the same cases, whatever the budget.
        budget: when the run ends.
        numbers: the numbers of the seed's cases; None for all from 0.
        steer: prefer cases that reach new cells of the case space.
        batch_size: pairs of tables that are checked in one merge, if a case allows it; None for as many as are
            checked in about a second, and for ``RANGE_BATCH`` if ``numbers`` are given.
        num_jobs: cases that are checked at once.
        features_off: names of features that no case has, besides those that the engine lacks.
        focus: names of features that more cases than usual may use.
        boundary: most tables have so many rows, or one more or less; None for small ones.
        findings: where findings are kept.
        expressions: the evaluator of expressions for the reference; if that is Spark, cases may call any function.
        limits: limits of shrinking one finding.
    """

    seed: int
    budget: Budget = field(default_factory=Budget)
    numbers: range | None = None
    steer: bool = False
    batch_size: int | None = 1
    num_jobs: int = 1
    features_off: frozenset[str] = frozenset()
    focus: frozenset[str] = frozenset()
    boundary: int | None = None
    findings: Path = FINDINGS_DIRECTORY
    expressions: Expressions = Expressions.DUCKDB
    limits: ShrinkLimits = field(default_factory=ShrinkLimits)


def run_fuzz(
    checker: Checker,
    options: FuzzOptions,
    *,
    listener: Listener = lambda _: None,
    cases: SearchStrategy[Case] | None = None,
) -> Summary:
    """Run random cases on an engine that is up; its first case, always the same, is not counted.

    Args:
        checker: has the engine.
        options: which cases, how many, and where findings go.
        listener: receives every event.
        cases: the stream of cases. By default cases leave out features that the engine declares unsupported, and carry
            settings of its own (``Capabilities``).

    Raises:
        EngineDownError: if the engine does not even take the first case.
        UserInputError: if findings cannot be written, or the engine cannot run several cases at once.
    """
    engine = checker.engine
    with interrupts_kept():
        # the engine's start counts neither against the budget nor against the time of a case
        run_limited(engine, WARM_UP, start_limit(checker.rerun.engine, checker.limit))
    checker = replace(checker, skip_reference_if_unsupported=True, work_directory=WORK_DIRECTORY)
    if cases is None:
        cases = cases_for(
            engine,
            options.expressions,
            features_off=options.features_off,
            focus=options.focus,
            boundary=options.boundary,
        )
    batch_size = options.batch_size
    if batch_size is None and options.numbers is not None:
        batch_size = RANGE_BATCH if checker.oracle is Oracle.REFERENCE else 1
    elif batch_size is None:
        is_alone = checks_each_alone(options.budget.max_cases, checker.oracle)
        with interrupts_kept():  # DuckDB makes an error of Ctrl+C, which a failed reference would hide
            batch_size = 1 if is_alone else measured_batch_size(checker, strategies.Stream(cases), options.seed)
    draws = Draws(
        cases,
        seed=options.seed,
        first=0 if options.numbers is None else options.numbers.start,
        reference=checker.reference,
        steer=options.steer,
        batch_size=batch_size,
        takes=lambda case: unsupported_reason(case, engine, checker.limit) is None,
    )
    max_cases = options.budget.max_cases
    end = None if options.numbers is None else options.numbers.stop
    with prefetching(draws, checker, num_jobs=options.num_jobs, max_cases=max_cases, end=end) as prefetch:
        return Search(
            checker,
            prefetch,
            budget=options.budget,
            findings=FindingsDirectory(options.findings),
            listener=listener,
            limits=options.limits,
            batch_size=batch_size,
        ).run()


def checks_each_alone(max_cases: int | None, oracle: Oracle) -> bool:
    """Return whether a run without a given size of batches makes none.

    Few cases are not worth measuring; relations run a case in several forms, and spend again what a batch saves.
    """
    return (max_cases is not None and max_cases < MIN_MEASURED_CASES) or oracle is not Oracle.REFERENCE


def measured_batch_size(checker: Checker, stream: strategies.Stream[Case], seed: int) -> int:
    """Measure what a statement costs and what a pair of tables does, and return the number of pairs for a batch.

    A statement costs what the engine takes for one, and what drawing it and asking the reference take.

    Args:
        checker: has the engine, which is warm.
        stream: the cases of the run.
        seed: of the run.
    """
    alone = min(_seconds_of(checker, 1)[0] for _ in range(_NUM_MEASURED))
    many, num_pairs = _seconds_of(checker, _MEASURED_PAIRS)
    if num_pairs <= 1:  # the engine, or the reference for its rules, takes no batch
        return 1
    per_pair = _WIDER * max(many - alone, _CLOCK_SECONDS) / num_pairs
    own = statistics.median(_own_seconds(checker, stream, seed, index) for index in range(_NUM_DRAWN))
    return num_pairs_for(alone + own, per_pair)


def num_pairs_for(statement: float, per_pair: float) -> int:
    """Return the number of pairs for which there is room in a second, but at least as many as cost one statement.

    It is a power of four, so that two runs on one machine rarely differ; a larger batch has the pairs of a smaller one.

    Args:
        statement: the seconds that a statement takes without its pairs.
        per_pair: the seconds that a pair takes.
    """
    room = max(statement, _BATCH_SECONDS - statement)
    return max(_MIN_PAIRS, int(4 ** round(math.log(room / per_pair, 4))))


def _own_seconds(checker: Checker, stream: strategies.Stream[Case], seed: int, index: int) -> float:
    """Return what drawing a statement takes, and asking the reference as often as a batch does."""
    started, timer = time.monotonic(), PhaseTimer()
    case = stream.draw(seed, index)
    drawing = time.monotonic() - started
    prepare(case, reference=checker.reference, timer=timer)
    return drawing + _NUM_EVALUATIONS * timer.seconds["reference"]


def _seconds_of(checker: Checker, size: int) -> tuple[float, int]:
    """Check a statement on some pairs of tables, and return the time and the number of pairs that were judged."""
    started = time.monotonic()
    batch = None
    if size > 1:
        batch = batch_of(WARM_UP, Random(size), size=size, evaluate=checker.reference)  # noqa: S311 - a test case, no secret
    case, reference = (WARM_UP, None) if batch is None else (batch.case, batch.reference)
    report = checker.check(checker.prepare(case, reference))
    num_pairs = 1 if batch is None or not report.is_judged else len(batch.singles)
    return time.monotonic() - started, num_pairs


def keep_crashed_cases(findings: FindingsDirectory) -> Iterator[tuple[Path, str]]:
    """Move the cases that lost processes left behind to the findings.

    Yields:
        Where each case is kept now, and what became of it.
    """
    known: set[Path] = set()
    for path in RunningCase(WORK_DIRECTORY).leftovers():
        try:
            case = with_content_id(load_cases(path)[0])
        except CaseFormatError as error:
            yield path, f"left by a lost process, but unreadable: {error}"
            continue
        kept = findings.save(case, f"CRASHED  the process was lost while this case ran\n\n  {case.sql}")
        forget(path)
        if kept not in known:  # two runs of one seed may have been lost at the same case
            known.add(kept)
            yield kept, "the process was lost while this case ran"


def cases_for(
    engine: Engine | type[Engine],
    expressions: Expressions = Expressions.DUCKDB,
    *,
    features_off: frozenset[str] = frozenset(),
    focus: frozenset[str] = frozenset(),
    avoid: frozenset[str] = frozenset(),
    boundary: int | None = None,
    draws_settings: bool = True,
) -> SearchStrategy[Case]:
    """Return the random cases for an engine: without the features it lacks, with settings of its own.

    Args:
        engine: the system under test, or its class.
        expressions: what evaluates expressions. If that is Spark, some cases call functions that DuckDB does not have.
        features_off: more features to leave out, by their names.
        focus: features to use more often than usual, by their names.
        avoid: features to use seldom.
        boundary: the number of rows that most tables have, or one more or less; None for small ones.
        draws_settings: whether cases carry settings of the engine's axes.

    Raises:
        UserInputError: the engine's capabilities, ``features_off``, ``focus`` or ``avoid`` name an unknown feature; or
            a feature of ``focus`` is left out.
    """
    known = {feature.value: feature for feature in strategies.Feature}
    unknown = sorted(engine.capabilities.features_off - known.keys())
    if unknown:
        raise UserInputError(
            f"engine {engine.name!r} leaves out features that there are not: {', '.join(unknown)}. "
            f"Its capabilities may name: {', '.join(sorted(known))}"
        )
    if wrong := sorted((features_off | focus | avoid) - known.keys()):
        told = f"unknown feature {wrong[0]!r}. {did_you_mean(wrong[0], known)}".rstrip()
        raise UserInputError(f"{told} There are: {', '.join(sorted(known))}")
    if boundary is not None:
        focus |= {strategies.Feature.LARGE_TABLES.value}
    if both := sorted(focus & (features_off | left_out(engine))):
        raise UserInputError(f"feature {both[0]!r} is left out for engine {engine.name!r}, so no run can focus on it")
    asks_spark = _asks_spark(engine, expressions)
    percent = _FUNCTION_CALLS_PERCENT if asks_spark else 0
    off = frozenset(known[name] for name in engine.capabilities.features_off | features_off)
    tables = frozenset(strategies.TABLE_FEATURES) - off if engine.capabilities.table_features else frozenset()
    profile = replace(strategies.FULL_PROFILE, function_calls_percent=percent, table_features=tables)
    if asks_spark:
        profile = replace(profile, written_forms=frozenset(strategies.WRITTEN_FORMS))
    profile = profile.without(*sorted(off, key=lambda feature: feature.value))
    often = _favoured_percent(len(focus) + len(avoid))
    profile = profile.favouring(*(known[name] for name in sorted(focus)), percent=often)
    profile = profile.favouring(*(known[name] for name in sorted(avoid)), percent=100 - often)
    if boundary is not None:
        profile = profile.around(boundary)
    cases = strategies.cases(profile=profile)
    return strategies.with_settings(cases, drawn_settings(engine)) if draws_settings else cases


def left_out(engine: Engine | type[Engine]) -> frozenset[str]:
    """Return the features of random cases that an engine leaves out by its capabilities."""
    capabilities = engine.capabilities
    of_tables = frozenset() if capabilities.table_features else frozenset(f.value for f in strategies.TABLE_FEATURES)
    return capabilities.features_off | of_tables


def _favoured_percent(number: int) -> float:
    """Return how often a case has a feature of focus, or is without an avoided one, so that most cases have it all."""
    together: float = (_TOGETHER_PERCENT / 100) ** (1 / max(number, 1))
    return max(_FAVOURED_PERCENT, 100 * together)


def drawn_settings(engine: Engine | type[Engine]) -> Mapping[str, tuple[str, ...]]:
    """Return the settings of an engine's axes that random cases may carry, with the values of each."""
    return {name: values for axis in engine.capabilities.axes for name, values in axis.domain.items()}


def stream_for(engine: Engine, seed: int) -> Iterator[Case]:
    """Yield the endless stream of cases that a fuzz run of a seed checks on an engine.

    Raises:
        UserInputError: see ``cases_for``.
    """
    stream = strategies.Stream(cases_for(engine))
    return (stream.draw(seed, index) for index in itertools.count())
