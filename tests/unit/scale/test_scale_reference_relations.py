"""The DuckDB of the reference: which of its connections optimise what they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from mergecheck.reference.case.model import Target
from mergecheck.reference.evaluation.evaluation import Evaluation
from mergecheck.reference.queries.tables import connection
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SCHEMA = parse_schema("id INT")


def _optimizes(asked: DuckDBPyConnection) -> bool:
    ((answer,),) = asked.execute("SELECT current_setting('enable_optimizer')").fetchall()
    return bool(answer)


def test_source_queries_are_optimised_and_small_merges_are_not() -> None:
    assert (_optimizes(connection()), _optimizes(connection().cursor())) == (True, False)


@pytest.mark.parametrize(("num_source_rows", "optimised"), [(100, False), (1001, True)])
def test_many_pairs_of_rows_need_the_optimizer(num_source_rows: int, *, optimised: bool) -> None:
    target = Target(schema=SCHEMA, files=(tuple((i,) for i in range(100)),))
    evaluation = Evaluation(connection=connection().cursor(), target=target, merge=mock.Mock(old=()))
    evaluation.load(tuple((i,) for i in range(num_source_rows)), SCHEMA)
    assert _optimizes(evaluation.connection) == optimised
    assert _optimizes(connection().cursor()) is False
