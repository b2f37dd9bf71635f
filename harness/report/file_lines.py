"""The files of a case's target for a person and as JSON: what each needed, and what the engine did."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mergecheck.harness.oracles.work.needs import ExcludedBy, UnknownNeeds, file_needs
from mergecheck.harness.oracles.work.work import Work, work_of
from mergecheck.harness.report.render import printable
from mergecheck.model.layout import physical_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.oracles.work.needs import FileNeed
    from mergecheck.harness.properties.statistics import SeenWork
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.model.case import Row

_MANY = 2  # with one file there is nothing to leave out


def _files_of(document: CaseDocument) -> Work | tuple[FileNeed, ...] | UnknownNeeds:
    """Judge the work of the engine; without an engine, or without its report, what each file needs."""
    if document.report is not None:
        work = work_of(document.report)
        if isinstance(work, Work):
            return work
    return file_needs(document.case, document.reference)


def file_texts(document: CaseDocument) -> list[tuple[str, str, str]]:
    """Describe each file by number, partition, and what it needed and got; nothing where ``file_lines`` has nothing."""
    return _texts(document, _files_of(document))


def _texts(document: CaseDocument, found: Work | tuple[FileNeed, ...] | UnknownNeeds) -> list[tuple[str, str, str]]:
    needs = found.needs if isinstance(found, Work) else found
    if isinstance(needs, UnknownNeeds) or len(needs) < _MANY:
        return []
    return [
        (
            f"{file.number + 1}",
            _named(document.case.target.partition_by, values),
            _need(file) + (_done(file, found) if isinstance(found, Work) else ""),
        )
        for file, (values, _) in zip(needs, physical_files(document.case.target), strict=True)
    ]


def file_lines(document: CaseDocument, *, width: int) -> list[str]:
    """Explain file by file; nothing for a target of one file, and for a merge that is refused or not predicted."""
    found = _files_of(document)
    lines = []
    for texts in _texts(document, found):
        text = "  ".join(part for part in texts if part)
        lines += textwrap.wrap(printable(text), width, subsequent_indent="     ")
    return lines + (summary_lines(found) if lines and isinstance(found, Work) else [])


def summary_lines(work: Work) -> list[str]:
    """Sum up the work of an engine: what was missing, and what was in vain."""
    lines = [f"over-pruned: file {_numbers(work.over_pruned)} has rows that change"] if work.over_pruned else []
    if work.rewritten_in_vain:
        copied = f" ({work.num_copied_in_vain} rows copied)" if work.num_copied_in_vain else ""
        lines.append(f"rewritten in vain: file {_numbers(work.rewritten_in_vain)}{copied}")
    if work.num_scanned_in_vain:
        in_bytes = f" ({work.bytes_scanned_in_vain:,} bytes)" if work.bytes_scanned_in_vain else ""
        read = f"{work.num_scanned_in_vain} of {work.done.num_scanned} files that were read"
        lines.append(f"read in vain: {read}{in_bytes}")
    return lines


def work_json(document: CaseDocument) -> dict[str, Any] | None:
    """Write the files as ``run --json`` and ``explain --json`` give them; None if no need is known."""
    found = _files_of(document)
    needs = found.needs if isinstance(found, Work) else found
    if isinstance(needs, UnknownNeeds):
        return None
    written: dict[str, Any] = {
        "files": [
            {
                "number": file.number + 1,
                "need": file.need.name.lower(),
                "rows": file.num_rows,
                "rows_changed": file.num_changed,
                "decided": file.is_decided,
                "excluded_by": None if file.excluded_by is None else file.excluded_by.name.lower(),
                "reason": file.reason,
            }
            for file in needs
        ]
    }
    if isinstance(found, Work):
        written |= {
            "rewritten": sorted(number + 1 for number in found.done.rewritten),
            "marked": sorted(number + 1 for number in found.done.marked),
            "scanned": found.done.num_scanned,
            "bytes_scanned": found.done.bytes_scanned,
            "over_pruned": [file.number + 1 for file in found.over_pruned],
            "rewritten_in_vain": [file.number + 1 for file in found.rewritten_in_vain],
            "rows_copied_in_vain": found.num_copied_in_vain,
            "scanned_in_vain": found.num_scanned_in_vain,
            "bytes_scanned_in_vain": found.bytes_scanned_in_vain,
        }
    return written


def seen_work_json(work: SeenWork) -> dict[str, Any]:
    """Write the work of several merges, and how many are not known for which reason."""
    return {**asdict(work.counts), "unknown": dict(work.unknown)}


def _numbers(files: tuple[FileNeed, ...]) -> str:
    return ", ".join(str(file.number + 1) for file in files)


def _named(partition_by: Sequence[str], values: Row) -> str:
    pairs = zip(partition_by, values, strict=True)
    named = ", ".join(f"{name} = {'NULL' if value is None else value}" for name, value in pairs)
    return f"({named})" if named else ""


def _need(file: FileNeed) -> str:
    if file.num_changed:
        return f"{file.need.value}: {file.num_changed} of {file.num_rows} rows change"
    if file.excluded_by is not None:
        excluding = file.reason or "its bounds and the conditions"
        whose = " for every row of the source" if file.excluded_by is ExcludedBy.SOURCE else ""
        return f"{file.need.value}: excluded by {excluding}{whose}"
    return file.need.value if file.is_decided else f"{file.need.value}: a condition is not a comparison with a value"


def _done(file: FileNeed, work: Work) -> str:
    done = work.done
    did = "rewritten" if file.number in done.rewritten else "marked" if file.number in done.marked else ""
    if not did:
        return ", but left as it was" if file.num_changed else ""
    return "" if file.num_changed else f", but {did}"
