"""Requirements of an engine on another Spark: Java, an environment, jars; nothing is fetched here."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Diagnosis
from mergecheck.harness.engines.spark.java_home import diagnose_java
from mergecheck.harness.engines.spark.maven_jars import find_jars
from mergecheck.harness.engines.venvs import diagnose_environment

if TYPE_CHECKING:
    from mergecheck.harness.engines.spark.maven_jars import JarSet
    from mergecheck.harness.engines.spark_versions.child import Setup


def diagnose(setup: Setup) -> tuple[Diagnosis, ...]:
    """Return which of a child's requirements are met."""
    return (
        diagnose_java(),
        diagnose_environment(*setup.environment, setup.requirements),
        *(_jars(wanted) for wanted in setup.jars),
    )


def _jars(wanted: JarSet) -> Diagnosis:
    folder = find_jars(wanted)
    if folder is not None:
        return Diagnosis(name="jars", found=f"{wanted.title} ({folder})")
    if shutil.which("mvn") is None:
        return Diagnosis(name="jars", found=f"{wanted.title}: no Maven, so Spark fetches them when it starts")
    return Diagnosis(
        name="jars",
        found=f"none of {wanted.title}: {', '.join(wanted.coordinates)}",
        fix="--get fetches them by Maven, which must reach the central repository or a mirror (settings.xml)",
    )
