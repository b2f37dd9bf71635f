"""A disabled feature is in no case, whichever other feature would write it."""

from __future__ import annotations

import itertools

import pytest

from mergecheck import strategies
from mergecheck.strategies import FULL_PROFILE, Feature

NUM_CASES = 150
FORMS = {
    Feature.NULL_SAFE_ON: ("on:null-safe",),
    Feature.NON_EQUI_ON: ("on:non-equi", "on:or"),
    Feature.KEY_EXPRESSION_ON: ("on:key-expression",),
    Feature.CONDITIONS: tuple(
        f"clause:{kind}/{action}/conditional"
        for kind in ("matched", "not_matched", "not_matched_by_source")
        for action in ("update", "delete", "insert")
    ),
    Feature.EXPLICIT: ("action:matched/update/explicit", "action:not_matched/insert/explicit"),
}
OTHERS = {
    Feature.NULL_SAFE_ON: (),
    Feature.NON_EQUI_ON: (),
    Feature.KEY_EXPRESSION_ON: (),
    Feature.CONDITIONS: (Feature.SEVERAL_CLAUSES, Feature.FILE_PRUNING, Feature.AMBIGUOUS),
    # evolution and columns that the source lacks need lists, and so do updates of rows without a source row
    Feature.EXPLICIT: (
        *(Feature.SCHEMA_EVOLUTION, Feature.MISSING_SOURCE_COLUMNS, Feature.RENAMED_SOURCE_COLUMNS),
        *(Feature.SELF_MERGE, Feature.GENERATED_COLUMNS, Feature.COLUMN_DEFAULTS, Feature.SUBQUERY_SOURCE),
    ),
}


@pytest.mark.parametrize("feature", FORMS, ids=lambda feature: feature.value)
def test_a_disabled_feature_is_never_drawn(feature: Feature) -> None:
    """Labels are read off the statement, not off the features that were drawn."""
    profile = FULL_PROFILE.without(feature, Feature.INVALID, *OTHERS[feature])
    drawn = itertools.islice(strategies.samples(5, profile=profile), NUM_CASES)
    labels = set().union(*(one.features for one in drawn))
    assert labels.isdisjoint(FORMS[feature])
