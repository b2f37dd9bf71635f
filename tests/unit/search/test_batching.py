"""The batch mode: one merge of many pairs of tables is the merges of the pairs."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.compare.evolution import null_structs_expanded
from mergecheck.harness.compare.feed_balance import PRESERVE_NULL_STRUCTS
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.search.batching import Batch, similar_cases
from mergecheck.harness.search.batching import batch_of as make_batch
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.model.case_file import case_from_json, change_schema
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.model.storage import TargetLayout
from mergecheck.reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, samples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.model.case import Case, Row

REFERENCE = MergeReference()
NUM_CASES = 40
SIZE = 6


def a_case(sql: str) -> Case:
    """A merge of two small tables."""
    schema = "id INT, v STRING"
    document = {
        "format_version": 1,
        "id": "batch",
        "target": {"schema": schema, "files": [[[1, "a"], [2, None]], [[3, "c"]]]},
        "source": {"schema": schema, "rows": [[1, "x"], [9, "y"]]},
        "sql": sql,
    }
    return case_from_json(document, where="test")


def batch_of(case: Case, random: Random, *, size: int) -> Batch | None:
    """A batch by the reference."""
    return make_batch(case, random, size=size, evaluate=REFERENCE.evaluate)


def without(places: frozenset[int], rows: Iterable[Row]) -> list[Row]:
    """Blank some cells of rows."""
    return [tuple(None if place in places else cell for place, cell in enumerate(row)) for row in rows]


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Batches of drawn cases."""
    drawn = enumerate(itertools.islice(samples(8, profile=FULL_PROFILE), NUM_CASES))
    return [batch for index, one in drawn if (batch := batch_of(one.case, Random(index), size=SIZE)) is not None]


def test_a_batch_is_its_pairs(batches: list[Batch]) -> None:
    """Rows, change rows and counts of the batch add up those of the pairs, for every statement.

    With ``preserveNullSourceStructs`` off, a NULL struct that is copied depends on the files (R-244). Generated values
    of identity columns are examples.
    """
    for batch in batches:
        together = batch.reference.answer
        alone = [REFERENCE.evaluate(single).answer for single in batch.singles]
        assert isinstance(together, Prediction)
        assert all(isinstance(one, Prediction) for one in alone), batch.case.sql
        place = together.schema.names.index(PAIR)
        numbered = [
            [(*row[:place], number, *row[place:]) for number, one in enumerate(alone) for row in rows_of(one)]
            for rows_of in (lambda one: one.rows, lambda one: one.cdf or ())
        ]
        for found, rows, schema in zip(
            (together.rows, together.cdf or ()),
            numbered,
            (together.schema, change_schema(together.schema)),
            strict=True,
        ):
            left, right = list(found), rows
            if together.generated_ids is not None:
                ids = frozenset(together.generated_ids.columns)
                left, right = (without(ids, side) for side in (left, right))
            if batch.case.conf.get(PRESERVE_NULL_STRUCTS) == "false":
                left, right = ([null_structs_expanded(row, schema.columns) for row in side] for side in (left, right))
            assert same_rows(left, right, schema), batch.case.sql
        for name in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"):
            assert together.metrics[name].low == sum(one.metrics[name].low for one in alone), (name, batch.case.sql)


def test_most_statements_can_be_in_a_batch(batches: list[Batch]) -> None:
    """Tables with features, queries and identity columns among them."""
    assert len(batches) > NUM_CASES / 2
    cases = [batch.case for batch in batches]
    assert any(case.target.layout != TargetLayout() for case in cases)
    assert any("USING (" in case.sql for case in cases)
    assert any(column.identity is not None for case in cases for column in case.target.schema.columns)
    assert any(batch.apart for batch in batches)


