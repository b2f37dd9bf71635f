"""Values that cannot occur together because of a merge's path, its changes, or the reason for its refusal."""

from __future__ import annotations

from tools.nway.exclusions import (
    ANY,
    BY_SOURCE,
    CHANGED_TARGET,
    CHANGES,
    EVOLVED,
    INSERT,
    INSERTED,
    MATCHED,
    PAIRS_OF_ROWS,
    PATHS,
    TYPES,
    UPDATED,
    VIOLATED,
    Impossible,
    never,
    never_with,
)

RESULTS: tuple[Impossible, ...] = (
    never(
        "it was refused before its rows were matched",
        ("result", ("refused",)),
        ("match", (*PAIRS_OF_ROWS, "empty source", "empty target")),
    ),
    *(
        never("it was refused before its rows were matched", ("result", ("refused",)), (f"condition of {rows}", ANY))
        for rows in ("pairs", "ambiguous rows", "source rows", "target rows")
    ),
    never("changes are made by a merge that succeeds", ("result", ("refused", "failed")), ("change", CHANGES)),
    *never_with(
        "it was refused before it was resolved",
        ("result", ("refused",)),
        ("assigned type", TYPES),
        ("evolved type", ("none", *EVOLVED)),
        ("assignment", ("field",)),
        ("written", (*INSERTED, *UPDATED, *VIOLATED, "partition=NULL")),
    ),
    *never_with(
        "the path of merges with nothing but inserts",
        ("result", ("path A",)),
        (
            "clauses",
            (*("matched", "by source", "matched, insert", "matched, by source", "insert, by source", "all three"),),
        ),
        ("action", (*MATCHED, *BY_SOURCE)),
        ("condition of pairs", ANY),
        ("condition of ambiguous rows", ANY),
        ("condition of target rows", ANY),
        ("change", CHANGED_TARGET),
        ("written", UPDATED),
        ("assignment", ("field",)),
        ("order", ("delete before update", "update before delete", "kinds interleaved")),
        ("value", ("target column", "expression over both")),
    ),
    never("the setting turns the path off", ("result", ("path A",)), ("setting", ("optimizeInsertOnlyMerge",))),
    # on path C a file with matches may be skipped by the clauses' conditions (R-421); on path B there is an INSERT
    *never_with(
        "a matched pair touches a file",
        ("result", ("path B",)),
        ("match", ("one to one", "source row with several targets", "all")),
        ("condition of ambiguous rows", ANY),
    ),
    never("a matched pair touches a file", ("result", ("path B", "only inserts")), ("condition of pairs", ANY)),
    *never_with(
        "a pair on which a clause acts touches a file",
        ("result", ("path C",)),
        ("condition of pairs", ("TRUE", "no condition")),
        ("condition of ambiguous rows", ("no condition",)),
    ),
    never("a changed row touches a file", ("result", ("path B", "path C")), ("change", CHANGED_TARGET)),
    never(
        "with a BY SOURCE clause every file with rows is touched (R-410)",
        ("result", ("path B", "path C", "only inserts")),
        ("condition of target rows", ANY),
    ),
    *never_with(
        "with an INSERT clause it is path A or B",
        ("result", ("path C",)),
        ("action", INSERT),
        ("clauses", ("insert", "matched, insert", "insert, by source", "all three")),
        ("change", ("inserts",)),
        ("condition of source rows", ANY),
        ("written", INSERTED),
    ),
    never("nothing is written", ("result", ("path C",)), ("written", ("partition=NULL",))),
    never("rows of a rewritten file are changed or copied", ("result", ("path D",)), ("change", ("nothing",))),
    never("marked files keep their other rows (R-462)", ("result", ("path E",)), ("change", ("copies",))),
    never("rows are marked in tables with vectors (R-460)", ("result", ("path E",)), ("table feature", ("none",))),
    never(
        "a merge that allows ambiguous rows updates no matched row (R-320)",
        ("value", ("expression over both",)),
        ("match", ("ambiguous, allowed",)),
    ),
    never("such a merge fails", ("result", (*PATHS, "refused")), ("written", VIOLATED)),
    never("such a merge fails", ("change", CHANGES), ("written", VIOLATED)),
    *(
        never(
            "a clause that applies changes the row",
            ("change", ("nothing",)),
            (f"condition of {rows}", ("TRUE", "no condition")),
        )
        for rows in ("pairs", "ambiguous rows", "source rows", "target rows")
    ),
    never("no new row", ("change", ("nothing",)), ("written", ("partition=NULL",))),
)
"""By the outcome of a case."""
