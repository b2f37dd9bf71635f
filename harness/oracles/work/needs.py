"""Which files of the target a merge needs to read, and which to rewrite.

A file has to be *rewritten* (or marked by a deletion vector) if the merge updates or deletes one of its rows. It may be
*left unread* if no row that the log allows in it can have a part in the merge: no row of the source that has an effect
there can match it, and no BY SOURCE clause can apply to it. Every other file has to be read.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

import duckdb

from mergecheck.harness.oracles.work.condition_parts import read_conditions
from mergecheck.harness.oracles.work.file_bounds import bounds_of_files
from mergecheck.harness.oracles.work.possible_rows import InexactError, TooManyRowsError, possible_rows
from mergecheck.model.duckdb_rows import create_table, read_rows
from mergecheck.model.layout import partition_indexes, physical_files
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.data_types import BIGINT, VOID, Field, Schema
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.harness.oracles.work.condition_parts import Comparison, Conditions, Part
    from mergecheck.harness.oracles.work.file_bounds import ColumnPath, FileBounds
    from mergecheck.model.case import Case, Row, Value
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.queries.source_query import SourceRelation

_FILE = "file"


class Need(Enum):
    """The needed work on a file; the value is its name in reports."""

    REWRITE = "must be rewritten"
    READ = "must be read"
    SKIP = "may be left unread"


class ExcludedBy(Enum):
    """What excludes a file that may be left unread; the value is how reports call it."""

    STATEMENT = "the statement"
    SOURCE = "the rows of the source"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNeed:
    """The needed work of a merge on one file of the target.

    Attributes:
        number: its place in ``model.layout.physical_files``.
        num_rows: live rows before the merge.
        num_changed: rows that the merge updates or deletes.
        is_decided: whether every condition was understood; if not, the file may have to be read for that reason alone.
        excluded_by: of a file that may be left unread. With a row that changes, the oracle would contradict itself.
        reason: the part of a condition that no row of the file can satisfy; empty if several exclude it together.
    """

    number: int
    num_rows: int
    num_changed: int
    need: Need
    is_decided: bool = True
    excluded_by: ExcludedBy | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UnknownNeeds:
    """No file's need is known, for a countable reason."""

    reason: str


def file_needs(case: Case, reference: Reference, *, with_bounds: bool = True) -> tuple[FileNeed, ...] | UnknownNeeds:
    """Judge every file of a case's target, in the order of ``model.layout.physical_files``.

    Args:
        case: the merge.
        reference: its evaluation.
        with_bounds: find out which files may be left unread; if not, all others than those with a row that changes
            have to be read.
    """
    trace = reference.trace
    if not isinstance(reference.answer, Prediction) or trace.effects is None or trace.matches is None:
        return UnknownNeeds("a merge that is refused or not predicted")
    if trace.statement is None or trace.source is None or trace.names is None:
        return UnknownNeeds("a merge without a trace")
    changed = Counter(trace.files[rid] for rid in (*trace.effects.updated, *trace.effects.deleted))
    files = [
        FileNeed(
            number=number,
            num_rows=len(live),
            num_changed=changed[number],
            need=Need.REWRITE if changed[number] else Need.READ,
            is_decided=False,
        )
        for number, (_, live) in enumerate(physical_files(case.target))
    ]
    if not with_bounds:
        return tuple(files)
    partitions = partition_indexes(case.target)
    statement = read_conditions(trace.statement, trace.names, trace.clock, partitions=partitions)
    bounds = bounds_of_files(case.target)
    with duckdb.connect(":memory:", config={"temp_directory": ""}) as connection:
        connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
        rows = _Rows(connection=connection, case=case, source=trace.source, statement=statement)
        rows.load_values()
        verdicts = {by: rows.judge(bounds, knows_source=by is ExcludedBy.SOURCE) for by in ExcludedBy}
    return tuple(_need(file, {by: found[file.number] for by, found in verdicts.items()}) for file in files)


