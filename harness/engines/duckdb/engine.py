"""The engine ``duckdb``: DuckDB's own MERGE INTO, in a process of its own."""

from __future__ import annotations

import functools
import importlib.metadata
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.duckdb.native_tables import rows_of
from mergecheck.harness.engines.duckdb.options import CONF_DOMAIN, parse_options
from mergecheck.harness.engines.duckdb.preparation import (
    COLUMNS,
    COLUMNS_BEFORE,
    COMMIT,
    MERGE,
    MISFITS,
    ROWS,
    prepare,
    returned,
)
from mergecheck.harness.engines.duckdb.returned import METRIC_NAMES, read_returned
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.engines.venvs import environment_python
from mergecheck.harness.processes.start import half_of_memory
from mergecheck.harness.processes.temp_dirs import directory_at, scratch_path
from mergecheck.model.axis import Axis
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference.dialects import DUCKDB_2_0_0, DUCKDB_2_0_1

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.engines.duckdb.preparation import Preparation
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

_WORKER = Path(__file__).with_name("worker.py")
_TIMEOUT = 60.0
_ENOUGH_WORDS = 3
_TWO_ANSWERS = "MERGECHECK_RETURNING_CHANGES_TABLE"
_UNREADABLE, _UNREADABLE_RETURNING = "MERGECHECK_UNREADABLE_TABLE", "MERGECHECK_UNREADABLE_RETURNING"
_OTHER_SCHEMA = "MERGECHECK_OTHER_SCHEMA"
_RAISED = re.compile(r"Invalid Input Error: UNSUPPORTED (.*)", re.DOTALL)


class DuckDbEngine:
    """Runs a case through DuckDB's ``MERGE INTO``, once plainly and once with RETURNING, each into a new table.

    The rows of the table come from the plain merge; the other must leave the same table. Numbers of rows and change
    rows come from RETURNING (the rows before an update follow from the tables). A merge that draws values by chance is
    run once, with RETURNING. Errors are DuckDB's own,
    which no rule of Delta's covers. A process that dies or hangs, or an internal error, is an answer.

    Args:
        version: which DuckDB; without one, the installed one.
        python: the interpreter of an environment that has it.
    """

    name = "duckdb"
    capabilities = Capabilities(
        error_class=False,
        dialect=DUCKDB_2_0_0,
        metric_names=METRIC_NAMES,
        reasons={
            "metrics": "DuckDB counts inserted, updated and deleted rows only",
            "error": "DuckDB's errors have no classes of Delta's",
            "commit": "a DuckDB table has no versions",
            "path": "DuckDB has one way to run a merge",
            "table": "a DuckDB table has no log",
            "log": "a DuckDB table has no log",
            "result": "DuckDB returns the number of affected rows only",
        },
        features_off=frozenset(
            {
                "partitions",
                "commit-settings",
                "awkward-partition-values",
                "schema-evolution",
                "schemas-without-columns-or-types",
                "case-sensitive-session",
                "duplicate-source-names",
                "append-only-target",
                "strict-store-assignment",
                "not-null-fields",
                "values-for-generated-columns",
                "random-values",
                "defaults-of-the-time",
            }
        ),
        axes=tuple(Axis(name, values=values) for name, values in CONF_DOMAIN.items()),
    )

    def __init__(self, *, version: str | None = None, python: Path | None = None) -> None:
        self.version = version or importlib.metadata.version("duckdb")
        if self.version != "2.0.0":  # the one release that refuses several acts on a row
            self.capabilities = replace(self.capabilities, dialect=DUCKDB_2_0_1)
        self._python = python
        self._worker = WorkerProcess(python or Path(sys.executable), _WORKER, max_memory=half_of_memory())

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs a released DuckDB in an environment of its own.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be installed here.
        """
        # before 2.0, DuckDB reads an Arrow stream with it
        packages = [f"duckdb=={version}", "pyarrow>=20"]
        return cls(version=version, python=environment_python("duckdb", version, packages))

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), version=self.version, python=self._python)

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return why DuckDB, or the translation, does not support a case."""
        prepared = _prepare(case)
        return prepared if isinstance(prepared, Unsupported) else None

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        preparation = _prepare(case)
        if isinstance(preparation, Unsupported):
            return preparation
        with directory_at(preparation.directory):
            plain = None if preparation.draws else self._attempt(preparation, returning=False)
            if isinstance(plain, Rejection | Unsupported):
                return plain
            returning = self._attempt(preparation, plain, returning=True)
            if not isinstance(returning, _Merged):
                return returning
            if preparation.extension:
                return Unsupported(f"DuckDB knows {preparation.extension}")
            return _outcome(case, plain, returning)

    def close(self) -> None:
        """End the child."""
        self._worker.close()

    def _attempt(
        self, preparation: Preparation, plain: _Merged | None = None, *, returning: bool
    ) -> _Merged | Rejection | Unsupported:
        """Merge; ``plain`` is the merge before without RETURNING, if there was one."""
        request = {"steps": preparation.steps(returning=returning)}
        reply = self._worker.answer(request, timeout=_TIMEOUT)
        if isinstance(reply, Rejection):
            return reply
        return _read(preparation, reply, plain, returning=returning)


