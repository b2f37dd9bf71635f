"""The meaning of a merge: the case, the outcome, and the DuckDB evaluation of a case.

The evaluation is imported when it is first used: the command line needs types and cases long before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.reference.merge_reference import MergeReference, evaluate

__all__ = ["MergeReference", "evaluate"]


def __getattr__(name: str) -> object:
    """Import a name of the evaluation (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.merge_reference"), name)
    globals()[name] = value
    return value
