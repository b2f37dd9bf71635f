"""The key ``layout`` of a case file: optional, strict inside, written only if it is not the default."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mergecheck.harness.findings.shrink.passes.layout import plainer_layouts
from mergecheck.harness.findings.shrink.passes.schema import without_columns
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_file import case_to_json, dump_case, parse_cases
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.storage import SourceLayout, Statistics, StringType, TargetLayout
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

SCHEMA = parse_schema("id BIGINT NOT NULL, v STRING, w STRING, p INT")
LAID_OUT = Case(
    id="laid-out",
    target=Target(
        schema=SCHEMA,
        files=(((1, None, "a", 0), (2, None, None, 0)), ((3, "c", "c", 1),)),
        partition_by=("p",),
        layout=TargetLayout(
            row_group_rows=1,
            string_type=StringType.LARGE_STRING,
            statistics=Statistics.ALTERNATE,
            added_columns=("v", "w"),
        ),
    ),
    source=Source(
        schema=SCHEMA,
        rows=((1, "x", "x", 0), (9, "y", "y", 1)),
        layout=SourceLayout(batch_rows=1, string_type=StringType.DICTIONARY),
    ),
    sql="MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)
PLAIN = replace(
    LAID_OUT,
    target=replace(LAID_OUT.target, layout=TargetLayout()),
    source=replace(LAID_OUT.source, layout=SourceLayout()),
)


def read(document: object) -> Case:
    return parse_cases(json.dumps(document), name="test", lines=False)[0]


def with_layout(table: str, layout: object) -> object:
    document = case_to_json(PLAIN)
    document[table]["layout"] = layout
    return document


def test_a_layout_reads_back_as_written() -> None:
    """The text of a case holds every part of its layout."""
    assert parse_cases(dump_case(LAID_OUT), name="test", lines=False) == (LAID_OUT,)


def test_the_default_is_not_written() -> None:
    """A case without a layout looks as it did before there were any, and an empty object is the default."""
    assert "layout" not in dump_case(PLAIN)
    assert read(with_layout("target", {})) == PLAIN
    assert read(with_layout("source", {})) == PLAIN


@pytest.mark.parametrize(
    ("table", "layout", "message"),
    [
        ("target", [], "target, layout: must be an object with the keys row_group_rows, "),
        ("target", {"batch_rows": 1}, "unknown key 'batch_rows'; allowed are row_group_rows, string_type, "),
        ("target", {"row_group_rows": 0}, "row_group_rows: must be a whole number from 1 on, given 0"),
        ("target", {"row_group_rows": True}, "row_group_rows: must be a whole number from 1 on, given True"),
        ("target", {"statistics": "most"}, "must be one of all, counts, alternate, none; given 'most'"),
        ("target", {"string_type": 5}, "string_type: must be one of string, large_string, string_view, dictionary"),
        ("target", {"added_columns": ["x"]}, "added_columns: 'x' is no column; the columns are id, v, w, p"),
        ("target", {"added_columns": ["p"]}, "'p' is a partition column or NOT NULL, so no file can lack it"),
        ("target", {"added_columns": ["id"]}, "allowed are v, w"),
        ("source", {"row_group_rows": 1}, "unknown key 'row_group_rows'; allowed are batch_rows, string_type"),
        ("source", {"batch_rows": "1"}, "batch_rows: must be a whole number from 1 on, given '1'"),
    ],
)
def test_a_layout_is_read_strictly(table: str, layout: object, message: str) -> None:
    """Each mistake gets the place, the given value and the allowed ones."""
    with pytest.raises(CaseFormatError) as caught:
        read(with_layout(table, layout))
    assert message in str(caught.value)


@pytest.mark.parametrize(("layout", "part"), [(TargetLayout, "row_group_rows"), (SourceLayout, "batch_rows")])
def test_no_part_is_without_rows(layout: type[TargetLayout | SourceLayout], part: str) -> None:
    """A row group or a batch holds a row at least."""
    with pytest.raises(ValueError, match=f"{part}=0: must be at least 1"):
        layout(**{part: 0})


def test_the_reference_does_not_look_at_it() -> None:
    """The same merge is predicted however the tables are stored."""
    assert evaluate(LAID_OUT) == evaluate(PLAIN)


def test_shrinking_tries_every_part_of_a_layout() -> None:
    """First all of it, then each part alone, then each added column; a plain case offers nothing."""
    first, *others = plainer_layouts(LAID_OUT)
    assert first == PLAIN
    assert all(candidate != LAID_OUT for candidate in others)
    for part in ("row_group_rows", "string_type", "statistics", "added_columns"):
        assert any(
            getattr(each.target.layout, part) == getattr(TargetLayout(), part) and each.source == LAID_OUT.source
            for each in others
        )
    assert [each.target.layout.added_columns for each in others].count(("v",)) == 1
    assert any(each.source is not None and each.source.layout.batch_rows is None for each in others)
    assert not list(plainer_layouts(PLAIN))
    assert not list(plainer_layouts(replace(PLAIN, source=None)))


def test_a_dropped_column_was_not_added() -> None:
    """A case that lost a column still reads back: its layout names the columns that are left."""
    smaller = [case for case in without_columns(LAID_OUT) if "w" not in case.target.schema.names]
    assert smaller
    for case in smaller:
        assert case.target.layout.added_columns == ("v",)
        assert parse_cases(dump_case(case), name="test", lines=False) == (case,)
