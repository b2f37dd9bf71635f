"""Mutants of an engine's answers: how soon a check of this engine notices each, and which it never does.

A mutant changes a right answer in a way in which executors err. It needs no engine of its own: the case runs once, and
the check judges the changed answer in place of the given one. What is noticed depends on the answers that the engine
gives (an adapter without a change feed shows no missing pre-image) and on its known deviations, so the figures are of
one engine.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.explanation.alternatives import alternatives
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.outcome import MergePath, Outcome, Rejection, Unsupported
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.harness.checker import Checker
    from mergecheck.harness.engine import Capabilities
    from mergecheck.harness.oracles.prepared_case import PreparedCase
    from mergecheck.harness.search.loop import Budget
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row, Value

Answer: TypeAlias = Outcome | Rejection
Change: TypeAlias = Callable[["Case", Answer], Answer | None]
"""Takes a case and the engine's right answer; returns a wrong one, or None if there is nothing to change in it."""

_HOUR = dt.timedelta(hours=1)
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Mutant:
    """A way to err.

    Attributes:
        name: the error, for a person.
        check: the observable that is wrong.
    """

    name: str
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """What became of a mutant.

    Attributes:
        num_tried: the answers that were changed so, up to the one that was noticed.
        case_number: the number of the case whose check noticed it, from 1; None if none did.
        deviations: known deviations that explained a changed answer, and so hid the mutant.
        reason: why its observable is not compared with the engine's; empty if it is.
    """

    mutant: Mutant
    num_tried: int = 0
    case_number: int | None = None
    deviations: frozenset[str] = frozenset()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantRun:
    """The mutants of an engine's answers to some cases.

    Attributes:
        num_cases: the cases that ran. num_right: those whose answer was right, which were changed.
        found: the mutants in the order of the catalogue; mutants of a changed meaning last.
    """

    num_cases: int
    num_right: int
    found: tuple[Noticed, ...]


@dataclass(slots=True, kw_only=True)
class RecordedEngine:
    """An engine that gives one answer to any case: an ``Engine`` without a system behind it."""

    name: str
    version: str
    capabilities: Capabilities
    answer: Answer

    def run(self, case: Case) -> Answer:
        """Return the answer."""
        del case  # the answer is given
        return self.answer

    def close(self) -> None:
        """Hold nothing."""


