"""Reasons name expressions as Spark writes them, never by a class of the parser."""

from __future__ import annotations

import pytest
import sqlglot

from mergecheck.reference.syntax.dialect import SparkDialect
from mergecheck.reference.syntax.query_tree import described


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("date_format(a, 'yyyy')", "function date_format"),
        ("get_json_object(a, '$.b')", "function get_json_object"),
        ("no_such_function(a)", "function no_such_function"),
        ("a & 7", "operator &"),
        ("a.b DIV 2", "operator DIV"),
        ("EXISTS (SELECT 1)", "EXISTS with a query"),
        ("(SELECT 1)", "a query in an expression"),
        ("INTERVAL 1 DAY", "expression INTERVAL"),
        ("a[0]", "an expression of this kind"),
    ],
)
def test_an_expression_has_the_name_that_its_author_wrote(text: str, name: str) -> None:
    assert described(sqlglot.parse_one(text, dialect=SparkDialect)) == name
