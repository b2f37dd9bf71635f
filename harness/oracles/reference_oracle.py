"""One case on one engine: run it, compare the engine's answer with the reference's, and come to a verdict."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.answers.comparison import EXPECT, REFERENCE, Comparison
from mergecheck.harness.compare.answers.expectations import compare_expectation
from mergecheck.harness.compare.answers.outcomes import compare_in_part, compare_outcome
from mergecheck.harness.compare.answers.rejections import (
    breakdowns,
    check_unchanged,
    compare_rejection,
    no_error,
    spurious_error,
)
from mergecheck.harness.compare.invariants import invariant_mismatches, laws_compared
from mergecheck.harness.compare.log_invariants.commit_invariants import AGAINST as ITSELF
from mergecheck.harness.compare.stored_rows import check_stored_rows
from mergecheck.harness.oracles.engine_call import raised, run_limited
from mergecheck.harness.oracles.fixed_time import with_fixed_time
from mergecheck.harness.oracles.prepared_case import PhaseTimer, PreparedCase
from mergecheck.harness.oracles.unknown_values import unknown_values, with_stand_ins
from mergecheck.harness.oracles.work.work import OVER_PRUNED, over_pruned
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.time_limit import DEFAULT_LIMIT, EngineLateError
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.verdict import (
    BadSettingError,
    CaseReport,
    Check,
    Compared,
    EngineDownError,
    HarnessBugError,
    Mismatch,
    Verdict,
)
from mergecheck.model.outcome import Bound, Outcome, PartialAnswer, Prediction, Rejection, Unsupported
from mergecheck.reference import MergeReference
from mergecheck.reference.answer import Reference
from mergecheck.reference.doubts import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mergecheck.harness.engine import Capabilities, Engine
    from mergecheck.harness.processes.time_limit import TimeLimit
    from mergecheck.model.case import Case, Expectation
    from mergecheck.model.facts import Facts
    from mergecheck.model.outcome import EngineResult

_ERROR = Compared(check=Check.ERROR, against=REFERENCE)
_FAILED = Reference(answer=Unsupported("the case, because it failed"))


def reference_of(engine: Engine) -> Callable[[Case], Reference]:
    """Return the reference by the rules that an engine declares, without Spark for expressions."""
    return MergeReference(dialect=engine.capabilities.dialect).evaluate


def check_case(
    case: Case,
    engine: Engine,
    *,
    reference: Callable[[Case], Reference] | None = None,
    limit: TimeLimit = DEFAULT_LIMIT,
) -> CaseReport:
    """Check one case against the reference, see ``check_prepared``. Ctrl+C raises KeyboardInterrupt.

    Args:
        case: what to run.
        engine: the system under test.
        reference: evaluates the case; None: the reference by the rules that the engine declares.
        limit: how long the engine may take.
    """
    reference = reference or reference_of(engine)
    with interrupts_kept():  # DuckDB ends an interrupted query with an error, which would count as a defect
        return check_prepared(prepare(case, reference=reference, timer=PhaseTimer()), engine, limit=limit)


def prepare(case: Case, *, reference: Callable[[Case], Reference], timer: PhaseTimer) -> PreparedCase:
    """Ask the reference; whatever it raises is a defect of mergecheck, which must not end a run.

    If the reference does not support a case whose statement asks for the time, and supports it with the time written
    out, then that is the case that is prepared: with the time as it is now. If it supports the case with stand-ins for
    values that cannot be predicted, then its answer has the stand-ins.
    """
    with timer.measure("reference"):
        try:
            return replace(_prepared(case, reference), phase_seconds=timer.seconds)
        except BadSettingError:
            raise
        except Exception as error:  # noqa: BLE001 - one case that it cannot take must not cost the others
            defect = f"{HarnessBugError.__name__}: the reference raised {raised(error)}; please report it with the case"
            return PreparedCase(case, _FAILED, defect=defect, phase_seconds=timer.seconds)


def _prepared(case: Case, reference: Callable[[Case], Reference]) -> PreparedCase:
    plain = PreparedCase(case, reference(case))
    if not isinstance(plain.reference.answer, Unsupported):
        return plain
    fixed = with_fixed_time(case, dt.datetime.now(dt.UTC))
    if fixed is not None:
        again = reference(fixed)
        if not isinstance(again.answer, Unsupported):
            return PreparedCase(fixed, again)
    return _with_unknown_values(fixed or case, reference) or plain


def _with_unknown_values(case: Case, reference: Callable[[Case], Reference]) -> PreparedCase | None:
    stand_ins = with_stand_ins(case)
    if stand_ins is None:
        return None
    one, other = map(reference, stand_ins)
    if isinstance(one.answer, Rejection) and one.answer == other.answer:
        return PreparedCase(case, one)
    if not isinstance(one.answer, Prediction) or not isinstance(other.answer, Prediction):
        return None
    unknown = unknown_values(one.answer, other.answer)
    return None if unknown is None else PreparedCase(case, one, unknown=unknown)


def check_prepared(prepared: PreparedCase, engine: Engine, *, limit: TimeLimit = DEFAULT_LIMIT) -> CaseReport:
    """Run a case whose reference result is known, compare, and report everything known afterwards.

    An engine agrees if it gives the reference's answer or, if the layout of files decides (R-322), the alternative
    one; if it fulfils the case's ``expect``; and if its answer obeys the invariants. If both reject the
    statement, the verdict is ``both_rejected``, also if ``expect`` names that error. If the reference does not support
    the case, the engine is checked against ``expect``, the invariants and the reference's partial knowledge, and
    ``reason`` states this; without ``expect`` an answer that breaks none of them is
    ``judged_in_part``. The engine is not run if it has rejected the case beforehand; then only its reason is counted.

    Args:
        prepared: the case, and the reference's evaluation.
        engine: the system under test.
        limit: how long it may take.
    """
    timer = PhaseTimer(dict(prepared.phase_seconds))
    facts = facts_of(prepared.case, prepared.reference)
    judgement = _judge(prepared, engine, timer, facts, limit)
    comparison, reasons = judgement.comparison, engine.capabilities.reasons
    lacking = [*(check.value for check in comparison.unsupported), *comparison.unsupported_metrics]
    return CaseReport(
        case=prepared.case,
        engine=engine.name,
        engine_version=engine.version,
        verdict=judgement.verdict,
        reference=prepared.reference,
        result=judgement.result,
        facts=facts,
        mismatches=comparison.mismatches,
        compared=comparison.compared,
        reason=judgement.reason,
        is_defect=bool(prepared.defect),
        is_lost=judgement.is_lost,
        unsupported_checks=comparison.unsupported,
        unsupported_metrics=comparison.unsupported_metrics,
        unsupported_reasons={name: reasons[name] for name in lacking if name in reasons},
        unknown_columns=tuple(sorted(prepared.unknown.stand_ins)),
        seconds=sum(timer.seconds.values()),
        phase_seconds=timer.seconds,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    verdict: Verdict
    result: EngineResult | None = None
    comparison: Comparison = field(default_factory=Comparison)
    reason: str = ""
    is_lost: bool = False


def _judge(prepared: PreparedCase, engine: Engine, timer: PhaseTimer, facts: Facts, limit: TimeLimit) -> _Judgement:
    case, answer = prepared.case, prepared.reference
    if prepared.refusal is not None:
        reason = f"{engine.name}: {prepared.refusal.reason}"
        return _Judgement(verdict=Verdict.UNSUPPORTED, result=prepared.refusal, reason=reason)
    if prepared.defect:
        return _Judgement(verdict=Verdict.ENGINE_ERROR, reason=prepared.defect)
    try:
        with timer.measure("engine"):
            result = run_limited(engine, case, limit)
    except EngineDownError as error:
        is_lost = isinstance(error, EngineLateError)
        return _Judgement(verdict=Verdict.ENGINE_ERROR, reason=str(error), is_lost=is_lost)
    if isinstance(result, Unsupported):
        # Both reasons, so that neither side's gap hides the other's.
        own = f"reference: {answer.answer.reason}; " if isinstance(answer.answer, Unsupported) else ""
        reason = f"{own}{engine.name}: {result.reason}"
        return _Judgement(verdict=Verdict.UNSUPPORTED, result=result, reason=reason)
    try:
        with timer.measure("compare"):
            comparison = compare_answer(
                prepared,
                result,
                capabilities=engine.capabilities,
                present=facts.clauses_present,
                must_fail=must_fail(answer),
            )
    except Exception as error:  # noqa: BLE001 - one answer of wrong types must not cost the other cases
        reason = (
            f"the answer cannot be compared: {raised(error)}. See the types of Outcome and Rejection; if the adapter "
            "keeps them, please report this with the case"
        )
        return _Judgement(verdict=Verdict.ENGINE_ERROR, result=result, reason=reason)
    verdict = _verdict(prepared, result, comparison)
    only = _unpredicted(prepared)
    if verdict is Verdict.UNSUPPORTED:
        only = f"{only}; {engine.name} shows nothing of what expect gives: {_names(comparison.unsupported)}"
    return _Judgement(verdict=verdict, result=result, comparison=comparison, reason=only)


def compare_answer(
    prepared: PreparedCase,
    result: Outcome | Rejection,
    *,
    capabilities: Capabilities,
    present: frozenset[tuple[str, str]],
    must_fail: bool,
) -> Comparison:
    """Hold an answer against the reference, the case's ``expect`` and the invariants.

    Args:
        prepared: the case, and the reference's evaluation.
        result: the engine's answer.
        capabilities: the observables that the engine shows.
        present: (kind, action) of the statement's clauses; empty if they are not known.
        must_fail: whether the merge has to fail. If it does not, that is the difference, and the rows that it stored
            are not held against the table's constraints.
    """
    case = prepared.case
    shown = prepared.unknown.hidden_in(result) if isinstance(result, Outcome) else result
    parts = [_against_reference(prepared.reference, shown, capabilities)]
    if isinstance(result, Rejection) and _is_unpredicted(prepared):
        parts.append(Comparison(mismatches=breakdowns(result, against=ITSELF)))
    if case.expect is not None:
        expect = _expected_of(prepared.reference, case.expect, result)
        parts.append(compare_expectation(expect, result, capabilities=capabilities, schema=case.target.schema))
    if isinstance(result, Outcome) and not prepared.unknown.stand_ins and not _differs_in_rows(parts):
        parts.append(_files_left(prepared.reference, result))
    mismatches = [m for part in parts for m in part.mismatches]
    compared = [made for part in parts for made in part.compared]
    if isinstance(result, Outcome) and capabilities.rows:  # the invariants compare everything with the rows after
        mismatches.extend(invariant_mismatches(case, result, present))
        compared.extend(laws_compared(result))
        if not must_fail:
            stored = check_stored_rows(case, result)
            mismatches.extend(stored.mismatches)
            compared.extend(stored.compared)
    unsupported = dict.fromkeys(check for part in parts for check in part.unsupported)
    metrics = dict.fromkeys(name for part in parts for name in part.unsupported_metrics)
    return Comparison(
        mismatches=tuple(mismatches),
        compared=tuple(compared),
        unsupported=tuple(unsupported),
        unsupported_metrics=tuple(metrics),
    )


def _differs_in_rows(parts: Sequence[Comparison]) -> bool:
    return any(mismatch.check is Check.ROWS for part in parts for mismatch in part.mismatches)


def _files_left(answer: Reference, result: Outcome) -> Comparison:
    """Check that no file with a row that changes was left as it was; wrong rows are the better sign of the same."""
    if result.work is None or not isinstance(answer.answer, Prediction):
        return Comparison()
    left = over_pruned(answer, result.work)
    lines = tuple(f"file {number + 1} has a row that changes, and was left as it was" for number in left)
    found = Mismatch(check=Check.FILES, against=REFERENCE, kind=OVER_PRUNED, lines=lines)
    made = Compared(check=Check.FILES, against=REFERENCE, kinds=frozenset({OVER_PRUNED}))
    return Comparison(mismatches=(found,) if left else (), compared=(made,))


def _against_reference(answer: Reference, result: Outcome | Rejection, capabilities: Capabilities) -> Comparison:
    main = answer.answer
    if isinstance(main, Unsupported):
        return _against_partial(answer.partial, result, capabilities)
    if isinstance(result, Rejection):
        if isinstance(main, Rejection):
            return compare_rejection(main, result, capabilities=capabilities)
        unchanged = check_unchanged(result, against=REFERENCE)
        return Comparison(
            mismatches=(spurious_error(result, against=REFERENCE), *unchanged.mismatches),
            compared=(_ERROR, *unchanged.compared),
            unsupported=unchanged.unsupported,
        )
    if answer.least is not None and _leaves_files_by_source(result):
        return compare_outcome(answer.least, result, capabilities=capabilities)
    allowed = [given for given in (main, answer.alternative) if isinstance(given, Prediction)]
    if not allowed:
        return Comparison(mismatches=(no_error(_error_class(main), against=REFERENCE),), compared=(_ERROR,))
    compared = [compare_outcome(given, result, capabilities=capabilities) for given in allowed]
    return next((comparison for comparison in compared if not comparison.mismatches), compared[0])


def _against_partial(
    partial: PartialAnswer | None, result: Outcome | Rejection, capabilities: Capabilities
) -> Comparison:
    """Check an answer against the known facts of a case that is not predicted as a whole; there may be none.

    A failed merge must leave the table unchanged in any case.
    """
    if isinstance(result, Rejection):
        unchanged = check_unchanged(result, against=REFERENCE)
        if partial is None or isinstance(partial.answer, Rejection) or ERROR in partial.left_out:
            return unchanged
        return replace(unchanged, mismatches=(spurious_error(result, against=REFERENCE), *unchanged.mismatches))
    if partial is None:
        return Comparison()
    if isinstance(partial.answer, Rejection):
        return Comparison(mismatches=(no_error(partial.answer.error_class, against=REFERENCE),), compared=(_ERROR,))
    given = partial.least if partial.least is not None and _leaves_files_by_source(result) else partial.answer
    return compare_in_part(given, result, capabilities=capabilities, left_out=partial.left_out)


def _expected_of(reference: Reference, expect: Expectation, result: Outcome | Rejection) -> Expectation:
    """Move expected metrics from the upper end of their range to the lower one, if the engine follows that (R-414).

    Authors know the metrics of Delta Lake, which is at the upper end.
    """
    known = reference.partial if isinstance(reference.answer, Unsupported) else reference
    if expect.metrics is None or known is None or known.least is None or not isinstance(known.answer, Prediction):
        return expect
    if not isinstance(result, Outcome) or not _leaves_files_by_source(result):
        return expect
    most, least = known.answer.metrics, known.least.metrics
    moved = {
        name: least[name].low
        for name, value in expect.metrics.items()
        if most.get(name) == Bound(value, value) and name in least and least[name].low == least[name].high
    }
    return replace(expect, metrics={**expect.metrics, **moved})


def _leaves_files_by_source(result: Outcome) -> bool:
    return result.work is not None and result.work.applied_by_source_only


def _verdict(prepared: PreparedCase, result: Outcome | Rejection, comparison: Comparison) -> Verdict:
    if comparison.mismatches:
        return Verdict.MISMATCH
    if isinstance(result, Rejection) and isinstance(prepared.reference.answer, Rejection):
        return Verdict.BOTH_REJECTED
    if _is_unpredicted(prepared):
        return Verdict.JUDGED_IN_PART
    if isinstance(prepared.reference.answer, Unsupported) and comparison.unsupported and _is_only_an_error(comparison):
        return Verdict.UNSUPPORTED
    return Verdict.AGREE


def _is_only_an_error(comparison: Comparison) -> bool:
    """Return whether of an expectation only that the merge succeeds was compared, or not even that."""
    return all(made.against != EXPECT or made.check is Check.ERROR for made in comparison.compared)


def _names(checks: tuple[Check, ...]) -> str:
    return ", ".join(check.value for check in checks)


def must_fail(answer: Reference) -> bool:
    """Return whether there is no way for a merge to succeed."""
    return isinstance(answer.answer, Rejection) and answer.alternative is None


def _error_class(answer: Prediction | Rejection) -> str:
    return answer.error_class if isinstance(answer, Rejection) else "the merge succeeds"


def _is_unpredicted(prepared: PreparedCase) -> bool:
    """Return whether neither the reference nor the author of the case has an expectation."""
    return isinstance(prepared.reference.answer, Unsupported) and prepared.case.expect is None


def _unpredicted(prepared: PreparedCase) -> str:
    answer = prepared.reference.answer
    if not isinstance(answer, Unsupported):
        return ""
    if prepared.case.expect is None:
        left_out = ", ".join(sorted(prepared.reference.left_out))
        return f"reference: {answer.reason}" + (f"; left out: {left_out}" if left_out else "")
    return f"held against expect only, because the reference does not support {answer.reason}"
