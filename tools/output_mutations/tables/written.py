"""A table that an engine merged into, and how a changed copy of it is judged."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.observe import observe
from mergecheck.harness.delta.read import read_actions, table_metadata
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_target
from mergecheck.harness.lab.mutants import RecordedEngine
from mergecheck.harness.oracles.prepared_case import PreparedCase
from mergecheck.harness.oracles.reference_oracle import check_prepared
from mergecheck.harness.verdict import Verdict
from mergecheck.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mergecheck.harness.delta.table_files import TableFiles
    from mergecheck.harness.engine import Capabilities, ExistingTableEngine
    from mergecheck.model.case import Case
    from mergecheck.reference.answer import Reference

Action = dict[str, Any]
Files = dict[str, bytes | None]
"""New contents of files, by their paths in the table; None for one that is to go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of a table.

    Attributes:
        kind: the change, in words.
        files: the changed files.
        reason: why Delta's protocol allows it; empty if another reader could see the change, so that it must be found.
    """

    kind: str
    files: Files
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTable:
    """A table after a merge that agrees with the reference.

    Attributes:
        case: the merge.
        reference: the reference's answer.
        path: the table.
        contents: of all its files.
        before: its files before the merge.
        outcome: as it was read from the table.
        capabilities: of the engine.
    """

    case: Case
    reference: Reference
    path: Path
    contents: Mapping[str, bytes]
    before: TableFiles
    outcome: TableOutcome
    capabilities: Capabilities

    @property
    def version(self) -> int:
        """The version that the merge made."""
        return self.before.version + 1

    @property
    def log_file(self) -> str:
        """The commit of the merge."""
        return f"_delta_log/{self.version:020}.json"

    @property
    def actions(self) -> list[Action]:
        """A copy of the actions of the merge."""
        return copy.deepcopy(list(read_actions(self.path, self.version)))

    @property
    def metadata(self) -> Action:
        """The table's definition in the log."""
        return table_metadata(self.path, self.version)

    def committing(self, actions: Sequence[Action], files: Files | None = None) -> Files:
        """Give the files of a table with other actions."""
        text = "".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions)
        return {**(files or {}), self.log_file: text.encode()}

    def rewriting(self, place: int, content: bytes) -> Files:
        """Give the files of a table whose action at a place has a file of another content; sizes and metrics fit it."""
        actions = self.actions
        ((kind, file),) = actions[place].items()
        before, file["size"] = file["size"], len(content)
        metrics = next((a["commitInfo"].get("operationMetrics") for a in actions if "commitInfo" in a), None) or {}
        if kind == "add" and "numTargetBytesAdded" in metrics:
            metrics["numTargetBytesAdded"] = str(int(metrics["numTargetBytesAdded"]) + len(content) - before)
        return self.committing(actions, {file_name(file): content})

    def verdict(self, mutant: Mutant | None = None) -> Verdict:
        """Judge the table, changed for the moment."""
        files = {} if mutant is None else mutant.files
        try:
            for name, content in files.items():
                _put(self.path / name, content)
            answer = observe(
                self.path,
                metrics=self.outcome.metrics,
                taken=self.outcome.path,
                conf=self.case.conf,
                before=self.before,
                result_row=self.outcome.result_row,
            )
        finally:
            for name in files:
                _put(self.path / name, self.contents.get(name))
        if isinstance(answer, Outcome) and self.outcome.path is not None:
            answer = replace(answer, path=self.outcome.path)
        engine = RecordedEngine(name="recorded", version="", capabilities=self.capabilities, answer=answer)
        return check_prepared(PreparedCase(self.case, self.reference), engine).verdict


def write_table(engine: ExistingTableEngine, case: Case, reference: Reference, path: Path) -> WrittenTable | None:
    """Merge a case into a table that stays.

    Args:
        engine: the system under test.
        case: what to merge.
        reference: the reference's answer.
        path: an empty folder.

    Returns:
        None if there is no commit, or one without metrics, or the answer does not agree.
    """
    try:
        write_target(case.target, path)
    except UnwritableTableError:
        return None
    before = files_of(path)
    outcome = engine.run_on(case, path)
    if not isinstance(outcome, TableOutcome) or not outcome.committed or not outcome.history_metrics:
        return None
    contents = {name: (path / name).read_bytes() for name in files_of(path).digests}
    table = WrittenTable(
        case=case,
        reference=reference,
        path=path,
        contents=contents,
        before=before,
        outcome=outcome,
        capabilities=engine.capabilities,
    )
    return table if table.verdict() is Verdict.AGREE else None


def file_name(file: Action) -> str:
    """Name the file of an action as its path in the table."""
    return unquote(file["path"])


def _put(file: Path, content: bytes | None) -> None:
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
