"""A table root in an S3-compatible object store: parsed from a URI, and tried out before anything starts."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import obstore
from obstore.exceptions import AlreadyExistsError

from mergecheck.harness.verdict import UserInputError
from mergecheck.merge.errors import UnsupportedTableError, brief
from mergecheck.merge.table.storage.object_store import STORE_ERRORS, new_client
from mergecheck.merge.table.storage.paths import bucket_and_key, table_location
from mergecheck.merge.table.storage.store_access import CREDENTIAL_SETTINGS, StoreAccess, access_by_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from obstore.store import S3Store

ALLOWED = (
    "Allowed: a directory or its file:// URI, or s3a://BUCKET/PREFIX of an S3-compatible store whose endpoint and keys "
    "the variables AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY give."
)

_FIRST_REQUEST: Mapping[str, Any] = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=15)}
_FEW_RETRIES: Mapping[str, Any] = {"max_retries": 1, "retry_timeout": timedelta(seconds=20)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRoot:
    """A place in a bucket under which tables are made.

    Attributes:
        uri: as Spark writes it, without a trailing slash.
        access: endpoint and keys; never shown.
    """

    uri: str
    access: StoreAccess = field(repr=False)

    def __str__(self) -> str:
        return self.uri

    def open(self, prefix: str = "", **options: Any) -> S3Store:  # noqa: ANN401 - obstore's own options
        """Open a client for a prefix below the root.

        Args:
            prefix: empty for the root itself.
            options: options of the client.
        """
        bucket, key = bucket_and_key(self.uri)
        path = "/".join(part for part in (key, prefix) if part)
        return new_client(bucket, path or None, self.access, **options)

    def spark_settings(self) -> Mapping[str, str]:
        """Return the Spark settings for the store, without secrets."""
        settings = {"path.style.access": "true", "connection.ssl.enabled": str(not self.access.allows_http).lower()}
        if self.access.endpoint is not None:
            settings |= {"endpoint": self.access.endpoint, "endpoint.region": self.access.region or "us-east-1"}
        elif self.access.region is not None:
            settings["endpoint.region"] = self.access.region
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}

    def spark_secrets(self) -> Mapping[str, str]:
        """Return the Hadoop settings that contain secrets; empty if the machine has credentials of its own."""
        own = dict(self.access.credentials)
        if "AWS_SECRET_ACCESS_KEY" not in own:
            return {}
        kind = "Temporary" if "AWS_SESSION_TOKEN" in own else "Simple"
        return {
            "fs.s3a.aws.credentials.provider": f"org.apache.hadoop.fs.s3a.{kind}AWSCredentialsProvider",
            **{f"fs.s3a.{CREDENTIAL_SETTINGS[name]}": value for name, value in own.items()},
        }

    def require(self) -> None:
        """Check, once per process, that the store writes a file, refuses to write it again, and deletes it.

        Commits need the refusal (put-if-absent): a store that overwrites existing files would lose commits.

        Raises:
            UserInputError: if it does not.
        """
        if self not in _Tried.good:
            _try_out(self)
            _Tried.good.add(self)


def store_root(text: str, environment: Mapping[str, str]) -> StoreRoot:
    """Parse a table root in a store, without any request to it.

    Raises:
        UserInputError: for a scheme that is not supported, no bucket, or credentials in the URI.
    """
    if "://" not in text:
        raise UserInputError(f"the table root {text!r} has a scheme without //. {ALLOWED}")
    try:
        uri = table_location(text)
    except UnsupportedTableError as error:
        raise UserInputError(
            f"the table root {error.where!r} cannot be used: {error.features[0]} is not supported. {ALLOWED}"
        ) from None
    return StoreRoot(uri=uri, access=access_by_environment(environment))


def _try_out(root: StoreRoot) -> None:
    store = root.open(client_options=_FIRST_REQUEST, retry_config=_FEW_RETRIES)
    name = f".mergecheck-{uuid.uuid4().hex}"
    try:
        obstore.put(store, name, b"", mode="create", use_multipart=False)
        try:
            obstore.put(store, name, b"", mode="create", use_multipart=False)
        except AlreadyExistsError:
            return
        finally:
            obstore.delete(store, name)
    except STORE_ERRORS as error:
        raise UserInputError(
            f"the table root {root} cannot be used: {brief(error)}. Make the bucket first, and check endpoint and keys"
            f"{_given(root)}. {ALLOWED}"
        ) from None
    raise UserInputError(
        f"the table root {root} cannot be used: its store writes a file a second time although it is there "
        "(it does not know If-None-Match), so two commits could overwrite each other. Choose a store that honours it."
    )


class _Tried:
    good: ClassVar[set[StoreRoot]] = set()


def _given(root: StoreRoot) -> str:
    endpoint = root.access.endpoint or "none, so that of AWS"
    keys = "given" if root.access.credentials else "none, so those of this machine were looked for"
    return f" (endpoint: {endpoint}; keys: {keys})"
