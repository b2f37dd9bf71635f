"""The reference: the expected outcome of a case, by the specification alone."""

from __future__ import annotations

import datetime as dt
import tempfile
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.outcome import PartialAnswer, Prediction, Rejection, Unsupported
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.analysis.clause_names import ClauseNames
from mergecheck.reference.analysis.new_schema import check_new_schema, dependents_of
from mergecheck.reference.analysis.resolution import Resolver
from mergecheck.reference.analysis.settings import is_replay, read_settings
from mergecheck.reference.analysis.several_faults import classes_of_other_faults
from mergecheck.reference.analysis.values.alignment import Aligner, StoreAssignmentPolicy
from mergecheck.reference.answer import Reference
from mergecheck.reference.asked.asked_tables import TARGET_NAME, find_source, known_tables
from mergecheck.reference.asked.asker import Asker
from mergecheck.reference.dialects import DELTA, Dialect
from mergecheck.reference.doubts import Doubts
from mergecheck.reference.evaluation.evaluation import Evaluation
from mergecheck.reference.evaluation.failures import TOO_LONG, interrupted_late, rejection_of
from mergecheck.reference.evaluation.replay import unchanged_table
from mergecheck.reference.evaluation.several_matches import ANY_MAY_WIN
from mergecheck.reference.expressions.names import Relation, char_columns
from mergecheck.reference.queries.scalar_subqueries import ScalarSubqueries
from mergecheck.reference.syntax.statement import parse_statement
from mergecheck.reference.trace import Trace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import Field
    from mergecheck.reference.analysis.resolved import Resolved
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.asked.evaluator import Evaluator
    from mergecheck.reference.queries.source_query import SourceRelation
    from mergecheck.reference.syntax.statement import Statement

_DUPLICATED_KEY = "DUPLICATED_MAP_KEY"
_TOO_DEEP = "a statement that is nested too deeply"


class MergeReference:
    """The reference with an in-memory DuckDB of its own, which evaluates the expressions of the statements.

    Opening a DuckDB takes as long as evaluating a case, so a run keeps one object. Several threads may use it at the
    same time. A pickled one opens another DuckDB.

    Args:
        evaluator: is asked for the values of expressions and the rows of source queries that have no translation to
            DuckDB; without one, such a case is unsupported.
        always: ask it for every expression and source query.
        dialect: the treatment of a target row that several source rows match; any but R-320's
            predicts a merge that is not Delta's.
    """

    def __init__(
        self,
        evaluator: Evaluator | None = None,
        always: bool = False,  # noqa: FBT001, FBT002 - for pickle
        dialect: Dialect = DELTA,
    ) -> None:
        """Open a DuckDB without an optimizer, so that no mistake of an optimizer reaches the oracle."""
        self._evaluator = evaluator
        self._always = always
        self._dialect = dialect
        # Data that do not fit in memory go to a folder of DuckDB's own; its default is in the working folder,
        # where a stranger may have left links.
        spill = Path(tempfile.gettempdir()) / f"mergecheck-duckdb-{uuid.uuid4().hex}"
        self._database = duckdb.connect(":memory:", config={"temp_directory": str(spill)})
        self._database.execute("SET GLOBAL TimeZone = 'UTC'; SET GLOBAL enable_optimizer = false; SET threads = 1")

    def __reduce__(self) -> tuple[type[MergeReference], tuple[Evaluator | None, bool, Dialect]]:
        """Pickle what makes another one."""
        return MergeReference, (self._evaluator, self._always, self._dialect)

    def evaluate(self, case: Case, *, dialect: Dialect | None = None, every_pair: bool = False) -> Reference:
        """Predict a case: a prediction, a rejection, or that the reference does not support it.

        Args:
            case: the merge.
            dialect: for this case, another meaning than the one that the reference was made with.
            every_pair: also keep the value of ON for every pair of rows in the trace.
        """
        with ExitStack() as stack:
            cursor = stack.enter_context(self._database.cursor())  # its temporary tables end with it
            late = stack.enter_context(interrupted_late(cursor))
            asker = Asker()
            if self._evaluator is not None:
                opened = stack.enter_context(self._evaluator.opened(known_tables(case), case.conf))
                asker = Asker(evaluator=opened, always=self._always, tables=case.relations)
            run = _Run(
                case=case,
                connection=cursor,
                dialect=dialect or self._dialect,
                asker=asker,
                every_pair=every_pair,
            )
            try:
                return run.reference()
            except UnsupportedByReferenceError as unsupported:
                # an interrupted condition is like one that fails
                reason = TOO_LONG if late.is_set() else unsupported.reason
                answer = Reference(answer=Unsupported(reason), asked=tuple(asker.texts))
                if reason == ANY_MAY_WIN:
                    return replace(answer, trace=run.trace())
                return answer if late.is_set() else replace(answer, partial=self._partial(run, cursor, asker))
            except RecursionError:
                return Reference(answer=Unsupported(_TOO_DEEP))

    def _partial(self, run: _Run, cursor: DuckDBPyConnection, asker: Asker) -> PartialAnswer | None:
        """Evaluate a case again without the observables in doubt; None if the rest depends on them."""
        doubts = Doubts(confines=partial(_confines, run.case))
        with cursor.cursor() as connection:
            again = replace(
                run,
                connection=connection,
                asker=replace(asker, texts=[], pending=[]),
                settings=None,
                statement=None,
                source=None,
                resolver=None,
                evaluation=None,
                doubts=doubts,
            )
            try:
                found = again.reference()
            except (UnsupportedByReferenceError, RecursionError):
                return None
        if isinstance(found.answer, Unsupported) or found.alternative is not None or not doubts.reasons:
            return None
        return PartialAnswer(answer=found.answer, left_out=frozenset(doubts.reasons), least=found.least)

    def resolve(self, case: Case) -> ResolvedCase:
        """Resolve a case's statement for another executor than the reference's own.

        Raises:
            RejectedError: if the specification refuses the statement at analysis.
            UnsupportedByReferenceError: if the reference has no meaning for it.
        """
        with self._database.cursor() as cursor:
            try:
                resolved = _Run(case=case, connection=cursor).resolved()
            except RecursionError:
                raise UnsupportedByReferenceError(_TOO_DEEP) from None
        resolved.merge.check_conditions()
        return resolved


