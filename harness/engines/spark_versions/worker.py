"""The child process of the engines on another Spark: a Spark session, and the steps of one case after the other.

It runs in an environment that holds ``pyspark`` only, so it imports nothing of this project, unless a step asks for the
merge of this project. One JSON document per line each way. ``{"do": "version"}`` asks for the version of PySpark.
``{"do": "run", "session": {...}, "conf": {...}, "steps": [...], "finally": [...]}`` runs steps under the settings
``conf``; the first such request starts Spark with the settings ``session``. The answer is ``{"results": {name: result},
"plans": [...]}``, and ``"failed": {"step", "class", "message"}`` if a step failed, after which only the statements of
``finally`` run.

===========  ============================================================================================
``sql``      execute it; with ``name``, keep its rows as JSON objects. With ``to``, write them there as a
             file of Arrow's, and keep their schema. With ``plans``, keep the plans of its queries
``view``     make the files at ``path`` a temporary view of this name; ``format`` and ``options`` say how
``merge``    run this statement by ``mergecheck.merge``, on the paths ``tables``; keeps the row and the path
             of its result under ``name``. With ``plans``, as for ``sql``
===========  ============================================================================================

A step may have a ``step``, its name in ``failed``. A request may have a ``writer``, whose session it runs in. A step of
such a request with ``stops_at``, the name of a class of Iceberg's events, stops at the first such event: the answer is
``{"stopped": true}`` then, and the step goes on by ``{"do": "go on"}``, or fails by ``{"do": "end"}``, with the writer.
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
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterator

# Spark's error for a task whose own error is the cause.
_WRAPPERS = frozenset({"TASK_WRITE_FAILED", "FAILED_EXECUTE_UDF", "_LEGACY_ERROR_TEMP_2054"})
_PATIENCE = 60_000  # milliseconds for Spark's listeners to hear of what has ended


def main() -> None:
    """Answer requests until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of Spark must not mix with answers
    warnings.simplefilter("ignore")
    spark: Any = None
    settings: dict[str, str] = {}
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    stops = _Stops(out)
    while True:
        request = json.loads(lines.get())
        if request["do"] == "version":
            answer: dict[str, Any] = {"version": version("pyspark")}
        else:
            spark = spark or _started(request["session"])
            if "writer" in request:
                stops.serve(spark, request)
                continue
            answer = _run(spark, request, settings, stops)
        stops.write(answer)


class _Stops:
    """A listener to events of Iceberg, which the JVM calls: it stops the step that runs at its first event.

    Requests of writers run in threads, each with a session, so that others go on while one is stopped. One runs at a
    time, so that an event is always of the writer that runs.
    """

    def __init__(self, out: Any) -> None:  # noqa: ANN401 - a stream of texts
        self._out = out
        self._events: set[str] = set()
        self._writers: dict[str, tuple[Any, dict[str, str], queue.SimpleQueue[str]]] = {}
        self._armed = ""

    def serve(self, spark: Any, request: dict[str, Any]) -> None:  # noqa: ANN401 - a session
        """Run a writer's request in a thread, or let the thread go on; its answer is the next line of this process."""
        name = request["writer"]
        if name not in self._writers:
            self._writers[name] = (spark.newSession(), {}, queue.SimpleQueue())
        session, settings, orders = self._writers[name]
        if request["do"] == "run":
            threading.Thread(target=self._run, args=(session, request, settings), daemon=True).start()
        else:
            orders.put(request["do"])

    @contextlib.contextmanager
    def at(self, spark: Any, event: str | None, writer: str) -> Iterator[None]:  # noqa: ANN401 - a session
        """Stop at the next event of a class while this lasts."""
        if event is not None and event not in self._events:
            self._listen(spark, event)
        self._armed = writer if event is not None else ""
        try:
            yield
        finally:
            self._armed = ""

    def notify(self, _event: Any) -> None:  # noqa: ANN401 - a Java object
        """Stop; an error is raised in the thread of the JVM that has the event."""
        if not self._armed:
            return
        _, _, orders = self._writers[self._armed]
        self._armed = ""
        self.write({"stopped": True})
        if orders.get() == "end":
            raise RuntimeError("this writer is not needed any more")

    def write(self, answer: dict[str, Any]) -> None:
        """Write a line of this process."""
        self._out.write(json.dumps(answer) + "\n")
        self._out.flush()

    def _run(self, session: Any, request: dict[str, Any], settings: dict[str, str]) -> None:  # noqa: ANN401 - a session
        self.write(_run(session, request, settings, self))

    def _listen(self, spark: Any, event: str) -> None:  # noqa: ANN401 - a session
        from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415 - PySpark's, as above

        gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark's own door to py4j
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = gateway.jvm.java.lang.Class.forName(event, True, loader)  # noqa: FBT003 - Java has no keywords
        gateway.jvm.org.apache.iceberg.events.Listeners.register(self, kind)
        self._events.add(event)

    class Java:
        """What py4j reads."""

        implements: ClassVar[list[str]] = ["org.apache.iceberg.events.Listener"]


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Read requests. When the input ends, the parent has ended, and this process ends at once, whatever it is doing."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:  # Python closes sys.stdin itself if the process ends first
        for line in requests:
            lines.put(line)
    os._exit(0)


