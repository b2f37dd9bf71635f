"""A case's MERGE as calls of delta-rs's merger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.engines.delta_rs.expressions import AliasedTable, ExpressionTranslator
from mergecheck.harness.engines.delta_rs.literals import quoted
from mergecheck.harness.engines.delta_rs.numbers import HeldNumbers
from mergecheck.harness.engines.delta_rs.types import UntranslatableError, is_integer, is_safe_cast, width
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.schema_json import check_constraints
from mergecheck.model.types.data_types import VOID, StructType
from mergecheck.reference.analysis.settings import is_engines_own
from mergecheck.reference.syntax.dialect import read_sql
from mergecheck.reference.syntax.merge_text import plain_expression
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Row
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.merge_reference import MergeReference, ResolvedCase
    from mergecheck.reference.syntax.statement import Clause

PREFIX = "delta-rs."
_CALLS = {
    (Kind.MATCHED, Action.UPDATE): "when_matched_update",
    (Kind.MATCHED, Action.DELETE): "when_matched_delete",
    (Kind.NOT_MATCHED, Action.INSERT): "when_not_matched_insert",
    (Kind.NOT_MATCHED_BY_SOURCE, Action.UPDATE): "when_not_matched_by_source_update",
    (Kind.NOT_MATCHED_BY_SOURCE, Action.DELETE): "when_not_matched_by_source_delete",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCalls:
    """A case's MERGE for delta-rs.

    Attributes:
        clauses: calls of the merger in the statement's order, with their arguments.
        options: named arguments of ``DeltaTable.merge``.
        stream: whether the source goes over as a stream of batches.
        source_rows: the rows of the case's source, or of its query.
    """

    predicate: str
    source_alias: str
    target_alias: str
    clauses: tuple[tuple[str, dict[str, Any]], ...]
    options: dict[str, Any]
    stream: bool
    source_schema: Schema
    source_rows: tuple[Row, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of calls, ``..._all`` and the explicit one being the same."""
        return tuple(call.removesuffix("_all") for call, _ in self.clauses)


def merge_calls(case: Case, reference: MergeReference) -> MergeCalls:
    """Translate a case's MERGE.

    Args:
        case: has the statement.
        reference: resolves it.

    Raises:
        UntranslatableError: if delta-rs, or the translation, cannot express it.
    """
    try:
        resolved = reference.resolve(case)
        if resolved.settings.transaction is not None:
            raise UntranslatableError("feature idempotent writes")
    except UnsupportedByReferenceError as error:
        raise UntranslatableError(f"reference: {error.reason}") from error
    except RejectedError as error:
        raise UntranslatableError(f"a statement that does not resolve ({error.error_class})") from error
    return _Writer(case, resolved).calls()


