"""A difference between a case and the same case under a variant."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.findings.fingerprint import Fingerprint
    from mergecheck.harness.variants.variant import Variant
    from mergecheck.harness.verdict import CaseReport


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantFinding:
    """A difference that came twice.

    Attributes:
        report: of the smallest case known, whose settings name the variant; of the case alone where the base differs.
        explained: the same report, about the case that the reference was asked.
        hypotheses: faults of the engine that would give its answer.
        variant: of the axes that flip the outcome; None where the base itself differs from the reference.
        found_with: the variant that showed it first.
        rows_before: of target and source, before it was shrunk. num_runs, seconds: of shrinking.
        cut_short: whether a limit ended shrinking.
        examples: files of other cases that the first hypothesis explains under the same axes.
        mended_by: settings that switch off a part of the variant's plugin, each of which alone brings the outcome back.
        plugin_options: of the command line, which name the variant's plugin.
    """

    fingerprint: Fingerprint
    report: CaseReport
    explained: CaseReport
    variant: Variant | None
    found_with: Variant | None
    hypotheses: tuple[str, ...] = ()
    mended_by: tuple[str, ...] = ()
    plugin_options: tuple[str, ...] = ()
    path: Path | None = None
    rows_before: tuple[int, int] = (0, 0)
    num_runs: int = 0
    seconds: float = 0.0
    cut_short: bool = False
    examples: tuple[Path, ...] = ()

    def command(self, where: Path | str) -> str:
        """Write the command that checks the case again.

        Args:
            where: the case's file.
        """
        verb = "replay" if self.variant is None else "variants"
        options = "".join(f" {shlex.quote(word)}" for word in self.plugin_options)
        return f"mergecheck {verb}{self.report.rerun.flags()}{options} {shlex.quote(str(where))}"
