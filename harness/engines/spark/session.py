"""Starts the Spark session of this process, and switches it between named profiles of SQL settings.

All profiles share one JVM, so that a run can switch from the fast profile to the one close to production from case to
case.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark.class_archive import archive_option, spark_home
from mergecheck.harness.engines.spark.config import current_place, note_use
from mergecheck.harness.engines.spark.connect import another_remote, is_remote, start_remote
from mergecheck.harness.engines.spark.java_home import check_java
from mergecheck.harness.engines.spark.packages import extra_settings, give_secrets
from mergecheck.harness.engines.spark.workers import package_of_merge, require_answer, require_workers
from mergecheck.harness.processes.engine_folder import FOLDER_VARIABLE, engine_folder
from mergecheck.harness.processes.start import SAFE_PATH, environment_with
from mergecheck.harness.processes.temp_dirs import owned_prefix, temporary_files_option
from mergecheck.harness.verdict import BadSettingError, EngineDownError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from mergecheck.harness.engines.spark.config import SparkPlace

_DAEMON = "mergecheck.harness.engines.spark.worker_daemon"
_STDERR = 2
_logger = logging.getLogger(__name__)
_LOG_TAIL = 8  # versions of Spark's log that an error shows


class Profile(Enum):
    """Named sets of SQL settings.

    ``TINY`` keeps the fixed costs of tables of a few rows low. ``COMPILED`` is the same with code generation, as every
    user has it. ``PRODUCTION`` plans and runs as Spark does by default, with several tasks per shuffle: code generation
    and adaptive execution are on.
    """

    TINY = "tiny"
    COMPILED = "compiled"
    PRODUCTION = "production"


_TINY_SETTINGS: Mapping[str, str] = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.files.maxPartitionBytes": "134217728",
    # A broadcast is a Spark job of its own; sorting a few rows is not.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
PROFILE_SETTINGS: Mapping[Profile, Mapping[str, str]] = {
    Profile.TINY: _TINY_SETTINGS,
    Profile.COMPILED: {
        **_TINY_SETTINGS,
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
    },
    Profile.PRODUCTION: {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.codegen.wholeStage": "true",
        "spark.sql.codegen.factoryMode": "FALLBACK",
        "spark.sql.files.minPartitionNum": "2",
        "spark.sql.files.openCostInBytes": "4194304",
        "spark.sql.leafNodeDefaultParallelism": "2",
        # Two files of any size are two scan tasks, so that small tables get the plans of large ones.
        "spark.sql.files.maxPartitionBytes": "5242880",
        "spark.sql.autoBroadcastJoinThreshold": "10485760",
    },
}

GUARDS: Mapping[str, str] = {
    "spark.sql.runSQLOnFiles": "false",  # no file or table by its path as a relation
    "spark.sql.variable.substitute": "false",  # no ${env:NAME} in texts; it would change the text of a case, too
}
"""Switches of Spark that keep the SQL of cases to the tables that have names."""

# Describing a plan for Spark's web page takes a tenth of a small query's time, so plans are described only on request.
PLANS_UNDESCRIBED: Mapping[str, str] = {"spark.sql.ui.explainMode": "simple", "spark.sql.maxPlanStringLength": "0"}
PLANS_DESCRIBED: Mapping[str, str] = {
    "spark.sql.ui.explainMode": "formatted",
    "spark.sql.maxPlanStringLength": str(2**31 - 16),
}

# Short runs do not repay the optimising compiler (C2) and a concurrent garbage collector. Without C2 the code cache has
# 48 MiB, which Spark's compiled code outgrows; the JVM then discards and recompiles code all the time.
_JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:MetaspaceSize=512m -XX:+UseSerialGC -XX:-UsePerfData "
    "-Xss4m -Duser.timezone=UTC"
)
JVM_OPTIONS = "spark.driver.extraJavaOptions"
JVM_FOR_SMALL_DATA: Mapping[str, str] = {
    "spark.driver.memory": "2g",
    JVM_OPTIONS: f"{_JAVA_OPTIONS} -Xmn512m",  # a quarter of the memory above
    "spark.executor.extraJavaOptions": _JAVA_OPTIONS,
    # Every sort allocates a page and every broadcast a block, by default of 32 MiB and 4 MiB.
    "spark.buffer.pageSize": "1m",
    "spark.broadcast.blockSize": "64k",
    "spark.broadcast.compress": "false",
    "spark.shuffle.compress": "false",
}
FIXED_SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    **GUARDS,
    # Over TCP, each task with a Python function waits 40 ms (Nagle's algorithm against delayed acknowledgements).
    # Python on Windows has no Unix domain sockets.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    **PLANS_UNDESCRIBED,
    # Python workers start in the working folder, which may come from a stranger.
    **{f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()},
}
LOOPBACK_SETTINGS: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

_redirecting = threading.Lock()


def start_session(
    profile: Profile = Profile.TINY, *, jvm: Mapping[str, str] = JVM_FOR_SMALL_DATA, makes_tables: bool = True
) -> SparkSession:
    """Start Spark, or return the session that runs already.

    ``config.current_place`` says where Spark runs: in this process, on a cluster, or behind Spark Connect. The JVM
    writes to a log file, never to the terminal. Python workers run this interpreter; those of a cluster run the one
    that PYSPARK_PYTHON names, if it is set. The session has Delta Lake and S3A if they were requested before
    (``packages``).

    Args:
        profile: the SQL settings to begin with.
        jvm: settings of the JVM; they have no effect if one runs already.
        makes_tables: whether workers of a cluster get the merge, and must see the place where tables are made.

    Raises:
        EngineDownError: if there is no Java 17 or newer, Spark does not start, or there is no answer at the place; the
            message gives the next step.
    """
    place = current_place()
    note_use()
    _silence_query_log()
    if place.remote is not None:
        return start_remote(place, {**PROFILE_SETTINGS[profile], **GUARDS})
    running = _running_session()
    java = "" if running is not None else check_java()
    require_answer(place)
    workers_python = sys.executable if place.is_here else os.environ.get("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_PYTHON"], os.environ["PYSPARK_DRIVER_PYTHON"] = workers_python, sys.executable
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an import of half a second, which only Spark runs need

    # Spark's scratch data and its log; deleted when the process ends.
    scratch = Path(tempfile.mkdtemp(prefix=f"{owned_prefix()}spark-"))
    log = scratch / "spark.log"
    classes = "" if running is not None else archive_option(java)
    builder = SparkSession.builder.appName("mergecheck").master(place.master)
    all_settings = {
        **jvm,
        JVM_OPTIONS: " ".join(filter(None, (jvm.get(JVM_OPTIONS), temporary_files_option(scratch), classes))),
        **FIXED_SETTINGS,
        **(LOOPBACK_SETTINGS if place.is_loopback else {}),
        **PROFILE_SETTINGS[profile],
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **({"spark.python.daemon.module": _DAEMON} if place.is_here else {}),
        **extra_settings(place),
    }
    for name, value in all_settings.items():
        builder = builder.config(name, value)
    if running is None and os.isatty(_STDERR):  # a waiting user should see the reason
        _logger.warning("starting Spark %s (about 10 s) ...", metadata.version("pyspark"))
    try:
        with _output_to(log), _interrupt_handler_kept(), environment_with({"SPARK_HOME": str(spark_home())}):
            session = builder.getOrCreate()
    except Exception as error:
        raise EngineDownError(f"Spark does not start: {error}\n\n{log_tail(log)}".rstrip()) from error
    session.sparkContext.setLogLevel("ERROR")
    if (folder := engine_folder()) is not None:
        session.sparkContext.environment[FOLDER_VARIABLE] = folder  # also if the session ran before
    give_secrets(session, place)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    if makes_tables and not place.is_here:
        _prepare_workers(session, place, scratch)
    return session


def _running_session() -> SparkSession | None:
    """Return the session of this process, of any thread; None if Spark does not run here."""
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - see start_session
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see start_session

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _prepare_workers(session: SparkSession, place: SparkPlace, scratch: Path) -> None:
    context = session.sparkContext
    context.addPyFile(str(package_of_merge(scratch)))
    try:
        require_workers(session, place, give_up=context.cancelAllJobs)
    except EngineDownError:
        session.stop()
        raise


def another_session(session: SparkSession) -> SparkSession:
    """Open a session on the same Spark with SQL settings and temporary views of its own."""
    if is_remote(session):
        return another_remote(current_place(), {**PROFILE_SETTINGS[Profile.TINY], **GUARDS})
    return session.newSession()


def apply_profile(session: SparkSession, profile: Profile) -> None:
    """Set a profile's SQL settings on a session."""
    for name, value in PROFILE_SETTINGS[profile].items():
        session.conf.set(name, value)


