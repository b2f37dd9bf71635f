"""MERGE INTO for Delta tables on Apache Spark, with Delta Lake's semantics.

Public API: ``DeltaTable`` (the fluent builder), ``merge_sql`` (SQL text) and the errors that both raise.
"""

from __future__ import annotations

from merge.builder import DeltaMergeBuilder, DeltaTable
from merge.errors import (
    AnalysisError,
    ConcurrentModificationError,
    ExecutionError,
    MergeError,
    UnsupportedStatementError,
    UnsupportedTableError,
)
from merge.parser import parse_merge
from merge.sql import merge_sql, run_statement

__all__ = [
    "AnalysisError",
    "ConcurrentModificationError",
    "DeltaMergeBuilder",
    "DeltaTable",
    "ExecutionError",
    "MergeError",
    "UnsupportedStatementError",
    "UnsupportedTableError",
    "merge_sql",
    "parse_merge",
    "run_statement",
]
