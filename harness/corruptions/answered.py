"""What is corrupted: an engine's answer to a case, and what it is held against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.harness.engine import Capabilities
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Outcome, Reference, Rejection


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An engine's answer to a case, and what it is held against."""

    case: Case
    reference: Reference
    capabilities: Capabilities
    result: Outcome | Rejection
