"""The engine ``delta-rs``: the merge of the Python package ``deltalake``, in a process of its own."""

from __future__ import annotations

import functools
import importlib.metadata
import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
from deltalake import DeltaTable

from mergecheck.harness.compare.table_outcome import TableOutcome
from mergecheck.harness.delta.arrow_layout import source_batches
from mergecheck.harness.delta.observe import is_unchanged
from mergecheck.harness.delta.read import newest_version
from mergecheck.harness.delta.table_files import files_of
from mergecheck.harness.delta.write import UnwritableTableError, write_target
from mergecheck.harness.engine import Capabilities, Lost, Point, PointKind, Written
from mergecheck.harness.engines.delta_rs.outcome import COMMIT_INFO, COMPARED_METRICS, observed, with_library_feed
from mergecheck.harness.engines.delta_rs.releases import (
    features_off,
    feed_takes_comments,
    knows_string_view,
    refuses_several_acts,
    requirements,
)
from mergecheck.harness.engines.delta_rs.statement import PREFIX, merge_calls
from mergecheck.harness.engines.delta_rs.types import UntranslatableError
from mergecheck.harness.engines.read_rows import arrow_rows
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.engines.venvs import environment_python
from mergecheck.harness.processes.start import half_of_memory
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.axis import Axis
from mergecheck.model.case import Source
from mergecheck.model.outcome import Rejection, Unsupported
from mergecheck.model.storage import StringType
from mergecheck.reference import MergeReference
from mergecheck.reference.dialects import DELTA, DELTA_RS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.engines.delta_rs.statement import MergeCalls
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

UNREADABLE_FEED = "MERGECHECK_UNREADABLE_FEED"
"""Error class of a merge whose change feed the library's own reader cannot read."""

_WORKER = Path(__file__).with_name("worker.py")
_TIMEOUT = 60.0
_SWITCHES = ("streamed_exec",)
# The releases' errors for an unknown table protocol: the table is at fault, not the merge.
_NO_SUCH_TABLE = re.compile(
    r"(unsupported|not supported|does not support|unknown)[^.]*(reader|writer|table|column mapping)[ -]*"
    r"(feature|version)|(reader|writer) (version|feature)[^.]*(not|un)[ ]?supported|"
    r"minimum (reader|writer) version|Transaction failed.*[Uu]nsupported",
    re.IGNORECASE | re.DOTALL,
)
# The errors of operations that a release does not have yet for tables with column mapping: a refusal, no fault.
_NOT_YET = re.compile(r"column[- ]mapp(ed|ing)[^.]*not (yet )?supported", re.IGNORECASE | re.DOTALL)

_LOST = re.compile("CommitFailedError: .*(concurrent|changed since last)", re.DOTALL)
"""The message of a commit that lost: its rows, the metadata or the protocol have changed."""

_REASONS = {
    "metrics": "which files are rewritten, and so which rows are copied, is the engine's choice; invariants check sums",
    "error": "delta-rs's errors have no classes of Delta's",
    "commit": "delta-rs makes no version where no row changes, also where Delta does",
    "path": "delta-rs has one way to run a merge",
    "log": "delta-rs's commitInfo has some of Delta's entries only",
    "result": "delta-rs returns metrics, no row",
}


