"""Planted faults: switched on and off without a trace, and seen to make a difference where they do."""

from __future__ import annotations

import types
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.selfcheck import preconditions as needs
from mergecheck.harness.selfcheck.catalogue import CATALOGUE, chosen
from mergecheck.harness.selfcheck.fault import Area, Edit, Fault, watched
from mergecheck.harness.selfcheck.results import KeptResults
from mergecheck.harness.selfcheck.score import score
from mergecheck.harness.selfcheck.score_text import summary_lines
from mergecheck.harness.selfcheck.trial import Kill, SeedResult
from mergecheck.merge.table.reading.key_ranges import hit_positions
from mergecheck.merge.table.writing.copied_rows import copy_groups
from mergecheck.merge.table.writing.modified_rows import write_modified_rows
from mergecheck.merge.table.writing.writer import write_partition
from mergecheck.reference.case.model import Case, Source, Target
from mergecheck.reference.outcome import Facts
from mergecheck.reference.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Point:
    """A value of ``merge``, as far as the watch knows."""

    x: int

    @property
    def double(self) -> int:
        return 2 * self.x

    @classmethod
    def at(cls, x: int) -> Point:
        return cls(x)

    @staticmethod
    def distance(x: int) -> int:
        return abs(x)


@pytest.fixture
def module() -> types.ModuleType:
    """A module with two functions."""
    made = types.ModuleType("made")
    made.half = lambda n: n // 2
    made.refuse = lambda n: [][n]
    return made


def fault(*edits: Edit, name: str = "fault") -> Fault:
    return Fault(name=name, area=Area.COMMIT, sentence="It is wrong.", rules=("R-1",), edits=edits)


