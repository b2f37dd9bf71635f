"""Repairs of a commit's contents: its schema's order, its counts, the statistics of its files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from mergecheck.harness.compare.log_invariants.identity_invariants import next_mark, settle_ids
from mergecheck.harness.compare.rows import in_columns_of
from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.deviations.bug_models.judged import BugModel, Judged, Phase
from mergecheck.harness.deviations.bug_models.row_sides import partitions_of
from mergecheck.model.case_file import change_schema
from mergecheck.model.outcome import Outcome, Prediction
from mergecheck.model.schema_json import IDENTITY_MARK
from mergecheck.model.types.data_types import DOUBLE, FLOAT, DecimalType, MapType, Schema, StructType
from mergecheck.reference.evaluation.commit_info import IDENTITY_TAG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType, Field

_FILES_ADDED = "numTargetFilesAdded"
_DELETED = ("numTargetRowsDeleted", "numTargetRowsMatchedDeleted")
_BOUND = re.compile(r"(?P<side>min|max)Values (?P<bound>\S+) of (?P<column>.+), but the file holds (?P<value>\S+)")
_ALL_NULL = re.compile(r"nullCount \d+ of (?P<column>.+), which means all, but (?P<number>\d+) values are not NULL")
_MADE_ANEW, _FORGOTTEN = ("id", "createdTime"), ("name", "description")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LARGEST, _SMALLEST = 2**63 - 1, -(2**63)
_BINARY_ERROR = Decimal(4) / 2**53  # a decimal's digits and its scale are made binary one after the other


def _all_actions_counted(now: Judged) -> Judged | None:
    """The number of files added counts a file of changes for each partition, and a new schema, too."""
    found = now.result
    if not isinstance(found, TableOutcome) or found.num_files_added is None or _FILES_ADDED not in found.metrics:
        return None
    changed = partitions_of(found.cdf or (), found.schema, now.given.target.partition_by)
    surplus = len(changed) + (found.schema != now.given.target.schema)
    if not surplus or found.metrics[_FILES_ADDED] != found.num_files_added + surplus:
        return None
    return replace(now, result=replace(found, metrics={**found.metrics, _FILES_ADDED: found.num_files_added}))


def _defined_anew(now: Judged) -> Judged | None:
    """A new schema comes with a new id and a new time of creation, and without name and description."""
    found = now.result
    if not isinstance(found, TableOutcome) or found.record is None or found.record.count("metaData") != 1:
        return None
    before, after = found.record.definition_before, found.record.definition
    if found.schema == now.given.target.schema or not _is_defined_anew(before, after):
        return None
    kept = {name: before[name] for name in (*_FORGOTTEN, *_MADE_ANEW) if name in before}
    # NOT NULL was forgotten: for the case that the engine is taken to have run, the schema is no new one; the order of
    # its columns is looked at by itself
    is_as_before = set(found.schema.columns) == set(now.case.target.schema.columns)
    actions = tuple(one for one in found.record.actions if not (is_as_before and one.kind == "metaData"))
    record = replace(found.record, definition={**after, **kept}, actions=actions)
    return replace(now, result=replace(found, record=record))


def _is_defined_anew(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    if any(name in after for name in _FORGOTTEN) or not _UUID.fullmatch(after.get("id", "")):
        return False
    times = before.get("createdTime", ""), after.get("createdTime", "")
    return after["id"] != before["id"] and all(map(str.isdigit, times)) and int(times[0]) <= int(times[1])


def _columns_moved(now: Judged) -> Judged | None:
    """The engine puts partition columns behind the others, and new columns last, in any order."""
    wanted, found, target = now.reference.answer, now.result, now.given.target
    if not isinstance(wanted, Prediction) or not isinstance(found, Outcome) or not now.reference.trace.evolution:
        return None
    others = [name for name in target.schema.names if name not in target.partition_by]
    kept = [*others, *target.partition_by]
    if list(found.schema.names[: len(kept)]) != kept or found.schema.names == wanted.schema.names:
        return None
    rows, schema = in_columns_of(wanted.schema, found.rows, found.schema)
    feed = None
    if found.cdf is not None:
        feed, _ = in_columns_of(change_schema(wanted.schema), found.cdf, change_schema(found.schema))
    committed = False if not wanted.committed and not _wrote(found) else found.committed
    return replace(now, result=replace(found, schema=schema, rows=rows, cdf=feed, committed=committed))


def _wrote(found: Outcome) -> bool:
    return isinstance(found, TableOutcome) and bool(found.num_records_added or found.num_records_removed)


def _deletes_per_match(now: Judged) -> Judged | None:
    """A row that a MATCHED clause deletes counts once for every source row that matches it."""
    found, trace = now.result, now.reference.trace
    if not isinstance(found, TableOutcome) or trace.matches is None or trace.effects is None:
        return None
    matches = Counter(rid for _, rid in trace.matches.pairs)
    surplus = sum(matches[rid] - 1 for rid in trace.effects.deleted if matches[rid])
    wrong = {name: found.metrics[name] for name in _DELETED if name in found.metrics}
    if not surplus or len(wrong) < len(_DELETED):
        return None
    right = {name: number - surplus for name, number in wrong.items()}
    consequence = f"{right[_DELETED[0]]} row ids are gone, but {_DELETED[0]} {wrong[_DELETED[0]]}"
    faults = tuple(fault for fault in found.row_id_faults if fault != consequence)
    return replace(now, result=replace(found, metrics={**found.metrics, **right}, row_id_faults=faults))


def _without_faults(
    is_known: Callable[[re.Match[str], DataType, Sequence[Value]], bool], pattern: re.Pattern[str] = _BOUND
) -> Callable[[Judged], Judged | None]:
    """Remove known faults of a file's statistics.

    Args:
        is_known: returns whether a fault is known, given the fault, the type and the column's non-NULL values.
        pattern: of the faults, with a group ``column``.
    """

    def apply(now: Judged) -> Judged | None:
        found = now.result
        if not isinstance(found, TableOutcome):
            return None
        values = {
            name: (data_type, tuple(cells))
            for place, column in enumerate(found.schema.columns)
            for name, data_type, cells in _leaves(column, [row[place] for row in found.rows], ())
        }

        def known(fault: str) -> bool:
            said = pattern.fullmatch(fault)
            return said is not None and said["column"] in values and is_known(said, *values[said["column"]])

        left = tuple(fault for fault in found.file_faults if not known(fault))
        return None if left == found.file_faults else replace(now, result=replace(found, file_faults=left))

    return apply


def _leaves(
    column: Field, cells: Sequence[Value], above: tuple[str, ...]
) -> Iterator[tuple[str, DataType, list[Value]]]:
    path = (*above, column.name)
    if isinstance(column.type, StructType):
        for place, field in enumerate(column.type.fields):
            yield from _leaves(field, [None if cell is None else cell[place] for cell in cells], path)
    else:
        yield ".".join(path), column.type, [cell for cell in cells if cell is not None]


def _is_rounded(said: re.Match[str], data_type: DataType, values: Sequence[Value]) -> bool:
    """Return whether a decimal's bound equals a value of the column as a 64-bit integer or a binary fraction."""
    if not isinstance(data_type, DecimalType):
        return False
    try:
        bound = Decimal(said["bound"])
    except InvalidOperation:
        return False
    return any(_may_be_stored(value, bound) for value in values)


