"""The report of an enumeration: lines for a person, and JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.harness.lab.concurrency.history import EndingKind  # noqa: TC001 - dataclass fields are read at run time by tools
from mergecheck.harness.lab.concurrency.judge import Conflict, rows_said
from mergecheck.harness.lab.concurrency.scenario import said
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mergecheck.harness.lab.concurrency.enumerate import Interleaving
    from mergecheck.harness.lab.concurrency.history import History
    from mergecheck.harness.lab.concurrency.judge import Verdict
    from mergecheck.harness.lab.concurrency.scenario import Scenario, Writer

MAX_FINDINGS = 3  # of one scenario that are shown


@dataclass(slots=True)
class Tally:
    """Counts the interleavings of one scenario, and keeps those with something wrong.

    Attributes:
        outcomes: how often the writers ended so and left the table so.
        endings: how writers ended, over all interleavings.
        conflicts: those who lost, graded.
        refusal: why the engine does not support the scenario; empty if it does.
        num_unserial: interleavings that equal no serial order, which is a finding unless the level is ``Snapshot``.
    """

    scenario: Scenario
    outcomes: Counter[str] = field(default_factory=Counter)
    endings: Counter[EndingKind] = field(default_factory=Counter)
    findings: list[Interleaving] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    num_unserial: int = 0
    refusal: str = ""

    @property
    def num_interleavings(self) -> int:
        """How many were run."""
        return self.outcomes.total()

    def add(self, one: Interleaving) -> None:
        """Count one."""
        self.outcomes[_outcome(one.history)] += 1
        self.endings.update(ending.kind for ending in one.history.endings.values())
        self.conflicts += one.verdict.conflicts
        self.num_unserial += not one.verdict.is_serial
        if one.verdict.problems:
            self.findings.append(one)

    def line(self) -> str:
        """Describe the interleaving in one line."""
        if self.refusal:
            return f"{self.scenario.name:<22} not run: {self.refusal}"
        wrong = f"{len(self.findings)} findings" if self.findings else "agree"
        if self.num_unserial and not self.findings:
            wrong += f", {self.num_unserial} in no serial order"
        return (
            f"{self.scenario.name:<22} {self.num_interleavings:>4} interleavings, {len(self.outcomes):>3} histories  "
            f"{wrong}{f'; {graded_text(self.conflicts)}' if self.conflicts else ''}"
        )

    @property
    def num_needless(self) -> int:
        """How many of the conflicts protected nothing."""
        return sum(conflict.is_needless for conflict in self.conflicts)


def graded_text(conflicts: Sequence[Conflict]) -> str:
    """Count conflicts, those that protected nothing, and those that R-750 does not want."""
    needless = sum(conflict.is_needless for conflict in conflicts)
    beyond = sum(not conflict.is_by_rule for conflict in conflicts)
    parts = [f"{needless} needless" if needless else "", f"{beyond} beyond R-750" if beyond else ""]
    return ", ".join(filter(None, [counted(len(conflicts), "conflict"), *parts]))


def summary_line(tallies: Sequence[Tally]) -> str:
    """Count over all scenarios."""
    endings: Counter[EndingKind] = sum((tally.endings for tally in tallies), Counter())
    endings_text = ", ".join(f"{count} {kind.value}" for kind, count in endings.most_common())
    conflicts = [conflict for tally in tallies for conflict in tally.conflicts]
    num_unserial = sum(tally.num_unserial for tally in tallies)
    unserial = f", {num_unserial} in no serial order" if num_unserial else ""
    not_run = sum(bool(tally.refusal) for tally in tallies)
    refused = f" ({not_run} not run)" if not_run else ""
    return (
        f"{len(tallies)} scenarios{refused}, {sum(t.num_interleavings for t in tallies)} interleavings, "
        f"{sum(len(t.outcomes) for t in tallies)} histories, {sum(len(t.findings) for t in tallies)} findings"
        f"{unserial}\n"
        f"writers: {endings_text}{f'; {graded_text(conflicts)}' if conflicts else ''}"
    )


def finding_lines(one: Interleaving) -> list[str]:
    """Show a finding: the writers, the interleaving, the table at the end and the serial orders tried."""
    head = f"MISMATCH  {one.scenario.name}: {one.scenario.summary}"
    return [head, *history_lines(one.scenario.writers, one.history, one.verdict)]


def history_lines(writers: Sequence[Writer], history: History, verdict: Verdict) -> list[str]:
    """Show a history with which something is wrong."""
    last = history.states[-1]
    tried = [f"{', '.join(one.order) or 'nobody'}: {one.difference or 'gives the history'}" for one in verdict.tried]
    return [
        *(f"  {problem}" for problem in verdict.problems),
        *_section("writers", [f"{writer.name}: {said(writer.action)}" for writer in writers]),
        *_section("what happened", history.events),
        *_section("endings", [f"{name} {ending.said()}" for name, ending in sorted(history.endings.items())]),
        *_section(f"the table at version {last.version}", [rows_said(last.rows, last.schema)]),
        *_section("serial orders, that of the log first", tried),
    ]


def tally_json(tally: Tally) -> dict[str, Any]:
    """Return the counts as JSON."""
    return {
        "scenario": tally.scenario.name,
        "not_run": tally.refusal or None,
        "interleavings": tally.num_interleavings,
        "histories": len(tally.outcomes),
        "endings": {kind.name.lower(): count for kind, count in tally.endings.items()},
        "conflicts": len(tally.conflicts),
        "needless_conflicts": tally.num_needless,
        "conflicts_beyond_rule": sum(not conflict.is_by_rule for conflict in tally.conflicts),
        "in_no_serial_order": tally.num_unserial,
        "findings": [finding_json(one.history, one.verdict) for one in tally.findings],
    }


def finding_json(history: History, verdict: Verdict) -> dict[str, Any]:
    """Return a history's faults as JSON."""
    return {
        "problems": list(verdict.problems),
        "events": list(history.events),
        "endings": {name: ending.said() for name, ending in history.endings.items()},
        "rows": rows_said(history.states[-1].rows, history.states[-1].schema),
        "orders": [{"order": list(one.order), "difference": one.difference} for one in verdict.tried],
    }


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title}:", *(f"    {line}" for line in lines)] if lines else []


def _outcome(history: History) -> str:
    """Name the result of an interleaving."""
    endings = sorted((name, ending.said()) for name, ending in history.endings.items())
    return f"{endings} {[rows_said(state.rows, state.schema) for state in history.states]}"
