"""What a session can do that plain Spark cannot: Delta Lake for the engine that wants it, S3A for tables in a store.

Jars can only be given to a JVM that is not running yet; so whoever needs them says so before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mergecheck.harness.spark.delta_jars import EXTENSION_SETTINGS, delta_jars
from mergecheck.harness.spark.maven_jars import jar_settings
from mergecheck.harness.spark.s3a_jars import s3a_jars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from mergecheck.harness.spark.config import SparkPlace


def request_delta() -> None:
    """Ask that the session of this process, when it starts, can run Delta Lake too."""
    _Wanted.delta = True


def request_s3a() -> None:
    """Ask that the session of this process, when it starts, can read S3-compatible stores.

    A table root in a store asks for it by itself.
    """
    _Wanted.s3a = True


class _Wanted:
    delta = False
    s3a = False


def has_delta(session: SparkSession) -> bool:
    """Tell whether a session was started with Delta Lake."""
    return "DeltaSparkSessionExtension" in (session.conf.get("spark.sql.extensions", "") or "")


def extra_settings(place: SparkPlace) -> Mapping[str, str]:
    """Return the settings of a session at a place that make it able to do what was asked for, fetching jars if need be.

    Raises:
        EngineDownError: where the jars can be had in no way.
    """
    sets = [delta_jars()] if _Wanted.delta else []
    if place.store is not None or _Wanted.s3a:
        sets.append(s3a_jars())
    return {
        **jar_settings(sets),
        **(EXTENSION_SETTINGS if _Wanted.delta else {}),
        **(place.store.spark_settings() if place.store is not None else {}),
    }


def give_secrets(session: SparkSession, place: SparkPlace) -> None:
    """Hand over a store's keys to the running JVM: were they settings of the application, its command line had them."""
    if place.store is None:
        return
    hadoop = cast("Any", session.sparkContext)._jsc.hadoopConfiguration()  # noqa: SLF001 - there is no public way
    for name, value in place.store.spark_secrets().items():
        hadoop.set(name, value)
