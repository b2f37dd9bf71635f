"""Making a mismatching case smaller, in the order in which a person reads it: clauses, rows, files, settings, columns.

A candidate is taken only if it shows the same fingerprint, so that shrinking never slips to another fault.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.shrink.passes.expressions import num_places, simpler_expressions
from mergecheck.harness.findings.shrink.passes.layout import plainer_layouts, smaller_row_groups
from mergecheck.harness.findings.shrink.passes.names import plainer_names
from mergecheck.harness.findings.shrink.passes.queries import without_query
from mergecheck.harness.findings.shrink.passes.schema import without_columns, without_fields, without_own_values
from mergecheck.harness.findings.shrink.passes.structs import without_structs
from mergecheck.harness.findings.shrink.passes.text_passes import (
    clause_candidates,
    clauses_of,
    condition_candidates,
    head_candidates,
    with_clauses,
)
from mergecheck.harness.findings.shrink.passes.types import plainer_types
from mergecheck.harness.findings.shrink.passes.values import simpler_values
from mergecheck.harness.properties.merge_text import num_clauses
from mergecheck.model.case_id import content_digest, with_content_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case, Row, Source, Target

T = TypeVar("T")

_MANY = 500
_MOST_RUNS = 32
_FEW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrinkLimits:
    """How much shrinking one finding is worth.

    Attributes:
        drawing_share: the part of both limits after which Hypothesis, too, leaves the rest to the domain's own passes.
    """

    max_seconds: float = 60.0
    max_runs: int = 4_000
    drawing_share: float = 0.7


class Attempts:
    """Tries candidates against one fingerprint and remembers the smallest that shows it."""

    def __init__(
        self,
        found: CaseReport,
        *,
        check: Callable[[Case], CaseReport],
        limits: ShrinkLimits,
        on_smaller: Callable[[Attempts], None] = lambda _: None,
    ) -> None:
        wanted = fingerprint(found)
        if wanted is None:
            raise ValueError(f"case {found.case.id} shows no mismatch: there is nothing to shrink")
        self.fingerprint: Fingerprint = wanted
        self.original = found.case
        self.best = found
        self.num_runs = 0
        self.refused = False
        self._check = check
        self._limits = limits
        self._on_smaller = on_smaller
        self._started = time.monotonic()
        self._known = {content_digest(found.case): True}

    @property
    def seconds(self) -> float:
        """Time since the first attempt could be made."""
        return time.monotonic() - self._started

    def is_spent(self, *, share: float = 1.0) -> bool:
        """Return whether a part of the limits is used up."""
        return self.num_runs >= share * self._limits.max_runs or self.seconds >= share * self._limits.max_seconds

    @property
    def is_cut_short(self) -> bool:
        """Return whether a limit ended it before nothing smaller was left to try."""
        return self.refused or self.is_spent()

    @property
    def is_drawing_spent(self) -> bool:
        """Return whether the rest of the limits is reserved for the domain's own passes."""
        return self.is_spent(share=self._limits.drawing_share)

    def reproduces(self, case: Case) -> bool:
        """Return whether a case shows the fingerprint; the smallest one so far is kept in ``best``."""
        digest = content_digest(case)
        if digest not in self._known:
            report = self._run(case)
            if report is None:
                return False
            self._known[digest] = fingerprint(report) == self.fingerprint
            if self._known[digest] and _size(case) < _size(self.best.case):
                self._take(report)
        return self._known[digest]

    def accepts(self, case: Case) -> bool:
        """Take a case, smaller by construction, if it is new and shows the fingerprint."""
        digest = content_digest(case)
        if digest in self._known:
            return False
        report = self._run(case)
        if report is None:
            return False
        self._known[digest] = fingerprint(report) == self.fingerprint
        if self._known[digest]:
            self._take(report)
        return self._known[digest]

    def _run(self, case: Case) -> CaseReport | None:
        if self.is_spent():
            self.refused = True
            return None
        self.num_runs += 1
        return self._check(case)

    def _take(self, report: CaseReport) -> None:
        self.best = report
        self._on_smaller(self)


def shrink(attempts: Attempts) -> CaseReport:
    """Make the best case of some attempts as small as the passes can; its id becomes its content's.

    A mismatch against ``expect`` is left as it is: what its author expects holds for his tables only.
    """
    if attempts.fingerprint.against != "expect":
        if attempts.best.case.expect is not None:
            attempts.accepts(replace(attempts.best.case, expect=None))
        changed = True
        while changed and not attempts.is_spent():
            before = attempts.best
            for reduce in _PASSES:
                reduce(attempts)
            changed = attempts.best is not before
    return replace(attempts.best, case=with_content_id(attempts.best.case))


def is_small(case: Case) -> bool:
    """Return whether a person takes a case in at a glance: no more than 2 + 2 rows and 2 clauses."""
    return max(num_rows(case)) <= _FEW and num_clauses(case.sql) <= _FEW


def num_rows(case: Case) -> tuple[int, int]:
    """Return the number of target rows and of source rows."""
    return len(case.target.rows), len(case.source.rows) if case.source is not None else 0