class _Writer:
    """Writes the calls of one case."""

    def __init__(self, case: Case, resolved: ResolvedCase) -> None:
        statement = resolved.statement
        self._case, self._statement, self._settings, self._found = case, statement, resolved.settings, resolved.source
        self._evolution = statement.schema_evolution or resolved.settings.schema_evolution
        target_alias, source_alias = statement.target_alias or "target", statement.source_alias or "source"
        if statement.source_query is None and statement.source_alias is None:
            source_alias = statement.source
        self._target = AliasedTable(
            statement.target_alias or statement.target,
            target_alias,
            case.target.schema,
            HeldNumbers(case.target.schema, case.target.rows),
        )
        held = HeldNumbers(resolved.source.schema, resolved.source.rows)
        self._source = AliasedTable(source_alias, source_alias, resolved.source.schema, held)

    def calls(self) -> MergeCalls:
        self._check()
        options = self._options()
        stream = options.pop("stream", False)
        return MergeCalls(
            predicate=self._translator(Kind.MATCHED).condition(self._statement.on),
            source_alias=self._source.delta_alias,
            target_alias=self._target.delta_alias,
            clauses=tuple(self._call(clause) for clause in self._statement.clauses),
            options=options,
            stream=stream,
            source_schema=self._found.schema,
            source_rows=self._found.rows,
        )

    def _check(self) -> None:
        target = self._case.target
        if self._settings.case_sensitive:
            raise UntranslatableError("feature case-sensitive session")
        if self._settings.append_only and not self._settings.optimize_insert_only:  # Delta would refuse inserts
            raise UntranslatableError(
                "an append-only table with optimizeInsertOnlyMerge off, which delta-rs does not have"
            )
        if any(column.generated is not None for column in target.schema.columns):
            raise UntranslatableError("feature generated columns")
        if any(column.default is not None for column in target.schema.columns):
            raise UntranslatableError("feature column defaults")
        if target.schema.of_delta_only is not None:
            raise UntranslatableError(target.schema.of_delta_only)
        for schema in (target.schema, self._found.schema):
            folded = [name.casefold() for name in schema.names]
            if len(set(folded)) < len(folded):
                raise UntranslatableError("columns whose names differ in case only")
            if not folded:
                raise UntranslatableError("a table without columns")
            if any(column.type == VOID for column in schema.columns):
                raise UntranslatableError("a column of type VOID")
        for text in check_constraints(target.properties).values():
            self._check_constraint(text)
        if self._evolution:
            self._check_evolution()

    def _check_evolution(self) -> None:
        """Refuse what ``merge_schema`` has no switch for: it merges the whole schemas, whatever the clauses name."""
        source = {column.name.lower(): column for column in self._found.schema.columns}
        for column in self._case.target.schema.columns:
            given = source.get(column.name.lower(), column)
            if given.name != column.name:
                raise UntranslatableError("evolution with names in another case")
            narrower = is_integer(given.type) and is_integer(column.type) and width(given.type) < width(column.type)
            if _plain(given.type) != _plain(column.type) and not narrower:
                raise UntranslatableError("evolution with columns of another type")

    def _check_constraint(self, text: str) -> None:
        """Refuse a constraint that delta-rs, which reads the text unchanged, would take for something else."""
        try:
            tree, usual = read_sql(plain_expression(text)), read_sql(text)
        except (SqlglotError, RejectedError, UnsupportedByReferenceError):
            raise UntranslatableError("a CHECK constraint in Spark's own words") from None
        if _without_brackets(tree) != _without_brackets(usual):
            raise UntranslatableError("a CHECK constraint with Spark's own precedences")
        try:
            self._translator(Kind.NOT_MATCHED_BY_SOURCE).condition(tree)
        except UntranslatableError as error:
            raise UntranslatableError(f"a CHECK constraint with {error.reason}") from None

    def _options(self) -> dict[str, Any]:
        own = {name: text for name, text in self._case.conf.items() if is_engines_own(name)}
        unknown = [name for name, text in own.items() if not name.startswith(PREFIX) or text not in ("true", "false")]
        if unknown:
            raise UntranslatableError(f"setting {unknown[0]}")
        options = {name.removeprefix(PREFIX): text == "true" for name, text in own.items()}
        return {**options, "merge_schema": True} if self._evolution else options

    def _translator(self, kind: Kind) -> ExpressionTranslator:
        sides = {
            Kind.MATCHED: (self._target, self._source),
            Kind.NOT_MATCHED: (self._source,),
            Kind.NOT_MATCHED_BY_SOURCE: (self._target,),
        }[kind]
        return ExpressionTranslator(sides, (self._target.held, self._source.held))

    def _call(self, clause: Clause) -> tuple[str, dict[str, Any]]:
        translator = self._translator(clause.kind)
        call = _CALLS[clause.kind, clause.action]
        arguments: dict[str, Any] = {}
        if clause.condition is not None:
            arguments["predicate"] = translator.condition(clause.condition)
        if clause.action is Action.DELETE:
            return call, arguments
        if not clause.star:
            return call, {**arguments, "updates": self._updates(clause, translator)}
        self._check_star()
        same = sorted(self._case.target.schema.names) == sorted(self._found.schema.names)
        if same or self._evolution:
            return f"{call}_all", arguments
        return call, {**arguments, "updates": self._star()}

    def _updates(self, clause: Clause, translator: ExpressionTranslator) -> dict[str, str]:
        updates = {}
        for assignment in clause.assignments:
            name, data_type = self._assigned(assignment.path)
            translated = translator.translate(assignment.value)
            self._check_assignment(translated.type, data_type)
            updates[quoted(name)] = translated.sql
        return updates

    def _assigned(self, path: tuple[str, ...]) -> tuple[str, DataType]:
        sides = (self._target, self._source) if self._evolution else (self._target,)
        aliases = {side.alias.lower() for side in sides}  # with evolution, either may precede the name
        found = [
            (column.name, column.type, len(path) - skipped - 1)
            for side in sides
            for skipped in ((1, 0) if len(path) > 1 and path[0].lower() in aliases else (0,))
            for column in side.schema.columns
            if column.name.lower() == path[skipped].lower()
        ]
        if not found:
            raise UntranslatableError("an assigned name that is no column")
        name, data_type, depth = found[0]
        if depth:
            raise UntranslatableError("feature nested updates")
        return name, data_type

    def _check_star(self) -> None:
        source = {column.name.lower(): column for column in self._found.schema.columns}
        for column in self._case.target.schema.columns:
            given = source.get(column.name.lower())
            if given is not None:
                self._check_assignment(given.type, column.type)

    def _star(self) -> dict[str, str]:
        source = {column.name.lower(): column.name for column in self._found.schema.columns}
        names = [name for name in self._case.target.schema.names if name.lower() in source]
        return {quoted(name): f"{quoted(self._source.delta_alias)}.{quoted(source[name.lower()])}" for name in names}

    def _check_assignment(self, given: DataType, wanted: DataType) -> None:
        if _plain(given) == _plain(wanted):
            return
        if not is_safe_cast(given, wanted):
            raise UntranslatableError("assignment of another type")
        if given != VOID and self._settings.policy.value != "ANSI":
            raise UntranslatableError("assignment of another type under a store assignment policy")


def _without_brackets(tree: exp.Expr) -> exp.Expr:
    """Take brackets off; in a tree they are redundant."""
    return tree.transform(lambda node: node.unnest() if isinstance(node, exp.Paren) else node)


def _plain(data_type: DataType) -> DataType | tuple[Any, ...]:
    """Return a type without the marks that members of a struct are NOT NULL."""
    if isinstance(data_type, StructType):
        return tuple((member.name, _plain(member.type)) for member in data_type.fields)
    return data_type
