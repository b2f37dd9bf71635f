"""Cases that are shrunk, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, shrink
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Outcome, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference

if TYPE_CHECKING:
    from collections.abc import Callable


SCHEMA = parse_schema("id BIGINT, v STRING, p INT, unused DOUBLE")
ROWS = tuple((i, f"v{i}", i % 2, 1.5) for i in range(12))
CASE = Case(
    id="big",
    target=Target(
        schema=SCHEMA,
        files=(ROWS[:4], (), ROWS[4:8], ROWS[8:]),
        partition_by=("p",),
        properties={"delta.enableChangeDataFeed": "true", "delta.appendOnly": "false"},
    ),
    source=Source(schema=SCHEMA, rows=ROWS[2:9]),
    sql="MERGE INTO target t USING source s ON t.id = s.id AND t.p = s.p "
    "WHEN MATCHED AND t.v = 'v3' AND s.p > 0 THEN UPDATE SET v = CASE WHEN TRUE THEN s.v END, p = s.p "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE",
    conf={"spark.sql.shuffle.partitions": "1"},
)


def shrunk(
    differs: Callable[[Case], bool], case: Case = CASE, limits: ShrinkLimits | None = None, against: str = "reference"
) -> tuple[Case, Attempts]:
    mismatch = Mismatch(check=Check.ROWS, against=against, kind="missing_rows", lines=("line",))

    def check(candidate: Case) -> CaseReport:
        return CaseReport(
            case=candidate,
            engine="e",
            engine_version="1",
            verdict=Verdict.MISMATCH if differs(candidate) else Verdict.AGREE,
            reference=Reference(answer=Unsupported("not looked at")),
            result=Outcome(schema=SCHEMA, rows=()),
            mismatches=(mismatch,) if differs(candidate) else (),
        )

    attempts = Attempts(check(case), check=check, limits=limits or ShrinkLimits(max_runs=2000))
    return shrink(attempts).case, attempts


RICH = Case(
    id="rich",
    target=Target(
        schema=parse_schema(
            "id BIGINT NOT NULL, d INT DEFAULT 5, g BIGINT GENERATED ALWAYS AS (id + 1), "
            "s STRUCT<x: INT NOT NULL, y: STRUCT<z: STRING, u: INT>>, l ARRAY<STRUCT<a: INT, b: INT>>, "
            "m MAP<STRING, STRUCT<k: INT, w: INT>>"
        ),
        files=(
            ((1, 5, 2, (1, ("q", 3)), ((1, 2), None), (("p", (1, 2)), ("o", None))), (2, None, 3, None, None, None)),
        ),
        properties={"delta.constraints.pos": "id > 0", "delta.constraints.small": "d < 9"},
    ),
    source=Source(
        schema=parse_schema("id BIGINT, s STRUCT<x: INT, y: STRUCT<u: INT, n: INT>>, extra STRUCT<e: INT, f: INT>"),
        rows=((1, (7, (8, 9)), (1, 2)),),
    ),
    sql="MERGE WITH SCHEMA EVOLUTION INTO target t USING (SELECT DISTINCT * FROM source WHERE id > 0 LIMIT 9) s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (id, d) VALUES (s.id, f(1, 2))",
    conf={"spark.databricks.delta.schema.autoMerge.enabled": "true", "spark.sql.ansi.enabled": "false"},
)
