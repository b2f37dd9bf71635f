"""The rows of both tables: the target file by file, the source around the target's keys."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices import chance
from mergecheck.strategies.features import Feature
from mergecheck.strategies.profile import DEFAULT_PROFILE, Profile, feature_sets
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.table.cells import cells, source_keys
from mergecheck.strategies.table.constraints import keeping_checks, with_computed
from mergecheck.strategies.table.domains import rescaled
from mergecheck.strategies.table.layouts import draw_older_files
from mergecheck.strategies.table.schemas import draw_schemas

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.model.case import Row, Value
    from mergecheck.strategies.syntax.columns import Column, Schemas

_KEY_SPANS = st.sampled_from((4, 8, 24))
_NOT_EMPTY_PERCENT = 96
_FEW_ROWS = 3
# where row groups are wanted, fewer files, which have rows for several
_FILES_OF_ROW_GROUPS, _ROWS_OF_ROW_GROUPS = 2, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The rows of both tables; every file holds rows of one tuple of partition values and is not empty.

    Attributes:
        files: the target's rows by file.
        source: the source's rows as the statement sees them; none of a self-merge.
        added_columns: target columns that some files are too old to have; these files hold NULL in them.
    """

    files: tuple[tuple[Row, ...], ...]
    source: tuple[Row, ...]
    added_columns: tuple[str, ...] = ()

    @property
    def target(self) -> tuple[Row, ...]:
        """The target's rows in file order."""
        return tuple(row for file in self.files for row in file)


def visible_source(schemas: Schemas, tables: Tables) -> tuple[Row, ...]:
    """Return the source's rows as the statement sees them; of a self-merge all or some of the target's rows."""
    if not schemas.self_merge:
        return tables.source
    if schemas.self_filter is None:
        return tables.target
    holds = evaluator(schemas.self_filter, places((), schemas.source))
    return tuple(row for row in tables.target if holds((), row) is True)


def draw_tables(draw: DrawFn, features: frozenset[Feature], schemas: Schemas, profile: Profile) -> Tables:
    """Draw the rows of both tables; they shrink to one row of the simplest values, or none.

    The keys of source rows are mostly keys of the target.
    """
    span = draw(_KEY_SPANS)
    keys = [_place(schemas.target, name) for name, _ in schemas.keys]
    files = _draw_files(draw, features, schemas, profile, span)
    if Feature.KEY_RANGES in features:
        files = _by_key(files, keys[0])
    files, added_columns = draw_older_files(draw, features, schemas, files)
    # the rows that the table's own constraints allow
    kept = (keeping_checks(with_computed(file, schemas.target), schemas) for file in files)
    files = tuple(file for file in kept if file)
    if Feature.DUPLICATE_TARGET_ROWS not in features:
        files = _without_repeated_keys(files, keys)
    if schemas.self_merge:
        return Tables(files=files, source=(), added_columns=added_columns)
    # with more keys, some would fall into the range of every file
    max_rows = min(_FEW_ROWS, profile.max_rows) if Feature.KEY_RANGES in features else profile.max_rows
    target = tuple(chain(*files))
    source = _draw_source(draw, features, schemas, target=target, span=span, max_rows=max_rows)
    return Tables(files=files, source=with_computed(source, schemas.source), added_columns=added_columns)


def _by_key(files: tuple[tuple[Row, ...], ...], place: int) -> tuple[tuple[Row, ...], ...]:
    """Sort all rows by a key and deal them out again, so that every file holds a range of keys; NULL comes last."""
    rows = iter(sorted(chain(*files), key=lambda row: (row[place] is None, row[place] or 0)))
    return tuple(tuple(islice(rows, len(file))) for file in files)


