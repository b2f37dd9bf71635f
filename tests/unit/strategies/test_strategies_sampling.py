"""Unit tests of the numbered stream of cases."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.properties.facts import facts_of
from mergecheck.reference import MergeReference
from mergecheck.strategies import Feature, Profile, sample, samples, shrink
from mergecheck.strategies.stream import StopShrinking

REFERENCE = MergeReference()

if TYPE_CHECKING:
    from mergecheck.strategies import DrawnCase

NUM_CASES = 12
_SCRIPT = (
    "import json, sys; from itertools import islice; from mergecheck.strategies import samples; "
    f"print(json.dumps([drawn.case.id for drawn in islice(samples(7), {NUM_CASES})]))"
)


def ids(seed: int, *, start: int = 0) -> list[str]:
    return [drawn.case.id for drawn in islice(samples(seed, start=start), NUM_CASES)]


def test_the_stream_is_the_same_in_another_process() -> None:
    """A seed and a number mean one case, whatever modules are loaded and however strings hash."""
    command = [sys.executable, "-c", _SCRIPT]
    there = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "4711"})  # noqa: S603 - our own interpreter
    assert json.loads(there.stdout) == ids(7)


def test_a_case_does_not_depend_on_the_ones_before_it() -> None:
    """Case 5 is case 5, alone or in a stream; that makes a finding's number enough for a second look."""
    assert sample(3, 5).case == next(samples(3, start=5)).case == list(islice(samples(3), 6))[5].case


def test_seeds_and_numbers_give_different_cases() -> None:
    """No two numbers share a case, nor do two seeds."""
    both = [*ids(1), *ids(2)]
    assert len(set(both)) == len(both)


def test_a_negative_number_is_refused() -> None:
    """The message has the given value and the allowed ones."""
    with pytest.raises(ValueError, match="case number -1: must be 0 or greater"):
        sample(1, -1)


def test_shrinking_keeps_the_fault_and_drops_the_rest() -> None:
    """A fault of inserts ends as one insert clause, one source row and no flags."""

    def fails(drawn: DrawnCase) -> bool:
        return "fires:not_matched/insert" in drawn.features

    number = next(i for i, drawn in enumerate(samples(1)) if fails(drawn) and len(drawn.case.target.rows) > 3)
    smallest = shrink(1, number, fails)
    assert fails(smallest)
    assert smallest.case.source is not None
    assert len(smallest.case.source.rows) == 1
    assert len(smallest.case.target.rows) == 0
    assert smallest.case.sql.count("WHEN") == 1
    assert smallest.case.conf == {}


def test_shrinking_needs_a_failing_case() -> None:
    """A case that does not fail is reported as perhaps flaky."""
    with pytest.raises(ValueError, match=r"case 0 of seed 1 does not fail.*flaky"):
        shrink(1, 0, lambda _: False)


def test_shrinking_ends_when_it_is_told_to() -> None:
    """``StopShrinking`` keeps the simplest case so far; any other exception comes out as it is."""
    seen: list[DrawnCase] = []

    def twice(drawn: DrawnCase) -> bool:
        if len(seen) == 2:
            raise StopShrinking
        seen.append(drawn)
        return True

    assert shrink(1, 0, twice) == seen[1]

    def breaks(_: DrawnCase) -> bool:
        raise KeyError("of the harness's own")

    with pytest.raises(KeyError, match="of the harness's own"):
        shrink(1, 0, breaks)


def test_a_profile_bounds_the_tables_and_disables_features() -> None:
    """Disabled features never show; bounds hold for every case."""
    profile = Profile(max_rows=3, max_files=2, max_clauses=2).without(
        Feature.CHANGE_DATA_FEED,
        Feature.PARTITIONS,
        Feature.LARGE_TABLES,  # copies the drawn rows, thousands of times
    )
    for drawn in islice(samples(5, profile=profile), 60):
        target = drawn.case.target
        assert len(target.rows) <= 3
        assert len(target.files) <= 2
        assert drawn.case.source is None or len(drawn.case.source.rows) <= 3
        assert not target.change_data_feed
        assert target.partition_by == ()
        assert all(drawn.case.sql.count(f"WHEN {kind} ") <= 2 for kind in ("MATCHED", "NOT MATCHED BY SOURCE"))


def test_a_profile_can_favour_features() -> None:
    """A favoured feature is on in most cases."""
    profile = Profile().favouring(Feature.SELF_MERGE, percent=95)
    drawn = list(islice(samples(5, profile=profile), 100))
    # key ranges, queries and large tables spoil it now and then
    assert sum(each.case.source is None for each in drawn) > 65


def test_nothing_that_is_brought_spoils_what_a_profile_favours() -> None:
    """Many combinations have no update, or bring clauses BY SOURCE with them."""
    avoided = Feature.BY_SOURCE_UPDATE, Feature.BY_SOURCE_DELETE
    plain = replace(Profile(), combinations_percent=90).favouring(Feature.MATCHED_UPDATE, percent=100)
    profile = plain.favouring(*avoided, percent=0)
    drawn = list(islice(samples(5, profile=profile), 100))
    assert all(Feature.MATCHED_UPDATE in each.enabled for each in drawn)
    assert all(each.enabled.isdisjoint(avoided) for each in drawn)


def test_everyday_statements_write_texts_of_several_partitions() -> None:
    """Upserts without conditions whose table is partitioned by a text: most write several of its values."""
    drawn = list(islice(samples(5, profile=replace(Profile(), combinations_percent=1, everyday_percent=99)), 60))
    upserts = [each.case for each in drawn if Feature.PARTITIONED_BY_TEXT in each.enabled]
    assert 15 < len(upserts) < 45
    facts = [facts_of(case, REFERENCE.evaluate(case)) for case in upserts]
    assert sum(each.num_partitions_written > 1 for each in facts) > len(upserts) // 2


def test_everyday_statements_insert_a_part_of_the_rows() -> None:
    """Nothing but an insert, with a condition that holds for some rows and not for others in a good share of them."""
    drawn = list(islice(samples(5, profile=replace(Profile(), combinations_percent=1, everyday_percent=99)), 120))
    only = [each for each in drawn if "kinds:not_matched" in each.features]
    assert len(only) > 45
    selective = [each for each in only if each.features >= {"condition:true"}]
    assert sum(not each.features.isdisjoint({"condition:false", "condition:null"}) for each in selective) > 20


def test_everyday_statements_take_cases_from_the_rest_alone() -> None:
    """Cases that bring rare features together are the same with and without them."""
    plain, everyday = (replace(Profile(), combinations_percent=42, everyday_percent=percent) for percent in (0, 20))
    pairs = list(zip(islice(samples(5, profile=plain), 60), islice(samples(5, profile=everyday), 60), strict=True))
    assert 4 < sum(one.case != other.case for one, other in pairs) < 25


def test_profiles_that_leave_nothing_are_refused() -> None:
    """A profile without clauses or without rows is a mistake of its author."""
    clauses = (feature for feature in Feature if "update" in feature.value or "delete" in feature.value)
    with pytest.raises(ValueError, match="leaves no clause"):
        Profile().without(*clauses, Feature.INSERT)
    with pytest.raises(ValueError, match=r"max_rows=0.*at least 1"):
        Profile(max_rows=0)