def _need(file: FileNeed, verdicts: Mapping[ExcludedBy, _Verdict]) -> FileNeed:
    for by, verdict in verdicts.items():
        if not verdict.may_have_part:
            need = Need.REWRITE if file.num_changed else Need.SKIP
            return replace(file, need=need, is_decided=True, excluded_by=by, reason=verdict.reason)
    return replace(file, is_decided=bool(file.num_changed) or verdicts[ExcludedBy.SOURCE].is_decided)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether a row that the log allows may have a part in the merge."""

    may_have_part: bool
    is_decided: bool = True
    reason: str = ""


class _Asked:
    """The queries about the possible rows of files of which the same parts of conditions are known.

    A part that is not known is taken to be TRUE, which only adds matches; so it never excludes a file.

    Args:
        statement: the conditions.
        known: the known ones of its ``target_parts``.
        knows_source: whether the rows of the source may be looked at.
    """

    def __init__(self, statement: Conditions, known: frozenset[Part], *, knows_source: bool) -> None:
        self._kept = {part for part in known if knows_source or not part.uses_source}
        self._statement = statement
        self._knows_source = knows_source
        self.is_decided = known.issuperset(statement.target_parts)
        self.on = self._known(statement.on)

    def _known(self, parts: Iterable[Part]) -> list[Part]:
        return [part for part in parts if part in self._kept]

    @property
    def parts(self) -> list[Part]:
        return self._known(self._statement.target_parts)

    @property
    def matching(self) -> str:
        """Rows that may match a row of the source with an effect: a MATCHED clause applies, or no insert follows."""
        updated = [_all(self._known(clause.parts)) for clause in self._statement.of(Kind.MATCHED)]
        inserted = [
            _all([part for part in clause.parts if self._knows_source])
            for clause in self._statement.of(Kind.NOT_MATCHED)
        ]
        return f"FROM {self._tables} WHERE {_all(self.on)} AND {_either([*updated, *inserted])}"

    @property
    def staying(self) -> str:
        """Rows to which a BY SOURCE clause may apply."""
        applied = [_all(self._known(clause.parts)) for clause in self._statement.of(Kind.NOT_MATCHED_BY_SOURCE)]
        unmatched = "TRUE"
        if self._knows_source and len(self.on) == len(self._statement.on):
            unmatched = f"NOT EXISTS (SELECT 1 FROM source WHERE {_all(self.on)})"
        return f"FROM target WHERE {_either(applied)} AND {unmatched}"

    def satisfying(self, part: Part) -> str:
        return f"FROM {self._tables} WHERE {_all([part])}"

    @property
    def _tables(self) -> str:
        return "source, target" if self._knows_source else "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The rows of the source, and possible rows of one file, in DuckDB."""

    connection: DuckDBPyConnection
    case: Case
    source: SourceRelation
    statement: Conditions
    values: dict[str, list[Value] | None] = field(default_factory=dict)
    """By its SQL, all values of an expression; None if any cannot be computed."""
    kept: list[Part] = field(default_factory=list)
    """What the table promises of the rows of a partition, and keeps."""

    def load_values(self) -> None:
        """Compute the values with which columns are compared: of the source's rows, of partitions, constants."""
        self._create("source", self.source.rows, self.source.schema, TableSide.SOURCE)
        if self.statement.generated:
            stored = [row for file in self.case.target.files for row in file]
            self._create("stored", stored, self.case.target.schema, TableSide.TARGET)
            broken = "SELECT count(*) FROM stored WHERE NOT"
            for part in self.statement.generated:
                with suppress(duckdb.Error):
                    if self.connection.execute(f"{broken} ({_all([part])})").fetchone() == (0,):
                        self.kept.append(part)
        for part in (*self.statement.target_parts, *self.kept):
            for value in (value for comparison in part.comparisons for value in comparison.values):
                tables = {TableSide.SOURCE: "source", TableSide.TARGET: "stored"}
                rows = next((name for side, name in tables.items() if side in value.sides), "(SELECT 1)")
                query = f"SELECT DISTINCT {value.sql} FROM {rows}"
                try:
                    found = read_rows(self.connection, query, Schema((Field("value", value.type),)))
                except (duckdb.Error, ValueError):
                    self.values[value.sql] = None
                else:
                    self.values[value.sql] = [] if value.type == VOID else [each for (each,) in found]

    def judge(self, files: Sequence[FileBounds], *, knows_source: bool) -> list[_Verdict]:
        """Decide for each file whether a row that the log allows in it may have a part in the merge.

        Args:
            files: the log's facts about each.
            knows_source: whether the rows of the source may be looked at; if not, it is taken to have all rows.
        """
        verdicts = [_Verdict(may_have_part=True, is_decided=False) for _ in files]
        groups: dict[frozenset[Part], list[int]] = {}
        for number, bounds in enumerate(files):
            of_file = frozenset(part for part in self.statement.target_parts if self._is_known(part, bounds))
            groups.setdefault(of_file, []).append(number)
        for known, numbers in groups.items():
            asked = _Asked(self.statement, known, knows_source=knows_source)
            allowed: dict[int, list[Row]] = {}
            for number in numbers:
                with suppress(TooManyRowsError, InexactError):
                    compared = self._compared((*asked.parts, *self._promises(asked)))
                    allowed[number] = possible_rows(files[number], self.case.target.schema, compared)
            with suppress(duckdb.Error):
                for number, verdict in self._verdicts(asked, allowed).items():
                    verdicts[number] = verdict
        return verdicts

    def _verdicts(self, asked: _Asked, allowed: Mapping[int, list[Row]]) -> dict[int, _Verdict]:
        """Decide for files of which the same parts of conditions are known."""
        schema = self.case.target.schema
        rows = [(*row, number) for number, of_file in allowed.items() for row in of_file]
        self._create("target", rows, Schema((*schema.columns, Field(_FILE, BIGINT))), TableSide.TARGET)
        self.connection.execute(f"DELETE FROM target WHERE NOT ({_all(self._promises(asked))})")
        file = f"{TableSide.TARGET.value}{len(schema.columns)}"
        parts = self._files(file, asked.matching) | self._files(file, asked.staying)
        excluded = {part.text: self._files(file, asked.satisfying(part)) for part in asked.on}
        return {
            number: _Verdict(
                may_have_part=number in parts,
                is_decided=asked.is_decided,
                reason=next((text for text, satisfied in excluded.items() if number not in satisfied), ""),
            )
            for number in allowed
        }

    def _files(self, file: str, query: str) -> set[int]:
        found: list[tuple[int]] = self.connection.execute(f"SELECT DISTINCT {file} {query}").fetchall()
        return {number for (number,) in found}

    def _promises(self, asked: _Asked) -> list[Part]:
        """List the promises about columns that the conditions use."""
        used = {comparison.path for part in asked.parts for comparison in part.comparisons}
        computed = [part for part in self.kept if all(self._has_values(one) for one in part.comparisons)]
        return [part for part in computed if any(one.path in used for one in part.comparisons)]

    def _has_values(self, comparison: Comparison) -> bool:
        return all(self.values[value.sql] is not None for value in comparison.values)

    def _is_known(self, part: Part, bounds: FileBounds) -> bool:
        """Return whether the possible rows of a file show all values that a part can have."""
        if part.typed is None or any(not bounds.of((column,)).is_single for column in part.opaque):
            return False
        return all(map(self._has_values, part.comparisons))

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

    def _create(self, name: str, rows: Sequence[Row], schema: Schema, side: TableSide) -> None:
        columns = (Field(f"{side.value}{place}", column.type) for place, column in enumerate(schema.columns))
        create_table(self.connection, name, rows, Schema(tuple(columns)))


def _all(parts: Iterable[Part]) -> str:
    return " AND ".join(["TRUE", *(f"({part.typed.sql})" for part in parts if part.typed is not None)])


def _either(conditions: Iterable[str]) -> str:
    return f"({' OR '.join(['FALSE', *(f'({condition})' for condition in conditions)])})"
