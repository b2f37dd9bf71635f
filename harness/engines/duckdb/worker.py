"""The child process of the engine ``duckdb``: runs the steps of one case in the DuckDB of its environment.

It knows nothing of this project: standard library, ``duckdb`` and ``pyarrow`` only. A request is
``{"steps": [{"do": ..., ...}]}``, one JSON document per line; the answer is ``{"answers": {name: answer},
"failed": null or {"class": ..., "message": ...}}``. ``{"do": "version"}`` asks for DuckDB's version. Tables travel as
Arrow streams in base64, so that no value passes through text.

================  =====================================================================================
``open``          use the database at ``path``, leaving the one before
``load``          register the table ``arrow`` under ``name``, unless it is there already
``set``           give the setting ``name`` the ``value``, written as SQL, unless it has it
``run``           execute ``sql``; a failure ends the request
``ask``           execute ``sql`` and keep its result, or its error, as the answer ``name``; an open
                  transaction is rolled back after an error. With ``after``, only if that answer is no error
``list``          the same for a result of texts, kept as rows: a third of an Arrow table's time
================  =====================================================================================
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import queue
import sys
import tempfile
import threading
import uuid
import warnings
from typing import Any

import duckdb
import pyarrow as pa


class Session:
    """The DuckDB of this process, with a database of its own for every ``open``: a new DuckDB takes far longer."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.answers: dict[str, Any] = {}
        self.loaded: dict[str, str] = {}
        self.settings: dict[str, str] = {}
        self.number = 0
        self.broken = False

    def open(self, path: str) -> None:
        """Give the following steps a database, in memory or in a file, and leave the one before."""
        if self.connection is None:
            # by default .tmp in the working folder, where a stranger may have left links
            spill = os.path.join(tempfile.gettempdir(), f"mergecheck-duckdb-{uuid.uuid4().hex}")  # noqa: PTH118 - a plain text
            self.connection = duckdb.connect(":memory:", config={"temp_directory": spill})
        self.connection.execute(f"USE memory; DETACH DATABASE IF EXISTS database_{self.number}")
        self.number += 1
        self.connection.execute(f"ATTACH '{path}' AS database_{self.number}; USE database_{self.number}")

    def do(self, step: dict[str, Any]) -> None:
        """Run one step; what DuckDB raises goes through, but for ``ask``."""
        kind = step["do"]
        if kind == "open":
            self.open(step["path"])
        elif kind == "load":
            self.load(step["name"], step["arrow"])
        elif kind == "set":
            self.set(step["name"], step["value"])
        elif kind == "run":
            self.connection.execute(step["sql"])
        elif kind not in ("ask", "list"):
            raise ValueError(f"unknown step {kind}")
        elif "error" not in self.answers.get(step.get("after", ""), {}):
            self.answers[step["name"]] = self.asked(step["sql"], as_table=kind == "ask")

    def set(self, name: str, value: str) -> None:
        """Change a setting; most cases need the same as the one before."""
        if self.settings.get(name) != value:
            self.connection.execute(f"SET {name} = {value}")
            self.settings[name] = value

    def load(self, name: str, arrow: str) -> None:
        """Register a table; the second merge of a case has the tables of the first."""
        if self.loaded.get(name) != arrow:
            with pa.ipc.open_stream(base64.b64decode(arrow)) as reader:
                self.connection.register(name, reader.read_all())
            self.loaded[name] = arrow

    def asked(self, sql: str, *, as_table: bool) -> dict[str, Any]:
        """Give the result of a statement, as a table or as plain rows, or its error."""
        try:
            result = self.connection.execute(sql)
            if not as_table:
                return {"rows": result.fetchall()}
            # newer versions call it by another name
            fetch = getattr(result, "to_arrow_table", None) or result.fetch_arrow_table
            return {"arrow": encoded(fetch())}
        except duckdb.Error as error:
            with contextlib.suppress(duckdb.Error):  # there was no transaction, or the database is gone
                self.connection.execute("ROLLBACK")
            self.suspect(error)
            return {"error": described(error)}

    def suspect(self, error: Exception) -> None:
        """Take another DuckDB for the next request after an internal error."""
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            self.broken = True

    def close(self) -> None:
        """Give this DuckDB up; the next ``open`` starts another."""
        connection, self.connection, self.broken = self.connection, None, False
        self.loaded.clear()
        self.settings.clear()
        if connection is not None:
            with contextlib.suppress(duckdb.Error):  # a database that was invalidated may refuse even this
                connection.close()


def encoded(table: pa.Table) -> str:
    """Write a table as an Arrow stream."""
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return base64.b64encode(buffer.getvalue()).decode()


def described(error: Exception) -> dict[str, str]:
    """Return an error's class and message; the stack trace of an internal error is left out."""
    return {"class": type(error).__name__, "message": str(error).split("\n\nStack Trace")[0]}


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """Run the steps of a request."""
    if request.get("do") == "version":
        return {"version": duckdb.__version__}
    session.answers = {}
    failed = None
    try:
        for step in request["steps"]:
            session.do(step)
    except duckdb.Error as error:
        with contextlib.suppress(duckdb.Error):
            session.connection.execute("ROLLBACK")
        session.broken = True  # the steps may have stopped anywhere
        failed = described(error)
    if session.broken:
        session.close()
    return {"answers": session.answers, "failed": failed}


def main() -> None:
    """Answer requests until the input ends."""
    warnings.simplefilter("ignore")  # of versions that would rather give Arrow tables another way
    session = Session()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    while True:
        line = lines.get()
        sys.stdout.write(json.dumps(answer(session, json.loads(line))) + "\n")
        sys.stdout.flush()


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Read requests. When the input ends, the parent has ended, and this process ends at once, whatever it is doing."""
    with os.fdopen(os.dup(0), encoding="utf-8") as requests:  # Python closes sys.stdin itself if the process ends first
        for line in requests:
            lines.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