@contextmanager
def settings_of(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set SQL settings for the block, and restore the earlier values; a setting that had none is unset.

    Raises:
        BadSettingError: Spark refuses a value.
    """
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            _set(session, name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, earlier)


def _set(session: SparkSession, name: str, value: str) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415 - see _silence_query_log

    try:
        session.conf.set(name, value)
    except (PySparkException, ValueError) as error:  # the latter for a text that is no Unicode
        reason = str(error).partition("\n")[0]
        raise BadSettingError(f"Spark refuses the setting {name} = {value!r}: {reason}") from error


def log_tail(log: Path) -> str:
    """Return the last versions of Spark's log, indented; empty if there is no log."""
    if not log.is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_TAIL:]
    return "\n".join("    " + line for line in lines)


def _silence_query_log() -> None:
    """Keep PySpark from logging each analysis error that it also raises, with the JVM's stack trace."""
    from pyspark.logger import PySparkLogger  # noqa: PLC0415 - an import of half a second, which only Spark runs need

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _interrupt_handler_kept() -> Iterator[None]:
    """Restore the handler of SIGINT after the block.

    PySpark installs a handler that calls the JVM. If the signal interrupts another call, py4j fails with an error.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():  # no other thread can set a handler, PySpark neither
            signal.signal(signal.SIGINT, before)


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Redirect file descriptors 1 and 2 to a file for the block, so that a JVM started in it inherits the file.

    The JVM prints before any log setting has effect. The descriptors belong to all threads, so one redirects at a time:
    of two at once, the second would take the first one's file for the terminal, and leave it there.
    """
    with _redirecting:
        sys.stdout.flush()
        sys.stderr.flush()
        saved = os.dup(1), os.dup(2)
        try:
            with log.open("ab") as sink:
                os.dup2(sink.fileno(), 1)
                os.dup2(sink.fileno(), 2)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in zip((1, 2), saved, strict=True):
                os.dup2(copy, number)
                os.close(copy)
