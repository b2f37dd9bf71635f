"""Which files of the target a merge needs to read, and which to rewrite.

A file has to be *rewritten* (or marked by a deletion vector) if the merge updates or deletes one of its rows. It may be
*left unread* if no row that the log allows in it can have a part in the merge: no row of the source that has an effect
there can match it, and no BY SOURCE clause can apply to it. Every other file has to be read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.harness.oracles.work.condition_parts import clause_conditions, search_parts
from mergecheck.harness.oracles.work.file_bounds import bounds_of_files
from mergecheck.harness.oracles.work.possible_rows import InexactError, TooManyRowsError, possible_rows
from mergecheck.model.duckdb_rows import create_table, read_rows
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.data_types import VOID, Field, Schema
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.harness.oracles.work.condition_parts import Condition, Part
    from mergecheck.harness.oracles.work.file_bounds import ColumnPath, FileBounds
    from mergecheck.model.case import Case, Row, Value
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.merge_reference import MergeReference, ResolvedCase


class Need(Enum):
    """What a merge needs to do with a file; the value is how reports call it."""

    REWRITE = "must be rewritten"
    READ = "must be read"
    SKIP = "may be left unread"


class ExcludedBy(Enum):
    """What excludes a file that may be left unread; the value is how reports call it."""

    STATEMENT = "the statement"
    SOURCE = "the rows of the source"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNeed:
    """What a merge needs to do with one file of the target.

    Attributes:
        number: its place in ``model.layout.physical_files``.
        num_rows: live rows before the merge.
        num_changed: rows that the merge updates or deletes.
        has_part: whether it holds a row that is changed, or whose match keeps a source row from being inserted.
        is_decided: whether every condition was understood; if not, the file may have to be read for that reason alone.
        excluded_by: of a file that may be left unread.
        reason: the part of a condition that no row of the file can satisfy; empty if several exclude it together.
    """

    number: int
    num_rows: int
    num_changed: int
    has_part: bool
    need: Need
    is_decided: bool = True
    excluded_by: ExcludedBy | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnknownNeeds:
    """No file's need is known, for a countable reason."""

    reason: str


def file_needs(case: Case, reference: Reference, merges: MergeReference) -> tuple[FileNeed, ...] | UnknownNeeds:
    """Judge every file of a case's target, in the order of ``model.layout.physical_files``.

    Args:
        case: the merge.
        reference: its evaluation.
        merges: resolves the statement.
    """
    trace = reference.trace
    if not isinstance(reference.answer, Prediction) or trace.effects is None or trace.matches is None:
        return UnknownNeeds("a merge that is refused or not predicted")
    try:
        resolved = merges.resolve(case)
    except UnsupportedByReferenceError as unsupported:
        return UnknownNeeds(unsupported.reason)
    except RejectedError as rejected:  # for the reference that predicted it, another evaluator has resolved it
        return UnknownNeeds(rejected.message)
    changed = Counter(trace.files[rid] for rid in (*trace.effects.updated, *trace.effects.deleted))
    statement = _Statement(resolved)
    matched = {trace.files[rid] for _, rid in trace.matches.pairs} if statement.inserts else set()
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
        rows = _Rows(connection=connection, case=case, statement=statement, resolved=resolved)
        rows.load_source()
        return tuple(
            _need(number, len(live), changed[number], rows, bounds, has_part=bool(changed[number]) or number in matched)
            for number, ((_, live), bounds) in enumerate(
                zip(physical_files(case.target), bounds_of_files(case.target), strict=True)
            )
        )


