"""The reference under schema evolution, rule by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from reference_cases import CDF, DELTA, bag, merge, predicted, rejected

from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import MergePath

if TYPE_CHECKING:
    from mergecheck.reference.answer import Reference

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
UPDATE_STAR = "WHEN MATCHED THEN UPDATE SET *"
INSERT_STAR = "WHEN NOT MATCHED THEN INSERT *"
XYZ = "k INT, s STRUCT<y: INT, z: INT>"
XY = "k INT, s STRUCT<x: INT, y: INT>"


def test_new_column_is_appended_and_filled() -> None:
    """R-202, R-203, R-234, R-241: a source column that the target lacks comes last; untouched rows hold NULL."""
    answer = predicted(
        merge(
            UPSERT,
            target=[[[1, "a"], [2, "b"]], [[3, "c"]]],
            source=[[1, "x", 10], [9, "y", 90]],
            source_schema="k INT, v STRING, extra INT NOT NULL",
            evolution=True,
        )
    )

    assert answer.schema.ddl() == "k INT, v STRING, extra INT"  # nullable, also if the source is not
    assert bag(((1, "x", 10), (2, "b", None), (3, "c", None), (9, "y", 90))) == bag(answer.rows)


def test_without_evolution_extra_columns_are_ignored() -> None:
    """R-201: extra source columns are ignored; a missing one is an error."""
    extra = merge(UPSERT, target=[[1, "a"]], source=[[1, "x", 10]], source_schema="k INT, v STRING, extra INT")
    missing = merge(UPSERT, target=[[1, "a"]], source=[[1]], source_schema="k INT")

    assert predicted(extra).rows == ((1, "x"),)
    assert rejected(missing) == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


def test_columns_missing_in_the_source() -> None:
    """R-202, R-203: with evolution UPDATE * keeps columns that the source lacks, INSERT * leaves them NULL."""
    answer = predicted(merge(UPSERT, target=[[1, "a"]], source=[[1], [2]], source_schema="k INT", evolution=True))

    assert bag(((1, "a"), (2, None))) == bag(answer.rows)


@pytest.mark.parametrize("conf", ["true", "false"])
def test_the_three_switches_are_one(conf: str) -> None:
    """Part 2: the session's autoMerge is the same as WITH SCHEMA EVOLUTION."""
    reference = merge(
        INSERT_STAR,
        target=[[1, "a"]],
        source=[[2, "x", 10]],
        source_schema="k INT, v STRING, extra INT",
        conf={f"{DELTA}schema.autoMerge.enabled": conf},
    )

    assert len(predicted(reference).schema.columns) == (3 if conf == "true" else 2)


@pytest.mark.parametrize(
    ("clauses", "columns"),
    [
        ("WHEN MATCHED THEN UPDATE SET v = s.v", ["k", "v"]),
        ("WHEN MATCHED THEN UPDATE SET extra = s.k", ["k", "v", "extra"]),
        ("WHEN MATCHED THEN UPDATE SET s.extra = 1", ["k", "v", "extra"]),
        ("WHEN NOT MATCHED THEN INSERT (k, more) VALUES (s.k, s.extra)", ["k", "v", "more"]),
        ("WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN MATCHED AND s.extra = 1 THEN DELETE", ["k", "v"]),
        ("WHEN MATCHED AND FALSE THEN UPDATE SET *", ["k", "v", "extra", "more"]),
        (
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'n' WHEN NOT MATCHED THEN INSERT *",
            ["k", "v", "extra", "more"],
        ),
    ],
)
def test_only_referenced_columns_are_added(clauses: str, columns: list[str]) -> None:
    """R-204, R-230, R-231, R-233: conditions, DELETE and by-source clauses add nothing; others add named columns."""
    answer = predicted(
        merge(
            clauses,
            target=[[1, "a"]],
            source=[[1, "x", 5, 6]],
            source_schema="k INT, v STRING, extra INT, more INT",
            evolution=True,
        )
    )

    assert list(answer.schema.names) == columns


def test_left_sides_under_evolution() -> None:
    """R-231, R-232: a new column may not carry the target's alias, an old one may carry the source's."""
    source_schema = "k INT, v STRING, extra INT"

    def run(assignment: str) -> Reference:
        clauses = f"WHEN MATCHED THEN UPDATE SET {assignment}"
        return merge(clauses, target=[[1, "a"]], source=[[1, "x", 5]], source_schema=source_schema, evolution=True)

    assert rejected(run("t.extra = 1")) == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    assert rejected(run("nowhere = 1")) == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    assert predicted(run("s.v = 'new'")).rows == ((1, "new"),)


