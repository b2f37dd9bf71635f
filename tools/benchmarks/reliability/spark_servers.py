"""A Spark cluster and a Spark Connect server on loopback, out of the installed pyspark, for the time of a test."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

from mergecheck.harness.engines.spark.class_archive import archive_option
from mergecheck.harness.engines.spark.java_home import check_java
from mergecheck.harness.engines.spark.session import JVM_FOR_SMALL_DATA

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOST = "127.0.0.1"
NUM_WORKERS = 2
START_SECONDS = 120.0
STOP_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A standalone cluster.

    Attributes:
        url: of the master.
        page: the address of its web page.
        work: the folder of the workers.
        worker_groups: the process group of each worker, with its executors.
    """

    url: str
    page: str
    work: Path
    worker_groups: list[int] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """The master's report of workers and applications."""
        with urllib.request.urlopen(f"{self.page}/json/", timeout=20) as answer:  # noqa: S310 - our own loopback
            found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def cluster(folder: Path, num_workers: int = NUM_WORKERS) -> Iterator[Cluster]:
    """Start a master, and workers of one core and one GiB each."""
    environment = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": _java_options()}
    master = ("org.apache.spark.deploy.master.Master", "--host", HOST, "--port", "0", "--webui-port", "0")
    with _spark(master, folder / "master.log", environment):
        url = _said(folder / "master.log", r"Starting Spark master at (spark://\S+)")
        page = _said(folder / "master.log", r"MasterWebUI.* at (http://\S+)")
        found = Cluster(url=url, page=page, work=folder / "work")
        options = ("--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(found.work), url)
        with ExitStack() as stack:
            for number in range(1, num_workers + 1):
                host = _worker_host(number)
                worker = ("org.apache.spark.deploy.worker.Worker", "--host", host, *options)
                own = {**environment, "SPARK_LOCAL_IP": host}
                log = folder / f"worker{number}.log"
                found.worker_groups.append(stack.enter_context(_spark(worker, log, own)))
            for number in range(1, num_workers + 1):
                _said(folder / f"worker{number}.log", r"(Successfully registered with master)")
            yield found


def _worker_host(number: int) -> str:
    """Return an address of a worker's own: Spark runs no second attempt at a task on the host of the first."""
    return f"127.0.0.{number}" if sys.platform == "linux" else HOST  # Linux has many addresses of loopback


@contextmanager
def connect_server(folder: Path, python: Path) -> Iterator[str]:
    """Start a Spark Connect server with two threads, whose workers run a Python; gives its address."""
    settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": "0",
        "spark.driver.bindAddress": HOST,
        "spark.driver.host": HOST,
        "spark.driver.extraJavaOptions": _java_options(),
        "spark.local.dir": str(folder),
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    arguments = (
        *("org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--driver-memory", "1g"),
        *(text for name, value in settings.items() for text in ("--conf", f"{name}={value}")),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
    )
    with _spark(arguments, folder / "connect.log", {"PYSPARK_PYTHON": str(python)}):
        port = _said(folder / "connect.log", r"Spark Connect server started at: \S+:(\d+)")
        yield f"sc://{HOST}:{port}"


def _java_options() -> str:
    return f"{JVM_FOR_SMALL_DATA['spark.executor.extraJavaOptions']} {archive_option(check_java())}".rstrip()


def bare_python(folder: Path) -> Path:
    """Make a Python that sees installed packages, but not this project, like the Python of a remote worker."""
    packages = Path(pyspark.__file__).parents[1]
    path = folder / "bare-python"
    # without the module site no .pth file is read, and by such a file this project is installed
    path.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec "{sys.executable}" -S "$@"\n')
    path.chmod(0o755)
    return path


def mergecheck_json(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON
    """Run the command line in a process of its own and return its JSON; anything but exit code 0 fails the test."""
    command = [
        sys.executable,
        "-c",
        "import sys, mergecheck.harness.cli as cli; sys.exit(cli.main())",
        *arguments,
        "--json",
    ]
    done = subprocess.run(  # noqa: S603 - this interpreter
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**_environment(), **(environment or {})},
    )
    if done.returncode != 0:
        raise AssertionError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)


@contextmanager
def _spark(arguments: tuple[str, ...], log: Path, environment: Mapping[str, str]) -> Iterator[int]:
    """Run a program of Spark in a process group of its own, and end it with its children."""
    home = Path(pyspark.__file__).parent
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - Spark's own launcher
            [home / "bin" / "spark-class", *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**_environment(), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, **environment},
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        if number is signal.SIGTERM:  # executors are ended by their worker; the remaining ones are ended now
            time.sleep(0.2)


def _said(log: Path, pattern: str) -> str:
    """Wait until a program's log matches a pattern, and return its group."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} never said {pattern!r}:\n{log.read_text(errors='replace')[-2000:]}")


def _environment() -> dict[str, str]:
    """This process' environment without what would send Spark elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "MERGECHECK_SPARK"))}
