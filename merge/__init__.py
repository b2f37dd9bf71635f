"""MERGE INTO for Delta tables on Apache Spark, with Delta Lake's semantics.

Public API: ``DeltaTable`` (the fluent builder), ``merge_sql`` (SQL text) and the errors that both raise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merge.builder import DeltaMergeBuilder, DeltaTable
    from merge.errors import (
        AnalysisError,
        ConcurrentModificationError,
        ExecutionError,
        MergeError,
        StoreError,
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
    "StoreError",
    "UnsupportedStatementError",
    "UnsupportedTableError",
    "merge_sql",
    "parse_merge",
    "run_statement",
]

_MODULES = {
    "AnalysisError": "merge.errors",
    "ConcurrentModificationError": "merge.errors",
    "DeltaMergeBuilder": "merge.builder",
    "DeltaTable": "merge.builder",
    "ExecutionError": "merge.errors",
    "MergeError": "merge.errors",
    "StoreError": "merge.errors",
    "UnsupportedStatementError": "merge.errors",
    "UnsupportedTableError": "merge.errors",
    "merge_sql": "merge.sql",
    "parse_merge": "merge.parser",
    "run_statement": "merge.sql",
}


if not TYPE_CHECKING:  # a type checker would take this for a promise that every name exists

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562).

        Spark's Python workers import this package for ``merge.table.writer``, which needs neither the parser nor the
        log reader; a worker also collects garbage after each task, and that takes as long as it has objects.
        """
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value
