"""Invariants about the log of a Delta table after a merge: nothing about the table changes but its schema (R-704).

They need no reference: only the log before and after the merge, and the metrics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.compare.log_invariants.mapping_invariants import MAX_COLUMN_ID, mapping_faults
from mergecheck.harness.compare.log_invariants.row_tracking_invariants import DOMAIN, file_id_faults
from mergecheck.harness.compare.log_invariants.widening_invariants import TYPE_CHANGES, widening_faults
from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.model.formatting import fit
from mergecheck.model.schema_json import IDENTITY_MARK
from mergecheck.model.table_properties import IN_COMMIT_TIMESTAMPS, is_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.compare.table_outcome import CommitRecord
    from mergecheck.model.case import Target
    from mergecheck.model.outcome import Outcome

AGAINST = "itself"
"""``Mismatch.against`` of these checks: the engine's answer contradicts itself."""

_MAX_SHOWN = 4
_DATA_CHANGE = {"add": True, "remove": True, "cdc": False}
_TIME_PARTS = ("materializeSourceTimeMs", "scanTimeMs", "rewriteTimeMs")


def broken_invariant(invariant: str, *lines: str, check: Check = Check.METRICS) -> Mismatch:
    """Describe a broken invariant."""
    return Mismatch(check=check, against=AGAINST, kind=invariant, lines=tuple(fit(line) for line in lines))


def time_invariants(metrics: Mapping[str, int]) -> Iterator[Mismatch]:
    """R-542: no time is negative, and the whole is at least each part; a part below 1 ms reports 1 (R-512)."""
    whole = metrics.get("executionTimeMs")
    for name in ("executionTimeMs", *_TIME_PARTS):
        value = metrics.get(name)
        if value is not None and value < 0:
            yield broken_invariant("R-542", f"{name} {value}, but no time is negative")
        elif None not in (value, whole) and value > max(whole, 1):  # type: ignore[type-var,operator] # not None
            yield broken_invariant("R-542", f"{name} {value} is more than executionTimeMs {whole}")


def record_invariants(target: Target, outcome: Outcome, record: CommitRecord) -> Iterator[Mismatch]:
    """Check the invariants about one commit's log.

    Args:
        target: the table before the merge.
        outcome: the table afterwards, and the metrics.
        record: the log's record of the merge.
    """
    if record.num_commits > 1:
        text = f"{record.num_commits} versions were created, but a merge makes one commit or none"
        yield broken_invariant("R-730", text, check=Check.COMMIT)
    yield from _metrics_of_files(outcome.metrics, record)
    yield from _flags(target, record)
    yield from _definition(target, outcome, record)
    if record.tracked is not None and (faults := list(file_id_faults(record.tracked))):
        yield broken_by_several("R-724", faults, check=Check.LOG)


def broken_by_several(invariant: str, faults: Sequence[str], *, check: Check) -> Mismatch:
    """Describe an invariant broken in several places, of which a few are shown."""
    rest = [f"and {len(faults) - _MAX_SHOWN} more"] if len(faults) > _MAX_SHOWN else []
    return replace(broken_invariant(invariant, *faults[:_MAX_SHOWN], *rest, check=check), parts=tuple(faults))


def _metrics_of_files(metrics: Mapping[str, int], record: CommitRecord) -> Iterator[Mismatch]:
    """R-510: files and bytes in the metrics agree with the actions."""
    if not record.actions:
        return
    invariants = {
        "P-10-files": {"numTargetFilesRemoved": record.num_files("remove")},
        "P-10-bytes": {
            "numTargetBytesAdded": record.num_bytes("add"),
            "numTargetBytesRemoved": record.num_bytes("remove"),
        },
        "P-10-change-files": {"numTargetChangeFilesAdded": record.count("cdc")},
    }
    for invariant, counts in invariants.items():
        for name, count in counts.items():
            if metrics.get(name, count) != count:
                yield broken_invariant(invariant, f"{name} {metrics[name]}, but the actions of the commit give {count}")


def _flags(target: Target, record: CommitRecord) -> Iterator[Mismatch]:
    """R-701: ``commitInfo`` comes first, with in-commit timestamps. R-702: ``dataChange`` of the files."""
    # The protocol asks for the order with this feature only; delta-rs writes commitInfo last without it.
    timed = is_on(target.properties, IN_COMMIT_TIMESTAMPS)
    if timed and record.actions and record.actions[0].kind != "commitInfo":
        text = f"the first action is {record.actions[0].kind}, but with in-commit timestamps commitInfo comes first"
        yield broken_invariant("R-701", text, check=Check.LOG)
    wrong = {
        action.kind: action.data_change
        for action in record.actions
        if action.kind in _DATA_CHANGE and action.data_change is not _DATA_CHANGE[action.kind]
    }
    for kind, flag in sorted(wrong.items()):
        said = "nothing" if flag is None else str(flag).lower()
        text = f"dataChange of {kind}: {said}, but it is {str(_DATA_CHANGE[kind]).lower()}"
        yield broken_invariant("R-702", text, check=Check.LOG)


def _definition(target: Target, outcome: Outcome, record: CommitRecord) -> Iterator[Mismatch]:
    """R-704: the log's metadata of the table stay, except the schema."""
    # Marks of identity columns are written with the rows, whether or not they move.
    new_schema = outcome.schema != target.schema or any(c.identity is not None for c in target.schema.columns)
    faults = [
        *_definition_faults(record),
        *mapping_faults(record),
        *widening_faults(target.schema, outcome.schema, record),
        *_mark_faults(outcome, record),
    ]
    if (count := record.count("metaData")) > int(new_schema):
        faults.append(f"{count} metaData actions, but the schema {'changes once' if new_schema else 'does not change'}")
    if record.count("protocol"):
        faults.append("a protocol action, but a merge writes none")
    if faults:
        yield broken_by_several("R-704", faults, check=Check.TABLE)


def _mark_faults(outcome: Outcome, record: CommitRecord) -> Iterator[str]:
    """R-226: only identity columns have marks, and the log's marks agree with the columns."""
    marks = {
        f"{IDENTITY_MARK} of column {c.name}": str(c.identity.mark)
        for c in outcome.schema.columns
        if c.identity is not None and c.identity.mark is not None
    }
    said = {name: text for name, text in record.definition.items() if name.startswith(f"{IDENTITY_MARK} of column ")}
    for name in sorted(marks.keys() | said.keys()):
        if marks.get(name) != said.get(name):
            yield f"{name}: {said.get(name, 'nothing')!r}, but the column's mark is {marks.get(name, 'absent')}"


def _definition_faults(record: CommitRecord) -> Iterator[str]:
    before, after = record.definition_before, record.definition
    for name in sorted(before.keys() | after.keys()):
        key, _, column = name.partition(" of column ")
        if key in (MAX_COLUMN_ID, TYPE_CHANGES, IDENTITY_MARK) or column in record.added_columns:
            continue  # those have invariants of their own
        if key == DOMAIN and record.tracked is not None:
            continue
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name, 'nothing')!r} before, {after.get(name, 'nothing')!r} after"
