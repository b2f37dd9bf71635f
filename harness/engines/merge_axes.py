"""The switches of this project's merge, which Delta Lake lacks: they change how a merge runs, never its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.oracles.transformations.delta import FILES_WRITTEN, OTHER_TASKS
from mergecheck.harness.oracles.transformations.tables import REWRITTEN, WRITTEN
from mergecheck.merge import conf
from mergecheck.model.axis import Axis, MayChange
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.outcome import EngineResult

_FILES_SCANNED, _BYTES_SCANNED, _BY_SOURCE_FILES = "files_scanned", "bytes_scanned", "by_source_files"
# Random cases count as large in part, but leave no optimisation out: those that they need run in them.
_LARGE = {"large-tables": "all"}
_COPIES_ROWS = (  # rewritten files of several row groups, in a table whose rows are copied one by one
    *("several-row-groups", "later-row-groups-changed", "rewritten-files", "duplicate-target-rows"),
    *("not partitions", "not deletion-vectors"),
    *("not check-constraints", "not generated-columns", "not column-invariants", "not nested-types"),
    *("not not-matched-by-source-update", "not not-matched-by-source-delete", "not ambiguous-matches"),
)
_LEAVES_FILES = (  # conditions that cannot fail, and no reason to copy the rows of other files
    *("files-beyond-by-source", "not-matched-by-source-delete", "several-files", "conditions"),
    *("not check-constraints", "not generated-columns", "not text-lengths", "not column-invariants"),
    *("not append-only-target", "not row-tracking", "not ambiguous-matches"),
    *("not key-expression-on", "not typed-keys", "not casts"),
)
MERGE_AXES: tuple[Axis, ...] = (
    Axis(
        "single-scan",
        setting=conf.SINGLE_SCAN,
        paths=("single_scan",),
        drawn=False,
        base="off",  # two scans give Spark more to plan than a single one
        values={"off": "false", "on": "true"},
        sentence="the task that writes finds out which files are touched",
    ),
    Axis(
        "one-task",
        setting=conf.ONE_TASK,
        paths=("one_task",),
        drawn=False,
        base="on",
        values={"off": "false"},
        sentence="small merges are joined and written in as many tasks as Spark likes",
        may_change=(FILES_WRITTEN,),
    ),
    Axis(
        "large-tables",
        setting=conf.LARGE_TABLE_BYTES,
        paths=("source_keys", "broadcast_source", "low_shuffle"),
        base="from 16 MiB",
        values={"all": "0"},
        favours=_COPIES_ROWS,
        sentence="every table counts as large, so that the optimisations for large tables are used",
        may_change=(OTHER_TASKS,),  # changed rows and copied rows are written by two queries
    ),
    Axis(
        "by-source-files",
        setting=conf.SKIP_FILES_BY_SOURCE,
        paths=(_BY_SOURCE_FILES,),
        applies_to=("several-files",),
        favours=_LEAVES_FILES,
        base="on",
        values={"off": "false"},
        sentence="a BY SOURCE clause touches every file, as in Delta Lake",
        may_change=(MayChange(WRITTEN | REWRITTEN | {"commit", "path"}, ("R-414",)),),
    ),
    Axis(
        "arrow-rewrite",
        setting=conf.ARROW_REWRITE,
        paths=("arrow_rewrite",),
        applies_to=("equality-on",),
        drawn=False,
        base="none",  # random cases are too small for auto
        values={"none": "none", "all": "all"},
        sentence="Python workers find matches and rewrite files, without Spark's join",
        may_change=(OTHER_TASKS,),
    ),
    Axis(
        "source-keys",
        setting=conf.PRUNE_BY_SOURCE_KEYS,
        paths=("source_keys",),
        applies_to=("equality-on", "several-files"),
        favours=("several-files", "key-ranges"),
        drawn=False,
        base="on",
        values={"off": "false"},
        sentence="files without a key of the source are read too",
        needs=_LARGE,
    ),
    Axis(
        "broadcast-source",
        setting=conf.BROADCAST_SOURCE,
        paths=("broadcast_source",),
        drawn=False,
        base="on",
        values={"off": "false"},
        sentence="Spark decides whether a small source is broadcast",
        needs=_LARGE,
    ),
    Axis(
        "low-shuffle",
        setting=conf.LOW_SHUFFLE,
        paths=("low_shuffle",),
        applies_to=("rewritten-files", "not partitions", "not check-constraints"),
        favours=_COPIES_ROWS,
        drawn=False,
        base="on",
        values={"off": "false"},
        sentence="rows that are left alone go through the join with the others",
        needs=_LARGE,
    ),
)


def with_ways(seen: EngineResult, ways: Mapping[str, int]) -> EngineResult:
    """Add to an outcome the ways that the merge took, and how many files it read."""
    if not isinstance(seen, Outcome):
        return seen
    paths = {name: number for name, number in ways.items() if number and name not in {_FILES_SCANNED, _BYTES_SCANNED}}
    if seen.work is None:
        return replace(seen, paths=paths)
    work = replace(
        seen.work,
        num_scanned=ways.get(_FILES_SCANNED),
        bytes_scanned=ways.get(_BYTES_SCANNED),
        applied_by_source_only=bool(ways.get(_BY_SOURCE_FILES)),
    )
    return replace(seen, paths=paths, work=work)
