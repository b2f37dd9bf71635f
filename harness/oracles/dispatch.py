"""What judges an engine's answer: the reference, metamorphic relations, or one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.oracles.relations.oracle import RELATIONS, check_relations
from mergecheck.harness.verdict import Oracle, Verdict
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.findings.store import Fingerprint
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Reference


def ask(
    oracle: Oracle,
    case: Case,
    engine: Engine,
    *,
    reference: Callable[[Case], Reference] = evaluate,
    about: Fingerprint | None = None,
    skip_reference_if_unsupported: bool = False,
) -> CaseReport:
    """Check one case.

    Args:
        oracle: what judges. With both, relations are tried where the reference agrees.
        case: what to run.
        engine: the system under test.
        reference: evaluates the case, where it is asked.
        about: the finding that the case may be a smaller form of: nothing but what it is about is tried.
        skip_reference_if_unsupported: see ``check_case``.
    """
    relations = RELATIONS if about is None else tuple(one for one in RELATIONS if one.name == about.against)
    if oracle is Oracle.METAMORPHIC:
        return check_relations(case, engine, relations)
    report = check_case(case, engine, reference=reference, skip_reference_if_unsupported=skip_reference_if_unsupported)
    if oracle is Oracle.REFERENCE or report.verdict is not Verdict.AGREE:
        return report
    related = check_relations(case, engine, relations, answer=report.result)
    return related if related.verdict is Verdict.MISMATCH else report
