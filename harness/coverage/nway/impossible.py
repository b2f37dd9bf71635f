"""Values that cannot occur together, with the reason. Counting checks them: one that occurs is an error."""

from __future__ import annotations

from dataclasses import dataclass


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
    _never("no MATCHED clause", ("clauses", _WITHOUT_MATCHED), ("action", _MATCHED)),
    _never("no MATCHED clause", ("clauses", _WITHOUT_MATCHED), ("condition of pairs", _ANY)),
    _never("no MATCHED clause", ("clauses", _WITHOUT_MATCHED), ("condition of ambiguous rows", _ANY)),
    _never("no INSERT clause", ("clauses", _WITHOUT_INSERT), ("action", _INSERT)),
    _never("no INSERT clause", ("clauses", _WITHOUT_INSERT), ("condition of source rows", _ANY)),
    _never("no INSERT clause", ("clauses", _WITHOUT_INSERT), ("change", ("inserts",))),
    _never("no INSERT clause", ("clauses", _WITHOUT_INSERT), ("written", _INSERTED)),
    _never("no INSERT clause", ("clauses", _WITHOUT_INSERT), ("result", ("path A", "path B", "only inserts"))),
    _never("no BY SOURCE clause", ("clauses", _WITHOUT_BY_SOURCE), ("action", _BY_SOURCE)),
    _never("no BY SOURCE clause", ("clauses", _WITHOUT_BY_SOURCE), ("condition of target rows", _ANY)),
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
    _never("it deletes only", ("assignment", ("none",)), ("action", (*_UPDATES, *_INSERT))),
    _never(
        "it deletes only",
        ("assignment", ("none",)),
        ("value", ("constant", "source column", "target column", "expression", "expression over both")),
    ),
    _never("it deletes only", ("assignment", ("none",)), ("order", ("delete before update", "update before delete"))),
    _never("it deletes only", ("assignment", ("none",)), ("assigned type", _TYPES)),
    _never("it deletes only", ("assignment", ("none",)), ("change", ("updates", "inserts"))),
    _never(
        "it deletes only, and the rows that are copied keep to the table's constraints",
        ("assignment", ("none",)),
        ("written", (*_INSERTED, *_UPDATED, "NOT NULL=violated", "CHECK=violated", "partition=NULL")),
    ),
    _never("it deletes only", ("assignment", ("none",)), ("evolved type", _EVOLVED)),
    _never("it deletes only", ("assignment", ("none",)), ("condition of source rows", _ANY)),
    _never("it deletes only", ("assignment", ("none",)), ("result", ("path A", "path B"))),
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
    _never(
        "no pair matches",
        ("match", ("none", "empty source", "empty target", "empty table")),
        ("condition of pairs", _ANY),
    ),
    _never(
        "no pair matches",
        ("match", ("none", "empty source", "empty target", "empty table")),
        ("condition of ambiguous rows", _ANY),
    ),
    _never("the source is empty", ("match", ("empty source",)), ("condition of source rows", _ANY)),
    _never("the source is empty", ("match", ("empty source",)), ("change", ("inserts",))),
    _never("the target is empty", ("match", ("empty target",)), ("condition of target rows", _ANY)),
    _never("the target is empty", ("match", ("empty target",)), ("change", _CHANGED_TARGET)),
    _never("the target is empty", ("match", ("empty target",)), ("result", ("path D", "path E", "rewrites", "marks"))),
    _never("the target is empty", ("match", ("empty target",)), ("layout", ("one file", "files"))),
    _never("every row matches", ("match", ("all",)), ("condition of source rows", _ANY)),
    _never("every row matches", ("match", ("all",)), ("condition of target rows", _ANY)),
    _never("every row matches", ("match", ("all",)), ("change", ("inserts",))),
    _never("R-320 refuses the merge", ("match", ("ambiguous, refused",)), ("result", (*_PATHS, "refused"))),
    _never("R-320 refuses the merge", ("match", ("ambiguous, refused",)), ("change", _CHANGES)),
    _never("R-320 refuses the merge", ("match", ("ambiguous, refused",)), ("written", _VIOLATED)),
    _never(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("action", ("matched update",)),
    ),
    _never(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("clauses", ("by source", "insert, by source")),
    ),
    _never(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("condition of ambiguous rows", _TRUTHS),
    ),
    _never(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("condition of pairs", _TRUTHS),
    ),
    _never(
        "a pair that matches touches a file (R-410)",
        ("match", ("ambiguous, allowed",)),
        ("result", ("path B", "path C", "refused")),
    ),
    _never(
        "with a condition, ambiguous rows are refused (R-320)",
        ("condition of ambiguous rows", _TRUTHS),
        ("result", (*_PATHS, "refused")),
    ),
    _never(
        "with a condition, ambiguous rows are refused (R-320)",
        ("condition of ambiguous rows", _TRUTHS),
        ("change", _CHANGES),
    ),
    _never(
        "with a condition, ambiguous rows are refused (R-320)",
        ("condition of ambiguous rows", _TRUTHS),
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
    _never("it was refused before it was resolved", ("result", ("refused",)), ("assigned type", _TYPES)),
    _never("it was refused before it was resolved", ("result", ("refused",)), ("evolved type", ("none", *_EVOLVED))),
    _never("it was refused before it was resolved", ("result", ("refused",)), ("assignment", ("field",))),
    _never(
        "it was refused before it was resolved",
        ("result", ("refused",)),
        ("written", (*_INSERTED, *_UPDATED, *_VIOLATED, "partition=NULL")),
    ),
    _never(
        "the path of merges with nothing but inserts",
        ("result", ("path A",)),
        (
            "clauses",
            (*("matched", "by source", "matched, insert", "matched, by source", "insert, by source", "all three"),),
        ),
    ),
    _never(
        "the path of merges with nothing but inserts", ("result", ("path A",)), ("action", (*_MATCHED, *_BY_SOURCE))
    ),
    _never("the path of merges with nothing but inserts", ("result", ("path A",)), ("condition of pairs", _ANY)),
    _never(
        "the path of merges with nothing but inserts", ("result", ("path A",)), ("condition of ambiguous rows", _ANY)
    ),
    _never("the path of merges with nothing but inserts", ("result", ("path A",)), ("condition of target rows", _ANY)),
    _never("the path of merges with nothing but inserts", ("result", ("path A",)), ("change", _CHANGED_TARGET)),
    _never("the path of merges with nothing but inserts", ("result", ("path A",)), ("written", _UPDATED)),
    _never("the path of merges with nothing but inserts", ("result", ("path A",)), ("assignment", ("field",))),
    _never(
        "the path of merges with nothing but inserts",
        ("result", ("path A",)),
        ("order", ("delete before update", "update before delete", "kinds interleaved")),
    ),
    _never(
        "the path of merges with nothing but inserts",
        ("result", ("path A",)),
        ("value", ("target column", "expression over both")),
    ),
    _never("the setting turns the path off", ("result", ("path A",)), ("setting", ("optimizeInsertOnlyMerge",))),
    # on path C a file with matches may be skipped by the clauses' conditions (R-421); on path B there is an INSERT
    _never(
        "a matched pair touches a file",
        ("result", ("path B",)),
        ("match", ("one to one", "source row with several targets", "all")),
    ),
    _never("a matched pair touches a file", ("result", ("path B", "only inserts")), ("condition of pairs", _ANY)),
    _never("a matched pair touches a file", ("result", ("path B",)), ("condition of ambiguous rows", _ANY)),
    _never(
        "a pair on which a clause acts touches a file",
        ("result", ("path C",)),
        ("condition of pairs", ("TRUE", "no condition")),
    ),
    _never(
        "a pair on which a clause acts touches a file",
        ("result", ("path C",)),
        ("condition of ambiguous rows", ("no condition",)),
    ),
    _never("a changed row touches a file", ("result", ("path B", "path C")), ("change", _CHANGED_TARGET)),
    _never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("result", ("path B", "path C", "only inserts")),
        ("condition of target rows", _ANY),
    ),
    _never("with an INSERT clause it is path A or B", ("result", ("path C",)), ("action", _INSERT)),
    _never(
        "with an INSERT clause it is path A or B",
        ("result", ("path C",)),
        ("clauses", ("insert", "matched, insert", "insert, by source", "all three")),
    ),
    _never("with an INSERT clause it is path A or B", ("result", ("path C",)), ("change", ("inserts",))),
    _never("with an INSERT clause it is path A or B", ("result", ("path C",)), ("condition of source rows", _ANY)),
    _never("with an INSERT clause it is path A or B", ("result", ("path C",)), ("written", _INSERTED)),
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
    _never(
        "a clustered table has no partitions (R-708)",
        ("table feature", ("clustered",)),
        ("partition type", ("integer", "decimal", "string", "boolean", "date", "timestamp", "number", "time")),
    ),
    _never(
        "a clustered table has no partitions (R-708)",
        ("table feature", ("clustered",)),
        ("written", (*(f"partition={what}" for what in ("inserted", "updated", "left out", "NULL")),)),
    ),
    _never("there is no source table", ("table feature", ("dropped columns",)), ("source", ("target",))),
    _never("no nested column", ("nesting", ("none",)), ("member type", _TYPES)),
    _never("no nested column", ("nesting", ("none",)), ("constraint", ("NOT NULL field",))),
    _never("no nested column", ("nesting", ("none",)), ("evolved type", ("field",))),
    _never("no nested column", ("nesting", ("none",)), ("assignment", ("field",))),
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