def test_a_larger_batch_has_the_pairs_of_a_smaller_one() -> None:
    """The cases of a seed stay the same ones, whatever the number of pairs."""
    case = a_case("MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    few, many = (similar_cases(case, Random(3), size=size) for size in (5, 40))
    assert many[:5] == few


def test_pairs_whose_merge_fails_are_apart() -> None:
    """Each is alone; the reference predicts the others together."""
    batch = batch_of(
        a_case("MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"),
        Random(2),
        size=60,
    )
    assert batch is not None
    assert len(batch.apart) + len(batch.singles) == 60
    assert batch.num_left_out == 0
    assert {type(REFERENCE.evaluate(case).answer) for case in batch.apart} == {Rejection}
    assert {type(REFERENCE.evaluate(case).answer) for case in batch.singles} == {Prediction}


def test_pairs_whose_rows_cannot_be_written_are_apart() -> None:
    """The reference names the rows, so that no pair is left out."""
    clause = "WHEN NOT MATCHED AND s.v = 'a' THEN INSERT (id) VALUES (CAST(1 / (s.id - 9) AS INT))"
    batch = batch_of(a_case(f"MERGE INTO target t USING source s ON t.id = s.id {clause}"), Random(2), size=60)
    assert batch is not None
    assert len(batch.apart) == 60 - len(batch.singles) > 0
    assert {type(REFERENCE.evaluate(case).answer) for case in batch.apart} == {Rejection}


def test_pairs_that_are_not_told_from_failing_ones_are_counted() -> None:
    """A source query fails on some row, and the reference does not know in which pair; some halves are not asked."""
    query = "SELECT id, CAST(1 / (count(v) - 3) AS INT) AS n FROM source GROUP BY id"
    clause = "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.n)"
    batch = batch_of(a_case(f"MERGE INTO target t USING ({query}) s ON t.id = s.id {clause}"), Random(4), size=60)
    assert batch is not None
    assert batch.num_left_out == 60 - len(batch.singles) - len(batch.apart) > 0


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (
            "MERGE INTO target t USING source AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
            (
                f"MERGE INTO target t USING source s ON (t.id = s.id) AND t.{PAIR} = s.{PAIR} "
                f"WHEN NOT MATCHED THEN INSERT (id, {PAIR}) VALUES (s.id, s.{PAIR})"
            ),
        ),
        (
            "MERGE INTO target t USING target s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
            (
                f"MERGE INTO target t USING target s ON (t.id = s.id) AND t.{PAIR} = s.{PAIR} "
                "WHEN NOT MATCHED THEN INSERT *"
            ),
        ),
        (
            (
                "MERGE INTO target t USING (SELECT x.id FROM source x JOIN target y ON x.id = y.id OR x.id = 1) s "
                "ON t.id = s.id WHEN MATCHED THEN DELETE"
            ),
            (
                f"MERGE INTO target t USING (SELECT x.id, x.{PAIR} FROM source x JOIN target y ON "
                f"(x.id = y.id OR x.id = 1) AND x.{PAIR} = y.{PAIR}) s ON (t.id = s.id) AND t.{PAIR} = s.{PAIR} "
                "WHEN MATCHED THEN DELETE"
            ),
        ),
        (
            "MERGE INTO target USING source ON target.id = source.id WHEN MATCHED THEN UPDATE SET *",
            (
                f"MERGE INTO target USING source ON (target.id = source.id) AND target.{PAIR} = source.{PAIR} "
                "WHEN MATCHED THEN UPDATE SET *"
            ),
        ),
    ],
)
def test_the_statement_tells_the_pairs_apart(sql: str, wanted: str) -> None:
    """In ON, and in the lists of INSERT; a star has the column anyway."""
    batch = batch_of(a_case(sql), Random(1), size=2)
    assert batch is not None
    assert batch.case.sql == wanted
    assert batch.case.target.schema.names[-1] == PAIR
    assert {row[-1] for row in batch.case.target.rows} <= {0, 1}
    assert batch.singles[0] == a_case(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "MERGE INTO target t USING (SELECT * FROM source LIMIT 1) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "MERGE INTO target t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "MERGE INTO target t USING source s (a, b) ON t.id = s.a WHEN MATCHED THEN DELETE",
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = uuid()",
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = (SELECT 1)",
        "no merge",
    ],
)
def test_what_cannot_be_one_of_many(sql: str) -> None:
    """Sources with the rows of all pairs, values that look at whole tables, random values, no MERGE at all."""
    assert batch_of(a_case(sql), Random(1), size=2) is None
