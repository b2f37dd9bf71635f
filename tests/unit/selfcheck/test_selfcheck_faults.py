"""The catalogue of faults, the choice of mutants for a case, and scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from mergecheck.harness.deviations.predicates import parse_predicate
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.search.session import stream_for
from mergecheck.harness.verdict import UserInputError
from mergecheck.merge.executors import output
from mergecheck.merge.syntax.statement import ActionType, ClauseKind
from mergecheck.merge.table.commit import actions
from mergecheck.merge.table.log.column_mapping import COLUMN_ID
from mergecheck.merge.table.reading import data_skipping
from mergecheck.merge.table.writing.arrow_schema import arrow_field
from mergecheck.merge.table.writing.row_records import RowAction
from mergecheck.merge.table.writing.write import WrittenFile
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference
from mergecheck.reference.merge_reference import MergeReference
from tools.selfcheck.catalogue import (
    chosen,
    load_catalogue,
    load_conflict_faults,
    load_variant_faults,
    variant_cases,
)
from tools.selfcheck.fault import Area, Fault, Mutant
from tools.selfcheck.mutation import Change
from tools.selfcheck.results import KeptResults
from tools.selfcheck.score import score
from tools.selfcheck.score_text import summary_lines
from tools.selfcheck.trial import Kill, SeedResult
from tools.selfcheck.watch import watched

if TYPE_CHECKING:
    from pathlib import Path

# Modules whose functions run in Spark's workers: the driver does not call them, so that no watch would see a call.
WORKERS = ("generated_ids", "writer", "modified_rows", "copied_rows", "touched_rows", "partition_split", "constraints")
IN_WORKERS = (*(f"merge.table.writing.{name}." for name in WORKERS), "merge.table.log.statistics.")


def change(function: str, piece: str, by: str) -> Change:
    return Change(function=f"merge.table.{function}", replace=piece, by=by)


WRITTEN = WrittenFile(path="plain", size=1, num_records=1)
ENCODED = change("commit.actions.encoded", 'quote(path, safe="/=")', "path")


@dataclass(frozen=True)
class Evaluated:
    """A case, by default without facts of it."""

    case: Case
    reference: Reference = field(default=Reference(answer=Unsupported("none")))
    facts: Facts = field(default_factory=Facts)


def fault(*changes: Change, name: str = "fault", comparable: bool = True) -> Fault:
    return Fault(
        id=name, area=Area.COMMIT, summary="It is wrong.", rules=("R-1",), changes=changes, comparable=comparable
    )


def differing(*faults: Fault, call: str) -> set[str]:
    """Encode a path on the right code, and return the faults that could show."""
    with watched([Mutant.of(one) for one in faults]) as found:
        assert actions.encoded(call) == call.replace(" ", "%20")
    return found


def test_every_fault_fits_the_source() -> None:
    """Ids are unique; functions that only workers call are changed there. A stale entry raises and names its fault."""
    special = (*load_variant_faults(), *load_conflict_faults())
    faults = (*load_catalogue(), *(one.fault for one in special))
    assert len(faults) >= 150
    assert len({one.id for one in faults}) == len(faults)
    for one in faults:
        Mutant.of(one)
        assert one.rules, one.id
        assert one.summary.endswith("."), one.id
        assert (one.in_workers is not None) == one.changes[0].function.startswith(IN_WORKERS), one.id


def test_some_random_case_may_show_each_fault() -> None:
    """A fault whose precondition no case meets would be called missed, and never run."""
    reference, never = MergeReference(), {one.id: one for one in load_catalogue()}
    for case in islice(stream_for(PySparkEngine(), 3), 150):
        answer = reference.evaluate(case)
        seen = Evaluated(case, answer, facts_of(case, answer))
        never = {name: one for name, one in never.items() if not one.when.holds(seen)}
        if not never:
            return
    assert never == {}


def test_every_variant_fault_has_its_case() -> None:
    """And names an axis of its variant, or one that implies it."""
    for one in load_variant_faults():
        assert one.case in variant_cases()
        assert any(axis in one.variant for axis in one.axes)


def test_unknown_faults_are_refused() -> None:
    """With the way to the list."""
    with pytest.raises(UserInputError, match="no fault is called nosuch"):
        chosen(["nosuch"])


def test_a_mutant_differs_on_a_case_if_its_functions_return_something_else() -> None:
    """The right answers come out meanwhile."""
    assert differing(fault(ENCODED), call="plain") == set()
    assert differing(fault(ENCODED), call="a b") == {"fault"}
    assert actions.encoded("a b") == "a%20b"


def test_errors_are_compared_too() -> None:
    """An error for no error, another error, another message, the same."""
    key, function = "clause.kind, clause.action", "merge.executors.output.row_action"
    errors = {"same": f"KeyError(({key}))", "message": "KeyError(0)", "class": f"ValueError(({key}))"}
    raising = [
        fault(Change(function=function, replace="return ", by=f"raise {error}\n    return "), name=name)
        for name, error in errors.items()
    ]
    none = fault(Change(function=function, replace=f"[{key}]", by=f".get(({key}))"), name="none")
    unknown: Any = SimpleNamespace(kind=ClauseKind.MATCHED, action=ActionType.INSERT, generated_ids=())
    known: Any = SimpleNamespace(kind=ClauseKind.MATCHED, action=ActionType.DELETE, generated_ids=())
    with watched([Mutant.of(one) for one in (*raising, none)]) as found:
        with pytest.raises(KeyError):
            output.row_action(unknown)
        assert found == {"message", "class", "none"}
        assert output.row_action(known) is RowAction.MATCHED_DELETE
    assert found == {"message", "class", "none", "same"}


def test_metadata_of_arrow_is_compared_too() -> None:
    """Arrow's own equality leaves it out; ids of columns are there."""
    (no_ids,) = chosen(["files-without-field-ids"])
    plain, numbered = (StructField("a", IntegerType(), metadata=said) for said in ({}, {COLUMN_ID: 2}))
    expected: list[tuple[StructField, set[str]]] = [(plain, set()), (numbered, {no_ids.id})]
    expected += [(StructField("c", StructType([each])), differs) for each, differs in expected]
    for field_of, differs in expected:
        with watched([Mutant.of(no_ids)]) as found:
            arrow_field(field_of)
        assert found == differs


