"""Opens sessions of Spark Connect: with a time limit, with Spark's default settings, and with ``mergecheck.merge``."""

from __future__ import annotations

import atexit
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mergecheck.harness.configuration.extras import missing_extra
from mergecheck.harness.engines.spark.workers import package_of_merge, require_answer, require_workers
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.verdict import EngineDownError, UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from mergecheck.harness.engines.spark.config import SparkPlace

READY_SECONDS = 15.0
"""Seconds that a server may take to answer by gRPC."""
_MAX_RETRIES = 5
"""Retries of a call: about 17 s in all, instead of the client's ten minutes."""

# Cases assume these settings; the server's administrator may have set others.
_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
}


def start_remote(place: SparkPlace, settings: Mapping[str, str]) -> SparkSession:
    """Open the session of this process at a Spark Connect server.

    Raises:
        EngineDownError: if there is no answer, or the server is not Spark Connect or has no workers.
        MissingExtraError: if the client's packages are not installed.
        UserInputError: for an address that Spark Connect does not accept.
    """
    with _quietly():
        _require_server(place)
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an import of half a second, which only Spark runs need

        try:
            session = _prepared(SparkSession.builder.remote(place.remote or "").getOrCreate(), settings)
        except Exception as error:
            raise EngineDownError(f"no session at {place.url}: {_first_line(error)}") from error
        require_workers(session, place, give_up=cast("Any", session).interruptAll)
    return session


def another_remote(place: SparkPlace, settings: Mapping[str, str]) -> SparkSession:
    """Open a session at the same server with SQL settings and temporary views of its own; it ends with the process."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession  # noqa: PLC0415 - the same

    with _quietly():
        builder = RemoteSession.builder.remote(place.remote or "")
        session = _prepared(cast("SparkSession", builder.create()), settings)
    # a channel that is closed after Python's threads have ended waits for one, and the process never ends
    atexit.register(session.stop)
    return session


def make_active(session: SparkSession) -> None:
    """Make a session of Spark Connect this thread's active session; does nothing for a classic session.

    PySpark 4.2 looks for a local checkpoint in the active session. By default that is the first session of the process,
    whose server side does not have the checkpoint (``DATAFRAME_NOT_FOUND``).
    """
    if is_remote(session):
        cast("Any", type(session))._active_session.session = session  # noqa: SLF001 - PySpark has no public setter


def is_remote(session: SparkSession) -> bool:
    """Return whether a session is a Spark Connect session."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _prepared(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415 - the same

    cast("Any", session).client.set_retry_policies([DefaultPolicy(max_retries=_MAX_RETRIES)])
    for name, value in {**_SETTINGS, **settings}.items():
        session.conf.set(name, value)
    with tempfile.TemporaryDirectory(prefix=f"{owned_prefix()}package-") as folder:
        session.addArtifacts(str(package_of_merge(Path(folder))), pyfile=True)
    return session


def _require_server(place: SparkPlace) -> None:
    """Check that a gRPC server answers; creating a session would wait for one."""
    require_answer(place)
    try:
        import grpc  # type: ignore[import-untyped,unused-ignore] # noqa: PLC0415 - not installed for everyone
        from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 - the same
    except ImportError as error:
        missing = missing_extra(error, "Spark Connect", extra="connect")
        raise missing or EngineDownError(f"the client of Spark Connect cannot be used: {_first_line(error)}") from error
    from pyspark.errors import PySparkException  # noqa: PLC0415 - the same

    try:
        channel = DefaultChannelBuilder(place.remote or "").toChannel()
    except PySparkException as error:
        raise UserInputError(f"the Spark Connect server {place.url!r} cannot be used: {_first_line(error)}") from error
    try:
        grpc.channel_ready_future(channel).result(timeout=READY_SECONDS)
    except grpc.FutureTimeoutError:
        raise EngineDownError(
            f"somebody answers at {place.url}, but not as a Spark Connect server does within {READY_SECONDS:.0f} s. "
            "Check the port: a Connect server listens at 15002 if nothing else was said, a cluster's master is given "
            "by --master."
        ) from None
    finally:
        channel.close()


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


@contextmanager
def _quietly() -> Iterator[None]:
    """Ignore PySpark's warnings about the version of pandas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield
