"""Bug models of the tables: the engine merges as if they were others."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.copied_rows import without_copies
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.row_sides import partitions_of, without
from mergecheck.model.layout import counts_rows
from mergecheck.model.outcome import Bound, MergePath, Outcome, Prediction, Rejection
from mergecheck.model.schema_json import as_nullable, is_constraint
from mergecheck.model.types.data_types import Schema, StructType
from mergecheck.reference.dialects import DATABRICKS
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.model.types.data_types import DataType

_BYTES = "numTargetBytesAdded"


def _null_hides_matches(now: Judged) -> Judged | None:
    """Count the matches of a row without those whose conditions give NULL, together as by OR.

    A row with several matches is written once for each of them if its file is rewritten. The merge therefore fails if
    it adds more rows than it removes, and if the log has the files' numbers of rows. Otherwise it succeeds; then a
    partition that has nothing but copies has a file for them. A merge that marks rows in vectors writes no copies.
    """
    found = now.ask(now.case, DATABRICKS)
    effects, files = found.trace.effects, found.trace.files
    if not isinstance(found.answer, Prediction) or effects is None:
        return None
    pairs = effects.candidates[Kind.MATCHED]
    matches = Counter(pair.rid for pair in pairs if pair.rid is not None)
    counted = Counter(pair.rid for pair in pairs if True in pair.conditions or None not in pair.conditions)
    if any(number > 1 for number in counted.values()):
        return None
    after = replace(now, reference=found, dialect=DATABRICKS)
    rewritten = {files[pair.rid] for pair in pairs if pair.rid is not None and True in pair.conditions}
    copies = [effects.old[rid] for rid, number in matches.items() if files[rid] in rewritten for _ in range(number - 1)]
    if not copies or found.answer.path is MergePath.E:
        return after
    knows_all = all(counts_rows(now.given.target.layout, number) for number in rewritten)
    if knows_all and len(copies) > len(effects.deleted):
        refused = Rejection(error_class="DELTA_NUM_RECORDS_MISMATCH", message="rows are doubled", unchanged=True)
        return replace(after, reference=replace(found, answer=refused))
    if not isinstance(now.result, TableOutcome):
        return None
    left = without(now.result.rows, copies, now.result.schema)
    if left is None:
        return None
    written = {**effects.unchanged, **effects.updated}
    others = [row for rid, row in written.items() if files[rid] in rewritten]
    of_copies, of_others = (
        partitions_of(rows, found.answer.schema, now.given.target.partition_by) for rows in (copies, others)
    )
    num_files = len(of_copies - of_others)
    if num_files and not others:  # the copies have all files, whose sizes are in the actions of the commit, too
        metrics = {**found.answer.metrics, _BYTES: Bound(0, None)}
        after = replace(after, reference=replace(found, answer=replace(found.answer, metrics=metrics)))
    return replace(after, result=without_copies(now.result, left, len(copies), num_files))


def _forgets_not_null(now: Judged) -> Judged | None:
    """Take NOT NULL from the target's columns that the source has and that the new schema lets be NULL.

    A schema that changes makes a version.
    """
    target, source, found = now.case.target, now.reference.trace.source, now.result
    if source is None or not isinstance(found, Outcome) or not now.reference.trace.evolution:
        return None
    of_source = {name.lower() for name in source.schema.names}
    nullable = {column.name for column in found.schema.columns if column.nullable and column.name.lower() in of_source}
    columns = tuple(
        replace(column, nullable=column.nullable or column.name in nullable) for column in target.schema.columns
    )
    if columns == target.schema.columns:
        return None
    after = now.with_case(replace(now.case, target=replace(target, schema=Schema(columns))))
    if after is None or not isinstance(answer := after.reference.answer, Prediction):
        return after  # refused for another reason, about which other bug models may know
    return replace(after, reference=replace(after.reference, answer=replace(answer, committed=True)))


def _appends_only(now: Judged) -> Judged | None:
    """Allow a merge that changes no row of a table that takes appends only, also if Delta would rewrite files."""
    target = now.case.target
    properties = {name: value for name, value in target.properties.items() if name != "delta.appendOnly"}
    reference = now.ask(replace(now.case, target=replace(target, properties=properties)), now.dialect)
    effects = reference.trace.effects
    if properties == target.properties or effects is None or effects.updated or effects.deleted:
        return None
    return replace(now, reference=reference)


def _empty_text_passes(now: Judged) -> Judged | None:
    """Let a merge of one INSERT store rows that fulfil CHECK before the empty text of a partition becomes NULL."""
    target, merge = now.case.target, now.reference.trace.merge
    if (
        merge is None
        or not merge.is_insert_only
        or len(merge.clauses) > 1
        or not isinstance(now.reference.answer, Rejection)
    ):
        return None
    before = now.ask(replace(now.case, target=replace(target, partition_by=())), now.dialect)
    properties = {name: text for name, text in target.properties.items() if not is_constraint(name)}
    after = now.ask(replace(now.case, target=replace(target, properties=properties)), now.dialect)
    if not isinstance(before.answer, Prediction) or not isinstance(after.answer, Prediction):
        return None
    return replace(now, reference=after)


def _null_struct_breaks_nothing(now: Judged) -> Judged | None:
    """Demand of a NOT NULL field that it is not NULL, or that its struct is."""
    target = now.case.target
    if now.reference.trace.evolution:
        return None
    demands = [demand for column in target.schema.columns for demand in _demands(column.type, (column.name,))]
    names = (f"delta.constraints.mergecheck_{number}" for number in itertools.count())
    columns = tuple(
        replace(as_nullable(Schema((column,))).columns[0], nullable=column.nullable) for column in target.schema.columns
    )
    properties = {**target.properties, **dict(zip(names, demands, strict=False))}
    loose = replace(target, schema=Schema(columns), properties=properties)
    reference = now.ask(replace(now.case, target=loose), now.dialect)
    if not demands or not isinstance(reference.answer, Prediction):
        return None
    return replace(now, reference=replace(reference, answer=replace(reference.answer, schema=target.schema)))


def _demands(data_type: DataType, path: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(data_type, StructType):
        return
    for field in data_type.fields:
        own = (*path, field.name)
        if not field.nullable:
            yield f"{_quoted(path)} IS NULL OR {_quoted(own)} IS NOT NULL"
        yield from _demands(field.type, own)


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)


BUG_MODELS = (
    BugModel(name="a match whose conditions give NULL does not count", phase=Phase.REWRITE, apply=_null_hides_matches),
    BugModel(name="columns of the source are not NOT NULL any more", phase=Phase.REWRITE, apply=_forgets_not_null),
    BugModel(
        name="a merge that changes no row may rewrite files of a table that takes appends only",
        phase=Phase.REWRITE,
        apply=_appends_only,
    ),
    BugModel(
        name="CHECK sees the empty text of a partition before it is NULL", phase=Phase.REWRITE, apply=_empty_text_passes
    ),
    BugModel(
        name="a NULL struct breaks no NOT NULL of its fields", phase=Phase.REWRITE, apply=_null_struct_breaks_nothing
    ),
)
