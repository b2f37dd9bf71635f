"""Hypothesis strategies that draw MERGE cases."""

from __future__ import annotations

from mergecheck.strategies.cases import DrawnCase, cases, drawn_cases
from mergecheck.strategies.choices.features import DEFAULT_PROFILE, Feature, Profile, feature_sets
from mergecheck.strategies.expressions.conditions import conditions
from mergecheck.strategies.settings.engine_settings import with_settings
from mergecheck.strategies.statements.statements import merges, statements
from mergecheck.strategies.stream import Stream, sample, samples, shrink
from mergecheck.strategies.tables.schemas import schemas
from mergecheck.strategies.tables.tables import tables
from mergecheck.strategies.tables.values import values

__all__ = [
    "DEFAULT_PROFILE",
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
