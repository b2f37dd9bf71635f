"""Forms that people write: the merge keeps its meaning with any query as its source, and any form of values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice

import duckdb
import pytest

from mergecheck.model.arrow import rows_to_table
from mergecheck.model.outcome import Prediction, Rejection, Unsupported
from mergecheck.model.types.data_types import TIMESTAMP
from mergecheck.reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, SOURCE_FORMS, SPARK_FORMS, DrawnCase, Feature, Profile, samples, shrink
from mergecheck.strategies.syntax.columns import table_schema

REFERENCE = MergeReference()
ALONE = tuple(each for each in SOURCE_FORMS if each not in SPARK_FORMS)
LABELS = {
    Feature.SOURCE_WINDOWS: {"query:window"},
    Feature.SOURCE_GROUPS: {"query:group"},
    Feature.SOURCE_JOINS: {"query:join"},
    Feature.SOURCE_READS_TARGET: {"query:reads-target"},
    Feature.SOURCE_WITH: {"query:with", "query:from-first"},
    Feature.SOURCE_QUALIFY: {"query:qualify"},
    Feature.SOURCE_TOTALS: {"query:window"},
    Feature.SOURCE_SUBQUERIES: {"query:exists", "query:in"},
    Feature.SOURCE_EXPLODES: {"query:explode"},
    Feature.SOURCE_LIMIT: {"query:limit"},
}


def of(*forms: Feature) -> Profile:
    profile = Profile(max_rows=6, max_files=2, written_forms=frozenset(forms))
    return profile.favouring(*forms, percent=90).without(Feature.TIME_ZONE)


@cache  # several tests look at the same cases
def drawn(seed: int, number: int, *forms: Feature) -> tuple[DrawnCase, ...]:
    return tuple(islice(samples(seed, profile=of(*forms)), number))


@pytest.mark.parametrize("form", ALONE, ids=lambda form: form.value)
def test_a_query_gives_the_rows_that_were_drawn(form: Feature) -> None:
    """Rows that are left out, brought together or looked up add up to the source of the case without the query."""
    written = plain = 0
    for one, other in zip(drawn(81, 36, form), drawn(81, 36), strict=True):
        if one.case.sql == other.case.sql:
            plain += 1
            continue
        assert one.case.target == other.case.target
        first, second = (REFERENCE.evaluate(each.case).answer for each in (one, other))
        if isinstance(second, Unsupported):
            continue
        assert not isinstance(first, Unsupported), one.case.sql
        if isinstance(second, Rejection):
            assert isinstance(first, Rejection)
            assert first.error_class == second.error_class
            continue
        assert isinstance(first, Prediction)
        assert isinstance(second, Prediction)
        assert Counter(map(repr, first.rows)) == Counter(map(repr, second.rows)), one.case.sql
        written += 1
    assert written > 6
    assert plain > 1


@pytest.mark.parametrize("form", [each for each in SPARK_FORMS if each is not Feature.SOURCE_EXPLODES], ids=str)
def test_a_query_without_translation_gives_the_rows_that_were_drawn(form: Feature) -> None:
    """DuckDB itself reads these as Spark does, as long as names need no quotes."""
    checked = 0
    for each in drawn(88, 25, form):
        query, source = each.merge.statement.source_query, each.case.source
        if query is None or source is None or each.merge.query is not None or "`" in query:
            continue
        if any(column.type == TIMESTAMP for column in source.schema.columns):
            continue
        with duckdb.connect() as connection:
            connection.register("source", rows_to_table(source.rows, source.schema))
            given = connection.execute(query).fetchall()
        with duckdb.connect() as connection:
            schema = table_schema(each.merge.schemas.source)
            connection.register("source", rows_to_table(each.merge.tables.source, schema))
            wanted = connection.execute("SELECT * FROM source").fetchall()
        assert Counter(map(repr, given)) == Counter(map(repr, wanted)), query
        checked += 1
    assert checked > 3


@pytest.mark.parametrize("form", SOURCE_FORMS, ids=lambda form: form.value)
def test_every_form_is_drawn(form: Feature) -> None:
    found = frozenset[str]().union(*(each.features for each in drawn(82, 30, form)))
    assert LABELS[form] <= found


def test_no_form_is_drawn_without_queries() -> None:
    """An engine that takes no query as a source takes none of these either."""
    profile = replace(FULL_PROFILE, written_forms=frozenset(SOURCE_FORMS)).without(Feature.SUBQUERY_SOURCE)
    for each in islice(samples(83, profile=profile), 60):
        query = each.merge.statement.source_query
        assert query is None or each.merge.schemas.self_merge


def test_a_source_shrinks_to_a_table() -> None:
    profile = of(Feature.SOURCE_WINDOWS)
    number = next(n for n, each in enumerate(samples(84, profile=profile)) if "query:window" in each.features)
    assert "SELECT" not in shrink(84, number, lambda _: True, profile=profile).case.sql


def test_texts_beside_numbers_and_dates_mean_the_same() -> None:
    """Constants as texts, and CAST of either column, in ON and in conditions."""
    changed = 0
    for one, other in zip(drawn(85, 60, Feature.TEXT_OPERANDS), drawn(85, 60), strict=True):
        if one.case.sql == other.case.sql:
            continue
        first, second = (REFERENCE.evaluate(each.case).answer for each in (one, other))
        if isinstance(second, Prediction) and not isinstance(first, Unsupported):
            assert isinstance(first, Prediction), one.case.sql
            assert Counter(map(repr, first.rows)) == Counter(map(repr, second.rows)), one.case.sql
            changed += 1
    assert changed > 8


def test_random_values_are_assigned_and_nothing_else() -> None:
    texts = [each.case.sql for each in drawn(86, 120, Feature.RANDOM_VALUES)]
    random = [text for text in texts if "uuid()" in text or "rand()" in text or "random()" in text]
    assert len(random) > 4
    assert any("uuid()" in text for text in random)
    assert not any(f"{call}() {word}" in text for text in random for call in ("uuid", "rand") for word in "=<>+")


def test_columns_have_the_time_as_default() -> None:
    found = drawn(87, 60, Feature.TIME_DEFAULTS)
    defaults = {column.default for each in found for column in each.case.target.schema.columns}
    assert {"current_timestamp()", "current_date()"} <= defaults
