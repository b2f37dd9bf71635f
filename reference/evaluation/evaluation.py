"""The algorithm of harness/specification/text/algorithm.md, step by step, in its order and by its names.

=======================================  ====================================================================
Input: T, S, settings                    ``Evaluation``, ``Tables.load``
Input: on, clauses, final_schema         ``Resolved``
1. pairs, k                              ``Tables.match``: ``Matches.pairs``, ``Matches.multi_matched``
1. SU, TU                                ``Tables.candidates``: the units that the kinds I and N are tried on
2. insert_only, path_a, sole_delete      ``Resolved.is_insert_only``, ``Evaluation.path_a``, ``Resolved.is_sole_delete``
2. fail MULTIPLE_SOURCE_ROW_MATCHING     ``Evaluation.answer``
3. first(clauses, row)                   ``Tables.candidates``: ``Candidate.applied``
4. updated, deleted, inserted            ``Evaluation._effects``
4. up(row), generated columns            ``Tables.old_rows``, ``Tables.new_rows``
4. result                                ``Evaluation._result``
5. touched, path, copied                 ``touched_files``, ``choose_path``, ``copied_rows``
5. removed                               ``predict_metrics``
5. written, constraints                  ``Evaluation._check_written``
6. metrics                               ``Evaluation._metrics``, ``predict_metrics``
6. change rows                           ``change_rows``
6. commit                                ``Evaluation._commits``, ``predict_commit_info``
=======================================  ====================================================================

DuckDB evaluates the expressions of the statement (``tables``); what follows from them is sets of rows, in Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import duckdb

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import has_vector, physical_files
from mergecheck.model.outcome import MergePath, Prediction, Rejection
from mergecheck.reference.analysis.constraints import row_checks
from mergecheck.reference.analysis.new_schema import dependents_of
from mergecheck.reference.asked.asker import Asker
from mergecheck.reference.dialects import DELTA, MULTI_MATCH, Counted, Dialect
from mergecheck.reference.doubts import ERROR
from mergecheck.reference.evaluation.commit_info import predict_commit_info, predict_result_row
from mergecheck.reference.evaluation.evaluated_tables import Tables
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.evaluation.generated_ids import columns_with_generated_ids, predict_generated_ids
from mergecheck.reference.evaluation.metrics import Counts, predict_metrics
from mergecheck.reference.evaluation.pruning import may_be_pruned
from mergecheck.reference.evaluation.rewrite import (
    MarkedFiles,
    choose_path,
    copied_rows,
    marked_files,
    touched_files,
    touched_files_by_source,
)
from mergecheck.reference.evaluation.several_matches import ANY_MAY_WIN, acted_on_twice
from mergecheck.reference.evaluation.written_rows import (
    broken_before_stored,
    broken_constraints,
    change_rows,
    check_constants,
    check_plan,
    check_skippable,
    clauses_at_fault,
    num_partition_tuples,
    row_failures,
    rows_at_fault,
    stored_rows,
)
from mergecheck.reference.syntax.statement import Action, Kind
from mergecheck.reference.trace import Candidate, Effects, Matches, RowsAtFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Row, Target
    from mergecheck.model.outcome import Bound, GeneratedIds
    from mergecheck.reference.analysis.constraints import RowCheck
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.doubts import Doubts
    from mergecheck.reference.queries.source_query import SourceRelation


@dataclass(slots=True, kw_only=True)
class Evaluation:
    """The evaluation of one merge. It keeps how far it came, for the trace.

    Attributes:
        connection: a DuckDB whose time zone is UTC, for this evaluation alone.
        dialect: the treatment of ambiguous matches.
        asker: asks for expressions without a translation.
        every_pair: keep the value of ON for every pair of rows.
        doubts: takes constants that may fail beforehand or not at all; None refuses them.
        files: the number of the file that holds a row of the target, by rid.
        touched: the touched files.
        least: the prediction for a merge whose by-source clauses touch only files to which they apply (R-414); None if
            these are the touched files.
        at_fault: the rows for which the merge fails.
        refusals: error classes with which the merge may be refused, if it is not done as predicted: it depends on the
            plan (R-744).
    """

    connection: DuckDBPyConnection
    target: Target
    settings: Settings
    source: SourceRelation
    merge: Resolved
    dialect: Dialect = DELTA
    asker: Asker = field(default_factory=Asker)
    every_pair: bool = False
    doubts: Doubts | None = None
    files: tuple[int, ...] = field(init=False)
    matches: Matches | None = field(init=False, default=None)
    effects: Effects | None = field(init=False, default=None)
    touched: frozenset[int] | None = field(init=False, default=None)
    least: Prediction | None = field(init=False, default=None)
    at_fault: RowsAtFault = field(init=False, default=RowsAtFault())
    refusals: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        """Number the files of the target."""
        files = physical_files(self.target)
        self.files = tuple(number for number, (_, rows) in enumerate(files) for _ in rows)

    def answer(self) -> tuple[Prediction | Rejection, Prediction | None]:
        """Give the answer, and another one that is as right: layout (R-322) or plan (R-744) decide between the two.

        Raises:
            RejectedError: if a row cannot be written.
            UnsupportedByReferenceError: if the reference has no meaning for the merge.
        """
        answer, alternative = self._answer()
        if not self.refusals:
            return answer, alternative
        if isinstance(answer, Rejection):
            return replace(answer, other_classes=answer.other_classes | self.refusals), alternative
        first, *others = sorted(self.refusals)
        message = "a new row breaks a constraint before its empty text is stored as NULL"
        return Rejection(error_class=first, message=message, unchanged=True, other_classes=frozenset(others)), answer

    def _answer(self) -> tuple[Prediction | Rejection, Prediction | None]:
        tables = Tables(
            connection=self.connection, target=self.target, merge=self.merge, evaluator=self.asker.evaluator
        )
        tables.load(self.source)
        tables.ask_conditions()
        try:
            tables.check_conditions()
        except duckdb.Error:
            if failures := self._failures_of_keys(tables):
                raise _any_of(failures, "the key of a row cannot be computed", place="ON") from None
            raise UnsupportedByReferenceError("a condition that fails on some row (R-312)") from None
        if tables.may_fail_without_pairs():
            self._doubt_success("a condition that fails on a row, if the other table has none (R-312)")
        self.matches = tables.match(every_pair=self.every_pair)
        dialect = self.dialect
        if not self.matches.multi_matched or self.path_a or not dialect.counts_in(self.merge):
            return self._prediction(tables, self.matches), None
        rejection = Rejection(error_class=MULTI_MATCH, message="several source rows match a target row", unchanged=True)
        if dialect.counts is Counted.ACTS:
            prediction = self._prediction(tables, self.matches)
            assert self.effects is not None, "the prediction has come to it"  # noqa: S101 - for mypy
            twice = acted_on_twice(dialect, self.merge, self.effects)
            if not twice:
                return prediction, None
            self.at_fault = RowsAtFault(rids=twice)
            if dialect.refuses:
                return rejection, None
            raise UnsupportedByReferenceError(ANY_MAY_WIN)
        ambiguous = self.matches.multi_matched
        self.at_fault = RowsAtFault(rids=ambiguous)
        is_known = all(clause.is_target_only_known for clause in self.merge.of(Kind.MATCHED))
        may_escape = dialect.pruned and self.merge.is_matched_only
        # which matches a condition prunes whose values are asked for is not known, so that either answer is right
        if may_escape and (not is_known or may_be_pruned(tables, self.merge, self.files, ambiguous)):
            try:
                return rejection, self._prediction(tables, self.matches)
            except RejectedError as unseen:  # refused in any case, by the one error or by the other
                return replace(rejection, other_classes=unseen.other_classes | {unseen.error_class}), None
        return rejection, None

    def _failures_of_keys(self, tables: Tables) -> frozenset[str]:
        """Give the error classes of a merge that fails for certain at its join, whatever its plan: else none (R-312).

        If ON is one equality, an executor computes the key of every row of both tables. It need not, if a table has no
        row with a key, or if the conditions of a merge of MATCHED clauses may leave files out (R-322).
        """
        conditions = [clause.condition for clause in self.merge.of(Kind.MATCHED) if clause.condition is not None]
        if not self.merge.keys or (self.merge.is_matched_only and conditions):
            return frozenset()
        return tables.failures_of_keys()

    def _doubt_success(self, reason: str) -> None:
        """Leave out whether the merge fails.

        Raises:
            UnsupportedByReferenceError: if the evaluation takes no doubts.
        """
        if self.doubts is None:
            raise UnsupportedByReferenceError(reason)
        self.doubts.reasons.setdefault(ERROR, reason)

    @property
    def path_a(self) -> bool:
        """Whether the merge takes the insert-only path (R-402)."""
        return self.merge.is_insert_only and self.settings.optimize_insert_only

    def _prediction(self, tables: Tables, matches: Matches) -> Prediction:
        final, target = self.merge.final_schema, self.target
        generates = columns_with_generated_ids(
            self.merge, dependents_of(target), case_sensitive=self.settings.case_sensitive
        )
        checks = row_checks(final, target.properties, self.asker)
        candidates = {kind: tables.candidates(kind) for kind in Kind}
        matched = candidates[Kind.MATCHED]
        touched = frozenset() if self.path_a else touched_files(self.merge, self.files, matches, matched)
        self.touched = touched
        path = self._path(touched)
        check_plan(checks, path)
        effects = self.effects = self._effects(tables, candidates, checks)
        copied = copied_rows(self.files, touched, effects) if path is MergePath.D else ()
        self._check_written(effects, copied, path, checks, tables)
        applied = touched_files_by_source(self.merge, self.files, matches, candidates)
        if applied is not None and applied != touched:
            self.least = self._success(matches, effects, applied, generates)
        return self._success(matches, effects, touched, generates)

    def _path(self, touched: frozenset[int]) -> MergePath:
        marks_rows = self.settings.marks_rows
        return choose_path(self.merge, path_a=self.path_a, is_touched=bool(touched), marks_rows=marks_rows)

    def _success(
        self, matches: Matches, effects: Effects, touched: frozenset[int], generates: tuple[int, ...]
    ) -> Prediction:
        """Predict a merge that may write its rows, and rewrites some files."""
        final, target, path = self.merge.final_schema, self.target, self._path(touched)
        copied = copied_rows(self.files, touched, effects) if path is MergePath.D else ()
        feed = change_rows(effects)
        metrics = self._metrics(matches, effects, copied, feed, touched)
        committed = self._commits(effects, path)
        generated_ids = predict_generated_ids(
            self.merge, generates, effects, copied=copied, path=path, change_data_feed=target.change_data_feed
        )
        return Prediction(
            schema=final,
            rows=self._result(effects, touched if path is MergePath.D else frozenset()),
            metrics=metrics,
            cdf=self._served(feed, effects, copied, touched) if target.change_data_feed else None,
            committed=committed,
            path=path,
            result_row=predict_result_row(metrics),
            commit_info=self._commit_info(effects, path, generated_ids) if committed else None,
            generated_ids=generated_ids,
        )

    def _effects(
        self, tables: Tables, candidates: Mapping[Kind, tuple[Candidate, ...]], checks: Sequence[RowCheck]
    ) -> Effects:
        """Compute the rows that are updated, deleted and inserted by the clauses that apply (R-301 to R-303)."""
        for clause, index in self.merge.with_action(Action.UPDATE, Action.INSERT):
            tables.ask_values(clause, index)
        try:
            check_constants(tables, candidates)
        except UnsupportedByReferenceError as unknown:
            self._doubt_success(unknown.reason)
        try:
            updated = self._new_rows(tables, Action.UPDATE)
            inserted = self._new_rows(tables, Action.INSERT)
        except duckdb.Error as error:
            rejection_of(error)  # a defect of the reference goes on as it is
            check_skippable(tables)
            classes, place, self.at_fault = row_failures(tables, candidates, checks)
            raise _any_of(classes, "a new value cannot be computed, or does not fit its column", place=place) from error
        final = self.merge.final_schema
        self.refusals |= broken_before_stored(updated, final, checks, tables)
        self.refusals |= broken_before_stored(inserted, final, checks, tables)
        updated, inserted = (stored_rows(rows, final, self.target) for rows in (updated, inserted))
        deleted = (
            candidate.rid
            for clause, index in self.merge.with_action(Action.DELETE)
            for candidate in candidates[clause.kind]
            if candidate.applied == index and candidate.rid is not None
        )
        null_structs = (
            (clause.kind, index, place)
            for clause, index in self.merge.with_action(Action.UPDATE, Action.INSERT)
            for place in tables.null_structs(clause, index)
        )
        return Effects(
            candidates=candidates,
            old=tables.old_rows(self.merge.old),
            stored=tables.old_rows(self.merge.stored),
            updated=updated,
            deleted=frozenset(deleted),
            inserted=inserted,
            null_structs=frozenset(null_structs),
        )

    def _new_rows(self, tables: Tables, action: Action) -> dict[int, Row]:
        """Compute the new rows of all clauses of an action: by rid, for INSERT by sid."""
        return {
            number: row
            for clause, index in self.merge.with_action(action)
            for number, row in tables.new_rows(clause, index).items()
        }

    def _check_written(
        self, effects: Effects, copied: tuple[Row, ...], path: MergePath, checks: Sequence[RowCheck], tables: Tables
    ) -> None:
        """Check the constraints on the rows that are written: new, copied and, with a feed, old ones (R-740).

        Raises:
            RejectedError: if a row breaks one, if rows get ids but are not counted, or if the merge
                rewrites files of a table that takes appends only.
        """
        written = [*effects.updated.values(), *effects.inserted.values(), *copied]
        if path in (MergePath.D, MergePath.E) and self.target.change_data_feed:
            written += [effects.old[rid] for rid in (*effects.updated, *effects.deleted)]
        if broken := broken_constraints(written, self.merge.final_schema, checks, tables):
            final = self.merge.final_schema
            self.at_fault = RowsAtFault(
                rids=rows_at_fault(effects.updated, final, checks, tables),
                sids=rows_at_fault(effects.inserted, final, checks, tables),
            )
            place = clauses_at_fault(tables, checks)
            raise _any_of(broken | self.refusals, "violated by a row that is written", place=place or "a constraint")
        adds = bool(effects.updated or effects.inserted or copied)
        if adds and self.settings.gives_row_ids and not self.settings.collects_statistics:
            raise RejectedError("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS", "Cannot assign row IDs without row counts.")
        marks = path is MergePath.E and bool(effects.updated or effects.deleted)
        if (path is MergePath.D or marks) and self.settings.append_only:
            raise RejectedError("DELTA_CANNOT_MODIFY_APPEND_ONLY", "This table is configured to only allow appends.")

    def _result(self, effects: Effects, rewritten: frozenset[int]) -> tuple[Row, ...]:
        """List the rows after the merge (R-304); rows of rewritten files are new rows, too."""
        unchanged = (
            row if self.files[rid] in rewritten else effects.stored[rid] for rid, row in effects.unchanged.items()
        )
        return (*unchanged, *effects.updated.values(), *effects.inserted.values())

    def _served(
        self, feed: tuple[Row, ...], effects: Effects, copied: tuple[Row, ...], touched: frozenset[int]
    ) -> tuple[Row, ...]:
        """List the change rows that a read gives.

        If no row changed, they are the rows of the rewritten files, unless the commit has metrics (R-605).
        """
        if feed or self.settings.records_metrics or not copied:
            return feed
        removed = (row for rid, row in enumerate(effects.stored) if self.files[rid] in touched)
        return (*((*row, "delete") for row in removed), *((*row, "insert") for row in copied))

    def _metrics(
        self,
        matches: Matches,
        effects: Effects,
        copied: tuple[Row, ...],
        feed: Sequence[Row],
        touched: frozenset[int],
    ) -> dict[str, Bound]:
        """Predict the operation metrics (R-510)."""
        path = self._path(touched)
        updated, deleted, matched = effects.updated.keys(), effects.deleted, {rid for _, rid in matches.pairs}
        layout = self.target.layout
        marks = marked_files(self.files, layout, effects) if path is MergePath.E else MarkedFiles()
        counts = Counts(
            source=len(self.source.rows),
            inserted=len(effects.inserted),
            matched_updated=len(updated & matched),
            matched_deleted=len(deleted & matched),
            by_source_updated=len(updated - matched),
            by_source_deleted=len(deleted - matched),
            touched_files=len(touched),
            touched_rows=sum(file in touched for file in self.files),
            removed_files=len(marks.removed),
            marked_files=len(marks.marked),
            old_vectors_removed=sum(has_vector(layout, file) for file in marks.removed),
            old_vectors_marked=sum(has_vector(layout, file) for file in marks.marked),
        )
        written_tuples = change_tuples = None
        if self.target.partition_by and self.settings.repartition_before_write:
            written = (*effects.updated.values(), *effects.inserted.values(), *copied)
            written_tuples = num_partition_tuples(written, self.target)
            change_tuples = num_partition_tuples(feed, self.target)
        return predict_metrics(
            counts,
            path,
            change_data_feed=self.target.change_data_feed,
            written_tuples=written_tuples,
            change_tuples=change_tuples,
        )

    def _commits(self, effects: Effects, path: MergePath) -> bool:
        """Return whether the merge makes a version of the table (R-732)."""
        return (
            self._changes_data(effects, path)
            or self.merge.final_schema != self.target.schema
            or self.settings.record_empty_commits
            or self.settings.transaction is not None  # a commit with its number is not empty
        )

    def _changes_data(self, effects: Effects, path: MergePath) -> bool:
        """Return whether the merge adds or removes a file (R-701)."""
        marks = path is MergePath.E and bool(effects.updated or effects.deleted)
        return path is MergePath.D or marks or bool(effects.inserted)

    def _commit_info(self, effects: Effects, path: MergePath, ids: GeneratedIds | None) -> dict[str, str]:
        moves_marks = ids is not None and bool(ids.rows or ids.written)
        return predict_commit_info(
            self.merge,
            changes_data=self._changes_data(effects, path),
            has_other_actions=self.merge.final_schema != self.target.schema or self.settings.transaction is not None,
            has_timestamps=self.settings.in_commit_timestamps,
            tracks_rows=self.settings.tracks_rows,
            only_marks=moves_marks and self.merge.final_schema == self.target.schema,
        )


def _any_of(error_classes: frozenset[str], message: str, *, place: str) -> RejectedError:
    """Reject with any of several classes: no rule defines which row or value is met first."""
    first, *others = sorted(error_classes)
    rejected = RejectedError(first, message, frozenset(others))
    rejected.place = place
    return rejected
