"""Ships ``mergecheck.merge`` to the workers of a cluster or a Connect server, and checks them before the first case.

A worker needs pyarrow, numpy and Python of this process's minor version. A cluster without a free worker lets a query
wait for ever, so the check is a query with a time limit.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
import uuid
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.engines.spark.s3a_jars import s3a_jars
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from mergecheck.harness.engines.spark.config import SparkPlace
    from mergecheck.merge.table.storage.store_access import StoreAccess

ANSWER_SECONDS = 5.0
"""Seconds that a host may take to accept a connection."""
FIRST_QUERY_SECONDS = 90.0
"""Seconds that a cluster may take to assign the first cores and to start Python there."""

_NUM_TASKS = 4  # so that more than one worker is likely to be checked
_REPORT = "imports STRING, sees_tables BOOLEAN"


def require_answer(place: SparkPlace) -> None:
    """Check that a server listens at the place; Spark itself would try for minutes.

    Raises:
        EngineDownError: if no server accepts a connection.
    """
    reasons = []
    for host, port in place.addresses:
        try:
            with socket.create_connection((host, port), timeout=ANSWER_SECONDS):
                return
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
    if reasons:
        raise EngineDownError(
            f"nobody answers at {place.url} ({'; '.join(reasons)}). Start Spark there, or correct the address; the "
            'README says how to start one on this machine ("On a cluster").'
        )


def package_of_merge(folder: Path) -> Path:
    """Write ``mergecheck.merge`` as a zip file that workers can import.

    Args:
        folder: where to write it.

    Returns:
        The file.
    """
    root = Path(__file__).parents[3]
    path = folder / "mergecheck_merge.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for file in (root / "__init__.py", *sorted((root / "merge").rglob("*.py"))):
            package.write(file, Path(root.name) / file.relative_to(root))
    return path


def require_workers(session: SparkSession, place: SparkPlace, *, give_up: Callable[[], object]) -> None:
    """Check by a query that there are workers, that they can import ``mergecheck.merge``, and that they see tables.

    Args:
        session: of the cluster or the server.
        place: where it runs.
        give_up: cancels the session's queries; called if the time is up.

    Raises:
        EngineDownError: if there is no worker, a worker's Python lacks a package or does not see the table root, or
            Spark cannot read the store of the table root.
    """
    with _token(place) as token, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # PySpark warns of the version of pandas, which is not used here
        access = place.store.access if place.store is not None else None
        answer = _in_time(lambda: _reports(session, token, access), give_up)
        if isinstance(answer, Exception):
            raise EngineDownError(_why(answer, place)) from answer
        if answer is None:
            raise EngineDownError(
                f"{place.url} runs nothing: the first query waited {FIRST_QUERY_SECONDS:.0f} s. Start workers, or end "
                "applications that hold their cores and memory; the page of the master shows both."
            )
        lacking = sorted({row["imports"] for row in answer if row["imports"]})
        if lacking:
            raise EngineDownError(
                f"the Python of the workers at {place.url} cannot run the merge: {lacking[0]}. Install pyarrow and "
                "numpy for it, or name another Python by PYSPARK_PYTHON (in the environment of a Connect server)."
            )
        if not all(row["sees_tables"] for row in answer):
            raise EngineDownError(
                f"the workers at {place.url} do not see {token.rpartition('/')[0]}, where tables are made. Give "
                "--table-root a directory that this machine and all workers share under one path, or a store that "
                "all of them reach (their Python needs obstore for it)."
            )
        if place.store is not None:
            problem = _in_time(lambda: session.read.text(token).collect(), give_up)
            if not isinstance(problem, list):
                raise EngineDownError(_without_store(problem, place)) from problem


def _reports(session: SparkSession, token: str, access: StoreAccess | None) -> list[Any]:
    spread = session.range(0, _NUM_TASKS, 1, _NUM_TASKS)
    return spread.mapInArrow(_reporter(token, access), _REPORT).collect()


def _reporter(token: str, access: StoreAccess | None) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function that workers run; it is nested because workers cannot import this module."""

    def report(batches: Iterator[Any]) -> Iterator[Any]:
        import contextlib  # noqa: PLC0415 - imports of the worker
        import importlib  # noqa: PLC0415 - the same
        import os  # noqa: PLC0415 - the same

        import pyarrow as pa  # noqa: PLC0415 - the same

        for _ in batches:
            pass
        problem = None
        try:
            for name in (
                "writing.writer",
                "writing.copied_rows",
                "writing.modified_rows",
                "writing.touched_rows",
                "reading.key_ranges",
            ):
                importlib.import_module(f"mergecheck.merge.table.{name}")
        except ImportError as error:
            problem = f"{type(error).__name__}: {error}"
        seen = False
        if problem is None:
            storage = importlib.import_module("mergecheck.merge.table.storage.storage")
            with contextlib.suppress(Exception), storage.open_storage(token, access).local_copy(token) as path:
                seen = os.path.isfile(path)  # noqa: PTH113 - the same
        yield pa.RecordBatch.from_pydict(
            {"imports": pa.array([problem], pa.string()), "sees_tables": pa.array([seen], pa.bool_())}
        )

    return report


def _in_time(ask: Callable[[], list[Any]], give_up: Callable[[], object]) -> list[Any] | Exception | None:
    """Ask in a thread; return the answer, the error, or None if the time is up."""
    answers: list[list[Any] | Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # noqa: BLE001 - returned to the waiting thread
            answers.append(error)

    thread = threading.Thread(target=run, name="mergecheck-first-query", daemon=True)
    thread.start()
    thread.join(FIRST_QUERY_SECONDS)
    if answers:
        return answers[0]
    with contextlib.suppress(Exception):  # the caller reports the timeout
        give_up()
    return None


def _why(error: Exception, place: SparkPlace) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    found = next((line for line in reversed(lines) if "Error: " in line and not line.startswith("at ")), None)
    text = found or next((line for line in lines if line), type(error).__name__)
    return (
        f"the workers at {place.url} cannot run Python: {text}\nThey need pyarrow and the Python version of this "
        "process; PYSPARK_PYTHON names it (in the server's environment, for Spark Connect)."
    )


def _without_store(problem: Exception | None, place: SparkPlace) -> str:
    lines = (line.strip() for line in str(problem or "no answer").splitlines())
    packages = ",".join(s3a_jars().coordinates)
    return (
        f"Spark at {place.url} cannot read {place.table_root}: {next((line for line in lines if line), '')}\nA Spark "
        f"Connect server must be started with S3A (--packages {packages} --conf "
        f"spark.jars.excludes={','.join(s3a_jars().excluded)}) and with the store's endpoint and keys "
        "(spark.hadoop.fs.s3a.*); to a cluster they are given from here."
    )


@contextlib.contextmanager
def _token(place: SparkPlace) -> Iterator[str]:
    """Make an empty file where tables are made, for the block, and give its path or URI."""
    name = f".mergecheck-{uuid.uuid4().hex}"
    if place.store is not None:
        import obstore  # noqa: PLC0415 - needed only for tables in a store

        store = place.store.open()
        obstore.put(store, name, b"")
        try:
            yield f"{place.store}/{name}"
        finally:
            obstore.delete(store, name)
        return
    folder = place.table_root if isinstance(place.table_root, Path) else Path(tempfile.gettempdir())
    path = folder / name
    path.touch()
    try:
        yield str(path)
    finally:
        path.unlink(missing_ok=True)
