"""Repairs of rows and change rows: each known wrong row that an engine gives instead of the right one is exchanged."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import cell_identity, row_identity
from mergecheck.harness.compare.evolution import row_converter
from mergecheck.harness.compare.rows import rows_without
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.types.data_types import DOUBLE, FLOAT, STRING, Schema, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.types.data_types import DataType, Field
    from mergecheck.reference.trace import Effects, Matches, Trace

_OLD = "update_preimage"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A merge that should succeed and did; both sides have the same columns."""

    wanted: Prediction
    found: Outcome
    trace: Trace
    matches: Matches
    effects: Effects


def sides_of(now: Judged) -> Sides | None:
    """Return both answers and the reference's trace; None if an answer is an error, or the columns differ."""
    wanted, found, trace = now.reference.answer, now.result, now.reference.trace
    if not isinstance(wanted, Prediction) or not isinstance(found, Outcome):
        return None
    if trace.matches is None or trace.effects is None or wanted.schema.names != found.schema.names:
        return None
    return Sides(wanted=wanted, found=found, trace=trace, matches=trace.matches, effects=trace.effects)


def exchanged(
    found: Sequence[Row], wanted: Sequence[Row], pairs: Iterable[tuple[Row, Row]], schema: Schema
) -> tuple[Row, ...] | None:
    """Put the right row in the place of each wrong one that is there instead of it.

    Args:
        found: the engine's rows.
        wanted: the right ones.
        pairs: (wrong, right), once for each time that it may happen.
        schema: columns of all of them.

    Returns:
        None if no wrong row is there.
    """

    def key(row: Row) -> Hashable:
        return row_identity(row, schema)

    surplus = Counter(map(key, found))
    surplus.subtract(map(key, wanted))
    gone: Counter[Hashable] = Counter()
    come: list[Row] = []
    for wrong, right in pairs:
        if surplus[key(wrong)] > 0 > surplus[key(right)]:
            surplus[key(wrong)] -= 1
            surplus[key(right)] += 1
            gone[key(wrong)] += 1
            come.append(right)
    if not come:
        return None
    kept = []
    for row in found:
        if gone[key(row)]:
            gone[key(row)] -= 1
        else:
            kept.append(row)
    return (*kept, *come)


def _with_exchanged(
    now: Judged, sides: Sides, rows: Iterable[tuple[Row, Row]], changes: Iterable[tuple[Row, Row]]
) -> Judged | None:
    found, wanted = sides.found, sides.wanted
    table = exchanged(found.rows, wanted.rows, rows, wanted.schema)
    feed = None
    if found.cdf is not None and wanted.cdf is not None:
        feed = exchanged(found.cdf, wanted.cdf, changes, change_schema(wanted.schema))
    if table is None and feed is None:
        return None
    return replace(now, result=replace(found, rows=table or found.rows, cdf=feed or found.cdf))


def _kept_if_equal(old: Value, new: Value, data_type: DataType) -> Value:
    """Give the old value if the new one is equal but for the sign of zeros; of a struct, field by field."""
    if isinstance(data_type, StructType) and old is not None and new is not None:
        fields = zip(old, new, data_type.fields, strict=True)
        return tuple(_kept_if_equal(before, after, field.type) for before, after, field in fields)
    same = cell_identity(unsigned(old, data_type), data_type) == cell_identity(unsigned(new, data_type), data_type)
    return old if same else new


def _equal_values_kept(now: Judged) -> Judged | None:
    """A cell, or a field of a struct, keeps its old value if the new one is equal but for the sign of zeros."""
    sides = sides_of(now)
    if sides is None:
        return None
    columns = sides.wanted.schema.columns

    def kept(old: Row, new: Row) -> Row:
        return tuple(_kept_if_equal(a, b, column.type) for a, b, column in zip(old, new, columns, strict=True))

    effects = sides.effects
    updates = [(effects.old[rid], new, kept(effects.old[rid], new)) for rid, new in effects.updated.items()]
    # The feed shows as a pre-image what RETURNING gave and the table does not hold.
    images = [((*new, _OLD), (*old, _OLD)) for old, new, _ in updates]
    after = _with_exchanged(now, sides, [(own, new) for _, new, own in updates], images)
    if after is None or not isinstance(after.result, Outcome) or after.result.cdf is None:
        return after

    def key(row: Row) -> Hashable:  # -0.0 == 0.0
        return row_identity(row, sides.wanted.schema)

    surplus = [(*new, _OLD) for old, new, own in updates if key(own) not in (key(old), key(new))]
    feed = after.result.cdf
    while surplus and len(feed) > len(sides.wanted.cdf or ()):
        feed = without(feed, [surplus.pop()], change_schema(sides.wanted.schema)) or feed
    return replace(after, result=replace(after.result, cdf=feed))


def unsigned(value: Value, data_type: DataType) -> Value:
    """Give a value without the sign of zeros; of a struct, field by field."""
    if value is None:
        return None
    if isinstance(data_type, StructType):
        return tuple(unsigned(part, field.type) for part, field in zip(value, data_type.fields, strict=True))
    return 0.0 if data_type in (FLOAT, DOUBLE) and value == 0 else value


