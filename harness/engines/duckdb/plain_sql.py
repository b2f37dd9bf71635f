"""Take lambdas out of translated expressions, if DuckDB allows none, or if plain SQL is equivalent.

The reference's casts bind their operand with ``list_transform([operand], lambda x: body)[1]``, so that long operands
are written once. DuckDB's tables take no lambdas in CHECK, DEFAULT and GENERATED, and its optimizer sees less through
them. In a condition of a MERGE, DuckDB 2.0 fails on ``p.field`` of a lambda's parameter, and takes ``(p).field``.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

_SIMPLE = re.compile(
    r"\(list_transform\(\[([^\[\]']*)\], lambda x: CAST\(x AS ([A-Z]+(?:\([0-9]+,[0-9]+\))?)\)\)\[1\]\)"
)

_BOUND_FIELD = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\bp\.(?=[a-z])""")


def with_bound_fields(sql: str) -> str:
    """Read the fields of ``p``, the name of several bound operands, as a MERGE allows it everywhere."""
    return _BOUND_FIELD.sub(lambda found: "(p)." if found[0] == "p." else found[0], sql)


def with_plain_casts(sql: str) -> str:
    """Write the casts that lose nothing as ``CAST(operand AS type)``."""
    before = ""
    while before != sql:
        before, sql = sql, _SIMPLE.sub(r"CAST(\1 AS \2)", sql)
    return sql


def without_lambdas(sql: str) -> str:
    """Put the operands of bound names in their places, however often they are used."""
    sql = with_plain_casts(sql)
    if "lambda" not in sql:
        return sql
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    # from the innermost to the outermost, so that no name hides another
    for node in reversed(list(tree.find_all(exp.Bracket))):
        bound = node.this
        if not isinstance(bound, exp.Transform) or not isinstance(bound.this, exp.Array):
            continue
        (operand,), body = bound.this.expressions, bound.expression
        if not isinstance(body, exp.Lambda) or len(bound.this.expressions) != 1:
            continue
        name = body.expressions[0].name
        for used in list(body.this.find_all(exp.Identifier)):
            if used.name == name and not isinstance(used.parent, exp.Column | exp.Dot) and used is not body.this:
                used.replace(exp.paren(operand.copy()))
        node.replace(body.this)
    return tree.sql(dialect="duckdb")
