"""Counts of values that occur together, and what hand-written cases have of each dimension."""

from __future__ import annotations

from itertools import combinations

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.merge_reference import MergeReference
from tools.nway.case_values import values_of
from tools.nway.counting import pairs_together, triples_together
from tools.nway.dimensions import DIMENSIONS, grouped
from tools.nway.exclusions import Impossible
from tools.nway.impossible import PAIRS, TRIPLES

TOY = (("a=1", "a=2"), ("b=1", "b=2"), ("c=1",))
SCHEMA = parse_schema("k INT, v STRING")
UPSERT = (
    "MERGE INTO target t USING source s ON t.k = s.k WHEN MATCHED {} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def merge(sql: str, *, target: tuple[object, ...] = ((1, "a"), (2, "b")), source: tuple[object, ...]) -> Case:
    """Make a case with two columns."""
    return Case(
        id="case",
        target=Target(schema=SCHEMA, files=(target,) if target else ()),  # type: ignore[arg-type]  # rows
        source=Source(schema=SCHEMA, rows=source),  # type: ignore[arg-type]  # rows
        sql=sql,
    )


def test_pairs_are_counted_by_case() -> None:
    """Two values of one dimension are no pair; a case with several values counts for each pair of them."""
    found = pairs_together([{"a=1", "a=2", "b=1"}, {"a=1", "b=1", "c=1"}, set()], TOY, ())
    assert found.counts == {
        ("a=1", "b=1"): 2,
        ("a=1", "b=2"): 0,
        ("a=2", "b=1"): 1,
        ("a=2", "b=2"): 0,
        ("a=1", "c=1"): 1,
        ("a=2", "c=1"): 0,
        ("b=1", "c=1"): 1,
        ("b=2", "c=1"): 0,
    }
    assert list(found.below(1)) == [("a=1", "b=2"), ("a=2", "b=2"), ("a=2", "c=1"), ("b=2", "c=1")]


def test_threes_are_counted_by_case() -> None:
    """One value of each of three dimensions."""
    found = triples_together([{"a=1", "a=2", "b=1", "c=1"}, {"a=1", "b=1", "c=1"}, {"a=1", "c=1"}], TOY, ())
    assert found.counts["a=1", "b=1", "c=1"] == 2
    assert sum(found.counts.values()) == 3
    assert len(found.counts) == 4


def test_what_is_impossible_is_left_out_unless_it_occurs() -> None:
    """An entry for two values rules out the triples that hold both; one that occurs is an error."""
    entry = Impossible(parts=(frozenset({"a=2"}), frozenset({"c=1"})), reason="for a test")
    cases = [{"a=1", "b=1", "c=1"}]
    triples = triples_together(cases, TOY, (entry,))
    assert triples.impossible.keys() == {("a=2", "b=1", "c=1"), ("a=2", "b=2", "c=1")}
    assert triples.possible == {("a=1", "b=1", "c=1"): 1, ("a=1", "b=2", "c=1"): 0}
    assert not triples.contradicted
    assert pairs_together([{"a=2", "c=1"}], TOY, (entry,)).contradicted == {("a=2", "c=1"): 1}


def test_impossible_combinations_name_known_values() -> None:
    """Each part is of one dimension, no two parts are of the same one, and each part has a value that is counted."""
    known = {value for each in DIMENSIONS for value in (*each.pairs(), *each.triples())}
    for entry in (*PAIRS, *TRIPLES):
        names = [{value.partition("=")[0] for value in part} for part in entry.parts]
        assert all(len(each) == 1 for each in names), entry
        assert all(one.isdisjoint(other) for one, other in combinations(names, 2)), entry
        assert all(part & known for part in entry.parts), entry


def test_an_upsert_has_its_values() -> None:
    """The kinds, the conditions on each sort of row, matches, path and types of a plain merge."""
    case = merge(UPSERT.format("AND s.v > 'b'"), source=((1, None), (2, "x"), (9, "y")))
    found = values_of(case, MergeReference())
    assert found is not None
    assert found >= {
        *("clauses=matched, insert", "order=one of each kind", "ON=equality", "source=table", "evolution=off"),
        *("condition of pairs=TRUE", "condition of pairs=NULL", "condition of source rows=no condition"),
        *("match=one to one", "result=path D", "change=updates", "change=inserts", "change=copies"),
        *("key type=integer", "condition type=string", "assigned type=string", "partition type=none"),
        *("layout=one file", "constraint=none", "setting=none", "feed=off", "nesting=none", "evolved type=none"),
    }
    assert not found & {"match=none", "match=NULL in ON", "condition of pairs=FALSE", "condition of target rows=NULL"}


def test_refused_ambiguous_rows_show_their_conditions() -> None:
    """R-320 refuses the merge under any conditions; the conditions of the matches are counted all the same."""
    case = merge(UPSERT.format("AND s.v = 'x'"), source=((1, None), (1, "x"), (1, "y")))
    found = values_of(case, MergeReference())
    assert found is not None
    assert found >= {"match=ambiguous, refused", "result=failed"}
    assert {f"condition of ambiguous rows={truth}" for truth in ("TRUE", "FALSE", "NULL")} <= found
    assert "condition of pairs=TRUE" not in found


def test_the_source_may_be_empty_and_the_statement_wrong() -> None:
    """Dimensions that were not reached have no value."""
    empty = values_of(merge(UPSERT.format(""), source=()), MergeReference())
    wrong = values_of(merge(UPSERT.format("AND s.missing = 1"), source=((1, "x"),)), MergeReference())
    assert empty is not None
    assert wrong is not None
    assert empty >= {"match=empty source", "result=path B"}
    assert "result=refused" in wrong
    assert not any(value.startswith(("match=", "condition of")) for value in wrong)


def test_groups_join_what_they_name() -> None:
    """A raw value counts for the value that names it; others are left out."""
    raw = {"partition type=date", "setting=merge.materializeSource=all", "constraint=append-only"}
    assert grouped(raw, coarse=False) == {"partition type=date", "setting=materialise all"}
    assert grouped(raw, coarse=True) == {"partition type=time", "setting=run"}
