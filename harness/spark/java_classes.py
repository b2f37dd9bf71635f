"""Looking the JVM's classes up once, and not each time PySpark calls one.

PySpark names a class by its text wherever it calls a static method. Each time that is a round trip, and for a name
without its package one search of all jars for every package that PySpark imports as a whole: together they took a
twentieth of a small merge. What is found is a name and no state, so every thread and session can share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

TEXT_SPLITTER = "org.apache.hadoop.util.StringUtils"
"""Makes a list of one text (``mergecheck.harness.spark.java_arguments``)."""
_FUNCTIONS = ("expr", "col", "lit", "broadcast")
# As PySpark 4 spells them, and the methods of them that it calls in every merge.
_CLASSES: Mapping[str, Sequence[str]] = {
    "PythonUtils": ("toSeq", "toList", "toArray", "getBroadcastThreshold"),
    "PythonSQLUtils": ("ddlToJson",),
    "SimplePythonFunction": (),
    "functions": _FUNCTIONS,
    "org.apache.spark.sql.functions": _FUNCTIONS,
    "org.apache.spark.sql.classic.SparkSession": ("getActiveSession",),
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction": (),
    "org.apache.spark.storage.StorageLevel": (),
    TEXT_SPLITTER: ("getStringCollection",),
}


def remember_classes(session: SparkSession) -> None:
    """Look the classes up that merges use; a name that means no class to this release of Spark is left alone."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - where PySpark itself asks
    for name, methods in _CLASSES.items():
        found = getattr(jvm, name)
        if not isinstance(found, JavaClass):
            continue
        for method in methods:
            setattr(found, method, getattr(found, method))
        setattr(jvm, name, found)
