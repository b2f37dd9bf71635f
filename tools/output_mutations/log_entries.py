"""Mutations of a merge's entries in the log, and of the command's result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.table_outcome import LoggedAction, TableOutcome
from mergecheck.model.outcome import Prediction
from mergecheck.model.table_properties import IN_COMMIT_TIMESTAMPS, is_on
from tools.output_mutations.commit_infos import other_commit_infos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.model.outcome import Outcome
    from tools.output_mutations.answered import Answered

_FILE_METRICS = (
    "numTargetFilesAdded",
    "numTargetFilesRemoved",
    "numTargetBytesAdded",
    "numTargetBytesRemoved",
    "numTargetChangeFilesAdded",
)


def file_metrics_changed(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    """Change metrics of files that the reference bounds only: the log has them exactly (P-10)."""
    record = _record(outcome)
    for name in _FILE_METRICS:
        if record is not None and record.actions and name in outcome.metrics:
            for value in (outcome.metrics[name] + 1, 10**15):
                yield replace(outcome, metrics={**outcome.metrics, name: value})


def times_changed(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    """Make a part longer than the whole, or negative (R-542)."""
    whole = outcome.metrics.get("executionTimeMs")
    for name in ("scanTimeMs", "rewriteTimeMs"):
        if whole is not None and outcome.metrics.get(name):
            yield replace(outcome, metrics={**outcome.metrics, name: whole + 2})
            yield replace(outcome, metrics={**outcome.metrics, name: -1})


def definition_changed(outcome: Outcome, _: Answered) -> Iterator[Outcome]:
    """Change, remove and add entries about the table in the log (R-704)."""
    record = _record(outcome)
    if record is None:
        return
    for name, text in record.definition.items():
        yield _with_record(outcome, replace(record, definition={**record.definition, name: f"{text}~"}))
        kept = {other: value for other, value in record.definition.items() if other != name}
        yield _with_record(outcome, replace(record, definition=kept))
    for name in ("property delta.appendOnly", "comment of column other"):
        yield _with_record(outcome, replace(record, definition={**record.definition, name: "~"}))


def actions_changed(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    """Change the commit's actions and their flags (R-701 to R-704), and the number of commits (R-730)."""
    record = _record(outcome)
    if record is None or not record.actions:
        return
    yield _with_record(outcome, replace(record, num_commits=2))
    is_ordered = is_on(given.case.target.properties, IN_COMMIT_TIMESTAMPS)  # else any order is right
    if is_ordered and (turned := record.actions[::-1]) != record.actions:
        yield _with_record(outcome, replace(record, actions=turned))
    for kind in ("metaData", "protocol"):
        yield _with_record(outcome, replace(record, actions=(*record.actions, *[LoggedAction(kind=kind)] * 2)))
    for place, action in enumerate(record.actions):
        if action.data_change is not None:
            for flag in (not action.data_change, None):
                other = replace(action, data_change=flag)
                actions = (*record.actions[:place], other, *record.actions[place + 1 :])
                yield _with_record(outcome, replace(record, actions=actions))


def commit_info_changed(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    """Change every entry of ``commitInfo`` that the engine is held against."""
    record, answer = _record(outcome), given.reference.answer
    if record is None or not record.num_commits or not isinstance(answer, Prediction) or answer.commit_info is None:
        return
    names = given.capabilities.commit_info
    for name in answer.commit_info:
        if names is None or name in names:
            for info in other_commit_infos(record.info, name):
                yield _with_record(outcome, replace(record, info=info))


def result_row_changed(outcome: Outcome, given: Answered) -> Iterator[Outcome]:
    """Change, lose and reorder the columns of the command's row (R-110)."""
    row = outcome.result_row
    if row is None or not isinstance(given.reference.answer, Prediction):
        return
    for name, value in row.items():
        yield replace(outcome, result_row={**row, name: value + 1})
        yield replace(outcome, result_row={other: row[other] for other in row if other != name})
    yield replace(outcome, result_row={name: row[name] for name in reversed(list(row))})


def _record(outcome: Outcome) -> CommitRecord | None:
    return outcome.record if isinstance(outcome, TableOutcome) else None


def _with_record(outcome: Outcome, record: CommitRecord) -> Outcome:
    assert isinstance(outcome, TableOutcome)  # noqa: S101 - for mypy: it has a record
    return replace(outcome, record=record)
