"""A commit's ``commitInfo``, and the row that the command returns, against the reference (R-110, R-702 to R-712)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mergecheck.harness.verdict import Check, Mismatch
from mergecheck.model.formatting import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.compare.table_outcome import CommitRecord

_CLAUSES = ("matchedPredicates", "notMatchedPredicates", "notMatchedBySourcePredicates")
_FLAGS = ("isBlindAppend", "dataChange")
_GIVEN = ("engineInfo", "txnId")
_TIMESTAMP = "inCommitTimestamp"

COMMIT_INFO = frozenset(
    {
        *("operation", "operationParameters", "predicate", *_CLAUSES, *_FLAGS, "isolationLevel", "readVersion"),
        *(*_GIVEN, _TIMESTAMP, "tags"),
    }
)
"""The entries that are compared."""


def commit_info_mismatches(
    wanted: Mapping[str, str], record: CommitRecord, *, names: frozenset[str] | None, against: str
) -> Iterator[Mismatch]:
    """Compare the entries of ``commitInfo``.

    Args:
        wanted: the reference's prediction.
        record: the log's record of the merge.
        names: the entries to compare; None for all.
        against: who predicts.
    """
    found = commit_info_in_words(record)
    for name, text in wanted.items():
        if (names is None or name in names) and found.get(name, "nothing") != text:
            line = f"{name}: {against} {text}, engine {found.get(name, 'nothing')}"
            yield Mismatch(check=Check.LOG, against=against, kind=name, lines=(fit(line),))


def commit_info_in_words(record: CommitRecord) -> dict[str, str]:
    """Convert ``commitInfo`` to the reference's form; an entry of another form is shown unchanged.

    Texts of conditions are left out, because they differ from run to run (R-712).
    """
    info = record.info
    parameters = info.get("operationParameters") or {}
    words: dict[str, str | None] = {
        "operation": info.get("operation"),
        "operationParameters": ", ".join(sorted(parameters, key=["predicate", *_CLAUSES, *parameters].index)),
        "predicate": _condition(parameters.get("predicate")),
        **{name: _clauses(parameters.get(name)) for name in _CLAUSES},
        **{name: json.dumps(info[name]) for name in _FLAGS if name in info},
        "isolationLevel": info.get("isolationLevel"),
        "readVersion": _version(info.get("readVersion"), record.read_version),
        **{name: "given" if info.get(name) else None for name in _GIVEN},
        _TIMESTAMP: _timestamp(info.get(_TIMESTAMP), record.timestamp_before),
        "tags": _tags(info.get("tags")),
    }
    return {name: text for name, text in words.items() if text is not None}


def result_row_mismatches(wanted: Mapping[str, int], found: Mapping[str, int], *, against: str) -> tuple[Mismatch, ...]:
    """Compare the row that the command returns: names, their order and numbers (R-110)."""
    if list(wanted.items()) == list(found.items()):
        return ()
    lines = (f"{against}: {_row(wanted)}", f"engine: {_row(found)}")
    return (Mismatch(check=Check.RESULT, against=against, kind="result_row", lines=tuple(map(fit, lines))),)


def _row(row: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())


def _condition(text: Any) -> str | None:  # noqa: ANN401 - JSON
    """Read an array with one string (R-711)."""
    conditions = _json(text)
    if isinstance(conditions, list) and len(conditions) == 1 and isinstance(conditions[0], str) and conditions[0]:
        return "one condition"
    return None if text is None else str(text)


def _clauses(text: Any) -> str | None:  # noqa: ANN401 - JSON
    """Read an array of ``{"predicate": ..., "actionType": ...}`` (R-711)."""
    clauses = _json(text)
    if not isinstance(clauses, list) or not all(map(_is_clause, clauses)):
        return None if text is None else str(text)
    return ", ".join(c["actionType"] + (" if" if c.get("predicate") else "") for c in clauses) or "none"


def _is_clause(clause: Any) -> bool:  # noqa: ANN401 - JSON
    if not isinstance(clause, dict) or not clause.keys() <= {"predicate", "actionType"}:
        return False
    return isinstance(clause.get("actionType"), str) and isinstance(clause.get("predicate", ""), str)


def _json(text: Any) -> Any:  # noqa: ANN401 - JSON
    """Read a string that contains JSON; None if it is anything else."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except json.JSONDecodeError:
        return None


def _tags(tags: Any) -> str | None:  # noqa: ANN401 - JSON
    if not isinstance(tags, dict):
        return None if tags is None else str(tags)
    return ", ".join(f"{name} {value}" for name, value in tags.items()) or None


def _version(version: Any, before: int) -> str | None:  # noqa: ANN401 - JSON
    if version is None:
        return None
    return "the version before" if version == before else str(version)


def _timestamp(timestamp: Any, before: int | None) -> str | None:  # noqa: ANN401 - JSON
    """Compare an in-commit timestamp with the previous version's (R-707)."""
    if timestamp is None:
        return None
    if not isinstance(timestamp, int) or before is None or timestamp <= before:
        return f"{timestamp}, that of the version before is {before}"
    return "after that of the version before"
