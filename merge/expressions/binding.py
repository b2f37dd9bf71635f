"""Resolution of the names in an expression: the user's text with column names replaced in place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.expressions.conditions import check_rewritten
from mergecheck.merge.expressions.resolved import ResolvedExpression
from mergecheck.merge.expressions.scope import Match, Scope, Side, unresolved
from mergecheck.merge.syntax.dialect import without_final_comment
from mergecheck.merge.syntax.expression_reader import parse_expression, span
from mergecheck.merge.types.fields import field_type
from mergecheck.merge.types.text_limits import AS_STORED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql.types import DataType

    from mergecheck.merge.expressions.clock import StatementClock

# Spark reads these words as functions if no column has the name.
_LITERAL_FUNCTIONS = frozenset(
    {"current_date", "current_timestamp", "current_time", "current_user", "user", "session_user"}
)


def bind(
    text: str, scope: Scope, *, where: str, clock: StatementClock, unknown_is_null: bool = False
) -> ResolvedExpression:
    """Resolve every name of an expression in a scope, and write the statement's time into it.

    Args:
        text: the expression.
        scope: the columns that names may mean.
        where: the place for messages, in the words of R-117.
        clock: the statement's time.
        unknown_is_null: write NULL for a name that means no column, as Delta does in constraints (R-747).

    Raises:
        AnalysisError: an unresolved (R-117), ambiguous (R-118) or fieldless name.
    """
    tree = parse_expression(text)
    check_rewritten(tree, scope, where=where, text=text)
    matches: list[Match] = []
    edits: list[tuple[int, int, str]] = []
    reference: DataType | None = None
    for chain in _chains(tree):
        if unknown_is_null and scope.find(chain.names) is None:
            edits.append((span(chain.identifiers[0])[0], span(chain.identifiers[-1])[1], "NULL"))
            continue
        match = _lookup(chain, scope, where=where)
        if match is None:
            start, end = span(chain.identifiers[0])
            edits += [(start, end, moment)] if (moment := clock.of_name(chain.names[0])) is not None else []
            continue
        matches.append(match)
        fields = chain.names[match.consumed :]
        reached = field_type(match.column.type, fields, case_sensitive=scope.case_sensitive)
        start, _ = span(chain.identifiers[0])
        _, end = span(chain.identifiers[match.consumed - 1])
        edits.append((start, end, match.column.positional))
        renamed = _positional_tree(match, chain.identifiers[match.consumed :])
        if chain.top is tree:
            tree, reference = renamed, reached
        else:
            chain.top.replace(renamed)
    edits += clock.edits(text)
    return ResolvedExpression(
        sql=edited(without_final_comment(text), edits),
        tree=tree,
        target_columns=frozenset(m.column.index for m in matches if m.column.side is Side.TARGET),
        source_columns=frozenset(m.column.index for m in matches if m.column.side is Side.SOURCE),
        text=text,
        reference=reference,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Chain:
    """A dotted name in a tree: its identifiers from left to right and the topmost node of that name."""

    identifiers: tuple[exp.Expr, ...]
    top: exp.Expr

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(identifier.name for identifier in self.identifiers)


def _chains(tree: exp.Expr) -> Iterator[_Chain]:
    """Find all dotted names outside subqueries; sqlglot keeps four parts in a column, the others in dots around it."""
    for column in list(tree.find_all(exp.Column)):
        if column.find_ancestor(exp.Query) is not None:
            continue
        parts = list(column.parts)
        top: exp.Expr = column
        while isinstance(top.parent, exp.Dot) and top.parent.this is top:
            if not isinstance(top.parent.expression, exp.Identifier):
                break
            top = top.parent
            parts.append(top.expression)
        yield _Chain(identifiers=tuple(parts), top=top)


def _lookup(chain: _Chain, scope: Scope, *, where: str) -> Match | None:
    match = scope.find(chain.names)
    if match is not None:
        if match.column.is_padded:
            raise UnsupportedStatementError(
                f"an expression over the CHAR column {match.column.name} of the target (in {where})", hint=AS_STORED
            )
        return match
    if len(chain.names) == 1 and chain.names[0].lower() in _LITERAL_FUNCTIONS:
        return None
    if scope.hides(chain.names):
        raise AnalysisError(
            "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
            f"A merge does not read the hidden column {'.'.join(chain.names)} (in {where}). "
            "Read it in the source query.",
        )
    raise unresolved(".".join(chain.names), where, scope)


def _positional_tree(match: Match, fields: tuple[exp.Expr, ...]) -> exp.Expr:
    tree: exp.Expr = exp.column(match.column.positional)
    for identifier in fields:
        tree = exp.Dot(this=tree, expression=exp.to_identifier(identifier.name, quoted=True))
    return tree


def edited(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Replace pieces of a text, given by start and end (excluded)."""
    pieces, at = [], 0
    for start, end, replacement in sorted(edits):
        pieces += [text[at:start], replacement]
        at = end
    return "".join((*pieces, text[at:]))
