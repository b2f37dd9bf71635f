"""Session settings and table properties of a case (R-120, R-244, R-251, R-425, R-470, R-501, R-714, R-715, R-731)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.table_properties import APPEND_ONLY
from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses
from mergecheck.strategies.syntax.spark_sql import expression_text
from mergecheck.strategies.syntax.statement import Aliases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hypothesis.strategies import DrawFn

    from mergecheck.strategies.syntax.columns import Check

_PREFIX = "spark.databricks.delta."
INSERT_ONLY = f"{_PREFIX}merge.optimizeInsertOnlyMerge.enabled"
MATCHED_ONLY = f"{_PREFIX}merge.optimizeMatchedOnlyMerge.enabled"
MATERIALIZE = f"{_PREFIX}merge.materializeSource"
REPARTITION = f"{_PREFIX}merge.repartitionBeforeWrite.enabled"
SKIP_EMPTY_COMMITS = f"{_PREFIX}skipRecordingEmptyCommits"
AUTO_MERGE = f"{_PREFIX}schema.autoMerge.enabled"
PRESERVE_NULL_STRUCTS = f"{_PREFIX}merge.preserveNullSourceStructs"
PRESERVE_ON_STAR = f"{PRESERVE_NULL_STRUCTS}.updateStar"
POLICY = "spark.sql.storeAssignmentPolicy"
ANSI = "spark.sql.ansi.enabled"
CASE_SENSITIVE = "spark.sql.caseSensitive"
DROP_NULL_COLUMNS = f"{_PREFIX}createDataFrame.dropNullColumns"
HISTORY_METRICS = f"{_PREFIX}history.metricsEnabled"
USER_METADATA = f"{_PREFIX}commitInfo.userMetadata"
OPTIMIZE_WRITE = f"{_PREFIX}optimizeWrite.enabled"
TXN_APP_ID, TXN_VERSION = f"{_PREFIX}write.txnAppId", f"{_PREFIX}write.txnVersion"
TIME_ZONE = "spark.sql.session.timeZone"

_MATERIALIZE_MODES = st.sampled_from(("none", "all", "auto"))
_SWITCHES = (INSERT_ONLY, MATCHED_ONLY, REPARTITION, SKIP_EMPTY_COMMITS)
_PERCENT = 35
_TEXTS = st.sampled_from(("nightly load", "", '{"job": "a\\"b"}', "\u00e9\u732b"))
_VERSIONS = st.sampled_from((1, 0, 2, 2**40))
_EARLIER = st.sampled_from((-1, -2, 0, 1))
_APPLICATIONS = st.sampled_from(("app", "an app/1"))
_ZONES = st.sampled_from(("America/New_York", "Asia/Kolkata"))


def draw_session_settings(draw: DrawFn, features: frozenset[Feature]) -> dict[str, str]:
    """Draw settings of the session; those at their default are left out, and the others shrink to it."""
    conf: dict[str, str] = {}
    if Feature.SETTINGS in features:
        if chance(draw, _PERCENT):
            conf[MATERIALIZE] = draw(_MATERIALIZE_MODES)
        conf |= {name: "false" for name in _SWITCHES if chance(draw, _PERCENT)}
    if Feature.SCHEMA_EVOLUTION in features and chance(draw, 40):
        conf[AUTO_MERGE] = "true"
    if Feature.NESTED_TYPES in features and chance(draw, 35 if Feature.SCHEMA_EVOLUTION in features else 8):
        # the second has the first's value unless it is set
        both = (PRESERVE_NULL_STRUCTS, PRESERVE_ON_STAR)
        names = draw(st.sampled_from((both[:1], both[1:], both)))
        conf |= {name: draw(st.sampled_from(("false", "true"))) for name in names}
    if Feature.LEGACY_POLICY in features:
        conf[POLICY] = "LEGACY"
        if chance(draw, 4):
            conf[ANSI] = "false"
    elif Feature.STRICT_POLICY in features:
        conf[POLICY] = "STRICT"
    if Feature.CASE_SENSITIVE in features:
        conf[CASE_SENSITIVE] = "true"
    if Feature.COMMIT_SETTINGS in features:
        conf |= _commit_settings(draw)
    if Feature.TIME_ZONE in features:
        conf[TIME_ZONE] = draw(_ZONES)
    return conf


def _commit_settings(draw: DrawFn) -> dict[str, str]:
    """Draw settings for the contents of a commit, and for the arrangement of its files (R-425, R-501, R-714, R-715)."""
    conf: dict[str, str] = {}
    if chance(draw, _PERCENT):
        conf[HISTORY_METRICS] = "false"
    if chance(draw, _PERCENT):
        conf[USER_METADATA] = draw(_TEXTS)
    if chance(draw, _PERCENT):
        conf[OPTIMIZE_WRITE] = "true"
    if chance(draw, _PERCENT):
        conf |= {TXN_APP_ID: draw(_APPLICATIONS), TXN_VERSION: str(draw(_VERSIONS))}
    return conf


def draw_transactions(draw: DrawFn, conf: Mapping[str, str]) -> dict[str, int]:
    """Draw earlier commits of an application to the target; now and then this very merge (R-715)."""
    if TXN_APP_ID not in conf or not chance(draw, 50):
        return {}
    version = int(conf[TXN_VERSION]) + draw(_EARLIER)
    application = "another" if chance(draw, 30) else conf[TXN_APP_ID]
    return {application: version} if version >= 0 else {}


def insert_only_optimised(conf: Mapping[str, str]) -> bool:
    """Return whether insert-only merges take the path without an ambiguity check (R-320, R-402)."""
    return conf.get(INSERT_ONLY, "true") == "true"


def auto_merges(conf: Mapping[str, str]) -> bool:
    """Return whether the session has schema evolution on."""
    return conf.get(AUTO_MERGE, "false") == "true"


def draw_table_properties(
    draw: DrawFn, features: frozenset[Feature], checks: Iterable[Check], *, insert_only: bool
) -> dict[str, str]:
    """Draw the properties of the target: change data feed (R-601), CHECK constraints (R-742), append-only (R-743)."""
    properties = {CDF_PROPERTY: "true"} if Feature.CHANGE_DATA_FEED in features else {}
    # an append-only table refuses most merges that do more than insert
    if uses(draw, features, Feature.APPEND_ONLY, percent=90 if insert_only else 15):
        properties[APPEND_ONLY] = "true"
    constraints = {f"delta.constraints.{check.name}": expression_text(check.condition, Aliases()) for check in checks}
    return {**properties, **constraints}
