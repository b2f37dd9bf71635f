"""Columns that have a value if a clause assigns none: defaults, generated columns (R-220 to R-223)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sqlglot.tokens import TokenType

from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.expressions.binding import bind, edited
from mergecheck.merge.expressions.conditions import STAR_MISUSED, refused_in_plan
from mergecheck.merge.expressions.functions import NON_DETERMINISTIC, called_functions, subqueries
from mergecheck.merge.expressions.resolved import ResolvedExpression, target_column
from mergecheck.merge.expressions.scope import Relation, Scope, Side
from mergecheck.merge.syntax.dialect import tokenize
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.syntax.identifier_clause import with_names
from mergecheck.merge.types.identity import Identity, identities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql.types import StructType

    from mergecheck.merge.expressions.clock import StatementClock

CURRENT_DEFAULT: Final = "CURRENT_DEFAULT"
GENERATION_EXPRESSION: Final = "delta.generationExpression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImplicitColumns:
    """The default and generation expressions of a table, and its identity columns, by the position of their column.

    Generation expressions are over the table's columns, by their positional names. ``unresolved`` has the texts of
    those that cannot be computed, since they have a star: a clause may still give such a column a value.
    """

    defaults: Mapping[int, ResolvedExpression] = field(default_factory=dict)
    generated: Mapping[int, ResolvedExpression] = field(default_factory=dict)
    identities: Mapping[int, Identity] = field(default_factory=dict)
    unresolved: Mapping[int, str] = field(default_factory=dict)

    @property
    def has_generated(self) -> bool:
        """Whether the table makes values of some columns by itself, defaults not counted."""
        return bool(self.generated or self.unresolved or self.identities)

    @property
    def expressions(self) -> tuple[ResolvedExpression, ...]:
        """All of them."""
        return (*self.defaults.values(), *self.generated.values())


def implicit_columns(schema: StructType, *, case_sensitive: bool, clock: StatementClock) -> ImplicitColumns:
    """Read the defaults and generation expressions in the metadata of a table's columns.

    Raises:
        AnalysisError: an expression names a column that is not there.
    """
    table = Scope(
        relations=(Relation(side=Side.TARGET, qualifier=(), schema=schema),),
        case_sensitive=case_sensitive,
    )
    nothing = Scope(relations=(), case_sensitive=case_sensitive)

    def texts(key: str) -> dict[int, str]:
        found = ((index, (column.metadata or {}).get(key)) for index, column in enumerate(schema.fields))
        return {index: with_names(text) for index, text in found if text is not None}

    def bound(given: Mapping[int, str], scope: Scope, what: str) -> dict[int, ResolvedExpression]:
        return {
            index: bind(text, scope, where=f"{what} of column {schema.names[index]}", clock=clock)
            for index, text in given.items()
        }

    generated = texts(GENERATION_EXPRESSION)
    unresolved = {index: text for index, text in generated.items() if _has_star(text)}
    computed = {index: text for index, text in generated.items() if index not in unresolved}
    return ImplicitColumns(
        defaults=bound(texts(CURRENT_DEFAULT), nothing, "default"),
        generated=bound(computed, table, "generation expression"),
        identities=identities(schema),
        unresolved=unresolved,
    )


def _has_star(text: str) -> bool:
    return "*" in text and refused_in_plan(parse_expression(text), text) == STAR_MISUSED


def generated_value(generated: ResolvedExpression, new_values: Mapping[int, str], *, column: str) -> str:
    """Write a generated column over the new values of its row, given by position (R-222, R-223).

    Raises:
        UnsupportedStatementError: it depends on a random value, which would be evaluated twice.
    """
    for index in generated.target_columns:
        if _is_random(new_values[index]):
            raise UnsupportedStatementError(
                f"computing the generated column {column} from a column that is assigned a random value",
                hint="Compute the random value in the source, or assign the generated column as well.",
            )
    return substitute(generated.sql, {target_column(i): new_values[i] for i in generated.target_columns})


def substitute(sql: str, replacements: Mapping[str, str]) -> str:
    """Replace positional column names by expressions, but not in strings and quoted names."""
    names = [token for token in tokenize(sql) if token.token_type not in {TokenType.STRING, TokenType.IDENTIFIER}]
    found = [(token, replacements[token.text]) for token in names if token.text in replacements]
    return edited(sql, ((t.start, t.end + 1, new if new.isidentifier() else f"({new})") for t, new in found))


def _is_random(sql: str) -> bool:
    texts: Sequence[str] = (sql, *(query[1:-1] for query in subqueries(sql)))
    return any(called_functions(text) & NON_DETERMINISTIC for text in texts)