@dataclass(slots=True)
class _Tried:
    num_tried: int = 0
    case_number: int | None = None
    deviations: set[str] = field(default_factory=set)
    reason: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the mutant was noticed, or tried often enough."""
        return self.case_number is not None or self.num_tried > _ATTEMPTS


def run_mutants(cases: Iterable[Case], checker: Checker, budget: Budget) -> MutantRun:
    """Run cases on an engine and try every mutant on each right answer, until it is noticed.

    Args:
        cases: the cases, such as ``stream_for`` draws.
        checker: has the engine, its known deviations and the reference.
        budget: most cases and seconds. The run also ends as soon as every mutant was noticed or tried often enough.
    """
    end = math.inf if budget.max_seconds is None else time.monotonic() + budget.max_seconds
    tried: dict[Mutant, _Tried] = {mutant: _Tried() for mutant in _CHANGES}
    not_compared: dict[Check, str] = {}
    num_cases = num_right = 0
    for case in cases:
        num_cases += 1
        prepared = checker.prepare(case)
        report = checker.check(prepared)
        if report.verdict in (Verdict.AGREE, Verdict.BOTH_REJECTED):
            num_right += 1
            for check in report.unsupported_checks:
                not_compared.setdefault(check, _reason(report, check))
            _try_all(prepared, report, checker, tried, num_cases)
        is_spent = num_cases == budget.max_cases or time.monotonic() > end
        if is_spent or all(one.is_done for one in tried.values()):
            break
    return MutantRun(num_cases=num_cases, num_right=num_right, found=tuple(_found(tried, not_compared)))


def _try_all(
    prepared: PreparedCase, report: CaseReport, checker: Checker, tried: dict[Mutant, _Tried], number: int
) -> None:
    done = {mutant.name for mutant, state in tried.items() if state.case_number is not None}
    for mutant, answer in _mutated(report, checker, done):
        state = tried.setdefault(mutant, _Tried())
        if state.is_done:
            continue
        given = checker.engine
        engine = RecordedEngine(name=given.name, version=given.version, capabilities=given.capabilities, answer=answer)
        judged = replace(checker, engine=engine).check(prepared)
        state.num_tried += 1
        if judged.verdict is not Verdict.MISMATCH:
            state.reason = _reason(judged, mutant.check)
        elif judged.deviations:
            state.deviations |= set(judged.deviations)
        else:
            state.case_number = number


def _reason(judged: CaseReport, check: Check) -> str:
    """Return why an observable is not compared; empty if it is."""
    if check not in judged.unsupported_checks:
        return ""
    return judged.unsupported_reasons.get(check.value, f"the engine does not report it: {check.value}")


def _found(tried: dict[Mutant, _Tried], not_compared: dict[Check, str]) -> Iterator[Noticed]:
    for mutant, state in tried.items():
        reason = state.reason if state.num_tried else not_compared.get(mutant.check, "")
        yield Noticed(
            mutant=mutant,
            num_tried=state.num_tried,
            case_number=state.case_number,
            deviations=frozenset(state.deviations),
            reason=reason,
        )


def _mutated(report: CaseReport, checker: Checker, done: set[str]) -> Iterator[tuple[Mutant, Answer]]:
    """Yield the wrong answers that can be made of a right one."""
    case, right = report.case, report.result
    if not isinstance(right, Outcome | Rejection):
        return
    right = _plain(right)
    for mutant, change in _CHANGES.items():
        if mutant.name not in done and (wrong := change(case, right)) is not None:
            yield mutant, wrong
    if isinstance(right, Outcome):
        for name in right.metrics:
            metrics = dict(right.metrics)
            metrics[name] += 1
            yield Mutant(f"{name} is one more", Check.METRICS), replace(right, metrics=metrics)
    yield from _other_meanings(report, right, checker, done)


def _other_meanings(
    report: CaseReport, right: Answer, checker: Checker, done: set[str]
) -> Iterator[tuple[Mutant, Answer]]:
    """Yield the answers of an engine that reads the statement in another way, as the reference evaluates that.

    These are the alternatives that explain a finding, here before there is one.
    """
    seen = set(done)
    for alternative in alternatives(report.case, report.reference.trace):
        name = alternative.family
        if name in seen:
            continue
        answer = answered(checker.reference(alternative.case).answer)
        if isinstance(answer, Unsupported):
            continue
        wrong = _in_the_form_of(right, answer)
        if _is_other(right, wrong):
            seen.add(name)
            yield Mutant(name, Check.ROWS), wrong


def _in_the_form_of(right: Answer, answer: Answer) -> Answer:
    """Leave out the observables that the engine does not report."""
    if isinstance(answer, Rejection):
        return replace(answer, unchanged=True)
    if isinstance(right, Rejection):
        return replace(answer, metrics={}, cdf=None, committed=None, path=None, result_row=None)
    metrics = {name: answer.metrics.get(name, value) for name, value in right.metrics.items()}
    return replace(
        right,
        schema=answer.schema,
        rows=answer.rows,
        metrics=metrics,
        cdf=None if right.cdf is None else answer.cdf,
        committed=None if right.committed is None else answer.committed,
        path=None if right.path is None else answer.path,
        result_row=None if right.result_row is None else answer.result_row,
    )


def _is_other(right: Answer, wrong: Answer) -> bool:
    """Return whether an answer is another one by more than the class of its error."""
    if isinstance(right, Outcome) and isinstance(wrong, Outcome):
        return Counter(map(repr, right.rows)) != Counter(map(repr, wrong.rows))
    return type(right) is not type(wrong)


def _plain(right: Answer) -> Answer:
    """Leave out the files of an answer, so that a changed row is noticed by the row alone."""
    if not isinstance(right, Outcome):
        return right
    return Outcome(
        schema=right.schema,
        rows=right.rows,
        metrics=right.metrics,
        cdf=right.cdf,
        committed=right.committed,
        path=right.path,
        result_row=right.result_row,
        feed=right.feed,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table after a merge: those it had before, those that are new, and those that are gone."""

    kept: tuple[Row, ...]
    new: tuple[Row, ...]
    gone: tuple[Row, ...]


