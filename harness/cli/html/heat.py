"""Heat maps: how often cases reached two values together, and the pairs they never reached."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.page import MAX_LEVEL, Cell, Column, Table
from mergecheck.harness.properties.case_space import DIMENSIONS, possible_pairs
from mergecheck.harness.properties.statistics import CLAUSES, shown_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.properties.statistics import Counts

NEVER = "∅"
LEGEND = f"darker: more cases (by powers of the largest number); {NEVER} never reached; - cannot occur"


def level_of(number: int, most: int) -> int:
    """Choose the colour of a number: 0 for nothing, then evenly over the logarithm up to the largest number."""
    if number <= 0:
        return 0
    if most <= 1:
        return MAX_LEVEL
    return 1 + round((MAX_LEVEL - 1) * math.log(number) / math.log(most))


def heat_cell(number: int, most: int) -> Cell:
    """Show a count in a heat map."""
    if number:
        return Cell(text=f"{number:,}", level=level_of(number, most))
    return Cell(text="0", glyph=NEVER, note="never", level=0)


IMPOSSIBLE = Cell(text="-", note="cannot occur")


def clause_table(counts: Counts) -> Table:
    """Show in how many cases each kind of clause was there, and in how many it fired on a row."""
    numbers = [(" ".join(key), counts.clauses_present[key], counts.clauses_fired[key]) for key in CLAUSES]
    most = max((number for _, present, fired in numbers for number in (present, fired)), default=0)
    return Table(
        caption="Clauses",
        columns=(Column(name="Clause"), Column(name="Present", is_number=True), Column(name="Fired", is_number=True)),
        rows=tuple((Cell(text=name), heat_cell(there, most), heat_cell(fired, most)) for name, there, fired in numbers),
    )


def path_table(counts: Counts) -> Table:
    """Show the execution paths (R-402)."""
    most = max((counts.paths[path] for path in shown_paths(counts.paths)), default=0)
    return Table(
        caption="Execution paths (R-402)",
        columns=(Column(name="Path"), Column(name="Cases", is_number=True)),
        rows=tuple((Cell(text=path.value), heat_cell(counts.paths[path], most)) for path in shown_paths(counts.paths)),
    )


def pair_maps(pairs: Mapping[tuple[str, str], int]) -> Iterator[Table]:
    """Draw a heat map for each two dimensions of the case space.

    Args:
        pairs: cells of the case space in which two values come together, as ``CaseSpace`` counts them.
    """
    possible = set(possible_pairs())
    most = max(pairs.values(), default=0)
    for one, other in itertools.combinations(DIMENSIONS, 2):
        down, across = sorted((one, other), key=lambda name: -len(DIMENSIONS[name]))
        yield Table(
            caption=f"{down} by {across}",
            columns=(Column(name=down), *(Column(name=value, is_number=True) for value in DIMENSIONS[across])),
            rows=tuple(
                (Cell(text=value), *_row(f"{down}={value}", across, pairs, possible, most))
                for value in DIMENSIONS[down]
            ),
        )


def _row(
    left: str, across: str, pairs: Mapping[tuple[str, str], int], possible: set[tuple[str, str]], most: int
) -> Iterator[Cell]:
    for value in DIMENSIONS[across]:
        right = f"{across}={value}"
        pair = (left, right) if (left, right) in possible or (left, right) in pairs else (right, left)
        yield heat_cell(pairs.get(pair, 0), most) if pair in possible or pair in pairs else IMPOSSIBLE
