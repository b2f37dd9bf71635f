"""Session settings and table properties of a case (R-470, R-731, P-17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference.case import CDF_PROPERTY
from strategies.chance import chance, pick
from strategies.features import Feature

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

_PREFIX = "spark.databricks.delta."
INSERT_ONLY = f"{_PREFIX}merge.optimizeInsertOnlyMerge.enabled"
MATCHED_ONLY = f"{_PREFIX}merge.optimizeMatchedOnlyMerge.enabled"
MATERIALIZE = f"{_PREFIX}merge.materializeSource"
REPARTITION = f"{_PREFIX}merge.repartitionBeforeWrite.enabled"
SKIP_EMPTY_COMMITS = f"{_PREFIX}skipRecordingEmptyCommits"

_MATERIALIZE_MODES = ("none", "all", "auto")
_SWITCHES = (INSERT_ONLY, MATCHED_ONLY, REPARTITION, SKIP_EMPTY_COMMITS)
_PERCENT = 35


def draw_conf(draw: DrawFn, features: frozenset[Feature]) -> dict[str, str]:
    """Draw session settings; those left at their default are not named."""
    if Feature.SETTINGS not in features:
        return {}
    conf = {}
    if chance(draw, _PERCENT):
        conf[MATERIALIZE] = pick(draw, _MATERIALIZE_MODES)
    for name in _SWITCHES:
        if chance(draw, _PERCENT):
            conf[name] = "false"
    return conf


def insert_only_optimised(conf: dict[str, str]) -> bool:
    """Tell whether insert-only merges take the path without an ambiguity check (R-320, R-402)."""
    return conf.get(INSERT_ONLY, "true") == "true"


def table_properties(features: frozenset[Feature]) -> dict[str, str]:
    """Return the properties of the target table (R-601)."""
    return {CDF_PROPERTY: "true"} if Feature.CHANGE_DATA_FEED in features else {}
