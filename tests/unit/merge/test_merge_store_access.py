"""Locations in object stores, and how a store is reached: settings of Spark before variables, secrets never shown."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from mergecheck.merge.errors import StoreError, UncertainCommitError, UnsupportedTableError, brief
from mergecheck.merge.table.reading.scan import location_of
from mergecheck.merge.table.storage.paths import file_location, table_location
from mergecheck.merge.table.storage.store_access import StoreAccess, store_access

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATIC = "spark.hadoop.fs.s3a."
ENVIRONMENT = {
    "AWS_ENDPOINT_URL": "https://plain",
    "AWS_ENDPOINT_URL_S3": "https://of-s3",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "env",
    "AWS_SECRET_ACCESS_KEY": "env-secret",
    "AWS_SESSION_TOKEN": "env-token",
}


def access(settings: dict[str, str], environment: dict[str, str] | None = None, path: str = "s3a://b/t") -> StoreAccess:
    conf = SimpleNamespace(get=settings.get)
    session = cast("SparkSession", SimpleNamespace(conf=conf))
    found = store_access(session, path, environment=environment or {})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("s3a://bucket/a b/t", "s3a://bucket/a b/t"),
        ("s3://bucket//a/t//", "s3a://bucket/a/t"),
        ("S3A://bucket", "s3a://bucket"),
        ("file:///data/a%20b", "/data/a b"),
        ("/data/t/../u", "/data/u"),
    ],
)
def test_locations_of_tables(path: str, location: str) -> None:
    assert table_location(path) == location


@pytest.mark.parametrize(
    ("path", "feature"),
    [
        ("gs://bucket/t", "storage by gs://"),
        ("abfss://container@account.dfs.core.windows.net/t", "storage by abfss://"),
        ("s3a:///t", "storage by s3a:// with no bucket in the path"),
        ("s3a://bucket/a%20b", "storage by s3a:// with a percent sign in the path"),
        ("s3a://me:secret@bucket/t", "storage with credentials in its path"),
    ],
)
def test_places_that_are_refused(path: str, feature: str) -> None:
    with pytest.raises(UnsupportedTableError) as caught:
        table_location(path)
    assert caught.value.features == (feature,)
    assert "secret" not in str(caught.value)


def test_files_of_a_store_have_one_spelling() -> None:
    """The log encodes paths, relative or not, and Spark encodes its reports: all meet in one decoded location."""
    table, file = "s3a://bucket/a b", "s3a://bucket/a b/p=c%25d/f+é.parquet"
    assert file_location(table, "p=c%2525d/f+%C3%A9.parquet") == file
    assert file_location(table, "s3://bucket/a%20b/p=c%2525d/f+%C3%A9.parquet") == file
    assert location_of("s3a://bucket/a%20b/p=c%2525d/f+é.parquet") == file


def test_a_local_table_asks_nobody() -> None:
    assert store_access(cast("SparkSession", None), "/data/t") is None


def test_the_environment_stands_in_where_spark_has_no_setting() -> None:
    assert access({}, ENVIRONMENT).client_settings("b") == {
        "AWS_ACCESS_KEY_ID": "env",
        "AWS_SECRET_ACCESS_KEY": "env-secret",
        "AWS_SESSION_TOKEN": "env-token",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL": "https://of-s3",
        "AWS_ENDPOINT_URL_S3": "https://of-s3",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "false",
    }
    assert access({}).client_settings("b") == {}


def test_credentials_come_from_one_place() -> None:
    """Keys of Spark go without the token of the environment."""
    settings = {STATIC + "access.key": "own", STATIC + "secret.key": "own-secret"}
    found = access(settings, ENVIRONMENT)
    assert dict(found.credentials) == {"AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "own-secret"}


@pytest.mark.parametrize(
    ("settings", "endpoint", "is_virtual"),
    [
        ({STATIC + "endpoint": "http://127.0.0.1:9000"}, "http://127.0.0.1:9000", "false"),
        ({STATIC + "endpoint": "minio:9", STATIC + "path.style.access": "true"}, "https://minio:9", "false"),
        ({STATIC + "endpoint": "oss.com", STATIC + "connection.ssl.enabled": "false"}, "http://b.oss.com", "true"),
        (
            {STATIC + "endpoint": "https://a", STATIC + "bucket.b.endpoint": "https://1.2.3.4"},
            "https://1.2.3.4",
            "false",
        ),
        ({STATIC + "endpoint": "https://a", "fs.s3a.endpoint": "https://10.0.0.1"}, "https://10.0.0.1", "false"),
    ],
    ids=["address", "path-style", "bucket-in-host", "of-the-bucket", "of-the-session"],
)
def test_the_endpoint_is_spark_s(settings: dict[str, str], endpoint: str, is_virtual: str) -> None:
    """As S3A reads it: without a scheme, by bucket, in the session; the bucket stands where S3A puts it."""
    found = access(settings, ENVIRONMENT).client_settings("b")
    assert (found["AWS_ENDPOINT_URL"], found["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"]) == (endpoint, is_virtual)


@pytest.mark.parametrize(
    ("endpoint", "region"),
    [("s3.eu-central-1.amazonaws.com", "eu-central-1"), ("https://s3.amazonaws.com", None), ("https://minio", None)],
)
def test_the_region_is_that_of_the_endpoint(endpoint: str, region: str | None) -> None:
    """As S3A finds it out, unless a setting or a variable has it."""
    assert access({STATIC + "endpoint": endpoint}).region == region
    assert access({STATIC + "endpoint": endpoint, STATIC + "endpoint.region": "mars"}).region == "mars"


def test_nothing_shows_a_secret() -> None:
    """Workers get the credentials, and nobody who prints a task does."""
    found = access({}, ENVIRONMENT)
    assert "env" not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own bytes


def test_an_error_of_a_store_survives_pickling() -> None:
    for error in (StoreError("403", where="s3a://b/t"), UncertainCommitError("500", where="s3a://b/t")):
        again: Any = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
        assert (type(again), again.message, again.where) == (type(error), error.message, "s3a://b/t")


def test_a_client_s_error_is_one_line() -> None:
    assert brief(OSError("Kernel error\n  \x1b[31m↳\x1b[0m 403\n\nDebug source:\nGeneric { .. }")) == "Kernel error 403"
    assert brief(OSError("")) == "OSError"
