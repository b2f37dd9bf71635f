"""Trying out the store of a table root: its required operations, and the message if one is missing."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.spark.object_store import StoreRoot, store_root
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "nobody-may-see-this"  # noqa: S105 - opens nothing
KEYS = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": SECRET}


@contextmanager
def answering(*codes: int) -> Iterator[StoreRoot]:
    """Start a store that answers one put after the other by a code, and deletes as asked."""
    left = list(codes)

    class Store(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(left.pop(0), b"<Error><Code>Told</Code></Error>")

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
            key = re.search("<Key>(.*)</Key>", asked)
            deleted = f"<Deleted><Key>{key[1] if key else ''}</Key></Deleted>"
            self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

        def do_DELETE(self) -> None:
            self._answer(204, b"")

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        yield store_root("s3://bucket/some//where/", {**KEYS, "AWS_ENDPOINT_URL": endpoint})
    finally:
        server.shutdown()
        server.server_close()


def test_a_good_store_is_asked_once() -> None:
    """It takes a file, refuses it the second time, and has no more answers for a third."""
    with answering(200, 412) as root:
        root.require()
        root.require()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ((403,), "403 Forbidden.*check endpoint and keys .*keys: given.*Allowed: a directory"),
        ((200, 200), "writes a file a second time although it is there .*If-None-Match"),
        ((404,), "404 Not Found.*Make the bucket first"),
    ],
    ids=["keys", "overwrites", "no-bucket"],
)
def test_a_store_that_cannot_hold_tables(codes: tuple[int, ...], message: str) -> None:
    with answering(*codes) as root, pytest.raises(UserInputError, match=message) as caught:
        root.require()
    assert "s3a://bucket/some/where" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "provider"),
    [(KEYS, "Simple"), ({**KEYS, "AWS_SESSION_TOKEN": "t"}, "Temporary"), ({}, None)],
    ids=["keys", "session", "of-the-machine"],
)
def test_spark_gets_secrets_apart_from_settings(environment: dict[str, str], provider: str | None) -> None:
    """Settings stand on the JVM's command line, so no key is among them; nor is one in the text of a place."""
    root = store_root("s3a://bucket/x", {**environment, "AWS_REGION": "eu-west-1"})
    assert SECRET not in f"{root!r}{root}{root.spark_settings()}"
    assert root.spark_settings()["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    secrets = root.spark_secrets()
    assert secrets.get("fs.s3a.secret.key") == environment.get("AWS_SECRET_ACCESS_KEY")
    assert secrets.get("fs.s3a.session.token") == environment.get("AWS_SESSION_TOKEN")
    assert (provider or "") in secrets.get("fs.s3a.aws.credentials.provider", "")
