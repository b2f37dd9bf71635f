"""The reference: what one case must come to, by the specification alone."""

from __future__ import annotations

import datetime as dt
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import duckdb

from mergecheck.reference.analysis.alignment import Aligner, StoreAssignmentPolicy
from mergecheck.reference.analysis.clause_names import ClauseNames
from mergecheck.reference.analysis.constraints import row_checks
from mergecheck.reference.analysis.resolution import Resolver
from mergecheck.reference.analysis.settings import read_settings
from mergecheck.reference.analysis.several_faults import classes_of_other_faults
from mergecheck.reference.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.evaluation.evaluation import Evaluation
from mergecheck.reference.evaluation.facts import deciding_nulls, sorts_of_matches
from mergecheck.reference.evaluation.failures import rejection_of
from mergecheck.reference.evaluation.metrics import predict_metrics
from mergecheck.reference.evaluation.written_rows import WrittenRows
from mergecheck.reference.expressions.names import Relation, Side
from mergecheck.reference.outcome import Facts, MergePath, Prediction, Reference, Rejection, Unsupported
from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
from mergecheck.reference.queries.tables import connection, find_source, known_tables
from mergecheck.reference.rules import Evidence, reached_rules
from mergecheck.reference.syntax.statement import Action, Kind, parse_statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.reference.analysis.resolution import Resolved
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Bound
    from mergecheck.reference.queries.source_query import SourceRelation
    from mergecheck.reference.syntax.statement import Statement
    from mergecheck.reference.types.data_types import Schema

_CHANGE_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
MULTI_MATCH = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"


def evaluate(case: Case) -> Reference:
    """Say what a case must come to: a prediction, a rejection, or that the reference does not know."""
    run = _Run(case=case)
    try:
        reference = run.reference()
        return replace(reference, facts=replace(reference.facts, rules=run.rules(reference)))
    except UnsupportedByReferenceError as unsupported:
        return Reference(answer=Unsupported(unsupported.reason))
    finally:
        run.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedCase:
    """A case whose statement is resolved, and the rows that its source gives."""

    settings: Settings
    statement: Statement
    merge: Resolved
    source: SourceRelation


_LOOKED_AT: deque[tuple[Case, ResolvedCase]] = deque(maxlen=4)
"""What ``resolve_case`` has resolved last, in any thread: mostly the evaluation of the case follows."""


def resolve_case(case: Case) -> ResolvedCase:
    """Resolve a case's statement for another executor than the reference's own, before that evaluates it.

    Raises:
        RejectedError: where the specification refuses the statement at analysis.
        UnsupportedByReferenceError: where the reference does not know what it means.
    """
    resolved = _Run(case=case).resolved()
    _LOOKED_AT.append((case, resolved))
    return resolved


@dataclass(slots=True, kw_only=True)
class _Run:
    """The evaluation of one case; it keeps how far it came, since that tells which rules were reached."""

    case: Case
    statement: Statement | None = None
    settings: Settings | None = None
    source: SourceRelation | None = None
    evaluation: Evaluation | None = None

    def reference(self) -> Reference:
        try:
            return self._evaluate()
        except RejectedError as rejected:
            return Reference(answer=_rejection(rejected, also=self._other_classes(rejected)))
        except duckdb.Error as error:
            return Reference(answer=_rejection(rejection_of(error)))

    def _evaluate(self) -> Reference:
        resolved = self._looked_at() or self.resolved()
        _check_reserved_names(resolved.merge.final_schema, self.case)
        self.evaluation = Evaluation(connection=connection().cursor(), target=self.case.target, merge=resolved.merge)
        return _run(self.evaluation, self.case, resolved)

    def _looked_at(self) -> ResolvedCase | None:
        """Take over what ``resolve_case`` has found."""
        for case, found in tuple(_LOOKED_AT):
            if case.is_same_merge(self.case):
                self.settings, self.statement, self.source = found.settings, found.statement, found.source
                return found
        return None

    def resolved(self) -> ResolvedCase:
        """Resolve the statement, and keep how far that came."""
        case = self.case
        settings = self.settings = read_settings(case)
        statement = self.statement = parse_statement(case.sql)
        source = self.source = find_source(case, statement, case_sensitive=settings.case_sensitive)
        if not case.target.schema.columns and not self.evolution:
            raise RejectedError("DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET", "Cannot MERGE INTO a table with no columns.")
        merge = resolver_of(case, statement, source, settings, evolution=self.evolution).resolve(statement)
        return ResolvedCase(settings=settings, statement=statement, merge=merge, source=source)

    def _other_classes(self, rejected: RejectedError) -> frozenset[str]:
        if self.statement is None or self.source is None:
            return frozenset()
        return classes_of_other_faults(
            rejected,
            self.statement,
            target=self.case.target.schema,
            source=self.source.schema,
            evolution=self.evolution,
            strict=self.settings is not None and self.settings.policy is StoreAssignmentPolicy.STRICT,
        )

    @property
    def evolution(self) -> bool:
        by_statement = self.statement is not None and self.statement.schema_evolution
        return by_statement or (self.settings is not None and self.settings.schema_evolution)

    def rules(self, reference: Reference) -> frozenset[str]:
        evidence = Evidence(
            case=self.case,
            reference=reference,
            statement=self.statement,
            source_schema=None if self.source is None else self.source.schema,
            merge=None if self.evaluation is None else self.evaluation.merge,
            evaluation=self.evaluation,
            evolution=self.evolution,
            case_sensitive=self.settings is not None and self.settings.case_sensitive,
        )
        return reached_rules(evidence)

    def close(self) -> None:
        if self.evaluation is not None:
            self.evaluation.connection.close()


