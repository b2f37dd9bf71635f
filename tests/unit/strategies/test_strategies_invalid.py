"""Unit tests of statements that break one rule on purpose, and of queries as the source."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import pytest

from mergecheck.model.types.data_types import BOOLEAN, DATE, DOUBLE, INT, SMALLINT, STRING, TINYINT, DecimalType
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.syntax.spark_sql import statement_text
from mergecheck.strategies.table.casts import castable, is_up_cast, origins_of

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType
    from mergecheck.strategies import DrawnCase

RULES = {
    *("R-106", "R-107", "R-108", "R-117", "R-118", "R-119", "R-130", "R-131", "R-132", "R-133", "R-134", "R-135"),
    *("R-201", "R-210", "R-214", "R-224", "R-225", "R-227", "R-238", "R-243", "R-251", "R-257", "R-704"),
}  # fmt: skip - one group per line


@pytest.fixture(scope="module")
def broken() -> tuple[DrawnCase, ...]:
    # lists to break, structs in them, and now and then a column that a star would miss
    profile = (
        Profile()
        .favouring(Feature.INVALID, Feature.EXPLICIT, Feature.INSERT, Feature.MATCHED_UPDATE)
        .favouring(Feature.NESTED_TYPES, Feature.MISSING_SOURCE_COLUMNS, percent=60)
    )
    # R-704 is about a column of the source, which no statement that breaks a rule has beside it
    drawn = chain(
        islice(samples(51, profile=profile), 600),
        islice(samples(51, profile=Profile().favouring(Feature.UNUSUAL_SCHEMAS, Feature.INSERT)), 60),
    )
    # a source with a VOID column is refused with every statement
    return tuple(each for each in drawn if each.breaks not in (None, "R-144"))


@pytest.fixture(scope="module")
def queried() -> tuple[DrawnCase, ...]:
    profile = Profile().favouring(Feature.SUBQUERY_SOURCE, percent=95).favouring(Feature.SELF_MERGE, percent=15)
    return tuple(each for each in islice(samples(53, profile=profile), 180) if each.merge.query)


def test_every_rule_is_broken(broken: tuple[DrawnCase, ...]) -> None:
    """No fault is dead: each finds something to break in some statement."""
    assert {each.breaks for each in broken} == RULES


def test_the_drawn_statement_stays_valid(broken: tuple[DrawnCase, ...]) -> None:
    """The case's text is the broken one, the drawn values are its origin."""
    for each in broken:
        # the fault of R-704 is a column of the source
        assert each.breaks == "R-704" or each.case.sql != statement_text(each.merge.statement)
        assert f"invalid:{each.breaks}" in each.features
        assert not any(label.startswith(("fires:", "outcome:ambiguous")) for label in each.features)


def test_a_query_has_an_alias_and_its_own_table(queried: tuple[DrawnCase, ...]) -> None:
    """Nothing but an alias names a query; its table has a cell per column and the allowed number of rows."""
    assert len(queried) > 60
    for each in queried:
        assert each.merge.statement.aliases.source is not None
        assert each.merge.query is not None
        assert f"USING ({each.merge.query.text})" in each.case.sql or each.breaks
        if each.case.source is not None:
            assert all(len(row) == len(each.case.source.schema.columns) for row in each.case.source.rows)
            assert len(each.case.source.rows) <= 20


def test_queries_rename_derive_filter_and_unite(queried: tuple[DrawnCase, ...]) -> None:
    """Each form occurs, also over the target itself (R-810)."""
    texts = [each.merge.query.text for each in queried if each.merge.query]
    for part in (" AS ", " + 1 AS ", " WHERE part >= 1", " UNION ALL ", "SELECT * FROM source", "FROM target"):
        assert any(part in text for text in texts), part


def test_rows_left_out_by_a_query_are_not_seen(queried: tuple[DrawnCase, ...]) -> None:
    """The rows that the statement sees are the ones that the filter keeps."""
    for each in queried:
        if each.case.source is not None and "part" in each.case.source.schema.names:
            kept = [row for row in each.case.source.rows if row[-1] in (1, 2)]
            assert len(kept) == len(each.merge.tables.source)


@pytest.mark.parametrize(
    ("origin", "to", "expected"),
    [
        (TINYINT, INT, True),
        (INT, TINYINT, False),
        (INT, DecimalType(10, 0), True),
        (INT, DecimalType(9, 0), False),
        (SMALLINT, STRING, True),
        (STRING, INT, False),
        (INT, DOUBLE, True),
        (DecimalType(5, 2), DecimalType(6, 2), True),
        (DecimalType(5, 2), DecimalType(6, 4), False),
        (DATE, STRING, True),
    ],
)
def test_up_casts_lose_nothing(origin: DataType, to: DataType, expected: bool) -> None:  # noqa: FBT001 - a column of the table above
    """What STRICT allows (R-251)."""
    assert is_up_cast(origin, to) is expected


def test_policies_and_evolution_narrow_the_choice() -> None:
    """STRICT wants up-casts, evolution implicit casts (R-236, R-251)."""
    assert STRING in origins_of(BOOLEAN, frozenset())
    assert STRING not in origins_of(BOOLEAN, frozenset({Feature.SCHEMA_EVOLUTION}))
    assert BOOLEAN not in origins_of(INT, frozenset({Feature.SCHEMA_EVOLUTION}))
    assert origins_of(INT, frozenset({Feature.STRICT_POLICY})) == (TINYINT,)


def test_misfits_come_only_when_asked_for() -> None:
    """A column that is to survive its cast holds nothing else."""
    good, all_ = (repr(castable(STRING, INT, misfits=misfits)) for misfits in (False, True))
    assert "'x'" not in good
    assert "'x'" in all_
