"""Dimensions of the statement: its clauses, their assignments, ON, the source, schema evolution, the settings."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.properties.vocabulary import has
from mergecheck.reference.syntax.query_tree import conjuncts
from mergecheck.reference.syntax.statement import Action, Kind
from tools.nway.columns import SOURCE, TARGET, named_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.rules.evidence import Evidence

_KINDS = {
    (Kind.MATCHED,): "matched",
    (Kind.NOT_MATCHED,): "insert",
    (Kind.NOT_MATCHED_BY_SOURCE,): "by source",
    (Kind.MATCHED, Kind.NOT_MATCHED): "matched, insert",
    (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE): "matched, by source",
    (Kind.NOT_MATCHED, Kind.NOT_MATCHED_BY_SOURCE): "insert, by source",
    tuple(Kind): "all three",
}
_SEES = {Kind.MATCHED: (TARGET, SOURCE), Kind.NOT_MATCHED: (SOURCE,), Kind.NOT_MATCHED_BY_SOURCE: (TARGET,)}
_LONG = "spark.databricks.delta."
# settings that take any text
_FREE = ("commitInfo.userMetadata", "write.txnAppId", "write.txnVersion")


def kinds(e: Evidence) -> Iterator[str]:
    """Name the kinds of clauses."""
    if e.statement is not None:
        yield from _named(_KINDS, tuple(kind for kind in Kind if e.statement.of(kind)))


def _named(names: dict[tuple[Kind, ...], str], found: tuple[Kind, ...]) -> Iterator[str]:
    if found in names:
        yield names[found]


def orders(e: Evidence) -> Iterator[str]:
    """Name the order of the clauses."""
    if e.statement is None:
        return
    numbers = [list(Kind).index(clause.kind) for clause in e.statement.clauses]
    if has(e, "interleaved-clause-kinds"):
        yield "kinds interleaved"
    for kind in Kind:
        actions = [clause.action for clause in e.statement.of(kind)]
        for one, other in itertools.pairwise(actions):
            yield "same action again" if one is other else f"{one.value} before {other.value}"
    if len(set(numbers)) == len(numbers):
        yield "one of each kind"


def actions(e: Evidence) -> Iterator[str]:
    """Name the actions of the clauses with their kinds."""
    return (f"{clause.kind.value} {clause.action.value}" for clause in e.written())


def assignments(e: Evidence) -> Iterator[str]:
    """Name the forms of assignments: by a star, to all columns, to some of them, to fields of structs; or ``none``."""
    num_columns = len(e.case.target.schema.columns)
    found = [clause for clause in e.written() if clause.action is not Action.DELETE]
    if e.statement is not None and not found:
        yield "none"
    for clause in found:
        names = {assignment.path for assignment in clause.assignments}
        yield "star" if clause.star else "all columns" if len(names) >= num_columns else "some columns"
    if e.merge is not None and any(len(a.path) > 1 for clause in e.merge.clauses for a in clause.assigned):
        yield "field"


def values(e: Evidence) -> Iterator[str]:
    """Name the parts of the assigned values."""
    for clause in e.written():
        for value in (assignment.value for assignment in clause.assignments):
            sides = {side for side, _ in named_columns(e, value, sides=_SEES[clause.kind])}
            if isinstance(value, exp.Column):
                yield f"{next(iter(sides), 'no')} column"
            else:
                yield "expression over both" if len(sides) > 1 else "expression" if sides else "constant"


def on_parts(e: Evidence) -> Iterator[str]:
    """Name the sorts of conjuncts of ON."""
    if e.statement is not None:
        for part in conjuncts(e.statement.on):
            sides = {side for side, _ in named_columns(e, part)}
            if len(sides) == 1:
                yield f"{next(iter(sides))} part"
            else:
                yield _form(part) if sides else "constant"


def _form(part: exp.Expr) -> str:
    if isinstance(part, exp.EQ):
        plain = isinstance(part.this, exp.Column) and isinstance(part.expression, exp.Column)
        return "equality" if plain else "equality of expressions"
    if isinstance(part, exp.NullSafeEQ):
        return "null-safe"
    return "or" if isinstance(part, exp.Or) else "inequality"


def sources(e: Evidence) -> Iterator[str]:
    """Name the form of the source."""
    if e.statement is None:
        return
    query = e.statement.source_query
    if query is None:
        yield "target itself" if e.reads_target else "table"
        return
    tables = [table.name.lower() for table in query.find_all(exp.Table)]
    if SOURCE not in tables:
        yield "query of the target" if TARGET in tables else "constants"
    else:
        yield "union" if isinstance(query, exp.Union) else "filter" if query.args.get("where") else "projection"


def evolution(e: Evidence) -> Iterator[str]:
    """Return whether schema evolution is on, and by which means."""
    if e.statement is not None:
        by_session = e.evolution and not e.statement.schema_evolution
        yield "by statement" if e.statement.schema_evolution else "by session" if by_session else "off"


def settings(e: Evidence) -> Iterator[str]:
    """Name the settings that are not at their default."""
    for name, value in e.case.conf.items():
        short = name.removeprefix(_LONG)
        yield short if short in _FREE else f"{short}={value}"
    if not e.case.conf:
        yield "none"
