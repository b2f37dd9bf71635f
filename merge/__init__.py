"""MERGE INTO for Delta tables on Apache Spark, with Delta Lake's semantics.

Public API: ``DeltaTable`` (the fluent builder), ``merge_sql`` (SQL text) and the errors that both raise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.merge.builder import DeltaMergeBuilder, DeltaTable
    from mergecheck.merge.errors import (
        AnalysisError,
        ConcurrentModificationError,
        DamagedLogError,
        ExecutionError,
        InternalMergeError,
        InvalidConfigurationError,
        MergeError,
        SparkFailedError,
        StoreError,
        UnsupportedStatementError,
        UnsupportedTableError,
    )
    from mergecheck.merge.sql import merge_sql, run_statement
    from mergecheck.merge.syntax.parser import parse_merge

__all__ = [
    "AnalysisError",
    "ConcurrentModificationError",
    "DamagedLogError",
    "DeltaMergeBuilder",
    "DeltaTable",
    "ExecutionError",
    "InternalMergeError",
    "InvalidConfigurationError",
    "MergeError",
    "SparkFailedError",
    "StoreError",
    "UnsupportedStatementError",
    "UnsupportedTableError",
    "merge_sql",
    "parse_merge",
    "run_statement",
]

_MODULES = {"DeltaMergeBuilder": "builder", "DeltaTable": "builder", "parse_merge": "syntax.parser"}
_MODULES |= dict.fromkeys(("merge_sql", "run_statement"), "sql")


if not TYPE_CHECKING:  # a type checker would take this for a promise that every name exists

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562).

        Spark's Python workers import this package for the writer, which needs neither the parser nor the log reader.
        """
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULES.get(name, 'errors')}")
        value = globals()[name] = getattr(module, name)
        return value
