"""How drawn tables are stored, large ones, and settings of an engine: all of it goes when its flag goes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import strategies as st

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_file import dump_case, parse_cases
from mergecheck.model.outcome import Prediction, Unsupported
from mergecheck.model.storage import SourceLayout, TargetLayout
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.strategies import DrawnCase, Feature, Profile, samples, shrink, with_settings
from mergecheck.strategies.stream import Stream

REFERENCE = MergeReference()


STORAGE = (
    *(Feature.ROW_GROUPS, Feature.NO_STATISTICS, Feature.OLDER_FILES, Feature.STRING_TYPES),
    Feature.SOURCE_BATCHES,
)
SCHEMA = parse_schema("id INT")
CASE = Case(id="x", target=Target(schema=SCHEMA), source=Source(schema=SCHEMA), sql="…", conf={"duckdb.threads": "9"})
DOMAIN = {"duckdb.threads": ("1", "4"), "duckdb.index": ("none", "key"), "duckdb.order": ("true", "false")}


@pytest.fixture(scope="module")
def stored() -> tuple[DrawnCase, ...]:
    return tuple(islice(samples(61, profile=Profile().favouring(*STORAGE)), 90))


@pytest.fixture(scope="module")
def large() -> tuple[DrawnCase, ...]:
    profile = Profile().favouring(Feature.LARGE_TABLES, percent=97)
    return tuple(each for each in islice(samples(62, profile=profile), 18) if len(each.case.target.rows) > 1_000)


def test_an_old_file_holds_nothing_in_the_added_columns(stored: tuple[DrawnCase, ...]) -> None:
    """The first file is from before the columns were added; keys and partition columns never are."""
    seen = 0
    for case in (each.case for each in stored):
        names = case.target.schema.names
        added = [names.index(name) for name in case.target.layout.added_columns]
        if not added or not case.target.files:
            continue
        seen += any(all(row[place] is None for row in file for place in added) for file in case.target.files)
        assert not set(case.target.layout.added_columns) & set(case.target.partition_by)
    assert seen > 20


def test_tables_around_a_boundary() -> None:
    """A file, and a source, of 63, 64 and 65 rows each; in row groups and batches of 64 in some cases."""
    drawn = [each.case for each in islice(samples(65, profile=Profile().around(64)), 60)]
    large = [max(map(len, case.target.files), default=0) for case in drawn]
    assert {63, 64, 65} <= set(large)
    assert max(large) == 65
    assert sum(number > 60 for number in large) > 25
    sources = [case.source for case in drawn if case.source is not None]
    assert {63, 64, 65} <= {len(source.rows) for source in sources}
    grouped = [case for case in drawn if case.target.layout.row_group_rows == 64]
    assert {max(map(len, case.target.files)) for case in grouped} == {63, 64, 65}
    assert any(source.layout.batch_rows == 64 for source in sources)


def test_a_boundary_below_the_small_tables_is_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 40, twice max_rows"):
        Profile().around(39)


def test_layouts_read_back(stored: tuple[DrawnCase, ...]) -> None:
    """Every drawn case, layout and all, is one that the case file can hold."""
    for each in stored:
        text = dump_case(each.case)
        (case,) = parse_cases(text, name="drawn", lines=False)
        assert (dump_case(case), case.target.layout) == (text, each.case.target.layout)


def test_without_the_flags_nothing_is_said() -> None:
    """An engine that leaves them out gets tables as they were before there were layouts."""
    for each in islice(samples(63, profile=Profile().without(*STORAGE)), 60):
        assert each.case.target.layout == TargetLayout()
        assert each.case.source is None or each.case.source.layout == SourceLayout()


def test_a_layout_shrinks_away() -> None:
    """Where it has no part in a fault, Hypothesis takes it off."""
    profile = Profile(max_rows=4).favouring(*STORAGE)
    index = next(i for i, each in enumerate(samples(64, profile=profile)) if _is_laid_out(each))
    left = shrink(64, index, lambda each: "INSERT" in each.case.sql or _is_laid_out(each), profile=profile)
    assert not _is_laid_out(left)


def _is_laid_out(each: DrawnCase) -> bool:
    return each.case.target.layout != TargetLayout()


def test_large_tables_are_beyond_a_batch_and_match_there(large: tuple[DrawnCase, ...]) -> None:
    """One file is thousands of rows long; what happens behind its first batch is predicted as ever."""
    assert len(large) > 8
    for each in large:
        assert len(each.case.target.files[0]) > 2_000
        assert each.case.source is not None
        assert len(each.case.source.rows) > 10
    assert any(isinstance(REFERENCE.evaluate(each.case).answer, Prediction) for each in large[:3])


def test_large_tables_have_keys_of_their_own(large: tuple[DrawnCase, ...]) -> None:
    """The added rows match one to one, so that a large merge is not ambiguous for being large."""
    for each in large:
        key, other = each.merge.schemas.keys[0]
        for columns, rows, name in (
            (each.merge.schemas.target, each.case.target.files[0], key),
            (each.merge.schemas.source, each.case.source.rows if each.case.source else (), other),
        ):
            place = [column.name for column in columns].index(name)
            added = [row[place] for row in rows if row[place] is not None and row[place] >= 1_000]
            assert len(set(added)) == len(added) > 10


def test_settings_of_an_engine_are_drawn_now_and_then() -> None:
    """A few at a time, from its own values; the case's own settings stay."""
    stream = Stream(with_settings(st.just(CASE), DOMAIN))
    drawn = [stream.draw(1, index) for index in range(120)]
    assert all(case.conf["duckdb.threads"] == "9" for case in drawn)
    for name in ("duckdb.index", "duckdb.order"):
        assert {case.conf.get(name) for case in drawn} == {None, *DOMAIN[name]}
    assert 40 < sum(case.conf == CASE.conf for case in drawn) < 110
    assert len({case.id for case in drawn}) == len({tuple(case.conf.items()) for case in drawn})


def test_settings_of_an_engine_shrink_to_none() -> None:
    """A fault that needs none of them is shown without."""
    stream = Stream(with_settings(st.just(CASE), DOMAIN))
    index = next(i for i in range(100) if len(stream.draw(2, i).conf) > 1)
    assert stream.shrink(2, index, lambda _: True).conf == CASE.conf


def test_without_settings_the_cases_are_the_same() -> None:
    """An engine that declares none gets the very strategy; one without values is a mistake."""
    cases = st.just(CASE)
    assert with_settings(cases, {}) is cases
    with pytest.raises(ValueError, match=r"setting duckdb\.threads of the engine has no values"):
        with_settings(cases, {"duckdb.threads": ()})


def test_the_reference_takes_settings_of_engines() -> None:
    """They change how a merge runs and not its meaning; an unknown setting of Spark stays unsupported."""
    each = next(each for each in samples(65) if isinstance(REFERENCE.evaluate(each.case).answer, Prediction))
    case = replace(each.case, conf={**each.case.conf, "duckdb.threads": "1", "delta-rs.streamed_exec": "false"})
    assert repr(REFERENCE.evaluate(case).answer) == repr(
        REFERENCE.evaluate(each.case).answer
    )  # NaN equals only itself in words
    unknown = replace(case, conf={"spark.sql.unknown": "1"})
    assert REFERENCE.evaluate(unknown).answer == Unsupported("setting spark.sql.unknown")