def _need(number: int, num_rows: int, num_changed: int, rows: _Rows, bounds: FileBounds, *, has_part: bool) -> FileNeed:
    def need(kind: Need, *, decided: bool = True, by: ExcludedBy | None = None, reason: str = "") -> FileNeed:
        return FileNeed(
            number=number,
            num_rows=num_rows,
            num_changed=num_changed,
            has_part=has_part,
            need=kind,
            is_decided=decided,
            excluded_by=by,
            reason=reason,
        )

    if num_changed:
        return need(Need.REWRITE)
    for by in ExcludedBy:
        verdict = rows.judge(bounds, knows_source=by is ExcludedBy.SOURCE)
        if not verdict.may_have_part:
            return need(Need.SKIP, by=by, reason=verdict.reason)
    return need(Need.READ, decided=verdict.is_decided)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether a row that the log allows may have a part in the merge."""

    may_have_part: bool
    is_decided: bool = True
    reason: str = ""


class _Statement:
    """The conditions of a statement, in parts."""

    def __init__(self, resolved: ResolvedCase) -> None:
        self.on: tuple[Part, ...] = search_parts(resolved)
        self.clauses: tuple[Condition, ...] = clause_conditions(resolved)

    def of(self, kind: Kind) -> list[Condition]:
        return [clause for clause in self.clauses if clause.kind is kind]

    @property
    def inserts(self) -> bool:
        return bool(self.of(Kind.NOT_MATCHED))

    @property
    def target_parts(self) -> list[Part]:
        """All parts that are asked about rows of the target."""
        kinds = (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
        return [*self.on, *(part for kind in kinds for clause in self.of(kind) for part in clause.parts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of the source, and possible rows of one file, in DuckDB."""

    connection: DuckDBPyConnection
    case: Case
    statement: _Statement
    resolved: ResolvedCase
    values: dict[str, list[Value] | None] = field(default_factory=dict)
    """By its SQL, all values of an expression; None if one of them cannot be computed."""

    def load_source(self) -> None:
        source = self.resolved.source
        self._create("source", source.rows, source.schema, TableSide.SOURCE)
        for part in self.statement.target_parts:
            for value in (value for comparison in part.comparisons for value in comparison.values):
                rows = "source" if TableSide.SOURCE in value.sides else "(SELECT 1)"
                query = f"SELECT DISTINCT {value.sql} FROM {rows}"
                try:
                    found = read_rows(self.connection, query, Schema((Field("value", value.type),)))
                except (duckdb.Error, ValueError):
                    self.values[value.sql] = None
                else:
                    self.values[value.sql] = [] if value.type == VOID else [each for (each,) in found]

    def judge(self, bounds: FileBounds, *, knows_source: bool) -> _Verdict:
        """Decide whether a row that the log allows in a file may have a part in the merge.

        Args:
            bounds: what the log knows of the file.
            knows_source: whether the rows of the source may be looked at; if not, it is taken to have all rows.
        """

        def is_known(part: Part) -> bool:
            return self._is_known(part, bounds) and (knows_source or not part.uses_source)

        on = [part for part in self.statement.on if is_known(part)]
        matched, by_source = (
            [[part for part in clause.parts if is_known(part)] for clause in self.statement.of(kind)]
            for kind in (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
        )
        is_decided = all(self._is_known(part, bounds) for part in self.statement.target_parts)
        used = [*on, *(part for parts in (*matched, *by_source) for part in parts)]
        try:
            rows = possible_rows(bounds, self.case.target.schema, self._compared(used))
        except (TooManyRowsError, InexactError):
            return _Verdict(may_have_part=True, is_decided=False)
        self._create("target", rows, self.case.target.schema, TableSide.TARGET)
        tables = "source, target" if knows_source else "target"
        effects = [_all(parts) for parts in matched] + self._inserts(knows_source=knows_source)
        unmatched = "TRUE"
        if knows_source and len(on) == len(self.statement.on):
            unmatched = f"NOT EXISTS (SELECT 1 FROM source WHERE {_all(on)})"
        try:
            may_match = self._any(tables, f"{_all(on)} AND {_either(effects)}")
            may_stay = self._any("target", f"{_either([_all(parts) for parts in by_source])} AND {unmatched}")
            reason = "" if may_match or may_stay else self._reason(on, tables)
        except duckdb.Error:
            return _Verdict(may_have_part=True, is_decided=False)
        return _Verdict(may_have_part=may_match or may_stay, is_decided=is_decided, reason=reason)

    def _reason(self, on: Iterable[Part], tables: str) -> str:
        """Give a part of ON that alone excludes the file."""
        return next((part.text for part in on if not self._any(tables, _all([part]))), "")

    def _is_known(self, part: Part, bounds: FileBounds) -> bool:
        """Return whether the possible rows of a file show all values that a part can have."""
        if part.typed is None or any(not bounds.of((column,)).is_single for column in part.opaque):
            return False
        return all(self.values[value.sql] is not None for one in part.comparisons for value in one.values)

    def _compared(self, parts: Iterable[Part]) -> Mapping[ColumnPath, list[Value]]:
        found: dict[ColumnPath, list[Value]] = {}
        for part in parts:
            for column in part.opaque:
                found.setdefault((column,), [])
            for comparison in part.comparisons:
                values = found.setdefault(comparison.path, [])
                for value in comparison.values:
                    values += self.values[value.sql] or []
        return found

    def _inserts(self, *, knows_source: bool) -> list[str]:
        """Write the conditions on which a row of the source is inserted unless it matches."""
        return [
            _all([part for part in clause.parts if part.typed is not None and knows_source])
            for clause in self.statement.of(Kind.NOT_MATCHED)
        ]

    def _create(self, name: str, rows: Sequence[Row], schema: Schema, side: TableSide) -> None:
        columns = (Field(f"{side.value}{place}", column.type) for place, column in enumerate(schema.columns))
        create_table(self.connection, name, rows, Schema(tuple(columns)))

    def _any(self, tables: str, condition: str) -> bool:
        found: list[Any] = self.connection.execute(f"SELECT 1 FROM {tables} WHERE {condition} LIMIT 1").fetchall()
        return bool(found)


def _all(parts: Iterable[Part]) -> str:
    return " AND ".join(["TRUE", *(f"({part.typed.sql})" for part in parts if part.typed is not None)])


def _either(conditions: Iterable[str]) -> str:
    return f"({' OR '.join(['FALSE', *(f'({condition})' for condition in conditions)])})"