class DeltaRsEngine:
    """Runs a case through ``DeltaTable.merge`` on a fresh Delta table, in a child process.

    The statement becomes the merger's own calls; the source goes over as an Arrow table. The table is read back by
    its log and files, and its change feed by ``load_cdf``. A process that dies or hangs is an answer.

    Args:
        version: which release; without one, the installed one.
        python: the interpreter of an environment that has it.
    """

    name = "delta-rs"
    capabilities: Capabilities

    def __init__(self, *, version: str | None = None, python: Path | None = None) -> None:
        self.version = version or importlib.metadata.version("deltalake")
        self._python = python
        self._reference = MergeReference()
        self._worker = WorkerProcess(python or Path(sys.executable), _WORKER, max_memory=half_of_memory())
        self._options = self._known_options(asks=python is not None)
        self.capabilities = Capabilities(
            error_class=False,
            metric_names=COMPARED_METRICS,
            commit_info=COMMIT_INFO,
            reasons=_REASONS,
            features_off=features_off(self._options),
            axes=(
                *(Axis(f"{PREFIX}{name}", values=("true", "false")) for name in _SWITCHES if name in self._options),
                Axis(f"{PREFIX}stream", values=("false", "true")),
            ),
            dialect=DELTA_RS if refuses_several_acts(self.version) else DELTA,
        )

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs a released ``deltalake`` in an environment of its own.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be installed here.
        """
        if not re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)?", version):
            raise UserInputError(f"{version!r} is no version of delta-rs: give a released one, such as delta-rs@1.6.0")
        return cls(version=version, python=environment_python("delta-rs", version, requirements(version)))

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), version=self.version, python=self._python)

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return why this release, or the translation, does not support a case."""
        said = self._translate(case)
        return said if isinstance(said, Unsupported) else None

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        calls = self._translate(case)
        if isinstance(calls, Unsupported):
            return calls
        with scratch_directory() as directory:
            try:
                # a release that fails on comments fails on every such table, and nothing else could be found
                described = not case.target.change_data_feed or feed_takes_comments(self.version)
                write_target(case.target, directory / "target", described=described)
            except UnwritableTableError as error:
                return Unsupported(f"table: {error}")
            return self._merge(case, calls, directory / "target", directory)

    def run_on(self, case: Case, table: Path) -> EngineResult:
        """Run a case on an existing table, which stays; the case's target holds its current rows.

        Raises:
            EngineDownError: as for ``run``.
        """
        calls = self._translate(case)
        if isinstance(calls, Unsupported):
            return calls
        with scratch_directory() as directory:
            return self._merge(case, calls, table, directory)

    def fork(self) -> DeltaRsEngine:
        """Return an engine with a process of its own."""
        return DeltaRsEngine(version=self.version, python=self._python)

    def run_in_steps(
        self, case: Case, table: Path, at: Callable[[Point], None]
    ) -> Written | Lost | Rejection | Unsupported:
        """Merge into an existing table, and stop before it is loaded, and before the merge of the loaded version.

        Files never change, so it makes no difference that they are read behind the second point.

        Raises:
            EngineDownError: as for ``run``.
        """
        if case.source is None:
            return Unsupported("a source that reads the target: the library takes rows, which are computed beforehand")
        calls = self._translate(case)
        if isinstance(calls, Unsupported):
            return calls
        at(Point(PointKind.BEFORE_SNAPSHOT))
        newest: list[int] = []

        def before_commit() -> None:
            at(Point(PointKind.BEFORE_COMMIT))
            newest.append(newest_version(table))

        with scratch_directory() as directory:
            source = directory / "source.arrow"
            _write_source(case, calls, source, string_view=knows_string_view(self.version))
            request = {**_request(calls, table, source), "stops": True}
            answer = self._worker.answer(request, timeout=_TIMEOUT, at=before_commit)
        failed = _failure(answer)
        if isinstance(failed, Rejection) and _LOST.match(failed.message):
            return Lost(error_class=failed.error_class, message=failed.message)
        return failed or Written(committed=newest_version(table) > newest[-1])

    def rows_of(self, table: Path, schema: Schema) -> tuple[Row, ...]:
        """Read a table with these columns.

        Raises:
            UnreadableByEngineError: it is not readable for the library.
            EngineDownError: as for ``run``.
        """
        with scratch_directory() as directory:
            out = directory / "rows.arrow"
            answer = self._worker.answer({"do": "rows", "path": str(table), "out": str(out)}, timeout=_TIMEOUT)
            return arrow_rows(answer, out, schema)

    def close(self) -> None:
        """End the child."""
        self._worker.close()

    def _known_options(self, *, asks: bool) -> Collection[str]:
        if not asks:
            return tuple(inspect.signature(DeltaTable.merge).parameters)
        said = self._worker.ask({"do": "version"}, timeout=_TIMEOUT)
        return tuple(said["options"])

    def _translate(self, case: Case) -> MergeCalls | Unsupported:
        """Translate a case's MERGE to the calls of the library."""
        try:
            calls = merge_calls(case, self._reference)
        except UntranslatableError as error:
            return Unsupported(error.reason)
        if lacking := self._lacking(calls):
            return Unsupported(lacking)
        if case.target.layout.string_type is StringType.STRING_VIEW and not knows_string_view(self.version):
            return Unsupported("a file whose texts are Arrow views")
        return calls

    def _lacking(self, calls: MergeCalls) -> str | None:
        """Return which of the case's needs this release's merge has no argument for."""
        for option in calls.options:
            if option not in self._options:
                return f"option {option}"
        if "writer_properties" not in self._options and len(set(calls.kinds)) < len(calls.kinds):
            return "several clauses of a kind"  # the first releases keep the last call of each kind only
        return None

    def _merge(self, case: Case, calls: MergeCalls, path: Path, directory: Path) -> EngineResult:
        before = files_of(path)
        source = directory / "source.arrow"
        _write_source(case, calls, source, string_view=knows_string_view(self.version))
        answer = self._worker.answer(_request(calls, path, source), timeout=_TIMEOUT)
        if (failed := _failure(answer)) is not None:
            if isinstance(failed, Unsupported):
                return failed
            return replace(failed, unchanged=is_unchanged(case.target, path, before=before))
        assert isinstance(answer, dict)  # noqa: S101 - it has not failed
        outcome = observed(path, answer["metrics"], before=before)
        if isinstance(outcome, TableOutcome) and outcome.committed and outcome.cdf is not None:
            return self._with_feed(outcome, path, directory / "changes.arrow")
        return outcome

    def _with_feed(self, outcome: TableOutcome, path: Path, out: Path) -> TableOutcome | Rejection:
        """Read the change feed by ``load_cdf`` too, in the releases that have it."""
        request = {"do": "changes", "path": str(path), "version": newest_version(path), "out": str(out)}
        answer = self._worker.answer(request, timeout=_TIMEOUT)
        if isinstance(answer, Rejection) or "lacks" in answer:
            return outcome if isinstance(answer, dict) else answer
        if "error" in answer:
            error = answer["error"]
            if _NOT_YET.search(error["message"]):  # the feed was read from the table's files
                return outcome
            message = f"the merge succeeded, but load_cdf failed: {error['class']}: {error['message']}"
            return Rejection(error_class=UNREADABLE_FEED, message=message)
        try:
            with pa.OSFile(str(out)) as file:
                return with_library_feed(outcome, pa.ipc.open_stream(file).read_all())
        except (pa.ArrowException, ValueError) as error:
            return Rejection(error_class=UNREADABLE_FEED, message=f"{type(error).__name__}: {error}")


