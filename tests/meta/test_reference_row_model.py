"""The reference and the row model share no code, and agree on small random merges."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mergecheck.harness.lab.exhaustive import row_model
from mergecheck.harness.lab.exhaustive.oracles import ambiguity_dispute, dispute
from mergecheck.harness.lab.exhaustive.row_model import Result
from mergecheck.harness.lab.exhaustive.scope import BY_SOURCE, DELETE, MATCHED, NOT_MATCHED, Clause, Statement, Tables
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

REFERENCE = MergeReference()
SCHEMA = parse_schema("k INT, v INT")
TABLES = Tables(name="random", target=SCHEMA, source=SCHEMA, properties={CDF_PROPERTY: "true"})

ON: list[Any] = [
    ("=", "t.k", "s.k"),
    ("<=>", "t.k", "s.k"),
    ("and", ("=", "t.k", "s.k"), ("<", "t.v", "s.v")),
    ("<", "t.k", "s.k"),
    ("and", ("=", "t.k", "s.k"), ("=", "t.v", 1)),
    ("is null", "s.v"),
    False,
    None,
]
CONDITIONS: dict[str, list[Any]] = {
    MATCHED: [True, ("=", "t.v", "s.v"), ("<", "s.v", 2), ("=", "t.k", 1), ("is null", "t.v"), None],
    NOT_MATCHED: [True, ("<", "s.v", 2), ("not", ("is null", "s.k"))],
    BY_SOURCE: [True, ("<", "t.v", 2), ("=", "t.k", 0)],
}
ACTIONS: dict[str, list[Any]] = {
    MATCHED: [(("v", "s.v"),), (("k", "t.v"), ("v", "t.k")), (("v", "t.v"),), (("v", ("+", "t.v", "s.v")),), DELETE],
    NOT_MATCHED: ["*", (("v", "s.k"),)],
    BY_SOURCE: [(("v", "t.k"),), DELETE],
}


@st.composite
def clauses(draw: st.DrawFn, kind: str) -> tuple[Clause, ...]:
    number = draw(st.integers(0, 3))
    return tuple(
        Clause(
            kind,
            draw(st.sampled_from(CONDITIONS[kind] if place == number - 1 else CONDITIONS[kind][1:])),
            draw(st.sampled_from(ACTIONS[kind])),
        )
        for place in range(number)
    )


@settings(max_examples=250)
@given(data=st.data())
def test_reference_agrees_with_the_row_model(data: st.DataObject) -> None:
    """Rows, change rows, exact metrics, path and ambiguity, on larger tables than the scopes have."""
    drawn = tuple(clause for kind in (MATCHED, NOT_MATCHED, BY_SOURCE) for clause in data.draw(clauses(kind)))
    statement = Statement(
        number=0,
        tables=TABLES,
        on=data.draw(st.sampled_from(ON)),
        clauses=drawn or (Clause(MATCHED, condition=True, action=DELETE),),
    )
    row = st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3))
    files = data.draw(st.lists(st.lists(row, min_size=1, max_size=3).map(tuple), max_size=3))
    is_unique = data.draw(st.booleans())
    source = tuple(data.draw(st.lists(row, max_size=4, unique_by=(lambda r: r[0]) if is_unique else None)))
    case = Case(
        id="model",
        target=Target(schema=SCHEMA, files=tuple(files), properties=TABLES.properties),
        source=Source(schema=SCHEMA, rows=source),
        sql=statement.sql,
    )
    result = Result()
    result.add(statement.merge(), 0, [(number, row) for number, file in enumerate(files) for row in file], source)
    reference = REFERENCE.evaluate(case)
    if result.ambiguous:
        assert ambiguity_dispute([0], case, reference) == ()
    else:
        assert dispute(statement, case, result, reference) == ()


def test_the_row_model_is_short_and_imports_nothing_of_ours() -> None:
    source = inspect.getsource(row_model)
    nodes = list(ast.walk(ast.parse(source)))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert imported == {"collections", "collections.abc", "dataclasses", "typing"}
    assert len(source.splitlines()) <= 80
