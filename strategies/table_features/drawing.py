"""Features that a table has by its protocol: most merges must not even notice them.

The rules are R-226, R-460 to R-463, R-705 to R-709, R-716 and R-724 to R-727.

They are drawn after everything else, so that a case without them stays the same case.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.storage import Checkpoint, ColumnNames, RowIds, Vectors
from mergecheck.model.table_properties import (
    COLUMN_MAPPING,
    DELETION_VECTORS,
    FEATURE_PREFIX,
    IN_COMMIT_TIMESTAMPS,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    TYPE_WIDENING,
)
from mergecheck.model.types.data_types import (
    BIGINT,
    DATE,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
)
from mergecheck.strategies.choices import chance, draw_some
from mergecheck.strategies.features import TABLE_FEATURES, Feature
from mergecheck.strategies.table_features.column_conditions import draw_invariants, draw_text_limits
from mergecheck.strategies.table_features.identity_columns import draw_identity_column
from mergecheck.strategies.table_features.widening import draw_earlier_types, with_narrower_columns, with_wider_columns

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Source, Target
    from mergecheck.strategies.profile import Profile
    from mergecheck.strategies.syntax.statement import Statement

_UNFIT = frozenset(" ,;{}()\n\t=")
"""Characters that a name may have with column mapping only."""
SESSION_EVOLUTION = "spark.databricks.delta.schema.autoMerge.enabled"
AUTOMATIC_WIDENING = "spark.databricks.delta.typeWidening.allowAutomaticWidening"
ROW_TRACKING_FEATURE = f"{FEATURE_PREFIX}rowTracking"
PERSISTENT_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
_COLUMNS = frozenset({Feature.IDENTITY_COLUMNS, Feature.COLUMN_INVARIANTS, Feature.TEXT_LENGTHS})
_ANY_PERCENT = 60
_VECTORS = st.sampled_from(
    (Vectors.NONE, Vectors.SHARED_FILE, Vectors.INLINE, Vectors.NONE, Vectors.OWN_FILES, Vectors.ABSOLUTE)
)
_WIDENINGS = st.sampled_from(("always", "same_family_type", "never"))
_MAPPING_MODES = st.sampled_from(("name", "id"))
_COLUMN_NAMES = st.sampled_from((ColumnNames.GENERATED, ColumnNames.OF_OTHERS))
_MOST_DROPPED_COLUMNS = 2
_ROW_IDS = st.sampled_from((RowIds.BY_FILES, RowIds.STORED))
_ENABLED = {ROW_TRACKING: "true"}
_SUPPORTED = {ROW_TRACKING_FEATURE: "supported"}
_ROW_TRACKING = st.sampled_from(
    (_ENABLED, _ENABLED, _ENABLED, _SUPPORTED, _ENABLED, _SUPPORTED | {ROW_TRACKING_SUSPENDED: "true"})
)
_CLUSTERED_BY = (INT, BIGINT, SMALLINT, STRING, DATE, TIMESTAMP)
_MOST_CLUSTERING_COLUMNS = 4
_EVOLVES_PERCENT = 70
_CHECKPOINTS = st.sampled_from((Checkpoint.CLASSIC, Checkpoint.V2))
_NAMED = st.sampled_from(("vacuumProtocolCheck", "domainMetadata"))


def draw_table_features(
    draw: DrawFn,
    profile: Profile,
    target: Target,
    source: Source | None,
    statement: Statement,
    *,
    source_names: tuple[str, ...],
    evolves: bool,
) -> tuple[Target, Source | None, Statement, dict[str, str]]:
    """Draw the features of a table that a profile has, and settings for them; shrinks to the table as it is.

    Args:
        draw: Hypothesis'.
        profile: names the features.
        target: the table without them.
        source: gives names for columns that were dropped. Its columns get wider types if the table widens its own.
        statement: the columns that it assigns cannot get every feature.
        source_names: the columns that the statement sees of its source.
        evolves: the statement or the session evolves the table's columns.

    Returns:
        both tables, the statement, which may leave a column out for a feature, and the settings.
    """
    wanted = profile.table_features & profile.percent.keys()
    if not profile.table_features or not chance(draw, 100 if wanted else _ANY_PERCENT):
        return target, source, statement, {}
    percents = {each: _percent(each, profile) for each in TABLE_FEATURES if each not in _COLUMNS}
    drawn = {each for each, percent in percents.items() if chance(draw, percent)} & profile.table_features
    properties, layout = dict(target.properties), target.layout
    if Feature.IN_COMMIT_TIMESTAMPS in drawn:
        properties[IN_COMMIT_TIMESTAMPS] = "true"
    if Feature.NAMED_TABLE_FEATURES in drawn:
        properties[FEATURE_PREFIX + draw(_NAMED)] = "supported"
    if Feature.CHECKPOINTS in drawn and target.schema.columns:
        layout = replace(layout, checkpoint=draw(_CHECKPOINTS))
    if Feature.CLUSTERING in drawn and (names := _clusterable(target)):
        layout = replace(layout, cluster_by=draw_some(draw, names, percent=40)[:_MOST_CLUSTERING_COLUMNS])
    if Feature.COLUMN_MAPPING in drawn and target.schema.columns:
        properties[COLUMN_MAPPING] = draw(_MAPPING_MODES)
        dropped = _droppable(target, source) if chance(draw, 50) else ()
        layout = replace(layout, column_names=draw(_COLUMN_NAMES), dropped_columns=dropped)
    conf: dict[str, str] = {}
    if Feature.DELETION_VECTORS in drawn and target.schema.columns:
        if chance(draw, 80):
            properties[DELETION_VECTORS] = "true"
            conf = {PERSISTENT_VECTORS: "false"} if chance(draw, 10) else {}
        layout = replace(layout, vectors=draw(_VECTORS))
    if Feature.TYPE_WIDENING in drawn and target.schema.columns:
        if chance(draw, 80):
            properties[TYPE_WIDENING] = "true"
            conf = {**conf, AUTOMATIC_WIDENING: draw(_WIDENINGS)} if chance(draw, 20) else conf
            conf = {**conf, SESSION_EVOLUTION: "true"} if chance(draw, _EVOLVES_PERCENT) else conf
            if statement.source_query is not None and source is not None and not source.rows:
                target = with_narrower_columns(draw, target, source)  # the query has the rows, with their types
            else:
                source = with_wider_columns(draw, target, source)
        layout = replace(layout, widened_columns=draw_earlier_types(draw, target))
    if Feature.ROW_TRACKING in drawn:
        properties |= draw(_ROW_TRACKING)
        layout = replace(layout, row_ids=draw(_ROW_IDS) if target.schema.columns else layout.row_ids)
    target = replace(target, properties=properties, layout=layout)
    of_columns = {each for each in TABLE_FEATURES if each in _COLUMNS and chance(draw, _percent(each, profile))}
    of_columns &= profile.table_features
    # a new high-water mark is new metadata, which such names do not pass
    has_unfit_name = COLUMN_MAPPING not in properties and any(
        not _UNFIT.isdisjoint(name) for name in target.schema.names
    )
    if Feature.IDENTITY_COLUMNS in of_columns and not has_unfit_name:
        evolves = evolves or SESSION_EVOLUTION in conf
        target, statement = draw_identity_column(draw, target, source_names, statement, evolves=evolves)
    if Feature.COLUMN_INVARIANTS in of_columns:
        target = draw_invariants(draw, target, source)
    if Feature.TEXT_LENGTHS in of_columns:
        target, source, for_texts = draw_text_limits(draw, target, source, statement)
        conf = {**conf, **for_texts}
    return target, source, statement, conf


def _percent(feature: Feature, profile: Profile) -> float:
    return profile.percent.get(feature, feature.probability_percent)


def _droppable(target: Target, source: Source | None) -> tuple[str, ...]:
    """Name columns that the table may have had once; columns that evolution would add must not have these names."""
    known = {name.lower() for name in target.schema.names}
    names = () if source is None else source.schema.names
    return tuple(dict.fromkeys(name for name in names if name.lower() not in known))[:_MOST_DROPPED_COLUMNS]


def _clusterable(target: Target) -> tuple[str, ...]:
    """Name the columns by which the table may be clustered; a partitioned table by none."""
    if target.partition_by:
        return ()
    return tuple(column.name for column in target.schema.columns if column.type in _CLUSTERED_BY)
