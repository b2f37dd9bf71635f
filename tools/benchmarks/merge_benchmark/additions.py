"""Cases that Delta Lake's benchmark lacks, so that no way through a merge can get slower unseen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tools.benchmarks.merge_benchmark.cases import (
    CASES,
    INSERT_ALL,
    MATCHING_KEYS,
    UPDATE_ALL,
    BenchmarkCase,
    SourceShape,
    TargetKind,
)

_MATCHED = "SELECT count(*) FROM s WHERE is_matched"
_NOT_MATCHED = "SELECT count(*) FROM s WHERE NOT is_matched"
_UNMATCHED_TARGET = (
    "SELECT count(*) FROM t ANTI JOIN s ON t.wr_order_number = s.wr_order_number AND t.wr_item_sk = s.wr_item_sk"
)
_SMALL = SourceShape(files_matched=0.05, rows_matched=0.1, rows_not_matched=0.1)
_BY_NAME = {case.name: case for case in CASES}


def _with_feed(name: str) -> BenchmarkCase:
    case = _BY_NAME[name]
    return replace(case, name=f"cdf_{name}", properties={"delta.enableChangeDataFeed": "true"}, is_addition=True)


def _addition(name: str, *clauses: str, **fields: Any) -> BenchmarkCase:  # noqa: ANN401 - whatever a case has
    values: dict[str, Any] = {"shape": _SMALL, "is_addition": True, **fields}
    return BenchmarkCase(name=name, clauses=clauses, **values)


ADDITIONS: tuple[BenchmarkCase, ...] = (
    _addition(
        "by_source_delete",
        UPDATE_ALL,
        INSERT_ALL,
        "WHEN NOT MATCHED BY SOURCE AND t.wr_item_sk % 10 = 0 THEN DELETE",
        updated=_MATCHED,
        inserted=_NOT_MATCHED,
        deleted=f"{_UNMATCHED_TARGET} WHERE t.wr_item_sk % 10 = 0",
    ),
    _addition(
        "by_source_update",
        UPDATE_ALL,
        INSERT_ALL,
        "WHEN NOT MATCHED BY SOURCE AND t.wr_item_sk % 100 = 0 THEN UPDATE SET wr_fee = 0",
        updated=f"SELECT ({_MATCHED}) + ({_UNMATCHED_TARGET} WHERE t.wr_item_sk % 100 = 0)",
        inserted=_NOT_MATCHED,
    ),
    _addition(
        "by_source_delete_in_partition",
        UPDATE_ALL,
        INSERT_ALL,
        "WHEN NOT MATCHED BY SOURCE AND t.wr_reason_sk = 3 THEN DELETE",
        target=TargetKind.PARTITIONED,
        updated=_MATCHED,
        inserted=_NOT_MATCHED,
        deleted=f"{_UNMATCHED_TARGET} WHERE t.wr_reason_sk = 3",
    ),
    _addition(
        "conditional_upsert",
        "WHEN MATCHED AND s.wr_item_sk % 2 = 0 THEN UPDATE SET *",
        "WHEN NOT MATCHED AND s.wr_item_sk % 2 = 0 THEN INSERT *",
        updated=f"{_MATCHED} AND wr_item_sk % 2 = 0",
        inserted=f"{_NOT_MATCHED} AND wr_item_sk % 2 = 0",
    ),
    _with_feed("upsert_f0.05_m0.1_n0.1"),
    _with_feed("upsert_f0.05_m0.1_n0"),
    _with_feed("upsert_f1_m0.01_n0.001"),
    _addition(
        "partitioned", UPDATE_ALL, INSERT_ALL, target=TargetKind.PARTITIONED, updated=_MATCHED, inserted=_NOT_MATCHED
    ),
    _addition(
        "partitioned_with_predicate",
        UPDATE_ALL,
        target=TargetKind.PARTITIONED,
        condition=f"{MATCHING_KEYS} AND t.wr_reason_sk = 3",
        updated=f"{_MATCHED} AND wr_reason_sk = 3",
    ),
    _addition(
        "no_op_heavy",
        "WHEN MATCHED AND s.wr_item_sk < 0 THEN UPDATE SET *",
        INSERT_ALL,
        shape=SourceShape(files_matched=0.05, rows_matched=1.0, rows_not_matched=0.05),
        inserted=_NOT_MATCHED,
    ),
    _addition(
        "non_equi",
        UPDATE_ALL,
        INSERT_ALL,
        condition="t.wr_order_number = s.wr_order_number AND t.wr_item_sk BETWEEN s.wr_item_sk AND s.wr_item_sk",
        updated=_MATCHED,
        inserted=_NOT_MATCHED,
    ),
    _addition("skewed", UPDATE_ALL, INSERT_ALL, target=TargetKind.SKEWED, updated=_MATCHED, inserted=_NOT_MATCHED),
    _addition("wide", UPDATE_ALL, INSERT_ALL, target=TargetKind.WIDE, updated=_MATCHED, inserted=_NOT_MATCHED),
    _addition(
        "empty_source",
        UPDATE_ALL,
        INSERT_ALL,
        shape=SourceShape(files_matched=0.05, rows_matched=0, rows_not_matched=0),
    ),
)
"""What Delta Lake's benchmark does not cover."""
