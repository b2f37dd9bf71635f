"""Parts 7 and 8: effects on table and log, corner cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.rules.evidence import Evidence, Rule
from mergecheck.model.outcome import MergePath
from mergecheck.model.storage import Checkpoint
from mergecheck.model.table_properties import COLUMN_MAPPING, FEATURE_PREFIX, IN_COMMIT_TIMESTAMPS, ROW_TRACKING, is_on
from mergecheck.model.types.data_types import (
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.reference.syntax.query_tree import conjuncts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType

_STATISTICS = "spark.databricks.delta.stats.collect"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
_LOG = "about what the log says of every commit, which is compared wherever a log is read"
_CONCURRENT = "needs another writer at the same time; tested on the engine"
_MANY_CLAUSES = 5
_PLAIN_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def _succeeds(e: Evidence) -> bool:
    return e.prediction is not None


def _commits(e: Evidence) -> bool:
    return e.prediction is not None and e.prediction.committed


def _cells(e: Evidence) -> Iterator[Value]:
    for table in e.case.all_tables:
        for row in table.rows:
            yield from row


def _types(e: Evidence) -> Iterator[DataType]:
    for column in e.case.target.schema.columns:
        yield column.type


def _has_empty_source(e: Evidence) -> bool:
    source = e.reference.trace.source
    return source is not None and not source.rows


def _has_nan(e: Evidence) -> bool:
    return _succeeds(e) and any(isinstance(cell, float) and math.isnan(cell) for cell in _cells(e))


def _has_negative_zero(e: Evidence) -> bool:
    zeros = (cell for cell in _cells(e) if isinstance(cell, float) and cell == 0)
    return _succeeds(e) and any(math.copysign(1, zero) < 0 for zero in zeros)


def _has_null_struct(e: Evidence) -> bool:
    structs = [i for i, column in enumerate(e.case.target.schema.columns) if isinstance(column.type, StructType)]
    return _succeeds(e) and any(row[i] is None for row in e.case.target.rows for i in structs)


def _compares(e: Evidence, *wanted: DataType) -> bool:
    """Look for a condition that uses a column with any of the types."""
    names = {column.name.lower() for column in e.case.target.schema.columns if column.type in wanted}
    used = {column.name.lower() for condition in e.conditions() for column in condition.find_all(exp.Column)}
    return _succeeds(e) and bool(names & used)


def _constant_on(e: Evidence) -> bool:
    return _succeeds(e) and e.merge is not None and not e.merge.on.sides


def _one_sided_on(e: Evidence) -> bool:
    return _succeeds(e) and e.merge is not None and len(e.merge.on.sides) == 1


def _no_equality(e: Evidence) -> bool:
    if e.statement is None or e.merge is None or len(e.merge.on.sides) < len(("target", "source")):
        return False
    parts = conjuncts(e.statement.on)
    return _succeeds(e) and not any(isinstance(part, exp.EQ | exp.NullSafeEQ) for part in parts)


def _duplicate_source_names(e: Evidence) -> bool:
    names = [] if e.source_schema is None else [name.lower() for name in e.source_schema.names]
    return len(set(names)) < len(names)


def _alias_is_column(e: Evidence) -> bool:
    if e.statement is None or e.source_schema is None or e.merge is None:
        return False
    aliases = {(e.statement.source_alias or "").lower(), (e.statement.target_alias or "").lower()}
    return any(name.lower() in aliases for name in (*e.source_schema.names, *e.case.target.schema.names))


def _case_variants(e: Evidence) -> bool:
    target = e.case.target.schema.names
    source = () if e.source_schema is None else e.source_schema.names
    return _succeeds(e) and any(a != b and a.lower() == b.lower() for a in target for b in source)


def _constrained(e: Evidence) -> bool:
    columns = e.case.target.schema.columns
    properties = e.case.target.properties
    limits = any(not c.nullable or c.generated is not None for c in columns)
    return e.merge is not None and (limits or any(name.startswith("delta.constraints.") for name in properties))


def _has_named_features(e: Evidence) -> bool:
    target = e.case.target
    named = any(name.startswith(FEATURE_PREFIX) for name in target.properties)
    return named or target.layout.checkpoint is not Checkpoint.NONE


def _tracks_rows(e: Evidence) -> bool:
    return is_on(e.case.target.properties, ROW_TRACKING)


def _gives_row_ids(e: Evidence) -> bool:
    return _tracks_rows(e) or f"{FEATURE_PREFIX}rowTracking" in e.case.target.properties


RULES = (
    Rule(number="R-701", reached=_commits),
    Rule(number="R-702", out_of_reach=_LOG),
    Rule(number="R-703", reached=lambda e: e.change_feed and e.path is MergePath.D),
    Rule(number="R-704", reached=lambda e: e.new_schema),
    Rule(number="R-705", reached=lambda e: _commits(e) and _tracks_rows(e)),
    Rule(number="R-706", reached=lambda e: _commits(e) and _has_named_features(e)),
    Rule(number="R-707", reached=lambda e: _commits(e) and is_on(e.case.target.properties, IN_COMMIT_TIMESTAMPS)),
    Rule(number="R-708", reached=lambda e: _commits(e) and bool(e.case.target.layout.cluster_by)),
    Rule(number="R-709", reached=lambda e: _commits(e) and COLUMN_MAPPING in e.case.target.properties),
    Rule(number="R-710", out_of_reach=_LOG),
    Rule(number="R-711", out_of_reach=_LOG),
    Rule(number="R-712", out_of_reach=_LOG),
    Rule(number="R-713", out_of_reach=_LOG),
    Rule(number="R-714", reached=lambda e: _commits(e) and USER_METADATA in e.case.conf),
    Rule(number="R-715", reached=lambda e: _succeeds(e) and TXN_APP_ID in e.case.conf),
    Rule(number="R-716", reached=lambda e: _commits(e) and bool(e.case.target.layout.widened_columns)),
    Rule(number="R-717", out_of_reach=_LOG),
    Rule(number="R-718", out_of_reach=_LOG),
    Rule(number="R-719", out_of_reach=_LOG),
    Rule(number="R-720", reached=_commits),
    Rule(number="R-721", reached=_commits),
    Rule(number="R-722", out_of_reach=_LOG),
    Rule(number="R-723", out_of_reach=_LOG),
    Rule(number="R-724", reached=lambda e: _commits(e) and _gives_row_ids(e)),
    Rule(number="R-725", reached=lambda e: _tracks_rows(e) and e.path in (MergePath.D, MergePath.E)),
    Rule(number="R-726", out_of_reach=_CONCURRENT),
    Rule(number="R-727", reached=lambda e: _gives_row_ids(e) and e.case.conf.get(_STATISTICS) == "false"),
    Rule(number="R-730", reached=lambda e: e.merge is not None),
    Rule(number="R-731", reached=lambda e: _succeeds(e) and not _commits(e)),
    Rule(number="R-732", reached=lambda e: _commits(e) and e.changed_rows == 0),
    Rule(number="R-740", reached=_constrained),
    Rule(number="R-741", reached=lambda e: e.rejected("DELTA_NOT_NULL_CONSTRAINT_VIOLATED")),
    Rule(number="R-742", reached=lambda e: e.rejected("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES")),
    Rule(number="R-743", reached=lambda e: e.rejected("DELTA_CANNOT_MODIFY_APPEND_ONLY")),
    Rule(number="R-744", reached=lambda e: _succeeds(e) and bool(e.case.target.partition_by) and "" in _cells(e)),
    Rule(number="R-745", out_of_reach="such a table cannot be made"),
    Rule(number="R-746", reached=lambda e: any(c.invariant is not None for c in e.case.target.schema.columns)),
    Rule(number="R-747", reached=lambda e: _constrained(e) and e.rejected("INTERNAL_ERROR")),
    Rule(number="R-750", out_of_reach=_CONCURRENT),
    Rule(number="R-751", out_of_reach=_CONCURRENT),
    Rule(number="R-801", reached=_has_nan),
    Rule(number="R-802", reached=_has_negative_zero),
    Rule(
        number="R-803",
        reached=lambda e: _succeeds(e) and any(isinstance(data_type, DecimalType) for data_type in _types(e)),
    ),
    Rule(number="R-804", reached=lambda e: _compares(e, DATE, TIMESTAMP, TIMESTAMP_NTZ)),
    Rule(number="R-805", reached=lambda e: _compares(e, STRING)),
    Rule(number="R-806", reached=_has_null_struct),
    Rule(
        number="R-807",
        reached=lambda e: _succeeds(e) and any(isinstance(data_type, MapType) for data_type in _types(e)),
    ),
    Rule(
        number="R-808",
        reached=lambda e: _succeeds(e) and any(set(name) - _PLAIN_NAME for name in e.case.target.schema.names),
    ),
    Rule(number="R-809", out_of_reach="Delta's helper columns; ours collide with no name"),
    Rule(number="R-810", reached=lambda e: _succeeds(e) and e.reads_target),
    Rule(number="R-811", reached=lambda e: _succeeds(e) and not e.reads_target and _has_empty_source(e)),
    Rule(number="R-812", reached=lambda e: _succeeds(e) and not e.case.target.rows),
    Rule(number="R-813", reached=_constant_on),
    Rule(number="R-814", reached=_one_sided_on),
    Rule(number="R-815", reached=_no_equality),
    Rule(number="R-816", reached=_case_variants),
    Rule(number="R-817", out_of_reach="needs a session's cache; tested on the engine"),
    Rule(number="R-818", out_of_reach="which rows they give is not defined"),
    Rule(number="R-819", reached=lambda e: len(e.resolved()) >= _MANY_CLAUSES),
    Rule(number="R-822", reached=lambda e: any(c.limits for c in e.case.target.schema.columns)),
    Rule(number="R-823", reached=_duplicate_source_names),
    Rule(number="R-824", reached=_alias_is_column),
)