def _request(calls: MergeCalls, path: Path, source: Path) -> dict[str, Any]:
    """Write the request for a merge of a source, an Arrow file, into a table."""
    return {
        "do": "merge",
        "path": str(path),
        "source": str(source),
        "predicate": calls.predicate,
        "source_alias": calls.source_alias,
        "target_alias": calls.target_alias,
        "options": calls.options,
        "stream": calls.stream,
        "clauses": calls.clauses,
    }


def _failure(answer: dict[str, Any] | Rejection) -> Unsupported | Rejection | None:
    """Return the end of a merge that did not succeed; None if it did."""
    if isinstance(answer, Rejection):
        return answer
    if "lacks" in answer:
        return Unsupported(answer["lacks"])
    if "error" not in answer:
        return None
    name, message = answer["error"]["class"], answer["error"]["message"]
    if _NO_SUCH_TABLE.search(message):
        return Unsupported("a table protocol that this release does not know")
    if _NOT_YET.search(message):
        return Unsupported("that merge of a table with column mapping")
    return Rejection(error_class=error_class(name, message), message=f"{name}: {message}")


def error_class(name: str, message: str) -> str:
    """Name an error by its exception and its first words, without what differs from case to case."""
    first = message.strip().splitlines()[0] if message.strip() else ""
    plain = re.sub(r'"[^"]*"|\'[^\']*\'|`[^`]*`|[(\[{].*', "", first)
    words = re.sub(r"[^A-Za-z]+", " ", plain).split()
    return f"{name}: {' '.join(words[:8])}".rstrip(": ")


def _write_source(case: Case, calls: MergeCalls, path: Path, *, string_view: bool) -> None:
    """Write the source's rows as an Arrow file in the layout that the case wants."""
    layout = case.source.layout if case.source is not None else Source(schema=calls.source_schema).layout
    source = Source(schema=calls.source_schema, rows=calls.source_rows, layout=layout)
    batches = source_batches(source, string_view=string_view)
    # buffers that are decompressed are aligned as Arrow recommends, which the first releases insist on
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
