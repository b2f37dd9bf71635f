"""Relations that count rows, or compare several merges, checked by the row model on all small tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.lab.exhaustive.row_model import Result
from mergecheck.harness.lab.exhaustive.scope import BY_SOURCE, DELETE, MATCHED, NOT_MATCHED, STAR, Clause, Statement
from mergecheck.harness.lab.exhaustive.scope_file import load_scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.harness.lab.exhaustive.scope import Pair
    from mergecheck.model.case import Row

CORE = load_scope("core")
STATEMENTS = CORE.statements[::9]
EQUAL = ("=", "t.k", "s.k")
UPSERT = (Clause(MATCHED, condition=True, action=STAR), Clause(NOT_MATCHED, condition=True, action=STAR))
MIRROR = (*UPSERT, Clause(BY_SOURCE, condition=True, action=DELETE))
DELETES = (Clause(MATCHED, condition=True, action=DELETE),)


def statement(*clauses: Clause) -> Statement:
    return Statement(number=0, tables=CORE.tables[0], on=EQUAL, clauses=clauses)


def merged(merge: Statement, target: Iterable[Row], source: Iterable[Row], *, in_one_file: bool = False) -> Result:
    result = Result()
    rows = [(0 if in_one_file else number, row) for number, row in enumerate(target)]
    result.add(merge.merge(), 0, rows, tuple(source))
    return result


def rows_of(result: Result) -> tuple[Row, ...]:
    return tuple(row[:-1] for row in result.rows.elements())


def pairs() -> tuple[Pair, ...]:
    """Return all pairs of tables: the pairs of a statement that distinguishes the values."""
    return max((CORE.pairs(one) for one in CORE.statements[:200]), key=len)


def with_unique_keys() -> Iterator[Pair]:
    for pair in pairs():
        keys = [row[0] for row in pair.source]
        if None not in keys and len(set(keys)) == len(keys):
            yield pair


def test_all_pairs_are_there() -> None:
    assert len(pairs()) == 55 * 55


@pytest.mark.parametrize("merge", STATEMENTS[::20], ids=lambda merge: str(merge.number))
def test_order_and_layout_do_not_matter(merge: Statement) -> None:
    """P-16: the rows of either table in the opposite order, or all in one file."""
    for pair in CORE.pairs(merge):
        plain = merged(merge, pair.target, pair.source)
        other = merged(merge, pair.target[::-1], pair.source[::-1], in_one_file=True)
        assert (plain.rows, plain.changes, plain.ambiguous) == (other.rows, other.changes, other.ambiguous)


def test_an_empty_source_does_nothing() -> None:
    """P-24: without NOT MATCHED BY SOURCE clauses."""
    targets = {pair.target for pair in pairs()}
    for merge in STATEMENTS:
        if all(clause.kind != BY_SOURCE for clause in merge.clauses):
            assert all(Counter(rows_of(merged(merge, target, ()))) == Counter(target) for target in targets)


def test_an_upsert_can_be_repeated() -> None:
    """P-23: the second one finds the rows that the first one left."""
    for pair in with_unique_keys():
        once = merged(statement(*UPSERT), pair.target, pair.source)
        assert merged(statement(*UPSERT), rows_of(once), pair.source).rows == once.rows


def test_a_mirror_makes_the_target_the_source() -> None:
    """P-25, on unique keys of either table."""
    for pair in with_unique_keys():
        if len({row[0] for row in pair.target}) == len(pair.target):
            assert Counter(rows_of(merged(statement(*MIRROR), pair.target, pair.source))) == Counter(pair.source)


def test_a_source_can_be_split_for_deletes() -> None:
    """P-26: delete by each row of the source, one after the other."""
    for pair in pairs():
        whole = merged(statement(*DELETES), pair.target, pair.source)
        left = pair.target
        for row in pair.source:
            left = rows_of(merged(statement(*DELETES), left, (row,)))
        assert Counter(left) == Counter(rows_of(whole))


def test_a_target_can_be_split() -> None:
    """Without inserts each target row comes to the same alone as among others, whatever the ambiguity of these."""
    for merge in STATEMENTS[::9]:
        if any(clause.kind == NOT_MATCHED for clause in merge.clauses):
            continue
        for pair in CORE.pairs(merge):
            parts = [merged(merge, (row,), pair.source) for row in pair.target]
            whole = merged(merge, pair.target, pair.source)
            assert bool(whole.ambiguous) == any(part.ambiguous for part in parts)
            if not whole.ambiguous:
                assert whole.rows == sum((part.rows for part in parts), Counter())


def test_an_insert_with_a_split_source_may_insert_twice() -> None:
    """The wrong form of P-26: the second of two equal source rows finds the row that the first has inserted."""
    source = ((0, 0), (0, 0))
    whole = merged(statement(*UPSERT), (), source)
    first = merged(statement(*UPSERT), (), source[:1])
    second = merged(statement(*UPSERT), rows_of(first), source[1:])
    assert whole.rows.total() == 2
    assert second.rows.total() == 1
