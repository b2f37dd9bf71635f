"""Values that cannot occur together, with the reason. Counting checks them: one that occurs is an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Impossible:
    """Combinations that cannot be: one value of each part together, whatever else a case has.

    Attributes:
        parts: two or three sets of values, each of one dimension, as ``dimension=value``.
        reason: why they exclude each other.
    """

    parts: tuple[frozenset[str], ...]
    reason: str


def _never(reason: str, *parts: tuple[str, tuple[str, ...]]) -> Impossible:
    """Name what never occurs together: each part is a dimension with some of its values."""
    return Impossible(
        parts=tuple(frozenset(f"{name}={value}" for value in values) for name, values in parts), reason=reason
    )


def _never_with(
    reason: str, part: tuple[str, tuple[str, ...]], *others: tuple[str, tuple[str, ...]]
) -> Iterator[Impossible]:
    """Name what never occurs together with one part: each of the others."""
    return (_never(reason, part, other) for other in others)


# Sets of values that several entries name.
_TRUTHS = ("TRUE", "FALSE", "NULL")
_ANY = ("no condition", *_TRUTHS)
_PATHS = ("path A", "path B", "path C", "path D", "path E")
_CHANGES = ("updates", "deletes", "inserts", "copies", "nothing")
_CHANGED_TARGET = ("updates", "deletes", "copies")
_MATCHED = ("matched update", "matched delete")
_INSERT = ("not matched insert",)
_BY_SOURCE = ("not matched by source update", "not matched by source delete")
_UPDATES = ("matched update", "not matched by source update")
_WITHOUT_MATCHED = ("insert", "by source", "insert, by source")
_WITHOUT_INSERT = ("matched", "by source", "matched, by source")
_WITHOUT_BY_SOURCE = ("matched", "insert", "matched, insert")
_SPECIAL = ("partition", "NOT NULL", "default", "generated")
_INSERTED = (*(f"{sort}=inserted" for sort in _SPECIAL), *(f"{sort}=left out" for sort in _SPECIAL))
_UPDATED = tuple(f"{sort}=updated" for sort in _SPECIAL)
_VIOLATED = ("NOT NULL=violated", "CHECK=violated")
_PAIRS_OF_ROWS = (
    *("one to one", "source row with several targets", "ambiguous, refused", "ambiguous, allowed", "NULL in ON"),
    *("none", "all"),
)
_MATCHES = ("one to one", "source row with several targets", "ambiguous, refused", "ambiguous, allowed", "all")
_TYPES = (
    *("integer", "decimal", "floating point", "string", "boolean", "binary", "date", "timestamp"),
    *("struct", "array", "map", "boolean or binary", "other number", "text or truth", "time"),
)
_EVOLVED = ("number", "other scalar", "nested", "field", "wider", "scalar")

PAIRS: tuple[Impossible, ...] = (
    # the statement
    *_never_with(
        "no MATCHED clause",
        ("clauses", _WITHOUT_MATCHED),
        ("action", _MATCHED),
        ("condition of pairs", _ANY),
        ("condition of ambiguous rows", _ANY),
    ),
    *_never_with(
        "no INSERT clause",
        ("clauses", _WITHOUT_INSERT),
        ("action", _INSERT),
        ("condition of source rows", _ANY),
        ("change", ("inserts",)),
        ("written", _INSERTED),
        ("result", ("path A", "path B", "only inserts")),
    ),
    *_never_with(
        "no BY SOURCE clause",
        ("clauses", _WITHOUT_BY_SOURCE),
        ("action", _BY_SOURCE),
        ("condition of target rows", _ANY),
    ),
    _never("inserts alone neither update nor delete", ("clauses", ("insert",)), ("change", ("updates", "deletes"))),
    _never("an INSERT clause updates nothing", ("clauses", ("insert",)), ("written", _UPDATED)),
    _never(
        "an INSERT clause neither updates nor deletes, nor assigns a field",
        ("clauses", ("insert",)),
        ("order", ("delete before update", "update before delete", "kinds interleaved")),
    ),
    _never("only an UPDATE assigns fields", ("clauses", ("insert",)), ("assignment", ("field",))),
    _never(
        "an INSERT clause cannot read the target (R-115)",
        ("clauses", ("insert",)),
        ("value", ("target column", "expression over both")),
    ),
    _never(
        "only a MATCHED clause reads both tables (R-115)",
        ("clauses", ("insert, by source",)),
        ("value", ("expression over both",)),
    ),
    _never(
        "an INSERT clause assigns",
        ("clauses", ("insert", "matched, insert", "insert, by source", "all three")),
        ("assignment", ("none",)),
    ),
    _never("there is one kind", ("clauses", ("matched", "by source")), ("order", ("kinds interleaved",))),
    _never(
        "BY SOURCE clauses cannot read the source",
        ("clauses", ("by source",)),
        ("value", ("source column", "expression over both")),
    ),
    _never("BY SOURCE clauses have no star", ("clauses", ("by source",)), ("assignment", ("star",))),
    _never("evolution needs a clause that reads the source", ("clauses", ("by source",)), ("evolved type", _EVOLVED)),
    *_never_with(
        "it deletes only",
        ("assignment", ("none",)),
        ("action", (*_UPDATES, *_INSERT)),
        ("value", ("constant", "source column", "target column", "expression", "expression over both")),
        ("order", ("delete before update", "update before delete")),
        ("assigned type", _TYPES),
        ("change", ("updates", "inserts")),
        ("evolved type", _EVOLVED),
        ("condition of source rows", _ANY),
        ("result", ("path A", "path B")),
    ),
    _never(
        "it deletes only, and the rows that are copied keep to the table's constraints",
        ("assignment", ("none",)),
        ("written", (*_INSERTED, *_UPDATED, "NOT NULL=violated", "CHECK=violated", "partition=NULL")),
    ),
    _never("a star reads the source only", ("assignment", ("star",)), ("clauses", ("by source",))),
    _never("without evolution the schema stays", ("evolution", ("off",)), ("evolved type", _EVOLVED)),
    _never(
        "columns are widened in tables that widen types (R-237)",
        ("evolved type", ("wider",)),
        ("table feature", ("none",)),
    ),
    _never("it is a setting", ("evolution", ("by session",)), ("setting", ("none",))),
    _never("the schemas are the same", ("source", ("target",)), ("evolved type", _EVOLVED)),
    _never("a target is read as a table", ("source", ("target",)), ("layout", ("source batches",))),
    _never("constants are rows", ("source", ("constants",)), ("match", ("empty source",))),
    # rows
    *_never_with(
        "no pair matches",
        ("match", ("none", "empty source", "empty target", "empty table")),
        ("condition of pairs", _ANY),
        ("condition of ambiguous rows", _ANY),
    ),
    *_never_with(
        "the source is empty",
        ("match", ("empty source",)),
        ("condition of source rows", _ANY),
        ("change", ("inserts",)),
    ),
    *_never_with(
        "the target is empty",
        ("match", ("empty target",)),
        ("condition of target rows", _ANY),
        ("change", _CHANGED_TARGET),
        ("result", ("path D", "path E", "rewrites", "marks")),
        ("layout", ("one file", "files")),
    ),
    *_never_with(
        "every row matches",
        ("match", ("all",)),
        ("condition of source rows", _ANY),
        ("condition of target rows", _ANY),
        ("change", ("inserts",)),
    ),
    *_never_with(
        "R-320 refuses the merge",
        ("match", ("ambiguous, refused",)),
        ("result", (*_PATHS, "refused")),
        ("change", _CHANGES),
        ("written", _VIOLATED),
    ),
    *_never_with(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("action", ("matched update",)),
        ("clauses", ("by source", "insert, by source")),
        ("condition of ambiguous rows", _TRUTHS),
        ("condition of pairs", _TRUTHS),
    ),
    _never(
        "a pair that matches touches a file (R-410)",
        ("match", ("ambiguous, allowed",)),
        ("result", ("path B", "path C", "refused")),
    ),
    *_never_with(
        "with a condition, ambiguous rows are refused (R-320)",
        ("condition of ambiguous rows", _TRUTHS),
        ("result", (*_PATHS, "refused")),
        ("change", _CHANGES),
        ("written", _VIOLATED),
    ),
    # results
    _never(
        "it was refused before its rows were matched",
        ("result", ("refused",)),
        ("match", (*_PAIRS_OF_ROWS, "empty source", "empty target")),
    ),
    *(
        _never("it was refused before its rows were matched", ("result", ("refused",)), (f"condition of {rows}", _ANY))
        for rows in ("pairs", "ambiguous rows", "source rows", "target rows")
    ),
    _never("changes are those of a merge that succeeds", ("result", ("refused", "failed")), ("change", _CHANGES)),
    *_never_with(
        "it was refused before it was resolved",
        ("result", ("refused",)),
        ("assigned type", _TYPES),
        ("evolved type", ("none", *_EVOLVED)),
        ("assignment", ("field",)),
        ("written", (*_INSERTED, *_UPDATED, *_VIOLATED, "partition=NULL")),
    ),
    *_never_with(
        "the path of merges with nothing but inserts",
        ("result", ("path A",)),
        (
            "clauses",
            (*("matched", "by source", "matched, insert", "matched, by source", "insert, by source", "all three"),),
        ),
        ("action", (*_MATCHED, *_BY_SOURCE)),
        ("condition of pairs", _ANY),
        ("condition of ambiguous rows", _ANY),
        ("condition of target rows", _ANY),
        ("change", _CHANGED_TARGET),
        ("written", _UPDATED),
        ("assignment", ("field",)),
        ("order", ("delete before update", "update before delete", "kinds interleaved")),
        ("value", ("target column", "expression over both")),
    ),
    _never("the setting turns the path off", ("result", ("path A",)), ("setting", ("optimizeInsertOnlyMerge",))),
    # on path C a file with matches may be skipped by the clauses' conditions (R-421); on path B there is an INSERT
    *_never_with(
        "a matched pair touches a file",
        ("result", ("path B",)),
        ("match", ("one to one", "source row with several targets", "all")),
        ("condition of ambiguous rows", _ANY),
    ),
    _never("a matched pair touches a file", ("result", ("path B", "only inserts")), ("condition of pairs", _ANY)),
    *_never_with(
        "a pair on which a clause acts touches a file",
        ("result", ("path C",)),
        ("condition of pairs", ("TRUE", "no condition")),
        ("condition of ambiguous rows", ("no condition",)),
    ),
    _never("a changed row touches a file", ("result", ("path B", "path C")), ("change", _CHANGED_TARGET)),
    _never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("result", ("path B", "path C", "only inserts")),
        ("condition of target rows", _ANY),
    ),
    *_never_with(
        "with an INSERT clause it is path A or B",
        ("result", ("path C",)),
        ("action", _INSERT),
        ("clauses", ("insert", "matched, insert", "insert, by source", "all three")),
        ("change", ("inserts",)),
        ("condition of source rows", _ANY),
        ("written", _INSERTED),
    ),
    _never("nothing is written", ("result", ("path C",)), ("written", ("partition=NULL",))),
    _never("rows of a rewritten file are changed or copied", ("result", ("path D",)), ("change", ("nothing",))),
    _never("marked files keep their other rows (R-462)", ("result", ("path E",)), ("change", ("copies",))),
    _never("rows are marked in tables with vectors (R-460)", ("result", ("path E",)), ("table feature", ("none",))),
    _never(
        "a merge that allows ambiguous rows updates no matched row (R-320)",
        ("value", ("expression over both",)),
        ("match", ("ambiguous, allowed",)),
    ),
    _never("such a merge fails", ("result", (*_PATHS, "refused")), ("written", _VIOLATED)),
    _never("such a merge fails", ("change", _CHANGES), ("written", _VIOLATED)),
    *(
        _never(
            "a clause that applies changes the row",
            ("change", ("nothing",)),
            (f"condition of {rows}", ("TRUE", "no condition")),
        )
        for rows in ("pairs", "ambiguous rows", "source rows", "target rows")
    ),
    _never("no new row", ("change", ("nothing",)), ("written", ("partition=NULL",))),
    # tables
    *(
        _never(
            f"no column with {sort}",
            ("constraint", ("none",)),
            ("written", (*(f"{sort}={what}" for what in ("inserted", "updated", "left out", "violated")),)),
        )
        for sort in ("NOT NULL", "default", "generated", "CHECK")
    ),
    _never(
        "no partition columns",
        ("partition type", ("none",)),
        ("written", (*(f"partition={what}" for what in ("inserted", "updated", "left out", "NULL")),)),
    ),
    *_never_with(
        "a clustered table has no partitions (R-708)",
        ("table feature", ("clustered",)),
        ("partition type", ("integer", "decimal", "string", "boolean", "date", "timestamp", "number", "time")),
        ("written", (*(f"partition={what}" for what in ("inserted", "updated", "left out", "NULL")),)),
    ),
    _never("there is no source table", ("table feature", ("dropped columns",)), ("source", ("target",))),
    *_never_with(
        "no nested column",
        ("nesting", ("none",)),
        ("member type", _TYPES),
        ("constraint", ("NOT NULL field",)),
        ("evolved type", ("field",)),
        ("assignment", ("field",)),
    ),
)
"""For pairs; a three that holds one of these is impossible, too."""

_MEET = ("one to one", "source row with several targets", "ambiguous")
_BOTH_HAVE_ROWS = (*_MEET, "NULL in ON", "none")

THREES: tuple[Impossible, ...] = (
    _never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("clauses", ("some by source", "all three")),
        ("match", _BOTH_HAVE_ROWS),
        ("result", ("only inserts",)),
    ),
    _never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("clauses", ("some by source", "all three")),
        ("layout", ("one file", "files")),
        ("result", ("only inserts",)),
    ),
    _never(
        "a matched pair touches a file (R-410)",
        ("clauses", ("matched, insert",)),
        ("match", _MEET),
        ("result", ("only inserts",)),
    ),
    _never(
        "without a matched pair or a BY SOURCE clause no file is touched (R-410)",
        ("clauses", ("matched", "insert", "matched, insert")),
        ("match", ("none", "empty table")),
        ("result", ("rewrites", "marks")),
    ),
    _never(
        "a merge that only inserts rewrites if a setting turns its own path off",
        ("clauses", ("insert",)),
        ("setting", ("none",)),
        ("result", ("rewrites", "marks")),
    ),
    _never(
        "ambiguous rows are allowed without a condition only (R-320)",
        ("condition of pairs", _TRUTHS),
        ("match", ("ambiguous",)),
        ("result", ("rewrites", "marks")),
    ),
    _never(
        "ambiguous rows are allowed by a sole DELETE or on path A only (R-320)",
        ("clauses", ("insert",)),
        ("match", ("ambiguous",)),
        ("result", ("rewrites", "marks")),
    ),
    _never(
        "a MATCHED clause without a pair evaluates nothing",
        ("clauses", ("matched",)),
        ("match", ("none", "empty table")),
        ("result", ("failed",)),
    ),
    _never(
        "three kinds of rows need three kinds of clauses",
        ("clauses", ("some by source",)),
        ("condition of pairs", _ANY),
        ("condition of source rows", _ANY),
    ),
    *(
        _never(
            "one table is empty, and the rows are of the other",
            ("condition of source rows", _ANY),
            ("match", ("empty table",)),
            part,
        )
        for part in (
            ("result", ("rewrites", "marks")),
            ("layout", ("one file", "files")),
            ("condition of target rows", _ANY),
        )
    ),
)
"""What is impossible only if three come together."""