def _rows(case: Case, after: Outcome) -> _Rows:
    num_added = len(after.schema.columns) - len(case.target.schema.columns)
    before = [(*row, *[None] * num_added) for row in case.target.rows]
    left = Counter(map(repr, before))
    kept: list[Row] = []
    new: list[Row] = []
    for row in after.rows:
        known = left[repr(row)] > 0
        left[repr(row)] -= known
        (kept if known else new).append(row)
    gone = []
    for row in before:
        if left[repr(row)] > 0:
            left[repr(row)] -= 1
            gone.append(row)
    return _Rows(tuple(kept), tuple(new), tuple(gone))


def _by_rows(change: Callable[[_Rows], list[Row] | None]) -> Change:
    """Make a change of the rows after the merge."""

    def changed(case: Case, right: Answer) -> Answer | None:
        if not isinstance(right, Outcome):
            return None
        rows = change(_rows(case, right))
        return None if rows is None else replace(right, rows=tuple(rows))

    return changed


def _lost_copy(rows: _Rows) -> list[Row] | None:
    return [*rows.kept[1:], *rows.new] if rows.kept else None


def _doubled_copy(rows: _Rows) -> list[Row] | None:
    return [rows.kept[0], *rows.kept, *rows.new] if rows.kept else None


def _lost_new(rows: _Rows) -> list[Row] | None:
    return [*rows.kept, *rows.new[1:]] if rows.new else None


def _doubled_new(rows: _Rows) -> list[Row] | None:
    return [rows.new[0], *rows.kept, *rows.new] if rows.new else None


def _old_stays(rows: _Rows) -> list[Row] | None:
    return [rows.gone[0], *rows.kept, *rows.new] if rows.gone else None


def _not_updated(rows: _Rows) -> list[Row] | None:
    return [rows.gone[0], *rows.kept, *rows.new[1:]] if rows.gone and rows.new else None


def _untouched(rows: _Rows) -> list[Row] | None:
    return [*rows.kept, *rows.gone] if rows.gone or rows.new else None


def _cell(choose: Callable[[Case, Outcome, Row, int], Iterable[Value]], *, of_new_rows: bool = True) -> Change:
    """Make a change of one cell: the first that ``choose`` gives another value for, of the written rows or of all."""

    def changed(case: Case, right: Answer) -> Answer | None:
        if not isinstance(right, Outcome):
            return None
        found = _rows(case, right)
        rows = [*found.new, *(() if of_new_rows else found.kept)]
        rest = found.kept if of_new_rows else ()
        for (i, row), place in itertools.product(enumerate(rows), range(len(right.schema.columns))):
            for value in choose(case, right, row, place):
                wrong = (*row[:place], value, *row[place + 1 :])
                return replace(right, rows=(*rest, *rows[:i], wrong, *rows[i + 1 :]))
        return None

    return changed


def _null(_case: Case, _right: Outcome, row: Row, place: int) -> Iterator[Value]:
    if row[place] is not None:
        yield None


def _of_same_type(_case: Case, right: Outcome, row: Row, place: int) -> Iterator[Value]:
    kind = right.schema.columns[place].type
    for other, column in enumerate(right.schema.columns):
        if other != place and column.type == kind and repr(row[other]) != repr(row[place]):
            yield row[other]


def _stale_partition(case: Case, right: Outcome, row: Row, place: int) -> Iterator[Value]:
    name = right.schema.columns[place].name.lower()
    if name in (column.lower() for column in case.target.partition_by):
        yield from (other[place] for other in case.target.rows if repr(other[place]) != repr(row[place]))


def _as_value(other: Callable[[Value], Value]) -> Callable[[Case, Outcome, Row, int], Iterator[Value]]:
    """Make a change of a value alone; ``other`` returns the value itself if it does not concern it."""

    def choose(_case: Case, _right: Outcome, row: Row, place: int) -> Iterator[Value]:
        value = other(row[place])
        if repr(value) != repr(row[place]):
            yield value

    return choose


def _without_nan(value: Value) -> Value:
    return None if isinstance(value, float) and math.isnan(value) else value


def _without_sign_of_zero(value: Value) -> Value:
    return 0.0 if isinstance(value, float) and value == 0.0 else value


def _last_digit(value: Value) -> Value:
    return value + Decimal(1).scaleb(int(value.as_tuple().exponent)) if isinstance(value, Decimal) else value


