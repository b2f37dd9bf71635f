"""Holds a history against the specification: a serial order that gives it, and the conflicts of R-750."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.scenario import Isolation
from mergecheck.harness.lab.concurrency.serial import after, after_all
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import row_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.delta.read import TableState
    from mergecheck.harness.lab.concurrency.history import Ending, History
    from mergecheck.harness.lab.concurrency.scenario import Writer
    from mergecheck.harness.lab.concurrency.serial import After
    from mergecheck.model.case import Row, Target
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference import MergeReference

    Conflicts = Mapping[tuple[str, str], str]
    """As in ``Scenario.conflicts``."""

_REMOVING = frozenset({"delete", "update_preimage"})
"""The types of change rows that are gone."""


@dataclass(frozen=True, slots=True)
class SerialOrder:
    """A serial order of the writers that committed; ``difference`` is empty if it gives the history."""

    order: tuple[str, ...]
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A writer that lost against others.

    Attributes:
        is_needless: whether the writer does the same after the winners' commits as on the version that it read: the
            same rows changed in the same way, the same row returned. If it had been committed behind the winners,
            nothing would have been lost, and the history would equal a serial order.
        is_by_rule: whether R-750 has a winner in the writer's way.
    """

    writer: str
    is_needless: bool
    is_by_rule: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The faults of a history, if any.

    Attributes:
        tried: all serial orders, the log's order first.
        conflicts: who lost, graded; only of a history that follows the order of the log, and only if it is known who
            conflicts with whom.
        is_serial: whether the history equals a serial order; under ``Snapshot`` it need not.
    """

    problems: tuple[str, ...]
    tried: tuple[SerialOrder, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    is_serial: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges histories of writers that started together on one table.

    Attributes:
        target: the table as it was.
        conflicts: the pairs of writers that conflict; None if unknown, so that any writer may lose against any other.
        may_give_up: whether a writer may lose where R-750 has nothing in its way, and may call the conflict otherwise.
        must_give_up: whether a writer must lose where R-750 has somebody in its way; if not, it may commit as long as
            the history is what the isolation promises.
        by_class: whether a failed merge must have the class of error that the reference has; if not, it must only fail.
        commits_by_rule: a merge that changes no row makes a version if R-731 and R-732 say so; otherwise it may do so.
    """

    target: Target
    writers: tuple[Writer, ...]
    reference: MergeReference
    isolation: Isolation = Isolation.SERIALIZABLE
    conflicts: Conflicts | None = None
    commits_by_rule: bool = True
    may_give_up: bool = False
    must_give_up: bool = True
    by_class: bool = True

    def judge(self, history: History) -> Verdict:
        """Return the verdict on a history."""
        wrong_versions = list(_wrong_versions(history))
        problems = [*wrong_versions, *self._wrong_conflicts(history)]
        tried = self._tried_orders(history)
        allowed = tried[:1] if self.isolation is Isolation.SERIALIZABLE else tried
        is_serial = not all(one.difference for one in allowed)
        if self.isolation is Isolation.SNAPSHOT:
            problems += self._wrong_snapshots(history)
        elif not is_serial:
            which = "order" if len(allowed) > 1 else "order of the log"
            problems.append(f"the history equals no serial {which} ({self.isolation.value})")
        if history.misread:
            problems.append(f"the engine reads version {history.states[-1].version} otherwise: {history.misread}")
        follows_log = not wrong_versions and not tried[0].difference
        return Verdict(
            problems=tuple(problems),
            tried=tuple(tried) if problems else (),
            conflicts=tuple(self._graded(history)) if follows_log and self.conflicts is not None else (),
            is_serial=is_serial,
        )

    def _wrong_snapshots(self, history: History) -> Iterator[str]:
        """Apply to each version what the next writer changes in the rows of the version that it read."""
        for name in history.order:
            ending = history.endings[name]
            assert ending.version is not None  # noqa: S101 - it is in the order
            seen, before = (history.state(version).rows for version in (ending.read, ending.version - 1))
            then = after(_with_changes(replace(self.target, files=(seen,))), self._writer(name), self.reference)
            if then.rejection is not None:
                yield f"{name} {ending.said()}, but at version {ending.read} it fails ({then.rejection.error_class})"
                continue
            changes = then.changes or ()
            gone = Counter(row[:-1] for row in changes if row[-1] in _REMOVING)
            if gone - Counter(before):
                yield f"{name} {ending.said()}, and another writer has changed its rows since version {ending.read}"
                continue
            new = (row[:-1] for row in changes if row[-1] not in _REMOVING)
            wanted = (*(Counter(before) - gone).elements(), *new)
            state = history.state(ending.version)
            yield from _different_rows(f"version {ending.version}", wanted, self.target.schema, state)

    def _graded(self, history: History) -> Iterator[Conflict]:
        lost = [(name, end) for name, end in history.endings.items() if end.kind is EndingKind.CONFLICT]
        if not lost:
            return
        done = after_all(self.target, [self._writer(name) for name in history.order], self.reference)
        tables = [self.target, *(then.target for then in done)]
        start = history.states[0].version
        for name, ending in lost:
            yield Conflict(
                writer=name,
                is_needless=self._does_the_same(name, tables[ending.read - start], tables[ending.newest - start]),
                is_by_rule=any(self._lost_against(history, name, ending)),
            )

    def _does_the_same(self, name: str, before: Target, later: Target) -> bool:
        """Return whether a writer changes the same rows in the same way in two states of the table."""
        one, other = (after(_with_changes(table), self._writer(name), self.reference) for table in (before, later))
        if one.rejection is not None or other.rejection is not None or one.target.schema != other.target.schema:
            return False
        schema = change_schema(one.target.schema)
        return one.row == other.row and same_rows(one.changes or (), other.changes or (), schema)

    def _tried_orders(self, history: History) -> list[SerialOrder]:
        """Try the order of the log, and all others if it does not give the history."""
        first = self._tried(history, history.order, by_version=True)
        if not first.difference:
            return [first]
        others = (order for order in itertools.permutations(history.order) if order != history.order)
        return [first, *(self._tried(history, order, by_version=False) for order in others)]

    def _tried(self, history: History, order: Sequence[str], *, by_version: bool) -> SerialOrder:
        """Compare a history with a serial order: after each version, or only at the end."""
        left = after_all(self.target, [self._writer(name) for name in order], self.reference)
        problems = itertools.chain(
            self._wrong_answers(history, order, left),
            self._wrong_tables(history, order, left, by_version=by_version),
            self._wrong_observers(history, left, by_version=by_version),
        )
        return SerialOrder(tuple(order), next(problems, ""))

    def _wrong_answers(self, history: History, order: Sequence[str], left: Sequence[After]) -> Iterator[str]:
        """Find writers that committed without being allowed to, or that report other changed rows."""
        for name, then in zip(order, left, strict=True):
            ending = history.endings[name]
            if then.rejection is not None or (then.commits is False and self.commits_by_rule):
                why = "has nothing to do" if then.rejection is None else f"fails ({then.rejection.error_class})"
                yield f"{name} {why} there"
            elif ending.row is not None and then.row is not None and dict(ending.row) != dict(then.row):
                yield f"{name} says {_counts(ending.row)}, but there it is {_counts(then.row)}"

    def _wrong_tables(
        self, history: History, order: Sequence[str], left: Sequence[After], *, by_version: bool
    ) -> Iterator[str]:
        """Find versions that hold other rows, or have other change rows; the last one only unless ``by_version``."""
        if not by_version:
            wanted = left[-1].target if left else self.target
            yield from _different_rows("the table", wanted.rows, wanted.schema, history.states[-1])
            return
        yield from _different_rows("the table", self.target.rows, self.target.schema, history.states[0])
        for name, then in zip(order, left, strict=True):
            version = history.endings[name].version
            if version is None or version > history.states[-1].version:
                continue
            state = history.state(version)
            yield from _different_rows(f"version {version}", then.target.rows, then.target.schema, state)
            if then.changes is not None and (found := history.changes.get(version)) is not None:
                schema = change_schema(then.target.schema)
                if not same_rows(then.changes, found, schema):
                    yield _shown(f"the changes of version {version}", then.changes, found, schema, schema)

    def _wrong_observers(self, history: History, left: Sequence[After], *, by_version: bool) -> Iterator[str]:
        """Find writers that left the table alone, but do something else at every version that they can have seen."""
        tables = [self.target, *(then.target for then in left)]
        start = history.states[0].version
        for name, ending in history.endings.items():
            if ending.kind not in (EndingKind.NOTHING, EndingKind.REJECTED):
                continue
            seen = tables[ending.read - start : ending.newest - start + 1] if by_version else tables
            if not any(self._answers_so(name, ending, table) for table in seen):
                yield f"{name} {ending.said()}, which it does at no version from {ending.read} to {ending.newest}"

    def _answers_so(self, name: str, ending: Ending, table: Target) -> bool:
        then = after(table, self._writer(name), self.reference)
        if ending.kind is EndingKind.NOTHING:
            may_skip = then.commits is not True or not (self.commits_by_rule or then.changes_rows)
            return then.rejection is None and may_skip
        if then.rejection is None:
            return False
        return not self.by_class or ending.error in {then.rejection.error_class, *then.rejection.other_classes}

    def _wrong_conflicts(self, history: History) -> Iterator[str]:
        """Compare who lost with R-750: the first commit since the version that was read decides."""
        for name, ending in history.endings.items():
            if ending.kind not in (EndingKind.COMMITTED, EndingKind.CONFLICT):
                continue
            may_lose = self.conflicts is None or self.may_give_up
            if may_lose and ending.kind is EndingKind.CONFLICT:
                if ending.newest == ending.read:
                    yield f"{name} {ending.said()}, but nobody has committed since version {ending.read}"
                continue
            if self.conflicts is None:
                continue
            if not self.must_give_up and ending.kind is EndingKind.COMMITTED:
                continue
            wanted = next((error for error in self._lost_against(history, name, ending)), "")
            if wanted != ending.error:
                yield f"{name} {ending.said()}, but R-750 says {wanted or 'that nothing is in its way'}"

    def _lost_against(self, history: History, name: str, ending: Ending) -> Iterator[str]:
        last = ending.newest if ending.version is None else ending.version - 1
        for winner in history.order:
            version = history.endings[winner].version
            if winner != name and version is not None and ending.read < version <= last:
                error = (self.conflicts or {}).get((name, winner))
                if error is not None:
                    yield error

    def _writer(self, name: str) -> Writer:
        return next(writer for writer in self.writers if writer.name == name)


