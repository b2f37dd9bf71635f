"""The map of the case space: how a case exercised the merge, as cells of a grid of few dimensions.

A cell is one value of each dimension: execution path, clause that fired, sort of match, where NULL decided, layout of
the target, type of a column. A case lies in several cells. Gaps in a run's coverage are listed as pairs of values,
since faults mostly need two things to come together.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mergecheck.harness.properties.type_families import family_of
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.model.storage import Statistics as FileStatistics
from mergecheck.model.storage import TargetLayout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Target
    from mergecheck.model.facts import Facts

Cell: TypeAlias = tuple[str, ...]
Pair: TypeAlias = tuple[str, str]

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "path": ("A", "B", "C", "D", "rejected"),
    "fired": (
        "matched update",
        "matched delete",
        "not matched insert",
        "not matched by source update",
        "not matched by source delete",
        "nothing",
    ),
    "match": ("1:1", "1:n", "n:1", "source alone", "target alone", "no rows"),
    "null": ("ON", "condition", "nowhere"),
    "layout": ("empty", "one file", "files", "partitions", "row groups", "older files", "no statistics"),
    "type": (
        "boolean",
        "integer",
        "decimal",
        "floating point",
        "string",
        "binary",
        "date",
        "timestamp",
        "struct",
        "array",
        "map",
    ),
}
# Values that cannot come together: R-402 defines the writes of a path, R-404 its reads.
_BY_MATCH = ("matched update", "matched delete")
_BY_SOURCE = ("not matched by source update", "not matched by source delete")
_IMPOSSIBLE = frozenset(
    {
        *(("path=A", f"fired={fired}") for fired in (*_BY_MATCH, *_BY_SOURCE)),
        *(("path=B", f"fired={fired}") for fired in (*_BY_MATCH, *_BY_SOURCE)),
        *(("path=B", f"match={match}") for match in ("1:1", "1:n", "n:1")),
        *(("path=C", f"fired={fired}") for fired in (*_BY_MATCH, *_BY_SOURCE, "not matched insert")),
        *(("path=rejected", f"fired={fired}") for fired in DIMENSIONS["fired"] if fired != "nothing"),
        *(("path=rejected", f"null={null}") for null in ("ON", "condition")),
        *((f"match={match}", "layout=empty") for match in ("1:1", "1:n", "n:1", "target alone")),
        *((f"fired={fired}", "match=no rows") for fired in DIMENSIONS["fired"] if fired != "nothing"),
        *((f"fired={fired}", "layout=empty") for fired in (*_BY_MATCH, *_BY_SOURCE)),
        *(("match=no rows", f"null={null}") for null in ("ON", "condition")),
        ("null=ON", "layout=empty"),
        ("fired=matched update", "match=n:1"),
        ("match=no rows", "path=D"),
        ("path=D", "layout=empty"),
    }
)


@dataclass(slots=True)
class CaseSpace:
    """The cells that the cases of a run have reached."""

    cells: Counter[Cell] = field(default_factory=Counter)
    pairs: Counter[Pair] = field(default_factory=Counter)

    def add(self, report: CaseReport) -> None:
        """Count one case; of one that the reference was not asked about, or cannot do, nothing is known."""
        if isinstance(report.reference.answer, Unsupported):
            return
        cells = cells_of(report.case.target, report.facts, is_rejected=_is_rejected(report))
        self.cells.update(cells)
        self.pairs.update(pairs_of(cells))

    def __copy__(self) -> CaseSpace:
        """Copy the counters too."""
        return CaseSpace(self.cells.copy(), self.pairs.copy())

    def num_new(self, cells: Iterable[Cell]) -> int:
        """Count the cells that no case has reached so far."""
        return sum(cell not in self.cells for cell in cells)


def cells_of(target: Target, facts: Facts, *, is_rejected: bool) -> frozenset[Cell]:
    """Give the cells in which a case stands; none for a table without columns."""
    values = (
        ("rejected",) if is_rejected or facts.path is None else (facts.path.value,),
        tuple(f"{kind} {action}".replace("_", " ").lower() for kind, action in facts.clauses_applied) or ("nothing",),
        tuple(facts.matches) or ("no rows",),
        tuple(facts.nulls) or ("nowhere",),
        tuple(_layouts(target)),
        tuple({family_of(column.type) for column in target.schema.columns}),
    )
    return frozenset(itertools.product(*values))


def pairs_of(cells: Iterable[Cell]) -> frozenset[Pair]:
    """Give the pairs of values that come together in some of the cells."""
    return frozenset(
        pair
        for cell in cells
        for pair in itertools.combinations([f"{name}={value}" for name, value in zip(DIMENSIONS, cell, strict=True)], 2)
    )


def possible_pairs() -> tuple[Pair, ...]:
    """List the pairs that a case can reach."""
    named = [[f"{name}={value}" for value in values] for name, values in DIMENSIONS.items()]
    pairs = ((left, right) for first, second in itertools.combinations(named, 2) for left in first for right in second)
    return tuple(pair for pair in pairs if pair not in _IMPOSSIBLE and pair[::-1] not in _IMPOSSIBLE)


def _is_rejected(report: CaseReport) -> bool:
    return isinstance(report.reference.answer, Rejection)


def _layouts(target: Target) -> list[str]:
    num_files = sum(bool(file) for file in target.files)
    if num_files == 0:
        return ["empty"]
    layout: TargetLayout = target.layout
    found = ["files" if num_files > 1 else "one file"]
    found += ["partitions"] if target.partition_by else []
    found += ["row groups"] if layout.row_group_rows is not None else []
    found += ["older files"] if layout.added_columns else []
    found += ["no statistics"] if layout.statistics is not FileStatistics.ALL else []
    return found
