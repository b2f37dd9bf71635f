"""S3A (Hadoop's file system for S3) for the installed Spark, and the parts of the AWS SDK that it uses.

Hadoop depends on the SDK's ``bundle``, which contains all services of AWS in more than 500 MB. S3A uses 13 MB of it.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from mergecheck.harness.engines.spark.maven_jars import JarSet
from mergecheck.harness.verdict import EngineDownError

_SDK = "software.amazon.awssdk"
_SDK_MODULES = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
_SDK_OF_HADOOP = {"3.5.0": "2.35.4"}
"""The version of the SDK by the version of Hadoop, from the POM of hadoop-project."""
_NEWEST_SDK = "2.35.4"
_CLIENT_JAR = re.compile(r"hadoop-client-api-(\d[^/]*)\.jar")


def hadoop_version() -> str:
    """Return the version of the Hadoop that is part of pyspark.

    Raises:
        EngineDownError: if it contains none.
    """
    spec = importlib.util.find_spec("pyspark")  # importing it takes half a second, which only Spark runs need
    jars = Path((spec and spec.origin) or "pyspark").parent / "jars"
    found = [match[1] for jar in jars.glob("hadoop-client-api-*.jar") if (match := _CLIENT_JAR.fullmatch(jar.name))]
    if not found:
        raise EngineDownError(
            f"no hadoop-client-api jar is in {jars}, so nothing tells which S3A goes with this Spark. "
            "Install pyspark again, or choose a table root in a directory."
        )
    return found[0]


def s3a_jars() -> JarSet:
    """Describe the jars; HTTP clients and logging are part of Spark.

    Raises:
        EngineDownError: if pyspark contains no Hadoop.
    """
    hadoop = hadoop_version()
    sdk = _SDK_OF_HADOOP.get(hadoop, _NEWEST_SDK)
    return JarSet(
        title=f"S3A of Hadoop {hadoop}",
        folder=f"hadoop-aws-{hadoop}-sdk-{sdk}",
        coordinates=(f"org.apache.hadoop:hadoop-aws:{hadoop}", *(f"{_SDK}:{module}:{sdk}" for module in _SDK_MODULES)),
        groups=(
            "org.apache.hadoop",
            "org.reactivestreams",
            "org.wildfly.openssl",
            _SDK,
            "software.amazon.eventstream",
            "software.amazon.s3.analyticsaccelerator",
        ),
        excluded=(f"{_SDK}:bundle",),
        hint=", or choose a table root in a directory",
    )
