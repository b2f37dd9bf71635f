"""The child process of the engine ``delta-rs``: one merge per request, with a released ``deltalake``.

It runs in an environment that holds that release and ``pyarrow`` only, so it imports nothing of this project.
One JSON document per line each way. The merge API has grown over the releases; what a release's signatures do not
have is answered as ``lacks``.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import threading
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.dataset import ParquetReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Answer requests until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the library must not mix with answers
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()

    def stop() -> None:
        """Tell that a merge has its snapshot, and wait until it may go on."""
        out.write(json.dumps({"stopped": True}) + "\n")
        out.flush()
        if json.loads(lines.get())["do"] == "end":
            raise RuntimeError("this writer is not needed any more")

    while True:
        line = lines.get()
        out.write(json.dumps(_answer(json.loads(line), stop)) + "\n")
        out.flush()


def _answer(request: dict[str, Any], stop: Callable[[], None]) -> dict[str, Any]:
    if request["do"] == "version":
        return {"version": deltalake.__version__, "options": sorted(inspect.signature(DeltaTable.merge).parameters)}
    try:
        if request["do"] == "changes":
            return _changes(request)
        if request["do"] == "rows":
            return _rows(request)
        return _merge(request, stop)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Rust code is no Exception, and an answer too
        return {"error": {"class": type(error).__name__, "message": str(error)}}


def _merge(request: dict[str, Any], stop: Callable[[], None]) -> dict[str, Any]:
    """Merge a source, an Arrow file, into the table at ``path``; ``clauses`` are calls of the merger by name.

    With ``stops``, stop when the table is loaded: its version is the one that the merge reads.
    """
    known = inspect.signature(DeltaTable.merge).parameters
    lacking = sorted(name for name in request["options"] if name not in known)
    if lacking:
        return {"lacks": f"option {', '.join(lacking)}"}
    table = DeltaTable(request["path"])
    if request.get("stops"):
        stop()
    with pa.OSFile(request["source"]) as file:
        source: Any = pa.ipc.open_stream(file).read_all()
    if request["stream"]:
        source = source.to_reader()
    merger = table.merge(
        source=source,
        predicate=request["predicate"],
        source_alias=request["source_alias"],
        target_alias=request["target_alias"],
        **request["options"],
    )
    for call, arguments in request["clauses"]:
        merger = getattr(merger, call)(**arguments)
    metrics = merger.execute()
    return {"metrics": {name: value for name, value in metrics.items() if isinstance(value, int)}}


def _changes(request: dict[str, Any]) -> dict[str, Any]:
    """Write the change feed of one version, as the library reads it, to the Arrow file ``out``."""
    table = DeltaTable(request["path"])
    if not hasattr(table, "load_cdf"):
        return {"lacks": "load_cdf"}
    found: Any = table.load_cdf(starting_version=request["version"], ending_version=request["version"])
    read = found.read_all() if hasattr(found, "read_all") else pa.table(found)
    read = pa.table(read)
    with pa.OSFile(request["out"], "wb") as file, pa.ipc.new_stream(file, read.schema) as writer:
        writer.write_table(read)
    return {"rows": read.num_rows}


def _rows(request: dict[str, Any]) -> dict[str, Any]:
    """Write the rows of the newest version of the table to the Arrow file ``out``."""
    # Spark writes TIMESTAMP as INT96, which Arrow takes for nanoseconds by default: they end in 2262
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    read = DeltaTable(request["path"]).to_pyarrow_dataset(parquet_read_options=options).to_table()
    with pa.OSFile(request["out"], "wb") as file, pa.ipc.new_stream(file, read.schema) as writer:
        writer.write_table(read)
    return {"rows": read.num_rows}


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Read requests. When the input ends, the parent has ended, and this process ends at once, whatever it is doing."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:  # Python closes sys.stdin itself if the process ends first
        for line in requests:
            lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
