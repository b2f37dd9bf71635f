"""Two merges that run under variants."""

from __future__ import annotations

from dataclasses import replace

from mergecheck.harness.variants.axes.axis_values import AXIS_VALUES
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

REFERENCE = MergeReference()
SCHEMA = parse_schema("id INT, v STRING")
UPSERT = Case(
    id="upsert",
    target=Target(schema=SCHEMA, files=(((1, "a"), (2, "b")), ((3, "c"),))),
    source=Source(schema=SCHEMA, rows=((1, "x"), (9, "y"))),
    sql="MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)


INSERT = replace(
    UPSERT, id="insert", sql="MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
)


OWN = frozenset(name for axis_value in AXIS_VALUES for name in axis_value.own_settings)
