"""Adds Delta Lake and S3A to the session of this process if they are requested.

Jars can only be given to a JVM before it starts, so they are requested before the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mergecheck.harness.engines.spark.delta_jars import DELTA_SESSION_SETTINGS, EXTENSION_SETTINGS, delta_jars
from mergecheck.harness.engines.spark.maven_jars import jar_settings
from mergecheck.harness.engines.spark.s3a_jars import s3a_jars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from mergecheck.harness.engines.spark.config import SparkPlace


def request_delta() -> None:
    """Request Delta Lake for the session that this process will start."""
    _Requested.delta = True


def request_s3a() -> None:
    """Request S3A for the session that this process will start; a table root in a store needs no request."""
    _Requested.s3a = True


class _Requested:
    delta = False
    s3a = False


def has_delta(session: SparkSession) -> bool:
    """Return whether a session was started with Delta Lake."""
    return "DeltaSparkSessionExtension" in (session.conf.get("spark.sql.extensions", "") or "")


def extra_settings(place: SparkPlace) -> Mapping[str, str]:
    """Return the settings that add the requested packages to a session at a place; jars are fetched if necessary.

    Raises:
        EngineDownError: if the jars cannot be fetched.
    """
    sets = [delta_jars()] if _Requested.delta else []
    if place.store is not None or _Requested.s3a:
        sets.append(s3a_jars())
    return {
        **jar_settings(sets),
        **({**EXTENSION_SETTINGS, **DELTA_SESSION_SETTINGS} if _Requested.delta else {}),
        **(place.store.spark_settings() if place.store is not None else {}),
    }


def give_secrets(session: SparkSession, place: SparkPlace) -> None:
    """Set a store's keys in the running JVM; as settings of the application they would be on its command line."""
    if place.store is None:
        return
    hadoop = cast("Any", session.sparkContext)._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way to Hadoop's configuration
    for name, value in place.store.spark_secrets().items():
        hadoop.set(name, value)
