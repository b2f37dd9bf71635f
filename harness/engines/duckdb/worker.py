"""The child process of the engine ``duckdb``: runs the steps of one case in the DuckDB of its environment.

It knows nothing of this project: standard library and ``duckdb`` only (and pyarrow, for DuckDB 1). A request is
``{"steps": [{"do": ..., ...}]}``, one JSON document per line; the answer is ``{"answers": {name: answer},
"failed": null or {"class": ..., "message": ...}}``. ``{"do": "version"}`` asks for DuckDB's version. Each value travels
in a form that JSON and DuckDB hold exactly, and DuckDB casts it.

================  =====================================================================================
``open``          use the database at ``path``, leaving the one before
``load``          register an Arrow table under ``name``, unless it is there already: the rows of the query ``sql``,
                  whose parameters are ``columns``, each ``[type, values]``
``set``           give the setting ``name`` the ``value``, written as SQL, unless it has it
``run``           execute ``sql``; a failure ends the request
``ask``           execute ``sql`` and keep its rows, or its error, as the answer ``name``; an open transaction is
                  rolled back after an error. With ``project``, these expressions of the rows instead, all columns
                  if it is empty, or why they cannot be read. With ``after``, only if that answer is no error
================  =====================================================================================
"""

from __future__ import annotations

import contextlib
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

TAKES_STREAMS = int(duckdb.__version__.partition(".")[0]) > 1
"""Whether objects of the Arrow PyCapsule interface can be registered; DuckDB 1 loses theirs before it reads them."""


class Session:
    """The DuckDB of this process, with a database of its own for every ``open``: a new DuckDB takes far longer."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.given: Any = None
        self.answers: dict[str, Any] = {}
        self.loaded: dict[str, Any] = {}
        self.settings: dict[str, str] = {}
        self.number = 0
        self.broken = False

    def open(self, path: str) -> None:
        """Give the following steps a database, in memory or in a file, and leave the one before."""
        if self.connection is None:
            # by default .tmp in the working folder, where a stranger may have left links
            spill = os.path.join(tempfile.gettempdir(), f"mergecheck-duckdb-{uuid.uuid4().hex}")  # noqa: PTH118 - a plain text
            self.connection = duckdb.connect(":memory:", config={"temp_directory": spill})
            # the tables of a case as they are given: a DuckDB of their own, which hands them on as Arrow streams
            self.given = duckdb.connect(":memory:", config={"temp_directory": spill, "threads": 1})
            self.given.execute("SET TimeZone = 'UTC'")
        self.connection.execute(f"USE memory; DETACH DATABASE IF EXISTS database_{self.number}")
        self.number += 1
        self.connection.execute(f"ATTACH '{path}' AS database_{self.number}; USE database_{self.number}")

    def do(self, step: dict[str, Any]) -> None:
        """Run one step; what DuckDB raises goes through, but for ``ask``."""
        kind = step["do"]
        if kind == "open":
            self.open(step["path"])
        elif kind == "load":
            self.load(step["name"], step)
        elif kind == "set":
            self.set(step["name"], step["value"])
        elif kind == "run":
            self.connection.execute(step["sql"])
        elif kind != "ask":
            raise ValueError(f"unknown step {kind}")
        elif "error" not in self.answers.get(step.get("after", ""), {}):
            self.answers[step["name"]] = self.asked(step["sql"], step.get("project"))

    def set(self, name: str, value: str) -> None:
        """Change a setting; most cases need the same as the one before."""
        if self.settings.get(name) != value:
            self.connection.execute(f"SET {name} = {value}")
            self.settings[name] = value

    def load(self, name: str, step: dict[str, Any]) -> None:
        """Register a table; the second merge of a case has the tables of the first."""
        if self.loaded.get(name) != step:
            values = [duckdb.Value(column, duckdb.sqltype(f"{kind}[]")) for kind, column in step["columns"]]
            self.given.execute(f"CREATE OR REPLACE TABLE {name} AS {step['sql']}", values)
            self.connection.register(name, ArrowStream(self.given, name) if TAKES_STREAMS else self.table(name))
            self.loaded[name] = step

    def table(self, name: str) -> Any:  # noqa: ANN401 - an Arrow table; only environments of old versions have its class
        """Give a table of the other DuckDB to a version that reads a stream once only."""
        return self.given.sql(f"SELECT * FROM {name}").fetch_arrow_table()

    def asked(self, sql: str, project: str | None) -> dict[str, Any]:
        """Give the rows of a statement, or expressions of them, or the statement's error."""
        try:
            if project is None:
                return {"rows": self.connection.execute(sql).fetchall()}
            found = self.connection.sql(sql)
        except duckdb.Error as error:
            with contextlib.suppress(duckdb.Error):  # there was no transaction, or the database is gone
                self.connection.execute("ROLLBACK")
            self.suspect(error)
            return {"error": described(error)}
        try:
            return {"rows": plain((found.project(project) if project else found).fetchall())}
        except (duckdb.Error, ValueError) as error:  # uninitialised memory may be no text
            self.suspect(error)
            return {"unreadable": "{class}: {message}".format(**described(error))}

    def suspect(self, error: Exception) -> None:
        """Take another DuckDB for the next request after an internal error."""
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            self.broken = True

    def close(self) -> None:
        """Give this DuckDB up; the next ``open`` starts another."""
        connections = [one for one in (self.connection, self.given) if one is not None]
        self.connection, self.given, self.broken = None, None, False
        self.loaded.clear()
        self.settings.clear()
        for connection in connections:
            with contextlib.suppress(duckdb.Error):  # a database that was invalidated may refuse even this
                connection.close()


class ArrowStream:
    """A table of another DuckDB, as an object of the Arrow PyCapsule interface."""

    def __init__(self, connection: Any, name: str) -> None:  # noqa: ANN401 - other versions have other classes
        self.connection = connection
        self.name = name

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Read the table."""
        return self.connection.sql(f"SELECT * FROM {self.name}").__arrow_c_stream__(requested_schema)


def plain(value: Any) -> Any:  # noqa: ANN401 - of many kinds
    """Give structs and maps as pairs: the keys of JSON's objects are texts."""
    if isinstance(value, dict):
        return [[plain(key), plain(item)] for key, item in value.items()]
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


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
