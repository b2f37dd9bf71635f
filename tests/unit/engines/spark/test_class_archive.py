"""The class archive of Spark: used by the Java that wrote it, and nothing is kept of a failed attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.spark.class_archive import archive_option, class_archive, diagnose_classes
from mergecheck.harness.engines.spark.java_home import java_command, java_release
from mergecheck.harness.engines.spark.maven_jars import CACHE_VARIABLE
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from pathlib import Path

JAVA_THAT_ONLY_HAS_A_VERSION = """#!/bin/sh
[ "$1" = -version ] && echo 'openjdk version "17.0.1" 2021-10-19' && exit 0
exit 1
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "a cache"))
    return tmp_path / "a cache"


def test_an_archive_is_used_by_the_java_that_wrote_it(cache: Path) -> None:
    java = java_release(java_command() or "") or ""
    assert archive_option(java) == ""
    archive = class_archive(java)
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert archive_option(java) == f'"-XX:SharedArchiveFile={archive}"'
    assert archive_option(java.replace("17", "21")) == ""
    assert (diagnose_classes().found, diagnose_classes().get) == (str(archive), None)
    assert archive.is_relative_to(cache)


def test_a_spark_that_does_not_start_writes_none(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA_THAT_ONLY_HAS_A_VERSION)
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    diagnosis = diagnose_classes()
    assert diagnosis.fix == ""
    assert diagnosis.get is not None
    with pytest.raises(EngineDownError, match=r"the class archive of Spark was not written: .*Spark does not start"):
        diagnosis.get()
    assert list((cache / "classes").iterdir()) == []
