"""Values that cannot occur together because of a case's statement, rows and tables."""

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
    PATHS,
    TRUTHS,
    TYPES,
    UPDATED,
    UPDATES,
    VIOLATED,
    WITHOUT_BY_SOURCE,
    WITHOUT_INSERT,
    WITHOUT_MATCHED,
    Impossible,
    never,
    never_with,
)

STATEMENTS: tuple[Impossible, ...] = (
    *never_with(
        "no MATCHED clause",
        ("clauses", WITHOUT_MATCHED),
        ("action", MATCHED),
        ("condition of pairs", ANY),
        ("condition of ambiguous rows", ANY),
    ),
    *never_with(
        "no INSERT clause",
        ("clauses", WITHOUT_INSERT),
        ("action", INSERT),
        ("condition of source rows", ANY),
        ("change", ("inserts",)),
        ("written", INSERTED),
        ("result", ("path A", "path B", "only inserts")),
    ),
    *never_with(
        "no BY SOURCE clause",
        ("clauses", WITHOUT_BY_SOURCE),
        ("action", BY_SOURCE),
        ("condition of target rows", ANY),
    ),
    never("inserts alone neither update nor delete", ("clauses", ("insert",)), ("change", ("updates", "deletes"))),
    never("an INSERT clause updates nothing", ("clauses", ("insert",)), ("written", UPDATED)),
    never(
        "an INSERT clause neither updates nor deletes, nor assigns a field",
        ("clauses", ("insert",)),
        ("order", ("delete before update", "update before delete", "kinds interleaved")),
    ),
    never("only an UPDATE assigns fields", ("clauses", ("insert",)), ("assignment", ("field",))),
    never(
        "an INSERT clause cannot read the target (R-115)",
        ("clauses", ("insert",)),
        ("value", ("target column", "expression over both")),
    ),
    never(
        "only a MATCHED clause reads both tables (R-115)",
        ("clauses", ("insert, by source",)),
        ("value", ("expression over both",)),
    ),
    never(
        "an INSERT clause assigns",
        ("clauses", ("insert", "matched, insert", "insert, by source", "all three")),
        ("assignment", ("none",)),
    ),
    never("there is one kind", ("clauses", ("matched", "by source")), ("order", ("kinds interleaved",))),
    never(
        "BY SOURCE clauses cannot read the source",
        ("clauses", ("by source",)),
        ("value", ("source column", "expression over both")),
    ),
    never("BY SOURCE clauses have no star", ("clauses", ("by source",)), ("assignment", ("star",))),
    never("evolution needs a clause that reads the source", ("clauses", ("by source",)), ("evolved type", EVOLVED)),
    *never_with(
        "it deletes only",
        ("assignment", ("none",)),
        ("action", (*UPDATES, *INSERT)),
        ("value", ("constant", "source column", "target column", "expression", "expression over both")),
        ("order", ("delete before update", "update before delete")),
        ("assigned type", TYPES),
        ("change", ("updates", "inserts")),
        ("evolved type", EVOLVED),
        ("condition of source rows", ANY),
        ("result", ("path A", "path B")),
    ),
    never(
        "it deletes only, and the rows that are copied keep to the table's constraints",
        ("assignment", ("none",)),
        ("written", (*INSERTED, *UPDATED, "NOT NULL=violated", "CHECK=violated", "partition=NULL")),
    ),
    never("a star reads the source only", ("assignment", ("star",)), ("clauses", ("by source",))),
    never("without evolution the schema stays", ("evolution", ("off",)), ("evolved type", EVOLVED)),
    never(
        "columns are widened in tables that widen types (R-237)",
        ("evolved type", ("wider",)),
        ("table feature", ("none",)),
    ),
    never("it is a setting", ("evolution", ("by session",)), ("setting", ("none",))),
    never("the schemas are the same", ("source", ("target",)), ("evolved type", EVOLVED)),
    never("a target is read as a table", ("source", ("target",)), ("layout", ("source batches",))),
    never("constants are rows", ("source", ("constants",)), ("match", ("empty source",))),
)
"""By clauses, conditions and assignments alone."""

ROWS: tuple[Impossible, ...] = (
    *never_with(
        "no pair matches",
        ("match", ("none", "empty source", "empty target", "empty table")),
        ("condition of pairs", ANY),
        ("condition of ambiguous rows", ANY),
    ),
    *never_with(
        "the source is empty",
        ("match", ("empty source",)),
        ("condition of source rows", ANY),
        ("change", ("inserts",)),
    ),
    *never_with(
        "the target is empty",
        ("match", ("empty target",)),
        ("condition of target rows", ANY),
        ("change", CHANGED_TARGET),
        ("result", ("path D", "path E", "rewrites", "marks")),
        ("layout", ("one file", "files")),
    ),
    *never_with(
        "every row matches",
        ("match", ("all",)),
        ("condition of source rows", ANY),
        ("condition of target rows", ANY),
        ("change", ("inserts",)),
    ),
    *never_with(
        "R-320 refuses the merge",
        ("match", ("ambiguous, refused",)),
        ("result", (*PATHS, "refused")),
        ("change", CHANGES),
        ("written", VIOLATED),
    ),
    *never_with(
        "a sole DELETE without a condition allows it, or path A",
        ("match", ("ambiguous, allowed",)),
        ("action", ("matched update",)),
        ("clauses", ("by source", "insert, by source")),
        ("condition of ambiguous rows", TRUTHS),
        ("condition of pairs", TRUTHS),
    ),
    never(
        "a pair that matches touches a file (R-410)",
        ("match", ("ambiguous, allowed",)),
        ("result", ("path B", "path C", "refused")),
    ),
    *never_with(
        "with a condition, ambiguous rows are refused (R-320)",
        ("condition of ambiguous rows", TRUTHS),
        ("result", (*PATHS, "refused")),
        ("change", CHANGES),
        ("written", VIOLATED),
    ),
)
"""By which rows match."""

TABLES: tuple[Impossible, ...] = (
    *(
        never(
            f"no column with {sort}",
            ("constraint", ("none",)),
            ("written", (*(f"{sort}={what}" for what in ("inserted", "updated", "left out", "violated")),)),
        )
        for sort in ("NOT NULL", "default", "generated", "CHECK")
    ),
    never(
        "no partition columns",
        ("partition type", ("none",)),
        ("written", (*(f"partition={what}" for what in ("inserted", "updated", "left out", "NULL")),)),
    ),
    *never_with(
        "a clustered table has no partitions (R-708)",
        ("table feature", ("clustered",)),
        ("partition type", ("integer", "decimal", "string", "boolean", "date", "timestamp", "number", "time")),
        ("written", (*(f"partition={what}" for what in ("inserted", "updated", "left out", "NULL")),)),
    ),
    never("there is no source table", ("table feature", ("dropped columns",)), ("source", ("target",))),
    *never_with(
        "no nested column",
        ("nesting", ("none",)),
        ("member type", TYPES),
        ("constraint", ("NOT NULL field",)),
        ("evolved type", ("field",)),
        ("assignment", ("field",)),
    ),
)
"""By the columns and features of the tables."""