def _check_reserved_names(schema: Schema, case: Case) -> None:
    """Refuse to add a column that the change feed uses (R-632)."""
    reserved = [name for name in schema.names if name in _CHANGE_FEED_COLUMNS]
    if reserved and schema != case.target.schema and case.target.change_data_feed:
        raise RejectedError("RESERVED_CDC_COLUMNS_ON_WRITE", f"The write contains reserved columns {reserved}.")


def _rejection(rejected: RejectedError, *, also: frozenset[str] = frozenset()) -> Rejection:
    return Rejection(
        error_class=rejected.error_class,
        message=rejected.message,
        unchanged=True,
        other_classes=rejected.other_classes | also,
    )


def resolver_of(
    case: Case, statement: Statement, source: SourceRelation, settings: Settings, *, evolution: bool
) -> Resolver:
    """Make the resolver of a statement over a case's tables."""
    target_name = statement.target_alias or statement.target
    source_name = statement.source_alias or statement.source
    return Resolver(
        names=ClauseNames(
            target=Relation(side=Side.TARGET, qualifier=target_name, schema=case.target.schema),
            source=Relation(side=Side.SOURCE, qualifier=source_name, schema=source.schema, origins=source.origins),
            case_sensitive=settings.case_sensitive,
            evolution=evolution,
            drops_null_columns=settings.drops_null_columns,
        ),
        subqueries=ScalarSubqueries(tables=known_tables(case), connection=connection()),
        clock=dt.datetime.now(dt.UTC),
        aligner=Aligner(
            policy=settings.policy,
            evolution=evolution,
            preserve_null_structs=settings.preserve_null_structs,
            preserve_null_structs_of_star=settings.preserve_null_structs_of_star,
        ),
    )


def _run(evaluation: Evaluation, case: Case, resolved: ResolvedCase) -> Reference:
    merge, settings, source = resolved.merge, resolved.settings, resolved.source
    present = frozenset((clause.kind.value, clause.action.value) for clause in merge.clauses)
    evaluation.load(source.rows, source.schema)
    try:
        evaluation.check_conditions()
    except duckdb.Error:
        raise UnsupportedByReferenceError("a condition that fails on some row (R-312)") from None
    evaluation.match()
    path_a = is_insert_only(merge) and settings.optimize_insert_only
    multi_matched = evaluation.has_multi_matched()
    if multi_matched and not path_a and not is_sole_delete(merge):
        facts = Facts(
            clauses_present=present,
            multi_matched=True,
            matches=sorts_of_matches(evaluation),
            equality_on=merge.on_is_equality,
        )
        rejection = Rejection(error_class=MULTI_MATCH, message="several source rows match a target row", unchanged=True)
        if not is_matched_only(merge) or not evaluation.multi_matched_may_be_pruned():
            return Reference(answer=rejection, facts=facts)
        prediction, _ = _predict(evaluation, case, settings, path_a=path_a)
        return Reference(answer=rejection, alternative=prediction, facts=facts)
    prediction, counts = _predict(evaluation, case, settings, path_a=path_a)
    changed = ("inserted", "matched_updated", "by_source_updated", "matched_deleted", "by_source_deleted")
    facts = Facts(
        path=prediction.path,
        clauses_present=present,
        clauses_fired=frozenset((kind.value, merge.of(kind)[index].action.value) for kind, index in evaluation.fired()),
        num_changed_rows=sum(counts[name] for name in changed),
        multi_matched=multi_matched,
        matches=sorts_of_matches(evaluation),
        nulls=deciding_nulls(evaluation),
        equality_on=merge.on_is_equality,
    )
    return Reference(answer=prediction, facts=facts)