def _prepare(case: Case) -> Preparation | Unsupported:
    """Translate a case."""
    try:
        return prepare(case, parse_options(case), scratch_path())
    except UnsupportedByReferenceError as error:
        return Unsupported(error.reason)
    except RejectedError as error:  # of the source query, which is translated whole
        return Unsupported(f"a source query that Delta refuses with {error.error_class}")


@dataclass(frozen=True, slots=True)
class _Merged:
    """A merge that succeeded: the table after it, its columns before and after, and the rows that MERGE gave."""

    rows: tuple[Row, ...]
    columns: list[tuple[str, ...]]
    result: tuple[Row, ...]


def _read(
    preparation: Preparation, reply: dict[str, Any], plain: _Merged | None, *, returning: bool
) -> _Merged | Rejection | Unsupported:
    if reply["failed"] is not None:
        if preparation.options.index == "primary-key" and reply["failed"]["class"] == "ConstraintException":
            return Unsupported("rows that no primary key allows")
        return Unsupported(f"setup: {error_class(reply['failed'])}")
    answers, schema = reply["answers"], preparation.case.target.schema
    if answers.get(MISFITS) not in (None, {"rows": []}):
        return Unsupported("a stored value that its generated column does not compute")
    for name in (MERGE, COMMIT):
        if "error" in answers.get(name, {}):
            return _rejection(preparation, answers[name]["error"], answers)
    for name in (ROWS, COLUMNS):
        if "error" in answers[name]:
            return Rejection(error_class=_UNREADABLE, message=answers[name]["error"]["message"], unchanged=False)
    wanted = _columns(answers[COLUMNS_BEFORE]) if plain is None else plain.columns
    if (found := _columns(answers[COLUMNS])) != wanted:
        return Rejection(error_class=_OTHER_SCHEMA, message=f"the table had {wanted}, now {found}", unchanged=False)
    what = _UNREADABLE
    try:
        rows = _readable(answers[ROWS], schema)
        what = _UNREADABLE_RETURNING
        result = _readable(answers[MERGE], returned(schema)) if returning else answers[MERGE]["rows"]
    except ValueError as error:
        return Rejection(error_class=what, message=str(error), unchanged=False)
    return _Merged(rows, found, result)


def _readable(answer: dict[str, Any], schema: Schema) -> tuple[Row, ...]:
    """Read the rows of an answer.

    Raises:
        ValueError: a value is none of its type: uninitialised memory.
    """
    if "unreadable" in answer:
        raise ValueError(answer["unreadable"])
    return rows_of(answer, schema)


def _rejection(preparation: Preparation, error: dict[str, str], answers: dict[str, Any]) -> Rejection | Unsupported:
    if raised := _RAISED.match(error["message"]):
        return Unsupported(raised.group(1).strip())
    if preparation.options.index == "primary-key" and error["class"] == "ConstraintException":
        return Unsupported("a merge that the primary key may forbid")
    case = preparation.case
    unchanged = None
    if preparation.restores and "rows" in answers[ROWS]:
        unchanged = same_rows(
            physical_rows(case.target), rows_of(answers[ROWS], case.target.schema), case.target.schema
        )
    return Rejection(error_class=error_class(error), message=error["message"], unchanged=unchanged)


def error_class(error: dict[str, str]) -> str:
    """Name an error by its kind and its words, without what differs from case to case: names, numbers, lists."""
    kind, _, text = error["message"].partition(": ")
    first = re.sub(r"\s*\n.*", "", text.strip(), flags=re.DOTALL)
    words = re.split(r"[^A-Za-z]+", re.split(r"[\"'(\[{]", first)[0].strip())
    if len(words) < _ENOUGH_WORDS:
        words = re.sub(r"[^A-Za-z]+", " ", re.sub(r'"[^"]*"|\'[^\']*\'|[(\[{].*', "", first)).split()
    return f"{kind.removesuffix(' Error').strip().upper().replace(' ', '_')}: {' '.join(words[:9]).strip()}"


def _columns(answer: dict[str, Any]) -> list[tuple[str, ...]]:
    """Name, type and nullability of each column; other output of DESCRIBE (keys, defaults) is no schema."""
    return [tuple(row[:3]) for row in answer["rows"]]


def _outcome(case: Case, plain: _Merged | None, returning: _Merged) -> Outcome | Rejection:
    schema = case.target.schema
    if plain is not None and not same_rows(plain.rows, returning.rows, schema):
        text = f"without RETURNING the table is {plain.rows}, with RETURNING it is {returning.rows}"
        return Rejection(error_class=_TWO_ANSWERS, message=text, unchanged=False)
    rows = read_returned(returning.result)
    changes = rows.changes(physical_rows(case.target), returning.rows, schema)
    changed = len(returning.result) if plain is None else plain.result[0][0]
    return Outcome(
        schema=schema,
        rows=returning.rows if plain is None else plain.rows,
        metrics=rows.metrics(changed),
        cdf=changes if case.target.change_data_feed else None,
    )
