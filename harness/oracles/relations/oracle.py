"""The metamorphic oracle: one case on one engine, judged by relations between the engine's own answers."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.invariants import invariant_mismatches, laws_compared
from mergecheck.harness.compare.stored_rows import check_stored_rows
from mergecheck.harness.oracles.engine_call import raised, run_limited
from mergecheck.harness.oracles.relations.relation import ROW_METRICS, facts_without_reference, kept_under
from mergecheck.harness.oracles.relations.several_runs import RELATIONS_OF_SEVERAL_RUNS
from mergecheck.harness.oracles.transformations.delta import MATCHED_ONLY_OFF
from mergecheck.harness.oracles.transformations.statements import STATEMENTS
from mergecheck.harness.oracles.transformations.tables import (
    FEED,
    FILE_PER_ROW,
    ONE_FILE,
    UNPARTITIONED,
    reversed_source,
)
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT, EngineLateError
from mergecheck.harness.verdict import CaseReport, Check, Compared, EngineDownError, Verdict
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.oracles.relations.relation import Relation
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult

UNPREDICTED: tuple[Relation, ...] = (
    kept_under("P-16-one-file", ONE_FILE, also=reversed_source),
    kept_under("P-16-file-per-row", FILE_PER_ROW, also=reversed_source),
    kept_under("P-15", FEED),
    kept_under("P-17-partitions", UNPARTITIONED),
    kept_under("P-17-matched-only", MATCHED_ONLY_OFF),
)
"""The relations tried by default on a merge without a prediction. These are few: each runs the merge again."""
RELATIONS: tuple[Relation, ...] = (
    *(kept_under(one.name, one) for one in STATEMENTS),
    *UNPREDICTED,
    *RELATIONS_OF_SEVERAL_RUNS,
)
NOT_ASKED = "the reference was not asked (--oracle metamorphic)"


def check_relations(
    case: Case,
    engine: Engine,
    relations: Sequence[Relation] = RELATIONS,
    *,
    answer: EngineResult | None = None,
    limit: TimeLimit = DEFAULT_LIMIT,
) -> CaseReport:
    """Check one case without the reference: invariants, then relations, until one does not hold.

    Args:
        case: what to run; its ``expect`` is not looked at.
        engine: the system under test.
        relations: which ones to try; while a finding is shrunk, only its own.
        answer: the engine's answer to this case.
        limit: how long the engine may take for one merge.

    Returns:
        ``agree`` where at least one relation applies and all that apply hold; ``mismatch`` with the differences of
        the first that does not; ``unsupported`` where the engine rejects the case, or no relation applies.
    """
    started = time.perf_counter()

    def run(one: Case) -> EngineResult:
        return run_limited(engine, one, limit)

    try:
        result = run(case) if answer is None else answer
        if isinstance(result, Unsupported):
            return _report(case, engine, started, Verdict.UNSUPPORTED, reason=f"{engine.name}: {result.reason}")
        if isinstance(result, Rejection):
            reason = f"rejected, and no relation is about errors ({result.error_class})"
            return _report(case, engine, started, Verdict.UNSUPPORTED, reason=reason, result=result)
        if any(column.identity is not None for column in case.target.schema.columns):
            reason = "no relation is about values that a table generates"
            return _report(case, engine, started, Verdict.UNSUPPORTED, reason=reason, result=result)
        mismatches, applied = _judged(case, engine, result, relations, run)
    except EngineDownError as error:
        report = _report(case, engine, started, Verdict.ENGINE_ERROR, reason=str(error))
        return replace(report, is_lost=isinstance(error, EngineLateError))
    except Exception as error:  # noqa: BLE001 - answers of wrong types must not cost the other cases
        reason = f"the answers cannot be compared: {raised(error)}"
        return _report(case, engine, started, Verdict.ENGINE_ERROR, reason=reason)
    compared = tuple(_compared(case, result, applied, engine))
    if mismatches:
        report = _report(case, engine, started, Verdict.MISMATCH, result=result, mismatches=mismatches)
        return replace(report, compared=compared)
    if not applied:
        return _report(case, engine, started, Verdict.UNSUPPORTED, reason="no relation applies", result=result)
    return replace(_report(case, engine, started, Verdict.AGREE, result=result), compared=compared)


def _judged(
    case: Case,
    engine: Engine,
    outcome: Outcome,
    relations: Sequence[Relation],
    run: Callable[[Case], EngineResult],
) -> tuple[tuple[Mismatch, ...], list[Relation]]:
    present = facts_without_reference(case, outcome).clauses_present
    if engine.capabilities.rows:
        invariants = (*invariant_mismatches(case, outcome, present), *check_stored_rows(case, outcome).mismatches)
        if invariants:
            return invariants, []
    applied: list[Relation] = []
    for relation in relations:
        found = relation.check(case, outcome, run)
        if found is None:
            continue
        applied.append(relation)
        if found:
            return found, applied
    return (), applied


def _compared(case: Case, outcome: Outcome, applied: Sequence[Relation], engine: Engine) -> Iterator[Compared]:
    """List the checks of the relations that were tried, and of the invariants."""
    if engine.capabilities.rows:
        yield from laws_compared(outcome)
        yield from check_stored_rows(case, outcome).compared
    shown = [Check.ERROR, Check.SCHEMA, Check.ROWS, Check.METRICS]
    shown += [Check.CDF] if outcome.cdf is not None else []
    shown += [Check.COMMIT] if outcome.committed is not None else []
    metrics = frozenset(ROW_METRICS).intersection(outcome.metrics)
    for relation in applied:
        for check in shown:
            yield Compared(
                check=check, against=relation.name, kinds=frozenset(metrics) if check is Check.METRICS else None
            )


def _report(
    case: Case,
    engine: Engine,
    started: float,
    verdict: Verdict,
    *,
    reason: str = "",
    result: Outcome | Rejection | None = None,
    mismatches: Sequence[Mismatch] = (),
) -> CaseReport:
    seconds = time.perf_counter() - started
    return CaseReport(
        case=case,
        engine=engine.name,
        engine_version=engine.version,
        verdict=verdict,
        reference=Reference(answer=Unsupported(NOT_ASKED)),
        result=result,
        facts=facts_without_reference(case, result) if isinstance(result, Outcome) else Facts(),
        mismatches=tuple(mismatches),
        reason=reason,
        seconds=seconds,
        phase_seconds={"engine": seconds},
    )
