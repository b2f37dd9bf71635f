"""How the tables are stored: row groups, statistics, files older than a column, Arrow types of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.model.storage import SourceLayout, Statistics, StringType, TargetLayout
from mergecheck.strategies.choices import chance, draw_some
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import uses

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

    from mergecheck.model.case import Row
    from mergecheck.strategies.profile import Profile
    from mergecheck.strategies.syntax.columns import Schemas

_FEW_ROWS = st.sampled_from((2, 1, 3))
# where row groups are wanted: some of their rows can change and others stay
_ROWS_OF_ROW_GROUPS = st.sampled_from((2, 3))
_STRING_TYPES = st.sampled_from((StringType.LARGE_STRING, StringType.STRING_VIEW, StringType.DICTIONARY))
_STATISTICS = st.sampled_from((Statistics.NONE, Statistics.ALTERNATE, Statistics.COUNTS))
# more rows are cut into a few parts
_MANY_ROWS = 100
_PARTS = st.sampled_from((4, 3, 7))


def draw_older_files(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, files: tuple[tuple[Row, ...], ...]
) -> tuple[tuple[tuple[Row, ...], ...], tuple[str, ...]]:
    """Draw columns that were added after some files had been written.

    Returns the files, with NULL in these columns of the older ones, and the names of the added columns.
    """
    keys = {name for name, _ in schemas.keys}
    free = [
        column.name
        for column in schemas.target
        if column.name not in keys and column.name not in schemas.partition_by
        if not column.required and column.computed is None
    ]
    if not free or not files or not uses(draw, features, Feature.OLDER_FILES):
        return files, ()
    added = draw_some(draw, free, percent=40)
    places = {place for place, column in enumerate(schemas.target) if column.name in added}
    # the first file is the oldest one
    old = [place == 0 or chance(draw, 60) for place in range(len(files))]
    return tuple(
        tuple(tuple(None if place in places else cell for place, cell in enumerate(row)) for row in file)
        if is_old
        else file
        for is_old, file in zip(old, files, strict=True)
    ), added


def draw_target_layout(
    draw: DrawFn,
    features: frozenset[Feature],
    *,
    added_columns: tuple[str, ...],
    num_rows: int,
    profile: Profile,
) -> TargetLayout:
    """Draw how the target's files are written, the largest of which has ``num_rows``.

    A large file has row groups of as many rows as the boundary of the profile, if that has one.
    """
    is_wanted = profile.favours(Feature.ROW_GROUPS)
    has_row_groups = uses(draw, features, Feature.ROW_GROUPS, percent=100 if is_wanted else 85)
    few = _ROWS_OF_ROW_GROUPS if is_wanted else _FEW_ROWS
    return TargetLayout(
        row_group_rows=_rows_per_part(draw, num_rows, profile.boundary, few) if has_row_groups else None,
        string_type=_string_type(draw, features),
        statistics=draw(_STATISTICS) if uses(draw, features, Feature.NO_STATISTICS) else Statistics.ALL,
        added_columns=added_columns,
    )


def draw_source_layout(
    draw: DrawFn, features: frozenset[Feature], *, num_rows: int, boundary: int | None = None
) -> SourceLayout:
    """Draw how the source's rows are handed to an engine; a large one in batches of ``boundary`` rows, if given."""
    has_batches = uses(draw, features, Feature.SOURCE_BATCHES)
    return SourceLayout(
        batch_rows=_rows_per_part(draw, num_rows, boundary, _FEW_ROWS) if has_batches else None,
        string_type=_string_type(draw, features),
    )


def _string_type(draw: DrawFn, features: frozenset[Feature]) -> StringType:
    return draw(_STRING_TYPES) if uses(draw, features, Feature.STRING_TYPES, percent=70) else StringType.STRING


def _rows_per_part(draw: DrawFn, num_rows: int, boundary: int | None, few: st.SearchStrategy[int]) -> int:
    if boundary is not None and num_rows >= boundary - 1:
        return boundary
    return -(-num_rows // draw(_PARTS)) if num_rows > _MANY_ROWS else draw(few)