def _started(session: dict[str, str]) -> Any:  # noqa: ANN401 - the imports of this module are PySpark's alone
    import pyspark  # noqa: PLC0415 - an answer to "version" needs none
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the same

    # PySpark would take a Spark above the working folder first, and what this process inherited may be another's.
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)  # noqa: PTH120 - a plain text
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder
    for name, value in session.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def _run(
    spark: Any,  # noqa: ANN401 - a session
    request: dict[str, Any],
    settings: dict[str, str],
    stops: _Stops,
) -> dict[str, Any]:
    answer: dict[str, Any] = {"results": {}, "plans": []}
    step: dict[str, Any] = {"step": "setting"}
    try:
        _apply(spark, request["conf"], settings)
        for step in request["steps"]:
            with stops.at(spark, step.get("stops_at"), request.get("writer", "")):
                _do(spark, step, answer)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the engine raises is its answer
        _require_alive(spark)
        answer["failed"] = {"step": step.get("step", ""), "class": _class_of(error), "message": _message(error)}
    for sql in request["finally"]:
        with contextlib.suppress(Exception):  # a view that was not made cannot be dropped
            spark.sql(sql)
    return answer


def _apply(spark: Any, wanted: dict[str, str], settings: dict[str, str]) -> None:  # noqa: ANN401 - a session
    """Hold the session at exactly these settings; most requests have the same as the one before."""
    for name in settings.keys() - wanted.keys():
        spark.conf.unset(name)
        del settings[name]
    for name, value in wanted.items():
        if settings.get(name) != value:
            settings[name] = value  # before it is set, so that a value that Spark refuses is unset by the next request
            spark.conf.set(name, value)


def _do(spark: Any, step: dict[str, Any], answer: dict[str, Any]) -> None:  # noqa: ANN401 - a session
    if "view" in step:
        reader = spark.read.format(step["format"]).options(**step.get("options", {}))
        reader.load(step["path"]).createOrReplaceTempView(step["view"])
        return
    first = _next_id(spark) if step.get("plans") else 0
    if "merge" in step:
        answer["results"][step["name"]] = _merge(spark, step)
    else:
        _query(spark, step, answer)
    if step.get("plans"):
        answer["plans"] += _plans(spark, first)


def _merge(spark: Any, step: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a session
    from mergecheck.merge import merge_sql  # noqa: PLC0415 - only there if the session was given it

    # the text of a case also represents a call of the builder, which may interleave the kinds
    result = merge_sql(spark, step["merge"], tables=step["tables"], interleaved=True)
    path = None if result.path is None else result.path.value
    return {"row": result.row, "path": path, "ways": dict(result.ways)}


def _query(spark: Any, step: dict[str, Any], answer: dict[str, Any]) -> None:  # noqa: ANN401 - a session
    frame = spark.sql(step["sql"])
    if "to" in step:
        import pyarrow as pa  # noqa: PLC0415 - environments of Spark 3 have none

        table = frame.toArrow()
        with pa.ipc.new_file(step["to"], table.schema) as writer:
            writer.write_table(table)
        answer["results"][step["name"]] = frame.schema.jsonValue()
    elif "name" in step:
        answer["results"][step["name"]] = [row.asDict(recursive=True) for row in frame.collect()]


def _plans(spark: Any, first: int) -> list[str]:  # noqa: ANN401 - a session
    """Give the plans of the queries since number ``first``, from Spark's own status store."""
    found = (_store(spark).execution(number) for number in range(first, _next_id(spark)))
    return [str(one.get().physicalPlanDescription()) for one in found if one.isDefined()]


def _next_id(spark: Any) -> int:  # noqa: ANN401 - a session
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)  # noqa: SLF001 - no public way leads to executed plans
    store = _store(spark)
    count = int(store.executionsCount())
    newest = store.executionsList(count - 1, 1) if count else None
    return int(newest.last().executionId()) + 1 if newest is not None and newest.nonEmpty() else 0


def _store(spark: Any) -> Any:  # noqa: ANN401 - a session, and a Java object
    return spark._jsparkSession.sharedState().statusStore()  # noqa: SLF001 - the same


def _require_alive(spark: Any) -> None:  # noqa: ANN401 - a session
    """End this process if Spark is gone: that is an answer, too."""
    try:
        spark.range(1).schema  # noqa: B018 - the analysis is the question
    except Exception:  # noqa: BLE001 - whatever it is, it does not answer
        os._exit(70)


def _class_of(error: BaseException) -> str:
    """Name an error by Spark's condition if it has one, its own or its cause's, else by its Python class."""
    own = _condition(error) or getattr(error, "error_class", None)  # this project's errors have the latter
    if own and own not in _WRAPPERS:
        return own
    throwable = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while throwable is not None:
        condition = _condition(throwable)
        if condition and condition not in _WRAPPERS:
            return condition
        if throwable.getCause() is None and not own and hasattr(error, "java_exception"):
            return str(throwable.getClass().getSimpleName())
        throwable = throwable.getCause()
    return own or type(error).__name__


def _condition(error: Any) -> str | None:  # noqa: ANN401 - of Python or of Java
    for method in ("getCondition", "getErrorClass"):  # the first is Spark 4's
        with contextlib.suppress(Exception):  # not every error has one
            return str(getattr(error, method)() or "") or None
    return None


def _message(error: BaseException) -> str:
    throwable = getattr(error, "java_exception", None)
    text = str(error) if throwable is None else str(throwable.getMessage())
    return text.split("\n\tat ")[0]


if __name__ == "__main__":
    main()
