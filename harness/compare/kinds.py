"""The closed vocabulary of differences that the comparator and the invariants report: ``check kind``."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mergecheck.harness.compare.commit_info import COMMIT_INFO
from mergecheck.harness.compare.metrics import HISTORY_METRICS
from mergecheck.harness.verdict import Check

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS = frozenset({"missing_rows", "extra_rows", "changed_rows", "row_width"})

KINDS: Mapping[Check, frozenset[str]] = {
    Check.ROWS: _ROWS | {"P-9", "R-226", "R-705", "row_ids"} | {"R-222", "R-741", "R-742", "R-746", "R-822"},
    Check.SCHEMA: frozenset(
        {"column_names", "column_order", "column_types", "nullability", "column_values", "R-234", "R-235"}
    ),
    Check.METRICS: HISTORY_METRICS
    | {"unknown_metric", "P-5", "P-6", "P-7", "P-8", "P-9", "P-10"}
    | {"P-10-files", "P-10-bytes", "P-10-change-files", "R-542"},
    Check.CDF: _ROWS | {"no_cdf", "spurious_cdf", "P-12", "P-13"},
    Check.ERROR: frozenset({"no_error", "spurious_error", "error_class", "breakdown"}),
    Check.COMMIT: frozenset({"no_commit", "spurious_commit", "R-239", "R-501", "R-714", "R-715", "R-730"}),
    Check.PATH: frozenset({"path"}),
    Check.UNCHANGED: frozenset({"changed_after_error", "committed"}),
    Check.FILES: frozenset({"P-11", "R-719", "R-722", "R-723"}),
    Check.TABLE: frozenset({"R-704"}),
    Check.LOG: COMMIT_INFO | {"R-701", "R-702", "R-717", "R-718", "R-724"},
    Check.RESULT: frozenset({"result_row"}),
}
"""The kinds of each check's mismatches."""

DIFFERENCES = tuple(f"{check.value} {kind}" for check, kinds in KINDS.items() for kind in sorted(kinds))
"""The same as texts, in the order of the checks."""


def is_known(pattern: str) -> bool:
    """Return whether a pattern, ``*`` and ``?`` as in file names, can match any difference."""
    return any(fnmatchcase(difference, pattern) for difference in DIFFERENCES)
