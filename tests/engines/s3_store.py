"""An S3-compatible store on loopback, in memory, for the time of a test."""

from __future__ import annotations

import logging
import urllib.request
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import obstore
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECRET = "a-secret-that-nobody-may-see"  # noqa: S105 - opens nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """A bucket of its own; Spark keeps clients by the names of buckets."""

    endpoint: str
    name: str = field(default_factory=lambda: f"tables-{uuid.uuid4().hex[:12]}")

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables by which the store is reached."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    @property
    def session_settings(self) -> Mapping[str, str]:
        """The settings of a Spark session by which S3A reaches the store."""
        return {
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.access.key": "somebody",
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        }

    def open(self, prefix: str | None = None) -> S3Store:
        """Open a prefix by a client of the test's own."""
        config = cast("Any", self.environment)  # the names of variables are not in its type
        return S3Store(self.name, prefix=prefix, config=config, client_options={"allow_http": True})

    def keys(self, prefix: str | None = None) -> list[str]:
        """List the objects below a prefix, relative to it."""
        return sorted(entry["path"] for batch in obstore.list(self.open(prefix)) for entry in batch)


@contextmanager
def s3_bucket() -> Iterator[Bucket]:
    """Start a store with one bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would print every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        bucket = Bucket(endpoint=f"http://{host}:{port}")
        request = urllib.request.Request(f"{bucket.endpoint}/{bucket.name}", method="PUT")  # noqa: S310 - loopback
        urllib.request.urlopen(request).close()  # noqa: S310 - the same
        yield bucket
    finally:
        server.stop()
