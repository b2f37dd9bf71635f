"""Axes along which a merge may run differently and must answer the same, and the places on each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from mergecheck.merge.conf import OWN_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts

SIZES = (1, 2, 3, 7)
"""Rows per batch, group or file: with these, tables of a few rows reach the limits that usually need millions."""

WRITTEN = frozenset({"numTargetFilesAdded", "numTargetChangeFilesAdded"})
"""Metrics that hang on how many tasks write (R-542)."""

REWRITTEN = frozenset({"numTargetRowsCopied", "numOutputRows", "numTargetFilesRemoved"})
"""Metrics that hang on which row lies in which file (R-541)."""


class Axis(Enum):
    """One setting, one part of a layout or one way of planning that may vary; the value is its readable name."""

    INSERT_ONLY = "insert-only"
    MATCHED_ONLY = "matched-only"
    REPARTITION = "repartition"
    OPTIMIZE_WRITE = "optimize-write"
    SINGLE_SCAN = "single-scan"
    ONE_TASK = "one-task"
    LARGE_TABLES = "large-tables"
    SOURCE_KEYS = "source-keys"
    BROADCAST_SOURCE = "broadcast-source"
    LOW_SHUFFLE = "low-shuffle"
    MATERIALIZE = "materialize"
    SOURCE = "source"
    JOIN = "join"
    AQE = "aqe"
    CODEGEN = "codegen"
    PARTITIONS = "partitions"
    SPLITS = "splits"
    READER = "reader"
    ARROW_BATCH = "arrow-batch"
    SPILL = "spill"
    RECORDS_PER_FILE = "records-per-file"
    FILES = "files"
    ROW_GROUPS = "row-groups"
    STATISTICS = "statistics"
    SOURCE_BATCH = "source-batch"
    PARTITIONED = "partitioned"
    VECTORS = "vectors"
    COLUMN_MAPPING = "column-mapping"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """The observables that a value of an axis may change, and the rules that allow it; everything else must stay.

    Attributes:
        rules: of the specification.
        metrics: names of the metrics.
        observables: names of other observables: ``commit``, ``path``.
        errors: classes of errors that may appear or disappear.
    """

    rules: tuple[str, ...]
    metrics: frozenset[str] = frozenset()
    observables: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()


def every_case(_case: Case, _facts: Facts) -> bool:
    """Leave no case out."""
    return True


def unchanged(case: Case) -> Case:
    """Leave the tables and the statement as they are."""
    return case


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AxisValue:
    """One value of an axis other than the base case's.

    Attributes:
        sentence: the difference to the base, for a list.
        settings: Spark's and Delta's settings, and settings of the harness.
        judged_as: the settings for the reference, which has none that only change how Spark works.
        rewrite: changes the tables or the statement.
        domain: in words, for which cases it may be chosen. holds: whether a case is in it.
        exemptions: the changes that it may cause.
        needs: places on other axes without which it would have no effect; they are taken along.
        plan: operators; at least one must occur in some executed plan of a run; empty if no operator is proof.
    """

    axis: Axis
    name: str
    sentence: str
    settings: Mapping[str, str] = field(default_factory=dict)
    judged_as: Mapping[str, str] = field(default_factory=dict)
    rewrite: Callable[[Case], Case] = unchanged
    domain: str = "every case"
    holds: Callable[[Case, Facts], bool] = every_case
    exemptions: tuple[Exemption, ...] = ()
    needs: tuple[tuple[Axis, str], ...] = ()
    plan: tuple[str, ...] = ()

    @property
    def own_settings(self) -> frozenset[str]:
        """The settings that only this project's engine reads."""
        return frozenset(name for name in self.settings if name.startswith(OWN_PREFIX))

    def __str__(self) -> str:
        """Return the place in the command line's notation."""
        return f"{self.axis.value}={self.name}"