def _size(case: Case) -> tuple[int, int]:
    num_other_rows = sum(1 + len(table.rows) for table in case.tables.values())
    return sum(num_rows(case)) + num_other_rows + num_clauses(case.sql), len(repr(case))


def _clauses(attempts: Attempts) -> None:
    clauses = clauses_of(attempts.best.case)
    _reduce(attempts, clauses, lambda clauses: with_clauses(attempts.best.case, clauses), min_size=1)


def _files(attempts: Attempts) -> None:
    _reduce(attempts, attempts.best.case.target.files, lambda files: _with_target(attempts, files=files))
    if len(attempts.best.case.target.files) > 1:
        attempts.accepts(_with_target(attempts, files=(attempts.best.case.target.rows,)))
    if attempts.best.case.target.partition_by:
        attempts.accepts(_with_target(attempts, partition_by=()))


def _target_rows(attempts: Attempts) -> None:
    files = attempts.best.case.target.files
    placed = tuple((i, row) for i, file in enumerate(files) for row in file)

    def build(kept: tuple[tuple[int, Row], ...]) -> Case:
        held = tuple(tuple(row for j, row in kept if j == i) for i in range(len(files)))
        return _with_target(attempts, files=held)

    _reduce(attempts, placed, build)


def _source_rows(attempts: Attempts) -> None:
    source = attempts.best.case.source
    if source is not None:
        _reduce(attempts, source.rows, lambda rows: replace(attempts.best.case, source=replace(source, rows=rows)))


def _other_tables(attempts: Attempts) -> None:
    """Drop tables that the statement may do without, and rows of the others."""
    _reduce(
        attempts,
        tuple(attempts.best.case.tables.items()),
        lambda kept: replace(attempts.best.case, tables=dict(kept)),
    )
    for name in attempts.best.case.tables:
        table = attempts.best.case.tables[name]

        def build(rows: tuple[Row, ...], name: str = name, table: Source = table) -> Case:
            case = attempts.best.case
            return replace(case, tables={**case.tables, name: replace(table, rows=rows)})

        _reduce(attempts, table.rows, build)


def _settings(attempts: Attempts) -> None:
    _reduce(attempts, tuple(attempts.best.case.conf.items()), lambda kept: replace(attempts.best.case, conf=dict(kept)))
    properties = tuple(attempts.best.case.target.properties.items())
    _reduce(attempts, properties, lambda kept: _with_target(attempts, properties=dict(kept)))
    transactions = tuple(attempts.best.case.target.transactions.items())
    _reduce(attempts, transactions, lambda kept: _with_target(attempts, transactions=dict(kept)))


def _source_query(attempts: Attempts) -> None:
    relation = attempts.best.reference.trace.source
    for candidate in without_query(attempts.best.case, relation):
        attempts.accepts(candidate)


def _expressions(attempts: Attempts) -> None:
    """Simplify one expression after the other; the candidates in one place do not depend on the others."""
    number = 0
    while number < num_places(attempts.best.case) and not attempts.is_spent():
        if not any(attempts.accepts(candidate) for candidate in simpler_expressions(attempts.best.case, number)):
            number += 1


def _statements(candidates: Callable[[str], Iterator[str]]) -> Callable[[Case], Iterator[Case]]:
    """Turn candidates for a statement into candidates for a case."""
    return lambda case: (replace(case, sql=sql) for sql in candidates(case.sql))


def _exhausting(candidates: Callable[[Case], Iterator[Case]]) -> Callable[[Attempts], None]:
    """Return the pass that takes candidates until the best case offers none that is taken."""

    def reduce(attempts: Attempts) -> None:
        progress = True
        while progress and not attempts.is_spent():
            progress = any(attempts.accepts(candidate) for candidate in candidates(attempts.best.case))

    return reduce


_PASSES = (
    _clauses,
    _exhausting(_statements(head_candidates)),
    _source_query,
    _exhausting(smaller_row_groups),
    _files,
    _target_rows,
    _source_rows,
    _other_tables,
    _settings,
    _exhausting(plainer_layouts),
    _exhausting(_statements(condition_candidates)),
    _exhausting(_statements(clause_candidates)),
    _expressions,
    _exhausting(without_own_values),
    _exhausting(without_columns),
    _exhausting(without_fields),
    _exhausting(without_structs),
    _exhausting(plainer_types),
    _exhausting(simpler_values),
    _exhausting(plainer_names),
)


def _reduce(
    attempts: Attempts, items: tuple[T, ...], build: Callable[[tuple[T, ...]], Case], *, min_size: int = 0
) -> None:
    """Drop ever smaller runs of items as long as the rest shows the fingerprint.

    Of thousands of items no short runs are tried: a fault that needs them all would use the limits up on them.
    """
    size = len(items)
    while size >= (len(items) // _MOST_RUNS if len(items) > _MANY else 1):
        start = 0
        while start < len(items):
            kept = items[:start] + items[start + size :]
            if len(kept) >= min_size and attempts.accepts(build(kept)):
                items = kept
            else:
                start += size
        size //= 2


def _with_target(attempts: Attempts, **changes: object) -> Case:
    case = attempts.best.case
    target: Target = replace(case.target, **changes)  # type: ignore[arg-type]  # names are Target's own fields
    return replace(case, target=target)
