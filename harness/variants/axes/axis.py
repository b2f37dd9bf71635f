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
"""Rows per batch, group or file: tables of a few rows reach the borders that those of millions do."""

WRITTEN = frozenset({"numTargetFilesAdded", "numTargetChangeFilesAdded"})
"""Metrics that hang on how many tasks write (R-542)."""

REWRITTEN = frozenset({"numTargetRowsCopied", "numOutputRows", "numTargetFilesRemoved"})
"""Metrics that hang on which row lies in which file (R-541)."""


class Axis(Enum):
    """What one setting, one part of a layout or one way of planning decides; the value is its name for a person."""

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
    """What a value of an axis may change, and by which rule; everything else must stay.

    Attributes:
        rules: of the specification.
        metrics: names of the metrics.
        observables: names of other observables: ``commit``, ``path``.
        errors: classes of errors that may come or go.
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
        sentence: what is different, for a list.
        settings: Spark's and Delta's settings, and those that speak to the harness.
        judged_as: the settings by which the reference is asked; it knows none that only change how Spark works.
        rewrite: changes the tables or the statement.
        domain: in words, for which cases it may be chosen. holds: tells it of a case.
        exemptions: what it may change.
        needs: places on other axes without which it would have no effect; they are taken along.
        plan: operators; at least one must occur in some executed plan of a run; empty if none can tell.
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
        """The settings that no engine but the one of this project can know."""
        return frozenset(name for name in self.settings if name.startswith(OWN_PREFIX))

    def __str__(self) -> str:
        """Spell the place as the command line does."""
        return f"{self.axis.value}={self.name}"
