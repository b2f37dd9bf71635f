"""Hypothesis strategies that draw MERGE cases."""

from __future__ import annotations

from strategies.cases import DrawnCase, cases, drawn_cases
from strategies.conditions import conditions
from strategies.engine_settings import with_settings
from strategies.features import DEFAULT_PROFILE, Feature, Profile, feature_sets
from strategies.sampling import Stream, sample, samples, shrink
from strategies.schemas import schemas
from strategies.statements import merges, statements
from strategies.tables import tables
from strategies.values import values

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
