"""The engine of this package with two optimisations, each behind a switch of its own."""

from __future__ import annotations

from dataclasses import replace

from mergecheck import Axis, Case, Outcome, Rejection, Unsupported, parse_statement

from acme_engine import AcmeEngine, key_of

PRUNING, LOW_SHUFFLE = "acme.filePruning", "acme.lowShuffle"
GROUP = 2  # rows that the reader returns at once


class AcmeOptimised(AcmeEngine):
    """Merges without the files, or without the rows, that no source row can match."""

    name = "acme-optimised"
    capabilities = replace(
        AcmeEngine.capabilities,
        axes=(
            Axis(
                PRUNING,
                base="off",
                values=("on",),
                sentence="files whose keys are outside the range of the source's keys are not read",
                favours=("several-files",),
                paths=("files_pruned",),
            ),
            Axis(
                LOW_SHUFFLE,
                base="off",
                values=("on",),
                sentence="rows that no source row matches are copied without a join",
                paths=("low_shuffle",),
            ),
        ),
    )

    def run(self, case: Case) -> Outcome | Rejection | Unsupported:
        """Take out what need not be merged, merge the rest, and put both together."""
        settings = dict(case.conf)
        prunes, copies = settings.pop(PRUNING, "off") == "on", settings.pop(LOW_SHUFFLE, "off") == "on"
        plain = replace(case, conf=settings)
        answer = super().run(plain)
        if isinstance(answer, Unsupported):
            return answer
        key = key_of(parse_statement(case.sql), case)
        keys = {row[key] for row in case.source.rows if row[key] is not None}
        files, kept, paths = case.target.files, [], {"files_pruned": 0, "low_shuffle": 0}
        if prunes:
            outside = [file for file in files if not _may_match(file, key, keys)]
            files = [file for file in files if file not in outside]
            kept += [row for file in outside for row in file]
            paths["files_pruned"] = len(outside)
        if copies:
            split = [_split(file, key, keys) for file in files]
            files = [touched for touched, _ in split]
            kept += [row for _, untouched in split for row in untouched]
            paths["low_shuffle"] = int(any(untouched for _, untouched in split))
        merged = super().run(replace(plain, target=replace(case.target, files=tuple(files))))
        if isinstance(merged, Rejection):
            return merged
        return replace(merged, rows=(*merged.rows, *kept), paths=paths)


def _may_match(file: tuple, key: int, keys: set) -> bool:
    """Compare the range of a file's keys with the range of the source's keys."""
    own = [row[key] for row in file if row[key] is not None]
    return bool(own and keys) and min(own) <= max(keys) and min(keys) <= max(own)


def _split(file: tuple, key: int, keys: set) -> tuple[tuple, list]:
    """Separate the rows of a file that a source row matches from the others, by their positions."""
    touched, before = set(), 0
    for start in range(0, len(file), GROUP):
        group = file[start : start + GROUP]
        touched |= {before + number for number, row in enumerate(group) if row[key] in keys}
        before += len(group) - 1  # the fault: the group has one row more
    rows = enumerate(file)
    return tuple(file[number] for number in sorted(touched)), [row for number, row in rows if number not in touched]
