"""The input of an output mutation: an engine's answer to a case, and the reference's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.harness.engine import Capabilities
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Outcome, Rejection
    from mergecheck.reference.answer import Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An engine's answer to a case, and the reference's answer."""

    case: Case
    reference: Reference
    capabilities: Capabilities
    result: Outcome | Rejection
