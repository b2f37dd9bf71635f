"""Requirements of the releases of ``deltalake``, and features that their merges do not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# Features of random cases that no release's merge can express.
_NEVER = frozenset(
    {
        "commit-settings",
        "column-defaults",
        "generated-columns",
        "nested-updates",
        "case-sensitive-session",
        "random-values",
        "duplicate-source-names",
        "schemas-without-columns-or-types",
        "invalid-statements",
        "statement-time",
        "legacy-store-assignment",
        "strict-store-assignment",
        "casts",
        "values-that-may-fail",
        "names-of-change-columns",
    }
)
_FIRST_WITHOUT_OLD_ARROW = (0, 17)
_FIRST_WITH_A_RULE = (1, 5)
_FAILS_ON_COMMENTS = ((0, 19), (0, 25))  # from the first of these releases, and before the second


def requirements(version: str) -> list[str]:
    """List the packages of a release's environment; old releases do not pin the pyarrow that they were made for."""
    arrow = "pyarrow<16" if _minor(version) < _FIRST_WITHOUT_OLD_ARROW else "pyarrow<19"
    return [f"deltalake=={version}", arrow, "numpy<2"]


def refuses_several_acts(version: str) -> bool:
    """Return whether a release looks for several source rows that act on one target row; older ones write them all."""
    return _minor(version) >= _FIRST_WITH_A_RULE


def feed_takes_comments(version: str) -> bool:
    """Return whether a release can merge into a table with a change feed whose columns have comments."""
    first, fixed = _FAILS_ON_COMMENTS
    return not first <= _minor(version) < fixed


def knows_string_view(version: str) -> bool:
    """Return whether a release reads Arrow's view types."""
    return _minor(version) >= (1, 0)


def _minor(version: str) -> tuple[int, int]:
    """Read the first two numbers of a version."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def features_off(options: Collection[str]) -> frozenset[str]:
    """Name the features that random cases leave out for a release whose merge has these arguments."""
    off = set(_NEVER)
    if "merge_schema" not in options:
        off.add("schema-evolution")
    if "writer_properties" not in options:
        off.add("several-clauses-of-a-kind")
    return frozenset(off)
