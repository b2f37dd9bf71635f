"""Values that cannot occur together, with the reason. Counting checks them: one that occurs is an error."""

from __future__ import annotations

from tools.nway.exclusions import ANY, TRUTHS, Impossible, never
from tools.nway.impossible_cases import ROWS, STATEMENTS, TABLES
from tools.nway.impossible_results import RESULTS

PAIRS = (*STATEMENTS, *ROWS, *RESULTS, *TABLES)
"""For pairs; a triple that holds such a pair is impossible, too."""

_MEET = ("one to one", "source row with several targets", "ambiguous")
_BOTH_HAVE_ROWS = (*_MEET, "NULL in ON", "none")

TRIPLES: tuple[Impossible, ...] = (
    never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("clauses", ("some by source", "all three")),
        ("match", _BOTH_HAVE_ROWS),
        ("result", ("only inserts",)),
    ),
    never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("clauses", ("some by source", "all three")),
        ("layout", ("one file", "files")),
        ("result", ("only inserts",)),
    ),
    never(
        "a matched pair touches a file (R-410)",
        ("clauses", ("matched, insert",)),
        ("match", _MEET),
        ("result", ("only inserts",)),
    ),
    never(
        "without a matched pair or a BY SOURCE clause no file is touched (R-410)",
        ("clauses", ("matched", "insert", "matched, insert")),
        ("match", ("none", "empty table")),
        ("result", ("rewrites", "marks")),
    ),
    never(
        "a merge that only inserts rewrites if a setting turns its own path off",
        ("clauses", ("insert",)),
        ("setting", ("none",)),
        ("result", ("rewrites", "marks")),
    ),
    never(
        "ambiguous rows are allowed without a condition only (R-320)",
        ("condition of pairs", TRUTHS),
        ("match", ("ambiguous",)),
        ("result", ("rewrites", "marks")),
    ),
    never(
        "ambiguous rows are allowed by a sole DELETE or on path A only (R-320)",
        ("clauses", ("insert",)),
        ("match", ("ambiguous",)),
        ("result", ("rewrites", "marks")),
    ),
    never(
        "a MATCHED clause without a pair evaluates nothing",
        ("clauses", ("matched",)),
        ("match", ("none", "empty table")),
        ("result", ("failed",)),
    ),
    never(
        "three kinds of rows need three kinds of clauses",
        ("clauses", ("some by source",)),
        ("condition of pairs", ANY),
        ("condition of source rows", ANY),
    ),
    *(
        never(
            "one table is empty, and the rows are of the other",
            ("condition of source rows", ANY),
            ("match", ("empty table",)),
            part,
        )
        for part in (
            ("result", ("rewrites", "marks")),
            ("layout", ("one file", "files")),
            ("condition of target rows", ANY),
        )
    ),
)
"""Impossible only for three values together."""
