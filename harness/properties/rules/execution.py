"""Parts 4 to 6: execution paths, operation metrics, change data feed."""

from __future__ import annotations

from mergecheck.harness.properties.rules.evidence import Evidence, Rule
from mergecheck.harness.properties.rules.rows import moves_between_partitions, multi_matched_delete, same_images
from mergecheck.model.outcome import MergePath
from mergecheck.model.storage import Vectors
from mergecheck.reference.syntax.statement import Action, Kind

_INTERNAL = "jobs, logs and events of an engine, nothing that an outcome shows"
_MATERIALISED = "how the source is kept between the scans, nothing that an outcome shows; tested on the engine"
_TWO_RUNS = "compares two merges; the metamorphic tests do"
_REPARTITION = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"


def _has_vectors(e: Evidence) -> bool:
    return e.case.target.layout.vectors is not Vectors.NONE and bool(e.case.target.rows)


def _succeeds(e: Evidence) -> bool:
    return e.prediction is not None


def _idle_touched_file(e: Evidence) -> bool:
    trace = e.reference.trace
    if e.effects is None or e.path is not MergePath.D:
        return False
    changed = {trace.files[rid] for rid in (*e.effects.updated, *e.effects.deleted)}
    return not (trace.touched or frozenset()) <= changed


def _copies(e: Evidence) -> bool:
    return e.counted("numTargetRowsCopied") > 0


def _target_only_on(e: Evidence) -> bool:
    """Look for a part of ON that may prune files: it is about the target alone."""
    if e.merge is None or e.statement is None or e.resolved(Kind.NOT_MATCHED_BY_SOURCE):
        return False
    return bool(e.merge.on_target_only) and _succeeds(e)


