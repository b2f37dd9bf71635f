"""Tables with special columns or properties (R-226, R-237, R-240, R-330, R-705, R-817, R-822)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.benchmarks.rules_on_delta.lab import UPSERT, Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.benchmarks.rules_on_delta.lab import Lab

_WIDENING = {"delta.enableTypeWidening": "true"}


def _identity(clauses: str, kind: str = "ALWAYS") -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.table(lab.target, f"k BIGINT GENERATED {kind} AS IDENTITY, id INT, v INT")
        lab.spark.sql(f"INSERT INTO delta.`{lab.target}` (id, v) VALUES (1, 10)")
        lab.table(lab.source, "id INT, v INT", "(1, 11), (3, 33), (4, 44)")
        lab.merge(clauses)
        rows = lab.rows("id, v, k")
        return [[row[:2] for row in rows], len({row[2] for row in rows}) == len(rows)]

    return ask


def _stale_mark(lab: Lab) -> object:
    lab.table(lab.target, "k BIGINT GENERATED ALWAYS AS IDENTITY, id INT, v INT")
    lab.table(lab.source, "id INT, v INT", "(3, 33)")
    target = lab.delta_table()
    lab.spark.sql(f"INSERT INTO delta.`{lab.target}` (id, v) VALUES (1, 10)")
    source = lab.spark.read.format("delta").load(str(lab.source)).alias("s")
    return target.merge(source, "t.id = s.id").whenNotMatchedInsert(values={"id": "s.id"}).execute()


def _widened(before: str, after: str, mode: str | None = None, table: bool = True) -> Callable[[Lab], object]:  # noqa: FBT001, FBT002 - a table of checks
    def ask(lab: Lab) -> object:
        lab.table(lab.target, f"id INT, v {before}", "(1, NULL)", properties=_WIDENING if table else None)
        lab.table(lab.source, f"id INT, v {after}", "(1, NULL)")
        with lab.settings(**({} if mode is None else {"typeWidening__allowAutomaticWidening": mode})):
            lab.merge(UPSERT, evolve=True)
        return lab.schema().removeprefix("id int, v ")

    return ask


def _dependent_constraint(lab: Lab) -> object:
    lab.table(lab.target, "id INT, v INT", "(1, 1)", properties=_WIDENING)
    lab.spark.sql(f"ALTER TABLE delta.`{lab.target}` ADD CONSTRAINT positive CHECK (v > 0)")
    lab.table(lab.source, "id INT, v BIGINT", "(1, 2)")
    return lab.merge(UPSERT, evolve=True)


def _dependent_generated(lab: Lab) -> object:
    lab.table(lab.target, "id INT, v INT, g INT GENERATED ALWAYS AS (v + 1)", properties=_WIDENING)
    lab.spark.sql(f"INSERT INTO delta.`{lab.target}` (id, v) VALUES (1, 1)")
    lab.table(lab.source, "id INT, v BIGINT", "(1, 2)")
    return lab.merge("WHEN MATCHED THEN UPDATE SET v = s.v", evolve=True)


def _added_beside_constraint(lab: Lab) -> object:
    lab.table(lab.target, "id INT, v INT", "(1, 1)", properties=_WIDENING)
    lab.spark.sql(f"ALTER TABLE delta.`{lab.target}` ADD CONSTRAINT positive CHECK (v > 0)")
    lab.table(lab.source, "id INT, v INT, w INT", "(1, 2, 3)")
    lab.merge(UPSERT, evolve=True)
    return lab.rows()


def _random_values(lab: Lab) -> object:
    lab.table(lab.target, "id INT, v STRING", "(1, 'a')", properties={"delta.enableChangeDataFeed": "true"})
    lab.table(lab.source, "id INT", "(1), (3)")
    lab.merge("WHEN MATCHED THEN UPDATE SET v = uuid() WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, uuid())")
    feed = lab.spark.sql(
        f"SELECT id, v FROM table_changes_by_path('{lab.target}', 2) WHERE _change_type <> 'update_preimage'"
    )
    return sorted(tuple(row) for row in feed.collect()) == lab.rows()


def _row_tracking(lab: Lab) -> object:
    """Compare row ids and commit versions before and after; one file, so that rows are copied."""
    lab.table(lab.target, "id INT, v INT", "(1, 10), (2, 20)", properties={"delta.enableRowTracking": "true"})
    lab.table(lab.source, "id INT, v INT", "(1, 11), (3, 33)")
    columns = "id, _metadata.row_id, _metadata.row_commit_version"
    before = {row[0]: row[1:] for row in lab.rows(columns)}
    lab.merge(UPSERT)
    after = {row[0]: row[1:] for row in lab.rows(columns)}
    tags = lab.actions("commitInfo")[0]["tags"]
    return [
        after[1] == (before[1][0], 2),
        after[2] == before[2],
        after[3][0] not in {row[0] for row in before.values()} and after[3][1] == 2,  # noqa: PLR2004 - the version
        tags.get("delta.rowTracking.preserved"),
    ]


def _cached_target(lab: Lab) -> object:
    lab.both()
    cached = lab.spark.read.format("delta").load(str(lab.target)).cache()
    cached.count()
    lab.spark.sql(f"INSERT INTO delta.`{lab.target}` VALUES (3, 30)")
    lab.merge(UPSERT)
    rows = sorted(tuple(row) for row in cached.collect())
    cached.unpersist()
    return rows


def _char(column: str, value: str, clauses: str = UPSERT, on: str = "t.id = s.id") -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        lab.table(lab.target, f"id INT, v {column}", "(1, 'a')")
        lab.table(lab.source, "id INT, v STRING", f"(1, '{value}'), (3, '{value}')")
        lab.merge(clauses, on=on)
        return [row[1] for row in lab.rows()]

    return ask


def _stored_char(lab: Lab) -> object:
    """Read the values of the files, without the padding that Spark adds when it reads a table."""
    lab.table(lab.target, "id INT, v CHAR(3)")
    lab.table(lab.source, "id INT, v STRING", "(1, 'b')")
    lab.merge(UPSERT)
    files = [str(lab.target / add["path"]) for add in lab.actions("add")]
    return [row[0] for row in lab.spark.read.parquet(*files).select("v").collect()]


CHECKS = (
    Check(
        rule="R-226",
        question="an INSERT that lists the identity column",
        ask=_identity("WHEN NOT MATCHED THEN INSERT (k, id) VALUES (7, s.id)"),
        expected="DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
    ),
    Check(
        rule="R-226",
        question="the same GENERATED BY DEFAULT",
        ask=_identity("WHEN NOT MATCHED AND s.id = 3 THEN INSERT (k, id) VALUES (700, s.id)", "BY DEFAULT"),
        expected=[[(1, 10), (3, None)], True],
    ),
    Check(
        rule="R-226",
        question="an UPDATE of the identity column",
        ask=_identity("WHEN MATCHED THEN UPDATE SET k = 7", "BY DEFAULT"),
        expected="DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
    ),
    Check(
        rule="R-226",
        question="two insert clauses share a generator",
        ask=_identity(
            "WHEN NOT MATCHED AND s.id = 3 THEN INSERT (id, v) VALUES (s.id, 0) "
            "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 1)"
        ),
        expected=[[(1, 10), (3, 0), (4, 1)], True],
    ),
    Check(
        rule="R-226", question="the mark moved since the analysis", ask=_stale_mark, expected="DELTA_METADATA_CHANGED"
    ),
    *(
        Check(rule="R-237", question=f"{before} and a source of {after}", ask=_widened(before, after), expected=found)
        for before, after, found in (
            ("TINYINT", "SMALLINT", "smallint"),
            ("INT", "BIGINT", "bigint"),
            ("FLOAT", "DOUBLE", "double"),
            ("DATE", "TIMESTAMP_NTZ", "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"),
            ("DECIMAL(10,2)", "DECIMAL(12,3)", "decimal(12,3)"),
            ("DECIMAL(10,2)", "DECIMAL(12,5)", "decimal(10,2)"),
            ("INT", "DOUBLE", "double"),
            ("INT", "DECIMAL(10,0)", "decimal(10,0)"),
            ("BIGINT", "DECIMAL(20,0)", "decimal(20,0)"),
            ("BIGINT", "DOUBLE", "bigint"),
            ("BIGINT", "INT", "bigint"),
            ("INT", "STRING", "int"),
        )
    ),
    Check(
        rule="R-237",
        question="INT and DOUBLE, same_family_type",
        ask=_widened("INT", "DOUBLE", "same_family_type"),
        expected="int",
    ),
    Check(rule="R-237", question="INT and BIGINT, never", ask=_widened("INT", "BIGINT", "never"), expected="int"),
    Check(
        rule="R-237",
        question="INT and BIGINT, no type widening",
        ask=_widened("INT", "BIGINT", table=False),
        expected="int",
    ),
    Check(
        rule="R-240",
        question="widening a column of a CHECK",
        ask=_dependent_constraint,
        expected="DELTA_CONSTRAINT_DATA_TYPE_MISMATCH",
    ),
    Check(
        rule="R-240",
        question="widening a column of a generated one",
        ask=_dependent_generated,
        expected="DELTA_GENERATED_COLUMNS_DATA_TYPE_MISMATCH",
    ),
    Check(rule="R-240", question="adding a column", ask=_added_beside_constraint, expected=[(1, 2, 3)]),
    Check(rule="R-330", question="random values in table and feed are equal", ask=_random_values, expected=True),
    Check(
        rule="R-705",
        question="updated, copied, inserted row, tag",
        ask=_row_tracking,
        expected=[True, True, True, "true"],
    ),
    Check(
        rule="R-817",
        question="a cached target after INSERT and MERGE",
        ask=_cached_target,
        expected=[(1, 11), (2, 20), (3, 33)],
    ),
    Check(
        rule="R-822",
        question="VARCHAR(2), too long",
        ask=_char("VARCHAR(2)", "abc"),
        expected="DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    ),
    Check(
        rule="R-822",
        question="CHAR(2), too long",
        ask=_char("CHAR(2)", "abc"),
        expected="DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    ),
    Check(
        rule="R-822",
        question="VARCHAR(2), too long by spaces",
        ask=_char("VARCHAR(2)", "ab  "),
        expected="DELTA_EXCEED_CHAR_VARCHAR_LIMIT",
    ),
    Check(rule="R-822", question="CHAR(3), short, as read", ask=_char("CHAR(3)", "b"), expected=["b  ", "b  "]),
    Check(rule="R-822", question="CHAR(3), short, as stored", ask=_stored_char, expected=["b"]),
    Check(
        rule="R-822",
        question="CHAR(3) in ON (docs/findings/delta-spark-char-columns.md)",
        ask=_char("CHAR(3)", "a", "WHEN MATCHED THEN DELETE", "t.v = s.v AND s.id = 1"),
        expected="DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
    ),
)
