"""The outcome of one merge, as the reference predicts it and as an engine reports it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Row
    from mergecheck.model.types.data_types import Schema


class MergePath(Enum):
    """The execution paths of R-402."""

    A = "A"
    """insert-only, optimised: one anti-join"""
    B = "B"
    """inserts, no file touched"""
    C = "C"
    """nothing to do"""
    D = "D"
    """touched files rewritten"""
    E = "E"
    """deletion vectors"""


class Feed(Enum):
    """The form of a change feed."""

    IMAGES = "images"
    """as Delta's: each row that was inserted, deleted or updated (R-610)"""
    NET = "net"
    """deleted and new rows: an updated row is a ``delete`` and an ``insert``; equal ones cancel out"""
    UNTOLD = "untold"
    """nothing: the engine has no feed of such a table"""


@dataclass(frozen=True, slots=True)
class Bound:
    """An inclusive range of a metric; ``high`` None means unbounded. Exact if both ends are equal."""

    low: int
    high: int | None

    @property
    def exact(self) -> bool:
        """Whether one value only satisfies the bound."""
        return self.low == self.high

    def allows(self, value: int) -> bool:
        """Return whether a reported value lies within the bound."""
        return self.low <= value and (self.high is None or value <= self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWork:
    """The effect of a merge on the data files that the target had before it.

    Attributes:
        rewritten: the numbers (``model.layout.physical_files``) of the files that it removed.
        marked: the numbers of the files that it gave another deletion vector.
        num_scanned: of how many files it read rows, each counted once; None if the engine does not report it.
        bytes_scanned: the bytes of these files; None if the engine does not report it.
        applied_by_source_only: whether BY SOURCE clauses touch only files on a row of which one applies, not all files
            (R-414). Metrics, path and commit are then compared with the prediction for it.
        sizes: the bytes of every file of the target, by number; empty if they are not known.
    """

    rewritten: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()
    num_scanned: int | None = None
    bytes_scanned: int | None = None
    applied_by_source_only: bool = False
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A merge that succeeded, as an engine observed it.

    Attributes:
        schema: the table's columns after the merge.
        rows: all rows of the table after the merge, in any order.
        metrics: operation metrics by Delta's names (R-510); empty if the engine reports none.
        cdf: rows of this merge's change feed followed by ``_change_type``; None if CDF is off or cannot be read.
        committed: whether a table version was created; None if the engine does not report it.
        path: the execution path taken; None if the engine does not report it.
        result_row: the row that the command returned, by its columns' names in order (R-110); None if the engine
            returns none.
        feed: the form of ``cdf``.
        paths: the ways inside the engine that the merge has taken, by names of the engine's own, with a number each,
            such as ``{"low_shuffle": 1, "files_pruned": 3}``. They are counted, and never compared.
        work: its effect on the files of the target; None if unknown. It is graded, and never compared.
    """

    schema: Schema
    rows: tuple[Row, ...]
    metrics: Mapping[str, int] = field(default_factory=dict)
    cdf: tuple[Row, ...] | None = None
    committed: bool | None = None
    path: MergePath | None = None
    result_row: Mapping[str, int] | None = None
    feed: Feed = Feed.IMAGES
    paths: Mapping[str, int] = field(default_factory=dict)
    work: FileWork | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedIds:
    """Values of identity columns that a merge generates: they cannot be predicted, but they follow rules (R-226).

    Attributes:
        columns: positions of the identity columns that some INSERT leaves out.
        rows: the inserted rows with such values. The reference's values are examples: any others that keep to the
            rules are as good.
        written: the other rows in the data files that the merge writes.
        old_images: rows that are in change files only.
    """

    columns: tuple[int, ...]
    rows: tuple[Row, ...]
    written: tuple[Row, ...]
    old_images: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A merge that must succeed, as the reference computed it; metrics are bounds (R-540 to R-542).

    Attributes:
        result_row: the row that the command returns, by its columns' names in order (R-110).
        commit_info: the entries of ``commitInfo``, see ``reference.evaluation.commit_info``; None without a commit.
        generated_ids: None if the merge generates no values of identity columns.
    """

    schema: Schema
    rows: tuple[Row, ...]
    metrics: Mapping[str, Bound]
    cdf: tuple[Row, ...] | None
    committed: bool
    path: MergePath
    result_row: Mapping[str, int] | None = None
    commit_info: Mapping[str, str] | None = None
    generated_ids: GeneratedIds | None = None

    @property
    def num_changed_rows(self) -> int:
        """Rows that are inserted, updated or deleted; their metrics are exact (R-540)."""
        changes = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
        return sum(self.metrics[name].low for name in changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A merge that failed, or must fail, leaving the table as it was.

    Attributes:
        error_class: Delta's or Spark's error class, for example ``DELTA_MERGE_UNRESOLVED_EXPRESSION``.
        message: the text for a person.
        unchanged: whether the table was found as before; None if it was not looked at.
        other_classes: of a prediction: classes that are right as well, if several rows or values fail and no rule
            defines which is met first.
    """

    error_class: str
    message: str
    unchanged: bool | None = None
    other_classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The case uses something that this engine, or the reference, does not do; ``reason`` is countable."""

    reason: str


EngineResult: TypeAlias = Outcome | Rejection | Unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialAnswer:
    """The known facts of a case that the reference does not predict as a whole.

    Attributes:
        answer: a prediction, or that the merge must fail; with which error class is not known then.
        left_out: the observables of the prediction that are no prediction, see ``reference.doubts``.
        least: as in ``reference.answer.Reference``.
    """

    answer: Prediction | Rejection
    left_out: frozenset[str]
    least: Prediction | None = None