@pytest.mark.parametrize(
    ("target", "source", "accepted"),
    [
        ("INT", "BIGINT", True),
        ("INT", "STRING", True),
        ("STRING", "INT", True),
        ("DATE", "TIMESTAMP", True),
        ("DECIMAL(10,2)", "DECIMAL(20,5)", True),
        ("BOOLEAN", "INT", False),
        ("BOOLEAN", "STRING", False),
        ("DATE", "INT", False),
        ("INT", "ARRAY<INT>", False),
        ("STRUCT<a: INT>", "INT", False),
    ],
)
def test_types_of_existing_columns(target: str, source: str, *, accepted: bool) -> None:
    """R-236: the target's type stays where an implicit cast exists, else the merge fails at analysis."""
    reference = merge(
        INSERT_STAR,
        target=[],
        source=[],
        schema=f"k INT, v {target}",
        source_schema=f"k INT, v {source}",
        evolution=True,
    )

    if accepted:
        assert predicted(reference).schema.ddl() == f"k INT, v {target}"
    else:
        assert rejected(reference) == "DELTA_FAILED_TO_MERGE_FIELDS"


def test_duplicate_source_columns() -> None:
    """R-238: two source columns of one name fail only where they survive the filter (R-823)."""
    star = merge(
        UPSERT, target=[[1, "a"]], source=[[1, "x", "y"]], source_schema="k INT, v STRING, V STRING", evolution=True
    )
    unused = merge(
        "WHEN MATCHED THEN UPDATE SET k = s.k",
        target=[[1, "a"]],
        source=[[1, "x", "y"]],
        source_schema="k INT, v STRING, V STRING",
        evolution=True,
    )

    assert rejected(star) == "DELTA_DUPLICATE_COLUMNS_FOUND.DATA"
    assert predicted(unused).rows == ((1, "a"),)


@pytest.mark.parametrize(
    ("clauses", "path"),
    [("WHEN MATCHED THEN UPDATE SET *", MergePath.C), (INSERT_STAR, MergePath.A), (UPSERT, MergePath.B)],
)
def test_a_new_schema_is_committed_without_rows(clauses: str, path: MergePath) -> None:
    """R-239, R-732, R-811: a merge that changes only the schema makes a commit; it has no change rows."""
    answer = predicted(
        merge(
            clauses,
            target=[[1, "a"]],
            source=[],
            source_schema="k INT, v STRING, extra INT",
            evolution=True,
            properties=CDF,
        )
    )

    assert answer.committed
    assert answer.path is path
    assert answer.rows == ((1, "a", None),)
    assert answer.cdf == ()


@pytest.mark.parametrize("new", ["TIMESTAMP_NTZ", "ARRAY<STRUCT<a: MAP<STRING, TIMESTAMP_NTZ>>>"])
def test_a_first_timestamp_without_zone_is_refused(new: str) -> None:
    """R-704: it needs a table feature that a merge does not enable, whatever happens to rows; a second one does not."""
    first = merge(UPSERT, target=[], source=[], source_schema=f"k INT, v STRING, at {new}", evolution=True)
    second = merge(
        UPSERT,
        target=[],
        schema="k INT, v TIMESTAMP_NTZ",
        source=[],
        source_schema=f"k INT, at {new}",
        evolution=True,
    )
    unused = merge(INSERT_STAR, target=[], source=[], source_schema=f"k INT, v STRING, at {new}")

    assert rejected(first) == "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"
    assert predicted(second).schema.ddl() == f"k INT, v TIMESTAMP_NTZ, at {new}"
    assert predicted(unused).schema.ddl() == "k INT, v STRING"


def test_change_rows_have_the_new_schema() -> None:
    """R-610, R-630: images of old rows hold NULL in new columns and new fields."""
    answer = predicted(
        merge(
            UPDATE_STAR + " WHEN NOT MATCHED BY SOURCE THEN DELETE",
            target=[[1, {"y": 2, "z": 3}], [2, None]],
            source=[[1, {"x": 7, "y": 8}]],
            schema=XYZ,
            source_schema=XY,
            evolution=True,
            properties=CDF,
        )
    )

    assert answer.schema.ddl() == "k INT, s STRUCT<y: INT, z: INT, x: INT>"
    assert change_schema(answer.schema).names[-1] == "_change_type"
    assert answer.cdf is not None
    assert bag(answer.cdf) == bag(
        (
            (1, (2, 3, None), "update_preimage"),
            (1, (8, 3, 7), "update_postimage"),
            (2, None, "delete"),
        )
    )


