"""Invariants about the ids and physical names of columns, which evolution gives to new ones (R-709)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.compare.table_outcome import CommitRecord

MAX_COLUMN_ID = "property delta.columnMapping.maxColumnId"
_ID, _PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"


def mapping_faults(record: CommitRecord) -> Iterator[str]:
    """List the faults of ids and names after a merge; that old columns keep theirs is R-704."""
    said = [definition.get(MAX_COLUMN_ID, "nothing") for definition in (record.definition_before, record.definition)]
    if not all(map(str.isdecimal, said)):
        if said[0] != said[1]:
            yield f"{MAX_COLUMN_ID}: {said[0]!r} before, {said[1]!r} after"
        return
    before, after = map(int, said)
    wanted = before + len(record.added_columns)
    if after != wanted:
        yield f"{MAX_COLUMN_ID} is {after}, but it was {before}, and {len(record.added_columns)} columns are new"
    ids, names = (_of_columns(record.definition, key) for key in (_ID, _PHYSICAL_NAME))
    for what, found in (("id", ids), ("physical name", names)):
        yield from (f"the new column {path} has no {what}" for path in sorted(record.added_columns - found.keys()))
        counts = Counter(found.values())
        for path in sorted(record.added_columns & found.keys()):
            if counts[found[path]] > 1:  # old fields of two structs may have one name
                yield f"the new column {path} has the {what} {found[path]}, and so has another one"
    for path in sorted(record.added_columns & ids.keys()):
        if not before < int(ids[path]) <= wanted:
            yield f"the new column {path} has the id {ids[path]}, but new ids are {before + 1} to {wanted}"


def _of_columns(definition: Mapping[str, str], key: str) -> dict[str, str]:
    start = f"{key} of column "
    return {name.removeprefix(start): text for name, text in definition.items() if name.startswith(start)}
