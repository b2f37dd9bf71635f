"""Two merges that run under variants."""

from __future__ import annotations

from dataclasses import replace

from mergecheck.harness.engines.merge_axes import MERGE_AXES
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.oracles.transformations.delta import DELTA_AXES
from mergecheck.harness.variants.variant import EngineAxes
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


SPARKS = (*DELTA_AXES, *SPARK_AXES)
"""The axes that an engine on Spark declares."""
AXES = EngineAxes(SPARKS)
OWN = EngineAxes((*DELTA_AXES, *MERGE_AXES, *SPARK_AXES))
"""The axes of this project's merge."""