def _draw_files(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, profile: Profile, span: int
) -> tuple[tuple[Row, ...], ...]:
    if Feature.EMPTY_TARGET in features:
        return ()
    keys = {name for name, _ in schemas.keys}
    by_place = {
        place: cells(
            column, features, is_key=column.name in keys, is_partition=column.name in schemas.partition_by, span=span
        )
        for place, column in enumerate(schemas.target)
    }
    partition = {
        place: by_place.pop(place) for place in (_place(schemas.target, name) for name in schemas.partition_by)
    }
    max_files = profile.max_files if Feature.SEVERAL_FILES in features else 1
    wants_row_groups = profile.favours(Feature.ROW_GROUPS) and Feature.ROW_GROUPS in features
    if wants_row_groups:
        max_files = min(max_files, _FILES_OF_ROW_GROUPS)
    # one file may be as large as the whole table, several share the allowance
    max_rows = max(1, profile.max_rows // max_files)
    min_rows = min(_ROWS_OF_ROW_GROUPS, max_rows) if wants_row_groups else 1
    file = _file_rows(
        partition,
        st.lists(st.tuples(*by_place.values()), min_size=min_rows, max_size=max_rows),
        max_rows=max_rows,
        repeated_row_percent=50 if Feature.DUPLICATE_TARGET_ROWS in features else 0,
    )
    min_files = int(chance(draw, _NOT_EMPTY_PERCENT))
    wants_files = profile.favours(Feature.SEVERAL_FILES) and Feature.SEVERAL_FILES in features
    if Feature.KEY_RANGES in features or wants_files:
        min_files = min(2, max_files)
    return tuple(draw(st.lists(file, min_size=min_files, max_size=max_files)))


@st.composite
def _file_rows(
    draw: DrawFn,
    partition: Mapping[int, SearchStrategy[Value]],
    others: SearchStrategy[list[Row]],
    *,
    max_rows: int,
    repeated_row_percent: float,
) -> tuple[Row, ...]:
    """Rows of one file, which share the cells of the partition columns, given by position; they shrink to one row.

    ``repeated_row_percent`` is how often one row comes twice (R-002): two rows drawn alone are hardly ever equal.
    """
    shared = {place: draw(values) for place, values in partition.items()}
    rows = tuple(_completed(row, shared) for row in draw(others))
    if chance(draw, repeated_row_percent) and len(rows) < max_rows:
        return (*rows, draw(st.sampled_from(rows)))
    return rows


def _completed(row: Sequence[Value], given: Mapping[int, Value]) -> Row:
    """Insert cells into ``row``, by their positions in the whole row."""
    others = iter(row)
    return tuple(given[place] if place in given else next(others) for place in range(len(row) + len(given)))


def _without_repeated_keys(files: tuple[tuple[Row, ...], ...], places: list[int]) -> tuple[tuple[Row, ...], ...]:
    seen: set[tuple[str, ...]] = set()
    kept = (tuple(row for row in file if _is_first(row, places, seen)) for file in files)
    return tuple(file for file in kept if file)


def _is_first(row: Row, places: Sequence[int], seen: set[tuple[str, ...]]) -> bool:
    """Return whether a key comes for the first time, and add it to ``seen``.

    -0.0 and 0.0 are one key. A key with a NULL equals no other.
    """
    if any(row[place] is None for place in places):
        return True
    key = tuple(repr(0.0 if row[place] == 0 else row[place]) for place in places)
    if key in seen:
        return False
    seen.add(key)
    return True


def _draw_source(
    draw: DrawFn,
    features: frozenset[Feature],
    schemas: Schemas,
    *,
    target: tuple[Row, ...],
    span: int,
    max_rows: int,
) -> tuple[Row, ...]:
    if Feature.EMPTY_SOURCE in features:
        return ()
    keys = tuple((_place(schemas.target, name), schemas.source_column(source)) for name, source in schemas.keys)
    present = tuple(tuple(rescaled(row[place], column.type) for place, column in keys) for row in target)
    columns = tuple(column for _, column in keys)
    places = [_place(schemas.source, column.name) for column in columns]
    in_partition = {source for name, source in schemas.namesakes if name in schemas.partition_by}
    others = [
        cells(column, features, is_key=False, is_partition=column.name in in_partition, span=span)
        for column in schemas.source
        if column not in columns
    ]
    row = st.tuples(source_keys(columns, features, present=present, span=span), *others)
    repeats = Feature.DUPLICATE_SOURCE_KEYS in features
    # a key is not repeated in fewer than two rows
    min_rows = min(2 if repeats else 1, max_rows) if chance(draw, _NOT_EMPTY_PERCENT) else 0
    drawn = draw(st.lists(row, min_size=min_rows, max_size=max_rows))
    rows = [_completed(rest, dict(zip(places, key, strict=True))) for key, *rest in drawn]
    seen: set[tuple[str, ...]] = set()
    return tuple(row for row in rows if repeats or _is_first(row, places, seen))


def _place(columns: tuple[Column, ...], name: str) -> int:
    return next(place for place, column in enumerate(columns) if column.name == name)


@st.composite
def tables(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> tuple[Schemas, Tables]:
    """Columns and rows of a target and a source."""
    features = draw(feature_sets(profile=profile))
    schemas = draw_schemas(draw, features)
    return schemas, draw_tables(draw, features, schemas, profile)
