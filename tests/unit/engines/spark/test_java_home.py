"""The needed Java is named before Spark fails with its own message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engines.spark.java_home import check_java
from mergecheck.harness.verdict import EngineDownError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("home", "message"),
    [("/nowhere", "is of unknown version"), ("old", "is Java 8")],
)
def test_a_missing_or_old_java_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, message: str
) -> None:
    """Before Spark fails in its own words, the user learns which Java is needed and how to get it."""
    java = tmp_path / "old" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
    with pytest.raises(EngineDownError, match=message) as caught:
        check_java()
    assert "apt-get install openjdk-17" in str(caught.value)


def test_no_java_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither JAVA_HOME nor a java on the path."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineDownError, match="no java was found"):
        check_java()
