"""For tests with Hypothesis' own loop: reports facts of a case to its statistics and its search.

    @given(mergecheck.strategies.cases())
    def test_my_engine(case):
        report = Checker(engine=engine).check_case(case)
        report_to_hypothesis(report)
        assert not report.mismatches

The loop of ``mergecheck fuzz`` does not need it: ``--steer`` chooses by the same cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import currently_in_test_context, event, target

from mergecheck.harness.properties.case_space import CaseSpace, Cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.harness.verdict import CaseReport


def report_to_hypothesis(report: CaseReport) -> None:
    """Report the values of the case space that a case reached as events, and how many cells as a target.

    Events are pairs such as ``path=D`` and stand in ``--hypothesis-show-statistics``. Outside a Hypothesis test nothing
    happens.
    """
    if not currently_in_test_context():
        return
    space = CaseSpace()
    space.add(report)
    for value in sorted({value for pair in space.pairs for value in pair}):
        event(value)
    event(f"verdict={report.verdict.value}")
    # a case in many cells lets several clauses fire on several sorts of matches
    target(_num_busy(space.cells), label="cells in which a clause fired")


def _num_busy(cells: Iterable[Cell]) -> int:
    return sum(cell[1] != "nothing" for cell in cells)