def test_a_call_counts_if_functions_cannot_be_compared() -> None:
    """The wrong version is not called then."""
    assert differing(fault(ENCODED, comparable=False), call="plain") == {"fault"}
    generator = fault(change("reading.data_skipping.conjuncts", "yield node", "yield from ()"), name="generator")
    with watched([Mutant.of(generator)]) as found:
        data_skipping.conjuncts(data_skipping.conjunction([]))
    assert found == {"generator"}


def test_what_a_wrong_version_calls_says_nothing_of_the_right_merge() -> None:
    """Here the wrong path would be the one that shows the second fault."""
    outer = fault(change("commit.actions.change_action", "encoded(file.path)", 'encoded("a b")'), name="outer")
    assert differing(outer, fault(ENCODED, name="inner"), call="plain") == set()
    with watched([Mutant.of(outer), Mutant.of(fault(ENCODED, name="inner"))]) as found:
        file = actions.change_action(WRITTEN)
    assert file["cdc"]["path"] == "plain"
    assert found == {"outer"}


def test_preconditions_are_read_off_the_case() -> None:
    """The words that only the catalogue uses so far; each is fulfilled by one case and not by another."""
    plain = parse_schema("id BIGINT, v STRING")
    upsert = "MERGE INTO target t USING source s ON t.id = s.id WHEN NOT MATCHED THEN INSERT * "
    bare = Case(id="bare", target=Target(schema=plain, files=(((1, "a"),),)), source=None, sql=upsert)
    full = replace(
        bare,
        target=Target(schema=plain, files=(((1, "a"),),), properties={"delta.constraints.c": "id > 0"}),
        source=Source(schema=plain, rows=((1, "x" * 33),)),
        sql=upsert + "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    )
    for words in ({"check-constraints": True}, {"text_cell": ".{33}"}, {"kinds": ["not matched by source"]}):
        assert parse_predicate(words).holds(Evaluated(full))
        assert not parse_predicate(words).holds(Evaluated(bare))
    assert parse_predicate({"only_kinds": ["not matched"]}).holds(Evaluated(bare))
    assert not parse_predicate({"only_kinds": ["not matched"]}).holds(Evaluated(full))
    with pytest.raises(ValueError, match="not matched by source"):
        parse_predicate({"kinds": ["unmatched"]})


def kill(num_cases: int, *checks: str) -> Kill:
    return Kill(num_cases=num_cases, checks=checks, num_runs=1)


def test_a_fault_is_solved_if_every_seed_finds_it() -> None:
    """Etna's rule; the median counts a seed that did not find it as endless."""
    one, two = fault(name="one"), fault(name="two")
    results = [
        SeedResult(seed=2, kills={"one": kill(9, "rows")}, num_cases=50),
        SeedResult(seed=1, kills={"one": kill(1, "rows"), "two": kill(40, "cdf")}, num_cases=40),
        SeedResult(seed=3, kills={"one": kill(5, "rows")}, num_cases=50),
    ]
    found = score([one, two], results, max_cases=50)
    first, second = found.faults
    assert found.seeds == (1, 2, 3)
    assert (first.is_solved, first.median, first.worst, first.lone_check) == (True, 5, 9, "rows")
    assert [k and k.num_cases for k in first.kills] == [1, 9, 5]
    assert (second.is_solved, second.median, second.worst) == (False, None, None)
    assert (found.num_solved, found.solved_share, found.num_cases) == (1, 0.5, 140)
    assert found.buckets == {1: 0, 10: 1, 100: 0, 1000: 0}


def test_a_seed_counts_for_the_faults_that_it_looked_for() -> None:
    """A fault that a seed has missed is unsolved; seeds that leave it out afterwards do not count."""
    one, two = fault(name="one"), fault(name="two")
    results = [
        SeedResult(seed=1, kills={"one": kill(1, "rows")}, num_cases=50),
        SeedResult(seed=2, kills={"one": kill(3, "rows")}, passed_over=("two",), num_cases=3),
    ]
    first, second = score([one, two], results, max_cases=50).faults
    assert (first.is_solved, len(first.kills)) == (True, 2)
    assert (second.is_solved, second.kills) == (False, (None,))


def test_an_equivalent_fault_does_not_count_unless_it_is_found() -> None:
    """An argument gives way to an observation."""
    plain, same = fault(name="plain"), replace(fault(name="same"), equivalent="No case can show it.")
    missed = score([plain, same], [SeedResult(seed=1, kills={"plain": kill(1, "rows")}, num_cases=9)], max_cases=9)
    assert (missed.counted, missed.solved_share) == ((missed.faults[0],), 1.0)
    assert "EQUIVALENT  same: No case can show it." in summary_lines(missed)
    both = {"plain": kill(1, "rows"), "same": kill(2, "rows")}
    assert len(score([plain, same], [SeedResult(seed=1, kills=both, num_cases=9)], max_cases=9).counted) == 2


def test_results_are_kept_and_read_back(tmp_path: Path) -> None:
    """Figures of the same faults and limit; others in the file are left alone."""
    path = tmp_path / "results.jsonl"
    kept = KeptResults.of(path, [fault(name="one")], max_cases=50)
    assert kept.read() == ()
    result = SeedResult(seed=2, kills={"one": kill(9, "rows", "P-12")}, num_cases=50, num_runs=3, seconds=1.5)
    kept.add(result)
    assert kept.read() == (result,)
    for other in (
        KeptResults.of(path, [fault(name="one")], max_cases=60),
        KeptResults.of(path, [fault(ENCODED, name="one")], max_cases=50),
    ):
        assert other.read() == ()
        other.add(SeedResult(seed=2, num_cases=60))
    assert kept.read() == (result,)


@pytest.mark.parametrize("text", ["{", "[1]", '{"key": 1}', "\udcff"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    """With its name, and it stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UserInputError, match=r"notes\.txt is no file of results"):
        KeptResults.of(path, [fault()], max_cases=50).read()
    assert path.read_bytes() == text.encode(errors="surrogateescape")
