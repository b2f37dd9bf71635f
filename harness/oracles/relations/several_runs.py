"""Relations whose answer changes in a known way, or that run a merge several times: on parts of tables, and again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.oracles.relations.relation import Relation
from mergecheck.harness.properties.repeatable_values import has_random_values
from mergecheck.harness.properties.source_tables import tables_of_queries, tables_of_source
from mergecheck.harness.verdict import Check
from mergecheck.model.case import Source, Target
from mergecheck.model.layout import physical_rows
from mergecheck.model.types.data_types import Schema
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from mergecheck.harness.oracles.relations.relation import Trial
    from mergecheck.harness.verdict import Mismatch
    from mergecheck.model.case import Case, Row

_BY_SOURCE = Kind.NOT_MATCHED_BY_SOURCE
# They make a version of a merge that does nothing.
_COMMIT_SETTINGS = frozenset(
    {"spark.databricks.delta.skipRecordingEmptyCommits", "spark.databricks.delta.write.txnAppId"}
)
_SUMMED = ("numTargetRowsUpdated", "numTargetRowsDeleted")


def _target_split(trial: Trial) -> tuple[Mismatch, ...]:
    """Merge into each half of the target: together that is what happens to the whole."""
    case, whole, rows = trial.case, trial.outcome, trial.case.target.rows
    clauses = tuple(clause for clause in trial.text.clauses if clause.kind is not Kind.NOT_MATCHED)
    trial.require(condition=len(rows) > 1 and bool(clauses))
    trial.require(condition="target" not in tables_of_source(case) | tables_of_queries(case))
    trial.require(condition=not has_random_values(case.sql) and whole.schema == case.target.schema)
    if len(clauses) < len(trial.text.clauses):
        case = trial.with_clauses(replace(trial.text, clauses=clauses))
        whole = trial.outcome_of(case, may_be_ambiguous=True)
    first, second = (
        trial.outcome_of(_with_target(case, files=(half,)), may_be_ambiguous=True) for half in (rows[::2], rows[1::2])
    )
    sums = {
        name: first.metrics[name] + second.metrics[name]
        for name in _SUMMED
        if name in first.metrics and name in second.metrics
    }
    mismatches = (*trial.rows((*first.rows, *second.rows), whole), *trial.metrics(sums, whole))
    if first.cdf is None or second.cdf is None:
        return mismatches
    return (*mismatches, *trial.changes((*first.cdf, *second.cdf), whole))


def _source_split(trial: Trial) -> tuple[Mismatch, ...]:
    """Delete by each half of the source, one after the other (P-26 for deletes, which change no key)."""
    case, source = trial.case, trial.source_table()
    matched = [clause for clause in trial.text.clauses if clause.kind is Kind.MATCHED]
    trial.require(condition=bool(matched) and len(source.rows) > 1 and not has_random_values(case.sql))
    trial.require(condition=trial.outcome.schema == case.target.schema)
    deletes = tuple(clause.deleting() for clause in matched)
    deleting = trial.with_clauses(replace(trial.text, clauses=deletes))
    whole = trial.outcome_of(deleting, may_be_ambiguous=True)
    half = replace(source, rows=source.rows[::2])
    first = trial.outcome_of(replace(deleting, source=half), may_be_ambiguous=True)
    left = _with_target(deleting, files=_in_one_file(first.rows))
    half = replace(source, rows=source.rows[1::2])
    second = trial.outcome_of(replace(left, source=half), may_be_ambiguous=True)
    return trial.rows(second.rows, whole)


def _columns_reversed(trial: Trial) -> tuple[Mismatch, ...]:
    """Let the target's columns stand in the opposite order: nothing goes by position (P-27)."""
    case, outcome = trial.case, trial.outcome
    old = len(case.target.schema.columns)
    trial.source_table()  # a query could take columns by position
    trial.require(condition=old > 1 and not has_random_values(case.sql))

    def reversed_row(row: Row) -> Row:
        return (*row[:old][::-1], *row[old:])

    schema = Schema(reversed_row(case.target.schema.columns))
    files = tuple(tuple(reversed_row(row) for row in file) for file in case.target.files)
    turned = _with_target(case, schema=schema, files=files)
    wanted = replace(
        outcome,
        schema=Schema(reversed_row(outcome.schema.columns)),
        rows=tuple(reversed_row(row) for row in outcome.rows),
        cdf=None if outcome.cdf is None else tuple(reversed_row(row) for row in outcome.cdf),
    )
    return trial.differences(wanted, trial.outcome_of(turned, may_be_ambiguous=True))


