"""The batch mode: one merge of many pairs of tables is the merges of the pairs."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.compare.evolution import null_structs_expanded
from mergecheck.harness.compare.invariants import PRESERVE_NULL_STRUCTS
from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.search.batching import PAIR, batch_of
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction
from mergecheck.reference import MergeReference
from mergecheck.strategies import samples

if TYPE_CHECKING:
    from mergecheck.model.case import Case

REFERENCE = MergeReference()
NUM_CASES = 60
SIZE = 6


def case(sql: str) -> Case:
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


def test_a_batch_is_its_pairs() -> None:
    """Rows, change rows and counts of the batch are those of the pairs, whatever the statement.

    With ``preserveNullSourceStructs`` off, a NULL struct that is copied depends on the files (R-244).
    """
    num_batches = 0
    for index, drawn in enumerate(itertools.islice(samples(8), NUM_CASES)):
        batch = batch_of(drawn.case, Random(index), size=SIZE, max_source_rows=1)
        if batch is None:
            continue
        together = REFERENCE.evaluate(batch.case).answer
        alone = [REFERENCE.evaluate(single).answer for single in batch.singles]
        if not isinstance(together, Prediction) or not all(isinstance(one, Prediction) for one in alone):
            continue
        num_batches += 1
        place = together.schema.names.index(PAIR)
        rows = [(*row[:place], number, *row[place:]) for number, one in enumerate(alone) for row in one.rows]
        found, fields = list(together.rows), together.schema.columns
        if batch.case.conf.get(PRESERVE_NULL_STRUCTS) == "false":
            found, rows = ([null_structs_expanded(row, fields) for row in side] for side in (found, rows))
        assert same_rows(found, rows, together.schema), drawn.case.sql
        for name in ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"):
            assert together.metrics[name].low == sum(one.metrics[name].low for one in alone), (name, drawn.case.sql)
    assert num_batches > NUM_CASES / 5


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
    batch = batch_of(case(sql), Random(1), size=2)
    assert batch is not None
    assert batch.case.sql == wanted
    assert batch.case.target.schema.names[-1] == PAIR
    assert {row[-1] for row in batch.case.target.rows} <= {0, 1}
    assert batch.singles[0] == case(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "MERGE INTO target t USING (SELECT * FROM source) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = uuid()",
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = (SELECT 1)",
        "no merge",
    ],
)
def test_what_cannot_be_one_of_many(sql: str) -> None:
    """Sources that are queries, values that look at whole tables, random values, and what is no MERGE."""
    assert batch_of(case(sql), Random(1), size=2) is None
