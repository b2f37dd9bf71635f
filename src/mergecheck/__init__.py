"""A property-based correctness test harness for MERGE INTO.

The names in ``__all__`` are the public ones; each is imported when it is first used, so that ``import mergecheck``
starts and loads nothing. ``mergecheck.merge`` is this project's own merge in PySpark. The other sub-packages, which are
the folders of the same names at the top of the repository, may change at any time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.checking import cases, check, conform, evaluate, explain
    from mergecheck.harness.engine import Capabilities, Engine, Lost, Point, PointKind, Written
    from mergecheck.harness.engines.duckdb.engine import DuckDbEngine
    from mergecheck.harness.engines.registry import load_engine
    from mergecheck.harness.lab.conformance import Mark
    from mergecheck.harness.report.mismatch import mismatch_report
    from mergecheck.harness.verdict import CaseReport, EngineDownError, MergecheckError, Verdict
    from mergecheck.model.axis import Axis, Transformation
    from mergecheck.model.case import Case, Source, Target
    from mergecheck.model.case_file import dump_case, load_cases
    from mergecheck.model.errors import SemanticsError
    from mergecheck.model.outcome import FileWork, Outcome, Prediction, Rejection, Unsupported
    from mergecheck.model.types.ddl import parse_schema
    from mergecheck.reference.dialects import Counted, Dialect, known_dialect
    from mergecheck.reference.syntax.statement import Action, Kind, Statement, parse_statement
    from mergecheck.strategies import Profile

__all__ = [
    "Action",
    "Axis",
    "Capabilities",
    "Case",
    "CaseReport",
    "Counted",
    "Dialect",
    "DuckDbEngine",
    "Engine",
    "EngineDownError",
    "FileWork",
    "Kind",
    "Lost",
    "Mark",
    "MergecheckError",
    "Outcome",
    "Point",
    "PointKind",
    "Prediction",
    "Profile",
    "Rejection",
    "SemanticsError",
    "Source",
    "Statement",
    "Target",
    "Transformation",
    "Unsupported",
    "Verdict",
    "Written",
    "cases",
    "check",
    "conform",
    "dump_case",
    "evaluate",
    "explain",
    "known_dialect",
    "load_cases",
    "load_engine",
    "mismatch_report",
    "parse_schema",
    "parse_statement",
]

_MODULES = {
    "checking": ("cases", "check", "conform", "evaluate", "explain"),
    "harness.lab.conformance": ("Mark",),
    "model.axis": ("Axis", "Transformation"),
    "harness.engine": ("Capabilities", "Engine", "Lost", "Point", "PointKind", "Written"),
    "harness.engines.registry": ("load_engine",),
    "harness.engines.duckdb.engine": ("DuckDbEngine",),
    "harness.report.mismatch": ("mismatch_report",),
    "harness.verdict": ("CaseReport", "EngineDownError", "MergecheckError", "Verdict"),
    "model.case_file": ("dump_case", "load_cases"),
    "model.case": ("Case", "Source", "Target"),
    "model.errors": ("SemanticsError",),
    "model.outcome": ("FileWork", "Outcome", "Prediction", "Rejection", "Unsupported"),
    "reference.dialects": ("Counted", "Dialect", "known_dialect"),
    "reference.syntax.statement": ("Action", "Kind", "Statement", "parse_statement"),
    "model.types.ddl": ("parse_schema",),
    "strategies": ("Profile",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name from its module (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
