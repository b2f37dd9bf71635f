"""Values that no oracle can know, ``uuid()`` and ``rand()``, where a clause stores them, or a column of the source.

The reference judges the statement with a stand-in for each call. It does so twice, with two stand-ins. If the answers
differ in nothing but cells that hold the stand-in, then these cells cannot be predicted. Before an engine's
rows are compared, a value of the right form in such a column becomes the stand-in. Everything else is compared exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from mergecheck.harness.properties.merge_text import with_texts_at
from mergecheck.model.case_file import change_schema
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.statement import Action, Kind, parse_statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlglot.tokens import Token

    from mergecheck.model.case import Case, Row, Value
    from mergecheck.model.outcome import Outcome, Prediction
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.syntax.statement import Statement

_UUIDS = ("3f0c1d52-9d1b-4a53-8f0e-6a2b7c8d9e01", "c4a7e6b8-1f2d-4c3b-a59e-0d1e2f3a4b5c")
_FRACTIONS = (0.2718281828459045, 0.7390851332151607)
_UUID_FORM = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_LITERALS = {
    "UUID": tuple(f"'{value}'" for value in _UUIDS),
    "RAND": tuple(f"{value!r}D" for value in _FRACTIONS),
    "RANDOM": tuple(f"{value!r}D" for value in _FRACTIONS),
}
# Where an operand becomes the value, or a part of it, and decides nothing else.
_PASSED_ON = {
    (exp.Paren, "this"),
    (exp.Concat, "expressions"),
    (exp.DPipe, "this"),
    (exp.DPipe, "expression"),
    (exp.Coalesce, "this"),
    (exp.Coalesce, "expressions"),
    (exp.Case, "ifs"),
    (exp.Case, "default"),
    (exp.If, "true"),
    (exp.If, "false"),
}
# Parts that a source query may have, so that each of its rows has its own value that nothing else depends on.
_PARTS_OF_A_SOURCE = {"expressions", "from_", "joins", "where", "hint"}


@dataclass(frozen=True, slots=True)
class UnknownValues:
    """The cells of a case that cannot be predicted.

    Attributes:
        stand_ins: by column, the values that the reference's cells hold instead.
        exact: by column, the values of all other cells, which are known.
    """

    stand_ins: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    exact: Mapping[str, frozenset[Value]] = field(default_factory=dict)

    def hidden_in(self, outcome: Outcome) -> Outcome:
        """Replace the values of the right form by the stand-ins; of a value that occurs twice, only the first."""
        if not self.stand_ins:
            return outcome
        rows = self._hidden(outcome.rows, outcome.schema)
        feed = None if outcome.cdf is None else self._hidden(outcome.cdf, change_schema(outcome.schema))
        return replace(outcome, rows=rows, cdf=feed)

    def _hidden(self, rows: Sequence[Row], schema: Schema) -> tuple[Row, ...]:
        seen: set[tuple[str, Value]] = set()

        def shown(name: str, cell: Value) -> Value:
            if name not in self.stand_ins or cell in self.exact[name] or (name, cell) in seen:
                return cell
            stand_in = next((each for each in self.stand_ins[name] if _has_form_of(cell, each)), None)
            if stand_in is None:
                return cell
            seen.add((name, cell))
            return stand_in

        return tuple(tuple(map(shown, schema.names, row)) for row in rows)


def with_stand_ins(case: Case) -> tuple[Case, Case] | None:
    """Replace each call by a stand-in, and by another one.

    Returns:
        None if there is no such call, or if the result of one is not only stored.
    """
    try:
        tokens = sqlglot.tokenize(case.sql, read="databricks")
        calls = list(_calls(tokens))
        if not calls or _num_stored(parse_statement(case.sql)) != len(calls):
            return None
    except (SqlglotError, RejectedError, UnsupportedByReferenceError):
        return None
    one, other = (
        replace(
            case,
            sql=with_texts_at(
                case.sql, ((first.start, last.end, _LITERALS[first.text.upper()][number]) for first, last in calls)
            ),
        )
        for number in range(2)
    )
    return one, other


def unknown_values(one: Prediction, other: Prediction) -> UnknownValues | None:
    """Find the cells that differ with the stand-in; None if anything else does."""
    if replace(one, rows=(), cdf=None) != replace(other, rows=(), cdf=None):
        return None
    names = one.schema.names
    stand_ins: dict[str, set[Value]] = {}
    exact: dict[str, set[Value]] = {name: set() for name in names}
    for rows, others in ((one.rows, other.rows), (one.cdf or (), other.cdf or ())):
        if len(rows) != len(others):
            return None
        for row, twin in zip(rows, others, strict=True):
            if row[len(names) :] != twin[len(names) :]:
                return None
            for name, cell, second in zip(names, row, twin, strict=False):  # the kind of a change is behind
                if cell == second:
                    exact[name].update([cell] if isinstance(cell, str | float) else [])
                elif _is_stand_in(cell, second):
                    stand_ins.setdefault(name, set()).add(cell)
                else:
                    return None
    return UnknownValues(
        stand_ins={name: tuple(sorted(values, key=str)) for name, values in stand_ins.items()},
        exact={name: frozenset(exact[name]) for name in stand_ins},
    )


def _calls(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Yield the first and the last token of each call; ``rand`` may have a number as its seed."""
    for place, token in enumerate(tokens):
        behind = [each.token_type for each in tokens[place + 1 : place + 4]]
        if token.text.upper() not in _LITERALS:
            continue
        if behind[:2] == [TokenType.L_PAREN, TokenType.R_PAREN]:
            yield token, tokens[place + 2]
        elif behind == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]:
            yield token, tokens[place + 3]