def _other_hour(value: Value) -> Value:
    try:
        return value - _HOUR if isinstance(value, dt.datetime) else value
    except OverflowError:
        return value


def _next_day(value: Value) -> Value:
    is_date = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
    return value + dt.timedelta(days=1) if is_date and value < dt.date.max else value


def _by_schema(change: Callable[[Case, Outcome], Outcome | None]) -> Change:
    def changed(case: Case, right: Answer) -> Answer | None:
        return change(case, right) if isinstance(right, Outcome) and right.schema.columns else None

    return changed


def _new_column_missing(case: Case, right: Outcome) -> Outcome | None:
    if len(right.schema.columns) <= len(case.target.schema.columns) or right.cdf is not None:
        return None
    return replace(right, schema=Schema(right.schema.columns[:-1]), rows=tuple(row[:-1] for row in right.rows))


def _other_nullability(_case: Case, right: Outcome) -> Outcome:
    first = right.schema.columns[0]
    return replace(right, schema=Schema((replace(first, nullable=not first.nullable), *right.schema.columns[1:])))


def _wider_type(_case: Case, right: Outcome) -> Outcome | None:
    for i, column in enumerate(right.schema.columns):
        if column.type == types.INT:
            columns = right.schema.columns
            return replace(right, schema=Schema((*columns[:i], replace(column, type=types.BIGINT), *columns[i + 1 :])))
    return None


def _by_feed(change: Callable[[tuple[Row, ...]], tuple[Row, ...] | None]) -> Change:
    """Make a change of the change rows."""

    def changed(_case: Case, right: Answer) -> Answer | None:
        if not isinstance(right, Outcome) or right.cdf is None:
            return None
        rows = change(right.cdf)
        return None if rows is None else replace(right, cdf=rows)

    return changed


def _without(kind: str) -> Change:
    def change(feed: tuple[Row, ...]) -> tuple[Row, ...] | None:
        for i, row in enumerate(feed):
            if row[-1] == kind:
                return (*feed[:i], *feed[i + 1 :])
        return None

    return _by_feed(change)


def _doubled_change(feed: tuple[Row, ...]) -> tuple[Row, ...] | None:
    return (feed[0], *feed) if feed else None


def _renamed(names: dict[str, str]) -> Change:
    def change(feed: tuple[Row, ...]) -> tuple[Row, ...] | None:
        renamed = tuple((*row[:-1], names.get(row[-1], row[-1])) for row in feed)
        return renamed if Counter(map(repr, renamed)) != Counter(map(repr, feed)) else None

    return _by_feed(change)


def _new_values_before(feed: tuple[Row, ...]) -> tuple[Row, ...] | None:
    before = [row for row in feed if row[-1] == "update_preimage"]
    after = [row for row in feed if row[-1] == "update_postimage"]
    if len(before) != 1 or len(after) != 1 or repr(before[0][:-1]) == repr(after[0][:-1]):
        return None
    rest = [row for row in feed if row[-1] not in ("update_preimage", "update_postimage")]
    return (*rest, (*after[0][:-1], "update_preimage"), after[0])


def _of_copied(case: Case, right: Answer) -> Answer | None:
    if not isinstance(right, Outcome) or right.cdf is None or not (kept := _rows(case, right).kept):
        return None
    return replace(right, cdf=(*right.cdf, (*kept[0], "update_preimage"), (*kept[0], "update_postimage")))


def _other_commit(_case: Case, right: Answer) -> Answer | None:
    if not isinstance(right, Outcome) or right.committed is None:
        return None
    return replace(right, committed=not right.committed)


def _other_path(_case: Case, right: Answer) -> Answer | None:
    if not isinstance(right, Outcome) or right.path is None:
        return None
    return replace(right, path=MergePath.B if right.path is not MergePath.B else MergePath.D)


def _other_result(_case: Case, right: Answer) -> Answer | None:
    if not isinstance(right, Outcome) or not right.result_row:
        return None
    first = next(iter(right.result_row))
    return replace(right, result_row={**right.result_row, first: right.result_row[first] + 1})


def _error_swallowed(case: Case, right: Answer) -> Answer | None:
    return Outcome(schema=case.target.schema, rows=case.target.rows) if isinstance(right, Rejection) else None


