"""How the reference came to an answer: the statement, the rows that matched, the clauses that applied, their effects.

Rows are named by numbers, never by their values (R-002): ``rid`` is the position of a row among the rows of the target
in file order, ``sid`` the position of a row among the source's rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.reference.dialects import DELTA, Dialect

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from mergecheck.model.case import Row
    from mergecheck.reference.analysis.clause_names import ClauseNames
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.queries.source_query import SourceRelation
    from mergecheck.reference.syntax.statement import Kind, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """What matching found.

    Attributes:
        pairs: (sid, rid) of every pair of rows for which ON is TRUE (R-003).
        multi_matched: rids with two or more pairs (R-004).
        null_on: whether ON is NULL for some pair of rows.
        on_values: the value of ON for every pair of rows, by (sid, rid); None unless it was asked for.
    """

    pairs: tuple[tuple[int, int], ...]
    multi_matched: frozenset[int]
    null_on: bool
    on_values: Mapping[tuple[int, int], bool | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One unit of R-301: a pair of rows, or a row without a match, on which the clauses of its kind are tried.

    Attributes:
        sid: None for a row of the target that no source row matches.
        rid: None for a row of the source that matches no target row.
        applied: the position of the applied clause among the clauses of the kind, None if no clause applies (R-302).
        conditions: the values of the conditions of all clauses of the kind; TRUE for a clause without one.
    """

    sid: int | None
    rid: int | None
    applied: int | None
    conditions: tuple[bool | None, ...]

    @property
    def null_condition(self) -> bool:
        """Whether the condition of some clause of the kind is NULL."""
        return any(value is None for value in self.conditions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The effects of the applied clauses on the rows of the table (R-303).

    Attributes:
        candidates: the units of each kind.
        old: every row of the target before the merge, converted to the final schema (R-610), by rid.
        stored: the same as it is shown if its file is not rewritten; NULL structs may differ (R-244).
        updated: the new rows of updated rows, by rid.
        deleted: the rids of deleted rows.
        inserted: the inserted rows, by the sid of the source row that they are made of.
        null_structs: (kind, position of the clause, position of the assignment) of every assigned struct that is NULL
            on some row before it is aligned with its column (R-244, R-245).
    """

    candidates: Mapping[Kind, tuple[Candidate, ...]]
    old: tuple[Row, ...]
    stored: tuple[Row, ...]
    updated: Mapping[int, Row]
    deleted: frozenset[int]
    inserted: Mapping[int, Row]
    null_structs: frozenset[tuple[Kind, int, int]]

    @property
    def unchanged(self) -> dict[int, Row]:
        """The rows that are neither updated nor deleted, in the final schema, by rid."""
        changed = self.updated.keys() | self.deleted
        return {rid: row for rid, row in enumerate(self.old) if rid not in changed}

    def applied(self, kind: Kind, index: int) -> tuple[Candidate, ...]:
        """Return the candidates of a kind to which a clause of this kind applies."""
        return tuple(candidate for candidate in self.candidates[kind] if candidate.applied == index)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAtFault:
    """Rows for which a merge fails, whatever the other rows are: it may succeed without them.

    Attributes:
        rids: rows of the target with several matches, or with a new value that cannot be computed or written.
        sids: rows of the source whose inserted row cannot be computed or written.
    """

    rids: frozenset[int] = frozenset()
    sids: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The steps of an evaluation and their results; None for steps that it did not reach.

    Attributes:
        dialect: the rule for target rows that several source rows match.
        statement: None if its text is refused.
        source: the rows that the source gives; None if there is no such source.
        names, clock: what translates a part of the statement by itself: its names, and its one time (R-136).
        merge: the resolved statement; None if analysis refuses it.
        files: the number of the file that holds a row of the target, by rid.
        touched: the files that a merge that rewrites files must rewrite (R-410).
        at_fault: the rows for which the merge fails; none if it does not fail, or not for certain rows.
    """

    dialect: Dialect = DELTA
    settings: Settings | None = None
    statement: Statement | None = None
    source: SourceRelation | None = None
    names: ClauseNames | None = None
    clock: dt.datetime | None = None
    merge: Resolved | None = None
    files: tuple[int, ...] = ()
    matches: Matches | None = None
    effects: Effects | None = None
    touched: frozenset[int] | None = None
    at_fault: RowsAtFault = RowsAtFault()

    @property
    def evolution(self) -> bool:
        """Whether the statement or the session asks for schema evolution."""
        by_statement = self.statement is not None and self.statement.schema_evolution
        return by_statement or (self.settings is not None and self.settings.schema_evolution)