def _target_only_clauses(e: Evidence) -> bool:
    matched_only = not e.resolved(Kind.NOT_MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
    return _succeeds(e) and matched_only and any(c.target_only for c in e.resolved(Kind.MATCHED))


def _leaves_columns_out(e: Evidence) -> bool:
    return e.path in (MergePath.C, MergePath.D) and len(e.case.target.schema.columns) > 1


def _single_conditional_insert(e: Evidence) -> bool:
    inserts = e.resolved(Kind.NOT_MATCHED)
    return e.path in (MergePath.A, MergePath.B) and len(inserts) == 1 and inserts[0].condition is not None


def _repartitions(e: Evidence) -> bool:
    wanted = e.case.conf.get(_REPARTITION, "true") == "true"
    return bool(e.case.target.partition_by) and wanted and _writes(e)


def _writes(e: Evidence) -> bool:
    return e.counted("numOutputRows") > 0


def _computed_images(e: Evidence) -> bool:
    columns = e.case.target.schema.columns
    return (
        e.change_feed and e.changed_rows > 0 and any(c.generated is not None or c.default is not None for c in columns)
    )


def _empty_partition_text(e: Evidence) -> bool:
    names, partitions = e.case.target.schema.names, e.case.target.partition_by
    source = e.reference.trace.source
    empty = any("" in row for row in (() if source is None else source.rows)) or any(
        row[names.index(p)] == "" for row in e.case.target.rows for p in partitions
    )
    return e.change_feed and bool(partitions) and empty


def _reserved_name(e: Evidence) -> bool:
    source = () if e.source_schema is None else e.source_schema.names
    return _succeeds(e) and any(name.startswith("_c") for name in (*e.case.target.schema.names, *source))


RULES = (
    Rule(number="R-401", reached=_succeeds),
    Rule(number="R-402", reached=_succeeds),
    Rule(number="R-403", out_of_reach=_TWO_RUNS),
    Rule(number="R-404", reached=lambda e: e.path in (MergePath.A, MergePath.D)),
    Rule(number="R-405", out_of_reach=_INTERNAL),
    Rule(number="R-406", out_of_reach=_INTERNAL),
    Rule(number="R-410", reached=lambda e: e.path is MergePath.D),
    Rule(number="R-411", reached=_idle_touched_file),
    Rule(number="R-412", reached=_copies),
    Rule(
        number="R-413",
        reached=lambda e: len(e.case.target.files) > 1 and (_target_only_on(e) or _target_only_clauses(e)),
    ),
    Rule(number="R-414", reached=lambda e: e.reference.least is not None),
    Rule(number="R-420", reached=_target_only_on),
    Rule(number="R-421", reached=_target_only_clauses),
    Rule(number="R-422", reached=_leaves_columns_out),
    Rule(
        number="R-423", reached=lambda e: e.path is MergePath.D and any(c.condition is not None for c in e.resolved())
    ),
    Rule(number="R-424", reached=_single_conditional_insert),
    Rule(number="R-425", reached=_repartitions),
    Rule(number="R-426", out_of_reach=_INTERNAL),
    Rule(number="R-427", out_of_reach=_INTERNAL),
    *(Rule(number=f"R-{number}", out_of_reach=_MATERIALISED) for number in range(450, 457)),
    Rule(number="R-460", reached=lambda e: e.path is MergePath.E and e.changed_rows > 0),
    Rule(number="R-461", reached=lambda e: e.path is MergePath.E and e.changed_rows == 0),
    Rule(number="R-462", reached=lambda e: e.path is MergePath.E),
    Rule(number="R-463", reached=lambda e: e.prediction is not None and _has_vectors(e)),
    Rule(number="R-470", reached=lambda e: _succeeds(e) and bool(e.case.conf)),
    Rule(number="R-501", reached=lambda e: e.prediction is not None and e.prediction.committed),
    Rule(number="R-502", reached=lambda e: e.prediction is not None and not e.prediction.committed),
    Rule(number="R-503", out_of_reach=_INTERNAL),
    Rule(number="R-504", reached=_succeeds),
    Rule(number="R-505", reached=_writes),
    Rule(number="R-506", reached=_succeeds),
    Rule(number="R-510", reached=_succeeds),
    Rule(number="R-511", reached=lambda e: e.path is MergePath.E),
    Rule(number="R-512", reached=lambda e: e.path in (MergePath.A, MergePath.C)),
    Rule(number="R-513", reached=lambda e: e.path in (MergePath.D, MergePath.E) and _has_vectors(e)),
    Rule(number="R-530", reached=multi_matched_delete),
    Rule(number="R-531", reached=lambda e: e.path is MergePath.A and e.facts.multi_matched),
    Rule(number="R-540", reached=_succeeds),
    Rule(number="R-541", reached=lambda e: e.path is MergePath.D),
    Rule(number="R-542", reached=_writes),
    Rule(number="R-543", reached=_repartitions),
    Rule(number="R-544", out_of_reach="needs tasks that fail"),
    Rule(number="R-550", out_of_reach=_TWO_RUNS),
    Rule(number="R-601", reached=lambda e: e.change_feed),
    Rule(number="R-602", reached=lambda e: e.change_feed),
    Rule(number="R-603", reached=lambda e: e.change_feed and e.changed_rows > 0),
    Rule(number="R-604", reached=lambda e: e.change_feed and e.changed_rows > 0),
    Rule(number="R-605", reached=lambda e: e.change_feed and e.path is MergePath.D and e.changed_rows == 0),
    Rule(number="R-610", reached=lambda e: e.change_feed and e.changed_rows > 0),
    Rule(number="R-611", reached=lambda e: e.change_feed and e.changed_rows > 0),
    Rule(number="R-612", reached=lambda e: e.change_feed and same_images(e)),
    Rule(number="R-613", reached=lambda e: e.change_feed and moves_between_partitions(e)),
    Rule(number="R-614", reached=lambda e: e.change_feed and multi_matched_delete(e)),
    Rule(number="R-615", reached=_computed_images),
    Rule(number="R-616", reached=_empty_partition_text),
    Rule(number="R-617", reached=lambda e: e.change_feed and any(e.applied_clauses(Action.UPDATE))),
    Rule(number="R-620", reached=lambda e: e.change_feed),
    Rule(number="R-621", out_of_reach=_TWO_RUNS),
    Rule(number="R-630", reached=lambda e: e.change_feed and e.new_schema),
    Rule(number="R-631", out_of_reach="reads of several versions; a case has one merge"),
    Rule(number="R-632", reached=_reserved_name),
)
