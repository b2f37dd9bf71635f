"""The reference's own reading of MERGE text (R-101): its parts by Spark's grammar, expressions as sqlglot trees.

It shares nothing with ``merge``: two readings that agree by accident would be worth nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError, fault_in
from mergecheck.reference.syntax.dialect import read_expression, read_sql
from mergecheck.reference.syntax.merge_text import query_of, read_piece, shallow, travels_of
from mergecheck.reference.syntax.spark_text import write
from mergecheck.reference.syntax.spark_tokens import Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mergecheck.reference.syntax.merge_text import Piece, Travel


class Kind(Enum):
    """The clause kinds of R-005; the value is how facts and reports call them."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class Action(Enum):
    """The action of a clause."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


class ClauseShape(Protocol):
    """A clause in any of its forms: as it is written, read, resolved or changed."""

    @property
    def kind(self) -> Kind:
        """The rows that it applies to."""

    @property
    def action(self) -> Action:
        """What it does."""

    @property
    def condition(self) -> object:
        """None if it has none."""


def is_insert_only(clauses: Iterable[ClauseShape]) -> bool:
    """Return whether a statement has insert clauses and no others (R-006)."""
    return {clause.kind for clause in clauses} == {Kind.NOT_MATCHED}


def is_matched_only(clauses: Iterable[ClauseShape]) -> bool:
    """Return whether a statement has matched clauses and no others (R-006)."""
    return {clause.kind for clause in clauses} == {Kind.MATCHED}


def is_sole_unconditional_delete(clauses: Iterable[ClauseShape]) -> bool:
    """Return whether the matched clauses of a statement are one DELETE without condition (R-006)."""
    matched = [clause for clause in clauses if clause.kind is Kind.MATCHED]
    return len(matched) == 1 and matched[0].action is Action.DELETE and matched[0].condition is None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenClause:
    """One WHEN clause as it is written; an INSERT may have more values than columns, or fewer.

    Attributes:
        piece: the whole clause.
        star: ``UPDATE SET *`` or ``INSERT *``.
        columns: the names that are assigned, with their qualifiers.
        by_target: whether the words BY TARGET are there.
    """

    piece: Piece
    kind: Kind
    action: Action
    condition: Piece | None
    star: bool
    columns: tuple[Piece, ...]
    values: tuple[Piece, ...]
    by_target: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrittenMerge:
    """The parts of a MERGE as they are written, each with its place in the text.

    Attributes:
        ctes: the queries of a leading WITH.
        evolution: the words WITH SCHEMA EVOLUTION.
        source: a name, or a query in brackets.
        into_start, on_start: the offsets of the words INTO and ON.
    """

    piece: Piece
    ctes: Piece | None
    evolution: Piece | None
    target: Piece
    target_alias: Piece | None
    source: Piece
    source_alias: Piece | None
    on: Piece
    into_start: int
    on_start: int
    clauses: tuple[WrittenClause, ...]

    @property
    def query(self) -> Piece | None:
        """The query in the brackets behind USING; None if a name stands there."""
        return self.source.piece("query")


def read_merge(sql: str) -> WrittenMerge:
    """Read a MERGE, also one without a clause, and one whose clauses break a rule behind the grammar.

    Raises:
        RejectedError: if the grammar of Spark's parser refuses the text.
        UnsupportedByReferenceError: if the grammar is too small to decide.
    """
    with shallow():
        merge = read_piece(sql, "statement")
        words = {part.key: part.start for part in merge.tree.parts if isinstance(part, Token)}
        (target,), (source,), (on,) = (merge.pieces(rule) for rule in ("target", "source", "expression"))
        return WrittenMerge(
            piece=merge,
            ctes=merge.piece("ctes"),
            evolution=merge.piece("evolution"),
            target=target,
            target_alias=merge.piece("target_alias"),
            source=source,
            source_alias=merge.piece("source_alias"),
            on=on,
            into_start=words["INTO"],
            on_start=words["ON"],
            clauses=tuple(map(_written_clause, merge.pieces("clause"))),
        )


_KINDS = {
    "matched": Kind.MATCHED,
    "not_matched": Kind.NOT_MATCHED,
    "not_matched_by_source": Kind.NOT_MATCHED_BY_SOURCE,
}


def _written_clause(clause: Piece) -> WrittenClause:
    (of_kind,) = clause.pieces(*_KINDS)
    (act,) = of_kind.pieces("matched_action", "source_action", "inserted")
    conditions = [expression for part in of_kind.pieces("condition") for expression in part.pieces("expression")]
    if act.tree.rule == "inserted":
        action, columns, values = Action.INSERT, act.pieces("multipart"), act.pieces("expression")
    else:
        action = Action.DELETE if act.tree.has("DELETE") else Action.UPDATE
        pairs = [one for many in act.pieces("assignments") for one in many.pieces("assignment")]
        columns = tuple(name for one in pairs for name in one.pieces("multipart"))
        values = tuple(value for one in pairs for value in one.pieces("expression"))
    return WrittenClause(
        piece=clause,
        kind=_KINDS[of_kind.tree.rule],
        action=action,
        condition=conditions[0] if conditions else None,
        star=act.tree.has("*"),
        columns=columns,
        values=values,
        by_target=bool(of_kind.pieces("by_target")),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """``path = value``; the path keeps a qualifier if one was written; ``text`` is the value as it is written."""

    path: tuple[str, ...]
    value: exp.Expr
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clause:
    """One WHEN clause.

    Attributes:
        condition_text: the condition as it is written.
        star: ``UPDATE SET *`` or ``INSERT *``.
        spare_columns, spare_values: of an INSERT with more of one than of the other, which Spark refuses (R-108).
        number: its place in the statement, from 1.
    """

    kind: Kind
    action: Action
    condition: exp.Expr | None
    condition_text: str | None = None
    assignments: tuple[Assignment, ...] = ()
    star: bool = False
    spare_columns: tuple[tuple[str, ...], ...] = ()
    spare_values: tuple[exp.Expr, ...] = ()
    number: int = 1

    @property
    def place(self) -> str:
        """How messages name it."""
        return _place(self.kind, self.number)

    @property
    def is_balanced(self) -> bool:
        """Whether there are as many columns as values."""
        return not self.spare_columns and not self.spare_values

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """All names that are assigned."""
        return (*(assignment.path for assignment in self.assignments), *self.spare_columns)

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """All values."""
        return (*(assignment.value for assignment in self.assignments), *self.spare_values)


def _place(kind: Kind, number: int) -> str:
    return f"clause {number} WHEN {kind.value.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statement:
    """A MERGE; aliases are None if none is written.

    Attributes:
        source: the name of the source table; empty if the source is a query.
        source_query: the query in parentheses after USING, None if the source is a table.
        on_text: the search condition as it is written.
        source_text: the source query as it is written, a leading WITH included; None if the source is a table.
        travels: the tables that its queries read in another version (R-139).
    """

    target: str
    target_alias: str | None
    source: str
    source_alias: str | None
    on: exp.Expr
    clauses: tuple[Clause, ...]
    schema_evolution: bool
    on_text: str = ""
    source_query: exp.Expr | None = None
    source_text: str | None = None
    travels: tuple[Travel, ...] = ()

    def of(self, kind: Kind) -> tuple[Clause, ...]:
        """Return the clauses of one kind, in statement order."""
        return tuple(clause for clause in self.clauses if clause.kind is kind)


_NON_LAST = {
    Kind.MATCHED: "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
    Kind.NOT_MATCHED: "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
    Kind.NOT_MATCHED_BY_SOURCE: "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
}


def parse_statement(sql: str) -> Statement:
    """Read a MERGE statement.

    Args:
        sql: the text; its tables are ``target`` and ``source`` or a query.

    Raises:
        RejectedError: if Spark's parser would refuse the text (R-101 but for the order of kinds, R-106 to R-108).
        UnsupportedByReferenceError: if the grammar is too small to decide, or sqlglot cannot read an expression.
    """
    merge = read_merge(sql)
    if not merge.clauses:
        raise RejectedError("MERGE_WITHOUT_WHEN", "a MERGE needs at least one WHEN clause")
    statement = _statement(merge)
    for clause in statement.clauses:
        if not clause.is_balanced:
            with fault_in(clause.place):
                raise RejectedError(
                    "MERGE_INSERT_VALUE_COUNT_MISMATCH",
                    f"{len(clause.columns)} columns but {len(clause.values)} values in INSERT",
                )
    _check_shape(statement.clauses)
    return statement


def read_statement(sql: str) -> Statement:
    """Read a MERGE statement, also one without a clause, and one whose clauses break a rule of R-106 to R-108.

    Raises:
        RejectedError: if Spark's parser would refuse the text for another reason.
        UnsupportedByReferenceError: see ``parse_statement``.
    """
    return _statement(read_merge(sql))


def _statement(merge: WrittenMerge) -> Statement:
    with shallow():
        query = query_of(merge.piece.tree)
        trees = _trees(_expressions(merge))
        return Statement(
            target=".".join(_table(merge.target)),
            target_alias=_alias(merge.target_alias),
            source="" if query is not None else ".".join(_table(merge.source)),
            source_alias=_alias(merge.source_alias) or (_table(merge.source)[-1] if _names_a_cte(merge) else None),
            source_query=None if query is None else _tree(query, read_sql),
            on=trees[merge.on],
            clauses=tuple(_clause(clause, trees, number) for number, clause in enumerate(merge.clauses, start=1)),
            schema_evolution=merge.evolution is not None,
            on_text=merge.on.timeless,
            source_text=_source_text(merge),
            travels=travels_of(merge.piece.tree),
        )


def _expressions(merge: WrittenMerge) -> Iterator[tuple[str, Piece]]:
    """List all expressions with their places in the statement."""
    yield "ON", merge.on
    for number, clause in enumerate(merge.clauses, start=1):
        place = _place(clause.kind, number)
        yield from () if clause.condition is None else ((place, clause.condition),)
        columns = [f"{place}, column {'.'.join(names_of(column))}" for column in clause.columns]
        yield from zip_longest(columns[: len(clause.values)], clause.values, fillvalue=place)  # values may be too many


def _trees(pieces: Iterable[tuple[str, Piece]]) -> Mapping[Piece, exp.Expr]:
    """Read expressions; all are written first, since what Spark refuses goes before what sqlglot cannot read."""
    texts = {}
    for place, piece in pieces:
        with fault_in(place):
            texts[piece] = write(piece.tree)
    return {piece: _tree(text, read_expression) for piece, text in texts.items()}


def _tree(sql: str, read: Callable[[str], exp.Expr]) -> exp.Expr:
    try:
        tree = read(sql)
    except SqlglotError as error:
        raise UnsupportedByReferenceError("a statement that sqlglot cannot read") from error
    if any(isinstance(node, exp.Command) for node in tree.walk()):
        raise UnsupportedByReferenceError("a statement that sqlglot does not read as MERGE")
    return tree


def _table(table: Piece) -> tuple[str, ...]:
    (reference,) = table.pieces("reference")
    named = reference.piece("multipart")
    return names_of(named) if named is not None else tuple(write(reference.tree).replace("`", "").split("."))


def _names_a_cte(merge: WrittenMerge) -> bool:
    return merge.ctes is not None and merge.query is None


def _alias(alias: Piece | None) -> str | None:
    if alias is None:
        return None
    (inner,) = alias.pieces("alias")
    if inner.pieces("names"):
        raise RejectedError("COLUMN_ALIASES_NOT_ALLOWED", "Column aliases are not allowed in MERGE.")
    return _bare(inner.pieces("strict_name")[0])


def names_of(multipart: Piece) -> tuple[str, ...]:
    """Return the parts of a name such as ``t.v``, without quotes."""
    return tuple(map(_bare, multipart.pieces("name")))


def _bare(name: Piece) -> str:
    return name.text[1:-1].replace("``", "`") if name.text.startswith("`") else name.text


def _source_text(merge: WrittenMerge) -> str | None:
    query = merge.query
    if merge.ctes is None:
        return None if query is None else query.timeless
    return f"{merge.ctes.timeless} {f'SELECT * FROM {merge.source.timeless}' if query is None else query.timeless}"


def _clause(written: WrittenClause, trees: Mapping[Piece, exp.Expr], number: int) -> Clause:
    columns, num_pairs = tuple(map(names_of, written.columns)), min(len(written.columns), len(written.values))
    return Clause(
        kind=written.kind,
        action=written.action,
        condition=None if written.condition is None else trees[written.condition],
        condition_text=None if written.condition is None else written.condition.timeless,
        assignments=tuple(
            Assignment(path=path, value=trees[value], text=value.timeless)
            for path, value in zip(columns, written.values, strict=False)
        ),
        star=written.star,
        spare_columns=columns[num_pairs:],
        spare_values=tuple(trees[value] for value in written.values[num_pairs:]),
        number=number,
    )


def name_parts(node: exp.Expr) -> tuple[str, ...]:
    """Flatten a possibly qualified, possibly nested name: ``t.a.b`` is ``("t", "a", "b")``.

    Raises:
        RejectedError: if the node is no name.
    """
    if isinstance(node, exp.Dot):
        return (*name_parts(node.this), *name_parts(node.expression))
    if isinstance(node, exp.Identifier):
        return (node.name,)
    if isinstance(node, exp.Column):
        return tuple(part.name for part in node.parts)
    raise RejectedError("PARSE_SYNTAX_ERROR", f"{node.sql(dialect='databricks')!r} is no column name")


def is_name(node: exp.Expr) -> bool:
    """Return whether a node is a possibly qualified, possibly nested name."""
    if isinstance(node, exp.Dot):
        return is_name(node.this) and isinstance(node.expression, exp.Identifier)
    return isinstance(node, exp.Identifier | exp.Column) and not node.is_star


def _check_shape(clauses: tuple[Clause, ...]) -> None:
    """Check that only the last clause of a kind is unconditional (R-107).

    The kinds may be interleaved: the text of a case also stands for a call of the builder (R-102), and the order of
    the kinds among each other means nothing.
    """
    for kind in Kind:
        of_kind = [clause for clause in clauses if clause.kind is kind]
        for clause in of_kind[:-1]:
            if clause.condition is None:
                with fault_in(clause.place):
                    text = f"only the last WHEN {kind.value.upper()} clause can omit the condition"
                    raise RejectedError(_NON_LAST[kind], text)
