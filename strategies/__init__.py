"""Hypothesis strategies that draw MERGE cases.

A function named after the things that it draws is a strategy. A function ``draw_...`` is a part of a strategy and has
``draw`` as an argument. A draw from several options has the simplest one first, because a draw shrinks to it.

The names are imported when they are first used, because Hypothesis loads slowly and a check of saved cases needs none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.strategies.drawn_case import DrawnCase, cases, drawn_cases
    from mergecheck.strategies.engine_settings import with_settings
    from mergecheck.strategies.expression.conditions import conditions
    from mergecheck.strategies.features import (
        ALWAYS_ON,
        BROUGHT,
        SOURCE_FORMS,
        SPARK_FORMS,
        TABLE_FEATURES,
        WRITTEN_FORMS,
        Feature,
    )
    from mergecheck.strategies.profile import DEFAULT_PROFILE, FULL_PROFILE, Profile, feature_sets
    from mergecheck.strategies.statement.merges import merges, statements
    from mergecheck.strategies.stream import Stream, sample, samples, shrink
    from mergecheck.strategies.table.rows import tables
    from mergecheck.strategies.table.schemas import schemas
    from mergecheck.strategies.table.values import values

__all__ = [
    "ALWAYS_ON",
    "BROUGHT",
    "DEFAULT_PROFILE",
    "FULL_PROFILE",
    "SOURCE_FORMS",
    "SPARK_FORMS",
    "TABLE_FEATURES",
    "WRITTEN_FORMS",
    "DrawnCase",
    "Feature",
    "Profile",
    "Stream",
    "cases",
    "conditions",
    "drawn_cases",
    "feature_sets",
    "merges",
    "sample",
    "samples",
    "schemas",
    "shrink",
    "statements",
    "tables",
    "values",
    "with_settings",
]

_MODULES = {
    "drawn_case": ("DrawnCase", "cases", "drawn_cases"),
    "engine_settings": ("with_settings",),
    "expression.conditions": ("conditions",),
    "features": (
        *("ALWAYS_ON", "BROUGHT", "SOURCE_FORMS", "SPARK_FORMS", "TABLE_FEATURES", "WRITTEN_FORMS"),
        "Feature",
    ),
    "profile": ("DEFAULT_PROFILE", "FULL_PROFILE", "Profile", "feature_sets"),
    "statement.merges": ("merges", "statements"),
    "stream": ("Stream", "sample", "samples", "shrink"),
    "table.rows": ("tables",),
    "table.schemas": ("schemas",),
    "table.values": ("values",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name from its module (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
