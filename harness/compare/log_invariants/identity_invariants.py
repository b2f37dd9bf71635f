"""Invariants about values that identity columns generate, which no reference can know (R-226)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.cell_identity import row_identity
from mergecheck.harness.compare.rows import in_columns_of, rows_without
from mergecheck.model.case_file import change_schema

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mergecheck.model.case import Row, Value
    from mergecheck.model.outcome import GeneratedIds, Outcome, Prediction
    from mergecheck.model.types.data_types import Identity, Schema


@dataclass(frozen=True, slots=True)
class SettledIds:
    """A prediction with the values that an engine generated.

    Attributes:
        prediction: as it was, but with the engine's values where the reference's are examples.
        faults: the rules that the values, or the new high-water marks, break.
    """

    prediction: Prediction
    faults: tuple[str, ...] = ()


def settle_ids(prediction: Prediction, outcome: Outcome) -> SettledIds:
    """Take over the values that an engine generated, and judge them.

    Each row with such values takes them from a row of the engine. That row has the same values in all other columns,
    and it matches no other row of the prediction. If several do, any of them will do: they are alike.

    Args:
        prediction: the reference's prediction.
        outcome: the observables that the engine showed.
    """
    ids = prediction.generated_ids
    if ids is None or len(prediction.schema.columns) != len(outcome.schema.columns):
        return SettledIds(prediction)
    found, _ = in_columns_of(prediction.schema, outcome.rows, outcome.schema)
    settled = _settled(prediction, ids, found)
    rows = (*rows_without(prediction.rows, ids.rows, prediction.schema), *settled)
    cdf = prediction.cdf
    if cdf is not None:
        examples, shown = ([(*row, "insert") for row in inserted] for inserted in (ids.rows, settled))
        cdf = (*rows_without(cdf, examples, change_schema(prediction.schema)), *shown)
    faults = (
        fault
        for position in ids.columns
        for fault in _faults(position, settled, prediction=prediction, ids=ids, outcome=outcome)
    )
    ids = replace(ids, rows=tuple(settled))
    return SettledIds(replace(prediction, rows=rows, cdf=cdf, generated_ids=ids), tuple(faults))


def _settled(prediction: Prediction, ids: GeneratedIds, found: Sequence[Row]) -> list[Row]:
    """Give each row with generated values the engine's; one that the engine does not have stays as it is."""
    schema = prediction.schema
    known = rows_without(prediction.rows, ids.rows, schema)
    free: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows_without(found, known, schema):
        free[identity_without(row, ids.columns, schema)].append(row)
    return [
        candidates.pop() if (candidates := free[identity_without(row, ids.columns, schema)]) else row
        for row in ids.rows
    ]


def identity_without(row: Row, left_out: Sequence[int], schema: Schema) -> Hashable:
    """Identify a row without the values of some columns; two rows are alike there if the results are equal."""
    bare = tuple(None if place in left_out else value for place, value in enumerate(row))
    return row_identity(bare, schema)


def _faults(
    position: int, settled: Sequence[Row], *, prediction: Prediction, ids: GeneratedIds, outcome: Outcome
) -> Iterator[str]:
    """Judge one column's values, and where its mark is afterwards."""
    column = prediction.schema.columns[position]
    identity = column.identity
    assert identity is not None, "only identity columns come here"  # noqa: S101 - for mypy
    values = [row[position] for row in settled]
    yield from (f"{column.name}: {fault}" for fault in _value_faults(identity, values))
    kept = next((c.identity for c in outcome.schema.columns if c.name == column.name), None)
    if kept is None:
        return  # that the column is none any more is a difference of schemas
    written = [*values, *(row[position] for row in ids.written)]
    marks = {next_mark(identity, written), next_mark(identity, [*written, *(r[position] for r in ids.old_images)])}
    if kept.mark not in marks:
        wanted = " or ".join(sorted(map(_mark, marks)))
        yield f"{column.name}: the high-water mark is {_mark(kept.mark)}, but the values written make it {wanted}"


def _value_faults(identity: Identity, values: Sequence[Value]) -> Iterator[str]:
    for value, count in Counter(values).items():
        if value is None:
            yield "a value was to be generated, but it is NULL"
            continue
        if count > 1:
            yield f"{value} was generated {count} times"
        if (value - identity.start) % identity.step:
            yield f"{value} was generated, but it is not {identity.start} plus a multiple of {identity.step}"
        if _beyond(identity.first, value, identity):
            yield f"{value} was generated, but the next value was {identity.first}"


def next_mark(identity: Identity, written: Sequence[Value]) -> int | None:
    """Return the mark after values were written: at the furthest of them, or the next of the sequence."""
    values = [value for value in written if value is not None]
    if not values:
        return identity.mark
    furthest = max(values) if identity.step > 0 else min(values)
    old = identity.mark
    is_old_bad = old is not None and _beyond(identity.start, old, identity)
    if _beyond(identity.start, furthest, identity) and not is_old_bad:
        return old
    rounded = furthest + -(furthest - identity.start) % identity.step
    return rounded if old is None or _beyond(rounded, old, identity) else old


def _beyond(left: int, right: int, identity: Identity) -> bool:
    """Return whether a value comes after another one in the direction of the step."""
    return left > right if identity.step > 0 else left < right


def _mark(mark: int | None) -> str:
    return "absent" if mark is None else str(mark)