def _with_changes(table: Target) -> Target:
    return replace(table, properties={**table.properties, CDF_PROPERTY: "true"})


def _wrong_versions(history: History) -> Iterator[str]:
    """Find versions that several writers, or none of them, report as committed."""
    claims = [ending.version for ending in history.endings.values() if ending.version is not None]
    versions = [state.version for state in history.states[1:]]
    for name, ending in history.endings.items():
        if ending.version is not None and ending.kind is not EndingKind.COMMITTED:
            yield f"{name} {ending.said()}, but version {ending.version} is its"
    for version in sorted({*claims, *versions}):
        count = claims.count(version)
        if version not in versions:
            yield f"version {version} was committed, but is not there"
        elif count != 1:
            yield f"{count or 'no'} writers say that they committed version {version}"


def _different_rows(what: str, rows: Sequence[Row], schema: Schema, found: TableState) -> Iterator[str]:
    if schema.names != found.schema.names or not same_rows(rows, found.rows, schema):
        yield _shown(what, rows, found.rows, schema, found.schema)


def _shown(what: str, wanted: Sequence[Row], found: Sequence[Row], schema: Schema, found_schema: Schema) -> str:
    return f"{what} would hold {rows_said(wanted, schema)}, but holds {rows_said(found, found_schema)}"


def rows_said(rows: Sequence[Row], schema: Schema) -> str:
    """Write rows in one line, in the order of their texts."""
    return ", ".join(sorted(row_text(row, schema) for row in rows)) or "no row"


def _counts(row: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {count}" for name, count in row.items())