def test_a_fault_is_on_within_its_block_only(module: types.ModuleType) -> None:
    """Also where the block ends with an error."""
    third = fault(Edit(module, "half", lambda _right: lambda n: n // 3))
    with third.switched_on():
        assert module.half(6) == 2
    assert module.half(6) == 3
    with pytest.raises(ZeroDivisionError), third.switched_on():
        raise ZeroDivisionError
    assert module.half(6) == 3


def test_a_function_that_is_gone_cannot_disarm_a_fault(module: types.ModuleType) -> None:
    """Renaming a function of ``merge`` breaks its faults loudly."""
    with pytest.raises(KeyError, match="gone"), fault(Edit(module, "gone", lambda right: right)).switched_on():
        pass


def test_the_watch_names_the_faults_that_made_a_difference(module: types.ModuleType) -> None:
    """The right answers come out meanwhile."""
    rounded = fault(Edit(module, "half", lambda _right: lambda n: -(-n // 2)), name="rounded up")
    with watched([rounded]) as differing:
        assert module.half(6) == 3
    assert differing == set()
    with watched([rounded]) as differing:
        assert module.half(7) == 3
    assert differing == {"rounded up"}
    assert module.half(7) == 3


def test_the_watch_compares_errors_too(module: types.ModuleType) -> None:
    """Same error, other error, no error where there should be one, and one where there should be none."""
    faults = [
        fault(Edit(module, "refuse", lambda right: right), name="same"),
        fault(Edit(module, "refuse", lambda _right: lambda _n: {}["key"]), name="other"),
        fault(Edit(module, "refuse", lambda _right: lambda _n: None), name="none"),
        fault(Edit(module, "half", lambda _right: lambda _n: int("x")), name="new"),
    ]
    with watched(faults) as differing:
        assert module.half(2) == 1
        with pytest.raises(IndexError):
            module.refuse(0)
    assert differing == {"other", "none", "new"}


def test_the_watch_takes_calls_for_differences_where_it_cannot_compare(module: types.ModuleType) -> None:
    """And does not call the wrong function."""
    acts = Edit(module, "half", lambda _right: pytest.fail, comparable=False)
    with watched([fault(acts)]) as differing:
        assert module.half(2) == 1
    assert differing == {"fault"}


def test_properties_are_watched() -> None:
    """They are functions as well."""
    tripled = fault(Edit(Point, "double", lambda _right: property(lambda self: 3 * self.x)))
    with watched([tripled]) as differing:
        assert Point(0).double == 0
        assert differing == set()
        assert Point(1).double == 2
    assert differing == {"fault"}
    with tripled.switched_on():
        assert Point(1).double == 3
    assert Point(1).double == 2


def test_class_methods_and_static_methods_are_watched() -> None:
    """As properties are."""
    moved = fault(Edit(Point, "at", lambda _right: classmethod(lambda cls, x: cls(abs(x)))), name="moved")
    signed = fault(Edit(Point, "distance", lambda _right: staticmethod(lambda x: x)), name="signed")
    with watched([moved, signed]) as differing:
        assert (Point.at(1), Point(1).distance(-1)) == (Point(1), 1)
        assert differing == {"signed"}
        assert Point.at(-1) == Point(-1)
    assert differing == {"moved", "signed"}
    with moved.switched_on(), signed.switched_on():
        assert (Point.at(-1), Point.distance(-1)) == (Point(1), -1)
    assert (Point.at(-1), Point.distance(-1)) == (Point(-1), 1)


def test_the_catalogue_is_whole() -> None:
    """At least sixty faults, each with a name of its own, rules, and functions that are there."""
    assert len(CATALOGUE) >= 60
    assert len({one.name for one in CATALOGUE}) == len(CATALOGUE)
    for one in CATALOGUE:
        assert one.rules, one.name
        assert one.sentence.endswith("."), one.name
        assert one.origin, one.name
        for edit in one.edits:
            assert edit.right() is not None, one.name


def test_no_fault_replaces_what_only_workers_call() -> None:
    """The watch would never see it called, and the fault would count as one that makes no difference."""
    handed_over = {write_partition, write_modified_rows, copy_groups, hit_positions}
    for one in CATALOGUE:
        assert not handed_over.intersection(edit.right() for edit in one.edits if callable(edit.right())), one.name


def test_unknown_faults_are_refused() -> None:
    """With the way to the list."""
    with pytest.raises(UserInputError, match="no fault is called nosuch"):
        chosen(["nosuch"])


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
    """A fault that a seed has missed is unsolved; those that leave it out afterwards say nothing of it."""
    one, two = fault(name="one"), fault(name="two")
    results = [
        SeedResult(seed=1, kills={"one": kill(1, "rows")}, num_cases=50),
        SeedResult(seed=2, kills={"one": kill(3, "rows")}, passed_over=("two",), num_cases=3),
    ]
    first, second = score([one, two], results, max_cases=50).faults
    assert (first.is_solved, len(first.kills)) == (True, 2)
    assert (second.is_solved, second.kills) == (False, (None,))


def test_an_equivalent_fault_does_not_count_unless_it_is_found() -> None:
    """What is argued gives way to what is seen."""
    plain, same = fault(name="plain"), replace(fault(name="same"), equivalent="No case can show it.")
    missed = score([plain, same], [SeedResult(seed=1, kills={"plain": kill(1, "rows")}, num_cases=9)], max_cases=9)
    assert (missed.counted, missed.solved_share) == ((missed.faults[0],), 1.0)
    assert "EQUIVALENT  same: No case can show it." in summary_lines(missed)
    both = {"plain": kill(1, "rows"), "same": kill(2, "rows")}
    assert len(score([plain, same], [SeedResult(seed=1, kills=both, num_cases=9)], max_cases=9).counted) == 2


def test_results_are_kept_and_read_back(tmp_path: Path) -> None:
    """Those of the same faults and limit; others in the file are left alone."""
    path = tmp_path / "results.jsonl"
    kept = KeptResults.of(path, [fault(name="one")], max_cases=50)
    assert kept.read() == ()
    result = SeedResult(seed=2, kills={"one": kill(9, "rows", "P-12")}, num_cases=50, num_runs=3, seconds=1.5)
    kept.add(result)
    assert kept.read() == (result,)
    other = KeptResults.of(path, [fault(name="one")], max_cases=60)
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


def test_needs_are_read_off_the_case() -> None:
    """Each is fulfilled by one case and not by another."""
    plain = parse_schema("id BIGINT, v STRING")
    bare = Case(id="bare", target=Target(schema=plain, files=(((1, "a"),),)), source=None, sql="")
    strict = parse_schema("id BIGINT NOT NULL, v BOOLEAN")
    full = replace(
        bare,
        target=Target(
            schema=strict, files=(((1, True),),), partition_by=("v",), properties={"delta.constraints.c": "id > 0"}
        ),
        source=Source(schema=plain, rows=((1, "x" * 33),)),
    )
    for need in (
        needs.type_in_target("BOOLEAN"),
        needs.partitions,
        needs.boolean_partitions,
        needs.constraints,
        needs.long_texts,
    ):
        assert need(full, Facts())
        assert not need(bare, Facts())
    assert needs.several_matches(bare, Facts(multi_matched=True))
    assert not needs.several_matches(full, Facts())
    assert needs.nothing(bare, Facts())