def test_case_sensitive_session() -> None:
    """R-120, R-216, R-234: schemas merge ignoring case, assignments do not in a case-sensitive session."""
    conf = {"spark.sql.caseSensitive": "true"}

    def run(clauses: str) -> Reference:
        return merge(
            clauses, target=[[1, "a"]], source=[[1, "x"]], source_schema="k INT, V STRING", conf=conf, evolution=True
        )

    assert rejected(run("WHEN MATCHED THEN UPDATE SET V = 'q'")) == "DELTA_MISSING_SET_COLUMN"
    assert predicted(run("WHEN MATCHED THEN UPDATE SET v = s.V")).schema.ddl() == "k INT, v STRING"


def test_target_without_columns() -> None:
    """R-141: only evolution can fill a table without columns."""

    def run(*, evolution: bool) -> Reference:
        return merge(INSERT_STAR, target=[], source=[[1, "x"]], schema="", source_schema="k INT, v STRING", on="FALSE",
                     evolution=evolution)  # fmt: skip

    assert rejected(run(evolution=False)) == "DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET"
    assert predicted(run(evolution=True)).rows == ((1, "x"),)


def test_names_that_need_column_mapping() -> None:
    """A changed schema is checked for characters that Parquet columns cannot have without column mapping."""
    reference = merge(INSERT_STAR, target=[], source=[], source_schema="k INT, v STRING, `a b` INT", evolution=True)

    assert rejected(reference) == "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"


@pytest.mark.parametrize(
    ("new", "error_class"),
    [("more INT", "DELTA_INVALID_PARTITION_COLUMN_NAME"), ("`a b` INT", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES")],
)
def test_names_of_partition_columns_are_looked_at_last(new: str, error_class: str) -> None:
    """R-239: a partition column may have such a name until the schema changes."""
    schema = "k INT, v STRING, `p,q` INT"
    tables = {"target": [], "source": [], "schema": schema, "source_schema": f"{schema}, {new}"}
    reference = merge(INSERT_STAR, **tables, partition_by=("p,q",), evolution=True)

    assert rejected(reference) == error_class


@pytest.mark.parametrize(
    ("on", "condition", "new", "error_class"),
    [
        ("5", "TRUE", "_commit_timestamp", "RESERVED_CDC_COLUMNS_ON_WRITE"),
        ("t.k = s.k", "5", "_commit_timestamp", "RESERVED_CDC_COLUMNS_ON_WRITE"),
        ("5", "TRUE", "`a b`", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        ("t.k = s.k", "5", "`a b`", "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        ("5", "TRUE", "w", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
    ],
)
def test_a_new_schema_is_looked_at_before_the_types_of_conditions(
    on: str, condition: str, new: str, error_class: str
) -> None:
    """R-113, R-135, R-239."""
    reference = merge(
        f"WHEN MATCHED AND {condition} THEN UPDATE SET *",
        target=[[1, "a"]],
        source=[[1, 1]],
        source_schema=f"k INT, {new} INT",
        on=on,
        evolution=True,
        properties={"delta.enableChangeDataFeed": "true"},
    )
    assert rejected(reference) == error_class


def test_void_columns() -> None:
    """R-144: a new column without a type is refused where null columns are dropped."""
    reference = merge(
        INSERT_STAR,
        target=[],
        source=[],
        source_schema="k INT, v STRING, n VOID",
        evolution=True,
        conf={f"{DELTA}createDataFrame.dropNullColumns": "true"},
    )

    assert rejected(reference) == "DELTA_MERGE_ADD_VOID_COLUMN"


def test_a_void_column_is_looked_at_last() -> None:
    """R-144 is met as Delta begins to run: whatever the analysis refuses comes first, here a name in another case."""
    reference = merge(
        "WHEN MATCHED THEN UPDATE SET *",
        target=[],
        source=[],
        schema="k INT, n INT",
        source_schema="k INT, N INT, v VOID",
        evolution=True,
        conf={f"{DELTA}createDataFrame.dropNullColumns": "true", "spark.sql.caseSensitive": "true"},
    )

    assert rejected(reference) == "DELTA_MISSING_SET_COLUMN"