def _may_be_stored(value: Decimal, bound: Decimal) -> bool:
    """Return whether a bound is a decimal's whole part cut to 64 bits, or a binary fraction a few digits off."""
    return bound == min(max(int(value), _SMALLEST), _LARGEST) or abs(bound - value) <= abs(value) * _BINARY_ERROR


def _forgets_nan(said: re.Match[str], data_type: DataType, values: Sequence[Value]) -> bool:
    """Return whether a maximum equals a number of the column, and the values left out are NaN."""
    if data_type not in (FLOAT, DOUBLE) or (said["side"], said["value"]) != ("max", "nan"):
        return False
    return float(said["bound"]) in values


def _takes_empty_for_null(said: re.Match[str], data_type: DataType, values: Sequence[Value]) -> bool:
    """Return whether the values that were counted as NULL can be empty maps."""
    return isinstance(data_type, MapType) and sum(not value for value in values) >= int(said["number"])


def _moved_by_nothing(now: Judged) -> Judged | None:
    """A written file without a value of an identity column counts as one with the value 0, also if it has no row."""
    found, wanted = now.result, now.reference.answer
    if not isinstance(found, TableOutcome) or not isinstance(wanted, Prediction) or wanted.generated_ids is None:
        return None
    if found.record is None or found.record.count("metaData") != 1 or not found.committed:
        return None
    ids = settle_ids(wanted, found).prediction.generated_ids
    columns, definition = list(found.schema.columns), dict(found.record.definition)
    for position in () if ids is None else ids.columns:
        before = wanted.schema.columns[position].identity
        place = next((i for i, c in enumerate(columns) if c.name == wanted.schema.columns[position].name), None)
        if before is None or ids is None or place is None:
            return None
        values = [row[position] for row in (*ids.rows, *ids.written)]
        if columns[place].identity == replace(before, mark=next_mark(before, [*values, 0])):
            said, repaired = f"{IDENTITY_MARK} of column {columns[place].name}", next_mark(before, values)
            if definition.pop(said, "None") != str(next_mark(before, [*values, 0])):
                return None  # the log has another one
            definition |= {} if repaired is None else {said: str(repaired)}
            columns[place] = replace(columns[place], identity=replace(before, mark=repaired))
    info, wrote = dict(found.record.info), bool(found.num_records_added)
    if not wrote and info.get("tags") is not None:
        tags = {name: said for name, said in info["tags"].items() if name != IDENTITY_TAG.split()[0]}
        info["tags"] = tags or None
        if wanted.commit_info is not None and info.get("isolationLevel") == "Serializable":  # for the new mark
            info["isolationLevel"] = wanted.commit_info["isolationLevel"]
    record = replace(found.record, info=info, definition=definition)
    committed: bool = True
    if not wanted.committed and {action.kind for action in record.actions} == {"commitInfo", "metaData"}:
        committed = False
    return replace(now, result=replace(found, schema=Schema(tuple(columns)), record=record, committed=committed))


BUG_MODELS = (
    BugModel(
        name="a file without a value of an identity column counts as one with the value 0",
        phase=Phase.REPAIR,
        apply=_moved_by_nothing,
    ),
    BugModel(
        name="a new schema has a new id and time of creation, and no name and description",
        phase=Phase.REPAIR,
        apply=_defined_anew,
    ),
    BugModel(
        name="files of changes and a new schema count as files added", phase=Phase.REPAIR, apply=_all_actions_counted
    ),
    BugModel(
        name="a deleted row counts once for every source row that matches it",
        phase=Phase.REPAIR,
        apply=_deletes_per_match,
    ),
    BugModel(name="partition columns stand last, new ones in any order", phase=Phase.REPAIR, apply=_columns_moved),
    BugModel(
        name="bounds of decimals are 64-bit integers or binary fractions",
        phase=Phase.REPAIR,
        apply=_without_faults(_is_rounded),
    ),
    BugModel(name="NaN has no part in a maximum", phase=Phase.REPAIR, apply=_without_faults(_forgets_nan)),
    BugModel(
        name="empty maps count as NULL in the statistics of files with vectors",
        phase=Phase.REPAIR,
        apply=_without_faults(_takes_empty_for_null, _ALL_NULL),
    ),
)
