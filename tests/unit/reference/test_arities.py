"""Calls with a number of operands that Spark refuses."""

from __future__ import annotations

import pytest

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.reference.syntax.merge_text import plain_expression


@pytest.mark.parametrize(
    "text",
    [
        *("if(a, 1)", "if(a, 1, 2, 3)", "nvl(a)", "nvl(a, 1, 2)", "ifnull(a)", "greatest(a)", "least()", "coalesce()"),
        *(
            "nvl2(a, 1)",
            "map(1)",
            "named_struct('a')",
            "array_union(a)",
            "array_intersect(a, a, a)",
            "now(1)",
            "iff(a, 1, 2)",
        ),
        *(
            "nullif(a)",
            "abs()",
            "abs(a, 2)",
            "upper(a, b)",
            "length()",
            "size(a, b)",
            "trim(a, b, c)",
            "current_date(1)",
        ),
    ],
)
def test_wrong_numbers_of_operands_are_unsupported(text: str) -> None:
    """Spark has WRONG_NUM_ARGS for them; sqlglot takes some of them for something else."""
    with pytest.raises(UnsupportedByReferenceError, match=r"operands|a function"):
        plain_expression(f"1 = {text}")


@pytest.mark.parametrize("text", ["if(a, 1, 2)", "nvl(a, 1)", "greatest(a, 1, 2)", "map(1, 2)", "concat()", "f(a, b)"])
def test_right_numbers_are_read(text: str) -> None:
    """Calls unknown here are left to the translation."""
    assert plain_expression(text).replace(" ", "") == text.replace(" ", "")
