"""Unit tests of columns with lengths, invariants and generated ids, as random cases have them."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from mergecheck.model.outcome import Unsupported
from mergecheck.model.types.data_types import BIGINT, STRING
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature, Profile, samples
from mergecheck.strategies.table_features.column_conditions import READ_SIDE_PADDING

if TYPE_CHECKING:
    from mergecheck.strategies import DrawnCase

SEED = 5
REFERENCE = MergeReference()


@cache  # several tests look at the same cases
def drawn(feature: Feature, *others: Feature, number: int = 150) -> tuple[DrawnCase, ...]:
    profile = Profile(table_features=frozenset({feature})).favouring(feature, *others)
    return tuple(islice(samples(SEED, profile=profile), number))


def test_char_columns_are_drawn_and_judged() -> None:
    """R-822: a statement that reads a CHAR column comes with the setting against padding, or the reference gives up."""
    padded, read_padded = 0, 0
    for each in drawn(Feature.TEXT_LENGTHS, number=400):
        limits = [column.limit for column in each.case.target.schema.columns if column.limit is not None]
        if not any(limit.padded for limit in limits):
            continue
        padded += 1
        read_padded += READ_SIDE_PADDING not in each.case.conf
        answer = REFERENCE.evaluate(each.case).answer
        reason = answer.reason if isinstance(answer, Unsupported) else ""
        assert "CHAR" not in reason or reason.startswith(("BETWEEN", "nullif"))
    assert padded > read_padded > 5


def test_rows_of_the_table_keep_to_lengths_and_some_texts_are_too_long_by_spaces_only() -> None:
    found = 0
    for each in drawn(Feature.TEXT_LENGTHS, number=400):
        target, source = each.case.target, each.case.source
        limits = {c.name.lower(): c.limit.length for c in target.schema.columns if c.limit is not None}
        for place, column in enumerate(target.schema.columns):
            if column.type != STRING:
                continue
            longest = max((len(row[place] or "") for row in target.rows), default=0)
            assert longest <= limits.get(column.name.lower(), longest)
        if source is None:
            continue
        places = [(i, limits.get(c.name.lower())) for i, c in enumerate(source.schema.columns) if c.type == STRING]
        texts = [(row[i], most) for row in source.rows for i, most in places if most is not None and row[i] is not None]
        found += any(len(text) > most >= len(text.rstrip()) for text, most in texts)
    assert found > 5


def test_invariants_of_not_null_columns_need_not_hold() -> None:
    """R-746: nobody looks at them, so that some are below every value of the table."""
    found = [
        column.invariant
        for each in drawn(Feature.COLUMN_INVARIANTS, Feature.NOT_NULL)
        for column in each.case.target.schema.columns
        if column.invariant is not None and not column.nullable
    ]
    never_kept = [invariant for invariant in found if " < -" in invariant]
    assert len(found) > len(never_kept) > 5


def test_columns_of_whole_numbers_become_identity_columns() -> None:
    """R-226: of BIGINT, with marks before and behind their values; some that take no values are given some."""
    marks, refused = set(), 0
    for each in drawn(Feature.IDENTITY_COLUMNS):
        for place, column in enumerate(each.case.target.schema.columns):
            if column.identity is None:
                continue
            assert column.type == BIGINT
            values = [row[place] for row in each.case.target.rows if row[place] is not None]
            mark, sign = column.identity.mark, 1 if column.identity.step > 0 else -1
            if mark is not None and values:
                marks.add(sign * mark > max(sign * value for value in values))
            classes = getattr(REFERENCE.evaluate(each.case).answer, "error_class", "")
            refused += classes == "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"
    assert marks == {True, False}
    assert refused > 1