def _without_source_rows(trial: Trial) -> tuple[Mismatch, ...]:
    """Merge from nothing: without NOT MATCHED BY SOURCE clauses the rows stay as they are (P-24)."""
    case, source = trial.case, trial.source_table()
    trial.require(
        condition=not any(clause.kind is _BY_SOURCE for clause in trial.text.clauses)
        and trial.outcome.schema == case.target.schema
    )
    trial.require(condition=case.conf.keys().isdisjoint(_COMMIT_SETTINGS))
    found = trial.outcome_of(replace(case, source=replace(source, rows=())))
    mismatches = trial.rows(physical_rows(case.target), found)
    if found.committed:
        lines = ("the source is empty, and yet there is a new version of the table",)
        mismatches = (*mismatches, trial.mismatch(Check.COMMIT, lines))
    return (*mismatches, *trial.changes((), found))


def _twice(trial: Trial) -> tuple[Mismatch, ...]:
    """Run the same upsert again: it finds the rows that it has left, and changes nothing (P-23)."""
    upsert, given = _keyed(trial, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    first = trial.outcome_of(upsert)
    again = trial.outcome_of(_with_target(upsert, files=_in_one_file(first.rows)))
    counted = {"numTargetRowsInserted": 0, "numTargetRowsUpdated": len(given)}
    return (*trial.rows(first.rows, again), *trial.metrics(counted, again))


def _synchronised(trial: Trial) -> tuple[Mismatch, ...]:
    """Update all, insert all, delete by source on a unique key: the target becomes the source (P-25)."""
    sync, given = _keyed(
        trial, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    return trial.rows(given, trial.outcome_of(sync))


def _keyed(trial: Trial, clauses: str) -> tuple[Case, tuple[Row, ...]]:
    """Make a merge of its own from the target's rows with unique keys, by equality of the key.

    Returns:
        The case, and the rows of its source.
    """
    case = trial.case
    schema = case.target.schema.plain
    trial.require(condition=bool(schema.columns) and not case.target.partition_by)
    key = schema.columns[0]
    trial.require(condition=not key.type.ddl().startswith(("STRUCT", "ARRAY", "MAP")))
    unique = {row_identity((row[0],), schema): row for row in case.target.rows if _is_plain_key(row[0])}
    rows = tuple(unique.values())
    given = tuple((row[0], *other[1:]) for row, other in zip(rows, rows[1:] + rows[:1], strict=True))[1:]
    name = f"`{key.name.replace('`', '``')}`"
    keyed = replace(
        case,
        target=Target(schema=schema, files=_in_one_file(rows[::2])),
        source=Source(schema=schema, rows=given),
        sql=f"MERGE INTO target t USING source s ON t.{name} = s.{name} {clauses}",
        conf={},
    )
    return keyed, given


def _in_one_file(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], ...]:
    return (rows,) if rows else ()


def _is_plain_key(value: object) -> bool:
    """Leave out NULL, which matches nothing, and zeros, of which floats have two that match (R-308, R-802)."""
    return value is not None and not (isinstance(value, float) and value == 0)


def _with_target(case: Case, **changes: object) -> Case:
    target = replace(case.target, **changes)  # type: ignore[arg-type]  # names are Target's own fields
    return replace(case, target=target)


RELATIONS_OF_SEVERAL_RUNS = (
    Relation(
        name="target-halves",
        sentence="what happens to a table is what happens to its two halves",
        domain="some clause that is not NOT MATCHED (these are left out); no query over the target, no schema "
        "evolution, no random values",
        holds=_target_split,
    ),
    Relation(
        name="source-halves",
        sentence="deleting by a source is deleting by its two halves, one after the other",
        domain="some MATCHED clause, whose action becomes DELETE; the source is a table",
        holds=_source_split,
    ),
    Relation(
        name="P-27",
        sentence="the order of the target's columns does not matter",
        domain="two columns or more; no random values",
        holds=_columns_reversed,
    ),
    Relation(
        name="P-24",
        sentence="an empty source changes nothing and makes no version",
        domain="no NOT MATCHED BY SOURCE clause, no schema evolution; the source is a table",
        holds=_without_source_rows,
    ),
    Relation(
        name="P-23",
        sentence="an upsert that runs again updates every source row and leaves the table as it is",
        domain="the first column is a key of an atomic type; a statement of its own",
        holds=_twice,
    ),
    Relation(
        name="P-25",
        sentence="update all, insert all and delete by source make the target equal to the source",
        domain="the first column is a key of an atomic type; a statement of its own",
        holds=_synchronised,
    ),
)
