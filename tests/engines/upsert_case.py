"""An upsert into a table with a change feed, in the modes of Spark that a case may run on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import Field, Schema

SCHEMA = Schema((Field("id", types.INT), Field("v", types.STRING)))
UPSERT = (
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
CASE = Case(
    id="c",
    target=Target(schema=SCHEMA, files=(((1, "a"), (2, None)), ((3, "c"),)), properties={CDF_PROPERTY: "true"}),
    source=Source(schema=SCHEMA, rows=((1, "x"), (9, "y"))),
    sql=UPSERT,
)


def some_case(predicate: Any, wanted: Any) -> Case:
    """A case on the wanted mode: the modes are chosen by the statement."""
    variants = (replace(CASE, sql=UPSERT + " " * blanks) for blanks in range(100))
    return next(case for case in variants if predicate(case) is wanted)
