"""The rows of both tables: the target file by file, the source around the target's keys (techniques T23)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from mergecheck.strategies.choices.chance import chance, pick, throws
from mergecheck.strategies.choices.features import DEFAULT_PROFILE, Feature, Profile, draw_features
from mergecheck.strategies.choices.options import draw_options
from mergecheck.strategies.syntax.columns import Column, Schemas
from mergecheck.strategies.syntax.truth import evaluator, places
from mergecheck.strategies.tables.cells import cells_of
from mergecheck.strategies.tables.constraints import keeping_checks, with_computed
from mergecheck.strategies.tables.domains import rescaled
from mergecheck.strategies.tables.layouts import draw_older_files
from mergecheck.strategies.tables.schemas import draw_schemas
from mergecheck.strategies.tables.source_keys import num_key_faces, origins, source_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from mergecheck.reference.case.model import Row, Value
    from mergecheck.strategies.choices.options import Options

_KEY_SPANS = (4, 8, 24)
_NOT_EMPTY_PERCENT = 96
_REPEATED_ROW_PERCENT = 50
_FEW_ROWS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The rows of both tables; every file holds rows of one tuple of partition values and is not empty.

    Attributes:
        added_columns: target columns that some files are too old to have; they hold nothing but NULL there.
    """

    files: tuple[tuple[Row, ...], ...]
    source: tuple[Row, ...]
    added_columns: tuple[str, ...] = ()

    @property
    def target(self) -> tuple[Row, ...]:
        """The target's rows in file order."""
        return tuple(row for file in self.files for row in file)


def visible_source(schemas: Schemas, tables: Tables) -> tuple[Row, ...]:
    """Return the source's rows as the statement sees them; of a self-merge the target's own, or some of them."""
    if not schemas.self_merge:
        return tables.source
    if schemas.self_filter is None:
        return tables.target
    holds = evaluator(schemas.self_filter, places((), schemas.source))
    return tuple(row for row in tables.target if holds((), row) is True)


def draw_tables(draw: DrawFn, features: frozenset[Feature], schemas: Schemas, profile: Profile) -> Tables:
    """Draw the rows of both tables; a self-merge has no source rows of its own."""
    span = pick(draw, _KEY_SPANS)
    drawn_files = _draw_files(draw, features, schemas, profile, span)
    if Feature.KEY_RANGES in features:
        drawn_files = _by_key(drawn_files, _place(schemas.target, schemas.keys[0][0]))
    files, added_columns = draw_older_files(draw, features, schemas, drawn_files)
    files = _kept(files, schemas)
    if Feature.DUPLICATE_TARGET_ROWS not in features:
        files = _without_repeated_keys(files, [_place(schemas.target, name) for name, _ in schemas.keys])
    if schemas.self_merge:
        return Tables(files=files, source=(), added_columns=added_columns)
    target = tuple(row for file in files for row in file)
    # more keys would fall into the range of every file
    max_rows = min(_FEW_ROWS, profile.max_rows) if Feature.KEY_RANGES in features else profile.max_rows
    source = _draw_source(draw, features, schemas, target=target, span=span, max_rows=max_rows)
    return Tables(files=files, source=with_computed(source, schemas.source), added_columns=added_columns)


def _kept(files: tuple[tuple[Row, ...], ...], schemas: Schemas) -> tuple[tuple[Row, ...], ...]:
    """Compute generated columns, and keep the rows that the table's constraints allow."""
    kept = (keeping_checks(with_computed(file, schemas.target), schemas) for file in files)
    return tuple(file for file in kept if file)


def _by_key(files: tuple[tuple[Row, ...], ...], place: int) -> tuple[tuple[Row, ...], ...]:
    """Deal the rows out anew in the order of a key, so that every file holds a range of keys; NULL comes last."""
    rows = iter(sorted(chain(*files), key=lambda row: (row[place] is None, row[place] or 0)))
    return tuple(tuple(islice(rows, len(file))) for file in files)


