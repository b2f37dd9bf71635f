"""The file of a sequence: a written file is read again, and a fault is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mergecheck.harness.lab.sequences.sequence_file import dump_sequence, parse_sequence
from mergecheck.harness.lab.sequences.steps import (
    AddColumn,
    Alter,
    Append,
    Change,
    ChangeType,
    Checkpoint,
    Delete,
    Merge,
    Purge,
    Restore,
    Rewrite,
    Sequence,
)
from mergecheck.model.case import Source, Target
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field
from mergecheck.model.types.ddl import parse_schema

SCHEMA = parse_schema("id INT, `a b` STRING")
SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"
EVERY_STEP = Sequence(
    id="every-step",
    target=Target(schema=SCHEMA, files=(((1, "a"),),)),
    steps=(
        Merge(source=Source(schema=SCHEMA, rows=((1, "x"),)), sql=SQL, conf={}, writer="pyspark"),
        Append(((2, None),)),
        Delete("id", None),
        Rewrite(),
        Purge(),
        Checkpoint(),
        AddColumn(Field("c d", types.INT)),
        ChangeType("id", types.BIGINT),
        *(Alter(change) for change in Change),
        Restore(2),
    ),
    maintainer="delta-spark",
)


def test_a_sequence_is_read_as_it_was_written() -> None:
    assert parse_sequence(dump_sequence(EVERY_STEP), name="s") == EVERY_STEP


def test_rows_are_appended_to_columns_with_conditions_and_values() -> None:
    schema = parse_schema("id INT NOT NULL DEFAULT 1, g INT GENERATED ALWAYS AS (id + 1), v CHAR(3)")
    given = replace(EVERY_STEP, target=Target(schema=schema), steps=(Append(((1, 2, "a"),)),))
    assert parse_sequence(dump_sequence(given), name="s") == given


def test_it_names_whoever_has_a_part() -> None:
    assert EVERY_STEP.writers == ("pyspark", "delta-spark")


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("maintainer", 7, "maintainer is the name of an engine"),
        ("steps", [{"alter": "everything"}], "step 1: alter is one of deletion vectors, "),
        ("steps", [{"alter": ["deletion vectors"]}], "step 1: alter is one of deletion vectors, "),
        ("steps", [{"change_type": "id BIGINT, b INT"}], "step 1: change_type is a column with its new type"),
        ("steps", [{"purge": 1}], "step 1: purge is true"),
        ("keeper", "x", "and perhaps maintainer"),
    ],
)
def test_what_is_wrong_is_said(key: str, given: Any, message: str) -> None:
    document = json.loads(dump_sequence(EVERY_STEP)) | {key: given}
    with pytest.raises(CaseFormatError) as caught:
        parse_sequence(json.dumps(document), name="s.json")
    assert str(caught.value).startswith("s.json")
    assert message in str(caught.value)
