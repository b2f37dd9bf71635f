"""The child process of the engine ``sail``: a Sail server and its client, one merge per request.

It runs in an environment that holds ``pysail`` and ``pyspark-client`` only, so it imports nothing of this project. One
JSON document per line each way. ``{"do": "version"}`` asks for Sail's version. ``{"do": "merge", ...}`` makes the Delta
tables at ``target`` and ``source`` (which may be null) known by these names, sets ``conf``, and executes ``sql``.
``{"do": "rows", ...}`` writes the rows of the table at ``target`` to the Arrow file ``out``. A merge with ``stops`` has
a source that waits: its rows come after ``{"stopped": true}`` was written and ``{"do": "go on"}`` was read.

Arguments, as ``NAME=VALUE``, are set in the environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def main() -> None:
    """Answer requests until the input ends."""
    for variable in sys.argv[1:]:  # Sail's configuration, which the server reads when it starts
        name, _, value = variable.partition("=")
        os.environ[name] = value
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the library must not mix with answers
    warnings.simplefilter("ignore")
    server, spark = None, None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    gate.connect(out, lines)
    while True:
        request = json.loads(lines.get())
        if request["do"] == "version":
            answer: dict[str, Any] = {"version": version("pysail")}
        else:
            if server is None:
                server, spark = _started()  # the server stops as soon as no reference to it is left
            answer = (_rows if request["do"] == "rows" else _merge)(spark, request)
        out.write(json.dumps(answer) + "\n")
        out.flush()


class _Gate:
    """Holds the rows of a source until the merge may go on; Sail calls it from threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reach: Callable[[], bool] = lambda: True
        self._is_open = True
        self._may_go = True

    def connect(self, out: Any, lines: queue.SimpleQueue[str]) -> None:  # noqa: ANN401 - a stream of texts
        """Write to the parent that it was reached, and read whether to go on."""

        def reach() -> bool:
            out.write(json.dumps({"stopped": True}) + "\n")
            out.flush()
            return bool(json.loads(lines.get())["do"] != "end")

        self._reach = reach

    def shut(self) -> None:
        """Hold the next rows."""
        self._is_open, self._may_go = False, True

    def open(self) -> None:
        """Hold nothing any more."""
        self._is_open = True

    def go_through(self) -> bool:
        """Wait at a shut gate; the first one opens it for all."""
        with self._lock:
            if not self._is_open:
                self._may_go, self._is_open = self._reach(), True
            if not self._may_go:
                raise RuntimeError("this writer is not needed any more")
        return True


gate = _Gate()
"""The gate of this process; a function that Sail runs finds it by the name of its module."""


def _held(_value: Any) -> bool:  # noqa: ANN401 - a cell of any type
    import __main__  # noqa: PLC0415 - a function is sent to Sail without what stands around it

    return bool(__main__.gate.go_through())


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Read requests. When the input ends, the parent has ended, and this process ends at once, whatever it is doing."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:  # Python closes sys.stdin itself if the process ends first
        for line in requests:
            lines.put(line)
    os._exit(0)


def _started() -> tuple[Any, Any]:
    """Start a server in this process, and connect to it."""
    from pysail.spark import SparkConnectServer  # type: ignore[import-not-found]  # noqa: PLC0415 - an answer to "version" needs neither
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the same

    server = SparkConnectServer(ip="127.0.0.1", port=0)
    server.start(background=True)
    _, port = server.listening_address
    return server, SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()


def _merge(spark: Any, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - the same
    try:
        with _settings(spark, request["conf"]), _tables(spark, request), _gate(spark, request):
            rows = spark.sql(request["sql"]).toArrow().to_pylist()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the engine raises is its answer
        return {"error": {"class": type(error).__name__, "message": str(error)}}
    return {"row": rows[0] if rows else None}


@contextlib.contextmanager
def _gate(spark: Any, request: dict[str, Any]) -> Iterator[None]:  # noqa: ANN401 - the same
    """Shut the gate before the source, if the merge is to stop there."""
    if not request.get("stops"):
        yield
        return
    spark.udf.register("mergecheck_held", _held, "boolean")
    first = spark.table("source_files").columns[0]
    spark.sql(f"SELECT * FROM source_files WHERE mergecheck_held(`{first}`)").createOrReplaceTempView("source")
    gate.shut()
    try:
        yield
    finally:
        gate.open()
        spark.catalog.dropTempView("source")


def _rows(spark: Any, request: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - the same
    import pyarrow as pa  # noqa: PLC0415 - the same

    try:
        with _tables(spark, request):
            read = spark.sql("SELECT * FROM target").toArrow()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the engine raises is its answer
        return {"error": {"class": type(error).__name__, "message": str(error)}}
    with pa.OSFile(request["out"], "wb") as file, pa.ipc.new_stream(file, read.schema) as writer:
        writer.write_table(read)
    return {"rows": read.num_rows}


@contextlib.contextmanager
def _settings(spark: Any, conf: dict[str, str]) -> Iterator[None]:  # noqa: ANN401 - the same
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in conf:
            spark.conf.unset(name)


@contextlib.contextmanager
def _tables(spark: Any, request: dict[str, Any]) -> Iterator[None]:  # noqa: ANN401 - the same
    source = "source_files" if request.get("stops") else "source"
    named = {name: request[key] for name, key in (("target", "target"), (source, "source")) if request[key] is not None}
    try:
        for name, path in named.items():
            spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}'")
        yield
    finally:
        for name in named:
            spark.sql(f"DROP TABLE IF EXISTS {name}")


if __name__ == "__main__":
    main()