def _filled_from_source(*chosen: Callable[[Judged], set[str]]) -> Callable[[Judged], Judged | None]:
    """Fill columns from the source in every row that has a source row, in change rows too; some sets or all at once."""

    def apply(now: Judged) -> Judged | None:
        sides = sides_of(now)
        if sides is None or sides.trace.source is None:
            return None
        rows, changes = [], []
        for choose in chosen:
            names = choose(now)
            if _known_places(names, sides):
                images = list(_images_filled(names, sides))
                rows += [(wrong, right) for wrong, right, change in images if change not in (_OLD, "delete")]
                changes += [((*wrong, change), (*right, change)) for wrong, right, change in images if change]
        return _with_exchanged(now, sides, rows, changes) if rows or changes else None

    return apply


def _images_filled(names: set[str], sides: Sides) -> Iterator[tuple[Row, Row, str | None]]:
    """Give every row that has a source row with columns of it filled in, as it should be, and its change type."""
    effects, filled = sides.effects, filler(names, sides)
    for sid, row in effects.inserted.items():
        yield filled(row, sid), row, "insert"
    for sid, rid in sides.matches.pairs:
        old, new = effects.old[rid], effects.updated.get(rid)
        if new is not None:
            yield filled(new, sid), new, "update_postimage"
            yield filled(old, sid), old, _OLD
        elif rid in effects.deleted:
            yield filled(old, sid), old, "delete"
        else:
            yield filled(old, sid), old, None


def filler(names: set[str], sides: Sides) -> Callable[[Row, int], Row]:
    """Make a function that fills columns of a row from the source row of a number."""
    source, places = sides.trace.source, _known_places(names, sides)

    def filled(row: Row, sid: int) -> Row:
        cells = list(row)
        for place, given, convert in places:
            assert source is not None, "there are places then"  # noqa: S101 - tells mypy
            cells[place] = convert(source.rows[sid][given])
        return tuple(cells)

    return filled


def _known_places(names: set[str], sides: Sides) -> list[tuple[int, int, Callable[[Value], Value]]]:
    """Find columns in the table and in the source, and how a value of one becomes a value of the other."""
    source = sides.trace.source
    if source is None:
        return []
    of_source = {name.lower(): place for place, name in enumerate(source.schema.names)}
    found = []
    for place, column in enumerate(sides.wanted.schema.columns):
        given = of_source.get(column.name.lower())
        convert = None if given is None else _cell_converter(source.schema.columns[given], column)
        if column.name.lower() in names and given is not None and convert is not None:
            found.append((place, given, convert))
    return found


def _cell_converter(given: Field, wanted: Field) -> Callable[[Value], Value] | None:
    convert = row_converter(Schema((replace(given, name="c"),)), Schema((replace(wanted, name="c"),)))
    return None if convert is None else lambda value: convert((value,))[0]


def added_columns(now: Judged) -> set[str]:
    """Name the columns that the merge adds, in lower case."""
    answer = now.reference.answer
    after = answer.schema.names if isinstance(answer, Prediction) else ()
    return {name.lower() for name in after} - {name.lower() for name in now.given.target.schema.names}


def forgotten_not_null(now: Judged) -> set[str]:
    """Name the columns whose NOT NULL the engine has dropped: they count as new."""
    found = now.result.schema.columns if isinstance(now.result, Outcome) else ()
    nullable = {column.name for column in found if column.nullable}
    return {c.name.lower() for c in now.given.target.schema.columns if not c.nullable and c.name in nullable}


def _partition_text(now: Judged) -> Judged | None:
    """The feed shows the empty string for a partition's NULL."""
    found, target = now.result, now.case.target
    if not isinstance(found, Outcome) or found.cdf is None:
        return None
    columns = found.schema.columns
    places = {i for i, column in enumerate(columns) if column.name in target.partition_by and column.type == STRING}
    feed = tuple(tuple(None if i in places and cell == "" else cell for i, cell in enumerate(row)) for row in found.cdf)
    return None if feed == found.cdf else replace(now, result=replace(found, cdf=feed))


def partitions_of(rows: Iterable[Row], schema: Schema, partition_by: Collection[str]) -> set[Hashable]:
    """Name the partitions that hold rows, by the values of the columns that partition the table."""
    places = [place for place, column in enumerate(schema.columns) if column.name in partition_by]
    columns = Schema(tuple(schema.columns[place] for place in places))
    return {row_identity(tuple(row[place] for place in places), columns) for row in rows}


def without(rows: Sequence[Row], taken: Sequence[Row], schema: Schema) -> tuple[Row, ...] | None:
    """Take rows away; None if one is not there."""
    kept = rows_without(rows, taken, schema)
    return tuple(kept) if len(kept) + len(taken) == len(rows) else None


BUG_MODELS = (
    BugModel(
        name="a cell keeps its value if the new one differs in the sign of zeros only",
        phase=Phase.REPAIR,
        apply=_equal_values_kept,
    ),
    BugModel(
        name="added columns are filled from the source", phase=Phase.REPAIR, apply=_filled_from_source(added_columns)
    ),
    BugModel(
        name="NOT NULL columns are filled from the source",
        phase=Phase.REPAIR,
        apply=_filled_from_source(forgotten_not_null, lambda now: forgotten_not_null(now) | added_columns(now)),
    ),
    BugModel(
        name="the change feed has the empty string for a partition's NULL", phase=Phase.REPAIR, apply=_partition_text
    ),
)