def _other_error(_case: Case, right: Answer) -> Answer | None:
    return replace(right, error_class="INTERNAL_ERROR") if isinstance(right, Rejection) else None


def _half_done(_case: Case, right: Answer) -> Answer | None:
    if not isinstance(right, Rejection) or right.unchanged is None:
        return None
    return replace(right, unchanged=False)


def _fails(_case: Case, right: Answer) -> Answer | None:
    return None if isinstance(right, Rejection) else Rejection(error_class="INTERNAL_ERROR", message="mutant")


_CHANGES: dict[Mutant, Change] = {
    Mutant("a copied row is lost", Check.ROWS): _by_rows(_lost_copy),
    Mutant("a copied row is doubled", Check.ROWS): _by_rows(_doubled_copy),
    Mutant("a written row is lost", Check.ROWS): _by_rows(_lost_new),
    Mutant("a written row is doubled", Check.ROWS): _by_rows(_doubled_new),
    Mutant("a deleted or updated row stays", Check.ROWS): _by_rows(_old_stays),
    Mutant("an update is not applied", Check.ROWS): _by_rows(_not_updated),
    Mutant("the table is left as it was", Check.ROWS): _by_rows(_untouched),
    Mutant("a written value is NULL", Check.ROWS): _cell(_null),
    Mutant("a written value is another column's", Check.ROWS): _cell(_of_same_type),
    Mutant("a written row has a stale partition value", Check.ROWS): _cell(_stale_partition),
    Mutant("an empty text becomes NULL", Check.ROWS): _cell(
        _as_value(lambda value: None if value in ("", b"") else value), of_new_rows=False
    ),
    Mutant("a text loses its blanks at the end", Check.ROWS): _cell(
        _as_value(lambda value: value.rstrip(" ") if isinstance(value, str) else value), of_new_rows=False
    ),
    Mutant("-0.0 becomes 0.0", Check.ROWS): _cell(_as_value(_without_sign_of_zero), of_new_rows=False),
    Mutant("NaN becomes NULL", Check.ROWS): _cell(_as_value(_without_nan), of_new_rows=False),
    Mutant("the last digit of a decimal is off by one", Check.ROWS): _cell(_as_value(_last_digit), of_new_rows=False),
    Mutant("a timestamp is an hour early", Check.ROWS): _cell(_as_value(_other_hour), of_new_rows=False),
    Mutant("a date is a day late", Check.ROWS): _cell(_as_value(_next_day), of_new_rows=False),
    Mutant("the column that evolution adds is missing", Check.SCHEMA): _by_schema(_new_column_missing),
    Mutant("a column has the other nullability", Check.SCHEMA): _by_schema(_other_nullability),
    Mutant("an INT column becomes BIGINT", Check.SCHEMA): _by_schema(_wider_type),
    Mutant("a pre-image is missing", Check.CDF): _without("update_preimage"),
    Mutant("a post-image is missing", Check.CDF): _without("update_postimage"),
    Mutant("an insert is missing in the feed", Check.CDF): _without("insert"),
    Mutant("a delete is missing in the feed", Check.CDF): _without("delete"),
    Mutant("a change row is doubled", Check.CDF): _by_feed(_doubled_change),
    Mutant("an update is a delete and an insert", Check.CDF): _renamed(
        {"update_preimage": "delete", "update_postimage": "insert"}
    ),
    Mutant("the images of an update are swapped", Check.CDF): _renamed(
        {"update_preimage": "update_postimage", "update_postimage": "update_preimage"}
    ),
    Mutant("a pre-image has the new values", Check.CDF): _by_feed(_new_values_before),
    Mutant("a copied row is in the feed", Check.CDF): _of_copied,
    Mutant("a commit is missing, or made in vain", Check.COMMIT): _other_commit,
    Mutant("another path is taken", Check.PATH): _other_path,
    Mutant("a number of the command's result is off", Check.RESULT): _other_result,
    Mutant("an error is swallowed", Check.ERROR): _error_swallowed,
    Mutant("the error is of another class", Check.ERROR): _other_error,
    Mutant("a failed merge leaves a changed table", Check.UNCHANGED): _half_done,
    Mutant("the merge fails", Check.ERROR): _fails,
}