def _predict(
    evaluation: Evaluation, case: Case, settings: Settings, *, path_a: bool
) -> tuple[Prediction, dict[str, int]]:
    final = evaluation.merge.final_schema
    checks = row_checks(final, case.target.properties, case_sensitive=settings.case_sensitive)
    written = WrittenRows(evaluation=evaluation, checks=checks)
    evaluation.fire()
    try:
        evaluation.act()
    except duckdb.Error as error:
        rejection_of(error)  # a defect of the reference goes on as it is
        raise _one_of(written.row_failures()) from error
    settled = settle(evaluation, written, settings, path_a=path_a)
    prediction = Prediction(
        schema=final,
        rows=evaluation.result(),
        metrics=settled.metrics,
        cdf=evaluation.changes() if case.target.change_data_feed else None,
        committed=settled.committed,
        path=settled.path,
    )
    return prediction, dict(settled.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a merge comes to, but for its rows, which stand in the evaluation's tables.

    Attributes:
        counts: what ``Evaluation.counts`` gives.
    """

    counts: Mapping[str, int]
    metrics: Mapping[str, Bound]
    committed: bool
    path: MergePath


def settle(evaluation: Evaluation, written: WrittenRows, settings: Settings, *, path_a: bool) -> Settled:
    """Find path, metrics and commit of a merge whose new rows are computed.

    Raises:
        RejectedError: where a row that it writes breaks a constraint, or the table takes appends only.
    """
    target = evaluation.target
    evaluation.touch(rewrites=not path_a)
    counts = evaluation.counts()
    path = _path(evaluation.merge, counts, path_a=path_a)
    rewrites = path is MergePath.D
    if broken := written.violations(rewrites=rewrites):
        raise _one_of(broken)
    if rewrites and settings.append_only:
        raise RejectedError("DELTA_CANNOT_MODIFY_APPEND_ONLY", "This table is configured to only allow appends.")
    one_file_per_tuple = bool(target.partition_by) and settings.repartition_before_write
    feeds = rewrites and target.change_data_feed
    metrics = predict_metrics(
        counts,
        path,
        change_data_feed=target.change_data_feed,
        written_tuples=written.num_written_tuples(rewrites=rewrites) if one_file_per_tuple else None,
        change_tuples=written.num_change_tuples() if one_file_per_tuple and feeds else None,
    )
    committed = (
        rewrites
        or counts["inserted"] > 0
        or evaluation.merge.final_schema != target.schema
        or settings.record_empty_commits
    )
    return Settled(counts=counts, metrics=metrics, committed=committed, path=path)


def _one_of(error_classes: frozenset[str]) -> RejectedError:
    """Reject with any of several classes: no rule says which row or value is met first."""
    first, *others = sorted(error_classes)
    return RejectedError(first, "a new row breaks a constraint or cannot be computed", frozenset(others))


def _path(merge: Resolved, counts: dict[str, int], *, path_a: bool) -> MergePath:
    """Choose the path of R-402."""
    if path_a:
        return MergePath.A
    if counts["touched_files"]:
        return MergePath.D
    return MergePath.B if merge.of(Kind.NOT_MATCHED) else MergePath.C


def is_insert_only(merge: Resolved) -> bool:
    """Tell whether the statement has insert clauses and no others (R-006)."""
    return bool(merge.of(Kind.NOT_MATCHED)) and not merge.of(Kind.MATCHED) and not merge.of(Kind.NOT_MATCHED_BY_SOURCE)


def is_matched_only(merge: Resolved) -> bool:
    """Tell whether the statement has matched clauses and no others (R-006)."""
    return bool(merge.of(Kind.MATCHED)) and not merge.of(Kind.NOT_MATCHED) and not merge.of(Kind.NOT_MATCHED_BY_SOURCE)


def is_sole_delete(merge: Resolved) -> bool:
    """Tell whether the MATCHED clauses are exactly one DELETE without condition, which is syntactic (R-006)."""
    matched = merge.of(Kind.MATCHED)
    return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None
