"""Which expressions of a merge another evaluator is asked for: what has no translation, or all of them.

An expression is asked for as a whole, as it is written. In the evaluation's tables its value is a column ``x<n>``, with
the error class of a row on which it fails beside it in ``x<n>_error``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import BOOLEAN
from mergecheck.model.types.typed import Typed
from mergecheck.reference.expressions.names import LITERAL_FUNCTIONS, METADATA
from mergecheck.reference.expressions.written_names import names_in
from mergecheck.reference.queries.scalar_subqueries import CORRELATED, uses_outer_names
from mergecheck.reference.queries.visible_columns import is_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.model.types.typed import TableSide
    from mergecheck.reference.asked.evaluator import CaseEvaluator
    from mergecheck.reference.expressions.names import Relation, Scope
    from mergecheck.reference.expressions.translation import Translator
    from mergecheck.reference.queries.source_query import SourceRelation

# Functions whose value cannot be found from outside of the same statement; nor can the rows of TABLESAMPLE.
_UNKNOWABLE = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_timestamp now localtimestamp current_date curdate
    current_time currenttimestamp currentdate unix_timestamp current_catalog current_database current_schema
    current_path version""".split()  # noqa: SIM905 - one word list
)


# What Spark refuses for the query that an expression is asked in, and not for the expression.
_OF_THE_QUERY = ("MISSING_GROUP_BY", "MISSING_AGGREGATION", "MISSING_ATTRIBUTES", "UNSUPPORTED_GENERATOR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An expression whose values come from the other evaluator.

    Attributes:
        name: its column in the evaluation's tables.
        text: as it is written.
        relations: what its names may mean.
        sides: the tables whose columns it uses.
    """

    name: str
    text: str
    type: DataType
    relations: tuple[Relation, ...]
    sides: frozenset[TableSide]

    @property
    def side(self) -> TableSide | None:
        """The table whose rows are enough to evaluate it; None if it takes pairs of rows."""
        sides = {relation.side for relation in self.relations} if len(self.relations) == 1 else self.sides
        return next(iter(sides)) if len(sides) == 1 else None

    def on(self, side: TableSide | None) -> Asked:
        """Give it with the relation of one side only; with all for None."""
        if side is None:
            return self
        return replace(self, relations=tuple(one for one in self.relations if one.side is side))

    @property
    def is_of_new_row(self) -> bool:
        """Whether it is computed from the new values of a row instead of from the rows of the two tables."""
        return any(relation.values is not None for relation in self.relations)

    @property
    def error(self) -> str:
        """The column that has the error class where it fails."""
        return f"{self.name}_error"

    def typed(self) -> Typed:
        """Give it as an expression that fails on the rows on which the other evaluator fails."""
        value = f"CASE WHEN {self.error} IS NOT NULL THEN error({self.error}) ELSE {self.name} END"
        return Typed(sql=f"({value})", type=self.type, sides=self.sides, asked=True)


@dataclass(slots=True, kw_only=True)
class Asker:
    """Translates expressions, and asks for those that have no translation.

    Attributes:
        evaluator: None if there is none; then expressions without a translation are unsupported.
        always: ask for every expression and query.
        is_utc: whether the session's time zone is UTC.
        tables: the tables that a query may read. case_sensitive: ``spark.sql.caseSensitive``.
        texts: everything that was asked for so far, as it is written.
        pending: the expressions that were asked for and not yet taken.
    """

    evaluator: CaseEvaluator | None = None
    always: bool = False
    is_utc: bool = True
    tables: Mapping[str, Schema] = field(default_factory=dict)
    case_sensitive: bool = False
    texts: list[str] = field(default_factory=list)
    pending: list[Asked] = field(default_factory=list)

    def take(self) -> tuple[Asked, ...]:
        """Hand over the expressions that were asked for since the last time."""
        taken = tuple(self.pending)
        self.pending.clear()
        return taken

    def value(self, node: exp.Expr, text: str, translator: Translator) -> Typed:
        """Translate a value, or ask for it.

        Raises:
            RejectedError: if Spark's analysis refuses it.
            UnsupportedByReferenceError: if neither the reference nor the evaluator has a meaning for it.
        """
        return self._translated(node, text, translator, translator.translate)

    def condition(self, node: exp.Expr, text: str, translator: Translator) -> Typed:
        """Translate a condition, or ask for it; see ``value``."""
        typed = self._translated(node, text, translator, translator.condition)
        if typed.type != BOOLEAN:
            raise UnsupportedByReferenceError("a condition that is not boolean (R-135)")
        return typed

    def _translated(
        self, node: exp.Expr, text: str, translator: Translator, translate: Callable[[exp.Expr], Typed]
    ) -> Typed:
        if self.evaluator is None:
            return translate(node)
        if not self.always:
            try:
                return translate(node)
            except UnsupportedByReferenceError:
                pass
        return self.ask(node, text, translator.scope, self.evaluator).typed()

    def source(self, query: exp.Expr, text: str, translate: Callable[[], SourceRelation]) -> SourceRelation:
        """Evaluate a source query by its translation, or ask for its rows; see ``value``."""
        if self.evaluator is None:
            return translate()
        if not self.always:
            try:
                return translate()
            except UnsupportedByReferenceError:
                pass
        self._refuse_unknowable(query)
        self.texts.append(text)
        return self.evaluator.query(text)

    def ask(self, node: exp.Expr, text: str, scope: Scope, evaluator: CaseEvaluator) -> Asked:
        """Ask for the type of an expression, and note it; its values are asked for when its rows are known."""
        self._refuse_unknowable(node, scope)
        _refuse_char(node, scope)
        for query in _queries(node):
            _check_uncorrelated(query, scope, evaluator)
        asked = Asked(
            name=f"x{len(self.texts)}",
            text=text,
            type=_type_of(text, scope, evaluator),
            relations=scope.relations,
            sides=sides_of(node, scope),
        )
        self.texts.append(text)
        self.pending.append(asked)
        return asked

    def _refuse_unknowable(self, node: exp.Expr, scope: Scope | None = None) -> None:
        """Refuse values that differ from run to run.

        Args:
            node: an expression or a query.
            scope: the possible meanings of an expression's names; in a query they mean its own columns.
        """
        if any(self._is_unknowable(part, scope) for part in node.walk()):
            raise UnsupportedByReferenceError("a value that no oracle can know")

    def _is_unknowable(self, node: exp.Expr, scope: Scope | None) -> bool:
        if isinstance(node, exp.TableSample):
            return True
        if isinstance(node, exp.Column):
            is_inside = scope is None or node.find_ancestor(exp.Query) is not None
            if is_inside and any(part.name.lower() == METADATA for part in node.parts):
                return True
            if node.table or node.name.lower() not in LITERAL_FUNCTIONS.intersection(_UNKNOWABLE):
                return False
            if is_inside:
                return not is_column(node, self.tables, case_sensitive=self.case_sensitive)
            return scope is not None and scope.literal_function((node.name,)) is not None
        if isinstance(node, exp.Anonymous):
            return node.name.lower() in _UNKNOWABLE
        return isinstance(node, exp.Func) and any(name.lower() in _UNKNOWABLE for name in type(node).sql_names())


def sides_of(node: exp.Expr, scope: Scope) -> frozenset[TableSide]:
    """Name the tables whose columns an expression uses."""
    return frozenset(relation.side for relation, _ in _columns(node, scope))


def _columns(node: exp.Expr, scope: Scope) -> Iterator[tuple[Relation, int]]:
    """Give the columns that an expression uses, by relation and position."""
    for name in names_in(node):
        try:
            relation, index, _ = scope.column(name)
        except UnsupportedByReferenceError:  # a function that is written like a column
            continue
        yield relation, index


def _type_of(text: str, scope: Scope, evaluator: CaseEvaluator) -> DataType:
    try:
        return evaluator.type_of(text, scope.relations)
    except RejectedError as rejected:
        if rejected.error_class.startswith(("UNRESOLVED_COLUMN", "AMBIGUOUS_REFERENCE")):
            # the rules for names are the merge's own, and were followed before
            raise UnsupportedByReferenceError("a name that a query resolves otherwise") from rejected
        if rejected.error_class.startswith(_OF_THE_QUERY):
            raise UnsupportedByReferenceError("an expression that fits into no query") from rejected
        raise


def _refuse_char(node: exp.Expr, scope: Scope) -> None:
    """Refuse CHAR columns: another evaluator would see them without their spaces (R-822)."""
    if any(index in relation.padded or index in relation.chars for relation, index in _columns(node, scope)):
        raise UnsupportedByReferenceError("a CHAR column in an expression that is evaluated elsewhere")


def _queries(node: exp.Expr) -> list[exp.Expr]:
    """List the queries in an expression, without those inside of them."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Query))
    return [part for part in parts if isinstance(part, exp.Query)]


def _check_uncorrelated(query: exp.Expr, outer: Scope, evaluator: CaseEvaluator) -> None:
    """Refuse a scalar subquery that uses columns of the merge, which a query may do (R-134)."""
    try:
        evaluator.type_of(f"({query.sql(dialect='databricks')})", ())
    except RejectedError as rejected:
        if rejected.error_class.startswith("UNRESOLVED_COLUMN") and uses_outer_names(query, outer):
            raise RejectedError(CORRELATED, f"correlated scalar subquery: {query.sql(dialect='databricks')}") from None
        raise
