"""Part 3: which clause fires on which row, and what it does."""

from __future__ import annotations

from sqlglot import exp

from mergecheck.reference.outcome import MergePath
from mergecheck.reference.rules.evidence import Evidence, Rule
from mergecheck.reference.syntax.statement import Action, Kind

_MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
_NON_DETERMINISTIC = "a non-deterministic value has no expected value; tested on the engine"
_NOT_IN_AN_OUTCOME = "an outcome does not show it; tested on the engine"


def _chooses(e: Evidence) -> bool:
    """Look for a kind with several clauses of which one fires."""
    return any(len(e.resolved(clause.kind)) > 1 for clause, _ in e.fired_clauses())


def _nothing_fires(e: Evidence) -> bool:
    return e.prediction is not None and any(None in e.tried(kind) for kind in Kind if e.resolved(kind))


def _inserts_equal_rows(e: Evidence) -> bool:
    width = 0 if e.merge is None else len(e.merge.final_schema.columns)
    columns = ", ".join(f"c{index}" for index in range(width))
    several = bool(width) and e.counted("numTargetRowsInserted") > 1
    return several and e.has_rows(f"inserted GROUP BY {columns} HAVING count(*) > 1")


def _null_keys(e: Evidence) -> bool:
    return e.merge is not None and e.has_rows(f"source, target WHERE ({e.merge.on.sql}) IS NULL")


def _updates_key(e: Evidence) -> bool:
    if e.statement is None:
        return False
    keys = {column.name.lower() for column in e.statement.on.find_all(exp.Column)}
    return any(
        assigned.path[0].lower() in keys
        for clause, assigned, _ in e.fired_assignments()
        if clause.action is Action.UPDATE and not assigned.preserves
    )


def same_images(e: Evidence) -> bool:
    """Tell whether an UPDATE gave a row the values that it had (R-310, R-612)."""
    if e.evaluation is None or not e.counted("numTargetRowsUpdated"):
        return False
    width = len(e.evaluation.merge.final_schema.columns)
    equal = " AND ".join(f"c{i} IS NOT DISTINCT FROM {e.evaluation.old(i)}" for i in range(width))
    return bool(width) and e.has_rows(f"updated JOIN target USING (rid) WHERE {equal}")


def moves_between_partitions(e: Evidence) -> bool:
    """Tell whether an UPDATE changed a partition value (R-311, R-613)."""
    if e.evaluation is None or not e.counted("numTargetRowsUpdated"):
        return False
    indexes = map(e.case.target.schema.names.index, e.case.target.partition_by)
    moved = " OR ".join(f"c{i} IS DISTINCT FROM {e.evaluation.old(i)}" for i in indexes)
    return bool(moved) and e.has_rows(f"updated JOIN target USING (rid) WHERE {moved}")


def _unseen_by_its_clause(e: Evidence) -> bool:
    """Look for an ambiguous merge that fails although its conditions would settle it."""
    matched = e.resolved(Kind.MATCHED)
    return e.rejected(_MULTI_MATCH) and (not matched or any(c.condition is not None for c in matched))


def multi_matched_delete(e: Evidence) -> bool:
    """Tell whether several matches are allowed because all they do is delete (R-320, R-530)."""
    return e.prediction is not None and e.reference.facts.multi_matched and e.path is not MergePath.A


RULES = (
    Rule(number="R-301", title="the first clause that holds fires", reached=_chooses),
    Rule(number="R-302", title="nothing fires", reached=_nothing_fires),
    Rule(number="R-303", title="effect of the actions", reached=lambda e: e.changed_rows > 0),
    Rule(number="R-304", title="the result is a bag of rows", reached=lambda e: e.prediction is not None),
    Rule(number="R-305", title="duplicate source rows insert duplicates", reached=_inserts_equal_rows),
    Rule(
        number="R-306",
        title="one source row, many target rows",
        reached=lambda e: e.prediction is not None and "1:n" in e.reference.facts.matches,
    ),
    Rule(
        number="R-307",
        title="inserted rows are not merged again",
        reached=lambda e: e.counted("numTargetRowsInserted") > 0 and bool(e.resolved(Kind.MATCHED)),
    ),
    Rule(number="R-308", title="NULL keys", reached=_null_keys),
    Rule(number="R-309", title="the key is updated", reached=_updates_key),
    Rule(number="R-310", title="no-op updates are updates", reached=same_images),
    Rule(number="R-311", title="partition columns change", reached=moves_between_partitions),
    Rule(
        number="R-312",
        title="conditions are evaluated on all joined rows",
        reached=lambda e: e.path is MergePath.D and any(c.condition is not None for c in e.resolved()),
    ),
    Rule(number="R-320", title="ambiguous matches", reached=lambda e: e.reference.facts.multi_matched),
    Rule(number="R-321", title="ambiguity whatever the conditions say", reached=_unseen_by_its_clause),
    Rule(
        number="R-322",
        title="ambiguity in files that are pruned",
        reached=lambda e: e.reference.alternative is not None,
    ),
    Rule(number="R-323", title="the error of an ambiguous merge", reached=lambda e: e.rejected(_MULTI_MATCH)),
    Rule(
        number="R-324",
        title="several matches deleted beside other clauses",
        reached=lambda e: multi_matched_delete(e) and len(e.resolved()) > 1,
    ),
    Rule(number="R-330", title="non-deterministic values", out_of_reach=_NON_DETERMINISTIC),
    Rule(number="R-331", title="the source is read twice", out_of_reach=_NOT_IN_AN_OUTCOME),
)
