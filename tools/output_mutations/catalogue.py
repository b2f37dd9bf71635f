"""The output mutations: faults that an engine's answer may have in addition to a known deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import MergePath, Outcome, Prediction, Rejection
from mergecheck.model.types.data_types import Schema
from tools.output_mutations.log_entries import (
    actions_changed,
    commit_info_changed,
    definition_changed,
    file_metrics_changed,
    result_row_changed,
    times_changed,
)
from tools.output_mutations.values import other_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.model.case import Row
    from tools.output_mutations.answered import Answered

Item = TypeVar("Item")
_COUNTS = ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_CHANGE_TYPES = ("insert", "update_preimage", "update_postimage", "delete")


@dataclass(frozen=True, slots=True)
class OutputMutation:
    """One way to spoil an answer.

    Attributes:
        name: for messages.
        spoiled: gives every answer that it makes of one; none if it does not apply.
    """

    name: str
    spoiled: Callable[[Answered], Iterator[Outcome | Rejection]]


def _of_outcome(
    spoil: Callable[[Outcome, Answered], Iterator[Outcome | Rejection]],
) -> Callable[[Answered], Iterator[Outcome | Rejection]]:
    def spoiled(given: Answered) -> Iterator[Outcome | Rejection]:
        if isinstance(given.result, Outcome):
            yield from spoil(given.result, given)

    return spoiled


def _of_rejection(
    spoil: Callable[[Rejection, Answered], Iterator[Outcome | Rejection]],
) -> Callable[[Answered], Iterator[Outcome | Rejection]]:
    def spoiled(given: Answered) -> Iterator[Outcome | Rejection]:
        if isinstance(given.result, Rejection):
            yield from spoil(given.result, given)

    return spoiled


def _without_one(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    for place in range(len(items)):
        yield (*items[:place], *items[place + 1 :])


def _with_one_twice(items: tuple[Item, ...]) -> Iterator[tuple[Item, ...]]:
    for item in items:
        yield (*items, item)


def _with_one_changed(rows: tuple[Row, ...], schema: Schema) -> Iterator[tuple[Row, ...]]:
    for place, row in enumerate(rows):
        for other in other_rows(row, schema):
            yield (*rows[:place], other, *rows[place + 1 :])


def _rows_lost(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    yield from (replace(outcome, rows=rows) for rows in _without_one(outcome.rows))


def _rows_doubled(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    yield from (replace(outcome, rows=rows) for rows in _with_one_twice(outcome.rows))


def _cells_changed(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    yield from (replace(outcome, rows=rows) for rows in _with_one_changed(outcome.rows, outcome.schema))


def _all_rows_lost(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    if len(outcome.rows) > 1:
        yield replace(outcome, rows=())


def _metric(change: Callable[[int], int]) -> Callable[[Outcome, Answered], Iterator[Outcome]]:
    """Change each metric that the engine is held against, if the new value is not allowed."""

    def spoiled(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
        answer, names = given.reference.answer, given.capabilities.metric_names
        bounds = answer.metrics if isinstance(answer, Prediction) else dict.fromkeys(_COUNTS)
        for name, bound in bounds.items():
            if name not in outcome.metrics or not (names is None or name in names):
                continue
            value = change(outcome.metrics[name])
            if value != outcome.metrics[name] and not (bound is not None and bound.allows(value)):
                yield replace(outcome, metrics={**outcome.metrics, name: value})

    return spoiled


def _commit_hidden(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    if outcome.committed is not None:
        yield replace(outcome, committed=not outcome.committed)


def _feed(
    spoil: Callable[[tuple[Row, ...], Schema], Iterator[tuple[Row, ...] | None]],
) -> Callable[[Outcome, Answered], Iterator[Outcome]]:
    def spoiled(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
        if outcome.cdf is not None and given.capabilities.cdf:
            yield from (replace(outcome, cdf=feed) for feed in spoil(outcome.cdf, change_schema(outcome.schema)))

    return spoiled


def _feed_empty(feed: tuple[Row, ...], _: Schema) -> Iterator[tuple[Row, ...] | None]:
    if len(feed) > 1:
        yield ()


def _feed_of_other_types(feed: tuple[Row, ...], _: Schema) -> Iterator[tuple[Row, ...]]:
    for place, row in enumerate(feed):
        for change_type in _CHANGE_TYPES:
            if change_type != row[-1]:
                yield (*feed[:place], (*row[:-1], change_type), *feed[place + 1 :])


def _feed_changed(feed: tuple[Row, ...], schema: Schema) -> Iterator[tuple[Row, ...]]:
    of_table = Schema(schema.columns[:-1])
    for place, row in enumerate(feed):
        for other in other_rows(row[:-1], of_table):
            yield (*feed[:place], (*other, row[-1]), *feed[place + 1 :])


def _nullability(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    if not given.capabilities.schema:
        return
    columns = outcome.schema.columns
    for place, column in enumerate(columns):
        flipped = replace(column, nullable=not column.nullable)
        yield replace(outcome, schema=Schema((*columns[:place], flipped, *columns[place + 1 :])))


def _column_renamed(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    if not given.capabilities.schema:
        return
    columns = outcome.schema.columns
    for place, column in enumerate(columns):
        renamed = replace(column, name=f"{column.name}~")
        yield replace(outcome, schema=Schema((*columns[:place], renamed, *columns[place + 1 :])))


def _column_lost(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    if not given.capabilities.schema or len(outcome.schema.columns) == 1:
        return
    feed = None if outcome.cdf is None else tuple((*row[:-2], row[-1]) for row in outcome.cdf)
    rows = tuple(row[:-1] for row in outcome.rows)
    yield replace(outcome, schema=Schema(outcome.schema.columns[:-1]), rows=rows, cdf=feed)


def _columns_turned(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    if not given.capabilities.schema or len(outcome.schema.columns) == 1:
        return
    feed = None if outcome.cdf is None else tuple((*row[-2::-1], row[-1]) for row in outcome.cdf)
    rows = tuple(row[::-1] for row in outcome.rows)
    yield replace(outcome, schema=Schema(outcome.schema.columns[::-1]), rows=rows, cdf=feed)


def _other_path(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    if outcome.path is not None:
        yield replace(outcome, path=MergePath.D if outcome.path is MergePath.E else MergePath.E)


def _files(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    if not isinstance(outcome, TableOutcome):
        return
    yield replace(outcome, num_records_added=outcome.num_records_added + 1)
    yield replace(outcome, num_records_removed=outcome.num_records_removed + 1)
    if outcome.num_files_added is not None:
        yield replace(outcome, num_files_added=outcome.num_files_added + 1)
    yield replace(outcome, members_not_null=(*outcome.members_not_null, "other.element"))
    for name in (*outcome.schema.names, "other"):
        fault = f"maxValues 5 of {name}, but the file holds 6"
        yield replace(outcome, file_faults=(*outcome.file_faults, fault))


def _refused(outcome: Outcome, given: Answered) -> Iterator[Rejection]:  # noqa: ARG001 - one signature for all
    yield Rejection(error_class="ANOTHER_ERROR", message="something else went wrong", unchanged=True)
    yield Rejection(error_class="CRASHED", message="the process died", unchanged=None)


def _another_class(rejection: Rejection, _: Answered) -> Iterator[Rejection]:
    yield replace(rejection, error_class="ANOTHER_ERROR")


def _another_message(rejection: Rejection, given: Answered) -> Iterator[Rejection]:
    if not given.capabilities.error_class:  # Delta's and Spark's classes identify the error, whatever the text is
        yield replace(rejection, message="something else went wrong")


def _crash(rejection: Rejection, _: Answered) -> Iterator[Rejection]:
    yield replace(rejection, error_class="CRASHED", message="the process died")


def _table_changed(rejection: Rejection, _: Answered) -> Iterator[Rejection]:
    if rejection.unchanged is True:
        yield replace(rejection, unchanged=False)


def _merged_wrongly(_: Rejection, given: Answered) -> Iterator[Outcome]:
    right = answered(given.reference.answer)
    if isinstance(right, Outcome):
        yield from (replace(right, rows=rows) for rows in _without_one(right.rows))
        yield from (replace(right, rows=rows) for rows in _with_one_changed(right.rows, right.schema))


OUTPUT_MUTATIONS = (
    OutputMutation("a row is lost", _of_outcome(_rows_lost)),
    OutputMutation("all rows are lost", _of_outcome(_all_rows_lost)),
    OutputMutation("a row is there twice", _of_outcome(_rows_doubled)),
    OutputMutation("a cell, or a field of a struct, holds another value", _of_outcome(_cells_changed)),
    OutputMutation("a metric is one too high", _of_outcome(_metric(lambda value: value + 1))),
    OutputMutation("a metric is 1000 too high", _of_outcome(_metric(lambda value: value + 1000))),
    OutputMutation("a metric is 0", _of_outcome(_metric(lambda _: 0))),
    OutputMutation("there is no commit, or one more", _of_outcome(_commit_hidden)),
    OutputMutation("the change feed is empty", _of_outcome(_feed(_feed_empty))),
    OutputMutation("there is no change feed", _of_outcome(_feed(lambda *_: iter([None])))),
    OutputMutation("a change row is lost", _of_outcome(_feed(lambda feed, _: _without_one(feed)))),
    OutputMutation("a change row is there twice", _of_outcome(_feed(lambda feed, _: _with_one_twice(feed)))),
    OutputMutation("a change row is of another type", _of_outcome(_feed(_feed_of_other_types))),
    OutputMutation("a cell of a change row holds another value", _of_outcome(_feed(_feed_changed))),
    OutputMutation("a column's NOT NULL is another", _of_outcome(_nullability)),
    OutputMutation("a column has another name", _of_outcome(_column_renamed)),
    OutputMutation("a column is lost", _of_outcome(_column_lost)),
    OutputMutation("the columns are in another order", _of_outcome(_columns_turned)),
    OutputMutation("the path is another", _of_outcome(_other_path)),
    OutputMutation("files, their rows or their statistics are others", _of_outcome(_files)),
    OutputMutation("bytes or files in the metrics are not those of the log", _of_outcome(file_metrics_changed)),
    OutputMutation("a part takes longer than the whole", _of_outcome(times_changed)),
    OutputMutation("the log says something else of the table", _of_outcome(definition_changed)),
    OutputMutation("the commit has other actions, or flags", _of_outcome(actions_changed)),
    OutputMutation("the commit says something else of itself", _of_outcome(commit_info_changed)),
    OutputMutation("the command returns another row", _of_outcome(result_row_changed)),
    OutputMutation("the merge is refused, or crashes", _of_outcome(_refused)),
    OutputMutation("the error is of another class", _of_rejection(_another_class)),
    OutputMutation("the error has another message", _of_rejection(_another_message)),
    OutputMutation("the merge crashes instead", _of_rejection(_crash)),
    OutputMutation("the refused merge changes the table", _of_rejection(_table_changed)),
    OutputMutation("the merge succeeds with wrong rows", _of_rejection(_merged_wrongly)),
)
"""All there are: a closed list."""