def _num_stored(statement: Statement) -> int:
    """Count the calls whose value is stored as it is, or as a part of a text; no condition depends on these."""
    values = [assignment.value for clause in statement.clauses for assignment in clause.assignments]
    values += _inserted_only(statement)
    return sum(_is_stored(call, value) for value in values for call in value.find_all(exp.Uuid, exp.Rand))


def _inserted_only(statement: Statement) -> list[exp.Expr]:
    """Give the values of the source's columns that INSERT clauses store, and that nothing else reads, nor the query.

    A row of the source is inserted once. An UPDATE could store its value in several rows, which then agree.
    """
    query = statement.source_query
    if not isinstance(query, exp.Select) or {name for name, part in query.args.items() if part} - _PARTS_OF_A_SOURCE:
        return []
    inserted = [each.value for clause in statement.of(Kind.NOT_MATCHED) for each in clause.assignments]
    others = [query, statement.on, *(clause.condition for clause in statement.clauses if clause.condition is not None)]
    updates = [clause for clause in statement.clauses if clause.action is Action.UPDATE]
    others += [each.value for clause in updates for each in clause.assignments]
    if any(clause.star for clause in updates):
        return []
    return [
        item.this
        for item in query.expressions
        if isinstance(item, exp.Alias) and _is_inserted(item.alias, inserted, others)
    ]


def _is_inserted(column: str, inserted: Sequence[exp.Expr], others: Sequence[exp.Expr]) -> bool:
    """Return whether nothing but INSERT clauses read a column, and these as it is or as a part of a text."""
    read = [(name, value) for value in inserted for name in value.find_all(exp.Column) if _is(name, column)]
    return all(_is_stored(name, value) for name, value in read) and not any(
        _is(name, column) for value in others for name in value.find_all(exp.Column)
    )


def _is(name: exp.Column, column: str) -> bool:
    return any(part.name.lower() == column.lower() for part in name.parts)


def _is_stored(call: exp.Expr, value: exp.Expr) -> bool:
    node = call
    while node is not value:
        if node.parent is None or (type(node.parent), node.arg_key) not in _PASSED_ON:
            return False
        node = node.parent
    return True


def _is_stand_in(cell: Value, second: Value) -> bool:
    if isinstance(cell, str) and isinstance(second, str):
        return cell.replace(*_UUIDS) == second
    return (cell, second) == _FRACTIONS


def _has_form_of(cell: Value, stand_in: Value) -> bool:
    if isinstance(stand_in, str):
        form = re.escape(stand_in).replace(re.escape(_UUIDS[0]), _UUID_FORM)
        return isinstance(cell, str) and re.fullmatch(form, cell) is not None
    return isinstance(cell, float) and 0 <= cell < 1