def _draw_files(
    draw: DrawFn, features: frozenset[Feature], schemas: Schemas, profile: Profile, span: int
) -> tuple[tuple[Row, ...], ...]:
    if Feature.EMPTY_TARGET in features:
        return ()
    cells = [cells_of(column, features, schemas, span) for column in schemas.target]
    partition = [_place(schemas.target, name) for name in schemas.partition_by]
    max_files = profile.max_files if Feature.SEVERAL_FILES in features else 1
    # one file may be as large as the whole table, several share the allowance
    max_rows = max(1, profile.max_rows // max_files)
    repeated = _REPEATED_ROW_PERCENT if Feature.DUPLICATE_TARGET_ROWS in features else 0
    file = _file(
        fixed={place: cells[place] for place in partition},
        # made once for all files: putting a strategy together takes longer than drawing a row
        rows=st.lists(_row(_without(cells, partition)), min_size=1, max_size=max_rows),
        max_rows=max_rows,
        repeated_row_percent=repeated,
    )
    least = int(chance(draw, _NOT_EMPTY_PERCENT))
    if Feature.KEY_RANGES in features:
        least = min(2, max_files)
    return tuple(draw(st.lists(file, min_size=least, max_size=max_files)))


def _without(cells: Sequence[Options], places: Sequence[int]) -> tuple[Options, ...]:
    return tuple(column for place, column in enumerate(cells) if place not in places)


@st.composite
def _row(draw: DrawFn, cells: tuple[Options, ...]) -> Row:
    return draw_options(draw, cells, throws(draw, len(cells)))


@st.composite
def _file(
    draw: DrawFn,
    *,
    fixed: dict[int, Options],
    rows: SearchStrategy[list[Row]],
    max_rows: int,
    repeated_row_percent: float,
) -> tuple[Row, ...]:
    shared = tuple(fixed.values())
    values = dict(zip(fixed, draw_options(draw, shared, throws(draw, len(shared))), strict=True))
    drawn = tuple(_completed(row, values) for row in draw(rows))
    # equal rows are rows of their own; drawing one anew would hardly ever give the same again
    if chance(draw, repeated_row_percent) and len(drawn) < max_rows:
        return (*drawn, pick(draw, drawn))
    return drawn


def _completed(row: Row, given: Mapping[int, Value]) -> Row:
    """Put cells that are known, by their places in the whole row, between those of ``row``."""
    others = iter(row)
    return tuple(given[place] if place in given else next(others) for place in range(len(row) + len(given)))


def _without_repeated_keys(files: tuple[tuple[Row, ...], ...], places: list[int]) -> tuple[tuple[Row, ...], ...]:
    seen: set[tuple[str, ...]] = set()
    kept = []
    for file in files:
        rows = tuple(row for row in file if not _seen(row, places, seen))
        if rows:
            kept.append(rows)
    return tuple(kept)


def _seen(row: Row, places: Iterable[int], seen: set[tuple[str, ...]]) -> bool:
    """Tell whether a key came before, and remember it. -0.0 and 0.0 are one key, NULLs match nothing."""
    key = tuple(repr(0.0 if row[place] == 0 else row[place]) for place in places)
    if any(row[place] is None for place in places):
        return False
    if key in seen:
        return True
    seen.add(key)
    return False


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
    cells = [cells_of(column, features, _as_source(schemas), span) for column in schemas.source]
    places = [_place(schemas.source, column.name) for column in columns]
    key = partial(source_key, present=present, columns=columns, span=span, origins=origins(features))
    row = _source_row(cells=_without(cells, places), places=places, key=key)
    # a key is not repeated in fewer than two rows
    wanted = min(2, max_rows) if Feature.DUPLICATE_SOURCE_KEYS in features else 1
    least = wanted if chance(draw, _NOT_EMPTY_PERCENT) else 0
    rows = tuple(draw(st.lists(row, min_size=least, max_size=max_rows)))
    if Feature.DUPLICATE_SOURCE_KEYS in features:
        return rows
    seen: set[tuple[str, ...]] = set()
    return tuple(row for row in rows if not _seen(row, places, seen))


def _as_source(schemas: Schemas) -> Schemas:
    """Name the source's partition namesakes, so that their cells fit partitions too."""
    names = dict(schemas.namesakes)
    return Schemas(
        target=schemas.source,
        source=schemas.source,
        keys=tuple((source, source) for _, source in schemas.keys),
        namesakes=(),
        partition_by=tuple(names[name] for name in schemas.partition_by if name in names),
    )


@st.composite
def _source_row(draw: DrawFn, *, cells: tuple[Options, ...], places: list[int], key: Callable[[bytes], Row]) -> Row:
    """Draw a row; its key is at ``places``, and its numbers come first."""
    of_key = num_key_faces(places)
    faces = throws(draw, of_key + len(cells))
    return _completed(draw_options(draw, cells, faces[of_key:]), dict(zip(places, key(faces[:of_key]), strict=True)))


def _place(columns: tuple[Column, ...], name: str) -> int:
    return next(place for place, column in enumerate(columns) if column.name == name)


@st.composite
def tables(draw: DrawFn, *, profile: Profile = DEFAULT_PROFILE) -> tuple[Schemas, Tables]:
    """Draw the columns and the rows of a target and a source."""
    features = draw_features(draw, profile)
    drawn = draw_schemas(draw, features)
    return drawn, draw_tables(draw, features, drawn, profile)
