"""How an object store is reached: endpoint, region and keys, from Spark's settings or from the environment.

The log and the files are written with the settings by which Spark reads the table, so Spark's settings go first.
Values are plain text, since Spark's workers get them with their tasks.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mergecheck.merge.table.storage.paths import bucket_and_key, is_in_store, table_location

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_PREFIXES = ("fs.s3a.", "spark.hadoop.fs.s3a.")
"""S3A's settings in a session: of the session itself, and of the application."""
_AWS_ENDPOINT = re.compile(r"//s3[.-]([a-z0-9-]+)\.amazonaws\.com")
_ENDPOINT, _REGION, _SECRET_KEY = "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_SECRET_ACCESS_KEY"
CREDENTIAL_SETTINGS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "access.key",
    _SECRET_KEY: "secret.key",
    "AWS_SESSION_TOKEN": "session.token",
}
"""Variables that hold credentials, and S3A's names for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAccess:
    """The settings of a client of an S3-compatible store.

    Attributes:
        endpoint: URL of the store; None for AWS.
        region: None for the default.
        path_style: the bucket is in the path of a request, not in the name of the host.
        credentials: by the names of the standard variables; without any, the client looks for the machine's.
    """

    endpoint: str | None = None
    region: str | None = None
    path_style: bool = True
    credentials: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def client_settings(self, bucket: str) -> dict[str, str]:
        """Write the settings of a client for a bucket, under the names that obstore and deltalake know."""
        settings = dict(self.credentials)
        if self.region is not None:
            settings[_REGION] = self.region
        if self.endpoint is None:
            return settings
        endpoint = self.endpoint if self.path_style else self.endpoint.replace("://", f"://{bucket}.", 1)
        # The first name goes before the second, which a variable of a worker might set.
        settings |= {f"{_ENDPOINT}_S3": endpoint, _ENDPOINT: endpoint}
        return {**settings, "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(not self.path_style).lower()}

    def log_reader_settings(self, bucket: str) -> dict[str, str]:
        """Write what deltalake needs besides the location of a table."""
        return {**self.client_settings(bucket), "AWS_ALLOW_HTTP": str(self.allows_http).lower()}

    @property
    def allows_http(self) -> bool:
        """Whether requests are not encrypted, because the endpoint's URL is http."""
        return (self.endpoint or "").startswith("http://")


def access_by_environment(environment: Mapping[str, str]) -> StoreAccess:
    """Read the standard variables of AWS."""
    return StoreAccess(
        endpoint=environment.get(f"{_ENDPOINT}_S3") or environment.get(_ENDPOINT) or None,
        region=environment.get(_REGION) or environment.get("AWS_DEFAULT_REGION") or None,
        credentials=_known({name: environment.get(name) for name in CREDENTIAL_SETTINGS}),
    )


def store_access(spark: SparkSession, path: str, *, environment: Mapping[str, str] = os.environ) -> StoreAccess | None:
    """Find out how a table is reached; None for a local one.

    Args:
        spark: the session, classic or Connect. Settings for the one bucket go before those for all.
        path: of the table, as the user gives it.
        environment: contains the standard variables of AWS, which are read if Spark has no setting.

    Raises:
        UnsupportedTableError: the path names a store that is not supported.
    """
    location = table_location(path)
    if not is_in_store(location):
        return None
    bucket, _ = bucket_and_key(location)

    def setting(name: str) -> str | None:
        keys = (prefix + key for key in (f"bucket.{bucket}.{name}", name) for prefix in _PREFIXES)
        return next((value for key in keys if (value := spark.conf.get(key, None))), None)

    access = access_by_environment(environment)
    if region := setting("endpoint.region"):
        access = replace(access, region=region)
    if endpoint := setting("endpoint"):
        protocol = "http" if setting("connection.ssl.enabled") == "false" else "https"
        endpoint = endpoint if "://" in endpoint else f"{protocol}://{endpoint}"
        path_style = (setting("path.style.access") or "").lower() == "true" or _is_address(endpoint)
        of_aws = _AWS_ENDPOINT.search(endpoint)
        region = access.region or (of_aws[1] if of_aws else None)
        access = replace(access, endpoint=endpoint, path_style=path_style, region=region)
    # All parts come from one place: keys of one account and a token of another would open nothing.
    keys = {name: setting(own) for name, own in CREDENTIAL_SETTINGS.items()}
    return replace(access, credentials=_known(keys)) if keys[_SECRET_KEY] else access


def _known(credentials: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in credentials.items() if value)


def _is_address(endpoint: str) -> bool:
    """Return whether the host is an IP address, which cannot begin with a bucket."""
    try:
        ipaddress.ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
    return True