def evaluate(case: Case, *, dialect: Dialect = DELTA) -> Reference:
    """Predict one case, with a DuckDB opened for it; see ``MergeReference.evaluate``."""
    return MergeReference().evaluate(case, dialect=dialect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedCase:
    """A case whose statement is resolved, and the rows that its source gives."""

    settings: Settings
    statement: Statement
    merge: Resolved
    source: SourceRelation


@dataclass(slots=True, kw_only=True)
class _Run:
    """The evaluation of one case. It keeps how far it came, for the trace.

    With ``doubts`` it leaves out values that cannot be predicted, where nothing else depends on them.
    """

    case: Case
    connection: DuckDBPyConnection
    dialect: Dialect = DELTA
    asker: Asker = field(default_factory=Asker)
    every_pair: bool = False
    doubts: Doubts | None = None
    settings: Settings | None = None
    statement: Statement | None = None
    source: SourceRelation | None = None
    resolver: Resolver | None = None
    evaluation: Evaluation | None = None

    def reference(self) -> Reference:
        try:
            answer, alternative = self._answer()
        except RejectedError as rejected:
            answer, alternative = _rejection(rejected, also=self._other_classes(rejected)), None
        except duckdb.Error as error:
            answer, alternative = _rejection(rejection_of(error)), None
        if self.settings is not None and self.settings.last_key_wins and _is_about_keys(answer):
            raise UnsupportedByReferenceError("a map in which a key comes twice, of which the last wins")
        return Reference(
            answer=answer,
            alternative=alternative,
            least=None if self.evaluation is None else self.evaluation.least,
            trace=self.trace(),
            asked=tuple(self.asker.texts),
        )

    def _answer(self) -> tuple[Prediction | Rejection, Prediction | None]:
        resolved = self.resolved()
        if is_replay(self.case, resolved.settings):
            return unchanged_table(self.case.target), None
        check_new_schema(self.case.target, resolved.merge.final_schema, resolved.settings)
        resolved.merge.check_conditions()
        self.evaluation = Evaluation(
            connection=self.connection,
            target=self.case.target,
            settings=resolved.settings,
            source=resolved.source,
            merge=resolved.merge,
            dialect=self.dialect,
            asker=self.asker,
            every_pair=self.every_pair,
            doubts=self.doubts,
        )
        return self.evaluation.answer()

    def resolved(self) -> ResolvedCase:
        """Resolve the statement."""
        case = self.case
        settings = self.settings = read_settings(case, asks=self.asker.evaluator is not None, doubts=self.doubts)
        self.asker.is_utc, self.asker.case_sensitive = settings.is_utc, settings.case_sensitive
        self.asker.always = self.asker.always or not (settings.is_ansi and settings.is_utc)
        statement = self.statement = parse_statement(case.sql)
        _check_char(case, statement, case_sensitive=settings.case_sensitive, pads=settings.pads_char)
        source = self.source = find_source(
            case, statement, self.connection, self.asker, case_sensitive=settings.case_sensitive
        )
        evolution = statement.schema_evolution or settings.schema_evolution
        if not case.target.schema.columns and not evolution:
            raise RejectedError("DELTA_MERGE_INTO_EMPTY_SCHEMA_TARGET", "Cannot MERGE INTO a table with no columns.")
        resolver = _resolver(case, statement, source, settings, self.connection, asker=self.asker, evolution=evolution)
        resolver = self.resolver = replace(resolver, doubts=self.doubts)
        merge = resolver.resolve(statement)
        return ResolvedCase(settings=settings, statement=statement, merge=merge, source=source)

    def _other_classes(self, rejected: RejectedError) -> frozenset[str]:
        if self.settings is None or self.statement is None or self.source is None:
            return frozenset()
        return classes_of_other_faults(
            rejected,
            self.statement,
            target=self.case.target.schema,
            source=self.source.schema,
            tables={name: schema for name, (schema, _) in known_tables(self.case).items()},
            evolution=self.trace().evolution,
            strict=self.settings.policy is StoreAssignmentPolicy.STRICT,
        )

    def trace(self) -> Trace:
        evaluation = self.evaluation
        trace = Trace(
            dialect=self.dialect,
            settings=self.settings,
            statement=self.statement,
            source=self.source,
            names=None if self.resolver is None else self.resolver.names,
            clock=None if self.resolver is None else self.resolver.clock,
        )
        if evaluation is None:
            return trace
        return replace(
            trace,
            merge=evaluation.merge,
            files=evaluation.files,
            matches=evaluation.matches,
            effects=evaluation.effects,
            touched=evaluation.touched,
            at_fault=evaluation.at_fault,
        )


def _check_char(case: Case, statement: Statement, *, case_sensitive: bool, pads: bool) -> None:
    """Give up if something else than the merge itself reads a CHAR column, which is padded there (R-822).

    If columns are not padded where they are read, comparisons still are; their padding is known for the merge only.

    Raises:
        UnsupportedByReferenceError: a partition, an expression of the table, or a source that reads the table.
    """
    chars = [case.target.schema.names[place] for place in char_columns(case.target.schema)]
    query = statement.source_query
    if not pads:
        tables = () if query is None else query.find_all(exp.Table)
        if chars and any(table.name.lower() == TARGET_NAME for table in tables):
            raise UnsupportedByReferenceError("a source query of a table with a CHAR column")
        return
    dependents = dependents_of(case.target)
    for name in chars:
        if name in case.target.partition_by or dependents.use(name, case_sensitive=case_sensitive):
            raise UnsupportedByReferenceError("a CHAR column that partitions, or that an expression of the table uses")
    if chars and (query is not None or statement.source.lower() == TARGET_NAME):
        raise UnsupportedByReferenceError("a source query, or the target as source, of a table with a CHAR column")


def _confines(case: Case, column: Field) -> bool:
    """Return whether nothing but a column's own cells depends on the values that a merge stores in it."""
    is_plain = column.nullable and column.generated is None and column.identity is None and column.invariant is None
    partitions = {name.lower() for name in case.target.partition_by}
    if not is_plain or column.limits or column.name.lower() in partitions:
        return False
    return not dependents_of(case.target).use(column.name, case_sensitive=False)


def _is_about_keys(answer: Prediction | Rejection) -> bool:
    return isinstance(answer, Rejection) and _DUPLICATED_KEY in {answer.error_class, *answer.other_classes}


def _rejection(rejected: RejectedError, *, also: frozenset[str] = frozenset()) -> Rejection:
    return Rejection(
        error_class=rejected.error_class,
        message=f"{rejected.place}: {rejected.message}" if rejected.place else rejected.message,
        unchanged=True,
        other_classes=rejected.other_classes | also,
    )


def _resolver(
    case: Case,
    statement: Statement,
    source: SourceRelation,
    settings: Settings,
    connection: DuckDBPyConnection,
    *,
    asker: Asker,
    evolution: bool,
) -> Resolver:
    target_name = statement.target_alias or statement.target
    source_name = statement.source_alias or statement.source
    chars = char_columns(case.target.schema)
    padded, compared = (chars, {}) if settings.pads_char else ({}, chars)
    reads_target = statement.source_query is None and statement.source.lower() == TARGET_NAME
    has_name = bool(source_name)  # else it is a query without an alias, whose columns keep their qualifiers
    return Resolver(
        names=ClauseNames(
            target=Relation(
                side=TableSide.TARGET,
                qualifier=target_name,
                schema=case.target.schema,
                padded=padded,
                chars=compared,
                has_metadata=True,
            ),
            source=Relation(
                side=TableSide.SOURCE,
                qualifier=source_name,
                schema=source.schema,
                origins=source.origins,
                qualifiers=None if has_name else source.qualifiers,
                hides_qualifiers=not has_name and source.qualifiers is None,
                chars=compared if reads_target else {},
                has_metadata=reads_target if statement.source_query is None else None,
            ),
            case_sensitive=settings.case_sensitive,
            evolution=evolution,
            drops_null_columns=settings.drops_null_columns,
            widening=settings.widening,
            asks=asker.evaluator is not None and not chars,  # another evaluator would see them without their spaces
        ),
        subqueries=ScalarSubqueries(tables=known_tables(case), connection=connection),
        clock=dt.datetime.now(dt.UTC),
        aligner=Aligner(
            policy=settings.policy,
            evolution=evolution,
            preserve_null_structs=settings.preserve_null_structs,
            preserve_null_structs_of_star=settings.preserve_null_structs_of_star,
            is_utc=settings.is_utc,
        ),
        asker=asker,
    )
