"""All faults of the catalogue, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.errors import UserInputError
from mergecheck.harness.selfcheck.faults.cdf import CDF_FAULTS, METRIC_FAULTS
from mergecheck.harness.selfcheck.faults.clauses import CLAUSE_FAULTS
from mergecheck.harness.selfcheck.faults.evolution import EVOLUTION_FAULTS
from mergecheck.harness.selfcheck.faults.large import LARGE_FAULTS
from mergecheck.harness.selfcheck.faults.matching import MATCHING_FAULTS
from mergecheck.harness.selfcheck.faults.resolution import RESOLUTION_FAULTS
from mergecheck.harness.selfcheck.faults.single_scan import SINGLE_SCAN_FAULTS
from mergecheck.harness.selfcheck.faults.skipping import SKIPPING_FAULTS
from mergecheck.harness.selfcheck.faults.writing import COMMIT_FAULTS, WRITING_FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.selfcheck.fault import Fault

CATALOGUE: tuple[Fault, ...] = (
    *MATCHING_FAULTS,
    *CLAUSE_FAULTS,
    *CDF_FAULTS,
    *METRIC_FAULTS,
    *SKIPPING_FAULTS,
    *WRITING_FAULTS,
    *COMMIT_FAULTS,
    *RESOLUTION_FAULTS,
    *EVOLUTION_FAULTS,
    *LARGE_FAULTS,
    *SINGLE_SCAN_FAULTS,
)


def chosen(names: Sequence[str]) -> tuple[Fault, ...]:
    """Choose faults by name; all without names.

    Raises:
        UserInputError: there is no fault of a name.
    """
    by_name = {fault.name: fault for fault in CATALOGUE}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise UserInputError(
            f"no fault is called {', '.join(unknown)}. mergecheck selfcheck --list shows the {len(by_name)} there are."
        )
    return tuple(by_name[name] for name in names) or CATALOGUE
